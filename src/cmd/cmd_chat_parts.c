/* SPDX-License-Identifier: MIT
 *
 * cmd_chat_parts.c: the parts of an answer (cmd_chat.h): text, thoughts, calls of tools. */
#include <string.h>
#include "cmd/cmd_chat.h"

#define CHAT_MARK(kind, open, close, at_start) {kind, open, close, at_start},
static const struct mark { int kind; const char *open, *close; int at_start; } marks[] = {
#include "chat_marks.def"
};
#undef CHAT_MARK
#define CHAT_CHANNEL(kind, holds) {kind, holds},
static const struct channel { int kind; const char *holds; } channels[] = {
#include "chat_marks.def"
};
#undef CHAT_CHANNEL
#define CHAT_FIELD(open, field, mark) {open, field, mark},
static const struct field { const char *open; int field; const char *mark; } fields[] = {
#include "chat_marks.def"
};
#undef CHAT_FIELD
enum { N_FIELDS = sizeof fields / sizeof fields[0] };
enum { N_MARKS = sizeof marks / sizeof marks[0], N_CHANNELS = sizeof channels / sizeof channels[0] };

static int is_control(const tl_model *m, const char *name) {
    int32_t id;
    return tl_tokenize(m, name, strlen(name), TL_PARSE_SPECIAL, &id, 1, NULL) == 1 && tl_token_text(m, id, NULL, 0) == 0;
}

chat_known tl_chat_known(const tl_model *m) {
    chat_known k = {.channels = is_control(m, "<|start|>") && is_control(m, "<|channel|>") && is_control(m, "<|message|>")};
    for (int i = 0; i < N_MARKS; i++)
        if (is_control(m, marks[i].open)) k.control |= (uint32_t)1 << i;
    for (int i = 0; i < N_FIELDS; i++)
        if (is_control(m, fields[i].mark)) k.control |= (uint32_t)1 << (N_MARKS + i);
    return k;
}

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

_Static_assert(N_MARKS + N_FIELDS <= 32, "bits of chat_known.control");

static int divides(const chat_parts *p, const struct field *f) { return p->kind == CHAT_TOOL && strcmp(marks[p->row].open, f->open) == 0; }

/* The mark that would end, begin or divide (from N_MARKS on) a part now; NULL: i is not one of those. */
static const char *wanted(const chat_parts *p, int i, int begun) {
    if (p->known.channels || p->known.control >> i & 1) return NULL;
    if (i >= N_MARKS) return divides(p, &fields[i - N_MARKS]) ? fields[i - N_MARKS].mark : NULL;
    if (p->kind != CHAT_TEXT) return marks[i].kind == p->kind && marks[i].close[0] ? marks[i].close : NULL;
    return marks[i].at_start && begun ? NULL : marks[i].open;
}

enum { NOTHING = -1, PERHAPS = -2 };

/* What begins at held[at]: the number of a whole mark, perhaps one, or nothing. */
static int look(const chat_parts *p, size_t at, int begun) {
    size_t left = p->held.n - at;
    int found = NOTHING;
    for (int i = 0; i < N_MARKS + N_FIELDS; i++) {
        const char *mark = wanted(p, i, begun);
        size_t n = mark ? strlen(mark) : 0, same = n < left ? n : left;
        if (!mark || memcmp(mark, p->held.p + at, same) != 0) continue;
        if (n <= left) return i;
        found = PERHAPS;
    }
    return found;
}

static void give(chat_parts *p, size_t n, int mark, chat_part_fn *fn, void *user) {
    if (!n) return;
    fn(user, p->kind, mark, p->held.p, n);
    memmove(p->held.p, p->held.p + n, p->held.n - n);
    p->held.n -= n;
}

void tl_chat_parts_push(chat_parts *p, const char *text, size_t n, chat_part_fn *fn, void *user) {
    tl_buf_add(&p->held, text, n);
    for (size_t at = 0; at < p->held.n && !p->header;) {
        int i = look(p, at, p->begun);
        if (i == PERHAPS) {
            give(p, at, CHAT_PLAIN, fn, user);
            return;
        }
        if (i == NOTHING) {
            p->begun |= !is_blank(p->held.p[at++]);
            continue;
        }
        give(p, at, CHAT_PLAIN, fn, user);
        at = 0;
        if (i >= N_MARKS) {
            give(p, strlen(fields[i - N_MARKS].mark), fields[i - N_MARKS].field, fn, user);
            continue;
        }
        int closes = p->kind != CHAT_TEXT;
        p->kind = marks[i].kind;
        p->row = i;
        give(p, strlen(closes ? marks[i].close : marks[i].open), closes ? CHAT_CLOSES : CHAT_OPENS, fn, user);
        if (closes) p->kind = CHAT_TEXT;
        p->begun = 1;
    }
    if (!p->header) give(p, p->held.n, CHAT_PLAIN, fn, user);
}

/* ---- control tokens ----------------------------------------------------------------------------------------------- */

static int holds(const char *p, size_t n, const char *text) {
    size_t len = strlen(text);
    for (size_t at = 0; at + len <= n; at++)
        if (memcmp(p + at, text, len) == 0) return 1;
    return 0;
}

