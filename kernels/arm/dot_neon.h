/* SPDX-License-Identifier: MIT
 * Integer dot products of 4 weight rows with plain Armv8 instructions; the part of arm/gemm.h that differs by level.
 *
 * A half unit is 4 rows x 16 k in four registers (arm/arm.h). With this KGROUP a
 * register is 2 rows x 8 k, so that activations are used as loaded. Products are summed in int16 over two k: at most
 * 2 * 128 * 127 = 32512 < 2^15, so no code of 8 bits overflows; three would. */
#ifndef TL_ARM_DOT_NEON_H
#define TL_ARM_DOT_NEON_H

#include "arm/arm.h"

enum { KGROUP = 8 };

/* Sum over 16 k of one row, left in 4 partial sums: k 0..7 in w0, k 8..15 in w1. */
INLINE int16x8_t products(int8x8_t w0, int8x8_t w1, int8x16_t x) {
    return vmlal_s8(vmull_s8(w0, vget_low_s8(x)), w1, vget_high_s8(x));
}

/* Lane r: sum over 16 * halves k of row r times the token at x. */
INLINE int32x4_t dot1(const int8x16_t *w, int halves, const int8_t *x) {
    int32x4_t sum[4] = {vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};
    for (int h = 0; h < halves; h++, w += 4, x += 16) {
        int8x16_t a = vld1q_s8(x);
        sum[0] = vpadalq_s16(sum[0], products(vget_low_s8(w[0]), vget_low_s8(w[2]), a));
        sum[1] = vpadalq_s16(sum[1], products(vget_high_s8(w[0]), vget_high_s8(w[2]), a));
        sum[2] = vpadalq_s16(sum[2], products(vget_low_s8(w[1]), vget_low_s8(w[3]), a));
        sum[3] = vpadalq_s16(sum[3], products(vget_high_s8(w[1]), vget_high_s8(w[3]), a));
    }
    return vpaddq_s32(vpaddq_s32(sum[0], sum[1]), vpaddq_s32(sum[2], sum[3]));
}

/* The same for the two tokens at x and x + 32. */
INLINE void dot2(const int8x16_t *w, int halves, const int8_t *x, int32x4_t sum[2]) {
    sum[0] = dot1(w, halves, x);
    sum[1] = dot1(w, halves, x + 32);
}

#endif
