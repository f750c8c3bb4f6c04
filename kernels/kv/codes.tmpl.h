/* SPDX-License-Identifier: MIT
 *
 * codes.tmpl.h: a cache type that holds 32 values as codes with one scale (kv_block.h). Before it is included:
 *   TYPE, BITS            its name and the bits of a code, 8 or 4
 *   quantize(x, q)        function: the codes of x [32]; returns the scale, NaN where one of x is not finite */
#include <string.h>
#include "kv/attn.h"
#include "kv_block.h"
#include "scalar/round.h"

#define OPS_(name) tl_kv_type_##name
#define OPS(name) OPS_(name)

static void put_q(void *dst, const float *q, int hd) {
    tl_kv_query *x = dst;
    for (int b = 0; b < hd / 32; b++) {
        int16_t s[2];
        x[b].d = quantize_block(q + b * 32, x[b].q, s);
        x[b].sum = s[0] + s[1];
    }
}

static void put_k(void *page, const float *k, int hd, int at) {
    for (int b = 0; b < hd / 32; b++) {
        int8_t q[32];
        const float d = quantize(k + b * 32, q);
        tl_kv_store_k(page, b, at, q, d, BITS);
    }
}

static void put_v(void *page, const float *v, int hd, int at) {
    for (int b = 0; b < hd / 32; b++) {
        int8_t q[32];
        const float d = quantize(v + b * 32, q);
        tl_kv_store_v(page, b, at, q, d, BITS);
    }
}

static int load_v(float *y, const tl_attn_args *a, int b, int p) {
    float scale;
    int8_t v[32];
    tl_kv_load_v(a->v, b, p, v, &scale, BITS);
    for (int d = 0; d < 32; d++) y[d] = scale * (float)v[d];
    return 32;
}

/* Scores of every query at every position of the page. */
static void scores(const tl_attn_args *a) {
    memset(a->scratch, 0, (size_t)a->nq * TL_KV_PAGE * sizeof(float));
    for (int b = 0; b < a->hk / 32; b++)
        for (int p = 0; p < TL_KV_PAGE; p++) {
            float scale;
            int8_t k[32];
            tl_kv_load_k(a->k, b, p, k, &scale, BITS);
            for (int i = 0; i < a->nq; i++) {
                const tl_kv_query *x = (const void *)((const float *)a->q + i * a->hk);
                int32_t sum = 0;
                for (int d = 0; d < 32; d++) sum += k[d] * x[b].q[d];
                a->scratch[i * TL_KV_PAGE + p] += (float)sum * (scale * x[b].d);
            }
        }
}

static void attn(const tl_attn_args *a) {
    scores(a);
    weigh_and_add(a, load_v);
}

extern const tl_kv_ops OPS(TYPE);
const tl_kv_ops OPS(TYPE) = {.put_q = put_q, .put_k = put_k, .put_v = put_v, .attn = attn};
