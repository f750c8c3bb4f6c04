/* SPDX-License-Identifier: MIT
 *
 * tables.h: the types whose 4-bit codes stand for the values of a table. Layout of a packed block of ROWS rows (planes:
 * planes.h); the file's layout is in types/. The codes stay as they are in the file and become the table's values,
 * with the offset that the width class asks for, when they are unpacked. */

/* Every code of 8 vectors replaced by table[code]. */
INLINE void look_up(vu *w, const uint8_t *table) {
    UNROLL for (int g = 0; g < 8; g++) w[g] = shuffle_16(table, w[g]);
}

/* ---- iq4_nl: d [ROWS] fp16 | 4 planes */

/* The values of iq4_nl and iq4_xs, densest around zero: as they are, and with VNNI + 128. */
static const uint8_t iq4_table[16] = {
#define V(x) (uint8_t)(VNNI ? (x) + 128 : (x))
    V(-127), V(-104), V(-83), V(-65), V(-49), V(-35), V(-22), V(-10), V(1), V(13), V(25), V(38), V(53), V(69), V(89), V(113)
#undef V
};

static void pack_iq4_nl(const uint8_t *src, uint8_t *dst, int r) {
    put_u16(dst, r, src);
    for (int g = 0; g < 4; g++) put_u32(dst + ROWS * 2, g, r, load_u32(src + 2 + 4 * g));
}
INLINE void scales_iq4_nl(const uint8_t *p, vf *s, vf *m) { s[0] = load_f16(p); (void)m; }
INLINE void codes_iq4_nl(const uint8_t *p, int i, vu *w) {
    unpack_low4(p + ROWS * 2, w);
    look_up(w, iq4_table);
    (void)i;
}

#define TYPE iq4_nl
#define ELEMS 32
#define BYTES 18
#define ZERO 128
#define HALF 0
#define MIN 0
#define BITS 8
#define PANEL_FROM 16
#include "x86/type.tmpl.h"

/* ---- iq4_xs: d [ROWS] fp16 | upper bits of 8 scales [ROWS] uint16 | their low 4 bits, 1 plane | 8 times: 4 planes
 * Scale 2b has its low bits in the low nibble of byte b of the plane, scale 2b+1 in the high one; the upper bits of both
 * are nibble b of the uint16. */
#define AT(i) (ROWS * 8 + (i) * ROWS * 16)
static void pack_iq4_xs(const uint8_t *src, uint8_t *dst, int r) {
    put_u16(dst, r, src);
    put_u16(dst + ROWS * 2, r, src + 2);
    put_u32(dst + ROWS * 4, 0, r, load_u32(src + 4));
    for (int i = 0; i < 8; i++)
        for (int g = 0; g < 4; g++) put_u32(dst + AT(i), g, r, load_u32(src + 8 + 16 * i + 4 * g));
}
INLINE void ints_iq4_xs(const uint8_t *p, vf *d, vi *s, vf *dmin, vi *m) {
    *d = load_f16(p);
    vu high = load_u16(p + ROWS * 2), low = load_v(p + ROWS * 4);
    high = (high | high << 8) & 0x00ff00ff;
    high = (high | high << 4) & 15 * REP4;
    /* Scale - 32 as a signed number of 6 bits, whose sign is the upper bit turned. */
    vu even = ((low & 15 * REP4) | (high & 3 * REP4) << 4) ^ 32 * REP4;
    vu odd = ((low >> 4 & 15 * REP4) | (high & 12 * REP4) << 2) ^ 32 * REP4;
    UNROLL for (int b = 0; b < 4; b++) {
        s[2 * b] = (vi)even << (26 - 8 * b) >> 26;
        s[2 * b + 1] = (vi)odd << (26 - 8 * b) >> 26;
    }
    (void)dmin; (void)m;
}
INLINE void codes_iq4_xs(const uint8_t *p, int i, vu *w) {
    unpack_low4(p + AT(i), w);
    look_up(w, iq4_table);
}
#undef AT

#define TYPE iq4_xs
#define ELEMS 256
#define BYTES 136
#define ZERO 128
#define HALF 0
#define MIN 0
#define BITS 8
#define PLANES 2
#define PANEL_FROM 16
#include "x86/type.tmpl.h"

/* ---- mxfp4: exponents [ROWS] uint8 | 4 planes */

/* Twice the values of e2m1, + 12. */
static const uint8_t mxfp4_table[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

static void pack_mxfp4(const uint8_t *src, uint8_t *dst, int r) {
    dst[r] = src[0];
    for (int g = 0; g < 4; g++) put_u32(dst + ROWS, g, r, load_u32(src + 1 + 4 * g));
}
/* 2^(e-128), which is subnormal for e = 0 and 1. */
INLINE void scales_mxfp4(const uint8_t *p, vf *s, vf *m) {
    vu e = load_u8(p), small = (vu)(e < 2);
    s[0] = (vf)((small & 0x00200000u << (e & 1)) | (~small & (e - 1) << 23));
    (void)m;
}
INLINE void codes_mxfp4(const uint8_t *p, int i, vu *w) {
    unpack_low4(p + ROWS, w);
    look_up(w, mxfp4_table);
    (void)i;
}

#define TYPE mxfp4
#define ELEMS 32
#define BYTES 17
#define ZERO 12
#define HALF 0
#define MIN 0
#define BITS 5
#define PANEL_FROM 16
#include "x86/type.tmpl.h"
