/* SPDX-License-Identifier: MIT
 * steps_test.c: the sampler's steps against plain, slow versions of their published definitions (tinyllm.h names the
 * papers) over random logits; their order; what is left of extremes. Where a candidate is so near a border that single
 * precision may decide, the case is left out and counted. */
#include "test.h"
#include "sample/steps.h"

#include <math.h>

enum { MAX_N = 700 };

static tl_rng rng;

static int below(int n) { return (int)(tl_rng_next(&rng) % (uint64_t)n); }
static double unit(void) { return tl_rng_double(&rng); }

/* Everything off but what the list names. */
static tl_sampler_options only(const char *samplers) {
    tl_sampler_options o = tl_sampler_options_default();
    o.temp = 1;
    o.seed = 7;
    o.samplers = samplers;
    return o;
}

/* Few or many tokens; flat, steep, tied or partly -inf. Returns how many. */
static int make_logits(float *x) {
    const int n = below(4) ? 1 + below(40) : 1 + below(MAX_N), kind = below(5);
    const double scale = kind == 0 ? 0.01 : kind == 1 ? 30 : 4;
    for (int i = 0; i < n; i++) {
        x[i] = (float)((unit() - 0.5) * scale);
        if (kind == 3) x[i] = (float)below(4);
        if (kind == 4 && i && below(3) == 0) x[i] = -INFINITY;
    }
    return n;
}

/* ---- the slow side: logits in double, sorted with the best first, and probabilities ---- */

typedef struct row { double logit, p; int id; } row;
typedef struct slow { row r[MAX_N]; int n; } slow;

static int by_logit(const void *a, const void *b) {
    const row *x = a, *y = b;
    return x->logit != y->logit ? (x->logit < y->logit ? 1 : -1) : x->id - y->id;
}

static void softmax(slow *s) {
    double sum = 0;
    for (int i = 0; i < s->n; i++) sum += s->r[i].p = exp(s->r[i].logit - s->r[0].logit);
    for (int i = 0; i < s->n; i++) s->r[i].p /= sum;
}

static void slow_from(slow *s, const float *x, int n) {
    s->n = 0;
    for (int i = 0; i < n; i++)
        if (x[i] > -INFINITY) s->r[s->n++] = (row){(double)x[i], 0, i};
    qsort(s->r, (size_t)s->n, sizeof *s->r, by_logit);
    softmax(s);
}

static double entropy(const slow *s) {
    double h = 0;
    for (int i = 0; i < s->n; i++)
        if (s->r[i].p > 0) h -= s->r[i].p * log(s->r[i].p);
    return h;
}

static int near(double a, double b) { return fabs(a - b) <= 2e-5 * (1 + fabs(a) + fabs(b)); }

/* Do the sampler's candidates hold the ids of s and no others? */
static int same_set(const tl_candidates *set, const slow *s) {
    int found = 0;
    for (int i = 0; i < set->n; i++)
        for (int j = 0; j < s->n; j++) found += set->c[i].id == s->r[j].id;
    for (int i = 1; i < set->n; i++)
        if (set->c[i - 1].id >= set->c[i].id) return 0;
    return set->n == s->n && found == s->n;
}

/* Cuts s as a step would; returns 0 where the border is too near to be told. */
typedef int slow_step(slow *s, double v);

