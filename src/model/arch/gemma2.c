/* SPDX-License-Identifier: MIT
 * gemma2: gemma with norms before and after each half of a layer, scores and logits bounded by tanh, and a sliding window
 * in every layer but the second, fourth, ... Numbers that a file does not name are those of the published models. */
#include "model/hparams.h"

#include <math.h>

static void gemma2_hparams(tl_hparams *hp, tl_faults *f) {
    (void)f;
    hp->embd_scale = sqrtf((float)hp->n_embd);
    hp->window_period = 2;
    if (!hp->window) hp->window = 4096;
    if (hp->attn_softcap <= 0) hp->attn_softcap = 50;
    if (hp->logit_softcap <= 0) hp->logit_softcap = 30;
    /* The 27B model (46 layers) scales by its embedding width per head; the others by the head's own size. */
    if (hp->n_layers == 46) hp->attn_scale = 1 / sqrtf((float)hp->n_embd / (float)hp->n_heads);
}

extern const tl_arch tl_arch_gemma2;
const tl_arch tl_arch_gemma2 = {
    .name = "gemma2", .usual = TL_USUAL_TIED, .rope_kind = TL_ROPE_NEOX, .post_norms = 1, .ffn = TL_FFN_GEGLU, .hparams = gemma2_hparams};
