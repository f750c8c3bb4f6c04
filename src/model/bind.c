/* SPDX-License-Identifier: MIT
 *
 * Tensors found by name, checked for shape and type. What is missing or wrong becomes a fault and binding goes on, so
 * that a user sees the whole list. */
#include "model/model.h"

#include <stdio.h>
#include <string.h>

typedef struct binder {
    struct tl_model *m;
    tl_faults *f;
    int exact;
    uint8_t *used;            /* [n_tensors] */
} binder;

static const tl_gguf_tensor *find(binder *b, const char *name, int required) {
    const tl_gguf_tensor *t = tl_gguf_tensor_find(b->m->gguf, name);
    if (t) b->used[t - b->m->gguf->tensors] = 1;
    else if (required) tl_fault(b->f, "tensor %s is missing", name);
    return t;
}

static int computable(binder *b, const tl_gguf_tensor *t, const char *name) {
    const tl_type_info *info = tl_type_info_get((uint32_t)t->type);
    if (info->kind == TL_KIND_FLOAT || info->kind == TL_KIND_QUANT) return 1;
    tl_unsupported(b->f, "tensor %s has type %s, which cannot be computed yet", name, info->name);
    return 0;
}

static void shape_fault(binder *b, const tl_gguf_tensor *t, const char *name, int rows, int cols) {
    tl_fault(b->f, "tensor %s is [%lld, %lld], expected [%d, %d]", name, (long long)t->dims[0], (long long)t->dims[1], cols, rows);
}

/* rows vectors of n values as f32, or NULL. */
static const float *vectors(binder *b, int rows, int n, int required, const char *name) {
    const tl_gguf_tensor *t = find(b, name, required);
    if (!t || !computable(b, t, name)) return NULL;
    if (t->dims[0] != n || t->dims[1] != rows || t->dims[2] != 1 || t->dims[3] != 1) { shape_fault(b, t, name, rows, n); return NULL; }
    struct tl_model *m = b->m;
    size_t all = (size_t)rows * (size_t)n;
    if (m->norms_cap - m->norms_n < all) return NULL; /* cannot happen: norms_cap counts all such tensors */
    float *v = m->norms + m->norms_n;
    m->norms_n += all;
    tl_dequantize(t->type, t->data, v, (int64_t)all);
    return v;
}

static const float *vector(binder *b, int n, int required, const char *name) { return vectors(b, 1, n, required, name); }

static const float *part(const float *v, int row, int n) { return v ? v + (size_t)row * (size_t)n : NULL; }

/* The tensor, if it holds n matrices of that shape and can be computed. */
static const tl_gguf_tensor *matrices(binder *b, int n, int rows, int cols, int required, const char *name) {
    const tl_gguf_tensor *t = find(b, name, required);
    if (!t || !computable(b, t, name)) return NULL;
    if (t->dims[0] == cols && t->dims[1] == rows && t->dims[2] == n && t->dims[3] == 1) return t;
    if (n == 1) shape_fault(b, t, name, rows, cols);
    else tl_fault(b->f, "tensor %s is [%lld, %lld, %lld], expected [%d, %d, %d]", name, (long long)t->dims[0],
                  (long long)t->dims[1], (long long)t->dims[2], cols, rows, n);
    return NULL;
}

static const tl_gguf_tensor *matrix_tensor(binder *b, int rows, int cols, int required, const char *name) {
    return matrices(b, 1, rows, cols, required, name);
}

/* n of its rows from one on; t may be NULL. Several matrices that a file holds as one tensor are ranges of its rows. */
static tl_weight rows_of(binder *b, const tl_gguf_tensor *t, int row, int n) {
    struct tl_model *m = b->m;
    if (!t) return (tl_weight){0};
    size_t row_bytes = t->bytes / (size_t)(t->dims[1] * t->dims[2]);
    const uint8_t *raw = t->data + (size_t)row * row_bytes;
    tl_weight w = {.gemm = b->exact ? &m->k.exact[t->type] : &m->k.gemm[t->type], .w = raw, .type = t->type, .rows = n,
                   .cols = (int)t->dims[0], .raw = raw, .row_bytes = row_bytes};
    m->forms |= 1u << w.gemm->act;
    if (w.cols > m->max_cols) m->max_cols = w.cols;
    return w;
}

