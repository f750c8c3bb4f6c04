/* SPDX-License-Identifier: MIT
 *
 * constrain.c: constrained output of tinyllm.h: a grammar for the vocabulary of a model, and the place a text has
 * reached in it. */
#include "engine/constrain.h"

#include <math.h>
#include <string.h>
#include "grammar/grammar.h"
#include "grammar/mask.h"
#include "model/model.h"

struct tl_grammar {
    const struct tl_model *m;
    tl_automaton a;
    tl_masks masks;
    int state;
    int ended;                /* an end token was accepted */
    float *logits;            /* [n_vocab] masked ones, for the sampler */
};

/* ---- the vocabulary ---- */

static int take_vocab(tl_grammar *g, int n_vocab, tl_error *err) {
    const tl_tokenizer *t = g->m->tok;
    uint32_t *at = tl_alloc_n((size_t)n_vocab + 1, sizeof *at, "a vocabulary's texts", err);
    int32_t *end = tl_alloc_n((size_t)n_vocab + 1, sizeof *end, "a vocabulary's texts", err);
    tl_buf text = {0};
    int n_end = 0, rc = at && end ? TL_OK : TL_E_MEMORY;
    for (int32_t id = 0; rc == TL_OK && id < n_vocab; id++) {
        char room[256], *p = room;
        int is_end = tl_tokenizer_is_end(t, id), len = is_end ? 0 : tl_tokenizer_token_text(t, id, room, sizeof room);
        if (is_end) end[n_end++] = id;
        if (len > (int)sizeof room) {
            if (!(p = tl_alloc_n((size_t)len, 1, "a token's text", err))) rc = TL_E_MEMORY;
            else tl_tokenizer_token_text(t, id, p, len);
        }
        if (rc == TL_OK) tl_buf_add(&text, p, (size_t)len);
        if (p != room) tl_free(p);
        at[id + 1] = (uint32_t)text.n;
        if (text.n > UINT32_MAX / 2) rc = tl_fail(err, TL_E_UNSUPPORTED, "grammar: the vocabulary's texts are more than 2 GiB");
    }
    if (rc == TL_OK && text.failed) rc = tl_fail(err, TL_E_MEMORY, "out of memory for a vocabulary's texts");
    if (rc == TL_OK) rc = tl_masks_init(&g->masks, n_vocab, text.p, at, end, n_end, err);
    else tl_buf_free(&text);
    tl_free(at);
    tl_free(end);
    return rc;
}

tl_grammar *tl_grammar_new(const tl_model *m, const char *gbnf, size_t n, tl_error *err) {
    if (!m || !gbnf) {
        tl_null(err, m ? "grammar" : "model");
        return NULL;
    }
    tl_grammar *g = tl_alloc_n(1, sizeof *g, "a grammar", err);
    if (!g) return NULL;
    const int n_vocab = tl_model_get_info(m).n_vocab;
    g->m = m;
    int rc = tl_automaton_init(&g->a, gbnf, n, err);
    if (rc == TL_OK) rc = take_vocab(g, n_vocab, err);
    if (rc == TL_OK && !(g->logits = tl_alloc_n((size_t)n_vocab, sizeof *g->logits, "masked logits", err))) rc = TL_E_MEMORY;
    if (rc == TL_OK) {
        g->state = g->a.start;
        return g;
    }
    tl_grammar_free(g);
    return NULL;
}

/* Of the GBNF that was made with result rc. */
static tl_grammar *new_from(const tl_model *m, tl_buf *gbnf, int rc, tl_error *err) {
    if (rc == TL_OK && gbnf->failed) rc = tl_fail(err, TL_E_MEMORY, "out of memory for the grammar's text");
    tl_grammar *g = rc == TL_OK ? tl_grammar_new(m, gbnf->p, gbnf->n, err) : NULL;
    tl_buf_free(gbnf);
    return g;
}

tl_grammar *tl_grammar_new_schema(const tl_model *m, const char *json, size_t n, tl_error *err) {
    tl_buf gbnf = {0};
    return new_from(m, &gbnf, tl_schema_to_gbnf(json, n, &gbnf, err), err);
}

tl_grammar *tl_grammar_new_regex(const tl_model *m, const char *regex, tl_error *err) {
    tl_buf gbnf = {0};
    return new_from(m, &gbnf, tl_regex_to_gbnf(regex, &gbnf, err), err);
}

