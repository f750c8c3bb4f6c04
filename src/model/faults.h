/* SPDX-License-Identifier: MIT
 *
 * faults.h: what is wrong with a file, collected, so that a user sees all of it at once. */
#ifndef TL_FAULTS_H
#define TL_FAULTS_H

#include "base/base.h"

/* n_unsupported of n are valid, but cannot be computed yet. no_memory: something could not be looked at, so nothing is
 * said of the file. Begins as {0}. */
typedef struct tl_faults { tl_buf text; int n, n_unsupported, no_memory; } tl_faults;
void tl_fault(tl_faults *f, const char *fmt, ...) TL_PRINTF(2, 3);
/* The same for what is valid, but cannot be computed yet. */
void tl_unsupported(tl_faults *f, const char *fmt, ...) TL_PRINTF(2, 3);
/* Turns them into one error (TL_E_UNSUPPORTED if all are of that kind; TL_E_MEMORY); TL_OK if there are none. Frees the buffer. */
int tl_faults_end(tl_faults *f, const char *path, tl_error *err);

#endif
