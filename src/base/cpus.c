/* SPDX-License-Identifier: MIT
 *
 * How many threads are worth starting: the affinity mask of this process and the CPU quota of its cgroups (v2 cpu.max
 * and v1 cpu.cfs_quota_us, the smallest on the way from the root to this process). A quota is rounded down: threads
 * beyond it are stopped by the kernel in the middle of a barrier. All files are read below a root folder so that tests
 * can lay out trees of their own. */
#include "base/cgroup.h"
#include "base/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int online_count(const char *root) {
    char path[4096], line[4096];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/online", root);
    FILE *f = fopen(path, "r");
    int n = f && fgets(line, sizeof line, f) ? count_list(line) : 0;
    if (f) fclose(f);
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

static void take_quota(void *user, const tl_cgroup *g) {
    tl_cpu_count *info = user;
    const char *file = g->v2 ? "cpu.max" : "cpu.cfs_quota_us";
    char line[128];
    double quota, period = 100000;
    if (!tl_cgroup_line(g, file, line, sizeof line) || sscanf(line, g->v2 ? "%lf %lf" : "%lf", &quota, &period) < 1) return;
    if (!g->v2 && tl_cgroup_line(g, "cpu.cfs_period_us", line, sizeof line)) period = strtod(line, NULL);
    if (period <= 0) period = 100000;
    quota /= period;
    if (quota <= 0 || (info->quota > 0 && info->quota <= quota)) return;
    info->quota = quota;
    snprintf(info->quota_from, sizeof info->quota_from, "%s of %.80s", file, *g->name ? g->name : "/");
}

int tl_usable_threads(const char *root, tl_cpu_count *out) {
    if (!strcmp(root, "/")) root = "";
    tl_cpu_count info;
    memset(&info, 0, sizeof info);
    info.online = online_count(root);
    info.affinity = affinity_count(root);
    tl_cgroup_each(root, "cpu", take_quota, &info);
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
