/* SPDX-License-Identifier: MIT
 *
 * random.c: see random.h. The table of types says where blocks keep their scales; everything else of a block may be any
 * byte. */
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

/* The nearest below, without sign; 0 .. 448. */
static uint8_t to_e4m3(float f) {
    int exponent;
    float fraction = frexpf(f, &exponent);   /* 0.5 .. 1 */
    if (!(f > 0)) return 0;
    if (exponent + 6 < 1) return (uint8_t)(f * 512.0f);
    if (exponent + 6 > 15) return 0x7e;
    return (uint8_t)((exponent + 6) << 3 | (int)((fraction * 2 - 1) * 8));
}

static void set_scale(const tl_type_info *t, uint8_t *block, float d) {
    const tl_scale_place *s = &t->scale;
    uint16_t h = to_f16(d), m = to_f16(d * s->centre);
    if (s->form == TL_SCALE_F16) memcpy(block + s->at, &h, 2);
    if (s->form == TL_SCALE_F16 && s->min_at >= 0) memcpy(block + s->min_at, &m, 2);
    if (s->form == TL_SCALE_E8M0) block[s->at] = (uint8_t)(128 + (int)floorf(log2f(d)));
    for (int i = 0; s->form == TL_SCALE_E4M3 && i < t->elems / t->dist; i++) block[s->at + i] = to_e4m3(d);
}

/* n random blocks whose values have the given deviation. The scale that does it is found by looking at the values that
 * scale 1 gives: they are proportional to it. */
static void random_blocks(int type, uint8_t *out, size_t n, float deviation, uint64_t *state) {
    const tl_type_info *info = tl_type_info_get((uint32_t)type);
    double sum = 0;
    float values[256];
    for (size_t i = 0; i < n * (size_t)info->bytes; i++) out[i] = (uint8_t)next_random(state);
    size_t sample = n < 64 ? n : 64;
    for (size_t b = 0; b < sample; b++) {
        uint8_t *block = out + b * (size_t)info->bytes;
        set_scale(info, block, 1);
        tl_dequantize(type, block, values, info->elems);
        for (int i = 0; i < info->elems; i++) sum += (double)values[i] * (double)values[i];
    }
    float d = deviation / (float)sqrt(sum / (double)(sample * (size_t)info->elems));
    for (size_t b = 0; b < n; b++) {
        float vary = 0.75f + (float)(next_random(state) & 255) / 512.0f;
        set_scale(info, out + b * (size_t)info->bytes, d * vary);
    }
}

int tl_random_possible(int type) {
    const tl_type_info *t = type < 0 ? NULL : tl_type_info_get((uint32_t)type);
    if (!t) return 0;
    if (t->kind == TL_KIND_QUANT) return t->scale.form != TL_SCALE_UNKNOWN;
    return type == TL_TYPE_F32 || type == TL_TYPE_F16 || type == TL_TYPE_BF16;
}

void tl_random_weights(int type, void *out, size_t n, float mean, float deviation, uint64_t *state) {
    const tl_type_info *t = tl_type_info_get((uint32_t)type);
    if (!tl_random_possible(type)) return;
    if (t->kind == TL_KIND_QUANT) {
        random_blocks(type, out, n / (size_t)t->elems, deviation, state);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        float f = mean + deviation * bell(state);
        if (type == TL_TYPE_F32) ((float *)out)[i] = f;
        else ((uint16_t *)out)[i] = type == TL_TYPE_F16 ? to_f16(f) : to_bf16(f);
    }
}
