/* SPDX-License-Identifier: MIT
 *
 * cmd_bench.c: the bench command: its options, the machine's limits, and how near the kernels come to them. Models are
 * in cmd_bench_model.c. docs/PERF.md explains the numbers. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cmd/cmd_bench.h"
#include "cmd/cmd_model.h"
#include "cmd/term.h"
#include "compute/compute.h"

#define AT(member) offsetof(tl_bench_args, member)
static const tl_opt options[] = {
    {"-p,--prefill", "LIST", TL_OPT_STR, AT(prefill), 0, 0, "prompt lengths, such as 128,512; 0: none; default 512"},
    {"-n,--decode", "LIST", TL_OPT_STR, AT(decode), 0, 0, "numbers of tokens to decode; 0: none; default 64"},
    {"-d,--depth", "LIST", TL_OPT_STR, AT(depth), 0, 0, "positions already in the cache, such as 0,4096; default 0"},
    {"--batch", "LIST", TL_OPT_STR, AT(batch), 0, 0, "sequences decoded together, such as 1,4,16; default 1"},
    {"--kv", "LIST", TL_OPT_STR, AT(kv), 0, 0, "types of the KV cache; default f16"},
    {"-t,--threads", "LIST", TL_OPT_STR, AT(threads), 0, 0,
     "numbers of threads, such as 1,2,4; default: all this process may use; --machine: 1, 2, 4 ... all"},
    {"--cpu", "LIST", TL_OPT_STR, AT(cpu), 0, 0,
     "CPU levels, such as avx2,avx512vnni; default: the best; --kernels: all this CPU can run"},
    {"-r,--reps", "N", TL_OPT_INT, AT(reps), 1, TL_MAX_SAMPLES, "runs of each test; default 5"},
    {"--ops", NULL, TL_OPT_FLAG, AT(ops), 0, 0, "the operations of the forward pass one by one"},
    {"--svg", "FILE", TL_OPT_STR, AT(svg), 0, 0, "with --ops: the roofline of the first model as a picture"},
    {"--shape", "LIST", TL_OPT_STR, AT(shape), 0, 0,
     "random weights in known shapes, such as qwen2.5-0.5b,llama-3.2-1b, or with layers=24,dim=896,ff=4864,heads=14,..."},
    {"--type", "LIST", TL_OPT_STR, AT(type), 0, 0, "types for --shape, such as q4_k_m,q8_0; default q4_k_m"},
    {"--no-pack", NULL, TL_OPT_FLAG, AT(no_pack), 0, 0, TL_NO_PACK_HELP},
    {"--no-limits", NULL, TL_OPT_FLAG, AT(no_limits), 0, 0, "do not measure the limits of the machine"},
    {"--machine", NULL, TL_OPT_FLAG, AT(machine), 0, 0, "the machine's limits: read bandwidth and peaks of arithmetic"},
    {"--kernels", NULL, TL_OPT_FLAG, AT(kernels), 0, 0,
     "each kernel alone; FILTER: part of a kernel's name, such as q4_k or avx2"},
    {"--loop", "SECONDS", TL_OPT_NUM, AT(loop), 0, 86400, "run each kernel for this long, to watch it with a profiler"},
    {"--json", NULL, TL_OPT_FLAG, AT(json), 0, 0, "print JSON"},
    {"--csv", NULL, TL_OPT_FLAG, AT(csv), 0, 0, "print CSV"},
    {"--md", NULL, TL_OPT_FLAG, AT(md), 0, 0, "print tables in Markdown"},
    {0},
};

int tl_bench_numbers(const char *list, const char *option, int lo, int hi, int *v, int cap, tl_error *err) {
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

int tl_bench_word(const char **list, const char *option, char *buf, size_t size, tl_error *err) {
    size_t len = strcspn(*list, ",");
    if (len == 0 || len >= size) {
        tl_fail(err, TL_E_ARGUMENT, "%s wants names with commas between them, not '%.80s'", option, *list);
        return 0;
    }
    memcpy(buf, *list, len);
    buf[len] = 0;
    *list = (*list)[len] ? *list + len + 1 : NULL;
    return 1;
}

int tl_bench_levels(const char *list, int *v, int cap, tl_error *err) {
    char name[32];
    int n = 0;
    for (const char *s = list; s;) {
        if (n == cap) return tl_fail(err, TL_E_ARGUMENT, "--cpu: more than %d levels", cap);
        if (!tl_bench_word(&s, "--cpu", name, sizeof name, err)) return err->code;
        v[n] = tl_cmd_level(name, NULL, err);
        if (v[n++] < 0) return err->code;
    }
    return n;
}

void tl_bench_progress(void *user, const char *what) {
    (void)user;
    if (isatty(STDERR_FILENO)) tl_term_progress("bench: %s", what);
    else tl_status("bench: %s", what);
}

static int bench_machine(const tl_bench_args *a, tl_buf *out, tl_error *err) {
    tl_machine_options o = {.progress = tl_bench_progress};
    tl_machine *m = tl_alloc_n(1, sizeof *m, "the measurements", err);
    if (a->threads) {
        o.n_threads = tl_bench_numbers(a->threads, "-t", 1, TL_MAX_THREADS, o.threads, TL_MAX_THREAD_COUNTS, err);
        if (o.n_threads < 0) goto end;
        for (int i = 0; i < o.n_threads; i++) o.threads[i] = tl_cmd_threads(o.threads[i]);
    }
    if (!m || tl_machine_measure(&o, m, err) != TL_OK) goto end;
    if (a->json) {
        tl_json j = {.out = out};
        tl_json_begin(&j, NULL, '{');
        tl_machine_json(m, &j, "machine");
        tl_json_end(&j, '}');
        tl_buf_str(out, "\n");
    } else if (a->csv) tl_machine_csv(m, out);
    else tl_machine_text(m, tl_bench_page(a), out);
end:
    tl_free(m);
    return err->code;
}

/* What the shares in the table of kernels relate to. */
static void add_limits(const tl_machine *m, tl_page page, tl_buf *out) {
    tl_buf b = {0};
    tl_buf_fmt(&b, "1 thread reads %.1f GB/s; peaks [GMAC/s]:", tl_machine_bandwidth(m, 1, 0) * 1e-9);
    for (int i = 0; i < m->n_peaks; i++)
        tl_buf_fmt(&b, "%s %s %s %.1f", i ? "," : "", m->peak[i].level, tl_peak_name(m->peak[i].kind),
                   tl_machine_peak(m, m->peak[i].level, m->peak[i].kind, 1) * 1e-9);
    tl_buf_fmt(&b, "; %d samples discarded", m->discarded);
    if (b.p) tl_wrap(out, b.p, page.markdown ? 0 : page.width);
    tl_buf_str(out, "\n");
    tl_buf_free(&b);
}

