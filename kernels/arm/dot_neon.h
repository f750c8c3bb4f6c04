/* SPDX-License-Identifier: MIT
 * Integer dot products of 4 weight rows with plain Armv8 instructions; the part of arm/gemm.h that differs by level.
 *
 * A half unit is 4 rows x 16 k in four registers (arm/arm.h). With this KGROUP a register is 16 k of one row, in the
 * order of the activations. Products are summed in int16 over two k: at most 2 * 128 * 127 = 32512 < 2^15, so no code of
 * 8 bits overflows; three would. */
#ifndef TL_ARM_DOT_NEON_H
#define TL_ARM_DOT_NEON_H

#include "arm/arm.h"

enum { KGROUP = 16 };

/* 16 k of one row, left in 8 partial sums. */
INLINE int16x8_t products(int8x16_t w, int8x16_t x) {
    return vmlal_high_s8(vmull_s8(vget_low_s8(w), vget_low_s8(x)), w, x);
}

/* Lane r: sum over 16 * halves k of row r times the token at x. */
INLINE int32x4_t dot1(const int8x16_t *w, int halves, const int8_t *x) {
    int32x4_t sum[4];
    UNROLL
    for (int r = 0; r < 4; r++) {
        sum[r] = vpaddlq_s16(products(w[r], vld1q_s8(x)));
        if (halves == 2) sum[r] = vpadalq_s16(sum[r], products(w[r + 4], vld1q_s8(x + 16)));
    }
    return vpaddq_s32(vpaddq_s32(sum[0], sum[1]), vpaddq_s32(sum[2], sum[3]));
}

/* The same for the two tokens at x and x + 32. */
INLINE void dot2(const int8x16_t *w, int halves, const int8_t *x, int32x4_t sum[2]) {
    sum[0] = dot1(w, halves, x);
    sum[1] = dot1(w, halves, x + 32);
}

#endif
