/* SPDX-License-Identifier: MIT
 *
 * inspect_facts.h: what can be said of a model from its GGUF file alone: sizes, hyper-parameters, memory. Values come
 * from a file that may be wrong: what is absent or makes no sense is -1, and a note tells of the latter. */
#ifndef TL_INSPECT_FACTS_H
#define TL_INSPECT_FACTS_H

#include "gguf/gguf.h"
#include "kernels.h"

#define TL_MAX_NOTES 16

typedef struct tl_facts {
    tl_slice arch, name;             /* p NULL: absent */
    int64_t parameters;              /* values in all tensors */
    int64_t tensor_bytes;
    int64_t type_tensors[TL_N_TYPES], type_bytes[TL_N_TYPES];
    int64_t layers, embd, ff, heads, kv_heads, key_len, value_len, vocab, experts, experts_used, trained_ctx;
    int64_t kv_heads_all;            /* summed over the layers */
    int64_t bytes_per_token;         /* of weights, to decode one token; an estimate for unknown architectures */
    int64_t kv_bytes_per_pos[TL_N_KV];   /* all layers, by type of cache; 0: f16 */
    int64_t context, kv_bytes, scratch_bytes, memory_bytes;   /* memory: tensors + cache + scratch at that context */
    int is_model;                    /* <architecture>.block_count is there */
    int tied;                        /* no output.weight: the token embedding is the head */
    char notes[TL_MAX_NOTES][160];
    int n_notes;
} tl_facts;

/* context 0: the trained one, at most 4096. */
void tl_facts_gather(tl_facts *f, const tl_gguf *g, int64_t context);

#endif
