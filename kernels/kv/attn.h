/* SPDX-License-Identifier: MIT
 *
 * attn.h: attention over a page in plain C, as far as it is the same for all cache types: how scores become weights, and
 * the weighted sum of V. Written to be read, not to be fast. */
#ifndef TL_KV_ATTN_H
#define TL_KV_ATTN_H

#include <math.h>
#include "kernels.h"

/* 32 values of V at position p, from value 32 b on; returns how many there are: a head of floats may end earlier. */
typedef int tl_load_v(float *y, const tl_attn_args *a, int b, int p);

/* What scores are taken relative to: 0 instead of -inf, so that exp(-inf - ref) is 0 and a NaN stays one. */
static inline float reference(float m) { return m == -INFINITY ? 0 : m; }

/* Positions of the page that query i sees: first and end. */
static inline int first(const tl_attn_args *a, int i) { return a->lo[i] > 0 ? a->lo[i] : 0; }
static inline int end(const tl_attn_args *a, int i) { return a->hi[i] < TL_KV_PAGE ? a->hi[i] : TL_KV_PAGE; }

/* Turns the scores of query i into weights. A NaN score that max drops comes back through its weight. */
static inline void weigh(const tl_attn_args *a, int i) {
    const int lo = first(a, i), hi = end(a, i);
    float *w = a->scratch + i * TL_KV_PAGE, *acc = a->acc + i * a->hv, m = a->m[i];
    for (int p = lo; p < hi; p++) {
        if (a->softcap > 0) w[p] = a->softcap * tanhf(w[p] / a->softcap);
        m = fmaxf(m, w[p]);
    }
    const float keep = expf(a->m[i] - reference(m));
    float s = a->s[i] * keep;
    for (int d = 0; d < a->hv; d++) acc[d] *= keep;
    for (int p = lo; p < hi; p++) {
        w[p] = expf(w[p] - reference(m));
        s += w[p];
    }
    a->m[i] = m;
    a->s[i] = s;
}

/* From the scores of all queries at all positions, a->scratch [nq][TL_KV_PAGE], to their states. Each row of V is decoded
 * once for all queries. */
static inline void weigh_and_add(const tl_attn_args *a, tl_load_v *load_v) {
    for (int i = 0; i < a->nq; i++)
        if (first(a, i) < end(a, i)) weigh(a, i);
    for (int p = 0; p < TL_KV_PAGE; p++)
        for (int b = 0; b * 32 < a->hv; b++) {
            float v[32];
            const int n = load_v(v, a, b, p);
            for (int i = 0; i < a->nq; i++)
                if (first(a, i) <= p && p < end(a, i))
                    for (int d = 0; d < n; d++) a->acc[i * a->hv + b * 32 + d] += a->scratch[i * TL_KV_PAGE + p] * v[d];
        }
}

#endif
