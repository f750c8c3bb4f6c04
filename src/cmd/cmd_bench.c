/* SPDX-License-Identifier: MIT
 *
 * cmd_bench.c: measures the machine's limits and how near the kernels come to them. docs/PERF.md explains the
 * numbers. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cmd/cmd.h"
#include "compute/compute.h"
#include "perf/perf.h"

typedef struct bench_args {
    int machine, kernels, json, csv;
    const char *threads, *cpu;
    double loop;
} bench_args;

#define AT(member) offsetof(bench_args, member)
static const tl_opt options[] = {
    {"--machine", NULL, TL_OPT_FLAG, AT(machine), 0, 0, "the machine's limits: read bandwidth and peaks of arithmetic"},
    {"--kernels", NULL, TL_OPT_FLAG, AT(kernels), 0, 0,
     "each kernel alone; FILTER: a part of kernel names, as q4_k or avx2"},
    {"-t,--threads", "LIST", TL_OPT_STR, AT(threads), 0, 0,
     "numbers of threads for --machine, as 1,2,4; default: 1, 2, 4 ... all"},
    {"--cpu", "LIST", TL_OPT_STR, AT(cpu), 0, 0,
     "CPU levels for --kernels, as avx2,avx512vnni; default: all this CPU can run"},
    {"--loop", "SECONDS", TL_OPT_NUM, AT(loop), 0, 86400, "run each kernel so long, to watch it with a profiler"},
    {"--json", NULL, TL_OPT_FLAG, AT(json), 0, 0, "print JSON"},
    {"--csv", NULL, TL_OPT_FLAG, AT(csv), 0, 0, "print CSV"},
    {0},
};

/* "1,2,4" -> v[0..cap); the number of them, or negative with an error that names the option. */
static int parse_numbers(const char *list, const char *option, int lo, int hi, int *v, int cap, tl_error *err) {
    int n = 0;
    for (const char *s = list;;) {
        char *end;
        errno = 0;
        long x = strtol(s, &end, 10);
        if (end == s || errno || x < lo || x > hi || (*end && *end != ','))
            return tl_fail(err, TL_E_ARGUMENT, "%s wants numbers from %d to %d with commas between them, not '%s'",
                           option, lo, hi, list);
        if (n == cap) return tl_fail(err, TL_E_ARGUMENT, "%s: more than %d numbers", option, cap);
        v[n++] = (int)x;
        if (!*end) return n;
        s = end + 1;
    }
}

/* "avx2,avx512vnni" -> indices of levels that this CPU can run. */
static int parse_levels(const char *list, int *v, int cap, tl_error *err) {
    int n = 0;
    for (const char *s = list; n < cap;) {
        char name[32];
        size_t len = strcspn(s, ",");
        if (len == 0) return tl_fail(err, TL_E_ARGUMENT, "--cpu wants names with commas between them, not '%s'", list);
        snprintf(name, sizeof name, "%.*s", len < sizeof name ? (int)len : (int)sizeof name - 1, s);
        v[n] = tl_level_choose(name, NULL, err);
        if (v[n++] < 0) return err->code;
        if (!s[len]) return n;
        s += len + 1;
    }
    return tl_fail(err, TL_E_ARGUMENT, "--cpu: more than %d levels", cap);
}

static void show_progress(void *user, const char *what) {
    (void)user;
    tl_status("bench: %s", what);
}

static int bench_machine(const bench_args *a, tl_buf *out, tl_error *err) {
    tl_machine_options o = {.progress = show_progress};
    tl_machine *m = tl_alloc_n(1, sizeof *m, "the measurements", err);
    if (a->threads) {
        o.n_threads = parse_numbers(a->threads, "-t", 1, TL_MAX_THREADS, o.threads, TL_MAX_THREAD_COUNTS, err);
        if (o.n_threads < 0) goto end;
    }
    if (!m || tl_machine_measure(&o, m, err) != TL_OK) goto end;
    if (a->json) {
        tl_json j = {.out = out};
        tl_json_begin(&j, NULL, '{');
        tl_machine_json(m, &j, "machine");
        tl_json_end(&j, '}');
        tl_buf_str(out, "\n");
    } else if (a->csv) tl_machine_csv(m, out);
    else tl_machine_text(m, out);
end:
    tl_free(m);
    return err->code;
}

