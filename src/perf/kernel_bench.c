/* SPDX-License-Identifier: MIT
 *
 * kernel_bench.c: every kernel alone, with one thread, at a few sizes. With one token the weights come from memory:
 * calls walk over copies of the matrix that together are twice as large as the caches. With several tokens they stay
 * in the caches, and a call covers as many rows as a thread of the forward pass claims at a time. Values do not
 * matter for the time as long as they are ordinary numbers. */
#include "perf/internal.h"

#include <math.h>
#include <string.h>

#define SAMPLE_SECONDS 0.010
#define CLAIM_ROWS 32             /* as TL_CLAIM_ROWS of compute.h */
enum { MAX_ROWS = 8192, MAX_K = 2048, MAX_N = 512 };
static const struct { int rows, k; } sizes[] = {{576, 576}, {2048, 2048}, {8192, 2048}};
static const int tokens[] = {1, 8, 512};

const tl_col tl_kernel_cols[] = {
    {"kernel", "kernel", TL_COL_TEXT | TL_COL_ONCE, 0}, {"level", NULL, TL_COL_TEXT, 0}, {"type", NULL, TL_COL_TEXT, 0},
    {"op", NULL, TL_COL_TEXT, 0}, {"rows", "rows", TL_COL_NUM, 0}, {"k", "k", TL_COL_NUM, 0},
    {"n", "tokens", TL_COL_NUM, 0}, {"weights", NULL, TL_COL_TEXT, 0}, {"ns", "ns/run", TL_COL_NUM, 0},
    {"gb_s", "GB/s", TL_COL_NUM, 2}, {"gmac_s", "GMAC/s", TL_COL_NUM, 1}, {"memory_share", "of read", TL_COL_NUM, 2},
    {"compute_share", "of peak", TL_COL_NUM, 2}, {"spread", NULL, TL_COL_NUM, 3}, {"samples", NULL, TL_COL_NUM, 0},
    {"discarded", NULL, TL_COL_NUM, 0}, {"regime", NULL, TL_COL_TEXT, 0}, {NULL, "limit", TL_COL_TEXT, 0},
    {NULL, "", TL_COL_TEXT, 0}, {"note", NULL, TL_COL_TEXT, 0},
};
const int tl_n_kernel_cols = (int)(sizeof tl_kernel_cols / sizeof *tl_kernel_cols);

/* Memory for all kernels, as large as the largest needs. */
typedef struct bench {
    const tl_kernel_options *o;
    const tl_machine *m;          /* NULL: no shares */
    tl_table *t;
    tl_kernels *k;                /* [n_levels] tables in the order measured */
    const char *level;
    char *weights, *act, *scratch;
    float *x, *y;                 /* [MAX_N][MAX_K], [MAX_N][MAX_ROWS] */
    size_t weight_bytes;
    int dry, n_selected;          /* dry: kernels are only counted */
} bench;

#define ACT_BYTES ((size_t)MAX_N * MAX_K * 4)
#define Y_BYTES ((size_t)MAX_N * MAX_ROWS * 4)

/* One row of the table to be measured. */
typedef struct task {
    const char *kernel, *type, *op, *weights;
    int rows, k, n;
    double bytes, macs;           /* of the whole */
    double calls;                 /* calls that make up the whole */
    double floats;                /* of macs, those between floats; -1: no peak fits */
    void (*call)(void *arg);
    void *arg;
} task;

/* ---- time ------------------------------------------------------------------------------------------------------- */

static double time_calls(const task *t, int64_t calls) {
    double start = tl_now();
    for (int64_t i = 0; i < calls; i++) t->call(t->arg);
    return (tl_now() - start) / (double)calls;
}

/* Seconds per call. Before the samples, calls until they fill a sample's time warm up caches and clock. */
static tl_stat measure(const bench *b, const task *t) {
    tl_samples s = {.want = b->o->samples > 0 ? b->o->samples : 5};
    s.tries = 3 * s.want < TL_MAX_SAMPLES ? 3 * s.want : TL_MAX_SAMPLES;
    int64_t calls = 1;
    double each;
    while ((each = time_calls(t, calls)) * (double)calls < SAMPLE_SECONDS / 4) calls *= 2;
    calls = (int64_t)(SAMPLE_SECONDS / each) + 1;
    if (b->o->loop > 0) {
        double begin = tl_now(), end;
        int64_t batches = 0;
        do {
            time_calls(t, calls);
            batches++;
        } while ((end = tl_now()) - begin < b->o->loop);
        tl_samples_add(&s, (end - begin) / (double)(batches * calls), 0);
        return tl_samples_stat(&s);
    }
    while (tl_samples_more(&s)) {
        tl_disturb d;
        tl_disturb_begin(&d);
        each = time_calls(t, calls);
        tl_samples_add(&s, each, tl_disturb_end(&d, 1));
    }
    return tl_samples_stat(&s);
}

