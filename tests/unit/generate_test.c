/* SPDX-License-Identifier: MIT
 * generate_test.c: texts that grow token by token: where they end, what is held back, cancelling from elsewhere. */
#include "test.h"

#include <pthread.h>
#include "tinyllm.h"

static tl_model *m;   /* SentencePiece vocabulary of this project: <s> is 1, </s> is 2, bytes are 3 + byte */
enum { BYTE = 3 };

/* A sampler that always takes the largest logit, and logits that make it one token. */
static tl_sampler *greedy(void) {
    tl_sampler_options o = tl_sampler_options_default();
    o.temp = 0;
    return tl_sampler_new(m, &o, NULL);
}

static const float *only(int32_t id) {
    static float logits[1 << 12];
    int n = tl_model_get_info(m).n_vocab;
    for (int i = 0; i < n; i++) logits[i] = i == id;
    return logits;
}

/* Texts of the steps for ids that end in -1, put together; the last step's finish. */
static int grow(const tl_generator_options *o, const int32_t *ids, char *text, int32_t *last) {
    tl_sampler *smp = greedy();
    tl_generator *g = tl_generator_new(m, smp, o, NULL);
    tl_step step = {0};
    text[0] = 0;
    for (; g && *ids >= 0 && !step.finish; ids++) {
        tl_error err = {0};
        CHECKF(tl_generator_step(g, only(*ids), &step, &err) == TL_OK, "%s", err.text);
        strncat(text, step.text, step.n);
    }
    if (last) *last = step.id;
    int finish = step.finish;
    if (!finish) {
        CHECK(tl_generator_end(g, TL_END_CANCELLED, &step, NULL) == TL_OK);
        strncat(text, step.text, step.n);
    }
    CHECK(!finish || (tl_generator_step(g, only(5), &step, NULL) == TL_OK && step.finish == finish && step.n == 0 && step.id == -1));
    tl_generator_free(g);
    tl_sampler_free(smp);
    return finish;
}
#define GROW(o, text, last, ...) grow(o, (const int32_t[]){__VA_ARGS__, -1}, text, last)

static void endings(void) {
    char text[200];
    int32_t last;
    tl_generator_options o = tl_generator_options_default();
    CHECK(GROW(&o, text, &last, BYTE + 'a', BYTE + 'b', 2) == TL_END_TOKEN && strcmp(text, "ab") == 0 && last == -1);
    CHECK(GROW(&o, text, &last, BYTE + 'a') == TL_GOING && strcmp(text, "a") == 0 && last == BYTE + 'a');
    o.max_tokens = 2;
    CHECK(GROW(&o, text, NULL, BYTE + 'a', BYTE + 'b', BYTE + 'c') == TL_END_LENGTH && strcmp(text, "ab") == 0);
    o.max_tokens = 0;
    CHECK(GROW(&o, text, NULL, BYTE + 'a') == TL_END_LENGTH && !text[0]);
    o.max_tokens = -1;
    int32_t stop_tokens[] = {BYTE + 'x', 1};
    o.stop_tokens = stop_tokens, o.n_stop_tokens = 2;
    CHECK(GROW(&o, text, NULL, BYTE + 'a', BYTE + 'x') == TL_END_TOKEN && strcmp(text, "a") == 0);
    CHECK(GROW(&o, text, NULL, BYTE + 'a', 1) == TL_END_TOKEN && strcmp(text, "a") == 0);
    CHECK(strcmp(tl_finish_name(TL_END_TOKEN), "stop") == 0 && strcmp(tl_finish_name(TL_END_STOP), "stop") == 0);
    CHECK(strcmp(tl_finish_name(TL_END_CONTEXT), "context") == 0 && !tl_finish_name(-1)[0] && !tl_finish_name(99)[0]);
}

