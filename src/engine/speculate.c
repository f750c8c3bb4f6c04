/* SPDX-License-Identifier: MIT
 *
 * speculate.c: see speculate.h. Sources are in drafts/. */
#include "engine/speculate.h"

#include <string.h>

static const tl_draft_kind *const kinds[] = {
#define DRAFT(name, help) &tl_draft_##name,
#include "engine/drafts.def"
#undef DRAFT
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

const char *tl_draft_source_name(int i) { return i >= 0 && i < N_KINDS ? kinds[i]->name : NULL; }

tl_draft_options tl_draft_options_default(void) { return (tl_draft_options){0}; }

tl_draft *tl_draft_new(const tl_model *m, const tl_draft_options *options, tl_error *err) {
    tl_draft_options o = options ? *options : tl_draft_options_default();
    for (int i = 0; i < N_KINDS; i++)
        if (!o.source || strcmp(o.source, kinds[i]->name) == 0) return tl_draft_make(kinds[i], m, &o, err);
    tl_fail(err, TL_E_ARGUMENT, "draft: there is no source '%s'", o.source);
    return NULL;
}

tl_draft *tl_draft_make(const tl_draft_kind *kind, const tl_model *m, const tl_draft_options *o, tl_error *err) {
    if (!m) {
        tl_null(err, "model");
        return NULL;
    }
    if (o->max < 0 || o->max > TL_DRAFT_MAX) {
        tl_fail(err, TL_E_ARGUMENT, "draft: max is %d, allowed are 1 to %d (0: default)", o->max, TL_DRAFT_MAX);
        return NULL;
    }
    tl_draft *d = tl_alloc_n(1, kind->size, "a draft", err);
    if (!d) return NULL;
    *d = (tl_draft){.kind = kind, .m = m, .max = o->max ? o->max : TL_DRAFT_MAX, .pace = tl_pace_start()};
    if (kind->init(d, o, err) == TL_OK) return d;
    tl_draft_free(d);
    return NULL;
}

void tl_draft_free(tl_draft *d) {
    if (!d) return;
    d->kind->done(d);
    tl_free(d->ids);
    tl_free(d);
}

int tl_draft_begin(tl_draft *d, tl_session *s, int seq, tl_error *err) {
    int rc = tl_session_reserve_logits(s, d->max + 1, err), cap = tl_session_ctx(s) + 1;
    if (rc != TL_OK) return rc;
    if (cap > d->cap) {
        int32_t *ids = tl_realloc_n(d->ids, (size_t)cap, sizeof *ids, "the text's tokens", err);
        if (!ids) return TL_E_MEMORY;
        d->ids = ids;
        d->cap = cap;
    }
    d->s = s;
    d->n = tl_session_tokens(s, seq, d->ids, d->cap);
    return d->kind->begin(d, err);
}

void tl_draft_add(tl_draft *d, int32_t id) {
    if (d->n == d->cap) return;
    d->ids[d->n++] = id;
    if (d->kind->added) d->kind->added(d);
}

int tl_draft_propose(tl_draft *d, int32_t id, int32_t *out, int most) {
    tl_draft_add(d, id);
    if (most > d->max) most = d->max;
    int k = d->eager || most < 1 ? most : tl_pace_choose(&d->pace, most);
    return k > 0 ? d->kind->propose(d, out, k) : 0;
}
