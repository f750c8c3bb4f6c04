/* SPDX-License-Identifier: MIT
 *
 * schema_goal.c: all schemas that apply to one value, and what they say together. */
#include <string.h>
#include "grammar/grammar.h"
#include "grammar/schema.h"

void tl_goal_add(tl_schema *s, tl_goal *g, int node, int from) {
    tl_schema_check(s, node);
    tl_lang_work(s->l, g->n + 1);
    for (int i = from; i >= 0; i = g->item[i].from)
        if (g->item[i].node == node) {
            tl_schema_at(s, node, NULL);
            tl_lang_fail(s->l, TL_E_UNSUPPORTED, "this schema refers to itself and to nothing else");
        }
    for (int i = 0; i < g->n; i++)
        if (g->item[i].node == node) return;
    if (s->node[node].kind != TL_JSON_DICT) {
        g->never |= s->node[node].kind == TL_JSON_FALSE;
        return;
    }
    if (g->n == TL_GOAL_MAX) {
        tl_schema_at(s, node, NULL);
        tl_lang_fail(s->l, TL_E_UNSUPPORTED, "more than %d schemas apply to the same value", TL_GOAL_MAX);
    }
    int me = g->n++;
    g->item[me] = (tl_goal_item){.node = node, .from = from};
    int ref = tl_schema_get(s, node, "$ref"), all = tl_schema_get(s, node, "allOf");
    if (ref >= 0) {
        tl_schema_at(s, ref, NULL);
        tl_goal_add(s, g, tl_schema_ref(s, ref), me);
    }
    for (int i = all >= 0 ? s->node[all].first : -1; i >= 0; i = s->node[i].next) tl_goal_add(s, g, i, me);
}

/* ---- types and values ---- */

static unsigned type_of(const tl_schema *s, int value) {
    switch (s->node[value].kind) {
    case TL_JSON_NULL: return TL_IS_NULL;
    case TL_JSON_FALSE:
    case TL_JSON_TRUE: return TL_IS_BOOL;
    case TL_JSON_INT: return TL_IS_WHOLE;
    case TL_JSON_FLOAT: return tl_number_whole(s->node[value].text) ? TL_IS_WHOLE : TL_IS_PARTS;
    case TL_JSON_STRING: return TL_IS_STRING;
    case TL_JSON_LIST: return TL_IS_LIST;
    default: return TL_IS_DICT;
    }
}

static unsigned named_types(const tl_schema *s, int type) {
    static const struct { const char *name; unsigned is; } names[] = {
        {"null", TL_IS_NULL}, {"boolean", TL_IS_BOOL}, {"integer", TL_IS_WHOLE}, {"number", TL_IS_NUMBER}, {"string", TL_IS_STRING},
        {"array", TL_IS_LIST}, {"object", TL_IS_DICT}};
    int list = s->node[type].kind == TL_JSON_LIST;
    unsigned all = 0;
    for (int i = list ? s->node[type].first : type; i >= 0; i = list ? s->node[i].next : -1)
        for (int k = 0; k < 7; k++)
            if (tl_slice_is(s->node[i].text, names[k].name)) all |= names[k].is;
    return all;
}

static int schema_of(const tl_goal *g, int i) { return g->item[i].node; }

unsigned tl_goal_types(const tl_schema *s, const tl_goal *g) {
    unsigned types = g->never ? 0 : TL_IS_ANY;
    for (int i = 0; i < g->n; i++) {
        int type = tl_schema_get(s, schema_of(g, i), "type"), only = tl_schema_get(s, schema_of(g, i), "const");
        int list = tl_schema_get(s, schema_of(g, i), "enum");
        if (type >= 0) types &= named_types(s, type);
        if (only >= 0) types &= type_of(s, only);
        unsigned listed = 0;
        for (int k = list >= 0 ? s->node[list].first : -1; k >= 0; k = s->node[k].next) listed |= type_of(s, k);
        if (list >= 0) types &= listed;
    }
    return types;
}

int tl_goal_values(const tl_schema *s, const tl_goal *g) {
    for (int i = 0; i < g->n; i++) {
        int v = tl_schema_get(s, schema_of(g, i), "const");
        if (v < 0) v = tl_schema_get(s, schema_of(g, i), "enum");
        if (v >= 0) return v;
    }
    return -1;
}

static int count_of(tl_schema *s, int node, int refuse) {
    tl_slice t = s->node[node].text;
    char most[12];
    int n = snprintf(most, sizeof most, "%d", TL_LANG_REPEAT_MAX);
    if (tl_number_compare(t, (tl_slice){most, (size_t)n}) > 0) {
        tl_schema_at(s, node, NULL);
        if (refuse) tl_lang_fail(s->l, TL_E_UNSUPPORTED, "larger than %d, the most tinyllm can enforce", TL_LANG_REPEAT_MAX);
        return TL_LANG_REPEAT_MAX;
    }
    int v = 0;   /* at most 10000, maybe written 1e3 or 20.0 */
    while (tl_number_compare(t, (tl_slice){most, (size_t)snprintf(most, sizeof most, "%d", v)}) > 0 && v < TL_LANG_REPEAT_MAX) v++;
    return v;
}

