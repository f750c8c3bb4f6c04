/* SPDX-License-Identifier: MIT
 *
 * eval.c: expressions and calls. */
#include <string.h>
#include "tmpl/run.h"

void tl_x_eval_args(tl_tx *c, const tl_call_args *a, tl_scope *s, tl_args *args) {
    tl_val pos = tl_v_list(c, TL_LIST, a ? (size_t)a->pos.n : 0), item, star2 = tl_v_none();
    size_t n_kw = 1;
    for (int i = 0; a && i < a->pos.n; i++) tl_v_push(c, pos, tl_x_eval(c, a->pos.v[i], s));
    if (a && a->star) {
        tl_iter it = tl_iter_of(c, tl_x_eval(c, a->star, s));
        while (tl_iter_next(c, &it, &item)) tl_v_push(c, pos, item);
    }
    if (a && a->star2) {
        star2 = tl_x_eval(c, a->star2, s);
        if (star2.kind != TL_DICT) tl_x_fail(c, "argument after ** must be a mapping, not %s", tl_v_type(star2));
        n_kw += star2.u.dict->n;
    }
    *args = (tl_args){.v = pos.u.list->v, .n = (int)pos.u.list->n};
    n_kw += a ? (size_t)a->kw.n / 2 : 0;
    args->key = tl_x_alloc(c, n_kw * 2, sizeof *args->key);
    args->val = args->key + n_kw;
    for (int i = 0; a && i < a->kw.n; i += 2) {
        args->key[args->n_kw] = a->kw.v[i]->v;
        args->val[args->n_kw++] = tl_x_eval(c, a->kw.v[i + 1], s);
    }
    for (size_t i = 0; star2.kind == TL_DICT && i < star2.u.dict->n; i++) {
        if (star2.u.dict->key[i].kind != TL_STR) tl_x_fail(c, "keywords must be strings");
        args->key[args->n_kw] = star2.u.dict->key[i];
        args->val[args->n_kw++] = star2.u.dict->val[i];
    }
}

/* Index of the parameter called name in "a b= c="; -1: none. */
static int param_index(const char *params, tl_val name) {
    int i = 0;
    for (const char *p = params; *p; i++) {
        size_t n = strcspn(p, " =");
        if (n == name.n && memcmp(p, name.u.s, n) == 0) return i;
        p += n;
        p += strspn(p, " =");
    }
    return -1;
}

/* Whatever a filter, test or method does with a text, it may go through it once: counted here for all of them. More
 * than that is counted where it is done. */
static size_t walk_of(tl_val v) { return v.kind == TL_STR ? v.n / TL_X_CHARS : 0; }

tl_val tl_x_call_builtin(tl_tx *c, const tl_builtin *b, tl_val v, const tl_args *args) {
    static const tl_args none = {0};
    tl_val a[TL_MAX_PARAMS] = {{0}};
    if (!args) args = &none;
    tl_x_work(c, 1 + walk_of(v));
    for (int i = 0; i < args->n; i++) tl_x_work(c, walk_of(args->v[i]));
    for (int i = 0; i < args->n_kw; i++) tl_x_work(c, walk_of(args->val[i]));
    if (*b->params == '*') return b->fn(c, v, NULL, args);
    int n = 0;
    for (int i = 0; i < args->n_kw; i++) {
        tl_val key = args->key[i];
        int at = param_index(b->params, key), len = key.n > 60 ? 60 : (int)key.n;
        if (at < 0) tl_x_fail(c, "%s: no argument is called '%.*s'", b->name, len, key.u.s);
        if (at < args->n || a[at].kind) tl_x_fail(c, "%s: argument '%.*s' is given twice", b->name, len, key.u.s);
        a[at] = args->val[i];
    }
    for (const char *p = b->params; *p; n++) {
        size_t len = strcspn(p, " =");
        if (n < args->n) a[n] = args->v[n];
        if (!a[n].kind && p[len] != '=') tl_x_fail(c, "%s: the argument '%.*s' is missing", b->name, (int)len, p);
        p += len;
        p += strspn(p, " =");
    }
    if (args->n > n) tl_x_fail(c, "%s takes at most %d arguments, not %d", b->name, n, args->n);
    return b->fn(c, v, a, args);
}

