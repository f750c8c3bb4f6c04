/* SPDX-License-Identifier: MIT
 *
 * types.h: one section per tensor type: the packed form of a block of ROWS rows, its packing, and its load into
 * registers. Include after a level's dot_*.h; the unit of codes and its order are in arm/arm.h.
 *
 * Codes are signed here, with the offset a type has (8 of q4_0) already subtracted: the products are signed x signed.
 * Packing takes them from the type's decoder, so that bit layouts of files are known in kernels/types/ only.
 *   <type>_pack(dst, row, c)   row[r]: block of row r in file form; c[i]: codes of unit i in packed order
 *   <type>_load(block, i)      unit i of a packed block */
#ifndef TL_ARM_TYPES_H
#define TL_ARM_TYPES_H

#include "arm/arm.h"
#include "types/block.h"

typedef const int8_t codes[UNIT];

/* ---- parts of blocks ------------------------------------------------------------------------------------------------ */

/* The 16-bit float at byte `at` of each row's block. */
static void pack_f16(uint16_t dst[ROWS], const uint8_t *const *row, int at) {
    for (int r = 0; r < ROWS; r++) dst[r] = load_u16(row[r] + at);
}

INLINE float32x4_t load_f16x4(const uint16_t *h) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(h))); }

INLINE uint32x4_t load_u8x4(const uint8_t *p) {
    uint32_t word;
    memcpy(&word, p, 4);
    uint8x8_t b = vreinterpret_u8_u32(vdup_n_u32(word));
    return vmovl_u16(vget_low_u16(vmovl_u8(b)));
}

INLINE float32x4_t load_s8x4(const int8_t *p) {
    uint32_t word;
    memcpy(&word, p, 4);
    int8x8_t b = vreinterpret_s8_u32(vdup_n_u32(word));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(b))));
}

/* Low 4 bits of a unit's codes: the first half unit in the low nibbles, the second in the high ones. */
static void pack_nibbles(uint8_t dst[UNIT / 2], codes c) {
    for (int i = 0; i < UNIT / 2; i++) dst[i] = (uint8_t)((c[i] & 15) | (c[i + UNIT / 2] & 15) << 4);
}

INLINE void load_signed_nibbles(int8x16_t w[8], const uint8_t *q) {
    UNROLL
    for (int i = 0; i < 4; i++) {
        int8x16_t b = vreinterpretq_s8_u8(vld1q_u8(q + 16 * i));
        w[i] = vshrq_n_s8(vshlq_n_s8(b, 4), 4);
        w[i + 4] = vshrq_n_s8(b, 4);
    }
}

INLINE void load_nibbles(int8x16_t w[8], const uint8_t *q) {
    UNROLL
    for (int i = 0; i < 4; i++) {
        uint8x16_t b = vld1q_u8(q + 16 * i);
        w[i] = vreinterpretq_s8_u8(vandq_u8(b, vdupq_n_u8(15)));
        w[i + 4] = vreinterpretq_s8_u8(vshrq_n_u8(b, 4));
    }
}

/* One bit of each code of a unit: bit i of byte j is that of byte j of register i. */
static void pack_bit(uint8_t dst[16], codes c, int bit) {
    memset(dst, 0, 16);
    for (int i = 0; i < UNIT; i++) dst[i % 16] |= (uint8_t)((c[i] >> bit & 1) << i / 16);
}

/* Two bits of each, from `bit` up: bits 2*i and 2*i+1 of byte j of dst[h] are those of byte j of register 4*h + i. */
static void pack_pairs(uint8_t dst[2][16], codes c, int bit) {
    memset(dst, 0, 32);
    for (int i = 0; i < UNIT; i++) dst[i / 64][i % 16] |= (uint8_t)((c[i] >> bit & 3) << i % 64 / 16 * 2);
}

/* Pair i % 4 of each byte of q[i / 4], as numbers 0..3. */
INLINE uint8x16_t load_pairs(const uint8_t q[2][16], int i) {
    return vandq_u8(vshlq_u8(vld1q_u8(q[i / 4]), vdupq_n_s8((int8_t)(-2 * (i % 4)))), vdupq_n_u8(3));
}

