/* SPDX-License-Identifier: MIT
 *
 * text_test.c: tokenizers on vocabularies small enough to check by hand, on a fixture with reference ids, and, where
 * the shared folder is there, on the vocabularies of published models. */
#include "base/base.h"
#include "model/model.h"
#include "test.h"
#include "text/text.h"

enum { MAX_IDS = 1 << 12 };

typedef struct vocab {
    tl_slice piece[1024], merge[64];
    int32_t type[1024];
    float score[1024];
    tl_vocab_source src;
} vocab;

static tl_slice str(const char *s) { return (tl_slice){s, strlen(s)}; }

static int32_t add(vocab *v, const char *piece, int type, float score) {
    uint32_t id = v->src.n++;
    v->piece[id] = str(piece);
    v->type[id] = type;
    v->score[id] = score;
    return (int32_t)id;
}

static void add_merge(vocab *v, const char *s) { v->merge[v->src.n_merges++] = str(s); }

static vocab *new_vocab(const char *model, const char *pre) {
    vocab *v = calloc(1, sizeof *v);
    v->src = (tl_vocab_source){.model = str(model), .pre = str(pre), .pieces = v->piece, .types = v->type,
                               .scores = v->score, .merges = v->merge, .bos = -1, .eos = -1, .eot = -1, .eom = -1,
                               .unk = -1, .add_bos = -1, .add_eos = -1, .add_space_prefix = -1};
    return v;
}

/* GPT-2's spelling of all 256 bytes: id == byte. */
static vocab *new_bpe(const char *pre) {
    static char spelled[256][3];
    vocab *v = new_vocab("gpt2", pre);
    for (int b = 0, next = 0x100; b < 256; b++) {
        int cp = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE ? b : next++;
        if (cp < 0x80) {
            spelled[b][0] = (char)cp;
        } else {
            spelled[b][0] = (char)(0xC0 | cp >> 6);
            spelled[b][1] = (char)(0x80 | (cp & 0x3F));
        }
        add(v, spelled[b], TL_TOK_NORMAL, 0);
    }
    return v;
}

static vocab *new_spm(void) {
    static char bytes[256][8];
    vocab *v = new_vocab("llama", "");
    v->src.unk = add(v, "<unk>", TL_TOK_UNKNOWN, 0);
    v->src.bos = add(v, "<s>", TL_TOK_CONTROL, 0);
    v->src.eos = add(v, "</s>", TL_TOK_CONTROL, 0);
    for (int b = 0; b < 256; b++) {
        snprintf(bytes[b], sizeof bytes[b], "<0x%02X>", b);
        add(v, bytes[b], TL_TOK_BYTE, 0);
    }
    return v;
}

/* Encodes and compares with a list of ids that ends in -1. */
static void expect_ids(const tl_tokenizer *t, const char *text, int flags, const int32_t *want, int line) {
    int32_t ids[MAX_IDS];
    int n = tl_tokenizer_encode(t, text, strlen(text), NULL, flags, ids, MAX_IDS, NULL), k = 0;
    while (want[k] != -1) k++;
    CHECKF(n == k, "line %d: \"%s\" gives %d ids instead of %d", line, text, n, k);
    for (int i = 0; i < n && i < k; i++)
        CHECKF(ids[i] == want[i], "line %d: \"%s\" id %d is %d instead of %d", line, text, i, ids[i], want[i]);
}
#define IDS(t, text, flags, ...) expect_ids(t, text, flags, (const int32_t[]){__VA_ARGS__, -1}, __LINE__)

static void expect_text(const tl_tokenizer *t, const int32_t *ids, int n, int special, const char *want, int line) {
    char text[MAX_IDS];
    size_t len = tl_tokenizer_decode(t, ids, n, special, text, sizeof text);
    CHECKF(len == strlen(want) && memcmp(text, want, len) == 0, "line %d: \"%.*s\" instead of \"%s\"", line, (int)len,
           text, want);
}
#define TEXT(t, special, want, ...) expect_text(t, (const int32_t[]){__VA_ARGS__}, \
    (int)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), special, want, __LINE__)

static void expect_round_trip(const tl_tokenizer *t, const char *text, size_t n, int flags) {
    int len = tl_tokenizer_encode(t, text, n, NULL, flags, NULL, 0, NULL);
    int32_t *ids = calloc((size_t)len + 1, sizeof *ids);
    char *back = malloc(n + 16);
    tl_tokenizer_encode(t, text, n, NULL, flags, ids, len, NULL);
    size_t m = tl_tokenizer_decode(t, ids, len, flags & TL_PARSE_SPECIAL, back, n + 16);
    CHECKF(m == n && memcmp(back, text, n) == 0, "\"%.*s\" becomes \"%.*s\"", (int)n, text,
           (int)(m < n + 16 ? m : n + 16), back);
    free(ids);
    free(back);
}

