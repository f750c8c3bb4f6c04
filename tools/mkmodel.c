/* SPDX-License-Identifier: MIT
 *
 * mkmodel.c: writes tiny GGUF models with random weights and a small working vocabulary, for tests. The same options
 * give the same bytes on every machine; a tensor's values depend only on the seed, its name and its shape.
 *
 * Weights have a standard deviation near 1/sqrt(columns), so activations keep their size from layer to layer. With a
 * gain, attention chooses and logits spread, so that a wrong step shows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/base.h"
#include "base/opts.h"
#include "bench/random.h"
#include "gguf/gguf.h"
#include "kernels.h"
#include "model/model.h"

/* ---- what an architecture consists of ---------------------------------------------------------------------------- */

/* Beyond what the engine's own row of the architecture says; those that are not here have gpt-2's text and no experts. */
enum { SPM = 1, LOCAL = 2, EXPERTS = 4, SHARED_EXPERT = 8 };
static const struct habit { const char *name, *pre; int has; float rope_base; } habits[] = {
    {"qwen2", "qwen2", 0, 1000000},
    {"qwen3", "qwen2", 0, 1000000},
    {"qwen2moe", "qwen2", EXPERTS | SHARED_EXPERT, 1000000},
    {"qwen3moe", "qwen2", EXPERTS, 1000000},
    {"gemma", "default", SPM, 10000},
    {"gemma2", "default", SPM | LOCAL, 10000},
    {"gemma3", "default", SPM | LOCAL, 1000000},
    {"olmo2", "gpt-2", LOCAL, 500000},
    {"granitemoe", "gpt-2", EXPERTS, 10000},
    {"smollm3", "gpt-2", 0, 2000000},
    {"gpt-oss", "gpt-2", EXPERTS, 150000},
    {NULL, "gpt-2", 0, 10000},
};

typedef struct config {
    const char *arch_name, *type_name, *chat;
    int64_t layers, embd, heads, kv_heads, head_dim, ff, vocab, ctx, seed, split, experts, used, expert_ff, shared_ff, dense;
    double gain;
    int tied;
    tl_opt_list keys, with, without, halved, vectors, controls, words;
    const struct habit *habit;
    tl_arch arch;
    int type;
} config;

