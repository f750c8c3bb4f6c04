/* SPDX-License-Identifier: MIT
 *
 * program.h: a grammar between its text and its automaton: the tree that the parser (gbnf.c) makes, and the program that
 * compile.c makes of the tree and analyse.c completes. A program reads bytes, one at a time, with a stack of calls. */
#ifndef TL_GRAMMAR_PROGRAM_H
#define TL_GRAMMAR_PROGRAM_H

#include "base/base.h"

/* What keeps hostile texts small: bytes of text, nodes and steps, nesting, copies of one repetition. */
enum { TL_GBNF_TEXT = 1 << 22, TL_GBNF_ITEMS = 1 << 20, TL_GBNF_DEPTH = 200, TL_GBNF_COPIES = 100000 };

/* A set of characters: code points lo..hi, in rising order without overlaps. */
typedef struct tl_chars { int32_t lo, hi; } tl_chars;

enum tl_gbnf_kind {
    TL_NODE_CHAR,     /* one of range[a .. a + b) */
    TL_NODE_RULE,     /* what rule a derives */
    TL_NODE_SEQ,      /* children from the last (a) to the first, linked by next; -1: none */
    TL_NODE_ALT,      /* one of the children, linked in the same way */
    TL_NODE_REPEAT    /* child a, b to c times; c -1: without end */
};
typedef struct tl_gbnf_node { uint8_t kind; uint8_t depth; int32_t a, b, c, next; } tl_gbnf_node;

enum tl_instr_kind {
    TL_INSTR_END,        /* returns; the first step is the only one of this kind */
    TL_INSTR_BYTES,      /* reads a byte by edge[a .. a + b), which do not overlap */
    TL_INSTR_SPLIT,      /* goes on at a and at b */
    TL_INSTR_CALL        /* runs rule a, goes on at b */
};
/* live: some text leads from here to the end. like: a step that takes the same texts of up to TL_GBNF_FAR bytes, in which
 * long repetitions are cut short; often itself. */
typedef struct tl_instr { uint8_t kind, live; int32_t a, b, like; } tl_instr;
enum { TL_GBNF_FAR = 24 };
typedef struct tl_edge { uint8_t lo, hi; int32_t next; } tl_edge;

typedef struct tl_rule {
    int32_t name, len;      /* where it is first named in the text; a repeated part becomes a rule that has its owner's name */
    int32_t node;           /* -1: not defined */
    int32_t line;           /* of its definition */
    int32_t start;          /* step */
    int32_t rank;           /* callers without having read a byte come first */
    int32_t first, n_first; /* first_op[first .. first + n_first): what can read a byte or call before that */
    uint8_t nullable;       /* derives the empty text */
} tl_rule;

typedef struct tl_program {
    const char *text;       /* the caller's, while it is compiled */
    tl_gbnf_node *node; int n_nodes, nodes_cap;
    tl_chars *range; int n_ranges, ranges_cap;
    tl_rule *rule; int n_rules, rules_cap;
    tl_instr *op; int n_ops, ops_cap;
    tl_edge *edge; int n_edges, edges_cap;
    int32_t *first_op; int n_firsts;
    int32_t *by_rank;       /* [n_rules] */
    int root;               /* rule */
} tl_program;

/* Room for one item more than n, at most `most`, in *p [*cap], or an error that says what the grammar has too much of. */
int tl_grammar_room(void **p, int n, int *cap, size_t size, int most, const char *what, tl_error *err);

/* The steps, one after the other; each fails with a text that names the place or the rule. */
int tl_gbnf_parse(tl_program *p, const char *text, size_t n, tl_error *err);
int tl_gbnf_compile(tl_program *p, tl_error *err);
int tl_gbnf_analyse(tl_program *p, tl_error *err);
void tl_program_free(tl_program *p);

#endif
