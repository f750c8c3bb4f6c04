/* SPDX-License-Identifier: MIT
 *
 * pretok.c: the steps named in pretok.def. Each is a scanner written to cut exactly as the regular expression published
 * with the model does (quoted above it; alternatives are tried from left to right, each as long as it can be); what the
 * expression leaves out is a part too. Steps look forward only, so the next part depends on nothing before it, and they
 * read a character a few times at most, whatever the text holds.
 * \p{L} letters, \p{M} marks, \p{N} numbers, \p{P} punctuation of any script, \s the property White_Space. Bytes that
 * are not UTF-8 are in none of these classes. */
#include <limits.h>
#include <string.h>
#include "base/utf8.h"
#include "text/pretok.h"
#include "text/unitab.h"

/* Sets of classes; END is the class of what lies behind the last character. */
enum {
    END = 15,
    L = 1 << TL_UNI_UPPER | 1 << TL_UNI_LOWER | 1 << TL_UNI_LETTER,
    N = 1 << TL_UNI_NUMBER,
    M = 1 << TL_UNI_MARK,
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

static int is_newline(int32_t c) { return c == '\n' || c == '\r'; }

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

/* \s+(?!\S)|\s+ where [p, end) starts with white space: the run leaves its last character to what follows. */
static size_t space_run(const char *p, const char *end) {
    const char *q = p, *before = p, *next;
    for (; set_at(q, end, &next) & S; q = next) before = q;
    return (size_t)(q == end || before == p ? q - p : before - p);
}

/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
static size_t gpt2(const char *p, const char *end) {
    size_t n = contraction(p, end, 0);
    if (n) return n;
    const char *next;
    int set = set_at(p + (*p == ' '), end, &next);
    if (set & L) return (size_t)(skip_all(next, end, L) - p);
    if (set & N) return (size_t)(skip_all(next, end, N) - p);
    if (set & OTHER) return (size_t)(skip_all(next, end, OTHER) - p);
    return space_run(p, end);
}

/* ---- llama3 and its relatives: words with the character before them ---------------------------------------------- */

/* [^\r\n\p{L}\p{N}], the character that a word may begin with; c is its first byte. */
static int leads(int set, char c) { return !(set & (L | N)) && !is_newline(c); }

/* \p{N}{1,max}| ?[other]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ with [\r\n/] for the first [\r\n] if slash is set */
static size_t llama3_tail(const char *p, const char *end, int max, int other, int slash) {
    const char *next, *q;
    int set = set_at(p, end, &next);
    if (set & N) return (size_t)(skip(p, end, N, max) - p);
    if (*p == ' ') set = set_at(next, end, &next);
    if (set & other) {
        q = skip_all(next, end, other);
        while (q < end && (is_newline(*q) || (slash && *q == '/'))) q++;
        return (size_t)(q - p);
    }
    const char *line = p;   /* behind the last line break of the run of white space */
    for (q = p; set_at(q, end, &next) & S; q = next)
        if (is_newline(*q)) line = next;
    return line > p ? (size_t)(line - p) : space_run(p, end);
}

/* (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[word]+| and the tail, where other is [^\s\p{N}word] */
static size_t llama3_rule(const char *p, const char *end, int max, int word) {
    size_t n = contraction(p, end, 1);
    if (n) return n;
    const char *next, *q;
    int set = set_at(p, end, &next);
    if (set & word || (leads(set, *p) && (set_at(next, end, &q) & word)))
        return (size_t)(skip_all(next, end, word) - p);
    return llama3_tail(p, end, max, OTHER & ~word, 0);
}

static size_t llama3(const char *p, const char *end) { return llama3_rule(p, end, 3, L); }
static size_t qwen2(const char *p, const char *end) { return llama3_rule(p, end, 1, L); }
static size_t qwen35(const char *p, const char *end) { return llama3_rule(p, end, 1, L | M); }

/* [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and [\p{Ll}\p{Lm}\p{Lo}\p{M}]: what has no case is in both. */
enum { CASELESS = 1 << TL_UNI_LETTER | M, UPPER = 1 << TL_UNI_UPPER | CASELESS, LOWER = 1 << TL_UNI_LOWER | CASELESS };

/* The end of [UPPER]*[LOWER]+ at p, or NULL. The first run gives back what the second needs: all behind the last
 * character that is in both. */
static const char *cased_word(const char *p, const char *end) {
    const char *last = NULL, *next;
    int set;
    for (; (set = set_at(p, end, &next)) & UPPER; p = next)
        if (set & LOWER) last = next;
    return set & LOWER ? skip_all(p, end, LOWER) : last;
}

/* [^\r\n\p{L}\p{N}]?[UPPER]*[LOWER]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[UPPER]+[LOWER]*(?i:...)?
 * |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
 * Where the first alternative fails, the second can only be capitals. */
static size_t gpt4o(const char *p, const char *end) {
    const char *word = p, *next, *q = NULL;
    if (leads(set_at(p, end, &next), *p)) q = cased_word(word = next, end);
    if (!q) q = cased_word(p, end);
    if (!q && (q = skip_all(word, end, UPPER)) == word) return llama3_tail(p, end, 3, OTHER, 1);
    return (size_t)(q - p) + contraction(q, end, 1);
}

/* ---- steps of sequences: one set of characters ------------------------------------------------------------------- */

typedef int set_test(int32_t cp);   /* 1 or 0; cp is -1 for bytes that are no character */

static int test_at(set_test *in, const char *p, const char *end, const char **next) {
    int32_t cp;
    *next = p + tl_utf8_next(p, (size_t)(end - p), &cp);
    return in(cp);
}

/* [set]{1,max} */
static size_t runs(const char *p, const char *end, set_test *in, int max) {
    const char *q, *next;
    int first = test_at(in, p, end, &q);
    for (; q < end && !(first && --max <= 0) && test_at(in, q, end, &next) == first; q = next) {}
    return (size_t)(q - p);
}

/* \s?[set]+ */
static size_t spaced_runs(const char *p, const char *end, set_test *in) {
    const char *start = p, *q, *next;   /* start: of the run, if one begins at q */
    for (q = p; q < end && !test_at(in, q, end, &next); q = next)
        start = set_at(q, end, &next) & S ? q : next;
    if (q == end) return (size_t)(end - p);
    if (start > p) return (size_t)(start - p);
    while (q < end && test_at(in, q, end, &next)) q = next;
    return (size_t)(q - p);
}

static int is_in(int32_t cp, int set) { return (1 << class_of(cp) & set) != 0; }
static int is_letter(int32_t cp) { return is_in(cp, L); }
static int is_number(int32_t cp) { return is_in(cp, N); }
static int is_punct(int32_t cp) { return is_in(cp, 1 << TL_UNI_PUNCT); }
static int is_ascii_symbol(int32_t cp) { return cp < 0x80 && is_in(cp, 1 << TL_UNI_SYMBOL); }
static int is_falcon_punct(int32_t cp) { return is_punct(cp) || is_ascii_symbol(cp); }
static int is_ideograph(int32_t cp) { return (cp >= 0x800 && cp <= 0x9FA5) || (cp >= 0xAC00 && cp <= 0xD7FF); }

/* [\r\n] */
static size_t newlines(const char *p, const char *end) { return runs(p, end, is_newline, 1); }

/* \p{N} */
static size_t numbers(const char *p, const char *end) { return runs(p, end, is_number, 1); }

/* \s?\p{L}+ */
static size_t letters(const char *p, const char *end) { return spaced_runs(p, end, is_letter); }

/* \s?\p{P}+ */
static size_t punct(const char *p, const char *end) { return spaced_runs(p, end, is_punct); }

/* [一-龥ࠀ-一가-퟿]+ (U+0800 to U+9FA5 and U+AC00 to U+D7FF, which holds much besides ideographs) */
static size_t ideographs(const char *p, const char *end) { return runs(p, end, is_ideograph, INT_MAX); }

/* \s+$ */
static size_t last_spaces(const char *p, const char *end) {
    const char *from = p, *next;   /* of the white space that nothing has followed so far */
    for (const char *q = p; q < end; q = next)
        if (!(set_at(q, end, &next) & S)) from = next;
    return (size_t)(from > p && from < end ? from - p : end - p);
}

/* ---- deepseek-llm: sets written as ranges ------------------------------------------------------------------------ */

typedef struct range { int32_t from, to; } range;

static int in_ranges(const range *r, size_t n, int32_t cp) {
    size_t low = 0;
    while (low < n) {
        size_t mid = low + (n - low) / 2;
        if (cp > r[mid].to) low = mid + 1;
        else if (cp < r[mid].from) n = mid;
        else return 1;
    }
    return 0;
}

/* Most letters that have a case, not all. */
static int is_llm_letter(int32_t cp) {
    static const range r[] = {
        {0x41, 0x5A}, {0x61, 0x7A}, {0xB5, 0xB5}, {0xC0, 0xD6}, {0xD8, 0xF6}, {0xF8, 0x1BA}, {0x1BC, 0x1BF},
        {0x1C4, 0x293}, {0x295, 0x2AF}, {0x370, 0x373}, {0x376, 0x376}, {0x377, 0x377}, {0x37B, 0x37D}, {0x37F, 0x37F},
        {0x386, 0x386}, {0x388, 0x38A}, {0x38C, 0x38C}, {0x38E, 0x3A1}, {0x3A3, 0x3F5}, {0x3F7, 0x481}, {0x48A, 0x52F},
        {0x531, 0x556}, {0x10A0, 0x10C5}, {0x13A0, 0x13F5}, {0x13F8, 0x13FD}, {0x1C90, 0x1CBA}, {0x1CBD, 0x1CBF},
        {0x1D00, 0x1D2B}, {0x1D6B, 0x1D77}, {0x1D79, 0x1D9A}, {0x1E00, 0x1F15}, {0x1F18, 0x1F1D}, {0x1F20, 0x1F45},
        {0x1F48, 0x1F4D}, {0x1F50, 0x1F57}, {0x1F59, 0x1F59}, {0x1F5B, 0x1F5B}, {0x1F5D, 0x1F5D}, {0x1F5F, 0x1F7D},
        {0x1F80, 0x1FB4}, {0x1FB6, 0x1FBC}, {0x1FBE, 0x1FBE}, {0x1FC2, 0x1FC4}, {0x1FC6, 0x1FCC}, {0x1FD0, 0x1FD3},
        {0x1FD6, 0x1FDB}, {0x1FE0, 0x1FEC}, {0x1FF2, 0x1FF4}, {0x1FF6, 0x1FFC}, {0x2102, 0x2102}, {0x2107, 0x2107},
        {0x210A, 0x2113}, {0x2115, 0x2115}, {0x2119, 0x211D}, {0x2124, 0x2124}, {0x2126, 0x2126}, {0x2128, 0x2128},
        {0x212A, 0x212D}, {0x212F, 0x2134}, {0x2139, 0x2139}, {0x213C, 0x213F}, {0x2145, 0x2149}, {0x214E, 0x214E},
        {0x2183, 0x2183}, {0x2184, 0x2184}, {0x2C00, 0x2C7B}, {0x2C7E, 0x2CE4}, {0x2CEB, 0x2CEE}, {0x2CF2, 0x2CF2},
        {0x2CF3, 0x2CF3}, {0xA640, 0xA66D}, {0xA680, 0xA69B}, {0xA722, 0xA76F}, {0xA771, 0xA787}, {0xA78B, 0xA78E},
        {0xAB70, 0xABBF}, {0xFB00, 0xFB06}, {0xFB13, 0xFB17}, {0xFF21, 0xFF3A}, {0xFF41, 0xFF5A}, {0x10400, 0x1044F},
        {0x104B0, 0x104D3}, {0x104D8, 0x104FB}, {0x10C80, 0x10CB2}, {0x10CC0, 0x10CF2}, {0x118A0, 0x118DF},
        {0x1E900, 0x1E943},
    };
    return in_ranges(r, sizeof r / sizeof r[0], cp);
}

/* !-/ :-~ ‘-‟ U+3000-。 ！-／ ：-～ (letters of ASCII, and wide ones, are among them) */
static int is_llm_punct(int32_t cp) {
    static const range r[] = {{0x21, 0x2F},     {0x3A, 0x7E},     {0x2018, 0x201F},
                              {0x3000, 0x3002}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF5E}};
    return in_ranges(r, sizeof r / sizeof r[0], cp);
}

