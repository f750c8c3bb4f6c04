/* SPDX-License-Identifier: MIT
 *
 * print.c: values as text: str(), repr() and JSON, as Python writes them, and numbers from text. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "tmpl/run.h"

double tl_read_float(const char *s, size_t n) {
    char buf[400];
    const char *dot = localeconv()->decimal_point;
    size_t at = 0;
    for (size_t i = 0; i < n && at + strlen(dot) + 1 < sizeof buf; i++) {
        if (s[i] != '.') buf[at++] = s[i];
        else for (const char *p = dot; *p; p++) buf[at++] = *p;
    }
    buf[at] = 0;
    return strtod(buf, NULL);
}

/* The fewest digits that give the same number back, as Python: exponents from 1e16 and below 1e-4. */
int tl_float_repr(double f, char out[32]) {
    char e[40], digits[24];
    int n = 0;
    if (isnan(f) || isinf(f)) return snprintf(out, 32, "%s", isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
    for (int precision = 0; precision < 17; precision++) {
        snprintf(e, sizeof e, "%.*e", precision, f);
        if (strtod(e, NULL) == f) break;
    }
    char *p = e, *exponent = strchr(e, 'e');
    int exp10 = atoi(exponent + 1), negative = *p == '-';
    for (p += negative; p < exponent; p++)
        if (*p >= '0' && *p <= '9') digits[n++] = *p;
    while (n > 1 && digits[n - 1] == '0') n--;
    char *o = out;
    if (negative) *o++ = '-';
    if (exp10 < -4 || exp10 >= 16) {
        *o++ = digits[0];
        if (n > 1) *o++ = '.';
        for (int i = 1; i < n; i++) *o++ = digits[i];
        o += snprintf(o, 8, "e%c%02d", exp10 < 0 ? '-' : '+', abs(exp10));
        return (int)(o - out);
    }
    if (exp10 < 0) {
        *o++ = '0';
        *o++ = '.';
        for (int i = -1; i > exp10; i--) *o++ = '0';
        for (int i = 0; i < n; i++) *o++ = digits[i];
    } else {
        for (int i = 0; i <= exp10 || i < n; i++) {
            if (i == exp10 + 1) *o++ = '.';
            *o++ = i < n ? digits[i] : '0';
        }
        if (n <= exp10 + 1) {
            *o++ = '.';
            *o++ = '0';
        }
    }
    *o = 0;
    return (int)(o - out);
}

static void write_repr_str(tl_tx *c, tl_val v) {
    char quote = v.n && memchr(v.u.s, '\'', v.n) && !memchr(v.u.s, '"', v.n) ? '"' : '\'', esc[16];
    int32_t cp;
    tl_x_put(c, &quote, 1);
    for (size_t at = 0, n; at < v.n; at += n) {
        n = tl_utf8_next(v.u.s + at, v.n - at, &cp);
        const char *known = cp > 0 && cp < 0x80 ? strchr("\nn\rr\tt\\\\", (char)cp) : NULL;
        if (cp == 'n' || cp == 'r' || cp == 't') known = NULL;
        if (known) snprintf(esc, sizeof esc, "\\%c", known[1]);
        else if (cp == quote) snprintf(esc, sizeof esc, "\\%c", quote);
        else if (cp < 0) snprintf(esc, sizeof esc, "\xEF\xBF\xBD");
        else if (tl_cp_printable(cp)) esc[0] = 0;
        else if (cp < 0x100) snprintf(esc, sizeof esc, "\\x%02x", (unsigned)cp);
        else snprintf(esc, sizeof esc, cp < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)cp);
        if (esc[0]) tl_x_puts(c, esc);
        else tl_x_put_part(c, v, at, at + n);
    }
    tl_x_put(c, &quote, 1);
}

static void write_items(tl_tx *c, tl_val v) {
    tl_val item;
    tl_iter it = tl_iter_of(c, v);
    for (int first = 1; tl_iter_next(c, &it, &item); first = 0) {
        if (!first) tl_x_puts(c, ", ");
        tl_v_write_repr(c, item);
        if (v.kind != TL_DICT) continue;
        tl_x_puts(c, ": ");
        tl_v_write_repr(c, v.u.dict->val[it.at - 1]);
    }
}

static void write_range(tl_tx *c, const tl_range *r) {
    char text[100];
    long long stop = r->start + r->step * (int64_t)r->n;
    if (r->step == 1) snprintf(text, sizeof text, "range(%lld, %lld)", (long long)r->start, stop);
    else snprintf(text, sizeof text, "range(%lld, %lld, %lld)", (long long)r->start, stop, (long long)r->step);
    tl_x_puts(c, text);
}

