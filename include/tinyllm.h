/* SPDX-License-Identifier: MIT
 *
 * tinyllm.h: the whole public interface of libtinyllm.
 *
 *   model    a GGUF file, checked and packed for this CPU. Immutable after opening; any number of threads may use one
 *            model at the same time.
 *   session  one timeline of tokens (or n_seq of them, computed together): the KV cache, scratch memory and a thread
 *            pool. Belongs to one caller at a time; two sessions on one model may run in two threads.
 *   batch    rows of {token, sequence, position}: a whole prompt, the next token, or the next tokens of many sequences.
 *   sampler  turns logits into a token. Belongs to one caller at a time.
 *   chat     a conversation in the form of the model's chat template, as token ids. Never changes.
 *   grammar  which tokens may come next in a text that has to follow rules. Belongs to one caller at a time.
 *   draft    guesses at the next tokens, so that several are computed at once. Belongs to one caller at a time.
 *   generator  a sampler's tokens as a text that ends where it should. Belongs to one caller at a time.
 *
 * The library never exits, prints, or keeps global state. A function that can fail takes a tl_error* last (NULL: not
 * wanted) and returns a negative TL_E_* code, or NULL where it returns an object; on success it returns TL_OK (0) or a
 * count. Every object is freed by its own _free function, which accepts NULL. A model must outlive its sessions and
 * samplers. NULL where an object, a path, a text or room for results is needed is TL_E_ARGUMENT; accessors then return 0,
 * -1 for a token or a seed, or NULL. Pointers returned by accessors stay valid until their object is freed, unless said
 * otherwise.
 *
 * A complete program (tests/unit/example_c99.c is this text, compiled as C99 and as C++):
 *
 *     tl_error err = {0};
 *     tl_model *m = tl_model_open(argv[1], NULL, &err);
 *     tl_session *s = m ? tl_session_new(m, NULL, &err) : NULL;
 *     tl_sampler *smp = s ? tl_sampler_new(m, NULL, &err) : NULL;
 *     int32_t ids[512];
 *     int n = smp ? tl_tokenize(m, "Once upon a time", 16, TL_ADD_BOS, ids, 512, &err) : -1;
 *     int rc = n > 0 ? tl_session_append(s, ids, n, &err) : -1;
 *     for (int i = 0; rc == TL_OK && i < 64; i++) {
 *         int32_t id = tl_sampler_pick(smp, tl_session_logits(s, 0), &err);
 *         if (id < 0 || tl_token_is_end(m, id)) break;
 *         char piece[256];
 *         int len = tl_token_text(m, id, piece, sizeof piece);
 *         fwrite(piece, 1, len < 256 ? (size_t)len : 256, stdout);
 *         rc = tl_session_append(s, &id, 1, &err);
 *     }
 *     if (err.code) fprintf(stderr, "%s\n", err.text);
 *     tl_sampler_free(smp); tl_session_free(s); tl_model_free(m);
 */
#ifndef TINYLLM_H
#define TINYLLM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)   /* the shared library exports what stands here, and nothing else */
#endif

#define TL_VERSION "0.1.0"

/* ---- errors ------------------------------------------------------------------------------------------------------- */

enum {
    TL_OK = 0,
    TL_E_IO = -1,            /* a file cannot be opened, read or written */
    TL_E_FORMAT = -2,        /* a file is damaged or not what it claims to be */
    TL_E_UNSUPPORTED = -3,   /* valid, but not something this version can do */
    TL_E_MEMORY = -4,        /* an allocation failed; the text says how much and for what */
    TL_E_ARGUMENT = -5,      /* the caller passed something out of range */
    TL_E_CONTEXT = -6,       /* the tokens do not fit into the session's context */
    TL_E_NAN = -7,           /* the model produced a NaN */
    TL_E_CANCELLED = -8,     /* the progress callback asked to stop */
    TL_E_SYSTEM = -9         /* the system refuses something else, such as a thread */
};

/* Initialize with {0}. Holds the first fault: later calls do not overwrite it. */
typedef struct tl_error {
    int code;
    char text[500];          /* one line, printable, no line break */
} tl_error;

const char *tl_version(void);

/* ---- model ---------------------------------------------------------------------------------------------------------- */

typedef struct tl_model tl_model;

