/* SPDX-License-Identifier: MIT
 *
 * model.c: drafts by a smaller model of the same vocabulary: its likeliest tokens, one after the other (Leviathan et al.
 * 2023; here a drafted token is accepted where it is the one picked). It has a session of its own, which follows the
 * text: what it holds beyond their common beginning is forgotten, what it lacks is computed with the next draft. */
#include "engine/speculate.h"

#include <string.h>

typedef struct drafter {
    tl_draft d;
    tl_session *s;
    tl_sampler *greedy;
} drafter;

static int check_vocab(const tl_model *m, const tl_model *draft, tl_error *err) {
    int n = tl_model_get_info(m).n_vocab, other = tl_model_get_info(draft).n_vocab;
    if (n != other)
        return tl_fail(err, TL_E_UNSUPPORTED, "draft model: its vocabulary has %d tokens, the model's %d; they must be the same", other, n);
    for (int32_t id = 0; id < n; id++) {
        const char *a = tl_token_piece(m, id), *b = tl_token_piece(draft, id);
        if (a && b ? strcmp(a, b) != 0 : a != b)
            return tl_fail(err, TL_E_UNSUPPORTED, "draft model: token %d is \"%.60s\", in the model \"%.60s\"; the vocabularies must be the same",
                           id, b ? b : "", a ? a : "");
    }
    return TL_OK;
}

/* A session that is to stop needs no draft. */
static int given_up(void *user, double progress) {
    (void)progress;
    return atomic_load_explicit(&((const drafter *)user)->d.s->cancelled, memory_order_relaxed);
}

static int init(tl_draft *d, const tl_draft_options *o, tl_error *err) {
    drafter *w = (drafter *)d;
    if (!o->model) return tl_fail(err, TL_E_ARGUMENT, "draft: source model needs a model");
    int rc = check_vocab(d->m, o->model, err);
    if (rc != TL_OK) return rc;
    tl_sampler_options greedy = tl_sampler_options_default();
    greedy.temp = 0;
    if (!(w->s = tl_session_new(o->model, &o->session, err)) || !(w->greedy = tl_sampler_new(o->model, &greedy, err)))
        return TL_E_MEMORY;
    tl_session_set_progress(w->s, given_up, w);
    return TL_OK;
}

static void done(tl_draft *d) {
    tl_sampler_free(((drafter *)d)->greedy);
    tl_session_free(((drafter *)d)->s);
}

/* Makes the session hold ids, with the logits of the last. */
static int follow(drafter *w) {
    int kept = tl_session_prompt(w->s, 0, w->d.ids, w->d.n, NULL);
    return kept < 0 ? kept : TL_OK;
}

/* The prompt is read here, before the draft's cost is measured. A draft model that cannot is no reason to fail. */
static int begin(tl_draft *d, tl_error *err) {
    drafter *w = (drafter *)d;
    (void)err;
    if (d->n && d->n < tl_session_ctx(w->s)) follow(w);
    return TL_OK;
}

static int propose(tl_draft *d, int32_t *out, int k) {
    drafter *w = (drafter *)d;
    int n = 0, room = tl_session_ctx(w->s) - d->n + 1;   /* the last drafted token is not computed */
    if (k > room) k = room;
    for (int rc = k > 0 ? follow(w) : TL_E_CONTEXT; rc == TL_OK && n < k; n++) {
        if ((out[n] = tl_sampler_pick(w->greedy, tl_session_logits(w->s, 0), NULL)) < 0) break;
        if (n + 1 < k) rc = tl_session_append(w->s, &out[n], 1, NULL);
    }
    return n;
}

const tl_draft_kind tl_draft_model = {"model", sizeof(drafter), init, done, begin, NULL, propose};
