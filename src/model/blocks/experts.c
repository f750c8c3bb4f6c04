/* SPDX-License-Identifier: MIT
 *
 * experts.c: a mixture of experts. A router gives each row its experts and their weights.
 *   in:  norm | router products | weights |
 *   out: expert after expert, each with the rows that chose it; a row's outputs are added in rising order of experts.
 * So a row's bits depend neither on its company nor on threads, and each chosen matrix is read once for a slice. */
#include "model/block.h"
#include "model/model.h"

#include <math.h>

typedef struct expert { tl_weight gate, up, down; const float *gate_bias, *up_bias, *down_bias; } expert;

typedef struct experts {
    tl_weight router, shared_router;   /* [n_experts], [1 row] x [n_embd]; shared_router.gemm NULL: a weight of 1 */
    const float *router_bias;          /* [n_experts] or NULL */
    const float *gate_bias, *up_bias, *down_bias;   /* [n_experts][width] or NULL */
    expert all[];                      /* [n_experts], then the shared one if n_ff_shared */
} experts;

static int n_all(const tl_hparams *hp) { return hp->n_experts + (hp->n_ff_shared > 0); }
static int widest(const tl_hparams *hp) { return hp->n_ff_expert > hp->n_ff_shared ? hp->n_ff_expert : hp->n_ff_shared; }

/* normed [n][d] what the block reads; route [n][n_all] router logits, then weights, negative: not chosen;
 * ff [n][widest] inside an expert; one [n][d] output of one expert; rows [threads][n] that chose it: each thread makes
 * the list for itself. */
typedef struct scratch { float *normed, *route, *ff, *one; int *rows; } scratch;

static scratch scratch_of(const tl_run *r, int thread) {
    const tl_hparams *hp = &r->m->hp;
    void *at = r->scratch[TL_BLOCK_EXPERTS];
    size_t n = (size_t)r->n_batch, d = (size_t)hp->n_embd;
    scratch s = {.normed = tl_floats(&at, n * d), .route = tl_floats(&at, n * (size_t)n_all(hp)),
                 .ff = tl_floats(&at, n * (size_t)widest(hp)), .one = tl_floats(&at, n * d)};
    s.rows = (int *)at + (size_t)thread * n;
    return s;
}

static void needs(const struct tl_model *m, const tl_block *b, tl_needs *n) {
    const tl_hparams *hp = &m->hp;
    (void)b;
    size_t row = 2 * (size_t)hp->n_embd + (size_t)n_all(hp) + (size_t)widest(hp) + (size_t)n->n_threads;
    size_t size = ((size_t)n->n * row + 4 * 16) * sizeof(float), up = tl_up_floats(n->n, widest(hp));
    if (size > n->scratch[TL_BLOCK_EXPERTS]) n->scratch[TL_BLOCK_EXPERTS] = size;
    if (up > n->up) n->up = up;
    n->y = 1;
}

static size_t bytes(const struct tl_model *m, const tl_block *b) {
    (void)b;
    return sizeof(experts) + (size_t)n_all(&m->hp) * sizeof(expert);
}

static void tensors(const struct tl_model *m, const tl_block *b, const tl_visitor *v) {
    const tl_hparams *hp = &m->hp;
    experts *x = b->w;
    int d = hp->n_embd, n = hp->n_experts, ff = hp->n_ff_expert;
    double used = (double)hp->n_experts_used / n;
    tl_need bias = m->arch->bias == TL_BIAS_ALL ? TL_REQUIRED : TL_OPTIONAL;
    tl_visit(v, b->layer, &(tl_tensor){
        .name = "ffn_gate_inp.weight", .rows = n, .cols = d, .role = TL_ROLE_ROUTER, .op = TL_OP_GATE_UP, .slot = &x->router});
    tl_visit(v, b->layer, &(tl_tensor){.name = "ffn_gate_inp.bias", .cols = n, .need = bias, .slot = &x->router_bias});
    const struct { const char *weight, *bias; int rows, cols; tl_role role; tl_op op; tl_weight *w; const float **b; } parts[] = {
        {"ffn_gate_exps.weight", "ffn_gate_exps.bias", ff, d, TL_ROLE_OTHER, TL_OP_GATE_UP, &x->all[0].gate, &x->gate_bias},
        {"ffn_up_exps.weight", "ffn_up_exps.bias", ff, d, TL_ROLE_OTHER, TL_OP_GATE_UP, &x->all[0].up, &x->up_bias},
        {"ffn_down_exps.weight", "ffn_down_exps.bias", d, ff, TL_ROLE_DOWN, TL_OP_DOWN, &x->all[0].down, &x->down_bias},
    };
    for (int i = 0; i < 3; i++) {
        tl_visit(v, b->layer, &(tl_tensor){
            .name = parts[i].weight, .n = n, .rows = parts[i].rows, .cols = parts[i].cols, .role = parts[i].role,
            .op = parts[i].op, .used = used, .slot = parts[i].w, .stride = sizeof(expert)});
        tl_visit(v, b->layer, &(tl_tensor){.name = parts[i].bias, .n = n, .cols = parts[i].rows, .need = bias, .slot = parts[i].b});
    }
    if (!(ff = hp->n_ff_shared)) return;
    expert *s = &x->all[n];
    tl_visit(v, b->layer, &(tl_tensor){
        .name = "ffn_gate_inp_shexp.weight", .rows = 1, .cols = d, .role = TL_ROLE_ROUTER, .op = TL_OP_GATE_UP,
        .need = m->arch->usual & TL_USUAL_SHARED_ROUTER ? TL_USUAL : TL_OPTIONAL, .slot = &x->shared_router});
    tl_visit(v, b->layer, &(tl_tensor){.name = "ffn_gate_shexp.weight", .rows = ff, .cols = d, .op = TL_OP_GATE_UP, .slot = &s->gate});
    tl_visit(v, b->layer, &(tl_tensor){.name = "ffn_up_shexp.weight", .rows = ff, .cols = d, .op = TL_OP_GATE_UP, .slot = &s->up});
    tl_visit(v, b->layer, &(tl_tensor){
        .name = "ffn_down_shexp.weight", .rows = d, .cols = ff, .role = TL_ROLE_DOWN, .op = TL_OP_DOWN, .slot = &s->down});
}

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

