/* SPDX-License-Identifier: MIT
 *
 * chat.c: the chat part of tinyllm.h: messages through a template (tmpl/) to token ids (text/). */
#include <string.h>
#include "model/model.h"
#include "tmpl/tmpl.h"

struct tl_chat {
    tl_buf text, trust;       /* bytes, and a flag for each */
    tl_chat_run *runs;
    int n_runs;
    int32_t *ids;
    int n_ids;
};

/* ---- variables ---- */

static void write_messages(tl_buf *out, const tl_chat_options *o) {
    tl_json j = {.out = out};
    tl_json_begin(&j, NULL, '[');
    for (int i = 0; i < o->n_messages; i++) {
        const tl_chat_message *m = &o->messages[i];
        tl_json_begin(&j, NULL, '{');
        tl_json_cstr(&j, "role", m->role ? m->role : "");
        tl_json_str(&j, "content", m->content ? m->content : "", m->n || !m->content ? m->n : strlen(m->content));
        tl_json_end(&j, '}');
    }
    tl_json_end(&j, ']');
}

/* A template is never shown a token the vocabulary does not have: it then finds the name undefined. */
static void write_token(tl_json *j, const char *name, const tl_model *m, int32_t id) {
    const char *piece = id < 0 ? NULL : tl_token_piece(m, id);
    if (piece) tl_json_cstr(j, name, piece);
}

static void write_settings(tl_buf *out, const tl_model *m, const tl_chat_options *o) {
    tl_json j = {.out = out};
    tl_json_begin(&j, NULL, '{');
    tl_json_bool(&j, "add_generation_prompt", !o->no_generation_prompt);
    write_token(&j, "bos_token", m, tl_token_bos(m));
    write_token(&j, "eos_token", m, tl_token_eos(m));
    tl_json_end(&j, '}');
}

/* The caller's variables come first: what is given here by other means is not theirs to change. */
static int render(tl_chat *c, const tl_tmpl *t, const tl_model *m, const tl_chat_options *o, tl_error *err) {
    tl_buf messages = {0}, settings = {0};
    tl_tmpl_source source[4];
    int n = 0;
    if (o->variables_json) source[n++] = (tl_tmpl_source){"the variables", NULL, o->variables_json, strlen(o->variables_json)};
    if (o->messages_json) source[n++] = (tl_tmpl_source){"the messages", "messages", o->messages_json, strlen(o->messages_json)};
    else {
        write_messages(&messages, o);
        source[n++] = (tl_tmpl_source){"the messages", "messages", messages.p, messages.n};
    }
    if (o->tools_json) source[n++] = (tl_tmpl_source){"the tools", "tools", o->tools_json, strlen(o->tools_json)};
    write_settings(&settings, m, o);
    source[n++] = (tl_tmpl_source){"the settings", NULL, settings.p, settings.n};
    int rc = messages.failed || settings.failed ? tl_fail(err, TL_E_MEMORY, "out of memory for the messages")
                                                : tl_tmpl_render(t, source, n, &c->text, &c->trust, err);
    if (rc == TL_OK && !c->text.p) tl_buf_str(&c->text, "");
    if (rc == TL_OK && c->text.failed) rc = tl_fail(err, TL_E_MEMORY, "out of memory for the text");
    tl_buf_free(&messages);
    tl_buf_free(&settings);
    return rc;
}

/* ---- results ---- */

static int find_runs(tl_chat *c, tl_error *err) {
    const char *text = c->text.p, *trust = c->trust.p;
    for (size_t i = 0; i < c->text.n; i++) c->n_runs += i == 0 || trust[i] != trust[i - 1];
    c->runs = tl_alloc_n((size_t)c->n_runs + 1, sizeof *c->runs, "runs of a text", err);
    if (!c->runs) return TL_E_MEMORY;
    tl_chat_run *r = c->runs - 1;
    for (size_t i = 0; i < c->text.n; i++) {
        if (i == 0 || trust[i] != trust[i - 1]) *++r = (tl_chat_run){text + i, 0, trust[i]};
        r->n++;
    }
    return TL_OK;
}

static int find_ids(tl_chat *c, const tl_model *m, int flags, tl_error *err) {
    int n = tl_tokenizer_encode(m->tok, c->text.p, c->text.n, c->trust.p, flags, NULL, 0, err);
    if (n < 0) return n;
    c->ids = tl_alloc_n((size_t)n + 1, sizeof *c->ids, "token ids", err);
    if (!c->ids) return TL_E_MEMORY;
    c->n_ids = tl_tokenizer_encode(m->tok, c->text.p, c->text.n, c->trust.p, flags, c->ids, n, err);
    return c->n_ids < 0 ? c->n_ids : TL_OK;
}

tl_chat *tl_chat_render(const tl_model *m, const tl_chat_options *o, tl_error *err) {
    if (!m || !o || o->n_messages < 0 || (o->n_messages && !o->messages && !o->messages_json)) {
        tl_fail(err, TL_E_ARGUMENT, "a chat needs a model and messages");
        return NULL;
    }
    const char *source = o->chat_template ? o->chat_template : tl_model_chat_template(m);
    if (!source) {
        tl_fail(err, TL_E_UNSUPPORTED, "the model's file has no chat template (tokenizer.chat_template): give one");
        return NULL;
    }
    tl_chat *c = tl_alloc_n(1, sizeof *c, "a chat", err);
    tl_tmpl *t = c ? tl_tmpl_parse("tokenizer.chat_template", source, strlen(source), err) : NULL;
    int rc = t ? render(c, t, m, o, err) : TL_E_FORMAT;
    if (rc == TL_OK) rc = find_runs(c, err);
    if (rc == TL_OK) rc = find_ids(c, m, o->no_bos ? 0 : TL_ADD_BOS, err);
    tl_tmpl_free(t);
    if (rc == TL_OK) return c;
    tl_chat_free(c);
    return NULL;
}

void tl_chat_free(tl_chat *c) {
    if (!c) return;
    tl_buf_free(&c->text);
    tl_buf_free(&c->trust);
    tl_free(c->runs);
    tl_free(c->ids);
    tl_free(c);
}

const char *tl_chat_text(const tl_chat *c, size_t *n) {
    if (n) *n = c ? c->text.n : 0;
    return c ? c->text.p : NULL;
}

const tl_chat_run *tl_chat_runs(const tl_chat *c, int *count) {
    if (count) *count = c ? c->n_runs : 0;
    return c ? c->runs : NULL;
}

const int32_t *tl_chat_ids(const tl_chat *c, int *count) {
    if (count) *count = c ? c->n_ids : 0;
    return c ? c->ids : NULL;
}
