/* SPDX-License-Identifier: MIT
 * chat_parts_test.c: thoughts and calls of tools in answers that come in pieces of any size. */
#include "test.h"
#include "cmd/cmd_chat_parts.c"

/* The parts as one text: "think:...|" for each change. */
static void note(void *user, int kind, int mark, const char *text, size_t n) {
    tl_buf *b = user;
    static const char *const names[] = {"text", "think", "tool"};
    char head[32];
    snprintf(head, sizeof head, "%s%s:", names[kind], mark == CHAT_PLAIN ? "" : " mark");
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
        {"a[TOOL_CALLS]f[CALL_ID]1[ARGS]()", "{text:a}{tool mark:[TOOL_CALLS]}{tool:f}{tool mark:[CALL_ID]}{tool:1}{tool mark:[ARGS]}{tool:()}{tool mark:}"},
        {"[ARGS]<tool_call>[ARGS]</tool_call>", "{text:[ARGS]}{tool mark:<tool_call>}{tool:[ARGS]}{tool mark:</tool_call>}"},   /* no fields there */
        {"<\357\275\234tool\342\226\201calls\342\226\201begin\357\275\234><\357\275\234tool\342\226\201call\342\226\201begin\357\275\234>f<\357\275\234tool\342\226\201sep\357\275\234>{"
         "<\357\275\234tool\342\226\201calls\342\226\201end\357\275\234>b",
         "{tool mark:<\357\275\234tool\342\226\201calls\342\226\201begin\357\275\234><\357\275\234tool\342\226\201call\342\226\201begin\357\275\234>}{tool:f}"
         "{tool mark:<\357\275\234tool\342\226\201sep\357\275\234>}{tool:{}{tool mark:<\357\275\234tool\342\226\201calls\342\226\201end\357\275\234>}{text:b}"},
        {"a <<tool_call>x</tool_call", "{text:a <}{tool mark:<tool_call>}{tool:x</tool_call}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t chunk = 1; chunk < 30; chunk++) {
            chat_parts p = {0};
            tl_buf got = {0};
            size_t n = strlen(cases[i].text);
            for (size_t at = 0; at < n; at += chunk)
                tl_chat_parts_push(&p, cases[i].text + at, chunk < n - at ? chunk : n - at, note, &got);
            tl_chat_parts_end(&p, 1, note, &got);
            tl_buf_add(&got, "", 1);
            CHECKF(strcmp(got.p, cases[i].want) == 0, "case %zu, pieces of %zu: %s", i, chunk, got.p);
            tl_buf_free(&got);
        }
}

static void prompts_that_begin_a_thought(void) {
    const char *text = "x<think>\n";
    chat_parts p = {0}, q = {0}, r = {0};
    CHECK(tl_chat_parts_begin(&p, (chat_known){0}, text, 9) == text + 1 && p.kind == CHAT_THINK && !p.by_token);
    CHECK(!tl_chat_parts_begin(&q, (chat_known){0}, "<think>\n\n</think>\n\n", 19) && q.kind == CHAT_TEXT);
    CHECK(!tl_chat_parts_begin(&r, (chat_known){0}, "", 0) && r.kind == CHAT_TEXT);
}

/* Answers with control tokens: what stands between \1 and \2 is the name of one. */
static void take(chat_parts *p, const char *text, int is_whole, tl_buf *got) {
    char name[32];
    for (const char *end; *text; text = end) {
        if (*text == 1) {
            end = strchr(text, 2) + 1;
            snprintf(name, sizeof name, "%.*s", (int)(end - text - 2), text + 1);
            tl_chat_parts_token(p, name, note, got);
        } else {
            end = text + 1;
            tl_chat_parts_push(p, text, 1, note, got);
        }
    }
    tl_chat_parts_end(p, is_whole, note, got);
    tl_buf_add(got, "", 1);
}

#define T(name) "\1" name "\2"

