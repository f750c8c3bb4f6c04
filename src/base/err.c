/* SPDX-License-Identifier: MIT
 *
 * err.c: writes error texts. They may quote names and values of damaged files, so whatever would break a terminal or
 * a log line is escaped here, once for all callers. */
#include <stdarg.h>
#include <string.h>
#include "base/base.h"
#include "base/text.h"

void tl_printable(char *dst, size_t size, const char *src) {
    size_t n = strlen(src), at = 0, fits = 0;   /* fits: longest prefix that leaves room for the dots */
    while (n) {
        char piece[8];
        int len = tl_utf8_look(src, n), out;
        unsigned char c = (unsigned char)*src;
        if (len < 0 || c < 0x20 || c == 0x7F || (c == 0xC2 && (unsigned char)src[1] < 0xA0)) {   /* C0, DEL, C1 */
            len = 1;
            if (c == '\n') out = snprintf(piece, sizeof piece, "\\n");
            else if (c == '\t') out = snprintf(piece, sizeof piece, "\\t");
            else if (c == '\r') out = snprintf(piece, sizeof piece, "\\r");
            else out = snprintf(piece, sizeof piece, "\\x%02x", c);
        } else {
            memcpy(piece, src, (size_t)len);
            out = len;
        }
        if (at + (size_t)out >= size) {
            memcpy(dst + fits, "...", 4);
            return;
        }
        memcpy(dst + at, piece, (size_t)out);
        at += (size_t)out;
        if (at + 4 <= size) fits = at;
        src += len;
        n -= (size_t)len;
    }
    dst[at] = 0;
}

int tl_fail(tl_error *err, int code, const char *fmt, ...) {
    if (!err || err->code) return code;
    char raw[2 * sizeof err->text];
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(raw, sizeof raw, fmt, ap) < 0) raw[0] = 0;
    va_end(ap);
    err->code = code;
    tl_printable(err->text, sizeof err->text, raw);
    return code;
}

void tl_error_context(tl_error *err, const char *fmt, ...) {
    if (!err || !err->code) return;
    char raw[2 * sizeof err->text];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(raw, sizeof raw, fmt, ap);
    va_end(ap);
    if (n < 0) return;
    if ((size_t)n > sizeof raw - sizeof err->text - 3) n = (int)(sizeof raw - sizeof err->text - 3);
    snprintf(raw + n, sizeof raw - (size_t)n, ": %s", err->text);
    tl_printable(err->text, sizeof err->text, raw);
}

int tl_null(tl_error *err, const char *what) { return tl_fail(err, TL_E_ARGUMENT, "no %s: NULL was passed", what); }

void tl_error_hint(tl_error *err, const char *hint) {
    size_t n = err ? strlen(err->text) : 0;
    if (err && err->code) snprintf(err->text + n, sizeof err->text - n, " (%s)", hint);
}
