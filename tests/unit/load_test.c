/* SPDX-License-Identifier: MIT
 * load_test.c: what is said of a file's settings: hyper-parameters at and beyond their bounds, vocabularies with wrong or
 * useless parts. */
#include "test.h"

#include <math.h>
#include <unistd.h>
#include "model/model.h"

/* ---- files ---- */

/* What a file gets instead of, or beside, the usual. */
typedef struct odd { const char *key; enum { NONE, F32, U32, STR, BOOL, I32S, F32S } kind; double v; const char *s; } odd;

enum { N_TOKENS = 6 };
static const char *const usual_tokens[N_TOKENS] = {"a", "b", "ab", "c", "<s>", "</s>"};

static int is_key(const odd *o, const char *key) { return o->kind != NONE && strcmp(o->key, key) == 0; }

static void put_odd(tl_gguf_writer *w, const odd *o) {
    int32_t ints[N_TOKENS] = {0};
    float floats[N_TOKENS] = {0};
    for (int i = 0; i < N_TOKENS; i++) ints[i] = (int32_t)o->v, floats[i] = (float)o->v;
    if (o->kind == F32) tl_gguf_put_f32(w, o->key, (float)o->v);
    if (o->kind == U32) tl_gguf_put_u32(w, o->key, (uint32_t)o->v);
    if (o->kind == STR) tl_gguf_put_str(w, o->key, o->s);
    if (o->kind == BOOL) tl_gguf_put_bool(w, o->key, o->v > 0);
    if (o->kind == I32S) tl_gguf_put_i32s(w, o->key, ints, N_TOKENS);
    if (o->kind == F32S) tl_gguf_put_f32s(w, o->key, floats, N_TOKENS);
}

static tl_gguf *make(const odd *o, const char *const *tokens, const char *const *merges, int n_merges) {
    char path[] = "/tmp/tl_load_XXXXXX";
    int fd = mkstemp(path);
    if (fd >= 0) close(fd);
    tl_error err = {0};
    int32_t types[N_TOKENS] = {1, 1, 1, 1, 3, 3};
    tl_gguf_writer *w = tl_gguf_writer_new(&err);
    const struct { const char *key; double v; } numbers[] = {
        {"llama.block_count", 1}, {"llama.embedding_length", 32}, {"llama.feed_forward_length", 32}, {"llama.attention.head_count", 2}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!is_key(o, numbers[i].key)) tl_gguf_put_u32(w, numbers[i].key, (uint32_t)numbers[i].v);
    if (!is_key(o, "llama.attention.layer_norm_rms_epsilon")) tl_gguf_put_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    tl_gguf_put_str(w, "tokenizer.ggml.model", "gpt2");
    tl_gguf_put_str(w, "tokenizer.ggml.pre", "gpt-2");
    if (!is_key(o, "tokenizer.ggml.tokens")) tl_gguf_put_strs(w, "tokenizer.ggml.tokens", tokens, N_TOKENS);
    if (!is_key(o, "tokenizer.ggml.token_type")) tl_gguf_put_i32s(w, "tokenizer.ggml.token_type", types, N_TOKENS);
    tl_gguf_put_strs(w, "tokenizer.ggml.merges", merges, (uint64_t)n_merges);
    put_odd(w, o);
    tl_gguf_write(w, path, &err);
    tl_gguf_writer_free(w);
    tl_gguf *g = tl_gguf_open(path, 0, &err);
    CHECKF(g, "%s", err.text);
    remove(path);
    return g;
}

/* ---- hyper-parameters ---- */

/* want: part of the fault, NULL: there is none. */
static void hparams_say(odd o, const char *want) {
    static const char *const merges[] = {"a b"};
    tl_gguf *g = make(&o, usual_tokens, merges, 1);
    tl_hparams hp;
    tl_faults f = {0};
    tl_error err = {0};
    CHECK(g && tl_hparams_load(g, tl_arch_find((tl_slice){"llama", 5}), &hp, &f, &err) == TL_OK);
    tl_faults_end(&f, "file", &err);
    CHECKF(want ? err.code && strstr(err.text, want) && strstr(err.text, o.key) : !err.code, "%s: %s", o.key, err.text);
    tl_hparams_done(&hp);
    tl_gguf_free(g);
}

