/* SPDX-License-Identifier: MIT
 *
 * value.c: making, comparing and looking up values, by the rules of Python. */
#include <math.h>
#include <string.h>
#include "tmpl/run.h"

tl_val tl_v_str(const char *s, size_t n) { return (tl_val){.kind = TL_STR, .n = (uint32_t)n, .u.s = s}; }

tl_val tl_v_cstr(const char *s) { return tl_v_str(s, strlen(s)); }

tl_val tl_v_copy(tl_tx *c, const char *s, size_t n) {
    char *p = tl_x_alloc(c, n + 1, 1);
    if (n) memcpy(p, s, n);
    return tl_v_str(p, n);
}

tl_val tl_v_undef(const char *why) { return (tl_val){.kind = TL_UNDEF, .n = (uint32_t)strlen(why), .u.s = why}; }

tl_val tl_v_undef_attr(int kind, tl_val name) {
    name.kind = TL_UNDEF;
    name.sub = (uint8_t)(TL_UNDEF_ATTR + kind);
    return name;
}

tl_val tl_v_list(tl_tx *c, int kind, size_t cap) {
    tl_list *l = tl_x_alloc(c, 1, sizeof *l);
    if (cap) l->v = tl_x_alloc(c, cap, sizeof *l->v);
    l->cap = cap;
    return (tl_val){.kind = (uint8_t)kind, .u.list = l};
}

void tl_v_push(tl_tx *c, tl_val list, tl_val v) {
    tl_list *l = list.u.list;
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 4;
        tl_val *p = tl_x_alloc(c, cap, sizeof *p);
        if (l->n) memcpy(p, l->v, l->n * sizeof *p);
        l->v = p;
        l->cap = cap;
    }
    l->v[l->n++] = v;
}

tl_val tl_v_pair(tl_tx *c, tl_val a, tl_val b) {
    tl_val t = tl_v_list(c, TL_TUPLE, 2);
    tl_v_push(c, t, a);
    tl_v_push(c, t, b);
    return t;
}

tl_val tl_v_dict(tl_tx *c) { return (tl_val){.kind = TL_DICT, .u.dict = tl_x_alloc(c, 1, sizeof(tl_dict))}; }

const char *tl_v_type(tl_val v) {
    static const char *const names[TL_N_VAL_KINDS] = {
        "missing", "Undefined", "NoneType", "bool", "int", "float", "int", "str", "list", "tuple", "dict", "dict_keys",
        "dict_values", "dict_items", "range", "generator", "Namespace", "LoopContext", "function", "Macro", "Cycler",
        "Joiner"};
    if (v.kind == TL_STR && v.sub) return "Markup";
    if (v.kind == TL_GEN) return v.u.gen->type;
    return names[v.kind];
}

void tl_v_undef_fail(tl_tx *c, tl_val v) {
    int n = v.n > 200 ? 200 : (int)v.n;
    if (v.sub == TL_UNDEF_TEXT) tl_x_fail(c, "%.*s", n, v.u.s);
    if (v.sub == TL_UNDEF_NAME) tl_x_fail(c, "'%.*s' is undefined", n, v.u.s);
    tl_val owner = {.kind = (uint8_t)(v.sub - TL_UNDEF_ATTR)};
    if (owner.kind == TL_NONE) tl_x_fail(c, "'None' has no attribute '%.*s'", n, v.u.s);
    if (owner.kind == TL_NS) tl_x_fail(c, "the namespace has no attribute '%.*s'", n, v.u.s);
    tl_x_fail(c, "'%s object' has no attribute '%.*s'", owner.kind == TL_GEN ? "generator" : tl_v_type(owner), n, v.u.s);
}

int tl_v_is(tl_val v, const char *text) {
    size_t n = strlen(text);
    return v.kind == TL_STR && v.n == n && memcmp(v.u.s, text, n) == 0;
}

int tl_v_truth(tl_tx *c, tl_val v) {
    switch (v.kind) {
    case TL_UNDEF: case TL_NONE: case TL_MISSING: return 0;
    case TL_BOOL: case TL_INT: return v.u.i != 0;
    case TL_FLOAT: return v.u.f != 0;
    case TL_STR: return v.n != 0;
    case TL_LIST: case TL_TUPLE: case TL_DICT: case TL_KEYS: case TL_VALUES: case TL_ITEMS: case TL_RANGE:
        return tl_v_length(c, v) != 0;
    default: return 1;
    }
}

