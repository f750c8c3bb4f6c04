/* SPDX-License-Identifier: MIT
 * line_edit_test.c: keys as terminals send them, and what then stands in the line and on a screen. The screen is a small
 * terminal of its own that knows the sequences the editor sends. */
#include "test.h"
#include "cmd/line_edit.c"
#include "cmd/line_draw.c"

/* ---- a terminal ---- */

enum { ROWS = 24, COLS = 130 };
typedef struct terminal { char cell[ROWS][COLS][8]; int cols, rows, row, col, wrong; } terminal;

static void clear_from(terminal *t, int row, int col) {
    for (; row < ROWS; row++, col = 0)
        for (; col < COLS; col++) strcpy(t->cell[row][col], " ");
}

static void scroll(terminal *t) {
    memmove(t->cell[0], t->cell[1], sizeof t->cell[0] * (ROWS - 1));
    clear_from(t, t->rows - 1, 0);
}

static void control(terminal *t, const char *args, char c) {
    int n = atoi(args) > 0 ? atoi(args) : 1;
    if (c == 'A') t->row = t->row >= n ? t->row - n : 0;
    else if (c == 'C') t->col = t->col + n < t->cols ? t->col + n : t->cols - 1;
    else if (c == 'J') clear_from(t, *args ? 0 : t->row, *args ? 0 : t->col);
    else if (c == 'H') t->row = t->col = 0;
    else t->wrong++;
}

static void print(terminal *t, const char *p, size_t n) {
    for (size_t at = 0, len; at < n; at += len) {
        int32_t cp;
        len = tl_utf8_next(p + at, n - at, &cp);
        if (cp == '\r') t->col = 0;
        else if (cp == '\n' && t->row + 1 < t->rows) t->row++;
        else if (cp == '\n') scroll(t);
        else if (cp == '\033') {
            size_t end = at + 2;
            while (end < n && strchr("0123456789;", p[end])) end++;
            char args[16] = "";
            memcpy(args, p + at + 2, end - at - 2);
            control(t, args, p[end]);
            len = end + 1 - at;
        } else {
            int width = cp < 0 ? 1 : tl_char_width(cp);
            if (cp < 0x20 || t->col + width > t->cols + (t->cols == 1)) t->wrong++;   /* the editor must break lines itself */
            else if (width) {
                memcpy(t->cell[t->row][t->col], p + at, len);
                t->cell[t->row][t->col][len] = 0;
                t->col += width;
            }
        }
    }
}

static const char *row_text(const terminal *t, int row) {
    static char text[COLS * 8];
    text[0] = 0;
    for (int i = 0; i < t->cols; i++) strcat(text, t->cell[row][i]);
    for (size_t n = strlen(text); n && text[n - 1] == ' '; n--) text[n - 1] = 0;
    return text;
}

static terminal shown;

/* Types keys, drawing after every chunk of them (0: all at once). */
static void type(tl_line_edit *e, const char *p, size_t chunk, int cols, int rows) {
    size_t n = strlen(p);
    shown = (terminal){.cols = cols, .rows = rows};
    clear_from(&shown, 0, 0);
    tl_line_begin(e, NULL);
    for (size_t at = 0; at < n;) {
        tl_buf out = {0};
        size_t len = chunk && chunk < n - at ? chunk : n - at;
        at += tl_line_keys(e, p + at, len);
        tl_line_draw(e, "> ", cols, rows, &out);
        print(&shown, out.p, out.n);
        tl_buf_free(&out);
        if (e->state != TL_LINE_GOES_ON) break;
    }
    tl_buf_add(&e->text, "", 1);
    e->text.n--;
}

#define HOME "\033[H"
#define LEFT "\033[D"
#define UP "\033[A"
#define DOWN "\033[B"

