/* SPDX-License-Identifier: MIT
 *
 * json.c: JSON output (RFC 8259), one line, always valid: any bytes may be given as a string and any double as a
 * number. j->comma holds a bit for every open level: set once the level has an element. */
#include <math.h>
#include <string.h>
#include "base/base.h"
#include "base/text.h"

enum { MAX_DEPTH = 63 };

static void put_string(tl_buf *b, const char *s, size_t n) {
    size_t plain = 0;   /* bytes that go out as they are */
    tl_buf_add(b, "\"", 1);
    while (plain < n) {
        unsigned char c = (unsigned char)s[plain];
        int len = tl_utf8_look(s + plain, n - plain);
        if (len > 0 && c >= 0x20 && c != '"' && c != '\\') {
            plain += (size_t)len;
            continue;
        }
        tl_buf_add(b, s, plain);
        if (len < 0) {
            tl_buf_str(b, "\xEF\xBF\xBD");
            len = -len;
        } else if (c == '\n') tl_buf_str(b, "\\n");
        else if (c == '\t') tl_buf_str(b, "\\t");
        else if (c == '\r') tl_buf_str(b, "\\r");
        else if (c < 0x20) tl_buf_fmt(b, "\\u%04x", c);
        else tl_buf_fmt(b, "\\%c", c);
        s += plain + (size_t)len;
        n -= plain + (size_t)len;
        plain = 0;
    }
    tl_buf_add(b, s, n);
    tl_buf_add(b, "\"", 1);
}

/* Comma and key before a value. */
static void lead(tl_json *j, const char *key) {
    if (j->depth > 0) {
        uint64_t bit = (uint64_t)1 << (j->depth & MAX_DEPTH);
        if (j->comma & bit) tl_buf_str(j->out, ", ");
        j->comma |= bit;
    }
    if (!key) return;
    put_string(j->out, key, strlen(key));
    tl_buf_str(j->out, ": ");
}

void tl_json_begin(tl_json *j, const char *key, char open) {
    lead(j, key);
    tl_buf_add(j->out, &open, 1);
    if (++j->depth > MAX_DEPTH) j->out->failed = 1;
    j->comma &= ~((uint64_t)1 << (j->depth & MAX_DEPTH));
}

void tl_json_end(tl_json *j, char close) {
    tl_buf_add(j->out, &close, 1);
    j->depth--;
}

void tl_json_str(tl_json *j, const char *key, const char *s, size_t n) {
    lead(j, key);
    put_string(j->out, s, n);
}

void tl_json_cstr(tl_json *j, const char *key, const char *s) {
    lead(j, key);
    if (s) put_string(j->out, s, strlen(s));
    else tl_buf_str(j->out, "null");
}

void tl_json_i64(tl_json *j, const char *key, int64_t v) {
    lead(j, key);
    tl_buf_fmt(j->out, "%lld", (long long)v);
}

void tl_json_num(tl_json *j, const char *key, double v) {
    lead(j, key);
    if (!isfinite(v)) {
        tl_buf_str(j->out, "null");
        return;
    }
    char text[40];
    snprintf(text, sizeof text, "%.10g", v);
    for (char *c = text; *c; c++)
        if (!strchr("0123456789+-e", *c)) *c = '.';   /* the caller's locale may have another decimal point */
    tl_buf_str(j->out, text);
}

void tl_json_bool(tl_json *j, const char *key, int v) {
    lead(j, key);
    tl_buf_str(j->out, v ? "true" : "false");
}
