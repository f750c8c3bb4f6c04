/* SPDX-License-Identifier: MIT
 *
 * opts.c: the one parser of command lines. It works on a table (opts.h) and knows no option by name. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/opts.h"

/* Is word[0..n) one of the comma-separated names? */
static int names_hold(const char *names, const char *word, size_t n) {
    while (*names) {
        size_t len = strcspn(names, ",");
        if (len == n && memcmp(names, word, n) == 0) return 1;
        names += len + (names[len] == ',');
    }
    return 0;
}

static const tl_opt *find(const tl_opt *table, const char *word, size_t n) {
    for (const tl_opt *o = table; o->names; o++)
        if (names_hold(o->names, word, n)) return o;
    return NULL;
}

static const tl_opt_other *find_other(const tl_opt_other *others, const char *word, size_t n) {
    for (const tl_opt_other *o = others; o && o->names; o++)
        if (names_hold(o->names, word, n)) return o;
    return NULL;
}

/* "-n5", "-n=5": an option of one letter with a number behind it. *n becomes the letter's length. */
static const tl_opt *find_joined(const tl_opt *table, const char *word, size_t *n) {
    const tl_opt *o = *n > 2 && word[1] != '-' ? find(table, word, 2) : NULL;
    if (!o || (o->kind != TL_OPT_INT && o->kind != TL_OPT_NUM) || !strchr("=-.0123456789", word[2])) return NULL;
    *n = 2;
    return o;
}

/* The option that a word means: by its name, with a number joined, or as another program calls it. */
static const tl_opt *resolve(const tl_opt *table, const tl_opt_other *others, const char *word, size_t *n) {
    const tl_opt *o = find(table, word, *n);
    const tl_opt_other *other = o ? NULL : find_other(others, word, *n);
    if (!o && other && other->same) o = find(table, other->same, strlen(other->same));
    return o || other ? o : find_joined(table, word, n);
}

static int unknown(const tl_opt *table, const tl_opt_other *others, const char *word, size_t n, tl_error *err) {
    const tl_opt_other *other = find_other(others, word, n);
    if (other && other->hint) return tl_fail(err, TL_E_ARGUMENT, "unknown option %.*s: %s", (int)n, word, other->hint);
    enum { MAX_NAMES = 128, MAX_LEN = 64 };
    char text[MAX_NAMES][MAX_LEN], name[MAX_LEN];
    const char *list[MAX_NAMES + 1];
    int count = 0;
    for (const tl_opt *o = table; o->names; o++) {
        for (const char *p = o->names; *p && count < MAX_NAMES;) {
            size_t len = strcspn(p, ",");
            snprintf(text[count], MAX_LEN, "%.*s", (int)len, p);
            /* A single letter is near every other single letter: only long names are worth guessing. */
            if (len > 2) { list[count] = text[count]; count++; }
            p += len + (p[len] == ',');
        }
    }
    list[count] = NULL;
    snprintf(name, sizeof name, "%.*s", (int)n, word);
    const char *near = n > 2 ? tl_nearest(name, list) : NULL;
    if (!near && n > 2 && word[1] != '-') {   /* "-temp" for "--temp" */
        snprintf(name, sizeof name, "-%.*s", (int)n, word);
        near = tl_nearest(name, list);
    }
    if (near) return tl_fail(err, TL_E_ARGUMENT, "unknown option %.*s; did you mean %s?", (int)n, word, near);
    return tl_fail(err, TL_E_ARGUMENT, "unknown option %.*s", (int)n, word);
}

static int out_of_range(const tl_opt *o, const char *value, tl_error *err) {
    if (o->kind == TL_OPT_INT) {
        int any = o->lo == o->hi;
        int64_t lo = any ? INT64_MIN : (int64_t)o->lo, hi = any || o->hi >= 0x1p63 ? INT64_MAX : (int64_t)o->hi;
        return tl_fail(err, TL_E_ARGUMENT, "%s: %s is out of range %lld..%lld", o->names, value, (long long)lo,
                       (long long)hi);
    }
    if (isinf(o->hi))
        return tl_fail(err, TL_E_ARGUMENT, "%s: %s is out of range; it must be at least %.10g", o->names, value, o->lo);
    return tl_fail(err, TL_E_ARGUMENT, "%s: %s is out of range %.10g..%.10g", o->names, value, o->lo, o->hi);
}

static int set_int(const tl_opt *o, void *field, const char *value, tl_error *err) {
    const char *digits = value + (*value == '-' || *value == '+');
    if (*digits == 0 || digits[strspn(digits, "0123456789")] != 0)
        return tl_fail(err, TL_E_ARGUMENT, "%s wants a whole number, not '%s'", o->names, value);
    errno = 0;
    long long v = strtoll(value, NULL, 10);
    if (errno == ERANGE || (o->lo != o->hi && !((double)v >= o->lo && (double)v <= o->hi)))
        return out_of_range(o, value, err);
    *(int64_t *)field = v;
    return TL_OK;
}

