/* SPDX-License-Identifier: MIT
 * Matrix products of level avxvnni: the shared x86 source with this level's vectors. */
#define LEVEL avxvnni
#define ROWS 8
#define VNNI 1
#include "x86/gemm.h"
