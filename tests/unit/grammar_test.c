/* SPDX-License-Identifier: MIT
 * grammar_test.c: grammars against a plain matcher of this file, masks against tokens tried one by one, broken and
 * hostile texts, and the public functions with a small vocabulary. */
#include "test.h"

#include "grammar/mask.h"
#include "tinyllm.h"

static uint32_t seed = 1;
static int below(int n) {
    seed = seed * 1664525u + 1013904223u;
    return (int)((uint64_t)(seed >> 8) * (uint32_t)n >> 24);
}

/* ---- one text after the other ---- */

/* -1: the bytes do not fit; else tl_automaton_may_end + 2 * (nothing can follow). */
static int fits(const char *gbnf, const char *text) {
    tl_error err = {0};
    tl_automaton a = {0};
    int result = -2;
    if (tl_automaton_init(&a, gbnf, strlen(gbnf), &err) == TL_OK) {
        int s = a.start;
        for (const char *p = text; *p && s != TL_DEAD; p++) s = tl_automaton_next(&a, s, (uint8_t)*p);
        CHECK(!a.failed);
        result = s == TL_DEAD ? -1 : tl_automaton_may_end(&a, s) + 2 * tl_automaton_only_ends(&a, s);
    }
    CHECKF(result > -2, "%s: %s", gbnf, err.text);
    tl_automaton_free(&a);
    return result;
}

static void words(void) {
    static const struct { const char *gbnf, *text; int want; } t[] = {
        {"root ::= \"ab\"", "", 0}, {"root ::= \"ab\"", "ab", 3}, {"root ::= \"ab\"", "b", -1}, {"root ::= \"ab\"", "abc", -1},
        {"root ::= \"\"", "", 3}, {"root ::= | \"a\"", "", 1}, {"root ::= (|\"a\")", "a", 3},
        {"root ::= \"a\"*", "aaa", 1}, {"root ::= \"a\"+", "", 0}, {"root ::= \"a\"+", "aa", 1}, {"root ::= \"a\"?", "a", 3},
        {"root ::= \"a\"{2}", "a", 0}, {"root ::= \"a\"{2}", "aa", 3}, {"root ::= \"a\"{2,}", "aaaa", 1}, {"root ::= \"a\"{1,3}", "aaa", 3},
        {"root ::= \"a\"{0,2} \"b\"", "aaa", -1}, {"root ::= \"a\"{0}", "", 3}, {"root ::= (\"a\" | \"bc\"){ 2 , 3 }", "abc", 1},
        {"root ::= (\"a\"*)*", "aa", 1}, {"root ::= (\"a\"? \"b\"?){3}", "abab", 1}, {"root ::= ((\"a\"{2}){2}){2}", "aaaaaaaa", 3},
        {"root ::= x # comment\n# another\nx ::= \"a\" |\n  \"b\"\n  | \"c\" (\n \"d\"\n)\n", "cd", 3},
        {"root ::= x \"c\"\nx ::= \"a\" x \"b\" | \"\"", "aabbc", 3}, {"root ::= x \"c\"\nx ::= \"a\" x \"b\" | \"\"", "aabc", -1},
        {"root ::= x\nx ::= \"a\" x | \"b\"", "aaab", 3}, {"root ::= x x\nx ::= \"a\" | \"aa\"", "aa", 1},
        {"root ::= [a-c_-]+", "b_-", 1}, {"root ::= [^a-c\\n]", "d", 3}, {"root ::= [^a-c\\n]", "\n", -1}, {"root ::= [\\]\\\\^-]*", "]\\^-", 1},
        {"root ::= \"\\x41\\u00e9\\U0001F600\\t\\\"\"", "A\xc3\xa9\xf0\x9f\x98\x80\t\"", 3}, {"root ::= \"\xc3\xa9\"", "\xc3", 0},
        {"root ::= .", "\xe2\x82\xac", 3}, {"root ::= .", "\n", 3}, {"root ::= .", "\xed\xa0", -1}, {"root ::= .", "\xc0", -1}, {"root ::= .", "\xf4\x90", -1},
        {"root ::= [^\\x00-\\x7f]", "\xf4\x8f\xbf\xbf", 3}, {"root ::= [\xc3\xa4-\xc3\xbc]", "\xc3\xbd", -1}, {"root ::= [\xc3\xa4-\xc3\xbc]", "\xc3\xb6", 3},
        {"root ::= [\\u07ff-\\uffff]", "\xdf\xbf", 3}, {"root ::= [\\u07ff-\\uffff]", "\xe0\x9f", -1}, {"root ::= [\\u07ff-\\U00010000]", "\xf0\x90\x80\x80", 3},
        {"root ::= [\\U0001F600-\\U0001F64F]+", "\xf0\x9f\x98\x80\xf0\x9f\x99\x8f", 1}, {"root ::= [\\U0001F600-\\U0001F64F]+", "\xf0\x9f\x99\x90", -1},
        {"root ::= \"a\" | \"b\" x\nx ::= \"c\" x", "b", -1},   /* x never ends, so nothing leads to it */
        {"root ::= \"a\" | y\ny ::= [^\\x00-\\U0010FFFF]", "a", 3},
        {"root ::= x{0,3} \"!\"\nx ::= \"a\"?", "aa!", 3}, {"root ::= x y\nx ::= \"\"\ny ::= \"a\" y | x", "aa", 1},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        int got = fits(t[i].gbnf, t[i].text);
        CHECKF(got == t[i].want, "%s and '%s': %d, not %d", t[i].gbnf, t[i].text, got, t[i].want);
    }
}

