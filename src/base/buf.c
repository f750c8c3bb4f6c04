/* SPDX-License-Identifier: MIT
 *
 * buf.c: a text buffer that grows. Its text is always followed by a 0 byte once something was added. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/base.h"

/* Room for n more bytes and a 0. */
static int reserve(tl_buf *b, size_t n) {
    size_t need;
    if (!tl_add_size(b->n, n, &need) || !tl_add_size(need, 1, &need)) need = 0;
    if (need && need <= b->cap) return 1;
    size_t cap = b->cap > SIZE_MAX / 2 ? need : b->cap * 2;   /* doubling: adding stays linear in total */
    if (cap < need) cap = need;
    if (cap < 64) cap = 64;
    char *p = need ? realloc(b->p, cap) : NULL;
    if (!p) {
        b->failed = 1;
        return 0;
    }
    b->p = p;
    b->cap = cap;
    return 1;
}

void tl_buf_add(tl_buf *b, const void *bytes, size_t n) {
    if (!reserve(b, n)) return;
    if (n) memcpy(b->p + b->n, bytes, n);
    b->n += n;
    b->p[b->n] = 0;
}

void tl_buf_str(tl_buf *b, const char *s) { tl_buf_add(b, s, strlen(s)); }

void tl_buf_fmt(tl_buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0) {
        b->failed = 1;
        return;
    }
    if (!reserve(b, (size_t)n)) return;
    va_start(ap, fmt);
    vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->n += (size_t)n;
}

void tl_buf_free(tl_buf *b) {
    free(b->p);
    *b = (tl_buf){0};
}
