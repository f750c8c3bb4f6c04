/* SPDX-License-Identifier: MIT
 *
 * cmd_bench_ops.c: the operations of the forward pass against the machine's limits, as rows and as a picture. */
#include <math.h>
#include <string.h>
#include "cmd/cmd_bench.h"

const tl_col tl_bench_op_cols[] = {
    {"model", "model", TL_COL_TEXT, 0}, {"cpu", "cpu", TL_COL_TEXT, 0}, {"threads", "threads", TL_COL_NUM, 0},
    {"test", "test", TL_COL_TEXT, 0}, {"op", "operation", TL_COL_TEXT, 0}, {"ms", "ms", TL_COL_NUM, 2},
    {"share", "share", TL_COL_NUM, 3}, {"bytes", NULL, TL_COL_NUM, 0}, {"macs", NULL, TL_COL_NUM, 0},
    {"mac_per_byte", "MAC/byte", TL_COL_NUM, 1}, {"gb_s", "GB/s", TL_COL_NUM, 1}, {"of_read", "of read", TL_COL_NUM, 2},
    {"gmac_s", "GMAC/s", TL_COL_NUM, 1}, {"of_peak", "of peak", TL_COL_NUM, 2}, {"regime", "regime", TL_COL_TEXT, 0},
    {"hint", NULL, TL_COL_TEXT, 0},
};
const int tl_bench_n_op_cols = sizeof tl_bench_op_cols / sizeof *tl_bench_op_cols;

static double all_seconds(const tl_bench_result *r) {
    double sum = 0;
    for (int i = 0; i < TL_N_OPS; i++) sum += r->op_seconds[i];
    return sum;
}

static double or_nan(double v) { return v > 0 ? v : NAN; }

void tl_bench_op_rows(const tl_bench_op_run *o, tl_table *t) {
    double all = all_seconds(o->r);
    for (int i = 0; i < TL_N_OPS; i++) {
        double seconds = o->r->op_seconds[i];
        const tl_cost *c = &o->r->op[i];
        tl_roofline roof = tl_regime(c->bytes, c->macs, seconds, o->read, o->peak);
        tl_table_str(t, o->model);
        tl_table_str(t, o->level);
        tl_table_num(t, o->threads);
        tl_table_str(t, o->test);
        tl_table_str(t, tl_op_name(i));
        tl_table_num(t, seconds * 1e3);
        tl_table_num(t, seconds / all);
        tl_table_num(t, c->bytes);
        tl_table_num(t, c->macs);
        tl_table_num(t, or_nan(roof.intensity));
        tl_table_num(t, or_nan(roof.gb_s));
        tl_table_num(t, or_nan(roof.memory_share));
        tl_table_num(t, or_nan(roof.gmac_s));
        tl_table_num(t, or_nan(roof.compute_share));
        tl_table_str(t, roof.name);
        tl_table_str(t, roof.hint);
    }
}

void tl_bench_plot_add(tl_bench_plot *plot, const tl_bench_op_run *o) {
    char title[256];
    snprintf(title, sizeof title, "%.120s, %s, %d thread%s", o->model, o->level, o->threads,
             o->threads == 1 ? "" : "s");
    int series = o->decode != 0, first = plot->p.n == 0;
    if (first) memcpy(plot->title, title, sizeof title);
    else if (strcmp(title, plot->title) || *plot->series[series]) return;
    snprintf(plot->series[series], sizeof plot->series[series], "%s (%s)", series ? "decode" : "prefill", o->test);
    double all = all_seconds(o->r);
    for (int i = 0; i < TL_N_OPS; i++) {
        tl_roofline roof = tl_regime(o->r->op[i].bytes, o->r->op[i].macs, o->r->op_seconds[i], o->read, o->peak);
        plot->point[plot->p.n++] = (tl_plot_point){tl_op_name(i), series, roof.intensity, roof.gmac_s,
                                                   o->r->op_seconds[i] / all};
    }
    plot->p.title = plot->title;
    plot->p.series[series] = plot->series[series];
    plot->p.peak_name = tl_peak_name(o->peak_kind);
    plot->p.gb_s = o->read * 1e-9;
    plot->p.gmac_s = o->peak * 1e-9;
    plot->p.point = plot->point;
}
