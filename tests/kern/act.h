/* SPDX-License-Identifier: MIT
 *
 * act.h: the forms of activations written as kernels.h defines them, in plain C and independent of the kernels. */
#ifndef TL_TEST_ACT_H
#define TL_TEST_ACT_H
#include <math.h>
#include <string.h>
#include "kernels.h"

/* Codes of n values (at most 256) that share a scale, and their sums by 16, as kernels.h defines them; returns the scale. */
static inline float reference_block(const float *x, int n, int8_t *q, int16_t *s) {
    float amax = 0;
    int bad = 0;
    for (int i = 0; i < n; i++) {
        if (!isfinite(x[i])) bad = 1;
        amax = fmaxf(amax, fabsf(x[i]));
    }
    memset(q, 0, (size_t)n);
    memset(s, 0, (size_t)n / 16 * sizeof *s);
    if (bad || !isfinite(127.0f / amax)) return bad ? NAN : 0;
    for (int i = 0; i < n; i++) {
        volatile float scaled = x[i] * (127.0f / amax);
        q[i] = (int8_t)nearbyintf(scaled);
        s[i / 16] = (int16_t)(s[i / 16] + q[i]);
    }
    return amax / 127.0f;
}

static inline void put_f32(const float *x, int k, uint8_t *act, int n, int t) {
    memcpy(act + (size_t)t * (size_t)k * 4, x, (size_t)k * 4);
    (void)n;
}

static inline void put_q8(const float *x, int k, uint8_t *act, int n, int t) {
    const int j = t / TL_ACT_TILE, T = tl_act_tile_n(n, j), i = t % TL_ACT_TILE;
    for (int b = 0; b < k / 32; b++) {
        uint8_t *p = act + tl_act_tile_at(TL_ACT_Q8, k, j) + (size_t)b * (size_t)T * TL_ACT_Q8_BYTES;
        int8_t q[32];
        int16_t s[2];
        float d = reference_block(x + b * 32, 32, q, s), ds = d * (float)(s[0] + s[1]);
        memcpy(p + i * 32, q, 32);
        memcpy(p + T * 32 + i * 4, &d, 4);
        memcpy(p + T * 36 + i * 4, &ds, 4);
        memcpy(p + T * 40 + i * 4, s, 4);
    }
}

static inline void put_q8k(const float *x, int k, uint8_t *act, int n, int t) {
    const int j = t / TL_ACT_TILE, T = tl_act_tile_n(n, j), i = t % TL_ACT_TILE;
    for (int b = 0; b < k / 256; b++) {
        uint8_t *p = act + tl_act_tile_at(TL_ACT_Q8K, k, j) + (size_t)b * (size_t)T * TL_ACT_Q8K_BYTES;
        int8_t q[256];
        int16_t s[24];
        float d = reference_block(x + b * 256, 256, q, s + 8);
        for (int h = 0; h < 8; h++) s[h] = (int16_t)(s[8 + 2 * h] + s[9 + 2 * h]);
        for (int c = 0; c < 4; c++) memcpy(p + (c * T + i) * 64, q + 64 * c, 64);
        memcpy(p + T * 256 + i * 4, &d, 4);
        memcpy(p + T * 260 + i * 48, s, 48);
    }
}

/* By form: values of a block, and what writes token t of n. */
static const struct act_form { const char *name; int block; void (*put)(const float *, int, uint8_t *, int, int); } act_forms[TL_N_ACTS] = {
    [TL_ACT_F32] = {"f32", 1, put_f32}, [TL_ACT_Q8] = {"q8", 32, put_q8}, [TL_ACT_Q8K] = {"q8k", 256, put_q8k},
};

#endif