/* Called between steps of long work with the fraction done, 0..1; returning nonzero cancels with TL_E_CANCELLED. */
typedef int tl_progress_fn(void *user, double done);

typedef struct tl_model_options {
    const char *cpu;         /* highest CPU level to use ("scalar", "avx2", ...); NULL: the best that this CPU can run */
    int n_threads;           /* for loading; as in a session */
    int exact;               /* 1: float32 activations and raw weights, for testing; slow */
    int no_pack;             /* 1: weights stay in the file's pages, which processes share (and a file that is cut while in
                                use kills the process with SIGBUS; otherwise that is TL_E_IO), and are packed anew whenever
                                they are met: next to no memory and time to open, the same bits; prompts are up to a
                                tenth slower, single tokens 2 to 5 times */
    int vocab_only;          /* 1: tokenizer only; sessions are refused. Works for files without tensors */
    tl_progress_fn *progress;
    void *progress_user;
} tl_model_options;

/* All fields at their defaults (equal to zero bytes). */
tl_model_options tl_model_options_default(void);

/* Opens and checks a GGUF file (any part of a split file: the others are found beside it) and packs its weights.
 * options may be NULL. Returns NULL on failure; all missing or wrong tensors and settings are named together in err. */
tl_model *tl_model_open(const char *path, const tl_model_options *options, tl_error *err);
void tl_model_free(tl_model *m);

typedef struct tl_model_info {
    const char *arch, *name; /* "llama"; general.name or "" */
    const char *cpu;         /* level in use */
    int n_layers, n_embd, n_heads, n_kv_heads, n_vocab;
    int64_t n_ctx_train;     /* context the model was trained for, 0: the file does not say */
    int64_t n_params;
    int64_t file_bytes;      /* of all parts */
    int64_t bytes_per_token; /* of weights read to decode one token */
    int64_t kv_bytes_per_pos;/* of cache per position, f16 */
    double load_seconds;
} tl_model_info;
tl_model_info tl_model_get_info(const tl_model *m);
/* Something about the file that a user should know though it can be used (an unknown pre-tokenizer), or NULL. */
const char *tl_model_warning(const tl_model *m);

/* ---- tokens ------------------------------------------------------------------------------------------------------------ */

enum {
    TL_ADD_BOS = 1,          /* put BOS (and EOS) where the file asks for it; never a second BOS */
    TL_PARSE_SPECIAL = 2     /* text like "<|im_end|>" becomes that token; without it, it stays ordinary text */
};
/* Token ids of text[0..len), any bytes. Writes at most cap of them and returns how many there are, which may be more
 * than cap: call again with room (ids may be NULL if cap is 0). Negative on failure. */
int tl_tokenize(const tl_model *m, const char *text, size_t len, int flags, int32_t *ids, int cap, tl_error *err);
/* The bytes one token stands for in a running text, at most cap of them; returns the full length (0 for control tokens
 * and ids out of range). May be part of a UTF-8 character: tl_utf8_stream holds such parts back. */
int tl_token_text(const tl_model *m, int32_t id, char *out, int cap);
/* The text of n ids, as tl_tokenize's inverse: the space that tokenizing put in front is taken away; control tokens are
 * written by name only if special is nonzero. Writes at most cap bytes and returns the full length. */
size_t tl_detokenize(const tl_model *m, const int32_t *ids, int n, int special, char *out, size_t cap);
/* The token's own spelling in the vocabulary ("Ġthe", "<0x0A>"), terminated; NULL out of range. */
const char *tl_token_piece(const tl_model *m, int32_t id);
/* Ends a text or a turn (EOS, end of turn, end of message). */
int tl_token_is_end(const tl_model *m, int32_t id);
int32_t tl_token_bos(const tl_model *m);   /* -1: none */
int32_t tl_token_eos(const tl_model *m);
int tl_adds_bos(const tl_model *m);        /* TL_ADD_BOS puts a BOS */

/* Releases only whole UTF-8 characters of a text that arrives in pieces. Start with {0}. */
typedef struct tl_utf8_stream { char held[4]; int n; } tl_utf8_stream;
/* Adds n bytes; writes what is complete to out (room for 3 * n + 3 bytes), returns its length. Bytes that can never
 * become a character come out as U+FFFD, once per maximal wrong part. Call with n = 0 and end = 1 to flush. */
size_t tl_utf8_push(tl_utf8_stream *u, const char *bytes, size_t n, int end, char *out);

