/* SPDX-License-Identifier: MIT
 *
 * The type table, 16-bit floats (all values) and the decoders: bits placed by hand in otherwise empty blocks with the
 * value each must give, and the golden blocks where the shared folder is there. */
#include <math.h>
#include "half.h"
#include "kernels.h"
#include "test.h"

static int same_bits(float a, float b) {
    return tl_f32_bits(a) == tl_f32_bits(b) || (isnan(a) && isnan(b));
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

static void table(void) {
    int count[5] = {0};
    for (uint32_t id = 0; id < TL_N_TYPES; id++) {
        const tl_type_info *t = tl_type_info_get(id);
        if (!t) continue;
        count[t->kind]++;
        CHECKF(tl_type_by_name(t->name) == (int)id, "%s is not found by name", t->name);
        CHECKF((t->unpack != NULL) == (t->kind == TL_KIND_QUANT), "%s: unpack", t->name);
        CHECKF((t->to_f32 != NULL) == (t->kind == TL_KIND_FLOAT), "%s: to_f32", t->name);
        CHECKF((t->advice != NULL) == (t->kind == TL_KIND_GONE), "%s: advice", t->name);
        CHECKF((t->elems > 0 && t->bytes > 0) == (t->kind != TL_KIND_GONE), "%s: size", t->name);
        if (t->kind == TL_KIND_QUANT) CHECKF(t->elems % 32 == 0 && t->elems <= 256 && t->bytes < 256, "%s: %d elements", t->name, t->elems);
    }
    CHECK(count[TL_KIND_FLOAT] >= 3 && count[TL_KIND_QUANT] >= 15 && count[TL_KIND_GONE] == 8);
    CHECK(TL_TYPE_Q6_K == 14 && TL_TYPE_BF16 == 30 && TL_TYPE_MXFP4 == 39);
    CHECK(tl_type_info_get(TL_TYPE_Q6_K)->bytes == 210 && tl_type_info_get(TL_TYPE_Q6_K)->elems == 256);
    CHECK(tl_type_info_get(TL_TYPE_IQ2_XXS)->kind == TL_KIND_NAMED && tl_type_info_get(TL_TYPE_IQ2_XXS)->bytes == 66);
    CHECK(strstr(tl_type_info_get(TL_TYPE_Q4_0_8_8)->advice, "q4_0"));
}

static void look_up(void) {
    CHECK(!tl_type_info_get(TL_N_TYPES));
    CHECK(!tl_type_info_get(UINT32_MAX));
    CHECK(!tl_type_info_get(0x80000000));
    CHECK(tl_type_by_name("Q4_K") == TL_TYPE_Q4_K);
    CHECK(tl_type_by_name("q4_K") == TL_TYPE_Q4_K);
    CHECK(tl_type_by_name("F16") == TL_TYPE_F16);
    CHECK(tl_type_by_name("") == -1);
    CHECK(tl_type_by_name("q4_") == -1);
    CHECK(tl_type_by_name("q4_kx") == -1);
    CHECK(tl_type_by_name("q4_@") == -1);
}

/* ---- 16-bit floats -------------------------------------------------------------------------------------------------- */

static float f16_by_formula(int h) {
    int exp = h >> 10 & 31, frac = h & 0x3ff;
    float mag = exp == 31 ? (frac ? NAN : INFINITY) : exp ? ldexpf((float)(1024 + frac), exp - 25) : ldexpf((float)frac, -24);
    return h & 0x8000 ? -mag : mag;
}

static void f16_all_values(void) {
    for (int h = 0; h < 65536; h++) {
        float f = tl_f16_to_f32((uint16_t)h);
        CHECKF(same_bits(f, f16_by_formula(h)), "0x%04x is %g", h, f);
        int back = tl_f32_to_f16(f);
        int want = isnan(f) ? h | 0x200 : h;   /* a NaN becomes quiet */
        CHECKF(back == want, "0x%04x comes back as 0x%04x", h, back);
    }
}

/* Between each two neighbours: the middle goes to the even one, the floats beside it to the nearer one. */
static void f16_rounding(void) {
    for (int h = 0; h < 0x7c00; h++) {
        float low = tl_f16_to_f32((uint16_t)h), high = h == 0x7bff ? 65536 : tl_f16_to_f32((uint16_t)(h + 1));
        float mid = low / 2 + high / 2;
        int even = h & 1 ? h + 1 : h;
        CHECKF(tl_f32_to_f16(mid) == even, "middle above 0x%04x", h);
        CHECKF(tl_f32_to_f16(nextafterf(mid, 0)) == h, "below the middle above 0x%04x", h);
        CHECKF(tl_f32_to_f16(nextafterf(mid, INFINITY)) == h + 1, "above the middle above 0x%04x", h);
        CHECKF(tl_f32_to_f16(-mid) == (even | 0x8000), "negative middle above 0x%04x", h);
    }
    CHECK(tl_f32_to_f16(1e-45f) == 0 && tl_f32_to_f16(-1e-45f) == 0x8000);
    CHECK(tl_f32_to_f16(3e38f) == 0x7c00 && tl_f32_to_f16(-INFINITY) == 0xfc00);
    CHECK(tl_f32_to_f16(tl_f32_from_bits(0x7f800001)) == 0x7e00);   /* the payload's low bits alone must not give Inf */
}

static void bf16_all_values(void) {
    for (int h = 0; h < 65536; h++) {
        float f = tl_bf16_to_f32((uint16_t)h);
        CHECKF(tl_f32_bits(f) == (uint32_t)h << 16, "0x%04x is %g", h, f);
        int back = tl_f32_to_bf16(f);
        CHECKF(back == (isnan(f) ? (h | 0x40) : h), "0x%04x comes back as 0x%04x", h, back);
        if ((h & 0x7fff) >= 0x7f80) continue;
        uint32_t mid = (uint32_t)h << 16 | 0x8000;
        CHECKF(tl_f32_to_bf16(tl_f32_from_bits(mid)) == h + (h & 1), "middle above 0x%04x", h);
        CHECKF(tl_f32_to_bf16(tl_f32_from_bits(mid - 1)) == h, "below the middle above 0x%04x", h);
        CHECKF(tl_f32_to_bf16(tl_f32_from_bits(mid + 1)) == h + 1, "above the middle above 0x%04x", h);
    }
    CHECK(tl_f32_to_bf16(tl_f32_from_bits(0x7f800001)) == 0x7fc0);
}

/* ---- decoders, by hand ------------------------------------------------------------------------------------------------- */

/* A block of zeros with some bytes set, and what some elements are then. 0x3c at the upper byte of a float16 is 1. */
static const struct vector {
    int type;
    struct { int at, byte; } set[6];     /* ends with byte 0 */
    struct { int i; float value; } want[6];   /* ends with i = 0, or with element 0 as its last */
} vectors[] = {
    {TL_TYPE_Q4_0, {{1, 0x3c}, {7, 0x9e}}, {{5, 6}, {21, 1}, {6, -8}, {0, -8}}},
    {TL_TYPE_Q4_1, {{1, 0x3c}, {3, 0x40}, {19, 0xf1}}, {{15, 3}, {31, 17}, {0, 2}}},
    {TL_TYPE_Q5_0, {{1, 0x3c}, {3, 0x02}, {5, 0x80}, {15, 0x43}}, {{9, 3}, {25, -12}, {31, 0}, {30, -16}, {0, -16}}},
    {TL_TYPE_Q5_1, {{1, 0x3c}, {3, 0xbc}, {4, 0x01}, {6, 0x01}, {8, 0x21}}, {{16, 17}, {1, -1}, {17, -1}, {0, 16}}},
    {TL_TYPE_Q8_0, {{1, 0x3c}, {5, 0x80}, {33, 0x7f}}, {{3, -128}, {31, 127}, {0, 0}}},
    {TL_TYPE_Q2_K, {{81, 0x3c}, {83, 0x3c}, {3, 0x25}, {34, 0x0c}, {9, 0x31}, {64, 0x02}},
                   {{50, 13}, {48, -2}, {144, -1}, {145, -3}, {0, 0}}},
    {TL_TYPE_Q3_K, {{109, 0x3c}, {97, 0x50}, {105, 0x20}, {86, 0x02}, {22, 0x10}}, {{150, 10}, {151, -20}, {160, 128}, {0, 128}}},
    {TL_TYPE_Q4_K, {{1, 0x3c}, {3, 0x3c}, {6, 0x07}, {10, 0x03}, {53, 0xa9}}, {{69, 60}, {70, -3}, {101, 0}, {0, 0}}},
    {TL_TYPE_Q4_K, {{1, 0x3c}, {3, 0x3c}, {13, 0x21}, {5, 0x80}, {9, 0x40}, {80, 0x30}}, {{160, 81}, {161, -18}, {128, 0}, {0, 0}}},
    {TL_TYPE_Q5_K, {{1, 0x3c}, {15, 0x04}, {7, 0x40}, {11, 0xc0}, {175, 0x60}, {47, 0x80}}, {{255, 440}, {254, 0}, {0, 0}}},
    {TL_TYPE_Q5_K, {{3, 0x3c}, {15, 0x04}, {11, 0xc0}}, {{255, -48}, {224, -48}, {223, 0}, {0, 0}}},
    {TL_TYPE_Q6_K, {{209, 0x3c}, {72, 0xd0}, {168, 0x20}, {204, 0xfd}}, {{200, -39}, {201, 96}, {0, 0}}},
    {TL_TYPE_Q6_K, {{209, 0x3c}, {33, 0x05}, {129, 0x0c}, {194, 0x02}}, {{33, 42}, {34, -64}, {0, 0}}},
    {TL_TYPE_IQ4_NL, {{1, 0x3c}, {9, 0x1f}}, {{7, 113}, {23, -104}, {0, -127}}},
    {TL_TYPE_IQ4_XS, {{1, 0x3c}, {6, 0x90}, {3, 0x08}, {91, 0x8a}}, {{163, 225}, {179, 9}, {160, -1143}, {0, 4064}}},
    {TL_TYPE_MXFP4, {{0, 127}, {5, 0xf7}}, {{4, 6}, {20, -6}, {0, 0}}},
    {TL_TYPE_MXFP4, {{0, 1}, {16, 0x12}}, {{15, 0x1p-126f}, {31, 0x1p-127f}, {0, 0}}},
    {TL_TYPE_MXFP4, {{1, 0x91}}, {{16, -0x1p-128f}, {0, 0x1p-128f}}},
    {TL_TYPE_MXFP4, {{0, 255}, {1, 0xf1}}, {{16, -INFINITY}, {0, 0x1p127f}}},
    {TL_TYPE_NVFP4, {{1, 0x38}, {3, 0x7e}, {17, 0x72}, {28, 0x0f}}, {{21, 1}, {29, 6}, {48, -2688}, {56, 0}, {0, 0}}},   /* scales 1, 448 */
    {TL_TYPE_NVFP4, {{0, 0x01}, {2, 0x0c}, {4, 0x17}, {20, 0x02}}, {{8, 0x1p-10f}, {32, 0x1.8p-6f}, {0, 0x1.8p-7f}}},   /* subnormal */
    {TL_TYPE_NVFP4, {{0, 0x7f}, {1, 0x38}, {4, 0x22}, {12, 0x02}}, {{8, 0}, {16, 1}, {0, 0}}},   /* 0x7f reads as zero */
    {TL_TYPE_TQ1_0, {{53, 0x3c}, {3, 0xbc}}, {{3, 1}, {35, -1}, {67, 0}, {99, 1}, {131, 0}, {0, -1}}},      /* digits 2 0 1 2 1: */
    {TL_TYPE_TQ1_0, {{53, 0x3c}, {37, 0xbc}}, {{165, 1}, {181, -1}, {197, 0}, {213, 1}, {229, 0}, {0, -1}}},   /* 178 of 243, */
    {TL_TYPE_TQ1_0, {{53, 0x3c}, {50, 0xbc}}, {{242, 1}, {246, -1}, {250, 0}, {254, 1}, {255, -1}, {0, -1}}},  /* 188 of 256 */
    {TL_TYPE_TQ2_0, {{65, 0x3c}, {42, 0x90}}, {{138, -1}, {202, 0}, {234, 1}, {10, -1}, {0, -1}}},
};

static void hand_made_blocks(void) {
    int seen[TL_N_TYPES] = {0};
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
        const struct vector *c = &vectors[v];
        uint8_t block[256] = {0};
        float got[256];
        for (int i = 0; i < 6 && c->set[i].byte; i++) block[c->set[i].at] = (uint8_t)c->set[i].byte;
        const tl_type_info *t = tl_type_info_get((uint32_t)c->type);
        tl_dequantize(c->type, block, got, t->elems);
        for (int i = 0; i < 6; i++) {
            int at = c->want[i].i;
            CHECKF(got[at] == c->want[i].value, "%s, vector %d: element %d is %g, not %g", t->name, (int)v, at, got[at],
                   c->want[i].value);
            if (at == 0) break;
        }
        seen[c->type] = 1;
    }
    for (uint32_t id = 0; id < TL_N_TYPES; id++)
        if (tl_type_info_get(id) && tl_type_info_get(id)->unpack) CHECKF(seen[id], "%s has no vector", tl_type_info_get(id)->name);
}

