/* SPDX-License-Identifier: MIT
 *
 * json_read.c: see json_read.h. */
#include "base/json_read.h"
#include "base/utf8.h"

#include <string.h>

static const char escaped[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";

tl_json_in tl_json_open(const char *text, size_t n, uint8_t *closers, int max_depth) {
    return (tl_json_in){.p = text, .end = text + n, .line = 1, .closers = closers, .max_depth = max_depth};
}

static int bad(tl_json_in *r, const char *wanted) {
    if (*r->fault) return -1;
    if (r->p >= r->end) snprintf(r->fault, sizeof r->fault, "expected %s, found the end", wanted);
    else snprintf(r->fault, sizeof r->fault, "expected %s, found '%c'", wanted, *r->p);
    return -1;
}

static void blanks(tl_json_in *r) {
    for (; r->p < r->end && *r->p && strchr(" \t\r\n", *r->p); r->p++) r->line += *r->p == '\n';
}

static int is(const tl_json_in *r, char c) { return r->p < r->end && *r->p == c; }

static int hex(int c) {
    int low = c | 32;
    return c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* Past an escape's letter. */
static int check_escape(tl_json_in *r) {
    if (r->p >= r->end || !*r->p) return bad(r, "an escape");
    if (*r->p != 'u') return strchr(escaped, *r->p) ? r->p++, 1 : bad(r, "an escape");
    r->p++;
    for (int i = 0; i < 4; i++, r->p++)
        if (r->p >= r->end || hex(*r->p) < 0) return bad(r, "four hexadecimal digits");
    return 1;
}

static int string(tl_json_in *r) {
    if (!is(r, '"')) return bad(r, "a string");
    const char *from = ++r->p;
    while (r->p < r->end && *r->p != '"') {
        if ((unsigned char)*r->p < 0x20) return bad(r, "the end of a string or an escape such as \\n");
        if (*r->p++ == '\\' && check_escape(r) < 0) return -1;
    }
    if (r->p >= r->end) return bad(r, "the end of a string");
    r->text = (tl_slice){from, (size_t)(r->p++ - from)};
    return 1;
}

static size_t digits(tl_json_in *r) {
    const char *from = r->p;
    while (r->p < r->end && *r->p >= '0' && *r->p <= '9') r->p++;
    return (size_t)(r->p - from);
}

/* -? (0 | [1-9] digits) (. digits)? ([eE] [+-]? digits)?, and nothing a number could go on with. */
static tl_json_kind number(tl_json_in *r) {
    const char *from = r->p;
    tl_json_kind kind = TL_JSON_INT;
    r->p += is(r, '-');
    int zero = is(r, '0');
    size_t whole = digits(r);
    if (r->p == from) return bad(r, "a value"), TL_JSON_FAULT;
    int ok = whole == 1 || (whole > 1 && !zero);
    if (ok && is(r, '.')) kind = TL_JSON_FLOAT, r->p++, ok = digits(r) > 0;
    if (ok && (is(r, 'e') || is(r, 'E'))) {
        kind = TL_JSON_FLOAT, r->p++;
        r->p += is(r, '+') || is(r, '-');
        ok = digits(r) > 0;
    }
    if (!ok || (r->p < r->end && *r->p && strchr("+-.eE0123456789", *r->p))) {
        r->p = from;
        return bad(r, "a number"), TL_JSON_FAULT;
    }
    r->text = (tl_slice){from, (size_t)(r->p - from)};
    return kind;
}

static tl_json_kind word(tl_json_in *r) {
    static const struct { const char *word; tl_json_kind kind; } words[] = {
        {"true", TL_JSON_TRUE}, {"false", TL_JSON_FALSE}, {"null", TL_JSON_NULL},
        {"NaN", TL_JSON_FLOAT}, {"Infinity", TL_JSON_FLOAT}, {"-Infinity", TL_JSON_FLOAT}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].word);
        if ((size_t)(r->end - r->p) < n || memcmp(r->p, words[i].word, n) != 0) continue;
        r->text = (tl_slice){r->p, n};
        r->p += n;
        return words[i].kind;
    }
    return TL_JSON_FAULT;
}

