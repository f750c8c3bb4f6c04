/* SPDX-License-Identifier: MIT
 * Matrix products of level neon: the Arm template with this level's dot product, and the 16-bit floats of all levels. */
#include "arm/dot_neon.h"
#define LEVEL neon
#include "arm/gemm.h"
#include "arm/floats.h"

void tl_fill_neon_gemm(tl_kernels *k);
void tl_fill_neon_gemm(tl_kernels *k) {
    fill(k);
    fill_floats(k);
}