static tl_weight matrix(binder *b, int rows, int cols, int required, const char *name) {
    return rows_of(b, matrix_tensor(b, rows, cols, required, name), 0, rows);
}

/* Weight and, of a layer norm, bias. name: without ".weight". */
static tl_norm norm(binder *b, int n, const char *name) {
    const tl_arch *arch = b->m->arch;
    char full[80];
    tl_norm v = {.eps = b->m->hp.norm_eps, .centred = arch->layer_norm};
    snprintf(full, sizeof full, "%s.weight", name);
    v.w = vector(b, n, 1, full);
    snprintf(full, sizeof full, "%s.bias", name);
    if (arch->layer_norm) v.b = vector(b, n, 1, full);
    return v;
}

static int is_nth(int layer, int period) { return period && (layer + 1) % period == 0; }

static void choose_layer_kind(const tl_hparams *hp, int i, tl_layer *l) {
    int windowed = hp->window_layers ? tl_gguf_int_at(hp->window_layers, (uint64_t)i) != 0 : !is_nth(i, hp->window_period);
    l->window = windowed ? hp->window : 0;
    l->rope = is_nth(i, hp->rope_period) ? TL_ROPE_ABSENT : l->window ? TL_ROPE_LOCAL : TL_ROPE_GLOBAL;
}

#define NAME(suffix) (snprintf(name, sizeof name, "blk.%d." suffix, i), name)

/* q, k and v: three tensors, or one that holds their rows in this order. */
static void bind_qkv(binder *b, int i, tl_layer *l, int q, int kv) {
    int d = b->m->hp.n_embd, biased = b->m->arch->bias != 0;
    char name[64];
    if (tl_gguf_tensor_find(b->m->gguf, NAME("attn_qkv.weight"))) {
        const tl_gguf_tensor *t = matrix_tensor(b, q + 2 * kv, d, 1, name);
        const float *bias = vector(b, q + 2 * kv, biased, NAME("attn_qkv.bias"));
        l->q = rows_of(b, t, 0, q);
        l->k = rows_of(b, t, q, kv);
        l->v = rows_of(b, t, q + kv, kv);
        if (bias) l->q_bias = bias, l->k_bias = bias + q, l->v_bias = bias + q + kv;
        return;
    }
    l->q = matrix(b, q, d, 1, NAME("attn_q.weight"));
    l->k = matrix(b, kv, d, 1, NAME("attn_k.weight"));
    l->v = matrix(b, kv, d, 1, NAME("attn_v.weight"));
    l->q_bias = vector(b, q, biased, NAME("attn_q.bias"));
    l->k_bias = vector(b, kv, biased, NAME("attn_k.bias"));
    l->v_bias = vector(b, kv, biased, NAME("attn_v.bias"));
}

/* Gate and up: two tensors, or twice the rows in ffn_up, the gate's first. */
static void bind_ffn(binder *b, int i, tl_layer *l) {
    const tl_hparams *hp = &b->m->hp;
    int d = hp->n_embd, ff = hp->n_ff, gated = TL_FFN_HAS_GATE(b->m->arch->ffn), biased = b->m->arch->bias == TL_BIAS_ALL;
    char name[64];
    const tl_gguf_tensor *up = tl_gguf_tensor_find(b->m->gguf, NAME("ffn_up.weight"));
    if (gated && up && up->dims[1] == 2 * ff && !tl_gguf_tensor_find(b->m->gguf, NAME("ffn_gate.weight"))) {
        up = matrix_tensor(b, 2 * ff, d, 1, NAME("ffn_up.weight"));
        l->gate = rows_of(b, up, 0, ff);
        l->up = rows_of(b, up, ff, ff);
    } else {
        if (gated) l->gate = matrix(b, ff, d, 1, NAME("ffn_gate.weight"));
        if (gated) l->gate_bias = vector(b, ff, 0, NAME("ffn_gate.bias"));
        l->up = matrix(b, ff, d, 1, NAME("ffn_up.weight"));
        l->up_bias = vector(b, ff, biased, NAME("ffn_up.bias"));
    }
    l->down = matrix(b, d, ff, 1, NAME("ffn_down.weight"));
    l->down_bias = vector(b, d, biased, NAME("ffn_down.bias"));
}

