/* SPDX-License-Identifier: MIT
 *
 * math.tmpl.h: first of the templates that make up a SIMD level's vector operations. kernels/<arch>_<level>/vec.c
 * defines the operations below for its registers and includes fill.tmpl.h, which includes the rest; all is static
 * but the fill function. Arithmetic on vectors is written with operators, so only what C has no operator for is named:
 *
 *   LEVEL                  name of the level
 *   W, QB, PV, CV, CHAINS  floats in a vector; register blocking of attn.tmpl.h and exact.tmpl.h
 *   ld st ld_n st_n        W floats, or n < W of them: nothing beyond is touched, missing lanes are 0
 *   set1 vfma              broadcast; a*b + c rounded once
 *   vmax vmin              a NaN in the second argument wins
 *   hsum hmax              over the lanes, in one fixed order
 *   ld_f16 ld_bf16 st_f16  W 16-bit floats (uint16_t) to and from W floats
 *   ld_s8                  W signed bytes as W int32
 *   dup_even dup_odd       lanes 0 0 2 2 .. and 1 1 3 3 ..
 *   swap_pairs             lanes 1 0 3 2 ..
 *   unzip(a, b, &e, &o)    even and odd elements of the 2W floats a, b
 *   top_bits round_block   see vec.tmpl.h
 *   dot_32                 see attn_q.tmpl.h; written after inclusion of this file, with its types */
#ifndef TL_VEC_MATH_TMPL_H
#define TL_VEC_MATH_TMPL_H

#include <math.h>
#include <string.h>
#include "half.h"
#include "kernels.h"

typedef float vf __attribute__((vector_size(4 * W)));
typedef int32_t vi __attribute__((vector_size(4 * W)));
typedef uint32_t vu __attribute__((vector_size(4 * W)));

/* Name of a function that is not inlined: FN(rope) is rope_avx2, as a profiler shows it. */
#define FN__(name, level) name##_##level
#define FN_(name, level) FN__(name, level)
#define FN(name) FN_(name, LEVEL)

#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* Lanes of a where the mask (a comparison's all-ones or 0) is set, else of b. */
INLINE vf blend(vi mask, vf a, vf b) { return (vf)((mask & (vi)a) | (~mask & (vi)b)); }

INLINE vu set1_bits(uint32_t u) { return (vu)set1(tl_f32_from_bits(u)); }

/* exp(x) = 2^n (1 + q), n = round(x / ln 2), q = exp(r) - 1 for |r| <= ln2/2: returns q, stores 2^n.
 * Adding 1.5 * 2^23 leaves n in the low bits of the sum. ln 2 is taken off in two parts. The polynomial is the minimax
 * one of this shape (Remez exchange on exp(-r) (q - r) / r^2): relative error 4e-9, the rest is rounding, 1 ulp.
 * x is clamped to [-88, 89], where 2^n becomes 0 and Inf. NaN passes through vmin, vmax and q. */
INLINE vf exp_parts(vf x, vf *pow2n) {
    const vf magic = set1(12582912.0f);
    x = vmin(set1(89), vmax(set1(-88), x));
    const vf z = vfma(x, set1(1.44269504f), magic), n = z - magic;
    const vf r = vfma(n, set1(1.90465432e-09f), vfma(n, set1(-0.693147182f), x));
    vf p = vfma(set1(0.00138145406f), r, set1(0.00836874545f));
    p = vfma(p, r, set1(0.041668389f));
    p = vfma(p, r, set1(0.166665211f));
    p = vfma(p, r, set1(0.49999994f));
    *pow2n = (vf)(((vu)z << 23) + set1_bits(0x3f800000));
    return vfma(p, r * r, r);
}

/* Within 2 ulp; 0 below -87.7 (no subnormals come out), Inf above 88.4, NaN for NaN. */
INLINE vf vexp(vf x) {
    vf pow2n, q = exp_parts(x, &pow2n);
    return (q + set1(1)) * pow2n;
}

static float exp1(float x) { return vexp(set1(x))[0]; }

/* tanh(x) = -e / (e + 2), e = exp(-2|x|) - 1: e is as accurate near 0 as anywhere, so small x keep all their digits. */
INLINE vf vtanh(vf x) {
    const vu sign = (vu)x & set1_bits(0x80000000);
    vf pow2n, q = exp_parts((vf)((vu)(x + x) | set1_bits(0x80000000)), &pow2n);
    const vf e = vfma(q, pow2n, pow2n - set1(1));
    return (vf)((vu)(-e / (e + set1(2))) | sign);
}

/* y / (1 + exp(-z)) */
INLINE vf times_sigmoid(vf y, vf z) { return y / (set1(1) + vexp(-z)); }

#endif