static const tl_opt options[] = {
    {"--arch", "NAME", TL_OPT_STR, offsetof(config, arch_name), 0, 0, "its name in a file; default llama"},
    {"--type", "TYPE", TL_OPT_STR, offsetof(config, type_name), 0, 0, "type of the matrices; default f32"},
    {"--layers", "N", TL_OPT_INT, offsetof(config, layers), 1, 1000, "default 2"},
    {"--embd", "N", TL_OPT_INT, offsetof(config, embd), 1, 65536, "default 256"},
    {"--heads", "N", TL_OPT_INT, offsetof(config, heads), 1, 1024, "default 4"},
    {"--kv-heads", "N", TL_OPT_INT, offsetof(config, kv_heads), 1, 1024, "default 2"},
    {"--head-dim", "N", TL_OPT_INT, offsetof(config, head_dim), 1, 4096, "default embd / heads"},
    {"--ff", "N", TL_OPT_INT, offsetof(config, ff), 1, 262144, "default 2 * embd"},
    {"--experts", "N", TL_OPT_INT, offsetof(config, experts), 0, 100, "default 4 for ...moe, else 0"},
    {"--used", "N", TL_OPT_INT, offsetof(config, used), 1, 100, "experts that a token uses; default 2"},
    {"--expert-ff", "N", TL_OPT_INT, offsetof(config, expert_ff), 1, 262144, "width of an expert; default ff"},
    {"--shared-ff", "N", TL_OPT_INT, offsetof(config, shared_ff), 1, 262144, "an expert for all tokens; default ff for qwen2moe, else none"},
    {"--dense", "N", TL_OPT_INT, offsetof(config, dense), 0, 1000, "first layers without experts; default 0"},
    {"--vocab", "N", TL_OPT_INT, offsetof(config, vocab), 1, 1000000, "default 400"},
    {"--ctx", "N", TL_OPT_INT, offsetof(config, ctx), 1, 1 << 20, "trained context; default 512"},
    {"--seed", "N", TL_OPT_INT, offsetof(config, seed), 0, 1e15, "default 1"},
    {"--gain", "X", TL_OPT_NUM, offsetof(config, gain), 0, 100, "factor on how far weights vary; default 1"},
    {"--split", "N", TL_OPT_INT, offsetof(config, split), 1, 99, "parts of a split model; default 1: one file"},
    {"--key", "NAME=X", TL_OPT_LIST, offsetof(config, keys), 0, 0,
     "the key <arch>.NAME: f32 if X has a point, bool if true or false, str if it begins with a letter, i32s if X has commas, else u32; no X: none"},
    {"--chat-template", "TEXT", TL_OPT_STR, offsetof(config, chat), 0, 0, "add it as tokenizer.chat_template"},
    {"--control", "TEXT", TL_OPT_LIST, offsetof(config, controls), 0, 0, "a control token more: the first has id 287 (382 with SentencePiece)"},
    {"--word", "TEXT", TL_OPT_LIST, offsetof(config, words), 0, 0, "a user-defined token more, behind those"},
    {"--vector", "NAME=X,...", TL_OPT_LIST, offsetof(config, vectors), 0, 0, "add a tensor of these values"},
    {"--with", "TENSOR", TL_OPT_LIST, offsetof(config, with), 0, 0, "a tensor that few files have; of layers without \"blk.N.\""},
    {"--without", "TENSOR", TL_OPT_LIST, offsetof(config, without), 0, 0, "leave out a tensor"},
    {"--halved", "TENSOR", TL_OPT_LIST, offsetof(config, halved), 0, 0, "half the rows (a vector: values) of a tensor"},
    {"--tied", NULL, TL_OPT_FLAG, offsetof(config, tied), 0, 0, "no output.weight (some architectures never have one)"},
    {0},
};

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

typedef struct tensor { char name[64]; int type, n_dims; int64_t dims[3]; void *data; size_t bytes; } tensor;
typedef struct tensors { tensor *v; size_t n, cap; tl_error err; const config *c; } tensors;

static int listed(const tl_opt_list *list, const char *name) {
    for (int i = 0; i < list->n; i++)
        if (strcmp(list->v[i], name) == 0) return 1;
    return 0;
}

static tensor *next_tensor(tensors *t) {
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        tensor *v = tl_realloc_n(t->v, cap, sizeof *v, "tensors", &t->err);
        if (!v) return NULL;
        t->v = v;
        t->cap = cap;
    }
    return &t->v[t->n];
}

/* Random values: matrices have deviation 1/sqrt(columns), vectors 0.1. */
static void fill(tensors *t, tensor *x, size_t n, float mean, float deviation) {
    const tl_type_info *info = tl_type_info_get((uint32_t)x->type);
    x->bytes = n / (size_t)info->elems * (size_t)info->bytes;
    x->data = tl_alloc_n(x->bytes, 1, x->name, &t->err);
    if (!x->data) return;
    uint64_t state = (uint64_t)t->c->seed;
    for (const char *p = x->name; *p; p++) state = (state ^ (unsigned char)*p) * 0x100000001b3u;
    tl_random_weights(x->type, x->data, n, mean, deviation, &state);
    t->n++;
}

/* The name without the layer. */
static const char *suffix(const char *name) {
    return strncmp(name, "blk.", 4) == 0 && strchr(name + 4, '.') ? strchr(name + 4, '.') + 1 : name;
}

