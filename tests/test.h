/* SPDX-License-Identifier: MIT
 * test.h: a test program is main() { RUN(a); RUN(b); return tl_test_end(); }. A case is a function that checks with
 * CHECK / CHECKF (the case goes on after a failure) or SKIP (returns). Last line: "N passed, N failed, N skipped". */
#ifndef TL_TEST_H
#define TL_TEST_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int test_passed, test_failed, test_skipped, test_bad;
static const char *test_why_skipped;

#define CHECK(cond) CHECKF(cond, "%s", #cond)
#define CHECKF(cond, ...) do { if (!(cond)) { if (test_bad++ < 10) { \
    printf("  %s:%d: ", __FILE__, __LINE__); printf(__VA_ARGS__); printf("\n"); } } } while (0)
#define SKIP(why) do { test_why_skipped = (why); return; } while (0)
#define RUN(fn) test_run(#fn, fn)

static inline void test_run(const char *name, void (*fn)(void)) {
    test_bad = 0;
    test_why_skipped = NULL;
    fn();
    if (test_bad) { printf("FAIL %s (%d checks)\n", name, test_bad); test_failed++; }
    else if (test_why_skipped) { printf("skip %s: %s\n", name, test_why_skipped); test_skipped++; }
    else { printf("ok   %s\n", name); test_passed++; }
    fflush(stdout);
}
static inline int tl_test_end(void) {
    printf("%d passed, %d failed, %d skipped\n", test_passed, test_failed, test_skipped);
    return test_failed != 0;
}
/* Whether the program is emulated ($RUNNER): dozens of times slower. */
static inline int test_emulated(void) { return getenv("RUNNER") != NULL; }
/* Of this process: limits on work that hold on a busy machine too. */
static inline double test_cpu_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }
/* Path of a file under the shared folder ($TINYLLM_SHARED, default ../shared), or NULL if it is not there.
 * The buffer is static: copy the result before the next call. */
static inline const char *test_shared(const char *rel) {
    static char path[4096];
    const char *root = getenv("TINYLLM_SHARED");
    snprintf(path, sizeof path, "%s/%s", root ? root : "../shared", rel);
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fclose(f);
    return path;
}
#endif