static int set_num(const tl_opt *o, void *field, const char *value, tl_error *err) {
    char *end = NULL;
    double v = strtod(value, &end);
    /* The first test keeps out what strtod takes beside decimal numbers: blanks, hexadecimal, inf, nan. */
    if (value[strspn(value, "+-.0123456789eE")] != 0 || end == value || *end || !isfinite(v))
        return tl_fail(err, TL_E_ARGUMENT, "%s wants a number, not '%s'", o->names, value);
    if (o->lo != o->hi && !(v >= o->lo && v <= o->hi)) return out_of_range(o, value, err);
    *(double *)field = v;
    return TL_OK;
}

static int set(const tl_opt *o, void *into, const char *value, tl_error *err) {
    void *field = (char *)into + o->at;
    tl_opt_list *list = field;
    switch (o->kind) {
    case TL_OPT_FLAG: *(int *)field = 1; return TL_OK;
    case TL_OPT_INT: return set_int(o, field, value, err);
    case TL_OPT_NUM: return set_num(o, field, value, err);
    case TL_OPT_STR: *(const char **)field = value; return TL_OK;
    case TL_OPT_LIST: break;
    }
    int max = (int)(sizeof list->v / sizeof list->v[0]);
    if (list->n == max) return tl_fail(err, TL_E_ARGUMENT, "%s may be given at most %d times", o->names, max);
    list->v[list->n++] = value;
    return TL_OK;
}

/* The value of an option that stands in the next word, or NULL: there is none, or it is itself an option. */
static const char *next_value(const tl_opt *table, const tl_opt *o, const char *word) {
    if (!word || strcmp(word, "--") == 0 || find(table, word, strlen(word))) return NULL;
    int number = o->kind == TL_OPT_INT || o->kind == TL_OPT_NUM;
    if (number && word[0] == '-' && !strchr(".0123456789", word[1])) return NULL;
    return word;
}

/* Does another program give by this option what is the first word here? */
static int is_first_word(const tl_opt *table, const tl_opt_other *others, const char *word, size_t n) {
    const tl_opt_other *o = find(table, word, n) ? NULL : find_other(others, word, n);
    return o && o->same && strcmp(o->same, TL_OPT_WORD) == 0;
}

int tl_opts_parse(const tl_opt *table, const tl_opt_other *others, void *into, int argc, char **argv, const char **pos, int max_pos,
                  int *n_pos, tl_error *err) {
    int only_words = 0;
    *n_pos = 0;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (only_words || word[0] != '-' || word[1] == 0) {
            if (*n_pos == max_pos) return tl_fail(err, TL_E_ARGUMENT, "unexpected word '%s'", word);
            pos[(*n_pos)++] = word;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_words = 1;
            continue;
        }
        size_t n = strncmp(word, "--", 2) == 0 ? strcspn(word, "=") : strlen(word);
        if (max_pos && is_first_word(table, others, word, n)) {
            if (*n_pos) return tl_fail(err, TL_E_ARGUMENT, "%.*s: '%s' stands there already", (int)n, word, pos[0]);
            if (!word[n] && i + 1 == argc) return tl_fail(err, TL_E_ARGUMENT, "%s needs a value", word);
            pos[(*n_pos)++] = word[n] ? word + n + 1 : argv[++i];
            continue;
        }
        const tl_opt *o = resolve(table, others, word, &n);
        if (!o) return unknown(table, others, word, n, err);
        const char *value = word[n] == '=' ? word + n + 1 : word[n] ? word + n : NULL;
        if (o->kind == TL_OPT_FLAG) {
            if (value) return tl_fail(err, TL_E_ARGUMENT, "%s takes no value", o->names);
        } else if (!value) {
            value = next_value(table, o, i + 1 < argc ? argv[i + 1] : NULL);
            if (!value) return tl_fail(err, TL_E_ARGUMENT, "%s needs a value: %s", o->names, o->arg);
            i++;
        }
        int rc = set(o, into, value, err);
        if (rc != TL_OK) return rc;
    }
    return TL_OK;
}

/* "-t, --threads N" into text; names without a short form are indented to the long ones. Returns the width. */
static int label(const tl_opt *o, char *text, size_t size) {
    int at = snprintf(text, size, "%s", o->names[1] == '-' ? "    " : "");
    for (const char *p = o->names; *p && at < (int)size; p++)
        at += snprintf(text + at, size - (size_t)at, *p == ',' ? ", " : "%c", *p);
    if (o->arg && at < (int)size) at += snprintf(text + at, size - (size_t)at, " %s", o->arg);
    return at;
}

void tl_opts_help(const tl_opt *table, tl_buf *out) {
    static const tl_opt help = {"-h,--help", NULL, TL_OPT_FLAG, 0, 0, 0, "this text"};
    char text[128];
    int width = label(&help, text, sizeof text);
    for (const tl_opt *o = table; o->names; o++) {
        int w = label(o, text, sizeof text);
        if (w > width) width = w;
    }
    for (const tl_opt *o = table;; o++) {
        const tl_opt *row = o->names ? o : &help;
        label(row, text, sizeof text);
        tl_buf_fmt(out, "  %-*s  %s\n", width, text, row->help);
        if (row == &help) break;
    }
}
