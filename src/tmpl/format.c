/* SPDX-License-Identifier: MIT
 *
 * format.c: "%d %s" % values and "{} {name:>5}".format(...), as Python formats texts and numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "tmpl/filters.h"

typedef struct spec {
    tl_val fill;
    char align, sign, type;  /* 0: not given */
    int alt, zero, group;
    int64_t width, precision;   /* -1: not given */
} spec;

static int64_t digits(tl_tx *c, const char **p, const char *end) {
    int64_t n = -1;
    for (; *p < end && **p >= '0' && **p <= '9'; ++*p) {
        n = (n < 0 ? 0 : n * 10) + (**p - '0');
        if (n > 1000000) tl_x_fail(c, "a width or precision over 1000000");
    }
    return n;
}

/* Writes prefix (sign, 0x) and body in a field. */
static void put_field(tl_tx *c, const spec *s, const char *prefix, tl_val body, char otherwise) {
    int64_t len = (int64_t)strlen(prefix) + (int64_t)tl_str_len(c, body), pad = s->width > len ? s->width - len : 0;
    char align = s->align ? s->align : otherwise;
    int64_t left = align == '<' ? 0 : align == '^' ? pad / 2 : pad;
    if (align != '=') tl_x_fill(c, s->fill, left);
    tl_x_puts(c, prefix);
    if (align == '=') tl_x_fill(c, s->fill, left);
    tl_x_put_text(c, body);
    tl_x_fill(c, s->fill, pad - left);
}

static tl_val grouped(tl_tx *c, tl_val s, char mark_char) {
    size_t whole = 0, mark = tl_x_mark(c);
    while (whole < s.n && s.u.s[whole] >= '0' && s.u.s[whole] <= '9') whole++;
    for (size_t i = 0; i < s.n; i++) {
        if (i && i < whole && (whole - i) % 3 == 0) tl_x_put(c, &mark_char, 1);
        tl_x_put(c, s.u.s + i, 1);
    }
    return tl_x_take(c, mark);
}

