/* SPDX-License-Identifier: MIT
 *
 * merge.c: the merge loop: a linked row of symbols and a binary heap of pairs. Pairs that a join has made stale stay in
 * the heap until they come up: their key is no longer that of the symbol they name. */
#include "text/merge.h"

void tl_merger_free(tl_merger *m) {
    tl_free(m->sym);
    tl_free(m->heap);
    tl_free(m->text);
    *m = (tl_merger){0};
}

int tl_merger_reset(tl_merger *m, size_t n, tl_error *err) {
    m->n = 0;
    if (n >= UINT32_MAX) return tl_fail(err, TL_E_ARGUMENT, "text of %zu bytes is too long to tokenize at once", n);
    if (n <= m->cap) return TL_OK;
    size_t cap = n < 64 ? 64 : n;
    tl_symbol *sym = tl_realloc_n(m->sym, cap, sizeof *sym, "tokenizing a text", err);
    if (!sym) return TL_E_MEMORY;
    m->sym = sym;
    m->cap = (uint32_t)cap;
    return TL_OK;
}

int tl_merger_text(tl_merger *m, size_t n, tl_error *err) {
    if (n <= m->cap_text) return TL_OK;
    char *text = tl_realloc_n(m->text, n, 1, "tokenizing a text", err);
    if (!text) return TL_E_MEMORY;
    m->text = text;
    m->cap_text = n;
    return TL_OK;
}

static void sift_up(uint64_t *heap, size_t i) {
    uint64_t v = heap[i];
    for (; i > 0 && heap[(i - 1) / 2] > v; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = v;
}

static void sift_down(uint64_t *heap, size_t n, size_t i) {
    uint64_t v = heap[i];
    for (size_t c; (c = 2 * i + 1) < n; i = c) {
        if (c + 1 < n && heap[c + 1] < heap[c]) c++;
        if (heap[c] >= v) break;
        heap[i] = heap[c];
    }
    heap[i] = v;
}

/* Finds the key of symbol i and its neighbour; returns whether there is one. */
static int look(tl_merger *m, uint32_t i, tl_pair_fn *pair, const void *user) {
    tl_symbol *s = &m->sym[i];
    s->key = s->next == UINT32_MAX ? TL_NO_KEY : pair(user, s, &m->sym[s->next], &s->joined);
    return s->key != TL_NO_KEY;
}

int tl_merger_run(tl_merger *m, tl_pair_fn *pair, const void *user, tl_error *err) {
    tl_symbol *sym = m->sym;
    uint32_t n = m->n;
    size_t need = 2 * (size_t)n;   /* n - 1 pairs at the start; each of at most n - 1 joins takes one and adds two */
    if (need > m->cap_heap) {
        uint64_t *heap = tl_realloc_n(m->heap, need, sizeof *heap, "tokenizing a text", err);
        if (!heap) return TL_E_MEMORY;
        m->heap = heap;
        m->cap_heap = need;
    }
    uint64_t *heap = m->heap;
    size_t n_heap = 0;
    for (uint32_t i = 0; i < n; i++) {
        sym[i].prev = i - 1;
        sym[i].next = i + 1 < n ? i + 1 : UINT32_MAX;
    }
    for (uint32_t i = 0; i < n; i++)
        if (look(m, i, pair, user)) heap[n_heap++] = (uint64_t)sym[i].key << 32 | i;
    for (size_t i = n_heap / 2; i-- > 0;) sift_down(heap, n_heap, i);

    while (n_heap) {
        uint64_t top = heap[0];
        heap[0] = heap[--n_heap];
        sift_down(heap, n_heap, 0);
        uint32_t i = (uint32_t)top;
        tl_symbol *a = &sym[i];
        if (a->len == 0 || a->key != top >> 32) continue;
        tl_symbol *b = &sym[a->next];
        a->len += b->len;
        a->id = a->joined;
        a->next = b->next;
        b->len = 0;
        if (a->next != UINT32_MAX) sym[a->next].prev = i;
        if (look(m, i, pair, user)) {
            heap[n_heap] = (uint64_t)a->key << 32 | i;
            sift_up(heap, n_heap++);
        }
        if (a->prev != UINT32_MAX && look(m, a->prev, pair, user)) {
            heap[n_heap] = (uint64_t)sym[a->prev].key << 32 | a->prev;
            sift_up(heap, n_heap++);
        }
    }
    return TL_OK;
}
