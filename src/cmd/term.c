/* SPDX-License-Identifier: MIT
 *
 * term.c: see term.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/utf8.h"
#include "cmd/term.h"

/* Controls of ASCII and C1, and bytes that are no character: a terminal may take one of them for a C1 control. */
static int is_control(int32_t cp) { return cp < 0x20 || (cp >= 0x7F && cp < 0xA0); }

void tl_term_escape(tl_buf *out, const char *text, size_t n, const char *keep) {
    size_t from = 0;
    int32_t cp;
    for (size_t at = 0, len; at < n; at += len) {
        len = tl_utf8_next(text + at, n - at, &cp);
        if (!is_control(cp) || (cp > 0 && strchr(keep, cp))) continue;
        tl_buf_add(out, text + from, at - from);
        for (size_t i = 0; i < len; i++) tl_buf_fmt(out, "\\x%02x", (unsigned char)text[at + i]);
        from = at + len;
    }
    tl_buf_add(out, text + from, n - from);
}

tl_term tl_term_open(FILE *f) {
    struct stat here, status;
    tl_term t = {.f = f, .is_terminal = isatty(fileno(f))};
    t.shared = t.is_terminal || (fstat(fileno(f), &here) == 0 && fstat(STDERR_FILENO, &status) == 0 &&
                                 here.st_dev == status.st_dev && here.st_ino == status.st_ino);
    return t;
}

/* What is to be shown now. */
static void emit(tl_term *t, const tl_buf *shown) {
    if (!shown->n) return;
    if (t->dim) fputs("\033[2m", t->f);
    fwrite(shown->p, 1, shown->n, t->f);
    if (t->dim) fputs("\033[0m", t->f);
}

void tl_term_write(tl_term *t, const char *text, size_t n) {
    if (!n) return;
    tl_buf shown = {0}, lines = {0};
    if (t->is_terminal) {
        tl_term_escape(&shown, text, n, "\n\t");
        if (t->wraps) tl_words_push(&t->wrap, tl_term_width(t->f), shown.p, shown.n, &lines);
        emit(t, t->wraps ? &lines : &shown);
        tl_buf_free(&shown);
        tl_buf_free(&lines);
    } else fwrite(text, 1, n, t->f);
    t->mid_line = text[n - 1] != '\n';
}

void tl_term_flush(tl_term *t) {
    tl_buf rest = {0};
    if (t->is_terminal && t->wraps) tl_words_flush(&t->wrap, tl_term_width(t->f), &rest);
    emit(t, &rest);
    tl_buf_free(&rest);
}

void tl_term_dim(tl_term *t, int dim) {
    if (t->dim != dim) tl_term_flush(t);
    t->dim = dim;
}

void tl_term_end_line(tl_term *t) {
    tl_term_flush(t);
    if (t->shared && t->mid_line) fputc('\n', t->f);
    t->mid_line = 0;
    t->wrap = (tl_words){0};
}

void tl_term_line(FILE *f, const char *before, const char *text) {
    tl_buf line = {0};
    tl_term t = tl_term_open(f);
    t.wraps = 1;
    tl_buf_fmt(&line, "%s%s\n", before, text);
    tl_term_write(&t, line.p, line.failed ? 0 : line.n);
    tl_term_flush(&t);
    tl_buf_free(&line);
}

int tl_term_width(FILE *f) {
    struct winsize w;
    return isatty(fileno(f)) && ioctl(fileno(f), TIOCGWINSZ, &w) == 0 ? w.ws_col : 0;
}

/* Bytes of s that take at most so many places. */
static int cut(const char *s, int places) {
    int n = 0;
    for (; s[n]; n++)
        if (((unsigned char)s[n] & 0xC0) != 0x80 && places-- <= 0) break;
    return n;
}

static int progress_shown;

void tl_term_progress(const char *fmt, ...) {
    char raw[400], text[400];
    va_list ap;
    if (!isatty(STDERR_FILENO)) return;
    va_start(ap, fmt);
    if (vsnprintf(raw, sizeof raw, fmt, ap) < 0) raw[0] = 0;
    va_end(ap);
    tl_printable(text, sizeof text, raw);
    int width = tl_term_width(stderr);   /* the last place stays free: some terminals go on to the next line there */
    fprintf(stderr, "\r\033[K# %.*s", cut(text, (width > 3 ? width : 80) - 3), text);
    fflush(stderr);
    progress_shown = 1;
}

void tl_term_progress_end(void) {
    if (progress_shown) fputs("\r\033[K", stderr);
    progress_shown = 0;
}
