/* SPDX-License-Identifier: MIT
 *
 * pages.h: what the option tables say, in the forms that other programs read: a man page and completions for shells. */
#ifndef TL_PAGES_H
#define TL_PAGES_H

#include "cmd/cmd.h"

/* "man", "bash", "zsh" or "fish" to out; 0: no such form. */
int tl_page(const char *form, tl_buf *out);
/* Their names, NULL past the last. */
const char *tl_page_form(int i);

#endif