/* ---- chat ------------------------------------------------------------------------------------------------------------------ */

/* A conversation in the form that a model's chat template gives it. What the template writes is trusted: it alone can
 * contain control tokens. What people wrote (messages, system text, tool results, tools) stays ordinary text, whatever
 * it looks like and whatever the template does with it. */
typedef struct tl_chat_message {
    const char *role;        /* "system", "user", "assistant", "tool", ... */
    const char *content;
    size_t n;                /* bytes of content; 0: up to its terminator */
} tl_chat_message;

typedef struct tl_chat_options {
    const tl_chat_message *messages;   /* [n_messages] */
    int n_messages;
    const char *messages_json;         /* instead, if not NULL: [{"role": "user", "content": "Hi"}, ...] with all members
                                          that the template knows (tool_calls, reasoning_content, ...) */
    const char *tools_json;            /* array of tools, as in the OpenAI API; NULL: none */
    const char *variables_json;        /* object of further variables, as {"enable_thinking": false}; NULL: none */
    const char *chat_template;         /* Jinja2 text; NULL: the file's own */
    int no_bos;                        /* 1: no BOS but one that the template writes */
    int no_generation_prompt;          /* 1: end behind the last message, not with the beginning of an answer */
} tl_chat_options;

typedef struct tl_chat_run { const char *text; size_t n; int trusted; } tl_chat_run;
typedef struct tl_chat tl_chat;

/* NULL on failure: no template (TL_E_UNSUPPORTED), the template's own refusal or a fault in it or in the JSON
 * (TL_E_FORMAT, with the line). The result is independent of the model and the options. */
tl_chat *tl_chat_render(const tl_model *m, const tl_chat_options *options, tl_error *err);
void tl_chat_free(tl_chat *c);
/* The whole text, terminated; its length to *n (may be NULL). */
const char *tl_chat_text(const tl_chat *c, size_t *n);
/* The same in runs [count] of trusted and other bytes, in turn. */
const tl_chat_run *tl_chat_runs(const tl_chat *c, int *count);
/* Its token ids [count], with BOS where the file asks for one and the template has not written it. */
const int32_t *tl_chat_ids(const tl_chat *c, int *count);
/* The file's template, terminated, valid as long as the model; NULL: it has none. */
const char *tl_model_chat_template(const tl_model *m);

/* ---- session --------------------------------------------------------------------------------------------------------------- */

typedef struct tl_session tl_session;

/* Types of cached keys and values. Q8_0 (8.5 bits a value) and Q4_0 (4.5 bits) hold 32 values with one scale: an error
 * of at most 1/254 and 1/8 of their largest magnitude. F16 holds magnitudes up to 65504, larger ones as that. */
enum { TL_KV_TYPE_F16, TL_KV_TYPE_F32, TL_KV_TYPE_Q8_0, TL_KV_TYPE_Q4_0 };
/* "f16", ...; NULL: there is no such type. Types are numbered from 0 without a gap. */
const char *tl_kv_type_name(int type);

typedef struct tl_session_options {
    int n_ctx;               /* positions per sequence; 0: the model's trained context, at most 4096 */
    int n_seq;               /* sequences 0..n_seq-1; 0: 1 */
    int n_batch;             /* most rows computed at once; longer input is cut into slices of this size; 0: 512 */
    int n_threads;           /* 0: as many as are useful (affinity mask, cgroup quota). More are slower; those beyond
                                four times as many are not started (tl_session_threads tells how many are) */
    int kv_type;             /* TL_KV_TYPE_* */
    int64_t n_positions;     /* that all sequences together may hold, shared ones counted once, in pages of 64: an eval for
                                which there is no page left is TL_E_CONTEXT and changes nothing; 0: n_ctx * n_seq */
} tl_session_options;
tl_session_options tl_session_options_default(void);

tl_session *tl_session_new(const tl_model *m, const tl_session_options *options, tl_error *err);
void tl_session_free(tl_session *s);

/* Rows to compute. Rows of one sequence must come in rising positions without a gap, continuing what it holds.
 * Results do not depend on the number of threads, on how a prompt is cut into batches, or on other sequences' rows. */
