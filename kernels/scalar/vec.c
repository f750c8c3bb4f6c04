/* SPDX-License-Identifier: MIT
 *
 * The vector operations in plain C: the reference that every level is tested against, and what runs on a CPU without
 * any level. Sums that feed a normalisation or a probability are held in double; everything else is float, one
 * rounding per operation. Written to be read, not to be fast. */
#include <math.h>
#include <string.h>
#include "half.h"
#include "kv_block.h"
#include "scalar/scalar.h"

/* ---- activations ------------------------------------------------------------------------------------------------- */

/* The largest magnitude, as bits: magnitudes compare like their bit patterns, NaN above all. */
static uint32_t top_bits(const float *x, int n) {
    uint32_t top = 0;
    for (int i = 0; i < n; i++) {
        uint32_t u = tl_f32_bits(x[i]) & 0x7fffffff;
        if (u > top) top = u;
    }
    return top;
}

/* Of values up to that magnitude. 0 also where its reciprocal is no float: most denormals. */
static float scale_of(uint32_t top) {
    const float amax = tl_f32_from_bits(top);
    return top >= 0x7f800000 ? NAN : isfinite(127.0f / amax) ? amax / 127.0f : 0;
}

/* Codes of 16 values; returns their sum. All zero where the scale is NaN or 0. */
static int16_t round_16(const float *x, uint32_t top, int8_t *q) {
    const float id = 127.0f / tl_f32_from_bits(top);
    int sum = 0, usable = top < 0x7f800000 && isfinite(id);
    for (int i = 0; i < 16; i++) sum += q[i] = usable ? (int8_t)lrintf(x[i] * id) : 0;
    return (int16_t)sum;
}

/* Codes of 32 values and their sums by halves; returns the scale. */
static float quantize_block(const float *x, int8_t *q, int16_t *s) {
    const uint32_t top = top_bits(x, 32);
    for (int h = 0; h < 2; h++) s[h] = round_16(x + 16 * h, top, q + 16 * h);
    return scale_of(top);
}

static void put_act_f32_scalar(const float *x, int k, void *act, int n, int t) {
    float *to = (float *)act + (size_t)t * (size_t)k;
    for (int i = 0; i < k; i++) to[i] = x[i];
    (void)n;
}

static void put_act_q8_scalar(const float *x, int k, void *act, int n, int t) {
    const int tile = t / TL_ACT_TILE, tn = tl_act_tile_n(n, tile), at = t % TL_ACT_TILE;
    uint8_t *block = (uint8_t *)act + tl_act_tile_at(TL_ACT_Q8, k, tile);
    for (int b = 0; b < k / 32; b++, x += 32, block += tn * TL_ACT_Q8_BYTES) {
        float *d = (float *)(block + tn * 32) + at, *ds = d + tn;
        int16_t *s = (int16_t *)(block + tn * 40) + 2 * at;
        *d = quantize_block(x, (int8_t *)block + at * 32, s);
        *ds = *d * (float)(s[0] + s[1]);
    }
}

static void put_act_q8k_scalar(const float *x, int k, void *act, int n, int t) {
    const int tile = t / TL_ACT_TILE, tn = tl_act_tile_n(n, tile), at = t % TL_ACT_TILE;
    uint8_t *block = (uint8_t *)act + tl_act_tile_at(TL_ACT_Q8K, k, tile);
    for (int b = 0; b < k / 256; b++, x += 256, block += tn * TL_ACT_Q8K_BYTES) {
        int16_t *s = (int16_t *)(block + tn * 260) + 24 * at;
        const uint32_t top = top_bits(x, 256);
        ((float *)(block + tn * 256))[at] = scale_of(top);
        for (int i = 0; i < 16; i++) s[8 + i] = round_16(x + 16 * i, top, (int8_t *)block + (i / 4 * tn + at) * 64 + i % 4 * 16);
        for (int i = 0; i < 8; i++) s[i] = (int16_t)(s[8 + 2 * i] + s[9 + 2 * i]);
    }
}

/* ---- element-wise ------------------------------------------------------------------------------------------------ */

static float dot_f32_scalar(const float *a, const float *b, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += (double)a[i] * b[i];
    return (float)s;
}

static void rms_norm_scalar(float *y, const float *x, const float *w, int n, float eps) {
    double s = 0;
    for (int i = 0; i < n; i++) s += (double)x[i] * x[i];
    const float r = (float)(1 / sqrt(s / n + eps));
    for (int i = 0; i < n; i++) y[i] = w ? x[i] * r * w[i] : x[i] * r;
}

