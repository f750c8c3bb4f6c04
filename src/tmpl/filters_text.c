/* SPDX-License-Identifier: MIT
 *
 * filters_text.c: filters that make texts and numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "tmpl/filters.h"

int64_t tl_arg_int(tl_tx *c, tl_val v, int64_t otherwise) {
    if (v.kind == TL_MISSING) return otherwise;
    if (v.kind == TL_UNDEF) tl_v_undef_fail(c, v);
    if (!tl_v_has_int(v)) tl_x_fail(c, "'%s' object cannot be interpreted as an integer", tl_v_type(v));
    return v.u.i;
}

tl_val tl_arg_str(tl_tx *c, tl_val v, const char *otherwise) {
    if (v.kind == TL_MISSING) return tl_v_cstr(otherwise);
    if (v.kind == TL_UNDEF) tl_v_undef_fail(c, v);
    if (v.kind != TL_STR) tl_x_fail(c, "expected a str, not '%s'", tl_v_type(v));
    return v;
}

int tl_arg_bool(tl_tx *c, tl_val v, int otherwise) { return v.kind == TL_MISSING ? otherwise : tl_v_truth(c, v); }

#define TEXT_FILTER(fn, expr) \
    tl_val tl_f_##fn(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) { (void)a; (void)args; return expr; }
TEXT_FILTER(upper, tl_str_upper(c, tl_v_text(c, v)))
TEXT_FILTER(lower, tl_str_lower(c, tl_v_text(c, v)))
TEXT_FILTER(capitalize, tl_str_capitalize(c, tl_v_text(c, v)))
TEXT_FILTER(trim, tl_str_strip(c, tl_v_text(c, v), a[0], TL_STRIP_LEFT | TL_STRIP_RIGHT))
TEXT_FILTER(string, tl_v_text(c, v))
TEXT_FILTER(escape, tl_v_escape(c, v))
TEXT_FILTER(forceescape, tl_v_escape(c, tl_v_plain(c, v)))
TEXT_FILTER(center, tl_str_pad(c, tl_v_text(c, v), tl_arg_int(c, a[0], 80), tl_v_str(" ", 1), '^'))
TEXT_FILTER(replace, tl_str_replace(c, tl_v_plain(c, v), tl_v_plain(c, a[0]), tl_v_plain(c, a[1]),
                                    a[2].kind == TL_NONE ? -1 : tl_arg_int(c, a[2], -1)))

tl_val tl_f_safe(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)a;
    (void)args;
    v = tl_v_text(c, v);
    v.sub = 1;
    return v;
}

tl_val tl_f_format(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)a;
    tl_val values;
    if (args->n && args->n_kw) tl_x_fail(c, "can't handle positional and keyword arguments at the same time");
    if (args->n_kw) {
        values = tl_v_dict(c);
        for (int i = 0; i < args->n_kw; i++) tl_dict_set(c, values.u.dict, args->key[i], args->val[i]);
    } else {
        values = tl_v_list(c, TL_TUPLE, (size_t)args->n);
        for (int i = 0; i < args->n; i++) tl_v_push(c, values, args->v[i]);
    }
    return tl_str_percent(c, tl_v_text(c, v), values);
}

/* A word begins behind white space and - ( { [ <. */
tl_val tl_f_title(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)a;
    (void)args;
    int32_t cp;
    int begins = 1;
    v = tl_v_text(c, v);
    size_t mark = tl_x_mark(c);
    tl_x_work(c, v.n);
    for (size_t at = 0, n; at < v.n; at += n) {
        n = tl_utf8_next(v.u.s + at, v.n - at, &cp);
        tl_x_put_cp(c, begins ? tl_cp_upper(cp) : tl_cp_lower(cp));
        begins = tl_cp_space(cp) || (cp > 0 && cp < 0x80 && strchr("-({[<", (char)cp));
    }
    return tl_x_take(c, mark);
}

tl_val tl_f_indent(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)args;
    tl_val by = a[0];
    if (by.kind != TL_STR) by = tl_str_pad(c, tl_v_str("", 0), tl_arg_int(c, a[0], 4), tl_v_str(" ", 1), '<');
    int first = tl_arg_bool(c, a[1], 0), blank = tl_arg_bool(c, a[2], 0);
    if (v.kind == TL_UNDEF) tl_v_undef_fail(c, v);
    if (v.kind != TL_STR) tl_x_fail(c, "indent: '%s' is not a str", tl_v_type(v));
    tl_val lines = tl_str_lines(c, tl_x_binary(c, '+', v, tl_v_str("\n", 1)), 0);
    size_t mark = tl_x_mark(c);
    for (size_t i = 0; i < lines.u.list->n; i++) {
        tl_val line = lines.u.list->v[i];
        if (i) tl_x_puts(c, "\n");
        if (i ? line.n || blank : first) tl_x_put_text(c, by);
        tl_x_put_text(c, line);
    }
    tl_val r = tl_x_take(c, mark);
    r.sub = v.sub;
    return r;
}