int tl_goal_count(tl_schema *s, const tl_goal *g, const char *keyword, int largest, int none) {
    int best = -1;
    for (int i = 0; i < g->n; i++) {
        int node = tl_schema_get(s, schema_of(g, i), keyword);
        int v = node < 0 ? -1 : count_of(s, node, largest);
        if (v >= 0 && (best < 0 || (largest ? v > best : v < best))) best = v;
    }
    return best < 0 ? none : best;
}

/* ---- whether a value is allowed ---- */

static size_t characters(tl_slice t) {
    size_t n = 0;
    for (size_t i = 0; i < t.n; i++) n += ((unsigned char)t.p[i] & 0xC0) != 0x80;
    return n;
}

static int string_allowed(tl_schema *s, const tl_goal *g, int listed, tl_slice text) {
    tl_lang_must m[TL_GOAL_MAX];
    int n = 0, min = tl_goal_count(s, g, "minLength", 1, 0), max = tl_goal_count(s, g, "maxLength", 0, -1);
    size_t len = characters(text);
    if (len < (size_t)min || (max >= 0 && len > (size_t)max)) return 0;
    tl_string_musts(s, g, listed, m, &n);
    return !n || tl_lang_has(s->l, m, n, text);
}

static int has_value(tl_schema *s, int list, int value) {
    for (int i = s->node[list].first; i >= 0; i = s->node[i].next) {
        tl_lang_work(s->l, 1);
        if (tl_same_value(s, i, value)) return 1;
    }
    return 0;
}

/* Keywords that say something about the elements of lists and dicts. */
static int asks_inside(const tl_schema *s, const tl_goal *g, int dict) {
    static const char *const of_dict[] = {"properties", "required", "additionalProperties", "patternProperties", "propertyNames",
                                          "minProperties", "maxProperties", NULL};
    static const char *const of_list[] = {"items", "prefixItems", "minItems", "maxItems", "uniqueItems", NULL};
    const char *const *names = dict ? of_dict : of_list;
    for (int i = 0; i < g->n; i++)
        for (int k = 0; names[k]; k++)
            if (tl_schema_get(s, schema_of(g, i), names[k]) >= 0) return 1;
    return 0;
}

int tl_goal_allows(tl_schema *s, const tl_goal *g, int value) {
    unsigned type = type_of(s, value);
    if (!(tl_goal_types(s, g) & type)) return 0;
    for (int i = 0; i < g->n; i++) {
        int only = tl_schema_get(s, schema_of(g, i), "const"), list = tl_schema_get(s, schema_of(g, i), "enum");
        if (only >= 0 && !tl_same_value(s, only, value)) return 0;
        if (list >= 0 && !has_value(s, list, value)) return 0;
    }
    if (type == TL_IS_STRING) return string_allowed(s, g, 0, s->node[value].text);
    if (type & TL_IS_NUMBER) return tl_number_allows(s, g, value);
    return (type == TL_IS_DICT || type == TL_IS_LIST) && asks_inside(s, g, type == TL_IS_DICT) ? -1 : 1;
}

/* ---- properties ---- */

static void add_schema(tl_schema *s, int schema, int32_t *to, int *n) {
    for (int i = 0; i < *n; i++)
        if (to[i] == schema) return;
    if (*n == TL_GOAL_MAX) {
        tl_schema_at(s, schema, NULL);
        tl_lang_fail(s->l, TL_E_UNSUPPORTED, "more than %d schemas apply to the same value", TL_GOAL_MAX);
    }
    to[(*n)++] = schema;
}

int tl_goal_names(tl_schema *s, const tl_goal *g, tl_goal *names) {
    *names = (tl_goal){.n = 0};
    for (int i = 0; i < g->n; i++) {
        int schema = tl_schema_get(s, schema_of(g, i), "propertyNames");
        if (schema >= 0) tl_goal_add(s, names, schema, -1);
    }
    for (int i = 0; i < names->n; i++) {
        int any = tl_schema_get(s, schema_of(names, i), "anyOf"), one = tl_schema_get(s, schema_of(names, i), "oneOf");
        if (any < 0 && one < 0) continue;
        tl_schema_at(s, any < 0 ? one : any, NULL);
        tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm cannot enforce this keyword for names; write a pattern");
    }
    return (tl_goal_types(s, names) & TL_IS_STRING) != 0;
}

