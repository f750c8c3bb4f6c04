/* SPDX-License-Identifier: MIT
 *
 * run.c: prefill and decode of one session, measured run by run. Tokens are a fixed sequence over the vocabulary: speed
 * does not depend on them. */
#include "bench/bench.h"

#include <math.h>
#include <string.h>

void tl_bench_case_name(const tl_bench_case *c, char *buf, size_t size) {
    char batch[24] = "", depth[24] = "";
    if (c->decode && c->batch > 1) snprintf(batch, sizeof batch, "*b%d", c->batch);
    if (c->depth) snprintf(depth, sizeof depth, "@d%d", c->depth);
    snprintf(buf, size, "%s%d%s%s", c->decode ? "tg" : "pp", c->n, batch, depth);
}

/* One more: the token behind a prompt. */
int64_t tl_bench_case_ctx(const tl_bench_case *c) { return (int64_t)c->depth + c->n + 1; }

const char *tl_op_name(int op) {
    static const char *const names[TL_N_OPS] = {
        [TL_OP_EMBED] = "embed", [TL_OP_PREPARE] = "prepare", [TL_OP_QKV] = "qkv", [TL_OP_ROPE_KV] = "rope_kv",
        [TL_OP_ATTENTION] = "attention", [TL_OP_ATTN_OUT] = "attn_out", [TL_OP_GATE_UP] = "gate_up",
        [TL_OP_DOWN] = "down", [TL_OP_HEAD] = "head",
    };
    return names[op];
}

typedef struct bench {
    tl_session *s;
    const tl_bench_case *c;
    const tl_bench_options *o;
    int32_t *ids, *seq;       /* [max(n, depth, batch)] */
    uint8_t *want;            /* [batch]: all 1 */
    tl_counts sum;
    double counted;           /* tokens in sum */
    tl_profile profile[2];    /* sums of n_profiled runs: quiet ones, disturbed ones */
    int n_profiled[2];
} bench;

static int32_t token_at(const bench *b, int seq, int pos) {
    uint32_t x = (uint32_t)pos * 2654435761u + (uint32_t)seq * 40503u + 1;
    return (int32_t)(x >> 7) % b->s->m->hp.n_vocab;
}

/* Continues sequence seq to end positions, logits of the last. */
static int extend(bench *b, int seq, int end, tl_error *err) {
    int at = tl_session_pos(b->s, seq), n = end - at;
    if (n <= 0) return TL_OK;
    for (int i = 0; i < n; i++) {
        b->ids[i] = token_at(b, seq, at + i);
        b->seq[i] = seq;
    }
    return tl_session_eval(b->s, &(tl_batch){.n = n, .token = b->ids, .seq = b->seq}, err);
}

/* One token for each of n sequences. */
static int step(bench *b, int n, tl_error *err) {
    for (int i = 0; i < n; i++) {
        b->ids[i] = token_at(b, i, tl_session_pos(b->s, i));
        b->seq[i] = i;
    }
    return tl_session_eval(b->s, &(tl_batch){.n = n, .token = b->ids, .seq = b->seq, .want = b->want}, err);
}

static void rewind_to_depth(bench *b) {
    for (int i = 0; i < b->c->batch; i++) tl_session_truncate(b->s, i, b->c->depth);
}

static int run_once(bench *b, int n, tl_error *err) {
    int rc = TL_OK;
    if (!b->c->decode) return extend(b, 0, b->c->depth + n, err);
    for (int i = 0; i < n && rc == TL_OK; i++) rc = step(b, b->c->batch, err);
    return rc;
}

static void add_counts(bench *b, const tl_counts *one, double tokens) {
    for (int i = 0; i < TL_N_COUNTS; i++)
        b->sum.count[i] = one->count[i] < 0 || b->sum.count[i] < 0 ? -1 : b->sum.count[i] + one->count[i];
    b->sum.joules = one->joules < 0 || b->sum.joules < 0 ? -1 : b->sum.joules + one->joules;
    b->counted += tokens;
}

/* One run measured: seconds, and for a prefill those until the token behind it. */
static int sample(bench *b, double *seconds, double *first, unsigned *reasons, tl_error *err) {
    tl_disturb d;
    tl_profile one = {0};
    rewind_to_depth(b);
    tl_counters_begin(b->o->counters);
    tl_disturb_begin(&d);
    if (b->o->profile) b->s->run.profile = &one;
    double start = tl_now();
    int rc = run_once(b, b->c->n, err);
    *seconds = tl_now() - start;
    b->s->run.profile = NULL;
    *reasons = tl_disturb_end(&d, 0);   /* threads sleep at times: not judged by their CPU time */
    b->n_profiled[*reasons != 0]++;
    for (int i = 0; i < TL_N_OPS; i++) b->profile[*reasons != 0].seconds[i] += one.seconds[i];
    tl_counts counts = tl_counters_end(b->o->counters);
    add_counts(b, &counts, (double)b->c->n * (b->c->decode ? b->c->batch : 1));
    if (rc == TL_OK && !b->c->decode) {
        start = tl_now();
        rc = step(b, 1, err);
        *first = *seconds + (tl_now() - start);
    }
    return rc;
}

