/* SPDX-License-Identifier: MIT
 *
 * pace.h: how many tokens to draft. Weighs what a longer pass costs, measured as passes happen, against how often drafts
 * are right. It keeps an account of time in plain passes: a gain is paid in, a loss is drawn, every plain token pays in a
 * small part of itself; a draft that could cost more than there is is not made. So all losses together stay below that
 * part and what there was at first. Text never depends on what is decided here. */
#ifndef TL_PACE_H
#define TL_PACE_H

#include "tinyllm.h"

typedef struct tl_pace {
    double pass[TL_DRAFT_MAX + 2];   /* seconds of a pass by its number of rows; 0: not measured yet */
    double draft;                    /* seconds to draft a token; 0: not measured yet */
    double hit;                      /* chance that a drafted token is the one picked */
    double credit;                   /* plain passes' time that may be lost */
    int64_t plain;                   /* plain passes measured */
    int drafts;                      /* passes with drafts since the last plain one */
    int wait, waited;                /* passes until a draft is tried although it seems to be no gain; those since then */
} tl_pace;

tl_pace tl_pace_start(void);
/* Number of tokens to draft now, 0 to most. */
int tl_pace_choose(tl_pace *p, int most);
/* A pass of 1 + drafted rows, of which accepted drafted ones held; seconds of drafting and of the pass itself. */
void tl_pace_note(tl_pace *p, int drafted, int accepted, double drafting, double computing);

#endif
