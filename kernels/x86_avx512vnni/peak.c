/* SPDX-License-Identifier: MIT
 *
 * Measuring loops of level avx512vnni. The level does not promise AVX512-BF16: that loop is compiled for it alone and
 * enters the table only where the CPU has it. */
#include <immintrin.h>
#include "vec/peak.tmpl.h"

static inline __m512i step_int8(__m512i acc, __m512i a, __m512i b) { return _mm512_dpbusd_epi32(acc, a, b); }
static inline __m512 step_f32(__m512 acc, __m512 a, __m512 b) { return _mm512_fmadd_ps(a, b, acc); }
PEAK(tl_peak_int8_avx512vnni, __m512i, "v", 64, step_int8)
PEAK(tl_peak_f32_avx512vnni, __m512, "v", 16, step_f32)
READ_SUM(tl_read_sum_avx512vnni, __m512i)

#define BF16 __attribute__((target("avx512bf16")))
BF16 static inline __m512 step_bf16(__m512 acc, __m512 a, __m512 b) {
    return _mm512_dpbf16_ps(acc, (__m512bh)a, (__m512bh)b);
}
BF16 PEAK(tl_peak_bf16_avx512vnni, __m512, "v", 32, step_bf16)

void tl_fill_avx512vnni_peak(tl_kernels *k);
void tl_fill_avx512vnni_peak(tl_kernels *k) {
    k->peak[TL_PEAK_INT8] = (tl_peak){"tl_peak_int8_avx512vnni", tl_peak_int8_avx512vnni};
    k->peak[TL_PEAK_F32] = (tl_peak){"tl_peak_f32_avx512vnni", tl_peak_f32_avx512vnni};
    if (tl_cpu_features() & TL_F_AVX512BF16)
        k->peak[TL_PEAK_BF16] = (tl_peak){"tl_peak_bf16_avx512vnni", tl_peak_bf16_avx512vnni};
    k->read_sum = tl_read_sum_avx512vnni;
}
