/* SPDX-License-Identifier: MIT
 *
 * fill.tmpl.h: the vector operations of a SIMD level, in the order they build on each other, and its fill function. */
#include "vec/math.tmpl.h"
#include "vec/exact.tmpl.h"
#include "vec/vec.tmpl.h"
#include "vec/ffn.tmpl.h"
#include "vec/attn_q.tmpl.h"
#include "vec/attn.tmpl.h"
#include "vec/kv.tmpl.h"

static void FN(attn_f16)(const tl_attn_args *a) { attn(a, 16); }
static void FN(attn_f32)(const tl_attn_args *a) { attn(a, 32); }
static void FN(attn_q8_0)(const tl_attn_args *a) { attn(a, 8); }
static void FN(attn_q4_0)(const tl_attn_args *a) { attn(a, 4); }

#define FILL_(level) tl_fill_##level##_vec
#define FILL(level) FILL_(level)
#define TEXT_(level) #level
#define TEXT(level) TEXT_(level)
void FILL(LEVEL)(tl_kernels *k);

void FILL(LEVEL)(tl_kernels *k) {
    k->put_act[TL_ACT_Q8] = FN(put_act_q8);
    k->put_act[TL_ACT_Q8K] = FN(put_act_q8k);
    k->dot_f32 = FN(dot_f32);
    k->rms_norm = FN(rms_norm);
    k->layer_norm = FN(layer_norm);
    k->add = FN(add);
    k->scale = FN(scale);
    k->rope = FN(rope);
    k->log_sum_exp = FN(log_sum_exp);
    k->attn_finish = FN(attn_finish);
    k->attn_merge = FN(attn_merge);
#define FFN_0(NAME, name)
#define FFN_1(NAME, name) k->ffn[TL_FFN_##NAME] = FN(name);
#define FFN(NAME, name, gated, vector) FFN_##vector(NAME, name)
#include "ffn.def"
#undef FFN
    /* Cache types with vector forms; the others keep the plain ones (kernels/kv). */
#define KV(NAME, name, query) \
    k->kv[TL_KV_##NAME].put_q = FN(put_q_##query), k->kv[TL_KV_##NAME].put_k = FN(put_k_##name); \
    k->kv[TL_KV_##NAME].put_v = FN(put_v_##name), k->kv[TL_KV_##NAME].attn = FN(attn_##name);
    KV(F16, f16, f32)
    KV(F32, f32, f32)
    KV(Q8_0, q8_0, q8)
    KV(Q4_0, q4_0, q8)
#undef KV
#define FLOAT(id, NAME, name, elems, bytes) \
    k->gemm[id] = (tl_gemm){"tl_gemm_" #name "_" TEXT(LEVEL), TL_ACT_F32, 1, NULL, NULL, FN(tl_gemm_f32)}; \
    k->exact[id] = k->gemm[id];
#define QUANT(id, NAME, name, ...) \
    k->exact[id] = (tl_gemm){"tl_exact_" #name "_" TEXT(LEVEL), TL_ACT_F32, 1, NULL, NULL, FN(tl_gemm_f32)};
#define NAMED(id, NAME, name, elems, bytes)
#define GONE(id, NAME, name, advice)
#include "types.def"
#undef FLOAT
#undef QUANT
#undef NAMED
#undef GONE
}
