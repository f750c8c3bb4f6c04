/* SPDX-License-Identifier: MIT
 *
 * plot.c: the roofline as a picture: both axes logarithmic, the memory roof rising to the roofs of arithmetic, a point
 * per piece of work whose area is its share of the time. Labels are put where they meet neither each other nor a point;
 * one that had to move away is joined to its point by a line. */
#include <math.h>
#include <string.h>
#include "report/report.h"

enum { WIDTH = 960, HEIGHT = 680, LEFT = 80, RIGHT = 30, TOP = 76, BOTTOM = 140, FONT = 13 };
enum { MAX_POINTS = 64, MAX_ROOF = 512 };

/* Classes of what is drawn: text (ink, dim), lines (grid, axis, roof, lead), the two series. */
static const char style[] =
    "<style>\n"
    ".bg{fill:#ffffff}.ink{fill:#111827}.dim{fill:#4b5563}.s0{fill:#1d4ed8}.s1{fill:#c2410c}\n"
    ".grid{stroke:#e5e7eb}.axis{stroke:#4b5563}.roof{stroke:#111827;stroke-width:2}.lead{stroke:#9ca3af}\n"
    "circle{fill-opacity:.75}\n"
    "@media (prefers-color-scheme:dark){\n"
    ".bg{fill:#111827}.ink{fill:#f3f4f6}.dim{fill:#cbd5e1}.s0{fill:#93c5fd}.s1{fill:#fdba74}\n"
    ".grid{stroke:#374151}.axis{stroke:#cbd5e1}.roof{stroke:#f3f4f6}.lead{stroke:#6b7280}}\n"
    "</style>\n";
static const char *const series_class[2] = {"s0", "s1"};

typedef struct box { float x0, y0, x1, y1; } box;   /* few bytes: many lie on the stack */
typedef struct chart {
    const tl_plot *p;
    tl_buf *out;
    double x0, x1, y0, y1;    /* decimal logarithms at the ends of the axes */
    box taken[2 * MAX_POINTS + MAX_ROOF];   /* where no label may stand */
    int n_taken;
} chart;

static double at_x(const chart *c, double v) {
    return LEFT + (log10(v) - c->x0) / (c->x1 - c->x0) * (WIDTH - LEFT - RIGHT);
}
static double at_y(const chart *c, double v) {
    return HEIGHT - BOTTOM - (log10(v) - c->y0) / (c->y1 - c->y0) * (HEIGHT - TOP - BOTTOM);
}

static int drawable(const tl_plot_point *p) { return p->intensity > 0 && p->gmac_s > 0; }
static double radius(const tl_plot_point *p) { return 4 + 9 * sqrt(p->share > 0 ? p->share : 0); }

/* A decimal number whatever the locale: no fractions. */
static int px(double v) { return (int)lround(v); }

static void text(tl_buf *out, double x, double y, const char *anchor, const char *class, const char *s) {
    tl_buf_fmt(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\" class=\"%s\">", px(x), px(y), anchor, class);
    for (; *s; s++) {
        if (*s == '<') tl_buf_str(out, "&lt;");
        else if (*s == '>') tl_buf_str(out, "&gt;");
        else if (*s == '&') tl_buf_str(out, "&amp;");
        else tl_buf_add(out, s, 1);
    }
    tl_buf_str(out, "</text>\n");
}

static void line(tl_buf *out, double x0, double y0, double x1, double y1, const char *class) {
    tl_buf_fmt(out, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" class=\"%s\"/>\n", px(x0), px(y0), px(x1), px(y1), class);
}

static void circle(tl_buf *out, double x, double y, double r, int series) {
    tl_buf_fmt(out, "<circle cx=\"%d\" cy=\"%d\" r=\"%d\" class=\"%s\"/>\n", px(x), px(y), px(r), series_class[series == 1]);
}

static void take(chart *c, box b) {
    if (c->n_taken < (int)(sizeof c->taken / sizeof *c->taken)) c->taken[c->n_taken++] = b;
}

static int is_free(const chart *c, const box *b) {
    if (b->x0 < LEFT + 2 || b->x1 > WIDTH - RIGHT - 2 || b->y0 < TOP + 2 || b->y1 > HEIGHT - BOTTOM - 2) return 0;
    for (int i = 0; i < c->n_taken; i++) {
        const box *t = &c->taken[i];
        if (b->x0 < t->x1 && t->x0 < b->x1 && b->y0 < t->y1 && t->y0 < b->y1) return 0;
    }
    return 1;
}

static double highest(const tl_plot *p) { return fmax(p->roof[0].gmac_s, p->roof[1].gmac_s); }

