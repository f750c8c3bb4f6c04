/* SPDX-License-Identifier: MIT
 *
 * Hyper-parameters: read from "<arch>.<key>", checked for type and range before anything is computed from them.
 * Bounds are far above any published model and low enough that products of two of them fit an int. */
#include "model/hparams.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct reader { const tl_gguf *g; const char *arch; tl_faults *f; } reader;

#define KEY(r, name) char key[128]; snprintf(key, sizeof key, "%s.%s", (r)->arch, name)

static int64_t read_int(const reader *r, const char *name, int64_t lo, int64_t hi, int required, int64_t absent) {
    KEY(r, name);
    tl_error e = {0};
    int64_t v = absent;
    int got = tl_gguf_i64(r->g, key, lo, hi, &v, &e);
    if (got < 0) { tl_fault(r->f, "%s", e.text); return lo; }
    if (!got && required) { tl_fault(r->f, "%s is missing", key); return lo; }
    return v;
}

/* One number for all layers, or an array with one for each: to the field at offset `field` of hp->layers. absent < 0:
 * required. Without a key, fields stay as they are if absent is 0. */
static void read_layers(const reader *r, tl_hparams *hp, const char *name, int64_t lo, int64_t hi, int64_t absent, size_t field) {
    KEY(r, name);
    const tl_gguf_kv *kv = tl_gguf_find(r->g, key);
    int array = kv && kv->type == TL_GGUF_ARR;
    if (array && (kv->elem == TL_GGUF_STR || kv->elem == TL_GGUF_ARR || kv->n != (uint64_t)hp->n_layers)) {
        tl_fault(r->f, "%s has %llu entries for %d layers", key, (unsigned long long)kv->n, hp->n_layers);
        return;
    }
    if (!kv && !absent) return;
    int64_t one = array ? 0 : read_int(r, name, lo, hi, absent < 0, absent);
    for (int i = 0; i < hp->n_layers; i++) {
        int64_t v = array ? tl_gguf_int_at(kv, (uint64_t)i) : one;
        if (v < lo || v > hi) {
            tl_fault(r->f, "%s is %lld in layer %d, allowed are %lld to %lld", key, (long long)v, i, (long long)lo, (long long)hi);
            return;
        }
        *(int *)((char *)&hp->layers[i] + field) = (int)v;
    }
}

static double read_num(const reader *r, const char *name, double lo, double hi, int required, double absent) {
    KEY(r, name);
    tl_error e = {0};
    double v = absent;
    int got = tl_gguf_f64(r->g, key, &v, &e);
    if (got < 0) { tl_fault(r->f, "%s", e.text); return absent; }
    if (!got) {
        if (required) tl_fault(r->f, "%s is missing", key);
        return absent;
    }
    /* Bounds hold for what a float32 makes of them too. */
    if (!((v >= lo || (float)v >= (float)lo) && (v <= hi || (float)v <= (float)hi))) {
        tl_fault(r->f, "%s is %g, allowed are %g to %g", key, v, lo, hi);
        return absent;
    }
    return v;
}

static int read_bool(const reader *r, const char *name, int absent) {
    KEY(r, name);
    tl_error e = {0};
    int v = absent;
    if (tl_gguf_bool(r->g, key, &v, &e) < 0) tl_fault(r->f, "%s", e.text);
    return v;
}

/* A factor; 0 stands for the architecture's own. */
static float read_scale(const reader *r, const char *name, float own) {
    float v = (float)read_num(r, name, 0, 1e6, 0, 0);
    if (v > 0 && v < 1e-6f) tl_fault(r->f, "%s.%s is %g, allowed are 0 and 1e-06 to 1e+06", r->arch, name, (double)v);
    return v > 0 ? v : own;
}

/* rope.scaling.*: "none", or "linear", which is also meant where a factor comes without a type; the older
 * rope.scale_linear; "yarn", which strengthens attention by ln(factor) / 10 + 1. "longrope" and "llama3" come as tensors
 * (bind.c), with or without a type. */
