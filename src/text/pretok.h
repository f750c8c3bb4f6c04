/* SPDX-License-Identifier: MIT
 *
 * pretok.h: how a byte-level BPE tokenizer cuts a text into the pieces that are merged one by one. A pre-tokenizer is a
 * sequence of steps: the first cuts the text, each other one cuts the parts of the step before it, as if such a part
 * were all of a text. What the last one leaves is a piece. */
#ifndef TL_TEXT_PRETOK_H
#define TL_TEXT_PRETOK_H

#include "base/base.h"

enum { TL_PRE_WHOLE = 1, TL_PRE_BOS = 2, TL_PRE_STEPS = 6 };

/* Length of the first part of [p, end), p < end; at least 1. */
typedef size_t tl_pretok_step(const char *p, const char *end);

typedef struct tl_pretok {
    const char *name;
    int flags;
    tl_pretok_step *step[TL_PRE_STEPS + 1];   /* at least one; NULL behind the last */
} tl_pretok;

/* The row of that name, or NULL. */
const tl_pretok *tl_pretok_find(tl_slice name);
/* The row to use where no name fits. */
const tl_pretok *tl_pretok_fallback(void);

/* A text on the way. */
typedef struct tl_cut {
    tl_pretok_step *const *step;
    int n;                                 /* steps */
    const char *p;                         /* start of the next piece */
    const char *end[TL_PRE_STEPS + 1];     /* [0]: of the text; [k]: of the part that step k - 1 cut */
} tl_cut;

tl_cut tl_pretok_begin(const tl_pretok *pre, const char *text, size_t n);
/* The next piece; one of no bytes at the end. */
tl_slice tl_pretok_next(tl_cut *c);

#endif
