/* SPDX-License-Identifier: MIT
 * speculate_test.c: texts with drafts, good and bad ones, are those without, and so is all that a session and a sampler
 * hold afterwards; what a lookup proposes; that drafts which are no gain cost next to nothing. */
#include "test.h"
#include "base/rng.h"
#include "engine/speculate.h"

enum { MOST = 600 };

/* ---- a run and all that can be seen of it ---- */

typedef struct setup {
    const tl_model *m;
    tl_session_options so;
    tl_sampler_options smp;
    tl_generator_options g;
    const char *gbnf;        /* NULL: anything */
    int32_t prompt[MOST];
    int n_prompt, seq;
    int cancel_at;           /* call of the callback that cancels; 0: none */
    int how;                 /* 0: it returns 1; 1: by tl_session_cancel; 2: the progress function */
} setup;

typedef struct outcome {
    int rc, finish, n_tokens, n_computed, n_accepted, n_drafted, calls;
    char pieces[1 << 14];    /* of the callback, each with its length */
    size_t n_pieces;
    int32_t ids[MOST];       /* that the session holds */
    int n;
    int after;               /* what computing one token more returns */
    int32_t next;            /* that the sampler picks from given logits */
    uint64_t state, logits;  /* sums of the saved sequence and of the last logits, 0: none */
    uint64_t picks;          /* sum of the ids and logits of all picks */
} outcome;

typedef struct watch { outcome *o; const setup *u; tl_session *s; int stop; } watch;

static uint64_t sum_of(const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211u;
    return h;
}

static int seen(void *user, const char *text, size_t n) {
    watch *w = user;
    outcome *o = w->o;
    o->n_pieces += (size_t)snprintf(o->pieces + o->n_pieces, sizeof o->pieces - o->n_pieces, "%zu:%.*s|", n, (int)n, text);
    if (++o->calls != w->u->cancel_at) return 0;
    if (w->u->how == 1) tl_session_cancel(w->s);
    w->stop = w->u->how == 2;
    return w->u->how == 0;
}

static void picked(void *user, int32_t id, const float *logits) {
    watch *w = user;
    uint64_t both[] = {w->o->picks, (uint64_t)id, sum_of(logits, (size_t)tl_model_get_info(w->u->m).n_vocab * sizeof *logits)};
    w->o->picks = sum_of(both, sizeof both);
}

static int asked(void *user, double progress) {
    (void)progress;
    return ((watch *)user)->stop;
}

static outcome run(const setup *u, tl_draft *d) {
    static float flat[1 << 12];
    outcome o = {0};
    tl_error err = {0};
    tl_session *s = tl_session_new(u->m, &u->so, &err);
    tl_sampler *smp = tl_sampler_new(u->m, &u->smp, &err);
    tl_generator_options go = u->g;
    watch w = {&o, u, s, 0};
    go.draft = d;
    go.picked = picked, go.picked_user = &w;
    tl_grammar *grammar = go.grammar = u->gbnf ? tl_grammar_new(u->m, u->gbnf, strlen(u->gbnf), &err) : NULL;
    tl_generator *g = smp ? tl_generator_new(u->m, smp, &go, &err) : NULL;
    if (!s || !g) {
        CHECKF(0, "%s", err.text);
        return o;
    }
    int32_t seqs[MOST];
    for (int i = 0; i < u->n_prompt; i++) seqs[i] = u->seq, tl_sampler_accept(smp, u->prompt[i]);
    CHECKF(tl_session_eval(s, &(tl_batch){.n = u->n_prompt, .token = u->prompt, .seq = seqs}, &err) == TL_OK, "%s", err.text);
    if (u->how == 2) tl_session_set_progress(s, asked, &w);
    o.rc = tl_generate(s, u->seq, g, seen, &w, &err);
    tl_generator_stats st = tl_generator_get_stats(g);
    o.finish = st.finish, o.n_tokens = st.n_tokens, o.n_computed = st.n_computed;
    o.n_accepted = st.n_accepted, o.n_drafted = st.n_drafted;
    CHECK(st.n_passes + st.n_accepted == st.n_computed && st.n_accepted <= st.n_drafted);
    o.n = tl_session_tokens(s, u->seq, o.ids, MOST);
    const float *logits = tl_session_logits(s, 0);
    if (logits) o.logits = sum_of(logits, (size_t)tl_model_get_info(u->m).n_vocab * sizeof *logits);
    CHECK(tl_session_logits(s, 1) == NULL);
    size_t size = tl_session_save_size(s, u->seq);
    void *blob = malloc(size);
    CHECK(tl_session_save(s, u->seq, blob, size, &err) == TL_OK);
    o.state = sum_of(blob, size);
    free(blob);
    o.next = tl_sampler_pick(smp, flat, NULL);
    int32_t seq = u->seq, id = 1;
    o.after = tl_session_eval(s, &(tl_batch){.n = 1, .token = &id, .seq = &seq}, NULL);
    tl_generator_free(g);
    tl_grammar_free(grammar);
    tl_sampler_free(smp);
    tl_session_free(s);
    return o;
}

