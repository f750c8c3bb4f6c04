/* SPDX-License-Identifier: MIT
 *
 * facts.c: see facts.h. Keys that all architectures name alike are enough for most. Products are checked; what cannot be
 * known stays -1. */
#include <stdarg.h>
#include <string.h>
#include "model/facts.h"

#define MAX_PLAUSIBLE (INT64_C(1) << 40)

TL_PRINTF(2, 3)
static void note(tl_facts *f, const char *fmt, ...) {
    if (f->n_notes == TL_MAX_NOTES) return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(f->notes[f->n_notes++], sizeof f->notes[0], fmt, args);
    va_end(args);
}

/* a * b, or -1 if one is unknown or the product is not sensible. */
static int64_t times(int64_t a, int64_t b) {
    size_t product;
    if (a < 0 || b < 0 || !tl_mul_size((size_t)a, (size_t)b, &product) || product > INT64_MAX / 4) return -1;
    return (int64_t)product;
}

static int64_t plus(int64_t a, int64_t b) { return a < 0 || b < 0 || a > INT64_MAX - b ? -1 : a + b; }

/* "<architecture>.<suffix>"; 0 if there is no architecture or it is too long. */
static int arch_key(const tl_facts *f, const char *suffix, char *key, size_t n) {
    if (!f->arch.p || memchr(f->arch.p, 0, f->arch.n) || f->arch.n + strlen(suffix) + 2 > n) return 0;
    snprintf(key, n, "%.*s.%s", (int)f->arch.n, f->arch.p, suffix);
    return 1;
}

static int is_integer(enum tl_gguf_type t) {
    return t != TL_GGUF_STR && t != TL_GGUF_ARR && t != TL_GGUF_F32 && t != TL_GGUF_F64 && t != TL_GGUF_BOOL;
}

/* A count from lo on. Arrays (one value per layer) give their largest element and, in *sum, all of it. */
static int64_t count(tl_facts *f, const tl_gguf *g, const char *suffix, int64_t lo, int64_t *sum) {
    char key[300];
    const tl_gguf_kv *kv = arch_key(f, suffix, key, sizeof key) ? tl_gguf_find(g, key) : NULL;
    int64_t max = -1, total = 0;
    if (sum) *sum = -1;
    if (!kv) return -1;
    if (!is_integer(kv->type == TL_GGUF_ARR ? kv->elem : kv->type)) {
        note(f, "%s is not an integer", suffix);
        return -1;
    }
    for (uint64_t i = 0; i < kv->n; i++) {
        int64_t v = tl_gguf_int_at(kv, i);
        if (v < lo || v > MAX_PLAUSIBLE) {
            if (v < lo) note(f, "%s is %lld: at least %lld is needed", suffix, (long long)v, (long long)lo);
            else note(f, "%s is %lld: no model is that large", suffix, (long long)v);
            return -1;
        }
        if (v > max) max = v;
        total = plus(total, v);
    }
    if (kv->type == TL_GGUF_ARR && f->layers > 0 && kv->n != (uint64_t)f->layers)
        note(f, "%s has %llu values for %lld layers", suffix, (unsigned long long)kv->n, (long long)f->layers);
    if (sum && kv->type == TL_GGUF_ARR) *sum = total;
    return max;
}

static void gather_counts(tl_facts *f, const tl_gguf *g) {
    int64_t kv_sum;
    char key[300];
    f->is_model = arch_key(f, "block_count", key, sizeof key) && tl_gguf_find(g, key);
    f->layers = count(f, g, "block_count", 1, NULL);
    f->embd = count(f, g, "embedding_length", 1, NULL);
    f->ff = count(f, g, "feed_forward_length", 0, NULL);
    f->heads = count(f, g, "attention.head_count", 1, NULL);
    f->kv_heads = count(f, g, "attention.head_count_kv", 0, &kv_sum);
    f->key_len = count(f, g, "attention.key_length", 1, NULL);
    f->value_len = count(f, g, "attention.value_length", 1, NULL);
    f->experts = count(f, g, "expert_count", 0, NULL);
    f->experts_used = count(f, g, "expert_used_count", 0, NULL);
    f->trained_ctx = count(f, g, "context_length", 1, NULL);
    f->vocab = count(f, g, "vocab_size", 1, NULL);
    const tl_gguf_kv *tokens = tl_gguf_find(g, "tokenizer.ggml.tokens");
    if (tokens && tokens->type == TL_GGUF_ARR) f->vocab = (int64_t)tokens->n;
    if (f->kv_heads < 0) f->kv_heads = f->heads;
    if (f->heads > 0 && f->kv_heads > 0 && f->heads % f->kv_heads)
        note(f, "%lld heads do not divide into %lld key/value heads", (long long)f->heads, (long long)f->kv_heads);
    if (f->heads > 0 && f->embd > 0 && f->key_len < 0) {
        if (f->embd % f->heads == 0) f->key_len = f->embd / f->heads;
        else note(f, "embedding_length %lld does not divide into %lld heads", (long long)f->embd, (long long)f->heads);
    }
    if (f->value_len < 0) f->value_len = f->key_len;
    f->kv_heads_all = kv_sum >= 0 ? kv_sum : times(f->kv_heads, f->layers);
}