/* Whole decades around everything that is drawn, half a decade of air. */
static void fit(chart *c) {
    const tl_plot *p = c->p;
    c->x0 = c->y0 = INFINITY;
    c->x1 = c->y1 = -INFINITY;
    for (int i = 0; i < p->n; i++) {
        if (!drawable(&p->point[i])) continue;
        c->x0 = fmin(c->x0, log10(p->point[i].intensity));
        c->x1 = fmax(c->x1, log10(p->point[i].intensity));
        c->y0 = fmin(c->y0, log10(p->point[i].gmac_s));
        c->y1 = fmax(c->y1, log10(p->point[i].gmac_s));
    }
    if (!isfinite(c->x0)) c->x0 = 0, c->x1 = 2, c->y0 = 0, c->y1 = 2;
    double top = highest(p);
    if (top > 0) c->y1 = fmax(c->y1, log10(top));
    if (top > 0 && p->gb_s > 0) c->x1 = fmax(c->x1, log10(top / p->gb_s) + 0.5);
    c->x0 = floor(c->x0 - 0.2), c->x1 = ceil(c->x1 + 0.3);
    c->y0 = floor(c->y0 - 0.2), c->y1 = ceil(c->y1 + 0.3);
}

static void draw_axes(chart *c) {
    char s[32];
    double bottom = HEIGHT - BOTTOM;
    for (int d = (int)c->x0; d <= (int)c->x1; d++) {
        double x = at_x(c, pow(10, d));
        line(c->out, x, TOP, x, bottom, "grid");
        snprintf(s, sizeof s, d < 0 ? "0.%0*d" : "1%0*d", d < 0 ? -d : d, d < 0);
        text(c->out, x, bottom + 20, "middle", "dim", d ? s : "1");
    }
    for (int d = (int)c->y0; d <= (int)c->y1; d++) {
        double y = at_y(c, pow(10, d));
        line(c->out, LEFT, y, WIDTH - RIGHT, y, "grid");
        snprintf(s, sizeof s, d < 0 ? "0.%0*d" : "1%0*d", d < 0 ? -d : d, d < 0);
        text(c->out, LEFT - 8, y + 4, "end", "dim", d ? s : "1");
    }
    line(c->out, LEFT, bottom, WIDTH - RIGHT, bottom, "axis");
    line(c->out, LEFT, TOP, LEFT, bottom, "axis");
    text(c->out, (LEFT + WIDTH - RIGHT) / 2.0, bottom + 42, "middle", "ink", "multiply-adds per byte");
    tl_buf_fmt(c->out, "<text transform=\"translate(22 %d) rotate(-90)\" text-anchor=\"middle\" class=\"ink\">"
                       "10^9 multiply-adds per second</text>\n", px((TOP + bottom) / 2));
}

/* Keeps labels off a line. */
static void take_line(chart *c, double x0, double y0, double x1, double y1) {
    enum { STEPS = 100 };
    for (int i = 0; i <= STEPS; i++) {
        double x = x0 + (x1 - x0) * i / STEPS, y = y0 + (y1 - y0) * i / STEPS;
        take(c, (box){x - 5, y - 3, x + 5, y + 3});
    }
}

static void draw_roofs(chart *c) {
    const tl_plot *p = c->p;
    char s[64];
    double left = pow(10, c->x0), right = pow(10, c->x1), low = pow(10, c->y0), top = pow(10, c->y1);
    double ridge = highest(p) > 0 && p->gb_s > 0 ? highest(p) / p->gb_s : 0;
    if (p->gb_s > 0) {
        double from = p->gb_s * left < low ? low / p->gb_s : left, to = ridge > 0 ? ridge : top / p->gb_s;
        line(c->out, at_x(c, from), at_y(c, p->gb_s * from), at_x(c, to), at_y(c, p->gb_s * to), "roof");
        take_line(c, at_x(c, from), at_y(c, p->gb_s * from), at_x(c, to), at_y(c, p->gb_s * to));
        take_line(c, at_x(c, from) + 20, at_y(c, p->gb_s * from) - 28, at_x(c, from) + 140,
                  at_y(c, p->gb_s * from) - 120);   /* the text along it, roughly */
        snprintf(s, sizeof s, "reading %d.%d GB/s", (int)p->gb_s, (int)(p->gb_s * 10) % 10);
        double x = at_x(c, from) + 26, y = at_y(c, p->gb_s * pow(10, log10(from) + 26.0 / (WIDTH - LEFT - RIGHT) *
                                                                                 (c->x1 - c->x0))) - 14;
        double slope = atan2(at_y(c, p->gb_s * from) - at_y(c, p->gb_s * to), at_x(c, to) - at_x(c, from));
        tl_buf_fmt(c->out, "<text transform=\"translate(%d %d) rotate(%d)\" class=\"ink\">%s</text>\n", px(x), px(y),
                   -px(slope * 180 / 3.14159265), s);
    }
    for (int i = 0; i < 2; i++) {
        double peak = p->roof[i].gmac_s;
        if (peak <= 0) continue;
        double y = at_y(c, peak), from = p->gb_s > 0 ? at_x(c, peak / p->gb_s) : LEFT;
        line(c->out, from, y, at_x(c, right), y, "roof");
        take_line(c, from, y, at_x(c, right), y);
        snprintf(s, sizeof s, "%s peak %.0f GMAC/s", p->roof[i].name, peak);
        text(c->out, WIDTH - RIGHT - 4, y - 7, "end", "ink", s);
        take(c, (box){WIDTH - RIGHT - 220, y - 20, WIDTH - RIGHT, y + 3});
    }
}

