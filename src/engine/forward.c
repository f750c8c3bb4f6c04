/* SPDX-License-Identifier: MIT
 *
 * The forward pass: one function for prefill and decode, all architectures, all types. Every thread walks all steps;
 * barriers stand only where a step reads what other threads wrote. Six per layer (two more with post-norms, one more with
 * norms over all heads; with experts, see experts.c):
 *   q,k,v products | norm, rope, cache | attention | output product | gate, up products | down product |
 * One row normalises and quantizes redundantly on each thread instead of meeting at a barrier (compute/matmul.c). */
#include "engine/session.h"

#include <math.h>

static const float *rope_row(const struct tl_session *s, int which, int row) {
    return s->w.cs + ((size_t)which * (size_t)s->n_batch + (size_t)row) * (size_t)s->m->hp.n_rot;
}

/* Embeddings and the angles' cosines and sines of this thread's rows. */
static void start_rows(struct tl_session *s, tl_worker *t) {
    const tl_hparams *hp = &s->m->hp;
    const tl_weight *w = &s->m->embd;
    int begin, end, half = hp->n_rot / 2, d = hp->n_embd;
    tl_split(s->n, 1, t->thread, t->n_threads, &begin, &end);
    for (int i = begin; i < end; i++) {
        float *x = s->w.x + (size_t)i * (size_t)d;
        tl_gguf_copy(s->m->gguf, w->raw + (size_t)s->token[i] * w->row_bytes, w->row_bytes, t->row);
        tl_dequantize(w->type, t->row, x, d);
        if (hp->embd_scale != 1) t->k->scale(x, hp->embd_scale, d);
        if (s->m->positions) t->k->add(x, s->m->positions + (size_t)s->pos[i] * (size_t)d, d);
        for (int r = 0; r < TL_N_ROPES; r++) {
            if (r == TL_ROPE_LOCAL && !hp->window) continue;
            float *cs = (float *)rope_row(s, r, i);
            const double *freq = s->inv_freq + (size_t)r * (size_t)half, magnitude = hp->rope[r].magnitude;
            for (int j = 0; j < half; j++) {
                double angle = (double)s->pos[i] * freq[j];
                cs[2 * j] = (float)(cos(angle) * magnitude);
                cs[2 * j + 1] = (float)(sin(angle) * magnitude);
            }
        }
    }
}

static tl_acts prepare(struct tl_session *s, tl_worker *t, const float *src, int k, const tl_norm *norm, const tl_weight *const *w, int n_w) {
    tl_prepare p = {.src = src, .stride = (size_t)k, .n = s->n, .k = k, .norm = norm && norm->w ? norm : NULL,
                    .forms = tl_weight_forms(w, n_w), .shared = s->w.acts};
    tl_acts a = tl_acts_prepare(t, &p);
    tl_mark(s, t, TL_OP_PREPARE);
    return a;
}

/* Norms over all heads of q, and of k, of every row. Ends with a barrier. */
static void norm_rows(struct tl_session *s, tl_worker *t, const tl_layer *l) {
    const tl_hparams *hp = &s->m->hp;
    int q = hp->n_heads * hp->head_dim, kv = hp->n_kv_heads * hp->head_dim, begin, end;
    tl_split(2 * s->n, 1, t->thread, t->n_threads, &begin, &end);
    for (int i = begin; i < end; i++) {
        float *x = s->w.qkv + (size_t)(i / 2) * (size_t)(q + 2 * kv) + (i % 2 ? q : 0);
        t->k->rms_norm(x, x, i % 2 ? l->k_norm : l->q_norm, i % 2 ? kv : q, hp->norm_eps);
    }
    tl_pool_barrier(t->pool);
}

