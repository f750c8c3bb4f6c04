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

enum { CHAT_JSON_DEPTH = 64 };   /* of lists and dicts in a message or a call */

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
/* The same of an object with that role; takes json, also after an error. */
int tl_chat_talk_add_json(chat_talk *t, const char *role, tl_buf json, tl_error *err);
/* The result of the next tool that the last answer calls, with the call's id and name if it has them. */
int tl_chat_talk_add_result(chat_talk *t, const char *text, size_t n, tl_error *err);
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

/* Which marks of chat_marks.def are control tokens of a vocabulary. Zero bytes: none. */
typedef struct chat_known {
    uint32_t control;         /* a bit for each CHAT_MARK, then for each CHAT_FIELD */
    int channels;             /* answers are messages with headers */
} chat_known;
chat_known tl_chat_known(const tl_model *m);

/* Tells the parts of an answer that comes in pieces from each other, by the marks of chat_marks.def. Starts with zero bytes
 * and tl_chat_parts_begin. */
typedef struct chat_parts {
    chat_known known;
    int kind;                 /* of the text that comes next */
    int row;                  /* of CHAT_MARK that it was begun with */
    int begun;                /* there was something but blanks */
    int header;               /* the text belongs to a message's header: 1: as far as is known, 2: names of it came */
    int by_token;             /* a control token has begun a part */
    tl_buf held;              /* a header, or what may be the beginning of a mark */
} chat_parts;
/* Marks are parts of what they enclose or divide; mark tells them from it. A part that ends without a mark has an empty one. */
enum { CHAT_PLAIN, CHAT_OPENS, CHAT_CLOSES, CHAT_NAME, CHAT_ID, CHAT_ARGUMENTS, CHAT_NOTHING };   /* from CHAT_NAME on: a field of
                                                                                                      a call begins */
typedef void chat_part_fn(void *user, int kind, int mark, const char *text, size_t n);
/* prompt [n]: what the answer follows. It may end with an opening mark and blanks: returns where, else NULL. */
const char *tl_chat_parts_begin(chat_parts *p, chat_known known, const char *prompt, size_t n);
void tl_chat_parts_push(chat_parts *p, const char *text, size_t n, chat_part_fn *fn, void *user);
/* A control token, by its name. */
void tl_chat_parts_token(chat_parts *p, const char *name, chat_part_fn *fn, void *user);
/* What ends the thought that the text is in, as names of control tokens where it is one. */
const char *tl_chat_parts_closing(const chat_parts *p);
/* Whether a template has a thought's opening mark, or the vocabulary as a control token; whether a prompt ends with a
 * closing one, behind which no thought begins. */
int tl_chat_parts_think(chat_known known, const char *chat_template);
int tl_chat_parts_closed(const char *prompt, size_t n);
/* is_whole: the answer was not cut. */
void tl_chat_parts_end(chat_parts *p, int is_whole, chat_part_fn *fn, void *user);

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

/* Where a field of a call begins in its text: CHAT_NAME, CHAT_ID, ... */
typedef struct chat_field { size_t at; int field; } chat_field;

typedef struct chat {
    chat_args a;
    tl_model *m;
    tl_session *s;
    chat_talk talk;
    tl_buf gbnf;              /* what each answer must follow; empty: anything */
    tl_grammar *grammar;
    tl_speculation spec;      /* its session follows the conversation, too: only what is new is read */
    char *template_text;      /* of --chat-template; NULL: the file's own */
    tl_buf variables;         /* that it gets besides messages and tools: a JSON object with a terminator; empty: none */
    int32_t end;              /* the token that the template puts behind an answer; -1: none */
    tl_line_reader lines;
    tl_term out;
    int colour;               /* dim is shown as dim */
    tl_buf prefill;           /* stands in the next line that is edited: the last question */
    int replaces;             /* the line is that question, edited */
    tl_buf set;               /* words of /set, 0-terminated, which the options point into: never grows */
    int64_t seed;             /* that of the options, or the one that was drawn; -1: none yet */
    int retries;              /* of the last question */
    int failed;               /* something was refused */
    /* of the last answer, and of all */
    int n_prompt, n_kept, n_answers, dropped;
    int64_t answer_seed, all_kept, all_computed, all_tokens, all_drafted, all_accepted;
    double prefill_seconds;
    tl_generator_stats stats;
    chat_known known;
    tl_buf thinking, text, tools;   /* parts of the answer; tools: texts of calls, a 0 byte behind each */
    tl_buf call, call_name;   /* the one that is being written; its name, where that does not stand in it */
    tl_buf call_fields;       /* its fields: chat_field, in order */
    int n_tools;
} chat;

enum { CHAT_NEXT_LINE, CHAT_ANSWER, CHAT_QUIT };   /* what follows a command; or a TL_E_* code */

/* Opening is done, or what the template gets has changed: finds the variables, warns of those without effect, and tells
 * whether the template makes something of a conversation, and how its answers end. After an error the old ones stay. */
int tl_chat_turn_check(chat *c, tl_error *err);
/* The template that conversations are written with; NULL: there is none. */
const char *tl_chat_template(const chat *c);
/* Whether the template takes the conversation as it is, and how many tokens it makes of it. */
int tl_chat_turn_try(const chat *c, int *n_tokens, tl_error *err);
/* Answers the conversation's last message and adds the answer. If there is none, takes the whole turn's question back, or
 * what came last of it. Returns TL_OK or an error; those of TL_E_FORMAT, TL_E_CONTEXT, TL_E_UNSUPPORTED concern this turn only. */
int tl_chat_turn(chat *c, tl_error *err);
/* Whether the options can be used, as far as it can be told without a model. */
int tl_chat_check_args(const chat_args *a, tl_error *err);
/* An answer on its way, and a part of it: kept and shown. */
typedef struct chat_answer {
    chat *c;
    chat_parts parts;
    tl_buf whole;             /* its text */
    const char *prompt;       /* [n_prompt] what it follows */
    size_t n_prompt;
    int32_t last;             /* token that was picked last */
    const char *control;      /* its name, if it is a control token; NULL: it is another one */
    int free;                 /* the grammar waits for the end of thoughts */
    int thought, settled;     /* something was thought; what follows is to be the grammar's */
    int over, n_free;         /* the free part has ended; tokens of it before any thought */
} chat_answer;
/* Forgets the parts of the answer. */
void tl_chat_answer_clear(const chat_answer *a);
/* Whether thoughts may come before the answer's text: the prompt has begun some, or the model is known to write them. */
int tl_chat_may_think(const chat_answer *a);
/* Continues the prompt, of ids [n], which the session has computed. */
int tl_chat_generate(chat_answer *a, const int32_t *ids, int n, tl_error *err);
void tl_chat_answer_part(void *answer, int kind, int mark, const char *text, size_t n);
/* Adds it to the conversation: its text, or where control tokens divide it a message with members for thoughts and calls,
 * of which the template makes these tokens again. */
int tl_chat_answer_keep(const chat_answer *a, tl_error *err);

/* line: without its slash. */
int tl_chat_command(chat *c, const char *line, tl_error *err);

#endif
