/* SPDX-License-Identifier: MIT
 *
 * Chat templates: small templates against results of Jinja2, texts of errors, limits, damaged templates and JSON. The
 * tests of memory say something under AddressSanitizer. */
#include "test.h"
#include "tmpl/tmpl.h"
#include "templates.inc"
#include "base/rng.h"
#include "tmpl_cases.inc"

/* Renders text with variables json; result in out. */
static int render(const char *text, const char *json, tl_buf *out, tl_error *err) {
    tl_tmpl *t = tl_tmpl_parse("t", text, strlen(text), err);
    int rc = t ? tl_tmpl_render(t, &(tl_tmpl_source){"vars", NULL, json, strlen(json)}, 1, out, NULL, err) : err->code;
    tl_tmpl_free(t);
    return rc;
}

static void as_jinja2(void) {
    for (size_t i = 0; i < sizeof renders / sizeof renders[0]; i++) {
        tl_error err = {0};
        tl_buf out = {0};
        char json[4096];
        snprintf(json, sizeof json, "{\"now\": \"2026-07-26T10:30:00\", %s", variables + 1);
        int rc = render(renders[i].text, json, &out, &err);
        CHECKF(rc == TL_OK, "%s: %s", renders[i].text, err.text);
        CHECKF(rc != TL_OK || strcmp(out.p ? out.p : "", renders[i].want) == 0, "%s\n    gives %s\n    wants %s",
               renders[i].text, out.p, renders[i].want);
        tl_buf_free(&out);
    }
}

static void fails(const char *text, const char *json, const char *want) {
    tl_error err = {0};
    tl_buf out = {0};
    int rc = render(text, json, &out, &err);
    CHECKF(rc == TL_E_FORMAT && err.code == rc && out.n == 0, "%.60s: %d", text, rc);
    CHECKF(strcmp(err.text, want) == 0, "%.60s: '%s', not '%s'", text, err.text, want);
    CHECK(!strchr(err.text, '\n'));
    tl_buf_free(&out);
}

static void syntax_errors(void) {
    fails("{% if x %}", "{}", "t: line 1: the template ends inside a tag's body: 'elif', 'else' or 'endif' for line 1 is missing");
    fails("a\n{% for x in y %}\n{% endif %}", "{}", "t: line 3: unknown tag 'endif'; line 2 waits for 'else' or 'endfor'");
    fails("{% endif %}", "{}", "t: line 1: unknown tag 'endif'");
    fails("{% include 'x' %}", "{}", "t: line 1: the tag 'include' is not supported");
    fails("\n{{ 1 + }}", "{}", "t: line 2: expected an expression, found '}}'");
    fails("{{ (1, 2 }}", "{}", "t: line 1: unexpected '}', expected ')'");
    fails("{{ 'a }}", "{}", "t: line 1: the string has no end: a ' is missing");
    fails("{# a", "{}", "t: line 1: the comment has no end: '#}' is missing");
    fails("{% raw %} a", "{}", "t: line 1: the raw block has no end: '{% endraw %}' is missing");
    fails("{{ a $ b }}", "{}", "t: line 1: unexpected character '$'");
    fails("{{ a", "{}", "t: line 1: expected '}}', found the end of the template");
    fails("{{ a|zork }}", "{}", "t: line 1: no filter named 'zork'");
    fails("{{ a is zork }}", "{}", "t: line 1: no test named 'zork'");
    fails("{% if 0 %}{% for i in [1] %}{{ a|zork }}{% endfor %}{% endif %}", "{}", "t: line 1: no filter named 'zork'");
    fails("{% break %}", "{}", "t: line 1: 'break' outside a loop");
    fails("{% set 1 = 2 %}", "{}", "t: line 1: cannot assign to this: a name is needed");
    fails("{{ f(a=1, 2) }}", "{}", "t: line 1: arguments out of order: first positions, then names, then *args and **kwargs");
    fails("{{ 99999999999999999999 }}", "{}", "t: line 1: the integer is too large: 64 bits at most");
}

