/* SPDX-License-Identifier: MIT
 *
 * cmd_bench_report.c: the measurements of models, written out: tables for people with notes below them, JSON, CSV, the
 * picture. */
#include <math.h>
#include <string.h>
#include "cmd/cmd_bench.h"
#include "cmd/term.h"

/* In the order the rows are filled. */
const tl_col tl_bench_cols[] = {
    {"model", "model", TL_COL_TEXT | TL_COL_ONCE, 0}, {"file", NULL, TL_COL_TEXT, 0}, {"arch", NULL, TL_COL_TEXT, 0},
    {"params", NULL, TL_COL_NUM, 0}, {"size_bytes", "size", TL_COL_MIB | TL_COL_ONCE, 1},
    {"cpu", "cpu", TL_COL_TEXT | TL_COL_ONCE, 0}, {"kv", "kv", TL_COL_TEXT | TL_COL_ONCE, 0},
    {"threads", "threads", TL_COL_NUM | TL_COL_ONCE, 0}, {"test", "test", TL_COL_TEXT, 0},
    {"tok_s", "tok/s", TL_COL_NUM, 1}, {"tok_s_min", NULL, TL_COL_NUM, 1}, {"tok_s_max", NULL, TL_COL_NUM, 1},
    {"spread", "spread", TL_COL_NUM, 3}, {"ttft_ms", "ms to 1st", TL_COL_NUM, 1}, {"gb_s", "GB/s", TL_COL_NUM, 1},
    {"of_read", "of read", TL_COL_NUM, 2}, {"gmac_s", "GMAC/s", TL_COL_NUM, 1}, {"of_peak", "of peak", TL_COL_NUM, 2},
    {"bytes", NULL, TL_COL_NUM, 0}, {"macs", NULL, TL_COL_NUM, 0}, {"rss_bytes", "RSS", TL_COL_MIB | TL_COL_ONCE, 0},
    {"load_s", NULL, TL_COL_NUM, 2}, {"joules_per_token", "J/token", TL_COL_NUM, 3},
    {"cycles_per_token", "cycles/token", TL_COL_NUM, 0}, {"instructions_per_token", "instr./token", TL_COL_NUM, 0},
    {"cache_misses_per_token", "misses/token", TL_COL_NUM, 0}, {"runs", NULL, TL_COL_NUM, 0},
    {"discarded", NULL, TL_COL_NUM, 0}, {"disturbed", NULL, TL_COL_TEXT, 0}, {"regime", NULL, TL_COL_TEXT, 0},
    {NULL, "limit", TL_COL_TEXT, 0}, {NULL, "", TL_COL_TEXT, 0}, {"hint", NULL, TL_COL_TEXT, 0},
    {"error", NULL, TL_COL_TEXT, 0},
};
enum { N_COLS = sizeof tl_bench_cols / sizeof *tl_bench_cols };
const int tl_bench_n_cols = N_COLS;

tl_page tl_bench_page(const tl_bench_args *a) {
    int width = tl_term_width(stdout);
    return (tl_page){.markdown = a->md, .width = width > 0 ? width : 80};
}

void tl_bench_note(tl_page page, const char *text, tl_buf *out) {
    tl_buf_str(out, "\n");
    tl_wrap(out, text, page.markdown ? 0 : page.width);
}

static const tl_cell *cell(const tl_table *t, int row, const char *key) {
    for (int c = 0; c < t->n_cols; c++)
        if (t->cols[c].key && !strcmp(t->cols[c].key, key)) return &t->cells[(size_t)row * (size_t)t->n_cols + (size_t)c];
    static const tl_cell none = {NAN, NULL};
    return &none;
}

/* Adds the words of "a, b" that are not in the list yet; none is a part of another. */
static void add_words(tl_buf *list, const char *words) {
    for (size_t n; *words; words += n, words += strspn(words, ", ")) {
        char word[64];
        n = strcspn(words, ",");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        if (!list->p || !strstr(list->p, word)) tl_buf_fmt(list, "%s%s", list->n ? ", " : "", word);
    }
}

/* What would help in each regime that occurs. */
static void note_regimes(const tl_table *t, int no_limits, tl_page page, tl_buf *out) {
    if (no_limits) {
        tl_bench_note(page, "The machine's limits were not measured (--no-limits).", out);
        return;
    }
    for (int r = 0; r < tl_table_rows(t); r++) {
        const char *name = cell(t, r, "regime")->text;
        tl_buf b = {0};
        int seen = !name;
        for (int q = 0; q < r && !seen; q++) {
            const char *before = cell(t, q, "regime")->text;
            seen = before && strcmp(before, name) == 0;
        }
        if (seen) continue;
        tl_buf_fmt(&b, "%s: %s", name, cell(t, r, "hint")->text);
        if (b.p) tl_bench_note(page, b.p, out);
        tl_buf_free(&b);
    }
}

