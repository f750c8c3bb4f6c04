/* SPDX-License-Identifier: MIT
 *
 * q8k.tmpl.h: the products of type.tmpl.h for TL_ACT_Q8K: blocks of 256 in whole numbers (q8k.h). */
#define ACT TL_ACT_Q8K
#define PAIRS (MIN ? 4 * (1 + HALF) : 0)
#if !MIN
#define KIND_OF_PANEL WHOLE_KIND(PLANES, 0)
#elif HALF
#define KIND_OF_PANEL WHOLE_KIND(PLANES, 8)
#else
#define KIND_OF_PANEL WHOLE_KIND(PLANES, 4)
#endif
#define PANELS_START(a) ((uint8_t *)(a)->scratch)
#define PANEL_BYTES(k) ((size_t)(k) / 256 * WHOLE_PANEL(PLANES, PAIRS))
#define RUN_PANELS(a, r) FN(panel, KIND_OF_PANEL)(a, r)
#define FILL_TERMS(a, x) do { if (ZERO) whole_terms((a)->scratch, x, (a)->k / 256, ZERO, HALF); } while (0)

/* A packed group as a panel. One plane of q3_k has room for -128 but not for 128, hence its sign. */
static void FN(expand, TYPE)(const uint8_t *group, int k, uint8_t *panel) {
    for (int i = 0; i < k; i += 256, group += PACKED, panel += WHOLE_PANEL(PLANES, PAIRS)) {
        vf d, dmin;
        vi sc[8 * (1 + HALF)], mn[8 * (1 + HALF)];
        CAT(ints_, TYPE)(group, &d, sc, &dmin, mn);
        for (int b = 0; b < 8; b++) {
            vu w[8];
            CAT(codes_, TYPE)(group, b, w);
            UNROLL for (int g = 0; g < 8; g++) {
                uint8_t *to = panel + b / 2 * PLANES * 1024 + (b % 2 * 8 + g) * 64;
                vi scale = sc[HALF ? 2 * b + g / 4 : b];
                if (MIN) scale_unsigned(PLANES, w[g], scale, to);
                else scale_signed(PLANES, panel_codes(w[g], ZERO, 0), PLANES == 1 ? -scale : scale, to);
            }
        }
        uint8_t *p = panel + 4096 * PLANES;
        store_vf(p, !MIN && PLANES == 1 ? -d : d);
        if (MIN) store_vf(p + 64, dmin);
        UNROLL for (int j = 0; j < PAIRS; j++) store_v(p + 128 + 64 * j, (vu)pair_up(mn[2 * j], mn[2 * j + 1]));
    }
}

/* Four sums of 32 products by scales below 64 are whole numbers that floats hold, 4 * 32 * 15 * 127 * 63 < 2^24, and so
 * is the sum of two such fours but for the last rounding, which to_f32 would do: two operations instead of three. */
#define IN_FLOATS (BITS == 4 && !HALF)

/* As in q8.tmpl.h: T tokens, S groups of rows side by side. */
INLINE void FN(fused, TYPE)(const int T, const int S, const tl_gemm_args *a, const uint8_t *group, size_t bytes, act_tile x,
                            int r) {
    const uint8_t *terms = (const uint8_t *)a->scratch + x.at * 4;
    size_t ahead = S > 1 && S * bytes <= STREAM_REACH ? S * bytes : AHEAD / 2;
    vf acc[4];
    UNROLL for (int i = 0; i < S * T; i++) acc[i] = (vf){0};
    for (int i = 0; i < a->k / 256; i++, group += PACKED, terms += 8 * (1 + HALF) * TERM_BYTES) {
        whole_act in = whole_at(x, i);
        vf d[TL_STREAMS], dmin[TL_STREAMS];
        vi sc[TL_STREAMS][8 * (1 + HALF)], mn[TL_STREAMS][8 * (1 + HALF)], sum[4];
        vf sum_f32[4], first_half[4];
        UNROLL for (int s = 0; s < S; s++) CAT(ints_, TYPE)(group + (size_t)s * bytes, d + s, sc[s], dmin + s, mn[s]);
        UNROLL for (int j = 0; j < S * T; j++) sum[j] = (vi){0}, sum_f32[j] = first_half[j] = (vf){0};
        for (int b = 0; b < 8; b++) {
            if (IN_FLOATS && b == 4)
                UNROLL for (int j = 0; j < S * T; j++) first_half[j] = sum_f32[j], sum_f32[j] = (vf){0};
            UNROLL for (int s = 0; s < S; s++) {
                const uint8_t *p = group + (size_t)s * bytes;
                const int8_t *q = in.q + b / 2 * x.tokens * 64 + b % 2 * 32;
                __asm__("" : "+r"(q));   /* or gcc adds up each of 32 addresses from parts in memory */
                vu w[8];
                prefetch(p + b * (PACKED / 8) + ahead, PACKED / 8);
                CAT(codes_, TYPE)(p, b, w);
                UNROLL for (int h = 0; h <= HALF; h++) {
                    const uint8_t *term = terms + (b * (1 + HALF) + h) * TERM_BYTES;
                    vi isum[4];
                    UNROLL for (int t = 0; t < T; t++) isum[t] = ZERO ? set1(term + 4 * t) : (vi){0};
                    dot_tokens(isum, w + 4 * h, HALF ? 4 : 8, q + 16 * h, 64, T, BITS);
                    vi scale = sc[s][b * (1 + HALF) + h];
                    UNROLL for (int t = 0; t < T; t++) {
                        int j = s * T + t;
                        if (IN_FLOATS) sum_f32[j] = fma_v(to_f32(isum[t]), to_f32(scale), sum_f32[j]);
                        else sum[j] += isum[t] * scale;
                    }
                }
            }
        }
        UNROLL for (int s = 0; s < S; s++)
            UNROLL for (int t = 0; t < T; t++) {
                vf *y = acc + s * T + t;
                vi min_sum = {0};
                vf total = IN_FLOATS ? first_half[s * T + t] + sum_f32[s * T + t] : to_f32(sum[s * T + t]);
                *y = fma_v(total, d[s] * in.d[t], *y);
                UNROLL for (int j = 0; j < PAIRS; j++)
                    min_sum = dot_2(min_sum, pair_up(mn[s][2 * j], mn[s][2 * j + 1]),
                                    (HALF ? in.s16 : in.s32) + 24 * t + 2 * j);
                if (MIN) *y = fma_v(to_f32(min_sum), dmin[s] * in.d[t], *y);
            }
    }
    float *y = a->y + (size_t)x.at * a->y_stride + r;
    UNROLL for (int s = 0; s < S; s++, y += ROWS, r += ROWS)
        UNROLL for (int t = 0; t < T; t++)
            put(y + (size_t)t * a->y_stride, acc[s * T + t], a->r1 - r < ROWS ? a->r1 - r : ROWS, a->add);
}
