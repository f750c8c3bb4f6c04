/* SPDX-License-Identifier: MIT
 *
 * kernels.h: everything that is arithmetic over memory. The only header of this folder that others include.
 *
 * Promise: functions here never allocate, never start threads, never print, never fail; they read and write only the
 * bytes their arguments name (a weight row may end at the end of a mapped file: not one byte beyond it is read).
 * All are re-entrant. Callers never ask about the CPU: they fill one tl_kernels for a level and call its slots.
 *
 * Numerics contract.
 *  - Integer parts are exact: for a block of 32 the int32 sum of code*activation equals the scalar reference bit for bit.
 *  - Each output y[t][r] is accumulated in one fixed order that depends on neither the number of tokens in the call, nor
 *    the position of t in it, nor the row range: a token's result has the same bits alone and in any batch.
 *    TL_ACT_Q8: each block of 32 (or half block of 16 where the type has one scale per 16) adds
 *    fma(float(isum), scale_w*scale_a, acc) in rising k; where the type has minima, fma(min_w, scale_a*sum_a, acc)
 *    follows for the same block.
 *    TL_ACT_Q8K: each block of 256 adds fma(float(sum of scale_w*isum), d_w*scale_a, acc), the type's scales being whole
 *    numbers and their products with the codes summed exactly in int32; where the type has minima,
 *    fma(float(sum of min_w*sum_a), -dmin_w*scale_a, acc) follows for the same block.
 *  - Float error of a quantized product against exact arithmetic on the same codes: at most
 *    TL_GEMM_EPS(k) * sum_k |w||a|, see below. NaN and Inf in a row reach every output that uses it.
 */
#ifndef TL_KERNELS_H
#define TL_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* ---- tensor types (types.def) ------------------------------------------------------------------------------------- */

enum tl_type {
#define FLOAT(id, NAME, name, elems, bytes)          TL_TYPE_##NAME = id,
#define QUANT(id, NAME, name, ...)                   TL_TYPE_##NAME = id,
#define NAMED(id, NAME, name, elems, bytes)          TL_TYPE_##NAME = id,
#define GONE(id, NAME, name, advice)                 TL_TYPE_##NAME = id,
#include "types.def"
#undef FLOAT
#undef QUANT
#undef NAMED
#undef GONE
    TL_N_TYPES
};

/* Where a block keeps what all its values are multiples of. F16: a float16 at at, and, with minima, one at min_at that
 * centres values around 0 if it is centre times the other. E8M0: an exponent byte, 2^(e-128). E4M3: a byte without sign
 * for every dist elements, from at on. */
typedef struct tl_scale_place { enum { TL_SCALE_UNKNOWN, TL_SCALE_F16, TL_SCALE_E8M0, TL_SCALE_E4M3 } form; int at, min_at; float centre; } tl_scale_place;

enum tl_kind { TL_KIND_NONE, TL_KIND_FLOAT, TL_KIND_QUANT, TL_KIND_NAMED, TL_KIND_GONE };

/* One block of a quantized type as codes with a scale (and a minimum) for every 16 of them:
 *   value[i] = scale[i/16] * q[i] (+ min[i/16] where has_min), each operation rounded to float, never fused.
 * q [elems], scale [elems/16], min [elems/16] (written, as 0, also by types without minima). */
typedef void tl_unpack_fn(const void *block, int8_t *q, float *scale, float *min);

typedef struct tl_type_info {
    const char *name;      /* lower case, as in files' documentation: "q4_k"; NULL in a hole of the id space */
    const char *advice;    /* TL_KIND_GONE: what to do instead */
    enum tl_kind kind;
    int elems, bytes;      /* of one block; rows hold a whole number of blocks */
    int has_min, dist;     /* TL_KIND_QUANT: elements from one scale to the next */
    tl_scale_place scale;
    tl_unpack_fn *unpack;  /* TL_KIND_QUANT only */
    void (*to_f32)(const void *src, float *dst, int64_t n);   /* TL_KIND_FLOAT only, n elements */
} tl_type_info;

/* Row of the table, or NULL for an id that is not in it (holes included). id comes from a file: any value is fine. */
const tl_type_info *tl_type_info_get(uint32_t id);
/* Type id of a lower- or upper-case name, or -1. */
int tl_type_by_name(const char *name);
/* Decodes n elements (a multiple of the block's) of any FLOAT or QUANT type. Bit-exact on every level and compiler. */
void tl_dequantize(int type, const void *src, float *dst, int64_t n);

/* ---- activations --------------------------------------------------------------------------------------------------- */

