/* SPDX-License-Identifier: MIT
 *
 * line_read.c: the reading part of line_edit.h. A terminal is raw only while a line is edited: whatever ends the
 * program then, a signal too, leaves it as it was found. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include "cmd/line_edit.h"

enum { MAX_LINE = 64 << 20 };   /* bytes; some streams never end a line */

/* ---- raw mode ----------------------------------------------------------------------------------------------------- */

static struct termios cooked, raw;
static volatile sig_atomic_t is_raw, resumed;

static const int fatal[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
enum { N_FATAL = sizeof fatal / sizeof fatal[0] };
static struct sigaction old_fatal[N_FATAL], old_cont, old_winch;

static void on_fatal(int sig) {
    if (is_raw) tcsetattr(STDIN_FILENO, TCSANOW, &cooked);
    signal(sig, SIG_DFL);
    raise(sig);
}

/* Only to end read(): the line is drawn anew. */
static void on_change(int sig) {
    if (sig == SIGCONT) resumed = 1;
}

static int enter_raw(void) {
    struct sigaction a = {0};
    if (tcgetattr(STDIN_FILENO, &cooked) != 0) return -1;
    sigemptyset(&a.sa_mask);
    a.sa_handler = on_fatal;
    for (int i = 0; i < N_FATAL; i++) {
        sigaction(fatal[i], NULL, &old_fatal[i]);
        if (old_fatal[i].sa_handler != SIG_IGN) sigaction(fatal[i], &a, NULL);
    }
    a.sa_handler = on_change;
    sigaction(SIGCONT, &a, &old_cont);
    sigaction(SIGWINCH, &a, &old_winch);
    raw = cooked;
    raw.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IXON | ISTRIP);
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN | ISIG);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    is_raw = 1;
    return tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

static void leave_raw(void) {
    tcsetattr(STDIN_FILENO, TCSADRAIN, &cooked);
    is_raw = 0;
    for (int i = 0; i < N_FATAL; i++) sigaction(fatal[i], &old_fatal[i], NULL);
    sigaction(SIGCONT, &old_cont, NULL);
    sigaction(SIGWINCH, &old_winch, NULL);
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

static void stop_for_a_while(tl_line_reader *r, tl_buf *out) {
    tl_buf_str(out, "\033[?2004l\r\n");
    send(r->terminal, out);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &cooked);
    raise(SIGTSTP);
    resumed = 1;
}

/* Keys until the line is done. 1, 0 at the end, -1 if the terminal cannot be read. */
static int edit(tl_line_reader *r, const char *prompt, tl_buf *out) {
    for (;;) {
        if (resumed) {
            resumed = 0;
            tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
            tl_buf_str(out, "\033[?2004h");
            r->edit.row = 0;
        }
        size_t taken = tl_line_keys(&r->edit, r->typed, r->n_typed);
        r->n_typed -= taken;
        memmove(r->typed, r->typed + taken, r->n_typed);
        int state = r->edit.state;
        if (state == TL_LINE_DONE) r->edit.at = r->edit.text.n;
        draw(r, prompt, out);
        if (state == TL_LINE_DONE) return 1;
        if (state == TL_LINE_END) return 0;
        if (state == TL_LINE_SUSPEND) {
            stop_for_a_while(r, out);
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
    if (enter_raw() != 0) return tl_fail(err, TL_E_SYSTEM, "the terminal cannot be set up: %s", strerror(errno));
    tl_line_begin(&r->edit, text);
    tl_buf_str(&out, "\033[?2004h");
    int rc = edit(r, prompt, &out);
    tl_buf_str(&out, "\033[?2004l\r\n");
    send(r->terminal, &out);
    leave_raw();
    tl_buf_free(&out);
    if (rc < 0) return tl_fail(err, TL_E_IO, "standard input: %s", strerror(errno));
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
    int can = isatty(STDIN_FILENO) && term && *term && strcmp(term, "dumb") != 0;
    int fd = isatty(STDOUT_FILENO) ? STDOUT_FILENO : isatty(STDERR_FILENO) ? STDERR_FILENO : -1;
    return (tl_line_reader){.terminal = can ? fd : -1};
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

void tl_line_close(tl_line_reader *r) { tl_line_free(&r->edit); }
