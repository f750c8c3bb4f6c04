/* SPDX-License-Identifier: MIT
 *
 * schema_dict.c: objects of a schema: the listed properties in their order, then, where the schema speaks of them, others. */
#include <string.h>
#include "grammar/schema.h"

typedef struct property { tl_slice name; int member; uint8_t required; } property;   /* member: "name": value */

typedef struct dict {
    tl_schema *s;
    const tl_goal *g;
    property *p; int n;
    int n_required;
    int more;               /* a member beyond the listed ones; NOTHING: there are none */
    int min, max;
} dict;

/* ---- listed properties ---- */

static void add_property(dict *d, tl_slice name) {
    tl_lang *l = d->s->l;
    tl_lang_work(l, d->n);
    for (int i = 0; i < d->n; i++)
        if (d->p[i].name.n == name.n && memcmp(d->p[i].name.p, name.p, name.n) == 0) return;
    int32_t schemas[TL_GOAL_MAX];
    int n, can = tl_goal_property(d->s, d->g, name, schemas, &n), required = tl_goal_required(d->s, d->g, name);
    int member = tl_lang_nothing(l);
    if (can) {
        member = tl_lang_seq(l, tl_schema_quoted(d->s, name), d->s->colon);
        member = tl_lang_seq(l, member, tl_schema_value(d->s, schemas, n));
    }
    d->n_required += required;
    d->p[d->n++] = (property){name, member, (uint8_t)required};
}

static void add_properties(dict *d) {
    const tl_schema *s = d->s;
    size_t most = 0;
    for (int round = 0; round < 2; round++) {
        if (round) d->p = tl_lang_memory(s->l, most, sizeof *d->p);
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < d->g->n; i++) {
                int list = tl_schema_get(s, d->g->item[i].node, k ? "required" : "properties");
                if (list >= 0) most += (size_t)s->node[list].n;
                for (int e = round && list >= 0 ? s->node[list].first : -1; e >= 0; e = s->node[e].next) {
                    tl_lang_work(s->l, s->node[list].n);
                    add_property(d, k ? s->node[e].text : s->node[e].key);
                }
            }
    }
}

/* ---- others ---- */

/* Members whose names match the pattern `mine` (a member of patternProperties of item `owner`) and no other one; mine -1: none. */
static int others(dict *d, tl_goal *names, int mine, int owner) {
    tl_schema *s = d->s;
    tl_lang *l = s->l;
    tl_lang_must m[TL_GOAL_MAX];
    int32_t schemas[TL_GOAL_MAX];
    int n = 0, n_schemas = 0, listed = tl_lang_nothing(l);
    if (mine >= 0) schemas[n_schemas++] = mine;
    for (int i = 0; i < d->g->n; i++) {
        int patterns = tl_schema_get(s, d->g->item[i].node, "patternProperties");
        int more = tl_schema_get(s, d->g->item[i].node, "additionalProperties");
        for (int k = patterns >= 0 ? s->node[patterns].first : -1; k >= 0; k = s->node[k].next) {
            tl_schema_at(s, k, NULL);
            tl_must_add(s, m, &n, tl_regex_search(l, s->node[k].key, k != mine), k != mine);
        }
        if (i == owner || more < 0) continue;
        if (s->node[more].kind == TL_JSON_FALSE || n_schemas == TL_GOAL_MAX) return tl_lang_nothing(l);
        schemas[n_schemas++] = more;
    }
    for (int i = 0; i < d->n; i++) listed = tl_lang_alt(l, listed, tl_lang_text(l, d->p[i].name.p, d->p[i].name.n));
    if (d->n) tl_must_add(s, m, &n, listed, 1);
    tl_string_musts(s, names, 1, m, &n);
    int name = tl_lang_as_rule(l, tl_string_emit(s, names, m, n));
    return tl_lang_seq(l, tl_lang_seq(l, name, s->colon), tl_schema_value(s, schemas, n_schemas));
}

static void add_others(dict *d) {
    tl_schema *s = d->s;
    tl_goal names;
    int spoken = d->n == 0, all = tl_lang_nothing(s->l);
    d->more = all;
    if (!tl_goal_names(s, d->g, &names)) return;
    for (int i = 0; i < d->g->n; i++) {
        int patterns = tl_schema_get(s, d->g->item[i].node, "patternProperties");
        for (int k = patterns >= 0 ? s->node[patterns].first : -1; k >= 0; k = s->node[k].next) {
            if (s->node[k].kind != TL_JSON_FALSE) all = tl_lang_alt(s->l, all, others(d, &names, k, i));
            spoken = 0;
        }
    }
    for (int i = 0; i < d->g->n; i++) spoken |= tl_schema_get(s, d->g->item[i].node, "additionalProperties") >= 0;
    if (spoken) all = tl_lang_alt(s->l, all, others(d, &names, -1, -1));
    d->more = tl_lang_as_rule(s->l, all);
}

