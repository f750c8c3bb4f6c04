/* SPDX-License-Identifier: MIT
 *
 * attn_q.tmpl.h: scores and values of quantized pages (kv_block.h). bits, 8 or 4, is a constant. The level provides
 *   dot_32(k, q, sum, bits)  per lane the exact sum of 32 codes times q[32], k[g] holding codes 4g..4g+3 as stored in
 *                            a K page (plus 128, plus 8), sum being the sum of q */
#include "kv_block.h"

INLINE vu ld_bytes(const uint8_t *p) { vu x; memcpy(&x, p, sizeof x); return x; }

/* The codes of W positions from `at` on, dimensions 4g..4g+3 in k[g]. */
INLINE void ld_codes(const uint8_t *at, vu *k, int bits) {
    for (int g = 0; g < bits; g++) k[g] = ld_bytes(at + g * TL_KV_PAGE * 4);
    for (int g = 0; bits == 4 && g < 4; g++) {
        k[g + 4] = k[g] >> 4 & 0x0f0f0f0f;
        k[g] = k[g] & 0x0f0f0f0f;
    }
}

/* Asks for line i of each stream; a page's kernels do so for i = 0 .. bytes of K and V / 256 - 1. */
INLINE void ask(const uint8_t *const *ahead, int i) {
    for (int j = 0; j < TL_KV_STREAMS; j++) __builtin_prefetch(ahead[j] + i * 64);
}

/* Lines of each stream in a section: bits asked for with the scores, 1 + bits with the values. */
INLINE int lines_q(int bits) { return 1 + 2 * bits; }

/* Scores of nq queries into w [nq][TL_KV_PAGE]: one fma per 32 dimensions in rising order. */
INLINE void scores_q(const float *q, const uint8_t *page, const uint8_t *const *ahead, int hd, float *w, int nq, int bits) {
    const int each = bits / 4;   /* lines per 16 positions */
    for (int b = 0; b < hd / 32; b++, page += TL_KV_SECTION(bits))
        for (int p = 0; p < TL_KV_PAGE; p += W) {
            vu k[8];
            for (int i = 0; ahead && p % 16 == 0 && i < each; i++) ask(ahead, b * lines_q(bits) + p / 16 * each + i);
            ld_codes(page + TL_KV_CODES + p * 4, k, bits);
            const vf scale_k = ld_f16((const uint16_t *)(const void *)page + p);
            UNROLL for (int i = 0; i < nq; i++) {
                const tl_kv_query *x = (const tl_kv_query *)(const void *)(q + i * hd) + b;
                const vf sum = __builtin_convertvector(dot_32(k, x->q, x->sum, bits), vf);
                float *to = w + i * TL_KV_PAGE + p;
                st(to, vfma(sum, scale_k * set1(x->d), b ? ld(to) : set1(0)));
            }
        }
}

enum { COLS_Q = CV * W < 32 ? CV : 32 / W };   /* vectors of V's columns in registers */

/* Where column vector c, counted from byte `at` of a row, lies among the 32 dimensions: a byte has two halves. */
INLINE int column(int at, int c, int bits) {
    return bits == 8 ? at + c * W : at + c % (COLS_Q / 2) * W + c / (COLS_Q / 2) * 16;
}

/* acc[i] += sum over lo <= p < hi of w[i][p] * codes of V[p], the columns that begin with byte `at` of a row. Asks for
 * the lines of ahead, unless it is NULL, from `line` on. */
INLINE void add_columns_q(float *acc, const float *w, const uint8_t *codes, const uint8_t *const *ahead, int line, int hd,
                          int lo, int hi, int at, int nq, int bits) {
    const int every = TL_KV_PAGE / bits;   /* positions to a line */
    vf sum[QB][COLS_Q];
    for (int i = 0; i < nq; i++)
        for (int c = 0; c < COLS_Q; c++) sum[i][c] = ld(acc + i * hd + column(at, c, bits));
    for (int p = lo; p < hi; p++) {
        vf row[COLS_Q];
        if (ahead && p % every == 0) ask(ahead, line + p / every);
        for (int c = 0; c < COLS_Q; c++) {
            const vi x = (vi)ld_s8(codes + p * 4 * bits + at + (bits == 8 ? c : c % (COLS_Q / 2)) * W);
            row[c] = __builtin_convertvector(bits == 8 ? x : c < COLS_Q / 2 ? x << 28 >> 28 : x >> 4, vf);
        }
        for (int i = 0; i < nq; i++) {
            const vf wp = set1(w[i * TL_KV_PAGE + p]);
            for (int c = 0; c < COLS_Q; c++) sum[i][c] = vfma(wp, row[c], sum[i][c]);
        }
    }
    for (int i = 0; i < nq; i++)
        for (int c = 0; c < COLS_Q; c++) st(acc + i * hd + column(at, c, bits), sum[i][c]);
}

/* The scale of V goes into the weights: w[i][p] * scale[p] is rounded once and meets the codes. */
INLINE void add_values_q(float *acc, const float *w, const uint8_t *page, const uint8_t *const *ahead, int hd, int lo, int hi,
                         int nq, int bits) {
    float scaled[QB * TL_KV_PAGE];
    for (int b = 0; b < hd / 32; b++, acc += 32, page += TL_KV_SECTION(bits)) {
        const int line = b * lines_q(bits) + bits;
        for (int p = lo / W * W; p < hi; p += W) {
            const vf scale_v = ld_f16((const uint16_t *)(const void *)page + p);
            for (int i = 0; i < nq; i++) st(scaled + i * TL_KV_PAGE + p, ld(w + i * TL_KV_PAGE + p) * scale_v);
        }
        if (ahead) ask(ahead, line);
        for (int at = 0; at < 4 * bits; at += COLS_Q * W * bits / 8)
            add_columns_q(acc, scaled, page + TL_KV_CODES, at ? NULL : ahead, line + 1, hd, lo, hi, at, nq, bits);
    }
}
