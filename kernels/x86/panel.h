/* SPDX-License-Identifier: MIT
 *
 * panel.h: the product of an expanded group with all tokens. A panel is one group of ROWS rows with codes as bytes and
 * float scales, whatever the type was; it is expanded once and stays in L1/L2 while every token meets it.
 *
 *   panel: per block of 32 k:  codes [8] vectors | scale [1 or 2] | min [0, 1 or 2]
 *
 * A kind of panel is named by three constants:
 *   half  1: scales (and minima) for every 16 k, first half then second; 0: for every 32
 *   min   1: the type has minima, its codes are unsigned and need no offset; 0: codes carry the offset `zero`
 *   bits  width class of the codes, see simd.h
 *
 * What depends on the activations only is computed once per tile of tokens and shared by the panels in flight:
 *   tile terms: per block and half, [TL_ACT_TILE] of   int32 -zero * sum of q   (min 0)
 *                                                      float d * sum of q       (min 1, half 1; else taken from ds) */

#define PANEL_BLOCK(half, min) (VBYTES * (8 + (1 + (half)) * (1 + (min))))
#define TERM_BYTES (TL_ACT_TILE * 4)
/* Panels in flight share each tile of activations while it is in L1/L2. Scratch: k/32 * 2 * TERM_BYTES = 4k bytes of
 * terms, then panels of at most k/32 * PANEL_BLOCK(1, 1) = 24k (ROWS 16) or 12k bytes, in all 52k of the 72k there. */
#define PANELS (32 / ROWS)
#define PANELS_AT(a) ((uint8_t *)(a)->scratch + (size_t)(a)->k / 32 * 2 * TERM_BYTES)

/* Tokens whose integer sums are interleaved (measured; more than 8 fill the registers). */
#define GROUP (ROWS == 16 ? 8 : VNNI ? 4 : 1)

/* Codes with an offset: signed ones are unsigned ones + 128 with VNNI and stay signed without. */
#define HAS_ZERO(has_min, bits) (!(has_min) && (VNNI || (bits) < 8))

/* A tile of activations, or a part of it that starts at token t. */
typedef struct act_tile {
    const uint8_t *x;   /* the tile */
    int tokens, at;     /* tokens in the tile; first one meant */
} act_tile;

typedef struct act_block {
    const int8_t *q;        /* [][32] */
    const float *d, *ds;    /* [] */
    const int16_t *s;       /* [][2] */
} act_block;

INLINE act_block act_at(act_tile t, int b) {
    const uint8_t *x = t.x + (size_t)b * TL_ACT_Q8_BYTES * (size_t)t.tokens;
    const void *d = x + t.tokens * 32, *s = x + t.tokens * 40;
    return (act_block){(const int8_t *)x + t.at * 32, (const float *)d + t.at, (const float *)d + t.tokens + t.at,
                       (const int16_t *)s + 2 * t.at};
}

/* Tile terms of all blocks. */
INLINE void tile_terms(void *terms, act_tile x, int tokens, int blocks, int zero, int half, int has_min) {
    for (int b = 0; b < blocks; b++) {
        act_block a = act_at(x, b);
        for (int h = 0; h <= half; h++, terms = (uint8_t *)terms + TERM_BYTES) {
            int32_t *i32 = terms;
            float *f32 = terms;
            for (int t = 0; t < tokens; t++) {
                if (has_min) f32[t] = a.d[t] * (float)a.s[2 * t + h];
                else i32[t] = -zero * (half ? a.s[2 * t + h] : a.s[2 * t] + a.s[2 * t + 1]);
            }
        }
    }
}
static __attribute__((noinline)) void act_terms(void *terms, act_tile x, int blocks, int zero, int half, int has_min) {
    if (has_min ? !half : !zero) return;
    if (has_min) tile_terms(terms, x, x.tokens, blocks, 0, 1, 1);
    else if (half && x.tokens == TL_ACT_TILE) tile_terms(terms, x, TL_ACT_TILE, blocks, zero, 1, 0);
    else if (half) tile_terms(terms, x, x.tokens, blocks, zero, 1, 0);
    else if (x.tokens == TL_ACT_TILE) tile_terms(terms, x, TL_ACT_TILE, blocks, zero, 0, 0);
    else tile_terms(terms, x, x.tokens, blocks, zero, 0, 0);
}

