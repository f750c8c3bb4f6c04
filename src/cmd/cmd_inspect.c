/* SPDX-License-Identifier: MIT
 *
 * cmd_inspect.c: shows what is in a GGUF file, as a page for people or as JSON. Works on anything the reader takes:
 * models of unknown architectures, vocabularies without tensors, single parts of a split model. Text from the file is
 * shown with its control characters escaped. */
#include <math.h>
#include <string.h>
#include "cmd/cmd.h"
#include "cmd/term.h"
#include "model/facts.h"
#include "perf/perf.h"

typedef struct inspect_args { int tensors, kv, json; int64_t ctx; } inspect_args;

#define AT(member) offsetof(inspect_args, member)
static const tl_opt options[] = {
    {"-c,--ctx", "N", TL_OPT_INT, AT(ctx), 1, 1 << 30,
     "context to count memory for; default: the trained one, at most 4096"},
    {"--tensors", NULL, TL_OPT_FLAG, AT(tensors), 0, 0, "list the tensors"},
    {"--kv", NULL, TL_OPT_FLAG, AT(kv), 0, 0, "list the metadata; with --json: arrays in full"},
    {"--json", NULL, TL_OPT_FLAG, AT(json), 0, 0, "one JSON object"},
    {0},
};

static const char *const type_names[TL_GGUF_N_TYPES] = {"u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "str",
                                                        "array", "u64", "i64", "f64"};
#define SHOWN_ITEMS 6        /* of an array */
#define SHOWN_BYTES 100      /* of a string on the page */
#define JSON_ITEMS 64        /* longer arrays are in JSON only with --kv */

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* A text of the file, without control characters, cut after the character at SHOWN_BYTES. */
static void add_text(tl_buf *b, tl_slice s) {
    size_t n = s.n < SHOWN_BYTES ? s.n : SHOWN_BYTES;
    for (int i = 0; i < 3 && n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80; i++) n++;
    tl_term_escape(b, s.p, n, "");
    if (n < s.n) tl_buf_str(b, "...");
}

/* 105 454 432 */
static void add_grouped(tl_buf *b, int64_t v) {
    char digits[32];
    int n = snprintf(digits, sizeof digits, "%lld", (long long)v);
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) tl_buf_str(b, " ");
        tl_buf_add(b, &digits[i], 1);
    }
}

static const char *bytes_text(char out[32], int64_t v) { return v < 0 ? "unknown" : tl_bytes_text(out, (double)v); }

static const char *count_text(char out[32], int64_t v) {
    static const char *const units[] = {"", "thousand", "million", "billion", "trillion", NULL};
    return tl_scaled_text(out, (double)v, 1000, units);
}

static void label(tl_buf *b, const char *name) { tl_buf_fmt(b, "%-20s", name); }

static void line_count(tl_buf *b, const char *name, int64_t v, const char *more) {
    label(b, name);
    if (v < 0) tl_buf_str(b, "unknown");
    else add_grouped(b, v);
    tl_buf_fmt(b, "%s\n", v < 0 ? "" : more);
}

static void line_bytes(tl_buf *b, const char *name, int64_t v, const char *more) {
    char text[32];
    label(b, name);
    tl_buf_fmt(b, "%s%s\n", bytes_text(text, v), v < 0 ? "" : more);
}

static void line_text(tl_buf *b, const char *name, tl_slice s) {
    label(b, name);
    if (s.p) add_text(b, s);
    else tl_buf_str(b, "unknown");
    tl_buf_str(b, "\n");
}

/* ---- metadata values --------------------------------------------------------------------------------------------- */

static tl_slice string_at(const uint8_t **p) {
    uint64_t n;
    memcpy(&n, *p, 8);
    tl_slice s = {(const char *)*p + 8, (size_t)n};
    *p += 8 + n;
    return s;
}

static void add_scalar(tl_buf *b, const tl_gguf_kv *kv, enum tl_gguf_type type, uint64_t i) {
    if (type == TL_GGUF_F32 || type == TL_GGUF_F64) tl_buf_fmt(b, "%.7g", tl_gguf_num_at(kv, i));
    else if (type == TL_GGUF_BOOL) tl_buf_str(b, tl_gguf_int_at(kv, i) ? "true" : "false");
    else tl_buf_fmt(b, "%lld", (long long)tl_gguf_int_at(kv, i));
}

