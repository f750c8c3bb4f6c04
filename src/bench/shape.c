/* SPDX-License-Identifier: MIT
 *
 * shape.c: shapes by name or by numbers; their tensors one by one, to count them or to write them with random
 * weights. */
#include "bench/shape.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench/random.h"

static const struct preset {
    const char *name, *arch;
    int layers, dim, ff, heads, kv_heads, head_dim, vocab, tied, window, text, experts, used, expert_ff, shared_ff;
} presets[] = {
#define SHAPE(...)   {__VA_ARGS__, 0, 0, 0, 0},
#define EXPERTS(...) {__VA_ARGS__},
#include "shapes.def"
#undef SHAPE
#undef EXPERTS
};
enum { N_PRESETS = sizeof presets / sizeof *presets };

const char *tl_shape_name(int i) { return i >= 0 && i < N_PRESETS ? presets[i].name : NULL; }

/* ---- by name or by numbers --------------------------------------------------------------------------------------- */

static void fill_preset(tl_shape *s, const struct preset *p) {
    *s = (tl_shape){.layers = p->layers, .dim = p->dim, .ff = p->ff, .heads = p->heads, .kv_heads = p->kv_heads,
                    .head_dim = p->head_dim, .vocab = p->vocab, .tied = p->tied, .window = p->window, .text = p->text,
                    .experts = p->experts, .used = p->used, .expert_ff = p->expert_ff, .shared_ff = p->shared_ff};
    snprintf(s->name, sizeof s->name, "%s", p->name);
    s->arch = tl_arch_find((tl_slice){p->arch, strlen(p->arch)});
}

static int parse_name(const char *text, tl_shape *s, tl_error *err) {
    const char *names[N_PRESETS + 1] = {0};
    char lower[64];
    snprintf(lower, sizeof lower, "%s", text);
    for (char *c = lower; *c; c++) *c = (char)tolower((unsigned char)*c);
    for (int i = 0; i < N_PRESETS; i++) {
        names[i] = presets[i].name;
        if (strcmp(names[i], lower)) continue;
        fill_preset(s, &presets[i]);
        return s->arch ? TL_OK : tl_fail(err, TL_E_UNSUPPORTED, "shape %s: architecture %s is not built in", lower,
                                         presets[i].arch);
    }
    const char *near = tl_nearest(lower, names);
    tl_buf known = {0};
    for (int i = 0; i < N_PRESETS; i++) tl_buf_fmt(&known, "%s%s", i ? " " : "", names[i]);
    if (near) tl_fail(err, TL_E_ARGUMENT, "no shape \"%.60s\"; did you mean %s?", text, near);
    else tl_fail(err, TL_E_ARGUMENT, "no shape \"%.40s\"; known are %s", text, known.p ? known.p : "none");
    tl_buf_free(&known);
    return err ? err->code : TL_E_ARGUMENT;
}

/* One "key=value" of n characters. */
static int parse_field(const char *text, size_t n, tl_shape *s, tl_error *err) {
    const struct { const char *key; int *at, lo, hi; } fields[] = {
        {"layers", &s->layers, 1, 1024}, {"dim", &s->dim, 16, 1 << 17}, {"ff", &s->ff, 16, 1 << 20},
        {"heads", &s->heads, 1, 1024}, {"kv", &s->kv_heads, 1, 1024}, {"head", &s->head_dim, 16, TL_HD_MAX},
        {"vocab", &s->vocab, 1, 1 << 22}, {"tied", &s->tied, 0, 1}, {"window", &s->window, 0, 1 << 24},
        {"experts", &s->experts, 0, 1024}, {"used", &s->used, 1, 1024}, {"expert_ff", &s->expert_ff, 16, 1 << 20},
        {"shared_ff", &s->shared_ff, 0, 1 << 20},
    };
    const char *eq = memchr(text, '=', n);
    size_t len = eq ? (size_t)(eq - text) : n;
    if (eq && len == 4 && memcmp(text, "arch", 4) == 0) {
        s->arch = tl_arch_find((tl_slice){eq + 1, n - len - 1});
        return s->arch ? TL_OK : tl_fail(err, TL_E_ARGUMENT, "shape: no architecture in \"%.*s\"", (int)n, text);
    }
    for (size_t i = 0; eq && i < sizeof fields / sizeof *fields; i++) {
        if (strlen(fields[i].key) != len || memcmp(fields[i].key, text, len)) continue;
        char *end;
        long v = strtol(eq + 1, &end, 10);
        if (end != text + n || end == eq + 1 || v < fields[i].lo || v > fields[i].hi)
            return tl_fail(err, TL_E_ARGUMENT, "shape: %s wants a number from %d to %d, not \"%.*s\"", fields[i].key,
                           fields[i].lo, fields[i].hi, (int)(n - len - 1), eq + 1);
        *fields[i].at = (int)v;
        return TL_OK;
    }
    return tl_fail(err, TL_E_ARGUMENT, "shape: \"%.*s\" is none of layers=, dim=, ff=, heads=, kv=, head=, vocab=, "
                                       "arch=, tied=, window=, experts=, used=, expert_ff=, shared_ff=", (int)(n < 60 ? n : 60), text);
}

