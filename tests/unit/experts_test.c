/* SPDX-License-Identifier: MIT
 * Mixture of experts: rows gathered by expert, few rows and many, barriers, and routers that fail. That the sums are
 * right is blocks_test.c's and engine_test.c's matter. */
#include "test.h"

#include <math.h>
#include "bench/shape.h"
#include "engine/session.h"

enum { N = 43, VOCAB = 97 };

/* Two or more layers, for each of the ways experts can stand: alone, with a shared one, one of one. */
static const char *const shapes[] = {
    "layers=2,dim=64,ff=32,heads=4,kv=2,vocab=97,arch=qwen3moe,experts=11,used=3,expert_ff=96",
    "layers=2,dim=256,ff=32,heads=4,kv=2,vocab=97,arch=qwen2moe,experts=5,used=2,expert_ff=256,shared_ff=512",
    "layers=2,dim=64,ff=64,heads=4,kv=2,vocab=97,arch=gpt-oss,experts=4,used=4",
    "layers=2,dim=64,ff=64,heads=4,kv=2,vocab=97,arch=llama,experts=1,used=1,shared_ff=32",
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* Sets the first value of the embedding of token 0. */
static void poison(tl_memfile *f, float value, tl_error *err) {
    tl_gguf *g = tl_gguf_open(f->path, 0, err);
    const tl_gguf_tensor *t = g ? tl_gguf_tensor_find(g, "token_embd.weight") : NULL;
    CHECK(t && t->type == TL_TYPE_F32);
    if (t) CHECK(!fseek(f->f, (long)(t->data - g->parts[0].map.p), SEEK_SET) && fwrite(&value, sizeof value, 1, f->f) == 1 && !fflush(f->f));
    tl_gguf_free(g);
}

/* first: instead of the first value of token 0's embedding, if it is not 0. */
static struct tl_model *open_shape(const char *shape, const char *type, int no_pack, float first) {
    tl_error err = {0};
    tl_shape s;
    tl_memfile f = {0};
    CHECKF(tl_shape_parse(shape, &s, &err) == TL_OK, "%s", err.text);
    if (!err.code && tl_memfile_open(&f, &err) == TL_OK) tl_shape_write(&s, type, f.f, &err);
    if (!err.code && !(first == 0)) poison(&f, first, &err);
    tl_model_options o = tl_model_options_default();
    o.no_pack = no_pack;
    struct tl_model *m = err.code ? NULL : tl_model_open(f.path, &o, &err);
    CHECKF(m, "%s %s: %s", shape, type, err.text);
    tl_memfile_close(&f);
    return m;
}

static struct tl_session *open_session(const struct tl_model *m, int threads, int n_seq) {
    tl_error err = {0};
    tl_session_options o = tl_session_options_default();
    o.n_ctx = 64, o.n_threads = threads, o.n_seq = n_seq;
    struct tl_session *s = m ? tl_session_new(m, &o, &err) : NULL;
    CHECKF(s, "%s", err.text);
    return s;
}

static int32_t id_of(int seq, int i) { return (int32_t)((i * 31 + seq * 17 + 5) % VOCAB); }

/* Logits of N tokens of a sequence, cut into pieces, to [N * VOCAB]. */
static void logits_of(const struct tl_model *m, int seq, int piece, int threads, float *to) {
    struct tl_session *s = open_session(m, threads, 1);
    uint8_t want[N];
    int32_t ids[N];
    for (int i = 0; i < N; i++) ids[i] = id_of(seq, i), want[i] = 1;
    for (int at = 0; s && at < N; at += piece) {
        tl_error err = {0};
        int n = N - at < piece ? N - at : piece;
        CHECKF(!tl_session_eval(s, &(tl_batch){.n = n, .token = ids + at, .want = want}, &err), "%s", err.text);
        memcpy(to + at * VOCAB, tl_session_logits(s, 0), (size_t)n * VOCAB * sizeof *to);
    }
    tl_session_free(s);
}

/* Pieces of one row, of as many as each thread prepares for itself, of one more, and of all. */
static void rows_do_not_depend_on_company(void) {
    static const char *const types[] = {"q4_k", "q8_0", "f16", "q6_k", "f32"};
    static float ref[N * VOCAB], got[N * VOCAB];
    static const int pieces[] = {1, 2, TL_FEW_ROWS - 1, TL_FEW_ROWS, 19, N};
    for (int i = 0; i < N_SHAPES; i++)
        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
            for (int no_pack = 0; no_pack < 2; no_pack++) {
                struct tl_model *m = open_shape(shapes[i], types[k], no_pack, 0);
                if (m) logits_of(m, 0, 1, 1, ref);
                for (int threads = 1; m && threads <= 3; threads++)
                    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
                        logits_of(m, 0, pieces[p], threads, got);
                        CHECKF(!memcmp(ref, got, sizeof ref), "%s %s no_pack %d: %d threads, pieces of %d: bits differ",
                               shapes[i], types[k], no_pack, threads, pieces[p]);
                    }
                tl_model_free(m);
            }
}

