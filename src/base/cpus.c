/* SPDX-License-Identifier: MIT
 *
 * How many threads are worth starting: the affinity mask of this process and the CPU quota of its cgroups (v2 cpu.max
 * and v1 cpu.cfs_quota_us, the smallest on the way from the root to this process). A quota is rounded down: threads
 * beyond it are stopped by the kernel in the middle of a barrier. All files are read below a root folder so that tests
 * can lay out trees of their own. */
#include "base/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads the first line of root/a/b/c into buf; 0 if it cannot be read. */
static int read_line(char *buf, size_t size, const char *root, const char *a, const char *b, const char *c) {
    char path[4096];
    int n = snprintf(path, sizeof path, "%s%s%s%s", root, a, b, c);
    if (n < 0 || (size_t)n >= sizeof path) return 0;
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    char *got = fgets(buf, (int)size, f);
    fclose(f);
    return got != NULL;
}

/* Number of CPUs in a list like "0-3,8"; 0 if malformed. */
static int count_list(const char *s) {
    int n = 0;
    while (*s && *s != '\n') {
        char *end;
        long a = strtol(s, &end, 10), b = a;
        if (end == s || a < 0) return 0;
        if (*end == '-') {
            s = end + 1;
            b = strtol(s, &end, 10);
            if (end == s || b < a || b > 1 << 20) return 0;
        }
        n += (int)(b - a + 1);
        if (*end == ',') end++;
        else if (*end && *end != '\n') return 0;
        s = end;
    }
    return n;
}

static int affinity_count(const char *root) {
    char path[4096], line[4096];
    snprintf(path, sizeof path, "%s/proc/self/status", root);
    FILE *f = fopen(path, "r");
    int n = 0;
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "Cpus_allowed_list:", 18)) n = count_list(line + 18 + strspn(line + 18, " \t"));
    if (f) fclose(f);
    return n;
}

static void take_quota(tl_cpu_count *info, double quota, const char *from, const char *path) {
    if (quota <= 0 || (info->quota > 0 && info->quota <= quota)) return;
    info->quota = quota;
    snprintf(info->quota_from, sizeof info->quota_from, "%s of %.80s", from, *path ? path : "/");
}

/* Walks from path up to the root of the hierarchy mounted at mount. */
static void walk_cgroup(tl_cpu_count *info, const char *root, const char *mount, char *path, int v2) {
    for (;;) {
        char line[128];
        double quota, period = 100000;
        if (v2) {
            if (read_line(line, sizeof line, root, mount, path, "/cpu.max") && sscanf(line, "%lf %lf", &quota, &period) >= 1 &&
                period > 0)
                take_quota(info, quota / period, "cpu.max", path);
        } else if (read_line(line, sizeof line, root, mount, path, "/cpu.cfs_quota_us") && sscanf(line, "%lf", &quota) == 1) {
            if (read_line(line, sizeof line, root, mount, path, "/cpu.cfs_period_us") &&
                (sscanf(line, "%lf", &period) != 1 || period <= 0))
                period = 100000;
            take_quota(info, quota / period, "cpu.cfs_quota_us", path);
        }
        char *slash = strrchr(path, '/');
        if (!slash) return;
        *slash = 0; /* "/a/b" -> "/a" -> "" */
    }
}

static void find_quota(const char *root, tl_cpu_count *info) {
    char name[4096], line[4096];
    snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
    FILE *f = fopen(name, "r");
    if (!f) return;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *path++ = 0;
        if (!strcmp(path, "/")) *path = 0;
        controllers++;
        if (!*controllers) walk_cgroup(info, root, "/sys/fs/cgroup", path, 1);
        else if (strstr(controllers, "cpu") && !strstr(controllers, "cpuset")) {
            /* In a container the path names the host's tree while the mount shows only our own: the walk ends at the
             * mount's root, which is then our group. */
            walk_cgroup(info, root, "/sys/fs/cgroup/cpu", path, 0);
        }
    }
    fclose(f);
}

int tl_usable_threads(const char *root, tl_cpu_count *out) {
    if (!strcmp(root, "/")) root = "";
    tl_cpu_count info;
    memset(&info, 0, sizeof info);
    char line[4096];
    if (read_line(line, sizeof line, root, "/sys/devices/system/cpu/online", "", "")) info.online = count_list(line);
    info.affinity = affinity_count(root);
    find_quota(root, &info);
    int n = info.affinity ? info.affinity : info.online ? info.online : 1;
    if (info.quota > 0 && info.quota < n) n = (int)info.quota;
    if (n < 1) n = 1;
    if (n > TL_MAX_THREADS) n = TL_MAX_THREADS;
    info.threads = n;
    if (out) *out = info;
    return n;
}

int tl_threads_for(int n) {
    int usable = tl_usable_threads("/", NULL), most = usable * TL_OVERSUBSCRIBE;
    if (n == 0) return usable;
    return n > most && n <= TL_MAX_THREADS ? most : n;   /* numbers that no pool takes stay as they are: an error */
}
