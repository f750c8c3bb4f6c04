/* SPDX-License-Identifier: MIT
 * q4_1: 32 elements, 20 bytes.   f16 d, m | 16 bytes: element j low nibble, j+16 high nibble   value = d * code + m */
#include "types/block.h"

TL_UNPACK(q4_1) {
    const uint8_t *b = block, *qs = b + 4;
    for (int j = 0; j < 16; j++) {
        q[j] = (int8_t)(qs[j] & 15);
        q[j + 16] = (int8_t)(qs[j] >> 4);
    }
    fill_32(scale, min, load_f16(b), load_f16(b + 2));
}