static void measure_row(const bench *b, const task *t) {
    char text[96];
    snprintf(text, sizeof text, "%s %dx%d, %d", t->kernel, t->rows, t->k, t->n);
    if (b->o->progress) b->o->progress(b->o->progress_user, text);
    tl_stat s = measure(b, t);
    double seconds = tl_stat_time(&s) * t->calls;
    int dram = t->weights && !strcmp(t->weights, "dram");
    double bandwidth = b->m && dram ? tl_machine_bandwidth(b->m, 1, (int64_t)b->weight_bytes) : 0;
    double peak = b->m && t->floats >= 0
                      ? tl_peak_mixed(t->macs, t->floats, tl_machine_peak(b->m, b->level, TL_PEAK_INT8, 1),
                                      tl_machine_peak(b->m, b->level, TL_PEAK_F32, 1))
                      : 0;
    tl_roofline r = tl_regime(t->bytes, t->macs, seconds, bandwidth, peak);
    tl_table_str(b->t, t->kernel);
    tl_table_str(b->t, b->level);
    tl_table_str(b->t, t->type);
    tl_table_str(b->t, t->op);
    tl_table_num(b->t, t->rows ? t->rows : NAN);
    tl_table_num(b->t, t->k);
    tl_table_num(b->t, t->n);
    tl_table_str(b->t, t->weights);
    tl_table_num(b->t, seconds * 1e9);
    tl_table_num(b->t, r.gb_s);
    tl_table_num(b->t, t->macs > 0 ? r.gmac_s : NAN);
    tl_table_num(b->t, bandwidth > 0 ? r.memory_share : NAN);
    tl_table_num(b->t, peak > 0 ? r.compute_share : NAN);
    tl_table_num(b->t, s.spread);
    tl_table_num(b->t, s.n);
    tl_table_num(b->t, s.discarded);
    tl_table_str(b->t, r.regime == TL_REGIME_UNKNOWN ? NULL : r.name);
    tl_table_str(b->t, r.regime == TL_REGIME_UNKNOWN ? NULL : r.bound);
    tl_table_str(b->t, tl_stat_mark(&s));
    tl_table_str(b->t, tl_stat_note(&s, text, sizeof text));
}

/* ---- products --------------------------------------------------------------------------------------------------- */

typedef struct product {
    const tl_gemm *gemm;
    tl_gemm_args a;
    const char *weights;
    size_t copy_bytes;
    int copies, at, rows, step;   /* a call covers step rows; after the last row comes the next copy */
} product;

static void call_product(void *arg) {
    product *p = arg;
    p->a.r0 = p->a.r1 < p->rows ? p->a.r1 : 0;
    p->a.r1 = p->a.r0 + p->step;
    if (p->a.r0 == 0) {
        p->at = p->at + 1 < p->copies ? p->at + 1 : 0;
        p->a.w = p->weights + p->copy_bytes * (size_t)p->at;
    }
    p->gemm->run(&p->a);
}

/* Bytes 0x20..0x2f: wherever a type holds a float or an exponent, that is a number of ordinary size. */
static void fill_pattern(char *p, size_t n) {
    uint32_t x = 1;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        p[i] = (char)(0x20 | x >> 28);
    }
}

/* As many copies of the matrix as fit, every group the same. Returns the bytes of a copy. */
static size_t fill_weights(const bench *b, const tl_gemm *g, const tl_type_info *info, int rows, int k, int copies) {
    size_t row_bytes = (size_t)(k / info->elems) * (size_t)info->bytes;
    size_t unit = g->rows > 1 ? g->group_bytes(k) : row_bytes, copy = unit * (size_t)(rows / g->rows);
    if (g->rows > 1) {
        fill_pattern(b->act, row_bytes * (size_t)g->rows);   /* the activations come later */
        g->pack(b->act, row_bytes, g->rows, k, b->weights);
    } else fill_pattern(b->weights, row_bytes);
    for (size_t at = unit; at < copy; at += unit) memcpy(b->weights + at, b->weights, unit);
    copy = (copy + 63) / 64 * 64;
    for (int i = 1; i < copies && copy * (size_t)(i + 1) <= b->weight_bytes; i++)
        memcpy(b->weights + copy * (size_t)i, b->weights, copy);
    return copy;
}

