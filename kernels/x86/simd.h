/* SPDX-License-Identifier: MIT
 *
 * simd.h: the vector vocabulary of the x86 matrix products. One lane = one output row; a vector of dwords holds 4
 * consecutive k of each of ROWS rows. Plain arithmetic is written with the compiler's vector types; only what those
 * cannot say is here. Set by the level before inclusion:
 *   ROWS  16 (zmm, AVX512-VNNI) or 8 (ymm)
 *   VNNI  1: vpdpbusd is there; 0: plain AVX2, products go through 16-bit sums (ROWS 8 only) */
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "kernels.h"

#define VBYTES (ROWS * 4)
#define INLINE static inline __attribute__((always_inline))
/* Loops over accumulators must vanish, or the accumulators live in memory. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

typedef uint32_t vu __attribute__((vector_size(VBYTES)));
typedef int32_t vi __attribute__((vector_size(VBYTES)));
typedef float vf __attribute__((vector_size(VBYTES)));

typedef uint32_t any_u32 __attribute__((may_alias, aligned(1)));
INLINE uint32_t load_u32(const void *p) { uint32_t x; memcpy(&x, p, 4); return x; }
INLINE float load_f32(const void *p) { float x; memcpy(&x, p, 4); return x; }
INLINE vu load_v(const void *p) { vu x; memcpy(&x, p, VBYTES); return x; }
INLINE vf load_vf(const void *p) { vf x; memcpy(&x, p, VBYTES); return x; }
INLINE void store_v(void *p, vu x) { memcpy(p, &x, VBYTES); }
INLINE void store_vf(void *p, vf x) { memcpy(p, &x, VBYTES); }
/* Weights that are read once, in order, are asked for this many bytes ahead: more lines under way than the hardware's
 * own prefetcher keeps (measured: +20 to 30 % read speed on Sapphire Rapids; 4 to 12 KB are equal). Never faults. */
#define AHEAD 4096
/* How far ahead the next TL_STREAMS groups may be asked for (of 48 KB of L1). */
#define STREAM_REACH (48 << 10)
INLINE void prefetch(const uint8_t *p, int bytes) {
    UNROLL for (int i = 0; i < bytes; i += 64) _mm_prefetch((const char *)p + i, _MM_HINT_T0);
}
INLINE vf to_f32(vi x) { return __builtin_convertvector(x, vf); }

#if ROWS == 16

INLINE vi set1(const void *p) { return (vi)_mm512_set1_epi32((int)load_u32(p)); }
INLINE vf fma_v(vf a, vf b, vf c) { return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
INLINE vf fma_1(float a, vf b, vf c) { return (vf)_mm512_fmadd_ps(_mm512_set1_ps(a), (__m512)b, (__m512)c); }
/* ROWS fp16 values. */
INLINE vf load_f16(const void *p) { return (vf)_mm512_cvtph_ps(_mm256_loadu_si256(p)); }
/* ROWS unsigned numbers of 16 or 8 bits. */
INLINE vu load_u16(const void *p) { return (vu)_mm512_cvtepu16_epi32(_mm256_loadu_si256(p)); }
INLINE vu load_u8(const void *p) { return (vu)_mm512_cvtepu8_epi32(_mm_loadu_si128(p)); }
/* table[i] for every byte i < 16 of a vector. */
INLINE vu shuffle_16(const uint8_t *table, vu i) {
    return (vu)_mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const void *)table)), (__m512i)i);
}
/* acc + the 4 products of unsigned w and signed a in each lane, exact. In assembly because gcc 12 does not fold
 * the broadcast into the operand of this intrinsic (a fifth of the speed), volatile because it would undo the order of
 * interleaved sums. */
