/* SPDX-License-Identifier: MIT
 *
 * cmd_chat.h: a question as the model's chat template puts it. */
#ifndef TL_CMD_CHAT_H
#define TL_CMD_CHAT_H

#include "base/base.h"

/* The prompt for one user message text[0..len), behind a system message unless system is NULL, with what makes the
 * model answer at the end; *n its length. path: the model's file, which holds the template; m: the same, opened.
 * The caller frees it with tl_free. TL_E_UNSUPPORTED if the file has no template. */
char *tl_cmd_chat_prompt(const char *path, const tl_model *m, const char *system, const char *text, size_t len, size_t *n,
                         tl_error *err);

#endif