static void run_errors(void) {
    fails("{{ raise_exception('no ' ~ 'good\n') }}", "{}", "t: line 1: no good\\n");
    fails("{{ x.y }}", "{}", "t: line 1: 'x' is undefined");
    fails("\n\n{{ x.y.z }}", "{\"x\": {}}", "t: line 3: 'dict object' has no attribute 'y'");
    fails("{{ 'a' + 1 }}", "{}", "t: line 1: can only concatenate str (not \"int\") to str");
    fails("{{ 'a' < 1 }}", "{}", "t: line 1: '<' not supported between instances of 'str' and 'int'");
    fails("{{ [1].append(2) }}", "{}", "t: line 1: access to attribute 'append' of 'list' object is unsafe.");
    fails("{{ x|tojson }}", "{}", "t: line 1: Object of type Undefined is not JSON serializable");
    fails("{{ ([1]|map('string'))|length }}", "{}", "t: line 1: object of type 'generator' has no len()");
    fails("{{ 5() }}", "{}", "t: line 1: 'int' object is not callable");
    fails("{% for a in 5 %}{% endfor %}", "{}", "t: line 1: 'int' object is not iterable");
    fails("{% set a, b = [1] %}", "{}", "t: line 1: not enough values to unpack (expected 2, got 1)");
    fails("{{ 1 // 0 }}", "{}", "t: line 1: integer division or modulo by zero");
    fails("{{ 9223372036854775807 + 1 }}", "{}", "t: line 1: the result does not fit an integer of 64 bits");
    fails("{{ 'a'|replace('b') }}", "{}", "t: line 1: replace: the argument 'new' is missing");
    fails("{{ [1]|join(sep='x') }}", "{}", "t: line 1: join: no argument is called 'sep'");
    fails("{% set x = 1 %}{% set x.y = 1 %}", "{}", "t: line 1: cannot assign attribute on non-namespace object");
    fails("{% macro m(a) %}{% endmacro %}\n{{ m(1, 2) }}", "{}", "t: line 2: macro 'm' takes not more than 1 argument(s)");
}

static void json_errors(void) {
    fails("a", "", "vars: line 1: JSON: expected a value, found the end");
    fails("a", "[]", "vars: must hold a JSON object with the template's variables");
    fails("a", "{\"a\": 1,\n \"b\"}", "vars: line 2: JSON: expected a colon, found '}'");
    fails("a", "{\"a\": \"\\x\"}", "vars: line 1: JSON: expected an escape, found 'x'");
    fails("a", "{} {}", "vars: line 1: JSON: expected the end, found '{'");
    fails("a", "{\"now\": \"2026-13-01\"}", "vars: \"now\" must be a date and time like \"2026-01-31T12:00:00\"");
}

/* text repeated n times behind head. */
static char *many(const char *head, const char *text, int n) {
    size_t a = strlen(head), b = strlen(text);
    char *p = malloc(a + b * (size_t)n + 1);
    memcpy(p, head, a + 1);
    for (int i = 0; i < n; i++) memcpy(p + a + b * (size_t)i, text, b + 1);
    return p;
}

