/* SPDX-License-Identifier: MIT
 * qwen2: llama with rotary halves and biases on q, k and v. */
#include "model/hparams.h"

extern const tl_arch tl_arch_qwen2;
const tl_arch tl_arch_qwen2 = {.name = "qwen2", .usual = TL_USUAL_TIED, .rope_kind = TL_ROPE_NEOX, .bias = TL_BIAS_QKV};
