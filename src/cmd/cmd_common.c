/* SPDX-License-Identifier: MIT
 *
 * cmd_common.c: what every command does the same way: words, errors, status lines. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include "cmd/cmd.h"
#include "cmd/term.h"

static int wants_help(int argc, char **argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) return 1;
    return 0;
}

static const tl_opt_other others[] = {
#define OTHER(names, same, hint) {names, same, hint},
#include "others.def"
#undef OTHER
    {0},
};

int tl_cmd_parse(const tl_cmd *self, void *args, int argc, char **argv, const char **pos, int min_pos, int max_pos) {
    tl_error err = {0};
    int n_pos = 0;
    if (wants_help(argc, argv)) {
        tl_cmd_help(self, stdout);
        return 0;
    }
    for (int i = 0; i < max_pos; i++) pos[i] = NULL;
    int rc = tl_opts_parse(self->opts, others, args, argc, argv, pos, max_pos, &n_pos, &err);
    if (rc == TL_OK && n_pos < min_pos)
        rc = tl_fail(&err, TL_E_ARGUMENT, "too few words; usage: tinyllm %s %s", self->name, self->usage);
    if (rc == TL_OK) return -1;
    fprintf(stderr, "tinyllm: %s: %s (help: tinyllm %s --help)\n", self->name, err.text, self->name);
    return 2;
}

int tl_cmd_fail(const tl_error *err) {
    tl_term_line(stderr, "tinyllm: ", err->text[0] ? err->text : "failed");
    return err->code == TL_E_ARGUMENT ? 2 : 1;
}

static int output_errno;

int tl_cmd_flush(void) {
    if (output_errno) return -1;
    errno = 0;
    int before = ferror(stdout);   /* a full buffer was written out, and failed, inside an earlier print */
    if (fflush(stdout) == 0 && !before) return 0;
    output_errno = errno ? errno : EIO;
    return -1;
}

const char *tl_cmd_flush_fault(void) { return output_errno ? strerror(output_errno) : NULL; }

void tl_status(const char *fmt, ...) {
    char raw[1000], text[1000];   /* names from a file may hold anything */
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(raw, sizeof raw, fmt, ap) < 0) raw[0] = 0;
    va_end(ap);
    tl_printable(text, sizeof text, raw);
    tl_term_line(stderr, "# ", text);
}

int tl_cmd_is_model(const char *path) {
    char begin[4] = "";
    FILE *f = fopen(path, "rbe");
    const size_t n = f ? fread(begin, 1, sizeof begin, f) : 0;
    if (f) fclose(f);
    return n == sizeof begin && memcmp(begin, "GGUF", n) == 0;
}
