/* SPDX-License-Identifier: MIT
 *
 * cmd_constrain.h: the options that constrain a text, for every command that generates one. */
#ifndef TL_CMD_CONSTRAIN_H
#define TL_CMD_CONSTRAIN_H

#include "cmd/cmd.h"

typedef struct tl_constrain_args { const char *grammar, *schema, *regex, *choice; } tl_constrain_args;

#define TL_CONSTRAIN_AT(type, field, member) offsetof(type, field) + offsetof(tl_constrain_args, member)
/* Option rows for a tl_constrain_args that is field `field` of struct `type`. */
#define TL_CONSTRAIN_OPTS(type, field)                                                                                 \
    {"--grammar", "FILE", TL_OPT_STR, TL_CONSTRAIN_AT(type, field, grammar), 0, 0,                                     \
     "what is written must follow the grammar in FILE (GBNF)"},                                                        \
    {"--json-schema", "FILE", TL_OPT_STR, TL_CONSTRAIN_AT(type, field, schema), 0, 0,                                  \
     "what is written must be JSON that the schema in FILE allows"},                                                   \
    {"--regex", "R", TL_OPT_STR, TL_CONSTRAIN_AT(type, field, regex), 0, 0,                                            \
     "what is written must match the regular expression as a whole"},                                                  \
    {"--choice", "A,B,C", TL_OPT_STR, TL_CONSTRAIN_AT(type, field, choice), 0, 0,                                      \
     "what is written must be one of these; \\, stands for a comma"}

/* What they ask for as GBNF, checked, added to gbnf; nothing asked for: gbnf stays as it is. */
int tl_cmd_constrain_read(const tl_constrain_args *args, tl_buf *gbnf, tl_error *err);

#endif
