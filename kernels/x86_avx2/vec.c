/* SPDX-License-Identifier: MIT
 *
 * Vector operations of level avx2 (and of avxvnni, which has its own attention over quantized pages). */
#define LEVEL avx2
#include "x86/vec8.h"

/* vpmaddubsw adds two products of an unsigned and a signed byte in int16. 4 bits: up to 2 * 15 * 127, 8 of them make
 * 30480. 8 bits: signed codes up to 127 as |k| times q with k's sign, 2 * 127 * 127 = 32258. */
INLINE vi dot_32(const vu *k, const int8_t *q, int32_t sum, int bits) {
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i total = _mm256_setzero_si256();
    UNROLL for (int g = 0; g < 8; g++) {
        int32_t four;
        memcpy(&four, q + 4 * g, 4);
        const __m256i x = _mm256_set1_epi32(four), s = _mm256_xor_si256((__m256i)k[g], _mm256_set1_epi8(-128));
        if (bits == 4) total = _mm256_add_epi16(total, _mm256_maddubs_epi16((__m256i)k[g], x));
        else {
            const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(s), _mm256_sign_epi8(x, s));
            total = _mm256_add_epi32(total, _mm256_madd_epi16(pairs, ones));
        }
    }
    return bits == 4 ? (vi)_mm256_madd_epi16(total, ones) - 8 * sum : (vi)total;
}

#include "vec/fill.tmpl.h"
