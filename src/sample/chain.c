/* SPDX-License-Identifier: MIT
 *
 * chain.c: which steps of steps.def act, and in which order: those of a list of names that the options ask for. */
#include <string.h>
#include "sample/steps.h"

/* "top-k" is "top_k". */
static int same_name(const char *a, size_t n_a, const char *b, size_t n_b) {
    if (n_a != n_b) return 0;
    for (size_t i = 0; i < n_a; i++)
        if ((a[i] == '-' ? '_' : a[i]) != b[i]) return 0;
    return 1;
}

static int is_named(const tl_sample_step *step, const char *word, size_t n) {
    if (same_name(word, n, step->name, strlen(step->name))) return 1;
    for (const char *p = step->aliases; *p;) {
        const size_t len = strcspn(p, ",");
        if (same_name(word, n, p, len)) return 1;
        p += len + (p[len] == ',');
    }
    return 0;
}

static int unknown(const char *word, size_t n, tl_error *err) {
    tl_buf names = {0};
    for (const tl_sample_step *step = tl_sample_steps; step->name; step++)
        tl_buf_fmt(&names, "%s%s", names.n ? ", " : "", step->name);
    const int rc = tl_fail(err, TL_E_ARGUMENT, "sampler: '%.*s' in the list of samplers is none of %s", (int)(n < 100 ? n : 100),
                           word, names.p ? names.p : "them");
    tl_buf_free(&names);
    return rc;
}

static int twice(const tl_sample_step *step, tl_error *err) {
    return tl_fail(err, TL_E_ARGUMENT, "sampler: %s stands twice in the list of samplers", step->name);
}

static void add(tl_sampler *s, const tl_sample_step *step) {
    if (step->on(s)) s->chain.step[s->chain.n++] = step;
}

/* Mirostat steers by what is drawn: truncations before it would work against it. */
static void add_all(tl_sampler *s) {
    const int mirostat = s->o.mirostat != 0;
    for (const tl_sample_step *step = tl_sample_steps; step->name; step++) {
        const int needed = step->edit || strcmp(step->name, "temp") == 0 || strcmp(step->name, "mirostat") == 0;
        if (!mirostat || needed) add(s, step);
    }
}

static int add_list(tl_sampler *s, const char *list, tl_error *err) {
    unsigned taken = 0;   /* bits of the table's rows */
    for (const char *p = list + strspn(list, " "); *p;) {
        size_t len = strcspn(p, ",;"), n = len;
        while (n && p[n - 1] == ' ') n--;
        const tl_sample_step *step = tl_sample_steps;
        while (step->name && !is_named(step, p, n)) step++;
        if (!step->name) return unknown(p, n, err);
        const unsigned bit = 1u << (step - tl_sample_steps);
        if (taken & bit) return twice(step, err);
        taken |= bit;
        add(s, step);
        if (!p[len]) break;
        p += len + 1;
        p += strspn(p, " ");
        if (!*p) return unknown(p, 0, err);   /* a separator ends the list */
    }
    return TL_OK;
}

int tl_sample_chain_make(tl_sampler *s, const char *list, tl_error *err) {
    tl_sample_chain *c = &s->chain;
    *c = (tl_sample_chain){0};
    if (!list) add_all(s);
    else if (add_list(s, list, err) != TL_OK) return TL_E_ARGUMENT;
    while (c->n_lead < c->n && c->step[c->n_lead]->edit) c->n_lead++;
    int sure = 1;
    for (int i = 0; i < c->n; i++) {
        c->edits |= c->step[i]->edit != NULL;
        c->greedy |= strcmp(c->step[i]->name, "temp") == 0 && s->o.temp == 0 && s->o.dynatemp_range == 0;
        sure &= i < c->n_lead || (!c->step[i]->edit && c->step[i]->keeps_best);
    }
    c->greedy &= sure;
    c->top_k_first = c->n_lead < c->n && strcmp(c->step[c->n_lead]->name, "top_k") == 0;
    return TL_OK;
}
