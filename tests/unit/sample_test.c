/* SPDX-License-Identifier: MIT
 * sample_test.c: the sampler: which tokens survive each step, with what frequency they are drawn, ties, extreme
 * settings, penalties and bias by hand-computed values, refused options, NaN. Chi-square bounds are at p = 1e-4. */
#include "test.h"
#include "base/rng.h"
#include "sample/sample.h"

#include <math.h>

enum { DRAWS = 20000 };

/* Everything off but the draw. */
static tl_sampler_options plain(void) {
    tl_sampler_options o = tl_sampler_options_default();
    o.temp = 1;
    o.top_k = 0;
    o.top_p = 1;
    o.min_p = 0;
    o.seed = 7;
    return o;
}

static int count_draws(const tl_sampler_options *o, const float *x, int n, int draws, int *count) {
    tl_error err = {0};
    tl_sampler *s = tl_sampler_create(n, o, &err);
    memset(count, 0, (size_t)n * sizeof *count);
    for (int i = 0; s && i < draws; i++) {
        int32_t id = tl_sampler_pick(s, x, &err);
        if (id < 0 || id >= n) break;
        count[id]++;
    }
    tl_sampler_free(s);
    CHECKF(err.code == 0, "%s", err.text);
    return err.code;
}

/* Which of up to 32 tokens are ever drawn, as bits. temp is raised so that each survivor is seen. */
static unsigned survivors(tl_sampler_options o, const float *x, int n) {
    int count[32];
    unsigned bits = 0;
    if (o.temp > 0 && o.temp < 1000) o.temp = 1000;
    if (count_draws(&o, x, n, 2000, count)) return 0;
    for (int i = 0; i < n; i++) bits |= (count[i] > 0 ? 1u : 0u) << i;
    return bits;
}

static int32_t pick_once(const tl_sampler_options *o, const float *x, int n) {
    tl_error err = {0};
    tl_sampler *s = tl_sampler_create(n, o, &err);
    int32_t id = s ? tl_sampler_pick(s, x, &err) : err.code;
    tl_sampler_free(s);
    return id;
}

static double chi_square(const int *count, const double *p, int n, int draws) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double want = p[i] * draws;
        if (want > 0) sum += (count[i] - want) * (count[i] - want) / want;
        else if (count[i]) return INFINITY;
    }
    return sum;
}

static void frequencies(void) {
    static const float x[6] = {0.5f, -1, 2, 1.25f, -3, 0};
    static const float temps[] = {0.5f, 1, 2};
    for (int t = 0; t < 3; t++) {
        for (int seed = 0; seed < 3; seed++) {
            tl_sampler_options o = plain();
            double p[6], sum = 0;
            int count[6];
            o.temp = temps[t];
            o.seed = seed;
            for (int i = 0; i < 6; i++) sum += p[i] = exp((double)x[i] / temps[t]);
            for (int i = 0; i < 6; i++) p[i] /= sum;
            count_draws(&o, x, 6, DRAWS, count);
            double chi = chi_square(count, p, 6, DRAWS);
            CHECKF(chi < 25.7, "temp %g, seed %d: chi-square %g", (double)temps[t], seed, chi);
        }
    }
}

static void frequencies_after_truncation(void) {
    /* top-k 4 leaves 0..3 with probabilities 0.644, 0.237, 0.087, 0.032; top-p 0.95 leaves 0..2; temp 2 comes last */
    static const float x[6] = {3, 2, 1, 0, -1, -2};
    tl_sampler_options o = plain();
    double p[6] = {exp(1.5), exp(1), exp(0.5)}, sum = p[0] + p[1] + p[2];
    int count[6];
    for (int i = 0; i < 3; i++) p[i] /= sum;
    o.top_k = 4;
    o.top_p = 0.95f;
    o.temp = 2;
    count_draws(&o, x, 6, DRAWS, count);
    double chi = chi_square(count, p, 6, DRAWS);
    CHECKF(chi < 18.5, "chi-square %g", chi);
}

