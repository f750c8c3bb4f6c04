/* SPDX-License-Identifier: MIT
 *
 * spm.c: SentencePiece of kind BPE (Kudo and Richardson 2018), as models with "tokenizer.ggml.model" = "llama" use it.
 * Spaces become U+2581; symbols start as characters, and of all neighbours that together are a piece the pair with the
 * highest score is joined, the leftmost of equals. Characters that are no piece come out byte by byte.
 *
 * A text is first cut where no join can ever happen: between two characters that are neighbours in no piece. That keeps
 * the merge loop within a word nearly always, and changes no result. */
#include <string.h>
#include "base/utf8.h"
#include "text/merge.h"
#include "text/vocab.h"

enum { JOINT_BITS = 20 };

/* Place of a pair of characters in the bit set t->joint; different pairs may share one, which only costs time. */
static uint32_t joint_of(int32_t a, int32_t b) {
    uint64_t h = ((uint64_t)(uint32_t)a << 21 | (uint32_t)b) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> (64 - JOINT_BITS));
}

/* The character at p; bytes that are none count one by one, as 0x110000 and up. */
static size_t next_char(const char *p, size_t n, int32_t *cp) {
    size_t len = tl_utf8_next(p, n, cp);
    if (*cp >= 0) return len;
    *cp = 0x110000 + (unsigned char)*p;
    return 1;
}

static void add_joints(tl_tokenizer *t, const char *p, size_t n) {
    int32_t before, cp;
    for (size_t i = next_char(p, n, &before); i < n; before = cp) {
        i += next_char(p + i, n - i, &cp);
        uint32_t at = joint_of(before, cp);
        t->joint[at / 64] |= (uint64_t)1 << at % 64;
    }
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int tl_spm_byte(const char *p, size_t n) {
    if (n != 6 || memcmp(p, "<0x", 3) != 0 || p[5] != '>' || hex(p[3]) < 0 || hex(p[4]) < 0) return -1;
    return hex(p[3]) << 4 | hex(p[4]);
}

int tl_spm_init(tl_tokenizer *t, const tl_vocab_source *src, tl_error *err) {
    if (!src->scores) return tl_fail(err, TL_E_FORMAT, "the vocabulary has no scores, which this tokenizer needs");
    t->score = tl_alloc_n(t->n, sizeof *t->score, "the vocabulary", err);
    t->joint = tl_alloc_n((size_t)1 << (JOINT_BITS - 6), sizeof *t->joint, "the vocabulary", err);
    if (!t->score || !t->joint) return TL_E_MEMORY;
    for (int b = 0; b < 256; b++) t->byte_id[b] = -1;
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t len;
        const char *p = tl_piece_at(t, i, &len);
        t->score[i] = src->scores[i];
        if (t->score[i] != t->score[i]) return tl_fail(err, TL_E_FORMAT, "the score of token %u is not a number", i);
        int byte = tl_spm_byte(p, len);
        if (byte >= 0 && !src->types) t->type[i] = TL_TOK_BYTE;
        if (byte >= 0 && t->type[i] == TL_TOK_BYTE && t->byte_id[byte] < 0) t->byte_id[byte] = (int32_t)i;
        if (t->type[i] == TL_TOK_NORMAL && len) add_joints(t, p, len);
    }
    return TL_OK;
}

/* Ids of pieces that joining may produce. User-defined ones were taken out of the text before. */
static int32_t find_normal(const tl_tokenizer *t, const char *p, size_t n) {
    int32_t id = tl_piece_find(t, p, n);
    return id >= 0 && t->type[id] == TL_TOK_NORMAL ? id : -1;
}

/* Floats as integers in descending order; both zeros are one. */
static uint32_t descending(float score) {
    uint32_t u;
    score += 0.0f;
    memcpy(&u, &score, 4);
    return u >> 31 ? u : ~u & 0x7FFFFFFFu;
}

typedef struct spm_text { const tl_tokenizer *t; const char *p; } spm_text;

static uint32_t pair_score(const void *user, const tl_symbol *a, const tl_symbol *b, int32_t *id) {
    const spm_text *x = user;
    *id = find_normal(x->t, x->p + a->at, (size_t)a->len + b->len);
    return *id < 0 ? TL_NO_KEY : descending(x->t->score[*id]);
}

/* A symbol that is no piece: its bytes, or unk, once for a run of them, where a byte has no token. */
static int put_bytes(const tl_tokenizer *t, const char *p, uint32_t n, tl_sink *out, tl_error *err) {
    uint32_t have = 0;
    while (have < n && t->byte_id[(unsigned char)p[have]] >= 0) have++;
    if (have == n) {
        for (uint32_t i = 0; i < n; i++) tl_sink_put(out, t->byte_id[(unsigned char)p[i]]);
    } else if (t->unk >= 0) {
        if (out->last != t->unk) tl_sink_put(out, t->unk);
    } else {
        return tl_fail(err, TL_E_UNSUPPORTED, "the vocabulary has no token for byte 0x%02x and none for unknown text",
                       (unsigned char)p[have]);
    }
    return TL_OK;
}

/* Joins the symbols in m and writes what is left. */
static int finish_run(const tl_tokenizer *t, tl_merger *m, tl_sink *out, tl_error *err) {
    spm_text x = {t, m->text};
    int rc = TL_OK;
    if (m->n > 1) rc = tl_merger_run(m, pair_score, &x, err);
    else m->sym[0].next = UINT32_MAX;
    for (uint32_t i = 0; rc == TL_OK && i != UINT32_MAX; i = m->sym[i].next) {
        const tl_symbol *s = &m->sym[i];
        int32_t id = s->id >= 0 ? s->id : find_normal(t, m->text + s->at, s->len);
        if (id >= 0) tl_sink_put(out, id);
        else rc = put_bytes(t, m->text + s->at, s->len, out, err);
    }
    return rc;
}

int tl_spm_encode(const tl_tokenizer *t, tl_merger *m, const char *p, size_t n, int prefix, tl_sink *out,
                  tl_error *err) {
    size_t total = 0;
    int rc = tl_merger_text(m, 3 * (n + 1), err);
    if (rc != TL_OK) return rc;
    for (size_t i = 0; i < n + (prefix != 0); i++) {
        char c = prefix ? (i ? p[i - 1] : ' ') : p[i];
        if (c == ' ') memcpy(m->text + total, TL_SPM_SPACE, 3);
        else m->text[total] = c;
        total += c == ' ' ? 3 : 1;
    }
    rc = tl_merger_reset(m, n + 1, err);   /* a character is at least one byte of the text */
    int32_t before = -1, cp;
    for (size_t i = 0, len; rc == TL_OK && i < total; i += len, before = cp) {
        len = next_char(m->text + i, total - i, &cp);
        uint32_t at = joint_of(before, cp);
        if (m->n && !(t->joint[at / 64] >> at % 64 & 1)) {
            rc = finish_run(t, m, out, err);
            m->n = 0;
        }
        tl_merger_add(m, (uint32_t)i, (uint32_t)len, -1);
    }
    if (rc == TL_OK && m->n) rc = finish_run(t, m, out, err);
    return rc;
}
