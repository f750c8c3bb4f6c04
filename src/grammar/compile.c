/* SPDX-License-Identifier: MIT
 *
 * compile.c: the tree becomes a program that reads bytes. Steps are made from a rule's end to its beginning: each knows
 * what follows it, so that nothing is patched but loops. */
#include "grammar/program.h"

typedef struct compiler {
    tl_program *p;
    tl_error *err;
    int rule;                 /* whose part is compiled */
} compiler;

static int room_ops(compiler *c) {
    return tl_grammar_room((void **)&c->p->op, c->p->n_ops, &c->p->ops_cap, sizeof *c->p->op, TL_GBNF_ITEMS, "steps", c->err);
}

static int add_op(compiler *c, int kind, int32_t a, int32_t b) {
    if (room_ops(c) != TL_OK) return -1;
    c->p->op[c->p->n_ops] = (tl_instr){.kind = (uint8_t)kind, .a = a, .b = b, .like = c->p->n_ops};
    return c->p->n_ops++;
}

/* ---- characters as UTF-8 ---- */

/* What a byte of a character leads to, while its edges are collected: at most one edge for every first byte. */
typedef struct edges { tl_edge e[256]; int n; } edges;

static void put_edge(edges *s, int lo, int hi, int32_t next) {
    tl_edge *last = s->n ? &s->e[s->n - 1] : NULL;
    if (last && last->next == next && last->hi + 1 == lo) last->hi = (uint8_t)hi;
    else s->e[s->n++] = (tl_edge){(uint8_t)lo, (uint8_t)hi, next};
}

static int add_bytes(compiler *c, const tl_edge *e, int n) {
    tl_program *p = c->p;
    int first = p->n_edges;
    for (int i = 0; i < n; i++) {
        if (tl_grammar_room((void **)&p->edge, p->n_edges, &p->edges_cap, sizeof *p->edge, TL_GBNF_ITEMS, "steps", c->err) != TL_OK) return -1;
        p->edge[p->n_edges++] = e[i];
    }
    return add_op(c, TL_INSTR_BYTES, first, n);
}

/* The characters of r [n] that lie in base .. base + 64^left - 1, of which the last `left` bytes are to be read. full
 * [left]: the steps that read any such bytes, or -1 while there are none. */
static int rest_of_char(compiler *c, const tl_chars *r, int n, int32_t base, int left, int32_t next, int32_t *full) {
    if (left == 0) return next;
    int32_t size = 1 << 6 * left, part = size >> 6;
    while (n && r->hi < base) r++, n--;
    int all = n && r->lo <= base && r->hi >= base + size - 1;
    if (all && full[left] >= 0) return full[left];
    tl_edge e[64];
    int n_e = 0;
    for (int v = 0; v < 64; v++) {
        int32_t lo = base + v * part, hi = lo + part - 1;
        while (n && r->hi < lo) r++, n--;
        if (!n || r->lo > hi) continue;
        int32_t to = rest_of_char(c, r, n, lo, left - 1, next, full);
        if (to < 0) return -1;
        if (n_e && e[n_e - 1].next == to && e[n_e - 1].hi + 1 == 0x80 + v) e[n_e - 1].hi++;
        else e[n_e++] = (tl_edge){(uint8_t)(0x80 + v), (uint8_t)(0x80 + v), to};
    }
    int op = add_bytes(c, e, n_e);
    if (all) full[left] = op;
    return op;
}

/* One character of r [n]; a set without characters leads nowhere. */
static int one_char(compiler *c, int first, int n, int32_t next) {
    static const struct { int32_t first, last, step; int lead, left; } length[] = {
        {0x80, 0x7FF, 1 << 6, 0xC0, 1}, {0x800, 0xFFFF, 1 << 12, 0xE0, 2}, {0x10000, 0x10FFFF, 1 << 18, 0xF0, 3}};
    edges s = {.n = 0};
    int32_t full[4] = {-1, -1, -1, -1};
    const tl_chars *r = c->p->range + first;
    for (int i = 0; i < n && r[i].lo < 0x80; i++) put_edge(&s, r[i].lo, r[i].hi < 0x80 ? r[i].hi : 0x7F, next);
    for (int k = 0; k < 3; k++) {
        for (int32_t base = length[k].first & -length[k].step; base <= length[k].last; base += length[k].step) {
            int32_t lo = base > length[k].first ? base : length[k].first, hi = base + length[k].step - 1;
            while (n && r->hi < lo) r++, n--;
            if (!n || r->lo > hi) continue;
            /* What begins before the shortest form of this length is cut off. */
            tl_chars *cut = c->p->range + (r - c->p->range), was = *cut;
            if (cut->lo < lo) cut->lo = lo;
            int32_t to = rest_of_char(c, r, n, base, length[k].left, next, full);
            *cut = was;
            if (to < 0) return -1;
            int lead = length[k].lead | base >> 6 * length[k].left;
            put_edge(&s, lead, lead, to);
        }
    }
    return add_bytes(c, s.e, s.n);
}

