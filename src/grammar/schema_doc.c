/* SPDX-License-Identifier: MIT
 *
 * schema_doc.c: the JSON text of a schema as a tree, places in it, references, and which keywords there are. */
#include <string.h>
#include "base/utf8.h"
#include "grammar/schema.h"

/* ---- reading ---- */

static tl_slice decode(tl_schema *s, tl_slice text) {
    char *start = s->chars + s->n_chars, *p = start;
    tl_slice plain;
    int32_t c;
    while (tl_json_piece(&text, &plain, &c)) {
        memcpy(p, plain.p, plain.n);
        p += plain.n;
        if (c < 0) continue;
        if (c >= 0xD800 && c < 0xE000) tl_lang_fail(s->l, TL_E_FORMAT, "line %d: half a surrogate pair in a string", s->in.line);
        if (c < 0x80) *p++ = (char)c;
        else if (c < 0x800) *p++ = (char)(0xC0 | c >> 6);
        else if (c < 0x10000) *p++ = (char)(0xE0 | c >> 12);
        else *p++ = (char)(0xF0 | c >> 18), *p++ = (char)(0x80 | (c >> 12 & 63));
        if (c >= 0x800) *p++ = (char)(0x80 | (c >> 6 & 63));
        if (c >= 0x80) *p++ = (char)(0x80 | (c & 63));
    }
    s->n_chars += (size_t)(p - start);
    return (tl_slice){start, (size_t)(p - start)};
}

static int read_value(tl_schema *s, int parent, tl_slice key) {
    tl_json_kind kind = tl_json_value(&s->in);
    tl_lang_room(s->l, &s->node, s->n_nodes, &s->nodes_cap, sizeof *s->node, TL_SCHEMA_NODES);
    int me = (int)s->n_nodes++;
    s->node[me] = (tl_value_node){.kind = (uint8_t)kind, .parent = parent, .first = -1, .last = -1, .next = -1, .key = key};
    if (parent >= 0) {
        tl_value_node *p = &s->node[parent];
        if (p->last >= 0) s->node[p->last].next = me;
        else p->first = me;
        p->last = me;
        p->n++;
    }
    if (kind == TL_JSON_STRING) s->node[me].text = decode(s, s->in.text);
    else s->node[me].text = s->in.text;
    if (kind == TL_JSON_FLOAT && s->in.text.n && strchr("NI", s->in.text.p[s->in.text.p[0] == '-' && s->in.text.n > 1]))
        tl_lang_fail(s->l, TL_E_FORMAT, "line %d: NaN and Infinity are no JSON numbers", s->in.line);
    if (kind == TL_JSON_LIST || kind == TL_JSON_DICT)
        for (int first = 1; tl_json_more(&s->in, first) > 0; first = 0) {
            tl_slice name = {NULL, 0};
            if (kind == TL_JSON_DICT && tl_json_key(&s->in) > 0) name = decode(s, s->in.text);
            if (*s->in.fault) break;
            read_value(s, me, name);
        }
    return me;
}

void tl_schema_read(tl_schema *s, const char *json, size_t n) {
    tl_lang *l = s->l;
    strcpy(l->place, "JSON schema: ");
    if (n > TL_SCHEMA_BYTES) tl_lang_fail(l, TL_E_UNSUPPORTED, "larger than 4 MiB");
    for (size_t i = 0; i < n;) {
        int32_t c;
        size_t len = tl_utf8_next(json + i, n - i, &c);
        if (c < 0) tl_lang_fail(l, TL_E_FORMAT, "byte %zu is not UTF-8", i);
        i += len;
    }
    s->chars = tl_lang_memory(l, n + 1, 1);
    s->in = tl_json_open(json, n, tl_lang_memory(l, TL_SCHEMA_DEPTH, 1), TL_SCHEMA_DEPTH);
    read_value(s, -1, (tl_slice){NULL, 0});
    tl_json_done(&s->in);
    if (*s->in.fault) tl_lang_fail(l, TL_E_FORMAT, "line %d: %s", s->in.line, s->in.fault);
}