static void put_int(tl_tx *c, const spec *s, int64_t v) {
    char text[80], prefix[8] = "";
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    int n = sizeof text;
    unsigned base = s->type == 'x' || s->type == 'X' ? 16 : s->type == 'o' ? 8 : s->type == 'b' ? 2 : 10;
    do {
        text[--n] = (s->type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[u % base];
        u /= base;
    } while (u);
    int at = 0;
    if (v < 0) prefix[at++] = '-';
    else if (s->sign == '+' || s->sign == ' ') prefix[at++] = s->sign;
    if (s->alt && base != 10) {
        prefix[at++] = '0';
        prefix[at++] = s->type;
    }
    tl_val body = tl_v_copy(c, text + n, sizeof text - (size_t)n);
    if (s->precision > (int64_t)body.n) body = tl_str_pad(c, body, s->precision, tl_v_str("0", 1), '>');
    if (s->group) body = grouped(c, body, (char)s->group);
    put_field(c, s, prefix, body, '>');
}

static void put_float(tl_tx *c, const spec *s, double f) {
    char text[512], prefix[4] = "";
    char type = s->type ? s->type : 'g';
    int64_t precision = s->precision < 0 ? 6 : s->precision > 100 ? 100 : s->precision;
    if (type == '%') f *= 100;
    double size = fabs(f);
    if (isnan(f) || isinf(f)) {
        snprintf(text, sizeof text, "%s", isnan(f) ? "nan" : "inf");
    } else if (!s->type && s->precision < 0) {
        text[tl_float_repr(size, text)] = 0;
    } else {
        switch (type) {
        case 'e': snprintf(text, sizeof text, "%.*e", (int)precision, size); break;
        case 'E': snprintf(text, sizeof text, "%.*E", (int)precision, size); break;
        case 'g': snprintf(text, sizeof text, "%.*g", (int)precision, size); break;
        case 'G': snprintf(text, sizeof text, "%.*G", (int)precision, size); break;
        default: snprintf(text, sizeof text, "%.*f", (int)precision, size); break;
        }
    }
    for (char *p = text; *p; p++)
        if (*p == ',') *p = '.';   /* the caller's locale */
    if (type == '%') strcat(text, "%");
    if (signbit(f) && !isnan(f)) prefix[0] = '-';
    else if (s->sign == '+' || s->sign == ' ') prefix[0] = s->sign;
    tl_val body = tl_v_copy(c, text, strlen(text));
    if (s->group) body = grouped(c, body, (char)s->group);
    put_field(c, s, prefix, body, '>');
}

static void put_text(tl_tx *c, const spec *s, tl_val v, char otherwise) {
    if (s->precision >= 0) v = tl_str_sub(v, 0, tl_str_offset(c, v, (size_t)s->precision));
    put_field(c, s, "", v, otherwise);
}

/* ---- % ---- */

static tl_val next_value(tl_tx *c, tl_val args, size_t *used) {
    if (args.kind != TL_TUPLE) {
        if ((*used)++) tl_x_fail(c, "not enough arguments for format string");
        return args;
    }
    if (*used >= args.u.list->n) tl_x_fail(c, "not enough arguments for format string");
    return args.u.list->v[(*used)++];
}

static void put_percent(tl_tx *c, spec *s, tl_val v, int safe) {
    size_t mark = tl_x_mark(c);
    if (s->zero && strchr("diuxXofFeEgG", s->type) && s->align != '<') {
        s->fill = tl_v_str("0", 1);
        s->align = '=';
    }
    switch (s->type) {
    case 's': case 'r': case 'a':
        if (s->type == 's') tl_v_write(c, safe ? tl_v_escape(c, v) : v);
        else tl_v_write_repr(c, v);
        v = tl_x_take(c, mark);
        put_text(c, s, v, '>');
        return;
    case 'd': case 'i': case 'u': case 'x': case 'X': case 'o':
        if (v.kind == TL_UNDEF) tl_v_undef_fail(c, v);
        if (v.kind == TL_FLOAT && strchr("diu", s->type) && fabs(v.u.f) < 9e18) v = tl_v_int((int64_t)v.u.f);
        if (!tl_v_has_int(v)) tl_x_fail(c, "%%%c format: a real number is required, not %s", s->type, tl_v_type(v));
        put_int(c, s, v.u.i);
        return;
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G':
        if (v.kind == TL_UNDEF) tl_v_undef_fail(c, v);
        if (!tl_v_has_num(v)) tl_x_fail(c, "must be real number, not %s", tl_v_type(v));
        put_float(c, s, tl_v_num(v));
        return;
    case 'c':
        if (tl_v_has_int(v)) {
            tl_x_put_cp(c, v.u.i >= 0 && v.u.i < 0x110000 ? (int32_t)v.u.i : -1);
            v = tl_x_take(c, mark);
        }
        if (v.kind != TL_STR || tl_str_len(c, v) != 1) tl_x_fail(c, "%%c requires int or char");
        put_text(c, s, v, '>');
        return;
    default: tl_x_fail(c, "unsupported format character '%c'", s->type);
    }
}

static const char *percent_spec(tl_tx *c, const char *p, const char *end, spec *s, tl_val args, size_t *used) {
    for (; p < end && *p && strchr("-+ #0", *p); p++) {
        if (*p == '-') s->align = '<';
        else if (*p == '+') s->sign = '+';
        else if (*p == ' ' && !s->sign) s->sign = ' ';
        else if (*p == '#') s->alt = 1;
        else if (*p == '0') s->zero = 1;
    }
    if (p < end && *p == '*') {
        s->width = tl_arg_int(c, next_value(c, args, used), 0);
        p++;
    } else {
        s->width = digits(c, &p, end);
    }
    if (p < end && *p == '.') {
        p++;
        s->precision = digits(c, &p, end);
        if (s->precision < 0) s->precision = 0;
    }
    if (p >= end) tl_x_fail(c, "incomplete format");
    s->type = *p++;
    return p;
}

tl_val tl_str_percent(tl_tx *c, tl_val format, tl_val args) {
    const char *p = format.u.s, *end = p + format.n;
    size_t mark = tl_x_mark(c), used = 0;
    int by_name = 0;
    while (p < end) {
        const char *stop = memchr(p, '%', (size_t)(end - p));
        tl_x_put_part(c, format, (size_t)(p - format.u.s), (size_t)((stop ? stop : end) - format.u.s));
        if (!stop) break;
        p = stop + 1;
        if (p < end && *p == '%') {
            tl_x_put(c, p++, 1);
            continue;
        }
        spec s = {.fill = tl_v_str(" ", 1), .width = -1, .precision = -1};
        tl_val v = {0};
        if (p < end && *p == '(') {
            const char *close = memchr(p, ')', (size_t)(end - p));
            if (!close) tl_x_fail(c, "incomplete format key");
            if (args.kind != TL_DICT) tl_x_fail(c, "format requires a mapping");
            tl_val key = tl_v_str(p + 1, (size_t)(close - p - 1)), *found = tl_dict_find(c, args.u.dict, key);
            if (!found) tl_x_fail(c, "the format's key '%.*s' is not there", (int)(key.n > 60 ? 60 : key.n), key.u.s);
            v = *found;
            by_name = 1;
            p = close + 1;
        }
        p = percent_spec(c, p, end, &s, args, &used);
        if (!v.kind) v = next_value(c, args, &used);
        put_percent(c, &s, v, format.sub);
    }
    int all = args.kind == TL_TUPLE ? used == args.u.list->n : used || args.kind == TL_DICT || args.kind == TL_LIST;
    if (!all && !by_name) tl_x_fail(c, "not all arguments converted during string formatting");
    tl_val r = tl_x_take(c, mark);
    r.sub = format.sub;
    return r;
}

/* ---- str.format ---- */

static spec parse_spec(tl_tx *c, tl_val text) {
    spec s = {.fill = tl_v_str(" ", 1), .width = -1, .precision = -1};
    const char *p = text.u.s, *end = p + text.n;
    int32_t cp;
    size_t n = text.n ? tl_utf8_next(p, text.n, &cp) : 0;
    if (text.n > n && strchr("<>^=", p[n]) && p[n]) {
        s.fill = tl_v_str(p, n);
        s.align = p[n];
        p += n + 1;
    } else if (p < end && *p && strchr("<>^=", *p)) {
        s.align = *p++;
    }
    if (p < end && *p && strchr("+- ", *p)) s.sign = *p++;
    if (p < end && *p == '#') s.alt = *p++ == '#';
    if (p < end && *p == '0') {
        p++;
        if (!s.align) {
            s.align = '=';
            s.fill = tl_v_str("0", 1);
        }
    }
    s.width = digits(c, &p, end);
    if (p < end && (*p == ',' || *p == '_')) s.group = *p++;
    if (p < end && *p == '.') {
        p++;
        s.precision = digits(c, &p, end);
        if (s.precision < 0) tl_x_fail(c, "Format specifier missing precision");
    }
    if (p < end) s.type = *p++;
    if (p < end) tl_x_fail(c, "Invalid format specifier");
    return s;
}

static void put_formatted(tl_tx *c, tl_val v, tl_val text) {
    if (text.n == 0) {
        tl_v_write(c, v);
        return;
    }
    spec s = parse_spec(c, text);
    int is_int = tl_v_has_int(v), is_num = is_int || v.kind == TL_FLOAT;
    if (is_int && s.type == 'c') {
        size_t mark = tl_x_mark(c);
        tl_x_put_cp(c, v.u.i >= 0 && v.u.i < 0x110000 ? (int32_t)v.u.i : -1);
        v = tl_x_take(c, mark);
        put_text(c, &s, v, '<');
    } else if (is_int && (!s.type || strchr("dxXobn", s.type))) {
        if (s.precision >= 0) tl_x_fail(c, "Precision not allowed in integer format specifier");
        put_int(c, &s, v.u.i);
    } else if (is_num && (!s.type || strchr("eEfFgG%", s.type))) {
        put_float(c, &s, tl_v_num(v));
    } else if (v.kind == TL_STR) {
        if (s.type && s.type != 's') tl_x_fail(c, "Unknown format code '%c' for object of type '%s'", s.type, tl_v_type(v));
        if (s.align == '=') s.align = '<';
        put_text(c, &s, tl_v_plain(c, v), '<');
    } else if (is_num) {
        tl_x_fail(c, "Unknown format code '%c' for object of type '%s'", s.type, tl_v_type(v));
    } else {
        tl_x_fail(c, "unsupported format string passed to %s.__format__", tl_v_type(v));
    }
}

/* The value of "0", "name", "" (the next one), followed by .attribute and [key]. */
static tl_val field(tl_tx *c, tl_val name, const tl_args *args, int *next) {
    size_t n = 0;
    while (n < name.n && name.u.s[n] != '.' && name.u.s[n] != '[') n++;
    tl_val first = tl_str_sub(name, 0, n), v = {0};
    const char *p = first.u.s;
    int64_t i = first.n ? digits(c, &p, first.u.s + first.n) : (*next)++;
    if (first.n == 0 || p == first.u.s + first.n) {
        if (i >= args->n) tl_x_fail(c, "Replacement index %d out of range for positional args tuple", (int)i);
        v = args->v[i];
    } else {
        for (int k = 0; k < args->n_kw; k++)
            if (tl_v_same(args->key[k], first)) v = args->val[k];
        if (!v.kind) tl_x_fail(c, "the format's key '%.*s' is not there", (int)(first.n > 60 ? 60 : first.n), first.u.s);
    }
    while (n < name.n) {
        size_t from = n + 1, to = from;
        int item = name.u.s[n] == '[';
        while (to < name.n && (item ? name.u.s[to] != ']' : name.u.s[to] != '.' && name.u.s[to] != '[')) to++;
        tl_val key = tl_str_sub(name, from, to);
        p = key.u.s;
        i = digits(c, &p, key.u.s + key.n);
        if (item && key.n && p == key.u.s + key.n) key = tl_v_int(i);
        v = item ? tl_x_item(c, v, key) : tl_x_attr(c, v, key);
        if (v.kind == TL_UNDEF) tl_v_undef_fail(c, v);
        n = to + (size_t)item;
    }
    return v;
}

static void replacement(tl_tx *c, tl_val inside, const tl_args *args, int *next, int depth, int safe);

static void format_into(tl_tx *c, tl_val format, const tl_args *args, int *next, int depth, int safe) {
    const char *p = format.u.s, *end = p + format.n;
    if (depth > 2) tl_x_fail(c, "Max string recursion exceeded");
    while (p < end) {
        if ((*p == '{' || *p == '}') && p + 1 < end && p[1] == *p) {
            tl_x_put(c, p, 1);
            p += 2;
        } else if (*p == '}') {
            tl_x_fail(c, "Single '}' encountered in format string");
        } else if (*p == '{') {
            const char *from = ++p;
            for (int open = 1; p < end; p++) {
                open += *p == '{' ? 1 : *p == '}' ? -1 : 0;
                if (!open) break;
            }
            if (p >= end) tl_x_fail(c, "expected '}' before end of string");
            replacement(c, tl_v_str(from, (size_t)(p++ - from)), args, next, depth, safe);
        } else {
            const char *from = p;
            while (p < end && *p != '{' && *p != '}') p++;
            tl_x_put_part(c, format, (size_t)(from - format.u.s), (size_t)(p - format.u.s));
        }
    }
}

static void replacement(tl_tx *c, tl_val inside, const tl_args *args, int *next, int depth, int safe) {
    size_t n = 0, mark;
    while (n < inside.n && inside.u.s[n] != ':' && inside.u.s[n] != '!') n += 1;
    tl_val v = field(c, tl_str_sub(inside, 0, n), args, next), text = tl_v_str("", 0);
    if (n < inside.n && inside.u.s[n] == '!') {
        char how = n + 1 < inside.n ? inside.u.s[n + 1] : 0;
        if (how != 'r' && how != 's' && how != 'a') tl_x_fail(c, "Unknown conversion specifier");
        mark = tl_x_mark(c);
        if (how == 's') tl_v_write(c, v);
        else tl_v_write_repr(c, v);
        v = tl_x_take(c, mark);
        n += 2;
    }
    if (n < inside.n) {
        if (inside.u.s[n] != ':') tl_x_fail(c, "expected ':' after conversion specifier");
        mark = tl_x_mark(c);
        format_into(c, tl_str_sub(inside, n + 1, inside.n), args, next, depth + 1, 0);
        text = tl_x_take(c, mark);
    }
    mark = tl_x_mark(c);
    put_formatted(c, v, text);
    if (!safe || (v.kind == TL_STR && v.sub)) return;
    tl_v_write(c, tl_v_escape(c, tl_x_take(c, mark)));
}

tl_val tl_str_format(tl_tx *c, tl_val format, const tl_args *args) {
    int next = 0;
    size_t mark = tl_x_mark(c);
    format_into(c, format, args, &next, 0, format.sub);
    tl_val r = tl_x_take(c, mark);
    r.sub = format.sub;
    return r;
}
