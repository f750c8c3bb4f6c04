/* SPDX-License-Identifier: MIT
 *
 * opts_test.c: the command line parser on a small table. */
#include <math.h>
#include "base/opts.h"
#include "test.h"

typedef struct args {
    int quiet;
    int64_t n, any;
    double temp;
    const char *prompt;
    tl_opt_list stop;
    const char *pos[2];
    int n_pos;
    tl_error err;
    int rc;
} args;

static const tl_opt table[] = {
    {"-n,--n-predict", "N", TL_OPT_INT, offsetof(args, n), -1, 100, "tokens"},
    {"--any", "N", TL_OPT_INT, offsetof(args, any), 0, 0, "any number"},
    {"--seed", "N", TL_OPT_INT, offsetof(args, any), -1, (double)INT64_MAX, "seed"},
    {"--temp", "X", TL_OPT_NUM, offsetof(args, temp), 0, INFINITY, "temperature"},
    {"-p,--prompt", "TEXT", TL_OPT_STR, offsetof(args, prompt), 0, 0, "prompt"},
    {"--stop", "TEXT", TL_OPT_LIST, offsetof(args, stop), 0, 0, "stop text"},
    {"-q,--quiet", NULL, TL_OPT_FLAG, offsetof(args, quiet), 0, 0, "no status"},
    {0},
};

/* Words of a command line separated by '|'. */
static args parse(const char *line) {
    static char text[6000];
    static char *argv[1100];
    int argc = 0;
    args a = {.n = 7, .temp = 0.5};
    snprintf(text, sizeof text, "%s", line);
    for (char *p = text; *line;) {
        argv[argc++] = p;
        p = strchr(p, '|');
        if (!p) break;
        *p++ = 0;
    }
    static const tl_opt_other others[] = {{"-m,--model", TL_OPT_WORD, "no model here"}, {0}};
    a.rc = tl_opts_parse(table, others, &a, argc, argv, a.pos, 2, &a.n_pos, &a.err);
    return a;
}

static void forms(void) {
    args a = parse("");
    CHECK(a.rc == 0 && a.n == 7 && a.temp == 0.5 && a.n_pos == 0 && !a.quiet && !a.prompt);
    a = parse("m.gguf|-n|5|--temp=1.5|-q|--prompt|hello there");
    CHECK(a.rc == 0 && a.n == 5 && a.temp == 1.5 && a.quiet && strcmp(a.prompt, "hello there") == 0);
    CHECK(a.n_pos == 1 && strcmp(a.pos[0], "m.gguf") == 0);
    a = parse("-n|-1|--any|-9223372036854775808|--temp|+1e1|-p|-");
    CHECK(a.rc == 0 && a.n == -1 && a.any == INT64_MIN && a.temp == 10 && strcmp(a.prompt, "-") == 0);
    a = parse("-m|m.gguf|hello");   /* another program's way to name the first word */
    CHECK(a.rc == 0 && a.n_pos == 2 && strcmp(a.pos[0], "m.gguf") == 0 && strcmp(a.pos[1], "hello") == 0);
    a = parse("--model=m.gguf");
    CHECK(a.rc == 0 && a.n_pos == 1 && strcmp(a.pos[0], "m.gguf") == 0);
    a = parse("-m");
    CHECK(a.rc == TL_E_ARGUMENT && strstr(a.err.text, "-m needs a value"));
    a = parse("a|--model=b");       /* which of them is meant? */
    CHECK(a.rc == TL_E_ARGUMENT && strstr(a.err.text, "--model: 'a' stands there already"));
    a = parse("-m|a|-m|b");
    CHECK(a.rc == TL_E_ARGUMENT && strstr(a.err.text, "'a' stands there already"));
    a = parse("-|--|-n");
    CHECK(a.rc == 0 && a.n_pos == 2 && strcmp(a.pos[0], "-") == 0 && strcmp(a.pos[1], "-n") == 0 && a.n == 7);
    a = parse("-p||--stop|-x|--stop=--temp|--stop=");
    CHECK(a.rc == 0 && a.prompt[0] == 0 && a.stop.n == 3);
    CHECK(strcmp(a.stop.v[0], "-x") == 0 && strcmp(a.stop.v[1], "--temp") == 0 && a.stop.v[2][0] == 0);
    a = parse("--prompt=a=b|-n|1|-n|2");
    CHECK(a.rc == 0 && strcmp(a.prompt, "a=b") == 0 && a.n == 2);
}

