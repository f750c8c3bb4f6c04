/* SPDX-License-Identifier: MIT
 *
 * base_test.c: errors, memory, buffers, JSON, files, mappings, nearest names. */
#include <fcntl.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>
#include "base/base.h"
#include "base/json_read.h"
#include "test.h"

static char dir[] = "/tmp/tl_base_XXXXXX";
static char path_buf[256];
static const char *in_dir(const char *name) {
    snprintf(path_buf, sizeof path_buf, "%s/%s", dir, name);
    return path_buf;
}

static void error_first_wins(void) {
    tl_error e = {0};
    CHECK(tl_fail(&e, TL_E_IO, "one %d", 1) == TL_E_IO);
    CHECK(tl_fail(&e, TL_E_MEMORY, "two") == TL_E_MEMORY);
    CHECK(e.code == TL_E_IO && strcmp(e.text, "one 1") == 0);
    tl_error_context(&e, "file %s", "x");
    CHECKF(strcmp(e.text, "file x: one 1") == 0, "%s", e.text);
    CHECK(tl_fail(NULL, TL_E_NAN, "nowhere") == TL_E_NAN);
    tl_error_context(NULL, "nowhere");
    tl_error none = {0};
    tl_error_context(&none, "nothing to add to");
    CHECK(none.code == 0 && none.text[0] == 0);
}

static void error_text_is_printable(void) {
    tl_error e = {0};
    tl_fail(&e, TL_E_FORMAT, "%s",
            "a\nb\x1b[31m\t\x7f\xff\xc3(\xc3\xa4\xc2\x9b"
            "end");
    CHECKF(strcmp(e.text, "a\\nb\\x1b[31m\\t\\x7f\\xff\\xc3(\xc3\xa4\\xc2\\x9b"
                          "end") == 0,
           "%s", e.text);
}

static void error_text_is_cut(void) {
    char lots[3000];
    for (int shift = 0; shift < 3; shift++) { /* the cut may fall on any byte of a character */
        tl_error e = {0};
        for (size_t i = 0; i + 2 < sizeof lots; i += 2) memcpy(lots + i, "\xc3\xa4", 2);
        lots[sizeof lots - 2] = 0;
        memset(lots, 'x', (size_t)shift * 2 + (shift & 1 ? 2 : 0));
        tl_fail(&e, TL_E_FORMAT, "%.*s%s", shift, "xyz", lots);
        size_t n = strlen(e.text);
        CHECK(n > sizeof e.text - 8 && n < sizeof e.text);
        CHECK(strcmp(e.text + n - 3, "...") == 0);
        CHECKF(((unsigned char)e.text[n - 4]) == 0xa4, "cut inside a character: %02x", (unsigned char)e.text[n - 4]);
        tl_error_context(&e, "%s", lots);
        CHECK(strlen(e.text) < sizeof e.text);
    }
    tl_error full = {0};
    memset(lots, 'y', sizeof full.text - 1);
    lots[sizeof full.text - 1] = 0;
    tl_fail(&full, TL_E_FORMAT, "%s", lots);
    CHECK(strcmp(full.text, lots) == 0); /* exactly full is not cut */
}

static void sizes(void) {
    size_t v = 7;
    CHECK(tl_mul_size(3, 5, &v) && v == 15);
    CHECK(tl_mul_size(SIZE_MAX, 1, &v) && v == SIZE_MAX);
    CHECK(tl_mul_size(SIZE_MAX, 0, &v) && v == 0);
    CHECK(!tl_mul_size(SIZE_MAX / 2 + 1, 2, &v) && v == 0);
    CHECK(tl_add_size(SIZE_MAX - 1, 1, &v) && v == SIZE_MAX);
    CHECK(!tl_add_size(SIZE_MAX, 1, &v) && v == 0);
}

