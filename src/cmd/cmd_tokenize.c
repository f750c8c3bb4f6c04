/* SPDX-License-Identifier: MIT
 *
 * cmd_tokenize.c: text to token ids and back, as the model's file wants it. Needs the vocabulary only. */
#include <string.h>
#include "base/utf8.h"
#include "cmd/cmd_model.h"
#include "cmd/term.h"
#include "model/model.h"

typedef struct tokenize_args {
    const char *text, *file;
    int special, no_bos, json, ids, decode;
} tokenize_args;

#define AT(member) offsetof(tokenize_args, member)
static const tl_opt options[] = {
    {"-p,--prompt", "TEXT", TL_OPT_STR, AT(text), 0, 0, "the text"},
    {"-f,--file", "FILE", TL_OPT_STR, AT(file), 0, 0, "read the text from FILE; -: standard input, the default"},
    {"--special", NULL, TL_OPT_FLAG, AT(special), 0, 0,
     "\"<|im_end|>\" and the like become that token; with --decode: are written"},
    {"--no-bos", NULL, TL_OPT_FLAG, AT(no_bos), 0, 0, "do not add the tokens that begin and end a text"},
    {"--ids", NULL, TL_OPT_FLAG, AT(ids), 0, 0, "only the ids, on one line"},
    {"--json", NULL, TL_OPT_FLAG, AT(json), 0, 0, "one JSON object: {\"ids\": [...], \"pieces\": [...]}"},
    {"--decode", NULL, TL_OPT_FLAG, AT(decode), 0, 0,
     "the input is ids, separated by blanks or commas: write the text"},
    {0},
};

static char *read_input(const tokenize_args *a, size_t *n, tl_error *err) {
    if (a->text) {
        *n = strlen(a->text);
        return tl_strdup(a->text, err);
    }
    if (a->file && strcmp(a->file, "-") != 0) return tl_read_file(a->file, n, err);
    return tl_read_stream(stdin, "standard input", n, err);
}

static tl_tokenizer *open_tokenizer(const char *path, tl_gguf **g, tl_error *err) {
    *g = tl_gguf_open(path, TL_GGUF_SINGLE, err);
    if (!*g) return NULL;
    tl_tokenizer *t = tl_load_tokenizer(*g, err);
    if (!t) tl_error_context(err, "%s", path);
    else if (tl_tokenizer_warning(t)) tl_status("warning: %s", tl_tokenizer_warning(t));
    return t;
}

/* Bytes for reading: control characters and stray bytes as \n, \t or \xNN. Returns the columns, one per character. */
static int add_readable(tl_buf *b, const char *p, size_t n, int quoted) {
    int columns = 0;
    for (size_t i = 0, len; i < n; i += len) {
        int32_t cp;
        len = tl_utf8_next(p + i, n - i, &cp);
        const char *known = cp == '\n' ? "\\n" : cp == '\t' ? "\\t" : quoted && cp == '"' ? "\\\"" : quoted && cp == '\\' ? "\\\\" : NULL;
        if (known) {
            tl_buf_str(b, known);
            columns += 2;
        } else if (cp >= 0x20 && (cp < 0x7F || cp >= 0xA0)) {
            tl_buf_add(b, p + i, len);
            columns++;
        } else {
            for (size_t k = 0; k < len; k++) tl_buf_fmt(b, "\\x%02x", (unsigned char)p[i + k]);
            columns += 4 * (int)len;
        }
    }
    return columns;
}

/* Token per line: id, the text it stands for in quotes, or its name, and the bytes. */
static void add_lines(const tl_tokenizer *t, const int32_t *ids, int n, tl_buf *b) {
    for (int i = 0; i < n; i++) {
        const char *piece = tl_tokenizer_piece(t, ids[i]);
        char bytes[64];
        int len = tl_tokenizer_token_text(t, ids[i], bytes, sizeof bytes), shown = len < (int)sizeof bytes ? len : (int)sizeof bytes;
        tl_buf_fmt(b, "%7d  %s", ids[i], len ? "\"" : "");
        int columns = len ? 2 + add_readable(b, bytes, (size_t)shown, 1) : add_readable(b, piece, strlen(piece), 0);
        if (len) tl_buf_fmt(b, "\"%*s", columns < 24 ? 24 - columns : 1, "");
        for (int k = 0; k < shown; k++) tl_buf_fmt(b, "%s%02x", k ? " " : "", (unsigned char)bytes[k]);
        tl_buf_str(b, len > shown ? " ...\n" : "\n");
    }
}

