/* SPDX-License-Identifier: MIT
 *
 * kv.tmpl.h: attention's functions besides the walk over a page (attn.tmpl.h): finishing and merging states, and
 * writing queries and positions in the form of each cache type. */

static void FN(attn_finish)(float *out, const float *acc, float s, int hd) {
    if (s == 0) memset(out, 0, (size_t)hd * sizeof *out);
    else for (int d = 0; d < hd; d += W) st(out + d, ld(acc + d) / set1(s));
}

static void FN(attn_merge)(float *am, float *as, float *aacc, float bm, float bs, const float *bacc, int hd) {
    const float m = fmaxf(*am, bm), ref = reference(m), keep = exp1(*am - ref), take = exp1(bm - ref);
    for (int d = 0; d < hd; d += W) st(aacc + d, vfma(ld(bacc + d), set1(take), ld(aacc + d) * set1(keep)));
    *as = __builtin_fmaf(bs, take, *as * keep);
    *am = m;
}

/* ---- f16 and f32 ------------------------------------------------------------------------------------------------- */

static void FN(put_q_f32)(void *dst, const float *q, int hd) { memcpy(dst, q, (size_t)hd * sizeof *q); }

/* f16 has no value beyond 65504 but infinity. Infinity and NaN, which are faults, stay. */
INLINE vf within_f16(vf x) {
    const vu over = (vu)(x > set1(65504.0f)) & (vu)(x < set1(INFINITY));
    const vu under = (vu)(x < set1(-65504.0f)) & (vu)(x > set1(-INFINITY));
    return (vf)(((vu)x & ~(over | under)) | ((vu)set1(65504.0f) & over) | ((vu)set1(-65504.0f) & under));
}

static void FN(put_v_f16)(void *page, const float *v, int hd, int at) {
    for (int d = 0; d < hd; d += W) st_f16((uint16_t *)page + at * hd + d, within_f16(ld(v + d)));
}

static void FN(put_k_f16)(void *page, const float *k, int hd, int at) {
    for (int d = 0; d < hd; d += W) {
        uint16_t half[W];
        st_f16(half, within_f16(ld(k + d)));
        for (int l = 0; l < W; l++) ((uint16_t *)page)[(d + l) * TL_KV_PAGE + at] = half[l];
    }
}

static void FN(put_v_f32)(void *page, const float *v, int hd, int at) {
    memcpy((float *)page + at * hd, v, (size_t)hd * sizeof *v);
}

static void FN(put_k_f32)(void *page, const float *k, int hd, int at) {
    for (int d = 0; d < hd; d++) ((float *)page)[d * TL_KV_PAGE + at] = k[d];
}

/* ---- quantized --------------------------------------------------------------------------------------------------- */

static void FN(put_q_q8)(void *dst, const float *q, int hd) {
    tl_kv_query *x = dst;
    for (int d = 0; d < hd; d += 32, x++) {
        int16_t s[2];
        float ds;
        quantize_block(q + d, x->q, &x->d, &ds, s);
        x->sum = s[0] + s[1];
    }
}

/* 32 values as codes; returns their scale. */
INLINE float quantize_kv(const float *x, int8_t *q, int bits) {
    int16_t s[2];
    float d, ds;
    if (bits == 8) {
        quantize_block(x, q, &d, &ds, s);
        return d;
    }
    const uint32_t top = top_bits(x);
    int negative = 0;
    d = tl_f32_from_bits(top) / 8.0f;
    for (int i = 0; i < 32; i++) negative |= tl_f32_bits(x[i]) == (top | 0x80000000);
    if (!negative) d = -d;
    if (top < 0x7f800000 && fabsf(1.0f / d) < INFINITY) {
        round_block(x, 1.0f / d, q, s);
        for (int i = 0; i < 32; i++) q[i] = q[i] > 7 ? 7 : q[i];
        return d;
    }
    memset(q, 0, 32);
    return top < 0x7f800000 ? 0 : NAN;
}

INLINE void put_k_q(void *page, const float *k, int hd, int at, int bits) {
    for (int b = 0; b < hd / 32; b++) {
        int8_t q[32];
        const float d = quantize_kv(k + b * 32, q, bits);
        tl_kv_store_k(page, b, at, q, d, bits);
    }
}

INLINE void put_v_q(void *page, const float *v, int hd, int at, int bits) {
    for (int b = 0; b < hd / 32; b++) {
        int8_t q[32];
        const float d = quantize_kv(v + b * 32, q, bits);
        tl_kv_store_v(page, b, at, q, d, bits);
    }
}

static void FN(put_k_q8_0)(void *page, const float *k, int hd, int at) { put_k_q(page, k, hd, at, 8); }
static void FN(put_v_q8_0)(void *page, const float *v, int hd, int at) { put_v_q(page, v, hd, at, 8); }
static void FN(put_k_q4_0)(void *page, const float *k, int hd, int at) { put_k_q(page, k, hd, at, 4); }
static void FN(put_v_q4_0)(void *page, const float *v, int hd, int at) { put_v_q(page, v, hd, at, 4); }
