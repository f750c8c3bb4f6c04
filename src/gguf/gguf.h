/* SPDX-License-Identifier: MIT
 *
 * gguf.h: the GGUF file format, versions 2 and 3, little-endian. Trusts nothing: every count, length, offset, product
 * and alignment is checked against the bytes that are there before it is used; memory stays bounded by the file size.
 * Strings, arrays and tensor data point into the mapping. Format: the GGUF specification of the ggml project. */
#ifndef TL_GGUF_H
#define TL_GGUF_H

#include "base/base.h"

enum tl_gguf_type {
    TL_GGUF_U8, TL_GGUF_I8, TL_GGUF_U16, TL_GGUF_I16, TL_GGUF_U32, TL_GGUF_I32, TL_GGUF_F32, TL_GGUF_BOOL, TL_GGUF_STR,
    TL_GGUF_ARR, TL_GGUF_U64, TL_GGUF_I64, TL_GGUF_F64, TL_GGUF_N_TYPES
};

typedef struct tl_gguf_kv {
    tl_slice key;
    enum tl_gguf_type type;
    enum tl_gguf_type elem;     /* TL_GGUF_ARR: type of the elements; ARR again: checked, but no accessor reads it */
    uint64_t n;                 /* elements of an array, 1 for a scalar */
    const uint8_t *data;        /* first value, unaligned, in file form; strings: 8-byte length, then bytes, each */
} tl_gguf_kv;

typedef struct tl_gguf_tensor {
    tl_slice name;
    int n_dims;                 /* 1..4 */
    int64_t dims[4];            /* [0] = columns (contiguous), unused ones 1; each >= 1 */
    int type;                   /* a row of types.def of any kind but GONE */
    int part;                   /* index of the part that holds it */
    const uint8_t *data;        /* NULL if its part is not loaded (single part inspected) */
    size_t bytes;
} tl_gguf_tensor;

typedef struct tl_gguf_part { tl_map map; uint64_t data_at; uint32_t alignment; char *path; } tl_gguf_part;

typedef struct tl_gguf {
    char *path;                 /* as given */
    uint32_t version;
    uint64_t n_kv;
    tl_gguf_kv *kv;             /* of the first part */
    uint64_t n_tensors;
    tl_gguf_tensor *tensors;    /* of all parts */
    int n_parts, parts_expected;/* parts_expected > n_parts only with TL_GGUF_SINGLE */
    tl_gguf_part *parts;
    int64_t file_bytes;         /* all parts */
    int64_t extra_bytes;        /* after the last tensor: a warning at most */
} tl_gguf;

/* Opens a file and, if it is part of a split model (name-00001-of-00003.gguf), all its siblings.
 * TL_GGUF_SINGLE: if siblings are missing, take the part alone. */
enum { TL_GGUF_SINGLE = 1 };
tl_gguf *tl_gguf_open(const char *path, int flags, tl_error *err);
void tl_gguf_free(tl_gguf *g);

/* tl_map_copy for [p, p+n) of a tensor's data. */
int tl_gguf_copy(const tl_gguf *g, const uint8_t *p, size_t n, void *dst);

const tl_gguf_kv *tl_gguf_find(const tl_gguf *g, const char *key);
const tl_gguf_tensor *tl_gguf_tensor_find(const tl_gguf *g, const char *name);   /* O(log n), whatever the names */

/* Scalar values. Any integer type is taken for an integer where the value fits, any float type or integer for a number.
 * Return 1 found, 0 absent (out untouched), negative TL_E_FORMAT with the key named if the type or range is wrong. */
int tl_gguf_i64(const tl_gguf *g, const char *key, int64_t lo, int64_t hi, int64_t *out, tl_error *err);
int tl_gguf_f64(const tl_gguf *g, const char *key, double *out, tl_error *err);   /* finite only */
int tl_gguf_bool(const tl_gguf *g, const char *key, int *out, tl_error *err);
int tl_gguf_str(const tl_gguf *g, const char *key, tl_slice *out, tl_error *err);
/* Element i of a scalar or array of any integer/float/bool type, as a double/int64 (0 for strings). */
int64_t tl_gguf_int_at(const tl_gguf_kv *kv, uint64_t i);
double tl_gguf_num_at(const tl_gguf_kv *kv, uint64_t i);
/* All strings of an array [kv->n]; the caller frees the slices with tl_free. NULL on wrong type or memory failure. */
tl_slice *tl_gguf_strings(const tl_gguf *g, const char *key, uint64_t *n, tl_error *err);

/* Writing: keys first, then tensors, then the whole file at once. */
typedef struct tl_gguf_writer tl_gguf_writer;
tl_gguf_writer *tl_gguf_writer_new(tl_error *err);
void tl_gguf_writer_free(tl_gguf_writer *w);
void tl_gguf_put_u32(tl_gguf_writer *w, const char *key, uint32_t v);
void tl_gguf_put_f32(tl_gguf_writer *w, const char *key, float v);
void tl_gguf_put_bool(tl_gguf_writer *w, const char *key, int v);
void tl_gguf_put_str(tl_gguf_writer *w, const char *key, const char *s);
void tl_gguf_put_strs(tl_gguf_writer *w, const char *key, const char *const *s, uint64_t n);
void tl_gguf_put_i32s(tl_gguf_writer *w, const char *key, const int32_t *v, uint64_t n);
void tl_gguf_put_f32s(tl_gguf_writer *w, const char *key, const float *v, uint64_t n);
/* data [bytes] is borrowed until tl_gguf_write; dims[0] = columns. */
void tl_gguf_put_tensor(tl_gguf_writer *w, const char *name, int type, int n_dims, const int64_t *dims, const void *data, size_t bytes);
int tl_gguf_write(tl_gguf_writer *w, const char *path, tl_error *err);
/* To an open stream, which is flushed; name: for errors. */
int tl_gguf_write_to(tl_gguf_writer *w, FILE *f, const char *name, tl_error *err);

#endif
