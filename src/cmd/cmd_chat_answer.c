/* SPDX-License-Identifier: MIT
 *
 * cmd_chat_answer.c: an answer of cmd_chat.h on its way from parts to the screen and into the conversation. */
#include <string.h>
#include "base/json_read.h"
#include "cmd/cmd_chat.h"

/* ---- calls of tools ----------------------------------------------------------------------------------------------- */

/* Whether text is one JSON value, and of which kind. */
static tl_json_kind json_kind(const char *text, size_t n) {
    uint8_t closers[CHAT_JSON_DEPTH];
    tl_json_in r = tl_json_open(text, n, closers, CHAT_JSON_DEPTH);
    tl_json_kind kind = tl_json_value(&r);
    return kind != TL_JSON_FAULT && tl_json_skip(&r, kind) == 0 && tl_json_done(&r) > 0 ? kind : TL_JSON_FAULT;
}

static void end_call(chat *c) {
    tl_buf_add(&c->tools, "", 1);
    c->n_tools++;
}

/* {"name": ..., "arguments": ...}; arguments that are no JSON are a text. */
static void add_named(chat *c, const char *name, size_t n_name, const char *arguments, size_t n) {
    tl_json j = {.out = &c->tools};
    tl_json_begin(&j, NULL, '{');
    tl_json_str(&j, "name", name, n_name);
    if (json_kind(arguments, n) != TL_JSON_FAULT) {
        tl_buf_str(j.out, ", \"arguments\": ");
        tl_buf_add(j.out, arguments, n);
    } else tl_json_str(&j, "arguments", arguments, n);
    tl_json_end(&j, '}');
    end_call(c);
}

static void add_list(chat *c, const char *text, size_t n) {
    uint8_t closers[CHAT_JSON_DEPTH];
    tl_json_in r = tl_json_open(text, n, closers, CHAT_JSON_DEPTH);
    tl_json_value(&r);
    for (int first = 1; tl_json_more(&r, first) > 0; first = 0) {
        const char *from = r.p;
        tl_json_skip(&r, tl_json_value(&r));
        from += strspn(from, " \t\r\n");
        tl_buf_add(&c->tools, from, (size_t)(r.p - from));
        end_call(c);
    }
}

static tl_slice trimmed(const char *p, size_t n) {
    while (n && strchr(" \t\r\n", *p)) p++, n--;
    while (n && strchr(" \t\r\n", p[n - 1])) n--;
    return (tl_slice){p, n};
}

static int takes_from(tl_slice *s, const char *prefix) {
    size_t n = strlen(prefix);
    if (s->n < n || memcmp(s->p, prefix, n) != 0) return 0;
    s->p += n, s->n -= n;
    return 1;
}

/* A call in fields. The arguments may be "NAME\n```json\n{...}\n```" (DeepSeek-V3), and the name "functions.NAME:0" (Kimi-K2). */
static void add_fields(chat *c, tl_slice name, tl_slice arguments) {
    const char *fence = memchr(arguments.p, '\n', arguments.n);
    tl_slice code = {fence, fence ? (size_t)(arguments.p + arguments.n - fence) : 0};
    if (takes_from(&code, "\n```")) {
        name = (tl_slice){arguments.p, (size_t)(fence - arguments.p)};
        takes_from(&code, "json");
        if (code.n >= 3 && memcmp(code.p + code.n - 3, "```", 3) == 0) code.n -= 3;
        arguments = trimmed(code.p, code.n);
    }
    name = trimmed(name.p, name.n);
    if (takes_from(&name, "functions."))
        for (size_t i = 0; i < name.n; i++)
            if (name.p[i] == ':') name.n = i;
    add_named(c, name.p, name.n, arguments.p, arguments.n);
}

