/* SPDX-License-Identifier: MIT
 *
 * Measuring loops of level scalar, in plain C: one multiply-add per operation. The core's own speed (cycles) is
 * measured here for every level. */
#include "scalar/scalar.h"
#define PEAK_ACCS 8   /* with operands and counters, these still fit into 14 registers */
#include "vec/peak.tmpl.h"

#ifdef PEAK_REG
#define FLOAT_REG PEAK_REG
#else
#define FLOAT_REG "m"
#endif

static inline uint32_t step_int8(uint32_t acc, uint32_t a, uint32_t b) { return acc + a * b; }
static inline float step_f32(float acc, float a, float b) { return acc + a * b; }
PEAK(tl_peak_int8_scalar, uint32_t, "r", 1, step_int8)
PEAK(tl_peak_f32_scalar, float, FLOAT_REG, 1, step_f32)
READ_SUM(tl_read_sum_scalar, uint64_t)

/* The addend is not a constant: some CPUs add small constants while renaming registers, in no time. */
static int64_t chain(int64_t loops) {
    enum { PER_LOOP = 16 };
    uint64_t x = 0, one = 1;
    OPAQUE("r", one);
    for (int64_t i = 0; i < loops; i++) {
        PEAK_UNROLL for (int j = 0; j < PER_LOOP; j++) {
            x += one;
            OPAQUE("r", x);
        }
    }
    return loops * PER_LOOP;
}

void tl_scalar_fill_peak(tl_kernels *k) {
    k->peak[TL_PEAK_INT8] = (tl_peak){"tl_peak_int8_scalar", tl_peak_int8_scalar};
    k->peak[TL_PEAK_F32] = (tl_peak){"tl_peak_f32_scalar", tl_peak_f32_scalar};
    k->read_sum = tl_read_sum_scalar;
    k->cycles = chain;
}
