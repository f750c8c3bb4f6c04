/* SPDX-License-Identifier: MIT
 *
 * machine.c: measures what this machine can do at most: reading memory, multiplying in registers, and whether two
 * CPUs are one core. All threads of a sample start at a barrier and each times itself; the rate is all work over the
 * time from the first start to the last end. */
#include "perf/internal.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "base/pool.h"

#define SAMPLE_SECONDS 0.010      /* short, so that some samples fit between disturbances */
#define DRAM_MIN (256ll << 20)
#define DRAM_MAX (1ll << 30)
#define MIN_AMOUNT ((size_t)4 << 20)
#define STEP 1024                 /* read_sum takes multiples of this */
#define CHAIN_LOOPS 20000         /* about 0.1 ms */

typedef struct lane {             /* one thread's part; a line pair of its own */
    _Alignas(128) double start, end, work, ghz;
    size_t at;                    /* reading goes on where the last sample ended */
    volatile uint64_t sink;
} lane;

/* What a sample does in each thread. */
typedef struct probe {
    tl_pool *pool;
    const tl_kernels *k;
    lane *lanes;                  /* [threads] */
    char *mem;                    /* reading: each thread has its own part of stride bytes and goes round in the */
    size_t stride, size, amount;  /* first size of it, amount bytes in a sample */
    const tl_peak *peak;          /* computing */
    int64_t loops;
    int busy;                     /* threads that compute, the others only wait; 0: all */
    const int *cpu;               /* [threads] CPU to run on, NULL: anywhere */
} probe;

static void touch_lane(void *arg, int thread, int n_threads) {
    probe *p = arg;
    (void)n_threads;
    memset(p->mem + p->stride * (size_t)thread, 1, p->stride);
}

static void read_lane(void *arg, int thread, int n_threads) {
    probe *p = arg;
    lane *l = &p->lanes[thread];
    const char *mine = p->mem + p->stride * (size_t)thread;
    uint64_t sum = 0;
    (void)n_threads;
    tl_pool_barrier(p->pool);
    l->start = tl_now();
    for (size_t left = p->amount; left;) {
        size_t n = left < p->size - l->at ? left : p->size - l->at;
        sum += p->k->read_sum(mine + l->at, n);
        l->at = l->at + n < p->size ? l->at + n : 0;
        left -= n;
    }
    l->end = tl_now();
    l->sink = sum;
    l->work = (double)p->amount;
}

