/* SPDX-License-Identifier: MIT
 *
 * mask.c: see mask.h. The vocabulary is sorted by bytes once. Making a mask walks through it in this order and keeps the
 * states along the token before: a token costs only the bytes in which it differs, and where a beginning does not fit,
 * all that share it are passed over. In long repetitions of bounded number, where every state is another, only tokens that
 * could reach the bound are looked at again. Where most characters lead to the same state, and from there on again, as in
 * a JSON string, tokens of such characters are not walked through: how many there are decides. */
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "grammar/mask.h"

enum { MASK_BYTES = 64 << 20, MOST_MASKS = 4096, LEAST_MASKS = 8, LAST_CLASS = 0x7F, LEAST_ALIKE = 26, MOST_LOOKS = 1 << 26 };   /* looks: about a second */

/* ---- the order of the vocabulary ---- */

typedef struct key { uint64_t head; int32_t id; } key;   /* head: the first 8 bytes, 0 where there are fewer */

typedef struct sorter { const char *text; const uint32_t *at; } sorter;

static uint64_t head_of(const char *p, uint32_t n) {
    uint64_t h = 0;
    for (uint32_t i = 0; i < 8; i++) h = h << 8 | (i < n ? (uint8_t)p[i] : 0);
    return h;
}

/* By heads, one byte after the other from the last on; tmp [n]. Passes in which all bytes are equal do nothing. */
static void sort_heads(key *v, key *tmp, int n) {
    for (int shift = 0; shift < 64; shift += 8) {
        int at[257] = {0};
        for (int i = 0; i < n; i++) at[(v[i].head >> shift & 255) + 1]++;
        for (int b = 0; b < 256; b++) at[b + 1] += at[b];
        for (int i = 0; i < n; i++) tmp[at[v[i].head >> shift & 255]++] = v[i];
        memcpy(v, tmp, (size_t)n * sizeof *v);
    }
}

/* Where heads are equal, whole texts decide: merging runs of doubling length, since qsort cannot be told of the texts. */
static int text_before(const sorter *s, int32_t a, int32_t b) {
    size_t n = s->at[a + 1] - s->at[a], k = s->at[b + 1] - s->at[b];
    int c = memcmp(s->text + s->at[a], s->text + s->at[b], n < k ? n : k);
    return c < 0 || (c == 0 && n < k);
}

static void sort_texts(const sorter *s, key *v, key *tmp, int n) {
    for (int run = 1; run < n; run *= 2) {
        for (int lo = 0; lo < n; lo += 2 * run) {
            int mid = lo + run < n ? lo + run : n, hi = mid + run < n ? mid + run : n, i = lo, j = mid, k = lo;
            while (i < mid || j < hi) {
                int right = i == mid || (j < hi && text_before(s, v[j].id, v[i].id));
                tmp[k++] = right ? v[j++] : v[i++];
            }
        }
        memcpy(v, tmp, (size_t)n * sizeof *v);
        if (run > n / 2) break;
    }
}

/* Of which characters the text is made, and how many; 0: some are not whole. */
static uint8_t characters(const char *p, uint32_t n, tl_charset *has) {
    uint64_t word[2] = {0, 0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; count++) {
        int32_t c;
        i += (uint32_t)tl_utf8_next(p + i, n - i, &c);
        if (c < 0) return 0;
        if (c > LAST_CLASS) c = LAST_CLASS;
        word[c >> 6] |= (uint64_t)1 << (c & 63);
    }
    memcpy(has->word, word, sizeof word);
    return (uint8_t)(count < 255 ? count : 255);
}

