/* SPDX-License-Identifier: MIT
 *
 * line_edit.c: the editor of line_edit.h: keys change a text and a cursor. It knows no terminal. */
#include <string.h>
#include "base/utf8.h"
#include "cmd/line_edit.h"

/* ---- the text ----------------------------------------------------------------------------------------------------- */

static void insert(tl_line_edit *e, const char *p, size_t n) {
    size_t before = e->text.n;
    tl_buf_add(&e->text, p, n);
    if (e->text.n != before + n) return;   /* no memory: as if it was not typed */
    memmove(e->text.p + e->at + n, e->text.p + e->at, before - e->at);
    memcpy(e->text.p + e->at, p, n);
    e->at += n;
}

static void erase(tl_line_edit *e, size_t from, size_t to) {
    if (from >= to) return;
    memmove(e->text.p + from, e->text.p + to, e->text.n - to);
    e->text.n -= to - from;
    e->at = from;
}

static void set_text(tl_line_edit *e, const char *p, size_t n) {
    e->text.n = e->at = 0;
    if (n) insert(e, p, n);
}

static int width_at(const tl_line_edit *e, size_t at, size_t *len) {
    int32_t cp;
    *len = tl_utf8_next(e->text.p + at, e->text.n - at, &cp);
    return cp < 0 ? 1 : tl_char_width(cp);
}

/* Behind the character at a place, with the combining ones that follow it. */
static size_t next(const tl_line_edit *e, size_t at) {
    size_t len;
    if (at >= e->text.n) return e->text.n;
    width_at(e, at, &len);
    for (at += len; at < e->text.n && width_at(e, at, &len) == 0; at += len) {}
    return at;
}

static size_t previous(const tl_line_edit *e, size_t at) {
    size_t len;
    while (at > 0) {
        size_t from = at - 1;
        while (from > 0 && at - from < 4 && ((unsigned char)e->text.p[from] & 0xC0) == 0x80) from--;
        int width = width_at(e, from, &len);
        if (from + len < at) from = at - 1, width = 1;   /* bytes that are no character */
        at = from;
        if (width) break;
    }
    return at;
}

static size_t line_start_of(const tl_line_edit *e, size_t at) {
    while (at > 0 && e->text.p[at - 1] != '\n') at--;
    return at;
}

static size_t line_end_of(const tl_line_edit *e, size_t at) {
    while (at < e->text.n && e->text.p[at] != '\n') at++;
    return at;
}

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

static size_t word_start(const tl_line_edit *e, size_t at) {
    while (at > 0 && is_blank(e->text.p[at - 1])) at--;
    while (at > 0 && !is_blank(e->text.p[at - 1])) at--;
    return at;
}

/* ---- history ------------------------------------------------------------------------------------------------------ */

void tl_line_remember(tl_line_edit *e, const char *text) {
    size_t last = e->history.n;
    if (last) {
        for (last--; last > 0 && e->history.p[last - 1]; last--) {}
        if (strcmp(e->history.p + last, text) == 0) return;
    }
    if (*text) tl_buf_add(&e->history, text, strlen(text) + 1);
}

static void show(tl_line_edit *e, size_t entry) {
    if (e->shown == e->history.n) {
        e->own.n = 0;
        tl_buf_add(&e->own, e->text.p, e->text.n);
    }
    e->shown = entry;
    if (entry == e->history.n) set_text(e, e->own.p, e->own.n);
    else set_text(e, e->history.p + entry, strlen(e->history.p + entry));
}

/* The entry before another one, which is not the first. */
static size_t before(const tl_line_edit *e, size_t entry) {
    for (entry--; entry > 0 && e->history.p[entry - 1]; entry--) {}
    return entry;
}

static void older(tl_line_edit *e) {
    if (e->shown > 0) show(e, before(e, e->shown));
}

static void newer(tl_line_edit *e) {
    if (e->shown < e->history.n) show(e, e->shown + strlen(e->history.p + e->shown) + 1);
}

/* ---- searching the history ---------------------------------------------------------------------------------------- */