static void memory(void) {
    tl_error e = {0};
    int *p = tl_alloc_n(1000, sizeof *p, "numbers", &e);
    CHECK(p && p[0] == 0 && p[999] == 0);
    p[999] = 5;
    p = tl_realloc_n(p, 2000, sizeof *p, "numbers", &e);
    CHECK(p && p[999] == 5);
    tl_free(p);
    void *z = tl_alloc_n(0, 8, "nothing", &e);
    CHECK(z && e.code == 0);
    tl_free(z);
    tl_free(NULL);
    CHECK(!tl_alloc_n(SIZE_MAX / 2, 4, "the moon", &e) && e.code == TL_E_MEMORY && strstr(e.text, "the moon"));
    tl_error e2 = {0};
    CHECK(!tl_realloc_n(NULL, SIZE_MAX / 2, 4, "the sun", &e2) && e2.code == TL_E_MEMORY && strstr(e2.text, "the sun"));
    char *s = tl_strdup("text", NULL);
    CHECK(s && strcmp(s, "text") == 0);
    tl_free(s);
}

static int mapped(const void *p) {
    unsigned char v;
    return mincore((void *)((uintptr_t)p / 4096 * 4096), 1, &v) == 0;
}

static void big_memory(void) {
    tl_error e = {0};
    const size_t huge = (size_t)2 << 20, sizes_to_try[] = {0, 1, 4096, huge - 1, huge, huge + 5, 3 * huge + 4097};
    for (size_t i = 0; i < sizeof sizes_to_try / sizeof sizes_to_try[0]; i++) {
        size_t n = sizes_to_try[i];
        unsigned char *p = tl_alloc_big(n, "weights", &e);
        CHECK(p && (uintptr_t)p % 4096 == 0);
        if (!p) return;
        if (n >= huge) CHECKF((uintptr_t)p % huge == 0, "%zu bytes are not aligned to huge pages", n);
        if (n) {
            CHECK(p[0] == 0 && p[n - 1] == 0);
            p[0] = p[n - 1] = 1;
            CHECK(mapped(p + n - 1));
        }
        tl_free_big(p, n);
        CHECKF(!mapped(p) && (n == 0 || !mapped(p + n - 1)), "%zu bytes are still mapped", n);
    }
    tl_free_big(NULL, 5);
    CHECK(!tl_alloc_big(SIZE_MAX, "all of it", &e) && e.code == TL_E_MEMORY && strstr(e.text, "all of it"));
    tl_error e2 = {0};
    CHECK(!tl_alloc_big((size_t)1 << 60, "much of it", &e2) && e2.code == TL_E_MEMORY);
}

static void buffer(void) {
    tl_buf b = {0};
    tl_buf_str(&b, "");
    CHECK(b.p && b.n == 0 && b.p[0] == 0);
    for (int i = 0; i < 1000; i++) tl_buf_fmt(&b, "%d,", i);
    CHECK(b.n == 10 * 2 + 90 * 3 + 900 * 4 && strlen(b.p) == b.n && !b.failed);
    CHECK(strncmp(b.p, "0,1,2,", 6) == 0 && strcmp(b.p + b.n - 4, "999,") == 0);
    tl_buf_add(&b, "\0x", 2);
    CHECK(b.p[b.n - 2] == 0 && b.p[b.n - 1] == 'x' && b.p[b.n] == 0);
    size_t n = b.n;
    tl_buf_add(&b, "x", SIZE_MAX - 1); /* cannot be had: nothing may be read or changed */
    CHECK(b.failed && b.n == n && b.p[n - 1] == 'x');
    tl_buf_free(&b);
    CHECK(!b.p && b.n == 0);
}

