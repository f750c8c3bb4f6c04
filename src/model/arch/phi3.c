/* SPDX-License-Identifier: MIT
 * phi3 (Phi-3, Phi-3.5, Phi-4): llama with rotary halves. Its files hold q, k and v as one tensor, gate and up as another. */
#include "model/hparams.h"

extern const tl_arch tl_arch_phi3;
const tl_arch tl_arch_phi3 = {.name = "phi3", .usual = TL_USUAL_QKV | TL_USUAL_GATE_UP, .rope_kind = TL_ROPE_NEOX};
