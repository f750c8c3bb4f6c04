/* SPDX-License-Identifier: MIT
 *
 * cmd_logprobs.c: see cmd_logprobs.h. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "cmd/cmd_logprobs.h"

int tl_cmd_logprobs_init(tl_cmd_logprobs *l, const tl_model *m, int n_top, tl_error *err) {
    *l = (tl_cmd_logprobs){.m = m, .n_top = n_top};
    l->row = tl_alloc_n((size_t)n_top + 1, sizeof *l->row, "log-probabilities", err);
    return l->row ? TL_OK : TL_E_MEMORY;
}

void tl_cmd_logprobs_free(tl_cmd_logprobs *l) {
    tl_free(l->row);
    tl_buf_free(&l->rows);
}

void tl_cmd_logprobs_add(void *user, int32_t id, const float *logits) {
    tl_cmd_logprobs *l = user;
    l->row[0] = (tl_logprob){id, tl_logprobs(l->m, logits, id, l->row + 1, l->n_top)};
    tl_buf_add(&l->rows, l->row, ((size_t)l->n_top + 1) * sizeof *l->row);
}

/* ---- JSON ---- */

static void read_text(const tl_model *m, int32_t id, tl_buf *text) {
    char room[256];
    const int n = tl_token_text(m, id, room, sizeof room);
    text->n = 0;
    tl_buf_add(text, room, (size_t)(n < (int)sizeof room ? n : (int)sizeof room));
    if (n <= (int)sizeof room) return;
    for (int i = (int)sizeof room; i < n; i++) tl_buf_add(text, "", 1);
    if (!text->failed) tl_token_text(m, id, text->p, n);
}

static int is_utf8(const char *p, size_t n) {
    for (int len; n; p += len, n -= (size_t)len)
        if ((len = tl_utf8_look(p, n)) <= 0) return 0;
    return 1;
}

/* How a token is named: its text; a control token, which has none, by its name; bytes that are no whole characters by
 * their numbers, as "bytes:\xe2\x82". */
static void read_name(const tl_model *m, int32_t id, tl_buf *name) {
    const char *piece = tl_token_piece(m, id);
    tl_buf text = {0};
    read_text(m, id, &text);
    name->n = 0;
    if (!text.n) tl_buf_str(name, piece ? piece : "");
    else if (is_utf8(text.p, text.n)) tl_buf_add(name, text.p, text.n);
    else {
        tl_buf_str(name, "bytes:");
        for (size_t i = 0; i < text.n; i++) tl_buf_fmt(name, "\\x%02x", (unsigned char)text.p[i]);
    }
    name->failed |= text.failed;
    tl_buf_free(&text);
}

static const tl_logprob *row_of(const tl_cmd_logprobs *l, int i) {
    return (const tl_logprob *)(const void *)l->rows.p + (size_t)i * ((size_t)l->n_top + 1);
}

/* Has one of e [n] that name? A byte's token and the same character's have. */
static int is_named(const tl_model *m, const tl_logprob *e, int n, const tl_buf *name) {
    tl_buf other = {0};
    int found = 0;
    for (int i = 0; i < n && !found; i++) {
        read_name(m, e[i].id, &other);
        found = other.n == name->n && name->n && memcmp(other.p, name->p, name->n) == 0;
    }
    tl_buf_free(&other);
    return found;
}

/* The next of an object that has the entries before [n]. */
static void put_entry(const tl_cmd_logprobs *l, const tl_logprob *e, const tl_logprob *before, int n, tl_buf *name, tl_json *j) {
    const char *piece = tl_token_piece(l->m, e->id);
    read_name(l->m, e->id, name);
    if (name->n && (memchr(name->p, 0, name->n) || is_named(l->m, before, n, name))) {
        name->n = 0;
        tl_buf_str(name, piece ? piece : "");
    }
    tl_buf_add(name, "", 1);   /* terminated: it is a key */
    if (!name->failed) tl_json_num(j, name->p, e->logprob);
}

