/* SPDX-License-Identifier: MIT
 *
 * sample.c: the sampler of tinyllm.h: checks the options, keeps the window of recent tokens, turns logits into a set of
 * candidates, runs the steps of its chain over it and draws. All memory is allocated at creation.
 *
 * A candidate has a logit above -inf, so a token at -inf is never drawn. A logit of +inf (a bias or the model's own)
 * wins outright, the lowest id if there are several: no probabilities exist beside it. */
#include "sample/steps.h"

#include <math.h>
#include <string.h>

/* Logits are scanned in blocks: a first pass finds the maximum of each and any NaN, and the later ones open only blocks
 * that can hold a candidate. */
enum { BLOCK = 64, LANES = 8, MAX_WINDOW = 1 << 20 };

tl_sampler_options tl_sampler_options_default(void) {
    return (tl_sampler_options){
        .temp = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .repeat_penalty = 1, .repeat_last_n = 64, .seed = -1,
        .typical = 1, .xtc_threshold = 0.1f, .dry_base = 1.75f, .dry_allowed_length = 2, .dry_penalty_last_n = -1,
        .mirostat_lr = 0.1f, .mirostat_ent = 5, .dynatemp_exp = 1,
    };
}

/* ---- creation ---- */

static int check_number(const char *name, double v, int good, const char *wanted, tl_error *err) {
    if (isfinite(v) && good) return TL_OK;
    /* %g would write a large count as 1e+08. */
    const int digits = fabs(v) < 1e15 && v == floor(v) ? 15 : 6;
    return tl_fail(err, TL_E_ARGUMENT, "sampler: %s is %.*g; it must be %s", name, digits, v, wanted);
}

static int check_options(const tl_sampler_options *o, int n_vocab, tl_error *err) {
    const struct { const char *name; double value; int good; const char *wanted; } rule[] = {
        {"temp", o->temp, o->temp >= 0, "a number from 0 (greedy) up"},
        {"top_p", o->top_p, o->top_p >= 0, "a number from 0 up (1: off)"},
        {"min_p", o->min_p, o->min_p >= 0 && o->min_p <= 1, "from 0 (off) to 1"},
        {"repeat_penalty", o->repeat_penalty, o->repeat_penalty > 0, "a number above 0 (1: off)"},
        {"presence_penalty", o->presence_penalty, 1, "a finite number (0: off)"},
        {"frequency_penalty", o->frequency_penalty, 1, "a finite number (0: off)"},
        {"repeat_last_n", o->repeat_last_n, o->repeat_last_n >= -1 && o->repeat_last_n <= MAX_WINDOW,
         "from 0 (none) to 1048576, or -1 for all"},
        {"seed", (double)o->seed, o->seed >= -1, "from 0 up, or -1 for one from the system"},
        {"typical", o->typical, o->typical >= 0, "a number from 0 up (1: off)"},
        {"top_n_sigma", o->top_n_sigma, 1, "a finite number (0 and below: off)"},
        {"xtc_probability", o->xtc_probability, o->xtc_probability >= 0 && o->xtc_probability <= 1, "from 0 (off) to 1"},
        {"xtc_threshold", o->xtc_threshold, o->xtc_threshold >= 0 && o->xtc_threshold <= 1, "from 0 to 1 (above 0.5: off)"},
        {"dry_multiplier", o->dry_multiplier, o->dry_multiplier >= 0, "a number from 0 (off) up"},
        {"dry_base", o->dry_base, o->dry_base >= 1, "a number from 1 up"},
        {"dry_allowed_length", o->dry_allowed_length, o->dry_allowed_length >= 0, "from 0 up"},
        {"dry_penalty_last_n", o->dry_penalty_last_n, o->dry_penalty_last_n >= -1 && o->dry_penalty_last_n <= MAX_WINDOW,
         "from 0 (none) to 1048576, or -1 for all"},
        {"n_dry_breakers", o->n_dry_breakers, o->n_dry_breakers >= 0 && (o->n_dry_breakers == 0 || o->dry_breakers),
         "the number of texts in dry_breakers"},
        {"mirostat", o->mirostat, o->mirostat == 0 || o->mirostat == 2, "0 (off) or 2"},
        {"mirostat_lr", o->mirostat_lr, o->mirostat_lr >= 0, "a number from 0 up"},
        {"mirostat_ent", o->mirostat_ent, o->mirostat_ent >= 0, "a number from 0 up"},
        {"dynatemp_range", o->dynatemp_range, o->dynatemp_range >= 0, "a number from 0 (off) up"},
        {"dynatemp_exp", o->dynatemp_exp, o->dynatemp_exp >= 0, "a number from 0 up"},
        {"n_bias", o->n_bias, o->n_bias >= 0 && (o->n_bias == 0 || o->bias), "the number of entries in bias"},
    };
    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++) {
        int rc = check_number(rule[i].name, rule[i].value, rule[i].good, rule[i].wanted, err);
        if (rc != TL_OK) return rc;
    }
    for (int i = 0; i < o->n_dry_breakers; i++) {
        if (!o->dry_breakers[i] || !o->dry_breakers[i][0])
            return tl_fail(err, TL_E_ARGUMENT, "sampler: dry_breakers: text %d is empty", i);
    }
    for (int i = 0; i < o->n_bias; i++) {
        const tl_logit_bias *b = &o->bias[i];
        if (b->id < 0 || b->id >= n_vocab) {
            return tl_fail(err, TL_E_ARGUMENT, "sampler: bias for token %d; the vocabulary has tokens 0 to %d",
                           b->id, n_vocab - 1);
        }
        if (!isfinite(b->bias) && b->bias != -INFINITY) {
            return tl_fail(err, TL_E_ARGUMENT, "sampler: bias of token %d is %g; it must be finite or -inf", b->id,
                           (double)b->bias);
        }
    }
    return TL_OK;
}

