/* SPDX-License-Identifier: MIT
 * q5_1: 32 elements, 24 bytes.   f16 d, m | 32 bits: fifth bit of element j is bit j | 16 bytes: low 4 bits as in q4_1
 * value = d * code + m */
#include "types/block.h"

TL_UNPACK(q5_1) {
    const uint8_t *b = block, *qh = b + 4, *qs = b + 8;
    for (int j = 0; j < 16; j++) {
        int lo = qh[j / 8] >> (j % 8) & 1, hi = qh[2 + j / 8] >> (j % 8) & 1;
        q[j] = (int8_t)((qs[j] & 15) | lo << 4);
        q[j + 16] = (int8_t)(qs[j] >> 4 | hi << 4);
    }
    fill_32(scale, min, load_f16(b), load_f16(b + 2));
}
