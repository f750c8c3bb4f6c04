/* SPDX-License-Identifier: MIT
 *
 * floats.h: f16 and bf16, with activations as floats. A packed group is [k][ROWS] numbers as they are in the file, so
 * that one vector holds value i of every row and meets value i of a token, and no sum runs across a vector.
 *
 * A sum is made of chunks: CHUNK products in rising k, then the chunk is added to the total. This keeps rounding errors
 * small, and chunks do not wait for each other. Few tokens convert as they go; many meet a panel, [STEP][groups]
 * vectors of floats that stays in L1 while TOKENS_AT_ONCE tokens pass. The sums are the same. */
#define CHUNK 32
#define STEP (4 * CHUNK)
#define TOKENS_AT_ONCE 64   /* with a panel of STEP, or k if less, this is what TL_GEMM_SCRATCH has room for */
/* Tokens of a tile of two groups: its sums, two vectors of weights and a broadcast fill the registers. */
#define TILE (ROWS == 16 ? 12 : 6)

INLINE vf load_half(const uint8_t *p, int bf16) { return bf16 ? (vf)(load_u16(p) << 16) : load_f16(p); }

/* Adds n products of G groups and T tokens, x [][stride bytes], to the totals [][G]. panel [n][G]. */
INLINE void float_tile(const int G, const int T, const uint8_t *panel, int n, const uint8_t *x, size_t stride,
                       uint8_t *totals) {
    for (int at = 0; at < n; at += CHUNK) {
        const int end = n - at < CHUNK ? n - at : CHUNK;
        vf acc[2 * TILE];
        UNROLL for (int j = 0; j < G * T; j++) acc[j] = (vf){0};
        for (int i = 0; i < end; i++, x += 4, panel += G * VBYTES) {
            vf w[2];
            UNROLL for (int g = 0; g < G; g++) w[g] = load_vf(panel + g * VBYTES);
            UNROLL for (int t = 0; t < T; t++) {
                vf v = (vf)set1(x + (size_t)t * stride);
                UNROLL for (int g = 0; g < G; g++) acc[t * G + g] = fma_v(v, w[g], acc[t * G + g]);
            }
        }
        UNROLL for (int j = 0; j < G * T; j++) store_vf(totals + j * VBYTES, load_vf(totals + j * VBYTES) + acc[j]);
    }
}

/* The same for any number of tokens. */
INLINE void float_tiles(const int G, const uint8_t *panel, int n, const uint8_t *x, size_t stride, int tokens,
                        uint8_t *totals) {
    for (int t = 0, T; t < tokens; t += T, x += (size_t)T * stride, totals += T * G * VBYTES) {
        int left = tokens - t;
        T = left >= TILE ? TILE : left >= 4 ? 4 : left >= 2 ? 2 : 1;
        if (T == TILE) float_tile(G, TILE, panel, n, x, stride, totals);
        else if (T == 4) float_tile(G, 4, panel, n, x, stride, totals);
        else if (T == 2) float_tile(G, 2, panel, n, x, stride, totals);
        else float_tile(G, 1, panel, n, x, stride, totals);
    }
}
static __attribute__((noinline)) void float_tiles_1(const uint8_t *panel, int n, const uint8_t *x, size_t stride,
                                                    int tokens, uint8_t *totals) {
    float_tiles(1, panel, n, x, stride, tokens, totals);
}
static __attribute__((noinline)) void float_tiles_2(const uint8_t *panel, int n, const uint8_t *x, size_t stride,
                                                    int tokens, uint8_t *totals) {
    float_tiles(2, panel, n, x, stride, tokens, totals);
}

static size_t float_group_bytes(int k) { return ((size_t)k * ROWS * 2 + 63) & ~(size_t)63; }

static void float_pack(const void *src, size_t src_stride, int n, int k, void *dst) {
    if (n < ROWS) memset(dst, 0, float_group_bytes(k));
    for (int at = 0; at < k; at += CHUNK)
        for (int r = 0; r < n; r++) {
            const uint8_t *s = (const uint8_t *)src + (size_t)r * src_stride;
            for (int i = at; i < at + CHUNK && i < k; i++) put_u16((uint8_t *)dst + (size_t)i * ROWS * 2, r, s + 2 * i);
        }
}

