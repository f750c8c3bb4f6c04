/* SPDX-License-Identifier: MIT
 *
 * floats.tmpl.h: a cache type whose pages are arrays of numbers, each by itself. Before it is included:
 *   TYPE, ELEM            its name and what an element is
 *   to_elem, from_elem    functions: a float as an element, and back */
#include <string.h>
#include "kv/attn.h"

#define OPS_(name) tl_kv_type_##name
#define OPS(name) OPS_(name)

static void put_q(void *dst, const float *q, int hd) { memcpy(dst, q, (size_t)hd * sizeof *q); }

static void put_k(void *page, const float *k, int hd, int at) {
    for (int d = 0; d < hd; d++) ((ELEM *)page)[d * TL_KV_PAGE + at] = to_elem(k[d]);
}

static void put_v(void *page, const float *v, int hd, int at) {
    for (int d = 0; d < hd; d++) ((ELEM *)page)[at * hd + d] = to_elem(v[d]);
}

/* n elements of a page, from element i on. */
static void load(float *y, const void *page, int i, int n) {
    for (int d = 0; d < n; d++) y[d] = from_elem(((const ELEM *)page)[i + d]);
}

static int load_v(float *y, const tl_attn_args *a, int b, int p) {
    const int n = a->hv - b * 32 < 32 ? a->hv - b * 32 : 32;
    load(y, a->v, p * a->hv + b * 32, n);
    return n;
}

/* Scores of every query at every position of the page. */
static void scores(const tl_attn_args *a) {
    memset(a->scratch, 0, (size_t)a->nq * TL_KV_PAGE * sizeof(float));
    for (int d = 0; d < a->hk; d++) {
        float k[TL_KV_PAGE];
        load(k, a->k, d * TL_KV_PAGE, TL_KV_PAGE);
        for (int i = 0; i < a->nq; i++) {
            const float q = ((const float *)a->q)[i * a->hk + d];
            for (int p = 0; p < TL_KV_PAGE; p++) a->scratch[i * TL_KV_PAGE + p] += q * k[p];
        }
    }
}

static void attn(const tl_attn_args *a) {
    scores(a);
    weigh_and_add(a, load_v);
}

extern const tl_kv_ops OPS(TYPE);
const tl_kv_ops OPS(TYPE) = {.put_q = put_q, .put_k = put_k, .put_v = put_v, .attn = attn};
