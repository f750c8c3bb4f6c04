/* SPDX-License-Identifier: MIT
 *
 * access.c: v.name, v[key] and slices. As in Jinja2, v.name looks for methods first and v["name"] for items first. */
#include <string.h>
#include "tmpl/run.h"

static tl_val macro_attr(tl_tx *c, const tl_macro *m, tl_val name) {
    if (tl_v_is(name, "name")) return m->name;
    if (tl_v_is(name, "catch_kwargs")) return tl_v_bool(m->node->flag & TL_USES_KWARGS);
    if (tl_v_is(name, "catch_varargs")) return tl_v_bool(m->node->flag & TL_USES_VARARGS);
    if (tl_v_is(name, "caller")) return tl_v_bool(m->node->flag & TL_USES_CALLER);
    if (!tl_v_is(name, "arguments")) return (tl_val){0};
    tl_val t = tl_v_list(c, TL_TUPLE, (size_t)m->node->list.n);
    for (int i = 0; i < m->node->list.n; i++) tl_v_push(c, t, m->node->list.v[i]->v);
    return t;
}

/* Methods and fields alone; TL_MISSING if there is no such name. */
static tl_val own_attr(tl_tx *c, tl_val v, tl_val name) {
    if (v.kind == TL_NS) {
        tl_val *found = tl_dict_find(c, v.u.dict, name);
        return found ? *found : (tl_val){0};
    }
    if (v.kind == TL_LOOP) return tl_x_loop_attr(c, v.u.loop, name);
    if (v.kind == TL_MACRO) return macro_attr(c, v.u.macro, name);
    if (v.kind == TL_CYCLER && tl_v_is(name, "current")) return v.u.cycler->v[v.u.cycler->at];
    const tl_builtin *b = tl_find_method(v.kind, name);
    if (!b) return (tl_val){0};
    if (!b->fn) {   /* it would change the value: undefined in the sandbox */
        char why[120];
        snprintf(why, sizeof why, "access to attribute '%s' of '%s' object is unsafe.", b->name, tl_v_type(v));
        tl_val u = tl_v_copy(c, why, strlen(why));
        u.kind = TL_UNDEF;
        return u;
    }
    tl_func *f = tl_x_alloc(c, 1, sizeof *f);
    *f = (tl_func){b, v};
    return (tl_val){.kind = TL_FUNC, .u.func = f};
}

/* v[key] by Python's rules; TL_MISSING where Python has no such item. */
static tl_val own_item(tl_tx *c, tl_val v, tl_val key) {
    tl_val item = {0};
    int64_t i = key.u.i, n;
    switch (v.kind) {
    case TL_DICT: {
        if (key.kind == TL_LIST || key.kind == TL_DICT) return item;
        tl_val *found = tl_dict_find(c, v.u.dict, key);
        return found ? *found : item;
    }
    case TL_STR: case TL_LIST: case TL_TUPLE: case TL_RANGE:
        if (!tl_v_has_int(key)) return item;
        n = tl_v_length(c, v);
        if (i < 0) i += n;
        if (i < 0 || i >= n) return item;
        if (v.kind == TL_RANGE) return tl_v_int(v.u.range->start + v.u.range->step * i);
        if (v.kind != TL_STR) return v.u.list->v[i];
        tl_iter it = {.v = v, .at = tl_str_offset(c, v, (size_t)i)};
        tl_iter_next(c, &it, &item);
        return item;
    default: return item;
    }
}

static tl_val no_item(tl_tx *c, tl_val v, tl_val key) {
    if (key.kind == TL_STR) return tl_v_undef_attr(v.kind, key);
    size_t mark = tl_x_mark(c);
    tl_x_puts(c, v.kind == TL_NONE ? "None" : tl_v_type(v));
    tl_x_puts(c, v.kind == TL_NONE ? " has no element " : " object has no element ");
    tl_v_write_repr(c, key);
    tl_val why = tl_x_take(c, mark);
    why.kind = TL_UNDEF;
    return why;
}

tl_val tl_x_attr(tl_tx *c, tl_val v, tl_val name) {
    if (v.kind == TL_UNDEF) tl_v_undef_fail(c, v);
    tl_val found = own_attr(c, v, name);
    if (!found.kind) found = own_item(c, v, name);
    return found.kind ? found : tl_v_undef_attr(v.kind, name);
}

tl_val tl_x_item(tl_tx *c, tl_val v, tl_val key) {
    if (v.kind == TL_UNDEF) tl_v_undef_fail(c, v);
    tl_val found = own_item(c, v, key);
    if (!found.kind && key.kind == TL_STR) found = own_attr(c, v, key);
    return found.kind ? found : no_item(c, v, key);
}

/* One bound of a slice in [lo, hi]; n is added to negative ones. */
static int64_t bound(tl_tx *c, tl_val v, int64_t otherwise, int64_t n, int64_t lo, int64_t hi) {
    if (v.kind == TL_NONE || v.kind == TL_MISSING) return otherwise;
    if (v.kind == TL_UNDEF) tl_v_undef_fail(c, v);
    if (!tl_v_has_int(v)) tl_x_fail(c, "slice indices must be integers or None");
    int64_t i = v.u.i < 0 ? v.u.i + n : v.u.i;
    return i < lo ? lo : i > hi ? hi : i;
}

tl_val tl_x_slice(tl_tx *c, tl_val v, tl_val from, tl_val to, tl_val by) {
    if (v.kind == TL_UNDEF) tl_v_undef_fail(c, v);
    if (v.kind == TL_DICT) tl_x_fail(c, "unhashable type: 'slice'");
    if (v.kind != TL_STR && v.kind != TL_LIST && v.kind != TL_TUPLE && v.kind != TL_RANGE)
        tl_x_fail(c, "'%s' object is not subscriptable", tl_v_type(v));
    /* Steps beyond the length are as good as one past it. */
    int64_t n = tl_v_length(c, v), step = bound(c, by, 1, 0, -n - 1, n + 1);
    if (step == 0) tl_x_fail(c, "slice step cannot be zero");
    int64_t a = step > 0 ? bound(c, from, 0, n, 0, n) : bound(c, from, n - 1, n, -1, n - 1);
    int64_t b = step > 0 ? bound(c, to, n, n, 0, n) : bound(c, to, -1, n, -1, n - 1);
    if (v.kind == TL_STR && step == 1) {
        size_t begin = tl_str_offset(c, v, (size_t)a);
        size_t len = b <= a ? 0 : tl_str_offset(c, tl_str_sub(v, begin, v.n), (size_t)(b - a));
        return tl_str_sub(v, begin, begin + len);
    }
    tl_val all = v.kind == TL_STR || v.kind == TL_RANGE ? tl_v_to_list(c, v) : v;
    tl_val l = tl_v_list(c, v.kind == TL_TUPLE ? TL_TUPLE : TL_LIST, 0);
    for (int64_t i = a; step > 0 ? i < b : i > b; i += step) {
        tl_x_work(c, 1);
        tl_v_push(c, l, all.u.list->v[i]);
    }
    if (v.kind != TL_STR) return l;
    size_t mark = tl_x_mark(c);
    for (size_t i = 0; i < l.u.list->n; i++) tl_x_put_text(c, l.u.list->v[i]);
    tl_val s = tl_x_take(c, mark);
    s.sub = v.sub;
    return s;
}
