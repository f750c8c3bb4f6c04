/* SPDX-License-Identifier: MIT
 *
 * counters.c: counters of the CPU (perf_event_open, user space of this process and the threads it starts later) and
 * energy (RAPL through powercap: files that count microjoules up to a limit and begin again). Virtual machines and
 * containers often have neither. */
#include "perf/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's headers are not where every C library looks for headers. */
#if __has_include(<linux/perf_event.h>)
#include <linux/perf_event.h>

static const uint64_t events[TL_N_COUNTS] = {
    [TL_COUNT_CYCLES] = PERF_COUNT_HW_CPU_CYCLES,
    [TL_COUNT_INSTRUCTIONS] = PERF_COUNT_HW_INSTRUCTIONS,
    [TL_COUNT_CACHE_MISSES] = PERF_COUNT_HW_CACHE_MISSES,
};

static int open_event(int i) {
    struct perf_event_attr a;
    memset(&a, 0, sizeof a);
    a.size = sizeof a;
    a.type = PERF_TYPE_HARDWARE;
    a.config = events[i];
    a.inherit = 1;
    a.exclude_kernel = a.exclude_hv = 1;   /* what unprivileged users may count */
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}
#else
static int open_event(int i) {
    (void)i;
    errno = ENOSYS;
    return -1;
}
#endif

/* Count so far, -1 if it cannot be read. More events than the CPU has counters for take turns: scaled up. */
static double read_event(int fd) {
    uint64_t v[3];   /* value, time enabled, time counting */
    if (fd < 0 || read(fd, v, sizeof v) != (ssize_t)sizeof v) return -1;
    if (v[2] == 0) return v[1] == 0 ? (double)v[0] : -1;
    return (double)v[0] * ((double)v[1] / (double)v[2]);
}

static void open_counters(tl_counters *c) {
    for (int i = 0; i < TL_N_COUNTS; i++) {
        c->fd[i] = open_event(i);
        if (c->fd[i] < 0 && !*c->why_no_counts)
            snprintf(c->why_no_counts, sizeof c->why_no_counts, "unavailable: perf_event_open: %s%s", strerror(errno),
                     errno == EACCES || errno == EPERM ? " (see /proc/sys/kernel/perf_event_paranoid)" : "");
    }
}

#define ZONE "%s/sys/class/powercap/intel-rapl:%d/%s"

/* Number in a file of a zone, -1 if there is none. */
static double read_zone(const char *root, int zone, const char *file) {
    char text[64], *end;
    if (!tl_perf_read_line(text, sizeof text, ZONE, root, zone, file)) return -1;
    double v = strtod(text, &end);
    if (end == text || v < 0) {
        errno = EINVAL;
        return -1;
    }
    return v;
}

/* Zones intel-rapl:N named package-*; parts of packages (intel-rapl:N:M) and zones of the whole system are left out. */
static void open_energy(tl_counters *c) {
    int why = ENOENT;
    for (int zone = 0; zone < 2 * TL_MAX_PACKAGES && c->n_packages < TL_MAX_PACKAGES; zone++) {
        char name[64];
        if (!tl_perf_read_line(name, sizeof name, ZONE, c->root, zone, "name") || strncmp(name, "package", 7)) continue;
        double range = read_zone(c->root, zone, "max_energy_range_uj");
        if (range <= 0 || read_zone(c->root, zone, "energy_uj") < 0) {
            why = errno;
            continue;
        }
        c->range[c->n_packages] = range * 1e-6;
        c->package[c->n_packages++] = zone;
    }
    if (c->n_packages == 0)
        snprintf(c->why_no_joules, sizeof c->why_no_joules, "unavailable: /sys/class/powercap/intel-rapl:*: %s",
                 strerror(why));
}

void tl_counters_open(tl_counters *c, const char *root) {
    memset(c, 0, sizeof *c);
    for (int i = 0; i < TL_N_COUNTS; i++) c->fd[i] = -1;
    root = tl_perf_root(root);
    if (strlen(root) >= sizeof c->root) {
        snprintf(c->why_no_joules, sizeof c->why_no_joules, "unavailable: the root folder's name is too long");
        return;
    }
    snprintf(c->root, sizeof c->root, "%s", root);
    if (*root) snprintf(c->why_no_counts, sizeof c->why_no_counts, "unavailable: not this system");
    else open_counters(c);
    open_energy(c);
}

void tl_counters_begin(tl_counters *c) {
    for (int i = 0; i < c->n_packages; i++) c->joules[i] = read_zone(c->root, c->package[i], "energy_uj") * 1e-6;
    for (int i = 0; i < TL_N_COUNTS; i++) c->start[i] = read_event(c->fd[i]);
}

tl_counts tl_counters_end(tl_counters *c) {
    tl_counts r = {.joules = c->n_packages ? 0 : -1};
    for (int i = 0; i < TL_N_COUNTS; i++) {
        double now = read_event(c->fd[i]);
        r.count[i] = now < 0 || c->start[i] < 0 ? -1 : now > c->start[i] ? now - c->start[i] : 0;
    }
    for (int i = 0; i < c->n_packages; i++) {
        double now = read_zone(c->root, c->package[i], "energy_uj") * 1e-6, before = c->joules[i];
        if (now < 0 || before < 0) {
            r.joules = -1;
            break;
        }
        r.joules += now >= before ? now - before : now + c->range[i] - before;
    }
    return r;
}

void tl_counters_close(tl_counters *c) {
    for (int i = 0; i < TL_N_COUNTS; i++) {
        if (c->fd[i] >= 0) close(c->fd[i]);
        c->fd[i] = -1;
    }
}
