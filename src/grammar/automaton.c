/* SPDX-License-Identifier: MIT
 *
 * automaton.c: see automaton.h.
 *
 * A step reads a byte in two passes. First all that belongs to rules entered earlier: items move on, returns come back to
 * their callers, and calls are only noted. Then the called rules, callers before callees (there is such an order without
 * left recursion): all calls of a rule at one place of the text share one set to return to. A call that is the last thing
 * its rule does returns to its caller's callers at once, so that right recursion does not grow. */
#include <stdlib.h>
#include <string.h>
#include "grammar/automaton.h"

/* Forgetting begins at MOST_*; what is left then may be half of it. A step looks at MOST_WORK items. */
enum { MOST_ITEMS = 1 << 21, MOST_SETS = 1 << 18, MOST_TABLES = 1 << 14, MOST_WORK = 1 << 16 };

static int grow(tl_automaton *a, void **p, size_t n, size_t *cap, size_t size) {
    if (n < *cap) return 1;
    size_t more = *cap ? *cap * 2 : 256;
    void *q = tl_realloc_n(*p, more, size, "a grammar", NULL);
    if (!q) a->failed = TL_E_MEMORY;
    else *p = q, *cap = more;
    return q != NULL;
}
#define ROOM(list, n, cap) grow(a, (void **)&a->list, a->n, &a->cap, sizeof *a->list)

static int fail(tl_automaton *a, int code) {
    if (!a->failed) a->failed = code;
    return TL_DEAD;
}

/* ---- sets ---- */

static int before(tl_item x, tl_item y) { return x.op < y.op || (x.op == y.op && x.ret < y.ret); }

static int compare(const void *p, const void *q) {
    tl_item x, y;
    memcpy(&x, p, sizeof x);
    memcpy(&y, q, sizeof y);
    return before(x, y) ? -1 : before(y, x);
}

static void sort(tl_item *v, size_t n) {
    if (n > 24) {
        qsort(v, n, sizeof *v, compare);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        tl_item x = v[i];
        size_t j = i;
        for (; j && before(x, v[j - 1]); j--) v[j] = v[j - 1];
        v[j] = x;
    }
}

static uint32_t hash(const tl_item *v, size_t n) {
    uint64_t h = 0x9E3779B97F4A7C15u;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ (uint32_t)v[i].op ^ (uint64_t)(uint32_t)v[i].ret << 32) * 0xFF51AFD7ED558CCDu;
        h ^= h >> 29;
    }
    return (uint32_t)(h ^ h >> 32);
}

static int rehash(tl_automaton *a, uint32_t mask) {
    int32_t *slot = tl_alloc_n((size_t)mask + 1, sizeof *slot, "a grammar", NULL);
    if (!slot) return fail(a, TL_E_MEMORY);
    for (int s = 0; s < a->n_sets; s++) {
        uint32_t i = a->set[s].hash & mask;
        while (slot[i]) i = (i + 1) & mask;
        slot[i] = s + 1;
    }
    tl_free(a->slot);
    a->slot = slot;
    a->mask = mask;
    return 1;
}

static int intern(tl_automaton *a, tl_item *v, size_t n);

/* Finds what a set is like; the sets to which it returns know it already. Likes are like themselves. */
static void find_like(tl_automaton *a, int number) {
    const tl_set s = a->set[number];
    int differs = 0;
    a->n_alike = 0;
    for (uint32_t i = 0; i < s.n; i++) {
        tl_item v = a->item[s.first + i], to = {a->p.op[v.op].like, a->set[v.ret].like};
        if (!ROOM(alike, n_alike, alike_cap)) return;
        a->alike[a->n_alike++] = to;
        differs |= to.op != v.op || to.ret != v.ret;
    }
    int like = differs ? intern(a, a->alike, a->n_alike) : number;
    a->set[number].like = like;
}

