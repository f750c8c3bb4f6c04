/* SPDX-License-Identifier: MIT
 *
 * term.h: texts on a terminal. What a model, a template or a message says is not trusted with the terminal: sequences that
 * set titles, colours or the cursor are shown, not sent. */
#ifndef TL_TERM_H
#define TL_TERM_H

#include "base/base.h"

/* Appends text [n] with the bytes of control characters, and bytes that are no UTF-8, as \xNN. keep: control characters
 * of ASCII that stay as they are. */
void tl_term_escape(tl_buf *out, const char *text, size_t n, const char *keep);

/* Where a text goes, and how its last line stands. shared: status lines go there too (a terminal, or 2>&1). */
typedef struct tl_term { FILE *f; int is_terminal, shared, mid_line; } tl_term;
tl_term tl_term_open(FILE *f);
/* Writes text: escaped on a terminal, as it is elsewhere. */
void tl_term_write(tl_term *t, const char *text, size_t n);
/* Before other lines: ends a line that was left in the middle, if they go to the same place. */
void tl_term_end_line(tl_term *t);

/* Places in a line of the terminal that f goes to; 0: it is none, or does not tell. */
int tl_term_width(FILE *f);
/* What is going on, in one line of stderr that the next call writes over; nothing if stderr is no terminal. */
void tl_term_progress(const char *fmt, ...) TL_PRINTF(1, 2);
/* Takes the line away. */
void tl_term_progress_end(void);

#endif
