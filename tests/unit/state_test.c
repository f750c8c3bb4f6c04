/* SPDX-License-Identifier: MIT
 * state_test.c: saved states: the same continuation, and nothing but what was saved here and is whole is taken. */
#include "test.h"

#include <math.h>
#include "tinyllm.h"

enum { N = 70, MORE = 20, VOCAB = 4096 };

static tl_model *model(const char *name) {
    char path[200];
    tl_error err = {0};
    snprintf(path, sizeof path, "tests/data/arch/%s/model.gguf", name);
    tl_model *m = tl_model_open(path, NULL, &err);
    CHECKF(m, "%s", err.text);
    return m;
}

static tl_session *session(const tl_model *m, int type, int n_seq) {
    return tl_session_new(m, &(tl_session_options){.n_ctx = 128, .n_seq = n_seq, .kv_type = type, .n_threads = 2}, NULL);
}

static void fill(int32_t *ids, int n) {
    for (int i = 0; i < n; i++) ids[i] = 3 + i * 7 % 200;
}

/* Logits after n more tokens. */
static void go_on(tl_session *s, int seq, int n_vocab, float *logits) {
    int32_t ids[MORE], seqs[MORE];
    fill(ids, MORE);
    for (int i = 0; i < MORE; i++) seqs[i] = seq;
    CHECK(tl_session_eval(s, &(tl_batch){.n = MORE, .token = ids, .seq = seqs}, NULL) == TL_OK);
    memcpy(logits, tl_session_logits(s, 0), (size_t)n_vocab * sizeof *logits);
}

static void continues_with_the_same_bits(void) {
    tl_model *m = model("qwen2"), *again = model("qwen2");
    int v = tl_model_get_info(m).n_vocab;
    for (int type = 0; tl_kv_type_name(type); type++) {
        tl_session *a = session(m, type, 1), *b = session(again, type, 2);
        int32_t ids[N], got[N] = {0};
        float want[VOCAB], logits[VOCAB];
        tl_error err = {0};
        fill(ids, N);
        CHECK(tl_session_append(a, ids, N, NULL) == TL_OK && tl_session_append(b, ids, 5, NULL) == TL_OK);
        size_t size = tl_session_save_size(a, 0);
        char *blob = malloc(size), *twice = malloc(size);
        CHECK(tl_session_save(a, 0, blob, size, &err) == TL_OK && tl_session_save(a, 0, twice, size, &err) == TL_OK);
        CHECK(memcmp(blob, twice, size) == 0 && tl_session_save(a, 0, blob, size - 1, NULL) == TL_E_ARGUMENT);
        CHECKF(tl_session_load(b, 1, blob, size, &err) == N, "%s", err.text);
        CHECK(tl_session_tokens(b, 1, got, N) == N && memcmp(got, ids, sizeof ids) == 0 && tl_session_pos(b, 1) == N && tl_session_pos(b, 0) == 5);
        go_on(a, 0, v, want);
        go_on(b, 1, v, logits);
        CHECKF(memcmp(want, logits, (size_t)v * sizeof *want) == 0, "type %d continues with other bits", type);
        /* An empty sequence; a file. */
        tl_session_truncate(a, 0, 0);
        CHECK(tl_session_save_file(a, 0, "/tmp/tl_state_test", &err) == TL_OK);
        CHECK(tl_session_load_file(b, 1, "/tmp/tl_state_test", &err) == 0 && tl_session_pos(b, 1) == 0);
        remove("/tmp/tl_state_test");
        CHECK(tl_session_load_file(b, 1, "/tmp/tl_state_test", NULL) == TL_E_IO);
        free(blob), free(twice);
        tl_session_free(a);
        tl_session_free(b);
    }
    tl_model_free(again);
    tl_model_free(m);
}

