/* SPDX-License-Identifier: MIT
 *
 * memfile.c: files without a place on disk, for what can only be read from a file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/base.h"

/* A file in memory, or where the kernel has none a temporary one without a name. */
static int open_nameless(void) {
    char path[4096];
    const char *dir = getenv("TMPDIR");
    int fd = memfd_create("tinyllm", MFD_CLOEXEC);
    if (fd >= 0) return fd;
    snprintf(path, sizeof path, "%s/tinyllm-XXXXXX", dir && *dir ? dir : "/tmp");
    fd = mkstemp(path);
    if (fd >= 0) unlink(path);
    return fd;
}

int tl_memfile_open(tl_memfile *m, tl_error *err) {
    *m = (tl_memfile){0};
    int fd = open_nameless();
    if (fd >= 0) m->f = fdopen(fd, "wb");
    if (!m->f) {
        int why = errno;
        if (fd >= 0) close(fd);
        return tl_fail(err, TL_E_IO, "cannot make a file in memory: %s", strerror(why));
    }
    snprintf(m->path, sizeof m->path, "/proc/self/fd/%d", fd);
    return TL_OK;
}

void tl_memfile_close(tl_memfile *m) {
    if (m->f) fclose(m->f);
    *m = (tl_memfile){0};
}
