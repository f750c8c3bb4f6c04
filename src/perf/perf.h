/* SPDX-License-Identifier: MIT
 *
 * perf.h: the limits of this machine and tools for measuring against them. Uses base, kernels and report; knows nothing
 * about models. docs/PERF.md says how the numbers are made and read.
 *
 * A measurement is: open counters, start threads, then for each sample tl_disturb_begin, work, tl_disturb_end,
 * tl_samples_add, until tl_samples_more says no; the roofline of the median; a row of a table. */
#ifndef TL_PERF_H
#define TL_PERF_H

#include "base/base.h"
#include "base/pool.h"
#include "kernels.h"
#include "report/report.h"

/* ---- disturbance: was a sample measured on a quiet machine? ----------------------------------------------------- */

enum {
    TL_DISTURB_STEAL = 1,      /* the hypervisor took more than 1 % of the time */
    TL_DISTURB_SWITCHED = 2,   /* threads of this process were displaced more than 10 times per second and thread */
    TL_DISTURB_WAITED = 4,     /* the threads had less than 90 % of the CPU time they could have used */
    TL_DISTURB_OTHERS = 8,     /* other processes used more than 5 % of the machine, and at least 20 ms */
};

/* State at the begin of a sample. In samples too short for a share to be counted, one steal tick or switch counts. */
typedef struct tl_disturb {
    double wall, cpu;                   /* seconds: clock, CPU time of this process */
    double steal, busy;                 /* seconds over all CPUs, of all processes; -1: cannot be read */
    int64_t switches;                   /* involuntary, of this process */
} tl_disturb;

void tl_disturb_begin(tl_disturb *d);
/* Bits TL_DISTURB_*, 0: quiet. busy_threads: how many threads computed all the time without sleeping (0: do not judge
 * TL_DISTURB_WAITED, for work that sleeps). */
unsigned tl_disturb_end(const tl_disturb *d, int busy_threads);
/* The bits as words ("steal, other load") into buf; "" for 0. Returns buf. */
const char *tl_disturb_text(unsigned reasons, char *buf, size_t size);

/* ---- samples: repeat until enough are quiet --------------------------------------------------------------------- */

#define TL_MAX_SAMPLES 64

/* Set want (quiet samples) and tries (in all, >= want, both at most TL_MAX_SAMPLES); everything else starts at 0. */
typedef struct tl_samples {
    int want, tries;
    int n_quiet, n_bad;
    unsigned reasons;                   /* of the bad ones, together */
    double quiet[TL_MAX_SAMPLES], bad[TL_MAX_SAMPLES];
} tl_samples;

int tl_samples_more(const tl_samples *s);
void tl_samples_add(tl_samples *s, double value, unsigned reasons);

/* What remains: statistics of the quiet samples. If none was quiet, all bad ones count and disturbed is set. */
typedef struct tl_stat {
    double median, min, max;            /* NAN without samples */
    double spread;                      /* distance of the quartiles, relative to the median */
    int n, discarded;
    int disturbed;                      /* 1: no sample was quiet; the numbers are of little worth */
    unsigned reasons;
} tl_stat;
tl_stat tl_samples_stat(const tl_samples *s);
/* What to take a rate, or a time, for: the median, or the best where all samples were disturbed (load only slows). */
double tl_stat_rate(const tl_stat *s);
double tl_stat_time(const tl_stat *s);
/* "disturbed: steal, other load" if all samples were, else "", into buf; returns buf. */
const char *tl_stat_note(const tl_stat *s, char *buf, size_t size);
/* The same in a table for people: "*" all samples were disturbed; "~" they differ by more than a tenth; "". tl_stat_legend
 * explains the marks that a table may hold. */
const char *tl_stat_mark(const tl_stat *s);
extern const char tl_stat_legend[];

/* ---- counters of the CPU and energy ----------------------------------------------------------------------------- */

enum { TL_COUNT_CYCLES, TL_COUNT_INSTRUCTIONS, TL_COUNT_CACHE_MISSES, TL_N_COUNTS };

/* What one run cost, in all threads; negative where unavailable. */
typedef struct tl_counts {
    double count[TL_N_COUNTS];
    double joules;                      /* of all CPU packages, other processes' share included */
} tl_counts;