static void peak_lane(void *arg, int thread, int n_threads) {
    probe *p = arg;
    lane *l = &p->lanes[thread];
    l->work = 0;
    if (p->cpu) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(p->cpu[thread], &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    tl_pool_barrier(p->pool);
    l->start = l->end = tl_now();
    if (thread >= (p->busy ? p->busy : n_threads)) return;
    l->work = (double)p->peak->run(p->loops);
    l->end = tl_now();
    double cycles = (double)p->k->cycles(CHAIN_LOOPS);   /* at once: the clock still is what the loop left */
    l->ghz = cycles / (tl_now() - l->end) * 1e-9;
}

/* One sample: work per second of all threads; *reasons says whether it was disturbed. */
static double sample(probe *p, tl_pool_fn *fn, unsigned *reasons) {
    int n = tl_pool_size(p->pool), busy = p->busy ? p->busy : n;
    double work = 0, start = INFINITY, end = 0;
    tl_disturb d;
    tl_disturb_begin(&d);
    tl_pool_run(p->pool, fn, p);
    *reasons = tl_disturb_end(&d, busy);
    for (int i = 0; i < busy; i++) {
        const lane *l = &p->lanes[i];
        work += l->work;
        if (l->start < start) start = l->start;
        if (l->end > end) end = l->end;
    }
    return work / (end - start);
}

static void new_samples(tl_samples *s, int want) {
    memset(s, 0, sizeof *s);
    s->want = want;
    s->tries = 3 * want < TL_MAX_SAMPLES ? 3 * want : TL_MAX_SAMPLES;
}

static tl_stat rate(probe *p, tl_pool_fn *fn, int want, double *ghz) {
    tl_samples s, clock;
    new_samples(&s, want);
    new_samples(&clock, want);
    while (tl_samples_more(&s)) {
        unsigned reasons;
        double v = sample(p, fn, &reasons);
        tl_samples_add(&s, v * 1e-9, reasons);
        tl_samples_add(&clock, p->lanes[0].ghz, reasons);
    }
    if (ghz) *ghz = tl_samples_stat(&clock).median;
    return tl_samples_stat(&s);
}

/* Loops for one sample of about SAMPLE_SECONDS. */
static int64_t fit_loops(const tl_peak *peak) {
    int64_t loops = 1000;
    for (;;) {
        double t = tl_now();
        peak->run(loops);
        t = tl_now() - t;
        if (t > 0.001) return (int64_t)((double)loops * SAMPLE_SECONDS / t) + 1;
        loops *= 2;
    }
}

static void report(const tl_machine_options *o, const char *what) {
    if (o->progress) o->progress(o->progress_user, what);
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static int64_t dram_bytes(const tl_system *s) {
    int64_t n = s->llc ? 4 * s->llc : DRAM_MAX / 2;
    if (n < DRAM_MIN) n = DRAM_MIN;
    if (n > DRAM_MAX) n = DRAM_MAX;
    if (s->mem_available && n > s->mem_available / 4) n = s->mem_available / 4;
    return n;
}

/* bytes: of all threads together. */
static void measure_read(tl_machine *m, probe *p, int where, int64_t bytes, int want) {
    int n = tl_pool_size(p->pool);
    if (m->n_reads == TL_MAX_READS) return;
    tl_read_rate *r = &m->read[m->n_reads++];
    p->size = (size_t)(bytes / n) / STEP * STEP;
    if (p->size < STEP) p->size = STEP;
    for (int i = 0; i < n; i++) p->lanes[i].at = 0;
    p->amount = p->size;
    unsigned ignored;
    sample(p, read_lane, &ignored);   /* fills the caches with what fits, */
    double per_thread = sample(p, read_lane, &ignored) / n;   /* and now knows how fast it is */
    p->amount = (size_t)(per_thread * SAMPLE_SECONDS) / STEP * STEP;
    if (p->amount < MIN_AMOUNT) p->amount = MIN_AMOUNT;
    *r = (tl_read_rate){where, n, (int64_t)p->size * n, rate(p, read_lane, want, NULL)};
    m->discarded += r->gb_s.discarded;
}

static int measure_reads(const tl_machine_options *o, tl_machine *m, probe *p, int want, tl_error *err) {
    int n = tl_pool_size(p->pool);
    int64_t dram = dram_bytes(&m->system), l2 = m->system.l2 ? m->system.l2 / 2 : 512 << 10;
    size_t huge = (size_t)2 << 20;
    p->stride = ((size_t)(dram / n) + huge) / huge * huge;   /* each part begins with a huge page of its own */
    if (p->stride < (size_t)l2) p->stride = (size_t)l2;
    p->mem = tl_alloc_big(p->stride * (size_t)n, "measuring memory", err);
    if (!p->mem) return err->code;
    tl_pool_run(p->pool, touch_lane, p);
    measure_read(m, p, TL_READ_DRAM, dram, want);
    measure_read(m, p, TL_READ_L2, l2 * n, want);
    for (int i = 0; i < 4; i++)   /* larger ones are DRAM */
        if (o->bytes[i] > 0 && o->bytes[i] < dram) measure_read(m, p, TL_READ_SIZE, o->bytes[i], want);
    tl_free_big(p->mem, p->stride * (size_t)n);
    return TL_OK;
}

/* The rate at one size alone: that of a model, or of DRAM if it is larger. */
static int measure_one_read(const tl_machine_options *o, tl_machine *m, probe *p, int want, tl_error *err) {
    int n = tl_pool_size(p->pool);
    int64_t dram = dram_bytes(&m->system), bytes = o->bytes[0] > 0 && o->bytes[0] < dram ? o->bytes[0] : dram;
    for (int i = 0; i < m->n_reads; i++) {
        const tl_read_rate *r = &m->read[i];
        int same = bytes < dram ? r->where == TL_READ_SIZE && llabs(r->bytes - bytes) < bytes / 50
                                : r->where == TL_READ_DRAM;
        if (same && r->threads == n) return TL_OK;
    }
    p->stride = ((size_t)(bytes / n) + 2 * STEP) / STEP * STEP;
    p->mem = tl_alloc_big(p->stride * (size_t)n, "measuring memory", err);
    if (!p->mem) return err->code;
    tl_pool_run(p->pool, touch_lane, p);
    measure_read(m, p, bytes < dram ? TL_READ_SIZE : TL_READ_DRAM, bytes, want);
    tl_free_big(p->mem, p->stride * (size_t)n);
    return TL_OK;
}

/* ---- computing -------------------------------------------------------------------------------------------------- */

/* Loops a level has for itself; those of the levels below were measured with them. */
static void measure_peaks(const tl_machine_options *o, tl_machine *m, probe *p, int want) {
    tl_kernels k;
    for (int level = 0; tl_levels[level].name; level++) {
        if ((tl_levels[level].needs & ~m->features) || (o->level && strcmp(o->level, tl_levels[level].name))) continue;
        tl_kernels_init(&k, level);
        for (int kind = 0; kind < TL_N_PEAKS; kind++) {
            const tl_peak *peak = &k.peak[kind];
            int known = !peak->run || m->n_peaks == TL_MAX_PEAKS || (o->brief && kind == TL_PEAK_BF16);
            for (int i = 0; i < m->n_peaks && !known; i++)
                known = m->peak[i].kernel == peak->name && m->peak[i].threads == tl_pool_size(p->pool);
            if (known) continue;
            tl_peak_rate *r = &m->peak[m->n_peaks++];
            p->k = &k;
            p->peak = peak;
            p->loops = fit_loops(peak);
            *r = (tl_peak_rate){.kind = kind, .threads = tl_pool_size(p->pool), .level = tl_levels[level].name,
                                .kernel = peak->name};
            r->gmac_s = rate(p, peak_lane, want, &r->ghz);
            m->discarded += r->gmac_s.discarded;
        }
    }
}

/* Computes on two CPUs, alone and together. */
static double pair_ratio(probe *p, const int *cpu, int want, int *disturbed) {
    tl_samples alone, both;
    new_samples(&alone, want);
    new_samples(&both, want);
    p->cpu = cpu;
    while (tl_samples_more(&alone) || tl_samples_more(&both)) {
        unsigned reasons;
        p->busy = 1;
        double v = sample(p, peak_lane, &reasons);
        tl_samples_add(&alone, v, reasons);
        p->busy = 2;
        v = sample(p, peak_lane, &reasons);
        tl_samples_add(&both, v, reasons);
    }
    tl_stat one = tl_samples_stat(&alone), two = tl_samples_stat(&both);
    *disturbed = one.disturbed || two.disturbed;
    return tl_stat_rate(&two) / tl_stat_rate(&one);
}

/* The first CPU we may use with each of the next: siblings are neighbours or half the CPUs apart. */
static int measure_cores(const tl_machine_options *o, tl_machine *m, const tl_kernels *k, tl_error *err) {
    enum { MAX_PAIRS = 16, SAMPLES = 3 };
    cpu_set_t before;
    lane lanes[2];
    int cpu[CPU_SETSIZE], n = 0;
    m->core_ratio = NAN;
    if (sched_getaffinity(0, sizeof before, &before) != 0) return TL_OK;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &before)) cpu[n++] = i;
    if (n < 2 || m->system.count.threads < 2) return TL_OK;   /* under a quota two threads stop each other */
    report(o, "cores");
    probe p = {.pool = tl_pool_new(2, err), .k = k, .lanes = lanes, .peak = &k->peak[TL_PEAK_INT8]};
    if (!p.pool) return err->code;
    p.loops = fit_loops(p.peak);
    for (int i = 1; i < n && i <= MAX_PAIRS; i++) {
        int other = n > 2 * MAX_PAIRS && i > MAX_PAIRS / 2 ? n / 2 + i - MAX_PAIRS / 2 - 1 : i;
        int pair[2] = {cpu[0], cpu[other]}, disturbed;
        double ratio = pair_ratio(&p, pair, SAMPLES, &disturbed);
        if (isnan(m->core_ratio) || ratio < m->core_ratio) {
            m->core_ratio = ratio;
            m->core_a = pair[0];
            m->core_b = pair[1];
            m->core_disturbed = disturbed;
        }
    }
    tl_pool_free(p.pool);
    sched_setaffinity(0, sizeof before, &before);
    return TL_OK;
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static int default_threads(int usable, int *threads) {
    int n = 0;
    for (int t = 1; t < usable && n < TL_MAX_THREAD_COUNTS - 1; t *= 2) threads[n++] = t;
    threads[n++] = usable;
    return n;
}

static int measure_threads(const tl_machine_options *o, tl_machine *m, const tl_kernels *k, int n, tl_error *err) {
    int want = o->samples > 0 ? o->samples : 7;
    char what[64];
    snprintf(what, sizeof what, "%d thread%s", n, n == 1 ? "" : "s");
    report(o, what);
    probe p = {.pool = tl_pool_new(n, err), .k = k};
    if (p.pool) p.lanes = tl_alloc_big((size_t)n * sizeof *p.lanes, "measuring", err);
    if (p.lanes && (o->brief ? measure_one_read(o, m, &p, want, err) : measure_reads(o, m, &p, want, err)) == TL_OK)
        measure_peaks(o, m, &p, want);
    tl_free_big(p.lanes, (size_t)n * sizeof *p.lanes);
    tl_pool_free(p.pool);
    return err->code;
}

int tl_machine_init(tl_machine *m, const char *level, tl_error *err) {
    memset(m, 0, sizeof *m);
    m->core_ratio = NAN;
    tl_system_read("/", &m->system);
    m->features = tl_cpu_features();
    m->level = level ? tl_level_by_name(level) : tl_level_best();
    return m->level < 0 ? tl_fail(err, TL_E_ARGUMENT, "no CPU level \"%s\"", level) : TL_OK;
}

int tl_machine_add(const tl_machine_options *o, tl_machine *m, tl_error *err) {
    tl_error own = {0};
    tl_machine_options brief = *o;
    tl_kernels k;
    double start = tl_now();
    int level = o->level ? tl_level_by_name(o->level) : tl_level_best();
    if (!err) err = &own;
    if (level < 0) return tl_fail(err, TL_E_ARGUMENT, "no CPU level \"%s\"", o->level);
    tl_kernels_init(&k, level);
    brief.brief = 1;
    for (int i = 0; i < o->n_threads && i < TL_MAX_THREAD_COUNTS; i++)
        if (measure_threads(&brief, m, &k, o->threads[i], err) != TL_OK) return err->code;
    m->seconds += tl_now() - start;
    return TL_OK;
}

int tl_machine_measure(const tl_machine_options *o, tl_machine *m, tl_error *err) {
    tl_error own = {0};
    tl_kernels k;
    int threads[TL_MAX_THREAD_COUNTS], n = o->n_threads;
    double start = tl_now();
    if (!err) err = &own;
    if (tl_machine_init(m, o->level, err) != TL_OK) return err->code;
    tl_kernels_init(&k, m->level);
    memcpy(threads, o->threads, sizeof threads);
    if (n <= 0) n = default_threads(m->system.count.threads, threads);
    for (int i = 0; i < n && i < TL_MAX_THREAD_COUNTS; i++)
        if (measure_threads(o, m, &k, threads[i], err) != TL_OK) return err->code;
    if (measure_cores(o, m, &k, err) != TL_OK) return err->code;
    m->seconds = tl_now() - start;
    return TL_OK;
}
