/* SPDX-License-Identifier: MIT
 *
 * schema.c: JSON Schema (2020-12) becomes GBNF, of JSON with at most one blank behind "," and ":" and none elsewhere.
 * Every text of the grammar validates; not every valid text is one of the grammar. Each goal that a value inside
 * another one has becomes a rule, once; a list of jobs takes the place of recursion. */
#include <string.h>
#include "grammar/grammar.h"
#include "grammar/schema.h"

enum { SLOTS = 1 << 17, MOST_CHOICES = 20 };

/* ---- values as they stand ---- */

int tl_schema_quoted(tl_schema *s, tl_slice text) {
    int inside = tl_lang_json(s->l, tl_lang_text(s->l, text.p, text.n));
    return tl_lang_seq(s->l, tl_lang_seq(s->l, s->quote, inside), s->quote);
}

static int literal(tl_schema *s, int value) {
    tl_lang *l = s->l;
    const tl_value_node v = s->node[value];
    if (v.kind == TL_JSON_STRING) return tl_schema_quoted(s, v.text);
    if (v.kind != TL_JSON_LIST && v.kind != TL_JSON_DICT) return tl_lang_text(l, v.text.p, v.text.n);
    int dict = v.kind == TL_JSON_DICT, all = tl_lang_str(l, dict ? "{" : "[");
    for (int i = v.first; i >= 0; i = s->node[i].next) {
        if (i != v.first) all = tl_lang_seq(l, all, s->comma);
        if (dict) all = tl_lang_seq(l, tl_lang_seq(l, all, tl_schema_quoted(s, s->node[i].key)), s->colon);
        all = tl_lang_seq(l, all, literal(s, i));
    }
    return tl_lang_seq(l, all, tl_lang_str(l, dict ? "}" : "]"));
}

/* The values of enum or const that everything else allows. */
static int listed_values(tl_schema *s, const tl_goal *g, int list) {
    int one = tl_slice_is(s->node[list].key, "const"), all = tl_lang_nothing(s->l);
    for (int i = one ? list : s->node[list].first; i >= 0; i = one ? -1 : s->node[i].next) {
        int allowed = tl_goal_allows(s, g, i);
        if (allowed < 0) {
            tl_schema_at(s, i, NULL);
            tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm cannot tell whether the keywords beside it allow this value");
        }
        if (allowed) all = tl_lang_alt(s->l, all, literal(s, i));
    }
    return all;
}

/* ---- goals ---- */

/* A schema that says nothing of types but something of one of them means that one. */
static unsigned meant_types(const tl_schema *s, const tl_goal *g, unsigned types) {
    static const struct { const char *name; unsigned is; } about[] = {
        {"properties", TL_IS_DICT}, {"required", TL_IS_DICT}, {"additionalProperties", TL_IS_DICT}, {"patternProperties", TL_IS_DICT},
        {"propertyNames", TL_IS_DICT}, {"minProperties", TL_IS_DICT}, {"maxProperties", TL_IS_DICT}, {"items", TL_IS_LIST},
        {"prefixItems", TL_IS_LIST}, {"minItems", TL_IS_LIST}, {"maxItems", TL_IS_LIST}, {"uniqueItems", TL_IS_LIST},
        {"pattern", TL_IS_STRING}, {"format", TL_IS_STRING}, {"minLength", TL_IS_STRING}, {"maxLength", TL_IS_STRING},
        {"minimum", TL_IS_NUMBER}, {"maximum", TL_IS_NUMBER}, {"exclusiveMinimum", TL_IS_NUMBER}, {"exclusiveMaximum", TL_IS_NUMBER},
        {"multipleOf", TL_IS_NUMBER}};
    unsigned meant = 0;
    for (int i = 0; i < g->n; i++) {
        if (tl_schema_get(s, g->item[i].node, "type") >= 0) return types;
        for (size_t k = 0; k < sizeof about / sizeof *about; k++)
            if (tl_schema_get(s, g->item[i].node, about[k].name) >= 0) meant |= about[k].is;
    }
    int one = meant == TL_IS_DICT || meant == TL_IS_LIST || meant == TL_IS_STRING || meant == TL_IS_NUMBER;
    return one ? types & meant : types;
}

