/* SPDX-License-Identifier: MIT
 *
 * cmd_chat_talk.c: the conversation of cmd_chat.h, and its file. */
#include <string.h>
#include "base/json_read.h"
#include "cmd/cmd_chat.h"

static void free_message(chat_message *m) {
    tl_buf_free(&m->json);
    tl_buf_free(&m->plain);
    *m = (chat_message){0};
}

/* Takes json and plain, also after an error. */
static int add_message(chat_talk *t, chat_message m, tl_error *err) {
    chat_message *all = m.json.failed || m.plain.failed ? NULL : tl_realloc_n(t->m, (size_t)t->n + 1, sizeof *all, "messages", err);
    if (!all) {
        free_message(&m);
        return tl_fail(err, TL_E_MEMORY, "out of memory for a message");
    }
    t->m = all;
    all[t->n++] = m;
    return TL_OK;
}

static chat_message new_message(const char *role, const char *text, size_t n) {
    chat_message m = {.role = role};
    tl_json j = {.out = &m.json};
    tl_json_begin(&j, NULL, '{');
    tl_json_cstr(&j, "role", role);
    tl_json_str(&j, "content", text, n);
    tl_json_end(&j, '}');
    return m;
}

int tl_chat_talk_add(chat_talk *t, const char *role, const char *text, size_t n, tl_error *err) {
    return add_message(t, new_message(role, text, n), err);
}

int tl_chat_talk_add_json(chat_talk *t, const char *role, tl_buf json, tl_error *err) {
    return add_message(t, (chat_message){.role = role, .json = json}, err);
}

/* Of call k among an answer's tool_calls: its id and its function's name, as they stand between quotes. */
static void find_call(const chat_message *m, int k, tl_slice *id, tl_slice *name) {
    uint8_t closers[CHAT_JSON_DEPTH];
    tl_json_in r = tl_json_open(m->json.p, m->json.n, closers, CHAT_JSON_DEPTH);
    if (tl_json_value(&r) != TL_JSON_DICT || tl_json_seek(&r, "tool_calls") != TL_JSON_LIST) return;
    for (int first = 1; tl_json_more(&r, first) > 0; first = 0) {
        tl_json_kind kind = tl_json_value(&r);
        tl_json_in call = r;
        if (k-- > 0) tl_json_skip(&r, kind);
        else if (kind != TL_JSON_DICT) return;
        else {
            if (tl_json_seek(&r, "id") == TL_JSON_STRING) *id = r.text;
            if (tl_json_seek(&call, "function") == TL_JSON_DICT && tl_json_seek(&call, "name") == TL_JSON_STRING) *name = call.text;
            return;
        }
    }
}

int tl_chat_talk_add_result(chat_talk *t, const char *text, size_t n, tl_error *err) {
    chat_message m = {.role = "tool"};
    tl_slice id = {0}, name = {0};
    int answer = t->n - 1;
    while (answer > 0 && strcmp(t->m[answer].role, "tool") == 0) answer--;
    if (answer >= 0) find_call(&t->m[answer], t->n - 1 - answer, &id, &name);
    tl_json j = {.out = &m.json};
    tl_json_begin(&j, NULL, '{');
    tl_json_cstr(&j, "role", m.role);
    if (id.p) tl_buf_fmt(&m.json, ", \"tool_call_id\": \"%.*s\"", (int)id.n, id.p);
    if (name.p) tl_buf_fmt(&m.json, ", \"name\": \"%.*s\"", (int)name.n, name.p);
    tl_json_str(&j, "content", text, n);
    tl_json_end(&j, '}');
    return add_message(t, m, err);
}

int tl_chat_talk_set_system(chat_talk *t, const char *text, tl_error *err) {
    chat_message m = *text ? new_message("system", text, strlen(text)) : (chat_message){0};
    if (m.json.failed) {
        free_message(&m);
        return tl_fail(err, TL_E_MEMORY, "out of memory for a message");
    }
    free_message(&t->system);
    t->system = m;
    return TL_OK;
}

void tl_chat_talk_cut(chat_talk *t, int n) {
    while (t->n > n) free_message(&t->m[--t->n]);
}

void tl_chat_talk_drop(chat_talk *t, int n) {
    for (int i = 0; i < n; i++) free_message(&t->m[i]);
    t->n -= n;
    if (t->n) memmove(t->m, t->m + n, (size_t)t->n * sizeof *t->m);
}

