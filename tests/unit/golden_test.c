/* SPDX-License-Identifier: MIT
 * Logits of tiny models against those of independent implementations:
 *   tests/data/golden          every architecture and its variants; models made by tools/mkmodel.c, logits by tools/reference.py
 *   tests/data/arch            models and logits by transformers
 *   golden/arch, golden/arch2  in the shared folder: more of these. arch2 has families that are not supported; each is
 *                              counted as skipped.
 * Whole and in chunks, exact and packed, and the same bits for every number of threads and every chunk.
 *
 * golden_test values: only the exact logits of the first, with the largest difference of each (for tools/mutate.py). Under
 * emulation the shared folder is left out, and the first run few times. */
#define main mkmodel
#include "../../tools/mkmodel.c"
#undef main
#include "test.h"
#include "golden.inc"

#include <dirent.h>
#include <unistd.h>

/* ---- models made here --------------------------------------------------------------------------------------------- */

enum { MAX_IDS = 256, MAX_WANT = 32, MAX_ARGS = 64 };

static int32_t ids[MAX_IDS];
static int want[MAX_WANT], n_ids, n_want;
static char line[4096], *args[MAX_ARGS], made_path[64];   /* name, context, options of mkmodel */
static int n_args, values_only, few_runs;

/* As tools/reference.py has it. */
static uint64_t checksum(const char *path) {
    tl_gguf *g = tl_gguf_open(path, 0, NULL);
    uint64_t sum = 0;
    for (uint64_t i = 0; g && i < g->n_tensors; i++) {
        const tl_gguf_tensor *t = &g->tensors[i];
        uint64_t h = 0xcbf29ce484222325u;
        for (uint64_t j = 0; j < t->name.n; j++) h = (h ^ (unsigned char)t->name.p[j]) * 0x100000001b3u;
        for (size_t j = 0; j < t->bytes / 4; j++) h = (h ^ ((const uint32_t *)(const void *)t->data)[j]) * 0x100000001b3u;
        sum += h;
    }
    tl_gguf_free(g);
    return sum;
}

/* Largest difference at the wanted positions. */
static double worst_wanted(const float *got, const float *ref, size_t v) {
    double w = 0;
    for (int i = 0; i < n_want; i++) w = fmax(w, worst(got + (size_t)want[i] * v, ref + (size_t)i * v, v));
    return w;
}

/* float32 against float64 differs by 3e-5 at most; a wrong detail by 100 times the bound. */
static void check_values(const tl_model *m, const float *ref, int n_ctx) {
    size_t v = (size_t)tl_model_get_info(m).n_vocab;
    const int chunks[] = {n_ids, 3, 1, 7};
    for (int i = 0; i < (few_runs ? 2 : 4); i++) {
        float *got = logits_of(m, ids, n_ids, (setting){TL_KV_TYPE_F32, 2, n_ctx, chunks[i]});
        double w = worst_wanted(got, ref, v);
        if (values_only) printf("difference %g\n", w);
        CHECKF(w <= 2e-4, "%s: chunk %d: %g from the reference", args[0], chunks[i], w);
        free(got);
    }
}

/* Bits do not depend on threads or chunks, on any path a model can take. */
static void check_bits(const tl_model *m, int kv, int n_ctx) {
    size_t bytes = (size_t)n_ids * (size_t)tl_model_get_info(m).n_vocab * sizeof(float);
    float *ref = logits_of(m, ids, n_ids, (setting){kv, 1, n_ctx, n_ids});
    for (int threads = 1; threads <= 3; threads++)
        for (int chunk = threads == 1 ? 1 : 5; chunk <= 9; chunk += 4) {
            float *got = logits_of(m, ids, n_ids, (setting){kv, threads, n_ctx, chunk});
            CHECKF(!memcmp(ref, got, bytes), "%s: %s cache, %d threads, chunk %d: bits differ", args[0], tl_kv_type_name(kv), threads, chunk);
            free(got);
        }
    free(ref);
}

