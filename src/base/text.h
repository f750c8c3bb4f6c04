/* SPDX-License-Identifier: MIT
 *
 * text.h: which bytes of a text are whole UTF-8 characters. Others include base/utf8.h, which adds code points. */
#ifndef TL_BASE_TEXT_H
#define TL_BASE_TEXT_H

#include <stddef.h>

/* Looks at the character at p[0..n), n >= 1. Returns its length, 1..4, or minus the length of the bytes that cannot be
 * part of any character ("maximal subpart" of the Unicode standard, section 3.9): -1..-3. */
int tl_utf8_look(const char *p, size_t n);

#endif
