/* SPDX-License-Identifier: MIT
 *
 * report_test.c: tables in every form, lines that fit, the picture of the roofline. */
#include <math.h>
#include "report/report.h"
#include "test.h"

static const tl_col cols[] = {
    {"name", "name", TL_COL_TEXT, 0}, {"rate", "GB/s", TL_COL_NUM, 1}, {"n", NULL, TL_COL_NUM, 0},
    {"note", "note", TL_COL_TEXT, 0},
};

static void row(tl_table *t, const char *name, double rate, const char *instead, double n, const char *note) {
    tl_table_str(t, name);
    if (instead) tl_table_str(t, instead);
    else tl_table_num(t, rate);
    tl_table_num(t, n);
    tl_table_str(t, note);
}

static void forms(void) {
    tl_table t = TL_TABLE(cols);
    tl_buf text = {0}, csv = {0}, json = {0}, md = {0};
    tl_json j = {.out = &json};
    row(&t, "a,b", 12.25, NULL, 1e9, "x");
    row(&t, "longer|name", NAN, NULL, 0.1, NULL);
    row(&t, "say \"hi\"", 0, "unavailable: no", INFINITY, "");
    tl_table_str(&t, "half a row");
    CHECK(tl_table_rows(&t) == 3);
    tl_table_as_text(&t, 0, &text);
    tl_table_as_markdown(&t, &md);
    tl_table_as_csv(&t, &csv);
    tl_table_as_json(&t, &j, NULL);
    CHECKF(!strcmp(text.p, "name                    GB/s  note\n"
                           "a,b                     12.2  x\n"
                           "longer|name                -  -\n"
                           "say \"hi\"     unavailable: no\n"), "%s", text.p);
    CHECKF(!strcmp(md.p, "| name | GB/s | note |\n"
                         "|---|---:|---|\n"
                         "| a,b | 12.2 | x |\n"
                         "| longer\\|name | - | - |\n"
                         "| say \"hi\" | unavailable: no |  |\n"), "%s", md.p);
    CHECKF(!strcmp(csv.p, "name,rate,n,note\n"
                          "\"a,b\",12.25,1000000000,x\n"
                          "longer|name,,0.1,\n"
                          "\"say \"\"hi\"\"\",unavailable: no,,\n"), "%s", csv.p);
    CHECKF(!strcmp(json.p, "[{\"name\": \"a,b\", \"rate\": 12.25, \"n\": 1000000000, \"note\": \"x\"}, "
                           "{\"name\": \"longer|name\", \"rate\": null, \"n\": 0.1, \"note\": null}, "
                           "{\"name\": \"say \\\"hi\\\"\", \"rate\": \"unavailable: no\", \"n\": null, "
                           "\"note\": \"\"}]"), "%s", json.p);
    tl_table_free(&t);
    CHECK(tl_table_rows(&t) == 0);
    tl_buf_free(&text);
    tl_buf_free(&md);
    tl_buf_free(&csv);
    tl_buf_free(&json);
}

static const tl_col subject_cols[] = {
    {"model", "model", TL_COL_TEXT | TL_COL_ONCE, 0}, {"bytes", "size", TL_COL_MIB | TL_COL_ONCE, 1},
    {"threads", "threads", TL_COL_NUM | TL_COL_ONCE, 0}, {"test", "test", TL_COL_TEXT, 0}, {"rate", "tok/s", TL_COL_NUM, 0},
    {"power", "W", TL_COL_NUM, 0}, {NULL, "", TL_COL_TEXT, 0},
};

static void subject(tl_table *t, const char *model, int threads, const char *test, double rate, const char *mark) {
    tl_table_str(t, model);
    tl_table_num(t, 16106127361);   /* 15 GiB and a byte */
    tl_table_num(t, threads);
    tl_table_str(t, test);
    tl_table_num(t, rate);
    tl_table_num(t, NAN);
    tl_table_str(t, mark);
}