static void bpe_merges(void) {
    vocab *v = new_bpe("gpt-2");
    int32_t ab = add(v, "ab", TL_TOK_NORMAL, 0), bc = add(v, "bc", TL_TOK_NORMAL, 0);
    int32_t abc = add(v, "abc", TL_TOK_NORMAL, 0);
    int32_t aa = add(v, "aa", TL_TOK_NORMAL, 0), sp = add(v, "\xC4\xA0""a", TL_TOK_NORMAL, 0);
    add(v, "zz", TL_TOK_CONTROL, 0);
    const char *merges[] = {"b c", "a b", "ab c", "a a", "\xC4\xA0 a", "a b", "z z"};
    for (int i = 0; i < 7; i++) add_merge(v, merges[i]);
    tl_error err = {0};
    tl_tokenizer *t = tl_tokenizer_new(&v->src, &err);
    CHECKF(t != NULL, "%s", err.text);
    if (t) {
        CHECK(strstr(tl_tokenizer_warning(t), "1 of 7 merges can never be applied"));   /* z z makes a control token */
        IDS(t, "", 0, -1);
        IDS(t, "abc", 0, 'a', bc);                   /* b c comes first, a bc is not in the list */
        IDS(t, "abab", 0, ab, ab);
        IDS(t, "aaa", 0, aa, 'a');                   /* the leftmost of equals */
        IDS(t, "x a", 0, 'x', sp);
        IDS(t, "zz", 0, 'z', 'z');                   /* text never merges into a control token */
        IDS(t, "\xFF\xE2\x82", 0, 0xFF, 0xE2, 0x82);
        TEXT(t, 0, "x abc\xFF", 'x', sp, bc, 0xFF);
        int32_t few[2] = {-7, -7};
        CHECK(tl_tokenizer_encode(t, "xyz", 3, NULL, 0, few, 1, NULL) == 3 && few[0] == 'x' && few[1] == -7);
        char out[2] = {'?', '?'};
        CHECK(tl_tokenizer_token_text(t, abc, out, 1) == 3 && out[0] == 'a' && out[1] == '?');
        CHECK(tl_tokenizer_token_text(t, -1, out, 1) == 0 && tl_tokenizer_token_text(t, 9999, out, 1) == 0);
        CHECK(strcmp(tl_tokenizer_piece(t, sp), "\xC4\xA0""a") == 0 && tl_tokenizer_piece(t, 9999) == NULL);
        char all[256];
        for (int b = 0; b < 256; b++) all[b] = (char)b;
        expect_round_trip(t, all, 256, 0);
    }
    tl_tokenizer_free(t);
    free(v);
}

/* A piece that is a token is taken whole only by pre-tokenizers that say so. */
static void bpe_whole_pieces(void) {
    for (int whole = 0; whole < 2; whole++) {
        vocab *v = new_bpe(whole ? "llama-bpe" : "qwen2");
        int32_t hi = add(v, "\xC4\xA0hi", TL_TOK_NORMAL, 0);
        tl_tokenizer *t = tl_tokenizer_new(&v->src, NULL);
        if (whole) IDS(t, "a hi", 0, 'a', hi);
        else IDS(t, "a hi", 0, 'a', ' ', 'h', 'i');
        CHECK(tl_tokenizer_adds_bos(t) == whole);
        tl_tokenizer_free(t);
        free(v);
    }
}

/* Bytes the vocabulary lacks: unk, or nothing where there is none that is ordinary. */
static void bpe_missing_bytes(void) {
    for (int type = TL_TOK_UNKNOWN; type <= TL_TOK_CONTROL; type++) {
        vocab *v = new_vocab("gpt2", "gpt-2");
        v->src.unk = add(v, "<unk>", type, 0);
        int32_t a = add(v, "a", TL_TOK_NORMAL, 0), b = add(v, "b", TL_TOK_CONTROL, 0);
        tl_tokenizer *t = tl_tokenizer_new(&v->src, NULL);
        if (type == TL_TOK_UNKNOWN) IDS(t, "a\xFF""ba", 0, a, v->src.unk, v->src.unk, a);
        else IDS(t, "a\xFF""ba", 0, a, a);
        IDS(t, "ab<unk>", TL_PARSE_SPECIAL, a, b, v->src.unk);
        tl_tokenizer_free(t);
        free(v);
    }
}

