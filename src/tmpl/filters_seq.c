/* SPDX-License-Identifier: MIT
 *
 * filters_seq.c: filters that look at the items of a value. Those that are generators in Jinja2 are generators here:
 * made on demand, used up by one walk, true even when empty. */
#include <string.h>
#include "tmpl/run.h"
#include "tmpl/filters.h"

/* ---- keys ---- */

static int is_index(tl_val s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.u.s[i] < '0' || s.u.s[i] > '9') return 0;
    return s.n > 0 && s.n < 10;
}

/* item.a.b for the attribute "a.b"; the item itself without one. otherwise: instead of an undefined value, if given. */
static tl_val get_path(tl_tx *c, tl_val item, tl_val attribute, tl_val otherwise) {
    if (attribute.kind == TL_MISSING || attribute.kind == TL_NONE) return item;
    if (attribute.kind != TL_STR) {
        item = tl_x_item(c, item, attribute);
        return item.kind == TL_UNDEF && otherwise.kind ? otherwise : item;
    }
    tl_x_work(c, attribute.n / TL_X_CHARS);   /* for every item, not once for all */
    for (size_t from = 0; from <= attribute.n;) {
        const char *dot = memchr(attribute.u.s + from, '.', attribute.n - from);
        size_t to = dot ? (size_t)(dot - attribute.u.s) : attribute.n;
        tl_val part = tl_str_sub(attribute, from, to);
        if (is_index(part)) {
            int64_t i = 0;
            for (size_t k = 0; k < part.n; k++) i = i * 10 + (part.u.s[k] - '0');
            part = tl_v_int(i);
        }
        item = tl_x_item(c, item, part);
        if (item.kind == TL_UNDEF && otherwise.kind) item = otherwise;
        from = to + 1;
    }
    return item;
}

static tl_val fold(tl_tx *c, tl_val v, int case_sensitive) {
    return v.kind == TL_STR && !case_sensitive ? tl_str_lower(c, v) : v;
}

/* What an item is sorted by: a list, one entry for every attribute of "a,b". */
static tl_val sort_key(tl_tx *c, tl_val item, tl_val attribute, int case_sensitive) {
    tl_val key = tl_v_list(c, TL_LIST, 1), none = {0};
    if (attribute.kind != TL_STR) {
        tl_v_push(c, key, fold(c, get_path(c, item, attribute, none), case_sensitive));
        return key;
    }
    for (size_t from = 0; from <= attribute.n;) {
        const char *comma = memchr(attribute.u.s + from, ',', attribute.n - from);
        size_t to = comma ? (size_t)(comma - attribute.u.s) : attribute.n;
        tl_v_push(c, key, fold(c, get_path(c, item, tl_str_sub(attribute, from, to), none), case_sensitive));
        from = to + 1;
    }
    return key;
}

typedef struct pair { tl_val key, v; } pair;

/* Stable merge sort of p[0..n); t: as much room. */
static void merge_sort(tl_tx *c, pair *p, pair *t, size_t n, int reverse) {
    if (n < 2) return;
    size_t half = n / 2, a = 0, b = half;
    merge_sort(c, p, t, half, reverse);
    merge_sort(c, p + half, t, n - half, reverse);
    for (size_t i = 0; i < n; i++) {
        int right = a == half;
        if (a < half && b < n) {
            right = reverse ? tl_v_compare(c, p[a].key, p[b].key, "<") == -1 : tl_v_compare(c, p[b].key, p[a].key, "<") == -1;
        }
        t[i] = right ? p[b++] : p[a++];
    }
    memcpy(p, t, n * sizeof *p);
}

static tl_val sorted(tl_tx *c, tl_val list, tl_val attribute, int case_sensitive, int reverse) {
    tl_list *l = list.u.list;
    pair *p = tl_x_alloc(c, l->n * 2, sizeof *p);
    for (size_t i = 0; i < l->n; i++) p[i] = (pair){sort_key(c, l->v[i], attribute, case_sensitive), l->v[i]};
    merge_sort(c, p, p + l->n, l->n, reverse);
    for (size_t i = 0; i < l->n; i++) l->v[i] = p[i].v;
    return list;
}

tl_val tl_f_sort(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)args;
    return sorted(c, tl_v_to_list(c, v), a[2], tl_arg_bool(c, a[1], 0), tl_arg_bool(c, a[0], 0));
}

