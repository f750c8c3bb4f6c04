/* SPDX-License-Identifier: MIT
 * The table slots that level dotprod provides; the only function of this folder that others see. Vector
 * operations stay as neon filled them. */
#include "kernels.h"

void tl_fill_dotprod(tl_kernels *k);
void tl_fill_dotprod_gemm(tl_kernels *k);
void tl_fill_dotprod_peak(tl_kernels *k);

void tl_fill_dotprod(tl_kernels *k) {
    k->level = "dotprod";
    tl_fill_dotprod_gemm(k);
    tl_fill_dotprod_peak(k);
}