typedef struct tl_batch {
    int n;
    const int32_t *token;    /* [n] */
    const int32_t *seq;      /* [n]; NULL: all 0 */
    const int32_t *pos;      /* [n]; NULL: each continues its sequence */
    const uint8_t *want;     /* [n], nonzero: logits of this row are wanted; NULL: of the last row only */
} tl_batch;
/* Computes a batch. On any error nothing is added to any sequence, except that TL_E_CANCELLED keeps whole slices. */
int tl_session_eval(tl_session *s, const tl_batch *batch, tl_error *err);
/* The same for n tokens of sequence 0, logits of the last. */
int tl_session_append(tl_session *s, const int32_t *ids, int n, tl_error *err);
/* Makes a sequence hold ids [n], n >= 1, with the logits of the last: keeps the longest common prefix with what it holds
 * (at most n - 1 tokens), forgets the rest and computes what is new. Returns how many were kept. A prompt that is longer
 * than the context (TL_E_CONTEXT) or not of this vocabulary changes nothing; after another error the sequence holds a
 * beginning of ids. */
int tl_session_prompt(tl_session *s, int seq, const int32_t *ids, int n, tl_error *err);
/* Logits [n_vocab] of the i-th wanted row of the last batch (rows in the order of the batch); NULL out of range.
 * Valid until the next eval. */
const float *tl_session_logits(const tl_session *s, int i);
/* Positions a sequence holds. */
int tl_session_pos(const tl_session *s, int seq);
/* The tokens a sequence holds: writes at most cap to ids (NULL: none) and returns how many there are. */
int tl_session_tokens(const tl_session *s, int seq, int32_t *ids, int cap);
/* Forgets positions n and later of a sequence (0: all). Returns how many it holds now. */
int tl_session_truncate(tl_session *s, int seq, int n);
/* Makes sequence to hold what sequence from holds (what to held before is forgotten). The cache is shared until one of
 * them goes on, so a long common prompt is computed and stored once. */
int tl_session_fork(tl_session *s, int from, int to, tl_error *err);
/* A sequence's cache and tokens as bytes, for another process or day (docs/FORMATS.md). blob [size], size as
 * tl_session_save_size says (0: there is no such sequence). */
size_t tl_session_save_size(const tl_session *s, int seq);
int tl_session_save(const tl_session *s, int seq, void *blob, size_t size, tl_error *err);
/* Replaces what a sequence holds and returns its number of positions. What follows has the same bits as if all had been
 * computed here: what is cut, damaged, of another model, cache type, CPU level or version, or does not fit, is refused by
 * name, and the session stays as it was. */
int tl_session_load(tl_session *s, int seq, const void *blob, size_t size, tl_error *err);
/* The same with a file, which gets its name only when it is complete. */
int tl_session_save_file(const tl_session *s, int seq, const char *path, tl_error *err);
int tl_session_load_file(tl_session *s, int seq, const char *path, tl_error *err);
int tl_session_ctx(const tl_session *s);
int tl_session_threads(const tl_session *s);
/* Asked between layers during eval; returning nonzero cancels. */
void tl_session_set_progress(tl_session *s, tl_progress_fn *fn, void *user);
/* Ends the eval that is running, within a layer's time, or else the next one, with TL_E_CANCELLED. The one function
 * that other threads may call while the session is in use; also fit for signal handlers. */
void tl_session_cancel(tl_session *s);
/* Bytes this session holds: KV cache (touched as positions fill) and scratch. */
int64_t tl_session_bytes(const tl_session *s);

/* ---- sampler -------------------------------------------------------------------------------------------------------------------- */

typedef struct tl_sampler tl_sampler;

/* bias: added to the logit; -INFINITY: the token is never picked, whatever its logit. */
typedef struct tl_logit_bias { int32_t id; float bias; } tl_logit_bias;