static void write_number(tl_tx *c, tl_val v) {
    char text[40];
    if (v.kind == TL_FLOAT) text[tl_float_repr(v.u.f, text)] = 0;
    else snprintf(text, sizeof text, "%lld", (long long)v.u.i);
    tl_x_puts(c, text);
}

static void write_loop(tl_tx *c, tl_loop *l) {
    tl_x_puts(c, "<LoopContext ");
    write_number(c, tl_x_loop_attr(c, l, tl_v_cstr("index")));
    tl_x_puts(c, "/");
    write_number(c, tl_x_loop_attr(c, l, tl_v_cstr("length")));
    tl_x_puts(c, ">");
}

void tl_v_write_repr(tl_tx *c, tl_val v) {
    tl_x_enter(c);
    tl_x_work(c, 1);
    switch (v.kind) {
    case TL_UNDEF: tl_x_puts(c, "Undefined"); break;
    case TL_NONE: tl_x_puts(c, "None"); break;
    case TL_BOOL: tl_x_puts(c, v.u.i ? "True" : "False"); break;
    case TL_INT: case TL_FLOAT: write_number(c, v); break;
    case TL_BIG: tl_x_put(c, v.u.s, v.n); break;
    case TL_STR:
        if (v.sub) tl_x_puts(c, "Markup(");
        write_repr_str(c, v);
        if (v.sub) tl_x_puts(c, ")");
        break;
    case TL_LIST:
        tl_x_puts(c, "[");
        write_items(c, v);
        tl_x_puts(c, "]");
        break;
    case TL_TUPLE:
        tl_x_puts(c, "(");
        write_items(c, v);
        tl_x_puts(c, v.u.list->n == 1 ? ",)" : ")");
        break;
    case TL_DICT:
        tl_x_puts(c, "{");
        write_items(c, v);
        tl_x_puts(c, "}");
        break;
    case TL_KEYS: case TL_VALUES: case TL_ITEMS:
        tl_x_puts(c, tl_v_type(v));
        tl_x_puts(c, "([");
        write_items(c, v);
        tl_x_puts(c, "])");
        break;
    case TL_RANGE: write_range(c, v.u.range); break;
    case TL_NS:
        tl_x_puts(c, "<Namespace ");
        v.kind = TL_DICT;
        tl_v_write_repr(c, v);
        tl_x_puts(c, ">");
        break;
    case TL_LOOP: write_loop(c, v.u.loop); break;
    case TL_MACRO:
        tl_x_puts(c, "<Macro ");
        write_repr_str(c, v.u.macro->name);
        tl_x_puts(c, ">");
        break;
    default:   /* Python writes addresses here */
        tl_x_puts(c, "<");
        tl_x_puts(c, tl_v_type(v));
        tl_x_puts(c, " object>");
        break;
    }
    tl_x_leave(c);
}

void tl_v_write(tl_tx *c, tl_val v) {
    if (v.kind == TL_STR) tl_x_put_text(c, v);
    else if (v.kind != TL_UNDEF) tl_v_write_repr(c, v);
}

tl_val tl_v_text(tl_tx *c, tl_val v) {
    if (v.kind == TL_STR) return v;
    size_t mark = tl_x_mark(c);
    tl_v_write(c, v);
    return tl_x_take(c, mark);
}

tl_val tl_v_plain(tl_tx *c, tl_val v) {
    v = tl_v_text(c, v);
    v.sub = 0;
    return v;
}

tl_val tl_v_escape(tl_tx *c, tl_val v) {
    if (v.kind == TL_STR && v.sub) return v;
    v = tl_v_text(c, v);
    size_t mark = tl_x_mark(c);
    tl_x_work(c, v.n);
    for (size_t i = 0; i < v.n; i++) {
        char ch = v.u.s[i];
        if (ch == '&') tl_x_puts(c, "&amp;");
        else if (ch == '<') tl_x_puts(c, "&lt;");
        else if (ch == '>') tl_x_puts(c, "&gt;");
        else if (ch == '\'') tl_x_puts(c, "&#39;");
        else if (ch == '"') tl_x_puts(c, "&#34;");
        else tl_x_put_part(c, v, i, i + 1);
    }
    v = tl_x_take(c, mark);
    v.sub = 1;
    return v;
}