/* ---- broken and hostile texts ---- */

static int refuse(const char *gbnf, size_t n, char *text, size_t size) {
    tl_error err = {0};
    tl_automaton a = {0};
    int rc = tl_automaton_init(&a, gbnf, n, &err);
    tl_automaton_free(&a);
    CHECKF(rc == err.code && (rc == TL_OK) == !err.text[0], "%d, %d %s", rc, err.code, err.text);
    snprintf(text, size, "%s", err.text);
    return rc;
}

static void broken(void) {
    static const struct { const char *gbnf, *text; int code; } t[] = {
        {"", "there is no rule 'root'", TL_E_FORMAT}, {"x ::= \"a\"", "there is no rule 'root'", TL_E_FORMAT},
        {"root", "line 1, column 5: expected '::=' behind the rule's name, found the text's end", TL_E_FORMAT},
        {"root :: \"a\"", "line 1, column 6: expected '::='", TL_E_FORMAT},
        {"root ::=", "column 9: expected a literal, a class, a name or a group", TL_E_FORMAT},
        {"root ::= \"a\" |", "column 15: expected a literal", TL_E_FORMAT},
        {"root ::= \"\xc3\xa9\" )", "line 1, column 14: expected the rule's end or another part, found ')'", TL_E_FORMAT},
        {"root ::= \"a", "expected '\"' at the end of the literal, found the text's end", TL_E_FORMAT},
        {"root ::= \"a\n\"", "found the line's end", TL_E_FORMAT}, {"root ::= [a", "expected ']'", TL_E_FORMAT},
        {"root ::= []", "this class is empty", TL_E_FORMAT}, {"root ::= [b-a]", "column 12: this range ends before it begins", TL_E_FORMAT},
        {"root ::= (\"a\"", "expected ')' at the end of the group", TL_E_FORMAT},
        {"root ::= \"\\q\"", "column 12: expected \\n, \\t", TL_E_FORMAT}, {"root ::= \"\\x4\"", "expected a hexadecimal digit", TL_E_FORMAT},
        {"root ::= \"\\ud800\"", "there is no such character", TL_E_FORMAT}, {"root ::= \"\\U00110000\"", "there is no such character", TL_E_FORMAT},
        {"root ::= \"\xff\"", "this is not UTF-8", TL_E_FORMAT}, {"root ::= \xc3", "this is not UTF-8", TL_E_FORMAT},
        {"root ::= \"a\"{", "expected a number of repetitions", TL_E_FORMAT}, {"root ::= \"a\"{,3}", "expected a number", TL_E_FORMAT},
        {"root ::= \"a\"{2", "expected '}'", TL_E_FORMAT}, {"root ::= \"a\"{3,2}", "at least so many are more than at most", TL_E_FORMAT},
        {"root ::= \"a\"{99999999999999999999}", "more than 100000 repetitions", TL_E_FORMAT}, {"root ::= *", "expected a literal", TL_E_FORMAT},
        {"root ::= \"a\"\n\nroot ::= \"b\"", "line 3: rule 'root' is already defined in line 1", TL_E_FORMAT},
        {"root ::= \"a\"\n  | nowhere", "line 2, column 5: there is no rule 'nowhere'", TL_E_FORMAT},
        {"root ::= root \"a\" | \"b\"", "rule 'root' is left-recursive (root -> root)", TL_E_UNSUPPORTED},
        {"root ::= \"a\" | x\nx ::= y \"b\"\ny ::= z? x \"c\" | \"d\"\nz ::= \"e\"", "left-recursive (x -> y -> x)", TL_E_UNSUPPORTED},
        {"root ::= (\"a\"? root){2}", "left-recursive", TL_E_UNSUPPORTED}, {"root ::= x x\nx ::= (\"\" | root)", "left-recursive", TL_E_UNSUPPORTED},
        {"root ::= \"a\" root", "no text ever completes", TL_E_FORMAT}, {"root ::= [^\\x00-\\U0010FFFF]", "no text ever completes", TL_E_FORMAT},
        {"root ::= <[5]>", "column 10: tinyllm cannot enforce tokens", TL_E_FORMAT}, {"root ::= \"a\" <think>", "column 14: tinyllm cannot enforce tokens", TL_E_FORMAT},
        {"root ::= (!<think>)*", "column 11: tinyllm cannot enforce tokens", TL_E_FORMAT},
        {"\xef\xbb\xbfroot ::= \"a\"", "column 1: expected the name of a rule, found U+FEFF", TL_E_FORMAT},
        {"root ::= \"a\" \x01", "found U+0001", TL_E_FORMAT}, {"root ::= e (f | e)* root \"a\" | \"b\"\ne ::= f?\nf ::= \"\"", "left-recursive", TL_E_UNSUPPORTED},
    };
    char text[500];
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        int rc = refuse(t[i].gbnf, strlen(t[i].gbnf), text, sizeof text);
        CHECKF(rc == t[i].code && strncmp(text, "grammar: ", 9) == 0 && strstr(text, t[i].text), "%s: %d %s", t[i].gbnf, rc, text);
    }
    CHECK(refuse("root ::= \"a\"\0", 13, text, sizeof text) == TL_E_FORMAT && strstr(text, "column 13: expected the rule's end or another part, found U+0000"));
    CHECK(refuse("root ::= \"a\0b\"", 14, text, sizeof text) == TL_OK);   /* a 0 byte is a character */
    CHECK(refuse("root ::= \0\"b\"", 13, text, sizeof text) == TL_E_FORMAT);
}

