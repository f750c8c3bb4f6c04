/* SPDX-License-Identifier: MIT
 *
 * cmd_sampling.h: the sampling options, for every command that generates text. */
#ifndef TL_CMD_SAMPLING_H
#define TL_CMD_SAMPLING_H

#include <math.h>
#include "cmd/cmd.h"

typedef struct tl_sampling_args {
    double temp, top_p, min_p, repeat_penalty, presence_penalty, frequency_penalty;
    int64_t top_k, repeat_last_n, seed;
    tl_opt_list bias;    /* "ID=BIAS" */
    int ignore_eos;
} tl_sampling_args;

/* The library's defaults, which the help texts below repeat. */
tl_sampling_args tl_cmd_sampling_default(void);

#define TL_SAMPLING_AT(type, field, member) offsetof(type, field) + offsetof(tl_sampling_args, member)
/* Option rows for a tl_sampling_args that is field `field` of struct `type`. */
#define TL_SAMPLING_OPTS(type, field)                                                                                  \
    {"--temp", "X", TL_OPT_NUM, TL_SAMPLING_AT(type, field, temp), 0, 1e9,                                             \
     "temperature; 0: always the likeliest token; default 0.8"},                                                       \
    {"--top-k", "N", TL_OPT_INT, TL_SAMPLING_AT(type, field, top_k), -1, INT32_MAX,                                    \
     "choose among the N likeliest; 0: all; default 40"},                                                              \
    {"--top-p", "X", TL_OPT_NUM, TL_SAMPLING_AT(type, field, top_p), 0, 1,                                             \
     "choose among the fewest that hold X of the probability; 1: all; default 0.95"},                                  \
    {"--min-p", "X", TL_OPT_NUM, TL_SAMPLING_AT(type, field, min_p), 0, 1,                                             \
     "drop those below X times the highest probability; default 0.05"},                                                \
    {"--repeat-penalty", "X", TL_OPT_NUM, TL_SAMPLING_AT(type, field, repeat_penalty), 0.01, 100,                      \
     "make recent tokens less likely by this factor; default 1 (off)"},                                                \
    {"--presence-penalty", "X", TL_OPT_NUM, TL_SAMPLING_AT(type, field, presence_penalty), -100, 100,                  \
     "subtract X from the logit of recent tokens; default 0"},                                                         \
    {"--frequency-penalty", "X", TL_OPT_NUM, TL_SAMPLING_AT(type, field, frequency_penalty), -100, 100,                \
     "subtract X for every time a token occurred; default 0"},                                                         \
    {"--repeat-last-n", "N", TL_OPT_INT, TL_SAMPLING_AT(type, field, repeat_last_n), -1, INT32_MAX,                    \
     "how many tokens back penalties look; -1: all; default 64"},                                                      \
    {"--logit-bias", "ID=X", TL_OPT_LIST, TL_SAMPLING_AT(type, field, bias), 0, 0,                                     \
     "add X to the logit of token ID (-100 bans it); may be repeated"},                                                \
    {"--seed", "N", TL_OPT_INT, TL_SAMPLING_AT(type, field, seed), -1, (double)INT64_MAX,                              \
     "same seed, same text; default -1: a new one, shown in the status"},                                              \
    {"--ignore-eos", NULL, TL_OPT_FLAG, TL_SAMPLING_AT(type, field, ignore_eos), 0, 0,                                 \
     "never end the text: tokens that would are not chosen"}

/* Whether they can be used, as far as it can be told without a model. */
int tl_cmd_sampling_check(const tl_sampling_args *args, tl_error *err);
tl_sampler *tl_cmd_sampler(const tl_sampling_args *args, const tl_model *m, tl_error *err);

#endif
