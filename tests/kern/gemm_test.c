/* SPDX-License-Identifier: MIT
 *
 * Matrix products of every level this CPU runs, every type, both slots, against double precision on the same codes.
 * Checked: the float bound of kernels.h (equality where all scales are 1 and sums stay below 2^24), the same bits for a
 * token alone and in any batch and row range, add, NaN and Inf, and that no byte is read or written outside: raw rows,
 * packed groups and results end at an inaccessible page, inputs are read-only during a call.
 *
 * Under qemu-x86_64 7.2 level avx2 seems to touch memory outside: it reads masked-out lanes of vmaskmov, as no CPU does.
 *
 * TINYLLM_TEST_TYPES, TINYLLM_TEST_LEVELS: comma lists that restrict the run. TINYLLM_TEST_CASES: cases per kernel. */
#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include "act.h"
#include "half.h"
#include "kernels.h"
#include "test.h"

enum { MAX_K = 4096, MAX_ROWS = 33, MAX_N = 33, MAX_R = 64, Y_PAD = 5 };

/* ---- the kernel and the case under test ---------------------------------------------------------------------------- */

enum w_mode { W_RANDOM, W_UNIT, W_HIGH, W_LOW, W_EDGES, W_SUBNORMAL, W_ZERO, N_W_MODES };
enum x_mode { X_RANDOM, X_INTS, X_MAX, X_MIN, X_ALTERNATE, X_HOLES, X_TINY, X_HUGE, N_X_MODES };
static const char *const w_names[] = {"random", "unit", "high", "low", "edges", "subnormal", "zero"};
static const char *const x_names[] = {"random", "ints", "max", "min", "alternate", "holes", "tiny", "huge"};

static int type;
static const tl_type_info *info;
static const tl_gemm *gemm;
static char kernel_text[128], case_text[256];
static int k, rows, n;
static size_t row_bytes;

/* ---- memory that ends at an inaccessible page ---------------------------------------------------------------------- */

typedef struct region { uint8_t *base; size_t size; } region;
static region raw_mem, packed_mem, x_mem, y_mem, scratch_mem;

static region region_new(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    region m = {NULL, (size + page - 1) / page * page};
    void *p = mmap(NULL, m.size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect((char *)p + m.size, page, PROT_NONE)) exit(3);
    m.base = p;
    return m;
}

/* The last size bytes of m, or up to align-1 bytes earlier; everything there is 0xff: NaN in each float format. */
static void *region_end(const region *m, size_t size, size_t align) {
    if (size > m->size) exit(3);
    uint8_t *p = m->base + ((m->size - size) & ~(align - 1));
    memset(p, 0xff, (size_t)(m->base + m->size - p));
    return p;
}

static void region_lock(const region *m, int lock) {
    mprotect(m->base, m->size, lock ? PROT_READ : PROT_READ | PROT_WRITE);
}

static void crashed(int sig) {
    const char *what = sig == SIGSEGV || sig == SIGBUS ? "touches memory outside, or writes its input" : "illegal instruction";
    char text[512];
    int len = snprintf(text, sizeof text, "FAIL %s: %s: %s\n", kernel_text, case_text, what);
    if (write(1, text, (size_t)len) < 0) _exit(3);
    _exit(1);
}

/* ---- random data ----------------------------------------------------------------------------------------------------- */

static uint64_t seed;
static uint32_t rnd(void) {   /* splitmix64, upper half */
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 32);
}
static int rnd_to(int end) { return (int)(rnd() % (uint32_t)end); }
static float rnd_float(void) { return (float)(int32_t)rnd() * 0x1p-31f; }
static float rnd_bell(void) { return rnd_float() + rnd_float() + rnd_float(); }

static void put_u16(uint8_t *p, uint32_t v) { p[0] = (uint8_t)v; p[1] = (uint8_t)(v >> 8); }

