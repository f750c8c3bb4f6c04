/* SPDX-License-Identifier: MIT
 *
 * json.c: JSON (RFC 8259) to values and back. Writing follows Python's json.dumps. While reading, the context's line
 * is that of the JSON. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "tmpl/run.h"

/* ---- reading ---- */

typedef struct reader { tl_tx *c; const char *p, *end; int depth; } reader;

static void blanks(reader *r) {
    for (; r->p < r->end && strchr(" \t\r\n", *r->p) && *r->p; r->p++) r->c->line += *r->p == '\n';
}

_Noreturn static void bad(reader *r, const char *wanted) {
    if (r->p >= r->end) tl_x_fail(r->c, "JSON: expected %s, found the end", wanted);
    tl_x_fail(r->c, "JSON: expected %s, found '%c'", wanted, *r->p);
}

static void expect(reader *r, char ch, const char *wanted) {
    if (r->p >= r->end || *r->p != ch) bad(r, wanted);
    r->p++;
}

static int32_t hex4(reader *r) {
    int32_t v = 0;
    for (int i = 0; i < 4; i++, r->p++) {
        if (r->p >= r->end) bad(r, "four hexadecimal digits");
        int ch = *r->p, low = ch | 32, d = ch >= '0' && ch <= '9' ? ch - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
        if (d < 0) bad(r, "four hexadecimal digits");
        v = v << 4 | d;
    }
    return v;
}

static void escape(reader *r) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (r->p >= r->end) bad(r, "an escape");
    const char *known = *r->p ? strchr(from, *r->p) : NULL;
    if (known) {
        tl_x_put(r->c, to + (known - from), 1);
        r->p++;
        return;
    }
    if (*r->p != 'u') bad(r, "an escape");
    r->p++;
    int32_t cp = hex4(r);
    if (cp >= 0xD800 && cp < 0xDC00 && r->end - r->p >= 6 && r->p[0] == '\\' && r->p[1] == 'u') {
        const char *before = r->p;
        r->p += 2;
        int32_t low = hex4(r);
        if (low >= 0xDC00 && low < 0xE000) cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
        else r->p = before;
    }
    tl_x_put_cp(r->c, cp);
}

static tl_val read_string(reader *r) {
    if (r->p >= r->end || *r->p != '"') bad(r, "a string");
    const char *from = ++r->p;
    size_t mark = tl_x_mark(r->c);
    while (r->p < r->end && *r->p != '"') {
        if ((unsigned char)*r->p < 0x20) bad(r, "no control character in a string");
        if (*r->p++ != '\\') continue;
        tl_x_put(r->c, from, (size_t)(r->p - 1 - from));
        escape(r);
        from = r->p;
    }
    if (r->p >= r->end) bad(r, "the end of a string");
    tl_x_put(r->c, from, (size_t)(r->p++ - from));
    return tl_x_take(r->c, mark);
}

static size_t digits(reader *r) {
    const char *from = r->p;
    while (r->p < r->end && *r->p >= '0' && *r->p <= '9') r->p++;
    return (size_t)(r->p - from);
}

/* -? (0 | [1-9] digits) (. digits)? ([eE] [+-]? digits)?, and nothing a number could go on with. */
static tl_val read_number(reader *r) {
    const char *from = r->p;
    int is_float = 0;
    r->p += r->p < r->end && *r->p == '-';
    int zero = r->p < r->end && *r->p == '0';
    size_t whole = digits(r);
    if (r->p == from) bad(r, "a value");
    int ok = whole == 1 || (whole > 1 && !zero);
    if (ok && r->p < r->end && *r->p == '.') is_float = 1, r->p++, ok = digits(r) > 0;
    if (ok && r->p < r->end && (*r->p == 'e' || *r->p == 'E')) {
        is_float = 1, r->p++;
        r->p += r->p < r->end && (*r->p == '+' || *r->p == '-');
        ok = digits(r) > 0;
    }
    size_t n = (size_t)(r->p - from);
    char buf[400];
    if (!ok || (r->p < r->end && *r->p && strchr("+-.eE0123456789", *r->p))) {
        r->p = from;
        bad(r, "a number");
    }
    if (n >= sizeof buf) tl_x_fail(r->c, "JSON: a number with more than %d digits", (int)sizeof buf - 1);
    memcpy(buf, from, n);
    buf[n] = 0;
    if (is_float) return tl_v_float(tl_read_float(buf, n));
    errno = 0;
    long long v = strtoll(buf, NULL, 10);
    if (!errno) return tl_v_int(v);
    tl_val big = tl_v_copy(r->c, buf, n);
    big.kind = TL_BIG;
    return big;
}