static void special_tokens(void) {
    vocab *v = new_bpe("gpt-2");
    int32_t bos = add(v, "<s>", TL_TOK_CONTROL, 0), eos = add(v, "<|im_end|>", TL_TOK_CONTROL, 0);
    int32_t call = add(v, "<call>", TL_TOK_USER, 0), longer = add(v, "<call>>", TL_TOK_CONTROL, 0);
    int32_t again = add(v, "<call>", TL_TOK_USER, 0), eot = add(v, "<eot>", TL_TOK_NORMAL, 0);
    add(v, "<unused>", TL_TOK_UNUSED, 0);
    add(v, "", TL_TOK_USER, 0);
    v->src.bos = bos;
    v->src.eos = eos;
    v->src.eot = eot;
    v->src.add_bos = v->src.add_eos = 1;
    tl_tokenizer *t = tl_tokenizer_new(&v->src, NULL);
    IDS(t, "<s>", 0, '<', 's', '>');
    IDS(t, "a<s>", TL_PARSE_SPECIAL, 'a', bos);
    IDS(t, "<call>>", 0, call, '>');
    IDS(t, "<call>><call><cal", TL_PARSE_SPECIAL, longer, call, '<', 'c', 'a', 'l');
    IDS(t, "<unused>", TL_PARSE_SPECIAL, '<', 'u', 'n', 'u', 's', 'e', 'd', '>');
    IDS(t, "", TL_ADD_BOS, bos, eos);
    IDS(t, "a", TL_ADD_BOS, bos, 'a', eos);
    IDS(t, "<s>a<|im_end|>", TL_ADD_BOS | TL_PARSE_SPECIAL, bos, 'a', eos);       /* neither twice */
    IDS(t, "<s>", TL_ADD_BOS, bos, '<', 's', '>', eos);
    IDS(t, "<s><s>", TL_PARSE_SPECIAL, bos, bos);
    TEXT(t, 0, "a<call>", bos, 'a', call, eos, 99999, -5);
    TEXT(t, 1, "<s>a<call><|im_end|>", bos, 'a', again, eos);
    CHECK(tl_tokenizer_token_text(t, bos, NULL, 0) == 0);
    CHECK(tl_tokenizer_is_end(t, eos) && tl_tokenizer_is_end(t, eot));
    CHECK(!tl_tokenizer_is_end(t, bos) && !tl_tokenizer_is_end(t, -1));
    CHECK(tl_tokenizer_bos(t) == bos && tl_tokenizer_eos(t) == eos && tl_tokenizer_n(t) == 264);
    tl_tokenizer_free(t);
    free(v);
}

static void end_tokens_by_name(void) {
    vocab *v = new_bpe("gpt-2");
    int32_t control = add(v, "<end_of_turn>", TL_TOK_CONTROL, 0), plain = add(v, "<|eot_id|>", TL_TOK_NORMAL, 0);
    tl_tokenizer *t = tl_tokenizer_new(&v->src, NULL);
    CHECK(tl_tokenizer_is_end(t, control) && !tl_tokenizer_is_end(t, plain));
    tl_tokenizer_free(t);
    free(v);
}

#define SP "\xE2\x96\x81"

