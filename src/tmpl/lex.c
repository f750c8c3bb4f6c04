/* SPDX-License-Identifier: MIT
 *
 * lex.c: a template's text becomes tokens. Whitespace control happens here: trim_blocks and lstrip_blocks are on, "-"
 * strips, "+" keeps. Texts of strings are unescaped, line ends become \n, the last one is dropped. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "tmpl/node.h"

typedef struct lexer {
    tl_tx *c;
    const char *text;
    size_t n, at;            /* at: next byte */
    int line, line_start;    /* line_start: the last tag ended with a line break, or there was none yet */
    tl_token *v;
    size_t n_tokens, cap;
    char close[TL_TMPL_MAX_NESTING];   /* brackets to come */
    int open;
} lexer;

static void push(lexer *l, enum tl_token_type type, int op, tl_val v) {
    if (l->n_tokens == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 256;
        tl_token *p = tl_x_alloc(l->c, l->cap, sizeof *p);
        if (l->n_tokens) memcpy(p, l->v, l->n_tokens * sizeof *p);
        l->v = p;
    }
    l->v[l->n_tokens++] = (tl_token){.type = type, .op = op, .line = l->line, .v = v};
    l->v[l->n_tokens - 1].v.trust = tl_trusted;
}

static int peek(const lexer *l, size_t ahead) {
    return l->at + ahead < l->n ? (unsigned char)l->text[l->at + ahead] : -1;
}

static int starts(const lexer *l, size_t at, const char *s) {
    size_t n = strlen(s);
    return at <= l->n && l->n - at >= n && memcmp(l->text + at, s, n) == 0;
}

/* Length of the white space character at at, 0: none. */
static size_t space_at(const lexer *l, size_t at) {
    int32_t cp;
    if (at >= l->n) return 0;
    size_t n = tl_utf8_next(l->text + at, l->n - at, &cp);
    return tl_cp_space(cp) ? n : 0;
}

static void advance(lexer *l, size_t to) {
    for (; l->at < to; l->at++) l->line += l->text[l->at] == '\n';
    l->c->line = l->line;
}

static size_t after_space(const lexer *l, size_t at) {
    for (size_t n; (n = space_at(l, at)) != 0;) at += n;
    return at;
}

/* End of text [from, to) without white space at its end. */
static size_t rstrip(const lexer *l, size_t from, size_t to) {
    size_t end = from;
    for (size_t at = from; at < to;) {
        size_t n = space_at(l, at);
        if (n) {
            at += n;
            continue;
        }
        int32_t cp;
        at += tl_utf8_next(l->text + at, to - at, &cp);
        end = at;
    }
    return end;
}

/* The text before a tag that begins at to; sign: what follows the tag's two characters. */
static void push_data(lexer *l, size_t to, int sign, int is_var) {
    size_t end = to;
    if (sign == '-') {
        end = rstrip(l, l->at, to);
    } else if (sign != '+' && !is_var) {
        size_t line = to;
        while (line > l->at && l->text[line - 1] != '\n') line--;
        if ((line > l->at || l->line_start) && rstrip(l, line, to) == line) end = line;
    }
    if (end > l->at) push(l, TL_T_DATA, 0, tl_v_str(l->text + l->at, end - l->at));
    advance(l, to);
}

/* If a tag's end stands at at ("%" "-" "+" and so on), its end including the white space that goes with it, else 0. */
static size_t tag_end(const lexer *l, size_t at, const char *end, int trim) {
    if (l->text[at] == '-' && starts(l, at + 1, end)) return after_space(l, at + 1 + strlen(end));
    if (trim && l->text[at] == '+' && starts(l, at + 1, end)) return at + 1 + strlen(end);
    if (!starts(l, at, end)) return 0;
    at += strlen(end);
    return trim && at < l->n && l->text[at] == '\n' ? at + 1 : at;
}

static void finish_tag(lexer *l, size_t to) {
    advance(l, to);
    l->line_start = l->text[to - 1] == '\n';
}

static void comment(lexer *l) {
    for (size_t at = l->at + 2; at < l->n; at++) {
        size_t end = tag_end(l, at, "#}", 1);
        if (end) {
            finish_tag(l, end);
            return;
        }
    }
    tl_x_fail(l->c, "the comment has no end: '#}' is missing");
}

/* Past "{% NAME %}" at at, 0 if it is not there. *sign: the one after "{%". */
static size_t raw_tag(const lexer *l, size_t at, const char *name, int trim, int *sign) {
    if (!starts(l, at, "{%")) return 0;
    at += 2;
    *sign = at < l->n && (l->text[at] == '-' || l->text[at] == '+') ? l->text[at] : 0;
    at = after_space(l, *sign ? at + 1 : at);
    if (!starts(l, at, name)) return 0;
    at = after_space(l, at + strlen(name));
    if (at >= l->n) return 0;
    if (!trim && l->text[at] == '-' && starts(l, at + 1, "%}")) return after_space(l, at + 3);
    if (!trim) return starts(l, at, "%}") ? at + 2 : 0;
    return tag_end(l, at, "%}", 1);
}

