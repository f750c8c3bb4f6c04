/* SPDX-License-Identifier: MIT
 *
 * blocks32.h: the types with blocks of 32. Layout of a packed block of ROWS rows (planes: planes.h); the file's layout is
 * in types/. */

/* ---- q4_0: d [ROWS] fp16 | 4 planes */
static void pack_q4_0(const uint8_t *src, uint8_t *dst, int r) {
    put_u16(dst, r, src);
    for (int g = 0; g < 4; g++) put_u32(dst + ROWS * 2, g, r, load_u32(src + 2 + 4 * g));
}
INLINE void scales_q4_0(const uint8_t *p, vf *s, vf *m) { s[0] = load_f16(p); (void)m; }
INLINE void codes_q4_0(const uint8_t *p, int i, vu *w) { unpack_low4(p + ROWS * 2, w); (void)i; }

#define TYPE q4_0
#define ELEMS 32
#define BYTES 18
#define ZERO 8
#define HALF 0
#define MIN 0
#define BITS 4
#define PANEL_FROM 16
#include "x86/type.tmpl.h"

/* ---- q4_1: d [ROWS] fp16 | m [ROWS] fp16 | 4 planes */
static void pack_q4_1(const uint8_t *src, uint8_t *dst, int r) {
    put_u16(dst, r, src);
    put_u16(dst + ROWS * 2, r, src + 2);
    for (int g = 0; g < 4; g++) put_u32(dst + ROWS * 4, g, r, load_u32(src + 4 + 4 * g));
}
INLINE void scales_q4_1(const uint8_t *p, vf *s, vf *m) { s[0] = load_f16(p); m[0] = load_f16(p + ROWS * 2); }
INLINE void codes_q4_1(const uint8_t *p, int i, vu *w) { unpack_low4(p + ROWS * 4, w); (void)i; }

#define TYPE q4_1
#define ELEMS 32
#define BYTES 20
#define ZERO 0
#define HALF 0
#define MIN 1
#define BITS 4
#define PANEL_FROM 13
#include "x86/type.tmpl.h"

/* ---- q5_0: d [ROWS] fp16 | fifth bits, 1 plane | 4 planes */
/* The plane of fifth bits of a row whose file has that of element j in bit j: bit 4g+b goes to 8b+g. With bits numbered
 * in binary this turns five digits by two places, which is four swaps of two digits. */
INLINE uint32_t swap_bits(uint32_t x, int apart, uint32_t lower) {
    uint32_t d = (x >> apart ^ x) & lower;
    return x ^ d ^ d << apart;
}
static void put_bit5(uint8_t *dst, int r, uint32_t h) {
    h = swap_bits(h, 3, 0x0a0a0a0a);    /* digits 0 and 2 */
    h = swap_bits(h, 6, 0x00cc00cc);    /* 1 and 3 */
    h = swap_bits(h, 12, 0x0000f0f0);   /* 2 and 4 */
    put_u32(dst, 0, r, swap_bits(h, 8, 0x0000ff00));   /* 3 and 4 */
}
static void pack_q5_0(const uint8_t *src, uint8_t *dst, int r) {
    put_u16(dst, r, src);
    put_bit5(dst + ROWS * 2, r, load_u32(src + 2));
    for (int g = 0; g < 4; g++) put_u32(dst + ROWS * 6, g, r, load_u32(src + 6 + 4 * g));
}
INLINE void scales_q5_0(const uint8_t *p, vf *s, vf *m) { s[0] = load_f16(p); (void)m; }
INLINE void codes_q5_0(const uint8_t *p, int i, vu *w) {
    unpack_low4(p + ROWS * 6, w);
    unpack_bit5(p + ROWS * 2, w);
    (void)i;
}

#define TYPE q5_0
#define ELEMS 32
#define BYTES 22
#define ZERO 16
#define HALF 0
#define MIN 0
#define BITS 5
#define PANEL_FROM 8
#include "x86/type.tmpl.h"

/* ---- q5_1: d [ROWS] fp16 | m [ROWS] fp16 | fifth bits, 1 plane | 4 planes */
static void pack_q5_1(const uint8_t *src, uint8_t *dst, int r) {
    put_u16(dst, r, src);
    put_u16(dst + ROWS * 2, r, src + 2);
    put_bit5(dst + ROWS * 4, r, load_u32(src + 4));
    for (int g = 0; g < 4; g++) put_u32(dst + ROWS * 8, g, r, load_u32(src + 8 + 4 * g));
}
INLINE void scales_q5_1(const uint8_t *p, vf *s, vf *m) { s[0] = load_f16(p); m[0] = load_f16(p + ROWS * 2); }
INLINE void codes_q5_1(const uint8_t *p, int i, vu *w) {
    unpack_low4(p + ROWS * 8, w);
    unpack_bit5(p + ROWS * 4, w);
    (void)i;
}

#define TYPE q5_1
#define ELEMS 32
#define BYTES 24
#define ZERO 0
#define HALF 0
#define MIN 1
#define BITS 5
#define PANEL_FROM 8
#include "x86/type.tmpl.h"

/* ---- q8_0: d [ROWS] fp16 | 8 planes, with VNNI of codes + 128 */
static void pack_q8_0(const uint8_t *src, uint8_t *dst, int r) {
    put_u16(dst, r, src);
    for (int g = 0; g < 8; g++)
        put_u32(dst + ROWS * 2, g, r, load_u32(src + 2 + 4 * g) ^ (VNNI ? 128 * REP4 : 0));
}
INLINE void scales_q8_0(const uint8_t *p, vf *s, vf *m) { s[0] = load_f16(p); (void)m; }
INLINE void codes_q8_0(const uint8_t *p, int i, vu *w) { unpack_8(p + ROWS * 2, w); (void)i; }

#define TYPE q8_0
#define ELEMS 32
#define BYTES 34
#define ZERO 128
#define HALF 0
#define MIN 0
#define BITS 8
#define PANEL_FROM 17
#include "x86/type.tmpl.h"