static void spm_merges(void) {
    vocab *v = new_spm();
    int32_t sp = add(v, SP, TL_TOK_NORMAL, -9), a = add(v, "a", TL_TOK_NORMAL, -9), b = add(v, "b", TL_TOK_NORMAL, -9);
    int32_t spa = add(v, SP "a", TL_TOK_NORMAL, -3), ab = add(v, "ab", TL_TOK_NORMAL, -2);
    int32_t abb = add(v, "abb", TL_TOK_NORMAL, -1);
    int32_t bb = add(v, "bb", TL_TOK_NORMAL, -2), sp2 = add(v, SP SP, TL_TOK_NORMAL, -1);
    int32_t user = add(v, "[" SP "]", TL_TOK_USER, 0);
    tl_tokenizer *t = tl_tokenizer_new(&v->src, NULL);
    int32_t bos = v->src.bos, eos = v->src.eos, nl = 3 + '\n';
    IDS(t, "", 0, -1);
    IDS(t, "", TL_ADD_BOS, bos);
    IDS(t, "a", TL_ADD_BOS, bos, spa);
    IDS(t, " ", 0, sp2);
    IDS(t, "ab", 0, sp, ab);
    IDS(t, "abb", 0, sp, abb);                       /* ab and bb have equal scores: the left one, then abb */
    IDS(t, "bbb", 0, sp, bb, b);
    IDS(t, "a a", 0, spa, spa);
    IDS(t, "a\n\xC3\xA9", 0, spa, nl, 3 + 0xC3, 3 + 0xA9);
    IDS(t, "a\xFF\xE2\x96", 0, spa, 3 + 0xFF, 3 + 0xE2, 3 + 0x96);   /* no UTF-8: byte by byte */
    IDS(t, "a[ ]a", 0, spa, user, a);
    IDS(t, "<s>a", 0, sp, 3 + '<', 3 + 's', 3 + '>', a);
    IDS(t, "<s>a</s>a", TL_PARSE_SPECIAL | TL_ADD_BOS, bos, spa, eos, a);   /* the prefix once */
    IDS(t, "</s> a", TL_PARSE_SPECIAL, eos, sp2, a);
    TEXT(t, 0, "a a", bos, spa, spa, eos);
    TEXT(t, 1, "<s>a</s> a", bos, spa, eos, spa);
    TEXT(t, 0, " a[ ]\n", sp2, a, user, nl);
    char text[8];
    CHECK(tl_tokenizer_token_text(t, spa, text, 8) == 2 && memcmp(text, " a", 2) == 0);
    expect_round_trip(t, "  a  b \xF0\x9F\x98\x80\x80 <s>", 16, 0);
    expect_round_trip(t, "<s> a</s>b", 10, TL_PARSE_SPECIAL);
    tl_tokenizer_free(t);

    v->src.add_space_prefix = 0;
    v->src.add_bos = 0;
    t = tl_tokenizer_new(&v->src, NULL);
    IDS(t, "a a", TL_ADD_BOS, a, spa);
    TEXT(t, 0, " a a", spa, spa);
    tl_tokenizer_free(t);
    free(v);
}

/* A vocabulary without byte tokens: a run of unknown characters is one unk. */
static void spm_without_bytes(void) {
    vocab *v = new_vocab("llama", "");
    int32_t unk = v->src.unk = add(v, "<unk>", TL_TOK_UNKNOWN, 0), a = add(v, SP "a", TL_TOK_NORMAL, 0);
    add(v, SP, TL_TOK_NORMAL, 0);
    int32_t plain = add(v, "a", TL_TOK_NORMAL, 0);
    tl_tokenizer *t = tl_tokenizer_new(&v->src, NULL);
    IDS(t, "axyz\xC3\xA9""a", 0, a, unk, plain);
    tl_tokenizer_free(t);
    v->src.unk = -1;
    v->type[unk] = TL_TOK_NORMAL;
    tl_error err = {0};
    t = tl_tokenizer_new(&v->src, &err);
    CHECK(tl_tokenizer_encode(t, "ax", 2, NULL, 0, NULL, 0, &err) == TL_E_UNSUPPORTED && strstr(err.text, "0x78"));
    tl_tokenizer_free(t);
    free(v);
}

static void expect_refused(vocab *v, int code, const char *part, int line) {
    tl_error err = {0};
    tl_tokenizer *t = tl_tokenizer_new(&v->src, &err);
    CHECKF(!t && err.code == code && strstr(err.text, part), "line %d: code %d, \"%s\"", line, err.code, err.text);
    tl_tokenizer_free(t);
    free(v);
}
#define REFUSED(v, code, part) expect_refused(v, code, part, __LINE__)

static void bad_vocabularies(void) {
    vocab *v = new_vocab("wordpiece", "");
    REFUSED(v, TL_E_UNSUPPORTED, "wordpiece");
    REFUSED(new_vocab("gpt2", "gpt-2"), TL_E_FORMAT, "empty");
    /* merges the vocabulary has no pieces for, or that are none, change nothing */
    const char *odd[] = {"a b", "", " ", "a", "ab ", " b", "a  "};
    v = new_bpe("gpt-2");
    for (int i = 0; i < 7; i++) add_merge(v, odd[i]);
    tl_error err = {0};
    tl_tokenizer *t = tl_tokenizer_new(&v->src, &err);
    CHECKF(t != NULL, "%s", err.text);
    if (t) IDS(t, "ab", 0, 'a', 'b');
    tl_tokenizer_free(t);
    free(v);
    v = new_bpe("gpt-2");
    v->src.eot = 256;
    REFUSED(v, TL_E_FORMAT, "eot token 256");
    v = new_bpe("gpt-2");
    v->type[7] = 99;
    REFUSED(v, TL_E_FORMAT, "token 7");
    v = new_spm();
    v->src.scores = NULL;
    REFUSED(v, TL_E_FORMAT, "scores");
    v = new_spm();
    v->score[5] = (float)(0.0 / (v->score[0] * 0.0));
    REFUSED(v, TL_E_FORMAT, "token 5");

    v = new_bpe("nosuch");
    t = tl_tokenizer_new(&v->src, NULL);
    CHECK(t && strstr(tl_tokenizer_warning(t), "\"nosuch\"") && strstr(tl_tokenizer_warning(t), "gpt-2"));
    tl_tokenizer_free(t);
    v->src.pre = str("\x1b[31m\n\xff");
    t = tl_tokenizer_new(&v->src, NULL);
    CHECK(t && strstr(tl_tokenizer_warning(t), "\"\\x1b[31m\\n\\xff\""));
    tl_tokenizer_free(t);
    v->src.pre = (tl_slice){0};
    v->src.types = NULL;
    t = tl_tokenizer_new(&v->src, NULL);
    CHECK(t && tl_tokenizer_warning(t));
    IDS(t, "ab", TL_ADD_BOS, 'a', 'b');
    tl_tokenizer_free(t);
    free(v);
}

