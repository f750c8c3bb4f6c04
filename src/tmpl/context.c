/* SPDX-License-Identifier: MIT
 *
 * context.c: the arena, the text that is being written, and the limits of a template's parsing and rendering. */
#include <stdarg.h>
#include <string.h>
#include "base/utf8.h"
#include "tmpl/tmpl.h"
#include "tmpl/value.h"

void tl_x_raise(tl_tx *c, int code, const char *text) {
    if (c->line > 0) tl_fail(c->err, code, "%s: line %d: %s", c->name, c->line, text);
    else tl_fail(c->err, code, "%s: %s", c->name, text);
    longjmp(c->jump, 1);
}

void tl_x_fail(tl_tx *c, const char *fmt, ...) {
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(text, sizeof text, fmt, ap) < 0) text[0] = 0;
    va_end(ap);
    tl_x_raise(c, TL_E_FORMAT, text);
}

/* Blocks double up to a megabyte; what is larger than a block's rest gets one of its own. */
void *tl_x_alloc(tl_tx *c, size_t n, size_t size) {
    enum { FIRST = 16 << 10, LARGEST = 1 << 20, ALIGN = 16 };
    size_t bytes, head = (sizeof(tl_block) + ALIGN - 1) / ALIGN * ALIGN;
    tl_arena *a = &c->arena;
    if (!tl_mul_size(n, size, &bytes) || bytes > TL_TMPL_MAX_MEMORY || bytes + a->total > TL_TMPL_MAX_MEMORY)
        tl_x_fail(c, "needs more than %d MB of memory", TL_TMPL_MAX_MEMORY >> 20);
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    tl_block *b = a->first;
    if (!b || b->cap - b->n < bytes) {
        size_t cap = b ? b->cap * 2 : FIRST;
        if (cap > LARGEST) cap = LARGEST;
        if (cap < bytes) cap = bytes;
        tl_error err = {0};
        tl_block *fresh = tl_alloc_n(head + cap, 1, "a template", &err);
        if (!fresh) tl_x_raise(c, TL_E_MEMORY, err.text);
        fresh->cap = cap;
        fresh->next = b;
        a->total += cap;
        a->first = b = fresh;
    }
    void *p = (char *)b + head + b->n;
    b->n += bytes;
    return p;
}

void tl_x_free(tl_tx *c) {
    for (tl_block *b = c->arena.first, *next; b; b = next) {
        next = b->next;
        tl_free(b);
    }
    c->arena = (tl_arena){0};
}

void tl_x_work(tl_tx *c, size_t steps) {
    if (steps > (size_t)c->steps) tl_x_fail(c, "takes too long: more than %d steps", TL_TMPL_MAX_STEPS);
    c->steps -= (int64_t)steps;
}

void tl_x_enter(tl_tx *c) {
    if (++c->depth > TL_TMPL_MAX_DEPTH) tl_x_fail(c, "nested too deeply: more than %d calls", TL_TMPL_MAX_DEPTH);
}

void tl_x_put(tl_tx *c, const char *s, size_t n) {
    if (n > TL_TMPL_MAX_OUTPUT || c->out->n + n > TL_TMPL_MAX_OUTPUT)
        tl_x_fail(c, "writes more than %d MB", TL_TMPL_MAX_OUTPUT >> 20);
    tl_x_work(c, 1 + n / 16);
    if (n) tl_buf_add(c->out, s, n);
    if (c->out->failed) tl_x_raise(c, TL_E_MEMORY, "out of memory for the text");
}

const char tl_trusted[] = "trusted";

static void put_flags(tl_buf *t, int flag, size_t n) {
    char some[256];
    memset(some, flag, sizeof some);
    for (; n && !t->failed; n -= n < sizeof some ? n : sizeof some) tl_buf_add(t, some, n < sizeof some ? n : sizeof some);
}

/* Flags of out's last n bytes; bytes before them that have none are not trusted. */
static void put_trust(tl_tx *c, const char *flags, size_t n) {
    tl_buf *t = &c->trust;
    put_flags(t, 0, c->out->n - n - t->n);
    if (flags == tl_trusted) put_flags(t, 1, n);
    else tl_buf_add(t, flags, n);
    if (t->failed) tl_x_raise(c, TL_E_MEMORY, "out of memory for the text");
}

void tl_x_put_part(tl_tx *c, tl_val s, size_t from, size_t to) {
    if (to <= from) return;
    tl_x_put(c, s.u.s + from, to - from);
    if (s.trust) put_trust(c, tl_trust_at(s, from), to - from);
}

void tl_x_puts(tl_tx *c, const char *s) { tl_x_put(c, s, strlen(s)); }

void tl_x_fill(tl_tx *c, tl_val s, int64_t times) {
    if (s.n == 0) return;
    for (int64_t i = 0; i < times; i++) {
        tl_x_work(c, 1);
        tl_x_put_text(c, s);
    }
}

void tl_x_put_cp(tl_tx *c, int32_t cp) {
    char b[4];
    tl_x_put(c, b, tl_utf8_put(b, cp));
}

tl_val tl_x_take(tl_tx *c, size_t mark) {
    size_t n = c->out->n - mark, flagged = c->trust.n > mark ? c->trust.n - mark : 0;
    tl_val v = n ? tl_v_copy(c, c->out->p + mark, n) : tl_v_str("", 0);
    if (c->own) v.trust = tl_trusted;
    else if (flagged == n && n && !memchr(c->trust.p + mark, 0, n)) v.trust = tl_trusted;
    else if (flagged && n) {
        char *flags = tl_x_alloc(c, n, 1);   /* zeroed: what was not flagged is not trusted */
        memcpy(flags, c->trust.p + mark, flagged);
        v.trust = flags;
    }
    c->out->n = mark;
    if (flagged) c->trust.n = mark;
    return v;
}
