/* SPDX-License-Identifier: MIT
 * blocks_test.c: whatever an architecture can state is computed right: made-up architectures with every combination of
 * norms before and behind, parallel halves, experts and per-layer sizes, against a plain evaluation in double. */
#include "test.h"

#include <math.h>
#include "engine/session.h"
#include "kern/ffn_form.h"
#include "kern/kv_form.h"

enum { LAYERS = 3, D = 32, HD_MAX = 104, VOCAB = 24, N = 6, EXPERTS = 3, USED = 2, FF_EXPERT = 40, FF_SHARED = 24 };
static const int heads[LAYERS] = {2, 4, 2}, kvs[LAYERS] = {2, 1, 1}, ff[LAYERS] = {48, 64, 80};
static int hd = 16;   /* values of a head */
static const int32_t ids[N] = {3, 17, 9, 0, 23, 3};

/* ---- a file of a made-up architecture ---- */

typedef struct maker { tl_gguf_writer *w; float *pool; size_t n; uint32_t state; } maker;

static float uniform(uint32_t *state) {   /* -1..1 */
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1;
}

static void write_tensor(void *user, const tl_tensor *row) {
    maker *k = user;
    tl_tensor t;
    if (!tl_tensor_written(row, &t)) return;
    int64_t dims[3] = {t.cols, t.rows ? t.rows : t.n, t.rows ? t.n : 1};
    size_t n = (size_t)(dims[0] * dims[1] * dims[2]);
    float *v = k->pool + k->n;
    k->n += n;
    for (size_t i = 0; i < n; i++) v[i] = t.rows ? 2 * uniform(&k->state) / sqrtf((float)t.cols) : t.mean + 0.4f * uniform(&k->state);
    tl_gguf_put_tensor(k->w, t.name, TL_TYPE_F32, dims[2] > 1 ? 3 : dims[1] > 1 ? 2 : 1, dims, v, n * sizeof *v);
}

static void put_ints(tl_gguf_writer *w, const char *key, const int *v) {
    int32_t all[LAYERS];
    for (int i = 0; i < LAYERS; i++) all[i] = v[i];
    tl_gguf_put_i32s(w, key, all, LAYERS);
}

static void put_keys(tl_gguf_writer *w, int experts) {
    static const char *tokens[VOCAB], text[] = "abcdefghijklmnopqrstuvwxyz";
    static char room[VOCAB][2];
    for (int i = 0; i < VOCAB; i++) room[i][0] = text[i], tokens[i] = room[i];
    tl_gguf_put_str(w, "general.architecture", "made-up");
    tl_gguf_put_u32(w, "made-up.block_count", LAYERS);
    tl_gguf_put_u32(w, "made-up.embedding_length", D);
    put_ints(w, "made-up.feed_forward_length", ff);
    put_ints(w, "made-up.attention.head_count", heads);
    put_ints(w, "made-up.attention.head_count_kv", kvs);
    tl_gguf_put_u32(w, "made-up.attention.key_length", (uint32_t)hd);
    tl_gguf_put_f32(w, "made-up.attention.layer_norm_epsilon", 1e-5f);
    tl_gguf_put_f32(w, "made-up.attention.layer_norm_rms_epsilon", 1e-5f);
    if (experts) {
        tl_gguf_put_u32(w, "made-up.expert_count", EXPERTS);
        tl_gguf_put_u32(w, "made-up.expert_used_count", USED);
        tl_gguf_put_u32(w, "made-up.expert_feed_forward_length", FF_EXPERT);
        tl_gguf_put_u32(w, "made-up.expert_shared_feed_forward_length", FF_SHARED);
    }
    tl_gguf_put_str(w, "tokenizer.ggml.model", "gpt2");
    tl_gguf_put_str(w, "tokenizer.ggml.pre", "gpt-2");
    tl_gguf_put_strs(w, "tokenizer.ggml.tokens", tokens, VOCAB);
    tl_gguf_put_strs(w, "tokenizer.ggml.merges", tokens, 0);
}

/* Layer 1 has experts if experts is 1, all have if it is 2. */
static int has_experts(int experts, int layer) { return experts == 2 || (experts == 1 && layer == 1); }

