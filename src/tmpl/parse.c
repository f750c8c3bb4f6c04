/* SPDX-License-Identifier: MIT
 *
 * parse.c: statements. A statement is a row of the table: its name and the function that reads it up to the "%}" of
 * its last tag. */
#include <string.h>
#include "tmpl/run.h"

static tl_node *body(tl_parser *p, tl_node *of, const char *const *ends);

static void block_end(tl_parser *p) {
    if (p->t->type != TL_T_BLOCK_END) tl_unexpected(p, "'%}'");
    p->t++;
}

/* Everything in a frame of its own, up to the tag end. Unknown filters in it are errors, even if a branch is around. */
static tl_node *inner(tl_parser *p, tl_node *of, const char *end) {
    const char *ends[] = {end, NULL};
    tl_node *unknown = p->unknown;
    p->unknown = NULL;
    tl_node *n = body(p, of, ends);
    tl_fail_unknown(p);
    p->unknown = unknown;
    return n;
}

static tl_node *parse_if(tl_parser *p, tl_node *n) {
    static const char *const ends[] = {"elif", "else", "endif", NULL}, *const last[] = {"endif", NULL};
    tl_node *unknown = p->unknown;   /* list: condition, body, condition, body, ...; a: else */
    do {
        tl_add_node(p, &n->list, tl_parse_tuple(p, 0, NULL));
        block_end(p);
        tl_add_node(p, &n->list, body(p, n, ends));
    } while (tl_skip_name(p, "elif"));
    if (tl_skip_name(p, "else")) {
        block_end(p);
        n->a = body(p, n, last);
    }
    tl_skip_name(p, "endif");
    p->unknown = unknown;
    return n;
}

/* a: target, b: items, c: condition; list: body, else. */
static tl_node *parse_for(tl_parser *p, tl_node *n) {
    static const char *const ends[] = {"else", "endfor", NULL};
    n->a = tl_parse_target(p, 0, "in");
    if (!tl_skip_name(p, "in")) tl_unexpected(p, "'in'");
    n->b = tl_parse_tuple(p, 0, "recursive");
    tl_node *unknown = p->unknown;
    p->unknown = NULL;
    if (tl_skip_name(p, "if")) n->c = tl_parse_expr(p, 1);
    n->flag = (uint8_t)tl_skip_name(p, "recursive");
    block_end(p);
    p->loops++;
    tl_add_node(p, &n->list, body(p, n, ends));
    p->loops--;
    tl_fail_unknown(p);
    if (tl_skip_name(p, "else")) {
        block_end(p);
        tl_add_node(p, &n->list, inner(p, n, "endfor"));
    }
    tl_skip_name(p, "endfor");
    p->unknown = unknown;
    return n;
}

/* a: target; b: value. As a block, c: filters around NULL, list: body. */
static tl_node *parse_set(tl_parser *p, tl_node *n) {
    n->a = tl_parse_target(p, 1, NULL);
    if (tl_skip_op(p, '=')) {
        n->b = tl_parse_tuple(p, 1, NULL);
        return n;
    }
    n->type = TL_NODE_SET_BLOCK;
    n->c = tl_parse_filters(p, NULL, 0);
    block_end(p);
    tl_add_node(p, &n->list, inner(p, n, "endset"));
    tl_skip_name(p, "endset");
    return n;
}

/* list: parameters, more: defaults of the last ones. */
static void parameters(tl_parser *p, tl_node *n) {
    tl_expect_op(p, '(');
    for (int first = 1; !tl_at_op(p, ')'); first = 0) {
        if (!first) tl_expect_op(p, ',');
        if (tl_at_op(p, ')')) break;
        tl_node *param = tl_new_node(p, TL_NODE_NAME);
        param->v = tl_expect_name(p);
        tl_add_node(p, &n->list, param);
        if (tl_skip_op(p, '=')) tl_add_node(p, &n->more, tl_parse_expr(p, 1));
        else if (n->more.n) tl_x_fail(p->c, "a parameter without a default follows one with a default");
    }
    tl_expect_op(p, ')');
}

