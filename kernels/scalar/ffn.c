/* SPDX-License-Identifier: MIT
 * ffn.def as data: facts of the activation functions of feed-forwards, and the functions in plain C. */
#include <math.h>
#include "scalar/scalar.h"

const tl_ffn_type tl_ffn_types[TL_N_FFN] = {
#define FFN(NAME, name, gated, vector) {#name, gated},
#include "ffn.def"
#undef FFN
};

static void swiglu(float *y, const float *u, int n) {
    for (int i = 0; i < n; i++) y[i] = y[i] / (1 + expf(-y[i])) * u[i];
}

/* 0.5 y (1 + tanh z) = y / (1 + exp(-2z)), z = sqrt(2/pi) (y + 0.044715 y^3): the second form does not cancel. */
static float gelu_of(float y) {
    const float z2 = 1.5957691216f * y * (1 + 0.044715f * y * y);
    return y / (1 + expf(-z2));
}

static void geglu(float *y, const float *u, int n) {
    for (int i = 0; i < n; i++) y[i] = gelu_of(y[i]) * u[i];
}

static void swiglu_oai(float *y, const float *u, int n) {
    for (int i = 0; i < n; i++) {
        const float z = y[i] > 7 ? 7 : y[i], v = u[i] > 7 ? 7 : u[i] < -7 ? -7 : u[i];
        y[i] = z / (1 + expf(-1.702f * z)) * (v + 1);
    }
}

static void gelu(float *y, const float *u, int n) {
    for (int i = 0; i < n; i++) y[i] = gelu_of(y[i]);
    (void)u;
}

/* 1 + erf(a) = erfc(-a), which does not cancel. */
static void gelu_erf(float *y, const float *u, int n) {
    for (int i = 0; i < n; i++) y[i] = 0.5f * y[i] * erfcf(y[i] * -0.707106781f);
    (void)u;
}

void tl_scalar_fill_ffn(tl_kernels *k) {
#define FFN(NAME, name, gated, vector) k->ffn[TL_FFN_##NAME] = name;
#include "ffn.def"
#undef FFN
}
