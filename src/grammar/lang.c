/* SPDX-License-Identifier: MIT
 *
 * lang.c: expressions are made, put into JSON strings, and written as GBNF. Children are made before their parents, so
 * that one walk over all nodes, in order, sees children first. */
#include <stdarg.h>
#include <string.h>
#include "base/utf8.h"
#include "grammar/lang.h"

void tl_lang_free(tl_lang *l) {
    tl_lang_meet_free(l->meeting);
    tl_free(l->node);
    tl_free(l->rule);
    tl_free(l->span);
    tl_free(l->stack);
    for (size_t i = 0; i < l->n_allocs; i++) tl_free(l->alloc[i].p);
    tl_free(l->alloc);
    tl_buf_free(&l->text);
}

void tl_lang_fail(tl_lang *l, int code, const char *fmt, ...) {
    char text[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tl_fail(l->err, code, "%s%s", l->place, text);
    longjmp(l->fault, 1);
}

void tl_lang_work(tl_lang *l, int64_t steps) {
    if ((l->work += steps) > TL_LANG_WORK) tl_lang_fail(l, TL_E_UNSUPPORTED, "this takes too much work; make it simpler");
}

void tl_lang_room(tl_lang *l, void *list, size_t n, size_t *cap, size_t size, size_t most) {
    if (n < *cap) return;
    if (n >= most) tl_lang_fail(l, TL_E_UNSUPPORTED, "the grammar becomes too large; make it simpler");
    size_t more = *cap ? *cap * 2 : 64;
    void *old, *p;
    memcpy(&old, list, sizeof old);
    if (!(p = tl_realloc_n(old, more, size, "a grammar", l->err))) longjmp(l->fault, 1);
    memcpy(list, &p, sizeof p);
    *cap = more;
}

void *tl_lang_memory(tl_lang *l, size_t n, size_t size) {
    tl_lang_room(l, &l->alloc, l->n_allocs, &l->allocs_cap, sizeof *l->alloc, SIZE_MAX / 64);
    void *p = tl_alloc_n(n ? n : 1, size, "a grammar", l->err);
    if (!p) longjmp(l->fault, 1);
    return l->alloc[l->n_allocs++].p = p;
}

/* ---- making ---- */

int tl_lang_add(tl_lang *l, tl_lang_node n) {
    tl_lang_work(l, 1);
    tl_lang_room(l, &l->node, l->n_nodes, &l->nodes_cap, sizeof *l->node, TL_LANG_NODES);
    l->node[l->n_nodes] = n;
    return (int)l->n_nodes++;
}

static int kind(const tl_lang *l, int a) { return l->node[a].kind; }

int tl_lang_nothing(tl_lang *l) { return tl_lang_add(l, (tl_lang_node){.kind = TL_LANG_NOTHING}); }
int tl_lang_empty(tl_lang *l) { return tl_lang_add(l, (tl_lang_node){.kind = TL_LANG_EMPTY}); }

static void put_span(tl_lang *l, int32_t lo, int32_t hi) {
    if (lo > hi) return;
    tl_lang_room(l, &l->span, l->n_spans, &l->spans_cap, sizeof *l->span, TL_LANG_NODES);
    l->span[l->n_spans++] = (tl_span){lo, hi};
}

int tl_lang_chars(tl_lang *l, const tl_span *s, int n) {
    size_t first = l->n_spans;
    for (int i = 0; i < n; i++) {
        put_span(l, s[i].lo, s[i].hi < 0xD7FF ? s[i].hi : 0xD7FF);
        put_span(l, s[i].lo > 0xE000 ? s[i].lo : 0xE000, s[i].hi);
    }
    if (l->n_spans == first) return tl_lang_nothing(l);
    return tl_lang_add(l, (tl_lang_node){.kind = TL_LANG_CHAR, .a = (int32_t)first, .b = (int32_t)(l->n_spans - first)});
}

int tl_lang_any(tl_lang *l) { return tl_lang_chars(l, &(tl_span){0, 0x10FFFF}, 1); }

int tl_lang_text(tl_lang *l, const char *p, size_t n) {
    if (!n) return tl_lang_empty(l);
    if (l->text.n + n > TL_LANG_OUT) tl_lang_fail(l, TL_E_UNSUPPORTED, "the grammar becomes too large; make it simpler");
    size_t at = l->text.n;
    tl_buf_add(&l->text, p, n);
    if (l->text.failed) tl_lang_fail(l, TL_E_MEMORY, "out of memory");
    return tl_lang_add(l, (tl_lang_node){.kind = TL_LANG_TEXT, .a = (int32_t)at, .b = (int32_t)n});
}

int tl_lang_str(tl_lang *l, const char *s) { return tl_lang_text(l, s, strlen(s)); }

int tl_lang_seq(tl_lang *l, int a, int b) {
    if (kind(l, a) == TL_LANG_NOTHING || kind(l, b) == TL_LANG_EMPTY) return a;
    if (kind(l, b) == TL_LANG_NOTHING || kind(l, a) == TL_LANG_EMPTY) return b;
    return tl_lang_add(l, (tl_lang_node){.kind = TL_LANG_SEQ, .a = a, .b = b});
}

int tl_lang_alt(tl_lang *l, int a, int b) {
    if (kind(l, a) == TL_LANG_NOTHING) return b;
    if (kind(l, b) == TL_LANG_NOTHING) return a;
    return tl_lang_add(l, (tl_lang_node){.kind = TL_LANG_ALT, .a = a, .b = b});
}

int tl_lang_repeat(tl_lang *l, int a, int min, int max) {
    if (max == 0 || kind(l, a) == TL_LANG_EMPTY) return tl_lang_empty(l);
    if (kind(l, a) == TL_LANG_NOTHING) return min ? a : tl_lang_empty(l);
    if (min == 1 && max == 1) return a;
    if (max > 0 && min > max) return tl_lang_nothing(l);
    return tl_lang_add(l, (tl_lang_node){.kind = TL_LANG_REPEAT, .a = a, .min = min, .max = max});
}

int tl_lang_new_rule(tl_lang *l) {
    tl_lang_room(l, &l->rule, l->n_rules, &l->rules_cap, sizeof *l->rule, TL_LANG_RULES);
    l->rule[l->n_rules] = (tl_lang_rule){.body = -1};
    return (int)l->n_rules++;
}

void tl_lang_define(tl_lang *l, int rule, int body) { l->rule[rule].body = body; }
int tl_lang_call(tl_lang *l, int rule) { return tl_lang_add(l, (tl_lang_node){.kind = TL_LANG_RULE, .a = rule}); }

int tl_lang_as_rule(tl_lang *l, int a) {
    if (kind(l, a) <= TL_LANG_EMPTY || kind(l, a) == TL_LANG_RULE) return a;
    int rule = tl_lang_new_rule(l);
    tl_lang_define(l, rule, a);
    return tl_lang_call(l, rule);
}

void tl_lang_push(tl_lang *l, int a) {
    tl_lang_room(l, &l->stack, l->n_stack, &l->stack_cap, sizeof *l->stack, TL_LANG_NODES);
    l->stack[l->n_stack++] = a;
}

/* ---- inside a JSON string ---- */

/* Of the control characters in mask, the escapes. */
static int control_escapes(tl_lang *l, uint32_t mask) {
    static const struct { int c; char letter; } letters[] = {{8, 'b'}, {9, 't'}, {10, 'n'}, {12, 'f'}, {13, 'r'}};
    int all = tl_lang_nothing(l);
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        if (!(mask >> letters[i].c & 1)) continue;
        all = tl_lang_alt(l, all, tl_lang_text(l, (char[]){'\\', letters[i].letter}, 2));
        mask &= ~((uint32_t)1 << letters[i].c);
    }
    for (int high = 0; high < 2; high++) {
        tl_span digit[16];
        int n = 0;
        for (int low = 0; low < 16; low++) {
            int c = low < 10 ? '0' + low : 'a' + low - 10;
            if (mask >> (high * 16 + low) & 1) digit[n++] = (tl_span){c, c};
        }
        if (n) all = tl_lang_alt(l, all, tl_lang_seq(l, tl_lang_str(l, high ? "\\u001" : "\\u000"), tl_lang_chars(l, digit, n)));
    }
    return all;
}