/* Sets scale (0) or minimum (1) of a block, if it has one; where scales are bytes, to a power of two near it. */
static void set_scale(uint8_t *block, int i, uint16_t half) {
    const tl_scale_place *s = &info->scale;
    int exponent = half >> 10 & 31, at = i ? s->min_at : s->at;
    if (s->form == TL_SCALE_F16 && at >= 0) put_u16(block + at, half);
    if (s->form == TL_SCALE_E8M0 && !i) block[s->at] = (uint8_t)(exponent + 128 - 15);
    for (int part = 0; s->form == TL_SCALE_E4M3 && !i && part < info->elems / info->dist; part++)
        block[s->at + part] = (uint8_t)(exponent < 9 ? exponent : exponent > 23 ? 0x7e : (exponent - 8) << 3 | (half >> 7 & 7));
}

static void fill_block(uint8_t *b, int mode) {
    static const uint8_t edges[] = {0x00, 0xff, 0x0f, 0xf0, 0x7f, 0x80, 0x55, 0xaa};
    for (int i = 0; i < info->bytes; i++)
        b[i] = mode == W_HIGH ? 0xff : mode == W_LOW ? 0 : mode == W_EDGES ? edges[rnd_to(8)] : (uint8_t)rnd();
    for (int i = 0; i < 2; i++) {
        uint32_t sign = rnd() & 0x8000, half = sign | (uint32_t)(7 + rnd_to(6)) << 10 | (rnd() & 0x3ff);
        if (mode == W_UNIT) half = i && sign ? 0xbc00 : 0x3c00;
        if (mode == W_SUBNORMAL) half = sign | (rnd() & 0x3ff);
        if (mode == W_ZERO) half = sign;
        set_scale(b, i, (uint16_t)half);
    }
    /* The smallest exponents, whose scales are subnormal, and the largest: 12 times those no float holds. */
    if (info->scale.form == TL_SCALE_E8M0 && mode == W_SUBNORMAL) b[0] = (uint8_t)rnd_to(2);
    if (info->scale.form == TL_SCALE_E8M0 && mode == W_HIGH && gemm->act != TL_ACT_F32) b[0] = (uint8_t)(254 + rnd_to(2));
}

static void fill_float(uint8_t *p, int mode) {
    float f = rnd_bell();
    if (mode == W_UNIT) f = (float)(rnd_to(256) - 128);
    if (mode == W_HIGH) f = 3e38f / (float)MAX_K / 512;
    if (mode == W_LOW) f = -1;
    if (mode == W_ZERO) f = rnd() & 1 ? 0.0f : -0.0f;
    if (type == TL_TYPE_F16 && mode == W_HIGH) f = 65504;
    if (mode == W_SUBNORMAL) f = f * 0x1p-15f;
    if (type == TL_TYPE_F32) memcpy(p, &f, 4);
    if (type == TL_TYPE_F16) put_u16(p, tl_f32_to_f16(f));
    if (type == TL_TYPE_BF16) put_u16(p, tl_f32_to_bf16(f));
}

/* Raw rows at the end of their region. */
static uint8_t *make_weights(int mode) {
    uint8_t *w = region_end(&raw_mem, row_bytes * (size_t)rows, 1);
    for (size_t at = 0; at < row_bytes * (size_t)rows; at += (size_t)info->bytes)
        if (info->kind == TL_KIND_FLOAT) fill_float(w + at, mode);
        else fill_block(w + at, mode);
    return w;
}

static void make_x(float *x, int mode) {
    for (int i = 0; i < n * k; i++) {
        float v = rnd_bell();
        if (mode == X_INTS) v = i % k % 32 == 7 ? (rnd() & 1 ? 127 : -127) : rnd_to(4) ? 0 : (float)(rnd_to(15) - 7);
        if (mode == X_MAX) v = 127;
        if (mode == X_MIN) v = -127;
        if (mode == X_ALTERNATE) v = i & 1 ? 127 : -127;
        if (mode == X_HOLES && rnd_to(40) < 39) v = 0;
        if (mode == X_TINY) v *= 1e-24f;
        if (mode == X_HUGE) v *= 1e+28f;
        x[i] = v;
    }
}

/* ---- activations in the form the kernel wants ---------------------------------------------------------------------- */

/* Tokens order[0..count) of x [n][k], at the end of their region, which is read-only afterwards. */
static const void *make_act(const float *x, const int *order, int count) {
    region_lock(&x_mem, 0);
    uint8_t *act = region_end(&x_mem, tl_act_bytes(gemm->act, k, count), 64);
    for (int t = 0; t < count; t++)
        act_forms[gemm->act].put(x + (size_t)order[t] * (size_t)k, k, act, count, t);
    region_lock(&x_mem, 1);
    return act;
}

