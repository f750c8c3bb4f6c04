/* SPDX-License-Identifier: MIT
 *
 * hparams.h: a model as numbers: architectures are rows of a table (arch.def, arch/<name>.c), hyper-parameters are what
 * a file says, checked. */
#ifndef TL_HPARAMS_H
#define TL_HPARAMS_H

#include "base/base.h"
#include "gguf/gguf.h"
#include "kernels.h"
#include "model/faults.h"

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

enum tl_block_id {            /* kinds of residual blocks (block.h) */
#define BLOCK(NAME, name) TL_BLOCK_##NAME,
#include "blocks.def"
#undef BLOCK
    TL_N_BLOCKS
};

/* What may differ from layer to layer. A layer is two blocks: one that looks at other positions, and a feed-forward. */
typedef struct tl_layer_hparams {
    enum tl_block_id mixer, ffn;
    int n_heads, n_kv_heads, n_ff;
    int window, rope;         /* positions that attention sees, 0: all; TL_ROPE_* */
} tl_layer_hparams;

typedef struct tl_hparams {
    int n_layers, n_embd, n_heads, n_kv_heads, head_dim, n_ff, n_vocab;   /* heads and n_ff: of the first layer */
    tl_layer_hparams *layers; /* [n_layers], owned */
    int64_t n_ctx_train;      /* 0: the file does not say */
    float norm_eps;
    int rope_kind;            /* TL_ROPE_NORM, TL_ROPE_NEOX */
    int n_rot;                /* rotated values of a head */
    tl_rope rope[TL_N_ROPES]; /* LOCAL: layers with a window, where the architecture gives them angles of their own */
    int longrope;             /* the file says so: factors of angles must be there */
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
/* Biases that are required; others are used where a file has them. */
enum { TL_BIAS_QKV = 1, TL_BIAS_ALL };

/* Forms of a file that binding finds out by looking. */
enum {
    TL_USUAL_TIED = 1,        /* no output.weight: the embedding's matrix is the head's too */
    TL_USUAL_HEAD_BIAS = 2,
    TL_USUAL_ONE_NORM = 4,    /* parallel halves share the first one's norm */
    TL_USUAL_QKV = 8,         /* q, k and v are one tensor */
    TL_USUAL_GATE_UP = 16,    /* gate and up are one tensor */
    TL_USUAL_SHARED_ROUTER = 32   /* the shared expert has a weight of its own */
};

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
    int ffn;                  /* TL_FFN_*: activation function of the feed-forwards */
    int sinks;                /* of attention: required */
    const char *ffn_norm;     /* name of the norm before the feed-forward; NULL: ffn_norm */
    unsigned usual;           /* TL_USUAL_*: how files of this architecture usually are, for those who make some */
    int no_renorm;           /* chosen experts' weights are not renormalised */
    unsigned keys;            /* TL_KEY_* that it computes */
    /* Adjusts what the common keys gave; may be NULL. Keys named after a field (embedding_scale, attention.scale,
     * attention.sliding_window_pattern, rope.freq_base_swa) are read afterwards and win. */
    void (*hparams)(tl_hparams *hp, tl_faults *f);
} tl_arch;

const tl_arch *tl_arch_find(tl_slice name);
/* Name of the i-th architecture, NULL past the last. */
const char *tl_arch_name(size_t i);

/* Reads and checks hyper-parameters. Ends with tl_hparams_done, also after an error. */
int tl_hparams_load(const tl_gguf *g, const tl_arch *arch, tl_hparams *hp, tl_faults *f, tl_error *err);
/* Fills hp->layers, all layers alike but for the patterns of window and rope, from the numbers of the model. */
int tl_hparams_set_layers(tl_hparams *hp, tl_error *err);
void tl_hparams_done(tl_hparams *hp);

#endif
