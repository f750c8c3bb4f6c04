/* SPDX-License-Identifier: MIT
 *
 * line_draw.c: how the line of line_edit.h looks: a text in rows of a terminal, and the cursor in it. */
#include <string.h>
#include "base/utf8.h"
#include "cmd/line_edit.h"

/* ---- widths ------------------------------------------------------------------------------------------------------- */

typedef struct range { int32_t from, to; } range;

/* From the Unicode Character Database: Mn, Me and Cf of scripts in use; East_Asian_Width W and F. Neighbours are joined over
 * code points that nothing is assigned to. */
static const range zero[] = {
    {0x300, 0x36F}, {0x483, 0x489}, {0x591, 0x5BD}, {0x5BF, 0x5BF}, {0x5C1, 0x5C2}, {0x5C4, 0x5C5}, {0x610, 0x61A},
    {0x64B, 0x65F}, {0x670, 0x670}, {0x6D6, 0x6DC}, {0x6DF, 0x6E4}, {0x6E7, 0x6E8}, {0x6EA, 0x6ED}, {0x900, 0x902},
    {0x93C, 0x93C}, {0x941, 0x948}, {0x94D, 0x94D}, {0x951, 0x957}, {0x9BC, 0x9BC}, {0x9C1, 0x9C4}, {0x9CD, 0x9CD},
    {0xA3C, 0xA3C}, {0xA41, 0xA51}, {0xABC, 0xABC}, {0xAC1, 0xAC8}, {0xACD, 0xACD}, {0xBCD, 0xBCD}, {0xC3E, 0xC40},
    {0xC46, 0xC56}, {0xD41, 0xD44}, {0xD4D, 0xD4D}, {0xE31, 0xE31}, {0xE34, 0xE3A}, {0xE47, 0xE4E}, {0xEB1, 0xEB1},
    {0xEB4, 0xEBC}, {0xEC8, 0xECE}, {0x1AB0, 0x1ACE}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x202A, 0x202E},
    {0x2060, 0x2064}, {0x20D0, 0x20F0}, {0x302A, 0x302D}, {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
    {0xFEFF, 0xFEFF}, {0xE0001, 0xE007F}, {0xE0100, 0xE01EF},
};
static const range wide[] = {
    {0x1100, 0x115F}, {0x231A, 0x231B}, {0x2329, 0x232A}, {0x23E9, 0x23EC}, {0x23F0, 0x23F0}, {0x23F3, 0x23F3},
    {0x25FD, 0x25FE}, {0x2614, 0x2615}, {0x2648, 0x2653}, {0x267F, 0x267F}, {0x2693, 0x2693}, {0x26A1, 0x26A1},
    {0x26AA, 0x26AB}, {0x26BD, 0x26BE}, {0x26C4, 0x26C5}, {0x26CE, 0x26CE}, {0x26D4, 0x26D4}, {0x26EA, 0x26EA},
    {0x26F2, 0x26F3}, {0x26F5, 0x26F5}, {0x26FA, 0x26FA}, {0x26FD, 0x26FD}, {0x2705, 0x2705}, {0x270A, 0x270B},
    {0x2728, 0x2728}, {0x274C, 0x274C}, {0x274E, 0x274E}, {0x2753, 0x2755}, {0x2757, 0x2757}, {0x2795, 0x2797},
    {0x27B0, 0x27B0}, {0x27BF, 0x27BF}, {0x2B1B, 0x2B1C}, {0x2B50, 0x2B50}, {0x2B55, 0x2B55}, {0x2E80, 0x303E},
    {0x3041, 0x33FF}, {0x3400, 0x4DBF}, {0x4E00, 0xA4CF}, {0xA960, 0xA97C}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF},
    {0xFE10, 0xFE19}, {0xFE30, 0xFE6B}, {0xFF01, 0xFF60}, {0xFFE0, 0xFFE6}, {0x16FE0, 0x18CFF}, {0x1AFF0, 0x1B2FB},
    {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A}, {0x1F200, 0x1F320},
    {0x1F32D, 0x1F335}, {0x1F337, 0x1F37C}, {0x1F37E, 0x1F393}, {0x1F3A0, 0x1F3CA}, {0x1F3CF, 0x1F3D3},
    {0x1F3E0, 0x1F3F0}, {0x1F3F4, 0x1F3F4}, {0x1F3F8, 0x1F43E}, {0x1F440, 0x1F440}, {0x1F442, 0x1F4FC},
    {0x1F4FF, 0x1F53D}, {0x1F54B, 0x1F54E}, {0x1F550, 0x1F567}, {0x1F57A, 0x1F57A}, {0x1F595, 0x1F596},
    {0x1F5A4, 0x1F5A4}, {0x1F5FB, 0x1F64F}, {0x1F680, 0x1F6C5}, {0x1F6CC, 0x1F6CC}, {0x1F6D0, 0x1F6D2},
    {0x1F6D5, 0x1F6D7}, {0x1F6DC, 0x1F6DF}, {0x1F6EB, 0x1F6EC}, {0x1F6F4, 0x1F6FC}, {0x1F7E0, 0x1F7F0},
    {0x1F90C, 0x1F93A}, {0x1F93C, 0x1F945}, {0x1F947, 0x1F9FF}, {0x1FA70, 0x1FAF8}, {0x20000, 0x3FFFD},
};

