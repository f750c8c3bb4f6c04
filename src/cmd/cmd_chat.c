/* SPDX-License-Identifier: MIT
 *
 * cmd_chat.c: the command chat: its options and its loop over lines. The parts are described in cmd_chat.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/json_read.h"
#include "cmd/cmd_cache.h"
#include "cmd/cmd_chat.h"

#define AT(member) offsetof(chat_args, member)
static const tl_opt options[] = {
    {"--system", "TEXT", TL_OPT_STR, AT(system), 0, 0, "a system message before the conversation"},
    {"--overflow", "HOW", TL_OPT_STR, AT(overflow), 0, 0,
     "a conversation longer than the context: stop: refuse the question; shift: forget the oldest turns; default stop"},
    {"-n,--n-predict", "N", TL_OPT_INT, AT(n), -1, INT32_MAX, "at most N tokens an answer; default -1: until the context is full"},
    {"-c,--ctx", "N", TL_OPT_INT, AT(ctx), 1, 1 << 24, "context in tokens; default: the model's, at most 4096"},
    TL_TEMPLATE_OPTS(chat_args, form, TL_THINK_HIDE_HELP),
    TL_MODEL_OPTS(chat_args, model),
    TL_SAMPLING_OPTS(chat_args, sampling),
    TL_CONSTRAIN_OPTS(chat_args, constrain),
    TL_SPECULATE_OPTS(chat_args, speculate),
    {"--cache", "FILE", TL_OPT_STR, AT(cache), 0, 0, TL_CACHE_HELP},
    {"--stop", "TEXT", TL_OPT_LIST, AT(stop), 0, 0, "end answers before this text (it is not printed); may be repeated"},
    {"--no-commands", NULL, TL_OPT_FLAG, AT(no_commands), 0, 0, "lines that begin with / are questions too"},
    {"--history", NULL, TL_OPT_FLAG, AT(history), 0, 0,
     "keep edited lines for the next time, in $XDG_STATE_HOME/tinyllm/history (~/.local/state)"},
    {"-q,--quiet", NULL, TL_OPT_FLAG, AT(quiet), 0, 0, "no status lines; warnings and replies to commands stay"},
    {"--json", NULL, TL_OPT_FLAG, AT(json), 0, 0, "one JSON object a line for each answer"},
    {0},
};

/* ---- lines -------------------------------------------------------------------------------------------------------- */

/* Says what went wrong with a turn or a command. 0 if the next line may follow, else the error's code. */
static int complain(chat *c, tl_error *err) {
    int grave = err->code != TL_E_FORMAT && err->code != TL_E_CONTEXT && err->code != TL_E_UNSUPPORTED && err->code != TL_E_ARGUMENT &&
                err->code != TL_E_IO;
    if (grave || !err->code) return err->code ? err->code : TL_E_IO;   /* a failed write has no text: main tells of it */
    c->failed = 1;
    tl_cmd_fail(err);
    if (c->a.json) {
        tl_buf b = {0};
        tl_json j = {.out = &b};
        tl_json_begin(&j, NULL, '{');
        tl_json_cstr(&j, "error", err->text);
        tl_json_end(&j, '}');
        tl_buf_str(&b, "\n");
        fwrite(b.p, 1, b.n, stdout);
        tl_buf_free(&b);
    }
    *err = (tl_error){0};
    return tl_cmd_flush() == 0 ? 0 : TL_E_IO;
}

/* "name" of a call; "tool" if it has none. */
static void tool_name(const char *call, char *name, size_t size) {
    uint8_t closers[32];
    tl_json_in r = tl_json_open(call, strlen(call), closers, 32);
    snprintf(name, size, "tool");
    if (tl_json_value(&r) != TL_JSON_DICT || tl_json_seek(&r, "name") != TL_JSON_STRING) return;
    if (r.text.n < size && !memchr(r.text.p, '\\', r.text.n))
        snprintf(name, size, "%.*s", (int)r.text.n, r.text.p);
}

/* Asks for the results of the tools that the answer calls. CHAT_ANSWER: they are part of the conversation. */
static int ask_tools(chat *c, tl_error *err) {
    tl_buf line = {0};
    const char *call = c->tools.p;
    int n = c->n_tools, rc = 1;
    for (int i = 0; i < n && rc == 1; i++, call += strlen(call) + 1) {
        char name[40], prompt[80];
        tool_name(call, name, sizeof name);
        snprintf(prompt, sizeof prompt, "result of %s (an empty line refuses): ", name);
        c->lines.hint = "# Ctrl-D leaves, an empty line refuses";
        rc = tl_line_read(&c->lines, prompt, NULL, &line, err);
        if (rc != 1) break;
        const char *text = line.n ? line.p : "The user does not allow this call.";
        if (tl_chat_talk_add_result(&c->talk, text, strlen(text), err) != TL_OK) rc = err->code;
    }
    tl_buf_free(&line);
    return rc == 1 ? CHAT_ANSWER : rc == 0 ? CHAT_QUIT : rc;
}

