#include "html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_POINTS 2000
#define BINS        25

/* ---- scales --------------------------------------------------------------------------------- */

typedef struct {
    double low, high, step; /* multiples of the step */
} axis;

/* Around low..high, with about `ticks` steps of 1, 2 or 5 times a power of ten. */
static axis axis_around(double low, double high, int ticks) {
    axis a;
    double size, unit;
    if (!(high > low)) {
        double room = fabs(low) > 0 ? 0.1 * fabs(low) : 1;
        low -= room, high += room;
    }
    size = (high - low) / ticks;
    unit = pow(10, floor(log10(size)));
    a.step = size / unit > 5 ? 10 * unit : size / unit > 2 ? 5 * unit : size / unit > 1 ? 2 * unit : unit;
    a.low = a.step * floor(low / a.step + 1e-9), a.high = a.step * ceil(high / a.step - 1e-9);
    return a;
}

static int axis_ticks(const axis *a) { return (int)floor((a->high - a->low) / a->step + 0.5); }
static double axis_tick(const axis *a, int i) {
    double v = a->low + i * a->step;
    return fabs(v) < 1e-9 * a->step ? 0 : v;
}
static double axis_place(const axis *a, double v, double from, double to) {
    return from + (to - from) * (v - a->low) / (a->high - a->low);
}

static void open_svg(text *t, int width, int height, const char *title) {
    text_add(t, "<svg viewBox=\"0 0 %d %d\" role=\"img\"><title>", width, height);
    html_text(t, title);
    text_add(t, "</title>\n");
}

