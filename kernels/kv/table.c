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
    for (int i = 0; i < TL_N_KV; i++) k->kv[i].name = tl_kv_types[i].name, k->kv[i].elems = tl_kv_types[i].elems, k->kv[i].bytes = tl_kv_types[i].bytes;
}
