/* SPDX-License-Identifier: MIT
 * q5_0: 32 elements, 22 bytes.   f16 d | 32 bits: fifth bit of element j is bit j | 16 bytes: low 4 bits as in q4_0
 * value = d * (code - 16) */
#include "types/block.h"

TL_UNPACK(q5_0) {
    const uint8_t *b = block, *qh = b + 2, *qs = b + 6;
    for (int j = 0; j < 16; j++) {
        int lo = qh[j / 8] >> (j % 8) & 1, hi = qh[2 + j / 8] >> (j % 8) & 1;
        q[j] = (int8_t)(((qs[j] & 15) | lo << 4) - 16);
        q[j + 16] = (int8_t)((qs[j] >> 4 | hi << 4) - 16);
    }
    fill_32(scale, min, load_f16(b), 0);
}
