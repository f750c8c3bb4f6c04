/* SPDX-License-Identifier: MIT
 *
 * cmd_perplexity.c: how well a model predicts a text. The convention is llama.cpp's, so that numbers compare: the text
 * is cut into windows of n_ctx tokens, each computed from an empty cache; if the tokenizer puts a begin-of-text token
 * first, it replaces the first token of every window; tokens n_ctx/2 .. n_ctx-2 of a window predict the next ones. */
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "cmd/cmd_model.h"

typedef struct ppl_args {
    tl_model_args model;
    const char *file;
    int64_t ctx, chunks;
    int quiet, json;
} ppl_args;

#define AT(member) offsetof(ppl_args, member)
static const tl_opt options[] = {
    {"-f,--file", "FILE", TL_OPT_STR, AT(file), 0, 0, "the text (-: standard input)"},
    {"-c,--ctx", "N", TL_OPT_INT, AT(ctx), 4, 1 << 20, "tokens per window; default 512"},
    {"--chunks", "N", TL_OPT_INT, AT(chunks), 1, INT32_MAX, "at most N windows; default: the whole text"},
    TL_MODEL_OPTS(ppl_args, model),
    {"-q,--quiet", NULL, TL_OPT_FLAG, AT(quiet), 0, 0, "no status lines; warnings stay"},
    {"--json", NULL, TL_OPT_FLAG, AT(json), 0, 0, "the result as one JSON object"},
    {0},
};

typedef struct ppl {
    ppl_args a;
    tl_model *m;
    tl_session *s;
    int32_t *ids;            /* [n_ids] of the text */
    int n_ids;
    int32_t bos;             /* first token of every window, -1: none */
    int n_ctx, n_chunks;
    uint8_t *want;           /* [n_ctx] */
    int64_t count;           /* tokens scored, and the sums of their negative log likelihoods and of its squares */
    double sum, sum2;
} ppl;

static double mean(const ppl *p) { return p->sum / (double)p->count; }

/* Standard error of the perplexity: that of the mean, carried through exp(). */
static double error(const ppl *p) {
    double n = (double)p->count, var = p->sum2 / n - mean(p) * mean(p);
    return p->count > 1 && var > 0 ? sqrt(var / (n - 1)) * exp(mean(p)) : 0;
}

static char *read_text(const ppl *p, size_t *len, tl_error *err) {
    if (strcmp(p->a.file, "-") == 0) return tl_read_stream(stdin, "standard input", len, err);
    return tl_read_file(p->a.file, len, err);
}

static int tokenize_text(ppl *p, const char *text, size_t len, tl_error *err) {
    int n = tl_tokenize(p->m, text, len, TL_ADD_BOS, NULL, 0, err);
    p->ids = n > 0 ? tl_alloc_n((size_t)n, sizeof *p->ids, "the text's tokens", err) : NULL;
    if (p->ids) n = tl_tokenize(p->m, text, len, TL_ADD_BOS, p->ids, n, err);
    if (err->code) return err->code;
    p->n_ids = n;
    p->n_ctx = (int)p->a.ctx;
    if (n < p->n_ctx)
        return tl_fail(err, TL_E_CONTEXT, "%s: the text has %d tokens, one window of -c %d needs %d", p->a.file, n,
                       p->n_ctx, p->n_ctx);
    p->n_chunks = n / p->n_ctx;
    if (p->a.chunks > 0 && p->a.chunks < p->n_chunks) p->n_chunks = (int)p->a.chunks;
    p->bos = tl_adds_bos(p->m) ? tl_token_bos(p->m) : -1;
    return TL_OK;
}

/* Of one token: beyond, its likelihood is no number above 0 any more. */
#define MAX_NLL 700

/* Scores the wanted rows of the last batch: row i predicts next[i]; at: position of row 0 in the window. */
static int score(ppl *p, int rows, const int32_t *next, int window, int at, tl_error *err) {
    for (int i = 0; i < rows; i++) {
        const double nll = -tl_logprobs(p->m, tl_session_logits(p->s, i), next[i], NULL, 0);
        if (!(nll < MAX_NLL))
            return tl_fail(err, TL_E_NAN, "window %d of %d, position %d: the likelihood of token %d is %s: the file is damaged or its "
                           "weights overflow", window + 1, p->n_chunks, at + i, next[i], isnan(nll) ? "NaN" : "0");
        p->sum += nll;
        p->sum2 += nll * nll;
        p->count++;
    }
    return TL_OK;
}

