/* SPDX-License-Identifier: MIT
 *
 * masks.c: what the masks of JSON schemas cost with the vocabulary of a GGUF file, for docs/GRAMMAR.md.
 *
 *     make build/tools/masks && build/tools/masks VOCAB.gguf [texts for each schema] <tests/data/schemas.txt
 *
 * Reads one schema a line, with or without "ok " before it. Texts are random: at each place one of the allowed tokens,
 * every third time a short one, which ends strings sooner. Prints milliseconds: the grammar, the first mask, the mean over
 * the tokens of all texts, the worst. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/base.h"
#include "tinyllm.h"

enum { TOKENS = 200, MOST = 1 << 19 };
static int32_t choice[MOST];
static uint32_t seed = 1;

/* Seconds of processor time, so that other programs do not count. */
static double cpu(void) { return (double)clock() / CLOCKS_PER_SEC; }

static int below(int n) {
    seed = seed * 1664525u + 1013904223u;
    return (int)((uint64_t)(seed >> 4) * (uint32_t)n >> 28);
}

static int pick(const tl_model *m, const uint32_t *mask, int n_vocab) {
    for (int is_short = below(3) == 0; is_short >= 0; is_short--) {
        int n = 0;
        for (int id = 0; id < n_vocab; id++)
            if (mask[id >> 5] >> (id & 31) & 1 && (!is_short || tl_token_text(m, id, NULL, 0) <= 2)) choice[n++] = id;
        if (n) return choice[below(n)];
    }
    return -1;
}

static int measure(const tl_model *m, const char *schema, int texts, double *total) {
    tl_error err = {0};
    const int n_vocab = tl_model_get_info(m).n_vocab;
    double t = cpu();
    tl_grammar *g = tl_grammar_new_schema(m, schema, strlen(schema), &err);
    const double made = cpu() - t;
    double first = 0, all = 0, worst = 0;
    int n = 0;
    for (int i = 0; g && i < texts; i++, tl_grammar_reset(g))
        for (int k = 0; k < TOKENS && !err.code && tl_grammar_ends(g) < 2; k++) {
            t = cpu();
            const uint32_t *mask = tl_grammar_mask(g, &err);
            double took = cpu() - t;
            int id = mask ? pick(m, mask, n_vocab) : -1;
            if (id < 0) break;
            t = cpu();
            tl_grammar_accept(g, id, &err);
            took += cpu() - t;
            if (!n++) first = took;
            if (took > worst) worst = took;
            all += took;
            if (tl_token_is_end(m, id)) break;
        }
    if (!g || err.code) printf("%.150s: %s\n", schema, err.text);
    else printf("%8.2f %8.2f %8.3f %8.2f %6d  %.100s\n", made * 1e3, first * 1e3, all * 1e3 / (n + !n), worst * 1e3, n, schema);
    total[0] += all, total[1] += n;
    tl_grammar_free(g);
    return g != NULL;
}

int main(int argc, char **argv) {
    tl_error err = {0};
    tl_model_options o = tl_model_options_default();
    size_t n;
    double total[2] = {0, 0};
    o.vocab_only = 1;
    tl_model *m = tl_model_open(argc > 1 ? argv[1] : "", &o, &err);
    char *text = m ? tl_read_stream(stdin, "stdin", &n, &err) : NULL;
    if (text && tl_model_get_info(m).n_vocab <= MOST) {
        printf("%8s %8s %8s %8s %6s  (milliseconds)\n", "grammar", "first", "mean", "worst", "tokens");
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            if (*line == '{' || strncmp(line, "ok ", 3) == 0) measure(m, line + (*line == 'o' ? 3 : 0), argc > 2 ? atoi(argv[2]) : 3, total);
        printf("%.0f tokens, %.3f ms each\n", total[1], total[0] * 1e3 / (total[1] + !total[1]));
    }
    tl_free(text);
    tl_model_free(m);
    if (err.code) fprintf(stderr, "%s\n", err.text);
    return err.code != 0;
}