/* \s?[ranges]+ */
static size_t llm_letters(const char *p, const char *end) { return spaced_runs(p, end, is_llm_letter); }
static size_t llm_punct(const char *p, const char *end) { return spaced_runs(p, end, is_llm_punct); }

/* ---- falcon ------------------------------------------------------------------------------------------------------ */

/* [\p{P}$+<=>^`|~]+ */
static size_t falcon_punct(const char *p, const char *end) { return runs(p, end, is_falcon_punct, INT_MAX); }

/* \p{N}+ after every byte has become the character that spells it in the vocabulary: besides the digits of ASCII, the
 * bytes spelled ² ³ ¹ ¼ ½ ¾ are numbers then, from the middle of whatever character. */
static int spells_number(char c) {
    int b = (unsigned char)c;
    return (b >= '0' && b <= '9') || b == 0xB2 || b == 0xB3 || b == 0xB9 || (b >= 0xBC && b <= 0xBE);
}

static size_t falcon_numbers(const char *p, const char *end) {
    const char *q = p + 1;
    while (q < end && spells_number(*q) == spells_number(*p)) q++;
    return (size_t)(q - p);
}

/* [0-9][0-9][0-9] */
static size_t falcon_digits(const char *p, const char *end) {
    int n = 0;   /* digits in a row before q */
    for (const char *q = p; q < end; q++) {
        n = *q >= '0' && *q <= '9' ? n + 1 : 0;
        if (n == 3) return (size_t)(q - 2 > p ? q - 2 - p : 3);
    }
    return (size_t)(end - p);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const tl_pretok rows[] = {
#define PRETOK(name, flags, ...) {name, flags, {__VA_ARGS__}},
#include "text/pretok.def"
#undef PRETOK
};

const tl_pretok *tl_pretok_find(tl_slice name) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (tl_slice_is(name, rows[i].name)) return &rows[i];
    return NULL;
}

const tl_pretok *tl_pretok_fallback(void) { return &rows[0]; }

tl_cut tl_pretok_begin(const tl_pretok *pre, const char *text, size_t n) {
    tl_cut c = {.step = pre->step, .p = text};
    c.end[0] = text + n;
    for (; pre->step[c.n]; c.n++) c.end[c.n + 1] = text;
    return c;
}

tl_slice tl_pretok_next(tl_cut *c) {
    const char *start = c->p;
    int k = c->n;   /* the last step whose part is not used up */
    while (k > 0 && start == c->end[k]) k--;
    if (start == c->end[k]) return (tl_slice){start, 0};
    for (; k < c->n; k++) c->end[k + 1] = start + c->step[k](start, c->end[k]);
    c->p = c->end[k];
    return (tl_slice){start, (size_t)(c->p - start)};
}
