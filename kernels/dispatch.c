/* SPDX-License-Identifier: MIT
 * The levels of this architecture as data, the choice among them, and the filling of a kernel table. Knows levels by
 * their row in levels.def only. */
#include <string.h>
#include "kernels.h"
#include "scalar/scalar.h"

#define LEVEL(name, needs) void tl_fill_##name(tl_kernels *);
#include "levels.def"
#undef LEVEL

static void fill_scalar(tl_kernels *k) {
    k->level = "scalar";
    tl_scalar_fill_vec(k);
    tl_scalar_fill_ffn(k);
    tl_scalar_fill_kv(k);
    tl_scalar_fill_gemm(k);
    tl_scalar_fill_peak(k);
}

const tl_level tl_levels[] = {
    {"scalar", 0, fill_scalar},
#define LEVEL(name, needs) {#name, needs, tl_fill_##name},
#include "levels.def"
    {NULL, 0, NULL},
};

int tl_level_for(uint32_t features) {
    int best = 0;
    for (int i = 1; tl_levels[i].name; i++)
        if (!(tl_levels[i].needs & ~features)) best = i;
    return best;
}

int tl_level_best(void) { return tl_level_for(tl_cpu_features()); }

int tl_level_by_name(const char *name) {
    for (int i = 0; tl_levels[i].name; i++)
        if (!strcmp(tl_levels[i].name, name)) return i;
    return -1;
}

/* A lower level takes part only if the wanted one needs all that it needs: avx512vnni CPUs without avxvnni exist, and no
 * slot may hold an instruction that the wanted level does not promise. */
void tl_kernels_init(tl_kernels *k, int level) {
    memset(k, 0, sizeof *k);
    k->stream_from = tl_cpu_stream_from();
    for (int i = 0; i <= level; i++)
        if (!(tl_levels[i].needs & ~tl_levels[level].needs)) tl_levels[i].fill(k);
}