/* d and 16 scales of a block of 256. */
INLINE void load_scales_16(unit *u, const uint16_t d[ROWS], const int8_t scale[16][ROWS], int i) {
    UNROLL
    for (int h = 0; h < 2; h++) u->s[h] = vmulq_f32(load_f16x4(d), load_s8x4(scale[2 * i + h]));
}

/* Codes that stand for the values of a table. The decoder gives values: the code is the place of one in the table. */
static void pack_table(uint8_t dst[UNIT / 2], codes c, const int8_t table[16]) {
    int8_t code[256], of_unit[UNIT];
    for (int i = 0; i < 16; i++) code[(uint8_t)table[i]] = (int8_t)i;
    for (int i = 0; i < UNIT; i++) of_unit[i] = code[(uint8_t)c[i]];
    pack_nibbles(dst, of_unit);
}

INLINE void load_table(int8x16_t w[8], const uint8_t *q, const int8_t table[16]) {
    load_nibbles(w, q);
    UNROLL
    for (int i = 0; i < 8; i++) w[i] = vqtbl1q_s8(vld1q_s8(table), vreinterpretq_u8_s8(w[i]));
}

/* 5-bit codes. fifth: the upper four bits of a code whose fifth bit is set: 0x10, or 0xf0 where that bit is the sign. */
INLINE void load_5bit(int8x16_t w[8], const uint8_t *q, const uint8_t *hi, uint8_t fifth) {
    uint8x16_t h = vld1q_u8(hi), low = vdupq_n_u8(15);
    UNROLL
    for (int i = 0; i < 8; i++) {
        uint8x16_t b = vld1q_u8(q + 16 * (i % 4)), bit = vtstq_u8(h, vdupq_n_u8((uint8_t)(1 << i)));
        if (i >= 4) b = vshrq_n_u8(b, 4);
        w[i] = vreinterpretq_s8_u8(vbslq_u8(low, b, vandq_u8(bit, vdupq_n_u8(fifth))));
    }
}

/* ---- blocks of 32 --------------------------------------------------------------------------------------------------- */

typedef struct { uint16_t d[ROWS]; uint8_t q[UNIT / 2]; } q4_0_r4;

static void q4_0_pack(void *dst, const uint8_t *const *row, codes *c) {
    q4_0_r4 *p = dst;
    pack_f16(p->d, row, 0);
    pack_nibbles(p->q, c[0]);
}

INLINE unit q4_0_load(const void *block, int i) {
    const q4_0_r4 *p = block;
    unit u;
    (void)i;
    u.s[0] = load_f16x4(p->d);
    load_signed_nibbles(u.w, p->q);
    return u;
}

typedef struct { uint16_t d[ROWS], m[ROWS]; uint8_t q[UNIT / 2]; } q4_1_r4;

static void q4_1_pack(void *dst, const uint8_t *const *row, codes *c) {
    q4_1_r4 *p = dst;
    pack_f16(p->d, row, 0);
    pack_f16(p->m, row, 2);
    pack_nibbles(p->q, c[0]);
}

INLINE unit q4_1_load(const void *block, int i) {
    const q4_1_r4 *p = block;
    unit u;
    (void)i;
    u.s[0] = load_f16x4(p->d);
    u.m[0] = load_f16x4(p->m);
    load_nibbles(u.w, p->q);
    return u;
}

typedef struct { uint16_t d[ROWS]; uint8_t hi[UNIT / 8], q[UNIT / 2]; } q5_0_r4;

static void q5_0_pack(void *dst, const uint8_t *const *row, codes *c) {
    q5_0_r4 *p = dst;
    pack_f16(p->d, row, 0);
    pack_bit(p->hi, c[0], 4);
    pack_nibbles(p->q, c[0]);
}