tl_val tl_x_call(tl_tx *c, tl_val f, const tl_args *args) {
    tl_val v;
    switch (f.kind) {
    case TL_FUNC:
        tl_x_enter(c);
        v = tl_x_call_builtin(c, f.u.func->b, f.u.func->self, args);
        tl_x_leave(c);
        return v;
    case TL_MACRO: return tl_x_call_macro(c, f.u.macro, args);
    case TL_LOOP:
        if (args->n != 1 || args->n_kw) tl_x_fail(c, "loop() takes one argument");
        return tl_x_recurse(c, f.u.loop, args->v[0]);
    case TL_JOINER:
        if (f.u.cycler->at++) return f.u.cycler->v[0];
        return tl_v_str("", 0);
    case TL_UNDEF: tl_v_undef_fail(c, f);
    default: tl_x_fail(c, "'%s' object is not callable", tl_v_type(f));
    }
}

static tl_val eval_name(tl_tx *c, const tl_node *n, tl_scope *s) {
    tl_val *v = tl_scope_find(s, n->v);
    if (!v) v = tl_dict_find(c, c->vars, n->v);
    if (v) return *v;
    const tl_builtin *b = tl_find_global(n->v);
    if (b) {
        tl_func *f = tl_x_alloc(c, 1, sizeof *f);
        f->b = b;
        return (tl_val){.kind = TL_FUNC, .u.func = f};
    }
    return (tl_val){.kind = TL_UNDEF, .sub = TL_UNDEF_NAME, .n = n->v.n, .u.s = n->v.u.s};
}

static int compare(tl_tx *c, int op, tl_val a, tl_val b) {
    int r;
    switch (op) {
    case TL_OP2('=', '='): return tl_v_equal(c, a, b);
    case TL_OP2('!', '='): return !tl_v_equal(c, a, b);
    case 'i': return tl_x_contains(c, b, a);
    case 'n': return !tl_x_contains(c, b, a);
    case '<': return tl_v_compare(c, a, b, "<") < 0;
    case '>': return tl_v_compare(c, a, b, ">") == 1;
    case TL_OP2('<', '='): return tl_v_compare(c, a, b, "<=") <= 0;
    default: r = tl_v_compare(c, a, b, ">="); return r == 0 || r == 1;
    }
}

static tl_val eval_compare(tl_tx *c, const tl_node *n, tl_scope *s) {
    tl_val a = tl_x_eval(c, n->a, s);
    for (int i = 0; i < n->list.n; i++) {
        tl_val b = tl_x_eval(c, n->list.v[i]->a, s);
        c->line = n->line;
        if (!compare(c, n->list.v[i]->op, a, b)) return tl_v_bool(0);
        a = b;
    }
    return tl_v_bool(1);
}

static tl_val eval_items(tl_tx *c, const tl_node *n, tl_scope *s) {
    if (n->type == TL_NODE_DICT) {
        tl_val d = tl_v_dict(c);
        for (int i = 0; i < n->list.n; i += 2) {
            tl_val key = tl_x_eval(c, n->list.v[i], s);
            tl_dict_set(c, d.u.dict, key, tl_x_eval(c, n->list.v[i + 1], s));
        }
        return d;
    }
    tl_val l = tl_v_list(c, n->type == TL_NODE_LIST ? TL_LIST : TL_TUPLE, (size_t)n->list.n);
    for (int i = 0; i < n->list.n; i++) tl_v_push(c, l, tl_x_eval(c, n->list.v[i], s));
    return l;
}

static tl_val eval_concat(tl_tx *c, const tl_node *n, tl_scope *s) {
    tl_val parts = eval_items(c, n, s);
    size_t mark = tl_x_mark(c);
    for (size_t i = 0; i < parts.u.list->n; i++) tl_v_write(c, parts.u.list->v[i]);
    return tl_x_take(c, mark);
}

static tl_val eval_item(tl_tx *c, const tl_node *n, tl_scope *s) {
    tl_val v = tl_x_eval(c, n->a, s), part[3] = {{0}};
    if (n->b->type != TL_NODE_SLICE) {
        tl_val key = tl_x_eval(c, n->b, s);
        c->line = n->line;
        return tl_x_item(c, v, key);
    }
    if (n->b->a) part[0] = tl_x_eval(c, n->b->a, s);
    if (n->b->b) part[1] = tl_x_eval(c, n->b->b, s);
    if (n->b->c) part[2] = tl_x_eval(c, n->b->c, s);
    c->line = n->line;
    return tl_x_slice(c, v, part[0], part[1], part[2]);
}