static void json(void) {
    tl_buf b = {0};
    tl_json j = {&b, 0, 0};
    tl_json_begin(&j, NULL, '{');
    tl_json_cstr(&j, "a\"b", "x\\y\n\t\r\x01\x1f\x7f/");
    tl_json_str(&j, "raw", "\0\xff\xc3\xa4\xe2\x82|\xf0\x9f\x98\x80\xed\xa0\x80", 14);
    tl_json_begin(&j, "list", '[');
    tl_json_i64(&j, NULL, INT64_MIN);
    tl_json_num(&j, NULL, 0.1);
    tl_json_num(&j, NULL, NAN);
    tl_json_num(&j, NULL, -INFINITY);
    tl_json_num(&j, NULL, 1e300);
    tl_json_begin(&j, NULL, '[');
    tl_json_end(&j, ']');
    tl_json_begin(&j, NULL, '{');
    tl_json_bool(&j, "t", 2);
    tl_json_end(&j, '}');
    tl_json_cstr(&j, NULL, NULL);
    tl_json_end(&j, ']');
    tl_json_bool(&j, "f", 0);
    tl_json_end(&j, '}');
    const char *want =
        "{\"a\\\"b\": \"x\\\\y\\n\\t\\r\\u0001\\u001f\x7f/\", "
        "\"raw\": \"\\u0000\xEF\xBF\xBD\xc3\xa4\xEF\xBF\xBD|\xf0\x9f\x98\x80\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\", "
        "\"list\": [-9223372036854775808, 0.1, null, null, 1e+300, [], {\"t\": true}, null], \"f\": false}";
    CHECKF(!strcmp(b.p, want), "\n%s\n%s", b.p, want);
    CHECK(!b.failed);
    tl_buf_free(&b);
}

static void json_depth(void) {
    tl_buf b = {0};
    tl_json j = {&b, 0, 0};
    for (int i = 0; i < 60; i++) {
        tl_json_begin(&j, NULL, '[');
        tl_json_i64(&j, NULL, 1);
    }
    for (int i = 0; i < 60; i++) tl_json_end(&j, ']');
    CHECK(!b.failed && strncmp(b.p, "[1, [1, [1", 10) == 0);
    for (int i = 0; i < 64; i++) tl_json_begin(&j, NULL, '[');
    CHECK(b.failed);
    tl_buf_free(&b);
}

static void put(const char *name, const char *text) {
    FILE *f = fopen(in_dir(name), "wb");
    if (!f) return;
    fputs(text, f);
    fclose(f);
}

static int map_error(const char *path, const char *says) {
    tl_map m = {(const uint8_t *)"", 1, -1};
    tl_error e = {0};
    int rc = tl_map_open(&m, path, &e);
    CHECKF(rc < 0 && rc == e.code && strstr(e.text, path) && strstr(e.text, says), "%s: %d %s", path, rc, e.text);
    CHECK(m.p == NULL && m.n == 0);
    tl_map_close(&m);
    return rc;
}

static void map(void) {
    tl_map m;
    put("some", "content");
    CHECK(tl_map_open(&m, in_dir("some"), NULL) == TL_OK && m.n == 7 && memcmp(m.p, "content", 7) == 0);
    tl_map_close(&m);
    put("empty", "");
    CHECK(map_error(in_dir("empty"), "empty") == TL_E_FORMAT);
    CHECK(map_error(in_dir("missing"), "No such file") == TL_E_IO);
    CHECK(map_error(dir, "directory") == TL_E_IO);
    CHECK(map_error("/dev/null", "device") == TL_E_IO);
    CHECK(mkfifo(in_dir("pipe"), 0600) == 0);
    CHECK(map_error(in_dir("pipe"), "pipe") == TL_E_IO);
    CHECK(map_error("", "") == TL_E_IO);
}

static void map_copy(void) {
    tl_map m;
    tl_error e = {0};
    size_t n = 5 * 4096 + 100;
    char *text = malloc(n);
    for (size_t i = 0; i < n; i++) text[i] = (char)(i * 7);
    CHECK(tl_write_file(in_dir("big"), text, n, &e) == TL_OK);
    CHECK(tl_map_open(&m, in_dir("big"), &e) == TL_OK);
    CHECK(m.n == n && memcmp(m.p, text, n) == 0);
    char *copy = calloc(1, n);
    CHECK(tl_map_copy(&m, m.p + 4000, n - 4001, copy) == TL_OK);
    CHECK(memcmp(copy, text + 4000, n - 4001) == 0 && copy[n - 4001] == 0);
    CHECK(truncate(in_dir("big"), 5000) == 0);
    memset(copy, 1, n);
    CHECK(tl_map_copy(&m, m.p + 4000, 1000, copy) == TL_OK && memcmp(copy, text + 4000, 1000) == 0);
    CHECK(tl_map_copy(&m, m.p + 4000, 1100, copy) == TL_E_IO && memcmp(copy, text + 4000, 1000) == 0 && copy[1000] == 0 && copy[1099] == 0);
    CHECK(tl_map_copy(&m, m.p + 9000, 10, copy) == TL_E_IO && copy[0] == 0);
    free(copy);
    int fd = m.fd;
    tl_map_close(&m);
    CHECK(fcntl(fd, F_GETFD) < 0); /* the file is closed with its mapping */
    free(text);
}

