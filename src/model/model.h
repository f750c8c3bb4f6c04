/* SPDX-License-Identifier: MIT
 *
 * model.h: a file becomes weights. Architectures are data (arch.def, arch/<name>.c): one forward pass reads the
 * hyper-parameters and the presence of tensors; nothing in it asks for an architecture's name. */
#ifndef TL_MODEL_H
#define TL_MODEL_H

#include "base/base.h"
#include "compute/compute.h"
#include "gguf/gguf.h"
#include "text/text.h"

/* Reads the tokenizer of a GGUF file (works on vocabulary-only files). The gguf must outlive it. */
tl_tokenizer *tl_load_tokenizer(const tl_gguf *g, tl_error *err);

/* Faults of a file, collected so that all are reported together. */
typedef struct tl_faults { tl_buf text; int n, n_unsupported; } tl_faults;
void tl_fault(tl_faults *f, const char *fmt, ...) TL_PRINTF(2, 3);
/* The same for what is valid, but cannot be computed yet. */
void tl_unsupported(tl_faults *f, const char *fmt, ...) TL_PRINTF(2, 3);
/* Turns them into one error (TL_E_UNSUPPORTED if all are of that kind); TL_OK if there are none. Frees the buffer. */
int tl_faults_end(tl_faults *f, const char *path, tl_error *err);

enum { TL_ROPE_ABSENT = -1, TL_ROPE_GLOBAL, TL_ROPE_LOCAL, TL_N_ROPES };

/* How positions turn into angles: angle(pos, i) = pos * scale * base^(-2i/n_rot) / factor[i]; with YaRN, scale applies
 * to slow pairs only (model/rope.c). */
typedef struct tl_rope {
    double base, scale;
    double magnitude;         /* factor on cosines and sines */
    int64_t n_ctx_orig;       /* context the angles were trained for before they were stretched; 0: not known */
    int yarn, yarn_exact;     /* exact: the first and last scaled pair are not rounded to whole ones */
    double yarn_fast, yarn_slow;   /* turns within n_ctx_orig: more than fast are kept, fewer than slow are scaled */
    int stretched;            /* takes the factors of the file's tensors */
    const float *factor;      /* [n_rot/2] or NULL (all 1): "llama3" scaling, or the short factors of "longrope" */
    const float *long_factor; /* [n_rot/2] or NULL: instead, in contexts longer than n_ctx_orig */
} tl_rope;

/* Radians per position of a pair, in a session with room for n_ctx positions. */
double tl_rope_frequency(const tl_rope *r, int n_rot, int pair, int n_ctx);

typedef struct tl_hparams {
    int n_layers, n_embd, n_heads, n_kv_heads, head_dim, n_ff, n_vocab;
    int64_t n_ctx_train;      /* 0: the file does not say */
    float norm_eps;
    int rope_kind;            /* TL_ROPE_NORM, TL_ROPE_NEOX */
    int n_rot;                /* rotated values of a head */
    tl_rope rope[TL_N_ROPES]; /* LOCAL: layers with a window, where the architecture gives them angles of their own */
    int rope_period;          /* every rope_period-th layer has no rotation; 0: all have */
    int parallel;             /* attention and feed-forward both read what enters the layer */
    int n_positions;          /* rows of the table of positions, 0: there is none */
    int n_experts, n_experts_used, n_ff_expert, n_ff_shared;   /* 0: no mixture of experts; no expert that all tokens use */
    int window;               /* sliding window in positions, 0: none */
    int window_period;        /* every window_period-th layer sees everything; 0: all layers have the window */
    const tl_gguf_kv *window_layers;   /* instead, if not NULL: [n_layers] whether a layer has the window */
    float embd_scale;         /* factor on token embeddings */
    float attn_scale;         /* factor on q.k */
    float logit_scale;        /* factor on logits */
    float attn_softcap, logit_softcap;   /* 0: none */
} tl_hparams;

/* Keys that mean something to some architectures only; files of others that have them are refused. */
enum { TL_KEY_RESIDUAL_SCALE = 1, TL_KEY_LOGIT_DIVISOR = 2, TL_KEY_PARALLEL = 4, TL_KEY_EXPERTS = 8 };
/* RMS norm on q and k before rope, one weight for each value of a head, or of all heads, normed as one vector. */
enum { TL_QK_NORM_HEAD = 1, TL_QK_NORM_ROW };
/* Feed-forward: act(gate x) * (up x), or act(up x) alone. GELU is the tanh form, GELU_ERF the exact one. */
enum { TL_FFN_SILU_GATE, TL_FFN_GELU_GATE, TL_FFN_SWIGLU_OAI, TL_FFN_GELU, TL_FFN_GELU_ERF };
#define TL_FFN_HAS_GATE(ffn) ((ffn) < TL_FFN_GELU)
/* Biases that are required; others are used where a file has them. */
enum { TL_BIAS_QKV = 1, TL_BIAS_ALL };

