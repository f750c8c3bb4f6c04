/* SPDX-License-Identifier: MIT
 *
 * bench.h: measuring models: what a pass of the forward pass must read and multiply, runs of prefill and decode, and
 * models of random weights in the shape of known ones. The limits to compare with come from perf/; docs/PERF.md says
 * how the numbers are read. */
#ifndef TL_BENCH_H
#define TL_BENCH_H

#include "engine/session.h"
#include "perf/perf.h"

/* ---- cost: what must be read and multiplied ---------------------------------------------------------------------- */

/* Adds a pass with a cache of a type to cost [TL_N_OPS]. Weights are read once, keys and values once per sequence and
 * only inside a layer's window. */
void tl_cost_add(const tl_model *m, const tl_kv_ops *kv, const tl_pass *p, tl_cost *cost);
tl_cost tl_cost_sum(const tl_cost *cost);

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* Prefill: a prompt of n tokens, logits of the last. Decode: n steps of batch sequences, one token each. Both with
 * depth positions in the cache before. */
typedef struct tl_bench_case { int decode, n, depth, batch; } tl_bench_case;
/* "pp512", "tg64", "tg64@d4096", "tg64*b16", "tg64*b16@d4096". */
void tl_bench_case_name(const tl_bench_case *c, char *buf, size_t size);
/* Positions a sequence needs. */
int64_t tl_bench_case_ctx(const tl_bench_case *c);

typedef struct tl_bench_options {
    int reps;                           /* quiet runs wanted, 1..TL_MAX_SAMPLES; disturbed ones are repeated */
    tl_counters *counters;              /* opened before the session */
    int profile;                        /* also the time of each operation */
    void (*progress)(void *user, const char *what);   /* may be NULL */
    void *progress_user;
} tl_bench_options;

typedef struct tl_bench_result {
    tl_stat tok_s;                      /* all sequences together */
    double first;                       /* prefill: seconds until one token behind the prompt was computed, median;
                                           decode: NAN */
    double tokens, seconds;             /* of one run */
    tl_cost op[TL_N_OPS], cost;         /* of one run, by operation and together */
    double op_seconds[TL_N_OPS];        /* of one run, mean of those that count for tok_s; if a profile was asked for */
    tl_counts counts;                   /* per token; negative: unavailable */
} tl_bench_result;

/* Fills the cache to c->depth where it is not yet, runs once for warmth, then measures. The session has at least
 * c->batch sequences of tl_bench_case_ctx positions; they hold c->depth positions afterwards. */
int tl_bench_run(tl_session *s, const tl_bench_case *c, const tl_bench_options *o, tl_bench_result *r, tl_error *err);

const char *tl_op_name(int op);         /* "gate_up" */

#endif
