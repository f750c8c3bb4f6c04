/* SPDX-License-Identifier: MIT
 *
 * block.h: a model is a flat list of residual blocks, each x += f(norm(x)) over the residual stream x. A kind of block
 * is one file (blocks/<kind>.c) and one row of blocks.def. It names its tensors in one list, from which binding,
 * packing, cost, and the makers of models all work, and it computes in two steps:
 *
 *     in(b)    reads x and leaves what it made of it in the kind's scratch; x is not changed
 *     out(b)   turns that into an output [n][n_embd] and adds it to x
 *
 * A block that reads what the one before it reads (parallel halves) has its `in` before the other's `out`. So any two
 * neighbours of different kinds may stand side by side, whatever norms they have. */
#ifndef TL_BLOCK_H
#define TL_BLOCK_H

#include "compute/compute.h"
#include "model/hparams.h"

struct tl_model;
typedef struct tl_block tl_block;

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* Steps of the forward pass, as a profile and a cost count them. */
typedef enum tl_op {
    TL_OP_EMBED,      /* embedding rows, angles */
    TL_OP_PREPARE,    /* norms and quantization of activations, residual additions of post-norms */
    TL_OP_QKV, TL_OP_ROPE_KV, TL_OP_ATTENTION, TL_OP_ATTN_OUT, TL_OP_GATE_UP, TL_OP_DOWN, TL_OP_HEAD,
    TL_N_OPS
} tl_op;

/* What a matrix is, for those who choose types (bench/mix.c). */
typedef enum tl_role { TL_ROLE_OTHER, TL_ROLE_EMBD, TL_ROLE_HEAD, TL_ROLE_V, TL_ROLE_O, TL_ROLE_DOWN, TL_ROLE_ROUTER } tl_role;

/* Missing tensors: a fault | no fault, but makers of files write it | neither. */
typedef enum tl_need { TL_REQUIRED, TL_USUAL, TL_OPTIONAL } tl_need;

typedef struct tl_tensor {
    const char *name;         /* in the file: "blk.3.attn_q.weight" */
    int n, rows, cols;        /* n matrices [rows][cols]; of values: n vectors [cols], rows 0 */
    tl_need need;
    tl_role role;
    tl_op op;                 /* that multiplies it */
    double used;              /* fraction of tokens that use it */
    float mean;               /* of values: 1 for factors, 0 for what is added */
    /* A tensor that may hold it together with others, as rows (values) from one on of so many in all; NULL: none.
     * Makers write that one if fuse is set. fused_only: none of its parts has the same name alone. */
    const char *fused;
    int fused_at, fused_all, fused_only, fuse;
    /* Where it is bound: n tl_weight, stride bytes apart; of values a const float *. */
    void *slot;
    size_t stride;
} tl_tensor;

/* Is shown one tensor after the other; what it points to is gone afterwards. */
typedef struct tl_visitor { void (*visit)(void *user, const tl_tensor *t); void *user; } tl_visitor;

/* Shows t under its full name: suffixes in t ("attn_q.weight") get the layer in front (negative: none), 0 fields of
 * n and used are 1. */
void tl_visit(const tl_visitor *v, int layer, const tl_tensor *t);
/* Weight and, of a layer norm, bias [n]. name: without ".weight". Does nothing without a name. */
void tl_visit_norm(const tl_visitor *v, const struct tl_model *m, int layer, const char *name, int n, tl_need need, tl_norm *norm);

/* ---- the slice that is computed ------------------------------------------------------------------------------------ */

/* Wall seconds by step, as thread 0 sees them (waiting for others included). */
typedef struct tl_profile { double seconds[TL_N_OPS], last; } tl_profile;

/* The rows of one pass: at most n_batch of a batch. Written before a pass, read by all threads. */
typedef struct tl_run {
    const struct tl_model *m;
    tl_kv *kv;
    int n, n_batch;
    int32_t *token, *seq, *pos;      /* [n] */
    tl_span *spans;
    int n_spans;
    float *x;                        /* [n][n_embd] residual stream */
    float *y;                        /* [n][n_embd] output of a block before its post-norm */
    float *cs;                       /* [TL_N_ROPES][n_batch][n_rot] cos, sin of each row's position */
    void *acts[TL_N_ACTS];           /* activations, n * max_cols in each form that some matrix wants */
    void *scratch[TL_N_BLOCKS];      /* of each kind; holds from a block's `in` to its `out` */
    tl_profile *profile;             /* NULL: no clock is read */
} tl_run;