static char *repeated(const char *head, const char *part, int n, const char *tail) {
    size_t k = strlen(part);
    char *s = malloc(strlen(head) + k * (size_t)n + strlen(tail) + 1), *p = s + sprintf(s, "%s", head);
    for (int i = 0; i < n; i++) p += sprintf(p, "%s", part);
    strcpy(p, tail);
    return s;
}

static void hostile(void) {
    static const struct { const char *head, *part; int n; const char *tail, *want; } t[] = {
        {"root ::= ", "(", 1000000, "", "nested too deep"}, {"root ::= \"a\"", "*", 1000000, "", "nested too deep"},
        {"root ::= \"a\"", "{1000}", 3, "", ""}, {"root ::= \"a\"", "{100000}", 9, "", ""}, {"root ::= [^a] ", "x{100000} ", 9, "\nx ::= \"a\"", ""},
        {"root ::= [^a] ", "x{100000} ", 12, "\nx ::= \"a\"", "more than 1048576 steps"}, {"root ::= ", "\"a\" | ", 600000, "\"b\"", "more than 1048576"},
        {"root ::= \"a\" ", "x? ", 100000, "\nx ::= \"a\"", ""}, {"root ::= ", "(\"a\"?){1000} ", 900, "", "in too many ways"},
        {"root ::= \"", "a", 5000000, "\"", "bytes of text"},
    };
    char text[500];
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char *s = repeated(t[i].head, t[i].part, t[i].n, t[i].tail);
        refuse(s, strlen(s), text, sizeof text);
        CHECKF(t[i].want[0] ? strstr(text, t[i].want) != NULL : !text[0], "%s %s: %s", t[i].head, t[i].part, text);
        free(s);
    }
    tl_buf names = {0};   /* 400000 rules that do not exist, in one line */
    tl_buf_str(&names, "root ::= ");
    for (int i = 0; i < 400000; i++) tl_buf_fmt(&names, "n%x ", i);
    CHECK(refuse(names.p, names.n, text, sizeof text) == TL_E_FORMAT && strstr(text, "line 1, column 10: there is no rule 'n0'"));
    tl_buf_free(&names);
    /* Texts with a byte changed, lost or doubled: whatever they are, nothing breaks. */
    static const char whole[] = "root ::= \"a\" x{1,3} | [^b-c\\u00e9] (y | z)* # c\nx ::= . \"\\x41\"\n | y?\ny ::= \"d\"+ z{2} z{2,}\nz ::= \"\\\"\"\n";
    for (int i = 0; i < 20000; i++) {
        char s[sizeof whole + 8];
        size_t n = sizeof whole - 1;
        memcpy(s, whole, sizeof whole);
        for (int k = 1 + below(3); k--;) {
            size_t at = (size_t)below((int)n);
            int how = below(3);
            if (how == 0) s[at] = (char)(below(2) ? below(256) : whole[below((int)sizeof whole - 1)]);
            else if (how == 1) memmove(s + at, s + at + 1, n - at), n--;
            else if (n < sizeof whole + 6) memmove(s + at + 1, s + at, n - at), n++;
        }
        char *exact = malloc(n + !n);   /* nothing is read behind the end */
        memcpy(exact, s, n);
        refuse(exact, n, text, sizeof text);
        free(exact);
    }
}