static void made(void) {
    char path[128];
    uint64_t sum = 0;
    size_t n = 0;
    snprintf(path, sizeof path, "tests/data/golden/%s.f32", args[0]);
    float *ref = read_floats(path, &sum, sizeof sum, &n);
    CHECKF(ref, "%s cannot be read", path);
    char *argv[MAX_ARGS] = {"mkmodel", made_path};
    for (int i = 2; i < n_args; i++) argv[i] = args[i];
    int rc = mkmodel(n_args, argv), n_ctx = atoi(args[1]);
    CHECKF(!rc && checksum(made_path) == sum, "mkmodel makes another model than the one that %s is of (tools/reference.py --write)", path);
    for (int exact = 1; ref && !rc && exact >= few_runs; exact--) {
        tl_model *m = open_model(made_path, exact, NULL);
        if (!m) break;
        size_t v = (size_t)tl_model_get_info(m).n_vocab;
        CHECKF(n == (size_t)n_want * v, "%s has %zu numbers", path, n);
        if (n == (size_t)n_want * v && exact) check_values(m, ref, n_ctx);
        else if (n == (size_t)n_want * v) {
            float *got = logits_of(m, ids, n_ids, (setting){TL_KV_TYPE_F16, 2, n_ctx, n_ids});
            double w = worst_wanted(got, ref, v);
            CHECKF(w <= 0.1, "%s, packed: %g from the reference", args[0], w);
            free(got);
        }
        for (int kv = TL_KV_TYPE_F16; !few_runs && tl_kv_type_name(kv); kv++)
            if (!exact || kv == TL_KV_TYPE_F16) check_bits(m, kv, n_ctx);
        tl_model_free(m);
    }
    free(ref);
    remove(made_path);
}

/* Each architecture of the table has a model. */
static char archs_made[1024];
static void every_architecture(void) {
    for (size_t i = 0; tl_arch_name(i); i++) {
        char word[64];
        snprintf(word, sizeof word, " %s ", tl_arch_name(i));
        CHECKF(strstr(archs_made, word), "tests/data/golden/models.txt has no model of %s", tl_arch_name(i));
    }
}

/* What only prompts of thousands of tokens would show. */
static void default_window(void) {
    char *argv[] = {"mkmodel", made_path, "--arch", "gemma2", "--embd", "64", "--key", "attention.sliding_window="};
    CHECK(mkmodel(8, argv) == 0);
    tl_model *m = open_model(made_path, 1, NULL);
    if (m) CHECKF(m->hp.layers[0].window == 4096 && m->hp.layers[1].window == 0, "gemma2 has a window of %d", m->hp.layers[0].window);
    tl_model_free(m);
    remove(made_path);
}

static void read_numbers(char *text, int32_t *v, int *n, int max) {
    for (char *word = strtok(text, " \n"); word && *n < max; word = strtok(NULL, " \n")) v[(*n)++] = atoi(word);
}

static void made_models(void) {
    FILE *f = fopen("tests/data/golden/models.txt", "r");
    char name[128];
    snprintf(made_path, sizeof made_path, "/tmp/tl_golden_%ld.gguf", (long)getpid());
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "ids ", 4) == 0) read_numbers(line + 4, ids, &n_ids, MAX_IDS);
        else if (strncmp(line, "want ", 5) == 0) read_numbers(line + 5, want, &n_want, MAX_WANT);
        else if (*line != '#' && *line != '\n') {
            n_args = 0;
            for (char *word = strtok(line, " \n"); word && n_args < MAX_ARGS - 1; word = strtok(NULL, " \n")) args[n_args++] = word;
            for (int i = 2; i + 1 < n_args; i++)
                if (strcmp(args[i], "--arch") == 0)
                    snprintf(archs_made + strlen(archs_made), sizeof archs_made - strlen(archs_made), " %s ", args[i + 1]);
            snprintf(name, sizeof name, "made/%s", args[0]);
            test_run(name, made);
        }
    }
    if (f) fclose(f);
    RUN(every_architecture);
    RUN(default_window);
}