static void read_file(void) {
    size_t n = 9;
    tl_error e = {0};
    char *long_text = malloc(200001);
    for (int i = 0; i < 200000; i++) long_text[i] = (char)('a' + i % 26);
    long_text[200000] = 0;
    put("long", long_text);
    char *t = tl_read_file(in_dir("long"), &n, &e);
    CHECK(t && n == 200000 && strcmp(t, long_text) == 0);
    tl_free(t);
    put("full", ""); /* one chunk exactly: the terminator needs room of its own */
    FILE *f = fopen(in_dir("full"), "wb");
    fwrite(long_text, 1, (1 << 14) - 1, f);
    fclose(f);
    t = tl_read_file(in_dir("full"), &n, &e);
    CHECK(t && n == (1 << 14) - 1 && t[n] == 0);
    tl_free(t);
    put("empty", "");
    t = tl_read_file(in_dir("empty"), &n, &e);
    CHECK(t && n == 0 && t[0] == 0);
    tl_free(t);
    CHECK(!tl_read_file(in_dir("missing"), &n, &e) && e.code == TL_E_IO && n == 0 && strstr(e.text, "missing"));
    tl_error e2 = {0};
    tl_error endless = {0};
    CHECKF(!tl_read_file("/dev/zero", &n, &endless) && endless.code == TL_E_UNSUPPORTED && n == 0, "%s", endless.text);
    CHECK(!tl_read_file(dir, &n, &e2) && e2.code == TL_E_IO && strstr(e2.text, "directory"));
    free(long_text);
}

static int files_in_dir(void) {
    char cmd[300], line[32] = "";
    snprintf(cmd, sizeof cmd, "ls %s | wc -l", dir);
    FILE *p = popen(cmd, "r");
    if (!p) return -1;
    if (!fgets(line, sizeof line, p)) line[0] = 0;
    pclose(p);
    return atoi(line);
}

static int holds(const char *name, const char *text) {
    size_t n;
    char *t = tl_read_file(in_dir(name), &n, NULL);
    int same = t && strcmp(t, text) == 0;
    tl_free(t);
    return same;
}

static void write_file(void) {
    tl_error e = {0};
    struct stat st;
    CHECK(tl_write_file(in_dir("out"), "first", 5, &e) == TL_OK && holds("out", "first"));
    chmod(in_dir("out"), 0640);
    int before = files_in_dir();
    CHECK(tl_write_file(in_dir("out"), "second", 6, &e) == TL_OK && holds("out", "second"));
    CHECK(stat(in_dir("out"), &st) == 0 && (st.st_mode & 0777) == 0640);
    CHECK(files_in_dir() == before);
    CHECK(tl_write_file(dir, "x", 1, &e) == TL_E_IO && strstr(e.text, "directory"));
    tl_error e2 = {0};
    CHECK(tl_write_file(in_dir("no/such/place"), "x", 1, &e2) == TL_E_IO && strstr(e2.text, "no/such/place"));
}

/* A pipe stands for everything that is no regular file. Not a real device: a fault here would replace it for all. */
static void device_is_kept(void) {
    struct stat st;
    char text[8] = "";
    tl_error e = {0};
    CHECK(mkfifo(in_dir("device"), 0600) == 0);
    int fd = open(in_dir("device"), O_RDONLY | O_NONBLOCK);
    CHECK(fd >= 0 && tl_write_file(in_dir("device"), "xyz", 3, &e) == TL_OK);
    CHECK(stat(in_dir("device"), &st) == 0 && S_ISFIFO(st.st_mode));
    CHECK(read(fd, text, sizeof text) == 3 && memcmp(text, "xyz", 3) == 0);
    close(fd);
}