/* How the right-hand side of a product is held: rows of n tokens with k values each, k a multiple of 32 (of 1 for f32).
 *   TL_ACT_F32: float [n][k].
 *   TL_ACT_Q8:  int8 with one scale per 32 values, for all quantized types, so that a vector is quantized once however
 *               many matrices of whatever types it meets. Tokens are grouped in tiles of TL_ACT_TILE; a tile of T tokens
 *               (T = TL_ACT_TILE, less in the last tile) holds, for each block of 32 values in rising k:
 *                   int8  q [T][32]    round-to-nearest-even(x * (127 / amax)), within +-127
 *                   float d [T]        amax / 127
 *                   float ds[T]        d * (float)(s[0]+s[1])
 *                   int16 s [T][2]     sums of q over the first and the last 16 values of the block
 *               that is 44 bytes per token and block. amax is the largest magnitude of the block; where a value of the
 *               block is NaN or Inf, d is NaN and q and s are 0, so the fault reaches every output. amax = 0: all zero.
 *   TL_ACT_Q8K: the same with one scale per 256 values, for levels that sum a type's blocks of 256 in whole numbers. A
 *               tile of T tokens holds, for each block of 256 values in rising k:
 *                   int8  q [4][T][64]
 *                   float d [T]
 *                   int16 s [T][24]    sums of q over 32 values, 8 of them, then over 16 values, 16 of them
 *               that is 308 bytes per token and block. */
enum { TL_ACT_F32, TL_ACT_Q8, TL_ACT_Q8K, TL_N_ACTS };
#define TL_ACT_TILE 16
#define TL_ACT_Q8_BYTES 44
#define TL_ACT_Q8K_BYTES 308

/* Bytes of n tokens of k values. */
static inline size_t tl_act_bytes(int act, int k, int n) {
    static const struct { int values, bytes; } block[TL_N_ACTS] = {{1, 4}, {32, TL_ACT_Q8_BYTES}, {256, TL_ACT_Q8K_BYTES}};
    return (size_t)(k / block[act].values) * (size_t)block[act].bytes * (size_t)n;
}
/* Tokens in tile j of n tokens. */
static inline int tl_act_tile_n(int n, int j) { int t = n - j * TL_ACT_TILE; return t < TL_ACT_TILE ? t : TL_ACT_TILE; }
/* Start of tile j; its block b starts b * T times a token's bytes of a block further on. */
static inline size_t tl_act_tile_at(int act, int k, int j) { return tl_act_bytes(act, k, TL_ACT_TILE) * (size_t)j; }

/* ---- matrix products ------------------------------------------------------------------------------------------------ */

/* y[t*y_stride + r] = sum_k W[r][k] * x[t][k] for r0 <= r < r1 and 0 <= t < n.
 * With add: y += the product (one float addition after the sum). Nothing else of y is touched. */
typedef struct tl_gemm_args {
    const void *w;      /* the whole matrix: raw GGUF rows (gemm->rows == 1) or packed groups, 64-byte aligned */
    int type;           /* tensor type: read by the generic kernels only */
    int k;              /* columns: a multiple of the type's block, at most 2^20 */
    int r0, r1;         /* row range; r0 a multiple of gemm->rows; r1 too, or the matrix's number of rows */
    const void *x;      /* activations in the form gemm->act names; 64-byte aligned */
    int n;              /* tokens */
    float *y;           /* [n][y_stride] */
    size_t y_stride;    /* floats */
    int add;
    void *scratch;      /* TL_GEMM_SCRATCH(k) bytes, 64-byte aligned, private to the calling thread */
    size_t stream_from; /* bytes of a group from which one token reads TL_STREAMS side by side (blocks of 32: always);
                         * changes no bit */
} tl_gemm_args;
#define TL_STREAMS 4
#define TL_GEMM_SCRATCH(k) ((size_t)(k) * 72 + 16384)
/* Relative bound of the float part: k/32 blocks of at most 2 half blocks and one min term, 4 roundings each. */
#define TL_GEMM_EPS(k) (((double)(k) / 32 * 3 + 8) * 6e-8)

/* How one tensor type is multiplied at one level. */
typedef struct tl_gemm {
    const char *name;   /* of the kernel, as a profiler shows it: "tl_gemm_q4_k_r16_avx512vnni" */
    int act;            /* TL_ACT_* it wants */
    int rows;           /* R: rows interleaved in a packed group; 1: works on raw GGUF rows, group_bytes and pack NULL */
    size_t (*group_bytes)(int k);   /* bytes of one packed group of R rows, a multiple of 64 */
    /* Packs n rows (1..R; missing ones count as zeros) from src, src_stride bytes apart, into one group. Lossless. */
    void (*pack)(const void *src, size_t src_stride, int n, int k, void *dst);
    void (*run)(const tl_gemm_args *);
} tl_gemm;

/* ---- attention and the KV cache's form --------------------------------------------------------------------------------- */

