/* SPDX-License-Identifier: MIT
 *
 * rng.c: the generator is xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2018),
 * its state filled by SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014) as
 * the authors advise. Not for secrets. */
#include "base/rng.h"

#include <sys/random.h>
#include <time.h>

static uint64_t splitmix(uint64_t *x) {
    uint64_t z = *x += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

void tl_rng_seed(tl_rng *r, uint64_t seed) {
    for (int i = 0; i < 4; i++) r->s[i] = splitmix(&seed);
}

uint64_t tl_rng_next(tl_rng *r) {
    uint64_t *s = r->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

double tl_rng_double(tl_rng *r) { return (double)(tl_rng_next(r) >> 11) * 0x1p-53; }

int64_t tl_rng_system_seed(void) {
    uint64_t x = 0;
    if (getrandom(&x, sizeof x, GRND_NONBLOCK) != (ssize_t)sizeof x) {   /* early in boot, or refused by a sandbox */
        struct timespec t = {0};
        clock_gettime(CLOCK_REALTIME, &t);
        x = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + (uint64_t)(uintptr_t)&t;
        x = splitmix(&x);
    }
    return (int64_t)(x >> 1);
}
