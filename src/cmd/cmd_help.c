/* SPDX-License-Identifier: MIT
 *
 * cmd_help.c: the help text of a command, in lines that fit the terminal, or of 120 places where there is none. */
#include <string.h>
#include "cmd/cmd.h"
#include "cmd/term.h"

enum { MIN_WIDTH = 60, MAX_WIDTH = 120 };

static int width_of(FILE *f) {
    int width = tl_term_width(f);
    return width <= 0 || width > MAX_WIDTH ? MAX_WIDTH : width < MIN_WIDTH ? MIN_WIDTH : width;
}

/* Appends words, divided by blanks, in lines of at most width places (a word that is longer stays whole). The first line
 * is begun and at column indent, where the others begin, too. */
static void add_words(tl_buf *out, const char *text, size_t n, size_t indent, size_t width) {
    size_t at = indent;
    for (size_t len; n > 0; text += len, n -= len) {
        if (*text == ' ' || *text == '\n') {
            len = 1;
            continue;
        }
        for (len = 1; len < n && text[len] != ' ' && text[len] != '\n';) len++;
        if (at > indent && at + 1 + len > width) {
            tl_buf_fmt(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            tl_buf_str(out, " ");
            at++;
        }
        tl_buf_add(out, text, len);
        at += len;
    }
    tl_buf_str(out, "\n");
}

/* Options, one a line: the description goes on below its beginning, behind the last two blanks. */
static void add_options(tl_buf *out, const char *text, size_t width) {
    for (const char *end; *text; text = end + 1) {
        end = strchr(text, '\n');
        size_t n = (size_t)(end - text), indent = n;
        while (indent > 2 && memcmp(text + indent - 2, "  ", 2)) indent--;
        tl_buf_add(out, text, indent);
        add_words(out, text + indent, n - indent, indent, width);
    }
}

/* Lines that begin with a blank, to be copied to a shell, and empty ones stay as they are; others are paragraphs. */
static void add_examples(tl_buf *out, const char *text, size_t width) {
    for (const char *end; *text; text = end) {
        end = text + strcspn(text, "\n") + 1;
        if (*text == ' ' || *text == '\n') {
            tl_buf_add(out, text, (size_t)(end - text));
            continue;
        }
        while (*end && *end != ' ' && *end != '\n') end += strcspn(end, "\n") + 1;
        add_words(out, text, (size_t)(end - text), 0, width);
    }
}

void tl_cmd_help(const tl_cmd *self, FILE *f) {
    const size_t width = (size_t)width_of(f);
    tl_buf b = {0}, usage = {0}, options = {0};
    tl_buf_fmt(&b, "tinyllm %s: %s\n\nUsage: ", self->name, self->summary);
    tl_buf_fmt(&usage, "tinyllm %s %s", self->name, self->usage);
    add_words(&b, usage.p, usage.n, sizeof "Usage: " - 1, width);
    tl_buf_str(&b, "\nOptions:\n");
    tl_opts_help(self->opts, &options);
    tl_buf_add(&options, "", 1);
    if (!options.failed) add_options(&b, options.p, width);
    if (self->examples) {
        tl_buf_str(&b, "\nExamples:\n");
        add_examples(&b, self->examples, width);
    }
    if (b.p) fwrite(b.p, 1, b.n, f);
    tl_buf_free(&b);
    tl_buf_free(&usage);
    tl_buf_free(&options);
}
