/* SPDX-License-Identifier: MIT
 *
 * pages.c: see pages.h. A form is one function and a row of the table at the end. */
#include "cmd/pages.h"

#include <string.h>

static const tl_cmd *const commands[] = {
#define TL_CMD(name) &tl_cmd_##name,
#include "cmd.def"
#undef TL_CMD
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

/* The next of comma-separated names at *p; 0: there is none. */
static int next_name(const char **p, const char **name, int *n) {
    *p += **p == ',';
    *name = *p;
    *n = (int)strcspn(*p, ",");
    *p += *n;
    return *n > 0;
}

/* text with a backslash (or another text) before each character of a set. */
static void escaped(tl_buf *out, const char *text, const char *set, const char *before) {
    for (; *text; text++) tl_buf_fmt(out, "%s%c", strchr(set, *text) ? before : "", *text);
}

/* Whether a value is the name of a file. */
static int wants_file(const tl_opt *o) { return o->arg && (strstr(o->arg, "FILE") || strstr(o->arg, "MODEL")); }

/* ---- man page ---------------------------------------------------------------------------------------------------- */

/* One line of roff: no escapes, no requests, hyphens that can be copied. */
static void roff(tl_buf *out, const char *text) {
    if (*text == '.' || *text == '\'') tl_buf_str(out, "\\&");
    for (; *text; text++) {
        if (*text == '\\') tl_buf_str(out, "\\e");
        else if (*text == '-') tl_buf_str(out, "\\-");
        else tl_buf_fmt(out, "%c", *text);
    }
}

static void man_option(tl_buf *out, const char *names, const char *arg, const char *help) {
    tl_buf_str(out, ".TP\n");
    const char *p = names, *name;
    for (int n, first = 1; next_name(&p, &name, &n); first = 0) {
        char word[64];
        snprintf(word, sizeof word, "%.*s", n, name);
        tl_buf_str(out, first ? "\\fB" : ", \\fB");
        roff(out, word);
        tl_buf_str(out, "\\fR");
    }
    if (arg) {
        tl_buf_str(out, " \\fI");
        roff(out, arg);
        tl_buf_str(out, "\\fR");
    }
    tl_buf_str(out, "\n");
    roff(out, help);
    tl_buf_str(out, "\n");
}

static void man_lines(tl_buf *out, const char *text) {
    tl_buf_str(out, ".PP\n.nf\n");
    while (*text) {
        size_t n = strcspn(text, "\n");
        char line[256];
        snprintf(line, sizeof line, "%.*s", (int)n, text);
        roff(out, line);
        tl_buf_str(out, "\n");
        text += n + (text[n] == '\n');
    }
    tl_buf_str(out, ".fi\n");
}

static void man(tl_buf *out) {
    tl_buf_str(out, ".TH TINYLLM 1 \"\" \"tinyllm " TL_VERSION "\" \"User Commands\"\n.SH NAME\n"
                    "tinyllm \\- run language models in GGUF files on CPUs\n.SH SYNOPSIS\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        tl_buf_fmt(out, "%s.B tinyllm %s\n", i ? ".br\n" : "", commands[i]->name);
        roff(out, commands[i]->usage);
        tl_buf_str(out, "\n");
    }
    tl_buf_str(out, ".SH DESCRIPTION\nResults go to standard output, everything else to standard error.\n.SH COMMANDS\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        const tl_cmd *c = commands[i];
        tl_buf_fmt(out, ".SS \"tinyllm %s\"\n", c->name);
        roff(out, c->summary);
        tl_buf_str(out, "\n");
        for (const tl_opt *o = c->opts; o->names; o++) man_option(out, o->names, o->arg, o->help);
        if (c->examples) man_lines(out, c->examples);
    }
    tl_buf_str(out, ".SH EXIT STATUS\n0: done. 1: failed. 2: wrong usage.\n"
                    ".SH ENVIRONMENT\n.TP\n\\fBTINYLLM_CPU\\fR\nhighest CPU level to use, as \\-\\-cpu\n");
}

/* ---- shells ------------------------------------------------------------------------------------------------------ */

static void words(tl_buf *out, const tl_opt *opts, int values, int files) {
    const char *p, *name;
    int n;
    for (const tl_opt *o = opts; o->names; o++) {
        if (values && (!o->arg || wants_file(o) != files)) continue;
        for (p = o->names; next_name(&p, &name, &n);) tl_buf_fmt(out, "%.*s ", n, name);
    }
}

static void command_names(tl_buf *out) {
    for (int i = 0; i < N_COMMANDS; i++) tl_buf_fmt(out, "%s ", commands[i]->name);
}

static void bash(tl_buf *out) {
    tl_buf_str(out, "# bash completion for tinyllm; made by: tinyllm help --bash\n_tinyllm() {\n"
                    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options= values= files=\n"
                    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"");
    command_names(out);
    tl_buf_str(out, "help --help --version\" -- \"$cur\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n        help) options=\"");
    command_names(out);
    tl_buf_str(out, "\" ;;\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        tl_buf_fmt(out, "        %s)\n            options=\"", commands[i]->name);
        words(out, commands[i]->opts, 0, 0);
        tl_buf_str(out, "--help\"\n            values=\" ");
        words(out, commands[i]->opts, 1, 0);
        tl_buf_str(out, "\"\n            files=\" ");
        words(out, commands[i]->opts, 1, 1);
        tl_buf_str(out, "\" ;;\n");
    }
    tl_buf_str(out, "    esac\n"
                    "    [[ $values == *\" $prev \"* ]] && return\n"
                    "    if [[ $cur == -* || ${COMP_WORDS[1]} == help ]] && [[ $files != *\" $prev \"* ]]; then\n"
                    "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
                    "    else\n"
                    "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
                    "    fi\n}\ncomplete -o filenames -o bashdefault -F _tinyllm tinyllm\n");
}

