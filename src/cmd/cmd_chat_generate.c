/* SPDX-License-Identifier: MIT
 *
 * cmd_chat_generate.c: the answer of a turn of cmd_chat.h. Where it must follow a grammar, thoughts before it are free: they
 * are generated without it up to their closing mark, and the rest with it. Marks may be control tokens, which no grammar
 * has, so the grammar itself cannot say this. */
#include <string.h>
#include "cmd/cmd_chat.h"

static void picked(void *user, int32_t id, const float *logits) {
    chat_answer *a = user;
    (void)logits;
    a->last = id;
    a->control = tl_token_text(a->c->m, id, NULL, 0) > 0 ? NULL : tl_token_piece(a->c->m, id);
}

/* What comes of a token: its text, its name if it is a control token, or NULL. */
static void take(chat_answer *a, const char *text, size_t n, const char *control) {
    tl_buf_add(&a->whole, text, n);
    tl_chat_parts_push(&a->parts, text, n, tl_chat_answer_part, a);
    if (control) tl_chat_parts_token(&a->parts, control, tl_chat_answer_part, a);
}

/* ---- thoughts before a grammar ------------------------------------------------------------------------------------ */

enum { UNDECIDED = 32 };   /* tokens within which a thought begins, if there is one */

/* Whether the free part has ended: its thoughts are closed, or there are none. */
static int is_over(chat_answer *a) {
    const chat_parts *p = &a->parts;
    if (p->known.channels && p->by_token && !p->header && p->kind != CHAT_THINK) return a->settled = 1;
    if (a->thought) return a->settled = p->kind != CHAT_THINK && !p->header;
    return ++a->n_free >= UNDECIDED || (!p->header && (p->begun || p->kind == CHAT_TOOL));
}

static int show(void *user, const char *text, size_t n) {
    chat_answer *a = user;
    take(a, text, n, a->control);
    a->control = NULL;
    if (a->free && !a->over) a->over = is_over(a);
    return a->over || tl_cmd_interrupted() || (!a->c->a.json && tl_cmd_flush() != 0);
}

/* Begins the answer, or begins it again. The template may have begun a thought. */
static void begin(chat_answer *a, int free) {
    tl_buf_free(&a->parts.held);
    tl_chat_answer_clear(a);
    a->parts = (chat_parts){0};
    a->whole.n = 0;
    a->free = free;
    a->control = NULL;
    const char *open = tl_chat_parts_begin(&a->parts, a->c->known, a->prompt, a->n_prompt);
    if (open) tl_buf_add(&a->whole, open, a->n_prompt - (size_t)(open - a->prompt));
    a->thought = a->parts.kind == CHAT_THINK;
    if (a->c->grammar && !free) a->parts.header = 0;   /* there will be none: it allows no control tokens */
}

/* Computes tokens of the answer, so that the next ones can follow. */
static int compute(chat_answer *a, const int32_t *ids, int n, tl_error *err) {
    tl_error why = {0};
    int rc = tl_session_eval(a->c->s, &(tl_batch){.n = n, .token = ids}, &why);
    if (rc == TL_OK) a->c->stats.n_computed += n;
    if (rc == TL_E_CONTEXT) a->c->stats.finish = TL_END_CONTEXT;
    else if (rc != TL_OK && err) *err = why;
    return rc == TL_E_CONTEXT ? TL_OK : rc;
}

/* The answer ended within a thought: the thought's mark is written for it. */
static int close_thought(chat_answer *a, tl_sampler *s, tl_error *err) {
    const chat *c = a->c;
    int32_t ids[64];
    const char *mark = tl_chat_parts_closing(&a->parts);
    int n = tl_tokenize(c->m, mark, strlen(mark), TL_PARSE_SPECIAL, ids, 64, err);
    for (int i = 0; i < n && n <= 64; i++) {
        char text[64];
        int len = tl_token_text(c->m, ids[i], text, sizeof text);
        take(a, text, len < 64 ? (size_t)len : 64, len ? NULL : tl_token_piece(c->m, ids[i]));
        tl_sampler_accept(s, ids[i]);
    }
    return n < 0 ? n : compute(a, ids, n < 64 ? n : 64, err);
}

/* ---- generating --------------------------------------------------------------------------------------------------- */

/* Each answer has a sampler of its own: what was taken back leaves no trace in penalties and random numbers. The n-th
 * question's seed is that of the options plus n, and a retry's one more. */
