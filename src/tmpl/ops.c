/* SPDX-License-Identifier: MIT
 *
 * ops.c: arithmetic, "in", and + * % of texts and lists, by the rules of Python with integers of 64 bits. */
#include <math.h>
#include <string.h>
#include "tmpl/run.h"

_Noreturn static void bad_types(tl_tx *c, const char *op, tl_val a, tl_val b) {
    if (a.kind == TL_UNDEF) tl_v_undef_fail(c, a);
    if (b.kind == TL_UNDEF) tl_v_undef_fail(c, b);
    if (*op == '+' && (a.kind == TL_STR || a.kind == TL_LIST || a.kind == TL_TUPLE))
        tl_x_fail(c, "can only concatenate %s (not \"%s\") to %s", tl_v_type(a), tl_v_type(b), tl_v_type(a));
    tl_x_fail(c, "unsupported operand type(s) for %s: '%s' and '%s'", op, tl_v_type(a), tl_v_type(b));
}

_Noreturn static void overflow(tl_tx *c) { tl_x_fail(c, "the result does not fit an integer of 64 bits"); }

static int64_t add(tl_tx *c, int64_t a, int64_t b) {
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) overflow(c);
    return a + b;
}

static int64_t subtract(tl_tx *c, int64_t a, int64_t b) {
    if (b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b) overflow(c);
    return a - b;
}

static int64_t multiply(tl_tx *c, int64_t a, int64_t b) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    int negative = (a < 0) != (b < 0);
    if (y && x > (uint64_t)INT64_MAX / y) overflow(c);
    return negative ? -(int64_t)(x * y) : (int64_t)(x * y);
}

/* Rounds down; the remainder has the sign of the divisor. */
static int64_t floor_div(tl_tx *c, int64_t a, int64_t b, int64_t *rest) {
    *rest = 0;
    if (b == 0) tl_x_fail(c, "integer division or modulo by zero");
    if (b == -1) return subtract(c, 0, a);
    int64_t q = a / b, r = a % b;
    if (r && (r < 0) != (b < 0)) {
        q--;
        r += b;
    }
    *rest = r;
    return q;
}

static tl_val power(tl_tx *c, tl_val a, tl_val b) {
    if (a.kind == TL_FLOAT || b.kind == TL_FLOAT || b.u.i < 0) {
        double x = tl_v_num(a), y = tl_v_num(b);
        if (x == 0 && y < 0) tl_x_fail(c, "0.0 cannot be raised to a negative power");
        if (x < 0 && y != floor(y)) tl_x_fail(c, "a negative number cannot be raised to a fraction");
        return tl_v_float(pow(x, y));
    }
    int64_t base = a.u.i, r = 1;
    if (base == 0 || base == 1) return tl_v_int(b.u.i == 0 ? 1 : base);
    if (base == -1) return tl_v_int(b.u.i % 2 ? -1 : 1);
    if (b.u.i > 64) overflow(c);
    for (int64_t i = 0; i < b.u.i; i++) r = multiply(c, r, base);
    return tl_v_int(r);
}

static tl_val floats(tl_tx *c, int op, double x, double y) {
    switch (op) {
    case '+': return tl_v_float(x + y);
    case '-': return tl_v_float(x - y);
    case '*': return tl_v_float(x * y);
    case '/':
        if (y == 0) tl_x_fail(c, "division by zero");
        return tl_v_float(x / y);
    default:
        if (y == 0) tl_x_fail(c, "float floor division or modulo by zero");
        double r = fmod(x, y);
        if (r != 0 && (r < 0) != (y < 0)) r += y;
        if (op == '%') return tl_v_float(r == 0 ? copysign(0.0, y) : r);
        return tl_v_float(floor((x - r) / y + 0.5));
    }
}

