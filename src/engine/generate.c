/* SPDX-License-Identifier: MIT
 *
 * generate.c: the generation part of tinyllm.h: tokens become a text that ends where it should. */
#include <string.h>
#include "base/stops.h"
#include "engine/constrain.h"
#include "engine/speculate.h"

struct tl_generator {
    const struct tl_model *m;
    tl_sampler *sampler;
    tl_generator_options o;   /* stop and stop_tokens: own copies */
    char **stop;
    int32_t *stop_tokens;
    tl_utf8_stream utf8;
    tl_stops stops;
    tl_buf text;              /* of the last step */
    tl_generator_stats stats;
};

const char *tl_finish_name(int finish) {
    static const char *const names[] = {"", "stop", "stop", "length", "context", "cancelled"};
    return finish >= 0 && finish < (int)(sizeof names / sizeof names[0]) ? names[finish] : "";
}

tl_generator_options tl_generator_options_default(void) { return (tl_generator_options){.max_tokens = -1}; }

/* ---- making ---- */

static int copy_options(tl_generator *g, const tl_generator_options *o, tl_error *err) {
    if (o->n_stop < 0 || (o->n_stop && !o->stop)) return tl_fail(err, TL_E_ARGUMENT, "generator: n_stop is %d without texts", o->n_stop);
    if (o->n_stop_tokens < 0 || (o->n_stop_tokens && !o->stop_tokens))
        return tl_fail(err, TL_E_ARGUMENT, "generator: n_stop_tokens is %d without tokens", o->n_stop_tokens);
    g->o = *o;
    g->o.n_stop = 0;
    g->stop = tl_alloc_n((size_t)o->n_stop + 1, sizeof *g->stop, "stop texts", err);
    g->stop_tokens = tl_alloc_n((size_t)o->n_stop_tokens + 1, sizeof *g->stop_tokens, "stop tokens", err);
    if (!g->stop || !g->stop_tokens) return TL_E_MEMORY;
    for (int i = 0; i < o->n_stop; i++) {
        if (!o->stop[i] || !o->stop[i][0]) return tl_fail(err, TL_E_ARGUMENT, "generator: stop text %d is empty", i);
        if (!(g->stop[g->o.n_stop++] = tl_strdup(o->stop[i], err))) return TL_E_MEMORY;
    }
    if (o->n_stop_tokens) memcpy(g->stop_tokens, o->stop_tokens, (size_t)o->n_stop_tokens * sizeof *g->stop_tokens);
    g->stops = (tl_stops){.stop = (const char *const *)g->stop, .n = g->o.n_stop};
    return TL_OK;
}

tl_generator *tl_generator_new(const tl_model *m, tl_sampler *sampler, const tl_generator_options *options, tl_error *err) {
    if (!m || !sampler) {
        tl_null(err, m ? "sampler" : "model");
        return NULL;
    }
    tl_generator_options o = options ? *options : tl_generator_options_default();
    if (o.draft && o.draft->m != m) {
        tl_fail(err, TL_E_ARGUMENT, "generator: the draft is for another model");
        return NULL;
    }
    tl_generator *g = tl_alloc_n(1, sizeof *g, "a generator", err);
    if (!g) return NULL;
    g->m = m;
    g->sampler = sampler;
    if (o.max_tokens == 0) g->stats.finish = TL_END_LENGTH;   /* nothing is to be picked */
    if (tl_grammar_check(o.grammar, m, err) == TL_OK && copy_options(g, &o, err) == TL_OK) return g;
    tl_generator_free(g);
    return NULL;
}

void tl_generator_free(tl_generator *g) {
    if (!g) return;
    for (int i = 0; i < g->o.n_stop; i++) tl_free(g->stop[i]);
    tl_free(g->stop);
    tl_free(g->stop_tokens);
    tl_stops_free(&g->stops);
    tl_buf_free(&g->text);
    tl_free(g);
}

tl_generator_stats tl_generator_get_stats(const tl_generator *g) { return g ? g->stats : (tl_generator_stats){0}; }

/* ---- a step ---- */

enum { PART = 256 };   /* bytes of a token that go through at once */

/* Bytes that are text of tokens; hidden ones are looked at for stop texts alone. */
static void push(tl_generator *g, const char *bytes, size_t n, int hidden) {
    char whole[3 * PART + 3];
    if (g->stats.finish) return;
    if (hidden) {
        if (tl_stops_push(&g->stops, bytes, n, 1, &g->text)) g->stats.finish = TL_END_STOP;
        return;
    }
    for (size_t at = 0; at < n && !g->stats.finish; at += PART) {
        size_t len = tl_utf8_push(&g->utf8, bytes + at, n - at < PART ? n - at : PART, 0, whole);
        if (tl_stops_push(&g->stops, whole, len, 0, &g->text)) g->stats.finish = TL_END_STOP;
    }
}

