/* SPDX-License-Identifier: MIT
 *
 * example_c99.c: the example program of tinyllm.h, whole. tests/e2e/api.sh compiles it as C99 and C++ and runs it. */
#include <stdio.h>
#include "tinyllm.h"

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    tl_error err = {0};
    tl_model *m = tl_model_open(argv[1], NULL, &err);
    tl_session *s = m ? tl_session_new(m, NULL, &err) : NULL;
    tl_sampler *smp = s ? tl_sampler_new(m, NULL, &err) : NULL;
    int32_t ids[512];
    int n = smp ? tl_tokenize(m, "Once upon a time", 16, TL_ADD_BOS, ids, 512, &err) : -1;
    int rc = n > 0 ? tl_session_append(s, ids, n, &err) : -1;
    for (int i = 0; rc == TL_OK && i < 64; i++) {
        int32_t id = tl_sampler_pick(smp, tl_session_logits(s, 0), &err);
        if (id < 0 || tl_token_is_end(m, id)) break;
        char piece[256];
        int len = tl_token_text(m, id, piece, sizeof piece);
        fwrite(piece, 1, len < 256 ? (size_t)len : 256, stdout);
        rc = tl_session_append(s, &id, 1, &err);
    }
    if (err.code) fprintf(stderr, "%s\n", err.text);
    tl_sampler_free(smp); tl_session_free(s); tl_model_free(m);
    return err.code ? 1 : 0;
}
