/* SPDX-License-Identifier: MIT
 *
 * exec.c: statements. A scope belongs to the template, each turn of a loop, each call of a macro and each block whose
 * text is taken; "if" has none. Names are looked for from the inside out, along the places where things were written. */
#include <string.h>
#include "tmpl/run.h"

tl_scope *tl_scope_new(tl_tx *c, tl_scope *up) {
    tl_scope *s = tl_x_alloc(c, 1, sizeof *s);
    s->up = up;
    return s;
}

tl_val *tl_scope_find(tl_scope *s, tl_val name) {
    for (; s; s = s->up)
        for (int i = 0; i < s->n; i++)
            if (tl_v_same(s->v[i].name, name)) return &s->v[i].v;
    return NULL;
}

void tl_scope_set(tl_tx *c, tl_scope *s, tl_val name, tl_val v) {
    for (int i = 0; i < s->n; i++)
        if (tl_v_same(s->v[i].name, name)) {
            s->v[i].v = v;
            return;
        }
    if (s->n == s->cap) {
        int cap = s->cap ? s->cap * 2 : 4;
        tl_var *p = tl_x_alloc(c, (size_t)cap, sizeof *p);
        if (s->n) memcpy(p, s->v, (size_t)s->n * sizeof *p);
        s->v = p;
        s->cap = cap;
    }
    s->v[s->n++] = (tl_var){name, v};
}

static void assign(tl_tx *c, const tl_node *target, tl_val v, tl_scope *s) {
    if (target->type == TL_NODE_NAME) {
        tl_scope_set(c, s, target->v, v);
    } else if (target->type == TL_NODE_NSREF) {
        tl_val ns = tl_x_eval(c, target->a, s);
        if (ns.kind == TL_UNDEF) tl_v_undef_fail(c, ns);
        if (ns.kind != TL_NS) tl_x_fail(c, "cannot assign attribute on non-namespace object");
        tl_dict_set(c, ns.u.dict, target->v, v);
    } else {
        tl_iter it = tl_iter_of(c, v);
        tl_val item;
        int n = target->list.n, i = 0;
        for (; i < n && tl_iter_next(c, &it, &item); i++) assign(c, target->list.v[i], item, s);
        if (i < n) tl_x_fail(c, "not enough values to unpack (expected %d, got %d)", n, i);
        if (tl_iter_next(c, &it, &item)) tl_x_fail(c, "too many values to unpack (expected %d)", n);
    }
}

/* ---- loops ---- */

/* The next item that meets the condition, in the scope of the loop's outside. */
static int pull(tl_tx *c, tl_loop *l, tl_val *out) {
    while (tl_iter_next(c, &l->it, out)) {
        if (!l->node->c) return 1;
        tl_scope *s = tl_scope_new(c, l->outer);
        assign(c, l->node->a, *out, s);
        if (tl_v_truth(c, tl_x_eval(c, l->node->c, s))) return 1;
    }
    return 0;
}

static int peek(tl_tx *c, tl_loop *l) {
    if (!l->has_ahead) l->has_ahead = pull(c, l, &l->ahead);
    return l->has_ahead;
}

static int64_t loop_length(tl_tx *c, tl_loop *l) {
    if (l->length >= 0) return l->length;
    tl_val rest = tl_v_list(c, TL_LIST, 0), item;
    if (l->has_ahead) tl_v_push(c, rest, l->ahead);
    while (pull(c, l, &item)) tl_v_push(c, rest, item);
    l->it = (tl_iter){.v = rest, .at = (size_t)l->has_ahead};
    l->length = l->at + 1 + (int64_t)rest.u.list->n;
    return l->length;
}

static tl_val undefined_or(int there, tl_val v, const char *why) { return there ? v : tl_v_undef(why); }

tl_val tl_x_loop_attr(tl_tx *c, tl_loop *l, tl_val name) {
    if (tl_v_is(name, "index")) return tl_v_int(l->at + 1);
    if (tl_v_is(name, "index0")) return tl_v_int(l->at);
    if (tl_v_is(name, "first")) return tl_v_bool(l->at == 0);
    if (tl_v_is(name, "last")) return tl_v_bool(!peek(c, l));
    if (tl_v_is(name, "length")) return tl_v_int(loop_length(c, l));
    if (tl_v_is(name, "revindex")) return tl_v_int(loop_length(c, l) - l->at);
    if (tl_v_is(name, "revindex0")) return tl_v_int(loop_length(c, l) - l->at - 1);
    if (tl_v_is(name, "depth")) return tl_v_int(l->depth);
    if (tl_v_is(name, "depth0")) return tl_v_int(l->depth - 1);
    if (tl_v_is(name, "previtem")) return undefined_or(l->at > 0, l->prev, "there is no previous item");
    if (tl_v_is(name, "nextitem")) return undefined_or(peek(c, l), l->ahead, "there is no next item");
    const tl_builtin *b = tl_find_method(TL_LOOP, name);
    if (!b) return tl_v_undef_attr(TL_LOOP, name);
    tl_func *f = tl_x_alloc(c, 1, sizeof *f);
    *f = (tl_func){b, {.kind = TL_LOOP, .u.loop = l}};
    return (tl_val){.kind = TL_FUNC, .u.func = f};
}