static void add_value(tl_buf *b, const tl_gguf_kv *kv) {
    int array = kv->type == TL_GGUF_ARR;
    enum tl_gguf_type type = array ? kv->elem : kv->type;
    const uint8_t *p = kv->data;
    if (array) tl_buf_str(b, "[");
    for (uint64_t i = 0; i < kv->n && i < SHOWN_ITEMS && type != TL_GGUF_ARR; i++) {
        if (i) tl_buf_str(b, ", ");
        if (type != TL_GGUF_STR) add_scalar(b, kv, type, i);
        else add_text(b, string_at(&p));
    }
    if (array) tl_buf_str(b, type == TL_GGUF_ARR ? "arrays]" : kv->n > SHOWN_ITEMS ? ", ...]" : "]");
}

static void page_metadata(tl_buf *b, const tl_gguf *g) {
    tl_buf_fmt(b, "\nmetadata (%llu keys)\n", (unsigned long long)g->n_kv);
    for (uint64_t i = 0; i < g->n_kv; i++) {
        const tl_gguf_kv *kv = &g->kv[i];
        size_t start = b->n;
        tl_buf_str(b, "  ");
        add_text(b, kv->key);
        int pad = 44 - (int)(b->n - start);
        tl_buf_fmt(b, "%*s", pad > 1 ? pad : 1, "");
        if (kv->type == TL_GGUF_ARR) tl_buf_fmt(b, "%s x %llu  ", type_names[kv->elem], (unsigned long long)kv->n);
        else tl_buf_fmt(b, "%-4s  ", type_names[kv->type]);
        add_value(b, kv);
        tl_buf_str(b, "\n");
    }
}

/* ---- tokenizer --------------------------------------------------------------------------------------------------- */

static const struct special { const char *name, *key; } specials[] = {
    {"bos", "tokenizer.ggml.bos_token_id"},     {"eos", "tokenizer.ggml.eos_token_id"},
    {"eot", "tokenizer.ggml.eot_token_id"},     {"eom", "tokenizer.ggml.eom_token_id"},
    {"unk", "tokenizer.ggml.unknown_token_id"}, {"pad", "tokenizer.ggml.padding_token_id"}};
enum { N_SPECIALS = sizeof specials / sizeof *specials };

static tl_slice text_key(const tl_gguf *g, const char *key) {
    tl_slice s = {0};
    tl_gguf_str(g, key, &s, NULL);
    return s;
}

/* The tokens that end a text or a turn, as the tokenizer sees them; or why it cannot be used. Having no memory says
 * nothing about the file: then there is no page. */
static void page_end_tokens(tl_buf *b, const tl_gguf *g, const tl_slice *tokens, uint64_t n) {
    tl_error err = {0};
    int shown = 0;
    tl_tokenizer *t = tl_load_tokenizer(g, &err);
    if (err.code == TL_E_MEMORY) b->failed = 1;
    else if (!t) {
        label(b, "");
        tl_buf_fmt(b, "cannot be used: %s\n", err.text);
    }
    if (!t) return;
    for (uint32_t id = 0; id < tl_tokenizer_n(t) && id < n && shown < SHOWN_ITEMS; id++) {
        if (!tl_tokenizer_is_end(t, (int32_t)id)) continue;
        label(b, shown++ ? "" : "end tokens");
        tl_buf_fmt(b, "%lu ", (unsigned long)id);
        add_text(b, tokens[id]);
        tl_buf_str(b, "\n");
    }
    const char *warning = tl_tokenizer_warning(t);
    if (warning) {
        label(b, "");
        tl_buf_fmt(b, "warning: %s\n", warning);
    }
    tl_tokenizer_free(t);
}