/* Ambiguity: sets of stacks stay polynomial, and what is too much is said. */
static void ambiguous(void) {
    static const char *const g[] = {
        "root ::= x\nx ::= \"a\" x \"b\" | \"a\" x \"c\" | \"a\" x x | \"\"", "root ::= x\nx ::= \"a\" | \"a\" x | \"a\" x x",
        "root ::= (\"a\"* \"a\"*)*", "root ::= (\"a\" | \"aa\" | \"aaa\"){0,1000}", "root ::= \"a\" root \"b\" | \"\""};
    for (size_t i = 0; i < sizeof g / sizeof *g; i++) {
        tl_automaton a = {0};
        tl_error err = {0};
        CHECKF(tl_automaton_init(&a, g[i], strlen(g[i]), &err) == TL_OK, "%s", err.text);
        int s = a.start, n = 0;
        for (; n < 300 && s != TL_DEAD && !a.failed; n++) {
            s = tl_automaton_next(&a, s, 'a');
            if (tl_automaton_full(&a)) CHECK(tl_automaton_forget(&a, &s, 1, &err) == TL_OK);
        }
        CHECKF(s != TL_DEAD && !a.failed, "%s: dead after %d", g[i], n);
        tl_automaton_free(&a);
    }
}

/* ---- against a plain matcher ---- */

enum { RULES = 4, LONGEST = 10 };

/* A grammar as a tree: of kind 'c' (a character), 'r' (rule), 's' (sequence of two), '|', '*', '?', '+', '{' (1 to 2 times). */
typedef struct tree { char kind, c; struct tree *a, *b; } tree;
static tree pool[400];
static int n_pool;
static tree *rules[RULES];
static const char *const alphabet[] = {"a", "b", "\xc3\xa9"};

static tree *make(char kind, tree *a, tree *b) {
    pool[n_pool] = (tree){kind, 0, a, b};
    return &pool[n_pool++];
}

/* Rules of a higher number may be named anywhere, others behind a character and beside another way. */
static tree *random_tree(int rule, int depth) {
    int k = depth > 3 ? below(2) : below(10);
    tree *t;
    if (k < 2 || k == 9) {
        t = make('c', NULL, NULL);
        t->c = (char)below(3);
        if (k != 9) return t;
        tree *r = make('r', NULL, NULL);
        r->c = (char)below(RULES);
        return make('|', make('s', t, r), random_tree(rule, 4));
    }
    if (k == 2 && rule + 1 < RULES) {
        t = make('r', NULL, NULL);
        t->c = (char)(rule + 1 + below(RULES - rule - 1));
        return t;
    }
    if (k < 6) return make('s', random_tree(rule, depth + 1), random_tree(rule, depth + 1));
    if (k < 8) return make('|', random_tree(rule, depth + 1), random_tree(rule, depth + 1));
    return make("*?+{"[below(4)], random_tree(rule, depth + 1), NULL);
}