static int is_user(const chat_message *m) { return strcmp(m->role, "user") == 0; }

int tl_chat_talk_last_turn(const chat_talk *t) {
    int i = t->n - 1;
    while (i >= 0 && !is_user(&t->m[i])) i--;
    return i;
}

int tl_chat_talk_turn(const chat_talk *t, int turn) {
    int i = 0;
    while (turn > 0 && ++i < t->n) turn -= is_user(&t->m[i]);
    return turn > 0 ? -1 : i;
}

void tl_chat_talk_json(const chat_talk *t, int from, tl_buf *out) {
    const char *before = "[";
    for (int i = t->system.role ? -1 : from; i < t->n; i = i < 0 ? from : i + 1) {
        const chat_message *m = i < 0 ? &t->system : &t->m[i];
        tl_buf_str(out, before);
        tl_buf_add(out, m->plain.n ? m->plain.p : m->json.p, m->plain.n ? m->plain.n : m->json.n);
        before = ", ";
    }
    tl_buf_str(out, *before == '[' ? "[]" : "]");
}

int tl_chat_message_text(const chat_message *m, tl_buf *out, tl_error *err) {
    uint8_t closers[CHAT_JSON_DEPTH];
    const tl_buf *json = m->plain.n ? &m->plain : &m->json;
    tl_json_in r = tl_json_open(json->p, json->n, closers, CHAT_JSON_DEPTH);
    out->n = 0;
    if (tl_json_value(&r) == TL_JSON_DICT && tl_json_seek(&r, "content") == TL_JSON_STRING) tl_json_text(r.text, out);
    tl_buf_add(out, "", 1);
    if (out->failed) return tl_fail(err, TL_E_MEMORY, "out of memory for a message");
    out->n--;
    return TL_OK;
}

void tl_chat_talk_free(chat_talk *t) {
    tl_chat_talk_cut(t, 0);
    free_message(&t->system);
    tl_free(t->m);
    tl_free(t->tools);
    tl_buf_free(&t->others);
    *t = (chat_talk){0};
}

/* ---- writing ------------------------------------------------------------------------------------------------------ */

