/* SPDX-License-Identifier: MIT
 *
 * cmd_run.c: continues a text. Everything goes through the public header; this file adds reading the prompt, showing
 * the text as it comes, and the figures at the end. */
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "cmd/cmd_cache.h"
#include "cmd/cmd_constrain.h"
#include "cmd/cmd_logprobs.h"
#include "cmd/cmd_model.h"
#include "cmd/cmd_sampling.h"
#include "cmd/cmd_speculate.h"
#include "cmd/cmd_template_opts.h"
#include "cmd/term.h"

typedef struct run_args {
    tl_model_args model;
    tl_sampling_args sampling;
    tl_constrain_args constrain;
    tl_speculate_args speculate;
    tl_template_args form;
    const char *prompt, *file, *system, *cache, *given;   /* given: the text as a word behind the model */
    int64_t n, ctx, logprobs;
    tl_opt_list stop;
    int chat, special, no_bos, quiet, json, echo;
} run_args;

enum { DEFAULT_N = -2 };

#define AT(member) offsetof(run_args, member)
static const tl_opt options[] = {
    {"-p,--prompt", "TEXT", TL_OPT_STR, AT(prompt), 0, 0, "the text to continue"},
    {"-f,--file", "FILE", TL_OPT_STR, AT(file), 0, 0, "read it from FILE (-: standard input, also the default)"},
    {"--chat", NULL, TL_OPT_FLAG, AT(chat), 0, 0,
     "the text is a question: put it into the form of the model's chat template"},
    {"--system", "TEXT", TL_OPT_STR, AT(system), 0, 0, "with --chat: a system message before the question"},
    TL_TEMPLATE_OPTS(run_args, form, TL_THINK_HELP),
    {"-n,--n-predict", "N", TL_OPT_INT, AT(n), -1, INT32_MAX,
     "at most N tokens; -1: until the context is full; default 256, with --chat -1"},
    {"-c,--ctx", "N", TL_OPT_INT, AT(ctx), 1, 1 << 24,
     "context in tokens, prompt included; default: the model's, at most 4096"},
    TL_MODEL_OPTS(run_args, model),
    TL_SAMPLING_OPTS(run_args, sampling),
    TL_CONSTRAIN_OPTS(run_args, constrain),
    TL_SPECULATE_OPTS(run_args, speculate),
    {"--stop", "TEXT", TL_OPT_LIST, AT(stop), 0, 0, "end before this text (it is not printed); may be repeated"},
    {"--special", NULL, TL_OPT_FLAG, AT(special), 0, 0, "names of special tokens in the prompt mean those tokens"},
    {"--no-bos", NULL, TL_OPT_FLAG, AT(no_bos), 0, 0, "do not put the begin-of-text token first"},
    {"--cache", "FILE", TL_OPT_STR, AT(cache), 0, 0, TL_CACHE_HELP},
    {"-q,--quiet", NULL, TL_OPT_FLAG, AT(quiet), 0, 0, "no status lines; warnings stay"},
    {"--json", NULL, TL_OPT_FLAG, AT(json), 0, 0, "one JSON object with the text and the figures, at the end"},
    {"--logprobs", "N", TL_OPT_INT, AT(logprobs), 0, 100,
     "with --json: each token's log-probability and those of the N likeliest, before sampling"},
    {"--echo", NULL, TL_OPT_FLAG, AT(echo), 0, 0, "the text begins with the prompt; with --logprobs, its tokens are in them"},
    {0},
};

typedef struct run {
    run_args a;
    tl_model *m;
    tl_session *s;
    tl_sampler *smp;
    tl_cmd_template_files form;   /* of --chat-template and --tools */
    tl_buf gbnf;             /* what the text must follow; empty: anything */
    tl_grammar *grammar;
    tl_generator *g;
    tl_speculation spec;
    int32_t *prompt;         /* [n_prompt] */
    int n_prompt, n_cached, n_prefilled;   /* all of it; found in the cache; computed: the rest, less only after an interrupt */
    tl_term out;
    tl_buf text;             /* all of it with --json */
    tl_cmd_logprobs logprobs;
    int part_at, part_n;     /* rows of the prompt that are being computed */
    int news;                /* the prompt is not in the cache */
    double load, prefill;    /* seconds */
    double begun, shown;     /* times of the prompt's start and of the last progress line */
} run;

