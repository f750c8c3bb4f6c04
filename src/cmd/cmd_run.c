/* SPDX-License-Identifier: MIT
 *
 * cmd_run.c: continues a text. Everything goes through the public header; this file adds reading the prompt, showing
 * the text as it comes, and the figures at the end. */
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "base/stops.h"
#include "cmd/cmd_model.h"
#include "cmd/cmd_sampling.h"

typedef struct run_args {
    tl_model_args model;
    tl_sampling_args sampling;
    const char *prompt, *file, *system;
    int64_t n, ctx;
    tl_opt_list stop;
    int chat, special, no_bos, quiet, json;
} run_args;

#define AT(member) offsetof(run_args, member)
static const tl_opt options[] = {
    {"-p,--prompt", "TEXT", TL_OPT_STR, AT(prompt), 0, 0, "the text to continue"},
    {"-f,--file", "FILE", TL_OPT_STR, AT(file), 0, 0, "read it from FILE (-: standard input, also the default)"},
    {"--chat", NULL, TL_OPT_FLAG, AT(chat), 0, 0,
     "the text is a question: put it into the form of the model's chat template"},
    {"--system", "TEXT", TL_OPT_STR, AT(system), 0, 0, "with --chat: a system message before the question"},
    {"-n,--n-predict", "N", TL_OPT_INT, AT(n), -1, INT32_MAX,
     "at most N tokens; -1: until the context is full; default 256"},
    {"-c,--ctx", "N", TL_OPT_INT, AT(ctx), 1, INT32_MAX,
     "context in tokens, prompt included; default: the model's, at most 4096"},
    TL_MODEL_OPTS(run_args, model),
    TL_SAMPLING_OPTS(run_args, sampling),
    {"--stop", "TEXT", TL_OPT_LIST, AT(stop), 0, 0, "end before this text (it is not printed); may be repeated"},
    {"--special", NULL, TL_OPT_FLAG, AT(special), 0, 0, "names of special tokens in the prompt mean those tokens"},
    {"--no-bos", NULL, TL_OPT_FLAG, AT(no_bos), 0, 0, "do not put the begin-of-text token first"},
    {"-q,--quiet", NULL, TL_OPT_FLAG, AT(quiet), 0, 0, "no status lines; warnings stay"},
    {"--json", NULL, TL_OPT_FLAG, AT(json), 0, 0, "one JSON object with the text and the figures, at the end"},
    {0},
};

enum { PIECE = 1024 };   /* bytes shown at once */
enum finish { GOING, STOP, LENGTH, CONTEXT, CANCELLED };
static const char *const finish_names[] = {"", "stop", "length", "context", "cancelled"};

typedef struct run {
    run_args a;
    tl_model *m;
    tl_session *s;
    tl_sampler *smp;
    int32_t *prompt;         /* [n_prompt] */
    int n_prompt, n_prefilled;   /* n_prefilled is less only after an interrupt */
    int n_tokens;            /* generated, without the one that ends the text */
    int n_decoded;           /* tokens computed one at a time */
    tl_utf8_stream utf8;
    tl_stops stops;
    tl_buf text;             /* all of it with --json, else the part that is about to be printed */
    int stopped;             /* at a stop text: no more is shown */
    enum finish finish;
    double load, prefill, decode, first;   /* seconds; first: from the prompt's start to the first token */
    double begun, shown;     /* times of the prompt's start and of the last progress line (0: none is visible) */
} run;

/* ---- the prompt -------------------------------------------------------------------------------------------------- */

