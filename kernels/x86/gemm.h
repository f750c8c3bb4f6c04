/* SPDX-License-Identifier: MIT
 *
 * gemm.h: all matrix products of one x86 level; a level's gemm.c sets the parameters and includes this once.
 *   LEVEL  name of the level;  ROWS, VNNI  as in simd.h;  AMX  as in tiles.h
 *
 * Weights are packed by groups of ROWS rows, a lane of a vector for each (planes.h, blocks32.h, kquants.h, tables.h). Few
 * tokens are multiplied straight from the packed form (type.tmpl.h), many through panels (panel.h). Types without a
 * packed form are expanded from the file's rows (generic.h). An output is the same sequence of float operations on every
 * path: add_block in panel.h. A new type is a section in one of the three and a row at the end of this file. Plain
 * numbers, which meet activations that are not quantized, are in floats.h. */
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define FN_(kind, type, rows, level) tl_##kind##_##type##_r##rows##_##level
#define FN__(kind, type, rows, level) FN_(kind, type, rows, level)
#define FN(kind, type) FN__(kind, type, ROWS, LEVEL)
#define STR_(x) #x
#define STR(x) STR_(x)

#include "x86/simd.h"
#include "x86/planes.h"
#include "x86/panel.h"
#include "x86/tiles.h"

/* One function for each kind of panel in use: h = half, m = min, b = bits. */
#define KIND_(half, min, bits) h##half##m##min##b##bits
#define KIND(half, min, bits) KIND_(half, min, bits)
#if VNNI
#define PANEL_KIND(half, min, bits) KIND(half, min, 8)
#else
#define PANEL_KIND(half, min, bits) KIND(half, min, bits)
#endif
#define PANEL(half, min, bits) \
    static void FN(panel, KIND(half, min, bits))(const tl_gemm_args *a, int r, int zero) { \
        if (TILES(half)) tile_run(a, r, min); \
        else panel_run(a, r, zero, half, min, bits); \
    }
PANEL(0, 0, 8)
PANEL(1, 0, 8)
#if VNNI
PANEL(0, 1, 8)
PANEL(1, 1, 8)
#else
PANEL(0, 0, 4)
PANEL(0, 0, 5)
PANEL(0, 1, 4)
PANEL(0, 1, 5)
PANEL(1, 0, 4)
PANEL(1, 0, 6)
PANEL(1, 1, 4)
#endif

#if AMX
#include "x86/q8k.h"
#endif
#include "x86/blocks32.h"
#include "x86/kquants.h"
#include "x86/tables.h"
#include "x86/floats.h"
#include "x86/generic.h"

#define FILL__(level) tl_fill_##level##_gemm
#define FILL_(level) FILL__(level)
void FILL_(LEVEL)(tl_kernels *k);

void FILL_(LEVEL)(tl_kernels *k) {
    fill_generic(k);
#define PACK(NAME, name) \
    k->gemm[TL_TYPE_##NAME] = (tl_gemm){STR(FN(gemm, name)), FN(act, name), ROWS, FN(group_bytes, name), FN(pack, name), \
                                        FN(gemm, name)};
    PACK(Q4_0, q4_0)
    PACK(Q4_1, q4_1)
    PACK(Q5_0, q5_0)
    PACK(Q5_1, q5_1)
    PACK(Q8_0, q8_0)
    PACK(Q2_K, q2_k)
    PACK(Q3_K, q3_k)
    PACK(Q4_K, q4_k)
    PACK(Q5_K, q5_k)
    PACK(Q6_K, q6_k)
    PACK(IQ4_NL, iq4_nl)
    PACK(IQ4_XS, iq4_xs)
    PACK(MXFP4, mxfp4)
#undef PACK
#define FLOATS(NAME, name) \
    k->gemm[TL_TYPE_##NAME] = (tl_gemm){STR(FN(gemm, name)), TL_ACT_F32, ROWS, float_group_bytes, float_pack, \
                                        FN(gemm, name)};
    FLOATS(F16, f16)
    FLOATS(BF16, bf16)
#undef FLOATS
}
