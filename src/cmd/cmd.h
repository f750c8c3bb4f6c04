/* SPDX-License-Identifier: MIT
 *
 * cmd.h: a command of the program. One file cmd_<name>.c that defines tl_cmd_<name>, one row in cmd.def.
 * Exit codes: 0 done, 1 failed (one line "tinyllm: ..." on stderr), 2 wrong usage. stdout carries the product only. */
#ifndef TL_CMD_H
#define TL_CMD_H

#include "base/base.h"
#include "base/opts.h"

typedef struct tl_cmd {
    const char *name, *summary;   /* summary: one line, no period */
    const char *usage;            /* after "tinyllm name": "MODEL [options]" */
    const char *examples;         /* lines "  tinyllm ...", then paragraphs; each ends with a line break */
    const tl_opt *opts;
    int (*run)(const struct tl_cmd *self, int argc, char **argv);   /* argv without program and command name */
} tl_cmd;

/* Handles -h/--help and errors. Returns -1 to go on, else the exit code to return (0 after help, 2 after an error). */
int tl_cmd_parse(const tl_cmd *self, void *args, int argc, char **argv, const char **pos, int min_pos, int max_pos);
/* The whole help text of a command, as wide as the terminal. */
void tl_cmd_help(const tl_cmd *self, FILE *f);
/* Prints "tinyllm: text" for err and returns its exit code (2 for TL_E_ARGUMENT, else 1). */
int tl_cmd_fail(const tl_error *err);
/* Sends what was printed on its way. The first failure is remembered, for main to report: -1 from then on. */
int tl_cmd_flush(void);
/* Text of that failure, NULL: none. */
const char *tl_cmd_flush_fault(void);
/* Status line on stderr: "# ..." */
void tl_status(const char *fmt, ...) TL_PRINTF(1, 2);
/* Whether the file is there and begins as a GGUF file does. */
int tl_cmd_is_model(const char *path);
/* A speed, 0 where nothing was measured. */
static inline double tl_cmd_rate(double n, double seconds) { return seconds > 0 ? n / seconds : 0; }

#define TL_CMD(name) extern const tl_cmd tl_cmd_##name;
#include "cmd.def"
#undef TL_CMD

#endif