static void stop_texts(void) {
    char text[200];
    static const char *const stops[] = {"bc", "\n<s>", "\xc3\xa4!"};
    tl_generator_options o = {.max_tokens = -1, .stop = stops, .n_stop = 3};
    CHECK(GROW(&o, text, NULL, BYTE + 'a', BYTE + 'b', BYTE + 'c', BYTE + 'd') == TL_END_STOP && strcmp(text, "a") == 0);
    CHECK(GROW(&o, text, NULL, BYTE + 'a', BYTE + 'b', 2) == TL_END_TOKEN && strcmp(text, "ab") == 0);   /* held back, then let go */
    /* Names of special tokens end a text too, and are never in it. */
    CHECK(GROW(&o, text, NULL, BYTE + 'a', 1, BYTE + 'd') == TL_GOING && strcmp(text, "ad") == 0);
    CHECK(GROW(&o, text, NULL, BYTE + 'a', BYTE + '\n', 1, BYTE + 'd') == TL_END_STOP && strcmp(text, "a") == 0);
    o.show_special = 1;
    CHECK(GROW(&o, text, NULL, BYTE + 'a', 1, BYTE + 'd') == TL_GOING && strcmp(text, "a<s>d") == 0);
    /* Characters that arrive in bytes. */
    CHECK(GROW(&o, text, NULL, BYTE + 0xC3, BYTE + 0xA4, BYTE + '!') == TL_END_STOP && !text[0]);
    CHECK(GROW(&o, text, NULL, BYTE + 0xC3, BYTE + 0xA4, 2) == TL_END_TOKEN && strcmp(text, "\xc3\xa4") == 0);
    CHECK(GROW(&o, text, NULL, BYTE + 'a', BYTE + 0xC3, 2) == TL_END_TOKEN && strcmp(text, "a\xef\xbf\xbd") == 0);
}

static void faults(void) {
    tl_error err = {0};
    tl_sampler *smp = greedy();
    tl_generator_options o = {.n_stop = 1};
    CHECK(!tl_generator_new(NULL, smp, NULL, &err) && err.code == TL_E_ARGUMENT);
    CHECK(!tl_generator_new(m, NULL, NULL, NULL) && !tl_generator_new(m, smp, &o, NULL));
    static const char *const empty[] = {""}, *const none[] = {NULL};
    o.stop = empty;
    CHECK(!tl_generator_new(m, smp, &o, NULL));
    o.stop = none;
    CHECK(!tl_generator_new(m, smp, &o, NULL));
    o = (tl_generator_options){.n_stop_tokens = -1};
    CHECK(!tl_generator_new(m, smp, &o, NULL));
    tl_generator *g = tl_generator_new(m, smp, NULL, NULL);
    tl_step step;
    float nan[1 << 12];
    for (int i = 0; i < 1 << 12; i++) nan[i] = 0.0f / 0.0f;
    err = (tl_error){0};
    CHECK(tl_generator_step(g, nan, &step, &err) == TL_E_NAN && err.code == TL_E_NAN);
    tl_generator_free(g);
    tl_sampler_free(smp);
}

/* ---- with a model ---- */

typedef struct seen { char text[4096]; int calls, stop_after; } seen;

static int collect(void *user, const char *text, size_t n) {
    seen *s = user;
    strncat(s->text, text, n);
    return ++s->calls == s->stop_after;
}