static int has_marks(const tl_table *t) {
    for (size_t i = 0; i < t->n; i++)
        if (!t->cols[i % (size_t)t->n_cols].key && t->cells[i].text && strpbrk(t->cells[i].text, "*~")) return 1;
    return 0;
}

static int bench_kernels(const tl_bench_args *a, const char *filter, tl_buf *out, tl_error *err) {
    tl_kernel_options o = {.filter = filter, .loop = a->loop, .progress = tl_bench_progress};
    tl_machine_options limits = {.threads = {1}, .n_threads = 1, .samples = 5, .progress = tl_bench_progress};
    tl_table t = {.cols = tl_kernel_cols, .n_cols = tl_n_kernel_cols};
    tl_machine *m = tl_alloc_n(1, sizeof *m, "the measurements", err);
    if (a->cpu) {
        o.n_levels = tl_bench_levels(a->cpu, o.levels, (int)(sizeof o.levels / sizeof *o.levels), err);
        if (o.n_levels < 0) goto end;
    }
    if (!m || tl_kernels_check(&o, err) != TL_OK) goto end;
    if (a->loop == 0 && tl_machine_measure(&limits, m, err) != TL_OK) goto end;
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
        if (a->loop == 0) add_limits(m, tl_bench_page(a), out);
        tl_table_for_people(&t, tl_bench_page(a), out);
        if (has_marks(&t)) tl_bench_note(tl_bench_page(a), tl_stat_legend, out);
    }
