/* SPDX-License-Identifier: MIT
 *
 * cmd_sampling.h: the sampling options, for every command that generates text. */
#ifndef TL_CMD_SAMPLING_H
#define TL_CMD_SAMPLING_H

#include <math.h>
#include "cmd/cmd.h"

typedef struct tl_sampling_args {
    double temp, top_p, min_p, repeat_penalty, presence_penalty, frequency_penalty;
    double typical, top_n_sigma, xtc_probability, xtc_threshold, dry_multiplier, dry_base, mirostat_lr, mirostat_ent;
    double dynatemp_range, dynatemp_exp;
    int64_t top_k, repeat_last_n, seed, dry_allowed_length, dry_penalty_last_n, mirostat;
    const char *samplers;
    tl_opt_list bias;    /* "ID=BIAS" */
    tl_opt_list dry_breakers;
    int ignore_eos;
} tl_sampling_args;

/* The library's defaults, which the help texts below repeat. */
tl_sampling_args tl_cmd_sampling_default(void);

/* The help of --samplers, with the names of all steps. */
extern const char tl_sampling_order_help[];

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
    {"--typical", "X", TL_OPT_NUM, TL_SAMPLING_AT(type, field, typical), 0, 1,                                         \
     "choose among the fewest of nearly typical surprise that hold X of the probability; default 1 (off)"},            \
    {"--top-nsigma", "X", TL_OPT_NUM, TL_SAMPLING_AT(type, field, top_n_sigma), -1, 1e9,                               \
     "drop those more than X standard deviations below the highest logit; default 0 (off)"},                           \
    {"--xtc-probability", "X", TL_OPT_NUM, TL_SAMPLING_AT(type, field, xtc_probability), 0, 1,                         \
     "with probability X, drop the top choices but the least likely of them; default 0 (off)"},                        \
    {"--xtc-threshold", "X", TL_OPT_NUM, TL_SAMPLING_AT(type, field, xtc_threshold), 0, 1,                             \
     "from this probability up a token is a top choice; default 0.1"},                                                 \
    {"--dry-multiplier", "X", TL_OPT_NUM, TL_SAMPLING_AT(type, field, dry_multiplier), 0, 1e9,                         \
     "make what would go on with a repetition less likely by X * base^(its length - allowed); default 0 (off)"},       \
    {"--dry-base", "X", TL_OPT_NUM, TL_SAMPLING_AT(type, field, dry_base), 1, 1e9,                                     \
     "how fast that grows with the length; default 1.75"},                                                             \
    {"--dry-allowed-length", "N", TL_OPT_INT, TL_SAMPLING_AT(type, field, dry_allowed_length), 0, INT32_MAX,           \
     "repetitions shorter than N tokens are free; default 2"},                                                         \
    {"--dry-penalty-last-n", "N", TL_OPT_INT, TL_SAMPLING_AT(type, field, dry_penalty_last_n), -1, 1 << 20,            \
     "how many tokens back it looks; -1: all; default -1"},                                                            \
    {"--dry-sequence-breaker", "TEXT", TL_OPT_LIST, TL_SAMPLING_AT(type, field, dry_breakers), 0, 0,                   \
     "no repetition reaches over TEXT; may be repeated; default: line break, :, \", *; none: no such text"},           \
    {"--mirostat", "N", TL_OPT_INT, TL_SAMPLING_AT(type, field, mirostat), 0, 2,                                       \
     "2: keep the surprise of tokens near a target (Mirostat 2), without truncations; default 0 (off)"},               \
    {"--mirostat-lr", "X", TL_OPT_NUM, TL_SAMPLING_AT(type, field, mirostat_lr), 0, 1e9,                               \
     "how fast it learns; default 0.1"},                                                                               \
    {"--mirostat-ent", "X", TL_OPT_NUM, TL_SAMPLING_AT(type, field, mirostat_ent), 0, 1e9,                             \
     "the target, in bits; default 5"},                                                                                \
    {"--dynatemp-range", "X", TL_OPT_NUM, TL_SAMPLING_AT(type, field, dynatemp_range), 0, 1e9,                         \
     "let the entropy choose the temperature, within X of --temp; default 0 (off)"},                                   \
    {"--dynatemp-exp", "X", TL_OPT_NUM, TL_SAMPLING_AT(type, field, dynatemp_exp), 0, 1e9,                             \
     "exponent of the part of the largest entropy; default 1"},                                                        \
    {"--samplers", "LIST", TL_OPT_STR, TL_SAMPLING_AT(type, field, samplers), 0, 0,                                    \
     tl_sampling_order_help},                                                                                          \
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