/* Where a label may stand relative to its point: beside it, else higher or lower on either side. */
static box place_label(const chart *c, double x, double y, double r, double width, int *moved) {
    for (int row = 0; row < 24; row++)
        for (int side = 0; side < 2; side++) {
            double dy = (row + 1) / 2 * (FONT + 3) * (row % 2 ? -1 : 1), gap = row ? r + 14 : r + 5;
            double from = side ? x - gap - width : x + gap;
            box b = {from, y + dy - FONT * 0.6, from + width, y + dy + FONT * 0.6};
            if (!is_free(c, &b)) continue;
            *moved = row > 0;
            return b;
        }
    *moved = 0;
    return (box){x + r, y - FONT * 0.6, x + r + width, y + FONT * 0.6};
}

static double text_width(const char *s) { return (double)strlen(s) * FONT * 0.56; }

static void label_of(const tl_plot_point *p, char *buf, size_t size) {
    snprintf(buf, size, "%.60s %.0f %%", p->label, p->share * 100);
}

static void draw_points(chart *c) {
    for (int i = 0; i < c->p->n; i++) {
        const tl_plot_point *p = &c->p->point[i];
        if (!drawable(p)) continue;
        double x = at_x(c, p->intensity), y = at_y(c, p->gmac_s), r = radius(p);
        take(c, (box){x - r, y - r, x + r, y + r});
    }
    for (int i = 0; i < c->p->n; i++) {
        const tl_plot_point *p = &c->p->point[i];
        if (!drawable(p)) continue;
        double x = at_x(c, p->intensity), y = at_y(c, p->gmac_s), r = radius(p);
        char label[80];
        int moved;
        label_of(p, label, sizeof label);
        box b = place_label(c, x, y, r, text_width(label), &moved);
        take(c, b);
        if (moved) line(c->out, x, y, b.x0 > x ? b.x0 - 1 : b.x1 + 1, (b.y0 + b.y1) / 2, "lead");
        circle(c->out, x, y, r, p->series);
        text(c->out, (b.x0 + b.x1) / 2, b.y1 - 3, "middle", series_class[p->series == 1], label);
    }
}

/* A row for each series: its name and its work without multiply-adds, which has no place between the roofs. */
static void draw_legend(chart *c) {
    int y = HEIGHT - 70;
    for (int i = 0; i < 2; i++) {
        double x = LEFT;
        int n = 0;
        char label[80];
        if (!c->p->series[i]) continue;
        circle(c->out, x + 6, y - 5, 6, i);
        text(c->out, x + 18, y, "start", series_class[i], c->p->series[i]);
        x += 40 + text_width(c->p->series[i]);
        for (int k = 0; k < c->p->n; k++) {
            const tl_plot_point *p = &c->p->point[k];
            if (p->series != i || drawable(p)) continue;
            if (n++ == 0) {
                text(c->out, x, y, "start", "dim", "without multiply-adds:");
                x += 30 + text_width("without multiply-adds:");
            }
            label_of(p, label, sizeof label);
            circle(c->out, x, y - 5, radius(p), i);
            text(c->out, x + radius(p) + 5, y, "start", series_class[i], label);
            x += radius(p) + 30 + text_width(label);
        }
        y += 26;
    }
    text(c->out, LEFT, HEIGHT - 14, "start", "dim", "area of a point and %: share of the time of its phase");
}

void tl_plot_svg(const tl_plot *p, tl_buf *out) {
    chart c = {.p = p, .out = out};
    fit(&c);
    tl_buf_fmt(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                    "font-family=\"sans-serif\" font-size=\"%d\">\n%s<rect width=\"%d\" height=\"%d\" class=\"bg\"/>\n",
               WIDTH, HEIGHT, WIDTH, HEIGHT, FONT, style, WIDTH, HEIGHT);
    text(out, LEFT, 32, "start", "ink", p->title);
    if (p->subtitle) text(out, LEFT, 54, "start", "dim", p->subtitle);
    draw_axes(&c);
    draw_roofs(&c);
    draw_points(&c);
    draw_legend(&c);
    tl_buf_str(out, "</svg>\n");
}
