/* SPDX-License-Identifier: MIT
 *
 * ffn_form.h: the activation functions of feed-forwards in double, without the code under test. */
#ifndef TL_TEST_FFN_FORM_H
#define TL_TEST_FFN_FORM_H
#include <math.h>
#include "kernels.h"

typedef struct ffn_form {
    double (*of)(double y, double u);   /* u: of no meaning where the function has no gate */
    double (*exponent)(double y);       /* of the exponential inside: what its roundings are relative to */
} ffn_form;

/* 0.5 y (1 + tanh z) = y / (1 + exp(-2z)), which does not cancel. */
static inline double gelu_exponent(double y) { return 2 * sqrt(2 / 3.14159265358979323846) * (y + 0.044715 * y * y * y); }
static inline double gelu_of(double y, double u) { return (void)u, y / (1 + exp(-gelu_exponent(y))); }
static inline double geglu_of(double y, double u) { return gelu_of(y, 1) * u; }

static inline double erf_exponent(double y) { return y * y; }
static inline double gelu_erf_of(double y, double u) { return (void)u, y / 2 * erfc(-y / sqrt(2)); }

static inline double swiglu_exponent(double y) { return y; }
static inline double swiglu_of(double y, double u) { return y / (1 + exp(-y)) * u; }

static inline double oai_exponent(double y) { return (double)1.702f * fmin(y, 7); }
static inline double swiglu_oai_of(double y, double u) { return fmin(y, 7) / (1 + exp(-oai_exponent(y))) * (fmax(-7, fmin(u, 7)) + 1); }

static const ffn_form ffn_forms[] = {
    [TL_FFN_SWIGLU] = {swiglu_of, swiglu_exponent},
    [TL_FFN_GEGLU] = {geglu_of, gelu_exponent},
    [TL_FFN_SWIGLU_OAI] = {swiglu_oai_of, oai_exponent},
    [TL_FFN_GELU] = {gelu_of, gelu_exponent},
    [TL_FFN_GELU_ERF] = {gelu_erf_of, erf_exponent},
};
_Static_assert(sizeof ffn_forms / sizeof *ffn_forms == TL_N_FFN, "a row for each function of ffn.def");

#endif
