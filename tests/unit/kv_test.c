/* SPDX-License-Identifier: MIT
 * The page tables of the KV cache against a plain-array model under random operations, and the cache's form: what is
 * put at a position is found there within the error of the type, in every type, at every level. */
#include "test.h"
#include "kv/kv.h"
#include "kern/kv_form.h"

enum { SEQS = 3, CTX = 300, LAYERS = 2, HEADS = 2, HD = 32, WIDE = 64 };

/* V is wider than K, or narrower and padded. */
static const tl_kv_dims slots[LAYERS] = {{HEADS, HD, WIDE}, {HEADS, WIDE, 20}};

static uint32_t rng = 12345;
static uint32_t next(void) { return rng = rng * 1664525u + 1013904223u; }

/* Which writer wrote what a sequence holds at a position: forks share, later writes differ. */
static int writer[SEQS][CTX];

/* Value of K (V: negative) at a coordinate; exact in f16. */
static float value(int layer, int who, int pos, int head, int i) {
    return (float)((layer * 31 + who * 17 + pos * 7 + head * 3 + i) % 1024) / 8.0f;
}

/* The n values that a page holds of a position: a K page, or a V page of heads of `held` values with padding. */
static void read_back(const uint8_t *page, int is_v, int n, int held, int pos, int type, float *x) {
    const char *p = (const char *)page;
    for (int i = 0; i < n; i++) x[i] = is_v ? v_at(p, pos, i, held, type) : k_at(p, pos, i, type);
}

/* Largest error of a type where the largest magnitude is amax, with that of a rounded scale. */
static float error_of(int type, float amax) {
    return amax * (float)(kv_forms[type].error * 1.01 + (kv_forms[type].bits ? 0x1p-11 : 0));
}

static void put(tl_kv *kv, int seq, int pos) {
    float k[WIDE], v[WIDE];
    for (int l = 0; l < LAYERS; l++)
        for (int h = 0; h < HEADS; h++) {
            for (int i = 0; i < WIDE; i++) { k[i] = value(l, writer[seq][pos], pos, h, i); v[i] = -k[i]; }
            tl_kv_put_k(kv, l, seq, h, pos, k);
            tl_kv_put_v(kv, l, seq, h, pos, v);
        }
}

static void check_all(const tl_kv *kv, const int *n, int type) {
    for (int s = 0; s < SEQS; s++)
        for (int pos = 0; pos < n[s]; pos++)
            for (int l = 0; l < LAYERS; l++)
                for (int h = 0; h < HEADS; h++) {
                    const tl_kv_slot *slot = &kv->slots[l];
                    float k[WIDE], v[WIDE], x[WIDE], amax = 0;
                    const int page = pos / TL_KV_PAGE, at = pos % TL_KV_PAGE;
                    read_back(tl_kv_k(kv, l, s, h, page), 0, slot->dims.k, slot->hk, at, type, k);
                    read_back(tl_kv_v(kv, l, s, h, page), 1, slot->dims.v, slot->hv, at, type, v);
                    for (int i = 0; i < WIDE; i++) amax = fmaxf(amax, x[i] = value(l, writer[s][pos], pos, h, i));
                    for (int i = 0; i < WIDE; i += 5) {
                        const int k_fits = i >= slot->dims.k || fabsf(k[i] - x[i]) <= error_of(type, amax);
                        const int v_fits = i >= slot->dims.v || fabsf(v[i] + x[i]) <= error_of(type, amax);
                        CHECKF(k_fits && v_fits, "%s: value %d of %g and its opposite", kv->ops->name, i, x[i]);
                    }
                }
}

static const tl_kv_shape shape = {slots, LAYERS, SEQS, CTX, 0};