static void faults(void) {
    const struct {
        const char *line, *says;
    } cases[] = {
        {"-n|101", "out of range -1..100"},
        {"-n|-2", "out of range"},
        {"-n|1.5", "whole number"},
        {"-n|", "whole number"},
        {"-n| 1", "whole number"},
        {"-n|0x10", "whole number"},
        {"-n|1k", "whole number"},
        {"-n|99999999999999999999", "out of range"},
        {"--any|9223372036854775808", "out of range -9223372036854775808..9223372036854775807"},
        {"--seed|-2", "out of range -1..9223372036854775807"},
        {"-n", "-n,--n-predict needs a value: N"},
        {"-n|--temp|1", "needs a value"},
        {"-n|-x", "needs a value"},
        {"-p|-q", "needs a value"},
        {"-p|--", "needs a value"},
        {"--temp|nan", "number"},
        {"--temp|inf", "number"},
        {"--temp|1e999", "number"},
        {"--temp|0x1p3", "number"},
        {"--temp|-0.1", "at least 0"},
        {"--temp|1,5", "number"},
        {"--temp|", "number"},
        {"--temp|1 ", "number"},
        {"--quiet=1", "takes no value"},
        {"a|b|c", "unexpected word 'c'"},
        {"--tmp|1", "did you mean --temp?"},
        {"-temp|1", "did you mean --temp?"},
        {"--n-predikt=4", "unknown option --n-predikt; did you mean --n-predict?"},
        {"-x", "unknown option -x"},
        {"--zzzzzz", "unknown option --zzzzzz"},
        {"-nfive", "unknown option -nfive"},
        {"--=5", "unknown option"},
        {"--temp=", "number"},
        {"--promptx", "did you mean --prompt?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        args a = parse(cases[i].line);
        CHECKF(a.rc == TL_E_ARGUMENT && a.err.code == TL_E_ARGUMENT && strstr(a.err.text, cases[i].says), "%s: %d '%s'",
               cases[i].line, a.rc, a.err.text);
    }
}

static void too_many_in_list(void) {
    char line[6000] = "--stop|a";
    for (int i = 1; i < TL_OPT_LIST_MAX; i++) strcat(line, "|--stop|a");
    args a = parse(line);
    CHECK(a.rc == 0 && a.stop.n == TL_OPT_LIST_MAX);
    strcat(line, "|--stop|a");
    a = parse(line);
    CHECK(a.rc == TL_E_ARGUMENT && strstr(a.err.text, "at most 320"));
}

static void help(void) {
    tl_buf b = {0};
    tl_opts_help(table, &b);
    const char *want = "  -n, --n-predict N  tokens\n"
                       "      --any N        any number\n"
                       "      --seed N       seed\n"
                       "      --temp X       temperature\n"
                       "  -p, --prompt TEXT  prompt\n"
                       "      --stop TEXT    stop text\n"
                       "  -q, --quiet        no status\n"
                       "  -h, --help         this text\n";
    CHECKF(strcmp(b.p, want) == 0, "\n%s", b.p);
    tl_buf_free(&b);
}

static void words_of_other_programs(void) {
    static const tl_opt_other others[] = {
        {"--hundred,-hd", "--number", NULL}, {"-ngl", NULL, "leave it out"}, {"--absent", "--not-here", "use --number"}, {0}};
    struct { int64_t n; double x; } into = {0};
    static const tl_opt two[] = {{"-n,--number", "N", TL_OPT_INT, 0, 0, 0, ""}, {"-x", "X", TL_OPT_NUM, 8, 0, 0, ""}, {0}};
    const struct { const char *argv[3]; int argc, rc; int64_t n; const char *text; } cases[] = {
        {{"--hundred", "5"}, 2, TL_OK, 5, NULL},
        {{"-hd", "6"}, 2, TL_OK, 6, NULL},
        {{"--hundred=7"}, 1, TL_OK, 7, NULL},
        {{"-n8"}, 1, TL_OK, 8, NULL},
        {{"-n-8"}, 1, TL_OK, -8, NULL},
        {{"-n=8"}, 1, TL_OK, 8, NULL},
        {{"-n9x"}, 1, TL_E_ARGUMENT, 0, "whole number"},
        {{"-nx"}, 1, TL_E_ARGUMENT, 0, "unknown option -nx"},
        {{"-ngl", "99"}, 2, TL_E_ARGUMENT, 0, "-ngl: leave it out"},
        {{"--absent"}, 1, TL_E_ARGUMENT, 0, "--absent: use --number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tl_error err = {0};
        const char *pos[1];
        int n_pos;
        into.n = 0;
        int rc = tl_opts_parse(two, others, &into, cases[i].argc, (char **)cases[i].argv, pos, 1, &n_pos, &err);
        CHECKF(rc == cases[i].rc && into.n == cases[i].n, "%s: %d %s", cases[i].argv[0], rc, err.text);
        CHECKF(!cases[i].text || strstr(err.text, cases[i].text), "%s: %s", cases[i].argv[0], err.text);
    }
}

int main(void) {
    RUN(forms);
    RUN(faults);
    RUN(too_many_in_list);
    RUN(help);
    RUN(words_of_other_programs);
    return tl_test_end();
}
