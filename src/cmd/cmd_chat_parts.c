/* SPDX-License-Identifier: MIT
 *
 * cmd_chat_parts.c: the parts of an answer (cmd_chat.h): text, thoughts, calls of tools. */
#include <string.h>
#include "cmd/cmd_chat.h"

static const struct mark { int kind; const char *open, *close; int at_start; } marks[] = {
#define CHAT_MARK(kind, open, close, at_start) {kind, open, close, at_start},
#include "chat_marks.def"
#undef CHAT_MARK
};
enum { N_MARKS = sizeof marks / sizeof marks[0] };

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* The mark that would end or begin a part now; NULL: i is not one of those. */
static const char *wanted(const chat_parts *p, int i, int begun) {
    if (p->kind != CHAT_TEXT) return marks[i].kind == p->kind ? marks[i].close : NULL;
    return marks[i].at_start && begun ? NULL : marks[i].open;
}

enum { NOTHING = -1, PERHAPS = -2 };

/* What begins at held[at]: the number of a whole mark, perhaps one, or nothing. */
static int look(const chat_parts *p, size_t at, int begun) {
    size_t left = p->held.n - at;
    int found = NOTHING;
    for (int i = 0; i < N_MARKS; i++) {
        const char *mark = wanted(p, i, begun);
        size_t n = mark ? strlen(mark) : 0, same = n < left ? n : left;
        if (!mark || memcmp(mark, p->held.p + at, same) != 0) continue;
        if (n <= left) return i;
        found = PERHAPS;
    }
    return found;
}

static void give(chat_parts *p, size_t n, int is_mark, chat_part_fn *fn, void *user) {
    if (!n) return;
    fn(user, p->kind, is_mark, p->held.p, n);
    memmove(p->held.p, p->held.p + n, p->held.n - n);
    p->held.n -= n;
}

void tl_chat_parts_push(chat_parts *p, const char *text, size_t n, chat_part_fn *fn, void *user) {
    tl_buf_add(&p->held, text, n);
    for (size_t at = 0; at < p->held.n;) {
        int i = look(p, at, p->begun);
        if (i == PERHAPS) {
            give(p, at, 0, fn, user);
            return;
        }
        if (i == NOTHING) {
            p->begun |= !is_blank(p->held.p[at++]);
            continue;
        }
        give(p, at, 0, fn, user);
        int closes = p->kind != CHAT_TEXT;
        p->kind = marks[i].kind;
        give(p, strlen(closes ? marks[i].close : marks[i].open), 1, fn, user);
        if (closes) p->kind = CHAT_TEXT;
        p->begun = 1;
        at = 0;
    }
    give(p, p->held.n, 0, fn, user);
}

void tl_chat_parts_end(chat_parts *p, chat_part_fn *fn, void *user) {
    give(p, p->held.n, 0, fn, user);
    tl_buf_free(&p->held);
}

const char *tl_chat_parts_open(const char *text, size_t n, int *kind) {
    while (n > 0 && is_blank(text[n - 1])) n--;
    for (int i = 0; i < N_MARKS; i++) {
        size_t len = strlen(marks[i].open);
        if (len > n || memcmp(text + n - len, marks[i].open, len) != 0) continue;
        *kind = marks[i].kind;
        return text + n - len;
    }
    return NULL;
}