/* Logits become a token by these steps, each among the candidates that the ones before have left; p is a probability
 * among them. The logit bias is always first, the draw last. Between them, in this order unless `samplers` gives another:
 *   penalties    for the last repeat_last_n tokens picked or given to tl_sampler_accept (-1: all, 0: none):
 *                repeat: logit > 0 ? logit / r : logit * r (Keskar et al. 2019); presence: logit -= r if the token
 *                occurred; frequency: logit -= r * times it occurred (the OpenAI API)
 *   dry          logit -= multiplier * base^(n - allowed_length), where the token would go on with a repetition of n >=
 *                allowed_length tokens: the last n tokens stand before an earlier occurrence of it, too, within the last
 *                penalty_last_n tokens; the longest such n counts (Don't Repeat Yourself, by p-e-w). No repetition
 *                reaches over a token in which a breaker text ends, and tokens that hold one are not penalized
 *   top_n_sigma  keep logits >= largest - n * their standard deviation (Tang et al. 2024)
 *   top_k        keep the k largest
 *   typical      keep the fewest that together reach the probability given, those first whose surprise -ln p is nearest to
 *                the entropy (locally typical; Meister et al. 2022)
 *   top_p        keep the fewest, likeliest first, that together reach the probability given (Holtzman et al. 2019)
 *   min_p        drop those below the largest p times the number given (Nguyen et al. 2024)
 *   xtc          with xtc_probability: of those with p >= xtc_threshold, drop all but the least likely (Exclude Top
 *                Choices, by p-e-w)
 *   temp         divide logits by the temperature; 0: the largest alone is left. With dynatemp_range r > 0 it is lo +
 *                (hi - lo) * (H / ln count)^dynatemp_exp, H the entropy, lo = max(0, temp - r), hi = temp + r
 *   mirostat     version 2: keep those with a surprise -log2 p <= mu (the likeliest always), which begins at 2 * ent; after
 *                the draw, mu -= lr * (the drawn token's surprise among those kept - ent) (Basu et al. 2021)
 * On ties the lower id is the larger. At least one candidate stays. A logit of +inf is picked at once. */
typedef struct tl_sampler_options {
    float temp;              /* default 0.8; >= 0 */
    int top_k;               /* keep the k largest; <= 0: all; default 40 */
    float top_p;             /* keep the fewest whose probability reaches p; >= 1: all; default 0.95 */
    float min_p;             /* drop those below p * the largest probability; 0: none; default 0.05 */
    float repeat_penalty;    /* default 1 */
    float presence_penalty, frequency_penalty;
    int repeat_last_n;       /* default 64 */
    int64_t seed;            /* -1: one from the system; tl_sampler_seed tells which */
    const tl_logit_bias *bias;   /* copied */
    int n_bias;
    float typical;           /* >= 1: off; default 1 */
    float top_n_sigma;       /* <= 0: off; default 0 */
    float xtc_probability;   /* 0: off; default 0 */
    float xtc_threshold;     /* above 0.5: off; default 0.1 */
    float dry_multiplier;    /* 0: off; default 0 */
    float dry_base;          /* >= 1; default 1.75 */
    int dry_allowed_length;  /* default 2 */
    int dry_penalty_last_n;  /* -1: all, up to 1048576; 0: off; default -1 */
    const char *const *dry_breakers;   /* [n_dry_breakers] texts; copied; NULL: line break, colon, quotation mark and asterisk */
    int n_dry_breakers;
    int mirostat;            /* 2: on; 0: off; default 0 */
    float mirostat_lr;       /* default 0.1 */
    float mirostat_ent;      /* the surprise to aim at, in bits; default 5 */
    float dynatemp_range;    /* 0: off; default 0 */
    float dynatemp_exp;      /* default 1 */
    const char *samplers;    /* names of steps from above, separated by commas: their order, and what is left out is off.
                                NULL: the order above; with mirostat 2 only penalties, dry, temp and mirostat */
} tl_sampler_options;
tl_sampler_options tl_sampler_options_default(void);

/* options may be NULL. Values out of range, NaN, a bias id outside the vocabulary, or a name in samplers that is unknown or
 * stands there twice: TL_E_ARGUMENT. */
tl_sampler *tl_sampler_new(const tl_model *m, const tl_sampler_options *options, tl_error *err);
void tl_sampler_free(tl_sampler *s);
/* Picks a token from logits [n_vocab] (not changed) and accepts it. TL_E_NAN if a logit is NaN or none is above -inf. */
int32_t tl_sampler_pick(tl_sampler *s, const float *logits, tl_error *err);
/* Tells the sampler of tokens it did not pick (the prompt), for the penalties and DRY. */
void tl_sampler_accept(tl_sampler *s, int32_t id);
int64_t tl_sampler_seed(const tl_sampler *s);

/* What the model itself thinks of a token: the natural logarithm of its probability, the log-softmax of logits [n_vocab]
 * as they are, before any step of a sampler. */