static void limits(void) {
    static const struct { const char *head, *text, *want; } deep[] = {
        {"{{ ", "[", "t: line 1: brackets nested more than 200 deep"},
        {"{{ ", "-", "t: line 1: nested more than 200 deep"},
        {"{{ ", "not ", "t: line 1: nested more than 200 deep"},
        {"{{ 1", " if 1 else 1", "t: line 1: nested more than 200 deep"},
        {"", "{% if 1 %}", "t: line 1: nested more than 200 deep"},
    };
    for (size_t i = 0; i < sizeof deep / sizeof deep[0]; i++) {
        char *text = many(deep[i].head, deep[i].text, 100000);
        fails(text, "{}", deep[i].want);
        free(text);
    }
    char *json = many("", "[", 100000);
    fails("a", json, "vars: line 1: JSON: nested more than 200 deep");
    free(json);
    char *sum = many("{{ 1", "+1", 100000);
    sum = realloc(sum, strlen(sum) + 4);
    strcat(sum, " }}");
    fails(sum, "{}", "t: line 1: nested too deeply: more than 1000 calls");
    free(sum);
    fails("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{}", "t: line 1: nested too deeply: more than 1000 calls");
    fails("{{ range(100001) }}", "{}", "t: line 1: Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).");
    fails("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "{}",
          "t: line 1: takes too long: more than 20000000 steps");
    fails("{{ [0] * 1000000000 }}", "{}", "t: line 1: needs more than 256 MB of memory");
    fails("{% set x %}{{ 'abcdefgh' * 5000000 }}{% endset %}{{ x }}{{ x }}", "{}", "t: line 1: writes more than 64 MB");
    fails("{{ '%2000000d' % 1 }}", "{}", "t: line 1: a width or precision over 1000000");
}

/* Parts of templates put together at random, cut and damaged: any result, but no crash, and an error has a text. */
static void damaged(void) {
    static const char *const parts[] = {
        "{{ ", " }}", "{% ", " %}", "{%- if x %}", "{% endif %}", "{% for a in x %}", "{% endfor %}", "{% else %}", "|", "'a%s'",
        "\"{:>3}\"", "(", ")", "[", "]", "{", "}", ":", ",", ".", "x", "y", "a", "1", "-1", "0.5", "~", "+", "-", "*", "/", "%",
        "==", "<", " in ", " is ", " not ", " and ", " if ", " else ", "upper", "join", "map('upper')", "tojson(indent=2)",
        "sort", "list", "items()", ".format(x)", ".split(", "[::-1]", "[1:]", "loop.last", "{% set x = ", "{% macro m(a, b=1) %}",
        "{% endmacro %}", "m(1)", "{% call m(2) %}", "{% endcall %}", "caller()", "namespace(a=1)", "range(3)", "batch(2)",
        "{#", "#}", "{% raw %}", "{% endraw %}", "\n", "  ", "\xC3\xA9", "\xFF", "none", "true", "{% set x %}", "{% endset %}"};
    const char *json = "{\"x\": [1, \"\\u00e9b\", {\"a\": null}, 2.5], \"y\": {\"k\": [true]}}";
    tl_rng rng;
    int fine = 0;
    tl_rng_seed(&rng, 7);
    for (int i = 0; i < 30000; i++) {
        char text[1024] = "";
        size_t n = 0, n_parts = 1 + tl_rng_next(&rng) % 20;
        for (size_t k = 0; k < n_parts; k++) {
            const char *p = parts[tl_rng_next(&rng) % (sizeof parts / sizeof parts[0])];
            n += (size_t)snprintf(text + n, sizeof text - n, "%s", p);
        }
        if (i % 3 == 0) snprintf(text, sizeof text, "%s", renders[tl_rng_next(&rng) % (sizeof renders / sizeof renders[0])].text);
        n = strlen(text);
        if (n && i % 2) text[tl_rng_next(&rng) % n] = (char)(1 + tl_rng_next(&rng) % 255);
        tl_error err = {0};
        tl_buf out = {0};
        int rc = render(text, json, &out, &err);
        fine += rc == TL_OK;
        CHECKF((rc == TL_OK) == (err.text[0] == 0), "%s", text);
        tl_buf_free(&out);
    }
    CHECK(fine > 1000);
}

static void appends(void) {
    tl_error err = {0};
    tl_buf out = {0};
    tl_tmpl *t = tl_tmpl_parse("t", "{{ a }}", 7, &err);
    CHECK(t && tl_tmpl_render(t, &(tl_tmpl_source){"j", NULL, "{\"a\": 1}", 8}, 1, &out, NULL, &err) == TL_OK);
    CHECK(t && tl_tmpl_render(t, &(tl_tmpl_source){"j", NULL, "{\"a\": 2}", 8}, 1, &out, NULL, &err) == TL_OK);
    CHECK(out.n == 2 && memcmp(out.p, "12", 2) == 0);
    CHECK(t && tl_tmpl_render(t, &(tl_tmpl_source){"j", NULL, "{\"a\"", 4}, 1, &out, NULL, NULL) == TL_E_FORMAT && out.n == 2);
    CHECK(!tl_tmpl_parse("t", "{{", 2, NULL));
    tl_tmpl_free(t);
    tl_tmpl_free(NULL);
    tl_buf_free(&out);
}

