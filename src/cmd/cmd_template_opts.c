/* SPDX-License-Identifier: MIT
 *
 * cmd_template_opts.c: see cmd_template_opts.h. JSON is looked at by small templates: what they accept is what the
 * chat template will be given. */
#include <string.h>
#include "cmd/cmd_template_opts.h"

static const char kwargs_option[] = "--chat-template-kwargs";

int tl_cmd_one_of(const char *option, const char *word, const char *const *words, tl_error *err) {
    char list[80] = "";
    for (int i = 0; words[i]; i++) {
        if (!word || strcmp(word, words[i]) == 0) return TL_OK;
        size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s%s", !i ? "" : words[i + 1] ? ", " : " or ", words[i]);
    }
    return tl_fail(err, TL_E_ARGUMENT, "%s: '%s' is not %s", option, word, list);
}

static int is_one_of(const char *word, const char *const *words) {
    while (*words && strcmp(*words, word) != 0) words++;
    return *words != NULL;
}

/* Renders the template `look` with the JSON as variable v. */
static int look_at(const char *look, const char *name, const char *json, size_t n, tl_buf *out, tl_error *err) {
    tl_tmpl_source source = {name, "v", json, n};
    tl_tmpl *t = tl_tmpl_parse(name, look, strlen(look), err);
    int rc = t ? tl_tmpl_render(t, &source, 1, out, NULL, err) : err->code;
    tl_tmpl_free(t);
    return rc;
}

/* The keys of a JSON object, each with a line break behind it. */
static int list_keys(const char *name, const char *json, size_t n, tl_buf *out, tl_error *err) {
    return look_at("{% if v is not mapping %}{{ raise_exception('expected a JSON object, {\"name\": value, ...}') }}{% endif %}"
                   "{% for k in v %}{{ k | replace('\\n', ' ') }}\n{% endfor %}", name, json, n, out, err);
}

/* ---- checks ------------------------------------------------------------------------------------------------------- */