/* ---- the tree ---- */

static int make(compiler *c, int node, int32_t next);

/* The rule of a repeated part that is not a single character or rule: its copies are calls. */
static int own_rule(compiler *c, int node) {
    tl_program *p = c->p;
    if (tl_grammar_room((void **)&p->rule, p->n_rules, &p->rules_cap, sizeof *p->rule, TL_GBNF_ITEMS, "rules", c->err) != TL_OK) return -1;
    p->rule[p->n_rules] = p->rule[c->rule];
    p->rule[p->n_rules].node = node;
    return p->n_rules++;   /* compiled after those before it */
}

static int copy(compiler *c, int node, int rule, int32_t next) {
    return next < 0 ? -1 : rule >= 0 ? add_op(c, TL_INSTR_CALL, rule, next) : make(c, node, next);
}

/* n copies before step at, each of which may be left out for leave (-1: none may). A copy with more than TL_GBNF_FAR behind
 * it is like the one with so many: fewer bytes do not reach the difference. */
static int copies(compiler *c, int node, int rule, int32_t at, int n, int32_t leave) {
    int like = 0, steps = 0;
    for (int i = 0; i < n && at >= 0; i++) {
        int begin = c->p->n_ops;
        at = copy(c, node, rule, at);
        if (at >= 0 && leave >= 0) at = add_op(c, TL_INSTR_SPLIT, at, leave);
        if (i == TL_GBNF_FAR) like = begin, steps = c->p->n_ops - begin;
        for (int k = 0; i > TL_GBNF_FAR && k < steps && begin + k < c->p->n_ops; k++) c->p->op[begin + k].like = like + k;
    }
    return at;
}

static int repeat(compiler *c, const tl_gbnf_node *n, int32_t next) {
    const int node = n->a, hi = n->c, most = hi > n->b ? hi : n->b;
    const tl_gbnf_node *x = &c->p->node[node];
    int small = x->kind == TL_NODE_RULE || (x->kind == TL_NODE_CHAR && x->b <= 8);
    int rule = most > 1 && !small ? own_rule(c, node) : -1;
    int32_t at = next, lo = n->b;
    if (most > 1 && !small && rule < 0) return -1;
    if (hi < 0) {
        int loop = add_op(c, TL_INSTR_SPLIT, next, next);
        int body = copy(c, node, rule, loop);
        if (body < 0) return -1;
        c->p->op[loop].a = body;
        at = lo > 0 ? body : loop;   /* the first copy may be the loop's */
        lo -= lo > 0;
    }
    at = copies(c, node, rule, at, hi - lo, next);
    return copies(c, node, rule, at, lo, -1);
}

/* The step at which the node begins, where next is what follows it; -1 after an error. */
static int make(compiler *c, int node, int32_t next) {
    const tl_gbnf_node n = c->p->node[node];
    int32_t at = -1;
    switch (n.kind) {
    case TL_NODE_CHAR: return one_char(c, n.a, n.b, next);
    case TL_NODE_RULE: return add_op(c, TL_INSTR_CALL, n.a, next);
    case TL_NODE_REPEAT: return repeat(c, &n, next);
    case TL_NODE_SEQ:
        for (int i = n.a; i >= 0 && next >= 0; i = c->p->node[i].next) next = make(c, i, next);
        return next;
    default:
        for (int i = n.a; i >= 0; i = c->p->node[i].next) {
            int one = make(c, i, next);
            if (one < 0) return -1;
            if (at >= 0 && (one = add_op(c, TL_INSTR_SPLIT, one, at)) < 0) return -1;
            at = one;
        }
        return at;
    }
}

int tl_gbnf_compile(tl_program *p, tl_error *err) {
    tl_error local = {0};
    compiler c = {.p = p, .err = err ? err : &local};
    if (add_op(&c, TL_INSTR_END, 0, 0) < 0) return c.err->code;
    for (c.rule = 0; c.rule < p->n_rules; c.rule++) {
        int start = make(&c, p->rule[c.rule].node, 0);
        if (start < 0) return c.err->code;
        p->rule[c.rule].start = start;
    }
    return TL_OK;
}

void tl_program_free(tl_program *p) {
    tl_free(p->node);
    tl_free(p->range);
    tl_free(p->rule);
    tl_free(p->op);
    tl_free(p->edge);
    tl_free(p->first_op);
    tl_free(p->by_rank);
    *p = (tl_program){0};
}
