/* SPDX-License-Identifier: MIT
 * Matrix products of level avx512vnni: the shared x86 source with this level's vectors. */
#define LEVEL avx512vnni
#define ROWS 16
#define VNNI 1
#include "x86/gemm.h"