/* Value i of token row x as the kernel sees it. */
static void seen_x(const float *x, double *a) {
    int block = act_forms[gemm->act].block;
    for (int at = 0; at < k; at += block) {
        int end = at + block < k ? at + block : k;
        float amax = 0;
        for (int i = at; i < end; i++) if (fabsf(x[i]) > amax) amax = fabsf(x[i]);
        float d = amax / 127.0f;
        for (int i = at; i < end; i++)
            a[i] = gemm->act == TL_ACT_F32 ? x[i] : amax == 0 ? 0 : (double)d * rint(x[i] * (127.0f / amax));
    }
}

/* ---- calling the kernel ------------------------------------------------------------------------------------------------ */

static const void *make_packed(const uint8_t *raw) {
    if (gemm->rows == 1) return raw;
    int R = gemm->rows, groups = (rows + R - 1) / R;
    size_t bytes = gemm->group_bytes(k);
    CHECKF(bytes % 64 == 0, "group_bytes(%d) = %zu is no multiple of 64", k, bytes);
    region_lock(&packed_mem, 0);
    uint8_t *w = region_end(&packed_mem, bytes * (size_t)groups, 64);
    for (int g = 0; g < groups; g++) {
        int have = rows - g * R < R ? rows - g * R : R;
        gemm->pack(raw + (size_t)g * (size_t)R * row_bytes, row_bytes, have, k, w + (size_t)g * bytes);
    }
    region_lock(&packed_mem, 1);
    return w;
}

#define CANARY 0x7fc0dead   /* a NaN */

/* y of count tokens [count][rows + Y_PAD], the last row without padding, at the end of its region. */
static float *new_y(int count) {
    size_t floats = (size_t)count * (size_t)(rows + Y_PAD) - Y_PAD;
    float *y = region_end(&y_mem, floats * 4, 4);
    uint32_t canary = CANARY;
    for (size_t i = 0; i < floats; i++) memcpy(y + i, &canary, 4);
    return y;
}

static float *run(const void *w, const void *act, int count, int r0, int r1, float *y, int add) {
    void *scratch = region_end(&scratch_mem, TL_GEMM_SCRATCH(k), 64);
    tl_gemm_args a = {w, type, k, r0, r1, act, count, y, (size_t)(rows + Y_PAD), add, scratch, SIZE_MAX};
    if (count == 1 && !add) {   /* each way of reading the rows */
        float one[MAX_ROWS];
        gemm->run(&a);
        memcpy(one + r0, y + r0, (size_t)(r1 - r0) * sizeof *one);
        a.stream_from = 0;
        gemm->run(&a);
        CHECKF(!memcmp(one + r0, y + r0, (size_t)(r1 - r0) * sizeof *one), "%s: rows %d..%d: other bits with other streams",
               case_text, r0, r1);
    } else {
        gemm->run(&a);
    }
    for (int t = 0; t < count; t++)
        for (int r = 0; r < rows + (t + 1 < count ? Y_PAD : 0); r++)
            if (r < r0 || r >= r1)
                CHECKF(tl_f32_bits(y[(size_t)t * a.y_stride + (size_t)r]) == CANARY, "%s: rows %d..%d: wrote y[%d][%d]",
                       case_text, r0, r1, t, r);
    return y;
}

static int same(float a, float b) { return tl_f32_bits(a) == tl_f32_bits(b) || (isnan(a) && isnan(b)); }

/* Runs token order[0..count) and compares with the results y [n][rows] of the whole. */
static void check_batch(const void *w, const float *x, const int *order, int count, const float *y, const char *what) {
    const float *z = run(w, make_act(x, order, count), count, 0, rows, new_y(count), 0);
    for (int t = 0; t < count; t++)
        for (int r = 0; r < rows; r++) {
            float got = z[(size_t)t * (size_t)(rows + Y_PAD) + (size_t)r], want = y[order[t] * rows + r];
            CHECKF(same(got, want), "%s: %s: y[%d][%d] is %.9g in the batch, %.9g here", case_text, what, order[t], r,
                   want, got);
        }
}