static int in_chain(const tl_sampler *s, const char *name) {
    for (int i = 0; i < s->chain.n; i++)
        if (strcmp(s->chain.step[i]->name, name) == 0) return 1;
    return 0;
}

static int alloc_window(tl_sampler *s, tl_error *err) {
    const size_t n = (size_t)s->n_vocab;
    s->n_recent = s->o.repeat_last_n > 0 ? s->o.repeat_last_n : 0;
    if (s->n_recent) {
        s->recent = tl_alloc_n((size_t)s->n_recent, sizeof *s->recent, "sampler window", err);
        if (!s->recent) return 0;
    }
    for (int i = 0; i < s->n_recent; i++) s->recent[i] = -1;
    return (s->count = tl_alloc_n(n, sizeof *s->count, "sampler counts", err)) &&
           (s->seen = tl_alloc_n(n, sizeof *s->seen, "sampler counts", err)) &&
           (s->seen_at = tl_alloc_n(n, sizeof *s->seen_at, "sampler counts", err));
}

static int alloc_all(tl_sampler *s, const tl_logit_bias *bias, tl_error *err) {
    const size_t n = (size_t)s->n_vocab, blocks = (n + BLOCK - 1) / BLOCK;
    if (s->o.n_bias) {
        tl_logit_bias *copy = tl_alloc_n((size_t)s->o.n_bias, sizeof *copy, "logit bias", err);
        if (!copy) return 0;
        memcpy(copy, bias, (size_t)s->o.n_bias * sizeof *copy);
        s->o.bias = copy;
    }
    return (s->block_max = tl_alloc_n(blocks, sizeof *s->block_max, "sampler", err)) &&
           (s->cand = tl_alloc_n(n, sizeof *s->cand, "sampler candidates", err)) &&
           (s->order = tl_alloc_n(n, sizeof *s->order, "sampler candidates", err)) &&
           (!in_chain(s, "penalties") || alloc_window(s, err)) &&
           (!in_chain(s, "dry") || (s->dry = tl_dry_new(s->n_vocab, &s->o, err))) &&
           (!(s->o.n_bias || s->chain.edits) || (s->edited = tl_alloc_n(n, sizeof *s->edited, "sampler logits", err)));
}

tl_sampler *tl_sampler_create(int n_vocab, const tl_sampler_options *options, tl_error *err) {
    const tl_sampler_options o = options ? *options : tl_sampler_options_default();
    if (n_vocab < 1) {
        tl_fail(err, TL_E_ARGUMENT, "sampler: a vocabulary of %d tokens; it must have at least 1", n_vocab);
        return NULL;
    }
    if (check_options(&o, n_vocab, err) != TL_OK) return NULL;
    tl_sampler *s = tl_alloc_n(1, sizeof *s, "sampler", err);
    if (!s) return NULL;
    s->o = o;
    s->o.bias = NULL;
    s->n_vocab = n_vocab;
    s->mu = 2 * (double)o.mirostat_ent;
    s->seed = o.seed == -1 ? tl_rng_system_seed() : o.seed;
    tl_rng_seed(&s->rng, (uint64_t)s->seed);
    if (tl_sample_chain_make(s, o.samplers, err) == TL_OK && alloc_all(s, o.bias, err)) {
        s->o.samplers = NULL;
        s->o.dry_breakers = NULL;
        return s;
    }
    tl_sampler_free(s);
    return NULL;
}