static void raw(lexer *l, size_t begin) {
    finish_tag(l, begin);
    for (size_t at = l->at; at < l->n; at++) {
        int sign;
        size_t end = l->text[at] == '{' ? raw_tag(l, at, "endraw", 1, &sign) : 0;
        if (!end) continue;
        push_data(l, at, sign, 0);
        finish_tag(l, end);
        return;
    }
    tl_x_fail(l->c, "the raw block has no end: '{%% endraw %%}' is missing");
}

/* Hexadecimal digits at p, exactly n; -1 if they are not. */
static int32_t hex(const char *p, const char *end, int n) {
    int32_t v = 0;
    for (int i = 0; i < n; i++, p++) {
        if (p >= end) return -1;
        int d = *p >= '0' && *p <= '9' ? *p - '0' : (*p | 32) >= 'a' && (*p | 32) <= 'f' ? (*p | 32) - 'a' + 10 : -1;
        if (d < 0 || v > 0x10FFFF) return -1;
        v = v << 4 | d;
    }
    return v;
}

/* The escape behind a backslash at p: writes what it stands for, returns its end. Python's rules. */
static const char *unescape(tl_tx *c, const char *p, const char *end) {
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    const char *known = strchr(from, *p);
    if (*p && known) {
        tl_x_put(c, to + (known - from), 1);
        return p + 1;
    }
    if (*p == '\n') return p + 1;
    int digits = *p == 'x' ? 2 : *p == 'u' ? 4 : *p == 'U' ? 8 : 0;
    if (digits) {
        int32_t cp = hex(p + 1, end, digits);
        if (cp < 0 || cp > 0x10FFFF) tl_x_fail(c, "the string has a damaged \\%c escape", *p);
        tl_x_put_cp(c, cp);
        return p + 1 + digits;
    }
    if (*p >= '0' && *p <= '7') {
        int32_t cp = 0;
        for (int i = 0; i < 3 && p < end && *p >= '0' && *p <= '7'; i++) cp = cp * 8 + (*p++ - '0');
        tl_x_put_cp(c, cp);
        return p;
    }
    tl_x_put(c, "\\", 1);   /* unknown escapes stay */
    return p;
}

static void string(lexer *l) {
    size_t end = l->at + 1;
    char quote = l->text[l->at];
    while (end < l->n && l->text[end] != quote) end += l->text[end] == '\\' ? 2 : 1;
    if (end >= l->n) tl_x_fail(l->c, "the string has no end: a %c is missing", quote);
    const char *p = l->text + l->at + 1, *stop = l->text + end;
    if (!memchr(p, '\\', (size_t)(stop - p))) {
        push(l, TL_T_STR, 0, tl_v_str(p, (size_t)(stop - p)));
    } else {
        size_t mark = tl_x_mark(l->c);
        while (p < stop) {
            const char *next = memchr(p, '\\', (size_t)(stop - p));
            if (!next) next = stop;
            tl_x_put(l->c, p, (size_t)(next - p));
            p = next < stop ? unescape(l->c, next + 1, stop) : stop;
        }
        push(l, TL_T_STR, 0, tl_x_take(l->c, mark));
    }
    advance(l, end + 1);
}

static int is_digit(int ch, int base) {
    if (base == 16 && (ch | 32) >= 'a' && (ch | 32) <= 'f') return 1;
    return ch >= '0' && ch <= '9' && ch - '0' < base;
}

/* Digits with single underscores between them, into buf without them. Returns the end. */
static size_t digits(const lexer *l, size_t at, int base, char *buf, size_t size, size_t *n) {
    while (at < l->n && is_digit((unsigned char)l->text[at], base)) {
        if (*n + 1 < size) buf[(*n)++] = l->text[at];
        at++;
        if (at + 1 < l->n && l->text[at] == '_' && is_digit((unsigned char)l->text[at + 1], base)) at++;
    }
    return at;
}

static void number(lexer *l) {
    char buf[400];
    size_t n = 0, at = l->at, end;
    int second = peek(l, 1) | 32, base = 10, is_float = 0;
    if (l->text[at] == '0') base = second == 'x' ? 16 : second == 'o' ? 8 : second == 'b' ? 2 : 10;
    if (base != 10 && !is_digit(peek(l, 2), base)) base = 10;
    end = digits(l, base != 10 ? at + 2 : at, base, buf, sizeof buf, &n);
    if (base == 10 && !(at > 0 && l->text[at - 1] == '.')) {
        if (end + 1 < l->n && l->text[end] == '.' && is_digit((unsigned char)l->text[end + 1], 10)) {
            buf[n++] = '.';
            end = digits(l, end + 1, 10, buf, sizeof buf - 8, &n);
            is_float = 1;
        }
        size_t e = end + 1;
        if (e < l->n && (l->text[end] | 32) == 'e') {
            if (l->text[e] == '+' || l->text[e] == '-') e++;
            if (e < l->n && is_digit((unsigned char)l->text[e], 10)) {
                if (n > sizeof buf - 12) n = sizeof buf - 12;
                buf[n++] = 'e';
                if (l->text[e - 1] == '-') buf[n++] = '-';
                end = digits(l, e, 10, buf, sizeof buf, &n);
                is_float = 1;
            }
        }
    }
    buf[n] = 0;
    errno = 0;
    tl_val v = is_float ? tl_v_float(tl_read_float(buf, n)) : tl_v_int(strtoll(buf, NULL, base));
    if (!is_float && errno) tl_x_fail(l->c, "the integer is too large: 64 bits at most");
    push(l, TL_T_NUM, 0, v);
    advance(l, end);
}