/* Shows the newest text from an entry back that holds what is sought; if there is none, what is shown stays. */
static void find(tl_line_edit *e, size_t from) {
    e->searching = 1;
    tl_buf_add(&e->seek, "", 1);
    if (e->seek.failed) return;
    e->seek.n--;
    if (!e->seek.n) return;
    for (size_t at = from;; at = before(e, at)) {
        const char *found = at < e->history.n ? strstr(e->history.p + at, e->seek.p) : NULL;
        if (found) {
            show(e, at);
            e->at = (size_t)(found - (e->history.p + at));
            return;
        }
        if (at == 0) break;
    }
    e->searching = 2;
}

static void search(tl_line_edit *e) {
    if (e->searching) {
        if (e->shown > 0) find(e, before(e, e->shown));
        else e->searching = 2;
        return;
    }
    e->seek.n = 0;
    e->begun = e->shown;
    e->searching = 1;
}

/* A key while the history is searched. 0: the search has ended, and the key is to do what it does elsewhere. alone: an ESC
 * that begins no key. */
static int search_key(tl_line_edit *e, char c, int alone) {
    if ((unsigned char)c >= 0x20 && c != 0x7F) {
        tl_buf_add(&e->seek, &c, 1);
        find(e, e->shown);
        return 1;
    }
    if (c == 0x7F || c == '\b') {   /* the search begins anew with less */
        while (e->seek.n > 0 && ((unsigned char)e->seek.p[--e->seek.n] & 0xC0) == 0x80) {}
        show(e, e->begun);
        find(e, e->shown);
        return 1;
    }
    if (c == '\022') {
        search(e);
        return 1;
    }
    e->searching = 0;
    if (c != '\007' && c != '\003' && !alone) return 0;
    show(e, e->begun);   /* Ctrl-G, Ctrl-C, ESC: as it was */
    return 1;
}

/* ---- keys --------------------------------------------------------------------------------------------------------- */

static void line_start(tl_line_edit *e) { e->at = line_start_of(e, e->at); }
static void line_end(tl_line_edit *e) { e->at = line_end_of(e, e->at); }
static void left(tl_line_edit *e) { e->at = previous(e, e->at); }
static void right(tl_line_edit *e) { e->at = next(e, e->at); }
static void word_left(tl_line_edit *e) { e->at = word_start(e, e->at); }
static void word_right(tl_line_edit *e) {
    while (e->at < e->text.n && is_blank(e->text.p[e->at])) e->at++;
    while (e->at < e->text.n && !is_blank(e->text.p[e->at])) e->at++;
}

/* To the character of another line that is as far from its start. */
static void move_to_line(tl_line_edit *e, size_t start) {
    size_t from = line_start_of(e, e->at), n = 0;
    for (size_t i = from; i < e->at; i = next(e, i)) n++;
    size_t end = line_end_of(e, start);
    for (e->at = start; n > 0 && e->at < end; n--) e->at = next(e, e->at);
}

static void up(tl_line_edit *e) {
    size_t start = line_start_of(e, e->at);
    if (start == 0) older(e);
    else move_to_line(e, line_start_of(e, start - 1));
}

static void down(tl_line_edit *e) {
    size_t end = line_end_of(e, e->at);
    if (end == e->text.n) newer(e);
    else move_to_line(e, end + 1);
}

static void delete_left(tl_line_edit *e) { erase(e, previous(e, e->at), e->at); }
static void delete_right(tl_line_edit *e) { erase(e, e->at, next(e, e->at)); }
static void delete_or_end(tl_line_edit *e) {
    if (e->text.n) delete_right(e);
    else e->state = TL_LINE_END;
}
static void delete_to_end(tl_line_edit *e) {
    size_t end = line_end_of(e, e->at);
    erase(e, e->at, end > e->at ? end : next(e, e->at));   /* at a line's end: its break */
}
static void delete_to_start(tl_line_edit *e) { erase(e, line_start_of(e, e->at), e->at); }
static void delete_word(tl_line_edit *e) { erase(e, word_start(e, e->at), e->at); }
static void clear_screen(tl_line_edit *e) { e->clear = 1; }
static void clear_line(tl_line_edit *e) {
    if (!e->text.n) e->state = TL_LINE_HINT;
    e->cleared = 1;
    set_text(e, NULL, 0);
    e->shown = e->history.n;
}
static void suspend(tl_line_edit *e) { e->state = TL_LINE_SUSPEND; }
static void paste(tl_line_edit *e) { e->pasting = 1; }
static void line_break(tl_line_edit *e) { insert(e, "\n", 1); }

