/* SPDX-License-Identifier: MIT
 *
 * parse_expr.c: expressions, from the weakest operator to the strongest:
 *   a if b else c | or | and | not | == != < <= > >= in, not in | + - | ~ | * / // % | ** | unary | .x [x] () |f, is t
 * The order is Jinja2's, which differs from Python's: ~ stands between + and *, unary minus binds more than **. */
#include <string.h>
#include "tmpl/run.h"

tl_node *tl_new_node(tl_parser *p, int type) {
    tl_node *n = tl_x_alloc(p->c, 1, sizeof *n);
    n->type = (uint8_t)type;
    n->line = p->t->line;
    return n;
}

void tl_add_node(tl_parser *p, tl_nodes *list, tl_node *n) {
    if (list->n == list->cap) {
        int cap = list->cap ? list->cap * 2 : 4;
        tl_node **v = tl_x_alloc(p->c, (size_t)cap, sizeof *v);
        if (list->n) memcpy(v, list->v, (size_t)list->n * sizeof *v);
        list->v = v;
        list->cap = cap;
    }
    list->v[list->n++] = n;
}

static void next(tl_parser *p) {
    if (p->t->type != TL_T_EOF) p->t++;
    p->c->line = p->t->line;
}

int tl_at_op(const tl_parser *p, int op) { return p->t->type == TL_T_OP && p->t->op == op; }
int tl_at_name(const tl_parser *p, const char *name) {
    return p->t->type == TL_T_NAME && p->t->v.n == strlen(name) && memcmp(p->t->v.u.s, name, p->t->v.n) == 0;
}
int tl_skip_op(tl_parser *p, int op) {
    if (!tl_at_op(p, op)) return 0;
    next(p);
    return 1;
}
int tl_skip_name(tl_parser *p, const char *name) {
    if (!tl_at_name(p, name)) return 0;
    next(p);
    return 1;
}

void tl_unexpected(tl_parser *p, const char *wanted) {
    const tl_token *t = p->t;
    char what[80];
    int n = t->v.n > 40 ? 40 : (int)t->v.n;
    switch (t->type) {
    case TL_T_EOF: snprintf(what, sizeof what, "the end of the template"); break;
    case TL_T_VAR_END: snprintf(what, sizeof what, "'}}'"); break;
    case TL_T_BLOCK_END: snprintf(what, sizeof what, "'%%}'"); break;
    case TL_T_NAME: snprintf(what, sizeof what, "'%.*s'", n, t->v.u.s); break;
    case TL_T_STR: snprintf(what, sizeof what, "the string '%.*s'", n, t->v.u.s); break;
    case TL_T_NUM: snprintf(what, sizeof what, "a number"); break;
    case TL_T_OP: snprintf(what, sizeof what, "'%c%.1s'", t->op & 255, (char[]){(char)(t->op >> 8), 0}); break;
    default: snprintf(what, sizeof what, "text"); break;
    }
    tl_x_fail(p->c, "expected %s, found %s", wanted, what);
}

void tl_expect_op(tl_parser *p, int op) {
    char wanted[8];
    snprintf(wanted, sizeof wanted, "'%c'", op);
    if (!tl_skip_op(p, op)) tl_unexpected(p, wanted);
}

tl_val tl_expect_name(tl_parser *p) {
    if (p->t->type != TL_T_NAME) tl_unexpected(p, "a name");
    tl_val name = p->t->v;
    next(p);
    return name;
}

static void enter(tl_parser *p) {
    if (++p->c->depth > TL_TMPL_MAX_NESTING) tl_x_fail(p->c, "nested more than %d deep", TL_TMPL_MAX_NESTING);
}

static tl_node *unary(tl_parser *p, int with_filter);

