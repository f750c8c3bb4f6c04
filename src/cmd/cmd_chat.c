/* SPDX-License-Identifier: MIT
 *
 * cmd_chat.c: see cmd_chat.h. */
#include <string.h>
#include "cmd/cmd_chat.h"
#include "gguf/gguf.h"
#include "model/model.h"
#include "tmpl/tmpl.h"

static void add_message(tl_json *j, const char *role, const char *text, size_t len) {
    tl_json_begin(j, NULL, '{');
    tl_json_cstr(j, "role", role);
    tl_json_str(j, "content", text, len);
    tl_json_end(j, '}');
}

/* A template is never shown a token the vocabulary does not have: it then finds the name undefined. */
static void add_token(tl_json *j, const char *name, const tl_model *m, int32_t id) {
    const char *piece = id < 0 ? NULL : tl_token_piece(m, id);
    if (piece) tl_json_cstr(j, name, piece);
}

static int render(const tl_tmpl *t, const tl_model *m, const char *system, const char *text, size_t len, tl_buf *out,
                  tl_error *err) {
    tl_buf vars = {0};
    tl_json j = {.out = &vars};
    tl_json_begin(&j, NULL, '{');
    tl_json_begin(&j, "messages", '[');
    if (system) add_message(&j, "system", system, strlen(system));
    add_message(&j, "user", text, len);
    tl_json_end(&j, ']');
    tl_json_bool(&j, "add_generation_prompt", 1);
    add_token(&j, "bos_token", m, tl_token_bos(m));
    add_token(&j, "eos_token", m, tl_token_eos(m));
    tl_json_end(&j, '}');
    int rc = vars.failed ? tl_fail(err, TL_E_MEMORY, "out of memory for the messages")
                         : tl_tmpl_render(t, vars.p, vars.n, "the messages", out, err);
    tl_buf_free(&vars);
    return rc;
}

char *tl_cmd_chat_prompt(const char *path, const tl_model *m, const char *system, const char *text, size_t len, size_t *n,
                         tl_error *err) {
    tl_slice source = {0};
    tl_buf out = {0};
    int found = tl_gguf_str(m->gguf, "tokenizer.chat_template", &source, err);
    if (found == 0)
        tl_fail(err, TL_E_UNSUPPORTED, "%s: has no tokenizer.chat_template, so --chat cannot know the model's form", path);
    tl_tmpl *t = found > 0 ? tl_tmpl_parse("tokenizer.chat_template", source.p, source.n, err) : NULL;
    if (t && render(t, m, system, text, len, &out, err) == TL_OK && !out.p) tl_buf_str(&out, "");
    tl_tmpl_free(t);
    if (out.failed) tl_fail(err, TL_E_MEMORY, "out of memory for the prompt");
    if (err->code) tl_buf_free(&out);
    *n = out.n;
    return out.p;
}