static void same(const char *what, const outcome *a, const outcome *b) {
    CHECKF(a->rc == b->rc && a->finish == b->finish && a->n_tokens == b->n_tokens && a->n_computed == b->n_computed,
           "%s: ends with %d %d after %d (%d), without a draft %d %d %d (%d)", what, b->rc, b->finish, b->n_tokens, b->n_computed,
           a->rc, a->finish, a->n_tokens, a->n_computed);
    CHECKF(a->calls == b->calls && a->n_pieces == b->n_pieces && memcmp(a->pieces, b->pieces, a->n_pieces) == 0, "%s: another text", what);
    CHECKF(a->n == b->n && memcmp(a->ids, b->ids, (size_t)a->n * sizeof *a->ids) == 0, "%s: holds %d tokens, not %d", what, b->n, a->n);
    CHECKF(a->state == b->state, "%s: another saved state", what);
    CHECKF(a->logits == b->logits, "%s: other logits are left", what);
    CHECKF(a->picks == b->picks, "%s: picked from other logits", what);
    CHECKF(a->after == b->after, "%s: the session goes on with %d, not %d", what, b->after, a->after);
    CHECKF(a->next == b->next, "%s: the sampler goes on otherwise", what);
}

/* ---- sources ---- */

static const int32_t *truth;   /* [n_truth]: prompt and text without a draft */
static int n_truth;
static tl_rng rng;

static int nothing(tl_draft *d, const tl_draft_options *o, tl_error *err) { (void)d, (void)o, (void)err; return TL_OK; }
static int begin(tl_draft *d, tl_error *err) { (void)d, (void)err; return TL_OK; }
static void done(tl_draft *d) { (void)d; }

static int32_t any(const tl_draft *d) { return (int32_t)(tl_rng_next(&rng) % (uint64_t)tl_model_get_info(d->m).n_vocab); }

static int perfect(tl_draft *d, int32_t *out, int k) {
    for (int i = 0; i < k; i++) out[i] = d->n + i < n_truth ? truth[d->n + i] : any(d);
    return k;
}

static int chance(tl_draft *d, int32_t *out, int k) {
    for (int i = 0; i < k; i++) out[i] = any(d);
    return k;
}

/* Right up to some place, which differs from draft to draft. */
static int half(tl_draft *d, int32_t *out, int k) {
    perfect(d, out, k);
    for (int i = (int)(tl_rng_next(&rng) % (uint64_t)(k + 1)); i < k; i++) out[i] = any(d);
    return 1 + (int)(tl_rng_next(&rng) % (uint64_t)k);
}

/* Wrong in the first token, right behind it; wrong ones are tokens that end the text. */
static int hostile(tl_draft *d, int32_t *out, int k) {
    perfect(d, out, k);
    out[0] = tl_token_eos(d->m);
    if (k > 3) out[3] = out[0];
    return k;
}

#define SOURCE(fn) static const tl_draft_kind fn##_kind = {#fn, sizeof(tl_draft), nothing, done, begin, NULL, fn}
SOURCE(perfect);
SOURCE(chance);
SOURCE(half);
SOURCE(hostile);