static tl_sampler *new_sampler(chat *c, const int32_t *ids, int n, tl_error *err) {
    tl_sampling_args a = c->a.sampling;
    int turns = 0;
    for (int i = 0; i < c->talk.n; i++) turns += strcmp(c->talk.m[i].role, "user") == 0;
    if (c->seed >= 0) a.seed = (int64_t)(((uint64_t)c->seed + (uint64_t)turns + (uint64_t)c->retries) & INT64_MAX);
    tl_sampler *s = tl_cmd_sampler(&a, c->m, err);
    if (s && c->seed < 0) c->seed = (int64_t)(((uint64_t)tl_sampler_seed(s) - (uint64_t)turns) & INT64_MAX);
    c->answer_seed = tl_sampler_seed(s);
    for (int i = 0; s && i < n; i++) tl_sampler_accept(s, ids[i]);
    return s;
}

/* The answer, or its part that is free or not. Figures are added to those of the turn. */
static int generate(chat_answer *a, tl_sampler *s, tl_error *err) {
    chat *c = a->c;
    tl_generator_stats *all = &c->stats;
    tl_generator_options o = {.max_tokens = (int)c->a.n < 0 ? -1 : (int)c->a.n - all->n_tokens, .stop = c->a.stop.v, .n_stop = c->a.stop.n,
                              .stop_tokens = &c->end, .n_stop_tokens = c->end >= 0 && !c->a.sampling.ignore_eos,
                              .grammar = a->free ? NULL : c->grammar, .draft = c->spec.draft, .picked = picked, .picked_user = a};
    tl_generator *g = tl_generator_new(c->m, s, &o, err);
    int rc = g ? tl_generate(c->s, 0, g, show, a, err) : err->code;
    const tl_generator_stats now = tl_generator_get_stats(g);
    if (!all->n_tokens && now.first_seconds) all->first_seconds = all->seconds + now.first_seconds;
    all->n_tokens += now.n_tokens;
    all->n_computed += now.n_computed;
    all->n_passes += now.n_passes;
    all->n_drafted += now.n_drafted;
    all->n_accepted += now.n_accepted;
    all->seconds += now.seconds;
    all->finish = now.finish;
    tl_generator_free(g);
    return rc;
}

/* What comes before the grammar. 1: the rest is to follow; 0: the answer has ended; 2: it thinks nothing, and is to begin
 * anew with the grammar; negative: an error. */
static int think(chat_answer *a, tl_sampler *s, tl_error *err) {
    int rc = generate(a, s, err);
    if (rc != TL_OK) return rc;
    const int stopped = tl_cmd_interrupted() || tl_cmd_flush() != 0;
    if (stopped && !a->thought && !a->settled) begin(a, 0);   /* what was tried is no part of the answer */
    if (stopped) return 0;
    if (!a->settled && !a->thought) return 2;
    if (a->settled && a->c->stats.finish == TL_END_CANCELLED) rc = compute(a, &a->last, 1, err);
    else if (a->c->stats.finish == TL_END_TOKEN) rc = close_thought(a, s, err);
    else return 0;
    a->free = 0;
    a->whole.n -= a->parts.held.n;   /* no text is free, not even the beginning of a mark */
    a->parts.held.n = 0;
    return rc != TL_OK ? rc : a->c->stats.finish != TL_END_CONTEXT;
}

int tl_chat_generate(chat_answer *a, const int32_t *ids, int n, tl_error *err) {
    chat *c = a->c;
    int rc = 1;
    begin(a, c->grammar && tl_chat_may_think(a));
    tl_grammar_reset(c->grammar);
    tl_sampler *s = new_sampler(c, ids, n, err);
    if (!s) return err->code;
    if (a->free) rc = think(a, s, err);
    if (rc == 2) {
        begin(a, 0);
        c->stats = (tl_generator_stats){0};
        tl_sampler_free(s);
        tl_session_truncate(c->s, 0, n - 1);
        rc = tl_session_eval(c->s, &(tl_batch){.n = 1, .token = ids + n - 1}, err) == TL_OK ? 1 : err->code;
        s = rc < 0 ? NULL : new_sampler(c, ids, n, err);
        if (!s) return err->code;
    }
    a->over = 0;
    if (rc == 1 && c->stats.n_tokens == c->a.n && c->a.n) c->stats.finish = TL_END_LENGTH;
    else if (rc == 1) rc = generate(a, s, err);
    tl_sampler_free(s);
    c->all_tokens += c->stats.n_tokens;
    c->all_computed += c->stats.n_computed;
    c->all_drafted += c->stats.n_drafted;
    c->all_accepted += c->stats.n_accepted;
    tl_chat_parts_end(&a->parts, c->stats.finish == TL_END_TOKEN, tl_chat_answer_part, a);
    if (rc >= 0 && a->whole.failed) return tl_fail(err, TL_E_MEMORY, "out of memory for the answer");
    return rc < 0 ? rc : TL_OK;
}
