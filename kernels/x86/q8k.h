/* SPDX-License-Identifier: MIT
 *
 * q8k.h: types with blocks of 256 as tiles (AMX) multiply them: TL_ACT_Q8K, summed in whole numbers (kernels.h). What
 * tiles are slow at is giving their sums away, so scales go into the codes beforehand, in one or two planes of bytes:
 *   with minima     code * (scale & 7) and code * (scale >> 3), each at most 31 * 7, whose sums count 1 and 8;
 *   without         code * scale, up to 13 bits and a sign, as 128 * high + low.
 * A block of 256 then leaves the tiles once or twice instead of eight or sixteen times.
 *
 *   panel: per block of 256 k:  4 times: low plane, high plane (planes 2), each of 16 vectors, elements 4g..4g+3 of 64
 *                               d [16]
 *                               with minima: -dmin [16], minima in `pairs` vectors of two int16
 *
 * pairs: 4 for minima of every 32 elements, 8 for those of every 16, 0 without minima. */

#define WHOLE_PANEL(planes, pairs) ((size_t)(4096 * (planes) + 64 + ((pairs) ? 64 + 64 * (pairs) : 0)))

typedef struct whole_act {
    const int8_t *q;        /* elements 64c.. of token t: q + (c * tokens + t) * 64 */
    const float *d;
    const int16_t *s32;     /* of token t: s32 + 24 * t */
    const int16_t *s16;
} whole_act;

INLINE whole_act whole_at(act_tile t, int b) {
    const uint8_t *x = t.x + (size_t)b * TL_ACT_Q8K_BYTES * (size_t)t.tokens;
    const void *d = x + t.tokens * 256, *s = x + t.tokens * 260;
    return (whole_act){(const int8_t *)x + t.at * 64, (const float *)d + t.at, (const int16_t *)s + 24 * t.at,
                       (const int16_t *)s + 24 * t.at + 8};
}

/* acc + the 2 products of int16 in each lane; b: two of them, for all lanes. */
INLINE vi dot_2(vi acc, vi a, const int16_t *b) {
    return (vi)_mm512_dpwssd_epi32((__m512i)acc, (__m512i)a, (__m512i)set1(b));
}
INLINE vi pair_up(vi even, vi odd) { return even | odd << 16; }

/* -zero times the sums of the codes under each scale: int32 [k/256][8 or 16][TL_ACT_TILE]. */
static __attribute__((noinline)) void whole_terms(void *terms, act_tile x, int blocks, int zero, int half) {
    int n = half ? 16 : 8;
    int32_t *term = terms;
    for (int b = 0; b < blocks; b++) {
        whole_act a = whole_at(x, b);
        const int16_t *s = half ? a.s16 : a.s32;
        for (int i = 0; i < n; i++, term += TL_ACT_TILE)
            for (int t = 0; t < x.tokens; t++) term[t] = -zero * s[24 * t + i];
    }
}

/* Products of unsigned codes and scales of at most 6 bits as planes. A product by 7 carries nothing into the next byte. */
INLINE void scale_unsigned(const int planes, vu w, vi scale, uint8_t *panel) {
    const vi twice = scale | scale << 16;
    const __m512i low = (__m512i)(planes == 2 ? twice & 0x00070007 : twice), high = (__m512i)(twice >> 3 & 0x00070007);
    store_v(panel, (vu)_mm512_mullo_epi16((__m512i)w, low));
    if (planes == 2) store_v(panel + 1024, (vu)_mm512_mullo_epi16((__m512i)w, high));
}

/* Products of signed codes and scales, at most 4096, as planes. */
INLINE void scale_signed(const int planes, vu w, vi scale, uint8_t *panel) {
    const __m512i s = (__m512i)((scale & 0xffff) | scale << 16), x = (__m512i)w, bytes = _mm512_set1_epi16(255);
    __m512i even = _mm512_mullo_epi16(_mm512_srai_epi16(_mm512_slli_epi16(x, 8), 8), s);
    __m512i odd = _mm512_mullo_epi16(_mm512_srai_epi16(x, 8), s);
    if (planes == 2) {
        const __m512i low = _mm512_set1_epi16(127);
        __m512i high = _mm512_or_si512(_mm512_and_si512(_mm512_srai_epi16(even, 7), bytes),
                                       _mm512_slli_epi16(_mm512_srai_epi16(odd, 7), 8));
        store_v(panel + 1024, (vu)high);
        even = _mm512_and_si512(even, low);
        odd = _mm512_and_si512(odd, low);
    }
    store_v(panel, (vu)_mm512_or_si512(_mm512_and_si512(even, bytes), _mm512_slli_epi16(odd, 8)));
}

/* Registers 0 to 3: sums, low and high of the first tile of tokens and of the second; 4, 5: codes; 6, 7: tokens. */
INLINE void whole_shape(int first, int second) {
    tile_config c = {.palette = 1};
    for (int i = 0; i < 8; i++) c.row_bytes[i] = 64;
    c.rows[0] = c.rows[1] = c.rows[6] = (uint8_t)first;
    c.rows[2] = c.rows[3] = c.rows[7] = (uint8_t)(second ? second : 1);
    c.rows[4] = c.rows[5] = 16;
    load_tile_config(&c);
}

