/* SPDX-License-Identifier: MIT
 *
 * cost.c: bytes and multiply-adds of the forward pass, by operation, from a model's shapes. Pure arithmetic. */
#include "bench/bench.h"

#include <math.h>

static void add_weight(tl_cost *c, const tl_weight *w, double rows) {
    if (!w->gemm || rows <= 0) return;
    c->bytes += (double)w->row_bytes * w->rows;
    c->macs += rows * w->rows * w->cols;
}

/* fraction: of tokens that choose the expert, each independently. It is read unless none does. */
static void add_expert(tl_cost *cost, const tl_expert *e, double rows, double fraction) {
    tl_cost in = {0}, out = {0};
    double read = 1 - pow(1 - fraction, rows);
    add_weight(&in, &e->gate, rows * fraction);
    add_weight(&in, &e->up, rows * fraction);
    add_weight(&out, &e->down, rows * fraction);
    cost[TL_OP_GATE_UP].bytes += read * in.bytes;
    cost[TL_OP_GATE_UP].macs += in.macs;
    cost[TL_OP_DOWN].bytes += read * out.bytes;
    cost[TL_OP_DOWN].macs += out.macs;
}

/* Positions that a row at position pos sees. */
static int visible(const tl_layer *l, int pos) { return l->window && l->window <= pos ? l->window : pos + 1; }

static void add_layer(const tl_model *m, const tl_layer *l, double kv_bytes, const tl_pass *p, tl_cost *cost) {
    const tl_hparams *hp = &m->hp;
    double rows = (double)p->n_seq * p->n, seen = 0;
    add_weight(&cost[TL_OP_QKV], &l->q, rows);
    add_weight(&cost[TL_OP_QKV], &l->k, rows);
    add_weight(&cost[TL_OP_QKV], &l->v, rows);
    add_weight(&cost[TL_OP_ATTN_OUT], &l->o, rows);
    add_weight(&cost[TL_OP_GATE_UP], &l->gate, rows);
    add_weight(&cost[TL_OP_GATE_UP], &l->up, rows);
    add_weight(&cost[TL_OP_DOWN], &l->down, rows);
    add_weight(&cost[TL_OP_GATE_UP], &l->router, rows);
    add_weight(&cost[TL_OP_GATE_UP], &l->shared_router, rows);
    for (int e = 0; l->experts && e < tl_n_experts(hp); e++)
        add_expert(cost, &l->experts[e], rows, e < hp->n_experts ? (double)hp->n_experts_used / hp->n_experts : 1);
    cost[TL_OP_ROPE_KV].bytes += rows * hp->n_kv_heads * kv_bytes;
    for (int i = 0; i < p->n; i++) seen += visible(l, p->pos + i);
    cost[TL_OP_ATTENTION].macs += p->n_seq * seen * 2 * hp->n_heads * hp->head_dim;
    int last = p->pos + p->n, first = p->pos + 1 - visible(l, p->pos);   /* from what the first row sees to the last */
    cost[TL_OP_ATTENTION].bytes += (double)p->n_seq * (last - first) * hp->n_kv_heads * kv_bytes;
}

void tl_cost_add(const tl_model *m, double kv_bytes, const tl_pass *p, tl_cost *cost) {
    double rows = (double)p->n_seq * p->n;
    cost[TL_OP_EMBED].bytes += rows * (double)m->embd.row_bytes;
    cost[TL_OP_PREPARE].bytes += (double)m->norms_n * sizeof(float);
    for (int i = 0; i < m->hp.n_layers; i++) add_layer(m, &m->layers[i], kv_bytes, p, cost);
    add_weight(&cost[TL_OP_HEAD], &m->head, p->n_want);
}

tl_cost tl_cost_sum(const tl_cost *cost) {
    tl_cost sum = {0};
    for (int i = 0; i < TL_N_OPS; i++) {
        sum.bytes += cost[i].bytes;
        sum.macs += cost[i].macs;
    }
    return sum;
}

double tl_cost_kv_bytes(const tl_session *s) { return (double)s->kv.head_bytes / TL_KV_PAGE; }

static void add_macs(void *arg, tl_weight *w, double fraction) {
    ((double *)arg)[w->gemm->act] += fraction * w->rows * w->cols;
}

int tl_cost_peak(const tl_model *m) {
    double macs[TL_N_ACTS] = {0};
    for (int i = 0; i < m->hp.n_layers; i++)
        tl_each_weight(m, &m->layers[i], add_macs, macs);
    return macs[TL_ACT_Q8] + macs[TL_ACT_Q8K] >= macs[TL_ACT_F32] ? TL_PEAK_INT8 : TL_PEAK_F32;
}
