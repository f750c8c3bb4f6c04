/* SPDX-License-Identifier: MIT
 * The table slots that level neon provides; the only function of this folder that others see besides its parts. */
#include "kernels.h"

void tl_fill_neon(tl_kernels *k);
void tl_fill_neon_gemm(tl_kernels *k);
void tl_fill_neon_peak(tl_kernels *k);
void tl_fill_neon_vec(tl_kernels *k);

void tl_fill_neon(tl_kernels *k) {
    k->level = "neon";
    tl_fill_neon_vec(k);
    tl_fill_neon_gemm(k);
    tl_fill_neon_peak(k);
}
