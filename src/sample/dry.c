/* SPDX-License-Identifier: MIT
 *
 * dry.c: see dry.h. Seen backwards from the newest token, the history is a sequence r; an earlier place k where r goes on
 * as it began is a repetition of as many tokens, and r[k - 1] is what followed it. The Z function gives the length at
 * every place in one pass over the window. */
#include "sample/dry.h"

#include <math.h>
#include <string.h>

/* A window of "all" still has a bound, so that nothing is allocated after creation: its memory is touched as it fills. */
enum { MAX_WINDOW = 1 << 20 };

/* Far above any logit, and finite, so that a token that alone is left can still be drawn. */
static const float MAX_PENALTY = 1e30f;

struct tl_dry {
    float multiplier, base;
    int allowed;            /* repetitions shorter than this are free */
    int n_vocab;
    int32_t *recent;        /* [window] ring of the last tokens; at is the next slot, n are filled */
    int32_t *z;             /* [window] */
    int window, n, at;
    int run;                /* tokens since the last breaker */
    int32_t *longest;       /* [n_vocab] all 0 between calls */

    char **breaker;         /* [n_breakers] */
    int n_breakers;
    uint8_t *breaks;        /* [n_vocab] whether a token's text holds a breaker; NULL: no texts */
    char *tail;             /* the last bytes of the history, one fewer than the longest breaker has, and room for a token */
    size_t n_tail, max_tail, max_text;
    tl_token_text_fn *text;
    const void *user;
};

static size_t window_bytes(const tl_dry *d) { return (size_t)d->window * sizeof *d->recent; }

static int copy_breakers(tl_dry *d, const tl_sampler_options *o, tl_error *err) {
    static const char *const usual[] = {"\n", ":", "\"", "*"};
    const char *const *from = o->dry_breakers ? o->dry_breakers : usual;
    int n = o->dry_breakers ? o->n_dry_breakers : (int)(sizeof usual / sizeof *usual);
    if (!(d->breaker = tl_alloc_n((size_t)n + 1, sizeof *d->breaker, "DRY's breakers", err))) return 0;
    for (int i = 0; i < n; i++) {
        if (!(d->breaker[i] = tl_strdup(from[i], err))) return 0;
        d->n_breakers++;
        size_t len = strlen(from[i]);
        if (len - 1 > d->max_tail) d->max_tail = len - 1;
    }
    return 1;
}

tl_dry *tl_dry_new(int n_vocab, const tl_sampler_options *o, tl_error *err) {
    tl_dry *d = tl_alloc_n(1, sizeof *d, "DRY", err);
    if (!d) return NULL;
    d->multiplier = o->dry_multiplier;
    d->base = o->dry_base;
    d->allowed = o->dry_allowed_length;
    d->n_vocab = n_vocab;
    d->window = o->dry_penalty_last_n < 0 ? MAX_WINDOW : o->dry_penalty_last_n;
    if ((d->recent = tl_alloc_big(window_bytes(d), "DRY's window", err)) &&
        (d->z = tl_alloc_big(window_bytes(d), "DRY's window", err)) &&
        (d->longest = tl_alloc_n((size_t)n_vocab, sizeof *d->longest, "DRY", err)) && copy_breakers(d, o, err))
        return d;
    tl_dry_free(d);
    return NULL;
}

void tl_dry_free(tl_dry *d) {
    if (!d) return;
    if (d->recent) tl_free_big(d->recent, window_bytes(d));
    if (d->z) tl_free_big(d->z, window_bytes(d));
    for (int i = 0; i < d->n_breakers; i++) tl_free(d->breaker[i]);
    tl_free(d->breaker);
    tl_free(d->longest);
    tl_free(d->breaks);
    tl_free(d->tail);
    tl_free(d);
}

/* ---- breakers ---- */

