/* SPDX-License-Identifier: MIT
 *
 * stops.c: see stops.h. Between calls less than the longest stop string is held, so plain search is fast. */
#include <string.h>
#include "base/stops.h"

/* Where the first stop string begins in p[0..n), or n. */
static size_t find_first(const tl_stops *s, const char *p, size_t n) {
    for (size_t at = 0; at < n; at++) {
        for (int i = 0; i < s->n; i++) {
            size_t len = strlen(s->stop[i]);
            if (len <= n - at && memcmp(p + at, s->stop[i], len) == 0) return at;
        }
    }
    return n;
}

/* Length of the longest end of p[0..n) that is the beginning of a stop string. */
static size_t open_end(const tl_stops *s, const char *p, size_t n) {
    size_t best = 0;
    for (int i = 0; i < s->n; i++) {
        size_t len = strlen(s->stop[i]) - 1;
        if (len > n) len = n;
        while (len > best && memcmp(p + n - len, s->stop[i], len) != 0) len--;
        if (len > best) best = len;
    }
    return best;
}

/* Moves the first n held bytes to out, as far as they are text. */
static void release(tl_stops *s, size_t n, tl_buf *out) {
    tl_buf *h = &s->held, *hidden = &s->hidden;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && hidden->p[to] == hidden->p[from]; to++) continue;
        if (!hidden->p[from]) tl_buf_add(out, h->p + from, to - from);
    }
    if (!n) return;
    memmove(h->p, h->p + n, h->n - n);
    memmove(hidden->p, hidden->p + n, h->n - n);
    h->n -= n;
    hidden->n -= n;
}

int tl_stops_push(tl_stops *s, const char *text, size_t n, int hidden, tl_buf *out) {
    tl_buf *h = &s->held;
    const char flag = (char)(hidden != 0);
    tl_buf_add(h, text, n);
    for (size_t i = 0; i < n; i++) tl_buf_add(&s->hidden, &flag, 1);
    h->failed |= s->hidden.failed;
    if (h->failed || h->n == 0) return 0;
    size_t at = find_first(s, h->p, h->n);
    if (at < h->n) {
        release(s, at, out);
        h->n = s->hidden.n = 0;
        return 1;
    }
    release(s, h->n - open_end(s, h->p, h->n), out);
    return 0;
}

void tl_stops_flush(tl_stops *s, tl_buf *out) { release(s, s->held.n, out); }

void tl_stops_free(tl_stops *s) {
    tl_buf_free(&s->held);
    tl_buf_free(&s->hidden);
}
