/* SPDX-License-Identifier: MIT
 *
 * The thread pool: n-1 workers wait for the next run; inside a run all threads meet at barriers.
 * Waiting first spins for a few microseconds (a barrier of a small model is due sooner than a sleeping thread can be
 * woken), then sleeps in a futex. It does not spin where the thread waited for may need this very CPU: when there are
 * more threads than CPUs, and for a while after a wait that took too long, since then another process has taken a CPU
 * (with one such process on 2 CPUs, decode keeps 50 % of its speed this way and 26 % when spinning 50 us each time).
 * Words that different threads write lie on lines of their own. */
#include "base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LINE 128 /* two cache lines: neighbours are fetched in pairs */

/* A word that changes to let waiters go. sleepers: how many may be in the futex. */
typedef struct event {
    _Alignas(LINE) atomic_uint word;
    _Alignas(LINE) atomic_int sleepers;
} event;

typedef struct counter { _Alignas(LINE) atomic_int v; } counter;

struct tl_pool {
    event run, phase;
    _Alignas(LINE) atomic_int arrived;
    counter next[TL_POOL_COUNTERS];
    _Alignas(LINE) tl_pool_fn *fn;
    void *arg;
    int stop, n, spin, long_steps;
    _Alignas(LINE) atomic_int calm;   /* barriers still to pass without spinning */
    pthread_t *threads;   /* [n - 1] */
    struct worker { tl_pool *pool; int index; } *workers;
};

/* The numbers of the kernel's interface (futex(2)), since not every C library comes with linux/futex.h. */
enum { WAIT_PRIVATE = 0 | 128, WAKE_PRIVATE = 1 | 128 };

static void futex(atomic_uint *word, int op, unsigned value) { syscall(SYS_futex, word, op, value, NULL, NULL, 0); }

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Waits until e->word is no longer old. Returns 1 if spinning was in vain. */
static int event_wait(event *e, unsigned old, int64_t spin_ns) {
    if (spin_ns > 0) {
        int64_t until = 0;
        for (int i = 0;; i++) {
            if (atomic_load_explicit(&e->word, memory_order_acquire) != old) return 0;
            relax();
            if (i % 64 == 63) {
                int64_t t = now_ns();
                if (!until) until = t + spin_ns;
                else if (t > until) break;
            }
        }
    }
    atomic_fetch_add(&e->sleepers, 1);
    while (atomic_load(&e->word) == old) futex(&e->word, WAIT_PRIVATE, old);
    atomic_fetch_sub(&e->sleepers, 1);
    return spin_ns > 0;
}

static void event_signal(event *e) {
    atomic_fetch_add(&e->word, 1); /* seq_cst: ordered before the load of sleepers */
    if (atomic_load(&e->sleepers) > 0) futex(&e->word, WAKE_PRIVATE, 0x7fffffff);
}

enum {
    SPIN_STEP_NS = 20000,
    SPIN_LONG_STEP_NS = 100000,   /* others are busy for long with their last piece of work, not stopped */
    SPIN_RUN_NS = 200000,         /* covers sampling and printing between two tokens */
    CALM_BARRIERS = 200,          /* about a token of a small model */
};

static int64_t spin_time(tl_pool *p, int64_t ns) {
    return p->spin && atomic_load_explicit(&p->calm, memory_order_relaxed) <= 0 ? ns : 0;
}

void tl_pool_barrier(tl_pool *p) {
    if (p->n == 1) return;
    unsigned phase = atomic_load_explicit(&p->phase.word, memory_order_relaxed);
    int long_steps = p->long_steps;   /* once all have arrived, the caller may set it for the next run */
    if (atomic_fetch_add_explicit(&p->arrived, 1, memory_order_acq_rel) == p->n - 1) {
        atomic_store_explicit(&p->arrived, 0, memory_order_relaxed);
        int calm = atomic_load_explicit(&p->calm, memory_order_relaxed);
        if (calm > 0) atomic_store_explicit(&p->calm, calm - 1, memory_order_relaxed);
        event_signal(&p->phase);
    } else if (long_steps) {
        event_wait(&p->phase, phase, p->spin ? SPIN_LONG_STEP_NS : 0);
    } else if (event_wait(&p->phase, phase, spin_time(p, SPIN_STEP_NS))) {
        atomic_store_explicit(&p->calm, CALM_BARRIERS, memory_order_relaxed);
    }
}

unsigned tl_pool_barriers(tl_pool *p) { return atomic_load_explicit(&p->phase.word, memory_order_acquire); }

static void *worker_main(void *arg) {
    struct worker *w = arg;
    tl_pool *p = w->pool;
    unsigned seen = 0;
    for (;;) {
        event_wait(&p->run, seen++, spin_time(p, SPIN_RUN_NS));
        if (p->stop) return NULL;
        p->fn(p->arg, w->index, p->n);
        tl_pool_barrier(p);
    }
}

tl_pool *tl_pool_new(int n_threads, tl_error *err) {
    if (n_threads < 1 || n_threads > TL_MAX_THREADS) {
        tl_fail(err, TL_E_ARGUMENT, "%d threads: the number must be 1 to %d", n_threads, TL_MAX_THREADS);
        return NULL;
    }
    tl_pool *p = aligned_alloc(LINE, (sizeof *p + LINE - 1) / LINE * LINE);
    if (!p) { tl_fail(err, TL_E_MEMORY, "no memory for a thread pool"); return NULL; }
    memset(p, 0, sizeof *p);
    p->n = n_threads;
    p->spin = n_threads <= tl_usable_threads("/", NULL);
    p->threads = tl_alloc_n((size_t)n_threads, sizeof *p->threads, "threads", err);
    p->workers = tl_alloc_n((size_t)n_threads, sizeof *p->workers, "threads", err);
    if (!p->threads || !p->workers) { tl_free(p->threads); tl_free(p->workers); free(p); return NULL; }
    for (int i = 0; i < n_threads - 1; i++) {
        p->workers[i] = (struct worker){p, i + 1};
        int rc = pthread_create(&p->threads[i], NULL, worker_main, &p->workers[i]);
        if (rc) {
            tl_fail(err, TL_E_SYSTEM, "cannot start thread %d of %d: %s; try fewer threads", i + 2, n_threads, strerror(rc));
            p->n = i + 1;   /* only those that exist are joined; none has passed a barrier yet */
            tl_pool_free(p);
            return NULL;
        }
    }
    return p;
}

void tl_pool_free(tl_pool *p) {
    if (!p) return;
    p->stop = 1;
    event_signal(&p->run);
    for (int i = 0; i < p->n - 1; i++) pthread_join(p->threads[i], NULL);
    tl_free(p->threads);
    tl_free(p->workers);
    free(p);
}

int tl_pool_size(const tl_pool *p) { return p->n; }

void tl_pool_set_long_steps(tl_pool *p, int on) { p->long_steps = on; }

void tl_pool_run(tl_pool *p, tl_pool_fn *fn, void *arg) {
    p->fn = fn;
    p->arg = arg;
    if (p->n > 1) event_signal(&p->run);
    fn(arg, 0, p->n);
    tl_pool_barrier(p);
}

int tl_pool_next(tl_pool *p, int slot) {
    return atomic_fetch_add_explicit(&p->next[slot].v, 1, memory_order_relaxed);
}

void tl_pool_rewind(tl_pool *p, int slot) { atomic_store_explicit(&p->next[slot].v, 0, memory_order_relaxed); }
