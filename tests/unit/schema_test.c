/* SPDX-License-Identifier: MIT
 * schema_test.c: which texts the grammars of JSON schemas and regular expressions accept, texts of errors, damaged and
 * hostile input. tests/data/schemas.txt holds more schemas; tools/check_schemas.py compares with Python's jsonschema. */
#include "test.h"

#include "grammar/automaton.h"
#include "grammar/grammar.h"

static uint32_t seed = 1;
static int below(int n) {
    seed = seed * 1664525u + 1013904223u;
    return (int)((uint64_t)(seed >> 8) * (uint32_t)n >> 24);
}

typedef int make_fn(const char *text, size_t n, tl_buf *out, tl_error *err);

static int make_regex(const char *text, size_t n, tl_buf *out, tl_error *err) {
    (void)n;
    return tl_regex_to_gbnf(text, out, err);
}

/* 1: the grammar accepts the text as a whole, 0: it does not, -1: there is no grammar. */
static int accepts(make_fn *make, const char *from, const char *text) {
    tl_buf gbnf = {0};
    tl_error err = {0};
    tl_automaton a = {0};
    int result = -1;
    if (make(from, strlen(from), &gbnf, &err) == TL_OK && tl_automaton_init(&a, gbnf.p, gbnf.n, &err) == TL_OK) {
        int s = a.start;
        for (const char *p = text; *p && s != TL_DEAD; p++) s = tl_automaton_next(&a, s, (uint8_t)*p);
        result = s != TL_DEAD && tl_automaton_may_end(&a, s);
    }
    CHECKF(result >= 0, "%s: %s", from, err.text);
    tl_automaton_free(&a);
    tl_buf_free(&gbnf);
    return result;
}

typedef struct row { const char *from; const char *yes[8], *no[8]; } row;

static void check_rows(make_fn *make, const row *t, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 8; k++) {
            if (t[i].yes[k]) CHECKF(accepts(make, t[i].from, t[i].yes[k]) == 1, "%s refuses %s", t[i].from, t[i].yes[k]);
            if (t[i].no[k]) CHECKF(accepts(make, t[i].from, t[i].no[k]) == 0, "%s takes %s", t[i].from, t[i].no[k]);
        }
}

