/* SPDX-License-Identifier: MIT
 *
 * vec8.h: the operations on 8 floats that the templates in kernels/vec are made of, for the levels with ymm registers.
 * 16 registers: 12 sums of attention, 2 loaded vectors, one broadcast. */
#include <immintrin.h>
#include <stdint.h>

#define W 8
#define QB 6
#define PV 2
#define CV 2
#define CHAINS 2

static inline __m256 ld(const float *p) { return _mm256_loadu_ps(p); }
static inline void st(float *p, __m256 v) { _mm256_storeu_ps(p, v); }
static inline __m256i first(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline __m256 ld_n(const float *p, int n) { return _mm256_maskload_ps(p, first(n)); }
static inline void st_n(float *p, __m256 v, int n) { _mm256_maskstore_ps(p, first(n), v); }
static inline __m256 set1(float x) { return _mm256_set1_ps(x); }
static inline __m256 vfma(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
static inline __m256 vmax(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
static inline __m256 vmin(__m256 a, __m256 b) { return _mm256_min_ps(a, b); }

static inline float hsum(__m256 v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
static inline float hmax(__m256 v) {
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

static inline __m256 ld_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const void *)p)); }
static inline __m256 ld_bf16(const uint16_t *p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)p)), 16));
}
static inline void st_f16(uint16_t *p, __m256 v) {
    _mm_storeu_si128((void *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

static inline __m256i ld_s8(const void *p) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64(p)); }

static inline __m256 dup_even(__m256 v) { return _mm256_moveldup_ps(v); }
static inline __m256 dup_odd(__m256 v) { return _mm256_movehdup_ps(v); }
static inline __m256 swap_pairs(__m256 v) { return _mm256_permute_ps(v, 0xb1); }

static inline void unzip(__m256 a, __m256 b, void *even, void *odd) {
    const __m256 lo = _mm256_permute2f128_ps(a, b, 0x20), hi = _mm256_permute2f128_ps(a, b, 0x31);
    _mm256_storeu_ps(even, _mm256_shuffle_ps(lo, hi, 0x88));   /* within 128 bits: a0 a2 a4 a6 | b0 b2 b4 b6 */
    _mm256_storeu_ps(odd, _mm256_shuffle_ps(lo, hi, 0xdd));
}

static inline uint32_t top_bits(const float *x) {
    const __m256i mag = _mm256_set1_epi32(0x7fffffff);
    __m256i top = _mm256_setzero_si256();
    for (int i = 0; i < 32; i += 8)
        top = _mm256_max_epi32(top, _mm256_and_si256(_mm256_loadu_si256((const void *)(x + i)), mag));
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

static inline void round_block(const float *x, float id, int8_t *q, int16_t *s) {
    __m256i r[4];
    for (int i = 0; i < 4; i++) r[i] = _mm256_cvtps_epi32(_mm256_mul_ps(ld(x + 8 * i), set1(id)));
    /* Packing works within 128 bits: dwords come out in the order 0 2 4 6 1 3 5 7. */
    const __m256i all = _mm256_packs_epi16(_mm256_packs_epi32(r[0], r[1]), _mm256_packs_epi32(r[2], r[3]));
    const __m256i v = _mm256_permutevar8x32_epi32(all, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((void *)q, v);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), v);
    const __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    const __m128i sum = _mm_hadd_epi32(_mm256_castsi256_si128(fours), _mm256_extracti128_si256(fours, 1));
    const __m128i both = _mm_hadd_epi32(sum, sum);
    _mm_storeu_si32(s, _mm_packs_epi32(both, both));
}

#include "vec/math.tmpl.h"
