/* SPDX-License-Identifier: MIT
 *
 * kv.h: owns every cached key and value. The cache of a sequence is a list of pages of TL_KV_PAGE positions that start
 * at multiples of TL_KV_PAGE; a page holds all layers and kv heads of its positions. Memory is reserved for n_seq full
 * sequences at creation and becomes resident only as positions are written. Sequences may share pages (tl_kv_fork); a
 * shared page is copied by the first one that writes to it. The form of a page: kernels.h. */
#ifndef TL_KV_H
#define TL_KV_H

#include "base/base.h"
#include "kernels.h"

typedef struct tl_kv {
    const tl_kv_ops *ops;
    int n_layers, n_heads, head_dim, n_seq, n_ctx;
    int pages_per_seq;
    size_t head_bytes;    /* of one page, layer and head: K, then V */
    size_t bytes;         /* of mem */
    uint8_t *mem;         /* [n_layers][page][n_heads][head_bytes] */
    int32_t *table;       /* [n_seq][pages_per_seq]: page number, -1: none yet */
    int32_t *refs;        /* [n_pages]: sequences that hold a page */
    int32_t *free_pages;  /* [n_free]: stack */
    int n_free, n_pages;
    int *n_pos;           /* [n_seq]: positions held */
} tl_kv;

int tl_kv_init(tl_kv *kv, const tl_kv_ops *ops, int n_layers, int n_heads, int head_dim, int n_seq, int n_ctx, tl_error *err);
void tl_kv_done(tl_kv *kv);
/* Makes positions n_pos[seq] to end-1 (at most n_ctx) writable: pages exist and are the sequence's own. Always
 * succeeds: there are as many pages as all page tables together have entries. */
void tl_kv_reserve(tl_kv *kv, int seq, int end);
/* Forgets positions n and later; pages that become empty are free again. */
void tl_kv_truncate(tl_kv *kv, int seq, int n);
/* Makes sequence to hold what from holds, by sharing its pages. */
void tl_kv_fork(tl_kv *kv, int from, int to);

/* K of page number i of a sequence; V follows it (tl_kv_v). */
static inline uint8_t *tl_kv_k(const tl_kv *kv, int layer, int seq, int head, int i) {
    size_t page = (size_t)kv->table[(size_t)seq * (size_t)kv->pages_per_seq + (size_t)i];
    return kv->mem + (((size_t)layer * (size_t)kv->n_pages + page) * (size_t)kv->n_heads + (size_t)head) * kv->head_bytes;
}
static inline uint8_t *tl_kv_v(const tl_kv *kv, uint8_t *k) { return k + kv->head_bytes / 2; }

#endif
