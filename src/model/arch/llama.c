/* SPDX-License-Identifier: MIT
 * llama: the plain form that many families share (Llama 1-3, SmolLM2, Mistral, Mixtral): pre-norm, rotary pairs side by
 * side, SiLU gate. Biases and experts are used where the file has them. */
#include "model/hparams.h"

extern const tl_arch tl_arch_llama;
const tl_arch tl_arch_llama = {.name = "llama", .rope_kind = TL_ROPE_NORM, .keys = TL_KEY_EXPERTS};
