/* SPDX-License-Identifier: MIT
 *
 * generic.h: products of types without a packed form. ROWS raw rows are decoded by the type's unpack function into a
 * panel, then panel.h does the rest: decoding is scalar, the product is not. */

/* Codes are stored as the panel's kind wants them: unsigned as they are with minima, plus 128 for VNNI, else signed. */
static void generic_row(const tl_type_info *t, const uint8_t *src, int k, uint8_t *panel, int r, int half) {
    int has_min = t->has_min;
    uint32_t flip = VNNI && !has_min && !TILES(half) ? 128 * REP4 : 0;
    int8_t q[256];
    float scale[16], min[16];
    for (int at = 0; at < k; at += t->elems, src += t->bytes) {
        t->unpack(src, q, scale, min);
        for (int i = 0; i < t->elems; i += 32, panel += PANEL_BLOCK(half, has_min)) {
            for (int g = 0; g < 8; g++) put_u32(panel, g, r, load_u32(q + i + 4 * g) ^ flip);
            for (int h = 0; h <= half; h++) {
                memcpy(panel + (8 + h) * VBYTES + r * 4, &scale[i / 16 + h], 4);
                if (has_min) memcpy(panel + (9 + half + h) * VBYTES + r * 4, &min[i / 16 + h], 4);
            }
        }
    }
}

static void FN(gemm, generic)(const tl_gemm_args *a) {
    const tl_type_info *t = tl_type_info_get((uint32_t)a->type);
    int half = t->dist == 16;   /* a scale for each half of 32 elements */
    size_t row_bytes = (size_t)(a->k / t->elems) * (size_t)t->bytes;
    size_t bytes = (size_t)a->k / 32 * (size_t)PANEL_BLOCK(half, t->has_min);
    uint8_t *panels = (uint8_t *)a->scratch + (size_t)a->k / 32 * 2 * TERM_BYTES;
    for (int r = a->r0; r < a->r1; r += PANELS * ROWS) {
        int rows = a->r1 - r < PANELS * ROWS ? a->r1 - r : PANELS * ROWS;
        if (rows % ROWS) memset(panels + (size_t)(rows / ROWS) * bytes, 0, bytes);
        for (int i = 0; i < rows; i++)
            generic_row(t, (const uint8_t *)a->w + (size_t)(r + i) * row_bytes, a->k,
                        panels + (size_t)(i / ROWS) * bytes, i % ROWS, half);
        if (t->has_min && half) FN(panel, PANEL_KIND(1, 1, 4))(a, r, 0);
        else if (t->has_min) FN(panel, PANEL_KIND(0, 1, 5))(a, r, 0);
        else if (half) FN(panel, PANEL_KIND(1, 0, 8))(a, r, 128);
        else FN(panel, PANEL_KIND(0, 0, 8))(a, r, 128);
    }
}

static void fill_generic(tl_kernels *k) {
#define FLOAT(id, NAME, name, elems, bytes)
#define QUANT(id, NAME, name, ...) \
    k->gemm[id] = (tl_gemm){STR(FN(gemm, generic)), TL_ACT_Q8, 1, NULL, NULL, FN(gemm, generic)};
#define NAMED(id, NAME, name, elems, bytes)
#define GONE(id, NAME, name, advice)
#include "types.def"
#undef FLOAT
#undef QUANT
#undef NAMED
#undef GONE
}