static void print_tree(const tree *t, tl_buf *b) {
    if (t->kind == 'c') tl_buf_fmt(b, "\"%s\"", alphabet[(int)t->c]);
    else if (t->kind == 'r') tl_buf_fmt(b, t->c ? "r%d" : "root", t->c);
    else {
        tl_buf_str(b, "(");
        print_tree(t->a, b);
        if (t->b) tl_buf_str(b, t->kind == '|' ? " | " : " "), print_tree(t->b, b);
        tl_buf_str(b, ")");
        if (!t->b && t->kind != '{') tl_buf_add(b, &t->kind, 1);
        if (t->kind == '{') tl_buf_str(b, "{1,2}");
    }
}

/* Where in text [n] a match may end that begins at one of the places in from (bit i: place i). *more: the text ended within
 * a match. */
static uint32_t match(const tree *t, const char *text, int n, uint32_t from, int *more) {
    uint32_t to = 0, new;
    if (!from) return 0;
    switch (t->kind) {
    case 'c':
        for (int i = 0; i <= n; i++) {
            const char *c = alphabet[(int)t->c];
            int k = (int)strlen(c), left = n - i < k ? n - i : k;
            if (!(from >> i & 1) || memcmp(text + i, c, (size_t)left) != 0) continue;
            if (left < k) *more = 1;
            else to |= 1u << (i + k);
        }
        return to;
    case 'r': return match(rules[(int)t->c], text, n, from, more);
    case 's': return match(t->b, text, n, match(t->a, text, n, from, more), more);
    case '|': return match(t->a, text, n, from, more) | match(t->b, text, n, from, more);
    case '?': return from | match(t->a, text, n, from, more);
    case '{':
        to = match(t->a, text, n, from, more);
        return to | match(t->a, text, n, to, more);
    default:
        for (to = t->kind == '*' ? from : 0, new = from; (new = match(t->a, text, n, new, more) & ~to); to |= new) continue;
        return to;
    }
}

/* -1, or whether the text may end and whether it may go on. */
static int by_hand(const char *text, int n) {
    int more = 0;
    uint32_t to = match(rules[0], text, n, 1, &more);
    int may_end = to >> n & 1;
    return may_end || more ? may_end + 2 * more : -1;
}

enum { TOKENS = 60 };

static void random_grammars(void) {
    int tried = 0, allowed = 0;
    for (int round = 0; round < 300; round++) {
        tl_buf g = {0}, vocab = {0};
        uint32_t at[TOKENS + 1] = {0};
        tl_error err = {0};
        tl_automaton a = {0};
        tl_masks m = {0};
        n_pool = 0;
        for (int r = 0; r < RULES; r++) {
            rules[r] = random_tree(r, 0);
            tl_buf_fmt(&g, r ? "r%d ::= " : "root ::= ", r);
            print_tree(rules[r], &g);
            tl_buf_str(&g, "\n");
        }
        int32_t end = TOKENS - 1;
        for (int i = 0; i < TOKENS; i++) {   /* the first are single bytes, two have no text */
            const char bytes[] = "ab\xc3\xa9";
            if (i < 4) tl_buf_add(&vocab, bytes + i, 1);
            else if (i < TOKENS - 2) for (int k = below(5) + 1; k--;) tl_buf_add(&vocab, bytes + below(4), 1);
            at[i + 1] = (uint32_t)vocab.n;
        }
        int rc = tl_automaton_init(&a, g.p, g.n, &err);
        if (rc == TL_E_UNSUPPORTED && strstr(err.text, "left-recursive")) rc = 1;
        else CHECKF(rc == TL_OK, "%s: %s", g.p, err.text);
        if (rc == TL_OK) CHECK(tl_masks_init(&m, TOKENS, vocab.p, at, &end, 1, &err) == TL_OK);
        for (int texts = 0; rc == TL_OK && texts < 5; texts++) {
            char text[64];
            int n = 0, state = a.start;
            for (;;) {
                const uint32_t *mask = tl_masks_get(&m, &a, &state, &err);
                int choice[TOKENS], n_choice = 0;
                if (!mask) break;
                for (int id = 0; id < TOKENS; id++) {
                    int len = (int)(at[id + 1] - at[id]), has = mask[id >> 5] >> (id & 31) & 1;
                    if (n + len > LONGEST + 8) continue;
                    memcpy(text + n, m.text + at[id], (size_t)len);
                    int want = id == end ? by_hand(text, n) >= 0 && by_hand(text, n) & 1 : len && by_hand(text, n + len) >= 0;
                    CHECKF(has == want, "%s'%.*s': %d, not %d", g.p, n + len, text, has, want);
                    if (has && len) choice[n_choice++] = id;
                    tried++, allowed += has;
                }
                if (!n_choice || n > LONGEST) break;
                int id = choice[below(n_choice)];
                for (uint32_t i = at[id]; i < at[id + 1]; i++) state = tl_automaton_next(&a, state, (uint8_t)(text[n++] = m.text[i]));
                if (below(8) == 0) {
                    for (int k = m.n_masks = 0; k < a.n_sets; k++) a.set[k].mask = -1;
                    CHECK(tl_automaton_forget(&a, &state, 1, &err) == TL_OK);
                }
            }
        }
        CHECKF(!err.text[0] || rc == 1, "%s", err.text);
        if (rc == TL_OK) tl_masks_free(&m);
        else tl_buf_free(&vocab);
        tl_automaton_free(&a);
        tl_buf_free(&g);
    }
    CHECKF(tried > 50000 && allowed > 5000, "%d tried, %d allowed", tried, allowed);
}