tl_val tl_f_dictsort(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)args;
    tl_val by = tl_arg_str(c, a[1], "key");
    if (v.kind == TL_UNDEF) tl_v_undef_fail(c, v);
    if (v.kind != TL_DICT) tl_x_fail(c, "'%s' object has no attribute 'items'", tl_v_type(v));
    if (!tl_v_is(by, "key") && !tl_v_is(by, "value")) tl_x_fail(c, "You can only sort by either \"key\" or \"value\"");
    v.kind = TL_ITEMS;
    return sorted(c, tl_v_to_list(c, v), tl_v_int(tl_v_is(by, "value")), tl_arg_bool(c, a[0], 0), tl_arg_bool(c, a[2], 0));
}

static tl_val extreme(tl_tx *c, tl_val v, const tl_val *a, int sign) {
    tl_val item, best = {0}, best_key = {0};
    tl_iter it = tl_iter_of(c, v);
    while (tl_iter_next(c, &it, &item)) {
        tl_val key = fold(c, get_path(c, item, a[1], (tl_val){0}), tl_arg_bool(c, a[0], 0));
        if (best.kind && tl_v_compare(c, key, best_key, sign < 0 ? "<" : ">") != sign) continue;
        best = item;
        best_key = key;
    }
    return best.kind ? best : tl_v_undef("No aggregated item, sequence was empty.");
}

tl_val tl_f_minimum(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) { (void)args; return extreme(c, v, a, -1); }
tl_val tl_f_maximum(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) { (void)args; return extreme(c, v, a, 1); }

static int unique_next(tl_tx *c, tl_gen *g, tl_val *out) {
    while (tl_iter_next(c, &g->src, out)) {
        tl_val key = fold(c, get_path(c, *out, g->a, (tl_val){0}), g->flag);
        if (tl_dict_find(c, g->b.u.dict, key)) continue;
        tl_dict_set(c, g->b.u.dict, key, key);
        return 1;
    }
    return 0;
}

tl_val tl_f_unique(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)args;
    tl_gen *g;
    tl_val r = tl_v_gen(c, v, unique_next, &g);
    g->a = a[1];
    g->b = tl_v_dict(c);
    g->flag = tl_arg_bool(c, a[0], 0);
    return r;
}

tl_val tl_f_groupby(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)args;
    int sensitive = tl_arg_bool(c, a[2], 0);
    tl_val l = sorted(c, tl_v_to_list(c, v), a[0], sensitive, 0), groups = tl_v_list(c, TL_LIST, 0), last = {0}, items = {0};
    for (size_t i = 0; i < l.u.list->n; i++) {
        tl_val item = l.u.list->v[i], key = get_path(c, item, a[0], a[1]), folded = fold(c, key, sensitive);
        if (!items.kind || !tl_v_equal(c, folded, last)) {
            items = tl_v_list(c, TL_LIST, 0);
            tl_v_push(c, groups, tl_v_pair(c, key, items));
            last = folded;
        }
        tl_v_push(c, items, item);
    }
    return groups;
}

/* ---- map and select ---- */

/* args without the first n positions. */
static tl_args *rest_of(tl_tx *c, const tl_args *args, int n) {
    tl_args *r = tl_x_alloc(c, 1, sizeof *r);
    *r = *args;
    n = n > args->n ? args->n : n;
    r->v += r->v ? n : 0;
    r->n -= n;
    return r;
}

/* Whatever is false has no items here, None included. */
static tl_val items_or_none(tl_tx *c, tl_val v) { return tl_v_truth(c, v) ? v : tl_v_list(c, TL_LIST, 0); }

typedef struct applied { const tl_builtin *b; tl_args *args; int negate; } applied;

static int map_next(tl_tx *c, tl_gen *g, tl_val *out) {
    const applied *f = g->p;
    if (!tl_iter_next(c, &g->src, out)) return 0;
    *out = f ? tl_x_call_builtin(c, f->b, *out, f->args) : get_path(c, *out, g->a, g->b);
    return 1;
}

