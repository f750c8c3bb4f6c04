/* SPDX-License-Identifier: MIT
 *
 * The forward pass: one function for prefill and decode, all architectures, all types. Every thread walks all steps;
 * barriers stand only where a step reads what other threads wrote: in and between the blocks' steps (model/block.h).
 * One row normalises and quantizes redundantly on each thread instead of meeting at a barrier (compute/matmul.c). */
#include "engine/session.h"

#include <math.h>

/* Embeddings and the angles' cosines and sines of this thread's rows. */
static void start_rows(struct tl_session *s, tl_worker *t) {
    const tl_hparams *hp = &s->m->hp;
    const tl_weight *w = &s->m->embd;
    tl_run *run = &s->run;
    int begin, end, half = hp->n_rot / 2, d = hp->n_embd;
    tl_split(run->n, 1, t->thread, t->n_threads, &begin, &end);
    for (int i = begin; i < end; i++) {
        float *x = run->x + (size_t)i * (size_t)d;
        const uint8_t *from = w->raw + (size_t)run->token[i] * w->row_bytes;
        if (tl_gguf_copy(s->m->gguf, from, w->row_bytes, t->row)) atomic_store(&s->unreadable, 1);
        tl_dequantize(w->type, t->row, x, d);
        if (hp->embd_scale != 1) t->k->scale(x, hp->embd_scale, d);
        if (s->m->positions) t->k->add(x, s->m->positions + (size_t)run->pos[i] * (size_t)d, d);
        for (int r = 0; r < TL_N_ROPES; r++) {
            if (r == TL_ROPE_LOCAL && !hp->window) continue;
            float *cs = run->cs + ((size_t)r * (size_t)run->n_batch + (size_t)i) * (size_t)hp->n_rot;
            const double *freq = s->inv_freq + (size_t)r * (size_t)half, magnitude = hp->rope[r].magnitude;
            for (int j = 0; j < half; j++) {
                double angle = (double)run->pos[i] * freq[j];
                cs[2 * j] = (float)(cos(angle) * magnitude);
                cs[2 * j + 1] = (float)(sin(angle) * magnitude);
            }
        }
    }
}

/* Only the wanted rows meet the vocabulary. */
static void head(struct tl_session *s, tl_worker *t, float *logits) {
    const tl_hparams *hp = &s->m->hp;
    size_t d = (size_t)hp->n_embd, v = (size_t)hp->n_vocab;
    if (t->thread == 0)
        for (int i = 0; i < s->n_want; i++)
            for (size_t j = 0; s->want[i] != i && j < d; j++) s->run.x[(size_t)i * d + j] = s->run.x[(size_t)s->want[i] * d + j];
    tl_pool_barrier(t->pool);
    const tl_weight *w[] = {&s->m->head};
    tl_prepare prep = {.src = s->run.x, .stride = d, .n = s->n_want, .k = (int)d, .norm = &s->m->output_norm,
                       .forms = tl_weight_forms(w, 1), .shared = s->run.acts};
    tl_acts a = tl_acts_prepare(t, &prep);
    tl_matmul(t, &a, &(tl_product){.w = &s->m->head, .bias = s->m->head_bias, .y = logits, .stride = v}, 1);
    if (hp->logit_softcap <= 0) return;
    tl_pool_barrier(t->pool);
    int begin, end;
    tl_split((int)v, 16, t->thread, t->n_threads, &begin, &end);
    for (int i = 0; i < s->n_want; i++)
        for (int j = begin; j < end; j++) {
            float *y = &logits[(size_t)i * v + (size_t)j];
            *y = hp->logit_softcap * tanhf(*y / hp->logit_softcap);
        }
}

typedef struct run { struct tl_session *s; float *logits; } run;

int tl_session_asked(struct tl_session *s, double done) {
    if (atomic_load_explicit(&s->cancelled, memory_order_relaxed)) return 1;
    return s->progress ? s->progress(s->progress_user, (s->at + s->run.n * done) / s->total) : 0;
}

static void forward_thread(void *arg, int thread, int n_threads) {
    run *r = arg;
    struct tl_session *s = r->s;
    const struct tl_model *m = s->m;
    tl_worker *t = &s->workers[thread];
    (void)n_threads;
    t->products = 0;
    start_rows(s, t);
    tl_pool_barrier(t->pool);
    tl_mark(&s->run, t, TL_OP_EMBED);
    for (int i = 0, next; i < m->n_blocks; i = next) {
        if (thread == 0) s->cancel = tl_session_asked(s, (double)i / m->n_blocks);
        const tl_block *b = &m->blocks[i];
        /* All that read the same have read before anything is added to it. */
        for (next = i; next == i || (next < m->n_blocks && m->blocks[next].with_previous); next++)
            tl_block_kinds[m->blocks[next].kind]->in(&s->run, t, &m->blocks[next]);
        int cancel = s->cancel;   /* written before the barrier of `in`, next written behind that of `out` */
        for (; b < &m->blocks[next]; b++) tl_block_kinds[b->kind]->out(&s->run, t, b);
        if (cancel) return;
    }
    if (s->n_want) head(s, t, r->logits);
}

int tl_forward(struct tl_session *s, float *logits) {
    run r = {s, logits};
    tl_profile *profile = s->run.profile;
    s->cancel = 0;
    for (int i = 0; i < TL_POOL_COUNTERS; i++) tl_pool_rewind(s->pool, i);
    if (profile) profile->last = tl_now();
    tl_pool_set_long_steps(s->pool, s->run.n >= 8);
    tl_pool_run(s->pool, forward_thread, &r);
    if (profile) profile->seconds[TL_OP_HEAD] += tl_now() - profile->last;
    if (atomic_exchange(&s->unreadable, 0)) return TL_E_IO;
    return s->cancel ? TL_E_CANCELLED : TL_OK;
}