void tl_sampler_free(tl_sampler *s) {
    if (!s) return;
    tl_free((void *)s->o.bias);
    tl_dry_free(s->dry);
    tl_free(s->edited);
    tl_free(s->block_max);
    tl_free(s->cand);
    tl_free(s->order);
    tl_free(s->recent);
    tl_free(s->count);
    tl_free(s->seen);
    tl_free(s->seen_at);
    tl_free(s);
}

int tl_sampler_set_texts(tl_sampler *s, tl_token_text_fn *text, const void *user, tl_error *err) {
    return s->dry ? tl_dry_set_texts(s->dry, text, user, err) : TL_OK;
}

int64_t tl_sampler_seed(const tl_sampler *s) { return s ? s->seed : -1; }

/* ---- the history ---- */

static void forget(tl_sampler *s, int32_t id) {
    if (--s->count[id] > 0) return;
    int32_t moved = s->seen[--s->n_seen];
    s->seen[s->seen_at[id]] = moved;
    s->seen_at[moved] = s->seen_at[id];
}

void tl_sampler_accept(tl_sampler *s, int32_t id) {
    if (!s || id < 0 || id >= s->n_vocab) return;
    if (s->dry) tl_dry_accept(s->dry, id);
    if (!s->count) return;
    if (s->n_recent) {
        int32_t *slot = &s->recent[s->recent_at];
        if (*slot >= 0) forget(s, *slot);
        *slot = id;
        s->recent_at = s->recent_at + 1 == s->n_recent ? 0 : s->recent_at + 1;
    }
    if (s->count[id]++ == 0) {
        s->seen_at[id] = s->n_seen;
        s->seen[s->n_seen++] = id;
    }
}

/* ---- picking ---- */

/* Fills block_max and returns the largest logit, NaN if any is NaN. */
static float scan(float *block_max, const float *x, int n) {
    float best = -INFINITY;
    int nan = 0;
    for (int b = 0; b * BLOCK < n; b++) {
        const float *p = x + b * BLOCK;
        const int len = n - b * BLOCK < BLOCK ? n - b * BLOCK : BLOCK;
        float lane[LANES], sum[LANES] = {0};   /* NaN * 0 is NaN; so is inf * 0, which is looked at again below */
        for (int j = 0; j < LANES; j++) lane[j] = -INFINITY;
        int i = 0;
        for (; i + LANES <= len; i += LANES) {
            for (int j = 0; j < LANES; j++) {
                lane[j] = p[i + j] > lane[j] ? p[i + j] : lane[j];
                sum[j] += p[i + j] * 0;
            }
        }
        for (; i < len; i++) {
            lane[0] = p[i] > lane[0] ? p[i] : lane[0];
            sum[0] += p[i] * 0;
        }
        float m = lane[0], odd = sum[0];
        for (int j = 1; j < LANES; j++) {
            m = lane[j] > m ? lane[j] : m;
            odd += sum[j];
        }
        if (odd != 0) {
            for (i = 0; i < len; i++) nan |= isnan(p[i]);
        }
        block_max[b] = m;
        best = m > best ? m : best;
    }
    return nan ? NAN : best;
}

/* The lowest id whose logit is v, which one has. */
static int32_t find(const tl_sampler *s, const float *x, float v) {
    int b = 0;
    while (s->block_max[b] != v) b++;
    int32_t id = b * BLOCK;
    while (x[id] != v) id++;
    return id;
}

/* A logit that at least top_k tokens reach: each of the top_k best blocks holds one. -inf where that says nothing. */
static float top_k_floor(tl_sampler *s) {
    const int blocks = (s->n_vocab + BLOCK - 1) / BLOCK;
    if (!s->chain.top_k_first || s->o.top_k >= blocks) return -INFINITY;
    for (int b = 0; b < blocks; b++) s->order[b] = (tl_candidate){s->block_max[b], 1, b};
    return tl_candidate_border(s->order, blocks, s->o.top_k).logit;
}