static void count_cost(const bench *b, tl_bench_result *r) {
    const tl_bench_case *c = b->c;
    memset(r->op, 0, sizeof r->op);
    for (int at = 0; at < c->n;) {
        int n = c->decode ? 1 : c->n - at < b->s->run.n_batch ? c->n - at : b->s->run.n_batch, end = at + n;
        tl_pass p = {.n_seq = c->decode ? c->batch : 1, .n = n, .pos = c->depth + at};
        p.n_want = c->decode ? c->batch : end == c->n;
        tl_cost_add(b->s->m, b->s->kv.ops, &p, r->op);
        at = end;
    }
    r->cost = tl_cost_sum(r->op);
}

static int prepare(bench *b, tl_error *err) {
    const tl_bench_case *c = b->c;
    char what[160], name[64];
    tl_bench_case_name(c, name, sizeof name);
    for (int i = 0; i < c->batch; i++) {
        if (tl_session_pos(b->s, i) < c->depth && b->o->progress) {
            snprintf(what, sizeof what, "%s: filling the context of sequence %d of %d", name, i + 1, c->batch);
            b->o->progress(b->o->progress_user, what);
        }
        if (extend(b, i, c->depth, err) != TL_OK) return err->code;
    }
    if (b->o->progress) {
        snprintf(what, sizeof what, "%s: warm-up", name);
        b->o->progress(b->o->progress_user, what);
    }
    rewind_to_depth(b);
    return run_once(b, c->decode && c->n > 8 ? 8 : c->n, err);
}

static int measure(bench *b, tl_bench_result *r, tl_error *err) {
    tl_samples speed = {.want = b->o->reps}, first = {.want = b->o->reps};
    double tokens = (double)b->c->n * (b->c->decode ? b->c->batch : 1);
    char what[160], name[64];
    tl_bench_case_name(b->c, name, sizeof name);
    speed.tries = first.tries = 2 * speed.want < TL_MAX_SAMPLES ? 2 * speed.want : TL_MAX_SAMPLES;
    for (int i = 1; tl_samples_more(&speed); i++) {
        double seconds = 0, ready = NAN;
        unsigned reasons = 0;
        if (b->o->progress) {
            snprintf(what, sizeof what, "%s: run %d", name, i);
            b->o->progress(b->o->progress_user, what);
        }
        if (sample(b, &seconds, &ready, &reasons, err) != TL_OK) return err->code;
        tl_samples_add(&speed, tokens / seconds, reasons);
        tl_samples_add(&first, ready, reasons);
    }
    r->tok_s = tl_samples_stat(&speed);
    r->first = b->c->decode ? NAN : tl_samples_stat(&first).median;
    r->tokens = tokens;
    r->seconds = tokens / r->tok_s.median;
    int which = r->tok_s.disturbed;
    for (int i = 0; i < TL_N_OPS; i++) r->op_seconds[i] = b->profile[which].seconds[i] / b->n_profiled[which];
    r->counts = b->sum;
    for (int i = 0; i < TL_N_COUNTS; i++)
        if (r->counts.count[i] > 0) r->counts.count[i] /= b->counted;
    if (r->counts.joules > 0) r->counts.joules /= b->counted;
    return TL_OK;
}

int tl_bench_run(tl_session *s, const tl_bench_case *c, const tl_bench_options *o, tl_bench_result *r, tl_error *err) {
    tl_error own = {0};
    bench b = {.s = s, .c = c, .o = o};
    size_t most = (size_t)(c->n > c->depth ? c->n : c->depth);
    if (!err) err = &own;
    if (most < (size_t)c->batch) most = (size_t)c->batch;
    memset(r, 0, sizeof *r);
    b.ids = tl_alloc_n(most, sizeof *b.ids, "tokens", err);
    b.seq = tl_alloc_n(most, sizeof *b.seq, "sequences", err);
    b.want = tl_alloc_n((size_t)c->batch, 1, "row marks", err);
    if (b.ids && b.seq && b.want) {
        memset(b.want, 1, (size_t)c->batch);
        if (prepare(&b, err) == TL_OK) measure(&b, r, err);
        if (err->code == TL_OK) count_cost(&b, r);
        rewind_to_depth(&b);
    }
    tl_free(b.want);
    tl_free(b.seq);
    tl_free(b.ids);
    return err->code;
}
