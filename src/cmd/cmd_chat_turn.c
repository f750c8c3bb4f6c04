/* SPDX-License-Identifier: MIT
 *
 * cmd_chat_turn.c: a turn of cmd_chat.h: the conversation becomes a prompt, the prompt an answer. */
#include <string.h>
#include "cmd/cmd_chat.h"

/* ---- the prompt --------------------------------------------------------------------------------------------------- */

const char *tl_chat_template(const chat *c) { return c->template_text ? c->template_text : tl_model_chat_template(c->m); }

/* Messages from, from + 1, ... of a conversation, with the system message, as JSON with a terminator. */
static int write_messages(const chat_talk *t, int from, tl_buf *out, tl_error *err) {
    tl_chat_talk_json(t, from, out);
    tl_buf_add(out, "", 1);
    return out->failed ? tl_fail(err, TL_E_MEMORY, "out of memory for the messages") : TL_OK;
}

/* These, and the beginning of an answer. */
static tl_chat *render(const chat *c, const chat_talk *t, int from, int is_answered, tl_error *err) {
    tl_buf messages = {0};
    tl_chat *r = NULL;
    if (write_messages(t, from, &messages, err) == TL_OK) {
        tl_chat_options o = {.messages_json = messages.p, .tools_json = t->tools, .variables_json = c->variables.p,
                             .chat_template = c->template_text, .no_generation_prompt = is_answered};
        r = tl_chat_render(c->m, &o, err);
    }
    tl_buf_free(&messages);
    return r;
}

/* What the template gets besides the messages, found with a question alone. */
static int find_variables(const chat *c, const chat_talk *hello, tl_buf *out, tl_error *err) {
    tl_buf messages = {0};
    tl_error why = {0};
    if (write_messages(hello, 0, &messages, err) == TL_OK)
        tl_cmd_chat_variables(&c->a.form, tl_chat_template(c), messages.p, hello->tools, out, &why, err);
    if (why.code) tl_status("warning: %s", why.text);
    tl_buf_free(&messages);
    return err->code;
}

/* The token that the template puts behind an answer, if it is a control token: files do not always name it. */
static int32_t find_end(const chat *c, const chat_talk *answered) {
    int n = 0;
    int32_t id = -1;
    tl_chat *r = render(c, answered, 0, 1, NULL);   /* a template that refuses this only says nothing of its end */
    const tl_chat_run *runs = tl_chat_runs(r, &n), *last = n ? &runs[n - 1] : NULL;
    if (last && last->trusted && n > 1) {
        size_t at = strspn(last->text, " \n");
        if (at < last->n && tl_tokenize(c->m, last->text + at, last->n - at, TL_PARSE_SPECIAL, &id, 1, NULL) < 1) id = -1;
        if (id >= 0 && tl_token_text(c->m, id, NULL, 0) > 0) id = -1;
    }
    tl_chat_free(r);
    return id;
}

/* hello: a question in place of the conversation, which gets an answer. */
static int check_with(chat *c, chat_talk *hello, tl_error *err) {
    tl_buf old = c->variables, found = {0};
    int rc = tl_chat_talk_add(hello, "user", "1", 1, err);
    if (rc == TL_OK) rc = find_variables(c, hello, &found, err);
    c->variables = found;
    tl_chat *r = rc == TL_OK ? render(c, hello, 0, 0, err) : NULL;
    if (r) rc = tl_chat_talk_add(hello, "assistant", "2", 1, err);
    if (r && rc == TL_OK) {
        /* With messages that have headers, one may end and the answer go on. */
        c->end = c->known.channels ? -1 : find_end(c, hello);
        tl_buf_free(&old);
    } else {
        tl_buf_free(&found);
        c->variables = old;
    }
    tl_chat_free(r);
    return err->code;
}

int tl_chat_turn_check(chat *c, tl_error *err) {
    if (!tl_chat_template(c))
        return tl_fail(err, TL_E_UNSUPPORTED,
                       "the file has no chat template: give one with --chat-template FILE, or continue a text with "
                       "tinyllm run MODEL -p TEXT");
    chat_talk hello = {.system = c->talk.system, .tools = c->talk.tools};
    int rc = check_with(c, &hello, err);
    hello.system = (chat_message){0};   /* the conversation's */
    hello.tools = NULL;
    tl_chat_talk_free(&hello);
    return rc;
}

