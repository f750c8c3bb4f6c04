/* SPDX-License-Identifier: MIT
 *
 * lang.h: languages as expressions, between what people write (JSON Schema, regular expressions) and GBNF text. An
 * expression is a number: a node of the tl_lang that it belongs to. Rules make languages recursive.
 *
 * A fault anywhere leaves with longjmp to the public function, so that nothing in between has an error path. */
#ifndef TL_GRAMMAR_LANG_H
#define TL_GRAMMAR_LANG_H

#include <setjmp.h>
#include "base/base.h"

enum {
    TL_LANG_REPEAT_MAX = 10000,        /* copies of one part, characters of a string, elements of a list */
    TL_LANG_NODES = 1 << 19, TL_LANG_RULES = 1 << 16, TL_LANG_OUT = 1 << 22,   /* bytes of GBNF */
    TL_LANG_WORK = 1 << 28
};

/* NOTHING has no text at all, EMPTY has the empty one. BEGIN and END are anchors, which stand nowhere but inside regex.c. */
enum tl_lang_kind {
    TL_LANG_NOTHING, TL_LANG_EMPTY,
    TL_LANG_CHAR,       /* one of spans [a, a + b), in rising order, without surrogates */
    TL_LANG_TEXT,       /* bytes [a, a + b), UTF-8 */
    TL_LANG_SEQ,        /* a, then b; rows lean to the left: SEQ(SEQ(1, 2), 3) */
    TL_LANG_ALT,        /* a or b, leaning likewise */
    TL_LANG_REPEAT,     /* a, min to max times; max -1: no end */
    TL_LANG_RULE,       /* rule a */
    TL_LANG_BEGIN, TL_LANG_END
};

typedef struct tl_span { int32_t lo, hi; } tl_span;
typedef struct tl_lang_node { uint8_t kind, some; int32_t a, b, min, max; } tl_lang_node;   /* some: it has a text */
typedef struct tl_lang_rule { int32_t body; uint8_t some, used; } tl_lang_rule;             /* body -1: not yet known */
typedef struct tl_lang_alloc { void *p; } tl_lang_alloc;

typedef struct tl_lang_search { tl_slice text; int wide, lang; } tl_lang_search;

typedef struct tl_lang {
    tl_lang_node *node; size_t n_nodes, nodes_cap;
    tl_lang_rule *rule; size_t n_rules, rules_cap;
    tl_span *span; size_t n_spans, spans_cap;
    int32_t *stack; size_t n_stack, stack_cap;      /* of functions that walk over rows */
    tl_lang_alloc *alloc; size_t n_allocs, allocs_cap;   /* freed by tl_lang_free */
    tl_buf text;
    int64_t work;                                   /* steps done, see tl_lang_work */
    int32_t escaped[32][2]; int n_escaped;          /* {CHAR, rule of its form inside a JSON string} */
    tl_lang_search searched[32]; int n_searched;    /* expressions that were asked for before */
    struct meeting *meeting;                        /* at work, see meet.c */
    char place[300];                                /* put before errors: "#/properties/a/pattern: " */
    tl_error *err;
    jmp_buf fault;                                  /* set by the public function */
} tl_lang;

void tl_lang_free(tl_lang *l);
#if defined(__GNUC__)
__attribute__((noreturn, format(printf, 3, 4)))
#endif
void tl_lang_fail(tl_lang *l, int code, const char *fmt, ...);
void tl_lang_work(tl_lang *l, int64_t steps);       /* fails when all of them are too many */
/* Zeroed memory that lives as long as l. */
void *tl_lang_memory(tl_lang *l, size_t n, size_t size);
/* Room for one more of n items in *list [*cap], kept by the caller. */
void tl_lang_room(tl_lang *l, void *list, size_t n, size_t *cap, size_t size, size_t most);

int tl_lang_add(tl_lang *l, tl_lang_node n);        /* as it is; the functions below leave out what changes nothing */
void tl_lang_push(tl_lang *l, int a);
int tl_lang_nothing(tl_lang *l);
int tl_lang_empty(tl_lang *l);
int tl_lang_chars(tl_lang *l, const tl_span *s, int n);
int tl_lang_any(tl_lang *l);                        /* any character */
int tl_lang_text(tl_lang *l, const char *p, size_t n);
int tl_lang_str(tl_lang *l, const char *s);
int tl_lang_seq(tl_lang *l, int a, int b);
int tl_lang_alt(tl_lang *l, int a, int b);
int tl_lang_repeat(tl_lang *l, int a, int min, int max);
int tl_lang_new_rule(tl_lang *l);                   /* its number; tl_lang_define gives the body */
void tl_lang_define(tl_lang *l, int rule, int body);
int tl_lang_call(tl_lang *l, int rule);
int tl_lang_as_rule(tl_lang *l, int a);             /* a call of a new rule, so that a is written once */

/* The same texts as they stand inside a JSON string: `"`, `\` and control characters are escaped, nothing else is. */
int tl_lang_json(tl_lang *l, int a);

/* Writes the rules that start needs, "root" first. Alternatives without any text are left out; 0 if start has none. */
int tl_lang_print(tl_lang *l, int start, tl_buf *out);

/* A set of texts that must be in all languages given, or not in it where not is set. */
typedef struct tl_lang_must { int32_t lang, not; } tl_lang_must;
/* The texts of min to max (-1: any number) characters in all of m [n], as they stand inside a JSON string. */
int tl_lang_meet(tl_lang *l, const tl_lang_must *m, int n, int min, int max);
void tl_lang_meet_free(struct meeting *m);          /* for tl_lang_free */
/* Whether the text is in all of m [n]. */
int tl_lang_has(tl_lang *l, const tl_lang_must *m, int n, tl_slice text);

/* The texts in which a regular expression (ECMA-262) finds something: where engines differ, only what all of them find,
 * or, if wide is set, what one of them may find, which is for languages that a text must not be in. The
 * expression's text must live as long as l. */
int tl_regex_search(tl_lang *l, tl_slice regex, int wide);

#endif
