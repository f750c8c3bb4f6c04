/* SPDX-License-Identifier: MIT
 *
 * random.c: see random.h. A table says where each type's blocks keep their scales; everything else of a block may be
 * any byte. */
#include "bench/random.h"

#include <math.h>
#include <string.h>
#include "kernels.h"

static uint64_t next_random(uint64_t *state) {   /* splitmix64 (Steele, Lea, Flood 2014) */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Mean 0, standard deviation 1: the sum of four uniform values, which have variance 1/12 each. */
static float bell(uint64_t *state) {
    uint64_t r = next_random(state);
    uint64_t sum = (r & 0xffff) + (r >> 16 & 0xffff) + (r >> 32 & 0xffff) + (r >> 48);
    return (float)((int32_t)sum - 131070) * (1.7320508f / 65536.0f);
}

/* Both round towards zero. f must be below 65536. */
static uint16_t to_f16(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    uint32_t sign = u >> 16 & 0x8000, exp = u >> 23 & 255, frac = u >> 13 & 0x3ff;
    if (exp > 112) return (uint16_t)(sign | (exp - 112) << 10 | frac);
    return (uint16_t)(sign | (uint32_t)(fabsf(f) * 16777216.0f));   /* subnormal: a multiple of 2^-24 */
}

static uint16_t to_bf16(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return (uint16_t)(u >> 16);
}

/* Where a block keeps its f16 scale d and, with minima, the f16 that centres values around 0 if it is ratio * d. */
static const struct scale_field { int type, d_at, m_at; float ratio; } scale_fields[] = {
    {TL_TYPE_Q4_0, 0, -1, 0},   {TL_TYPE_Q4_1, 0, 2, -7.5f},  {TL_TYPE_Q5_0, 0, -1, 0},   {TL_TYPE_Q5_1, 0, 2, -15.5f},
    {TL_TYPE_Q8_0, 0, -1, 0},   {TL_TYPE_Q2_K, 80, 82, 1.5f}, {TL_TYPE_Q3_K, 108, -1, 0}, {TL_TYPE_Q4_K, 0, 2, 7.5f},
    {TL_TYPE_Q5_K, 0, 2, 15.5f}, {TL_TYPE_Q6_K, 208, -1, 0},  {TL_TYPE_IQ4_NL, 0, -1, 0}, {TL_TYPE_IQ4_XS, 0, -1, 0},
    {TL_TYPE_TQ1_0, 52, -1, 0}, {TL_TYPE_TQ2_0, 64, -1, 0},   {TL_TYPE_MXFP4, -1, -1, 0},
};

static void set_scale(const struct scale_field *s, uint8_t *block, float d) {
    uint16_t h = to_f16(d), m = to_f16(d * s->ratio);
    if (s->type == TL_TYPE_MXFP4) block[0] = (uint8_t)(128 + (int)floorf(log2f(d)));   /* value = 2^(byte-128) * code */
    else memcpy(block + s->d_at, &h, 2);
    if (s->m_at >= 0) memcpy(block + s->m_at, &m, 2);
}

/* n random blocks whose values have the given deviation. The scale that does it is found by looking at the values that
 * scale 1 gives: they are proportional to it. */
static void random_blocks(const struct scale_field *s, uint8_t *out, size_t n, float deviation, uint64_t *state) {
    const tl_type_info *info = tl_type_info_get((uint32_t)s->type);
    double sum = 0;
    float values[256];
    for (size_t i = 0; i < n * (size_t)info->bytes; i++) out[i] = (uint8_t)next_random(state);
    size_t sample = n < 64 ? n : 64;
    for (size_t b = 0; b < sample; b++) {
        uint8_t *block = out + b * (size_t)info->bytes;
        set_scale(s, block, 1);
        tl_dequantize(s->type, block, values, info->elems);
        for (int i = 0; i < info->elems; i++) sum += (double)values[i] * (double)values[i];
    }
    float d = deviation / (float)sqrt(sum / (double)(sample * (size_t)info->elems));
    for (size_t b = 0; b < n; b++) {
        float vary = 0.75f + (float)(next_random(state) & 255) / 512.0f;
        set_scale(s, out + b * (size_t)info->bytes, d * vary);
    }
}

void tl_random_weights(int type, void *out, size_t n, float mean, float deviation, uint64_t *state) {
    for (size_t i = 0; i < sizeof scale_fields / sizeof *scale_fields; i++) {
        if (scale_fields[i].type != type) continue;
        size_t elems = (size_t)tl_type_info_get((uint32_t)type)->elems;
        random_blocks(&scale_fields[i], out, n / elems, deviation, state);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        float f = mean + deviation * bell(state);
        if (type == TL_TYPE_F32) ((float *)out)[i] = f;
        else ((uint16_t *)out)[i] = type == TL_TYPE_F16 ? to_f16(f) : to_bf16(f);
    }
}
