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

void tl_term_write(tl_term *t, const char *text, size_t n) {
    if (!n) return;
    tl_buf shown = {0};
    if (t->is_terminal) {
        tl_term_escape(&shown, text, n, "\n\t");
        fwrite(shown.p, 1, shown.n, t->f);
        tl_buf_free(&shown);
    } else fwrite(text, 1, n, t->f);
    t->mid_line = text[n - 1] != '\n';
}

void tl_term_end_line(tl_term *t) {
    if (t->shared && t->mid_line) fputc('\n', t->f);
    t->mid_line = 0;
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