/* a: body. Names used in it decide what else it takes. */
static void macro_body(tl_parser *p, tl_node *n, const char *end) {
    int loops = p->loops, uses = p->uses;
    p->loops = p->uses = 0;
    n->a = inner(p, n, end);
    n->flag = (uint8_t)p->uses;
    p->loops = loops;
    p->uses |= uses;
}

static tl_node *parse_macro(tl_parser *p, tl_node *n) {
    n->v = tl_expect_name(p);
    parameters(p, n);
    block_end(p);
    macro_body(p, n, "endmacro");
    tl_skip_name(p, "endmacro");
    return n;
}

/* a: the block as a MACRO, b: the call it is given to. */
static tl_node *parse_call(tl_parser *p, tl_node *n) {
    tl_node *m = n->a = tl_new_node(p, TL_NODE_MACRO);
    m->v = tl_v_cstr("caller");
    if (tl_at_op(p, '(')) parameters(p, m);
    n->b = tl_parse_expr(p, 1);
    if (n->b->type != TL_NODE_CALL) tl_x_fail(p->c, "expected a call");
    block_end(p);
    macro_body(p, m, "endcall");
    tl_skip_name(p, "endcall");
    return n;
}

static tl_node *parse_filter(tl_parser *p, tl_node *n) {
    n->c = tl_parse_filters(p, NULL, 1);
    block_end(p);
    tl_add_node(p, &n->list, inner(p, n, "endfilter"));
    tl_skip_name(p, "endfilter");
    return n;
}

/* list: targets, more: values, a: body. */
static tl_node *parse_with(tl_parser *p, tl_node *n) {
    for (int first = 1; p->t->type != TL_T_BLOCK_END; first = 0) {
        if (!first) tl_expect_op(p, ',');
        tl_add_node(p, &n->list, tl_parse_target(p, 0, NULL));
        tl_expect_op(p, '=');
        tl_add_node(p, &n->more, tl_parse_expr(p, 1));
    }
    block_end(p);
    n->a = inner(p, n, "endwith");
    tl_skip_name(p, "endwith");
    return n;
}

static tl_node *parse_generation(tl_parser *p, tl_node *n) {
    block_end(p);
    n->a = inner(p, n, "endgeneration");
    tl_skip_name(p, "endgeneration");
    return n;
}

static tl_node *parse_block(tl_parser *p, tl_node *n) {
    tl_val name = tl_expect_name(p);
    while (tl_skip_name(p, "scoped") || tl_skip_name(p, "required")) {}
    block_end(p);
    int loops = p->loops;
    p->loops = 0;
    n->a = inner(p, n, "endblock");
    p->loops = loops;
    tl_skip_name(p, "endblock");
    if (p->t->type == TL_T_NAME && !tl_v_same(tl_expect_name(p), name)) tl_x_fail(p->c, "endblock with another name");
    return n;
}

static tl_node *parse_print(tl_parser *p, tl_node *n) {
    do tl_add_node(p, &n->list, tl_parse_expr(p, 1));
    while (tl_skip_op(p, ','));
    return n;
}

static tl_node *parse_leave(tl_parser *p, tl_node *n) {
    if (!p->loops) tl_x_fail(p->c, "'%s' outside a loop", n->type == TL_NODE_BREAK ? "break" : "continue");
    return n;
}

