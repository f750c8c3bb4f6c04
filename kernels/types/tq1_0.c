/* SPDX-License-Identifier: MIT
 * tq1_0: 256 elements, 54 bytes.   48 + 4 bytes of ternary digits | f16 d   value = d * (digit - 1)
 * A byte holds 5 digits as the fraction digits / 243, rounded up: n times 3 modulo 256 drops the first n digits, times 3
 * div 256 is the next. Bytes 0-31 give elements 0-159, digit n of byte l being element 32n + l; bytes 32-47 give 160-239
 * in the same manner by 16; the last 4 bytes hold 4 digits each: 240-255. */
#include "types/block.h"

static int8_t *digits(const uint8_t *src, int bytes, int n_digits, int8_t *q) {
    static const uint8_t pow3[5] = {1, 3, 9, 27, 81};
    for (int n = 0; n < n_digits; n++)
        for (int l = 0; l < bytes; l++)
            *q++ = (int8_t)(((uint8_t)(src[l] * pow3[n]) * 3 >> 8) - 1);
    return q;
}

TL_UNPACK(tq1_0) {
    const uint8_t *b = block;
    q = digits(b, 32, 5, q);
    q = digits(b + 32, 16, 5, q);
    digits(b + 48, 4, 4, q);
    float d = load_f16(b + 52);
    for (int s = 0; s < 16; s += 2) fill_32(scale + s, min + s, d, 0);
}
