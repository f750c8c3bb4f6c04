/* SPDX-License-Identifier: MIT
 * gptneox (GPT-NeoX, Pythia): layer norms, biases everywhere, part of each head rotated in halves, a feed-forward without
 * gate beside attention or, as a key says, behind it. */
#include "model/hparams.h"

extern const tl_arch tl_arch_gptneox;
const tl_arch tl_arch_gptneox = {.name = "gptneox", .usual = TL_USUAL_QKV, .rope_kind = TL_ROPE_NEOX, .bias = TL_BIAS_ALL, .layer_norm = 1,
                                 .parallel = 1, .ffn = TL_FFN_GELU_ERF, .keys = TL_KEY_PARALLEL};
