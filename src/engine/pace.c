/* SPDX-License-Identifier: MIT
 *
 * pace.c: see pace.h. */
#include "engine/pace.h"

#include <math.h>

#define FIRST_HIT 0.8      /* before anything is known: high enough to be tried */
#define TRIED_HIT 0.9      /* what a text may have come to when nothing was drafted for a while */
#define FIRST_CREDIT 0.75  /* plain passes */
#define MOST_CREDIT 8.0    /* earlier gains do not pay for long losses */
#define INCOME 0.005       /* of a plain pass, for each token picked without a draft */
#define MOST_SLOPE 0.5     /* plain passes that a further row is assumed to cost before it is measured */
#define LEAST_SLOPE 0.1
#define HIT_RATE 0.1
enum { FIRST_WAIT = 16, LONGEST_WAIT = 256, FIRST_PLAIN = 2, PLAIN_EVERY = 64 };

tl_pace tl_pace_start(void) { return (tl_pace){.hit = FIRST_HIT, .credit = FIRST_CREDIT, .wait = FIRST_WAIT}; }

/* Other programs only ever make a pass slower: an estimate falls fast and rises slowly, and never by much at once. */
static void measure(double *estimate, double seconds) {
    if (!*estimate) *estimate = seconds;
    else if (seconds < *estimate) *estimate += (seconds - *estimate) / 2;
    else *estimate += ((seconds > *estimate * 2 ? *estimate * 2 : seconds) - *estimate) / 8;
}

/* In plain passes. What has not been measured goes on from the longest shorter pass that has, along the slope up to
 * there. Far beyond it nothing is known: too much. */
static double cost_of(const tl_pace *p, int rows) {
    int known = rows;
    while (!p->pass[known]) known--;
    double cost = p->pass[known] / p->pass[1], slope = known > 1 ? (cost - 1) / (known - 1) : MOST_SLOPE;
    if (slope > MOST_SLOPE) slope = MOST_SLOPE;
    if (slope < LEAST_SLOPE) slope = LEAST_SLOPE;
    return rows <= 2 * known + 1 ? cost + (rows - known) * slope : INFINITY;
}

/* The number of drafted tokens that promises most tokens a second; *gain: how many times as many as without. */
static int best(const tl_pace *p, double hit, int most, double *gain) {
    double tokens = 1, all = 1;   /* that a pass brings */
    int n = 0;
    *gain = 1;
    for (int k = 1; k <= most; k++) {
        double cost = cost_of(p, k + 1) + k * p->draft / p->pass[1];
        if (cost - 1 > p->credit) break;
        all += tokens *= hit;
        if (all / cost <= *gain) continue;
        *gain = all / cost;
        n = k;
    }
    return n;
}

int tl_pace_choose(tl_pace *p, int most) {
    double gain;
    /* Everything is weighed against plain passes: they are measured first, and again. */
    if (p->plain < FIRST_PLAIN || p->drafts >= PLAIN_EVERY) return 0;
    int n = best(p, p->hit, most, &gain);
    if (n) return n;
    if (p->waited++ < p->wait) return 0;
    return best(p, TRIED_HIT, most, &gain);
}

void tl_pace_note(tl_pace *p, int drafted, int accepted, double drafting, double computing) {
    double *pass = &p->pass[drafted + 1];
    measure(pass, computing);
    for (int i = drafted; i > 0; i--)
        if (p->pass[i] > *pass) p->pass[i] = *pass;   /* fewer rows take no longer */
    if (!drafted) {
        p->plain++;
        p->drafts = 0;
        p->credit += INCOME;
        if (drafting > 0 && p->pass[1] > 0) p->credit -= drafting / p->pass[1];   /* nothing came of it */
    } else {
        double charged = computing < 2 * *pass ? computing : 2 * *pass;
        measure(&p->draft, drafting / drafted);
        p->credit += 1 + accepted - (charged + drafting) / p->pass[1];
        for (int i = 0; i < accepted; i++) p->hit += (1 - p->hit) * HIT_RATE;
        if (accepted < drafted) p->hit -= p->hit * HIT_RATE;
        p->drafts++;
        p->waited = 0;
        p->wait = accepted == drafted ? FIRST_WAIT : p->wait < LONGEST_WAIT ? p->wait * 2 : LONGEST_WAIT;
    }
    if (p->credit > MOST_CREDIT) p->credit = MOST_CREDIT;
}
