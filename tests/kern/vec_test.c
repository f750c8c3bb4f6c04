/* SPDX-License-Identifier: MIT
 *
 * Every vector operation at every level this CPU runs, against references in double with bounds derived from the number
 * of roundings. All buffers end at an unreadable page. What is promised bit for bit (quantization, KV conversion,
 * independence of neighbours) is compared bit for bit. */
#include "half.h"
#include "kern/ffn_form.h"
#include "kern/kv_form.h"
#include "levels.h"

#define EPS 0x1p-24   /* of one float rounding, relative */

static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 23, 31, 32, 33,
                            47, 48, 49, 63, 64, 65, 66, 67, 128, 200, 576, 640, 2048};
#define N_SIZES ((int)(sizeof sizes / sizeof *sizes))

/* ---- element-wise ------------------------------------------------------------------------------------------------ */

static void dot(void) {
    EACH_LEVEL for (int j = 0; j < N_SIZES; j++) {
        const int n = sizes[j];
        float *a = randoms(0, n, 2), *b = randoms(1, n, 3);
        double want = 0, mass = 0;
        for (int i = 0; i < n; i++) want += (double)a[i] * b[i], mass += fabs((double)a[i] * b[i]);
        const float got = K.dot_f32(a, b, n);
        CHECKF(fabs(got - want) <= (n / 4 + 8) * EPS * mass, "%s n %d: %g, want %g", K.level, n, got, want);
        a[below(n)] = NAN;
        CHECKF(isnan(K.dot_f32(a, b, n)), "%s n %d: NaN lost", K.level, n);
    }
}

static void norm(void) {
    EACH_LEVEL for (int j = 0; j < N_SIZES; j++) for (int kind = 0; kind < 4; kind++) {
        const int n = sizes[j];
        const float range[] = {1, 1e-15f, 1e15f, 30};
        float *x = randoms(0, n, range[kind]), *w = kind & 1 ? NULL : randoms(1, n, 2), *y = floats(2, n);
        double s = 0;
        for (int i = 0; i < n; i++) s += (double)x[i] * x[i];
        K.rms_norm(y, x, w, n, 1e-5f);
        int bad = 0;
        for (int i = 0; i < n; i++) {
            const double want = x[i] * (w ? w[i] : 1) / sqrt(s / n + (double)1e-5f);
            if (!(fabs(y[i] - want) <= (n / 8 + 12) * EPS * fabs(want) + FLT_MIN)) bad++;
        }
        CHECKF(!bad, "%s n %d kind %d: %d values", K.level, n, kind, bad);
        float *z = copy(3, x, n);
        K.rms_norm(z, z, w, n, 1e-5f);
        CHECKF(same_bits(y, z, (size_t)n * 4), "%s n %d: in place differs", K.level, n);
        x[below(n)] = NAN;
        K.rms_norm(y, x, w, n, 1e-5f);
        for (int i = 0; i < n; i++) CHECKF(isnan(y[i]), "%s n %d: NaN lost at %d", K.level, n, i);
    }
}

/* The mean's error, sum roundings of the mean magnitude, weighs as much in every value; in the variance it is of second
 * order. */
static void norm_centred(void) {
    EACH_LEVEL for (int j = 0; j < N_SIZES; j++) for (int kind = 0; kind < 4; kind++) {
        const int n = sizes[j];
        const float range[] = {1, 1e-3f, 1e15f, 30};
        float *x = randoms(0, n, range[kind]), *w = randoms(1, n, 2), *b = kind & 1 ? NULL : randoms(2, n, 2), *y = floats(3, n);
        for (int i = 0; kind == 3 && i < n; i++) x[i] += 100;
        double mean = 0, var = 0, mass = 0;
        for (int i = 0; i < n; i++) mean += (double)x[i] / n, mass += fabs((double)x[i]) / n;
        for (int i = 0; i < n; i++) var += (x[i] - mean) * (x[i] - mean) / n;
        const double sd = sqrt(var + (double)1e-5f), c = (n / 8 + 12) * EPS;
        K.layer_norm(y, x, w, b, n, 1e-5f);
        int bad = 0;
        for (int i = 0; i < n; i++) {
            const double scaled = (x[i] - mean) / sd * w[i], want = scaled + (b ? b[i] : 0);
            if (!(fabs(y[i] - want) <= c * (2 * fabs(scaled) + fabs(w[i]) * mass / sd) + 2 * EPS * fabs(want) + FLT_MIN)) bad++;
        }
        CHECKF(!bad, "%s n %d kind %d: %d values", K.level, n, kind, bad);
        float *z = copy(4, x, n);
        K.layer_norm(z, z, w, b, n, 1e-5f);
        CHECKF(same_bits(y, z, (size_t)n * 4), "%s n %d: in place differs", K.level, n);
        x[below(n)] = NAN;
        K.layer_norm(y, x, w, b, n, 1e-5f);
        for (int i = 0; i < n; i++) CHECKF(isnan(y[i]), "%s n %d: NaN lost at %d", K.level, n, i);
    }
}

