/* SPDX-License-Identifier: MIT
 * iq4_xs: 256 elements, 136 bytes.   f16 d | 6 bytes: 8 6-bit scales (block.h) | 8 times 16 bytes of codes, each placed as
 * in iq4_nl.
 * value = (d*(scale-32)) * table[code] */
#include "types/block.h"

TL_UNPACK(iq4_xs) {
    const uint8_t *b = block, *qs = b + 8;
    float d = load_f16(b);
    for (int s = 0; s < 8; s++) {
        for (int j = 0; j < 16; j++) {
            q[s * 32 + j] = iq4_values[qs[s * 16 + j] & 15];
            q[s * 32 + j + 16] = iq4_values[qs[s * 16 + j] >> 4];
        }
        fill_32(scale + 2 * s, min + 2 * s, d * (float)scale_iq4_xs(b + 2, s), 0);
    }
}