static void high_temperature_is_uniform(void) {
    static const float x[10] = {9, -3, 4, 0, 1, -8, 2, 30, -20, 5};
    tl_sampler_options o = plain();
    double p[10];
    int count[10];
    for (int i = 0; i < 10; i++) p[i] = 0.1;
    o.temp = 1e6f;
    count_draws(&o, x, 10, DRAWS, count);
    double chi = chi_square(count, p, 10, DRAWS);
    CHECKF(chi < 33.7, "chi-square %g", chi);
}

static void truncation_precedes_temperature(void) {
    static const float x[3] = {3, 2, 1};
    tl_sampler_options o = plain();
    int count[3];
    o.top_p = 0.8f;
    o.temp = 0.5f;
    count_draws(&o, x, 3, 2000, count);
    CHECK(count[0] > 0 && count[1] > 0 && count[2] == 0);
}

static void top_k_cases(void) {
    static const float x[8] = {1, 5, 3, 5, 2, 5, 0, 4};
    static const struct { int k; unsigned want; } cases[] = {
        {0, 0xff}, {-1, 0xff}, {1000000000, 0xff}, {8, 0xff}, {7, 0xbf}, {1, 0x02}, {2, 0x0a}, {3, 0x2a}, {4, 0xaa},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tl_sampler_options o = plain();
        o.top_k = cases[i].k;
        unsigned got = survivors(o, x, 8);
        CHECKF(got == cases[i].want, "top_k %d: %x, not %x", cases[i].k, got, cases[i].want);
    }
}

