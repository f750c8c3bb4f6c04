/* SPDX-License-Identifier: MIT
 *
 * Attention over the paged KV cache. The unit of work is (span of rows of one sequence, kv head): all query heads of the
 * group and all rows of the span share each page they load. Where there are fewer such units than threads could use (a
 * single long sequence being decoded), a unit is cut further into chunks of positions; their states are merged in the
 * same order in which one thread would have merged them. */
#include "compute/compute.h"

#include <math.h>
#include <string.h>

/* Running softmax states of nq queries, as floats: m [nq], s [nq], acc [nq][hv]. */
typedef struct state { float *m, *s, *acc; } state;

static size_t up16(size_t n) { return (n + 15) & ~(size_t)15; }
static size_t state_floats(int nq, int hv) { return 2 * up16((size_t)nq) + (size_t)nq * (size_t)hv; }
static state state_at(float *p, int nq) { return (state){p, p + up16((size_t)nq), p + 2 * up16((size_t)nq)}; }

static void state_clear(state s, int nq, int hv) {
    for (int i = 0; i < nq; i++) s.m[i] = -INFINITY, s.s[i] = 0;
    for (size_t i = 0; i < (size_t)nq * (size_t)hv; i++) s.acc[i] = 0;
}

static void state_merge(const tl_kernels *k, state a, state b, int nq, int hv) {
    for (int i = 0; i < nq; i++) {
        size_t at = (size_t)i * (size_t)hv;
        k->attn_merge(&a.m[i], &a.s[i], a.acc + at, b.m[i], b.s[i], b.acc + at, hv);
    }
}

/* A thread's floats: queries, two states, scores of a page, visible ranges (ints in float cells). */
size_t tl_attention_scratch(int group, int hk, int hv) {
    int nq = TL_ATTN_ROWS * group;
    return up16((size_t)nq * (size_t)hk) + 2 * up16(state_floats(nq, hv)) + (size_t)nq * TL_KV_PAGE +
           2 * up16((size_t)nq);
}

/* Chunks are only split over threads while there are fewer than 2 units per thread: that bounds the partial states. */
static int splits(int units, int n_threads) { return n_threads > 1 && units < 2 * n_threads; }
static int chunks_of(int end) { return (end + TL_ATTN_CHUNK - 1) / TL_ATTN_CHUNK; }

size_t tl_attention_partial(int n_threads, int group, int hv, int n_ctx) {
    size_t units = 2 * (size_t)n_threads, chunks = (size_t)chunks_of(n_ctx);
    return n_threads > 1 ? units * chunks * up16(state_floats(TL_ATTN_ROWS * group, hv)) : 0;
}

/* Pages that a thread walks one after the other; last < first: none. */
typedef struct stretch { int seq, head, first, last; } stretch;

typedef struct unit {
    const tl_attention *a;
    const tl_kv_slot *slot;
    const tl_span *span;
    int head, group, nq;   /* kv head; queries per kv head; queries of the unit: span->n * group, row by row */
    int begin, end;        /* positions that any row of the unit sees */
    int index, part;       /* its number; where threads share units, the chunk of it that is walked */
    stretch now, then;     /* what is walked for this unit, and what this thread goes on with */
    float *q, *scores;
    state run, chunk;
    int32_t *lo, *hi;
} unit;

static unit unit_of(const tl_worker *t, const tl_attention *a, int index) {
    const tl_kv_slot *slot = &a->kv->slots[a->slot];
    int n_kv = slot->dims.heads;
    const tl_span *span = &a->spans[index / n_kv];
    unit u = {.a = a, .slot = slot, .span = span, .head = index % n_kv, .group = a->n_heads / n_kv, .index = index};
    u.nq = span->n * u.group;
    u.end = span->pos + span->n;
    u.begin = a->window && span->pos - a->window + 1 > 0 ? span->pos - a->window + 1 : 0;
    size_t max_nq = (size_t)TL_ATTN_ROWS * (size_t)u.group;
    float *p = t->attn;
    u.q = p, p += up16(max_nq * (size_t)slot->hk);
    u.run = state_at(p, u.nq), p += up16(state_floats((int)max_nq, slot->hv));
    u.chunk = state_at(p, u.nq), p += up16(state_floats((int)max_nq, slot->hv));
    u.scores = p, p += max_nq * TL_KV_PAGE;
    u.lo = (int32_t *)p, u.hi = (int32_t *)(p + up16(max_nq));
    return u;
}

