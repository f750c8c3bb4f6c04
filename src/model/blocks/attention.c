/* SPDX-License-Identifier: MIT
 *
 * attention.c: grouped-query attention over the KV cache.
 *   in:  norm, q, k, v products | norms of heads, rotation, K and V to the cache | attention |
 *   out: output product, added |
 * A bar is a barrier; norms over all heads of a row (TL_QK_NORM_ROW) cost one more. */
#include "model/block.h"
#include "model/model.h"

typedef struct attention {
    tl_weight q, k, v, o;
    const float *q_bias, *k_bias, *v_bias, *o_bias;   /* NULL: none, as all vectors here */
    const float *q_norm, *k_norm;                     /* [head_dim], or of all heads */
    const float *sinks;                               /* [n_heads] */
} attention;

/* Scratch: [n][width] heads of q, of k, of v; [n][q] results; of tl_attention_run. */
typedef struct scratch { float *qkv, *att, *partial; } scratch;

typedef struct widths { int d, hd, heads, kv_heads, q, kv, all; } widths;

static widths widths_of(const struct tl_model *m, const tl_block *b) {
    const tl_layer_hparams *l = &m->hp.layers[b->layer];
    int hd = m->hp.head_dim, q = l->n_heads * hd, kv = l->n_kv_heads * hd;
    return (widths){m->hp.n_embd, hd, l->n_heads, l->n_kv_heads, q, kv, q + 2 * kv};
}

static size_t partial_floats(const widths *w, int n_threads, int n_ctx) {
    return tl_attention_partial(n_threads, w->heads / w->kv_heads, tl_kv_padded(w->hd), n_ctx);
}

static scratch scratch_of(const tl_run *r, const widths *w) {
    void *at = r->scratch[TL_BLOCK_ATTENTION];
    size_t n = (size_t)r->n_batch;
    scratch s = {.qkv = tl_floats(&at, n * (size_t)w->all), .att = tl_floats(&at, n * (size_t)w->q)};
    s.partial = at;
    return s;
}

static void needs(const struct tl_model *m, const tl_block *b, tl_needs *n) {
    widths w = widths_of(m, b);
    size_t floats = (size_t)n->n * (size_t)(w.all + w.q) + 32 + partial_floats(&w, n->n_threads, n->n_ctx);
    size_t attn = tl_attention_scratch(w.heads / w.kv_heads, tl_kv_padded(w.hd), tl_kv_padded(w.hd));
    if (floats * sizeof(float) > n->scratch[TL_BLOCK_ATTENTION]) n->scratch[TL_BLOCK_ATTENTION] = floats * sizeof(float);
    if (attn > n->attn) n->attn = attn;
}

static size_t bytes(const struct tl_model *m, const tl_block *b) {
    (void)m, (void)b;
    return sizeof(attention);
}

static tl_kv_dims cached(const struct tl_model *m, const tl_block *b) {
    return (tl_kv_dims){m->hp.layers[b->layer].n_kv_heads, m->hp.head_dim, m->hp.head_dim};
}

static void tensors(const struct tl_model *m, const tl_block *b, const tl_visitor *v) {
    const tl_arch *arch = m->arch;
    attention *a = b->w;
    widths w = widths_of(m, b);
    tl_need bias = arch->bias ? TL_REQUIRED : TL_OPTIONAL;
    int fuse = (arch->usual & TL_USUAL_QKV) != 0, all = w.all, row = arch->qk_norm == TL_QK_NORM_ROW, q = w.q, kv = w.kv;
    const struct { const char *weight, *bias; int rows, at; tl_role role; tl_weight *w; const float **b; } parts[] = {
        {"attn_q.weight", "attn_q.bias", q, 0, TL_ROLE_OTHER, &a->q, &a->q_bias},
        {"attn_k.weight", "attn_k.bias", kv, q, TL_ROLE_OTHER, &a->k, &a->k_bias},
        {"attn_v.weight", "attn_v.bias", kv, q + kv, TL_ROLE_V, &a->v, &a->v_bias},
    };
    for (int i = 0; i < 3; i++)
        tl_visit(v, b->layer, &(tl_tensor){
            .name = parts[i].weight, .rows = parts[i].rows, .cols = w.d, .role = parts[i].role, .op = TL_OP_QKV,
            .fused = "attn_qkv.weight", .fused_at = parts[i].at, .fused_all = all, .fused_only = 1, .fuse = fuse, .slot = parts[i].w});
    for (int i = 0; i < 3; i++)
        tl_visit(v, b->layer, &(tl_tensor){
            .name = parts[i].bias, .cols = parts[i].rows, .need = bias, .fused = "attn_qkv.bias", .fused_at = parts[i].at,
            .fused_all = all, .fused_only = 1, .fuse = fuse, .slot = parts[i].b});
    if (arch->sinks) tl_visit(v, b->layer, &(tl_tensor){.name = "attn_sinks.weight", .cols = w.heads, .slot = &a->sinks});
    if (arch->qk_norm) {
        tl_visit(v, b->layer, &(tl_tensor){.name = "attn_q_norm.weight", .cols = row ? q : w.hd, .mean = 1, .slot = &a->q_norm});
        tl_visit(v, b->layer, &(tl_tensor){.name = "attn_k_norm.weight", .cols = row ? kv : w.hd, .mean = 1, .slot = &a->k_norm});
    }
    tl_visit(v, b->layer, &(tl_tensor){
        .name = "attn_output.weight", .rows = w.d, .cols = q, .role = TL_ROLE_O, .op = TL_OP_ATTN_OUT, .slot = &a->o});
    tl_visit(v, b->layer, &(tl_tensor){
        .name = "attn_output.bias", .cols = w.d, .need = arch->bias == TL_BIAS_ALL ? TL_REQUIRED : TL_OPTIONAL, .slot = &a->o_bias});
}