static void against(const char *name, slow_step *cut, const double *values, int n_values, float *field, tl_sampler_options *o) {
    static float x[MAX_N];
    static slow s;
    int left_out = 0, cases = 0, cuts = 0;
    tl_rng_seed(&rng, 11);
    for (int i = 0; i < 1500; i++) {
        const double v = values[i % n_values];
        const int n = make_logits(x);
        slow_from(&s, x, n);
        const int all = s.n;
        cases++;
        if (!cut(&s, (double)(*field = (float)v))) {
            left_out++;
            continue;
        }
        tl_candidates set;
        tl_sampler *smp = tl_sampler_create(n, o, NULL);
        CHECK(smp && tl_sampler_candidates(smp, x, &set, NULL) == TL_OK);
        CHECKF(same_set(&set, &s), "%s %g of %d: %d, not %d", name, v, n, set.n, s.n);
        float best = -INFINITY;
        for (int j = 0; j < set.n; j++) best = fmaxf(best, set.c[j].logit);
        CHECK(best == set.best);
        cuts += s.n < all;
        tl_sampler_free(smp);
    }
    CHECKF(left_out < cases / 4 && cuts > cases / 10, "%s: %d of %d left out, %d cut", name, left_out, cases, cuts);
}

/* ---- truncations ---- */

static double shift_of(const row *r, double h) { return fabs(-log(r->p) - h); }

static int typical_cut(slow *s, double tau) {
    static row kept[MAX_N];
    const double h = entropy(s);
    int n = 0;
    double sum = 0;
    while (n < s->n && (n == 0 || sum < tau)) {   /* the next nearest, again and again; the lowest id on ties */
        int at = -1;
        for (int i = 0; i < s->n; i++) {
            if (s->r[i].p < 0) continue;
            const double d = at < 0 ? 0 : shift_of(&s->r[i], h) - shift_of(&s->r[at], h);
            if (at >= 0 && d != 0 && fabs(d) < 1e-5) return 0;
            if (at < 0 || d < 0 || (d == 0 && s->r[i].id < s->r[at].id)) at = i;
        }
        sum += s->r[at].p;
        if (fabs(sum - tau) < 1e-5) return 0;
        kept[n++] = s->r[at];
        s->r[at].p = -1;
    }
    memcpy(s->r, kept, (size_t)n * sizeof *kept);
    s->n = n;
    return 1;
}

static void typical_by_definition(void) {
    static const double taus[] = {0, 0.05, 0.2, 0.5, 0.9, 0.95, 0.99};
    tl_sampler_options o = only("typical");
    against("typical", typical_cut, taus, 7, &o.typical, &o);
    /* By hand: 0.6, 0.2, 0.1, 0.1 have an entropy of 1.09 nats and surprises of 0.51, 1.61, 2.3: 0.2 is nearest (0.52),
     * then 0.6 (0.58). */
    const float x[4] = {logf(0.6f), logf(0.2f), logf(0.1f), logf(0.1f)};
    static const struct { float tau; int n, first; } cases[] = {{0.1f, 1, 1}, {0.3f, 2, 0}, {0.85f, 3, 0}, {1, 4, 0}};
    for (int i = 0; i < 4; i++) {
        tl_candidates set;
        o.typical = cases[i].tau;
        tl_sampler *s = tl_sampler_create(4, &o, NULL);
        CHECK(tl_sampler_candidates(s, x, &set, NULL) == TL_OK && set.n == cases[i].n && set.c[0].id == cases[i].first);
        tl_sampler_free(s);
    }
}

static int sigma_cut(slow *s, double v) {
    double mean = 0, square = 0;
    for (int i = 0; i < s->n; i++) mean += s->r[i].logit;
    mean /= s->n;
    for (int i = 0; i < s->n; i++) square += pow(s->r[i].logit - mean, 2);
    const double floor = s->r[0].logit - v * sqrt(square / s->n);
    int n = 0;
    while (n < s->n && s->r[n].logit >= floor) n++;
    for (int i = 0; i < s->n; i++)
        if (i && fabs(s->r[i].logit - floor) < 1e-6) return 0;
    s->n = n;
    return 1;
}

static void top_n_sigma_by_definition(void) {
    static const double values[] = {0.001, 0.5, 1, 1.5, 3};
    tl_sampler_options o = only("top_n_sigma");
    against("top_n_sigma", sigma_cut, values, 5, &o.top_n_sigma, &o);
}