static void fill_act(const bench *b, const tl_kernels *k, int act, int cols, int n) {
    for (int t = 0; t < n; t++) k->put_act[act](b->x, cols, b->act, n, t);
}

static void bench_product(const bench *b, const tl_kernels *k, int type, int rows, int cols) {
    const tl_gemm *g = &k->gemm[type];
    const tl_type_info *info = tl_type_info_get((uint32_t)type);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        int n = tokens[i], stream = n == 1;
        size_t copy = fill_weights(b, g, info, rows, cols, stream ? 1 << 20 : 1);
        int copies = stream ? (int)(b->weight_bytes / copy) : 1;
        tl_gemm_args a = {.type = type, .k = cols, .x = b->act, .n = n, .y = b->y, .y_stride = MAX_ROWS,
                          .scratch = b->scratch, .stream_from = k->stream_from};
        product p = {g, a, b->weights, copy, copies, -1, rows, stream ? rows : CLAIM_ROWS};
        fill_act(b, k, g->act, cols, n);
        task t = {.kernel = g->name, .type = info->name, .op = stream ? "gemv" : "gemm",
                  .weights = copies > 1 ? "dram" : "cache", .rows = rows, .k = cols, .n = n,
                  .bytes = (double)copy, .macs = (double)rows * cols * n, .calls = (double)rows / p.step,
                  .floats = g->act == TL_ACT_F32 ? (double)rows * cols * n : 0, .call = call_product, .arg = &p};
        measure_row(b, &t);
    }
}

/* ---- vector operations ------------------------------------------------------------------------------------------ */

typedef struct vec_call { const bench *b; const tl_kernels *k; } vec_call;
enum { VEC = 2048, ROPE = 64 };

static void call_put_q8(void *p) { vec_call *c = p; c->k->put_act[TL_ACT_Q8](c->b->x, VEC, c->b->act, 1, 0); }
static void call_put_q8k(void *p) { vec_call *c = p; c->k->put_act[TL_ACT_Q8K](c->b->x, VEC, c->b->act, 1, 0); }
static void call_norm(void *p) { vec_call *c = p; c->k->rms_norm(c->b->y, c->b->x, c->b->x, VEC, 1e-5f); }
static void call_layer_norm(void *p) { vec_call *c = p; c->k->layer_norm(c->b->y, c->b->x, c->b->x, c->b->x, VEC, 1e-5f); }
static void call_dot(void *p) { vec_call *c = p; c->b->y[0] = c->k->dot_f32(c->b->x, c->b->x + VEC, VEC); }
#define FFN(NAME, name, gated, vector) \
    static void call_##name(void *p) { vec_call *c = p; c->k->ffn[TL_FFN_##NAME](c->b->y, c->b->x, VEC); }
#include "ffn.def"
#undef FFN
static void call_rope(void *p) { vec_call *c = p; c->k->rope(c->b->y, c->b->x, ROPE, TL_ROPE_NEOX); }
static void call_sum_exp(void *p) { vec_call *c = p; c->b->y[0] = (float)c->k->log_sum_exp(c->b->x, VEC); }

#define SLOT(member) offsetof(tl_kernels, member)
static const struct { const char *name; void (*call)(void *); size_t slot; int n; double bytes, macs; } vecs[] = {
    {"put_act_q8", call_put_q8, SLOT(put_act[TL_ACT_Q8]), VEC, VEC * 4 + VEC / 32 * TL_ACT_Q8_BYTES, 0},
    {"put_act_q8k", call_put_q8k, SLOT(put_act[TL_ACT_Q8K]), VEC, VEC * 4 + VEC / 256 * TL_ACT_Q8K_BYTES, 0},
    {"rms_norm", call_norm, SLOT(rms_norm), VEC, VEC * 12, 0},
    {"layer_norm", call_layer_norm, SLOT(layer_norm), VEC, VEC * 16, 0},
    {"dot_f32", call_dot, SLOT(dot_f32), VEC, VEC * 8, VEC},
#define FFN(NAME, name, gated, vector) {#name, call_##name, SLOT(ffn[TL_FFN_##NAME]), VEC, VEC * (gated ? 12 : 8), 0},
#include "ffn.def"
#undef FFN
    {"rope", call_rope, SLOT(rope), ROPE, ROPE * 12, 0},
    {"log_sum_exp", call_sum_exp, SLOT(log_sum_exp), VEC, VEC * 4, 0},
};

