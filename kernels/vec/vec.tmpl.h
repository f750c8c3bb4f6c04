/* SPDX-License-Identifier: MIT
 *
 * vec.tmpl.h: the element-wise operations, norms, rotation and quantization of a SIMD level; see math.tmpl.h for what
 * the level provides. Every result depends on the values and their places only. */

/* ---- quantization -------------------------------------------------------------------------------------------------
 * The level provides, for a block of 32 floats:
 *   top_bits(x)               the largest bit pattern with the sign bit cleared: the largest magnitude, or a NaN
 *   round_block(x, id, q, s)  q[32] = round to nearest even of x * id, within +-127; s[2] = sums of its halves
 * and, if it has a faster way for four blocks, HAS_QUANTIZE_4 and quantize_4(). */

INLINE void quantize_block(const float *x, int8_t *q, float *d, float *ds, int16_t *s) {
    const uint32_t top = top_bits(x);
    const float amax = tl_f32_from_bits(top), id = 127.0f / amax;
    if (top < 0x7f800000 && id < INFINITY) {
        round_block(x, id, q, s);
        *d = amax / 127.0f;
        *ds = *d * (float)(s[0] + s[1]);
    } else {   /* NaN or Inf; or a magnitude of 0 or so near it that id overflows */
        memset(q, 0, 32);
        s[0] = s[1] = 0;
        *d = *ds = top < 0x7f800000 ? 0 : NAN;
    }
}

static void FN(put_act_q8)(const float *x, int k, void *act, int n, int t) {
    const int tile = t / TL_ACT_TILE, tn = tl_act_tile_n(n, tile), at = t % TL_ACT_TILE;
    const size_t step = (size_t)tn * TL_ACT_Q8_BYTES;
    uint8_t *first = (uint8_t *)act + tl_act_tile_at(TL_ACT_Q8, k, tile);
    uint8_t *q = first + at * 32, *d = first + tn * 32 + at * 4, *ds = d + tn * 4, *s = ds + tn * 4;
    for (int b = 0; b < k / 32; b++, x += 32, q += step, d += step, ds += step, s += step) {
#ifdef HAS_QUANTIZE_4
        if (b + 4 <= k / 32 && quantize_4(x, q, d, ds, s, step)) {
            b += 3, x += 96, q += 3 * step, d += 3 * step, ds += 3 * step, s += 3 * step;
            continue;
        }
#endif
        quantize_block(x, (int8_t *)q, (float *)(void *)d, (float *)(void *)ds, (int16_t *)(void *)s);
    }
}

static void FN(put_act_q8k)(const float *x, int k, void *act, int n, int t) {
    const int tile = t / TL_ACT_TILE, tn = tl_act_tile_n(n, tile), at = t % TL_ACT_TILE;
    uint8_t *block = (uint8_t *)act + tl_act_tile_at(TL_ACT_Q8K, k, tile);
    for (int b = 0; b < k / 256; b++, x += 256, block += tn * TL_ACT_Q8K_BYTES) {
        int16_t *s = (int16_t *)(void *)(block + tn * 260) + 24 * at;
        uint32_t top = 0;
        for (int i = 0; i < 8; i++) {
            const uint32_t u = top_bits(x + 32 * i);
            if (u > top) top = u;
        }
        const float amax = tl_f32_from_bits(top), id = 127.0f / amax;
        const int usable = top < 0x7f800000 && id < INFINITY;
        ((float *)(void *)(block + tn * 256))[at] = usable ? amax / 127.0f : top < 0x7f800000 ? 0 : NAN;
        if (!usable) memset(s, 0, 48);
        for (int i = 0; i < 8; i++) {
            int8_t *q = (int8_t *)block + (i / 2 * tn + at) * 64 + i % 2 * 32;
            if (usable) round_block(x + 32 * i, id, q, s + 8 + 2 * i);
            else memset(q, 0, 32);
            s[i] = (int16_t)(s[8 + 2 * i] + s[9 + 2 * i]);
        }
    }
}

/* ---- element-wise ------------------------------------------------------------------------------------------------ */

/* Applies EXPR, a vector of Y (and X), to y[0..n) and x[0..n). */
#define FOR_EACH(EXPR) do { \
    int i = 0; \
    for (; i + W <= n; i += W) { const vf Y = ld(y + i), X = ld(x + i); (void)X; st(y + i, EXPR); } \
    if (i < n) { const vf Y = ld_n(y + i, n - i), X = ld_n(x + i, n - i); (void)X; st_n(y + i, EXPR, n - i); } \
} while (0)

static void FN(add)(float *y, const float *x, int n) { FOR_EACH(Y + X); }

static void FN(scale)(float *y, float a, int n) {
    const float *x = y;
    const vf factor = set1(a);
    FOR_EACH(Y * factor);
}

static float FN(dot_f32)(const float *a, const float *b, int n) {
    float sum;
    dots(a, b, n, 1, &sum);
    return sum;
}