static int write_file(const tl_arch *arch, int experts, const char *path, tl_error *err) {
    struct tl_model m = {.arch = arch};
    static float pool[1 << 20];
    maker k = {.w = tl_gguf_writer_new(err), .pool = pool, .state = 1};
    if (!k.w) return err->code;
    put_keys(k.w, experts);
    m.hp = (tl_hparams){.n_layers = LAYERS, .n_embd = D, .n_heads = 2, .n_kv_heads = 2, .head_dim = hd, .n_ff = 48,
                        .n_vocab = VOCAB, .parallel = arch->parallel, .n_experts = experts ? EXPERTS : 0,
                        .n_experts_used = USED, .n_ff_expert = FF_EXPERT, .n_ff_shared = experts ? FF_SHARED : 0};
    int rc = tl_hparams_set_layers(&m.hp, err);
    for (int i = 0; rc == TL_OK && i < LAYERS; i++) {
        tl_layer_hparams *l = &m.hp.layers[i];
        l->n_heads = heads[i], l->n_kv_heads = kvs[i], l->n_ff = ff[i], l->ffn = has_experts(experts, i) ? TL_BLOCK_EXPERTS : TL_BLOCK_FFN;
    }
    if (rc == TL_OK) rc = tl_blocks_build(&m, err);
    if (rc == TL_OK) tl_model_tensors(&m, &(tl_visitor){write_tensor, &k});
    if (rc == TL_OK) rc = tl_gguf_write(k.w, path, err);
    tl_blocks_free(&m);
    tl_hparams_done(&m.hp);
    tl_gguf_writer_free(k.w);
    return rc;
}

static struct tl_model *open_file(const tl_arch *arch, int level, const char *path, tl_error *err) {
    struct tl_model *m = tl_alloc_n(1, sizeof *m, "model", err);
    tl_faults f = {0};
    tl_kernels_init(&m->k, level);
    m->arch = arch;
    m->gguf = tl_gguf_open(path, 0, err);
    m->tok = m->gguf ? tl_load_tokenizer(m->gguf, err) : NULL;
    int rc = m->tok ? tl_hparams_load(m->gguf, arch, &m->hp, &f, err) : TL_E_FORMAT;
    if (rc == TL_OK && !f.n) rc = tl_bind(m, 1, &f, err);
    if (rc == TL_OK) rc = tl_faults_end(&f, path, err);
    if (rc == TL_OK) return m;
    tl_model_free(m);
    return NULL;
}

/* ---- the plain evaluation ---- */

typedef struct plain { const tl_gguf *g; const tl_arch *arch; int experts; } plain;

static const float *get(const plain *p, int layer, const char *name) {
    char full[80];
    if (layer >= 0) snprintf(full, sizeof full, "blk.%d.%s", layer, name);
    else snprintf(full, sizeof full, "%s", name);
    const tl_gguf_tensor *t = tl_gguf_tensor_find(p->g, full);
    return t ? (const float *)(const void *)t->data : NULL;
}

/* y [rows] = W x + bias; the matrix number e of a tensor. */
static void product(const plain *p, int layer, const char *name, int e, int rows, int cols, const double *x, double *y) {
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    const float *w = get(p, layer, weight), *b = get(p, layer, bias);
    CHECKF(w, "%s of layer %d", name, layer);
    for (int r = 0; w && r < rows; r++) {
        y[r] = b ? (double)b[e * rows + r] : 0;
        for (int c = 0; c < cols; c++) y[r] += (double)w[((size_t)e * (size_t)rows + (size_t)r) * (size_t)cols + (size_t)c] * x[c];
    }
}

static void rms(double *y, const double *x, const float *w, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    for (int i = 0; i < n; i++) y[i] = x[i] / sqrt(sum / n + 1e-5) * (double)w[i];
}

/* The norm of that name, else the other, else x itself. */
static void norm(const plain *p, int layer, const char *name, const char *other, const double *x, double *y) {
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "%s.weight", name);
    if (!get(p, layer, weight) && other) name = other, snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    const float *w = get(p, layer, weight), *b = get(p, layer, bias);
    double in[D], mean = 0, var = 0;
    for (int i = 0; i < D; i++) in[i] = x[i], mean += x[i] / D;
    for (int i = 0; i < D; i++) var += (x[i] - mean) * (x[i] - mean) / D;
    if (!w) memmove(y, in, sizeof in);
    else if (b) for (int i = 0; i < D; i++) y[i] = (in[i] - mean) / sqrt(var + 1e-5) * (double)w[i] + (double)b[i];
    else rms(y, in, w, D);
}

static void rotate(double *x, int pos) {
    for (int i = 0; i < hd / 2; i++) {
        double angle = pos * pow(10000, -2.0 * i / hd), a = x[i], b = x[i + hd / 2];
        x[i] = a * cos(angle) - b * sin(angle);
        x[i + hd / 2] = a * sin(angle) + b * cos(angle);
    }
}

