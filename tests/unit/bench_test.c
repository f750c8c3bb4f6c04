/* SPDX-License-Identifier: MIT
 * bench_test.c: sizes of known shapes, types of tensors, bytes and multiply-adds of a pass, names. */
#include "test.h"

#include <math.h>
#include "bench/shape.h"

static const struct { const char *name; int64_t params; } published[] = {
    {"qwen2.5-0.5b", 494032768}, {"qwen2.5-1.5b", 1543714304}, {"qwen2.5-3b", 3085938688}, {"qwen2.5-7b", 7615616512},
    {"qwen2.5-14b", 14770033664}, {"qwen3-0.6b", 596049920}, {"qwen3-1.7b", 1720574976}, {"qwen3-4b", 4022468096},
    {"qwen3-8b", 8190735360}, {"qwen3-14b", 14768307200}, {"llama-3.2-1b", 1235814400}, {"llama-3.2-3b", 3212749824},
    {"llama-3.1-8b", 8030261248}, {"LLAMA-3-8B", 8030261248}, {"smollm2-135m", 134515008}, {"smollm2-360m", 361821120},
    {"smollm2-1.7b", 1711376384}, {"gemma3-270m", 268098176}, {"gemma3-1b", 999885952}, {"gemma3-4b", 3880099328},
    {"qwen3-30b-a3b", 30532122624}, {"moe-1b-a0.3b", 1334625280},   /* the latter is made up: counted by hand */
};

static void presets_have_their_parameters(void) {
    size_t n = sizeof published / sizeof *published;
    tl_shape s;
    for (size_t i = 0; i < n; i++) {
        tl_error err = {0};
        CHECKF(tl_shape_parse(published[i].name, &s, &err) == TL_OK, "%s: %s", published[i].name, err.text);
        CHECKF(tl_shape_params(&s) == published[i].params, "%s: %lld", s.name, (long long)tl_shape_params(&s));
    }
    CHECK(tl_shape_name((int)n - 1) && !tl_shape_name((int)n) && !tl_shape_name(-1));
}

/* Sizes of files as a quantizer made them; within 1 %. */
static void file_sizes_are_predicted(void) {
    static const struct { const char *shape, *type; int64_t bytes; } files[] = {
        {"smollm2-135m", "q4_1", 98362432},      {"gemma3-270m", "q4_k_m", 253113024},
        {"qwen2.5-0.5b", "q4_0", 349908672},     {"qwen2.5-0.5b", "q4_k_m", 395561664},
        {"qwen2.5-0.5b", "q8_0", 528821952},     {"qwen2.5-0.5b", "f16", 991910528},
        {"llama-3.2-1b", "q4_0", 766199168},     {"llama-3.2-1b", "Q4_K_M", 802964864},
        {"llama-3.2-1b", "q8_0", 1316353408},    {"llama-3.2-1b", "f16", 2474865984},
    };
    tl_shape s;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        CHECK(tl_shape_parse(files[i].shape, &s, NULL) == TL_OK);
        double ratio = (double)tl_shape_file_bytes(&s, files[i].type, NULL) / (double)files[i].bytes;
        CHECKF(fabs(ratio - 1) < 0.01, "%s %s: %.4f of the file", files[i].shape, files[i].type, ratio);
    }
    tl_error err = {0};
    CHECK(tl_shape_file_bytes(&s, "q4_k_x", &err) == -1 && err.code == TL_E_ARGUMENT);
}

