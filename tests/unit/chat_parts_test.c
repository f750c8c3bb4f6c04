/* SPDX-License-Identifier: MIT
 * chat_parts_test.c: thoughts and calls of tools in answers that come in pieces of any size. */
#include "test.h"
#include "cmd/cmd_chat_parts.c"

/* The parts as one text: "think:...|" for each change. */
static void note(void *user, int kind, int is_mark, const char *text, size_t n) {
    tl_buf *b = user;
    static const char *const names[] = {"text", "think", "tool"};
    char head[32];
    snprintf(head, sizeof head, "%s%s:", names[kind], is_mark ? " mark" : "");
    const char *last = NULL;
    for (size_t i = 0; i < b->n; i++)
        if (b->p[i] == '{') last = b->p + i + 1;
    size_t len = strlen(head);
    if (last && (size_t)(b->p + b->n - last) >= len + 1 && memcmp(last, head, len) == 0) b->n--;   /* the same goes on */
    else tl_buf_fmt(b, "{%s", head);
    tl_buf_add(b, text, n);
    tl_buf_str(b, "}");
}

static void parts_of_answers(void) {
    static const struct { const char *text, *want; } cases[] = {
        {"", ""},
        {"Hello", "{text:Hello}"},
        {"<think>a b</think>\n\nc", "{think mark:<think>}{think:a b}{think mark:</think>}{text:\n\nc}"},
        {"\n<think>a", "{text:\n}{think mark:<think>}{think:a}"},
        {"say <think> a", "{text:say <think> a}"},                      /* not at the start: text about a mark */
        {"<think></think><think>", "{think mark:<think></think>}{text:<think>}"},
        {"<thin", "{text:<thin}"},
        {"<thinking>a</think></thinking>b", "{think mark:<thinking>}{think:a}{think mark:</think>}{text:</thinking>b}"},
        {"a<tool_call>\nx</tool_call>b", "{text:a}{tool mark:<tool_call>}{tool:\nx}{tool mark:</tool_call>}{text:b}"},
        {"<think>a<tool_call>b</think>c<tool_call>d</tool_call>",
         "{think mark:<think>}{think:a<tool_call>b}{think mark:</think>}{text:c}{tool mark:<tool_call>}{tool:d}"
         "{tool mark:</tool_call>}"},
        {"a <<tool_call>x</tool_call", "{text:a <}{tool mark:<tool_call>}{tool:x</tool_call}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t chunk = 1; chunk < 30; chunk++) {
            chat_parts p = {0};
            tl_buf got = {0};
            size_t n = strlen(cases[i].text);
            for (size_t at = 0; at < n; at += chunk)
                tl_chat_parts_push(&p, cases[i].text + at, chunk < n - at ? chunk : n - at, note, &got);
            tl_chat_parts_end(&p, note, &got);
            tl_buf_add(&got, "", 1);
            CHECKF(strcmp(got.p, cases[i].want) == 0, "case %zu, pieces of %zu: %s", i, chunk, got.p);
            tl_buf_free(&got);
        }
}

static void prompts_that_begin_a_thought(void) {
    int kind = -1;
    const char *text = "x<think>\n";
    CHECK(tl_chat_parts_open(text, 9, &kind) == text + 1 && kind == CHAT_THINK);
    CHECK(!tl_chat_parts_open("<think>\n\n</think>\n\n", 19, &kind) && !tl_chat_parts_open("", 0, &kind));
}

int main(void) {
    RUN(parts_of_answers);
    RUN(prompts_that_begin_a_thought);
    return tl_test_end();
}
