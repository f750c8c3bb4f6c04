/* SPDX-License-Identifier: MIT
 * term_test.c: what a terminal gets of a model's text. */
#include "test.h"
#include "cmd/line_draw.c"
#include "cmd/line_wrap.c"
#include "cmd/term.c"

static void escapes(void) {
    static const struct { const char *text; size_t n; const char *want; } cases[] = {
        {"plain\n\ttext", 11, "plain\n\ttext"},
        {"\x1b]0;title\x07", 10, "\\x1b]0;title\\x07"},
        {"a\rb\bc\x7f", 6, "a\\x0db\\x08c\\x7f"},
        {"\0", 1, "\\x00"},
        {"\xc2\x9b" "31m", 5, "\\xc2\\x9b31m"},            /* CSI as one character */
        {"\xc2\xa0\xc3\xa4\xe2\x9c\x93", 7, "\xc2\xa0\xc3\xa4\xe2\x9c\x93"},
        {"\x9b" "31m\xff\xe2\x9c", 7, "\\x9b31m\\xff\\xe2\\x9c"},   /* no characters */
        {"", 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tl_buf b = {0};
        tl_term_escape(&b, cases[i].text, cases[i].n, "\n\t");
        tl_buf_add(&b, "", 0);
        CHECKF(b.n == strlen(cases[i].want) && memcmp(b.p, cases[i].want, b.n) == 0, "case %zu: %s", i, b.p);
        tl_buf_free(&b);
    }
}

static void a_file_gets_the_bytes(void) {
    FILE *f = tmpfile();
    tl_term t = tl_term_open(f);
    char got[16] = "";
    CHECK(!t.is_terminal);
    tl_term_write(&t, "\x1b[1m", 4);
    CHECK(t.mid_line);
    tl_term_end_line(&t);
    rewind(f);
    CHECK(fread(got, 1, sizeof got, f) == 4 && memcmp(got, "\x1b[1m", 4) == 0);
    fclose(f);
}

/* 2>&1: a status line behind the text begins a line of its own. */
static void one_file_for_both(void) {
    FILE *f = tmpfile();
    int was = dup(STDERR_FILENO);
    char got[16] = "";
    dup2(fileno(f), STDERR_FILENO);
    tl_term t = tl_term_open(f);
    dup2(was, STDERR_FILENO);
    close(was);
    tl_term_write(&t, "a", 1);
    tl_term_end_line(&t);
    tl_term_end_line(&t);   /* once */
    rewind(f);
    CHECK(!t.is_terminal && fread(got, 1, sizeof got, f) == 2 && memcmp(got, "a\n", 2) == 0);
    fclose(f);
}

/* Lines break between words, whatever pieces they come in. */
static void words_stay_whole(void) {
    static const struct { int cols; const char *text, *want; } cases[] = {
        {10, "one two three four", "one two\nthree four"},
        {10, "one two  three\n\n four", "one two\nthree\n\n four"},        /* blanks at a break go, others stay */
        {8, "one two three", "one two\nthree"},
        {7, "one two three", "one two\nthree"},
        {7, "one two \nthree", "one two\nthree"},                          /* a blank that has no room */
        {9, "one two \nthree", "one two \nthree"},
        {6, "one abcdefghi two three", "one abcdefghi two\nthree"},                     /* longer than a line: the terminal breaks it */
        {6, "\346\227\245\346\234\254\350\252\236\345\255\227", "\346\227\245\346\234\254\350\252\236\n\345\255\227"},   /* two places each */
        {6, "ab \346\227\245x \346\234\254", "ab \346\227\245x\n\346\234\254"},
        {5, "e\314\201e\314\201 e\314\201e\314\201 x", "e\314\201e\314\201 e\314\201e\314\201\nx"},   /* combining: none */
        {8, "```\none two three\n```\none two three", "```\none two three\n```\none two\nthree"},
        {0, "one two three", "one two three"},
        {1, "a bc d", "a bc d"},
        {20, "a\tb\tc d e f g", "a\tb\tc d\ne f g"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece < 12; piece++) {
            tl_words w = {0};
            tl_buf got = {0};
            const char *p = cases[i].text;
            for (size_t n = strlen(p), len; n; p += len, n -= len) {
                len = piece < n ? piece : n;
                while (len < n && ((unsigned char)p[len] & 0xC0) == 0x80) len++;   /* whole characters */
                tl_words_push(&w, cases[i].cols, p, len, &got);
            }
            tl_words_flush(&w, cases[i].cols, &got);
            tl_buf_add(&got, "", 1);
            CHECKF(strcmp(got.p, cases[i].want) == 0, "case %zu, pieces of %zu: %s", i, piece, got.p);
            tl_buf_free(&got);
        }
}

int main(void) {
    RUN(words_stay_whole);
    RUN(escapes);
    RUN(a_file_gets_the_bytes);
    RUN(one_file_for_both);
    return tl_test_end();
}
