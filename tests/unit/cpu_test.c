/* SPDX-License-Identifier: MIT
 * CPU detection and the choice and filling of levels, with made-up CPUs. A level fills its
 * part of the table with code of its own instructions, so only levels that this CPU has are filled. */
#include <stdlib.h>
#include "compute/compute.h"
#include "kernels.h"
#include "test.h"

static int count_levels(void) {
    int n = 0;
    while (tl_levels[n].name) n++;
    return n;
}

static int runs_here(int level) { return !(tl_levels[level].needs & ~tl_cpu_features()); }

static int ends_with(const char *s, const char *end) {
    size_t a = strlen(s), b = strlen(end);
    return a > b && s[a - b - 1] == '_' && !strcmp(s + a - b, end);
}

static void names(void) {
    CHECK(!strcmp(tl_levels[0].name, "scalar") && tl_levels[0].needs == 0);
    for (int i = 0; i < count_levels(); i++) CHECK(tl_level_by_name(tl_levels[i].name) == i);
    CHECK(tl_level_by_name("avx") == -1);
    CHECK(tl_level_by_name("") == -1);
    uint32_t known = 0;
    for (int bit = 0; tl_cpu_feature_name(bit); bit++) known |= 1u << bit;
    CHECK((known & TL_F_I8MM) && !(tl_cpu_features() & ~known));
    CHECK(!tl_cpu_feature_name(-1) && !tl_cpu_feature_name(31));
    CHECK(tl_cpu_feature_name(6) && !strcmp(tl_cpu_feature_name(6), "avx512vnni"));
}

static void choice(void) {
    CHECK(tl_level_for(0) == 0);
    CHECK(tl_level_for(~0u) == count_levels() - 1);
    for (int i = 1; i < count_levels(); i++) {
        uint32_t needs = tl_levels[i].needs;
        CHECKF(tl_level_for(needs) == i, "%s is not chosen with what it needs", tl_levels[i].name);
        for (int bit = 0; bit < 32; bit++)
            if (needs >> bit & 1) CHECKF(tl_level_for(needs & ~(1u << bit)) < i, "%s is chosen without bit %d", tl_levels[i].name, bit);
    }
    CHECK(tl_level_best() == tl_level_for(tl_cpu_features()));
}

/* Some CPUs have AVX-512 but not AVX-VNNI: the levels are no chain. */
static void no_slot_from_a_level_that_is_not_part(void) {
    static tl_kernels k;
    for (int i = 0; i < count_levels(); i++) {
        if (!runs_here(i)) continue;
        tl_kernels_init(&k, i);
        for (int j = 0; j < count_levels(); j++) {
            if (!(tl_levels[j].needs & ~tl_levels[i].needs)) continue;
            for (int type = 0; type < TL_N_TYPES; type++)
                for (int e = 0; e < 2; e++) {
                    const char *name = e ? k.exact[type].name : k.gemm[type].name;
                    if (name) CHECKF(!ends_with(name, tl_levels[j].name), "level %s has %s", tl_levels[i].name, name);
                }
        }
    }
}

static void tables_are_full(void) {
    static tl_kernels k;
    for (int i = 0; i < count_levels(); i++) {
        if (!runs_here(i)) continue;
        memset(&k, 0xff, sizeof k);
        tl_kernels_init(&k, i);
        CHECK(!strcmp(k.level, tl_levels[i].name));
        for (uint32_t id = 0; id < TL_N_TYPES; id++) {
            const tl_type_info *t = tl_type_info_get(id);
            int has = t && (t->kind == TL_KIND_FLOAT || t->kind == TL_KIND_QUANT);
            CHECKF(!k.gemm[id].run == !has && !k.exact[id].run == !has, "%s: type %d", k.level, (int)id);
            if (!has) continue;
            CHECKF(k.exact[id].act == TL_ACT_F32 && k.exact[id].rows == 1, "%s: exact %s", k.level, t->name);
            CHECKF(!strncmp(k.gemm[id].name, "tl_", 3), "%s: %s", k.level, k.gemm[id].name);
        }
        for (int act = 0; act < TL_N_ACTS; act++) CHECKF(k.put_act[act], "%s: activations %d", k.level, act);
        CHECKF(k.dot_f32 && k.rms_norm && k.layer_norm && k.add && k.scale && k.rope && k.log_sum_exp &&
               k.attn_finish && k.attn_merge, "%s: vector slots", k.level);
        for (int f = 0; f < TL_N_FFN; f++) CHECKF(k.ffn[f], "%s: %s", k.level, tl_ffn_types[f].name);
        for (int kv = 0; kv < TL_N_KV; kv++)
            CHECKF(k.kv[kv].name && k.kv[kv].elems > 0 && k.kv[kv].bytes > 0 && k.kv[kv].put_q && k.kv[kv].put_k &&
                   k.kv[kv].put_v && k.kv[kv].attn, "%s: kv %d", k.level, kv);
    }
}

/* $TINYLLM_CPU and --cpu belong to the program. */
static void library_asks_its_caller_alone(void) {
    tl_error err = {0};
    char *was = getenv("TINYLLM_CPU");
    was = was ? strcpy(malloc(strlen(was) + 1), was) : NULL;
    setenv("TINYLLM_CPU", "rubbish", 1);
    CHECK(tl_level_choose(NULL, &err) == tl_level_best() && tl_level_choose("", &err) == tl_level_best() && !err.code);
    CHECK(tl_level_choose("scalar", &err) == 0 && !err.code);
    CHECK(tl_level_choose("avx9", &err) < 0 && err.code == TL_E_ARGUMENT && strstr(err.text, "no CPU level \"avx9\""));
    CHECKF(!strstr(err.text, "--") && !strstr(err.text, "TINYLLM"), "%s", err.text);
    if (was) setenv("TINYLLM_CPU", was, 1);
    else unsetenv("TINYLLM_CPU");
    free(was);
}

static void cpu_name(void) {
    char whole[64], part[6];
    memset(whole, 'x', sizeof whole);
    tl_cpu_name(whole, sizeof whole);
    CHECK(memchr(whole, 0, sizeof whole) != NULL);
    CHECK(!strstr(whole, "  ") && whole[0] != ' ');
    memset(part, 'x', sizeof part);
    tl_cpu_name(part, 5);
    CHECK(memchr(part, 0, 5) && !strncmp(part, whole, strlen(part)) && part[5] == 'x');
    tl_cpu_name(part, 0);
    CHECK(part[5] == 'x');
}

int main(void) {
    RUN(names);
    RUN(choice);
    RUN(no_slot_from_a_level_that_is_not_part);
    RUN(tables_are_full);
    RUN(library_asks_its_caller_alone);
    RUN(cpu_name);
    return tl_test_end();
}
