/* SPDX-License-Identifier: MIT
 *
 * kquants.h: the types with blocks of 256, eight times 32. Layout of a packed block of ROWS rows (planes: planes.h);
 * the file's layout is in types/. Packing goes through the codes of 32 elements as words. Scales and minima are whole
 * numbers times a float of the block: ints_TYPE gives both, the latter of minima negative. */

/* Elements 32i..32i+31 of q4_k or the low 4 bits of q5_k. */
static void codes_k4(const uint8_t *qs, int i, uint32_t *c) {
    for (int g = 0; g < 8; g++) c[g] = load_u32(qs + i / 2 * 32 + 4 * g) >> i % 2 * 4 & 15 * REP4;
}

/* The 8 scales and minima of q4_k and q5_k. h: d [ROWS] fp16 | dmin [ROWS] fp16 | 3 planes: the 12 bytes as they are in
 * the file. With dword j of a row = bytes 4j..4j+3, scales and minima 4..7 come whole, a byte each, like 0..3. */
static void pack_scales_k4(const uint8_t *src, uint8_t *dst, int r) {
    put_u16(dst, r, src);
    put_u16(dst + ROWS * 2, r, src + 2);
    for (int j = 0; j < 3; j++) put_u32(dst + ROWS * 4, j, r, load_u32(src + 4 + 4 * j));
}
INLINE void ints_k4(const uint8_t *p, vf *d, vi *s, vf *dmin, vi *m) {
    vu x[3];
    *d = load_f16(p);
    *dmin = -load_f16(p + ROWS * 2);
    UNROLL for (int j = 0; j < 3; j++) x[j] = load_v(p + ROWS * 4 + j * VBYTES);
    vu sc[2] = {x[0] & 63 * REP4, (x[2] & 15 * REP4) | (x[0] >> 2 & 48 * REP4)};
    vu mn[2] = {x[1] & 63 * REP4, (x[2] >> 4 & 15 * REP4) | (x[1] >> 2 & 48 * REP4)};
    UNROLL for (int i = 0; i < 8; i++) {
        s[i] = (vi)(sc[i / 4] >> i % 4 * 8 & 255);
        m[i] = (vi)(mn[i / 4] >> i % 4 * 8 & 255);
    }
}

/* ---- q4_k: scales and minima as above | 8 times: 4 planes */
#define AT(i) (ROWS * 16 + (i) * ROWS * 16)
static void pack_q4_k(const uint8_t *src, uint8_t *dst, int r) {
    pack_scales_k4(src, dst, r);
    UNROLL for (int i = 0; i < 8; i++) {
        uint32_t c[8];
        codes_k4(src + 16, i, c);
        pack_low4(dst + AT(i), r, c);
    }
}
INLINE void ints_q4_k(const uint8_t *p, vf *d, vi *s, vf *dmin, vi *m) { ints_k4(p, d, s, dmin, m); }
INLINE void codes_q4_k(const uint8_t *p, int i, vu *w) { unpack_low4(p + AT(i), w); }
#undef AT

#define TYPE q4_k
#define ELEMS 256
#define BYTES 144
#define ZERO 0
#define HALF 0
#define MIN 1
#define BITS 4
#define PLANES 2
#define PANEL_FROM (AMX ? 17 : 13)
#include "x86/type.tmpl.h"

/* The upper bits of q5_k and q3_k: bit i of byte 4g+b in the file is that of element 32i + 4g+b, which belongs into bit g of
 * byte b of plane i. So each b has a square of 8 times 8 bits to be turned; all four are turned at once. */
INLINE void turn_bits(const uint8_t *src, uint32_t *h) {
    static const uint32_t lower[] = {0, 0x55555555, 0x33333333, 0, 0x0f0f0f0f};
    UNROLL for (int g = 0; g < 8; g++) h[g] = load_u32(src + 4 * g);
    UNROLL for (int s = 4; s; s /= 2)
        UNROLL for (int g = 0; g < 8; g++) {
            if (g & s) continue;
            uint32_t d = (h[g] >> s ^ h[g + s]) & lower[s];
            h[g] ^= d << s;
            h[g + s] ^= d;
        }
}

