/* SPDX-License-Identifier: MIT
 * The table slots that level avx512vnni provides; the only function of this folder that others see besides its parts. */
#include "kernels.h"

void tl_fill_avx512vnni(tl_kernels *k);
void tl_fill_avx512vnni_gemm(tl_kernels *k);
void tl_fill_avx512vnni_peak(tl_kernels *k);
void tl_fill_avx512vnni_vec(tl_kernels *k);

void tl_fill_avx512vnni(tl_kernels *k) {
    k->level = "avx512vnni";
    tl_fill_avx512vnni_vec(k);
    tl_fill_avx512vnni_gemm(k);
    tl_fill_avx512vnni_peak(k);
}