static int xtc_cut(slow *s, double threshold) {
    int n = 0;
    while (n < s->n && s->r[n].p >= threshold) n++;
    for (int i = 0; i < s->n; i++)
        if (near(s->r[i].p, threshold)) return 0;
    if (n < 2) return 1;
    memmove(s->r, s->r + n - 1, (size_t)(s->n - n + 1) * sizeof *s->r);
    s->n -= n - 1;
    return 1;
}

static void xtc_by_definition(void) {
    static const double values[] = {0, 0.001, 0.02, 0.1, 0.3, 0.49};
    tl_sampler_options o = only("xtc");
    o.xtc_probability = 1;
    against("xtc", xtc_cut, values, 6, &o.xtc_threshold, &o);
    /* How often it acts. */
    static const float x[3] = {3, 2.5f, -2};
    static const float p[] = {0, 0.3f, 1, 1}, threshold[] = {0.1f, 0.1f, 0.1f, 0.51f};
    for (int i = 0; i < 4; i++) {
        int first = 0;
        o.xtc_probability = p[i];
        o.xtc_threshold = threshold[i];
        tl_sampler *s = tl_sampler_create(3, &o, NULL);
        for (int j = 0; j < 4000; j++) {
            tl_candidates set;
            CHECK(tl_sampler_candidates(s, x, &set, NULL) == TL_OK);
            first += set.c[0].id == 0;
        }
        tl_sampler_free(s);
        const double acts = i == 3 ? 0 : (double)p[i];
        CHECKF(fabs(first / 4000. - (1 - acts)) < 0.03, "xtc acts in %g", 1 - first / 4000.);
    }
}

/* ---- temperature and Mirostat ---- */

static void dynamic_temperature_by_definition(void) {
    static float x[MAX_N];
    static slow s;
    tl_rng_seed(&rng, 5);
    for (int i = 0; i < 500; i++) {
        tl_sampler_options o = only("temp");
        o.temp = (float)(unit() * 2);
        o.dynatemp_range = (float)(0.01 + unit() * 2);
        o.dynatemp_exp = (float)(unit() * 3);
        const int n = make_logits(x);
        slow_from(&s, x, n);
        if (s.n < 2) continue;
        const double lo = fmax(0, (double)o.temp - (double)o.dynatemp_range), hi = (double)o.temp + (double)o.dynatemp_range;
        const double t = lo + (hi - lo) * pow(entropy(&s) / log(s.n), (double)o.dynatemp_exp);
        tl_candidates set;
        tl_sampler *smp = tl_sampler_create(n, &o, NULL);
        CHECK(tl_sampler_candidates(smp, x, &set, NULL) == TL_OK);
        CHECK(set.best == 0 && (t < 0.01 || set.n == s.n));
        for (int j = 0; j < set.n && t >= 0.01; j++) {
            const double want = ((double)x[set.c[j].id] - s.r[0].logit) / t;
            CHECKF(fabs(set.c[j].logit - want) < 1e-3 * (1 - want), "temperature %g: %g, not %g", t, (double)set.c[j].logit, want);
        }
        tl_sampler_free(smp);
    }
}

