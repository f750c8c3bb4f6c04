/* SPDX-License-Identifier: MIT
 * f32, f16, bf16: types without blocks. The source may be unaligned. */
#include "types/block.h"

void tl_to_f32_f32(const void *src, float *dst, int64_t n);
void tl_to_f32_f16(const void *src, float *dst, int64_t n);
void tl_to_f32_bf16(const void *src, float *dst, int64_t n);

void tl_to_f32_f32(const void *src, float *dst, int64_t n) { memcpy(dst, src, (size_t)n * 4); }

void tl_to_f32_f16(const void *src, float *dst, int64_t n) {
    const uint8_t *p = src;
    for (int64_t i = 0; i < n; i++) dst[i] = load_f16(p + 2 * i);
}

void tl_to_f32_bf16(const void *src, float *dst, int64_t n) {
    const uint8_t *p = src;
    for (int64_t i = 0; i < n; i++) dst[i] = tl_bf16_to_f32(load_u16(p + 2 * i));
}
