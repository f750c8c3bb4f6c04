/* SPDX-License-Identifier: MIT
 *
 * line_wrap.c: the wrapping of term.h. A word is held back until its end, since what is printed cannot be moved to the next
 * line any more: with most models that is one token's time. A word longer than a line is broken by the terminal anyway, and
 * is not held. */
#include <string.h>
#include "base/utf8.h"
#include "cmd/line_edit.h"
#include "cmd/term.h"

static int is_blank(int32_t cp) { return cp == ' ' || cp == '\t'; }

/* Lines between ``` are code: their breaks mean something. */
static void look_for_code(tl_words *w) {
    const char *word = w->held.p + w->n_blanks;
    if (w->begun || !w->width) return;
    w->begun = 1;
    if (w->held.n - w->n_blanks >= 3 && memcmp(word, "```", 3) == 0) w->code = !w->code;
}

/* The held blanks and word go out, on a new line without the blanks if this one has no room for them. */
static void place(tl_words *w, int cols, tl_buf *out) {
    size_t from = 0;
    look_for_code(w);
    if (cols > 0 && !w->code && w->col > 0 && w->width && w->width <= cols && w->col + w->blanks + w->width > cols) {
        tl_buf_str(out, "\n");
        from = w->n_blanks;
        w->col = w->blanks = 0;
    }
    tl_buf_add(out, w->held.p + from, w->held.n - from);
    w->col += w->blanks + w->width;
    w->held.n = w->n_blanks = 0;
    w->blanks = w->width = 0;
}

static void end_line(tl_words *w, int cols, tl_buf *out) {
    if (w->width || (cols > 0 && w->col + w->blanks <= cols)) place(w, cols, out);
    tl_buf_str(out, "\n");
    w->held.n = w->n_blanks = 0;
    w->col = w->blanks = w->width = w->begun = w->longer = 0;
}

void tl_words_push(tl_words *w, int cols, const char *text, size_t n, tl_buf *out) {
    int32_t cp;
    for (size_t at = 0, len; at < n; at += len) {
        len = tl_utf8_next(text + at, n - at, &cp);
        const int width = cp == '\t' ? 8 - (w->col + w->blanks) % 8 : cp < 0 ? 1 : tl_char_width(cp);
        if (cp == '\n') {
            end_line(w, cols, out);
            continue;
        }
        if (is_blank(cp)) {
            if (w->width) place(w, cols, out);
            w->longer = 0;
            w->blanks += width;
            w->n_blanks += len;
        } else {
            if (w->width && (width == 2 || w->wide)) place(w, cols, out);   /* no blanks stand between wide characters */
            if (width) w->wide = width == 2;
            w->width += width;
        }
        tl_buf_add(&w->held, text + at, len);
        if (!is_blank(cp) && (w->longer || (cols > 0 && w->width > cols))) {
            w->longer = 1;
            place(w, cols, out);
        }
        if (w->longer && cols > 0) w->col %= cols;
    }
}

void tl_words_flush(tl_words *w, int cols, tl_buf *out) {
    place(w, cols, out);
    tl_buf_free(&w->held);
}
