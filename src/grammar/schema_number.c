/* SPDX-License-Identifier: MIT
 *
 * schema_number.c: numbers of a schema. They are written without exponents and with at most 15 digits, so that every
 * reader that takes them for float64 keeps their order; with bounds or multipleOf, they are whole numbers of steps of
 * 10^-parts, and a range becomes a tree over digits. */
#include <string.h>
#include "grammar/schema.h"

enum { DIGITS = 15, KEPT = 40, MOST_REST = 128 };

/* 0.d[0]d[1]... * 10^exp; no digits: 0. More than KEPT digits are cut. */
typedef struct decimal { int negative, n, cut; int64_t exp; char d[KEPT]; } decimal;

static decimal decimal_of(tl_slice t) {
    decimal v = {.negative = t.n && t.p[0] == '-'};
    int64_t written = 0, before = -1;
    size_t i = (size_t)v.negative;
    for (; i < t.n && (t.p[i] | 32) != 'e'; i++) {
        if (t.p[i] == '.') {
            before = written;
            continue;
        }
        written++;
        if (!v.n && t.p[i] == '0') v.exp--;   /* leading zeros */
        else if (v.n < KEPT) v.d[v.n++] = (char)(t.p[i] - '0');
        else v.cut |= t.p[i] != '0';
    }
    v.exp += before < 0 ? written : before;
    int64_t e = 0;
    int minus = ++i < t.n && t.p[i] == '-';
    for (i += i < t.n && (t.p[i] == '-' || t.p[i] == '+'); i < t.n && e < 1000000000; i++) e = e * 10 + (t.p[i] - '0');
    v.exp += minus ? -e : e;
    while (v.n && !v.d[v.n - 1]) v.n--;
    if (!v.n) v.negative = 0, v.exp = 0;
    return v;
}

int tl_number_whole(tl_slice text) {
    decimal v = decimal_of(text);
    return v.exp >= v.n && !v.cut;
}

static int compare(const decimal *a, const decimal *b) {
    if (a->negative != b->negative) return a->negative ? -1 : 1;
    int sign = a->negative ? -1 : 1;
    if (!a->n || !b->n) return a->n ? sign : b->n ? -sign : 0;
    if (a->exp != b->exp) return a->exp < b->exp ? -sign : sign;
    for (int i = 0; i < a->n || i < b->n; i++) {
        int x = i < a->n ? a->d[i] : 0, y = i < b->n ? b->d[i] : 0;
        if (x != y) return x < y ? -sign : sign;
    }
    return 0;
}

int tl_number_compare(tl_slice a, tl_slice b) {
    decimal x = decimal_of(a), y = decimal_of(b);
    return compare(&x, &y);
}

/* ---- steps of 10^-parts ---- */

#define MOST ((int64_t)1000000000000000)   /* 10^DIGITS: no number has as many steps */

static int64_t power(int n) {
    int64_t v = 1;
    while (n-- > 0) v *= 10;
    return v;
}

/* v in steps, rounded towards up (1) or down (0), at most MOST; *exact is cleared where it was rounded. */
static int64_t steps(const decimal *v, int parts, int up, int *exact) {
    int64_t whole = v->exp + parts, n = 0;   /* digits before the point */
    int rest = v->cut;
    if (whole > DIGITS + 1 && v->n) n = MOST;
    else
        for (int i = 0; i < v->n || i < whole; i++) {
            int d = i < v->n ? v->d[i] : 0;
            if (i < whole) n = n < MOST ? n * 10 + d : n;
            else rest |= d != 0;
        }
    if (rest) *exact = 0;
    if (n > MOST) n = MOST;
    if (v->negative) return rest && !up ? -n - 1 : -n;
    return rest && up ? n + 1 : n;
}

/* What the bounds and multipleOf of a goal ask for: steps lo to hi, of which each is a multiple of every. */
typedef struct numbers { int parts, bounded; int64_t lo, hi, every; } numbers;

/* Digits behind the point, as far as they count. */
static int parts_of(const decimal *v) { return v->exp >= v->n ? 0 : v->n - v->exp > DIGITS ? DIGITS + 1 : (int)(v->n - v->exp); }