/* A text of one letter must not take quadratic time; a letter pair that merges at every level is the worst case. */
static void long_runs(void) {
    enum { N = 1 << 20, LEVELS = 8 };
    static char piece[LEVELS + 1][(1 << LEVELS) + 1], merge[LEVELS][2 * (1 << LEVELS) + 2];
    char *text = malloc(N);
    memset(text, 'a', N);
    for (int spm = 0; spm < 2; spm++) {
        vocab *v = spm ? new_spm() : new_bpe("llama-bpe");
        int32_t top = -1;
        if (spm) add(v, "a", TL_TOK_NORMAL, 0);
        for (int k = 1; k <= LEVELS; k++) {
            memset(piece[k], 'a', (size_t)1 << k);
            top = add(v, piece[k], TL_TOK_NORMAL, (float)-k);
            int half = 1 << (k - 1);
            snprintf(merge[k - 1], sizeof merge[0], "%.*s %.*s", half, piece[k], half, piece[k]);
            if (!spm) add_merge(v, merge[k - 1]);
        }
        v->src.add_space_prefix = 0;
        tl_tokenizer *t = tl_tokenizer_new(&v->src, NULL);
        double t0 = test_cpu_seconds();
        int32_t *ids = malloc(N / 64 * sizeof *ids);
        int n = tl_tokenizer_encode(t, text, N, NULL, 0, ids, N / 64, NULL);
        CHECKF(n == N >> LEVELS && ids[0] == top && ids[n - 1] == top, "%d ids", n);
        CHECKF(test_cpu_seconds() - t0 < 20, "%.1f s", test_cpu_seconds() - t0);
        memset(text, '\n', N);
        CHECK(tl_tokenizer_encode(t, text, N, NULL, 0, NULL, 0, NULL) == N);
        memset(text, 'a', N);
        free(ids);
        tl_tokenizer_free(t);
        free(v);
    }
    free(text);
}

static void streamed(const char *text, size_t n, const char *want) {
    for (size_t step = 1; step <= n + 1; step++) {
        tl_utf8_stream u = {0};
        char out[256];
        size_t len = 0;
        for (size_t i = 0; i < n; i += step) {
            len += tl_utf8_push(&u, text + i, n - i < step ? n - i : step, 0, out + len);
            CHECK(u.n >= 0 && u.n <= 3);
        }
        len += tl_utf8_push(&u, NULL, 0, 1, out + len);
        CHECKF(len == strlen(want) && memcmp(out, want, len) == 0, "step %zu: \"%.*s\" instead of \"%s\"", step,
               (int)len, out, want);
    }
}

#define BAD "\xEF\xBF\xBD"

static void stream(void) {
    streamed("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z", 11, "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z");
    streamed("\xFF\xFE", 2, BAD BAD);
    streamed("\x80\x80\x41", 3, BAD BAD "A");
    streamed("\xE2\x82\x41", 3, BAD "A");               /* one wrong part of two bytes */
    streamed("\xF0\x9F\x98\xF0\x9F\x98\x80", 7, BAD "\xF0\x9F\x98\x80");
    streamed("\xED\xA0\x80", 3, BAD BAD BAD);           /* a surrogate */
    streamed("\xC0\xAF\xF4\x90\x80\x80", 6, BAD BAD BAD BAD BAD BAD);
    streamed("x\xF0\x9F\x98", 4, "x" BAD);              /* the end comes too soon */
    streamed("", 0, "");
    tl_utf8_stream u = {0};
    char out[16];
    CHECK(tl_utf8_push(&u, "\xF0\x9F", 2, 0, out) == 0 && tl_utf8_push(&u, "\x98", 1, 1, out) == 3 && u.n == 0);
}

