/* SPDX-License-Identifier: MIT
 *
 * blocks.c: the table of kinds, what kinds share, and the list of a model's blocks and of all its tensors. */
#include "model/model.h"

#include <stdio.h>
#include <string.h>

#define BLOCK(NAME, name) extern const tl_block_kind tl_block_##name;
#include "blocks.def"
#undef BLOCK

const tl_block_kind *const tl_block_kinds[TL_N_BLOCKS] = {
#define BLOCK(NAME, name) [TL_BLOCK_##NAME] = &tl_block_##name,
#include "blocks.def"
#undef BLOCK
};

/* ---- the lists ---------------------------------------------------------------------------------------------------- */

static const tl_block_kind *kind_of(const tl_block *b) { return tl_block_kinds[b->kind]; }

/* The block of a half of a layer, without weights. */
static tl_block half(const struct tl_model *m, int layer, int second) {
    const tl_arch *arch = m->arch;
    const tl_layer_hparams *l = &m->hp.layers[layer];
    tl_block b = {.kind = second ? l->ffn : l->mixer, .layer = layer, .slot = -1, .with_previous = second && m->hp.parallel};
    if (!arch->no_pre_norms) b.norm_name = second ? (arch->ffn_norm ? arch->ffn_norm : "ffn_norm") : "attn_norm";
    b.norm = b.post_norm = (tl_norm){.eps = m->hp.norm_eps, .centred = arch->layer_norm};
    if (arch->post_norms) b.post_norm_name = second ? "post_ffw_norm" : "post_attention_norm";
    return b;
}

int tl_blocks_build(struct tl_model *m, tl_error *err) {
    int n = 2 * m->hp.n_layers;
    m->blocks = tl_alloc_n((size_t)n, sizeof *m->blocks, "blocks", err);
    if (!m->blocks) return TL_E_MEMORY;
    for (int i = 0; i < n; i++) {
        tl_block *b = &m->blocks[m->n_blocks++];
        *b = half(m, i / 2, i % 2);
        if (kind_of(b)->cached) b->slot = m->n_slots++;
        if (!(b->w = tl_alloc_n(1, kind_of(b)->bytes(m, b), "blocks", err))) return TL_E_MEMORY;
    }
    return TL_OK;
}

void tl_blocks_free(struct tl_model *m) {
    for (int i = 0; i < m->n_blocks; i++) tl_free(m->blocks[i].w);
    tl_free(m->blocks);
    m->blocks = NULL;
    m->n_blocks = m->n_slots = 0;
}

size_t tl_block_kv_bytes(const struct tl_model *m, const tl_block *b, const tl_kv_ops *kv) {
    if (!kind_of(b)->cached) return 0;
    tl_kv_dims d = kind_of(b)->cached(m, b);
    int64_t values = tl_kv_head_dim(kv->elems, d.k) + tl_kv_head_dim(kv->elems, d.v);
    return (size_t)d.heads * (size_t)(values / kv->elems) * (size_t)kv->bytes;
}

void tl_visit(const tl_visitor *v, int layer, const tl_tensor *t) {
    char name[80], fused[80];
    tl_tensor full = *t;
    if (layer < 0) snprintf(name, sizeof name, "%s", t->name);
    else snprintf(name, sizeof name, "blk.%d.%s", layer, t->name);
    if (t->fused) snprintf(fused, sizeof fused, "blk.%d.%s", layer, t->fused);
    full.name = name;
    full.fused = t->fused ? fused : NULL;
    if (!full.n) full.n = 1;
    if (full.used <= 0) full.used = 1;
    v->visit(v->user, &full);
}

void tl_visit_norm(const tl_visitor *v, const struct tl_model *m, int layer, const char *name, int n, tl_need need, tl_norm *norm) {
    char full[80];
    if (!name) return;
    snprintf(full, sizeof full, "%s.weight", name);
    tl_visit(v, layer, &(tl_tensor){.name = full, .cols = n, .need = need, .mean = 1, .slot = &norm->w});
    snprintf(full, sizeof full, "%s.bias", name);
    if (m->arch->layer_norm) tl_visit(v, layer, &(tl_tensor){.name = full, .cols = n, .need = need, .slot = &norm->b});
}

void tl_block_tensors(const struct tl_model *m, tl_block *b, const tl_visitor *v) {
    int d = m->hp.n_embd;
    tl_need need = !b->with_previous ? TL_REQUIRED : m->arch->usual & TL_USUAL_ONE_NORM ? TL_OPTIONAL : TL_USUAL;
    tl_visit_norm(v, m, b->layer, b->norm_name, d, need, &b->norm);
    kind_of(b)->tensors(m, b, v);
    tl_visit_norm(v, m, b->layer, b->post_norm_name, d, TL_REQUIRED, &b->post_norm);
}

