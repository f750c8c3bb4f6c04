/* SPDX-License-Identifier: MIT
 * See cmd_cache.h. The file is a saved state (docs/FORMATS.md). */
#include "cmd/cmd_cache.h"

#include <sys/stat.h>
#include "cmd/cmd.h"

/* Why there is no cache in this place and none will be: a pipe would be waited for, a model would be lost. NULL: there may. */
static const char *unfit(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) return NULL;
    if (!S_ISREG(st.st_mode)) return S_ISDIR(st.st_mode) ? "is a directory" : "is not a regular file";
    return tl_cmd_is_model(path) ? "is a model" : NULL;
}

void tl_cmd_cache_load(const char *path, tl_session *s) {
    tl_error err = {0};
    struct stat st;
    if (!path || stat(path, &st) != 0) return;   /* the first time there is none */
    const char *why = unfit(path);
    if (why) tl_status("warning: the cache is not used and not kept: %s %s", path, why);
    else if (tl_session_load_file(s, 0, path, &err) < 0) tl_status("warning: the cache is not used and will be replaced: %s", err.text);
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
    if (path && !unfit(path) && tl_session_save_file(s, 0, path, &err) != TL_OK) tl_status("warning: the cache is not kept: %s", err.text);
}
