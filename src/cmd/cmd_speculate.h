/* SPDX-License-Identifier: MIT
 *
 * cmd_speculate.h: the options that draft tokens, for every command that generates text. */
#ifndef TL_CMD_SPECULATE_H
#define TL_CMD_SPECULATE_H

#include "cmd/cmd_model.h"

typedef struct tl_speculate_args {
    const char *source;      /* NULL: off, or "model" where a draft model is given */
    const char *draft;       /* path of the draft model */
    int64_t max;             /* 0: default */
} tl_speculate_args;

extern const char tl_cmd_speculate_help[];

/* Option rows for a tl_speculate_args that is field `field` of struct `type`. */
#define TL_SPECULATE_OPTS(type, field)                                                                                 \
    {"--speculate", "SOURCE", TL_OPT_STR, offsetof(type, field) + offsetof(tl_speculate_args, source), 0, 0,           \
     tl_cmd_speculate_help},                                                                                           \
    {"--draft", "FILE", TL_OPT_STR, offsetof(type, field) + offsetof(tl_speculate_args, draft), 0, 0,                  \
     "the smaller model that guesses; same vocabulary; means --speculate model"},                                      \
    {"--draft-max", "N", TL_OPT_INT, offsetof(type, field) + offsetof(tl_speculate_args, max), 1, TL_DRAFT_MAX,        \
     "guess at most N tokens at once; default 16"}

/* The models and the draft that the options ask for; all NULL: none. */
typedef struct tl_speculation {
    tl_model *model;
    tl_draft *draft;
} tl_speculation;

/* What can be told without a model. */
int tl_cmd_speculate_check(const tl_speculate_args *args, tl_error *err);
/* For texts of model m in session s. Ends with tl_cmd_speculate_close, also after an error. */
int tl_cmd_speculate_open(tl_speculation *p, const tl_speculate_args *args, const tl_model_args *model, const tl_model *m,
                          const tl_session *s, tl_error *err);
void tl_cmd_speculate_close(tl_speculation *p);

#endif