static int push_token(tl_generator *g, int32_t id, tl_error *err) {
    char room[PART], *text = room;
    int shown = tl_token_text(g->m, id, room, PART);
    const char *name = tl_token_piece(g->m, id);
    if (!shown) {   /* a control token: it has a name and no text */
        if (name) push(g, name, strlen(name), !g->o.show_special);
        return TL_OK;
    }
    if (shown > PART) {
        if (!(text = tl_alloc_n((size_t)shown, 1, "a token's text", err))) return TL_E_MEMORY;
        tl_token_text(g->m, id, text, shown);
    }
    push(g, text, (size_t)shown, 0);
    if (text != room) tl_free(text);
    return TL_OK;
}

/* Nothing follows: what was held back comes out, unless a stop text ended it. */
static void flush(tl_generator *g) {
    char whole[6];
    size_t n = tl_utf8_push(&g->utf8, NULL, 0, 1, whole);
    if (g->stats.finish == TL_END_STOP) return;
    int finish = g->stats.finish;
    if (n && tl_stops_push(&g->stops, whole, n, 0, &g->text)) finish = TL_END_STOP;
    else tl_stops_flush(&g->stops, &g->text);
    g->stats.finish = finish;
}

static int ends(const tl_generator *g, int32_t id) {
    for (int i = 0; i < g->o.n_stop_tokens; i++)
        if (g->stop_tokens[i] == id) return 1;
    return tl_token_is_end(g->m, id);
}

static int give(tl_generator *g, int32_t id, tl_step *step, tl_error *err) {
    if (g->stats.finish) flush(g);
    if (g->text.failed || g->stops.held.failed) return tl_fail(err, TL_E_MEMORY, "out of memory for the text");
    *step = (tl_step){.id = g->stats.finish ? -1 : id, .text = g->text.p ? g->text.p : "", .n = g->text.n, .finish = g->stats.finish};
    return TL_OK;
}

int tl_generator_step(tl_generator *g, const float *logits, tl_step *step, tl_error *err) {
    if (!g || !step) return tl_null(err, g ? "step" : "generator");
    g->text.n = 0;
    if (g->stats.finish) return give(g, -1, step, err);
    const float *raw = logits;
    int goes_on = g->o.grammar ? tl_grammar_apply(g->o.grammar, &logits, g->stop_tokens, g->o.n_stop_tokens, err) : 1;
    int32_t id = goes_on > 0 ? tl_sampler_pick(g->sampler, logits, err) : goes_on;
    if (id < 0) return id;
    if (goes_on && g->o.picked) g->o.picked(g->o.picked_user, id, raw);
    if (!goes_on || ends(g, id)) g->stats.finish = TL_END_TOKEN;
    else {
        int rc = push_token(g, id, err);
        if (rc == TL_OK && g->o.grammar) rc = tl_grammar_accept(g->o.grammar, id, err);
        if (rc != TL_OK) return rc;
        if (g->o.grammar && !g->stats.finish && tl_grammar_ends(g->o.grammar) == 2) g->stats.finish = TL_END_TOKEN;
        /* The last one need not be computed. */
        if (++g->stats.n_tokens == g->o.max_tokens && !g->stats.finish) g->stats.finish = TL_END_LENGTH;
    }
    return give(g, id, step, err);
}

int tl_generator_end(tl_generator *g, int finish, tl_step *step, tl_error *err) {
    if (!g || !step) return tl_null(err, g ? "step" : "generator");
    g->text.n = 0;
    if (!g->stats.finish) g->stats.finish = finish;
    return give(g, -1, step, err);
}

/* ---- the loop ---- */

/* A sequence that is being continued. The session may hold drafted tokens behind those of the text. */
typedef struct loop {
    tl_session *s;
    tl_generator *g;
    int pos;                             /* tokens of the text that the session holds */
    int finish;                          /* from outside: TL_END_CONTEXT, TL_END_CANCELLED */
    int32_t token[1 + TL_DRAFT_MAX];     /* of a pass: a picked one, then drafted ones */
    int32_t seq[1 + TL_DRAFT_MAX];       /* all the same */
    uint8_t want[1 + TL_DRAFT_MAX];      /* logits of every row */
    int n;                               /* rows of the last pass */
    int row;                             /* of them, whose logits give the next token */
    double drafting, computing;          /* seconds of the last pass and its draft */
} loop;