/* Follows a sampler through many picks with a mu of its own. */
static void mirostat_by_definition(void) {
    static float x[MAX_N];
    static slow s;
    tl_rng_seed(&rng, 13);
    for (int run = 0; run < 20; run++) {
        tl_sampler_options o = tl_sampler_options_default();   /* which truncates: mirostat must not */
        o.mirostat = 2;
        o.temp = 1;
        o.seed = run;
        o.mirostat_ent = run % 2 ? 2 : 5;
        o.mirostat_lr = run % 3 ? 0.1f : 0.7f;
        double mu = 2 * (double)o.mirostat_ent;
        const int n = 200;
        tl_sampler *smp = tl_sampler_create(n, &o, NULL);
        for (int i = 0; i < 100; i++) {
            const double steep = unit() * 12;
            for (int j = 0; j < n; j++) x[j] = (float)(unit() * steep);
            slow_from(&s, x, n);
            int kept = 0, close = 0;
            while (kept < s.n && -log2(s.r[kept].p) <= mu) kept++;
            for (int j = 0; j < s.n; j++) close |= fabs(-log2(s.r[j].p) - mu) < 1e-4;
            s.n = kept ? kept : 1;
            softmax(&s);
            const int32_t id = tl_sampler_pick(smp, x, NULL);
            double p = 0;
            for (int j = 0; j < s.n; j++)
                if (s.r[j].id == id) p = s.r[j].p;
            CHECKF(p > 0 || close, "run %d, step %d: a token beyond mu = %g", run, i, mu);
            mu -= (double)o.mirostat_lr * (-log2(p > 0 ? p : 1) - (double)o.mirostat_ent);
            if (close) mu = smp->mu;
            CHECKF(fabs(mu - smp->mu) < 1e-3, "run %d, step %d: mu %g, not %g", run, i, smp->mu, mu);
            mu = smp->mu;
        }
        tl_sampler_free(smp);
    }
}

/* ---- DRY ---- */

/* Tokens as texts: "<" and ">" make a breaker together, "b:" and "\n" are breakers alone. */
static const char *const texts[] = {"a", "b", "c", "<", ">", "b:", "\n", ""};
enum { TEXTS = 8, MAX_HISTORY = 300 };

static int text_of(const void *user, int32_t id, char *out, int cap) {
    const char *t = ((const char *const *)user)[id];
    for (int i = 0; t[i] && i < cap; i++) out[i] = t[i];
    return (int)strlen(t);
}

/* Does a breaker end in token i of the history? */
static int breaks_at(const int32_t *h, int i, const char *const *breaker, int n_breakers) {
    char all[2 * MAX_HISTORY + 1] = "";
    for (int j = 0; j < i; j++) strcat(all, texts[h[j]]);
    const size_t before = strlen(all);
    strcat(all, texts[h[i]]);
    for (int b = 0; b < n_breakers; b++)
        for (const char *p = all; (p = strstr(p, breaker[b])); p++)
            if ((size_t)(p - all) + strlen(breaker[b]) > before) return 1;
    return 0;
}

/* The penalty of token x from the history alone, as its author gives it: for every earlier place of x. */
static double dry_penalty(const tl_sampler_options *o, const int32_t *h, int n, int32_t x, const char *const *breaker, int n_breakers) {
    const int start = o->dry_penalty_last_n >= 0 && n > o->dry_penalty_last_n ? n - o->dry_penalty_last_n : 0;
    int longest = 0;
    for (int b = 0; b < n_breakers; b++)
        if (strstr(texts[x], breaker[b])) return 0;
    for (int i = start + 1; i < n; i++) {
        if (h[i] != x) continue;
        int len = 0;
        while (i - 1 - len >= start && h[i - 1 - len] == h[n - 1 - len] && !breaks_at(h, n - 1 - len, breaker, n_breakers)) len++;
        if (len > longest) longest = len;
    }
    if (longest < 1 || longest < o->dry_allowed_length) return 0;
    return fmin((double)o->dry_multiplier * pow((double)o->dry_base, longest - o->dry_allowed_length), 1e30);
}