/* The experts of a layer, each a range of rows of three tensors; behind them the shared one. */
static void bind_experts(binder *b, int i, tl_layer *l) {
    const tl_hparams *hp = &b->m->hp;
    int d = hp->n_embd, ff = hp->n_ff_expert, n = hp->n_experts, biased = b->m->arch->bias == TL_BIAS_ALL;
    char name[64];
    l->experts = b->m->experts + (size_t)i * (size_t)tl_n_experts(hp);
    l->router = matrix(b, n, d, 1, NAME("ffn_gate_inp.weight"));
    const tl_gguf_tensor *gate = matrices(b, n, ff, d, 1, NAME("ffn_gate_exps.weight"));
    const tl_gguf_tensor *up = matrices(b, n, ff, d, 1, NAME("ffn_up_exps.weight"));
    const tl_gguf_tensor *down = matrices(b, n, d, ff, 1, NAME("ffn_down_exps.weight"));
    const float *gate_bias = vectors(b, n, ff, biased, NAME("ffn_gate_exps.bias"));
    const float *up_bias = vectors(b, n, ff, biased, NAME("ffn_up_exps.bias"));
    const float *down_bias = vectors(b, n, d, biased, NAME("ffn_down_exps.bias"));
    l->router_bias = vector(b, n, biased, NAME("ffn_gate_inp.bias"));
    for (int e = 0; e < n; e++)
        l->experts[e] = (tl_expert){rows_of(b, gate, e * ff, ff), rows_of(b, up, e * ff, ff), rows_of(b, down, e * d, d),
                                    part(gate_bias, e, ff), part(up_bias, e, ff), part(down_bias, e, d)};
    if (!(ff = hp->n_ff_shared)) return;
    l->experts[n].gate = matrix(b, ff, d, 1, NAME("ffn_gate_shexp.weight"));
    l->experts[n].up = matrix(b, ff, d, 1, NAME("ffn_up_shexp.weight"));
    l->experts[n].down = matrix(b, d, ff, 1, NAME("ffn_down_shexp.weight"));
    l->shared_router = rows_of(b, matrix_tensor(b, 1, d, 0, NAME("ffn_gate_inp_shexp.weight")), 0, 1);
}

static void bind_layer(binder *b, int i) {
    const tl_hparams *hp = &b->m->hp;
    const tl_arch *arch = b->m->arch;
    tl_layer *l = &b->m->layers[i];
    int d = hp->n_embd, q = hp->n_heads * hp->head_dim, kv = hp->n_kv_heads * hp->head_dim, hd = hp->head_dim;
    char name[64];
    if (!arch->no_pre_norms) {
        l->attn_norm = norm(b, d, NAME("attn_norm"));
        /* Halves that read the same may share their norm. */
        int shared = hp->parallel && !tl_gguf_tensor_find(b->m->gguf, NAME("ffn_norm.weight"));
        snprintf(name, sizeof name, "blk.%d.%s", i, arch->ffn_norm ? arch->ffn_norm : "ffn_norm");
        l->ffn_norm = shared ? l->attn_norm : norm(b, d, name);
    }
    bind_qkv(b, i, l, q, kv);
    if (arch->sinks) l->sinks = vector(b, hp->n_heads, 1, NAME("attn_sinks.weight"));
    l->o = matrix(b, d, q, 1, NAME("attn_output.weight"));
    l->o_bias = vector(b, d, arch->bias == TL_BIAS_ALL, NAME("attn_output.bias"));
    if (arch->qk_norm) {
        int rows = arch->qk_norm == TL_QK_NORM_ROW;
        l->q_norm = vector(b, rows ? q : hd, 1, NAME("attn_q_norm.weight"));
        l->k_norm = vector(b, rows ? kv : hd, 1, NAME("attn_k_norm.weight"));
    }
    if (arch->post_norms) {
        l->attn_post_norm = norm(b, d, NAME("post_attention_norm"));
        l->ffn_post_norm = norm(b, d, NAME("post_ffw_norm"));
    }
    if (hp->n_experts && tl_gguf_tensor_find(b->m->gguf, NAME("ffn_gate_inp.weight"))) bind_experts(b, i, l);
    else bind_ffn(b, i, l);
    choose_layer_kind(hp, i, l);
}
#undef NAME