#define O "\"type\":\"object\",\"properties\":"
static void schemas(void) {
    static const row t[] = {
        {"{}", {"1", "-0.5", "\"a\"", "null", "[]", "{}", "[1, {\"a\":[true,\"\"]}]"}, {"", "01", "[1 ,2]", "[1,  2]", " 1", "{\"a\"}", "[1,]"}},
        {"{\"type\":\"integer\"}", {"0", "-7", "123456789012345"}, {"1.0", "01", "1e3", "1234567890123456", "-"}},
        {"{\"type\":\"number\"}", {"0.25", "-3", "0"}, {".5", "1.", "1e5", "+1"}},
        {"{\"type\":\"string\"}", {"\"\"", "\"\\\"\\\\\\n\\u0000\xc3\xa9/\"", "\"\xf0\x9f\x98\x80\""}, {"\"\\/\"", "\"\n\"", "\"\\u00e9\"", "a", "\""}},
        {"{" O "{\"a\":{\"const\":1},\"b\":{\"const\":2}},\"required\":[\"b\"]}", {"{\"a\":1,\"b\":2}", "{\"b\": 2}", "{\"a\": 1, \"b\":2}"},
         {"{}", "{\"a\":1}", "{\"b\":2,\"a\":1}", "{\"b\":2,\"c\":3}", "{\"b\":1}", "{,\"b\":2}", "{ \"b\":2}"}},
        {"{" O "{\"a\":{\"const\":1},\"b\":{\"const\":2},\"c\":{\"const\":3}}}", {"{}", "{\"c\":3}", "{\"a\":1,\"c\":3}", "{\"a\":1,\"b\":2,\"c\":3}"},
         {"{\"c\":3,\"a\":1}", "{\"a\":1\"c\":3}", "{\"a\":1,}"}},
        {"{" O "{\"a\":{\"const\":1},\"b\":{\"const\":2},\"c\":{\"const\":3}},\"minProperties\":2}", {"{\"a\":1,\"c\":3}", "{\"b\":2,\"c\":3}"}, {"{}", "{\"c\":3}"}},
        {"{" O "{\"a\":{\"const\":1},\"b\":{\"const\":2},\"c\":{\"const\":3}},\"maxProperties\":1}", {"{}", "{\"b\":2}"}, {"{\"a\":1,\"c\":3}"}},
        {"{" O "{\"ab\":{\"const\":1}},\"additionalProperties\":{\"const\":2}}", {"{\"ab\":1,\"a\":2,\"abc\":2,\"\":2}", "{\"b\":2}"},
         {"{\"ab\":2}", "{\"a\":2,\"ab\":1}", "{\"a\":1}"}},
        {"{\"type\":\"object\",\"patternProperties\":{\"^x\":{\"const\":1},\"y$\":{\"const\":2}},\"additionalProperties\":{\"const\":3}}",
         {"{\"x\":1,\"y\":2,\"z\":3}"}, {"{\"xy\":1}", "{\"x\":3}", "{\"z\":1}", "{\"y\\n\":3}"}},
        {"{\"type\":\"object\",\"propertyNames\":{\"maxLength\":1},\"additionalProperties\":{\"const\":0},\"maxProperties\":2}",
         {"{}", "{\"a\":0, \"\":0}"}, {"{\"ab\":0}", "{\"a\":0,\"b\":0,\"c\":0}"}},
        {"{\"items\":{\"const\":1},\"minItems\":2,\"maxItems\":3}", {"[1,1]", "[1, 1,1]"}, {"[]", "[1]", "[1,1,1,1]", "[1,1,]"}},
        {"{\"prefixItems\":[{\"const\":1},{\"const\":2}],\"items\":{\"const\":3},\"maxItems\":3}", {"[]", "[1]", "[1,2]", "[1,2,3]"}, {"[2]", "[1,3]", "[1,2,3,3]"}},
        {"{\"prefixItems\":[{\"const\":1},{\"const\":2}],\"items\":false,\"minItems\":2}", {"[1,2]"}, {"[1]", "[1,2,3]", "[]"}},
        {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", {"\"ab\"", "\"\\n\xf0\x9f\x98\x80\xc3\xa9\""}, {"\"a\"", "\"abcd\""}},
        {"{\"type\":\"string\",\"pattern\":\"o\",\"maxLength\":3}", {"\"o\"", "\"foo\"", "\"\\no\""}, {"\"ab\"", "\"fooo\"", "\"\""}},
        {"{\"type\":\"string\",\"pattern\":\"^[\\\\x00-\\\\x22]+$\"}", {"\"\\u0000\\b\\t\\n\\f\\r\\u001f !\\\"\""}, {"\"#\"", "\"\\u0009\"", "\"\\u001F\""}},
        {"{\"type\":\"string\",\"pattern\":\"^a|b$\"}", {"\"ax\"", "\"xb\"", "\"a\""}, {"\"xax\"", "\"bx\""}},
        {"{\"type\":\"string\",\"pattern\":\"^a\",\"allOf\":[{\"pattern\":\"b$\"}]}", {"\"ab\"", "\"axxb\""}, {"\"a\"", "\"b\"", "\"ba\""}},
        {"{\"type\":\"string\",\"format\":\"date\"}", {"\"2024-02-29\"", "\"2000-02-29\"", "\"0001-12-31\""}, {"\"2023-02-29\"", "\"1900-02-29\"", "\"2024-04-31\"", "\"0000-01-01\""}},
        {"{\"type\":\"string\",\"format\":\"ipv4\"}", {"\"0.0.0.0\"", "\"255.249.199.9\""}, {"\"256.0.0.0\"", "\"01.0.0.0\"", "\"1.1.1\""}},
        {"{\"type\":\"string\",\"format\":\"ipv6\"}", {"\"::\"", "\"1:2:3:4:5:6:7:8\"", "\"fe80::1\"", "\"::ffff:1.2.3.4\""}, {"\"1:2:3\"", "\":::\"", "\"1::2::3\"", "\"12345::\""}},
        {"{\"type\":\"string\",\"format\":\"email\",\"maxLength\":5}", {"\"a@b\"", "\"a@b.c\""}, {"\"a\"", "\"aa@b.c\"", "\"@b\""}},
        {"{\"type\":\"integer\",\"minimum\":-5,\"maximum\":123}", {"-5", "0", "123", "99", "7"}, {"-6", "124", "1000", "-0", "007"}},
        {"{\"type\":\"integer\",\"exclusiveMinimum\":99,\"exclusiveMaximum\":101}", {"100"}, {"99", "101", "10"}},
        {"{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":1.5}", {"0.000001", "1", "1.5", "1.500000", "0.30"}, {"0", "0.0", "1.51", "1.5000001", "2", "-1"}},
        {"{\"type\":\"number\",\"maximum\":-0.5}", {"-0.5", "-1", "-12.25"}, {"-0.4", "0", "0.5"}},
        {"{\"type\":\"integer\",\"multipleOf\":7,\"minimum\":-20,\"maximum\":100}", {"0", "7", "98", "-14"}, {"1", "105", "-21", "10"}},
        {"{\"type\":\"integer\",\"multipleOf\":300}", {"0", "300", "-1200"}, {"100", "200", "00", "0300"}},
        {"{\"type\":\"number\",\"multipleOf\":0.25}", {"0.25", "1.5", "1.50", "3", "-0.75"}, {"0.3", "0.255", "1.05"}},
        {"{\"enum\":[\"a\",1,null,{\"b\":[1,2]}]}", {"\"a\"", "1", "null", "{\"b\": [1, 2]}", "{\"b\":[1,2]}"}, {"\"b\"", "1.0", "{}"}},
        {"{\"type\":\"string\",\"enum\":[\"a\",1,\"bcd\"],\"maxLength\":2}", {"\"a\""}, {"1", "\"bcd\""}},
        {"{\"anyOf\":[{\"const\":1},{\"type\":\"null\"}]}", {"1", "null"}, {"2"}},
        {"{\"allOf\":[{\"minimum\":3},{\"maximum\":5}],\"type\":\"integer\"}", {"3", "5"}, {"2", "6"}},
        {"{" O "{\"v\":{\"const\":1},\"next\":{\"$ref\":\"#\"}},\"required\":[\"v\"]}", {"{\"v\":1}", "{\"v\":1,\"next\":{\"v\":1,\"next\":{\"v\":1}}}"}, {"{\"next\":{}}", "{\"v\":1,\"next\":{}}"}},
    };
    check_rows(tl_schema_to_gbnf, t, sizeof t / sizeof *t);
}

