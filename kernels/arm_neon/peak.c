/* SPDX-License-Identifier: MIT
 *
 * Measuring loops of level neon. 8-bit products are summed in pairs in 16 bits and then widened. */
#include <arm_neon.h>
#include "vec/peak.tmpl.h"

static inline int32x4_t step_int8(int32x4_t acc, int32x4_t a, int32x4_t b) {
    int8x16_t x = vreinterpretq_s8_s32(a), y = vreinterpretq_s8_s32(b);
    int16x8_t sum = vmull_s8(vget_low_s8(x), vget_low_s8(y));
    return vpadalq_s16(acc, vmlal_high_s8(sum, x, y));
}
static inline float32x4_t step_f32(float32x4_t acc, float32x4_t a, float32x4_t b) { return vfmaq_f32(acc, a, b); }
PEAK(tl_peak_int8_neon, int32x4_t, "w", 16, step_int8)
PEAK(tl_peak_f32_neon, float32x4_t, "w", 4, step_f32)
READ_SUM(tl_read_sum_neon, uint64x2_t)

void tl_fill_neon_peak(tl_kernels *k);
void tl_fill_neon_peak(tl_kernels *k) {
    k->peak[TL_PEAK_INT8] = (tl_peak){"tl_peak_int8_neon", tl_peak_int8_neon};
    k->peak[TL_PEAK_F32] = (tl_peak){"tl_peak_f32_neon", tl_peak_f32_neon};
    k->read_sum = tl_read_sum_neon;
}