static void mixes_follow_layers_and_widths(void) {
    tl_shape s;
    tl_mix room;
    CHECK(tl_shape_parse("layers=16,dim=2048,ff=8192,heads=32,kv=8", &s, NULL) == TL_OK);
    const tl_mix *m = tl_mix_find("q4_k_m", &room, NULL);
    static const char more[] = "1100100100100111";   /* 16/8 = 2 first, 2 last, every third between */
    for (int i = 0; i < 16; i++)
        CHECKF(tl_mix_type(m, &s, TL_ROLE_V, i, 2048) == (more[i] == '1' ? TL_TYPE_Q6_K : TL_TYPE_Q4_K), "layer %d", i);
    CHECK(tl_mix_type(m, &s, TL_ROLE_DOWN, 0, 8192) == TL_TYPE_Q6_K);
    CHECK(tl_mix_type(m, &s, TL_ROLE_HEAD, 0, 2048) == TL_TYPE_Q6_K);
    CHECK(tl_mix_type(m, &s, TL_ROLE_OTHER, 0, 896) == TL_TYPE_Q5_0);   /* not a multiple of 256 */
    CHECK(tl_mix_type(m, &s, TL_ROLE_V, 0, 896) == TL_TYPE_Q8_0);
    CHECK(tl_mix_type(m, &s, TL_ROLE_HEAD, 0, 896) == TL_TYPE_Q8_0);
    CHECK(tl_mix_type(m, &s, TL_ROLE_OTHER, 0, 48) == TL_TYPE_F16);     /* nor of 32 */
    m = tl_mix_find("q8_0", &room, NULL);
    CHECK(tl_mix_type(m, &s, TL_ROLE_HEAD, 0, 2048) == TL_TYPE_Q8_0);
    m = tl_mix_find("q4_0", &room, NULL);
    CHECK(tl_mix_type(m, &s, TL_ROLE_HEAD, 0, 2048) == TL_TYPE_Q6_K);
    CHECK(tl_mix_type(m, &s, TL_ROLE_EMBD, 0, 2048) == TL_TYPE_Q4_0);
    m = tl_mix_find("q2_k", &room, NULL);
    CHECK(tl_mix_type(m, &s, TL_ROLE_V, 3, 2048) == TL_TYPE_Q4_K);      /* 4 heads share a key */
    s.kv_heads = 16;
    CHECK(tl_mix_type(m, &s, TL_ROLE_V, 3, 2048) == TL_TYPE_Q3_K);
    CHECK(tl_mix_type(m, &s, TL_ROLE_OTHER, 3, 896) == TL_TYPE_IQ4_NL);
}

static tl_model *open_shape(const char *text, const char *type, tl_error *err) {
    tl_shape s;
    tl_memfile f = {0};
    tl_model *m = NULL;
    tl_model_options o = tl_model_options_default();
    o.cpu = "scalar";
    o.n_threads = 1;
    if (tl_shape_parse(text, &s, err) == TL_OK && tl_memfile_open(&f, err) == TL_OK &&
        tl_shape_write(&s, type, f.f, err) == TL_OK)
        m = tl_model_open(f.path, &o, err);
    tl_memfile_close(&f);
    return m;
}