#define TL_MAX_PACKAGES 16
typedef struct tl_counters {
    int fd[TL_N_COUNTS];                /* -1: not available */
    double start[TL_N_COUNTS];
    char root[256];
    int n_packages, package[TL_MAX_PACKAGES];          /* numbers N of intel-rapl:N */
    double range[TL_MAX_PACKAGES], joules[TL_MAX_PACKAGES];
    char why_no_counts[160], why_no_joules[160];       /* "" or "unavailable: ...", with the system's reason */
} tl_counters;

/* Never fails: what is not available is said in why_no_*. Only threads started after this are counted, so open before
 * the session or pool exists. root: "/" or a folder that holds a copy of sys/ (tests); another root than "/" opens no
 * counters of the CPU. */
void tl_counters_open(tl_counters *c, const char *root);
void tl_counters_begin(tl_counters *c);
tl_counts tl_counters_end(tl_counters *c);
void tl_counters_close(tl_counters *c);

/* ---- what the system says about itself -------------------------------------------------------------------------- */

typedef struct tl_system {
    char cpu[128];
    tl_cpu_count count;                 /* CPUs, affinity, cgroup quota */
    int64_t l1d, l2, llc;               /* bytes of CPU 0's data caches, 0: unknown; llc: the last level */
    int64_t mem_total;                  /* bytes, 0: unknown */
    int64_t mem_available;              /* what this process may still use, by its cgroups' and own limits; 0: unknown */
    char huge_pages[32];                /* "always", "madvise", "never", or "unknown" */
} tl_system;

/* root as in tl_usable_threads. */
void tl_system_read(const char *root, tl_system *s);

/* The most memory [bytes] that was resident in this process at once since it started, or since tl_rss_restart where the
 * kernel can start over. 0: unknown. */
int64_t tl_rss_peak(void);
void tl_rss_restart(void);

/* ---- limits, measured ------------------------------------------------------------------------------------------- */

/* Read from: memory far larger than the caches | half of each L2 | memory of a given size. */
enum { TL_READ_DRAM, TL_READ_L2, TL_READ_SIZE, TL_N_READS };
const char *tl_read_name(int where);    /* "dram", "l2", "size" */
const char *tl_peak_name(int kind);     /* "int8", "f32", "bf16" */

#define TL_MAX_THREAD_COUNTS 16

/* All zero: the defaults. */
typedef struct tl_machine_options {
    int threads[TL_MAX_THREAD_COUNTS];  /* numbers of threads to measure; */
    int n_threads;                      /* none: 1, 2, 4, ... and all usable */
    int64_t bytes[4];                   /* sizes for TL_READ_SIZE (a model's bytes per token), 0: none; one as large as
                                           what is read for TL_READ_DRAM is left out */
    const char *level;                  /* a CPU level that this CPU can run: its peaks alone; NULL: of all levels */
    int samples;                        /* quiet ones per number, 0: 7 */
    int brief;                          /* set by tl_machine_add */
    void (*progress)(void *user, const char *what);   /* may be NULL */
    void *progress_user;
} tl_machine_options;

typedef struct tl_read_rate { int where, threads; int64_t bytes; tl_stat gb_s; } tl_read_rate;
typedef struct tl_peak_rate {
    int kind, threads;
    const char *level, *kernel;
    tl_stat gmac_s;                     /* int8 and bf16: multiply-adds; f32: fused multiply-adds */
    double ghz;                         /* of a core right after it, median; NAN: not measured */
} tl_peak_rate;

#define TL_MAX_READS (TL_MAX_THREAD_COUNTS * 6)
#define TL_MAX_PEAKS (TL_MAX_THREAD_COUNTS * TL_N_PEAKS * 8)
typedef struct tl_machine {
    tl_system system;
    uint32_t features;
    int level;                          /* best level measured */
    int n_reads, n_peaks;
    tl_read_rate read[TL_MAX_READS];
    tl_peak_rate peak[TL_MAX_PEAKS];
    double core_ratio;                  /* two CPUs computing together / one alone: about 2 two cores, about 1 siblings
                                           of one; the lowest of the pairs tried; NAN: only one CPU */
    int core_a, core_b;                 /* that pair */
    int core_disturbed;                 /* 1: its ratio is of disturbed samples */
    double seconds;                     /* all this took */
    int discarded;                      /* samples in all */
} tl_machine;