int tl_chat_turn_try(const chat *c, int *n_tokens, tl_error *err) {
    tl_chat *r = c->talk.n ? render(c, &c->talk, 0, 0, err) : NULL;
    tl_chat_ids(r, n_tokens);
    tl_chat_free(r);
    return err->code;
}

/* How many tokens are left for an answer when turns are dropped to make room. */
static int room(const chat *c) {
    int quarter = tl_session_ctx(c->s) / 4;
    return c->a.n >= 0 && c->a.n < quarter ? (int)c->a.n : quarter;
}

/* The conversation without its first turns; *n its tokens. */
static tl_chat *render_rest(const chat *c, int turns, int *n, tl_error *err) {
    tl_chat *r = render(c, &c->talk, tl_chat_talk_turn(&c->talk, turns), 0, err);
    tl_chat_ids(r, n);
    if (r && !*n) {
        tl_fail(err, TL_E_FORMAT, "the chat template makes nothing of the conversation");
        tl_chat_free(r);
        return NULL;
    }
    return r;
}

/* Renders what fits: if that is allowed, as few turns as possible are dropped from the front. The last one is not: it may
 * fill the context. So it takes about log2(turns) renders. */
static tl_chat *render_to_fit(chat *c, tl_error *err) {
    int ctx = tl_session_ctx(c->s), shift = strcmp(c->a.overflow, "shift") == 0, last = 0, n, few = 0;
    while (tl_chat_talk_turn(&c->talk, last + 1) > 0) last++;
    c->dropped = 0;
    tl_chat *r = render_rest(c, 0, &n, err);
    if (!r || n <= ctx - (shift && last)) return r;
    for (int many = shift ? last : 0; r && few < many;) {   /* few are too few; with many it fits, or nothing does */
        int half = many - few > 1 ? few + (many - few) / 2 : many;
        tl_chat_free(r);
        r = render_rest(c, half, &n, err);
        c->dropped = half;
        if (half == many) break;
        if (n <= ctx - room(c)) many = half;
        else few = half;
    }
    if (r && n > ctx) {
        tl_fail(err, TL_E_CONTEXT, "the conversation has %d tokens, %d more than the context of %d: %s, or start with -c %d", n, n - ctx, ctx,
                last && !shift ? "/undo, /reset, --overflow shift (/set overflow shift)" : "say it with fewer words", n + room(c));
        tl_chat_free(r);
        r = NULL;
    }
    if (!r) c->dropped = 0;
    else tl_chat_talk_drop(&c->talk, tl_chat_talk_turn(&c->talk, c->dropped));
    return r;
}

/* ---- progress ------------------------------------------------------------------------------------------------------ */

typedef struct reading { double begun, shown; } reading;

static int prompt_progress(void *user, double done) {
    reading *r = user;
    double now = tl_now();
    if (now - r->begun > 1 && now - r->shown > 0.2) {
        tl_term_progress("reading %.0f %%", done * 100);
        r->shown = now;
    }
    return tl_cmd_interrupted();
}

/* ---- figures ------------------------------------------------------------------------------------------------------ */

static int print_json(const chat *c, tl_error *err) {
    const tl_generator_stats *g = &c->stats;
    tl_buf b = {0};
    tl_json j = {.out = &b};
    tl_json_begin(&j, NULL, '{');
    tl_json_str(&j, "text", c->text.p ? c->text.p : "", c->text.n);
    if (c->thinking.n) tl_json_str(&j, "thinking", c->thinking.p, c->thinking.n);
    if (c->n_tools) {
        tl_json_begin(&j, "tool_calls", '[');
        const char *p = c->tools.p;
        for (int i = 0; i < c->n_tools; i++, p += strlen(p) + 1) tl_json_cstr(&j, NULL, p);
        tl_json_end(&j, ']');
    }
    tl_json_i64(&j, "tokens", g->n_tokens);
    tl_json_i64(&j, "prompt_tokens", c->n_prompt);
    tl_json_i64(&j, "kept_tokens", c->n_kept);
    tl_json_i64(&j, "dropped_turns", c->dropped);
    tl_json_cstr(&j, "finish", tl_finish_name(g->finish));
    tl_json_i64(&j, "seed", c->answer_seed);
    tl_json_i64(&j, "ctx", tl_session_ctx(c->s));
    tl_json_num(&j, "prefill_tok_s", tl_cmd_rate(c->n_prompt - c->n_kept, c->prefill_seconds));
    tl_json_num(&j, "decode_tok_s", tl_cmd_rate(g->n_computed, g->seconds));
    tl_json_i64(&j, "passes", g->n_passes);
    tl_json_i64(&j, "drafted", g->n_drafted);
    tl_json_i64(&j, "accepted", g->n_accepted);
    tl_json_end(&j, '}');
    tl_buf_str(&b, "\n");
    int rc = b.failed || c->text.failed ? tl_fail(err, TL_E_MEMORY, "out of memory for the JSON text") : TL_OK;
    if (rc == TL_OK) fwrite(b.p, 1, b.n, stdout);
    tl_buf_free(&b);
    return rc;
}