static void marks_that_are_control_tokens(void) {
    static const struct { const char *text; int is_whole; const char *want; } cases[] = {
        {T("<think>") "a" T("</think>") "b", 1, "{think mark:<think>}{think:a}{think mark:</think>}{text:b}"},
        {"<think>a</think>", 1, "{text:<think>a</think>}"},            /* looks like it and is text */
        {T("<think>") "a</think>b" T("</think>"), 1, "{think mark:<think>}{think:a</think>b}{think mark:</think>}"},
        {"a" T("[TOOL_CALLS]") "[x]", 1, "{text:a}{tool mark:[TOOL_CALLS]}{tool:[x]}{tool mark:}"},
        {T("[TOOL_CALLS]") "[x", 0, "{tool mark:[TOOL_CALLS]}{tool:[x}"},
        {T("[TOOL_CALLS]") "f()" T("[TOOL_CALLS]") "g" T("[ARGS]") "()", 1,
         "{tool mark:[TOOL_CALLS]}{tool:f()}{tool mark:[TOOL_CALLS]}{tool:g}{tool mark:[ARGS]}{tool:()}{tool mark:}"},
        {"<tool_call>x</tool_call>" T("<pad>"), 1, "{tool mark:<tool_call>}{tool:x}{tool mark:</tool_call>}"},   /* these are none */
        {T("</think>") "a", 1, "{text:a}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        chat_known known = {0};
        for (int k = 0; k < N_MARKS; k++)
            if (strcmp(marks[k].open, "<think>") == 0 || strcmp(marks[k].open, "[TOOL_CALLS]") == 0) known.control |= (uint32_t)1 << k;
        chat_parts p = {0};
        tl_buf got = {0};
        tl_chat_parts_begin(&p, known, "user: x", 7);
        take(&p, cases[i].text, cases[i].is_whole, &got);
        CHECKF(strcmp(got.p, cases[i].want) == 0, "case %zu: %s", i, got.p);
        tl_buf_free(&got);
    }
}

static void messages_with_headers(void) {
    static const char hm[] = "{think mark:<|channel|>analysis<|message|>}{think:hm}{think mark:<|end|>}";
    static const struct { const char *prompt, *text, *more, *want; } cases[] = {
        {"<|start|>assistant",
         T("<|channel|>") "analysis" T("<|message|>") "hm" T("<|end|>") T("<|start|>") "assistant" T("<|channel|>") "final" T("<|message|>")
         "a <think>" T("<|return|>"), hm,
         "{text mark:<|start|>assistant<|channel|>final<|message|>}{text:a <think>}{text mark:<|return|>}"},
        {"<|start|>assistant",
         T("<|channel|>") "analysis" T("<|message|>") "hm" T("<|end|>") T("<|start|>") "assistant" T("<|channel|>") "commentary to=functions.f "
         T("<|constrain|>") "json" T("<|message|>") "()" T("<|call|>"), hm,
         "{tool mark:<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>}{tool:()}{tool mark:<|call|>}"},
        {"<|start|>assistant", " to=functions.f" T("<|channel|>") "commentary json" T("<|message|>") "()" T("<|call|>"), "",
         "{tool mark: to=functions.f<|channel|>commentary json<|message|>}{tool:()}{tool mark:<|call|>}"},
        {"<|start|>assistant", T("<|channel|>") "commentary" T("<|message|>") "I look." T("<|end|>"), "",
         "{text mark:<|channel|>commentary<|message|>}{text:I look.}{text mark:<|end|>}"},
        {"<|start|>user<|message|>x<|end|><|start|>assistant<|channel|>analysis<|message|>", "hm" T("<|end|>"), "", "{think:hm}{think mark:<|end|>}"},
        {"<|start|>assistant", "no header", "", "{text:no header}"},
        {"<|start|>assistant", T("<|channel|>") "fin", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        chat_parts p = {0};
        tl_buf got = {0};
        char want[400];
        snprintf(want, sizeof want, "%s%s", cases[i].more, cases[i].want);
        tl_chat_parts_begin(&p, (chat_known){.channels = 1}, cases[i].prompt, strlen(cases[i].prompt));
        take(&p, cases[i].text, 1, &got);
        CHECKF(strcmp(got.p, want) == 0, "case %zu: %s", i, got.p);
        tl_buf_free(&got);
    }
}

int main(void) {
    RUN(marks_that_are_control_tokens);
    RUN(messages_with_headers);
    RUN(parts_of_answers);
    RUN(prompts_that_begin_a_thought);
    return tl_test_end();
}
