/* SPDX-License-Identifier: MIT
 * logprobs_test.c: log-probabilities against their definition. */
#include "test.h"
#include "base/rng.h"
#include "model/model.h"

#include <math.h>

enum { N = 3000 };

/* A model of which nothing is needed but its vocabulary's size. */
static struct tl_model model;
static double at(const float *x, int n, int32_t id, tl_logprob *top, int n_top) {
    model.hp.n_vocab = n;
    return tl_logprobs(&model, x, id, top, n_top);
}

static void by_definition(void) {
    static float x[N];
    static tl_logprob top[N];
    tl_rng rng;
    tl_rng_seed(&rng, 3);
    for (int round = 0; round < 50; round++) {
        const double scale = round % 3 == 0 ? 1e-3 : round % 3 == 1 ? 10 : 300;
        for (int i = 0; i < N; i++) x[i] = (float)((tl_rng_double(&rng) - 0.5) * scale + (round % 2 ? 1e4 : 0));
        if (round % 5 == 0) x[round] = x[N - 1 - round] = -INFINITY;
        if (round % 7 == 0) x[1] = x[2] = x[3];
        double sum = 0, all = 0;
        for (int i = 0; i < N; i++) sum += exp((double)x[i] - (double)x[7]);
        for (int32_t id = 0; id < N; id++) {
            const double want = (double)x[id] - (double)x[7] - log(sum), got = at(x, N, id, NULL, 0);
            all += exp(got);
            CHECKF(got == want || fabs(got - want) < 1e-5, "token %d: %g, not %g", (int)id, got, want);
        }
        CHECKF(fabs(all - 1) < 1e-5, "probabilities sum up to %.12g", all);
        const int n_top = round % 4 == 0 ? N : 1 + round;
        at(x, N, 0, top, n_top);
        for (int i = 0; i < n_top; i++) {
            int before = 0;   /* tokens that come before this one */
            for (int32_t id = 0; id < N; id++) before += x[id] > x[top[i].id] || (x[id] == x[top[i].id] && id < top[i].id);
            CHECKF(before == i && top[i].logprob == at(x, N, top[i].id, NULL, 0), "place %d has token %d", i, (int)top[i].id);
        }
    }
}

static void extremes(void) {
    static const float one[1] = {-5}, ban[2] = {-INFINITY, 3}, nan[2] = {NAN, 1}, up[2] = {INFINITY, 1};
    tl_logprob top[3];
    CHECK(at(one, 1, 0, top, 3) == 0 && top[0].id == 0 && top[0].logprob == 0 && top[1].id == -1 && top[2].id == -1);
    CHECK(at(ban, 2, 0, top, 2) == -INFINITY && top[0].id == 1 && top[0].logprob == 0 && top[1].id == 0);
    CHECK(isnan(at(nan, 2, 1, top, 1)) && isnan(at(up, 2, 0, NULL, 5)));
    CHECK(isnan(at(ban, 2, 2, NULL, 0)) && isnan(at(ban, 2, -1, NULL, 0)) && isnan(at(ban, 0, 0, NULL, 0)));
    CHECK(isnan(at(NULL, 2, 0, top, 2)) && top[0].id == -1 && isnan(top[0].logprob));
    CHECK(at(ban, 2, 1, top, -1) == 0);
}

int main(void) {
    model.arch = tl_arch_find((tl_slice){"llama", 5});
    for (int level = 0; level <= tl_level_best(); level++) {
        tl_kernels_init(&model.k, level);
        RUN(by_definition);
        RUN(extremes);
    }
    return tl_test_end();
}
