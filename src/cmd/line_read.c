/* SPDX-License-Identifier: MIT
 *
 * line_read.c: the reading part of line_edit.h. Whatever ends or stops the program, a signal too, leaves the terminal as it
 * was found. There is one terminal, so its modes are variables of this file. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include "cmd/line_edit.h"

enum { MAX_LINE = 64 << 20 };   /* bytes; some streams never end a line */

/* ---- modes of the terminal ---------------------------------------------------------------------------------------- */

/* As it was found; while a line is edited; between lines, where keys are neither shown nor turned into lines, but wait for
 * the next one (Ctrl-D too), and Ctrl-C is a signal. */
static struct termios found, editing, between;
static const struct termios *volatile mode;   /* NULL: as it was found */
static int screen;                            /* its descriptor */

/* Both may be called by signal handlers. */
static void set_mode(const struct termios *to) {
    static const char paste_on[] = "\033[?2004h", paste_off[] = "\033[?2004l";
    tcsetattr(STDIN_FILENO, TCSANOW, to ? to : &found);
    if (!to != !mode) (void)!write(screen, to ? paste_on : paste_off, sizeof paste_on - 1);
    mode = to;
}

void tl_line_restore(void) {
    if (mode) set_mode(NULL);
}

static void on_fatal(int sig) {
    tl_line_restore();
    signal(sig, SIG_DFL);
    raise(sig);
}

/* Ctrl-Z: the shell gets the terminal as it was, and later we get ours. */
static void on_stop(int sig) {
    const struct termios *was = mode;
    int error = errno;
    struct sigaction a = {0}, ours;
    sigset_t this_one;
    tl_line_restore();
    a.sa_handler = SIG_DFL;
    sigemptyset(&a.sa_mask);
    sigaction(sig, &a, &ours);
    sigemptyset(&this_one);
    sigaddset(&this_one, sig);
    raise(sig);
    sigprocmask(SIG_UNBLOCK, &this_one, NULL);   /* it stops here */
    sigaction(sig, &ours, NULL);
    if (was) set_mode(was);
    errno = error;
}

static void on_resize(int sig) { (void)sig; }   /* only to end read(): the line is drawn anew */

static void catch_signals(void) {
    static const struct { int sig; void (*fn)(int); } caught[] = {
        {SIGHUP, on_fatal}, {SIGINT, on_fatal}, {SIGQUIT, on_fatal}, {SIGTERM, on_fatal}, {SIGPIPE, on_fatal},
        {SIGTSTP, on_stop}, {SIGWINCH, on_resize},
    };
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) {
        struct sigaction a = {0}, old;
        a.sa_handler = caught[i].fn;
        a.sa_flags = caught[i].sig == SIGTSTP ? SA_RESTART : 0;
        sigemptyset(&a.sa_mask);
        if (sigaction(caught[i].sig, NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(caught[i].sig, &a, NULL);
    }
}

static int take_terminal(int fd) {
    if (tcgetattr(STDIN_FILENO, &found) != 0) return -1;
    screen = fd;
    between = found;
    between.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IXON | ISTRIP);
    between.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
    between.c_cc[VMIN] = 1;
    between.c_cc[VTIME] = 0;
    editing = between;
    editing.c_lflag &= ~(tcflag_t)ISIG;
    catch_signals();
    set_mode(&between);
    return 0;
}

/* ---- a terminal --------------------------------------------------------------------------------------------------- */

static void send(int fd, tl_buf *b) {
    for (size_t at = 0; at < b->n;) {
        ssize_t n = write(fd, b->p + at, b->n - at);
        if (n < 0 && errno != EINTR) break;
        if (n > 0) at += (size_t)n;
    }
    b->n = 0;
}

static void draw(tl_line_reader *r, const char *prompt, tl_buf *out) {
    struct winsize w = {0};
    ioctl(r->terminal, TIOCGWINSZ, &w);
    tl_line_draw(&r->edit, prompt, w.ws_col, w.ws_row, out);
    send(r->terminal, out);
}

