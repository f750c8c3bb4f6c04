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
    x->cost[t->op].macs += rows * t->used * w->rows * w->cols;
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
}

tl_cost tl_cost_sum(const tl_cost *cost) {
    tl_cost sum = {0};
    for (int i = 0; i < TL_N_OPS; i++) {
        sum.bytes += cost[i].bytes;
        sum.macs += cost[i].macs;
    }
    return sum;
}

static void add_macs(void *arg, tl_weight *w, const tl_tensor *t) {
    if (t->op != TL_OP_HEAD) ((double *)arg)[w->gemm->act] += t->used * w->rows * w->cols;
}

int tl_cost_peak(const tl_model *m) {
    double macs[TL_N_ACTS] = {0};
    tl_each_weight(m, add_macs, macs);
    return macs[TL_ACT_Q8] + macs[TL_ACT_Q8K] >= macs[TL_ACT_F32] ? TL_PEAK_INT8 : TL_PEAK_F32;
}