static void regexes(void) {
    static const row t[] = {
        {"abc", {"abc"}, {"ab", "abcd", "xabc", ""}},
        {"^abc$", {"abc"}, {"ab"}},
        {"a|bc|", {"a", "bc", ""}, {"b", "abc"}},
        {"(?:ab)*c+?d??e{2}f{1,}g{0,1}", {"abcdeef", "cceeffg"}, {"abd", "ceffg"}},
        {"(a(b)?)+", {"a", "abab", "aab"}, {"", "b"}},
        {"[a-c^.-]+", {"abc^.-"}, {"d"}},
        {"[^a-c]", {"d", "\n", "\xf0\x9f\x98\x80"}, {"a", "dd", ""}},
        {"\\d\\w\\s", {"0_\t", "9z\xc2\xa0"}, {"a_ ", "0- "}},
        {"\\D\\W\\S", {"a-a"}, {"0-a", "aaa", "a- ", "\xd9\xa0-a"}},
        {".", {"a", "\xc3\xa9"}, {"\n", "\r", "\xe2\x80\xa8", ""}},
        {"[\\s\\S]", {"\n", "a"}, {""}},
        {"\\u0041\\x42\\ud83d\\ude00\\t\\n\\.\\\\\\/\\-", {"AB\xf0\x9f\x98\x80\t\n.\\/-"}, {"AB"}},
        {"(?<y>\\d{4})-\\d\\d", {"2024-05"}, {"2024-5"}},
        {"\"\\\\", {"\"\\"}, {"\\\"\\\\"}},
        {"{}", {NULL}, {NULL}},
    };
    check_rows(make_regex, t, sizeof t / sizeof *t - 1);
    static const struct { const char *regex, *text; } bad[] = {
        {"{}", "position 1: nothing to repeat"}, {"a(?=b)", "position 2: tinyllm cannot enforce a look-ahead"},
        {"(a)\\1", "position 4: tinyllm cannot enforce a backreference"}, {"\\k<a>", "position 1: tinyllm cannot enforce a backreference"},
        {"[a-\\d]", "position 2: a range cannot begin or end with a class"}, {"\\", "position 1: expected an escape"},
        {"\\u{41}", "position 1: \\u{...} is not supported"}, {"\\x4", "position 4: expected a hexadecimal digit"}, {"a$b", "^ and $ at the beginning and the end only"},
        {"\\cA", "position 1: unknown escape"}, {"^*", "position 2: nothing to repeat"}, {"(?<a", "position 1: the name of this group has no end"},
        {"\xff", "position 1: this is not UTF-8"}, {"[^\\s\\S]", "no text matches it"}, {"[]", "position 1: an empty class"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tl_buf out = {0};
        tl_error err = {0};
        int rc = tl_regex_to_gbnf(bad[i].regex, &out, &err);
        CHECKF(rc == TL_E_UNSUPPORTED && strstr(err.text, bad[i].text) && !out.n, "%s: %d %s", bad[i].regex, rc, err.text);
        tl_buf_free(&out);
    }
}

/* ---- many schemas, whole and damaged ---- */

static char *read_cases(void) {
    size_t n;
    tl_error err = {0};
    char *text = tl_read_file("tests/data/schemas.txt", &n, &err);
    CHECKF(text != NULL, "%s", err.text);
    return text;
}

/* A grammar that the automaton takes, or an error with a text. */
static int either(const char *json, size_t n, char *said, size_t size) {
    tl_buf gbnf = {0};
    tl_error err = {0};
    tl_automaton a = {0};
    int rc = tl_schema_to_gbnf(json, n, &gbnf, &err);
    snprintf(said, size, "%s", err.text);
    CHECKF(rc == err.code && (rc == TL_OK) == (err.text[0] == 0) && (rc != TL_OK) == (gbnf.n == 0), "%.*s: %d %s", (int)(n < 200 ? n : 200), json, rc, err.text);
    if (rc == TL_OK && tl_automaton_init(&a, gbnf.p, gbnf.n, &err) != TL_OK)
        CHECKF(err.code == TL_E_UNSUPPORTED, "%.*s: %s", (int)(n < 200 ? n : 200), json, err.text);
    tl_automaton_free(&a);
    tl_buf_free(&gbnf);
    return rc;
}

static void case_file(void) {
    char *text = read_cases(), said[600];
    int n = 0;
    for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        char *error = strchr(line, '\t');
        int ok = strncmp(line, "ok ", 3) == 0;
        if (!ok && strncmp(line, "no ", 3) != 0) continue;
        if (error) *error++ = 0;
        int rc = either(line + 3, strlen(line + 3), said, sizeof said);
        CHECKF((rc == TL_OK) == ok, "%s: %s", line, said);
        if (!ok) CHECKF(error && strstr(said, error), "%s: %s", line, said);
        n++;
    }
    CHECK(n >= 250);
    tl_free(text);
}