static void top_p_cases(void) {
    static const float even[4] = {1, 1, 1, 1}, steep[3] = {100, 0, -100};
    static const struct { float p; unsigned even, steep; } cases[] = {
        {0, 1, 1}, {1e-9f, 1, 1}, {0.2f, 1, 1}, {0.25f, 1, 1}, {0.26f, 3, 1}, {0.75f, 7, 1}, {0.76f, 15, 1},
        {0.999f, 15, 1}, {1, 15, 7}, {2, 15, 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tl_sampler_options o = plain();
        o.top_p = cases[i].p;
        CHECKF(survivors(o, even, 4) == cases[i].even, "top_p %g of four equal", (double)cases[i].p);
        if (cases[i].p >= 1) continue;
        CHECKF(survivors(o, steep, 3) == cases[i].steep, "top_p %g of a steep three", (double)cases[i].p);
    }
    tl_sampler_options o = plain();
    o.top_p = 1;
    o.temp = 1e9f;
    CHECK(survivors(o, steep, 3) == 7);
}

static void min_p_cases(void) {
    static const float x[4] = {0, -0.5f, 0, -3};   /* probabilities relative to the best: 1, 0.607, 1, 0.05 */
    static const struct { float p; unsigned want; } cases[] = {
        {0, 15}, {0.04f, 15}, {0.06f, 7}, {0.6f, 7}, {0.61f, 5}, {1, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tl_sampler_options o = plain();
        o.min_p = cases[i].p;
        CHECKF(survivors(o, x, 4) == cases[i].want, "min_p %g", (double)cases[i].p);
    }
}

static void greedy(void) {
    static const float tie[5] = {1, 7, 3, 7, 7};
    static const float tiny[] = {1e-30f, 1e-40f};
    tl_sampler_options o = plain();
    o.temp = 0;
    CHECK(pick_once(&o, tie, 5) == 1);
    static const float sole[3] = {-INFINITY, -2e38f, -INFINITY};
    CHECK(pick_once(&o, sole, 3) == 1);
    static const float best[3] = {1, 2, 1.999f};
    for (int i = 0; i < 2; i++) {
        int count[3];
        o.temp = tiny[i];
        count_draws(&o, best, 3, 200, count);
        CHECK(count[1] == 200);
    }
}

static void infinities(void) {
    static const float up[4] = {1, INFINITY, 2, INFINITY}, masked[4] = {-INFINITY, 0, -INFINITY, 0};
    static const float none[2] = {-INFINITY, -INFINITY}, nan[3] = {1, NAN, INFINITY};
    tl_sampler_options o = plain();
    CHECK(pick_once(&o, up, 4) == 1);
    CHECK(survivors(o, masked, 4) == 0xa);
    o.top_k = 3;   /* fewer are left than asked for */
    CHECK(survivors(o, masked, 4) == 0xa);
    for (int greedy_too = 0; greedy_too < 2; greedy_too++) {
        tl_error err = {0};
        o.temp = greedy_too ? 0 : 1;
        CHECK(pick_once(&o, none, 2) == TL_E_NAN);
        CHECK(pick_once(&o, nan, 3) == TL_E_NAN);
        tl_sampler *s = tl_sampler_create(3, &o, NULL);
        CHECK(tl_sampler_pick(s, nan, &err) == TL_E_NAN && strstr(err.text, "token 1"));
        CHECK(tl_sampler_pick(s, NULL, NULL) == TL_E_ARGUMENT);
        CHECK(tl_sampler_pick(s, up, NULL) == 1);   /* an error leaves the sampler usable */
        tl_sampler_free(s);
    }
}

/* A NaN is found wherever it stands in blocks and tails of any length. */
static void nan_anywhere(void) {
    float x[200];
    tl_sampler_options o = plain();
    o.temp = 0;
    for (int n = 1; n <= 200; n += 33) {
        for (int at = 0; at < n; at++) {
            for (int i = 0; i < n; i++) x[i] = i % 5 == 0 ? -INFINITY : 1e30f * (float)i;
            x[at] = NAN;
            CHECKF(pick_once(&o, x, n) == TL_E_NAN, "NaN at %d of %d", at, n);
        }
    }
}

/* Large vocabularies take the shortcut through block maxima: the same tokens must survive as by sorting. */
static int by_logit(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void large_vocabulary(void) {
    enum { N = 50001 };
    static float x[N], sorted[N];
    static const int ks[] = {1, 2, 40, 700, 781, 782, 5000};
    tl_rng rng;
    tl_rng_seed(&rng, 3);
    for (int i = 0; i < N; i++) x[i] = sorted[i] = (float)(tl_rng_double(&rng) * 20 - 10);
    qsort(sorted, N, sizeof *sorted, by_logit);
    for (size_t j = 0; j < sizeof ks / sizeof *ks; j++) {
        tl_sampler_options o = plain();
        o.top_k = ks[j];
        o.temp = 1e5f;
        tl_sampler *s = tl_sampler_create(N, &o, NULL);
        float least = INFINITY;
        for (int i = 0; i < 15 * ks[j] && i < 500; i++) {
            int32_t id = tl_sampler_pick(s, x, NULL);
            CHECK(id >= 0 && x[id] >= sorted[ks[j] - 1]);
            if (id >= 0 && x[id] < least) least = x[id];
        }
        if (ks[j] <= 2) CHECKF(least == sorted[ks[j] - 1], "top_k %d: the last of them is never drawn", ks[j]);
        tl_sampler_free(s);
    }
    for (int i = 0; i < N; i++) x[i] = 1;   /* all tie: the lowest ids win */
    tl_sampler_options o = plain();
    o.top_k = 40;
    tl_sampler *s = tl_sampler_create(N, &o, NULL);
    for (int i = 0; i < 500; i++) CHECK(tl_sampler_pick(s, x, NULL) < 40);
    tl_sampler_free(s);
}

static void top_p_without_top_k(void) {
    enum { N = 10000 };
    static float x[N], sorted[N];
    tl_rng rng;
    tl_rng_seed(&rng, 5);
    for (int i = 0; i < N; i++) x[i] = sorted[i] = (float)(tl_rng_double(&rng) * 12);
    qsort(sorted, N, sizeof *sorted, by_logit);
    double sum = 0, part = 0;
    for (int i = 0; i < N; i++) sum += exp((double)sorted[i]);
    int kept = 0;
    while (part < 0.5 * sum) part += exp((double)sorted[kept++]);
    tl_sampler_options o = plain();
    o.top_p = 0.5f;
    tl_sampler *s = tl_sampler_create(N, &o, NULL);
    float least = INFINITY;
    for (int i = 0; i < 300; i++) {
        int32_t id = tl_sampler_pick(s, x, NULL);
        CHECK(id >= 0 && x[id] >= sorted[kept - 1]);
        if (id >= 0 && x[id] < least) least = x[id];
    }
    CHECKF(least < sorted[kept * 9 / 10], "nothing of the last tenth of %d was drawn", kept);
    tl_sampler_free(s);
}

static void seeds(void) {
    float x[100] = {0};
    static const int64_t some[] = {0, 1, 42, 4294967295, 4294967296, INT64_MAX};
    int32_t first[6][30];
    for (int i = 0; i < 6; i++) {
        for (int again = 0; again < 2; again++) {
            tl_sampler_options o = plain();
            o.seed = some[i];
            tl_sampler *s = tl_sampler_create(100, &o, NULL);
            CHECK(tl_sampler_seed(s) == some[i]);
            for (int j = 0; j < 30; j++) {
                int32_t id = tl_sampler_pick(s, x, NULL);
                if (again) CHECK(id == first[i][j]);
                first[i][j] = id;
            }
            tl_sampler_free(s);
        }
        for (int j = 0; j < i; j++) CHECK(memcmp(first[i], first[j], sizeof first[i]));
    }
    tl_sampler *a = tl_sampler_create(100, NULL, NULL), *b = tl_sampler_create(100, NULL, NULL);
    CHECK(tl_sampler_seed(a) >= 0 && tl_sampler_seed(b) >= 0 && tl_sampler_seed(a) != tl_sampler_seed(b));
    tl_sampler_free(a);
    tl_sampler_free(b);
}

/* xoshiro256** from the state 1, 2, 3, 4 begins with 11520, 0, 1509978240 (worked out by hand from its definition). */
static void generator(void) {
    tl_rng r = {{1, 2, 3, 4}};
    CHECK(tl_rng_next(&r) == 11520);
    CHECK(tl_rng_next(&r) == 0);
    CHECK(tl_rng_next(&r) == 1509978240);
    double mean = 0;
    for (int i = 0; i < 10000; i++) {
        double u = tl_rng_double(&r);
        CHECK(u >= 0 && u < 1);
        mean += u / 10000;
    }
    CHECKF(fabs(mean - 0.5) < 0.012, "mean %g", mean);
}

static int32_t greedy_after(tl_sampler_options o, const float *x, int n, const int32_t *history, int n_history) {
    o.temp = 0;
    tl_sampler *s = tl_sampler_create(n, &o, NULL);
    for (int i = 0; i < n_history; i++) tl_sampler_accept(s, history[i]);
    int32_t id = s ? tl_sampler_pick(s, x, NULL) : -1;
    tl_sampler_free(s);
    return id;
}

static void penalties(void) {
    static const int32_t history[] = {0, 0, 0, 2, 1};
    static const float x[4] = {3, 2.5f, 2, 1.5f}, minus[3] = {-1, -1.5f, -3};
    tl_sampler_options o = plain();
    CHECK(greedy_after(o, x, 4, history, 5) == 0);
    o.presence_penalty = 1;                                      /* 2, 1.5, 1, 1.5 */
    CHECK(greedy_after(o, x, 4, history, 5) == 0);
    o.presence_penalty = 2;                                      /* 1, 0.5, 0, 1.5 */
    CHECK(greedy_after(o, x, 4, history, 5) == 3);
    o.presence_penalty = 0;
    o.frequency_penalty = 0.3f;                                  /* 2.1, 2.2, 1.7, 1.5 */
    CHECK(greedy_after(o, x, 4, history, 5) == 1);
    o.frequency_penalty = 0;
    o.repeat_penalty = 1.5f;                                     /* 2, 1.67, 1.33, 1.5 */
    CHECK(greedy_after(o, x, 4, history, 5) == 0);
    o.repeat_penalty = 2.5f;                                     /* 1.2, 1, 0.8, 1.5 */
    CHECK(greedy_after(o, x, 4, history, 5) == 3);
    o.repeat_penalty = 2;                                        /* negative logits move down: -2, -1.5, -3 */
    CHECK(greedy_after(o, minus, 3, history, 3) == 1);
    o.presence_penalty = -1;                                     /* reward: with repeat, 2.5 against 2.5: a tie */
    CHECK(greedy_after(o, x, 4, history, 3) == 0);
}

static void penalty_window(void) {
    static const int32_t history[] = {0, 1, 2};
    static const float x[4] = {4, 3, 2, 1};
    static const struct { int last_n; int32_t want; } cases[] = {
        {0, 0}, {1, 0}, {2, 0}, {3, 3}, {4, 3}, {1000000, 3}, {-1, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tl_sampler_options o = plain();
        o.presence_penalty = 10;
        o.repeat_last_n = cases[i].last_n;
        int32_t got = greedy_after(o, x, 4, history, 3);
        CHECKF(got == cases[i].want, "repeat_last_n %d: token %d", cases[i].last_n, (int)got);
    }
    /* Picks enter the window, and leave it when it has moved on. */
    static const int32_t two[] = {0, 1, 0, 1, 0}, all[] = {0, 1, 2, 3, 0};
    for (int w = 0; w < 2; w++) {
        tl_sampler_options o = plain();
        o.temp = 0;
        o.presence_penalty = 10;
        o.repeat_last_n = w ? -1 : 1;
        tl_sampler *s = tl_sampler_create(4, &o, NULL);
        for (int i = 0; i < 5; i++) CHECK(tl_sampler_pick(s, x, NULL) == (w ? all : two)[i]);
        tl_sampler_accept(s, -1);   /* not tokens: ignored */
        tl_sampler_accept(s, 4);
        tl_sampler_free(s);
    }
}

/* A long random history must count the same as counting the window afresh. */
static void penalty_window_counts(void) {
    enum { N = 12, WINDOW = 20 };
    float x[N] = {0};
    int32_t history[500];
    tl_rng rng;
    tl_rng_seed(&rng, 9);
    tl_sampler_options o = plain();
    o.temp = 0;
    o.frequency_penalty = 1;
    o.repeat_last_n = WINDOW;
    tl_sampler *s = tl_sampler_create(N, &o, NULL);
    for (int i = 0; i < 500; i++) {
        if (tl_rng_next(&rng) % 2) {
            history[i] = (int32_t)(tl_rng_next(&rng) % N);
            tl_sampler_accept(s, history[i]);
            continue;
        }
        int count[N] = {0}, least = 0;
        for (int j = i < WINDOW ? 0 : i - WINDOW; j < i; j++) count[history[j]]++;
        for (int j = 1; j < N; j++) least = count[j] < count[least] ? j : least;
        history[i] = tl_sampler_pick(s, x, NULL);
        CHECKF(history[i] == least, "step %d: %d, not %d", i, (int)history[i], least);
    }
    tl_sampler_free(s);
}

static void bias(void) {
    static const float x[6] = {1, 2, 3, 4, 5, 6};
    tl_logit_bias ban = {5, -100}, force = {0, 100}, many[300];
    for (int temp = 0; temp < 2; temp++) {
        tl_sampler_options o = plain();
        int count[6];
        o.temp = (float)temp;
        o.n_bias = 1;
        o.bias = &ban;
        count_draws(&o, x, 6, 1000, count);
        CHECK(count[5] == 0 && count[4] > 0);
        o.bias = &force;
        count_draws(&o, x, 6, 1000, count);
        CHECK(count[0] == 1000);
        for (int i = 0; i < 300; i++) many[i] = (tl_logit_bias){i % 5, 0.1f};   /* 6 added to each of 0..4 */
        o.bias = many;
        o.n_bias = 300;
        CHECK(temp || pick_once(&o, x, 6) == 4);
    }
    /* -inf bans, even what is infinitely likely, and is not part of a standard deviation. */
    const float up[4] = {INFINITY, 3, 2.9f, -3}, flat[4] = {5, 3, 2.9f, -3};
    for (int i = 0; i < 2; i++) {
        tl_sampler_options o = plain();
        int count[4];
        ban = (tl_logit_bias){0, -INFINITY};
        o.bias = &ban;
        o.n_bias = 1;
        o.top_n_sigma = 1;
        count_draws(&o, i ? up : flat, 4, 1000, count);
        CHECK(count[0] == 0 && count[1] > 0 && count[2] > 0 && count[3] == 0);
    }
    /* The copy is the sampler's own; the caller's logits are not changed. */
    float logits[2] = {1, 0};
    tl_logit_bias b = {1, 5};
    tl_sampler_options o = plain();
    o.temp = 0;
    o.bias = &b;
    o.n_bias = 1;
    tl_sampler *s = tl_sampler_create(2, &o, NULL);
    b = (tl_logit_bias){0, 50};
    CHECK(tl_sampler_pick(s, logits, NULL) == 1 && logits[0] == 1 && logits[1] == 0);
    tl_sampler_free(s);
}

static void refused(const char *what, tl_sampler_options o) {
    tl_error err = {0};
    tl_sampler *s = tl_sampler_create(10, &o, &err);
    CHECKF(!s && err.code == TL_E_ARGUMENT, "%s is taken", what);
    CHECKF(strstr(err.text, what) && !strchr(err.text, '\n'), "%s: \"%s\"", what, err.text);
    tl_sampler_free(s);
}

static void options(void) {
    tl_logit_bias b;
#define REFUSED(field, ...) do { \
    const float v_[] = {__VA_ARGS__}; \
    for (size_t i_ = 0; i_ < sizeof v_ / sizeof *v_; i_++) { \
        tl_sampler_options o_ = plain(); \
        o_.field = v_[i_]; \
        refused(#field, o_); \
    } \
} while (0)
    REFUSED(temp, -1, -1e-30f, NAN, INFINITY, -INFINITY);
    REFUSED(top_p, -0.1f, NAN, INFINITY);
    REFUSED(min_p, -0.1f, 1.1f, NAN);
    REFUSED(repeat_penalty, 0, -1, NAN, INFINITY);
    REFUSED(presence_penalty, NAN, INFINITY);
    REFUSED(frequency_penalty, NAN, -INFINITY);
    REFUSED(typical, -0.1f, NAN, INFINITY);
    REFUSED(top_n_sigma, NAN, INFINITY);
    REFUSED(xtc_probability, -0.1f, 1.1f, NAN);
    REFUSED(xtc_threshold, -0.1f, 1.1f, NAN);
    REFUSED(dry_multiplier, -1, NAN, INFINITY);
    REFUSED(dry_base, 0.9f, NAN, INFINITY);
    REFUSED(mirostat_lr, -0.1f, NAN, INFINITY);
    REFUSED(mirostat_ent, -1, NAN, INFINITY);
    REFUSED(dynatemp_range, -1, NAN, INFINITY);
    REFUSED(dynatemp_exp, -1, NAN, INFINITY);
    REFUSED(dry_allowed_length, -1);
    REFUSED(dry_penalty_last_n, -2, 2e6f);
    REFUSED(mirostat, -1, 1, 3);
    REFUSED(n_dry_breakers, -1, 1);
#undef REFUSED
    tl_sampler_options o = plain();
    o.repeat_last_n = -2;
    refused("repeat_last_n", o);
    o.repeat_last_n = INT32_MAX;
    refused("repeat_last_n", o);
    o = plain();
    o.seed = -2;
    refused("seed", o);
    static const char *const empty[] = {"x", ""};
    o = plain();
    o.dry_breakers = empty;
    o.n_dry_breakers = 2;
    refused("text 1 is empty", o);
    o = plain();
    o.n_bias = 1;
    refused("n_bias", o);
    o.bias = &b;
    static const struct { int32_t id; float v; const char *text; } bad[] = {
        {-1, 1, "token -1"}, {10, 1, "token 10"}, {999999999, 1, "999999999"}, {3, NAN, "token 3"},
        {3, INFINITY, "token 3"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        b = (tl_logit_bias){bad[i].id, bad[i].v};
        refused(bad[i].text, o);
    }
    tl_error err = {0};
    CHECK(!tl_sampler_create(0, NULL, &err) && err.code == TL_E_ARGUMENT);
    tl_sampler_free(NULL);
    float one[1] = {-5};
    CHECK(pick_once(NULL, one, 1) == 0);
}

int main(void) {
    RUN(frequencies);
    RUN(frequencies_after_truncation);
    RUN(high_temperature_is_uniform);
    RUN(truncation_precedes_temperature);
    RUN(top_k_cases);
    RUN(top_p_cases);
    RUN(min_p_cases);
    RUN(greedy);
    RUN(infinities);
    RUN(nan_anywhere);
    RUN(large_vocabulary);
    RUN(top_p_without_top_k);
    RUN(seeds);
    RUN(generator);
    RUN(penalties);
    RUN(penalty_window);
    RUN(penalty_window_counts);
    RUN(bias);
    RUN(options);
    return tl_test_end();
}
