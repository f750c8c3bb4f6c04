/* SPDX-License-Identifier: MIT
 *
 * cmd_logits.c: writes the logits of given tokens to a file, to compare engines, levels and settings number by number.
 * They are written piece by piece, so a long text needs no more memory than one piece. */
#include <math.h>
#include <string.h>
#include "cmd/cmd_model.h"

typedef struct logits_args {
    tl_model_args model;
    const char *ids, *out;
    int64_t chunk;
    int exact, quiet;
} logits_args;

#define AT(member) offsetof(logits_args, member)
static const tl_opt options[] = {
    {"--ids", "LIST", TL_OPT_STR, AT(ids), 0, 0, "token ids, separated by blanks or commas"},
    {"-o,--out", "FILE", TL_OPT_STR, AT(out), 0, 0, "file to write"},
    {"--chunk", "N", TL_OPT_INT, AT(chunk), 0, INT32_MAX, "compute N tokens at a time; 0: all together; default 0"},
    {"--exact", NULL, TL_OPT_FLAG, AT(exact), 0, 0, "float32 activations, as a reference; slow"},
    TL_MODEL_OPTS(logits_args, model),
    {"-q,--quiet", NULL, TL_OPT_FLAG, AT(quiet), 0, 0, "no status lines; warnings stay"},
    {0},
};

/* An interrupt ends the work between two layers, so that no unfinished file stays behind. */
static int stop_if_interrupted(void *user, double done) {
    (void)user, (void)done;
    return tl_cmd_interrupted();
}

static int check_row(const float *x, int n, int row, tl_error *err) {
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return tl_fail(err, TL_E_NAN, "position %d: the logit of token %d is %f", row, i, (double)x[i]);
    return TL_OK;
}

/* Evaluates ids [n] in pieces and writes float32 [n][n_vocab] to f. A write error shows when f is closed. */
static int write_logits(tl_session *s, const int32_t *ids, int n, int chunk, int n_vocab, FILE *f, tl_error *err) {
    uint8_t *want = tl_alloc_n((size_t)chunk, 1, "row marks", err);
    if (!want) return TL_E_MEMORY;
    memset(want, 1, (size_t)chunk);
    int rc = TL_OK;
    tl_session_set_progress(s, stop_if_interrupted, NULL);
    for (int at = 0; at < n && rc == TL_OK; at += chunk) {
        int rows = n - at < chunk ? n - at : chunk;
        tl_batch batch = {.n = rows, .token = ids + at, .want = want};
        rc = tl_session_eval(s, &batch, err);
        for (int i = 0; i < rows && rc == TL_OK; i++)
            if ((rc = check_row(tl_session_logits(s, i), n_vocab, at + i, err)) == TL_OK &&
                fwrite(tl_session_logits(s, i), sizeof(float), (size_t)n_vocab, f) != (size_t)n_vocab) at = n;
    }
    tl_free(want);
    return rc;
}

/* What can be wrong about the options is told before the model is opened, which may take long. */
static void logits(const logits_args *a, const char *path, tl_error *err) {
    int n = 0, n_vocab = 0, rc = -1;
    tl_model *m = NULL;
    tl_session *s = NULL;
    tl_out out = {0};
    int32_t *ids = tl_cmd_kv(&a->model, err) < 0 ? NULL : tl_cmd_parse_ids(a->ids, &n, err);
    if (ids && n == 0) tl_fail(err, TL_E_ARGUMENT, "logits: --ids: no token ids");
    int chunk = a->chunk > 0 && a->chunk < n ? (int)a->chunk : n;
    if (n > 0) m = tl_cmd_open(&a->model, path, a->exact, err);
    if (m) n_vocab = tl_model_get_info(m).n_vocab;
    if (m && tl_cmd_check_ids(ids, n, n_vocab, err) == TL_OK) s = tl_cmd_session(&a->model, m, n, chunk, err);
    tl_cmd_catch_interrupt();
    if (s && tl_out_open(&out, a->out, err) == TL_OK) {
        rc = write_logits(s, ids, n, chunk, n_vocab, out.f, err);
        rc = tl_out_close(&out, rc == TL_OK, err);
    }
    if (rc == TL_OK && !err->code && !a->quiet) tl_status("%d x %d float32 written to %s", n, n_vocab, a->out);
    tl_session_free(s);
    tl_free(ids);
    tl_model_free(m);
}

static int logits_main(const tl_cmd *self, int argc, char **argv) {
    logits_args a = {0};
    tl_error err = {0};
    const char *path;
    int code = tl_cmd_parse(self, &a, argc, argv, &path, 1, 1);
    if (code >= 0) return code;
    if (!a.ids || !a.out) tl_fail(&err, TL_E_ARGUMENT, "logits: %s is missing", a.ids ? "--out FILE" : "--ids LIST");
    else logits(&a, path, &err);
    return err.code ? tl_cmd_fail(&err) : 0;
}

const tl_cmd tl_cmd_logits = {
    "logits",
    "write the logits of given tokens to a file",
    "MODEL --ids LIST --out FILE [options]",
    "  tinyllm logits model.gguf --ids \"1 2 3\" --exact --kv f32 --out logits.bin\n"
    "\n"
    "The file is little-endian float32, [tokens][vocabulary], and gets its name only when it is complete. The\n"
    "numbers do not depend on -t or --chunk.\n",
    options,
    logits_main,
};
