/* SPDX-License-Identifier: MIT
 *
 * main.c: finds the command named by the first word and runs it. The list of commands is cmd.def. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "cmd/cmd.h"
#include "cmd/pages.h"

static const tl_cmd *const commands[] = {
#define TL_CMD(name) &tl_cmd_##name,
#include "cmd.def"
#undef TL_CMD
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static void overview(FILE *f) {
    fputs("tinyllm " TL_VERSION ": runs language models in GGUF files on CPUs\n\n"
          "Usage: tinyllm COMMAND [options]\n"
          "       tinyllm MODEL.gguf             on a terminal: short for chat\n"
          "       tinyllm MODEL.gguf [options]   short for run\n\nCommands:\n", f);
    for (int i = 0; i < N_COMMANDS; i++) fprintf(f, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n  tinyllm help COMMAND   what a command does, with examples\n"
          "  tinyllm help --man     the manual page (--bash, --zsh, --fish: completions)\n"
          "  tinyllm --version      the version\n\n"
          "Environment:\n"
          "  TINYLLM_CPU   highest CPU level to use, as --cpu\n\n"
          "Results go to standard output, everything else to standard error.\n"
          "Exit codes: 0 done, 1 failed, 2 wrong usage.\n", f);
}

static const tl_cmd *find_command(const char *name) {
    const char *names[N_COMMANDS + 2];
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
        names[i] = commands[i]->name;
    }
    names[N_COMMANDS] = "help";
    names[N_COMMANDS + 1] = NULL;
    tl_error err = {0};
    const char *what = name[0] == '-' ? "option" : "command", *near = tl_nearest(name, names);
    if (near) tl_fail(&err, TL_E_ARGUMENT, "unknown %s '%s'; did you mean %s?", what, name, near);
    else tl_fail(&err, TL_E_ARGUMENT, "unknown %s '%s' (tinyllm help lists the commands)", what, name);
    tl_cmd_fail(&err);
    return NULL;
}

/* help --man, --bash, --zsh, --fish: for programs that read help. -1: the word is none of these. */
static int print_page(const char *word) {
    tl_buf out = {0};
    int known = strncmp(word, "--", 2) == 0 && tl_page(word + 2, &out), failed = out.failed;
    if (known && !failed) fwrite(out.p, 1, out.n, stdout);
    tl_buf_free(&out);
    return known ? failed : -1;
}

static int help(int argc, char **argv) {
    if (argc == 0) {
        overview(stdout);
        return 0;
    }
    int code = print_page(argv[0]);
    if (code >= 0) return code;
    const tl_cmd *c = find_command(argv[0]);
    if (!c) return 2;
    tl_cmd_help(c, stdout);
    return 0;
}

/* "tinyllm model.gguf ..." is short for run, and so is the form of other programs, "tinyllm -m model.gguf". */
static int is_model(const char *word) {
    size_t n = strlen(word);
    if (strcmp(word, "-m") == 0 || strcmp(word, "--model") == 0 || strncmp(word, "--model=", 8) == 0) return 1;
    return word[0] != '-' && n > 5 && strcmp(word + n - 5, ".gguf") == 0;
}

/* Whether the words are a model and nothing else: to be talked to, where there is somebody. */
static int is_model_alone(int argc, char **argv) {
    int words = strcmp(argv[1], "-m") == 0 || strcmp(argv[1], "--model") == 0 ? 2 : 1;
    return argc == 1 + words && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        overview(stderr);
        return 2;
    }
    const char *word = argv[1];
    if (strcmp(word, "help") == 0) return help(argc - 2, argv + 2);
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) return help(0, NULL);
    if (strcmp(word, "--version") == 0) {
        puts("tinyllm " TL_VERSION);
        return 0;
    }
    if (is_model(word)) {
        const tl_cmd *c = is_model_alone(argc, argv) ? &tl_cmd_chat : &tl_cmd_run;
        return c->run(c, argc - 1, argv + 1);
    }
    const tl_cmd *c = find_command(word);
    return c ? c->run(c, argc - 2, argv + 2) : 2;
}

/* A file opened later must not become descriptor 0, 1 or 2. A stream that was closed by whoever started us is held
 * by one that cannot be used for its purpose, so that writing results to it is still seen to fail. */
static void hold_standard_streams(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1) (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/* A mapped file that became shorter ends here, and nowhere else in this program does a SIGBUS come from. */
static void on_bus_error(int sig) {
    static const char text[] = "tinyllm: a model file changed while it was in use\n";
    (void)sig;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(1);
}

int main(int argc, char **argv) {
    hold_standard_streams();
    signal(SIGPIPE, SIG_DFL);   /* a reader that goes away ends the program without a word, whatever the parent chose */
    signal(SIGBUS, on_bus_error);
    signal(SIGXFSZ, SIG_IGN);   /* a file over the limit is an error of writing like any other */
    int code = dispatch(argc, argv);
    if (tl_cmd_flush() == 0) return code;
    fprintf(stderr, "tinyllm: cannot write to standard output: %s\n", tl_cmd_flush_fault());
    return code ? code : 1;
}
