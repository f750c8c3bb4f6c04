/* SPDX-License-Identifier: MIT
 *
 * line_history.c: the history of line_edit.h as a file: a JSON string a line, the oldest first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/json_read.h"
#include "cmd/line_edit.h"

enum { MAX_ENTRIES = 1000 };

/* The file's folder, made where it is missing, for this user alone; and its name behind. */
static int find_file(tl_buf *path, tl_error *err) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int given = state && *state == '/';   /* others are to be ignored (XDG Base Directory Specification) */
    if (!given && !(home && *home)) return tl_fail(err, TL_E_ARGUMENT, "--history: neither XDG_STATE_HOME nor HOME is set");
    tl_buf_fmt(path, "%s%s/tinyllm/history%c", given ? state : home, given ? "" : "/.local/state", 0);
    if (path->failed) return tl_fail(err, TL_E_MEMORY, "out of memory for a path");
    for (char *p = path->p + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        int made = mkdir(path->p, 0700) == 0 || errno == EEXIST || errno == EROFS || errno == EACCES;   /* or the file tells */
        int error = errno;
        *p = '/';
        if (!made) return tl_fail(err, TL_E_IO, "--history: %s: %s", path->p, strerror(error));
    }
    return TL_OK;
}

static void add(tl_line_edit *e, const char *line, size_t n, tl_buf *text) {
    uint8_t closers[1];
    tl_json_in r = tl_json_open(line, n, closers, 1);
    if (tl_json_value(&r) != TL_JSON_STRING) return;   /* not ours: it goes with the next writing */
    text->n = 0;
    tl_json_text(r.text, text);
    tl_buf_add(text, "", 1);
    if (!text->failed) tl_line_remember(e, text->p);
}

int tl_line_load_history(tl_line_reader *r, tl_error *err) {
    struct stat s;
    size_t n;
    tl_buf path = {0}, line = {0};
    char *text = NULL;
    if (find_file(&path, err) == TL_OK && stat(path.p, &s) == 0 && s.st_size > 0) text = tl_read_file(path.p, &n, err);
    for (char *p = text, *end; p && (end = strchr(p, '\n')); p = end + 1) add(&r->edit, p, (size_t)(end - p), &line);
    tl_free(text);
    tl_buf_free(&path);
    tl_buf_free(&line);
    return err->code;
}

int tl_line_save_history(const tl_line_reader *r, tl_error *err) {
    const tl_buf *h = &r->edit.history;
    tl_buf path = {0}, text = {0};
    size_t from = h->n;
    for (int n = 0; from > 0 && n < MAX_ENTRIES; n++)
        for (from--; from > 0 && h->p[from - 1]; from--) {}
    for (size_t at = from; at < h->n; at += strlen(h->p + at) + 1) {
        tl_json j = {.out = &text};
        tl_json_cstr(&j, NULL, h->p + at);
        tl_buf_str(&text, "\n");
    }
    if (text.failed) tl_fail(err, TL_E_MEMORY, "out of memory for the history");
    if (text.n && !err->code && find_file(&path, err) == TL_OK) tl_write_file(path.p, text.p, text.n, err);
    tl_buf_free(&path);
    tl_buf_free(&text);
    return err->code;
}
