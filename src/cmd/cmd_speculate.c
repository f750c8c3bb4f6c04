/* SPDX-License-Identifier: MIT
 *
 * cmd_speculate.c: see cmd_speculate.h. */
#include <string.h>
#include "cmd/cmd_speculate.h"

#define MODEL "model"   /* the source that needs one */

const char tl_cmd_speculate_help[] = "guess tokens and check them together, for the same text sooner:"
#define DRAFT(name, help) " " #name " (" help "),"
#include "engine/drafts.def"
#undef DRAFT
    " or off; default off";

static const char *source_of(const tl_speculate_args *a) {
    if (a->source) return strcmp(a->source, "off") == 0 ? NULL : a->source;
    return a->draft ? MODEL : NULL;
}

int tl_cmd_speculate_check(const tl_speculate_args *a, tl_error *err) {
    const char *source = source_of(a);
    int known = !source;
    for (int i = 0; tl_draft_source_name(i); i++) known |= source && strcmp(source, tl_draft_source_name(i)) == 0;
    if (!known) {
        char names[128] = "off";
        for (int i = 0; tl_draft_source_name(i); i++) {
            size_t n = strlen(names);
            snprintf(names + n, sizeof names - n, "%s%s", tl_draft_source_name(i + 1) ? ", " : " or ", tl_draft_source_name(i));
        }
        return tl_fail(err, TL_E_ARGUMENT, "--speculate: unknown source '%s'; it may be %s", source, names);
    }
    int wants = source && strcmp(source, MODEL) == 0;
    if (wants && !a->draft) return tl_fail(err, TL_E_ARGUMENT, "--speculate model needs --draft FILE");
    if (!wants && a->draft) return tl_fail(err, TL_E_ARGUMENT, "--draft needs --speculate model, not %s", source ? source : "off");
    if (!source && a->max) return tl_fail(err, TL_E_ARGUMENT, "--draft-max needs --speculate or --draft");
    return TL_OK;
}

int tl_cmd_speculate_open(tl_speculation *p, const tl_speculate_args *a, const tl_model_args *model, const tl_model *m,
                          const tl_session *s, tl_error *err) {
    tl_draft_options o = tl_draft_options_default();
    if (!(o.source = source_of(a))) return TL_OK;
    o.max = (int)a->max;
    if (a->draft) {
        if (!(p->model = tl_cmd_open(model, a->draft, 0, err))) return err->code;
        o.model = p->model;
        o.session.n_ctx = tl_session_ctx(s);
        o.session.n_threads = (int)model->threads;
        o.session.kv_type = tl_cmd_kv(model, err);
    }
    p->draft = tl_draft_new(m, &o, err);
    if (!p->draft && a->draft) tl_error_context(err, "%s", a->draft);
    return p->draft ? TL_OK : err->code;
}

void tl_cmd_speculate_close(tl_speculation *p) {
    tl_draft_free(p->draft);
    tl_model_free(p->model);
    *p = (tl_speculation){0};
}