/* The rows of three sequences step by step together, few at a time and then with a long piece of one. */
static void sequences_choose_for_themselves(void) {
    enum { SEQS = 3, TOGETHER = 10 };
    struct tl_model *m = open_shape(shapes[1], "q4_k", 0, 0);
    struct tl_session *s = open_session(m, 2, SEQS);
    if (!s) return;
    static float ref[SEQS][N * VOCAB];
    for (int q = 0; q < SEQS; q++) logits_of(m, q, N, 1, ref[q]);
    for (int i = 0; i <= TOGETHER; i++) {
        int32_t ids[N], seq[N];
        uint8_t want[N];
        int n = 0;
        for (int q = 0; q < SEQS; q++)
            for (int j = i; j < (i == TOGETHER && q == 1 ? N : i + 1); j++, n++) ids[n] = id_of(q, j), seq[n] = q, want[n] = 1;
        tl_error err = {0};
        CHECKF(!tl_session_eval(s, &(tl_batch){.n = n, .token = ids, .seq = seq, .want = want}, &err), "%s", err.text);
        for (int row = 0, at = i; row < n; row++) {
            at = row && seq[row] == seq[row - 1] ? at + 1 : i;
            CHECKF(!memcmp(tl_session_logits(s, row), ref[seq[row]] + at * VOCAB, VOCAB * sizeof(float)), "step %d, row %d", i, row);
        }
    }
    tl_session_free(s);
    tl_model_free(m);
}

static unsigned barriers_of(const char *shape, int rows) {
    struct tl_model *m = open_shape(shape, "q8_0", 0, 0);
    struct tl_session *s = open_session(m, 2, 1);
    int32_t ids[N] = {0};
    unsigned before = s ? tl_pool_barriers(s->pool) : 0;
    tl_error err = {0};
    CHECKF(s && !tl_session_append(s, ids, rows, &err), "%s", err.text);
    unsigned n = s ? tl_pool_barriers(s->pool) - before : 0;
    tl_session_free(s);
    tl_model_free(m);
    return n;
}

/* What a third layer adds. Of a few rows: three barriers beside attention's four and, of more than one row, those two
 * behind the preparation of attention's products. Of many there are more, but not more with more experts. */