INLINE unit q5_0_load(const void *block, int i) {
    const q5_0_r4 *p = block;
    unit u;
    (void)i;
    u.s[0] = load_f16x4(p->d);
    load_5bit(u.w, p->q, p->hi, 0xf0);
    return u;
}

typedef struct { uint16_t d[ROWS], m[ROWS]; uint8_t hi[UNIT / 8], q[UNIT / 2]; } q5_1_r4;

static void q5_1_pack(void *dst, const uint8_t *const *row, codes *c) {
    q5_1_r4 *p = dst;
    pack_f16(p->d, row, 0);
    pack_f16(p->m, row, 2);
    pack_bit(p->hi, c[0], 4);
    pack_nibbles(p->q, c[0]);
}

INLINE unit q5_1_load(const void *block, int i) {
    const q5_1_r4 *p = block;
    unit u;
    (void)i;
    u.s[0] = load_f16x4(p->d);
    u.m[0] = load_f16x4(p->m);
    load_5bit(u.w, p->q, p->hi, 0x10);
    return u;
}

typedef struct { uint16_t d[ROWS]; int8_t q[UNIT]; } q8_0_r4;

static void q8_0_pack(void *dst, const uint8_t *const *row, codes *c) {
    q8_0_r4 *p = dst;
    pack_f16(p->d, row, 0);
    memcpy(p->q, c[0], UNIT);
}

INLINE unit q8_0_load(const void *block, int i) {
    const q8_0_r4 *p = block;
    unit u;
    (void)i;
    u.s[0] = load_f16x4(p->d);
    UNROLL
    for (int j = 0; j < 8; j++) u.w[j] = vld1q_s8(p->q + 16 * j);
    return u;
}

/* ---- blocks of 256 -------------------------------------------------------------------------------------------------- */

/* d and dmin with 8 scales and minima of 6 bits. A byte for each of them: 2.8 % (q4_k) more bytes than in the file, and
 * no bit work per unit. */
typedef struct { uint16_t d[ROWS], dmin[ROWS]; uint8_t scale[8][ROWS], min[8][ROWS]; } scales_k;

static void pack_scales_k(scales_k *p, const uint8_t *const *row) {
    pack_f16(p->d, row, 0);
    pack_f16(p->dmin, row, 2);
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < 8; i++) {
            int s, m;
            scale_min_6bit(row[r] + 4, i, &s, &m);
            p->scale[i][r] = (uint8_t)s;
            p->min[i][r] = (uint8_t)m;
        }
}

INLINE void load_scales_k(unit *u, const scales_k *p, int i) {
    u->s[0] = vmulq_f32(load_f16x4(p->d), vcvtq_f32_u32(load_u8x4(p->scale[i])));
    u->m[0] = vnegq_f32(vmulq_f32(load_f16x4(p->dmin), vcvtq_f32_u32(load_u8x4(p->min[i]))));
}

typedef struct { scales_k s; uint8_t q[8][UNIT / 2]; } q4_k_r4;

static void q4_k_pack(void *dst, const uint8_t *const *row, codes *c) {
    q4_k_r4 *p = dst;
    pack_scales_k(&p->s, row);
    for (int i = 0; i < 8; i++) pack_nibbles(p->q[i], c[i]);
}

INLINE unit q4_k_load(const void *block, int i) {
    const q4_k_r4 *p = block;
    unit u;
    load_scales_k(&u, &p->s, i);
    load_nibbles(u.w, p->q[i]);
    return u;
}

typedef struct { scales_k s; uint8_t hi[8][UNIT / 8], q[8][UNIT / 2]; } q5_k_r4;

static void q5_k_pack(void *dst, const uint8_t *const *row, codes *c) {
    q5_k_r4 *p = dst;
    pack_scales_k(&p->s, row);
    for (int i = 0; i < 8; i++) {
        pack_bit(p->hi[i], c[i], 4);
        pack_nibbles(p->q[i], c[i]);
    }
}