/* Answers, and answers again while tools are called and somebody is there to be asked. */
static int answer(chat *c, tl_error *err) {
    for (;;) {
        int rc = tl_chat_turn(c, err);
        if (rc != TL_OK) return complain(c, err);
        if (!c->n_tools || c->lines.terminal < 0) return CHAT_NEXT_LINE;
        rc = ask_tools(c, err);
        if (rc != CHAT_ANSWER) return rc;
    }
}

static int is_empty(const tl_buf *line) {
    for (size_t i = 0; i < line->n; i++)
        if (!strchr(" \t\n", line->p[i]) || !line->p[i]) return 0;
    return 1;
}

/* A line: CHAT_NEXT_LINE, CHAT_QUIT or an error's code. */
static int take_line(chat *c, const tl_buf *line, tl_error *err) {
    const char *text = line->p;
    size_t n = line->n;
    if (is_empty(line)) return CHAT_NEXT_LINE;
    if (*text == '/' && !c->a.no_commands && text[1] != '/') {
        int rc = tl_chat_command(c, text + 1, err);
        if (rc == CHAT_ANSWER) return answer(c, err);
        return rc < 0 ? complain(c, err) : rc;
    }
    if (*text == '/' && !c->a.no_commands) text++, n--;
    c->retries = 0;
    if (c->replaces) tl_chat_talk_cut(&c->talk, tl_chat_talk_last_turn(&c->talk));
    int rc = tl_chat_talk_add(&c->talk, "user", text, n, err);
    return rc == TL_OK ? answer(c, err) : rc;
}

static int loop(chat *c, tl_error *err) {
    tl_buf line = {0};
    int rc;
    do {
        c->lines.hint = c->a.no_commands ? "# Ctrl-D leaves" : "# Ctrl-D or /quit leaves";
        rc = tl_line_read(&c->lines, "> ", c->prefill.p, &line, err);
        c->replaces = c->prefill.p && !c->lines.edit.cleared;
        tl_buf_free(&c->prefill);
        rc = rc > 0 ? take_line(c, &line, err) : rc == 0 ? CHAT_QUIT : rc;
    } while (rc == CHAT_NEXT_LINE);
    tl_buf_free(&line);
    return rc < 0 ? rc : TL_OK;
}

/* ---- the command -------------------------------------------------------------------------------------------------- */

int tl_chat_check_args(const chat_args *a, tl_error *err) {
    static const char *const overflow[] = {"stop", "shift", NULL};
    if (tl_cmd_template_check(&a->form, 1, err) != TL_OK || tl_cmd_one_of("--overflow", a->overflow, overflow, err) != TL_OK) return err->code;
    for (int i = 0; i < a->stop.n; i++)
        if (!a->stop.v[i][0]) return tl_fail(err, TL_E_ARGUMENT, "--stop: the text is empty");
    int kv = tl_cmd_kv(&a->model, err);
    if (kv < 0 || tl_cmd_speculate_check(&a->speculate, err) != TL_OK) return err->code;
    return tl_cmd_sampling_check(&a->sampling, err);
}

static int read_files(chat *c, tl_error *err) {
    tl_cmd_template_files files = {0};
    if (c->a.system && tl_chat_talk_set_system(&c->talk, c->a.system, err) != TL_OK) return err->code;
    int rc = tl_cmd_template_read(&c->a.form, &files, err);
    c->template_text = files.text;
    c->talk.tools = files.tools;
    return rc;
}

static int open_all(chat *c, const char *path, tl_error *err) {
    if (tl_chat_check_args(&c->a, err) != TL_OK || read_files(c, err) != TL_OK) return err->code;
    if (tl_cmd_constrain_read(&c->a.constrain, &c->gbnf, err) != TL_OK) return err->code;
    c->m = tl_cmd_open(&c->a.model, path, 0, err);
    if (!c->m) return err->code;
    c->known = tl_chat_known(c->m);
    if (tl_chat_turn_check(c, err) != TL_OK) {
        tl_error_context(err, "%s", path);
        return err->code;
    }
    if (c->gbnf.p && !(c->grammar = tl_grammar_new(c->m, c->gbnf.p, c->gbnf.n, err))) return err->code;
    c->seed = c->a.sampling.seed;
    tl_sampler *s = tl_cmd_sampler(&c->a.sampling, c->m, err);   /* wrong options are told now, not with the first answer */
    tl_sampler_free(s);
    if (s) c->s = tl_cmd_session(&c->a.model, c->m, (int)c->a.ctx, 0, err);
    if (!c->s || tl_cmd_speculate_open(&c->spec, &c->a.speculate, &c->a.model, c->m, c->s, err) != TL_OK) return err->code;
    tl_cmd_cache_load(c->a.cache, c->s);
    return TL_OK;
}