/* What the shares in the table of kernels relate to. */
static void add_limits(const tl_machine *m, tl_buf *out) {
    tl_buf_fmt(out, "1 thread reads %.1f GB/s; peaks [GMAC/s]:", tl_machine_bandwidth(m, 1, 0) * 1e-9);
    for (int i = 0; i < m->n_peaks; i++)
        tl_buf_fmt(out, "%s %s %s %.1f", i ? "," : "", m->peak[i].level, tl_peak_name(m->peak[i].kind),
                   tl_machine_peak(m, m->peak[i].level, m->peak[i].kind, 1) * 1e-9);
    tl_buf_fmt(out, "; %d samples discarded\n\n", m->discarded);
}

static int bench_kernels(const bench_args *a, const char *filter, tl_buf *out, tl_error *err) {
    tl_kernel_options o = {.filter = filter, .loop = a->loop, .progress = show_progress};
    tl_machine_options limits = {.threads = {1}, .n_threads = 1, .samples = 5, .progress = show_progress};
    tl_table t = {.cols = tl_kernel_cols, .n_cols = tl_n_kernel_cols};
    tl_machine *m = tl_alloc_n(1, sizeof *m, "the measurements", err);
    if (a->cpu) {
        o.n_levels = parse_levels(a->cpu, o.levels, (int)(sizeof o.levels / sizeof *o.levels), err);
        if (o.n_levels < 0) goto end;
    }
    if (!m || (a->loop == 0 && tl_machine_measure(&limits, m, err) != TL_OK)) goto end;
    if (tl_kernels_measure(&o, a->loop == 0 ? m : NULL, &t, err) != TL_OK) goto end;
    if (t.failed) tl_fail(err, TL_E_MEMORY, "bench: no memory for the table");
    if (a->json) {
        tl_json j = {.out = out};
        tl_json_begin(&j, NULL, '{');
        if (a->loop == 0) tl_machine_json(m, &j, "machine");
        tl_table_as_json(&t, &j, "rows");
        tl_json_end(&j, '}');
        tl_buf_str(out, "\n");
    } else if (a->csv) tl_table_as_csv(&t, out);
    else {
        if (a->loop == 0) add_limits(m, out);
        tl_table_as_text(&t, out);
    }
end:
    tl_table_free(&t);
    tl_free(m);
    return err->code;
}

static int bench_main(const tl_cmd *self, int argc, char **argv) {
    bench_args a = {0};
    tl_error err = {0};
    tl_buf out = {0};
    const char *pos[1];
    int code = tl_cmd_parse(self, &a, argc, argv, pos, 0, 1);
    if (code >= 0) return code;
    if (a.json && a.csv) tl_fail(&err, TL_E_ARGUMENT, "bench: --json and --csv are two forms of the same: choose one");
    else if (a.machine + a.kernels != 1) tl_fail(&err, TL_E_ARGUMENT, "bench: choose one of --machine and --kernels");
    else if (a.machine && pos[0])
        tl_fail(&err, TL_E_ARGUMENT, "bench: '%s' is one word too many for --machine", pos[0]);
    else if (a.machine) bench_machine(&a, &out, &err);
    else bench_kernels(&a, pos[0], &out, &err);
    if (!err.code && out.failed) tl_fail(&err, TL_E_MEMORY, "bench: no memory for the report");
    if (!err.code) fwrite(out.p, 1, out.n, stdout);
    tl_buf_free(&out);
    return err.code ? tl_cmd_fail(&err) : 0;
}

const tl_cmd tl_cmd_bench = {
    "bench",
    "measures the machine's limits and the kernels' speed against them",
    "--machine | --kernels [FILTER] [options]",
    "  tinyllm bench --machine\n"
    "  tinyllm bench --machine --json -t 1,2,4 >machine.json\n"
    "  tinyllm bench --kernels q4_k --cpu avx2,avx512vnni\n"
    "  perf record tinyllm bench --kernels gemm_q4_k_r16 --loop 10\n",
    options,
    bench_main,
};
