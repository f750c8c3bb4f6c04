/* SPDX-License-Identifier: MIT
 *
 * half.h: 16-bit floats <-> float32 in integer arithmetic, exact on every compiler. Relies on IEEE 754 float only.
 * Narrowing rounds to nearest, ties to even. A NaN stays a NaN with its upper payload bits and becomes quiet, which is
 * what the conversion instructions of x86 and Arm do as well. */
#ifndef TL_HALF_H
#define TL_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t tl_f32_bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static inline float tl_f32_from_bits(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }

/* binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. */
static inline float tl_f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = (h >> 10) & 31, frac = h & 0x3ff;
    if (exp == 31) return tl_f32_from_bits(sign | 0x7f800000 | frac << 13 | (frac ? 0x400000 : 0));
    if (exp == 0) {
        if (frac == 0) return tl_f32_from_bits(sign);
        exp = 1;   /* subnormal: shift the fraction up until its leading one is the hidden bit */
        do { frac <<= 1; exp--; } while (!(frac & 0x400));
        frac &= 0x3ff;
    }
    return tl_f32_from_bits(sign | (exp + 112) << 23 | frac << 13);   /* 112 = 127 - 15; exp may have wrapped below 0 */
}

static inline uint16_t tl_f32_to_f16(float f) {
    uint32_t u = tl_f32_bits(f), sign = u >> 16 & 0x8000, mag = u & 0x7fffffff;
    if (mag > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (mag >> 13 & 0x3ff));
    if (mag >= 0x477ff000) return (uint16_t)(sign | 0x7c00);   /* 65520: halfway from the largest finite to 2^16 */
    uint32_t frac = mag & 0x7fffff, shift = 13, base;
    if (mag >= 0x38800000) {                                   /* 2^-14: normal */
        base = (mag >> 23) - 112 - 1;   /* the hidden bit below adds the one again */
    } else {
        uint32_t down = 113 - (mag >> 23);
        if (down > 11) return (uint16_t)sign;                  /* below half of the smallest subnormal */
        base = 0;
        shift += down;
    }
    frac |= 0x800000;
    uint32_t kept = (base << 10) + (frac >> shift);
    uint32_t rest = frac & ((1u << shift) - 1), half = 1u << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));       /* a carry moves into the exponent, as it should */
    return (uint16_t)(sign | kept);
}

/* bfloat16: the upper half of a float32. */
static inline float tl_bf16_to_f32(uint16_t h) { return tl_f32_from_bits((uint32_t)h << 16); }

static inline uint16_t tl_f32_to_bf16(float f) {
    uint32_t u = tl_f32_bits(f);
    if ((u & 0x7fffffff) > 0x7f800000) return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

#endif
