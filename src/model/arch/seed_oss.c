/* SPDX-License-Identifier: MIT
 * seed_oss: qwen2 with heads of any width; the norm before the feed-forward has the name of a post-norm. */
#include "model/hparams.h"

extern const tl_arch tl_arch_seed_oss;
const tl_arch tl_arch_seed_oss = {
    .name = "seed_oss", .rope_kind = TL_ROPE_NEOX, .bias = TL_BIAS_QKV, .ffn_norm = "post_attention_norm"};