/* Did one of the levels before have the same function in the slot? All slots compared are pointers to functions. */
static int slot_known(const bench *b, int at, size_t slot) {
    for (int i = 0; i < at; i++)
        if (!memcmp((const char *)&b->k[at] + slot, (const char *)&b->k[i] + slot, sizeof(void (*)(void)))) return 1;
    return 0;
}

/* Is this kernel to be measured now? */
static int selected(bench *b, const char *name) {
    if (b->o->filter && !strstr(name, b->o->filter)) return 0;
    b->n_selected++;
    return !b->dry;
}

static void bench_vec(bench *b, int at, size_t i) {
    char name[64];
    snprintf(name, sizeof name, "%s_%s", vecs[i].name, b->level);
    if (!selected(b, name)) return;
    vec_call c = {b, &b->k[at]};
    task t = {.kernel = name, .op = "vec", .k = vecs[i].n, .n = 1, .bytes = vecs[i].bytes, .macs = vecs[i].macs,
              .calls = 1, .floats = -1, .call = vecs[i].call, .arg = &c};
    measure_row(b, &t);
}

/* ---- attention -------------------------------------------------------------------------------------------------- */

/* Queries that share a kv head: while one token is decoded, and of 16 prompt tokens with 3 heads each. */
static const int queries[] = {1, 2, 3, 4, 48};
static const int head_sizes[] = {64, 128};
enum { MAX_QUERIES = 48, MAX_HEAD = 128, ATTN_PART = 128 << 10 };   /* part of b->act: K, V or the queries */

typedef struct attn_call { void (*attn)(const tl_attn_args *); tl_attn_args a; } attn_call;

static void call_attn(void *p) { attn_call *c = p; c->attn(&c->a); }

/* A page and queries as the cache's own functions write them. The queries have been here before: their maximum stays. */
static void fill_attn(const bench *b, const tl_kv_ops *ops, int hd) {
    char *q = b->act + 2 * ATTN_PART;
    for (int p = 0; p < TL_KV_PAGE; p++) {
        ops->put_k(b->act, b->x + p * hd, hd, p);
        ops->put_v(b->act + ATTN_PART, b->x + p * hd, hd, p);
    }
    for (int d = 0; d < hd; d++) b->y[d] = b->x[d] / sqrtf((float)hd);
    for (int i = 0; i < MAX_QUERIES; i++) ops->put_q(q + (size_t)(i * hd) * sizeof(float), b->y, hd);
    memset(b->y, 0, (MAX_QUERIES * (MAX_HEAD + 2)) * sizeof *b->y);
}