/* ---- the prompt -------------------------------------------------------------------------------------------------- */

static char *read_prompt(const run_args *a, size_t *n, tl_error *err) {
    const char *text = a->given ? a->given : a->prompt;
    if (text) {
        *n = strlen(text);
        return tl_strdup(text, err);
    }
    if (a->file && strcmp(a->file, "-") != 0) return tl_read_file(a->file, n, err);
    if (!a->file && isatty(STDIN_FILENO)) {
        tl_fail(err, TL_E_ARGUMENT,
                "run: no prompt; write it behind the model, or give -p TEXT, -f FILE, or standard input (-f - to type it); "
                "tinyllm chat holds a conversation");
        return NULL;
    }
    return tl_read_stream(stdin, "standard input", n, err);
}

static int tokenize_prompt(run *r, const char *text, size_t len, tl_error *err) {
    int flags = (r->a.no_bos ? 0 : TL_ADD_BOS) | (r->a.special ? TL_PARSE_SPECIAL : 0);
    int n = tl_tokenize(r->m, text, len, flags, NULL, 0, err);
    if (n < 0) return n;
    if (n == 0 && len > 0)
        return tl_fail(err, TL_E_ARGUMENT, "run: this model has no tokens for any byte of the prompt");
    if (n == 0)
        return tl_fail(err, TL_E_ARGUMENT, "run: the prompt is empty, and %s: there is nothing to continue; give -p TEXT",
                       r->a.no_bos ? "--no-bos was given" : "this model does not begin texts with a token of its own");
    r->prompt = tl_alloc_n((size_t)n, sizeof *r->prompt, "the prompt's tokens", err);
    if (!r->prompt) return TL_E_MEMORY;
    r->n_prompt = n;
    n = tl_tokenize(r->m, text, len, flags, r->prompt, n, err);
    return n < 0 ? n : TL_OK;
}

/* A question as JSON: an array of messages, terminated. */
static void write_messages(const char *system, const char *text, size_t len, tl_buf *out) {
    tl_json j = {.out = out};
    tl_json_begin(&j, NULL, '[');
    for (int is_user = !system; is_user < 2; is_user++) {
        tl_json_begin(&j, NULL, '{');
        tl_json_cstr(&j, "role", is_user ? "user" : "system");
        tl_json_str(&j, "content", is_user ? text : system, is_user ? len : strlen(system));
        tl_json_end(&j, '}');
    }
    tl_json_end(&j, ']');
    tl_buf_add(out, "", 1);
}

/* The text as a question, in the form of the model's chat template or of the one that is given. */
static int render_chat(run *r, const char *text, size_t len, tl_error *err) {
    const char *form = r->form.text ? r->form.text : tl_model_chat_template(r->m);
    tl_buf messages = {0}, variables = {0};
    tl_error why = {0};
    write_messages(r->a.system, text, len, &messages);
    if (messages.failed) tl_fail(err, TL_E_MEMORY, "out of memory for the messages");
    else if (form) tl_cmd_chat_variables(&r->a.form, form, messages.p, r->form.tools, &variables, &why, err);
    if (why.code) tl_status("warning: %s", why.text);
    tl_chat_options o = {.messages_json = messages.p, .tools_json = r->form.tools, .variables_json = variables.p,
                         .chat_template = r->form.text, .no_bos = r->a.no_bos};
    tl_chat *c = err->code ? NULL : tl_chat_render(r->m, &o, err);
    tl_buf_free(&messages);
    tl_buf_free(&variables);
    const int32_t *ids = tl_chat_ids(c, &r->n_prompt);
    if (c) r->prompt = tl_alloc_n((size_t)r->n_prompt + 1, sizeof *r->prompt, "the prompt's tokens", err);
    if (c && r->prompt) memcpy(r->prompt, ids, (size_t)r->n_prompt * sizeof *ids);
    if (c && !r->n_prompt) tl_fail(err, TL_E_FORMAT, "the chat template makes nothing of the question");
    tl_chat_free(c);
    if (err->code && r->a.form.file) tl_error_context(err, "%s", r->a.form.file);
    return err->code;
}