static tl_draft *draft(const tl_draft_kind *kind, const tl_model *m, const tl_model *by, int max) {
    tl_error err = {0};
    tl_draft_options o = {.model = by, .max = max, .session = {.n_threads = 1}};
    tl_draft *d = tl_draft_make(kind, m, &o, &err);
    CHECKF(d, "%s", err.text);
    if (d) d->eager = 1;
    return d;
}

/* What follows from a setup without a draft becomes the truth of the sources. */
static outcome plain(const setup *u) {
    static outcome o;
    o = run(u, NULL);
    truth = o.ids, n_truth = o.n;
    return o;
}

/* Every source, with several lengths of drafts, against none. */
static void all_same(const setup *u, const tl_model *other) {
    outcome a = plain(u);
    const tl_draft_kind *const kinds[] = {&perfect_kind, &chance_kind, &half_kind, &hostile_kind, &tl_draft_lookup, &tl_draft_model};
    for (int i = 0; i < 6; i++) {
        const tl_model *by = kinds[i] != &tl_draft_model ? NULL : other ? other : u->m;
        tl_draft *d = draft(kinds[i], u->m, by, i < 3 ? (int[]){16, 5, 3}[i] : 4);
        outcome b = run(u, d);
        same(kinds[i]->name, &a, &b);
        tl_draft_free(d);
    }
}

static setup start(const tl_model *m, int seed) {
    setup u = {.m = m, .so = {.n_threads = 1, .n_ctx = 256}, .smp = tl_sampler_options_default(), .g = tl_generator_options_default()};
    tl_rng_seed(&rng, (uint64_t)seed);
    u.n_prompt = 3 + seed % 20;
    int n_vocab = tl_model_get_info(m).n_vocab;
    for (int i = 0; i < u.n_prompt; i++) u.prompt[i] = (int32_t)(tl_rng_next(&rng) % (uint64_t)(seed % 2 ? n_vocab : 4));
    u.smp.seed = seed;
    u.g.max_tokens = 40;
    return u;
}

static tl_model *open_model(const char *path) {
    tl_error err = {0};
    tl_model *m = tl_model_open(path, &(tl_model_options){.cpu = getenv("TINYLLM_CPU"), .n_threads = 1}, &err);
    CHECKF(m, "%s", err.text);
    return m;
}

static tl_model *qwen2, *llama, *gemma, *qwen3;

static int seeds(int n) { return test_emulated() ? (n + 5) / 6 : n; }

/* ---- the same text ---- */

static void samplers(void) {
    const tl_model *const models[] = {qwen2, llama, gemma};
    for (int i = 0; i < 3; i++)
        for (int seed = 0; seed < seeds(12); seed++)
            for (int how = 0; how < 3; how++) {
                setup u = start(models[i], seed);
                if (how == 0) u.smp.temp = 0;
                if (how == 2) u.smp.temp = 1.7f, u.smp.top_k = 0, u.smp.top_p = 1, u.smp.repeat_penalty = 1.3f, u.smp.frequency_penalty = 0.4f;
                all_same(&u, models[i] == llama ? qwen3 : NULL);
            }
}

static void good_drafts_are_taken(void) {
    setup u = start(llama, 3);
    outcome a = plain(&u);
    tl_draft *d = draft(&perfect_kind, llama, NULL, 7);
    outcome b = run(&u, d);
    same("perfect", &a, &b);
    CHECKF(b.n_accepted >= a.n_computed - (a.n_computed + 7) / 8 && b.n_accepted == b.n_drafted, "%d of %d, %d computed", b.n_accepted, b.n_drafted, a.n_computed);
    tl_draft_free(d);
    u.smp.temp = 0;
    a = plain(&u);
    d = draft(&tl_draft_model, llama, llama, 7);   /* a model drafts for itself */
    b = run(&u, d);
    same("model", &a, &b);
    CHECK(b.n_accepted == b.n_drafted && b.n_accepted > 25);
    tl_draft_free(d);
}

