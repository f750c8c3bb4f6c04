/* SPDX-License-Identifier: MIT
 *
 * pretok_test.c: how pre-tokenizers cut texts, each where it differs from its neighbours. */
#include "base/base.h"
#include "base/rng.h"
#include "test.h"
#include "text/pretok.h"

static tl_slice str(const char *s) { return (tl_slice){s, strlen(s)}; }

/* Pieces of text joined by '|' (the texts below hold none). */
static void expect_split(const char *pre, const char *text, const char *want, int line) {
    const tl_pretok *p = tl_pretok_find(str(pre));
    char got[256];
    size_t n = 0;
    tl_cut cut = tl_pretok_begin(p, text, strlen(text));
    for (tl_slice s; (s = tl_pretok_next(&cut)).n; n += s.n) {
        if (s.p > text) got[n++] = '|';
        memcpy(got + n, s.p, s.n);
    }
    got[n] = 0;
    CHECKF(strcmp(got, want) == 0, "line %d: %s cuts \"%s\" instead of \"%s\"", line, pre, got, want);
}
#define SPLIT(pre, text, want) expect_split(pre, text, want, __LINE__)

static void rows_and_rules(void) {
    SPLIT("gpt-2", "it's  a 12th 'S day", "it|'s| | a| 12|th| '|S| day");
    SPLIT("gpt-2", "a \n\n b   ", "a| \n\n| b|   ");
    SPLIT("gpt-2", "x\xC2\xA0y \xC2\xA0\xC2\xA0z", "x|\xC2\xA0|y| \xC2\xA0|\xC2\xA0|z");   /* NBSP is white space ... */
    SPLIT("gpt-2", "x\xE2\x80\x8By\xE1\xA0\x8Ez", "x|\xE2\x80\x8B|y|\xE1\xA0\x8E|z");       /* ... U+200B and U+180E not */
    SPLIT("gpt-2", "a\xCC\x81" "b \xC2\xBD\xE2\x85\xA7""1", "a|\xCC\x81|b| \xC2\xBD\xE2\x85\xA7""1");   /* No, Nl */
    SPLIT("gpt-2", "'re've'll'd'm't'x", "'re|'ve|'ll|'d|'m|'t|'|x");
    SPLIT("gpt-2", "a\xFF\xC3(b", "a|\xFF\xC3(|b");
    SPLIT("llama-bpe", "He'S 'LL we'\xC5\xBF 12345 a\tb (x)", "He|'S| '|LL| we|'\xC5\xBF| |123|45| a|\tb| (|x|)");
    SPLIT("llama-bpe", "a\r\n \n\n  b;\r\nc \n", "a|\r\n \n\n| | b|;\r\n|c| \n");
    SPLIT("llama-bpe", "\xCC\x81""e \xCC\x81""e 'hello", "\xCC\x81""e| \xCC\x81|e| '|hello");
    SPLIT("llama-bpe", "\ta\n\tb\v\fc", "\ta|\n|\tb|\v|\fc");
    SPLIT("qwen2", "a 123 \xD9\xA3\xD9\xA4!", "a| |1|2|3| |\xD9\xA3|\xD9\xA4|!");
    SPLIT("smollm", "a 12  3x !4\n", "a| |1|2|  |3|x| !|4|\n");
    SPLIT("smollm", "a 's\xC2\xBD b", "a| '|s|\xC2\xBD| b");
    SPLIT("dbrx", "a 1234's!\n", "a| |123|4|'s|!\n");
    SPLIT("smaug-bpe", "x  y12345", "x| | y|123|45");
    SPLIT("olmo", "a 1234's\n", "a| 1234|'s|\n");
    SPLIT("phi-2", "a 1234's\n", "a| 1234|'s|\n");
    static const char *const merged[] = {"dbrx", "smaug-bpe", "olmo", "phi-2", "qwen35", "gpt-4o", "falcon",
                                         "deepseek-llm", "deepseek-coder"};   /* always merged, no BOS unless told */
    for (size_t i = 0; i < sizeof merged / sizeof merged[0]; i++)
        CHECKF(tl_pretok_find(str(merged[i]))->flags == 0, "%s", merged[i]);
    CHECK(tl_pretok_find(str("nosuch")) == NULL && tl_pretok_find(str("")) == NULL);
}

