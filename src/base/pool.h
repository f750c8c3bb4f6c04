/* SPDX-License-Identifier: MIT
 *
 * pool.h: a set of threads that compute together. The caller is thread 0; n-1 workers wait for work.
 * Waiting spins a little, then sleeps, so an idle pool uses no CPU and an oversubscribed one does not collapse.
 * One run at a time: a pool belongs to one caller. */
#ifndef TL_POOL_H
#define TL_POOL_H

#include "base/base.h"

typedef struct tl_pool tl_pool;
typedef void tl_pool_fn(void *arg, int thread, int n_threads);

#define TL_MAX_THREADS 1024

tl_pool *tl_pool_new(int n_threads, tl_error *err);
void tl_pool_free(tl_pool *p);
int tl_pool_size(const tl_pool *p);
/* Calls fn on every thread and returns when all have returned. */
void tl_pool_run(tl_pool *p, tl_pool_fn *fn, void *arg);
/* For the next runs: what lies between two barriers takes milliseconds rather than microseconds (a whole prompt), so that
 * a wait of tens of microseconds is no sign of a stopped thread. Default 0. */
void tl_pool_set_long_steps(tl_pool *p, int on);
/* Inside fn: waits until all threads have arrived. All writes before it are visible after it. */
void tl_pool_barrier(tl_pool *p);
/* Barriers that all threads have passed so far, the one at the end of each run included. A thread alone has none. */
unsigned tl_pool_barriers(tl_pool *p);
/* Inside fn: claims the next of the items counted by counter slot (0..TL_POOL_COUNTERS-1): returns 0, 1, 2, ... once
 * each over all threads. tl_pool_rewind resets a slot; at least one barrier must lie between it and the next claim and
 * between the last claim and it. */
#define TL_POOL_COUNTERS 4
int tl_pool_next(tl_pool *p, int slot);
void tl_pool_rewind(tl_pool *p, int slot);

/* Splits [0, n) into n_threads contiguous ranges whose borders are multiples of step (the last may end at n). */
static inline void tl_split(int n, int step, int thread, int n_threads, int *begin, int *end) {
    int64_t units = (n + step - 1) / step;
    int64_t a = units * thread / n_threads * step, b = units * (thread + 1) / n_threads * step;
    *begin = a < n ? (int)a : n;
    *end = b < n ? (int)b : n;
}

/* Threads worth using: min(CPUs in the affinity mask, cgroup CPU quota rounded down, at least 1). root: "/" or a
 * folder that holds a copy of proc/ and sys/ (tests). Each number found is written into info. */
typedef struct tl_cpu_count { int online, affinity; double quota; /* CPUs, 0: none */ int threads; char quota_from[128]; } tl_cpu_count;
int tl_usable_threads(const char *root, tl_cpu_count *info);
/* Threads to start where n are asked for; 0: as many as are worth using. More than these may be wanted, to measure what
 * they cost, but those beyond TL_OVERSUBSCRIBE for each usable CPU would only wait for each other and are left out. */
#define TL_OVERSUBSCRIBE 4
int tl_threads_for(int n);

#endif