/* Takes the tokens of v [n] in their order that have at least `least` bytes. */
static int take_order(tl_masks *m, tl_lexicon *x, const key *v, int n, const uint32_t *at, uint32_t least, tl_error *err) {
    static const char what[] = "a vocabulary's order";
    const size_t room = (size_t)n + 1;
    if (!(x->id = tl_alloc_n(room, sizeof *x->id, what, err)) || !(x->at = tl_alloc_n(room, sizeof *x->at, what, err)) ||
        !(x->len = tl_alloc_n(room, sizeof *x->len, what, err)) || !(x->common = tl_alloc_n(room, 1, what, err)) ||
        !(x->chars = tl_alloc_n(room, 1, what, err)) || !(x->has = tl_alloc_n(room, sizeof *x->has, what, err)))
        return TL_E_MEMORY;
    int next = 0;
    for (int i = 0; i < n; i++) {
        const uint32_t from = at[v[i].id], len = at[v[i].id + 1] - from, limit = len < 255 ? len : 255;
        uint32_t same = 0;
        const int k = x->n;
        if (len < least) continue;
        if (k) while (same < limit && same < x->len[k - 1] && m->text[from + same] == m->text[x->at[k - 1] + same]) same++;
        x->id[k] = v[i].id;
        x->at[k] = from;
        x->len[k] = len;
        x->common[k] = (uint8_t)same;
        x->chars[k] = characters(m->text + from, len, &x->has[k]);
        while (next <= (uint8_t)m->text[from]) x->first[next++] = k;
        x->n++;
    }
    while (next <= 256) x->first[next++] = x->n;
    return TL_OK;
}

static int sort_vocab(tl_masks *m, const uint32_t *at, tl_error *err) {
    key *v = tl_alloc_n((size_t)m->n_vocab + 1, 2 * sizeof *v, "a vocabulary's order", err);
    if (!v) return TL_E_MEMORY;
    uint32_t longest = 0;
    int n = 0;
    for (int32_t id = 0; id < m->n_vocab; id++) {
        uint32_t len = at[id + 1] - at[id];
        if (len > longest) longest = len;
        if (len) v[n++] = (key){head_of(m->text + at[id], len), id};
    }
    const sorter s = {m->text, at};
    key *tmp = v + n;
    sort_heads(v, tmp, n);
    for (int i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && v[j].head == v[i].head; j++) continue;
        sort_texts(&s, v + i, tmp, j - i);
    }
    int rc = take_order(m, &m->all, v, n, at, 1, err);
    if (rc == TL_OK) rc = take_order(m, &m->longer, v, n, at, TL_GBNF_FAR + 1, err);
    tl_free(v);
    if (rc == TL_OK && !(m->stack = tl_alloc_n((size_t)longest + 2, sizeof *m->stack, "a grammar", err))) rc = TL_E_MEMORY;
    return rc;
}

int tl_masks_init(tl_masks *m, int n_vocab, char *text, const uint32_t *at, const int32_t *end, int n_end, tl_error *err) {
    *m = (tl_masks){.n_vocab = n_vocab, .text = text, .words = ((size_t)n_vocab + 31) / 32, .n_end = n_end};
    m->most_masks = (int)(MASK_BYTES / (m->words * sizeof *m->bits + 1));
    if (m->most_masks > MOST_MASKS) m->most_masks = MOST_MASKS;
    if (m->most_masks < LEAST_MASKS) m->most_masks = LEAST_MASKS;
    m->end = tl_alloc_n((size_t)n_end + 1, sizeof *m->end, "a grammar", err);
    m->fresh = tl_alloc_n(m->words, sizeof *m->fresh, "a grammar", err);
    if (!m->end || !m->fresh) return TL_E_MEMORY;
    if (n_end) memcpy(m->end, end, (size_t)n_end * sizeof *end);
    return sort_vocab(m, at, err);
}

static void free_lexicon(tl_lexicon *x) {
    tl_free(x->id);
    tl_free(x->at);
    tl_free(x->len);
    tl_free(x->common);
    tl_free(x->chars);
    tl_free(x->has);
}

void tl_masks_free(tl_masks *m) {
    tl_free(m->text);
    free_lexicon(&m->all);
    free_lexicon(&m->longer);
    tl_free(m->end);
    tl_free(m->stack);
    tl_free(m->fresh);
    tl_free(m->bits);
    *m = (tl_masks){0};
}

