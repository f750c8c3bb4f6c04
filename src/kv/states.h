/* SPDX-License-Identifier: MIT
 *
 * states.h: owns what recurrent layers keep of a sequence (kv.h: what attention does). A slot holds a fixed number of
 * bytes for each sequence, however long it is; layers read and write it in place. Such a state cannot be cut back by some
 * positions. So copies of a sequence's whole state are kept at positions its owner chooses, checkpoints, and truncating
 * goes back to the last one that is not too far. A sequence has room for n_kept; a new one takes the place of the oldest.
 * The start, where all bytes are zero, can always be gone back to. Memory becomes resident as it is written. */
#ifndef TL_STATES_H
#define TL_STATES_H

#include "base/base.h"

typedef struct tl_states {
    int n_slots, n_seq, n_kept;
    size_t *first;       /* [n_slots + 1]: bytes of the slots before, multiples of 64 */
    size_t bytes;        /* of mem */
    uint8_t *mem;        /* [n_seq][1 + n_kept][first[n_slots]]: the state, then checkpoints */
    int *n_pos;          /* [n_seq]: positions the state has seen; written by who computes them */
    int *pos;            /* [n_seq][n_kept]: of the checkpoints, a ring: rising from place `oldest` on */
    int *oldest, *n;     /* [n_seq]: place of the oldest checkpoint; how many there are */
} tl_states;

/* bytes [n_slots]: of a sequence's state in each slot. */
int tl_states_init(tl_states *s, const size_t *bytes, int n_slots, int n_seq, int n_kept, tl_error *err);
void tl_states_done(tl_states *s);
/* Begins a sequence anew. */
void tl_states_clear(tl_states *s, int seq);
/* Makes a checkpoint at n_pos[seq]. */
void tl_states_keep(tl_states *s, int seq);
/* Goes back to at most n positions. Returns how many the state has seen now: n only if there is a checkpoint. */
int tl_states_truncate(tl_states *s, int seq, int n);
/* Makes sequence to hold what from holds, with its checkpoints. */
void tl_states_fork(tl_states *s, int from, int to);

/* The state of a sequence in a slot, 64-byte aligned. */
static inline void *tl_states_at(const tl_states *s, int slot, int seq) {
    return s->mem + (size_t)seq * (1 + (size_t)s->n_kept) * s->first[s->n_slots] + s->first[slot];
}

#endif
