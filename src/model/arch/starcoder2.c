/* SPDX-License-Identifier: MIT
 * starcoder2: layer norms, biases everywhere, rotary halves, and a feed-forward without gate. */
#include "model/hparams.h"

extern const tl_arch tl_arch_starcoder2;
const tl_arch tl_arch_starcoder2 = {
    .name = "starcoder2", .usual = TL_USUAL_TIED, .rope_kind = TL_ROPE_NEOX, .bias = TL_BIAS_ALL, .layer_norm = 1, .ffn = TL_FFN_GELU};
