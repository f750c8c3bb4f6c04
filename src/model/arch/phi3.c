/* SPDX-License-Identifier: MIT
 * phi3 (Phi-3, Phi-3.5, Phi-4): llama with rotary halves. Its files hold q, k and v as one tensor, gate and up as another. */
#include "model/model.h"

extern const tl_arch tl_arch_phi3;
const tl_arch tl_arch_phi3 = {.name = "phi3", .rope_kind = TL_ROPE_NEOX};
