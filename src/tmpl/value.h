/* SPDX-License-Identifier: MIT
 *
 * value.h: values of templates and the context everything here runs in: an arena that holds all values, the text
 * being written, limits, and one way out. A fault anywhere calls tl_x_fail, which jumps back to tl_tmpl_parse or
 * tl_tmpl_render; these free the arena. So no function below returns an error, and nothing here owns memory.
 *
 * Values are immutable once made (the sandbox forbids changing lists and dicts), except namespaces, loops and the
 * position of generators. */
#ifndef TL_TMPL_VALUE_H
#define TL_TMPL_VALUE_H

#include <setjmp.h>
#include <time.h>
#include "base/base.h"

enum tl_val_kind {
    TL_MISSING,              /* an argument that was not given; never seen by templates */
    TL_UNDEF, TL_NONE, TL_BOOL, TL_INT, TL_FLOAT,
    TL_BIG,                  /* an integer over 64 bits in the JSON: its digits, no arithmetic */
    TL_STR, TL_LIST, TL_TUPLE, TL_DICT,
    TL_KEYS, TL_VALUES, TL_ITEMS,      /* views of a dict */
    TL_RANGE, TL_GEN, TL_NS, TL_LOOP, TL_FUNC, TL_MACRO, TL_CYCLER, TL_JOINER,
    TL_N_VAL_KINDS
};

/* TL_UNDEF, sub: what u.s says. TL_UNDEF_ATTR + kind: a name that values of this kind do not have. */
enum { TL_UNDEF_TEXT, TL_UNDEF_NAME, TL_UNDEF_ATTR };

typedef struct tl_val {
    uint8_t kind;
    uint8_t sub;             /* TL_STR: 1 if safe (Markup); TL_UNDEF: see above */
    uint32_t n;              /* TL_STR, TL_BIG, TL_UNDEF: bytes of u.s */
    const char *trust;       /* TL_STR: see below */
    union {
        int64_t i;           /* TL_INT, TL_BOOL */
        double f;
        const char *s;       /* UTF-8, not terminated */
        struct tl_list *list;
        struct tl_dict *dict;          /* TL_DICT, its views, TL_NS */
        struct tl_range *range;
        struct tl_gen *gen;
        struct tl_func *func;
        struct tl_macro *macro;
        struct tl_loop *loop;
        struct tl_cycler *cycler;      /* TL_CYCLER, TL_JOINER */
    } u;
} tl_val;

/* Trust of a text's bytes. The template's own are trusted, what comes from outside is not, whatever filters and joints
 * it went through: trust says which byte is which, so that names of control tokens count only where the template wrote
 * them. NULL: none is trusted, the state of all that is not known to be the template's. tl_trusted: all are. Else
 * [n] flags, 0 or 1. A part of a text takes its flags along (tl_str_sub, tl_x_put_part). What a template puts in the
 * place of people's bytes that may be a token's name (replace, split and join) is theirs too: tl_str_instead. */
extern const char tl_trusted[];
static inline const char *tl_trust_at(tl_val v, size_t at) {
    return v.trust && v.trust != tl_trusted ? v.trust + at : v.trust;
}

typedef struct tl_list { tl_val *v; size_t n, cap; } tl_list;
/* In order of insertion. slot: hash table of indices + 1, once there are more than a few. */
typedef struct tl_dict { tl_val *key, *val; size_t n, cap; uint32_t *slot; size_t n_slots; } tl_dict;
typedef struct tl_range { int64_t start, step; size_t n; } tl_range;

typedef struct tl_block { struct tl_block *next; size_t n, cap; } tl_block;
typedef struct tl_arena { tl_block *first; size_t total; } tl_arena;

/* Texts at which some of people's were cut. */
typedef struct tl_cut { struct tl_cut *next; tl_val at; } tl_cut;

typedef struct tl_tx {
    tl_arena arena;
    tl_cut *cuts;
    const char *name;        /* of the template */
    int line, depth;
    int64_t steps;           /* left */
    tl_buf *out;             /* finished text, then unfinished parts */
    tl_buf trust;            /* flags of out's bytes; those behind its end are not trusted */
    int own;                 /* 1: all text that is made is the template's (parsing) */
    tl_error *err;
    struct tm now;
    struct tl_scope *root;
    tl_dict *vars;           /* what the caller gave */
    jmp_buf jump;
} tl_tx;

/* Does not return. The text is put behind "name: line N: ". */
_Noreturn void tl_x_fail(tl_tx *c, const char *fmt, ...) TL_PRINTF(2, 3);
_Noreturn void tl_x_raise(tl_tx *c, int code, const char *text);
/* Zeroed memory until the arena is freed. */
void *tl_x_alloc(tl_tx *c, size_t n, size_t size);
void tl_x_free(tl_tx *c);
/* Characters that are looked at in a step of work. */
enum { TL_X_CHARS = 4 };
/* Counts work; fails at the limit. */
void tl_x_work(tl_tx *c, size_t steps);
/* Around every recursion. */
void tl_x_enter(tl_tx *c);
static inline void tl_x_leave(tl_tx *c) { c->depth--; }

/* Text: write with tl_x_put; for a text of one's own, mark = tl_x_mark, write, tl_x_take(mark). These nest. */
void tl_x_put(tl_tx *c, const char *s, size_t n);           /* not trusted */
void tl_x_put_part(tl_tx *c, tl_val s, size_t from, size_t to);   /* bytes of a text, as far trusted as they are there */
static inline void tl_x_put_text(tl_tx *c, tl_val s) { tl_x_put_part(c, s, 0, s.n); }
void tl_x_puts(tl_tx *c, const char *s);
void tl_x_put_cp(tl_tx *c, int32_t cp);
void tl_x_fill(tl_tx *c, tl_val s, int64_t times);
static inline size_t tl_x_mark(const tl_tx *c) { return c->out->n; }
tl_val tl_x_take(tl_tx *c, size_t mark);

