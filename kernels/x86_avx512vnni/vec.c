/* SPDX-License-Identifier: MIT
 *
 * Vector operations of level avx512vnni: the operations on 16 floats that the templates in kernels/vec are made of.
 * 32 registers: 24 sums of attention, 4 loaded vectors, and broadcasts folded into the multiply-adds. */
#include <immintrin.h>
#include <stdint.h>

#define W 16
#define QB 6
#define PV 4
#define CV 4
#define CHAINS 4

static inline __m512 ld(const float *p) { return _mm512_loadu_ps(p); }
static inline void st(float *p, __m512 v) { _mm512_storeu_ps(p, v); }
static inline __mmask16 first(int n) { return (__mmask16)((1u << n) - 1); }
static inline __m512 ld_n(const float *p, int n) { return _mm512_maskz_loadu_ps(first(n), p); }
static inline void st_n(float *p, __m512 v, int n) { _mm512_mask_storeu_ps(p, first(n), v); }
static inline __m512 set1(float x) { return _mm512_set1_ps(x); }
static inline __m512 vfma(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
static inline __m512 vmax(__m512 a, __m512 b) { return _mm512_max_ps(a, b); }
static inline __m512 vmin(__m512 a, __m512 b) { return _mm512_min_ps(a, b); }
static inline float hsum(__m512 v) { return _mm512_reduce_add_ps(v); }
static inline float hmax(__m512 v) { return _mm512_reduce_max_ps(v); }

static inline __m512 ld_f16(const uint16_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)p));
}
static inline __m512 ld_bf16(const uint16_t *p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p)), 16));
}
static inline void st_f16(uint16_t *p, __m512 v) {
    _mm256_storeu_si256((void *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

static inline __m512 dup_even(__m512 v) { return _mm512_moveldup_ps(v); }
static inline __m512 dup_odd(__m512 v) { return _mm512_movehdup_ps(v); }
static inline __m512 swap_pairs(__m512 v) { return _mm512_permute_ps(v, 0xb1); }

static inline void unzip(__m512 a, __m512 b, void *even, void *odd) {
    const __m512i at = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    _mm512_storeu_ps(even, _mm512_permutex2var_ps(a, at, b));
    _mm512_storeu_ps(odd, _mm512_permutex2var_ps(a, _mm512_add_epi32(at, _mm512_set1_epi32(1)), b));
}

static inline uint32_t top_bits(const float *x) {
    const __m512i mag = _mm512_set1_epi32(0x7fffffff);
    const __m512i a = _mm512_and_si512(_mm512_loadu_si512(x), mag), b = _mm512_and_si512(_mm512_loadu_si512(x + 16), mag);
    return (uint32_t)_mm512_reduce_max_epi32(_mm512_max_epi32(a, b));
}

static inline void round_block(const float *x, float id, int8_t *q, int16_t *s) {
    const __m512i a = _mm512_cvtps_epi32(_mm512_mul_ps(ld(x), set1(id)));
    const __m512i b = _mm512_cvtps_epi32(_mm512_mul_ps(ld(x + 16), set1(id)));
    const __m128i qa = _mm512_cvtepi32_epi8(a), qb = _mm512_cvtepi32_epi8(b);
    _mm_storeu_si128((void *)q, qa);
    _mm_storeu_si128((void *)(q + 16), qb);
    const __m128i zero = _mm_setzero_si128(), one_8 = _mm_set1_epi8(1), one_16 = _mm_set1_epi16(1);
    __m128i sum = _mm_packs_epi32(_mm_dpbusd_epi32(zero, one_8, qa), _mm_dpbusd_epi32(zero, one_8, qb));   /* of 4 */
    sum = _mm_madd_epi16(sum, one_16);                                                                     /* of 8 */
    const uint64_t both = (uint64_t)_mm_cvtsi128_si64(_mm_madd_epi16(_mm_packs_epi32(sum, sum), one_16));
    s[0] = (int16_t)both;
    s[1] = (int16_t)(both >> 32);
}

#define FILL tl_fill_avx512vnni_vec
#define LEVEL_NAME "avx512vnni"
#include "vec/fill.tmpl.h"
