/* SPDX-License-Identifier: MIT
 *
 * cmd_logprobs.h: log-probabilities of the tokens of a text, kept while it grows and printed as the JSON object that
 * completions of the OpenAI API have. */
#ifndef TL_CMD_LOGPROBS_H
#define TL_CMD_LOGPROBS_H

#include "cmd/cmd.h"

typedef struct tl_cmd_logprobs {
    const tl_model *m;
    int n_top;
    tl_logprob *row;    /* [1 + n_top] the token's own and the likeliest of its place; NULL: nothing is kept */
    tl_buf rows;        /* the rows of all tokens */
} tl_cmd_logprobs;

int tl_cmd_logprobs_init(tl_cmd_logprobs *l, const tl_model *m, int n_top, tl_error *err);
void tl_cmd_logprobs_free(tl_cmd_logprobs *l);
/* The next token is id; logits are those it was expected by, NULL: it is the first of all. A tl_pick_fn. */
void tl_cmd_logprobs_add(void *l, int32_t id, const float *logits);
/* "logprobs": the first n tokens, of which n_prompt are a prompt whose text begins the text. */
int tl_cmd_logprobs_json(const tl_cmd_logprobs *l, int n_prompt, int n, tl_json *j, tl_error *err);

#endif