static void damaged(void) {
    static const char *const words[] = {"#", "{", "}", "[", "]", "\"", ":", ",", "1e9", "\"$ref\":\"#\",", "true", "null", "\\u0000", "-", "9", "\"anyOf\":[{}],", "*", "\xff"};
    char *text = read_cases(), said[600];
    for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        char copy[2000];
        if (end - line < 4 || end - line > 1500 || (line[0] != 'o' && line[0] != 'n')) continue;
        size_t n = (size_t)(end - line) - 3;
        for (int k = 0; k < 12; k++) {
            memcpy(copy, line + 3, n);
            size_t at = (size_t)below((int)n), len = n;
            const char *w = words[below(sizeof words / sizeof *words)];
            if (k % 3 == 0) len = at;
            else if (k % 3 == 1) copy[at] = w[0];
            else {
                memmove(copy + at + strlen(w), copy + at, n - at);
                memcpy(copy + at, w, strlen(w));
                len = n + strlen(w);
            }
            either(copy, len, said, sizeof said);
        }
    }
    tl_free(text);
}

static void hostile(void) {
    tl_buf b = {0};
    char said[600];
    for (int i = 0; i < 5000; i++) tl_buf_str(&b, "{\"items\":");
    CHECK(either(b.p, b.n, said, sizeof said) == TL_E_FORMAT && strstr(said, "nested more than 100 deep"));
    b.n = 0;
    tl_buf_str(&b, "{\"type\":\"object\",\"properties\":{");
    for (int i = 0; i < 2000; i++) tl_buf_fmt(&b, "%s\"p%d\":{\"type\":\"integer\"}", i ? "," : "", i);
    tl_buf_str(&b, "}}");
    CHECKF(either(b.p, b.n, said, sizeof said) == TL_OK, "%s", said);
    /* Choices beside each other multiply: 2^40. */
    b.n = 0;
    tl_buf_str(&b, "{\"allOf\":[");
    for (int i = 0; i < 40; i++) tl_buf_fmt(&b, "%s{\"anyOf\":[{\"minimum\":%d},{\"maximum\":%d}]}", i ? "," : "", i, i);
    tl_buf_str(&b, "]}");
    CHECKF(either(b.p, b.n, said, sizeof said) == TL_E_UNSUPPORTED && strstr(said, "choices"), "%s", said);
    /* Each level refers to the next one many times. */
    b.n = 0;
    tl_buf_str(&b, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{\"d30\":{\"type\":\"null\"}");
    for (int i = 0; i < 30; i++) tl_buf_fmt(&b, ",\"d%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]}", i, i + 1, i + 1);
    tl_buf_str(&b, "}}");
    CHECKF(either(b.p, b.n, said, sizeof said) == TL_E_UNSUPPORTED, "%s", said);
    b.n = 0;
    tl_buf_str(&b, "{\"enum\":[0");
    for (int i = 1; i < 3000; i++) tl_buf_fmt(&b, ",\"value %d\"", i);
    tl_buf_str(&b, "]}");
    CHECKF(either(b.p, b.n, said, sizeof said) == TL_OK, "%s", said);
    CHECK(either("\"\\ud800\"", 8, said, sizeof said) == TL_E_FORMAT && strstr(said, "half a surrogate"));
    CHECK(either("{\"a\xff\":1}", 8, said, sizeof said) == TL_E_FORMAT && strstr(said, "is not UTF-8"));
    CHECK(tl_schema_to_gbnf(NULL, 0, &b, NULL) == TL_E_ARGUMENT && tl_schema_to_gbnf("{}", 2, NULL, NULL) == TL_E_ARGUMENT);
    CHECK(tl_regex_to_gbnf(NULL, &b, NULL) == TL_E_ARGUMENT);
    tl_buf_free(&b);
}

int main(void) {
    RUN(schemas);
    RUN(regexes);
    RUN(case_file);
    RUN(damaged);
    RUN(hostile);
    return tl_test_end();
}