/* ---- q5_k: scales and minima as above | 8 times: fifth bits, 1 plane, 4 planes */
#define AT(i) (ROWS * 16 + (i) * ROWS * 20)
static void pack_q5_k(const uint8_t *src, uint8_t *dst, int r) {
    uint32_t high[8];
    turn_bits(src + 16, high);
    pack_scales_k4(src, dst, r);
    UNROLL for (int i = 0; i < 8; i++) {
        uint32_t c[8];
        codes_k4(src + 48, i, c);
        put_u32(dst + AT(i), 0, r, high[i]);
        pack_low4(dst + AT(i) + VBYTES, r, c);
    }
}
INLINE void ints_q5_k(const uint8_t *p, vf *d, vi *s, vf *dmin, vi *m) { ints_k4(p, d, s, dmin, m); }
INLINE void codes_q5_k(const uint8_t *p, int i, vu *w) {
    unpack_low4(p + AT(i) + VBYTES, w);
    unpack_bit5(p + AT(i), w);
}
#undef AT

#define TYPE q5_k
#define ELEMS 256
#define BYTES 176
#define ZERO 0
#define HALF 0
#define MIN 1
#define BITS 5
#define PLANES 2
#define PANEL_FROM 10
#include "x86/type.tmpl.h"

/* ---- q6_k: d [ROWS] fp16 | 16 int8 scales, 4 planes | 8 times: upper bits, 2 planes, 4 planes */
#define AT(i) (ROWS * 18 + (i) * ROWS * 24)
static void pack_q6_k(const uint8_t *src, uint8_t *dst, int r) {
    put_u16(dst, r, src + 208);
    for (int j = 0; j < 4; j++) put_u32(dst + ROWS * 2, j, r, load_u32(src + 192 + 4 * j));
    UNROLL for (int i = 0; i < 8; i++) {
        const uint8_t *low = src + i / 4 * 64 + i % 2 * 32, *high = src + 128 + i / 4 * 32;
        uint32_t c[8];
        UNROLL for (int g = 0; g < 8; g++)
            c[g] = (load_u32(low + 4 * g) >> i % 4 / 2 * 4 & 15 * REP4) | (load_u32(high + 4 * g) >> i % 4 * 2 & 3 * REP4) << 4;
        pack_bits56(dst + AT(i), r, c);
        pack_low4(dst + AT(i) + 2 * VBYTES, r, c);
    }
}
INLINE void ints_q6_k(const uint8_t *p, vf *d, vi *s, vf *dmin, vi *m) {
    *d = load_f16(p);
    UNROLL for (int j = 0; j < 4; j++) {
        vi x = (vi)load_v(p + ROWS * 2 + j * VBYTES);
        UNROLL for (int i = 0; i < 4; i++) s[4 * j + i] = x << (24 - 8 * i) >> 24;
    }
    (void)dmin; (void)m;
}
INLINE void codes_q6_k(const uint8_t *p, int i, vu *w) {
    unpack_low4(p + AT(i) + 2 * VBYTES, w);
    unpack_bits56(p + AT(i), w);
}
#undef AT

#define TYPE q6_k
#define ELEMS 256
#define BYTES 210
#define ZERO 32
#define HALF 1
#define MIN 0
#define BITS 6
#define PLANES 2
#define PANEL_FROM 12
#include "x86/type.tmpl.h"

/* Elements 32i..32i+31 of the 2-bit codes of q2_k and q3_k. */
static void codes_k2(const uint8_t *qs, int i, uint32_t *c) {
    for (int g = 0; g < 8; g++) c[g] = load_u32(qs + i / 4 * 32 + 4 * g) >> i % 4 * 2 & 3 * REP4;
}

