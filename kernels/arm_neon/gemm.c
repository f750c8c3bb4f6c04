/* SPDX-License-Identifier: MIT
 * Matrix products of level neon: the Arm template with this level's dot product. */
#include "arm/dot_neon.h"
#define LEVEL neon
#include "arm/gemm.h"

void tl_fill_neon_gemm(tl_kernels *k);
void tl_fill_neon_gemm(tl_kernels *k) { fill(k); }
