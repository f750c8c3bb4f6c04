/* SPDX-License-Identifier: MIT
 *
 * Products of weights with a batch of activations, split over threads.
 * Several tokens: threads claim TL_CLAIM_ROWS rows at a time, so that a slow thread does not hold up the others. One
 * token: seven eighths of the rows are dealt out in advance, a long stream to read for each thread; the rest is claimed
 * by whoever is done first. */
#include "compute/compute.h"

unsigned tl_weight_forms(const tl_weight *const *w, int n) {
    unsigned forms = 0;
    for (int i = 0; i < n; i++)
        if (w[i]->gemm) forms |= 1u << w[i]->gemm->act;
    return forms;
}

/* Row i of the source as token at of n. */
static void prepare_row(tl_worker *t, const tl_prepare *p, int i, void *const *to, int n, int at) {
    const float *x = p->src + (size_t)(p->rows ? p->rows[i] : i) * p->stride;
    if (p->norm) {
        tl_norm_row(t->k, p->norm, t->row, x, p->k);
        x = t->row;
    }
    for (int f = 0; f < TL_N_ACTS; f++)
        if (p->forms >> f & 1) t->k->put_act[f](x, p->k, to[f], n, at);
}

tl_acts tl_acts_prepare(tl_worker *t, const tl_prepare *p) {
    if (p->n == 1) {
        prepare_row(t, p, 0, t->own, 1, 0);
        return (tl_acts){t->own, 1, p->k};
    }
    int begin, end;
    tl_split(p->n, 1, t->thread, t->n_threads, &begin, &end);
    for (int i = begin; i < end; i++) prepare_row(t, p, i, p->shared, p->n, i);
    tl_pool_barrier(t->pool);
    return (tl_acts){p->shared, p->n, p->k};
}

/* Rows from row r on, as the kernel reads them. */
static const void *rows_at(const tl_weight *w, int r) {
    const tl_gemm *g = w->gemm;
    return (const uint8_t *)w->w + (g->rows == 1 ? (size_t)r * w->row_bytes : (size_t)(r / g->rows) * g->group_bytes(w->cols));
}

/* The same for rows [r0, r1) of a matrix that is not packed, at most TL_CLAIM_ROWS: packed into the thread's own memory,
 * so that the same kernel gives the same bits. Gone with the next call. */
static const void *pack_rows(const tl_worker *t, const tl_weight *w, int r0, int r1) {
    const tl_gemm *g = w->gemm;
    uint8_t *to = t->groups;
    for (int r = r0; r < r1; r += g->rows, to += g->group_bytes(w->cols))
        g->pack(w->raw + (size_t)r * w->row_bytes, w->row_bytes, r1 - r < g->rows ? r1 - r : g->rows, w->cols, to);
    return t->groups;
}

/* Rows [r0, r1) of w, plus bias; y points at the result of row r0 of the first token. */
static void run_rows(tl_worker *t, const tl_acts *x, const tl_weight *w, const float *bias, int r0, int r1, float *y, size_t stride,
                     int add) {
    const tl_gemm *g = w->gemm;
    tl_gemm_args a = {
        .type = w->type, .k = w->cols, .n = x->n, .x = x->form[g->act],
        .y_stride = stride, .add = add, .scratch = t->scratch,
    };
    for (int r = r0, end; r < r1; r = end) {
        end = w->w || r1 - r < TL_CLAIM_ROWS ? r1 : r + TL_CLAIM_ROWS;
        a.w = w->w ? rows_at(w, r) : pack_rows(t, w, r, end);
        a.r1 = end - r;
        a.y = y + (r - r0);
        g->run(&a);
    }
    for (int i = 0; bias && i < x->n; i++) t->k->add(y + (size_t)i * stride, bias + r0, r1 - r0);
}

/* The unit of row ranges: a multiple of every group size in use, so that one unit fits all products of a list. */
#define UNIT 16

static int units_of(const tl_weight *w) { return (w->rows + UNIT - 1) / UNIT; }

/* Units [u0, u1) of the products laid end to end. */
static void run_units(tl_worker *t, const tl_acts *x, const tl_product *p, int n, int u0, int u1) {
    for (int i = 0, at = 0; i < n && at < u1; i++) {
        int units = units_of(p[i].w), a = u0 - at, b = u1 - at;
        if (a < 0) a = 0;
        if (b > units) b = units;
        int end = b * UNIT < p[i].w->rows ? b * UNIT : p[i].w->rows;
        if (a < b) {
            int r0 = a * UNIT;
            run_rows(t, x, p[i].w, p[i].bias, r0, end, p[i].y + r0, p[i].stride, p[i].add);
        }
        at += units;
    }
}

int tl_worker_counter(tl_worker *t) {
    int i = t->products++;
    if (t->thread == 0) tl_pool_rewind(t->pool, (i + 2) % TL_POOL_COUNTERS);
    return i % TL_POOL_COUNTERS;
}

/* The units of a step as a thread meets them: first a range dealt out in advance, then what it claims. */
typedef struct task { int units, dealt, step, slot, begun; } task;

static task task_of(tl_worker *t, int units, int n_tokens) {
    task k = {.units = units, .step = TL_CLAIM_ROWS / UNIT, .slot = tl_worker_counter(t)};
    if (n_tokens == 1) k.dealt = t->n_threads == 1 ? units : units * 7 / 8, k.step = 4;
    return k;
}

/* Next range [*u0, *u1) of this thread; 0: there is none. */
static int next_range(const tl_worker *t, task *k, int *u0, int *u1) {
    if (!k->begun++) {
        tl_split(k->dealt, 1, t->thread, t->n_threads, u0, u1);
        if (*u0 < *u1) return 1;
    }
    *u0 = k->dealt + tl_pool_next(t->pool, k->slot) * k->step;
    *u1 = *u0 + k->step < k->units ? *u0 + k->step : k->units;
    return *u0 < k->units;
}

void tl_matmul(tl_worker *t, const tl_acts *x, const tl_product *p, int n_products) {
    int units = 0, u0, u1;
    for (int i = 0; i < n_products; i++) units += units_of(p[i].w);
    task k = task_of(t, units, x->n);
    while (next_range(t, &k, &u0, &u1)) run_units(t, x, p, n_products, u0, u1);
}

void tl_matmul_gated(tl_worker *t, const tl_acts *x, const tl_gated *g) {
    task k = task_of(t, units_of(g->up), x->n);
    for (int u0, u1; next_range(t, &k, &u0, &u1);) {
        int r0 = u0 * UNIT, r1 = u1 * UNIT < g->up->rows ? u1 * UNIT : g->up->rows;
        size_t width = (size_t)(r1 - r0);
        if (!g->gate) {
            run_rows(t, x, g->up, g->up_bias, r0, r1, g->y + r0, g->stride, 0);
            for (int i = 0; i < x->n; i++) g->plain(g->y + (size_t)i * g->stride + r0, r1 - r0);
            continue;
        }
        run_rows(t, x, g->gate, g->gate_bias, r0, r1, g->y + r0, g->stride, 0);
        run_rows(t, x, g->up, g->up_bias, r0, r1, t->up, width, 0);
        for (int i = 0; i < x->n; i++) g->act(g->y + (size_t)i * g->stride + r0, t->up + (size_t)i * width, r1 - r0);
    }
}
