/* SPDX-License-Identifier: MIT
 *
 * pretok.c: the splitters named in pretok.def. Each is a scanner written to cut exactly as the regular expression
 * published with the model does (quoted above it; alternatives are tried from left to right, each as long as it can
 * be). They look forward only, so the next piece depends on nothing before it.
 * \p{L} letters, \p{N} numbers of any script, \s the property White_Space. Bytes that are not UTF-8 are in none of
 * these classes. */
#include <string.h>
#include "base/utf8.h"
#include "text/pretok.h"
#include "text/unitab.h"

/* Sets of classes; END is the class of what lies behind the last character. */
enum {
    END = 15,
    L = 1 << TL_UNI_UPPER | 1 << TL_UNI_LOWER | 1 << TL_UNI_LETTER,
    N = 1 << TL_UNI_NUMBER,
    S = 1 << TL_UNI_SPACE,
    E = 1 << END,
    OTHER = ~(L | N | S | E)
};

static inline unsigned class_of(int32_t cp) {
    if (cp < 0 || cp >> TL_UNI_SHIFT >= TL_UNI_N_INDEX) return TL_UNI_OTHER;
    unsigned at = (unsigned)cp & ((1u << TL_UNI_SHIFT) - 1);
    unsigned two = tl_uni_block[tl_uni_index[cp >> TL_UNI_SHIFT]][at >> 1];
    return at & 1 ? two >> 4 : two & 15;
}

/* The set that holds the character at p; *next is behind it. */
static inline int set_at(const char *p, const char *end, const char **next) {
    if (p == end) {
        *next = end;
        return E;
    }
    int32_t cp;
    *next = p + tl_utf8_next(p, (size_t)(end - p), &cp);
    return 1 << class_of(cp);
}

/* Behind the run of characters of a set that starts at p; at most max of them. */
static const char *skip(const char *p, const char *end, int set, int max) {
    const char *next;
    while (max-- > 0 && (set_at(p, end, &next) & set)) p = next;
    return p;
}

static const char *skip_all(const char *p, const char *end, int set) {
    const char *next;
    while (set_at(p, end, &next) & set) p = next;
    return p;
}

static int is_newline(char c) { return c == '\n' || c == '\r'; }

/* 's|'t|'re|'ve|'m|'ll|'d at p: its length or 0. With any_case also capitals and U+017F, the long s, which Unicode
 * folds to s. */
static size_t contraction(const char *p, const char *end, int any_case) {
    size_t n = (size_t)(end - p);
    if (n < 2 || *p != '\'') return 0;
    if (any_case && n >= 3 && memcmp(p + 1, "\xC5\xBF", 2) == 0) return 3;
    char fold = any_case ? 0x20 : 0, a = (char)(p[1] | fold), b = n > 2 ? (char)(p[2] | fold) : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return 3;
    return 0;
}

/* \s+(?!\S)|\s+ where [p, end) starts with white space: the run leaves its last character to what follows, unless it
 * is the only one or a character of the set last follows. */
static size_t space_run(const char *p, const char *end, int last) {
    const char *q = p, *before = p, *next;
    int set;
    while ((set = set_at(q, end, &next)) & S) {
        before = q;
        q = next;
    }
    return (size_t)((set & last) || before == p ? q - p : before - p);
}

/* What gpt2 and digits share; numbers are for the caller if last holds N. */
static size_t gpt2_rule(const char *p, const char *end, int last) {
    size_t n = contraction(p, end, 0);
    if (n) return n;
    const char *word = p + (*p == ' '), *next;
    int set = set_at(word, end, &next);
    if (set & L) return (size_t)(skip_all(next, end, L) - p);
    if (set & N & ~last) return (size_t)(skip_all(next, end, N) - p);
    if (set & OTHER) return (size_t)(skip_all(next, end, OTHER) - p);
    return space_run(p, end, last);
}

/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
static size_t gpt2(const char *p, const char *end) { return gpt2_rule(p, end, E); }

/* Every number character is a piece; what lies between them is cut as by gpt2, each part a text of its own. */
static size_t digits(const char *p, const char *end) {
    const char *next;
    if (set_at(p, end, &next) & N) return (size_t)(next - p);
    return gpt2_rule(p, end, E | N);
}

/* (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,max}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+
 * |\s+(?!\S)|\s+ */
static size_t llama3_rule(const char *p, const char *end, int max) {
    size_t n = contraction(p, end, 1);
    if (n) return n;
    const char *next, *q;
    int set = set_at(p, end, &next);
    if (set & N) return (size_t)(skip(p, end, N, max) - p);
    if (set & L || (!is_newline(*p) && (set_at(next, end, &q) & L))) return (size_t)(skip_all(next, end, L) - p);
    if (*p == ' ') set = set_at(next, end, &next);
    if (set & OTHER) {
        q = skip_all(next, end, OTHER);
        while (q < end && is_newline(*q)) q++;
        return (size_t)(q - p);
    }
    const char *line = p;   /* behind the last line break of the run of white space */
    for (q = p; set_at(q, end, &next) & S; q = next)
        if (is_newline(*q)) line = next;
    return line > p ? (size_t)(line - p) : space_run(p, end, E);
}

static size_t llama3(const char *p, const char *end) { return llama3_rule(p, end, 3); }

static size_t qwen2(const char *p, const char *end) { return llama3_rule(p, end, 1); }

static const tl_pretok rows[] = {
#define PRETOK(name, split, flags) {name, split, flags},
#include "text/pretok.def"
#undef PRETOK
};

const tl_pretok *tl_pretok_find(tl_slice name) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (tl_slice_is(name, rows[i].name)) return &rows[i];
    return NULL;
}

const tl_pretok *tl_pretok_fallback(void) { return &rows[0]; }
