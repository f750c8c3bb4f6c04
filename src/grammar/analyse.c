/* SPDX-License-Identifier: MIT
 *
 * analyse.c: what a program's rules are like, in time linear in its size: which derive the empty text, with what each can
 * begin, whether one calls itself before it has read a byte (refused: the automaton's calls would never end), and from
 * which steps a text can be completed (others are never entered). */
#include <string.h>
#include "grammar/program.h"

typedef struct pair { int32_t a, b; } pair;

typedef struct analysis {
    tl_program *p;
    pair *work; int n_work, work_cap;     /* {step, rule} or steps still to be looked at */
    pair *found; int n_found, found_cap;  /* {rule, step}: with what a rule can begin */
    int32_t *wait, *next_wait;            /* calls that go on when a rule derives nothing: [n_rules], [n_ops], -1: none */
    int32_t *owner;                       /* [n_ops] rule + 1, 0: not reached */
    tl_error *err;
} analysis;

static int push(analysis *x, pair **list, int *n, int *cap, int32_t a, int32_t b) {
    if (tl_grammar_room((void **)list, *n, cap, sizeof **list, 16 * TL_GBNF_ITEMS, "steps", x->err) != TL_OK) return TL_E_MEMORY;
    (*list)[(*n)++] = (pair){a, b};
    return TL_OK;
}
#define PUSH(list, a, b) push(x, &x->list, &x->n_##list, &x->list##_cap, a, b)

/* ---- beginnings ---- */

static int reach(analysis *x, int32_t at, int32_t rule) {
    tl_program *p = x->p;
    const tl_instr *op = &p->op[at];
    int rc = TL_OK;
    if (op->kind == TL_INSTR_END) {
        if (p->rule[rule].nullable) return TL_OK;
        p->rule[rule].nullable = 1;
        for (int32_t w = x->wait[rule]; w >= 0 && rc == TL_OK; w = x->next_wait[w]) rc = PUSH(work, p->op[w].b, x->owner[w] - 1);
        return rc;
    }
    if (x->owner[at]) return TL_OK;
    x->owner[at] = rule + 1;
    if (op->kind == TL_INSTR_SPLIT) return (rc = PUSH(work, op->a, rule)) == TL_OK ? PUSH(work, op->b, rule) : rc;
    rc = PUSH(found, rule, at);
    if (rc != TL_OK || op->kind != TL_INSTR_CALL) return rc;
    if (p->rule[op->a].nullable) return PUSH(work, op->b, rule);
    x->next_wait[at] = x->wait[op->a];
    x->wait[op->a] = at;
    return TL_OK;
}

static int find_beginnings(analysis *x) {
    tl_program *p = x->p;
    for (int r = 0; r < p->n_rules; r++) x->wait[r] = -1;
    for (int r = 0; r < p->n_rules; r++) {
        if (PUSH(work, p->rule[r].start, r) != TL_OK) return TL_E_MEMORY;
        while (x->n_work) {
            pair at = x->work[--x->n_work];
            if (reach(x, at.a, at.b) != TL_OK) return TL_E_MEMORY;
        }
    }
    if (!(p->first_op = tl_alloc_n((size_t)x->n_found + 1, sizeof *p->first_op, "a grammar", x->err))) return TL_E_MEMORY;
    for (int i = 0; i < x->n_found; i++) p->rule[x->found[i].a].n_first++;
    for (int r = 0, at = 0; r < p->n_rules; r++) {
        p->rule[r].first = at;
        at += p->rule[r].n_first;
        p->rule[r].n_first = 0;
    }
    for (int i = 0; i < x->n_found; i++) {
        tl_rule *r = &p->rule[x->found[i].a];
        p->first_op[r->first + r->n_first++] = x->found[i].b;
    }
    return TL_OK;
}

/* ---- left recursion ---- */

static int left_recursive(const analysis *x, int rule) {
    char path[200];
    int at = 0, i = x->n_work;
    while (i-- > 0 && x->work[i].a != rule) continue;
    for (; i < x->n_work; i++) {
        const tl_rule *r = &x->p->rule[x->work[i].a];
        if (at < 120) at += snprintf(path + at, sizeof path - (size_t)at, "%.*s -> ", (int)(r->len < 40 ? r->len : 40), x->p->text + r->name);
    }
    const tl_rule *r = &x->p->rule[rule];
    return tl_fail(x->err, TL_E_UNSUPPORTED, "grammar: line %d: rule '%.*s' is left-recursive (%s%.*s); let it begin with something else",
                   (int)r->line, (int)(r->len < 40 ? r->len : 40), x->p->text + r->name, path, (int)(r->len < 40 ? r->len : 40),
                   x->p->text + r->name);
}