static void computed(loop *l) {
    l->pos++;
    l->g->stats.n_computed++;
}

/* The drafted token behind the row was right: it is computed already. Who asks to stop is heard as in a pass. */
static void go_on(loop *l) {
    if (tl_session_asked(l->s, 1)) {
        atomic_store(&l->s->cancelled, 0);
        l->s->n_logits = 0;
        l->finish = TL_END_CANCELLED;
        return;
    }
    tl_draft_add(l->g->o.draft, l->token[++l->row]);
    l->g->stats.n_accepted++;
    computed(l);
}

/* Drafted tokens that could be of use: a slice holds them, and the text may become so long. */
static int useful(const loop *l) {
    const tl_generator *g = l->g;
    int most = l->s->run.n_batch - 1, left = g->o.max_tokens - g->stats.n_tokens - 1;
    return g->o.max_tokens >= 0 && left < most ? left : most;
}

static int pass(loop *l, int n, tl_error *err) {
    double start = tl_now();
    int rc = tl_session_eval(l->s, &(tl_batch){.n = n, .token = l->token, .seq = l->seq, .want = l->want}, err);
    if (rc != TL_OK) return rc;
    l->computing = tl_now() - start;
    l->n = n;
    l->row = 0;
    l->g->stats.n_passes++;
    l->g->stats.n_drafted += n - 1;
    computed(l);
    return rc;
}

/* Forgets what was drafted and is not part of the text. */
static void settle(loop *l) {
    if (l->n > 1) tl_session_truncate(l->s, l->seq[0], l->pos);
}

/* Computes a token, and a draft behind it; no room left (in the context or the session) and a cancelled session end the
 * text. */
static int compute(loop *l, int32_t id, tl_error *err) {
    tl_draft *d = l->g->o.draft;
    tl_error e = {0};
    int n = 0;
    settle(l);
    if (d) {
        if (l->n) tl_pace_note(&d->pace, l->n - 1, l->row, l->drafting, l->computing);
        double start = tl_now();
        n = tl_draft_propose(d, id, l->token + 1, useful(l));
        l->drafting = tl_now() - start;
    }
    l->token[0] = id;
    int rc = pass(l, 1 + n, &e);
    if (rc == TL_E_CONTEXT && n) {   /* there may be room for one token more and none for the draft */
        e = (tl_error){0};
        rc = pass(l, 1, &e);
    }
    if (rc == TL_E_CONTEXT) l->finish = TL_END_CONTEXT;
    else if (rc == TL_E_CANCELLED) l->finish = TL_END_CANCELLED;
    else if (rc != TL_OK && err) *err = e;
    return l->finish ? TL_OK : rc;
}

static int advance(loop *l, int32_t id, tl_error *err) {
    if (l->row + 1 >= l->n || l->token[l->row + 1] != id) return compute(l, id, err);
    go_on(l);
    return TL_OK;
}

static int run_loop(loop *l, tl_text_fn *fn, void *user, tl_error *err) {
    tl_generator *g = l->g;
    double start = tl_now();
    tl_step step = {0};
    int rc = g->o.draft ? tl_draft_begin(g->o.draft, l->s, l->seq[0], err) : TL_OK;
    while (rc == TL_OK && !step.finish) {
        rc = l->finish ? tl_generator_end(g, l->finish, &step, err) : tl_generator_step(g, tl_session_logits(l->s, l->row), &step, err);
        if (rc == TL_E_NAN) tl_error_context(err, "position %d", l->pos - 1);
        if (rc != TL_OK) break;
        if (!g->stats.first_seconds && g->stats.n_tokens) g->stats.first_seconds = tl_now() - start;
        if (fn && fn(user, step.text, step.n)) l->finish = TL_END_CANCELLED;
        else if (!step.finish && !l->finish) rc = advance(l, step.id, err);
    }
    g->stats.seconds = tl_now() - start;
    return rc;
}

int tl_generate(tl_session *s, int seq, tl_generator *g, tl_text_fn *fn, void *user, tl_error *err) {
    if (!s || !g) return tl_null(err, s ? "generator" : "session");
    if (seq < 0 || seq >= s->kv.n_seq) return tl_fail(err, TL_E_ARGUMENT, "generate: there is no sequence %d", seq);
    loop l = {.s = s, .g = g, .pos = tl_session_pos(s, seq)};
    for (int i = 0; i <= TL_DRAFT_MAX; i++) l.seq[i] = seq, l.want[i] = 1;
    int rc = run_loop(&l, fn, user, err);
    settle(&l);
    if (l.n > 1) tl_session_keep_logits(s, l.row);
    return rc;
}