INLINE vi dot_4(vi acc, vu w, const int8_t *a) {
#ifdef __clang__
    return (vi)_mm512_dpbusd_epi32((__m512i)acc, (__m512i)w, (__m512i)set1(a));
#else
    __asm__ volatile("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(w), "m"(*(const any_u32 *)(const void *)a));
    return acc;
#endif
}
INLINE void put(float *y, vf v, int rows, int add) {
    __mmask16 m = (__mmask16)(0xffffu >> (16 - rows));
    if (add) v = (vf)_mm512_maskz_loadu_ps(m, y) + v;
    _mm512_mask_storeu_ps(y, m, (__m512)v);
}

#else

INLINE vi set1(const void *p) { return (vi)_mm256_set1_epi32((int)load_u32(p)); }
INLINE vf fma_v(vf a, vf b, vf c) { return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
INLINE vf fma_1(float a, vf b, vf c) { return (vf)_mm256_fmadd_ps(_mm256_set1_ps(a), (__m256)b, (__m256)c); }
INLINE vf load_f16(const void *p) { return (vf)_mm256_cvtph_ps(_mm_loadu_si128(p)); }
INLINE vu load_u16(const void *p) { return (vu)_mm256_cvtepu16_epi32(_mm_loadu_si128(p)); }
INLINE vu load_u8(const void *p) { return (vu)_mm256_cvtepu8_epi32(_mm_loadl_epi64(p)); }
INLINE vu shuffle_16(const uint8_t *table, vu i) {
    return (vu)_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)table)), (__m256i)i);
}
INLINE void put(float *y, vf v, int rows, int add) {
    static const int32_t mask[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    __m256i m = _mm256_loadu_si256((const void *)(mask + 8 - rows));
    if (add) v = (vf)_mm256_maskload_ps(y, m) + v;
    _mm256_maskstore_ps(y, m, (__m256)v);
}
#if VNNI
INLINE vi dot_4(vi acc, vu w, const int8_t *a) {
    return (vi)_mm256_dpbusd_avx_epi32((__m256i)acc, (__m256i)w, (__m256i)set1(a));
}
#endif

#endif

/* How codes lie in vectors: the width decides how plain AVX2 may sum products in 16 bits.
 * pair = the two products vpmaddubsw adds, |a| <= 127:
 *   4 bits  pair <= 2*15*127 =  3810: 8 pairs fit in int16 (30480)
 *   5 bits  pair <= 2*31*127 =  7874: 4 pairs (31496)
 *   6 bits  pair <= 2*63*127 = 16002: 2 pairs (32004)
 *   8 bits  signed codes -128..127, |w| times a with w's sign: pair <= 2*128*127 = 32512: 1 pair
 * With VNNI every code is unsigned and the width does not matter. */
/* Adds to the sums of T tokens, isum [T], the products of n code vectors w (4 k each) and activations a, `step` bytes from
 * token to token. */
#if VNNI

INLINE void dot_tokens(vi *isum, const vu *w, int n, const int8_t *a, int step, int T, int bits) {
    (void)bits;
    UNROLL for (int g = 0; g < n; g++)
        UNROLL for (int t = 0; t < T; t++) isum[t] = dot_4(isum[t], w[g], a + step * t + 4 * g);
}

#else

INLINE __m256i pair_16(vu w, const int8_t *a, int bits) {
    if (bits < 8) return _mm256_maddubs_epi16((__m256i)w, (__m256i)set1(a));
    return _mm256_maddubs_epi16(_mm256_abs_epi8((__m256i)w), _mm256_sign_epi8((__m256i)set1(a), (__m256i)w));
}
INLINE void dot_tokens(vi *isum, const vu *w, int n, const int8_t *a, int step, int T, int bits) {
    const int pairs = bits == 4 ? 8 : bits == 5 ? 4 : bits == 6 ? 2 : 1;
    UNROLL for (int g = 0; g < n; g += pairs)
        UNROLL for (int t = 0; t < T; t++) {
            __m256i sum = pair_16(w[g], a + step * t + 4 * g, bits);
            for (int i = g + 1; i < g + pairs && i < n; i++)
                sum = _mm256_add_epi16(sum, pair_16(w[i], a + step * t + 4 * i, bits));
            isum[t] += (vi)_mm256_madd_epi16(sum, _mm256_set1_epi16(1));
        }
}

#endif