/* 2 layers, dim 64, ff 96, 4 heads of 16, 2 of keys, 100 tokens; q8_0: 34 bytes for 32 values; f16 cache. */
static void passes_cost_what_shapes_say(void) {
    enum { D = 64, FF = 96, KV = 32, V = 100, L = 2 };
    const double kv = 2 * 16 * 2, q8 = 34.0 / 32;
    tl_error err = {0};
    tl_model *m = open_shape("layers=2,dim=64,ff=96,heads=4,kv=2,vocab=100", "q8_0", &err);
    CHECKF(m != NULL, "%s", err.text);
    if (!m) return;
    tl_cost c[TL_N_OPS] = {0};
    tl_cost_add(m, &m->k.kv[TL_KV_TYPE_F16], &(tl_pass){.n_seq = 3, .n = 1, .pos = 10, .n_want = 3}, c);
    CHECK(c[TL_OP_QKV].macs == 3 * L * D * (D + 2 * KV) && c[TL_OP_QKV].bytes == L * D * (D + 2 * KV) * q8);
    CHECK(c[TL_OP_GATE_UP].macs == 3 * L * 2 * D * FF && c[TL_OP_DOWN].bytes == L * D * FF * q8);
    CHECK(c[TL_OP_HEAD].macs == 3 * V * D && c[TL_OP_HEAD].bytes == V * D * q8);
    CHECK(c[TL_OP_ATTENTION].macs == 3 * L * 11 * 2 * D && c[TL_OP_ATTENTION].bytes == 3 * L * 11 * 2 * kv);
    CHECK(tl_cost_sum(c).macs == 3 * (L * (D * (2 * D + 2 * KV) + 3 * D * FF + 22 * D) + V * D));
    memset(c, 0, sizeof c);
    tl_cost_add(m, &m->k.kv[TL_KV_TYPE_F16], &(tl_pass){.n_seq = 1, .n = 5, .pos = 2, .n_want = 0}, c);   /* see 3, 4, 5, 6, 7 */
    CHECK(c[TL_OP_ATTENTION].macs == L * 25 * 2 * D && c[TL_OP_ATTENTION].bytes == L * 7 * 2 * kv);
    CHECK(c[TL_OP_HEAD].macs == 0 && c[TL_OP_HEAD].bytes == 0);
    CHECK(c[TL_OP_ATTN_OUT].bytes == L * D * D * q8 && c[TL_OP_ATTN_OUT].macs == 5 * L * D * D);
    CHECK(c[TL_OP_QKV].floats == 0 && c[TL_OP_ATTENTION].floats == c[TL_OP_ATTENTION].macs);
    memset(c, 0, sizeof c);
    tl_cost_add(m, &m->k.kv[TL_KV_TYPE_Q8_0], &(tl_pass){.n_seq = 1, .n = 5, .pos = 2, .n_want = 0}, c);
    CHECK(c[TL_OP_ATTENTION].floats == c[TL_OP_ATTENTION].macs / 2);   /* scores are products of codes */
    tl_model_free(m);
}

/* gemma3: every sixth layer sees all, the others 8 positions. */
static void windows_limit_what_is_read(void) {
    const double kv = 2 * 16 * 2;   /* of one head of 16 */
    tl_error err = {0};
    tl_model *m = open_shape("arch=gemma3,layers=6,dim=64,ff=64,heads=4,kv=1,window=8,vocab=100,tied=1", "f16", &err);
    CHECKF(m != NULL, "%s", err.text);
    if (!m) return;
    tl_cost c[TL_N_OPS] = {0};
    tl_cost_add(m, &m->k.kv[TL_KV_TYPE_F16], &(tl_pass){.n_seq = 1, .n = 1, .pos = 99, .n_want = 1}, c);
    CHECK(c[TL_OP_ATTENTION].bytes == (5 * 8 + 100) * kv && c[TL_OP_ATTENTION].macs == (5 * 8 + 100) * 2 * 64);
    memset(c, 0, sizeof c);
    tl_cost_add(m, &m->k.kv[TL_KV_TYPE_F16], &(tl_pass){.n_seq = 1, .n = 4, .pos = 6, .n_want = 1}, c);   /* see 7, 8, 8, 8 from 0 to 9 */
    CHECK(c[TL_OP_ATTENTION].bytes == (5 * 10 + 10) * kv && c[TL_OP_ATTENTION].macs == (5 * 31 + 34) * 2 * 64);
    CHECK(c[TL_OP_QKV].macs > 0 && c[TL_OP_QKV].floats == c[TL_OP_QKV].macs && tl_cost_sum(c).floats == tl_cost_sum(c).macs);
    tl_model_free(m);
}

