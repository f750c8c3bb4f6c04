/* SPDX-License-Identifier: MIT
 *
 * attn.tmpl.h: attention of a SIMD level over one page of the cache, for KV in f16 and f32 (f16 is a constant wherever
 * it is an argument). Up to QB queries share each load and conversion of K and V; what a single query computes is the
 * same whatever its neighbours are:
 *   scores   one fma per dimension in rising order, for all positions of the page (lanes are positions)
 *   weights  positions outside lo..hi get a score of -inf, so nothing the page holds there has an effect
 *   values   one fma per position in rising order, reading V at positions lo..hi only */

INLINE vf ld_kv(const void *page, int at, int f16) {
    return f16 ? ld_f16((const uint16_t *)page + at) : ld((const float *)page + at);
}

INLINE void prefetch(const void *page, int at, int n, int f16) {
    const int size = f16 ? 2 : 4;
    for (int i = 0; i < n * size; i += 64) __builtin_prefetch((const char *)page + at * size + i);
}

/* Scores of nq queries into w [nq][TL_KV_PAGE]. PV vectors of positions at a time stay in registers. The first time
 * through K asks for K 16 rows ahead and for V, as the hardware's prefetch ends with every 4 KB: up to a third faster
 * where the cache is in memory. */
INLINE void scores(const float *q, const void *k, const void *v, int hd, float *w, int nq, int f16) {
    for (int p = 0; p < TL_KV_PAGE; p += PV * W) {
        vf s[QB][PV];
        for (int i = 0; i < nq; i++)
            for (int j = 0; j < PV; j++) s[i][j] = set1(0);
        for (int d = 0; d < hd; d++) {
            vf kd[PV];
            for (int j = 0; j < PV; j++) kd[j] = ld_kv(k, d * TL_KV_PAGE + p + j * W, f16);
            if (p == 0) {
                prefetch(k, (d + 16) * TL_KV_PAGE, TL_KV_PAGE, f16);
                prefetch(v, d * TL_KV_PAGE, TL_KV_PAGE, f16);
            }
            for (int i = 0; i < nq; i++) {
                const vf qd = set1(q[i * hd + d]);
                for (int j = 0; j < PV; j++) s[i][j] = vfma(qd, kd[j], s[i][j]);
            }
        }
        for (int i = 0; i < nq; i++)
            for (int j = 0; j < PV; j++) st(w + i * TL_KV_PAGE + p + j * W, s[i][j]);
    }
}

/* acc[i] += sum over lo <= p < hi of w[i][p] * V[p], for cols * W columns from at on. */
INLINE void add_columns(float *acc, const float *w, const void *v, int hd, int lo, int hi, int at, int nq, int cols,
                        int f16) {
    vf sum[QB][CV];
    for (int i = 0; i < nq; i++)
        for (int c = 0; c < cols; c++) sum[i][c] = ld(acc + i * hd + at + c * W);
    for (int p = lo; p < hi; p++) {
        vf row[CV];
        for (int c = 0; c < cols; c++) row[c] = ld_kv(v, p * hd + at + c * W, f16);
        for (int i = 0; i < nq; i++) {
            const vf wp = set1(w[i * TL_KV_PAGE + p]);
            for (int c = 0; c < cols; c++) sum[i][c] = vfma(wp, row[c], sum[i][c]);
        }
    }
    for (int i = 0; i < nq; i++)
        for (int c = 0; c < cols; c++) st(acc + i * hd + at + c * W, sum[i][c]);
}

INLINE void add_values(float *acc, const float *w, const void *v, int hd, int lo, int hi, int nq, int f16) {
    int at = 0;
    if (lo >= hi) return;
    for (; at + CV * W <= hd; at += CV * W) add_columns(acc, w, v, hd, lo, hi, at, nq, CV, f16);
    for (; at < hd; at += W) add_columns(acc, w, v, hd, lo, hi, at, nq, 1, f16);
}

/* Bounds of positions brought into the page. */
INLINE int from(int lo) { return lo > 0 ? lo : 0; }
INLINE int to(int hi) { return hi < TL_KV_PAGE ? hi : TL_KV_PAGE; }

/* What scores are taken relative to: 0 instead of -inf, so that exp(-inf - ref) is 0 and a NaN stays one. */
INLINE float reference(float m) { return m == -INFINITY ? 0 : m; }

/* Turns the scores of query i into weights and moves its m, s and acc to the new maximum. A NaN score that the maximum
 * loses is still in the weights, and so in s and acc. */
