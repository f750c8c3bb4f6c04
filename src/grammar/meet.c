/* SPDX-License-Identifier: MIT
 *
 * meet.c: texts that are in several languages at once, or not in some: pattern and maxLength, the names of properties
 * that a schema does not list. Each language becomes a nondeterministic automaton over characters; sets of their states
 * and a count of characters are the states of one deterministic automaton, which is written as rules. */
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "grammar/lang.h"

enum { MOST_STATES = 4096, MOST_PARTS = 1 << 17, ACCEPT = -1 };

/* node >= 0: reads one of its characters and goes to a; -1: goes to a and b. State 0 accepts. */
typedef struct part { int32_t node, a, b; } part;
typedef struct state { int32_t key, n, count, rule, next; uint8_t accepts, live; } state;   /* keys [key, key + n) */
typedef struct edge { int32_t from, to, lo, hi; } edge;

typedef struct meeting {
    tl_lang *l;
    const tl_lang_must *must;
    int n_must, min, max, count_max;
    part *part; size_t n_parts, parts_cap;
    int32_t start[64];                          /* of each language */
    state *state; size_t n_states, states_cap;
    int32_t *key; size_t n_keys, keys_cap;      /* parts of each language in order, ACCEPT behind each language's */
    edge *edge; size_t n_edges, edges_cap;
    int32_t *cut; size_t n_cuts, cuts_cap;      /* where the characters of a state's parts begin and end */
    int32_t *seen; int32_t round;               /* [n_parts] */
    int32_t *todo;                              /* [n_parts + 1] */
    int32_t slot[MOST_STATES * 4];              /* state + 1 by hash of its key */
} meeting;

/* ---- the parts of a language ---- */

static int add_part(meeting *m, int32_t node, int32_t a, int32_t b) {
    tl_lang_work(m->l, 1);
    tl_lang_room(m->l, &m->part, m->n_parts, &m->parts_cap, sizeof *m->part, MOST_PARTS);
    m->part[m->n_parts] = (part){node, a, b};
    return (int)m->n_parts++;
}

/* Where a language begins, made from its end: next is what follows it. */
static int make(meeting *m, int a, int next) {
    for (;;) {
        const tl_lang_node n = m->l->node[a];
        switch (n.kind) {
        case TL_LANG_CHAR: return add_part(m, a, next, -1);
        case TL_LANG_TEXT:
            for (int32_t i = n.b; i > 0;) {
                int32_t from = i - 1, cp;
                while (((unsigned char)m->l->text.p[n.a + from] & 0xC0) == 0x80) from--;
                tl_utf8_next(m->l->text.p + n.a + from, (size_t)(i - from), &cp);
                next = add_part(m, tl_lang_chars(m->l, &(tl_span){cp, cp}, 1), next, -1);
                i = from;
            }
            return next;
        case TL_LANG_SEQ:
            next = make(m, n.b, next);
            a = n.a;
            continue;
        case TL_LANG_ALT: {
            int all = -1;
            for (; m->l->node[a].kind == TL_LANG_ALT; a = m->l->node[a].a) {
                int one = make(m, m->l->node[a].b, next);
                all = all < 0 ? one : add_part(m, -1, one, all);
            }
            return add_part(m, -1, make(m, a, next), all);
        }
        case TL_LANG_REPEAT: {
            int at = next;
            if (n.max < 0) {
                at = add_part(m, -1, next, next);
                int body = make(m, n.a, at);
                m->part[at].a = body;
            }
            for (int i = n.min; i < n.max; i++) at = add_part(m, -1, make(m, n.a, at), next);
            for (int i = 0; i < n.min; i++) at = make(m, n.a, at);
            return at;
        }
        case TL_LANG_EMPTY: return next;
        default: return add_part(m, tl_lang_nothing(m->l), 0, -1);   /* no text */
        }
    }
}

/* ---- sets of parts ---- */

static void put_key(meeting *m, int32_t v) {
    tl_lang_room(m->l, &m->key, m->n_keys, &m->keys_cap, sizeof *m->key, (size_t)1 << 23);
    m->key[m->n_keys++] = v;
}

/* Adds the parts that read and are reached from at without reading. */
static void reach(meeting *m, int32_t at) {
    int n = 0;
    m->todo[n++] = at;
    while (n) {
        at = m->todo[--n];
        if (m->seen[at] == m->round) continue;
        m->seen[at] = m->round;
        tl_lang_work(m->l, 1);
        const part *p = &m->part[at];
        if (at == 0 || p->node >= 0) put_key(m, at);
        else m->todo[n++] = p->a, m->todo[n++] = p->b;
    }
}

