/* SPDX-License-Identifier: MIT
 *
 * load_vocab.c: the tokenizer keys of a GGUF file ("tokenizer.ggml.*") as a tl_vocab_source. Lengths are compared here;
 * what the arrays hold is checked by the tokenizer. */
#include <math.h>
#include <string.h>
#include "model/model.h"

#define KEY(name) ("tokenizer.ggml." name)

/* The values of an array of n numbers as 4-byte items, NULL if the file has none or on failure (see *rc). */
static void *numbers(const tl_gguf *g, const char *key, enum tl_gguf_type elem, uint64_t n, int *rc, tl_error *err) {
    const tl_gguf_kv *kv = *rc == TL_OK ? tl_gguf_find(g, key) : NULL;
    if (!kv) return NULL;
    int is_float = kv->elem == TL_GGUF_F32 || kv->elem == TL_GGUF_F64;
    int is_number = kv->elem != TL_GGUF_STR && kv->elem != TL_GGUF_ARR && kv->elem != TL_GGUF_BOOL;
    if (kv->type != TL_GGUF_ARR || !is_number || is_float != (elem == TL_GGUF_F32)) {
        *rc = tl_fail(err, TL_E_FORMAT, "%s: must be an array of %s", key, elem == TL_GGUF_F32 ? "float numbers" : "integers");
        return NULL;
    }
    if (kv->n != n) {
        *rc = tl_fail(err, TL_E_FORMAT, "%s: has %llu entries for %llu tokens", key, (unsigned long long)kv->n,
                      (unsigned long long)n);
        return NULL;
    }
    char *out = tl_alloc_n((size_t)n, 4, "the vocabulary", err);
    if (!out) {
        *rc = TL_E_MEMORY;
        return NULL;
    }
    if (kv->elem == elem) memcpy(out, kv->data, (size_t)n * 4);
    for (uint64_t i = 0; i < n && elem == TL_GGUF_F32; i++)
        if (!isfinite(tl_gguf_num_at(kv, i))) *rc = tl_fail(err, TL_E_FORMAT, "%s: entry %llu is not a finite number", key, (unsigned long long)i);
    if (kv->elem == elem) return out;
    for (uint64_t i = 0; i < n; i++) {
        float f = (float)tl_gguf_num_at(kv, i);
        int64_t wide = tl_gguf_int_at(kv, i);
        int32_t v = wide < INT32_MIN || wide > INT32_MAX ? INT32_MAX : (int32_t)wide;
        memcpy(out + 4 * i, elem == TL_GGUF_F32 ? (void *)&f : (void *)&v, 4);
    }
    return out;
}

/* A token id, -1 if the key is absent or holds the 32-bit pattern of -1. */
static int32_t token(const tl_gguf *g, const char *key, uint32_t n, int *rc, tl_error *err) {
    int64_t id = -1;
    if (*rc != TL_OK) return -1;
    int found = tl_gguf_i64(g, key, -1, UINT32_MAX, &id, err);
    if (found < 0) *rc = found;
    if (id == UINT32_MAX) id = -1;
    if (found > 0 && id >= (int64_t)n)
        *rc = tl_fail(err, TL_E_FORMAT, "%s: token %lld is outside the vocabulary of %u", key, (long long)id, n);
    return *rc == TL_OK ? (int32_t)id : -1;
}

static int flag(const tl_gguf *g, const char *key, int *rc, tl_error *err) {
    int v = -1, found = *rc == TL_OK ? tl_gguf_bool(g, key, &v, err) : 0;
    if (found < 0) *rc = found;
    return v;
}

/* Fills src; what was allocated for it is in pieces, scores, types and merges even on failure. */
static int read_source(const tl_gguf *g, tl_vocab_source *src, tl_error *err) {
    uint64_t n = 0;
    int rc = tl_gguf_str(g, KEY("model"), &src->model, err);
    if (rc < 0) return rc;
    if (rc == 0 || !tl_gguf_find(g, KEY("tokens")))
        return tl_fail(err, TL_E_FORMAT, "%s: missing, the file has no tokenizer", rc ? KEY("tokens") : KEY("model"));
    rc = tl_gguf_str(g, KEY("pre"), &src->pre, err);
    if (rc < 0) return rc;
    src->pieces = tl_gguf_strings(g, KEY("tokens"), &n, err);
    if (!src->pieces) return TL_E_FORMAT;
    if (n > INT32_MAX) return tl_fail(err, TL_E_UNSUPPORTED, "%s: too many tokens", KEY("tokens"));
    src->n = (uint32_t)n;
    rc = TL_OK;
    src->scores = numbers(g, KEY("scores"), TL_GGUF_F32, n, &rc, err);
    src->types = numbers(g, KEY("token_type"), TL_GGUF_I32, n, &rc, err);
    if (rc == TL_OK && tl_gguf_find(g, KEY("merges"))) {
        src->merges = tl_gguf_strings(g, KEY("merges"), &src->n_merges, err);
        if (!src->merges) rc = TL_E_FORMAT;
    }
    src->bos = token(g, KEY("bos_token_id"), src->n, &rc, err);
    src->eos = token(g, KEY("eos_token_id"), src->n, &rc, err);
    src->eot = token(g, KEY("eot_token_id"), src->n, &rc, err);
    src->eom = token(g, KEY("eom_token_id"), src->n, &rc, err);
    src->unk = token(g, KEY("unknown_token_id"), src->n, &rc, err);
    token(g, KEY("padding_token_id"), src->n, &rc, err);   /* not used, but it has to be a token */
    token(g, KEY("separator_token_id"), src->n, &rc, err);
    src->add_bos = flag(g, KEY("add_bos_token"), &rc, err);
    src->add_eos = flag(g, KEY("add_eos_token"), &rc, err);
    src->add_space_prefix = flag(g, KEY("add_space_prefix"), &rc, err);
    if (rc == TL_OK && n && !src->merges && tl_slice_is(src->model, "gpt2"))
        rc = tl_fail(err, TL_E_FORMAT, "%s: missing, the file's texts cannot be cut into its tokens", KEY("merges"));
    return rc;
}

static const char *const ids[] = {KEY("bos_token_id"), KEY("eos_token_id"), KEY("eot_token_id"), KEY("eom_token_id"),
                                  KEY("unknown_token_id"), KEY("padding_token_id"), KEY("separator_token_id")};

tl_tokenizer *tl_load_tokenizer(const tl_gguf *g, tl_error *err) {
    tl_vocab_source src = {0};
    tl_tokenizer *t = read_source(g, &src, err) == TL_OK ? tl_tokenizer_new(&src, err) : NULL;
    for (size_t i = 0; t && i < sizeof ids / sizeof ids[0]; i++) {
        int64_t id = 0;
        if (tl_gguf_i64(g, ids[i], 0, UINT32_MAX, &id, NULL) > 0 && id == UINT32_MAX)
            tl_tokenizer_warn(t, "%s is 4294967295, which is no token: there is none", ids[i]);
    }
    tl_free((void *)src.pieces);
    tl_free((void *)src.scores);
    tl_free((void *)src.types);
    tl_free((void *)src.merges);
    return t;
}
