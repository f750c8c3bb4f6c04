/* SPDX-License-Identifier: MIT
 *
 * part.c: checks one GGUF file: header, keys, tensor list, places of the tensor data. Every number of the file is
 * compared with the bytes that are left before it is used, and tables grow with the entries that were really there, so
 * neither time nor memory depends on what a file merely claims. Hosts are little-endian, as the files are.
 *
 * Layout: "GGUF", u32 version, u64 tensors, u64 keys; keys (string, u32 type, value); tensors (string, u32 dimensions,
 * u64 each, u32 type, u64 offset); padding to the alignment; data. Strings are a u64 length and bytes. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "gguf/part.h"
#include "kernels.h"

#define HEADER_BYTES 24
#define MIN_KV_BYTES (8 + 1 + 4 + 1)
#define MIN_TENSOR_BYTES (8 + 1 + 4 + 8 + 4 + 8)
#define MAX_ENTRIES 262144           /* keys, or tensors; real files have thousands at most. Keeps memory below 64 MB */
#define MAX_NESTING 8                /* arrays in arrays: valid GGUF, read by nothing here, so only skipped */

typedef unsigned long long ull;   /* as printf wants it */
typedef struct cursor { const uint8_t *p, *end; } cursor;

static size_t left(const cursor *c) { return (size_t)(c->end - c->p); }

static int take(cursor *c, void *out, size_t n) {
    if (left(c) < n) return 0;
    memcpy(out, c->p, n);
    c->p += n;
    return 1;
}

static int take_string(cursor *c, tl_slice *s) {
    uint64_t n;
    if (!take(c, &n, 8) || n > left(c)) return 0;
    *s = (tl_slice){(const char *)c->p, (size_t)n};
    c->p += n;
    return 1;
}

static int ends_early(tl_error *err, const char *where, uint64_t i, uint64_t n) {
    return tl_fail(err, TL_E_FORMAT, "the file ends inside %s %llu of %llu: it is incomplete or damaged", where,
                   (ull)i + 1, (ull)n);
}

/* Reports what is wrong with a key or a tensor. */
TL_PRINTF(5, 6)
static int bad(tl_error *err, int code, const char *what, tl_slice name, const char *fmt, ...) {
    char text[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return tl_fail(err, code, "%s '%s' %s", what, tl_gguf_show(name).s, text);
}

static int name_ok(tl_slice name) { return name.n >= 1 && name.n <= TL_GGUF_MAX_NAME; }

static int bad_name(tl_error *err, const char *what, tl_slice name, uint64_t i, uint64_t n) {
    return tl_fail(err, TL_E_FORMAT, "%s %llu of %llu has a name of %llu bytes: 1 to %d allowed", what, (ull)i + 1,
                   (ull)n, (ull)name.n, TL_GGUF_MAX_NAME);
}

size_t tl_gguf_type_size(uint32_t type) {
    static const uint8_t size[TL_GGUF_N_TYPES] = {
        [TL_GGUF_U8] = 1, [TL_GGUF_I8] = 1, [TL_GGUF_U16] = 2, [TL_GGUF_I16] = 2, [TL_GGUF_U32] = 4, [TL_GGUF_I32] = 4,
        [TL_GGUF_F32] = 4, [TL_GGUF_BOOL] = 1, [TL_GGUF_U64] = 8, [TL_GGUF_I64] = 8, [TL_GGUF_F64] = 8};
    return type < TL_GGUF_N_TYPES ? size[type] : 0;
}

int tl_gguf_alignment_ok(uint64_t a) { return a >= 8 && a <= TL_GGUF_MAX_ALIGNMENT && (a & (a - 1)) == 0; }

tl_gguf_shown tl_gguf_show(tl_slice name) {
    tl_gguf_shown out;
    size_t shown = name.n < 64 ? name.n : 64, at = 0;
    for (size_t i = 0; i < shown; i++) {
        unsigned char ch = (unsigned char)name.p[i];
        int escape = ch < 0x20 || ch >= 0x7f || ch == '\\';
        at += (size_t)snprintf(out.s + at, sizeof out.s - at, escape ? "\\x%02x" : "%c", ch);
    }
    snprintf(out.s + at, sizeof out.s - at, "%s", name.n > shown ? "..." : "");
    return out;
}

/* ---- indexes ----------------------------------------------------------------------------------------------------- */

static int compare_slices(const tl_slice *a, const tl_slice *b) {
    int c = memcmp(a->p, b->p, a->n < b->n ? a->n : b->n);
    return c ? c : (a->n > b->n) - (a->n < b->n);
}

static int compare_entries(const void *a, const void *b) {
    return compare_slices(*(const tl_slice *const *)a, *(const tl_slice *const *)b);
}

const tl_slice **tl_gguf_index_names(const void *items, size_t size, uint64_t n, const char *what, tl_error *err) {
    const tl_slice **index = tl_alloc_n((size_t)n + !n, sizeof *index, "name index", err);
    if (!index) return NULL;
    for (uint64_t i = 0; i < n; i++) index[i] = (const tl_slice *)(const void *)((const char *)items + i * size);
    qsort(index, (size_t)n, sizeof *index, compare_entries);
    for (uint64_t i = 1; i < n; i++) {
        if (compare_slices(index[i - 1], index[i]) == 0) {
            tl_fail(err, TL_E_FORMAT, "%s '%s' occurs twice", what, tl_gguf_show(*index[i]).s);
            tl_free(index);
            return NULL;
        }
    }
    return index;
}

const void *tl_gguf_index_find(const tl_slice *const *index, uint64_t n, const char *name) {
    tl_slice wanted = {name, strlen(name)};
    uint64_t lo = 0, hi = n;
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        int c = compare_slices(index[mid], &wanted);
        if (c == 0) return index[mid];
        if (c < 0) lo = mid + 1;
        else hi = mid;
    }
    return NULL;
}

