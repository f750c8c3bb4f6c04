/* SPDX-License-Identifier: MIT
 * See cmd_cache.h. The file is a saved state (docs/FORMATS.md). */
#include "cmd/cmd_cache.h"

#include <unistd.h>
#include "cmd/cmd.h"

void tl_cmd_cache_load(const char *path, tl_session *s) {
    tl_error err = {0};
    if (!path || access(path, F_OK) != 0) return;   /* the first time there is none */
    if (tl_session_load_file(s, 0, path, &err) < 0) tl_status("warning: the cache is not used and will be replaced: %s", err.text);
}

int tl_cmd_cache_common(const tl_session *s, const int32_t *ids, int n) {
    int held = tl_session_tokens(s, 0, NULL, 0), same = 0;
    int32_t *there = tl_alloc_n((size_t)held + 1, sizeof *there, "tokens", NULL);
    if (!there) return 0;
    tl_session_tokens(s, 0, there, held);
    while (same < n && same < held && there[same] == ids[same]) same++;
    tl_free(there);
    return same;
}

void tl_cmd_cache_save(const char *path, const tl_session *s) {
    tl_error err = {0};
    if (path && tl_session_save_file(s, 0, path, &err) != TL_OK) tl_status("warning: the cache is not kept: %s", err.text);
}