static void page_tokenizer(tl_buf *b, const tl_gguf *g, int has_chat_template) {
    uint64_t n = 0;
    tl_error err = {0};
    tl_slice *tokens = tl_gguf_strings(g, "tokenizer.ggml.tokens", &n, &err), pre = text_key(g, "tokenizer.ggml.pre");
    int any = 0;
    if (err.code == TL_E_MEMORY) b->failed = 1;
    line_text(b, "tokenizer", text_key(g, "tokenizer.ggml.model"));
    if (pre.p) line_text(b, "pre-tokenizer", pre);
    for (int i = 0; i < N_SPECIALS; i++) {
        int64_t id;
        if (tl_gguf_i64(g, specials[i].key, 0, UINT32_MAX, &id, NULL) != 1) continue;
        label(b, any++ ? "" : "special tokens");
        tl_buf_fmt(b, "%s %lld ", specials[i].name, (long long)id);
        if ((uint64_t)id < n) add_text(b, tokens[id]);
        else tl_buf_str(b, "(not in the vocabulary)");
        tl_buf_str(b, "\n");
    }
    if (tokens) page_end_tokens(b, g, tokens, n);
    line_text(b, "chat template", has_chat_template ? (tl_slice){"yes", 3} : (tl_slice){"no", 2});
    tl_free(tokens);
}

/* ---- page -------------------------------------------------------------------------------------------------------- */

static void page_file(tl_buf *b, const tl_gguf *g) {
    char text[32];
    line_text(b, "file", (tl_slice){g->path, strlen(g->path)});
    if (g->parts_expected > 1) {
        label(b, "parts");
        if (g->n_parts == g->parts_expected) tl_buf_fmt(b, "%d\n", g->n_parts);
        else tl_buf_fmt(b, "1 of %d, the others are missing: all figures are of this part alone\n", g->parts_expected);
    }
    label(b, "format");
    tl_buf_fmt(b, "GGUF version %lu, %s\n", (unsigned long)g->version, bytes_text(text, g->file_bytes));
    if (g->extra_bytes) line_count(b, "surplus", g->extra_bytes, " bytes after the last tensor, unused");
}

static void page_types(tl_buf *b, const tl_facts *f) {
    char text[32];
    if (!f->tensor_bytes) {
        tl_buf_str(b, "\nno tensors: a vocabulary or metadata only\n");
        return;
    }
    tl_buf_fmt(b, "\n%-10s%8s%14s%9s\n", "type", "tensors", "size", "share");
    for (int i = 0; i < TL_N_TYPES; i++) {
        if (!f->type_tensors[i]) continue;
        tl_buf_fmt(b, "%-10s%8lld%14s%7.1f %%\n", tl_type_info_get((uint32_t)i)->name, (long long)f->type_tensors[i],
                   bytes_text(text, f->type_bytes[i]), 100 * (double)f->type_bytes[i] / (double)f->tensor_bytes);
    }
}

static void page_model(tl_buf *b, const tl_facts *f) {
    char text[64], number[32];
    line_text(b, "architecture", f->arch);
    line_text(b, "name", f->name);
    label(b, "license");
    if (f->license.n) add_text(b, f->license);
    else tl_buf_str(b, "not given");
    tl_buf_str(b, "\n");
    label(b, "quantization");
    tl_buf_fmt(b, "%s%s\n", f->quantization_named || !*f->quantization ? "" : "mostly ", *f->quantization ? f->quantization : "none");
    snprintf(text, sizeof text, " (%s)", count_text(number, f->parameters));
    line_count(b, "parameters", f->parameters, f->parameters >= 1000 ? text : "");
    label(b, "bits per weight");
    if (f->parameters) tl_buf_fmt(b, "%.2f\n", 8 * (double)f->tensor_bytes / (double)f->parameters);
    else tl_buf_str(b, "unknown\n");
    line_count(b, "layers", f->layers, "");
    line_count(b, "embedding", f->embd, "");
    line_count(b, "feed forward", f->ff, "");
    if (f->experts > 0) {
        snprintf(text, sizeof text, ", %lld used for a token", (long long)f->experts_used);
        line_count(b, "experts", f->experts, f->experts_used > 0 ? text : "");
    }
    snprintf(text, sizeof text, " of %lld values", (long long)f->key_len);
    line_count(b, "heads", f->heads, f->key_len > 0 ? text : "");
    line_count(b, "key/value heads", f->kv_heads, "");
    line_count(b, "trained context", f->trained_ctx, "");
    line_count(b, "vocabulary", f->vocab, "");
    if (f->tied) line_text(b, "output matrix", (tl_slice){"the token embedding", 19});
}

/* 1 yes, 0 no, -1: unknown. bytes: of memory; left: what this process may still use, 0: unknown. */
static int fits(int64_t bytes, int64_t left) { return bytes < 0 || left <= 0 ? -1 : bytes <= left; }

