/* SPDX-License-Identifier: MIT
 *
 * unicode.c: properties of code points that methods of strings ask for. */
#include "tmpl/casetab.h"
#include "tmpl/value.h"

static int32_t map(const tl_case_row *rows, size_t n, int32_t cp) {
    size_t lo = 0, hi = n;   /* the last row that begins at or before cp */
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (rows[mid].first <= cp) lo = mid + 1;
        else hi = mid;
    }
    if (lo == 0) return cp;
    const tl_case_row *r = &rows[lo - 1];
    return cp <= r->last && (cp - r->first) % r->step == 0 ? cp + r->delta : cp;
}

static int within(const tl_cp_range *rows, size_t n, int32_t cp) {
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (rows[mid].first <= cp) lo = mid + 1;
        else hi = mid;
    }
    return lo > 0 && cp <= rows[lo - 1].last;
}

#define ROWS(table) table, sizeof table / sizeof table[0]

int32_t tl_cp_upper(int32_t cp) {
    if (cp < 0x80) return cp >= 'a' && cp <= 'z' ? cp - 32 : cp;
    return map(ROWS(tl_to_upper), cp);
}

int32_t tl_cp_lower(int32_t cp) {
    if (cp < 0x80) return cp >= 'A' && cp <= 'Z' ? cp + 32 : cp;
    return map(ROWS(tl_to_lower), cp);
}

int tl_cp_space(int32_t cp) {
    return (cp >= 9 && cp <= 13) || (cp >= 0x1C && cp <= 0x20) || cp == 0x85 || cp == 0xA0 || cp == 0x1680 ||
           (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 || cp == 0x2029 || cp == 0x202F || cp == 0x205F || cp == 0x3000;
}

int tl_cp_printable(int32_t cp) {
    if (cp < 0x7F) return cp >= 0x20;
    if (cp > 0x1FFFF) return cp < 0x31350 || (cp >= 0xE0100 && cp <= 0xE01EF);
    return !within(ROWS(tl_not_printable), cp);
}

int tl_cp_alpha(int32_t cp) {
    if (cp < 0x80) return (cp | 32) >= 'a' && (cp | 32) <= 'z';
    return cp > 0x1FFFF ? cp < 0x31350 : within(ROWS(tl_alpha), cp);
}

int tl_cp_digit(int32_t cp) { return cp >= '0' && cp <= '9'; }