/* ---- header ------------------------------------------------------------------------------------------------------ */

/* What a file that is not GGUF seems to be. */
static const char *looks_like(const uint8_t *p, size_t n) {
    if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) p += 3, n -= 3;
    while (n && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++, n--;
    if (n && *p == '<') return ": it looks like a web page, so the download went wrong";
    if (n >= 8 && memcmp(p, "version ", 8) == 0)
        return ": it looks like a Git LFS pointer; fetch the file with git lfs pull";
    if (n >= 4 && memcmp(p, "PK\3\4", 4) == 0) return ": it looks like a zip archive or a PyTorch checkpoint";
    if (n >= 9 && p[8] == '{') return ": it looks like a safetensors file; convert it to GGUF";
    if (n >= 4 && (memcmp(p, "tjgg", 4) == 0 || memcmp(p, "lmgg", 4) == 0 || memcmp(p, "fmgg", 4) == 0))
        return ": it looks like a GGML file from before GGUF; convert it";
    return "";
}

static int check_count(uint64_t count, uint64_t room, const char *what, uint64_t file_bytes, tl_error *err) {
    if (count > room)
        return tl_fail(err, TL_E_FORMAT, "the header claims %llu %s, more than %llu bytes can hold: the file is "
                       "incomplete or damaged", (ull)count, what, (ull)file_bytes);
    if (count > MAX_ENTRIES)
        return tl_fail(err, TL_E_UNSUPPORTED, "%llu %s are more than the %d this version takes", (ull)count, what,
                       MAX_ENTRIES);
    return TL_OK;
}