/* The calls of a text that marks divide. One without arguments is not complete. */
static void keep_fields(chat *c) {
    chat_field begun = {0, CHAT_NAME}, next;
    tl_slice name = {"", 0};
    for (size_t i = 0; begun.field; i += sizeof next, begun = next) {
        next = (chat_field){c->call.n, 0};
        if (i < c->call_fields.n) memcpy(&next, c->call_fields.p + i, sizeof next);
        tl_slice text = trimmed(c->call.p + begun.at, next.at - begun.at);
        if (begun.field == CHAT_NAME) name = text;
        if (begun.field == CHAT_ARGUMENTS) add_fields(c, name, text);
    }
}

/* The call's text is complete. Between control tokens it may be a list of calls, or a name and what follows it. */
static void keep_call(chat *c, int by_token) {
    const char *text = c->call.p ? c->call.p : "";
    size_t n = c->call.n;
    if (c->call_name.n) add_named(c, c->call_name.p, c->call_name.n, text, n);
    else if (c->call_fields.n && c->call.n) keep_fields(c);
    else if (by_token && json_kind(text, n) == TL_JSON_LIST) add_list(c, text, n);
    else if (by_token && json_kind(text, n) == TL_JSON_FAULT && memchr(text, '{', n)) {
        size_t name = (size_t)((const char *)memchr(text, '{', n) - text), trimmed = name;
        while (trimmed && strchr(" \t\r\n", text[trimmed - 1])) trimmed--;
        add_named(c, text, trimmed, text + name, n - name);
    } else {
        tl_buf_add(&c->tools, text, n);
        end_call(c);
    }
    c->call.n = c->call_name.n = c->call_fields.n = 0;
}

/* The function that a message's header is for: " to=functions.NAME". */
static void read_recipient(const char *header, size_t n, tl_buf *name) {
    static const char to[] = " to=", functions[] = "functions.";
    name->n = 0;
    for (size_t at = 0; at + sizeof to - 1 <= n; at++) {
        if (memcmp(header + at, to, sizeof to - 1) != 0) continue;
        header += at + sizeof to - 1, n -= at + sizeof to - 1;
        size_t skip = sizeof functions - 1;
        if (n >= skip && memcmp(header, functions, skip) == 0) header += skip, n -= skip;
        size_t len = 0;
        while (len < n && !strchr(" \t\r\n<", header[len])) len++;
        tl_buf_add(name, header, len);
        return;
    }
}

/* ---- showing ------------------------------------------------------------------------------------------------------ */

void tl_chat_answer_clear(const chat_answer *a) {
    chat *c = a->c;
    c->thinking.n = c->text.n = c->tools.n = c->call.n = c->call_name.n = c->call_fields.n = 0;
    c->n_tools = 0;
}

int tl_chat_may_think(const chat_answer *a) {
    const chat *c = a->c;
    chat_parts p = {0};
    tl_chat_parts_begin(&p, c->known, a->prompt, a->n_prompt);
    if (p.kind == CHAT_THINK) return 1;
    return strcmp(c->a.form.think, "off") != 0 && !tl_chat_parts_closed(a->prompt, a->n_prompt) && tl_chat_parts_think(c->known, tl_chat_template(c));
}

/* Text before or behind free thoughts, in one token with a mark: but for blanks it is not the grammar's, and goes. */
static int is_stray(chat_answer *a, int kind, int mark, const char *text, size_t n) {
    a->thought |= kind == CHAT_THINK;
    if (!a->free || kind == CHAT_THINK || (mark && a->parts.known.channels)) return 0;
    size_t blanks = 0;
    while (blanks < n && strchr(" \t\r\n", text[blanks])) blanks++;
    if (a->thought && blanks < n) a->whole.n -= n;
    return !a->thought || blanks < n;
}

