/* SPDX-License-Identifier: MIT
 *
 * block.h: what the decoders of block types share: little-endian fields, the 6-bit scale packing of q4_k and q5_k, the
 * value table of iq4_nl and iq4_xs. Bit layouts: the GGUF block formats as published; each decoder shows its own. */
#ifndef TL_BLOCK_H
#define TL_BLOCK_H

#include "half.h"
#include "kernels.h"

#define TL_UNPACK(type) \
    tl_unpack_fn tl_unpack_##type; \
    void tl_unpack_##type(const void *block, int8_t *q, float *scale, float *min)

static inline uint16_t load_u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline float load_f16(const uint8_t *p) { return tl_f16_to_f32(load_u16(p)); }

/* One scale and minimum for all of a 32-element block. */
static inline void fill_32(float *scale, float *min, float d, float m) {
    scale[0] = scale[1] = d;
    min[0] = min[1] = m;
}

/* q4_k, q5_k: 8 pairs of 6-bit scale and minimum in 12 bytes. Bytes 0-3 and 4-7 hold scales and minima 0-3 in their low
 * 6 bits; bytes 8-11 hold the low 4 bits of scales 4-7 (low nibble) and minima 4-7 (high nibble), whose upper 2 bits are
 * the upper 2 bits of bytes 0-3 and 4-7. */
static inline void scale_min_6bit(const uint8_t *p, int i, int *scale, int *min) {
    if (i < 4) {
        *scale = p[i] & 63;
        *min = p[i + 4] & 63;
    } else {
        *scale = (p[i + 4] & 15) | (p[i - 4] >> 6) << 4;
        *min = p[i + 4] >> 4 | (p[i] >> 6) << 4;
    }
}

/* q3_k: scale i of 16, -32..31, in 12 bytes. Scales 0-7 have their low 4 bits in the low nibbles of bytes 0-7, scales
 * 8-15 in the high ones; the upper 2 bits of scale i are bit pair i/4 of byte 8 + i%4. */
static inline int scale_q3_k(const uint8_t *p, int i) {
    int low = p[i % 8] >> (i / 8 * 4) & 15, high = p[8 + i % 4] >> (i / 4 * 2) & 3;
    return (low | high << 4) - 32;
}

/* iq4_xs: scale i of 8, -32..31, in 6 bytes: a little-endian u16 with their upper 2 bits in rising bit pairs, then their
 * low 4 bits, even scales in the low nibbles. */
static inline int scale_iq4_xs(const uint8_t *p, int i) {
    int low = p[2 + i / 2] >> (i % 2 * 4) & 15, high = load_u16(p) >> (2 * i) & 3;
    return (low | high << 4) - 32;
}

/* iq4_nl, iq4_xs: the 16 values a 4-bit code stands for, denser around zero. */
static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/* mxfp4: twice the values of the 4-bit float e2m1 (OCP Microscaling). */
static const int8_t mxfp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

#endif
