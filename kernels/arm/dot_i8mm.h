/* SPDX-License-Identifier: MIT
 * Integer dot products of 4 weight rows with smmla; the part of arm/gemm.h that differs by level.
 *
 * A half unit is 4 rows x 16 k in four registers (arm/arm.h). With this KGROUP a
 * register is 2 rows x 8 k, an operand of smmla, which multiplies it by 2 tokens x 8 k into 2 x 2 sums. A token
 * without a partner takes sdot on the same registers: integer sums are exact, so its result has the same bits. */
#ifndef TL_ARM_DOT_I8MM_H
#define TL_ARM_DOT_I8MM_H

#include "arm/arm.h"

enum { KGROUP = 8 };

/* Lane r: sum over 16 * halves k of row r times the token at x. */
INLINE int32x4_t dot1(const int8x16_t *w, int halves, const int8_t *x) {
    int32x4_t sum[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};
    UNROLL
    for (int c = 0; c < 2 * halves; c++, w += 2, x += 8) {
        int8x16_t a = vcombine_s8(vld1_s8(x), vld1_s8(x));
        sum[0] = vdotq_s32(sum[0], w[0], a);
        sum[1] = vdotq_s32(sum[1], w[1], a);
    }
    return vpaddq_s32(sum[0], sum[1]);
}

INLINE int8x16_t low_halves(int8x16_t a, int8x16_t b) {
    return vreinterpretq_s8_s64(vzip1q_s64(vreinterpretq_s64_s8(a), vreinterpretq_s64_s8(b)));
}
INLINE int8x16_t high_halves(int8x16_t a, int8x16_t b) {
    return vreinterpretq_s8_s64(vzip2q_s64(vreinterpretq_s64_s8(a), vreinterpretq_s64_s8(b)));
}

/* The same for the two tokens at x and x + 32. */
INLINE void dot2(const int8x16_t *w, int halves, const int8_t *x, int32x4_t sum[2]) {
    int32x4_t r01 = vdupq_n_s32(0), r23 = vdupq_n_s32(0);   /* [token][row of the pair] */
    UNROLL
    for (int h = 0; h < halves; h++, w += 4, x += 16) {
        int8x16_t x0 = vld1q_s8(x), x1 = vld1q_s8(x + 32);
        int8x16_t lo = low_halves(x0, x1), hi = high_halves(x0, x1);
        r01 = vmmlaq_s32(vmmlaq_s32(r01, lo, w[0]), hi, w[2]);
        r23 = vmmlaq_s32(vmmlaq_s32(r23, lo, w[1]), hi, w[3]);
    }
    sum[0] = vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(r01), vreinterpretq_s64_s32(r23)));
    sum[1] = vreinterpretq_s32_s64(vzip2q_s64(vreinterpretq_s64_s32(r01), vreinterpretq_s64_s32(r23)));
}

#endif
