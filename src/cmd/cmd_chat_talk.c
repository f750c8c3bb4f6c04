/* SPDX-License-Identifier: MIT
 *
 * cmd_chat_talk.c: the conversation of cmd_chat.h, and its file. */
#include <string.h>
#include "base/json_read.h"
#include "cmd/cmd_chat.h"

int tl_chat_talk_add(chat_talk *t, const char *role, const char *text, size_t n, tl_error *err) {
    chat_message *m = tl_realloc_n(t->m, (size_t)t->n + 1, sizeof *m, "messages", err);
    if (!m) return TL_E_MEMORY;
    t->m = m;
    m += t->n;
    *m = (chat_message){.role = role};
    tl_buf_add(&m->text, text, n);
    tl_buf_add(&m->text, "", 1);   /* a terminator, for those who want one */
    if (m->text.failed) {
        tl_buf_free(&m->text);
        return tl_fail(err, TL_E_MEMORY, "out of memory for a message");
    }
    m->text.n = n;
    t->n++;
    return TL_OK;
}

void tl_chat_talk_cut(chat_talk *t, int n) {
    while (t->n > n) tl_buf_free(&t->m[--t->n].text);
}

void tl_chat_talk_drop(chat_talk *t, int n) {
    for (int i = 0; i < n; i++) tl_buf_free(&t->m[i].text);
    t->n -= n;
    memmove(t->m, t->m + n, (size_t)t->n * sizeof *t->m);
}

static int is_user(const chat_message *m) { return strcmp(m->role, "user") == 0; }

int tl_chat_talk_last_turn(const chat_talk *t) {
    int i = t->n - 1;
    while (i >= 0 && !is_user(&t->m[i])) i--;
    return i;
}

int tl_chat_talk_second_turn(const chat_talk *t) {
    for (int i = 1; i < t->n; i++)
        if (is_user(&t->m[i])) return i;
    return 0;
}

int tl_chat_talk_set(char **to, const char *text, tl_error *err) {
    char *copy = *text ? tl_strdup(text, err) : NULL;
    if (*text && !copy) return TL_E_MEMORY;
    tl_free(*to);
    *to = copy;
    return TL_OK;
}

void tl_chat_talk_free(chat_talk *t) {
    tl_chat_talk_cut(t, 0);
    tl_free(t->m);
    tl_free(t->system);
    tl_free(t->tools);
    *t = (chat_talk){0};
}

/* ---- writing ------------------------------------------------------------------------------------------------------ */

static void write_message(tl_json *j, const char *role, const char *text, size_t n) {
    tl_json_begin(j, NULL, '{');
    tl_json_cstr(j, "role", role);
    tl_json_str(j, "content", text, n);
    tl_json_end(j, '}');
}

