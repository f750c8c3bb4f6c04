/* SPDX-License-Identifier: MIT
 * The table slots that level avxvnni provides; the only function of this folder that others see. Vector
 * operations but attention over quantized pages stay as avx2 filled them. */
#include "kernels.h"

void tl_fill_avxvnni(tl_kernels *k);
void tl_fill_avxvnni_gemm(tl_kernels *k);
void tl_fill_avxvnni_peak(tl_kernels *k);
void tl_fill_avxvnni_vec(tl_kernels *k);

void tl_fill_avxvnni(tl_kernels *k) {
    k->level = "avxvnni";
    tl_fill_avxvnni_vec(k);
    tl_fill_avxvnni_gemm(k);
    tl_fill_avxvnni_peak(k);
}
