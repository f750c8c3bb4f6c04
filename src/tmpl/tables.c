/* SPDX-License-Identifier: MIT
 *
 * tables.c: tests and functions, and finding rows of the tables by name. */
#include <string.h>
#include "tmpl/filters.h"

/* ---- tests ---- */

#define T(fn, expr) \
    static tl_val t_##fn(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) { \
        (void)c, (void)a, (void)args; \
        return tl_v_bool(expr); \
    }

static int64_t remainder_of(tl_tx *c, tl_val v, tl_val by) {
    tl_val r = tl_x_binary(c, '%', v, by);
    return r.kind == TL_FLOAT ? (r.u.f == 0 ? 0 : r.u.f == 1 ? 1 : 2) : r.kind == TL_STR ? 2 : r.u.i;
}

/* At least one letter, all of them in this case. */
static int in_case(tl_tx *c, tl_val v, const char *method) {
    v = tl_v_text(c, v);
    return (int)tl_find_method(TL_STR, tl_v_cstr(method))->fn(c, v, NULL, NULL).u.i;
}

T(odd, remainder_of(c, v, tl_v_int(2)) == 1)
T(even, remainder_of(c, v, tl_v_int(2)) == 0)
T(divisible, remainder_of(c, v, a[0]) == 0)
T(defined, v.kind != TL_UNDEF)
T(undefined, v.kind == TL_UNDEF)
T(filter, v.kind == TL_STR && tl_find_filter(v))
T(test, v.kind == TL_STR && tl_find_test(v))
T(none, v.kind == TL_NONE)
T(boolean, v.kind == TL_BOOL)
T(false, v.kind == TL_BOOL && !v.u.i)
T(true, v.kind == TL_BOOL && v.u.i)
T(integer, v.kind == TL_INT || v.kind == TL_BIG)
T(is_float, v.kind == TL_FLOAT)
T(lower, in_case(c, v, "islower"))
T(upper, in_case(c, v, "isupper"))
T(string, v.kind == TL_STR)
T(mapping, v.kind == TL_DICT)
T(number, tl_v_has_num(v) || v.kind == TL_BIG)
T(sequence, v.kind == TL_UNDEF || v.kind == TL_STR || v.kind == TL_LIST || v.kind == TL_TUPLE || v.kind == TL_DICT || v.kind == TL_RANGE)
T(iterable, tl_v_iterable(v))
T(callable, v.kind == TL_FUNC || v.kind == TL_MACRO || v.kind == TL_LOOP || v.kind == TL_JOINER || v.kind == TL_UNDEF)
T(same, tl_v_same(v, a[0]))
T(escaped, v.kind == TL_STR && v.sub)
T(in, tl_x_contains(c, a[0], v))
T(equal, tl_v_equal(c, v, a[0]))
T(unequal, !tl_v_equal(c, v, a[0]))
T(greater, tl_v_compare(c, v, a[0], ">") == 1)
T(greater_equal, (unsigned)tl_v_compare(c, v, a[0], ">=") <= 1)
T(less, tl_v_compare(c, v, a[0], "<") < 0)
T(less_equal, tl_v_compare(c, v, a[0], "<=") <= 0)

/* ---- functions ---- */

#define G(fn) static tl_val g_##fn(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args)
#define UNUSED (void)v, (void)a, (void)args

G(range) {
    UNUSED;
    if (args->n < 1 || args->n > 3 || args->n_kw) tl_x_fail(c, "range takes 1 to 3 arguments");
    int64_t start = args->n > 1 ? tl_arg_int(c, args->v[0], 0) : 0, stop = tl_arg_int(c, args->v[args->n > 1], 0);
    int64_t step = args->n > 2 ? tl_arg_int(c, args->v[2], 1) : 1;
    if (step == 0) tl_x_fail(c, "range() arg 3 must not be zero");
    uint64_t n = 0, by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    if (step > 0 && stop > start) n = ((uint64_t)stop - (uint64_t)start - 1) / by + 1;
    if (step < 0 && stop < start) n = ((uint64_t)start - (uint64_t)stop - 1) / by + 1;
    if (n > TL_TMPL_MAX_RANGE)
        tl_x_fail(c, "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", TL_TMPL_MAX_RANGE);
    tl_range *r = tl_x_alloc(c, 1, sizeof *r);
    *r = (tl_range){start, step, (size_t)n};
    return (tl_val){.kind = TL_RANGE, .u.range = r};
}

