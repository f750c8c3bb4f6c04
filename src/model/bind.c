/* SPDX-License-Identifier: MIT
 *
 * Tensors found by name, checked for shape and type, as the blocks' list (block.h) names them. What is missing or wrong
 * becomes a fault and binding goes on, so that a user sees the whole list. */
#include "model/model.h"

#include <stdio.h>
#include <string.h>

typedef struct binder {
    struct tl_model *m;
    tl_faults *f;
    int exact;
    uint8_t *used;            /* [n_tensors] */
} binder;

static const tl_gguf_tensor *find(binder *b, const char *name) {
    const tl_gguf_tensor *t = tl_gguf_tensor_find(b->m->gguf, name);
    if (t) b->used[t - b->m->gguf->tensors] = 1;
    return t;
}

static int computable(binder *b, const tl_gguf_tensor *t, const char *name) {
    const tl_type_info *info = tl_type_info_get((uint32_t)t->type);
    if (info->kind == TL_KIND_FLOAT || info->kind == TL_KIND_QUANT) return 1;
    tl_unsupported(b->f, "tensor %s has type %s, which cannot be computed yet", name, info->name);
    return 0;
}

/* Whether t is n times [rows][cols]; rows 0: n vectors. */
static int has_shape(binder *b, const tl_gguf_tensor *t, const char *name, int n, int rows, int cols) {
    const int64_t *d = t->dims;
    if (!rows) rows = n, n = 1;
    if (d[0] == cols && d[1] == rows && d[2] == n && d[3] == 1) return 1;
    if (n == 1 && d[2] == 1)
        tl_fault(b->f, "tensor %s is [%lld, %lld], expected [%d, %d]", name, (long long)d[0], (long long)d[1], cols, rows);
    else
        tl_fault(b->f, "tensor %s is [%lld, %lld, %lld], expected [%d, %d, %d]", name, (long long)d[0], (long long)d[1],
                 (long long)d[2], cols, rows, n);
    return 0;
}

/* Rows of a tensor from one on. */
static tl_weight rows_of(binder *b, const tl_gguf_tensor *t, int row, int n) {
    struct tl_model *m = b->m;
    size_t row_bytes = t->bytes / (size_t)(t->dims[1] * t->dims[2]);
    const uint8_t *raw = t->data + (size_t)row * row_bytes;
    tl_weight w = {.gemm = b->exact ? &m->k.exact[t->type] : &m->k.gemm[t->type], .w = raw, .type = t->type, .rows = n,
                   .cols = (int)t->dims[0], .raw = raw, .row_bytes = row_bytes};
    m->forms |= 1u << w.gemm->act;
    if (w.cols > m->max_cols) m->max_cols = w.cols;
    return w;
}

/* n values as f32, from one of the tensor's on. NULL with a fault if they cannot be read. */
static const float *values_of(binder *b, const tl_gguf_tensor *t, const char *name, int at, size_t n) {
    struct tl_model *m = b->m;
    size_t all = (size_t)(t->dims[0] * t->dims[1]);
    float *v = m->values + m->values_n;
    void *raw = m->values_cap - m->values_n < all ? NULL : tl_alloc_n(t->bytes, 1, name, NULL);
    if (!raw || tl_gguf_copy(m->gguf, t->data, t->bytes, raw)) {
        if (raw) tl_fault(b->f, "tensor %s cannot be read: the file was cut", name);
        else b->f->no_memory = 1;
        tl_free(raw);
        return NULL;
    }
    tl_dequantize(t->type, raw, v, (int64_t)all);   /* whole: blocks of some types do not begin at `at` */
    tl_free(raw);
    if (at) memmove(v, v + at, n * sizeof *v);
    m->values_n += n;
    return v;
}

/* The tensor that holds t and others, if the file has it so. */
static const tl_gguf_tensor *find_fused(binder *b, const tl_tensor *t) {
    const tl_gguf_tensor *g = t->fused ? tl_gguf_tensor_find(b->m->gguf, t->fused) : NULL;
    if (!g) return NULL;
    if (!t->fused_only && g->dims[1] != t->fused_all) return NULL;   /* a part alone */
    return find(b, t->fused);
}

static void bind_tensor(void *user, const tl_tensor *t) {
    binder *b = user;
    const tl_gguf_tensor *g = find_fused(b, t);
    const char *name = g ? t->fused : t->name;
    int at = g ? t->fused_at : 0;
    if (b->f->n >= 100) return;
    if (g) {
        if (!computable(b, g, name)) return;
        int64_t all = t->rows ? g->dims[1] : g->dims[0];
        if (t->fused_at && all != t->fused_all) return;   /* its first part has said so */
        if (!has_shape(b, g, name, 1, t->rows ? t->fused_all : 0, t->rows ? t->cols : t->fused_all)) return;
    } else {
        if (!(g = find(b, name))) {
            int whole = t->fuse && t->fused_only;
            const char *wanted = whole ? t->fused : name;
            if (t->need == TL_REQUIRED && !(whole && t->fused_at)) tl_fault(b->f, "tensor %s is missing", wanted);
            return;
        }
        if (!computable(b, g, name) || !has_shape(b, g, name, t->n, t->rows, t->cols)) return;
    }
    if (!t->rows) {
        *(const float **)t->slot = values_of(b, g, name, at, (size_t)t->n * (size_t)t->cols);
        return;
    }
    for (int i = 0; i < t->n; i++)
        *(tl_weight *)((char *)t->slot + (size_t)i * t->stride) = rows_of(b, g, at + i * t->rows, t->rows);
}