/* ---- places ---- */

static size_t put_place(const tl_schema *s, int node, char *to, size_t room) {
    const tl_value_node *v = &s->node[node];
    if (v->parent < 0) {
        *to = '#';
        return 1;
    }
    size_t n = put_place(s, v->parent, to, room);
    char part[100];
    size_t len = 0;
    if (s->node[v->parent].kind == TL_JSON_DICT) {
        for (size_t i = 0; i < v->key.n && len < 80; i++) {
            char c = v->key.p[i];
            if (c == '~' || c == '/') part[len++] = '~', part[len++] = c == '~' ? '0' : '1';
            else part[len++] = c;
        }
    } else {
        int index = 0;
        for (int i = s->node[v->parent].first; i != node; i = s->node[i].next) index++;
        len = (size_t)snprintf(part, sizeof part, "%d", index);
    }
    if (n + len + 2 > room) return n;
    to[n++] = '/';
    memcpy(to + n, part, len);
    return n + len;
}

void tl_schema_at(tl_schema *s, int node, const char *keyword) {
    char *to = s->l->place;
    size_t room = sizeof s->l->place - 50, n = put_place(s, node, to, room);
    snprintf(to + n, sizeof s->l->place - n, "%s%s: ", keyword ? "/" : "", keyword ? keyword : "");
}

int tl_schema_find(const tl_schema *s, int node, tl_slice key) {
    int found = -1;   /* of equal names the last counts */
    if (node < 0 || s->node[node].kind != TL_JSON_DICT) return -1;
    for (int i = s->node[node].first; i >= 0; i = s->node[i].next)
        if (s->node[i].key.n == key.n && memcmp(s->node[i].key.p, key.p, key.n) == 0) found = i;
    return found;
}

int tl_schema_get(const tl_schema *s, int node, const char *key) { return tl_schema_find(s, node, (tl_slice){key, strlen(key)}); }

/* ---- references ---- */