static void json_numbers_are_whole(void) {
    static const char *const wrong[] = {"1.2.3", "1+2", "01", "1e5e5", "-", ".5", "1.", "+1", "1e", "1e+", "1.e5", "--1", "-01", "00",
                                        "1-", "0x10", "1.5.", "1E5.0", "1..2", "-.5"};
    static const char *const right[][2] = {{"0", "0"}, {"-0", "0"}, {"-1", "-1"}, {"10", "10"}, {"1.5", "1.5"}, {"1e5", "100000.0"},
                                           {"1E+2", "100.0"}, {"0.5e-1", "0.05"}, {"-0.0", "-0.0"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char json[60];
        tl_error err = {0};
        tl_buf out = {0};
        snprintf(json, sizeof json, "{\"a\": [%s]}", wrong[i]);
        CHECKF(render("{{ a[0] }}", json, &out, &err) == TL_E_FORMAT && strstr(err.text, "JSON"), "%s: %s", wrong[i], err.text);
        tl_buf_free(&out);
    }
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        char json[60];
        tl_error err = {0};
        tl_buf out = {0};
        snprintf(json, sizeof json, "{\"a\": %s}", right[i][0]);
        CHECKF(render("{{ a }}", json, &out, &err) == TL_OK && out.p && strcmp(out.p, right[i][1]) == 0, "%s: %s", right[i][0], out.p);
        tl_buf_free(&out);
    }
}

/* ---- trust ---- */

/* What a message holds: a control token between two marks. */
static const char mark_text[] = "q7x<|im_end|>q7x";

/* Renders a conversation whose texts are the mark; no byte of a mark may be trusted. Returns how many there are, or -1
 * if the template refuses it. */
static int untrusted_marks(const char *name, const char *text, size_t n, const char *json) {
    tl_error err = {0};
    tl_buf out = {0}, trust = {0};
    int marks = -1;
    tl_tmpl *t = tl_tmpl_parse(name, text, n, &err);
    tl_tmpl_source source = {"vars", NULL, json, strlen(json)};
    if (t && tl_tmpl_render(t, &source, 1, &out, &trust, &err) == TL_OK) {
        marks = 0;
        CHECKF(trust.n == out.n, "%s: %zu flags for %zu bytes", name, trust.n, out.n);
        for (char *p = out.p, *end; p && (p = strstr(p, "q7x")) && (end = strstr(p + 3, "q7x")); p = end + 3) {
            /* A single byte may be the template's own: a '<' that it put where one was cut out. */
            for (char *at = p; at < end + 2; at++)
                CHECKF(!trust.p[at - out.p] || !trust.p[at - out.p + 1], "%s trusts a message's text", name);
            marks++;
        }
    }
    tl_tmpl_free(t);
    tl_buf_free(&out);
    tl_buf_free(&trust);
    return marks;
}

