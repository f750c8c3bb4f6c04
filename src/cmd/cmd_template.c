/* SPDX-License-Identifier: MIT
 *
 * cmd_template.c: renders a chat template, from a file of its own or out of a model, with variables from a JSON file, for
 * looking at what a model would get. */
#include <string.h>
#include "cmd/cmd_template_opts.h"
#include "cmd/term.h"
#include "tinyllm.h"

typedef struct template_args {
    const char *input;
    tl_template_args form;
} template_args;

static const tl_opt options[] = {
    {"-i,--input", "FILE", TL_OPT_STR, offsetof(template_args, input), 0, 0,
     "JSON object: messages, tools, add_generation_prompt, bos_token, now, ...; -: standard input"},
    TL_TEMPLATE_OPTS(template_args, form, TL_THINK_HELP),
    {0},
};

/* A template and what a model's file says of it: its tokens as JSON. */
typedef struct source {
    char *text;
    size_t n;
    tl_buf tokens;
    tl_cmd_template_files files;   /* of --chat-template and --tools */
} source;

static void add_token(tl_json *j, const char *name, const tl_model *m, int32_t id) {
    if (id >= 0) tl_json_cstr(j, name, tl_token_piece(m, id));
}

static int read_model(const char *path, source *s, tl_error *err) {
    tl_model_options o = tl_model_options_default();
    o.vocab_only = 1;
    tl_model *m = tl_model_open(path, &o, err);
    const char *text = m && s->files.text ? s->files.text : tl_model_chat_template(m);
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
    if (tl_cmd_is_model(path)) return read_model(path, s, err);   /* it may be larger than what is read as text */
    if (s->files.text) return tl_fail(err, TL_E_ARGUMENT, "%s: is a template itself: leave out --chat-template", path);
    s->text = tl_read_file(path, &s->n, err);
    return s->text ? TL_OK : err->code;
}

/* ---- rendering ---- */

/* The variables, later ones win: the file's tokens, the case, --tools, then --chat-template-kwargs and --think. */
static int render(const template_args *a, const source *s, const char *name, const tl_tmpl_source *input, tl_buf *out, tl_error *err) {
    tl_tmpl_source v[4];
    tl_buf extra = {0};
    tl_error why = {0};
    int n = 0;
    tl_tmpl *t = tl_tmpl_parse(name, s->text, s->n, err);
    if (s->tokens.n) v[n++] = (tl_tmpl_source){name, NULL, s->tokens.p, s->tokens.n};
    v[n++] = *input;
    if (s->files.tools) v[n++] = (tl_tmpl_source){a->form.tools, "tools", s->files.tools, strlen(s->files.tools)};
    if (t && tl_cmd_template_keys(s->text, input->name, input->json, input->n, err) == TL_OK)
        tl_cmd_template_variables(&a->form, s->text, v, n, &extra, &why, err);
    if (why.code) tl_status("warning: %s", why.text);
    if (extra.n) v[n++] = (tl_tmpl_source){"the variables", NULL, extra.p, strlen(extra.p)};
    if (!err->code) tl_tmpl_render(t, v, n, out, NULL, err);
    tl_buf_free(&extra);
    tl_tmpl_free(t);
    return err->code;
}

static int template_main(const tl_cmd *self, int argc, char **argv) {
    template_args a = {0};
    tl_error err = {0};
    const char *path;
    int code = tl_cmd_parse(self, &a, argc, argv, &path, 1, 1);
    if (code >= 0) return code;
    if (!a.input) tl_fail(&err, TL_E_ARGUMENT, "template: give the variables with --input FILE");
    int from_stdin = a.input && a.input[0] == '-' && !a.input[1];
    tl_tmpl_source input = {from_stdin ? "standard input" : a.input, NULL, NULL, 0};
    source s = {0};
    char *json = NULL;
    if (!err.code && tl_cmd_template_check(&a.form, 0, &err) == TL_OK && tl_cmd_template_read(&a.form, &s.files, &err) == TL_OK &&
        read_source(path, &s, &err) == TL_OK)
        json = from_stdin ? tl_read_stream(stdin, input.name, &input.n, &err) : tl_read_file(a.input, &input.n, &err);
    input.json = json;
    tl_buf out = {0};
    if (json) render(&a, &s, a.form.file ? a.form.file : path, &input, &out, &err);
    tl_term shown = tl_term_open(stdout);
    if (!err.code) tl_term_write(&shown, out.p, out.n);
    tl_buf_free(&out);
    tl_buf_free(&s.tokens);
    tl_cmd_template_free(&s.files);
    tl_free(json);
    tl_free(s.text);
    return err.code ? tl_cmd_fail(&err) : 0;
}

const tl_cmd tl_cmd_template = {
    .name = "template",
    .summary = "render a chat template",
    .usage = "MODEL | FILE.jinja --input CASE.json",
    .examples = "  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}' | tinyllm template model.gguf --input -\n"
                "  tinyllm template chat.jinja --input case.json\n"
                "  tinyllm template model.gguf --input case.json --tools tools.json --think off\n",
    .opts = options,
    .run = template_main,
};
