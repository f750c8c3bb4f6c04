/* SPDX-License-Identifier: MIT
 *
 * type.tmpl.h: the kernels of one tensor type, included once per type. Parameters (undefined again at the end):
 *   TYPE        name; these must exist: pack_TYPE(src, dst, r), a block of one row into place r of a packed block;
 *               scales_TYPE(p, s, m), all scales and minima of a packed block; codes_TYPE(p, i, w), its i-th 32 codes
 *               as 8 vectors
 *   ELEMS       of a block
 *   BYTES       of a block in a file; the packed block has ROWS * BYTES
 *   ZERO        code that stands for 0 (only with MIN 0)
 *   HALF, MIN   as in panel.h
 *   BITS        as in simd.h: 4, 5, 6 or 8
 *   PANEL_FROM  tokens from which expanding a panel beats unpacking for every 4 tokens (measured) */

#define PACKED (ROWS * BYTES)
#define BLOCKS (ELEMS / 32)
/* Blocks of a row packed at a time: rows write into the same lines, which have to stay in L1 meanwhile. */
#define PACK_BLOCKS (16384 / PACKED)
_Static_assert(PANEL_FROM <= TL_ACT_TILE + 1, "fewer tokens than that are one tile");

static size_t FN(group_bytes, TYPE)(int k) { return ((size_t)k / ELEMS * PACKED + 63) & ~(size_t)63; }

static void FN(pack, TYPE)(const void *src, size_t src_stride, int n, int k, void *dst) {
    if (n < ROWS) memset(dst, 0, FN(group_bytes, TYPE)(k));
    for (int at = 0, blocks = k / ELEMS; at < blocks; at += PACK_BLOCKS)
        for (int r = 0; r < n; r++) {
            const uint8_t *s = (const uint8_t *)src + (size_t)r * src_stride + (size_t)at * BYTES;
            uint8_t *d = (uint8_t *)dst + (size_t)at * PACKED;
            for (int i = at; i < at + PACK_BLOCKS && i < blocks; i++, s += BYTES, d += PACKED) CAT(pack_, TYPE)(s, d, r);
        }
}

/* A packed group as a panel. */
static void FN(expand, TYPE)(const uint8_t *group, int k, uint8_t *panel) {
    for (int i = 0; i < k; i += ELEMS, group += PACKED) {
        vf scale[BLOCKS * (1 + HALF)], min[BLOCKS * (1 + HALF)];
        CAT(scales_, TYPE)(group, scale, min);
        for (int b = 0; b < BLOCKS; b++) {
            vu w[8];
            CAT(codes_, TYPE)(group, b, w);
            UNROLL for (int g = 0; g < 8; g++, panel += VBYTES) store_v(panel, w[g]);
            UNROLL for (int h = 0; h <= HALF; h++, panel += VBYTES) store_vf(panel, scale[b * (1 + HALF) + h]);
            if (MIN)
                UNROLL for (int h = 0; h <= HALF; h++, panel += VBYTES) store_vf(panel, min[b * (1 + HALF) + h]);
        }
    }
}

/* T tokens with codes unpacked in registers: few tokens, where reading the weights is what takes time. S groups of rows
 * are walked side by side, 32 elements of each in turn, since a core reads several streams faster than one (one thread,
 * q4_k of 2048 columns: 0.71 of the read rate with 256 in turn, 0.95 with 32; whole models with 2 threads, 4 streams
 * against 1: +12 to +19 % at 576 to 1536 columns). What is asked for ahead is the same place of the next S groups, or
 * AHEAD in the stream where those are too far to stay in L1; for blocks of 256 half of it (q4_k as above: 0.95 against
 * 0.87; q8_0 of 8192 columns loses with half: 0.88 against 1.0). */
INLINE void FN(fused, TYPE)(const int T, const int S, const tl_gemm_args *a, const uint8_t *group, size_t bytes, act_tile x,
                            int r) {
    const uint8_t *terms = (const uint8_t *)a->scratch + x.at * 4;
    size_t ahead = S > 1 && S * bytes <= STREAM_REACH ? S * bytes : BLOCKS > 1 ? AHEAD / 2 : AHEAD;
    vf acc[4];
    UNROLL for (int i = 0; i < S * T; i++) acc[i] = (vf){0};
    for (int i = 0; i < a->k / 32; i += BLOCKS, group += PACKED, terms += BLOCKS * (1 + HALF) * TERM_BYTES) {
        vf scale[STREAMS][BLOCKS * (1 + HALF)], min[STREAMS][BLOCKS * (1 + HALF)];
        UNROLL for (int s = 0; s < S; s++) CAT(scales_, TYPE)(group + (size_t)s * bytes, scale[s], min[s]);
        for (int b = 0; b < BLOCKS; b++)
            UNROLL for (int s = 0; s < S; s++) {
                const uint8_t *p = group + (size_t)s * bytes;
                vu w[8];
                prefetch(p + b * (PACKED / BLOCKS) + ahead, PACKED / BLOCKS);
                CAT(codes_, TYPE)(p, b, w);
                add_block(T, acc + s * T, w, scale[s] + b * (1 + HALF), min[s] + b * (1 + HALF), act_at(x, i + b),
                          terms + b * (1 + HALF) * TERM_BYTES, HALF, MIN, BITS);
            }
    }
    float *y = a->y + (size_t)x.at * a->y_stride + r;
    UNROLL for (int s = 0; s < S; s++, y += ROWS, r += ROWS)
        UNROLL for (int t = 0; t < T; t++)
            put(y + (size_t)t * a->y_stride, acc[s * T + t], a->r1 - r < ROWS ? a->r1 - r : ROWS, a->add);
}

static void FN(gemm, TYPE)(const tl_gemm_args *a) {
    size_t bytes = FN(group_bytes, TYPE)(a->k);
    const uint8_t *group = (const uint8_t *)a->w + (size_t)(a->r0 / ROWS) * bytes;
    if (a->n >= PANEL_FROM) {
        size_t panel = (size_t)a->k / 32 * PANEL_BLOCK(HALF, MIN);
        for (int r = a->r0; r < a->r1; r += PANELS * ROWS) {
            for (int i = 0; i < PANELS && r + i * ROWS < a->r1; i++, group += bytes)
                FN(expand, TYPE)(group, a->k, PANELS_AT(a) + (size_t)i * panel);
            FN(panel, PANEL_KIND(HALF, MIN, BITS))(a, r, ZERO);
        }
        return;
    }
    act_tile x = {a->x, a->n, 0};
    act_terms(a->scratch, x, a->k / 32, HAS_ZERO(MIN, BITS) ? ZERO : 0, HALF, MIN);
    int r = a->r0;
    for (; a->n == 1 && r + (STREAMS - 1) * ROWS < a->r1; r += STREAMS * ROWS, group += STREAMS * bytes)
        FN(fused, TYPE)(1, STREAMS, a, group, bytes, x, r);
    for (; r < a->r1; r += ROWS, group += bytes) {
        for (x.at = 0; x.at < a->n;) {
            int left = a->n - x.at;
            if (left >= 4) { FN(fused, TYPE)(4, 1, a, group, bytes, x, r); x.at += 4; }
            else if (left >= 2) { FN(fused, TYPE)(2, 1, a, group, bytes, x, r); x.at += 2; }
            else { FN(fused, TYPE)(1, 1, a, group, bytes, x, r); x.at++; }
        }
    }
}

#undef TYPE
#undef ELEMS
#undef BYTES
#undef ZERO
#undef HALF
#undef MIN
#undef BITS
#undef PANEL_FROM
#undef PACKED
#undef BLOCKS
#undef PACK_BLOCKS