/* Expected: what the steps published with the models give in the library tokenizers of Hugging Face. */
static void published_steps(void) {
    SPLIT("qwen35", "e\xCC\x81te\xCC\x81 \xCC\x81" "a !\xCC\x81", "e\xCC\x81te\xCC\x81| \xCC\x81" "a| !|\xCC\x81");
    SPLIT("qwen35", "\xE0\xA4\xA8\xE0\xA4\xAE\xE0\xA4\xB8\xE0\xA5\x8D\xE0\xA4\xA4\xE0\xA5\x87 12 it'S",
          "\xE0\xA4\xA8\xE0\xA4\xAE\xE0\xA4\xB8\xE0\xA5\x8D\xE0\xA4\xA4\xE0\xA5\x87| |1|2| it|'S");
    /* only one character before a word */
    SPLIT("qwen35", "!!\xCC\x81x", "!!|\xCC\x81x");
    SPLIT("qwen35", "a\nb 2c", "a|\n|b| |2|c");
    SPLIT("qwen2", "e\xCC\x81te\xCC\x81 \xE0\xA4\xA8\xE0\xA4\xAE\xE0\xA4\xB8\xE0\xA5\x8D\xE0\xA4\xA4\xE0\xA5\x87",
          "e|\xCC\x81te|\xCC\x81| \xE0\xA4\xA8\xE0\xA4\xAE\xE0\xA4\xB8|\xE0\xA5\x8D\xE0\xA4\xA4|\xE0\xA5\x87");
    /* a word begins at a capital; letters without case are both */
    SPLIT("gpt-4o", "camelCase HTTPServer's ABC\xE4\xB8\xAD" "DEF", "camel|Case| HTTPServer's| ABC\xE4\xB8\xAD|DEF");
    SPLIT("gpt-4o", "don't He'LL 12345 a//\n/b", "don't| He'LL| |123|45| a|//\n/|b");
    /* a mark is both, so it is a word before capitals */
    SPLIT("gpt-4o", "\xCC\x81" "ABC \xC3\x89\xC3\x80\xC3\xA9!x .\xCC\x81",
          "\xCC\x81|ABC| \xC3\x89\xC3\x80\xC3\xA9|!x| .\xCC\x81");
    SPLIT("gpt-4o", "XMLs \xC7\x85" "a A\xCA\xB0" "B", "XMLs| \xC7\x85" "a| A\xCA\xB0|B");
    SPLIT("gpt-4o", "a  \n\n  b /\n", "a|  \n\n| | b| /\n");
    SPLIT("gpt-4o", "a\nb 2C", "a|\n|b| |2|C");
    /* punctuation is cut first: no contractions */
    SPLIT("falcon", "it's a, b  ,c", "it|'|s| a|,| b|  |,|c");
    SPLIT("falcon", "x 12345 1234567, 99 ", "x| |123|45| |123|456|7|,| |99| ");
    /* numbers leave the space before them */
    SPLIT("falcon", "a  12 1\xD9\xA3\xD9\xA3" "2", "a| | |12| |1|\xD9\xA3\xD9\xA3|2");
    /* bytes B2 and B3 are spelled as numbers */
    SPLIT("falcon", "\xD8\xB2" "123 \xC2\xB2\xC2\xB3", "\xD8|\xB2|123| \xC2|\xB2|\xC2|\xB3");
    SPLIT("falcon", "$a+b=c ~`^<>", "$|a|+|b|=|c| |~`^<>");
    SPLIT("falcon", "x \xE2\x80\xA6\xE2\x80\x94y\n\n.", "x| |\xE2\x80\xA6\xE2\x80\x94|y|\n\n|.");
    SPLIT("falcon", "\xD0\xBC\xD0\xB8\xD1\x80", "\xD0|\xBC|\xD0\xB8\xD1\x80");
    SPLIT("falcon", "\xCC\x81\xC2\xB4 x", "\xCC\x81\xC2\xB4| x");
    SPLIT("deepseek-llm", "Hello World  12 a", "Hello| World|  |1|2| a");
    /* the third step cuts words again */
    SPLIT("deepseek-llm", "H\xC3\xA9llo \xC3\xA9t\xC3\xA9 ti\xE1\xBA\xBFng",
          "H|\xC3\xA9|llo| \xC3\xA9|t|\xC3\xA9| ti|\xE1\xBA\xBF|ng");
    SPLIT("deepseek-llm", " a\r\n\n b  ", " a|\r|\n|\n| b|  ");
    SPLIT("deepseek-llm", "\xE4\xB8\xAD\xE6\x96\x87 text\xEF\xBC\x8Cok\xE3\x80\x82 \xE3\x81\xA7\xE3\x81\x99",
          "\xE4\xB8\xAD\xE6\x96\x87| text|\xEF\xBC\x8C|ok|\xE3\x80\x82| |\xE3\x81\xA7\xE3\x81\x99");
    SPLIT("deepseek-llm", "\xF0\x9F\x98\x80  1 \xF0\x9F\x98\x80  ", "\xF0\x9F\x98\x80  |1| \xF0\x9F\x98\x80|  ");
    /* U+3000 is white space, punctuation and in the range of ideographs */
    SPLIT("deepseek-llm", "a\xE3\x80\x80" "b ,\xE3\x80\x80 \xE3\x80\x82\xE3\x80\x80",
          "a|\xE3\x80\x80|b| ,|\xE3\x80\x80| |\xE3\x80\x82|\xE3\x80\x80");
    SPLIT("deepseek-llm", "x+=1;  \ty", "x|+=|1|;|  |\ty");
    SPLIT("deepseek-llm", "\xE2\x80\x83 \xE2\x80\x83" "1", "\xE2\x80\x83| |\xE2\x80\x83|1");
    SPLIT("deepseek-llm", "\xD0\xBC\xD0\xB8\xD1\x80, \xD0\xBC\xD0\xB8\xD1\x80 \xE0\xA5\xA8\xE0\xA5\xA9",
          "\xD0\xBC\xD0\xB8\xD1\x80|,| \xD0\xBC\xD0\xB8\xD1\x80| |\xE0\xA5\xA8|\xE0\xA5\xA9");
    SPLIT("deepseek-llm", "\xE2\x80\x83\xE3\x80\x80\xCE\xA9z \xE3\x80\x82\xE3\x80\x80\xE3\x81\xAE",
          "\xE2\x80\x83|\xE3\x80\x80|\xCE\xA9|z| |\xE3\x80\x82|\xE3\x80\x80|\xE3\x81\xAE");
    SPLIT("deepseek-llm", "\xD8\xA8  \xED\x95\x9C \xEF\xBC\x9A\xEF\xBC\x81\xF0\x9F\x98\x80",
          "\xD8\xA8  |\xED\x95\x9C| \xEF\xBC\x9A\xEF\xBC\x81|\xF0\x9F\x98\x80");
    SPLIT("deepseek-llm", "\xE3\x80\x80\xE3\x81\xAE \xE1\xBA\xBF\xE2\x80\x94 \xC3\xA9\xCE\xB0 \xED\x95\x9C\xE0\xB8\x97",
          "\xE3\x80\x80|\xE3\x81\xAE| |\xE1\xBA\xBF|\xE2\x80\x94| \xC3\xA9\xCE\xB0| |\xED\x95\x9C\xE0\xB8\x97");
    SPLIT("deepseek-coder", "def f(x):\n    return x+1  # ok", "def| f|(|x|):|\n|   | return| x|+|1| | #| ok");
    /* signs are not punctuation and stay with the space around them */
    SPLIT("deepseek-coder", "x  =  y == 3.14", "x|  = | y| == |3|.|1|4");
    SPLIT("deepseek-coder", "\xE4\xB8\xAD\xE6\x96\x87" "a b\xE4\xB8\xAD \xE2\x80\x94-",
          "\xE4\xB8\xAD\xE6\x96\x87|a| b|\xE4\xB8\xAD| |\xE2\x80\x94|-");
    SPLIT("deepseek-coder", "\xE0\xA4\xA8\xE0\xA4\xAE\xE0\xA4\xB8\xE0\xA5\x8D\xE0\xA4\xA4\xE0\xA5\x87 \xE2\x98\x85",
          "\xE0\xA4\xA8\xE0\xA4\xAE\xE0\xA4\xB8|\xE0\xA5\x8D|\xE0\xA4\xA4|\xE0\xA5\x87| |\xE2\x98\x85");
    SPLIT("deepseek-coder", "123 \xD9\xA3 a\t\tb \t", "1|2|3| |\xD9\xA3| a|\t|\tb| \t");
    SPLIT("deepseek-coder", "  \xE2\x80\x98" "a \xED\x95\x9C\xE0\xB8\x97",
          " | |\xE2\x80\x98|a| |\xED\x95\x9C\xE0\xB8\x97");
}

