/* SPDX-License-Identifier: MIT
 *
 * Products of weights with a batch of activations, split over threads.
 * Several tokens: threads claim TL_CLAIM_ROWS rows at a time, so that a slow thread does not hold up the others. One
 * token: seven eighths of the rows are dealt out in advance, a long stream to read for each thread; the rest is claimed
 * by whoever is done first. */
#include "compute/compute.h"

#include <string.h>

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
        .y_stride = stride, .add = add, .scratch = t->scratch, .stream_from = t->k->stream_from,
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

/* Rows of w within units [u0, u1) of matrices laid end to end, w beginning at unit at; 0: there are none. */
static int rows_within(const tl_weight *w, int at, int u0, int u1, int *r0, int *r1) {
    int units = units_of(w), a = u0 > at ? u0 - at : 0, b = u1 - at < units ? u1 - at : units;
    *r0 = a * UNIT;
    *r1 = b * UNIT < w->rows ? b * UNIT : w->rows;
    return a < b;
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
    int units = 0, u0, u1, r0, r1;
    for (int i = 0; i < n_products; i++) units += units_of(p[i].w);
    task k = task_of(t, units, x->n);
    while (next_range(t, &k, &u0, &u1))
        for (int i = 0, at = 0; i < n_products && at < u1; at += units_of(p[i++].w))
            if (rows_within(p[i].w, at, u0, u1, &r0, &r1))
                run_rows(t, x, p[i].w, p[i].bias, r0, r1, p[i].y + r0, p[i].stride, p[i].add);
}

static void run_gated(tl_worker *t, const tl_gated *g, int r0, int r1) {
    size_t width = (size_t)(r1 - r0);
    float *y = g->y + r0;
    if (!g->gate) {
        run_rows(t, &g->x, g->up, g->up_bias, r0, r1, y, g->stride, 0);
        for (int i = 0; i < g->x.n; i++) g->act(y + (size_t)i * g->stride, NULL, r1 - r0);
        return;
    }
    run_rows(t, &g->x, g->gate, g->gate_bias, r0, r1, y, g->stride, 0);
    run_rows(t, &g->x, g->up, g->up_bias, r0, r1, t->up, width, 0);
    for (int i = 0; i < g->x.n; i++) g->act(y + (size_t)i * g->stride, t->up + (size_t)i * width, r1 - r0);
}

void tl_matmul_gated(tl_worker *t, const tl_gated *g, int n) {
    int units = 0, most = 1, u0, u1, r0, r1;
    for (int i = 0; i < n; i++) {
        units += units_of(g[i].up);
        if (g[i].x.n > most) most = g[i].x.n;
    }
    task k = task_of(t, units, most);
    for (int i = 0, at = 0; next_range(t, &k, &u0, &u1);) {
        for (; at + units_of(g[i].up) <= u0; i++) at += units_of(g[i].up);   /* a thread's ranges rise */
        for (int j = i, end = at; j < n && end < u1; end += units_of(g[j++].up))
            if (rows_within(g[j].up, end, u0, u1, &r0, &r1)) run_gated(t, &g[j], r0, r1);
    }
}

static int clamp(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }

/* Rows [r0, r1) of a part, added to y. A single token's are one stream of weights; those of several are cut so that
 * they find room in t->up. */
static void add_part(tl_worker *t, const tl_part *p, int r0, int r1, float *y, size_t stride) {
    for (int r = r0, end; r < r1; r = end) {
        end = p->x.n == 1 || r1 - r < TL_CLAIM_ROWS ? r1 : r + TL_CLAIM_ROWS;
        size_t width = (size_t)(end - r);
        run_rows(t, &p->x, p->w, p->bias, r, end, t->up, width, 0);
        for (int i = 0; i < p->x.n; i++) {
            const float scale = p->scale[i], *from = t->up + (size_t)i * width;
            float *to = y + (size_t)p->row[i] * stride + r;
            for (size_t j = 0; j < width; j++) to[j] += scale * from[j];
        }
    }
}

void tl_matmul_sum(tl_worker *t, const tl_sum *s) {
    int rows = s->part[0].w->rows, units = units_of(s->part[0].w);
    task k = task_of(t, units, s->n);
    /* Each range walks the activations of all parts: long ones, but enough of them to keep all threads busy. */
    if (s->n > 1) k.step = clamp(units / (16 * t->n_threads), TL_CLAIM_ROWS / UNIT, 4 * TL_CLAIM_ROWS / UNIT);
    for (int u0, u1; next_range(t, &k, &u0, &u1);) {
        int r0 = u0 * UNIT, r1 = u1 * UNIT < rows ? u1 * UNIT : rows;
        for (int i = 0; i < s->n; i++) memset(s->y + (size_t)i * s->stride + r0, 0, (size_t)(r1 - r0) * sizeof *s->y);
        for (int i = 0; i < s->n_parts; i++) add_part(t, &s->part[i], r0, r1, s->y, s->stride);
        for (int i = 0; s->residual && i < s->n; i++)
            t->k->add(s->residual + (size_t)i * s->stride + r0, s->y + (size_t)i * s->stride + r0, r1 - r0);
    }
}
