/* SPDX-License-Identifier: MIT
 * Matrix products of level amx: the shared x86 source with avx512vnni's vectors, and tiles where there are many tokens. */
#define LEVEL amx
#define ROWS 16
#define VNNI 1
#define AMX 1
#include "x86/gemm.h"