static int one_goal(tl_schema *s, const tl_goal *g) {
    tl_lang *l = s->l;
    unsigned types = tl_goal_types(s, g);
    int list = tl_goal_values(s, g), all = tl_lang_nothing(l);
    if (!types) return all;
    if (list >= 0) return listed_values(s, g, list);
    types = meant_types(s, g, types);
    if (types & TL_IS_DICT) all = tl_lang_alt(l, all, tl_dict_emit(s, g));
    if (types & TL_IS_LIST) all = tl_lang_alt(l, all, tl_list_emit(s, g));
    if (types & TL_IS_STRING) {
        tl_lang_must m[TL_GOAL_MAX];
        int n = 0;
        tl_string_musts(s, g, 0, m, &n);
        all = tl_lang_alt(l, all, tl_string_emit(s, g, m, n));
    }
    if (types & TL_IS_NUMBER) all = tl_lang_alt(l, all, tl_number_emit(s, g, types));
    if (types & TL_IS_BOOL) all = tl_lang_alt(l, all, tl_lang_alt(l, tl_lang_str(l, "true"), tl_lang_str(l, "false")));
    if (types & TL_IS_NULL) all = tl_lang_alt(l, all, tl_lang_str(l, "null"));
    return all;
}

/* oneOf is anyOf where no value satisfies two. */
static void check_apart(tl_schema *s, const tl_goal *branch, int n, int keyword) {
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            if (!tl_goals_differ(s, &branch[i], &branch[k], 4)) {
                tl_schema_at(s, keyword, NULL);
                tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm cannot prove that schemas %d and %d exclude each other; write anyOf", i, k);
            }
}

static int goal(tl_schema *s, const tl_goal *g);

static int choices(tl_schema *s, const tl_goal *g, int item, int keyword, int one) {
    const int n = s->node[keyword].n;
    tl_goal *branch = tl_lang_memory(s->l, (size_t)n, sizeof *branch);
    int all = tl_lang_nothing(s->l), i = 0;
    for (int b = s->node[keyword].first; b >= 0; b = s->node[b].next, i++) {
        branch[i] = *g;
        *(one ? &branch[i].item[item].one_done : &branch[i].item[item].any_done) = 1;
        tl_goal_add(s, &branch[i], b, item);
    }
    if (one) check_apart(s, branch, n, keyword);
    if (++s->depth > MOST_CHOICES) {
        tl_schema_at(s, keyword, NULL);
        tl_lang_fail(s->l, TL_E_UNSUPPORTED, "more than %d choices apply to the same value", MOST_CHOICES);
    }
    for (i = 0; i < n; i++) all = tl_lang_alt(s->l, all, goal(s, &branch[i]));
    s->depth--;
    return all;
}

static int goal(tl_schema *s, const tl_goal *g) {
    if (g->never) return tl_lang_nothing(s->l);
    for (int i = 0; i < g->n; i++) {
        int any = g->item[i].any_done ? -1 : tl_schema_get(s, g->item[i].node, "anyOf");
        int one = g->item[i].one_done ? -1 : tl_schema_get(s, g->item[i].node, "oneOf");
        if (any >= 0 || one >= 0) return choices(s, g, i, any >= 0 ? any : one, any < 0);
    }
    return one_goal(s, g);
}

/* ---- jobs ---- */

int tl_schema_value(tl_schema *s, const int32_t *schemas, int n) {
    tl_lang *l = s->l;
    uint32_t h = 2166136261u;
    int useful = 0;
    for (int i = 0; i < n; i++) {
        h = (h ^ (uint32_t)schemas[i]) * 16777619u;
        useful |= s->node[schemas[i]].kind != TL_JSON_TRUE;
    }
    if (!useful) return s->any;
    uint32_t at = (h ^ h >> 15) % SLOTS;
    for (; s->job_slot[at]; at = (at + 1) % SLOTS) {
        const tl_schema_job *j = &s->job[s->job_slot[at] - 1];
        tl_lang_work(l, 1);
        if (j->n == n && memcmp(s->goals + j->first, schemas, (size_t)n * sizeof *schemas) == 0) return tl_lang_call(l, j->rule);
    }
    tl_lang_room(l, &s->job, s->n_jobs, &s->jobs_cap, sizeof *s->job, TL_LANG_RULES);
    tl_schema_job job = {.rule = tl_lang_new_rule(l), .first = (int32_t)s->n_goals, .n = n};
    for (int i = 0; i < n; i++) {
        tl_lang_room(l, &s->goals, s->n_goals, &s->goals_cap, sizeof *s->goals, TL_LANG_NODES);
        s->goals[s->n_goals++] = schemas[i];
    }
    s->job[s->n_jobs++] = job;
    s->job_slot[at] = (int32_t)s->n_jobs;
    return tl_lang_call(l, job.rule);
}

