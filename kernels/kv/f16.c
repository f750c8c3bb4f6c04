/* SPDX-License-Identifier: MIT
 * Cache type f16: half precision. Finite values beyond its range are held as its largest. */
#include "kv_block.h"

#define TYPE f16
#define ELEM uint16_t
static inline uint16_t to_elem(float x) { return tl_kv_f16(x); }
static inline float from_elem(uint16_t x) { return tl_f16_to_f32(x); }
#include "kv/floats.tmpl.h"