/* An architecture. Optional tensors that are absent are NULL in the layer; required ones are faults. */
typedef struct tl_arch {
    const char *name;         /* general.architecture */
    int rope_kind;
    int bias;                 /* TL_BIAS_* */
    int layer_norm;           /* norms subtract the mean and have biases; RMS otherwise */
    int qk_norm;              /* TL_QK_NORM_*: required */
    int no_pre_norms;         /* none before attention and before the feed-forward; required otherwise */
    int post_norms;           /* norms after attention and after the feed-forward, before the residual: required */
    int positions;            /* a table of position embeddings: required */
    int parallel;             /* tl_hparams.parallel, where no key says otherwise */
    int ffn;                  /* TL_FFN_* */
    int sinks;                /* of attention: required */
    const char *ffn_norm;     /* name of the norm before the feed-forward; NULL: ffn_norm */
    int no_renorm;           /* chosen experts' weights are not renormalised */
    unsigned keys;            /* TL_KEY_* that it computes */
    /* Adjusts what the common keys gave; may be NULL. Keys named after a field (embedding_scale, attention.scale,
     * attention.sliding_window_pattern, rope.freq_base_swa) are read afterwards and win. */
    void (*hparams)(tl_hparams *hp, tl_faults *f);
} tl_arch;

const tl_arch *tl_arch_find(tl_slice name);
/* Name of the i-th architecture, NULL past the last. */
const char *tl_arch_name(size_t i);

typedef struct tl_expert { tl_weight gate, up, down; const float *gate_bias, *up_bias, *down_bias; } tl_expert;

typedef struct tl_layer {
    tl_norm attn_norm, attn_post_norm, ffn_norm, ffn_post_norm;   /* w NULL: none */
    const float *q_norm, *k_norm;
    const float *q_bias, *k_bias, *v_bias, *o_bias, *gate_bias, *up_bias, *down_bias;
    tl_weight q, k, v, o;
    tl_weight gate, up, down; /* gate.gemm NULL: none; with experts: none of them */
    tl_weight router, shared_router;   /* [n_experts], [1 row] x [n_embd]; shared_router.gemm NULL: a weight of 1 */
    const float *router_bias; /* [n_experts] or NULL */
    const float *sinks;       /* [n_heads] or NULL */
    tl_expert *experts;       /* [n_experts, then the shared one if n_ff_shared] or NULL */
    int window, rope;         /* of this layer; rope TL_ROPE_* */
} tl_layer;

struct tl_model {
    tl_gguf *gguf;
    tl_tokenizer *tok;
    const tl_arch *arch;
    tl_kernels k;
    tl_hparams hp;
    tl_layer *layers;         /* [n_layers] */
    tl_expert *experts;       /* of all layers */
    tl_weight embd, head;     /* head is embd's matrix when tied */
    tl_norm output_norm;
    const float *head_bias;   /* [n_vocab] or NULL */
    float *positions;         /* [n_positions][n_embd] */
    float *norms;             /* all vectors, as f32 */
    size_t norms_cap, norms_n;
    void *packed;             /* all packed matrices */
    size_t packed_bytes;
    size_t groups_bytes;      /* of a thread's tl_worker.groups; 0: every matrix is packed */
    int max_cols;             /* largest number of columns of any matrix */
    unsigned forms;           /* activation forms (1 << TL_ACT_*) that any matrix wants */
    int64_t n_params, bytes_per_token;
    char *name, *arch_name;
    double load_seconds;
};

/* Reads and checks hyper-parameters. */
void tl_hparams_load(const tl_gguf *g, const tl_arch *arch, tl_hparams *hp, tl_faults *f);
/* Binds every tensor by name and shape. */
int tl_bind(struct tl_model *m, int exact, tl_faults *f, tl_error *err);
/* Both, and what they need: architecture and tokenizer. m holds gguf and k; afterwards all but packed matrices,
 * or what there was before the error (path: for its text). */
int tl_check_model(struct tl_model *m, int exact, const char *path, tl_error *err);
/* Experts of a layer, the shared one included. */
static inline int tl_n_experts(const tl_hparams *hp) { return hp->n_experts + (hp->n_ff_shared > 0); }
/* Calls fn for every matrix of a layer; fraction: of it that a token reads on average. */
typedef void tl_weight_fn(void *arg, tl_weight *w, double fraction);
void tl_each_weight(const struct tl_model *m, const tl_layer *l, tl_weight_fn *fn, void *arg);
/* Packs all matrices for the model's level, dropping file pages that are no longer needed. */
int tl_pack(struct tl_model *m, int n_threads, tl_progress_fn *progress, void *user, tl_error *err);
/* Instead: leaves them in the file, to be packed whenever they are met. */
void tl_pack_later(struct tl_model *m);

#endif