/* ---- the checks of a case ---------------------------------------------------------------------------------------------- */

static float x_all[MAX_N * MAX_K], y_all[MAX_N * MAX_ROWS];
static double a_all[MAX_N * MAX_K];

/* Decodes a row to value[] and to what its magnitude is made of, |scale*q| + |min|. */
static void decode(const uint8_t *src, double *value, double *mag) {
    static float f[MAX_K];
    if (gemm->act == TL_ACT_F32) tl_dequantize(type, src, f, k);
    for (int at = 0; at < k; at += info->elems) {
        int8_t q[256];
        float scale[16], min[16];
        if (info->unpack) info->unpack(src + (size_t)(at / info->elems) * (size_t)info->bytes, q, scale, min);
        for (int i = 0; i < info->elems; i++) {
            double v = info->unpack ? (double)scale[i / 16] * q[i] : f[at + i], m = info->unpack ? min[i / 16] : 0;
            value[at + i] = gemm->act == TL_ACT_F32 ? f[at + i] : v + m;
            mag[at + i] = fabs(v) + fabs(m);
        }
    }
}

static void check_values(const uint8_t *raw, int w_mode, int x_mode) {
    static double value[MAX_K], mag[MAX_K];
    int whole = w_mode == W_UNIT && (x_mode == X_INTS || x_mode == X_MAX || x_mode == X_MIN || x_mode == X_ALTERNATE);
    for (int t = 0; t < n; t++) seen_x(x_all + (size_t)t * (size_t)k, a_all + (size_t)t * (size_t)k);
    for (int r = 0; r < rows; r++) {
        decode(raw + (size_t)r * row_bytes, value, mag);
        for (int t = 0; t < n; t++) {
            const double *a = a_all + (size_t)t * (size_t)k;
            double sum = 0, size = 0;
            for (int i = 0; i < k; i++) {
                sum += value[i] * a[i];
                size += mag[i] * fabs(a[i]);
            }
            double got = y_all[t * rows + r], bound = TL_GEMM_EPS(k) * size + k * 1.5e-45;   /* subnormal steps */
            if (whole && size < 0x1p24) bound = 0;
            CHECKF(fabs(got - sum) <= bound, "%s: y[%d][%d] = %.9g, not %.9g (off by %.3g, allowed %.3g)", case_text, t, r,
                   got, sum, fabs(got - sum), bound);
        }
    }
}

static void check_case(int w_mode, int x_mode) {
    snprintf(case_text, sizeof case_text, "k %d, %d rows, %d tokens, weights %s, x %s", k, rows, n, w_names[w_mode],
             x_names[x_mode]);
    int order[MAX_N], R = gemm->rows, stride = rows + Y_PAD;
    region_lock(&raw_mem, 0);
    const uint8_t *raw = make_weights(w_mode);
    region_lock(&raw_mem, 1);
    make_x(x_all, x_mode);
    const void *w = make_packed(raw);
    for (int t = 0; t < n; t++) order[t] = t;
    const void *act = make_act(x_all, order, n);
    const float *y = run(w, act, n, 0, rows, new_y(n), 0);
    for (int t = 0; t < n; t++) memcpy(y_all + t * rows, y + t * stride, (size_t)rows * 4);
    check_values(raw, w_mode, x_mode);

    int r0 = rnd_to(rows / R + 1) * R, r1 = r0 + (rnd_to(3) + (r0 == 0)) * R;
    if (r1 > rows) r1 = rows;
    y = run(w, act, n, r0, r1, new_y(n), 0);
    for (int t = 0; t < n; t++)
        for (int r = r0; r < r1; r++)
            CHECKF(same(y[t * stride + r], y_all[t * rows + r]), "%s: y[%d][%d] differs in rows %d..%d", case_text, t, r, r0, r1);

    float *sum = new_y(n), was = rnd_float();
    for (int t = 0; t < n; t++)
        for (int r = 0; r < rows; r++) sum[t * stride + r] = was;
    run(w, act, n, 0, rows, sum, 1);
    for (int t = 0; t < n; t++)
        for (int r = 0; r < rows; r++) {
            float want = was + y_all[t * rows + r];
            CHECKF(same(sum[t * stride + r], want), "%s: add: y[%d][%d] is not %.9g", case_text, t, r, want);
        }

    order[0] = rnd_to(n);
    check_batch(w, x_all, order, 1, y_all, "alone");
    int count = 1 + rnd_to(n);
    for (int t = 0; t < count; t++) order[t] = n - 1 - t;   /* other places in other tiles */
    check_batch(w, x_all, order, count, y_all, "reversed");
}

