/* SPDX-License-Identifier: MIT
 *
 * base.h: what knows nothing about models: errors, checked memory, byte slices, text buffers, JSON output, files,
 * time. Other modules include this and, where they need it, base/pool.h, base/opts.h, base/utf8.h, base/json_read.h.
 *
 * Errors: a function that can fail takes tl_error *err as its last argument and returns a TL_E_* code (or NULL). The
 * first fault wins: tl_fail() writes only into an empty error. err may be NULL. */
#ifndef TL_BASE_H
#define TL_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "tinyllm.h"

#if defined(__GNUC__)
#define TL_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define TL_PRINTF(f, a)
#endif

/* Copies src into dst [size] with control bytes escaped; a text that does not fit ends in "...". */
void tl_printable(char *dst, size_t size, const char *src);
/* Records code and a one-line text (control bytes escaped) in err unless it already holds a fault; returns code. */
int tl_fail(tl_error *err, int code, const char *fmt, ...) TL_PRINTF(3, 4);
/* Puts "context: " before a text that is already there. */
void tl_error_context(tl_error *err, const char *fmt, ...) TL_PRINTF(2, 3);

/* Bytes somewhere else: not owned, not terminated. */
typedef struct tl_slice { const char *p; size_t n; } tl_slice;
/* Puts " (hint)" behind the text, as far as there is room: what the caller of a library knows of its remedy. */
void tl_error_hint(tl_error *err, const char *hint);
/* TL_E_ARGUMENT: what may not be NULL. */
int tl_null(tl_error *err, const char *what);

int tl_slice_is(tl_slice s, const char *text);

/* a*b and a+b, 0 and false on overflow. */
int tl_mul_size(size_t a, size_t b, size_t *out);
int tl_add_size(size_t a, size_t b, size_t *out);

/* Memory: NULL and TL_E_MEMORY in err (with the size and what for) on failure. tl_free(NULL) is fine.
 * tl_alloc_n: n zeroed items. tl_alloc_big: page-aligned zeroed memory with huge pages where the system gives them, for
 * weights and caches; pages are touched by whoever writes first. Free it with tl_free_big and the same size. */
void *tl_alloc_n(size_t n, size_t size, const char *what, tl_error *err);
void *tl_realloc_n(void *p, size_t n, size_t size, const char *what, tl_error *err);
void tl_free(void *p);
void *tl_alloc_big(size_t bytes, const char *what, tl_error *err);
void tl_free_big(void *p, size_t bytes);
char *tl_strdup(const char *s, tl_error *err);

/* A text buffer that grows. On memory failure it stays as it was and failed is set. */
typedef struct tl_buf { char *p; size_t n, cap; int failed; } tl_buf;
void tl_buf_add(tl_buf *b, const void *bytes, size_t n);
void tl_buf_str(tl_buf *b, const char *s);
void tl_buf_fmt(tl_buf *b, const char *fmt, ...) TL_PRINTF(2, 3);
void tl_buf_free(tl_buf *b);

/* JSON output into a buffer. Commas are placed by the writer; key is NULL inside arrays and at the top.
 * Strings: invalid UTF-8 becomes U+FFFD; numbers that are not finite become null. */
typedef struct tl_json { tl_buf *out; int depth; uint64_t comma; } tl_json;
void tl_json_begin(tl_json *j, const char *key, char open);   /* '{' or '[' */
void tl_json_end(tl_json *j, char close);
void tl_json_str(tl_json *j, const char *key, const char *s, size_t n);
void tl_json_cstr(tl_json *j, const char *key, const char *s);
void tl_json_i64(tl_json *j, const char *key, int64_t v);
void tl_json_num(tl_json *j, const char *key, double v);       /* 10 significant digits */
void tl_json_bool(tl_json *j, const char *key, int v);

/* Read-only mapping of a file. Errors name the path and say what it is if not a regular file. size 0 is an error. */
typedef struct tl_map { const uint8_t *p; size_t n; int fd; } tl_map;
int tl_map_open(tl_map *m, const char *path, tl_error *err);
void tl_map_close(tl_map *m);
/* Reads [p, p+n) of a mapping from the file, without touching the mapping: a touch may map megabytes around, which then
 * count as this process's memory, and kills the process where the file was cut. TL_E_IO if it cannot be read whole (it
 * was cut, or the disk failed): the rest of dst is then 0. */
int tl_map_copy(const tl_map *m, const void *p, size_t n, void *dst);

/* Reads a whole file or stream into memory the caller frees with tl_free; *n its size; a 0 byte follows the text. Some
 * streams never end (/dev/zero): more than TL_READ_MAX bytes are refused. */
#define TL_READ_MAX (512 << 20)
char *tl_read_file(const char *path, size_t *n, tl_error *err);
char *tl_read_stream(FILE *f, const char *name, size_t *n, tl_error *err);
/* Writes path through a temporary file beside it that is renamed when whole: the old file survives any failure. */
int tl_write_file(const char *path, const void *bytes, size_t n, tl_error *err);
/* The same in pieces: write to f, then close. keep 0 drops what was written. Write errors are reported by close. A
 * path that is a device or a pipe is written to directly; symbolic links are followed, and stay. */
typedef struct tl_out { FILE *f; char *path, *tmp; } tl_out;
int tl_out_open(tl_out *o, const char *path, tl_error *err);
int tl_out_close(tl_out *o, int keep, tl_error *err);

/* A file that is gone when it is closed, in memory where the system can: write to f, fflush, then open path. */
typedef struct tl_memfile { FILE *f; char path[40]; } tl_memfile;
int tl_memfile_open(tl_memfile *m, tl_error *err);
void tl_memfile_close(tl_memfile *m);

/* "512 B", "241.39 MiB": how people read sizes of memory and files. Returns buf. */
const char *tl_bytes_text(char buf[32], double bytes);
/* v scaled by step as far as units, ending with NULL, go; buf. */
const char *tl_scaled_text(char buf[32], double v, double step, const char *const *units);

double tl_now(void);   /* seconds, monotonic */
struct tm;
void tl_local_time(struct tm *t);   /* the clock on the wall; all 0 if it cannot be told */

/* Of the names in list (NULL-terminated), the one nearest to name, or NULL if none is near. */
const char *tl_nearest(const char *name, const char *const *list);

#endif