static int run_loop(tl_tx *c, const tl_node *n, tl_val items, tl_scope *outer, int depth) {
    tl_loop *l = tl_x_alloc(c, 1, sizeof *l);
    tl_val loop = {.kind = TL_LOOP, .u.loop = l};
    *l = (tl_loop){.node = n, .outer = outer, .scope = tl_scope_new(c, outer), .it = tl_iter_of(c, items),
                   .at = -1, .length = n->c ? -1 : items.kind == TL_STR ? -1 : tl_v_length(c, items), .depth = depth};
    int more = 0;
    for (;;) {
        tl_val item = l->ahead;
        if (!l->has_ahead && !pull(c, l, &item)) break;
        l->has_ahead = 0;
        more = 1;
        l->at++;
        l->prev = l->cur;
        l->cur = item;
        l->scope->n = 0;   /* what a turn set is gone in the next one */
        tl_scope_set(c, l->scope, tl_v_cstr("loop"), loop);
        assign(c, n->a, item, l->scope);
        if (tl_x_exec(c, n->list.v[0], l->scope) == TL_BREAK) break;
    }
    if (!more && n->list.n > 1) return tl_x_exec(c, n->list.v[1], tl_scope_new(c, outer));
    return TL_GO_ON;
}

tl_val tl_x_recurse(tl_tx *c, tl_loop *l, tl_val items) {
    if (!l->node->flag) tl_x_fail(c, "the loop is called but its tag does not say 'recursive'");
    size_t mark = tl_x_mark(c);
    tl_x_enter(c);
    run_loop(c, l->node, items, l->outer, l->depth + 1);
    tl_x_leave(c);
    return tl_x_take(c, mark);
}

/* ---- macros ---- */

static tl_val new_macro(tl_tx *c, const tl_node *n, tl_scope *s) {
    tl_macro *m = tl_x_alloc(c, 1, sizeof *m);
    *m = (tl_macro){n, s, n->v};
    return (tl_val){.kind = TL_MACRO, .u.macro = m};
}

/* Takes the value named key out of kw; 0: it is not there. */
static int take_kw(tl_tx *c, tl_dict *kw, tl_val key, tl_val *out) {
    tl_val *v = tl_dict_find(c, kw, key);
    if (!v) return 0;
    *out = *v;
    tl_dict_remove(c, kw, key);
    return 1;
}

static void bind_param(tl_tx *c, const tl_node *n, int i, const tl_args *args, tl_dict *kw, tl_scope *s) {
    tl_val name = n->list.v[i]->v, v;
    int first_default = n->list.n - n->more.n;
    if (i < args->n) {
        v = args->v[i];
    } else if (take_kw(c, kw, name, &v)) {
        /* given by name */
    } else if (i >= first_default) {
        v = tl_x_eval(c, n->more.v[i - first_default], s);
    } else {
        size_t mark = tl_x_mark(c);
        tl_x_puts(c, "parameter '");
        tl_x_put(c, name.u.s, name.n);
        tl_x_puts(c, "' was not provided");
        v = tl_x_take(c, mark);
        v.kind = TL_UNDEF;
    }
    tl_scope_set(c, s, name, v);
}

static void bind_macro(tl_tx *c, const tl_macro *m, const tl_args *args, tl_scope *s) {
    const tl_node *n = m->node;
    tl_val kw = tl_v_dict(c), v;
    int explicit_caller = 0;
    for (int i = 0; i < args->n_kw; i++) tl_dict_set(c, kw.u.dict, args->key[i], args->val[i]);
    for (int i = 0; i < n->list.n; i++) {
        explicit_caller |= tl_v_is(n->list.v[i]->v, "caller");
        bind_param(c, n, i, args, kw.u.dict, s);
    }
    if ((n->flag & TL_USES_CALLER) && !explicit_caller) {
        if (!take_kw(c, kw.u.dict, tl_v_cstr("caller"), &v)) v = tl_v_undef("No caller defined");
        tl_scope_set(c, s, tl_v_cstr("caller"), v);
    }
    if (n->flag & TL_USES_KWARGS) tl_scope_set(c, s, tl_v_cstr("kwargs"), kw);
    else if (kw.u.dict->n)
        tl_x_fail(c, "macro '%.*s' takes no keyword argument '%.*s'", (int)m->name.n, m->name.u.s,
                  (int)kw.u.dict->key[0].n, kw.u.dict->key[0].u.s);
    if (n->flag & TL_USES_VARARGS) {
        tl_val rest = tl_v_list(c, TL_TUPLE, 0);
        for (int i = n->list.n; i < args->n; i++) tl_v_push(c, rest, args->v[i]);
        tl_scope_set(c, s, tl_v_cstr("varargs"), rest);
    } else if (args->n > n->list.n) {
        tl_x_fail(c, "macro '%.*s' takes not more than %d argument(s)", (int)m->name.n, m->name.u.s, n->list.n);
    }
}

