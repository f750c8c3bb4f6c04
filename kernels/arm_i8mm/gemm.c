/* SPDX-License-Identifier: MIT
 * Matrix products of level i8mm: the Arm template with this level's dot product. */
#include "arm/dot_i8mm.h"
#define LEVEL i8mm
#include "arm/gemm.h"

void tl_fill_i8mm_gemm(tl_kernels *k);
void tl_fill_i8mm_gemm(tl_kernels *k) { fill(k); }