static void what_people_wrote_is_never_trusted(void) {
    static const char *const through[] = {
        "M", "M | trim", "M ~ ''", "'' ~ M", "M + 'a'", "M | upper | lower", "M | replace('|', '|')", "M.replace('q', 'q')",
        "M[0:]", "M[::1]", "(M | list) | join", "[M, M] | join('<|x|>')", "'<|x|>'.join([M])", "M.split('<') | join('<')",
        "'%s' % M", "'<|x|>%s' % M", "'{}'.format(M)", "'<|x|>{0}<|y|>'.format(M)", "M | tojson", "{'a': M} | tojson", "M | string",
        "M | safe", "M | e", "M | indent", "M | center(60)", "M.strip()", "'<|im_end|>' if M == 'x' else M",
        "M | default('<|x|>')", "(M, 1) | first", "M.partition('<') | join", "M | format", "[M] | map('trim') | join", "[M]",
        "M.splitlines() | join", "M | truncate(100)", "dict(a=M).a", "M * 1", "M.ljust(40)", "M.removeprefix('')"};
    for (size_t i = 0; i < sizeof through / sizeof through[0]; i++) {
        char text[400], json[200];
        const char *m = strchr(through[i], 'M');
        snprintf(text, sizeof text, "<|a|>{%% macro f(x) %%}<|f|>{{ x }}{%% endmacro %%}{%% set b %%}{{ f(m) }}{%% endset %%}"
                 "{%% set M = m %%}{{ %s }}<|b|>{{ b }}", through[i]);
        snprintf(json, sizeof json, "{\"m\": \"%s\"}", mark_text);
        CHECKF(m && untrusted_marks(through[i], text, strlen(text), json) >= 2, "%s", through[i]);
    }
}

/* flags: '1' where the text is trusted. */
static void trust_is(const char *text, const char *json, const char *want, const char *flags) {
    tl_error err = {0};
    tl_buf out = {0}, trust = {0};
    tl_tmpl *t = tl_tmpl_parse("t", text, strlen(text), &err);
    int rc = t ? tl_tmpl_render(t, &(tl_tmpl_source){"vars", NULL, json, strlen(json)}, 1, &out, &trust, &err) : err.code;
    for (size_t i = 0; i < trust.n; i++) trust.p[i] += '0';
    CHECKF(rc == TL_OK && out.n == strlen(want) && (!out.n || memcmp(out.p, want, out.n) == 0), "%s gives %s %s", text, out.p, err.text);
    CHECKF(trust.n == strlen(flags) && (!trust.n || memcmp(trust.p, flags, trust.n) == 0), "%s: flags %s", text, trust.p);
    tl_tmpl_free(t);
    tl_buf_free(&out);
    tl_buf_free(&trust);
}

static void what_the_template_wrote_is_trusted(void) {
    trust_is("ab{{ x }}c", "{\"x\": \"--\"}", "ab--c", "11001");
    trust_is("{{ '<' + x + '>' }}", "{\"x\": \"--\"}", "<-->", "1001");
    trust_is("{{ '<' ~ x ~ '>' | trim }}", "{\"x\": \"--\"}", "<-->", "1001");
    trust_is("{% set t = '<' + x %}{{ t[1:] + t[:1] }}", "{\"x\": \"--\"}", "--<", "001");
    trust_is("{{ ('<x>' ~ x).replace('x', 'yy') }}", "{\"x\": \"x\"}", "<yy>yy", "111111");   /* the template's own letters */
    trust_is("{{ ['<', x] | join(',') }}", "{\"x\": \"-\"}", "<,-", "110");
    trust_is("{{ {'user': '<U>'}[x] }}", "{\"x\": \"user\"}", "<U>", "111");
    trust_is("{{ '%s>' % x }}{{ '<{}'.format(x) }}", "{\"x\": \"-\"}", "-><-", "0110");
    trust_is("{{ bos_token }}{{ x }}", "{\"bos_token\": \"<s>\", \"x\": \"<s>\"}", "<s><s>", "111000");
    trust_is("{% for m in messages %}<|{{ m.role }}|>{% endfor %}",
             "{\"messages\": [{\"role\": \"user\"}, {\"role\": \"im_end\"}]}", "<|user|><|im_end|>", "111111111100000011");
    trust_is("{{ x }}", "{\"x\": \"\"}", "", "");
    trust_is("{% filter trim %} a{{ x }} {% endfilter %}", "{\"x\": \"-\"}", "a-", "10");
}

