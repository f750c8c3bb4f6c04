/* SPDX-License-Identifier: MIT
 * States of sequences and their checkpoints. See states.h. */
#include "kv/states.h"

#include <string.h>

static int set_sizes(tl_states *s, const size_t *bytes, tl_error *err) {
    for (int i = 0; i < s->n_slots; i++) {
        size_t end;
        if (!tl_add_size(bytes[i], 63, &end) || !tl_add_size(s->first[i], end / 64 * 64, &s->first[i + 1]))
            return tl_fail(err, TL_E_MEMORY, "the states of %d slots are too large for this machine", s->n_slots);
    }
    if (tl_mul_size((size_t)s->n_seq, 1 + (size_t)s->n_kept, &s->bytes) && tl_mul_size(s->bytes, s->first[s->n_slots], &s->bytes))
        return TL_OK;
    return tl_fail(err, TL_E_MEMORY, "the states of %d sequences with %d checkpoints are too large for this machine", s->n_seq,
                   s->n_kept);
}

int tl_states_init(tl_states *s, const size_t *bytes, int n_slots, int n_seq, int n_kept, tl_error *err) {
    memset(s, 0, sizeof *s);
    s->n_slots = n_slots, s->n_seq = n_seq, s->n_kept = n_kept;
    size_t seqs = (size_t)n_seq, places = 0;
    int rc = tl_mul_size(seqs, (size_t)n_kept, &places) ? TL_OK : tl_fail(err, TL_E_MEMORY, "too many checkpoints");
    s->first = rc == TL_OK ? tl_alloc_n((size_t)n_slots + 1, sizeof *s->first, "slots of states", err) : NULL;
    s->n_pos = s->first ? tl_alloc_n(seqs, sizeof *s->n_pos, "sequences", err) : NULL;
    s->oldest = s->n_pos ? tl_alloc_n(seqs, sizeof *s->oldest, "sequences", err) : NULL;
    s->n = s->oldest ? tl_alloc_n(seqs, sizeof *s->n, "sequences", err) : NULL;
    s->pos = s->n ? tl_alloc_n(places + 1, sizeof *s->pos, "checkpoints", err) : NULL;
    if (!s->pos) rc = TL_E_MEMORY;
    if (rc == TL_OK) rc = set_sizes(s, bytes, err);
    if (rc == TL_OK && !(s->mem = tl_alloc_big(s->bytes, "states", err))) rc = TL_E_MEMORY;
    if (rc != TL_OK) tl_states_done(s);
    return rc;
}

void tl_states_done(tl_states *s) {
    tl_free_big(s->mem, s->bytes);
    tl_free(s->first);
    tl_free(s->n_pos);
    tl_free(s->pos);
    tl_free(s->oldest);
    tl_free(s->n);
    memset(s, 0, sizeof *s);
}

/* Place of checkpoint i of a sequence, 0 the oldest. */
static int place(const tl_states *s, int seq, int i) { return (s->oldest[seq] + i) % s->n_kept; }
static int *pos_at(const tl_states *s, int seq, int at) { return &s->pos[(size_t)seq * (size_t)s->n_kept + (size_t)at]; }
static uint8_t *kept_at(const tl_states *s, int seq, int at) {
    return (uint8_t *)tl_states_at(s, 0, seq) + (1 + (size_t)at) * s->first[s->n_slots];
}

void tl_states_clear(tl_states *s, int seq) {
    memset(tl_states_at(s, 0, seq), 0, s->first[s->n_slots]);
    s->n_pos[seq] = s->n[seq] = 0;
}

void tl_states_keep(tl_states *s, int seq) {
    int n = s->n[seq], last = n ? *pos_at(s, seq, place(s, seq, n - 1)) : 0;
    if (!s->n_kept || s->n_pos[seq] == last) return;   /* is there already */
    if (n == s->n_kept) s->oldest[seq] = place(s, seq, 1), n--;
    int at = place(s, seq, n);
    memcpy(kept_at(s, seq, at), tl_states_at(s, 0, seq), s->first[s->n_slots]);
    *pos_at(s, seq, at) = s->n_pos[seq];
    s->n[seq] = n + 1;
}

int tl_states_truncate(tl_states *s, int seq, int n) {
    if (n >= s->n_pos[seq]) return s->n_pos[seq];
    while (s->n[seq] && *pos_at(s, seq, place(s, seq, s->n[seq] - 1)) > n) s->n[seq]--;
    if (!s->n[seq]) {
        tl_states_clear(s, seq);
        return 0;
    }
    int at = place(s, seq, s->n[seq] - 1);
    memcpy(tl_states_at(s, 0, seq), kept_at(s, seq, at), s->first[s->n_slots]);
    return s->n_pos[seq] = *pos_at(s, seq, at);
}

void tl_states_fork(tl_states *s, int from, int to) {
    if (from == to) return;
    memcpy(tl_states_at(s, 0, to), tl_states_at(s, 0, from), s->first[s->n_slots]);
    s->n_pos[to] = s->n_pos[from], s->n[to] = s->n[from], s->oldest[to] = 0;
    for (int i = 0; i < s->n[from]; i++) {
        int at = place(s, from, i);
        memcpy(kept_at(s, to, i), kept_at(s, from, at), s->first[s->n_slots]);
        *pos_at(s, to, i) = *pos_at(s, from, at);
    }
}