/* ---- characters that are alike ---- */

/* Any `most` of these characters fit, one more does not; from `few` on nothing is known. */
typedef struct run { tl_charset same; int most, few; } run;

/* Whether left bytes, the first of which lies in lo..hi, lead from state to state `to`, whatever they are. */
static int all_lead(tl_automaton *a, int state, int lo, int hi, int left, int to) {
    int last = -1;
    for (int b = lo; b <= hi; b++) {
        int next = tl_automaton_next(a, state, (uint8_t)b);
        if (a->failed || (left == 1 && next != to)) return 0;
        if (next != last && left > 1 && !all_lead(a, next, 0x80, 0xBF, left - 1, to)) return 0;
        last = next;
    }
    return 1;
}

/* The state after characters of class c; -1: there are several, or looking became too expensive. */
static int after(tl_automaton *a, int state, int c) {
    int to = tl_automaton_next(a, state, (uint8_t)c);
    for (int lead = 0xC2; c == LAST_CLASS && lead <= 0xF4; lead++) {
        int lo = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80, hi = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        int next = tl_automaton_next(a, state, (uint8_t)lead);
        if (a->failed || !all_lead(a, next, lo, hi, 1 + (lead >= 0xE0) + (lead >= 0xF0), to)) return -1;
    }
    return a->failed || tl_automaton_full(a) ? -1 : to;
}

static int has(const tl_charset *s, int c) { return s->word[c >> 6] >> (c & 63) & 1; }

/* Narrows same to the characters that lead from state to one other state, which most do, and returns it. */
static int common_step(tl_automaton *a, int state, tl_charset *same, int first) {
    int to[LAST_CLASS + 1], best = TL_DEAD, votes = 0;
    for (int c = 0; c <= LAST_CLASS; c++) {
        if (!has(same, c)) continue;
        to[c] = after(a, state, c);
        if (to[c] < 0 || (first && to[c] == TL_DEAD)) continue;
        if (!votes) best = to[c];
        votes += to[c] == best ? 1 : -1;
    }
    for (int c = 0; c <= LAST_CLASS; c++)
        if (has(same, c) && to[c] != best) same->word[c >> 6] &= ~((uint64_t)1 << (c & 63));
    return best;
}

static int count(const tl_charset *s) {
    int n = 0;
    for (int c = 0; c <= LAST_CLASS; c++) n += has(s, c);
    return n;
}

/* What can be said of texts of similar characters from state on; same is empty if that is nothing. */
static run find_run(tl_automaton *a, int state) {
    run r = {{{~(uint64_t)0, ~(uint64_t)0}}, 0, 0};
    for (int to; r.most < TL_GBNF_FAR; r.most++, state = to) {
        to = common_step(a, state, &r.same, r.most == 0);
        if (a->failed || count(&r.same) < LEAST_ALIKE) {
            if (a->failed == TL_E_UNSUPPORTED) a->failed = 0;   /* the tokens decide whether it is too much */
            return (run){{{0, 0}}, 0, 0};
        }
        if (to != TL_DEAD && to != state) continue;
        if (to == state) r.most = 255;
        r.few = 255;
        return r;
    }
    r.few = r.most + 1;
    return r;
}

/* ---- a mask ---- */

