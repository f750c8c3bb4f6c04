/* SPDX-License-Identifier: MIT
 *
 * gbnf.c: reads GBNF text into a tree. Rules are `name ::= alternatives`; an alternative is a row of literals, classes,
 * `.`, names and groups, each with any of * + ? {n} {n,} {n,m} behind it. A rule ends with its line, except inside
 * parentheses and next to `|`. */
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "grammar/program.h"

typedef struct parser {
    tl_program *p;
    const char *at, *end;
    int line, depth;
    int32_t *slot;            /* [mask + 1] rule + 1 by hash of its name, 0: empty */
    uint32_t mask;
    tl_chars *set; int n_set, set_cap;   /* the class being read */
    tl_error *err;
} parser;

enum { LAST_CHAR = 0x10FFFF };

/* Where a place of the text is; counted only when it is to be told. Columns are characters. */
static int fail_at(const char *text, const char *at, tl_error *err, const char *what) {
    int line = 1, column = 1;
    for (const char *c = text; c < at; c++) {
        if (*c == '\n') line++, column = 1;
        else column += ((unsigned char)*c & 0xC0) != 0x80;
    }
    return tl_fail(err, TL_E_FORMAT, "grammar: line %d, column %d: %s", line, column, what);
}

static int wrong(parser *x, const char *at, const char *what) { return fail_at(x->p->text, at, x->err, what); }

/* Expected something, and found what is there. */
static int expected(parser *x, const char *what) {
    char found[20], text[120];
    int32_t cp = 0;
    if (x->at < x->end) {
        size_t len = tl_utf8_next(x->at, (size_t)(x->end - x->at), &cp);
        if (cp < 0) return wrong(x, x->at, "this is not UTF-8");
        if (cp == '\n' || cp == '\r') snprintf(found, sizeof found, "the line's end");
        else if (cp < ' ' || cp == 0x7F || cp == 0xFEFF) snprintf(found, sizeof found, "U+%04X", (unsigned)cp);
        else snprintf(found, sizeof found, "'%.*s'", (int)len, x->at);
    } else snprintf(found, sizeof found, "the text's end");
    snprintf(text, sizeof text, "expected %s, found %s", what, found);
    return wrong(x, x->at, text);
}

int tl_grammar_room(void **p, int n, int *cap, size_t size, int most, const char *what, tl_error *err) {
    if (n < *cap) return TL_OK;
    if (n >= most)
        return tl_fail(err, TL_E_UNSUPPORTED, "grammar: more than %d %s; repeat fewer times or write less", most, what);
    int more = *cap ? *cap * 2 : 64;
    void *q = tl_realloc_n(*p, (size_t)more, size, "a grammar", err);
    if (!q) return TL_E_MEMORY;
    *p = q;
    *cap = more;
    return TL_OK;
}

/* ---- blanks ---- */

/* Blanks and comments; lines too if asked for. */
static void skip(parser *x, int lines) {
    for (; x->at < x->end; ) {
        char c = *x->at;
        if (c == '#') while (x->at < x->end && *x->at != '\n') x->at++;
        else if (c == ' ' || c == '\t' || c == '\r') x->at++;
        else if (c == '\n' && lines) x->at++, x->line++;
        else return;
    }
}

static int is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static int next_is(const parser *x, char c) { return x->at < x->end && *x->at == c; }

/* llama.cpp has tokens as parts of a rule. */
static int begins_token(const parser *x) { return next_is(x, '<') || next_is(x, '!'); }

static int no_tokens(parser *x) {
    return wrong(x, x->at, "tinyllm cannot enforce tokens (<name>, <[id]>, !<name>); write the text instead");
}

/* ---- nodes and rules ---- */

static int add_node(parser *x, tl_gbnf_node n) {
    tl_program *p = x->p;
    if (tl_grammar_room((void **)&p->node, p->n_nodes, &p->nodes_cap, sizeof *p->node, TL_GBNF_ITEMS, "parts", x->err) != TL_OK) return -1;
    p->node[p->n_nodes] = n;
    return p->n_nodes++;
}

/* Makes child the last one of parent. */
static int adopt(parser *x, int parent, int child) {
    tl_gbnf_node *n = x->p->node;
    n[child].next = n[parent].a;
    n[parent].a = child;
    if (n[child].depth >= n[parent].depth) n[parent].depth = n[child].depth + 1;
    return n[parent].depth < TL_GBNF_DEPTH ? TL_OK : wrong(x, x->at, "nested too deep (200 levels)");
}

static uint32_t hash(const char *p, size_t n) {
    uint32_t h = 2166136261u;   /* FNV-1a; names are few, and their number is limited */
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)p[i]) * 16777619u;
    return h ^ h >> 15;
}

