/* SPDX-License-Identifier: MIT
 *
 * json_read.h: JSON (RFC 8259, and Python's NaN, Infinity, -Infinity) read value by value, without memory of its own. The
 * caller walks down, by recursion or with a stack:
 *
 *     switch (tl_json_value(&r)) {
 *     case TL_JSON_LIST: for (int first = 1; tl_json_more(&r, first) > 0; first = 0) ... tl_json_value ...
 *     case TL_JSON_DICT: for (int first = 1; tl_json_more(&r, first) > 0; first = 0) tl_json_key(&r), ... tl_json_value ...
 *
 * and ends with tl_json_done. After a fault every function fails, so it is enough to look at r.fault in the end. */
#ifndef TL_JSON_READ_H
#define TL_JSON_READ_H

#include "base/base.h"

typedef enum tl_json_kind {
    TL_JSON_FAULT, TL_JSON_NULL, TL_JSON_FALSE, TL_JSON_TRUE, TL_JSON_INT, TL_JSON_FLOAT, TL_JSON_STRING, TL_JSON_LIST, TL_JSON_DICT
} tl_json_kind;

typedef struct tl_json_in {
    const char *p, *end;
    int line;                 /* of p, from 1 on */
    int depth, max_depth;
    uint8_t *closers;         /* [max_depth]: the bracket that ends each open list or dict */
    tl_slice text;            /* of the value: a number as it is written; a string without its quotes, for tl_json_piece */
    char fault[120];          /* "" or what is wrong at line: "expected a comma, found ']'" */
} tl_json_in;

/* closers: memory of the caller [max_depth]. */
tl_json_in tl_json_open(const char *text, size_t n, uint8_t *closers, int max_depth);
tl_json_kind tl_json_value(tl_json_in *r);
/* 1: another element follows (the comma is behind us); 0: the list or dict has ended; -1: a fault. */
int tl_json_more(tl_json_in *r, int first);
/* The key of the next element of a dict, in r->text. 1, or -1 after a fault. */
int tl_json_key(tl_json_in *r);
/* Goes to the end of a value that has begun: what a list or dict holds is read over. 0, or -1 after a fault. */
int tl_json_skip(tl_json_in *r, tl_json_kind kind);
/* In a dict that has begun: the value of a key, TL_JSON_FAULT if it has none. */
tl_json_kind tl_json_seek(tl_json_in *r, const char *key);
/* 1 if nothing is left but blanks, -1: a fault. */
int tl_json_done(tl_json_in *r);

/* The next piece of a string's text, which is moved on: plain bytes, and the code point of the escape behind them (half a
 * surrogate pair stays one), -1: none. 0: the text has ended. */
int tl_json_piece(tl_slice *text, tl_slice *plain, int32_t *cp);
/* Appends all of it. */
void tl_json_text(tl_slice text, tl_buf *out);

#endif
