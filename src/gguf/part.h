/* SPDX-License-Identifier: MIT
 *
 * part.h: what the files of the GGUF reader share; nobody outside src/gguf includes it. */
#ifndef TL_GGUF_PART_H
#define TL_GGUF_PART_H

#include "gguf/gguf.h"

#define TL_GGUF_ALIGNMENT 32         /* where general.alignment is absent */
#define TL_GGUF_MAX_ALIGNMENT 65536
#define TL_GGUF_MAX_NAME 65535       /* bytes of a key or a tensor name */

/* An opened file and its name indexes. Keys and tensors both begin with their name, so an index is an array of pointers
 * to names [n], sorted: look-ups stay O(log n) whatever names a file chooses. */
typedef struct tl_gguf_file {
    tl_gguf pub;                     /* first: a tl_gguf * is a tl_gguf_file * */
    const tl_slice **kv_index, **tensor_index;
} tl_gguf_file;

/* A name as it can be shown in a message: at most 64 bytes of it, unprintable ones as \xNN. */
typedef struct tl_gguf_shown { char s[264]; } tl_gguf_shown;
tl_gguf_shown tl_gguf_show(tl_slice name);

/* Bytes of one value; 0 for strings, arrays and unknown types. */
size_t tl_gguf_type_size(uint32_t type);
int tl_gguf_alignment_ok(uint64_t alignment);

/* Maps the file at path and checks all of it: g->parts[part] is filled, the tensors are appended to g->tensors, and its
 * keys replace f->pub.kv (the caller keeps or frees earlier ones). On failure f may be freed as it is. */
int tl_gguf_read_part(tl_gguf_file *f, int part, const char *path, tl_error *err);

/* Sorted pointers to the names at the beginning of n items of the given size; NULL if two are equal or memory is short.
 * what: "key", for the message. n = 0 gives an array of one unused pointer. */
const tl_slice **tl_gguf_index_names(const void *items, size_t size, uint64_t n, const char *what, tl_error *err);
const void *tl_gguf_index_find(const tl_slice *const *index, uint64_t n, const char *name);

#endif
