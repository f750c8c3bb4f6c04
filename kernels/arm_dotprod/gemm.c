/* SPDX-License-Identifier: MIT
 * Matrix products of level dotprod: the Arm template with this level's dot product. */
#include "arm/dot_dotprod.h"
#define LEVEL dotprod
#include "arm/gemm.h"

void tl_fill_dotprod_gemm(tl_kernels *k);
void tl_fill_dotprod_gemm(tl_kernels *k) { fill(k); }