static void zsh_option(tl_buf *out, const tl_opt *o) {
    const char *p = o->names, *name;
    for (int n; next_name(&p, &name, &n);) {
        tl_buf_fmt(out, "            '%.*s%s[", n, name, o->arg ? (name[1] == '-' ? "=" : "+") : "");
        for (const char *c = o->help; *c; c++) {
            if (*c == '\'') tl_buf_str(out, "'\\''");
            else tl_buf_fmt(out, "%s%c", strchr("[]:\\", *c) ? "\\" : "", *c);
        }
        tl_buf_str(out, "]");
        if (o->arg) {
            tl_buf_str(out, ":");
            escaped(out, o->arg, ":\\", "\\");
            tl_buf_str(out, wants_file(o) ? ":_files" : ":");
        }
        tl_buf_str(out, "' \\\n");
    }
}

static void zsh(tl_buf *out) {
    tl_buf_str(out, "#compdef tinyllm\n# made by: tinyllm help --zsh\n_tinyllm() {\n    if (( CURRENT == 2 )); then\n"
                    "        local -a list=(\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        tl_buf_fmt(out, "            '%s:", commands[i]->name);
        escaped(out, commands[i]->summary, "'", "'\\'");
        tl_buf_str(out, "'\n");
    }
    tl_buf_str(out, "            'help:explain a command'\n        )\n        _describe command list\n        return\n    fi\n"
                    "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command in\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        tl_buf_fmt(out, "        %s) _arguments -s \\\n", commands[i]->name);
        for (const tl_opt *o = commands[i]->opts; o->names; o++) zsh_option(out, o);
        tl_buf_str(out, "            '--help[explain the command]' '*:file:_files' ;;\n");
    }
    tl_buf_str(out, "    esac\n}\n_tinyllm \"$@\"\n");
}

static void fish_text(tl_buf *out, const char *text) {
    tl_buf_str(out, " -d '");
    escaped(out, text, "'\\", "\\");
    tl_buf_str(out, "'\n");
}

static void fish(tl_buf *out) {
    tl_buf_str(out, "# fish completion for tinyllm; made by: tinyllm help --fish\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        tl_buf_fmt(out, "complete -c tinyllm -n __fish_use_subcommand -a %s", commands[i]->name);
        fish_text(out, commands[i]->summary);
    }
    for (int i = 0; i < N_COMMANDS; i++)
        for (const tl_opt *o = commands[i]->opts; o->names; o++) {
            const char *p = o->names, *name;
            tl_buf_fmt(out, "complete -c tinyllm -n '__fish_seen_subcommand_from %s'", commands[i]->name);
            for (int n; next_name(&p, &name, &n);) {
                int dashes = name[1] == '-' ? 2 : 1;
                tl_buf_fmt(out, " -%c %.*s", dashes == 2 ? 'l' : n == 2 ? 's' : 'o', n - dashes, name + dashes);
            }
            if (o->arg) tl_buf_str(out, wants_file(o) ? " -r -F" : " -x");
            fish_text(out, o->help);
        }
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const struct { const char *name; void (*print)(tl_buf *out); } forms[] = {
    {"man", man}, {"bash", bash}, {"zsh", zsh}, {"fish", fish},
};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

const char *tl_page_form(int i) { return i >= 0 && i < N_FORMS ? forms[i].name : NULL; }

int tl_page(const char *form, tl_buf *out) {
    for (int i = 0; i < N_FORMS; i++) {
        if (strcmp(forms[i].name, form)) continue;
        forms[i].print(out);
        return 1;
    }
    return 0;
}