static int grow_table(parser *x) {
    uint32_t mask = x->mask ? x->mask * 2 + 1 : 127;
    int32_t *slot = tl_alloc_n((size_t)mask + 1, sizeof *slot, "a grammar", x->err);
    if (!slot) return TL_E_MEMORY;
    for (int r = 0; r < x->p->n_rules; r++) {
        const tl_rule *q = &x->p->rule[r];
        uint32_t i = hash(x->p->text + q->name, (size_t)q->len) & mask;
        while (slot[i]) i = (i + 1) & mask;
        slot[i] = r + 1;
    }
    tl_free(x->slot);
    x->slot = slot;
    x->mask = mask;
    return TL_OK;
}

/* The rule with the name [at, at + len), made at its first use; -1 after an error. */
static int find_rule(parser *x, const char *at, size_t len) {
    tl_program *p = x->p;
    if ((uint32_t)p->n_rules * 2 >= x->mask && grow_table(x) != TL_OK) return -1;
    uint32_t i = hash(at, len) & x->mask;
    for (; x->slot[i]; i = (i + 1) & x->mask) {
        const tl_rule *r = &p->rule[x->slot[i] - 1];
        if ((size_t)r->len == len && memcmp(p->text + r->name, at, len) == 0) return x->slot[i] - 1;
    }
    if (tl_grammar_room((void **)&p->rule, p->n_rules, &p->rules_cap, sizeof *p->rule, TL_GBNF_ITEMS, "rules", x->err) != TL_OK) return -1;
    p->rule[p->n_rules] = (tl_rule){.name = (int32_t)(at - p->text), .len = (int32_t)len, .node = -1};
    x->slot[i] = p->n_rules + 1;
    return p->n_rules++;
}

static size_t name_length(const parser *x) {
    size_t n = 0;
    while (x->at + n < x->end && is_name(x->at[n])) n++;
    return n;
}

/* ---- characters ---- */

/* The character at the text's place, escapes resolved; -1 after an error. */
static int32_t read_char(parser *x) {
    static const char letters[] = "ntr\"\\[]'-^/", means[] = "\n\t\r\"\\[]'-^/";
    const char *start = x->at;
    int32_t cp;
    size_t len = tl_utf8_next(x->at, (size_t)(x->end - x->at), &cp);
    x->at += len;
    if (cp < 0) return wrong(x, start, "this is not UTF-8");
    if (cp != '\\') return cp;
    if (x->at == x->end) return expected(x, "an escape");
    const char c = *x->at, *letter = c ? strchr(letters, c) : NULL;
    int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (letter) return x->at++, (unsigned char)means[letter - letters];
    if (!digits) return expected(x, "\\n, \\t, \\r, \\\", \\\\, \\xHH, \\uHHHH or \\UHHHHHHHH");
    uint32_t v = 0;
    for (x->at++; digits--; x->at++) {
        int d = x->at < x->end ? *x->at : 0;
        d = d >= '0' && d <= '9' ? d - '0' : d >= 'a' && d <= 'f' ? d - 'a' + 10 : d >= 'A' && d <= 'F' ? d - 'A' + 10 : -1;
        if (d < 0) return expected(x, "a hexadecimal digit of the escape");
        v = v << 4 | (uint32_t)d;
    }
    if (v > LAST_CHAR || (v >= 0xD800 && v <= 0xDFFF)) return wrong(x, start, "there is no such character");
    return (int32_t)v;
}

static int add_range(parser *x, int32_t lo, int32_t hi) {
    if (tl_grammar_room((void **)&x->set, x->n_set, &x->set_cap, sizeof *x->set, TL_GBNF_ITEMS, "ranges", x->err) != TL_OK) return x->err->code;
    x->set[x->n_set++] = (tl_chars){lo, hi};
    return TL_OK;
}

static int by_lo(const void *a, const void *b) {
    const tl_chars *p = a, *q = b;
    return p->lo < q->lo ? -1 : p->lo > q->lo;
}

static int emit_range(parser *x, int32_t lo, int32_t hi) {
    tl_program *p = x->p;
    if (lo > hi) return TL_OK;
    if (lo < 0xD800 && hi >= 0xD800) return emit_range(x, lo, 0xD7FF) == TL_OK ? emit_range(x, 0xD800, hi) : TL_E_MEMORY;
    if (lo >= 0xD800 && lo <= 0xDFFF) return emit_range(x, 0xE000, hi);   /* surrogates are no characters */
    if (tl_grammar_room((void **)&p->range, p->n_ranges, &p->ranges_cap, sizeof *p->range, TL_GBNF_ITEMS, "ranges", x->err) != TL_OK) return x->err->code;
    p->range[p->n_ranges++] = (tl_chars){lo, hi};
    return TL_OK;
}