/* A page holds TL_KV_PAGE consecutive positions of one sequence, starting at a multiple of TL_KV_PAGE, for one layer
 * and one kv head. K is transposed, [hk][TL_KV_PAGE] (lanes are positions: no horizontal sums), V is [TL_KV_PAGE][hv];
 * of f16 or f32, or quantized with a scale for every 32 values of a position (kv_block.h). hk and hv, the values of a key
 * and of a value, are multiples of 16 and of the type's block, at most TL_HD_MAX. Pages are 64-byte aligned. Scores of
 * quantized K are integer products with the query quantized likewise to 8 bits: exact within 32 dimensions. NaN and Inf
 * reach the results of all who see them. */
#define TL_KV_PAGE 64
#define TL_HD_MAX 512
#define TL_KV_STREAMS 4
enum {   /* kv.def */
#define KV(NAME, name, elems, bytes) TL_KV_##NAME,
#include "kv.def"
#undef KV
    TL_N_KV
};
typedef struct tl_kv_type {
    const char *name;        /* "f16" */
    int elems, bytes;        /* of one block of a position's values */
} tl_kv_type;
extern const tl_kv_type tl_kv_types[TL_N_KV];

/* One step of online softmax: adds a page to the running state of nq queries that share its kv head.
 * For query i the visible positions of the page are lo[i] <= p < hi[i] (page-relative; hi <= lo: page skipped).
 * Each query's arithmetic is independent of nq and of its index. Initial state: m = -INFINITY, s = 0, acc = 0. */
typedef struct tl_attn_args {
    const void *q;           /* [nq] queries as put_q wrote them, hk floats apart */
    int nq, hk, hv;
    const void *k, *v;       /* one page each, in the form of the table slot called */
    /* Memory that will be read soon, a quarter of K's and V's bytes together at each address: the kernel asks for it on
     * its way, a line of each in turn, since the hardware follows several streams faster than one. [0] NULL: not known. */
    const uint8_t *ahead[TL_KV_STREAMS];
    const int32_t *lo, *hi;  /* [nq] */
    float *m, *s;            /* [nq] running maximum and sum of exp(score - m) */
    float *acc;              /* [nq][hv] running sum of exp(score - m) * v */
    float softcap;           /* > 0: score = softcap * tanh(score / softcap) */
    float *scratch;          /* [nq][TL_KV_PAGE], 64-byte aligned */
} tl_attn_args;

typedef struct tl_kv_ops {
    const char *name;        /* and sizes: as in tl_kv_types */
    int elems, bytes;
    void (*put_q)(void *dst, const float *q, int hd);   /* q scaled already (1/sqrt(hd) or the model's own factor) */
    void (*put_k)(void *page, const float *k, int hd, int at);   /* writes position at (0..TL_KV_PAGE-1) */
    void (*put_v)(void *page, const float *v, int hd, int at);
    void (*attn)(const tl_attn_args *);
} tl_kv_ops;
/* Values of a head of dim values as pages hold them: padded to a multiple of 16 and of the type's block of elems. */
static inline int64_t tl_kv_head_dim(int elems, int64_t dim) {
    const int unit = elems > 16 ? elems : 16;
    return (dim + unit - 1) / unit * unit;
}
/* Bytes of a K page of hd = hk, and of a V page of hd = hv. */
static inline size_t tl_kv_page_bytes(const tl_kv_ops *ops, int hd) {
    return (size_t)(hd / ops->elems) * (size_t)ops->bytes * TL_KV_PAGE;
}

/* ---- activation functions of feed-forwards (ffn.def) --------------------------------------------------------------- */

enum {
#define FFN(NAME, name, gated, vector) TL_FFN_##NAME,
#include "ffn.def"
#undef FFN
    TL_N_FFN
};
typedef struct tl_ffn_type {
    const char *name;
    int gated;               /* act(gate x) * (up x) or the like; otherwise act(up x) */
} tl_ffn_type;
extern const tl_ffn_type tl_ffn_types[TL_N_FFN];

/* ---- measuring the machine ---------------------------------------------------------------------------------------- */

/* Loops that show what a core can do at most; no model uses them (docs/PERF.md). */
enum { TL_PEAK_INT8, TL_PEAK_F32, TL_PEAK_BF16, TL_N_PEAKS };
typedef struct tl_peak {
    const char *name;                 /* as a profiler shows it: "tl_peak_int8_avx2" */
    int64_t (*run)(int64_t loops);    /* multiplies and adds in registers; returns the number of multiply-adds done */
} tl_peak;

/* ---- the table ------------------------------------------------------------------------------------------------------------ */

enum { TL_ROPE_NORM, TL_ROPE_NEOX };   /* pairs (2i, 2i+1) | pairs (i, i + n_rot/2) */

