/* SPDX-License-Identifier: MIT
 *
 * methods.c: methods of texts, lists, dicts and loops; the table is methods.def. */
#include <string.h>
#include "base/utf8.h"
#include "tmpl/filters.h"

#define M(fn) static tl_val fn(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args)
#define USES_NO_ARGS (void)a, (void)args, (void)c

M(str_capitalize) { USES_NO_ARGS; return tl_str_capitalize(c, v); }
M(str_lower) { USES_NO_ARGS; return tl_str_lower(c, v); }
M(str_upper) { USES_NO_ARGS; return tl_str_upper(c, v); }
M(str_strip) { (void)args; return tl_str_strip(c, v, a[0], TL_STRIP_LEFT | TL_STRIP_RIGHT); }
M(str_lstrip) { (void)args; return tl_str_strip(c, v, a[0], TL_STRIP_LEFT); }
M(str_rstrip) { (void)args; return tl_str_strip(c, v, a[0], TL_STRIP_RIGHT); }
M(str_format) { (void)a; return tl_str_format(c, v, args); }
M(str_splitlines) { (void)args; return tl_str_lines(c, v, tl_arg_bool(c, a[0], 0)); }

static tl_val padded(tl_tx *c, tl_val v, const tl_val *a, int where) {
    return tl_str_pad(c, v, tl_arg_int(c, a[0], 0), tl_arg_str(c, a[1], " "), where);
}
M(str_center) { (void)args; return padded(c, v, a, '^'); }
M(str_ljust) { (void)args; return padded(c, v, a, '<'); }
M(str_rjust) { (void)args; return padded(c, v, a, '>'); }

M(str_zfill) {
    (void)args;
    int sign = v.n && (v.u.s[0] == '-' || v.u.s[0] == '+');
    int64_t width = tl_arg_int(c, a[0], 0);
    if (width > 0) width -= sign;
    tl_val digits = tl_str_pad(c, tl_str_sub(v, (size_t)sign, v.n), width, tl_v_str("0", 1), '>');
    return sign ? tl_x_binary(c, '+', tl_str_sub(v, 0, 1), digits) : digits;
}

M(str_replace) {
    (void)args;
    return tl_str_replace(c, v, tl_arg_str(c, a[0], ""), tl_arg_str(c, a[1], ""), tl_arg_int(c, a[2], -1));
}

static tl_val changed_case(tl_tx *c, tl_val v, int title) {
    size_t mark = tl_x_mark(c);
    int32_t cp;
    int inside = 0;
    tl_x_work(c, v.n);
    for (size_t at = 0, n; at < v.n; at += n) {
        n = tl_utf8_next(v.u.s + at, v.n - at, &cp);
        int32_t up = tl_cp_upper(cp), low = tl_cp_lower(cp);
        tl_x_put_cp(c, title ? (inside ? low : up) : cp == up ? low : up);
        inside = up != low || tl_cp_alpha(cp);
    }
    tl_val r = tl_x_take(c, mark);
    r.sub = v.sub;
    return r;
}
M(str_title) { USES_NO_ARGS; return changed_case(c, v, 1); }
M(str_swapcase) { USES_NO_ARGS; return changed_case(c, v, 0); }

/* ---- searching ---- */

/* v from code point a[1] to a[2]; *from: the first, *none: begins behind the end, where not even "" is found. */
static tl_val part_of(tl_tx *c, tl_val v, const tl_val *a, int64_t *from, int *none) {
    *from = *none = 0;
    if (a[1].kind == TL_MISSING) return v;
    int64_t n = (int64_t)tl_str_len(c, v), start = a[1].kind == TL_NONE ? 0 : tl_arg_int(c, a[1], 0);
    if (start < 0) start = start + n < 0 ? 0 : start + n;
    *from = start;
    *none = start > n;
    return tl_x_slice(c, v, tl_v_int(start), a[2], tl_v_none());
}