G(dict) {
    UNUSED;
    tl_val d = tl_v_dict(c), pair, key, value;
    if (args->n > 1) tl_x_fail(c, "dict expected at most 1 argument, got %d", args->n);
    if (args->n) {
        tl_val from = args->v[0];
        if (from.kind == TL_DICT) from.kind = TL_ITEMS;
        tl_iter it = tl_iter_of(c, from);
        while (tl_iter_next(c, &it, &pair)) {
            tl_iter two = tl_iter_of(c, pair);
            if (!tl_iter_next(c, &two, &key) || !tl_iter_next(c, &two, &value) || tl_iter_next(c, &two, &pair))
                tl_x_fail(c, "dict: every item must be a pair");
            tl_dict_set(c, d.u.dict, key, value);
        }
    }
    for (int i = 0; i < args->n_kw; i++) tl_dict_set(c, d.u.dict, args->key[i], args->val[i]);
    return d;
}

G(namespace) {
    tl_val d = g_dict(c, v, a, args);
    d.kind = TL_NS;
    return d;
}

static tl_val new_cycler(tl_tx *c, int kind, const tl_val *items, int n) {
    tl_cycler *y = tl_x_alloc(c, 1, sizeof *y);
    y->v = tl_x_alloc(c, (size_t)n, sizeof *y->v);
    y->n = (size_t)n;
    memcpy(y->v, items, (size_t)n * sizeof *items);
    return (tl_val){.kind = (uint8_t)kind, .u.cycler = y};
}

G(cycler) {
    UNUSED;
    if (!args->n) tl_x_fail(c, "at least one item has to be provided");
    return new_cycler(c, TL_CYCLER, args->v, args->n);
}

G(joiner) {
    UNUSED;
    tl_val sep = a[0].kind ? a[0] : tl_v_cstr(", ");
    return new_cycler(c, TL_JOINER, &sep, 1);
}

G(raise_exception) {
    UNUSED;
    tl_val text = tl_v_plain(c, a[0]);
    tl_x_fail(c, "%.*s", text.n > 400 ? 400 : (int)text.n, text.u.s);
}

G(strftime_now) {
    UNUSED;
    tl_val f = tl_arg_str(c, a[0], "");
    if (f.n == 0) return f;
    if (f.n > 1000) tl_x_fail(c, "strftime_now: the format is longer than 1000 bytes");
    char format[2048], text[4096];
    size_t n = 0;
    for (size_t i = 0; i < f.n; i++) {   /* %f: microseconds, which are not known */
        if (f.u.s[i] == '%' && i + 1 < f.n) {
            if (f.u.s[i + 1] == 'f') n += (size_t)snprintf(format + n, sizeof format - n, "000000");
            else n += (size_t)snprintf(format + n, sizeof format - n, "%%%c", f.u.s[i + 1]);
            i++;
        } else if (f.u.s[i]) {
            format[n++] = f.u.s[i];
        }
        if (n > sizeof format - 16) break;
    }
    format[n] = 0;
    n = strftime(text, sizeof text, format, &c->now);
    return tl_v_copy(c, text, n);
}

/* ---- tables ---- */

static const tl_builtin filters[] = {
#define FILTER(name, fn, params) {name, tl_f_##fn, params},
#include "tmpl/filters.def"
#undef FILTER
};
static const tl_builtin tests[] = {
#define TEST(name, fn, params) {name, t_##fn, params},
#include "tmpl/tests.def"
#undef TEST
};
static const tl_builtin globals[] = {
#define GLOBAL(name, fn, params) {name, g_##fn, params},
#include "tmpl/globals.def"
#undef GLOBAL
};

static const tl_builtin *find(const tl_builtin *b, size_t n, tl_val name) {
    for (; n; n--, b++)
        if (tl_v_is(name, b->name)) return b;
    return NULL;
}

const tl_builtin *tl_find_filter(tl_val name) { return find(filters, sizeof filters / sizeof filters[0], name); }
const tl_builtin *tl_find_test(tl_val name) { return find(tests, sizeof tests / sizeof tests[0], name); }
const tl_builtin *tl_find_global(tl_val name) { return find(globals, sizeof globals / sizeof globals[0], name); }