static void page_fits(tl_buf *b, const tl_facts *f, int64_t left) {
    char text[32];
    int whole = fits(f->memory_bytes, left);
    label(b, "fits into memory");
    if (whole < 0) tl_buf_str(b, "unknown\n");
    else tl_buf_fmt(b, "%s: %s available to this process\n", whole ? "yes" : "no", bytes_text(text, left));
    if (whole || fits(f->memory_bytes - f->tensor_bytes, left) != 1) return;
    label(b, "");
    tl_buf_fmt(b, "(with --no-pack, %s beside the file)\n", bytes_text(text, f->memory_bytes - f->tensor_bytes));
}

static void page_memory(tl_buf *b, const tl_facts *f, int64_t left) {
    char text[64];
    tl_buf_str(b, "\n");
    line_bytes(b, "read per token", f->bytes_per_token, " of weights");
    label(b, "cache per position");
    if (f->kv_bytes_per_pos[0] < 0) tl_buf_str(b, "unknown");
    for (int i = 0; i < TL_N_KV && f->kv_bytes_per_pos[0] >= 0; i++)
        tl_buf_fmt(b, "%s%s (%s)", i ? ", " : "", bytes_text(text, f->kv_bytes_per_pos[i]), tl_kv_types[i].name);
    tl_buf_str(b, "\n");
    snprintf(text, sizeof text, " at a context of %lld", (long long)f->context);
    line_bytes(b, "memory needed", f->memory_bytes, text);
    line_bytes(b, "  weights", f->tensor_bytes, "");
    line_bytes(b, "  cache (f16)", f->kv_bytes, "");
    line_bytes(b, "  scratch, about", f->scratch_bytes, "");
    line_bytes(b, "  vocabulary", f->vocab_bytes, "");
    page_fits(b, f, left);
}

static void page_tensors(tl_buf *b, const tl_gguf *g) {
    char text[32];
    tl_buf_fmt(b, "\ntensors (%llu)\n", (unsigned long long)g->n_tensors);
    for (uint64_t i = 0; i < g->n_tensors; i++) {
        const tl_gguf_tensor *t = &g->tensors[i];
        size_t start = b->n;
        tl_buf_str(b, "  ");
        add_text(b, t->name);
        int pad = 44 - (int)(b->n - start);
        tl_buf_fmt(b, "%*s%-8s%12s  ", pad > 1 ? pad : 1, "", tl_type_info_get((uint32_t)t->type)->name,
                   bytes_text(text, (int64_t)t->bytes));
        for (int d = 0; d < t->n_dims; d++) tl_buf_fmt(b, "%s%lld", d ? " x " : "", (long long)t->dims[d]);
        tl_buf_str(b, "\n");
    }
}