/* Is one of the texts (or the text) in want at the beginning or the end of v? */
static tl_val affix(tl_tx *c, tl_val v, tl_val want, int at_end) {
    if (want.kind == TL_TUPLE) {
        for (size_t i = 0; i < want.u.list->n; i++)
            if (affix(c, v, tl_arg_str(c, want.u.list->v[i], ""), at_end).u.i) return tl_v_bool(1);
        return tl_v_bool(0);
    }
    if (want.kind == TL_UNDEF) tl_v_undef_fail(c, want);
    if (want.kind != TL_STR)
        tl_x_fail(c, "%s first arg must be str or a tuple of str, not %s", at_end ? "endswith" : "startswith", tl_v_type(want));
    return tl_v_bool(v.n >= want.n && memcmp(v.u.s + (at_end ? v.n - want.n : 0), want.u.s, want.n) == 0);
}
static tl_val affix_of_part(tl_tx *c, tl_val v, const tl_val *a, int at_end) {
    int64_t from;
    int none;
    v = part_of(c, v, a, &from, &none);
    return none ? tl_v_bool(0) : affix(c, v, a[0], at_end);
}
M(str_startswith) { (void)args; return affix_of_part(c, v, a, 0); }
M(str_endswith) { (void)args; return affix_of_part(c, v, a, 1); }

M(str_removeprefix) {
    (void)args;
    tl_val p = tl_arg_str(c, a[0], "");
    return affix(c, v, p, 0).u.i ? tl_str_sub(v, p.n, v.n) : v;
}
M(str_removesuffix) {
    (void)args;
    tl_val p = tl_arg_str(c, a[0], "");
    return affix(c, v, p, 1).u.i ? tl_str_sub(v, 0, v.n - p.n) : v;
}

/* Code point where a[0] is, -1: nowhere. */
static int64_t position(tl_tx *c, tl_val v, const tl_val *a, int from_end) {
    tl_val sub = tl_arg_str(c, a[0], "");
    int64_t from;
    int none;
    v = part_of(c, v, a, &from, &none);
    size_t at = none ? SIZE_MAX : from_end ? tl_str_rfind(c, v, sub, v.n) : tl_str_find(c, v, sub, 0);
    return at == SIZE_MAX ? -1 : from + (int64_t)tl_str_len(c, tl_str_sub(v, 0, at));
}
static tl_val found(tl_tx *c, int64_t at) {
    if (at < 0) tl_x_fail(c, "substring not found");
    return tl_v_int(at);
}
M(str_find) { (void)args; return tl_v_int(position(c, v, a, 0)); }
M(str_rfind) { (void)args; return tl_v_int(position(c, v, a, 1)); }
M(str_index) { (void)args; return found(c, position(c, v, a, 0)); }
M(str_rindex) { (void)args; return found(c, position(c, v, a, 1)); }

M(str_count) {
    (void)args;
    tl_val sub = tl_arg_str(c, a[0], "");
    int64_t n = 0;
    int none;
    v = part_of(c, v, a, &n, &none);
    n = 0;
    if (none) return tl_v_int(0);
    if (sub.n == 0) return tl_v_int((int64_t)tl_str_len(c, v) + 1);
    for (size_t at = 0; (at = tl_str_find(c, v, sub, at)) != SIZE_MAX; at += sub.n) {
        tl_x_work(c, 1);
        n++;
    }
    return tl_v_int(n);
}

/* ---- cutting ---- */

/* At white space, from the left or the right; max < 0: everywhere. */
static tl_val split_space(tl_tx *c, tl_val v, int64_t max, int from_right) {
    tl_val words = tl_v_list(c, TL_LIST, 0), l;
    size_t start = 0;
    int32_t cp;
    int in = 0;
    for (size_t at = 0, n; at < v.n; at += n) {
        n = tl_utf8_next(v.u.s + at, v.n - at, &cp);
        int space = tl_cp_space(cp);
        tl_x_work(c, (at & 63) == 0);
        if (!space && !in) start = at;
        if (space && in) tl_v_push(c, words, tl_str_sub(v, start, at));
        in = !space;
    }
    if (in) tl_v_push(c, words, tl_str_sub(v, start, v.n));
    size_t n = words.u.list->n, keep = (size_t)max;
    if (max < 0 || n <= keep) return words;
    l = tl_v_list(c, TL_LIST, keep + 1);
    const tl_val *w = words.u.list->v;
    if (from_right) {   /* the rest, from the beginning to the last word that is not cut off */
        const tl_val *last = &w[n - keep - 1];
        tl_v_push(c, l, tl_str_sub(v, (size_t)(w[0].u.s - v.u.s), (size_t)(last->u.s - v.u.s) + last->n));
        for (size_t i = n - keep; i < n; i++) tl_v_push(c, l, w[i]);
        if (keep == 0) l.u.list->v[0] = tl_str_strip(c, v, tl_v_none(), TL_STRIP_RIGHT);
        else l.u.list->v[0] = tl_str_sub(v, 0, (size_t)(last->u.s - v.u.s) + last->n);
    } else {
        for (size_t i = 0; i < keep; i++) tl_v_push(c, l, w[i]);
        tl_v_push(c, l, tl_str_sub(v, (size_t)(w[keep].u.s - v.u.s), v.n));
    }
    return l;
}

