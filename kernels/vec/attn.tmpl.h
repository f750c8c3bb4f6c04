/* SPDX-License-Identifier: MIT
 *
 * attn.tmpl.h: attention of a SIMD level over one page of the cache. bits says how values are held and is a constant
 * wherever it is an argument: 32 f32, 16 f16, 8 and 4 codes. Up to QB queries share each load and conversion of K and V;
 * what a single query computes is the same whatever its neighbours are:
 *   scores   for all positions of the page (lanes are positions); f16, f32: one fma per dimension in rising order
 *   weights  positions outside lo..hi get a score of -inf, so nothing the page holds there has an effect
 *   values   one fma per position in rising order, reading V at positions lo..hi only
 * Scores and values of quantized pages: attn_q.tmpl.h. */

INLINE vf ld_kv(const void *page, int at, int bits) {
    return bits == 16 ? ld_f16((const uint16_t *)page + at) : ld((const float *)page + at);
}

/* Scores of nq queries into w [nq][TL_KV_PAGE]. PV vectors of positions at a time stay in registers. The first of them
 * asks for half the lines of each stream ahead. */
INLINE void scores(const float *q, const void *k, const uint8_t *const *ahead, int hd, float *w, int nq, int bits) {
    const int every = bits == 16 ? 2 : 1;   /* dimensions to a line */
    for (int p = 0; p < TL_KV_PAGE; p += PV * W) {
        vf s[QB][PV];
        for (int i = 0; i < nq; i++)
            for (int j = 0; j < PV; j++) s[i][j] = set1(0);
        for (int d = 0; d < hd; d++) {
            vf kd[PV];
            for (int j = 0; j < PV; j++) kd[j] = ld_kv(k, d * TL_KV_PAGE + p + j * W, bits);
            if (ahead && p == 0 && d % every == 0) ask(ahead, d / every);
            for (int i = 0; i < nq; i++) {
                const vf qd = set1(q[i * hd + d]);
                for (int j = 0; j < PV; j++) s[i][j] = vfma(qd, kd[j], s[i][j]);
            }
        }
        for (int i = 0; i < nq; i++)
            for (int j = 0; j < PV; j++) st(w + i * TL_KV_PAGE + p + j * W, s[i][j]);
    }
}

/* acc[i] += sum over lo <= p < hi of w[i][p] * V[p], for cols * W columns from at on. Asks for the lines of ahead, unless
 * it is NULL, that these columns come to, behind those of K's hk rows. */
INLINE void add_columns(float *acc, const float *w, const void *v, const uint8_t *const *ahead, int hk, int hd,
                        int lo, int hi, int at, int nq, int cols, int bits) {
    const int size = bits == 16 ? 2 : 4, every = 256 / (cols * W * size);   /* positions to a line */
    vf sum[QB][CV];
    for (int i = 0; i < nq; i++)
        for (int c = 0; c < cols; c++) sum[i][c] = ld(acc + i * hd + at + c * W);
    for (int p = lo; p < hi; p++) {
        vf row[CV];
        for (int c = 0; c < cols; c++) row[c] = ld_kv(v, p * hd + at + c * W, bits);
        if (ahead && p % every == 0) ask(ahead, (hk + at) * size / 4 + p / every);
        for (int i = 0; i < nq; i++) {
            const vf wp = set1(w[i * TL_KV_PAGE + p]);
            for (int c = 0; c < cols; c++) sum[i][c] = vfma(wp, row[c], sum[i][c]);
        }
    }
    for (int i = 0; i < nq; i++)
        for (int c = 0; c < cols; c++) st(acc + i * hd + at + c * W, sum[i][c]);
}

