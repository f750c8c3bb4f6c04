/* SPDX-License-Identifier: MIT
 *
 * cmd_bench_model.c: models measured with every combination of level, cache type, threads, depth and test. A model is
 * opened once for a level; each combination of threads, cache type, batch and depth has a session of its own, so that
 * one that does not fit fails alone. */
#include <math.h>
#include <string.h>
#include "bench/shape.h"
#include "cmd/cmd_bench.h"
#include "cmd/cmd_model.h"
#include "cmd/term.h"

enum { MAX_LIST = 16 };

typedef struct list { int v[MAX_LIST], n; } list;

typedef struct suite {
    const tl_bench_args *a;
    list prefill, decode, depth, batch, threads, level, kv;
    tl_machine machine;
    tl_counters counters;
    tl_table table, ops;
    tl_bench_plot plot;
    int n_failed;
    /* now being measured */
    const char *path, *label;
    int64_t shape_bytes;      /* predicted size of a file of this shape, 0: this is a file */
    const tl_model *m;
    const char *level_name, *kv_name;
    int n_threads;
    int64_t load_rss;
    int warned;               /* of a context beyond the trained one */
} suite;

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void unless_negative(tl_table *t, double v, const char *why) {
    if (v >= 0) tl_table_num(t, v);
    else tl_table_str(t, *why ? why : "unavailable: the counters stopped");
}

static void add_subject(suite *s, const char *test) {
    tl_table *t = &s->table;
    tl_model_info info = {0};
    if (s->m) info = tl_model_get_info(s->m);
    tl_table_str(t, s->label);
    tl_table_str(t, s->shape_bytes ? NULL : s->path);
    tl_table_str(t, info.arch);
    tl_table_num(t, s->m ? (double)info.n_params : NAN);
    double size = s->shape_bytes ? (double)s->shape_bytes : (double)info.file_bytes;
    tl_table_num(t, size > 0 ? size : NAN);
    tl_table_str(t, s->level_name);
    tl_table_str(t, s->kv_name);
    tl_table_num(t, s->n_threads);
    tl_table_str(t, test);
}

/* A row without numbers. */
static void add_failure(suite *s, const char *test, const char *why) {
    tl_table *t = &s->table;
    s->n_failed++;
    fprintf(stderr, "tinyllm: %s: %s: %s\n", s->label, test, why);
    add_subject(s, test);
    size_t n = (size_t)tl_bench_n_cols;
    while (t->n % n != n - 1 && !t->failed) {
        if (tl_bench_cols[t->n % n].key) tl_table_str(t, NULL);
        else tl_table_str(t, tl_bench_cols[t->n % n].title[0] ? NULL : "failed");   /* the marks' column */
    }
    tl_table_str(t, why);
}

static double or_nan(double v) { return v > 0 ? v : NAN; }