static tl_node *list_or_dict(tl_parser *p, int is_dict) {
    tl_node *n = tl_new_node(p, is_dict ? TL_NODE_DICT : TL_NODE_LIST);
    int close = is_dict ? '}' : ']';
    next(p);
    while (!tl_at_op(p, close)) {
        if (n->list.n) tl_expect_op(p, ',');
        if (tl_at_op(p, close)) break;
        tl_add_node(p, &n->list, tl_parse_expr(p, 1));
        if (!is_dict) continue;
        tl_expect_op(p, ':');
        tl_add_node(p, &n->list, tl_parse_expr(p, 1));
    }
    next(p);
    return n;
}

static tl_node *strings(tl_parser *p) {
    tl_node *n = tl_new_node(p, TL_NODE_CONST);
    n->v = p->t->v;
    next(p);
    while (p->t->type == TL_T_STR) {   /* neighbours are one string */
        size_t mark = tl_x_mark(p->c);
        tl_x_put(p->c, n->v.u.s, n->v.n);
        tl_x_put(p->c, p->t->v.u.s, p->t->v.n);
        n->v = tl_x_take(p->c, mark);
        next(p);
    }
    return n;
}

static tl_node *name(tl_parser *p, int with_ns) {
    static const struct { const char *text; tl_val v; } constants[] = {
        {"true", {.kind = TL_BOOL, .u.i = 1}}, {"True", {.kind = TL_BOOL, .u.i = 1}}, {"false", {.kind = TL_BOOL}},
        {"False", {.kind = TL_BOOL}}, {"none", {.kind = TL_NONE}}, {"None", {.kind = TL_NONE}}};
    tl_node *n = tl_new_node(p, TL_NODE_NAME);
    n->v = tl_expect_name(p);
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
        if (tl_v_is(n->v, constants[i].text)) {
            n->type = TL_NODE_CONST;
            n->v = constants[i].v;
            return n;
        }
    if (with_ns && tl_skip_op(p, '.')) {
        n->type = TL_NODE_NSREF;
        n->a = tl_new_node(p, TL_NODE_NAME);
        n->a->v = n->v;
        n->v = tl_expect_name(p);
    }
    if (tl_v_is(n->v, "caller")) p->uses |= TL_USES_CALLER;
    if (tl_v_is(n->v, "kwargs")) p->uses |= TL_USES_KWARGS;
    if (tl_v_is(n->v, "varargs")) p->uses |= TL_USES_VARARGS;
    return n;
}

static tl_node *parenthesized(tl_parser *p) {
    next(p);
    tl_node *n = NULL;
    if (tl_at_op(p, ')')) n = tl_new_node(p, TL_NODE_TUPLE);
    else n = tl_parse_tuple(p, 1, NULL);
    tl_expect_op(p, ')');
    return n;
}

static tl_node *primary(tl_parser *p, int with_ns) {
    tl_node *n;
    switch (p->t->type) {
    case TL_T_NAME: return name(p, with_ns);
    case TL_T_STR: return strings(p);
    case TL_T_NUM:
        n = tl_new_node(p, TL_NODE_CONST);
        n->v = p->t->v;
        next(p);
        return n;
    case TL_T_OP:
        if (p->t->op == '(') return parenthesized(p);
        if (p->t->op == '[' || p->t->op == '{') return list_or_dict(p, p->t->op == '{');
        tl_unexpected(p, "an expression");
    default: tl_unexpected(p, "an expression");
    }
}

/* What stands between brackets: a value or a slice. */
static tl_node *subscribed(tl_parser *p) {
    tl_node *from = tl_at_op(p, ':') ? NULL : tl_parse_expr(p, 1);
    if (!tl_at_op(p, ':')) return from;
    tl_node *n = tl_new_node(p, TL_NODE_SLICE), **part[] = {&n->b, &n->c};
    n->a = from;
    for (int i = 0; i < 2 && tl_skip_op(p, ':'); i++)
        if (!tl_at_op(p, ':') && !tl_at_op(p, ']') && !tl_at_op(p, ',')) *part[i] = tl_parse_expr(p, 1);
    return n;
}

