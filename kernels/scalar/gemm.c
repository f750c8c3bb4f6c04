/* SPDX-License-Identifier: MIT
 *
 * Matrix products of level scalar: the reference for every other level, and the kernels of types a level has none for.
 * One function serves all types: it decodes a row once into scratch through the type's row of the table and then meets
 * every token, so that a long prompt does not decode the matrix once per token.
 *
 * Floats are multiplied and added in two roundings, where levels with FMA round once: both lie within TL_GEMM_EPS. The
 * type's scale and minimum are applied for every 16 values, also where two halves of a block share them. */
#include "scalar/scalar.h"

/* A row as the numerics contract sees it, its codes widened so that the compiler finds products of 16 bits. */
typedef struct row {
    float *scale, *min;   /* [k/16] */
    int16_t *q;           /* [k] */
} row;

static row unpack_row(const tl_type_info *t, const void *src, int k, void *scratch) {
    row w = {scratch, (float *)scratch + k / 16, (int16_t *)scratch + k / 4};   /* 2 * k/16 floats: k/4 int16 */
    int8_t q[256];
    const uint8_t *block = src;
    for (int at = 0; at < k; at += t->elems, block += t->bytes) {
        t->unpack(block, q, w.scale + at / 16, w.min + at / 16);
        for (int i = 0; i < t->elems; i++) w.q[at + i] = q[i];
    }
    return w;
}

/* 16 products of at most 128 * 127 each. */
static int32_t dot_16(const int16_t *a, const int8_t *b) {
    int32_t sum = 0;
    for (int i = 0; i < 16; i++) sum += a[i] * (int16_t)b[i];
    return sum;
}

/* The row against the T tokens of a tile: sums[t]. Tokens are the inner loop, so that their sums do not wait for each
 * other. */
static void dot_q8(const row *w, int has_min, int k, const uint8_t *act, int T, float *sums) {
    for (int t = 0; t < T; t++) sums[t] = 0;
    for (int b = 0; b < k / 32; b++, act += (size_t)T * TL_ACT_Q8_BYTES) {
        const float *d = (const float *)(const void *)(act + T * 32);
        const int16_t *s = (const int16_t *)(const void *)(act + T * 40);
        for (int t = 0; t < T; t++)
            for (int h = 0; h < 2; h++) {
                int i = 2 * b + h;
                const int8_t *q = (const int8_t *)act + t * 32 + h * 16;
                sums[t] += (float)dot_16(w->q + i * 16, q) * (w->scale[i] * d[t]);
                if (has_min) sums[t] += w->min[i] * (d[t] * (float)s[2 * t + h]);
            }
    }
}

static void store(const tl_gemm_args *a, int t, int r, float v) {
    float *y = a->y + (size_t)t * a->y_stride + r;
    *y = a->add ? *y + v : v;
}

static void gemm_q8(const tl_gemm_args *a) {
    const tl_type_info *type = tl_type_info_get((uint32_t)a->type);
    size_t row_bytes = (size_t)(a->k / type->elems) * (size_t)type->bytes;
    for (int r = a->r0; r < a->r1; r++) {
        row w = unpack_row(type, (const uint8_t *)a->w + (size_t)r * row_bytes, a->k, a->scratch);
        for (int j = 0; j * TL_ACT_TILE < a->n; j++) {
            float sums[TL_ACT_TILE];
            const int T = tl_act_tile_n(a->n, j);
            dot_q8(&w, type->has_min, a->k, (const uint8_t *)a->x + tl_act_tile_at(TL_ACT_Q8, a->k, j), T, sums);
            for (int t = 0; t < T; t++) store(a, j * TL_ACT_TILE + t, r, sums[t]);
        }
    }
}

#define LANES 16

/* Independent partial sums, so that the additions do not wait for each other; merged pairwise. */
static float dot_f32(const float *a, const float *b, int n) {
    float acc[LANES] = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) acc[l] += a[i + l] * b[i + l];
    for (int l = 0; i < n; i++, l++) acc[l] += a[i] * b[i];
    for (int w = LANES / 2; w > 0; w /= 2)
        for (int l = 0; l < w; l++) acc[l] += acc[l + w];
    return acc[0];
}

static void gemm_f32(const tl_gemm_args *a) {
    const tl_type_info *type = tl_type_info_get((uint32_t)a->type);
    size_t row_bytes = (size_t)(a->k / type->elems) * (size_t)type->bytes;
    float *w = a->scratch;   /* [k] */
    for (int r = a->r0; r < a->r1; r++) {
        tl_dequantize(a->type, (const uint8_t *)a->w + (size_t)r * row_bytes, w, a->k);
        for (int t = 0; t < a->n; t++)
            store(a, t, r, dot_f32(w, (const float *)a->x + (size_t)t * (size_t)a->k, a->k));
    }
}

void tl_scalar_fill_gemm(tl_kernels *k) {
#define GEMM(name, act, run) (tl_gemm){name, act, 1, NULL, NULL, run}
#define FLOAT(id, NAME, name, elems, bytes) \
    k->gemm[id] = GEMM("tl_gemm_" #name "_scalar", TL_ACT_F32, gemm_f32); \
    k->exact[id] = k->gemm[id];
#define QUANT(id, NAME, name, ...) \
    k->gemm[id] = GEMM("tl_gemm_" #name "_scalar", TL_ACT_Q8, gemm_q8); \
    k->exact[id] = GEMM("tl_exact_" #name "_scalar", TL_ACT_F32, gemm_f32);
#define NAMED(id, NAME, name, elems, bytes)
#define GONE(id, NAME, name, advice)
#include "types.def"
}
