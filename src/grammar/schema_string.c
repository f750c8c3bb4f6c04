/* SPDX-License-Identifier: MIT
 *
 * schema_string.c: strings of a schema: patterns, formats, lengths. */
#include <string.h>
#include "grammar/schema.h"

/* Formats as patterns that hold only what the format's definition allows, with bounded lengths: RFC 3339 (dates and
 * times; no leap seconds), RFC 4122, RFC 5321, RFC 1123, RFC 3986, RFC 4291. */
#define DD "(?:0[1-9]|1\\d|2[0-8])"
#define DATE "(?:(?:000[1-9]|00[1-9]\\d|0[1-9]\\d\\d|[1-9]\\d{3})-(?:" \
    "(?:0[1-9]|1[0-2])-" DD "|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)|" \
    "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29)"
#define TIME "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)"
#define LABEL "[A-Za-z0-9]{1,18}(?:-[A-Za-z0-9]{1,18}){0,2}"
#define HOST LABEL "(?:\\." LABEL "){0,3}"
#define BYTE "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define IPV4 BYTE "(?:\\." BYTE "){3}"
#define H "[0-9a-fA-F]{1,4}"
#define IPV6 "(?:" H "(?::" H "){7}|" H "(?::" H "){0,2}::" H "(?::" H "){0,2}|::" H "(?::" H "){0,5}|" H "(?::" H "){0,5}::|::|" \
    "::ffff:" IPV4 ")"
#define PCHAR "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
#define WORD "[A-Za-z0-9_+]{1,20}"
#define HEX(n) "[0-9a-fA-F]{" #n "}"

static const struct { const char *name, *pattern; } formats[] = {
    {"date", "^" DATE "$"},
    {"time", "^" TIME "$"},
    {"date-time", "^" DATE "T" TIME "$"},
    {"duration", "^P(?:\\d{1,4}W|(?:\\d{1,4}Y(?:\\d{1,4}M(?:\\d{1,4}D)?)?|\\d{1,4}M(?:\\d{1,4}D)?|\\d{1,4}D)(?:T\\d{1,4}H(?:\\d{1,4}M)?)?|"
        "T(?:\\d{1,4}H(?:\\d{1,4}M(?:\\d{1,4}S)?)?|\\d{1,4}M(?:\\d{1,4}S)?|\\d{1,4}S))$"},
    {"uuid", "^" HEX(8) "-" HEX(4) "-" HEX(4) "-" HEX(4) "-" HEX(12) "$"},
    {"email", "^" WORD "(?:[.-]" WORD "){0,2}@" HOST "$"},
    {"ipv4", "^" IPV4 "$"},
    {"ipv6", "^" IPV6 "$"},
    {"hostname", "^" HOST "$"},
    {"uri", "^[A-Za-z][A-Za-z0-9+.-]{0,15}:(?://" HOST "(?::\\d{1,4})?(?:/" PCHAR "{0,64}){0,16}|" PCHAR "{1,64}(?:/" PCHAR "{0,64}){0,16})"
        "(?:\\?" PCHAR "{0,256})?(?:#" PCHAR "{0,64})?$"}};

static const char *pattern_of(const tl_schema *s, int node) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (tl_slice_is(s->node[node].text, formats[i].name)) return formats[i].pattern;
    return NULL;
}

void tl_string_format(tl_schema *s, int node) {
    tl_slice t = s->node[node].text;
    if (!pattern_of(s, node))
        tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm cannot enforce the format \"%.*s\"", (int)(t.n < 40 ? t.n : 40), t.p);
}

void tl_must_add(tl_schema *s, tl_lang_must *m, int *n, int lang, int not) {
    if (*n == TL_GOAL_MAX) tl_lang_fail(s->l, TL_E_UNSUPPORTED, "more is asked of this text than tinyllm can enforce together");
    m[(*n)++] = (tl_lang_must){lang, not};
}

/* The strings among values, or the one string that only is. */
static int texts(tl_schema *s, int values, int only) {
    int all = tl_lang_nothing(s->l);
    for (int i = only ? values : s->node[values].first; i >= 0; i = only ? -1 : s->node[i].next)
        if (s->node[i].kind == TL_JSON_STRING) all = tl_lang_alt(s->l, all, tl_lang_text(s->l, s->node[i].text.p, s->node[i].text.n));
    return all;
}

void tl_string_musts(tl_schema *s, const tl_goal *g, int listed, tl_lang_must *m, int *n) {
    for (int i = 0; i < g->n; i++) {
        int schema = g->item[i].node;
        int pattern = tl_schema_get(s, schema, "pattern"), format = tl_schema_get(s, schema, "format");
        int values = tl_schema_get(s, schema, "enum"), only = tl_schema_get(s, schema, "const");
        tl_schema_at(s, schema, pattern >= 0 ? "pattern" : format >= 0 ? "format" : NULL);
        if (pattern >= 0) tl_must_add(s, m, n, tl_regex_search(s->l, s->node[pattern].text, 0), 0);
        if (format >= 0) {
            const char *text = pattern_of(s, format);
            tl_must_add(s, m, n, tl_regex_search(s->l, (tl_slice){text, strlen(text)}, 0), 0);
        }
        if (listed && values >= 0) tl_must_add(s, m, n, texts(s, values, 0), 0);
        if (listed && only >= 0) tl_must_add(s, m, n, texts(s, only, 1), 0);
    }
}

int tl_string_emit(tl_schema *s, const tl_goal *g, tl_lang_must *m, int n) {
    tl_lang *l = s->l;
    int min = tl_goal_count(s, g, "minLength", 1, 0), max = tl_goal_count(s, g, "maxLength", 0, -1), text;
    if (max >= 0 && min > max) return tl_lang_nothing(l);
    if (g->n) tl_schema_at(s, g->item[0].node, NULL);
    if (n == 0) text = tl_lang_repeat(l, tl_lang_json(l, tl_lang_any(l)), min, max);
    else if (n == 1 && !m[0].not && min == 0 && max < 0) text = tl_lang_json(l, m[0].lang);
    else text = tl_lang_meet(l, m, n, min, max);
    return tl_lang_seq(l, tl_lang_seq(l, s->quote, text), s->quote);
}