static void endings(void) {
    setup u = start(qwen2, 5);
    u.g.max_tokens = 60;
    outcome a = plain(&u);
    int32_t ids[MOST];
    memcpy(ids, a.ids, sizeof ids);
    CHECK(a.n_tokens > 30);
    for (int i = 1; i < 24; i++) {   /* a number of tokens, a token, a text in each place of a draft */
        u.g.max_tokens = i;
        all_same(&u, NULL);
        u.g.max_tokens = 60;
        u.g.stop_tokens = &ids[u.n_prompt + i], u.g.n_stop_tokens = 1;
        all_same(&u, NULL);
        u.g.n_stop_tokens = 0;
        char stop[64], both[64];
        int n = tl_token_text(qwen2, ids[u.n_prompt + i], stop, 30);
        stop[n > 0 && n < 30 ? n : 0] = 0;
        snprintf(both, sizeof both, "%s", stop);
        n = tl_token_text(qwen2, ids[u.n_prompt + i + 1], both + strlen(both), 1);
        both[strlen(stop) + (n > 0)] = 0;
        const char *const stops[] = {stop, both};
        for (int j = 0; j < 2; j++)
            if (stops[j][0]) {
                u.g.stop = &stops[j], u.g.n_stop = 1;
                all_same(&u, NULL);
            }
        u.g.n_stop = 0;
    }
}

static void grammars(void) {
    static const char *const gbnf[] = {"root ::= [a-z ]{5,60}", "root ::= (\"the\" | \"end\") (\" \" root)?", "root ::= \"a\"{7}"};
    for (int i = 0; i < 3; i++)
        for (int seed = 0; seed < seeds(8); seed++) {
            setup u = start(qwen2, seed);
            u.gbnf = gbnf[i];
            if (seed % 2) u.smp.temp = 0;
            all_same(&u, NULL);
        }
}

static void full_contexts(void) {
    for (int room = 0; room < 20; room++) {
        setup u = start(qwen2, 7 + room % 3);
        u.g.max_tokens = -1;
        u.so.n_ctx = u.n_prompt + room;
        all_same(&u, NULL);
        u.so.n_ctx = 256, u.so.n_positions = 64;   /* no page left for what a draft needs more */
        for (u.n_prompt = 64 - room; u.n_prompt < 64; u.n_prompt += 32)
            for (int i = 0; i < u.n_prompt; i++) u.prompt[i] = 5 + i % 7;
        u.n_prompt = 64 - room;
        all_same(&u, NULL);
    }
    for (int n_batch = 1; n_batch < 4; n_batch++) {
        setup u = start(llama, 4);
        u.so.n_batch = n_batch;
        u.so.n_seq = 3, u.seq = 2;
        u.so.kv_type = n_batch == 2 ? TL_KV_TYPE_Q8_0 : TL_KV_TYPE_F16;
        all_same(&u, qwen3);
    }
}

static void cancels(void) {
    for (int how = 0; how < 3; how++)
        for (int at = 1; at < 14; at++) {
            setup u = start(llama, 2);
            u.how = how, u.cancel_at = at;
            all_same(&u, NULL);
        }
}

/* A draft serves one text after the other, and goes on with one whose session was changed meanwhile. */
static void used_again(void) {
    const tl_draft_kind *const kinds[] = {&tl_draft_lookup, &tl_draft_model};
    for (int i = 0; i < 2; i++) {
        tl_draft *d = draft(kinds[i], llama, i ? qwen3 : NULL, 6);
        for (int seed = 0; seed < 4; seed++) {
            setup u = start(llama, seed);
            outcome a = plain(&u), b = run(&u, d);
            same(kinds[i]->name, &a, &b);
        }
        tl_draft_free(d);
        outcome turns[2];
        for (int with = 0; with < 2; with++) {
            turns[with] = (outcome){0};
            d = with ? draft(kinds[i], llama, i ? qwen3 : NULL, 6) : NULL;
            setup u = start(llama, 9);
            tl_session *s = tl_session_new(llama, &u.so, NULL);
            tl_sampler *smp = tl_sampler_new(llama, &u.smp, NULL);
            watch w = {&turns[with], &u, s, 0};
            for (int turn = 0; turn < 4; turn++) {
                tl_generator_options o = {.max_tokens = 20, .draft = d};
                tl_generator *g = tl_generator_new(llama, smp, &o, NULL);
                if (turn == 2) tl_session_truncate(s, 0, 17);
                CHECK(tl_session_append(s, u.prompt + turn, u.n_prompt - turn, NULL) == TL_OK);
                CHECK(tl_generate(s, 0, g, seen, &w, NULL) == TL_OK);
                tl_generator_free(g);
            }
            tl_draft_free(d);
            tl_sampler_free(smp);
            tl_session_free(s);
        }
        same("turns", &turns[0], &turns[1]);
    }
}

