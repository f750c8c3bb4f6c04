/* SPDX-License-Identifier: MIT
 *
 * bpe.c: byte-level byte pair encoding (Sennrich et al. 2016; bytes as in GPT-2). A text is cut by the pre-tokenizer, a
 * piece starts as single bytes, and the listed pair that comes first in the list of merges is joined again and again.
 * Vocabularies spell every byte as a printable character: 0x21-0x7E, 0xA1-0xAC and 0xAE-0xFF as the code point of the
 * same number, the other 68 in order as U+0100 and up. */
#include <string.h>
#include "text/merge.h"
#include "text/vocab.h"

enum { MAX_PROBES = 512, MAX_SPELLED = 1 << 12 };

int tl_bpe_byte(int32_t cp) {
    if (cp < 0 || cp > 0x143) return -1;
    if (cp <= 0xFF) return cp <= 0x20 || (cp >= 0x7F && cp <= 0xA0) || cp == 0xAD ? -1 : cp;
    if (cp <= 0x120) return cp - 0x100;
    return cp == 0x143 ? 0xAD : cp - 0x121 + 0x7F;
}

/* Spells n bytes the way pieces are spelled; out has room for 2 * n. */
static size_t spell(const char *p, size_t n, char *out) {
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned b = (unsigned char)p[i], cp = b;
        if (b <= 0x20) cp = 0x100 + b;
        else if (b >= 0x7F && b <= 0xA0) cp = 0x121 + b - 0x7F;
        else if (b == 0xAD) cp = 0x143;
        if (cp < 0x80) {
            out[len++] = (char)cp;
        } else {
            out[len++] = (char)(0xC0 | cp >> 6);
            out[len++] = (char)(0x80 | (cp & 0x3F));
        }
    }
    return len;
}