/* Walks through tokens from state stack[1]; the bits go to fresh. */
static int walk(tl_masks *m, const tl_lexicon *x, tl_automaton *a, const run *r, tl_error *err) {
    int *stack = m->stack + 1;
    const uint64_t limit = a->looked + MOST_LOOKS;
    uint32_t depth = 0;   /* stack[0 .. depth]: states along the token before, as far as it fits */
    for (int j = 0; j < x->n;) {
        const uint8_t *p = (const uint8_t *)m->text + x->at[j];
        const uint32_t len = x->len[j];
        if (x->common[j] < depth) depth = x->common[j];
        if (!((x->has[j].word[0] & ~r->same.word[0]) | (x->has[j].word[1] & ~r->same.word[1])) && x->chars[j] && x->chars[j] < r->few) {
            if (x->chars[j] <= r->most) m->fresh[x->id[j] >> 5] |= 1u << (x->id[j] & 31);
            j++;
            continue;
        }
        uint32_t k = depth;
        int state = stack[k];
        while (k < len && (state = tl_automaton_next(a, state, p[k])) != TL_DEAD) stack[++k] = state;
        depth = k;
        if (a->looked > limit) a->failed = TL_E_UNSUPPORTED;
        if (a->failed) return tl_automaton_fault(a, err);
        if (k == len) m->fresh[x->id[j] >> 5] |= 1u << (x->id[j] & 31);
        if (tl_automaton_full(a)) {
            m->n_masks = 0;
            int rc = tl_automaton_forget(a, m->stack, (int)depth + 2, err);
            if (rc != TL_OK) return rc;
        }
        j++;
        if (k == len || k >= 255) continue;
        if (k == 0) j = x->first[p[0] + 1];
        while (j < x->n && x->common[j] > k) j++;
    }
    return TL_OK;
}

/* A place for one more mask; when there is none, all are forgotten. */
static int new_slot(tl_masks *m, tl_automaton *a, tl_error *err) {
    if (m->n_masks == m->most_masks) {
        for (int s = 0; s < a->n_sets; s++) a->set[s].mask = -1;
        m->n_masks = 0;
    }
    if (m->n_masks == m->masks_cap) {
        int cap = m->masks_cap ? m->masks_cap * 2 : LEAST_MASKS;
        if (cap > m->most_masks) cap = m->most_masks;
        uint32_t *bits = tl_realloc_n(m->bits, (size_t)cap, m->words * sizeof *bits, "a grammar's masks", err);
        if (!bits) return -1;
        m->bits = bits;
        m->masks_cap = cap;
    }
    return m->n_masks++;
}

/* Makes the mask of state stack[1] from fresh, and remembers it. Returns its place, or -1. */
static int make(tl_masks *m, const tl_lexicon *x, tl_automaton *a, tl_error *err) {
    const run r = x == &m->all ? find_run(a, m->stack[1]) : (run){{{0, 0}}, 0, 0};
    int rc = walk(m, x, a, &r, err), slot = rc == TL_OK ? new_slot(m, a, err) : -1;
    if (slot < 0) return -1;
    for (int i = 0; i < m->n_end && tl_automaton_may_end(a, m->stack[1]); i++) m->fresh[m->end[i] >> 5] |= 1u << (m->end[i] & 31);
    memcpy(m->bits + (size_t)slot * m->words, m->fresh, m->words * sizeof *m->fresh);
    return a->set[m->stack[1]].mask = slot;
}

const uint32_t *tl_masks_get(tl_masks *m, tl_automaton *a, int *state, tl_error *err) {
    int slot = a->set[*state].mask;
    m->stack[0] = *state;
    if (slot < 0) {   /* what it is like has the same mask but for the longer tokens */
        const int like = a->set[*state].like;
        m->stack[1] = like;
        slot = a->set[like].mask;
        memset(m->fresh, 0, m->words * sizeof *m->fresh);
        if (slot < 0 && (slot = make(m, &m->all, a, err)) < 0) return NULL;
        if (like != *state) {
            memcpy(m->fresh, m->bits + (size_t)slot * m->words, m->words * sizeof *m->fresh);
            for (int j = 0; j < m->longer.n; j++) m->fresh[m->longer.id[j] >> 5] &= ~(1u << (m->longer.id[j] & 31));
            m->stack[1] = m->stack[0];
            if ((slot = make(m, &m->longer, a, err)) < 0) return NULL;
        }
        *state = m->stack[0];
    }
    return m->bits + (size_t)slot * m->words;
}
