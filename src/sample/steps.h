/* SPDX-License-Identifier: MIT
 *
 * steps.h: what sample.c and the steps share: the sampler's state, the set of candidates, the table of steps. */
#ifndef TL_STEPS_H
#define TL_STEPS_H

#include "base/rng.h"
#include "sample/sample.h"

typedef struct tl_candidate {
    float logit;            /* above -inf */
    float weight;           /* scratch of a step: what it counts */
    int32_t id;
} tl_candidate;

/* Candidates in rising id; never empty. best is the largest logit, finite; a step that changes logits keeps it true. */
typedef struct tl_candidates { tl_candidate *c; int n; float best; } tl_candidates;

struct tl_sampler {
    tl_sampler_options o;   /* o.bias is the sampler's own copy */
    int n_vocab;
    int64_t seed;
    tl_rng rng;
    float *edited;          /* [n_vocab] logits after the edits; NULL if no edit is on */
    float *block_max;       /* [ceil(n_vocab / block)] */
    tl_candidate *cand;     /* [n_vocab] */
    tl_candidate *order;    /* [n_vocab] scratch of whoever looks for a border */

    /* The window of the penalties; absent (count == NULL) where none is on. recent is a ring of the last n_recent
     * tokens, not kept where the window is everything. seen lists the distinct tokens of the window. */
    int32_t *recent, *count, *seen, *seen_at;
    int n_recent, n_seen, recent_at;
};

typedef struct tl_sample_step {
    const char *name;
    int (*on)(const tl_sampler *s);
    void (*edit)(const tl_sampler *s, float *x);
    void (*step)(tl_sampler *s, tl_candidates *set);
} tl_sample_step;

/* Steps in their order; the last name is NULL. */
extern const tl_sample_step tl_sample_steps[];

static inline int tl_sampler_penalizes(const tl_sampler *s) {
    return s->o.repeat_last_n != 0 &&
           (s->o.repeat_penalty != 1 || s->o.presence_penalty != 0 || s->o.frequency_penalty != 0);
}

/* A total order: the larger logit first, the lower id on ties. */
static inline int tl_candidate_before(const tl_candidate *a, const tl_candidate *b) {
    return a->logit > b->logit || (a->logit == b->logit && a->id < b->id);
}
/* The last of the fewest first candidates of c whose weights reach target: at least the first, at most all.
 * Expected time O(n). Changes the order of c. */
tl_candidate tl_candidate_border(tl_candidate *c, int n, double target);

#endif
