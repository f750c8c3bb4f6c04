/* SPDX-License-Identifier: MIT
 *
 * arm.h: what the Arm kernels share: the layout of packed weights in words, and how a block looks in registers.
 *
 * ROWS rows form a group, so that lane r of a vector is row r and no sum runs across lanes. The unit is ROWS rows x 32 k
 * of signed 8-bit codes, eight registers. KGROUP consecutive k of a row lie together, then come the other rows:
 *     code of row r and k  at  k / KGROUP * (ROWS * KGROUP) + r * KGROUP + k % KGROUP            [128 bytes]
 * so w[0..3] are k 0..15 and w[4..7] k 16..31. The level's dot_*.h sets KGROUP to what its instructions want. */
#ifndef TL_ARM_H
#define TL_ARM_H

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>
#include "kernels.h"

/* For arrays of registers to stay registers, all loops over them must be unrolled into one function. */
#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

enum { ROWS = 4, UNIT = ROWS * 32 };

typedef struct unit {
    int8x16_t w[8];
    float32x4_t s[2], m[2];   /* [row] scale and minimum of k 0..15 and of 16..31; of all in [0] if they share it */
} unit;

#endif