/* ---- reference ids ----------------------------------------------------------------------------------------------- */

static tl_tokenizer *open_vocab(const char *path, tl_gguf **g) {
    tl_error err = {0};
    *g = tl_gguf_open(path, 0, &err);
    tl_tokenizer *t = *g ? tl_load_tokenizer(*g, &err) : NULL;
    CHECKF(t != NULL, "%s", err.text);
    return t;
}

static int hex_bytes(const char *s, char *out) {
    int n = 0;
    for (unsigned b; sscanf(s, "%2x", &b) == 1; s += 2) out[n++] = (char)b;
    return n;
}

/* ids as text "1 2 3"; "-": none. */
static void compare(const tl_tokenizer *t, const char *name, const char *text, int n, int flags, const char *want) {
    static int32_t ids[MAX_IDS];
    int len = tl_tokenizer_encode(t, text, (size_t)n, NULL, flags, ids, MAX_IDS, NULL), i = 0;
    char *end;
    for (const char *p = want; ; p = end, i++) {
        long id = strtol(p, &end, 10);
        if (end == p) break;
        CHECKF(i >= len || ids[i] == id, "%s: id %d is %d instead of %ld", name, i, ids[i], id);
    }
    CHECKF(i == len, "%s: %d ids instead of %d", name, len, i);
    expect_round_trip(t, text, (size_t)n, flags);
}

/* A folder with vocab.gguf and cases.tsv: name, kind, hex, ids, ids with special tokens. Returns the lines compared. */
static int compare_cases(const char *dir) {
    char path[4096], text[MAX_IDS];
    snprintf(path, sizeof path, "%s/vocab.gguf", dir);
    tl_gguf *g;
    tl_tokenizer *t = open_vocab(path, &g);
    snprintf(path, sizeof path, "%s/cases.tsv", dir);
    size_t size;
    int cases = 0;
    char *file = t ? tl_read_file(path, &size, NULL) : NULL, *next;
    for (char *line = file; line && *line; line = next) {
        char *field[5] = {line}, *end = strchr(line, '\n');
        next = end ? end + 1 : line + strlen(line);
        if (end) *end = 0;
        int n = 1;
        for (char *p = line; n < 5 && (p = strchr(p, '\t')); n++) {
            *p++ = 0;
            field[n] = p;
        }
        if (*line == '#' || n < 5) continue;
        int len = hex_bytes(field[2], text);
        compare(t, field[0], text, len, 0, field[3]);
        if (strcmp(field[4], "?") != 0) compare(t, field[0], text, len, TL_PARSE_SPECIAL, field[4]);
        cases++;
    }
    tl_free(file);
    tl_tokenizer_free(t);
    tl_gguf_free(g);
    return cases;
}

static void spm_fixture(void) { CHECK(compare_cases("tests/data/spm_tiny") > 50); }

static void published_vocabularies(void) {
    static const char *const names[] = {"llama3", "qwen25", "smollm2", "gemma3", "spm_tiny"};
    for (int i = 0; i < 5; i++) {
        char rel[64];
        snprintf(rel, sizeof rel, "golden/tokenizer/%s/cases.tsv", names[i]);
        const char *found = test_shared(rel);
        if (!found) SKIP("no shared folder");
        char dir[4096];
        snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(found, '/') - found), found);
        CHECKF(compare_cases(dir) > 50, "%s", names[i]);
    }
}

/* Texts in NAME.inp, separated by a line; a line of ids for each in NAME.out. */
static void vocabulary_pairs(void) {
    static const char *const names[] = {"gpt-2", "llama-bpe", "llama-spm", "qwen2", "phi-3", "starcoder", "refact",
                                        "command-r", "mpt", "deepseek-llm", "deepseek-coder"};
    static const char line[] = "\n__ggml_vocab_test__\n";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char rel[96], path[4096];
        snprintf(rel, sizeof rel, "tokenizers/ggml-vocab-%s.gguf", names[i]);
        const char *found = test_shared(rel);
        if (!found) SKIP("no shared folder");
        snprintf(path, sizeof path, "%s", found);
        tl_gguf *g;
        tl_tokenizer *t = open_vocab(path, &g);
        size_t n;
        strcat(path, ".inp");
        char *text = tl_read_file(path, &n, NULL);
        strcpy(strrchr(path, '.'), ".out");
        char *ids = tl_read_file(path, &n, NULL);
        int texts = 0;
        for (char *p = text, *q = ids; t && p && q; texts++) {
            char *sep = strstr(p, line), *end = strchr(q, '\n');
            if (end) *end = 0;
            compare(t, names[i], p, (int)(sep ? sep - p : (long)strlen(p)), 0, q);
            p = sep ? sep + sizeof line - 1 : NULL;
            q = end ? end + 1 : NULL;
        }
        CHECKF(texts > 40, "%s: %d texts", names[i], texts);
        tl_free(text);
        tl_free(ids);
        tl_tokenizer_free(t);
        tl_gguf_free(g);
    }
}