/* Evaluates a window in pieces: the half that is not scored, then as many rows at a time as 256 MB of logits hold. */
static int run_window(ppl *p, int window, tl_error *err) {
    int32_t *ids = p->ids + (size_t)window * (size_t)p->n_ctx;
    int first = p->n_ctx / 2;
    int32_t saved = ids[0];
    int64_t most = ((int64_t)256 << 20) / ((int64_t)tl_model_get_info(p->m).n_vocab * (int64_t)sizeof(float));
    int step = most < 1 ? 1 : most < p->n_ctx ? (int)most : p->n_ctx;
    int rc = TL_OK;
    tl_session_truncate(p->s, 0, 0);
    if (p->bos >= 0) ids[0] = p->bos;
    for (int at = 0; at < p->n_ctx && rc == TL_OK;) {
        int scored_at = at > first ? at : first;   /* first row of this piece that is scored */
        int end = scored_at + step < p->n_ctx ? scored_at + step : p->n_ctx;
        int rows = (end < p->n_ctx ? end : p->n_ctx - 1) - scored_at;
        tl_batch batch = {.n = end - at, .token = ids + at, .want = p->want + at};
        rc = tl_session_eval(p->s, &batch, err);
        if (rc == TL_OK) rc = score(p, rows, ids + scored_at + 1, window, scored_at, err);
        at = end;
    }
    ids[0] = saved;
    return rc;
}

static int run_all(ppl *p, tl_error *err) {
    double start = tl_now();
    int live = !p->a.quiet && isatty(STDERR_FILENO), rc = TL_OK, first = p->n_ctx / 2;
    p->want = tl_alloc_n((size_t)p->n_ctx, 1, "row marks", err);
    if (!p->want) return TL_E_MEMORY;
    memset(p->want + first, 1, (size_t)(p->n_ctx - 1 - first));
    if (!p->a.quiet)
        tl_status("%d tokens, %d window%s of %d, %d scored in each; each begins with %s", p->n_ids, p->n_chunks,
                  p->n_chunks == 1 ? "" : "s", p->n_ctx, p->n_ctx - 1 - first,
                  p->bos >= 0 ? "the begin-of-text token" : "its own first token");
    for (int i = 0; i < p->n_chunks && rc == TL_OK; i++) {
        rc = run_window(p, i, err);
        if (live && rc == TL_OK) {
            double left = (tl_now() - start) / (i + 1) * (p->n_chunks - i - 1);
            fprintf(stderr, "\r\033[K# window %d of %d, perplexity %.4f, %.0f s left", i + 1, p->n_chunks, exp(mean(p)),
                    left);
            fflush(stderr);
        }
    }
    if (live) fputs("\r\033[K", stderr);
    if (rc == TL_OK && !p->a.quiet) {
        double seconds = tl_now() - start;
        tl_status("%.1f s, %.4g tok/s", seconds, (double)p->n_chunks * p->n_ctx / seconds);
    }
    return rc;
}

static void print_result(const ppl *p) {
    if (!p->a.json) {
        printf("perplexity %.4f +/- %.4f (%d window%s of %d, %lld tokens scored)\n", exp(mean(p)), error(p),
               p->n_chunks, p->n_chunks == 1 ? "" : "s", p->n_ctx, (long long)p->count);
        return;
    }
    tl_buf b = {0};
    tl_json j = {&b, 0, 0};
    tl_json_begin(&j, NULL, '{');
    tl_json_num(&j, "perplexity", exp(mean(p)));
    tl_json_num(&j, "stderr", error(p));
    tl_json_i64(&j, "chunks", p->n_chunks);
    tl_json_i64(&j, "tokens", p->count);
    tl_json_num(&j, "mean_nll", mean(p));
    tl_json_i64(&j, "ctx", p->n_ctx);
    tl_json_cstr(&j, "cpu", tl_model_get_info(p->m).cpu);
    tl_json_end(&j, '}');
    if (!b.failed) puts(b.p);
    tl_buf_free(&b);
}

static int ppl_main(const tl_cmd *self, int argc, char **argv) {
    ppl p = {.a = {.ctx = 512}, .bos = -1};
    tl_error err = {0};
    const char *path;
    int code = tl_cmd_parse(self, &p.a, argc, argv, &path, 1, 1);
    if (code >= 0) return code;
    char *text = NULL;
    size_t len = 0;
    if (!p.a.file) tl_fail(&err, TL_E_ARGUMENT, "perplexity: -f FILE is missing");
    else if (tl_cmd_kv(&p.a.model, &err) >= 0) text = read_text(&p, &len, &err);   /* first: the model may take long */
    if (text) p.m = tl_cmd_open(&p.a.model, path, 0, &err);
    if (p.m && tokenize_text(&p, text, len, &err) == TL_OK) {
        p.s = tl_cmd_session(&p.a.model, p.m, p.n_ctx, 0, &err);
        if (p.s && run_all(&p, &err) == TL_OK) print_result(&p);
    }
    tl_free(text);
    tl_free(p.want);
    tl_free(p.ids);
    tl_session_free(p.s);
    tl_model_free(p.m);
    return err.code ? tl_cmd_fail(&err) : 0;
}

const tl_cmd tl_cmd_perplexity = {
    "perplexity",
    "measure how well a model predicts a text",
    "MODEL -f TEXT [options]",
    "  tinyllm perplexity model.gguf -f wiki.test.txt --chunks 40\n"
    "\n"
    "Windows of -c tokens, the second half of each scored, as llama.cpp does it; lower is better. In the JSON form\n"
    "\"tokens\" counts the scored ones and \"stderr\" is the standard error of the perplexity.\n",
    options,
    ppl_main,
};
