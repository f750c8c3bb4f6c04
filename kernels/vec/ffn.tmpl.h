/* SPDX-License-Identifier: MIT
 *
 * ffn.tmpl.h: the activation functions of feed-forwards (ffn.def) with vectors: FN(<name>) of y (and x) in place. */

static void FN(swiglu)(float *y, const float *x, int n) { FOR_EACH(times_sigmoid(Y, Y) * X); }

/* 0.5 y (1 + tanh z) = y / (1 + exp(-2z)), z = sqrt(2/pi) (y + 0.044715 y^3) */
INLINE vf gelu(vf y) {
    return times_sigmoid(y, set1(1.5957691216f) * y * vfma(set1(0.044715f) * y, y, set1(1)));
}

static void FN(geglu)(float *y, const float *x, int n) { FOR_EACH(gelu(Y) * X); }

INLINE vf clamped_gate(vf y) {
    y = vmin(set1(7), y);
    return times_sigmoid(y, set1(1.702f) * y);
}

static void FN(swiglu_oai)(float *y, const float *x, int n) {
    FOR_EACH(clamped_gate(Y) * (vmin(set1(7), vmax(set1(-7), X)) + set1(1)));
}

static void FN(gelu)(float *y, const float *u, int n) {
    const float *x = y;
    (void)u;
    FOR_EACH(gelu(Y));
}

/* y/2 erfc(-y/sqrt(2)), from erfc of a = |y|/sqrt(2): erfc(a) = t exp(p - a^2), t = 1/(1 + a/2), p a polynomial in t about
 * its middle. (Remez exchange on ln(erfc(a)/t) + a^2 up to a = 9.6, where exp vanishes: error 4.3e-8.) */
INLINE vf gelu_erf(vf y) {
    const vf z = vmin(set1(16), (vf)((vu)y & set1_bits(0x7fffffff))), a = z * set1(0.707106781f);
    const vf t = set1(1) / vfma(a, set1(0.5f), set1(1)), u = t - set1(0.58f);
    vf p = vfma(set1(0.138968191f), u, set1(0.0771017922f));
    p = vfma(p, u, set1(-0.245054837f));
    p = vfma(p, u, set1(-0.0378679657f));
    p = vfma(p, u, set1(0.295777519f));
    p = vfma(p, u, set1(-0.0401677139f));
    p = vfma(p, u, set1(-0.406884492f));
    p = vfma(p, u, set1(0.0947747799f));
    p = vfma(p, u, set1(1.36811866f));
    p = vfma(p, u, set1(-0.563156827f));
    const vf tail = set1(0.5f) * z * t * vexp(vfma(-a, a, p));   /* |y|/2 erfc(a) */
    return blend(y > set1(0), y - tail, -tail);
}

static void FN(gelu_erf)(float *y, const float *u, int n) {
    const float *x = y;
    (void)u;
    FOR_EACH(gelu_erf(Y));
}