/* Keys until the line is done. 1, 0 at the end, -1 if the terminal cannot be read. */
static int edit(tl_line_reader *r, const char *prompt, tl_buf *out) {
    for (;;) {
        size_t taken = tl_line_keys(&r->edit, r->typed, r->n_typed);
        r->n_typed -= taken;
        memmove(r->typed, r->typed + taken, r->n_typed);
        int state = r->edit.state;
        if (state == TL_LINE_DONE) r->edit.at = r->edit.text.n;
        draw(r, prompt, out);
        if (state == TL_LINE_DONE) return 1;
        if (state == TL_LINE_END) return 0;
        if (state == TL_LINE_HINT && r->hint) {
            tl_buf_fmt(out, "\r\n%s\r\n", r->hint);
            send(r->terminal, out);
            r->edit.row = 0;
            continue;
        }
        if (state == TL_LINE_SUSPEND) {
            tl_buf_str(out, "\r\n");
            send(r->terminal, out);
            raise(SIGTSTP);
            r->edit.row = 0;
            continue;
        }
        if (r->n_typed) continue;
        ssize_t n = read(STDIN_FILENO, r->typed, sizeof r->typed);
        if (n == 0) return 0;
        if (n < 0 && errno != EINTR) return -1;
        if (n > 0) r->n_typed = (size_t)n;
    }
}

static int read_edited(tl_line_reader *r, const char *prompt, const char *text, tl_buf *line, tl_error *err) {
    tl_buf out = {0};
    set_mode(&editing);
    tl_line_begin(&r->edit, text);
    int rc = edit(r, prompt, &out), error = errno;
    tl_buf_str(&out, "\r\n");
    send(r->terminal, &out);
    set_mode(&between);
    tl_buf_free(&out);
    if (rc < 0) return tl_fail(err, TL_E_IO, "standard input: %s", strerror(error));
    tl_buf_add(line, r->edit.text.p, r->edit.text.n);
    tl_buf_add(line, "", 1);
    if (line->failed) return tl_fail(err, TL_E_MEMORY, "out of memory for a line");
    line->n--;
    if (rc > 0) tl_line_remember(&r->edit, line->p);
    return rc;
}

/* ---- anything else ------------------------------------------------------------------------------------------------ */

static int read_plain(tl_buf *line, tl_error *err) {
    int c, any = 0;
    while ((c = getc(stdin)) != EOF) {
        char byte = (char)c;
        any = 1;
        if (c == '\n') break;
        tl_buf_add(line, &byte, 1);
        if (line->n > MAX_LINE) return tl_fail(err, TL_E_ARGUMENT, "standard input: a line is longer than %d MiB", MAX_LINE >> 20);
    }
    if (c == EOF && ferror(stdin)) return tl_fail(err, TL_E_IO, "standard input: %s", strerror(errno));
    if (line->n && line->p[line->n - 1] == '\r') line->n--;
    tl_buf_add(line, "", 1);
    if (line->failed) return tl_fail(err, TL_E_MEMORY, "out of memory for a line");
    line->n--;
    return any;
}

tl_line_reader tl_line_open(void) {
    const char *term = getenv("TERM");
    int fd = isatty(STDOUT_FILENO) ? STDOUT_FILENO : isatty(STDERR_FILENO) ? STDERR_FILENO : -1;
    int can = fd >= 0 && isatty(STDIN_FILENO) && term && *term && strcmp(term, "dumb") != 0;
    return (tl_line_reader){.terminal = can && take_terminal(fd) == 0 ? fd : -1};
}

int tl_line_read(tl_line_reader *r, const char *prompt, const char *text, tl_buf *line, tl_error *err) {
    line->n = 0;
    if (r->terminal >= 0) return read_edited(r, prompt, text, line, err);
    if (isatty(STDIN_FILENO)) {   /* one that can only print */
        fputs(prompt, stderr);
        fflush(stderr);
    }
    return read_plain(line, err);
}

void tl_line_close(tl_line_reader *r) {
    tl_line_restore();
    tl_line_free(&r->edit);
}
