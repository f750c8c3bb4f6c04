/* SPDX-License-Identifier: MIT
 *
 * tmpl.c: the public functions: a context for one parsing or one rendering, and the place faults jump back to. */
#include <string.h>
#include "tmpl/run.h"

struct tl_tmpl {
    tl_arena arena;
    char *name;
    tl_node *root;
};

static tl_node *parse(tl_tx *c, const char *text, size_t n) {
    if (setjmp(c->jump)) return NULL;
    if (n > TL_TMPL_MAX_TEXT) tl_x_fail(c, "the template is larger than %d MB", TL_TMPL_MAX_TEXT >> 20);
    return tl_parse_template(c, text, n);
}

tl_tmpl *tl_tmpl_parse(const char *name, const char *text, size_t n, tl_error *err) {
    tl_error own = {0};
    tl_tmpl *t = tl_alloc_n(1, sizeof *t, "a template", err);
    if (!t) return NULL;
    tl_buf scratch = {0};
    tl_tx c = {.name = name, .steps = TL_TMPL_MAX_STEPS, .out = &scratch, .own = 1, .err = err ? err : &own};
    t->name = tl_strdup(name, err);
    if (t->name) t->root = parse(&c, text, n);
    t->arena = c.arena;
    tl_buf_free(&scratch);
    tl_buf_free(&c.trust);
    if (t->root) return t;
    tl_tmpl_free(t);
    return NULL;
}

void tl_tmpl_free(tl_tmpl *t) {
    if (!t) return;
    tl_tx c = {.arena = t->arena};
    tl_x_free(&c);
    tl_free(t->name);
    tl_free(t);
}

/* Day of the year 0.. and of the week (Sunday 0) of a date, by the proleptic Gregorian calendar. */
static void complete_date(struct tm *t) {
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int y = t->tm_year + 1900, leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0, past = y - 1;
    t->tm_yday = before[t->tm_mon] + t->tm_mday - 1 + (leap && t->tm_mon > 1);
    t->tm_wday = (past + past / 4 - past / 100 + past / 400 + t->tm_yday + 1) % 7;
}

static void set_now(tl_tx *c, tl_val v) {
    struct tm t = {0};
    char text[40] = "";
    if (v.kind == TL_MISSING) {
        tl_local_time(&c->now);
        return;
    }
    if (v.kind == TL_STR && v.n < sizeof text) memcpy(text, v.u.s, v.n);
    int n = sscanf(text, "%4d-%2d-%2d%*[T ]%2d:%2d:%2d", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour, &t.tm_min, &t.tm_sec);
    if (n < 3 || t.tm_year < 1 || t.tm_mon < 1 || t.tm_mon > 12 || t.tm_mday < 1 || t.tm_mday > 31 || t.tm_hour < 0 ||
        t.tm_hour > 23 || t.tm_min < 0 || t.tm_min > 59 || t.tm_sec < 0 || t.tm_sec > 60)
        tl_x_fail(c, "\"now\" must be a date and time like \"2026-01-31T12:00:00\"");
    t.tm_year -= 1900;
    t.tm_mon--;
    complete_date(&t);
    c->now = t;
}

/* Names that chat templates know; others are whatever people write. */
static int is_role(tl_val v) {
    static const char *const roles[] = {"system", "developer", "user", "assistant", "model", "tool", "function", "ipython",
                                        "environment", "observation"};
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (tl_v_is(v, roles[i])) return 1;
    return 0;
}

static void trust(tl_tx *c, tl_val dict, const char *key, int (*may)(tl_val)) {
    tl_val *v = dict.kind == TL_DICT ? tl_dict_find(c, dict.u.dict, tl_v_cstr(key)) : NULL;
    if (v && v->kind == TL_STR && (!may || may(*v))) v->trust = tl_trusted;
}

/* What is not from people: the tokens that the tokenizer names, and the roles of messages, of which templates make
 * control tokens ("<|" + role + "|>"). */
static void trust_variables(tl_tx *c, tl_val vars) {
    static const char *const tokens[] = {"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"};
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) trust(c, vars, tokens[i], NULL);
    tl_val *messages = tl_dict_find(c, vars.u.dict, tl_v_cstr("messages"));
    for (size_t i = 0; messages && messages->kind == TL_LIST && i < messages->u.list->n; i++)
        trust(c, messages->u.list->v[i], "role", is_role);
}

static void read_source(tl_tx *c, const tl_tmpl_source *s, tl_val vars) {
    c->name = s->name;
    c->line = 1;
    tl_val v = tl_v_read_json(c, s->json, s->n);
    c->line = 0;
    if (s->variable) {
        tl_dict_set(c, vars.u.dict, tl_v_cstr(s->variable), v);
        return;
    }
    if (v.kind != TL_DICT) tl_x_fail(c, "must hold a JSON object with the template's variables");
    for (size_t i = 0; i < v.u.dict->n; i++) tl_dict_set(c, vars.u.dict, v.u.dict->key[i], v.u.dict->val[i]);
}

static int render(tl_tx *c, const tl_tmpl *t, const tl_tmpl_source *source, int n) {
    if (setjmp(c->jump)) return c->err->code;
    tl_val vars = tl_v_dict(c), now = {0};
    for (int i = 0; i < n; i++) read_source(c, &source[i], vars);
    tl_val *given = tl_dict_find(c, vars.u.dict, tl_v_cstr("now"));
    if (given) now = *given;
    set_now(c, now);
    tl_dict_remove(c, vars.u.dict, tl_v_cstr("now"));
    trust_variables(c, vars);
    c->vars = vars.u.dict;
    c->name = t->name;
    c->root = tl_scope_new(c, NULL);
    tl_x_exec(c, t->root, c->root);
    return TL_OK;
}

int tl_tmpl_render(const tl_tmpl *t, const tl_tmpl_source *source, int n, tl_buf *out, tl_buf *trust, tl_error *err) {
    tl_error own = {0};
    tl_buf text = {0};
    tl_tx c = {.steps = TL_TMPL_MAX_STEPS, .out = &text, .err = err ? err : &own};
    int rc = render(&c, t, source, n);
    tl_x_free(&c);
    if (rc == TL_OK && text.n) tl_buf_add(out, text.p, text.n);
    if (rc == TL_OK && trust) {
        if (c.trust.n) tl_buf_add(trust, c.trust.p, c.trust.n);
        for (size_t i = c.trust.n; i < text.n && !trust->failed; i++) tl_buf_add(trust, "", 1);
    }
    if (rc == TL_OK && (out->failed || (trust && trust->failed)))
        rc = tl_fail(err, TL_E_MEMORY, "%s: out of memory for the text", t->name);
    tl_buf_free(&c.trust);
    tl_buf_free(&text);
    return rc;
}