/* What is the same everywhere is said once, what nobody knows not at all; what varies stays beside the results. */
static void constants_stand_above(void) {
    tl_table t = TL_TABLE(subject_cols);
    tl_buf text = {0}, narrow = {0}, md = {0}, csv = {0};
    subject(&t, "tiny", 1, "pp8", 10, "");
    subject(&t, "tiny", 2, "pp8", 20, "*");
    tl_table_as_text(&t, 80, &text);
    CHECKF(!strcmp(text.p, "model tiny, size 15360.0 MiB\n\n"
                           "threads  test  tok/s\n"
                           "      1  pp8      10\n"
                           "      2  pp8      20  *\n"), "%s", text.p);
    tl_table_as_text(&t, 16, &narrow);
    CHECKF(!strcmp(narrow.p, "model tiny, size\n15360.0 MiB\n\n"
                             "  test  tok/s\n"
                             "threads 1\n"
                             "  pp8      10\n"
                             "threads 2\n"
                             "  pp8      20  *\n"), "%s", narrow.p);
    tl_table_as_markdown(&t, &md);
    CHECKF(!strcmp(md.p, "model tiny, size 15360.0 MiB\n\n"
                         "| threads | test | tok/s |  |\n"
                         "|---:|---|---:|---|\n"
                         "| 1 | pp8 | 10 |  |\n"
                         "| 2 | pp8 | 20 | * |\n"), "%s", md.p);
    tl_table_as_csv(&t, &csv);   /* programs get all of it, in bytes */
    CHECKF(!strcmp(csv.p, "model,bytes,threads,test,rate,power\n"
                          "tiny,16106127361,1,pp8,10,\n"
                          "tiny,16106127361,2,pp8,20,\n"), "%s", csv.p);
    tl_table_free(&t);
    tl_buf_free(&text);
    tl_buf_free(&narrow);
    tl_buf_free(&md);
    tl_buf_free(&csv);
}

static void long_names_become_headings(void) {
    tl_table t = TL_TABLE(subject_cols);
    tl_buf text = {0};
    const char *name = "a-model-with-a-name-that-takes-nearly-all-the-width-of-a-terminal-\xc3\xa4\xc3\xb6\xc3\xbc";
    subject(&t, name, 1, "pp8", 10, "");
    subject(&t, name, 1, "tg8", 20, "");
    subject(&t, "b", 1, "pp8", 30, "");
    tl_table_as_text(&t, 80, &text);
    tl_buf_add(&text, "", 1);
    CHECKF(strstr(text.p, "\nmodel b\n  pp8      30\n"), "%s", text.p);
    for (char *line = strtok(text.p, "\n"); line; line = strtok(NULL, "\n")) CHECKF(strlen(line) <= 83, "%s", line);
    tl_table_free(&t);
    tl_buf_free(&text);
}

static void texts_are_wrapped(void) {
    tl_buf b = {0};
    tl_wrap(&b, "one two three four-and-a-half", 9);
    CHECKF(!strcmp(b.p, "one two\nthree\nfour-and-a-half\n"), "%s", b.p);
    tl_buf_free(&b);
    tl_wrap(&b, "one two three", 0);
    CHECK(!strcmp(b.p, "one two three\n"));
    tl_buf_free(&b);
}

static void pictures_hold_their_points(void) {
    const tl_plot_point points[] = {{"a<b", 0, 1.8, 10, 0.5}, {"same", 1, 1.8, 10, 0.5}, {"norms", 0, 0, 0, 0.1}};
    tl_plot p = {.title = "t&u", .subtitle = "a CPU, 2024-05-06", .series = {"one", "two"}, .gb_s = 20,
                 .roof = {{"int8", 300}, {"f32", 60}}, .point = points, .n = 3};
    tl_buf svg = {0}, empty = {0};
    tl_plot_svg(&p, &svg);
    tl_buf_add(&svg, "", 1);
    CHECK(strstr(svg.p, ">a&lt;b 50 %<") && strstr(svg.p, ">same 50 %<"));
    CHECK(strstr(svg.p, ">without multiply-adds:<") && strstr(svg.p, ">norms 10 %<"));
    CHECK(strstr(svg.p, "t&amp;u") && strstr(svg.p, "reading 20.0 GB/s") && strstr(svg.p, ">a CPU, 2024-05-06<"));
    CHECK(strstr(svg.p, ">int8 peak 300 GMAC/s<") && strstr(svg.p, ">f32 peak 60 GMAC/s<"));
    CHECK(strstr(svg.p, "prefers-color-scheme:dark"));
    CHECK(!strstr(svg.p, "nan") && !strstr(svg.p, "inf"));
    p = (tl_plot){.title = ""};
    tl_plot_svg(&p, &empty);
    tl_buf_add(&empty, "", 1);
    CHECK(strstr(empty.p, "</svg>") && !strstr(empty.p, "nan"));
    tl_buf_free(&svg);
    tl_buf_free(&empty);
}

int main(void) {
    RUN(forms);
    RUN(constants_stand_above);
    RUN(long_names_become_headings);
    RUN(texts_are_wrapped);
    RUN(pictures_hold_their_points);
    return tl_test_end();
}
