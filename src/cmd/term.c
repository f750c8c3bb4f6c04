/* SPDX-License-Identifier: MIT
 *
 * term.c: see term.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cmd/term.h"

/* Length of the control character at p, 0: none. C1 controls are two bytes of UTF-8; a terminal may also take a single
 * byte of them for one, but whole characters hold none. */
static size_t control(const unsigned char *p, size_t n) {
    if (*p == '\n' || *p == '\t') return 0;
    if (*p < 0x20 || *p == 0x7F) return 1;
    return *p == 0xC2 && n > 1 && p[1] >= 0x80 && p[1] < 0xA0 ? 2 : 0;
}

void tl_term_escape(tl_buf *out, const char *text, size_t n) {
    const unsigned char *p = (const unsigned char *)text;
    size_t from = 0;
    for (size_t at = 0, len; at < n; at += len ? len : 1) {
        if (!(len = control(p + at, n - at))) continue;
        tl_buf_add(out, text + from, at - from);
        tl_buf_fmt(out, "\\x%02x", p[at + len - 1]);
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
        tl_term_escape(&shown, text, n);
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
