/* SPDX-License-Identifier: MIT
 *
 * gemm.h: products of packed weights with Q8 activations, one template for all Arm levels and types: include it after
 * the level's dot_*.h and with LEVEL defined to the level's name; GEMM() makes the kernels of one type.
 *
 * A tile is ROWS rows by T tokens, T = 8, 4, 2 or 1, over all of k: T float accumulators and one unit of weights, which
 * is unpacked once for the T tokens. The arithmetic of an output is the same in every tile (kernels.h): per unit the
 * exact integer sum, then one fma with the scale and one with the minimum. */
#ifndef TL_ARM_GEMM_H
#define TL_ARM_GEMM_H

#include "arm/types.h"

/* ---- packing --------------------------------------------------------------------------------------------------------- */

typedef void pack_fn(void *dst, const uint8_t *const *row, codes *c);

static size_t round_64(size_t n) { return (n + 63) & ~(size_t)63; }

/* size: bytes of ROWS packed blocks. Missing rows are blocks of zero bytes: zeros in every type. */
static void pack_group(int type, size_t size, pack_fn *pack, const void *src, size_t stride, int n, int k, void *dst) {
    static const uint8_t zeros[256];
    const tl_type_info *info = tl_type_info_get((uint32_t)type);
    uint8_t *out = dst;
    int8_t c[8][UNIT], q[256];
    float scale[16], min[16];
    for (int b = 0; b < k / info->elems; b++, out += size) {
        const uint8_t *row[ROWS];
        for (int r = 0; r < ROWS; r++) {
            row[r] = r < n ? (const uint8_t *)src + (size_t)r * stride + (size_t)b * (size_t)info->bytes : zeros;
            info->unpack(row[r], q, scale, min);
            for (int i = 0; i < info->elems; i++)
                c[i / 32][i % 32 / KGROUP * (ROWS * KGROUP) + r * KGROUP + i % KGROUP] = q[i];
        }
        pack(out, row, (codes *)c);
    }
    size_t used = (size_t)(out - (uint8_t *)dst);
    memset(out, 0, round_64(used) - used);
}

/* ---- products -------------------------------------------------------------------------------------------------------- */

/* acc += isum * (s * d), in the order of the contract. */
INLINE float32x4_t scaled(float32x4_t acc, int32x4_t isum, float32x4_t s, float d) {
    return vfmaq_f32(acc, vcvtq_f32_s32(isum), vmulq_n_f32(s, d));
}

/* A block of 32 k of T tokens, inside a tile. */
typedef struct act_block {
    const int8_t *q;        /* codes [T][32] */
    const float *d, *ds;    /* scales, scaled sums [T] */
    const int16_t *s;       /* sums of the halves [T][2] */
} act_block;

INLINE act_block act_at(const uint8_t *x, int tokens, int t) {
    const void *d = x + tokens * 32, *s = x + tokens * 40;
    return (act_block){(const int8_t *)x + 32 * t, (const float *)d + t, (const float *)d + tokens + t,
                       (const int16_t *)s + 2 * t};
}

/* d * s of half h of two tokens, in lanes h and 2 + h. */
INLINE float32x4_t half_sums(const float *d, const int16_t *s) {
    float32x2_t two = vld1_f32(d);
    return vmulq_f32(vcvtq_f32_s32(vmovl_s16(vld1_s16(s))), vzip1q_f32(vcombine_f32(two, two), vcombine_f32(two, two)));
}

/* Adds a unit times T tokens. scales: 1 for the whole unit, 2 for its halves; minima, where there are any, likewise. */
INLINE void add_unit(float32x4_t *acc, const unit *u, int scales, int has_min, int T, act_block a) {
    UNROLL
    for (int t = 0; t < T; t += 2)
        UNROLL
        for (int h = 0; h < scales; h++) {
            const int8x16_t *w = u->w + 4 * h;
            const int8_t *x = a.q + 32 * t + 16 * h;
            if (T == 1) {
                acc[0] = scaled(acc[0], dot1(w, 2 / scales, x), u->s[h], a.d[0]);
                if (has_min) acc[0] = vfmaq_n_f32(acc[0], u->m[h], scales == 1 ? a.ds[0] : a.d[0] * (float)a.s[h]);
            } else {
                int32x4_t isum[2];
                dot2(w, 2 / scales, x, isum);
                acc[t] = scaled(acc[t], isum[0], u->s[h], a.d[t]);
                acc[t + 1] = scaled(acc[t + 1], isum[1], u->s[h], a.d[t + 1]);
                if (has_min && scales == 2) {
                    float32x4_t sums = half_sums(a.d + t, a.s + 2 * t);
                    acc[t] = vfmaq_n_f32(acc[t], u->m[h], sums[h]);
                    acc[t + 1] = vfmaq_n_f32(acc[t + 1], u->m[h], sums[2 + h]);
                } else if (has_min) {
                    acc[t] = vfmaq_n_f32(acc[t], u->m[h], a.ds[t]);
                    acc[t + 1] = vfmaq_n_f32(acc[t + 1], u->m[h], a.ds[t + 1]);
                }
            }
        }
}

