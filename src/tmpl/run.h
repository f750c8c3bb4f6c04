/* SPDX-License-Identifier: MIT
 *
 * run.h: what evaluating needs besides values: scopes, functions written in C, macros, loops. */
#ifndef TL_TMPL_RUN_H
#define TL_TMPL_RUN_H

#include "tmpl/node.h"

/* Names set in one place: the template, a turn of a loop, a macro's call. */
typedef struct tl_var { tl_val name, v; } tl_var;
typedef struct tl_scope { struct tl_scope *up; tl_var *v; int n, cap; } tl_scope;

typedef struct tl_args { tl_val *v; int n; tl_val *key, *val; int n_kw; } tl_args;

/* A filter, test, method or function. params: names separated by blanks, "name=" may be left out (TL_MISSING), at most
 * TL_MAX_PARAMS; "*": any, the function looks at args itself. v: what is filtered, tested, or the object. */
enum { TL_MAX_PARAMS = 8 };
typedef tl_val tl_builtin_fn(tl_tx *c, tl_val v, const tl_val *a, const tl_args *args);
typedef struct tl_builtin { const char *name; tl_builtin_fn *fn; const char *params; } tl_builtin;
typedef struct tl_func { const tl_builtin *b; tl_val self; } tl_func;

typedef struct tl_macro { const tl_node *node; tl_scope *scope; tl_val name; } tl_macro;
typedef struct tl_cycler { tl_val *v; size_t n, at; } tl_cycler;

/* A running for statement. Items are made when they are asked for, at most one ahead. */
typedef struct tl_loop {
    const tl_node *node;
    tl_scope *scope, *outer;
    tl_iter it;
    tl_val prev, cur, ahead, changed;
    int64_t at;              /* index0 of cur */
    int64_t length;          /* -1: not known yet */
    int has_ahead, depth;
} tl_loop;

const tl_builtin *tl_find_filter(tl_val name);
const tl_builtin *tl_find_test(tl_val name);
const tl_builtin *tl_find_global(tl_val name);
const tl_builtin *tl_find_method(int kind, tl_val name);

/* Calls b with arguments bound to its parameters. what: "filter", "test", ... for errors. */
tl_val tl_x_call_builtin(tl_tx *c, const tl_builtin *b, tl_val v, const tl_args *args);
tl_val tl_x_call(tl_tx *c, tl_val f, const tl_args *args);
tl_val tl_x_call_macro(tl_tx *c, tl_macro *m, const tl_args *args);
tl_val tl_x_eval(tl_tx *c, const tl_node *n, tl_scope *s);
/* args->key and val have room for one more than n_kw. */
void tl_x_eval_args(tl_tx *c, const tl_call_args *a, tl_scope *s, tl_args *args);
tl_val tl_x_filter(tl_tx *c, const tl_node *n, tl_val v, tl_scope *s);   /* a FILTER node, applied to v */
tl_val tl_x_binary(tl_tx *c, int op, tl_val a, tl_val b);
int tl_x_contains(tl_tx *c, tl_val in, tl_val v);
tl_val tl_x_attr(tl_tx *c, tl_val v, tl_val name);
tl_val tl_x_item(tl_tx *c, tl_val v, tl_val key);
tl_val tl_x_slice(tl_tx *c, tl_val v, tl_val from, tl_val to, tl_val step);
tl_val tl_x_loop_attr(tl_tx *c, tl_loop *l, tl_val name);
tl_val tl_x_recurse(tl_tx *c, tl_loop *l, tl_val items);

tl_val *tl_scope_find(tl_scope *s, tl_val name);
void tl_scope_set(tl_tx *c, tl_scope *s, tl_val name, tl_val v);
tl_scope *tl_scope_new(tl_tx *c, tl_scope *up);

enum { TL_GO_ON, TL_BREAK, TL_CONTINUE };
int tl_x_exec(tl_tx *c, const tl_node *n, tl_scope *s);

/* format.c: "..." % value, "...".format(...) */
tl_val tl_str_percent(tl_tx *c, tl_val format, tl_val args);
tl_val tl_str_format(tl_tx *c, tl_val format, const tl_args *args);

/* Arguments of builtins, checked. */
int64_t tl_arg_int(tl_tx *c, tl_val v, int64_t otherwise);   /* TL_MISSING: otherwise */
tl_val tl_arg_str(tl_tx *c, tl_val v, const char *otherwise);
int tl_arg_bool(tl_tx *c, tl_val v, int otherwise);

#endif
