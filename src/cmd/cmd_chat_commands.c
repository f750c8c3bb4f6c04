/* SPDX-License-Identifier: MIT
 *
 * cmd_chat_commands.c: the commands of chat_commands.def. Each gets what stands behind its name, without blanks around. */
#include <string.h>
#include "cmd/cmd_chat.h"

typedef int command_fn(chat *c, const char *arg, tl_error *err);

static int want(const char *arg, const char *command, const char *what, tl_error *err) {
    return *arg ? TL_OK : tl_fail(err, TL_E_ARGUMENT, "/%s wants %s", command, what);
}

/* Where the last question stands, or an error. */
static int question(const chat *c, tl_error *err) {
    int i = tl_chat_talk_last_turn(&c->talk);
    return i >= 0 ? i : tl_fail(err, TL_E_ARGUMENT, "there is no question yet");
}

static int reset(chat *c, const char *arg, tl_error *err) {
    (void)arg, (void)err;
    tl_chat_talk_cut(&c->talk, 0);
    c->retries = 0;
    tl_status("the conversation is forgotten");
    return CHAT_NEXT_LINE;
}

static int undo(chat *c, const char *arg, tl_error *err) {
    (void)arg;
    int i = question(c, err);
    if (i < 0) return i;
    tl_chat_talk_cut(&c->talk, i);
    tl_status("the last question is taken back, %d message%s left", i, i == 1 ? " is" : "s are");
    return CHAT_NEXT_LINE;
}

static int retry(chat *c, const char *arg, tl_error *err) {
    (void)arg;
    int i = question(c, err);
    if (i < 0) return i;
    tl_chat_talk_cut(&c->talk, i + 1);
    c->retries++;
    return CHAT_ANSWER;
}

static int edit(chat *c, const char *arg, tl_error *err) {
    int i = question(c, err);
    if (i < 0) return i;
    if (!*arg && c->lines.terminal < 0) return want(arg, "edit", "a text where lines cannot be edited", err);
    if (!*arg) return tl_chat_message_text(&c->talk.m[i], &c->prefill, err) == TL_OK ? CHAT_NEXT_LINE : err->code;
    tl_chat_talk_cut(&c->talk, i);
    int rc = tl_chat_talk_add(&c->talk, "user", arg, strlen(arg), err);
    return rc == TL_OK ? CHAT_ANSWER : rc;
}

static int show_system(const chat *c, tl_error *err) {
    tl_buf text = {0};
    int rc = c->talk.system.role ? tl_chat_message_text(&c->talk.system, &text, err) : TL_OK;
    if (rc == TL_OK) tl_status("%s%s", text.p ? "system: " : "there is no system message", text.p ? text.p : "");
    tl_buf_free(&text);
    return rc == TL_OK ? CHAT_NEXT_LINE : rc;
}

static int set_system(chat *c, const char *arg, tl_error *err) {
    if (!*arg) return show_system(c, err);
    chat_talk old = {.system = c->talk.system};
    c->talk.system = (chat_message){0};
    int rc = tl_chat_talk_set_system(&c->talk, strcmp(arg, "\"\"") == 0 ? "" : arg, err);
    if (rc == TL_OK) rc = tl_chat_turn_check(c, err);   /* some templates take none */
    if (rc != TL_OK) {
        chat_message refused = c->talk.system;
        c->talk.system = old.system;
        old.system = refused;
    }
    tl_chat_talk_free(&old);
    return rc == TL_OK ? CHAT_NEXT_LINE : rc;
}

static int tool(chat *c, const char *arg, tl_error *err) {
    if (want(arg, "tool", "the tool's result", err) != TL_OK) return err->code;
    const char *role = c->talk.n ? c->talk.m[c->talk.n - 1].role : "";
    if (strcmp(role, "assistant") != 0 && strcmp(role, "tool") != 0)
        return tl_fail(err, TL_E_ARGUMENT, "there is no answer that could have called a tool");
    int rc = tl_chat_talk_add_result(&c->talk, arg, strlen(arg), err);
    return rc == TL_OK ? CHAT_ANSWER : rc;
}

