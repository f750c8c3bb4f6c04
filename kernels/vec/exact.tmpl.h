/* SPDX-License-Identifier: MIT
 *
 * exact.tmpl.h: products with float activations at a SIMD level: a row is decoded into scratch once (float32 rows are
 * used where they lie) and meets four tokens at a time. A token's sum has CHAINS partial sums per lane, whatever n. */

/* out[t] = sum over i < k of w[i] * x[t*k + i], nt <= 4 tokens. */
INLINE void dots(const float *w, const float *x, int k, int nt, float *out) {
    vf acc[4][CHAINS];
    for (int t = 0; t < nt; t++)
        for (int c = 0; c < CHAINS; c++) acc[t][c] = set1(0);
    int i = 0;
    for (; i + CHAINS * W <= k; i += CHAINS * W)
        for (int c = 0; c < CHAINS; c++) {
            const vf row = ld(w + i + c * W);
            for (int t = 0; t < nt; t++)
                acc[t][c] = vfma(row, ld(x + (size_t)t * (size_t)k + i + c * W), acc[t][c]);
        }
    for (; i < k; i += W) {
        const int n = k - i;
        const vf row = n < W ? ld_n(w + i, n) : ld(w + i);
        for (int t = 0; t < nt; t++) {
            const float *xt = x + (size_t)t * (size_t)k + i;
            acc[t][0] = vfma(row, n < W ? ld_n(xt, n) : ld(xt), acc[t][0]);
        }
    }
    for (int t = 0; t < nt; t++) {
        for (int c = 1; c < CHAINS; c++) acc[t][0] += acc[t][c];
        out[t] = hsum(acc[t][0]);
    }
}

/* Row r as floats. */
static const float *row_f32(const tl_gemm_args *a, int r) {
    const tl_type_info *type = tl_type_info_get((uint32_t)a->type);
    const uint8_t *src = (const uint8_t *)a->w + (size_t)r * ((size_t)(a->k / type->elems) * (size_t)type->bytes);
    const uint16_t *half = (const void *)src;
    float *dst = a->scratch;
    int i = 0;
    if (a->type == TL_TYPE_F32) return (const void *)src;
    if (a->type == TL_TYPE_F16)
        for (; i + W <= a->k; i += W) st(dst + i, ld_f16(half + i));
    if (a->type == TL_TYPE_BF16)
        for (; i + W <= a->k; i += W) st(dst + i, ld_bf16(half + i));
    if (i < a->k) tl_dequantize(a->type, half + i, dst + i, a->k - i);   /* a tail, or all of a quantized row */
    return dst;
}

static void FN(tl_gemm_f32)(const tl_gemm_args *a) {
    for (int r = a->r0; r < a->r1; r++) {
        const float *w = row_f32(a, r), *x = a->x;
        for (int t = 0; t < a->n; t += 4, x += (size_t)a->k * 4) {
            float sum[4];
            const int nt = a->n - t < 4 ? a->n - t : 4;
            switch (nt) {
            case 1: dots(w, x, a->k, 1, sum); break;
            case 2: dots(w, x, a->k, 2, sum); break;
            case 3: dots(w, x, a->k, 3, sum); break;
            case 4: dots(w, x, a->k, 4, sum); break;
            }
            for (int i = 0; i < nt; i++) {
                float *y = a->y + (size_t)(t + i) * a->y_stride + r;
                *y = a->add ? *y + sum[i] : sum[i];
            }
        }
    }
}
