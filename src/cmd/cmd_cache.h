/* SPDX-License-Identifier: MIT
 *
 * cmd_cache.h: --cache FILE: what sequence 0 of a session holds, kept from one run of the program to the next. The text
 * is the same as without; only computing the prompt's beginning again is saved. */
#ifndef TL_CMD_CACHE_H
#define TL_CMD_CACHE_H

#include "tinyllm.h"

#define TL_CACHE_HELP \
    "keep what was computed in FILE, and reuse it where a later prompt begins with the same tokens"

/* Loads the file into sequence 0, if there is one. One that cannot be used (another model, cut, damaged, too long) is named
 * in a warning and will be replaced; a folder, pipe or device, or a model, is named and left alone. path NULL: does
 * nothing, as in tl_cmd_cache_save. */
void tl_cmd_cache_load(const char *path, tl_session *s);
/* Of a prompt of n ids, how many sequence 0 begins with: tl_session_prompt keeps them, but for the last of the prompt. With
 * all of them there, nothing new is worth saving: the file may hold more than this prompt. */
int tl_cmd_cache_common(const tl_session *s, const int32_t *ids, int n);
/* Writes the file. A failure is a warning: the text is there, and an old file stays as it was. */
void tl_cmd_cache_save(const char *path, const tl_session *s);

#endif
