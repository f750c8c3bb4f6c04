/* SPDX-License-Identifier: MIT
 * granite (IBM Granite 3): llama with factors on embeddings, scores, what layers add, and a divisor of logits. */
#include "model/hparams.h"

extern const tl_arch tl_arch_granite;
const tl_arch tl_arch_granite = {
    .name = "granite", .usual = TL_USUAL_TIED, .rope_kind = TL_ROPE_NORM, .keys = TL_KEY_RESIDUAL_SCALE | TL_KEY_LOGIT_DIVISOR};