static int word(reader *r, const char *w) {
    size_t n = strlen(w);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, w, n) != 0) return 0;
    r->p += n;
    return 1;
}

static tl_val read_value(reader *r);

static tl_val read_members(reader *r, int is_dict) {
    tl_val v = is_dict ? tl_v_dict(r->c) : tl_v_list(r->c, TL_LIST, 0);
    char close = is_dict ? '}' : ']';
    r->p++;
    if (++r->depth > TL_TMPL_MAX_NESTING) tl_x_fail(r->c, "JSON: nested more than %d deep", TL_TMPL_MAX_NESTING);
    blanks(r);
    for (int first = 1; r->p >= r->end || *r->p != close; first = 0) {
        if (!first) expect(r, ',', "a comma");
        blanks(r);
        if (is_dict) {
            tl_val key = read_string(r);
            blanks(r);
            expect(r, ':', "a colon");
            tl_dict_set(r->c, v.u.dict, key, read_value(r));
        } else {
            tl_v_push(r->c, v, read_value(r));
        }
        blanks(r);
    }
    r->p++;
    r->depth--;
    return v;
}

static tl_val read_value(reader *r) {
    blanks(r);
    if (r->p >= r->end) bad(r, "a value");
    if (*r->p == '{' || *r->p == '[') return read_members(r, *r->p == '{');
    if (*r->p == '"') return read_string(r);
    if (word(r, "true")) return tl_v_bool(1);
    if (word(r, "false")) return tl_v_bool(0);
    if (word(r, "null")) return tl_v_none();
    if (word(r, "NaN")) return tl_v_float(NAN);
    if (word(r, "Infinity")) return tl_v_float(INFINITY);
    if (word(r, "-Infinity")) return tl_v_float(-INFINITY);
    return read_number(r);
}

tl_val tl_v_read_json(tl_tx *c, const char *s, size_t n) {
    reader r = {.c = c, .p = s, .end = s + n};
    c->line = 1;
    tl_val v = read_value(&r);
    blanks(&r);
    if (r.p < r.end) bad(&r, "the end");
    return v;
}

/* ---- writing ---- */

static void write_string(tl_tx *c, tl_val v, int ascii) {
    char esc[16];
    int32_t cp;
    tl_x_puts(c, "\"");
    size_t from = 0;   /* of the bytes that go out as they are */
    tl_x_work(c, v.n / 2);
    for (size_t at = 0, n; at < v.n; at += n) {
        n = tl_utf8_next(v.u.s + at, v.n - at, &cp);
        esc[0] = 0;
        if (cp == '"' || cp == '\\') snprintf(esc, sizeof esc, "\\%c", (char)cp);
        else if (cp >= 8 && cp <= 13 && cp != 11) snprintf(esc, sizeof esc, "\\%c", "btn?fr"[cp - 8]);
        else if (cp >= 0 && cp < 0x20) snprintf(esc, sizeof esc, "\\u%04x", (unsigned)cp);
        else if (cp < 0) snprintf(esc, sizeof esc, ascii ? "\\ufffd" : "\xEF\xBF\xBD");
        else if (ascii && cp >= 0x10000)
            snprintf(esc, sizeof esc, "\\u%04x\\u%04x", 0xD800 + ((unsigned)(cp - 0x10000) >> 10), 0xDC00 + ((unsigned)cp & 0x3FF));
        else if (ascii && cp >= 0x80) snprintf(esc, sizeof esc, "\\u%04x", (unsigned)cp);
        if (!esc[0]) continue;
        tl_x_put_part(c, v, from, at);
        tl_x_puts(c, esc);
        from = at + n;
    }
    tl_x_put_part(c, v, from, v.n);
    tl_x_puts(c, "\"");
}