static int check_experts(tl_shape *s, tl_error *err) {
    if (!s->experts && (s->used || s->expert_ff || s->shared_ff))
        return tl_fail(err, TL_E_ARGUMENT, "shape: used=, expert_ff= and shared_ff= need experts=");
    if (!s->experts) return TL_OK;
    if (!(s->arch->keys & TL_KEY_EXPERTS)) return tl_fail(err, TL_E_ARGUMENT, "shape: %s has no experts", s->arch->name);
    if (s->used < 1 || s->used > s->experts) return tl_fail(err, TL_E_ARGUMENT, "shape: used= must be 1 to %d", s->experts);
    if (!s->expert_ff) s->expert_ff = s->ff;
    if (s->expert_ff % 32 || s->shared_ff % 32)
        return tl_fail(err, TL_E_ARGUMENT, "shape: expert_ff and shared_ff must be multiples of 32");
    return TL_OK;
}

static int parse_numbers(const char *text, tl_shape *s, tl_error *err) {
    *s = (tl_shape){.name = "shape", .vocab = 32000, .text = 39, .arch = tl_arch_find((tl_slice){"llama", 5})};
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ",");
        int rc = parse_field(p, n, s, err);
        if (rc != TL_OK) return rc;
        p += p[n] ? n + 1 : n;
    }
    if (!s->layers || !s->dim || !s->ff || !s->heads)
        return tl_fail(err, TL_E_ARGUMENT, "shape: layers=, dim=, ff= and heads= are needed");
    if (!s->kv_heads) s->kv_heads = s->heads;
    if (!s->head_dim) s->head_dim = s->dim / s->heads;
    if (s->heads % s->kv_heads) return tl_fail(err, TL_E_ARGUMENT, "shape: heads is not a multiple of kv");
    if (s->head_dim % 2) return tl_fail(err, TL_E_ARGUMENT, "shape: head is %d, an odd number", s->head_dim);
    if (s->dim % 32 || s->ff % 32) return tl_fail(err, TL_E_ARGUMENT, "shape: dim and ff must be multiples of 32");
    return check_experts(s, err);
}

