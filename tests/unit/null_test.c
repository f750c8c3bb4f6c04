/* SPDX-License-Identifier: MIT
 * null_test.c: every function of tinyllm.h with NULL for each of its pointers, and with numbers whose sums overflow. */
#include "test.h"

#include <limits.h>
#include <math.h>
#include "tinyllm.h"

/* A negative code and the same in err, with a text. */
#define REFUSES(call) do { \
    tl_error err = {0}; \
    int rc = (int)(call); \
    CHECKF(rc == TL_E_ARGUMENT && err.code == rc && err.text[0], "%s: %d, %d %s", #call, rc, err.code, err.text); } while (0)
#define MAKES_NOTHING(call) do { \
    tl_error err = {0}; \
    CHECKF(!(call) && err.code == TL_E_ARGUMENT && err.text[0], "%s: %d %s", #call, err.code, err.text); } while (0)

static tl_model *open_tiny(void) {
    tl_error err = {0};
    tl_model *m = tl_model_open("tests/data/arch/qwen2/model.gguf", NULL, &err);
    CHECKF(m, "%s", err.text);
    return m;
}

static void no_model(void) {
    int32_t ids[4] = {1, 2, 3, 4};
    char text[8];
    int n = 3;
    MAKES_NOTHING(tl_model_open(NULL, NULL, &err));
    CHECK(!tl_model_open(NULL, NULL, NULL));
    CHECK(tl_version() && tl_model_options_default().cpu == NULL && tl_session_options_default().n_ctx == 0);
    tl_model_info i = tl_model_get_info(NULL);
    CHECK(i.n_vocab == 0 && i.arch && i.name && i.cpu);
    CHECK(!tl_model_warning(NULL) && !tl_model_chat_template(NULL) && !tl_token_piece(NULL, 0));
    REFUSES(tl_tokenize(NULL, "a", 1, 0, ids, 4, &err));
    CHECK(tl_token_text(NULL, 1, text, 8) == 0 && tl_detokenize(NULL, ids, 4, 0, text, 8) == 0);
    CHECK(!tl_token_is_end(NULL, 0) && tl_token_bos(NULL) == -1 && tl_token_eos(NULL) == -1 && !tl_adds_bos(NULL));
    MAKES_NOTHING(tl_session_new(NULL, NULL, &err));
    CHECK(!tl_kv_type_name(-1) && tl_kv_type_name(TL_KV_TYPE_Q4_0) && !tl_kv_type_name(INT_MAX));
    MAKES_NOTHING(tl_sampler_new(NULL, NULL, &err));
    MAKES_NOTHING(tl_chat_render(NULL, NULL, &err));
    CHECK(!tl_chat_text(NULL, NULL) && !tl_chat_runs(NULL, NULL) && !tl_chat_runs(NULL, &n) && n == 0 && !tl_chat_ids(NULL, NULL));
    tl_model_free(NULL);
    tl_session_free(NULL);
    tl_sampler_free(NULL);
    tl_chat_free(NULL);
}

static void no_session(void) {
    int32_t id = 1;
    tl_batch b = {.n = 1, .token = &id};
    REFUSES(tl_session_eval(NULL, &b, &err));
    REFUSES(tl_session_append(NULL, &id, 1, &err));
    REFUSES(tl_session_fork(NULL, 0, 0, &err));
    CHECK(!tl_session_logits(NULL, 0) && tl_session_pos(NULL, 0) == 0 && tl_session_ctx(NULL) == 0);
    REFUSES(tl_session_prompt(NULL, 0, &id, 1, &err));
    REFUSES(tl_session_save(NULL, 0, &id, 4, &err));
    REFUSES(tl_session_load(NULL, 0, &id, 4, &err));
    REFUSES(tl_session_save_file(NULL, 0, "/nonexistent/x", &err));
    REFUSES(tl_session_load_file(NULL, 0, "/nonexistent/x", &err));
    CHECK(tl_session_save_size(NULL, 0) == 0 && tl_session_tokens(NULL, 0, &id, 1) == 0);
    CHECK(tl_session_threads(NULL) == 0 && tl_session_bytes(NULL) == 0);
    tl_session_truncate(NULL, 0, 0);
    tl_session_set_progress(NULL, NULL, NULL);
    tl_session_cancel(NULL);
    tl_step step;
    MAKES_NOTHING(tl_generator_new(NULL, NULL, NULL, &err));
    REFUSES(tl_generator_step(NULL, NULL, &step, &err));
    REFUSES(tl_generator_end(NULL, TL_END_CANCELLED, &step, &err));
    REFUSES(tl_generate(NULL, 0, NULL, NULL, NULL, &err));
    CHECK(tl_generator_get_stats(NULL).n_tokens == 0 && tl_generator_options_default().max_tokens == -1 && tl_finish_name(TL_GOING));
    tl_generator_free(NULL);
    MAKES_NOTHING(tl_draft_new(NULL, NULL, &err));
    CHECK(!tl_draft_options_default().source && tl_draft_source_name(0));
    tl_draft_free(NULL);
}

static void no_texts_or_ids(void) {
    tl_model *m = open_tiny();
    int32_t ids[4] = {1, 2, 3, 4};
    char out[16];
    tl_utf8_stream u = {0};
    REFUSES(tl_tokenize(m, NULL, 1, 0, ids, 4, &err));
    REFUSES(tl_tokenize(m, "abc", 3, 0, NULL, 4, &err));
    CHECK(tl_tokenize(m, NULL, 0, 0, NULL, 0, NULL) == 0 && tl_tokenize(m, "abc", 3, 0, NULL, 0, NULL) > 0);
    CHECK(tl_token_text(m, 1, NULL, 8) == tl_token_text(m, 1, out, 16) && tl_token_text(m, 1, out, INT_MIN) >= 0);
    CHECK(tl_detokenize(m, NULL, 4, 0, out, 16) == 0 && tl_detokenize(m, ids, 4, 0, NULL, 16) == tl_detokenize(m, ids, 4, 0, out, 16));
    CHECK(tl_detokenize(m, ids, -1, 0, out, 16) == 0 && !tl_token_piece(m, -1) && !tl_token_piece(m, INT32_MAX));
    CHECK(tl_utf8_push(NULL, "a", 1, 0, out) == 0 && tl_utf8_push(&u, NULL, 1, 0, out) == 0 && tl_utf8_push(&u, "a", 1, 0, NULL) == 0);
    CHECK(tl_utf8_push(&u, NULL, 0, 1, out) == 0 && tl_utf8_push(&u, "a", 1, 1, out) == 1);
    tl_model_free(m);
}

static void wrong_batches(void) {
    tl_model *m = open_tiny();
    tl_session_options o = {.n_ctx = 8, .n_seq = 2};
    tl_session *s = m ? tl_session_new(m, &o, NULL) : NULL;
    int32_t ids[8] = {1, 2, 3, 4, 5, 6, 7, 8}, seq[8] = {0, 1, 0, 1, 0, 1, 0, 1};
    tl_error fault = {0};
    CHECK(s && tl_session_append(s, ids, 1, NULL) == TL_OK);
    REFUSES(tl_session_eval(s, NULL, &err));
    REFUSES(tl_session_append(s, NULL, 3, &err));
    REFUSES(tl_session_append(s, ids, 0, &err));
    REFUSES(tl_session_append(s, ids, -1, &err));
    REFUSES(tl_session_append(s, ids, INT_MIN, &err));
    /* Numbers far beyond what the caller has: refused before anything is read. */
    CHECK(tl_session_append(s, ids, INT_MAX, &fault) == TL_E_CONTEXT && strstr(fault.text, "2147483648 tokens"));
    CHECK(tl_session_append(s, ids, 8, NULL) == TL_E_CONTEXT && tl_session_append(s, ids, 7, NULL) == TL_OK);
    CHECK(tl_session_pos(s, 0) == 8);
    tl_session_truncate(s, 0, 0);
    CHECK(tl_session_eval(s, &(tl_batch){.n = 8, .token = ids, .seq = seq}, NULL) == TL_OK);
    CHECK(tl_session_eval(s, &(tl_batch){.n = 8, .token = ids, .seq = seq}, NULL) == TL_OK);
    CHECK(tl_session_eval(s, &(tl_batch){.n = 1, .token = ids, .seq = seq + 1}, NULL) == TL_E_CONTEXT);
    CHECK(tl_session_pos(s, 0) == 8 && tl_session_pos(s, 1) == 8 && tl_session_pos(s, -1) == 0 && tl_session_pos(s, INT_MAX) == 0);
    CHECK(!tl_session_logits(s, -1) && !tl_session_logits(s, INT_MAX));
    tl_session_truncate(s, INT_MAX, 0);
    tl_session_truncate(s, 0, INT_MIN);
    CHECK(tl_session_pos(s, 0) == 0);
    REFUSES(tl_session_fork(s, 0, INT_MAX, &err));
    tl_session_free(s);
    tl_model_free(m);
}

/* Two sequences with pages for one and a half: what does not fit changes nothing. */
static void one_budget_for_all_sequences(void) {
    tl_model *m = open_tiny();
    tl_session *s = m ? tl_session_new(m, &(tl_session_options){.n_ctx = 128, .n_seq = 2, .n_positions = 192}, NULL) : NULL;
    int32_t ids[128] = {0}, seq[128];
    tl_error fault = {0};
    for (int i = 0; i < 128; i++) seq[i] = 1;
    CHECK(s && tl_session_append(s, ids, 128, NULL) == TL_OK);
    CHECK(tl_session_eval(s, &(tl_batch){.n = 65, .token = ids, .seq = seq}, &fault) == TL_E_CONTEXT && strstr(fault.text, "pages"));
    CHECK(tl_session_pos(s, 1) == 0 && tl_session_eval(s, &(tl_batch){.n = 64, .token = ids, .seq = seq}, NULL) == TL_OK);
    CHECK(tl_session_fork(s, 0, 1, NULL) == TL_OK && tl_session_truncate(s, 1, 100) == 100 && tl_session_truncate(s, 1, 500) == 100);
    CHECK(tl_session_eval(s, &(tl_batch){.n = 28, .token = ids, .seq = seq}, NULL) == TL_OK);   /* copies the shared page */
    CHECK(!tl_session_new(m, &(tl_session_options){.n_positions = -1}, NULL));
    tl_session_free(s);
    tl_model_free(m);
}

static void no_grammar(void) {
    tl_model *m = open_tiny();
    static const char gbnf[] = "root ::= .*";
    tl_grammar *g = tl_grammar_new(m, gbnf, sizeof gbnf - 1, NULL);
    MAKES_NOTHING(tl_grammar_new(NULL, gbnf, 1, &err));
    MAKES_NOTHING(tl_grammar_new(m, NULL, 1, &err));
    MAKES_NOTHING(tl_grammar_new_schema(NULL, "{}", 2, &err));
    MAKES_NOTHING(tl_grammar_new_schema(m, NULL, 2, &err));
    MAKES_NOTHING(tl_grammar_new_regex(NULL, "a", &err));
    MAKES_NOTHING(tl_grammar_new_regex(m, NULL, &err));
    CHECK(g && tl_grammar_mask(g, NULL) && !tl_grammar_new(m, "", 0, NULL));
    MAKES_NOTHING(tl_grammar_mask(NULL, &err));
    REFUSES(tl_grammar_accept(NULL, 1, &err));
    REFUSES(tl_grammar_accept(g, -1, &err));
    REFUSES(tl_grammar_accept(g, INT32_MAX, &err));
    CHECK(tl_grammar_ends(NULL) == 0 && tl_grammar_ends(g) == 1);
    tl_grammar_reset(NULL);
    tl_grammar_free(NULL);
    tl_grammar_free(g);
    tl_model_free(m);
}

static void wrong_samplers(void) {
    tl_model *m = open_tiny();
    tl_sampler *smp = m ? tl_sampler_new(m, NULL, NULL) : NULL;
    float logits[1] = {0};
    tl_sampler_options o = tl_sampler_options_default();
    REFUSES(tl_sampler_pick(NULL, logits, &err));
    REFUSES(tl_sampler_pick(smp, NULL, &err));
    CHECK(isnan(tl_logprobs(NULL, logits, 0, NULL, 1)) && isnan(tl_logprobs(m, NULL, 0, NULL, 1)));
    CHECK(tl_sampler_seed(NULL) == -1 && tl_sampler_seed(smp) >= 0);
    tl_sampler_accept(NULL, 1);
    tl_sampler_accept(smp, -1);
    tl_sampler_accept(smp, INT32_MAX);
    o.n_bias = 1;
    MAKES_NOTHING(tl_sampler_new(m, &o, &err));
    o.n_bias = INT_MIN;
    MAKES_NOTHING(tl_sampler_new(m, &o, &err));
    tl_sampler_free(smp);
    tl_model_free(m);
}

int main(void) {
    RUN(no_model);
    RUN(no_session);
    RUN(no_texts_or_ids);
    RUN(wrong_batches);
    RUN(one_budget_for_all_sequences);
    RUN(no_grammar);
    RUN(wrong_samplers);
    return tl_test_end();
}