/* Without eager, as users have it: what is drafted depends on the clock, the text does not. */
static void by_the_clock(void) {
    for (int seed = 0; seed < seeds(10); seed++) {
        setup u = start(llama, seed);
        u.smp.temp = seed % 2 ? 0.8f : 0;
        u.g.max_tokens = 200;
        outcome a = plain(&u);
        const tl_draft_kind *const kinds[] = {&perfect_kind, &half_kind, &tl_draft_lookup, &tl_draft_model};
        for (int i = 0; i < 4; i++) {
            tl_draft *d = draft(kinds[i], llama, i == 3 ? qwen3 : NULL, 0);
            d->eager = 0;
            outcome b = run(&u, d);
            same(kinds[i]->name, &a, &b);
            tl_draft_free(d);
        }
    }
}

/* ---- the lookup ---- */

/* By its definition, one place after the other. */
static int expected(const int32_t *ids, int n, int32_t *out, int k) {
    for (int len = 4; len >= 2; len--)
        for (int end = n - 1; len <= n && end >= len; end--) {
            if (memcmp(ids + end - len, ids + n - len, (size_t)len * sizeof *ids) != 0) continue;
            for (int i = 0; i < k; i++) out[i] = end + i < n ? ids[end + i] : out[end + i - n];
            return k;
        }
    return 0;
}

static void lookup(void) {
    for (int alphabet = 1; alphabet < 40; alphabet += 1 + alphabet / 3) {
        setup u = start(llama, alphabet);
        tl_session *s = tl_session_new(llama, &u.so, NULL);
        tl_draft *d = draft(&tl_draft_lookup, llama, NULL, 5);
        CHECK(tl_session_append(s, u.prompt, u.n_prompt, NULL) == TL_OK);
        for (int begun = 0; begun < 2; begun++) {
            CHECK(tl_draft_begin(d, s, 0, NULL) == TL_OK && d->n == u.n_prompt);
            for (int i = 0; i < 230; i++) {
                int32_t out[5], want[5] = {0};
                int n = tl_draft_propose(d, (int32_t)(tl_rng_next(&rng) % (uint64_t)alphabet), out, 5);
                CHECK(n == expected(d->ids, d->n, want, 5) && (!n || memcmp(out, want, sizeof out) == 0));
            }
        }
        tl_draft_free(d);
        tl_session_free(s);
    }
}

/* ---- how much is drafted ---- */

/* Time per token, in plain passes, of a text of n tokens, where a pass of r rows takes cost(r) and a drafted token is right with
 * probability p, or always in every second stretch of `stretch` tokens and never in the others. */
typedef double cost_fn(int rows);
static double steep(int rows) { return rows == 1 ? 1 : 1.4 + 0.35 * (rows - 1); }
static double flat(int rows) { return 1 + 0.03 * (rows - 1); }
static double steps(int rows) { return 0.5 + 0.5 * ((rows + 3) / 4); }
static double useless(int rows) { return rows * 1.1 - 0.1; }

static double simulate(cost_fn *cost, int n, double p, int stretch, double drafting) {
    tl_pace pace = tl_pace_start();
    double time = 0;
    for (int at = 0; at < n;) {
        int k = tl_pace_choose(&pace, TL_DRAFT_MAX), right = 0;
        while (right < k && (stretch ? (at + right) / stretch % 2 : tl_rng_double(&rng) < p)) right++;
        double seen = cost(k + 1) * (1 + 0.1 * tl_rng_double(&rng));   /* other programs disturb */
        tl_pace_note(&pace, k, right, k * drafting, seen);
        time += cost(k + 1) + k * drafting;
        at += 1 + right;
    }
    return time / n;
}

