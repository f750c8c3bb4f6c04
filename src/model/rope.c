/* SPDX-License-Identifier: MIT
 *
 * rope.c: how fast the pairs of a head turn. YaRN (Peng et al., "YaRN: Efficient Context Window Extension of Large
 * Language Models", 2023) keeps pairs that turn often within the original context, scales those that hardly turn, and
 * goes over from one to the other in a straight line over the pairs between. */
#include "model/hparams.h"

#include <math.h>

/* The pair (a real number) that makes this many turns within the original context. */
static double pair_of_turns(const tl_rope *r, int n_rot, double turns) {
    return n_rot * log((double)r->n_ctx_orig / (turns * 6.283185307179586)) / (2 * log(r->base));
}

/* How much of the scaled angle a pair takes, 0 to 1. */
static double scaled_part(const tl_rope *r, int n_rot, int pair) {
    if (!r->yarn) return 1;
    double first = pair_of_turns(r, n_rot, r->yarn_fast), last = pair_of_turns(r, n_rot, r->yarn_slow);
    if (!r->yarn_exact) first = floor(first), last = ceil(last);
    first = fmax(0, first), last = fmin(n_rot - 1, last);
    return fmin(1, fmax(0, (pair - first) / fmax(0.001, last - first)));
}

double tl_rope_frequency(const tl_rope *r, int n_rot, int pair, int n_ctx) {
    const float *factor = r->long_factor && n_ctx > r->n_ctx_orig ? r->long_factor : r->factor;
    double f = pow(r->base, -2.0 * pair / n_rot), part = scaled_part(r, n_rot, pair);
    f *= part < 1 ? r->scale * part + (1 - part) : r->scale;
    return factor ? f / (double)factor[pair] : f;
}
