/* SPDX-License-Identifier: MIT
 *
 * write.c: makes GGUF files, version 3. Keys are encoded as they come, tensors are borrowed, and tl_gguf_write streams
 * all of it into a temporary file beside the target that is renamed when whole. The first fault of any call is kept and
 * returned by tl_gguf_write, so callers check once. */
#include <errno.h>
#include <string.h>
#include "gguf/part.h"
#include "kernels.h"

typedef struct out_tensor {
    tl_slice name;   /* first, for the name index; owned */
    int type, n_dims;
    int64_t dims[4];
    const void *data;
    size_t bytes;
} out_tensor;

struct tl_gguf_writer {
    tl_error err;
    tl_buf keys;
    uint64_t n_keys, n_tensors, cap;
    out_tensor *tensors;
    uint32_t alignment;
};

tl_gguf_writer *tl_gguf_writer_new(tl_error *err) {
    tl_gguf_writer *w = tl_alloc_n(1, sizeof *w, "GGUF writer", err);
    if (w) w->alignment = TL_GGUF_ALIGNMENT;
    return w;
}

void tl_gguf_writer_free(tl_gguf_writer *w) {
    if (!w) return;
    for (uint64_t i = 0; i < w->n_tensors; i++) tl_free((void *)w->tensors[i].name.p);
    tl_free(w->tensors);
    tl_buf_free(&w->keys);
    tl_free(w);
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static void add_u32(tl_buf *b, uint32_t v) { tl_buf_add(b, &v, sizeof v); }
static void add_u64(tl_buf *b, uint64_t v) { tl_buf_add(b, &v, sizeof v); }

static void add_string(tl_buf *b, const char *s) {
    size_t n = strlen(s);
    add_u64(b, n);
    tl_buf_add(b, s, n);
}

static void add_key(tl_gguf_writer *w, const char *key, enum tl_gguf_type type) {
    if (!*key) tl_fail(&w->err, TL_E_ARGUMENT, "a key without a name");
    add_string(&w->keys, key);
    add_u32(&w->keys, (uint32_t)type);
    w->n_keys++;
}

static void add_array(tl_gguf_writer *w, const char *key, enum tl_gguf_type elem, uint64_t n) {
    add_key(w, key, TL_GGUF_ARR);
    add_u32(&w->keys, (uint32_t)elem);
    add_u64(&w->keys, n);
}

void tl_gguf_put_u32(tl_gguf_writer *w, const char *key, uint32_t v) {
    if (strcmp(key, "general.alignment") == 0) {
        if (!tl_gguf_alignment_ok(v))
            tl_fail(&w->err, TL_E_ARGUMENT, "general.alignment cannot be %lu", (unsigned long)v);
        else w->alignment = v;
    }
    add_key(w, key, TL_GGUF_U32);
    add_u32(&w->keys, v);
}

void tl_gguf_put_f32(tl_gguf_writer *w, const char *key, float v) {
    add_key(w, key, TL_GGUF_F32);
    tl_buf_add(&w->keys, &v, sizeof v);
}

void tl_gguf_put_bool(tl_gguf_writer *w, const char *key, int v) {
    uint8_t byte = v != 0;
    add_key(w, key, TL_GGUF_BOOL);
    tl_buf_add(&w->keys, &byte, 1);
}

void tl_gguf_put_str(tl_gguf_writer *w, const char *key, const char *s) {
    add_key(w, key, TL_GGUF_STR);
    add_string(&w->keys, s);
}

void tl_gguf_put_strs(tl_gguf_writer *w, const char *key, const char *const *s, uint64_t n) {
    add_array(w, key, TL_GGUF_STR, n);
    for (uint64_t i = 0; i < n; i++) add_string(&w->keys, s[i]);
}

void tl_gguf_put_i32s(tl_gguf_writer *w, const char *key, const int32_t *v, uint64_t n) {
    add_array(w, key, TL_GGUF_I32, n);
    tl_buf_add(&w->keys, v, (size_t)n * sizeof *v);
}

void tl_gguf_put_f32s(tl_gguf_writer *w, const char *key, const float *v, uint64_t n) {
    add_array(w, key, TL_GGUF_F32, n);
    tl_buf_add(&w->keys, v, (size_t)n * sizeof *v);
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* Whether dims of a type take exactly this many bytes. */
static int size_fits(int type, int n_dims, const int64_t *dims, size_t bytes) {
    const tl_type_info *info = type < 0 ? NULL : tl_type_info_get((uint32_t)type);
    if (!info || info->kind == TL_KIND_GONE || n_dims < 1 || n_dims > 4) return 0;
    if (dims[0] < 1 || dims[0] % info->elems) return 0;
    size_t size = (size_t)info->bytes;
    if (!tl_mul_size(size, (size_t)(dims[0] / info->elems), &size)) return 0;
    for (int i = 1; i < n_dims; i++)
        if (dims[i] < 1 || !tl_mul_size(size, (size_t)dims[i], &size)) return 0;
    return size == bytes;
}

void tl_gguf_put_tensor(tl_gguf_writer *w, const char *name, int type, int n_dims, const int64_t *dims,
                        const void *data, size_t bytes) {
    if (!*name || !size_fits(type, n_dims, dims, bytes)) {
        tl_fail(&w->err, TL_E_ARGUMENT, "tensor '%s': name, type, dimensions and %zu bytes do not fit together", name,
                bytes);
        return;
    }
    if (w->n_tensors == w->cap) {
        uint64_t cap = w->cap ? w->cap * 2 : 64;
        void *p = tl_realloc_n(w->tensors, (size_t)cap, sizeof *w->tensors, "tensor list", &w->err);
        if (!p) return;
        w->tensors = p;
        w->cap = cap;
    }
    out_tensor *t = &w->tensors[w->n_tensors];
    *t = (out_tensor){.type = type, .n_dims = n_dims, .data = data, .bytes = bytes};
    for (int i = 0; i < n_dims; i++) t->dims[i] = dims[i];
    char *copy = tl_strdup(name, &w->err);
    if (!copy) return;
    t->name = (tl_slice){copy, strlen(copy)};
    w->n_tensors++;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static size_t padding(const tl_gguf_writer *w, size_t n) { return (w->alignment - n % w->alignment) % w->alignment; }

/* Everything before the data. */
static int build_head(tl_gguf_writer *w, tl_buf *head) {
    uint64_t offset = 0;
    tl_buf_add(head, "GGUF", 4);
    add_u32(head, 3);
    add_u64(head, w->n_tensors);
    add_u64(head, w->n_keys);
    tl_buf_add(head, w->keys.p, w->keys.n);
    for (uint64_t i = 0; i < w->n_tensors; i++) {
        const out_tensor *t = &w->tensors[i];
        add_string(head, t->name.p);
        add_u32(head, (uint32_t)t->n_dims);
        for (int d = 0; d < t->n_dims; d++) add_u64(head, (uint64_t)t->dims[d]);
        add_u32(head, (uint32_t)t->type);
        add_u64(head, offset);
        offset += t->bytes + padding(w, t->bytes);
    }
    return head->failed || w->keys.failed ? tl_fail(&w->err, TL_E_MEMORY, "out of memory for the metadata") : TL_OK;
}

static void put_padding(const tl_gguf_writer *w, FILE *f, size_t n) {
    static const uint8_t zero[256];
    for (size_t pad = padding(w, n), step; pad; pad -= step) {
        step = pad < sizeof zero ? pad : sizeof zero;
        fwrite(zero, 1, step, f);
    }
}

static void put_all(const tl_gguf_writer *w, FILE *f, const tl_buf *head) {
    fwrite(head->p, 1, head->n, f);
    put_padding(w, f, head->n);
    for (uint64_t i = 0; i < w->n_tensors && !ferror(f); i++) {
        fwrite(w->tensors[i].data, 1, w->tensors[i].bytes, f);
        put_padding(w, f, w->tensors[i].bytes);
    }
}

static int put_file(tl_gguf_writer *w, const char *path, const tl_buf *head) {
    tl_out out;
    int rc = tl_out_open(&out, path, &w->err);
    if (rc != TL_OK) return rc;
    put_all(w, out.f, head);   /* a fault stays in the stream until tl_out_close looks */
    return tl_out_close(&out, 1, &w->err);
}

static int put_stream(tl_gguf_writer *w, FILE *f, const char *name, const tl_buf *head) {
    put_all(w, f, head);
    return ferror(f) || fflush(f) ? tl_fail(&w->err, TL_E_IO, "%s: cannot write: %s", name, strerror(errno)) : TL_OK;
}

/* f NULL: to the file of that name. */
static int write_all(tl_gguf_writer *w, FILE *f, const char *name, tl_error *err) {
    tl_buf head = {0};
    const tl_slice **index = tl_gguf_index_names(w->tensors, sizeof *w->tensors, w->n_tensors, "tensor", &w->err);
    if (index && build_head(w, &head) == TL_OK && w->err.code == TL_OK) {
        if (f) put_stream(w, f, name, &head);
        else put_file(w, name, &head);
    }
    tl_free(index);
    tl_buf_free(&head);
    return w->err.code ? tl_fail(err, w->err.code, "%s", w->err.text) : TL_OK;
}

int tl_gguf_write(tl_gguf_writer *w, const char *path, tl_error *err) { return write_all(w, NULL, path, err); }

int tl_gguf_write_to(tl_gguf_writer *w, FILE *f, const char *name, tl_error *err) { return write_all(w, f, name, err); }