/* One token with a NaN or Inf, then one row: all of its results are not finite, all others as they were. */
static void check_faults(void) {
    snprintf(case_text, sizeof case_text, "k %d, %d rows, %d tokens, NaN and Inf", k, rows, n);
    int order[MAX_N], stride = rows + Y_PAD, bad = rnd_to(n);
    for (int t = 0; t < n; t++) order[t] = t;
    region_lock(&raw_mem, 0);
    uint8_t *raw = make_weights(W_RANDOM);
    make_x(x_all, X_RANDOM);
    const void *w = make_packed(raw);
    const float *y = run(w, make_act(x_all, order, n), n, 0, rows, new_y(n), 0);
    for (int t = 0; t < n; t++) memcpy(y_all + t * rows, y + t * stride, (size_t)rows * 4);

    float *x = x_all + (size_t)bad * (size_t)k + rnd_to(k), x_was = *x;
    *x = rnd() & 1 ? NAN : -INFINITY;
    y = run(w, make_act(x_all, order, n), n, 0, rows, new_y(n), 0);
    for (int t = 0; t < n; t++)
        for (int r = 0; r < rows; r++) {
            float v = y[t * stride + r];
            CHECKF(t == bad ? !isfinite(v) : same(v, y_all[t * rows + r]), "%s: x of token %d: y[%d][%d] = %g", case_text,
                   bad, t, r, v);
        }
    *x = x_was;

    if (info->kind == TL_KIND_QUANT && info->scale.form != TL_SCALE_F16) return;   /* no bits of other scales are meant as NaN */
    bad = rnd_to(rows);
    uint8_t *block = raw + (size_t)bad * row_bytes + (size_t)rnd_to(k / info->elems) * (size_t)info->bytes;
    int special = rnd() & 1, f16 = special ? 0x7e01 : 0xfc00;
    uint32_t f32 = special ? 0x7fc00001 : 0xff800000;
    if (type == TL_TYPE_F32) memcpy(block, &f32, 4);
    else if (type == TL_TYPE_F16) put_u16(block, (uint32_t)f16);
    else if (type == TL_TYPE_BF16) put_u16(block, f32 >> 16);
    else set_scale(block, 0, (uint16_t)f16);
    w = make_packed(raw);
    y = run(w, make_act(x_all, order, n), n, 0, rows, new_y(n), 0);
    for (int t = 0; t < n; t++)
        for (int r = 0; r < rows; r++) {
            float v = y[t * stride + r];
            CHECKF(r == bad ? !isfinite(v) : same(v, y_all[t * rows + r]), "%s: scale of row %d: y[%d][%d] = %g", case_text,
                   bad, t, r, v);
        }
}

/* ---- all cases of a kernel ---------------------------------------------------------------------------------------------- */

static const int all_k[] = {32, 64, 96, 256, 288, 512, 576, 640, 768, 896, 1152, 4096, 1, 2, 3, 17, 33, 100};
static const int all_rows[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 29, 33};
static const int all_n[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33};
#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
#define MAX_WORK 600000   /* multiplications of a case */

/* Shape number i. The three lists are walked at steps prime to their lengths, so that all values and many pairs occur. */
static void set_shape(int i, const int *ks, int n_ks) {
    k = ks[i % n_ks];
    rows = all_rows[(i * 7 + i / n_ks) % COUNT(all_rows)];
    n = all_n[(i * 5 + i / n_ks) % COUNT(all_n)];
    while (k * rows * n > MAX_WORK && n > 1) n /= 2;
    row_bytes = (size_t)(k / info->elems) * (size_t)info->bytes;
}