/* Loads or saves the lines that were edited, if that is wished. The conversation does not depend on it. */
static void keep_history(chat *c, int save) {
    tl_error err = {0};
    if (!c->a.history || c->lines.terminal < 0) return;
    if ((save ? tl_line_save_history(&c->lines, &err) : tl_line_load_history(&c->lines, &err)) != TL_OK)
        tl_status("warning: %s", err.text);
}

static void greet(const chat *c) {
    tl_model_info i = tl_model_get_info(c->m);
    tl_status("model %s (%s) | context %d", i.name[0] ? i.name : "?", i.arch, tl_session_ctx(c->s));
    if (c->lines.terminal >= 0) tl_status("/help lists commands, Ctrl-C stops an answer, Ctrl-D ends");
}

static void close_all(chat *c) {
    tl_chat_talk_free(&c->talk);
    tl_buf_free(&c->set);
    tl_buf_free(&c->gbnf);
    tl_grammar_free(c->grammar);
    tl_cmd_speculate_close(&c->spec);
    tl_buf_free(&c->thinking);
    tl_buf_free(&c->text);
    tl_buf_free(&c->tools);
    tl_buf_free(&c->call);
    tl_buf_free(&c->call_name);
    tl_buf_free(&c->call_fields);
    tl_buf_free(&c->prefill);
    tl_buf_free(&c->variables);
    tl_free(c->template_text);
    tl_session_free(c->s);
    tl_model_free(c->m);
}

static int talk(chat *c, const char *path) {
    tl_error err = {0};
    const char *no_color = getenv("NO_COLOR");
    int rc = open_all(c, path, &err);
    if (rc == TL_OK) {
        c->lines = tl_line_open();
        c->colour = c->out.is_terminal && !(no_color && *no_color) && c->lines.terminal >= 0;
        if (!c->a.quiet) greet(c);
        keep_history(c, 0);
        rc = loop(c, &err);
        keep_history(c, 1);
        tl_line_close(&c->lines);   /* before the last messages */
        if (rc == TL_OK && c->n_answers) tl_cmd_cache_save(c->a.cache, c->s);
    }
    int code = rc == TL_OK ? c->failed && c->lines.terminal < 0 : err.code ? tl_cmd_fail(&err) : 1;
    close_all(c);
    return code;
}

static int chat_main(const tl_cmd *self, int argc, char **argv) {
    tl_error err = {0};
    const char *path;
    chat *c = tl_alloc_n(1, sizeof *c, "a conversation", &err);   /* too large for a stack */
    if (!c) return tl_cmd_fail(&err);
    c->a.n = c->end = -1;
    c->a.form.think = "auto";
    c->a.overflow = "stop";
    c->a.sampling = tl_cmd_sampling_default();
    c->out = tl_term_open(stdout);
    c->out.wraps = 1;
    c->lines.terminal = -1;
    int code = tl_cmd_parse(self, &c->a, argc, argv, &path, 1, 1);
    if (code < 0) code = talk(c, path);
    tl_free(c);
    return code;
}

const tl_cmd tl_cmd_chat = {
    "chat",
    "hold a conversation",
    "MODEL [options]",
    "  tinyllm chat model.gguf --system \"Answer in one sentence.\"\n"
    "  tinyllm chat model.gguf --temp 0 --overflow shift\n"
    "  printf 'My name is Ada.\\nWhat is my name?\\n' | tinyllm chat model.gguf --quiet\n"
    "  tinyllm chat model.gguf --json < questions.txt > answers.jsonl\n"
    "\n"
    "Each line is a question; on a terminal, lines are edited, and one that ends with a backslash goes on. Standard output\n"
    "carries the answers alone. Lines that begin with / are commands: /help lists them. Ctrl-C stops an answer, a second\n"
    "one ends the program. The end of input (Ctrl-D) ends it with 0; after lines of a pipe or file with 1 if one of them\n"
    "was refused. The whole conversation is in the model's context, and only what is new is computed (/stats).\n"
    "\n"
    "With --grammar, --json-schema, --regex or --choice, a model that thinks first does so freely: the grammar begins\n"
    "behind the mark that closes its thoughts. With --think off it begins at once.\n",
    options,
    chat_main,
};
