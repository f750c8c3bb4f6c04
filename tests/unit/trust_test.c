/* SPDX-License-Identifier: MIT
 * trust_test.c: what chat templates do with texts that hold their own control tokens: nobody but the template writes one.
 * Each template of the shared folder and some of our own, each place of a conversation, each token that the template names. */
#include "test.h"
#include "tmpl/tmpl.h"
#include "templates.inc"

enum { MAX_TOKENS = 200, MAX_TOKEN = 48 };
typedef struct tokens { char v[MAX_TOKENS][MAX_TOKEN]; int n; } tokens;

/* Names in the template's text that may be tokens: <...> and [...] without blanks and quotes. */
static void find_tokens(const char *text, size_t n, tokens *t) {
    t->n = 0;
    for (size_t i = 0; i < n && t->n < MAX_TOKENS; i++) {
        const char close = text[i] == '<' ? '>' : text[i] == '[' ? ']' : 0;
        size_t len = 1;
        while (close && len < MAX_TOKEN - 1 && i + len < n && !strchr(" \t\r\n\"'\\<[(,", text[i + len]) && text[i + len] != close) len++;
        if (!close || len < 3 || len >= MAX_TOKEN - 1 || i + len >= n || text[i + len] != close) continue;
        if (close == ']' && !(text[i + 1] >= 'A' && text[i + 1] <= 'Z') && text[i + 1] != '/') continue;   /* an index */
        char name[MAX_TOKEN];
        snprintf(name, sizeof name, "%.*s", (int)len + 1, text + i);
        int known = 0;
        for (int k = 0; k < t->n; k++) known |= strcmp(t->v[k], name) == 0;
        if (!known) snprintf(t->v[t->n++], MAX_TOKEN, "%s", name);
    }
}

