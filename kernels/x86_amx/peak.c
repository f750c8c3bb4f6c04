/* SPDX-License-Identifier: MIT
 *
 * Measuring loop of level amx: products of full tiles, 16 x 16 sums of 64 products each, four of them in turn since one
 * takes 52 cycles and the next can start after 16. Registers are named by number, which PEAK's variables are not. */
#include <immintrin.h>
#include "kernels.h"
#include "x86/tile_config.h"

static int64_t tl_peak_int8_amx(int64_t loops) {
    static const uint8_t operand[16][64] = {{63}};
    tile_config c = {.palette = 1};
    for (int i = 0; i < 6; i++) c.rows[i] = 16, c.row_bytes[i] = 64;
    load_tile_config(&c);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_loadd(4, operand, 64);
    _tile_loadd(5, operand, 64);
    for (int64_t i = 0; i < loops; i++) {
        _tile_dpbssd(0, 4, 5);
        _tile_dpbssd(1, 4, 5);
        _tile_dpbssd(2, 4, 5);
        _tile_dpbssd(3, 4, 5);
    }
    _tile_release();
    return loops * 4 * 16 * 16 * 64;
}

void tl_fill_amx_peak(tl_kernels *k);
void tl_fill_amx_peak(tl_kernels *k) { k->peak[TL_PEAK_INT8] = (tl_peak){"tl_peak_int8_amx", tl_peak_int8_amx}; }
