/* SPDX-License-Identifier: MIT
 * Matrix products of level avx2: the shared x86 source with this level's vectors. */
#define LEVEL avx2
#define ROWS 8
#define VNNI 0
#include "x86/gemm.h"