/* G groups from row r with tokens t0.., at most TOKENS_AT_ONCE, through panels. */
INLINE void float_many(const int G, const tl_gemm_args *a, int r, const uint8_t *group, int t0, int bf16) {
    uint8_t *totals = a->scratch, *panel = totals + TOKENS_AT_ONCE * 2 * VBYTES;
    int tokens = a->n - t0 < TOKENS_AT_ONCE ? a->n - t0 : TOKENS_AT_ONCE;
    size_t bytes = float_group_bytes(a->k), stride = (size_t)a->k * 4;
    const uint8_t *x = (const uint8_t *)a->x + (size_t)t0 * stride;
    memset(totals, 0, (size_t)(tokens * G) * VBYTES);
    for (int at = 0; at < a->k; at += STEP, group += STEP * ROWS * 2, x += STEP * 4) {
        int n = a->k - at < STEP ? a->k - at : STEP;
        for (int i = 0; i < n; i++)
            for (int g = 0; g < G; g++)
                store_vf(panel + (i * G + g) * VBYTES, load_half(group + (size_t)g * bytes + i * ROWS * 2, bf16));
        if (G == 2) float_tiles_2(panel, n, x, stride, tokens, totals);
        else float_tiles_1(panel, n, x, stride, tokens, totals);
    }
    for (int t = 0; t < tokens; t++)
        for (int g = 0; g < G; g++) {
            int at = r + g * ROWS, rows = a->r1 - at < ROWS ? a->r1 - at : ROWS;
            put(a->y + (size_t)(t0 + t) * a->y_stride + at, load_vf(totals + (t * G + g) * VBYTES), rows, a->add);
        }
}

/* One group and T tokens. */
INLINE void float_few(const int T, const tl_gemm_args *a, int r, const uint8_t *group, int bf16) {
    const uint8_t *x = a->x;
    vf total[4];
    UNROLL for (int t = 0; t < T; t++) total[t] = (vf){0};
    for (int at = 0; at < a->k; at += CHUNK) {
        const int end = a->k - at < CHUNK ? a->k - at : CHUNK;
        vf acc[4];
        UNROLL for (int t = 0; t < T; t++) acc[t] = (vf){0};
        prefetch(group + AHEAD, CHUNK * ROWS * 2);
        for (int i = 0; i < end; i++, group += ROWS * 2, x += 4) {
            vf w = load_half(group, bf16);
            UNROLL for (int t = 0; t < T; t++) acc[t] = fma_v((vf)set1(x + (size_t)(t * a->k) * 4), w, acc[t]);
        }
        UNROLL for (int t = 0; t < T; t++) total[t] += acc[t];
    }
    int rows = a->r1 - r < ROWS ? a->r1 - r : ROWS;
    UNROLL for (int t = 0; t < T; t++) put(a->y + (size_t)t * a->y_stride + r, total[t], rows, a->add);
}

INLINE void float_gemm(const tl_gemm_args *a, int bf16) {
    size_t bytes = float_group_bytes(a->k);
    const uint8_t *groups = (const uint8_t *)a->w + (size_t)(a->r0 / ROWS) * bytes;
    /* Tokens outside: a block of them stays in L2 while the rows pass. */
    for (int t = 0; t < a->n && a->n > 4; t += TOKENS_AT_ONCE) {
        const uint8_t *group = groups;
        int r = a->r0;
        for (; r + ROWS < a->r1; r += 2 * ROWS, group += 2 * bytes) float_many(2, a, r, group, t, bf16);
        if (r < a->r1) float_many(1, a, r, group, t, bf16);
    }
    for (int r = a->r0; r < a->r1 && a->n <= 4; r += ROWS, groups += bytes) {
        if (a->n == 4) float_few(4, a, r, groups, bf16);
        else if (a->n == 3) float_few(3, a, r, groups, bf16);
        else if (a->n == 2) float_few(2, a, r, groups, bf16);
        else if (a->n == 1) float_few(1, a, r, groups, bf16);
    }
}
static void FN(gemm, f16)(const tl_gemm_args *a) { float_gemm(a, 0); }
static void FN(gemm, bf16)(const tl_gemm_args *a) { float_gemm(a, 1); }
