/* SPDX-License-Identifier: MIT
 * q4_0: 32 elements, 18 bytes.   f16 d | 16 bytes: element j low nibble, j+16 high nibble   value = d * (code - 8) */
#include "types/block.h"

TL_UNPACK(q4_0) {
    const uint8_t *b = block, *qs = b + 2;
    for (int j = 0; j < 16; j++) {
        q[j] = (int8_t)((qs[j] & 15) - 8);
        q[j + 16] = (int8_t)((qs[j] >> 4) - 8);
    }
    fill_32(scale, min, load_f16(b), 0);
}