static void note_disturbance(const tl_table *t, tl_page page, tl_buf *out) {
    double discarded = 0;
    tl_buf why = {0}, b = {0};
    const char *test = NULL;
    for (int r = 0; r < tl_table_rows(t); r++) {
        const char *now = cell(t, r, "test")->text, *reason = cell(t, r, "disturbed")->text;
        double n = cell(t, r, "discarded")->num;
        if (reason) add_words(&why, reason);
        if (n > 0 && (!test || !now || strcmp(test, now))) discarded += n;   /* the operations of a test say the same */
        test = now;
    }
    if (why.n)
        tl_buf_fmt(&b, "* No run was quiet (%s): these numbers are of little worth.", why.p);
    if (discarded > 0) tl_buf_fmt(&b, "%s%.0f runs were disturbed and repeated.", b.n ? " " : "", discarded);
    if (b.p) tl_bench_note(page, b.p, out);
    tl_buf_free(&why);
    tl_buf_free(&b);
}

static void note_missing(const tl_table *t, tl_page page, tl_buf *out) {
    static const struct { const char *key, *what; } missing[] = {
        {"joules_per_token", "joules"}, {"cycles_per_token", "cycles, instructions, cache misses"}};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        for (int r = 0; r < tl_table_rows(t); r++) {
            const char *why = cell(t, r, missing[i].key)->text;
            tl_buf b = {0};
            if (!why) continue;
            tl_buf_fmt(&b, "%s: %s", missing[i].what, why);
            if (b.p) tl_bench_note(page, b.p, out);
            tl_buf_free(&b);
            break;
        }
}

/* Of the table only the columns that are asked for: counters of the CPU and energy, or all others. */
static void add_part(const tl_table *all, int counters, tl_page page, tl_buf *out) {
    tl_col shown[N_COLS];
    tl_table t = *all;
    int numbers = 0;
    memcpy(shown, all->cols, sizeof shown);
    t.cols = shown;
    for (int c = 0; c < t.n_cols; c++) {
        const char *key = shown[c].key;
        int counter = key && (strstr(key, "joules") || strstr(key, "cycles") || strstr(key, "instr") || strstr(key, "misses"));
        int seen = 0;
        for (int r = 0; counter && r < tl_table_rows(&t); r++) {
            const tl_cell *x = &t.cells[(size_t)r * N_COLS + (size_t)c];
            seen |= !x->text && isfinite(x->num);
        }
        numbers |= seen;
        int subject = shown[c].kind & TL_COL_ONCE || (key && !strcmp(key, "test"));
        if (counter ? !counters || !seen : counters && (!subject || !strcmp(key, "rss_bytes"))) shown[c].title = NULL;
    }
    if (counters && !numbers) return;
    if (counters) tl_buf_str(out, "\n");
    tl_table_for_people(&t, page, out);
}

static void add_text(const tl_bench_report *r, tl_page page, tl_buf *out) {
    const tl_table *t = r->a->ops ? r->ops : r->rows;
    if (r->a->ops) tl_table_for_people(t, page, out);
    else {
        add_part(t, 0, page, out);
        add_part(t, 1, page, out);
    }
    note_disturbance(t, page, out);
    note_regimes(t, r->a->no_limits, page, out);
    note_missing(t, page, out);
}

static int write_plot(const tl_bench_report *r, tl_error *err) {
    tl_buf svg = {0};
    tl_plot_svg(&r->plot->p, &svg);
    if (svg.failed) tl_fail(err, TL_E_MEMORY, "bench: no memory for the picture");
    else tl_write_file(r->a->svg, svg.p, svg.n, err);
    tl_buf_free(&svg);
    return err->code;
}

int tl_bench_write(const tl_bench_report *r, tl_buf *out, tl_error *err) {
    const tl_bench_args *a = r->a;
    if (r->rows->failed || r->ops->failed) return tl_fail(err, TL_E_MEMORY, "bench: no memory for the table");
    if (a->json) {
        tl_json j = {.out = out};
        tl_json_begin(&j, NULL, '{');
        tl_machine_json(r->machine, &j, "machine");
        if (!a->ops || tl_table_rows(r->rows)) tl_table_as_json(r->rows, &j, "rows");
        if (a->ops) tl_table_as_json(r->ops, &j, "ops");
        tl_json_end(&j, '}');
        tl_buf_str(out, "\n");
    } else if (a->csv) tl_table_as_csv(a->ops ? r->ops : r->rows, out);
    else add_text(r, tl_bench_page(a), out);
    return a->svg && r->plot->p.n ? write_plot(r, err) : TL_OK;
}
