/* SPDX-License-Identifier: MIT
 *
 * Weights rewritten once at load into the form the level's kernels read (rows interleaved, see kernels.h), by all threads.
 * The file's pages are dropped from this process as soon as they are packed, so that the model is not resident twice.
 * Or not at all: then products pack the rows they meet (compute/matmul.c), and the model stays in the file's pages, which
 * processes share. */
#include "model/model.h"

#include <stdatomic.h>
#include <string.h>

#define PACK_GROUPS 16 /* groups a thread claims at a time */

typedef struct packing {
    struct tl_model *m;
    tl_pool *pool;
    tl_weight **w;         /* [n]: matrices that have a packed form */
    size_t *at;            /* [n]: offsets in m->packed */
    int64_t *first;        /* [n + 1]: number of the first claim of a matrix */
    int n;
    tl_progress_fn *progress;
    void *user;
    atomic_int cancelled;
} packing;

static int64_t groups_of(const tl_weight *w) { return (w->rows + w->gemm->rows - 1) / w->gemm->rows; }

static void pack_claim(packing *p, int i, int64_t claim) {
    const tl_weight *w = p->w[i];
    const tl_gemm *g = w->gemm;
    size_t group_bytes = g->group_bytes(w->cols);
    int64_t g0 = claim * PACK_GROUPS, g1 = g0 + PACK_GROUPS < groups_of(w) ? g0 + PACK_GROUPS : groups_of(w);
    for (int64_t j = g0; j < g1; j++) {
        int64_t row = j * g->rows, n = w->rows - row < g->rows ? w->rows - row : g->rows;
        g->pack(w->raw + (size_t)row * w->row_bytes, w->row_bytes, (int)n, w->cols,
                (uint8_t *)p->m->packed + p->at[i] + (size_t)j * group_bytes);
    }
    int64_t begin = g0 * g->rows, end = g1 * g->rows < w->rows ? g1 * g->rows : w->rows;
    tl_gguf_drop(p->m->gguf, w->raw + (size_t)begin * w->row_bytes, (size_t)(end - begin) * w->row_bytes);
}

static void pack_thread(void *arg, int thread, int n_threads) {
    (void)n_threads;
    packing *p = arg;
    int i = 0;
    for (int64_t c; (c = tl_pool_next(p->pool, 0)) < p->first[p->n] && !atomic_load(&p->cancelled);) {
        while (c >= p->first[i + 1]) i++;
        pack_claim(p, i, c - p->first[i]);
        if (thread == 0 && p->progress && p->progress(p->user, (double)c / (double)p->first[p->n])) atomic_store(&p->cancelled, 1);
    }
}

static void count(void *arg, tl_weight *w, const tl_tensor *t) {
    (void)w, (void)t;
    ++*(size_t *)arg;
}

static void collect(void *arg, tl_weight *w, const tl_tensor *t) {
    packing *p = arg;
    (void)t;
    if (!w->gemm->pack) return;
    int i = p->n++;
    p->w[i] = w;
    p->at[i] = p->m->packed_bytes;
    p->m->packed_bytes += (size_t)groups_of(w) * w->gemm->group_bytes(w->cols);
    p->first[i + 1] = p->first[i] + (groups_of(w) + PACK_GROUPS - 1) / PACK_GROUPS;
}

static void leave(void *arg, tl_weight *w, const tl_tensor *t) {
    struct tl_model *m = arg;
    (void)t;
    if (!w->gemm->pack) return;
    size_t bytes = (size_t)(TL_CLAIM_ROWS / w->gemm->rows) * w->gemm->group_bytes(w->cols);
    if (bytes > m->groups_bytes) m->groups_bytes = bytes;
    w->w = NULL;
}

void tl_pack_later(struct tl_model *m) { tl_each_weight(m, leave, m); }

int tl_pack(struct tl_model *m, int n_threads, tl_progress_fn *progress, void *user, tl_error *err) {
    size_t most = 0;
    tl_each_weight(m, count, &most);
    packing p = {.m = m, .progress = progress, .user = user};
    p.w = tl_alloc_n(most, sizeof *p.w, "packing", err);
    p.at = tl_alloc_n(most, sizeof *p.at, "packing", err);
    p.first = tl_alloc_n(most + 1, sizeof *p.first, "packing", err);
    int rc = p.w && p.at && p.first ? TL_OK : TL_E_MEMORY;
    if (!rc) {
        tl_each_weight(m, collect, &p);
        if (p.n && !(m->packed = tl_alloc_big(m->packed_bytes, "packed weights", err))) rc = TL_E_MEMORY;
    }
    if (!rc && p.n) {
        p.pool = tl_pool_new(n_threads, err);
        if (p.pool) tl_pool_run(p.pool, pack_thread, &p);
        rc = !p.pool ? TL_E_MEMORY : p.cancelled ? tl_fail(err, TL_E_CANCELLED, "loading was cancelled") : TL_OK;
        tl_pool_free(p.pool);
        for (int i = 0; i < p.n; i++) p.w[i]->w = (uint8_t *)m->packed + p.at[i];
    }
    tl_free(p.w);
    tl_free(p.at);
    tl_free(p.first);
    return rc;
}