static void keys_and_texts(void) {
    static const struct { const char *keys, *text; size_t at; int state; } cases[] = {
        {"abc\r", "abc", 3, TL_LINE_DONE},
        {"bc" HOME "a", "abc", 1, 0},
        {"bc\001a\005d", "abcd", 4, 0},
        {"ad" LEFT "bc", "abcd", 3, 0},
        {"ab\x7f\x7f\x7f" "c", "c", 1, 0},
        {"a\xc3\xa4\x7f", "a", 1, 0},                               /* one key, one character */
        {"a\xe4\xb8\xad\xe6\x96\x87" LEFT LEFT "b", "ab\xe4\xb8\xad\xe6\x96\x87", 2, 0},
        {"e\xcc\x81" LEFT "x", "xe\xcc\x81", 1, 0},                 /* a letter and its accent are one */
        {"a\xff\xfe\x7f", "a\xff", 2, 0},                           /* bytes that are no character */
        {"abc" LEFT LEFT "\033[3~", "ac", 1, 0},
        {"abc" LEFT "\013", "ab", 2, 0},
        {"abc" LEFT "\025", "c", 0, 0},
        {"one two  \027", "one ", 4, 0},
        {"one two\033b\033bx\033f\033fy", "xone twoy", 9, 0},
        {"one\033[1;5Dx\033[1;5Cy", "xoney", 5, 0},
        {"a\003b", "b", 1, 0},
        {"\004", "", 0, TL_LINE_END},
        {"ab" LEFT "\004", "a", 1, 0},
        {"a\\\rb\r", "a\nb", 3, TL_LINE_DONE},                      /* a backslash: the line goes on */
        {"a\033\rb", "a\nb", 3, 0},
        {"ab\\\rcd" UP "x", "abx\ncd", 3, 0},
        {"a\\\rcd" UP "x" DOWN "y", "ax\ncdy", 6, 0},
        {"a\\\rb" HOME LEFT "\013c", "acb", 2, 0},                   /* Ctrl-K at a line's end takes its break */
        {"\033[200~a\rb\r\nc\nd\tls\004\003\033[A\033[201~e", "a\nb\nc\nd\tls\004\003\033[Ae", 16, 0},
        {"\033[200~\033[20\033[201~", "\033[20", 4, 0},
        {"\033[99;99Xa\033\033[Db\033Ozc", "bca", 2, 0},            /* unknown keys are nothing */
        {"\x1a", "", 0, TL_LINE_SUSPEND},
        {"\003", "", 0, TL_LINE_HINT},
        {"a\003\003b", "", 0, TL_LINE_HINT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t chunk = 0; chunk < 3; chunk++) {
            tl_line_edit e = {0};
            type(&e, cases[i].keys, chunk, 80, 24);
            CHECKF(strcmp(e.text.p, cases[i].text) == 0, "case %zu, chunks of %zu: '%s'", i, chunk, e.text.p);
            CHECKF(e.at == cases[i].at && e.state == cases[i].state, "case %zu: at %zu, state %d", i, e.at, e.state);
            CHECKF(!shown.wrong, "case %zu: %d wrong places", i, shown.wrong);
            tl_line_free(&e);
        }
}

static void history_goes_back_and_forth(void) {
    tl_line_edit e = {0};
    const char *const lines[] = {"one", "two\nlines", "three", "three", ""};
    for (int i = 0; i < 5; i++) tl_line_remember(&e, lines[i]);
    static const struct { const char *keys, *text; } cases[] = {
        {UP, "three"}, {UP UP, "two\nlines"}, {UP UP UP, "two\nlines"}, {UP UP UP UP, "one"}, {UP UP UP UP UP UP, "one"},
        {"own" UP DOWN, "own"}, {"own" UP UP DOWN DOWN, "own"}, {"own" DOWN, "own"}, {UP "x" DOWN, ""}, {UP "\003", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        type(&e, cases[i].keys, 1, 80, 24);
        CHECKF(strcmp(e.text.p, cases[i].text) == 0, "case %zu: '%s'", i, e.text.p);
    }
    tl_line_free(&e);
}

/* What was typed stands on the screen, and the cursor where the next character goes, at every width and in every chunk. */
static void history_is_searched(void) {
    tl_line_edit e = {0};
    const char *const lines[] = {"one two", "say\ntwo", "three", "two f\xc3\xbcr", "last"};
    for (int i = 0; i < 5; i++) tl_line_remember(&e, lines[i]);
    static const struct { const char *keys, *text, *row; size_t at; int state; } cases[] = {
        {"\022", "", "(search: ) ", 0, 0},
        {"own\022", "own", "(search: ) own", 3, 0},
        {"\022tw", "two f\xc3\xbcr", "(search: tw) two f\xc3\xbcr", 0, 0},
        {"\022two\022", "say\ntwo", "(search: two) say", 4, 0},
        {"\022two\022\022", "one two", "(search: two) one two", 4, 0},
        {"\022two\022\022\022", "one two", "(not found: two) one two", 4, 0},
        {"\022thx", "three", "(not found: thx) three", 0, 0},
        {"\022thx\x7f", "three", "(search: th) three", 0, 0},
        {"\022two\022\022\x7f", "two f\xc3\xbcr", "(search: tw) two f\xc3\xbcr", 0, 0},
        {"\022f\xc3\xbcr", "two f\xc3\xbcr", "(search: f\xc3\xbcr) two f\xc3\xbcr", 4, 0},
        {"\022f\xc3\xbc\x7f", "two f\xc3\xbcr", "(search: f) two f\xc3\xbcr", 4, 0},
        {"\022zz\r", "", "> ", 0, TL_LINE_DONE},
        {"\022hre\r", "three", "> three", 1, TL_LINE_DONE},
        {"own\022hre\007", "own", "> own", 3, 0},
        {"own\022hre\003", "own", "> own", 3, 0},
        {"own\022hre\033", "own", "> own", 3, 0},
        {"\022hre\001x", "xthree", "> xthree", 1, 0},          /* any other key takes it and does what it does */
        {"\022hre" UP, "say\ntwo", "> say", 7, 0},
        {"\022thr\022\007", "", "> ", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        type(&e, cases[i].keys, 0, 80, 24);
        const char *row = row_text(&shown, 0);
        CHECKF(strcmp(e.text.p, cases[i].text) == 0 && e.at == cases[i].at && e.state == cases[i].state, "case %zu: '%s' at %zu", i, e.text.p, e.at);
        CHECKF(strncmp(row, cases[i].row, strlen(row)) == 0 && strlen(row) + 1 >= strlen(cases[i].row), "case %zu: row '%s'", i, row);
    }
    tl_line_free(&e);
}

static void rows_of_the_screen(void) {
    static const struct { int cols; const char *keys, *row0, *row1, *row2; int row, col; } cases[] = {
        {80, "abc", "> abc", "", "", 0, 5},
        {80, "abc" LEFT LEFT, "> abc", "", "", 0, 3},
        {10, "12345678", "> 12345678", "", "", 1, 0},               /* a full row */
        {10, "123456789", "> 12345678", "9", "", 1, 1},
        {10, "123456789" HOME, "> 12345678", "9", "", 0, 2},
        {10, "123456789" HOME "\x0b", ">", "", "", 0, 2},           /* the second row is gone */
        {10, "12345678" LEFT, "> 12345678", "", "", 0, 9},
        {10, "1234567\xe4\xb8\xad", "> 1234567", "\xe4\xb8\xad", "", 1, 2},   /* a wide one is never cut */
        {10, "1234567\xe4\xb8\xad" LEFT, "> 1234567", "\xe4\xb8\xad", "", 1, 0},
        {80, "e\xcc\x81x", "> ex", "", "", 0, 4},
        {80, "\xf0\x9f\x98\x80x", "> \xf0\x9f\x98\x80 x", "", "", 0, 5},
        {80, "a\\\rb", "> a", "b", "", 1, 1},
        {80, "a\\\rb" UP, "> a", "b", "", 0, 3},
        {10, "12345678\\\rb" UP HOME "\005", "> 12345678", "b", "", 0, 9},
        {80, "\033[200~a\003\tb\xff\033[201~", "> a^C  b?", "", "", 0, 9},
        {1, "ab", ">", "", "a", 4, 0},
        {2, "ab\xe4\xb8\xad", ">", "ab", "\xe4\xb8\xad", 3, 0},
        {80, "abc\014", "> abc", "", "", 0, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t chunk = 0; chunk < 3; chunk++) {
            tl_line_edit e = {0};
            type(&e, cases[i].keys, chunk, cases[i].cols, 24);
            CHECKF(!shown.wrong, "case %zu: %d wrong places", i, shown.wrong);
            CHECKF(strcmp(row_text(&shown, 0), cases[i].row0) == 0, "case %zu: row 0 '%s'", i, row_text(&shown, 0));
            CHECKF(strcmp(row_text(&shown, 1), cases[i].row1) == 0, "case %zu: row 1 '%s'", i, row_text(&shown, 1));
            CHECKF(strcmp(row_text(&shown, 2), cases[i].row2) == 0, "case %zu: row 2 '%s'", i, row_text(&shown, 2));
            CHECKF(shown.row == cases[i].row && shown.col == cases[i].col, "case %zu, chunks of %zu: cursor %d, %d", i, chunk,
                   shown.row, shown.col);
            tl_line_free(&e);
        }
}

/* A text that is higher than the screen: the part around the cursor, and nothing is drawn above the first row. */
static void taller_than_the_screen(void) {
    tl_line_edit e = {0};
    type(&e, "a\\\rb\\\rc\\\rd\\\re", 1, 20, 3);
    CHECK(strcmp(row_text(&shown, 0), "c") == 0 && strcmp(row_text(&shown, 2), "e") == 0 && shown.row == 2 && !shown.wrong);
    type(&e, "a\\\rb\\\rc\\\rd\\\re" UP UP UP UP, 1, 20, 3);
    CHECK(strcmp(row_text(&shown, 0), "> a") == 0 && strcmp(row_text(&shown, 2), "c") == 0 && shown.row == 0 && !shown.wrong);
    tl_line_free(&e);
}

static void widths(void) {
    CHECK(tl_char_width('a') == 1 && tl_char_width(0xE4) == 1 && tl_char_width(0x301) == 0 && tl_char_width(0x200D) == 0);
    CHECK(tl_char_width(0x4E2D) == 2 && tl_char_width(0x1F600) == 2 && tl_char_width(0xAC00) == 2 && tl_char_width(0xFF21) == 2);
    CHECK(tl_char_width(0x2192) == 1 && tl_char_width(0xFE0F) == 0 && tl_char_width(0x10FFFF) == 1);
    for (size_t i = 1; i < sizeof zero / sizeof *zero; i++) CHECK(zero[i].from > zero[i - 1].to && zero[i].to >= zero[i].from);
    for (size_t i = 1; i < sizeof wide / sizeof *wide; i++) CHECK(wide[i].from > wide[i - 1].to && wide[i].to >= wide[i].from);
}

/* A megabyte is pasted at once. */
static void long_lines(void) {
    enum { N = 1 << 20 };
    char *text = malloc(N + 20);
    memset(text, 'a', N);
    strcpy(text + N, "\r");
    tl_line_edit e = {0};
    type(&e, text, 0, 120, 24);
    CHECK(e.text.n == N && e.state == TL_LINE_DONE && !shown.wrong);
    tl_line_free(&e);
    free(text);
}

int main(void) {
    RUN(keys_and_texts);
    RUN(history_goes_back_and_forth);
    RUN(history_is_searched);
    RUN(rows_of_the_screen);
    RUN(taller_than_the_screen);
    RUN(widths);
    RUN(long_lines);
    return tl_test_end();
}
