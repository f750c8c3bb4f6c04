/* SPDX-License-Identifier: MIT
 * Integer dot products of 4 weight rows with sdot; the part of arm/gemm.h that differs by level.
 *
 * A half unit is 4 rows x 16 k in four registers (arm/arm.h). With this KGROUP a
 * register is 4 rows x 4 k: sdot by lane adds the 4 k of each row to the row's own lane, and one register of 16
 * activations serves a half block without broadcasts. */
#ifndef TL_ARM_DOT_DOTPROD_H
#define TL_ARM_DOT_DOTPROD_H

#include "arm/arm.h"

enum { KGROUP = 4 };

/* Lane r: sum over 16 * halves k of row r times the token at x. */
INLINE int32x4_t dot1(const int8x16_t *w, int halves, const int8_t *x) {
    int32x4_t sum = vdupq_n_s32(0);
    UNROLL
    for (int h = 0; h < halves; h++, w += 4, x += 16) {
        int8x16_t a = vld1q_s8(x);
        sum = vdotq_laneq_s32(sum, w[0], a, 0);
        sum = vdotq_laneq_s32(sum, w[1], a, 1);
        sum = vdotq_laneq_s32(sum, w[2], a, 2);
        sum = vdotq_laneq_s32(sum, w[3], a, 3);
    }
    return sum;
}

/* The same for the two tokens at x and x + 32. */
INLINE void dot2(const int8x16_t *w, int halves, const int8_t *x, int32x4_t sum[2]) {
    sum[0] = dot1(w, halves, x);
    sum[1] = dot1(w, halves, x + 32);
}

#endif
