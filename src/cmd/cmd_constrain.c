/* SPDX-License-Identifier: MIT
 *
 * cmd_constrain.c: see cmd_constrain.h. Every form of constraint becomes GBNF text. */
#include <string.h>
#include "cmd/cmd_constrain.h"
#include "grammar/automaton.h"
#include "grammar/grammar.h"

static int from_grammar(const char *path, tl_buf *out, tl_error *err) {
    size_t n;
    char *text = tl_read_file(path, &n, err);
    if (text) tl_buf_add(out, text, n);
    tl_free(text);
    return text ? TL_OK : err->code;
}

static int from_schema(const char *path, tl_buf *out, tl_error *err) {
    size_t n;
    char *text = tl_read_file(path, &n, err);
    int rc = text ? tl_schema_to_gbnf(text, n, out, err) : err->code;
    if (text && rc != TL_OK) tl_error_context(err, "--json-schema: %s", path);
    tl_free(text);
    return rc;
}

static int from_regex(const char *regex, tl_buf *out, tl_error *err) {
    int rc = tl_regex_to_gbnf(regex, out, err);
    if (rc != TL_OK) tl_error_context(err, "--regex");
    return rc;
}

/* A,B,C as literals; bytes that a literal cannot hold are escaped. */
static int from_choice(const char *list, tl_buf *out, tl_error *err) {
    tl_buf_str(out, "root ::= \"");
    for (const char *p = list, *begin = list;; p++) {
        if (*p == ',' || !*p) {
            if (p == begin) return tl_fail(err, TL_E_ARGUMENT, "--choice wants texts with commas between them (\\, for a comma in one): one is empty");
            if (!*p) break;
            tl_buf_str(out, "\" | \"");
            begin = p + 1;
        } else if (*p == '\\' && p[1] == ',') tl_buf_add(out, ++p, 1);
        else if (*p == '"' || *p == '\\') tl_buf_fmt(out, "\\%c", *p);
        else if ((unsigned char)*p < ' ') tl_buf_fmt(out, "\\x%02X", (unsigned)*p);
        else tl_buf_add(out, p, 1);
    }
    tl_buf_str(out, "\"");
    return TL_OK;
}

/* The forms: an option, and what makes GBNF of its value. */
static const struct {
    const char *name;
    size_t at;
    int is_file;
    int (*make)(const char *value, tl_buf *out, tl_error *err);
} form[] = {
    {"--grammar", offsetof(tl_constrain_args, grammar), 1, from_grammar},
    {"--json-schema", offsetof(tl_constrain_args, schema), 1, from_schema},
    {"--regex", offsetof(tl_constrain_args, regex), 0, from_regex},
    {"--choice", offsetof(tl_constrain_args, choice), 0, from_choice},
};
enum { FORMS = sizeof form / sizeof *form };

static const char *value_of(const tl_constrain_args *a, int i) { return *(const char *const *)((const char *)a + form[i].at); }

int tl_cmd_constrain_read(const tl_constrain_args *a, tl_buf *gbnf, tl_error *err) {
    int asked = -1;
    for (int i = 0; i < FORMS; i++) {
        if (!value_of(a, i)) continue;
        if (asked >= 0) return tl_fail(err, TL_E_ARGUMENT, "%s and %s cannot be given together", form[asked].name, form[i].name);
        asked = i;
    }
    if (asked < 0) return TL_OK;
    int rc = form[asked].make(value_of(a, asked), gbnf, err);
    if (rc != TL_OK) return rc;
    if (gbnf->failed) return tl_fail(err, TL_E_MEMORY, "out of memory for the grammar's text");
    tl_automaton once = {0};   /* before the model is opened, which takes longer */
    rc = tl_automaton_init(&once, gbnf->p ? gbnf->p : "", gbnf->n, err);
    tl_automaton_free(&once);
    if (rc != TL_OK && form[asked].is_file) tl_error_context(err, "%s", value_of(a, asked));
    if (rc != TL_OK) tl_error_context(err, "%s", form[asked].name);
    return rc;
}
