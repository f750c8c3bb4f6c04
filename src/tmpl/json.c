/* SPDX-License-Identifier: MIT
 *
 * json.c: JSON to values (base/json_read.h) and back. Writing follows Python's json.dumps. While reading, the context's line
 * is that of the JSON. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/json_read.h"
#include "base/utf8.h"
#include "tmpl/run.h"

/* ---- reading ---- */

typedef struct reader { tl_tx *c; tl_json_in in; } reader;

static void check(reader *r) {
    r->c->line = r->in.line;
    if (*r->in.fault) tl_x_fail(r->c, "JSON: %s", r->in.fault);
}

static tl_val read_string(reader *r) {
    size_t mark = tl_x_mark(r->c);
    tl_slice text = r->in.text, plain;
    int32_t cp;
    while (tl_json_piece(&text, &plain, &cp)) {
        tl_x_put(r->c, plain.p, plain.n);
        if (cp >= 0) tl_x_put_cp(r->c, cp);
    }
    return tl_x_take(r->c, mark);
}

static tl_val read_number(reader *r, int is_float) {
    char buf[400];
    size_t n = r->in.text.n;
    const char *word = r->in.text.p;
    if (*word == 'N') return tl_v_float(NAN);
    if (*word == 'I' || word[n - 1] == 'y') return tl_v_float(*word == '-' ? -INFINITY : INFINITY);
    if (n >= sizeof buf) tl_x_fail(r->c, "JSON: a number with more than %d digits", (int)sizeof buf - 1);
    memcpy(buf, word, n);
    buf[n] = 0;
    if (is_float) return tl_v_float(tl_read_float(buf, n));
    errno = 0;
    long long v = strtoll(buf, NULL, 10);
    if (!errno) return tl_v_int(v);
    tl_val big = tl_v_copy(r->c, buf, n);
    big.kind = TL_BIG;
    return big;
}

static tl_val read_value(reader *r);

static tl_val read_members(reader *r, int is_dict) {
    tl_val v = is_dict ? tl_v_dict(r->c) : tl_v_list(r->c, TL_LIST, 0);
    for (int first = 1; tl_json_more(&r->in, first) > 0; first = 0) {
        if (is_dict) {
            tl_json_key(&r->in);
            check(r);
            tl_val key = read_string(r);
            tl_dict_set(r->c, v.u.dict, key, read_value(r));
        } else {
            tl_v_push(r->c, v, read_value(r));
        }
    }
    check(r);
    return v;
}

static tl_val read_value(reader *r) {
    tl_json_kind kind = tl_json_value(&r->in);
    check(r);
    switch (kind) {
    case TL_JSON_LIST:
    case TL_JSON_DICT: return read_members(r, kind == TL_JSON_DICT);
    case TL_JSON_STRING: return read_string(r);
    case TL_JSON_TRUE:
    case TL_JSON_FALSE: return tl_v_bool(kind == TL_JSON_TRUE);
    case TL_JSON_INT:
    case TL_JSON_FLOAT: return read_number(r, kind == TL_JSON_FLOAT);
    default: return tl_v_none();
    }
}

tl_val tl_v_read_json(tl_tx *c, const char *s, size_t n) {
    uint8_t closers[TL_TMPL_MAX_NESTING];
    reader r = {.c = c, .in = tl_json_open(s, n, closers, TL_TMPL_MAX_NESTING)};
    c->line = 1;
    tl_val v = read_value(&r);
    tl_json_done(&r.in);
    check(&r);
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
