/* SPDX-License-Identifier: MIT
 *
 * mix.c: which tensor gets which type. The mixes and what happens to rows that a block does not divide are those of
 * llama.cpp's quantizer (llama-quant.cpp, without an importance matrix), so that sizes and speeds are those of files
 * that people have. */
#include "bench/random.h"
#include "bench/shape.h"

#include <string.h>

/* Layers in which a pick holds. */
enum { NEVER, ALWAYS, MORE_BITS, FIRST_2, FIRST_4, FIRST_8TH, FIRST_16TH, GROUPED };

#define T(NAME) TL_TYPE_##NAME
/* The first pick that holds decides, else the base type. */
static const tl_mix mixes[] = {
    {"q2_k", T(Q2_K), .v = {{GROUPED, T(Q4_K)}, {ALWAYS, T(Q3_K)}},
     .down = {{ALWAYS, T(Q3_K)}}, .o = {ALWAYS, T(Q3_K)}},
    {"q2_k_s", T(Q2_K), .v = {{GROUPED, T(Q4_K)}}, .down = {{FIRST_8TH, T(Q4_K)}}},
    {"q3_k_s", T(Q3_K), .v = {{NEVER, 0}}},
    {"q3_k_m", T(Q3_K), .v = {{FIRST_2, T(Q5_K)}, {ALWAYS, T(Q4_K)}},
     .down = {{FIRST_16TH, T(Q5_K)}, {ALWAYS, T(Q4_K)}}, .o = {ALWAYS, T(Q4_K)}},
    {"q3_k_l", T(Q3_K), .v = {{ALWAYS, T(Q5_K)}}, .down = {{ALWAYS, T(Q5_K)}}, .o = {ALWAYS, T(Q5_K)}},
    {"q4_k_s", T(Q4_K), .v = {{FIRST_4, T(Q5_K)}}, .down = {{FIRST_8TH, T(Q5_K)}}},
    {"q4_k_m", T(Q4_K), .v = {{MORE_BITS, T(Q6_K)}}, .down = {{MORE_BITS, T(Q6_K)}}},
    {"q5_k_s", T(Q5_K), .v = {{NEVER, 0}}},
    {"q5_k_m", T(Q5_K), .v = {{MORE_BITS, T(Q6_K)}}, .down = {{MORE_BITS, T(Q6_K)}}},
    {"iq4_nl", T(IQ4_NL), .v = {{GROUPED, T(Q5_K)}}, .down = {{FIRST_8TH, T(Q5_K)}}},
    {"iq4_xs", T(IQ4_XS), .v = {{GROUPED, T(Q5_K)}}, .down = {{FIRST_8TH, T(Q5_K)}}},
};
enum { N_MIXES = sizeof mixes / sizeof *mixes };

/* Types of rows that a block does not divide. */
static const struct { int type, instead; } fallbacks[] = {
    {T(Q2_K), T(IQ4_NL)}, {T(Q3_K), T(IQ4_NL)}, {T(IQ4_XS), T(IQ4_NL)}, {T(Q4_K), T(Q5_0)},
    {T(Q5_K), T(Q5_1)},   {T(Q6_K), T(Q8_0)},   {T(TQ1_0), T(Q4_0)},    {T(TQ2_0), T(Q4_0)},
};

static int computable(int type) {
    return tl_random_possible(type);   /* those that can be computed with, and made */
}

const tl_mix *tl_mix_find(const char *name, tl_mix *room, tl_error *err) {
    char lower[32];
    size_t n = strlen(name);
    if (n < sizeof lower) {
        for (size_t i = 0; i <= n; i++) lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
        for (int i = 0; i < N_MIXES; i++)
            if (strcmp(mixes[i].name, lower) == 0) return &mixes[i];
        int type = tl_type_by_name(lower);
        if (computable(type)) {
            *room = (tl_mix){.name = tl_type_info_get((uint32_t)type)->name, .base = type};
            return room;
        }
    }
    tl_buf known = {0};
    for (int i = 0; i < TL_N_TYPES; i++)
        if (computable(i)) tl_buf_fmt(&known, "%s ", tl_type_info_get((uint32_t)i)->name);
    for (int i = 0; i < N_MIXES; i++)
        if (tl_type_by_name(mixes[i].name) < 0) tl_buf_fmt(&known, "%s ", mixes[i].name);
    tl_fail(err, TL_E_ARGUMENT, "no type or mix of types \"%.40s\"; known are %.*s", name,
            (int)(known.n ? known.n - 1 : 0), known.p ? known.p : "");
    tl_buf_free(&known);
    return NULL;
}

static int holds(int rule, const tl_shape *s, int i) {
    int n = s->layers;
    switch (rule) {
    case ALWAYS: return 1;
    case MORE_BITS: return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
    case FIRST_2: return i < 2;
    case FIRST_4: return i < 4;
    case FIRST_8TH: return i < n / 8;
    case FIRST_16TH: return i < n / 16;
    case GROUPED: return s->heads / s->kv_heads >= 4;
    default: return 0;
    }
}

static int wanted(const tl_mix *m, const tl_shape *s, tl_role role, int layer) {
    const struct tl_mix_pick *p = role == TL_ROLE_V ? m->v : role == TL_ROLE_DOWN ? m->down : &m->o;
    int n = role == TL_ROLE_O ? 1 : 2;
    if (role == TL_ROLE_HEAD)
        return m->base == T(Q8_0) || tl_type_info_get((uint32_t)m->base)->kind == TL_KIND_FLOAT ? m->base : T(Q6_K);
    if (role == TL_ROLE_EMBD && (m->base == T(TQ1_0) || m->base == T(TQ2_0))) return T(Q4_K);
    if (role != TL_ROLE_V && role != TL_ROLE_DOWN && role != TL_ROLE_O) return m->base;
    for (int i = 0; i < n; i++)
        if (holds(p[i].rule, s, layer)) return p[i].type;
    return m->base;
}

int tl_mix_type(const tl_mix *m, const tl_shape *s, tl_role role, int layer, int cols) {
    int type = wanted(m, s, role, layer);
    if (role == TL_ROLE_HEAD && cols % tl_type_info_get((uint32_t)m->base)->elems) type = T(Q8_0);
    if (cols % tl_type_info_get((uint32_t)type)->elems == 0) return type;
    for (size_t i = 0; i < sizeof fallbacks / sizeof *fallbacks; i++)
        if (fallbacks[i].type == type) {
            type = fallbacks[i].instead;
            break;
        }
    return cols % tl_type_info_get((uint32_t)type)->elems ? T(F16) : type;
}