static int save(chat *c, const char *arg, tl_error *err) {
    if (want(arg, "save", "the name of a file", err) != TL_OK || tl_chat_talk_save(&c->talk, arg, err) != TL_OK) return err->code;
    const int n = c->talk.n + (c->talk.system.role != NULL);
    tl_status("saved: %d message%s", n, n == 1 ? "" : "s");
    return CHAT_NEXT_LINE;
}

/* A message in one line: who says what, and of a long text the beginning. */
static int show_message(const chat_message *m, tl_error *err) {
    enum { SHORT = 64 };   /* characters */
    tl_buf text = {0};
    int rc = tl_chat_message_text(m, &text, err), shown = 0;
    size_t n = 0;
    for (; rc == TL_OK && n < text.n && shown < SHORT; n++) {
        if (strchr("\n\r\t", text.p[n])) text.p[n] = ' ';
        shown += n + 1 == text.n || ((unsigned char)text.p[n + 1] & 0xC0) != 0x80;
    }
    if (rc == TL_OK) tl_status("  %s: %.*s%s", m->role, (int)n, n ? text.p : "", n < text.n ? "..." : "");
    tl_buf_free(&text);
    return rc;
}

/* Where a conversation stands: its size, its last two turns, and whether it waits for an answer. */
static int show_talk(const chat *c, int n_tokens, tl_error *err) {
    const chat_talk *t = &c->talk;
    int turns = 0, from = 0, rc = TL_OK;
    for (int i = 0; i < t->n; i++) turns += strcmp(t->m[i].role, "user") == 0;
    for (int i = 0, left = turns; i < t->n; i++)
        if (strcmp(t->m[i].role, "user") == 0 && left-- == 2) from = i;
    if (turns < 2) from = 0;
    tl_status("loaded: %d message%s, %d turn%s, %d of %d tokens", t->n + (t->system.role != NULL), t->n + (t->system.role != NULL) == 1 ? "" : "s",
              turns, turns == 1 ? "" : "s", n_tokens, tl_session_ctx(c->s));
    if (t->n - from > 8) from = t->n - 8;   /* many results of tools */
    for (int i = from; i < t->n && rc == TL_OK; i++) rc = show_message(&t->m[i], err);
    if (rc == TL_OK && t->n && strcmp(t->m[t->n - 1].role, "user") == 0) tl_status("the last question has no answer: /retry asks it again");
    return rc;
}

static int load(chat *c, const char *arg, tl_error *err) {
    chat_talk old = c->talk;
    int n_tokens = 0;
    if (want(arg, "load", "the name of a file", err) != TL_OK) return err->code;
    c->talk = (chat_talk){0};
    int rc = tl_chat_talk_load(&c->talk, arg, err);
    if (rc == TL_OK && (rc = tl_chat_turn_try(c, &n_tokens, err)) != TL_OK) tl_error_context(err, "%s", arg);
    if (rc != TL_OK) {
        chat_talk refused = c->talk;
        c->talk = old;
        old = refused;
    } else {
        c->retries = 0;
        rc = show_talk(c, n_tokens, err);
    }
    tl_chat_talk_free(&old);
    return rc == TL_OK ? CHAT_NEXT_LINE : rc;
}

static const tl_opt settable[] = {
    TL_SAMPLING_OPTS(chat_args, sampling),
    {"-n,--n-predict", "N", TL_OPT_INT, offsetof(chat_args, n), -1, INT32_MAX, "at most N tokens an answer; -1: no limit"},
    {"--think", "HOW", TL_OPT_STR, offsetof(chat_args, form.think), 0, 0, "auto, on, off or hide"},
    {"--overflow", "HOW", TL_OPT_STR, offsetof(chat_args, overflow), 0, 0, "stop or shift"},
    {"--stop", "TEXT", TL_OPT_LIST, offsetof(chat_args, stop), 0, 0, "end answers before this text"},
    {0},
};

/* A word that options may point into as long as the program runs. */
static char *keep(chat *c, const char *before, const char *word, size_t n, tl_error *err) {
    size_t len = strlen(before) + n + 1;
    if (!c->set.p) {
        c->set.cap = 1 << 16;
        if (!(c->set.p = tl_alloc_n(c->set.cap, 1, "settings", err))) return NULL;
    }
    if (len > c->set.cap - c->set.n) {
        tl_fail(err, TL_E_ARGUMENT, "/set: too many words");
        return NULL;
    }
    char *at = c->set.p + c->set.n;
    snprintf(at, len, "%s%.*s", before, (int)n, word);
    c->set.n += len;
    return at;
}

