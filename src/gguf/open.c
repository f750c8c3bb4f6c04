/* SPDX-License-Identifier: MIT
 *
 * open.c: opens a model that is one GGUF file or a set of parts, name-00001-of-0000N.gguf. Each part is a GGUF file of
 * its own with split.no (from 0), split.count and split.tensors.count; the first part holds the metadata. Parts are
 * looked for beside the given path and, if that is a symbolic link, beside the file it points to. */
#define _XOPEN_SOURCE 700   /* realpath */
#include <stdlib.h>
#include <string.h>
#include "gguf/part.h"

#define MAX_PARTS 65535
#define SUFFIX_BYTES 20     /* "-00001-of-00003.gguf" */
#define MAX_NAMED_MISSING 4

/* The numbers in the name of a part: prefix_n bytes come before "-00001-of-00003.gguf". */
typedef struct part_name { const char *path; size_t prefix_n; int no, count; } part_name;

static int digits(const char *p, int *out) {
    *out = 0;
    for (int i = 0; i < 5; i++) {
        if (p[i] < '0' || p[i] > '9') return 0;
        *out = *out * 10 + (p[i] - '0');
    }
    return 1;
}

static int parse_name(const char *path, part_name *name) {
    size_t n = path ? strlen(path) : 0;
    if (n < SUFFIX_BYTES) return 0;
    const char *s = path + n - SUFFIX_BYTES;
    *name = (part_name){.path = path, .prefix_n = n - SUFFIX_BYTES};
    return s[0] == '-' && digits(s + 1, &name->no) && memcmp(s + 6, "-of-", 4) == 0 && digits(s + 10, &name->count) &&
           memcmp(s + 15, ".gguf", 5) == 0;
}

static char *sibling_path(const part_name *name, int no, tl_error *err) {
    size_t n = name->prefix_n + 64;
    char *path = tl_alloc_n(n, 1, "file name", err);
    if (path) snprintf(path, n, "%.*s-%05d-of-%05d.gguf", (int)name->prefix_n, name->path, no, name->count);
    return path;
}

static int exists(const char *path) {
    FILE *f = fopen(path, "rb");
    if (f) fclose(f);
    return f != NULL;
}

/* Path of part no (from 1) beside one of the names that exists; *path stays NULL if there is none. */
static int find_part(const part_name *names, int n_names, int no, char **path, tl_error *err) {
    for (int i = 0; i < n_names; i++) {
        if (!(*path = sibling_path(&names[i], no, err))) return TL_E_MEMORY;
        if (exists(*path)) return TL_OK;
        tl_free(*path);
        *path = NULL;
    }
    return TL_OK;
}

/* Fills paths [count]. If parts are missing: names a few of them and returns TL_E_IO. */
static int find_parts(const part_name *names, int n_names, char **paths, int count, tl_error *err) {
    tl_buf list = {0};
    int missing = 0, rc = TL_OK;
    for (int i = 0; i < count && missing <= MAX_NAMED_MISSING && rc == TL_OK; i++) {
        rc = find_part(names, n_names, i + 1, &paths[i], err);
        if (rc != TL_OK || paths[i]) continue;
        char *name = sibling_path(&names[0], i + 1, err);
        if (!name) { rc = TL_E_MEMORY; break; }
        const char *slash = strrchr(name, '/');
        if (missing++ < MAX_NAMED_MISSING)
            tl_buf_fmt(&list, "%s%s", missing > 1 ? ", " : "", slash ? slash + 1 : name);
        tl_free(name);
    }
    if (rc == TL_OK && missing)
        rc = tl_fail(err, TL_E_IO, "part of a model in %d files; missing beside it: %.*s%s", count, (int)list.n,
                     list.p ? list.p : "", missing > MAX_NAMED_MISSING ? " and more" : "");
    tl_buf_free(&list);
    return rc;
}

