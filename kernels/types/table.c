/* SPDX-License-Identifier: MIT
 * The rows of types.def as data, look-up by id and by name, and decoding of any type through its row. */
#include "kernels.h"

#define FLOAT(id, NAME, name, elems, bytes)          void tl_to_f32_##name(const void *, float *, int64_t);
#define QUANT(id, NAME, name, ...)                   tl_unpack_fn tl_unpack_##name;
#define NAMED(id, NAME, name, elems, bytes)
#define GONE(id, NAME, name, advice)
#include "types.def"
#undef FLOAT
#undef QUANT
#undef NAMED
#undef GONE

#define F16(at) {TL_SCALE_F16, at, -1, 0}
#define F16_MIN(at, min_at, centre) {TL_SCALE_F16, at, min_at, centre}
#define E8M0(at) {TL_SCALE_E8M0, at, -1, 0}
#define E4M3(at) {TL_SCALE_E4M3, at, -1, 0}
#define UNKNOWN {TL_SCALE_UNKNOWN, -1, -1, 0}
#define NO_SCALE {TL_SCALE_UNKNOWN, -1, -1, 0}
static const tl_type_info types[TL_N_TYPES] = {
#define FLOAT(id, NAME, name, elems, bytes)          [id] = {#name, NULL, TL_KIND_FLOAT, elems, bytes, 0, 0, NO_SCALE, NULL, tl_to_f32_##name},
#define QUANT(id, NAME, name, elems, bytes, has_min, dist, ...) \
    [id] = {#name, NULL, TL_KIND_QUANT, elems, bytes, has_min, dist, __VA_ARGS__, tl_unpack_##name, NULL},
#define NAMED(id, NAME, name, elems, bytes)          [id] = {#name, NULL, TL_KIND_NAMED, elems, bytes, 0, 0, NO_SCALE, NULL, NULL},
#define GONE(id, NAME, name, advice)                 [id] = {#name, advice, TL_KIND_GONE, 0, 0, 0, 0, NO_SCALE, NULL, NULL},
#include "types.def"
#undef FLOAT
#undef QUANT
#undef NAMED
#undef GONE
};

/* Bounds that buffers of a block's parts rely on. */
#define FLOAT(id, NAME, name, elems, bytes)
#define QUANT(id, NAME, name, elems, bytes, has_min, dist, ...) \
    _Static_assert(elems % 32 == 0 && elems <= 256 && (dist == 16 || dist % 32 == 0), "block of " #name);
#define NAMED(id, NAME, name, elems, bytes)
#define GONE(id, NAME, name, advice)
#include "types.def"

#define MAX_ELEMS 256   /* of a quantized block */

const tl_type_info *tl_type_info_get(uint32_t id) {
    return id < TL_N_TYPES && types[id].name ? &types[id] : NULL;
}

/* ASCII only: the locale has no say. */
static int same_name(const char *a, const char *b) {
    for (; *a && *b; a++, b++) {
        char c = *b >= 'A' && *b <= 'Z' ? (char)(*b + 32) : *b;
        if (*a != c) return 0;
    }
    return *a == *b;
}

int tl_type_by_name(const char *name) {
    for (int id = 0; id < TL_N_TYPES; id++)
        if (types[id].name && same_name(types[id].name, name)) return id;
    return -1;
}

void tl_dequantize(int type, const void *src, float *dst, int64_t n) {
    const tl_type_info *t = tl_type_info_get((uint32_t)type);
    if (!t) return;
    if (t->to_f32) t->to_f32(src, dst, n);
    if (!t->unpack) return;
    int8_t q[MAX_ELEMS];
    float scale[MAX_ELEMS / 16], min[MAX_ELEMS / 16];
    const uint8_t *block = src;
    for (int64_t at = 0; at < n; at += t->elems, block += t->bytes) {
        t->unpack(block, q, scale, min);
        for (int i = 0; i < t->elems; i++) dst[at + i] = scale[i / 16] * (float)q[i];
        if (t->has_min)   /* only there: -0 + 0 would lose the sign */
            for (int i = 0; i < t->elems; i++) dst[at + i] += min[i / 16];
    }
}