static void dry_by_definition(void) {
    static const char *const own[] = {"\n", ":", "<>", "ca"};
    static const int windows[] = {-1, 1, 2, 5, 20, 1000};
    int32_t h[MAX_HISTORY];
    int penalized = 0;
    tl_rng_seed(&rng, 17);
    for (int round = 0; round < 60; round++) {
        tl_sampler_options o = only("dry");
        o.dry_multiplier = 0.8f;
        o.dry_allowed_length = round % 4;
        o.dry_penalty_last_n = windows[round % 6];
        o.dry_breakers = own;
        o.n_dry_breakers = round % 5;
        tl_sampler *s = tl_sampler_create(TEXTS, &o, NULL);
        CHECK(s && tl_sampler_set_texts(s, text_of, texts, NULL) == TL_OK);
        const int letters = 2 + below(TEXTS - 1);
        for (int n = 0; s && n < 60; n++) {
            const float x[TEXTS] = {0};
            tl_candidates set;
            CHECK(tl_sampler_candidates(s, x, &set, NULL) == TL_OK);
            for (int32_t id = 0; id < TEXTS; id++) {
                const double want = dry_penalty(&o, h, n, id, own, o.n_dry_breakers), got = -(double)s->edited[id];
                CHECKF(fabs(want - got) <= 1e-5 * want, "round %d, %d tokens: token %d gets %g, not %g", round, n, (int)id, got, want);
                penalized += want > 0;
            }
            /* Half of the time the text repeats itself. */
            h[n] = n > 8 && below(2) ? h[n - 1 - below(4)] : below(letters);
            tl_sampler_accept(s, h[n]);
        }
        tl_sampler_free(s);
    }
    CHECKF(penalized > 1000, "%d penalties", penalized);
}

/* A very long repetition bans its next token and no more: one that is alone is still drawn. */
static void dry_is_bounded(void) {
    static const float one[1] = {2}, two[2] = {2, -30};
    for (int n = 1; n <= 2; n++) {
        tl_sampler_options o = tl_sampler_options_default();
        o.temp = 0;
        o.dry_multiplier = 1e9f;
        o.dry_base = 1e9f;
        tl_sampler *s = tl_sampler_create(n, &o, NULL);
        for (int i = 0; i < 2000; i++) tl_sampler_accept(s, 0);
        CHECK(tl_sampler_pick(s, n == 1 ? one : two, NULL) == n - 1);
        tl_sampler_free(s);
    }
}

/* The usual breakers, and none. */
static void dry_usual_breakers(void) {
    static const char *const vocab[] = {"x", "\n", "y:", "say \"", "**", "z"};
    static const char *const none[] = {NULL};
    for (int b = 0; b < 6; b++) {
        for (int with = 0; with < 2; with++) {
            tl_sampler_options o = only("dry");
            const float x[6] = {0};
            tl_candidates set;
            o.dry_multiplier = 1;
            if (!with) o.dry_breakers = none;
            tl_sampler *s = tl_sampler_create(6, &o, NULL);
            CHECK(tl_sampler_set_texts(s, text_of, vocab, NULL) == TL_OK);
            static const int32_t h[] = {0, -1, 5, 0, -1};   /* x, the token tried, z, x, that token again: z would go on */
            for (int i = 0; i < 5; i++) tl_sampler_accept(s, h[i] < 0 ? b : h[i]);
            tl_sampler_candidates(s, x, &set, NULL);
            CHECKF((s->edited[5] < 0) == (!with || b == 0 || b == 5), "token %d: %g", b, (double)s->edited[5]);
            tl_sampler_free(s);
        }
    }
}

/* ---- order ---- */

/* Ids that are left, as bits. */
static unsigned left(tl_sampler_options o, const float *x, int n) {
    tl_candidates set = {0};
    tl_error err = {0};
    unsigned bits = 0;
    tl_sampler *s = tl_sampler_create(n, &o, &err);
    int rc = s ? tl_sampler_candidates(s, x, &set, &err) : err.code;
    CHECKF(rc >= 0, "%s", err.text);
    for (int i = 0; rc >= 0 && i < set.n; i++) bits |= 1u << set.c[i].id;
    tl_sampler_free(s);
    return bits;
}

