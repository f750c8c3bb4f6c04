/* SPDX-License-Identifier: MIT
 * phi2 (Phi-1, Phi-1.5, Phi-2): one layer norm for attention and the feed-forward beside it, which has no gate; biases
 * everywhere, on logits too; part of each head rotated in halves. */
#include "model/hparams.h"

extern const tl_arch tl_arch_phi2;
const tl_arch tl_arch_phi2 = {.name = "phi2", .usual = TL_USUAL_ONE_NORM | TL_USUAL_HEAD_BIAS, .rope_kind = TL_ROPE_NEOX, .bias = TL_BIAS_ALL, .layer_norm = 1, .parallel = 1,
                              .ffn = TL_FFN_GELU};