typedef struct tl_kernels {
    const char *level;       /* "scalar", "avx2", ... */
    size_t stream_from;      /* for tl_gemm_args: what this CPU reads fastest */
    /* Products with the activation form a type prefers; every FLOAT and QUANT type has a slot (others: run == NULL). */
    tl_gemm gemm[TL_N_TYPES];
    /* The same without quantizing activations (TL_ACT_F32, raw rows): for --exact and as a reference. */
    tl_gemm exact[TL_N_TYPES];

    /* Writes token t of an n-token activation matrix of each form from x [k]. Bit-equal on every level. */
    void (*put_act[TL_N_ACTS])(const float *x, int k, void *act, int n, int t);
    float (*dot_f32)(const float *a, const float *b, int n);
    /* y = x * w / sqrt(mean(x^2) + eps); w NULL: all ones. y may be x. */
    void (*rms_norm)(float *y, const float *x, const float *w, int n, float eps);
    /* y = (x - mean(x)) * w / sqrt(variance(x) + eps) + b; b NULL: all zeros. y may be x. */
    void (*layer_norm)(float *y, const float *x, const float *w, const float *b, int n, float eps);
    void (*add)(float *y, const float *x, int n);                /* y += x */
    void (*scale)(float *y, float a, int n);                     /* y *= a */
    /* In place, of two products y and u or of y alone, u being NULL (ffn.def). NaN in either reaches its result. */
    void (*ffn[TL_N_FFN])(float *y, const float *u, int n);
    /* Rotates the first n_rot values of x in place; cs [n_rot] = cos, sin of pair 0, cos, sin of pair 1, ... */
    void (*rope)(float *x, const float *cs, int n_rot, int kind);
    /* log(sum(exp(x))), NaN if any is NaN or all are -inf. Error below 1e-5 absolute for n <= 2^20. */
    double (*log_sum_exp)(const float *x, int n);
    /* Finishes a softmax: out[i] = acc[i] / s. s = 0 (no visible position) gives zeros. */
    void (*attn_finish)(float *out, const float *acc, float s, int hd);
    /* Merges state b into a (both over disjoint positions, a the earlier). */
    void (*attn_merge)(float *am, float *as, float *aacc, float bm, float bs, const float *bacc, int hd);
    tl_kv_ops kv[TL_N_KV];

    tl_peak peak[TL_N_PEAKS];   /* run NULL: the level, or this CPU, has no instruction for it */
    /* Reads every byte (a multiple of 1024, 64-byte aligned) once. The value depends on all of them. */
    uint64_t (*read_sum)(const void *p, size_t bytes);
    /* Additions of which each waits for the one before: returns the cycles they take. */
    int64_t (*cycles)(int64_t loops);
} tl_kernels;

/* ---- CPU levels (levels.def) ----------------------------------------------------------------------------------------------- */

enum {
    TL_F_AVX2 = 1 << 0, TL_F_FMA = 1 << 1, TL_F_F16C = 1 << 2, TL_F_OS_YMM = 1 << 3, TL_F_AVXVNNI = 1 << 4,
    TL_F_AVX512 = 1 << 5 /* F, BW, VL, DQ */, TL_F_AVX512VNNI = 1 << 6, TL_F_OS_ZMM = 1 << 7,
    TL_F_NEON = 1 << 8, TL_F_DOTPROD = 1 << 9, TL_F_I8MM = 1 << 10, TL_F_AVX512BF16 = 1 << 11,
    TL_F_AMX = 1 << 12 /* TILE, INT8, and the system's permission to use the registers */,
};

typedef struct tl_level {
    const char *name;
    uint32_t needs;
    void (*fill)(tl_kernels *);
} tl_level;

/* Levels of this architecture in rising order; [0] is "scalar", the last name is NULL. */
extern const tl_level tl_levels[];
/* What the CPU and the operating system offer: bits TL_F_*. */
uint32_t tl_cpu_features(void);
/* Text of a feature bit ("avx512vnni"), NULL past the last. */
const char *tl_cpu_feature_name(int bit);
/* tl_kernels.stream_from of this CPU. */
size_t tl_cpu_stream_from(void);
/* The CPU's own name, "" where unknown. buf always terminated. */
void tl_cpu_name(char *buf, size_t size);
/* Index into tl_levels of the highest level this CPU can run. */
int tl_level_best(void);
/* The same for a CPU with these features. */
int tl_level_for(uint32_t features);
/* Index of a level by name, -1 if no such level is built in. */
int tl_level_by_name(const char *name);
/* Fills the table for a level: scalar first, then each level up to it that needs nothing the level does not, in rising
 * order. */
void tl_kernels_init(tl_kernels *k, int level);

#endif