static tl_val split(tl_tx *c, tl_val v, const tl_val *a, int from_right) {
    int64_t max = a[1].kind == TL_NONE ? -1 : tl_arg_int(c, a[1], -1);
    if (a[0].kind == TL_MISSING || a[0].kind == TL_NONE) return split_space(c, v, max, from_right);
    tl_val sep = tl_arg_str(c, a[0], ""), l = tl_v_list(c, TL_LIST, 0);
    if (sep.n == 0) tl_x_fail(c, "empty separator");
    size_t from = 0, to = v.n, at;
    if (!from_right) {
        for (; max != 0 && (at = tl_str_find(c, v, sep, from)) != SIZE_MAX; max -= max > 0, from = at + sep.n) {
            tl_x_work(c, 1);
            tl_str_cut(c, v, at, sep);
            tl_v_push(c, l, tl_str_sub(v, from, at));
        }
        tl_v_push(c, l, tl_str_sub(v, from, v.n));
        return l;
    }
    for (; max != 0 && (at = tl_str_rfind(c, v, sep, to)) != SIZE_MAX; max -= max > 0, to = at) {
        tl_x_work(c, 1);
        tl_str_cut(c, v, at, sep);
        tl_v_push(c, l, tl_str_sub(v, at + sep.n, to));
    }
    tl_v_push(c, l, tl_str_sub(v, 0, to));
    tl_list *r = l.u.list;
    for (size_t i = 0; i < r->n / 2; i++) {
        tl_val t = r->v[i];
        r->v[i] = r->v[r->n - 1 - i];
        r->v[r->n - 1 - i] = t;
    }
    return l;
}
M(str_split) { (void)args; return split(c, v, a, 0); }
M(str_rsplit) { (void)args; return split(c, v, a, 1); }

static tl_val partition(tl_tx *c, tl_val v, tl_val sep, int from_right) {
    sep = tl_arg_str(c, sep, "");
    if (sep.n == 0) tl_x_fail(c, "empty separator");
    size_t at = from_right ? tl_str_rfind(c, v, sep, v.n) : tl_str_find(c, v, sep, 0);
    tl_val t = tl_v_list(c, TL_TUPLE, 3), nothing = tl_str_sub(v, 0, 0);
    if (at == SIZE_MAX) {
        tl_v_push(c, t, from_right ? nothing : v);
        tl_v_push(c, t, nothing);
        tl_v_push(c, t, from_right ? v : nothing);
    } else {
        tl_v_push(c, t, tl_str_sub(v, 0, at));
        tl_v_push(c, t, tl_str_sub(v, at, at + sep.n));
        tl_v_push(c, t, tl_str_sub(v, at + sep.n, v.n));
    }
    return t;
}
M(str_partition) { (void)args; return partition(c, v, a[0], 0); }
M(str_rpartition) { (void)args; return partition(c, v, a[0], 1); }

M(str_join) {
    (void)args;
    tl_iter it = tl_iter_of(c, a[0]);
    tl_val item;
    size_t mark = tl_x_mark(c);
    const tl_val sep = tl_str_joint(c, v);
    for (int i = 0; tl_iter_next(c, &it, &item); i++) {
        if (i) tl_x_put_text(c, sep);
        if (v.sub) item = tl_v_escape(c, item);
        if (item.kind == TL_UNDEF) tl_x_fail(c, "sequence item %d: expected str instance, Undefined found", i);
        if (item.kind != TL_STR) tl_x_fail(c, "sequence item %d: expected str instance, %s found", i, tl_v_type(item));
        tl_x_put_text(c, item);
    }
    tl_val r = tl_x_take(c, mark);
    r.sub = v.sub;
    return r;
}

/* ---- asking ---- */

static int is_alnum(int32_t cp) { return tl_cp_alpha(cp) || tl_cp_digit(cp); }

