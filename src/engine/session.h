/* SPDX-License-Identifier: MIT
 *
 * session.h: what a session owns. Everything is allocated when it opens (logits grow with the number of wanted rows,
 * outside the token loop); computing a batch allocates nothing. */
#ifndef TL_SESSION_H
#define TL_SESSION_H

#include "model/model.h"

/* Steps of the forward pass, as a profile counts them. */
typedef enum tl_op {
    TL_OP_EMBED,      /* embedding rows, angles */
    TL_OP_PREPARE,    /* norms and quantization of activations, residual additions of post-norms */
    TL_OP_QKV, TL_OP_ROPE_KV, TL_OP_ATTENTION, TL_OP_ATTN_OUT, TL_OP_GATE_UP, TL_OP_DOWN, TL_OP_HEAD,
    TL_N_OPS
} tl_op;
/* Wall seconds by step, as thread 0 sees them (waiting for others included). */
typedef struct tl_profile { double seconds[TL_N_OPS], last; } tl_profile;

/* Matrices of one batch, n rows each (n <= n_batch). */
typedef struct tl_work {
    float *x;                 /* [n][n_embd] residual stream */
    float *y;                 /* [n][n_embd] output of a half layer before its post-norm, sum of the experts' outputs */
    float *expert;            /* [n][n_embd] output of one expert for those rows that chose it */
    float *route;             /* [n][experts] router logits, then weights; negative: not chosen */
    float *qkv;               /* [n][qkv_width]: heads of q, of k, of v */
    float *att;               /* [n][n_heads * head_dim] */
    float *ff;                /* [n][widest feed-forward] */
    void *acts[TL_N_ACTS];    /* activations, n * max_cols in each form that some matrix wants */
    float *cs;                /* [TL_N_ROPES][n][n_rot] cos, sin of each row's position */
    float *partial;           /* of attention */
} tl_work;

struct tl_session {
    const struct tl_model *m;
    tl_kv kv;
    tl_pool *pool;
    int n_batch;
    tl_work w;
    tl_worker *workers;         /* [threads] */
    int *expert_rows;         /* [threads][n_batch] rows that chose an expert: each thread makes the list for itself */
    double *inv_freq;         /* [TL_N_ROPES][n_rot/2] radians per position */
    void *mem;                /* one block that holds w and the workers' buffers */
    size_t mem_bytes;
    float *logits;            /* [logits_cap][n_vocab] */
    int logits_cap, n_logits;
    /* The slice being computed, row by row. */
    int n, at, total;         /* rows of the slice; rows of the batch before it and in all */
    int32_t *token, *seq, *pos;
    int *want;                /* [n_want] rows of the slice */
    int n_want;
    tl_span *spans;
    int n_spans;
    int *next_pos;            /* [n_seq] while a batch is checked */
    tl_progress_fn *progress;
    void *progress_user;
    tl_profile *profile;      /* not owned; NULL: no clock is read */
    int cancel;               /* set by thread 0, read by all after a barrier */
};

/* The activation function of gated feed-forwards. */
static inline tl_gate_fn *tl_gate_act(const struct tl_session *s) {
    const tl_kernels *k = &s->m->k;
    int ffn = s->m->arch->ffn;
    return ffn == TL_FFN_SWIGLU_OAI ? k->swiglu_oai : ffn == TL_FFN_GELU_GATE ? k->gelu_mul : k->silu_mul;
}

/* What passed since the last mark was step op. */
static inline void tl_mark(struct tl_session *s, const tl_worker *t, tl_op op) {
    if (t->thread || !s->profile) return;
    double now = tl_now();
    s->profile->seconds[op] += now - s->profile->last;
    s->profile->last = now;
}

/* Mixture of experts of a layer: adds its output to the residual stream. Ends with a barrier (engine/experts.c). */
void tl_experts(struct tl_session *s, tl_worker *t, const tl_layer *l);

/* Computes the slice held in s: residual stream through all layers, K/V into the cache, logits of the wanted rows to
 * logits [n_want][n_vocab]. Returns TL_OK or TL_E_CANCELLED. */
int tl_forward(struct tl_session *s, float *logits);

#endif
