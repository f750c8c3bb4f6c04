/* SPDX-License-Identifier: MIT
 *
 * cmd_chat.h: what the files of the command chat share. cmd_chat.c reads lines; a line that begins with / is a row of
 * chat_commands.def (cmd_chat_commands.c), any other a turn (cmd_chat_turn.c): the whole conversation (cmd_chat_talk.c)
 * is rendered and given to the session, which computes what is new. So nothing here knows of the cache. */
#ifndef TL_CMD_CHAT_H
#define TL_CMD_CHAT_H

#include "cmd/cmd_constrain.h"
#include "cmd/cmd_model.h"
#include "cmd/cmd_sampling.h"
#include "cmd/cmd_speculate.h"
#include "cmd/cmd_template_opts.h"
#include "cmd/line_edit.h"
#include "cmd/term.h"

/* ---- the conversation --------------------------------------------------------------------------------------------- */

/* A message in the form of the OpenAI API. It keeps all members that its file gave it; the template gets them, too. */
typedef struct chat_message {
    const char *role;         /* a constant; NULL: there is no message */
    tl_buf json;              /* the object */
    tl_buf plain;             /* the same with its content as a text, where it is none: null, or a list of parts; else empty */
} chat_message;

typedef struct chat_talk {
    chat_message system;      /* which stands before the others, or none */
    chat_message *m;          /* [n] */
    int n;
    char *tools;              /* a JSON array; NULL: none */
    tl_buf others;            /* further members of the file, as ", \"model\": ..." */
} chat_talk;

int tl_chat_talk_add(chat_talk *t, const char *role, const char *text, size_t n, tl_error *err);
/* Forgets messages n and later; the first n. */
void tl_chat_talk_cut(chat_talk *t, int n);
void tl_chat_talk_drop(chat_talk *t, int n);
/* The last message of the user: where the last turn begins; -1: there is none. */
int tl_chat_talk_last_turn(const chat_talk *t);
/* Where a turn begins: 0 is the first one, which what stands before its question belongs to; -1: there is none. */
int tl_chat_talk_turn(const chat_talk *t, int turn);
/* An empty text: no system message. */
int tl_chat_talk_set_system(chat_talk *t, const char *text, tl_error *err);
/* The content of a message, terminated; parts of one are lines. */
int tl_chat_message_text(const chat_message *m, tl_buf *out, tl_error *err);
/* Appends what a template gets: a JSON array of the system message and of messages from, from + 1, ... */
void tl_chat_talk_json(const chat_talk *t, int from, tl_buf *out);
/* As JSON: {"messages": [{"role": ..., "content": ...}, ...], "tools": [...]}, which is what chat templates take too. */
int tl_chat_talk_save(const chat_talk *t, const char *path, tl_error *err);
/* Reads that, or the array of messages alone, into a conversation that is empty, or after an error to be freed. */
int tl_chat_talk_load(chat_talk *t, const char *path, tl_error *err);
void tl_chat_talk_free(chat_talk *t);

/* ---- parts of an answer ------------------------------------------------------------------------------------------- */

enum { CHAT_TEXT, CHAT_THINK, CHAT_TOOL };

/* Tells the parts of an answer that comes in pieces from each other, by the marks of chat_marks.def. */
typedef struct chat_parts {
    int kind;                 /* of the text that comes next; set it to begin elsewhere than in CHAT_TEXT */
    int begun;                /* there was something but blanks */
    tl_buf held;              /* what may be the beginning of a mark */
} chat_parts;
/* Marks are parts of what they enclose; is_mark tells them from it. */
typedef void chat_part_fn(void *user, int kind, int is_mark, const char *text, size_t n);
void tl_chat_parts_push(chat_parts *p, const char *text, size_t n, chat_part_fn *fn, void *user);
void tl_chat_parts_end(chat_parts *p, chat_part_fn *fn, void *user);
/* Where text [n] ends with an opening mark and blanks, the mark's beginning, and its kind to *kind; else NULL. */
const char *tl_chat_parts_open(const char *text, size_t n, int *kind);

/* ---- the command -------------------------------------------------------------------------------------------------- */

typedef struct chat_args {
    tl_model_args model;
    tl_sampling_args sampling;
    tl_constrain_args constrain;
    tl_speculate_args speculate;
    tl_template_args form;
    const char *system, *overflow, *cache;
    int64_t n, ctx;
    tl_opt_list stop;
    int quiet, json, no_commands, history;
} chat_args;

typedef struct chat {
    chat_args a;
    tl_model *m;
    tl_session *s;
    chat_talk talk;
    tl_buf gbnf;              /* what each answer must follow; empty: anything */
    tl_grammar *grammar;
    tl_speculation spec;      /* its session follows the conversation, too: only what is new is read */
    char *template_text;      /* of --chat-template; NULL: the file's own */
    int32_t end;              /* the token that the template puts behind an answer; -1: none */
    tl_line_reader lines;
    tl_term out;
    int colour;               /* dim is shown as dim */
    tl_buf prefill;           /* stands in the next line that is edited */
    tl_buf set;               /* words of /set, 0-terminated, which the options point into: never grows */
    int64_t seed;             /* that of the options, or the one that was drawn; -1: none yet */
    int retries;              /* of the last question */
    int failed;               /* something was refused */
    /* of the last answer, and of all */
    int n_prompt, n_kept, n_answers, dropped;
    int64_t answer_seed, all_kept, all_computed, all_tokens, all_drafted, all_accepted;
    double prefill_seconds;
    tl_generator_stats stats;
    tl_buf thinking, text, tools;   /* parts of the answer; tools: texts of calls, a 0 byte behind each */
    int n_tools;
} chat;

enum { CHAT_NEXT_LINE, CHAT_ANSWER, CHAT_QUIT };   /* what follows a command; or a TL_E_* code */

/* Opening is done: whether the template makes something of a conversation, and how its answers end. */
int tl_chat_turn_check(chat *c, tl_error *err);
/* Whether the template takes the conversation as it is. */
int tl_chat_turn_try(const chat *c, tl_error *err);
/* Answers the conversation's last message and adds the answer. If there is none, takes the whole turn's question back, or
 * what came last of it. Returns TL_OK or an error; those of TL_E_FORMAT, TL_E_CONTEXT, TL_E_UNSUPPORTED concern this turn only. */
int tl_chat_turn(chat *c, tl_error *err);
/* Whether the options can be used, as far as it can be told without a model. */
int tl_chat_check_args(const chat_args *a, tl_error *err);
/* line: without its slash. */
int tl_chat_command(chat *c, const char *line, tl_error *err);

#endif