static void do_jobs(tl_schema *s) {
    for (size_t i = 0; i < s->n_jobs; i++) {
        tl_goal g = {.n = 0};
        for (int k = 0; k < s->job[i].n; k++) tl_goal_add(s, &g, s->goals[s->job[i].first + k], -1);
        int body = goal(s, &g);
        tl_lang_define(s->l, s->job[i].rule, body);
    }
}

/* Any JSON value. */
static void make_any(tl_schema *s) {
    tl_lang *l = s->l;
    const tl_goal nothing_asked = {.n = 0};
    int rule = tl_lang_new_rule(l), all = tl_lang_str(l, "null");
    s->any = tl_lang_call(l, rule);
    for (unsigned type = TL_IS_BOOL; type <= TL_IS_DICT; type <<= 1) {
        int one = type == TL_IS_BOOL ? tl_lang_alt(l, tl_lang_str(l, "true"), tl_lang_str(l, "false"))
            : type == TL_IS_PARTS ? tl_number_emit(s, &nothing_asked, TL_IS_NUMBER)
            : type == TL_IS_STRING ? tl_string_emit(s, &nothing_asked, NULL, 0)
            : type == TL_IS_LIST ? tl_list_emit(s, &nothing_asked)
            : type == TL_IS_DICT ? tl_dict_emit(s, &nothing_asked) : tl_lang_nothing(l);
        all = tl_lang_alt(l, all, one);
    }
    tl_lang_define(l, rule, all);
}

static void translate(tl_schema *s, const char *json, size_t n, tl_buf *out) {
    tl_lang *l = s->l;
    tl_schema_read(s, json, n);
    int blank = tl_lang_repeat(l, tl_lang_str(l, " "), 0, 1);
    s->comma = tl_lang_as_rule(l, tl_lang_seq(l, tl_lang_str(l, ","), blank));
    s->colon = tl_lang_as_rule(l, tl_lang_seq(l, tl_lang_str(l, ":"), blank));
    s->quote = tl_lang_str(l, "\"");
    s->digit = tl_lang_chars(l, &(tl_span){'0', '9'}, 1);
    s->job_slot = tl_lang_memory(l, SLOTS, sizeof *s->job_slot);
    make_any(s);
    const int32_t root = 0;
    tl_schema_check(s, root);
    int start = tl_schema_value(s, &root, 1);
    do_jobs(s);
    tl_schema_at(s, root, NULL);
    if (!tl_lang_print(l, start, out)) tl_lang_fail(l, TL_E_UNSUPPORTED, "no JSON value of finite length satisfies this schema");
}

int tl_schema_to_gbnf(const char *json, size_t n, tl_buf *out, tl_error *err) {
    tl_error local = {0};
    if (!json || !out) return tl_null(err, json ? "out" : "json");
    tl_lang *l = tl_alloc_n(1, sizeof *l, "a grammar", err);
    tl_schema *s = l ? tl_alloc_n(1, sizeof *s, "a grammar", err) : NULL;
    if (!s) {
        tl_free(l);
        return TL_E_MEMORY;
    }
    const size_t was = out->n;
    s->l = l;
    l->err = err ? err : &local;
    const int bad = setjmp(l->fault) != 0;
    if (!bad) translate(s, json, n, out);
    const int rc = bad ? l->err->code : TL_OK;
    if (bad) out->n = was;
    tl_free(s->node);
    tl_free(s->goals);
    tl_free(s->job);
    tl_lang_free(l);
    tl_free(l);
    tl_free(s);
    return rc;
}
