/* SPDX-License-Identifier: MIT
 *
 * stops.h: ends a text that arrives in pieces at the first of several stop strings, without ever letting out a part of
 * one: what could be the beginning of a stop string is held back until the next piece decides. Hidden bytes (names
 * of control tokens) count for stop strings, but are not part of the text. */
#ifndef TL_STOPS_H
#define TL_STOPS_H

#include "base/base.h"

typedef struct tl_stops {
    const char *const *stop;   /* [n], none empty; not owned */
    int n;
    tl_buf held, hidden;       /* bytes, and a flag for each */
} tl_stops;

/* Adds n bytes and appends to out what may be shown. Returns 1 once a stop string is complete: out then ends right
 * before it, and the rest is dropped. */
int tl_stops_push(tl_stops *s, const char *text, size_t n, int hidden, tl_buf *out);
/* The text has ended without a stop string: appends what was held back. */
void tl_stops_flush(tl_stops *s, tl_buf *out);
void tl_stops_free(tl_stops *s);

#endif