/* {name: log-probability} of the likeliest tokens, and of the token that came if it is none of them. */
static void put_top(const tl_cmd_logprobs *l, const tl_logprob *row, tl_buf *name, tl_json *j) {
    const tl_logprob *top = row + 1;
    int k = 0, listed = l->n_top == 0;
    if (isnan(row->logprob)) {   /* the first token of all */
        tl_json_num(j, NULL, (double)NAN);
        return;
    }
    tl_json_begin(j, NULL, '{');
    for (; k < l->n_top && top[k].id >= 0; k++) {
        put_entry(l, &top[k], top, k, name, j);
        listed |= top[k].id == row->id;
    }
    if (!listed) put_entry(l, row, top, k, name, j);
    tl_json_end(j, '}');
}

/* Where each token's text begins in the whole text, in characters; one that begins within a character: where that does. */
static void put_offsets(const tl_cmd_logprobs *l, int n_prompt, int n, tl_buf *text, tl_json *j) {
    tl_utf8_stream stream = {0};
    int64_t at = 0;
    size_t all = 0, shown = 0, skip = 0;   /* skip: a space that the tokenizer put in front of the prompt */
    tl_buf ids = {0}, whole = {0};
    for (int i = 0; i < n_prompt; i++) {
        tl_buf_add(&ids, &row_of(l, i)->id, sizeof row_of(l, i)->id);
        read_text(l->m, row_of(l, i)->id, text);
        all += text->n;
    }
    if (n_prompt && !ids.failed) shown = tl_detokenize(l->m, (const int32_t *)(const void *)ids.p, n_prompt, 0, NULL, 0);
    skip = all > shown ? all - shown : 0;
    for (int i = 0; i < n; i++) {
        tl_json_i64(j, NULL, at);
        read_text(l->m, row_of(l, i)->id, text);
        const size_t cut = skip < text->n ? skip : text->n;
        skip -= cut;
        whole.n = 0;
        for (size_t k = 0; k < 3 * text->n + 6; k++) tl_buf_add(&whole, "", 1);
        if (whole.failed || text->failed) break;
        size_t len = text->n > cut ? tl_utf8_push(&stream, text->p + cut, text->n - cut, 0, whole.p) : 0;
        if (i + 1 == n_prompt) len += tl_utf8_push(&stream, NULL, 0, 1, whole.p + len);   /* the answer begins anew */
        for (size_t k = 0; k < len; k++) at += (whole.p[k] & 0xC0) != 0x80;
    }
    j->out->failed |= whole.failed | ids.failed;
    tl_buf_free(&ids);
    tl_buf_free(&whole);
}

int tl_cmd_logprobs_json(const tl_cmd_logprobs *l, int n_prompt, int n, tl_json *j, tl_error *err) {
    tl_buf name = {0};
    if (l->rows.failed) return tl_fail(err, TL_E_MEMORY, "out of memory for log-probabilities");
    tl_json_begin(j, "logprobs", '{');
    tl_json_begin(j, "tokens", '[');
    for (int i = 0; i < n; i++) {
        read_name(l->m, row_of(l, i)->id, &name);
        tl_json_str(j, NULL, name.p ? name.p : "", name.n);
    }
    tl_json_end(j, ']');
    tl_json_begin(j, "token_ids", '[');
    for (int i = 0; i < n; i++) tl_json_i64(j, NULL, row_of(l, i)->id);
    tl_json_end(j, ']');
    tl_json_begin(j, "token_logprobs", '[');
    for (int i = 0; i < n; i++) tl_json_num(j, NULL, row_of(l, i)->logprob);
    tl_json_end(j, ']');
    tl_json_begin(j, "top_logprobs", '[');
    for (int i = 0; i < n; i++) put_top(l, row_of(l, i), &name, j);
    tl_json_end(j, ']');
    tl_json_begin(j, "text_offset", '[');
    put_offsets(l, n_prompt, n, &name, j);
    tl_json_end(j, ']');
    tl_json_end(j, '}');
    const int failed = name.failed;
    tl_buf_free(&name);
    return failed ? tl_fail(err, TL_E_MEMORY, "out of memory for log-probabilities") : TL_OK;
}
