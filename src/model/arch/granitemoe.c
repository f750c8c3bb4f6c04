/* SPDX-License-Identifier: MIT
 * granitemoe (IBM Granite 3 with experts): granite with experts and, in some, one that every token uses in full. */
#include "model/hparams.h"

extern const tl_arch tl_arch_granitemoe;
const tl_arch tl_arch_granitemoe = {.name = "granitemoe", .usual = TL_USUAL_TIED, .rope_kind = TL_ROPE_NORM,
                                    .keys = TL_KEY_RESIDUAL_SCALE | TL_KEY_LOGIT_DIVISOR | TL_KEY_EXPERTS};
