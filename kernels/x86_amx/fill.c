/* SPDX-License-Identifier: MIT
 * The table slots that level amx provides; vector operations are those of avx512vnni. */
#include "kernels.h"

void tl_fill_amx(tl_kernels *k);
void tl_fill_amx_gemm(tl_kernels *k);
void tl_fill_amx_peak(tl_kernels *k);

void tl_fill_amx(tl_kernels *k) {
    k->level = "amx";
    tl_fill_amx_gemm(k);
    tl_fill_amx_peak(k);
}