typedef struct tl_logprob { int32_t id; double logprob; } tl_logprob;
/* Returns that of token id, within 1e-5, and writes those of the n_top likeliest tokens to top, in falling order, the lower
 * id first on ties. NaN where there is no such token or a logit is NaN or +inf; entries beyond the vocabulary have id -1. */
double tl_logprobs(const tl_model *m, const float *logits, int32_t id, tl_logprob *top, int n_top);

/* ---- constrained output ------------------------------------------------------------------------------------------------------- */

/* A text that follows a grammar: which tokens may come next, and how far the text has come. Made for one model, which
 * must outlive it; used for one text after the other; belongs to one caller at a time.
 *
 * GBNF: rules `name ::= alternatives`, where texts are what `root` derives. An alternative (they are divided by |) is a
 * row of "literals", [classes] of characters such as [a-z_] or [^"\\], `.` for any character, names of rules and (groups),
 * each perhaps with * + ? {n} {n,} or {n,m} behind it. Escapes: \n \t \r \" \\ \xHH \uHHHH \UHHHHHHHH, the last three for
 * code points. # begins a comment. A rule ends with its line, but for groups and around |. Left recursion is refused. */
typedef struct tl_grammar tl_grammar;

/* gbnf [n]. TL_E_FORMAT names line and column and what was expected there. */
tl_grammar *tl_grammar_new(const tl_model *m, const char *gbnf, size_t n, tl_error *err);
/* JSON that a schema (2020-12; json [n]) allows, and texts that match a regular expression (ECMA-262) as a whole. What
 * cannot be enforced is TL_E_UNSUPPORTED and named with its place; docs/GRAMMAR.md lists what can. */
tl_grammar *tl_grammar_new_schema(const tl_model *m, const char *json, size_t n, tl_error *err);
tl_grammar *tl_grammar_new_regex(const tl_model *m, const char *regex, tl_error *err);
void tl_grammar_free(tl_grammar *g);
/* Back to the beginning of a text. */
void tl_grammar_reset(tl_grammar *g);
/* The tokens that may come next, [(n_vocab + 31) / 32]: bit id % 32 of word id / 32. Tokens that end a text
 * (tl_token_is_end) are in it where the text may end, other control tokens never. Valid until the grammar is used again.
 * NULL with TL_E_UNSUPPORTED where no token fits and the text may not end. Remembered for each state, so cheap in loops. */
const uint32_t *tl_grammar_mask(tl_grammar *g, tl_error *err);
/* Goes on by a token. One that may not come next is TL_E_ARGUMENT and changes nothing. */
int tl_grammar_accept(tl_grammar *g, int32_t id, tl_error *err);
/* 0: the text has to go on; 1: it may end here; 2: it can do nothing else. */
int tl_grammar_ends(const tl_grammar *g);

/* ---- drafts ---------------------------------------------------------------------------------------------------------------- */

/* Speculation: guesses at the tokens to come, computed in one pass with the token that is known. A row's bits do not
 * depend on the rows beside it, so picking goes on row by row with the same sampler and the same random numbers as without:
 * text and session are the same, only sooner where guesses are right. How many tokens are drafted, or none, follows from
 * the time that passes take and from how often drafts are right; what wrong drafts cost is limited (by simulation to 3 %
 * of a text of 64 tokens, 2 % from 256 on). A draft belongs to one caller at a time and may serve one text after the
 * other. */
typedef struct tl_draft tl_draft;

#define TL_DRAFT_MAX 16

typedef struct tl_draft_options {
    const char *source;      /* "lookup" (NULL): what followed the last 2 to 4 tokens when they stood in the text before.
                                "model": the likeliest tokens of a smaller model, which reads the prompt, too */
    const tl_model *model;   /* of source "model": the same vocabulary (else TL_E_UNSUPPORTED); must outlive the draft */
    tl_session_options session;   /* of source "model": its session; its context should be that of the text's session */
    int max;                 /* most tokens at once, up to TL_DRAFT_MAX; 0: that. The session keeps the logits of max + 1 rows */
} tl_draft_options;
tl_draft_options tl_draft_options_default(void);
/* "lookup", ...; NULL: there is no such source. Sources are numbered from 0 without a gap. */
const char *tl_draft_source_name(int i);

