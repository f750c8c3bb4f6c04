/* SPDX-License-Identifier: MIT
 *
 * experts.c: a mixture of experts. A router gives each row its experts and their weights; an expert that every row uses
 * may stand beside them, as the last one.
 *   in:  norm, quantize | router products | choose | gather rows by expert | gate and up products of all experts |
 *   out: quantize | down products of all experts, weighted and summed |
 * Of a few rows (decoding) every thread makes choices, lists and activations for itself, which leaves the barriers behind
 * the router, behind gate and up, and behind down. What has a barrier before it reads each chosen matrix once, all experts'
 * rows being one range of work. A row's outputs are added in rising order of experts, so its bits depend neither on its
 * company nor on threads. */
#include "model/block.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

typedef struct expert { tl_weight gate, up, down; const float *gate_bias, *up_bias, *down_bias; } expert;

typedef struct experts {
    tl_weight router, shared_router;   /* [n_experts], [1 row] x [n_embd]; shared_router.gemm NULL: a weight of 1 */
    const float *router_bias;          /* [n_experts] or NULL */
    const float *gate_bias, *up_bias, *down_bias;   /* [n_experts][width] or NULL */
    expert all[];                      /* [n_experts], then the shared one if n_ff_shared */
} experts;

static int n_all(const tl_hparams *hp) { return hp->n_experts + (hp->n_ff_shared > 0); }
/* Experts of a row. */
static int n_choices(const tl_hparams *hp) { return hp->n_experts_used + (hp->n_ff_shared > 0); }

/* Forms that experts want: what they read, what they hold inside. The chosen ones are slices of the same tensors. */
static unsigned forms_in(const expert *e) { return tl_weight_forms((const tl_weight *[]){&e->gate, &e->up}, 2); }
static unsigned forms_inside(const expert *e) { return tl_weight_forms((const tl_weight *[]){&e->down}, 1); }

/* ---- scratch ----------------------------------------------------------------------------------------------------- */

/* For n rows, each with n_choices experts: a pair is a row and one of its experts. Pairs stand in the order of experts,
 * those of one expert in the order of rows. */
typedef struct scratch {
    float *logits;            /* [n][n_all] of the router, and of the shared one's */
    float *inside;            /* [pairs][width of the expert] */
    /* Of all threads; of few rows, each thread's own. */
    int *pick;                /* [n][n_choices] experts in rising order */
    float *share;             /* [n][n_choices] and their weights */
    void *x[TL_N_ACTS];       /* [n] what the block reads, normed */
    void *acts[TL_N_ACTS];    /* [pairs] the same gathered by expert, then what is inside the experts */
    /* Each thread's own. */
    float *p;                 /* [n_experts] probabilities of a row's experts */
    int *first;               /* [n_all + 1] first pair of each expert */
    int *row;                 /* [pairs] */
    float *scale;             /* [pairs] */
    tl_gated *in;             /* [n_all or pairs] of experts that some row chose */
    tl_part *out;
} scratch;

/* Memory handed out piece by piece; without base it is only measured. */
typedef struct room { char *base; size_t at; } room;

static void *take(room *o, size_t n, size_t size) {
    size_t bytes, end;
    void *p = o->base ? o->base + o->at : NULL;
    if (!tl_mul_size(n, size, &bytes) || !tl_add_size(o->at, bytes, &end) || !tl_add_size(end, 63, &end)) o->at = SIZE_MAX;
    else o->at = end / 64 * 64;
    return p;
}

/* Bytes for the pairs of n rows in a form, each expert's on 64-byte borders. */
static size_t pair_bytes(const tl_hparams *hp, const experts *x, int form, int n) {
    const expert *shared = hp->n_ff_shared ? &x->all[hp->n_experts] : NULL;
    int chosen = n * hp->n_experts_used;
    size_t in = forms_in(x->all) >> form & 1 ? tl_act_bytes(form, hp->n_embd, chosen) : 0;
    size_t inside = forms_inside(x->all) >> form & 1 ? tl_act_bytes(form, hp->n_ff_expert, chosen) : 0;
    if (shared && forms_inside(shared) >> form & 1) inside += tl_act_bytes(form, hp->n_ff_shared, n);
    return (in > inside ? in : inside) + (size_t)n_all(hp) * 64;
}

static void lay_out_rows(const struct tl_model *m, const experts *x, int n, room *o, scratch *s) {
    size_t pairs = (size_t)n * (size_t)n_choices(&m->hp);
    s->pick = take(o, pairs, sizeof *s->pick);
    s->share = take(o, pairs, sizeof *s->share);
    for (int f = 0; f < TL_N_ACTS; f++) s->acts[f] = take(o, m->forms >> f & 1, pair_bytes(&m->hp, x, f, n));
}