INLINE unit q5_k_load(const void *block, int i) {
    const q5_k_r4 *p = block;
    unit u;
    load_scales_k(&u, &p->s, i);
    load_5bit(u.w, p->q[i], p->hi[i], 0x10);
    return u;
}

/* hi: bits 4 and 5. */
typedef struct { uint16_t d[ROWS]; int8_t scale[16][ROWS]; uint8_t hi[8][2][16], q[8][UNIT / 2]; } q6_k_r4;

static void q6_k_pack(void *dst, const uint8_t *const *row, codes *c) {
    q6_k_r4 *p = dst;
    pack_f16(p->d, row, 208);
    for (int i = 0; i < 16; i++)
        for (int r = 0; r < ROWS; r++) p->scale[i][r] = (int8_t)row[r][192 + i];
    for (int i = 0; i < 8; i++) {
        pack_nibbles(p->q[i], c[i]);
        pack_pairs(p->hi[i], c[i], 4);
    }
}

INLINE unit q6_k_load(const void *block, int i) {
    const q6_k_r4 *p = block;
    uint8x16_t low = vdupq_n_u8(15);
    unit u;
    load_scales_16(&u, p->d, p->scale, i);
    UNROLL
    for (int h = 0; h < 2; h++) {
        uint8x16_t hi = vld1q_u8(p->hi[i][h]);
        UNROLL
        for (int j = 0; j < 4; j++) {
            uint8x16_t b = vld1q_u8(p->q[i] + 16 * j);
            if (h) b = vshrq_n_u8(b, 4);
            /* The pair to the top and down again by 2: bit 5 is the sign and fills bits 6 and 7. */
            uint8x16_t top = vshlq_u8(hi, vdupq_n_s8((int8_t)(6 - 2 * j)));
            int8x16_t high = vshrq_n_s8(vreinterpretq_s8_u8(top), 2);
            u.w[4 * h + j] = vreinterpretq_s8_u8(vbslq_u8(low, b, vreinterpretq_u8_s8(high)));
        }
    }
    return u;
}

/* The 16 scales and minima as in the file: a byte has the scale in the low nibble, the minimum in the high one. */
typedef struct { uint16_t d[ROWS], dmin[ROWS]; uint8_t sm[16][ROWS], q[8][2][16]; } q2_k_r4;

static void q2_k_pack(void *dst, const uint8_t *const *row, codes *c) {
    q2_k_r4 *p = dst;
    pack_f16(p->d, row, 80);
    pack_f16(p->dmin, row, 82);
    for (int i = 0; i < 16; i++)
        for (int r = 0; r < ROWS; r++) p->sm[i][r] = row[r][i];
    for (int i = 0; i < 8; i++) pack_pairs(p->q[i], c[i], 0);
}

INLINE unit q2_k_load(const void *block, int i) {
    const q2_k_r4 *p = block;
    float32x4_t d = load_f16x4(p->d), dmin = vnegq_f32(load_f16x4(p->dmin));
    uint8x8_t sm = vld1_u8(p->sm[2 * i]);
    uint16x8_t s = vmovl_u8(vand_u8(sm, vdup_n_u8(15))), m = vmovl_u8(vshr_n_u8(sm, 4));
    unit u;
    u.s[0] = vmulq_f32(d, vcvtq_f32_u32(vmovl_u16(vget_low_u16(s))));
    u.s[1] = vmulq_f32(d, vcvtq_f32_u32(vmovl_high_u16(s)));
    u.m[0] = vmulq_f32(dmin, vcvtq_f32_u32(vmovl_u16(vget_low_u16(m))));
    u.m[1] = vmulq_f32(dmin, vcvtq_f32_u32(vmovl_high_u16(m)));
    UNROLL
    for (int j = 0; j < 8; j++) u.w[j] = vreinterpretq_s8_u8(load_pairs(p->q[i], j));
    return u;
}

/* hi: bit 2, the sign. The 6-bit scales take a byte each: 3.6 % more bytes than in the file. */
typedef struct { uint16_t d[ROWS]; int8_t scale[16][ROWS]; uint8_t hi[8][16], q[8][2][16]; } q3_k_r4;