/* Long repetitions of bounded number, with tokens longer than TL_GBNF_FAR, and sets of characters with exceptions: masks
 * against tokens read byte by byte. */
static void long_repetitions(void) {
    static const char *const others[] = {"\"", "\\", "\n", "\x7f", "\xdf\xbf", "\xe1\x80\x80", "\xe2\x80\xa8", "\xf0\x9f\x98\x80", "\xe0\xa0\x81", "\xed\x9f\xbf",
                                         "\xf4\x8f\xbf\xbf", "\xe2", "\x80"};
    static const char *const grammars[] = {
        "root ::= (\"\\\"\" ([^\"\\\\\\x00-\\x1f] | \"\\\\\" [nt\\\\\"]){0,30} \"\\\"\")*", "root ::= [^\\u2028]{0,30}", "root ::= ([^b]{3,9} .)*",
        "root ::= [\\x20-\\u0fff\\U00010000-\\U0010ffff]* \"\\n\"", "root ::= [a-z]{2,12} ([^a-z] [^\\U0001F600]){0,9}",
        "root ::= [^\\u0801]*", "root ::= [^\\ud7ff]*", "root ::= [^\\U0010ffff]*", "root ::= (([^\\x7f] | \"\\x7f\" root) root)?",
        "root ::= [ab]{0,90} \"c\"", "root ::= \"a\"{70} \"b\"{40,80} \"c\"", "root ::= x{30,60} x{0,60}\nx ::= \"a\" | \"bb\"",
        "root ::= x{80} \"c\"\nx ::= \"a\"?", "root ::= (\"a\" y{0,50} \"c\"){1,40}\ny ::= [b\u00e9] | \"c\" \"b\"", "root ::= [ab]{50,}", "root ::= .{0,100}",
        "root ::= x{0,30}\nx ::= \"a\"{0,60} \"b\"", "root ::= [^c]{27} \"c\" root | \"\""};
    enum { N = 400 };
    uint32_t at[N + 1] = {0};
    int forbidden = 0, allowed = 0;
    for (size_t k = 0; k < sizeof grammars / sizeof *grammars; k++) {
        tl_buf vocab = {0};
        tl_error err = {0};
        tl_automaton a = {0};
        tl_masks m = {0};
        for (int i = 0; i < N; i++) {
            int len = 1 + below(i % 4 ? 8 : 70), odd = below(3);
            for (int j = 0; j < len; j++) tl_buf_str(&vocab, odd ? "a" : k < 9 && below(9) == 0 ? others[below(13)] : below(4) ? below(2) ? "a" : "b" : below(2) ? "c" : "\xc3\xa9");
            at[i + 1] = (uint32_t)vocab.n;
        }
        CHECKF(tl_automaton_init(&a, grammars[k], strlen(grammars[k]), &err) == TL_OK, "%s", err.text);
        CHECK(tl_masks_init(&m, N, vocab.p, at, NULL, 0, &err) == TL_OK);
        for (int texts = 0; texts < 12; texts++) {
            int state = a.start, choice[N], n_choice = 1;
            for (int step = 0; step < 40 && n_choice; step++) {
                const uint32_t *mask = tl_masks_get(&m, &a, &state, &err);
                n_choice = 0;
                for (int id = 0; mask && id < N; id++) {
                    int s = state, has_it = mask[id >> 5] >> (id & 31) & 1;
                    for (uint32_t i = at[id]; i < at[id + 1]; i++) s = tl_automaton_next(&a, s, (uint8_t)m.text[i]);
                    CHECKF(has_it == (s != TL_DEAD), "%s: token '%.*s': %d", grammars[k], (int)(at[id + 1] - at[id]), m.text + at[id], has_it);
                    if (s != TL_DEAD) choice[n_choice++] = id;
                    if (at[id + 1] - at[id] > TL_GBNF_FAR) *(s ? &allowed : &forbidden) += 1;
                }
                int id = n_choice ? choice[below(n_choice)] : 0;
                for (uint32_t i = at[id]; n_choice && i < at[id + 1]; i++) state = tl_automaton_next(&a, state, (uint8_t)m.text[i]);
                if (below(9) == 0) {
                    m.n_masks = 0;
                    CHECK(tl_automaton_forget(&a, &state, 1, &err) == TL_OK);
                }
            }
        }
        CHECKF(!err.code, "%s", err.text);
        tl_automaton_free(&a);
        tl_masks_free(&m);
    }
    CHECKF(allowed > 2000 && forbidden > 2000, "%d allowed, %d forbidden", allowed, forbidden);
}

