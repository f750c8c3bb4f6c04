/* SPDX-License-Identifier: MIT
 * Cache type f32: keys and values as they were computed. */
#define TYPE f32
#define ELEM float
static inline float to_elem(float x) { return x; }
static inline float from_elem(float x) { return x; }
#include "kv/floats.tmpl.h"