/* A part of [lo, hi] without what is escaped; *mask collects control characters, *marks `"` (1) and `\` (2). */
static void plain_part(tl_lang *l, tl_span s, uint32_t *mask, int *marks) {
    for (; s.lo <= s.hi && s.lo < 0x20; s.lo++) *mask |= (uint32_t)1 << s.lo;
    *marks |= (s.lo <= '"' && s.hi >= '"' ? 1 : 0) | (s.lo <= '\\' && s.hi >= '\\' ? 2 : 0);
    static const int cut[] = {'"', '\\'};
    for (int i = 0; i < 2; i++) {
        if (s.lo > cut[i] || s.hi < cut[i]) continue;
        put_span(l, s.lo, cut[i] - 1);
        s.lo = cut[i] + 1;
    }
    put_span(l, s.lo, s.hi);
}

static int same_chars(const tl_lang *l, int a, int b) {
    const tl_lang_node *p = &l->node[a], *q = &l->node[b];
    return p->b == q->b && memcmp(l->span + p->a, l->span + q->a, (size_t)p->b * sizeof *l->span) == 0;
}

static int json_chars(tl_lang *l, int a) {
    for (int i = 0; i < l->n_escaped; i++)
        if (same_chars(l, a, l->escaped[i][0])) return tl_lang_call(l, l->escaped[i][1]);
    size_t first = l->n_spans;
    uint32_t mask = 0;
    int marks = 0;
    for (int i = 0; i < l->node[a].b; i++) plain_part(l, l->span[l->node[a].a + i], &mask, &marks);
    int plain = l->n_spans == first ? tl_lang_nothing(l)
        : tl_lang_add(l, (tl_lang_node){.kind = TL_LANG_CHAR, .a = (int32_t)first, .b = (int32_t)(l->n_spans - first)});
    if (!mask && !marks) return plain;
    int all = plain;
    if (marks & 1) all = tl_lang_alt(l, all, tl_lang_str(l, "\\\""));
    if (marks & 2) all = tl_lang_alt(l, all, tl_lang_str(l, "\\\\"));
    all = tl_lang_alt(l, all, control_escapes(l, mask));
    if (kind(l, all) != TL_LANG_ALT || l->n_escaped == 32) return all;
    all = tl_lang_as_rule(l, all);
    l->escaped[l->n_escaped][0] = a;
    l->escaped[l->n_escaped++][1] = l->node[all].a;
    return all;
}