/* ---- folders of models --------------------------------------------------------------------------------------------- */

static char folder[4096];
static int may_be_unknown;

/* The word or number behind "key": in meta.json; 0 without it. */
static int meta(const char *key, char *out, size_t size) {
    char path[4200], text[1 << 16], quoted[64];
    snprintf(path, sizeof path, "%s/meta.json", folder);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(text, quoted);
    if (!at) return 0;
    at += strlen(quoted) + (at[strlen(quoted)] == '"');
    snprintf(out, size, "%.*s", (int)strcspn(at, "\",}\n"), at);
    return 1;
}

static double tolerance(const char *key) {
    char text[64];
    if (strstr(folder, "/gptneox_seq")) return 0.005;   /* the reference has GELU's tanh form, the architecture the exact one */
    return meta(key, text, sizeof text) ? strtod(text, NULL) : INFINITY;
}

/* Of phi3_longrope_long it must be above 16, of _short at most 1024; gpt2 has 128 positions. */
static int context(const prompt *p) { return p->n + p->n_greedy <= 128 ? 128 : 256; }

static void check_greedy(const tl_model *m, const prompt *p) {
    tl_session *s = open_context(m, TL_KV_TYPE_F32, 2, 1, context(p));
    tl_sampler_options so = tl_sampler_options_default();
    so.temp = 0;
    tl_error err = {0};
    tl_sampler *smp = tl_sampler_new(m, &so, &err);
    int rc = s && smp ? tl_session_append(s, p->ids, p->n, &err) : -1;
    for (int i = 0; !rc && i < p->n_greedy; i++) {
        int32_t id = tl_sampler_pick(smp, tl_session_logits(s, 0), &err);
        CHECKF(id == p->greedy[i], "%s: greedy token %d is %d, expected %d", folder, i, id, p->greedy[i]);
        rc = tl_session_append(s, &p->greedy[i], 1, &err);
    }
    CHECKF(!rc, "%s", err.text);
    tl_sampler_free(smp);
    tl_session_free(s);
}

/* A q8_0 code is off by amax/127/sqrt(12) rms, an f16 value of amax/2 by about amax/2 * 2^-12/sqrt(3): 32 times less,
 * and queries are quantized as well: 45 times. The models show 27 to 35, llama_linear 70;
 * the tiny random models magnify what trained ones average out. Maxima scatter too much to be bounded. */
static void check_caches(const tl_model *m, const prompt *p, const float *ref, size_t n) {
    float *got = logits_of(m, p->ids, p->n, (setting){TL_KV_TYPE_F16, 1, context(p), p->n});
    double w = worst(got, ref, n), e16 = rms(got, ref, n);
    CHECKF(w <= tolerance("max_abs_f16_kv"), "%s: prompt %d, f16 cache: %g from the reference", folder, p->index, w);
    free(got);
    got = logits_of(m, p->ids, p->n, (setting){TL_KV_TYPE_Q8_0, 1, context(p), p->n});
    CHECKF(rms(got, ref, n) <= 90 * e16, "%s: prompt %d, q8_0 cache: %g rms from the reference, f16 %g", folder, p->index,
           rms(got, ref, n), e16);
    free(got);
}

static void check_prompt(const tl_model *m, const prompt *p, const float *ref, size_t n) {
    const int chunks[] = {p->n, 1, 3, 7, 64};
    for (int i = 0; i < 5; i++) {
        if (chunks[i] > p->n) continue;
        float *got = logits_of(m, p->ids, p->n, (setting){TL_KV_TYPE_F32, 2, context(p), chunks[i]});
        double w = worst(got, ref, n);
        CHECKF(w <= tolerance("max_abs_f32"), "%s: prompt %d, chunk %d: %g from the reference", folder, p->index, chunks[i], w);
        free(got);
    }
    if (p->index == 0) check_caches(m, p, ref, n), check_greedy(m, p);
}

