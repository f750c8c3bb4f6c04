/* SPDX-License-Identifier: MIT
 *
 * cmd_template.c: renders a chat template with variables from a JSON file, for looking at what a model would get. */
#include "cmd/cmd.h"
#include "tmpl/tmpl.h"

typedef struct template_args { const char *input; } template_args;

static const tl_opt options[] = {
    {"-i,--input", "FILE", TL_OPT_STR, offsetof(template_args, input), 0, 0,
     "JSON object: messages, tools, add_generation_prompt, bos_token, now, ...; -: standard input"},
    {0},
};

static int template_main(const tl_cmd *self, int argc, char **argv) {
    template_args a = {0};
    tl_error err = {0};
    const char *path;
    int code = tl_cmd_parse(self, &a, argc, argv, &path, 1, 1);
    if (code >= 0) return code;
    if (!a.input) tl_fail(&err, TL_E_ARGUMENT, "template: give the variables with --input FILE");
    int from_stdin = a.input && a.input[0] == '-' && !a.input[1];
    const char *json_name = from_stdin ? "standard input" : a.input;
    size_t n = 0, n_json = 0;
    char *text = err.code ? NULL : tl_read_file(path, &n, &err), *json = NULL;
    if (text) json = from_stdin ? tl_read_stream(stdin, json_name, &n_json, &err) : tl_read_file(a.input, &n_json, &err);
    tl_tmpl *t = json ? tl_tmpl_parse(path, text, n, &err) : NULL;
    tl_buf out = {0};
    if (t) tl_tmpl_render(t, &(tl_tmpl_source){json_name, NULL, json, n_json}, 1, &out, NULL, &err);
    if (!err.code && out.n) fwrite(out.p, 1, out.n, stdout);
    tl_buf_free(&out);
    tl_tmpl_free(t);
    tl_free(json);
    tl_free(text);
    return err.code ? tl_cmd_fail(&err) : 0;
}

const tl_cmd tl_cmd_template = {
    .name = "template",
    .summary = "render a chat template",
    .usage = "FILE.jinja --input CASE.json",
    .examples = "  tinyllm template chat.jinja --input case.json\n"
                "  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}' | tinyllm template chat.jinja --input -\n",
    .opts = options,
    .run = template_main,
};
