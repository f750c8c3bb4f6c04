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
/* Panels in flight share each tile of activations while it is in L1/L2. Scratch: k/32 * 2 * TERM_BYTES = 4k bytes of terms,
 * then panels of at most k/32 * PANEL_BLOCK(1, 1) = 24k (ROWS 16) or 12k bytes: 4k + 2*24k or 4k + 4*12k of 64k. */
#define PANELS (32 / ROWS)

/* A tile of activations, or a part of it that starts at token t. */
typedef struct act_tile {
    const uint8_t *x;   /* the tile */
    int tokens, at;     /* tokens in the tile; first one meant */
} act_tile;

typedef struct act_block { const int8_t *q; const uint8_t *d, *ds, *s; } act_block;

INLINE act_block act_at(act_tile t, int b) {
    const uint8_t *x = t.x + (size_t)b * TL_ACT_Q8_BYTES * (size_t)t.tokens;
    return (act_block){(const int8_t *)x + t.at * 32, x + t.tokens * 32 + t.at * 4, x + t.tokens * 36 + t.at * 4,
                       x + t.tokens * 40 + t.at * 4};
}

/* One block of 32 k into the accumulator of one token. init [1+half]: the integer start values. */
INLINE vf add_block(vf acc, const vu *w, const vf *scale, const vf *min, const int8_t *q, float d, const vi *init,
                    const float *sum, int half, int has_min, int bits) {
    UNROLL for (int h = 0; h <= half; h++) {
        vi isum = dot_n(init[h], w + 4 * h, half ? 4 : 8, q + 16 * h, bits);
        acc = fma_v(to_f32(isum), scale[h] * d, acc);
        if (has_min) acc = fma_1(sum[h], min[h], acc);
    }
    return acc;
}

/* y of T tokens and one panel. */
INLINE void panel_tokens(const int T, const uint8_t *panel, int blocks, act_tile x, const uint8_t *terms, float *y,
                         size_t y_stride, int rows, int add, int half, int has_min, int bits) {
    vf acc[TL_ACT_TILE];
    UNROLL for (int t = 0; t < T; t++) acc[t] = (vf){0};
    terms += x.at * 4;
    for (int b = 0; b < blocks; b++) {
        vu w[8];
        vf scale[2], min[2];
        unpack_8(panel, w);
        UNROLL for (int h = 0; h <= half; h++) {
            scale[h] = load_vf(panel + (8 + h) * VBYTES);
            if (has_min) min[h] = load_vf(panel + (9 + half + h) * VBYTES);
        }
        act_block a = act_at(x, b);
        UNROLL for (int t = 0; t < T; t++) {
            vi init[2] = {(vi){0}, (vi){0}};
            float sum[2];
            UNROLL for (int h = 0; h <= half; h++) {
                const uint8_t *term = terms + h * TERM_BYTES + t * 4;
                if (has_min) sum[h] = load_f32(half ? term : a.ds + t * 4);
                else if (bits < 8 || VNNI) init[h] = set1(term);
            }
            acc[t] = add_block(acc[t], w, scale, min, a.q + t * 32, load_f32(a.d + t * 4), init, sum, half, has_min, bits);
        }
        panel += PANEL_BLOCK(half, has_min);
        terms += (1 + half) * TERM_BYTES;
    }
    UNROLL for (int t = 0; t < T; t++) put(y + (size_t)t * y_stride, acc[t], rows, add);
}

/* Tile terms of all blocks. Tokens beyond the tile's end get none. */
INLINE void tile_terms(uint8_t *terms, act_tile x, int blocks, int zero, int half, int has_min) {
    if (has_min && !half) return;
    for (int b = 0; b < blocks; b++) {
        act_block a = act_at(x, b);
        for (int t = 0; t < x.tokens; t++) {
            int16_t s[2];
            memcpy(s, a.s + 4 * t, 4);
            for (int h = 0; h <= half; h++) {
                if (has_min) {
                    float v = load_f32(a.d + t * 4) * (float)s[h];
                    memcpy(terms + h * TERM_BYTES + t * 4, &v, 4);
                } else {
                    int32_t v = -zero * (half ? s[h] : s[0] + s[1]);
                    memcpy(terms + h * TERM_BYTES + t * 4, &v, 4);
                }
            }
        }
        terms += (1 + half) * TERM_BYTES;
    }
}

/* Panels of a's rows r.. (count of them in flight) times all tokens. */
INLINE void panel_run(const tl_gemm_args *a, int r, int zero, int half, int has_min, int bits) {
    int blocks = a->k / 32;
    uint8_t *terms = a->scratch, *panels = terms + (size_t)blocks * 2 * TERM_BYTES;
    for (int j = 0; j * TL_ACT_TILE < a->n; j++) {
        act_tile x = {(const uint8_t *)a->x + tl_act_tile_at(a->k, j), tl_act_tile_n(a->n, j), 0};
        tile_terms(terms, x, blocks, zero, half, has_min);
        for (int i = 0; i < PANELS && r + i * ROWS < a->r1; i++) {
            const uint8_t *panel = panels + (size_t)i * (size_t)blocks * PANEL_BLOCK(half, has_min);
            int at = r + i * ROWS, rows = a->r1 - at < ROWS ? a->r1 - at : ROWS;
            float *y = a->y + (size_t)j * TL_ACT_TILE * a->y_stride + at;
#define TOKENS(T) panel_tokens(T, panel, blocks, x, terms, y + (size_t)x.at * a->y_stride, a->y_stride, rows, a->add, \
                               half, has_min, bits)
            for (x.at = 0; x.at < x.tokens;) {
                int left = x.tokens - x.at;
#if ROWS == 16
                if (left >= 16) { TOKENS(16); x.at += 16; continue; }
                if (left >= 8) { TOKENS(8); x.at += 8; continue; }
#endif
                if (left >= 4) { TOKENS(4); x.at += 4; continue; }
                if (left >= 2) { TOKENS(2); x.at += 2; continue; }
                TOKENS(1); x.at++;
            }
#undef TOKENS
        }
    }
}
