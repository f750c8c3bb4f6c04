/* SPDX-License-Identifier: MIT
 *
 * disturb.c: whether a sample was measured on a quiet machine, and what is left of several samples. */
#include "perf/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

int tl_perf_parse_stat(const char *line, double hz, double *busy, double *steal) {
    double v[8] = {0};   /* user nice system idle iowait irq softirq steal; time of guests is part of user */
    int n = sscanf(line, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7);
    if (n < 4 || hz <= 0) return 0;
    *busy = (v[0] + v[1] + v[2] + v[5] + v[6]) / hz;
    *steal = v[7] / hz;
    return 1;
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void read_state(tl_disturb *d) {
    char line[256];
    struct rusage use;
    if (!tl_perf_read_line(line, sizeof line, "/proc/stat") ||
        !tl_perf_parse_stat(line, (double)sysconf(_SC_CLK_TCK), &d->busy, &d->steal))
        d->busy = d->steal = -1;
    d->switches = getrusage(RUSAGE_SELF, &use) == 0 ? use.ru_nivcsw : 0;
    d->cpu = cpu_seconds();
}

/* The clock is read next to the work: last at the begin, first at the end. */
void tl_disturb_begin(tl_disturb *d) {
    read_state(d);
    d->wall = tl_now();
}

unsigned tl_disturb_end(const tl_disturb *d, int busy_threads) {
    tl_disturb end;
    end.wall = tl_now();
    read_state(&end);
    return tl_perf_judge(d, &end, busy_threads, (int)sysconf(_SC_NPROCESSORS_ONLN));
}

unsigned tl_perf_judge(const tl_disturb *begin, const tl_disturb *end, int busy_threads, int online) {
    double wall = end->wall - begin->wall, cpu = end->cpu - begin->cpu, all = wall * (online > 0 ? online : 1);
    int threads = busy_threads > 0 ? busy_threads : 1;
    unsigned bits = 0;
    if (begin->busy >= 0 && end->busy >= 0) {
        double others = end->busy - begin->busy - cpu;
        if (end->steal - begin->steal > 0.01 * all) bits |= TL_DISTURB_STEAL;
        if (others > 0.05 * all && others > 0.0199) bits |= TL_DISTURB_OTHERS;   /* two ticks: one is rounding */
    }
    if ((double)(end->switches - begin->switches) > 10 * wall * threads) bits |= TL_DISTURB_SWITCHED;
    if (busy_threads > 0 && cpu < 0.9 * wall * busy_threads) bits |= TL_DISTURB_WAITED;
    return bits;
}

const char *tl_disturb_text(unsigned reasons, char *buf, size_t size) {
    static const char *const words[] = {"steal", "displaced", "waited", "other load"};
    size_t n = 0;
    if (size) *buf = 0;
    for (int i = 0; i < 4; i++)
        if (reasons >> i & 1 && n < size) n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "", words[i]);
    return buf;
}

int tl_samples_more(const tl_samples *s) {
    int room = s->n_quiet < TL_MAX_SAMPLES && s->n_bad < TL_MAX_SAMPLES;
    return room && s->n_quiet < s->want && s->n_quiet + s->n_bad < s->tries;
}

void tl_samples_add(tl_samples *s, double value, unsigned reasons) {
    if (reasons && s->n_bad < TL_MAX_SAMPLES) s->bad[s->n_bad++] = value;
    else if (!reasons && s->n_quiet < TL_MAX_SAMPLES) s->quiet[s->n_quiet++] = value;
    s->reasons |= reasons;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double tl_perf_quantile(double *v, int n, double q) {
    qsort(v, (size_t)n, sizeof *v, ascending);
    double at = q * (n - 1);
    int i = (int)at;
    return i + 1 < n ? v[i] + (at - i) * (v[i + 1] - v[i]) : v[n - 1];
}

tl_stat tl_samples_stat(const tl_samples *s) {
    tl_stat r = {.median = NAN, .min = NAN, .max = NAN, .spread = NAN, .discarded = s->n_bad, .reasons = s->reasons};
    double v[TL_MAX_SAMPLES];
    r.disturbed = s->n_quiet == 0 && s->n_bad > 0;
    r.n = r.disturbed ? s->n_bad : s->n_quiet;
    if (r.disturbed) r.discarded = 0;   /* none was left out */
    if (r.n == 0) return r;
    memcpy(v, r.disturbed ? s->bad : s->quiet, (size_t)r.n * sizeof *v);
    r.median = tl_perf_quantile(v, r.n, 0.5);
    r.min = v[0];
    r.max = v[r.n - 1];
    if (r.median != 0) r.spread = (tl_perf_quantile(v, r.n, 0.75) - tl_perf_quantile(v, r.n, 0.25)) / fabs(r.median);
    return r;
}

double tl_stat_rate(const tl_stat *s) { return s->disturbed ? s->max : s->median; }
double tl_stat_time(const tl_stat *s) { return s->disturbed ? s->min : s->median; }

const char *tl_stat_mark(const tl_stat *s) { return s->disturbed ? "*" : s->spread > 0.1 ? "~" : ""; }
const char tl_stat_legend[] = "* no sample was quiet: the numbers are of little worth; ~ the quartiles of the samples are more than a tenth "
                              "apart";

const char *tl_stat_note(const tl_stat *s, char *buf, size_t size) {
    char why[64];
    snprintf(buf, size, "%s%s", s->disturbed ? "disturbed: " : "",
             s->disturbed ? tl_disturb_text(s->reasons, why, sizeof why) : "");
    return buf;
}