int tl_shape_parse(const char *text, tl_shape *s, tl_error *err) {
    return strchr(text, '=') ? parse_numbers(text, s, err) : parse_name(text, s, err);
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* Its type, and rows of all n. */
typedef struct tensor { const tl_tensor *t; int type; int64_t rows; } tensor;
typedef void tensor_fn(void *user, const tensor *t);
typedef struct walk { const tl_shape *s; const tl_mix *mix; tensor_fn *fn; void *user; } walk;

enum { POSITIONS = 8192 };   /* of architectures that have a table of them */

static int layer_of(const char *name) {
    int layer = 0;
    sscanf(name, "blk.%d.", &layer);
    return layer;
}

static void walk_tensor(void *user, const tl_tensor *t) {
    const walk *w = user;
    tl_tensor made;
    if (!tl_tensor_written(t, &made)) return;
    tensor x = {&made, TL_TYPE_F32, (int64_t)made.n * (made.rows ? made.rows : 1)};
    if (made.rows && made.role != TL_ROLE_ROUTER) x.type = tl_mix_type(w->mix, w->s, made.role, layer_of(made.name), made.cols);
    w->fn(w->user, &x);
}

/* A model of the shape without weights. */
static int describe(const tl_shape *s, tl_arch *arch, struct tl_model *m, tl_error *err) {
    *arch = *s->arch;
    arch->usual = (arch->usual & ~(unsigned)TL_USUAL_TIED) | (s->tied ? TL_USUAL_TIED : 0);
    *m = (struct tl_model){.arch = arch};
    m->hp = (tl_hparams){.n_layers = s->layers, .n_embd = s->dim, .n_heads = s->heads, .n_kv_heads = s->kv_heads,
                         .head_dim = s->head_dim, .n_ff = s->ff, .n_vocab = s->vocab, .parallel = arch->parallel,
                         .n_positions = POSITIONS, .n_experts = s->experts, .n_experts_used = s->used,
                         .n_ff_expert = s->expert_ff, .n_ff_shared = s->shared_ff};
    int rc = tl_hparams_set_layers(&m->hp, err);
    return rc ? rc : tl_blocks_build(m, err);
}

static int walk_all(const walk *w, tl_error *err) {
    tl_arch arch;
    struct tl_model m;
    int rc = describe(w->s, &arch, &m, err);
    if (rc == TL_OK) tl_model_tensors(&m, &(tl_visitor){walk_tensor, (void *)w});
    tl_blocks_free(&m);
    tl_hparams_done(&m.hp);
    return rc;
}

static size_t tensor_bytes(const tensor *t) {
    const tl_type_info *info = tl_type_info_get((uint32_t)t->type);
    return (size_t)(t->t->cols / info->elems) * (size_t)info->bytes * (size_t)t->rows;
}

typedef struct sums { int64_t params, bytes, tensors; } sums;

static void count(void *user, const tensor *t) {
    sums *n = user;
    n->params += (int64_t)t->t->cols * t->rows;
    n->bytes += (int64_t)((tensor_bytes(t) + 31) / 32 * 32);
    n->tensors++;
}

static int count_all(const tl_shape *s, const tl_mix *mix, sums *n, tl_error *err) {
    walk w = {.s = s, .mix = mix, .fn = count, .user = n};
    *n = (sums){0};
    return walk_all(&w, err);
}

int64_t tl_shape_params(const tl_shape *s) {
    tl_mix room;
    sums n;
    return count_all(s, tl_mix_find("f16", &room, NULL), &n, NULL) ? -1 : n.params;
}

int64_t tl_shape_file_bytes(const tl_shape *s, const char *type, tl_error *err) {
    const int64_t keys = 2000, entry = 64;   /* of the other metadata; of a tensor's name, dimensions and place */
    tl_mix room;
    sums n;
    const tl_mix *mix = tl_mix_find(type, &room, err);
    if (!mix || count_all(s, mix, &n, err)) return -1;
    return n.bytes + n.tensors * entry + (int64_t)s->vocab * s->text + keys;
}

/* ---- a file with random weights ---------------------------------------------------------------------------------- */

/* Tensors of one type and width share their values: speed does not depend on them. */
enum { MAX_PATTERNS = 64, PATTERN_VALUES = 1 << 20 };
typedef struct pattern { int type, cols; float mean; size_t bytes; void *data; } pattern;
typedef struct writer { tl_gguf_writer *w; pattern p[MAX_PATTERNS]; int n; tl_error *err; } writer;

static pattern *find_pattern(writer *x, const tensor *t) {
    for (int i = 0; i < x->n; i++) {
        pattern *p = &x->p[i];
        if (p->type == t->type && p->cols == t->t->cols && (p->mean > 0) == (t->t->mean > 0)) return p;
    }
    if (x->n == MAX_PATTERNS) {
        tl_fail(x->err, TL_E_UNSUPPORTED, "shape: too many different rows");
        return NULL;
    }
    x->p[x->n] = (pattern){.type = t->type, .cols = t->t->cols, .mean = t->t->mean};
    return &x->p[x->n++];
}

static void need_pattern(void *user, const tensor *t) {
    pattern *p = find_pattern(user, t);
    if (p && p->bytes < tensor_bytes(t)) p->bytes = tensor_bytes(t);
}

/* The beginning is random, the rest repeats it in whole rows. */
static void make_pattern(pattern *p, tl_error *err) {
    const tl_type_info *info = tl_type_info_get((uint32_t)p->type);
    size_t row = (size_t)(p->cols / info->elems) * (size_t)info->bytes, rows = p->bytes / row;
    size_t most = PATTERN_VALUES / (size_t)p->cols + 1, fresh = rows < most ? rows : most;
    uint64_t state = (uint64_t)p->type * 1000003 + (uint64_t)p->cols;
    if (!(p->data = tl_alloc_big(p->bytes, "random weights", err))) return;
    tl_random_weights(p->type, p->data, fresh * (size_t)p->cols, p->mean, rows == 1 ? 0.1f : 1 / sqrtf((float)p->cols),
                      &state);
    for (size_t done = fresh * row; done < p->bytes;) {
        size_t n = p->bytes - done < done ? p->bytes - done : done;
        memcpy((char *)p->data + done, p->data, n);
        done += n;
    }
}

static void put_tensor(void *user, const tensor *t) {
    writer *x = user;
    pattern *p = find_pattern(x, t);
    const tl_tensor *f = t->t;
    int64_t dims[3] = {f->cols, f->rows ? f->rows : f->n, f->n};
    int n_dims = f->rows ? f->n > 1 ? 3 : 2 : f->n > 1 ? 2 : 1;
    if (p && p->data) tl_gguf_put_tensor(x->w, f->name, t->type, n_dims, dims, p->data, tensor_bytes(t));
}

static void put_keys(tl_gguf_writer *w, const tl_shape *s) {
    char key[96];
#define KEY(suffix) (snprintf(key, sizeof key, "%s." suffix, s->arch->name), key)
    tl_gguf_put_str(w, "general.architecture", s->arch->name);
    tl_gguf_put_str(w, "general.name", s->name);
    tl_gguf_put_u32(w, KEY("block_count"), (uint32_t)s->layers);
    tl_gguf_put_u32(w, KEY("context_length"), 1 << 20);
    tl_gguf_put_u32(w, KEY("embedding_length"), (uint32_t)s->dim);
    tl_gguf_put_u32(w, KEY("feed_forward_length"), (uint32_t)s->ff);
    tl_gguf_put_u32(w, KEY("attention.head_count"), (uint32_t)s->heads);
    tl_gguf_put_u32(w, KEY("attention.head_count_kv"), (uint32_t)s->kv_heads);
    tl_gguf_put_u32(w, KEY("attention.key_length"), (uint32_t)s->head_dim);
    tl_gguf_put_u32(w, KEY("attention.value_length"), (uint32_t)s->head_dim);
    tl_gguf_put_f32(w, s->arch->layer_norm ? KEY("attention.layer_norm_epsilon") : KEY("attention.layer_norm_rms_epsilon"), 1e-5f);
    tl_gguf_put_f32(w, KEY("rope.freq_base"), 1e6f);
    tl_gguf_put_u32(w, KEY("rope.dimension_count"), (uint32_t)s->head_dim);
    if (s->window) tl_gguf_put_u32(w, KEY("attention.sliding_window"), (uint32_t)s->window);
    if (s->experts) {
        tl_gguf_put_u32(w, KEY("expert_count"), (uint32_t)s->experts);
        tl_gguf_put_u32(w, KEY("expert_used_count"), (uint32_t)s->used);
        tl_gguf_put_u32(w, KEY("expert_feed_forward_length"), (uint32_t)s->expert_ff);
        tl_gguf_put_u32(w, KEY("expert_shared_feed_forward_length"), (uint32_t)s->shared_ff);
    }
#undef KEY
}

static int put_vocab(tl_gguf_writer *w, int n, tl_error *err) {
    enum { ROOM = 12 };
    char *text = tl_alloc_n((size_t)n, ROOM, "tokens", err);
    const char **list = tl_alloc_n((size_t)n, sizeof *list, "tokens", err);
    if (text && list) {
        for (int i = 0; i < n; i++) {
            snprintf(text + (size_t)i * ROOM, ROOM, "t%d", i);
            list[i] = text + (size_t)i * ROOM;
        }
        tl_gguf_put_str(w, "tokenizer.ggml.model", "gpt2");
        tl_gguf_put_str(w, "tokenizer.ggml.pre", "gpt-2");
        tl_gguf_put_strs(w, "tokenizer.ggml.tokens", list, (uint64_t)n);
        tl_gguf_put_strs(w, "tokenizer.ggml.merges", list, 0);
    }
    int rc = text && list ? TL_OK : TL_E_MEMORY;
    tl_free(list);
    tl_free(text);
    return rc;
}

int64_t tl_shape_write_bytes(const tl_shape *s, const char *type, tl_error *err) {
    tl_error own = {0};
    tl_mix room;
    int64_t bytes = tl_shape_file_bytes(s, type, err);
    writer x = {.err = err ? err : &own};
    if (bytes < 0) return -1;
    walk w = {.s = s, .mix = tl_mix_find(type, &room, err), .fn = need_pattern, .user = &x};
    if (walk_all(&w, x.err)) return -1;
    for (int i = 0; i < x.n; i++) bytes += (int64_t)x.p[i].bytes;
    return x.err->code ? -1 : bytes;
}

int tl_shape_write(const tl_shape *s, const char *type, FILE *f, tl_error *err) {
    tl_error own = {0};
    tl_mix room;
    if (!err) err = &own;
    const tl_mix *mix = tl_mix_find(type, &room, err);
    writer x = {.w = mix ? tl_gguf_writer_new(err) : NULL, .err = err};
    if (!x.w) return err->code;
    walk w = {.s = s, .mix = mix, .fn = need_pattern, .user = &x};
    walk_all(&w, err);
    for (int i = 0; i < x.n && !err->code; i++) make_pattern(&x.p[i], err);
    put_keys(x.w, s);
    if (!err->code) put_vocab(x.w, s->vocab, err);
    w.fn = put_tensor;
    if (!err->code) walk_all(&w, err);
    if (!err->code) tl_gguf_write_to(x.w, f, s->name, err);
    tl_gguf_writer_free(x.w);
    for (int i = 0; i < x.n; i++) tl_free_big(x.p[i].data, x.p[i].bytes);
    return err->code;
}