static void attention(const plain *p, int layer, double x[N][D], double y[N][D]) {
    static double q[N][4 * HD_MAX], k[N][2 * HD_MAX], v[N][2 * HD_MAX];
    int H = heads[layer], KV = kvs[layer];
    for (int t = 0; t < N; t++) {
        product(p, layer, "attn_q", 0, H * hd, D, x[t], q[t]);
        product(p, layer, "attn_k", 0, KV * hd, D, x[t], k[t]);
        product(p, layer, "attn_v", 0, KV * hd, D, x[t], v[t]);
        for (int h = 0; h < H + KV; h++) {
            double *head = h < H ? q[t] + h * hd : k[t] + (h - H) * hd;
            if (p->arch->qk_norm) rms(head, head, get(p, layer, h < H ? "attn_q_norm.weight" : "attn_k_norm.weight"), hd);
            rotate(head, t);
        }
    }
    for (int t = 0; t < N; t++) {
        double out[4 * HD_MAX] = {0};
        for (int h = 0; h < H; h++) {
            int kv = h / (H / KV);
            double e[N], sum = 0;
            for (int s = 0; s <= t; s++) {
                double dot = 0;
                for (int i = 0; i < hd; i++) dot += q[t][h * hd + i] * k[s][kv * hd + i];
                sum += e[s] = exp(dot / sqrt(hd));
            }
            for (int s = 0; s <= t; s++)
                for (int i = 0; i < hd; i++) out[h * hd + i] += e[s] / sum * v[s][kv * hd + i];
        }
        product(p, layer, "attn_output", 0, D, H * hd, out, y[t]);
    }
}

static void feed_forward(const plain *p, int layer, const char *suffix, int e, int width, const double *x, double *y) {
    char gate[32], up[32], down[32];
    double g[80] = {0}, u[80];
    snprintf(gate, sizeof gate, "ffn_gate%s", suffix);
    snprintf(up, sizeof up, "ffn_up%s", suffix);
    snprintf(down, sizeof down, "ffn_down%s", suffix);
    int kind = p->arch->ffn, gated = tl_ffn_types[kind].gated;
    if (gated) product(p, layer, gate, e, width, D, x, g);
    product(p, layer, up, e, width, D, x, u);
    for (int i = 0; i < width; i++) u[i] = ffn_forms[kind].of(gated ? g[i] : u[i], u[i]);
    product(p, layer, down, e, D, width, u, y);
}

static void experts_of(const plain *p, int layer, const double *x, double *y) {
    double logit[EXPERTS], out[D], sum = 0;
    int lowest = 0;
    product(p, layer, "ffn_gate_inp", 0, EXPERTS, D, x, logit);
    for (int e = 1; e < EXPERTS; e++)
        if (logit[e] < logit[lowest]) lowest = e;
    for (int e = 0; e < EXPERTS; e++) sum += e == lowest ? 0 : exp(logit[e]);
    feed_forward(p, layer, "_shexp", 0, FF_SHARED, x, y);   /* without a router of its own: a weight of 1 */
    for (int e = 0; e < EXPERTS; e++) {
        if (e == lowest) continue;
        feed_forward(p, layer, "_exps", e, FF_EXPERT, x, out);
        for (int i = 0; i < D; i++) y[i] += exp(logit[e]) / sum * out[i];
    }
}

static void evaluate(const plain *p, double logits[N][VOCAB]) {
    static double x[N][D], in[N][D], att[N][D], y[N][D];
    const float *embd = get(p, -1, "token_embd.weight");
    for (int t = 0; t < N; t++)
        for (int i = 0; i < D; i++) x[t][i] = (double)embd[ids[t] * D + i];
    for (int l = 0; l < LAYERS; l++) {
        for (int t = 0; t < N; t++) norm(p, l, "attn_norm", NULL, x[t], in[t]);
        attention(p, l, in, att);
        for (int t = 0; t < N; t++) {
            double half[D], mid[D];
            if (p->arch->post_norms) norm(p, l, "post_attention_norm", NULL, att[t], att[t]);
            for (int i = 0; i < D; i++) mid[i] = x[t][i] + att[t][i];
            norm(p, l, "ffn_norm", p->arch->parallel ? "attn_norm" : NULL, p->arch->parallel ? x[t] : mid, half);
            if (has_experts(p->experts, l)) experts_of(p, l, half, y[t]);
            else feed_forward(p, l, "", 0, ff[l], half, y[t]);
            if (p->arch->post_norms) norm(p, l, "post_ffw_norm", NULL, y[t], y[t]);
            for (int i = 0; i < D; i++) x[t][i] = mid[i] + y[t][i];
        }
    }
    for (int t = 0; t < N; t++) {
        norm(p, -1, "output_norm", NULL, x[t], x[t]);
        product(p, -1, "output", 0, VOCAB, D, x[t], logits[t]);
    }
}

