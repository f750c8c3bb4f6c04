/* SPDX-License-Identifier: MIT
 *
 * kv_form.h: what a page of each cache type holds, read as kernels.h and kv_block.h describe it, without the code under
 * test. A type without a row reads as NaN. */
#ifndef TL_TEST_KV_FORM_H
#define TL_TEST_KV_FORM_H
#include <math.h>
#include "half.h"
#include "kv_block.h"

typedef struct kv_form {
    float (*elem)(const char *page, int i);   /* element i of a page of numbers; NULL: a page of codes */
    int bits;                                 /* of a code; 0: numbers */
    double error;                             /* largest, for the largest magnitude of a block, before a scale is rounded */
} kv_form;

static inline float elem_f16(const char *page, int i) {
    uint16_t h;
    memcpy(&h, page + 2 * i, 2);
    return tl_f16_to_f32(h);
}

static inline float elem_f32(const char *page, int i) {
    float x;
    memcpy(&x, page + 4 * i, 4);
    return x;
}

/* q4_0 has half a step but at its upper end, where it has a whole one. */
static const kv_form kv_forms[TL_N_KV] = {
    [TL_KV_F16] = {elem_f16, 0, 0x1p-11},
    [TL_KV_F32] = {elem_f32, 0, 0},
    [TL_KV_Q8_0] = {NULL, 8, 1 / 254.0},
    [TL_KV_Q4_0] = {NULL, 4, 1 / 8.0},
};

/* Dimension d of position p of a K page. */
static inline float k_at(const char *page, int p, int d, int kv) {
    const int bits = kv_forms[kv].bits, e = d % 32;
    if (kv_forms[kv].elem) return kv_forms[kv].elem(page, d * TL_KV_PAGE + p);
    if (!bits) return NAN;
    const char *section = page + d / 32 * TL_KV_SECTION(bits);
    const uint8_t u = (uint8_t)section[TL_KV_CODES + (e / 4 % bits * TL_KV_PAGE + p) * 4 + e % 4];
    return elem_f16(section, p) * (float)(bits == 8 ? u - 128 : (e < 16 ? u & 15 : u >> 4) - 8);
}

/* The same of a V page of heads of hd. */
static inline float v_at(const char *page, int p, int d, int hd, int kv) {
    const int bits = kv_forms[kv].bits, e = d % 32;
    if (kv_forms[kv].elem) return kv_forms[kv].elem(page, p * hd + d);
    if (!bits) return NAN;
    const char *section = page + d / 32 * TL_KV_SECTION(bits);
    const uint8_t u = (uint8_t)section[TL_KV_CODES + p * 4 * bits + (bits == 8 ? e : e % 16)];
    const int code = bits == 8 ? u : e < 16 ? u & 15 : u >> 4;
    return elem_f16(section, p) * (float)(code >> (bits - 1) ? code - (1 << bits) : code);
}

#endif
