/* SPDX-License-Identifier: MIT
 * qwen2moe (Qwen1.5-MoE, Qwen2-57B-A14B): qwen2 with experts, whose weights stay those of a softmax over all, and one that
 * every token uses, by a weight of its own. */
#include "model/hparams.h"

extern const tl_arch tl_arch_qwen2moe;
const tl_arch tl_arch_qwen2moe = {
    .name = "qwen2moe", .usual = TL_USUAL_SHARED_ROUTER, .rope_kind = TL_ROPE_NEOX, .bias = TL_BIAS_QKV, .no_renorm = 1, .keys = TL_KEY_EXPERTS};
