/* SPDX-License-Identifier: MIT
 *
 * What level avxvnni adds to the vector operations of avx2: attention over quantized pages with vpdpbusd. */
#define LEVEL avxvnni
#include "x86/vec8.h"

INLINE vi dot_32(const vu *k, const int8_t *q, int32_t sum, int bits) {
    __m256i total = _mm256_set1_epi32(-sum * (bits == 8 ? 128 : 8));
    UNROLL for (int g = 0; g < 8; g++) {
        int32_t four;
        memcpy(&four, q + 4 * g, 4);
        total = _mm256_dpbusd_avx_epi32(total, (__m256i)k[g], _mm256_set1_epi32(four));
    }
    return (vi)total;
}

#include "vec/attn_q.tmpl.h"
#include "vec/attn.tmpl.h"

static void FN(attn_q8_0)(const tl_attn_args *a) { attn(a, 8); }
static void FN(attn_q4_0)(const tl_attn_args *a) { attn(a, 4); }

void tl_fill_avxvnni_vec(tl_kernels *k);

void tl_fill_avxvnni_vec(tl_kernels *k) {
    k->kv[TL_KV_Q8_0].attn = FN(attn_q8_0);
    k->kv[TL_KV_Q4_0].attn = FN(attn_q4_0);
}