static inline tl_val tl_v_none(void) { return (tl_val){.kind = TL_NONE}; }
static inline tl_val tl_v_bool(int b) { return (tl_val){.kind = TL_BOOL, .u.i = b != 0}; }
static inline tl_val tl_v_int(int64_t i) { return (tl_val){.kind = TL_INT, .u.i = i}; }
static inline tl_val tl_v_float(double f) { return (tl_val){.kind = TL_FLOAT, .u.f = f}; }
tl_val tl_v_str(const char *s, size_t n);          /* not copied */
tl_val tl_v_cstr(const char *s);
tl_val tl_v_copy(tl_tx *c, const char *s, size_t n);
tl_val tl_v_undef(const char *why);                /* why: a text that stays */
tl_val tl_v_undef_attr(int kind, tl_val name);
tl_val tl_v_list(tl_tx *c, int kind, size_t cap);  /* TL_LIST or TL_TUPLE */
void tl_v_push(tl_tx *c, tl_val list, tl_val v);
tl_val tl_v_pair(tl_tx *c, tl_val a, tl_val b);    /* a tuple */
tl_val tl_v_dict(tl_tx *c);

const char *tl_v_type(tl_val v);                   /* Python's name of the type */
int tl_v_is(tl_val v, const char *text);           /* a string, equal to text */
static inline int tl_v_has_int(tl_val v) { return v.kind == TL_INT || v.kind == TL_BOOL; }
static inline int tl_v_has_num(tl_val v) { return tl_v_has_int(v) || v.kind == TL_FLOAT; }
static inline double tl_v_num(tl_val v) { return v.kind == TL_FLOAT ? v.u.f : (double)v.u.i; }
int tl_v_truth(tl_tx *c, tl_val v);
int tl_v_equal(tl_tx *c, tl_val a, tl_val b);
int tl_v_same(tl_val a, tl_val b);                 /* identity, as far as values have one */
/* -1, 0, 1; op for the error about types that have no order. NaN: 2. */
int tl_v_compare(tl_tx *c, tl_val a, tl_val b, const char *op);
/* Fails with what an undefined value has to say about itself. */
_Noreturn void tl_v_undef_fail(tl_tx *c, tl_val v);

tl_val *tl_dict_find(tl_tx *c, const tl_dict *d, tl_val key);
void tl_dict_remove(tl_tx *c, tl_dict *d, tl_val key);
void tl_dict_set(tl_tx *c, tl_dict *d, tl_val key, tl_val v);

/* Items of anything that can be iterated. */
typedef struct tl_iter { tl_val v; size_t at; } tl_iter;
tl_iter tl_iter_of(tl_tx *c, tl_val v);            /* fails for other types */
int tl_iter_next(tl_tx *c, tl_iter *it, tl_val *out);
int tl_v_iterable(tl_val v);
tl_val tl_v_to_list(tl_tx *c, tl_val v);           /* a new list */
int64_t tl_v_length(tl_tx *c, tl_val v);           /* as len(); -1: has none */

/* A source of items made on demand; next returns 0 at the end. */
typedef struct tl_gen {
    int (*next)(tl_tx *c, struct tl_gen *g, tl_val *out);
    const char *type;        /* "generator" */
    tl_iter src;
    tl_val a, b;
    const void *p;
    size_t at, n;
    int flag;
} tl_gen;
tl_val tl_v_gen(tl_tx *c, tl_val src, int (*next)(tl_tx *, tl_gen *, tl_val *), tl_gen **g);

/* Strings: counted and cut by code points. */
size_t tl_str_len(tl_tx *c, tl_val s);
/* Byte offset of code point i, at most n. */
size_t tl_str_offset(tl_tx *c, tl_val s, size_t i);
tl_val tl_str_sub(tl_val s, size_t from, size_t to);         /* bytes */
/* Byte offset of the first sub at or after from, SIZE_MAX: none. */
size_t tl_str_find(tl_tx *c, tl_val s, tl_val sub, size_t from);
size_t tl_str_rfind(tl_tx *c, tl_val s, tl_val sub, size_t to);

/* print.c: texts of values. */
void tl_v_write(tl_tx *c, tl_val v);               /* str() */
void tl_v_write_repr(tl_tx *c, tl_val v);          /* repr() */
tl_val tl_v_text(tl_tx *c, tl_val v);              /* str(); strings as they are, safe ones stay safe */
tl_val tl_v_plain(tl_tx *c, tl_val v);             /* str(), not safe */
tl_val tl_v_escape(tl_tx *c, tl_val v);            /* HTML; the result is safe */
int tl_float_repr(double f, char out[32]);         /* Python's shortest form; returns its length */

double tl_read_float(const char *s, size_t n);     /* whatever the locale */

/* json.c */
typedef struct tl_json_style { int ascii, sort, pretty; tl_val indent, comma, colon; } tl_json_style;
void tl_v_write_json(tl_tx *c, tl_val v, const tl_json_style *style);
tl_val tl_v_read_json(tl_tx *c, const char *s, size_t n);

/* unicode.c */
int32_t tl_cp_upper(int32_t cp);
int32_t tl_cp_lower(int32_t cp);
int tl_cp_space(int32_t cp);                       /* str.isspace */
int tl_cp_printable(int32_t cp);
int tl_cp_alpha(int32_t cp);
int tl_cp_digit(int32_t cp);

#endif