static void gather(tl_sampler *s, const float *x, tl_candidates *set) {
    const float floor = top_k_floor(s);
    for (int b = 0; b * BLOCK < s->n_vocab; b++) {
        if (s->block_max[b] < floor) continue;
        const int end = s->n_vocab - b * BLOCK < BLOCK ? s->n_vocab : (b + 1) * BLOCK;
        for (int id = b * BLOCK; id < end; id++) {
            if (x[id] >= floor && x[id] > -INFINITY) set->c[set->n++] = (tl_candidate){x[id], 0, id};
        }
    }
}

/* An edit behind other steps: changes the candidates alone. */
static void edit_set(tl_sampler *s, tl_candidates *set, const tl_sample_step *step) {
    for (int i = 0; i < set->n; i++) s->edited[set->c[i].id] = set->c[i].logit;
    step->edit(s, s->edited);
    int kept = 0;
    set->best = -INFINITY;
    for (int i = 0; i < set->n; i++) {
        const float logit = s->edited[set->c[i].id];
        if (!(logit > -INFINITY)) continue;
        set->c[kept++] = (tl_candidate){logit, 0, set->c[i].id};
        if (logit > set->best) set->best = logit;
    }
    set->n = kept;
}

static int decide(tl_candidates *set, int32_t id) {
    set->c[0] = (tl_candidate){0, 1, id};
    set->n = 1;
    set->best = 0;
    return TL_DECIDED;
}

static int nothing_left(tl_error *err) { return tl_fail(err, TL_E_NAN, "no token can be drawn: every logit is -inf"); }

static const float *edit_all(tl_sampler *s, const float *logits) {
    if (!s->edited) return logits;
    memcpy(s->edited, logits, (size_t)s->n_vocab * sizeof *logits);
    for (int i = 0; i < s->o.n_bias; i++) {
        float *l = &s->edited[s->o.bias[i].id];
        *l = s->o.bias[i].bias == -INFINITY ? -INFINITY : *l + s->o.bias[i].bias;
    }
    for (int i = 0; i < s->chain.n_lead; i++) s->chain.step[i]->edit(s, s->edited);
    return s->edited;
}

int tl_sampler_candidates(tl_sampler *s, const float *logits, tl_candidates *set, tl_error *err) {
    const float *x = edit_all(s, logits), best = scan(s->block_max, x, s->n_vocab);
    *set = (tl_candidates){s->cand, 0, best};
    if (isnan(best)) {
        int id = 0;
        while (!isnan(x[id])) id++;
        return tl_fail(err, TL_E_NAN, "the model gave NaN for token %d: its file is damaged or its weights overflow",
                       id);
    }
    if (best == -INFINITY) return nothing_left(err);
    if (s->chain.greedy || best == INFINITY) return decide(set, find(s, x, best));
    gather(s, x, set);
    for (int i = s->chain.n_lead; i < s->chain.n; i++) {
        const tl_sample_step *step = s->chain.step[i];
        if (step->step) {
            step->step(s, set);
            continue;
        }
        edit_set(s, set, step);
        if (!set->n) return nothing_left(err);
        if (set->best < INFINITY) continue;
        tl_candidates_keep_best(set);
        return decide(set, set->c[0].id);
    }
    return TL_OK;
}

static int32_t draw(tl_sampler *s, tl_candidates *set) {
    const double sum = tl_candidates_weigh(set);
    double at = tl_rng_double(&s->rng) * sum;
    int last = 0;
    for (int i = 0; i < set->n; i++) {
        if (set->c[i].weight <= 0) continue;
        last = i;
        at -= set->c[i].weight;
        if (at < 0) break;
    }   /* rounding may leave a rest behind the last one that has a weight */
    if (s->o.mirostat) s->mu -= s->o.mirostat_lr * (log2(sum / set->c[last].weight) - s->o.mirostat_ent);
    return set->c[last].id;
}

int32_t tl_sampler_pick(tl_sampler *s, const float *logits, tl_error *err) {
    if (!s) return tl_null(err, "sampler");
    if (!logits)
        return tl_fail(err, TL_E_ARGUMENT, "sampler: no logits: nothing was computed, or no row wanted them");
    tl_candidates set;
    const int rc = tl_sampler_candidates(s, logits, &set, err);
    if (rc < 0) return rc;
    const int32_t id = rc == TL_DECIDED ? set.c[0].id : draw(s, &set);
    tl_sampler_accept(s, id);
    return id;
}
