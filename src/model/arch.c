/* SPDX-License-Identifier: MIT
 * The table of architectures, and faults that are reported together. */
#include "model/hparams.h"

#include <stdarg.h>
#include <stdio.h>

#define ARCH(name) extern const tl_arch tl_arch_##name;
#include "arch.def"
#undef ARCH

static const tl_arch *const archs[] = {
#define ARCH(name) &tl_arch_##name,
#include "arch.def"
#undef ARCH
};

const tl_arch *tl_arch_find(tl_slice name) {
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (tl_slice_is(name, archs[i]->name)) return archs[i];
    return NULL;
}

const char *tl_arch_name(size_t i) { return i < sizeof archs / sizeof *archs ? archs[i]->name : NULL; }

static void add_fault(tl_faults *f, const char *fmt, va_list ap) {
    char text[300];
    vsnprintf(text, sizeof text, fmt, ap);
    if (f->n++) tl_buf_str(&f->text, "; ");
    tl_buf_str(&f->text, text);
}

void tl_fault(tl_faults *f, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    add_fault(f, fmt, ap);
    va_end(ap);
}

void tl_unsupported(tl_faults *f, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    add_fault(f, fmt, ap);
    va_end(ap);
    f->n_unsupported++;
}

int tl_faults_end(tl_faults *f, const char *path, tl_error *err) {
    int n = f->n, rc = TL_OK;
    if (n) {
        const int room = 380; /* of the error's text; a long list is cut, its length told */
        int len = (int)f->text.n, cut = len > room;
        int code = n == f->n_unsupported ? TL_E_UNSUPPORTED : TL_E_FORMAT;
        rc = tl_fail(err, code, "%s: %d fault%s: %.*s%s", path, n, n > 1 ? "s" : "", cut ? room : len,
                     f->text.p ? f->text.p : "", cut ? " ..." : "");
    }
    tl_buf_free(&f->text);
    f->n = f->n_unsupported = 0;
    return rc;
}
