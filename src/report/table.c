/* SPDX-License-Identifier: MIT
 *
 * table.c: rows of results written out. Cells are kept in one array in the order they were added; a table whose last row
 * is not complete shows only the complete rows. */
#include <math.h>
#include <string.h>
#include "report/report.h"

enum { MAX_COLS = 64 };

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

/* ---- for people --------------------------------------------------------------------------------------------------- */

typedef char number[64];

static int kind_of(const tl_table *t, int col) { return t->cols[col].kind & ~TL_COL_ONCE; }

/* The cell as people read it: a text of its own or written into buf. */
static const char *shown(const tl_table *t, int row, int col, number buf) {
    const tl_cell *c = &t->cells[(size_t)row * (size_t)t->n_cols + (size_t)col];
    if (c->text) return c->text;
    if (!isfinite(c->num)) return "-";
    format(buf, sizeof(number), "%.*f", t->cols[col].digits, kind_of(t, col) == TL_COL_MIB ? c->num / 1048576 : c->num);
    return buf;
}

static int same(const tl_table *t, int a, int b, int col) {
    number one, two;
    return !strcmp(shown(t, a, col, one), shown(t, b, col, two));
}

static const char *title(const tl_table *t, int col, number buf) {
    if (kind_of(t, col) != TL_COL_MIB) return t->cols[col].title;
    snprintf(buf, sizeof(number), "%.50s MiB", t->cols[col].title);
    return buf;
}

/* Places that n bytes of text take: characters of UTF-8. */
static int places_of(const char *s, size_t n) {
    int places = 0;
    for (size_t i = 0; i < n; i++) places += ((unsigned char)s[i] & 0xC0) != 0x80;
    return places;
}
static int places(const char *s) { return places_of(s, strlen(s)); }

/* Where a column goes. */
enum { HIDDEN, COLUMN, ABOVE, HEADING };
typedef struct layout {
    const tl_table *t;
    int rows, where[MAX_COLS], width[MAX_COLS], last, headings, gap;   /* gap: between columns */
} layout;

static void arrange(layout *l, const tl_table *t) {
    number buf;
    *l = (layout){.t = t, .rows = tl_table_rows(t), .gap = 2};
    for (int c = 0; c < t->n_cols && c < MAX_COLS; c++) {
        int value = !l->rows, equal = l->rows > 0;
        if (!t->cols[c].title) continue;
        l->width[c] = places(title(t, c, buf));
        for (int r = 0; r < l->rows; r++) {
            const char *s = shown(t, r, c, buf);
            if (places(s) > l->width[c]) l->width[c] = places(s);
            value |= *s && strcmp(s, "-");
            equal &= same(t, 0, r, c);
        }
        l->where[c] = !value ? HIDDEN : equal && t->cols[c].kind & TL_COL_ONCE ? ABOVE : COLUMN;
        if (l->where[c] == COLUMN) l->last = c;
    }
}

static int row_width(const layout *l) {
    int n = (l->headings ? 2 : 0) - l->gap;   /* rows below headings are moved to the right */
    for (int c = 0; c < MAX_COLS; c++)
        if (l->where[c] == COLUMN) n += l->width[c] + l->gap;
    return n;
}

static void make_headings(layout *l, int width) {
    for (int c = 0; c < l->last && row_width(l) > width; c++)
        if (l->where[c] == COLUMN && l->t->cols[c].kind & TL_COL_ONCE) {
            l->where[c] = HEADING;
            l->headings++;
        }
    if (row_width(l) > width) l->gap = 1;
}

/* "model tiny, size 1.0 MiB, threads 2": the cells of a row that have a place. */
static void put_facts(const layout *l, int row, int where, int width, tl_buf *out) {
    tl_buf b = {0};
    number buf;
    for (int c = 0; c < MAX_COLS; c++)
        if (l->where[c] == where)
            tl_buf_fmt(&b, "%s%s %s%s", b.n ? ", " : "", l->t->cols[c].title, shown(l->t, row, c, buf),
                       kind_of(l->t, c) == TL_COL_MIB ? " MiB" : "");
    if (b.n) tl_wrap(out, b.p, width);
    out->failed |= b.failed;
    tl_buf_free(&b);
}

static int new_heading(const layout *l, int row) {
    for (int c = 0; c < MAX_COLS; c++)
        if (l->where[c] == HEADING && (row == 0 || !same(l->t, row, row - 1, c))) return 1;
    return 0;
}