end:
    tl_table_free(&t);
    tl_free(m);
    return err->code;
}

enum { MAX_MODELS = 64 };

/* What the options ask for, and whether they fit together. */
static void bench(const tl_bench_args *a, const char *const *words, int n_words, tl_buf *out, int *n_failed,
                  tl_error *err) {
    if (a->json + a->csv + a->md > 1)
        tl_fail(err, TL_E_ARGUMENT, "bench: --json, --csv and --md are forms of the same: choose one");
    else if (a->machine + a->kernels > 1)
        tl_fail(err, TL_E_ARGUMENT, "bench: choose one of --machine and --kernels");
    else if (a->machine && n_words)
        tl_fail(err, TL_E_ARGUMENT, "bench: '%s' is not expected with --machine", words[0]);
    else if (a->kernels && n_words > 1)
        tl_fail(err, TL_E_ARGUMENT, "bench: '%s' is not expected with --kernels", words[1]);
    else if (a->machine) bench_machine(a, out, err);
    else if (a->kernels) bench_kernels(a, words[0], out, err);
    else if (a->shape && n_words)
        tl_fail(err, TL_E_ARGUMENT, "bench: '%s' is not expected with --shape", words[0]);
    else if (a->svg && !a->ops) tl_fail(err, TL_E_ARGUMENT, "bench: --svg is for --ops");
    else if (a->type && !a->shape) tl_fail(err, TL_E_ARGUMENT, "bench: --type is for --shape");
    else if (n_words || a->shape) tl_bench_models(a, words, n_words, out, n_failed, err);
    else tl_fail(err, TL_E_ARGUMENT, "bench: choose one of MODEL, --shape, --machine and --kernels");
    if (!err->code && out->failed) tl_fail(err, TL_E_MEMORY, "bench: no memory for the report");
}

static int bench_main(const tl_cmd *self, int argc, char **argv) {
    tl_bench_args a = {.reps = 5};
    tl_error err = {0};
    tl_buf out = {0};
    const char *pos[MAX_MODELS];
    int n_words = 0, n_failed = 0, code = tl_cmd_parse(self, &a, argc, argv, pos, 0, MAX_MODELS);
    if (code >= 0) return code;
    while (n_words < MAX_MODELS && pos[n_words]) n_words++;
    bench(&a, pos, n_words, &out, &n_failed, &err);
    tl_term_progress_end();
    if (!out.failed && out.n) fwrite(out.p, 1, out.n, stdout);   /* also where only the picture failed */
    tl_buf_free(&out);
    return err.code ? tl_cmd_fail(&err) : n_failed != 0;
}

const tl_cmd tl_cmd_bench = {
    "bench",
    "measure models and kernels against the limits of the machine",
    "MODEL... | --shape LIST | --machine | --kernels [FILTER] [options]",
    "  tinyllm bench model.gguf\n"
    "  tinyllm bench model.gguf -p 128,512 -n 64 -d 0,4096 -t 1,2 --json\n"
    "  tinyllm bench model.gguf -p 0 --batch 1,2,4,8,16,32\n"
    "  tinyllm bench model.gguf --ops --svg roofline.svg\n"
    "  tinyllm bench --shape qwen2.5-7b,llama-3.1-8b --type q4_k_m,q8_0\n"
    "  tinyllm bench --machine\n"
    "  tinyllm bench --machine --json -t 1,2,4 >machine.json\n"
    "  tinyllm bench --kernels q4_k --cpu avx2,avx512vnni\n"
    "  perf record tinyllm bench --kernels gemm_q4_k_r16 --loop 10\n",
    options,
    bench_main,
};