/* Per head of every row: norm, rope; q is scaled, k and v go to the cache. Split over (row, head). */
static void finish_heads(struct tl_session *s, tl_worker *t, const tl_layer *l, int layer) {
    const tl_hparams *hp = &s->m->hp;
    int hd = hp->head_dim, H = hp->n_heads, KV = hp->n_kv_heads, heads = H + 2 * KV, begin, end;
    int head_norms = s->m->arch->qk_norm == TL_QK_NORM_HEAD;
    tl_split(s->n * heads, 1, t->thread, t->n_threads, &begin, &end);
    for (int i = begin; i < end; i++) {
        int row = i / heads, h = i % heads, pos = s->pos[row];
        float *x = s->w.qkv + ((size_t)row * (size_t)heads + (size_t)h) * (size_t)hd;
        if (h < H + KV) {
            if (head_norms) t->k->rms_norm(x, x, h < H ? l->q_norm : l->k_norm, hd, hp->norm_eps);
            if (l->rope != TL_ROPE_ABSENT) t->k->rope(x, rope_row(s, l->rope, row), hp->n_rot, hp->rope_kind);
        }
        if (h < H) t->k->scale(x, hp->attn_scale, hd);
        else if (h < H + KV) s->kv.ops->put_k(tl_kv_k(&s->kv, layer, s->seq[row], h - H, pos / TL_KV_PAGE), x, hd, pos % TL_KV_PAGE);
        else {
            uint8_t *k = tl_kv_k(&s->kv, layer, s->seq[row], h - H - KV, pos / TL_KV_PAGE);
            s->kv.ops->put_v(tl_kv_v(&s->kv, k), x, hd, pos % TL_KV_PAGE);
        }
    }
}

/* x += product, through the post-norm where the architecture has one. Ends with a barrier. */
static void add_to_residual(struct tl_session *s, tl_worker *t, tl_op op, const tl_acts *a, const tl_weight *w, const float *bias,
                            const tl_norm *post_norm) {
    size_t d = (size_t)s->m->hp.n_embd;
    tl_product p = {.w = w, .bias = bias, .y = post_norm->w ? s->w.y : s->w.x, .stride = d, .add = !post_norm->w};
    tl_matmul(t, a, &p, 1);
    tl_pool_barrier(t->pool);
    tl_mark(s, t, op);
    if (!post_norm->w) return;
    int begin, end;
    tl_split(s->n, 1, t->thread, t->n_threads, &begin, &end);
    for (int i = begin; i < end; i++) {
        float *y = s->w.y + (size_t)i * d;
        tl_norm_row(t->k, post_norm, y, y, (int)d);
        t->k->add(s->w.x + (size_t)i * d, y, (int)d);
    }
    tl_pool_barrier(t->pool);
    tl_mark(s, t, TL_OP_PREPARE);
}

/* Attention of what the residual stream holds, to w.att. Ends with a barrier, as all parts of a layer do. */
static void attend(struct tl_session *s, tl_worker *t, const tl_layer *l, int layer) {
    const tl_hparams *hp = &s->m->hp;
    int hd = hp->head_dim, q = hp->n_heads * hd, kv = hp->n_kv_heads * hd;
    size_t width = (size_t)(q + 2 * kv);
    const tl_weight *w[] = {&l->q, &l->k, &l->v};
    tl_acts a = prepare(s, t, s->w.x, hp->n_embd, &l->attn_norm, w, 3);
    tl_product p[] = {{&l->q, l->q_bias, s->w.qkv, width, 0},
                      {&l->k, l->k_bias, s->w.qkv + q, width, 0},
                      {&l->v, l->v_bias, s->w.qkv + q + kv, width, 0}};
    tl_matmul(t, &a, p, 3);
    tl_pool_barrier(t->pool);
    tl_mark(s, t, TL_OP_QKV);
    if (s->m->arch->qk_norm == TL_QK_NORM_ROW) norm_rows(s, t, l);
    finish_heads(s, t, l, layer);
    tl_pool_barrier(t->pool);
    tl_mark(s, t, TL_OP_ROPE_KV);
    tl_attention at = {.kv = &s->kv, .layer = layer, .n_heads = hp->n_heads, .head_dim = hd, .window = l->window,
                       .softcap = hp->attn_softcap, .sinks = l->sinks, .spans = s->spans, .n_spans = s->n_spans, .q = s->w.qkv,
                       .q_stride = width, .out = s->w.att, .out_stride = (size_t)q, .partial = s->w.partial};
    tl_attention_run(t, &at);
    tl_pool_barrier(t->pool);
    tl_mark(s, t, TL_OP_ATTENTION);
}

static void attention_out(struct tl_session *s, tl_worker *t, const tl_layer *l) {
    const tl_weight *w[] = {&l->o};
    tl_acts a = prepare(s, t, s->w.att, s->m->hp.n_heads * s->m->hp.head_dim, NULL, w, 1);
    add_to_residual(s, t, TL_OP_ATTN_OUT, &a, &l->o, l->o_bias, &l->attn_post_norm);
}

