/* SPDX-License-Identifier: MIT
 *
 * line_edit.h: lines that people type. The editor is a pure function: bytes of the keyboard go in, bytes for the
 * terminal come out; tl_line_read puts it between standard input and the terminal, or reads plain lines where there is
 * none. Belongs to cmd/. */
#ifndef TL_LINE_EDIT_H
#define TL_LINE_EDIT_H

#include "base/base.h"

/* ---- the editor --------------------------------------------------------------------------------------------------- */

typedef struct tl_line_edit {
    tl_buf text;              /* UTF-8, any bytes but 0; line breaks are part of it */
    size_t at;                /* cursor, bytes */
    tl_buf history;           /* texts, a 0 byte behind each */
    size_t shown;             /* where the history's text that is shown begins; history.n: the line of one's own */
    tl_buf own;               /* that line, while the history is looked at */
    char keys[24];            /* of a key that is not complete */
    int n_keys, pasting;
    int state;                /* TL_LINE_* */
    int searching;            /* 1: the history, for the text in seek; 2: and there is none such */
    tl_buf seek;
    size_t begun;             /* what was shown before */
    int row;                  /* of the cursor on the screen, from the prompt's on */
    int cleared;              /* by Ctrl-C */
    int clear;                /* the whole screen is to be drawn anew */
} tl_line_edit;

enum { TL_LINE_GOES_ON, TL_LINE_DONE, TL_LINE_END, TL_LINE_SUSPEND, TL_LINE_HINT };

/* Begins a line that holds a text already (NULL: none). */
void tl_line_begin(tl_line_edit *e, const char *text);
/* Takes keys [n] until the line is done, input has ended (Ctrl-D in an empty line), is to rest (Ctrl-Z) or somebody seeks the
 * end (Ctrl-C in an empty line): e->state. An ESC that nothing follows in keys is a key where the history is searched.
 * Returns how many bytes were taken. */
size_t tl_line_keys(tl_line_edit *e, const char *keys, size_t n);
/* Adds to the history what differs from its last text. */
void tl_line_remember(tl_line_edit *e, const char *text);
/* Appends what shows prompt and text on a terminal of cols x rows places, over what was drawn before. Long lines are
 * broken here and not by the terminal; of a text higher than the screen the part around the cursor is shown. */
void tl_line_draw(tl_line_edit *e, const char *prompt, int cols, int rows, tl_buf *out);
void tl_line_free(tl_line_edit *e);

/* Places that a character takes on a terminal: 0 (combining), 1 or 2 (East Asian wide, emoji). */
int tl_char_width(int32_t cp);

/* ---- reading ------------------------------------------------------------------------------------------------------ */

typedef struct tl_line_reader {
    tl_line_edit edit;
    const char *hint;         /* a line for who presses Ctrl-C in an empty one; NULL: none */
    int terminal;             /* descriptor of the terminal to draw on; -1: plain lines of stdin */
    char typed[1024];         /* ahead of the line */
    size_t n_typed;
} tl_line_reader;

/* Edits where standard input and one of stdout and stderr are a terminal that can move its cursor. Until tl_line_close,
 * what is typed between lines is kept for the next one and not shown, and signals that end or stop the program give the
 * terminal back first. Who sets another handler calls tl_line_restore in it before the program ends. */
tl_line_reader tl_line_open(void);
void tl_line_restore(void);
/* The next line, without its end ("\n" or "\r\n"), terminated, to *line. text (or NULL) stands there to begin with, if lines
 * are edited. Returns 1, 0 at the end of input, or a negative TL_E_* code. */
int tl_line_read(tl_line_reader *r, const char *prompt, const char *text, tl_buf *line, tl_error *err);
void tl_line_close(tl_line_reader *r);
/* The history's file, $XDG_STATE_HOME/tinyllm/history or ~/.local/state/tinyllm/history: adds what is in it, writes the
 * last 1000 lines. A file that is not there yet is no error. */
int tl_line_load_history(tl_line_reader *r, tl_error *err);
int tl_line_save_history(const tl_line_reader *r, tl_error *err);

#endif
