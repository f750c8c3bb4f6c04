/* SPDX-License-Identifier: MIT
 *
 * text.h: bytes to token ids and back. Knows nothing of files: it is handed plain arrays.
 * A tokenizer is immutable after creation; any number of threads may use it. */
#ifndef TL_TEXT_H
#define TL_TEXT_H

#include "base/base.h"

/* Token types as GGUF numbers them. */
enum { TL_TOK_NORMAL = 1, TL_TOK_UNKNOWN = 2, TL_TOK_CONTROL = 3, TL_TOK_USER = 4, TL_TOK_UNUSED = 5, TL_TOK_BYTE = 6 };

/* What a file says about its vocabulary. The tokenizer keeps copies of what it needs: nothing has to outlive it. */
typedef struct tl_vocab_source {
    tl_slice model;             /* "gpt2": byte-level BPE; "llama": SentencePiece */
    tl_slice pre;               /* name of the pre-tokenizer (BPE); n = 0: the file has none */
    uint32_t n;
    const tl_slice *pieces;     /* [n] */
    const float *scores;        /* [n] or NULL */
    const int32_t *types;       /* [n] or NULL: all NORMAL */
    const tl_slice *merges;     /* [n_merges] "left right" (BPE) */
    uint64_t n_merges;
    int32_t bos, eos, eot, eom, unk;   /* -1: none */
    int add_bos, add_eos;       /* -1: the file does not say (default by model) */
    int add_space_prefix;       /* -1: the file does not say (SentencePiece: yes) */
} tl_vocab_source;

typedef struct tl_tokenizer tl_tokenizer;

/* Unknown model: TL_E_UNSUPPORTED naming those that exist. Unknown or missing pre: the fallback is used and
 * tl_tokenizer_warning tells. So do texts that several tokens have, merges that can never
 * be applied, and a BOS that is to be added and not named. Ids and types out of range: TL_E_FORMAT. */
tl_tokenizer *tl_tokenizer_new(const tl_vocab_source *src, tl_error *err);
void tl_tokenizer_free(tl_tokenizer *t);
const char *tl_tokenizer_warning(const tl_tokenizer *t);   /* NULL: none; several are joined by "; " */
/* Adds one, before others use the tokenizer. */
void tl_tokenizer_warn(tl_tokenizer *t, const char *fmt, ...) TL_PRINTF(2, 3);

/* As tl_tokenize, tl_token_text, tl_detokenize, tl_token_piece in tinyllm.h. trust [len] (or NULL: none): bytes of which
 * control tokens may consist even without TL_PARSE_SPECIAL; all else is the same whatever trust says. */
int tl_tokenizer_encode(const tl_tokenizer *t, const char *text, size_t len, const char *trust, int flags, int32_t *ids,
                        int cap, tl_error *err);
int tl_tokenizer_token_text(const tl_tokenizer *t, int32_t id, char *out, int cap);
size_t tl_tokenizer_decode(const tl_tokenizer *t, const int32_t *ids, int n, int special, char *out, size_t cap);
const char *tl_tokenizer_piece(const tl_tokenizer *t, int32_t id);
int tl_tokenizer_is_end(const tl_tokenizer *t, int32_t id);
uint32_t tl_tokenizer_n(const tl_tokenizer *t);
/* About what a tokenizer of that size takes; 0 if no file could hold so much. */
size_t tl_tokenizer_bytes(uint64_t n_pieces, uint64_t n_merges);
int32_t tl_tokenizer_bos(const tl_tokenizer *t);
int32_t tl_tokenizer_eos(const tl_tokenizer *t);
int tl_tokenizer_adds_bos(const tl_tokenizer *t);

#endif
