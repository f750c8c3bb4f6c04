/* SPDX-License-Identifier: MIT
 *
 * check.c: whether a file is a model that can be run: its architecture, tokenizer, hyper-parameters and tensors.
 * Opening a model and inspecting a file ask the same here. */
#include "model/model.h"

static int unknown_arch(tl_slice name, const char *path, tl_error *err) {
    tl_buf known = {0};
    for (size_t i = 0; tl_arch_name(i); i++) tl_buf_fmt(&known, "%s%s", i ? ", " : "", tl_arch_name(i));
    int rc = tl_fail(err, TL_E_UNSUPPORTED, "%s: architecture \"%.*s\" is not supported; supported are %s", path,
                     (int)(name.n < 64 ? name.n : 64), name.p, known.p ? known.p : "none");
    tl_buf_free(&known);
    return rc;
}

int tl_check_model(struct tl_model *m, int exact, const char *path, tl_error *err) {
    tl_faults f = {0};
    tl_slice name = {0};
    tl_gguf_str(m->gguf, "general.architecture", &name, NULL);
    if (!name.n) return tl_fail(err, TL_E_FORMAT, "%s: general.architecture is missing", path);
    if (!(m->arch = tl_arch_find(name))) return unknown_arch(name, path, err);
    if (!(m->tok = tl_load_tokenizer(m->gguf, err))) {
        tl_error_context(err, "%s", path);
        return TL_E_FORMAT;
    }
    int rc = tl_hparams_load(m->gguf, m->arch, &m->hp, &f, err);
    if (rc) {
        tl_buf_free(&f.text);
        return rc;
    }
    if (f.n) return tl_faults_end(&f, path, err);   /* shapes follow from these: tensors could not be judged */
    rc = tl_bind(m, exact, &f, err);
    if (rc) tl_buf_free(&f.text);
    return rc ? rc : tl_faults_end(&f, path, err);
}

void tl_check_done(struct tl_model *m) {
    tl_unbind(m);
    tl_hparams_done(&m->hp);
    tl_tokenizer_free(m->tok);
    m->tok = NULL;
}