static int by_value(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static void end_language(meeting *m, size_t first) {
    if (m->n_keys > first) qsort(m->key + first, m->n_keys - first, sizeof *m->key, by_value);
    put_key(m, ACCEPT);
}

/* Whether the state with these keys may be one where a text ends; -1: no text can come of it. */
static int accepts(const meeting *m, size_t key, int count) {
    int all = count >= m->min;
    for (int i = 0; i < m->n_must; i++) {
        size_t first = key;
        int in = m->key[key] == 0;   /* state 0 is the smallest */
        while (m->key[key] != ACCEPT) key++;
        if (key == first && !m->must[i].not) return -1;
        if (in == m->must[i].not) all = 0;
        key++;
    }
    return all;
}

/* The state whose keys were put at key and behind; they are taken away again if it is known. -1: a dead end. */
static int find_state(meeting *m, size_t key, int count) {
    size_t n = m->n_keys - key;
    int ends = accepts(m, key, count);
    uint32_t h = 2166136261u ^ (uint32_t)count;
    for (size_t i = 0; i < n; i++) h = (h ^ (uint32_t)m->key[key + i]) * 16777619u;
    tl_lang_work(m->l, (int64_t)n);
    uint32_t at = (h ^ h >> 15) % (MOST_STATES * 4);
    for (; ends >= 0 && m->slot[at]; at = (at + 1) % (MOST_STATES * 4)) {
        const state *s = &m->state[m->slot[at] - 1];
        if (s->count != count || (size_t)s->n != n || memcmp(m->key + s->key, m->key + key, n * sizeof *m->key) != 0) continue;
        m->n_keys = key;
        return m->slot[at] - 1;
    }
    if (ends < 0) {
        m->n_keys = key;
        return -1;
    }
    if (m->n_states == MOST_STATES)
        tl_lang_fail(m->l, TL_E_UNSUPPORTED, "too complex together with what else is asked of this text; make it simpler or its bounds smaller");
    tl_lang_room(m->l, &m->state, m->n_states, &m->states_cap, sizeof *m->state, MOST_STATES + 1);
    m->state[m->n_states] = (state){.key = (int32_t)key, .n = (int32_t)n, .count = count, .rule = -1, .accepts = (uint8_t)ends};
    m->slot[at] = (int)++m->n_states;
    return (int)m->n_states - 1;
}

static int reads(const meeting *m, const part *p, int32_t c) {
    const tl_lang_node *n = &m->l->node[p->node];
    for (int i = 0; n->kind == TL_LANG_CHAR && i < n->b; i++)
        if (m->l->span[n->a + i].lo <= c && c <= m->l->span[n->a + i].hi) return 1;
    return 0;
}

/* The state behind character c in state s; -1: none. */
static int step(meeting *m, int s, int32_t c) {
    const size_t key = m->n_keys, from = (size_t)m->state[s].key;
    int count = m->state[s].count < m->count_max ? m->state[s].count + 1 : m->state[s].count;
    if (m->max >= 0 && m->state[s].count == m->max) return -1;
    size_t at = from;
    for (int i = 0; i < m->n_must; i++, at++) {
        size_t first = m->n_keys;
        m->round++;
        for (; m->key[at] != ACCEPT; at++) {
            const part p = m->part[m->key[at]];
            tl_lang_work(m->l, 1);
            if (m->key[at] && reads(m, &p, c)) reach(m, p.a);
        }
        end_language(m, first);
    }
    return find_state(m, key, count);
}

static int first_state(meeting *m) {
    size_t key = m->n_keys;
    for (int i = 0; i < m->n_must; i++) {
        size_t first = m->n_keys;
        m->round++;
        reach(m, m->start[i]);
        end_language(m, first);
    }
    return find_state(m, key, 0);
}

/* ---- all states ---- */

static void put_cut(meeting *m, int32_t c) {
    tl_lang_room(m->l, &m->cut, m->n_cuts, &m->cuts_cap, sizeof *m->cut, TL_LANG_NODES);
    m->cut[m->n_cuts++] = c;
}

static void explore(meeting *m, int s) {
    m->n_cuts = 0;
    put_cut(m, 0), put_cut(m, 0xD800), put_cut(m, 0xE000);
    for (int i = 0; i < m->state[s].n; i++) {
        int32_t at = m->key[m->state[s].key + i];
        if (at <= 0) continue;
        const tl_lang_node n = m->l->node[m->part[at].node];
        for (int k = 0; n.kind == TL_LANG_CHAR && k < n.b; k++)
            put_cut(m, m->l->span[n.a + k].lo), put_cut(m, m->l->span[n.a + k].hi + 1);
    }
    tl_lang_work(m->l, (int64_t)m->n_cuts);
    qsort(m->cut, m->n_cuts, sizeof *m->cut, by_value);
    put_cut(m, 0x110000);
    for (size_t i = 0; i + 1 < m->n_cuts; i++) {
        int32_t lo = m->cut[i], hi = m->cut[i + 1] - 1;
        if (lo > hi || lo == 0xD800) continue;
        int to = step(m, s, lo);
        if (to < 0) continue;
        edge *last = m->n_edges ? &m->edge[m->n_edges - 1] : NULL;
        if (last && last->from == s && last->to == to && last->hi + 1 == lo) {
            last->hi = hi;
            continue;
        }
        tl_lang_room(m->l, &m->edge, m->n_edges, &m->edges_cap, sizeof *m->edge, TL_LANG_NODES);
        m->edge[m->n_edges++] = (edge){s, to, lo, hi};
    }
}

/* Edges lie in the order of their states: from the last one on, so that most news need one round. */
static void find_live(meeting *m) {
    for (size_t i = 0; i < m->n_states; i++) m->state[i].live = m->state[i].accepts;
    for (int news = 1; news;) {
        news = 0;
        tl_lang_work(m->l, (int64_t)m->n_edges);
        for (size_t i = m->n_edges; i-- > 0;) {
            state *from = &m->state[m->edge[i].from];
            if (!from->live && m->state[m->edge[i].to].live) from->live = 1, news = 1;
        }
    }
}

static int by_target(const void *a, const void *b) {
    const edge *p = a, *q = b;
    if (p->from != q->from) return p->from < q->from ? -1 : 1;
    if (p->to != q->to) return p->to < q->to ? -1 : 1;
    return p->lo < q->lo ? -1 : p->lo > q->lo;
}

static void write_rules(meeting *m) {
    tl_lang *l = m->l;
    if (m->n_edges) qsort(m->edge, m->n_edges, sizeof *m->edge, by_target);
    for (size_t i = 0; i < m->n_states; i++)
        if (m->state[i].live) m->state[i].rule = tl_lang_new_rule(l), l->rule[m->state[i].rule].some = 1;
    size_t e = 0;
    for (size_t i = 0; i < m->n_states; i++) {
        int all = m->state[i].accepts ? tl_lang_empty(l) : tl_lang_nothing(l);
        while (e < m->n_edges && m->edge[e].from == (int)i) {
            tl_span s[256];
            int n = 0;
            const int to = m->edge[e].to;
            for (; e < m->n_edges && m->edge[e].from == (int)i && m->edge[e].to == to && n < 256; e++)
                s[n++] = (tl_span){m->edge[e].lo, m->edge[e].hi};
            if (!m->state[to].live) continue;
            int chars = tl_lang_json(l, tl_lang_chars(l, s, n));
            all = tl_lang_alt(l, all, tl_lang_seq(l, chars, tl_lang_call(l, m->state[to].rule)));
        }
        if (m->state[i].live) tl_lang_define(l, m->state[i].rule, all);
    }
}

/* ---- the interface ---- */

static meeting *begin(tl_lang *l, const tl_lang_must *must, int n, int min, int max) {
    meeting *m = tl_alloc_n(1, sizeof *m, "a grammar", l->err);
    if (!m) longjmp(l->fault, 1);
    l->meeting = m;
    m->l = l;
    m->must = must, m->n_must = n;
    m->min = min, m->max = max, m->count_max = max >= 0 ? max : min;
    if (n > 64) tl_lang_fail(l, TL_E_UNSUPPORTED, "more is asked of this text than tinyllm can enforce together");
    add_part(m, tl_lang_nothing(l), 0, -1);
    for (int i = 0; i < n; i++) m->start[i] = make(m, must[i].lang, 0);
    m->seen = tl_alloc_n(m->n_parts, sizeof *m->seen, "a grammar", l->err);
    m->todo = tl_alloc_n(m->n_parts * 2 + 2, sizeof *m->todo, "a grammar", l->err);
    if (!m->seen || !m->todo) longjmp(l->fault, 1);
    return m;
}

void tl_lang_meet_free(struct meeting *m) {
    if (!m) return;
    m->l->meeting = NULL;
    tl_free(m->part);
    tl_free(m->state);
    tl_free(m->key);
    tl_free(m->edge);
    tl_free(m->cut);
    tl_free(m->seen);
    tl_free(m->todo);
    tl_free(m);
}

int tl_lang_meet(tl_lang *l, const tl_lang_must *must, int n, int min, int max) {
    meeting *m = begin(l, must, n, min, max);
    int start = first_state(m);
    for (size_t i = 0; i < m->n_states; i++) explore(m, (int)i);
    find_live(m);
    write_rules(m);
    int call = start >= 0 && m->state[start].live ? tl_lang_call(l, m->state[start].rule) : tl_lang_nothing(l);
    tl_lang_meet_free(m);
    return call;
}

int tl_lang_has(tl_lang *l, const tl_lang_must *must, int n, tl_slice text) {
    meeting *m = begin(l, must, n, 0, -1);
    int s = first_state(m);
    for (size_t i = 0; i < text.n && s >= 0;) {
        int32_t c;
        i += tl_utf8_next(text.p + i, text.n - i, &c);
        s = step(m, s, c);
    }
    int has = s >= 0 && m->state[s].accepts;
    tl_lang_meet_free(m);
    return has;
}