/* split.count of the part whose keys are current, 1 if it is no part (merged files say 0); and split.no. */
static int split_keys(const tl_gguf *g, int64_t *no, int64_t *count, tl_error *err) {
    *no = 0;
    *count = 1;
    int rc = tl_gguf_i64(g, "split.count", 0, MAX_PARTS, count, err);
    if (*count == 0) *count = 1;
    if (rc < 0 || *count == 1) return rc < 0 ? rc : TL_OK;
    rc = tl_gguf_i64(g, "split.no", 0, *count - 1, no, err);
    if (rc == 0)
        return tl_fail(err, TL_E_FORMAT, "split.count is %lld but key 'split.no' is missing", (long long)*count);
    return rc < 0 ? rc : TL_OK;
}

static void close_part(tl_gguf_part *p) {
    tl_map_close(&p->map);
    tl_free(p->path);
    *p = (tl_gguf_part){0};
}

static void drop_keys(tl_gguf_file *f) {
    tl_free(f->pub.kv);
    tl_free(f->kv_index);
    f->pub.kv = NULL;
    f->kv_index = NULL;
    f->pub.n_kv = 0;
}

static int wrong_number(const char *path, int64_t no, int64_t count, int named_no, int named_count, tl_error *err) {
    return tl_fail(err, TL_E_FORMAT, "%s: its keys say part %lld of %lld, its name part %d of %d: it was renamed or "
                   "belongs to another model", path, (long long)no + 1, (long long)count, named_no, named_count);
}

/* Reads part i of count; the keys of part 0 stay, those of later parts are checked and dropped. */
static int read_member(tl_gguf_file *f, int i, int64_t count, const char *path, tl_error *err) {
    tl_gguf_kv *kv = f->pub.kv;
    const tl_slice **index = f->kv_index;
    uint64_t n_kv = f->pub.n_kv;
    int64_t its_no, its_count;
    f->pub.n_parts = i + 1;
    int rc = tl_gguf_read_part(f, i, path, err);
    if (rc == TL_OK && (rc = split_keys(&f->pub, &its_no, &its_count, err)) != TL_OK) tl_error_context(err, "%s", path);
    if (rc == TL_OK && (its_count != count || its_no != i))
        rc = wrong_number(path, its_no, its_count, i + 1, (int)count, err);
    if (i > 0) {
        drop_keys(f);
        f->pub.kv = kv;
        f->kv_index = index;
        f->pub.n_kv = n_kv;
    }
    return rc;
}

static int check_tensor_count(const tl_gguf *g, tl_error *err) {
    int64_t n = 0;
    int rc = tl_gguf_i64(g, "split.tensors.count", 0, INT64_MAX, &n, err);
    if (rc == 0) rc = tl_fail(err, TL_E_FORMAT, "key 'split.tensors.count' is missing");
    else if (rc > 0 && (uint64_t)n != g->n_tensors)
        rc = tl_fail(err, TL_E_FORMAT, "the %d parts hold %llu tensors, split.tensors.count says %lld", g->n_parts,
                     (unsigned long long)g->n_tensors, (long long)n);
    if (rc < 0) tl_error_context(err, "%s", g->parts[0].path);
    return rc < 0 ? rc : TL_OK;
}

/* Starts over with all parts in their order, now that their paths are known. */
static int read_all(tl_gguf_file *f, char **paths, int count, tl_error *err) {
    tl_gguf *g = &f->pub;
    close_part(&g->parts[0]);
    drop_keys(f);
    g->n_tensors = 0;
    g->file_bytes = g->extra_bytes = 0;
    tl_gguf_part *parts = tl_realloc_n(g->parts, (size_t)count, sizeof *parts, "list of parts", err);
    if (!parts) return TL_E_MEMORY;
    memset(parts, 0, (size_t)count * sizeof *parts);
    g->parts = parts;
    int rc = TL_OK;
    for (int i = 0; i < count && rc == TL_OK; i++) rc = read_member(f, i, count, paths[i], err);
    return rc == TL_OK ? check_tensor_count(g, err) : rc;
}