/* An answer ends by itself; what a text goes on with need not. */
static int64_t max_tokens(const run_args *a) { return a->n != DEFAULT_N ? a->n : a->chat ? -1 : 256; }

/* Never cut: the answer to a shortened question would look like an answer to the question. */
static int check_fit(const run *r, tl_error *err) {
    int ctx = tl_session_ctx(r->s);
    if (r->n_prompt <= ctx) return TL_OK;
    int64_t room = max_tokens(&r->a) >= 0 ? max_tokens(&r->a) : 256;
    return tl_fail(err, TL_E_CONTEXT,
                   "the prompt has %d tokens, the context %d; -c %lld would hold it and %lld more", r->n_prompt,
                   ctx, (long long)(r->n_prompt + room), (long long)room);
}

/* ---- computing --------------------------------------------------------------------------------------------------- */

static int prefill_progress(void *user, double done) {
    run *r = user;
    double now = tl_now(), passed = now - r->begun;
    done = (r->part_at + done * r->part_n) / (r->n_prompt - r->n_cached);
    if (!r->a.quiet && isatty(STDERR_FILENO) && passed > 2 && now - r->shown > 0.2 && done > 0) {
        tl_term_progress("prompt %.0f %%, %.4g tok/s, %.0f s left", done * 100, done * (r->n_prompt - r->n_cached) / passed,
                         passed / done - passed);
        r->shown = now;
    }
    return tl_cmd_interrupted();
}

/* Computes the prompt in parts whose logits fit into 32 MiB, and keeps the log-probabilities of its tokens. The last token
 * is a part of its own: its logits are the first of their batch. */
static int score(run *r, tl_error *err) {
    enum { MAX_ROWS = 256 };
    const int per_part = (8 << 20) / tl_model_get_info(r->m).n_vocab, most = per_part < 1 ? 1 : per_part > MAX_ROWS ? MAX_ROWS : per_part;
    uint8_t want[MAX_ROWS];
    memset(want, 1, sizeof want);
    tl_cmd_logprobs_add(&r->logprobs, r->prompt[0], NULL);
    int rc = TL_OK;
    for (int at = 0, n; at < r->n_prompt && rc == TL_OK; at += n) {
        const int left = r->n_prompt - 1 - at;
        n = left < 1 ? 1 : left < most ? left : most;
        r->part_at = at;
        r->part_n = n;
        rc = tl_session_eval(r->s, &(tl_batch){.n = n, .token = r->prompt + at, .want = want}, err);
        for (int i = 0; i < n && rc == TL_OK && at + i + 1 < r->n_prompt; i++)
            tl_cmd_logprobs_add(&r->logprobs, r->prompt[at + i + 1], tl_session_logits(r->s, i));
    }
    return rc;
}

static int prefill(run *r, tl_error *err) {
    tl_cmd_cache_load(r->a.cache, r->s);
    int same = tl_cmd_cache_common(r->s, r->prompt, r->n_prompt);
    r->n_cached = same < r->n_prompt ? same : same - 1;   /* the last one is computed for its logits */
    r->news = same < r->n_prompt;
    r->begun = tl_now();
    tl_session_set_progress(r->s, prefill_progress, r);
    r->part_n = r->n_prompt - r->n_cached;
    int rc = r->logprobs.row && r->a.echo ? score(r, err) : tl_session_prompt(r->s, 0, r->prompt, r->n_prompt, err);
    tl_session_set_progress(r->s, NULL, NULL);
    tl_term_progress_end();
    r->prefill = tl_now() - r->begun;
    r->n_prefilled = tl_session_pos(r->s, 0) - r->n_cached;
    if (rc == TL_E_CANCELLED) {
        tl_step step;
        *err = (tl_error){0};
        return tl_generator_end(r->g, TL_END_CANCELLED, &step, err);
    }
    for (int i = 0; i < r->n_prompt; i++) tl_sampler_accept(r->smp, r->prompt[i]);
    return rc < 0 ? rc : TL_OK;
}

static int show(void *user, const char *text, size_t n) {
    run *r = user;
    if (r->a.json) tl_buf_add(&r->text, text, n);
    else tl_term_write(&r->out, text, n);
    return tl_cmd_interrupted() || (n && !r->a.json && tl_cmd_flush() != 0);
}