static void random_operations(void) {
    for (int level = 0; level <= tl_level_best(); level++)
        for (int type = 0; type < TL_N_KV; type++) {
            tl_kernels k;
            tl_kernels_init(&k, level);
            tl_kv kv;
            tl_error err = {0};
            CHECKF(!tl_kv_init(&kv, &k.kv[type], &shape, &err), "%s", err.text);
            int n[SEQS] = {0}, who = 0, total = SEQS * ((CTX + TL_KV_PAGE - 1) / TL_KV_PAGE);
            for (int op = 0; op < 90; op++) {
                int s = (int)(next() >> 8) % SEQS;
                uint32_t what = next() >> 30;
                who++;
                if (what >= 2) {
                    int grow = (int)(next() >> 8) % 90;
                    for (; grow > 0 && n[s] < CTX; grow--, n[s]++) {
                        CHECK(tl_kv_reserve(&kv, s, n[s] + 1, &err) == TL_OK);
                        kv.n_pos[s] = n[s] + 1;
                        writer[s][n[s]] = who;
                        put(&kv, s, n[s]);
                    }
                } else if (what == 1) {
                    int to = (int)(next() >> 8) % SEQS;
                    tl_kv_fork(&kv, s, to);
                    memcpy(writer[to], writer[s], sizeof *writer);
                    n[to] = n[s];
                } else {
                    int to = (int)(next() >> 8) % (CTX + 1);
                    if (to < n[s]) n[s] = to;
                    CHECK(tl_kv_truncate(&kv, s, to) == n[s]);
                }
                int entries = 0, refs = 0, held = 0;
                for (int i = 0; i < SEQS; i++) {
                    CHECK(kv.n_pos[i] == n[i]);
                    entries += (n[i] + TL_KV_PAGE - 1) / TL_KV_PAGE;
                }
                for (int i = 0; i < kv.n_pages; i++) { refs += kv.refs[i]; held += kv.refs[i] > 0; }
                CHECK(refs == entries && kv.n_free == total - held);
                if (op % 10 == 9) check_all(&kv, n, type);
            }
            check_all(&kv, n, type);
            tl_kv_done(&kv);
        }
}

/* Slots of different numbers and widths of heads do not meet; one budget for all sequences; what fails changes nothing. */
static void slots_and_budget(void) {
    static const tl_kv_dims unlike[3] = {{1, HD, HD}, {4, HD, HD}, {2, HD, WIDE}};
    tl_kernels k;
    tl_kernels_init(&k, 0);
    tl_kv kv;
    tl_error err = {0};
    CHECK(!tl_kv_init(&kv, &k.kv[TL_KV_F32], &(tl_kv_shape){unlike, 3, 3, 256, 300}, &err) && kv.n_pages == 5);
    CHECK(tl_kv_reserve(&kv, 0, 100, &err) == TL_OK && tl_kv_reserve(&kv, 1, 130, &err) == TL_OK && kv.n_free == 0);
    kv.n_pos[0] = 100, kv.n_pos[1] = 130;
    for (int seq = 0; seq < 2; seq++)
        for (int pos = 0; pos < kv.n_pos[seq]; pos++)
            for (int slot = 0; slot < 3; slot++)
                for (int h = 0; h < unlike[slot].heads; h++) {
                    float x[WIDE];
                    for (int i = 0; i < WIDE; i++) x[i] = value(slot, seq, pos, h, i);
                    tl_kv_put_k(&kv, slot, seq, h, pos, x);
                    tl_kv_put_v(&kv, slot, seq, h, pos, x);
                }
    CHECK(tl_kv_reserve(&kv, 2, 1, &err) == TL_E_CONTEXT && strstr(err.text, "pages"));
    CHECK(tl_kv_reserve(&kv, 0, 128, NULL) == TL_OK && tl_kv_reserve(&kv, 0, 129, NULL) == TL_E_CONTEXT);
    tl_kv_fork(&kv, 1, 2);   /* shares pages, but cannot write to the last one */
    CHECK(kv.n_pos[2] == 130 && tl_kv_reserve(&kv, 2, 131, NULL) == TL_E_CONTEXT && tl_kv_truncate(&kv, 2, 128) == 128);
    tl_kv_trim(&kv, 2);
    for (int seq = 0; seq < 3; seq++)
        for (int pos = 0; pos < kv.n_pos[seq]; pos++)
            for (int slot = 0; slot < 3; slot++)
                for (int h = 0; h < unlike[slot].heads; h++) {
                    float x[HD];
                    read_back(tl_kv_k(&kv, slot, seq, h, pos / TL_KV_PAGE), 0, HD, HD, pos % TL_KV_PAGE, TL_KV_F32, x);
                    CHECK(x[0] == value(slot, seq == 2 ? 1 : seq, pos, h, 0) && x[HD - 1] == value(slot, seq == 2 ? 1 : seq, pos, h, HD - 1));
                }
    tl_kv_done(&kv);
}