/* ---- order and number ---- */

/* Bounds that hold anyway are dropped. Names of others may repeat, so that more than one of them cannot be counted. */
static void settle_bounds(dict *d) {
    tl_schema *s = d->s;
    int has_more = s->l->node[d->more].kind != TL_LANG_NOTHING;
    d->min = tl_goal_count(s, d->g, "minProperties", 1, 0);
    d->max = tl_goal_count(s, d->g, "maxProperties", 0, -1);
    if (has_more && d->min > d->n_required + 1) {
        if (d->min > d->n) {
            for (int i = 0; i < d->g->n; i++) {
                int node = tl_schema_get(s, d->g->item[i].node, "minProperties");
                if (node >= 0) tl_schema_at(s, node, NULL);
            }
            tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm can enforce at most %d here; list properties or require them", d->n_required + 1);
        }
        d->more = tl_lang_nothing(s->l);
        has_more = 0;
    }
    if (!has_more && d->max >= d->n) d->max = -1;
    if (d->min <= d->n_required) d->min = 0;
}

/* Others behind c members. */
static int tail(const dict *d, int c) {
    tl_lang *l = d->s->l;
    int more = tl_lang_seq(l, d->s->comma, d->more), left = d->max < 0 ? -1 : d->max - c;
    int min = d->min > c ? d->min - c : 0;
    if (c) return tl_lang_repeat(l, more, min, left);
    int all = tl_lang_nothing(l);
    if (left) all = tl_lang_seq(l, d->more, tl_lang_repeat(l, more, min ? min - 1 : 0, left < 0 ? -1 : left - 1));
    return min ? all : tl_lang_alt(l, all, tl_lang_empty(l));
}

/* What follows where c of the properties before i are written; next[c]: where those before i + 1 are. */
static int from_property(const dict *d, int i, int c, int cap, const int *next) {
    tl_lang *l = d->s->l;
    int member = c ? tl_lang_seq(l, d->s->comma, d->p[i].member) : d->p[i].member;
    int full = d->max >= 0 && c == d->max;
    if (d->p[i].required) return full ? tl_lang_nothing(l) : tl_lang_seq(l, member, next[c < cap ? c + 1 : cap]);
    if (full) return next[c];
    if (c == cap) return tl_lang_seq(l, tl_lang_repeat(l, member, 0, 1), next[c]);
    return tl_lang_alt(l, tl_lang_seq(l, member, next[c + 1]), next[c]);
}

static int smaller(int a, int b) { return a < b ? a : b; }

int tl_dict_emit(tl_schema *s, const tl_goal *g) {
    tl_lang *l = s->l;
    dict d = {.s = s, .g = g};
    add_properties(&d);
    add_others(&d);
    settle_bounds(&d);
    if (d.max >= 0 && d.min > d.max) return tl_lang_nothing(l);
    /* More members than cap need not be told apart. */
    const int cap = d.max >= 0 ? d.max : d.min > 1 ? d.min : 1;
    int *next = tl_lang_memory(l, (size_t)cap + 1, sizeof *next), *now = tl_lang_memory(l, (size_t)cap + 1, sizeof *now);
    int before = d.n_required;   /* required properties before i */
    for (int c = smaller(before, cap); c <= smaller(d.n, cap); c++) next[c] = tail(&d, c);
    for (int i = d.n - 1; i >= 0; i--) {
        before -= d.p[i].required;
        int lo = smaller(before, cap), hi = smaller(i, cap);
        /* What is used twice is written once; long rows are cut. */
        int shared = lo < hi || i % 64 == 63;
        if (shared)
            for (int c = smaller(before + d.p[i].required, cap); c <= smaller(i + 1, cap); c++) next[c] = tl_lang_as_rule(l, next[c]);
        tl_lang_work(l, hi - lo + 1);
        for (int c = lo; c <= hi; c++) now[c] = from_property(&d, i, c, cap, next);
        memcpy(next, now, ((size_t)cap + 1) * sizeof *next);
    }
    return tl_lang_seq(l, tl_lang_seq(l, tl_lang_str(l, "{"), next[0]), tl_lang_str(l, "}"));
}