void tl_each_weight(const struct tl_model *m, const tl_layer *l, tl_weight_fn *fn, void *arg) {
    const tl_hparams *hp = &m->hp;
    tl_layer *x = &m->layers[l - m->layers];
    tl_weight *w[] = {&x->q, &x->k, &x->v, &x->o, &x->gate, &x->up, &x->down, &x->router, &x->shared_router};
    for (size_t i = 0; i < sizeof w / sizeof *w; i++)
        if (w[i]->gemm) fn(arg, w[i], 1);
    for (int e = 0; x->experts && e < tl_n_experts(hp); e++) {
        double fraction = e < hp->n_experts ? (double)hp->n_experts_used / hp->n_experts : 1;
        fn(arg, &x->experts[e].gate, fraction);
        fn(arg, &x->experts[e].up, fraction);
        fn(arg, &x->experts[e].down, fraction);
    }
}

static void add_bytes(void *arg, tl_weight *w, double fraction) { *(double *)arg += fraction * (double)w->row_bytes * w->rows; }

static void count(struct tl_model *m) {
    for (uint64_t i = 0; i < m->gguf->n_tensors; i++) {
        const int64_t *d = m->gguf->tensors[i].dims;
        m->n_params += d[0] * d[1] * d[2] * d[3];
    }
    double n = (double)m->embd.row_bytes + (double)m->norms_n * 4;
    add_bytes(&n, &m->head, 1);
    for (int i = 0; i < m->hp.n_layers; i++) tl_each_weight(m, &m->layers[i], add_bytes, &n);
    m->bytes_per_token = (int64_t)n;
}

/* Vocabulary size: rows of the embedding, which must cover the tokenizer's pieces. */
static void bind_embedding(binder *b) {
    struct tl_model *m = b->m;
    tl_hparams *hp = &m->hp;
    const tl_gguf_tensor *t = find(b, "token_embd.weight", 1);
    if (!t) return;
    uint32_t n_pieces = tl_tokenizer_n(m->tok);
    if (t->dims[1] < 1 || t->dims[1] > 1 << 22 || (uint64_t)t->dims[1] < n_pieces) {
        tl_fault(b->f, "tensor token_embd.weight has %lld rows for %u tokens", (long long)t->dims[1], n_pieces);
        return;
    }
    hp->n_vocab = (int)t->dims[1];
    m->embd = matrix(b, hp->n_vocab, hp->n_embd, 1, "token_embd.weight");
    m->head = matrix(b, hp->n_vocab, hp->n_embd, 0, "output.weight");
    if (!m->head.gemm) m->head = m->embd; /* tied */
    m->head_bias = vector(b, hp->n_vocab, 0, "output.bias");
}

/* Divisors of angles, or NULL. */
static const float *rope_factors(binder *b, const char *name, int required) {
    int n = b->m->hp.n_rot / 2;
    const float *v = vector(b, n, required, name);
    for (int i = 0; v && i < n; i++)
        if (!(v[i] > 0)) {
            tl_fault(b->f, "tensor %s holds values that are not above 0", name);
            return NULL;
        }
    return v;
}

/* rope_freqs: "llama3" scaling. rope_factors_*: "longrope", short ones up to the original context, long ones beyond. */
static void bind_rope(binder *b) {
    tl_hparams *hp = &b->m->hp;
    const tl_gguf *g = b->m->gguf;
    int longrope = tl_gguf_tensor_find(g, "rope_factors_long.weight") || tl_gguf_tensor_find(g, "rope_factors_short.weight");
    const float *short_factor = rope_factors(b, longrope ? "rope_factors_short.weight" : "rope_freqs.weight", longrope);
    const float *long_factor = longrope ? rope_factors(b, "rope_factors_long.weight", 1) : NULL;
    if (longrope && !hp->rope[TL_ROPE_GLOBAL].n_ctx_orig)
        tl_fault(b->f, "%s.rope.scaling.original_context_length is missing", b->m->arch->name);
    for (int r = 0; r < TL_N_ROPES; r++)
        if (hp->rope[r].stretched) hp->rope[r].factor = short_factor, hp->rope[r].long_factor = long_factor;
}