static void keeps_negative_zero(void) {
    uint8_t q4_0[18] = {0, 0x80, 0x09};   /* d = -0; codes 1 and -8 */
    float got[32];
    tl_dequantize(TL_TYPE_Q4_0, q4_0, got, 32);
    CHECK(tl_f32_bits(got[0]) == 0x80000000 && tl_f32_bits(got[1]) == 0);
    uint8_t q8_0[34] = {0, 0xbc, 0xff, 0};   /* d = -1; codes -1 and 0 */
    tl_dequantize(TL_TYPE_Q8_0, q8_0, got, 32);
    CHECK(got[0] == 1 && tl_f32_bits(got[1]) == 0x80000000);
}

/* All of q, scale and min is written, nothing behind them, and the parts give tl_dequantize's values. */
static void unpack_contract(void) {
    uint8_t block[256];
    for (int i = 0; i < 256; i++) block[i] = (uint8_t)(i * 37 + 11 + i / 7);
    for (uint32_t id = 0; id < TL_N_TYPES; id++) {
        const tl_type_info *t = tl_type_info_get(id);
        if (!t || !t->unpack) continue;
        int8_t q[2][260];
        float scale[2][20], min[2][20], want[256];
        for (int pass = 0; pass < 2; pass++) {
            memset(q[pass], pass ? 0x55 : 0xaa, 260);
            memset(scale[pass], pass ? 0x55 : 0xaa, sizeof scale[0]);
            memset(min[pass], pass ? 0x55 : 0xaa, sizeof min[0]);
            t->unpack(block, q[pass], scale[pass], min[pass]);
        }
        int n = t->elems, s = n / 16;
        CHECKF(!memcmp(q[0], q[1], (size_t)n) && q[0][n] != q[1][n], "%s: codes written", t->name);
        CHECKF(!memcmp(scale[0], scale[1], (size_t)s * 4) && tl_f32_bits(scale[0][s]) == 0xaaaaaaaa, "%s: scales written", t->name);
        CHECKF(!memcmp(min[0], min[1], (size_t)s * 4) && tl_f32_bits(min[0][s]) == 0xaaaaaaaa, "%s: minima written", t->name);
        tl_dequantize((int)id, block, want, n);
        for (int i = 0; i < n; i++) {
            float v = scale[0][i / 16] * (float)q[0][i];
            if (t->has_min) v += min[0][i / 16];
            else CHECKF(tl_f32_bits(min[0][i / 16]) == 0, "%s: min is not 0", t->name);
            CHECKF(same_bits(v, want[i]), "%s: element %d", t->name, i);
        }
    }
}