tl_val tl_f_map(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)a;
    tl_gen *g;
    tl_val r = tl_v_gen(c, items_or_none(c, v), map_next, &g);
    if (args->n == 0) {
        for (int i = 0; i < args->n_kw; i++) {
            if (tl_v_is(args->key[i], "attribute")) g->a = args->val[i];
            else if (tl_v_is(args->key[i], "default")) g->b = args->val[i];
            else tl_x_fail(c, "map: unexpected keyword argument '%.*s'", (int)args->key[i].n, args->key[i].u.s);
        }
        if (!g->a.kind) tl_x_fail(c, "map requires a filter argument");
        return r;
    }
    tl_val name = args->v[0];
    applied *f = tl_x_alloc(c, 1, sizeof *f);
    f->b = name.kind == TL_STR ? tl_find_filter(name) : NULL;
    if (!f->b) tl_x_fail(c, "no filter named '%.*s'", name.kind == TL_STR ? (int)name.n : 1, name.kind == TL_STR ? name.u.s : "?");
    f->args = rest_of(c, args, 1);
    g->p = f;
    return r;
}

static int select_next(tl_tx *c, tl_gen *g, tl_val *out) {
    const applied *f = g->p;
    while (tl_iter_next(c, &g->src, out)) {
        tl_val v = get_path(c, *out, g->a, (tl_val){0});
        if (f->b) v = tl_x_call_builtin(c, f->b, v, f->args);
        if (tl_v_truth(c, v) != f->negate) return 1;
    }
    return 0;
}

static tl_val selection(tl_tx *c, tl_val v, const tl_args *args, int by_attr, int negate) {
    tl_gen *g;
    tl_val r = tl_v_gen(c, items_or_none(c, v), select_next, &g);
    applied *f = tl_x_alloc(c, 1, sizeof *f);
    if (by_attr && args->n == 0) tl_x_fail(c, "Missing parameter for attribute name");
    if (by_attr) g->a = args->v[0];
    if (args->n > by_attr) {
        tl_val name = args->v[by_attr];
        f->b = name.kind == TL_STR ? tl_find_test(name) : NULL;
        if (!f->b) tl_x_fail(c, "no test named '%.*s'", name.kind == TL_STR ? (int)name.n : 1, name.kind == TL_STR ? name.u.s : "?");
    }
    f->args = rest_of(c, args, by_attr + 1);
    f->negate = negate;
    g->p = f;
    return r;
}

tl_val tl_f_select(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) { (void)a; return selection(c, v, args, 0, 0); }
tl_val tl_f_reject(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) { (void)a; return selection(c, v, args, 0, 1); }
tl_val tl_f_selectattr(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) { (void)a; return selection(c, v, args, 1, 0); }
tl_val tl_f_rejectattr(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) { (void)a; return selection(c, v, args, 1, 1); }

/* ---- groups ---- */

static int batch_next(tl_tx *c, tl_gen *g, tl_val *out) {
    tl_val l = tl_v_list(c, TL_LIST, 0), item;
    while (l.u.list->n < g->n && tl_iter_next(c, &g->src, &item)) tl_v_push(c, l, item);
    if (l.u.list->n == 0) return 0;
    while (l.u.list->n < g->n && g->a.kind && g->a.kind != TL_NONE) {
        tl_x_work(c, 1);
        tl_v_push(c, l, g->a);
    }
    *out = l;
    return 1;
}

tl_val tl_f_batch(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)args;
    tl_gen *g;
    tl_val r = tl_v_gen(c, v, batch_next, &g);
    int64_t n = tl_arg_int(c, a[0], 0);
    if (n < 1) tl_x_fail(c, "batch: the number of items must be at least 1");
    g->n = (size_t)n;
    g->a = a[1];
    return r;
}

/* g->b: all items, g->n: columns, g->at: the next one. */
static int slice_next(tl_tx *c, tl_gen *g, tl_val *out) {
    if (g->at >= g->n) return 0;
    size_t i = g->at++, all = g->b.u.list->n, per = all / g->n, longer = all % g->n;
    size_t from = i * per + (i < longer ? i : longer), to = from + per + (i < longer);
    *out = tl_v_list(c, TL_LIST, to - from + 1);
    for (size_t k = from; k < to; k++) tl_v_push(c, *out, g->b.u.list->v[k]);
    if (i >= longer && g->a.kind && g->a.kind != TL_NONE) tl_v_push(c, *out, g->a);
    return 1;
}

