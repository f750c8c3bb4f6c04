/* SPDX-License-Identifier: MIT
 *
 * report.h: results for people and programs: tables (text that fits a terminal, Markdown, CSV, JSON) and the roofline as
 * a picture. Knows nothing about what was measured. */
#ifndef TL_REPORT_H
#define TL_REPORT_H

#include "base/base.h"

/* ---- tables ----------------------------------------------------------------------------------------------------- */

/* A table is its columns and cells row by row; the same rows go out in every form. */
enum {
    TL_COL_TEXT,
    TL_COL_NUM,
    TL_COL_MIB,                         /* a number of bytes; people read it in MiB, and the unit is put behind the title */
    TL_COL_ONCE = 4                     /* added to one of these: says what is measured, not how it went. Where all rows have
                                           the same value, people read it once, above the table */
};
typedef struct tl_col {
    const char *key;                    /* in JSON and CSV: "gb_s"; NULL: not there */
    const char *title;                  /* for people, unit included: "GB/s"; NULL: not for them */
    int kind, digits;                   /* numbers: digits behind the point for people (else 10 significant) */
} tl_col;
typedef struct tl_cell { double num; char *text; } tl_cell;
typedef struct tl_table {
    const tl_col *cols;
    int n_cols;                         /* at most 64 */
    size_t n, cap;                      /* cells */
    tl_cell *cells;
    int failed;                         /* no memory */
} tl_table;
/* tl_table t = TL_TABLE(columns); for a static array of columns. */
#define TL_TABLE(columns) {.cols = (columns), .n_cols = (int)(sizeof(columns) / sizeof *(columns))}

/* The next cell. NAN and NULL: "-" for people, null in JSON, nothing in CSV. A number's cell may hold a text instead
 * ("unavailable: ..."), which is shown as it is. Texts are copied. */
void tl_table_num(tl_table *t, double v);
void tl_table_str(tl_table *t, const char *s);
int tl_table_rows(const tl_table *t);
void tl_table_free(tl_table *t);

/* Aligned text. Columns without any value are left out. Where a row would be wider than width (0: no limit), columns that
 * say what is measured become headings above their rows, from the left, until it fits; then columns move together. */
void tl_table_as_text(const tl_table *t, int width, tl_buf *out);
void tl_table_as_markdown(const tl_table *t, tl_buf *out);
/* The one or the other. */
typedef struct tl_page { int markdown, width; } tl_page;
void tl_table_for_people(const tl_table *t, tl_page page, tl_buf *out);
void tl_table_as_csv(const tl_table *t, tl_buf *out);                    /* RFC 4180 */
void tl_table_as_json(const tl_table *t, tl_json *j, const char *key);   /* an array of objects */
/* Text for people in lines of at most width (0: no limit), broken at blanks. */
void tl_wrap(tl_buf *out, const char *text, int width);

/* ---- the roofline as a picture ------------------------------------------------------------------------------------ */

/* share: of the time of the point's series (0 or 1). Points without multiply-adds stand in a row of their own below. */
typedef struct tl_plot_point { const char *label; int series; double intensity, gmac_s, share; } tl_plot_point;
typedef struct tl_roof { const char *name; double gmac_s; } tl_roof;   /* gmac_s 0: unknown */
typedef struct tl_plot {
    const char *title, *subtitle;
    const char *series[2];              /* NULL: none */
    double gb_s;                        /* the memory's roof, 0: unknown */
    tl_roof roof[2];                    /* of arithmetic */
    const tl_plot_point *point;
    int n;
} tl_plot;
/* SVG that follows the reader's choice of light or dark. */
void tl_plot_svg(const tl_plot *p, tl_buf *out);

#endif