INLINE void add_values(float *acc, const float *w, const void *v, const uint8_t *const *ahead, int hk, int hd, int lo,
                       int hi, int nq, int bits) {
    int at = 0;
    if (lo >= hi) return;
    if (bits < 16) {
        add_values_q(acc, w, v, ahead, hd, lo, hi, nq, bits);
        return;
    }
    for (; at + CV * W <= hd; at += CV * W) add_columns(acc, w, v, ahead, hk, hd, lo, hi, at, nq, CV, bits);
    for (; at < hd; at += W) add_columns(acc, w, v, ahead, hk, hd, lo, hi, at, nq, 1, bits);
}

/* Bounds of positions brought into the page. */
INLINE int from(int lo) { return lo > 0 ? lo : 0; }
INLINE int to(int hi) { return hi < TL_KV_PAGE ? hi : TL_KV_PAGE; }

/* What scores are taken relative to: 0 instead of -inf, so that exp(-inf - ref) is 0 and a NaN stays one. */
INLINE float reference(float m) { return m == -INFINITY ? 0 : m; }

/* Turns the scores of query i into weights and moves its m, s and acc to the new maximum. A NaN score that the maximum
 * loses is still in the weights, and so in s and acc. */
static void FN(attn_weights)(const tl_attn_args *a, int i) {
    static const int32_t lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    enum { N = TL_KV_PAGE / W };
    float *w = a->scratch + i * TL_KV_PAGE, *acc = a->acc + i * a->hv;
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
        for (int d = 0; d < a->hv; d += W) st(acc + d, ld(acc + d) * set1(keep));
        a->s[i] *= keep;
    }
    a->m[i] = m;
    a->s[i] += hsum(sum);
}

/* Queries i .. i+nq-1, none of which has an empty range. Positions that all of them see are added jointly, those before
 * and after query by query. The first block asks for what lies ahead. */
INLINE void attn_block(const tl_attn_args *a, int i, int nq, int bits) {
    const uint8_t *const *ahead = i == 0 && a->ahead[0] ? a->ahead : NULL;
    const float *q = (const float *)a->q + i * a->hk;
    float *w = a->scratch + i * TL_KV_PAGE, *acc = a->acc + i * a->hv;
    int lo = 0, hi = TL_KV_PAGE;
    if (bits < 16) scores_q(q, a->k, ahead, a->hk, w, nq, bits);
    else scores(q, a->k, ahead, a->hk, w, nq, bits);
    for (int j = 0; j < nq; j++) {
        FN(attn_weights)(a, i + j);
        if (a->lo[i + j] > lo) lo = a->lo[i + j];
        if (a->hi[i + j] < hi) hi = a->hi[i + j];
    }
    if (lo > hi) hi = lo;
    for (int j = 0; nq > 1 && j < nq; j++)
        add_values(acc + j * a->hv, w + j * TL_KV_PAGE, a->v, NULL, 0, a->hv, from(a->lo[i + j]),
                   lo < a->hi[i + j] ? lo : to(a->hi[i + j]), 1, bits);
    add_values(acc, w, a->v, ahead, a->hk, a->hv, lo, hi, nq, bits);
    for (int j = 0; nq > 1 && j < nq; j++)
        add_values(acc + j * a->hv, w + j * TL_KV_PAGE, a->v, NULL, 0, a->hv, hi, to(a->hi[i + j]), 1, bits);
}

INLINE void attn(const tl_attn_args *a, int bits) {
    for (int i = 0, n; i < a->nq; i += n) {
        for (n = 0; i + n < a->nq && from(a->lo[i + n]) < to(a->hi[i + n]); n++) {}
        if (n == 0) n = 1;   /* sees nothing of this page */
        else {
            const int blocks = (n + QB - 1) / QB;
            n = (n + blocks - 1) / blocks;
            switch (n) {
            case 1: attn_block(a, i, 1, bits); break;
            case 2: attn_block(a, i, 2, bits); break;
            case 3: attn_block(a, i, 3, bits); break;
            case 4: attn_block(a, i, 4, bits); break;
            case 5: attn_block(a, i, 5, bits); break;
            case 6: attn_block(a, i, 6, bits); break;
            }
        }
    }
}