tl_val tl_f_slices(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)args;
    tl_gen *g;
    tl_val r = tl_v_gen(c, tl_v_list(c, TL_LIST, 0), slice_next, &g);
    int64_t n = tl_arg_int(c, a[0], 0);
    if (n < 1) tl_x_fail(c, "slice: the number of slices must be at least 1");
    g->b = tl_v_to_list(c, v);
    g->n = (size_t)n;
    g->a = a[1];
    return r;
}

static int items_next(tl_tx *c, tl_gen *g, tl_val *out) { return tl_iter_next(c, &g->src, out); }

static tl_val as_gen(tl_tx *c, tl_val v, const char *type) {
    tl_gen *g;
    tl_val r = tl_v_gen(c, v, items_next, &g);
    g->type = type;
    return r;
}

tl_val tl_f_items(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)a;
    (void)args;
    if (v.kind == TL_DICT) v.kind = TL_ITEMS;
    else if (v.kind != TL_UNDEF) tl_x_fail(c, "Can only get item pairs from a mapping.");
    return as_gen(c, v, "generator");
}

/* ---- single results ---- */

tl_val tl_f_first(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    tl_val item;
    (void)a;
    (void)args;
    if (v.kind == TL_GEN) return v.u.gen->next(c, v.u.gen, &item) ? item : tl_v_undef("No first item, sequence was empty.");
    tl_iter it = tl_iter_of(c, v);
    return tl_iter_next(c, &it, &item) ? item : tl_v_undef("No first item, sequence was empty.");
}

static tl_val reversed(tl_tx *c, tl_val v) {
    if (v.kind == TL_GEN) tl_x_fail(c, "'%s' object is not reversible", tl_v_type(v));
    tl_val l = tl_v_to_list(c, v), r = tl_v_list(c, TL_LIST, l.u.list->n);
    for (size_t i = l.u.list->n; i-- > 0;) tl_v_push(c, r, l.u.list->v[i]);
    return r;
}

tl_val tl_f_last(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)a;
    (void)args;
    tl_val r = reversed(c, v);
    return r.u.list->n ? r.u.list->v[0] : tl_v_undef("No last item, sequence was empty.");
}

tl_val tl_f_reverse(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)a;
    (void)args;
    if (v.kind == TL_STR) return tl_x_slice(c, v, tl_v_none(), tl_v_none(), tl_v_int(-1));
    if (v.kind == TL_GEN) {   /* Jinja2 makes a list and turns it around in place */
        v = tl_v_to_list(c, v);
        return reversed(c, v);
    }
    return as_gen(c, reversed(c, v), "list_reverseiterator");
}

tl_val tl_f_length(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)a;
    (void)args;
    int64_t n = tl_v_length(c, v);
    if (n < 0) tl_x_fail(c, "object of type '%s' has no len()", tl_v_type(v));
    return tl_v_int(n);
}

tl_val tl_f_list(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) { (void)a; (void)args; return tl_v_to_list(c, v); }

tl_val tl_f_otherwise(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)args;
    if (v.kind != TL_UNDEF && !(tl_arg_bool(c, a[1], 0) && !tl_v_truth(c, v))) return v;
    return a[0].kind ? a[0] : tl_v_str("", 0);
}

tl_val tl_f_join(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)args;
    tl_val sep = a[0].kind ? tl_v_plain(c, a[0]) : tl_v_str("", 0), item;
    tl_iter it = tl_iter_of(c, v);
    size_t mark = tl_x_mark(c);
    sep = tl_str_joint(c, sep);
    for (int first = 1; tl_iter_next(c, &it, &item); first = 0) {
        if (!first) tl_x_put_text(c, sep);
        tl_v_write(c, get_path(c, item, a[1], (tl_val){0}));
    }
    return tl_x_take(c, mark);
}

tl_val tl_f_sum(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)args;
    tl_val total = a[1].kind ? a[1] : tl_v_int(0), item;
    tl_iter it = tl_iter_of(c, v);
    if (total.kind == TL_STR) tl_x_fail(c, "sum() can't sum strings [use ''.join(seq) instead]");
    while (tl_iter_next(c, &it, &item)) total = tl_x_binary(c, '+', total, get_path(c, item, a[0], (tl_val){0}));
    return total;
}

tl_val tl_f_attr(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)args;
    if (v.kind == TL_DICT && a[0].kind == TL_STR && !tl_find_method(TL_DICT, a[0])) return tl_v_undef_attr(TL_DICT, a[0]);
    return tl_x_attr(c, v, tl_v_plain(c, a[0]));
}
