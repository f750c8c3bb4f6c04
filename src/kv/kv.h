/* SPDX-License-Identifier: MIT
 *
 * kv.h: owns every cached key and value, and alone writes them. The cache of a sequence is a list of pages of TL_KV_PAGE
 * positions that start at multiples of TL_KV_PAGE; a page holds all slots and heads of its positions. A slot is what one
 * block of the model caches; slots may differ in heads and in the widths of K and V, and blocks may share one. Sequences
 * share pages (tl_kv_fork), with the tokens they were computed from; a shared page is copied by the first one that writes to it. All sequences take their pages
 * from one budget. Memory is reserved at creation and becomes resident only as positions are written.
 *
 * Heads of any size are held, padded with zeros to a multiple of 16 values and of the type's block; the form of a page:
 * kernels.h. Finite values beyond what the type can hold are held as its largest (f16: 65504); infinity and NaN stay. */
#ifndef TL_KV_H
#define TL_KV_H

#include "base/base.h"
#include "kernels.h"

/* What a slot caches of a position: heads, and the values of a key and of a value. */
typedef struct tl_kv_dims { int heads, k, v; } tl_kv_dims;

typedef struct tl_kv_slot {
    tl_kv_dims dims;
    int hk, hv;           /* k and v with the padding */
    size_t v_at;          /* bytes of a head in a page: of K, behind which V begins; */
    size_t head_bytes;    /* of both */
    size_t before;        /* bytes of a page in the slots before */
} tl_kv_slot;

typedef struct tl_kv {
    const tl_kv_ops *ops;
    int n_slots, n_seq, n_ctx;
    int pages_per_seq;
    tl_kv_slot *slots;    /* [n_slots] */
    size_t page_bytes;    /* of all slots */
    size_t bytes;         /* of mem */
    uint8_t *mem;         /* [slot][page][heads of the slot][head_bytes of the slot] */
    int32_t *table;       /* [n_seq][pages_per_seq]: page number, -1: none yet */
    int32_t *tokens;      /* [n_pages][TL_KV_PAGE]: what the positions of a page were computed from */
    int32_t *refs;        /* [n_pages]: sequences that hold a page */
    int32_t *free_pages;  /* [n_free]: stack */
    int n_free, n_pages;
    int *n_pos;           /* [n_seq]: positions held */
} tl_kv;

/* What a cache is for. */
typedef struct tl_kv_shape {
    const tl_kv_dims *slots;   /* [n_slots] */
    int n_slots, n_seq, n_ctx;
    int64_t n_positions;       /* that all sequences together may hold, in whole pages; 0: n_seq * n_ctx */
} tl_kv_shape;

/* The most that any type's padding makes of a head of dim values. */
int tl_kv_padded(int dim);

int tl_kv_init(tl_kv *kv, const tl_kv_ops *ops, const tl_kv_shape *shape, tl_error *err);
void tl_kv_done(tl_kv *kv);
/* Makes positions n_pos[seq] to end-1 (at most n_ctx) writable: pages exist and are the sequence's own. TL_E_CONTEXT if
 * the budget has too few free pages: what was taken stays taken until tl_kv_trim. */
int tl_kv_reserve(tl_kv *kv, int seq, int end, tl_error *err);
/* Gives back pages behind n_pos[seq]. */
void tl_kv_trim(tl_kv *kv, int seq);
/* Forgets positions n and later; pages that become empty are free again. Returns how many positions are held now. */
int tl_kv_truncate(tl_kv *kv, int seq, int n);
/* Makes sequence to hold what from holds, by sharing its pages. */
void tl_kv_fork(tl_kv *kv, int from, int to);

/* The token of a position that is reserved. */
static inline int32_t *tl_kv_token(const tl_kv *kv, int seq, int pos) {
    size_t page = (size_t)kv->table[(size_t)seq * (size_t)kv->pages_per_seq + (size_t)(pos / TL_KV_PAGE)];
    return kv->tokens + page * TL_KV_PAGE + pos % TL_KV_PAGE;
}
/* Writes a head's K [k] or V [v] of a position that is reserved. */
void tl_kv_put_k(const tl_kv *kv, int slot, int seq, int head, int pos, const float *k);
void tl_kv_put_v(const tl_kv *kv, int slot, int seq, int head, int pos, const float *v);
/* A query [k] in the form that the type's pages are met with, hk floats at dst. */
void tl_kv_put_q(const tl_kv *kv, int slot, float *dst, const float *q);

/* K of page number i of a sequence, and V. */
static inline uint8_t *tl_kv_k(const tl_kv *kv, int slot, int seq, int head, int i) {
    const tl_kv_slot *s = &kv->slots[slot];
    size_t page = (size_t)kv->table[(size_t)seq * (size_t)kv->pages_per_seq + (size_t)i];
    return kv->mem + s->before * (size_t)kv->n_pages + (page * (size_t)s->dims.heads + (size_t)head) * s->head_bytes;
}
static inline uint8_t *tl_kv_v(const tl_kv *kv, int slot, int seq, int head, int i) {
    return tl_kv_k(kv, slot, seq, head, i) + kv->slots[slot].v_at;
}

#endif
