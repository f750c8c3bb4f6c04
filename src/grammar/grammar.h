/* SPDX-License-Identifier: MIT
 *
 * grammar.h: texts that must follow a grammar. GBNF text becomes a grammar, and two other descriptions become GBNF.
 * Knows nothing of models: vocabularies are plain arrays. */
#ifndef TL_GRAMMAR_H
#define TL_GRAMMAR_H

#include "base/base.h"

/* JSON Schema (2020-12) and regular expressions as GBNF text, added to out. What cannot be enforced is
 * TL_E_UNSUPPORTED, naming it and its place. */
int tl_schema_to_gbnf(const char *json, size_t n, tl_buf *out, tl_error *err);
int tl_regex_to_gbnf(const char *regex, tl_buf *out, tl_error *err);

#endif
