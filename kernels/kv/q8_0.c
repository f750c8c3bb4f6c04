/* SPDX-License-Identifier: MIT
 * Cache type q8_0: codes within +-127, scale = largest magnitude / 127. */
#include "scalar/round.h"

#define TYPE q8_0
#define BITS 8
static inline float quantize(const float *x, int8_t *q) {
    int16_t sums[2];
    return quantize_block(x, q, sums);
}
#include "kv/codes.tmpl.h"