static int json_text(tl_lang *l, int a) {
    tl_buf b = {0}, raw = {0};
    tl_json j = {.out = &b};
    tl_buf_add(&raw, l->text.p + l->node[a].a, (size_t)l->node[a].b);
    if (!raw.failed) tl_json_str(&j, NULL, raw.p, raw.n);
    int failed = b.failed || raw.failed;
    size_t at = l->text.n, n = failed ? 0 : b.n - 2;
    if (n) tl_buf_add(&l->text, b.p + 1, n);
    tl_buf_free(&b);
    tl_buf_free(&raw);
    if (failed || l->text.failed) tl_lang_fail(l, TL_E_MEMORY, "out of memory");
    return tl_lang_add(l, (tl_lang_node){.kind = TL_LANG_TEXT, .a = (int32_t)at, .b = (int32_t)n});
}

/* Rows are walked with the stack, groups by recursion: the parser limits their nesting. */
int tl_lang_json(tl_lang *l, int a) {
    tl_lang_node n = l->node[a];
    size_t base = l->n_stack;
    switch (n.kind) {
    case TL_LANG_CHAR: return json_chars(l, a);
    case TL_LANG_TEXT: return json_text(l, a);
    case TL_LANG_REPEAT: return tl_lang_repeat(l, tl_lang_json(l, n.a), n.min, n.max);
    case TL_LANG_SEQ:
    case TL_LANG_ALT:
        for (; l->node[a].kind == n.kind; a = l->node[a].a) tl_lang_push(l, l->node[a].b);
        a = tl_lang_json(l, a);
        while (l->n_stack > base) {
            int b = tl_lang_json(l, l->stack[--l->n_stack]);
            a = n.kind == TL_LANG_SEQ ? tl_lang_seq(l, a, b) : tl_lang_alt(l, a, b);
        }
        return a;
    default: return a;
    }
}

/* ---- writing ---- */

/* Which nodes and rules have a text: a walk over all nodes for each round of news. */
static void find_some(tl_lang *l) {
    for (int news = 1; news;) {
        news = 0;
        tl_lang_work(l, (int64_t)l->n_nodes);
        for (size_t i = 0; i < l->n_nodes; i++) {
            tl_lang_node *n = &l->node[i];
            switch (n->kind) {
            case TL_LANG_NOTHING: n->some = 0; break;
            case TL_LANG_SEQ: n->some = l->node[n->a].some && l->node[n->b].some; break;
            case TL_LANG_ALT: n->some = l->node[n->a].some || l->node[n->b].some; break;
            case TL_LANG_REPEAT: n->some = n->min == 0 || l->node[n->a].some; break;
            case TL_LANG_RULE: n->some = l->rule[n->a].some; break;
            default: n->some = 1;
            }
        }
        for (size_t r = 0; r < l->n_rules; r++)
            if (!l->rule[r].some && l->rule[r].body >= 0 && l->node[l->rule[r].body].some) l->rule[r].some = 1, news = 1;
    }
}

