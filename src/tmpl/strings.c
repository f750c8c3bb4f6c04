/* SPDX-License-Identifier: MIT
 *
 * strings.c: what filters and methods do to texts. Safe texts stay safe. */
#include <string.h>
#include "base/utf8.h"
#include "tmpl/filters.h"

static tl_val take(tl_tx *c, size_t mark, tl_val like) {
    tl_val r = tl_x_take(c, mark);
    r.sub = like.sub;
    return r;
}

enum { LOWER, UPPER, CAPITALIZE };

/* sharp s is the one letter in common use whose upper case has two. A final sigma ends a word. */
static tl_val change_case(tl_tx *c, tl_val s, int how) {
    tl_x_work(c, s.n);   /* beside what writing counts: a look into the tables for each */
    size_t mark = tl_x_mark(c);
    int32_t cp, before = 0;
    for (size_t at = 0, n; at < s.n; at += n) {
        n = tl_utf8_next(s.u.s + at, s.n - at, &cp);
        int upper = how == UPPER || (how == CAPITALIZE && at == 0);
        if (cp < 0) {
            tl_x_put_part(c, s, at, at + n);
        } else if (cp == 0xDF && upper) {
            tl_x_puts(c, how == UPPER ? "SS" : "Ss");
        } else if (cp == 0x3A3 && !upper) {
            int32_t after = 0;
            if (at + n < s.n) tl_utf8_next(s.u.s + at + n, s.n - at - n, &after);
            tl_x_put_cp(c, tl_cp_alpha(before) && !tl_cp_alpha(after) ? 0x3C2 : 0x3C3);
        } else {
            tl_x_put_cp(c, upper ? tl_cp_upper(cp) : tl_cp_lower(cp));
        }
        before = cp;
    }
    return take(c, mark, s);
}

tl_val tl_str_lower(tl_tx *c, tl_val s) { return change_case(c, s, LOWER); }
tl_val tl_str_upper(tl_tx *c, tl_val s) { return change_case(c, s, UPPER); }
tl_val tl_str_capitalize(tl_tx *c, tl_val s) { return change_case(c, s, CAPITALIZE); }

static int stripped(tl_tx *c, tl_val chars, tl_val s, size_t at, size_t n, int32_t cp) {
    tl_x_work(c, 2);
    if (chars.kind != TL_STR) return tl_cp_space(cp);
    return tl_str_find(c, chars, tl_str_sub(s, at, at + n), 0) != SIZE_MAX;
}

tl_val tl_str_strip(tl_tx *c, tl_val s, tl_val chars, int sides) {
    if (chars.kind != TL_MISSING && chars.kind != TL_NONE) chars = tl_arg_str(c, chars, "");
    size_t from = 0, to = 0, n;
    int32_t cp;
    tl_x_work(c, s.n / 64);
    while ((sides & TL_STRIP_LEFT) && from < s.n) {
        n = tl_utf8_next(s.u.s + from, s.n - from, &cp);
        if (!stripped(c, chars, s, from, n, cp)) break;
        from += n;
    }
    if (!(sides & TL_STRIP_RIGHT)) return tl_str_sub(s, from, s.n);
    for (to = s.n; to > from; to -= n) {   /* back over one character */
        for (n = 1; n < 4 && n < to - from && ((unsigned char)s.u.s[to - n] & 0xC0) == 0x80; n++) {}
        if (tl_utf8_next(s.u.s + to - n, n, &cp) != n) n = 1;
        if (!stripped(c, chars, s, to - n, n, cp)) break;
    }
    return tl_str_sub(s, from, to);
}

/* Without one of these nothing looks like a control token. White space and words are harmless: a template may make a token
 * of a line break. */
static int may_be_token(tl_val s) {
    static const char marks[] = "<>[]|";
    for (size_t i = 0; i + 1 < sizeof marks; i++)
        if (s.n && memchr(s.u.s, marks[i], s.n)) return 1;
    return 0;
}

static int is_trusted(tl_val s, size_t at, size_t n) {
    return s.trust == tl_trusted || (s.trust && (!n || !memchr(s.trust + at, 0, n)));
}

tl_val tl_str_instead(tl_val s, size_t at, tl_val old, tl_val by) {
    if (may_be_token(old) && !is_trusted(s, at, old.n)) by.trust = NULL;
    return by;
}