void tl_grammar_free(tl_grammar *g) {
    if (!g) return;
    tl_automaton_free(&g->a);
    tl_masks_free(&g->masks);
    tl_free(g->logits);
    tl_free(g);
}

/* ---- its place ---- */

void tl_grammar_reset(tl_grammar *g) {
    if (!g) return;
    g->state = g->a.start;
    g->ended = 0;
}

int tl_grammar_ends(const tl_grammar *g) {
    if (!g) return 0;
    return g->ended || tl_automaton_only_ends(&g->a, g->state) ? 2 : tl_automaton_may_end(&g->a, g->state);
}

const uint32_t *tl_grammar_mask(tl_grammar *g, tl_error *err) {
    if (!g) {
        tl_null(err, "grammar");
        return NULL;
    }
    if (g->ended) {
        tl_fail(err, TL_E_ARGUMENT, "grammar: the text has ended; tl_grammar_reset begins another");
        return NULL;
    }
    const uint32_t *mask = tl_masks_get(&g->masks, &g->a, &g->state, err);
    if (!mask || tl_automaton_may_end(&g->a, g->state)) return mask;
    for (size_t i = 0; i < g->masks.words; i++)
        if (mask[i]) return mask;
    tl_fail(err, TL_E_UNSUPPORTED, "grammar: no token of this vocabulary can follow here, and the text may not end");
    return NULL;
}

static int refuse(const tl_grammar *g, int32_t id, tl_error *err) {
    const char *piece = tl_token_piece(g->m, id);
    return tl_fail(err, TL_E_ARGUMENT, "grammar: token %d ('%.40s') cannot follow here", (int)id, piece ? piece : "");
}

int tl_grammar_accept(tl_grammar *g, int32_t id, tl_error *err) {
    char room[256];
    if (!g) return tl_null(err, "grammar");
    if (g->ended) return tl_fail(err, TL_E_ARGUMENT, "grammar: the text has ended; tl_grammar_reset begins another");
    if (tl_token_is_end(g->m, id)) {
        if (!tl_grammar_ends(g)) return refuse(g, id, err);
        g->ended = 1;
        return TL_OK;
    }
    int len = tl_token_text(g->m, id, room, sizeof room), state = g->state;
    char *p = len <= (int)sizeof room ? room : tl_alloc_n((size_t)len, 1, "a token's text", err);
    if (!p) return TL_E_MEMORY;
    if (p != room) tl_token_text(g->m, id, p, len);
    for (int i = 0; i < len && state != TL_DEAD; i++) state = tl_automaton_next(&g->a, state, (uint8_t)p[i]);
    if (p != room) tl_free(p);
    if (g->a.failed) return tl_automaton_fault(&g->a, err);
    if (len == 0 || state == TL_DEAD) return refuse(g, id, err);
    g->state = state;
    if (!tl_automaton_full(&g->a)) return TL_OK;
    g->masks.n_masks = 0;
    return tl_automaton_forget(&g->a, &g->state, 1, err);
}

/* ---- for the generator ---- */

int tl_grammar_check(const tl_grammar *g, const tl_model *m, tl_error *err) {
    return !g || g->m == m ? TL_OK : tl_fail(err, TL_E_ARGUMENT, "generator: the grammar was made for another model");
}

static int allows(const uint32_t *mask, int32_t id) { return mask[id >> 5] >> (id & 31) & 1; }

int tl_grammar_apply(tl_grammar *g, const float **logits, const int32_t *stop, int n_stop, tl_error *err) {
    const int ends = tl_grammar_ends(g), n = g->masks.n_vocab;
    if (ends == 2) return 0;
    if (!*logits) return tl_null(err, "logits");
    const uint32_t *mask = tl_grammar_mask(g, err);
    if (!mask) return err && err->code ? err->code : TL_E_UNSUPPORTED;
    int some = 0;
    for (int id = 0; id < n; id++) {
        const float l = (*logits)[id];
        g->logits[id] = allows(mask, id) || isnan(l) ? l : -INFINITY;
    }
    for (int i = 0; i < n_stop; i++)
        if (stop[i] >= 0 && stop[i] < n) g->logits[stop[i]] = ends ? (*logits)[stop[i]] : -INFINITY;
    for (size_t i = 0; i < g->masks.words && !some; i++) some = mask[i] != 0;
    *logits = g->logits;
    return some;
}
