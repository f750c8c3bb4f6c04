/* SPDX-License-Identifier: MIT
 * q8_0: 32 elements, 34 bytes.   f16 d | 32 int8   value = d * code */
#include "types/block.h"

TL_UNPACK(q8_0) {
    const uint8_t *b = block;
    memcpy(q, b + 2, 32);
    fill_32(scale, min, load_f16(b), 0);
}