/* A factor on logits becomes one on what they are products of. */
static void bind_output_norm(binder *b) {
    const tl_hparams *hp = &b->m->hp;
    float *at = b->m->norms + b->m->norms_n;
    b->m->output_norm = norm(b, hp->n_embd, "output_norm");
    for (int i = 0; b->m->output_norm.w == at && i < hp->n_embd; i++) at[i] *= hp->logit_scale;
}

/* The table of positions, as f32: rows of it are added, not multiplied. */
static int bind_positions(binder *b, tl_error *err) {
    struct tl_model *m = b->m;
    if (!m->arch->positions) return TL_OK;
    const tl_gguf_tensor *t = find(b, "position_embd.weight", 1);
    if (!t || !computable(b, t, "position_embd.weight")) return TL_OK;
    int64_t rows = t->dims[1] < 1 << 24 ? t->dims[1] : 0;
    if (!rows || t->dims[0] != m->hp.n_embd || t->dims[2] != 1 || t->dims[3] != 1) {
        tl_fault(b->f, "tensor position_embd.weight is [%lld, %lld], expected [%d, positions]", (long long)t->dims[0],
                 (long long)t->dims[1], m->hp.n_embd);
        return TL_OK;
    }
    size_t n = (size_t)rows * (size_t)m->hp.n_embd;
    m->positions = tl_alloc_n(n, sizeof *m->positions, "positions", err);
    if (!m->positions) return TL_E_MEMORY;
    tl_dequantize(t->type, t->data, m->positions, (int64_t)n);
    m->hp.n_positions = (int)rows;
    return TL_OK;
}

/* A tensor nobody asked for is part of a model we do not understand: its text would be subtly wrong. */
static void refuse_unused(binder *b) {
    const tl_gguf *g = b->m->gguf;
    for (uint64_t i = 0; i < g->n_tensors; i++) {
        tl_slice name = g->tensors[i].name;
        if (!b->used[i])
            tl_unsupported(b->f, "tensor %.*s is not part of architecture %s as known here",
                           (int)(name.n < 64 ? name.n : 64), name.p, b->m->arch->name);
    }
}

/* Of experts: a row for each. */
static int is_bias(const tl_gguf_tensor *t) {
    return t->name.n > 5 && memcmp(t->name.p + t->name.n - 5, ".bias", 5) == 0 && t->dims[2] * t->dims[3] == 1;
}

int tl_bind(struct tl_model *m, int exact, tl_faults *f, tl_error *err) {
    binder b = {.m = m, .f = f, .exact = exact};
    for (uint64_t i = 0; i < m->gguf->n_tensors; i++) {
        const tl_gguf_tensor *t = &m->gguf->tensors[i];
        if (t->dims[1] * t->dims[2] * t->dims[3] == 1 || is_bias(t)) m->norms_cap += (size_t)(t->dims[0] * t->dims[1]);
    }
    m->norms = tl_alloc_n(m->norms_cap + 1, sizeof *m->norms, "norms", err);
    m->layers = tl_alloc_n((size_t)m->hp.n_layers, sizeof *m->layers, "layers", err);
    m->experts = tl_alloc_n((size_t)m->hp.n_layers * (size_t)tl_n_experts(&m->hp) + 1, sizeof *m->experts, "experts", err);
    b.used = tl_alloc_n(m->gguf->n_tensors + 1, 1, "tensors", err);
    if (!m->norms || !m->layers || !m->experts || !b.used) { tl_free(b.used); return TL_E_MEMORY; }
    bind_embedding(&b);
    bind_output_norm(&b);
    bind_rope(&b);
    int rc = bind_positions(&b, err);
    for (int i = 0; i < m->hp.n_layers && f->n < 100; i++) bind_layer(&b, i);
    if (!f->n) refuse_unused(&b);
    if (!f->n) count(m);
    tl_free(b.used);
    return rc;
}