/* Takes a few seconds and up to 1 GiB of memory. */
int tl_machine_measure(const tl_machine_options *o, tl_machine *m, tl_error *err);
/* What the system says, nothing measured. level NULL: the best. */
int tl_machine_init(tl_machine *m, const char *level, tl_error *err);
/* Adds what a run of one model is compared with, unless m has it: for each of o->threads the read rate at o->bytes[0]
 * and the int8 and f32 peaks of o->level. Takes half a second or less. */
int tl_machine_add(const tl_machine_options *o, tl_machine *m, tl_error *err);

/* Read bandwidth [bytes/s; the median, or the best if all samples were disturbed] that threads can have over a working
 * set of so many bytes: measured at that size if it was (within 10 %), else DRAM's. For a number of threads that was
 * not measured the next lower one's. 0: nothing fits. */
double tl_machine_bandwidth(const tl_machine *m, int threads, int64_t bytes);
/* Peak of a level [MAC/s]; the same rule for threads. level NULL: the best. 0: not measured. */
double tl_machine_peak(const tl_machine *m, const char *level, int kind, int threads);

void tl_machine_text(const tl_machine *m, tl_page page, tl_buf *out);
void tl_machine_csv(const tl_machine *m, tl_buf *out);
void tl_machine_json(const tl_machine *m, tl_json *j, const char *key);

/* ---- roofline --------------------------------------------------------------------------------------------------- */

/* With tm = bytes / bandwidth and tc = macs / peak, the shortest times memory and arithmetic allow:
 *   memory-bound     tm >= tc and tm >= TL_MEMORY_BOUND * seconds
 *   compute-bound    tc >  tm and tc >= TL_COMPUTE_BOUND * seconds
 *   overhead-bound   neither: the time goes to something else than reading weights or multiplying
 *   vector work      no multiply-adds, and memory is not the limit: norms, quantization, rotation, copies
 *   unknown          no time, or neither limit is known
 * The thresholds differ because a read loop comes near the bandwidth, while no product comes near a register peak: it
 * also unpacks, scales and loads. */
#define TL_MEMORY_BOUND 0.60
#define TL_COMPUTE_BOUND 0.40
enum { TL_REGIME_UNKNOWN, TL_REGIME_MEMORY, TL_REGIME_COMPUTE, TL_REGIME_OVERHEAD, TL_REGIME_VECTOR };

typedef struct tl_roofline {
    double gb_s, gmac_s;                /* achieved */
    double memory_share, compute_share; /* tm / seconds, tc / seconds; above 1: data came from a cache, or the limit was
                                           measured on a disturbed machine. 0 where the limit is unknown */
    double intensity, ridge;            /* MAC per byte: of the work; where both limits meet (0: unknown) */
    int regime;
    const char *name, *hint;            /* "memory-bound"; one line on what would help */
    const char *bound;                  /* the same in a word: "memory" */
} tl_roofline;

/* Peak of work that is partly between floats [MAC/s]: macs over the time that both parts take one after the other, each at
 * its own peak. 0: a peak that is needed is unknown, or there is no work. */
double tl_peak_mixed(double macs, double floats, double int8, double f32);

/* bandwidth [bytes/s] and peak [MAC/s] at the same number of threads; <= 0: unknown. */
tl_roofline tl_regime(double bytes, double macs, double seconds, double bandwidth, double peak);

/* ---- kernels one by one ----------------------------------------------------------------------------------------- */

typedef struct tl_kernel_options {
    const char *filter;                 /* part of a kernel's name; NULL: all */
    int levels[16], n_levels;           /* indices; none: all this CPU can run */
    double loop;                        /* > 0: each selected kernel runs so many seconds (for a profiler) */
    int samples;                        /* 0: 5 */
    void (*progress)(void *user, const char *what);
    void *progress_user;
} tl_kernel_options;

/* Columns of the table tl_kernels_measure fills, with their number. */
extern const tl_col tl_kernel_cols[];
extern const int tl_n_kernel_cols;
/* TL_E_ARGUMENT if no kernel has the filter's text in its name. */
int tl_kernels_check(const tl_kernel_options *o, tl_error *err);
/* Measures with one thread. m: the limits (one thread), NULL: no shares. */
int tl_kernels_measure(const tl_kernel_options *o, const tl_machine *m, tl_table *t, tl_error *err);

#endif
