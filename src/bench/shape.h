/* SPDX-License-Identifier: MIT
 *
 * shape.h: models without a file: the sizes of known ones, the types a quantizer gives their tensors, and random
 * weights, so that speed and file size are known before anything is downloaded. */
#ifndef TL_SHAPE_H
#define TL_SHAPE_H

#include "bench/bench.h"

typedef struct tl_shape {
    char name[64];
    const tl_arch *arch;
    int layers, dim, ff, heads, kv_heads, head_dim, vocab, tied;
    int window;               /* sliding window, 0: none */
    int text;                 /* bytes of metadata per token of the vocabulary */
    int experts, used;        /* of every layer, and of a token; 0: a dense feed-forward */
    int expert_ff, shared_ff; /* widths of an expert and of the one that every token uses, 0: there is none */
} tl_shape;

/* A preset's name ("qwen2.5-0.5b", upper case too), or "layers=24,dim=896,ff=4864,heads=14" with kv, head, vocab, arch,
 * tied, window where the defaults do not fit (kv = heads, head = dim/heads, vocab = 32000, llama, 0, 0), and for a
 * mixture of experts with experts, used, expert_ff (default: ff), shared_ff. */
int tl_shape_parse(const char *text, tl_shape *s, tl_error *err);
/* Name of preset number i, NULL past the last. */
const char *tl_shape_name(int i);

int64_t tl_shape_params(const tl_shape *s);
/* Predicted size of a file of this shape. type: a tensor type for all matrices ("q8_0"; the output matrix is q6_k at
 * least), or a mix as llama.cpp's quantizer makes it ("q4_k_m"). -1 with an error if there is no such type. */
int64_t tl_shape_file_bytes(const tl_shape *s, const char *type, tl_error *err);
/* Memory that tl_shape_write needs, the file included. -1 with an error. */
int64_t tl_shape_write_bytes(const tl_shape *s, const char *type, tl_error *err);
/* Writes a GGUF file of the shape with random weights and a vocabulary of empty words. */
int tl_shape_write(const tl_shape *s, const char *type, FILE *f, tl_error *err);

/* ---- types of tensors (mix.c) ---- */

typedef struct tl_mix tl_mix;
/* NULL with an error that lists the names. */
const tl_mix *tl_mix_find(const char *name, tl_mix *room, tl_error *err);
struct tl_mix_pick { int rule, type; };
struct tl_mix {
    const char *name;
    int base;
    struct tl_mix_pick v[2], down[2], o;
};
/* Type of a matrix with rows of cols values in a layer; an embedding that is tied is a head. */
int tl_mix_type(const tl_mix *m, const tl_shape *s, tl_role role, int layer, int cols);

#endif