/* A conversation with a text at each place. */
static const char conversation[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \"%s\"}, {\"role\": \"user\", \"name\": \"%s\", \"content\": \"%s\"}, "
    "{\"role\": \"assistant\", \"content\": \"%s\", \"reasoning_content\": \"%s\"}, {\"role\": \"user\", \"content\": \"%s\"}, "
    "{\"role\": \"assistant\", \"content\": \"%s\", \"tool_calls\": [{\"type\": \"function\", \"id\": \"%s\", \"function\": {\"name\": \"%s\", "
    "\"arguments\": {\"%s\": \"%s\"}}}]}, {\"role\": \"tool\", \"name\": \"%s\", \"tool_call_id\": \"%s\", \"content\": \"%s\"}], "
    "\"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"%s\", \"description\": \"%s\", \"parameters\": {\"type\": \"object\", "
    "\"properties\": {\"%s\": {\"type\": \"string\", \"description\": \"%s\", \"enum\": [\"%s\"], \"default\": \"%s\"}}, \"required\": []}}}]";
static const char plain_conversation[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \"%s\"}, {\"role\": \"user\", \"name\": \"%s\", \"content\": \"%s\"}, "
    "{\"role\": \"assistant\", \"content\": \"%s\", \"reasoning_content\": \"%s\"}, {\"role\": \"user\", \"content\": \"%s\"}]";
static const char short_conversation[] = "{\"messages\": [{\"role\": \"user\", \"content\": \"%s\"}]";
/* Arguments as JSON in a text, bare tools, contents in parts. */
static const char other_forms[] =
    "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"%s\"}]}, {\"role\": \"assistant\", \"content\": null, "
    "\"tool_calls\": [{\"type\": \"function\", \"id\": \"abcdefghi\", \"function\": {\"name\": \"f\", \"arguments\": \"{\\\"%s\\\": \\\"%s\\\"}\"}}]}, "
    "{\"role\": \"tool\", \"tool_call_id\": \"abcdefghi\", \"content\": [{\"type\": \"text\", \"text\": \"%s\"}]}], "
    "\"tools\": [{\"name\": \"%s\", \"description\": \"%s\", \"parameters\": {\"type\": \"object\", \"properties\": {\"%s\": {\"type\": \"string\"}}}}]";
static const char *const forms[] = {conversation, plain_conversation, short_conversation, other_forms};

/* The form with `attack` at one place and harmless texts at the others; -1: all are harmless. Returns how many places it has. */
static int fill(tl_buf *out, const char *form, int place, const char *attack) {
    int n = 0;
    out->n = 0;
    for (const char *p = form, *at; ; p = at + 2) {
        at = strstr(p, "%s");
        tl_buf_add(out, p, at ? (size_t)(at - p) : strlen(p));
        if (!at) break;
        const int is_id = strncmp(at, "%s\", \"function\"", 14) == 0 || (at - form > 17 && strncmp(at - 17, "\"tool_call_id\": \"", 17) == 0);
        tl_buf_str(out, n == place ? attack : is_id ? "abcdefghi" : "hi");
        n++;
    }
    tl_buf_str(out, ", \"add_generation_prompt\": true, \"bos_token\": \"<s>\", \"eos_token\": \"</s>\"}");
    return n;
}

/* Occurrences of the token in out; *trusted: those all of whose bytes are, *marked: of these the ones that touch a mark. */
static int count(const tl_buf *out, const tl_buf *trust, const char *token, int *trusted, int *marked) {
    const size_t n = strlen(token);
    int found = 0;
    *trusted = *marked = 0;
    for (size_t i = 0; i + n <= out->n; i++) {
        if (memcmp(out->p + i, token, n) != 0) continue;
        found++;
        if (memchr(trust->p + i, 0, n)) continue;
        ++*trusted;
        *marked += (i >= 3 && memcmp(out->p + i - 3, "q7q", 3) == 0) || (i + n + 3 <= out->n && memcmp(out->p + i + n, "x9x", 3) == 0);
    }
    return found;
}

/* Renders; 0: the template refuses it. */
static int render(const tl_tmpl *t, const tl_buf *json, tl_buf *out, tl_buf *trust) {
    tl_tmpl_source s = {"case", NULL, json->p, json->n};
    out->n = trust->n = 0;
    return tl_tmpl_render(t, &s, 1, out, trust, NULL) == TL_OK;
}

/* Returns how many conversations with such texts were rendered. */
static int check_template(const char *name, const char *text, size_t n) {
    tokens *all = calloc(1, sizeof *all);
    tl_error err = {0};
    tl_tmpl *t = tl_tmpl_parse(name, text, n, &err);
    tl_buf json = {0}, out = {0}, trust = {0};
    int rendered = 0, trusted, marked;
    CHECKF(t, "%s", err.text);
    find_tokens(text, n, all);
    for (size_t f = 0; t && f < sizeof forms / sizeof *forms; f++) {
        const int places = fill(&json, forms[f], -1, NULL);
        /* Harmless texts: every token there is the template's. */
        if (render(t, &json, &out, &trust))
            for (int k = 0; k < all->n; k++) {
                const int found = count(&out, &trust, all->v[k], &trusted, &marked);
                CHECKF(found == trusted, "%s: form %zu: %s is not trusted", name, f, all->v[k]);
            }
        for (int p = 0; p < places; p++)
            for (int k = 0; k < all->n; k++) {
                /* Templates cut the thoughts of an answer off at their end, and write that end themselves. */
                if (f < 2 && (p == 3 || p == 6) && strncmp(all->v[k], "</", 2) == 0 && strstr(all->v[k], "think>")) continue;
                char attack[MAX_TOKEN + 8];
                snprintf(attack, sizeof attack, "q7q%sx9x", all->v[k]);
                fill(&json, forms[f], p, attack);
                if (!render(t, &json, &out, &trust)) continue;
                count(&out, &trust, all->v[k], &trusted, &marked);
                CHECKF(!marked, "%s: form %zu, place %d: %s becomes a token", name, f, p, all->v[k]);
                rendered++;
            }
    }
    tl_tmpl_free(t);
    tl_buf_free(&json);
    tl_buf_free(&out);
    tl_buf_free(&trust);
    free(all);
    return rendered;
}

static int n_published;

static int check_published(const char *name, const char *text, size_t n) {
    const int some = check_template(name, text, n);
    CHECKF(some > 0, "%s", name);
    n_published++;
    return some;
}

static void published_templates(void) {
    const int rendered = each_template(check_published);
    if (rendered < 0) SKIP("no ../shared/templates");
    CHECKF(n_published > 0 && rendered > 100 * n_published, "%d conversations of %d templates", rendered, n_published);
}

/* What templates do with a message's text M: each is a template of its own, with tokens <|a|> and <|b|>. */
static void templates_of_our_own(void) {
    static const char *const through[] = {
        "M", "M.replace('<|a|>', '<|a|>')", "M | replace('<|a|>', '<|a|>\\n')", "M.replace('<|a|>', 'x<|a|>').replace('<|b|>', '<|b|>')",
        "M.split('<|a|>') | join('<|a|>')", "'<|a|>'.join(M.split('<|a|>'))", "M.rsplit('<|b|>', 1) | join('<|b|>')",
        "M.partition('<|a|>') | join", "M.rpartition('<|b|>') | join('')", "(M.split('<|a|>') | map('trim') | list) | join('<|a|>')",
        "M.split('<|a|>')[0:] | join('<|a|>')", "(M.split('<|a|>') | select | list) | join('<|a|>')",
        "M | list | join", "M[:5] + M[5:]", "M[::-1][::-1]", "M | upper | lower", "M | tojson", "M | tojson(indent=2)", "{'<|b|>': M} | tojson",
        "'%s<|b|>' % M", "'{}<|b|>'.format(M)", "M | indent(4, true)", "M | trim", "M | default('<|a|>')", "M | string | safe",
        "[M] | map('replace', '<|a|>', '<|a|>') | join", "M.splitlines() | join('<|b|>')", "(M ~ '<|a|>') | replace('<|a|>', '<|a|>')",
        "M | replace('<|', '<|') | replace('|>', '|>')", "M.replace('|', '|')", "M.replace('', '')", "M.split('|') | join('|')",
        "M.strip('x9')", "M.removeprefix('<|a|>')", "M | truncate(500)", "M | center(90)", "[M, M] | join('<|b|>')", "M | first + M[1:]"};
    for (size_t i = 0; i < sizeof through / sizeof *through; i++) {
        char text[900];
        snprintf(text, sizeof text,
                 "{%% macro f(x) %%}{{ x }}<|b|>{%% endmacro %%}{%% set ns = namespace(s='') %%}{%% for m in messages %%}{%% set M = m.content %%}"
                 "{%% if M is string %%}<|a|>{{ %s }}<|b|>{{ f(M) }}{%% set ns.s = ns.s ~ M %%}{%% for ch in M %%}{{ ch }}{%% endfor %%}"
                 "{%% endif %%}{%% endfor %%}{{ ns.s }}", through[i]);
        CHECKF(check_template(through[i], text, strlen(text)) > 10, "%s", through[i]);
    }
}

int main(void) {
    RUN(templates_of_our_own);
    RUN(published_templates);
    return tl_test_end();
}
