/* SPDX-License-Identifier: MIT
 *
 * map.c: model files in memory, read-only, without copying. A file stays open while it is mapped, to copy from. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/base.h"

static const char *kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "a directory";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISSOCK(mode)) return "a socket";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    return "not a regular file";
}

static int map_fd(tl_map *m, int fd, const char *path, tl_error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0) return tl_fail(err, TL_E_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode)) return tl_fail(err, TL_E_IO, "%s: is %s, not a file", path, kind_of(st.st_mode));
    if (st.st_size <= 0) return tl_fail(err, TL_E_FORMAT, "%s: the file is empty", path);
    if ((uintmax_t)st.st_size > SIZE_MAX) return tl_fail(err, TL_E_UNSUPPORTED, "%s: too large for this machine", path);
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return tl_fail(err, TL_E_IO, "%s: cannot map the file: %s", path, strerror(errno));
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);   /* longer read-ahead while weights are packed in file order */
    *m = (tl_map){p, (size_t)st.st_size, fd};
    return TL_OK;
}

int tl_map_open(tl_map *m, const char *path, tl_error *err) {
    *m = (tl_map){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);   /* else a pipe without a writer would hang here */
    if (fd < 0) return tl_fail(err, TL_E_IO, "%s: %s", path, strerror(errno));
    int rc = map_fd(m, fd, path, err);
    if (rc) close(fd);
    return rc;
}

void tl_map_close(tl_map *m) {
    if (m->p) {
        munmap((void *)m->p, m->n);
        close(m->fd);
    }
    *m = (tl_map){0};
}

int tl_map_copy(const tl_map *m, const void *p, size_t n, void *dst) {
    size_t begin = (size_t)((const uint8_t *)p - m->p);
    for (size_t at = 0; at < n;) {
        ssize_t got = pread(m->fd, (uint8_t *)dst + at, n - at, (off_t)(begin + at));
        if (got > 0) at += (size_t)got;
        else if (got == 0 || errno != EINTR) {
            memset((uint8_t *)dst + at, 0, n - at);
            return TL_E_IO;
        }
    }
    return TL_OK;
}
