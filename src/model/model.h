/* SPDX-License-Identifier: MIT
 *
 * model.h: what other modules may know of a loaded model (commands that look inside: inspect, tokenize). */
#ifndef TL_MODEL_H
#define TL_MODEL_H

#include "base/base.h"
#include "gguf/gguf.h"
#include "text/text.h"

/* Reads the tokenizer of a GGUF file (works on vocabulary-only files). The gguf must outlive it. */
tl_tokenizer *tl_load_tokenizer(const tl_gguf *g, tl_error *err);

#endif
