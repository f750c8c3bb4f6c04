/* SPDX-License-Identifier: MIT
 *
 * stream.c: tl_utf8_push of tinyllm.h: text that arrives in pieces cut anywhere, released in whole characters. Between
 * calls only the start of one character is held, at most 3 bytes; so the output does not depend on the cuts. */
#include <string.h>
#include "base/utf8.h"
#include "tinyllm.h"

/* Is p[0..n), all that is there, the start of a character of which the rest is missing? */
static int is_cut(const char *p, size_t n) {
    unsigned char c = (unsigned char)*p;
    return c >= 0xC2 && c <= 0xF4 && tl_utf8_look(p, n) == -(int)n;
}

static size_t put_bad(char *out) {
    memcpy(out, "\xEF\xBF\xBD", 3);
    return 3;
}

/* Writes the whole characters of p[0..n), returns how many of the bytes they were. A start that is cut stays. */
static size_t release(const char *p, size_t n, char *out, size_t *n_out) {
    size_t i = 0;
    while (i < n && !(n - i < 4 && is_cut(p + i, n - i))) {
        int len = tl_utf8_look(p + i, n - i);
        if (len > 0) {
            memcpy(out + *n_out, p + i, (size_t)len);
            *n_out += (size_t)len;
        } else {
            *n_out += put_bad(out + *n_out);
            len = -len;
        }
        i += (size_t)len;
    }
    return i;
}

size_t tl_utf8_push(tl_utf8_stream *u, const char *bytes, size_t n, int end, char *out) {
    size_t n_out = 0;
    if (!u || !out || (!bytes && n)) return 0;
    while (u->n && n) {   /* a held start gets one byte more until it is whole or wrong */
        u->held[u->n++] = *bytes++;
        n--;
        size_t used = release(u->held, (size_t)u->n, out, &n_out);
        u->n -= (int)used;
        memmove(u->held, u->held + used, (size_t)u->n);
    }
    size_t used = n ? release(bytes, n, out, &n_out) : 0;
    if (n > used) {
        u->n = (int)(n - used);
        memcpy(u->held, bytes + used, (size_t)u->n);
    }
    if (end && u->n) {
        n_out += put_bad(out + n_out);
        u->n = 0;
    }
    return n_out;
}