static void bounds_hold_for_float32(void) {
    hparams_say((odd){"llama.attention.layer_norm_rms_epsilon", F32, 1e-12, NULL}, NULL);
    hparams_say((odd){"llama.attention.layer_norm_rms_epsilon", F32, 1, NULL}, NULL);
    hparams_say((odd){"llama.attention.layer_norm_rms_epsilon", F32, 0.9e-12, NULL}, "allowed are 1e-12 to 1");
    hparams_say((odd){"llama.attention.layer_norm_rms_epsilon", F32, NAN, NULL}, "finite");
    hparams_say((odd){"llama.attention.layer_norm_rms_epsilon", F32, 1.0001, NULL}, "allowed are");
    hparams_say((odd){"llama.rope.scaling.factor", F32, 1e-6, NULL}, NULL);
    hparams_say((odd){"llama.rope.scaling.factor", F32, 1e6, NULL}, NULL);
    hparams_say((odd){"llama.rope.scaling.factor", F32, 0.99e-6, NULL}, "allowed are");
    hparams_say((odd){"llama.rope.freq_base", F32, 1e-3, NULL}, NULL);
    hparams_say((odd){"llama.rope.freq_base", F32, 0, NULL}, "allowed are");
    hparams_say((odd){"llama.rope.scaling.type", STR, 0, "spiral"}, "known are");
}

/* ---- vocabularies ---- */

/* Part of the error (refused 1) or of the warning. */
static void vocab_says(odd o, const char *const *tokens, const char *const *merges, int n_merges, int refused, const char *want) {
    tl_gguf *g = make(&o, tokens, merges, n_merges);
    tl_error err = {0};
    tl_tokenizer *t = g ? tl_load_tokenizer(g, &err) : NULL;
    const char *said = t ? tl_tokenizer_warning(t) : err.text;
    CHECKF((t == NULL) == refused && (want ? said && strstr(said, want) : !said), "%s: %s", o.key ? o.key : "", said ? said : "nothing");
    tl_tokenizer_free(t);
    tl_gguf_free(g);
}

static void vocabularies_are_looked_through(void) {
    static const char *const merges[] = {"a b", "abc", "x y", "a c"}, *const doubled[N_TOKENS] = {"a", "b", "ab", "a", "<s>", "</s>"};
#define T(name) "tokenizer.ggml." name
    const struct { odd o; int refused; const char *want; } cases[] = {
        {{NULL, NONE, 0, NULL}, 0, NULL},
        {{T("token_type"), F32S, 1, NULL}, 1, T("token_type") ": must be an array of integers"},
        {{T("token_type"), STR, 0, "x"}, 1, T("token_type") ": must be an array of integers"},
        {{T("token_type"), I32S, 7, NULL}, 1, "unknown type 7"},
        {{T("token_type"), I32S, -1, NULL}, 1, "unknown type -1"},
        {{T("scores"), I32S, 1, NULL}, 1, T("scores") ": must be an array of float"},
        {{T("scores"), F32S, NAN, NULL}, 1, T("scores") ": entry 0 is not a finite number"},
        {{T("scores"), U32, 1, NULL}, 1, T("scores")},
        {{T("tokens"), I32S, 1, NULL}, 1, T("tokens")},
        {{T("eos_token_id"), U32, 4294967295.0, NULL}, 0, T("eos_token_id") " is 4294967295"},
        {{T("bos_token_id"), U32, 4294967295.0, NULL}, 0, T("bos_token_id") " is 4294967295"},
        {{T("eos_token_id"), U32, N_TOKENS, NULL}, 1, T("eos_token_id") ": token 6 is outside"},
        {{T("bos_token_id"), U32, 4294967294.0, NULL}, 1, T("bos_token_id") ": token 4294967294 is outside"},
        {{T("padding_token_id"), U32, N_TOKENS, NULL}, 1, T("padding_token_id")},
        {{T("eot_token_id"), STR, 0, "x"}, 1, T("eot_token_id")},
        {{T("add_bos_token"), BOOL, 1, NULL}, 0, "begin with a BOS token, but the file names none"},
        {{T("add_eos_token"), BOOL, 1, NULL}, 0, "end with an EOS token, but the file names none"},
        {{T("add_bos_token"), U32, 1, NULL}, 1, T("add_bos_token")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        vocab_says(cases[i].o, usual_tokens, merges, 1, cases[i].refused, cases[i].want);
    odd none = {NULL, NONE, 0, NULL};
    vocab_says(none, doubled, merges, 1, 0, "1 token has the same text as another");
    vocab_says(none, usual_tokens, merges, 4, 0, "3 of 4 merges can never be applied");
    vocab_says(none, doubled, merges + 1, 1, 0, "another; 1 of 1 merges");
}

int main(void) {
    RUN(bounds_hold_for_float32);
    RUN(vocabularies_are_looked_through);
    return tl_test_end();
}
