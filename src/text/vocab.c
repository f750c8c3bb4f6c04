/* SPDX-License-Identifier: MIT
 *
 * vocab.c: the pieces of a vocabulary: own copies of their bytes, and a hash table from bytes to id. Everything comes
 * from a file: duplicates, empty pieces and pieces made to collide are expected. */
#include <string.h>
#include "text/vocab.h"

enum { MAX_PROBES = 512, MAX_SEEDS = 4 };   /* an honest table of half its size stays far below 512 probes */

/* Multiply-xorshift over words of 8 bytes; a product only reaches upper bits, so they are folded down each time. */
static uint32_t hash_bytes(const char *p, size_t n, uint64_t seed) {
    uint64_t h = seed ^ n * 0x9E3779B97F4A7C15u;
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        h = (h ^ w) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
    }
    if (n) {
        uint64_t w;
        if (n >= 4) {   /* two words that may overlap */
            uint32_t a, b;
            memcpy(&a, p, 4);
            memcpy(&b, p + n - 4, 4);
            w = (uint64_t)a << 32 | b;
        } else {
            w = (uint64_t)(unsigned char)p[0] << 16 | (unsigned char)p[n / 2] << 8 | (unsigned char)p[n - 1];
        }
        h = (h ^ w) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
    }
    h *= 0xD6E8FEB86659FD93u;
    return (uint32_t)(h >> 32);
}

/* The slot that holds the piece, or the free one where it belongs; NULL after MAX_PROBES. */
static uint32_t *slot_of(const tl_tokenizer *t, const char *p, size_t n, uint32_t hash) {
    uint32_t i = hash & t->slot_mask;
    for (int probe = 0; probe < MAX_PROBES; probe++, i = (i + 1) & t->slot_mask) {
        uint32_t *s = t->slot + 2 * (size_t)i;
        if (s[1] == 0) return s;
        if (s[0] != hash) continue;
        uint32_t len;
        const char *q = tl_piece_at(t, s[1] - 1, &len);
        if (len == n && memcmp(p, q, n) == 0) return s;
    }
    return NULL;
}

int32_t tl_piece_find(const tl_tokenizer *t, const char *p, size_t n) {
    if (n == 0 || n > t->longest) return -1;
    const uint32_t *s = slot_of(t, p, n, hash_bytes(p, n, t->seed));
    return s ? (int32_t)s[1] - 1 : -1;
}

void tl_pieces_find(const tl_tokenizer *t, const tl_slice *s, int32_t *id, int n) {
    uint32_t hash[TL_FIND_MAX];
    const char *text[TL_FIND_MAX];   /* of the piece in the first slot looked at, or NULL if it cannot be it */
    for (int i = 0; i < n; i++) hash[i] = hash_bytes(s[i].p, s[i].n, t->seed);
    for (int i = 0; i < n; i++) {
        const uint32_t *slot = t->slot + 2 * (size_t)(hash[i] & t->slot_mask);
        id[i] = slot[0] == hash[i] ? (int32_t)slot[1] - 1 : -1;
    }
    for (int i = 0; i < n; i++) {
        uint32_t len;
        text[i] = id[i] >= 0 ? tl_piece_at(t, (uint32_t)id[i], &len) : NULL;
        if (text[i] && len != s[i].n) text[i] = NULL;
    }
    for (int i = 0; i < n; i++)
        if (!text[i] || memcmp(text[i], s[i].p, s[i].n) != 0) id[i] = tl_piece_find(t, s[i].p, s[i].n);
}

/* Enters all pieces; 0 if they collide too much with this seed. Ordinary text first: it wins over others of the same
 * spelling. */
static int fill_slots(tl_tokenizer *t, uint32_t *doubles) {
    *doubles = 0;
    for (int text = 1; text >= 0; text--) {
        for (uint32_t id = 0; id < t->n; id++) {
            uint32_t len;
            const char *p = tl_piece_at(t, id, &len);
            if (len == 0 || tl_is_text(t, id) != text) continue;
            uint32_t hash = hash_bytes(p, len, t->seed), *s = slot_of(t, p, len, hash);
            if (!s) return 0;
            if (s[1]) {
                ++*doubles;
                continue;
            }
            s[0] = hash;
            s[1] = id + 1;
        }
    }
    return 1;
}

static int make_slots(tl_tokenizer *t, tl_error *err) {
    const size_t n = tl_vocab_slots(2 * (size_t)t->n);
    t->slot_mask = (uint32_t)(n - 1);
    t->slot = tl_alloc_big(n * 2 * sizeof *t->slot, "the table of pieces", err);
    uint32_t doubles;
    if (!t->slot) return TL_E_MEMORY;
    for (int i = 1; i <= MAX_SEEDS; i++) {
        t->seed = (uint64_t)i * 0xA0761D6478BD642Fu;
        if (fill_slots(t, &doubles)) {
            if (doubles) tl_tokenizer_warn(t, "%u token%s the same text as another", doubles, doubles == 1 ? " has" : "s have");
            return TL_OK;
        }
        memset(t->slot, 0, n * 2 * sizeof *t->slot);
    }
    return tl_fail(err, TL_E_FORMAT, "the vocabulary's pieces are made to collide in a hash table");
}

