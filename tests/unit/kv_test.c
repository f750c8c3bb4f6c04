/* SPDX-License-Identifier: MIT
 * The page tables of the KV cache against a plain-array model under random operations, and the cache's form: what is
 * put at a position is found there within the error of the type, in every type, at every level. */
#include "test.h"
#include "kv/kv.h"
#include "kv_block.h"

#include <math.h>

enum { SEQS = 3, CTX = 300, LAYERS = 2, HEADS = 2, HD = 32 };

static uint32_t rng = 12345;
static uint32_t next(void) { return rng = rng * 1664525u + 1013904223u; }

/* Which writer wrote what a sequence holds at a position: forks share, later writes differ. */
static int writer[SEQS][CTX];

/* Value of K (V: negative) at a coordinate; exact in f16. */
static float value(int layer, int who, int pos, int head, int i) {
    return (float)((layer * 31 + who * 17 + pos * 7 + head * 3 + i) % 1024) / 8.0f;
}

static float f16_at(const void *p, size_t i) { /* normal and zero values only */
    uint16_t h = ((const uint16_t *)p)[i];
    return (h & 0x8000 ? -1.0f : 1.0f) * (h & 0x7fff ? ldexpf((float)((h & 1023) | 1024), (h >> 10 & 31) - 25) : 0.0f);
}

/* What page holds of a position: of a K page, or of a V page. */
static void read_back(const uint8_t *page, int is_v, int pos, int type, float *x) {
    int8_t q[32];
    float scale;
    int bits = type == TL_KV_Q8_0 ? 8 : 4;
    for (int i = 0; i < HD; i++) {
        size_t at = is_v ? (size_t)(pos * HD + i) : (size_t)(i * TL_KV_PAGE + pos);
        if (type == TL_KV_F16) x[i] = f16_at(page, at);
        if (type == TL_KV_F32) x[i] = ((const float *)(const void *)page)[at];
    }
    for (int i = 0; i < HD && type >= TL_KV_Q8_0; i++) {
        if (i % 32 == 0) (is_v ? tl_kv_load_v : tl_kv_load_k)(page, i / 32, pos, q, &scale, bits);
        x[i] = scale * q[i % 32];
    }
}

/* Largest error of a type where the largest magnitude is amax: half a step, q4_0 at its upper end a whole one, and the
 * scale's rounding. */
static float error_of(int type, float amax) {
    return type == TL_KV_Q8_0 ? amax * (1 / 253.0f + 0x1p-11f) : type == TL_KV_Q4_0 ? amax * (1 / 7.9f) : 0;
}

static void put(tl_kv *kv, int seq, int pos) {
    float k[HD], v[HD];
    for (int l = 0; l < LAYERS; l++)
        for (int h = 0; h < HEADS; h++) {
            for (int i = 0; i < HD; i++) { k[i] = value(l, writer[seq][pos], pos, h, i); v[i] = -k[i]; }
            uint8_t *page = tl_kv_k(kv, l, seq, h, pos / TL_KV_PAGE);
            kv->ops->put_k(page, k, HD, pos % TL_KV_PAGE);
            kv->ops->put_v(tl_kv_v(kv, page), v, HD, pos % TL_KV_PAGE);
        }
}

static void check_all(const tl_kv *kv, const int *n, int type) {
    for (int s = 0; s < SEQS; s++)
        for (int pos = 0; pos < n[s]; pos++)
            for (int l = 0; l < LAYERS; l++)
                for (int h = 0; h < HEADS; h++) {
                    uint8_t *page = tl_kv_k(kv, l, s, h, pos / TL_KV_PAGE);
                    float k[HD], v[HD], x[HD], amax = 0;
                    read_back(page, 0, pos % TL_KV_PAGE, type, k);
                    read_back(tl_kv_v(kv, page), 1, pos % TL_KV_PAGE, type, v);
                    for (int i = 0; i < HD; i++) amax = fmaxf(amax, x[i] = value(l, writer[s][pos], pos, h, i));
                    for (int i = 0; i < HD; i += 5) {
                        CHECK(fabsf(k[i] - x[i]) <= error_of(type, amax));
                        CHECK(fabsf(v[i] + x[i]) <= error_of(type, amax));
                    }
                }
}

static void random_operations(void) {
    for (int level = 0; level <= tl_level_best(); level++)
        for (int type = 0; type < TL_N_KV; type++) {
            tl_kernels k;
            tl_kernels_init(&k, level);
            tl_kv kv;
            tl_error err = {0};
            CHECKF(!tl_kv_init(&kv, &k.kv[type], LAYERS, HEADS, HD, SEQS, CTX, &err), "%s", err.text);
            int n[SEQS] = {0}, who = 0, total = SEQS * ((CTX + TL_KV_PAGE - 1) / TL_KV_PAGE);
            for (int op = 0; op < 90; op++) {
                int s = (int)(next() >> 8) % SEQS;
                uint32_t what = next() >> 30;
                who++;
                if (what >= 2) {
                    int grow = (int)(next() >> 8) % 90;
                    for (; grow > 0 && n[s] < CTX; grow--, n[s]++) {
                        tl_kv_reserve(&kv, s, n[s] + 1);
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
                    tl_kv_truncate(&kv, s, to);
                    if (to < n[s]) n[s] = to;
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

static void absurd_sizes_are_errors(void) {
    tl_kernels k;
    tl_kernels_init(&k, 0);
    tl_kv kv;
    tl_error err = {0};
    CHECK(tl_kv_init(&kv, &k.kv[TL_KV_F32], 1024, 1024, 512, 65536, 1 << 24, &err) == TL_E_MEMORY);
    CHECK(strstr(err.text, "context"));
}

int main(void) {
    RUN(random_operations);
    RUN(absurd_sizes_are_errors);
    return tl_test_end();
}
