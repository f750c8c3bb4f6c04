/* SPDX-License-Identifier: MIT
 *
 * steps.c: the steps of steps.def. Every truncation finds a border and drops the candidates behind it, which leaves the
 * set in rising id and, since the border itself stays, never empty. No step sorts: with 262144 candidates and top-k off,
 * finding the border is a weighted quickselect. The formulas are those of tinyllm.h. */
#include "sample/steps.h"

#include <math.h>
#include <string.h>

static void swap(tl_candidate *a, tl_candidate *b) {
    tl_candidate t = *a;
    *a = *b;
    *b = t;
}

tl_candidate tl_candidate_border(tl_candidate *c, int n, double target) {
    int lo = 0, hi = n;        /* the border is in [lo, hi); target is what is still wanted from lo on */
    uint32_t mix = 1;          /* pivots are scattered, so that no order of logits is slow by nature */
    for (;;) {
        mix = mix * 1664525u + 1013904223u;
        int last = hi - 1, j = lo;
        swap(&c[lo + (int)((uint64_t)mix * (uint32_t)(hi - lo) >> 32)], &c[last]);
        const tl_candidate pivot = c[last];
        double front = 0;
        for (int i = lo; i < last; i++) {
            if (!tl_candidate_before(&c[i], &pivot)) continue;
            front += c[i].weight;
            swap(&c[i], &c[j++]);
        }
        swap(&c[j], &c[last]);
        if (j > lo && front >= target) {
            hi = j;
        } else if (front + pivot.weight >= target || j == last) {
            return pivot;
        } else {
            target -= front + pivot.weight;
            lo = j + 1;
        }
    }
}

/* Keeps the fewest first candidates whose weights reach target. */
static void keep_first(tl_sampler *s, tl_candidates *set, double target) {
    memcpy(s->order, set->c, (size_t)set->n * sizeof *set->c);
    tl_candidate border = tl_candidate_border(s->order, set->n, target);
    int kept = 0;
    for (int i = 0; i < set->n; i++) {
        if (!tl_candidate_before(&border, &set->c[i])) set->c[kept++] = set->c[i];
    }
    set->n = kept;
}

double tl_candidates_weigh(tl_candidates *set) {
    double sum = 0;
    for (int i = 0; i < set->n; i++) sum += set->c[i].weight = expf(set->c[i].logit - set->best);
    return sum;
}

void tl_candidates_keep_best(tl_candidates *set) {
    int i = 0;
    while (set->c[i].logit != set->best) i++;
    set->c[0] = set->c[i];
    set->n = 1;
}

/* Puts a candidate of the set's own memory back into it. */
static void keep(tl_candidates *set, tl_candidate c) {
    set->c[set->n++] = c;
    if (c.logit > set->best) set->best = c.logit;
}

/* ---- edits ---- */

static int penalties_on(const tl_sampler *s) { return tl_sampler_penalizes(s); }

static void penalties_edit(const tl_sampler *s, float *x) {
    const float repeat = s->o.repeat_penalty;
    for (int i = 0; i < s->n_seen; i++) {
        float *l = &x[s->seen[i]];
        *l = *l > 0 ? *l / repeat : *l * repeat;
        *l -= s->o.presence_penalty + s->o.frequency_penalty * (float)s->count[s->seen[i]];
    }
}

static int dry_on(const tl_sampler *s) { return s->o.dry_multiplier > 0 && s->o.dry_penalty_last_n != 0; }

static void dry_edit(const tl_sampler *s, float *x) { tl_dry_edit(s->dry, x); }

/* ---- truncations by rank and by probability ---- */

static int top_n_sigma_on(const tl_sampler *s) { return s->o.top_n_sigma > 0; }

static void top_n_sigma_step(tl_sampler *s, tl_candidates *set) {
    double mean = 0, square = 0;
    for (int i = 0; i < set->n; i++) mean += (double)set->c[i].logit / set->n;
    for (int i = 0; i < set->n; i++) square += (set->c[i].logit - mean) * (set->c[i].logit - mean) / set->n;
    const double floor = set->best - s->o.top_n_sigma * sqrt(square);
    int kept = 0;
    for (int i = 0; i < set->n; i++) {
        if (set->c[i].logit >= floor) set->c[kept++] = set->c[i];
    }
    set->n = kept;
}

static int top_k_on(const tl_sampler *s) { return s->o.top_k > 0; }

static void top_k_step(tl_sampler *s, tl_candidates *set) {
    if (s->o.top_k >= set->n) return;
    for (int i = 0; i < set->n; i++) set->c[i].weight = 1;
    keep_first(s, set, s->o.top_k);
}

static int typical_on(const tl_sampler *s) { return s->o.typical < 1; }

/* In nats, of candidates that weigh sum. */
static double entropy_of(const tl_candidates *set, double sum) {
    double entropy = log(sum);
    for (int i = 0; i < set->n; i++) {
        if (set->c[i].weight > 0) entropy -= set->c[i].weight / sum * ((double)set->c[i].logit - set->best);
    }
    return entropy;
}

/* A rank by the distance of a candidate's surprise from the entropy, in nats: the nearest first. log_sum turns logits
 * (as distances from the best) into logarithms of probabilities. */
static tl_candidate typical_rank(const tl_candidates *set, int i, double log_sum, double entropy) {
    const double surprise = log_sum - ((double)set->c[i].logit - set->best);
    return (tl_candidate){(float)-fabs(surprise - entropy), set->c[i].weight, set->c[i].id};
}