/* The node of the characters in set, or of all others. */
static int add_set(parser *x, int negated) {
    int first = x->p->n_ranges, rc = TL_OK;
    int32_t from = 0;   /* negated: the first that is not decided; else: the end of what is written + 1 */
    if (x->n_set) qsort(x->set, (size_t)x->n_set, sizeof *x->set, by_lo);
    for (int i = 0; i < x->n_set && rc == TL_OK; i++) {
        tl_chars r = x->set[i];
        if (negated) rc = emit_range(x, from, r.lo - 1);
        else rc = emit_range(x, r.lo > from ? r.lo : from, r.hi);
        if (r.hi + 1 > from) from = r.hi + 1;
    }
    if (negated && rc == TL_OK) rc = emit_range(x, from, LAST_CHAR);
    return rc == TL_OK ? add_node(x, (tl_gbnf_node){.kind = TL_NODE_CHAR, .a = first, .b = x->p->n_ranges - first, .next = -1}) : -1;
}

static int read_class(parser *x) {
    const char *start = x->at++;
    int negated = next_is(x, '^');
    x->at += negated;
    x->n_set = 0;
    while (!next_is(x, ']')) {
        if (x->at == x->end || *x->at == '\n') return expected(x, "']' at the end of the class");
        int32_t lo = read_char(x), hi = lo;
        if (lo < 0) return -1;
        if (next_is(x, '-') && x->end - x->at > 1 && x->at[1] != ']') {
            const char *dash = x->at++;
            if ((hi = read_char(x)) < 0) return -1;
            if (hi < lo) return wrong(x, dash, "this range ends before it begins");
        }
        if (add_range(x, lo, hi) != TL_OK) return -1;
    }
    x->at++;
    if (!x->n_set && !negated) return wrong(x, start, "this class is empty");
    return add_set(x, negated);
}

static int read_literal(parser *x) {
    int seq = add_node(x, (tl_gbnf_node){.kind = TL_NODE_SEQ, .a = -1, .next = -1});
    x->at++;
    while (seq >= 0 && !next_is(x, '"')) {
        if (x->at == x->end || *x->at == '\n') return expected(x, "'\"' at the end of the literal");
        int32_t c = read_char(x);
        x->n_set = 0;
        if (c < 0 || add_range(x, c, c) != TL_OK) return -1;
        int node = add_set(x, 0);
        if (node < 0 || adopt(x, seq, node) != TL_OK) return -1;
    }
    x->at++;
    return seq;
}

/* ---- alternatives ---- */

static int read_alternatives(parser *x, int nested);

static int read_name(parser *x) {
    size_t n = name_length(x);
    int rule = find_rule(x, x->at, n);
    x->at += n;
    return rule < 0 ? -1 : add_node(x, (tl_gbnf_node){.kind = TL_NODE_RULE, .a = rule, .next = -1});
}

static int read_group(parser *x) {
    x->at++;
    if (++x->depth > TL_GBNF_DEPTH / 2) return wrong(x, x->at - 1, "nested too deep (100 groups)");
    int node = read_alternatives(x, 1);
    if (node >= 0 && !next_is(x, ')')) return expected(x, "')' at the end of the group");
    x->at++;
    x->depth--;
    return node;
}

static int read_number(parser *x, int32_t *v) {
    if (x->at == x->end || *x->at < '0' || *x->at > '9') return expected(x, "a number of repetitions");
    const char *start = x->at;
    for (*v = 0; x->at < x->end && *x->at >= '0' && *x->at <= '9'; x->at++) {
        *v = *v * 10 + (*x->at - '0');
        if (*v > TL_GBNF_COPIES) return wrong(x, start, "more than 100000 repetitions; leave the bound out or make it smaller");
    }
    return TL_OK;
}

/* {n} {n,} {n,m} */
static int read_bounds(parser *x, int32_t *lo, int32_t *hi) {
    const char *start = x->at++;
    skip(x, 0);
    int rc = read_number(x, lo);
    *hi = *lo;
    skip(x, 0);
    if (rc == TL_OK && next_is(x, ',')) {
        x->at++;
        skip(x, 0);
        *hi = -1;
        if (!next_is(x, '}')) rc = read_number(x, hi);
        skip(x, 0);
    }
    if (rc != TL_OK) return rc;
    if (!next_is(x, '}')) return expected(x, "'}' at the end of the repetitions");
    x->at++;
    return *hi >= 0 && *hi < *lo ? wrong(x, start, "at least so many are more than at most") : TL_OK;
}

