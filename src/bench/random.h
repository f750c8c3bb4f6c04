/* SPDX-License-Identifier: MIT
 *
 * random.h: random weights of any type, for models without a file (bench --shape) and of tests (tools/mkmodel.c). The
 * same state gives the same bytes on every machine. */
#ifndef TL_RANDOM_H
#define TL_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Whether types.def says enough of a type to make some. */
int tl_random_possible(int type);
/* Fills n values of a FLOAT or QUANT type (n a multiple of the block's) that vary by deviation around mean (mean: float
 * types only). Quantized ones are random bytes with the scale fields set: every code and sub-block scale occurs. */
void tl_random_weights(int type, void *out, size_t n, float mean, float deviation, uint64_t *state);

#endif
