/* SPDX-License-Identifier: MIT
 *
 * type.tmpl.h: the kernels of one tensor type, included once per type. Parameters (undefined again at the end):
 *   TYPE        name; these must exist: pack_TYPE(src, dst, r), a block of one row into place r of a packed block;
 *               codes_TYPE(p, i, w), the i-th 32 codes of a packed block as 8 vectors; scales_TYPE(p, s, m), all its scales
 *               and minima, or with ELEMS 256 ints_TYPE(p, d, s, dmin, m): the same as whole numbers and what they are
 *               to be multiplied with
 *   ELEMS       of a block: 32, or 256 of 8 times 32
 *   BYTES       of a block in a file; the packed block has ROWS * BYTES
 *   ZERO        code that stands for 0 (only with MIN 0)
 *   HALF, MIN   as in panel.h
 *   BITS        as in simd.h: 4, 5, 6 or 8
 *   PLANES      with ELEMS 256, as in q8k.h
 *   PANEL_FROM  tokens from which expanding a panel beats unpacking for every 4 tokens (measured)
 * How products are summed is in q8.tmpl.h and q8k.tmpl.h; both define ACT, PANELS_START, PANEL_BYTES, RUN_PANELS and
 * FILL_TERMS. */

#define PACKED (ROWS * BYTES)
#define BLOCKS (ELEMS / 32)
/* Blocks of a row packed at a time: rows write into the same lines, which have to stay in L1 meanwhile. */
#define PACK_BLOCKS (16384 / PACKED)
_Static_assert(PANEL_FROM <= TL_ACT_TILE + 1, "fewer tokens than that are one tile");

static size_t FN(group_bytes, TYPE)(int k) { return ((size_t)k / ELEMS * PACKED + 63) & ~(size_t)63; }

static void FN(pack, TYPE)(const void *src, size_t src_stride, int n, int k, void *dst) {
    if (n < ROWS) memset(dst, 0, FN(group_bytes, TYPE)(k));
    for (int at = 0, blocks = k / ELEMS; at < blocks; at += PACK_BLOCKS)
        for (int r = 0; r < n; r++) {
            const uint8_t *s = (const uint8_t *)src + (size_t)r * src_stride + (size_t)at * BYTES;
            uint8_t *d = (uint8_t *)dst + (size_t)at * PACKED;
            for (int i = at; i < at + PACK_BLOCKS && i < blocks; i++, s += BYTES, d += PACKED) CAT(pack_, TYPE)(s, d, r);
        }
}

#if AMX && ELEMS == 256
#include "x86/q8k.tmpl.h"
#else
#include "x86/q8.tmpl.h"
#endif
enum { FN(act, TYPE) = ACT };

static void FN(gemm, TYPE)(const tl_gemm_args *a) {
    size_t bytes = FN(group_bytes, TYPE)(a->k);
    const uint8_t *group = (const uint8_t *)a->w + (size_t)(a->r0 / ROWS) * bytes;
    if (a->n >= PANEL_FROM) {
        for (int r = a->r0; r < a->r1; r += PANELS * ROWS) {
            for (int i = 0; i < PANELS && r + i * ROWS < a->r1; i++, group += bytes)
                FN(expand, TYPE)(group, a->k, PANELS_START(a) + (size_t)i * PANEL_BYTES(a->k));
            RUN_PANELS(a, r);
        }
        return;
    }
    act_tile x = {a->x, a->n, 0};
    FILL_TERMS(a, x);
    int r = a->r0;
    for (; a->n == 1 && (ELEMS == 32 || bytes >= a->stream_from) && r + (TL_STREAMS - 1) * ROWS < a->r1; r += TL_STREAMS * ROWS) {
        FN(fused, TYPE)(1, TL_STREAMS, a, group, bytes, x, r);
        group += TL_STREAMS * bytes;
    }
    for (; r < a->r1; r += ROWS, group += bytes) {
        for (x.at = 0; x.at < a->n;) {
            int left = a->n - x.at;
            if (left >= 4) { FN(fused, TYPE)(4, 1, a, group, bytes, x, r); x.at += 4; }
            else if (left >= 2) { FN(fused, TYPE)(2, 1, a, group, bytes, x, r); x.at += 2; }
            else { FN(fused, TYPE)(1, 1, a, group, bytes, x, r); x.at++; }
        }
    }
}

#undef TYPE
#undef ELEMS
#undef BYTES
#undef ZERO
#undef HALF
#undef MIN
#undef BITS
#undef PANEL_FROM
#undef PACKED
#undef BLOCKS
#undef PACK_BLOCKS
#undef PAIRS
#undef IN_FLOATS
#undef KIND_OF_PANEL
#undef PLANES
#undef ACT
#undef PANELS_START
#undef PANEL_BYTES
#undef RUN_PANELS
#undef FILL_TERMS