static tl_node *subscript(tl_parser *p, tl_node *on) {
    tl_node *n = tl_new_node(p, TL_NODE_ITEM);
    n->a = on;
    if (tl_skip_op(p, '.')) {
        if (p->t->type == TL_T_NUM && p->t->v.kind == TL_INT) {
            n->b = primary(p, 0);
            return n;
        }
        n->type = TL_NODE_ATTR;
        n->v = tl_expect_name(p);
        return n;
    }
    next(p);
    n->b = subscribed(p);
    if (tl_at_op(p, ',')) {
        tl_node *tuple = tl_new_node(p, TL_NODE_TUPLE);
        tl_add_node(p, &tuple->list, n->b);
        while (tl_skip_op(p, ',')) tl_add_node(p, &tuple->list, subscribed(p));
        n->b = tuple;
    }
    tl_expect_op(p, ']');
    return n;
}

static void call_arg(tl_parser *p, tl_call_args *a) {
    static const char order[] = "arguments out of order: first positions, then names, then *args and **kwargs";
    const tl_token *t = p->t;
    if (tl_skip_op(p, '*')) {
        if (a->star || a->star2) tl_x_fail(p->c, order);
        a->star = tl_parse_expr(p, 1);
    } else if (tl_skip_op(p, TL_OP2('*', '*'))) {
        if (a->star2) tl_x_fail(p->c, order);
        a->star2 = tl_parse_expr(p, 1);
    } else if (t->type == TL_T_NAME && t[1].type == TL_T_OP && t[1].op == '=') {
        if (a->star2) tl_x_fail(p->c, order);
        tl_node *key = tl_new_node(p, TL_NODE_CONST);
        key->v = tl_expect_name(p);
        next(p);
        tl_add_node(p, &a->kw, key);
        tl_add_node(p, &a->kw, tl_parse_expr(p, 1));
    } else {
        if (a->star || a->star2 || a->kw.n) tl_x_fail(p->c, order);
        tl_add_node(p, &a->pos, tl_parse_expr(p, 1));
    }
}

static tl_call_args *call_args(tl_parser *p) {
    tl_call_args *a = tl_x_alloc(p->c, 1, sizeof *a);
    tl_expect_op(p, '(');
    for (int first = 1; !tl_at_op(p, ')'); first = 0) {
        if (!first) tl_expect_op(p, ',');
        if (tl_at_op(p, ')')) break;
        call_arg(p, a);
    }
    next(p);
    return a;
}

static tl_node *call(tl_parser *p, tl_node *on) {
    tl_node *n = tl_new_node(p, TL_NODE_CALL);
    n->a = on;
    n->args = call_args(p);
    return n;
}

static tl_node *postfix(tl_parser *p, tl_node *n) {
    for (;;) {
        if (tl_at_op(p, '.') || tl_at_op(p, '[')) n = subscript(p, n);
        else if (tl_at_op(p, '(')) n = call(p, n);
        else return n;
    }
}

void tl_fail_unknown(tl_parser *p) {
    const tl_node *n = p->unknown;
    if (!n) return;
    p->c->line = n->line;
    tl_x_fail(p->c, "no %s named '%.*s'", n->type == TL_NODE_FILTER ? "filter" : "test", (int)n->v.n, n->v.u.s);
}

static tl_val dotted_name(tl_parser *p) {
    tl_val v = tl_expect_name(p);
    while (tl_skip_op(p, '.')) {
        tl_val more = tl_expect_name(p);
        size_t mark = tl_x_mark(p->c);
        tl_x_put(p->c, v.u.s, v.n);
        tl_x_put(p->c, ".", 1);
        tl_x_put(p->c, more.u.s, more.n);
        v = tl_x_take(p->c, mark);
    }
    return v;
}

tl_node *tl_parse_filters(tl_parser *p, tl_node *on, int inline_first) {
    while (inline_first || tl_skip_op(p, '|')) {
        tl_node *n = tl_new_node(p, TL_NODE_FILTER);
        inline_first = 0;
        n->a = on;
        n->v = dotted_name(p);
        n->fn = tl_find_filter(n->v);
        if (!n->fn && !p->unknown) p->unknown = n;
        if (tl_at_op(p, '(')) n->args = call_args(p);
        on = n;
    }
    return on;
}

