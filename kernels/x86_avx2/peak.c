/* SPDX-License-Identifier: MIT
 *
 * Measuring loops of level avx2. The 8-bit one is the best case an exact product has here: 4-bit codes, 8 products
 * summed in 16 bits before they are widened (x86/simd.h); wider codes must widen more often. */
#include <immintrin.h>
#define PEAK_ACCS 8   /* with operands and products, these still fit into 16 registers */
#include "vec/peak.tmpl.h"

static inline __m256i add_8(__m256i acc, __m256i *a, __m256i b) {
    __m256i sum = _mm256_maddubs_epi16(*a, b);
    PEAK_UNROLL for (int i = 1; i < 8; i++) {
        OPAQUE("x", *a);
        sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(*a, b));
    }
    return _mm256_add_epi32(acc, _mm256_madd_epi16(sum, b));
}
#define step_int8(acc, a, b) add_8(acc, &(a), b)
static inline __m256 step_f32(__m256 acc, __m256 a, __m256 b) { return _mm256_fmadd_ps(a, b, acc); }
PEAK(tl_peak_int8_avx2, __m256i, "x", 8 * 32, step_int8)
PEAK(tl_peak_f32_avx2, __m256, "x", 8, step_f32)
READ_SUM(tl_read_sum_avx2, __m256i)

void tl_fill_avx2_peak(tl_kernels *k);
void tl_fill_avx2_peak(tl_kernels *k) {
    k->peak[TL_PEAK_INT8] = (tl_peak){"tl_peak_int8_avx2", tl_peak_int8_avx2};
    k->peak[TL_PEAK_F32] = (tl_peak){"tl_peak_f32_avx2", tl_peak_f32_avx2};
    k->read_sum = tl_read_sum_avx2;
}
