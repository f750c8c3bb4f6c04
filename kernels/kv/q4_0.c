/* SPDX-License-Identifier: MIT
 * Cache type q4_0: codes -8..7, of which -8 is the value of largest magnitude: the range that has one code more. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define TYPE q4_0
#define BITS 4
static inline float quantize(const float *x, int8_t *q) {
    float top = 0, d;
    int bad = 0;
    for (int i = 0; i < 32; i++) {
        if (fabsf(x[i]) > fabsf(top) || x[i] == -fabsf(top)) top = x[i];
        bad |= !isfinite(x[i]);
    }
    d = top / -8;
    memset(q, 0, 32);
    if (bad) return NAN;
    if (!isfinite(1 / d)) return 0;
    for (int i = 0; i < 32; i++) q[i] = (int8_t)fminf(rintf(x[i] * (1 / d)), 7);
    return d;
}
#include "kv/codes.tmpl.h"
