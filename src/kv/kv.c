/* SPDX-License-Identifier: MIT
 * The page pool and the sequences' page tables. See kv.h. */
#include "kv/kv.h"

#include <string.h>

int tl_kv_init(tl_kv *kv, const tl_kv_ops *ops, int n_layers, int n_heads, int head_dim, int n_seq, int n_ctx, tl_error *err) {
    memset(kv, 0, sizeof *kv);
    kv->ops = ops;
    kv->n_layers = n_layers, kv->n_heads = n_heads, kv->head_dim = head_dim, kv->n_seq = n_seq, kv->n_ctx = n_ctx;
    kv->pages_per_seq = (n_ctx + TL_KV_PAGE - 1) / TL_KV_PAGE;
    kv->head_bytes = 2 * tl_kv_page_bytes(ops, head_dim);
    size_t pages;
    if (tl_mul_size((size_t)n_seq, (size_t)kv->pages_per_seq, &pages) && pages < INT32_MAX &&
        tl_mul_size(kv->head_bytes, pages, &kv->bytes) && tl_mul_size(kv->bytes, (size_t)n_layers, &kv->bytes) &&
        tl_mul_size(kv->bytes, (size_t)n_heads, &kv->bytes))
        kv->n_pages = (int)pages;
    else
        return tl_fail(err, TL_E_MEMORY, "a context of %d positions for %d sequences is too large for this machine", n_ctx, n_seq);
    kv->mem = tl_alloc_big(kv->bytes, "KV cache", err);
    kv->table = kv->mem ? tl_alloc_n(pages, sizeof *kv->table, "KV page table", err) : NULL;
    kv->free_pages = kv->table ? tl_alloc_n(pages, sizeof *kv->free_pages, "KV page list", err) : NULL;
    kv->refs = kv->free_pages ? tl_alloc_n(pages, sizeof *kv->refs, "KV page counts", err) : NULL;
    kv->n_pos = kv->refs ? tl_alloc_n((size_t)n_seq, sizeof *kv->n_pos, "sequences", err) : NULL;
    if (!kv->n_pos) { tl_kv_done(kv); return TL_E_MEMORY; }
    for (int i = 0; i < kv->n_pages; i++) {
        kv->table[i] = -1;
        kv->free_pages[i] = kv->n_pages - 1 - i; /* page 0 is handed out first */
    }
    kv->n_free = kv->n_pages;
    return TL_OK;
}

void tl_kv_done(tl_kv *kv) {
    tl_free_big(kv->mem, kv->bytes);
    tl_free(kv->table);
    tl_free(kv->free_pages);
    tl_free(kv->refs);
    tl_free(kv->n_pos);
    memset(kv, 0, sizeof *kv);
}

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
    size_t layer_bytes = (size_t)kv->n_heads * kv->head_bytes;
    int32_t from = *entry, to = new_page(kv);
    kv->refs[from]--;
    *entry = to;
    for (size_t i = 0; i < (size_t)kv->n_layers; i++) {
        uint8_t *base = kv->mem + i * (size_t)kv->n_pages * layer_bytes;
        memcpy(base + (size_t)to * layer_bytes, base + (size_t)from * layer_bytes, layer_bytes);
    }
}

void tl_kv_reserve(tl_kv *kv, int seq, int end) {
    int32_t *table = table_of(kv, seq);
    for (int i = kv->n_pos[seq] / TL_KV_PAGE; i * TL_KV_PAGE < end; i++) {
        if (table[i] < 0) table[i] = new_page(kv);
        else if (kv->refs[table[i]] > 1) make_own(kv, &table[i]);
    }
}

void tl_kv_truncate(tl_kv *kv, int seq, int n) {
    if (n >= kv->n_pos[seq]) return;
    int32_t *table = table_of(kv, seq);
    kv->n_pos[seq] = n;
    for (int i = (n + TL_KV_PAGE - 1) / TL_KV_PAGE; i < kv->pages_per_seq && table[i] >= 0; i++) release(kv, &table[i]);
}

void tl_kv_fork(tl_kv *kv, int from, int to) {
    if (from == to) return;
    tl_kv_truncate(kv, to, 0);
    int32_t *a = table_of(kv, from), *b = table_of(kv, to);
    for (int i = 0; i * TL_KV_PAGE < kv->n_pos[from]; i++) kv->refs[b[i] = a[i]]++;
    kv->n_pos[to] = kv->n_pos[from];
}