static int ends_with(tl_slice s, const char *end) {
    size_t n = strlen(end);
    return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

static int contains(tl_slice s, const char *part) {
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= s.n; i++)
        if (memcmp(s.p + i, part, n) == 0) return 1;
    return 0;
}

/* Bytes of a tensor that decoding one token reads: a row of a table that is looked up (of the token embedding too,
 * which is read whole besides if it is also the head), the chosen experts of a mixture, else all. */
static int64_t bytes_read(const tl_facts *f, const tl_gguf_tensor *t) {
    int64_t bytes = (int64_t)t->bytes, row = bytes;
    for (int i = 1; i < 4; i++) row /= t->dims[i];
    if (tl_slice_is(t->name, "token_embd.weight")) return f->tied ? bytes + row : row;
    if (tl_slice_is(t->name, "position_embd.weight") || tl_slice_is(t->name, "per_layer_token_embd.weight")) return row;
    if (contains(t->name, "_exps.") && f->experts > 0 && f->experts_used >= 0 && f->experts_used < f->experts)
        return (int64_t)((double)bytes * (double)f->experts_used / (double)f->experts);
    return bytes;
}

static void gather_tensors(tl_facts *f, const tl_gguf *g) {
    f->tied = !tl_gguf_tensor_find(g, "output.weight") && tl_gguf_tensor_find(g, "token_embd.weight");
    f->bytes_per_token = g->n_tensors ? 0 : -1;
    for (uint64_t i = 0; i < g->n_tensors; i++) {
        const tl_gguf_tensor *t = &g->tensors[i];
        f->parameters += t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3];
        f->tensor_bytes += (int64_t)t->bytes;
        f->type_tensors[t->type]++;
        f->type_bytes[t->type] += (int64_t)t->bytes;
        f->bytes_per_token += bytes_read(f, t);
        if (f->vocab < 0 && t->n_dims == 2 && ends_with(t->name, "token_embd.weight")) f->vocab = t->dims[1];
    }
}

/* Activations of a full batch and one row of logits, in float32: about what a session's scratch takes. */
static int64_t scratch(const tl_facts *f) {
    int64_t heads = plus(times(f->heads, f->key_len), times(f->kv_heads, plus(f->key_len, f->value_len)));
    int64_t row = plus(plus(times(f->embd, 4), times(f->ff, 2)), heads);
    return times(plus(times(row, TL_DEFAULT_BATCH), f->vocab), 4);
}

/* Bytes of a head in a cache of a type. */
static int64_t held(int64_t values, int kv) {
    const tl_kv_type *t = &tl_kv_types[kv];
    return values < 0 ? -1 : times(tl_kv_head_dim(t->elems, values) / t->elems, t->bytes);
}

/* Numbers of general.file_type, as files in use have them, and the type most of such a file's matrices have. */
static const struct { int number, type; const char *name; } file_types[] = {
    {0, TL_TYPE_F32, "F32"},         {1, TL_TYPE_F16, "F16"},         {2, TL_TYPE_Q4_0, "Q4_0"},
    {3, TL_TYPE_Q4_1, "Q4_1"},       {7, TL_TYPE_Q8_0, "Q8_0"},       {8, TL_TYPE_Q5_0, "Q5_0"},
    {9, TL_TYPE_Q5_1, "Q5_1"},       {10, TL_TYPE_Q2_K, "Q2_K"},      {11, TL_TYPE_Q3_K, "Q3_K_S"},
    {12, TL_TYPE_Q3_K, "Q3_K_M"},    {13, TL_TYPE_Q3_K, "Q3_K_L"},    {14, TL_TYPE_Q4_K, "Q4_K_S"},
    {15, TL_TYPE_Q4_K, "Q4_K_M"},    {16, TL_TYPE_Q5_K, "Q5_K_S"},    {17, TL_TYPE_Q5_K, "Q5_K_M"},
    {18, TL_TYPE_Q6_K, "Q6_K"},      {21, TL_TYPE_Q2_K, "Q2_K_S"},    {25, TL_TYPE_IQ4_NL, "IQ4_NL"},
    {30, TL_TYPE_IQ4_XS, "IQ4_XS"},  {32, TL_TYPE_BF16, "BF16"},      {36, TL_TYPE_TQ1_0, "TQ1_0"},
    {37, TL_TYPE_TQ2_0, "TQ2_0"},    {38, TL_TYPE_MXFP4, "MXFP4"},
};

