/* SPDX-License-Identifier: MIT
 *
 * merge.h: what BPE and SentencePiece have in common: symbols in a row, of which the best pair of neighbours is joined
 * until no pair can be. They differ in what "best" is, and tell it by a function. */
#ifndef TL_TEXT_MERGE_H
#define TL_TEXT_MERGE_H

#include "base/base.h"

#define TL_NO_KEY UINT32_MAX

typedef struct tl_symbol {
    uint32_t at, len;           /* bytes in the text the caller works on */
    int32_t id;                 /* token, -1: none (yet) */
    uint32_t prev, next;        /* indices, UINT32_MAX at the ends; len == 0: joined into an earlier one */
    uint32_t key;               /* of the pair (this, next): the lowest is joined first; TL_NO_KEY: never */
    int32_t joined;             /* token of that pair */
} tl_symbol;

/* Key of a pair, its token in *id; TL_NO_KEY: the two cannot be joined. Equal keys mean: leftmost first. */
typedef uint32_t tl_pair_fn(const void *user, const tl_symbol *a, const tl_symbol *b, int32_t *id);

/* Memory used again from run to run; {0} to start, tl_merger_free at the end. */
typedef struct tl_merger {
    tl_symbol *sym;
    uint32_t n, cap;
    uint64_t *heap;             /* key << 32 | index of the left symbol; smallest on top */
    size_t cap_heap;
    char *text;                 /* scratch of the caller */
    size_t cap_text;
} tl_merger;

void tl_merger_free(tl_merger *m);
/* Makes room for n symbols and forgets those that were there. */
int tl_merger_reset(tl_merger *m, size_t n, tl_error *err);
/* Room for n bytes in m->text. */
int tl_merger_text(tl_merger *m, size_t n, tl_error *err);
static inline void tl_merger_add(tl_merger *m, uint32_t at, uint32_t len, int32_t id) {
    m->sym[m->n++] = (tl_symbol){.at = at, .len = len, .id = id};
}
/* Joins; the row left over starts at symbol 0 and goes by next. O(n log n). */
int tl_merger_run(tl_merger *m, tl_pair_fn *pair, const void *user, tl_error *err);

#endif