static int hex(int c) {
    int low = c | 32;
    return c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* The next part of a pointer, of which "%41", "~0" and "~1" are resolved, into to; *p is moved on. */
static size_t pointer_part(const char **p, const char *end, char *to) {
    size_t n = 0;
    for (++*p; *p < end && **p != '/'; ++*p) {
        char c = **p;
        if (c == '%' && end - *p > 2 && hex((*p)[1]) >= 0 && hex((*p)[2]) >= 0) {
            c = (char)(hex((*p)[1]) << 4 | hex((*p)[2]));
            *p += 2;
        }
        if (n && to[n - 1] == '~' && (c == '0' || c == '1')) to[n - 1] = c == '0' ? '\1' : '/';   /* \1: a '~' that is done */
        else to[n++] = c;
    }
    for (size_t i = 0; i < n; i++)
        if (to[i] == '\1') to[i] = '~';
    return n;
}

static int child_at(const tl_schema *s, int node, const char *key, size_t n) {
    if (s->node[node].kind != TL_JSON_LIST) return tl_schema_find(s, node, (tl_slice){key, n});
    long index = 0;
    for (size_t i = 0; i < n; i++) {
        if (key[i] < '0' || key[i] > '9' || index > TL_SCHEMA_NODES) return -1;
        index = index * 10 + (key[i] - '0');
    }
    int i = n ? s->node[node].first : -1;
    while (i >= 0 && index-- > 0) i = s->node[i].next;
    return i;
}

int tl_schema_ref(tl_schema *s, int ref) {
    tl_slice t = s->node[ref].text;
    int node = 0;
    tl_lang_work(s->l, (int64_t)t.n);
    if (!t.n || t.p[0] != '#') tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm reads references into this document only (#...)");
    for (int i = s->node[ref].parent; i > 0; i = s->node[i].parent)
        if (tl_schema_get(s, i, "$id") >= 0) tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm cannot resolve references below an inner $id");
    if (t.n > 1 && t.p[1] != '/') {
        tl_lang_work(s->l, (int64_t)s->n_nodes);
        for (node = (int)s->n_nodes - 1; node >= 0; node--) {
            const tl_value_node *v = &s->node[node];
            if (v->kind == TL_JSON_STRING && tl_slice_is(v->key, "$anchor") && v->text.n == t.n - 1 &&
                memcmp(v->text.p, t.p + 1, v->text.n) == 0) return v->parent;
        }
        tl_lang_fail(s->l, TL_E_FORMAT, "there is no $anchor of this name");
    }
    char *part = tl_lang_memory(s->l, t.n, 1);
    for (const char *p = t.p + 1, *end = t.p + t.n; p < end && node >= 0;) {
        size_t n = pointer_part(&p, end, part);
        tl_lang_work(s->l, s->node[node].n);
        node = child_at(s, node, part, n);
    }
    if (node < 0) tl_lang_fail(s->l, TL_E_FORMAT, "there is nothing at this place");
    return node;
}

/* ---- keywords ---- */

enum { V_DICT = 1, V_LIST = 2, V_STRING = 4, V_NUMBER = 8, V_COUNT = 16, V_BOOL = 32, V_SCHEMA = 64, V_ANY = 127 };

static const char *const expected[] = {"an object", "a list", "a string", "a number", "a whole number from 0 on", "true or false", "a schema"};

/* What a keyword's value must be, and what is said beyond that, by name. Annotations ask for nothing. */
static const struct { const char *name; int is; } keywords[] = {
    {"title", V_ANY}, {"description", V_ANY}, {"default", V_ANY}, {"examples", V_ANY}, {"$schema", V_ANY}, {"$id", V_ANY},
    {"$comment", V_ANY}, {"$defs", V_DICT}, {"definitions", V_DICT}, {"$anchor", V_STRING}, {"deprecated", V_ANY},
    {"readOnly", V_ANY}, {"writeOnly", V_ANY}, {"contentEncoding", V_ANY}, {"contentMediaType", V_ANY}, {"contentSchema", V_ANY},
    {"discriminator", V_ANY},   /* OpenAPI: a hint that says nothing about what is valid */
    {"type", V_STRING | V_LIST}, {"enum", V_LIST}, {"const", V_ANY},
    {"$ref", V_STRING}, {"allOf", V_LIST}, {"anyOf", V_LIST}, {"oneOf", V_LIST},
    {"properties", V_DICT}, {"required", V_LIST}, {"additionalProperties", V_SCHEMA}, {"patternProperties", V_DICT},
    {"propertyNames", V_SCHEMA}, {"minProperties", V_COUNT}, {"maxProperties", V_COUNT},
    {"items", V_SCHEMA}, {"prefixItems", V_LIST}, {"minItems", V_COUNT}, {"maxItems", V_COUNT}, {"uniqueItems", V_BOOL},
    {"pattern", V_STRING}, {"format", V_STRING}, {"minLength", V_COUNT}, {"maxLength", V_COUNT},
    {"minimum", V_NUMBER}, {"maximum", V_NUMBER}, {"exclusiveMinimum", V_NUMBER}, {"exclusiveMaximum", V_NUMBER},
    {"multipleOf", V_NUMBER}};

static int is(const tl_value_node *v, int what) {
    switch (v->kind) {
    case TL_JSON_DICT: return what & (V_DICT | V_SCHEMA);
    case TL_JSON_LIST: return what & V_LIST;
    case TL_JSON_STRING: return what & V_STRING;
    case TL_JSON_INT: return what & V_NUMBER || (what & V_COUNT && v->text.p[0] != '-');
    case TL_JSON_FLOAT: return what & V_NUMBER || (what & V_COUNT && v->text.p[0] != '-' && tl_number_whole(v->text));
    case TL_JSON_TRUE:
    case TL_JSON_FALSE: return what & (V_BOOL | V_SCHEMA);
    default: return 0;
    }
}

static void check_value(tl_schema *s, int node, int what) {
    if (what == V_ANY || is(&s->node[node], what)) return;
    const char *first = NULL, *second = NULL;
    for (int b = 0; b < 7; b++)
        if (what >> b & 1) {
            if (first) second = expected[b];
            else first = expected[b];
        }
    tl_lang_fail(s->l, TL_E_FORMAT, "expected %s%s%s", first, second ? " or " : "", second ? second : "");
}

/* Lists and dicts whose elements must be something. */
static void check_elements(tl_schema *s, int node, int what, int some) {
    if (some && s->node[node].first < 0) tl_lang_fail(s->l, TL_E_FORMAT, "expected at least one element");
    for (int i = s->node[node].first; i >= 0; i = s->node[i].next) {
        if (is(&s->node[i], what)) continue;
        tl_schema_at(s, i, NULL);
        check_value(s, i, what);
    }
}

static void check_types(tl_schema *s, int node) {
    static const char *const names[] = {"null", "boolean", "integer", "number", "string", "array", "object"};
    int list = s->node[node].kind == TL_JSON_LIST;
    if (list) check_elements(s, node, V_STRING, 1);
    for (int i = list ? s->node[node].first : node; i >= 0; i = list ? s->node[i].next : -1) {
        size_t k = 0;
        while (k < 7 && !tl_slice_is(s->node[i].text, names[k])) k++;
        if (k == 7) tl_lang_fail(s->l, TL_E_FORMAT, "there is no type \"%.*s\"", (int)(s->node[i].text.n < 40 ? s->node[i].text.n : 40), s->node[i].text.p);
    }
}

static void check_keyword(tl_schema *s, int node) {
    static const char *const schemas[] = {"allOf", "anyOf", "oneOf", "prefixItems", "properties", "patternProperties"};
    const tl_slice key = s->node[node].key;
    size_t k = 0;
    tl_schema_at(s, node, NULL);
    while (k < sizeof keywords / sizeof *keywords && !tl_slice_is(key, keywords[k].name)) k++;
    if (k == sizeof keywords / sizeof *keywords) {
        if (tl_slice_is(key, "additionalItems"))
            tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm cannot enforce this keyword; write prefixItems and items");
        tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm cannot enforce this keyword");
    }
    check_value(s, node, keywords[k].is);
    for (size_t i = 0; i < 6; i++)
        if (tl_slice_is(key, schemas[i])) check_elements(s, node, V_SCHEMA, i < 4);
    if (tl_slice_is(key, "required")) check_elements(s, node, V_STRING, 0);
    if (tl_slice_is(key, "type")) check_types(s, node);
    if (tl_slice_is(key, "format")) tl_string_format(s, node);
    if (keywords[k].is == V_NUMBER) tl_number_check(s, node);
}

void tl_schema_check(tl_schema *s, int node) {
    if (s->node[node].checked) return;
    int kind = s->node[node].kind;
    if (kind != TL_JSON_DICT && kind != TL_JSON_TRUE && kind != TL_JSON_FALSE) {
        tl_schema_at(s, node, NULL);
        check_value(s, node, V_SCHEMA);
    }
    s->node[node].checked = 1;
    if (kind != TL_JSON_DICT) return;
    for (int i = s->node[node].first; i >= 0; i = s->node[i].next) check_keyword(s, i);
}

/* ---- equal values ---- */

int tl_same_value(const tl_schema *s, int a, int b) {
    const tl_value_node *p = &s->node[a], *q = &s->node[b];
    int number = (p->kind == TL_JSON_INT || p->kind == TL_JSON_FLOAT) && (q->kind == TL_JSON_INT || q->kind == TL_JSON_FLOAT);
    if (number) return tl_number_compare(p->text, q->text) == 0;
    if (p->kind != q->kind || p->n != q->n) return 0;
    if (p->kind == TL_JSON_STRING) return p->text.n == q->text.n && memcmp(p->text.p, q->text.p, p->text.n) == 0;
    for (int i = p->first, k = q->first; i >= 0; i = s->node[i].next, k = s->node[k].next) {
        int other = p->kind == TL_JSON_DICT ? tl_schema_find(s, b, s->node[i].key) : k;
        if (other < 0 || !tl_same_value(s, i, other)) return 0;
    }
    return 1;
}
