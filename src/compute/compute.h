/* SPDX-License-Identifier: MIT
 *
 * compute.h: model arithmetic on many threads; the only callers of the kernel table's products.
 *
 * All functions that take a tl_worker are called by every thread of the pool at the same point with the same arguments
 * (their own worker apart), like barriers: each computes its part. None of them ends with a barrier, but
 * tl_acts_prepare with several rows: the caller places tl_pool_barrier where results of other threads are needed. Which thread computes what never changes a result's bits. */
#ifndef TL_COMPUTE_H
#define TL_COMPUTE_H

#include "base/base.h"
#include "base/pool.h"
#include "kernels.h"
#include "kv/kv.h"

/* Index into tl_levels of the level to use: wanted, or (NULL, empty) the best that this CPU can run. Negative with an error that
 * names the levels or what the CPU lacks. */
int tl_level_choose(const char *wanted, tl_error *err);

/* Adds the names of the features in bits, one blank between. */
void tl_feature_names(tl_buf *out, uint32_t bits);

/* A matrix [rows][cols] as it is multiplied. */
typedef struct tl_weight {
    const tl_gemm *gemm;
    const void *w;            /* packed groups of gemm->rows rows (1: raw rows); NULL: packed whenever they are met */
    int type, rows, cols;
    const uint8_t *raw;       /* rows as they are in the file */
    size_t row_bytes;         /* of a raw row */
} tl_weight;

/* One thread of a run. Buffers are the thread's own, 64-byte aligned. */
typedef struct tl_worker {
    tl_pool *pool;
    const tl_kernels *k;
    int thread, n_threads;
    int products;             /* products so far in this run: picks the work counter; equal on all threads */
    void *scratch;            /* TL_GEMM_SCRATCH(largest cols) */
    void *groups;             /* TL_CLAIM_ROWS rows of any matrix that is not packed, as packed groups */
    float *row;               /* [largest cols] */
    void *own[TL_N_ACTS];     /* one token of activations in each form the model wants, largest cols */
    float *up;                /* [tl_up_floats()] second operand of a gated product, part of a sum */
    float *attn;              /* tl_attention_scratch() floats */
} tl_worker;

#define TL_CLAIM_ROWS 32      /* rows a thread claims at a time when several tokens are computed */
/* Fewer rows than this are a step of decoding, made of microseconds: preparing all of them on every thread costs less
 * than a barrier. More are a prompt. */
#define TL_FEW_ROWS 8

/* Work counter (tl_pool_next) of the next step. The counter two steps on is rewound here: its last use lies two steps
 * back, and steps are separated by barriers, so none is being claimed from. */
int tl_worker_counter(tl_worker *t);

/* Activations of n tokens in the forms (bit 1 << TL_ACT_*) that some products need; other forms are not looked at. */
typedef struct tl_acts { void *form[TL_N_ACTS]; int n, k; } tl_acts;

/* Which forms these weights want; absent ones (no gemm) want none. */
unsigned tl_weight_forms(const tl_weight *const *w, int n);

/* y = x normalised, n values: by their root mean square, or centred: layer norm. */
typedef struct tl_norm { const float *w, *b; float eps; int centred; } tl_norm;   /* w [n]; b [n] or NULL, if centred */
static inline void tl_norm_row(const tl_kernels *k, const tl_norm *norm, float *y, const float *x, int n) {
    if (norm->centred) k->layer_norm(y, x, norm->w, norm->b, n, norm->eps);
    else k->rms_norm(y, x, norm->w, n, norm->eps);
}

/* Rows to multiply with. src [n][stride], k values each; with norm the row is normalised first. */
typedef struct tl_prepare {
    const float *src;
    size_t stride;
    int n, k;
    const tl_norm *norm;      /* NULL: no normalisation */
    unsigned forms;
    void *const *shared;      /* [TL_N_ACTS], those of forms; tl_acts_prepare only */
} tl_prepare;
/* All rows. A single one is prepared by every thread for itself (cheaper than a barrier); several are split over the
 * threads into the shared buffers (n * k values), and the function ends with a barrier. */
