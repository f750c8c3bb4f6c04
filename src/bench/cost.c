/* SPDX-License-Identifier: MIT
 *
 * cost.c: bytes and multiply-adds of the forward pass, by operation, from a model's shapes. Pure arithmetic. */
#include "bench/bench.h"

#include <math.h>

typedef struct adding { const tl_pass *p; tl_cost *cost; } adding;

/* A matrix that only some tokens use, each independently, is read unless none does. */
static void add_product(void *arg, tl_weight *w, const tl_tensor *t) {
    const adding *x = arg;
    double rows = t->op == TL_OP_HEAD ? x->p->n_want : (double)x->p->n_seq * x->p->n;
    double read = rows <= 0 ? 0 : t->used < 1 ? 1 - pow(1 - t->used, rows) : 1;
    x->cost[t->op].bytes += read * (double)w->row_bytes * w->rows;
    double macs = rows * t->used * w->rows * w->cols;
    x->cost[t->op].macs += macs;
    if (w->gemm->act == TL_ACT_F32) x->cost[t->op].floats += macs;
}

void tl_cost_add(const tl_model *m, const tl_kv_ops *kv, const tl_pass *p, tl_cost *cost) {
    double rows = (double)p->n_seq * p->n;
    cost[TL_OP_EMBED].bytes += rows * (double)m->embd.row_bytes;
    cost[TL_OP_PREPARE].bytes += (double)m->values_n * sizeof(float);
    tl_each_weight(m, add_product, &(adding){p, cost});
    for (int i = 0; i < m->n_blocks; i++) {
        const tl_block_kind *kind = tl_block_kinds[m->blocks[i].kind];
        if (kind->cost) kind->cost(m, &m->blocks[i], tl_block_kv_bytes(m, &m->blocks[i], kv), p, cost);
    }
    /* Of a cache of codes the scores are products of integers, the weighted sums of values are not. */
    cost[TL_OP_ATTENTION].floats = cost[TL_OP_ATTENTION].macs * (kv->elems > 1 ? 0.5 : 1);
}

tl_cost tl_cost_sum(const tl_cost *cost) {
    tl_cost sum = {0};
    for (int i = 0; i < TL_N_OPS; i++) {
        sum.bytes += cost[i].bytes;
        sum.macs += cost[i].macs;
        sum.floats += cost[i].floats;
    }
    return sum;
}