static int copy_pieces(tl_tokenizer *t, const tl_vocab_source *src, tl_error *err) {
    size_t total = 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (!tl_add_size(total, src->pieces[i].n, &total) || !tl_add_size(total, 1, &total) || total >= UINT32_MAX)
            return tl_fail(err, TL_E_UNSUPPORTED, "the vocabulary has more than 4 GB of text");
    t->text = tl_alloc_n(total, 1, "the vocabulary", err);
    t->at = tl_alloc_n((size_t)t->n + 1, sizeof *t->at, "the vocabulary", err);
    t->type = tl_alloc_n(t->n, 1, "the vocabulary", err);
    if (!t->text || !t->at || !t->type) return TL_E_MEMORY;
    uint32_t at = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        tl_slice s = src->pieces[i];
        if (s.n) memcpy(t->text + at, s.p, s.n);
        t->at[i] = at;
        at += (uint32_t)s.n + 1;
        if (s.n > t->longest) t->longest = (uint32_t)s.n;
        int32_t type = src->types ? src->types[i] : TL_TOK_NORMAL;
        if (type < 0 || type > TL_TOK_BYTE)
            return tl_fail(err, TL_E_FORMAT, "token %u has the unknown type %d", i, type);
        t->type[i] = (uint8_t)(type ? type : TL_TOK_NORMAL);   /* 0: not set */
    }
    t->at[t->n] = at;
    return TL_OK;
}

static int check_id(const tl_tokenizer *t, int32_t id, const char *what, tl_error *err) {
    if (id >= -1 && (id < 0 || (uint32_t)id < t->n)) return TL_OK;
    return tl_fail(err, TL_E_FORMAT, "%s token %d is outside the vocabulary of %u", what, id, t->n);
}

/* Tokens that end a text or a turn in published chat formats, for files that name only one of them. */
static const char *const end_names[] = {
    "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>",
    "<end_of_turn>", "<|end_of_turn|>", "<|END_OF_TURN_TOKEN|>", "<|EOT|>", "<|eot|>", "</s>", "<eos>", "<EOT>",
    "<\xEF\xBD\x9C\x65nd\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>"   /* <|end_of_sentence|> in full-width bars */
};

/* Vocabularies of answers in several messages have tokens for the answer's end and for a call, and <|end|> ends a message
 * only: the rule that llama.cpp goes by. */
static int ends_messages_only(const tl_tokenizer *t, int32_t id) {
    uint32_t n;
    const char *p = tl_piece_at(t, (uint32_t)id, &n);
    return tl_slice_is((tl_slice){p, n}, "<|end|>") && tl_piece_find(t, "<|return|>", 10) >= 0 && tl_piece_find(t, "<|call|>", 8) >= 0;
}

static void add_end(tl_tokenizer *t, int32_t id) {
    if (id < 0 || t->n_end == TL_MAX_ENDS || ends_messages_only(t, id)) return;
    for (int i = 0; i < t->n_end; i++)
        if (t->end[i] == id) return;
    t->end[t->n_end++] = id;
}

int tl_vocab_init(tl_tokenizer *t, const tl_vocab_source *src, tl_error *err) {
    if (src->n == 0) return tl_fail(err, TL_E_FORMAT, "the vocabulary is empty");
    if (src->n > INT32_MAX / 2) return tl_fail(err, TL_E_UNSUPPORTED, "a vocabulary of %u tokens is too large", src->n);
    t->n = src->n;
    int rc = check_id(t, src->bos, "bos", err);
    if (rc == TL_OK) rc = check_id(t, src->eos, "eos", err);
    if (rc == TL_OK) rc = check_id(t, src->eot, "eot", err);
    if (rc == TL_OK) rc = check_id(t, src->eom, "eom", err);
    if (rc == TL_OK) rc = check_id(t, src->unk, "unknown", err);
    if (rc == TL_OK) rc = copy_pieces(t, src, err);
    if (rc == TL_OK) rc = make_slots(t, err);
    if (rc != TL_OK) return rc;

    t->bos = src->bos;
    t->eos = src->eos;
    t->unk = src->unk;
    for (uint32_t i = 0; i < t->n && t->unk < 0; i++)
        if (t->type[i] == TL_TOK_UNKNOWN) t->unk = (int32_t)i;
    add_end(t, src->eos);
    add_end(t, src->eot);
    add_end(t, src->eom);
    for (size_t i = 0; i < sizeof end_names / sizeof end_names[0]; i++) {
        int32_t id = tl_piece_find(t, end_names[i], strlen(end_names[i]));
        if (id >= 0 && t->type[id] == TL_TOK_CONTROL) add_end(t, id);
    }
    return TL_OK;
}
