/* SPDX-License-Identifier: MIT
 * The page pool and the sequences' page tables. See kv.h. */
#include "kv/kv.h"

#include <string.h>

/* Pages of the budget and bytes of all slots. */
static int set_sizes(tl_kv *kv, const tl_kv_shape *shape, tl_error *err) {
    size_t pages, budget = ((size_t)(shape->n_positions > 0 ? shape->n_positions : 0) + TL_KV_PAGE - 1) / TL_KV_PAGE, page = 0;
    int fits = tl_mul_size((size_t)shape->n_seq, (size_t)kv->pages_per_seq, &pages);
    if (!fits) pages = SIZE_MAX;
    if (shape->n_positions > 0 && budget < pages) pages = budget;
    fits = pages < INT32_MAX;
    for (int i = 0; i < kv->n_slots; i++) {
        tl_kv_slot *s = &kv->slots[i];
        size_t bytes;
        s->dims = shape->slots[i];
        s->hk = (int)tl_kv_head_dim(kv->ops->elems, s->dims.k), s->hv = (int)tl_kv_head_dim(kv->ops->elems, s->dims.v);
        s->v_at = tl_kv_page_bytes(kv->ops, s->hk);
        s->head_bytes = s->v_at + tl_kv_page_bytes(kv->ops, s->hv);
        s->before = page;
        fits = fits && tl_mul_size(s->head_bytes, (size_t)s->dims.heads, &bytes) && tl_add_size(page, bytes, &page);
    }
    kv->page_bytes = page;
    if (fits && tl_mul_size(page, pages, &kv->bytes)) {
        kv->n_pages = (int)pages;
        return TL_OK;
    }
    return tl_fail(err, TL_E_MEMORY, "a context of %d positions for %d sequences is too large for this machine", shape->n_ctx,
                   shape->n_seq);
}

static int alloc_all(tl_kv *kv, tl_error *err) {
    size_t entries = (size_t)kv->n_seq * (size_t)kv->pages_per_seq, pages = (size_t)kv->n_pages;
    kv->mem = tl_alloc_big(kv->bytes, "KV cache", err);
    kv->table = kv->mem ? tl_alloc_n(entries, sizeof *kv->table, "KV page table", err) : NULL;
    kv->free_pages = kv->table ? tl_alloc_n(pages, sizeof *kv->free_pages, "KV page list", err) : NULL;
    kv->refs = kv->free_pages ? tl_alloc_n(pages, sizeof *kv->refs, "KV page counts", err) : NULL;
    kv->tokens = kv->refs ? tl_alloc_n(pages * TL_KV_PAGE, sizeof *kv->tokens, "tokens of the cache", err) : NULL;
    kv->n_pos = kv->tokens ? tl_alloc_n((size_t)kv->n_seq, sizeof *kv->n_pos, "sequences", err) : NULL;
    if (!kv->n_pos) return TL_E_MEMORY;
    for (size_t i = 0; i < entries; i++) kv->table[i] = -1;
    for (int i = 0; i < kv->n_pages; i++) kv->free_pages[i] = kv->n_pages - 1 - i; /* page 0 is handed out first */
    kv->n_free = kv->n_pages;
    return TL_OK;
}

int tl_kv_padded(int dim) {
    int most = 0;
    for (int i = 0; i < TL_N_KV; i++) {
        int n = (int)tl_kv_head_dim(tl_kv_types[i].elems, dim);
        if (n > most) most = n;
    }
    return most;
}

int tl_kv_init(tl_kv *kv, const tl_kv_ops *ops, const tl_kv_shape *shape, tl_error *err) {
    memset(kv, 0, sizeof *kv);
    kv->ops = ops;
    kv->n_slots = shape->n_slots, kv->n_seq = shape->n_seq, kv->n_ctx = shape->n_ctx;
    kv->pages_per_seq = (shape->n_ctx + TL_KV_PAGE - 1) / TL_KV_PAGE;
    kv->slots = tl_alloc_n((size_t)kv->n_slots + 1, sizeof *kv->slots, "KV slots", err);
    int rc = kv->slots ? TL_OK : TL_E_MEMORY;
    if (rc == TL_OK) rc = set_sizes(kv, shape, err);
    if (rc == TL_OK) rc = alloc_all(kv, err);
    if (rc != TL_OK) tl_kv_done(kv);
    return rc;
}

void tl_kv_done(tl_kv *kv) {
    tl_free_big(kv->mem, kv->bytes);
    tl_free(kv->slots);
    tl_free(kv->table);
    tl_free(kv->free_pages);
    tl_free(kv->refs);
    tl_free(kv->tokens);
    tl_free(kv->n_pos);
    memset(kv, 0, sizeof *kv);
}