int tl_chat_talk_save(const chat_talk *t, const char *path, tl_error *err) {
    tl_buf b = {0};
    tl_json j = {.out = &b};
    tl_json_begin(&j, NULL, '{');
    tl_json_begin(&j, "messages", '[');
    for (int i = -!!t->system.role; i < t->n; i++) {
        const tl_buf *json = i < 0 ? &t->system.json : &t->m[i].json;
        tl_buf_fmt(&b, "%s", i >= !t->system.role ? ", " : "");
        tl_buf_add(&b, json->p, json->n);
    }
    tl_json_end(&j, ']');
    if (t->tools) tl_buf_fmt(&b, ", \"tools\": %s", t->tools);
    tl_buf_add(&b, t->others.p, t->others.n);
    tl_json_end(&j, '}');
    tl_buf_str(&b, "\n");
    int rc = b.failed ? tl_fail(err, TL_E_MEMORY, "out of memory for the conversation") : tl_write_file(path, b.p, b.n, err);
    tl_buf_free(&b);
    return rc;
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

/* What is wrong with a file. Faults of the JSON itself come first: they are told by read_file. */
#define FAULT(r, ...) (*(r)->fault ? TL_OK : tl_fail(err, TL_E_FORMAT, __VA_ARGS__))

/* Appends a member as it stands in the text; from: behind its colon. */
static void copy_member(const tl_json_in *r, const char *before, tl_slice key, const char *from, tl_buf *out) {
    from += strspn(from, " \t\r\n");
    tl_buf_fmt(out, "%s\"%.*s\": ", before, (int)key.n, key.p);
    tl_buf_add(out, from, (size_t)(r->p - from));
}

/* The roles of the OpenAI API. */
static const char *known_role(tl_slice text) {
    static const char *const roles[] = {"system", "developer", "user", "assistant", "tool", "function"};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (tl_slice_is(text, roles[i])) return roles[i];
    return NULL;
}

/* A part of a content: {"type": "text", "text": "..."}. Parts become lines of one text. */
static int read_part(tl_json_in *r, int number, tl_buf *out, tl_error *err) {
    tl_slice type = {0}, text = {0};
    if (tl_json_value(r) != TL_JSON_DICT) return FAULT(r, "\"content\": part %d is no object", number);
    for (int first = 1; tl_json_more(r, first) > 0 && tl_json_key(r) > 0; first = 0) {
        tl_slice key = r->text;
        tl_json_kind kind = tl_json_value(r);
        if (kind == TL_JSON_STRING && tl_slice_is(key, "type")) type = r->text;
        if (kind == TL_JSON_STRING && tl_slice_is(key, "text")) text = r->text;
        if (tl_json_skip(r, kind) < 0) return TL_OK;
    }
    if (!tl_slice_is(type, "text") || !text.p)
        return FAULT(r, "\"content\": part %d is of type \"%.*s\", and only text can be read", number, (int)(type.n < 40 ? type.n : 40),
                     type.p ? type.p : "");
    if (number > 1) tl_buf_str(out, "\n");
    tl_json_text(text, out);
    return TL_OK;
}

/* What is known of a message while it is read. */
typedef struct incoming {
    const char *role;
    int has_content, odd;     /* odd: the content is not just text */
    tl_buf text;              /* of it */
} incoming;

static int read_content(tl_json_in *r, tl_json_kind kind, incoming *m, tl_error *err) {
    m->has_content = kind == TL_JSON_STRING || kind == TL_JSON_LIST ? 1 : -1;   /* -1: null */
    m->odd = kind != TL_JSON_STRING;
    m->text.n = 0;
    if (kind == TL_JSON_STRING) tl_json_text(r->text, &m->text);
    int rc = TL_OK, n = 0;
    if (kind == TL_JSON_LIST)
        for (int first = 1; rc == TL_OK && tl_json_more(r, first) > 0; first = 0) rc = read_part(r, ++n, &m->text, err);
    else if (kind != TL_JSON_STRING && kind != TL_JSON_NULL) rc = FAULT(r, "\"content\" is neither a text nor a list of parts");
    return rc;
}

/* A member's value. Those that no template of ours is known to read are kept as they are. */
static int read_member(tl_json_in *r, tl_slice key, incoming *m, tl_error *err) {
    static const struct { const char *name; tl_json_kind kind; const char *what; } known[] = {
        {"name", TL_JSON_STRING, "text"}, {"tool_call_id", TL_JSON_STRING, "text"}, {"reasoning_content", TL_JSON_STRING, "text"},
        {"tool_calls", TL_JSON_LIST, "list"},
    };
    tl_json_kind kind = tl_json_value(r);
    if (tl_slice_is(key, "content")) return read_content(r, kind, m, err);
    if (tl_slice_is(key, "role")) {
        m->role = kind == TL_JSON_STRING ? known_role(r->text) : NULL;
        return m->role ? TL_OK : FAULT(r, "\"role\" is not system, developer, user, assistant, tool or function");
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (tl_slice_is(key, known[i].name) && kind != known[i].kind && kind != TL_JSON_NULL)
            return FAULT(r, "\"%s\" is no %s", known[i].name, known[i].what);
    tl_json_skip(r, kind);
    return TL_OK;
}

/* The members, and to *plain the object with its content as a text. */
static int read_members(tl_json_in *r, incoming *m, tl_buf *plain, tl_error *err) {
    int rc = TL_OK;
    if (tl_json_value(r) != TL_JSON_DICT) return FAULT(r, "is no object");
    for (int first = 1; rc == TL_OK && tl_json_more(r, first) > 0; first = 0) {
        if (tl_json_key(r) < 0) break;
        tl_slice key = r->text;
        const char *value = r->p;
        rc = read_member(r, key, m, err);
        if (rc != TL_OK || *r->fault) break;
        tl_buf_str(plain, first ? "{" : ", ");
        tl_json j = {.out = plain};
        if (tl_slice_is(key, "content")) tl_json_str(&j, "content", m->text.p ? m->text.p : "", m->text.n);
        else copy_member(r, "", key, value, plain);
    }
    tl_buf_str(plain, "}");
    if (rc != TL_OK || *r->fault) return rc;
    if (!m->role) return FAULT(r, "\"role\" is missing");
    if (m->has_content <= 0 && strcmp(m->role, "assistant") != 0)
        return FAULT(r, "\"content\" %s", m->has_content ? "is null" : "is missing");
    return TL_OK;
}

static int read_message(tl_json_in *r, chat_talk *t, tl_error *err) {
    const char *from = r->p;
    chat_message m = {0};
    incoming got = {0};
    int rc = read_members(r, &got, &m.plain, err), is_first = !t->n && !t->system.role;
    while (from < r->p && *from != '{') from++;
    tl_buf_add(&m.json, from, (size_t)(r->p - from));
    m.plain.failed |= got.text.failed;
    if (!got.odd) tl_buf_free(&m.plain);
    tl_buf_free(&got.text);
    m.role = got.role;
    if (rc == TL_OK && !*r->fault) rc = add_message(t, m, err);
    else free_message(&m);
    if (rc == TL_OK && !*r->fault && is_first && (strcmp(m.role, "system") == 0 || strcmp(m.role, "developer") == 0))
        t->system = t->m[--t->n];
    return rc;
}

static int read_messages(tl_json_in *r, chat_talk *t, tl_error *err) {
    int rc = TL_OK, n = 0;
    for (int first = 1; rc == TL_OK && tl_json_more(r, first) > 0; first = 0) {
        n++;
        rc = read_message(r, t, err);
        if (rc != TL_OK) tl_error_context(err, "line %d: message %d", r->line, n);
    }
    return rc;
}

static int read_tools(tl_json_in *r, chat_talk *t, tl_error *err) {
    tl_json_kind kind = tl_json_value(r);
    if (kind == TL_JSON_NULL) return TL_OK;
    if (kind != TL_JSON_LIST) return FAULT(r, "line %d: the tools are no list", r->line);
    const char *from = r->p - 1;   /* the bracket */
    if (tl_json_skip(r, TL_JSON_LIST) < 0) return TL_OK;
    tl_free(t->tools);
    t->tools = tl_alloc_n((size_t)(r->p - from) + 1, 1, "the tools", err);
    if (!t->tools) return TL_E_MEMORY;
    memcpy(t->tools, from, (size_t)(r->p - from));
    return TL_OK;
}

/* An object with "messages", as requests of the OpenAI API have it, or the list alone. */
static int read_talk(tl_json_in *r, chat_talk *t, tl_error *err) {
    int rc = TL_OK, found = 0;
    tl_json_kind kind = tl_json_value(r);
    if (kind == TL_JSON_LIST) return read_messages(r, t, err);
    if (kind != TL_JSON_DICT) return FAULT(r, "is no conversation: an object with \"messages\", or a list of them");
    for (int first = 1; rc == TL_OK && tl_json_more(r, first) > 0; first = 0) {
        if (tl_json_key(r) < 0) break;
        tl_slice key = r->text;
        const char *value = r->p;
        if (tl_slice_is(key, "tools")) rc = read_tools(r, t, err);
        else if (tl_slice_is(key, "messages")) {
            if (tl_json_value(r) != TL_JSON_LIST) rc = FAULT(r, "line %d: \"messages\" is no list", r->line);
            else if (found++) rc = FAULT(r, "line %d: \"messages\" stands there twice", r->line);
            else rc = read_messages(r, t, err);
        } else if (tl_json_skip(r, tl_json_value(r)) == 0) copy_member(r, ", ", key, value, &t->others);
    }
    if (rc == TL_OK && t->others.failed) rc = tl_fail(err, TL_E_MEMORY, "out of memory for the conversation");
    return rc == TL_OK && !found ? FAULT(r, "is no conversation: it has no \"messages\"") : rc;
}

int tl_chat_talk_load(chat_talk *t, const char *path, tl_error *err) {
    uint8_t closers[CHAT_JSON_DEPTH];
    tl_error why = {0};
    size_t n;
    char *text = tl_read_file(path, &n, err);
    if (!text) return err->code;
    tl_json_in r = tl_json_open(text, n, closers, CHAT_JSON_DEPTH);
    int rc = read_talk(&r, t, &why);
    if (rc == TL_OK && !*r.fault) tl_json_done(&r);
    if (*r.fault) rc = tl_fail(err, TL_E_FORMAT, "%s: line %d: %s", path, r.line, r.fault);
    else if (rc != TL_OK) tl_fail(err, rc, "%s: %s", path, why.text);
    tl_free(text);
    return rc;
}
