/* SPDX-License-Identifier: MIT
 *
 * logprobs.c: log-probabilities of tinyllm.h: log p = logit - log(sum of exp of all logits), with the largest logit taken
 * out of the sum, which is in double. */
#include <math.h>
#include "base/base.h"

/* Puts one into top [n], which is sorted; the last one falls out. Later ids come after equal ones. */
static void insert(tl_logprob *top, int n, int32_t id, double logit) {
    int at = n - 1;
    if (at < 0 || (top[at].id >= 0 && top[at].logprob >= logit)) return;
    for (; at > 0 && (top[at - 1].id < 0 || top[at - 1].logprob < logit); at--) top[at] = top[at - 1];
    top[at] = (tl_logprob){id, logit};
}

double tl_logprobs(const float *logits, int n_vocab, int32_t id, tl_logprob *top, int n_top) {
    if (!top || n_top < 0) n_top = 0;
    for (int i = 0; i < n_top; i++) top[i] = (tl_logprob){-1, (double)NAN};
    if (!logits || n_vocab < 1) return (double)NAN;
    double best = -INFINITY, sum = 0;
    for (int i = 0; i < n_vocab; i++) {
        best = fmax(best, (double)logits[i]);
        insert(top, n_top, i, (double)logits[i]);
    }
    for (int i = 0; i < n_vocab; i++) sum += exp((double)logits[i] - best);
    const double all = best + log(sum);
    for (int i = 0; i < n_top; i++) top[i].logprob -= all;
    return id >= 0 && id < n_vocab ? (double)logits[id] - all : (double)NAN;
}