/* ---- pages ---- */

static int32_t *table_of(const tl_kv *kv, int seq) { return kv->table + (size_t)seq * (size_t)kv->pages_per_seq; }

static int32_t new_page(tl_kv *kv) {
    int32_t page = kv->free_pages[--kv->n_free];
    kv->refs[page] = 1;
    return page;
}

static void release(tl_kv *kv, int32_t *entry) {
    if (--kv->refs[*entry] == 0) kv->free_pages[kv->n_free++] = *entry;
    *entry = -1;
}

/* A copy of a shared page for one of its holders. */
static void make_own(tl_kv *kv, int32_t *entry) {
    int32_t from = *entry, to = new_page(kv);
    kv->refs[from]--;
    *entry = to;
    memcpy(kv->tokens + (size_t)to * TL_KV_PAGE, kv->tokens + (size_t)from * TL_KV_PAGE, TL_KV_PAGE * sizeof *kv->tokens);
    for (int i = 0; i < kv->n_slots; i++) {
        const tl_kv_slot *s = &kv->slots[i];
        size_t bytes = (size_t)s->dims.heads * s->head_bytes;
        uint8_t *base = kv->mem + s->before * (size_t)kv->n_pages;
        memcpy(base + (size_t)to * bytes, base + (size_t)from * bytes, bytes);
    }
}

int tl_kv_reserve(tl_kv *kv, int seq, int end, tl_error *err) {
    int32_t *table = table_of(kv, seq);
    for (int i = kv->n_pos[seq] / TL_KV_PAGE; i * TL_KV_PAGE < end; i++) {
        int mine = table[i] >= 0 && kv->refs[table[i]] == 1;
        if (mine) continue;
        if (!kv->n_free)
            return tl_fail(err, TL_E_CONTEXT, "all %d pages of %d positions are in use: sequence %d cannot grow to %d positions",
                           kv->n_pages, TL_KV_PAGE, seq, end);
        if (table[i] < 0) table[i] = new_page(kv);
        else make_own(kv, &table[i]);
    }
    return TL_OK;
}

void tl_kv_trim(tl_kv *kv, int seq) {
    int32_t *table = table_of(kv, seq);
    for (int i = (kv->n_pos[seq] + TL_KV_PAGE - 1) / TL_KV_PAGE; i < kv->pages_per_seq && table[i] >= 0; i++) release(kv, &table[i]);
}

int tl_kv_truncate(tl_kv *kv, int seq, int n) {
    if (n < kv->n_pos[seq]) {
        kv->n_pos[seq] = n;
        tl_kv_trim(kv, seq);
    }
    return kv->n_pos[seq];
}

void tl_kv_fork(tl_kv *kv, int from, int to) {
    if (from == to) return;
    tl_kv_truncate(kv, to, 0);
    int32_t *a = table_of(kv, from), *b = table_of(kv, to);
    for (int i = 0; i * TL_KV_PAGE < kv->n_pos[from]; i++) kv->refs[b[i] = a[i]]++;
    kv->n_pos[to] = kv->n_pos[from];
}

/* ---- values ---- */

/* x [n], or a copy of it in room with zeros behind, up to `held` values. */
static const float *padded(const float *x, int n, int held, float *room) {
    if (n == held) return x;
    memcpy(room, x, (size_t)n * sizeof *x);
    for (int i = n; i < held; i++) room[i] = 0;
    return room;
}

void tl_kv_put_k(const tl_kv *kv, int slot, int seq, int head, int pos, const float *k) {
    float room[TL_HD_MAX];
    const tl_kv_slot *s = &kv->slots[slot];
    kv->ops->put_k(tl_kv_k(kv, slot, seq, head, pos / TL_KV_PAGE), padded(k, s->dims.k, s->hk, room), s->hk, pos % TL_KV_PAGE);
}

void tl_kv_put_v(const tl_kv *kv, int slot, int seq, int head, int pos, const float *v) {
    float room[TL_HD_MAX];
    const tl_kv_slot *s = &kv->slots[slot];
    kv->ops->put_v(tl_kv_v(kv, slot, seq, head, pos / TL_KV_PAGE), padded(v, s->dims.v, s->hv, room), s->hv, pos % TL_KV_PAGE);
}

void tl_kv_put_q(const tl_kv *kv, int slot, float *dst, const float *q) {
    float room[TL_HD_MAX];
    const tl_kv_slot *s = &kv->slots[slot];
    kv->ops->put_q(dst, padded(q, s->dims.k, s->hk, room), s->hk);
}