static void float_types(void) {
    uint8_t src[9] = {0xff, 0x00, 0x3c, 0x49, 0x40, 0, 0, 0x80, 0x3f};   /* from an odd address */
    float got[2];
    tl_dequantize(TL_TYPE_F16, src + 1, got, 2);
    CHECK(got[0] == 1 && got[1] == 2.142578125f);
    tl_dequantize(TL_TYPE_BF16, src + 3, got, 1);
    CHECK(got[0] == 3.140625f);
    tl_dequantize(TL_TYPE_F32, src + 5, got, 1);
    CHECK(got[0] == 1);
    got[0] = 7;
    tl_dequantize(TL_TYPE_IQ1_M, src, got, 0);
    tl_dequantize(-1, src, got, 1);
    CHECK(got[0] == 7);
}

/* ---- golden blocks ----------------------------------------------------------------------------------------------------- */

static uint8_t *load(const char *type, const char *ending, size_t *size) {
    char rel[128];
    const char *path = NULL;
    for (int i = 0; i < 2 && !path; i++) {
        snprintf(rel, sizeof rel, "golden/quant%s/%s%s", i ? "2" : "", type, ending);
        for (char *c = rel; *c; c++)
            if (c[0] == '_' && c[1] == 'k') c[1] = 'K';
        path = test_shared(rel);
    }
    FILE *f = path ? fopen(path, "rb") : NULL;
    uint8_t *p = malloc(1 << 20);
    *size = f && p ? fread(p, 1, 1 << 20, f) : 0;
    if (f) fclose(f);
    return p;
}

