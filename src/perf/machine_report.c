/* SPDX-License-Identifier: MIT
 *
 * machine_report.c: the measured limits looked up and written out. */
#include "perf/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *tl_read_name(int where) {
    static const char *const names[TL_N_READS] = {"dram", "l2", "size"};
    return names[where];
}

const char *tl_peak_name(int kind) {
    static const char *const names[TL_N_PEAKS] = {"int8", "f32", "bf16"};
    return names[kind];
}

/* ---- lookup ----------------------------------------------------------------------------------------------------- */

double tl_machine_bandwidth(const tl_machine *m, int threads, int64_t bytes) {
    const tl_read_rate *best = NULL;
    for (int i = 0; i < m->n_reads; i++) {
        const tl_read_rate *r = &m->read[i];
        int fits = r->where == TL_READ_DRAM || (r->where == TL_READ_SIZE && llabs(r->bytes - bytes) <= bytes / 10);
        if (!fits || r->threads > threads) continue;
        if (!best || r->threads > best->threads || (r->threads == best->threads && r->where == TL_READ_SIZE)) best = r;
    }
    return best ? tl_stat_rate(&best->gb_s) * 1e9 : 0;
}

/* Name of the kernel in a level's slot, NULL: none. */
static const char *peak_kernel(const char *level, int kind) {
    tl_kernels k;
    int i = tl_level_by_name(level);
    if (i < 0) return NULL;
    tl_kernels_init(&k, i);
    return k.peak[kind].name;
}

