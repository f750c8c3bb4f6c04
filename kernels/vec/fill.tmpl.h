/* SPDX-License-Identifier: MIT
 *
 * fill.tmpl.h: the vector operations of a SIMD level, in the order they build on each other, and its fill function
 * FILL. LEVEL_NAME, a string, ends the names of the products. */
#include "vec/math.tmpl.h"
#include "vec/exact.tmpl.h"
#include "vec/vec.tmpl.h"
#include "vec/attn_q.tmpl.h"
#include "vec/attn.tmpl.h"
#include "vec/kv.tmpl.h"

static void attn_f16(const tl_attn_args *a) { attn(a, TL_KV_F16); }
static void attn_f32(const tl_attn_args *a) { attn(a, TL_KV_F32); }
static void attn_q8_0(const tl_attn_args *a) { attn(a, TL_KV_Q8_0); }
static void attn_q4_0(const tl_attn_args *a) { attn(a, TL_KV_Q4_0); }

void FILL(tl_kernels *k);

void FILL(tl_kernels *k) {
    k->quantize_q8 = quantize_q8;
    k->dot_f32 = dot_f32;
    k->rms_norm = rms_norm;
    k->add = add;
    k->scale = scale;
    k->silu_mul = silu_mul;
    k->gelu_mul = gelu_mul;
    k->rope = rope;
    k->log_sum_exp = log_sum_exp;
    k->attn_finish = attn_finish;
    k->attn_merge = attn_merge;
    k->kv[TL_KV_F16] = (tl_kv_ops){"f16", 1, 2, put_q_f32, put_k_f16, put_v_f16, attn_f16};
    k->kv[TL_KV_F32] = (tl_kv_ops){"f32", 1, 4, put_q_f32, put_k_f32, put_v_f32, attn_f32};
    k->kv[TL_KV_Q8_0] = (tl_kv_ops){"q8_0", 32, 34, put_q_q8, put_k_q8_0, put_v_q8_0, attn_q8_0};
    k->kv[TL_KV_Q4_0] = (tl_kv_ops){"q4_0", 32, 18, put_q_q8, put_k_q4_0, put_v_q4_0, attn_q4_0};
#define FLOAT(id, NAME, name, elems, bytes) \
    k->gemm[id] = (tl_gemm){"tl_gemm_" #name "_" LEVEL_NAME, TL_ACT_F32, 1, NULL, NULL, gemm_f32}; \
    k->exact[id] = k->gemm[id];
#define QUANT(id, NAME, name, elems, bytes, has_min) \
    k->exact[id] = (tl_gemm){"tl_exact_" #name "_" LEVEL_NAME, TL_ACT_F32, 1, NULL, NULL, gemm_f32};
#define NAMED(id, NAME, name, elems, bytes)
#define GONE(id, NAME, name, advice)
#include "types.def"
#undef FLOAT
#undef QUANT
#undef NAMED
#undef GONE
}