static void the_loop(void) {
    tl_error err = {0};
    tl_model *q = tl_model_open("tests/data/arch/qwen2/model.gguf", NULL, &err);
    CHECKF(q, "%s", err.text);
    tl_session *s = q ? tl_session_new(q, &(tl_session_options){.n_ctx = 32, .n_seq = 2}, &err) : NULL;
    tl_sampler_options so = tl_sampler_options_default();
    so.temp = 0;
    int32_t ids[3] = {5, 6, 7}, seq[3] = {1, 1, 1};
    for (int round = 0; s && round < 4; round++) {
        tl_sampler *smp = tl_sampler_new(q, &so, NULL);
        tl_generator_options o = {.max_tokens = round == 0 ? 8 : -1};
        tl_generator *g = tl_generator_new(q, smp, &o, NULL);
        seen got = {.stop_after = round == 2 ? 3 : 0};
        tl_session_truncate(s, 1, 0);
        CHECK(tl_session_eval(s, &(tl_batch){.n = 3, .token = ids, .seq = seq}, NULL) == TL_OK);
        if (round == 3) tl_session_cancel(s);
        CHECK(tl_generate(s, 1, g, collect, &got, &err) == TL_OK);
        tl_generator_stats st = tl_generator_get_stats(g);
        if (round == 0) CHECK(st.finish == TL_END_LENGTH && st.n_tokens == 8 && st.n_computed == 7 && got.calls == 8 && tl_session_pos(s, 1) == 10);
        if (round == 1) CHECK(st.finish == TL_END_CONTEXT && tl_session_pos(s, 1) == 32 && st.n_tokens == 30);
        if (round == 2) CHECK(st.finish == TL_END_CANCELLED && st.n_tokens == 3 && tl_session_pos(s, 1) == 5);
        if (round == 3) CHECK(st.finish == TL_END_CANCELLED && tl_session_pos(s, 1) == 3);
        tl_generator_free(g);
        tl_sampler_free(smp);
    }
    CHECK(tl_session_append(s, ids, 3, &err) == TL_OK);   /* a cancelled session goes on */
    CHECK(tl_generate(NULL, 0, NULL, NULL, NULL, NULL) == TL_E_ARGUMENT && tl_generate(s, 0, NULL, NULL, NULL, NULL) == TL_E_ARGUMENT);
    tl_session_free(s);
    tl_model_free(q);
}

/* A session whose sequences together hold too much ends a text as a full context does. */
static void full_session(void) {
    tl_model *q = tl_model_open("tests/data/arch/qwen2/model.gguf", NULL, NULL);
    tl_session *s = q ? tl_session_new(q, &(tl_session_options){.n_ctx = 512, .n_positions = 64}, NULL) : NULL;
    tl_sampler_options so = tl_sampler_options_default();
    so.temp = 0;
    tl_sampler *smp = q ? tl_sampler_new(q, &so, NULL) : NULL;
    tl_generator *g = s ? tl_generator_new(q, smp, NULL, NULL) : NULL;
    int32_t ids[3] = {5, 6, 7};
    tl_error err = {0};
    CHECK(g && tl_session_append(s, ids, 3, NULL) == TL_OK);
    CHECKF(tl_generate(s, 0, g, NULL, NULL, &err) == TL_OK, "%s", err.text);
    CHECK(tl_generator_get_stats(g).finish == TL_END_CONTEXT && tl_session_pos(s, 0) == 64);
    tl_generator_free(g);
    tl_sampler_free(smp);
    tl_session_free(s);
    tl_model_free(q);
}

static void *cancel_soon(void *session) {
    for (volatile int i = 0; i < 2000000; i++) continue;
    tl_session_cancel(session);
    return NULL;
}

/* A prompt long enough that it is still computed when the other thread asks to stop. */
static void cancel_from_another_thread(void) {
    tl_model *q = tl_model_open("tests/data/arch/qwen2/model.gguf", &(tl_model_options){.exact = 1}, NULL);
    tl_session *s = q ? tl_session_new(q, &(tl_session_options){.n_ctx = 1 << 16, .n_batch = 64, .n_threads = 1}, NULL) : NULL;
    int n = 1 << 16;
    int32_t *ids = calloc((size_t)n, sizeof *ids);
    pthread_t t = 0;
    tl_error err = {0};
    CHECK(s && pthread_create(&t, NULL, cancel_soon, s) == 0);
    CHECKF(tl_session_append(s, ids, n, &err) == TL_E_CANCELLED, "%s", err.text);
    CHECK(tl_session_pos(s, 0) < n && tl_session_pos(s, 0) % 64 == 0);
    pthread_join(t, NULL);
    tl_session_truncate(s, 0, 0);
    CHECK(tl_session_append(s, ids, 3, NULL) == TL_OK);
    free(ids);
    tl_session_free(s);
    tl_model_free(q);
}

int main(void) {
    tl_model_options o = tl_model_options_default();
    o.vocab_only = 1;
    m = tl_model_open("tests/data/spm_tiny/vocab.gguf", &o, NULL);
    RUN(endings);
    RUN(stop_texts);
    RUN(faults);
    RUN(the_loop);
    RUN(full_session);
    RUN(cancel_from_another_thread);
    tl_model_free(m);
    return tl_test_end();
}