double tl_machine_peak(const tl_machine *m, const char *level, int kind, int threads) {
    const tl_peak_rate *best = NULL;
    const char *kernel = peak_kernel(level ? level : tl_levels[m->level].name, kind);
    for (int i = 0; kernel && i < m->n_peaks; i++) {
        const tl_peak_rate *r = &m->peak[i];
        if (strcmp(r->kernel, kernel) || r->threads > threads) continue;
        if (!best || r->threads > best->threads) best = r;
    }
    return best ? tl_stat_rate(&best->gmac_s) * 1e9 : 0;
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

static const tl_col read_cols[] = {
    {"where", "read from", TL_COL_TEXT, 0}, {"threads", "threads", TL_COL_NUM | TL_COL_ONCE, 0},
    {"bytes", "size", TL_COL_MIB, 1}, {"gb_s", "GB/s", TL_COL_NUM, 2}, {"best", "best", TL_COL_NUM, 2},
    {"spread", "spread", TL_COL_NUM, 3}, {"samples", NULL, TL_COL_NUM, 0}, {"discarded", "discarded", TL_COL_NUM, 0},
    {NULL, "", TL_COL_TEXT, 0}, {"note", NULL, TL_COL_TEXT, 0},
};
static const tl_col peak_cols[] = {
    {"level", "level", TL_COL_TEXT, 0}, {"kind", "numbers", TL_COL_TEXT, 0}, {"threads", "threads", TL_COL_NUM | TL_COL_ONCE, 0},
    {"gmac_s", "GMAC/s", TL_COL_NUM, 2}, {"best", "best", TL_COL_NUM, 2}, {"spread", "spread", TL_COL_NUM, 3},
    {"ghz", "GHz", TL_COL_NUM, 2}, {"mac_per_cycle", "MAC/cycle", TL_COL_NUM, 1},
    {"samples", NULL, TL_COL_NUM, 0}, {"discarded", "discarded", TL_COL_NUM, 0}, {"kernel", NULL, TL_COL_TEXT, 0},
    {NULL, "", TL_COL_TEXT, 0}, {"note", NULL, TL_COL_TEXT, 0},
};

static void add_reads(const tl_machine *m, tl_table *t) {
    char buf[96];
    for (int i = 0; i < m->n_reads; i++) {
        const tl_read_rate *r = &m->read[i];
        tl_table_str(t, tl_read_name(r->where));
        tl_table_num(t, r->threads);
        tl_table_num(t, (double)r->bytes);
        tl_table_num(t, r->gb_s.median);
        tl_table_num(t, r->gb_s.max);
        tl_table_num(t, r->gb_s.spread);
        tl_table_num(t, r->gb_s.n);
        tl_table_num(t, r->gb_s.discarded);
        tl_table_str(t, tl_stat_mark(&r->gb_s));
        tl_table_str(t, tl_stat_note(&r->gb_s, buf, sizeof buf));
    }
}

static void add_peaks(const tl_machine *m, tl_table *t) {
    char buf[96];
    for (int i = 0; i < m->n_peaks; i++) {
        const tl_peak_rate *r = &m->peak[i];
        tl_table_str(t, r->level);
        tl_table_str(t, tl_peak_name(r->kind));
        tl_table_num(t, r->threads);
        tl_table_num(t, r->gmac_s.median);
        tl_table_num(t, r->gmac_s.max);
        tl_table_num(t, r->gmac_s.spread);
        tl_table_num(t, r->ghz);
        tl_table_num(t, tl_stat_rate(&r->gmac_s) / r->ghz / r->threads);
        tl_table_num(t, r->gmac_s.n);
        tl_table_num(t, r->gmac_s.discarded);
        tl_table_str(t, r->kernel);
        tl_table_str(t, tl_stat_mark(&r->gmac_s));
        tl_table_str(t, tl_stat_note(&r->gmac_s, buf, sizeof buf));
    }
}

static const char *cores(const tl_machine *m) {
    if (isnan(m->core_ratio)) return "unknown";
    if (m->core_disturbed) return "unclear";
    return m->core_ratio >= 1.7 ? "two cores" : m->core_ratio <= 1.3 ? "one core" : "unclear";
}

/* GHz right after the 8-bit loop of the best level, with the most threads that were measured. */
static double sustained_ghz(const tl_machine *m) {
    const char *kernel = peak_kernel(tl_levels[m->level].name, TL_PEAK_INT8);
    double ghz = NAN;
    int threads = 0;
    for (int i = 0; kernel && i < m->n_peaks; i++)
        if (!strcmp(m->peak[i].kernel, kernel) && m->peak[i].threads > threads) {
            threads = m->peak[i].threads;
            ghz = m->peak[i].ghz;
        }
    return ghz;
}

static void add_facts(const tl_machine *m, tl_buf *out) {
    const tl_system *s = &m->system;
    tl_buf_fmt(out, "cpu         %s\n", *s->cpu ? s->cpu : "unknown");
    tl_buf_fmt(out, "level       %s\n", tl_levels[m->level].name);
    tl_buf_fmt(out, "threads     %d usable (%d online, %d in the affinity mask", s->count.threads, s->count.online,
               s->count.affinity);
    tl_buf_str(out, s->count.quota > 0 ? ")\n" : ", no cgroup quota)\n");
    if (s->count.quota > 0) tl_buf_fmt(out, "quota       %.2f CPUs by %s\n", s->count.quota, s->count.quota_from);
    tl_buf_fmt(out, "caches      L1d %.0f KiB, L2 %.0f KiB, last level %.1f MiB\n", (double)s->l1d / 1024,
               (double)s->l2 / 1024, (double)s->llc / 1048576);
    tl_buf_fmt(out, "memory      %.1f GiB, %.1f GiB available\n", (double)s->mem_total / (1 << 30),
               (double)s->mem_available / (1 << 30));
    tl_buf_fmt(out, "huge pages  %s\n", s->huge_pages);
    tl_buf_fmt(out, "clock       %.2f GHz after 8-bit products\n", sustained_ghz(m));
    if (isnan(m->core_ratio)) tl_buf_str(out, "cores       not measured: one CPU\n");
    else
        tl_buf_fmt(out, "cores       CPU %d and %d: %s (together %.2f times one%s)\n", m->core_a,
                   m->core_b, cores(m), m->core_ratio, m->core_disturbed ? "; disturbed" : "");
    tl_buf_fmt(out, "measured    in %.1f s, %d samples discarded as disturbed\n", m->seconds, m->discarded);
}

static int any_mark(const tl_machine *m) {
    for (int i = 0; i < m->n_reads; i++)
        if (*tl_stat_mark(&m->read[i].gb_s)) return 1;
    for (int i = 0; i < m->n_peaks; i++)
        if (*tl_stat_mark(&m->peak[i].gmac_s)) return 1;
    return 0;
}

void tl_machine_text(const tl_machine *m, tl_page page, tl_buf *out) {
    tl_table reads = TL_TABLE(read_cols), peaks = TL_TABLE(peak_cols);
    tl_buf_str(out, page.markdown ? "```\n" : "");
    add_facts(m, out);
    tl_buf_str(out, page.markdown ? "```\n\n" : "\n");
    add_reads(m, &reads);
    add_peaks(m, &peaks);
    tl_table_for_people(&reads, page, out);
    tl_buf_str(out, "\n");
    tl_table_for_people(&peaks, page, out);
    if (any_mark(m)) {
        tl_buf_str(out, "\n");
        tl_wrap(out, tl_stat_legend, page.markdown ? 0 : page.width);
    }
    if (reads.failed || peaks.failed) out->failed = 1;
    tl_table_free(&reads);
    tl_table_free(&peaks);
}

void tl_machine_json(const tl_machine *m, tl_json *j, const char *key) {
    const tl_system *s = &m->system;
    tl_table reads = TL_TABLE(read_cols), peaks = TL_TABLE(peak_cols);
    tl_json_begin(j, key, '{');
    tl_json_cstr(j, "cpu", s->cpu);
    tl_json_cstr(j, "level", tl_levels[m->level].name);
    tl_json_begin(j, "features", '[');
    for (int bit = 0; tl_cpu_feature_name(bit); bit++)
        if (m->features >> bit & 1) tl_json_cstr(j, NULL, tl_cpu_feature_name(bit));
    tl_json_end(j, ']');
    tl_json_i64(j, "threads_usable", s->count.threads);
    tl_json_i64(j, "cpus_online", s->count.online);
    tl_json_i64(j, "cpus_affinity", s->count.affinity);
    tl_json_num(j, "cpu_quota", s->count.quota > 0 ? s->count.quota : NAN);
    tl_json_i64(j, "l1d_bytes", s->l1d);
    tl_json_i64(j, "l2_bytes", s->l2);
    tl_json_i64(j, "llc_bytes", s->llc);
    tl_json_i64(j, "memory_bytes", s->mem_total);
    tl_json_i64(j, "memory_available_bytes", s->mem_available);
    tl_json_cstr(j, "huge_pages", s->huge_pages);
    tl_json_num(j, "ghz", sustained_ghz(m));
    tl_json_num(j, "core_ratio", m->core_ratio);
    tl_json_cstr(j, "cores", cores(m));
    add_reads(m, &reads);
    add_peaks(m, &peaks);
    tl_table_as_json(&reads, j, "read");
    tl_table_as_json(&peaks, j, "peak");
    tl_json_i64(j, "discarded", m->discarded);
    tl_json_num(j, "seconds", m->seconds);
    tl_json_end(j, '}');
    if (reads.failed || peaks.failed) j->out->failed = 1;
    tl_table_free(&reads);
    tl_table_free(&peaks);
}

static void csv_row(tl_table *t, const char *what, const char *level, double threads, double bytes, const tl_stat *s,
                    const char *unit) {
    tl_table_str(t, what);
    tl_table_str(t, level);
    tl_table_num(t, threads);
    tl_table_num(t, bytes);
    tl_table_num(t, s->median);
    tl_table_num(t, s->max);
    tl_table_str(t, unit);
    tl_table_num(t, s->n);
    tl_table_num(t, s->discarded);
}

void tl_machine_csv(const tl_machine *m, tl_buf *out) {
    static const tl_col cols[] = {
        {"what", NULL, TL_COL_TEXT, 0}, {"level", NULL, TL_COL_TEXT, 0}, {"threads", NULL, TL_COL_NUM, 0},
        {"bytes", NULL, TL_COL_NUM, 0}, {"value", NULL, TL_COL_NUM, 0}, {"best", NULL, TL_COL_NUM, 0},
        {"unit", NULL, TL_COL_TEXT, 0}, {"samples", NULL, TL_COL_NUM, 0}, {"discarded", NULL, TL_COL_NUM, 0},
    };
    const tl_system *s = &m->system;
    const struct { const char *what, *unit; double value; } facts[] = {
        {"l1d", "bytes", (double)s->l1d}, {"l2", "bytes", (double)s->l2}, {"llc", "bytes", (double)s->llc},
        {"memory", "bytes", (double)s->mem_total}, {"threads_usable", "threads", s->count.threads},
        {"cpu_quota", "cpus", s->count.quota > 0 ? s->count.quota : NAN}, {"ghz", "GHz", sustained_ghz(m)},
        {"core_ratio", "ratio", m->core_ratio},
    };
    tl_table t = TL_TABLE(cols);
    char what[32];
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        tl_stat one = {.median = facts[i].value, .max = NAN, .n = 1};
        csv_row(&t, facts[i].what, NULL, NAN, NAN, &one, facts[i].unit);
    }
    for (int i = 0; i < m->n_reads; i++) {
        const tl_read_rate *r = &m->read[i];
        snprintf(what, sizeof what, "read_%s", tl_read_name(r->where));
        csv_row(&t, what, NULL, r->threads, (double)r->bytes, &r->gb_s, "GB/s");
    }
    for (int i = 0; i < m->n_peaks; i++) {
        const tl_peak_rate *r = &m->peak[i];
        snprintf(what, sizeof what, "peak_%s", tl_peak_name(r->kind));
        csv_row(&t, what, r->level, r->threads, NAN, &r->gmac_s, "GMAC/s");
    }
    tl_table_as_csv(&t, out);
    if (t.failed) out->failed = 1;
    tl_table_free(&t);
}