static void unit_load_queries(const unit *u) {
    const tl_attention *a = u->a;
    size_t dim = (size_t)u->slot->dims.k, hk = (size_t)u->slot->hk;
    for (int i = 0; i < u->nq; i++) {
        size_t row = (size_t)(u->span->row + i / u->group), head = (size_t)(u->head * u->group + i % u->group);
        tl_kv_put_q(a->kv, a->slot, u->q + (size_t)i * hk, a->q + row * a->q_stride + head * dim);
    }
}

/* The pages of positions begin .. end-1. */
static stretch stretch_of(const unit *u, int begin, int end) {
    return (stretch){u->span->seq, u->head, begin / TL_KV_PAGE, (end - 1) / TL_KV_PAGE};
}

/* While a page is walked, a quarter of it is fetched from each of 4 places: the streams of a window of 1, 2 or 4 pages,
 * so many that a stream has 4 KB, the most that the hardware follows. A window is fetched while the one before is walked. */
static void look_ahead(const unit *u, int page, const uint8_t **ahead) {
    const tl_kv *kv = u->a->kv;
    const size_t quarter = u->slot->head_bytes / TL_KV_STREAMS;
    int width = 1;
    while (width < TL_KV_STREAMS && (size_t)width * quarter < 4096) width *= 2;
    int step = (page - u->now.first) % width;
    stretch from = u->now;
    from.first = page - step + width;
    if (from.first > from.last) from = u->then;
    for (int i = 0; i < TL_KV_STREAMS && from.first <= from.last; i++) {
        int at = from.first + i * width / TL_KV_STREAMS, part = i * width % TL_KV_STREAMS + step;
        ahead[i] = tl_kv_k(kv, u->a->slot, from.seq, from.head, at < from.last ? at : from.last) + (size_t)part * quarter;
    }
}

static int chunk_begin(const unit *u, int chunk) { return chunk * TL_ATTN_CHUNK > u->begin ? chunk * TL_ATTN_CHUNK : u->begin; }
static int chunk_end(const unit *u, int chunk) { return (chunk + 1) * TL_ATTN_CHUNK < u->end ? (chunk + 1) * TL_ATTN_CHUNK : u->end; }

/* State over the visible positions of one chunk. */
static void unit_walk(const unit *u, int chunk, state st) {
    const tl_attention *a = u->a;
    state_clear(st, u->nq, u->slot->hv);
    int from = chunk_begin(u, chunk), end = chunk_end(u, chunk);
    for (int page = from / TL_KV_PAGE; page * TL_KV_PAGE < end; page++) {
        int base = page * TL_KV_PAGE;
        for (int i = 0; i < u->nq; i++) {
            int pos = u->span->pos + i / u->group, lo = a->window ? pos - a->window + 1 - base : 0, hi = pos + 1 - base;
            u->lo[i] = lo > 0 ? lo : 0;
            u->hi[i] = hi < TL_KV_PAGE ? hi : TL_KV_PAGE;
        }
        uint8_t *k = tl_kv_k(a->kv, a->slot, u->span->seq, u->head, page);
        tl_attn_args args = {.q = u->q, .nq = u->nq, .hk = u->slot->hk, .hv = u->slot->hv, .k = k, .v = k + u->slot->v_at, .lo = u->lo,
                             .hi = u->hi, .m = st.m, .s = st.s, .acc = st.acc, .softcap = a->softcap, .scratch = u->scores};
        look_ahead(u, page, args.ahead);
        a->kv->ops->attn(&args);
    }
}

