/* SPDX-License-Identifier: MIT
 * The parts of level scalar: together they fill every slot of the table. */
#ifndef TL_SCALAR_H
#define TL_SCALAR_H

#include "kernels.h"

void tl_scalar_fill_gemm(tl_kernels *k);
void tl_scalar_fill_vec(tl_kernels *k);
void tl_scalar_fill_ffn(tl_kernels *k);
void tl_scalar_fill_kv(tl_kernels *k);
void tl_scalar_fill_peak(tl_kernels *k);

#endif
