/* SPDX-License-Identifier: MIT
 * faults.c: collect the faults of a file, and report them as one error. */
#include "model/faults.h"

#include <stdarg.h>
#include <stdio.h>

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
    if (f->no_memory || f->text.failed) rc = tl_fail(err, TL_E_MEMORY, "%s: out of memory while checking the file", path);
    else if (n) {
        const int room = 380; /* of the error's text; a long list is cut, its length told */
        int len = (int)f->text.n, cut = len > room;
        int code = n == f->n_unsupported ? TL_E_UNSUPPORTED : TL_E_FORMAT;
        rc = tl_fail(err, code, "%s: %d fault%s: %.*s%s", path, n, n > 1 ? "s" : "", cut ? room : len,
                     f->text.p ? f->text.p : "", cut ? " ..." : "");
    }
    tl_buf_free(&f->text);
    f->n = f->n_unsupported = f->no_memory = 0;
    return rc;
}