static char *read_prompt(const run_args *a, size_t *n, tl_error *err) {
    if (a->prompt) {
        *n = strlen(a->prompt);
        return tl_strdup(a->prompt, err);
    }
    if (a->file && strcmp(a->file, "-") != 0) return tl_read_file(a->file, n, err);
    if (!a->file && isatty(STDIN_FILENO)) {
        tl_fail(err, TL_E_ARGUMENT,
                "run: no prompt; give -p TEXT, -f FILE, or text on standard input (-f - to type it)");
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
        return tl_fail(err, TL_E_ARGUMENT, "run: the prompt is empty, and %s: there is nothing to continue",
                       r->a.no_bos ? "--no-bos was given" : "this model does not begin texts with a token of its own");
    r->prompt = tl_alloc_n((size_t)n, sizeof *r->prompt, "the prompt's tokens", err);
    if (!r->prompt) return TL_E_MEMORY;
    r->n_prompt = n;
    n = tl_tokenize(r->m, text, len, flags, r->prompt, n, err);
    return n < 0 ? n : TL_OK;
}

/* The text as a question, in the form of the model's chat template. */
static int render_chat(run *r, const char *text, size_t len, tl_error *err) {
    tl_chat_message messages[2] = {{"system", r->a.system, 0}, {"user", text, len}};
    int skip = !r->a.system;
    tl_chat_options o = {.messages = messages + skip, .n_messages = 2 - skip, .no_bos = r->a.no_bos};
    tl_chat *c = tl_chat_render(r->m, &o, err);
    const int32_t *ids = tl_chat_ids(c, &r->n_prompt);
    if (c) r->prompt = tl_alloc_n((size_t)r->n_prompt + 1, sizeof *r->prompt, "the prompt's tokens", err);
    if (c && r->prompt) memcpy(r->prompt, ids, (size_t)r->n_prompt * sizeof *ids);
    if (c && !r->n_prompt) tl_fail(err, TL_E_ARGUMENT, "run: the chat template makes nothing of the question");
    tl_chat_free(c);
    return err->code;
}

/* Never cut: the answer to a shortened question would look like an answer to the question. */
static int check_fit(const run *r, tl_error *err) {
    int ctx = tl_session_ctx(r->s);
    if (r->n_prompt <= ctx) return TL_OK;
    int64_t room = r->a.n >= 0 ? r->a.n : 256;
    return tl_fail(err, TL_E_CONTEXT,
                   "the prompt has %d tokens, the context %d; -c %lld would hold it and %lld more", r->n_prompt,
                   ctx, (long long)(r->n_prompt + room), (long long)room);
}

/* ---- showing the text -------------------------------------------------------------------------------------------- */

/* Adds bytes to the text and prints what is complete; end: nothing follows. Sets finish when a stop text appears. */
static int show(run *r, const char *bytes, int n, int end, tl_error *err) {
    char whole[3 * PIECE + 3];
    size_t at = r->text.n;
    size_t len = tl_utf8_push(&r->utf8, bytes, (size_t)n, end, whole);
    if (r->stopped) return TL_OK;
    r->stopped = tl_stops_push(&r->stops, whole, len, &r->text);
    if (r->stopped) r->finish = STOP;
    else if (end) tl_stops_flush(&r->stops, &r->text);
    if (r->text.failed || r->stops.held.failed) return tl_fail(err, TL_E_MEMORY, "out of memory for the text");
    if (r->a.json) return TL_OK;
    if (r->text.n > at) fwrite(r->text.p + at, 1, r->text.n - at, stdout);
    r->text.n = at;
    return tl_cmd_flush();
}

/* A token of any length, in pieces. */
static int show_token(run *r, int32_t id, tl_error *err) {
    char piece[PIECE];
    int n = tl_token_text(r->m, id, piece, sizeof piece);
    if (n <= PIECE) return show(r, piece, n, 0, err);
    char *all = tl_alloc_n((size_t)n, 1, "a token's text", err);
    if (!all) return TL_E_MEMORY;
    int rc = TL_OK;
    tl_token_text(r->m, id, all, n);
    for (int at = 0; at < n && rc == TL_OK; at += PIECE)
        rc = show(r, all + at, n - at < PIECE ? n - at : PIECE, 0, err);
    tl_free(all);
    return rc;
}

/* ---- computing --------------------------------------------------------------------------------------------------- */

static int prefill_progress(void *user, double done) {
    run *r = user;
    double now = tl_now();
    if (!r->a.quiet && isatty(STDERR_FILENO) && now - r->begun > 2 && now - r->shown > 0.2) {
        fprintf(stderr, "\r# prompt %.0f %%", done * 100);
        fflush(stderr);
        r->shown = now;
    }
    return tl_cmd_interrupted();
}

static int prefill(run *r, tl_error *err) {
    r->begun = tl_now();
    tl_session_set_progress(r->s, prefill_progress, r);
    int rc = tl_session_append(r->s, r->prompt, r->n_prompt, err);
    tl_session_set_progress(r->s, NULL, NULL);
    if (r->shown > 0) fputs("\r\033[K", stderr);
    r->prefill = tl_now() - r->begun;
    r->n_prefilled = tl_session_pos(r->s, 0);
    if (rc == TL_E_CANCELLED) {
        r->finish = CANCELLED;
        *err = (tl_error){0};
        return TL_OK;
    }
    for (int i = 0; i < r->n_prompt; i++) tl_sampler_accept(r->smp, r->prompt[i]);
    return rc;
}

static int generate(run *r, tl_error *err) {
    double start = tl_now();
    int rc = TL_OK;
    while (r->finish == GOING) {
        if (r->a.n >= 0 && r->n_tokens == r->a.n) {
            r->finish = LENGTH;
            break;
        }
        int32_t id = tl_sampler_pick(r->smp, tl_session_logits(r->s, 0), err);
        if (id < 0) return id;
        if (tl_token_is_end(r->m, id)) {
            r->finish = STOP;
            break;
        }
        rc = show_token(r, id, err);
        if (rc != TL_OK) return rc;
        if (r->n_tokens++ == 0) r->first = tl_now() - r->begun;
        if (r->finish == GOING && tl_cmd_interrupted()) r->finish = CANCELLED;
        if (r->finish != GOING || r->n_tokens == r->a.n) continue;   /* the last token need not be computed */
        if (tl_session_pos(r->s, 0) == tl_session_ctx(r->s)) {
            r->finish = CONTEXT;
            break;
        }
        rc = tl_session_append(r->s, &id, 1, err);
        if (rc != TL_OK) return rc;
        r->n_decoded++;
        r->decode = tl_now() - start;
    }
    return show(r, NULL, 0, 1, err);
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

static double rate(double n, double seconds) { return seconds > 0 ? n / seconds : 0; }

static double gb_per_second(const run *r) {
    return rate((double)tl_model_get_info(r->m).bytes_per_token * r->n_decoded * 1e-9, r->decode);
}

static void print_model(const run *r) {
    tl_model_info i = tl_model_get_info(r->m);
    tl_status("model %s (%s), %.4g M parameters, %.4g MB | cpu %s, %d thread%s | context %d", i.name[0] ? i.name : "?",
              i.arch, (double)i.n_params * 1e-6, (double)i.file_bytes * 1e-6, i.cpu, tl_session_threads(r->s),
              tl_session_threads(r->s) == 1 ? "" : "s", tl_session_ctx(r->s));
}

static void print_figures(const run *r) {
    if (r->finish == CONTEXT)
        tl_status("stopped: the context of %d tokens is full (-c N for more)", tl_session_ctx(r->s));
    if (r->finish == CANCELLED) tl_status("stopped: interrupted");
    tl_status("load %.0f ms | prefill %d tok, %.4g tok/s | decode %d tok, %.4g tok/s, %.3g GB/s read | seed %lld",
              r->load * 1e3, r->n_prefilled, rate(r->n_prefilled, r->prefill), r->n_tokens,
              rate(r->n_decoded, r->decode), gb_per_second(r), (long long)tl_sampler_seed(r->smp));
}

static int print_json(run *r, tl_error *err) {
    tl_model_info i = tl_model_get_info(r->m);
    tl_buf b = {0};
    tl_json j = {&b, 0, 0};
    tl_json_begin(&j, NULL, '{');
    tl_json_str(&j, "text", r->text.p ? r->text.p : "", r->text.n);
    tl_json_i64(&j, "tokens", r->n_tokens);
    tl_json_i64(&j, "prompt_tokens", r->n_prompt);
    tl_json_cstr(&j, "finish", finish_names[r->finish]);
    tl_json_i64(&j, "seed", tl_sampler_seed(r->smp));
    tl_json_cstr(&j, "model", i.name);
    tl_json_cstr(&j, "arch", i.arch);
    tl_json_cstr(&j, "cpu", i.cpu);
    tl_json_i64(&j, "threads", tl_session_threads(r->s));
    tl_json_i64(&j, "ctx", tl_session_ctx(r->s));
    tl_json_num(&j, "load_ms", r->load * 1e3);
    tl_json_num(&j, "ttft_ms", r->n_tokens ? r->first * 1e3 : NAN);
    tl_json_num(&j, "prefill_tok_s", rate(r->n_prefilled, r->prefill));
    tl_json_num(&j, "decode_tok_s", rate(r->n_decoded, r->decode));
    tl_json_num(&j, "gb_s", gb_per_second(r));
    tl_json_end(&j, '}');
    tl_buf_str(&b, "\n");
    int rc = b.failed || r->text.failed ? tl_fail(err, TL_E_MEMORY, "out of memory for the JSON text") : TL_OK;
    if (rc == TL_OK) {
        fwrite(b.p, 1, b.n, stdout);
        rc = tl_cmd_flush();
    }
    tl_buf_free(&b);
    return rc;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int check_args(const run_args *a, tl_error *err) {
    if (a->prompt && a->file) return tl_fail(err, TL_E_ARGUMENT, "run: -p and -f cannot be given together");
    if (a->system && !a->chat) return tl_fail(err, TL_E_ARGUMENT, "run: --system needs --chat");
    for (int i = 0; i < a->stop.n; i++)
        if (!a->stop.v[i][0]) return tl_fail(err, TL_E_ARGUMENT, "run: --stop: the text is empty");
    int kv = tl_cmd_kv(&a->model, err);
    return kv < 0 ? kv : tl_cmd_sampling_check(&a->sampling, err);
}

static int open_all(run *r, const char *path, tl_error *err) {
    size_t len = 0;
    int rc = check_args(&r->a, err);
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
    return r->smp ? TL_OK : err->code;
}

static int run_main(const tl_cmd *self, int argc, char **argv) {
    run r = {.a = {.n = 256, .sampling = tl_cmd_sampling_default()}};
    tl_error err = {0};
    const char *path;
    int code = tl_cmd_parse(self, &r.a, argc, argv, &path, 1, 1);
    if (code >= 0) return code;
    r.stops.stop = r.a.stop.v;
    r.stops.n = r.a.stop.n;
    int rc = open_all(&r, path, &err);
    if (rc == TL_OK) {
        tl_cmd_catch_interrupt();
        if (!r.a.quiet) print_model(&r);
        rc = prefill(&r, &err);
        if (rc == TL_OK) rc = generate(&r, &err);
        if (!r.a.json && isatty(STDOUT_FILENO)) putchar('\n');
        if (r.a.json && rc == TL_OK) rc = print_json(&r, &err);
        if (!r.a.quiet && rc == TL_OK) print_figures(&r);
    }
    /* Where writing failed, main says so. */
    code = rc == TL_OK ? 0 : err.code ? tl_cmd_fail(&err) : 1;
    tl_buf_free(&r.text);
    tl_stops_free(&r.stops);
    tl_free(r.prompt);
    tl_sampler_free(r.smp);
    tl_session_free(r.s);
    tl_model_free(r.m);
    return code;
}

const tl_cmd tl_cmd_run = {
    "run",
    "continues a text",
    "MODEL [-p TEXT | -f FILE] [options]",
    "  tinyllm run model.gguf -p \"Once upon a time\" -n 64\n"
    "  tinyllm run model.gguf --chat -p \"Why is the sky blue?\"\n"
    "  tinyllm run model.gguf --temp 0 --quiet < question.txt > answer.txt\n"
    "  tinyllm run model.gguf -p \"1, 2, 3,\" --stop 10 --json\n"
    "\n"
    "Standard output carries the new text alone, without the prompt. The text ends with the token that means end or\n"
    "before a --stop text (\"finish\": \"stop\"), after -n tokens (\"length\"), when the context is full (\"context\"),\n"
    "or with Ctrl-C (\"cancelled\"), which still prints the figures and exits with 0; a second one kills. A prompt\n"
    "longer than the context is refused. GB/s counts the weights read.\n",
    options,
    run_main,
};