/* A part with what stands behind it. */
static int read_part(parser *x, int nested) {
    char c = *x->at;
    int node = -1;
    if (c == '"') node = read_literal(x);
    else if (c == '[') node = read_class(x);
    else if (c == '(') node = read_group(x);
    else if (c == '.') x->at++, x->n_set = 0, node = add_set(x, 1);
    else node = read_name(x);
    for (skip(x, nested); node >= 0 && x->at < x->end && *x->at && strchr("*+?{", *x->at); skip(x, nested)) {
        int32_t lo = *x->at == '+', hi = *x->at == '?' ? 1 : -1;
        if (*x->at != '{') x->at++;
        else if (read_bounds(x, &lo, &hi) != TL_OK) return -1;
        int repeat = add_node(x, (tl_gbnf_node){.kind = TL_NODE_REPEAT, .a = -1, .b = lo, .c = hi, .next = -1});
        if (repeat < 0 || adopt(x, repeat, node) != TL_OK) return -1;
        node = repeat;
    }
    return node;
}

static int begins_part(const parser *x) {
    return x->at < x->end && *x->at && (is_name(*x->at) || strchr("\"[(.", *x->at));
}

/* Outside groups a line's end ends the rule, unless the next line goes on with '|'. */
static int more_alternatives(parser *x, int nested) {
    skip(x, nested);
    if (!nested && next_is(x, '\n')) {
        parser ahead = *x;
        skip(&ahead, 1);
        if (!next_is(&ahead, '|')) return 0;
        *x = ahead;
    }
    return next_is(x, '|');
}

static int read_alternatives(parser *x, int nested) {
    int alt = add_node(x, (tl_gbnf_node){.kind = TL_NODE_ALT, .a = -1, .next = -1});
    do {
        if (alt < 0) return -1;
        skip(x, 1);
        int seq = add_node(x, (tl_gbnf_node){.kind = TL_NODE_SEQ, .a = -1, .next = -1});
        if (seq < 0) return -1;
        if (begins_token(x)) return no_tokens(x);
        if (!begins_part(x) && !next_is(x, '|') && !(nested && next_is(x, ')')))
            return expected(x, "a literal, a class, a name or a group (\"\" for nothing)");
        while (begins_part(x)) {
            int part = read_part(x, nested);
            if (part < 0 || adopt(x, seq, part) != TL_OK) return -1;
        }
        if (adopt(x, alt, seq) != TL_OK) return -1;
    } while (more_alternatives(x, nested) && x->at++);
    return alt;
}

static int read_rule(parser *x) {
    size_t n = name_length(x);
    const char *name = x->at;
    if (!n) return expected(x, "the name of a rule");
    int r = find_rule(x, name, n);
    if (r < 0) return -1;
    if (x->p->rule[r].node >= 0)
        return tl_fail(x->err, TL_E_FORMAT, "grammar: line %d: rule '%.*s' is already defined in line %d", x->line, (int)(n < 80 ? n : 80),
                       name, x->p->rule[r].line);
    x->p->rule[r].line = x->line;
    x->at += n;
    skip(x, 0);
    if (x->end - x->at < 3 || memcmp(x->at, "::=", 3) != 0) return expected(x, "'::=' behind the rule's name");
    x->at += 3;
    int node = read_alternatives(x, 0);
    if (node < 0) return -1;
    x->p->rule[r].node = node;
    if (begins_token(x)) return no_tokens(x);
    if (x->at < x->end && *x->at != '\n') return expected(x, "the rule's end or another part");
    return TL_OK;
}

static int check_names(const tl_program *p, tl_error *err) {
    for (int r = 0; r < p->n_rules; r++) {
        const tl_rule *q = &p->rule[r];
        char what[120];
        snprintf(what, sizeof what, "there is no rule '%.*s'", (int)(q->len < 80 ? q->len : 80), p->text + q->name);
        if (q->node < 0) return fail_at(p->text, p->text + q->name, err, what);
    }
    return TL_OK;
}

static int read_all(parser *x) {
    for (skip(x, 1); x->at < x->end; skip(x, 1))
        if (read_rule(x) != TL_OK) return x->err->code;
    int rc = check_names(x->p, x->err);
    x->p->root = -1;
    for (int r = 0; r < x->p->n_rules; r++)
        if (x->p->rule[r].len == 4 && memcmp(x->p->text + x->p->rule[r].name, "root", 4) == 0) x->p->root = r;
    if (rc == TL_OK && x->p->root < 0) rc = tl_fail(x->err, TL_E_FORMAT, "grammar: there is no rule 'root', with which texts begin");
    return rc;
}

int tl_gbnf_parse(tl_program *p, const char *text, size_t n, tl_error *err) {
    tl_error local = {0};
    parser x = {.p = p, .at = text, .end = text + n, .line = 1, .err = err ? err : &local};
    if (n > TL_GBNF_TEXT) return tl_fail(err, TL_E_UNSUPPORTED, "grammar: %zu bytes of text; at most %d are read", n, TL_GBNF_TEXT);
    p->text = text;
    int rc = read_all(&x);
    tl_free(x.slot);
    tl_free(x.set);
    return rc;
}