static void layer_norm_scalar(float *y, const float *x, const float *w, const float *b, int n, float eps) {
    double mean = 0, s = 0;
    for (int i = 0; i < n; i++) mean += (double)x[i] / n;
    for (int i = 0; i < n; i++) s += (x[i] - mean) * (x[i] - mean);
    const double r = 1 / sqrt(s / n + eps);
    for (int i = 0; i < n; i++) y[i] = (float)((x[i] - mean) * r * w[i] + (b ? b[i] : 0));
}

static void add_scalar(float *y, const float *x, int n) {
    for (int i = 0; i < n; i++) y[i] += x[i];
}

static void scale_scalar(float *y, float a, int n) {
    for (int i = 0; i < n; i++) y[i] *= a;
}

static void silu_mul_scalar(float *y, const float *u, int n) {
    for (int i = 0; i < n; i++) y[i] = y[i] / (1 + expf(-y[i])) * u[i];
}

/* 0.5 y (1 + tanh z) = y / (1 + exp(-2z)), z = sqrt(2/pi) (y + 0.044715 y^3): the second form does not cancel. */
static float gelu_of(float y) {
    const float z2 = 1.5957691216f * y * (1 + 0.044715f * y * y);
    return y / (1 + expf(-z2));
}

static void gelu_mul_scalar(float *y, const float *u, int n) {
    for (int i = 0; i < n; i++) y[i] = gelu_of(y[i]) * u[i];
}

static void clamped_mul_scalar(float *y, const float *u, int n) {
    for (int i = 0; i < n; i++) {
        const float z = y[i] > 7 ? 7 : y[i], v = u[i] > 7 ? 7 : u[i] < -7 ? -7 : u[i];
        y[i] = z / (1 + expf(-1.702f * z)) * (v + 1);
    }
}

static void gelu_scalar(float *y, int n) {
    for (int i = 0; i < n; i++) y[i] = gelu_of(y[i]);
}

/* 1 + erf(a) = erfc(-a), which does not cancel. */
static void gelu_erf_scalar(float *y, int n) {
    for (int i = 0; i < n; i++) y[i] = 0.5f * y[i] * erfcf(y[i] * -0.707106781f);
}

static void rope_scalar(float *x, const float *cs, int n_rot, int kind) {
    const int step = kind == TL_ROPE_NEOX ? 1 : 2, far = kind == TL_ROPE_NEOX ? n_rot / 2 : 1;
    for (int i = 0; i < n_rot / 2; i++, x += step) {
        const float c = cs[2 * i], s = cs[2 * i + 1], a = x[0], b = x[far];
        x[0] = a * c - b * s;
        x[far] = a * s + b * c;
    }
}

