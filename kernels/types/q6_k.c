/* SPDX-License-Identifier: MIT
 * q6_k: 256 elements, 210 bytes.   128 bytes: low 4 bits | 64 bytes: upper 2 bits | 16 int8 scales, one for 16 elements |
 * f16 d.   In each half of 128 elements: element i < 64 is the low nibble of byte i of the half's 64, element i >= 64 the
 * high nibble of byte i-64; its upper bits are bit pair i/32 of byte i%32 of the half's 32.
 * value = (d*scale) * (code - 32) */
#include "types/block.h"

TL_UNPACK(q6_k) {
    const uint8_t *b = block;
    float d = load_f16(b + 208);
    for (int half = 0; half < 2; half++) {
        const uint8_t *ql = b + half * 64, *qh = b + 128 + half * 32;
        for (int i = 0; i < 128; i++) {
            int low = ql[i % 64] >> (i / 64 * 4) & 15, high = qh[i % 32] >> (i / 32 * 2) & 3;
            q[half * 128 + i] = (int8_t)((low | high << 4) - 32);
        }
    }
    for (int s = 0; s < 16; s++) {
        scale[s] = d * (float)(int8_t)b[192 + s];
        min[s] = 0;
    }
}