/* The number of the set of v [n], which is put in order; TL_DEAD for the empty one, or after a failure. */
static int intern(tl_automaton *a, tl_item *v, size_t n) {
    size_t kept = 0;
    sort(v, n);
    for (size_t i = 0; i < n; i++)
        if (!i || v[i].op != v[i - 1].op || v[i].ret != v[i - 1].ret) v[kept++] = v[i];
    uint32_t h = hash(v, kept), i = h & a->mask;
    for (; a->slot[i]; i = (i + 1) & a->mask) {
        const tl_set *s = &a->set[a->slot[i] - 1];
        if (s->hash == h && s->n == kept && (!kept || memcmp(a->item + s->first, v, kept * sizeof *v) == 0)) return a->slot[i] - 1;
    }
    size_t cap = (size_t)a->sets_cap;
    if (!grow(a, (void **)&a->set, (size_t)a->n_sets, &cap, sizeof *a->set)) return TL_DEAD;
    a->sets_cap = (int)cap;
    while (a->n_items + kept > a->items_cap) {
        size_t n_items = a->items_cap;
        if (!grow(a, (void **)&a->item, n_items, &a->items_cap, sizeof *a->item)) return TL_DEAD;
    }
    if (kept) memcpy(a->item + a->n_items, v, kept * sizeof *v);
    a->set[a->n_sets] = (tl_set){(uint32_t)a->n_items, (uint32_t)kept, h, -1, -1, a->n_sets};
    a->n_items += kept;
    a->slot[i] = ++a->n_sets;
    int number = a->n_sets - 1;
    if ((uint32_t)a->n_sets * 2 > a->mask && !rehash(a, a->mask * 2 + 1)) return TL_DEAD;
    find_like(a, number);
    return a->failed ? TL_DEAD : number;
}

/* ---- a step ---- */

static void put_out(tl_automaton *a, int32_t op, int32_t ret) {
    if (a->n_out >= MOST_WORK) fail(a, TL_E_UNSUPPORTED);
    else if (ROOM(out, n_out, out_cap)) a->out[a->n_out++] = (tl_item){op, ret};
}

static uint32_t place(const tl_automaton *a, uint64_t key) {
    uint32_t i = (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 40) & a->seen_mask;
    while (a->seen[i] && a->seen[i] != key) i = (i + 1) & a->seen_mask;
    return i;
}

static uint64_t key_of(tl_item v) { return ((uint64_t)(uint32_t)v.op << 32 | (uint32_t)v.ret) + 1; }

static int grow_seen(tl_automaton *a) {
    uint32_t mask = a->seen_mask ? a->seen_mask * 4 + 3 : 255;
    uint64_t *seen = tl_alloc_n((size_t)mask + 1, sizeof *seen, "a grammar", NULL);
    if (!seen) return fail(a, TL_E_MEMORY);
    tl_free(a->seen);
    a->seen = seen;
    a->seen_mask = mask;
    for (size_t i = 0; i < a->n_work; i++) a->seen[place(a, key_of(a->work[i]))] = key_of(a->work[i]);
    return 1;
}

/* Notes an item to be looked at, once. */
static void visit(tl_automaton *a, int32_t op, int32_t ret) {
    tl_item v = {op, ret};
    if (a->failed || !a->p.op[op].live) return;
    if ((!a->seen_mask || a->n_work * 2 >= a->seen_mask) && !grow_seen(a)) return;
    uint32_t i = place(a, key_of(v));
    if (a->seen[i]) return;
    if (a->n_work >= MOST_WORK) {
        fail(a, TL_E_UNSUPPORTED);
        return;
    }
    if (!ROOM(work, n_work, work_cap)) return;
    a->seen[i] = key_of(v);
    a->work[a->n_work++] = v;
}

/* From the last to the first: an entry that was in the way of another was there before it. */
static void forget_seen(tl_automaton *a) {
    for (size_t i = a->n_work; i-- > 0;) a->seen[place(a, key_of(a->work[i]))] = 0;
}

static void push_heap(tl_automaton *a, int32_t rank) {
    int i = a->n_heap++;
    for (; i && a->heap[(i - 1) / 2] > rank; i = (i - 1) / 2) a->heap[i] = a->heap[(i - 1) / 2];
    a->heap[i] = rank;
}

static int32_t pop_heap(tl_automaton *a) {
    int32_t top = a->heap[0], last = a->heap[--a->n_heap];
    int i = 0;
    for (int k; (k = 2 * i + 1) < a->n_heap; i = k) {
        if (k + 1 < a->n_heap && a->heap[k + 1] < a->heap[k]) k++;
        if (a->heap[k] >= last) break;
        a->heap[i] = a->heap[k];
    }
    a->heap[i] = last;
    return top;
}