int tl_chat_talk_save(const chat_talk *t, const char *path, tl_error *err) {
    tl_buf b = {0};
    tl_json j = {.out = &b};
    tl_json_begin(&j, NULL, '{');
    tl_json_begin(&j, "messages", '[');
    if (t->system) write_message(&j, "system", t->system, strlen(t->system));
    for (int i = 0; i < t->n; i++) write_message(&j, t->m[i].role, t->m[i].text.p, t->m[i].text.n);
    tl_json_end(&j, ']');
    if (t->tools) tl_buf_fmt(&b, ", \"tools\": %s", t->tools);
    tl_json_end(&j, '}');
    tl_buf_str(&b, "\n");
    int rc = b.failed ? tl_fail(err, TL_E_MEMORY, "out of memory for the conversation") : tl_write_file(path, b.p, b.n, err);
    tl_buf_free(&b);
    return rc;
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

enum { MAX_DEPTH = 64 };

static int skip_value(tl_json_in *r, tl_json_kind kind) {
    if (kind == TL_JSON_FAULT) return -1;
    if (kind != TL_JSON_LIST && kind != TL_JSON_DICT) return 0;
    for (int first = 1; tl_json_more(r, first) > 0; first = 0)
        if ((kind == TL_JSON_DICT && tl_json_key(r) < 0) || skip_value(r, tl_json_value(r)) < 0) return -1;
    return *r->fault ? -1 : 0;
}

static const char *const roles[] = {"system", "user", "assistant", "tool"};

static const char *known_role(const tl_buf *text) {
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (tl_slice_is((tl_slice){text->p, text->n}, roles[i])) return roles[i];
    return NULL;
}

/* A string member; where it is another kind of value, an error with the member's name. */
static int read_text(tl_json_in *r, const char *name, tl_buf *out, tl_error *err) {
    if (tl_json_value(r) != TL_JSON_STRING) return tl_fail(err, TL_E_FORMAT, "line %d: \"%s\" is no text", r->line, name);
    out->n = 0;
    tl_json_text(r->text, out);
    tl_buf_add(out, "", 1);
    if (out->failed) return tl_fail(err, TL_E_MEMORY, "out of memory for a message");
    out->n--;
    return TL_OK;
}

static int read_members(tl_json_in *r, tl_buf *role, tl_buf *text, tl_error *err) {
    int rc = TL_OK;
    if (tl_json_value(r) != TL_JSON_DICT) return tl_fail(err, TL_E_FORMAT, "line %d: a message is no object", r->line);
    for (int first = 1; rc == TL_OK && tl_json_more(r, first) > 0; first = 0) {
        if (tl_json_key(r) < 0) break;
        if (tl_slice_is(r->text, "role")) rc = read_text(r, "role", role, err);
        else if (tl_slice_is(r->text, "content")) rc = read_text(r, "content", text, err);
        else rc = tl_fail(err, TL_E_UNSUPPORTED, "line %d: a message has \"%.*s\", which is not known here", r->line,
                          (int)(r->text.n < 40 ? r->text.n : 40), r->text.p);
    }
    return rc;
}

static int read_message(tl_json_in *r, chat_talk *t, tl_error *err) {
    tl_buf role = {0}, text = {0};
    int rc = read_members(r, &role, &text, err);
    const char *name = rc == TL_OK ? known_role(&role) : NULL;
    if (rc == TL_OK && (!name || !text.p)) {
        if (!*r->fault)
            rc = tl_fail(err, TL_E_FORMAT, "line %d: a message needs \"content\" and a \"role\" of system, user, assistant or tool",
                         r->line);
    } else if (rc == TL_OK && strcmp(name, "system") == 0) {
        if (t->n || t->system) rc = tl_fail(err, TL_E_FORMAT, "line %d: a system message can only come first", r->line);
        else rc = tl_chat_talk_set(&t->system, text.p, err);
    } else if (rc == TL_OK) rc = tl_chat_talk_add(t, name, text.p, text.n, err);
    tl_buf_free(&role);
    tl_buf_free(&text);
    return rc;
}

static int read_tools(tl_json_in *r, chat_talk *t, tl_error *err) {
    if (tl_json_value(r) != TL_JSON_LIST) return *r->fault ? TL_OK : tl_fail(err, TL_E_FORMAT, "line %d: the tools are no list", r->line);
    const char *from = r->p - 1;   /* the bracket */
    if (skip_value(r, TL_JSON_LIST) < 0) return TL_OK;
    tl_free(t->tools);
    t->tools = tl_alloc_n((size_t)(r->p - from) + 1, 1, "the tools", err);
    if (!t->tools) return TL_E_MEMORY;
    memcpy(t->tools, from, (size_t)(r->p - from));
    return TL_OK;
}

static int read_talk(tl_json_in *r, chat_talk *t, tl_error *err) {
    int rc = TL_OK;
    if (tl_json_value(r) != TL_JSON_DICT) return *r->fault ? TL_OK : tl_fail(err, TL_E_FORMAT, "is no object with \"messages\"");
    for (int first = 1; rc == TL_OK && tl_json_more(r, first) > 0; first = 0) {
        if (tl_json_key(r) < 0) break;
        if (tl_slice_is(r->text, "tools")) rc = read_tools(r, t, err);
        else if (!tl_slice_is(r->text, "messages"))
            rc = tl_fail(err, TL_E_UNSUPPORTED, "line %d: \"%.*s\" is not known here", r->line,
                         (int)(r->text.n < 40 ? r->text.n : 40), r->text.p);
        else if (tl_json_value(r) != TL_JSON_LIST)
            rc = *r->fault ? TL_OK : tl_fail(err, TL_E_FORMAT, "line %d: \"messages\" is no list", r->line);
        else
            for (int one = 1; rc == TL_OK && tl_json_more(r, one) > 0; one = 0) rc = read_message(r, t, err);
    }
    return rc;
}

/* Reads a file by fn, which leaves faults of the JSON to be told here. */
static int read_file(chat_talk *t, const char *path, int (*fn)(tl_json_in *, chat_talk *, tl_error *), tl_error *err) {
    uint8_t closers[MAX_DEPTH];
    tl_error why = {0};
    size_t n;
    char *text = tl_read_file(path, &n, err);
    if (!text) return err->code;
    tl_json_in r = tl_json_open(text, n, closers, MAX_DEPTH);
    int rc = fn(&r, t, &why);
    if (rc == TL_OK && !*r.fault) tl_json_done(&r);
    if (*r.fault) rc = tl_fail(err, TL_E_FORMAT, "%s: line %d: %s", path, r.line, r.fault);
    else if (rc != TL_OK) tl_fail(err, rc, "%s: %s", path, why.text);
    tl_free(text);
    return rc;
}

int tl_chat_talk_load(chat_talk *t, const char *path, tl_error *err) {
    chat_talk read = {0};
    int rc = read_file(&read, path, read_talk, err);
    if (rc == TL_OK) {
        chat_talk old = *t;
        *t = read;
        read = old;
    }
    tl_chat_talk_free(&read);
    return rc;
}

int tl_chat_talk_read_tools(chat_talk *t, const char *path, tl_error *err) { return read_file(t, path, read_tools, err); }