static void barriers_do_not_grow_with_experts(void) {
    static const char two[] = "layers=2,dim=64,ff=64,heads=4,kv=2,vocab=97,arch=qwen2moe,used=4,shared_ff=64,experts=",
                      three[] = "layers=3,dim=64,ff=64,heads=4,kv=2,vocab=97,arch=qwen2moe,used=4,shared_ff=64,experts=";
    static const struct { int rows; unsigned most; } cases[] = {
        {1, 4 + 3}, {2, 6 + 3}, {TL_FEW_ROWS - 1, 6 + 3}, {TL_FEW_ROWS, 6 + 7}, {N, 6 + 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int experts = 4; experts <= 40; experts *= 10) {
            char a[200], b[200];
            snprintf(a, sizeof a, "%s%d", two, experts);
            snprintf(b, sizeof b, "%s%d", three, experts);
            unsigned n = barriers_of(b, cases[i].rows) - barriers_of(a, cases[i].rows);
            CHECKF(n == cases[i].most, "%d rows, %d experts: %u barriers for a layer", cases[i].rows, experts, n);
        }
}

/* A router that gives NaN, of either sign, chooses no more experts than there is room for: the row's logits are NaN, and
 * those of its neighbours as ever. */
static void nan_stays_in_its_row(void) {
    for (int i = 0; i < 2 * N_SHAPES; i++) {
        struct tl_model *m = open_shape(shapes[i / 2], "f32", 0, copysignf(NAN, i % 2 ? -1 : 1));
        for (int n = 2; m && n <= 20; n += 9) {   /* sequences, of which every second has it */
            static float ref[VOCAB];
            int32_t ids[20], seq[20], one = 1;
            uint8_t want[20];
            tl_error err = {0};
            for (int j = 0; j < n; j++) ids[j] = j % 2 == 0, seq[j] = j, want[j] = 1;
            struct tl_session *s = open_session(m, 2, n), *alone = open_session(m, 1, 1);
            CHECKF(!tl_session_append(alone, &one, 1, &err), "%s", err.text);
            memcpy(ref, tl_session_logits(alone, 0), sizeof ref);
            CHECKF(!tl_session_eval(s, &(tl_batch){.n = n, .token = ids, .seq = seq, .want = want}, &err), "%s", err.text);
            for (int j = 0; j < n; j++) {
                const float *y = tl_session_logits(s, j);
                if (ids[j]) CHECKF(!memcmp(y, ref, sizeof ref), "%s: row %d of %d: bits differ", shapes[i / 2], j, n);
                for (int k = 0; !ids[j] && k < VOCAB; k++) CHECKF(isnan(y[k]), "%s: row %d of %d: %g", shapes[i / 2], j, n, y[k]);
            }
            tl_session_free(s);
            tl_session_free(alone);
        }
        tl_model_free(m);
    }
}

/* A copied token is byte for byte what would have been written. */
static void copies_are_what_put_writes(void) {
    enum { K = 512, MOST = 40 };
    static float x[MOST][K];
    static _Alignas(64) uint8_t src[K * 4 * MOST], dst[K * 4 * MOST], want[K * 4 * MOST];
    static const int sizes[] = {1, 5, 16, 17, 33, MOST};
    tl_kernels k;
    tl_kernels_init(&k, 0);
    for (int i = 0; i < MOST; i++)
        for (int j = 0; j < K; j++) x[i][j] = sinf((float)(i * K + j)) * (float)(1 + j % 97);
    for (int f = 0; f < TL_N_ACTS; f++)
        for (size_t a = 0; a < sizeof sizes / sizeof *sizes; a++)
            for (size_t b = 0; b < sizeof sizes / sizeof *sizes; b++) {
                int n = sizes[a], to = sizes[b];
                tl_acts from = {.n = n, .k = K}, at = {.n = to, .k = K};
                from.form[f] = src;
                at.form[f] = dst;
                memset(dst, 0x5a, sizeof dst);
                memset(want, 0x5a, sizeof want);
                for (int i = 0; i < n; i++) k.put_act[f](x[i], K, src, n, i);
                for (int i = 0; i < to; i += 3) {   /* the tokens between stay as they are */
                    k.put_act[f](x[(i * 7) % n], K, want, to, i);
                    tl_acts_copy(1u << f, &at, i, &from, (i * 7) % n);
                }
                CHECKF(!memcmp(dst, want, sizeof dst), "form %d, from %d tokens to %d", f, n, to);
            }
}

int main(void) {
    RUN(copies_are_what_put_writes);
    RUN(rows_do_not_depend_on_company);
    RUN(sequences_choose_for_themselves);
    RUN(barriers_do_not_grow_with_experts);
    RUN(nan_stays_in_its_row);
    return tl_test_end();
}
