/* SPDX-License-Identifier: MIT
 *
 * Vector operations of level neon (and of those above it, which add nothing here): the operations on 4 floats that the
 * templates in kernels/vec are made of. 32 registers: 24 sums of attention, 4 loaded vectors, one broadcast. */
#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#define LEVEL neon
#define W 4
#define QB 6
#define PV 4
#define CV 4
#define CHAINS 4

static inline float32x4_t ld(const float *p) { return vld1q_f32(p); }
static inline void st(float *p, float32x4_t v) { vst1q_f32(p, v); }
static inline float32x4_t ld_n(const float *p, int n) {
    float t[4] = {0};
    for (int i = 0; i < n; i++) t[i] = p[i];
    return vld1q_f32(t);
}
static inline void st_n(float *p, float32x4_t v, int n) {
    float t[4];
    vst1q_f32(t, v);
    for (int i = 0; i < n; i++) p[i] = t[i];
}
static inline float32x4_t set1(float x) { return vdupq_n_f32(x); }
static inline float32x4_t vfma(float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); }
static inline float32x4_t vmax(float32x4_t a, float32x4_t b) { return vmaxq_f32(a, b); }
static inline float32x4_t vmin(float32x4_t a, float32x4_t b) { return vminq_f32(a, b); }
static inline float hsum(float32x4_t v) { return vaddvq_f32(v); }
static inline float hmax(float32x4_t v) { return vmaxvq_f32(v); }

static inline float32x4_t ld_f16(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
static inline float32x4_t ld_bf16(const uint16_t *p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16)); }
static inline void st_f16(uint16_t *p, float32x4_t v) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v))); }

static inline int32x4_t ld_s8(const void *p) {
    uint32_t four;
    memcpy(&four, p, 4);
    return vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(four))));
}

static inline float32x4_t dup_even(float32x4_t v) { return vtrn1q_f32(v, v); }
static inline float32x4_t dup_odd(float32x4_t v) { return vtrn2q_f32(v, v); }
static inline float32x4_t swap_pairs(float32x4_t v) { return vrev64q_f32(v); }
static inline void unzip(float32x4_t a, float32x4_t b, void *even, void *odd) {
    vst1q_f32(even, vuzp1q_f32(a, b));
    vst1q_f32(odd, vuzp2q_f32(a, b));
}

static inline uint32_t top_bits(const float *x) {
    uint32x4_t top = vdupq_n_u32(0);
    for (int i = 0; i < 32; i += 4)
        top = vmaxq_u32(top, vbicq_u32(vreinterpretq_u32_f32(ld(x + i)), vdupq_n_u32(0x80000000)));
    return vmaxvq_u32(top);
}

/* Four vectors, scaled and rounded to nearest even, as 16 bytes. */
static inline int8x16_t round_16(const float *x, float32x4_t id) {
    int32x4_t r[4];
    for (int i = 0; i < 4; i++) r[i] = vcvtnq_s32_f32(vmulq_f32(ld(x + 4 * i), id));
    const int16x8_t a = vcombine_s16(vmovn_s32(r[0]), vmovn_s32(r[1]));
    const int16x8_t b = vcombine_s16(vmovn_s32(r[2]), vmovn_s32(r[3]));
    return vcombine_s8(vmovn_s16(a), vmovn_s16(b));
}

static inline void round_block(const float *x, float id, int8_t *q, int16_t *s) {
    for (int h = 0; h < 2; h++) {
        const int8x16_t v = round_16(x + 16 * h, set1(id));
        vst1q_s8(q + 16 * h, v);
        s[h] = vaddlvq_s8(v);
    }
}

#include "vec/math.tmpl.h"

/* A vector is 4 dimensions of 4 positions. Products of signed codes, up to 127 * 127 each, are summed in int16
 * over two vectors. */
INLINE vi dot_32(const vu *k, const int8_t *q, int32_t sum, int bits) {
    const int8x16_t offset = vdupq_n_s8(bits == 8 ? -128 : 0);
    int32x4_t lo = vdupq_n_s32(0), hi = lo;   /* positions 0, 0, 1, 1 and 2, 2, 3, 3 */
    for (int g = 0; g < 8; g += 2) {
        int8x16_t s[2], x[2];
        for (int i = 0; i < 2; i++) {
            int32_t four;
            memcpy(&four, q + 4 * (g + i), 4);
            x[i] = vreinterpretq_s8_s32(vdupq_n_s32(four));
            s[i] = veorq_s8(vreinterpretq_s8_u32((uint32x4_t)k[g + i]), offset);
        }
        const int16x8_t low = vmlal_s8(vmull_s8(vget_low_s8(s[0]), vget_low_s8(x[0])), vget_low_s8(s[1]),
                                       vget_low_s8(x[1]));
        lo = vpadalq_s16(lo, low);
        hi = vpadalq_s16(hi, vmlal_high_s8(vmull_high_s8(s[0], x[0]), s[1], x[1]));
    }
    return (vi)vpaddq_s32(lo, hi) - (bits == 8 ? 0 : 8 * sum);
}

#include "vec/fill.tmpl.h"
