/* SPDX-License-Identifier: MIT
 *
 * Weights read once at load, by all threads, into memory of this process: in the form the level's kernels read (rows
 * interleaved, see kernels.h), or as they are where a type has no such form. They are read through the file's descriptor,
 * not through its mapping: the model is not resident twice, and a file that is cut meanwhile is an error.
 * Or not at all: then products pack the rows they meet (compute/matmul.c), and the model stays in the file's pages, which
 * processes share. */
#include "model/model.h"

#include <stdatomic.h>
#include <string.h>

#define PACK_GROUPS 16 /* groups a thread claims at a time */

typedef struct packing {
    struct tl_model *m;
    tl_pool *pool;
    tl_weight **w;         /* [n] */
    size_t *at;            /* [n]: offsets in m->packed */
    int64_t *first;        /* [n + 1]: number of the first claim of a matrix */
    int n;
    size_t room;           /* bytes of the rows of a group, the most there are */
    uint8_t *rooms;        /* [threads][room] */
    tl_progress_fn *progress;
    void *user;
    atomic_int cancelled, unreadable;
} packing;

enum { PLAIN_ROWS = 16 };   /* a group of a matrix that stays as it is */
static int group_rows(const tl_weight *w) { return w->gemm->pack ? w->gemm->rows : PLAIN_ROWS; }
static int64_t groups_of(const tl_weight *w) { return (w->rows + group_rows(w) - 1) / group_rows(w); }
static size_t group_bytes(const tl_weight *w) { return w->gemm->pack ? w->gemm->group_bytes(w->cols) : PLAIN_ROWS * w->row_bytes; }
static size_t packed_bytes(const tl_weight *w) {
    return w->gemm->pack ? (size_t)groups_of(w) * group_bytes(w) : ((size_t)w->rows * w->row_bytes + 63) / 64 * 64;
}

static int pack_claim(packing *p, int i, int64_t claim, uint8_t *room) {
    const tl_weight *w = p->w[i];
    const tl_gemm *g = w->gemm;
    int64_t g0 = claim * PACK_GROUPS, g1 = g0 + PACK_GROUPS < groups_of(w) ? g0 + PACK_GROUPS : groups_of(w);
    for (int64_t j = g0; j < g1; j++) {
        int64_t row = j * group_rows(w), n = w->rows - row < group_rows(w) ? w->rows - row : group_rows(w);
        uint8_t *to = (uint8_t *)p->m->packed + p->at[i] + (size_t)j * group_bytes(w), *read = g->pack ? room : to;
        if (tl_gguf_copy(p->m->gguf, w->raw + (size_t)row * w->row_bytes, (size_t)n * w->row_bytes, read)) return TL_E_IO;
        if (g->pack) g->pack(read, w->row_bytes, (int)n, w->cols, to);
    }
    return TL_OK;
}

static void pack_thread(void *arg, int thread, int n_threads) {
    (void)n_threads;
    packing *p = arg;
    int i = 0;
    for (int64_t c; (c = tl_pool_next(p->pool, 0)) < p->first[p->n] && !atomic_load(&p->cancelled);) {
        while (c >= p->first[i + 1]) i++;
        if (pack_claim(p, i, c - p->first[i], p->rooms + (size_t)thread * p->room)) {
            atomic_store(&p->unreadable, 1);
            atomic_store(&p->cancelled, 1);
        }
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
    int i = p->n++;
    size_t room = (size_t)w->gemm->rows * w->row_bytes;
    p->w[i] = w;
    p->at[i] = p->m->packed_bytes;
    p->m->packed_bytes += packed_bytes(w);
    p->first[i + 1] = p->first[i] + (groups_of(w) + PACK_GROUPS - 1) / PACK_GROUPS;
    if (room > p->room) p->room = (room + 63) / 64 * 64;
}

void tl_pack_done(struct tl_model *m) {
    tl_free_big(m->packed, m->packed_bytes);
    m->packed = NULL;
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
        p.rooms = p.pool ? tl_alloc_n((size_t)tl_pool_size(p.pool), p.room, "packing", err) : NULL;
        if (p.rooms) tl_pool_run(p.pool, pack_thread, &p);
        rc = !p.rooms ? TL_E_MEMORY : p.unreadable ? tl_fail(err, TL_E_IO, "the file was cut or cannot be read any more")
           : p.cancelled ? tl_fail(err, TL_E_CANCELLED, "loading was cancelled") : TL_OK;
        tl_pool_free(p.pool);
        tl_free(p.rooms);
        for (int i = 0; i < p.n; i++) p.w[i]->w = (uint8_t *)m->packed + p.at[i];
    }
    tl_free(p.w);
    tl_free(p.at);
    tl_free(p.first);
    return rc;
}