static void add_tensor(void *user, const tl_tensor *row) {
    tensors *t = user;
    tl_tensor r = *row;
    if (listed(&t->c->with, suffix(r.name))) r.need = TL_USUAL;
    if (t->err.code || !tl_tensor_written(&r, &r) || listed(&t->c->without, r.name)) return;
    tensor *x = next_tensor(t);
    if (!x) return;
    int matrix = r.rows > 1, type = matrix && r.role != TL_ROLE_ROUTER ? t->c->type : TL_TYPE_F32;
    if (strcmp(r.name, "position_embd.weight") == 0) type = t->c->type, matrix = 1;
    const tl_type_info *info = tl_type_info_get((uint32_t)type);
    *x = (tensor){.type = type, .dims = {r.cols, r.rows ? r.rows : r.n, r.rows ? r.n : 1}};
    x->n_dims = x->dims[2] > 1 ? 3 : x->dims[1] > 1 ? 2 : 1;
    snprintf(x->name, sizeof x->name, "%s", r.name);
    if (listed(&t->c->halved, r.name)) x->dims[x->n_dims > 1] /= 2;
    if (x->dims[0] % info->elems)
        tl_fail(&t->err, TL_E_ARGUMENT, "%s has %lld columns, not a multiple of %d as %s needs", r.name,
                (long long)x->dims[0], info->elems, info->name);
    else
        fill(t, x, (size_t)(x->dims[0] * x->dims[1] * x->dims[2]), r.mean,
             (float)t->c->gain * (matrix ? 1 / sqrtf((float)r.cols) : 0.1f));
}

/* "NAME=1,2.5,4": a vector of given values. */
static void add_vector(tensors *t, const char *text) {
    const char *x = strchr(text, '=');
    tensor *v = t->err.code ? NULL : next_tensor(t);
    if (!x || !v) return;
    *v = (tensor){.type = TL_TYPE_F32, .n_dims = 1, .dims = {0, 1, 1}};
    snprintf(v->name, sizeof v->name, "%.*s", (int)(x - text), text);
    float *values = v->data = tl_alloc_n(strlen(x), sizeof *values, v->name, &t->err);
    if (!values) return;
    for (; *x; x += strcspn(x, ",")) values[v->dims[0]++] = strtof(++x, NULL);
    v->bytes = (size_t)v->dims[0] * sizeof *values;
    t->n++;
}

/* The value of --key NAME if it is a list, else NULL. */
static const char *list_of(const config *c, const char *name) {
    size_t n = strlen(name);
    for (int i = 0; i < c->keys.n; i++)
        if (strncmp(c->keys.v[i], name, n) == 0 && c->keys.v[i][n] == '=' && strchr(c->keys.v[i], ',')) return c->keys.v[i] + n + 1;
    return NULL;
}

/* The next of a list's numbers. */
static int next_of(const char **list) {
    char *end;
    int v = (int)strtol(*list, &end, 10);
    *list = end + (*end == ',');
    return v;
}

/* Layers that differ, as the keys say. */
static void set_layers(const config *c, tl_hparams *hp) {
    const char *heads = list_of(c, "attention.head_count"), *kv = list_of(c, "attention.head_count_kv"), *ff = list_of(c, "feed_forward_length");
    for (int i = 0; i < hp->n_layers; i++) {
        tl_layer_hparams *l = &hp->layers[i];
        if (heads) l->n_heads = next_of(&heads);
        if (kv) l->n_kv_heads = next_of(&kv);
        if (ff) l->n_ff = next_of(&ff);
        if (i < c->dense) l->ffn = TL_BLOCK_FFN;
    }
}

/* The engine's own list of the tensors of such a model. */
static void add_all(tensors *t) {
    const config *c = t->c;
    struct tl_model m = {.arch = &c->arch};
    m.hp = (tl_hparams){.n_layers = (int)c->layers, .n_embd = (int)c->embd, .n_heads = (int)c->heads,
                        .n_kv_heads = (int)c->kv_heads, .head_dim = (int)c->head_dim, .n_ff = (int)c->ff,
                        .n_vocab = (int)c->vocab, .parallel = c->arch.parallel, .n_positions = (int)c->ctx,
                        .n_experts = (int)c->experts, .n_experts_used = (int)c->used, .n_ff_expert = (int)c->expert_ff,
                        .n_ff_shared = (int)c->shared_ff};
    int rc = tl_hparams_set_layers(&m.hp, &t->err);
    if (rc == TL_OK) set_layers(c, &m.hp);
    if (rc == TL_OK && tl_blocks_build(&m, &t->err) == TL_OK) tl_model_tensors(&m, &(tl_visitor){add_tensor, t});
    for (int i = 0; i < c->vectors.n; i++) add_vector(t, c->vectors.v[i]);
    tl_blocks_free(&m);
    tl_hparams_done(&m.hp);
}