/* What is said by other means: a value here would be passed over. */
static int check_kwargs(const char *json, tl_error *err) {
    static const char *const taken[] = {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token", NULL};
    tl_error why = {0};
    tl_buf keys = {0};
    int rc = list_keys(kwargs_option, json, strlen(json), &keys, &why);
    if (rc != TL_OK) tl_fail(err, rc == TL_E_FORMAT ? TL_E_ARGUMENT : rc, "%s", why.text);
    for (char *key = keys.p, *end; rc == TL_OK && key && (end = strchr(key, '\n')); key = end + 1) {
        *end = 0;
        if (is_one_of(key, taken)) rc = tl_fail(err, TL_E_ARGUMENT, "%s: \"%s\" cannot be set here", kwargs_option, key);
    }
    tl_buf_free(&keys);
    return rc;
}

int tl_cmd_template_check(const tl_template_args *a, int may_hide, tl_error *err) {
    const char *const words[] = {"auto", "on", "off", may_hide ? "hide" : NULL, NULL};
    int rc = tl_cmd_one_of("--think", a->think, words, err);
    return rc == TL_OK && a->kwargs ? check_kwargs(a->kwargs, err) : rc;
}

const char *tl_cmd_template_given(const tl_template_args *a) {
    return a->file ? "--chat-template" : a->kwargs ? kwargs_option : a->tools ? "--tools" : a->think ? "--think" : NULL;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

char *tl_cmd_read_tools(const char *path, tl_error *err) {
    static const char look[] = "{% if v is mapping or v is string or v is not sequence %}{{ raise_exception('the tools are no list') }}{% endif %}"
                               "{% for t in v if t is not mapping %}{{ raise_exception('tool ' ~ loop.index ~ ' is no object') }}{% endfor %}";
    tl_buf out = {0};
    size_t n;
    char *text = tl_read_file(path, &n, err);
    if (text && look_at(look, path, text, n, &out, err) != TL_OK) {
        tl_free(text);
        text = NULL;
    }
    tl_buf_free(&out);
    return text;
}

int tl_cmd_template_read(const tl_template_args *a, tl_cmd_template_files *f, tl_error *err) {
    size_t n;
    if (a->file && !(f->text = tl_read_file(a->file, &n, err))) return err->code;
    if (a->file) {   /* a fault of it is told before a model is opened, and with its name */
        tl_tmpl *t = tl_tmpl_parse(a->file, f->text, n, err);
        tl_tmpl_free(t);
        if (!t) return err->code;
    }
    if (a->tools && !(f->tools = tl_cmd_read_tools(a->tools, err))) return err->code;
    return TL_OK;
}

void tl_cmd_template_free(tl_cmd_template_files *f) {
    tl_free(f->text);
    tl_free(f->tools);
    *f = (tl_cmd_template_files){0};
}

/* ---- misspelt variables ------------------------------------------------------------------------------------------- */

static const char *const known[] = {"messages", "tools", "documents", "add_generation_prompt", "continue_final_message",
                                    "enable_thinking", "bos_token", "eos_token", "pad_token", "unk_token", "now", NULL};

/* Whether the template has the word. */
static int mentions(const char *text, const char *word) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    size_t n = strlen(word);
    for (const char *p = text; n && (p = strstr(p, word)); p++) {
        char before = p > text ? p[-1] : ' ', after = p[n];
        if (!(before && strchr(letters, before)) && !(after && strchr(letters, after))) return 1;
    }
    return 0;
}

static int check_key(const char *text, const char *key, const char *name, tl_error *err) {
    if (is_one_of(key, known) || mentions(text, key)) return TL_OK;
    const char *near = tl_nearest(key, known);
    if (near) return tl_fail(err, TL_E_ARGUMENT, "%s: the template has no variable \"%.60s\"; did you mean %s?", name, key, near);
    return tl_fail(err, TL_E_ARGUMENT, "%s: the template has no variable \"%.60s\"", name, key);
}

int tl_cmd_template_keys(const char *text, const char *name, const char *json, size_t n, tl_error *err) {
    tl_buf keys = {0};
    int rc = list_keys(name, json, n, &keys, err);
    for (char *key = keys.p, *end; rc == TL_OK && key && (end = strchr(key, '\n')); key = end + 1) {
        *end = 0;
        rc = check_key(text, key, name, err);
    }
    tl_buf_free(&keys);
    return rc;
}

/* ---- thinking ----------------------------------------------------------------------------------------------------- */

static const struct { const char *set[2], *word; int less; } switches[] = {   /* set: when off, on */
#define THINK(on, off, word) {{off, on}, word, 0},
#define THINK_LESS(on, off) {{off, on}, NULL, 1},
#define THINK_WORDS(word, hint)
#include "think.def"
#undef THINK
#undef THINK_LESS
#undef THINK_WORDS
};

static const struct { const char *word, *hint; } words[] = {
#define THINK(on, off, word)
#define THINK_LESS(on, off)
#define THINK_WORDS(word, hint) {word, hint},
#include "think.def"
#undef THINK
#undef THINK_LESS
#undef THINK_WORDS
};

static int has_quoted(const char *text, const char *word) {
    size_t n = strlen(word);
    for (const char *p = text; (p = strstr(p, word)); p++)
        if (p > text && (p[-1] == '\'' || p[-1] == '"') && p[n] == p[-1]) return 1;
    return 0;
}

/* Whether the template has the name of the only member of an object. */
static int names_variable(const char *text, const char *object) {
    char name[40];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(object + 2, "\""), object + 2);
    return mentions(text, name);
}

/* Room for the switch, the given ones and --chat-template-kwargs: what is given wins, so that a switch of the latter's is
 * seen to have no effect. */
enum { MAX_SOURCES = 8 };

/* Whether the template writes something else with one setting than with the other; a refusal of either is none. */
static int differs(const tl_tmpl *t, tl_tmpl_source *s, int n, const char *const set[2]) {
    tl_buf text[2] = {{0}, {0}};
    int rc = TL_OK;
    for (int i = 0; i < 2 && rc == TL_OK; i++) {
        s[0] = (tl_tmpl_source){"--think", NULL, set[i], strlen(set[i])};
        rc = tl_tmpl_render(t, s, n, &text[i], NULL, NULL);
    }
    int yes = rc == TL_OK && (text[0].n != text[1].n || memcmp(text[0].p, text[1].p, text[0].n) != 0);
    tl_buf_free(&text[0]);
    tl_buf_free(&text[1]);
    return yes;
}

