/* SPDX-License-Identifier: MIT
 *
 * round.h: floats as 8-bit codes with a scale, in plain C: activations, queries, and keys and values of q8_0. */
#ifndef TL_ROUND_H
#define TL_ROUND_H

#include <math.h>
#include "half.h"

/* The largest magnitude, as bits: magnitudes compare like their bit patterns, NaN above all. */
static inline uint32_t top_bits(const float *x, int n) {
    uint32_t top = 0;
    for (int i = 0; i < n; i++) {
        uint32_t u = tl_f32_bits(x[i]) & 0x7fffffff;
        if (u > top) top = u;
    }
    return top;
}

/* Of values up to that magnitude. 0 also where its reciprocal is no float: most denormals. */
static inline float scale_of(uint32_t top) {
    const float amax = tl_f32_from_bits(top);
    return top >= 0x7f800000 ? NAN : isfinite(127.0f / amax) ? amax / 127.0f : 0;
}

/* Codes of 16 values; returns their sum. All zero where the scale is NaN or 0. */
static inline int16_t round_16(const float *x, uint32_t top, int8_t *q) {
    const float id = 127.0f / tl_f32_from_bits(top);
    int sum = 0, usable = top < 0x7f800000 && isfinite(id);
    for (int i = 0; i < 16; i++) sum += q[i] = usable ? (int8_t)lrintf(x[i] * id) : 0;
    return (int16_t)sum;
}

/* Codes of 32 values and their sums by halves; returns the scale. */
static inline float quantize_block(const float *x, int8_t *q, int16_t *s) {
    const uint32_t top = top_bits(x, 32);
    for (int h = 0; h < 2; h++) s[h] = round_16(x + 16 * h, top, q + 16 * h);
    return scale_of(top);
}

#endif
