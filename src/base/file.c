/* SPDX-License-Identifier: MIT
 *
 * file.c: whole files in and out. Output goes to a temporary file beside the target and takes its name only when
 * everything has reached the disk, so a reader sees the old file or the new one and never a part. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/base.h"

char *tl_read_stream(FILE *f, const char *name, size_t *n, tl_error *err) {
    size_t used = 0, cap = 1 << 14;
    char *p = tl_alloc_n(cap, 1, name, err);
    *n = 0;
    while (p) {
        used += fread(p + used, 1, cap - used - 1, f);
        if (ferror(f)) {
            tl_fail(err, TL_E_IO, "%s: %s", name, strerror(errno));
            break;
        }
        if (used < cap - 1) {   /* end of the stream */
            p[used] = 0;
            *n = used;
            return p;
        }
        if (cap >= TL_READ_MAX) {
            tl_fail(err, TL_E_UNSUPPORTED, "%s: more than %d MiB to read", name, TL_READ_MAX >> 20);
            break;
        }
        char *bigger = tl_realloc_n(p, cap, 2, name, err);
        if (!bigger) break;
        p = bigger;
        cap *= 2;
    }
    tl_free(p);
    return NULL;
}

char *tl_read_file(const char *path, size_t *n, tl_error *err) {
    *n = 0;
    FILE *f = fopen(path, "rbe");
    if (!f) {
        tl_fail(err, TL_E_IO, "%s: %s", path, strerror(errno));
        return NULL;
    }
    char *p = tl_read_stream(f, path, n, err);
    fclose(f);
    return p;
}

static void forget(tl_out *o) {
    free(o->path);
    free(o->tmp);
    *o = (tl_out){0};
}

/* The file that a path leads to through symbolic links, there or not: it is replaced, and the links stay. */
static char *follow(const char *path, tl_error *err) {
    char *at = tl_strdup(path, err), to[4096];
    for (int links = 0; at; links++) {
        const ssize_t n = readlink(at, to, sizeof to);
        if (n < 0) return at;
        const char *slash = strrchr(at, '/');
        const size_t dir = to[0] == '/' || !slash ? 0 : (size_t)(slash - at) + 1;
        char *next = NULL;
        if (links == 40 || n == sizeof to) tl_fail(err, TL_E_IO, "%s: cannot write: %s", path, strerror(ELOOP));
        else next = tl_alloc_n(dir + (size_t)n + 1, 1, "a file name", err);
        if (next) {
            memcpy(next, at, dir);
            memcpy(next + dir, to, (size_t)n);
        }
        tl_free(at);
        at = next;
    }
    return NULL;
}

int tl_out_open(tl_out *o, const char *path, tl_error *err) {
    struct stat st;
    tl_error own = {0}, *e = err ? err : &own;
    int exists = stat(path, &st) == 0, fd = -1;
    *o = (tl_out){0};
    if (exists && S_ISDIR(st.st_mode)) return tl_fail(e, TL_E_IO, "%s: is a directory", path);
    const int direct = exists && !S_ISREG(st.st_mode);   /* a device or pipe is written to, never replaced */
    if (!(o->path = direct ? tl_strdup(path, e) : follow(path, e))) return e->code;
    if (direct) {
        fd = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        size_t room = strlen(o->path) + 48;
        if (!(o->tmp = tl_alloc_n(room, 1, "a file name", e))) {
            forget(o);
            return TL_E_MEMORY;
        }
        for (int i = 0; i < 100; i++) {   /* a name may be left over from a process that was killed */
            snprintf(o->tmp, room, "%s.tmp.%ld.%d", o->path, (long)getpid(), i);
            fd = open(o->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (fd >= 0 || errno != EEXIST) break;
        }
        if (fd >= 0 && exists) (void)!fchmod(fd, st.st_mode & 0777);
    }
    if (fd >= 0) o->f = fdopen(fd, "wb");
    if (o->f) return TL_OK;
    int rc = tl_fail(e, TL_E_IO, "%s: cannot write: %s", path, strerror(errno));
    if (fd >= 0) {
        close(fd);
        if (o->tmp) unlink(o->tmp);
    }
    forget(o);
    return rc;
}

int tl_out_close(tl_out *o, int keep, tl_error *err) {
    if (!o->path) return TL_OK;
    int rc = TL_OK, fault = 0;
    if (keep && (ferror(o->f) || fflush(o->f) != 0 || (o->tmp && fsync(fileno(o->f)) != 0)))
        fault = errno ? errno : EIO;
    if (fclose(o->f) != 0 && keep && !fault) fault = errno;
    if (keep && !fault && o->tmp && rename(o->tmp, o->path) != 0) fault = errno;
    if (fault) rc = tl_fail(err, TL_E_IO, "%s: cannot write: %s", o->path, strerror(fault));
    if (o->tmp && (!keep || fault)) unlink(o->tmp);
    forget(o);
    return rc;
}

int tl_write_file(const char *path, const void *bytes, size_t n, tl_error *err) {
    tl_out o;
    int rc = tl_out_open(&o, path, err);
    if (rc != TL_OK) return rc;
    if (n) fwrite(bytes, 1, n, o.f);
    return tl_out_close(&o, 1, err);
}
