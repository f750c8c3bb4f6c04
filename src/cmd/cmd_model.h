/* SPDX-License-Identifier: MIT
 *
 * cmd_model.h: what commands that run a model share: its options, opening it, interrupts, progress, parsing ids. */
#ifndef TL_CMD_MODEL_H
#define TL_CMD_MODEL_H

#include "base/pool.h"
#include "cmd/cmd.h"

typedef struct tl_model_args {
    int64_t threads;     /* 0: as many as are useful */
    const char *cpu;     /* NULL: $TINYLLM_CPU, else the best */
    const char *kv;      /* name of a cache type; NULL: f16 */
    int no_pack;
} tl_model_args;

#define TL_NO_PACK_HELP \
    "share the file's pages with other processes; same results, decoding is 2 to 5 times slower"

extern const char tl_cmd_kv_help[];

/* Option rows for a tl_model_args that is field `field` of struct `type`. */
#define TL_MODEL_OPTS(type, field)                                                                                     \
    {"-t,--threads", "N", TL_OPT_INT, offsetof(type, field) + offsetof(tl_model_args, threads), 1, TL_MAX_THREADS,     \
     "threads; default: the CPUs this process may use"},                                                               \
    {"--cpu", "LEVEL", TL_OPT_STR, offsetof(type, field) + offsetof(tl_model_args, cpu), 0, 0,                         \
     "highest CPU level to use (tinyllm cpu lists them); default: $TINYLLM_CPU, else the best"},                       \
    {"--kv", "TYPE", TL_OPT_STR, offsetof(type, field) + offsetof(tl_model_args, kv), 0, 0, tl_cmd_kv_help},           \
    {"--no-pack", NULL, TL_OPT_FLAG, offsetof(type, field) + offsetof(tl_model_args, no_pack), 0, 0, TL_NO_PACK_HELP}

/* Index into tl_levels of the level to use: that of --cpu, or (NULL) of $TINYLLM_CPU, or (none, empty) the best.
 * Negative with an error that says which of them is wrong. *why (may be NULL): where the choice came from. */
int tl_cmd_level(const char *cpu, const char **why, tl_error *err);
/* TL_KV_TYPE_* of args->kv, or TL_E_ARGUMENT. */
int tl_cmd_kv(const tl_model_args *args, tl_error *err);
tl_model *tl_cmd_open(const tl_model_args *args, const char *path, int exact, tl_error *err);
/* n_ctx and n_batch as in tl_session_options; the rest from args. Warns of doubts about the file, the threads and
 * the context. */
tl_session *tl_cmd_session(const tl_model_args *args, const tl_model *m, int n_ctx, int n_batch, tl_error *err);
/* The number of threads that will be started where n are asked for; warns if they are more than CPUs. */
int tl_cmd_threads(int n);

/* From now on the first Ctrl-C only sets a mark, which tl_cmd_interrupted tells; the second one does what it did before:
 * it ends the program. tl_cmd_release_interrupt hands the signal back to whoever had it; catching it again clears the
 * mark. */
void tl_cmd_catch_interrupt(void);
void tl_cmd_release_interrupt(void);
int tl_cmd_interrupted(void);

/* Ids "1 2,3" as an array the caller frees with tl_free; *n their number. */
int32_t *tl_cmd_parse_ids(const char *text, int *n, tl_error *err);
/* TL_E_ARGUMENT if one of them is no token. */
int tl_cmd_check_ids(const int32_t *ids, int n, int n_vocab, tl_error *err);

#endif
