/* SPDX-License-Identifier: MIT
 * q2_k: 256 elements, 84 bytes.   16 bytes: 4-bit scale (low) and minimum (high) of 16 elements each |
 * 64 bytes of codes | f16 d, dmin.   Byte l (0..31) of a half's 32 bytes holds elements l, l+32, l+64, l+96 of that half
 * of 128 in rising bit pairs.   value = (d*scale) * code - (dmin*minimum) */
#include "types/block.h"

TL_UNPACK(q2_k) {
    const uint8_t *b = block, *qs = b + 16;
    float d = load_f16(b + 80), dmin = load_f16(b + 82);
    for (int i = 0; i < 256; i++)
        q[i] = (int8_t)(qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3);
    for (int s = 0; s < 16; s++) {
        scale[s] = d * (float)(b[s] & 15);
        min[s] = -(dmin * (float)(b[s] >> 4));
    }
}