/* Of every row the pieces make up the text, whatever it holds, and no text takes more than linear time. */
static void any_text(void) {
    static const char *const names[] = {
#define PRETOK(name, ...) name,
#include "text/pretok.def"
#undef PRETOK
    };
    static const char *const parts[] = {
        "a", "A", " ", " \xE2\x80\x83", "\xE3\x80\x80 ", "\n", " \n", "1", "1\xD9\xA3", "1\xD8\xB2", ".",
        ".\xE3\x80\x80", "'", "\xCC\x81", "A\xE4\xB8\xAD", "\xF0\x9F\x98\x80 \xE2\x80\x83", "/\n", "\xFF", "\xE4",
    };
    enum { N_PARTS = sizeof parts / sizeof parts[0], LONG = 200000 };
    char *text = malloc(LONG);
    tl_rng rng;
    tl_rng_seed(&rng, 24);
    double start = test_cpu_seconds();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const tl_pretok *pre = tl_pretok_find(str(names[i]));
        for (int round = 0; round < 300 + N_PARTS; round++) {
            size_t n = 0, sum = 0;
            const char *part = round < 300 ? NULL : parts[round - 300];
            while (n < (part ? LONG - 9 : 60)) {
                const char *p = part ? part : parts[tl_rng_next(&rng) % N_PARTS];
                memcpy(text + n, p, strlen(p));
                n += strlen(p);
            }
            text[n++] = '1';   /* what decides comes last */
            tl_cut cut = tl_pretok_begin(pre, text, n);
            for (tl_slice s; (s = tl_pretok_next(&cut)).n && s.p == text + sum; sum += s.n) {}
            CHECKF(sum == n, "%s, round %d: %zu of %zu bytes", names[i], round, sum, n);
        }
    }
    double seconds = test_cpu_seconds() - start;
    CHECKF(seconds < 60, "%.1f s", seconds);   /* a second or two; minutes where a piece reads all that follows */
    free(text);
}

int main(void) {
    RUN(rows_and_rules);
    RUN(published_steps);
    RUN(any_text);
    return tl_test_end();
}