static int list_equal(tl_tx *c, const tl_list *a, const tl_list *b) {
    if (a->n != b->n) return 0;
    for (size_t i = 0; i < a->n; i++)
        if (!tl_v_equal(c, a->v[i], b->v[i])) return 0;
    return 1;
}

static int dict_equal(tl_tx *c, const tl_dict *a, const tl_dict *b) {
    if (a->n != b->n) return 0;
    for (size_t i = 0; i < a->n; i++) {
        tl_val *v = tl_dict_find(c, b, a->key[i]);
        if (!v || !tl_v_equal(c, a->val[i], *v)) return 0;
    }
    return 1;
}

static int range_equal(const tl_range *a, const tl_range *b) {
    return a->n == b->n && (a->n == 0 || (a->start == b->start && (a->n == 1 || a->step == b->step)));
}

int tl_v_same(tl_val a, tl_val b) {
    if (a.kind != b.kind) return 0;
    switch (a.kind) {
    case TL_UNDEF: case TL_NONE: return 1;
    case TL_FLOAT: return a.u.f == b.u.f;
    case TL_STR: case TL_BIG: return a.n == b.n && (a.u.s == b.u.s || memcmp(a.u.s, b.u.s, a.n) == 0);
    case TL_FUNC: return a.u.func->b == b.u.func->b && a.u.func == b.u.func;
    default: return a.u.i == b.u.i;
    }
}

int tl_v_equal(tl_tx *c, tl_val a, tl_val b) {
    tl_x_work(c, 1);
    if (tl_v_has_int(a) && tl_v_has_int(b)) return a.u.i == b.u.i;
    if (tl_v_has_num(a) && tl_v_has_num(b)) return tl_v_num(a) == tl_v_num(b);
    if (a.kind != b.kind) return 0;
    int same;
    switch (a.kind) {
    case TL_STR:
        tl_x_work(c, a.n == b.n ? a.n / 64 : 0);
        return a.n == b.n && memcmp(a.u.s, b.u.s, a.n) == 0;
    case TL_LIST: case TL_TUPLE: case TL_DICT:
        if (a.u.list == b.u.list) return 1;
        tl_x_enter(c);
        same = a.kind == TL_DICT ? dict_equal(c, a.u.dict, b.u.dict) : list_equal(c, a.u.list, b.u.list);
        tl_x_leave(c);
        return same;
    case TL_RANGE: return range_equal(a.u.range, b.u.range);
    default: return tl_v_same(a, b);
    }
}

static int num_compare(tl_val a, tl_val b) {
    if (tl_v_has_int(a) && tl_v_has_int(b)) return (a.u.i > b.u.i) - (a.u.i < b.u.i);
    double x = tl_v_num(a), y = tl_v_num(b);
    return isnan(x) || isnan(y) ? 2 : (x > y) - (x < y);
}

/* UTF-8 sorts as its code points do. */
static int str_compare(tl_tx *c, tl_val a, tl_val b) {
    size_t n = a.n < b.n ? a.n : b.n;
    tl_x_work(c, n / 64);
    int r = n ? memcmp(a.u.s, b.u.s, n) : 0;
    return r ? (r > 0) - (r < 0) : (a.n > b.n) - (a.n < b.n);
}

int tl_v_compare(tl_tx *c, tl_val a, tl_val b, const char *op) {
    tl_x_work(c, 1);
    if (tl_v_has_num(a) && tl_v_has_num(b)) return num_compare(a, b);
    if (a.kind == TL_STR && b.kind == TL_STR) return str_compare(c, a, b);
    if (a.kind == TL_UNDEF) tl_v_undef_fail(c, a);
    if (b.kind == TL_UNDEF) tl_v_undef_fail(c, b);
    if (a.kind == b.kind && (a.kind == TL_LIST || a.kind == TL_TUPLE)) {
        const tl_list *x = a.u.list, *y = b.u.list;
        tl_x_enter(c);
        int r = 0;
        size_t i = 0;
        while (i < x->n && i < y->n && tl_v_equal(c, x->v[i], y->v[i])) i++;
        if (i < x->n && i < y->n) r = tl_v_compare(c, x->v[i], y->v[i], op);
        else r = (x->n > y->n) - (x->n < y->n);
        tl_x_leave(c);
        return r;
    }
    tl_x_fail(c, "'%s' not supported between instances of '%s' and '%s'", op, tl_v_type(a), tl_v_type(b));
}

