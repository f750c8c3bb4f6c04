/* SPDX-License-Identifier: MIT
 *
 * special.c: finds tokens that are taken whole from a text, in one walk over it, whatever tokens there are: the automaton
 * of Aho and Corasick ("Efficient string matching", 1975) over the reversed texts of the tokens. Walked from the end of
 * a text to its beginning, it tells at each place the longest token that begins there. */
#include <stdlib.h>
#include <string.h>
#include "text/vocab.h"

static int is_special(const tl_tokenizer *t, uint32_t id) {
    uint8_t type = t->type[id];
    return t->at[id + 1] - t->at[id] > 1 && (type == TL_TOK_CONTROL || type == TL_TOK_USER || type == TL_TOK_UNKNOWN);
}

/* By the text from its end to its beginning; those that are the end of others come before them. */
static int by_reversed_text(const void *x, const void *y) {
    const tl_special *a = x, *b = y;
    uint32_t n = a->len < b->len ? a->len : b->len;
    for (uint32_t i = 1; i <= n; i++) {
        int c = (unsigned char)a->p[a->len - i] - (unsigned char)b->p[b->len - i];
        if (c) return c;
    }
    if (a->len != b->len) return a->len < b->len ? -1 : 1;
    if (a->user != b->user) return a->user ? -1 : 1;
    return a->id < b->id ? -1 : 1;
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

static int collect(tl_tokenizer *t, size_t *all, tl_error *err) {
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
    *all = bytes;
    qsort(t->special, n, sizeof *t->special, by_reversed_text);
    return TL_OK;
}

/* Is it one of the words in a list, which are separated by blanks? */
static int in_words(const char *list, tl_slice word) {
    for (size_t n; *list; list += n + (list[n] == ' ')) {
        n = strcspn(list, " ");
        if (n == word.n && memcmp(list, word.p, n) == 0) return 1;
    }
    return 0;
}

/* White space beside a token goes with it in some families; no key of a file says so (strip.def). */
static void set_strip(tl_tokenizer *t) {
    static const struct { const char *marker, *tokens, *but; int side; } rows[] = {
#define STRIP(marker, tokens, but, side) {marker, tokens, but, side},
#include "strip.def"
#undef STRIP
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int32_t marker = tl_piece_find(t, rows[i].marker, strlen(rows[i].marker));
        if (marker < 0 || !is_special(t, (uint32_t)marker)) continue;
        for (uint32_t k = 0; k < t->n_special; k++) {
            tl_special *s = &t->special[k];
            tl_slice name = {s->p, s->len};
            if ((*rows[i].tokens == '*' || in_words(rows[i].tokens, name)) && !in_words(rows[i].but, name))
                s->strip |= rows[i].side;
        }
    }
}

/* ---- the automaton ------------------------------------------------------------------------------------------------ */

static uint32_t child_of(const tl_finder *f, uint32_t node, unsigned char c) {
    if (node == 0) return f->root[c];
    uint32_t lo = f->child[node], hi = f->child[node + 1];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (f->label[mid] < c) lo = mid + 1;
        else hi = mid;
    }
    return lo < f->child[node + 1] && f->label[lo] == c ? lo : 0;
}

/* The state after one more byte. */
static uint32_t step(const tl_finder *f, uint32_t node, unsigned char c) {
    for (uint32_t next;; node = f->fail[node]) {
        if ((next = child_of(f, node, c)) || node == 0) return next;
    }
}

/* Specials [lo, hi) that share their last depth bytes, the node's text. */
typedef struct range { uint32_t lo, hi, depth; } range;

/* Nodes level by level, so that children of a node are neighbours, and behind them those of the next one. */
static void build(tl_tokenizer *t, range *of) {
    tl_finder *f = &t->finder;
    const tl_special *s = t->special;
    of[0] = (range){0, t->n_special, 0};
    f->n = 1;
    for (uint32_t i = 0; i < f->n; i++) {
        range r = of[i];
        f->any[i] = f->any[f->fail[i]], f->user[i] = f->user[f->fail[i]];
        for (uint32_t first = r.lo; r.lo < r.hi && s[r.lo].len == r.depth; r.lo++) {   /* those that begin here */
            if (r.lo == first) f->any[i] = r.lo + 1;   /* a user-defined one is first */
            if (s[r.lo].user && (r.lo == first)) f->user[i] = r.lo + 1;
        }
        f->child[i] = f->n;
        while (r.lo < r.hi) {
            unsigned char c = (unsigned char)s[r.lo].p[s[r.lo].len - 1 - r.depth];
            uint32_t end = r.lo + 1, made = f->n++;
            while (end < r.hi && (unsigned char)s[end].p[s[end].len - 1 - r.depth] == c) end++;
            of[made] = (range){r.lo, end, r.depth + 1};
            f->label[made] = c;
            f->fail[made] = i ? step(f, f->fail[i], c) : 0;
            if (i == 0) f->root[c] = made;
            r.lo = end;
        }
        f->child[i + 1] = f->n;
    }
}

int tl_special_init(tl_tokenizer *t, tl_error *err) {
    tl_finder *f = &t->finder;
    size_t bytes = 0;
    int rc = collect(t, &bytes, err);
    if (rc != TL_OK) return rc;
    set_strip(t);
    f->child = tl_alloc_n(bytes + 2, sizeof *f->child, "special tokens", err);
    f->fail = f->child ? tl_alloc_n(bytes + 1, sizeof *f->fail, "special tokens", err) : NULL;
    f->any = f->fail ? tl_alloc_n(bytes + 1, sizeof *f->any, "special tokens", err) : NULL;
    f->user = f->any ? tl_alloc_n(bytes + 1, sizeof *f->user, "special tokens", err) : NULL;
    f->label = f->user ? tl_alloc_n(bytes + 1, 1, "special tokens", err) : NULL;
    range *of = f->label ? tl_alloc_n(bytes + 1, sizeof *of, "special tokens", err) : NULL;
    if (of) build(t, of);
    else rc = TL_E_MEMORY;
    tl_free(of);
    return rc;
}

void tl_special_done(tl_tokenizer *t) {
    tl_free(t->special);
    tl_free(t->special_text);
    tl_free(t->finder.child);
    tl_free(t->finder.fail);
    tl_free(t->finder.any);
    tl_free(t->finder.user);
    tl_free(t->finder.label);
}

/* ---- finding ------------------------------------------------------------------------------------------------------ */

static int add(tl_found_list *list, size_t at, uint32_t special, tl_error *err) {
    if (list->n == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 64;
        tl_found *v = tl_realloc_n(list->v, cap, sizeof *v, "special tokens of a text", err);
        if (!v) return TL_E_MEMORY;
        list->v = v;
        list->cap = cap;
    }
    list->v[list->n++] = (tl_found){at, special};
    return TL_OK;
}

int tl_special_find(const tl_tokenizer *t, const char *text, size_t len, const char *trust, int all, tl_found_list *list,
                    tl_error *err) {
    const tl_finder *f = &t->finder;
    uint32_t whole = 0, run = 0;   /* states: over the whole text; over trusted bytes since the last other one */
    int rc = TL_OK;
    for (size_t i = len; i-- > 0 && rc == TL_OK;) {
        unsigned char c = (unsigned char)text[i];
        whole = step(f, whole, c);
        uint32_t best = all ? f->any[whole] : f->user[whole];
        if (!all && trust) {
            run = trust[i] ? step(f, run, c) : 0;
            uint32_t b = f->any[run];
            if (b && (!best || t->special[b - 1].len >= t->special[best - 1].len)) best = b;
        }
        if (best) rc = add(list, i, best - 1, err);
    }
    return rc;
}
