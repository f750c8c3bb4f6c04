/* SPDX-License-Identifier: MIT
 *
 * tokenizer.c: the functions of text.h: makes a tokenizer, takes special tokens out of a text and gives the rest to the
 * model (bpe.c, spm.c), and turns ids back into bytes.
 *
 * Special tokens: at every position the longest one wins. User-defined ones are found in every text, control and
 * unknown ones only with TL_PARSE_SPECIAL or in trusted bytes, unused ones never.
 * The space SentencePiece puts in front goes to the first stretch of ordinary text, whatever special tokens stand
 * before it, and to no other; decoding takes it away from the first piece of ordinary text. */
#include <stdarg.h>
#include <string.h>
#include "base/utf8.h"
#include "text/merge.h"
#include "text/vocab.h"

static int init(tl_tokenizer *t, const tl_vocab_source *src, tl_error *err) {
    if (tl_slice_is(src->model, "gpt2")) t->model = TL_TEXT_BPE;
    else if (tl_slice_is(src->model, "llama")) t->model = TL_TEXT_SPM;
    else
        return tl_fail(err, TL_E_UNSUPPORTED, "unknown tokenizer model \"%.*s\" (there are gpt2 and llama)",
                       (int)(src->model.n < 80 ? src->model.n : 80), src->model.n ? src->model.p : "");
    int rc = tl_vocab_init(t, src, err);
    if (rc == TL_OK) rc = tl_special_init(t, err);
    if (rc == TL_OK) rc = t->model == TL_TEXT_BPE ? tl_bpe_init(t, src, err) : tl_spm_init(t, src, err);
    if (rc != TL_OK) return rc;
    int spm = t->model == TL_TEXT_SPM;
    t->add_bos = src->add_bos >= 0 ? src->add_bos : spm || t->pre->flags & TL_PRE_BOS;
    t->add_eos = src->add_eos > 0;
    if (src->add_bos > 0 && t->bos < 0) tl_tokenizer_warn(t, "texts are to begin with a BOS token, but the file names none");
    if (t->add_eos && t->eos < 0) tl_tokenizer_warn(t, "texts are to end with an EOS token, but the file names none");
    t->add_space_prefix = spm && src->add_space_prefix != 0;
    return TL_OK;
}

tl_tokenizer *tl_tokenizer_new(const tl_vocab_source *src, tl_error *err) {
    tl_tokenizer *t = tl_alloc_n(1, sizeof *t, "the tokenizer", err);
    if (t && init(t, src, err) != TL_OK) {
        tl_tokenizer_free(t);
        t = NULL;
    }
    return t;
}

void tl_tokenizer_free(tl_tokenizer *t) {
    if (!t) return;
    tl_buf_free(&t->warning);
    tl_free(t->text);
    tl_free(t->at);
    tl_free(t->type);
    tl_free(t->score);
    tl_free_big(t->slot, ((size_t)t->slot_mask + 1) * 2 * sizeof *t->slot);
    tl_special_done(t);
    tl_free_big(t->merge, ((size_t)t->merge_mask + 1) * sizeof *t->merge);
    tl_free(t->joint);
    tl_free(t);
}

void tl_sink_put(tl_sink *s, int32_t id) {
    if (s->bos >= 0) {
        int32_t bos = s->bos;
        s->bos = -1;
        if (id != bos) tl_sink_put(s, bos);
    }
    if (s->n < s->cap) s->ids[s->n] = id;
    s->n++;
    s->last = id;
}

static int is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Ordinary text [start, end). */
static int encode_text(const tl_tokenizer *t, tl_merger *m, const char *start, const char *end, int *prefix, tl_sink *out,
                       tl_error *err) {
    if (start >= end) return TL_OK;
    size_t n = (size_t)(end - start);
    int with_prefix = *prefix;
    *prefix = 0;
    return t->model == TL_TEXT_BPE ? tl_bpe_encode(t, m, start, n, out, err) : tl_spm_encode(t, m, start, n, with_prefix, out, err);
}

/* The text between and around special tokens, of which found holds all that could be taken. */
static int encode_all(const tl_tokenizer *t, const char *text, size_t len, const tl_found_list *found, tl_sink *out, tl_error *err) {
    tl_merger m = {0};
    const char *start = text, *end = text + len;   /* start: of what is not done */
    int rc = TL_OK, prefix = t->add_space_prefix;
    for (size_t i = found->n; i-- > 0 && rc == TL_OK;) {
        const tl_special *s = &t->special[found->v[i].special];
        const char *p = text + found->v[i].at, *before = p;
        if (p < start) continue;   /* inside the one before */
        while (s->strip & TL_STRIP_BEFORE && before > start && is_space(before[-1])) before--;
        rc = encode_text(t, &m, start, before, &prefix, out, err);
        if (rc == TL_OK) tl_sink_put(out, s->id);
        for (start = p + s->len; s->strip & TL_STRIP_BEHIND && start < end && is_space(*start);) start++;
    }
    if (rc == TL_OK) rc = encode_text(t, &m, start, end, &prefix, out, err);
    tl_merger_free(&m);
    return rc;
}

