/* SPDX-License-Identifier: MIT
 * The page pool and the sequences' page tables. See kv.h. */
#include "kv/kv.h"

#include <string.h>

/* Pages of the budget and bytes of all slots. */
static int set_sizes(tl_kv *kv, const tl_kv_shape *shape, tl_error *err) {
    size_t pages, budget = ((size_t)(shape->n_positions > 0 ? shape->n_positions : 0) + TL_KV_PAGE - 1) / TL_KV_PAGE;
    if (!tl_mul_size((size_t)shape->n_seq, (size_t)kv->pages_per_seq, &pages)) pages = SIZE_MAX;
    if (shape->n_positions > 0 && budget < pages) pages = budget;
    if (pages < INT32_MAX && tl_mul_size(kv->head_bytes, pages, &kv->bytes) &&
        tl_mul_size(kv->bytes, kv->first[kv->n_slots], &kv->bytes)) {
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
    kv->n_pos = kv->refs ? tl_alloc_n((size_t)kv->n_seq, sizeof *kv->n_pos, "sequences", err) : NULL;
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
    kv->n_slots = shape->n_slots, kv->n_seq = shape->n_seq, kv->n_ctx = shape->n_ctx, kv->dim = shape->dim;
    kv->head_dim = (int)tl_kv_head_dim(ops->elems, shape->dim);
    kv->pages_per_seq = (shape->n_ctx + TL_KV_PAGE - 1) / TL_KV_PAGE;
    kv->head_bytes = 2 * tl_kv_page_bytes(ops, kv->head_dim);
    kv->heads = tl_alloc_n((size_t)kv->n_slots + 1, sizeof *kv->heads, "KV slots", err);
    kv->first = tl_alloc_n((size_t)kv->n_slots + 1, sizeof *kv->first, "KV slots", err);
    int rc = kv->heads && kv->first ? TL_OK : TL_E_MEMORY;
    for (int i = 0; rc == TL_OK && i < kv->n_slots; i++) {
        kv->heads[i] = shape->heads[i];
        kv->first[i + 1] = kv->first[i] + (size_t)shape->heads[i];
    }
    if (rc == TL_OK) rc = set_sizes(kv, shape, err);
    if (rc == TL_OK) rc = alloc_all(kv, err);
    if (rc != TL_OK) tl_kv_done(kv);
    return rc;
}

void tl_kv_done(tl_kv *kv) {
    tl_free_big(kv->mem, kv->bytes);
    tl_free(kv->heads);
    tl_free(kv->first);
    tl_free(kv->table);
    tl_free(kv->free_pages);
    tl_free(kv->refs);
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
    for (int i = 0; i < kv->n_slots; i++) {
        size_t page_bytes = (size_t)kv->heads[i] * kv->head_bytes;
        uint8_t *base = kv->mem + kv->first[i] * (size_t)kv->n_pages * kv->head_bytes;
        memcpy(base + (size_t)to * page_bytes, base + (size_t)from * page_bytes, page_bytes);
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

/* x [dim], or a copy of it in room with zeros behind. */
static const float *padded(const tl_kv *kv, const float *x, float *room) {
    if (kv->dim == kv->head_dim) return x;
    memcpy(room, x, (size_t)kv->dim * sizeof *x);
    for (int i = kv->dim; i < kv->head_dim; i++) room[i] = 0;
    return room;
}

void tl_kv_put_k(const tl_kv *kv, int slot, int seq, int head, int pos, const float *k) {
    float room[TL_HD_MAX];
    kv->ops->put_k(tl_kv_k(kv, slot, seq, head, pos / TL_KV_PAGE), padded(kv, k, room), kv->head_dim, pos % TL_KV_PAGE);
}

void tl_kv_put_v(const tl_kv *kv, int slot, int seq, int head, int pos, const float *v) {
    float room[TL_HD_MAX];
    uint8_t *k = tl_kv_k(kv, slot, seq, head, pos / TL_KV_PAGE);
    kv->ops->put_v(tl_kv_v(kv, k), padded(kv, v, room), kv->head_dim, pos % TL_KV_PAGE);
}

void tl_kv_put_q(const tl_kv *kv, float *dst, const float *q) {
    float room[TL_HD_MAX];
    kv->ops->put_q(dst, padded(kv, q, room), kv->head_dim);
}