static void page(tl_buf *b, const tl_gguf *g, const tl_facts *f, int64_t left, const inspect_args *a) {
    page_file(b, g);
    page_model(b, f);
    page_tokenizer(b, g, f->has_chat_template);
    page_types(b, f);
    page_memory(b, f, left);
    if (f->n_notes) tl_buf_str(b, "\nnotes\n");
    for (int i = 0; i < f->n_notes; i++) tl_buf_fmt(b, "  %s\n", f->notes[i]);
    if (a->kv) page_metadata(b, g);
    if (a->tensors) page_tensors(b, g);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void json_known(tl_json *j, const char *key, int64_t v) {
    if (v < 0) tl_json_cstr(j, key, NULL);
    else tl_json_i64(j, key, v);
}

static void json_text(tl_json *j, const char *key, tl_slice s) {
    if (s.p) tl_json_str(j, key, s.p, s.n);
    else tl_json_cstr(j, key, NULL);
}

static void json_item(tl_json *j, const char *key, const tl_gguf_kv *kv, enum tl_gguf_type type, uint64_t i,
                      const uint8_t **p) {
    if (type == TL_GGUF_STR) json_text(j, key, string_at(p));
    else if (type == TL_GGUF_BOOL) tl_json_bool(j, key, tl_gguf_int_at(kv, i) != 0);
    else if (type == TL_GGUF_F32 || type == TL_GGUF_F64) tl_json_num(j, key, tl_gguf_num_at(kv, i));
    else tl_json_i64(j, key, tl_gguf_int_at(kv, i));
}

/* The key's name is a JSON key of any length, so it is copied to be terminated. */
static void json_value(tl_json *j, const tl_gguf_kv *kv, int whole) {
    char *key = tl_alloc_n(kv->key.n + 1, 1, "key", NULL);
    const uint8_t *p = kv->data;
    if (!key) {
        j->out->failed = 1;
        return;
    }
    memcpy(key, kv->key.p, kv->key.n);
    if (kv->type != TL_GGUF_ARR) json_item(j, key, kv, kv->type, 0, &p);
    else if (kv->elem == TL_GGUF_ARR || (kv->n > JSON_ITEMS && !whole)) {
        tl_json_begin(j, key, '{');
        tl_json_cstr(j, "array_of", type_names[kv->elem]);
        tl_json_i64(j, "n", (int64_t)kv->n);
        tl_json_end(j, '}');
    } else {
        tl_json_begin(j, key, '[');
        for (uint64_t i = 0; i < kv->n; i++) json_item(j, NULL, kv, kv->elem, i, &p);
        tl_json_end(j, ']');
    }
    tl_free(key);
}

static void json_tensors(tl_json *j, const tl_gguf *g) {
    tl_json_begin(j, "tensors", '[');
    for (uint64_t i = 0; i < g->n_tensors; i++) {
        const tl_gguf_tensor *t = &g->tensors[i];
        tl_json_begin(j, NULL, '{');
        json_text(j, "name", t->name);
        tl_json_cstr(j, "type", tl_type_info_get((uint32_t)t->type)->name);
        tl_json_begin(j, "dims", '[');
        for (int d = 0; d < t->n_dims; d++) tl_json_i64(j, NULL, t->dims[d]);
        tl_json_end(j, ']');
        tl_json_i64(j, "bytes", (int64_t)t->bytes);
        tl_json_end(j, '}');
    }
    tl_json_end(j, ']');
}

static void json_types(tl_json *j, const tl_facts *f) {
    tl_json_begin(j, "types", '[');
    for (int i = 0; i < TL_N_TYPES; i++) {
        if (!f->type_tensors[i]) continue;
        tl_json_begin(j, NULL, '{');
        tl_json_cstr(j, "type", tl_type_info_get((uint32_t)i)->name);
        tl_json_i64(j, "tensors", f->type_tensors[i]);
        tl_json_i64(j, "bytes", f->type_bytes[i]);
        tl_json_end(j, '}');
    }
    tl_json_end(j, ']');
}

static void json(tl_buf *b, const tl_gguf *g, const tl_facts *f, int64_t left, const tl_error *refusal, const inspect_args *a) {
    int whole = fits(f->memory_bytes, left);
    tl_json j = {.out = b};
    tl_json_begin(&j, NULL, '{');
    tl_json_cstr(&j, "file", g->path);
    tl_json_i64(&j, "version", g->version);
    tl_json_i64(&j, "parts", g->n_parts);
    tl_json_i64(&j, "parts_expected", g->parts_expected);
    json_text(&j, "architecture", f->arch);
    json_text(&j, "name", f->name);
    json_text(&j, "license", f->license);
    tl_json_cstr(&j, "quantization", *f->quantization ? f->quantization : NULL);
    tl_json_bool(&j, "chat_template", f->has_chat_template);
    tl_json_i64(&j, "parameters", f->parameters);
    tl_json_num(&j, "bits_per_weight", f->parameters ? 8 * (double)f->tensor_bytes / (double)f->parameters : NAN);
    tl_json_i64(&j, "file_bytes", g->file_bytes);
    tl_json_i64(&j, "extra_bytes", g->extra_bytes);
    json_types(&j, f);
    json_known(&j, "layers", f->layers);
    json_known(&j, "embedding", f->embd);
    json_known(&j, "heads", f->heads);
    json_known(&j, "kv_heads", f->kv_heads);
    json_known(&j, "key_length", f->key_len);
    json_known(&j, "value_length", f->value_len);
    json_known(&j, "trained_context", f->trained_ctx);
    json_known(&j, "vocabulary", f->vocab);
    json_known(&j, "bytes_per_token", f->bytes_per_token);
    json_known(&j, "kv_bytes_per_position", f->kv_bytes_per_pos[0]);
    tl_json_i64(&j, "context", f->context);
    json_known(&j, "memory_bytes", f->memory_bytes);
    json_known(&j, "available_bytes", left > 0 ? left : -1);
    if (whole < 0) tl_json_cstr(&j, "fits", NULL);
    else tl_json_bool(&j, "fits", whole);
    tl_json_cstr(&j, "refused", refusal->code ? refusal->text : NULL);
    tl_json_begin(&j, "notes", '[');
    for (int i = 0; i < f->n_notes; i++) tl_json_cstr(&j, NULL, f->notes[i]);
    tl_json_end(&j, ']');
    tl_json_begin(&j, "metadata", '{');
    for (uint64_t i = 0; i < g->n_kv; i++) json_value(&j, &g->kv[i], a->kv);
    tl_json_end(&j, '}');
    if (a->tensors) json_tensors(&j, g);
    tl_json_end(&j, '}');
    tl_buf_str(b, "\n");
}

/* Why run would refuse the file, in err, and what a bound model says better, in facts. Files that claim to be no whole
 * model (metadata alone, single parts) are not judged; of a vocabulary without tensors, the settings are. */
static void judge(struct tl_model *m, tl_facts *facts, const char *path, tl_error *err) {
    const tl_gguf *g = m->gguf;
    const tl_arch *arch = tl_arch_find(facts->arch);
    if (!facts->is_model || g->n_parts < g->parts_expected) return;
    if (g->n_tensors) {
        tl_kernels_init(&m->k, 0);
        if (tl_check_model(m, 0, path, err) == TL_OK) tl_facts_of_model(facts, m);
    } else if (arch) {
        tl_faults faults = {0};
        tl_hparams_load(g, arch, &m->hp, &faults, err);
        tl_faults_end(&faults, path, err);
    }
}

/* ---- command ----------------------------------------------------------------------------------------------------- */

static int inspect(const tl_cmd *self, int argc, char **argv) {
    inspect_args a = {0};
    const char *path;
    tl_error err = {0}, refusal = {0};
    tl_facts facts;
    tl_system system;
    tl_buf out = {0};
    int code = tl_cmd_parse(self, &a, argc, argv, &path, 1, 1);
    if (code >= 0) return code;
    tl_gguf *g = tl_gguf_open(path, TL_GGUF_SINGLE, &err);
    struct tl_model *m = g ? tl_alloc_n(1, sizeof *m, "model", &err) : NULL;
    if (!m) {
        tl_gguf_free(g);
        return tl_cmd_fail(&err);
    }
    m->gguf = g;
    if (g->n_parts < g->parts_expected) tl_status("1 part of %d: the others are missing", g->parts_expected);
    tl_facts_gather(&facts, g, a.ctx);
    judge(m, &facts, path, &refusal);
    tl_system_read("/", &system);
    if (refusal.code == TL_E_MEMORY) err = refusal;   /* nothing is known of the file */
    else if (a.json) json(&out, g, &facts, system.mem_available, &refusal, &a);
    else page(&out, g, &facts, system.mem_available, &a);
    if (out.failed) tl_fail(&err, TL_E_MEMORY, "%s: out of memory for the page", path);
    if (!err.code) fwrite(out.p, 1, out.n, stdout);
    tl_buf_free(&out);
    tl_model_free(m);
    if (err.code) return tl_cmd_fail(&err);
    if (refusal.code == TL_E_UNSUPPORTED) tl_status("run would refuse this: %s", refusal.text);
    else if (refusal.code) return tl_cmd_fail(&refusal);
    return 0;
}

const tl_cmd tl_cmd_inspect = {
    .name = "inspect",
    .summary = "show what is in a model file and the memory it needs",
    .usage = "MODEL [options]",
    .examples = "  tinyllm inspect model.gguf\n"
                "  tinyllm inspect model.gguf --tensors -c 32768\n"
                "  tinyllm inspect model-00001-of-00003.gguf --json\n"
                "\n"
                "A model that run would refuse is shown all the same; the reason goes to standard error and is \"refused\" in\n"
                "JSON. If the file itself is at fault, the exit code is 1.\n",
    .opts = options,
    .run = inspect,
};
