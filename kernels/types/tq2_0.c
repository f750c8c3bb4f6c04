/* SPDX-License-Identifier: MIT
 * tq2_0: 256 elements, 66 bytes.   64 bytes of 2-bit codes, placed as in q2_k | f16 d   value = d * (code - 1) */
#include "types/block.h"

TL_UNPACK(tq2_0) {
    const uint8_t *b = block;
    for (int i = 0; i < 256; i++)
        q[i] = (int8_t)((b[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3) - 1);
    float d = load_f16(b + 64);
    for (int s = 0; s < 16; s += 2) fill_32(scale + s, min + s, d, 0);
}
