/* SPDX-License-Identifier: MIT
 *
 * iter.c: going through the items of values, their number, and strings by code points. */
#include <string.h>
#include "base/utf8.h"
#include "tmpl/run.h"

int tl_v_iterable(tl_val v) {
    return v.kind == TL_UNDEF || (v.kind >= TL_STR && v.kind <= TL_GEN) || v.kind == TL_LOOP;
}

tl_iter tl_iter_of(tl_tx *c, tl_val v) {
    if (!tl_v_iterable(v)) tl_x_fail(c, "'%s' object is not iterable", tl_v_type(v));
    return (tl_iter){.v = v};
}

static int dict_next(tl_tx *c, const tl_dict *d, int kind, size_t at, tl_val *out) {
    if (at >= d->n) return 0;
    if (kind == TL_VALUES) *out = d->val[at];
    else if (kind == TL_ITEMS) *out = tl_v_pair(c, d->key[at], d->val[at]);
    else *out = d->key[at];
    return 1;
}

int tl_iter_next(tl_tx *c, tl_iter *it, tl_val *out) {
    tl_val v = it->v;
    tl_x_work(c, 1);
    switch (v.kind) {
    case TL_STR: {
        if (it->at >= v.n) return 0;
        int32_t cp;
        size_t n = tl_utf8_next(v.u.s + it->at, v.n - it->at, &cp);
        *out = tl_str_sub(v, it->at, it->at + n);
        it->at += n;
        return 1;
    }
    case TL_LIST: case TL_TUPLE:
        if (it->at >= v.u.list->n) return 0;
        *out = v.u.list->v[it->at++];
        return 1;
    case TL_DICT: case TL_KEYS: case TL_VALUES: case TL_ITEMS: return dict_next(c, v.u.dict, v.kind, it->at++, out);
    case TL_RANGE:
        if (it->at >= v.u.range->n) return 0;
        /* modulo 2^64: the item fits, the product need not */
        *out = tl_v_int((int64_t)((uint64_t)v.u.range->start + (uint64_t)v.u.range->step * it->at++));
        return 1;
    case TL_GEN: {
        tl_x_enter(c);
        int more = v.u.gen->next(c, v.u.gen, out);
        tl_x_leave(c);
        return more;
    }
    case TL_UNDEF: return 0;
    default: tl_x_fail(c, "'%s' object is not iterable", tl_v_type(v));
    }
}

tl_val tl_v_to_list(tl_tx *c, tl_val v) {
    int64_t n = v.kind == TL_STR ? 0 : tl_v_length(c, v);
    tl_val l = tl_v_list(c, TL_LIST, n > 0 ? (size_t)n : 0), item;
    tl_iter it = tl_iter_of(c, v);
    while (tl_iter_next(c, &it, &item)) tl_v_push(c, l, item);
    return l;
}

int64_t tl_v_length(tl_tx *c, tl_val v) {
    switch (v.kind) {
    case TL_UNDEF: return 0;
    case TL_STR: return (int64_t)tl_str_len(c, v);
    case TL_LIST: case TL_TUPLE: return (int64_t)v.u.list->n;
    case TL_DICT: case TL_KEYS: case TL_VALUES: case TL_ITEMS: return (int64_t)v.u.dict->n;
    case TL_RANGE: return (int64_t)v.u.range->n;
    case TL_LOOP: return tl_x_loop_attr(c, v.u.loop, tl_v_cstr("length")).u.i;
    default: return -1;
    }
}

tl_val tl_v_gen(tl_tx *c, tl_val src, int (*next)(tl_tx *, tl_gen *, tl_val *), tl_gen **g) {
    tl_gen *n = tl_x_alloc(c, 1, sizeof *n);
    n->next = next;
    n->type = "generator";
    n->src.v = src;   /* what cannot be iterated is found out when it is */
    if (g) *g = n;
    return (tl_val){.kind = TL_GEN, .u.gen = n};
}

size_t tl_str_len(tl_tx *c, tl_val s) {
    size_t n = 0;
    int32_t cp;
    tl_x_work(c, s.n / TL_X_CHARS);
    for (size_t at = 0; at < s.n; n++) at += tl_utf8_next(s.u.s + at, s.n - at, &cp);
    return n;
}

size_t tl_str_offset(tl_tx *c, tl_val s, size_t i) {
    size_t at = 0;
    int32_t cp;
    for (; i && at < s.n; i--) at += tl_utf8_next(s.u.s + at, s.n - at, &cp);
    tl_x_work(c, at / TL_X_CHARS);
    return at;
}

tl_val tl_str_sub(tl_val s, size_t from, size_t to) {
    if (to > s.n) to = s.n;
    if (from > to) from = to;
    s.trust = tl_trust_at(s, from);
    s.u.s += from;
    s.n = (uint32_t)(to - from);
    return s;
}

size_t tl_str_find(tl_tx *c, tl_val s, tl_val sub, size_t from) {
    if (from > s.n || s.n - from < sub.n) return SIZE_MAX;
    if (sub.n == 0) return from;
    size_t last = s.n - sub.n, began = from;   /* where sub can begin at the latest */
    while (from <= last) {
        const char *p = memchr(s.u.s + from, sub.u.s[0], last - from + 1);
        if (!p) break;
        from = (size_t)(p - s.u.s);
        tl_x_work(c, sub.n / 64);
        if (memcmp(p, sub.u.s, sub.n) == 0) {
            tl_x_work(c, (from - began) / 64);
            return from;
        }
        from++;
    }
    tl_x_work(c, (s.n - began) / 64);
    return SIZE_MAX;
}

size_t tl_str_rfind(tl_tx *c, tl_val s, tl_val sub, size_t to) {
    if (to > s.n) to = s.n;
    if (to < sub.n) return SIZE_MAX;
    for (size_t at = to - sub.n;; at--) {
        tl_x_work(c, (at & 63) == 0);
        if (sub.n == 0 || s.u.s[at] == sub.u.s[0]) {
            tl_x_work(c, sub.n / 64);
            if (memcmp(s.u.s + at, sub.u.s, sub.n) == 0) return at;
        }
        if (at == 0) return SIZE_MAX;
    }
}