static void read_rope(const reader *r, int64_t n_ctx_train, tl_rope *rope) {
    double factor = read_num(r, "rope.scale_linear", 1e-6, 1e6, 0, 1);
    KEY(r, "rope.scaling.type");
    tl_slice type = {0};
    tl_error e = {0};
    int got = tl_gguf_str(r->g, key, &type, &e);
    int none = got > 0 && (tl_slice_is(type, "none") || tl_slice_is(type, "longrope"));
    if (got < 0) tl_fault(r->f, "%s", e.text);
    rope->yarn = got > 0 && tl_slice_is(type, "yarn");
    rope->stretched = 1;
    if (got > 0 && !none && !rope->yarn && !tl_slice_is(type, "linear"))
        tl_unsupported(r->f, "%s = \"%.*s\" is not supported yet (known are none, linear, yarn, longrope)", key, (int)(type.n < 40 ? type.n : 40), type.p);
    else if (!none) factor = read_num(r, "rope.scaling.factor", 1e-6, 1e6, got > 0, factor);
    rope->base = read_num(r, "rope.freq_base", 1e-3, 1e12, 0, 10000);
    rope->scale = 1 / factor;
    rope->magnitude = read_num(r, "rope.scaling.attn_factor", 1e-3, 1e3, 0, 1);
    rope->n_ctx_orig = read_int(r, "rope.scaling.original_context_length", 1, INT64_MAX, rope->yarn && !n_ctx_train, n_ctx_train);
    rope->yarn_fast = read_num(r, "rope.scaling.yarn_beta_fast", 1e-3, 1e6, 0, 32);
    rope->yarn_slow = read_num(r, "rope.scaling.yarn_beta_slow", 1e-3, 1e6, 0, 1);
    if (rope->yarn && factor > 1) rope->magnitude *= 0.1 * log(factor) + 1;
}

static int is_longrope(const reader *r) {
    KEY(r, "rope.scaling.type");
    tl_slice type = {0};
    return tl_gguf_str(r->g, key, &type, NULL) > 0 && tl_slice_is(type, "longrope");
}

/* The window's size, and which layers have it: a period, or an array of truth values. */
static void read_window_layers(const reader *r, tl_hparams *hp) {
    KEY(r, "attention.sliding_window_pattern");
    const tl_gguf_kv *kv = tl_gguf_find(r->g, key);
    if (!kv || kv->type != TL_GGUF_ARR)
        hp->window_period = (int)read_int(r, "attention.sliding_window_pattern", 0, 1024, 0, hp->window_period);
    else if (kv->elem == TL_GGUF_STR || kv->elem == TL_GGUF_ARR || kv->n != (uint64_t)hp->n_layers)
        tl_fault(r->f, "%s is not one truth value for each of %d layers", key, hp->n_layers);
    else hp->window_layers = kv;
}

/* With x = s z, z += f(norm(x)) stands for x += s f(norm(x)), and the norm of z is that of x if its epsilon is divided
 * by s^2: a factor on what layers add costs nothing. Only where norms read x and nothing else, and nothing but norms
 * reads x. */
static void fold_residual_scale(tl_hparams *hp, float s) {
    hp->embd_scale /= s;
    hp->norm_eps /= s * s;
}

/* Keys by which files ask for arithmetic that the forward pass does not have, and the numbers with which they ask for
 * nothing. Some belong to other architectures; a file that has them computes as those do. */
enum { AT_0 = 1, AT_1 = 2 };
static const struct { const char *name; int off; unsigned key; } not_computed[] = {   /* key: TL_KEY_*, if it has one */
    {"expert_count", AT_0, TL_KEY_EXPERTS},
    {"expert_weights_scale", AT_0 | AT_1, 0},
    {"expert_gating_func", AT_0 | AT_1, 0},   /* 1: softmax */
    {"expert_group_count", AT_0 | AT_1, 0},
    {"use_parallel_residual", AT_0, TL_KEY_PARALLEL},
    {"swin_norm", AT_0, 0},                /* norms behind the halves of a layer instead of before */
    {"logit_scale", AT_0 | AT_1, TL_KEY_LOGIT_DIVISOR},   /* a factor for some architectures, a divisor for others */
    {"residual_scale", AT_0 | AT_1, TL_KEY_RESIDUAL_SCALE},
    {"attention.causal", AT_1, 0},         /* 0: tokens see those that follow */
    {"attention.clamp_kqv", AT_0, 0},
    {"attention.max_alibi_bias", AT_0, 0},
    {"attention.output_scale", AT_0 | AT_1, 0},
    {"attention.temperature_length", AT_0, 0},
    {"attention.temperature_scale", AT_0, 0},
    {"attention.shared_kv_layers", AT_0, 0},
    {"rope.scaling.yarn_ext_factor", AT_1, 0},
    {"rope.scaling.yarn_attn_factor", AT_1, 0},
    {"rope.scaling.yarn_log_multiplier", AT_0, 0},
};

static int is_off(double v, int off) { return (v == 0 && off & AT_0) || (v == 1 && off & AT_1); }