static int kind_of_header(const char *p, size_t n) {
    int i = 0;
    while (i < N_CHANNELS - 1 && !holds(p, n, channels[i].holds)) i++;
    return channels[i].kind;
}

static void token_of_message(chat_parts *p, const char *name, chat_part_fn *fn, void *user) {
    static const char *const ends[] = {"<|end|>", "<|call|>", "<|return|>", "<|start|>"};
    if (p->header) {
        p->header = 2;
        tl_buf_str(&p->held, name);
        if (strcmp(name, "<|message|>") != 0) return;
        p->kind = kind_of_header(p->held.p, p->held.n);
        p->by_token = 1;
        p->header = 0;
        give(p, p->held.n, CHAT_OPENS, fn, user);
        return;
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (strcmp(ends[i], name) != 0) continue;
        give(p, p->held.n, CHAT_PLAIN, fn, user);
        fn(user, p->kind, CHAT_CLOSES, name, strlen(name));
        p->kind = CHAT_TEXT;
        p->header = 1;
        if (strcmp(name, "<|start|>") == 0) token_of_message(p, name, fn, user);
    }
}

void tl_chat_parts_token(chat_parts *p, const char *name, chat_part_fn *fn, void *user) {
    if (p->known.channels) {
        token_of_message(p, name, fn, user);
        return;
    }
    for (int i = 0; i < N_FIELDS; i++) {
        if (!divides(p, &fields[i]) || strcmp(fields[i].mark, name) != 0) continue;
        give(p, p->held.n, CHAT_PLAIN, fn, user);
        fn(user, p->kind, fields[i].field, name, strlen(name));
        return;
    }
    for (int i = 0; i < N_MARKS; i++) {
        if (!(p->known.control >> i & 1)) continue;
        const int within = p->kind == marks[i].kind, closes = within && strcmp(marks[i].close, name) == 0,
                  again = within && !marks[i].close[0];
        if (!closes && !((p->kind == CHAT_TEXT || again) && strcmp(marks[i].open, name) == 0)) continue;
        give(p, p->held.n, CHAT_PLAIN, fn, user);
        if (again) fn(user, p->kind, CHAT_CLOSES, "", 0);
        p->kind = marks[i].kind;
        p->row = i;
        p->begun = p->by_token = 1;
        fn(user, p->kind, closes ? CHAT_CLOSES : CHAT_OPENS, name, strlen(name));
        if (closes) p->kind = CHAT_TEXT;
        return;
    }
}

/* ---- beginning and end -------------------------------------------------------------------------------------------- */

const char *tl_chat_parts_begin(chat_parts *p, chat_known known, const char *prompt, size_t n) {
    static const char start[] = "<|start|>", message[] = "<|message|>";
    p->known = known;
    if (known.channels) {   /* the prompt may have begun a header, or ended it */
        size_t at = n < sizeof start - 1 ? 0 : n - (sizeof start - 1);
        while (at > 0 && memcmp(prompt + at, start, sizeof start - 1) != 0) at--;
        p->header = !holds(prompt + at, n - at, message);
        if (!p->header) p->kind = kind_of_header(prompt + at, n - at);
        p->by_token = !p->header;
        return NULL;
    }
    while (n > 0 && is_blank(prompt[n - 1])) n--;
    for (int i = 0; i < N_MARKS; i++) {
        size_t len = strlen(marks[i].open);
        if (len > n || memcmp(prompt + n - len, marks[i].open, len) != 0) continue;
        p->kind = marks[i].kind;
        p->row = i;
        p->by_token = known.control >> i & 1;
        return prompt + n - len;
    }
    return NULL;
}

const char *tl_chat_parts_closing(const chat_parts *p) {
    return p->known.channels ? "<|end|><|start|>assistant<|channel|>final<|message|>" : marks[p->row].close;
}

int tl_chat_parts_think(chat_known known, const char *chat_template) {
    for (int i = 0; i < N_MARKS; i++)
        if (marks[i].kind == CHAT_THINK && (known.control >> i & 1 || strstr(chat_template, marks[i].open))) return 1;
    return known.channels;
}

int tl_chat_parts_closed(const char *prompt, size_t n) {
    while (n > 0 && is_blank(prompt[n - 1])) n--;
    for (int i = 0; i < N_MARKS; i++) {
        size_t len = strlen(marks[i].close);
        if (marks[i].kind == CHAT_THINK && len <= n && memcmp(prompt + n - len, marks[i].close, len) == 0) return 1;
    }
    return 0;
}

void tl_chat_parts_end(chat_parts *p, int is_whole, chat_part_fn *fn, void *user) {
    if (p->header == 2) p->held.n = 0;   /* a header without a message */
    give(p, p->held.n, CHAT_PLAIN, fn, user);
    if (is_whole && p->kind != CHAT_TEXT && !p->known.channels && !marks[p->row].close[0]) fn(user, p->kind, CHAT_CLOSES, "", 0);
    tl_buf_free(&p->held);
}