/* What f16 cannot hold is held as its largest, at every level and position; infinity and NaN stay. */
static void f16_saturates(void) {
    static const tl_kv_dims one[1] = {{1, 20, 20}};
    static const float x[20] = {65504, 65519, 65520, 1e6f, INFINITY, -65504, -65520, -1e30f, -INFINITY, NAN,
                                0, 1, -1, 6e-8f, 65472, 70000, -70000, 2, 3, 4};
    for (int level = 0; level <= tl_level_best(); level++) {
        tl_kernels k;
        tl_kernels_init(&k, level);
        tl_kv kv;
        CHECK(!tl_kv_init(&kv, &k.kv[TL_KV_F16], &(tl_kv_shape){one, 1, 1, 64, 0}, NULL) && kv.slots[0].hk == 32);
        CHECK(tl_kv_reserve(&kv, 0, 64, NULL) == TL_OK);
        for (int pos = 0; pos < 64; pos++) tl_kv_put_k(&kv, 0, 0, 0, pos, x), tl_kv_put_v(&kv, 0, 0, 0, pos, x);
        for (int pos = 0; pos < 64; pos += 7) {
            uint8_t *page = tl_kv_k(&kv, 0, 0, 0, 0);
            float kx[HD], vx[HD];
            read_back(page, 0, HD, HD, pos, TL_KV_F16, kx);
            read_back(tl_kv_v(&kv, 0, 0, 0, 0), 1, HD, HD, pos, TL_KV_F16, vx);
            for (int i = 0; i < HD; i++) {
                float want = i >= 20 ? 0 : isinf(x[i]) ? x[i] : x[i] > 65504 ? 65504 : x[i] < -65504 ? -65504 : x[i];
                uint16_t half = ((const uint16_t *)(const void *)page)[i * TL_KV_PAGE + pos];
                if (i < 20 && isnan(x[i])) CHECK((half & 0x7c00) == 0x7c00 && half & 0x3ff);
                else if (i < 20 && isinf(x[i])) CHECK(half == (x[i] > 0 ? 0x7c00 : 0xfc00));
                else if (i != 13) CHECKF(kx[i] == want && vx[i] == want, "level %d, value %d: %g %g, not %g", level, i, kx[i], vx[i], want);
            }
        }
        tl_kv_done(&kv);
    }
}

static void absurd_sizes_are_errors(void) {
    tl_kernels k;
    tl_kernels_init(&k, 0);
    tl_kv kv;
    tl_error err = {0};
    static tl_kv_dims many[1024];
    for (int i = 0; i < 1024; i++) many[i] = (tl_kv_dims){1024, 512, 512};
    CHECK(tl_kv_init(&kv, &k.kv[TL_KV_F32], &(tl_kv_shape){many, 1024, 65536, 1 << 24, 0}, &err) == TL_E_MEMORY);
    CHECK(strstr(err.text, "context"));
}

int main(void) {
    RUN(random_operations);
    RUN(slots_and_budget);
    RUN(f16_saturates);
    RUN(absurd_sizes_are_errors);
    return tl_test_end();
}
