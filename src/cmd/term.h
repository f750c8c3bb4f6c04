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

/* Breaks lines between words that come in pieces. Starts with zero bytes. */
typedef struct tl_words {
    tl_buf held;              /* blanks and the word behind them, which is not complete */
    size_t n_blanks;          /* of its bytes */
    int blanks, width, col;   /* places of these, and of what was given of the line */
    int begun, code;          /* the line has a word; it is code */
    int wide, longer;         /* the last character was wide; the word does not fit into any line */
} tl_words;
/* Appends to out what is certain when text [n] follows, for lines of cols places (0: of any length). No blank is taken out
 * but those where a line is broken. */
void tl_words_push(tl_words *w, int cols, const char *text, size_t n, tl_buf *out);
/* Appends what was held back. */
void tl_words_flush(tl_words *w, int cols, tl_buf *out);

/* Where a text goes, and how its last line stands. shared: status lines go there too (a terminal, or 2>&1). */
typedef struct tl_term {
    FILE *f;
    int is_terminal, shared, mid_line;
    int wraps;                /* lines are broken between words, on a terminal: tl_term_flush says that the text has ended */
    int dim;
    tl_words wrap;
} tl_term;
tl_term tl_term_open(FILE *f);
void tl_term_flush(tl_term *t);
/* Whether what follows is shown dim. */
void tl_term_dim(tl_term *t, int dim);
/* A whole line, without its end, broken between words on a terminal. */
void tl_term_line(FILE *f, const char *before, const char *text);
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