/* m: the model whose tokens are guessed, which must outlive the draft. options may be NULL. */
tl_draft *tl_draft_new(const tl_model *m, const tl_draft_options *options, tl_error *err);
void tl_draft_free(tl_draft *d);

/* ---- generation --------------------------------------------------------------------------------------------------------------- */

/* A text that grows token by token: picks tokens, turns them into whole UTF-8 characters, and ends at an end token, at a
 * stop text, after max_tokens, or where its caller says so. One for each sequence that is being continued; it belongs
 * to one caller at a time. */
typedef struct tl_generator tl_generator;

/* Why a text ended; TL_GOING: it has not. */
enum { TL_GOING = 0, TL_END_TOKEN, TL_END_STOP, TL_END_LENGTH, TL_END_CONTEXT, TL_END_CANCELLED };
/* "stop" (token or text), "length", "context", "cancelled"; "" for TL_GOING. */
const char *tl_finish_name(int finish);

/* Told every token that is picked, also one that ends the text, and the model's logits [n_vocab] for it, before grammar
 * and sampler. */
typedef void tl_pick_fn(void *user, int32_t id, const float *logits);

typedef struct tl_generator_options {
    int max_tokens;          /* most tokens; < 0: as many as fit; default -1 */
    const char *const *stop; /* [n_stop] texts that end it; copied; they and what follows are not part of the text. Names of
                                special tokens ("<|im_start|>") match these tokens, though their names are not shown */
    int n_stop;
    const int32_t *stop_tokens;   /* [n_stop_tokens] tokens that end it beside the model's own (tl_token_is_end); copied */
    int n_stop_tokens;
    int show_special;        /* 1: names of special tokens are part of the text */
    tl_grammar *grammar;     /* NULL: none. Tokens that may not come next are not picked; the others keep their proportions.
                                Where nothing can follow the text ends (TL_END_TOKEN). Used and moved on, not owned */
    tl_pick_fn *picked;      /* NULL: nobody */
    void *picked_user;
    tl_draft *draft;         /* of the same model, used and not owned: tl_generate computes guesses at the next tokens with
                                the token that is known, and keeps what is right. The text is the same; NULL: none */
} tl_generator_options;
tl_generator_options tl_generator_options_default(void);

/* The sampler is used by the generator, not owned, and must outlive it, as must the model. options may be NULL. */
tl_generator *tl_generator_new(const tl_model *m, tl_sampler *sampler, const tl_generator_options *options, tl_error *err);
void tl_generator_free(tl_generator *g);

/* What a step brought. */
typedef struct tl_step {
    int32_t id;              /* the token that was picked, to be computed next; -1: none */
    const char *text;        /* [n] whole characters that became certain; valid until the next step */
    size_t n;
    int finish;              /* TL_GOING or why the text ended: id is then not to be computed */
} tl_step;
/* Picks the next token from logits [n_vocab]. A text that has ended stays so. TL_E_NAN as tl_sampler_pick. */
int tl_generator_step(tl_generator *g, const float *logits, tl_step *step, tl_error *err);
/* Ends it from outside (TL_END_CONTEXT, TL_END_CANCELLED); step gets the text that was held back. */
int tl_generator_end(tl_generator *g, int finish, tl_step *step, tl_error *err);

typedef struct tl_generator_stats {
    int n_tokens;            /* in the text, without the one that ended it */
    int n_computed;          /* evaluated by tl_generate */
    int finish;
    double first_seconds;    /* tl_generate: from its start until the first token's text; 0: there was none */
    double seconds;          /* tl_generate: in all */
    int n_passes;            /* of tl_generate through the model: as many as n_computed without drafts */
    int n_drafted, n_accepted;   /* drafted tokens that were computed, and those of them that became part of the text */
} tl_generator_stats;
tl_generator_stats tl_generator_get_stats(const tl_generator *g);

/* Called at every step with the text it brought (n may be 0); the last call has what was held back. Nonzero cancels. */
typedef int tl_text_fn(void *user, const char *text, size_t n);
/* The whole loop: continues sequence seq of s, whose logits are the last batch's first, until the text ends. Returns
 * TL_OK; why it ended is in the statistics (a full context and tl_session_cancel are no errors here). With a draft the
 * session holds more than the text while fn is called, and afterwards what it would hold without. */
int tl_generate(tl_session *s, int seq, tl_generator *g, tl_text_fn *fn, void *user, tl_error *err);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
