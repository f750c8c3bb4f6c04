/* SPDX-License-Identifier: MIT
 *
 * q8.tmpl.h: the products of type.tmpl.h for TL_ACT_Q8, where a float operation follows every 32 elements, or 16. */
#define ACT TL_ACT_Q8
#define PANELS_START(a) PANELS_AT(a)
#define PANEL_BYTES(k) ((size_t)(k) / 32 * PANEL_BLOCK(HALF, MIN))
#define RUN_PANELS(a, r) FN(panel, PANEL_KIND(HALF, MIN, BITS))(a, r, ZERO)
#define FILL_TERMS(a, x) act_terms((a)->scratch, x, (a)->k / 32, HAS_ZERO(MIN, BITS) ? ZERO : 0, HALF, MIN)

#if ELEMS == 256
INLINE void CAT(scales_, TYPE)(const uint8_t *p, vf *s, vf *m) {
    vf d, dmin;
    vi sc[BLOCKS * (1 + HALF)], mn[BLOCKS * (1 + HALF)];
    CAT(ints_, TYPE)(p, &d, sc, &dmin, mn);
    UNROLL for (int i = 0; i < BLOCKS * (1 + HALF); i++) {
        s[i] = to_f32(sc[i]) * d;
        if (MIN) m[i] = to_f32(mn[i]) * dmin;
    }
}
#endif

/* A packed group as a panel. */
static void FN(expand, TYPE)(const uint8_t *group, int k, uint8_t *panel) {
    for (int i = 0; i < k; i += ELEMS, group += PACKED) {
        vf scale[BLOCKS * (1 + HALF)], min[BLOCKS * (1 + HALF)];
        CAT(scales_, TYPE)(group, scale, min);
        for (int b = 0; b < BLOCKS; b++) {
            vu w[8];
            CAT(codes_, TYPE)(group, b, w);
            UNROLL for (int g = 0; g < 8; g++, panel += VBYTES) store_v(panel, panel_codes(w[g], ZERO, HALF));
            UNROLL for (int h = 0; h <= HALF; h++, panel += VBYTES) store_vf(panel, scale[b * (1 + HALF) + h]);
            if (MIN)
                UNROLL for (int h = 0; h <= HALF; h++, panel += VBYTES) store_vf(panel, min[b * (1 + HALF) + h]);
        }
    }
}

/* T tokens with codes unpacked in registers: few tokens, where reading the weights is what takes time. S groups of rows
 * are walked side by side, 32 elements of each in turn, where a core reads several streams faster than one, as
 * tl_cpu_stream_from says (Sapphire Rapids, one thread, q4_k of 2048 columns: 0.71 of the read rate with 256 in turn,
 * 0.95 with 32; whole models with 2 threads, 4 streams against 1: +12 to +19 % at 576 to 1536 columns). What is asked for
 * ahead is the same place of the next S groups, or AHEAD in the stream where those are too far to stay in L1; for blocks
 * of 256 half of it (q4_k as above: 0.95 against 0.87; q8_0 of 8192 columns loses with half: 0.88 against 1.0). */
INLINE void FN(fused, TYPE)(const int T, const int S, const tl_gemm_args *a, const uint8_t *group, size_t bytes, act_tile x,
                            int r) {
    const uint8_t *terms = (const uint8_t *)a->scratch + x.at * 4;
    size_t ahead = S > 1 && S * bytes <= STREAM_REACH ? S * bytes : BLOCKS > 1 ? AHEAD / 2 : AHEAD;
    vf acc[4];
    UNROLL for (int i = 0; i < S * T; i++) acc[i] = (vf){0};
    for (int i = 0; i < a->k / 32; i += BLOCKS, group += PACKED, terms += BLOCKS * (1 + HALF) * TERM_BYTES) {
        vf scale[TL_STREAMS][BLOCKS * (1 + HALF)], min[TL_STREAMS][BLOCKS * (1 + HALF)];
        UNROLL for (int s = 0; s < S; s++) CAT(scales_, TYPE)(group + (size_t)s * bytes, scale[s], min[s]);
        for (int b = 0; b < BLOCKS; b++)
            UNROLL for (int s = 0; s < S; s++) {
                const uint8_t *p = group + (size_t)s * bytes;
                vu w[8];
                prefetch(p + b * (PACKED / BLOCKS) + ahead, PACKED / BLOCKS);
                CAT(codes_, TYPE)(p, b, w);
                add_block(T, acc + s * T, w, scale[s] + b * (1 + HALF), min[s] + b * (1 + HALF), act_at(x, i + b),
                          terms + b * (1 + HALF) * TERM_BYTES, HALF, MIN, BITS);
            }
    }
    float *y = a->y + (size_t)x.at * a->y_stride + r;
    UNROLL for (int s = 0; s < S; s++, y += ROWS, r += ROWS)
        UNROLL for (int t = 0; t < T; t++)
            put(y + (size_t)t * a->y_stride, acc[s * T + t], a->r1 - r < ROWS ? a->r1 - r : ROWS, a->add);
}
