/* SPDX-License-Identifier: MIT
 * nvfp4: 64 elements, 36 bytes.   u8 d[4]: a scale for every 16 elements | 4 x 8 bytes: element j low nibble, j+8 high
 * A scale is an 8-bit float without sign (4 bits of exponent, bias 7, 3 of fraction; exponent 0: subnormal;
 * 0x7f, not a number there, is read as 0, as ggml does). A code is a 4-bit float as in mxfp4: the table holds twice its
 * value, so value = scale/2 * table[code]. */
#include "types/block.h"

static float half_scale(uint8_t b) {
    int exponent = b >> 3 & 15, fraction = b & 7;
    if (b == 0x7f) return 0;
    return exponent ? tl_f32_from_bits((uint32_t)(exponent - 8 + 127) << 23 | (uint32_t)fraction << 20)
                    : (float)fraction * 0x1p-10f;
}

TL_UNPACK(nvfp4) {
    const uint8_t *b = block;
    for (int i = 0; i < 4; i++) {
        const uint8_t *qs = b + 4 + 8 * i;
        for (int j = 0; j < 8; j++) {
            q[16 * i + j] = mxfp4_values[qs[j] & 15];
            q[16 * i + j + 8] = mxfp4_values[qs[j] >> 4];
        }
        scale[i] = half_scale(b[i]);
        min[i] = 0;
    }
}
