/* SPDX-License-Identifier: MIT
 *
 * schema.h: the parts of tl_schema_to_gbnf. A schema is a tree of JSON values (schema_doc.c). What a value must satisfy
 * is a goal: all schemas that apply to it together, since allOf, $ref and keywords beside them are one conjunction
 * (schema_goal.c). A goal becomes an expression (schema.c, and a file for each type that has keywords). */
#ifndef TL_GRAMMAR_SCHEMA_H
#define TL_GRAMMAR_SCHEMA_H

#include "base/json_read.h"
#include "grammar/lang.h"

enum { TL_SCHEMA_DEPTH = 100, TL_SCHEMA_NODES = 1 << 18, TL_SCHEMA_BYTES = 1 << 22, TL_GOAL_MAX = 64 };

/* Types of values. A number is WHOLE or PARTS: 1 and 1.5. */
enum {
    TL_IS_NULL = 1, TL_IS_BOOL = 2, TL_IS_WHOLE = 4, TL_IS_PARTS = 8, TL_IS_STRING = 16, TL_IS_LIST = 32, TL_IS_DICT = 64,
    TL_IS_NUMBER = TL_IS_WHOLE | TL_IS_PARTS, TL_IS_ANY = 127
};

/* A value of the document: 0 is the root, -1 none. key: in a dict. text: a string's, decoded, or a number's, as it stands. */
typedef struct tl_value_node {
    uint8_t kind, checked;                 /* tl_json_kind; whether its keywords are known to be right */
    int32_t parent, first, last, next, n;  /* n children */
    tl_slice key, text;
} tl_value_node;

/* One schema of a goal. from: the item whose $ref, allOf or anyOf named it, -1: none. */
typedef struct tl_goal_item { int32_t node, from; uint8_t any_done, one_done; } tl_goal_item;
typedef struct tl_goal { tl_goal_item item[TL_GOAL_MAX]; int n; uint8_t never; } tl_goal;   /* never: false is among them */

typedef struct tl_schema_job { int32_t rule, first, n; } tl_schema_job;   /* schemas [first, first + n) of tl_schema.goals */

typedef struct tl_schema {
    tl_lang *l;
    tl_value_node *node; size_t n_nodes, nodes_cap;
    tl_json_in in;
    char *chars; size_t n_chars;                 /* decoded strings: never longer than the document */
    int32_t *goals; size_t n_goals, goals_cap;
    tl_schema_job *job; size_t n_jobs, jobs_cap; /* every goal that has a rule */
    int32_t *job_slot; size_t n_slots;           /* job + 1 by hash of its schemas */
    int comma, colon, quote, digit, any;         /* expressions used everywhere; any: any value */
    int depth;                                   /* of anyOf and oneOf inside each other */
} tl_schema;

/* ---- schema_doc.c ---- */
void tl_schema_read(tl_schema *s, const char *json, size_t n);
/* Every error names this place from here on: the node, and a keyword in it (NULL: none). */
void tl_schema_at(tl_schema *s, int node, const char *keyword);
int tl_schema_get(const tl_schema *s, int node, const char *key);             /* -1: not there, or no dict */
int tl_schema_find(const tl_schema *s, int node, tl_slice key);
int tl_schema_ref(tl_schema *s, int ref);        /* the schema that the value of a $ref names */
/* Fails unless node is a schema whose keywords can all be enforced. */
void tl_schema_check(tl_schema *s, int node);
int tl_same_value(const tl_schema *s, int a, int b);

/* ---- schema_goal.c ---- */
/* Adds a schema, and what it refers to, to a goal. */
void tl_goal_add(tl_schema *s, tl_goal *g, int node, int from);
unsigned tl_goal_types(const tl_schema *s, const tl_goal *g);                 /* by type, enum and const */
/* The largest (or smallest) number that a keyword of the goal gives, at most TL_LANG_REPEAT_MAX; none if there is none. */
int tl_goal_count(tl_schema *s, const tl_goal *g, const char *keyword, int largest, int none);
int tl_goal_values(const tl_schema *s, const tl_goal *g);                     /* the first enum or const, -1 */
/* 1: value satisfies the goal (anyOf and oneOf aside); 0: it does not; -1: not decided. */
int tl_goal_allows(tl_schema *s, const tl_goal *g, int value);
/* The schemas that apply to a property of that name; 0 if none can be there. */
int tl_goal_property(tl_schema *s, const tl_goal *g, tl_slice name, int32_t *to, int *n);
/* What propertyNames ask for; 0 if there can be no names. */
int tl_goal_names(tl_schema *s, const tl_goal *g, tl_goal *names);
int tl_goal_required(const tl_schema *s, const tl_goal *g, tl_slice name);
/* Whether it is proved that no value satisfies both. */
int tl_goals_differ(tl_schema *s, const tl_goal *a, const tl_goal *b, int depth);

/* ---- schema_string.c ---- */
/* What pattern and format of a goal, and enum and const if listed is set, ask of a text: m [n of 64], added. */
void tl_string_musts(tl_schema *s, const tl_goal *g, int listed, tl_lang_must *m, int *n);
void tl_must_add(tl_schema *s, tl_lang_must *m, int *n, int lang, int not);
/* A string in quotes that all of m and the lengths of g allow. */
int tl_string_emit(tl_schema *s, const tl_goal *g, tl_lang_must *m, int n);
void tl_string_format(tl_schema *s, int node);                                /* fails if the format is not known */

/* ---- schema_number.c ---- */
int tl_number_emit(tl_schema *s, const tl_goal *g, unsigned types);
int tl_number_allows(tl_schema *s, const tl_goal *g, int value);
int tl_number_whole(tl_slice text);
int tl_number_compare(tl_slice a, tl_slice b);                                /* -1, 0, 1 */
/* Whether the bounds of the two leave no number. */
int tl_number_differ(tl_schema *s, const tl_goal *a, const tl_goal *b);
void tl_number_check(tl_schema *s, int node);                                 /* a bound or multipleOf */

/* ---- schema_list.c, schema_dict.c ---- */
int tl_list_emit(tl_schema *s, const tl_goal *g);
int tl_dict_emit(tl_schema *s, const tl_goal *g);

/* ---- schema.c ---- */
/* A value that satisfies all of schemas [n]: a call of its rule, which may still have to be made. */
int tl_schema_value(tl_schema *s, const int32_t *schemas, int n);
int tl_schema_quoted(tl_schema *s, tl_slice text);     /* as a JSON string */

#endif
