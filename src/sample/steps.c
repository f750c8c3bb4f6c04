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

static int bias_on(const tl_sampler *s) { return s->o.n_bias > 0; }

static void bias_edit(const tl_sampler *s, float *x) {
    for (int i = 0; i < s->o.n_bias; i++) x[s->o.bias[i].id] += s->o.bias[i].bias;
}

static int penalties_on(const tl_sampler *s) { return tl_sampler_penalizes(s); }

static void penalties_edit(const tl_sampler *s, float *x) {
    const float repeat = s->o.repeat_penalty;
    for (int i = 0; i < s->n_seen; i++) {
        float *l = &x[s->seen[i]];
        *l = *l > 0 ? *l / repeat : *l * repeat;
        *l -= s->o.presence_penalty + s->o.frequency_penalty * (float)s->count[s->seen[i]];
    }
}

static void top_k_step(tl_sampler *s, tl_candidates *set) {
    if (s->o.top_k <= 0 || s->o.top_k >= set->n) return;
    for (int i = 0; i < set->n; i++) set->c[i].weight = 1;
    keep_first(s, set, s->o.top_k);
}

/* Probabilities are those among the candidates left by the steps before. A candidate below (1 - p) / n of the sum can go
 * at once: all n of that kind together are less than what top-p leaves out. */
static void top_p_step(tl_sampler *s, tl_candidates *set) {
    if (s->o.top_p >= 1) return;
    double sum = 0;
    for (int i = 0; i < set->n; i++) sum += set->c[i].weight = expf(set->c[i].logit - set->best);
    const double least = fmin((1 - (double)s->o.top_p) * sum / set->n, 1);   /* the best one weighs 1 */
    int kept = 0;
    for (int i = 0; i < set->n; i++) {
        if (set->c[i].weight >= least) set->c[kept++] = set->c[i];
    }
    set->n = kept;
    keep_first(s, set, s->o.top_p * sum);
}

static void min_p_step(tl_sampler *s, tl_candidates *set) {
    if (s->o.min_p <= 0) return;
    const float floor = set->best + logf(s->o.min_p);
    int kept = 0;
    for (int i = 0; i < set->n; i++) {
        if (set->c[i].logit >= floor) set->c[kept++] = set->c[i];
    }
    set->n = kept;
}

/* As a distance from the best, so that a tiny temperature ends in -inf and never in inf - inf. */
static void temp_step(tl_sampler *s, tl_candidates *set) {
    for (int i = 0; i < set->n; i++) set->c[i].logit = (set->c[i].logit - set->best) / s->o.temp;
    set->best = 0;
}

const tl_sample_step tl_sample_steps[] = {
#define EDIT(name) {#name, name##_on, name##_edit, NULL},
#define STEP(name) {#name, NULL, NULL, name##_step},
#include "sample/steps.def"
#undef EDIT
#undef STEP
    {NULL, NULL, NULL, NULL},
};
