/* SPDX-License-Identifier: MIT
 *
 * ffn.c: the dense feed-forward.
 *   in:  norm, gate and up products with the activation function |
 *   out: down product, added | */
#include "model/block.h"
#include "model/model.h"

typedef struct ffn {
    tl_weight gate, up, down;                           /* gate.gemm NULL: none */
    const float *gate_bias, *up_bias, *down_bias;       /* NULL: none */
} ffn;

static int width_of(const struct tl_model *m, const tl_block *b) { return m->hp.layers[b->layer].n_ff; }

static void needs(const struct tl_model *m, const tl_block *b, tl_needs *n) {
    int ff = width_of(m, b);
    size_t size = (size_t)n->n * (size_t)ff * sizeof(float), up = tl_up_floats(n->n, ff);
    if (size > n->scratch[TL_BLOCK_FFN]) n->scratch[TL_BLOCK_FFN] = size;
    if (up > n->up) n->up = up;
}

static size_t bytes(const struct tl_model *m, const tl_block *b) {
    (void)m, (void)b;
    return sizeof(ffn);
}

/* Gate and up may be one tensor of twice the rows, the gate's first; it has the name of up. */
static void tensors(const struct tl_model *m, const tl_block *b, const tl_visitor *v) {
    const tl_arch *arch = m->arch;
    ffn *f = b->w;
    int d = m->hp.n_embd, ff = width_of(m, b), gated = tl_ffn_types[arch->ffn].gated, fuse = (arch->usual & TL_USUAL_GATE_UP) != 0;
    tl_need bias = arch->bias == TL_BIAS_ALL ? TL_REQUIRED : TL_OPTIONAL;
    tl_tensor gate = {.name = "ffn_gate.weight", .rows = ff, .cols = d, .op = TL_OP_GATE_UP, .slot = &f->gate,
                      .fused = "ffn_up.weight", .fused_all = 2 * ff, .fuse = fuse};
    tl_tensor up = {.name = "ffn_up.weight", .rows = ff, .cols = d, .op = TL_OP_GATE_UP, .slot = &f->up,
                    .fused = gated ? "ffn_up.weight" : NULL, .fused_at = ff, .fused_all = 2 * ff, .fuse = fuse};
    if (gated) tl_visit(v, b->layer, &gate);
    tl_visit(v, b->layer, &up);
    if (gated) tl_visit(v, b->layer, &(tl_tensor){.name = "ffn_gate.bias", .cols = ff, .need = TL_OPTIONAL, .slot = &f->gate_bias});
    tl_visit(v, b->layer, &(tl_tensor){.name = "ffn_up.bias", .cols = ff, .need = bias, .slot = &f->up_bias});
    tl_visit(v, b->layer, &(tl_tensor){
        .name = "ffn_down.weight", .rows = d, .cols = ff, .role = TL_ROLE_DOWN, .op = TL_OP_DOWN, .slot = &f->down});
    tl_visit(v, b->layer, &(tl_tensor){.name = "ffn_down.bias", .cols = d, .need = bias, .slot = &f->down_bias});
}

static void in(tl_run *r, tl_worker *t, const tl_block *b) {
    const ffn *f = b->w;
    const tl_weight *ws[] = {&f->gate, &f->up};
    tl_acts x = tl_block_prepare(r, t, r->x, r->m->hp.n_embd, &b->norm, ws, 2);
    tl_gated g = {.x = x, .gate = f->gate.gemm ? &f->gate : NULL, .up = &f->up, .gate_bias = f->gate_bias, .up_bias = f->up_bias,
                  .act = r->m->k.ffn[r->m->arch->ffn], .y = r->scratch[TL_BLOCK_FFN],
                  .stride = (size_t)width_of(r->m, b)};
    tl_matmul_gated(t, &g, 1);
    tl_pool_barrier(t->pool);
    tl_mark(r, t, TL_OP_GATE_UP);
}

static void out(tl_run *r, tl_worker *t, const tl_block *b) {
    const ffn *f = b->w;
    const tl_weight *ws[] = {&f->down};
    tl_acts x = tl_block_prepare(r, t, r->scratch[TL_BLOCK_FFN], width_of(r->m, b), NULL, ws, 1);
    tl_block_add(r, t, b, TL_OP_DOWN, &x, &f->down, f->down_bias);
}

extern const tl_block_kind tl_block_ffn;
const tl_block_kind tl_block_ffn = {
    .name = "feed-forward", .bytes = bytes, .tensors = tensors, .needs = needs, .in = in, .out = out};