static void golden_pair(int type, const char *blocks, const char *values) {
    const tl_type_info *t = tl_type_info_get((uint32_t)type);
    size_t src_size, want_size;
    uint8_t *src = load(t->name, blocks, &src_size), *want = load(t->name, values, &want_size);
    size_t n = want_size / 4;
    CHECKF(n > 0 && n / (size_t)t->elems * (size_t)t->bytes == src_size, "%s%s: %zu bytes", t->name, blocks, src_size);
    float *got = malloc(n * 4 + 4);
    if (got && src && want && !test_bad) tl_dequantize(type, src, got, (int64_t)n);
    for (size_t i = 0; i < n && got && !test_bad; i++) {
        float w;
        memcpy(&w, want + 4 * i, 4);
        CHECKF(same_bits(got[i], w), "%s%s: element %zu is %.9g, not %.9g", t->name, blocks, i, got[i], w);
    }
    free(got);
    free(want);
    free(src);
}

static void golden_blocks(void) {
    if (!test_shared("golden/quant/index.json")) SKIP("no golden/quant in the shared folder");
    int types = 0;
    for (uint32_t id = 1; id < TL_N_TYPES; id++) {
        const tl_type_info *t = tl_type_info_get(id);
        if (!t || (t->kind != TL_KIND_QUANT && t->kind != TL_KIND_FLOAT)) continue;
        golden_pair((int)id, ".q.bin", ".deq.f32");
        golden_pair((int)id, ".rand.bin", ".rand.deq.f32");
        types++;
    }
    CHECKF(types >= 17, "%d types", types);
}

int main(void) {
    RUN(table);
    RUN(look_up);
    RUN(f16_all_values);
    RUN(f16_rounding);
    RUN(bf16_all_values);
    RUN(hand_made_blocks);
    RUN(keeps_negative_zero);
    RUN(unpack_contract);
    RUN(float_types);
    RUN(golden_blocks);
    return tl_test_end();
}
