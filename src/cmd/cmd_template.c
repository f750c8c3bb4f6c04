/* SPDX-License-Identifier: MIT
 *
 * cmd_template.c: renders a chat template, from a file of its own or out of a model, with variables from a JSON file, for
 * looking at what a model would get. */
#include <string.h>
#include "cmd/cmd.h"
#include "cmd/term.h"
#include "tinyllm.h"
#include "tmpl/tmpl.h"

typedef struct template_args { const char *input; } template_args;

static const tl_opt options[] = {
    {"-i,--input", "FILE", TL_OPT_STR, offsetof(template_args, input), 0, 0,
     "JSON object: messages, tools, add_generation_prompt, bos_token, now, ...; -: standard input"},
    {0},
};

/* A template and what a model's file says of it: its tokens as JSON. */
typedef struct source { char *text; size_t n; tl_buf tokens; } source;

static void add_token(tl_json *j, const char *name, const tl_model *m, int32_t id) {
    if (id >= 0) tl_json_cstr(j, name, tl_token_piece(m, id));
}

static int read_model(const char *path, source *s, tl_error *err) {
    tl_model_options o = tl_model_options_default();
    o.vocab_only = 1;
    tl_model *m = tl_model_open(path, &o, err);
    const char *text = tl_model_chat_template(m);
    tl_json j = {.out = &s->tokens};
    if (m && !text) tl_fail(err, TL_E_UNSUPPORTED, "%s: has no tokenizer.chat_template", path);
    s->text = text ? tl_strdup(text, err) : NULL;
    s->n = s->text ? strlen(s->text) : 0;
    tl_json_begin(&j, NULL, '{');
    add_token(&j, "bos_token", m, tl_token_bos(m));
    add_token(&j, "eos_token", m, tl_token_eos(m));
    tl_json_end(&j, '}');
    tl_model_free(m);
    return s->text ? TL_OK : err->code;
}

static int read_source(const char *path, source *s, tl_error *err) {
    s->text = tl_read_file(path, &s->n, err);
    if (!s->text || s->n < 4 || memcmp(s->text, "GGUF", 4) != 0) return s->text ? TL_OK : err->code;
    tl_free(s->text);
    s->text = NULL;
    return read_model(path, s, err);
}

/* ---- misspelt variables ---- */

static const char *const known[] = {"messages", "tools", "documents", "add_generation_prompt", "continue_final_message",
                                    "enable_thinking", "bos_token", "eos_token", "pad_token", "unk_token", "now", NULL};

/* Whether the template's text has the word. */
static int mentions(const source *s, const char *word) {
    size_t n = strlen(word);
    for (const char *p = s->text; (p = strstr(p, word)); p++) {
        char before = p > s->text ? p[-1] : ' ', after = p[n];
        const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
        if (!(before && strchr(letters, before)) && !(after && strchr(letters, after))) return 1;
    }
    return 0;
}

static int check_key(const source *s, const char *key, const char *name, tl_error *err) {
    for (int i = 0; known[i]; i++)
        if (strcmp(known[i], key) == 0) return TL_OK;
    if (mentions(s, key)) return TL_OK;
    const char *near = tl_nearest(key, known);
    if (near) return tl_fail(err, TL_E_ARGUMENT, "%s: the template has no variable \"%.60s\"; did you mean %s?", name, key, near);
    return tl_fail(err, TL_E_ARGUMENT, "%s: the template has no variable \"%.60s\"", name, key);
}

/* Every key of the case is a variable that templates have, or this one. The keys come from a template, a line each. */
static int check_keys(const source *s, const tl_tmpl_source *c, tl_error *err) {
    static const char list[] = "{% if case is mapping %}{% for k in case %}{{ k }}\n{% endfor %}{% endif %}";
    tl_tmpl_source one = {c->name, "case", c->json, c->n};
    tl_buf keys = {0};
    tl_tmpl *t = tl_tmpl_parse("keys", list, sizeof list - 1, err);
    int rc = t ? tl_tmpl_render(t, &one, 1, &keys, NULL, err) : err->code;
    for (char *p = keys.p, *end; rc == TL_OK && p && (end = strchr(p, '\n')); p = end + 1) {
        *end = 0;
        rc = check_key(s, p, c->name, err);
    }
    tl_buf_free(&keys);
    tl_tmpl_free(t);
    return rc;
}

static int template_main(const tl_cmd *self, int argc, char **argv) {
    template_args a = {0};
    tl_error err = {0};
    const char *path;
    int code = tl_cmd_parse(self, &a, argc, argv, &path, 1, 1);
    if (code >= 0) return code;
    if (!a.input) tl_fail(&err, TL_E_ARGUMENT, "template: give the variables with --input FILE");
    int from_stdin = a.input && a.input[0] == '-' && !a.input[1];
    const char *json_name = from_stdin ? "standard input" : a.input;
    source s = {0};
    size_t n_json = 0;
    char *json = NULL;
    if (!err.code && read_source(path, &s, &err) == TL_OK)
        json = from_stdin ? tl_read_stream(stdin, json_name, &n_json, &err) : tl_read_file(a.input, &n_json, &err);
    tl_tmpl *t = json ? tl_tmpl_parse(path, s.text, s.n, &err) : NULL;
    tl_buf out = {0};
    tl_tmpl_source sources[2] = {{path, NULL, s.tokens.p, s.tokens.n}, {json_name, NULL, json, n_json}};
    int own = s.tokens.n > 0;   /* the case's tokens win over the file's */
    if (t && check_keys(&s, &sources[1], &err) == TL_OK) tl_tmpl_render(t, sources + !own, 1 + own, &out, NULL, &err);
    tl_term shown = tl_term_open(stdout);
    if (!err.code) tl_term_write(&shown, out.p, out.n);
    tl_buf_free(&out);
    tl_buf_free(&s.tokens);
    tl_tmpl_free(t);
    tl_free(json);
    tl_free(s.text);
    return err.code ? tl_cmd_fail(&err) : 0;
}

const tl_cmd tl_cmd_template = {
    .name = "template",
    .summary = "render a chat template",
    .usage = "MODEL | FILE.jinja --input CASE.json",
    .examples = "  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}' | tinyllm template model.gguf --input -\n"
                "  tinyllm template chat.jinja --input case.json\n",
    .opts = options,
    .run = template_main,
};
