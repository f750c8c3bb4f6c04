/* SPDX-License-Identifier: MIT
 *
 * table.c: rows of results, written out as aligned text, as CSV (RFC 4180) or as JSON. Cells are kept in one array in
 * the order they were added; a table whose last row is not complete shows only the complete rows. */
#include <math.h>
#include <string.h>
#include "perf/perf.h"

static void add(tl_table *t, double num, const char *text) {
    char *copy = NULL;
    if (t->n == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 64;
        tl_cell *cells = tl_realloc_n(t->cells, cap, sizeof *cells, "a table", NULL);
        if (!cells) { t->failed = 1; return; }
        t->cells = cells;
        t->cap = cap;
    }
    if (text && !(copy = tl_strdup(text, NULL))) t->failed = 1;
    t->cells[t->n++] = (tl_cell){num, copy};
}

void tl_table_num(tl_table *t, double v) { add(t, v, NULL); }
void tl_table_str(tl_table *t, const char *s) { add(t, NAN, s); }
int tl_table_rows(const tl_table *t) { return (int)(t->n / (size_t)t->n_cols); }

void tl_table_free(tl_table *t) {
    for (size_t i = 0; i < t->n; i++) tl_free(t->cells[i].text);
    tl_free(t->cells);
    t->cells = NULL;
    t->n = t->cap = 0;
}

/* A number as every reader expects it, whatever the locale. */
static void format(char *buf, size_t size, const char *fmt, int digits, double v) {
    snprintf(buf, size, fmt, digits, v);
    for (char *c = buf; *c; c++)
        if (!strchr("0123456789+-e", *c)) *c = '.';
}

/* The cell as the text table shows it: a text of its own or written into buf. */
static const char *shown(const tl_table *t, const tl_cell *c, int col, char *buf, size_t size) {
    if (c->text) return c->text;
    if (!isfinite(c->num)) return "-";
    format(buf, size, "%.*f", t->cols[col].digits, c->num);
    return buf;
}

static void pad(tl_buf *out, size_t n) {
    while (n--) tl_buf_str(out, " ");
}

/* Numbers lie to the right, texts to the left; no line ends with blanks. */
static void put_text(tl_buf *out, const char *s, size_t width, int kind, int last) {
    size_t n = strlen(s), fill = width > n ? width - n : 0;
    if (kind == TL_COL_NUM) pad(out, fill);
    tl_buf_str(out, s);
    if (kind == TL_COL_TEXT) pad(out, fill);
    tl_buf_str(out, "  ");
    if (!last) return;
    while (out->n && out->p[out->n - 1] == ' ') out->n--;
    tl_buf_str(out, "\n");
}

void tl_table_as_text(const tl_table *t, tl_buf *out) {
    enum { MAX_COLS = 64 };
    size_t width[MAX_COLS];
    int rows = tl_table_rows(t), n_cols = t->n_cols < MAX_COLS ? t->n_cols : MAX_COLS, last = 0;
    char buf[64];
    for (int c = 0; c < n_cols; c++) {
        if (!t->cols[c].title) continue;
        last = c;
        width[c] = strlen(t->cols[c].title);
        for (int r = 0; r < rows; r++) {
            size_t n = strlen(shown(t, &t->cells[(size_t)r * (size_t)t->n_cols + (size_t)c], c, buf, sizeof buf));
            if (n > width[c]) width[c] = n;
        }
    }
    for (int c = 0; c < n_cols; c++)
        if (t->cols[c].title) put_text(out, t->cols[c].title, width[c], t->cols[c].kind, c == last);
    for (int r = 0; r < rows; r++) {
        const tl_cell *row = t->cells + (size_t)r * (size_t)t->n_cols;
        for (int c = 0; c < n_cols; c++)
            if (t->cols[c].title)
                put_text(out, shown(t, &row[c], c, buf, sizeof buf), width[c], t->cols[c].kind, c == last);
    }
}

static void put_csv(tl_buf *out, const char *s) {
    if (!strpbrk(s, ",\"\r\n")) {
        tl_buf_str(out, s);
        return;
    }
    tl_buf_str(out, "\"");
    for (; *s; s++) {
        if (*s == '"') tl_buf_str(out, "\"");
        tl_buf_add(out, s, 1);
    }
    tl_buf_str(out, "\"");
}

void tl_table_as_csv(const tl_table *t, tl_buf *out) {
    char buf[64];
    for (int c = 0; c < t->n_cols; c++) {
        if (c) tl_buf_str(out, ",");
        put_csv(out, t->cols[c].key);
    }
    tl_buf_str(out, "\n");
    for (int r = 0; r < tl_table_rows(t); r++) {
        const tl_cell *row = t->cells + (size_t)r * (size_t)t->n_cols;
        for (int c = 0; c < t->n_cols; c++) {
            if (c) tl_buf_str(out, ",");
            if (row[c].text) put_csv(out, row[c].text);
            else if (isfinite(row[c].num)) {
                format(buf, sizeof buf, "%.*g", 10, row[c].num);
                tl_buf_str(out, buf);
            }
        }
        tl_buf_str(out, "\n");
    }
}

void tl_table_as_json(const tl_table *t, tl_json *j, const char *key) {
    tl_json_begin(j, key, '[');
    for (int r = 0; r < tl_table_rows(t); r++) {
        const tl_cell *row = t->cells + (size_t)r * (size_t)t->n_cols;
        tl_json_begin(j, NULL, '{');
        for (int c = 0; c < t->n_cols; c++) {
            const char *name = t->cols[c].key;
            if (row[c].text) tl_json_cstr(j, name, row[c].text);
            else tl_json_num(j, name, row[c].num);
        }
        tl_json_end(j, '}');
    }
    tl_json_end(j, ']');
}