/* Of all threads together. */
static void lay_out(const struct tl_model *m, const experts *x, int n, room *o, scratch *s) {
    const tl_hparams *hp = &m->hp;
    size_t width = (size_t)hp->n_experts_used * (size_t)hp->n_ff_expert + (size_t)hp->n_ff_shared;
    s->logits = take(o, (size_t)n, (size_t)n_all(hp) * sizeof *s->logits);
    s->inside = take(o, (size_t)n, width * sizeof *s->inside);
    lay_out_rows(m, x, n, o, s);
}

/* Of one thread; few: the largest number of rows that it prepares for itself. */
static void lay_out_own(const struct tl_model *m, const experts *x, int n, int few, room *o, scratch *s, scratch *own) {
    const tl_hparams *hp = &m->hp;
    size_t all = (size_t)n_all(hp), pairs = (size_t)n * (size_t)n_choices(hp), jobs = all < pairs ? all : pairs;
    s->p = take(o, (size_t)hp->n_experts, sizeof *s->p);
    s->first = take(o, all + 1, sizeof *s->first);
    s->row = take(o, pairs, sizeof *s->row);
    s->scale = take(o, pairs, sizeof *s->scale);
    s->in = take(o, jobs, sizeof *s->in);
    s->out = take(o, jobs, sizeof *s->out);
    lay_out_rows(m, x, few, o, own);
    for (int f = 0; f < TL_N_ACTS; f++) own->x[f] = take(o, m->forms >> f & 1, tl_act_bytes(f, hp->n_embd, few));
}

static int few_of(int n_batch) { return n_batch < TL_FEW_ROWS ? n_batch : TL_FEW_ROWS - 1; }

static void needs(const struct tl_model *m, const tl_block *b, tl_needs *n) {
    const tl_hparams *hp = &m->hp;
    int widest = hp->n_ff_expert > hp->n_ff_shared ? hp->n_ff_expert : hp->n_ff_shared;
    size_t up = tl_up_floats(n->n, widest > hp->n_embd ? widest : hp->n_embd);
    scratch s, own;
    room all = {0}, one = {0};
    lay_out(m, b->w, n->n, &all, &s);
    lay_out_own(m, b->w, n->n, few_of(n->n), &one, &s, &own);
    take(&all, (size_t)n->n_threads, one.at);
    if (all.at > n->scratch[TL_BLOCK_EXPERTS]) n->scratch[TL_BLOCK_EXPERTS] = all.at;
    if (up > n->up) n->up = up;
    n->y = 1;
}