static tl_node *test(tl_parser *p, tl_node *on) {
    tl_node *n = tl_new_node(p, TL_NODE_TEST);
    next(p);
    int negated = tl_skip_name(p, "not");
    n->a = on;
    n->v = dotted_name(p);
    n->fn = tl_find_test(n->v);
    if (!n->fn && !p->unknown) p->unknown = n;
    int value = p->t->type == TL_T_NAME || p->t->type == TL_T_STR || p->t->type == TL_T_NUM || tl_at_op(p, '[') ||
                tl_at_op(p, '{');
    if (tl_at_op(p, '(')) {
        n->args = call_args(p);
    } else if (value && !tl_at_name(p, "else") && !tl_at_name(p, "or") && !tl_at_name(p, "and")) {
        if (tl_at_name(p, "is")) tl_x_fail(p->c, "tests with 'is' cannot be chained");
        n->args = tl_x_alloc(p->c, 1, sizeof *n->args);
        tl_add_node(p, &n->args->pos, postfix(p, primary(p, 0)));
    }
    if (!negated) return n;
    tl_node *not = tl_new_node(p, TL_NODE_NOT);
    not->a = n;
    return not;
}

static tl_node *unary(tl_parser *p, int with_filter) {
    tl_node *n;
    enter(p);
    if (tl_at_op(p, '-') || tl_at_op(p, '+')) {
        n = tl_new_node(p, tl_at_op(p, '-') ? TL_NODE_NEG : TL_NODE_POS);
        next(p);
        n->a = unary(p, 0);
    } else {
        n = primary(p, 0);
    }
    n = postfix(p, n);
    while (with_filter) {
        if (tl_at_op(p, '|')) n = tl_parse_filters(p, n, 0);
        else if (tl_at_name(p, "is")) n = test(p, n);
        else if (tl_at_op(p, '(')) n = call(p, n);
        else break;
    }
    p->c->depth--;
    return n;
}

static tl_node *two(tl_parser *p, int op, tl_node *a) {
    tl_node *n = tl_new_node(p, TL_NODE_BINARY);
    n->op = op;
    n->a = a;
    next(p);
    return n;
}

static tl_node *power(tl_parser *p) {
    tl_node *n = unary(p, 1);
    while (tl_at_op(p, TL_OP2('*', '*'))) {
        n = two(p, p->t->op, n);
        n->b = unary(p, 1);
    }
    return n;
}

static tl_node *product(tl_parser *p) {
    tl_node *n = power(p);
    while (tl_at_op(p, '*') || tl_at_op(p, '/') || tl_at_op(p, '%') || tl_at_op(p, TL_OP2('/', '/'))) {
        n = two(p, p->t->op, n);
        n->b = power(p);
    }
    return n;
}

static tl_node *concat(tl_parser *p) {
    tl_node *first = product(p);
    if (!tl_at_op(p, '~')) return first;
    tl_node *n = tl_new_node(p, TL_NODE_CONCAT);
    tl_add_node(p, &n->list, first);
    while (tl_skip_op(p, '~')) tl_add_node(p, &n->list, product(p));
    return n;
}

static tl_node *sum(tl_parser *p) {
    tl_node *n = concat(p);
    while (tl_at_op(p, '+') || tl_at_op(p, '-')) {
        n = two(p, p->t->op, n);
        n->b = concat(p);
    }
    return n;
}

/* The operator here, 0: none. 'i': in, 'n': not in. */
static int compare_op(tl_parser *p) {
    static const int ops[] = {'<', '>', TL_OP2('<', '='), TL_OP2('>', '='), TL_OP2('=', '='), TL_OP2('!', '=')};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (tl_skip_op(p, ops[i])) return ops[i];
    if (tl_skip_name(p, "in")) return 'i';
    if (!tl_at_name(p, "not")) return 0;
    const tl_token *t = p->t + 1;
    if (t->type != TL_T_NAME || t->v.n != 2 || memcmp(t->v.u.s, "in", 2) != 0) return 0;
    next(p);
    next(p);
    return 'n';
}