static tl_model *open_golden(tl_error *err) {
    char path[4200], model[256] = "model.gguf";
    meta("model", model, sizeof model);
    snprintf(path, sizeof path, "%s/%s", folder, model);
    tl_model_options o = tl_model_options_default();
    o.exact = 1;
    return tl_model_open(path, &o, err);
}

static void golden(void) {
    static prompt p;
    static char why[200];
    char path[4200];
    tl_error err = {0};
    int n_prompts = 0;
    if (strstr(folder, "/gptoss") && !strstr(folder, "_notrunc")) SKIP("its YaRN range is rounded, as published models' is not");
    tl_model *m = open_golden(&err);
    const char *text = strstr(err.text, ".gguf: ") ? strstr(err.text, ".gguf: ") + 7 : err.text;
    if (!m && err.code == TL_E_UNSUPPORTED && may_be_unknown) {
        snprintf(why, sizeof why, "%.*s", (int)strcspn(text, ";"), text);
        SKIP(why);
    }
    CHECKF(m, "%s", err.text);
    snprintf(path, sizeof path, "%s/tokens.txt", folder);
    FILE *f = fopen(path, "r");
    while (m && f && next_prompt(f, &p)) {
        size_t n = 0, v = (size_t)tl_model_get_info(m).n_vocab;
        snprintf(path, sizeof path, "%s/logits_%d.f32", folder, p.index);
        float *ref = read_floats(path, NULL, 0, &n);
        snprintf(path, sizeof path, "%s/embedding_%d.f32", folder, p.index);
        if (!ref && access(path, R_OK) == 0) test_why_skipped = "embeddings are not computed yet";
        else if (ref && n == (size_t)p.n * v) check_prompt(m, &p, ref, n);
        else CHECKF(0, "%s: logits of prompt %d are missing or of another size", folder, p.index);
        free(ref);
        n_prompts++;
    }
    CHECKF(n_prompts > 0, "%s: no prompts", folder);
    if (f) fclose(f);
    tl_model_free(m);
}

/* All folders below root. */
static void golden_models(const char *root, const char *set, int unknown) {
    struct dirent **list = NULL;
    char name[300];
    int n = scandir(root, &list, NULL, alphasort);
    may_be_unknown = unknown;
    for (int i = 0; i < n; i++) {
        snprintf(folder, sizeof folder, "%s/%s/tokens.txt", root, list[i]->d_name);
        if (*list[i]->d_name != '.' && access(folder, R_OK) == 0) {
            *strrchr(folder, '/') = 0;
            snprintf(name, sizeof name, "%s/%s", set, list[i]->d_name);
            test_run(name, golden);
        }
        free(list[i]);
    }
    free(list);
}

static void shared_models(void) { SKIP("golden/arch and golden/arch2 are not there"); }
static void shared_models_emulated(void) { SKIP("emulated: too slow"); }

int main(int argc, char **argv) {
    char root[2][4096] = {"", ""};
    values_only = argc > 1 && strcmp(argv[1], "values") == 0;
    few_runs = values_only || test_emulated();
    made_models();
    if (values_only) return tl_test_end();
    golden_models("tests/data/arch", "arch", 0);
    if (test_emulated()) {
        RUN(shared_models_emulated);
        return tl_test_end();
    }
    for (int i = 0; i < 2; i++) {
        const char *file = test_shared(i ? "golden/arch2/summary.json" : "golden/arch/summary.json");
        if (file) snprintf(root[i], sizeof root[i], "%.*s", (int)(strrchr(file, '/') - file), file);
    }
    if (!*root[0] && !*root[1]) RUN(shared_models);
    if (*root[0]) golden_models(root[0], "shared/arch", 0);
    if (*root[1]) golden_models(root[1], "shared/arch2", 1);
    return tl_test_end();
}