/* alone: a thread prepares all rows for itself. */
static scratch scratch_of(const tl_run *r, const tl_worker *t, const experts *x, int alone) {
    scratch s, own;
    room all = {.base = r->scratch[TL_BLOCK_EXPERTS]}, one = {0};
    lay_out_own(r->m, x, r->n_batch, few_of(r->n_batch), &one, &s, &own);
    lay_out(r->m, x, r->n_batch, &all, &s);
    one = (room){.base = all.base + all.at + (size_t)t->thread * one.at};
    lay_out_own(r->m, x, r->n_batch, few_of(r->n_batch), &one, &s, &own);
    if (alone) {
        s.pick = own.pick;
        s.share = own.share;
        memcpy(s.acts, own.acts, sizeof s.acts);
    }
    memcpy(s.x, alone ? own.x : r->acts, sizeof s.x);
    return s;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static size_t bytes(const struct tl_model *m, const tl_block *b) {
    (void)b;
    return sizeof(experts) + (size_t)n_all(&m->hp) * sizeof(expert);
}

static void tensors(const struct tl_model *m, const tl_block *b, const tl_visitor *v) {
    const tl_hparams *hp = &m->hp;
    experts *x = b->w;
    int d = hp->n_embd, n = hp->n_experts, ff = hp->n_ff_expert, gated = tl_ffn_types[m->arch->ffn].gated;
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
    for (int i = gated ? 0 : 1; i < 3; i++) {
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
    if (gated)
        tl_visit(v, b->layer, &(tl_tensor){.name = "ffn_gate_shexp.weight", .rows = ff, .cols = d, .op = TL_OP_GATE_UP, .slot = &s->gate});
    tl_visit(v, b->layer, &(tl_tensor){.name = "ffn_up_shexp.weight", .rows = ff, .cols = d, .op = TL_OP_GATE_UP, .slot = &s->up});
    tl_visit(v, b->layer, &(tl_tensor){
        .name = "ffn_down_shexp.weight", .rows = d, .cols = ff, .role = TL_ROLE_DOWN, .op = TL_OP_DOWN, .slot = &s->down});
}

/* ---- who uses which expert --------------------------------------------------------------------------------------- */

/* The n_used experts with the largest logits (the first, where equal) in rising order, and their weights: a softmax over
 * all experts, renormalised over the chosen ones unless no_renorm. If any logit is NaN, all weights are. p [n_experts] */
static void choose(const float *logits, const tl_hparams *hp, int no_renorm, float *p, int *pick, float *share) {
    int n = hp->n_experts;
    double max = -INFINITY, all = 0, chosen = 0;
    for (int e = 0; e < n; e++) max = fmax(max, logits[e]);
    for (int e = 0; e < n; e++) all += p[e] = (float)exp(logits[e] - max);
    for (int e = 0; isnan(all) && e < n; e++) p[e] = 0;
    if (isnan(all)) chosen = all;
    for (int i = 0; i < hp->n_experts_used; i++) {
        int best = -1;
        for (int e = 0; e < n; e++)
            if (!signbit(p[e]) && (best < 0 || p[e] > p[best])) best = e;
        chosen += p[best];
        p[best] = -p[best];   /* -0 counts as chosen */
    }
    for (int e = 0, i = 0; e < n; e++)
        if (signbit(p[e])) {
            pick[i] = e;
            share[i++] = (float)(-p[e] / (no_renorm ? all : chosen));
        }
}

static void choose_all(const tl_run *r, const experts *x, const scratch *s, int row) {
    const tl_hparams *hp = &r->m->hp;
    const float *logits = s->logits + (size_t)row * (size_t)n_all(hp);
    int *pick = s->pick + (size_t)row * (size_t)n_choices(hp);
    float *share = s->share + (size_t)row * (size_t)n_choices(hp);
    choose(logits, hp, r->m->arch->no_renorm, s->p, pick, share);
    if (!hp->n_ff_shared) return;
    pick[hp->n_experts_used] = hp->n_experts;
    share[hp->n_experts_used] = x->shared_router.gemm ? (float)(1 / (1 + exp(-(double)logits[hp->n_experts]))) : 1;
}

/* Pairs of all rows by expert. */
static void sort_pairs(const tl_run *r, const scratch *s) {
    int all = n_all(&r->m->hp), choices = n_choices(&r->m->hp), pairs = r->n * choices;
    memset(s->first, 0, ((size_t)all + 1) * sizeof *s->first);
    for (int i = 0; i < pairs; i++) s->first[s->pick[i] + 1]++;
    for (int e = 0; e < all; e++) s->first[e + 1] += s->first[e];
    for (int i = 0; i < pairs; i++) {
        int at = s->first[s->pick[i]]++;
        s->row[at] = i / choices;
        s->scale[at] = s->share[i];
    }
    memmove(s->first + 1, s->first, (size_t)all * sizeof *s->first);   /* each has become the next one's */
    s->first[0] = 0;
}

/* ---- the two steps ----------------------------------------------------------------------------------------------- */

/* The part of n items that a thread prepares, and the wait until all are ready. */
static void part_of(int n, const tl_worker *t, int alone, int *begin, int *end) {
    *begin = 0;
    *end = n;
    if (!alone) tl_split(n, 1, t->thread, t->n_threads, begin, end);
}
static void meet(tl_run *r, tl_worker *t, int alone) {
    if (!alone) tl_pool_barrier(t->pool);
    tl_mark(r, t, TL_OP_PREPARE);
}

static int at_most(int a, int b) { return a < b ? a : b; }
static int at_least(int a, int b) { return a > b ? a : b; }

/* Room for n tokens in s->acts; at [TL_N_ACTS]: where the free part begins. */
static tl_acts take_acts(const scratch *s, size_t *at, unsigned forms, int k, int n) {
    tl_acts x = {.n = n, .k = k};
    for (int f = 0; f < TL_N_ACTS; f++) {
        if (!(forms >> f & 1)) continue;
        x.form[f] = (char *)s->acts[f] + at[f];
        at[f] += (tl_act_bytes(f, k, n) + 63) / 64 * 64;
    }
    return x;
}

/* A layer's [n_experts][width] values of an expert; NULL: none, and none of the shared one. */
static const float *bias_of(const tl_hparams *hp, const float *all, int e, int width) {
    return all && e < hp->n_experts ? all + (size_t)e * (size_t)width : NULL;
}

/* What the block reads, in the forms of router and experts. */
static tl_acts prepare(tl_run *r, tl_worker *t, const tl_block *b, const scratch *s, int alone) {
    const tl_hparams *hp = &r->m->hp;
    const experts *x = b->w;
    const tl_weight *routers[] = {&x->router, &x->shared_router};
    int begin, end;
    tl_prepare p = {.src = r->x, .stride = (size_t)hp->n_embd, .n = r->n, .k = hp->n_embd, .norm = b->norm.w ? &b->norm : NULL,
                    .forms = tl_weight_forms(routers, 2) | forms_in(x->all)};
    if (hp->n_ff_shared) p.forms |= forms_in(&x->all[hp->n_experts]);
    tl_acts a = {.n = r->n, .k = hp->n_embd};
    memcpy(a.form, s->x, sizeof a.form);
    part_of(r->n, t, alone, &begin, &end);
    for (int i = begin; i < end; i++) tl_acts_put(t, &p, i, &a, i);
    meet(r, t, alone);
    return a;
}

/* Choices and pairs of all rows, from what the block reads. */
static void route(tl_run *r, tl_worker *t, const experts *x, const scratch *s, const tl_acts *a, int alone) {
    const tl_hparams *hp = &r->m->hp;
    size_t width = (size_t)n_all(hp);
    int begin, end;
    tl_product p[] = {{&x->router, x->router_bias, s->logits, width, 0}, {&x->shared_router, NULL, s->logits + hp->n_experts, width, 0}};
    tl_matmul(t, a, p, x->shared_router.gemm ? 2 : 1);
    tl_pool_barrier(t->pool);
    tl_mark(r, t, TL_OP_GATE_UP);
    part_of(r->n, t, alone, &begin, &end);
    for (int i = begin; i < end; i++) choose_all(r, x, s, i);
    meet(r, t, alone);
    sort_pairs(r, s);
}

static void in(tl_run *r, tl_worker *t, const tl_block *b) {
    const tl_hparams *hp = &r->m->hp;
    const experts *x = b->w;
    int alone = r->n < TL_FEW_ROWS, n = 0, begin, end;
    scratch s = scratch_of(r, t, x, alone);
    tl_acts a = prepare(r, t, b, &s, alone);
    route(r, t, x, &s, &a, alone);
    size_t at[TL_N_ACTS] = {0};
    part_of(r->n * n_choices(hp), t, alone, &begin, &end);
    for (int e = 0; e < n_all(hp); e++) {
        const expert *ex = &x->all[e];
        int first = s.first[e], rows = s.first[e + 1] - first, ff = ex->up.rows;
        if (!rows) continue;
        tl_gated *g = &s.in[n++];
        *g = (tl_gated){.x = a, .gate = ex->gate.gemm ? &ex->gate : NULL, .up = &ex->up, .gate_bias = bias_of(hp, x->gate_bias, e, ff),
                        .up_bias = bias_of(hp, x->up_bias, e, ff), .act = r->m->k.ffn[r->m->arch->ffn],
                        .y = s.inside + (size_t)first * (size_t)hp->n_ff_expert, .stride = (size_t)ff};
        if (rows == r->n) continue;   /* all rows, in their order */
        g->x = take_acts(&s, at, forms_in(ex), hp->n_embd, rows);
        for (int i = at_least(first, begin); i < at_most(first + rows, end); i++)
            tl_acts_copy(forms_in(ex), &g->x, i - first, &a, s.row[i]);
    }
    meet(r, t, alone);
    tl_matmul_gated(t, s.in, n);
    tl_pool_barrier(t->pool);
    tl_mark(r, t, TL_OP_GATE_UP);
}

static void out(tl_run *r, tl_worker *t, const tl_block *b) {
    const tl_hparams *hp = &r->m->hp;
    const experts *x = b->w;
    int alone = r->n < TL_FEW_ROWS, n = 0, begin, end;
    scratch s = scratch_of(r, t, x, alone);
    size_t at[TL_N_ACTS] = {0};
    part_of(r->n * n_choices(hp), t, alone, &begin, &end);
    for (int e = 0; e < n_all(hp); e++) {
        const expert *ex = &x->all[e];
        int first = s.first[e], rows = s.first[e + 1] - first, ff = ex->down.cols;
        if (!rows) continue;
        tl_prepare p = {.src = s.inside + (size_t)first * (size_t)hp->n_ff_expert, .stride = (size_t)ff, .n = rows, .k = ff,
                        .forms = forms_inside(ex)};
        tl_acts a = take_acts(&s, at, p.forms, ff, rows);
        for (int i = at_least(first, begin); i < at_most(first + rows, end); i++) tl_acts_put(t, &p, i - first, &a, i - first);
        s.out[n++] = (tl_part){.w = &ex->down, .bias = bias_of(hp, x->down_bias, e, hp->n_embd), .x = a, .row = s.row + first,
                               .scale = s.scale + first};
    }
    meet(r, t, alone);
    tl_matmul_sum(t, &(tl_sum){.part = s.out, .n_parts = n, .n = r->n, .y = r->y, .residual = b->post_norm.w ? NULL : r->x,
                               .stride = (size_t)hp->n_embd});
    tl_pool_barrier(t->pool);
    tl_mark(r, t, TL_OP_DOWN);
    if (b->post_norm.w) tl_block_join(r, t, b);
}

extern const tl_block_kind tl_block_experts;
const tl_block_kind tl_block_experts = {
    .name = "experts", .bytes = bytes, .tensors = tensors, .needs = needs, .in = in, .out = out};
