/* SPDX-License-Identifier: MIT
 * olmo2 (OLMo 2 and 3): no norms before the halves of a layer, norms after them, and norms over the whole of q and of k.
 * OLMo 3: a sliding window in three layers of four, whose angles are not stretched. */
#include "model/hparams.h"

static void olmo2_hparams(tl_hparams *hp, tl_faults *f) {
    (void)f;
    hp->window_period = 4;
    hp->rope[TL_ROPE_LOCAL] = (tl_rope){.base = hp->rope[TL_ROPE_GLOBAL].base, .scale = 1, .magnitude = 1};
}

extern const tl_arch tl_arch_olmo2;
const tl_arch tl_arch_olmo2 = {.name = "olmo2", .rope_kind = TL_ROPE_NEOX, .qk_norm = TL_QK_NORM_ROW, .no_pre_norms = 1,
                               .post_norms = 1, .hparams = olmo2_hparams};