/* ---- vocabulary -------------------------------------------------------------------------------------------------- */

/* Pairs that are merged, most wanted first; "_" stands for the space in front of a word. Both halves of each are single
 * characters or earlier rows. */
static const char *const pairs[][2] = {
    {"_", "t"}, {"h", "e"}, {"_", "a"}, {"i", "n"}, {"_t", "he"}, {"r", "e"}, {"o", "n"}, {"e", "r"}, {"_", "s"},
    {"n", "d"}, {"_a", "nd"}, {"a", "t"}, {"_", "w"}, {"o", "u"}, {"l", "l"}, {"in", "g"}, {"_", "o"}, {"e", "d"},
    {"_", "on"}, {"i", "s"}, {"_", "c"}, {"e", "n"}, {"a", "r"}, {"o", "r"}, {"_w", "or"}, {"l", "d"}, {"l", "o"},
    {"H", "e"}, {"He", "ll"}, {"Hell", "o"}, {"1", "2"},
};
enum { N_PAIRS = sizeof pairs / sizeof *pairs };

enum { TOKEN_NORMAL = 1, TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_USER, TOKEN_UNUSED, TOKEN_BYTE };

typedef struct vocab { int64_t n, cap; char (*text)[40]; int32_t *type; float *score; } vocab;

static void push(vocab *v, int type, float score, const char *text) {
    if (v->n < v->cap) {
        snprintf(v->text[v->n], sizeof v->text[0], "%s", text);
        v->type[v->n] = type;
        v->score[v->n] = score;
    }
    v->n++;   /* beyond cap: the caller sees how many there would be */
}

/* GPT-2's spelling of a byte: itself where printable in Latin-1, else the next code point from 256 on. */
static void byte_symbol(int byte, char *out) {
    int cp = byte, next = 256;
    for (int b = 0; b <= byte; b++) {
        int printable = (b > 32 && b < 127) || (b > 160 && b != 173);
        cp = printable ? b : next++;
    }
    if (cp < 128) snprintf(out, 3, "%c", cp);
    else snprintf(out, 3, "%c%c", 0xc0 | cp >> 6, 0x80 | (cp & 63));
}

/* Replaces "_" by the vocabulary's spelling of a space. */
static void spell(char *out, size_t n, const char *s, const char *space) {
    size_t at = 0;
    out[0] = 0;
    for (; *s; s++) at += (size_t)snprintf(out + at, n - at, *s == '_' ? "%s" : "%.1s", *s == '_' ? space : s);
}

static void push_pairs(vocab *v, const char *space) {
    char both[16], text[24];
    for (int i = 0; i < N_PAIRS; i++) {
        snprintf(both, sizeof both, "%s%s", pairs[i][0], pairs[i][1]);
        spell(text, sizeof text, both, space);
        push(v, TOKEN_NORMAL, (float)-i, text);
    }
}