static tl_cut *find_cut(tl_tx *c, tl_val sep) {
    tl_cut *cut = c->cuts;
    for (; cut && (cut->at.n != sep.n || memcmp(cut->at.u.s, sep.u.s, sep.n) != 0); cut = cut->next) tl_x_work(c, 1 + sep.n / 64);
    return cut;
}

void tl_str_cut(tl_tx *c, tl_val s, size_t at, tl_val sep) {
    if (!may_be_token(sep) || is_trusted(s, at, sep.n) || find_cut(c, sep)) return;
    tl_cut *cut = tl_x_alloc(c, 1, sizeof *cut);
    *cut = (tl_cut){c->cuts, sep};
    c->cuts = cut;
}

tl_val tl_str_joint(tl_tx *c, tl_val sep) {
    if (sep.n && find_cut(c, sep)) sep.trust = NULL;
    return sep;
}

tl_val tl_str_replace(tl_tx *c, tl_val s, tl_val old, tl_val by, int64_t count) {
    size_t mark = tl_x_mark(c), from = 0, at;
    if (s.sub) by = tl_v_escape(c, by);
    if (old.n == 0) {   /* between all characters */
        for (size_t n; count != 0; count -= count > 0, from += n) {
            int32_t cp;
            tl_x_put_text(c, by);
            if (from >= s.n) break;
            n = tl_utf8_next(s.u.s + from, s.n - from, &cp);
            tl_x_put_part(c, s, from, from + n);
            tl_x_work(c, 1);
        }
    } else {
        for (; count != 0 && (at = tl_str_find(c, s, old, from)) != SIZE_MAX; count -= count > 0) {
            tl_x_put_part(c, s, from, at);
            tl_x_put_text(c, tl_str_instead(s, at, old, by));
            tl_x_work(c, 1);
            from = at + old.n;
        }
    }
    tl_x_put_part(c, s, from, s.n);
    return take(c, mark, s);
}

/* Bytes of the line end at at, 0: none. Python's ends, which are more than \n. */
static size_t line_end(tl_val s, size_t at) {
    const unsigned char *p = (const unsigned char *)s.u.s + at;
    size_t left = s.n - at;
    if (*p == '\r') return left > 1 && p[1] == '\n' ? 2 : 1;
    if ((*p >= '\n' && *p <= '\f') || (*p >= 0x1C && *p <= 0x1E)) return 1;
    if (left > 1 && p[0] == 0xC2 && p[1] == 0x85) return 2;
    return left > 2 && p[0] == 0xE2 && p[1] == 0x80 && (p[2] == 0xA8 || p[2] == 0xA9) ? 3 : 0;
}

tl_val tl_str_lines(tl_tx *c, tl_val s, int keep_ends) {
    tl_val l = tl_v_list(c, TL_LIST, 0);
    size_t from = 0;
    tl_x_work(c, s.n / 64);
    for (size_t at = 0, n; at < s.n; at += n ? n : 1) {
        n = line_end(s, at);
        if (!n) continue;
        tl_x_work(c, 1);
        tl_v_push(c, l, tl_str_sub(s, from, keep_ends ? at + n : at));
        from = at + n;
    }
    if (from < s.n) tl_v_push(c, l, tl_str_sub(s, from, s.n));
    return l;
}

tl_val tl_str_pad(tl_tx *c, tl_val s, int64_t width, tl_val fill, int where) {
    int64_t len = (int64_t)tl_str_len(c, s), pad = width > len ? width - len : 0;
    if (tl_str_len(c, fill) != 1) tl_x_fail(c, "The fill character must be exactly one character long");
    /* str.center puts the odd one to the left if the width is odd */
    int64_t left = where == '<' ? 0 : where == '>' ? pad : pad / 2 + (pad & width & 1);
    if (pad > TL_TMPL_MAX_OUTPUT) tl_x_fail(c, "writes more than %d MB", TL_TMPL_MAX_OUTPUT >> 20);
    size_t mark = tl_x_mark(c);
    tl_x_fill(c, fill, left);
    tl_x_put_text(c, s);
    tl_x_fill(c, fill, pad - left);
    return take(c, mark, s);
}
