/* SPDX-License-Identifier: MIT
 * What attention asks for ahead: always memory of held pages of its layer, and what is walked next. A stand-in for the
 * kernel notes the pages it gets; what comes out of attention is engine_test.c's matter, but for sinks. */
#include "test.h"
#include "compute/compute.h"

#include <math.h>
#include <pthread.h>

enum { SEQS = 3, CTX = 768, LAYERS = 2, LAYER = 1, HEADS = 2, GROUP = 2, MAX_PLACES = LAYERS * SEQS * (CTX / TL_KV_PAGE) * HEADS };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tl_kv kv;
static size_t head_bytes;   /* of a page, in every slot */
static int now, walked[MAX_PLACES], asked[MAX_PLACES][TL_KV_STREAMS];   /* when last; 0: never */

/* Number of the (layer, page, head) that p points into; *part: which quarter of it. -1: of none that is held. */
static int place_of(const void *p, int *part) {
    size_t at = (size_t)((const uint8_t *)p - kv.mem), place = at / head_bytes, page = place / HEADS;
    *part = (int)(at % head_bytes / (head_bytes / TL_KV_STREAMS));
    if ((const uint8_t *)p < kv.mem || at >= kv.bytes || at % (head_bytes / TL_KV_STREAMS)) return -1;
    return page / (size_t)kv.n_pages == LAYER && kv.refs[page % (size_t)kv.n_pages] ? (int)place : -1;
}

static void note(const tl_attn_args *a) {
    int part;
    pthread_mutex_lock(&lock);
    now++;
    for (int i = 0; i < TL_KV_STREAMS && a->ahead[0]; i++) {
        int place = place_of(a->ahead[i], &part);
        CHECKF(place >= 0, "stream %d at %td", i, a->ahead[i] - kv.mem);
        if (place >= 0) asked[place][part] = now;
    }
    int place = place_of(a->k, &part);
    CHECK(place >= 0 && part == 0);
    if (place >= 0) walked[place] = now;
    pthread_mutex_unlock(&lock);
}

static void put_q(void *dst, const float *q, int hd) { memcpy(dst, q, (size_t)hd * sizeof *q); }

typedef struct job { tl_attention a; tl_kernels k; tl_pool *pool; } job;

static void run(void *arg, int thread, int n_threads) {
    job *j = arg;
    tl_worker t = {.pool = j->pool, .k = &j->k, .thread = thread, .n_threads = n_threads};
    t.attn = calloc(tl_attention_scratch(GROUP, kv.slots[0].hk, kv.slots[0].hv), sizeof *t.attn);
    tl_attention_run(&t, &j->a);
    free(t.attn);
}

/* Positions 0 .. n-1 of each sequence are held, the second one's first 448 together with the first. */
static void walk(const tl_span *spans, int n_spans, int n, int head_dim, int window, int threads) {
    static float q[32 * HEADS * GROUP * 64], out[32 * HEADS * GROUP * 64];
    const tl_kv_ops ops = {.name = "f16", .elems = 1, .bytes = 2, .put_q = put_q, .attn = note};
    tl_error err = {0};
    job j = {.a = {.kv = &kv, .slot = LAYER, .n_heads = HEADS * GROUP, .window = window,
                   .spans = spans, .n_spans = n_spans, .q = q, .out = out}};
    j.a.q_stride = j.a.out_stride = (size_t)(HEADS * GROUP * head_dim);
    tl_kernels_init(&j.k, 0);
    j.pool = tl_pool_new(threads, &err);
    const tl_kv_dims slots[LAYERS] = {{HEADS, head_dim, head_dim}, {HEADS, head_dim, head_dim}};
    CHECK(tl_kv_init(&kv, &ops, &(tl_kv_shape){slots, LAYERS, SEQS, CTX, 0}, &err) == TL_OK);
    head_bytes = kv.slots[LAYER].head_bytes;
    for (int seq = 0; seq < SEQS; seq++) {
        if (seq == 1) tl_kv_fork(&kv, 0, 1), tl_kv_truncate(&kv, 1, 448);
        CHECK(tl_kv_reserve(&kv, seq, n, &err) == TL_OK);
        kv.n_pos[seq] = n;
    }
    j.a.partial = calloc(tl_attention_partial(threads, GROUP, head_dim, CTX), sizeof *j.a.partial);
    now = 0;
    memset(walked, 0, sizeof walked);
    memset(asked, 0, sizeof asked);
    if (j.pool) tl_pool_run(j.pool, run, &j);
    tl_pool_free(j.pool);
    free(j.a.partial);
}