tl_json_kind tl_json_value(tl_json_in *r) {
    if (*r->fault) return TL_JSON_FAULT;
    blanks(r);
    if (r->p >= r->end) return bad(r, "a value"), TL_JSON_FAULT;
    if (*r->p == '"') return string(r) < 0 ? TL_JSON_FAULT : TL_JSON_STRING;
    if (*r->p == '{' || *r->p == '[') {
        if (r->depth >= r->max_depth) {
            snprintf(r->fault, sizeof r->fault, "nested more than %d deep", r->max_depth);
            return TL_JSON_FAULT;
        }
        tl_json_kind kind = *r->p++ == '{' ? TL_JSON_DICT : TL_JSON_LIST;
        r->closers[r->depth++] = kind == TL_JSON_DICT ? '}' : ']';
        return kind;
    }
    tl_json_kind kind = word(r);
    return kind != TL_JSON_FAULT ? kind : number(r);
}

int tl_json_more(tl_json_in *r, int first) {
    if (*r->fault) return -1;
    blanks(r);
    if (is(r, (char)r->closers[r->depth - 1])) {
        r->p++;
        r->depth--;
        return 0;
    }
    if (!first && !is(r, ',')) return bad(r, "a comma");
    r->p += !first;
    return 1;
}

int tl_json_key(tl_json_in *r) {
    if (*r->fault) return -1;
    blanks(r);
    if (string(r) < 0) return -1;
    blanks(r);
    if (!is(r, ':')) return bad(r, "a colon");
    r->p++;
    return 1;
}

int tl_json_done(tl_json_in *r) {
    if (*r->fault) return -1;
    blanks(r);
    return r->p < r->end ? bad(r, "the end") : 1;
}

int tl_json_skip(tl_json_in *r, tl_json_kind kind) {
    if (kind != TL_JSON_LIST && kind != TL_JSON_DICT) return *r->fault ? -1 : 0;
    for (int first = 1; tl_json_more(r, first) > 0; first = 0)   /* as deep as closers allow */
        if ((kind == TL_JSON_DICT && tl_json_key(r) < 0) || tl_json_skip(r, tl_json_value(r)) < 0) return -1;
    return *r->fault ? -1 : 0;
}

tl_json_kind tl_json_seek(tl_json_in *r, const char *key) {
    for (int first = 1; tl_json_more(r, first) > 0 && tl_json_key(r) > 0; first = 0) {
        int found = tl_slice_is(r->text, key);
        tl_json_kind kind = tl_json_value(r);
        if (found) return kind;
        tl_json_skip(r, kind);
    }
    return TL_JSON_FAULT;
}

/* Four digits behind "\u" at p. */
static int32_t unit(const char *p) { return hex(p[2]) << 12 | hex(p[3]) << 8 | hex(p[4]) << 4 | hex(p[5]); }

int tl_json_piece(tl_slice *text, tl_slice *plain, int32_t *cp) {
    const char *p = text->p, *end = p + text->n;
    if (!text->n) return 0;
    const char *at = memchr(p, '\\', text->n);
    if (!at) at = end;
    *plain = (tl_slice){p, (size_t)(at - p)};
    *cp = -1;
    if (at < end && at[1] != 'u') {
        *cp = (unsigned char)meant[strchr(escaped, at[1]) - escaped];
        at += 2;
    } else if (at < end) {
        *cp = unit(at);
        at += 6;
        int32_t low = *cp >= 0xD800 && *cp < 0xDC00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' ? unit(at) : 0;
        if (low >= 0xDC00 && low < 0xE000) {
            *cp = 0x10000 + ((*cp - 0xD800) << 10) + (low - 0xDC00);
            at += 6;
        }
    }
    *text = (tl_slice){at, (size_t)(end - at)};
    return 1;
}

void tl_json_text(tl_slice text, tl_buf *out) {
    tl_slice plain;
    int32_t cp;
    char bytes[4];
    while (tl_json_piece(&text, &plain, &cp)) {
        tl_buf_add(out, plain.p, plain.n);
        if (cp >= 0) tl_buf_add(out, bytes, tl_utf8_put(bytes, cp));
    }
}