static tl_val numbers(tl_tx *c, int op, tl_val a, tl_val b) {
    int64_t rest, q;
    if (op == TL_OP2('*', '*')) return power(c, a, b);
    if (a.kind == TL_FLOAT || b.kind == TL_FLOAT || op == '/') return floats(c, op, tl_v_num(a), tl_v_num(b));
    switch (op) {
    case '+': return tl_v_int(add(c, a.u.i, b.u.i));
    case '-': return tl_v_int(subtract(c, a.u.i, b.u.i));
    case '*': return tl_v_int(multiply(c, a.u.i, b.u.i));
    default:
        q = floor_div(c, a.u.i, b.u.i, &rest);
        return tl_v_int(op == '%' ? rest : q);
    }
}

/* Safe texts escape what is added to them. */
static tl_val join_texts(tl_tx *c, tl_val a, tl_val b) {
    int safe = a.sub || b.sub;
    if (safe && !a.sub) a = tl_v_escape(c, a);
    if (safe && !b.sub) b = tl_v_escape(c, b);
    size_t mark = tl_x_mark(c);
    tl_x_put_text(c, a);
    tl_x_put_text(c, b);
    tl_val v = tl_x_take(c, mark);
    v.sub = (uint8_t)safe;
    return v;
}

static tl_val join_lists(tl_tx *c, tl_val a, tl_val b) {
    const tl_list *x = a.u.list, *y = b.u.list;
    tl_val l = tl_v_list(c, a.kind, x->n + y->n);
    tl_x_work(c, x->n + y->n);
    for (size_t i = 0; i < x->n; i++) tl_v_push(c, l, x->v[i]);
    for (size_t i = 0; i < y->n; i++) tl_v_push(c, l, y->v[i]);
    return l;
}

static tl_val repeat(tl_tx *c, tl_val v, int64_t times) {
    if (v.kind == TL_STR) {
        size_t mark = tl_x_mark(c);
        tl_x_fill(c, v, times);
        tl_val s = tl_x_take(c, mark);
        s.sub = v.sub;
        return s;
    }
    tl_val l = tl_v_list(c, v.kind, 0);
    for (int64_t i = 0; v.u.list->n && i < times; i++)
        for (size_t k = 0; k < v.u.list->n; k++) {
            tl_x_work(c, 1);
            tl_v_push(c, l, v.u.list->v[k]);
        }
    return l;
}

static int is_sequence(tl_val v) { return v.kind == TL_STR || v.kind == TL_LIST || v.kind == TL_TUPLE; }

tl_val tl_x_binary(tl_tx *c, int op, tl_val a, tl_val b) {
    char text[3] = {(char)op, (char)(op >> 8), 0};
    if (op == '%' && a.kind == TL_STR) return tl_str_percent(c, a, b);
    if (tl_v_has_num(a) && tl_v_has_num(b)) return numbers(c, op, a, b);
    if (op == '+' && a.kind == TL_STR && b.kind == TL_STR) return join_texts(c, a, b);
    if (op == '+' && a.kind == b.kind && (a.kind == TL_LIST || a.kind == TL_TUPLE)) return join_lists(c, a, b);
    if (op == '*' && is_sequence(a) && tl_v_has_int(b)) return repeat(c, a, b.u.i);
    if (op == '*' && is_sequence(b) && tl_v_has_int(a)) return repeat(c, b, a.u.i);
    bad_types(c, text, a, b);
}

int tl_x_contains(tl_tx *c, tl_val in, tl_val v) {
    tl_val item;
    if (in.kind == TL_STR) {
        if (v.kind != TL_STR) tl_x_fail(c, "'in <string>' requires string as left operand, not %s", tl_v_type(v));
        return tl_str_find(c, in, v, 0) != SIZE_MAX;
    }
    if (in.kind == TL_DICT || in.kind == TL_KEYS) return tl_dict_find(c, in.u.dict, v) != NULL;
    if (!tl_v_iterable(in)) tl_x_fail(c, "argument of type '%s' is not iterable", tl_v_type(in));
    tl_iter it = tl_iter_of(c, in);
    while (tl_iter_next(c, &it, &item))
        if (tl_v_equal(c, item, v)) return 1;
    return 0;
}