/* ---- with a model's vocabulary ---- */

static tl_model *model;   /* <s> is 1, </s> is 2, bytes are 3 + byte */
enum { BYTE = 3 };

static int has(tl_grammar *g, int32_t id) {
    const uint32_t *mask = tl_grammar_mask(g, NULL);
    return mask && (mask[id >> 5] >> (id & 31) & 1);
}

static void public_functions(void) {
    tl_error err = {0};
    static const char gbnf[] = "root ::= \"ab\" \"c\"?";
    tl_grammar *g = tl_grammar_new(model, gbnf, sizeof gbnf - 1, &err);
    CHECKF(g, "%s", err.text);
    for (int round = 0; round < 2; round++) {
        CHECK(tl_grammar_ends(g) == 0 && has(g, BYTE + 'a') && !has(g, BYTE + 'b') && !has(g, 2) && !has(g, 1));
        CHECK(tl_grammar_accept(g, BYTE + 'b', &err) == TL_E_ARGUMENT && strstr(err.text, "cannot follow"));
        err = (tl_error){0};
        CHECK(tl_grammar_accept(g, 1, NULL) == TL_E_ARGUMENT && tl_grammar_accept(g, 2, NULL) == TL_E_ARGUMENT);
        CHECK(tl_grammar_accept(g, -1, NULL) == TL_E_ARGUMENT && tl_grammar_accept(g, INT32_MAX, NULL) == TL_E_ARGUMENT);
        CHECK(tl_grammar_accept(g, BYTE + 'a', NULL) == TL_OK && tl_grammar_accept(g, BYTE + 'b', NULL) == TL_OK);
        CHECK(tl_grammar_ends(g) == 1 && has(g, 2) && has(g, BYTE + 'c') && !has(g, 1));
        CHECK(tl_grammar_accept(g, BYTE + 'c', NULL) == TL_OK && tl_grammar_ends(g) == 2 && has(g, 2));
        CHECK(tl_grammar_accept(g, 2, NULL) == TL_OK && tl_grammar_ends(g) == 2 && !tl_grammar_mask(g, NULL));
        CHECK(tl_grammar_accept(g, 2, NULL) == TL_E_ARGUMENT);
        tl_grammar_reset(g);
    }
    tl_grammar_free(g);
    CHECK(!tl_grammar_new(NULL, gbnf, 1, &err) && err.code == TL_E_ARGUMENT && !tl_grammar_new(model, NULL, 0, NULL));
    CHECK(!tl_grammar_mask(NULL, NULL) && tl_grammar_accept(NULL, 1, NULL) == TL_E_ARGUMENT && !tl_grammar_ends(NULL));
    tl_grammar_reset(NULL);
    tl_grammar_free(NULL);
}