void tl_chat_answer_part(void *answer, int kind, int mark, const char *text, size_t n) {
    chat_answer *a = answer;
    chat *c = a->c;
    if (is_stray(a, kind, mark, text, n)) return;
    const int hides = strcmp(c->a.form.think, "hide") == 0, hidden = hides && kind == CHAT_THINK;
    tl_buf *part = kind == CHAT_THINK ? &c->thinking : kind == CHAT_TOOL ? &c->call : &c->text;
    if (kind == CHAT_TEXT && mark) {   /* the header of a message says nothing that is to be seen */
        if (c->out.mid_line && !c->a.json) tl_term_write(&c->out, "\n", mark == CHAT_OPENS);
        return;
    }
    if (kind == CHAT_TEXT && !c->text.n && (c->a.json || hides))   /* blanks between thoughts and answer */
        for (; n && c->thinking.n && strchr(" \r\n", *text); n--) text++;
    if (!mark) tl_buf_add(part, text, n);
    else if (kind == CHAT_TOOL && mark == CHAT_CLOSES) keep_call(c, a->parts.by_token);
    else if (kind == CHAT_TOOL && mark >= CHAT_NAME) tl_buf_add(&c->call_fields, (const char *)&(chat_field){c->call.n, mark}, sizeof(chat_field));
    else if (kind == CHAT_TOOL) {
        c->call.n = c->call_fields.n = 0;
        read_recipient(text, n, &c->call_name);
    }
    if (c->a.json || hidden || !n) return;
    tl_term_dim(&c->out, c->colour && kind != CHAT_TEXT);
    tl_term_write(&c->out, text, n);
}

/* ---- keeping ------------------------------------------------------------------------------------------------------ */

/* Whether a call can be given back to the template as one: an object with a name. */
static int is_call(const char *text) {
    uint8_t closers[CHAT_JSON_DEPTH];
    size_t n = strlen(text);
    tl_json_in r = tl_json_open(text, n, closers, CHAT_JSON_DEPTH);
    return json_kind(text, n) == TL_JSON_DICT && tl_json_value(&r) == TL_JSON_DICT && tl_json_seek(&r, "name") == TL_JSON_STRING;
}

/* Ids have nine letters and digits, as Mistral's templates demand. */
static void write_calls(const chat *c, tl_json *j) {
    const char *p = c->tools.p;
    tl_json_begin(j, "tool_calls", '[');
    for (int i = 0; i < c->n_tools; i++, p += strlen(p) + 1) {
        char id[16];
        if (!is_call(p)) continue;
        snprintf(id, sizeof id, "call%05d", (c->talk.n * 10 + i) % 100000);
        tl_json_begin(j, NULL, '{');
        tl_json_cstr(j, "id", id);
        tl_json_cstr(j, "type", "function");
        tl_buf_fmt(j->out, ", \"function\": %s", p);
        tl_json_end(j, '}');
    }
    tl_json_end(j, ']');
}

int tl_chat_answer_keep(const chat_answer *a, tl_error *err) {
    chat *c = a->c;
    if (!a->parts.by_token) return tl_chat_talk_add(&c->talk, "assistant", a->whole.p ? a->whole.p : "", a->whole.n, err);
    tl_buf b = {0}, text = {0};
    tl_json j = {.out = &b};
    int n_calls = 0;
    tl_buf_add(&text, c->text.p, c->text.n);
    const char *p = c->tools.p;
    for (int i = 0; i < c->n_tools; i++, p += strlen(p) + 1)
        if (is_call(p)) n_calls++;
        else tl_buf_str(&text, p);
    tl_json_begin(&j, NULL, '{');
    tl_json_cstr(&j, "role", "assistant");
    tl_json_str(&j, "content", text.p ? text.p : "", text.n);
    if (c->thinking.n) tl_json_str(&j, a->parts.known.channels ? "thinking" : "reasoning_content", c->thinking.p, c->thinking.n);
    if (n_calls) write_calls(c, &j);
    tl_json_end(&j, '}');
    b.failed |= text.failed | c->tools.failed | c->call.failed | c->thinking.failed;
    tl_buf_free(&text);
    return tl_chat_talk_add_json(&c->talk, "assistant", b, err);
}