/* The value of an option as /set takes it; a text that is not given, a list without any: "default". */
static void write_value(const chat *c, const tl_opt *o, tl_buf *out) {
    const char *at = (const char *)&c->a + o->at;
    const tl_opt_list *list = (const void *)at;
    const char *text = o->kind == TL_OPT_STR ? *(const char *const *)(const void *)at : NULL;
    if (o->kind == TL_OPT_FLAG) tl_buf_str(out, *(const int *)(const void *)at ? "on" : "off");
    if (o->kind == TL_OPT_INT) tl_buf_fmt(out, "%lld", (long long)*(const int64_t *)(const void *)at);
    if (o->kind == TL_OPT_NUM) tl_buf_fmt(out, "%.7g", *(const double *)(const void *)at);
    if (o->kind == TL_OPT_STR) tl_buf_str(out, text ? text : "default");
    for (int i = 0; o->kind == TL_OPT_LIST && i < list->n; i++) tl_buf_fmt(out, "%s%s", i ? " " : "", list->v[i]);
    if (o->kind == TL_OPT_LIST && !list->n) tl_buf_str(out, "default");
}

static const char *setting_name(const tl_opt *o) { return strstr(o->names, "--") + 2; }

/* The setting that a word [n] names, with or without dashes, or an error. */
static const tl_opt *find_setting(const char *word, size_t n, tl_error *err) {
    const char *names[64] = {0};
    char text[40];
    while (n && *word == '-') word++, n--;
    snprintf(text, sizeof text, "%.*s", (int)(n < 39 ? n : 39), word);
    for (int i = 0; settable[i].names; i++) {
        const tl_opt *o = &settable[i];
        if (n == 1 ? o->names[0] == '-' && o->names[1] == *word : strcmp(setting_name(o), text) == 0) return o;
        if (i < 63) names[i] = setting_name(o);
    }
    const char *near = tl_nearest(text, names);
    if (near) tl_fail(err, TL_E_ARGUMENT, "/set: there is no setting %s; did you mean %s?", text, near);
    else tl_fail(err, TL_E_ARGUMENT, "/set: there is no setting %s (/set lists them)", text);
    return NULL;
}

static int show_setting(const chat *c, const tl_opt *o, int with_help, tl_error *err) {
    tl_buf value = {0};
    write_value(c, o, &value);
    tl_buf_add(&value, "", 1);
    int rc = value.failed ? tl_fail(err, TL_E_MEMORY, "out of memory for a setting") : CHAT_NEXT_LINE;
    if (!value.failed) tl_status("%-20s %s%s%s", setting_name(o), value.p, with_help ? ": " : "", with_help ? o->help : "");
    tl_buf_free(&value);
    return rc;
}

static int show_settings(const chat *c, tl_error *err) {
    int rc = CHAT_NEXT_LINE;
    for (const tl_opt *o = settable; o->names && rc == CHAT_NEXT_LINE; o++) rc = show_setting(c, o, 0, err);
    tl_status("(/set NAME says what it is, /set NAME VALUE changes it)");
    return rc;
}

/* Whether changed settings can be used, and uses them. */
static int take_settings(chat *c, const chat_args *changed, tl_error *err) {
    if (tl_chat_check_args(changed, err) != TL_OK) return err->code;
    tl_sampler *s = tl_cmd_sampler(&changed->sampling, c->m, err);   /* what only the model can tell */
    if (!s) return err->code;
    tl_sampler_free(s);
    const char *think = c->a.form.think;
    if (changed->sampling.seed != c->a.sampling.seed) c->seed = changed->sampling.seed;
    c->a = *changed;
    if (strcmp(think, changed->form.think) == 0 || tl_chat_turn_check(c, err) == TL_OK) return TL_OK;
    c->a.form.think = think;
    return err->code;
}

