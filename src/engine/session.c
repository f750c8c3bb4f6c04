/* SPDX-License-Identifier: MIT
 * The session part of tinyllm.h: memory, batches cut into slices, positions. */
#include "engine/session.h"
#include "model/facts.h"

#include <string.h>

#define KV(NAME, name, elems, bytes) \
    _Static_assert((int)TL_KV_TYPE_##NAME == (int)TL_KV_##NAME, "TL_KV_TYPE_" #NAME " of tinyllm.h is not its place in kv.def");
#include "kv.def"
#undef KV

const char *tl_kv_type_name(int type) { return type >= 0 && type < TL_N_KV ? tl_kv_types[type].name : NULL; }

tl_session_options tl_session_options_default(void) {
    tl_session_options o;
    memset(&o, 0, sizeof o);
    return o;
}

/* Hands out 128-byte aligned parts of one block. With base NULL only counts: the same calls lay out and measure. */
typedef struct layout { uint8_t *base; size_t at; int overflow; } layout;

static void *take(layout *l, size_t n, size_t size) {
    size_t bytes, end;
    if (!tl_mul_size(n, size, &bytes) || !tl_add_size(l->at, bytes, &end) || !tl_add_size(end, 128 + 127, &end)) {
        l->overflow = 1;
        return NULL;
    }
    void *p = l->base ? l->base + l->at : NULL;
    l->at = end / 128 * 128;
    return p;
}

/* What the model's blocks need for a slice. */
static tl_needs needs_of(const struct tl_session *s) {
    const struct tl_model *m = s->m;
    tl_needs n = {.n = s->run.n_batch, .n_threads = tl_pool_size(s->pool), .n_ctx = s->kv.n_ctx};
    for (int i = 0; i < m->n_blocks; i++) {
        tl_block_kinds[m->blocks[i].kind]->needs(m, &m->blocks[i], &n);
        if (m->blocks[i].post_norm.w) n.y = 1;
    }
    return n;
}

static void lay_out(struct tl_session *s, layout *l) {
    const tl_hparams *hp = &s->m->hp;
    tl_run *r = &s->run;
    size_t n = (size_t)r->n_batch, d = (size_t)hp->n_embd, cols = (size_t)s->m->max_cols, f = sizeof(float);
    tl_needs needs = needs_of(s);
    r->x = take(l, n, d * f);
    r->y = take(l, needs.y ? n : 0, d * f);
    for (int i = 0; i < TL_N_BLOCKS; i++) r->scratch[i] = take(l, needs.scratch[i], 1);
    for (int i = 0; i < TL_N_ACTS; i++) r->acts[i] = take(l, s->m->forms >> i & 1 ? n : 0, tl_act_bytes(i, (int)cols, 1));
    r->cs = take(l, TL_N_ROPES * n, (size_t)hp->n_rot * f);
    s->inv_freq = take(l, TL_N_ROPES * (size_t)hp->n_rot / 2, sizeof *s->inv_freq);
    r->token = take(l, n, sizeof *r->token);
    r->seq = take(l, n, sizeof *r->seq);
    r->pos = take(l, n, sizeof *r->pos);
    s->want = take(l, n, sizeof *s->want);
    r->spans = take(l, n, sizeof *r->spans);
    s->next_pos = take(l, (size_t)s->kv.n_seq, sizeof *s->next_pos);
    for (int i = 0; i < needs.n_threads; i++) {
        tl_worker t = {.pool = s->pool, .k = &s->m->k, .thread = i, .n_threads = needs.n_threads};
        t.scratch = take(l, TL_GEMM_SCRATCH(cols), 1);
        t.groups = take(l, s->m->groups_bytes, 1);
        t.row = take(l, cols, f);
        for (int j = 0; j < TL_N_ACTS; j++) t.own[j] = take(l, s->m->forms >> j & 1, tl_act_bytes(j, (int)cols, 1));
        t.up = take(l, needs.up, f);
        t.attn = take(l, needs.attn, f);
        if (l->base) s->workers[i] = t;
    }
}

static void fill_frequencies(struct tl_session *s) {
    const tl_hparams *hp = &s->m->hp;
    int half = hp->n_rot / 2;
    for (int r = 0; r < TL_N_ROPES; r++)
        for (int i = 0; i < half; i++)
            s->inv_freq[(size_t)r * (size_t)half + (size_t)i] = tl_rope_frequency(&hp->rope[r], hp->n_rot, i, s->kv.n_ctx);
}

static int init_kv(struct tl_session *s, const tl_session_options *o, int n_seq, int n_ctx, tl_error *err) {
    const struct tl_model *m = s->m;
    tl_kv_dims *slots = tl_alloc_n((size_t)m->n_slots + 1, sizeof *slots, "KV slots", err);
    if (!slots) return TL_E_MEMORY;
    for (int i = 0; i < m->n_blocks; i++)
        if (m->blocks[i].slot >= 0) slots[m->blocks[i].slot] = tl_block_kinds[m->blocks[i].kind]->cached(m, &m->blocks[i]);
    tl_kv_shape shape = {slots, m->n_slots, n_seq, n_ctx, o->n_positions};
    int rc = tl_kv_init(&s->kv, &m->k.kv[o->kv_type], &shape, err);
    tl_free(slots);
    return rc;
}

static int init(struct tl_session *s, const tl_model *m, const tl_session_options *o, tl_error *err) {
    static const char range[] = "session option %s is %d, allowed are 1 to %d (0: default)";
    s->m = m;
    s->run.m = m;
    s->run.kv = &s->kv;
    int n_seq = o->n_seq ? o->n_seq : 1, n_ctx = o->n_ctx, n_batch = o->n_batch ? o->n_batch : TL_DEFAULT_BATCH;
    int64_t train = m->hp.n_ctx_train;
    if (!n_ctx) n_ctx = train > 0 && train < TL_DEFAULT_CTX ? (int)train : TL_DEFAULT_CTX;
    if (!o->n_ctx && m->hp.n_positions && n_ctx > m->hp.n_positions) n_ctx = m->hp.n_positions;
    if (n_ctx < 1 || n_ctx > 1 << 24) return tl_fail(err, TL_E_ARGUMENT, range, "n_ctx", n_ctx, 1 << 24);
    if (m->hp.n_positions && n_ctx > m->hp.n_positions)
        return tl_fail(err, TL_E_ARGUMENT, "session option n_ctx is %d, this model knows %d positions", n_ctx, m->hp.n_positions);
    if (n_seq < 1 || n_seq > 1 << 16) return tl_fail(err, TL_E_ARGUMENT, range, "n_seq", n_seq, 1 << 16);
    if (n_batch < 1 || n_batch > 1 << 16) return tl_fail(err, TL_E_ARGUMENT, range, "n_batch", n_batch, 1 << 16);
    if (o->n_positions < 0) return tl_fail(err, TL_E_ARGUMENT, "session option n_positions is %lld", (long long)o->n_positions);
    if (!tl_kv_type_name(o->kv_type)) return tl_fail(err, TL_E_ARGUMENT, "session option kv_type is %d, unknown", o->kv_type);
    int64_t all = (int64_t)n_ctx * n_seq;
    s->run.n_batch = all < n_batch ? (int)all : n_batch;
    if (!(s->pool = tl_pool_new(tl_threads_for(o->n_threads), err))) return TL_E_MEMORY;
    s->workers = tl_alloc_n((size_t)tl_pool_size(s->pool), sizeof *s->workers, "threads", err);
    if (!s->workers) return TL_E_MEMORY;
    int rc = init_kv(s, o, n_seq, n_ctx, err);
    if (rc) return rc;
    layout l = {0};
    lay_out(s, &l);
    if (l.overflow) return tl_fail(err, TL_E_MEMORY, "a batch of %d rows is too large for this machine", s->run.n_batch);
    s->mem_bytes = l.at;
    if (!(s->mem = tl_alloc_big(s->mem_bytes, "scratch", err))) return TL_E_MEMORY;
    l = (layout){.base = s->mem};
    lay_out(s, &l);
    fill_frequencies(s);
    return TL_OK;
}

tl_session *tl_session_new(const tl_model *m, const tl_session_options *options, tl_error *err) {
    if (!m) { tl_null(err, "model"); return NULL; }
    if (!m->arch) { tl_fail(err, TL_E_ARGUMENT, "the model was opened for its vocabulary only"); return NULL; }
    tl_session_options o = options ? *options : tl_session_options_default();
    struct tl_session *s = tl_alloc_n(1, sizeof *s, "session", err);
    if (s && init(s, m, &o, err)) {
        tl_session_free(s);
        s = NULL;
    }
    return s;
}

void tl_session_free(tl_session *s) {
    if (!s) return;
    tl_pool_free(s->pool);
    tl_kv_done(&s->kv);
    tl_free_big(s->mem, s->mem_bytes);
    tl_free(s->workers);
    tl_free(s->logits);
    tl_free(s);
}

static int too_many(const struct tl_session *s, int64_t n, tl_error *err) {
    return tl_fail(err, TL_E_CONTEXT, "%lld tokens do not fit into a context of %d", (long long)n, s->kv.n_ctx);
}

/* Checks a whole batch before anything is computed; counts the wanted rows. Rows beyond what the sequences can hold are
 * not looked at: their number alone is wrong. */
static int check_batch(struct tl_session *s, const tl_batch *b, int *n_want, tl_error *err) {
    if (!b || b->n < 1 || !b->token) return tl_fail(err, TL_E_ARGUMENT, "an empty batch");
    if (!b->seq && (int64_t)s->kv.n_pos[0] + b->n > s->kv.n_ctx) return too_many(s, (int64_t)s->kv.n_pos[0] + b->n, err);
    for (int i = 0; i < s->kv.n_seq; i++) s->next_pos[i] = s->kv.n_pos[i];
    *n_want = 0;
    for (int i = 0; i < b->n; i++) {
        int seq = b->seq ? b->seq[i] : 0;
        if (seq < 0 || seq >= s->kv.n_seq)
            return tl_fail(err, TL_E_ARGUMENT, "batch row %d names sequence %d of %d", i, seq, s->kv.n_seq);
        if (b->token[i] < 0 || b->token[i] >= s->m->hp.n_vocab)
            return tl_fail(err, TL_E_ARGUMENT, "batch row %d holds token %d, the vocabulary has 0 to %d", i, b->token[i], s->m->hp.n_vocab - 1);
        if (b->pos && b->pos[i] != s->next_pos[seq])
            return tl_fail(err, TL_E_ARGUMENT, "batch row %d has position %d, sequence %d continues at %d", i, b->pos[i], seq, s->next_pos[seq]);
        if (s->next_pos[seq] >= s->kv.n_ctx) return too_many(s, (int64_t)s->next_pos[seq] + 1, err);
        s->next_pos[seq]++;
        *n_want += b->want ? b->want[i] != 0 : i == b->n - 1;
    }
    return TL_OK;
}

/* Pages for all rows of the batch, whose positions check_batch has put into next_pos; nothing changes on failure. */
static int reserve(struct tl_session *s, tl_error *err) {
    int rc = TL_OK;
    for (int i = 0; i < s->kv.n_seq && rc == TL_OK; i++)
        if (s->next_pos[i] > s->kv.n_pos[i]) rc = tl_kv_reserve(&s->kv, i, s->next_pos[i], err);
    for (int i = 0; i < s->kv.n_seq && rc != TL_OK; i++) tl_kv_trim(&s->kv, i);
    return rc;
}

/* Rows of one sequence side by side become spans of at most TL_ATTN_ROWS. */
static void add_span(tl_run *r, int row) {
    tl_span *last = r->n_spans ? &r->spans[r->n_spans - 1] : NULL;
    if (last && last->seq == r->seq[row] && last->n < TL_ATTN_ROWS) last->n++;
    else r->spans[r->n_spans++] = (tl_span){row, 1, r->seq[row], r->pos[row]};
}

static void load_slice(struct tl_session *s, const tl_batch *b, int at, int n) {
    tl_run *r = &s->run;
    r->n = n;
    s->at = at;
    s->total = b->n;
    s->n_want = s->run.n_spans = 0;
    for (int i = 0; i < n; i++) {
        int seq = b->seq ? b->seq[at + i] : 0;
        r->token[i] = b->token[at + i];
        r->seq[i] = seq;
        r->pos[i] = s->kv.n_pos[seq]++;
        *tl_kv_token(&s->kv, seq, r->pos[i]) = r->token[i];
        if (b->want ? b->want[at + i] != 0 : at + i == b->n - 1) s->want[s->n_want++] = i;
        add_span(r, i);
    }
}

static int run_slice(struct tl_session *s, const tl_batch *b, int at, int n, tl_error *err) {
    load_slice(s, b, at, n);
    int rc = tl_forward(s, s->logits + (size_t)s->n_logits * (size_t)s->m->hp.n_vocab);
    if (rc) {
        if (rc == TL_E_CANCELLED) atomic_store(&s->cancelled, 0);
        for (int i = n - 1; i >= 0; i--) tl_kv_truncate(&s->kv, s->run.seq[i], s->run.pos[i]);
        for (int i = 0; i < s->kv.n_seq; i++) tl_kv_trim(&s->kv, i);   /* what later slices would have filled */
        if (rc == TL_E_IO) return tl_fail(err, rc, "%s: the file was cut or cannot be read any more", s->m->gguf->path);
        return tl_fail(err, rc, "cancelled");
    }
    s->n_logits += s->n_want;
    return TL_OK;
}

int tl_session_reserve_logits(struct tl_session *s, int n, tl_error *err) {
    if (n <= s->logits_cap) return TL_OK;
    float *p = tl_realloc_n(s->logits, (size_t)n, (size_t)s->m->hp.n_vocab * sizeof *p, "logits", err);
    if (!p) return TL_E_MEMORY;
    s->logits = p;
    s->logits_cap = n;
    return TL_OK;
}

void tl_session_keep_logits(struct tl_session *s, int row) {
    size_t v = (size_t)s->m->hp.n_vocab;
    if (row > 0 && row < s->n_logits) memcpy(s->logits, s->logits + (size_t)row * v, v * sizeof *s->logits);
    if (s->n_logits > 1) s->n_logits = 1;
}

int tl_session_eval(tl_session *s, const tl_batch *b, tl_error *err) {
    if (!s) return tl_null(err, "session");
    int n_want = 0, rc = check_batch(s, b, &n_want, err);
    if (!rc) rc = tl_session_reserve_logits(s, n_want, err);
    if (!rc) rc = reserve(s, err);
    if (rc) return rc;
    s->n_logits = 0;
    for (int at = 0; at < b->n && !rc; at += s->run.n_batch)
        rc = run_slice(s, b, at, b->n - at < s->run.n_batch ? b->n - at : s->run.n_batch, err);
    return rc;
}

int tl_session_append(tl_session *s, const int32_t *ids, int n, tl_error *err) {
    return tl_session_eval(s, &(tl_batch){.n = n, .token = ids}, err);
}

/* The last token is computed even if it is there, for its logits. */
int tl_session_prompt(tl_session *s, int seq, const int32_t *ids, int n, tl_error *err) {
    if (!s || !ids) return tl_null(err, s ? "ids" : "session");
    if (seq < 0 || seq >= s->kv.n_seq || n < 1)
        return tl_fail(err, TL_E_ARGUMENT, "prompt of %d tokens for sequence %d of %d", n, seq, s->kv.n_seq);
    if (n > s->kv.n_ctx) return too_many(s, n, err);
    int kept = 0;
    while (kept < n - 1 && kept < s->kv.n_pos[seq] && *tl_kv_token(&s->kv, seq, kept) == ids[kept]) kept++;
    for (int i = kept; i < n; i++)
        if (ids[i] < 0 || ids[i] >= s->m->hp.n_vocab)
            return tl_fail(err, TL_E_ARGUMENT, "prompt token %d is %d, the vocabulary has 0 to %d", i, ids[i], s->m->hp.n_vocab - 1);
    int32_t *seqs = tl_alloc_n((size_t)(n - kept), sizeof *seqs, "a prompt", err);
    if (!seqs) return TL_E_MEMORY;
    for (int i = 0; i < n - kept; i++) seqs[i] = seq;
    tl_kv_truncate(&s->kv, seq, kept);
    int rc = tl_session_eval(s, &(tl_batch){.n = n - kept, .token = ids + kept, .seq = seqs}, err);
    tl_free(seqs);
    return rc == TL_OK ? kept : rc;
}

const float *tl_session_logits(const tl_session *s, int i) {
    return s && i >= 0 && i < s->n_logits ? s->logits + (size_t)i * (size_t)s->m->hp.n_vocab : NULL;
}

int tl_session_pos(const tl_session *s, int seq) { return s && seq >= 0 && seq < s->kv.n_seq ? s->kv.n_pos[seq] : 0; }

int tl_session_tokens(const tl_session *s, int seq, int32_t *ids, int cap) {
    int n = tl_session_pos(s, seq);
    for (int i = 0; i < n && ids && i < cap; i++) ids[i] = *tl_kv_token(&s->kv, seq, i);
    return n;
}

int tl_session_truncate(tl_session *s, int seq, int n) {
    return s && seq >= 0 && seq < s->kv.n_seq ? tl_kv_truncate(&s->kv, seq, n > 0 ? n : 0) : 0;
}

int tl_session_fork(tl_session *s, int from, int to, tl_error *err) {
    if (!s) return tl_null(err, "session");
    if (from < 0 || from >= s->kv.n_seq || to < 0 || to >= s->kv.n_seq)
        return tl_fail(err, TL_E_ARGUMENT, "fork from sequence %d to %d of %d", from, to, s->kv.n_seq);
    tl_kv_fork(&s->kv, from, to);
    return TL_OK;
}

int tl_session_ctx(const tl_session *s) { return s ? s->kv.n_ctx : 0; }
int tl_session_threads(const tl_session *s) { return s ? tl_pool_size(s->pool) : 0; }

void tl_session_cancel(tl_session *s) {
    if (s) atomic_store(&s->cancelled, 1);
}

void tl_session_set_progress(tl_session *s, tl_progress_fn *fn, void *user) {
    if (!s) return;
    s->progress = fn;
    s->progress_user = user;
}

int64_t tl_session_bytes(const tl_session *s) {
    if (!s) return 0;
    return (int64_t)s->kv.bytes + (int64_t)s->mem_bytes + (int64_t)s->logits_cap * s->m->hp.n_vocab * (int64_t)sizeof(float);
}