/* What a generator writes when all logits are the same, or one token's is the largest. */
static int generate(const char *gbnf, int max, int32_t wanted, const int32_t *stop, int n_stop, char *text, size_t size) {
    tl_error err = {0};
    int n_vocab = tl_model_get_info(model).n_vocab;
    float *logits = calloc((size_t)n_vocab, sizeof *logits);
    tl_sampler_options so = tl_sampler_options_default();
    so.temp = wanted >= 0 ? 0 : 1.5f, so.top_k = 0, so.top_p = 1, so.min_p = 0, so.seed = 7;
    tl_sampler *s = tl_sampler_new(model, &so, NULL);
    tl_grammar *gr = tl_grammar_new(model, gbnf, strlen(gbnf), &err);
    tl_generator_options o = {.max_tokens = max, .grammar = gr, .stop_tokens = stop, .n_stop_tokens = n_stop};
    tl_generator *g = tl_generator_new(model, s, &o, NULL);
    tl_step step = {0};
    size_t at = 0;
    if (wanted >= 0) logits[wanted] = 5;
    while (gr && !step.finish && tl_generator_step(g, logits, &step, &err) == TL_OK)
        at += (size_t)snprintf(text + at, size - at, "%.*s", (int)step.n, step.text);
    CHECKF(!err.code, "%s: %s", gbnf, err.text);
    tl_generator_free(g);
    tl_grammar_free(gr);
    tl_sampler_free(s);
    free(logits);
    return step.finish;
}

static void generated(void) {
    char text[4000];
    tl_model *other = tl_model_open("tests/data/arch/qwen2/model.gguf", NULL, NULL);
    tl_grammar *foreign = tl_grammar_new(other, "root ::= .", 10, NULL);
    tl_sampler *smp = tl_sampler_new(model, NULL, NULL);
    CHECK(foreign && !tl_generator_new(model, smp, &(tl_generator_options){.max_tokens = -1, .grammar = foreign}, NULL));
    tl_sampler_free(smp);
    tl_grammar_free(foreign);
    tl_model_free(other);
    CHECK(generate("root ::= \"hello \\u20ac\"", -1, -1, NULL, 0, text, sizeof text) == TL_END_TOKEN && strcmp(text, "hello \xe2\x82\xac") == 0);
    CHECK(generate("root ::= \"hello\"", 2, BYTE + 'h', NULL, 0, text, sizeof text) == TL_END_LENGTH);
    CHECK(generate("root ::= \"ab\"", 2, BYTE + 'a', NULL, 0, text, sizeof text) == TL_END_TOKEN && strcmp(text, "ab") == 0);   /* complete with the last one */
    CHECK(generate("root ::= \"\"", -1, -1, NULL, 0, text, sizeof text) == TL_END_TOKEN);
    CHECK(generate("root ::= \"a\"*", 20, 2, NULL, 0, text, sizeof text) == TL_END_TOKEN);
    int32_t stop = BYTE + 'b';   /* ends a text only where the grammar may */
    CHECK(generate("root ::= \"abc\" \"d\"*", 20, BYTE + 'b', &stop, 1, text, sizeof text) == TL_END_LENGTH || strncmp(text, "abc", 3) == 0);
    for (int i = 0; i < 20; i++) {
        int finish = generate("root ::= [\\U0001F600-\\U0001F64F]{3}", -1, -1, NULL, 0, text, sizeof text);
        CHECKF(finish == TL_END_TOKEN && strlen(text) == 12 && memcmp(text, "\xf0\x9f", 2) == 0, "%d '%s'", finish, text);
    }
}

int main(void) {
    tl_model_options o = tl_model_options_default();
    o.vocab_only = 1;
    model = tl_model_open("tests/data/spm_tiny/vocab.gguf", &o, NULL);
    RUN(words);
    RUN(broken);
    RUN(hostile);
    RUN(ambiguous);
    RUN(random_grammars);
    RUN(long_repetitions);
    RUN(public_functions);
    RUN(generated);
    tl_model_free(model);
    return tl_test_end();
}