static int read_header(cursor *c, uint32_t *version, uint64_t *n_tensors, uint64_t *n_kv, tl_error *err) {
    size_t n = left(c);
    if (n < 4 || memcmp(c->p, "GGUF", 4) != 0)
        return tl_fail(err, TL_E_FORMAT, "not a GGUF file (it starts with '%s', %llu bytes in all)%s",
                       tl_gguf_show((tl_slice){(const char *)c->p, n < 4 ? n : 4}).s, (ull)n,
                       looks_like(c->p, n));
    if (n < HEADER_BYTES)
        return tl_fail(err, TL_E_FORMAT, "the file is incomplete: %llu bytes, a GGUF header alone has %d",
                       (ull)n, HEADER_BYTES);
    c->p += 4;
    take(c, version, 4);
    if (*version && (*version & 0xffff) == 0)
        return tl_fail(err, TL_E_UNSUPPORTED, "big-endian GGUF file: convert it to little-endian first "
                       "(gguf-convert-endian of the Python package gguf)");
    if (*version != 2 && *version != 3)
        return tl_fail(err, TL_E_UNSUPPORTED, "GGUF version %lu is not supported, only 2 and 3%s",
                       (unsigned long)*version, *version == 1 ? ": convert the model again" : "");
    take(c, n_tensors, 8);
    take(c, n_kv, 8);
    int rc = check_count(*n_kv, left(c) / MIN_KV_BYTES, "keys", n, err);
    return rc == TL_OK ? check_count(*n_tensors, left(c) / MIN_TENSOR_BYTES, "tensors", n, err) : rc;
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static int bools_ok(const uint8_t *p, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        if (p[i] > 1) return 0;
    return 1;
}

/* Steps over n values of a type; returns NULL or what is wrong with them. Every value takes at least a byte, so the
 * time is bounded by the file. */
static const char *skip_values(cursor *c, uint32_t type, uint64_t n, int depth) {
    static const char cut[] = "reaches past the end of the file: incomplete or damaged";
    size_t size = tl_gguf_type_size(type);
    if (size) {
        if (n > left(c) / size) return cut;
        if (type == TL_GGUF_BOOL && !bools_ok(c->p, n)) return "holds a truth value other than 0 and 1";
        c->p += n * size;
        return NULL;
    }
    if (type == TL_GGUF_STR) {
        tl_slice s;
        if (n > left(c) / 8) return cut;
        while (n--)
            if (!take_string(c, &s)) return cut;
        return NULL;
    }
    if (type != TL_GGUF_ARR) return "has an unknown value type";
    if (depth == MAX_NESTING) return "nests arrays too deeply";
    if (n > left(c) / 12) return cut;
    while (n--) {
        uint32_t elem;
        uint64_t count;
        if (!take(c, &elem, 4) || !take(c, &count, 8)) return cut;
        const char *wrong = skip_values(c, elem, count, depth + 1);
        if (wrong) return wrong;
    }
    return NULL;
}

static int read_kv(cursor *c, tl_gguf_kv *kv, uint64_t i, uint64_t n, tl_error *err) {
    uint32_t type, elem = 0;
    if (!take_string(c, &kv->key)) return ends_early(err, "key", i, n);
    if (!name_ok(kv->key)) return bad_name(err, "key", kv->key, i, n);
    if (!take(c, &type, 4)) return ends_early(err, "key", i, n);
    if (type >= TL_GGUF_N_TYPES)
        return bad(err, TL_E_FORMAT, "key", kv->key, "has unknown value type %lu", (unsigned long)type);
    kv->n = 1;
    if (type == TL_GGUF_ARR) {
        if (!take(c, &elem, 4) || !take(c, &kv->n, 8)) return ends_early(err, "key", i, n);
        if (elem >= TL_GGUF_N_TYPES)
            return bad(err, TL_E_FORMAT, "key", kv->key, "is an array of unknown type %lu", (unsigned long)elem);
    }
    kv->type = (enum tl_gguf_type)type;
    kv->elem = (enum tl_gguf_type)elem;
    kv->data = c->p;
    const char *wrong = skip_values(c, type == TL_GGUF_ARR ? elem : type, kv->n, 1);
    return wrong ? bad(err, TL_E_FORMAT, "key", kv->key, "%s", wrong) : TL_OK;
}

/* Makes room for one more item; the table doubles. */
static int grow(void *table, uint64_t n, uint64_t *cap, size_t size, const char *what, tl_error *err) {
    if (n < *cap) return TL_OK;
    uint64_t more = *cap ? *cap * 2 : 64;
    void *p = tl_realloc_n(*(void **)table, (size_t)more, size, what, err);
    if (!p) return TL_E_MEMORY;
    *(void **)table = p;
    *cap = more;
    return TL_OK;
}

static int read_keys(tl_gguf_file *f, cursor *c, uint64_t n, tl_error *err) {
    tl_gguf *g = &f->pub;
    uint64_t cap = 0;
    for (; g->n_kv < n; g->n_kv++) {
        void *table = g->kv;
        int rc = grow(&table, g->n_kv, &cap, sizeof *g->kv, "metadata keys", err);
        g->kv = table;
        if (rc == TL_OK) rc = read_kv(c, &g->kv[g->n_kv], g->n_kv, n, err);
        if (rc != TL_OK) return rc;
    }
    f->kv_index = tl_gguf_index_names(g->kv, sizeof *g->kv, n, "key", err);
    return f->kv_index ? TL_OK : err ? err->code : TL_E_FORMAT;
}

/* Keys the format itself gives a meaning to. */
static int check_general(const tl_gguf *g, uint32_t *alignment, tl_error *err) {
    const tl_gguf_kv *kv = tl_gguf_find(g, "general.alignment");
    *alignment = TL_GGUF_ALIGNMENT;
    if (kv) {
        if (kv->type != TL_GGUF_U8 && kv->type != TL_GGUF_U16 && kv->type != TL_GGUF_U32 && kv->type != TL_GGUF_U64)
            return tl_fail(err, TL_E_FORMAT, "key 'general.alignment' is not an unsigned integer");
        int64_t a = tl_gguf_int_at(kv, 0);
        if (!tl_gguf_alignment_ok((uint64_t)a))
            return tl_fail(err, TL_E_FORMAT, "general.alignment is %lld: a power of two from 8 to %d is needed",
                           (long long)a, TL_GGUF_MAX_ALIGNMENT);
        *alignment = (uint32_t)a;
    }
    tl_slice arch = {"-", 1};
    int rc = tl_gguf_str(g, "general.architecture", &arch, err);
    if (rc < 0) return rc;
    if (arch.n) return TL_OK;
    return tl_fail(err, TL_E_FORMAT, "key 'general.architecture' is empty: the file does not say what model it is");
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* Sets t->bytes from the dimensions and the type. */
static int measure(tl_gguf_tensor *t, const tl_type_info *type, const uint64_t *dims, tl_error *err) {
    size_t blocks = 1, elements = 1;
    int fits = 1;
    for (int i = 0; i < 4; i++) {
        if (dims[i] == 0 || dims[i] > INT64_MAX)
            return bad(err, TL_E_FORMAT, "tensor", t->name, "has dimension %d of %llu: 1 to 2^63-1 allowed", i + 1,
                       (ull)dims[i]);
        t->dims[i] = (int64_t)dims[i];
        fits = fits && dims[i] <= SIZE_MAX && tl_mul_size(elements, (size_t)dims[i], &elements);
    }
    if (fits && dims[0] % (uint64_t)type->elems)
        return bad(err, TL_E_FORMAT, "tensor", t->name, "has rows of %llu values, not a multiple of the %s block of %d",
                   (ull)dims[0], type->name, type->elems);
    if (fits) blocks = elements / (size_t)type->elems;
    if (!fits || elements > INT64_MAX || !tl_mul_size(blocks, (size_t)type->bytes, &t->bytes) || t->bytes > INT64_MAX)
        return bad(err, TL_E_FORMAT, "tensor", t->name, "has dimensions that multiply to more than any file can hold");
    return TL_OK;
}

/* Reads one entry. *offset is relative to the data, which is not known yet. */
static int read_tensor(cursor *c, tl_gguf_tensor *t, uint64_t i, uint64_t n, uint64_t *offset, tl_error *err) {
    uint32_t n_dims, type;
    uint64_t dims[4] = {1, 1, 1, 1};
    if (!take_string(c, &t->name)) return ends_early(err, "tensor", i, n);
    if (!name_ok(t->name)) return bad_name(err, "tensor", t->name, i, n);
    if (!take(c, &n_dims, 4)) return ends_early(err, "tensor", i, n);
    if (n_dims < 1 || n_dims > 4)
        return bad(err, TL_E_FORMAT, "tensor", t->name, "has %lu dimensions: 1 to 4 allowed", (unsigned long)n_dims);
    t->n_dims = (int)n_dims;
    if (!take(c, dims, 8 * (size_t)n_dims) || !take(c, &type, 4) || !take(c, offset, 8))
        return ends_early(err, "tensor", i, n);
    const tl_type_info *info = tl_type_info_get(type);
    if (!info)
        return bad(err, TL_E_UNSUPPORTED, "tensor", t->name, "has type %lu, which this version does not know",
                   (unsigned long)type);
    if (info->kind == TL_KIND_GONE)
        return bad(err, TL_E_UNSUPPORTED, "tensor", t->name, "has the withdrawn type %s: %s", info->name, info->advice);
    t->type = (int)type;
    return measure(t, info, dims, err);
}

/* Turns the offset into a pointer if all of the data is there. */
static int place(tl_gguf_tensor *t, const tl_gguf_part *p, uint64_t offset, tl_error *err) {
    if (offset % p->alignment)
        return bad(err, TL_E_FORMAT, "tensor", t->name, "has offset %llu, not a multiple of the alignment %lu",
                   (ull)offset, (unsigned long)p->alignment);
    if (offset >> 62 || t->bytes >> 62)   /* so the sum below cannot wrap: data_at is at most the file's size */
        return bad(err, TL_E_FORMAT, "tensor", t->name, "has offset %llu and %llu bytes: out of range", (ull)offset,
                   (ull)t->bytes);
    uint64_t end = p->data_at + offset + t->bytes;
    if (end > p->map.n)
        return tl_fail(err, TL_E_FORMAT, "the file is incomplete: it has %llu bytes, tensor '%s' needs %llu",
                       (ull)p->map.n, tl_gguf_show(t->name).s, (ull)end);
    t->data = p->map.p + p->data_at + offset;
    return TL_OK;
}

static int compare_data(const void *a, const void *b) {
    const tl_gguf_tensor *x = *(const tl_gguf_tensor *const *)a, *y = *(const tl_gguf_tensor *const *)b;
    return (x->data > y->data) - (x->data < y->data);
}

/* Overlapping tensors would let a small file stand for a model of any size. *end: of the last tensor. */
static int check_overlap(const tl_gguf_tensor *t, uint64_t n, const uint8_t **end, tl_error *err) {
    const tl_gguf_tensor **order = tl_alloc_n((size_t)n, sizeof *order, "tensor order", err);
    int rc = TL_OK;
    if (!order) return TL_E_MEMORY;
    for (uint64_t i = 0; i < n; i++) order[i] = &t[i];
    qsort(order, (size_t)n, sizeof *order, compare_data);
    for (uint64_t i = 1; i < n && rc == TL_OK; i++)
        if (order[i - 1]->data + order[i - 1]->bytes > order[i]->data)
            rc = tl_fail(err, TL_E_FORMAT, "tensors '%s' and '%s' overlap", tl_gguf_show(order[i - 1]->name).s,
                         tl_gguf_show(order[i]->name).s);
    *end = order[n - 1]->data + order[n - 1]->bytes;
    tl_free(order);
    return rc;
}

static int read_tensors(tl_gguf *g, cursor *c, int part, uint64_t n, tl_error *err) {
    tl_gguf_part *p = &g->parts[part];
    uint64_t first = g->n_tensors, cap = g->n_tensors, offset;
    cursor again = *c;
    for (uint64_t i = 0; i < n; i++) {
        void *table = g->tensors;
        int rc = grow(&table, g->n_tensors, &cap, sizeof *g->tensors, "tensor list", err);
        g->tensors = table;
        if (rc != TL_OK) return rc;
        tl_gguf_tensor *t = &g->tensors[g->n_tensors];
        *t = (tl_gguf_tensor){.part = part};
        if ((rc = read_tensor(c, t, i, n, &offset, err)) != TL_OK) return rc;
        g->n_tensors++;
    }
    p->data_at = (uint64_t)(c->p - p->map.p);
    p->data_at = (p->data_at + p->alignment - 1) / p->alignment * p->alignment;
    for (uint64_t i = 0; i < n; i++) {   /* a second time over the entries, for the offsets */
        tl_gguf_tensor *t = &g->tensors[first + i];
        int rc = read_tensor(&again, t, i, n, &offset, err);
        if (rc == TL_OK) rc = place(t, p, offset, err);
        if (rc != TL_OK) return rc;
    }
    const uint8_t *end = p->map.p + (p->data_at < p->map.n ? p->data_at : p->map.n);
    int rc = n ? check_overlap(&g->tensors[first], n, &end, err) : TL_OK;
    uint64_t used = (uint64_t)(end - p->map.p);
    used = (used + p->alignment - 1) / p->alignment * p->alignment;   /* padding is no surplus */
    if (used < p->map.n) g->extra_bytes += (int64_t)(p->map.n - used);
    return rc;
}

int tl_gguf_read_part(tl_gguf_file *f, int part, const char *path, tl_error *err) {
    tl_gguf *g = &f->pub;
    tl_gguf_part *p = &g->parts[part];
    uint64_t n_tensors = 0, n_kv = 0;
    uint32_t version = 0;
    g->kv = NULL;
    g->n_kv = 0;
    f->kv_index = NULL;
    if (!(p->path = tl_strdup(path, err))) return TL_E_MEMORY;
    int rc = tl_map_open(&p->map, path, err);
    if (rc != TL_OK) return rc;
    g->file_bytes += (int64_t)p->map.n;
    cursor c = {p->map.p, p->map.p + p->map.n};
    rc = read_header(&c, &version, &n_tensors, &n_kv, err);
    if (rc == TL_OK) rc = read_keys(f, &c, n_kv, err);
    if (rc == TL_OK) rc = check_general(g, &p->alignment, err);
    if (rc == TL_OK) rc = read_tensors(g, &c, part, n_tensors, err);
    if (rc != TL_OK) tl_error_context(err, "%s", path);
    else if (part == 0) g->version = version;
    return rc;
}