static void line(text *t, const char *css, double x1, double y1, double x2, double y2) {
    text_add(t, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", css, x1, y1, x2, y2);
}

static void label(text *t, double x, double y, const char *anchor, const char *value) {
    text_add(t, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    html_text(t, value);
    text_add(t, "</text>");
}

/* Ticks with grid lines: below the plot, or to its left. */
static void draw_x_axis(text *t, const axis *a, double left, double right, double top, double bottom) {
    char room[NUMBER_ROOM];
    int i;
    for (i = 0; i <= axis_ticks(a); i++) {
        double x = axis_place(a, axis_tick(a, i), left, right);
        line(t, "grid", x, top, x, bottom);
        label(t, x, bottom + 17, "middle", html_number(room, axis_tick(a, i)));
    }
    line(t, "axis", left, bottom, right, bottom);
}

static void draw_y_axis(text *t, const axis *a, double left, double right, double top, double bottom) {
    char room[NUMBER_ROOM];
    int i;
    for (i = 0; i <= axis_ticks(a); i++) {
        double y = axis_place(a, axis_tick(a, i), bottom, top);
        line(t, "grid", left, y, right, y);
        label(t, left - 8, y + 4, "end", html_number(room, axis_tick(a, i)));
    }
}

static void range_of(const double *x, size_t count, double *low, double *high) {
    size_t i;
    for (i = 0; i < count; i++) *low = fmin(*low, x[i]), *high = fmax(*high, x[i]);
}

/* ---- charts --------------------------------------------------------------------------------- */

void chart_interval(text *t, double low, double high, double value, const double interval[2], double baseline,
                    const char *what) {
    double scale = 460 / (high - low), from = fmax(low, interval[0]), to = fmin(high, interval[1]);
    open_svg(t, 480, 44, what);
    text_add(t, "<rect class=\"track\" x=\"10\" y=\"12\" width=\"460\" height=\"10\" rx=\"5\"/>");
    if (to > from)
        text_add(t, "<rect class=\"band\" x=\"%.1f\" y=\"12\" width=\"%.1f\" height=\"10\"/>",
                 10 + scale * (from - low), scale * (to - from));
    line(t, "base", 10 + scale * (baseline - low), 8, 10 + scale * (baseline - low), 26);
    text_add(t, "<circle class=\"dot\" cx=\"%.1f\" cy=\"17\" r=\"7\"/>",
             10 + scale * (fmax(low, fmin(high, value)) - low));
    {
        char room[NUMBER_ROOM];
        label(t, 10, 40, "start", html_number(room, low));
        label(t, 470, 40, "end", html_number(room, high));
    }
    text_add(t, "</svg>\n");
}

static void name_axes(text *t, const char *x_name, const char *y_name, double left, double right, double top,
                      double bottom) {
    label(t, (left + right) / 2, bottom + 38, "middle", x_name);
    text_add(t, "<text transform=\"translate(13 %.0f) rotate(-90)\" text-anchor=\"middle\">", (top + bottom) / 2);
    html_text(t, y_name);
    text_add(t, "</text>");
}

void chart_line(text *t, const char *title, const double *y, size_t count, size_t chosen) {
    double low = y[0], high = y[0], left = 56, right = 310, top = 12, bottom = 140, step;
    char room[NUMBER_ROOM];
    size_t i, every = 1 + (count - 1) / 8;
    axis a;
    range_of(y, count, &low, &high);
    a = axis_around(low, high, 3);
    step = count > 1 ? (right - left - 20) / (double)(count - 1) : 0;
    open_svg(t, 320, 164, title);
    draw_y_axis(t, &a, left, right, top, bottom);
    text_add(t, "<polyline class=\"curve\" points=\"");
    for (i = 0; i < count; i++)
        text_add(t, "%.1f,%.1f ", left + 10 + step * (double)i, axis_place(&a, y[i], bottom, top));
    text_add(t, "\"/>");
    for (i = 0; i < count; i++) {
        double x = left + 10 + step * (double)i;
        text_add(t, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>t = %zu: %s</title></circle>",
                 i == chosen ? "dot" : "ring", x, axis_place(&a, y[i], bottom, top), i, html_number(room, y[i]));
        snprintf(room, sizeof room, "%zu", i);
        if (i % every == 0) label(t, x, bottom + 18, "middle", room);
    }
    text_add(t, "</svg>\n");
}

void chart_curve(text *t, const char *title, const char *x_name, const char *y_name, const double *x, const double *y,
                 size_t count, size_t chosen, double level) {
    double low = level, high = level, left = 64, right = 668, top = 12, bottom = 260, first, last, tick;
    char room[NUMBER_ROOM];
    size_t i;
    axis a, b;
    range_of(y, count, &low, &high);
    a = axis_around(low, high, 5);
    first = log2(x[0]), last = log2(x[count - 1]);
    b.low = floor(first), b.high = ceil(last), b.step = 1;
    if (b.high <= b.low) b.high = b.low + 1;
    open_svg(t, 690, 306, title);
    draw_y_axis(t, &a, left, right, top, bottom);
    for (tick = b.low; tick <= b.high; tick++) { /* powers of two */
        double at = axis_place(&b, tick, left, right);
        line(t, "grid", at, top, at, bottom);
        label(t, at, bottom + 17, "middle", html_bytes(room, exp2(tick)));
    }
    line(t, "axis", left, bottom, right, bottom);
    line(t, "ideal", left, axis_place(&a, level, bottom, top), right, axis_place(&a, level, bottom, top));
    text_add(t, "<polyline class=\"curve\" points=\"");
    for (i = 0; i < count; i++)
        text_add(t, "%.1f,%.1f ", axis_place(&b, log2(x[i]), left, right), axis_place(&a, y[i], bottom, top));
    text_add(t, "\"/>");
    for (i = 0; i < count; i++) {
        char score[NUMBER_ROOM];
        text_add(t, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"><title>%s: %s</title></circle>",
                 i == chosen ? "dot" : "ring", axis_place(&b, log2(x[i]), left, right),
                 axis_place(&a, y[i], bottom, top), i == chosen ? 6 : 4, html_bytes(room, x[i]),
                 html_score(score, y[i]));
    }
    name_axes(t, x_name, y_name, left, right, top, bottom);
    text_add(t, "</svg>\n");
}

void chart_curves(text *t, const char *title, const char *x_name, const char *y_name, const double *x, size_t count,
                  const chart_series *curves, size_t curve_count, const double *marks, size_t mark_count) {
    double low = curves[0].y[0], high = low, left = 58, right = 748, top = 10, bottom = 300;
    size_t i, k;
    axis a, b;
    for (k = 0; k < curve_count; k++) range_of(curves[k].y, count, &low, &high);
    a = axis_around(x[0], x[count - 1], 8);
    b = axis_around(100 * low, 100 * high, 5);
    open_svg(t, 760, 372, title);
    draw_x_axis(t, &a, left, right, top, bottom);
    draw_y_axis(t, &b, left, right, top, bottom);
    for (i = 0; i < mark_count; i++) {
        double at = axis_place(&a, marks[i], left, right);
        line(t, "ideal", at, top, at, bottom);
    }
    for (k = 0; k < curve_count; k++) {
        double from = left + (right - left) * (double)k / (double)curve_count;
        text_add(t, "<polyline class=\"%s\" fill=\"none\" points=\"", curves[k].css);
        for (i = 0; i < count; i++)
            text_add(t, "%.1f,%.1f ", axis_place(&a, x[i], left, right),
                     axis_place(&b, 100 * curves[k].y[i], bottom, top));
        text_add(t, "\"/>\n");
        line(t, curves[k].css, from, bottom + 60, from + 24, bottom + 60);
        label(t, from + 32, bottom + 64, "start", curves[k].name);
    }
    name_axes(t, x_name, y_name, left, right, top, bottom);
    text_add(t, "</svg>\n");
}

void chart_sets(text *t, const char *title, const char *x_name, const char *y_name, const chart_set *sets,
                size_t count) {
    static const char *const colours[] = {
        "rgb(var(--blue))",     "rgb(var(--orange))",     "rgb(var(--green))",     "var(--soft)",
        "rgb(var(--blue)/.55)", "rgb(var(--orange)/.55)", "rgb(var(--green)/.55)", "var(--ink)"};
    double low[2], high[2], left = 58, right = 748, top = 10, bottom = 300;
    size_t i, k, longest = 0, columns, rows;
    int whole = 1;
    axis a, b;
    low[0] = high[0] = sets[0].x[0], low[1] = high[1] = sets[0].y[0];
    for (k = 0; k < count; k++) {
        range_of(sets[k].x, sets[k].count, &low[0], &high[0]);
        range_of(sets[k].y, sets[k].count, &low[1], &high[1]);
        for (i = 0; i < sets[k].count; i++) whole = whole && sets[k].x[i] == floor(sets[k].x[i]);
        if (strlen(sets[k].name) > longest) longest = strlen(sets[k].name);
    }
    columns = longest <= 21 ? 4 : longest <= 45 ? 2 : 1; /* of the legend, at 7 units for a letter */
    rows = (count + columns - 1) / columns;
    a = axis_around(low[0], high[0], 8);
    if (whole && high[0] > low[0] && a.step < 1) a.low = low[0], a.high = high[0], a.step = 1;
    b = axis_around(low[1], high[1], 5);
    open_svg(t, 760, 352 + 22 * (int)rows, title);
    draw_x_axis(t, &a, left, right, top, bottom);
    draw_y_axis(t, &b, left, right, top, bottom);
    for (k = 0; k < count; k++) {
        const char *colour = colours[k % (sizeof colours / sizeof *colours)];
        double from = left + (right - left) * (double)(k % columns) / (double)columns;
        double below = bottom + 60 + 22 * (double)(k / columns);
        if (sets[k].joined) {
            text_add(t, "<polyline class=\"curve\" style=\"stroke:%s\" points=\"", colour);
            for (i = 0; i < sets[k].count; i++)
                text_add(t, "%.1f,%.1f ", axis_place(&a, sets[k].x[i], left, right),
                         axis_place(&b, sets[k].y[i], bottom, top));
            text_add(t, "\"/>\n");
        }
        for (i = 0; i < sets[k].count && (!sets[k].joined || sets[k].count <= 12); i++)
            text_add(t, "<circle style=\"fill:%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.4\"/>", colour,
                     axis_place(&a, sets[k].x[i], left, right), axis_place(&b, sets[k].y[i], bottom, top));
        text_add(t, "<circle style=\"fill:%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>", colour, from + 6, below);
        label(t, from + 18, below + 4, "start", sets[k].name);
    }
    name_axes(t, x_name, y_name, left, right, top, bottom);
    text_add(t, "</svg>\n");
}

void chart_scatter(text *t, const char *title, const char *x_name, const char *y_name, const double *x, const double *y,
                   size_t count) {
    double low = x[0], high = x[0], left = 58, right = 448, top = 10, bottom = 400;
    size_t i, shown = count < MOST_POINTS ? count : MOST_POINTS;
    axis a;
    range_of(x, count, &low, &high);
    range_of(y, count, &low, &high);
    a = axis_around(low, high, 5);
    open_svg(t, 460, 446, title);
    draw_x_axis(t, &a, left, right, top, bottom);
    draw_y_axis(t, &a, left, right, top, bottom);
    line(t, "ideal", left, bottom, right, top);
    text_add(t, "<g class=\"cloud\">");
    for (i = 0; i < shown; i++) {
        size_t k = (size_t)((double)i * (double)count / (double)shown);
        text_add(t, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"/>", axis_place(&a, x[k], left, right),
                 axis_place(&a, y[k], bottom, top), shown > 600 ? "2.4" : "3.4");
    }
    text_add(t, "</g>");
    name_axes(t, x_name, y_name, left, right, top, bottom);
    text_add(t, "</svg>\n<p class=\"small\">");
    if (shown < count) text_add(t, "%zu of %zu rows are drawn. ", shown, count);
    text_add(t, "On the dashed line a prediction is exact.</p>\n");
}

void chart_histogram(text *t, const char *title, const char *x_name, const double *x, size_t count) {
    double low = x[0], high = x[0], left = 44, right = 448, top = 10, bottom = 180, most = 0;
    double bins[BINS] = {0}, room_each;
    axis a, b;
    size_t i;
    range_of(x, count, &low, &high);
    low = fmin(low, 0), high = fmax(high, 0);
    a = axis_around(low, high, 5);
    for (i = 0; i < count; i++) {
        int k = (int)(BINS * (x[i] - a.low) / (a.high - a.low));
        most = fmax(most, ++bins[k < 0 ? 0 : k >= BINS ? BINS - 1 : k]);
    }
    b = axis_around(0, most, 4);
    room_each = (right - left) / BINS;
    open_svg(t, 460, 226, title);
    draw_y_axis(t, &b, left, right, top, bottom);
    text_add(t, "<g class=\"p\">");
    for (i = 0; i < BINS; i++) {
        double y = axis_place(&b, bins[i], bottom, top);
        if (bins[i] > 0)
            text_add(
                t,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"1.5\"><title>%.0f rows</title></rect>",
                left + room_each * (double)i + 1, y, room_each - 2, bottom - y, bins[i]);
    }
    text_add(t, "</g>");
    draw_x_axis(t, &a, left, right, bottom, bottom);
    line(t, "ideal", axis_place(&a, 0, left, right), top, axis_place(&a, 0, left, right), bottom);
    label(t, (left + right) / 2, bottom + 38, "middle", x_name);
    text_add(t, "</svg>\n");
}

void chart_shares(text *t, const char *title, const double *share, size_t count) {
    double left = 52, right = 448, top = 10, bottom = 180, each = (right - left) / (double)count, sum = 0;
    char room[NUMBER_ROOM];
    axis a = axis_around(0, 100, 4);
    size_t i, every = 1 + (count - 1) / 12;
    open_svg(t, 460, 226, title);
    a.low = 0, a.high = 100, a.step = 25;
    draw_y_axis(t, &a, left, right, top, bottom);
    line(t, "axis", left, bottom, right, bottom);
    text_add(t, "<g class=\"p\">");
    for (i = 0; i < count; i++) {
        double y = axis_place(&a, 100 * share[i], bottom, top), gap = each > 8 ? 2 : 0.5;
        text_add(t,
                 "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"1.5\"><title>direction %zu: "
                 "%s</title></rect>",
                 left + each * (double)i + gap, y, each - 2 * gap, bottom - y, i + 1, html_percent(room, share[i]));
    }
    text_add(t, "</g><polyline class=\"ideal\" points=\"");
    for (i = 0; i < count; i++) {
        sum += share[i];
        text_add(t, "%.1f,%.1f ", left + each * ((double)i + 0.5), axis_place(&a, fmin(100, 100 * sum), bottom, top));
    }
    text_add(t, "\"/>");
    for (i = 0; i < count; i += every) {
        snprintf(room, sizeof room, "%zu", i + 1);
        label(t, left + each * ((double)i + 0.5), bottom + 17, "middle", room);
    }
    label(t, (left + right) / 2, bottom + 38, "middle", "direction");
    text_add(t,
             "<text transform=\"translate(11 95) rotate(-90)\" text-anchor=\"middle\">%% of the trace</text></svg>\n");
}

void chart_matrix(text *t, const char *title, const double *values, const rfm_real *raw, size_t d,
                  const char *const *names) {
    double each = d > 24 ? 19 : d > 16 ? 26 : d > 10 ? 34 : 42, left = 150, top = 118;
    char room[NUMBER_ROOM];
    size_t i, j;
    int width = (int)(left + each * (double)d) + 30, height = (int)(top + each * (double)d) + 4;
    text_add(t, "<div class=\"wide\"><div style=\"width:%dpx\">", width);
    open_svg(t, width, height, title);
    for (i = 0; i < d; i++) {
        text_add(t, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">", left - 8, top + each * ((double)i + 0.5) + 4);
        html_cut(t, names[i], 18);
        text_add(t, "</text><text transform=\"translate(%.1f %.0f) rotate(-50)\">", left + each * ((double)i + 0.5) + 3,
                 top - 7);
        html_cut(t, names[i], 18);
        text_add(t, "</text>\n");
    }
    for (i = 0; i < d; i++)
        for (j = 0; j < d; j++) {
            double v = values[i * d + j], x = left + each * (double)j, y = top + each * (double)i;
            text_add(t, "<rect class=\"cell\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" rx=\"2\"/>", x, y,
                     each - 1, each - 1);
            text_add(t,
                     "<rect class=\"%s\" fill-opacity=\"%.2f\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" "
                     "rx=\"2\"><title>",
                     v < 0 ? "m" : "p", fabs(v), x, y, each - 1, each - 1);
            html_text(t, names[i]);
            text_add(t, i == j ? ": " : ", ");
            if (i != j) {
                html_text(t, names[j]);
                text_add(t, ": ");
            }
            text_add(t, "%s</title></rect>\n", html_number(room, (double)raw[i * d + j]));
        }
    text_add(t, "</svg></div></div>\n");
}
