/* SPDX-License-Identifier: MIT
 * gemma: llama with rotary halves, a GELU gate and embeddings scaled by sqrt(n_embd). (The +1 of Gemma's norm weights is
 * already in the file.) */
#include "model/hparams.h"

#include <math.h>

static void gemma_hparams(tl_hparams *hp, tl_faults *f) {
    (void)f;
    hp->embd_scale = sqrtf((float)hp->n_embd);
}

extern const tl_arch tl_arch_gemma;
const tl_arch tl_arch_gemma = {.name = "gemma", .usual = TL_USUAL_TIED, .rope_kind = TL_ROPE_NEOX, .ffn = TL_FFN_GEGLU, .hparams = gemma_hparams};
