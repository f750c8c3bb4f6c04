/* SPDX-License-Identifier: MIT
 * cut_test.c: a model's file that is cut while it is used: an error, not the end of the process. */
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>
#include "bench/shape.h"
#include "tinyllm.h"

static char path[] = "/tmp/tl_cut_XXXXXX";

static int write_model(const char *type) {
    tl_error err = {0};
    tl_shape s;
    FILE *f = fopen(path, "wb");
    int ok = f && tl_shape_parse("layers=2,dim=256,ff=512,heads=4,vocab=2000", &s, &err) == TL_OK &&
             tl_shape_write(&s, type, f, &err) == TL_OK;
    if (f) fclose(f);
    CHECKF(ok, "%s", err.text);
    return ok;
}

/* What the file's user does; 0: all was as it should be. Runs in a process of its own, which a signal would end. */
static int use(int exact) {
    tl_error err = {0};
    tl_model_options o = {.exact = exact};
    tl_model *m = tl_model_open(path, &o, &err);
    tl_session *s = m ? tl_session_new(m, NULL, &err) : NULL;
    int32_t ids[40] = {0}, last[1] = {1999};
    if (!s || tl_session_append(s, ids, 5, &err) != TL_OK) return 1;
    for (int i = 0; i < 40; i++) ids[i] = 50 * i;
    if (truncate(path, 4096) != 0) return 2;
    if (tl_session_append(s, ids, 40, &err) != TL_E_IO || !strstr(err.text, "cut") || !strstr(err.text, path)) return 3;
    if (tl_session_pos(s, 0) != 5) return 4;
    if (tl_session_append(s, last, 1, NULL) != TL_E_IO || tl_session_pos(s, 0) != 5) return 5;
    char text[16];
    if (!tl_token_text(m, 7, text, sizeof text) || tl_tokenize(m, "t1", 2, 0, ids, 40, NULL) < 0) return 6;   /* texts are kept */
    if (!tl_model_get_info(m).arch[0]) return 7;
    tl_session_free(s);
    tl_model_free(m);
    return 0;
}

static void errors_and_no_signals(void) {
    static const char *const types[] = {"q8_0", "q4_k", "f16", "f32", "tq2_0"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int exact = 0; exact < 2; exact++) {
            if (!write_model(types[i])) return;
            int status = 0;
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) _exit(use(exact));
            CHECK(child > 0 && waitpid(child, &status, 0) == child);
            CHECKF(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s exact %d: %s %d", types[i], exact,
                   WIFEXITED(status) ? "step" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        }
}

/* A file that is shorter than its tensors when it is opened. */
static void cut_before(void) {
    tl_error err = {0};
    if (!write_model("q8_0") || truncate(path, 100000) != 0) return;
    CHECK(!tl_model_open(path, NULL, &err) && err.code == TL_E_FORMAT && strstr(err.text, path));
}

int main(void) {
    int fd = mkstemp(path);
    if (fd >= 0) close(fd);
    RUN(errors_and_no_signals);
    RUN(cut_before);
    remove(path);
    return tl_test_end();
}
