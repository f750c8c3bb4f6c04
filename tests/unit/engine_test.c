/* SPDX-License-Identifier: MIT
 * The promises of tinyllm.h about threads, pieces, packing, sequences and errors, through the whole path from file to
 * logits. Whether the logits are right: golden_test.c. */
#include "test.h"
#include "golden.inc"
#include "bench/shape.h"

/* A fixture and its prompt. */
typedef struct fixture { char path[256]; tl_model *m; prompt p; int n_vocab; } fixture;

static fixture open_fixture(const char *name) {
    fixture x = {0};
    snprintf(x.path, sizeof x.path, "tests/data/arch/%s/tokens.txt", name);
    FILE *f = fopen(x.path, "r");
    CHECKF(f && next_prompt(f, &x.p), "%s cannot be read", x.path);
    if (f) fclose(f);
    snprintf(x.path, sizeof x.path, "tests/data/arch/%s/model.gguf", name);
    x.m = open_model(x.path, 0, NULL);
    x.n_vocab = x.m ? tl_model_get_info(x.m).n_vocab : 0;
    return x;
}

static tl_session *open_session(const tl_model *m, int kv, int threads, int n_seq) { return open_context(m, kv, threads, n_seq, 128); }

/* Without packing, for types with blocks of 32, of 256 and none, one token and many, and rows that end within a group. */
static void bits_equal_without_packing(void) {
    static const char *const types[] = {"q4_k_m", "q5_k_m", "q3_k_m", "q4_0", "q5_0", "q8_0", "iq4_nl", "f16"};
    int32_t ids[19];
    for (int i = 0; i < 19; i++) ids[i] = i * 7;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        tl_error err = {0};
        tl_shape s;
        tl_memfile f = {0};
        CHECK(tl_shape_parse("layers=2,dim=256,ff=768,heads=4,kv=2,vocab=203,tied=1", &s, &err) == TL_OK);
        if (tl_memfile_open(&f, &err) == TL_OK) tl_shape_write(&s, types[i], f.f, &err);
        CHECKF(!err.code, "%s: %s", types[i], err.text);
        tl_model_options o = tl_model_options_default();
        o.no_pack = 1;
        o.cpu = getenv("TINYLLM_CPU");   /* as open_model */
        tl_model *packed = open_model(f.path, 0, NULL), *raw = tl_model_open(f.path, &o, &err);
        if (packed && raw) {
            float *ref = logits_of(packed, ids, 19, (setting){TL_KV_TYPE_F16, 1, 128, 19});
            for (int chunk = 1; chunk <= 19; chunk += 6)
                for (int threads = 1; threads <= 2; threads++) {
                    float *got = logits_of(raw, ids, 19, (setting){TL_KV_TYPE_F16, threads, 128, chunk});
                    CHECKF(!memcmp(ref, got, 19 * 203 * sizeof *ref), "%s: %d threads, chunk %d: bits differ", types[i],
                           threads, chunk);
                    free(got);
                }
            free(ref);
        }
        CHECKF(raw, "%s", err.text);
        tl_model_free(packed);
        tl_model_free(raw);
        tl_memfile_close(&f);
    }
}

/* Two sequences whose rows alternate in one batch give the bits they give alone. */
static void sequences_do_not_touch(void) {
    fixture g = open_fixture("gemma3");
    tl_model *m = g.m;
    tl_session *s = open_session(m, TL_KV_TYPE_F16, 2, 2);
    if (!s) return;
    int n = g.p.n < 20 ? g.p.n : 20;
    size_t row = (size_t)g.n_vocab * sizeof(float);
    int32_t other[20], token[40], seq[40];
    uint8_t want[40];
    for (int i = 0; i < n; i++) {
        other[i] = g.p.ids[(i * 7 + 3) % g.p.n];
        token[2 * i] = g.p.ids[i], token[2 * i + 1] = other[i];
        seq[2 * i] = 1, seq[2 * i + 1] = 0;
        want[2 * i] = want[2 * i + 1] = 1;
    }
    tl_error err = {0};
    tl_batch b = {.n = 2 * n, .token = token, .seq = seq, .want = want};
    CHECKF(!tl_session_eval(s, &b, &err), "%s", err.text);
    setting whole = {TL_KV_TYPE_F16, 1, 128, n};
    float *a1 = logits_of(m, g.p.ids, n, whole), *a0 = logits_of(m, other, n, whole);
    for (int i = 0; i < n; i++) {
        CHECKF(!memcmp(tl_session_logits(s, 2 * i), a1 + (size_t)i * (size_t)g.n_vocab, row), "row %d of sequence 1", i);
        CHECKF(!memcmp(tl_session_logits(s, 2 * i + 1), a0 + (size_t)i * (size_t)g.n_vocab, row), "row %d of sequence 0", i);
    }
    /* Going back and on again gives the same bits as never having been ahead. */
    tl_session_truncate(s, 1, 5);
    CHECK(tl_session_pos(s, 1) == 5 && tl_session_pos(s, 0) == n);
    b = (tl_batch){.n = n - 5, .token = g.p.ids + 5, .seq = seq, .want = want};
    for (int i = 0; i < n; i++) seq[i] = 1;
    CHECKF(!tl_session_eval(s, &b, &err), "%s", err.text);
    CHECK(!memcmp(tl_session_logits(s, n - 6), a1 + (size_t)(n - 1) * (size_t)g.n_vocab, row));
    /* A fork goes on with the bits of the sequence it came from, which stays as it was. */
    tl_session_truncate(s, 1, n - 1);
    CHECK(tl_session_fork(s, 1, 2, &err) == TL_E_ARGUMENT);
    err = (tl_error){0};
    CHECK(!tl_session_fork(s, 1, 0, &err) && tl_session_pos(s, 0) == n - 1);
    for (int i = 0; i < 2; i++) {
        int32_t id[] = {i ? g.p.ids[n - 1] : other[2]}, to[] = {i};
        b = (tl_batch){.n = 1, .token = id, .seq = to};
        CHECKF(!tl_session_eval(s, &b, &err), "%s", err.text);
        CHECK((memcmp(tl_session_logits(s, 0), a1 + (size_t)(n - 1) * (size_t)g.n_vocab, row) == 0) == i);
    }
    free(a0), free(a1);
    tl_session_free(s);
    tl_model_free(m);
}

