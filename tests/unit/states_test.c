/* SPDX-License-Identifier: MIT
 * States with checkpoints against a model that computes them anew from the positions a sequence has seen. */
#include "test.h"
#include "kv/states.h"

enum { SEQS = 3, SLOTS = 3, MAX = 400 };

static const size_t bytes[SLOTS] = {40, 64, 200};
static uint32_t rng = 77;
static uint32_t next(void) { return (rng = rng * 1664525u + 1013904223u) >> 8; }

/* What a sequence has seen, and the checkpoints it must have. */
typedef struct seen { uint32_t what[MAX]; int n, kept[MAX], n_kept; } seen;

/* A recurrence: each byte depends on all positions before, in their order. */
static void step(uint8_t *state, size_t n, uint32_t what) {
    for (size_t i = 0; i < n; i++) state[i] = (uint8_t)(state[i] * 5 + (what >> i % 16) + i);
}

static void check(const tl_states *s, int seq, const seen *m) {
    CHECK(s->n_pos[seq] == m->n && s->n[seq] == m->n_kept);
    for (int slot = 0; slot < SLOTS; slot++) {
        uint8_t want[256] = {0};
        for (int i = 0; i < m->n; i++) step(want, bytes[slot], m->what[i]);
        CHECKF(!memcmp(tl_states_at(s, slot, seq), want, bytes[slot]), "sequence %d, slot %d, %d positions", seq, slot, m->n);
        CHECK((uintptr_t)tl_states_at(s, slot, seq) % 64 == 0);
    }
}

static void add(tl_states *s, int seq, seen *m) {
    if (m->n == MAX) return;
    m->what[m->n] = next();
    for (int slot = 0; slot < SLOTS; slot++) step(tl_states_at(s, slot, seq), bytes[slot], m->what[m->n]);
    s->n_pos[seq] = ++m->n;
}

static void keep(tl_states *s, int seq, seen *m) {
    tl_states_keep(s, seq);
    if (!s->n_kept || m->n == (m->n_kept ? m->kept[m->n_kept - 1] : 0)) return;
    if (m->n_kept == s->n_kept) memmove(m->kept, m->kept + 1, (size_t)--m->n_kept * sizeof *m->kept);
    m->kept[m->n_kept++] = m->n;
}

static void cut(tl_states *s, int seq, seen *m, int n) {
    if (n < m->n) {
        while (m->n_kept && m->kept[m->n_kept - 1] > n) m->n_kept--;
        m->n = m->n_kept ? m->kept[m->n_kept - 1] : 0;
    }
    CHECK(tl_states_truncate(s, seq, n) == m->n);
}

static void random_operations(void) {
    static seen m[SEQS];
    for (int n_kept = 0; n_kept <= 5; n_kept++) {
        tl_states s;
        tl_error err = {0};
        memset(m, 0, sizeof m);
        CHECKF(tl_states_init(&s, bytes, SLOTS, SEQS, n_kept, &err) == TL_OK, "%s", err.text);
        for (int op = 0; op < 3000; op++) {
            int seq = (int)(next() % SEQS), to = (int)(next() % SEQS), what = (int)(next() % 40);
            if (what < 26) add(&s, seq, &m[seq]);
            else if (what < 34) keep(&s, seq, &m[seq]);
            else if (what < 37) cut(&s, seq, &m[seq], m[seq].n - (int)(next() % 12));
            else if (what < 39) tl_states_fork(&s, seq, to), m[to] = m[seq];
            else if (next() % 4 == 0) tl_states_clear(&s, seq), m[seq].n = m[seq].n_kept = 0;
            for (int i = 0; i < SEQS; i++) check(&s, i, &m[i]);
        }
        tl_states_done(&s);
    }
}

static void absurd_sizes_are_errors(void) {
    static const size_t huge[2] = {SIZE_MAX - 8, SIZE_MAX / 2}, large[1] = {SIZE_MAX / 4};
    tl_states s;
    tl_error err = {0};
    CHECK(tl_states_init(&s, huge, 1, 1, 0, &err) == TL_E_MEMORY && strstr(err.text, "states"));
    CHECK(tl_states_init(&s, huge + 1, 1, 4, 4, NULL) == TL_E_MEMORY);
    CHECK(tl_states_init(&s, large, 1, 1, 3, NULL) == TL_E_MEMORY && !s.mem && !s.first);
}

int main(void) {
    RUN(random_operations);
    RUN(absurd_sizes_are_errors);
    return tl_test_end();
}