tl_val tl_f_truncate(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)args;
    v = tl_arg_str(c, v, "");
    tl_val end = tl_arg_str(c, a[2], "...");
    int64_t length = tl_arg_int(c, a[0], 255), leeway = a[3].kind == TL_NONE ? 5 : tl_arg_int(c, a[3], 5);
    int64_t n_end = (int64_t)tl_str_len(c, end), n = (int64_t)tl_str_len(c, v);
    if (length < n_end) tl_x_fail(c, "truncate: the length must be at least that of the end");
    if (n <= length || n - length <= leeway) return v;
    int64_t keep = length - n_end;
    tl_val s = tl_str_sub(v, 0, tl_str_offset(c, v, (size_t)keep));
    if (!tl_arg_bool(c, a[1], 0)) {
        size_t at = tl_str_rfind(c, s, tl_v_str(" ", 1), s.n);
        if (at != SIZE_MAX) s = tl_str_sub(s, 0, at);
    }
    return tl_x_binary(c, '+', s, end);
}

tl_val tl_f_wordcount(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)a;
    (void)args;
    int64_t n = 0;
    int32_t cp;
    int in = 0;
    v = tl_v_text(c, v);
    tl_x_work(c, v.n / 2);
    for (size_t at = 0; at < v.n;) {
        at += tl_utf8_next(v.u.s + at, v.n - at, &cp);
        int word = cp == '_' || tl_cp_alpha(cp) || tl_cp_digit(cp);
        n += word && !in;
        in = word;
    }
    return tl_v_int(n);
}

tl_val tl_f_urlencode(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)a;
    (void)args;
    if (v.kind != TL_STR && tl_v_iterable(v)) tl_x_fail(c, "urlencode: only of texts");
    v = tl_v_text(c, v);
    size_t mark = tl_x_mark(c);
    tl_x_work(c, v.n);
    for (size_t i = 0; i < v.n; i++) {
        unsigned char ch = (unsigned char)v.u.s[i];
        const char *digit = "0123456789ABCDEF", hex[4] = {'%', digit[ch >> 4], digit[ch & 15], 0};
        if (ch < 0x80 && (tl_cp_alpha(ch) || tl_cp_digit(ch) || (ch && strchr("_.-~/", ch)))) tl_x_put(c, v.u.s + i, 1);
        else tl_x_puts(c, hex);
    }
    return tl_x_take(c, mark);
}

tl_val tl_f_tojson(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)args;
    tl_json_style style = {.ascii = tl_arg_bool(c, a[0], 0), .sort = tl_arg_bool(c, a[3], 0)};
    if (a[1].kind && a[1].kind != TL_NONE) {
        style.pretty = 1;
        style.indent = a[1].kind == TL_STR ? a[1] : tl_str_pad(c, tl_v_str("", 0), tl_arg_int(c, a[1], 0), tl_v_str(" ", 1), '<');
    }
    style.comma = tl_v_cstr(style.pretty ? "," : ", ");
    style.colon = tl_v_cstr(": ");
    if (a[2].kind == TL_LIST || a[2].kind == TL_TUPLE) {
        if (a[2].u.list->n != 2) tl_x_fail(c, "tojson: separators are two texts");
        style.comma = tl_arg_str(c, a[2].u.list->v[0], "");
        style.colon = tl_arg_str(c, a[2].u.list->v[1], "");
    } else if (a[2].kind && a[2].kind != TL_NONE) {
        tl_x_fail(c, "tojson: separators are two texts");
    }
    size_t mark = tl_x_mark(c);
    tl_v_write_json(c, v, &style);
    return tl_x_take(c, mark);
}

/* ---- numbers ---- */

/* Python's int(text, base) or float(text) without white space around; 0: no number. */
static int parse_number(tl_tx *c, tl_val s, int base, tl_val *out) {
    char buf[400];
    size_t n = 0;
    s = tl_str_strip(c, s, tl_v_none(), TL_STRIP_LEFT | TL_STRIP_RIGHT);
    if (s.n == 0 || s.n >= sizeof buf) return 0;
    for (size_t i = 0; i < s.n; i++) {
        int inside = i > 0 && i + 1 < s.n && s.u.s[i] == '_' && s.u.s[i - 1] != '_' && s.u.s[i + 1] != '_';
        if (!inside) buf[n++] = s.u.s[i];
    }
    buf[n] = 0;
    if (base) {
        const char *p = buf + (*buf == '-' || *buf == '+');
        if (base == 16 && p[0] == '0' && (p[1] | 32) == 'x') p += 2;
        else if (base == 8 && p[0] == '0' && (p[1] | 32) == 'o') p += 2;
        else if (base == 2 && p[0] == '0' && (p[1] | 32) == 'b') p += 2;
        int64_t v = 0;
        const char *first = p;
        for (; *p; p++) {
            int d = *p >= '0' && *p <= '9' ? *p - '0' : (*p | 32) >= 'a' && (*p | 32) <= 'z' ? (*p | 32) - 'a' + 10 : 99;
            if (d >= base) return 0;
            if (v > (INT64_MAX - d) / base) tl_x_fail(c, "the integer does not fit 64 bits");
            v = v * base + d;
        }
        *out = tl_v_int(*buf == '-' ? -v : v);
        return p > first;
    }
    static const char *const words[] = {"inf", "infinity", "nan"};
    const char *p = buf + (*buf == '-' || *buf == '+');
    tl_val word = tl_str_lower(c, tl_v_cstr(p));
    for (int i = 0; i < 3; i++)
        if (tl_v_is(word, words[i])) {
            double f = i < 2 ? INFINITY : NAN;
            *out = tl_v_float(*buf == '-' ? -f : f);
            return 1;
        }
    size_t at = strspn(p, "0123456789"), all = at;
    if (p[at] == '.') {
        size_t more = strspn(p + at + 1, "0123456789");
        all += more;
        at += 1 + more;
    }
    if (!all) return 0;
    if ((p[at] | 32) == 'e') {
        at += 1 + (p[at + 1] == '+' || p[at + 1] == '-');
        size_t more = strspn(p + at, "0123456789");
        if (!more) return 0;
        at += more;
    }
    if (p[at]) return 0;
    *out = tl_v_float(tl_read_float(buf, n));
    return 1;
}