tl_val tl_x_call_macro(tl_tx *c, tl_macro *m, const tl_args *args) {
    int line = c->line;
    tl_x_enter(c);
    tl_scope *s = tl_scope_new(c, m->scope);
    bind_macro(c, m, args, s);
    size_t mark = tl_x_mark(c);
    tl_x_exec(c, m->node->a, s);
    tl_x_leave(c);
    c->line = line;
    return tl_x_take(c, mark);
}

/* ---- the other statements ---- */

/* The text of a body, in a scope of its own, through the filters f (innermost first), which end at NULL. */
static tl_val through_filters(tl_tx *c, const tl_node *f, tl_val v, tl_scope *s) {
    if (!f) return v;
    return tl_x_filter(c, f, through_filters(c, f->a, v, s), s);
}

/* *go: how the body ended. */
static tl_val block_text(tl_tx *c, const tl_node *n, tl_scope *s, int *go) {
    size_t mark = tl_x_mark(c);
    tl_scope *own = tl_scope_new(c, s);
    *go = tl_x_exec(c, n->list.v[0], own);
    return through_filters(c, n->c, tl_x_take(c, mark), own);
}

static int exec_if(tl_tx *c, const tl_node *n, tl_scope *s) {
    for (int i = 0; i < n->list.n; i += 2)
        if (tl_v_truth(c, tl_x_eval(c, n->list.v[i], s))) return tl_x_exec(c, n->list.v[i + 1], s);
    return n->a ? tl_x_exec(c, n->a, s) : TL_GO_ON;
}

static int exec_with(tl_tx *c, const tl_node *n, tl_scope *s) {
    tl_scope *own = tl_scope_new(c, s);
    for (int i = 0; i < n->list.n; i++) assign(c, n->list.v[i], tl_x_eval(c, n->more.v[i], s), own);
    return tl_x_exec(c, n->a, own);
}

static void exec_call_block(tl_tx *c, const tl_node *n, tl_scope *s) {
    tl_val caller = new_macro(c, n->a, s), f = tl_x_eval(c, n->b->a, s);
    tl_args args;
    tl_x_eval_args(c, n->b->args, s, &args);
    args.key[args.n_kw] = tl_v_cstr("caller");   /* eval_args leaves room for one more */
    args.val[args.n_kw++] = caller;
    tl_v_write(c, tl_x_call(c, f, &args));
}

int tl_x_exec(tl_tx *c, const tl_node *n, tl_scope *s) {
    int go = TL_GO_ON;
    tl_x_enter(c);
    tl_x_work(c, 1);
    c->line = n->line;
    switch (n->type) {
    case TL_NODE_BODY:
        for (int i = 0; i < n->list.n && go == TL_GO_ON; i++) go = tl_x_exec(c, n->list.v[i], s);
        break;
    case TL_NODE_DATA: tl_x_put_text(c, n->v); break;
    case TL_NODE_PRINT:
        for (int i = 0; i < n->list.n; i++) tl_v_write(c, tl_x_eval(c, n->list.v[i], s));
        break;
    case TL_NODE_IF: go = exec_if(c, n, s); break;
    case TL_NODE_FOR: go = run_loop(c, n, tl_x_eval(c, n->b, s), s, 1); break;
    case TL_NODE_SET: assign(c, n->a, tl_x_eval(c, n->b, s), s); break;
    case TL_NODE_SET_BLOCK: {
        tl_val v = block_text(c, n, s, &go);
        if (go == TL_GO_ON) assign(c, n->a, v, s);
        break;
    }
    case TL_NODE_FILTER_BLOCK: {
        tl_val v = block_text(c, n, s, &go);
        if (go == TL_GO_ON) tl_v_write(c, v);
        break;
    }
    case TL_NODE_MACRO: tl_scope_set(c, s, n->v, new_macro(c, n, s)); break;
    case TL_NODE_CALL_BLOCK: exec_call_block(c, n, s); break;
    case TL_NODE_WITH: go = exec_with(c, n, s); break;
    case TL_NODE_SCOPE: go = tl_x_exec(c, n->a, tl_scope_new(c, s)); break;
    case TL_NODE_BREAK: go = TL_BREAK; break;
    case TL_NODE_CONTINUE: go = TL_CONTINUE; break;
    }
    tl_x_leave(c);
    return go;
}