static void never_slower(void) {
    cost_fn *const costs[] = {steep, flat, steps, useless};
    for (int i = 0; i < 4; i++)
        for (int n = 64; n <= 4096; n *= 4) {
            tl_rng_seed(&rng, (uint64_t)(i * 100 + n));
            for (int p = 0; p <= 10; p++)
                for (int slow = 0; slow < 3; slow++) {
                    double t = simulate(costs[i], n, p * 0.1, 0, slow * 0.15);
                    CHECKF(t < (n == 64 ? 1.03 : 1.02), "cost %d, %d tokens, %d of 10 right, draft %d: %.4f", i, n, p, slow, t);
                }
            for (int stretch = 10; stretch < 200; stretch *= 2) {
                double t = simulate(costs[i], n, 0, stretch, 0);
                CHECKF(t < (n == 64 ? 1.03 : 1.02), "cost %d, %d tokens, stretches of %d: %.4f", i, n, stretch, t);
            }
        }
}

static void gains(void) {
    tl_rng_seed(&rng, 1);
    static const struct { cost_fn *cost; double p, most; } want[] = {
        {flat, 1, 0.2}, {flat, 0.8, 0.45}, {flat, 0.4, 0.75}, {steep, 1, 0.62}, {steep, 0.95, 0.75}, {steps, 0.9, 0.55}, {useless, 1, 1.02},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        double t = simulate(want[i].cost, 256, want[i].p, 0, 0);
        CHECKF(t < want[i].most, "gain %zu: %.3f of the time, expected %.3f", i, t, want[i].most);
    }
}

/* ---- faults ---- */

static void refusals(void) {
    tl_error err = {0};
    CHECK(!tl_draft_new(llama, &(tl_draft_options){.source = "magic"}, &err) && strstr(err.text, "magic"));
    CHECK(!tl_draft_new(llama, &(tl_draft_options){.max = TL_DRAFT_MAX + 1}, NULL) && !tl_draft_new(llama, &(tl_draft_options){.max = -1}, NULL));
    CHECK(!tl_draft_new(llama, &(tl_draft_options){.source = "model"}, NULL) && !tl_draft_new(llama, &(tl_draft_options){.model = llama}, NULL));
    err = (tl_error){0};
    CHECK(!tl_draft_new(llama, &(tl_draft_options){.source = "model", .model = gemma}, &err) && strstr(err.text, "vocabulary"));
    CHECK(tl_draft_source_name(0) && tl_draft_source_name(1) && !tl_draft_source_name(2) && !tl_draft_source_name(-1));
    tl_draft *d = tl_draft_new(llama, NULL, NULL);
    tl_sampler *smp = tl_sampler_new(qwen2, NULL, NULL);
    err = (tl_error){0};
    CHECK(d && !tl_generator_new(qwen2, smp, &(tl_generator_options){.draft = d}, &err) && strstr(err.text, "another model"));
    tl_sampler_free(smp);
    tl_draft_free(d);
}

int main(void) {
    qwen2 = open_model("tests/data/arch/qwen2/model.gguf");
    llama = open_model("tests/data/arch/llama3_rope/model.gguf");
    gemma = open_model("tests/data/arch/gemma3/model.gguf");
    qwen3 = open_model("tests/data/arch/qwen3/model.gguf");
    RUN(samplers);
    RUN(good_drafts_are_taken);
    RUN(endings);
    RUN(grammars);
    RUN(full_contexts);
    RUN(cancels);
    RUN(used_again);
    RUN(by_the_clock);
    RUN(lookup);
    RUN(never_slower);
    RUN(gains);
    RUN(refusals);
    tl_model_free(qwen2);
    tl_model_free(llama);
    tl_model_free(gemma);
    tl_model_free(qwen3);
    return tl_test_end();
}
