/* SPDX-License-Identifier: MIT
 *
 * utf8.h: characters of a text that may hold any bytes. What is well-formed is decided in one place, tl_utf8_look. */
#ifndef TL_BASE_UTF8_H
#define TL_BASE_UTF8_H

#include <stdint.h>
#include "base/text.h"

/* Decodes the character at p[0..n), n >= 1. Returns its length and puts the code point in *cp; where the bytes are no
 * character, the length of the wrong part, as tl_utf8_look finds it, and -1 in *cp. */
static inline size_t tl_utf8_next(const char *p, size_t n, int32_t *cp) {
    unsigned char c = (unsigned char)*p;
    if (c < 0x80) {
        *cp = c;
        return 1;
    }
    int len = tl_utf8_look(p, n);
    if (len < 0) {
        *cp = -1;
        return (size_t)-len;
    }
    int32_t v = c & (0x7F >> len);
    for (int i = 1; i < len; i++) v = v << 6 | ((unsigned char)p[i] & 0x3F);
    *cp = v;
    return (size_t)len;
}

/* The bytes of a code point, what is none as U+FFFD; returns their number. */
static inline size_t tl_utf8_put(char out[4], int32_t cp) {
    if (cp < 0 || cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000)) cp = 0xFFFD;
    size_t n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    out[0] = (char)(lead[n] | cp >> 6 * (n - 1));
    for (size_t i = 1; i < n; i++) out[i] = (char)(0x80 | (cp >> 6 * (n - 1 - i) & 0x3F));
    return n;
}

#endif
