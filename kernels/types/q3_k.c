/* SPDX-License-Identifier: MIT
 * q3_k: 256 elements, 110 bytes.   32 bytes: third bits | 64 bytes: low 2 bits, placed as in q2_k | 12 bytes: 16 6-bit
 * scales (block.h) | f16 d.   The third bit of element i is bit i/32 of byte i%32.
 * value = (d*(scale-32)) * (code - 4) */
#include "types/block.h"

TL_UNPACK(q3_k) {
    const uint8_t *b = block, *qs = b + 32;
    float d = load_f16(b + 108);
    for (int i = 0; i < 256; i++) {
        int low = qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
        q[i] = (int8_t)((low | (b[i % 32] >> (i / 32) & 1) << 2) - 4);
    }
    for (int s = 0; s < 16; s++) {
        scale[s] = d * (float)scale_q3_k(b + 96, s);
        min[s] = 0;
    }
}