static void weights(const tl_attn_args *a, int i) {
    static const int32_t lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    enum { N = TL_KV_PAGE / W };
    float *w = a->scratch + i * TL_KV_PAGE, *acc = a->acc + i * a->hd;
    vi lane;
    memcpy(&lane, lanes, sizeof lane);
    const int lo = from(a->lo[i]), hi = to(a->hi[i]);
    vf x[N], top = set1(a->m[i]), sum = set1(0);
    for (int v = 0; v < N; v++) {
        x[v] = ld(w + v * W);
        if (a->softcap > 0) x[v] = set1(a->softcap) * vtanh(x[v] / set1(a->softcap));
        x[v] = blend((lane >= lo - v * W) & (lane < hi - v * W), x[v], set1(-INFINITY));
        top = vmax(top, x[v]);
    }
    const float m = hmax(top), ref = reference(m);
    for (int v = 0; v < N; v++) {
        const vf e = vexp(x[v] - set1(ref));
        st(w + v * W, e);
        sum += e;
    }
    if (m != a->m[i]) {
        const float keep = exp1(a->m[i] - ref);
        scale(acc, keep, a->hd);
        a->s[i] *= keep;
    }
    a->m[i] = m;
    a->s[i] += hsum(sum);
}

/* Queries i .. i+nq-1, none of which has an empty range. Positions that all of them see are added jointly, those before
 * and after query by query. */
INLINE void attn_block(const tl_attn_args *a, int i, int nq, int f16) {
    const float *w = a->scratch + i * TL_KV_PAGE;
    float *acc = a->acc + i * a->hd;
    int lo = 0, hi = TL_KV_PAGE;
    scores(a->q + i * a->hd, a->k, a->v, a->hd, a->scratch + i * TL_KV_PAGE, nq, f16);
    for (int j = 0; j < nq; j++) {
        weights(a, i + j);
        if (a->lo[i + j] > lo) lo = a->lo[i + j];
        if (a->hi[i + j] < hi) hi = a->hi[i + j];
    }
    if (lo > hi) hi = lo;
    for (int j = 0; nq > 1 && j < nq; j++)
        add_values(acc + j * a->hd, w + j * TL_KV_PAGE, a->v, a->hd, from(a->lo[i + j]),
                   lo < a->hi[i + j] ? lo : to(a->hi[i + j]), 1, f16);
    add_values(acc, w, a->v, a->hd, lo, hi, nq, f16);
    for (int j = 0; nq > 1 && j < nq; j++)
        add_values(acc + j * a->hd, w + j * TL_KV_PAGE, a->v, a->hd, hi, to(a->hi[i + j]), 1, f16);
}

INLINE void attn(const tl_attn_args *a, int f16) {
    for (int i = 0, n; i < a->nq; i += n) {
        for (n = 0; i + n < a->nq && from(a->lo[i + n]) < to(a->hi[i + n]); n++) {}
        if (n == 0) n = 1;   /* sees nothing of this page */
        else {
            const int blocks = (n + QB - 1) / QB;
            n = (n + blocks - 1) / blocks;
            switch (n) {
            case 1: attn_block(a, i, 1, f16); break;
            case 2: attn_block(a, i, 2, f16); break;
            case 3: attn_block(a, i, 3, f16); break;
            case 4: attn_block(a, i, 4, f16); break;
            case 5: attn_block(a, i, 5, f16); break;
            case 6: attn_block(a, i, 6, f16); break;
            }
        }
    }
}

static void attn_f16(const tl_attn_args *a) { attn(a, 1); }
static void attn_f32(const tl_attn_args *a) { attn(a, 0); }

static void attn_finish(float *out, const float *acc, float s, int hd) {
    if (s == 0) memset(out, 0, (size_t)hd * sizeof *out);
    else for (int d = 0; d < hd; d += W) st(out + d, ld(acc + d) / set1(s));
}

static void attn_merge(float *am, float *as, float *aacc, float bm, float bs, const float *bacc, int hd) {
    const float m = fmaxf(*am, bm), ref = reference(m), keep = exp1(*am - ref), take = exp1(bm - ref);
    for (int d = 0; d < hd; d += W) st(aacc + d, vfma(ld(bacc + d), set1(take), ld(aacc + d) * set1(keep)));
    *as = __builtin_fmaf(bs, take, *as * keep);
    *am = m;
}

/* ---- writing a position ------------------------------------------------------------------------------------------ */

static void put_v_f16(void *page, const float *v, int hd, int at) {
    for (int d = 0; d < hd; d += W) st_f16((uint16_t *)page + at * hd + d, ld(v + d));
}

static void put_k_f16(void *page, const float *k, int hd, int at) {
    for (int d = 0; d < hd; d += W) {
        uint16_t half[W];
        st_f16(half, ld(k + d));
        for (int l = 0; l < W; l++) ((uint16_t *)page)[(d + l) * TL_KV_PAGE + at] = half[l];
    }
}

static void put_v_f32(void *page, const float *v, int hd, int at) {
    memcpy((float *)page + at * hd, v, (size_t)hd * sizeof *v);
}

static void put_k_f32(void *page, const float *k, int hd, int at) {
    for (int d = 0; d < hd; d++) ((float *)page)[d * TL_KV_PAGE + at] = k[d];
}