/* The feed-forward's inner values of what the residual stream holds, to w.ff. */
static void ffn_in(struct tl_session *s, tl_worker *t, const tl_layer *l) {
    const tl_hparams *hp = &s->m->hp;
    const tl_weight *w[] = {&l->gate, &l->up};
    tl_acts a = prepare(s, t, s->w.x, hp->n_embd, &l->ffn_norm, w, 2);
    tl_gated g = {.gate = l->gate.gemm ? &l->gate : NULL, .up = &l->up, .gate_bias = l->gate_bias, .up_bias = l->up_bias,
                  .act = tl_gate_act(s), .plain = s->m->arch->ffn == TL_FFN_GELU_ERF ? t->k->gelu_erf : t->k->gelu,
                  .y = s->w.ff, .stride = (size_t)hp->n_ff};
    tl_matmul_gated(t, &a, &g);
    tl_pool_barrier(t->pool);
    tl_mark(s, t, TL_OP_GATE_UP);
}

static void ffn_out(struct tl_session *s, tl_worker *t, const tl_layer *l) {
    const tl_weight *w[] = {&l->down};
    tl_acts a = prepare(s, t, s->w.ff, s->m->hp.n_ff, NULL, w, 1);
    add_to_residual(s, t, TL_OP_DOWN, &a, &l->down, l->down_bias, &l->ffn_post_norm);
}

/* Only the wanted rows meet the vocabulary. */
static void head(struct tl_session *s, tl_worker *t, float *logits) {
    const tl_hparams *hp = &s->m->hp;
    size_t d = (size_t)hp->n_embd, v = (size_t)hp->n_vocab;
    if (t->thread == 0)
        for (int i = 0; i < s->n_want; i++)
            for (size_t j = 0; s->want[i] != i && j < d; j++) s->w.x[(size_t)i * d + j] = s->w.x[(size_t)s->want[i] * d + j];
    tl_pool_barrier(t->pool);
    const tl_weight *w[] = {&s->m->head};
    tl_prepare prep = {.src = s->w.x, .stride = d, .n = s->n_want, .k = (int)d, .norm = &s->m->output_norm,
                       .forms = tl_weight_forms(w, 1), .shared = s->w.acts};
    tl_acts a = tl_acts_prepare(t, &prep);
    tl_matmul(t, &a, &(tl_product){.w = &s->m->head, .bias = s->m->head_bias, .y = logits, .stride = v}, 1);
    if (hp->logit_softcap <= 0) return;
    tl_pool_barrier(t->pool);
    int begin, end;
    tl_split((int)v, 16, t->thread, t->n_threads, &begin, &end);
    for (int i = 0; i < s->n_want; i++)
        for (int j = begin; j < end; j++) {
            float *y = &logits[(size_t)i * v + (size_t)j];
            *y = hp->logit_softcap * tanhf(*y / hp->logit_softcap);
        }
}

typedef struct run { struct tl_session *s; float *logits; } run;

static void forward_thread(void *arg, int thread, int n_threads) {
    run *r = arg;
    struct tl_session *s = r->s;
    tl_worker *t = &s->workers[thread];
    (void)n_threads;
    t->products = 0;
    start_rows(s, t);
    tl_pool_barrier(t->pool);
    tl_mark(s, t, TL_OP_EMBED);
    for (int i = 0; i < s->m->hp.n_layers; i++) {
        if (thread == 0 && s->progress)
            s->cancel = s->progress(s->progress_user, (s->at + (double)s->n * i / s->m->hp.n_layers) / s->total);
        const tl_layer *l = &s->m->layers[i];
        attend(s, t, l, i);
        int cancel = s->cancel;   /* written before barriers of this layer's attention, next written in the next layer */
        if (s->m->hp.parallel) ffn_in(s, t, l);   /* before anything is added to what it reads */
        attention_out(s, t, l);
        if (l->experts) tl_experts(s, t, l);
        else {
            if (!s->m->hp.parallel) ffn_in(s, t, l);
            ffn_out(s, t, l);
        }
        if (cancel) return;
    }
    if (s->n_want) head(s, t, r->logits);
}

int tl_forward(struct tl_session *s, float *logits) {
    run r = {s, logits};
    s->cancel = 0;
    for (int i = 0; i < TL_POOL_COUNTERS; i++) tl_pool_rewind(s->pool, i);
    if (s->profile) s->profile->last = tl_now();
    tl_pool_set_long_steps(s->pool, s->n >= 8);
    tl_pool_run(s->pool, forward_thread, &r);
    if (s->profile) s->profile->seconds[TL_OP_HEAD] += tl_now() - s->profile->last;
    return s->cancel ? TL_E_CANCELLED : TL_OK;
}