static void add_scale(void) {
    EACH_LEVEL for (int j = 0; j < N_SIZES; j++) {
        const int n = sizes[j];
        const float *x = randoms(0, n, 1e3f), *before = randoms(1, n, 1);
        float *y = copy(2, before, n), a = uniform();
        K.add(y, x, n);
        for (int i = 0; i < n; i++) CHECKF(y[i] == before[i] + x[i], "%s add n %d at %d", K.level, n, i);
        y = copy(2, before, n);
        K.scale(y, a, n);
        for (int i = 0; i < n; i++) CHECKF(y[i] == before[i] * a, "%s scale n %d at %d", K.level, n, i);
    }
}

/* Relative error: exp of an argument with c roundings errs by c * EPS * |argument|, the rest is a few ulp. Where the
 * exponential overflows or vanishes the result may be off by 1e-37 of y. */
static void check_ffn(int f, const float *x, const float *u, int n) {
    const ffn_form *form = &ffn_forms[f];
    const int gated = tl_ffn_types[f].gated;
    float *y = copy(2, x, n);
    K.ffn[f](y, gated ? u : NULL, n);
    for (int i = 0; i < n; i++) {
        const double v = x[i], w = gated ? u[i] : 1, want = form->of(v, w);
        const double bound = (10 + 4 * fmin(fabs(form->exponent(v)), 180)) * EPS * fabs(want) + 1e-37 * (fabs(v * w) + 1);
        CHECKF(fabs(y[i] - want) <= bound, "%s %s(%.9g, %.9g): %.9g, want %.9g", K.level, tl_ffn_types[f].name, v, w, y[i], want);
    }
}

static void check_ffn_faults(int f, int n) {
    const float *x = randoms(0, n, 12);
    const double inf = ffn_forms[f].of(INFINITY, 1);
    for (int what = 0; what < 1 + tl_ffn_types[f].gated; what++) {
        float *u = randoms(1, n, 12), *y = copy(2, x, n);
        y[0] = INFINITY, u[0] = 1, (what ? u : y)[n - 1] = NAN;
        K.ffn[f](y, tl_ffn_types[f].gated ? u : NULL, n);
        CHECKF(isnan(y[n - 1]), "%s %s n %d: NaN lost", K.level, tl_ffn_types[f].name, n);
        if (n > 1) CHECKF(y[0] == inf || fabs(y[0] - inf) < 1e-4, "%s %s n %d: Inf gives %g", K.level, tl_ffn_types[f].name, n, y[0]);
        for (int i = 1; i < n - 1; i++) CHECKF(isfinite(y[i]), "%s %s n %d: %g beside NaN", K.level, tl_ffn_types[f].name, n, y[i]);
    }
}

static void feed_forwards(void) {
    EACH_LEVEL for (int f = 0; f < TL_N_FFN; f++) {
        for (int j = 0; j < N_SIZES; j++) {
            check_ffn(f, randoms(0, sizes[j], 12), randoms(1, sizes[j], 12), sizes[j]);
            check_ffn_faults(f, sizes[j]);
        }
        float *x = floats(0, 3 * 4096);   /* dense to +-16 and +-100, and every size from 2^-100 to 2^60 */
        for (int i = 0; i < 4096; i++) {
            x[3 * i] = ((float)i - 2048) / 128;
            x[3 * i + 1] = ((float)i - 2048) / 20.48f;
            x[3 * i + 2] = ldexpf(1 + fabsf(uniform()), i % 160 - 100) * (i & 1 ? -1.0f : 1.0f);
        }
        check_ffn(f, x, randoms(1, 3 * 4096, 2), 3 * 4096);
    }
}

