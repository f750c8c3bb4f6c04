/* SPDX-License-Identifier: MIT
 *
 * cmd_bench.h: what the files of the bench command share: its options, lists of numbers, progress. */
#ifndef TL_CMD_BENCH_H
#define TL_CMD_BENCH_H

#include "bench/bench.h"
#include "cmd/cmd.h"

typedef struct tl_bench_args {
    int machine, kernels, ops, json, csv, md, no_limits, no_pack;
    const char *threads, *cpu, *prefill, *decode, *depth, *batch, *kv, *shape, *type, *svg;
    int64_t reps;
    double loop;
} tl_bench_args;

/* "1,2,4" -> v[0..cap); the number of them, or negative with an error that names the option. */
int tl_bench_numbers(const char *list, const char *option, int lo, int hi, int *v, int cap, tl_error *err);
/* "avx2,avx512vnni" -> indices of levels that this CPU can run. */
int tl_bench_levels(const char *list, int *v, int cap, tl_error *err);
/* The next word of a list "a,b" into buf; moves *list behind it, to NULL after the last. 0 with an error if it is empty
 * or does not fit. */
int tl_bench_word(const char **list, const char *option, char *buf, size_t size, tl_error *err);
/* For the progress members of option structs: a line that is written over on a terminal, else a line each. */
void tl_bench_progress(void *user, const char *what);

/* How people read tables: as --md says, in the terminal's width or 80. */
tl_page tl_bench_page(const tl_bench_args *a);
/* A paragraph below a table. */
void tl_bench_note(tl_page page, const char *text, tl_buf *out);

/* Rows by test; columns without a key are for people. */
extern const tl_col tl_bench_cols[];
extern const int tl_bench_n_cols;

/* Rows by operation, and the picture of the first model's. */
extern const tl_col tl_bench_op_cols[];
extern const int tl_bench_n_op_cols;
typedef struct tl_bench_op_run {
    const char *model, *level, *kv, *test;
    int threads, decode;
    double read, int8, f32;   /* bytes/s, MAC/s; 0: unknown */
    const tl_bench_result *r;
} tl_bench_op_run;
void tl_bench_op_rows(const tl_bench_op_run *o, tl_table *t);
typedef struct tl_bench_plot {
    char title[256], subtitle[256], series[2][96];
    tl_plot_point point[2 * TL_N_OPS];
    tl_plot p;
} tl_bench_plot;
/* Adds a run unless it is another model's or the phase is there already. */
void tl_bench_plot_add(tl_bench_plot *plot, const tl_bench_op_run *o);

/* All that was measured of models, and where it goes: out, and the file of --svg. */
typedef struct tl_bench_report {
    const tl_bench_args *a;
    const tl_table *rows, *ops;
    const tl_machine *machine;
    const tl_bench_plot *plot;
} tl_bench_report;
int tl_bench_write(const tl_bench_report *r, tl_buf *out, tl_error *err);

/* Measures the models in files, or those of --shape. Cases that fail are named on stderr and in their row, and counted
 * in *n_failed; err: nothing could be measured at all. */
int tl_bench_models(const tl_bench_args *a, const char *const *paths, int n_paths, tl_buf *out, int *n_failed,
                    tl_error *err);

#endif
