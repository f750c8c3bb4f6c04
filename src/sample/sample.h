/* SPDX-License-Identifier: MIT
 *
 * sample.h: the sampler without a model. The engine wraps tl_sampler_create as tl_sampler_new; everything else of the
 * sampler in tinyllm.h is defined in this folder. */
#ifndef TL_SAMPLE_H
#define TL_SAMPLE_H

#include "base/base.h"

/* For logits [n_vocab], n_vocab >= 1; otherwise as tl_sampler_new. */
tl_sampler *tl_sampler_create(int n_vocab, const tl_sampler_options *options, tl_error *err);

#endif
