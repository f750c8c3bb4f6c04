/* SPDX-License-Identifier: MIT
 *
 * constrain.h: what the generator asks of a grammar (tl_grammar of tinyllm.h). */
#ifndef TL_CONSTRAIN_H
#define TL_CONSTRAIN_H

#include "base/base.h"

/* TL_OK, or TL_E_ARGUMENT where the grammar was made for another model. NULL: no grammar. */
int tl_grammar_check(const tl_grammar *g, const tl_model *m, tl_error *err);
/* Puts logits [n_vocab] with -inf for what may not follow in *logits; NaN stays. stop [n_stop]: tokens that end the text
 * beside the model's own. 1, or 0: nothing can follow, the text has ended; negative: an error. */
int tl_grammar_apply(tl_grammar *g, const float **logits, const int32_t *stop, int n_stop, tl_error *err);

#endif
