/* SPDX-License-Identifier: MIT
 *
 * schema_list.c: lists of a schema. */
#include "grammar/schema.h"

enum { MOST_FIRST = 1000 };

/* The schemas of element `index`; behind all prefixItems if index is past them. 0 if there can be none. */
static int element(tl_schema *s, const tl_goal *g, int index, int *value) {
    int32_t all[TL_GOAL_MAX];
    int n = 0;
    for (int i = 0; i < g->n; i++) {
        int first = tl_schema_get(s, g->item[i].node, "prefixItems"), rest = tl_schema_get(s, g->item[i].node, "items");
        int one = first >= 0 && index < s->node[first].n ? s->node[first].first : -1;
        tl_lang_work(s->l, index);
        for (int k = 0; one >= 0 && k < index; k++) one = s->node[one].next;
        if (one < 0) one = rest;
        if (one < 0) continue;
        if (s->node[one].kind == TL_JSON_FALSE) return 0;
        all[n++] = one;
    }
    *value = tl_schema_value(s, all, n);
    return 1;
}

static void check_unique(tl_schema *s, const tl_goal *g, int max) {
    for (int i = 0; i < g->n && (max < 0 || max > 1); i++) {
        int unique = tl_schema_get(s, g->item[i].node, "uniqueItems");
        if (unique < 0 || s->node[unique].kind == TL_JSON_FALSE) continue;
        tl_schema_at(s, unique, NULL);
        tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm cannot enforce this keyword where there may be more than one element");
    }
}

int tl_list_emit(tl_schema *s, const tl_goal *g) {
    tl_lang *l = s->l;
    int min = tl_goal_count(s, g, "minItems", 1, 0), max = tl_goal_count(s, g, "maxItems", 0, -1), n_first = 0, value;
    for (int i = 0; i < g->n; i++) {
        int first = tl_schema_get(s, g->item[i].node, "prefixItems");
        if (first >= 0 && s->node[first].n > n_first) n_first = s->node[first].n;
        if (first >= 0 && s->node[first].n > MOST_FIRST) {
            tl_schema_at(s, first, NULL);
            tl_lang_fail(l, TL_E_UNSUPPORTED, "more than %d schemas", MOST_FIRST);
        }
    }
    if (max >= 0 && n_first > max) n_first = max;
    int rest = element(s, g, n_first, &value) ? value : tl_lang_nothing(l);
    if (max >= 0 && min > max) return tl_lang_nothing(l);
    check_unique(s, g, max);
    int left_min = min > n_first ? min - n_first : 0, left_max = max < 0 ? -1 : max - n_first;
    int all;
    if (n_first) all = tl_lang_repeat(l, tl_lang_seq(l, s->comma, rest), left_min, left_max);
    else {
        int more = tl_lang_repeat(l, tl_lang_seq(l, s->comma, rest), left_min ? left_min - 1 : 0, left_max < 0 ? -1 : left_max ? left_max - 1 : 0);
        all = tl_lang_seq(l, rest, more);
        if (left_max == 0) all = tl_lang_empty(l);
        else if (!left_min) all = tl_lang_repeat(l, all, 0, 1);
    }
    for (int i = n_first - 1; i >= 0; i--) {
        int one = element(s, g, i, &value) ? value : tl_lang_nothing(l);
        all = tl_lang_seq(l, i ? tl_lang_seq(l, s->comma, one) : one, all);
        if (i >= min) all = tl_lang_repeat(l, all, 0, 1);
        if (i % 32 == 31) all = tl_lang_as_rule(l, all);   /* or groups would be too deep */
    }
    return tl_lang_seq(l, tl_lang_seq(l, tl_lang_str(l, "["), all), tl_lang_str(l, "]"));
}
