/* SPDX-License-Identifier: MIT
 *
 * internal.h: what the files of perf/ share, and what the tests look into. */
#ifndef TL_PERF_INTERNAL_H
#define TL_PERF_INTERNAL_H

#include "perf/perf.h"

/* "/" -> "": folder names can then be put behind it. */
const char *tl_perf_root(const char *root);
/* First line of the file whose name fmt gives, without the line break. 0 if it cannot be read (errno says why). */
int tl_perf_read_line(char *buf, size_t size, const char *fmt, ...) TL_PRINTF(3, 4);

/* Seconds, from the first line of /proc/stat ("cpu  user nice system idle iowait irq softirq steal ...") in ticks of
 * which hz are a second. 0 if the line has another form; steal is 0 on kernels that do not count it. */
int tl_perf_parse_stat(const char *line, double hz, double *busy, double *steal);
/* tl_disturb_end with the state at the end given. */
unsigned tl_perf_judge(const tl_disturb *begin, const tl_disturb *end, int busy_threads, int online);

/* Value of a quantile 0..1 of v[0..n), which is sorted in place; between two values, the share of each. n > 0. */
double tl_perf_quantile(double *v, int n, double q);

#endif