static void typical_step(tl_sampler *s, tl_candidates *set) {
    const double sum = tl_candidates_weigh(set), log_sum = log(sum), entropy = entropy_of(set, sum);
    for (int i = 0; i < set->n; i++) s->order[i] = typical_rank(set, i, log_sum, entropy);
    const tl_candidate border = tl_candidate_border(s->order, set->n, s->o.typical * sum);
    const tl_candidates before = *set;
    set->n = 0;
    set->best = -INFINITY;
    for (int i = 0; i < before.n; i++) {
        const tl_candidate rank = typical_rank(&before, i, log_sum, entropy);
        if (!tl_candidate_before(&border, &rank)) keep(set, before.c[i]);
    }
}

static int top_p_on(const tl_sampler *s) { return s->o.top_p < 1; }

/* Probabilities are those among the candidates left by the steps before. A candidate below (1 - p) / n of the sum can go
 * at once: all n of that kind together are less than what top-p leaves out. */
static void top_p_step(tl_sampler *s, tl_candidates *set) {
    const double sum = tl_candidates_weigh(set);
    const double least = fmin((1 - (double)s->o.top_p) * sum / set->n, 1);   /* the best one weighs 1 */
    int kept = 0;
    for (int i = 0; i < set->n; i++) {
        if (set->c[i].weight >= least) set->c[kept++] = set->c[i];
    }
    set->n = kept;
    keep_first(s, set, s->o.top_p * sum);
}

static int min_p_on(const tl_sampler *s) { return s->o.min_p > 0; }

static void min_p_step(tl_sampler *s, tl_candidates *set) {
    const float floor = set->best + logf(s->o.min_p);
    int kept = 0;
    for (int i = 0; i < set->n; i++) {
        if (set->c[i].logit >= floor) set->c[kept++] = set->c[i];
    }
    set->n = kept;
}

static int xtc_on(const tl_sampler *s) { return s->o.xtc_probability > 0 && s->o.xtc_threshold <= 0.5f; }

/* Draws a number at each pick, whatever the candidates are. Two candidates can both reach 0.5, more cannot. */
static void xtc_step(tl_sampler *s, tl_candidates *set) {
    if (tl_rng_double(&s->rng) >= s->o.xtc_probability) return;
    const double least = s->o.xtc_threshold * tl_candidates_weigh(set);
    int last = -1;   /* of those that reach the threshold, the one that stays */
    for (int i = 0; i < set->n; i++) {
        if (set->c[i].weight >= least && (last < 0 || tl_candidate_before(&set->c[last], &set->c[i]))) last = i;
    }
    if (last < 0) return;
    const tl_candidates before = *set;
    const tl_candidate stays = before.c[last];
    set->n = 0;
    set->best = -INFINITY;
    for (int i = 0; i < before.n; i++) {
        if (before.c[i].weight < least || before.c[i].id == stays.id) keep(set, before.c[i]);
    }
}

/* ---- temperature ---- */

static int temp_on(const tl_sampler *s) { return s != NULL; }

/* The entropy of the candidates, as a part of the largest that so many can have, chooses a temperature of the range. */
static float dynamic_temp(const tl_sampler *s, tl_candidates *set) {
    const double lo = fmax(0, (double)s->o.temp - s->o.dynatemp_range), hi = (double)s->o.temp + s->o.dynatemp_range;
    if (set->n == 1) return s->o.temp;
    const double sum = tl_candidates_weigh(set);
    const double part = fmin(fmax(entropy_of(set, sum) / log(set->n), 0), 1);
    return (float)(lo + (hi - lo) * pow(part, s->o.dynatemp_exp));
}

/* As a distance from the best, so that a tiny temperature ends in -inf, and such candidates go, and never in inf - inf. */
static void temp_step(tl_sampler *s, tl_candidates *set) {
    const float temp = s->o.dynatemp_range > 0 ? dynamic_temp(s, set) : s->o.temp, best = set->best;
    if (temp == 0) tl_candidates_keep_best(set);
    int kept = 0;
    for (int i = 0; i < set->n; i++) {
        set->c[i].logit = set->n > 1 ? (set->c[i].logit - best) / temp : 0;
        if (set->c[i].logit > -INFINITY) set->c[kept++] = set->c[i];
    }
    set->n = kept;
    set->best = 0;
}

static int mirostat_on(const tl_sampler *s) { return s->o.mirostat == 2; }

/* The draw measures the surprise of what it drew and moves mu. */
static void mirostat_step(tl_sampler *s, tl_candidates *set) {
    const double floor = log2(tl_candidates_weigh(set)) - s->mu;   /* of a logit's distance from the best, in bits */
    int kept = 0;
    for (int i = 0; i < set->n; i++) {
        if (((double)set->c[i].logit - set->best) / log(2) >= floor) set->c[kept++] = set->c[i];
    }
    if (kept) set->n = kept;
    else tl_candidates_keep_best(set);
}

const tl_sample_step tl_sample_steps[] = {
#define EDIT(name, aliases) {#name, aliases, 1, name##_on, name##_edit, NULL},
#define KEEP(name, aliases) {#name, aliases, 1, name##_on, NULL, name##_step},
#define STEP(name, aliases) {#name, aliases, 0, name##_on, NULL, name##_step},
#include "sample/steps.def"
#undef EDIT
#undef KEEP
#undef STEP
    {0},
};