static void FN(rms_norm)(float *y, const float *x, const float *w, int n, float eps) {
    const vf r = set1(1 / sqrtf(FN(dot_f32)(x, x, n) / (float)n + eps));
    int i = 0;
    for (; i + W <= n; i += W) st(y + i, w ? ld(x + i) * r * ld(w + i) : ld(x + i) * r);
    if (i == n) return;
    const vf last = ld_n(x + i, n - i) * r;
    st_n(y + i, w ? last * ld_n(w + i, n - i) : last, n - i);
}

/* Sum of the differences from c, or of their squares. */
INLINE float sum_from(const float *x, int n, float c, int squares) {
    vf acc[CHAINS];
    for (int j = 0; j < CHAINS; j++) acc[j] = set1(0);
    int i = 0;
    for (; i + CHAINS * W <= n; i += CHAINS * W)
        for (int j = 0; j < CHAINS; j++) {
            const vf d = ld(x + i + j * W) - set1(c);
            if (squares) acc[j] = vfma(d, d, acc[j]);
            else acc[j] += d;
        }
    for (int j = 1; j < CHAINS; j++) acc[0] += acc[j];
    float sum = 0;
    for (; i < n; i++) sum += squares ? (x[i] - c) * (x[i] - c) : x[i] - c;
    return hsum(acc[0]) + sum;
}

static void FN(layer_norm)(float *y, const float *x, const float *w, const float *b, int n, float eps) {
    const float mean = sum_from(x, n, 0, 0) / (float)n;
    const vf m = set1(mean), r = set1(1 / sqrtf(sum_from(x, n, mean, 1) / (float)n + eps));
    int i = 0;
    for (; i + W <= n; i += W) {
        const vf v = (ld(x + i) - m) * r * ld(w + i);
        st(y + i, b ? v + ld(b + i) : v);
    }
    if (i == n) return;
    const vf last = (ld_n(x + i, n - i) - m) * r * ld_n(w + i, n - i);
    st_n(y + i, b ? last + ld_n(b + i, n - i) : last, n - i);
}

/* ---- rotation ---------------------------------------------------------------------------------------------------- */

static void FN(rope_norm)(float *x, const float *cs, int n_rot) {
    vu minus = {0};   /* sign bit of the even lanes */
    for (int l = 0; l < W; l += 2) minus[l] = 0x80000000;
    for (int i = 0; i < n_rot; i += W) {
        const int n = n_rot - i;
        const vf v = n < W ? ld_n(x + i, n) : ld(x + i), c = n < W ? ld_n(cs + i, n) : ld(cs + i);
        const vf y = vfma(swap_pairs(v), (vf)((vu)dup_odd(c) ^ minus), v * dup_even(c));
        if (n < W) st_n(x + i, y, n);
        else st(x + i, y);
    }
}

static void FN(rope_neox)(float *x, const float *cs, int n_rot) {
    const int half = n_rot / 2;
    float *y = x + half;
    int i = 0;
    for (; i + W <= half; i += W) {
        vf c, s, a = ld(x + i), b = ld(y + i);
        unzip(ld(cs + 2 * i), ld(cs + 2 * i + W), &c, &s);
        st(x + i, vfma(-b, s, a * c));
        st(y + i, vfma(a, s, b * c));
    }
    for (; i < half; i++) {
        const float c = cs[2 * i], s = cs[2 * i + 1], a = x[i], b = y[i];
        x[i] = __builtin_fmaf(-b, s, a * c);
        y[i] = __builtin_fmaf(a, s, b * c);
    }
}

static void FN(rope)(float *x, const float *cs, int n_rot, int kind) {
    if (kind == TL_ROPE_NEOX) FN(rope_neox)(x, cs, n_rot);
    else FN(rope_norm)(x, cs, n_rot);
}

/* ---- log-sum-exp ------------------------------------------------------------------------------------------------- */

static float max_of(const float *x, int n) {
    vf m0 = set1(-INFINITY), m1 = m0;
    int i = 0;
    for (; i + 2 * W <= n; i += 2 * W) {
        m0 = vmax(m0, ld(x + i));
        m1 = vmax(m1, ld(x + i + W));
    }
    float max = hmax(vmax(m0, m1));
    for (; i < n; i++) max = fmaxf(max, x[i]);
    return max;
}

/* Sums 1024 terms at a time in float, at most 32 to a lane (relative error 2e-6), and those sums in double.
 * Where max loses a NaN, the sum finds it. */
static double FN(log_sum_exp)(const float *x, int n) {
    const float max = max_of(x, n);
    double sum = 0;
    if (max == INFINITY) {
        for (int i = 0; i < n; i++) if (isnan(x[i])) return NAN;
        return INFINITY;
    }
    for (int at = 0; at < n; at += 1024) {
        const int end = n - at < 1024 ? n : at + 1024;
        vf s0 = set1(0), s1 = s0;
        int i = at;
        for (; i + 2 * W <= end; i += 2 * W) {
            s0 += vexp(ld(x + i) - set1(max));
            s1 += vexp(ld(x + i + W) - set1(max));
        }
        sum += hsum(s0 + s1);
        for (; i < end; i++) sum += exp1(x[i] - max);
    }
    return sum > 0 ? max + log(sum) : NAN;
}
