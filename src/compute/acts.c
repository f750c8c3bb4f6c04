/* SPDX-License-Identifier: MIT
 *
 * The right-hand sides of products: rows normalised, brought into the forms that the weights' kernels read, and gathered. */
#include "compute/compute.h"

#include <string.h>

unsigned tl_weight_forms(const tl_weight *const *w, int n) {
    unsigned forms = 0;
    for (int i = 0; i < n; i++)
        if (w[i]->gemm) forms |= 1u << w[i]->gemm->act;
    return forms;
}

void tl_acts_put(tl_worker *t, const tl_prepare *p, int row, const tl_acts *to, int at) {
    const float *x = p->src + (size_t)row * p->stride;
    if (p->norm) {
        tl_norm_row(t->k, p->norm, t->row, x, p->k);
        x = t->row;
    }
    for (int f = 0; f < TL_N_ACTS; f++)
        if (p->forms >> f & 1) t->k->put_act[f](x, p->k, to->form[f], to->n, at);
}

tl_acts tl_acts_prepare(tl_worker *t, const tl_prepare *p) {
    int alone = p->n == 1, begin = 0, end = 1;
    tl_acts to = {.n = p->n, .k = p->k};
    memcpy(to.form, alone ? t->own : p->shared, sizeof to.form);
    if (!alone) tl_split(p->n, 1, t->thread, t->n_threads, &begin, &end);
    for (int i = begin; i < end; i++) tl_acts_put(t, p, i, &to, i);
    if (!alone) tl_pool_barrier(t->pool);
    return to;
}

/* ---- copies of tokens: the forms' layouts are in kernels.h ---- */

/* Where a token's part of a block's array begins; size: bytes of a token, all tokens of the tile side by side. */
typedef struct token { uint8_t *block; int at, n; } token;

static token token_at(int form, int k, void *acts, int n, int i) {
    int tile = i / TL_ACT_TILE;
    return (token){(uint8_t *)acts + tl_act_tile_at(form, k, tile), i % TL_ACT_TILE, tl_act_tile_n(n, tile)};
}

/* size bytes of an array that holds them for every token, before bytes of a token behind the block's begin. */
#define COPY(before, size) \
    memcpy(d.block + (before) * d.n + (size) * d.at, s.block + (before) * s.n + (size) * s.at, (size))

static void copy_q8(token d, token s, int blocks) {
    for (; blocks; blocks--, d.block += TL_ACT_Q8_BYTES * d.n, s.block += TL_ACT_Q8_BYTES * s.n) {
        COPY(0, 32);
        COPY(32, 4);
        COPY(36, 4);
        COPY(40, 4);
    }
}

static void copy_q8k(token d, token s, int blocks) {
    for (; blocks; blocks--, d.block += TL_ACT_Q8K_BYTES * d.n, s.block += TL_ACT_Q8K_BYTES * s.n) {
        for (int part = 0; part < 256; part += 64) COPY(part, 64);
        COPY(256, 4);
        COPY(260, 48);
    }
}

void tl_acts_copy(unsigned forms, const tl_acts *dst, int at, const tl_acts *src, int from) {
    int k = dst->k;
#define TOKENS(f) token_at(f, k, dst->form[f], dst->n, at), token_at(f, k, src->form[f], src->n, from)
    if (forms >> TL_ACT_F32 & 1)
        memcpy((float *)dst->form[TL_ACT_F32] + (size_t)at * (size_t)k,
               (const float *)src->form[TL_ACT_F32] + (size_t)from * (size_t)k, (size_t)k * sizeof(float));
    if (forms >> TL_ACT_Q8 & 1) copy_q8(TOKENS(TL_ACT_Q8), k / 32);
    if (forms >> TL_ACT_Q8K & 1) copy_q8k(TOKENS(TL_ACT_Q8K), k / 256);
#undef TOKENS
}
