/* SPDX-License-Identifier: MIT
 * arch.c: the table of architectures. */
#include "model/hparams.h"

#define ARCH(name) extern const tl_arch tl_arch_##name;
#include "arch.def"
#undef ARCH

static const tl_arch *const archs[] = {
#define ARCH(name) &tl_arch_##name,
#include "arch.def"
#undef ARCH
};

const tl_arch *tl_arch_find(tl_slice name) {
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (tl_slice_is(name, archs[i]->name)) return archs[i];
    return NULL;
}

const char *tl_arch_name(size_t i) { return i < sizeof archs / sizeof *archs ? archs[i]->name : NULL; }