/* What --think sets, NULL: nothing has an effect. */
static const char *find_switch(const tl_template_args *a, const char *text, tl_tmpl_source *s, int n, tl_error *why) {
    const char *found = NULL;
    const int on = strcmp(a->think, "on") == 0;
    tl_tmpl *t = tl_tmpl_parse("chat template", text, strlen(text), NULL);   /* a fault is told by who renders it */
    for (size_t i = 0; t && i < sizeof switches / sizeof *switches && !found; i++) {
        if (switches[i].word && !has_quoted(text, switches[i].word)) continue;
        if (!names_variable(text, switches[i].set[0]) && !names_variable(text, switches[i].set[1])) continue;
        if (!differs(t, s, n, switches[i].set)) continue;
        found = switches[i].set[on];
        if (switches[i].less && !on) tl_fail(why, TL_E_ARGUMENT, "the chat template cannot turn thoughts off: %s asks for short ones", found);
    }
    tl_tmpl_free(t);
    for (size_t i = 0; !found && i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i].word)) tl_fail(why, TL_E_ARGUMENT, "the chat template knows no variable for --think %s: %s", a->think, words[i].hint);
    if (!found) tl_fail(why, TL_E_ARGUMENT, "the chat template knows no variable for thoughts: --think %s changes nothing", a->think);
    return found;
}

/* Adds the members of an object [n]. */
static void add_members(tl_buf *out, const char *object, size_t n) {
    const char *from = memchr(object, '{', n), *to = object + n;
    while (to > object && to[-1] != '}') to--;
    if (!from || to <= from + 1) return;
    from++, to--;
    if (from + strspn(from, " \t\r\n") >= to) return;
    tl_buf_str(out, out->n ? ", " : "{");
    tl_buf_add(out, from, (size_t)(to - from));
}

int tl_cmd_template_variables(const tl_template_args *a, const char *text, const tl_tmpl_source *given, int n, tl_buf *out,
                              tl_error *why, tl_error *err) {
    tl_tmpl_source s[MAX_SOURCES];
    tl_buf all = {0};
    int n_all = 1;   /* the first one is the switch */
    for (int i = 0; i < n && n_all < MAX_SOURCES - 1; i++) s[n_all++] = given[i];
    if (a->kwargs) s[n_all++] = (tl_tmpl_source){kwargs_option, NULL, a->kwargs, strlen(a->kwargs)};
    if (a->think && (strcmp(a->think, "on") == 0 || strcmp(a->think, "off") == 0)) {
        const char *set = find_switch(a, text, s, n_all, why);
        if (set) add_members(&all, set, strlen(set));
    }
    if (a->kwargs) {
        if (why) tl_cmd_template_keys(text, kwargs_option, a->kwargs, strlen(a->kwargs), why);
        add_members(&all, a->kwargs, strlen(a->kwargs));
    }
    if (all.n) tl_buf_add(&all, "}", 2);   /* terminated */
    if (all.n) tl_buf_add(out, all.p, all.n);
    if (all.failed || out->failed) tl_fail(err, TL_E_MEMORY, "out of memory for the template's variables");
    tl_buf_free(&all);
    return err->code;
}

int tl_cmd_chat_variables(const tl_template_args *a, const char *text, const char *messages, const char *tools, tl_buf *out,
                          tl_error *why, tl_error *err) {
    static const char settings[] = "{\"add_generation_prompt\": true, \"bos_token\": \"\", \"eos_token\": \"\"}";
    tl_tmpl_source s[3] = {{"the settings", NULL, settings, sizeof settings - 1},
                           {"the messages", "messages", messages, strlen(messages)},
                           {"the tools", "tools", tools, tools ? strlen(tools) : 0}};
    return tl_cmd_template_variables(a, text, s, tools ? 3 : 2, out, why, err);
}