static void bench_attn(bench *b, int at, int kv) {
    const tl_kv_ops *ops = &b->k[at].kv[kv];
    static int32_t lo[MAX_QUERIES], hi[MAX_QUERIES];
    char name[64];
    snprintf(name, sizeof name, "attn_%s_%s", ops->name, b->level);
    if (!selected(b, name)) return;
    for (int i = 0; i < MAX_QUERIES; i++) hi[i] = TL_KV_PAGE;
    for (size_t h = 0; h < sizeof head_sizes / sizeof *head_sizes; h++) {
        const int hd = head_sizes[h];
        float *acc = b->y, *m = acc + MAX_QUERIES * MAX_HEAD;
        fill_attn(b, ops, hd);
        for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
            attn_call c = {ops->attn, {.q = b->act + 2 * ATTN_PART, .nq = queries[i], .hk = hd, .hv = hd, .k = b->act,
                                       .v = b->act + ATTN_PART, .lo = lo, .hi = hi, .m = m, .s = m + MAX_QUERIES,
                                       .acc = acc, .scratch = (float *)(void *)b->scratch}};
            task t = {.kernel = name, .type = ops->name, .op = "attn", .weights = "cache", .rows = TL_KV_PAGE, .k = hd,
                      .n = queries[i], .bytes = 2.0 * (double)tl_kv_page_bytes(ops, hd),
                      .macs = 2.0 * queries[i] * hd * TL_KV_PAGE, .calls = 1, .call = call_attn, .arg = &c};
            t.floats = ops->elems > 1 ? t.macs / 2 : t.macs;   /* scores of codes are integer products */
            measure_row(b, &t);
        }
    }
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static void bench_level(bench *b, int at, int level) {
    b->level = tl_levels[level].name;
    tl_kernels_init(&b->k[at], level);
    for (int type = 0; type < TL_N_TYPES; type++) {
        const tl_gemm *g = &b->k[at].gemm[type];
        if (!g->run || !selected(b, g->name)) continue;
        int known = 0;   /* one function may serve several types: the name tells them apart */
        for (int i = 0; i < at; i++) known |= !strcmp(b->k[i].gemm[type].name, g->name);
        int block = tl_type_info_get((uint32_t)type)->elems;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !known; i++)
            if (sizes[i].k % block == 0) bench_product(b, &b->k[at], type, sizes[i].rows, sizes[i].k);
    }
    for (size_t i = 0; i < sizeof vecs / sizeof *vecs; i++)
        if (!slot_known(b, at, vecs[i].slot)) bench_vec(b, at, i);
    for (int kv = 0; kv < TL_N_KV; kv++)
        if (!slot_known(b, at, SLOT(kv[0].attn) + (size_t)kv * sizeof(tl_kv_ops))) bench_attn(b, at, kv);
}

static int chosen_levels(const tl_kernel_options *o, int levels[16]) {
    int n = 0;
    memcpy(levels, o->levels, sizeof o->levels);
    if (o->n_levels > 0) return o->n_levels;
    for (int i = 0; tl_levels[i].name && n < 16; i++)
        if (!(tl_levels[i].needs & ~tl_cpu_features())) levels[n++] = i;
    return n;
}

/* Twice the last cache, at least 3 of the largest matrices (f32). */
static size_t streamed_bytes(void) {
    tl_system s;
    tl_system_read("/", &s);
    int64_t n = 2 * s.llc, least = 3ll * MAX_ROWS * MAX_K * 4, most = 512ll << 20;
    if (n < least) n = least;
    if (n > most) n = most;
    return (size_t)n;
}

int tl_kernels_check(const tl_kernel_options *o, tl_error *err) {
    int levels[16], n = chosen_levels(o, levels);
    bench b = {.o = o, .dry = 1};
    b.k = tl_alloc_n((size_t)n, sizeof *b.k, "kernel tables", err);
    if (!b.k) return TL_E_MEMORY;
    for (int i = 0; i < n; i++) bench_level(&b, i, levels[i]);
    tl_free(b.k);
    if (b.n_selected) return TL_OK;
    return tl_fail(err, TL_E_ARGUMENT, "no kernel has '%s' in its name (tinyllm cpu lists them)",
                   o->filter ? o->filter : "");
}

int tl_kernels_measure(const tl_kernel_options *o, const tl_machine *m, tl_table *t, tl_error *err) {
    tl_error own = {0};
    int levels[16], n = chosen_levels(o, levels);
    size_t scratch = TL_GEMM_SCRATCH(MAX_K);
    bench b = {.o = o, .m = m, .t = t, .weight_bytes = streamed_bytes()};
    if (!err) err = &own;
    b.k = tl_alloc_n((size_t)n, sizeof *b.k, "kernel tables", err);
    b.weights = tl_alloc_big(b.weight_bytes, "weights to measure with", err);
    b.act = tl_alloc_big(ACT_BYTES, "activations to measure with", err);
    b.x = tl_alloc_big(ACT_BYTES, "activations to measure with", err);
    b.y = tl_alloc_big(Y_BYTES, "results to measure with", err);
    b.scratch = tl_alloc_big(scratch, "scratch memory", err);
    if (!err->code) {
        for (int i = 0; i < MAX_N * MAX_K; i++) b.x[i] = (float)(i % 31 - 15) / 16;
        for (int i = 0; i < n; i++) bench_level(&b, i, levels[i]);
    }
    tl_free(b.k);
    tl_free_big(b.weights, b.weight_bytes);
    tl_free_big(b.act, ACT_BYTES);
    tl_free_big(b.x, ACT_BYTES);
    tl_free_big(b.y, Y_BYTES);
    tl_free_big(b.scratch, scratch);
    return err->code;
}
