/* SPDX-License-Identifier: MIT
 * q4_k: 256 elements, 144 bytes.   f16 d, dmin | 12 bytes: 8 scales and minima of 6 bits, one for 32 elements |
 * 128 bytes of codes: of each 64 elements the first 32 are the low nibbles of 32 bytes, the others the high ones.
 * value = (d*scale) * code - (dmin*minimum) */
#include "types/block.h"

TL_UNPACK(q4_k) {
    const uint8_t *b = block, *qs = b + 16;
    float d = load_f16(b), dmin = load_f16(b + 2);
    for (int s = 0; s < 8; s++) {
        for (int l = 0; l < 32; l++)
            q[s * 32 + l] = (int8_t)(qs[s / 2 * 32 + l] >> (s % 2 * 4) & 15);
        int sc, m;
        scale_min_6bit(b + 4, s, &sc, &m);
        fill_32(scale + 2 * s, min + 2 * s, d * (float)sc, -(dmin * (float)m));
    }
}