static void fill_vocab(vocab *v, int spm, const config *c) {
    static const char *const control[2][3] = {{"<|bos|>", "<|eos|>", "<|im_end|>"},
                                              {"<start_of_turn>", "<end_of_turn>", "<pad>"}};
    char text[24];
    if (spm) {
        push(v, TOKEN_UNKNOWN, 0, "<unk>");
        push(v, TOKEN_CONTROL, 0, "<s>");
        push(v, TOKEN_CONTROL, 0, "</s>");
    }
    for (int b = 0; b < 256; b++) {
        if (spm) snprintf(text, sizeof text, "<0x%02X>", b);
        else byte_symbol(b, text);
        push(v, spm ? TOKEN_BYTE : TOKEN_NORMAL, 0, text);
    }
    push_pairs(v, spm ? "\xe2\x96\x81" : "\xc4\xa0");
    if (spm) {
        push(v, TOKEN_NORMAL, -1000, "\xe2\x96\x81");
        for (int ch = '!'; ch < 127; ch++) {
            snprintf(text, sizeof text, "%c", ch);
            push(v, TOKEN_NORMAL, (float)(-1000 - ch), text);
        }
    }
    for (int i = 0; i < c->controls.n; i++) push(v, TOKEN_CONTROL, 0, c->controls.v[i]);
    for (int i = 0; i < c->words.n; i++) push(v, TOKEN_USER, 0, c->words.v[i]);
    for (int i = 0; v->n < v->cap - 3; i++) {
        snprintf(text, sizeof text, "<unused%d>", i);
        push(v, TOKEN_UNUSED, -10000, text);
    }
    for (int i = 0; i < 3; i++) push(v, TOKEN_CONTROL, 0, control[spm][i]);
}

static void put_merges(tl_gguf_writer *w) {
    static char text[N_PAIRS][24];
    const char *list[N_PAIRS];
    char half[2][12];
    for (int i = 0; i < N_PAIRS; i++) {
        for (int h = 0; h < 2; h++) spell(half[h], sizeof half[h], pairs[i][h], "\xc4\xa0");
        snprintf(text[i], sizeof text[i], "%s %s", half[0], half[1]);
        list[i] = text[i];
    }
    tl_gguf_put_strs(w, "tokenizer.ggml.merges", list, N_PAIRS);
}

