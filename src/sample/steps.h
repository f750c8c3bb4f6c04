/* SPDX-License-Identifier: MIT
 *
 * steps.h: what sample.c and the steps share: the sampler's state, the set of candidates, the table of steps. */
#ifndef TL_STEPS_H
#define TL_STEPS_H

#include "base/rng.h"
#include "sample/dry.h"
#include "sample/sample.h"

typedef struct tl_candidate {
    float logit;            /* above -inf */
    float weight;           /* scratch of a step: what it counts */
    int32_t id;
} tl_candidate;

/* Candidates in rising id; never empty. best is the largest logit, finite; a step that changes logits keeps it true. */
typedef struct tl_candidates { tl_candidate *c; int n; float best; } tl_candidates;

typedef struct tl_sample_step {
    const char *name, *aliases;   /* aliases: separated by commas */
    int keeps_best;
    int (*on)(const tl_sampler *s);
    void (*edit)(const tl_sampler *s, float *x);              /* one of the two is NULL */
    void (*step)(tl_sampler *s, tl_candidates *set);
} tl_sample_step;

enum { TL_MAX_STEPS = 16 };

/* Steps in their default order; the last name is NULL. */
extern const tl_sample_step tl_sample_steps[];

/* The steps that act, in their order. */
typedef struct tl_sample_chain {
    const tl_sample_step *step[TL_MAX_STEPS];
    int n;
    int n_lead;             /* edits before the first other step: they see all logits */
    int edits;              /* is there any edit? */
    int top_k_first;        /* top-k is the first step behind those edits */
    int greedy;             /* the best logit after those edits is all that can be left */
} tl_sample_chain;

struct tl_sampler {
    tl_sampler_options o;   /* o.bias is the sampler's own copy; o.samplers and o.dry_breakers are not kept */
    int n_vocab;
    int64_t seed;
    tl_rng rng;
    tl_sample_chain chain;
    float *edited;          /* [n_vocab] logits after bias and edits; NULL if there are none */
    float *block_max;       /* [ceil(n_vocab / block)] */
    tl_candidate *cand;     /* [n_vocab] */
    tl_candidate *order;    /* [n_vocab] scratch of whoever looks for a border */

    /* The window of the penalties; absent (count == NULL) where none is on. recent is a ring of the last n_recent
     * tokens, not kept where the window is everything. seen lists the distinct tokens of the window. */
    int32_t *recent, *count, *seen, *seen_at;
    int n_recent, n_seen, recent_at;

    tl_dry *dry;            /* NULL: off */
    double mu;              /* mirostat's: the largest surprise that stays, in bits */
};

/* Fills s->chain from the options: those of the list (NULL: the default one) that are on. */
int tl_sample_chain_make(tl_sampler *s, const char *list, tl_error *err);

/* What the steps leave of the logits [n_vocab], before the draw. Returns TL_OK, or TL_DECIDED where the set holds one
 * candidate and nothing is to be drawn, or an error. */
enum { TL_DECIDED = 1 };
int tl_sampler_candidates(tl_sampler *s, const float *logits, tl_candidates *set, tl_error *err);

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
/* Gives each candidate its probability times the sum that is returned; the best one weighs 1. */
double tl_candidates_weigh(tl_candidates *set);
/* Leaves the best candidate, the lowest id on ties, alone. */
void tl_candidates_keep_best(tl_candidates *set);

#endif