/* With the texts of a conversation replaced by the mark. Returns how many conversations hold marks. */
static int trusts_no_message(const char *name, const char *text, size_t n) {
    static const char *const conversations[] = {
        "{\"messages\": [{\"role\": \"user\", \"content\": \"%s\"}], \"add_generation_prompt\": true, \"bos_token\": \"<s>\", \"eos_token\": \"</s>\"}",
        "{\"messages\": [{\"role\": \"system\", \"content\": \"%s\"}, {\"role\": \"user\", \"content\": \"%s\"}, "
        "{\"role\": \"assistant\", \"content\": \"%s\"}, {\"role\": \"user\", \"content\": \"%s\"}], \"bos_token\": \"<s>\", \"eos_token\": \"</s>\"}",
        "{\"messages\": [{\"role\": \"user\", \"content\": \"%s\"}, {\"role\": \"assistant\", \"content\": \"%s\", \"tool_calls\": "
        "[{\"type\": \"function\", \"id\": \"abcdefghi\", \"function\": {\"name\": \"f\", \"arguments\": {\"a\": \"%s\"}}}]}, "
        "{\"role\": \"tool\", \"name\": \"f\", \"tool_call_id\": \"abcdefghi\", \"content\": \"%s\"}], \"bos_token\": \"<s>\", \"eos_token\": \"</s>\", "
        "\"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"f\", \"description\": \"d\", \"parameters\": {\"type\": \"object\", \"properties\": {}}}}]}"};
    int rendered = 0;
    for (size_t i = 0; i < sizeof conversations / sizeof *conversations; i++) {
        char json[2000];
        snprintf(json, sizeof json, conversations[i], mark_text, mark_text, mark_text, mark_text);
        rendered += untrusted_marks(name, text, n, json) > 0;
    }
    return rendered;
}

static void published_templates_trust_no_message(void) {
    const int rendered = each_template(trusts_no_message);
    if (rendered < 0) SKIP("no ../shared/templates");
    CHECKF(rendered >= 60, "only %d conversations were rendered", rendered);
}

/* ---- numbers at the ends of 64 bits ---- */

static void renders_as(const char *text, const char *want) {
    tl_error err = {0};
    tl_buf out = {0};
    int rc = render(text, "{}", &out, &err);
    CHECKF(rc == TL_OK && out.p && strcmp(out.p, want) == 0, "%s gives '%s', not '%s' %s", text, out.p ? out.p : "", want, err.text);
    tl_buf_free(&out);
}

static void extreme_numbers(void) {
#define MAX "9223372036854775807"
#define MIN "(-" MAX " - 1)"
    static const char no_fit[] = "t: line 1: the result does not fit an integer of 64 bits";
    renders_as("{{ '-5'.zfill(" MIN ") }}", "-5");
    renders_as("{{ 'abc'|truncate(" MAX ", true, '...', 5) }} {{ 'abcdef'|truncate(3, true, '.', " MAX ") }}", "abc abcdef");
    fails("{{ 'abc'|truncate(" MIN ", true) }}", "{}", "t: line 1: truncate: the length must be at least that of the end");
    renders_as("{{ range(" MIN ", " MAX ", " MAX ")|list }}", "[-9223372036854775808, -1, 9223372036854775806]");
    renders_as("{{ 123456789012345678|round(-1) }} {{ 25|round(-1) }} {{ -35|round(-1) }}", "123456789012345680 20 -40");
    renders_as("{{ " MIN "|round(-18) }} {{ 4000000000000000000|round(-19) }} {{ " MAX "|round(-20) }}", "-9000000000000000000 0 0");
    fails("{{ " MAX "|round(-1) }}", "{}", no_fit);
    fails("{{ " MIN "|round(-19) }}", "{}", no_fit);
#undef MAX
#undef MIN
}

/* ---- work ---- */

/* Seconds of rendering it n times, with texts of 5 * len bytes. */
static double loop_over(const char *expr, int n, int len, tl_error *err) {
    char text[500];
    tl_buf out = {0};
    snprintf(text, sizeof text, "{%% set s = 'ab cd' * %d %%}{%% set t = 'ab cd' * %d %%}{%% set u = '\xc3\xa4' * %d %%}"
             "{%% for i in range(%d) %%}{%% if (%s) %%}{%% endif %%}{%% endfor %%}", len, len, len * 5 / 2, n, expr);
    double start = test_cpu_seconds();
    render(text, "{}", &out, err);
    tl_buf_free(&out);
    return test_cpu_seconds() - start;
}

