/* SPDX-License-Identifier: MIT
 *
 * cmd_sampling.c: see cmd_sampling.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cmd/cmd_sampling.h"
#include "sample/sample.h"

const char tl_sampling_order_help[] = "order of the steps behind the bias; those left out are off; default "
#define EDIT(name, aliases) #name ","
#define KEEP EDIT
#define STEP EDIT
#include "sample/steps.def"
#undef EDIT
#undef KEEP
#undef STEP
    " then the draw";

tl_sampling_args tl_cmd_sampling_default(void) {
    tl_sampler_options o = tl_sampler_options_default();
    return (tl_sampling_args){
        .temp = (double)o.temp, .top_p = (double)o.top_p, .min_p = (double)o.min_p,
        .repeat_penalty = (double)o.repeat_penalty, .presence_penalty = (double)o.presence_penalty,
        .frequency_penalty = (double)o.frequency_penalty, .typical = (double)o.typical,
        .top_n_sigma = (double)o.top_n_sigma, .xtc_probability = (double)o.xtc_probability,
        .xtc_threshold = (double)o.xtc_threshold, .dry_multiplier = (double)o.dry_multiplier,
        .dry_base = (double)o.dry_base, .mirostat_lr = (double)o.mirostat_lr, .mirostat_ent = (double)o.mirostat_ent,
        .dynatemp_range = (double)o.dynatemp_range, .dynatemp_exp = (double)o.dynatemp_exp,
        .top_k = o.top_k, .repeat_last_n = o.repeat_last_n, .dry_allowed_length = o.dry_allowed_length,
        .dry_penalty_last_n = o.dry_penalty_last_n, .mirostat = o.mirostat, .seed = -1,
    };
}

/* Without biases. */
static tl_sampler_options options_of(const tl_sampling_args *a) {
    tl_sampler_options o = {
        .temp = (float)a->temp, .top_k = (int)a->top_k, .top_p = (float)a->top_p, .min_p = (float)a->min_p,
        .repeat_penalty = (float)a->repeat_penalty, .presence_penalty = (float)a->presence_penalty,
        .frequency_penalty = (float)a->frequency_penalty, .repeat_last_n = (int)a->repeat_last_n, .seed = a->seed,
        .typical = (float)a->typical, .top_n_sigma = (float)a->top_n_sigma,
        .xtc_probability = (float)a->xtc_probability, .xtc_threshold = (float)a->xtc_threshold,
        .dry_multiplier = (float)a->dry_multiplier, .dry_base = (float)a->dry_base,
        .dry_allowed_length = (int)a->dry_allowed_length, .dry_penalty_last_n = (int)a->dry_penalty_last_n,
        .mirostat = (int)a->mirostat, .mirostat_lr = (float)a->mirostat_lr, .mirostat_ent = (float)a->mirostat_ent,
        .dynatemp_range = (float)a->dynatemp_range, .dynatemp_exp = (float)a->dynatemp_exp, .samplers = a->samplers,
    };
    if (a->dry_breakers.n) {
        const int none = a->dry_breakers.n == 1 && strcmp(a->dry_breakers.v[0], "none") == 0;
        o.dry_breakers = a->dry_breakers.v;
        o.n_dry_breakers = none ? 0 : a->dry_breakers.n;
    }
    return o;
}

static int parse_bias(const char *text, tl_logit_bias *b, tl_error *err) {
    char *end = NULL;
    errno = 0;
    long long id = strtoll(text, &end, 10);
    int bad = end == text || *end != '=' || errno || id < 0 || id > INT32_MAX;
    const char *number = bad ? "" : end + 1;
    double v = strtod(number, &end);
    if (bad || end == number || *end || !isfinite((float)v))
        return tl_fail(err, TL_E_ARGUMENT, "--logit-bias wants ID=NUMBER, not '%s'", text);
    *b = (tl_logit_bias){(int32_t)id, (float)v};
    return TL_OK;
}

int tl_cmd_sampling_check(const tl_sampling_args *a, tl_error *err) {
    tl_logit_bias b;
    for (int i = 0; i < a->bias.n; i++)
        if (parse_bias(a->bias.v[i], &b, err) != TL_OK) return err->code;
    tl_sampler_options o = options_of(a);
    tl_sampler *s = tl_sampler_create(1, &o, err);
    tl_sampler_free(s);
    return s ? TL_OK : err->code;
}

/* The biases of the command line and, with --ignore-eos, one for every token that ends a text. */
static tl_logit_bias *make_biases(const tl_sampling_args *a, const tl_model *m, int *n, tl_error *err) {
    int n_vocab = a->ignore_eos ? tl_model_get_info(m).n_vocab : 0;
    tl_logit_bias *b = tl_alloc_n((size_t)a->bias.n + (size_t)n_vocab, sizeof *b, "logit bias", err);
    *n = 0;
    if (!b) return NULL;
    for (int i = 0; i < a->bias.n; i++) {
        if (parse_bias(a->bias.v[i], &b[*n], err) != TL_OK) {
            tl_free(b);
            return NULL;
        }
        ++*n;
    }
    for (int32_t id = 0; id < n_vocab; id++)
        if (tl_token_is_end(m, id)) b[(*n)++] = (tl_logit_bias){id, -INFINITY};
    return b;
}

tl_sampler *tl_cmd_sampler(const tl_sampling_args *a, const tl_model *m, tl_error *err) {
    tl_sampler_options o = options_of(a);
    tl_logit_bias *bias = make_biases(a, m, &o.n_bias, err);
    if (!bias) return NULL;
    o.bias = bias;
    tl_sampler *s = tl_sampler_new(m, &o, err);
    tl_free(bias);
    return s;
}
