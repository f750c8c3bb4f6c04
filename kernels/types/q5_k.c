/* SPDX-License-Identifier: MIT
 * q5_k: 256 elements, 176 bytes.   f16 d, dmin | 12 bytes: 8 scales and minima as in q4_k | 32 bytes: fifth bits, that of
 * element i is bit i/32 of byte i%32 | 128 bytes: low 4 bits, placed as in q4_k.
 * value = (d*scale) * code - (dmin*minimum) */
#include "types/block.h"

TL_UNPACK(q5_k) {
    const uint8_t *b = block, *qh = b + 16, *qs = b + 48;
    float d = load_f16(b), dmin = load_f16(b + 2);
    for (int s = 0; s < 8; s++) {
        for (int l = 0; l < 32; l++)
            q[s * 32 + l] = (int8_t)((qs[s / 2 * 32 + l] >> (s % 2 * 4) & 15) | (qh[l] >> s & 1) << 4);
        int sc, m;
        scale_min_6bit(b + 4, s, &sc, &m);
        fill_32(scale + 2 * s, min + 2 * s, d * (float)sc, -(dmin * (float)m));
    }
}
