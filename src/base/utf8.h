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

#endif
