/* SPDX-License-Identifier: MIT
 * The table slots that level avx2 provides; the only function of this folder that others see besides its parts. */
#include "kernels.h"

void tl_fill_avx2(tl_kernels *k);
void tl_fill_avx2_gemm(tl_kernels *k);
void tl_fill_avx2_peak(tl_kernels *k);
void tl_fill_avx2_vec(tl_kernels *k);

void tl_fill_avx2(tl_kernels *k) {
    k->level = "avx2";
    tl_fill_avx2_vec(k);
    tl_fill_avx2_gemm(k);
    tl_fill_avx2_peak(k);
}
