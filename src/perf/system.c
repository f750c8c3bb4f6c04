/* SPDX-License-Identifier: MIT
 *
 * system.c: what the system says about itself: caches, memory, huge pages. All files are read below a root folder so
 * that tests can lay out trees of their own; what is missing there is 0 or "unknown". */
#include "base/cgroup.h"
#include "perf/internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *tl_perf_root(const char *root) { return strcmp(root, "/") ? root : ""; }

int tl_perf_read_line(char *buf, size_t size, const char *fmt, ...) {
    char path[1024];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(path, sizeof path, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return 0;
    }
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    errno = 0;
    char *got = fgets(buf, (int)size, f);
    int why = errno ? errno : ENODATA;
    fclose(f);
    if (!got) errno = why;
    else buf[strcspn(buf, "\n")] = 0;
    return got != NULL;
}

/* "2048K", "32M", "8192" -> bytes; 0 if malformed. */
static int64_t parse_size(const char *s) {
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (end == s || (*end && !shift) || (shift && end[1]) || errno || v < 0 || v > (1ll << 33)) return 0;
    return (int64_t)v << shift;
}

static void read_caches(const char *root, tl_system *s) {
    int llc_level = 0;
    for (int i = 0; i < 16; i++) {
        char type[32], text[32];
        const char *dir = "/sys/devices/system/cpu/cpu0/cache/index";
        if (!tl_perf_read_line(type, sizeof type, "%s%s%d/type", root, dir, i)) break;
        if (strcmp(type, "Data") && strcmp(type, "Unified")) continue;
        if (!tl_perf_read_line(text, sizeof text, "%s%s%d/level", root, dir, i)) continue;
        int level = atoi(text);
        if (!tl_perf_read_line(text, sizeof text, "%s%s%d/size", root, dir, i)) continue;
        int64_t bytes = parse_size(text);
        if (level == 1) s->l1d = bytes;
        if (level == 2) s->l2 = bytes;
        if (level >= llc_level && bytes) {
            llc_level = level;
            s->llc = bytes;
        }
    }
}

/* A number of bytes in a file of a group; -1 where it has none ("max", no such file). */
static int64_t group_bytes(const tl_cgroup *g, const char *file) {
    char line[64];
    long long v;
    return tl_cgroup_line(g, file, line, sizeof line) && sscanf(line, "%lld", &v) == 1 ? v : -1;
}

/* Bytes that a group holds of files on disk: they are given up when it needs room. */
static int64_t group_cache(const tl_cgroup *g) {
    char path[1024], line[256];
    long long v, sum = 0;
    int n = snprintf(path, sizeof path, "%s/memory.stat", g->dir);
    FILE *f = n > 0 && (size_t)n < sizeof path ? fopen(path, "r") : NULL;
    while (f && fgets(line, sizeof line, f)) {
        const char *key = line;
        if (!g->v2 && !strncmp(key, "total_", 6)) key += 6;   /* with the groups below it */
        else if (!g->v2) continue;
        if (sscanf(key, "active_file %lld", &v) == 1 || sscanf(key, "inactive_file %lld", &v) == 1) sum += v;
    }
    if (f) fclose(f);
    return sum;
}

static void take_limit(void *user, const tl_cgroup *g) {
    tl_system *s = user;
    int64_t limit = group_bytes(g, g->v2 ? "memory.max" : "memory.limit_in_bytes");
    int64_t used = group_bytes(g, g->v2 ? "memory.current" : "memory.usage_in_bytes");
    if (limit < 0 || used < 0) return;
    int64_t left = limit - used;
    if (left < s->mem_available) left += group_cache(g);
    if (left < 1) left = 1;   /* 0 would be unknown */
    if (left < s->mem_available) s->mem_available = left;
}

/* ulimit -v: what is left of the addresses that this process may have. */
static void take_own_limit(const char *root, tl_system *s) {
    char path[1024], line[256];
    long long limit = -1, pages;
    snprintf(path, sizeof path, "%s/proc/self/limits", root);
    FILE *f = fopen(path, "r");
    while (f && limit < 0 && fgets(line, sizeof line, f))
        if (sscanf(line, "Max address space %lld", &limit) != 1) limit = -1;   /* "unlimited" */
    if (f) fclose(f);
    if (limit < 0 || !tl_perf_read_line(line, sizeof line, "%s/proc/self/statm", root) || sscanf(line, "%lld", &pages) != 1) return;
    const int64_t left = limit - pages * sysconf(_SC_PAGESIZE);
    if (left < s->mem_available) s->mem_available = left < 1 ? 1 : left;
}

static void read_memory(const char *root, tl_system *s) {
    char path[1024], line[256];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    FILE *f = fopen(path, "r");
    long long kb;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "MemTotal: %lld kB", &kb) == 1) s->mem_total = kb * 1024;
        if (sscanf(line, "MemAvailable: %lld kB", &kb) == 1) s->mem_available = kb * 1024;
    }
    if (f) fclose(f);
    if (!s->mem_available) return;
    tl_cgroup_each(root, "memory", take_limit, s);
    take_own_limit(root, s);
}

/* "always [madvise] never": the one in brackets. */
static void read_huge_pages(const char *root, tl_system *s) {
    char line[128];
    snprintf(s->huge_pages, sizeof s->huge_pages, "unknown");
    if (!tl_perf_read_line(line, sizeof line, "%s/sys/kernel/mm/transparent_hugepage/enabled", root)) return;
    char *open = strchr(line, '['), *close = open ? strchr(open, ']') : NULL;
    if (close) snprintf(s->huge_pages, sizeof s->huge_pages, "%.*s", (int)(close - open - 1), open + 1);
}

int64_t tl_rss_peak(void) {
    char line[256];
    long long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lld kB", &kb) == 1) break;
    if (f) fclose(f);
    return kb * 1024;
}

void tl_rss_restart(void) {
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f) return;
    fwrite("5", 1, 1, f);
    fclose(f);
}

void tl_system_read(const char *root, tl_system *s) {
    memset(s, 0, sizeof *s);
    tl_cpu_name(s->cpu, sizeof s->cpu);
    tl_usable_threads(root, &s->count);
    root = tl_perf_root(root);
    read_caches(root, s);
    read_memory(root, s);
    read_huge_pages(root, s);
}
