/* SPDX-License-Identifier: MIT
 * The model part of tinyllm.h: opening, facts, tokens. */
#include "engine/session.h"
#include "sample/sample.h"
#include "model/facts.h"

#include <string.h>

const char *tl_version(void) { return TL_VERSION; }

tl_model_options tl_model_options_default(void) {
    tl_model_options o;
    memset(&o, 0, sizeof o);
    return o;
}

static char *to_text(tl_slice s, tl_error *err) {
    char *p = tl_alloc_n(s.n + 1, 1, "name", err);
    if (p && s.n) memcpy(p, s.p, s.n);
    return p;
}

static int load_weights(struct tl_model *m, const tl_model_options *o, const char *path, tl_error *err) {
    int rc = tl_check_model(m, o->exact, path, err);
    if (rc) return rc;
    m->facts = tl_model_facts(m);
    if (o->no_pack) {
        tl_pack_later(m);
        return TL_OK;
    }
    rc = tl_pack(m, tl_threads_for(o->n_threads), o->progress, o->progress_user, err);
    if (rc) tl_error_context(err, "%s", path);
    return rc;
}

static int load_vocab(struct tl_model *m, const char *path, tl_error *err) {
    if ((m->tok = tl_load_tokenizer(m->gguf, err))) return TL_OK;
    tl_error_context(err, "%s", path);
    return TL_E_FORMAT;
}

static int load(struct tl_model *m, const char *path, const tl_model_options *o, tl_error *err) {
    double start = tl_now();
    int level = tl_level_choose(o->cpu, err);
    if (level < 0) return TL_E_ARGUMENT;
    tl_kernels_init(&m->k, level);
    if (!(m->gguf = tl_gguf_open(path, 0, err))) return err ? err->code : TL_E_FORMAT;
    tl_slice arch = {0}, name = {0};
    tl_error ignored = {0};
    tl_gguf_str(m->gguf, "general.architecture", &arch, &ignored);
    tl_gguf_str(m->gguf, "general.name", &name, &ignored);
    m->arch_name = to_text(arch, err);
    m->name = to_text(name, err);
    tl_slice chat = {0};
    int has_chat = tl_gguf_str(m->gguf, "tokenizer.chat_template", &chat, &ignored) > 0;
    if (has_chat) m->chat_template = to_text(chat, err);
    if (!m->arch_name || !m->name || (has_chat && !m->chat_template)) return TL_E_MEMORY;
    int rc = o->vocab_only ? load_vocab(m, path, err) : load_weights(m, o, path, err);
    m->load_seconds = tl_now() - start;
    return rc;
}

tl_model *tl_model_open(const char *path, const tl_model_options *options, tl_error *err) {
    if (!path) { tl_null(err, "path"); return NULL; }
    tl_model_options o = options ? *options : tl_model_options_default();
    tl_error local = {0};
    tl_error *e = err ? err : &local;
    struct tl_model *m = tl_alloc_n(1, sizeof *m, "model", e);
    if (m && load(m, path, &o, e)) {
        tl_model_free(m);
        m = NULL;
    }
    return m;
}

void tl_model_free(tl_model *m) {
    if (!m) return;
    tl_pack_done(m);
    tl_check_done(m);
    tl_free(m->name);
    tl_free(m->arch_name);
    tl_free(m->chat_template);
    tl_gguf_free(m->gguf);
    tl_free(m);
}

tl_model_info tl_model_get_info(const tl_model *m) {
    if (!m) return (tl_model_info){.arch = "", .name = "", .cpu = ""};
    const tl_hparams *hp = &m->hp;
    return (tl_model_info){
        .arch = m->arch_name, .name = m->name, .cpu = m->k.level,
        .n_layers = hp->n_layers, .n_embd = hp->n_embd, .n_heads = hp->n_heads, .n_kv_heads = hp->n_kv_heads,
        .n_vocab = m->arch ? hp->n_vocab : (int)tl_tokenizer_n(m->tok), .n_ctx_train = hp->n_ctx_train,
        .n_params = m->n_params, .file_bytes = m->gguf->file_bytes, .bytes_per_token = m->bytes_per_token,
        .kv_bytes_per_pos = tl_model_kv_bytes(m, &m->k.kv[TL_KV_TYPE_F16]), .load_seconds = m->load_seconds,
    };
}

const char *tl_model_chat_template(const tl_model *m) { return m ? m->chat_template : NULL; }
const char *tl_model_warning(const tl_model *m) { return m ? tl_tokenizer_warning(m->tok) : NULL; }

int tl_tokenize(const tl_model *m, const char *text, size_t len, int flags, int32_t *ids, int cap, tl_error *err) {
    if (!m) return tl_null(err, "model");
    if (!text && len) return tl_null(err, "text");
    if (!ids && cap > 0) return tl_null(err, "room for ids");
    return tl_tokenizer_encode(m->tok, text ? text : "", len, NULL, flags, ids, cap, err);
}
int tl_token_text(const tl_model *m, int32_t id, char *out, int cap) {
    return m ? tl_tokenizer_token_text(m->tok, id, out, out ? cap : 0) : 0;
}
size_t tl_detokenize(const tl_model *m, const int32_t *ids, int n, int special, char *out, size_t cap) {
    return m && ids ? tl_tokenizer_decode(m->tok, ids, n, special, out, cap) : 0;
}
const char *tl_token_piece(const tl_model *m, int32_t id) { return m ? tl_tokenizer_piece(m->tok, id) : NULL; }
int tl_token_is_end(const tl_model *m, int32_t id) { return m && tl_tokenizer_is_end(m->tok, id); }
int32_t tl_token_bos(const tl_model *m) { return m ? tl_tokenizer_bos(m->tok) : -1; }
int32_t tl_token_eos(const tl_model *m) { return m ? tl_tokenizer_eos(m->tok) : -1; }
int tl_adds_bos(const tl_model *m) { return m && tl_tokenizer_adds_bos(m->tok); }

static int text_of(const void *model, int32_t id, char *out, int cap) { return tl_token_text(model, id, out, cap); }

tl_sampler *tl_sampler_new(const tl_model *m, const tl_sampler_options *options, tl_error *err) {
    if (!m) { tl_null(err, "model"); return NULL; }
    tl_sampler *s = tl_sampler_create(m->arch ? m->hp.n_vocab : (int)tl_tokenizer_n(m->tok), options, err);
    if (!s || tl_sampler_set_texts(s, text_of, m, err) == TL_OK) return s;
    tl_sampler_free(s);
    return NULL;
}