/* Norms over all heads of q, and of k, of every row. Ends with a barrier. */
static void norm_rows(tl_run *r, tl_worker *t, const attention *a, const widths *w, float *qkv) {
    int begin, end;
    tl_split(2 * r->n, 1, t->thread, t->n_threads, &begin, &end);
    for (int i = begin; i < end; i++) {
        float *x = qkv + (size_t)(i / 2) * (size_t)w->all + (i % 2 ? w->q : 0);
        t->k->rms_norm(x, x, i % 2 ? a->k_norm : a->q_norm, i % 2 ? w->kv : w->q, r->m->hp.norm_eps);
    }
    tl_pool_barrier(t->pool);
}

/* Per head of every row: norm, rope; q is scaled, k and v go to the cache. Split over (row, head). */
static void finish_heads(tl_run *r, tl_worker *t, const tl_block *b, const widths *w, float *qkv) {
    const tl_hparams *hp = &r->m->hp;
    const attention *a = b->w;
    int hd = w->hd, H = w->heads, KV = w->kv_heads, heads = H + 2 * KV, begin, end, rope = hp->layers[b->layer].rope;
    int head_norms = r->m->arch->qk_norm == TL_QK_NORM_HEAD;
    tl_split(r->n * heads, 1, t->thread, t->n_threads, &begin, &end);
    for (int i = begin; i < end; i++) {
        int row = i / heads, h = i % heads, pos = r->pos[row], seq = r->seq[row];
        float *x = qkv + ((size_t)row * (size_t)heads + (size_t)h) * (size_t)hd;
        if (h < H + KV) {
            if (head_norms) t->k->rms_norm(x, x, h < H ? a->q_norm : a->k_norm, hd, hp->norm_eps);
            if (rope != TL_ROPE_ABSENT) t->k->rope(x, tl_rope_row(r, rope, row, hp->n_rot), hp->n_rot, hp->rope_kind);
        }
        if (h < H) t->k->scale(x, hp->attn_scale, hd);
        else if (h < H + KV) tl_kv_put_k(r->kv, b->slot, seq, h - H, pos, x);
        else tl_kv_put_v(r->kv, b->slot, seq, h - H - KV, pos, x);
    }
}

static void in(tl_run *r, tl_worker *t, const tl_block *b) {
    const tl_hparams *hp = &r->m->hp;
    const attention *a = b->w;
    widths w = widths_of(r->m, b);
    scratch s = scratch_of(r, &w);
    size_t width = (size_t)w.all;
    const tl_weight *ws[] = {&a->q, &a->k, &a->v};
    tl_acts x = tl_block_prepare(r, t, r->x, w.d, &b->norm, ws, 3);
    tl_product p[] = {{&a->q, a->q_bias, s.qkv, width, 0},
                      {&a->k, a->k_bias, s.qkv + w.q, width, 0},
                      {&a->v, a->v_bias, s.qkv + w.q + w.kv, width, 0}};
    tl_matmul(t, &x, p, 3);
    tl_pool_barrier(t->pool);
    tl_mark(r, t, TL_OP_QKV);
    if (r->m->arch->qk_norm == TL_QK_NORM_ROW) norm_rows(r, t, a, &w, s.qkv);
    finish_heads(r, t, b, &w, s.qkv);
    tl_pool_barrier(t->pool);
    tl_mark(r, t, TL_OP_ROPE_KV);
    tl_attention at = {.kv = r->kv, .slot = b->slot, .n_heads = w.heads, .window = hp->layers[b->layer].window,
                       .softcap = hp->attn_softcap, .sinks = a->sinks, .spans = r->spans, .n_spans = r->n_spans, .q = s.qkv,
                       .q_stride = width, .out = s.att, .out_stride = (size_t)w.q, .partial = s.partial};
    tl_attention_run(t, &at);
    tl_pool_barrier(t->pool);
    tl_mark(r, t, TL_OP_ATTENTION);
}

static void out(tl_run *r, tl_worker *t, const tl_block *b) {
    const attention *a = b->w;
    widths w = widths_of(r->m, b);
    const tl_weight *ws[] = {&a->o};
    tl_acts x = tl_block_prepare(r, t, scratch_of(r, &w).att, w.q, NULL, ws, 1);
    tl_block_add(r, t, b, TL_OP_ATTN_OUT, &x, &a->o, a->o_bias);
}

/* Keys and values are read once per sequence, and only those inside the window. */
static void cost(const struct tl_model *m, const tl_block *b, double kv_bytes, const tl_pass *p, tl_cost *c) {
    widths w = widths_of(m, b);
    int window = m->hp.layers[b->layer].window, last = p->pos + p->n, first = 0;
    double seen = 0;
    for (int pos = p->pos; pos < last; pos++) seen += window && window <= pos ? window : pos + 1;
    if (window && window <= p->pos) first = p->pos + 1 - window;
    c[TL_OP_ROPE_KV].bytes += (double)p->n_seq * p->n * kv_bytes;
    c[TL_OP_ATTENTION].macs += p->n_seq * seen * 2 * w.q;
    c[TL_OP_ATTENTION].bytes += (double)p->n_seq * (last - first) * kv_bytes;
}

extern const tl_block_kind tl_block_attention;
const tl_block_kind tl_block_attention = {
    .name = "attention", .bytes = bytes, .tensors = tensors, .needs = needs, .cached = cached, .in = in, .out = out, .cost = cost};