static void refuse_not_computed(const reader *r, const tl_arch *arch) {
    static const char *const only[] = {[AT_0] = "0", [AT_1] = "1", [AT_0 | AT_1] = "0 or 1"};
    for (size_t k = 0; k < sizeof not_computed / sizeof *not_computed; k++) {
        if (arch->keys & not_computed[k].key) continue;
        KEY(r, not_computed[k].name);
        const tl_gguf_kv *kv = tl_gguf_find(r->g, key);
        enum tl_gguf_type type = !kv ? TL_GGUF_U32 : kv->type == TL_GGUF_ARR ? kv->elem : kv->type;
        uint64_t i = 0, n = kv ? kv->n : 0;
        if (type == TL_GGUF_STR || type == TL_GGUF_ARR) {
            tl_fault(r->f, "%s is not a number", key);
            continue;
        }
        while (i < n && is_off(tl_gguf_num_at(kv, i), not_computed[k].off)) i++;
        if (i < n)
            tl_unsupported(r->f, "%s = %g is not supported yet (only %s)", key,
                           tl_gguf_num_at(kv, i), only[not_computed[k].off]);
    }
}

/* What depends on the counts: called only if those are right, as their faults would show again in other words. */
static void load_heads(const reader *r, tl_hparams *hp) {
    const char *arch = r->arch;
    int faults = r->f->n;
    for (int i = 0; i < hp->n_layers && r->f->n == faults; i++) {
        const tl_layer_hparams *l = &hp->layers[i];
        if (l->n_heads % l->n_kv_heads)
            tl_fault(r->f, "%s.attention.head_count %d is not a multiple of head_count_kv %d", arch, l->n_heads, l->n_kv_heads);
    }
    int64_t head = read_int(r, "attention.key_length", 1, TL_HD_MAX, 0, 0);
    int derived = head == 0;
    if (derived && hp->n_embd % hp->n_heads)
        tl_fault(r->f, "%s.embedding_length %d is not a multiple of attention.head_count %d", arch, hp->n_embd, hp->n_heads);
    if (derived) head = hp->n_embd / hp->n_heads;
    int64_t v_head = read_int(r, "attention.value_length", 1, TL_HD_MAX, 0, head);
    hp->head_dim = (int)head;
    if (r->f->n == faults && head != v_head)
        tl_unsupported(r->f, "%s.attention.key_length %d and value_length %d differ, which is not supported yet", arch,
                       (int)head, (int)v_head);
    if (r->f->n == faults && (head > TL_HD_MAX || head < 1))
        tl_fault(r->f, "%s.attention.key_length%s is %d: supported are 1 to %d", arch, derived ? " (embedding_length / head_count)" : "",
                 (int)head, TL_HD_MAX);
    if (r->f->n > faults) return;
    hp->n_rot = (int)read_int(r, "rope.dimension_count", 2, head, 0, head);
    if (hp->n_rot % 2) tl_fault(r->f, "%s.rope.dimension_count is %d, it must be even", arch, hp->n_rot);
}

/* Widths that a file does not name are that of the plain feed-forward; a shared expert is there if its width is, or its
 * tensors are. */
static void read_experts(const reader *r, tl_hparams *hp) {
    hp->n_experts = (int)read_int(r, "expert_count", 0, 1024, 0, 0);
    if (!hp->n_experts) return;
    hp->n_experts_used = (int)read_int(r, "expert_used_count", 1, hp->n_experts, 1, 0);
    hp->n_ff_expert = (int)read_int(r, "expert_feed_forward_length", 1, 1 << 20, 0, hp->n_ff);
    int64_t shared = tl_gguf_tensor_find(r->g, "blk.0.ffn_up_shexp.weight") ? hp->n_ff : 0;
    hp->n_ff_shared = (int)read_int(r, "expert_shared_feed_forward_length", 0, 1 << 20, 0, shared);
}

static int is_nth(int layer, int period) { return period && (layer + 1) % period == 0; }

/* Which layers see a window, and how they rotate. */
static void set_windows(tl_hparams *hp) {
    for (int i = 0; i < hp->n_layers; i++) {
        tl_layer_hparams *l = &hp->layers[i];
        int windowed = hp->window_layers ? tl_gguf_int_at(hp->window_layers, (uint64_t)i) != 0 : !is_nth(i, hp->window_period);
        l->window = windowed ? hp->window : 0;
        l->rope = is_nth(i, hp->rope_period) ? TL_ROPE_ABSENT : l->window ? TL_ROPE_LOCAL : TL_ROPE_GLOBAL;
    }
}

/* Layers have experts where they have a router. */
static void set_experts(const tl_gguf *g, tl_hparams *hp) {
    char name[64];
    for (int i = 0; i < hp->n_layers && hp->n_experts; i++) {
        snprintf(name, sizeof name, "blk.%d.ffn_gate_inp.weight", i);
        if (!g || tl_gguf_tensor_find(g, name)) hp->layers[i].ffn = TL_BLOCK_EXPERTS;
    }
}

