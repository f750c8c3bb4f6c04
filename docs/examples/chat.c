/* A chat of as many turns as there are questions: chat MODEL QUESTION...
 * cc chat.c -o chat $(pkg-config --cflags --libs tinyllm) */
#include <stdio.h>
#include <string.h>
#include <tinyllm.h>

enum { MOST = 16 };   /* questions */
typedef struct answer { char text[8192]; size_t n; } answer;

static int show(void *user, const char *text, size_t n) {
    answer *a = user;
    if (n >= sizeof a->text - a->n) return 1;   /* no room: ends the answer */
    memcpy(a->text + a->n, text, n);
    a->n += n;
    return fwrite(text, 1, n, stdout) != n || fflush(stdout) != 0;
}

int main(int argc, char **argv) {
    static answer answers[MOST];
    tl_chat_message talk[2 * MOST];
    tl_error err = {0};   /* keeps the first fault; what follows it does nothing */
    tl_model *m = tl_model_open(argc > 1 ? argv[1] : NULL, NULL, &err);
    tl_session *s = tl_session_new(m, NULL, &err);
    tl_sampler *sampler = tl_sampler_new(m, NULL, &err);
    for (int i = 0; i < MOST && i + 2 < argc && !err.code; i++) {
        talk[2 * i] = (tl_chat_message){"user", argv[i + 2], 0};
        tl_chat *c = tl_chat_render(m, &(tl_chat_options){.messages = talk, .n_messages = 2 * i + 1}, &err);
        tl_generator *g = tl_generator_new(m, sampler, &(tl_generator_options){.max_tokens = 200}, &err);
        int n = 0;
        const int32_t *ids = tl_chat_ids(c, &n);   /* the whole conversation; only what is new is computed */
        if (!err.code && tl_session_prompt(s, 0, ids, n, &err) >= 0) tl_generate(s, 0, g, show, &answers[i], &err);
        talk[2 * i + 1] = (tl_chat_message){"assistant", answers[i].text, answers[i].n};
        putchar('\n');
        tl_generator_free(g), tl_chat_free(c);
    }
    if (err.code) fprintf(stderr, "%s\n", err.text);
    tl_sampler_free(sampler), tl_session_free(s), tl_model_free(m);
    return err.code != 0;
}
