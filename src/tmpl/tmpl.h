/* SPDX-License-Identifier: MIT
 *
 * tmpl.h: chat templates, the text in tokenizer.chat_template: the part of Jinja2 that needs no other files, with the
 * results of Jinja2 3.1 in the environment chat models are published for: trim_blocks, lstrip_blocks, no autoescape,
 * loop controls, the immutable sandbox (no append, update, ...), tojson as json.dumps with ensure_ascii off.
 *
 * Statements: for (else, if, recursive, loop.*), if/elif/else, set (also blocks, several targets, namespaces), macro,
 * call/caller, filter, with, block (rendered in place), print, generation (transparent), break, continue, raw,
 * comments, whitespace control. Not there: include, import, extends, autoescape, do.
 * Expressions: all of them; integers have 64 bits, and overflow is an error (longer ones of the JSON are kept, without
 * arithmetic). Filters, tests, methods and functions are the rows of filters.def, tests.def, methods.def and
 * globals.def; of Jinja2's filters filesizeformat, pprint, random, striptags, urlize, wordwrap and xmlattr are not
 * there. Strings are code points; upper and lower case follow Unicode's one-to-one mappings.
 *
 * A template is immutable after parsing, and any number of threads may render it at the same time. Templates come from
 * downloaded files and are not trusted: every rendering has limits on steps, nesting, memory and output, and nothing a
 * template does reaches outside of it.
 *
 * Errors (syntax, raise_exception, wrong types, limits) are one line: "name: line N: what is wrong". */
#ifndef TL_TMPL_H
#define TL_TMPL_H

#include "base/base.h"

enum {
    TL_TMPL_MAX_TEXT = 4 << 20,        /* bytes of a template */
    TL_TMPL_MAX_NESTING = 200,         /* of tags, brackets, JSON */
    TL_TMPL_MAX_DEPTH = 1000,          /* of evaluation: nesting times calls */
    TL_TMPL_MAX_RANGE = 100000,        /* items of range(), Jinja2's own limit */
    TL_TMPL_MAX_STEPS = 20000000,      /* expressions, statements, items, and 64 bytes of text each */
    TL_TMPL_MAX_MEMORY = 256 << 20,    /* bytes of all values of one rendering */
    TL_TMPL_MAX_OUTPUT = 64 << 20      /* bytes of text at any time, unfinished parts included */
};

typedef struct tl_tmpl tl_tmpl;

/* Parses text[0..n). name stands in errors and is copied. NULL on failure. */
tl_tmpl *tl_tmpl_parse(const char *name, const char *text, size_t n, tl_error *err);
void tl_tmpl_free(tl_tmpl *t);

/* JSON text that gives variables: the one called variable or, where that is NULL, those that are members of the object
 * it holds. name stands in errors about the text. */
typedef struct tl_tmpl_source { const char *name, *variable, *json; size_t n; } tl_tmpl_source;

/* Renders with the variables of n sources (messages, tools, add_generation_prompt, bos_token, ...), of which later ones
 * win, and appends to out, which stays as it was on failure. The variable "now", a date and time as "2026-01-31T12:00:00", is none for templates but what strftime_now tells; without it, that tells the local time.
 *
 * trust (NULL: not wanted) gets a flag for every byte of out: 1 where the template wrote it, 0 where it is what somebody
 * gave, through all filters, methods and joints. Of the variables, bos_token and its like are trusted, and the role of
 * a message if it is a usual one ("user", "tool"). */
int tl_tmpl_render(const tl_tmpl *t, const tl_tmpl_source *source, int n, tl_buf *out, tl_buf *trust, tl_error *err);

#endif