static void pad(tl_buf *out, int n) {
    while (n-- > 0) tl_buf_str(out, " ");
}

/* Numbers lie to the right, texts to the left; no line ends with blanks. */
static void put_cell(const layout *l, int col, const char *s, tl_buf *out) {
    int fill = l->width[col] - places(s), text = kind_of(l->t, col) == TL_COL_TEXT;
    if (!text) pad(out, fill);
    tl_buf_str(out, s);
    if (text) pad(out, fill);
    pad(out, l->gap);
    if (col < l->last) return;
    while (out->n && out->p[out->n - 1] == ' ') out->n--;
    tl_buf_str(out, "\n");
}

void tl_table_as_text(const tl_table *t, int width, tl_buf *out) {
    layout l;
    number buf;
    size_t start = out->n;
    arrange(&l, t);
    if (width > 0) make_headings(&l, width);
    put_facts(&l, 0, ABOVE, width, out);
    if (out->n > start) tl_buf_str(out, "\n");
    for (int r = -1; r < l.rows; r++) {
        if (r >= 0 && new_heading(&l, r)) put_facts(&l, r, HEADING, width, out);
        if (l.headings) tl_buf_str(out, "  ");
        for (int c = 0; c < MAX_COLS; c++)
            if (l.where[c] == COLUMN) put_cell(&l, c, r < 0 ? title(t, c, buf) : shown(t, r, c, buf), out);
    }
}

static void put_markdown(tl_buf *out, const char *s) {
    tl_buf_str(out, " ");
    for (; *s; s++) {
        if (*s == '|') tl_buf_str(out, "\\");
        tl_buf_add(out, s, 1);
    }
    tl_buf_str(out, " |");
}

void tl_table_as_markdown(const tl_table *t, tl_buf *out) {
    layout l;
    number buf;
    size_t start = out->n;
    arrange(&l, t);
    put_facts(&l, 0, ABOVE, 0, out);
    if (out->n > start) tl_buf_str(out, "\n");
    for (int r = -2; r < l.rows; r++) {   /* titles, the line below them, rows */
        tl_buf_str(out, "|");
        for (int c = 0; c < MAX_COLS; c++) {
            if (l.where[c] != COLUMN) continue;
            if (r == -1) tl_buf_str(out, kind_of(t, c) == TL_COL_TEXT ? "---|" : "---:|");
            else put_markdown(out, r < 0 ? title(t, c, buf) : shown(t, r, c, buf));
        }
        tl_buf_str(out, "\n");
    }
}

void tl_table_for_people(const tl_table *t, tl_page page, tl_buf *out) {
    if (page.markdown) tl_table_as_markdown(t, out);
    else tl_table_as_text(t, page.width, out);
}

void tl_wrap(tl_buf *out, const char *text, int width) {
    int at = 0;
    while (*text) {
        size_t n = strcspn(text, " ");
        int wide = places_of(text, n);
        if (at && width > 0 && at + 1 + wide > width) {
            tl_buf_str(out, "\n");
            at = 0;
        } else if (at) {
            tl_buf_str(out, " ");
            at++;
        }
        tl_buf_add(out, text, n);
        at += wide;
        text += n;
        text += strspn(text, " ");
    }
    tl_buf_str(out, "\n");
}

/* ---- for programs ------------------------------------------------------------------------------------------------- */

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
    number buf;
    for (int r = -1; r < tl_table_rows(t); r++) {
        const tl_cell *row = t->cells + (r < 0 ? 0 : (size_t)r * (size_t)t->n_cols);
        int n = 0;
        for (int c = 0; c < t->n_cols; c++) {
            if (!t->cols[c].key) continue;
            if (n++) tl_buf_str(out, ",");
            if (r < 0) put_csv(out, t->cols[c].key);
            else if (row[c].text) put_csv(out, row[c].text);
            else if (isfinite(row[c].num)) {
                if (kind_of(t, c) == TL_COL_MIB) format(buf, sizeof buf, "%.*f", 0, row[c].num);
                else format(buf, sizeof buf, "%.*g", 10, row[c].num);
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
            if (!name) continue;
            if (row[c].text) tl_json_cstr(j, name, row[c].text);
            else if (kind_of(t, c) == TL_COL_MIB && isfinite(row[c].num)) tl_json_i64(j, name, (int64_t)row[c].num);
            else tl_json_num(j, name, row[c].num);
        }
        tl_json_end(j, '}');
    }
    tl_json_end(j, ']');
}
