/* SPDX-License-Identifier: MIT
 *
 * Measuring loop of level avxvnni: vpdpbusd on ymm registers. The others stay as avx2 filled them. */
#include <immintrin.h>
#include "vec/peak.tmpl.h"

static inline __m256i step_int8(__m256i acc, __m256i a, __m256i b) { return _mm256_dpbusd_avx_epi32(acc, a, b); }
PEAK(tl_peak_int8_avxvnni, __m256i, "x", 32, step_int8)

void tl_fill_avxvnni_peak(tl_kernels *k);
void tl_fill_avxvnni_peak(tl_kernels *k) {
    k->peak[TL_PEAK_INT8] = (tl_peak){"tl_peak_int8_avxvnni", tl_peak_int8_avxvnni};
}