static void in(tl_run *r, tl_worker *t, const tl_block *b) {
    const tl_hparams *hp = &r->m->hp;
    const experts *x = b->w;
    scratch s = scratch_of(r, t->thread);
    size_t d = (size_t)hp->n_embd, width = (size_t)n_all(hp);
    int begin, end;
    tl_split(r->n, 1, t->thread, t->n_threads, &begin, &end);
    for (int i = begin; i < end; i++) {
        float *to = s.normed + (size_t)i * d;
        const float *from = r->x + (size_t)i * d;
        if (b->norm.w) tl_norm_row(t->k, &b->norm, to, from, (int)d);
        else for (size_t j = 0; j < d; j++) to[j] = from[j];
    }
    tl_pool_barrier(t->pool);
    const tl_weight *w[] = {&x->router, &x->shared_router};
    tl_acts a = tl_block_prepare(r, t, s.normed, (int)d, NULL, w, 2);
    tl_product p[] = {{&x->router, x->router_bias, s.route, width, 0}, {&x->shared_router, NULL, s.route + hp->n_experts, width, 0}};
    tl_matmul(t, &a, p, x->shared_router.gemm ? 2 : 1);
    tl_pool_barrier(t->pool);
    tl_mark(r, t, TL_OP_GATE_UP);
    for (int i = begin; i < end; i++) {
        float *weight = s.route + (size_t)i * width, *shared = weight + hp->n_experts;
        choose(weight, hp, r->m->arch->no_renorm);
        if (hp->n_ff_shared) *shared = x->shared_router.gemm ? (float)(1 / (1 + exp(-(double)*shared))) : 1;
    }
    tl_pool_barrier(t->pool);
    tl_mark(r, t, TL_OP_PREPARE);
}

/* Rows that chose expert e, into the thread's own list. */
static int rows_of(const tl_run *r, const scratch *s, int e) {
    int n = 0, width = n_all(&r->m->hp);
    for (int i = 0; i < r->n; i++)
        if (!(s->route[(size_t)i * (size_t)width + (size_t)e] < 0)) s->rows[n++] = i;
    return n;
}

/* Output of expert number e for n rows to s->one. Ends with a barrier. */
static void run_expert(tl_run *r, tl_worker *t, const experts *x, int e, const scratch *s, int n) {
    const expert *ex = &x->all[e];
    int d = r->m->hp.n_embd, ff = ex->up.rows, own = e < r->m->hp.n_experts;
    const tl_weight *in[] = {&ex->gate, &ex->up}, *out[] = {&ex->down};
    tl_prepare prep = {.src = s->normed, .rows = s->rows, .stride = (size_t)d, .n = n, .k = d,
                       .forms = tl_weight_forms(in, 2), .shared = r->acts};
    tl_acts a = tl_acts_prepare(t, &prep);
    size_t at = (size_t)e * (size_t)ff, down_at = (size_t)e * (size_t)d;
    tl_gated g = {.gate = &ex->gate, .up = &ex->up, .gate_bias = own && x->gate_bias ? x->gate_bias + at : NULL,
                  .up_bias = own && x->up_bias ? x->up_bias + at : NULL, .act = tl_gate_act(r->m), .y = s->ff, .stride = (size_t)ff};
    tl_matmul_gated(t, &a, &g);
    tl_pool_barrier(t->pool);
    tl_mark(r, t, TL_OP_GATE_UP);
    prep = (tl_prepare){.src = s->ff, .stride = (size_t)ff, .n = n, .k = ff, .forms = tl_weight_forms(out, 1), .shared = r->acts};
    a = tl_acts_prepare(t, &prep);
    tl_matmul(t, &a, &(tl_product){.w = &ex->down, .bias = own && x->down_bias ? x->down_bias + down_at : NULL, .y = s->one,
                                   .stride = (size_t)d}, 1);
    tl_pool_barrier(t->pool);
    tl_mark(r, t, TL_OP_DOWN);
}

static void out(tl_run *r, tl_worker *t, const tl_block *b) {
    const experts *x = b->w;
    scratch s = scratch_of(r, t->thread);
    size_t d = (size_t)r->m->hp.n_embd, width = (size_t)n_all(&r->m->hp);
    int begin, end;
    tl_split((int)d, 16, t->thread, t->n_threads, &begin, &end);   /* columns: what a thread adds up, no other reads */
    for (int i = 0; i < r->n; i++)
        for (int j = begin; j < end; j++) r->y[(size_t)i * d + (size_t)j] = 0;
    for (int e = 0; e < (int)width; e++) {
        int n = rows_of(r, &s, e);
        if (!n) continue;
        run_expert(r, t, x, e, &s, n);
        for (int i = 0; i < n; i++) {
            const float weight = s.route[(size_t)s.rows[i] * width + (size_t)e], *from = s.one + (size_t)i * d;
            float *to = r->y + (size_t)s.rows[i] * d;
            for (int j = begin; j < end; j++) to[j] += weight * from[j];
        }
    }
    tl_pool_barrier(t->pool);
    tl_block_join(r, t, b);
}

extern const tl_block_kind tl_block_experts;
const tl_block_kind tl_block_experts = {
    .name = "experts", .bytes = bytes, .tensors = tensors, .needs = needs, .in = in, .out = out};