/* 8 experts of which a token uses 2, q8_0, and one for all; f32 routers. */
static void experts_cost_what_is_chosen(void) {
    enum { D = 64, FF = 96, SHARED = 32, E = 8, USED = 2, L = 3 };
    const double q8 = 34.0 / 32, router = 4.0 * D * E, shared_router = 4.0 * D;
    tl_error err = {0};
    tl_model *m = open_shape("arch=qwen2moe,layers=3,dim=64,ff=64,heads=4,kv=2,vocab=100,experts=8,used=2,expert_ff=96,shared_ff=32",
                             "q8_0", &err);
    CHECKF(m != NULL, "%s", err.text);
    if (!m) return;
    for (int rows = 1; rows <= 256; rows *= 16) {
        /* One row reads its own experts; of many rows each expert is somebody's. */
        double read = rows == 1 ? USED : rows == 16 ? E * (1 - pow(0.75, 16)) : E;
        tl_cost c[TL_N_OPS] = {0};
        tl_cost_add(m, &m->k.kv[TL_KV_TYPE_F16], &(tl_pass){.n_seq = 1, .n = rows, .pos = 0, .n_want = 0}, c);
        CHECKF(fabs(c[TL_OP_GATE_UP].bytes / (L * (2 * D * q8 * (FF * read + SHARED) + router + shared_router)) - 1) < 1e-9,
               "%d rows: %g bytes of gate and up", rows, c[TL_OP_GATE_UP].bytes);
        CHECKF(fabs(c[TL_OP_DOWN].bytes / (L * D * q8 * (FF * read + SHARED)) - 1) < 1e-9, "%d rows: %g bytes of down", rows,
               c[TL_OP_DOWN].bytes);
        CHECK(c[TL_OP_GATE_UP].macs == rows * L * (2.0 * D * (FF * USED + SHARED) + D * (E + 1)));
        CHECK(c[TL_OP_DOWN].macs == rows * L * (double)D * (FF * USED + SHARED) && c[TL_OP_DOWN].floats == 0);
        CHECK(c[TL_OP_GATE_UP].floats == rows * L * (double)D * (E + 1));
    }
    tl_model_free(m);
}

static void runs_end_where_they_began(void) {
    tl_error err = {0};
    tl_model *m = open_shape("layers=1,dim=64,ff=64,heads=4,vocab=100", "q4_0", &err);
    tl_session_options so = {.n_ctx = 64, .n_seq = 2, .n_threads = 1};
    tl_counters counters;
    tl_counters_open(&counters, "/nowhere");
    tl_session *s = m ? tl_session_new(m, &so, &err) : NULL;
    tl_bench_options o = {.reps = 2, .counters = &counters, .profile = 1};
    tl_bench_result r;
    CHECK(s && tl_bench_run(s, &(tl_bench_case){.decode = 1, .n = 8, .depth = 20, .batch = 2}, &o, &r, &err) == TL_OK);
    CHECK(s && tl_session_pos(s, 0) == 20 && tl_session_pos(s, 1) == 20 && !s->run.profile);
    CHECK(r.tokens == 16 && r.tok_s.median > 0 && isnan(r.first));
    CHECK(r.counts.joules < 0 && r.op_seconds[TL_OP_HEAD] > 0);
    CHECK(s && tl_bench_run(s, &(tl_bench_case){.n = 16, .depth = 4, .batch = 1}, &o, &r, &err) == TL_OK);
    CHECK(s && tl_session_pos(s, 0) == 4 && r.first > 0 && r.tokens == 16);
    CHECK(s && tl_bench_run(s, &(tl_bench_case){.n = 80, .batch = 1}, &o, &r, &err) == TL_E_CONTEXT);
    tl_session_free(s);
    tl_counters_close(&counters);
    tl_model_free(m);
}

static void cases_have_names(void) {
    static const struct { tl_bench_case c; const char *name; } rows[] = {
        {{0, 512, 0, 1}, "pp512"}, {{1, 64, 0, 1}, "tg64"}, {{1, 64, 4096, 1}, "tg64@d4096"},
        {{1, 64, 0, 16}, "tg64*b16"}, {{1, 64, 7, 16}, "tg64*b16@d7"}, {{0, 8, 7, 1}, "pp8@d7"},
    };
    char name[64];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tl_bench_case_name(&rows[i].c, name, sizeof name);
        CHECKF(strcmp(name, rows[i].name) == 0, "%s", name);
    }
}

int main(void) {
    RUN(presets_have_their_parameters);
    RUN(file_sizes_are_predicted);
    RUN(mixes_follow_layers_and_widths);
    RUN(passes_cost_what_shapes_say);
    RUN(windows_limit_what_is_read);
    RUN(experts_cost_what_is_chosen);
    RUN(runs_end_where_they_began);
    RUN(cases_have_names);
    return tl_test_end();
}
