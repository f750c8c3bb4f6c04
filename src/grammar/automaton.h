/* SPDX-License-Identifier: MIT
 *
 * automaton.h: where a text stands in a grammar, and what each byte makes of that. A state is a set of items {step, where
 * to return to}, and so is "where to return to": equal sets are one, by number, so that ambiguous grammars take polynomial
 * memory, and transitions can be remembered. Sets are made when they are met. Belongs to one caller at a time. */
#ifndef TL_GRAMMAR_AUTOMATON_H
#define TL_GRAMMAR_AUTOMATON_H

#include "grammar/program.h"

typedef struct tl_item { int32_t op, ret; } tl_item;   /* op 0: at the end; ret: a set, always of a lower number */

typedef struct tl_set {
    uint32_t first, n, hash;   /* item[first .. first + n), rising */
    int32_t table;             /* of its transitions, -1: none yet */
    int32_t mask;              /* of tl_masks, -1: none yet */
    int32_t like;              /* the set of the items' likes: as a state, the same for TL_GBNF_FAR bytes */
} tl_set;

typedef struct tl_call { int32_t ret, set, next; } tl_call;

/* Set 0 is empty: as a state nothing fits any more, as a place to return to the text's end. */
enum { TL_DEAD = 0 };

typedef struct tl_automaton {
    tl_program p;
    tl_set *set; int n_sets, sets_cap;
    tl_item *item; size_t n_items, items_cap;
    int32_t *slot; uint32_t mask;         /* sets by hash: number + 1 */
    int32_t (*table)[256]; int n_tables, tables_cap;   /* -1: not known yet */
    int start;                            /* state */
    uint64_t looked;                      /* items looked at so far: what all this costs */
    int failed;                           /* TL_E_*: why the last step gave TL_DEAD without cause */

    /* scratch of a step */
    tl_item *work; size_t n_work, work_cap;
    tl_item *out; size_t n_out, out_cap;
    tl_item *alike; size_t n_alike, alike_cap;
    uint64_t *seen; uint32_t seen_mask;   /* items of work, as numbers; 0: empty */
    int32_t *called;                      /* [n_rules] by rank: first of its calls, -1: none */
    tl_call *call; size_t n_calls, calls_cap;
    int32_t *heap; int n_heap;            /* [n_rules] ranks of called rules, the lowest first */
} tl_automaton;

/* The automaton of a grammar's text. Ends with tl_automaton_free, also after an error. */
int tl_automaton_init(tl_automaton *a, const char *gbnf, size_t n, tl_error *err);
void tl_automaton_free(tl_automaton *a);
/* The state after byte b. TL_DEAD: it does not fit, or a->failed is set. */
int tl_automaton_step(tl_automaton *a, int state, uint8_t b);
/* The same from a table, for states that step has met. */
static inline int tl_automaton_next(tl_automaton *a, int state, uint8_t b) {
    int t = a->set[state].table, to = t < 0 ? -1 : a->table[t][b];
    return to < 0 ? tl_automaton_step(a, state, b) : to;
}
/* May the text end here? Can it do nothing else? */
int tl_automaton_may_end(const tl_automaton *a, int state);
int tl_automaton_only_ends(const tl_automaton *a, int state);
/* Is it time to forget? Then all sets but those that keep [n] need get away; keep gets their new numbers. All masks and
 * tables are gone. An error: what is left is too much. */
int tl_automaton_full(const tl_automaton *a);
int tl_automaton_forget(tl_automaton *a, int *keep, int n, tl_error *err);
/* The error of a failed step. */
int tl_automaton_fault(tl_automaton *a, tl_error *err);

#endif