/* Does a breaker end in text [n] behind its first `from` bytes? */
static int breaker_ends(const tl_dry *d, const char *text, size_t n, size_t from) {
    for (int i = 0; i < d->n_breakers; i++) {
        const size_t len = strlen(d->breaker[i]);
        for (size_t end = from + 1 > len ? from + 1 : len; end <= n; end++)
            if (memcmp(text + end - len, d->breaker[i], len) == 0) return 1;
    }
    return 0;
}

int tl_dry_set_texts(tl_dry *d, tl_token_text_fn *text, const void *user, tl_error *err) {
    if (!d->n_breakers) return TL_OK;
    for (int32_t id = 0; id < d->n_vocab; id++) {
        const int n = text(user, id, NULL, 0);
        if (n > 0 && (size_t)n > d->max_text) d->max_text = (size_t)n;
    }
    d->breaks = tl_alloc_n((size_t)d->n_vocab, sizeof *d->breaks, "DRY's breakers", err);
    d->tail = tl_alloc_n(d->max_tail + d->max_text + 1, 1, "DRY's breakers", err);
    if (!d->breaks || !d->tail) return TL_E_MEMORY;
    d->text = text;
    d->user = user;
    for (int32_t id = 0; id < d->n_vocab; id++) {
        const int n = text(user, id, d->tail, (int)d->max_text);
        d->breaks[id] = n > 0 && breaker_ends(d, d->tail, (size_t)n, 0);
    }
    return TL_OK;
}

/* Puts the token behind the tail; whether a breaker ends in it. */
static int push_text(tl_dry *d, int32_t id) {
    const int len = d->text(d->user, id, d->tail + d->n_tail, (int)d->max_text);
    const size_t n = d->n_tail + (size_t)(len > 0 ? len : 0);
    const int ends = breaker_ends(d, d->tail, n, d->n_tail);
    d->n_tail = n < d->max_tail ? n : d->max_tail;
    memmove(d->tail, d->tail + n - d->n_tail, d->n_tail);
    return ends;
}

void tl_dry_accept(tl_dry *d, int32_t id) {
    d->recent[d->at] = id;
    d->at = d->at + 1 == d->window ? 0 : d->at + 1;
    if (d->n < d->window) d->n++;
    d->run = d->breaks && push_text(d, id) ? 0 : d->run < d->window ? d->run + 1 : d->run;
}

/* ---- penalties ---- */

/* The k-th token back from the newest. */
static int32_t back(const tl_dry *d, int k) { return d->recent[d->at > k ? d->at - 1 - k : d->at - 1 - k + d->window]; }

/* z[k]: how many tokens from back(k) on are those from back(0) on. */
static void match(tl_dry *d) {
    int lo = 0, hi = 0;   /* back(lo .. hi - 1) is the match that reaches furthest; it equals back(0 .. hi - lo - 1) */
    for (int k = 1; k < d->n; k++) {
        int len = k >= hi ? 0 : d->z[k - lo] < hi - k ? d->z[k - lo] : hi - k;
        while (k + len < d->n && back(d, len) == back(d, k + len)) len++;
        d->z[k] = len;
        if (k + len > hi) {
            lo = k;
            hi = k + len;
        }
    }
}

void tl_dry_edit(tl_dry *d, float *x) {
    if (d->run < 1) return;
    match(d);
    for (int k = 1; k < d->n; k++) {
        const int32_t next = back(d, k - 1);
        const int len = d->z[k] < d->run ? d->z[k] : d->run;
        if (len > d->longest[next]) d->longest[next] = len;
    }
    for (int k = 1; k < d->n; k++) {
        const int32_t next = back(d, k - 1);
        const int len = d->longest[next];
        d->longest[next] = 0;   /* once for each token */
        if (len < 1 || len < d->allowed || (d->breaks && d->breaks[next])) continue;
        x[next] -= fminf(d->multiplier * powf(d->base, (float)(len - d->allowed)), MAX_PENALTY);
    }
}
