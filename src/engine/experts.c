/* SPDX-License-Identifier: MIT
 *
 * Mixture of experts: a router gives each row its experts and their weights; experts come one after the other, each with
 * the rows that chose it, and a row's outputs are added in rising order of experts. So a row's bits depend neither on
 * its company nor on threads, and each chosen matrix is read once for a slice. */
#include "engine/session.h"

#include <math.h>

/* Turns the router's logits of a row into weights: softmax over all, of which the largest n_used stay (the first, where
 * equal), to sum up to 1 unless raw. */
static void choose(float *weight, const tl_hparams *hp, int raw) {
    int n = hp->n_experts;
    double max = -INFINITY, all = 0, chosen = 0;
    for (int e = 0; e < n; e++) max = fmax(max, weight[e]);
    for (int e = 0; e < n; e++) all += weight[e] = (float)exp(weight[e] - max);
    for (int i = 0; i < hp->n_experts_used; i++) {
        int best = -1;
        for (int e = 0; e < n; e++)
            if (!signbit(weight[e]) && (best < 0 || weight[e] > weight[best])) best = e;
        if (best < 0) break;
        chosen += weight[best];
        weight[best] = -weight[best];   /* -0 counts as chosen */
    }
    for (int e = 0; e < n; e++) weight[e] = signbit(weight[e]) ? (float)(-weight[e] / (raw ? all : chosen)) : -1;
}

/* Weights of this thread's rows, and sums that begin at 0. Ends with a barrier. */
static void route(struct tl_session *s, tl_worker *t, const tl_layer *l) {
    const tl_hparams *hp = &s->m->hp;
    size_t d = (size_t)hp->n_embd, width = (size_t)tl_n_experts(hp);
    const tl_weight *w[] = {&l->router, &l->shared_router};
    tl_prepare prep = {.src = s->w.x, .stride = d, .n = s->n, .k = (int)d, .norm = &l->ffn_norm,
                       .forms = tl_weight_forms(w, 2), .shared = s->w.acts};
    tl_acts a = tl_acts_prepare(t, &prep);
    tl_mark(s, t, TL_OP_PREPARE);
    tl_product p[] = {{&l->router, l->router_bias, s->w.route, width, 0}, {&l->shared_router, NULL, s->w.route + hp->n_experts, width, 0}};
    tl_matmul(t, &a, p, l->shared_router.gemm ? 2 : 1);
    tl_pool_barrier(t->pool);
    tl_mark(s, t, TL_OP_GATE_UP);
    int begin, end;
    tl_split(s->n, 1, t->thread, t->n_threads, &begin, &end);
    for (int i = begin; i < end; i++) {
        float *weight = s->w.route + (size_t)i * width, *shared = weight + hp->n_experts;
        choose(weight, hp, s->m->arch->no_renorm);
        if (hp->n_ff_shared) *shared = l->shared_router.gemm ? (float)(1 / (1 + exp(-(double)*shared))) : 1;
        for (size_t j = 0; j < d; j++) s->w.y[(size_t)i * d + j] = 0;
    }
    tl_pool_barrier(t->pool);
    tl_mark(s, t, TL_OP_PREPARE);
}

/* Rows that chose expert e, into the thread's own list. */
static int rows_of(const struct tl_session *s, int e, int *rows) {
    int n = 0, width = tl_n_experts(&s->m->hp);
    for (int i = 0; i < s->n; i++)
        if (!(s->w.route[(size_t)i * (size_t)width + (size_t)e] < 0)) rows[n++] = i;
    return n;
}

/* Output of an expert for n rows to w.expert. Ends with a barrier. */
static void run_expert(struct tl_session *s, tl_worker *t, const tl_layer *l, const tl_expert *e, const int *rows, int n) {
    int d = s->m->hp.n_embd, ff = e->up.rows;
    const tl_weight *in[] = {&e->gate, &e->up}, *out[] = {&e->down};
    tl_prepare prep = {.src = s->w.x, .rows = rows, .stride = (size_t)d, .n = n, .k = d, .norm = &l->ffn_norm,
                       .forms = tl_weight_forms(in, 2), .shared = s->w.acts};
    tl_acts a = tl_acts_prepare(t, &prep);
    tl_gated g = {.gate = &e->gate, .up = &e->up, .gate_bias = e->gate_bias, .up_bias = e->up_bias,
                  .act = tl_gate_act(s), .y = s->w.ff, .stride = (size_t)ff};
    tl_matmul_gated(t, &a, &g);
    tl_pool_barrier(t->pool);
    tl_mark(s, t, TL_OP_GATE_UP);
    prep = (tl_prepare){.src = s->w.ff, .stride = (size_t)ff, .n = n, .k = ff, .forms = tl_weight_forms(out, 1), .shared = s->w.acts};
    a = tl_acts_prepare(t, &prep);
    tl_matmul(t, &a, &(tl_product){.w = &e->down, .bias = e->down_bias, .y = s->w.expert, .stride = (size_t)d}, 1);
    tl_pool_barrier(t->pool);
    tl_mark(s, t, TL_OP_DOWN);
}

void tl_experts(struct tl_session *s, tl_worker *t, const tl_layer *l) {
    size_t d = (size_t)s->m->hp.n_embd, width = (size_t)tl_n_experts(&s->m->hp);
    int *rows = s->expert_rows + (size_t)t->thread * (size_t)s->n_batch, begin, end;
    route(s, t, l);
    tl_split((int)d, 16, t->thread, t->n_threads, &begin, &end);   /* columns: what a thread adds up, no other reads */
    for (int e = 0; e < (int)width; e++) {
        int n = rows_of(s, e, rows);
        if (!n) continue;
        run_expert(s, t, l, &l->experts[e], rows, n);
        for (int i = 0; i < n; i++) {
            const float weight = s->w.route[(size_t)rows[i] * width + (size_t)e], *from = s->w.expert + (size_t)i * d;
            float *to = s->w.y + (size_t)rows[i] * d;
            for (int j = begin; j < end; j++) to[j] += weight * from[j];
        }
    }
    for (int i = 0; i < s->n; i++) t->k->add(s->w.x + (size_t)i * d + begin, s->w.y + (size_t)i * d + begin, end - begin);
    tl_pool_barrier(t->pool);
    tl_mark(s, t, TL_OP_PREPARE);
}
