/* SPDX-License-Identifier: MIT
 *
 * regex.c: regular expressions (ECMA-262) become expressions. Where engines differ in what a class means (\d of other
 * scripts' digits, blanks), only characters are taken on which they agree. What cannot be enforced is refused with its
 * position, counted in characters from 1 on. */
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "grammar/grammar.h"
#include "grammar/lang.h"

enum { MAX_SPANS = 400, MAX_GROUPS = 50, LAST_CHAR = 0x10FFFF };

typedef struct set { tl_span s[MAX_SPANS]; int n; } set;

typedef struct reader {
    tl_lang *l;
    const char *start, *at, *end;
    int depth, wide;     /* wide: what some engine matches, instead of what all do */
    set sure, perhaps;   /* of the class being read: in it for every engine, for some */
} reader;

#if defined(__GNUC__)
__attribute__((noreturn))
#endif
static void refuse(reader *r, const char *at, const char *what) {
    int position = 1;
    for (const char *p = r->start; p < at; p++) position += ((unsigned char)*p & 0xC0) != 0x80;
    tl_lang_fail(r->l, TL_E_UNSUPPORTED, "position %d: %s", position, what);
}

static int next_is(const reader *r, char c) { return r->at < r->end && *r->at == c; }
static int starts(const reader *r, const char *s) {
    size_t n = strlen(s);
    return (size_t)(r->end - r->at) >= n && memcmp(r->at, s, n) == 0;
}

static int32_t read_plain(reader *r) {
    int32_t cp;
    size_t n = tl_utf8_next(r->at, (size_t)(r->end - r->at), &cp);
    if (cp < 0) refuse(r, r->at, "this is not UTF-8");
    r->at += n;
    return cp;
}

/* ---- sets ---- */

static int by_lo(const void *a, const void *b) {
    const tl_span *p = a, *q = b;
    return p->lo < q->lo ? -1 : p->lo > q->lo;
}

static void join(set *s) {
    int n = 0;
    if (s->n) qsort(s->s, (size_t)s->n, sizeof *s->s, by_lo);
    for (int i = 0; i < s->n; i++) {
        if (n && s->s[i].lo <= s->s[n - 1].hi + 1) {
            if (s->s[i].hi > s->s[n - 1].hi) s->s[n - 1].hi = s->s[i].hi;
        } else s->s[n++] = s->s[i];
    }
    s->n = n;
}

static void put(reader *r, set *s, int32_t lo, int32_t hi) {
    if (lo > hi) return;
    if (s->n == MAX_SPANS) join(s);
    if (s->n == MAX_SPANS) refuse(r, r->at, "this class has too many parts");
    s->s[s->n++] = (tl_span){lo, hi};
}

/* Adds the n spans of from, which are in order, or all characters but those. */
static void put_spans(reader *r, set *s, const tl_span *from, int n, int others) {
    int32_t lo = 0;
    for (int i = 0; i < n; i++) {
        if (others) put(r, s, lo, from[i].lo - 1);
        else put(r, s, from[i].lo, from[i].hi);
        lo = from[i].hi + 1;
    }
    if (others) put(r, s, lo, LAST_CHAR);
}