/* Links lead to the file that is written, there or not, and stay; a circle of them is told. */
static void links_are_followed(void) {
    struct stat st;
    tl_error e = {0};
    int links = symlink("place", in_dir("to_place")) == 0 && symlink("to_place", in_dir("link")) == 0 && symlink("loop", in_dir("loop")) == 0;
    int before = files_in_dir();
    for (int round = 0; links && round < 2; round++) {
        CHECKF(tl_write_file(in_dir("link"), round ? "more" : "new", 3 + (size_t)round, &e) == TL_OK, "%s", e.text);
        CHECK(holds("place", round ? "more" : "new") && files_in_dir() == before + 1);
        CHECK(lstat(in_dir("link"), &st) == 0 && S_ISLNK(st.st_mode) && lstat(in_dir("to_place"), &st) == 0 && S_ISLNK(st.st_mode));
    }
    CHECK(links && tl_write_file(in_dir("loop"), "x", 1, &e) == TL_E_IO && strstr(e.text, "loop: cannot write: "));
    CHECK(lstat(in_dir("loop"), &st) == 0 && S_ISLNK(st.st_mode));
}

static void old_file_survives(void) {
    tl_error e = {0};
    char *lots = calloc(1, 300000);
    CHECK(tl_write_file(in_dir("out"), "old", 3, &e) == TL_OK);
    int before = files_in_dir();
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 100000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    int rc = tl_write_file(in_dir("out"), lots, 300000, &e);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    CHECK(rc == TL_E_IO && e.code == TL_E_IO && strstr(e.text, "out"));
    CHECK(holds("out", "old"));
    tl_out o;
    CHECK(tl_out_open(&o, in_dir("out"), NULL) == TL_OK && fwrite("new", 1, 3, o.f) == 3);
    CHECK(holds("out", "old")); /* nothing shows before close */
    CHECK(tl_out_close(&o, 0, NULL) == TL_OK && holds("out", "old"));
    CHECK(tl_out_close(&o, 1, NULL) == TL_OK); /* closing twice is nothing */
    CHECKF(files_in_dir() == before, "temporary files are left");
    free(lots);
}

