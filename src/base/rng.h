/* SPDX-License-Identifier: MIT
 *
 * rng.h: random numbers that are the same everywhere for the same seed, and a seed from the system. */
#ifndef TL_RNG_H
#define TL_RNG_H

#include <stdint.h>

typedef struct tl_rng { uint64_t s[4]; } tl_rng;

/* Every seed gives its own sequence; none is bad. */
void tl_rng_seed(tl_rng *r, uint64_t seed);
uint64_t tl_rng_next(tl_rng *r);
/* Uniform in [0, 1), a multiple of 2^-53. */
double tl_rng_double(tl_rng *r);
/* A seed >= 0 that differs from call to call. */
int64_t tl_rng_system_seed(void);

#endif