/* ---- dicts ---- */

/* Numbers that are equal have equal hashes, whatever their type. */
static uint32_t hash(tl_tx *c, tl_val v) {
    uint32_t h = 2166136261u;   /* FNV-1a, Fowler, Noll and Vo */
    const unsigned char *p = NULL;
    size_t n = 0;
    double num;
    if (v.kind == TL_STR) {
        p = (const unsigned char *)v.u.s;
        n = v.n;
    } else if (tl_v_has_num(v)) {
        num = tl_v_num(v) + 0.0;   /* -0 becomes 0 */
        p = (const unsigned char *)&num;
        n = sizeof num;
    } else if (v.kind == TL_TUPLE) {
        tl_x_enter(c);
        for (size_t i = 0; i < v.u.list->n; i++) h = (h ^ hash(c, v.u.list->v[i])) * 16777619u;
        tl_x_leave(c);
    } else if (v.kind == TL_LIST || v.kind == TL_DICT) {
        tl_x_fail(c, "unhashable type: '%s'", tl_v_type(v));
    } else {
        h += v.kind;
    }
    tl_x_work(c, n / 16);
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 16777619u;
    return h;
}

enum { SMALL = 8 };   /* entries up to which a dict is searched from front to back */

static size_t probe(tl_tx *c, const tl_dict *d, tl_val key) {
    size_t at = hash(c, key) & (d->n_slots - 1);
    while (d->slot[at] && !tl_v_equal(c, d->key[d->slot[at] - 1], key)) at = (at + 1) & (d->n_slots - 1);
    return at;
}

tl_val *tl_dict_find(tl_tx *c, const tl_dict *d, tl_val key) {
    if (key.kind == TL_LIST || key.kind == TL_DICT) hash(c, key);   /* fails */
    if (d->n_slots) {
        size_t at = probe(c, d, key);
        return d->slot[at] ? &d->val[d->slot[at] - 1] : NULL;
    }
    for (size_t i = 0; i < d->n; i++)
        if (tl_v_equal(c, d->key[i], key)) return &d->val[i];
    return NULL;
}

static void rehash(tl_tx *c, tl_dict *d) {
    d->n_slots = d->cap * 2;
    d->slot = tl_x_alloc(c, d->n_slots, sizeof *d->slot);
    for (size_t i = 0; i < d->n; i++) d->slot[probe(c, d, d->key[i])] = (uint32_t)i + 1;
}

void tl_dict_set(tl_tx *c, tl_dict *d, tl_val key, tl_val v) {
    tl_val *old = tl_dict_find(c, d, key);
    if (old) {
        *old = v;
        return;
    }
    if (d->n == d->cap) {
        size_t cap = d->cap ? d->cap * 2 : SMALL;   /* a power of two */
        tl_val *k = tl_x_alloc(c, cap, 2 * sizeof *k);
        if (d->n) {
            memcpy(k, d->key, d->n * sizeof *k);
            memcpy(k + cap, d->val, d->n * sizeof *k);
        }
        d->key = k;
        d->val = k + cap;
        d->cap = cap;
        if (cap > SMALL) rehash(c, d);
    }
    d->key[d->n] = key;
    d->val[d->n++] = v;
    if (d->n_slots) d->slot[probe(c, d, key)] = (uint32_t)d->n;
}

void tl_dict_remove(tl_tx *c, tl_dict *d, tl_val key) {
    tl_val *v = tl_dict_find(c, d, key);
    if (!v) return;
    size_t at = (size_t)(v - d->val), rest = d->n - at - 1;
    memmove(d->key + at, d->key + at + 1, rest * sizeof *v);
    memmove(d->val + at, d->val + at + 1, rest * sizeof *v);
    d->n--;
    if (d->n_slots) rehash(c, d);
}
