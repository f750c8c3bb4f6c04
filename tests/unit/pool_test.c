/* SPDX-License-Identifier: MIT
 * The thread pool (barriers order memory, counters hand out each item once, oversubscription ends) and the number of
 * usable threads, on trees of /proc and /sys laid out here. */
#include "test.h"
#include "base/pool.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_T 16
typedef struct shared { tl_pool *pool; int value[MAX_T * 32]; int wrong, rounds; unsigned char taken[5000]; } shared;

/* Each round every thread writes its cell, and after the barrier must see the round's value in all cells. */
static void rounds(void *arg, int thread, int n) {
    shared *s = arg;
    for (int r = 1; r <= s->rounds; r++) {
        s->value[thread * 32] = r;
        tl_pool_barrier(s->pool);
        for (int i = 0; i < n; i++)
            if (s->value[i * 32] != r) s->wrong = 1;
        tl_pool_barrier(s->pool);
    }
}

static void claim_all(void *arg, int thread, int n) {
    shared *s = arg;
    (void)thread, (void)n;
    for (int i; (i = tl_pool_next(s->pool, 1)) < (int)sizeof s->taken;) s->taken[i]++;
}

static void barriers_order_memory(void) {
    for (int n = 1; n <= MAX_T; n += n < 4 ? 1 : 4) {
        static shared s;
        memset(&s, 0, sizeof s);
        tl_error err = {0};
        s.pool = tl_pool_new(n, &err);
        CHECKF(s.pool, "%s", err.text);
        if (!s.pool) return;
        CHECK(tl_pool_size(s.pool) == n);
        s.rounds = n <= 2 ? 20000 : 500;
        tl_pool_run(s.pool, rounds, &s);
        for (int run = 0; run < 50; run++) { s.rounds = 2; tl_pool_run(s.pool, rounds, &s); }
        CHECKF(!s.wrong, "%d threads: a write before a barrier was not seen after it", n);
        for (int run = 1; run <= 3; run++) {
            tl_pool_rewind(s.pool, 1);
            tl_pool_run(s.pool, claim_all, &s);
            for (size_t i = 0; i < sizeof s.taken; i++) CHECK(s.taken[i] == run);
        }
        tl_pool_free(s.pool);
    }
}

static void bad_sizes(void) {
    tl_error err = {0};
    CHECK(!tl_pool_new(0, &err) && err.code == TL_E_ARGUMENT);
    err = (tl_error){0};
    CHECK(!tl_pool_new(TL_MAX_THREADS + 1, &err) && err.code == TL_E_ARGUMENT && strstr(err.text, "1025"));
    tl_pool_free(NULL);
}

static void split_covers(void) {
    for (int n = 0; n < 70; n++)
        for (int step = 1; step <= 16; step *= 4)
            for (int threads = 1; threads <= 9; threads++) {
                int at = 0;
                for (int t = 0; t < threads; t++) {
                    int a, b;
                    tl_split(n, step, t, threads, &a, &b);
                    CHECK(a == at && b >= a && (b % step == 0 || b == n));
                    at = b;
                }
                CHECK(at == n);
            }
}

static char root[] = "/tmp/tl_pool_testXXXXXX";

static void put(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *p = path + strlen(root) + 1; *p; p++)
        if (*p == '/') { *p = 0; mkdir(path, 0755); *p = '/'; }
    FILE *f = fopen(path, "w");
    CHECK(f);
    if (!f) return;
    fputs(text, f);
    fclose(f);
}

static void drop(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    unlink(path);
}

static void usable_threads(void) {
    CHECK(mkdtemp(root));
    tl_cpu_count c;
    CHECK(tl_usable_threads(root, &c) == 1); /* nothing known */
    put("sys/devices/system/cpu/online", "0-7\n");
    CHECK(tl_usable_threads(root, &c) == 8 && c.online == 8 && c.quota == 0);
    put("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-2,8\n");
    CHECK(tl_usable_threads(root, &c) == 4 && c.affinity == 4);
    put("proc/self/cgroup", "0::/a/b\n");
    put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    CHECK(tl_usable_threads(root, &c) == 4);
    put("sys/fs/cgroup/a/cpu.max", "250000 100000\n"); /* an ancestor's limit counts, rounded down */
    CHECK(tl_usable_threads(root, &c) == 2 && c.quota == 2.5 && strstr(c.quota_from, "/a"));
    put("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
    CHECK(tl_usable_threads(root, &c) == 1 && c.quota == 0.5);
    put("sys/fs/cgroup/a/b/cpu.max", "nonsense\n");
    CHECK(tl_usable_threads(root, &c) == 2);
    put("proc/self/cgroup", "4:cpuset:/z\n3:cpu,cpuacct:/docker/1\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    CHECK(tl_usable_threads(root, &c) == 4);
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    CHECK(tl_usable_threads(root, &c) == 3);
    put("proc/self/status", "Cpus_allowed_list:\tgarbage\n");
    CHECK(tl_usable_threads(root, &c) == 3);
    static const char *const files[] = {"sys/devices/system/cpu/online", "sys/devices/system/cpu", "sys/devices/system", "sys/devices",
        "proc/self/status", "proc/self/cgroup", "proc/self", "proc", "sys/fs/cgroup/a/b/cpu.max", "sys/fs/cgroup/a/b",
        "sys/fs/cgroup/a/cpu.max", "sys/fs/cgroup/a", "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "sys/fs/cgroup/cpu/cpu.cfs_period_us",
        "sys/fs/cgroup/cpu", "sys/fs/cgroup", "sys/fs", "sys"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        drop(files[i]);
        char path[512];
        snprintf(path, sizeof path, "%s/%s", root, files[i]);
        rmdir(path);
    }
    CHECK(rmdir(root) == 0);
    CHECK(tl_usable_threads("/", NULL) >= 1);
}

static void threads_for(void) {
    int usable = tl_usable_threads("/", NULL), most = TL_OVERSUBSCRIBE * usable;
    CHECK(tl_threads_for(0) == usable && tl_threads_for(1) == 1 && tl_threads_for(most) == most);
    CHECK(most >= TL_MAX_THREADS || (tl_threads_for(most + 1) == most && tl_threads_for(TL_MAX_THREADS) == most));
    CHECK(tl_threads_for(-1) == -1 && tl_threads_for(TL_MAX_THREADS + 1) == TL_MAX_THREADS + 1);
}

/* A process that has no room for the threads' stacks; exits with 0 if it is told what is missing. */
static int without_room(void) {
    tl_error err = {0};
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld", &pages) != 1) return 1;
    rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (256 << 10);   /* a few small allocations, no stack */
    tl_pool *p = setrlimit(RLIMIT_AS, &(struct rlimit){most, most}) == 0 ? tl_pool_new(8, &err) : NULL;
    return p || err.code != TL_E_SYSTEM || !strstr(err.text, "cannot start thread 2 of 8") || !strstr(err.text, "try fewer threads");
}

static void no_thread_to_be_had(void) {
    int status = 1;
    pid_t child = fork();
    if (!child) _exit(without_room());
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void limits_of_memory(void) { SKIP("no_thread_to_be_had: sanitizers and emulators map memory of their own"); }

int main(void) {
#ifdef __SANITIZE_ADDRESS__
    RUN(limits_of_memory);
#else
    if (getenv("RUNNER")) RUN(limits_of_memory);
    else RUN(no_thread_to_be_had);   /* first: the C library keeps the stacks of threads that ended */
#endif
    RUN(barriers_order_memory);
    RUN(bad_sizes);
    RUN(split_covers);
    RUN(usable_threads);
    RUN(threads_for);
    return tl_test_end();
}
