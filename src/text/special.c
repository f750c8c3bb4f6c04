/* SPDX-License-Identifier: MIT
 *
 * special.c: finds tokens that are taken whole from a text. They are kept sorted, so those that share the bytes seen so
 * far are neighbours, and every further byte narrows that range by binary search. */
#include <stdlib.h>
#include <string.h>
#include "text/vocab.h"

static int is_special(const tl_tokenizer *t, uint32_t id) {
    uint8_t type = t->type[id];
    return t->at[id + 1] - t->at[id] > 1 && (type == TL_TOK_CONTROL || type == TL_TOK_USER || type == TL_TOK_UNKNOWN);
}

static int same_text(const tl_special *a, const tl_special *b) {
    return a->len == b->len && memcmp(a->p, b->p, a->len) == 0;
}

static int by_text(const void *x, const void *y) {
    const tl_special *a = x, *b = y;
    int c = memcmp(a->p, b->p, a->len < b->len ? a->len : b->len);
    if (c) return c;
    if (a->len != b->len) return a->len < b->len ? -1 : 1;
    if (a->user != b->user) return a->user ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

/* Of several with the same text, one user-defined and one other are enough. */
static void drop_duplicates(tl_tokenizer *t) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->n_special; i++) {
        tl_special *s = &t->special[i], *before = &t->special[kept ? kept - 1 : 0];
        if (kept == 0 || s->user != before->user || !same_text(s, before)) t->special[kept++] = *s;
    }
    t->n_special = kept;
}

/* SentencePiece vocabularies may spell the spaces of a special token as U+2581; texts have spaces. */
static uint32_t copy_with_spaces(char *dst, const char *p, uint32_t n) {
    uint32_t out = 0;
    for (uint32_t i = 0; i < n;) {
        if (n - i >= 3 && memcmp(p + i, TL_SPM_SPACE, 3) == 0) {
            dst[out++] = ' ';
            i += 3;
        } else {
            dst[out++] = p[i++];
        }
    }
    return out;
}

int tl_special_init(tl_tokenizer *t, tl_error *err) {
    uint32_t n = 0, len;
    size_t bytes = 0;
    for (uint32_t id = 0; id < t->n; id++) {
        if (!is_special(t, id)) continue;
        n++;
        tl_piece_at(t, id, &len);
        bytes += len;
    }
    t->special = tl_alloc_n(n, sizeof *t->special, "special tokens", err);
    if (!t->special) return TL_E_MEMORY;
    if (t->model == TL_TEXT_SPM && !(t->special_text = tl_alloc_n(bytes, 1, "special tokens", err))) return TL_E_MEMORY;
    char *copy = t->special_text;
    for (uint32_t id = 0; id < t->n; id++) {
        if (!is_special(t, id)) continue;
        tl_special *s = &t->special[t->n_special++];
        s->id = (int32_t)id;
        s->user = t->type[id] == TL_TOK_USER;
        s->p = tl_piece_at(t, id, &s->len);
        if (copy) {
            s->len = copy_with_spaces(copy, s->p, s->len);
            s->p = copy;
            copy += s->len;
        }
    }
    qsort(t->special, n, sizeof *t->special, by_text);
    drop_duplicates(t);
    uint32_t i = 0;
    for (int b = 0; b <= 256; b++) {
        while (i < t->n_special && (unsigned char)t->special[i].p[0] < b) i++;
        t->special_from[b] = i;
    }
    return TL_OK;
}

/* First of [lo, hi), all longer than depth and equal before it, whose byte at depth is >= c. */
static uint32_t first_at_least(const tl_special *s, uint32_t lo, uint32_t hi, uint32_t depth, int c) {
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if ((unsigned char)s[mid].p[depth] < c) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

int32_t tl_special_match(const tl_tokenizer *t, const char *p, const char *end, int all, size_t *len) {
    const tl_special *s = t->special;
    unsigned char first = (unsigned char)*p;
    uint32_t lo = t->special_from[first], hi = t->special_from[first + 1];
    int32_t best = -1;
    for (uint32_t depth = 1; lo < hi; depth++) {
        int found = 0;   /* the shortest are in front: those that end here, a user-defined one first */
        for (; lo < hi && s[lo].len == depth; lo++) {
            if (found || !(all || s[lo].user)) continue;
            found = 1;
            best = s[lo].id;
            *len = depth;
        }
        if (lo == hi || p + depth == end) break;
        int c = (unsigned char)p[depth];
        lo = first_at_least(s, lo, hi, depth, c);
        hi = first_at_least(s, lo, hi, depth, c + 1);
    }
    return best;
}
