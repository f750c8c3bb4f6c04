/* SPDX-License-Identifier: MIT
 *
 * node.h: a template as a tree, and the tokens it is parsed from. Both live in the template's arena. */
#ifndef TL_TMPL_NODE_H
#define TL_TMPL_NODE_H

#include "tmpl/tmpl.h"
#include "tmpl/value.h"

enum tl_token_type {
    TL_T_EOF, TL_T_DATA, TL_T_VAR_BEGIN, TL_T_VAR_END, TL_T_BLOCK_BEGIN, TL_T_BLOCK_END,
    TL_T_NAME, TL_T_STR, TL_T_NUM, TL_T_OP
};
/* op: the characters of an operator, the second one times 256. v: value of names, texts, data and numbers. */
typedef struct tl_token { enum tl_token_type type; int op, line; tl_val v; } tl_token;
#define TL_OP2(a, b) ((a) | (b) << 8)

/* The tokens of a template; the last one is TL_T_EOF. */
tl_token *tl_lex(tl_tx *c, const char *text, size_t n);

enum tl_node_type {
    /* expressions */
    TL_NODE_CONST, TL_NODE_NAME, TL_NODE_LIST, TL_NODE_TUPLE, TL_NODE_DICT, TL_NODE_ATTR, TL_NODE_ITEM, TL_NODE_SLICE, TL_NODE_CALL, TL_NODE_FILTER,
    TL_NODE_TEST, TL_NODE_NOT, TL_NODE_NEG, TL_NODE_POS, TL_NODE_AND, TL_NODE_OR, TL_NODE_COND, TL_NODE_BINARY, TL_NODE_CONCAT, TL_NODE_COMPARE,
    TL_NODE_NSREF,
    /* statements */
    TL_NODE_BODY, TL_NODE_DATA, TL_NODE_PRINT, TL_NODE_IF, TL_NODE_FOR, TL_NODE_SET, TL_NODE_SET_BLOCK, TL_NODE_MACRO, TL_NODE_CALL_BLOCK,
    TL_NODE_FILTER_BLOCK, TL_NODE_WITH, TL_NODE_SCOPE, TL_NODE_BREAK, TL_NODE_CONTINUE
};

typedef struct tl_node tl_node;
typedef struct tl_nodes { tl_node **v; int n, cap; } tl_nodes;
/* Arguments of a call: positions, then names (kw: name and value in turn), *args and **kwargs. */
typedef struct tl_call_args { tl_nodes pos, kw; tl_node *star, *star2; } tl_call_args;

struct tl_node {
    uint8_t type;
    uint8_t flag;            /* FOR: recursive. MACRO: TL_USES_*. TEST: negated is a NOT around it */
    int line, op;            /* op: BINARY, COMPARE's first; see parse_expr.c */
    tl_val v;                /* CONST, DATA; NAME, ATTR, NSREF, FILTER, TEST, MACRO: a name */
    tl_node *a, *b, *c;
    tl_nodes list;           /* children in order; MACRO: parameters */
    tl_nodes more;           /* MACRO: defaults of the last parameters; WITH: values */
    tl_call_args *args;      /* CALL, FILTER, TEST */
    const struct tl_builtin *fn;       /* FILTER, TEST: NULL if there is none of that name */
};
enum { TL_USES_CALLER = 1, TL_USES_KWARGS = 2, TL_USES_VARARGS = 4 };

typedef struct tl_parser {
    tl_tx *c;
    tl_token *t;             /* current */
    int loops;               /* open for statements within the current macro */
    tl_node *unknown;        /* the first filter or test there is none of. In branches, that is an error only when
                                it is reached; a branch's end puts back what was here before */
    int uses;                /* TL_USES_* of the open macro */
} tl_parser;

/* parse_expr.c */
tl_node *tl_parse_expr(tl_parser *p, int with_cond);
/* expr or expr, expr, ...; stops before the name stop. */
tl_node *tl_parse_tuple(tl_parser *p, int with_cond, const char *stop);
tl_node *tl_parse_target(tl_parser *p, int with_ns, const char *stop);
tl_node *tl_parse_filters(tl_parser *p, tl_node *on, int inline_first);
tl_node *tl_new_node(tl_parser *p, int type);
void tl_add_node(tl_parser *p, tl_nodes *list, tl_node *n);
int tl_at_op(const tl_parser *p, int op);
int tl_at_name(const tl_parser *p, const char *name);
int tl_skip_op(tl_parser *p, int op);
int tl_skip_name(tl_parser *p, const char *name);
void tl_expect_op(tl_parser *p, int op);
tl_val tl_expect_name(tl_parser *p);
void tl_fail_unknown(tl_parser *p);    /* if there is one */
_Noreturn void tl_unexpected(tl_parser *p, const char *wanted);

/* parse.c */
tl_node *tl_parse_template(tl_tx *c, const char *text, size_t n);

#endif
