/* SPDX-License-Identifier: MIT
 *
 * planes.h: how codes of 2 to 8 bits lie in a packed group, and how a block of 32 becomes 8 code vectors again.
 * ROWS rows are interleaved by dwords: a plane is one vector, dword r of it belongs to row r.
 *
 *   4 bits   4 planes; plane g: byte b = element 4g+b low nibble, element 4g+b+16 high nibble
 *   +1 bit   1 plane:  bit 8b+g = fifth bit of element 4g+b
 *   +2 bits  2 planes; plane g/4: bits 8b+2(g%4).. = upper bits of element 4g+b
 *   2 bits   2 planes; plane g/4: bits 8b+2(g%4).. = element 4g+b
 *   +1 bit   1 plane:  as the fifth bit above
 *   8 bits   8 planes; plane g: byte b = element 4g+b
 *
 * so that vector g, elements 4g..4g+3 of every row, is a shift and a mask away, with no shuffle. Packing takes 32 codes
 * of one row as 8 words: byte b of word g is element 4g+b. */
#define REP4 0x01010101u

INLINE void put_u16(uint8_t *dst, int r, const uint8_t *src) { memcpy(dst + r * 2, src, 2); }
INLINE void put_u32(uint8_t *dst, int plane, int r, uint32_t x) { memcpy(dst + plane * VBYTES + r * 4, &x, 4); }

static inline void pack_low4(uint8_t *dst, int r, const uint32_t *c) {
    for (int g = 0; g < 4; g++) put_u32(dst, g, r, (c[g] & 15 * REP4) | (c[g + 4] & 15 * REP4) << 4);
}
/* Bits `bit` and `bit`+1 of the codes. */
static inline void pack_2bits(uint8_t *dst, int r, const uint32_t *c, int bit) {
    for (int i = 0; i < 2; i++) {
        uint32_t h = 0;
        for (int g = 0; g < 4; g++) h |= (c[4 * i + g] >> bit & 3 * REP4) << 2 * g;
        put_u32(dst, i, r, h);
    }
}
static inline void pack_low2(uint8_t *dst, int r, const uint32_t *c) { pack_2bits(dst, r, c, 0); }
static inline void pack_bits56(uint8_t *dst, int r, const uint32_t *c) { pack_2bits(dst, r, c, 4); }

INLINE void unpack_low4(const uint8_t *p, vu *w) {
    UNROLL for (int g = 0; g < 4; g++) {
        vu x = load_v(p + g * VBYTES);
        w[g] = x & 15 * REP4;
        w[g + 4] = x >> 4 & 15 * REP4;
    }
}
INLINE void unpack_low2(const uint8_t *p, vu *w) {
    UNROLL for (int i = 0; i < 2; i++) {
        vu x = load_v(p + i * VBYTES);
        UNROLL for (int g = 0; g < 4; g++) w[4 * i + g] = x >> 2 * g & 3 * REP4;
    }
}
INLINE void unpack_bit3(const uint8_t *p, vu *w) {
    vu h = load_v(p);
    UNROLL for (int g = 0; g < 8; g++) w[g] |= (g < 2 ? h << (2 - g) : h >> (g - 2)) & 4 * REP4;
}
INLINE void unpack_bit5(const uint8_t *p, vu *w) {
    vu h = load_v(p);
    UNROLL for (int g = 0; g < 4; g++) {
        w[g] |= h << (4 - g) & 16 * REP4;
        w[g + 4] |= h >> g & 16 * REP4;
    }
}
INLINE void unpack_bits56(const uint8_t *p, vu *w) {
    UNROLL for (int i = 0; i < 2; i++) {
        vu h = load_v(p + i * VBYTES);
        w[4 * i] |= h << 4 & 48 * REP4;
        w[4 * i + 1] |= h << 2 & 48 * REP4;
        w[4 * i + 2] |= h & 48 * REP4;
        w[4 * i + 3] |= h >> 2 & 48 * REP4;
    }
}
INLINE void unpack_8(const uint8_t *p, vu *w) {
    UNROLL for (int g = 0; g < 8; g++) w[g] = load_v(p + g * VBYTES);
}