/* The name in the file counts only where some tensor has its type: files that were made again keep old numbers. */
static void gather_quantization(tl_facts *f, const tl_gguf *g) {
    int64_t number = -1, most = 0;
    for (int i = 0; i < TL_N_TYPES; i++) {
        if (f->type_bytes[i] <= most) continue;
        most = f->type_bytes[i];
        snprintf(f->quantization, sizeof f->quantization, "%s", tl_type_info_get((uint32_t)i)->name);
    }
    if (!most || tl_gguf_i64(g, "general.file_type", 0, UINT32_MAX, &number, NULL) != 1) return;
    for (size_t i = 0; i < sizeof file_types / sizeof *file_types; i++) {
        if (number != file_types[i].number) continue;
        if (!f->type_tensors[file_types[i].type]) {
            note(f, "general.file_type says %s, but no tensor has that type", file_types[i].name);
            return;
        }
        snprintf(f->quantization, sizeof f->quantization, "%s", file_types[i].name);
        f->quantization_named = 1;
    }
}

/* The tokenizer, and the file's metadata, which stay mapped. */
static int64_t vocabulary(const tl_gguf *g, int64_t tensor_bytes) {
    const tl_gguf_kv *pieces = tl_gguf_find(g, "tokenizer.ggml.tokens"), *merges = tl_gguf_find(g, "tokenizer.ggml.merges");
    int64_t metadata = g->file_bytes - g->extra_bytes - tensor_bytes;
    return plus(metadata, pieces ? (int64_t)tl_tokenizer_bytes(pieces->n, merges ? merges->n : 0) : 0);
}

static void add_memory(tl_facts *f) {
    f->kv_bytes = times(f->kv_bytes_per_pos[0], f->context);
    f->memory_bytes = f->tensor_bytes ? plus(plus(f->tensor_bytes, f->kv_bytes), plus(f->scratch_bytes, f->vocab_bytes)) : -1;
}

int64_t tl_model_kv_bytes(const struct tl_model *m, const tl_kv_ops *kv) {
    int64_t n = 0;
    for (int i = 0; i < m->n_blocks; i++) n += (int64_t)tl_block_kv_bytes(m, &m->blocks[i], kv);
    return n;
}

void tl_facts_of_model(tl_facts *f, const struct tl_model *m) {
    f->bytes_per_token = m->bytes_per_token;
    for (int i = 0; i < TL_N_KV; i++) f->kv_bytes_per_pos[i] = tl_model_kv_bytes(m, &m->k.kv[i]);
    add_memory(f);
}

void tl_facts_gather(tl_facts *f, const tl_gguf *g, int64_t context) {
    tl_slice template = {0};
    *f = (tl_facts){0};
    tl_gguf_str(g, "general.architecture", &f->arch, NULL);
    tl_gguf_str(g, "general.name", &f->name, NULL);
    tl_gguf_str(g, "general.license", &f->license, NULL);
    f->has_chat_template = tl_gguf_str(g, "tokenizer.chat_template", &template, NULL) == 1 && template.n > 0;
    gather_counts(f, g);
    gather_tensors(f, g);
    gather_quantization(f, g);
    for (int i = 0; i < TL_N_KV; i++) f->kv_bytes_per_pos[i] = times(f->kv_heads_all, plus(held(f->key_len, i), held(f->value_len, i)));
    f->context = f->trained_ctx > 0 && f->trained_ctx < TL_DEFAULT_CTX ? f->trained_ctx : TL_DEFAULT_CTX;
    if (context > 0) f->context = context;
    f->scratch_bytes = scratch(f);
    f->vocab_bytes = vocabulary(g, f->tensor_bytes);
    add_memory(f);
    if (context > 0 && f->trained_ctx > 0 && context > f->trained_ctx)
        note(f, "a context of %lld is more than the model was trained for", (long long)context);
}
