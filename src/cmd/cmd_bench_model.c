/* SPDX-License-Identifier: MIT
 *
 * cmd_bench_model.c: models measured with every combination of level, cache type, threads, depth and test. A model is
 * opened once for a level; each combination of threads, cache type, batch and depth has a session of its own, so that
 * one that does not fit fails alone. */
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "bench/shape.h"
#include "cmd/cmd_bench.h"
#include "cmd/cmd_model.h"

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
} suite;

/* In the order add_row() fills them. */
static const tl_col columns[] = {
    {"model", "model", TL_COL_TEXT, 0}, {"file", NULL, TL_COL_TEXT, 0}, {"arch", NULL, TL_COL_TEXT, 0},
    {"params", NULL, TL_COL_NUM, 0}, {"size_mb", "MB", TL_COL_NUM, 1}, {"cpu", "cpu", TL_COL_TEXT, 0},
    {"kv", "kv", TL_COL_TEXT, 0}, {"threads", "threads", TL_COL_NUM, 0}, {"test", "test", TL_COL_TEXT, 0},
    {"tok_s", "tok/s", TL_COL_NUM, 1}, {"tok_s_min", NULL, TL_COL_NUM, 1}, {"tok_s_max", NULL, TL_COL_NUM, 1},
    {"spread", "spread", TL_COL_NUM, 3}, {"ttft_ms", "first ms", TL_COL_NUM, 1}, {"gb_s", "GB/s", TL_COL_NUM, 1},
    {"of_read", "of read", TL_COL_NUM, 2}, {"gmac_s", "GMAC/s", TL_COL_NUM, 1}, {"of_peak", "of peak", TL_COL_NUM, 2},
    {"bytes", NULL, TL_COL_NUM, 0}, {"macs", NULL, TL_COL_NUM, 0}, {"rss_mb", "RSS MB", TL_COL_NUM, 0},
    {"load_s", NULL, TL_COL_NUM, 2}, {"joules_per_token", "J/token", TL_COL_NUM, 3},
    {"cycles_per_token", "cycles/token", TL_COL_NUM, 0}, {"instructions_per_token", "instr./token", TL_COL_NUM, 0},
    {"cache_misses_per_token", "misses/token", TL_COL_NUM, 0}, {"runs", NULL, TL_COL_NUM, 0},
    {"discarded", "bad", TL_COL_NUM, 0}, {"disturbed", "disturbed", TL_COL_TEXT, 0},
    {"regime", "regime", TL_COL_TEXT, 0}, {"hint", NULL, TL_COL_TEXT, 0}, {"error", "error", TL_COL_TEXT, 0},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

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
    tl_table_num(t, size > 0 ? size * 1e-6 : NAN);
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
    while (t->n % N_COLUMNS != N_COLUMNS - 1 && !t->failed) {
        if (columns[t->n % N_COLUMNS].kind == TL_COL_NUM) tl_table_num(t, NAN);
        else tl_table_str(t, NULL);
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
    double peak = tl_machine_peak(&s->machine, s->level_name, tl_cost_peak(s->m), s->n_threads);
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
    tl_table_num(t, or_nan((double)(rss > s->load_rss ? rss : s->load_rss) * 1e-6));
    tl_table_num(t, info.load_seconds);
    unless_negative(t, r->counts.joules, c->why_no_joules);
    for (int i = 0; i < TL_N_COUNTS; i++) unless_negative(t, r->counts.count[i], c->why_no_counts);
    tl_table_num(t, r->tok_s.n);
    tl_table_num(t, r->tok_s.discarded);
    tl_table_str(t, r->tok_s.disturbed ? tl_disturb_text(r->tok_s.reasons, why, sizeof why) : NULL);
    tl_table_str(t, roof.name);
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
    fprintf(stderr, "\r\033[K# bench: %s, %s, %d thread%s, %s", s->label, s->level_name, s->n_threads,
            s->n_threads == 1 ? "" : "s", what);
    fflush(stderr);
}

static void clear_progress(void) {
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}

static void add_ops(suite *s, const tl_bench_case *c, const char *test, const tl_bench_result *r) {
    int64_t size = tl_model_get_info(s->m).bytes_per_token;
    tl_bench_op_run o = {.model = s->label, .level = s->level_name, .test = test, .threads = s->n_threads,
                         .decode = c->decode, .peak_kind = tl_cost_peak(s->m), .r = r};
    o.read = tl_machine_bandwidth(&s->machine, s->n_threads, size);
    o.peak = tl_machine_peak(&s->machine, s->level_name, o.peak_kind, s->n_threads);
    tl_bench_op_rows(&o, &s->ops);
    tl_bench_plot_add(&s->plot, &o);
}

static void run_case(suite *s, tl_session *session, const tl_bench_case *c) {
    tl_bench_options o = {.reps = (int)s->a->reps, .counters = &s->counters, .progress_user = s};
    tl_bench_result r;
    tl_error err = {0};
    char name[64];
    if (isatty(STDERR_FILENO)) o.progress = progress;
    o.profile = s->a->ops;
    tl_bench_case_name(c, name, sizeof name);
    int rc = tl_bench_run(session, c, &o, &r, &err);
    clear_progress();
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
    if (isatty(STDERR_FILENO)) progress(s, "limits of this machine");
    if (tl_machine_add(&o, &s->machine, &err) != TL_OK) tl_status("bench: limits not measured: %s", err.text);
    clear_progress();
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

/* ---- the report -------------------------------------------------------------------------------------------------- */

static const tl_cell *cell(const tl_table *t, int row, const char *key) {
    int col = 0;
    while (strcmp(columns[col].key, key)) col++;
    return &t->cells[(size_t)row * N_COLUMNS + (size_t)col];
}

/* Under the table: what would help in each regime that occurs, and why some numbers are missing. */
static void add_notes(const tl_table *t, tl_buf *out) {
    static const char *const missing[] = {"joules_per_token", "cycles_per_token"};
    for (int r = 0; r < tl_table_rows(t); r++) {
        const char *name = cell(t, r, "regime")->text;
        int seen = !name;
        for (int q = 0; q < r && !seen; q++) {
            const char *before = cell(t, q, "regime")->text;
            seen = before && strcmp(before, name) == 0;
        }
        if (!seen) tl_buf_fmt(out, "\n%s: %s", name, cell(t, r, "hint")->text);
    }
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        for (int r = 0; r < tl_table_rows(t); r++) {
            const char *why = cell(t, r, missing[i])->text;
            if (!why) continue;
            tl_buf_fmt(out, "\n%s: %s", i ? "cycles, instructions, cache misses" : "joules", why);
            break;
        }
    tl_buf_str(out, "\n");
}

/* The text table leaves out columns in which no row has a value of its own. */
static void add_text(const suite *s, tl_buf *out) {
    tl_col shown[N_COLUMNS];
    tl_table t = s->table;
    memcpy(shown, columns, sizeof shown);
    t.cols = shown;
    for (int c = 0; c < N_COLUMNS; c++) {
        int used = 0;
        for (int r = 0; r < tl_table_rows(&t); r++) {
            const tl_cell *x = &t.cells[(size_t)r * N_COLUMNS + (size_t)c];
            used |= columns[c].kind == TL_COL_TEXT ? x->text != NULL : !x->text && isfinite(x->num);
        }
        if (!used) shown[c].title = NULL;
    }
    tl_table_as_text(&t, out);
    add_notes(&t, out);
}

static void report(const suite *s, tl_buf *out) {
    if (s->a->json) {
        tl_json j = {.out = out};
        tl_json_begin(&j, NULL, '{');
        tl_machine_json(&s->machine, &j, "machine");
        if (!s->a->ops || tl_table_rows(&s->table)) tl_table_as_json(&s->table, &j, "rows");
        if (s->a->ops) tl_table_as_json(&s->ops, &j, "ops");
        tl_json_end(&j, '}');
        tl_buf_str(out, "\n");
    } else if (s->a->csv) tl_table_as_csv(s->a->ops ? &s->ops : &s->table, out);
    else if (s->a->ops) tl_table_as_text(&s->ops, out);
    else add_text(s, out);
}

static int write_plot(const suite *s, tl_error *err) {
    tl_buf svg = {0};
    tl_plot_svg(&s->plot.p, &svg);
    if (svg.failed) tl_fail(err, TL_E_MEMORY, "bench: no memory for the picture");
    else tl_write_file(s->a->svg, svg.p, svg.n, err);
    tl_buf_free(&svg);
    return err->code;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* The file stays in memory while its weights are packed. Tested before, since a process that touches more than its
 * cgroup allows is killed. */
static int check_memory(const suite *s, const tl_shape *shape, const char *type, tl_error *err) {
    tl_system now;
    tl_system_read("/", &now);
    int64_t need = s->a->no_pack ? tl_shape_write_bytes(shape, type, err) : 2 * s->shape_bytes;
    if (!now.mem_available || need <= now.mem_available) return err->code;
    return tl_fail(err, TL_E_MEMORY, "building it needs %.2f GB of memory, this process may use %.2f GB",
                   (double)need * 1e-9, (double)now.mem_available * 1e-9);
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
    if (isatty(STDERR_FILENO)) progress(s, "building random weights");
    if (check_memory(s, shape, type, &fault) == TL_OK && tl_memfile_open(&file, &fault) == TL_OK)
        tl_shape_write(shape, type, file.f, &fault);
    clear_progress();
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
        for (int l = 0; l < s->level.n; l++) run_level(s, s->level.v[l]);
    }
}

int tl_bench_models(const tl_bench_args *a, const char *const *paths, int n_paths, tl_buf *out, int *n_failed,
                    tl_error *err) {
    suite *s = tl_alloc_n(1, sizeof *s, "the measurements", err);
    if (!s) return err->code;
    s->a = a;
    s->table = (tl_table)TL_TABLE(columns);
    s->ops = (tl_table){.cols = tl_bench_op_cols, .n_cols = tl_bench_n_op_cols};
    if (parse_lists(s, err) != TL_OK || (a->shape && run_shapes(s, 0, err) != TL_OK)) goto end;
    if (tl_machine_init(&s->machine, tl_levels[s->level.v[0]].name, err) != TL_OK) goto end;
    if (!a->shape) run_files(s, paths, n_paths);
    else if (run_shapes(s, 1, err) != TL_OK) goto end;
    *n_failed = s->n_failed;
    if (s->table.failed || s->ops.failed) tl_fail(err, TL_E_MEMORY, "bench: no memory for the table");
    else report(s, out);
    if (a->svg && s->plot.p.n) write_plot(s, err);
end:
    tl_table_free(&s->ops);
    tl_table_free(&s->table);
    tl_free(s);
    return err->code;
}