/* The slot of a pair or the free one where it belongs; NULL after MAX_PROBES. */
static tl_merge *merge_slot(const tl_tokenizer *t, uint32_t left, uint32_t right) {
    uint64_t h = ((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15u;
    h = (h ^ h >> 32) * 0xD6E8FEB86659FD93u;
    uint32_t i = (uint32_t)(h >> 32) & t->merge_mask;
    for (int probe = 0; probe < MAX_PROBES; probe++, i = (i + 1) & t->merge_mask) {
        tl_merge *m = &t->merge[i];
        if (m->made == 0 || (m->left == left && m->right == right)) return m;
    }
    return NULL;
}

/* Enters merge number rank, whose parts and result are id[0..2]. A pair whose parts or result the vocabulary lacks can
 * never be applied and is left out (files cut down from larger ones have such), as is one that would make anything but
 * ordinary text, so no text can be merged into a control token. */
static int add_merge(tl_tokenizer *t, uint32_t rank, const int32_t *id, uint32_t *useless, tl_error *err) {
    for (int i = 0; i < 3; i++)
        if (id[i] < 0 || !tl_is_text(t, (uint32_t)id[i])) {
            ++*useless;
            return TL_OK;
        }
    tl_merge *m = merge_slot(t, (uint32_t)id[0], (uint32_t)id[1]);
    if (!m) return tl_fail(err, TL_E_FORMAT, "the vocabulary's merges are made to collide in a hash table");
    if (m->made == 0) *m = (tl_merge){(uint32_t)id[0], (uint32_t)id[1], rank, (uint32_t)id[2] + 1};
    return TL_OK;
}

/* Cuts "left right" at its space and joins the parts in out; part[0..2] are left, right, both. A merge that no
 * vocabulary can hold gets empty parts. Returns the bytes used of out, at most MAX_SPELLED. */
static size_t cut_merge(tl_slice s, char *out, tl_slice *part) {
    const char *space = s.n > 2 && s.n <= MAX_SPELLED ? memchr(s.p + 1, ' ', s.n - 2) : NULL;
    size_t left = space ? (size_t)(space - s.p) : 0, right = space ? s.n - left - 1 : 0;
    if (space) {
        memcpy(out, s.p, left);
        memcpy(out + left, space + 1, right);
    }
    part[0] = (tl_slice){out, left};
    part[1] = (tl_slice){out + left, right};
    part[2] = (tl_slice){out, left + right};
    return left + right;
}

/* Merges are looked up in groups: a vocabulary has some 100 000, and each needs three pieces from all over memory. */
static int add_merges(tl_tokenizer *t, const tl_slice *merge, uint32_t n, tl_error *err) {
    char text[2 * MAX_SPELLED];
    tl_slice part[TL_FIND_MAX];
    int32_t id[TL_FIND_MAX];
    uint32_t useless = 0;
    int rc = TL_OK;
    for (uint32_t from = 0; from < n && rc == TL_OK;) {
        size_t used = 0;
        uint32_t k = 0;
        for (; from + k < n && 3 * k + 3 <= TL_FIND_MAX && used <= MAX_SPELLED; k++)
            used += cut_merge(merge[from + k], text + used, part + 3 * k);
        tl_pieces_find(t, part, id, (int)(3 * k));
        for (uint32_t i = 0; i < k && rc == TL_OK; i++) rc = add_merge(t, from + i, id + 3 * i, &useless, err);
        from += k;
    }
    if (useless) tl_tokenizer_warn(t, "%u of %u merges can never be applied: the vocabulary lacks their parts or their result", useless, n);
    return rc;
}

static void set_pretok(tl_tokenizer *t, tl_slice name) {
    char raw[81], shown[160], what[220] = "the file does not name its pre-tokenizer";
    t->pre = tl_pretok_find(name);
    if (t->pre) return;
    t->pre = tl_pretok_fallback();
    if (name.n) {
        snprintf(raw, sizeof raw, "%.*s", (int)(name.n < 80 ? name.n : 80), name.p);
        tl_printable(shown, sizeof shown, raw);
        snprintf(what, sizeof what, "unknown pre-tokenizer \"%s\"", shown);
    }
    tl_tokenizer_warn(t, "%s; using %s, which may cut texts differently from what the model was trained on", what, t->pre->name);
}

int tl_bpe_init(tl_tokenizer *t, const tl_vocab_source *src, tl_error *err) {
    set_pretok(t, src->pre);
    for (int b = 0; b < 256; b++) {
        char c = (char)b, out[2];
        int32_t id = tl_piece_find(t, out, spell(&c, 1, out));
        t->byte_id[b] = id >= 0 && tl_is_text(t, (uint32_t)id) ? id : -1;
    }
    if (src->n_merges >= UINT32_MAX / 4) return tl_fail(err, TL_E_UNSUPPORTED, "the vocabulary has too many merges");
    const size_t n = tl_vocab_slots(src->n_merges + src->n_merges / 2);
    t->merge = tl_alloc_big(n * sizeof *t->merge, "the table of merges", err);
    if (!t->merge) return TL_E_MEMORY;
    t->merge_mask = (uint32_t)(n - 1);
    return add_merges(t, src->merges, (uint32_t)src->n_merges, err);
}

static uint32_t pair_rank(const void *user, const tl_symbol *a, const tl_symbol *b, int32_t *id) {
    if (a->id < 0 || b->id < 0) return TL_NO_KEY;
    const tl_merge *m = merge_slot(user, (uint32_t)a->id, (uint32_t)b->id);
    if (!m || m->made == 0) return TL_NO_KEY;
    *id = (int32_t)m->made - 1;
    return m->rank;
}

/* A byte that is no token (published vocabularies lack some that start rare characters) becomes unk; without an unk, or
 * where that is a control token, it is left out, as the reference implementations do. */
static int encode_piece(const tl_tokenizer *t, tl_merger *m, const char *p, size_t n, tl_sink *out, tl_error *err) {
    if (t->pre->flags & TL_PRE_WHOLE && n <= t->longest && n <= MAX_SPELLED) {
        char spelled[2 * MAX_SPELLED];
        int32_t id = tl_piece_find(t, spelled, spell(p, n, spelled));
        if (id >= 0 && tl_is_text(t, (uint32_t)id)) {
            tl_sink_put(out, id);
            return TL_OK;
        }
    }
    int rc = tl_merger_reset(m, n, err);
    if (rc != TL_OK) return rc;
    for (size_t i = 0; i < n; i++) tl_merger_add(m, (uint32_t)i, 1, t->byte_id[(unsigned char)p[i]]);
    if (n > 1) rc = tl_merger_run(m, pair_rank, t, err);
    else m->sym[0].next = UINT32_MAX;
    for (uint32_t i = 0; rc == TL_OK && i != UINT32_MAX; i = m->sym[i].next) {
        if (m->sym[i].id >= 0) tl_sink_put(out, m->sym[i].id);
        else if (t->unk >= 0 && t->type[t->unk] != TL_TOK_CONTROL) tl_sink_put(out, t->unk);
    }
    return rc;
}

int tl_bpe_encode(const tl_tokenizer *t, tl_merger *m, const char *p, size_t n, tl_sink *out, tl_error *err) {
    int rc = TL_OK;
    tl_cut cut = tl_pretok_begin(t->pre, p, n);
    for (tl_slice s; rc == TL_OK && (s = tl_pretok_next(&cut)).n;) rc = encode_piece(t, m, s.p, s.n, out, err);
    return rc;
}