/* ---- special tokens: trust, speed, white space -------------------------------------------------------------------- */

static void expect_trusted(const tl_tokenizer *t, const char *text, const char *trusted, const int32_t *want, int line) {
    int32_t ids[MAX_IDS];
    char flags[200];
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) flags[i] = trusted[i] == '1';
    int n = tl_tokenizer_encode(t, text, len, flags, 0, ids, MAX_IDS, NULL), k = 0;
    while (want[k] != -1) k++;
    CHECKF(n == k, "line %d: \"%s\" gives %d ids instead of %d", line, text, n, k);
    for (int i = 0; i < n && i < k; i++) CHECKF(ids[i] == want[i], "line %d: \"%s\" id %d is %d", line, text, i, ids[i]);
}
#define TRUSTED(t, text, trusted, ...) expect_trusted(t, text, trusted, (const int32_t[]){__VA_ARGS__, -1}, __LINE__)

static void control_tokens_need_trust(void) {
    vocab *v = new_bpe("gpt-2");
    int32_t s = add(v, "<s>", TL_TOK_CONTROL, 0), ss = add(v, "<s><s>", TL_TOK_CONTROL, 0), u = add(v, "<u>", TL_TOK_USER, 0);
    int32_t longer = add(v, "<u><s>", TL_TOK_CONTROL, 0), both = add(v, "<u>x", TL_TOK_USER, 0);
    tl_tokenizer *t = tl_tokenizer_new(&v->src, NULL);
    TRUSTED(t, "<s>", "111", s);
    TRUSTED(t, "<s>", "000", '<', 's', '>');
    TRUSTED(t, "<s>", "110", '<', 's', '>');
    TRUSTED(t, "<s>", "011", '<', 's', '>');
    TRUSTED(t, "<s><s>", "111111", ss);
    TRUSTED(t, "<s><s>", "111000", s, '<', 's', '>');
    TRUSTED(t, "<s><s>", "000111", '<', 's', '>', s);
    TRUSTED(t, "<s><s>", "110111", '<', 's', '>', s);
    TRUSTED(t, "<u>", "000", u);
    TRUSTED(t, "<u><s>", "111111", longer);
    TRUSTED(t, "<u><s>", "011111", u, s);
    TRUSTED(t, "<u><s>", "111110", u, '<', 's', '>');
    TRUSTED(t, "<u>x<s>", "1110111", both, s);
    tl_tokenizer_free(t);
    free(v);
}

/* Random sets over two letters against trying all of them at each place. */
static void special_tokens_as_tried_one_by_one(void) {
    uint32_t state = 7;
    for (int round = 0; round < 300; round++) {
        vocab *v = new_bpe("gpt-2");
        static char names[40][12];
        int first = (int)v->src.n, n = 1 + round % 40;
        for (int i = 0; i < n; i++) {
            int len = 2 + (int)((state = state * 1664525u + 1013904223u) >> 16) % 9;
            for (int k = 0; k < len; k++) names[i][k] = (char)('a' + ((state = state * 1664525u + 1013904223u) >> 20 & 1));
            names[i][len] = 0;
            add(v, names[i], (state >> 24) % 3 ? TL_TOK_CONTROL : TL_TOK_USER, 0);
        }
        tl_tokenizer *t = tl_tokenizer_new(&v->src, NULL);
        char text[61] = "", trust[60];
        for (int i = 0; i < 60; i++) text[i] = (char)('a' + ((state = state * 1664525u + 1013904223u) >> 20 & 1)), trust[i] = (state >> 26 & 7) != 0;
        int32_t want[64], got[64];
        int n_want = 0;
        for (int at = 0; at < 60;) {
            int best = -1, len = 1;
            for (int i = 0; i < n; i++) {
                int l = (int)strlen(names[i]), all = 1;
                for (int k = 0; k < l && at + l <= 60; k++) all &= trust[at + k];
                int ok = at + l <= 60 && memcmp(text + at, names[i], (size_t)l) == 0 && (all || v->type[first + i] == TL_TOK_USER);
                int tie = best >= 0 && l == len && v->type[first + i] == TL_TOK_USER && v->type[best] != TL_TOK_USER;
                if (ok && (best < 0 || l > len || tie)) best = first + i, len = l;
            }
            want[n_want++] = best < 0 ? text[at] : best;
            at += best < 0 ? 1 : len;
        }
        int n_got = tl_tokenizer_encode(t, text, 60, trust, 0, got, 64, NULL);
        CHECKF(n_got == n_want && memcmp(got, want, (size_t)n_want * sizeof *want) == 0, "round %d: %s", round, text);
        tl_tokenizer_free(t);
        free(v);
    }
}