static void test_kernel(void) {
    const char *cases = getenv("TINYLLM_TEST_CASES");
    int ks[COUNT(all_k)], n_ks = 0, n_cases = cases ? atoi(cases) : 64;
    for (int i = 0; i < COUNT(all_k); i++)
        if (all_k[i] % info->elems == 0) ks[n_ks++] = all_k[i];
    CHECKF(gemm->run && gemm->name && gemm->rows >= 1 && gemm->rows <= MAX_R, "the slot is not filled");
    CHECKF(gemm->rows == 1 || (gemm->pack && gemm->group_bytes), "packed without pack functions");
    if (test_bad) return;
    seed = (uint64_t)type * 1000;
    for (int i = 0; i < n_cases; i++) {
        int w_mode = i % N_W_MODES, x_mode = i / 2 % N_X_MODES;
        if (i % 5 == 0) { w_mode = W_UNIT; x_mode = i % 10 ? X_INTS : X_MAX + i / 10 % 3; }
        if (info->kind == TL_KIND_FLOAT && (w_mode == W_HIGH || w_mode == W_EDGES) && x_mode == X_HUGE) x_mode = X_TINY;
        if (type == TL_TYPE_MXFP4 && w_mode == W_HIGH) x_mode = X_TINY;
        if (type == TL_TYPE_MXFP4 && w_mode == W_SUBNORMAL) x_mode = X_HUGE;   /* products of scales are not subnormal */
        set_shape(i, ks, n_ks);
        check_case(w_mode, x_mode);
        if (i % 4 == 0) check_faults();
    }
}

static int wanted(const char *name, const char *env) {
    const char *list = getenv(env);
    size_t len = strlen(name);
    if (!list) return 1;
    for (const char *p = list; (p = strstr(p, name)); p += len)
        if ((p == list || p[-1] == ',') && (p[len] == 0 || p[len] == ',')) return 1;
    return 0;
}

static void lacks_cpu(void) { SKIP("this CPU cannot run it"); }

/* Slots that a level took over from the one below are the same kernels and not run again. */
static void test_level(int level, const tl_kernels *below, const tl_kernels *table) {
    CHECKF(!strcmp(table->level, tl_levels[level].name), "table of level %s calls itself %s", tl_levels[level].name, table->level);
    for (type = 0; type < TL_N_TYPES; type++) {
        info = tl_type_info_get((uint32_t)type);
        int has = info && (info->kind == TL_KIND_FLOAT || info->kind == TL_KIND_QUANT);
        for (int exact = 0; exact < 2; exact++) {
            gemm = exact ? &table->exact[type] : &table->gemm[type];
            const tl_gemm *lower = exact ? &below->exact[type] : &below->gemm[type];
            if (!has) CHECKF(!gemm->run, "type %d has no arithmetic but a kernel", type);
            if (!has || !wanted(info->name, "TINYLLM_TEST_TYPES")) continue;
            if (gemm->run == lower->run && gemm->pack == lower->pack && gemm->name == lower->name) continue;
            snprintf(kernel_text, sizeof kernel_text, "%s %s %s (%s)", tl_levels[level].name, info->name,
                     exact ? "exact" : "gemm", gemm->name ? gemm->name : "no name");
            test_run(kernel_text, test_kernel);
        }
    }
}

int main(void) {
    static tl_kernels tables[2];
    raw_mem = region_new((size_t)MAX_ROWS * MAX_K * 4);
    packed_mem = region_new((size_t)(MAX_ROWS + MAX_R) * MAX_K * 4);
    x_mem = region_new((size_t)MAX_N * MAX_K * 4);
    y_mem = region_new((size_t)MAX_N * (MAX_ROWS + Y_PAD) * 4);
    scratch_mem = region_new(TL_GEMM_SCRATCH(MAX_K));
    signal(SIGSEGV, crashed);
    signal(SIGBUS, crashed);
    signal(SIGILL, crashed);
    for (int level = 0; tl_levels[level].name; level++) {
        if (!wanted(tl_levels[level].name, "TINYLLM_TEST_LEVELS")) continue;
        if (tl_levels[level].needs & ~tl_cpu_features()) {
            test_run(tl_levels[level].name, lacks_cpu);
            continue;
        }
        memcpy(&tables[0], &tables[1], sizeof tables[0]);
        tl_kernels_init(&tables[1], level);
        test_level(level, &tables[0], &tables[1]);
    }
    return tl_test_end();
}