int tl_hparams_set_layers(tl_hparams *hp, tl_error *err) {
    hp->layers = tl_alloc_n((size_t)hp->n_layers, sizeof *hp->layers, "layers", err);
    if (!hp->layers) return TL_E_MEMORY;
    for (int i = 0; i < hp->n_layers; i++)
        hp->layers[i] = (tl_layer_hparams){.mixer = TL_BLOCK_ATTENTION, .ffn = TL_BLOCK_FFN, .n_heads = hp->n_heads,
                                           .n_kv_heads = hp->n_kv_heads, .n_ff = hp->n_ff};
    set_windows(hp);
    set_experts(NULL, hp);
    return TL_OK;
}

void tl_hparams_done(tl_hparams *hp) {
    tl_free(hp->layers);
    hp->layers = NULL;
}

/* Counts of layers, heads and widths. */
static int read_counts(const reader *r, tl_hparams *hp, tl_error *err) {
    hp->n_layers = (int)read_int(r, "block_count", 1, 1024, 1, 0);
    hp->n_embd = (int)read_int(r, "embedding_length", 1, 1 << 17, 1, 0);
    if (tl_hparams_set_layers(hp, err)) return TL_E_MEMORY;
    read_layers(r, hp, "feed_forward_length", 1, 1 << 20, -1, offsetof(tl_layer_hparams, n_ff));
    read_layers(r, hp, "attention.head_count", 1, 1024, -1, offsetof(tl_layer_hparams, n_heads));
    for (int i = 0; i < hp->n_layers; i++) hp->layers[i].n_kv_heads = hp->layers[i].n_heads;
    read_layers(r, hp, "attention.head_count_kv", 1, 1024, 0, offsetof(tl_layer_hparams, n_kv_heads));
    hp->n_ff = hp->layers[0].n_ff;
    hp->n_heads = hp->layers[0].n_heads;
    hp->n_kv_heads = hp->layers[0].n_kv_heads;
    hp->n_ctx_train = read_int(r, "context_length", 1, INT64_MAX, 0, 0);
    return TL_OK;
}

int tl_hparams_load(const tl_gguf *g, const tl_arch *arch, tl_hparams *hp, tl_faults *f, tl_error *err) {
    reader r = {g, arch->name, f};
    int faults = f->n;
    memset(hp, 0, sizeof *hp);
    if (read_counts(&r, hp, err)) return TL_E_MEMORY;
    if (f->n == faults) load_heads(&r, hp);

    const char *eps = arch->layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
    hp->norm_eps = (float)read_num(&r, eps, 1e-12, 1, 1, 1e-5);
    if (arch->keys & TL_KEY_EXPERTS) read_experts(&r, hp);
    hp->parallel = arch->parallel;
    if (arch->keys & TL_KEY_PARALLEL) hp->parallel = read_bool(&r, "use_parallel_residual", arch->parallel);
    hp->rope_kind = arch->rope_kind;
    read_rope(&r, hp->n_ctx_train, &hp->rope[TL_ROPE_GLOBAL]);
    hp->longrope = is_longrope(&r);
    hp->rope[TL_ROPE_LOCAL] = hp->rope[TL_ROPE_GLOBAL];
    hp->window = (int)read_int(&r, "attention.sliding_window", 0, INT32_MAX, 0, 0);
    hp->embd_scale = 1;
    hp->attn_scale = 1 / sqrtf((float)hp->head_dim);
    hp->attn_softcap = (float)read_num(&r, "attn_logit_softcapping", 0, 1e6, 0, 0);
    hp->logit_softcap = (float)read_num(&r, "final_logit_softcapping", 0, 1e6, 0, 0);
    if (arch->hparams) arch->hparams(hp, f);
    hp->rope[TL_ROPE_LOCAL].base = read_num(&r, "rope.freq_base_swa", 1e-3, 1e12, 0, hp->rope[TL_ROPE_LOCAL].base);
    read_window_layers(&r, hp);
    hp->embd_scale = read_scale(&r, "embedding_scale", hp->embd_scale);
    hp->attn_scale = read_scale(&r, "attention.scale", hp->attn_scale);
    if (arch->keys & TL_KEY_RESIDUAL_SCALE) fold_residual_scale(hp, read_scale(&r, "residual_scale", 1));
    hp->logit_scale = arch->keys & TL_KEY_LOGIT_DIVISOR ? 1 / read_scale(&r, "logit_scale", 1) : 1;
    set_windows(hp);
    set_experts(g, hp);
    refuse_not_computed(&r, arch);
    return TL_OK;
}