static int put_vocab(tl_gguf_writer *w, const config *c, tl_error *err) {
    int spm = (c->habit->has & SPM) != 0, rc = TL_OK;
    size_t n = (size_t)c->vocab;
    vocab v = {.cap = c->vocab};
    v.text = tl_alloc_n(n, sizeof *v.text, "tokens", err);
    v.type = tl_alloc_n(n, sizeof *v.type, "token types", err);
    v.score = tl_alloc_n(n, sizeof *v.score, "scores", err);
    const char **list = tl_alloc_n(n, sizeof *list, "tokens", err);
    if (!v.text || !v.type || !v.score || !list) rc = TL_E_MEMORY;
    else fill_vocab(&v, spm, c);
    if (rc == TL_OK && v.n > v.cap)
        rc = tl_fail(err, TL_E_ARGUMENT, "--vocab must be at least %lld for %s", (long long)v.n, c->arch.name);
    if (rc == TL_OK) {
        for (size_t i = 0; i < n; i++) list[i] = v.text[i];
        tl_gguf_put_str(w, "tokenizer.ggml.model", spm ? "llama" : "gpt2");
        tl_gguf_put_str(w, "tokenizer.ggml.pre", c->habit->pre);
        tl_gguf_put_strs(w, "tokenizer.ggml.tokens", list, n);
        if (spm) tl_gguf_put_f32s(w, "tokenizer.ggml.scores", v.score, n);
        tl_gguf_put_i32s(w, "tokenizer.ggml.token_type", v.type, n);
        if (!spm) put_merges(w);
        tl_gguf_put_u32(w, "tokenizer.ggml.bos_token_id", spm ? 1 : (uint32_t)n - 3);
        tl_gguf_put_u32(w, "tokenizer.ggml.eos_token_id", spm ? 2 : (uint32_t)n - 2);
        tl_gguf_put_u32(w, "tokenizer.ggml.eot_token_id", spm ? (uint32_t)n - 2 : (uint32_t)n - 1);
        if (spm) tl_gguf_put_u32(w, "tokenizer.ggml.unknown_token_id", 0);
        tl_gguf_put_bool(w, "tokenizer.ggml.add_bos_token", spm);
        if (spm) tl_gguf_put_bool(w, "tokenizer.ggml.add_space_prefix", 0);
    }
    tl_free(list);
    tl_free(v.score);
    tl_free(v.type);
    tl_free(v.text);
    return rc;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Whether options give the key, or leave it out. */
static int given(const config *c, const char *name) {
    size_t n = strlen(name);
    for (int i = 0; i < c->keys.n; i++)
        if (strncmp(c->keys.v[i], name, n) == 0 && c->keys.v[i][n] == '=') return 1;
    return 0;
}

static void put_key(tl_gguf_writer *w, const config *c, const char *text) {
    char key[80];
    const char *x = strchr(text, '=') ? strchr(text, '=') + 1 : "";
    snprintf(key, sizeof key, "%s.%.*s", c->arch.name, (int)strcspn(text, "="), text);
    if (!*x) return;
    if (strchr(x, ',')) {
        int32_t v[64];
        size_t n = 0;
        while (*x && n < 64) v[n++] = next_of(&x);
        tl_gguf_put_i32s(w, key, v, n);
    } else if (strcmp(x, "true") == 0 || strcmp(x, "false") == 0) tl_gguf_put_bool(w, key, *x == 't');
    else if (*x >= 'a' && *x <= 'z') tl_gguf_put_str(w, key, x);
    else if (strchr(x, '.')) tl_gguf_put_f32(w, key, strtof(x, NULL));
    else tl_gguf_put_u32(w, key, (uint32_t)strtoul(x, NULL, 10));
}

static void put_count(tl_gguf_writer *w, const config *c, const char *name, int64_t v) {
    char key[80];
    snprintf(key, sizeof key, "%s.%s", c->arch.name, name);
    if (!given(c, name)) tl_gguf_put_u32(w, key, (uint32_t)v);
}

static void put_number(tl_gguf_writer *w, const config *c, const char *name, float v) {
    char key[80];
    snprintf(key, sizeof key, "%s.%s", c->arch.name, name);
    if (!given(c, name)) tl_gguf_put_f32(w, key, v);
}

static void put_arch(tl_gguf_writer *w, const config *c) {
    tl_gguf_put_str(w, "general.architecture", c->arch.name);
    tl_gguf_put_str(w, "general.type", "model");
    tl_gguf_put_str(w, "general.name", "tiny random model");
    if (c->chat) tl_gguf_put_str(w, "tokenizer.chat_template", c->chat);
    put_count(w, c, "block_count", c->layers);
    put_count(w, c, "context_length", c->ctx);
    put_count(w, c, "embedding_length", c->embd);
    put_count(w, c, "feed_forward_length", c->ff);
    put_count(w, c, "attention.head_count", c->heads);
    put_count(w, c, "attention.head_count_kv", c->kv_heads);
    put_count(w, c, "attention.key_length", c->head_dim);
    put_count(w, c, "attention.value_length", c->head_dim);
    put_number(w, c, c->arch.layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", 1e-5f);
    put_number(w, c, "rope.freq_base", c->habit->rope_base);
    put_count(w, c, "rope.dimension_count", c->head_dim);
    put_count(w, c, "vocab_size", c->vocab);
    if (c->experts) {
        put_count(w, c, "expert_count", c->experts);
        put_count(w, c, "expert_used_count", c->used);
        if (c->expert_ff != c->ff) put_count(w, c, "expert_feed_forward_length", c->expert_ff);
        if (c->shared_ff && c->shared_ff != c->ff) put_count(w, c, "expert_shared_feed_forward_length", c->shared_ff);
    }
    if (c->habit->has & LOCAL) {
        put_count(w, c, "attention.sliding_window", 16);
        put_number(w, c, "rope.freq_base_swa", 10000);
    }
    for (int i = 0; i < c->keys.n; i++) put_key(w, c, c->keys.v[i]);
}

/* Writes part i of c->split with its share of the tensors. */
static int write_part(const config *c, const tensors *t, const char *path, int64_t i, tl_error *err) {
    tl_gguf_writer *w = tl_gguf_writer_new(err);
    if (!w) return TL_E_MEMORY;
    int rc = TL_OK;
    char name[4096];
    if (i == 0) {
        put_arch(w, c);
        rc = put_vocab(w, c, err);
    }
    snprintf(name, sizeof name, "%s", path);
    if (c->split > 1) {
        size_t n = strlen(path);
        if (n > 5 && strcmp(path + n - 5, ".gguf") == 0) n -= 5;
        snprintf(name, sizeof name, "%.*s-%05d-of-%05d.gguf", (int)n, path, (int)i + 1, (int)c->split);
        tl_gguf_put_u32(w, "split.no", (uint32_t)i);
        tl_gguf_put_u32(w, "split.count", (uint32_t)c->split);
        tl_gguf_put_u32(w, "split.tensors.count", (uint32_t)t->n);
    }
    size_t parts = (size_t)c->split, first = t->n * (size_t)i / parts, end = t->n * (size_t)(i + 1) / parts;
    for (size_t j = first; j < end; j++) {
        const tensor *x = &t->v[j];
        tl_gguf_put_tensor(w, x->name, x->type, x->n_dims, x->dims, x->data, x->bytes);
    }
    if (rc == TL_OK) rc = tl_gguf_write(w, name, err);
    tl_gguf_writer_free(w);
    return rc;
}

static int resolve(config *c, tl_error *err) {
    const tl_arch *arch = tl_arch_find((tl_slice){c->arch_name, strlen(c->arch_name)});
    if (!arch) return tl_fail(err, TL_E_ARGUMENT, "no such architecture: %s", c->arch_name);
    c->arch = *arch;
    for (c->habit = habits; c->habit->name && strcmp(c->habit->name, arch->name); c->habit++) continue;
    c->type = tl_type_by_name(c->type_name);
    const tl_type_info *info = c->type < 0 ? NULL : tl_type_info_get((uint32_t)c->type);
    if (!info || !tl_random_possible(c->type))
        return tl_fail(err, TL_E_ARGUMENT, "no such type for weights: %s", c->type_name);
    if (!c->head_dim) c->head_dim = c->embd / c->heads ? c->embd / c->heads : 1;
    if (!c->ff) c->ff = 2 * c->embd;
    if (!c->experts && c->habit->has & EXPERTS) c->experts = 4;
    if (!c->used) c->used = c->experts > 1 ? 2 : 1;
    if (c->used > c->experts && c->experts)
        return tl_fail(err, TL_E_ARGUMENT, "--used %lld is more than --experts %lld", (long long)c->used, (long long)c->experts);
    if (!c->expert_ff) c->expert_ff = c->ff;
    if (!c->shared_ff && c->habit->has & SHARED_EXPERT) c->shared_ff = c->ff;
    if (c->tied) c->arch.usual |= TL_USUAL_TIED;
    return TL_OK;
}

int main(int argc, char **argv) {
    config c = {.arch_name = "llama", .type_name = "f32", .layers = 2, .embd = 256, .heads = 4, .kv_heads = 2,
                .vocab = 400, .ctx = 512, .seed = 1, .split = 1, .gain = 1};
    tensors t = {.c = &c};
    const char *path = NULL;
    int n_pos = 0;
    int rc = tl_opts_parse(options, NULL, &c, argc - 1, argv + 1, &path, 1, &n_pos, &t.err);
    if (rc == TL_OK && n_pos != 1) rc = tl_fail(&t.err, TL_E_ARGUMENT, "usage: mkmodel OUT [options]");
    if (rc == TL_OK) rc = resolve(&c, &t.err);
    if (rc == TL_OK) add_all(&t);
    for (int64_t i = 0; i < c.split && t.err.code == TL_OK; i++) write_part(&c, &t, path, i, &t.err);
    for (size_t i = 0; i < t.n; i++) tl_free(t.v[i].data);
    tl_free(t.v);
    if (!t.err.code) return 0;
    fprintf(stderr, "mkmodel: %s\n", t.err.text);
    return t.err.code == TL_E_ARGUMENT ? 2 : 1;
}
