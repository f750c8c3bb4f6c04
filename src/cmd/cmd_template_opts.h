/* SPDX-License-Identifier: MIT
 *
 * cmd_template_opts.h: the options that say what a chat template gets, for every command that renders one. */
#ifndef TL_CMD_TEMPLATE_OPTS_H
#define TL_CMD_TEMPLATE_OPTS_H

#include "cmd/cmd.h"
#include "tmpl/tmpl.h"

typedef struct tl_template_args { const char *file, *kwargs, *tools, *think; } tl_template_args;

#define TL_TEMPLATE_AT(type, field, member) offsetof(type, field) + offsetof(tl_template_args, member)
/* Option rows for a tl_template_args that is field `field` of struct `type`. */
#define TL_TEMPLATE_OPTS(type, field, think_help)                                                                      \
    {"--chat-template", "FILE", TL_OPT_STR, TL_TEMPLATE_AT(type, field, file), 0, 0,                                   \
     "a chat template (Jinja2) instead of the model's own"},                                                           \
    {"--chat-template-kwargs", "JSON", TL_OPT_STR, TL_TEMPLATE_AT(type, field, kwargs), 0, 0,                          \
     "further variables for it, as '{\"reasoning_effort\": \"low\"}'"},                                                \
    {"--tools", "FILE", TL_OPT_STR, TL_TEMPLATE_AT(type, field, tools), 0, 0,                                          \
     "tools that answers may call: a JSON array, as in the OpenAI API"},                                               \
    {"--think", "HOW", TL_OPT_STR, TL_TEMPLATE_AT(type, field, think), 0, 0, think_help}

#define TL_THINK_HELP "thoughts: auto: as the template says; on, off: tell it so, by the variable it knows; default auto"
#define TL_THINK_HIDE_HELP "thoughts: auto: as the template says; on, off: tell it so; hide: do not show them; default auto"

/* Whether word is one of the words [..., NULL]; NULL is. Else TL_E_ARGUMENT with the option's name. */
int tl_cmd_one_of(const char *option, const char *word, const char *const *words, tl_error *err);
/* Whether they can be used, as far as it can be told without files. may_hide: --think hide is another word. */
int tl_cmd_template_check(const tl_template_args *args, int may_hide, tl_error *err);
/* The first of them that was given, NULL: none. */
const char *tl_cmd_template_given(const tl_template_args *args);
/* A JSON array of tools out of a file; the caller frees it with tl_free. NULL: an error, which names the file. */
char *tl_cmd_read_tools(const char *path, tl_error *err);

/* What a chat template is given besides messages. Start with {0}. */
typedef struct tl_cmd_template_files { char *text, *tools; } tl_cmd_template_files;   /* NULL: not given */
int tl_cmd_template_read(const tl_template_args *args, tl_cmd_template_files *files, tl_error *err);
void tl_cmd_template_free(tl_cmd_template_files *files);

/* TL_E_ARGUMENT if the object has a key that is neither a variable of most templates nor named by this one. */
int tl_cmd_template_keys(const char *text, const char *name, const char *json, size_t n, tl_error *err);
/* Adds the further variables of the template `text` as a JSON object to out: those of --chat-template-kwargs, and what
 * --think means for it. Nothing, if there are none. given [n] are the variables it gets anyway. why (may be NULL): one line
 * that says what has no effect; else empty. */
int tl_cmd_template_variables(const tl_template_args *args, const char *text, const tl_tmpl_source *given, int n, tl_buf *out,
                              tl_error *why, tl_error *err);
/* The same for a conversation, a JSON array of messages, and tools (NULL: none). */
int tl_cmd_chat_variables(const tl_template_args *args, const char *text, const char *messages, const char *tools, tl_buf *out,
                          tl_error *why, tl_error *err);

#endif
