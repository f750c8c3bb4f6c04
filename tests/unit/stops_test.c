/* SPDX-License-Identifier: MIT
 *
 * stops_test.c: stop strings in texts that arrive in pieces of any size. */
#include "base/stops.h"
#include "test.h"

/* What comes out of text in pieces of `step` bytes; *hit: a stop string ended it. The text so far must never hold a
 * part that a stop string takes back: out only ever grows, so checking the end is enough. */
static const char *through(const char *const *stop, int n, const char *text, size_t step, int *hit) {
    static tl_buf out;
    tl_stops s = {.stop = stop, .n = n};
    size_t len = strlen(text);
    out.n = 0;
    *hit = 0;
    for (size_t at = 0; at < len && !*hit; at += step)
        *hit = tl_stops_push(&s, text + at, len - at < step ? len - at : step, 0, &out);
    if (!*hit) tl_stops_flush(&s, &out);
    tl_stops_free(&s);
    tl_buf_add(&out, "", 0);
    return out.p;
}

static void pieces(void) {
    static const char *const stops[] = {"###", "\nUser:", "aab", "\xc3\xa4!"};
    const struct {
        const char *text, *want;
        int hit;
    } cases[] = {
        {"hello", "hello", 0},
        {"", "", 0},
        {"a ## b", "a ## b", 0},
        {"a ### b", "a ", 1},
        {"###", "", 1},
        {"x####", "x", 1},
        {"one\nUser: two", "one", 1},
        {"one\nUse", "one\nUse", 0},
        {"one\nUs\nUser:", "one\nUs", 1},
        {"aaaab", "aa", 1},
        {"aaa", "aaa", 0},
        {"\xc3\xa4\xc3\xa4!", "\xc3\xa4", 1},
        {"##\nUser:###", "##", 1},
        {"end##", "end##", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t step = 1; step <= 16; step++) {
            int hit;
            const char *got = through(stops, 4, cases[i].text, step, &hit);
            CHECKF(strcmp(got, cases[i].want) == 0 && hit == cases[i].hit, "'%s' by %zu: '%s', hit %d", cases[i].text,
                   step, got, hit);
        }
    }
}

static void lets_go_early(void) {
    static const char *const stops[] = {"END"};
    tl_stops s = {.stop = stops, .n = 1};
    tl_buf out = {0};
    CHECK(tl_stops_push(&s, "textE", 5, 0, &out) == 0 && out.n == 4);
    CHECK(tl_stops_push(&s, "N", 1, 0, &out) == 0 && out.n == 4);
    CHECK(tl_stops_push(&s, "E", 1, 0, &out) == 0 && strcmp(out.p, "textEN") == 0); /* only the new E may begin a stop */
    CHECK(tl_stops_push(&s, "", 0, 0, &out) == 0 && out.n == 6);
    tl_stops_flush(&s, &out);
    CHECK(strcmp(out.p, "textENE") == 0);
    tl_stops_flush(&s, &out);
    CHECK(out.n == 7);
    tl_stops_free(&s);
    tl_buf_free(&out);
}

static void no_stops(void) {
    int hit;
    CHECK(strcmp(through(NULL, 0, "anything ###", 3, &hit), "anything ###") == 0 && !hit);
}

static void hidden_bytes_stop_and_are_not_shown(void) {
    static const char *const stops[] = {"\n<end>", "<x>"};
    tl_stops s = {.stop = stops, .n = 2};
    tl_buf out = {0};
    CHECK(!tl_stops_push(&s, "a<", 2, 0, &out) && !tl_stops_push(&s, "<y>", 3, 1, &out) && !tl_stops_push(&s, "b\n", 2, 0, &out));
    CHECK(out.n == 3 && memcmp(out.p, "a<b", 3) == 0);   /* the line break may begin the first stop string */
    CHECK(tl_stops_push(&s, "<end>", 5, 1, &out) && out.n == 3);
    CHECK(!tl_stops_push(&s, "c", 1, 0, &out) && tl_stops_push(&s, "<x>", 3, 1, &out) && out.n == 4);
    CHECK(!tl_stops_push(&s, "<", 1, 1, &out));
    tl_stops_flush(&s, &out);
    CHECK(out.n == 4);
    tl_stops_free(&s);
    tl_buf_free(&out);
}

int main(void) {
    RUN(pieces);
    RUN(lets_go_early);
    RUN(no_stops);
    RUN(hidden_bytes_stop_and_are_not_shown);
    return tl_test_end();
}
