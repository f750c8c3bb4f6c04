/* SPDX-License-Identifier: MIT
 *
 * kv_block.h: the form of quantized cache pages, one for all levels, and of the queries that meet them. A page is hd/32
 * sections, each 32 dimensions of all positions. With `bits` 8 (q8_0) or 4 (q4_0) bits in a code, value = scale * code:
 *
 *   uint16 scale [TL_KV_PAGE]       f16; NaN where one of the 32 values was not finite
 *   K codes [bits][TL_KV_PAGE][4]   bytes, plane by plane: lanes are positions, a dword is 4 dimensions of one
 *            8 bits, 8 planes       byte b of plane g: dimension 4g+b, plus 128
 *            4 bits, 4 planes       dimension 4g+b in the lower 4 bits, 4g+b+16 in the upper, each plus 8
 *   V codes [TL_KV_PAGE][4 * bits]  bytes, two's complement
 *            4 bits                 byte b: dimension b in the lower 4 bits, b+16 in the upper
 *
 * Codes of K are unsigned because vpdpbusd wants one side so; the sum of a query's codes takes the offset off again.
 * q8_0: within +-127 of amax/127; q4_0: -8..7 of amax/8, negative where the largest magnitude is a positive value. */
#ifndef TL_KV_BLOCK_H
#define TL_KV_BLOCK_H

#include <math.h>
#include <string.h>
#include "half.h"
#include "kernels.h"

#define TL_KV_SECTION(bits) (TL_KV_PAGE * (2 + 4 * (bits)))   /* bytes */
#define TL_KV_CODES (TL_KV_PAGE * 2)                          /* where codes begin in a section */

/* 32 dimensions of a query: value = d * q, d NaN where one was not finite. hd/32 of them make a query. */
typedef struct tl_kv_query {
    int8_t q[32];
    float d;
    int32_t sum;   /* of q */
} tl_kv_query;

/* As f16, which has no value beyond 65504 but infinity: finite ones become the largest. Infinity and NaN stay. */
static inline uint16_t tl_kv_f16(float x) {
    return tl_f32_to_f16(x > 65504.0f && x < INFINITY ? 65504.0f : x < -65504.0f && x > -INFINITY ? -65504.0f : x);
}

static inline void tl_kv_store_k(void *page, int section, int at, const int8_t *q, float scale, int bits) {
    uint8_t *base = (uint8_t *)page + section * TL_KV_SECTION(bits), *codes = base + TL_KV_CODES + at * 4;
    uint8_t u[32];
    const uint16_t half = tl_kv_f16(scale);
    for (int i = 0; i < 32; i++) u[i] = (uint8_t)(q[i] + (bits == 8 ? 128 : 8));
    for (int i = 0; bits == 4 && i < 16; i++) u[i] = (uint8_t)(u[i] | u[i + 16] << 4);
    for (int g = 0; g < bits; g++) memcpy(codes + g * TL_KV_PAGE * 4, u + 4 * g, 4);
    memcpy(base + at * 2, &half, 2);
}

static inline void tl_kv_store_v(void *page, int section, int at, const int8_t *q, float scale, int bits) {
    uint8_t *base = (uint8_t *)page + section * TL_KV_SECTION(bits), *codes = base + TL_KV_CODES + at * 4 * bits;
    const uint16_t half = tl_kv_f16(scale);
    if (bits == 8) memcpy(codes, q, 32);
    else for (int i = 0; i < 16; i++) codes[i] = (uint8_t)((q[i] & 15) | (q[i + 16] & 15) << 4);
    memcpy(base + at * 2, &half, 2);
}

/* One position's 32 codes and their scale again; only where speed does not matter. */
static inline void tl_kv_load_k(const void *page, int section, int at, int8_t *q, float *scale, int bits) {
    const uint8_t *base = (const uint8_t *)page + section * TL_KV_SECTION(bits), *codes = base + TL_KV_CODES + at * 4;
    for (int i = 0; i < 32; i++) {
        const int u = codes[i / 4 % bits * TL_KV_PAGE * 4 + i % 4];
        q[i] = (int8_t)(bits == 8 ? u - 128 : (i < 16 ? u & 15 : u >> 4) - 8);
    }
    uint16_t half;
    memcpy(&half, base + at * 2, 2);
    *scale = tl_f16_to_f32(half);
}

static inline void tl_kv_load_v(const void *page, int section, int at, int8_t *q, float *scale, int bits) {
    const uint8_t *base = (const uint8_t *)page + section * TL_KV_SECTION(bits);
    const uint8_t *codes = base + TL_KV_CODES + at * 4 * bits;
    for (int i = 0; i < 32; i++) {
        const int u = bits == 8 ? codes[i] : i < 16 ? codes[i] << 4 & 255 : codes[i - 16] & 240;
        q[i] = (int8_t)(u < 128 ? u : u - 256);
        if (bits == 4) q[i] = (int8_t)(q[i] / 16);
    }
    uint16_t half;
    memcpy(&half, base + at * 2, 2);
    *scale = tl_f16_to_f32(half);
}

#endif