/* One block of 32 k of all rows into the accumulators of T tokens, GROUP at a time: a sum of products waits 5 cycles
 * for the one before it, so independent sums are interleaved. terms: of the first token, for this block. */
INLINE void add_block(const int T, vf *acc, const vu *w, const vf *scale, const vf *min, act_block a,
                      const uint8_t *terms, int half, int has_min, int bits) {
    const int G = T < GROUP ? T : GROUP;
    UNROLL for (int t = 0; t < T; t += G) {
        UNROLL for (int h = 0; h <= half; h++) {
            const uint8_t *term = terms + h * TERM_BYTES + t * 4;
            vi isum[GROUP];
            UNROLL for (int i = 0; i < G; i++) isum[i] = HAS_ZERO(has_min, bits) ? set1(term + 4 * i) : (vi){0};
            dot_tokens(isum, w + 4 * h, half ? 4 : 8, a.q + 32 * t + 16 * h, 32, G, bits);
            UNROLL for (int i = 0; i < G; i++) {
                acc[t + i] = fma_v(to_f32(isum[i]), scale[h] * a.d[t + i], acc[t + i]);
                if (has_min) acc[t + i] = fma_1(half ? load_f32(term + 4 * i) : a.ds[t + i], min[h], acc[t + i]);
            }
        }
    }
}

/* y of T tokens and one panel. */
INLINE void panel_tokens(const int T, const uint8_t *panel, int blocks, act_tile x, const uint8_t *terms, float *y,
                         size_t y_stride, int rows, int add, int half, int has_min, int bits) {
    vf acc[TL_ACT_TILE];
    UNROLL for (int t = 0; t < T; t++) acc[t] = (vf){0};
    terms += x.at * 4;
    y += (size_t)x.at * y_stride;
    for (int b = 0; b < blocks; b++) {
        vu w[8];
        vf scale[2], min[2];
        unpack_8(panel, w);
        UNROLL for (int h = 0; h <= half; h++) {
            scale[h] = load_vf(panel + (8 + h) * VBYTES);
            if (has_min) min[h] = load_vf(panel + (9 + half + h) * VBYTES);
        }
        add_block(T, acc, w, scale, min, act_at(x, b), terms, half, has_min, bits);
        panel += PANEL_BLOCK(half, has_min);
        terms += (1 + half) * TERM_BYTES;
    }
    UNROLL for (int t = 0; t < T; t++) put(y + (size_t)t * y_stride, acc[t], rows, add);
}

/* Rows r.. of a, at most PANELS * ROWS, whose panels are in scratch, times all tokens. */
INLINE void panel_run(const tl_gemm_args *a, int r, int zero, int half, int has_min, int bits) {
    int blocks = a->k / 32;
    uint8_t *terms = a->scratch, *panels = PANELS_AT(a);
    for (int j = 0; j * TL_ACT_TILE < a->n; j++) {
        act_tile x = {(const uint8_t *)a->x + tl_act_tile_at(TL_ACT_Q8, a->k, j), tl_act_tile_n(a->n, j), 0};
        act_terms(terms, x, blocks, HAS_ZERO(has_min, bits) ? zero : 0, half, has_min);
        for (int i = 0; i < PANELS && r + i * ROWS < a->r1; i++) {
            const uint8_t *panel = panels + (size_t)i * (size_t)blocks * PANEL_BLOCK(half, has_min);
            int at = r + i * ROWS, rows = a->r1 - at < ROWS ? a->r1 - at : ROWS;
            float *y = a->y + (size_t)j * TL_ACT_TILE * a->y_stride + at;
#define TOKENS(T, tile) \
    panel_tokens(T, panel, blocks, tile, terms, y, a->y_stride, rows, a->add, half, has_min, bits)
#if ROWS == 16
            if (x.tokens == 16) { TOKENS(16, ((act_tile){x.x, 16, 0})); continue; }
#endif
            for (x.at = 0; x.at < x.tokens;) {
                int left = x.tokens - x.at;
#if ROWS == 16
                if (left >= 8) { TOKENS(8, x); x.at += 8; continue; }
#endif
                if (left >= 4) { TOKENS(4, x); x.at += 4; }
                else if (left >= 2) { TOKENS(2, x); x.at += 2; }
                else { TOKENS(1, x); x.at++; }
            }
#undef TOKENS
        }
    }
}