/* Floats that the vectors of the list take at most; fused ones are decoded whole. */
static void count_values(void *user, const tl_tensor *t) {
    struct tl_model *m = user;
    const char *names[] = {t->name, t->fused};
    for (int i = 0; !t->rows && i < 2; i++) {
        const tl_gguf_tensor *g = names[i] ? tl_gguf_tensor_find(m->gguf, names[i]) : NULL;
        if (g) m->values_cap += (size_t)(g->dims[0] * g->dims[1]);
    }
}

/* Sizes that follow from tensors: the vocabulary, which must cover the tokenizer's pieces, and positions. */
static void read_sizes(binder *b) {
    struct tl_model *m = b->m;
    const tl_gguf_tensor *t = tl_gguf_tensor_find(m->gguf, "token_embd.weight");
    uint32_t n_pieces = tl_tokenizer_n(m->tok);
    if (!t) tl_fault(b->f, "tensor token_embd.weight is missing");
    else if (t->dims[1] < 1 || t->dims[1] > 1 << 22 || (uint64_t)t->dims[1] < n_pieces)
        tl_fault(b->f, "tensor token_embd.weight has %lld rows for %u tokens", (long long)t->dims[1], n_pieces);
    else {
        m->hp.n_vocab = (int)t->dims[1];
        if ((uint32_t)m->hp.n_vocab > n_pieces)
            tl_tokenizer_warn(m->tok, "the model knows %d tokens, the file has texts for %u of them", m->hp.n_vocab, n_pieces);
    }
    if (!m->arch->positions) return;
    t = tl_gguf_tensor_find(m->gguf, "position_embd.weight");
    if (!t) return;   /* binding says so */
    if (t->dims[1] >= 1 && t->dims[1] < 1 << 24 && t->dims[0] == m->hp.n_embd) m->hp.n_positions = (int)t->dims[1];
    else tl_fault(b->f, "tensor position_embd.weight is [%lld, %lld], expected [%d, positions]", (long long)t->dims[0],
                  (long long)t->dims[1], m->hp.n_embd);
}

/* Divisors of angles, or NULL. */
static const float *rope_factors(binder *b, const char *name, int required) {
    int n = b->m->hp.n_rot / 2;
    const float *v = NULL;
    if (n) bind_tensor(b, &(tl_tensor){.name = name, .n = 1, .cols = n, .need = required ? TL_REQUIRED : TL_OPTIONAL, .slot = &v});
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
    if (hp->longrope && !longrope)
        tl_fault(b->f, "%s.rope.scaling.type is longrope, but rope_factors_long.weight and rope_factors_short.weight are missing",
                 b->m->arch->name);
    if (longrope && !hp->rope[TL_ROPE_GLOBAL].n_ctx_orig)
        tl_fault(b->f, "%s.rope.scaling.original_context_length is missing", b->m->arch->name);
    for (int r = 0; r < TL_N_ROPES; r++)
        if (hp->rope[r].stretched) hp->rope[r].factor = short_factor, hp->rope[r].long_factor = long_factor;
}

/* A layer norm that is there has both its tensors. */
static void check_norms(binder *b) {
    for (int i = 0; i < b->m->n_blocks; i++) {
        const tl_block *x = &b->m->blocks[i];
        if (x->norm.centred && x->norm.w && !x->norm.b && x->with_previous)
            tl_fault(b->f, "tensor blk.%d.%s.bias is missing", x->layer, x->norm_name);
    }
}

/* What follows from weights that are bound: a factor on logits becomes one on what they are products of; a tied head;
 * halves that read the same may share their norm. */
static void complete(struct tl_model *m) {
    float *w = m->output_norm.w ? m->values + (m->output_norm.w - m->values) : NULL;
    for (int i = 0; w && i < m->hp.n_embd; i++) w[i] *= m->hp.logit_scale;
    if (!m->head.gemm) m->head = m->embd;
    for (int i = 1; i < m->n_blocks; i++)
        if (m->blocks[i].with_previous && m->blocks[i].norm_name && !m->blocks[i].norm.w) m->blocks[i].norm = m->blocks[i - 1].norm;
}

static void add_bytes(void *arg, tl_weight *w, const tl_tensor *t) { *(double *)arg += t->used * (double)w->row_bytes * w->rows; }

static void count(struct tl_model *m) {
    for (uint64_t i = 0; i < m->gguf->n_tensors; i++) {
        const int64_t *d = m->gguf->tensors[i].dims;
        m->n_params += d[0] * d[1] * d[2] * d[3];
    }
    double n = (double)m->embd.row_bytes + (double)m->values_n * 4;
    tl_each_weight(m, add_bytes, &n);
    m->bytes_per_token = (int64_t)n;
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

int tl_bind(struct tl_model *m, int exact, tl_faults *f, tl_error *err) {
    binder b = {.m = m, .f = f, .exact = exact};
    m->output_norm = (tl_norm){.eps = m->hp.norm_eps, .centred = m->arch->layer_norm};
    read_sizes(&b);
    if (f->n) return TL_OK;
    int rc = tl_blocks_build(m, err);
    if (rc) return rc;
    m->values_cap = 2 * (size_t)m->hp.n_rot;   /* factors of angles */
    tl_model_tensors(m, &(tl_visitor){count_values, m});
    m->values = tl_alloc_n(m->values_cap + 1, sizeof *m->values, "norms", err);
    b.used = tl_alloc_n(m->gguf->n_tensors + 1, 1, "tensors", err);
    if (m->values && b.used) {
        tl_model_tensors(m, &(tl_visitor){bind_tensor, &b});
        bind_rope(&b);
        check_norms(&b);
        if (!f->n && !f->no_memory) refuse_unused(&b);
        if (!f->n && !f->no_memory) complete(m), count(m);
    } else rc = TL_E_MEMORY;
    tl_free(b.used);
    return rc;
}

void tl_unbind(struct tl_model *m) {
    tl_blocks_free(m);
    tl_free(m->values);
    m->values = NULL;
}
