/* SPDX-License-Identifier: MIT
 *
 * opts.h: command-line options as a table. One row gives parsing, range check, help and documentation. */
#ifndef TL_OPTS_H
#define TL_OPTS_H

#include "base/base.h"

enum tl_opt_kind {
    TL_OPT_FLAG,    /* int: set to 1 */
    TL_OPT_INT,     /* int64_t */
    TL_OPT_NUM,     /* double */
    TL_OPT_STR,     /* const char * (points into argv) */
    TL_OPT_LIST,    /* tl_opt_list: may be repeated */
};

typedef struct tl_opt {
    const char *names;       /* "-t,--threads" */
    const char *arg;         /* shown in help: "N"; NULL for flags */
    enum tl_opt_kind kind;
    size_t at;               /* offsetof the field in the command's argument struct */
    double lo, hi;           /* inclusive range of TL_OPT_INT and TL_OPT_NUM; lo == hi: any */
    const char *help;        /* one line; says the default */
} tl_opt;

/* Words of other programs. same: an option here that means the same, and is taken for it where the table has it, or
 * TL_OPT_WORD: its value is the first of the words; else hint: what to do instead. Ends with names == NULL. */
#define TL_OPT_WORD "WORD"
typedef struct tl_opt_other { const char *names, *same, *hint; } tl_opt_other;

enum { TL_OPT_LIST_MAX = 320 };
typedef struct tl_opt_list { const char *v[TL_OPT_LIST_MAX]; int n; } tl_opt_list;

/* Parses argv[0..argc) into *into (which holds the defaults already). Words that are no option go to pos[0..max_pos),
 * their number to *n_pos. Forms: --name value, --name=value, -n value, -n5 (numbers); "--" ends the options; "-" is a word.
 * A negative number after an option that takes one is its value. Table ends with names == NULL.
 * Errors (TL_E_ARGUMENT): unknown option (with the nearest one), missing or malformed value, out of range, too many
 * words; each names the option and what it wants. others may be NULL. */
int tl_opts_parse(const tl_opt *table, const tl_opt_other *others, void *into, int argc, char **argv, const char **pos, int max_pos,
                  int *n_pos, tl_error *err);
/* The options part of a help text, aligned; ends with -h,--help, which the caller handles. */
void tl_opts_help(const tl_opt *table, tl_buf *out);

#endif
