/* SPDX-License-Identifier: MIT
 *
 * dry.h: the history of DRY and its penalties. A text that repeats itself token for token makes the token that would go
 * on with the repetition less likely, the more so the longer the repetition is. A breaker (a text, such as a line break)
 * ends what counts as repeated: no repetition reaches over the token in which a breaker ends, and tokens that hold one
 * are never penalized. */
#ifndef TL_DRY_H
#define TL_DRY_H

#include "sample/sample.h"

typedef struct tl_dry tl_dry;

/* o's dry options, checked. Copies the breakers. NULL on failure. */
tl_dry *tl_dry_new(int n_vocab, const tl_sampler_options *o, tl_error *err);
void tl_dry_free(tl_dry *d);
/* Breakers need the tokens' texts; without this call there are none. */
int tl_dry_set_texts(tl_dry *d, tl_token_text_fn *text, const void *user, tl_error *err);
void tl_dry_accept(tl_dry *d, int32_t id);
/* Subtracts the penalties from x [n_vocab]. */
void tl_dry_edit(tl_dry *d, float *x);

#endif