static void q3_k_pack(void *dst, const uint8_t *const *row, codes *c) {
    q3_k_r4 *p = dst;
    pack_f16(p->d, row, 108);
    for (int i = 0; i < 16; i++)
        for (int r = 0; r < ROWS; r++) p->scale[i][r] = (int8_t)scale_q3_k(row[r] + 96, i);
    for (int i = 0; i < 8; i++) {
        pack_bit(p->hi[i], c[i], 2);
        pack_pairs(p->q[i], c[i], 0);
    }
}

INLINE unit q3_k_load(const void *block, int i) {
    const q3_k_r4 *p = block;
    uint8x16_t hi = vld1q_u8(p->hi[i]);
    unit u;
    load_scales_16(&u, p->d, p->scale, i);
    UNROLL
    for (int j = 0; j < 8; j++) {
        uint8x16_t sign = vtstq_u8(hi, vdupq_n_u8((uint8_t)(1 << j)));
        u.w[j] = vreinterpretq_s8_u8(vorrq_u8(load_pairs(p->q[i], j), vandq_u8(sign, vdupq_n_u8(0xfc))));
    }
    return u;
}

/* ---- codes that stand for values of a table --------------------------------------------------------------------------- */

typedef struct { uint16_t d[ROWS]; uint8_t q[UNIT / 2]; } iq4_nl_r4;

static void iq4_nl_pack(void *dst, const uint8_t *const *row, codes *c) {
    iq4_nl_r4 *p = dst;
    pack_f16(p->d, row, 0);
    pack_table(p->q, c[0], iq4_values);
}

INLINE unit iq4_nl_load(const void *block, int i) {
    const iq4_nl_r4 *p = block;
    unit u;
    (void)i;
    u.s[0] = load_f16x4(p->d);
    load_table(u.w, p->q, iq4_values);
    return u;
}

/* A byte for each scale: 1.5 % more bytes than in the file. */
typedef struct { uint16_t d[ROWS]; int8_t scale[8][ROWS]; uint8_t q[8][UNIT / 2]; } iq4_xs_r4;

static void iq4_xs_pack(void *dst, const uint8_t *const *row, codes *c) {
    iq4_xs_r4 *p = dst;
    pack_f16(p->d, row, 0);
    for (int i = 0; i < 8; i++) {
        for (int r = 0; r < ROWS; r++) p->scale[i][r] = (int8_t)scale_iq4_xs(row[r] + 2, i);
        pack_table(p->q[i], c[i], iq4_values);
    }
}

INLINE unit iq4_xs_load(const void *block, int i) {
    const iq4_xs_r4 *p = block;
    unit u;
    u.s[0] = vmulq_f32(load_f16x4(p->d), load_s8x4(p->scale[i]));
    load_table(u.w, p->q[i], iq4_values);
    return u;
}

typedef struct { uint8_t e[ROWS], q[UNIT / 2]; } mxfp4_r4;

static void mxfp4_pack(void *dst, const uint8_t *const *row, codes *c) {
    mxfp4_r4 *p = dst;
    for (int r = 0; r < ROWS; r++) p->e[r] = row[r][0];
    pack_table(p->q, c[0], mxfp4_values);
}

/* The scale 2^(e-128) is subnormal for e = 0 and 1. */
INLINE unit mxfp4_load(const void *block, int i) {
    const mxfp4_r4 *p = block;
    uint32x4_t e = load_u8x4(p->e);
    uint32x4_t subnormal = vshlq_u32(vdupq_n_u32(0x00200000), vreinterpretq_s32_u32(e));
    uint32x4_t normal = vshlq_n_u32(vsubq_u32(e, vdupq_n_u32(1)), 23);
    unit u;
    (void)i;
    u.s[0] = vreinterpretq_f32_u32(vbslq_u32(vcltq_u32(e, vdupq_n_u32(2)), subnormal, normal));
    load_table(u.w, p->q, mxfp4_values);
    return u;
}

#endif