/* Sequences that share pages, rows that fill part of a page, windows, chunks shared by threads. */
static void only_what_is_held(void) {
    static const tl_span spans[] = {{0, 1, 0, 639}, {1, 16, 1, 624}, {17, 5, 2, 15}, {22, 1, 2, 20}};
    for (int head_dim = 16; head_dim <= 64; head_dim *= 2)
        for (int window = 0; window <= 260; window += 65)
            for (int threads = 1; threads <= 5; threads += 4)
                for (int first = 0; first < 4; first++) {
                    walk(spans + first, 4 - first, 640, head_dim, window, threads);
                    for (int i = 0; i < MAX_PLACES && threads == 1; i++)
                        for (int part = 0; part < TL_KV_STREAMS; part++)
                            CHECKF(asked[i][part] == 0 || asked[i][part] < walked[i], "%d at %d, walked at %d", i,
                                   asked[i][part], walked[i]);
                    tl_kv_done(&kv);
                }
}

/* One thread, eight pages per head: all of them are asked for, but for the window that everything begins with. */
static void all_that_comes(void) {
    static const tl_span span = {0, 1, 0, 511};
    for (int head_dim = 16, width = 4; head_dim <= 64; head_dim *= 2, width /= 2) {
        walk(&span, 1, 512, head_dim, 0, 1);
        int whole = 0;
        for (int i = 0; i < MAX_PLACES; i++)
            whole += asked[i][0] && asked[i][1] && asked[i][2] && asked[i][3];
        CHECKF(now == 16 && whole == 16 - width, "heads of %d: %d pages of %d", head_dim, whole, now);
        tl_kv_done(&kv);
    }
}

/* Scores of 0 and values of 1: a head gets n / (n + exp(sink)), whether chunks are shared by threads or not. */
static void sinks_take_their_part(void) {
    enum { HK = 24, HD = 16, N = 600 };   /* values of another width than keys, which are padded */
    static const tl_kv_dims slot = {HEADS, HK, HD};
    static const float sinks[HEADS * GROUP] = {0, 7, -2, 200};
    static const tl_span span = {0, 1, 0, N - 1};
    static float q[HEADS * GROUP * HK], out[HEADS * GROUP * HD];
    float zeros[HK] = {0}, ones[HD];
    for (int d = 0; d < HD; d++) ones[d] = 1;
    for (int threads = 1; threads <= 5; threads += 4) {
        tl_error err = {0};
        job j = {.a = {.kv = &kv, .n_heads = HEADS * GROUP, .spans = &span, .n_spans = 1, .q = q, .out = out,
                       .q_stride = HEADS * GROUP * HK, .out_stride = HEADS * GROUP * HD, .sinks = sinks}};
        tl_kernels_init(&j.k, 0);
        j.pool = tl_pool_new(threads, &err);
        CHECK(j.pool && tl_kv_init(&kv, &j.k.kv[TL_KV_F32], &(tl_kv_shape){&slot, 1, 1, CTX, 0}, &err) == TL_OK);
        CHECK(tl_kv_reserve(&kv, 0, N, &err) == TL_OK);
        for (int i = 0; i < N * HEADS; i++) {
            tl_kv_put_k(&kv, 0, 0, i % HEADS, i / HEADS, zeros);
            tl_kv_put_v(&kv, 0, 0, i % HEADS, i / HEADS, ones);
        }
        j.a.partial = calloc(tl_attention_partial(threads, GROUP, HD, CTX), sizeof *j.a.partial);
        tl_pool_run(j.pool, run, &j);
        for (int i = 0; i < HEADS * GROUP * HD; i++) {
            const double want = N / (N + exp(sinks[i / HD]));
            CHECKF(fabs(out[i] - want) < 1e-5 * want + 1e-30, "%d threads, head %d: %g, want %g", threads, i / HD, out[i], want);
        }
        tl_pool_free(j.pool);
        tl_kv_done(&kv);
        free(j.a.partial);
    }
}

int main(void) {
    RUN(sinks_take_their_part);
    RUN(only_what_is_held);
    RUN(all_that_comes);
    return tl_test_end();
}
