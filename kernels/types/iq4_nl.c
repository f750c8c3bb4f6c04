/* SPDX-License-Identifier: MIT
 * iq4_nl: 32 elements, 18 bytes.   f16 d | 16 bytes: element j low nibble, j+16 high nibble   value = d * table[code] */
#include "types/block.h"

TL_UNPACK(iq4_nl) {
    const uint8_t *b = block, *qs = b + 2;
    for (int j = 0; j < 16; j++) {
        q[j] = iq4_values[qs[j] & 15];
        q[j + 16] = iq4_values[qs[j] >> 4];
    }
    fill_32(scale, min, load_f16(b), 0);
}
