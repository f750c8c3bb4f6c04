/* SPDX-License-Identifier: MIT
 * tile_config.h: the shape of AMX's eight tile registers, as ldtilecfg reads it (Intel's manual, volume 1, chapter on
 * AMX). A thread's tiles are off until it is loaded and after tilerelease. */
#ifndef TILE_CONFIG_H
#define TILE_CONFIG_H
#include <stdint.h>

typedef struct tile_config {
    uint8_t palette, start_row, zero[14];
    uint16_t row_bytes[16];   /* of tile i, at most 64; 8 and up: 0 */
    uint8_t rows[16];         /* at most 16 */
} tile_config;

/* In assembly since gcc 12's intrinsic tells the compiler of the first 8 bytes only. */
static inline void load_tile_config(const tile_config *c) { __asm__ volatile("ldtilecfg %0" : : "m"(*c)); }

#endif