static void add_row(suite *s, const char *test, const tl_bench_result *r) {
    tl_table *t = &s->table;
    const tl_counters *c = &s->counters;
    tl_model_info info = tl_model_get_info(s->m);
    char why[96];
    double read = tl_machine_bandwidth(&s->machine, s->n_threads, info.bytes_per_token);
    double peak = tl_peak_mixed(r->cost.macs, r->cost.floats,
                                tl_machine_peak(&s->machine, s->level_name, TL_PEAK_INT8, s->n_threads),
                                tl_machine_peak(&s->machine, s->level_name, TL_PEAK_F32, s->n_threads));
    tl_roofline roof = tl_regime(r->cost.bytes, r->cost.macs, r->seconds, read, peak);
    int64_t rss = tl_rss_peak();
    add_subject(s, test);
    tl_table_num(t, r->tok_s.median);
    tl_table_num(t, r->tok_s.min);
    tl_table_num(t, r->tok_s.max);
    tl_table_num(t, (r->tok_s.max - r->tok_s.min) / r->tok_s.median);
    tl_table_num(t, r->first * 1e3);
    tl_table_num(t, roof.gb_s);
    tl_table_num(t, or_nan(roof.memory_share));
    tl_table_num(t, roof.gmac_s);
    tl_table_num(t, or_nan(roof.compute_share));
    tl_table_num(t, r->cost.bytes);
    tl_table_num(t, r->cost.macs);
    tl_table_num(t, or_nan((double)(rss > s->load_rss ? rss : s->load_rss)));
    tl_table_num(t, info.load_seconds);
    unless_negative(t, r->counts.joules, c->why_no_joules);
    for (int i = 0; i < TL_N_COUNTS; i++) unless_negative(t, r->counts.count[i], c->why_no_counts);
    tl_table_num(t, r->tok_s.n);
    tl_table_num(t, r->tok_s.discarded);
    tl_table_str(t, r->tok_s.disturbed ? tl_disturb_text(r->tok_s.reasons, why, sizeof why) : NULL);
    tl_table_str(t, roof.name);
    tl_table_str(t, roof.regime == TL_REGIME_UNKNOWN ? NULL : roof.bound);
    tl_table_str(t, r->tok_s.disturbed ? "*" : "");
    tl_table_str(t, roof.hint);
    tl_table_str(t, NULL);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* The cases of one session: those of a batch size at one depth. Prompts are measured where one sequence decodes. */
typedef struct group { tl_bench_case c[2 * MAX_LIST]; int n; } group;

static group make_group(const suite *s, int batch, int depth, int prompts) {
    group g = {.n = 0};
    for (int i = 0; prompts && i < s->prefill.n; i++)
        if (s->prefill.v[i]) g.c[g.n++] = (tl_bench_case){.n = s->prefill.v[i], .depth = depth, .batch = 1};
    for (int i = 0; i < s->decode.n; i++)
        if (s->decode.v[i])
            g.c[g.n++] = (tl_bench_case){.decode = 1, .n = s->decode.v[i], .depth = depth, .batch = batch};
    return g;
}

static void progress(void *user, const char *what) {
    const suite *s = user;
    tl_term_progress("bench: %s; %s, %s, %d thread%s", what, s->label, s->level_name, s->n_threads, s->n_threads == 1 ? "" : "s");
}

static void add_ops(suite *s, const tl_bench_case *c, const char *test, const tl_bench_result *r) {
    int64_t size = tl_model_get_info(s->m).bytes_per_token;
    tl_bench_op_run o = {.model = s->label, .level = s->level_name, .test = test, .threads = s->n_threads,
                         .kv = s->kv_name, .decode = c->decode, .r = r};
    o.read = tl_machine_bandwidth(&s->machine, s->n_threads, size);
    o.int8 = tl_machine_peak(&s->machine, s->level_name, TL_PEAK_INT8, s->n_threads);
    o.f32 = tl_machine_peak(&s->machine, s->level_name, TL_PEAK_F32, s->n_threads);
    tl_bench_op_rows(&o, &s->ops);
    tl_bench_plot_add(&s->plot, &o);
}

static void run_case(suite *s, tl_session *session, const tl_bench_case *c) {
    tl_bench_options o = {.reps = (int)s->a->reps, .counters = &s->counters, .progress = progress, .progress_user = s};
    tl_bench_result r;
    tl_error err = {0};
    char name[64];
    o.profile = s->a->ops;
    tl_bench_case_name(c, name, sizeof name);
    int rc = tl_bench_run(session, c, &o, &r, &err);
    tl_term_progress_end();
    if (rc == TL_OK && s->a->ops) add_ops(s, c, name, &r);
    else if (rc == TL_OK) add_row(s, name, &r);
    else add_failure(s, name, err.text);
}

static void run_group(suite *s, int kv, int batch, int depth, int prompts) {
    group g = make_group(s, batch, depth, prompts);
    tl_session_options o = tl_session_options_default();
    tl_error err = {0};
    char name[64];
    int64_t ctx = 0;
    if (g.n == 0) return;
    for (int i = 0; i < g.n; i++)
        if (tl_bench_case_ctx(&g.c[i]) > ctx) ctx = tl_bench_case_ctx(&g.c[i]);
    int64_t trained = tl_model_get_info(s->m).n_ctx_train;
    if (trained > 0 && ctx > trained && !s->warned++)
        tl_status("warning: tests go to %lld positions, the model was trained for %lld", (long long)ctx, (long long)trained);
    o.n_ctx = ctx < INT32_MAX ? (int)ctx : INT32_MAX;
    o.n_seq = batch;
    o.n_threads = s->n_threads;
    o.kv_type = kv;
    tl_counters_open(&s->counters, "/");
    tl_rss_restart();
    tl_session *session = tl_session_new(s->m, &o, &err);
    for (int i = 0; i < g.n; i++) {
        tl_bench_case_name(&g.c[i], name, sizeof name);
        if (session) run_case(s, session, &g.c[i]);
        else add_failure(s, name, err.text);
    }
    tl_session_free(session);
    tl_counters_close(&s->counters);
}

static void run_threads(suite *s) {
    for (int k = 0; k < s->kv.n; k++) {
        s->kv_name = tl_kv_type_name(s->kv.v[k]);
        for (int d = 0; d < s->depth.n; d++)
            for (int b = 0; b < s->batch.n; b++)
                run_group(s, s->kv.v[k], s->batch.v[b], s->depth.v[d], b == 0);
    }
}

/* The limits at this model's size. Failing to measure them costs the shares, not the run. */
static void measure_limits(suite *s) {
    tl_machine_options o = {.level = s->level_name, .n_threads = s->threads.n, .samples = 5};
    tl_error err = {0};
    if (s->a->no_limits) return;
    memcpy(o.threads, s->threads.v, sizeof s->threads.v);
    o.bytes[0] = tl_model_get_info(s->m).bytes_per_token;
    progress(s, "limits of this machine");
    if (tl_machine_add(&o, &s->machine, &err) != TL_OK) tl_status("bench: limits not measured: %s", err.text);
    tl_term_progress_end();
}

static void run_level(suite *s, int level) {
    tl_model_options o = tl_model_options_default();
    tl_error err = {0};
    s->level_name = o.cpu = tl_levels[level].name;
    o.no_pack = s->a->no_pack;
    s->n_threads = s->threads.v[0];
    tl_rss_restart();
    tl_model *m = tl_model_open(s->path, &o, &err);
    s->load_rss = tl_rss_peak();
    s->m = m;
    s->kv_name = NULL;
    if (!m) add_failure(s, "load", err.text);
    else {
        measure_limits(s);
        for (int i = 0; i < s->threads.n; i++) {
            s->n_threads = s->threads.v[i];
            run_threads(s);
        }
    }
    s->m = NULL;
    tl_model_free(m);
}

/* ---- what to run ------------------------------------------------------------------------------------------------- */

static int parse_list(list *l, const char *text, const char *option, int lo, int hi, int absent, tl_error *err) {
    l->n = 1;
    l->v[0] = absent;
    if (text) l->n = tl_bench_numbers(text, option, lo, hi, l->v, MAX_LIST, err);
    return err->code;
}

static int parse_kv(list *l, const char *text, tl_error *err) {
    char word[32];
    l->n = 1;
    l->v[0] = TL_KV_TYPE_F16;
    if (!text) return TL_OK;
    for (l->n = 0; text; l->n++) {
        tl_model_args one = {.kv = word};
        if (l->n == MAX_LIST) return tl_fail(err, TL_E_ARGUMENT, "--kv: more than %d types", MAX_LIST);
        if (!tl_bench_word(&text, "--kv", word, sizeof word, err)) return err->code;
        l->v[l->n] = tl_cmd_kv(&one, err);
        if (err->code) return err->code;
    }
    return TL_OK;
}

static int parse_lists(suite *s, tl_error *err) {
    const tl_bench_args *a = s->a;
    parse_list(&s->prefill, a->prefill, "-p", 0, INT32_MAX / 4, 512, err);
    parse_list(&s->decode, a->decode, "-n", 0, INT32_MAX / 4, 64, err);
    parse_list(&s->depth, a->depth, "-d", 0, INT32_MAX / 4, 0, err);
    parse_list(&s->batch, a->batch, "--batch", 1, 1024, 1, err);
    parse_list(&s->threads, a->threads, "-t", 1, TL_MAX_THREADS, tl_usable_threads("/", NULL), err);
    parse_kv(&s->kv, a->kv, err);
    s->level.n = 1;
    if (err->code) return err->code;
    int work = 0;
    for (int i = 0; i < s->prefill.n; i++) work |= s->prefill.v[i];
    for (int i = 0; i < s->decode.n; i++) work |= s->decode.v[i];
    if (!work) return tl_fail(err, TL_E_ARGUMENT, "bench: -p 0 and -n 0 leave nothing to measure");
    for (int i = 0; i < s->threads.n; i++) s->threads.v[i] = tl_cmd_threads(s->threads.v[i]);
    if (a->cpu) s->level.n = tl_bench_levels(a->cpu, s->level.v, MAX_LIST, err);
    else s->level.v[0] = tl_cmd_level(NULL, NULL, err);
    return err->code;
}

/* "dir/model.gguf" -> "model", with what else makes its rows differ from those of other runs. */
static void label_of(const tl_bench_args *a, const char *path, char *buf, size_t size) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(name);
    if (n > 5 && strcmp(name + n - 5, ".gguf") == 0) n -= 5;
    snprintf(buf, size, "%.*s%s", (int)(n < size ? n : size - 1), name, a->no_pack ? " --no-pack" : "");
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* The file stays in memory while its weights are packed. Tested before, since a process that touches more than its
 * cgroup allows is killed. */
static int check_memory(const suite *s, const tl_shape *shape, const char *type, tl_error *err) {
    tl_system now;
    char needed[32], left[32];
    tl_system_read("/", &now);
    int64_t need = s->a->no_pack ? tl_shape_write_bytes(shape, type, err) : 2 * s->shape_bytes;
    if (!now.mem_available || need <= now.mem_available) return err->code;
    return tl_fail(err, TL_E_MEMORY, "building it needs %s of memory, this process may use %s",
                   tl_bytes_text(needed, (double)need), tl_bytes_text(left, (double)now.mem_available));
}

/* Builds one shape in a file in memory and measures it. Only wrong usage is an error here. */
static int run_shape(suite *s, const tl_shape *shape, const char *type, tl_error *err) {
    tl_error fault = {0};
    tl_memfile file = {0};
    char label[128];
    snprintf(label, sizeof label, "%s.%s%s", shape->name, type, s->a->no_pack ? " --no-pack" : "");
    s->label = label;
    s->shape_bytes = tl_shape_file_bytes(shape, type, err);
    if (s->shape_bytes < 0) return err->code;
    s->level_name = tl_levels[s->level.v[0]].name;
    s->kv_name = NULL;
    s->n_threads = s->threads.v[0];
    progress(s, "building random weights");
    if (check_memory(s, shape, type, &fault) == TL_OK && tl_memfile_open(&file, &fault) == TL_OK)
        tl_shape_write(shape, type, file.f, &fault);
    tl_term_progress_end();
    s->path = file.path;
    if (fault.code) add_failure(s, "load", fault.text);
    else
        for (int l = 0; l < s->level.n; l++) run_level(s, s->level.v[l]);
    tl_memfile_close(&file);
    return TL_OK;
}

/* Numbers hold commas themselves: they make one shape. run 0: only looks whether all names are right. */
static int run_shapes(suite *s, int run, tl_error *err) {
    const char *shapes = s->a->shape;
    char name[256], type[32];
    tl_shape shape;
    while (shapes) {
        if (strchr(shapes, '=')) {
            snprintf(name, sizeof name, "%s", shapes);
            shapes = NULL;
        } else if (!tl_bench_word(&shapes, "--shape", name, sizeof name, err)) return err->code;
        if (tl_shape_parse(name, &shape, err) != TL_OK) return err->code;
        for (const char *types = s->a->type ? s->a->type : "q4_k_m"; types;) {
            if (!tl_bench_word(&types, "--type", type, sizeof type, err)) return err->code;
            if (run ? run_shape(s, &shape, type, err) : tl_shape_file_bytes(&shape, type, err) < 0) return err->code;
        }
    }
    return TL_OK;
}

static void run_files(suite *s, const char *const *paths, int n) {
    char label[256];
    for (int i = 0; i < n; i++) {
        label_of(s->a, paths[i], label, sizeof label);
        s->path = paths[i];
        s->label = label;
        s->warned = 0;
        for (int l = 0; l < s->level.n; l++) run_level(s, s->level.v[l]);
    }
}

int tl_bench_models(const tl_bench_args *a, const char *const *paths, int n_paths, tl_buf *out, int *n_failed,
                    tl_error *err) {
    suite *s = tl_alloc_n(1, sizeof *s, "the measurements", err);
    if (!s) return err->code;
    s->a = a;
    s->table = (tl_table){.cols = tl_bench_cols, .n_cols = tl_bench_n_cols};
    s->ops = (tl_table){.cols = tl_bench_op_cols, .n_cols = tl_bench_n_op_cols};
    if (parse_lists(s, err) != TL_OK || (a->shape && run_shapes(s, 0, err) != TL_OK)) goto end;
    if (tl_machine_init(&s->machine, tl_levels[s->level.v[0]].name, err) != TL_OK) goto end;
    if (!a->shape) run_files(s, paths, n_paths);
    else if (run_shapes(s, 1, err) != TL_OK) goto end;
    *n_failed = s->n_failed;
    tl_bench_write(&(tl_bench_report){a, &s->table, &s->ops, &s->machine, &s->plot}, out, err);
end:
    tl_table_free(&s->ops);
    tl_table_free(&s->table);
    tl_free(s);
    return err->code;
}