static const struct {
    const char *name;
    int type;
    tl_node *(*parse)(tl_parser *p, tl_node *n);
} statements[] = {
    {"if", TL_NODE_IF, parse_if},
    {"for", TL_NODE_FOR, parse_for},
    {"set", TL_NODE_SET, parse_set},
    {"macro", TL_NODE_MACRO, parse_macro},
    {"call", TL_NODE_CALL_BLOCK, parse_call},
    {"filter", TL_NODE_FILTER_BLOCK, parse_filter},
    {"with", TL_NODE_WITH, parse_with},
    {"generation", TL_NODE_SCOPE, parse_generation},
    {"block", TL_NODE_SCOPE, parse_block},
    {"print", TL_NODE_PRINT, parse_print},
    {"break", TL_NODE_BREAK, parse_leave},
    {"continue", TL_NODE_CONTINUE, parse_leave},
};

_Noreturn static void bad_tag(tl_parser *p, const tl_node *of, const char *const *ends) {
    char wanted[100] = "";
    size_t n = 0;
    for (; ends && *ends; ends++)
        n += (size_t)snprintf(wanted + n, sizeof wanted - n, "%s'%s'", !n ? "" : ends[1] ? ", " : " or ", *ends);
    if (p->t->type == TL_T_EOF && of)
        tl_x_fail(p->c, "the template ends inside a tag's body: %s for line %d is missing", wanted, of->line);
    const tl_token *t = p->t;
    int len = t->v.n > 60 ? 60 : (int)t->v.n;
    if (t->type != TL_T_NAME) tl_x_fail(p->c, "expected the name of a tag behind '{%%'");
    static const char *const no[] = {"include", "import", "from", "extends", "autoescape", "do", "trans", "debug"};
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (tl_at_name(p, no[i])) tl_x_fail(p->c, "the tag '%s' is not supported", no[i]);
    if (of) tl_x_fail(p->c, "unknown tag '%.*s'; line %d waits for %s", len, t->v.u.s, of->line, wanted);
    tl_x_fail(p->c, "unknown tag '%.*s'", len, t->v.u.s);
}

static tl_node *statement(tl_parser *p, const tl_node *of, const char *const *ends) {
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        if (!tl_at_name(p, statements[i].name)) continue;
        tl_node *n = tl_new_node(p, statements[i].type);
        p->t++;
        p->c->line = p->t->line;
        n = statements[i].parse(p, n);
        block_end(p);
        return n;
    }
    bad_tag(p, of, ends);
}

static int at_any(const tl_parser *p, const char *const *names) {
    for (; names && *names; names++)
        if (tl_at_name(p, *names)) return 1;
    return 0;
}

/* Up to a tag named in ends, whose name is the current token then; NULL: to the end of the template. */
static tl_node *body(tl_parser *p, tl_node *of, const char *const *ends) {
    tl_node *all = tl_new_node(p, TL_NODE_BODY), *n;
    if (++p->c->depth > TL_TMPL_MAX_NESTING) tl_x_fail(p->c, "nested more than %d deep", TL_TMPL_MAX_NESTING);
    for (;; p->c->line = p->t->line) {
        switch (p->t->type) {
        case TL_T_DATA:
            n = tl_new_node(p, TL_NODE_DATA);
            n->v = p->t->v;
            p->t++;
            break;
        case TL_T_VAR_BEGIN:
            n = tl_new_node(p, TL_NODE_PRINT);
            p->t++;
            tl_add_node(p, &n->list, tl_parse_tuple(p, 1, NULL));
            if (p->t->type != TL_T_VAR_END) tl_unexpected(p, "'}}'");
            p->t++;
            break;
        case TL_T_BLOCK_BEGIN:
            p->t++;
            p->c->line = p->t->line;
            if (at_any(p, ends)) {
                p->c->depth--;
                return all;
            }
            n = statement(p, of, ends);
            break;
        default:
            if (ends) bad_tag(p, of, ends);
            p->c->depth--;
            return all;
        }
        tl_add_node(p, &all->list, n);
    }
}

tl_node *tl_parse_template(tl_tx *c, const char *text, size_t n) {
    tl_parser p = {.c = c, .t = tl_lex(c, text, n)};
    c->line = 1;
    tl_node *all = body(&p, NULL, NULL);
    tl_fail_unknown(&p);
    return all;
}
