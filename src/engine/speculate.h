/* SPDX-License-Identifier: MIT
 *
 * speculate.h: drafts, guesses at the tokens that will be picked next. tl_generate computes them in one pass with the
 * token that is known and then picks row by row as if there had been no draft: a row's bits do not depend on the rows
 * beside it, so the first pick that differs from the draft is the token that would have been picked anyway, and what
 * was computed behind it is forgotten. A wrong draft costs time and changes nothing. */
#ifndef TL_SPECULATE_H
#define TL_SPECULATE_H

#include "engine/pace.h"
#include "engine/session.h"

/* A source of drafts. */
typedef struct tl_draft_kind {
    const char *name;
    size_t size;             /* of its struct, whose first member is the tl_draft */
    /* Checks the options and makes what it needs. done frees that, also after an error. */
    int (*init)(tl_draft *d, const tl_draft_options *o, tl_error *err);
    void (*done)(tl_draft *d);
    /* ids [n] is another text, and there is room for cap of them. Everything that grows with cap is allocated here. */
    int (*begin)(tl_draft *d, tl_error *err);
    /* A token was added to ids; NULL: not needed. */
    void (*added)(tl_draft *d);
    /* Writes at most k tokens that may follow ids and returns how many: 0 where it knows none or fails. */
    int (*propose)(tl_draft *d, int32_t *out, int k);
} tl_draft_kind;

#define DRAFT(name, help) extern const tl_draft_kind tl_draft_##name;
#include "engine/drafts.def"
#undef DRAFT

struct tl_draft {
    const tl_draft_kind *kind;
    const tl_model *m;
    const tl_session *s;     /* that is being continued */
    int max;                 /* most tokens at once */
    int32_t *ids;            /* [n] of [cap]: the text so far */
    int n, cap;
    tl_pace pace;
    int eager;               /* 1: always max, for tests */
};

tl_draft *tl_draft_make(const tl_draft_kind *kind, const tl_model *m, const tl_draft_options *o, tl_error *err);
/* Takes over what sequence seq of s holds. Allocates all that continuing it needs, the session's logits included. */
int tl_draft_begin(tl_draft *d, tl_session *s, int seq, tl_error *err);
/* Adds a token to the text. */
void tl_draft_add(tl_draft *d, int32_t id);
/* Adds a token to the text, drafts at most `most` that may follow, and returns how many: 0 where that is no gain. */
int tl_draft_propose(tl_draft *d, int32_t id, int32_t *out, int most);

#endif
