/* SPDX-License-Identifier: MIT
 *
 * text.c: small functions on text: slices, UTF-8 validity, the nearest of several names. */
#include <ctype.h>
#include <string.h>
#include "base/base.h"
#include "base/text.h"

int tl_slice_is(tl_slice s, const char *text) {
    size_t n = strlen(text);
    return s.n == n && (n == 0 || memcmp(s.p, text, n) == 0);
}

const char *tl_scaled_text(char buf[32], double v, double step, const char *const *units) {
    int u = 0;
    while (v >= step && units[u + 1]) v /= step, u++;
    snprintf(buf, 32, u ? "%.2f %s" : "%.0f %s", v, units[u]);
    return buf;
}

const char *tl_bytes_text(char buf[32], double bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", NULL};
    return tl_scaled_text(buf, bytes, 1024, units);
}

/* Well-formed byte sequences, Unicode standard table 3-7: only the second byte's range depends on the first. */
int tl_utf8_look(const char *text, size_t n) {
    const unsigned char *p = (const unsigned char *)text;
    unsigned char lo = 0x80, hi = 0xBF;
    int len;
    if (p[0] < 0x80) return 1;
    if (p[0] < 0xC2 || p[0] > 0xF4) return -1;
    if (p[0] < 0xE0) len = 2;
    else if (p[0] < 0xF0) len = 3;
    else len = 4;
    if (p[0] == 0xE0) lo = 0xA0;
    else if (p[0] == 0xED) hi = 0x9F;
    else if (p[0] == 0xF0) lo = 0x90;
    else if (p[0] == 0xF4) hi = 0x8F;
    for (int i = 1; i < len; i++) {
        if ((size_t)i >= n || p[i] < lo || p[i] > hi) return -i;
        lo = 0x80;
        hi = 0xBF;
    }
    return len;
}

enum { NAME_MAX_LEN = 63 };

/* Edits that turn a into b: insert, delete, replace, swap neighbours (optimal string alignment). Case is ignored. */
static int edit_distance(const char *a, int na, const char *b, int nb) {
    int rows[3][NAME_MAX_LEN + 1];
    int *before = rows[0], *prev = rows[1], *cur = rows[2];
    for (int j = 0; j <= nb; j++) prev[j] = before[j] = j;
    for (int i = 1; i <= na; i++) {
        int ca = tolower((unsigned char)a[i - 1]);
        cur[0] = i;
        for (int j = 1; j <= nb; j++) {
            int cb = tolower((unsigned char)b[j - 1]);
            int best = prev[j - 1] + (ca != cb);
            if (prev[j] + 1 < best) best = prev[j] + 1;
            if (cur[j - 1] + 1 < best) best = cur[j - 1] + 1;
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) && tolower((unsigned char)a[i - 2]) == cb &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            cur[j] = best;
        }
        int *t = before;
        before = prev;
        prev = cur;
        cur = t;
    }
    return prev[nb];
}

const char *tl_nearest(const char *name, const char *const *list) {
    size_t n = strlen(name);
    if (n == 0 || n > NAME_MAX_LEN) return NULL;
    const char *best = NULL;
    int best_d = (int)(n + 1) / 3 + 1;   /* one edit in short names, more in long ones */
    for (; *list; list++) {
        size_t m = strlen(*list);
        if (m > NAME_MAX_LEN) continue;
        int d = edit_distance(name, (int)n, *list, (int)m);
        if (n >= 3 && m > n && strncmp(name, *list, n) == 0) d = 1;   /* an abbreviation */
        if (d < best_d) {
            best = *list;
            best_d = d;
        }
    }
    return best;
}
