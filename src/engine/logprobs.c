/* SPDX-License-Identifier: MIT
 *
 * logprobs.c: log-probabilities of tinyllm.h: log p = logit - log(sum of exp of all logits). */
#include <math.h>
#include "model/model.h"

/* Puts one into top [n], which is sorted; the last one falls out. Later ids come after equal ones. */
static void insert(tl_logprob *top, int n, int32_t id, double logit) {
    int at = n - 1;
    for (; at > 0 && (top[at - 1].id < 0 || top[at - 1].logprob < logit); at--) top[at] = top[at - 1];
    top[at] = (tl_logprob){id, logit};
}

double tl_logprobs(const tl_model *m, const float *logits, int32_t id, tl_logprob *top, int n_top) {
    if (!top || n_top < 0) n_top = 0;
    for (int i = 0; i < n_top; i++) top[i] = (tl_logprob){-1, (double)NAN};
    if (!m || !logits) return (double)NAN;
    const int n_vocab = m->arch ? m->hp.n_vocab : (int)tl_tokenizer_n(m->tok);
    for (int i = 0; i < n_vocab && n_top; i++)
        if (top[n_top - 1].id < 0 || (double)logits[i] > top[n_top - 1].logprob) insert(top, n_top, i, (double)logits[i]);
    double all = m->k.log_sum_exp(logits, n_vocab);
    if (all == INFINITY) all = (double)NAN;
    for (int i = 0; i < n_top; i++) top[i].logprob -= all;
    return id >= 0 && id < n_vocab ? (double)logits[id] - all : (double)NAN;
}