/* A sink is a position of its own, merged last. */
static void unit_finish(const tl_kernels *k, const unit *u, state st) {
    static const float nothing[TL_HD_MAX];
    float room[TL_HD_MAX];
    const tl_attention *a = u->a;
    const float *sinks = a->sinks ? a->sinks + u->head * u->group : NULL;
    int hv = u->slot->hv;
    size_t hd = (size_t)hv, dim = (size_t)u->slot->dims.v, width = (size_t)u->group * dim;
    for (int i = 0; i < u->nq; i++) {
        if (sinks) k->attn_merge(&st.m[i], &st.s[i], st.acc + (size_t)i * hd, sinks[i % u->group], 1, nothing, hv);
        float *out = a->out + (size_t)(u->span->row + i / u->group) * a->out_stride + (size_t)u->head * width;
        float *to = out + (size_t)(i % u->group) * dim, *all = dim == hd ? to : room;
        k->attn_finish(all, st.acc + (size_t)i * hd, st.s[i], hv);
        if (all != to) memcpy(to, all, dim * sizeof *to);
    }
}

static stretch whole_stretch(tl_worker *t, const tl_attention *a, int units, int i) {
    if (i >= units) return (stretch){.last = -1};
    unit u = unit_of(t, a, i);
    return stretch_of(&u, u.begin, u.end);
}

/* Units are claimed one ahead, so that the first pages of the next are on their way when it begins. */
static void run_whole(tl_worker *t, const tl_attention *a, int units) {
    int slot = tl_worker_counter(t);
    for (int i = tl_pool_next(t->pool, slot), next; i < units; i = next) {
        next = tl_pool_next(t->pool, slot);
        unit u = unit_of(t, a, i);
        u.now = stretch_of(&u, u.begin, u.end);
        u.then = whole_stretch(t, a, units, next);
        unit_load_queries(&u);
        int first = u.begin / TL_ATTN_CHUNK;
        unit_walk(&u, first, u.run);
        for (int c = first + 1; c < chunks_of(u.end); c++) {
            unit_walk(&u, c, u.chunk);
            state_merge(t->k, u.run, u.chunk, u.nq, u.slot->hv);
        }
        unit_finish(t->k, &u, u.run);
    }
}

/* The state of chunk c of a unit. */
static state partial_of(const unit *u, int c) {
    size_t size = up16(state_floats(TL_ATTN_ROWS * u->group, u->slot->hv));
    return state_at(u->a->partial + ((size_t)u->index * (size_t)chunks_of(u->a->kv->n_ctx) + (size_t)c) * size, u->nq);
}

/* The n-th chunk of all units' chunks: a unit with that chunk; past the last: index units and nothing to walk. */
static unit chunk_unit(tl_worker *t, const tl_attention *a, int units, int n) {
    for (int i = 0; i < units; i++) {
        unit u = unit_of(t, a, i);
        int first = u.begin / TL_ATTN_CHUNK, chunks = chunks_of(u.end) - first;
        if (n < chunks) {
            u.part = first + n;
            u.now = stretch_of(&u, chunk_begin(&u, u.part), chunk_end(&u, u.part));
            return u;
        }
        n -= chunks;
    }
    return (unit){.index = units, .now.last = -1};
}

static void run_split(tl_worker *t, const tl_attention *a, int units) {
    int slot = tl_worker_counter(t);
    unit now = chunk_unit(t, a, units, tl_pool_next(t->pool, slot));
    while (now.index < units) {
        unit next = chunk_unit(t, a, units, tl_pool_next(t->pool, slot));
        now.then = next.now;
        unit_load_queries(&now);
        unit_walk(&now, now.part, partial_of(&now, now.part));
        now = next;
    }
    tl_pool_barrier(t->pool);
    for (int i = t->thread; i < units; i += t->n_threads) {
        unit u = unit_of(t, a, i);
        int first = u.begin / TL_ATTN_CHUNK;
        state run = partial_of(&u, first);
        for (int c = first + 1; c < chunks_of(u.end); c++)
            state_merge(t->k, run, partial_of(&u, c), u.nq, u.slot->hv);
        unit_finish(t->k, &u, run);
    }
}

void tl_attention_run(tl_worker *t, const tl_attention *a) {
    int units = a->n_spans * a->kv->slots[a->slot].dims.heads, longest = 0;
    for (int i = 0; i < a->n_spans; i++) {
        int end = a->spans[i].pos + a->spans[i].n;
        if (end > longest) longest = end;
    }
    if (splits(units, t->n_threads) && longest > TL_ATTN_CHUNK) run_split(t, a, units);
    else run_whole(t, a, units);
}