int tl_tokenizer_encode(const tl_tokenizer *t, const char *text, size_t len, const char *trust, int flags, int32_t *ids, int cap,
                        tl_error *err) {
    if (len > INT32_MAX / 4)
        return tl_fail(err, TL_E_ARGUMENT, "text of %zu bytes is too long to tokenize at once", len);
    tl_sink out = {.ids = ids, .cap = ids ? cap : 0, .bos = -1, .last = -1};
    tl_found_list found = {0};
    int add = flags & TL_ADD_BOS;
    if (add && t->add_bos) out.bos = t->bos;
    int rc = tl_special_find(t, text, len, trust, (flags & TL_PARSE_SPECIAL) != 0, &found, err);
    if (rc == TL_OK) rc = encode_all(t, text, len, &found, &out, err);
    tl_free(found.v);
    if (rc != TL_OK) return rc;
    if (out.bos >= 0) tl_sink_put(&out, out.bos);
    if (add && t->add_eos && t->eos >= 0 && out.last != t->eos) tl_sink_put(&out, t->eos);
    return (int)out.n;
}

/* ---- ids to text ------------------------------------------------------------------------------------------------- */

/* Appends to out[cap]; counts what does not fit. */
typedef struct writer { char *out; size_t cap, n; } writer;

static void put(writer *w, const char *p, size_t n) {
    if (w->n < w->cap) memcpy(w->out + w->n, p, n < w->cap - w->n ? n : w->cap - w->n);
    w->n += n;
}

/* Bytes of a piece of byte-level BPE. A character that stands for no byte is kept as it is. */
static void put_bpe(writer *w, const char *p, uint32_t n) {
    for (uint32_t i = 0; i < n;) {
        int32_t cp;
        size_t len = tl_utf8_next(p + i, n - i, &cp);
        int byte = tl_bpe_byte(cp);
        char c = (char)byte;
        if (byte >= 0) put(w, &c, 1);
        else put(w, p + i, len);
        i += (uint32_t)len;
    }
}

static void put_spm(writer *w, const char *p, uint32_t n) {
    uint32_t from = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (n - i < 3 || memcmp(p + i, TL_SPM_SPACE, 3) != 0) continue;
        put(w, p + from, i - from);
        put(w, " ", 1);
        i += 2;
        from = i + 1;
    }
    put(w, p + from, n - from);
}

/* drop_space: without the space the piece starts with. */
static void put_token(const tl_tokenizer *t, uint32_t id, int special, int drop_space, writer *w) {
    uint32_t n;
    const char *p = tl_piece_at(t, id, &n);
    uint8_t type = t->type[id];
    if (!tl_is_text(t, id)) {
        if (special) put(w, p, n);
    } else if (t->model == TL_TEXT_BPE) {
        if (type == TL_TOK_NORMAL) put_bpe(w, p, n);
        else put(w, p, n);
    } else if (type == TL_TOK_BYTE) {
        int byte = tl_spm_byte(p, n);
        char c = (char)byte;
        if (byte >= 0) put(w, &c, 1);
    } else {
        uint32_t skip = drop_space && n >= 3 && memcmp(p, TL_SPM_SPACE, 3) == 0 ? 3 : 0;
        put_spm(w, p + skip, n - skip);
    }
}

int tl_tokenizer_token_text(const tl_tokenizer *t, int32_t id, char *out, int cap) {
    writer w = {.out = out, .cap = cap > 0 ? (size_t)cap : 0};
    if (id >= 0 && (uint32_t)id < t->n) put_token(t, (uint32_t)id, 0, 0, &w);
    return (int)w.n;
}

size_t tl_tokenizer_decode(const tl_tokenizer *t, const int32_t *ids, int n, int special, char *out, size_t cap) {
    writer w = {.out = out, .cap = out ? cap : 0};
    int drop = t->add_space_prefix;
    for (int i = 0; i < n; i++) {
        if (ids[i] < 0 || (uint32_t)ids[i] >= t->n) continue;
        uint32_t id = (uint32_t)ids[i];
        put_token(t, id, special, drop, &w);
        if (t->type[id] == TL_TOK_NORMAL || t->type[id] == TL_TOK_BYTE) drop = 0;
    }
    return w.n;
}

const char *tl_tokenizer_piece(const tl_tokenizer *t, int32_t id) {
    return id >= 0 && (uint32_t)id < t->n ? t->text + t->at[id] : NULL;
}

int tl_tokenizer_is_end(const tl_tokenizer *t, int32_t id) {
    for (int i = 0; i < t->n_end; i++)
        if (t->end[i] == id) return 1;
    return 0;
}

const char *tl_tokenizer_warning(const tl_tokenizer *t) { return t->warning.p; }

void tl_tokenizer_warn(tl_tokenizer *t, const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(text, sizeof text, fmt, ap) < 0) text[0] = 0;
    va_end(ap);
    if (t->warning.n) tl_buf_str(&t->warning, "; ");
    tl_buf_str(&t->warning, text);
}
uint32_t tl_tokenizer_n(const tl_tokenizer *t) { return t->n; }

size_t tl_tokenizer_bytes(uint64_t n_pieces, uint64_t n_merges) {
    enum { TEXT = 8, LIMIT = UINT32_MAX / 4 };   /* bytes of a piece's text, as most vocabularies have them */
    if (n_pieces > LIMIT || n_merges > LIMIT) return 0;
    return n_pieces * (TEXT + sizeof(uint32_t) + 1 + sizeof(float)) + tl_vocab_slots(2 * n_pieces) * 2 * sizeof(uint32_t) +
           tl_vocab_slots(n_merges + n_merges / 2) * sizeof(tl_merge);
}
int32_t tl_tokenizer_bos(const tl_tokenizer *t) { return t->bos; }
int32_t tl_tokenizer_eos(const tl_tokenizer *t) { return t->eos; }
int tl_tokenizer_adds_bos(const tl_tokenizer *t) { return t->add_bos; }