/* Charges the time since the last mark to op. */
static inline void tl_mark(tl_run *r, const tl_worker *t, tl_op op) {
    if (t->thread || !r->profile) return;
    double now = tl_now();
    r->profile->seconds[op] += now - r->profile->last;
    r->profile->last = now;
}

/* Part of a kind's scratch. */
static inline float *tl_floats(void **at, size_t n) {
    float *p = *at;
    *at = p ? (char *)p + (n * sizeof *p + 63) / 64 * 64 : NULL;
    return p;
}

/* cos, sin of a row's position, [n_rot]. */
static inline const float *tl_rope_row(const tl_run *r, int rope, int row, int n_rot) {
    return r->cs + ((size_t)rope * (size_t)r->n_batch + (size_t)row) * (size_t)n_rot;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------- */

/* What a slice of n rows takes, as maxima over the blocks that were asked. */
typedef struct tl_needs {
    int n, n_threads, n_ctx;         /* given */
    size_t scratch[TL_N_BLOCKS];     /* bytes of tl_run.scratch */
    size_t up, attn;                 /* floats of a thread: tl_worker.up, .attn */
    int y;                           /* 1: tl_run.y is needed */
} tl_needs;

/* The least that has to come from memory, and the multiply-adds. Activations are not counted: they stay in caches. */
typedef struct tl_cost { double bytes, macs, floats; } tl_cost;   /* floats: of macs, those between floats */
/* n rows of each of n_seq sequences that hold pos positions already, with logits for n_want rows in all. */
typedef struct tl_pass { int n_seq, n, pos, n_want; } tl_pass;

typedef struct tl_block_kind {
    const char *name;
    /* Bytes of tl_block.w. */
    size_t (*bytes)(const struct tl_model *m, const tl_block *b);
    /* The tensors but for the norms around the block. */
    void (*tensors)(const struct tl_model *m, const tl_block *b, const tl_visitor *v);
    void (*needs)(const struct tl_model *m, const tl_block *b, tl_needs *n);
    /* K and V of a position that go to its slot; NULL: none. */
    tl_kv_dims (*cached)(const struct tl_model *m, const tl_block *b);
    /* Called by every thread; both end with a barrier. */
    void (*in)(tl_run *r, tl_worker *t, const tl_block *b);
    void (*out)(tl_run *r, tl_worker *t, const tl_block *b);
    /* Adds to cost [TL_N_OPS] what is not a product with a tensor of the list; NULL: nothing. kv_bytes: of the K
     * and V of a position in its slot. */
    void (*cost)(const struct tl_model *m, const tl_block *b, double kv_bytes, const tl_pass *p, tl_cost *cost);
} tl_block_kind;

extern const tl_block_kind *const tl_block_kinds[TL_N_BLOCKS];

struct tl_block {
    enum tl_block_id kind;
    int layer;
    int with_previous;               /* reads what the block before it reads */
    int slot;                        /* of its state; -1: it has none */
    const char *norm_name, *post_norm_name;   /* without ".weight"; NULL: the block has none */
    tl_norm norm, post_norm;         /* w NULL: none */
    void *w;                         /* the kind's weights */
};

/* Bytes of the K and V of a position in the block's slot, in a cache of a type; 0: it has none. */
size_t tl_block_kv_bytes(const struct tl_model *m, const tl_block *b, const tl_kv_ops *kv);
/* The rows of src [n][k] in the forms that some weights want, normalised if norm has a weight (compute.h). */
tl_acts tl_block_prepare(tl_run *r, tl_worker *t, const float *src, int k, const tl_norm *norm, const tl_weight *const *w, int n_w);
/* x += W a + bias, through the block's post-norm if it has one. Ends with a barrier. */
void tl_block_add(tl_run *r, tl_worker *t, const tl_block *b, tl_op op, const tl_acts *a, const tl_weight *w, const float *bias);
/* x += post-norm of r->y, or x += y, rows split over the threads. Ends with a barrier. */
void tl_block_join(tl_run *r, tl_worker *t, const tl_block *b);

#endif
