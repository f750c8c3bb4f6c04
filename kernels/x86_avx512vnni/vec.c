/* SPDX-License-Identifier: MIT
 *
 * Vector operations of level avx512vnni: the operations on 16 floats that the templates in kernels/vec are made of.
 * 32 registers: 24 sums of attention, 4 loaded vectors, and broadcasts folded into the multiply-adds. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define LEVEL avx512vnni
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

static inline __m512i ld_s8(const void *p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128(p)); }

static inline __m512 dup_even(__m512 v) { return _mm512_moveldup_ps(v); }
static inline __m512 dup_odd(__m512 v) { return _mm512_movehdup_ps(v); }
static inline __m512 swap_pairs(__m512 v) { return _mm512_permute_ps(v, 0xb1); }

static inline void unzip(__m512 a, __m512 b, void *even, void *odd) {
    const __m512i at = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    _mm512_storeu_ps(even, _mm512_permutex2var_ps(a, at, b));
    _mm512_storeu_ps(odd, _mm512_permutex2var_ps(a, _mm512_add_epi32(at, _mm512_set1_epi32(1)), b));
}

static inline __m512i magnitudes(const float *x) {
    return _mm512_and_si512(_mm512_loadu_si512(x), _mm512_set1_epi32(0x7fffffff));
}

static inline __m512i top_16(const float *x) { return _mm512_max_epi32(magnitudes(x), magnitudes(x + 16)); }

static inline uint32_t top_bits(const float *x) { return (uint32_t)_mm512_reduce_max_epi32(top_16(x)); }

/* top_bits of four blocks: each shuffle halves what is left of two or four of them. */
static inline __m128i top_bits_4(const float *x) {
    const __m512i a = top_16(x), b = top_16(x + 32), c = top_16(x + 64), d = top_16(x + 96);
    const __m512i ab = _mm512_max_epi32(_mm512_shuffle_i32x4(a, b, 0x44), _mm512_shuffle_i32x4(a, b, 0xee));
    const __m512i cd = _mm512_max_epi32(_mm512_shuffle_i32x4(c, d, 0x44), _mm512_shuffle_i32x4(c, d, 0xee));
    __m512i t = _mm512_max_epi32(_mm512_shuffle_i32x4(ab, cd, 0x88), _mm512_shuffle_i32x4(ab, cd, 0xdd));
    t = _mm512_max_epi32(t, _mm512_shuffle_epi32(t, 0x4e));
    t = _mm512_max_epi32(t, _mm512_shuffle_epi32(t, 0xb1));
    const __m512i first_of_4 = _mm512_set_epi32(12, 12, 12, 12, 8, 8, 8, 8, 4, 4, 4, 4, 12, 8, 4, 0);
    return _mm512_castsi512_si128(_mm512_permutexvar_epi32(first_of_4, t));
}

/* Stores q[32] and returns its sums of 4: of the first half in the lower 128 bits, of the second in the upper. */
static inline __m256i round_32(const float *x, __m512 id, int8_t *q) {
    const __m128i a = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(ld(x), id)));
    const __m128i b = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(ld(x + 16), id)));
    const __m256i all = _mm256_set_m128i(b, a);
    _mm256_storeu_si256((void *)q, all);
    return _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(1), all);
}

static inline void round_block(const float *x, float id, int8_t *q, int16_t *s) {
    __m256i sum = round_32(x, set1(id), q);
    sum = _mm256_hadd_epi32(sum, sum);
    sum = _mm256_hadd_epi32(sum, sum);
    s[0] = (int16_t)_mm256_extract_epi32(sum, 0);
    s[1] = (int16_t)_mm256_extract_epi32(sum, 4);
}

/* Four blocks in a row, which share the divisions, the reductions and the sums. Returns 0, nothing written, if one of
 * them has no finite scale. q, d, ds, s: of the first block, the next ones a step further (bytes). */
#define HAS_QUANTIZE_4
static inline int quantize_4(const float *x, uint8_t *q, uint8_t *d, uint8_t *ds, uint8_t *s, size_t step) {
    const __m128i top = top_bits_4(x);
    const __m128 c127 = _mm_set1_ps(127), amax = _mm_castsi128_ps(top), id = _mm_div_ps(c127, amax);
    const __mmask8 finite = _mm_cmplt_epi32_mask(top, _mm_set1_epi32(0x7f800000));
    if (_mm_mask_cmplt_epi32_mask(finite, _mm_castps_si128(id), _mm_set1_epi32(0x7f800000)) != 15) return 0;
    float ids[4], d4[4], ds4[4];
    int32_t s4[4];
    __m256i sum[4];
    _mm_storeu_ps(ids, id);
    for (int i = 0; i < 4; i++) sum[i] = round_32(x + 32 * i, set1(ids[i]), (int8_t *)q + (size_t)i * step);
    const __m256i all = _mm256_hadd_epi32(_mm256_hadd_epi32(sum[0], sum[1]), _mm256_hadd_epi32(sum[2], sum[3]));
    const __m128i lo = _mm256_castsi256_si128(all), hi = _mm256_extracti128_si256(all, 1);
    const __m128 dv = _mm_div_ps(amax, c127);
    _mm_storeu_ps(d4, dv);
    _mm_storeu_ps(ds4, _mm_mul_ps(dv, _mm_cvtepi32_ps(_mm_add_epi32(lo, hi))));
    _mm_storeu_si128((void *)s4, _mm_mask_blend_epi16(0xaa, lo, _mm_slli_epi32(hi, 16)));
    for (size_t i = 0; i < 4; i++) {
        memcpy(d + i * step, d4 + i, 4);
        memcpy(ds + i * step, ds4 + i, 4);
        memcpy(s + i * step, s4 + i, 4);
    }
    return 1;
}

#include "vec/math.tmpl.h"

/* In assembly because gcc 12 does not fold the broadcast into the operand of this intrinsic. */
INLINE __m512i dot_4(__m512i sum, __m512i k, const int8_t *q) {
#ifdef __clang__
    int32_t four;
    memcpy(&four, q, 4);
    return _mm512_dpbusd_epi32(sum, k, _mm512_set1_epi32(four));
#else
    const struct four { int8_t q[4]; } *four = (const void *)q;
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(k), "m"(*four));
    return sum;
#endif
}

INLINE vi dot_32(const vu *k, const int8_t *q, int32_t sum, int bits) {
    __m512i total = _mm512_set1_epi32(-sum * (bits == 8 ? 128 : 8));
    UNROLL for (int g = 0; g < 8; g++) total = dot_4(total, (__m512i)k[g], q + 4 * g);
    return (vi)total;
}

#include "vec/fill.tmpl.h"
