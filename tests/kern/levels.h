/* SPDX-License-Identifier: MIT
 *
 * levels.h: what the tests of vector operations share: a walk over this CPU's levels, buffers that end at an unreadable
 * page, random numbers, and blocks that are hard to quantize. Included once per test program. */
#ifndef TL_TEST_LEVELS_H
#define TL_TEST_LEVELS_H
#include <float.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>
#include "kernels.h"
#include "test.h"

static tl_kernels K;
#define EACH_LEVEL for (int lv_ = 0; level_at(&lv_); lv_++)

/* Fills K for the first level from *i on that the CPU has and that has operations of its own here. */
static inline int level_at(int *i) {
    static tl_kernels last;
    const size_t vec = offsetof(tl_kernels, put_act);
    for (; tl_levels[*i].name; ++*i) {
        if (tl_levels[*i].needs & ~tl_cpu_features()) continue;
        tl_kernels_init(&K, *i);
        if (*i == 0 || memcmp((char *)&K + vec, (char *)&last + vec, sizeof K - vec)) break;
    }
    last = K;
    return tl_levels[*i].name != NULL;
}

/* ---- memory and numbers ------------------------------------------------------------------------------------------ */

#define SLOTS 8
#define SLOT_BYTES (1 << 20)

/* The last bytes before an unreadable page; each slot is one buffer, filled with a pattern. */
static inline void *guarded(int slot, size_t bytes) {
    static char *base[SLOTS];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!base[slot]) {
        base[slot] = mmap(NULL, SLOT_BYTES + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base[slot] == MAP_FAILED || mprotect(base[slot] + SLOT_BYTES, page, PROT_NONE)) exit(2);
    }
    if (bytes > SLOT_BYTES) exit(2);
    return memset(base[slot] + SLOT_BYTES - bytes, 0xa5, bytes);
}
static inline float *floats(int slot, int n) { return guarded(slot, (size_t)n * sizeof(float)); }

static uint64_t seed = 1;
static inline uint32_t rnd(void) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t)(seed >> 32);
}
static inline int below(int n) { return (int)(rnd() % (uint32_t)n); }
static inline float uniform(void) { return (float)((int32_t)rnd() * 0x1p-31); }

static inline float *randoms(int slot, int n, float range) {
    float *x = floats(slot, n);
    for (int i = 0; i < n; i++) x[i] = uniform() * range;
    return x;
}
static inline float *copy(int slot, const float *x, int n) { return memcpy(floats(slot, n), x, (size_t)n * sizeof *x); }
static inline int same_bits(const void *a, const void *b, size_t n) { return !memcmp(a, b, n); }

/* A block of one of many kinds. */
static inline void hard_block(float *x, int kind) {
    static const float tops[] = {FLT_MAX, FLT_MIN, 1e-38f, 1e-45f, 3.8e-37f, 3.7e-37f, 3.6e-37f, 1e30f, 127, 254, 1};
    const float top = kind < 11 ? tops[kind] : ldexpf(1 + fabsf(uniform()), below(60) - 30);
    for (int i = 0; i < 32; i++) x[i] = uniform() * top;
    x[below(32)] = below(2) ? top : -top;
    if (kind >= 8 && kind < 11)   /* ties */
        for (int i = 1; i < 32; i++) x[i] = top * ((float)below(253) - 126.5f) / 127;
    if (kind == 11) memset(x, 0, 32 * sizeof *x);
    if (kind == 12) for (int i = 0; i < 32; i++) x[i] = -0.0f;
    if (kind == 13) x[below(32)] = NAN;
    if (kind == 14) x[below(32)] = -NAN;
    if (kind == 15) x[below(32)] = INFINITY;
    if (kind == 16) x[below(32)] = -INFINITY;
    if (kind == 17) x[0] = INFINITY, x[31] = NAN;
}

static inline int same_act(const uint8_t *a, const uint8_t *b, size_t n) {
    for (size_t i = 0; i < n; i += 4) {   /* NaN may have any payload */
        float x, y;
        memcpy(&x, a + i, 4);
        memcpy(&y, b + i, 4);
        if (memcmp(&x, &y, 4) && !(isnan(x) && isnan(y))) return 0;
    }
    return 1;
}

#endif