/* ---- comparison ---- */

/* bound: of the difference, relative to the largest logit. */
static void compare(const tl_arch *arch, int experts, int level, int kv_type, double bound) {
    char path[] = "/tmp/tl_blocks_XXXXXX", what[240];
    tl_error err = {0};
    FILE *f = fdopen(mkstemp(path), "wb");
    if (f) fclose(f);
    snprintf(what, sizeof what, "heads of %d, level %d, cache %d, pre %d one %d post %d parallel %d layer norm %d qk norm %d bias %d ffn %d experts %d", hd, level, kv_type, !arch->no_pre_norms,
             (arch->usual & TL_USUAL_ONE_NORM) != 0, arch->post_norms, arch->parallel, arch->layer_norm, arch->qk_norm,
             arch->bias, arch->ffn, experts);
    int rc = write_file(arch, experts, path, &err);
    struct tl_model *m = rc == TL_OK ? open_file(arch, level, path, &err) : NULL;
    CHECKF(m, "%s: %s", what, err.text);
    for (int threads = 1; m && threads <= 3; threads++) {
        tl_session_options o = {.n_ctx = 16, .n_threads = threads, .kv_type = kv_type, .n_batch = threads == 2 ? 2 : 0};
        tl_session *s = tl_session_new(m, &o, &err);
        uint8_t want[N] = {1, 1, 1, 1, 1, 1};
        double logits[N][VOCAB], worst = 0, size = 0;
        rc = s ? tl_session_eval(s, &(tl_batch){.n = N, .token = ids, .want = want}, &err) : err.code;
        CHECKF(rc == TL_OK, "%s: %s", what, err.text);
        evaluate(&(plain){m->gguf, arch, experts}, logits);
        for (int t = 0; rc == TL_OK && t < N; t++)
            for (int i = 0; i < VOCAB; i++) {
                worst = fmax(worst, fabs((double)tl_session_logits(s, t)[i] - logits[t][i]));
                size = fmax(size, fabs(logits[t][i]));
            }
        CHECKF(worst <= bound * (1 + size), "%s, %d threads: differs by %g of %g", what, threads, worst, size);
        tl_session_free(s);
    }
    tl_model_free(m);
    remove(path);
}

static void every_combination(void) {
    for (int bits = 0; bits < 64; bits++)
        for (int experts = 0; experts < 3; experts++) {
            tl_arch arch = {.name = "made-up", .rope_kind = TL_ROPE_NEOX, .keys = TL_KEY_EXPERTS, .no_pre_norms = bits & 1,
                            .post_norms = bits >> 1 & 1, .parallel = bits >> 2 & 1, .layer_norm = bits >> 3 & 1,
                            .qk_norm = bits >> 4 & 1 ? TL_QK_NORM_HEAD : 0, .usual = bits >> 5 & 1 ? TL_USUAL_ONE_NORM : 0};
            compare(&arch, experts, 0, TL_KV_TYPE_F32, 2e-5);
        }
}

/* Dense and in experts, with biases and without. */
static void every_feed_forward(void) {
    for (int ffn = 0; ffn < TL_N_FFN; ffn++)
        for (int bias = 0; bias <= TL_BIAS_ALL; bias += TL_BIAS_ALL)
            for (int experts = 0; experts < 3; experts++) {
                tl_arch arch = {.name = "made-up", .rope_kind = TL_ROPE_NEOX, .keys = TL_KEY_EXPERTS, .ffn = ffn, .bias = bias};
                compare(&arch, experts, 0, TL_KV_TYPE_F32, 2e-5);
            }
}

/* Heads of any size, at every level, in every type of cache. */
static void every_head_size(void) {
    static const int sizes[] = {2, 10, 20, 36, 40, 48, 72, 80, 90, 100};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int level = 0; level <= tl_level_best(); level++)
            for (int type = 0; type < TL_N_KV; type++) {
                tl_arch arch = {.name = "made-up", .rope_kind = TL_ROPE_NEOX, .qk_norm = TL_QK_NORM_HEAD};
                hd = sizes[i];
                /* Codes meet queries that are codes, too. */
                compare(&arch, 0, level, type, 2e-5 + 8 * kv_forms[type].error + (kv_forms[type].bits ? 0.03 : 0));
            }
    hd = 16;
}

int main(void) {
    RUN(every_combination);
    RUN(every_feed_forward);
    RUN(every_head_size);
    return tl_test_end();
}