static int set(chat *c, const char *arg, tl_error *err) {
    size_t n = strcspn(arg, " \t");
    const char *value = arg + n + strspn(arg + n, " \t");
    if (!*arg) return show_settings(c, err);
    const tl_opt *o = find_setting(arg, n, err);
    if (!o) return err->code;
    if (!*value && o->kind != TL_OPT_FLAG) return show_setting(c, o, 1, err);   /* a flag's name alone sets it */
    const char *pos[1], *name = setting_name(o);
    char *words[2] = {keep(c, "--", name, strlen(name), err), *value ? keep(c, "", value, strlen(value), err) : NULL};
    if (err->code) return err->code;
    chat_args changed = c->a;
    int n_pos;
    if (tl_opts_parse(settable, NULL, &changed, *value ? 2 : 1, words, pos, 0, &n_pos, err) != TL_OK) return err->code;
    return take_settings(c, &changed, err) == TL_OK ? show_setting(c, o, 0, err) : err->code;
}

static int stats(chat *c, const char *arg, tl_error *err) {
    (void)arg, (void)err;
    const tl_generator_stats *g = &c->stats;
    tl_status("context: %d of %d tokens, %d message%s", tl_session_pos(c->s, 0), tl_session_ctx(c->s), c->talk.n,
              c->talk.n == 1 ? "" : "s");
    if (!c->n_answers) return CHAT_NEXT_LINE;
    tl_status("last answer: %d tokens of the prompt kept, %d computed at %.4g tok/s; %d tokens answered at %.4g tok/s", c->n_kept,
              c->n_prompt - c->n_kept, tl_cmd_rate(c->n_prompt - c->n_kept, c->prefill_seconds), g->n_tokens,
              tl_cmd_rate(g->n_computed, g->seconds));
    tl_status("all %d answer%s: %lld tokens kept, %lld computed, %lld answered | seed of the last %lld", c->n_answers,
              c->n_answers == 1 ? "" : "s", (long long)c->all_kept, (long long)c->all_computed, (long long)c->all_tokens, (long long)c->answer_seed);
    if (c->spec.draft)
        tl_status("drafts: of the last answer %d of %d drafted tokens right, of all %lld of %lld", g->n_accepted, g->n_drafted,
                  (long long)c->all_accepted, (long long)c->all_drafted);
    return CHAT_NEXT_LINE;
}

static int quit(chat *c, const char *arg, tl_error *err) {
    (void)c, (void)arg, (void)err;
    return CHAT_QUIT;
}

static int help(chat *c, const char *arg, tl_error *err);

static const struct { const char *name, *args; command_fn *fn; const char *help; } commands[] = {
#define CHAT_COMMAND(name, args, fn, help) {name, args, fn, help},
#include "chat_commands.def"
#undef CHAT_COMMAND
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static int help(chat *c, const char *arg, tl_error *err) {
    (void)arg, (void)err;
    for (int i = 0; i < N_COMMANDS; i++) {
        char form[40];
        snprintf(form, sizeof form, "/%s %s", commands[i].name, commands[i].args);
        tl_status("%-20s %s", form, commands[i].help);
    }
    tl_status("Any other line is a question; // begins one with a slash.");
    if (c->lines.terminal >= 0) tl_status("A backslash at the end or Alt-Enter begins a new line. Ctrl-R searches earlier lines. Ctrl-C stops an answer.");
    return CHAT_NEXT_LINE;
}

int tl_chat_command(chat *c, const char *line, tl_error *err) {
    const char *names[N_COMMANDS + 1] = {0};
    char word[32];
    size_t n = strcspn(line, " \t");
    tl_buf arg = {0};
    snprintf(word, sizeof word, "%.*s", (int)(n < 31 ? n : 31), line);
    for (int i = 0; i < N_COMMANDS; i++) {
        names[i] = commands[i].name;
        if (strcmp(names[i], word) != 0) continue;
        const char *from = line + n + strspn(line + n, " \t");
        size_t len = strlen(from);
        while (len && strchr(" \t", from[len - 1])) len--;
        tl_buf_add(&arg, from, len);
        tl_buf_add(&arg, "", 1);
        int rc = arg.failed ? tl_fail(err, TL_E_MEMORY, "out of memory for a line") : commands[i].fn(c, arg.p, err);
        tl_buf_free(&arg);
        return rc;
    }
    const char *near = tl_nearest(word, names);
    if (near) return tl_fail(err, TL_E_ARGUMENT, "unknown command /%s; did you mean /%s?", word, near);
    return tl_fail(err, TL_E_ARGUMENT, "unknown command /%s (/help lists them; // begins a question with a slash)", word);
}
