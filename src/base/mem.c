/* SPDX-License-Identifier: MIT
 *
 * mem.c: memory whose sizes are checked and whose failures name what it was for; big areas straight from the system. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/base.h"

int tl_mul_size(size_t a, size_t b, size_t *out) {
    int ok = b == 0 || a <= SIZE_MAX / b;
    *out = ok ? a * b : 0;
    return ok;
}

int tl_add_size(size_t a, size_t b, size_t *out) {
    int ok = a <= SIZE_MAX - b;
    *out = ok ? a + b : 0;
    return ok;
}

static void *no_memory(double bytes, const char *what, tl_error *err) {
    char text[32];
    tl_fail(err, TL_E_MEMORY, "out of memory: %s for %s", tl_bytes_text(text, bytes), what);
    return NULL;
}

void *tl_alloc_n(size_t n, size_t size, const char *what, tl_error *err) {
    if (n == 0 || size == 0) n = size = 1;   /* calloc(0) may be NULL, which would look like a failure */
    void *p = calloc(n, size);
    return p ? p : no_memory((double)n * (double)size, what, err);
}

void *tl_realloc_n(void *p, size_t n, size_t size, const char *what, tl_error *err) {
    size_t bytes;
    if (!tl_mul_size(n, size, &bytes)) return no_memory((double)n * (double)size, what, err);
    void *q = realloc(p, bytes ? bytes : 1);
    return q ? q : no_memory((double)bytes, what, err);
}

void tl_free(void *p) { free(p); }

/* Huge pages need areas that start at a multiple of their size: one more is reserved and the ends are given back. */
#define HUGE_PAGE ((size_t)2 << 20)

void *tl_alloc_big(size_t bytes, const char *what, tl_error *err) {
    size_t slack = bytes >= HUGE_PAGE ? HUGE_PAGE : 0, total;
    if (!tl_add_size(bytes ? bytes : 1, slack, &total)) return no_memory((double)bytes, what, err);
    char *p = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return no_memory((double)bytes, what, err);
    if (!slack) return p;
    size_t head = (HUGE_PAGE - ((uintptr_t)p & (HUGE_PAGE - 1))) & (HUGE_PAGE - 1);
    size_t page = (size_t)sysconf(_SC_PAGESIZE), used = (bytes + page - 1) / page * page;
    if (head) munmap(p, head);
    if (slack > head) munmap(p + head + used, slack - head);
    madvise(p + head, bytes, MADV_HUGEPAGE);   /* a wish: without it the memory is just slower */
    return p + head;
}

void tl_free_big(void *p, size_t bytes) {
    if (p) munmap(p, bytes ? bytes : 1);
}

char *tl_strdup(const char *s, tl_error *err) {
    size_t n = strlen(s) + 1;
    char *p = tl_alloc_n(n, 1, "a text", err);
    if (p) memcpy(p, s, n);
    return p;
}