static void say_finish(const chat *c) {
    const tl_generator_stats *g = &c->stats;
    if (g->finish == TL_END_LENGTH) tl_status("stopped: after %d tokens (-n N for more)", g->n_tokens);
    if (g->finish == TL_END_CANCELLED) tl_status("stopped: interrupted; the answer stays as it is (/undo takes it back)");
    if (g->finish == TL_END_CONTEXT)
        tl_status("stopped: the context of %d tokens is full (/undo, /reset, /set overflow shift, or -c N for more)",
                  tl_session_ctx(c->s));
}

/* ---- the turn ----------------------------------------------------------------------------------------------------- */

static int read_prompt(chat *c, const int32_t *ids, int n, tl_error *err) {
    reading r = {.begun = tl_now()};
    tl_session_set_progress(c->s, prompt_progress, &r);
    int kept = tl_session_prompt(c->s, 0, ids, n, err);
    tl_session_set_progress(c->s, NULL, NULL);
    tl_term_progress_end();
    c->prefill_seconds = tl_now() - r.begun;
    if (kept < 0) return kept;
    c->n_kept = kept;
    c->n_prompt = n;
    c->all_kept += kept;
    c->all_computed += n - kept;
    return TL_OK;
}

static int answer_prompt(chat *c, const tl_chat *r, chat_answer *a, tl_error *err) {
    int n;
    const int32_t *ids = tl_chat_ids(r, &n);
    a->prompt = tl_chat_text(r, &a->n_prompt);
    int rc = read_prompt(c, ids, n, err);
    return rc == TL_OK ? tl_chat_generate(a, ids, n, err) : rc;
}

int tl_chat_turn(chat *c, tl_error *err) {
    chat_answer a = {.c = c};
    tl_chat_answer_clear(&a);
    c->stats = (tl_generator_stats){0};
    tl_cmd_catch_interrupt();
    int n_before = tl_chat_talk_last_turn(&c->talk);
    tl_chat *r = render_to_fit(c, err);
    if (c->dropped) n_before = tl_chat_talk_last_turn(&c->talk);
    if (c->dropped)
        tl_status("the context of %d tokens is full: the oldest %d turn%s forgotten", tl_session_ctx(c->s), c->dropped,
                  c->dropped == 1 ? " is" : "s are");
    int rc = r ? answer_prompt(c, r, &a, err) : err->code;
    tl_cmd_release_interrupt();
    tl_chat_free(r);
    tl_term_dim(&c->out, 0);
    if (c->out.mid_line) tl_term_write(&c->out, "\n", 1);
    tl_term_end_line(&c->out);
    if (rc == TL_OK) rc = tl_chat_answer_keep(&a, err);
    if (rc == TL_OK) c->n_answers++;
    else tl_chat_talk_cut(&c->talk, n_before > 0 ? n_before : 0);
    if (rc == TL_OK && c->a.json) rc = print_json(c, err);
    if (tl_cmd_flush() != 0 && rc == TL_OK) rc = TL_E_IO;
    if (rc == TL_OK && (!c->a.quiet || c->stats.finish == TL_END_CONTEXT)) say_finish(c);
    if (rc == TL_E_CANCELLED) {
        *err = (tl_error){0};
        rc = TL_OK;
        tl_status("stopped: interrupted; nothing was answered, the question is taken back");
    }
    tl_buf_free(&a.whole);
    tl_buf_free(&a.parts.held);
    return rc;
}