/* Every changed byte and every length but the right one; what refuses leaves the session as it was. */
static void damage_is_refused(void) {
    tl_model *m = model("qwen2");
    tl_session *s = session(m, TL_KV_TYPE_Q4_0, 1);
    int32_t ids[3] = {5, 6, 7};
    CHECK(tl_session_append(s, ids, 3, NULL) == TL_OK);
    size_t size = tl_session_save_size(s, 0);
    unsigned char *blob = malloc(size + 8), *now = malloc(size);
    CHECK(tl_session_save(s, 0, blob, size, NULL) == TL_OK);
    memset(blob + size, 0, 8);
    int taken = 0;
    for (size_t i = 0; i < size; i++) {
        for (int bit = 1; bit < 256; bit *= 16) {
            blob[i] ^= (unsigned char)bit;
            taken += tl_session_load(s, 0, blob, size, NULL) >= 0;
            blob[i] ^= (unsigned char)bit;
        }
    }
    CHECKF(!taken, "%d changed states were taken", taken);
    for (size_t n = 0; n < size; n += n < 200 || n > size - 200 ? 1 : 97) taken += tl_session_load(s, 0, blob, n, NULL) >= 0;
    for (size_t n = size + 1; n <= size + 8; n++) taken += tl_session_load(s, 0, blob, n, NULL) >= 0;
    CHECKF(!taken, "%d states of a wrong length were taken", taken);
    CHECK(tl_session_save(s, 0, now, size, NULL) == TL_OK && memcmp(now, blob, size) == 0);
    CHECK(tl_session_load(s, 0, blob, size, NULL) == 3);
    free(blob), free(now);
    tl_session_free(s);
    tl_model_free(m);
}

static void says(tl_session *s, const void *blob, size_t n, int code, const char *text) {
    tl_error err = {0};
    int rc = tl_session_load(s, 0, blob, n, &err);
    CHECKF(rc == code && strstr(err.text, text), "%d %s, not %s", rc, err.text, text);
}

static void refusals_have_names(void) {
    tl_model *m = model("qwen2"), *other = model("qwen3");
    tl_session *s = session(m, TL_KV_TYPE_F16, 1), *q8 = session(m, TL_KV_TYPE_Q8_0, 1), *o = session(other, TL_KV_TYPE_F16, 1);
    tl_model *m_slow = tl_model_open("tests/data/arch/qwen2/model.gguf", &(tl_model_options){.cpu = "scalar"}, NULL);
    tl_session *slow = session(m_slow, TL_KV_TYPE_F16, 1);
    tl_session *small = tl_session_new(m, &(tl_session_options){.n_ctx = 64}, NULL);
    tl_session *poor = tl_session_new(m, &(tl_session_options){.n_ctx = 128, .n_positions = 64}, NULL);
    int32_t ids[N];
    fill(ids, N);
    CHECK(tl_session_append(s, ids, N, NULL) == TL_OK);
    size_t size = tl_session_save_size(s, 0);
    char *blob = malloc(size);
    CHECK(tl_session_save(s, 0, blob, size, NULL) == TL_OK);
    says(o, blob, size, TL_E_FORMAT, "another model");
    says(q8, blob, size, TL_E_ARGUMENT, "type f16, this session's of q8_0");
    if (strcmp(tl_model_get_info(m).cpu, "scalar") != 0) says(slow, blob, size, TL_E_ARGUMENT, "computed at CPU level");
    says(small, blob, size, TL_E_CONTEXT, "70 positions, the context 64");
    says(poor, blob, size, TL_E_CONTEXT, "too few free pages");
    says(s, blob, 20, TL_E_FORMAT, "cut");
    says(s, blob, size - 1, TL_E_FORMAT, "cut");
    says(s, "GGUF and more text than a header has (which is 88 bytes), so that it is not cut but foreign.", 90, TL_E_FORMAT, "does not begin");
    blob[8] = 2;
    says(s, blob, size, TL_E_UNSUPPORTED, "version 2");
    blob[8] = 3, blob[size - 1] ^= 1;
    says(s, blob, size, TL_E_FORMAT, "damaged");
    says(s, NULL, 0, TL_E_ARGUMENT, "saved state");
    CHECK(tl_session_load(s, 1, blob, size, NULL) == TL_E_ARGUMENT && tl_session_save_size(s, 1) == 0);
    tl_error err = {0};   /* a stream without an end is no more than looked at */
    CHECK(tl_session_load_file(s, 0, "/dev/zero", &err) == TL_E_FORMAT && strstr(err.text, "does not begin"));
    CHECK(tl_session_pos(s, 0) == N);
    free(blob);
    tl_session_free(s), tl_session_free(q8), tl_session_free(o), tl_session_free(small), tl_session_free(poor), tl_session_free(slow);
    tl_model_free(m_slow);
    tl_model_free(other);
    tl_model_free(m);
}