static void write_plain(tl_tx *c, tl_val v) {
    if (v.kind == TL_NONE) tl_x_puts(c, "null");
    else if (v.kind == TL_BOOL) tl_x_puts(c, v.u.i ? "true" : "false");
    else if (v.kind == TL_FLOAT && isnan(v.u.f)) tl_x_puts(c, "NaN");
    else if (v.kind == TL_FLOAT && isinf(v.u.f)) tl_x_puts(c, v.u.f < 0 ? "-Infinity" : "Infinity");
    else tl_v_write(c, v);
}

static void write_value(tl_tx *c, tl_val v, const tl_json_style *style, int level);

static void line_break(tl_tx *c, const tl_json_style *style, int level) {
    if (!style->pretty) return;
    tl_x_puts(c, "\n");
    tl_x_fill(c, style->indent, level);
}

static void write_key(tl_tx *c, tl_val key, const tl_json_style *style) {
    if (key.kind == TL_STR) {
        write_string(c, key, style->ascii);
    } else if (tl_v_has_num(key) || key.kind == TL_NONE) {
        tl_x_puts(c, "\"");
        write_plain(c, key);
        tl_x_puts(c, "\"");
    } else {
        tl_x_fail(c, "keys must be str, int, float, bool or None, not %s", tl_v_type(key));
    }
    tl_x_put_text(c, style->colon);
}

/* Indices of a dict's items in the order they are written: insertion sort, dicts to be sorted are small. */
static size_t *order(tl_tx *c, const tl_dict *d, int sorted) {
    size_t *at = tl_x_alloc(c, d->n, sizeof *at);
    for (size_t i = 0; i < d->n; i++) {
        size_t k = i;
        for (; sorted && k > 0 && tl_v_compare(c, d->key[i], d->key[at[k - 1]], "<") < 0; k--) at[k] = at[k - 1];
        at[k] = i;
    }
    return at;
}

static void write_members(tl_tx *c, tl_val v, const tl_json_style *style, int level) {
    int is_dict = v.kind == TL_DICT;
    size_t n = is_dict ? v.u.dict->n : v.u.list->n, *at = is_dict ? order(c, v.u.dict, style->sort) : NULL;
    tl_x_puts(c, is_dict ? "{" : "[");
    for (size_t i = 0; i < n; i++) {
        if (i) tl_x_put_text(c, style->comma);
        line_break(c, style, level + 1);
        if (is_dict) write_key(c, v.u.dict->key[at[i]], style);
        write_value(c, is_dict ? v.u.dict->val[at[i]] : v.u.list->v[i], style, level + 1);
    }
    if (n) line_break(c, style, level);
    tl_x_puts(c, is_dict ? "}" : "]");
}

static void write_value(tl_tx *c, tl_val v, const tl_json_style *style, int level) {
    tl_x_enter(c);
    tl_x_work(c, 1);
    if (v.kind == TL_STR) write_string(c, v, style->ascii);
    else if (v.kind == TL_DICT || v.kind == TL_LIST || v.kind == TL_TUPLE) write_members(c, v, style, level);
    else if (v.kind == TL_NONE || v.kind == TL_BIG || tl_v_has_num(v)) write_plain(c, v);
    else tl_x_fail(c, "Object of type %s is not JSON serializable", tl_v_type(v));
    tl_x_leave(c);
}

void tl_v_write_json(tl_tx *c, tl_val v, const tl_json_style *style) { write_value(c, v, style, 0); }
