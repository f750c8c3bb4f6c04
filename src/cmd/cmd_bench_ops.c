/* SPDX-License-Identifier: MIT
 *
 * cmd_bench_ops.c: the operations of the forward pass against the machine's limits, as rows and as a picture. */
#include <math.h>
#include <string.h>
#include <time.h>
#include "cmd/cmd_bench.h"

const tl_col tl_bench_op_cols[] = {
    {"model", "model", TL_COL_TEXT | TL_COL_ONCE, 0}, {"cpu", "cpu", TL_COL_TEXT | TL_COL_ONCE, 0},
    {"kv", "kv", TL_COL_TEXT | TL_COL_ONCE, 0}, {"threads", "threads", TL_COL_NUM | TL_COL_ONCE, 0},
    {"test", "test", TL_COL_TEXT | TL_COL_ONCE, 0}, {"op", "operation", TL_COL_TEXT, 0},
    {"us_per_token", "us/token", TL_COL_NUM, 1}, {"share", "share", TL_COL_NUM, 3}, {"bytes", NULL, TL_COL_NUM, 0},
    {"macs", NULL, TL_COL_NUM, 0}, {"mac_per_byte", NULL, TL_COL_NUM, 1}, {"gb_s", "GB/s", TL_COL_NUM, 1},
    {"of_read", "of read", TL_COL_NUM, 2}, {"gmac_s", "GMAC/s", TL_COL_NUM, 1}, {"of_peak", "of peak", TL_COL_NUM, 2},
    {"regime", NULL, TL_COL_TEXT, 0}, {NULL, "limit", TL_COL_TEXT, 0}, {"runs", NULL, TL_COL_NUM, 0},
    {"discarded", NULL, TL_COL_NUM, 0}, {NULL, "", TL_COL_TEXT, 0}, {"disturbed", NULL, TL_COL_TEXT, 0},
    {"hint", NULL, TL_COL_TEXT, 0},
};
const int tl_bench_n_op_cols = sizeof tl_bench_op_cols / sizeof *tl_bench_op_cols;

static double all_seconds(const tl_bench_result *r) {
    double sum = 0;
    for (int i = 0; i < TL_N_OPS; i++) sum += r->op_seconds[i];
    return sum;
}

static double or_nan(double v) { return v > 0 ? v : NAN; }

static tl_roofline roof_of(const tl_bench_op_run *o, int op) {
    const tl_cost *c = &o->r->op[op];
    double peak = tl_peak_mixed(c->macs, c->floats, o->int8, o->f32);
    if (c->macs <= 0) peak = o->int8;   /* known, for the verdict */
    return tl_regime(c->bytes, c->macs, o->r->op_seconds[op], o->read, peak);
}

void tl_bench_op_rows(const tl_bench_op_run *o, tl_table *t) {
    double all = all_seconds(o->r);
    const tl_stat *s = &o->r->tok_s;
    char why[96];
    for (int i = 0; i < TL_N_OPS; i++) {
        const tl_cost *c = &o->r->op[i];
        tl_roofline roof = roof_of(o, i);
        int known = roof.regime != TL_REGIME_UNKNOWN;
        tl_table_str(t, o->model);
        tl_table_str(t, o->level);
        tl_table_str(t, o->kv);
        tl_table_num(t, o->threads);
        tl_table_str(t, o->test);
        tl_table_str(t, tl_op_name(i));
        tl_table_num(t, o->r->op_seconds[i] / o->r->tokens * 1e6);
        tl_table_num(t, o->r->op_seconds[i] / all);
        tl_table_num(t, c->bytes);
        tl_table_num(t, c->macs);
        tl_table_num(t, or_nan(roof.intensity));
        tl_table_num(t, or_nan(roof.gb_s));
        tl_table_num(t, or_nan(roof.memory_share));
        tl_table_num(t, or_nan(roof.gmac_s));
        tl_table_num(t, or_nan(roof.compute_share));
        tl_table_str(t, roof.name);
        tl_table_str(t, known ? roof.bound : NULL);
        tl_table_num(t, s->n);
        tl_table_num(t, s->discarded);
        tl_table_str(t, s->disturbed ? "*" : "");
        tl_table_str(t, s->disturbed ? tl_disturb_text(s->reasons, why, sizeof why) : NULL);
        tl_table_str(t, roof.hint);
    }
}

static void name_plot(tl_bench_plot *plot, const tl_bench_op_run *o, const char *title) {
    struct tm now;
    char cpu[128];
    tl_local_time(&now);
    tl_cpu_name(cpu, sizeof cpu);
    snprintf(plot->title, sizeof plot->title, "%s", title);
    snprintf(plot->subtitle, sizeof plot->subtitle, "%.100s, tinyllm %s, %04d-%02d-%02d%s", *cpu ? cpu : "unknown CPU",
             tl_version(), now.tm_year + 1900, now.tm_mon + 1, now.tm_mday,
             o->r->tok_s.disturbed ? ", disturbed by other work" : "");
}

void tl_bench_plot_add(tl_bench_plot *plot, const tl_bench_op_run *o) {
    char title[256];
    snprintf(title, sizeof title, "%.120s, level %s, %s cache, %d thread%s", o->model, o->level, o->kv, o->threads,
             o->threads == 1 ? "" : "s");
    int series = o->decode != 0, first = plot->p.n == 0;
    if (first) name_plot(plot, o, title);
    else if (strcmp(title, plot->title) || *plot->series[series]) return;
    snprintf(plot->series[series], sizeof plot->series[series], "%s (%s)", series ? "decode" : "prefill", o->test);
    double all = all_seconds(o->r);
    for (int i = 0; i < TL_N_OPS; i++) {
        tl_roofline roof = roof_of(o, i);
        plot->point[plot->p.n++] = (tl_plot_point){tl_op_name(i), series, roof.intensity, roof.gmac_s,
                                                   o->r->op_seconds[i] / all};
    }
    plot->p.title = plot->title;
    plot->p.subtitle = plot->subtitle;
    plot->p.series[series] = plot->series[series];
    plot->p.gb_s = o->read * 1e-9;
    plot->p.roof[0] = (tl_roof){tl_peak_name(TL_PEAK_INT8), o->int8 * 1e-9};
    plot->p.roof[1] = (tl_roof){tl_peak_name(TL_PEAK_F32), o->f32 * 1e-9};
    plot->p.point = plot->point;
}
