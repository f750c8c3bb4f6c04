/* SPDX-License-Identifier: MIT
 * qwen3: llama with rotary halves and a norm on each head of q and k. */
#include "model/hparams.h"

extern const tl_arch tl_arch_qwen3;
const tl_arch tl_arch_qwen3 = {.name = "qwen3", .rope_kind = TL_ROPE_NEOX, .qk_norm = TL_QK_NORM_HEAD};
