/* SPDX-License-Identifier: MIT
 *
 * value.c: typed access to the keys of an opened GGUF file. The reader has checked that every value lies in the file;
 * here types and ranges are checked against what the caller wants, and messages name the key. */
#include <math.h>
#include <string.h>
#include "gguf/part.h"

const tl_gguf_kv *tl_gguf_find(const tl_gguf *g, const char *key) {
    return tl_gguf_index_find(((const tl_gguf_file *)g)->kv_index, g->n_kv, key);
}

const tl_gguf_tensor *tl_gguf_tensor_find(const tl_gguf *g, const char *name) {
    return tl_gguf_index_find(((const tl_gguf_file *)g)->tensor_index, g->n_tensors, name);
}

static int is_int(enum tl_gguf_type t) {
    return tl_gguf_type_size(t) && t != TL_GGUF_F32 && t != TL_GGUF_F64 && t != TL_GGUF_BOOL;
}

static int is_float(enum tl_gguf_type t) { return t == TL_GGUF_F32 || t == TL_GGUF_F64; }

/* Loads element i: an unsigned 64-bit integer keeps its bits and sets *big if it exceeds int64. */
static int64_t load_int(enum tl_gguf_type type, const uint8_t *p, int *big) {
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (type) {
    case TL_GGUF_U8:
    case TL_GGUF_BOOL: return *p;
    case TL_GGUF_I8: return (int8_t)*p;
    case TL_GGUF_U16:
    case TL_GGUF_I16: memcpy(&u16, p, 2); return type == TL_GGUF_U16 ? (int64_t)u16 : (int16_t)u16;
    case TL_GGUF_U32:
    case TL_GGUF_I32: memcpy(&u32, p, 4); return type == TL_GGUF_U32 ? (int64_t)u32 : (int32_t)u32;
    case TL_GGUF_U64:
    case TL_GGUF_I64: memcpy(&u64, p, 8); *big = type == TL_GGUF_U64 && u64 > INT64_MAX; return (int64_t)u64;
    default: return 0;
    }
}

static double load_float(enum tl_gguf_type type, const uint8_t *p) {
    float f;
    double d;
    if (type == TL_GGUF_F64) { memcpy(&d, p, 8); return d; }
    memcpy(&f, p, 4);
    return f;
}

/* Element i and its type, or NULL if it is no number. */
static const uint8_t *element(const tl_gguf_kv *kv, uint64_t i, enum tl_gguf_type *type) {
    *type = kv->type == TL_GGUF_ARR ? kv->elem : kv->type;
    size_t size = tl_gguf_type_size(*type);
    return size && i < kv->n ? kv->data + i * size : NULL;
}

int64_t tl_gguf_int_at(const tl_gguf_kv *kv, uint64_t i) {
    enum tl_gguf_type type;
    const uint8_t *p = element(kv, i, &type);
    int big = 0;
    if (!p) return 0;
    if (is_float(type)) {
        double d = load_float(type, p);
        if (isnan(d)) return 0;
        return d >= 0x1p63 ? INT64_MAX : d <= -0x1p63 ? INT64_MIN : (int64_t)d;
    }
    int64_t v = load_int(type, p, &big);
    return big ? INT64_MAX : v;
}

double tl_gguf_num_at(const tl_gguf_kv *kv, uint64_t i) {
    enum tl_gguf_type type;
    const uint8_t *p = element(kv, i, &type);
    int big = 0;
    if (!p) return 0;
    if (is_float(type)) return load_float(type, p);
    int64_t v = load_int(type, p, &big);
    return big ? (double)(uint64_t)v : (double)v;
}

int tl_gguf_i64(const tl_gguf *g, const char *key, int64_t lo, int64_t hi, int64_t *out, tl_error *err) {
    const tl_gguf_kv *kv = tl_gguf_find(g, key);
    int big = 0;
    if (!kv) return 0;
    if (!is_int(kv->type)) return tl_fail(err, TL_E_FORMAT, "key '%s' is not an integer", key);
    int64_t v = load_int(kv->type, kv->data, &big);
    if (big || v < lo || v > hi) {
        char number[32];
        snprintf(number, sizeof number, big ? "%llu" : "%lld", (unsigned long long)v);
        return tl_fail(err, TL_E_FORMAT, "key '%s' is %s: %lld to %lld allowed", key, number, (long long)lo,
                       (long long)hi);
    }
    *out = v;
    return 1;
}

int tl_gguf_f64(const tl_gguf *g, const char *key, double *out, tl_error *err) {
    const tl_gguf_kv *kv = tl_gguf_find(g, key);
    if (!kv) return 0;
    if (!is_int(kv->type) && !is_float(kv->type)) return tl_fail(err, TL_E_FORMAT, "key '%s' is not a number", key);
    double v = tl_gguf_num_at(kv, 0);
    if (!isfinite(v)) return tl_fail(err, TL_E_FORMAT, "key '%s' is %g: a finite number is needed", key, v);
    *out = v;
    return 1;
}

int tl_gguf_bool(const tl_gguf *g, const char *key, int *out, tl_error *err) {
    const tl_gguf_kv *kv = tl_gguf_find(g, key);
    if (!kv) return 0;
    if (kv->type != TL_GGUF_BOOL) return tl_fail(err, TL_E_FORMAT, "key '%s' is not a truth value", key);
    *out = kv->data[0];
    return 1;
}

/* A string in file form; moves *p behind it. */
static tl_slice next_string(const uint8_t **p) {
    uint64_t n;
    memcpy(&n, *p, 8);
    tl_slice s = {(const char *)*p + 8, (size_t)n};
    *p += 8 + n;
    return s;
}

int tl_gguf_str(const tl_gguf *g, const char *key, tl_slice *out, tl_error *err) {
    const tl_gguf_kv *kv = tl_gguf_find(g, key);
    if (!kv) return 0;
    if (kv->type != TL_GGUF_STR) return tl_fail(err, TL_E_FORMAT, "key '%s' is not a string", key);
    const uint8_t *p = kv->data;
    *out = next_string(&p);
    return 1;
}

tl_slice *tl_gguf_strings(const tl_gguf *g, const char *key, uint64_t *n, tl_error *err) {
    const tl_gguf_kv *kv = tl_gguf_find(g, key);
    *n = 0;
    if (!kv || kv->type != TL_GGUF_ARR || kv->elem != TL_GGUF_STR) {
        tl_fail(err, TL_E_FORMAT, kv ? "key '%s' is not an array of strings" : "key '%s' is missing", key);
        return NULL;
    }
    tl_slice *s = tl_alloc_n((size_t)kv->n + !kv->n, sizeof *s, key, err);
    if (!s) return NULL;
    const uint8_t *p = kv->data;
    for (uint64_t i = 0; i < kv->n; i++) s[i] = next_string(&p);
    *n = kv->n;
    return s;
}