/* Less than 1 s on a quiet machine; sanitizers and emulators are slower. */
enum { MAX_SECONDS = 20 };

/* Whatever is done with a text counts as work in proportion to its length, so that a template cannot run for long. */
static void texts_count_as_work(void) {
    static const char *const walks[] = {
        "s.startswith('ab')", "u.isalpha()", "u.islower()", "s.strip('abcd ')", "s | wordcount", "u | length", "s[2000000]",
        "s.rfind('x')", "u | upper", "s | tojson", "s == t"};
    if (test_emulated()) SKIP("emulated: too slow");   /* the counts are those of any CPU */
    for (size_t i = 0; i < sizeof walks / sizeof walks[0]; i++) {
        tl_error err = {0};
        double seconds = loop_over(walks[i], 99999, 1000000, &err);
        CHECKF(strstr(err.text, "takes too long") || strstr(err.text, "memory"), "%s: %s", walks[i], err.text);
        CHECKF(seconds < MAX_SECONDS, "%s ran for %.1f s", walks[i], seconds);
    }
}

static void ends_in_time(const char *expr) {
    tl_error err = {0};
    double seconds = loop_over(expr, 2, 200000, &err);
    CHECKF(seconds < MAX_SECONDS, "%s ran for %.1f s", expr, seconds);
}

/* Every filter, test and method of the tables, with another long text where it takes an argument: what goes through
 * them more than once counts that, or would run for minutes. */
static void every_row_counts_as_work(void) {
    static const struct { const char *on, *name, *params; } rows[] = {
#define FILTER(name, fn, params) {"u | ", name, params},
#include "tmpl/filters.def"
#undef FILTER
#define TEST(name, fn, params) {"s is ", name, params},
#include "tmpl/tests.def"
#undef TEST
#define METHOD(kind, name, fn, params) {"u.", name, params},
#define UNSAFE(kind, name)
#include "tmpl/methods.def"
#undef METHOD
#undef UNSAFE
    };
    if (test_emulated()) SKIP("emulated: too slow");   /* the counts are those of any CPU */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char expr[100];
        if (rows[i].name[0] < 'a') continue;   /* the test == has no name to write */
        snprintf(expr, sizeof expr, "%s%s(%s)", rows[i].on, rows[i].name, *rows[i].params ? "t" : "");
        ends_in_time(expr);
    }
}

/* A long argument that is gone through for every item. */
static void arguments_count_for_every_item(void) {
    static const char *const exprs[] = {
        "u | groupby(t)", "u | sort(attribute=t)", "u | map(attribute=t) | list", "u | selectattr(t) | list", "u | sum(attribute=t)",
        "u | min(attribute=t)", "u | unique(attribute=t) | list", "u | join('', attribute=t)", "u | map('replace', t, t) | list",
        "u | select('in', t) | list", "(s | list).count(t)", "[s, s, s].index(t)", "(s | list) | map('default', t) | map('length') | list"};
    for (size_t i = 0; i < sizeof exprs / sizeof exprs[0]; i++) ends_in_time(exprs[i]);
}

int main(void) {
    RUN(as_jinja2);
    RUN(syntax_errors);
    RUN(run_errors);
    RUN(json_errors);
    RUN(limits);
    RUN(damaged);
    RUN(appends);
    RUN(json_numbers_are_whole);
    RUN(what_people_wrote_is_never_trusted);
    RUN(what_the_template_wrote_is_trusted);
    RUN(published_templates_trust_no_message);
    RUN(texts_count_as_work);
    RUN(every_row_counts_as_work);
    RUN(arguments_count_for_every_item);
    RUN(extreme_numbers);
    return tl_test_end();
}
