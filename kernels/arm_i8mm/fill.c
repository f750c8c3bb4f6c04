/* SPDX-License-Identifier: MIT
 * The table slots that level i8mm provides; the only function of this folder that others see. Vector
 * operations stay as neon filled them. */
#include "kernels.h"

void tl_fill_i8mm(tl_kernels *k);
void tl_fill_i8mm_gemm(tl_kernels *k);
void tl_fill_i8mm_peak(tl_kernels *k);

void tl_fill_i8mm(tl_kernels *k) {
    k->level = "i8mm";
    tl_fill_i8mm_gemm(k);
    tl_fill_i8mm_peak(k);
}