/* Depth first over calls at beginnings: a rule is done after all that it calls, and ranks are dealt from the last on. */
static int rank_rules(analysis *x, uint8_t *seen) {   /* 1: on the way, 2: done */
    tl_program *p = x->p;
    int rank = p->n_rules;
    if (!(p->by_rank = tl_alloc_n((size_t)p->n_rules, sizeof *p->by_rank, "a grammar", x->err))) return TL_E_MEMORY;
    for (int r = 0; r < p->n_rules; r++) {
        x->n_work = 0;
        if (!seen[r] && PUSH(work, r, 0) != TL_OK) return TL_E_MEMORY;
        while (x->n_work) {
            pair *top = &x->work[x->n_work - 1];
            const tl_rule *q = &p->rule[top->a];
            seen[top->a] = 1;
            if (top->b == q->n_first) {
                seen[top->a] = 2;
                p->rule[top->a].rank = --rank;
                p->by_rank[rank] = top->a;
                x->n_work--;
                continue;
            }
            const tl_instr *op = &p->op[p->first_op[q->first + top->b++]];
            if (op->kind != TL_INSTR_CALL || seen[op->a] == 2) continue;
            if (seen[op->a] == 1) return left_recursive(x, op->a);
            if (PUSH(work, op->a, 0) != TL_OK) return TL_E_MEMORY;
        }
    }
    return TL_OK;
}

/* ---- what can be completed ---- */

static int can_end(const tl_program *p, const tl_instr *op) {
    if (op->kind == TL_INSTR_CALL) return p->op[op->b].live && p->op[p->rule[op->a].start].live;
    return 1;   /* one of its followers can, or it would not be asked */
}

/* head [n_ops]: first of the steps that lead to a step, as an index into links {step, next link}. */
static int link_back(analysis *x, int32_t *head, int32_t to, int32_t from) {
    if (PUSH(found, from, head[to]) != TL_OK) return TL_E_MEMORY;
    head[to] = x->n_found - 1;
    return TL_OK;
}

static int find_live(analysis *x) {
    tl_program *p = x->p;
    int32_t *head = x->owner;
    int rc = TL_OK;
    x->n_found = x->n_work = 0;
    for (int i = 0; i < p->n_ops; i++) head[i] = -1;
    for (int i = 0; i < p->n_ops && rc == TL_OK; i++) {
        const tl_instr *op = &p->op[i];
        if (op->kind == TL_INSTR_SPLIT) rc = link_back(x, head, op->a, i);
        if (op->kind == TL_INSTR_CALL) rc = link_back(x, head, p->rule[op->a].start, i);
        if (rc == TL_OK && (op->kind == TL_INSTR_SPLIT || op->kind == TL_INSTR_CALL)) rc = link_back(x, head, op->b, i);
        for (int e = 0; op->kind == TL_INSTR_BYTES && e < op->b && rc == TL_OK; e++) rc = link_back(x, head, p->edge[op->a + e].next, i);
    }
    p->op[0].live = 1;
    if (rc == TL_OK) rc = PUSH(work, 0, 0);
    while (rc == TL_OK && x->n_work) {
        for (int32_t l = head[x->work[--x->n_work].a]; l >= 0 && rc == TL_OK; l = x->found[l].b) {
            int32_t from = x->found[l].a;
            if (p->op[from].live || !can_end(p, &p->op[from])) continue;
            p->op[from].live = 1;
            rc = PUSH(work, from, 0);
        }
    }
    return rc;
}

int tl_gbnf_analyse(tl_program *p, tl_error *err) {
    tl_error local = {0};
    analysis x = {.p = p, .err = err ? err : &local};
    uint8_t *seen = tl_alloc_n((size_t)p->n_rules, 1, "a grammar", x.err);
    x.wait = tl_alloc_n((size_t)p->n_rules, sizeof *x.wait, "a grammar", x.err);
    x.next_wait = tl_alloc_n((size_t)p->n_ops, sizeof *x.next_wait, "a grammar", x.err);
    x.owner = tl_alloc_n((size_t)p->n_ops, sizeof *x.owner, "a grammar", x.err);
    int rc = seen && x.wait && x.next_wait && x.owner ? find_beginnings(&x) : TL_E_MEMORY;
    if (rc == TL_OK) rc = rank_rules(&x, seen);
    if (rc == TL_OK) rc = find_live(&x);
    if (rc == TL_OK && !p->op[p->rule[p->root].start].live)
        rc = tl_fail(x.err, TL_E_FORMAT, "grammar: no text ever completes the rule 'root': each of its ways calls itself again or is empty");
    tl_free(seen);
    tl_free(x.wait);
    tl_free(x.next_wait);
    tl_free(x.owner);
    tl_free(x.work);
    tl_free(x.found);
    return x.err->code ? x.err->code : rc;
}