/* Stores rows r.. of T tokens; fewer than ROWS at the end of a matrix. */
INLINE void store_tile(const tl_gemm_args *g, const float32x4_t *acc, int r, int t0, int T) {
    int n = g->r1 - r;
    UNROLL
    for (int t = 0; t < T; t++) {
        float *y = g->y + (size_t)(t0 + t) * g->y_stride + r, part[ROWS];
        if (n >= ROWS) {
            vst1q_f32(y, g->add ? vaddq_f32(vld1q_f32(y), acc[t]) : acc[t]);
        } else {
            vst1q_f32(part, acc[t]);
            for (int i = 0; i < n; i++) y[i] = g->add ? y[i] + part[i] : part[i];
        }
    }
}

/* A type as the template sees it; constant, so that it vanishes in the code. */
typedef struct shape {
    unit (*load)(const void *block, int i);
    size_t size;           /* bytes of ROWS packed blocks */
    int units;             /* per block */
    int scales, has_min;   /* see add_unit */
} shape;

INLINE void tile(const tl_gemm_args *g, const shape *type, const uint8_t *w, int r, int t0, int T) {
    int j = t0 / TL_ACT_TILE, n = tl_act_tile_n(g->n, j), t = t0 % TL_ACT_TILE;
    const uint8_t *x = (const uint8_t *)g->x + tl_act_tile_at(TL_ACT_Q8, g->k, j);
    const size_t step = (size_t)n * TL_ACT_Q8_BYTES;
    float32x4_t acc[8];
    UNROLL
    for (int i = 0; i < T; i++) acc[i] = vdupq_n_f32(0);
    for (int b = g->k / 32 / type->units; b > 0; b--, w += type->size)
        for (int i = 0; i < type->units; i++, x += step) {
            unit u = type->load(w, i);
            add_unit(acc, &u, type->scales, type->has_min, T, act_at(x, n, t));
        }
    store_tile(g, acc, r, t0, T);
}

/* A group stays in the first-level cache while all tokens pass. Tiles of tokens do not cross those of activations. */
INLINE void run(const tl_gemm_args *g, const shape *type) {
    size_t group = round_64(type->size * (size_t)(g->k / 32 / type->units));
    for (int r = g->r0; r < g->r1; r += ROWS) {
        const uint8_t *w = (const uint8_t *)g->w + (size_t)(r / ROWS) * group;
        int t = 0;
        for (; t + 8 <= g->n; t += 8) tile(g, type, w, r, t, 8);
        if (g->n - t >= 4) tile(g, type, w, r, t, 4), t += 4;
        if (g->n - t >= 2) tile(g, type, w, r, t, 2), t += 2;
        if (g->n - t >= 1) tile(g, type, w, r, t, 1);
    }
}

#define PASTE_(type, level) tl_gemm_##type##_r4_##level
#define PASTE(type, level) PASTE_(type, level)
#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)

#define GEMM(type, TYPE, units, scales, has_min) \
static size_t type##_group_bytes(int k) { return round_64(sizeof(type##_r4) * (size_t)(k / 32 / units)); } \
static void type##_pack_group(const void *src, size_t stride, int n, int k, void *dst) { \
    pack_group(TL_TYPE_##TYPE, sizeof(type##_r4), type##_pack, src, stride, n, k, dst); \
} \
static void PASTE(type, LEVEL)(const tl_gemm_args *g) { \
    static const shape s = {type##_load, sizeof(type##_r4), units, scales, has_min}; \
    run(g, &s); \
}
GEMM(q4_0, Q4_0, 1, 1, 0)
GEMM(q4_1, Q4_1, 1, 1, 1)
GEMM(q5_0, Q5_0, 1, 1, 0)
GEMM(q5_1, Q5_1, 1, 1, 1)
GEMM(q8_0, Q8_0, 1, 1, 0)
GEMM(q2_k, Q2_K, 8, 2, 1)
GEMM(q3_k, Q3_K, 8, 2, 0)
GEMM(q4_k, Q4_K, 8, 1, 1)
GEMM(q5_k, Q5_K, 8, 1, 1)
GEMM(q6_k, Q6_K, 8, 2, 0)
GEMM(iq4_nl, IQ4_NL, 1, 1, 0)
GEMM(iq4_xs, IQ4_XS, 8, 1, 0)
GEMM(mxfp4, MXFP4, 1, 1, 0)
#undef GEMM

static void fill(tl_kernels *k) {
#define SLOT(type, TYPE) \
    k->gemm[TL_TYPE_##TYPE] = (tl_gemm){ \
        TEXT(PASTE(type, LEVEL)), TL_ACT_Q8, ROWS, type##_group_bytes, type##_pack_group, PASTE(type, LEVEL), \
    }
    SLOT(q4_0, Q4_0);
    SLOT(q4_1, Q4_1);
    SLOT(q5_0, Q5_0);
    SLOT(q5_1, Q5_1);
    SLOT(q8_0, Q8_0);
    SLOT(q2_k, Q2_K);
    SLOT(q3_k, Q3_K);
    SLOT(q4_k, Q4_K);
    SLOT(q5_k, Q5_K);
    SLOT(q6_k, Q6_K);
    SLOT(iq4_nl, IQ4_NL);
    SLOT(iq4_xs, IQ4_XS);
    SLOT(mxfp4, MXFP4);
}

#endif