static void nearest(void) {
    const char *list[] = {"run", "inspect", "tokenize", "perplexity", "logits", "cpu", "help", NULL};
    const struct {
        const char *in, *out;
    } cases[] = {
        {"rum", "run"},
        {"rnu", "run"},
        {"RUN", "run"},
        {"r", NULL},
        {"", NULL},
        {"xyz", NULL},
        {"tokenise", "tokenize"},
        {"tok", "tokenize"},
        {"perplex", "perplexity"},
        {"ppl", NULL},
        {"insect", "inspect"},
        {"logit", "logits"},
        {"completely-different", NULL},
        {"cup", "cpu"},
        {"hlep", "help"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = tl_nearest(cases[i].in, list);
        CHECKF(got == cases[i].out || (got && cases[i].out && strcmp(got, cases[i].out) == 0), "%s: %s, not %s",
               cases[i].in, got ? got : "none", cases[i].out ? cases[i].out : "none");
    }
    char lots[500];
    memset(lots, 'a', sizeof lots - 1);
    lots[sizeof lots - 1] = 0;
    CHECK(tl_nearest(lots, list) == NULL);
}

static void slices_and_time(void) {
    tl_slice s = {"abcd", 3}, none = {NULL, 0};
    CHECK(tl_slice_is(s, "abc") && !tl_slice_is(s, "ab") && !tl_slice_is(s, "abcd") && !tl_slice_is(s, "abd"));
    CHECK(tl_slice_is(none, "") && !tl_slice_is(none, "a"));
    double a = tl_now(), b = tl_now();
    CHECK(b >= a && b - a < 60);
}

/* Under AddressSanitizer an allocation that cannot be had shall return NULL, as without it; it must find this name. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

/* Walks a text; kinds as letters, a fault as '!' and what it says in r. */
static void walk(tl_json_in *r, char *out) {
    tl_json_kind k = tl_json_value(r);
    char *at = out + strlen(out);
    at[0] = "!nftidslo"[k];
    at[1] = 0;
    for (int first = 1; k >= TL_JSON_LIST && tl_json_more(r, first) > 0; first = 0) {
        if (k == TL_JSON_DICT && tl_json_key(r) < 0) break;
        walk(r, out);
        if (*r->fault) return;
    }
    if (k >= TL_JSON_LIST) strcat(out, ".");
}

static void json_reading(void) {
    static const struct { const char *text, *kinds, *fault; int line; } rows[] = {
        {" {\"a\": [1, -2.5e3, \"x\"],\n\"b\": {}} ", "olids.o..", "", 2}, {"[true,false,null,NaN,-Infinity]", "ltfndd.", "", 1},
        {"[]", "l.", "", 1}, {"0", "i", "", 1}, {"01", "!", "expected a number, found '0'", 1},
        {"[1,\n\n2", "lii.", "expected a comma, found the end", 3}, {"[1 2]", "li.", "expected a comma, found '2'", 1},
        {"{1:2}", "o.", "expected a string, found '1'", 1}, {"{\"a\" 1}", "o.", "expected a colon, found '1'", 1},
        {"\"\\u12g4\"", "!", "expected four hexadecimal digits, found 'g'", 1}, {"\"\\x\"", "!", "expected an escape, found 'x'", 1},
        {"\"a", "!", "expected the end of a string, found the end", 1}, {"1 1", "i", "expected the end, found '1'", 1},
        {"", "!", "expected a value, found the end", 1}, {"[[[[1]]]]", "lll!", "nested more than 3 deep", 1}, {"[1,]", "li!", "expected a value, found ']'", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t closers[3];
        char kinds[64] = "";
        tl_json_in r = tl_json_open(rows[i].text, strlen(rows[i].text), closers, 3);
        walk(&r, kinds);
        tl_json_done(&r);
        CHECKF(!strcmp(r.fault, rows[i].fault) && r.line == rows[i].line, "%s: line %d, %s", rows[i].text, r.line, r.fault);
        CHECKF(!strncmp(kinds, rows[i].kinds, strcspn(rows[i].kinds, "!.")), "%s: %s", rows[i].text, kinds);
        CHECKF(*r.fault || !strcmp(kinds, rows[i].kinds), "%s: %s", rows[i].text, kinds);
    }
    static const char text[] = "a\\n\\u00e9\\ud83d\\ude00\\ud83dz";
    static const int32_t points[] = {'\n', 0xe9, 0x1f600, 0xd83d, -1};
    tl_slice s = {text, strlen(text)}, plain;
    int32_t cp;
    int n = 0;
    for (; tl_json_piece(&s, &plain, &cp); n++) CHECKF(n < 5 && cp == points[n] && plain.n == (n == 0 || n == 4), "piece %d: %d", n, (int)cp);
    CHECK(n == 5);
}

int main(void) {
    if (!mkdtemp(dir)) return 1;
    RUN(error_first_wins);
    RUN(error_text_is_printable);
    RUN(error_text_is_cut);
    RUN(sizes);
    RUN(memory);
    RUN(big_memory);
    RUN(buffer);
    RUN(json);
    RUN(json_depth);
    RUN(map);
    RUN(map_copy);
    RUN(read_file);
    RUN(write_file);
    RUN(device_is_kept);
    RUN(links_are_followed);
    RUN(old_file_survives);
    RUN(nearest);
    RUN(slices_and_time);
    RUN(json_reading);
    char cmd[64];
    snprintf(cmd, sizeof cmd, "rm -r %s", dir);
    if (system(cmd) != 0) return 1;
    return tl_test_end();
}