/* Opens the other parts if the one at g->path, read as part 0, belongs to a set. */
static int read_siblings(tl_gguf_file *f, int flags, tl_error *err) {
    tl_gguf *g = &f->pub;
    int64_t no, count;
    part_name names[2];
    int n_names = 0;
    int rc = split_keys(g, &no, &count, err);
    g->parts_expected = (int)count;
    if (rc != TL_OK || count == 1) {
        if (rc != TL_OK) tl_error_context(err, "%s", g->path);
        return rc;
    }
    char *target = realpath(g->path, NULL);
    if (parse_name(g->path, &names[0])) n_names++;
    if (target && strcmp(target, g->path) != 0 && parse_name(target, &names[n_names])) n_names++;
    char **paths = tl_alloc_n((size_t)count, sizeof *paths, "names of parts", err);
    if (!paths) rc = TL_E_MEMORY;
    for (int i = 0; i < n_names && rc == TL_OK; i++)
        if (names[i].count != count || names[i].no != no + 1)
            rc = wrong_number(names[i].path, no, count, names[i].no, names[i].count, err);
    if (rc == TL_OK) {
        tl_error why = {0};
        if (!n_names)
            rc = tl_fail(&why, TL_E_IO, "part of a model in %d files, but not named so: give the parts their names "
                         "back (this one: ...-%05d-of-%05d.gguf)", (int)count, (int)no + 1, (int)count);
        else rc = find_parts(names, n_names, paths, (int)count, &why);
        if (rc == TL_OK) rc = read_all(f, paths, (int)count, err);
        else if (rc == TL_E_IO && (flags & TL_GGUF_SINGLE)) rc = TL_OK;
        else tl_fail(err, rc, "%s: %s", g->path, why.text);
    }
    for (int64_t i = 0; paths && i < count; i++) tl_free(paths[i]);
    tl_free(paths);
    free(target);
    return rc;
}

tl_gguf *tl_gguf_open(const char *path, int flags, tl_error *err) {
    tl_gguf_file *f = tl_alloc_n(1, sizeof *f, "GGUF file", err);
    if (!f) return NULL;
    tl_gguf *g = &f->pub;
    int rc = TL_OK;
    g->n_parts = g->parts_expected = 1;
    g->path = tl_strdup(path, err);
    g->parts = tl_alloc_n(1, sizeof *g->parts, "GGUF part", err);
    if (!g->path || !g->parts) rc = TL_E_MEMORY;
    if (rc == TL_OK) rc = tl_gguf_read_part(f, 0, path, err);
    if (rc == TL_OK) rc = read_siblings(f, flags, err);
    if (rc == TL_OK) {
        f->tensor_index = tl_gguf_index_names(g->tensors, sizeof *g->tensors, g->n_tensors, "tensor", err);
        if (!f->tensor_index) {
            tl_error_context(err, "%s", path);
            rc = TL_E_FORMAT;
        }
    }
    if (rc == TL_OK) return g;
    tl_gguf_free(g);
    return NULL;
}

void tl_gguf_free(tl_gguf *g) {
    tl_gguf_file *f = (tl_gguf_file *)g;
    if (!g) return;
    for (int i = 0; g->parts && i < g->n_parts; i++) close_part(&g->parts[i]);
    drop_keys(f);
    tl_free(f->tensor_index);
    tl_free(g->tensors);
    tl_free(g->parts);
    tl_free(g->path);
    tl_free(f);
}

static const tl_map *map_of(const tl_gguf *g, const uint8_t *p) {
    int i = 0;
    while (p < g->parts[i].map.p || p >= g->parts[i].map.p + g->parts[i].map.n) i++;
    return &g->parts[i].map;
}

int tl_gguf_copy(const tl_gguf *g, const uint8_t *p, size_t n, void *dst) { return tl_map_copy(map_of(g, p), p, n, dst); }