/* Past TL_ATTN_CHUNK positions decode splits a head over threads: still the same bits as one thread, one piece. */
static void long_context_bits(void) {
    fixture g = open_fixture("qwen2");
    tl_model *m = g.m;
    enum { N = 1300 };
    static int32_t ids[N];
    for (int i = 0; i < N; i++) ids[i] = g.p.ids[(i * 5 + i / 11) % g.p.n];
    float *ref = NULL;
    size_t row = (size_t)g.n_vocab * sizeof(float);
    for (int threads = 1; threads <= 3 && m; threads++) {
        tl_error err = {0};
        tl_session_options o = tl_session_options_default();
        o.n_ctx = N, o.n_threads = threads, o.n_batch = threads == 2 ? 100 : 512;
        tl_session *s = tl_session_new(m, &o, &err);
        CHECKF(s, "%s", err.text);
        if (!s) break;
        int whole = threads == 1 ? N : N - 3;
        CHECKF(!tl_session_append(s, ids, whole, &err), "%s", err.text);
        for (int i = whole; i < N; i++) CHECKF(!tl_session_append(s, ids + i, 1, &err), "%s", err.text);
        if (!ref) { ref = malloc(row); memcpy(ref, tl_session_logits(s, 0), row); }
        CHECKF(!memcmp(ref, tl_session_logits(s, 0), row), "%d threads: bits differ", threads);
        CHECK(tl_session_append(s, ids, 1, &err) == TL_E_CONTEXT);
        CHECK(tl_session_pos(s, 0) == N);
        tl_session_free(s);
    }
    free(ref);
    tl_model_free(m);
}

static int cancel_second_layer(void *user, double done) { (void)user; return done > 0; }

static void wrong_use_is_an_error(void) {
    fixture g = open_fixture("qwen2");
    tl_model *m = g.m;
    tl_session *s = open_session(m, TL_KV_TYPE_F16, 1, 2);
    if (!s) return;
    int32_t t = 1, seq = 2, pos = 1, bad = g.n_vocab;
    struct { tl_batch b; const char *word; } cases[] = {
        {{.n = 0, .token = &t}, "empty"},
        {{.n = 1, .token = &bad}, "token"},
        {{.n = 1, .token = &t, .seq = &seq}, "sequence"},
        {{.n = 1, .token = &t, .pos = &pos}, "position"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tl_error err = {0};
        CHECK(tl_session_eval(s, &cases[i].b, &err) == TL_E_ARGUMENT);
        CHECKF(strstr(err.text, cases[i].word), "\"%s\" does not say %s", err.text, cases[i].word);
        CHECK(tl_session_pos(s, 0) == 0);
    }
    tl_error err = {0};
    tl_session_set_progress(s, cancel_second_layer, NULL);
    CHECK(tl_session_append(s, g.p.ids, 5, &err) == TL_E_CANCELLED);
    CHECK(tl_session_pos(s, 0) == 0);
    tl_session_set_progress(s, NULL, NULL);
    err = (tl_error){0};
    tl_model_options o = tl_model_options_default();
    o.cpu = "nosuch";
    CHECK(!tl_model_open(g.path, &o, &err) && err.code == TL_E_ARGUMENT && strstr(err.text, "nosuch"));
    err = (tl_error){0};
    o = tl_model_options_default();
    o.vocab_only = 1;
    tl_model *v = tl_model_open(g.path, &o, &err);
    CHECKF(v, "%s", err.text);
    CHECK(v && !tl_session_new(v, NULL, &err) && err.code == TL_E_ARGUMENT);
    tl_model_free(v);
    tl_session_free(s);
    s = open_session(m, TL_KV_TYPE_F16, 0, 1);
    int useful = s ? tl_session_threads(s) : 0;
    tl_session_free(s);
    s = open_session(m, TL_KV_TYPE_F16, 1024, 1);
    CHECK(s && (tl_session_threads(s) == 1024 || tl_session_threads(s) == 4 * useful));
    tl_session_free(s);
    tl_model_free(m);
    tl_model_free(NULL), tl_session_free(NULL), tl_sampler_free(NULL);
}

int main(void) {
    RUN(bits_equal_without_packing);
    RUN(sequences_do_not_touch);
    RUN(long_context_bits);
    RUN(wrong_use_is_an_error);
    return tl_test_end();
}