/* A line that ends with a backslash goes on. */
static void enter(tl_line_edit *e) {
    size_t n = e->text.n;
    if (n && e->text.p[n - 1] == '\\') {
        e->text.p[n - 1] = '\n';
        e->at = n;
    } else e->state = TL_LINE_DONE;
}

static const struct { const char *bytes; void (*fn)(tl_line_edit *e); } keys[] = {
#define KEY(bytes, fn) {bytes, fn},
#include "keys.def"
#undef KEY
};

/* Whether the bytes are a whole key: a control character, ESC and one more, ESC O and one, or ESC [ up to a letter or ~. */
static int is_whole(const char *p, int n) {
    if (p[0] != '\033') return 1;
    if (n < 2) return 0;
    if (p[1] == 'O') return n == 3;
    if (p[1] != '[') return 1;
    return n > 2 && p[n - 1] >= 0x40 && p[n - 1] <= 0x7E && !(n == 3 && p[2] == '[');
}

static void press(tl_line_edit *e, char c) {
    if (c == '\033' && e->n_keys == 1) e->n_keys = 0;   /* ESC twice: the second may begin a key */
    if (e->n_keys < (int)sizeof e->keys - 1) e->keys[e->n_keys++] = c;
    if (!is_whole(e->keys, e->n_keys)) return;
    e->keys[e->n_keys] = 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i].bytes, e->keys) == 0) keys[i].fn(e);
    e->n_keys = 0;
}

/* Pasted text is text, whatever it looks like, up to the mark that ends it. Line ends become one. */
static void paste_byte(tl_line_edit *e, char c) {
    static const char end[] = "\033[201~";
    if (c == end[e->n_keys]) {
        e->keys[e->n_keys++] = c;
        if (end[e->n_keys]) return;
        e->n_keys = e->pasting = 0;
        return;
    }
    if (e->n_keys) {
        int n = e->n_keys;
        e->n_keys = 0;
        insert(e, e->keys, (size_t)n);
        paste_byte(e, c);
        return;
    }
    if (c == '\n' && e->pasting == 2) e->pasting = 1;   /* the second half of "\r\n" */
    else if (c) {
        e->pasting = c == '\r' ? 2 : 1;
        insert(e, c == '\r' ? "\n" : &c, 1);
    }
}

void tl_line_begin(tl_line_edit *e, const char *text) {
    set_text(e, text, text ? strlen(text) : 0);
    e->n_keys = e->pasting = e->row = e->clear = e->cleared = e->searching = 0;
    e->state = TL_LINE_GOES_ON;
    e->shown = e->history.n;
}

size_t tl_line_keys(tl_line_edit *e, const char *p, size_t n) {
    e->state = TL_LINE_GOES_ON;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        if (e->searching && !e->n_keys && search_key(e, p[i], p[i] == '\033' && i + 1 == n)) continue;
        if (e->pasting) paste_byte(e, p[i]);
        else if (e->n_keys || c < 0x20 || c == 0x7F) press(e, p[i]);
        else {   /* all plain bytes at once */
            size_t len = 1;
            while (i + len < n && (unsigned char)p[i + len] >= 0x20 && p[i + len] != 0x7F) len++;
            insert(e, p + i, len);
            i += len - 1;
        }
        if (e->state != TL_LINE_GOES_ON) return i + 1;
    }
    return n;
}

void tl_line_free(tl_line_edit *e) {
    tl_buf_free(&e->text);
    tl_buf_free(&e->history);
    tl_buf_free(&e->own);
    tl_buf_free(&e->seek);
}