static int name_allowed(tl_schema *s, const tl_goal *g, tl_slice name) {
    tl_goal names;
    return tl_goal_names(s, g, &names) && string_allowed(s, &names, 1, name);
}

int tl_goal_property(tl_schema *s, const tl_goal *g, tl_slice name, int32_t *to, int *n) {
    *n = 0;
    for (int i = 0; i < g->n; i++) {
        int known = 0, more = tl_schema_get(s, schema_of(g, i), "additionalProperties");
        int one = tl_schema_find(s, tl_schema_get(s, schema_of(g, i), "properties"), name);
        int patterns = tl_schema_get(s, schema_of(g, i), "patternProperties");
        if (one >= 0) add_schema(s, one, to, n), known = 1;
        for (int k = patterns >= 0 ? s->node[patterns].first : -1; k >= 0; k = s->node[k].next) {
            tl_schema_at(s, k, NULL);
            for (int wide = 1; wide >= 0; wide--) {   /* where engines differ, both ways must be right */
                tl_lang_must m = {tl_regex_search(s->l, s->node[k].key, wide), 0};
                if (!tl_lang_has(s->l, &m, 1, name)) break;
                if (wide) add_schema(s, k, to, n);
                else known = 1;
            }
        }
        if (!known && more >= 0) add_schema(s, more, to, n);
    }
    for (int i = 0; i < *n; i++)
        if (s->node[to[i]].kind == TL_JSON_FALSE) return 0;
    return name_allowed(s, g, name);
}

int tl_goal_required(const tl_schema *s, const tl_goal *g, tl_slice name) {
    for (int i = 0; i < g->n; i++) {
        int list = tl_schema_get(s, schema_of(g, i), "required");
        for (int k = list >= 0 ? s->node[list].first : -1; k >= 0; k = s->node[k].next)
            if (s->node[k].text.n == name.n && memcmp(s->node[k].text.p, name.p, name.n) == 0) return 1;
    }
    return 0;
}

/* ---- goals that exclude each other ---- */

/* Whether one goal demands a property that the other forbids, or both demand it with values that differ. */
static int property_differs(tl_schema *s, const tl_goal *a, const tl_goal *b, tl_slice name, int depth) {
    int32_t of_a[TL_GOAL_MAX], of_b[TL_GOAL_MAX];
    int n_a, n_b;
    int can_a = tl_goal_property(s, a, name, of_a, &n_a), can_b = tl_goal_property(s, b, name, of_b, &n_b);
    int must_a = tl_goal_required(s, a, name), must_b = tl_goal_required(s, b, name);
    if ((must_a && !can_b) || (must_b && !can_a)) return 1;
    if (!must_a || !must_b) return 0;
    tl_goal x = {.n = 0}, y = {.n = 0};
    for (int i = 0; i < n_a; i++) tl_goal_add(s, &x, of_a[i], -1);
    for (int i = 0; i < n_b; i++) tl_goal_add(s, &y, of_b[i], -1);
    return tl_goals_differ(s, &x, &y, depth - 1);
}

static int dicts_differ(tl_schema *s, const tl_goal *a, const tl_goal *b, int depth) {
    for (int side = 0; side < 2 && depth > 0; side++) {
        const tl_goal *g = side ? b : a;
        for (int i = 0; i < g->n; i++) {
            int list = tl_schema_get(s, schema_of(g, i), "required");
            for (int k = list >= 0 ? s->node[list].first : -1; k >= 0; k = s->node[k].next)
                if (property_differs(s, a, b, s->node[k].text, depth)) return 1;
        }
    }
    return 0;
}

/* Whether no value in the list of a is allowed by a and b; is_const: the list is one value. */
static int values_differ(tl_schema *s, const tl_goal *a, const tl_goal *b, int list) {
    int one = tl_slice_is(s->node[list].key, "const");
    for (int i = one ? list : s->node[list].first; i >= 0; i = one ? -1 : s->node[i].next)
        if (tl_goal_allows(s, a, i) != 0 && tl_goal_allows(s, b, i) != 0) return 0;
    return 1;
}

int tl_goals_differ(tl_schema *s, const tl_goal *a, const tl_goal *b, int depth) {
    unsigned types = tl_goal_types(s, a) & tl_goal_types(s, b);
    int of_a = tl_goal_values(s, a), of_b = tl_goal_values(s, b);
    tl_lang_work(s->l, a->n + b->n);
    if (!types) return 1;
    if (of_a >= 0 && values_differ(s, a, b, of_a)) return 1;
    if (of_b >= 0 && values_differ(s, b, a, of_b)) return 1;
    if (types & (TL_IS_NULL | TL_IS_BOOL | TL_IS_STRING | TL_IS_LIST)) return 0;
    if (types & TL_IS_NUMBER && !tl_number_differ(s, a, b)) return 0;
    return !(types & TL_IS_DICT) || dicts_differ(s, a, b, depth);
}