/* Prompts that share beginnings with what is held give the logits of a fresh session, and only the rest is computed. */
static void prompts_keep_what_is_common(void) {
    static const struct { int n, changed, kept; } steps[] = {   /* changed: from here on other tokens, -1: none */
        {70, -1, 0}, {60, -1, 59}, {70, -1, 60}, {70, -1, 69}, {71, -1, 70}, {71, 64, 64}, {30, 5, 5}, {1, -1, 0}, {1, 0, 0}, {80, -1, 0}};
    tl_model *m = model("qwen2");
    int v = tl_model_get_info(m).n_vocab;
    tl_session *warm = session(m, TL_KV_TYPE_Q8_0, 2), *cold = session(m, TL_KV_TYPE_Q8_0, 1);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        int32_t ids[128], held[128];
        int n = steps[i].n;
        fill(ids, n);
        for (int k = steps[i].changed; k >= 0 && k < n; k++) ids[k]++;
        CHECKF(tl_session_prompt(warm, 1, ids, n, NULL) == steps[i].kept, "step %zu", i);
        CHECK(tl_session_prompt(cold, 0, ids, n, NULL) >= 0 && tl_session_truncate(cold, 0, 0) == 0);
        CHECK(tl_session_append(cold, ids, n, NULL) == TL_OK);
        CHECKF(!memcmp(tl_session_logits(warm, 0), tl_session_logits(cold, 0), (size_t)v * sizeof(float)), "step %zu", i);
        CHECK(tl_session_tokens(warm, 1, held, 128) == n && !memcmp(held, ids, (size_t)n * sizeof *ids));
        if (i == 2) {   /* a fork keeps its tokens when the other goes on */
            CHECK(tl_session_fork(warm, 1, 0, NULL) == TL_OK && tl_session_truncate(warm, 0, 65) == 65);
        }
    }
    int32_t ids[129], held[65];
    fill(ids, 129);
    CHECK(tl_session_tokens(warm, 0, held, 65) == 65 && !memcmp(held, ids, sizeof held));
    CHECK(tl_session_prompt(warm, 1, ids, 129, NULL) == TL_E_CONTEXT && tl_session_pos(warm, 1) == 80);
    ids[3] = v;
    CHECK(tl_session_prompt(warm, 1, ids, 80, NULL) == TL_E_ARGUMENT && tl_session_pos(warm, 1) == 80);
    CHECK(tl_session_prompt(warm, 2, ids, 3, NULL) == TL_E_ARGUMENT && tl_session_prompt(warm, 1, ids, 0, NULL) == TL_E_ARGUMENT);
    CHECK(tl_session_tokens(warm, 2, NULL, 0) == 0 && tl_session_tokens(warm, -1, NULL, 0) == 0);
    tl_session_free(warm), tl_session_free(cold);
    tl_model_free(m);
}

/* Longrope takes other factors in a context beyond the one first trained for: what is cached depends on its length. */
static void another_rotation_is_refused(void) {
    tl_model *m = model("phi3_longrope_long");
    tl_session *longer = tl_session_new(m, &(tl_session_options){.n_ctx = 128}, NULL);
    tl_session *shorter = tl_session_new(m, &(tl_session_options){.n_ctx = 16}, NULL);
    int32_t id = 3;
    CHECK(tl_session_append(longer, &id, 1, NULL) == TL_OK);
    size_t size = tl_session_save_size(longer, 0);
    char *blob = malloc(size);
    CHECK(tl_session_save(longer, 0, blob, size, NULL) == TL_OK);
    says(shorter, blob, size, TL_E_ARGUMENT, "context of another length");
    says(longer, blob, size, 1, "");
    free(blob);
    tl_session_free(longer), tl_session_free(shorter);
    tl_model_free(m);
}

int main(void) {
    RUN(another_rotation_is_refused);
    RUN(prompts_keep_what_is_common);
    RUN(continues_with_the_same_bits);
    RUN(damage_is_refused);
    RUN(refusals_have_names);
    return tl_test_end();
}
