/* SPDX-License-Identifier: MIT
 *
 * pretok.h: how a byte-level BPE tokenizer cuts a text into the pieces that are merged one by one. */
#ifndef TL_TEXT_PRETOK_H
#define TL_TEXT_PRETOK_H

#include "base/base.h"

enum { TL_PRE_WHOLE = 1, TL_PRE_BOS = 2 };

typedef struct tl_pretok {
    const char *name;
    size_t (*split)(const char *p, const char *end);   /* length of the first piece of [p, end), p < end; at least 1 */
    int flags;
} tl_pretok;

/* The row of that name, or NULL. */
const tl_pretok *tl_pretok_find(tl_slice name);
/* The row to use where no name fits. */
const tl_pretok *tl_pretok_fallback(void);

#endif
