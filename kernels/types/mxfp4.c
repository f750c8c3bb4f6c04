/* SPDX-License-Identifier: MIT
 * mxfp4: 32 elements, 17 bytes.   u8 e: the block's exponent | 16 bytes: element j low nibble, j+16 high nibble
 * A code is a 4-bit float: the table holds twice its value, so value = 2^(e-128) * table[code].
 * With e = 254 and 255 the larger codes overflow to infinity. */
#include "types/block.h"

TL_UNPACK(mxfp4) {
    const uint8_t *b = block, *qs = b + 1;
    for (int j = 0; j < 16; j++) {
        q[j] = mxfp4_values[qs[j] & 15];
        q[j + 16] = mxfp4_values[qs[j] >> 4];
    }
    /* 2^-128 and 2^-127 are subnormal in float32. */
    uint32_t bits = b[0] < 2 ? UINT32_C(0x00200000) << b[0] : (uint32_t)(b[0] - 1) << 23;
    fill_32(scale, min, tl_f32_from_bits(bits), 0);
}