/* Control tokens of the prompt are not shown, as in the text that follows. */
static int echo(run *r, tl_error *err) {
    const size_t n = tl_detokenize(r->m, r->prompt, r->n_prompt, 0, NULL, 0);
    char *text = tl_alloc_n(n + 1, 1, "the prompt's text", err);
    if (!text) return TL_E_MEMORY;
    tl_detokenize(r->m, r->prompt, r->n_prompt, 0, text, n);
    show(r, text, n);
    tl_free(text);
    return TL_OK;
}

static int compute(run *r, tl_error *err) {
    int rc = prefill(r, err);
    if (rc == TL_OK && r->a.echo) rc = echo(r, err);
    if (rc == TL_OK) rc = tl_generate(r->s, 0, r->g, show, r, err);
    tl_term_end_line(&r->out);
    if (rc == TL_OK && r->news) tl_cmd_cache_save(r->a.cache, r->s);
    return rc == TL_OK ? tl_cmd_flush() : rc;
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

static double gb_per_second(const run *r, const tl_generator_stats *g) {
    return tl_cmd_rate((double)tl_model_get_info(r->m).bytes_per_token * g->n_passes * 1e-9, g->seconds);
}

static void print_model(const run *r) {
    tl_model_info i = tl_model_get_info(r->m);
    char size[32];
    tl_status("model %s (%s), %.4g M parameters, %s | cpu %s, %d thread%s | context %d", i.name[0] ? i.name : "?",
              i.arch, (double)i.n_params * 1e-6, tl_bytes_text(size, (double)i.file_bytes), i.cpu, tl_session_threads(r->s),
              tl_session_threads(r->s) == 1 ? "" : "s", tl_session_ctx(r->s));
}

/* Why the text ended, where its end is not its own. */
static void print_finish(const run *r, const tl_generator_stats *g) {
    if (g->finish == TL_END_LENGTH && g->n_tokens)
        tl_status("stopped: after %d token%s (-n N for more)", g->n_tokens, g->n_tokens == 1 ? "" : "s");
    if (g->finish == TL_END_CONTEXT) tl_status("stopped: the context of %d tokens is full (-c N for more)", tl_session_ctx(r->s));
    if (g->finish == TL_END_CANCELLED) tl_status("stopped: interrupted");
}

static void print_figures(const run *r) {
    tl_generator_stats g = tl_generator_get_stats(r->g);
    print_finish(r, &g);
    if (g.finish == TL_END_CANCELLED && !g.n_tokens) return;   /* nothing was measured */
    char speed[80] = "", drafted[80] = "";   /* the prompt's logits give the first token: one alone has no speed */
    if (g.n_computed)
        snprintf(speed, sizeof speed, ", %.4g tok/s, %.3g GB/s read", tl_cmd_rate(g.n_computed, g.seconds), gb_per_second(r, &g));
    char cached[40] = "";
    if (r->n_cached) snprintf(cached, sizeof cached, " and %d cached", r->n_cached);
    if (r->spec.draft) snprintf(drafted, sizeof drafted, " | %d passes, %d of %d drafted tokens right", g.n_passes, g.n_accepted, g.n_drafted);
    tl_status("load %.0f ms | prefill %d tok%s, %.4g tok/s | decode %d tok%s%s | seed %lld", r->load * 1e3, r->n_prefilled, cached,
              tl_cmd_rate(r->n_prefilled, r->prefill), g.n_tokens, speed, drafted, (long long)tl_sampler_seed(r->smp));
}

static int print_json(run *r, tl_error *err) {
    tl_model_info i = tl_model_get_info(r->m);
    tl_generator_stats g = tl_generator_get_stats(r->g);
    tl_buf b = {0};
    tl_json j = {&b, 0, 0};
    tl_json_begin(&j, NULL, '{');
    tl_json_str(&j, "text", r->text.p ? r->text.p : "", r->text.n);
    const int n_echoed = r->a.echo ? r->n_prompt : 0, n_kept = n_echoed + g.n_tokens;
    int rc = r->logprobs.row && r->n_prefilled == r->n_prompt - r->n_cached ? tl_cmd_logprobs_json(&r->logprobs, n_echoed, n_kept, &j, err) : TL_OK;
    tl_json_i64(&j, "tokens", g.n_tokens);
    tl_json_i64(&j, "prompt_tokens", r->n_prompt);
    tl_json_i64(&j, "cached_tokens", r->n_cached);
    tl_json_cstr(&j, "finish", tl_finish_name(g.finish));
    tl_json_i64(&j, "seed", tl_sampler_seed(r->smp));
    tl_json_cstr(&j, "model", i.name);
    tl_json_cstr(&j, "arch", i.arch);
    tl_json_cstr(&j, "cpu", i.cpu);
    tl_json_i64(&j, "threads", tl_session_threads(r->s));
    tl_json_i64(&j, "ctx", tl_session_ctx(r->s));
    tl_json_num(&j, "load_ms", r->load * 1e3);
    tl_json_num(&j, "ttft_ms", g.n_tokens ? (r->prefill + g.first_seconds) * 1e3 : NAN);
    tl_json_num(&j, "prefill_tok_s", tl_cmd_rate(r->n_prefilled, r->prefill));
    tl_json_num(&j, "decode_tok_s", tl_cmd_rate(g.n_computed, g.seconds));
    tl_json_num(&j, "gb_s", gb_per_second(r, &g));
    tl_json_i64(&j, "passes", g.n_passes);
    tl_json_i64(&j, "drafted", g.n_drafted);
    tl_json_i64(&j, "accepted", g.n_accepted);
    tl_json_end(&j, '}');
    tl_buf_str(&b, "\n");
    if (rc == TL_OK && (b.failed || r->text.failed)) rc = tl_fail(err, TL_E_MEMORY, "out of memory for the JSON text");
    if (rc == TL_OK) {
        fwrite(b.p, 1, b.n, stdout);
        rc = tl_cmd_flush();
    }
    tl_buf_free(&b);
    return rc;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int check_args(const run_args *a, tl_error *err) {
    if (a->given && (a->prompt || a->file)) return tl_fail(err, TL_E_ARGUMENT, "run: the text is given twice: as a word and with -%c", a->prompt ? 'p' : 'f');
    if (a->prompt && a->file) return tl_fail(err, TL_E_ARGUMENT, "run: -p and -f cannot be given together");
    if (a->logprobs >= 0 && !a->json) return tl_fail(err, TL_E_ARGUMENT, "run: --logprobs needs --json");
    if (a->logprobs >= 0 && a->echo && a->cache)
        return tl_fail(err, TL_E_ARGUMENT, "run: --echo with --logprobs computes the whole prompt: leave out --cache");
    const char *needs_chat = a->system ? "--system" : tl_cmd_template_given(&a->form);
    if (needs_chat && !a->chat) return tl_fail(err, TL_E_ARGUMENT, "run: %s needs --chat", needs_chat);
    for (int i = 0; i < a->stop.n; i++)
        if (!a->stop.v[i][0]) return tl_fail(err, TL_E_ARGUMENT, "run: --stop: the text is empty");
    int kv = tl_cmd_kv(&a->model, err);
    if (kv < 0 || tl_cmd_template_check(&a->form, 0, err) != TL_OK || tl_cmd_speculate_check(&a->speculate, err) != TL_OK) return err->code;
    return tl_cmd_sampling_check(&a->sampling, err);
}

static int open_all(run *r, const char *path, tl_error *err) {
    size_t len = 0;
    int rc = check_args(&r->a, err);
    if (rc != TL_OK) return rc;
    if (tl_cmd_template_read(&r->a.form, &r->form, err) != TL_OK) return err->code;
    rc = tl_cmd_constrain_read(&r->a.constrain, &r->gbnf, err);
    if (rc != TL_OK) return rc;
    char *text = read_prompt(&r->a, &len, err);   /* before the model: a missing file should be told at once */
    if (!text) return err->code;
    double start = tl_now();
    r->m = tl_cmd_open(&r->a.model, path, 0, err);
    r->load = tl_now() - start;
    rc = !r->m ? err->code : r->a.chat ? render_chat(r, text, len, err) : tokenize_prompt(r, text, len, err);
    tl_free(text);
    if (rc != TL_OK) return rc;
    r->s = tl_cmd_session(&r->a.model, r->m, (int)r->a.ctx, 0, err);
    if (r->s) rc = check_fit(r, err);
    if (r->s && rc == TL_OK) r->smp = tl_cmd_sampler(&r->a.sampling, r->m, err);
    if (!r->smp || (r->gbnf.p && !(r->grammar = tl_grammar_new(r->m, r->gbnf.p, r->gbnf.n, err)))) return err->code;
    if (tl_cmd_speculate_open(&r->spec, &r->a.speculate, &r->a.model, r->m, r->s, err) != TL_OK) return err->code;
    tl_generator_options o = {.max_tokens = (int)max_tokens(&r->a), .stop = r->a.stop.v, .n_stop = r->a.stop.n,
                              .grammar = r->grammar, .draft = r->spec.draft};
    if (r->a.logprobs >= 0) {
        if (tl_cmd_logprobs_init(&r->logprobs, r->m, (int)r->a.logprobs, err) != TL_OK) return err->code;
        o.picked = tl_cmd_logprobs_add;
        o.picked_user = &r->logprobs;
    }
    r->g = tl_generator_new(r->m, r->smp, &o, err);
    return r->g ? TL_OK : err->code;
}

static int run_main(const tl_cmd *self, int argc, char **argv) {
    run r = {.a = {.n = DEFAULT_N, .logprobs = -1, .sampling = tl_cmd_sampling_default()}, .out = tl_term_open(stdout)};
    tl_error err = {0};
    const char *words[2];
    int code = tl_cmd_parse(self, &r.a, argc, argv, words, 1, 2);
    if (code >= 0) return code;
    r.a.given = words[1];
    int rc = open_all(&r, words[0], &err);
    if (rc == TL_OK) {
        tl_cmd_catch_interrupt();
        if (!r.a.quiet) print_model(&r);
        rc = compute(&r, &err);
        if (r.a.json && rc == TL_OK) rc = print_json(&r, &err);
        if (!r.a.quiet && rc == TL_OK) print_figures(&r);
    }
    /* Where writing failed, main says so. */
    code = rc == TL_OK ? 0 : err.code ? tl_cmd_fail(&err) : 1;
    tl_buf_free(&r.text);
    tl_cmd_logprobs_free(&r.logprobs);
    tl_cmd_template_free(&r.form);
    tl_buf_free(&r.gbnf);
    tl_free(r.prompt);
    tl_generator_free(r.g);
    tl_grammar_free(r.grammar);
    tl_cmd_speculate_close(&r.spec);
    tl_sampler_free(r.smp);
    tl_session_free(r.s);
    tl_model_free(r.m);
    return code;
}

const tl_cmd tl_cmd_run = {
    "run",
    "continue a text",
    "MODEL [TEXT | -p TEXT | -f FILE] [options]",
    "  tinyllm run model.gguf \"Once upon a time\" -n 64\n"
    "  tinyllm run model.gguf --chat -p \"Why is the sky blue?\"\n"
    "  tinyllm run model.gguf --temp 0 --quiet < question.txt > answer.txt\n"
    "  tinyllm run model.gguf -p \"1, 2, 3,\" --stop 10 --json\n"
    "\n"
    "Standard output carries the new text alone, without the prompt. The text ends with the token that means end or\n"
    "before a --stop text (\"finish\": \"stop\"), after -n tokens (\"length\"), when the context is full (\"context\"),\n"
    "or with Ctrl-C (\"cancelled\"), which still prints the figures and exits with 0; a second one kills. A prompt\n"
    "longer than the context is refused. GB/s counts the weights read. --cache takes the place of FILE when the prompt is\n"
    "not in it; a file of another model or of other settings is named and replaced.\n"
    "\n"
    "--logprobs adds \"logprobs\": {\"tokens\", \"token_ids\", \"token_logprobs\", \"top_logprobs\", \"text_offset\"}, arrays with\n"
    "an element for each token: natural logarithms of the model's own probabilities (log-softmax of its logits), before\n"
    "bias, grammar and sampler. text_offset counts characters of \"text\". The first token with --echo has null.\n"
    "\n"
    "With --speculate or --draft the text is the same: each token is picked as without. How many tokens are guessed, or\n"
    "none, follows from what it gains; prompts that the answer quotes gain most.\n",
    options,
    run_main,
};