static void rotate(void) {
    EACH_LEVEL for (int n = 2; n <= 130; n += 2) for (int kind = 0; kind < 2; kind++) {
        const float *x = randoms(0, n, 4);
        float *cs = floats(1, n), *y = copy(2, x, n);
        for (int i = 0; i < n; i += 2) cs[i] = cosf((float)i), cs[i + 1] = sinf((float)i);
        K.rope(y, cs, n, kind);
        for (int i = 0; i < n / 2; i++) {
            const int p = kind == TL_ROPE_NEOX ? i : 2 * i, q = kind == TL_ROPE_NEOX ? i + n / 2 : 2 * i + 1;
            const double c = cs[2 * i], s = cs[2 * i + 1], bound = 4 * EPS * (fabs(x[p]) + fabs(x[q]));
            CHECKF(fabs(y[p] - (x[p] * c - x[q] * s)) <= bound && fabs(y[q] - (x[p] * s + x[q] * c)) <= bound,
                   "%s n_rot %d kind %d pair %d", K.level, n, kind, i);
        }
    }
}

static double lse_exact(const float *x, int n) {
    double max = -INFINITY, s = 0;
    for (int i = 0; i < n; i++) max = fmax(max, x[i]);
    for (int i = 0; i < n; i++) s += exp(x[i] - max);
    return max + log(s);
}

