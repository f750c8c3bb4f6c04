/* SPDX-License-Identifier: MIT
 *
 * time.c: the clock everything is measured with. */
#include <time.h>
#include "base/base.h"

double tl_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void tl_local_time(struct tm *t) {
    time_t now = time(NULL);
    if (!localtime_r(&now, t)) *t = (struct tm){0};
}