/* \d \w \s and their negations, which hold what no engine takes for the positive one. */
static int class_escape(reader *r, int c) {
    static const tl_span digit[] = {{'0', '9'}}, digits[] = {{'0', '9'}, {0x660, 0x2FFF}, {0xA000, 0xABFF}, {0xD800, LAST_CHAR}};
    static const tl_span word[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    static const tl_span words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}, {0x80, 0x200F}, {0x2028, 0x3000}, {0x3004, LAST_CHAR}};
    static const tl_span space[] = {{9, 13}, {32, 32}, {0xA0, 0xA0}, {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029},
                                    {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
    static const tl_span spaces[] = {{9, 13}, {28, 32}, {0x85, 0x85}, {0xA0, 0xA0}, {0x1680, 0x1680}, {0x180E, 0x180E}, {0x2000, 0x200A},
                                     {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
#define SET(s) s, (int)(sizeof s / sizeof *s)
    static const struct { char c; const tl_span *sure; int n_sure; const tl_span *perhaps; int n_perhaps; } all[] = {
        {'d', SET(digit), SET(digits)}, {'w', SET(word), SET(words)}, {'s', SET(space), SET(spaces)}};
#undef SET
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if ((c | 32) != all[i].c) continue;
        int not = c != all[i].c;
        put_spans(r, &r->sure, not ? all[i].perhaps : all[i].sure, not ? all[i].n_perhaps : all[i].n_sure, not);
        put_spans(r, &r->perhaps, not ? all[i].sure : all[i].perhaps, not ? all[i].n_sure : all[i].n_perhaps, not);
        return 1;
    }
    return 0;
}

/* ---- escapes ---- */

static int32_t hex_digits(reader *r, int n) {
    int32_t v = 0;
    for (int i = 0; i < n; i++, r->at++) {
        int c = r->at < r->end ? *r->at : 0, low = c | 32;
        int d = c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
        if (d < 0) refuse(r, r->at, "expected a hexadecimal digit of the escape");
        v = v << 4 | d;
    }
    return v;
}

static int32_t unicode_escape(reader *r, const char *from) {
    if (next_is(r, '{')) refuse(r, from, "\\u{...} is not supported; write \\uXXXX or the character itself");
    int32_t v = hex_digits(r, 4);
    if (v >= 0xD800 && v < 0xDC00 && starts(r, "\\u")) {
        r->at += 2;
        int32_t low = hex_digits(r, 4);
        if (low < 0xDC00 || low > 0xDFFF) refuse(r, from, "half a surrogate pair");
        return 0x10000 + ((v - 0xD800) << 10) + (low - 0xDC00);
    }
    if (v >= 0xD800 && v <= 0xDFFF) refuse(r, from, "half a surrogate pair");
    return v;
}

/* Past "\"; the character that the escape stands for. */
static int32_t read_escape(reader *r, const char *from, int in_class) {
    static const char letters[] = "tnvfr", means[] = "\t\n\v\f\r";
    if (r->at == r->end) refuse(r, from, "expected an escape, found the end");
    int32_t c = read_plain(r);
    const char *letter = c && c < 0x80 ? strchr(letters, (char)c) : NULL;
    if (letter) return means[letter - letters];
    if (c == 'x') return hex_digits(r, 2);
    if (c == 'u') return unicode_escape(r, from);
    if (c == '0' && !(r->at < r->end && *r->at >= '0' && *r->at <= '9')) return 0;
    if (c == 'b' && in_class) return 8;
    if (c == 'b' || c == 'B') refuse(r, from, "tinyllm cannot enforce a word boundary");
    if (c == 'p' || c == 'P') refuse(r, from, "tinyllm cannot enforce a Unicode property (\\p)");
    if ((c >= '0' && c <= '9') || c == 'k') refuse(r, from, "tinyllm cannot enforce a backreference");
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_') refuse(r, from, "unknown escape");
    return c;
}

/* ---- parts ---- */

/* One character of a class, or -1 for \d and the like, which are added. */
static int32_t class_atom(reader *r) {
    const char *from = r->at;
    if (!next_is(r, '\\')) return read_plain(r);
    r->at++;
    if (r->at < r->end && class_escape(r, *r->at)) return r->at++, -1;
    return read_escape(r, from, 1);
}

/* The characters of the class that was read, or all others. */
static int class_chars(reader *r, int not) {
    join(&r->sure);
    join(&r->perhaps);
    set *has = r->wide ? &r->perhaps : &r->sure, *hasnot = r->wide ? &r->sure : &r->perhaps;
    if (not) {
        has->n = 0;
        put_spans(r, has, hasnot->s, hasnot->n, 1);
    }
    return tl_lang_chars(r->l, has->s, has->n);
}

static int read_class(reader *r) {
    const char *from = r->at++;
    int not = next_is(r, '^');
    r->at += not;
    r->sure.n = r->perhaps.n = 0;
    if (next_is(r, ']')) refuse(r, from, "an empty class; write \\] for the bracket");
    while (!next_is(r, ']')) {
        if (r->at == r->end) refuse(r, from, "this class has no end");
        const char *first = r->at;
        int32_t lo = class_atom(r), hi = lo;
        if (next_is(r, '-') && r->end - r->at > 1 && r->at[1] != ']') {
            r->at++;
            hi = class_atom(r);
            if (lo < 0 || hi < 0) refuse(r, first, "a range cannot begin or end with a class");
            if (hi < lo) refuse(r, first, "this range ends before it begins");
        }
        if (lo < 0) continue;
        put(r, &r->sure, lo, hi);
        put(r, &r->perhaps, lo, hi);
    }
    r->at++;
    return class_chars(r, not);
}

static int alternatives(reader *r);

static int read_group(reader *r) {
    static const struct { const char *begin, *what; } refused[] = {
        {"(?=", "tinyllm cannot enforce a look-ahead"}, {"(?!", "tinyllm cannot enforce a look-ahead"},
        {"(?<=", "tinyllm cannot enforce a look-behind"}, {"(?<!", "tinyllm cannot enforce a look-behind"}};
    const char *from = r->at;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (starts(r, refused[i].begin)) refuse(r, from, refused[i].what);
    if (starts(r, "(?:")) r->at += 3;
    else if (starts(r, "(?<")) {
        const char *close = memchr(r->at, '>', (size_t)(r->end - r->at));
        if (!close || close == r->at + 3) refuse(r, from, "the name of this group has no end");
        r->at = close + 1;
    } else if (starts(r, "(?")) refuse(r, from, "tinyllm does not know this kind of group");
    else r->at++;
    if (++r->depth > MAX_GROUPS) refuse(r, from, "nested too deep (50 groups)");
    int a = alternatives(r);
    if (!next_is(r, ')')) refuse(r, from, "this group has no end");
    r->at++;
    r->depth--;
    return a;
}

static int one_char(reader *r, int32_t c) {
    return tl_lang_chars(r->l, &(tl_span){c, c}, 1);
}

static int read_atom(reader *r) {
    static const tl_span dot[] = {{0, 9}, {11, 12}, {14, 0x2027}, {0x202A, LAST_CHAR}}, dots[] = {{0, 9}, {11, LAST_CHAR}};
    const char *from = r->at, c = *r->at;
    if (c == '(') return read_group(r);
    if (c == '[') return read_class(r);
    if (c == '.') return r->at++, r->wide ? tl_lang_chars(r->l, dots, 2) : tl_lang_chars(r->l, dot, 4);
    if (c == '*' || c == '+' || c == '?') refuse(r, from, "nothing to repeat");
    if (c == '{') refuse(r, from, "nothing to repeat; write \\{ for the brace");
    if (c != '\\') return one_char(r, read_plain(r));
    r->at++;
    r->sure.n = r->perhaps.n = 0;
    if (r->at < r->end && class_escape(r, *r->at)) {
        r->at++;
        return class_chars(r, 0);
    }
    return one_char(r, read_escape(r, from, 0));
}

static int read_count(reader *r, const char *from) {
    const char *first = r->at;
    int v = 0;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        v = v * 10 + (*r->at - '0');
        if (v > TL_LANG_REPEAT_MAX) refuse(r, from, "more than 10000 repetitions");
    }
    if (r->at == first) refuse(r, from, "expected {n}, {n,} or {n,m}; write \\{ for the brace");
    return v;
}

/* One quantifier behind a part; lazy ones allow the same texts. */
static int read_quantifier(reader *r, int a) {
    const char *from = r->at;
    int min = next_is(r, '+'), max = next_is(r, '?') ? 1 : -1;
    r->at++;
    if (*from == '{') {
        min = max = read_count(r, from);
        if (next_is(r, ',')) {
            r->at++;
            max = next_is(r, '}') ? -1 : read_count(r, from);
        }
        if (!next_is(r, '}')) refuse(r, from, "expected {n}, {n,} or {n,m}; write \\{ for the brace");
        if (max >= 0 && max < min) refuse(r, from, "at least so many are more than at most");
        r->at++;
    }
    if (next_is(r, '?')) r->at++;
    if (r->at < r->end && *r->at && strchr("*+?{", *r->at)) refuse(r, r->at, "nothing to repeat");
    return tl_lang_repeat(r->l, a, min, max);
}

static int read_row(reader *r) {
    int row = tl_lang_empty(r->l);
    while (r->at < r->end && *r->at != '|' && *r->at != ')') {
        const char c = *r->at;
        int a;
        if (c == '^' || c == '$') {
            a = tl_lang_add(r->l, (tl_lang_node){.kind = c == '^' ? TL_LANG_BEGIN : TL_LANG_END});
            r->at++;
            if (c == '$' && r->wide) row = tl_lang_seq(r->l, row, tl_lang_repeat(r->l, one_char(r, '\n'), 0, 1));
        } else a = read_atom(r);
        if (r->at < r->end && *r->at && strchr("*+?{", *r->at)) {
            if (c == '^' || c == '$') refuse(r, r->at, "nothing to repeat");
            a = read_quantifier(r, a);
        }
        row = tl_lang_seq(r->l, row, a);
    }
    return row;
}

static int alternatives(reader *r) {
    int all = read_row(r);
    while (next_is(r, '|')) {
        r->at++;
        all = tl_lang_alt(r->l, all, read_row(r));
    }
    return all;
}

static int parse(tl_lang *l, tl_slice regex, int wide) {
    reader *r = tl_lang_memory(l, 1, sizeof *r);
    *r = (reader){.l = l, .start = regex.p, .at = regex.p, .end = regex.p + regex.n, .wide = wide};
    int a = alternatives(r);
    if (r->at < r->end) refuse(r, r->at, "')' without a group");
    return a;
}

/* ---- anchors ---- */

static int has_anchor(tl_lang *l, int a) {
    tl_lang_work(l, 1);
    for (;; a = l->node[a].a) {
        int k = l->node[a].kind;
        if (k == TL_LANG_BEGIN || k == TL_LANG_END) return 1;
        if ((k == TL_LANG_SEQ || k == TL_LANG_ALT) && has_anchor(l, l->node[a].b)) return 1;
        if (k != TL_LANG_SEQ && k != TL_LANG_ALT && k != TL_LANG_REPEAT) return 0;
    }
}

/* left, right: what stands where the part is not anchored; -1: the part is not at that end of the whole. */
static int anchored(tl_lang *l, int a, int left, int right) {
    const int k = l->node[a].kind;
    const size_t base = l->n_stack;
    if (!has_anchor(l, a)) {
        if (left >= 0) a = tl_lang_seq(l, left, a);
        return right >= 0 ? tl_lang_seq(l, a, right) : a;
    }
    if (k == TL_LANG_BEGIN && left >= 0) return right >= 0 ? right : tl_lang_empty(l);
    if (k == TL_LANG_END && right >= 0) return left >= 0 ? left : tl_lang_empty(l);
    if (k != TL_LANG_SEQ && k != TL_LANG_ALT)
        tl_lang_fail(l, TL_E_UNSUPPORTED, "tinyllm can enforce ^ and $ at the beginning and the end only");
    for (; l->node[a].kind == k; a = l->node[a].a) tl_lang_push(l, l->node[a].b);
    a = anchored(l, a, left, k == TL_LANG_ALT ? right : -1);
    while (l->n_stack > base) {
        int b = l->stack[--l->n_stack];
        if (k == TL_LANG_ALT) a = tl_lang_alt(l, a, anchored(l, b, left, right));
        else a = tl_lang_seq(l, a, anchored(l, b, -1, l->n_stack == base ? right : -1));
    }
    return a;
}

int tl_regex_search(tl_lang *l, tl_slice regex, int wide) {
    for (int i = 0; i < l->n_searched; i++)
        if (l->searched[i].text.p == regex.p && l->searched[i].text.n == regex.n && l->searched[i].wide == wide) return l->searched[i].lang;
    int any = tl_lang_repeat(l, tl_lang_any(l), 0, -1), lang = anchored(l, parse(l, regex, wide), any, any);
    if (l->n_searched < 32) l->searched[l->n_searched++] = (tl_lang_search){regex, wide, lang};
    return lang;
}

static void translate(tl_lang *l, const char *regex, tl_buf *out) {
    int none = tl_lang_empty(l), a = anchored(l, parse(l, (tl_slice){regex, strlen(regex)}, 0), none, none);
    if (!tl_lang_print(l, a, out)) tl_lang_fail(l, TL_E_UNSUPPORTED, "no text matches it");
}

int tl_regex_to_gbnf(const char *regex, tl_buf *out, tl_error *err) {
    tl_error local = {0};
    if (!regex || !out) return tl_null(err, regex ? "out" : "regex");
    tl_lang *l = tl_alloc_n(1, sizeof *l, "a grammar", err);
    if (!l) return TL_E_MEMORY;
    const size_t was = out->n;
    l->err = err ? err : &local;
    const int bad = setjmp(l->fault) != 0;
    if (!bad) translate(l, regex, out);
    const int rc = bad ? l->err->code : TL_OK;
    if (bad) out->n = was;
    tl_lang_free(l);
    tl_free(l);
    return rc;
}