static double log_sum_exp_scalar(const float *x, int n) {
    double max = -INFINITY, s = 0;
    for (int i = 0; i < n; i++) {
        if (isnan(x[i])) return NAN;
        if (x[i] > max) max = x[i];
    }
    if (max == INFINITY) return INFINITY;
    for (int i = 0; i < n; i++) s += exp(x[i] - max);   /* all -inf: NaN */
    return n ? max + log(s) : NAN;
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

static void put_k_f16_scalar(void *page, const float *k, int hd, int at) {
    for (int d = 0; d < hd; d++) ((uint16_t *)page)[d * TL_KV_PAGE + at] = tl_kv_f16(k[d]);
}

static void put_v_f16_scalar(void *page, const float *v, int hd, int at) {
    for (int d = 0; d < hd; d++) ((uint16_t *)page)[at * hd + d] = tl_kv_f16(v[d]);
}

static void put_k_f32_scalar(void *page, const float *k, int hd, int at) {
    for (int d = 0; d < hd; d++) ((float *)page)[d * TL_KV_PAGE + at] = k[d];
}

static void put_v_f32_scalar(void *page, const float *v, int hd, int at) {
    memcpy((float *)page + at * hd, v, (size_t)hd * sizeof *v);
}

static void put_q_f32_scalar(void *dst, const float *q, int hd) { memcpy(dst, q, (size_t)hd * sizeof *q); }

static void put_q_q8_scalar(void *dst, const float *q, int hd) {
    tl_kv_query *x = dst;
    for (int b = 0; b < hd / 32; b++) {
        int16_t s[2];
        x[b].d = quantize_block(q + b * 32, x[b].q, s);
        x[b].sum = s[0] + s[1];
    }
}

/* -8 is the value of largest magnitude: the range that has one code more. */
static float quantize_q4_0(const float *x, int8_t *q) {
    float top = 0, d;
    int bad = 0;
    for (int i = 0; i < 32; i++) {
        if (fabsf(x[i]) > fabsf(top) || x[i] == -fabsf(top)) top = x[i];
        bad |= !isfinite(x[i]);
    }
    d = top / -8;
    memset(q, 0, 32);
    if (bad) return NAN;
    if (!isfinite(1 / d)) return 0;
    for (int i = 0; i < 32; i++) q[i] = (int8_t)fminf(rintf(x[i] * (1 / d)), 7);
    return d;
}

static void put_codes(void *page, const float *x, int hd, int at, int bits,
                      void (*store)(void *page, int section, int at, const int8_t *q, float scale, int bits)) {
    for (int b = 0; b < hd / 32; b++) {
        int8_t q[32];
        int16_t s[2];
        const float d = bits == 8 ? quantize_block(x + b * 32, q, s) : quantize_q4_0(x + b * 32, q);
        store(page, b, at, q, d, bits);
    }
}

static void put_k_q8_0_scalar(void *page, const float *k, int hd, int at) { put_codes(page, k, hd, at, 8, tl_kv_store_k); }
static void put_v_q8_0_scalar(void *page, const float *v, int hd, int at) { put_codes(page, v, hd, at, 8, tl_kv_store_v); }
static void put_k_q4_0_scalar(void *page, const float *k, int hd, int at) { put_codes(page, k, hd, at, 4, tl_kv_store_k); }
static void put_v_q4_0_scalar(void *page, const float *v, int hd, int at) { put_codes(page, v, hd, at, 4, tl_kv_store_v); }

static int is_quantized(int kv) { return kv == TL_KV_Q8_0 || kv == TL_KV_Q4_0; }

/* n elements of a page of floats, from element i on. */
static void load_floats(float *y, const void *page, int i, int n, int kv) {
    for (int d = 0; d < n; d++)
        y[d] = kv == TL_KV_F16 ? tl_f16_to_f32(((const uint16_t *)page)[i + d]) : ((const float *)page)[i + d];
}

/* Scores of every query at every position of the page, for float K: scratch [nq][TL_KV_PAGE]. */
static void scores_f(const tl_attn_args *a, int kv) {
    memset(a->scratch, 0, (size_t)a->nq * TL_KV_PAGE * sizeof(float));
    for (int d = 0; d < a->hd; d++) {
        float k[TL_KV_PAGE];
        load_floats(k, a->k, d * TL_KV_PAGE, TL_KV_PAGE, kv);
        for (int i = 0; i < a->nq; i++) {
            const float q = ((const float *)a->q)[i * a->hd + d];
            for (int p = 0; p < TL_KV_PAGE; p++) a->scratch[i * TL_KV_PAGE + p] += q * k[p];
        }
    }
}

/* The same for quantized K. */
static void scores_q(const tl_attn_args *a, int bits) {
    memset(a->scratch, 0, (size_t)a->nq * TL_KV_PAGE * sizeof(float));
    for (int b = 0; b < a->hd / 32; b++)
        for (int p = 0; p < TL_KV_PAGE; p++) {
            float scale;
            int8_t k[32];
            tl_kv_load_k(a->k, b, p, k, &scale, bits);
            for (int i = 0; i < a->nq; i++) {
                const tl_kv_query *x = (const void *)((const float *)a->q + i * a->hd);
                int32_t sum = 0;
                for (int d = 0; d < 32; d++) sum += k[d] * x[b].q[d];
                a->scratch[i * TL_KV_PAGE + p] += (float)sum * (scale * x[b].d);
            }
        }
}

/* 32 values of position p, from value 32 b on; a head of floats may end earlier. */
static int load_v(float *y, const tl_attn_args *a, int b, int p, int kv) {
    const int n = a->hd - b * 32 < 32 ? a->hd - b * 32 : 32;
    if (is_quantized(kv)) {
        float scale;
        int8_t v[32];
        tl_kv_load_v(a->v, b, p, v, &scale, kv == TL_KV_Q8_0 ? 8 : 4);
        for (int d = 0; d < 32; d++) y[d] = scale * (float)v[d];
    } else {
        load_floats(y, a->v, p * a->hd + b * 32, n, kv);
    }
    return n;
}

/* What scores are taken relative to: 0 instead of -inf, so that exp(-inf - ref) is 0 and a NaN stays one. */
static float reference(float m) { return m == -INFINITY ? 0 : m; }

/* Positions of the page that query i sees: first and end. */
static int first(const tl_attn_args *a, int i) { return a->lo[i] > 0 ? a->lo[i] : 0; }
static int end(const tl_attn_args *a, int i) { return a->hi[i] < TL_KV_PAGE ? a->hi[i] : TL_KV_PAGE; }

/* Turns the scores of query i into weights. A NaN score that max drops comes back through its weight. */
static void weigh(const tl_attn_args *a, int i) {
    const int lo = first(a, i), hi = end(a, i);
    float *w = a->scratch + i * TL_KV_PAGE, *acc = a->acc + i * a->hd, m = a->m[i];
    for (int p = lo; p < hi; p++) {
        if (a->softcap > 0) w[p] = a->softcap * tanhf(w[p] / a->softcap);
        m = fmaxf(m, w[p]);
    }
    const float keep = expf(a->m[i] - reference(m));
    float s = a->s[i] * keep;
    for (int d = 0; d < a->hd; d++) acc[d] *= keep;
    for (int p = lo; p < hi; p++) {
        w[p] = expf(w[p] - reference(m));
        s += w[p];
    }
    a->m[i] = m;
    a->s[i] = s;
}

/* Each row of the page is decoded once for all queries. */
static void attn(const tl_attn_args *a, int kv) {
    if (is_quantized(kv)) scores_q(a, kv == TL_KV_Q8_0 ? 8 : 4);
    else scores_f(a, kv);
    for (int i = 0; i < a->nq; i++)
        if (first(a, i) < end(a, i)) weigh(a, i);
    for (int p = 0; p < TL_KV_PAGE; p++)
        for (int b = 0; b * 32 < a->hd; b++) {
            float v[32];
            const int n = load_v(v, a, b, p, kv);
            for (int i = 0; i < a->nq; i++)
                if (first(a, i) <= p && p < end(a, i))
                    for (int d = 0; d < n; d++) a->acc[i * a->hd + b * 32 + d] += a->scratch[i * TL_KV_PAGE + p] * v[d];
        }
}

static void attn_f16_scalar(const tl_attn_args *a) { attn(a, TL_KV_F16); }
static void attn_f32_scalar(const tl_attn_args *a) { attn(a, TL_KV_F32); }
static void attn_q8_0_scalar(const tl_attn_args *a) { attn(a, TL_KV_Q8_0); }
static void attn_q4_0_scalar(const tl_attn_args *a) { attn(a, TL_KV_Q4_0); }

static void attn_finish_scalar(float *out, const float *acc, float s, int hd) {
    for (int d = 0; d < hd; d++) out[d] = s == 0 ? 0 : acc[d] / s;
}

static void attn_merge_scalar(float *am, float *as, float *aacc, float bm, float bs, const float *bacc, int hd) {
    const float m = fmaxf(*am, bm), keep = expf(*am - reference(m)), take = expf(bm - reference(m));
    for (int d = 0; d < hd; d++) aacc[d] = aacc[d] * keep + bacc[d] * take;
    *as = *as * keep + bs * take;
    *am = m;
}

void tl_scalar_fill_vec(tl_kernels *k) {
    k->put_act[TL_ACT_F32] = put_act_f32_scalar;
    k->put_act[TL_ACT_Q8] = put_act_q8_scalar;
    k->put_act[TL_ACT_Q8K] = put_act_q8k_scalar;
    k->dot_f32 = dot_f32_scalar;
    k->rms_norm = rms_norm_scalar;
    k->layer_norm = layer_norm_scalar;
    k->add = add_scalar;
    k->scale = scale_scalar;
    k->silu_mul = silu_mul_scalar;
    k->gelu_mul = gelu_mul_scalar;
    k->swiglu_oai = clamped_mul_scalar;
    k->gelu = gelu_scalar;
    k->gelu_erf = gelu_erf_scalar;
    k->rope = rope_scalar;
    k->log_sum_exp = log_sum_exp_scalar;
    k->attn_finish = attn_finish_scalar;
    k->attn_merge = attn_merge_scalar;
    k->kv[TL_KV_F16] = (tl_kv_ops){"f16", 1, 2, put_q_f32_scalar, put_k_f16_scalar, put_v_f16_scalar, attn_f16_scalar};
    k->kv[TL_KV_F32] = (tl_kv_ops){"f32", 1, 4, put_q_f32_scalar, put_k_f32_scalar, put_v_f32_scalar, attn_f32_scalar};
    k->kv[TL_KV_Q8_0] = (tl_kv_ops){"q8_0", 32, 34, put_q_q8_scalar, put_k_q8_0_scalar, put_v_q8_0_scalar, attn_q8_0_scalar};
    k->kv[TL_KV_Q4_0] = (tl_kv_ops){"q4_0", 32, 18, put_q_q8_scalar, put_k_q4_0_scalar, put_v_q4_0_scalar, attn_q4_0_scalar};
}
