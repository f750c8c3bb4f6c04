/* SPDX-License-Identifier: MIT
 *
 * model.h: a file becomes weights. What is computed with them is in the blocks (block.h); one forward pass runs them. */
#ifndef TL_MODEL_H
#define TL_MODEL_H

#include "model/block.h"
#include "model/hparams.h"
#include "text/text.h"

/* Reads the tokenizer of a GGUF file (works on vocabulary-only files). The gguf must outlive it. */
tl_tokenizer *tl_load_tokenizer(const tl_gguf *g, tl_error *err);

struct tl_model {
    tl_gguf *gguf;
    tl_tokenizer *tok;
    const tl_arch *arch;
    tl_kernels k;
    tl_hparams hp;
    tl_block *blocks;         /* [n_blocks] */
    int n_blocks, n_slots;    /* n_slots: blocks with cached K and V */
    tl_weight embd, head;     /* head is embd's matrix when tied */
    tl_norm output_norm;
    const float *head_bias;   /* [n_vocab] or NULL */
    const float *positions;   /* [n_positions][n_embd] or NULL */
    float *values;            /* all vectors, as f32 */
    size_t values_cap, values_n;
    void *packed;             /* all packed matrices */
    size_t packed_bytes;
    size_t groups_bytes;      /* of a thread's tl_worker.groups; 0: every matrix is packed */
    int max_cols;             /* largest number of columns of any matrix */
    unsigned forms;           /* activation forms (1 << TL_ACT_*) that any matrix wants */
    int64_t n_params, bytes_per_token;
    uint64_t facts;           /* sum of hyper-parameters and shapes */
    _Atomic uint64_t identity;/* of facts and weights, for saved states; 0: not known yet */
    char *name, *arch_name;
    char *chat_template;      /* or NULL */
    double load_seconds;
};

/* Makes m->blocks from hyper-parameters and architecture, without weights. Ends with tl_blocks_free, also after an
 * error. */
int tl_blocks_build(struct tl_model *m, tl_error *err);
void tl_blocks_free(struct tl_model *m);
/* Shows all tensors in the order of a file. */
void tl_model_tensors(struct tl_model *m, const tl_visitor *v);
/* What a maker of files writes for a row of the list: the tensor itself, the one it shares with others, once, or 0:
 * nothing. */
int tl_tensor_written(const tl_tensor *t, tl_tensor *out);
/* Calls fn for every matrix that is bound and multiplied, the head included; t: its row of the list. */
typedef void tl_weight_fn(void *arg, tl_weight *w, const tl_tensor *t);
void tl_each_weight(const struct tl_model *m, tl_weight_fn *fn, void *arg);

/* Builds the blocks and binds every tensor by name and shape. Ends with tl_unbind, also after an error. */
int tl_bind(struct tl_model *m, int exact, tl_faults *f, tl_error *err);
void tl_unbind(struct tl_model *m);
/* Hyper-parameters, binding, and what they need: architecture and tokenizer. m holds gguf and k; afterwards all but
 * packed matrices, or what there was before the error (path: for its text). */
int tl_check_model(struct tl_model *m, int exact, const char *path, tl_error *err);
/* Frees all that tl_check_model made. */
void tl_check_done(struct tl_model *m);
/* Packs all matrices for the model's level, reading them through the file's descriptor. Ends with tl_pack_done, also
 * after an error. */
int tl_pack(struct tl_model *m, int n_threads, tl_progress_fn *progress, void *user, tl_error *err);
void tl_pack_done(struct tl_model *m);
/* Instead: leaves them in the file, to be packed whenever they are met. */
void tl_pack_later(struct tl_model *m);

#endif
