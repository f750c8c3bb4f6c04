/* SPDX-License-Identifier: MIT
 *
 * Measuring loop of level i8mm: smmla, 2x8 times 8x2. The others stay as neon filled them. */
#include <arm_neon.h>
#include "vec/peak.tmpl.h"

static inline int32x4_t step_int8(int32x4_t acc, int32x4_t a, int32x4_t b) {
    return vmmlaq_s32(acc, vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b));
}
PEAK(tl_peak_int8_i8mm, int32x4_t, "w", 32, step_int8)

void tl_fill_i8mm_peak(tl_kernels *k);
void tl_fill_i8mm_peak(tl_kernels *k) {
    k->peak[TL_PEAK_INT8] = (tl_peak){"tl_peak_int8_i8mm", tl_peak_int8_i8mm};
}
