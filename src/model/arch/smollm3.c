/* SPDX-License-Identifier: MIT
 * smollm3: llama without rotation in every fourth layer. */
#include "model/hparams.h"

static void smollm3_hparams(tl_hparams *hp, tl_faults *f) {
    (void)f;
    hp->rope_period = 4;
}

extern const tl_arch tl_arch_smollm3;
const tl_arch tl_arch_smollm3 = {.name = "smollm3", .usual = TL_USUAL_TIED, .rope_kind = TL_ROPE_NORM, .hparams = smollm3_hparams};
