/* SPDX-License-Identifier: MIT
 * qwen2: llama with rotary halves and biases on q, k and v. */
#include "model/model.h"

extern const tl_arch tl_arch_qwen2;
const tl_arch tl_arch_qwen2 = {.name = "qwen2", .rope_kind = TL_ROPE_NEOX, .bias = TL_BIAS_QKV};