/* Inside a literal or a class: what is no letter, digit or harmless mark is a number. */
static void print_char(tl_buf *out, int32_t c) {
    int plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && c < 0x80 && strchr(" !#$%&()*+,./:;<=>?@_`{|}~", c));
    if (plain) tl_buf_fmt(out, "%c", (char)c);
    else if (c < 0x80) tl_buf_fmt(out, "\\x%02X", (unsigned)c);
    else if (c < 0x10000) tl_buf_fmt(out, "\\u%04X", (unsigned)c);
    else tl_buf_fmt(out, "\\U%08X", (unsigned)c);
}

static void print_rule_name(tl_buf *out, int rule) { tl_buf_fmt(out, "r%d", rule); }

static void print(tl_lang *l, int a, tl_buf *out, int inside);

static void print_row(tl_lang *l, int a, tl_buf *out) {
    int k = kind(l, a);
    size_t base = l->n_stack;
    for (; kind(l, a) == k; a = l->node[a].a) tl_lang_push(l, l->node[a].b);
    tl_lang_push(l, a);
    for (int first = 1; l->n_stack > base;) {
        int part = l->stack[--l->n_stack];
        if (!l->node[part].some) continue;
        if (!first) tl_buf_str(out, k == TL_LANG_SEQ ? " " : " | ");
        print(l, part, out, k);
        first = 0;
    }
}

static void print_repeat(tl_lang *l, int a, tl_buf *out) {
    tl_lang_node n = l->node[a];
    if (!l->node[n.a].some) {
        tl_buf_str(out, "\"\"");
        return;
    }
    print(l, n.a, out, TL_LANG_REPEAT);
    if (n.max < 0 && n.min < 2) tl_buf_str(out, n.min ? "+" : "*");
    else if (n.max < 0) tl_buf_fmt(out, "{%d,}", (int)n.min);
    else if (n.min == 0 && n.max == 1) tl_buf_str(out, "?");
    else if (n.min == n.max) tl_buf_fmt(out, "{%d}", (int)n.min);
    else tl_buf_fmt(out, "{%d,%d}", (int)n.min, (int)n.max);
}

/* inside: the kind of the node around it, which decides on parentheses. */
static void print(tl_lang *l, int a, tl_buf *out, int inside) {
    tl_lang_node n = l->node[a];
    int group = inside == TL_LANG_REPEAT ? n.kind == TL_LANG_SEQ || n.kind == TL_LANG_ALT || n.kind == TL_LANG_REPEAT ||
        n.kind == TL_LANG_TEXT : inside == TL_LANG_SEQ && n.kind == TL_LANG_ALT;
    if (out->n > TL_LANG_OUT) tl_lang_fail(l, TL_E_UNSUPPORTED, "the grammar becomes larger than 4 MiB; make it simpler");
    if (group) tl_buf_str(out, "(");
    switch (n.kind) {
    case TL_LANG_TEXT:
        tl_buf_str(out, "\"");
        for (int32_t i = 0, c; i < n.b; i += (int32_t)tl_utf8_next(l->text.p + n.a + i, (size_t)(n.b - i), &c), print_char(out, c)) continue;
        tl_buf_str(out, "\"");
        break;
    case TL_LANG_CHAR:
        tl_buf_str(out, "[");
        for (int32_t i = 0; i < n.b; i++) {
            tl_span s = l->span[n.a + i];
            print_char(out, s.lo);
            if (s.hi > s.lo + 1) tl_buf_str(out, "-");
            if (s.hi > s.lo) print_char(out, s.hi);
        }
        tl_buf_str(out, "]");
        break;
    case TL_LANG_SEQ:
    case TL_LANG_ALT: print_row(l, a, out); break;
    case TL_LANG_REPEAT: print_repeat(l, a, out); break;
    case TL_LANG_RULE:
        if (!l->rule[n.a].used) l->rule[n.a].used = 1;
        print_rule_name(out, n.a);
        break;
    default: tl_buf_str(out, "\"\"");
    }
    if (group) tl_buf_str(out, ")");
}

int tl_lang_print(tl_lang *l, int start, tl_buf *out) {
    find_some(l);
    if (!l->node[start].some) return 0;
    tl_buf_str(out, "root ::= ");
    print(l, start, out, TL_LANG_ALT);
    tl_buf_str(out, "\n");
    for (int news = 1; news;) {
        news = 0;
        for (size_t r = 0; r < l->n_rules; r++) {
            if (l->rule[r].used != 1) continue;
            l->rule[r].used = 2;   /* written */
            news = 1;
            print_rule_name(out, (int)r);
            tl_buf_str(out, " ::= ");
            print(l, l->rule[r].body, out, TL_LANG_ALT);
            tl_buf_str(out, "\n");
        }
    }
    if (out->failed) tl_lang_fail(l, TL_E_MEMORY, "out of memory");
    return 1;
}
