/* SPDX-License-Identifier: MIT
 * kv.def as data: facts of the cache types, and the table's slots in plain C. */
#include "scalar/scalar.h"

const tl_kv_type tl_kv_types[TL_N_KV] = {
#define KV(NAME, name, elems, bytes) {#name, elems, bytes},
#include "kv.def"
#undef KV
};

#define KV(NAME, name, elems, bytes) extern const tl_kv_ops tl_kv_type_##name;
#include "kv.def"
#undef KV

void tl_scalar_fill_kv(tl_kernels *k) {
#define KV(NAME, name, elems, bytes) k->kv[TL_KV_##NAME] = tl_kv_type_##name;
#include "kv.def"
#undef KV
    for (int i = 0; i < TL_N_KV; i++) {
        const tl_kv_type *t = &tl_kv_types[i];
        k->kv[i].name = t->name, k->kv[i].elems = t->elems, k->kv[i].bytes = t->bytes;
    }
}