tl_val tl_x_filter(tl_tx *c, const tl_node *n, tl_val v, tl_scope *s) {
    tl_args args;
    if (!n->fn) tl_x_fail(c, "no filter named '%.*s'", (int)n->v.n, n->v.u.s);
    tl_x_eval_args(c, n->args, s, &args);
    c->line = n->line;
    return tl_x_call_builtin(c, n->fn, v, &args);
}

static tl_val eval_test(tl_tx *c, const tl_node *n, tl_scope *s) {
    tl_args args;
    tl_val v = tl_x_eval(c, n->a, s);
    if (!n->fn) tl_x_fail(c, "no test named '%.*s'", (int)n->v.n, n->v.u.s);
    if (!n->args) return tl_x_call_builtin(c, n->fn, v, NULL);
    tl_x_eval_args(c, n->args, s, &args);
    c->line = n->line;
    return tl_x_call_builtin(c, n->fn, v, &args);
}

static tl_val eval_call(tl_tx *c, const tl_node *n, tl_scope *s) {
    tl_args args;
    tl_val f = tl_x_eval(c, n->a, s);
    tl_x_eval_args(c, n->args, s, &args);
    c->line = n->line;
    return tl_x_call(c, f, &args);
}

static tl_val eval_sign(tl_tx *c, const tl_node *n, tl_scope *s) {
    tl_val v = tl_x_eval(c, n->a, s);
    int minus = n->type == TL_NODE_NEG;
    if (v.kind == TL_UNDEF) tl_v_undef_fail(c, v);
    if (!tl_v_has_num(v)) tl_x_fail(c, "bad operand type for unary %c: '%s'", minus ? '-' : '+', tl_v_type(v));
    if (v.kind == TL_FLOAT) return tl_v_float(minus ? -v.u.f : v.u.f);
    return minus ? tl_x_binary(c, '-', tl_v_int(0), v) : tl_v_int(v.u.i);
}

static tl_val eval_cond(tl_tx *c, const tl_node *n, tl_scope *s) {
    if (tl_v_truth(c, tl_x_eval(c, n->b, s))) return tl_x_eval(c, n->a, s);
    if (n->c) return tl_x_eval(c, n->c, s);
    return tl_v_undef("the inline if-expression evaluated to false and no else section was defined.");
}

static tl_val eval(tl_tx *c, const tl_node *n, tl_scope *s) {
    tl_val v, w;
    switch (n->type) {
    case TL_NODE_CONST: return n->v;
    case TL_NODE_NAME: return eval_name(c, n, s);
    case TL_NODE_LIST: case TL_NODE_TUPLE: case TL_NODE_DICT: return eval_items(c, n, s);
    case TL_NODE_ATTR:
        v = tl_x_eval(c, n->a, s);
        c->line = n->line;
        return tl_x_attr(c, v, n->v);
    case TL_NODE_ITEM: return eval_item(c, n, s);
    case TL_NODE_CALL: return eval_call(c, n, s);
    case TL_NODE_FILTER: return tl_x_filter(c, n, tl_x_eval(c, n->a, s), s);
    case TL_NODE_TEST: return eval_test(c, n, s);
    case TL_NODE_NOT: return tl_v_bool(!tl_v_truth(c, tl_x_eval(c, n->a, s)));
    case TL_NODE_NEG: case TL_NODE_POS: return eval_sign(c, n, s);
    case TL_NODE_AND:
        v = tl_x_eval(c, n->a, s);
        return tl_v_truth(c, v) ? tl_x_eval(c, n->b, s) : v;
    case TL_NODE_OR:
        v = tl_x_eval(c, n->a, s);
        return tl_v_truth(c, v) ? v : tl_x_eval(c, n->b, s);
    case TL_NODE_COND: return eval_cond(c, n, s);
    case TL_NODE_BINARY:
        v = tl_x_eval(c, n->a, s);
        w = tl_x_eval(c, n->b, s);
        c->line = n->line;
        return tl_x_binary(c, n->op, v, w);
    case TL_NODE_CONCAT: return eval_concat(c, n, s);
    case TL_NODE_COMPARE: return eval_compare(c, n, s);
    default: tl_x_fail(c, "a slice stands where a value is needed");
    }
}

tl_val tl_x_eval(tl_tx *c, const tl_node *n, tl_scope *s) {
    tl_x_enter(c);
    tl_x_work(c, 1);
    c->line = n->line;
    tl_val v = eval(c, n, s);
    tl_x_leave(c);
    return v;
}
