/* SPDX-License-Identifier: MIT
 * gpt-oss: experts with biases and a clamped gate, a window in every second layer, sinks that take a part of attention,
 * biases everywhere. Its YaRN range is not rounded to whole pairs; files have no key for it. */
#include "model/hparams.h"

static void gpt_oss_hparams(tl_hparams *hp, tl_faults *f) {
    (void)f;
    hp->window_period = 2;
    for (int i = 0; i < TL_N_ROPES; i++) hp->rope[i].yarn_exact = 1;
}

extern const tl_arch tl_arch_gpt_oss;
const tl_arch tl_arch_gpt_oss = {
    .name = "gpt-oss", .rope_kind = TL_ROPE_NEOX, .bias = TL_BIAS_ALL, .ffn = TL_FFN_SWIGLU_OAI, .sinks = 1,
    .ffn_norm = "post_attention_norm", .keys = TL_KEY_EXPERTS, .hparams = gpt_oss_hparams};