static void log_sum(void) {
    EACH_LEVEL for (int j = 0; j <= N_SIZES; j++) for (int kind = 0; kind < 4; kind++) {
        const int n = j < N_SIZES ? sizes[j] : 100003;
        const float range[] = {15, 0, 3000, 90};
        float *x = randoms(0, n, range[kind]);
        for (int i = 0; kind == 3 && i < n; i++) x[i] -= 20000;
        const double got = K.log_sum_exp(x, n), want = lse_exact(x, n);
        CHECKF(fabs(got - want) < 1e-5, "%s n %d kind %d: %.9g, want %.9g", K.level, n, kind, got, want);
        if (n > 1) {
            x[0] = -INFINITY;
            CHECKF(fabs(K.log_sum_exp(x, n) - lse_exact(x, n)) < 1e-5, "%s n %d: with -inf", K.level, n);
        }
        x[n - 1] = INFINITY;
        CHECKF(K.log_sum_exp(x, n) == INFINITY, "%s n %d: with +inf", K.level, n);
        x[n / 2] = NAN;
        CHECKF(isnan(K.log_sum_exp(x, n)), "%s n %d: NaN beside +inf", K.level, n);
        for (int i = 0; i < n; i++) x[i] = -INFINITY;
        CHECKF(isnan(K.log_sum_exp(x, n)), "%s n %d: all -inf", K.level, n);
        x[below(n)] = NAN;
        CHECKF(isnan(K.log_sum_exp(x, n)), "%s n %d: NaN among -inf", K.level, n);
    }
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

#define MAX_Q 40
#define PAGES 3

/* Queries, their visible range over all PAGES, and the running state. job_store() turns q, k and v into what the cache
 * and the form of the queries make of them: the references know no other error of quantization. */
typedef struct job {
    int hk, hv, nq, kv;
    float softcap;
    int lo[MAX_Q], hi[MAX_Q];
    float *q, *k, *v;              /* [nq][hk], [positions][hk], [positions][hv] */
    float *put_q;                  /* [nq][hk], as put_q wrote them */
    char *page_k[PAGES], *page_v[PAGES];
    float m[MAX_Q], s[MAX_Q];
    float *acc;
} job;

static float *heap(int n) { return aligned_alloc(64, ((size_t)n * 4 + 63) / 64 * 64); }

static int bits_of(int kv) { return kv_forms[kv].bits; }

static void job_init(job *j, int hk, int hv, int nq, int kv, float softcap) {
    const int n = PAGES * TL_KV_PAGE;
    const size_t k_bytes = tl_kv_page_bytes(&K.kv[kv], hk), v_bytes = tl_kv_page_bytes(&K.kv[kv], hv);
    *j = (job){.hk = hk, .hv = hv, .nq = nq, .kv = kv, .softcap = softcap};
    j->q = heap(nq * hk), j->acc = heap(nq * hv), j->k = heap(n * hk), j->v = heap(n * hv), j->put_q = heap(nq * hk);
    for (int i = 0; i < nq * hk; i++) j->q[i] = uniform() * 3 / sqrtf((float)hk);
    for (int p = 0; p < PAGES; p++) j->page_k[p] = guarded(2 * p, k_bytes), j->page_v[p] = guarded(2 * p + 1, v_bytes);
    for (int i = 0; i < n * hk || i < n * hv; i++) {
        const float k = uniform() * 4, v = uniform() * 2;
        if (i < n * hk) j->k[i] = k;
        if (i < n * hv) j->v[i] = v;
    }
    for (int i = 0; i < nq; i++) j->lo[i] = 0, j->hi[i] = n;
}
static void job_free(job *j) { free(j->q), free(j->k), free(j->v), free(j->acc), free(j->put_q); }

static void job_store(job *j) {
    const tl_kv_ops *ops = &K.kv[j->kv];
    const int hk = j->hk, hv = j->hv;
    for (int p = 0; p < PAGES * TL_KV_PAGE; p++) {
        char *k = j->page_k[p / TL_KV_PAGE], *v = j->page_v[p / TL_KV_PAGE];
        const int at = p % TL_KV_PAGE;
        ops->put_k(k, j->k + p * hk, hk, at);
        ops->put_v(v, j->v + p * hv, hv, at);
        for (int d = 0; d < hk; d++) j->k[p * hk + d] = k_at(k, at, d, j->kv);
        for (int d = 0; d < hv; d++) j->v[p * hv + d] = v_at(v, at, d, hv, j->kv);
    }
    for (int i = 0; i < j->nq; i++) {
        float *q = j->put_q + i * hk;
        ops->put_q(q, j->q + i * hk, hk);
        for (int d = 0; d < hk && bits_of(j->kv); d++) {
            const tl_kv_query *x = (const tl_kv_query *)(const void *)q + d / 32;
            j->q[i * hk + d] = x->d * (float)x->q[d % 32];
        }
    }
}

/* Queries [from, from + n) over pages [p0, p1), from the initial state, into m, s and acc at from. */
static void job_run(job *j, int from, int n, int p0, int p1) {
    static float scratch[MAX_Q * TL_KV_PAGE] __attribute__((aligned(64)));
    int32_t lo[MAX_Q], hi[MAX_Q];
    for (int i = from; i < from + n; i++) {
        j->m[i] = -INFINITY, j->s[i] = 0;
        memset(j->acc + i * j->hv, 0, (size_t)j->hv * 4);
    }
    for (int p = p0; p < p1; p++) {
        for (int i = 0; i < n; i++) lo[i] = j->lo[from + i] - p * TL_KV_PAGE, hi[i] = j->hi[from + i] - p * TL_KV_PAGE;
        for (int i = 0; i < n; i++) if (lo[i] < 0) lo[i] = 0;
        for (int i = 0; i < n; i++) if (hi[i] > TL_KV_PAGE) hi[i] = TL_KV_PAGE;
        tl_attn_args a = {.q = j->put_q + from * j->hk, .nq = n, .hk = j->hk, .hv = j->hv, .k = j->page_k[p], .v = j->page_v[p],
                          .lo = lo, .hi = hi, .m = j->m + from, .s = j->s + from, .acc = j->acc + from * j->hv,
                          .softcap = j->softcap, .scratch = scratch};
        for (int i = 0; i < TL_KV_STREAMS && p + 1 < p1; i++) a.ahead[i] = (const uint8_t *)j->page_k[p + 1] + i * 64;
        K.kv[j->kv].attn(&a);
    }
}

/* A score has hd roundings (quantized: 3 for each 32 dimensions), amplified by exp; a weight a few more; a sum one for
 * each position and page. */
static void check_query(job *j, int i, const char *what) {
    const int n = PAGES * TL_KV_PAGE, lo = j->lo[i], hi = j->hi[i], hk = j->hk, hv = j->hv;
    double score[PAGES * TL_KV_PAGE], max = -INFINITY, sum = 0, mass = 0;
    float *out = guarded(7, (size_t)hv * 4);
    for (int p = lo; p < hi; p++) {
        double m = 0;
        score[p] = 0;
        for (int d = 0; d < hk; d++) {
            const double x = (double)j->q[i * hk + d] * j->k[p * hk + d];
            score[p] += x, m += fabs(x);
        }
        if (j->softcap > 0) score[p] = j->softcap * tanh(score[p] / j->softcap);
        max = fmax(max, score[p]), mass = fmax(mass, m);
    }
    for (int p = lo; p < hi; p++) sum += exp(score[p] - max);
    K.attn_finish(out, j->acc + i * hv, j->s[i], hv);
    const int roundings = bits_of(j->kv) ? hk / 32 + 4 : hk / 4 + 8;
    const double bound = (2 * roundings * mass + n + 64) * EPS * 2 + 1e-30;
    for (int d = 0; d < hv; d++) {
        double want = 0;
        for (int p = lo; p < hi; p++) want += exp(score[p] - max) / sum * j->v[p * hv + d];
        CHECKF(fabs(out[d] - want) <= bound, "%s %s kv %d hk %d hv %d nq %d query %d [%d, %d) dim %d: %g, want %g", K.level,
               what, j->kv, hk, hv, j->nq, i, lo, hi, d, out[d], want);
    }
}

/* Random ranges with all the shapes that matter. */
static void hard_range(job *j, int i) {
    const int n = PAGES * TL_KV_PAGE, a = below(n), b = below(n);
    switch (below(8)) {
    case 0: j->lo[i] = j->hi[i] = a; break;                              /* sees nothing */
    case 1: j->lo[i] = a, j->hi[i] = a + 1; break;                       /* one position */
    case 2: j->lo[i] = 0, j->hi[i] = n; break;
    case 3: j->lo[i] = 0, j->hi[i] = a + 1; break;                       /* causal */
    case 4: j->lo[i] = 60, j->hi[i] = 70; break;                         /* a window over a page's end */
    case 5: j->lo[i] = a & ~63, j->hi[i] = j->lo[i] + 64; break;
    default: j->lo[i] = a < b ? a : b, j->hi[i] = a < b ? b : a; break;
    }
}

static void attention(void) {
    static const int hds[] = {16, 32, 48, 64, 80, 96, 128, 144, 256, 512}, nqs[] = {1, 2, 3, 4, 5, 6, 7, 8, 13, 40};
    EACH_LEVEL for (int c = 0; c < 160; c++) {   /* the second half with values of another width */
        job j;
        const int hk = hds[c / 8 % 10], hv = c < 80 ? hk : hds[(c / 8 + 3) % 10];
        if (hk % K.kv[c % TL_N_KV].elems || hv % K.kv[c % TL_N_KV].elems) continue;
        job_init(&j, hk, hv, nqs[(c * 7 + c / 10) % 10], c % TL_N_KV, c & 4 ? 5 : 0);
        for (int i = 0; i < j.nq; i++) hard_range(&j, i);
        for (int p = 0; p < PAGES * TL_KV_PAGE; p++) {   /* what nobody sees is poisoned */
            int seen = 0;
            for (int i = 0; i < j.nq; i++) seen |= p >= j.lo[i] && p < j.hi[i];
            for (int d = 0; d < j.hk && !seen; d++) j.k[p * j.hk + d] = p & 1 ? NAN : -INFINITY;
            for (int d = 0; d < j.hv && !seen; d++) j.v[p * j.hv + d] = p & 1 ? NAN : -INFINITY;
        }
        job_store(&j);
        job_run(&j, 0, j.nq, 0, PAGES);
        for (int i = 0; i < j.nq; i++) check_query(&j, i, "attn");
        job alone = j;
        alone.acc = heap(j.nq * j.hv);
        for (int i = 0; i < j.nq; i++) job_run(&alone, i, 1, 0, PAGES);
        const int same = same_bits(alone.m, j.m, (size_t)j.nq * 4) && same_bits(alone.s, j.s, (size_t)j.nq * 4)
                         && same_bits(alone.acc, j.acc, (size_t)(j.nq * j.hv) * 4);
        CHECKF(same, "%s kv %d hk %d hv %d nq %d: alone differs", K.level, j.kv, j.hk, j.hv, j.nq);
        free(alone.acc);
        job_free(&j);
    }
}

/* Pages split between two states that are merged, also where one of them has seen nothing. */
static void merge(void) {
    EACH_LEVEL for (int c = 0; c < 32; c++) {
        job j;
        job_init(&j, c & 16 ? 96 : 64, c & 16 ? 96 : 64, 12, c / 4 % TL_N_KV, 0);
        for (int i = 0; i < j.nq; i++) hard_range(&j, i);
        job_store(&j);
        job b = j;
        b.acc = heap(j.nq * j.hv);
        const int cut = c & 1 ? 1 : 2;
        job_run(&j, 0, j.nq, 0, cut);
        job_run(&b, 0, j.nq, cut, PAGES);
        for (int i = 0; i < j.nq; i++) {
            const float s = j.s[i];
            const int none = b.m[i] == -INFINITY;
            K.attn_merge(&j.m[i], &j.s[i], j.acc + i * j.hv, b.m[i], b.s[i], b.acc + i * j.hv, j.hv);
            CHECKF(!none || s == j.s[i], "%s: merging nothing changed s", K.level);
            CHECKF(j.lo[i] < j.hi[i] || (j.m[i] == -INFINITY && j.s[i] == 0), "%s: two empty states", K.level);
            check_query(&j, i, "merge");
        }
        free(b.acc);
        job_free(&j);
    }
}

/* A NaN or Inf in q, K or V reaches the queries that see it, all their values for q and K, and nobody else. */
static void attention_faults(void) {
    EACH_LEVEL for (int c = 0; c < 48; c++) {
        job j;
        job_init(&j, 64, 64, 9, c % TL_N_KV, c & 4 ? 30 : 0);
        const int where = c / 8 % 3, at = below(PAGES * TL_KV_PAGE), dim = below(64), quant = bits_of(j.kv) > 0;
        const float fault = c < 24 || (where < 2 && !quant) ? NAN : INFINITY;
        for (int i = 0; i < j.nq; i++) hard_range(&j, i);
        j.lo[4] = at, j.hi[4] = at + 1;
        if (where == 0) j.q[4 * j.hk + dim] = fault;
        if (where == 1) j.k[at * j.hk + dim] = fault;
        if (where == 2) j.v[at * j.hv + dim] = fault;
        job_store(&j);
        job_run(&j, 0, j.nq, 0, PAGES);
        for (int i = 0; i < j.nq; i++) {
            float out[64];
            const int hit = where == 0 ? i == 4 : j.lo[i] <= at && at < j.hi[i];
            if (!hit) { check_query(&j, i, "fault elsewhere"); continue; }
            K.attn_finish(out, j.acc + i * j.hv, j.s[i], j.hv);
            for (int d = 0; d < j.hv; d++)
                if (where < 2 || d == dim || (quant && d / 32 == dim / 32))
                    CHECKF(!isfinite(out[d]), "%s fault %d lost in query %d", K.level, where, i);
            float m = -INFINITY, s = 0, acc[64] = {0};
            K.attn_merge(&m, &s, acc, j.m[i], j.s[i], j.acc + i * j.hv, j.hv);
            CHECKF(!isfinite(acc[dim]), "%s fault %d lost in a merge", K.level, where);
        }
        job_free(&j);
    }
}

/* Conversion is exact and touches one position. */
static void put(void) {
    EACH_LEVEL for (int c = 0; c < 12; c++) {
        const int hd = 16 * (1 + below(20)), at = below(TL_KV_PAGE), n = hd * TL_KV_PAGE;
        float *x = randoms(0, hd, 2);
        const float hard[] = {65504, 65519.9f, 65520,   -1e9f, INFINITY, -INFINITY,
                              NAN,   -0.0f,    6e-8f,   3e-8f, 2.9e-8f,  6.1e-5f};
        for (int i = 0; i < hd; i += 2) x[i] = i < 24 ? hard[i / 2] : ldexpf(uniform(), -below(30));
        uint16_t *k16 = guarded(1, (size_t)n * 2), *v16 = guarded(2, (size_t)n * 2);
        float *k32 = floats(3, n), *v32 = floats(4, n);
        K.kv[TL_KV_F16].put_k(k16, x, hd, at), K.kv[TL_KV_F16].put_v(v16, x, hd, at);
        K.kv[TL_KV_F32].put_k(k32, x, hd, at), K.kv[TL_KV_F32].put_v(v32, x, hd, at);
        int bad = 0;
        for (int p = 0; p < TL_KV_PAGE; p++) for (int d = 0; d < hd; d++) {
            const float held = isinf(x[d]) || fabsf(x[d]) < 65504 || isnan(x[d]) ? x[d] : copysignf(65504, x[d]);
            const uint16_t half = p == at ? tl_f32_to_f16(held) : 0xa5a5;
            uint32_t full = 0xa5a5a5a5;
            if (p == at) memcpy(&full, x + d, 4);
            bad += k16[d * TL_KV_PAGE + p] != half || v16[p * hd + d] != half;
            bad += !same_bits(k32 + d * TL_KV_PAGE + p, &full, 4) || !same_bits(v32 + p * hd + d, &full, 4);
        }
        CHECKF(!bad, "%s hd %d at %d: %d values", K.level, hd, at, bad);
    }
}

/* Quantized pages are equal on every level, a put touches one position, and what comes back is near what was put: half
 * a step of the codes, a whole one at q4_0's upper end, and the rounding of the scale. */
static void put_quantized(void) {
    tl_kernels scalar;
    tl_kernels_init(&scalar, 0);
    EACH_LEVEL for (int kv = 0; kv < TL_N_KV; kv++) for (int c = 0; c < 30 && bits_of(kv); c++) {
        const int hd = 32 * (1 + below(16)), at = below(TL_KV_PAGE);
        const size_t bytes = tl_kv_page_bytes(&K.kv[kv], hd);
        char *k = guarded(1, bytes), *v = guarded(2, bytes), *k0 = guarded(3, bytes), *v0 = guarded(4, bytes);
        char *blank = guarded(5, bytes);
        float *x = floats(0, hd), *q = floats(6, hd), *q0 = floats(7, hd);
        for (int i = 0; i < hd; i += 32) hard_block(x + i, below(c < 15 ? 24 : 11) + (c < 15 ? 0 : 18));
        CHECK((int)bytes == hd / 32 * TL_KV_SECTION(bits_of(kv)));
        K.kv[kv].put_k(k, x, hd, at), K.kv[kv].put_v(v, x, hd, at), K.kv[kv].put_q(q, x, hd);
        scalar.kv[kv].put_k(k0, x, hd, at), scalar.kv[kv].put_v(v0, x, hd, at), scalar.kv[kv].put_q(q0, x, hd);
        CHECKF(same_bits(k, k0, bytes) && same_bits(v, v0, bytes), "%s kv %d hd %d: page", K.level, kv, hd);
        CHECKF(same_act((uint8_t *)q, (uint8_t *)q0, sizeof(tl_kv_query) * (size_t)hd / 32), "%s: query", K.level);
        int bad = 0, touched = 0;
        for (int d = 0; d < hd; d++) {
            double amax = 0;
            for (int i = d / 32 * 32; i < d / 32 * 32 + 32; i++)
                amax = isnan(amax) || fabs(x[i]) <= amax ? amax : fabs(x[i]);
            const double step = amax * kv_forms[kv].error * 1.0001, gk = k_at(k, at, d, kv);
            const double bound = step + amax * 0x1p-11 + 128 * 0x1p-25;
            if (!isfinite(amax)) bad += !isnan(gk) && !isinf(gk);
            else if (amax / ((1 << (bits_of(kv) - 1)) - (bits_of(kv) == 8)) > 65504) bad += !isfinite(gk) || fabs(gk) > fabs(x[d]) + step;   /* its largest */
            else bad += !(fabs(gk - x[d]) <= bound);
            const double gv = v_at(v, at, d, hd, kv);
            bad += memcmp(&gk, &gv, sizeof gk) && !(isnan(gk) && isnan(gv));
            for (int p = 0; p < TL_KV_PAGE; p++) {
                const float a = k_at(k, p, d, kv), b = k_at(blank, p, d, kv);
                const float e = v_at(v, p, d, hd, kv), f = v_at(blank, p, d, hd, kv);
                touched += p != at && (!same_bits(&a, &b, 4) || !same_bits(&e, &f, 4));
            }
        }
        CHECKF(!bad && !touched, "%s kv %d hd %d at %d: %d wrong, %d touched", K.level, kv, hd, at, bad, touched);
    }
}

static void finish_empty(void) {
    EACH_LEVEL for (int hd = 16; hd <= 96; hd += 16) {
        const float *acc = randoms(0, hd, 1);
        float *out = floats(1, hd);
        K.attn_finish(out, acc, 0, hd);
        for (int d = 0; d < hd; d++) CHECKF(out[d] == 0, "%s: s = 0 gives %g", K.level, out[d]);
    }
}

/* ---- products with float activations ----------------------------------------------------------------------------- */

/* rows r0..r1 of a small matrix of any type whose last row ends at the guard page. */
static void check_product(const tl_gemm *g, int type, int k, int n) {
    enum { ROWS = 4, R0 = 1, STRIDE = 7 };
    const tl_type_info *t = tl_type_info_get((uint32_t)type);
    const size_t row = (size_t)(k / t->elems) * (size_t)t->bytes;
    uint8_t *w = guarded(0, row * ROWS), *scratch = guarded(3, TL_GEMM_SCRATCH(k));
    for (size_t i = 0; i < row * ROWS; i++) w[i] = (uint8_t)rnd();
    float *wide = heap(k), *x = randoms(1, n * k, 2), *y = floats(2, n * STRIDE), *z = floats(4, n * STRIDE);
    for (int i = 0; type == TL_TYPE_F32 && i < k * ROWS; i++) {
        const float v = uniform();
        memcpy(w + 4 * (size_t)i, &v, 4);
    }
    tl_gemm_args a = {w, type, k, R0, ROWS, x, n, y, STRIDE, 0, scratch, 0};
    for (int i = 0; i < n * STRIDE; i++) y[i] = z[i] = 0.5f;
    g->run(&a);
    a.add = 1, a.y = z;
    g->run(&a);
    for (int t0 = 0; t0 < n; t0++) for (int r = 0; r < STRIDE; r++) {
        const float got = y[t0 * STRIDE + r];
        if (r < R0 || r >= ROWS) { CHECKF(got == 0.5f, "%s %s k %d: wrote row %d", K.level, g->name, k, r); continue; }
        double want = 0, mass = 0;
        tl_dequantize(type, w + row * (size_t)r, wide, k);
        for (int i = 0; i < k; i++) {
            const double p = (double)wide[i] * x[t0 * k + i];
            want += p, mass += fabs(p);
        }
        if (!isfinite(mass)) { CHECKF(!isfinite(got), "%s %s k %d: %g", K.level, g->name, k, got); continue; }
        if (mass > FLT_MAX) continue;
        const double bound = (k / 4 + 8) * EPS * mass + k * 1e-38;
        CHECKF(fabs(got - want) <= bound, "%s %s k %d n %d: %g, want %g", K.level, g->name, k, n, got, want);
        CHECKF(z[t0 * STRIDE + r] == 0.5f + got, "%s %s k %d: add", K.level, g->name, k);
        float one[ROWS];
        tl_gemm_args b = {w, type, k, r, r + 1, x + t0 * k, 1, one, ROWS, 0, scratch, 0};
        g->run(&b);
        CHECKF(same_bits(one + r, &got, 4), "%s %s k %d: token %d of %d differs alone", K.level, g->name, k, t0, n);
    }
    free(wide);
}

static void products(void) {
    EACH_LEVEL for (int type = 0; type < TL_N_TYPES; type++) {
        const tl_type_info *t = tl_type_info_get((uint32_t)type);
        if (!t || (t->kind != TL_KIND_FLOAT && t->kind != TL_KIND_QUANT)) {
            CHECKF(!K.exact[type].run && !K.gemm[type].run, "%s: product of type %d", K.level, type);
            continue;
        }
        const tl_gemm *g = &K.exact[type];
        CHECKF(g->run && g->act == TL_ACT_F32 && g->rows == 1 && !g->pack && g->name, "%s %s", K.level, t->name);
        if (t->kind == TL_KIND_QUANT)
            for (int i = 1; i <= 4; i++) check_product(g, type, t->elems * i * i, 2 * i - 1);
        else
            for (int j = 0; j < N_SIZES; j++) {
                check_product(g, type, sizes[j], 1 + j % 9);
                if (!K.gemm[type].pack) check_product(&K.gemm[type], type, sizes[j], 1 + j % 9); /* packed: gemm_test */
            }
    }
}

int main(void) {
    RUN(dot);
    RUN(norm);
    RUN(norm_centred);
    RUN(add_scale);
    RUN(feed_forwards);
    RUN(rotate);
    RUN(log_sum);
    RUN(put);
    RUN(put_quantized);
    RUN(attention);
    RUN(merge);
    RUN(attention_faults);
    RUN(finish_empty);
    RUN(products);
    return tl_test_end();
}
