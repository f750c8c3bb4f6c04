/* SPDX-License-Identifier: MIT
 *
 * The vector operations in plain C: the reference that every level is tested against, and what runs on a CPU without
 * any level. Sums that feed a normalisation or a probability are held in double; everything else is float, one
 * rounding per operation. Written to be read, not to be fast. */
#include <math.h>
#include <string.h>
#include "kv/attn.h"
#include "scalar/round.h"
#include "scalar/scalar.h"

/* ---- activations ------------------------------------------------------------------------------------------------- */

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
    k->rope = rope_scalar;
    k->log_sum_exp = log_sum_exp_scalar;
    k->attn_finish = attn_finish_scalar;
    k->attn_merge = attn_merge_scalar;
}