static void order_matters(void) {
    static const float x[3] = {3, 2, 1};
    tl_sampler_options o = tl_sampler_options_default();
    o.top_p = 0.8f;
    o.temp = 0.5f;
    o.min_p = 0;
    CHECK(left(o, x, 3) == 3);
    static const struct { const char *list; unsigned want; } cases[] = {
        {"top_p,temp", 3}, {"temp,top_p", 1}, {"temperature;top-p", 1}, {" temp , nucleus", 1}, {"temp", 7}, {"", 7},
        {"min_p,top_k,temp", 7}, {"penalties,dry,top_n_sigma,top_k,typ_p,top_p,min_p,xtc,temperature", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        o.samplers = cases[i].list;
        CHECKF(left(o, x, 3) == cases[i].want, "\"%s\" leaves %x", cases[i].list, left(o, x, 3));
    }
    /* Penalties behind a truncation change what is left and bring nothing back. */
    o = tl_sampler_options_default();
    o.temp = 0;
    o.top_k = 2;
    o.presence_penalty = 5;
    for (int after = 0; after < 2; after++) {
        o.samplers = after ? "top_k,penalties,temp" : "penalties,top_k,temp";
        tl_sampler *s = tl_sampler_create(3, &o, NULL);
        for (int32_t id = 0; id < 2; id++) tl_sampler_accept(s, id);
        CHECK(tl_sampler_pick(s, x, NULL) == (after ? 0 : 2));
        tl_sampler_free(s);
    }
}

/* Temperature 0 leaves the best of those that reach it. */
static void greedy_behind_steps(void) {
    const float x[4] = {logf(0.6f), logf(0.2f), logf(0.1f), logf(0.1f)};
    tl_sampler_options o = tl_sampler_options_default();
    o.temp = 0;
    CHECK(left(o, x, 4) == 1);
    o.typical = 0.1f;
    CHECK(left(o, x, 4) == 2);
    o.typical = 1;
    o.xtc_probability = 1;
    o.xtc_threshold = 0.15f;
    CHECK(left(o, x, 4) == 2);
    o.dynatemp_range = 1;   /* a range of temperatures is not 0 */
    CHECK(left(o, x, 4) == 14);
}

/* Top-k's shortcut through blocks of a large vocabulary is taken only where nothing else has looked at all tokens. */
static void top_k_behind_others(void) {
    static float x[MAX_N];
    static slow s;
    tl_rng_seed(&rng, 23);
    for (int i = 0; i < 200; i++) {
        const int n = MAX_N;
        for (int j = 0; j < n; j++) x[j] = (float)(unit() * 8);
        tl_sampler_options o = tl_sampler_options_default();
        const int k = 1 + below(9);
        o.top_k = k;
        o.typical = 0.3f;
        o.samplers = i % 2 ? "typical,top_k" : "top_k,typical";
        slow_from(&s, x, n);
        int sure = 1;
        if (i % 2) sure = typical_cut(&s, (double)o.typical);
        qsort(s.r, (size_t)s.n, sizeof *s.r, by_logit);
        s.n = s.n < k ? s.n : k;
        softmax(&s);
        if (i % 2 == 0) sure = typical_cut(&s, (double)o.typical);
        tl_candidates set;
        tl_sampler *smp = tl_sampler_create(n, &o, NULL);
        CHECK(tl_sampler_candidates(smp, x, &set, NULL) == TL_OK && (!sure || same_set(&set, &s)));
        tl_sampler_free(smp);
    }
}

static void lists_refused(void) {
    static const char *const bad[] = {"foo", "top_k,foo", "top_k,top-k", "typ_p,typical", ",", "top_k,", ";temp", "top_k temp", "Top_k", "temp,,top_k", "bias"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tl_sampler_options o = only(bad[i]);
        tl_error err = {0};
        tl_sampler *s = tl_sampler_create(3, &o, &err);
        CHECKF(!s && err.code == TL_E_ARGUMENT, "\"%s\" is taken", bad[i]);
        CHECKF(strstr(err.text, "twice") || strstr(err.text, "penalties, dry, top_n_sigma"), "%s", err.text);
        tl_sampler_free(s);
    }
}

/* ---- extremes ---- */

static const char *random_list(char *text) {
    const tl_sample_step *steps[TL_MAX_STEPS];
    int n = 0;
    for (const tl_sample_step *st = tl_sample_steps; st->name; st++)
        if (below(3)) steps[n++] = st;
    text[0] = 0;
    while (n) {
        const int at = below(n);
        strcat(strcat(text, text[0] ? "," : ""), steps[at]->name);
        steps[at] = steps[--n];
    }
    return text;
}

static float one_of(const float *v, int n) { return v[below(n)]; }
#define ONE_OF(...) one_of((const float[]){__VA_ARGS__}, (int)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float)))

/* Whatever the options, the order and the logits are: a token above -inf, or an error where there is none. */
static void anything_goes(void) {
    float x[130];
    char list[200];
    tl_rng_seed(&rng, 29);
    for (int i = 0; i < 4000; i++) {
        const int n = below(3) ? 1 + below(4) : 1 + below(130), odd = below(6);
        for (int j = 0; j < n; j++) {
            x[j] = odd == 0 ? 1 : (float)((unit() - 0.5) * 20);
            if (odd == 1 && below(2)) x[j] = -INFINITY;
            if (odd == 2 && below(9) == 0) x[j] = INFINITY;
            if (odd == 3) x[j] *= 3e37f;
        }
        tl_sampler_options o = tl_sampler_options_default();
        o.seed = i;
        o.samplers = below(4) ? random_list(list) : NULL;
        o.temp = ONE_OF(0, 1e-30f, 0.8f, 1e9f);
        o.top_k = below(4);
        o.top_p = ONE_OF(0, 0.5f, 1);
        o.min_p = ONE_OF(0, 0.1f, 1);
        o.typical = ONE_OF(0, 0.5f, 1);
        o.top_n_sigma = ONE_OF(-1, 1e-9f, 1, 1e9f);
        o.xtc_probability = ONE_OF(0, 0.5f, 1);
        o.xtc_threshold = ONE_OF(0, 0.1f, 0.5f, 1);
        o.dry_multiplier = ONE_OF(0, 1, 1e9f);
        o.dry_base = ONE_OF(1, 1.75f, 1e9f);
        o.mirostat = 2 * below(2);
        o.mirostat_lr = ONE_OF(0, 0.1f, 1e9f);
        o.mirostat_ent = ONE_OF(0, 5, 1e9f);
        o.dynatemp_range = ONE_OF(0, 0.5f, 1e9f);
        o.dynatemp_exp = ONE_OF(0, 1, 1e9f);
        o.presence_penalty = ONE_OF(0, 1, -1, 3e38f);
        o.repeat_penalty = ONE_OF(1, 1.3f, 1e-30f);
        tl_error err = {0};
        tl_sampler *s = tl_sampler_create(n, &o, &err);
        CHECKF(s, "%s", err.text);
        for (int j = 0; s && j < 6; j++) {
            const int32_t id = tl_sampler_pick(s, x, &err);
            if (id < 0) CHECKF(strstr(err.text, "-inf") || o.presence_penalty != 0, "case %d, %s: %s", i, o.samplers, err.text);
            else CHECKF(id < n && x[id] > -INFINITY, "case %d: token %d", i, (int)id);
            if (id < 0) break;
        }
        tl_sampler_free(s);
    }
}

int main(void) {
    RUN(typical_by_definition);
    RUN(top_n_sigma_by_definition);
    RUN(xtc_by_definition);
    RUN(dynamic_temperature_by_definition);
    RUN(mirostat_by_definition);
    RUN(dry_by_definition);
    RUN(dry_is_bounded);
    RUN(dry_usual_breakers);
    RUN(order_matters);
    RUN(greedy_behind_steps);
    RUN(top_k_behind_others);
    RUN(lists_refused);
    RUN(anything_goes);
    return tl_test_end();
}