void tl_model_tensors(struct tl_model *m, const tl_visitor *v) {
    const tl_hparams *hp = &m->hp;
    unsigned usual = m->arch->usual;
    int d = hp->n_embd;
    tl_visit(v, -1, &(tl_tensor){.name = "token_embd.weight", .rows = hp->n_vocab, .cols = d, .op = TL_OP_EMBED,
                                 .role = usual & TL_USUAL_TIED ? TL_ROLE_HEAD : TL_ROLE_EMBD, .slot = &m->embd});
    if (m->arch->positions)
        tl_visit(v, -1, &(tl_tensor){.name = "position_embd.weight", .n = hp->n_positions, .cols = d, .slot = &m->positions});
    for (int i = 0; i < m->n_blocks; i++) tl_block_tensors(m, &m->blocks[i], v);
    tl_visit_norm(v, m, -1, "output_norm", d, TL_REQUIRED, &m->output_norm);
    tl_visit(v, -1, &(tl_tensor){.name = "output.weight", .rows = hp->n_vocab, .cols = d, .op = TL_OP_HEAD, .role = TL_ROLE_HEAD,
                                 .need = usual & TL_USUAL_TIED ? TL_OPTIONAL : TL_USUAL, .slot = &m->head});
    tl_visit(v, -1, &(tl_tensor){.name = "output.bias", .cols = hp->n_vocab, .slot = &m->head_bias,
                                 .need = usual & TL_USUAL_HEAD_BIAS ? TL_USUAL : TL_OPTIONAL});
}

int tl_tensor_written(const tl_tensor *t, tl_tensor *out) {
    *out = *t;
    if (t->need == TL_OPTIONAL || (t->fuse && t->fused_at)) return 0;
    if (!t->fuse) return 1;
    out->name = t->fused;
    *(t->rows ? &out->rows : &out->cols) = t->fused_all;
    return 1;
}

typedef struct each { tl_weight_fn *fn; void *arg; } each;

static void each_matrix(void *user, const tl_tensor *t) {
    const each *e = user;
    for (int i = 0; t->rows && t->op != TL_OP_EMBED && i < t->n; i++) {
        tl_weight *w = (tl_weight *)((char *)t->slot + (size_t)i * t->stride);
        if (w->gemm) e->fn(e->arg, w, t);
    }
}

/* The list names slots; nothing is written to them. */
void tl_each_weight(const struct tl_model *m, tl_weight_fn *fn, void *arg) {
    each e = {fn, arg};
    tl_model_tensors((struct tl_model *)m, &(tl_visitor){each_matrix, &e});
}

/* ---- what kinds share ----------------------------------------------------------------------------------------------- */

tl_acts tl_block_prepare(tl_run *r, tl_worker *t, const float *src, int k, const tl_norm *norm, const tl_weight *const *w, int n_w) {
    tl_prepare p = {.src = src, .stride = (size_t)k, .n = r->n, .k = k, .norm = norm && norm->w ? norm : NULL,
                    .forms = tl_weight_forms(w, n_w), .shared = r->acts};
    tl_acts a = tl_acts_prepare(t, &p);
    tl_mark(r, t, TL_OP_PREPARE);
    return a;
}

void tl_block_join(tl_run *r, tl_worker *t, const tl_block *b) {
    size_t d = (size_t)r->m->hp.n_embd;
    int begin, end;
    tl_split(r->n, 1, t->thread, t->n_threads, &begin, &end);
    for (int i = begin; i < end; i++) {
        float *y = r->y + (size_t)i * d;
        if (b->post_norm.w) tl_norm_row(t->k, &b->post_norm, y, y, (int)d);
        t->k->add(r->x + (size_t)i * d, y, (int)d);
    }
    tl_pool_barrier(t->pool);
    tl_mark(r, t, TL_OP_PREPARE);
}

void tl_block_add(tl_run *r, tl_worker *t, const tl_block *b, tl_op op, const tl_acts *a, const tl_weight *w, const float *bias) {
    int normed = b->post_norm.w != NULL;
    tl_product p = {.w = w, .bias = bias, .y = normed ? r->y : r->x, .stride = (size_t)r->m->hp.n_embd, .add = !normed};
    tl_matmul(t, a, &p, 1);
    tl_pool_barrier(t->pool);
    tl_mark(r, t, op);
    if (normed) tl_block_join(r, t, b);
}
