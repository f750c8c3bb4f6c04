/* SPDX-License-Identifier: MIT
 * gpt2: layer norms, biases everywhere, a feed-forward without gate, and positions as a table of embeddings instead of a
 * rotation: contexts end where the table does. */
#include "model/hparams.h"

static void gpt2_hparams(tl_hparams *hp, tl_faults *f) {
    (void)f;
    hp->rope_period = 1;
    hp->n_rot = 0;
}

extern const tl_arch tl_arch_gpt2;
const tl_arch tl_arch_gpt2 = {.name = "gpt2", .usual = TL_USUAL_QKV | TL_USUAL_TIED, .bias = TL_BIAS_ALL, .layer_norm = 1, .positions = 1, .ffn = TL_FFN_GELU,
                              .hparams = gpt2_hparams};