static int is_name(int ch, int first) {
    int low = ch | 32;
    return (low >= 'a' && low <= 'z') || ch == '_' || ch >= 0x80 || (!first && ch >= '0' && ch <= '9');
}

static void op(lexer *l) {
    static const char *const twos[] = {"//", "**", "==", "!=", ">=", "<="};
    int ch = peek(l, 0);
    for (size_t i = 0; i < sizeof twos / sizeof twos[0]; i++)
        if (starts(l, l->at, twos[i])) {
            push(l, TL_T_OP, TL_OP2(twos[i][0], twos[i][1]), tl_v_none());
            advance(l, l->at + 2);
            return;
        }
    if (ch < ' ' || !strchr("+-/*%~[](){}><=.:|,;", ch)) tl_x_fail(l->c, "unexpected character '%c'", ch);
    const char *pair = strchr("([{", ch);
    if (pair) {
        if (l->open == TL_TMPL_MAX_NESTING) tl_x_fail(l->c, "brackets nested more than %d deep", l->open);
        l->close[l->open++] = ")]}"[strchr("([{", ch) - "([{"];
    } else if (strchr(")]}", ch)) {
        if (!l->open) tl_x_fail(l->c, "unexpected '%c'", ch);
        if (l->close[--l->open] != ch) tl_x_fail(l->c, "unexpected '%c', expected '%c'", ch, l->close[l->open]);
    }
    push(l, TL_T_OP, ch, tl_v_none());
    advance(l, l->at + 1);
}

/* Tokens of a tag up to its end. */
static void inside(lexer *l, int is_var) {
    l->open = 0;
    for (;;) {
        advance(l, after_space(l, l->at));
        if (l->at >= l->n) return;   /* the parser misses the end */
        size_t end = l->open ? 0 : tag_end(l, l->at, is_var ? "}}" : "%}", !is_var);
        if (end) {
            push(l, is_var ? TL_T_VAR_END : TL_T_BLOCK_END, 0, tl_v_none());
            finish_tag(l, end);
            return;
        }
        int ch = peek(l, 0);
        if (ch >= '0' && ch <= '9') {
            number(l);
        } else if (is_name(ch, 1)) {
            end = l->at;
            while (end < l->n && is_name((unsigned char)l->text[end], 0)) end++;
            push(l, TL_T_NAME, 0, tl_v_str(l->text + l->at, end - l->at));
            advance(l, end);
        } else if (ch == '\'' || ch == '"') {
            string(l);
        } else {
            op(l);
        }
    }
}

/* Line ends as \n, the last one dropped. */
static void normalize(lexer *l, const char *text, size_t n) {
    char *p = tl_x_alloc(l->c, n + 1, 1);
    l->text = p;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\r' && i + 1 < n && text[i + 1] == '\n') continue;
        *p++ = text[i] == '\r' ? '\n' : text[i];
    }
    l->n = (size_t)(p - l->text);
    if (l->n && l->text[l->n - 1] == '\n') l->n--;
}

tl_token *tl_lex(tl_tx *c, const char *text, size_t n) {
    lexer *l = tl_x_alloc(c, 1, sizeof *l);
    l->c = c;
    l->line = 1;
    l->line_start = 1;
    c->line = 1;
    normalize(l, text, n);
    while (l->at < l->n) {
        size_t to = l->at;
        while (to < l->n && !(l->text[to] == '{' && to + 1 < l->n && strchr("{%#", l->text[to + 1]) && l->text[to + 1])) to++;
        int kind = to < l->n ? l->text[to + 1] : 0, sign = to + 2 < l->n ? l->text[to + 2] : 0, ignored;
        if (!kind) {
            push(l, TL_T_DATA, 0, tl_v_str(l->text + l->at, to - l->at));
            advance(l, to);
            break;
        }
        push_data(l, to, sign, kind == '{');
        size_t begin = kind == '%' ? raw_tag(l, to, "raw", 0, &ignored) : 0;
        if (kind == '#') {
            comment(l);
        } else if (begin) {
            raw(l, begin);
        } else {
            push(l, kind == '{' ? TL_T_VAR_BEGIN : TL_T_BLOCK_BEGIN, 0, tl_v_none());
            advance(l, to + 2 + (sign == '-' || sign == '+'));
            inside(l, kind == '{');
        }
    }
    push(l, TL_T_EOF, 0, tl_v_none());
    return l->v;
}