tl_acts tl_acts_prepare(tl_worker *t, const tl_prepare *p);
/* One row, number row of the source, as token at of to. */
void tl_acts_put(tl_worker *t, const tl_prepare *p, int row, const tl_acts *to, int at);
/* Token from of src as token at of dst, which has the same k, in some forms. Bytes as tl_acts_put would write them. */
void tl_acts_copy(unsigned forms, const tl_acts *dst, int at, const tl_acts *src, int from);

/* y[t][r] (+)= W x_t + bias for several matrices that share their activations; their rows are split as one range. */
typedef struct tl_product {
    const tl_weight *w;
    const float *bias;        /* [rows] or NULL */
    float *y;                 /* [n][stride] */
    size_t stride;
    int add;
} tl_product;
void tl_matmul(tl_worker *t, const tl_acts *x, const tl_product *p, int n_products);

/* y[t][r] = act((gate x_t + bias)[r], (up x_t + bias)[r]); gate and up have equal rows. Without gate: act((up x_t + bias)[r]).
 * Of several, each with activations of its own (the experts of a layer), all rows are split as one range. */
typedef struct tl_gated {
    tl_acts x;
    const tl_weight *gate, *up;         /* gate NULL: none */
    const float *gate_bias, *up_bias;   /* [rows] or NULL */
    void (*act)(float *y, const float *u, int n);   /* one of tl_kernels.ffn */
    float *y;                           /* [x.n][stride] */
    size_t stride;
} tl_gated;
void tl_matmul_gated(tl_worker *t, const tl_gated *g, int n);

/* y[i] = sum of scale * (W x + bias) over the parts' tokens that belong to row i: from 0 on, in the order of the parts.
 * All parts have the same number of rows [rows]; a thread computes a range of them for all parts, so that nobody waits
 * between parts. Then, if residual is not NULL, residual[i] += y[i]. */
typedef struct tl_part {
    const tl_weight *w;
    const float *bias;        /* [rows] or NULL */
    tl_acts x;
    const int *row;           /* [x.n] row of y that a token belongs to */
    const float *scale;       /* [x.n] */
} tl_part;
typedef struct tl_sum {
    const tl_part *part;
    int n_parts, n;           /* n_parts at least 1; rows of y */
    float *y, *residual;      /* [n][stride] */
    size_t stride;
} tl_sum;
void tl_matmul_sum(tl_worker *t, const tl_sum *s);

/* Floats worker->up needs for n_batch tokens and matrices of at most n_rows rows. */
static inline size_t tl_up_floats(int n_batch, int n_rows) {
    size_t a = (size_t)n_batch * TL_CLAIM_ROWS, b = (size_t)n_rows + TL_CLAIM_ROWS;
    return a > b ? a : b;
}

/* Attention of one layer over rows whose K and V are in the cache already.
 * Positions are walked in chunks of TL_ATTN_CHUNK from position 0 on, states of chunks merged in rising order: the bits
 * are the same whether one thread walks them all or several share them, alone or in a batch. */
#define TL_ATTN_CHUNK (8 * TL_KV_PAGE)
#define TL_ATTN_ROWS 16       /* most rows of one sequence handled together */

typedef struct tl_span { int row, n, seq, pos; } tl_span;   /* n rows from row on: positions pos, pos+1, ... of seq */

typedef struct tl_attention {
    const tl_kv *kv;
    int slot, n_heads;        /* of the cache; query heads, a multiple of the slot's */
    int window;               /* a position sees itself and window-1 before it; 0: all before it */
    float softcap;
    const float *sinks;       /* [n_heads] a score that takes its part of the softmax and has no value; NULL: none */
    const tl_span *spans;     /* of at most TL_ATTN_ROWS rows each */
    int n_spans;
    const float *q;           /* scaled: [row][q_stride], heads of the slot's k values */
    size_t q_stride;
    float *out;               /* [row][out_stride], heads of its v values */
    size_t out_stride;
    float *partial;           /* tl_attention_partial() floats, shared */
} tl_attention;
/* Floats; hk, hv: values of a key and of a value with padding, at most tl_kv_padded(). */
size_t tl_attention_scratch(int group, int hk, int hv);
size_t tl_attention_partial(int n_threads, int group, int hv, int n_ctx);
void tl_attention_run(tl_worker *t, const tl_attention *a);

#endif