/* A token of 20 kB that the text nearly holds at every place, and many that are ends and beginnings of each other. */
static void special_tokens_take_linear_time(void) {
    enum { LONG = 20000, TEXT = 400000 };
    char *name = malloc(LONG + 1), *text = malloc(TEXT), *rows = malloc(400 * 402);
    vocab *v = new_bpe("gpt-2");
    memset(name, 'a', LONG);
    name[LONG - 1] = 'b', name[LONG] = 0;
    int32_t id = add(v, name, TL_TOK_CONTROL, 0);
    for (int i = 0; i < 400; i++) {   /* aab, aaab, ... and baa, baaa, ... */
        char *p = rows + i * 402;
        memset(p, 'a', (size_t)i + 2);
        p[i % 2 ? 0 : i + 1] = 'b', p[i + 2] = 0;
        add(v, p, TL_TOK_CONTROL, 0);
    }
    memset(text, 'a', TEXT);
    text[TEXT - 1] = 'b';
    tl_tokenizer *t = tl_tokenizer_new(&v->src, NULL);
    double start = test_cpu_seconds();
    int n = tl_tokenizer_encode(t, text, TEXT, NULL, TL_PARSE_SPECIAL, NULL, 0, NULL);
    double seconds = test_cpu_seconds() - start;
    int32_t *ids = malloc((size_t)n * sizeof *ids);
    tl_tokenizer_encode(t, text, TEXT, NULL, TL_PARSE_SPECIAL, ids, n, NULL);
    CHECK(n == TEXT - LONG + 1 && ids[n - 1] == id && ids[0] == 'a');
    CHECKF(seconds < 5, "%.1f s", seconds);   /* a hundredth on a quiet machine */
    free(ids);
    tl_tokenizer_free(t);
    free(v);
    free(name);
    free(text);
    free(rows);
}

static void white_space_goes_with_some_tokens(void) {
    vocab *v = new_bpe("gpt-2");
    add(v, "<|placeholder1|>", TL_TOK_CONTROL, 0);
    int32_t end = add(v, "<|end|>", TL_TOK_CONTROL, 0), keep = add(v, "<|endoftext|>", TL_TOK_CONTROL, 0);
    tl_tokenizer *t = tl_tokenizer_new(&v->src, NULL);
    IDS(t, "a <|end|> \n\tb", TL_PARSE_SPECIAL, 'a', ' ', end, 'b');
    IDS(t, "<|end|> <|end|>  ", TL_PARSE_SPECIAL, end, end);
    IDS(t, "<|endoftext|> a", TL_PARSE_SPECIAL, keep, ' ', 'a');
    tl_tokenizer_free(t);
    free(v);
    v = new_bpe("gpt-2");
    int32_t mask = add(v, "<mask>", TL_TOK_CONTROL, 0);
    end = add(v, "<|end|>", TL_TOK_CONTROL, 0);
    t = tl_tokenizer_new(&v->src, NULL);
    IDS(t, "a \n<mask> b<|end|> c", TL_PARSE_SPECIAL, 'a', mask, ' ', 'b', end, ' ', 'c');
    IDS(t, "<|end|> <mask>", TL_PARSE_SPECIAL, end, mask);
    tl_tokenizer_free(t);
    free(v);
}

int main(void) {
    RUN(bpe_merges);
    RUN(bpe_whole_pieces);
    RUN(bpe_missing_bytes);
    RUN(special_tokens);
    RUN(end_tokens_by_name);
    RUN(spm_merges);
    RUN(spm_without_bytes);
    RUN(bad_vocabularies);
    RUN(long_runs);
    RUN(stream);
    RUN(spm_fixture);
    RUN(published_vocabularies);
    RUN(vocabulary_pairs);
    RUN(control_tokens_need_trust);
    RUN(special_tokens_as_tried_one_by_one);
    RUN(special_tokens_take_linear_time);
    RUN(white_space_goes_with_some_tokens);
    return tl_test_end();
}