/* list: operands; the operator in front of each is its COMPARE node's op. */
static tl_node *compare(tl_parser *p) {
    tl_node *first = sum(p), *n = NULL;
    for (int op; (op = compare_op(p)) != 0;) {
        if (!n) {
            n = tl_new_node(p, TL_NODE_COMPARE);
            n->a = first;
        }
        tl_node *right = tl_new_node(p, TL_NODE_COMPARE);
        right->op = op;
        right->a = sum(p);
        tl_add_node(p, &n->list, right);
    }
    return n ? n : first;
}

static tl_node *not(tl_parser *p) {
    if (!tl_at_name(p, "not")) return compare(p);
    tl_node *n = tl_new_node(p, TL_NODE_NOT);
    next(p);
    enter(p);
    n->a = not(p);
    p->c->depth--;
    return n;
}

static tl_node *and(tl_parser *p) {
    tl_node *n = not(p);
    while (tl_at_name(p, "and")) {
        tl_node *both = tl_new_node(p, TL_NODE_AND);
        next(p);
        both->a = n;
        both->b = not(p);
        n = both;
    }
    return n;
}

static tl_node *or(tl_parser *p) {
    tl_node *n = and(p);
    while (tl_at_name(p, "or")) {
        tl_node *either = tl_new_node(p, TL_NODE_OR);
        next(p);
        either->a = n;
        either->b = and(p);
        n = either;
    }
    return n;
}

tl_node *tl_parse_expr(tl_parser *p, int with_cond) {
    enter(p);
    tl_node *unknown = p->unknown;
    tl_node *n = or(p);
    while (with_cond && tl_at_name(p, "if")) {
        tl_node *cond = tl_new_node(p, TL_NODE_COND);
        next(p);
        cond->a = n;
        cond->b = or(p);
        if (tl_skip_name(p, "else")) cond->c = tl_parse_expr(p, 1);
        n = cond;
        p->unknown = unknown;
    }
    p->c->depth--;
    return n;
}

static int tuple_end(const tl_parser *p, const char *stop) {
    return p->t->type == TL_T_VAR_END || p->t->type == TL_T_BLOCK_END || tl_at_op(p, ')') || (stop && tl_at_name(p, stop));
}

static tl_node *tuple_of(tl_parser *p, const char *stop, tl_node *(*item)(tl_parser *, int), int flag) {
    tl_node *first = item(p, flag);
    if (!tl_at_op(p, ',')) return first;
    tl_node *n = tl_new_node(p, TL_NODE_TUPLE);
    tl_add_node(p, &n->list, first);
    while (tl_skip_op(p, ',') && !tuple_end(p, stop)) tl_add_node(p, &n->list, item(p, flag));
    return n;
}

tl_node *tl_parse_tuple(tl_parser *p, int with_cond, const char *stop) {
    return tuple_of(p, stop, tl_parse_expr, with_cond);
}

static void check_target(tl_parser *p, const tl_node *n) {
    if (n->type == TL_NODE_TUPLE)
        for (int i = 0; i < n->list.n; i++) check_target(p, n->list.v[i]);
    else if (n->type != TL_NODE_NAME && n->type != TL_NODE_NSREF) tl_x_fail(p->c, "cannot assign to this: a name is needed");
}

static tl_node *target_item(tl_parser *p, int with_ns) {
    enter(p);
    tl_node *n;
    if (tl_skip_op(p, '(')) {
        n = tuple_of(p, NULL, target_item, with_ns);
        tl_expect_op(p, ')');
    } else {
        n = primary(p, with_ns);
    }
    p->c->depth--;
    return n;
}

tl_node *tl_parse_target(tl_parser *p, int with_ns, const char *stop) {
    tl_node *n = tuple_of(p, stop, target_item, with_ns);
    check_target(p, n);
    return n;
}
