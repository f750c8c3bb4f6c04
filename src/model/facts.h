/* SPDX-License-Identifier: MIT
 *
 * facts.h: what can be said of a model: sizes, hyper-parameters, memory. From the GGUF file alone they are had for any
 * architecture, and more exactly for models that are bound. Values come from a file that may be wrong: what is absent or
 * makes no sense is -1, and a note says so of the latter. */
#ifndef TL_FACTS_H
#define TL_FACTS_H

#include "model/model.h"

/* What a session has where its options say nothing: positions (the trained ones if they are fewer), rows of a slice. */
#define TL_DEFAULT_CTX 4096
#define TL_DEFAULT_BATCH 512

#define TL_MAX_NOTES 16

typedef struct tl_facts {
    tl_slice arch, name, license;    /* p NULL: absent */
    char quantization[32];           /* "Q4_K_M" as the file says; of others the type that most bytes have; "": no tensors */
    int quantization_named;          /* the file says it */
    int has_chat_template;
    int64_t parameters;              /* values in all tensors */
    int64_t tensor_bytes;
    int64_t type_tensors[TL_N_TYPES], type_bytes[TL_N_TYPES];
    int64_t layers, embd, ff, heads, kv_heads, key_len, value_len, vocab, experts, experts_used, trained_ctx;
    int64_t kv_heads_all;            /* summed over the layers */
    int64_t bytes_per_token;         /* of weights, to decode one token; an estimate for unknown architectures */
    int64_t kv_bytes_per_pos[TL_N_KV];   /* all layers, by type of cache; 0: f16 */
    /* memory: tensors + cache + scratch + vocabulary at that context */
    int64_t context, kv_bytes, scratch_bytes, vocab_bytes, memory_bytes;
    int is_model;                    /* <architecture>.block_count is there */
    int tied;                        /* no output.weight: the token embedding is the head */
    char notes[TL_MAX_NOTES][160];
    int n_notes;
} tl_facts;

/* From the file. context 0: the default. */
void tl_facts_gather(tl_facts *f, const tl_gguf *g, int64_t context);
/* Replaces what the file alone says roughly by what a model that is bound does. */
void tl_facts_of_model(tl_facts *f, const struct tl_model *m);
/* Bytes of cache for a position, in all blocks. */
int64_t tl_model_kv_bytes(const struct tl_model *m, const tl_kv_ops *kv);

#endif
