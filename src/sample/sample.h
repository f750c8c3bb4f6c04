/* SPDX-License-Identifier: MIT
 *
 * sample.h: the sampler without a model. The engine wraps tl_sampler_create as tl_sampler_new; everything else of the
 * sampler in tinyllm.h is defined in this folder. */
#ifndef TL_SAMPLE_H
#define TL_SAMPLE_H

#include "base/base.h"

/* For logits [n_vocab], n_vocab >= 1; otherwise as tl_sampler_new. */
tl_sampler *tl_sampler_create(int n_vocab, const tl_sampler_options *options, tl_error *err);

/* The bytes of a token's text, as tl_token_text. */
typedef int tl_token_text_fn(const void *user, int32_t id, char *out, int cap);
/* Tells the sampler the texts of tokens, which DRY's breakers look at; before the first token. Asked as long as the
 * sampler lives. */
int tl_sampler_set_texts(tl_sampler *s, tl_token_text_fn *text, const void *user, tl_error *err);

#endif