void tl_number_check(tl_schema *s, int node) {
    decimal v = decimal_of(s->node[node].text);
    if (!tl_slice_is(s->node[node].key, "multipleOf")) {
        int64_t before = v.exp > 0 ? v.exp : 0;
        int parts = parts_of(&v);
        if (v.cut || (parts && parts + before > DIGITS)) tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm cannot enforce more than %d digits", DIGITS);
        return;
    }
    int exact = 1, parts = parts_of(&v);
    if (v.negative || !v.n) tl_lang_fail(s->l, TL_E_FORMAT, "expected a number above 0");
    if (parts > 6) tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm cannot enforce multiples of this number");
    int64_t every = steps(&v, parts, 0, &exact), five = 1;
    for (int i = 0; i < parts; i++) five *= 5;
    if (every % five) tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm cannot enforce multiples of a fraction that float64 rounds");
    if (!parts)
        while (every % 10 == 0) every /= 10;
    if (every > MOST_REST) tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm can enforce multiples of numbers up to %d, and of these times powers of ten", MOST_REST);
}

static int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }

static int keyword(const tl_schema *s, const tl_goal *g, int i, const char *name) { return tl_schema_get(s, g->item[i].node, name); }

static const char *const bounds[] = {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"};

/* How many digits behind the point all numbers of the goal have room for. */
static int choose_parts(const tl_schema *s, const tl_goal *g, int whole, int *exact) {
    int parts = 0, before = 0, multiple = -1;
    for (int i = 0; i < g->n; i++) {
        for (int b = 0; b < 5; b++) {
            int node = keyword(s, g, i, b < 4 ? bounds[b] : "multipleOf");
            if (node < 0) continue;
            decimal v = decimal_of(s->node[node].text);
            int p = parts_of(&v);
            if (p > parts) parts = p;
            if (b == 4 && (multiple < 0 || p < multiple)) multiple = p;
            if (b < 4 && v.exp > before) before = v.exp > DIGITS ? DIGITS : (int)v.exp;
        }
    }
    *exact = before + parts <= DIGITS;
    if (whole || multiple == 0) return 0;
    if (multiple > 0) return multiple;
    int spare = DIGITS - before < 6 ? DIGITS - before : 6;
    return parts > spare ? parts : spare;
}

/* 0 if no number is left. */
static int read_numbers(tl_schema *s, const tl_goal *g, int whole, numbers *r) {
    int fits, exact = 1;
    r->parts = choose_parts(s, g, whole, &fits);
    r->lo = 1 - MOST, r->hi = MOST - 1, r->every = 1, r->bounded = 0;
    if (!fits && r->parts) {
        tl_schema_at(s, g->item[0].node, NULL);
        tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm cannot enforce bounds that need more than %d digits together", DIGITS);
    }
    for (int i = 0; i < g->n; i++) {
        for (int b = 0; b < 4; b++) {
            int node = keyword(s, g, i, bounds[b]);
            if (node < 0) continue;
            decimal v = decimal_of(s->node[node].text);
            int same = 1;
            int64_t n = steps(&v, r->parts, b < 2, &same);
            if (b & 1 && same) n += b < 2 ? 1 : -1;
            if (b < 2 && n > r->lo) r->lo = n;
            if (b >= 2 && n < r->hi) r->hi = n;
            r->bounded = 1;
        }
        int node = keyword(s, g, i, "multipleOf");
        if (node < 0) continue;
        decimal v = decimal_of(s->node[node].text);
        int64_t m = steps(&v, r->parts, 0, &exact);
        if (!exact || m >= MOST) {   /* 0.5 and 3: all multiples of 3 are multiples of 0.5 only if a step fits both */
            tl_schema_at(s, node, NULL);
            tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm cannot enforce this together with another multipleOf");
        }
        int64_t common = gcd(r->every, m);
        if (m / common > MOST / r->every) m = MOST, common = 1, r->every = 1;
        r->every = r->every / common * m;
        r->bounded = 1;
    }
    if (r->lo >= MOST || r->hi <= -MOST) {
        tl_schema_at(s, g->item[0].node, NULL);
        tl_lang_fail(s->l, TL_E_UNSUPPORTED, "these bounds leave only numbers of more than %d digits", DIGITS);
    }
    if (r->every > MOST_REST && r->every % 10) {
        tl_schema_at(s, g->item[0].node, NULL);
        tl_lang_fail(s->l, TL_E_UNSUPPORTED, "tinyllm cannot enforce these multipleOf together");
    }
    return r->lo <= r->hi;
}

int tl_number_allows(tl_schema *s, const tl_goal *g, int value) {
    decimal v = decimal_of(s->node[value].text);
    for (int i = 0; i < g->n; i++) {
        for (int b = 0; b < 4; b++) {
            int node = keyword(s, g, i, bounds[b]);
            if (node < 0) continue;
            decimal bound = decimal_of(s->node[node].text);
            int c = compare(&v, &bound);
            if ((b & 1 && c == 0) || (b < 2 ? c < 0 : c > 0)) return 0;
        }
        int node = keyword(s, g, i, "multipleOf"), exact = 1;
        if (node < 0) continue;
        decimal m = decimal_of(s->node[node].text);
        int parts = parts_of(&v) > parts_of(&m) ? parts_of(&v) : parts_of(&m);
        int64_t x = steps(&v, parts, 0, &exact), y = steps(&m, parts, 0, &exact);
        if (!exact || x <= -MOST || x >= MOST || y >= MOST) return -1;
        if (x % y) return 0;
    }
    return 1;
}

int tl_number_differ(tl_schema *s, const tl_goal *a, const tl_goal *b) {
    for (int side = 0; side < 2; side++) {   /* all of the one above all of the other */
        const tl_goal *low = side ? b : a, *high = side ? a : b;
        for (int i = 0; i < low->n * 2; i++)
            for (int k = 0; k < high->n * 2; k++) {
                int top = keyword(s, low, i / 2, bounds[2 + i % 2]), bottom = keyword(s, high, k / 2, bounds[k % 2]);
                if (top < 0 || bottom < 0) continue;
                int c = tl_number_compare(s->node[top].text, s->node[bottom].text);
                if (c < 0 || (c == 0 && (i % 2 || k % 2))) return 1;
            }
    }
    return 0;
}

/* ---- as digits ---- */

/* rest: of what is read, by r->every; left: digits before the point still to be read, -1 - read: of those behind it. */
typedef struct tree { tl_schema *s; const numbers *r; int64_t lo, hi, every; int32_t rule[MOST_REST][2 * DIGITS + 2]; } tree;

static int free_tail(tree *t, int64_t rest, int left);

static int digit_set(tree *t, int lo, int hi) { return lo > hi ? tl_lang_nothing(t->s->l) : tl_lang_chars(t->s->l, &(tl_span){'0' + lo, '0' + hi}, 1); }

/* What may follow when bounds no longer matter: any digits, left of them before the point, that make a multiple. */
static int free_body(tree *t, int64_t rest, int left) {
    tl_lang *l = t->s->l;
    int all = tl_lang_nothing(l), read = left < 0 ? -1 - left : 0;
    if (left <= 0 && rest * (power(t->r->parts - read) % t->every) % t->every == 0 && read != 0) all = tl_lang_empty(l);
    if (left == 0) {
        if (rest * (power(t->r->parts) % t->every) % t->every == 0) all = tl_lang_empty(l);
        return t->r->parts ? tl_lang_alt(l, all, tl_lang_seq(l, tl_lang_str(l, "."), free_tail(t, rest, -1))) : all;
    }
    if (left < 0 && read == t->r->parts) return all;
    for (int d = 0; d < 10; d++)
        all = tl_lang_alt(l, all, tl_lang_seq(l, digit_set(t, d, d), free_tail(t, (rest * 10 + d) % t->every, left - 1)));
    return all;
}

static int free_tail(tree *t, int64_t rest, int left) {
    tl_lang *l = t->s->l;
    int digit = t->s->digit;
    if (t->every == 1) {
        if (left < 0) return tl_lang_repeat(l, digit, left == -1, t->r->parts + 1 + left);
        int point = t->r->parts ? tl_lang_repeat(l, tl_lang_seq(l, tl_lang_str(l, "."), tl_lang_repeat(l, digit, 1, t->r->parts)), 0, 1) : tl_lang_empty(l);
        return tl_lang_seq(l, tl_lang_repeat(l, digit, left, left), point);
    }
    int32_t *rule = &t->rule[rest][left + DIGITS + 1];
    if (!*rule) {
        *rule = tl_lang_new_rule(l) + 1;
        int r = *rule - 1;
        tl_lang_define(l, r, free_body(t, rest, left));
    }
    return tl_lang_call(l, *rule - 1);
}

/* What may follow when the digits of `read` are read; left as above. The numbers that begin so are steps from..to. */
static int bounded_tail(tree *t, int64_t read, int left) {
    tl_lang *l = t->s->l;
    int behind = left < 0 ? -1 - left : 0, open = left < 0 ? t->r->parts - behind : left + t->r->parts;
    int64_t from = read * power(open), to = from + power(open) - 1;
    int all = tl_lang_nothing(l);
    if (to < t->lo || from > t->hi) return all;
    if (from >= t->lo && to <= t->hi) return free_tail(t, read % t->every, left);
    int ends = (left == 0 || behind > 0) && from >= t->lo && from <= t->hi && from % t->every == 0;
    if (ends) all = tl_lang_empty(l);
    if (left == 0) return t->r->parts ? tl_lang_alt(l, all, tl_lang_seq(l, tl_lang_str(l, "."), bounded_tail(t, read, -1))) : all;
    if (!open) return all;
    /* Digits whose numbers are all within the bounds are one class, as long as no multiple is asked for. */
    int64_t step = power(open - 1);
    for (int d = 0, same = 0; d < 10; d += same) {
        same = 1;
        if (t->every == 1 && from + d * step >= t->lo)
            while (d + same < 10 && from + (d + same + 1) * step - 1 <= t->hi) same++;
        if (same > 1 && from + (d + 1) * step - 1 > t->hi) same = 1;
        all = tl_lang_alt(l, all, tl_lang_seq(l, digit_set(t, d, d + same - 1), bounded_tail(t, read * 10 + d, left - 1)));
    }
    return all;
}

/* Numbers from lo >= 0 to hi steps. */
static int range(tl_schema *s, const numbers *r, int64_t lo, int64_t hi, int64_t every) {
    tl_lang *l = s->l;
    int all = tl_lang_nothing(l);
    if (lo > hi) return all;
    tree *t = tl_lang_memory(l, 1, sizeof *t);
    t->s = s, t->r = r, t->lo = lo, t->hi = hi, t->every = every;
    for (int n = 1; n <= DIGITS - r->parts; n++) {
        int64_t step = power(n - 1 + r->parts);
        if (n > 1 && step > hi) break;
        for (int d = n > 1, same = 0; d < 10; d += same) {
            same = 1;
            if (every == 1 && d * step >= lo)
                while (d + same < 10 && (d + same + 1) * step - 1 <= hi) same++;
            all = tl_lang_alt(l, all, tl_lang_seq(l, digit_set(t, d, d + same - 1), bounded_tail(t, d, n - 1)));
        }
    }
    return all;
}

/* Of whole numbers, multiples of ten end in zeros, which are no business of the tree. */
static int multiples(tl_schema *s, const numbers *r, int64_t lo, int64_t hi) {
    tl_lang *l = s->l;
    int64_t every = r->every, ten = 1;
    int zeros = 0;
    for (; !r->parts && every % 10 == 0; every /= 10, ten *= 10) zeros++;
    if (every > MOST_REST) tl_lang_fail(l, TL_E_UNSUPPORTED, "tinyllm cannot enforce these multipleOf together");
    if (!zeros) return range(s, r, lo, hi, every);
    int all = lo == 0 ? tl_lang_str(l, "0") : tl_lang_nothing(l);
    int64_t first = (lo + ten - 1) / ten;
    char text[] = "000000000000000";
    return tl_lang_alt(l, all, tl_lang_seq(l, range(s, r, first ? first : 1, hi / ten, every), tl_lang_text(l, text, (size_t)zeros)));
}

int tl_number_emit(tl_schema *s, const tl_goal *g, unsigned types) {
    tl_lang *l = s->l;
    int whole = !(types & TL_IS_PARTS);
    numbers r;
    if (!read_numbers(s, g, whole, &r)) return tl_lang_nothing(l);
    if (g->n) tl_schema_at(s, g->item[0].node, NULL);
    int minus = tl_lang_str(l, "-");
    if (!r.bounded) {
        int first = tl_lang_chars(l, &(tl_span){'1', '9'}, 1), zero = tl_lang_str(l, "0");
        int n = tl_lang_alt(l, zero, tl_lang_seq(l, first, tl_lang_repeat(l, s->digit, 0, DIGITS - 1)));
        n = tl_lang_seq(l, tl_lang_repeat(l, minus, 0, 1), n);
        if (!whole) n = tl_lang_seq(l, n, tl_lang_repeat(l, tl_lang_seq(l, tl_lang_str(l, "."), tl_lang_repeat(l, s->digit, 1, DIGITS)), 0, 1));
        return n;
    }
    int up = r.hi < 0 ? tl_lang_nothing(l) : multiples(s, &r, r.lo > 0 ? r.lo : 0, r.hi);
    int down = r.lo >= 0 ? tl_lang_nothing(l) : multiples(s, &r, r.hi < 0 ? -r.hi : 1, -r.lo);
    return tl_lang_alt(l, up, tl_lang_seq(l, minus, down));
}
