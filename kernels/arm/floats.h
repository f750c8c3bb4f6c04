/* SPDX-License-Identifier: MIT
 *
 * floats.h: f16 and bf16, with activations as floats; include after arm/gemm.h. No level above neon has instructions that
 * would do more without rounding the activations, so neon's kernels serve all.
 *
 * A packed group is [k][WIDE] numbers as they are in the file: two vectors hold value i of every row and meet value i
 * of a token, and no sum runs across a vector. A sum is made of chunks: CHUNK products in rising k, then the chunk is
 * added to the total, whatever the tile. This keeps rounding errors small. */
#ifndef TL_ARM_FLOATS_H
#define TL_ARM_FLOATS_H

enum {
    WIDE = 2 * ROWS,       /* rows of a group */
    CHUNK = 32,
    TOKENS_AT_ONCE = 32,   /* stay in the second-level cache while all rows of a call pass */
};

static size_t float_group_bytes(int k) { return round_64((size_t)k * WIDE * 2); }

static void float_pack(const void *src, size_t stride, int n, int k, void *dst) {
    uint16_t *out = dst;
    memset(dst, 0, float_group_bytes(k));
    for (int i = 0; i < k; i++, out += WIDE)
        for (int r = 0; r < n; r++) out[r] = load_u16((const uint8_t *)src + (size_t)r * stride + 2 * i);
}

INLINE void load_halves(const uint16_t *p, int bf16, float32x4_t w[2]) {
    uint16x8_t u = vld1q_u16(p);
    float16x8_t f = vreinterpretq_f16_u16(u);
    w[0] = bf16 ? vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(u), 16)) : vcvt_f32_f16(vget_low_f16(f));
    w[1] = bf16 ? vreinterpretq_f32_u32(vshll_high_n_u16(u, 16)) : vcvt_high_f32_f16(f);
}

/* acc[2*G][T] += value i of G groups, `group` numbers apart, times that of T tokens, x[t][i]. */
INLINE void add_products(float32x4_t *acc, int G, int T, const uint16_t *w, size_t group, const float32x4_t *x, int i,
                         int bf16) {
    UNROLL
    for (int g = 0; g < G; g++) {
        float32x4_t row[2];
        load_halves(w + (size_t)g * group, bf16, row);
        UNROLL
        for (int t = 0; t < T; t++) {
            acc[2 * g * T + t] = vfmaq_n_f32(acc[2 * g * T + t], row[0], x[t][i]);
            acc[(2 * g + 1) * T + t] = vfmaq_n_f32(acc[(2 * g + 1) * T + t], row[1], x[t][i]);
        }
    }
}

/* G groups from row r with T tokens from t0. */
INLINE void float_tile(const tl_gemm_args *a, int G, int T, int r, int t0, int bf16) {
    const size_t group = float_group_bytes(a->k) / 2;
    const uint16_t *w = (const uint16_t *)a->w + (size_t)(r / WIDE) * group;
    const float *x = (const float *)a->x + (size_t)t0 * (size_t)a->k;
    float32x4_t total[16], acc[16], v[8];   /* [2*G][T], [2*G][T], [T] */
    UNROLL
    for (int j = 0; j < 2 * G; j++)
        UNROLL
        for (int t = 0; t < T; t++) total[j * T + t] = vdupq_n_f32(0);
    for (int left = a->k; left > 0; left -= CHUNK) {
        int i = 0, n = left < CHUNK ? left : CHUNK;
        UNROLL
        for (int j = 0; j < 2 * G; j++)
            UNROLL
            for (int t = 0; t < T; t++) acc[j * T + t] = vdupq_n_f32(0);
        for (; i + 4 <= n; i += 4, x += 4) {
            UNROLL
            for (int t = 0; t < T; t++) v[t] = vld1q_f32(x + (size_t)t * (size_t)a->k);
            UNROLL
            for (int j = 0; j < 4; j++, w += WIDE) add_products(acc, G, T, w, group, v, j, bf16);
        }
        for (; i < n; i++, x++, w += WIDE) {
            UNROLL
            for (int t = 0; t < T; t++) v[t] = vdupq_n_f32(x[(size_t)t * (size_t)a->k]);
            add_products(acc, G, T, w, group, v, 0, bf16);
        }
        UNROLL
        for (int j = 0; j < 2 * G; j++)
            UNROLL
            for (int t = 0; t < T; t++) total[j * T + t] = vaddq_f32(total[j * T + t], acc[j * T + t]);
    }
    UNROLL
    for (int j = 0; j < 2 * G; j++) store_tile(a, total + j * T, r + j * ROWS, t0, T);
}

/* One token takes four groups at a time, for enough sums that do not wait for each other. */
INLINE void float_gemm(const tl_gemm_args *a, int bf16) {
    for (int t0 = 0; t0 < a->n; t0 += TOKENS_AT_ONCE) {
        int r = a->r0, end = a->n - t0 < TOKENS_AT_ONCE ? a->n : t0 + TOKENS_AT_ONCE;
        if (end - t0 == 1)
            for (; r + 3 * WIDE < a->r1; r += 4 * WIDE) float_tile(a, 4, 1, r, t0, bf16);
        for (; r < a->r1; r += WIDE) {
            int t = t0;
            for (; t + 8 <= end; t += 8) float_tile(a, 1, 8, r, t, bf16);
            if (end - t >= 4) float_tile(a, 1, 4, r, t, bf16), t += 4;
            if (end - t >= 2) float_tile(a, 1, 2, r, t, bf16), t += 2;
            if (end - t >= 1) float_tile(a, 1, 1, r, t, bf16);
        }
    }
}

static void tl_gemm_f16_r8_neon(const tl_gemm_args *a) { float_gemm(a, 0); }
static void tl_gemm_bf16_r8_neon(const tl_gemm_args *a) { float_gemm(a, 1); }

static void fill_floats(tl_kernels *k) {
#define SLOT_F(type, TYPE) \
    k->gemm[TL_TYPE_##TYPE] = (tl_gemm){ \
        "tl_gemm_" #type "_r8_neon", TL_ACT_F32, WIDE, float_group_bytes, float_pack, tl_gemm_##type##_r8_neon, \
    }
    SLOT_F(f16, F16);
    SLOT_F(bf16, BF16);
#undef SLOT_F
}

#endif
