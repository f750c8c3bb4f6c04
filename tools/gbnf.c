/* SPDX-License-Identifier: MIT
 *
 * gbnf.c: prints the GBNF of JSON schemas, for tools/check_schemas.py. Reads one schema a line and answers each with its
 * grammar or "error: why", ended by an empty line. With --regex the lines are regular expressions. */
#include <string.h>
#include "grammar/grammar.h"

int main(int argc, char **argv) {
    int regex = argc > 1 && strcmp(argv[1], "--regex") == 0;
    tl_error err = {0};
    size_t n;
    char *text = tl_read_stream(stdin, "stdin", &n, &err);
    for (char *line = text, *end; line && *line; line = end + 1) {
        tl_buf out = {0};
        tl_error bad = {0};
        if (!(end = strchr(line, '\n'))) break;
        *end = 0;
        int rc = regex ? tl_regex_to_gbnf(line, &out, &bad) : tl_schema_to_gbnf(line, strlen(line), &out, &bad);
        if (rc != TL_OK) printf("error: %s\n\n", bad.text);
        else printf("%.*s\n", (int)out.n, out.p);
        tl_buf_free(&out);
    }
    tl_free(text);
    if (err.code) fprintf(stderr, "%s\n", err.text);
    return err.code != 0;
}