/* The sums of a block, low [T][16] and high, into the accumulators [T][16]. */
INLINE void add_whole(const int planes, const int pairs, int T, float *acc, int32_t (*sums)[256], const uint8_t *panel,
                      whole_act a) {
    const uint8_t *p = panel + 4096 * planes;
    const vf d = load_vf(p), dmin = pairs ? load_vf(p + 64) : d;
    for (int t = 0; t < T; t++, acc += 16) {
        vi sum = (vi)load_v(sums[0] + 16 * t), min_sum = {0};
        vf y = load_vf(acc);
        if (planes == 2) sum += (vi)load_v(sums[1] + 16 * t) << (pairs ? 3 : 7);
        y = fma_v(to_f32(sum), d * a.d[t], y);
        UNROLL for (int i = 0; i < pairs; i++)
            min_sum = dot_2(min_sum, (vi)load_v(p + 128 + 64 * i), (pairs == 8 ? a.s16 : a.s32) + 24 * t + 2 * i);
        if (pairs) y = fma_v(to_f32(min_sum), dmin * a.d[t], y);
        store_vf(acc, y);
    }
}

/* Codes are unsigned with minima, else signed. */
#define TILE_DOT(sum, x, w)                    \
    do {                                       \
        if (pairs) _tile_dpbsud(sum, x, w);    \
        else _tile_dpbssd(sum, x, w);          \
    } while (0)

/* y of one panel and two tiles of tokens, or one (x[1].tokens 0). */
INLINE void whole_tokens(const int planes, const int pairs, const uint8_t *panel, int blocks, const act_tile x[2], float *y,
                         size_t y_stride, int rows, int add) {
    int32_t sums[4][256] __attribute__((aligned(64)));
    float acc[2][256] __attribute__((aligned(64)));
    memset(acc, 0, sizeof acc);
    for (int b = 0; b < blocks; b++, panel += WHOLE_PANEL(planes, pairs)) {
        whole_act first = whole_at(x[0], b), second = x[1].tokens ? whole_at(x[1], b) : first;
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        UNROLL for (int c = 0; c < 4; c++) {
            const uint8_t *codes = panel + 1024 * planes * c;
            _tile_loadd(4, codes, 64);
            _tile_loadd(6, first.q + c * x[0].tokens * 64, 64);
            TILE_DOT(0, 6, 4);
            if (planes == 2) {
                _tile_loadd(5, codes + 1024, 64);
                TILE_DOT(1, 6, 5);
            }
            if (!x[1].tokens) continue;
            _tile_loadd(7, second.q + c * x[1].tokens * 64, 64);
            TILE_DOT(2, 7, 4);
            if (planes == 2) TILE_DOT(3, 7, 5);
        }
        _tile_stored(0, sums[0], 64);
        if (planes == 2) _tile_stored(1, sums[1], 64);
        if (x[1].tokens) _tile_stored(2, sums[2], 64);
        if (x[1].tokens && planes == 2) _tile_stored(3, sums[3], 64);
        add_whole(planes, pairs, x[0].tokens, acc[0], sums, panel, first);
        add_whole(planes, pairs, x[1].tokens, acc[1], sums + 2, panel, second);
    }
    for (int i = 0; i < 2; i++, y += TL_ACT_TILE * y_stride)
        for (int t = 0; t < x[i].tokens; t++) put(y + (size_t)t * y_stride, load_vf(acc[i] + 16 * t), rows, add);
}

/* Rows r.. of a, at most PANELS * ROWS, whose panels begin the scratch, times all tokens. */
INLINE void whole_run(const int planes, const int pairs, const tl_gemm_args *a, int r) {
    int blocks = a->k / 256;
    __asm__ volatile("" ::: "memory");   /* gcc's tile loads do not say that they read memory: panels are written */
    for (int j = 0; j * TL_ACT_TILE < a->n; j += 2) {
        act_tile x[2] = {{0}};
        for (int i = 0; i < 2 && (j + i) * TL_ACT_TILE < a->n; i++)
            x[i] = (act_tile){(const uint8_t *)a->x + tl_act_tile_at(TL_ACT_Q8K, a->k, j + i), tl_act_tile_n(a->n, j + i), 0};
        if (!j || x[1].tokens < TL_ACT_TILE) whole_shape(x[0].tokens, x[1].tokens);
        for (int i = 0; i < PANELS && r + i * ROWS < a->r1; i++) {
            const uint8_t *panel = (const uint8_t *)a->scratch + (size_t)i * (size_t)blocks * WHOLE_PANEL(planes, pairs);
            int at = r + i * ROWS, rows = a->r1 - at < ROWS ? a->r1 - at : ROWS;
            whole_tokens(planes, pairs, panel, blocks, x, a->y + (size_t)j * TL_ACT_TILE * a->y_stride + at, a->y_stride, rows,
                         a->add);
        }
    }
    _tile_release();
}

/* One function for each kind of panel in use. */
#define WHOLE_KIND_(planes, pairs) whole##planes##m##pairs
#define WHOLE_KIND(planes, pairs) WHOLE_KIND_(planes, pairs)
#define WHOLE(planes, pairs) \
    static void FN(panel, WHOLE_KIND(planes, pairs))(const tl_gemm_args *a, int r) { whole_run(planes, pairs, a, r); }
WHOLE(2, 4)
WHOLE(2, 0)
WHOLE(1, 8)
WHOLE(1, 0)