static tl_val all(tl_tx *c, tl_val v, int (*test)(int32_t)) {
    int32_t cp;
    for (size_t at = 0; at < v.n;) {
        at += tl_utf8_next(v.u.s + at, v.n - at, &cp);
        tl_x_work(c, 2);
        if (!test(cp)) return tl_v_bool(0);
    }
    return tl_v_bool(v.n > 0);
}
M(str_isalpha) { USES_NO_ARGS; return all(c, v, tl_cp_alpha); }
M(str_isdigit) { USES_NO_ARGS; return all(c, v, tl_cp_digit); }
M(str_isalnum) { USES_NO_ARGS; return all(c, v, is_alnum); }
M(str_isspace) { USES_NO_ARGS; return all(c, v, tl_cp_space); }

/* Some letter has case, and none has the other one. */
static tl_val has_case(tl_tx *c, tl_val v, int upper) {
    int32_t cp;
    int some = 0;
    for (size_t at = 0; at < v.n;) {
        at += tl_utf8_next(v.u.s + at, v.n - at, &cp);
        tl_x_work(c, 2);
        int is_lower = tl_cp_upper(cp) != cp, is_upper = tl_cp_lower(cp) != cp;
        if (upper ? is_lower : is_upper) return tl_v_bool(0);
        some |= is_lower || is_upper;
    }
    return tl_v_bool(some);
}
M(str_islower) { USES_NO_ARGS; return has_case(c, v, 0); }
M(str_isupper) { USES_NO_ARGS; return has_case(c, v, 1); }

/* ---- lists, dicts, loops ---- */

M(seq_copy) { USES_NO_ARGS; return tl_v_to_list(c, v); }
M(seq_count) {
    (void)args;
    int64_t n = 0;
    for (size_t i = 0; i < v.u.list->n; i++) n += tl_v_equal(c, v.u.list->v[i], a[0]);
    return tl_v_int(n);
}
M(seq_index) {
    (void)args;
    int64_t n = (int64_t)v.u.list->n, from = tl_arg_int(c, a[1], 0), to = tl_arg_int(c, a[2], n);
    if (from < 0) from = from + n < 0 ? 0 : from + n;
    if (to < 0) to += n;
    for (int64_t i = from; i < to && i < n; i++)
        if (tl_v_equal(c, v.u.list->v[i], a[0])) return tl_v_int(i);
    tl_x_fail(c, "the value is not in the %s", tl_v_type(v));
}

M(dict_get) {
    (void)args;
    tl_val *item = tl_dict_find(c, v.u.dict, a[0]);
    return item ? *item : a[1].kind ? a[1] : tl_v_none();
}
M(dict_copy) {
    USES_NO_ARGS;
    tl_val d = tl_v_dict(c);
    for (size_t i = 0; i < v.u.dict->n; i++) tl_dict_set(c, d.u.dict, v.u.dict->key[i], v.u.dict->val[i]);
    return d;
}
M(dict_items) { USES_NO_ARGS; v.kind = TL_ITEMS; return v; }
M(dict_keys) { USES_NO_ARGS; v.kind = TL_KEYS; return v; }
M(dict_values) { USES_NO_ARGS; v.kind = TL_VALUES; return v; }

M(loop_cycle) {
    (void)a;
    if (!args->n) tl_x_fail(c, "no items for cycling given");
    return args->v[v.u.loop->at % args->n];
}
M(loop_changed) {
    (void)a;
    tl_val t = tl_v_list(c, TL_TUPLE, (size_t)args->n), *last = &v.u.loop->changed;
    for (int i = 0; i < args->n; i++) tl_v_push(c, t, args->v[i]);
    int changed = !last->kind || !tl_v_equal(c, *last, t);
    *last = t;
    return tl_v_bool(changed);
}
M(cycler_next) {
    USES_NO_ARGS;
    tl_cycler *y = v.u.cycler;
    tl_val item = y->v[y->at];
    y->at = (y->at + 1) % y->n;
    return item;
}
M(cycler_reset) { USES_NO_ARGS; v.u.cycler->at = 0; return tl_v_none(); }

static const struct { int kind; tl_builtin b; } methods[] = {
#define METHOD(kind, name, fn, params) {kind, {name, fn, params}},
#define UNSAFE(kind, name) {kind, {name, NULL, ""}},
#include "tmpl/methods.def"
#undef METHOD
#undef UNSAFE
};

const tl_builtin *tl_find_method(int kind, tl_val name) {
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (methods[i].kind == kind && tl_v_is(name, methods[i].b.name)) return &methods[i].b;
    return NULL;
}
