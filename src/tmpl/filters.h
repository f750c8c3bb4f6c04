/* SPDX-License-Identifier: MIT
 *
 * filters.h: the functions behind the rows of filters.def, tl_f_<function>, and what they share with methods. */
#ifndef TL_TMPL_FILTERS_H
#define TL_TMPL_FILTERS_H

#include "tmpl/run.h"

#define FILTER(name, fn, params) tl_builtin_fn tl_f_##fn;
#include "tmpl/filters.def"
#undef FILTER

enum { TL_STRIP_LEFT = 1, TL_STRIP_RIGHT = 2 };
tl_val tl_str_lower(tl_tx *c, tl_val s);
tl_val tl_str_upper(tl_tx *c, tl_val s);
tl_val tl_str_capitalize(tl_tx *c, tl_val s);
tl_val tl_str_strip(tl_tx *c, tl_val s, tl_val chars, int sides);   /* chars TL_MISSING or none: white space */
/* What takes the place of bytes [at, at + old.n) of s, which are old: as trusted as by is, but not at all if old may be (a
 * part of) a token's name and is not the template's there. */
tl_val tl_str_instead(tl_val s, size_t at, tl_val old, tl_val by);
/* Remembers that s was cut at bytes [at, at + sep.n); what joins texts by such a sep is then not trusted. */
void tl_str_cut(tl_tx *c, tl_val s, size_t at, tl_val sep);
tl_val tl_str_joint(tl_tx *c, tl_val sep);
tl_val tl_str_replace(tl_tx *c, tl_val s, tl_val old, tl_val by, int64_t count);   /* count < 0: all */
tl_val tl_str_lines(tl_tx *c, tl_val s, int keep_ends);             /* splitlines */
tl_val tl_str_pad(tl_tx *c, tl_val s, int64_t width, tl_val fill, int where);      /* where: '<' '>' '^' */

#endif