/* ---- q2_k: d [ROWS] fp16 | dmin [ROWS] fp16 | 16 scales (low nibbles) and minima, 4 planes | 8 times: 2 planes */
#define AT(i) (ROWS * 20 + (i) * ROWS * 8)
static void pack_q2_k(const uint8_t *src, uint8_t *dst, int r) {
    put_u16(dst, r, src + 80);
    put_u16(dst + ROWS * 2, r, src + 82);
    for (int j = 0; j < 4; j++) put_u32(dst + ROWS * 4, j, r, load_u32(src + 4 * j));
    UNROLL for (int i = 0; i < 8; i++) {
        uint32_t c[8];
        codes_k2(src + 16, i, c);
        pack_low2(dst + AT(i), r, c);
    }
}
INLINE void ints_q2_k(const uint8_t *p, vf *d, vi *s, vf *dmin, vi *m) {
    *d = load_f16(p);
    *dmin = -load_f16(p + ROWS * 2);
    UNROLL for (int j = 0; j < 4; j++) {
        vu x = load_v(p + ROWS * 4 + j * VBYTES);
        UNROLL for (int i = 0; i < 4; i++) {
            s[4 * j + i] = (vi)(x >> 8 * i & 15);
            m[4 * j + i] = (vi)(x >> (8 * i + 4) & 15);
        }
    }
}
INLINE void codes_q2_k(const uint8_t *p, int i, vu *w) { unpack_low2(p + AT(i), w); }
#undef AT

#define TYPE q2_k
#define ELEMS 256
#define BYTES 84
#define ZERO 0
#define HALF 1
#define MIN 1
#define BITS 4
#define PLANES 1
#define PANEL_FROM 16
#include "x86/type.tmpl.h"

/* ---- q3_k: d [ROWS] fp16 | 16 6-bit scales as they are in the file, 3 planes | 8 times: third bits, 1 plane, 2 planes */
#define AT(i) (ROWS * 14 + (i) * ROWS * 12)
static void pack_q3_k(const uint8_t *src, uint8_t *dst, int r) {
    uint32_t high[8];
    turn_bits(src, high);
    put_u16(dst, r, src + 108);
    for (int j = 0; j < 3; j++) put_u32(dst + ROWS * 2, j, r, load_u32(src + 96 + 4 * j));
    UNROLL for (int i = 0; i < 8; i++) {
        uint32_t c[8];
        codes_k2(src + 32, i, c);
        put_u32(dst + AT(i), 0, r, high[i]);
        pack_low2(dst + AT(i) + VBYTES, r, c);
    }
}
INLINE void ints_q3_k(const uint8_t *p, vf *d, vi *s, vf *dmin, vi *m) {
    vu x[3];
    *d = load_f16(p);
    UNROLL for (int j = 0; j < 3; j++) x[j] = load_v(p + ROWS * 2 + j * VBYTES);
    vu sc[4] = {(x[0] & 15 * REP4) | (x[2] << 4 & 48 * REP4), (x[1] & 15 * REP4) | (x[2] << 2 & 48 * REP4),
                (x[0] >> 4 & 15 * REP4) | (x[2] & 48 * REP4), (x[1] >> 4 & 15 * REP4) | (x[2] >> 2 & 48 * REP4)};
    /* Scale - 32 as a signed number of 6 bits, whose sign is the upper bit turned. */
    UNROLL for (int i = 0; i < 16; i++)
        s[i] = (vi)(sc[i / 4] ^ 32 * REP4) << (26 - 8 * (i % 4)) >> 26;
    (void)dmin; (void)m;
}
INLINE void codes_q3_k(const uint8_t *p, int i, vu *w) {
    unpack_low2(p + AT(i) + VBYTES, w);
    unpack_bit3(p + AT(i), w);
}
#undef AT

#define TYPE q3_k
#define ELEMS 256
#define BYTES 110
#define ZERO 4
#define HALF 1
#define MIN 0
#define BITS 4
#define PLANES 1
#define PANEL_FROM 12
#include "x86/type.tmpl.h"