/* Rule will be entered, and then go on at step at of a rule that returns to set ret. */
static void note_call(tl_automaton *a, int32_t rule, int32_t at, int32_t ret) {
    int32_t rank = a->p.rule[rule].rank;
    if (a->n_calls >= MOST_WORK) fail(a, TL_E_UNSUPPORTED);
    if (a->failed || !ROOM(call, n_calls, calls_cap)) return;
    if (a->called[rank] < 0) push_heap(a, rank);
    a->call[a->n_calls] = (tl_call){at, ret, a->called[rank]};
    a->called[rank] = (int32_t)a->n_calls++;
}

static void look(tl_automaton *a, tl_item v) {
    const tl_instr *op = &a->p.op[v.op];
    switch (op->kind) {
    case TL_INSTR_BYTES: put_out(a, v.op, v.ret); break;
    case TL_INSTR_SPLIT: visit(a, op->a, v.ret), visit(a, op->b, v.ret); break;
    case TL_INSTR_CALL:
        note_call(a, op->a, op->b, v.ret);
        if (a->p.rule[op->a].nullable) visit(a, op->b, v.ret);
        break;
    default:
        if (!v.ret) put_out(a, 0, 0);
        for (uint32_t i = 0; i < a->set[v.ret].n; i++) {
            tl_item to = a->item[a->set[v.ret].first + i];
            visit(a, to.op, to.ret);
        }
    }
}

/* The set to which the rule of this rank returns, from all its calls. work is free by now. */
static int callers(tl_automaton *a, int32_t rank) {
    a->n_work = 0;
    for (int32_t c = a->called[rank]; c >= 0; c = a->call[c].next) {
        const int32_t at = a->call[c].ret, ret = a->call[c].set;
        const tl_set s = a->set[ret];
        if (at || !ret) visit(a, at, ret);
        for (uint32_t i = 0; !at && i < s.n; i++) visit(a, a->item[s.first + i].op, a->item[s.first + i].ret);
    }
    forget_seen(a);
    a->looked += a->n_work;
    return a->failed ? TL_DEAD : intern(a, a->work, a->n_work);
}

static void enter(tl_automaton *a, int32_t rank) {
    int ret = callers(a, rank);
    const tl_rule *r = &a->p.rule[a->p.by_rank[rank]];
    for (int i = 0; i < r->n_first && !a->failed; i++) {
        int32_t at = a->p.first_op[r->first + i];
        const tl_instr *op = &a->p.op[at];
        if (!op->live) continue;
        if (op->kind == TL_INSTR_BYTES) put_out(a, at, ret);
        else note_call(a, op->a, op->b, ret);
    }
}

static void begin(tl_automaton *a) { a->n_out = a->n_calls = a->n_work = 0; }

/* The state of all that was visited. */
static int finish(tl_automaton *a) {
    for (size_t i = 0; i < a->n_work && !a->failed; i++) look(a, a->work[i]);
    a->looked += a->n_work;
    forget_seen(a);
    while (a->n_heap) {
        int32_t rank = pop_heap(a);
        if (!a->failed) enter(a, rank);
        a->called[rank] = -1;
    }
    a->looked += a->n_out + a->n_calls;
    return a->failed ? TL_DEAD : intern(a, a->out, a->n_out);
}

static int table_of(tl_automaton *a, int state) {
    if (a->set[state].table >= 0) return a->set[state].table;
    size_t cap = (size_t)a->tables_cap;
    if (!grow(a, (void **)&a->table, (size_t)a->n_tables, &cap, sizeof *a->table)) return -1;
    a->tables_cap = (int)cap;
    memset(a->table[a->n_tables], -1, sizeof *a->table);
    return a->set[state].table = a->n_tables++;
}

int tl_automaton_step(tl_automaton *a, int state, uint8_t b) {
    int t = table_of(a, state);
    if (t < 0) return TL_DEAD;
    begin(a);
    for (uint32_t i = 0; i < a->set[state].n; i++) {
        tl_item v = a->item[a->set[state].first + i];
        const tl_instr *op = &a->p.op[v.op];
        const tl_edge *e = a->p.edge + op->a;
        for (int k = 0; op->kind == TL_INSTR_BYTES && k < op->b; k++)
            if (e[k].lo <= b && b <= e[k].hi) visit(a, e[k].next, v.ret);
    }
    int to = finish(a);
    if (!a->failed) a->table[t][b] = to;
    return to;
}