static int float_to_int(double f, tl_val *out) {
    if (!(f > -9.2e18 && f < 9.2e18)) return 0;
    *out = tl_v_int((int64_t)f);
    return 1;
}

tl_val tl_f_to_int(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)args;
    tl_val r = a[0].kind ? a[0] : tl_v_int(0), n;
    int64_t base = tl_arg_int(c, a[1], 10);
    if (base < 2 || base > 36) tl_x_fail(c, "int: the base must be from 2 to 36");
    if (v.kind == TL_UNDEF) tl_v_undef_fail(c, v);
    if (tl_v_has_int(v)) return tl_v_int(v.u.i);
    if (v.kind == TL_BIG) return v;
    if (v.kind == TL_FLOAT) return float_to_int(v.u.f, &n) ? n : r;
    if (v.kind != TL_STR) return r;
    if (parse_number(c, v, (int)base, &n)) return n;
    return parse_number(c, v, 0, &n) && float_to_int(n.u.f, &n) ? n : r;
}

tl_val tl_f_to_float(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)args;
    tl_val r = a[0].kind ? a[0] : tl_v_float(0), n;
    if (v.kind == TL_UNDEF) tl_v_undef_fail(c, v);
    if (tl_v_has_num(v)) return tl_v_float(tl_v_num(v));
    return v.kind == TL_STR && parse_number(c, v, 0, &n) ? n : r;
}

tl_val tl_f_absolute(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)a;
    (void)args;
    if (v.kind == TL_UNDEF) tl_v_undef_fail(c, v);
    if (!tl_v_has_num(v)) tl_x_fail(c, "bad operand type for abs(): '%s'", tl_v_type(v));
    if (v.kind == TL_FLOAT) return tl_v_float(fabs(v.u.f));
    return v.u.i < 0 ? tl_x_binary(c, '-', tl_v_int(0), v) : tl_v_int(v.u.i);
}

/* v to a multiple of 10^digits, to the even one where two are equally near. */
static tl_val round_int(tl_tx *c, int64_t v, int digits) {
    if (digits > 19) return tl_v_int(0);
    uint64_t scale = 1, size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    while (digits-- > 0) scale *= 10;
    uint64_t rest = size % scale, r = size - rest;
    if (rest > scale - rest || (rest == scale - rest && r / scale % 2)) r += scale;
    if (r > INT64_MAX) tl_x_fail(c, "the result does not fit an integer of 64 bits");
    return tl_v_int(v < 0 ? -(int64_t)r : (int64_t)r);
}

/* To even where two are equally near in decimal, as Python's round(): by way of the decimal text. */
tl_val tl_f_round_to(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args) {
    (void)args;
    int64_t precision = tl_arg_int(c, a[0], 0);
    tl_val method = tl_arg_str(c, a[1], "common");
    if (v.kind == TL_UNDEF) tl_v_undef_fail(c, v);
    if (!tl_v_has_num(v)) tl_x_fail(c, "type %s doesn't define __round__ method", tl_v_type(v));
    if (precision < -300) precision = -300;
    if (precision > 300) precision = 300;
    double f = tl_v_num(v), scale = pow(10, (double)precision);
    if (tl_v_is(method, "ceil")) return tl_v_float(ceil(f * scale) / scale);
    if (tl_v_is(method, "floor")) return tl_v_float(floor(f * scale) / scale);
    if (!tl_v_is(method, "common")) tl_x_fail(c, "method must be common, ceil or floor");
    if (v.kind != TL_FLOAT) return precision >= 0 ? tl_v_int(v.u.i) : round_int(c, v.u.i, (int)-precision);
    if (!isfinite(f)) return v;
    if (precision <= 0) {
        double down = pow(10, (double)-precision);
        return tl_v_float(nearbyint(f / down) * down);
    }
    char text[700];
    if (precision > 22 || snprintf(text, sizeof text, "%.*f", (int)precision, f) < 0) return v;
    return tl_v_float(strtod(text, NULL));
}
