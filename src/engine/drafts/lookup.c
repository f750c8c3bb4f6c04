/* SPDX-License-Identifier: MIT
 *
 * lookup.c: drafts from the text itself (prompt lookup; Saxena 2023). Where the last tokens stood before, what followed
 * them may follow again: the longest sequence of SHORTEST to LONGEST tokens counts, and its last occurrence.
 *
 * For each length a hash table with open addressing holds where each sequence was followed last: a slot is the position
 * behind it, 0 empty (no sequence ends there). A token is added and looked up in constant time on average. */
#include "engine/speculate.h"

#include <string.h>

enum { SHORTEST = 2, LONGEST = 4, N_LENGTHS = LONGEST - SHORTEST + 1 };

typedef struct lookup {
    tl_draft d;
    int32_t *table;          /* [N_LENGTHS][slots] */
    size_t slots;            /* a power of two, at least twice the sequences that fit */
} lookup;

/* The slot of the len tokens before position end: where they are, or the empty one where they belong. */
static int32_t *slot_of(const lookup *l, int len, int end) {
    int32_t *table = l->table + (size_t)(len - SHORTEST) * l->slots;
    const int32_t *ids = l->d.ids, *key = ids + end - len;
    uint64_t hash = 0;
    for (int i = 0; i < len; i++) hash = (hash + (uint64_t)key[i] + 1) * 0x9E3779B97F4A7C15u;   /* 2^64 / golden ratio */
    size_t at = (size_t)(hash >> 32) & (l->slots - 1);
    while (table[at] && memcmp(ids + table[at] - len, key, (size_t)len * sizeof *key) != 0) at = (at + 1) & (l->slots - 1);
    return &table[at];
}

/* What stands before position end is followed by something. */
static void add(lookup *l, int end) {
    for (int len = SHORTEST; len <= LONGEST && len <= end; len++) *slot_of(l, len, end) = end;
}

static int init(tl_draft *d, const tl_draft_options *o, tl_error *err) {
    (void)d;
    if (!o->model) return TL_OK;
    return tl_fail(err, TL_E_ARGUMENT, "draft: source lookup takes no model");
}

static void done(tl_draft *d) { tl_free(((lookup *)d)->table); }

static int begin(tl_draft *d, tl_error *err) {
    lookup *l = (lookup *)d;
    size_t slots = 16;
    while (slots < 2 * (size_t)d->cap) slots *= 2;
    if (slots != l->slots) {
        tl_free(l->table);
        l->slots = 0;
        if (!(l->table = tl_alloc_n(N_LENGTHS * slots, sizeof *l->table, "the lookup of drafts", err))) return TL_E_MEMORY;
        l->slots = slots;
    } else memset(l->table, 0, N_LENGTHS * slots * sizeof *l->table);
    for (int end = 1; end < d->n; end++) add(l, end);
    return TL_OK;
}

static void added(tl_draft *d) { add((lookup *)d, d->n - 1); }

/* What is copied may reach into the draft itself, as in a text that repeats. */
static int propose(tl_draft *d, int32_t *out, int k) {
    const lookup *l = (const lookup *)d;
    for (int len = LONGEST; len >= SHORTEST; len--) {
        int from = len <= d->n ? *slot_of(l, len, d->n) : 0;
        if (!from) continue;
        for (int i = 0; i < k; i++) out[i] = from + i < d->n ? d->ids[from + i] : out[from + i - d->n];
        return k;
    }
    return 0;
}

const tl_draft_kind tl_draft_lookup = {"lookup", sizeof(lookup), init, done, begin, added, propose};