/* ---- forgetting ---- */

int tl_automaton_full(const tl_automaton *a) {
    return a->n_items > MOST_ITEMS || a->n_sets > MOST_SETS || a->n_tables > MOST_TABLES;
}

int tl_automaton_forget(tl_automaton *a, int *keep, int n, tl_error *err) {
    int32_t *to = tl_alloc_n((size_t)a->n_sets, sizeof *to, "a grammar", err);   /* 1: needed; then new numbers */
    if (!to) return TL_E_MEMORY;
    to[TL_DEAD] = to[a->start] = 1;
    for (int i = 0; i < n; i++) to[keep[i]] = 1;
    for (int s = a->n_sets; s-- > 0;)
        for (uint32_t i = 0; to[s] && i < a->set[s].n; i++) to[a->item[a->set[s].first + i].ret] = 1;
    int kept = 0;
    size_t items = 0;
    for (int s = 0; s < a->n_sets; s++) {   /* numbers keep their order, and so do the items of a set */
        if (!to[s]) continue;
        tl_set was = a->set[s];
        for (uint32_t i = 0; i < was.n; i++) {
            tl_item v = a->item[was.first + i];
            a->item[items + i] = (tl_item){v.op, to[v.ret]};
        }
        a->set[kept] = (tl_set){(uint32_t)items, was.n, hash(a->item + items, was.n), -1, -1, kept};
        items += was.n;
        to[s] = kept++;
    }
    a->n_sets = kept;
    a->n_items = items;
    a->n_tables = 0;
    a->start = to[a->start];
    for (int i = 0; i < n; i++) keep[i] = to[keep[i]];
    tl_free(to);
    if (!rehash(a, a->mask)) return tl_automaton_fault(a, err);
    for (int i = 0; i < kept && !a->failed; i++) find_like(a, i);
    if (a->failed) return tl_automaton_fault(a, err);
    if (items > MOST_ITEMS / 2 || kept > MOST_SETS / 2) {
        a->failed = TL_E_UNSUPPORTED;
        return tl_automaton_fault(a, err);
    }
    return TL_OK;
}

int tl_automaton_fault(tl_automaton *a, tl_error *err) {
    int code = a->failed;
    a->failed = 0;
    if (code == TL_E_MEMORY) return tl_fail(err, code, "out of memory for the grammar's states");
    return code ? tl_fail(err, code, "grammar: the text can be read in too many ways at once, or nests too deep") : TL_OK;
}

/* ---- states ---- */

int tl_automaton_may_end(const tl_automaton *a, int state) { return a->set[state].n && a->item[a->set[state].first].op == 0; }
int tl_automaton_only_ends(const tl_automaton *a, int state) { return a->set[state].n == 1 && tl_automaton_may_end(a, state); }

int tl_automaton_init(tl_automaton *a, const char *gbnf, size_t n, tl_error *err) {
    int rc = tl_gbnf_parse(&a->p, gbnf, n, err);
    if (rc == TL_OK) rc = tl_gbnf_compile(&a->p, err);
    if (rc == TL_OK) rc = tl_gbnf_analyse(&a->p, err);
    a->p.text = NULL;
    if (rc != TL_OK) return rc;
    const size_t rules = (size_t)a->p.n_rules;
    a->called = tl_alloc_n(rules, sizeof *a->called, "a grammar", err);
    a->heap = tl_alloc_n(rules, sizeof *a->heap, "a grammar", err);
    if (!a->called || !a->heap) return TL_E_MEMORY;
    memset(a->called, -1, rules * sizeof *a->called);
    if (!rehash(a, 255)) return tl_automaton_fault(a, err);
    intern(a, NULL, 0);
    begin(a);
    note_call(a, a->p.root, 0, 0);
    if (a->p.rule[a->p.root].nullable) put_out(a, 0, 0);
    a->start = finish(a);
    return tl_automaton_fault(a, err);
}

void tl_automaton_free(tl_automaton *a) {
    tl_program_free(&a->p);
    tl_free(a->set);
    tl_free(a->item);
    tl_free(a->slot);
    tl_free(a->table);
    tl_free(a->work);
    tl_free(a->out);
    tl_free(a->alike);
    tl_free(a->seen);
    tl_free(a->called);
    tl_free(a->call);
    tl_free(a->heap);
    *a = (tl_automaton){0};
}
