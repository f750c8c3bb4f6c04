/* SPDX-License-Identifier: MIT
 * qwen3moe (Qwen3-30B-A3B and larger): qwen3 with experts. */
#include "model/hparams.h"

extern const tl_arch tl_arch_qwen3moe;
const tl_arch tl_arch_qwen3moe = {
    .name = "qwen3moe", .rope_kind = TL_ROPE_NEOX, .qk_norm = TL_QK_NORM_HEAD, .keys = TL_KEY_EXPERTS};
