/* SPDX-License-Identifier: MIT
 * gemma3 (text): norms before and after each half of a layer, norms on the heads of q and k, GELU gate, embeddings
 * scaled by sqrt(n_embd). Five layers with a sliding window and unscaled angles of base 10000 are followed by one that
 * sees everything. (The +1 of Gemma's norm weights is already in the file.) */
#include "model/hparams.h"

#include <math.h>

static void gemma3_hparams(tl_hparams *hp, tl_faults *f) {
    hp->embd_scale = sqrtf((float)hp->n_embd);
    hp->window_period = 6;
    if (!hp->window) tl_fault(f, "gemma3.attention.sliding_window is missing or 0");
    hp->rope[TL_ROPE_LOCAL] = (tl_rope){.base = 10000, .scale = 1, .magnitude = 1};
    /* The 27B model (62 layers) scales by its embedding width per head; the others by the head's own size. */
    if (hp->n_layers == 62) hp->attn_scale = 1 / sqrtf((float)hp->n_embd / (float)hp->n_heads);
}

extern const tl_arch tl_arch_gemma3;
const tl_arch tl_arch_gemma3 = {
    .name = "gemma3", .usual = TL_USUAL_TIED, .rope_kind = TL_ROPE_NEOX, .qk_norm = TL_QK_NORM_HEAD, .post_norms = 1, .ffn = TL_FFN_GEGLU, .hparams = gemma3_hparams};