static void add_json(const tl_tokenizer *t, const int32_t *ids, int n, tl_buf *b) {
    tl_json j = {.out = b};
    tl_json_begin(&j, NULL, '{');
    tl_json_begin(&j, "ids", '[');
    for (int i = 0; i < n; i++) tl_json_i64(&j, NULL, ids[i]);
    tl_json_end(&j, ']');
    tl_json_begin(&j, "pieces", '[');
    for (int i = 0; i < n; i++) tl_json_cstr(&j, NULL, tl_tokenizer_piece(t, ids[i]));
    tl_json_end(&j, ']');
    tl_json_end(&j, '}');
    tl_buf_str(b, "\n");
}

static int encode(const tokenize_args *a, const tl_tokenizer *t, const char *text, size_t len, tl_buf *out,
                  tl_error *err) {
    int flags = (a->special ? TL_PARSE_SPECIAL : 0) | (a->no_bos ? 0 : TL_ADD_BOS);
    int n = tl_tokenizer_encode(t, text, len, NULL, flags, NULL, 0, err);
    int32_t *ids = n < 0 ? NULL : tl_alloc_n((size_t)n, sizeof *ids, "token ids", err);
    if (!ids) return n < 0 ? n : TL_E_MEMORY;
    n = tl_tokenizer_encode(t, text, len, NULL, flags, ids, n, err);
    if (a->json) {
        add_json(t, ids, n, out);
    } else if (a->ids) {
        for (int i = 0; i < n; i++) tl_buf_fmt(out, "%s%d", i ? " " : "", ids[i]);
        tl_buf_str(out, "\n");
    } else {
        add_lines(t, ids, n, out);
    }
    tl_free(ids);
    return n < 0 ? n : TL_OK;
}

static int decode(const tokenize_args *a, const tl_tokenizer *t, const char *list, tl_buf *out, tl_error *err) {
    int n;
    int32_t *ids = tl_cmd_parse_ids(list, &n, err);
    if (!ids || tl_cmd_check_ids(ids, n, (int)tl_tokenizer_n(t), err) != TL_OK) {
        tl_free(ids);
        return err->code;
    }
    size_t len = tl_tokenizer_decode(t, ids, n, a->special, NULL, 0);
    char *text = tl_alloc_n(len, 1, "the text", err);
    if (text) {
        tl_tokenizer_decode(t, ids, n, a->special, text, len);
        if (a->json) {
            tl_json j = {.out = out};
            tl_json_begin(&j, NULL, '{');
            tl_json_str(&j, "text", text, len);
            tl_json_end(&j, '}');
            tl_buf_str(out, "\n");
        } else {
            tl_buf_add(out, text, len);
        }
    }
    tl_free(text);
    tl_free(ids);
    return err->code;
}

static int tokenize_main(const tl_cmd *self, int argc, char **argv) {
    tokenize_args a = {0};
    tl_error err = {0};
    const char *path;
    int code = tl_cmd_parse(self, &a, argc, argv, &path, 1, 1);
    if (code >= 0) return code;
    if (a.text && a.file) tl_fail(&err, TL_E_ARGUMENT, "tokenize: give -p or -f, not both");
    tl_gguf *g = NULL;
    tl_tokenizer *t = err.code ? NULL : open_tokenizer(path, &g, &err);
    size_t n = 0;
    char *text = t ? read_input(&a, &n, &err) : NULL;
    tl_buf out = {0};
    if (text && a.decode) decode(&a, t, text, &out, &err);
    else if (text) encode(&a, t, text, n, &out, &err);
    if (out.failed) tl_fail(&err, TL_E_MEMORY, "out of memory for the output");
    tl_term shown = tl_term_open(stdout);
    if (!err.code) tl_term_write(&shown, out.p, out.n);
    tl_buf_free(&out);
    tl_free(text);
    tl_tokenizer_free(t);
    tl_gguf_free(g);
    return err.code ? tl_cmd_fail(&err) : 0;
}

const tl_cmd tl_cmd_tokenize = {
    .name = "tokenize",
    .summary = "show the tokens of a text, or the text of tokens",
    .usage = "MODEL [-p TEXT | -f FILE] [options]",
    .examples = "  tinyllm tokenize model.gguf -p \"Hello world\"\n"
                "  tinyllm tokenize model.gguf --special --json -f prompt.txt\n"
                "  tinyllm tokenize model.gguf --ids -p Hello | tinyllm tokenize model.gguf --decode\n",
    .opts = options,
    .run = tokenize_main,
};
