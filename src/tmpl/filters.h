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
tl_val tl_str_replace(tl_tx *c, tl_val s, tl_val old, tl_val by, int64_t count);   /* count < 0: all */
tl_val tl_str_lines(tl_tx *c, tl_val s, int keep_ends);             /* splitlines */
tl_val tl_str_pad(tl_tx *c, tl_val s, int64_t width, tl_val fill, int where);      /* where: '<' '>' '^' */

#endif
