/* SPDX-License-Identifier: MIT
 *
 * tiles.h: panels (panel.h) met by 16 tokens at once on AMX, set by a level with AMX 1. A block of a panel is 8 vectors
 * of 16 rows with 4 codes each, which is how a tile register holds its second operand; a block of a tile of activations,
 * 16 tokens of 32 bytes, is a first operand as it lies. So one instruction makes the 256 integer sums of a block. They can
 * leave the tile through memory only; scaling and adding them is what panel.h does, in the same order: same bits.
 *
 * Kinds with a scale for every 16 keep the vectors: they would have two tiles to store, and types of such a kind that have
 * a packed form are summed as q8k.h does.
 * Codes are signed, without the offset that vpdpbusd asks for. */
#ifndef AMX
#define AMX 0
#endif
#define TILES(half) (AMX && !(half))

#if AMX
#include "x86/tile_config.h"

/* Registers 0 and 1: sums; 2 and 4: activations; 3 and 5: codes. Two sets, so that one waits for its product, which takes
 * 52 cycles, while the other's sums are added. */
INLINE void tile_shape(int tokens) {
    tile_config c = {.palette = 1};
    for (int i = 0; i < 2; i++) {
        c.rows[i] = c.rows[2 + 2 * i] = (uint8_t)tokens;
        c.rows[3 + 2 * i] = 8;
        c.row_bytes[i] = c.row_bytes[3 + 2 * i] = 64;
        c.row_bytes[2 + 2 * i] = 32;
    }
    load_tile_config(&c);
}
#define TILE_BLOCK(sums, acts, codes, x, panel) \
    do {                                        \
        _tile_zero(sums);                       \
        _tile_loadd(acts, x, 32);               \
        _tile_loadd(codes, panel, VBYTES);      \
        _tile_dpbssd(sums, acts, codes);        \
    } while (0)

/* The sums [T][16] of a block, scaled, into the accumulators. */
INLINE void add_sums(const int T, vf *acc, const int32_t *sums, const uint8_t *panel, act_block a, int has_min) {
    vf scale = load_vf(panel + 8 * VBYTES), min = has_min ? load_vf(panel + 9 * VBYTES) : (vf){0};
#define ADD(t)                                                                             \
    do {                                                                                   \
        acc[t] = fma_v(to_f32((vi)load_v(sums + 16 * (t))), scale * a.d[t], acc[t]);       \
        if (has_min) acc[t] = fma_1(a.ds[t], min, acc[t]);                                 \
    } while (0)
    if (T == TL_ACT_TILE) UNROLL for (int t = 0; t < TL_ACT_TILE; t++) ADD(t);
    else for (int t = 0; t < T; t++) ADD(t);
#undef ADD
}

/* y of the T tokens of a tile and one panel. Products run two blocks ahead of their sums; behind the last block they
 * take that block again. */
INLINE void tile_tokens(const int T, const uint8_t *panel, int blocks, act_tile x, float *y, size_t y_stride, int rows,
                        int add, int has_min) {
    const size_t step = PANEL_BLOCK(0, has_min);
    int32_t sums[2][256] __attribute__((aligned(64)));
    vf acc[TL_ACT_TILE];
    UNROLL for (int t = 0; t < TL_ACT_TILE; t++) acc[t] = (vf){0};
    int last = blocks - 1, second = last ? 1 : 0;
    TILE_BLOCK(0, 2, 3, act_at(x, 0).q, panel);
    TILE_BLOCK(1, 4, 5, act_at(x, second).q, panel + (size_t)second * step);
    _tile_stored(0, sums[0], 64);
    for (int b = 0; b < blocks; b += 2) {
        int next = b + 2 < last ? b + 2 : last, after = b + 3 < last ? b + 3 : last;
        TILE_BLOCK(0, 2, 3, act_at(x, next).q, panel + (size_t)next * step);
        add_sums(T, acc, sums[0], panel + (size_t)b * step, act_at(x, b), has_min);
        if (b == last) break;
        _tile_stored(1, sums[1], 64);
        TILE_BLOCK(1, 4, 5, act_at(x, after).q, panel + (size_t)after * step);
        add_sums(T, acc, sums[1], panel + (size_t)(b + 1) * step, act_at(x, b + 1), has_min);
        _tile_stored(0, sums[0], 64);
    }
    if (T == TL_ACT_TILE) UNROLL for (int t = 0; t < TL_ACT_TILE; t++) put(y + (size_t)t * y_stride, acc[t], rows, add);
    else for (int t = 0; t < T; t++) put(y + (size_t)t * y_stride, acc[t], rows, add);
}

/* panel_run for these panels. */
INLINE void tile_run(const tl_gemm_args *a, int r, int has_min) {
    int blocks = a->k / 32;
    __asm__ volatile("" ::: "memory");   /* gcc's tile loads do not say that they read memory: panels are written */
    for (int j = 0; j * TL_ACT_TILE < a->n; j++) {
        act_tile x = {(const uint8_t *)a->x + tl_act_tile_at(TL_ACT_Q8, a->k, j), tl_act_tile_n(a->n, j), 0};
        if (!j || x.tokens < TL_ACT_TILE) tile_shape(x.tokens);
        for (int i = 0; i < PANELS && r + i * ROWS < a->r1; i++) {
            const uint8_t *panel = PANELS_AT(a) + (size_t)i * (size_t)blocks * PANEL_BLOCK(0, has_min);
            int at = r + i * ROWS, rows = a->r1 - at < ROWS ? a->r1 - at : ROWS;
            float *y = a->y + (size_t)j * TL_ACT_TILE * a->y_stride + at;
            if (x.tokens == TL_ACT_TILE) tile_tokens(TL_ACT_TILE, panel, blocks, x, y, a->y_stride, rows, a->add, has_min);
            else tile_tokens(x.tokens, panel, blocks, x, y, a->y_stride, rows, a->add, has_min);
        }
    }
    _tile_release();
}
#else
INLINE void tile_run(const tl_gemm_args *a, int r, int has_min) { (void)a; (void)r; (void)has_min; }
#endif

/* Codes of a panel: as tiles want them, or as they are. */
INLINE vu panel_codes(vu w, int zero, int half) {
#if AMX
    if (TILES(half) && zero) return (vu)_mm512_sub_epi8((__m512i)w, _mm512_set1_epi8((char)zero));
#endif
    (void)zero; (void)half;
    return w;
}