static int holds(const range *r, size_t n, int32_t cp) {
    size_t from = 0;
    while (n > 0) {
        size_t half = n / 2;
        if (cp > r[from + half].to) from += half + 1, n -= half + 1;
        else if (cp >= r[from + half].from) return 1;
        else n = half;
    }
    return 0;
}

int tl_char_width(int32_t cp) {
    if (cp < 0x300) return 1;
    if (holds(zero, sizeof zero / sizeof *zero, cp)) return 0;
    return 1 + holds(wide, sizeof wide / sizeof *wide, cp);
}

/* ---- rows --------------------------------------------------------------------------------------------------------- */

/* Where the next character goes; rows first..last of all go to out, none if out is NULL. */
typedef struct screen {
    int cols, row, col, first, last;
    int at_row, at_col;       /* the cursor's */
    tl_buf *out;
} screen;

static void next_row(screen *s) {
    if (s->out && s->row >= s->first && s->row < s->last) tl_buf_str(s->out, "\r\n");
    s->row++;
    s->col = 0;
}

/* A new row where the width does not fit any more. */
static void make_room(screen *s, int width) {
    if (s->col > 0 && s->col + width > s->cols) next_row(s);
}

static void put(screen *s, const char *p, size_t n, int width) {
    if (width) make_room(s, width);
    if (s->out && s->row >= s->first && s->row <= s->last) tl_buf_add(s->out, p, n);
    s->col += width;
}

/* Controls are shown as ^A, bytes that are no character as ?. */
static void put_char(screen *s, const char *p, size_t n, int32_t cp) {
    if (cp == '\n') next_row(s);
    else if (cp == '\t') put(s, "  ", 2, 2);
    else if (cp < 0 || (cp >= 0x7F && cp < 0xA0)) put(s, "?", 1, 1);
    else if (cp < 0x20) put(s, (char[]){'^', (char)(cp + '@')}, 2, 2);
    else put(s, p, n, tl_char_width(cp));
}

static void put_text(screen *s, const char *p, size_t n, size_t cursor) {
    int32_t cp = 0;
    for (size_t at = 0, len; at <= n; at += len) {
        len = at < n ? tl_utf8_next(p + at, n - at, &cp) : 1;
        if (at == cursor) {   /* stands where the next character will, or on the last place of a full row that ends here */
            if (at == n || cp != '\n') make_room(s, at < n && cp >= 0x300 ? tl_char_width(cp) : 1);
            s->at_row = s->row;
            s->at_col = s->col < s->cols ? s->col : s->cols - 1;
        }
        if (at < n) put_char(s, p + at, len, cp);
    }
}

static void put_line(screen *s, const tl_line_edit *e, const char *prompt) {
    static const char *const searching[] = {"", "(search: ", "(not found: "};
    s->row = s->col = 0;
    if (e->searching) {
        put_text(s, searching[e->searching], strlen(searching[e->searching]), (size_t)-1);
        put_text(s, e->seek.p ? e->seek.p : "", e->seek.n, (size_t)-1);
        prompt = ") ";
    }
    put_text(s, prompt, strlen(prompt), (size_t)-1);
    put_text(s, e->text.p ? e->text.p : "", e->text.n, e->at);
}

void tl_line_draw(tl_line_edit *e, const char *prompt, int cols, int rows, tl_buf *out) {
    screen s = {.cols = cols > 0 ? cols : 80};
    if (rows <= 0) rows = 24;
    if (e->clear) tl_buf_str(out, "\033[H\033[2J");
    else if (e->row > 0) tl_buf_fmt(out, "\033[%dA", e->row);
    tl_buf_str(out, "\r\033[J");
    put_line(&s, e, prompt);   /* to know the rows */
    s.first = s.at_row >= rows ? s.at_row - rows + 1 : 0;
    s.last = s.row < s.first + rows - 1 ? s.row : s.first + rows - 1;
    s.out = out;
    put_line(&s, e, prompt);
    if (s.last > s.at_row) tl_buf_fmt(out, "\033[%dA", s.last - s.at_row);
    tl_buf_str(out, "\r");
    if (s.at_col > 0) tl_buf_fmt(out, "\033[%dC", s.at_col);
    e->row = s.at_row - s.first;
    e->clear = 0;
}
