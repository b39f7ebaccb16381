/* The pieces that a page is made of: escaped text, numbers, pictures, charts. All of it goes into one text. */
#ifndef HTML_H
#define HTML_H

#include "host/text.h"
#include "rfm.h"

/* ---- html.c: text and page ------------------------------------------------------------------ */

void html_page_open(text *t, const char *title);
void html_page_close(text *t);

/* Escaped; bytes that are not UTF-8 and control characters become U+FFFD. */
void html_text(text *t, const char *value);
void html_text_lines(text *t, const char *value); /* line ends stay */

/* The same, cut to `most` characters, with the whole of it as the title if it was cut. */
void html_name(text *t, const char *value, size_t most);

/* For SVG: cut, with an ellipsis. */
void html_cut(text *t, const char *value, size_t most);

void html_section(text *t, const char *id, const char *title); /* to be closed by </section> */
void html_row(text *t, const char *term);                      /* <dt>..</dt><dd>, to be closed by </dd> */

#define NUMBER_ROOM 48
const char *html_number(char room[NUMBER_ROOM], double value);  /* four digits, no needless zeros */
const char *html_score(char room[NUMBER_ROOM], double value);   /* 0.9876 */
const char *html_bytes(char room[NUMBER_ROOM], double bytes);   /* 812 bytes, 12.4 KiB, 3.1 MiB */
const char *html_count(char room[NUMBER_ROOM], double count);   /* 12 345 678 */
const char *html_percent(char room[NUMBER_ROOM], double share); /* 12.3 %, as HTML */

/* ---- image.c -------------------------------------------------------------------------------- */

/* Numbers from -1 to 1 (height, width) as an inline PNG: blue above zero, orange below, the more opaque the further
 * from it, so that it suits a light and a dark page. */
void html_image(text *t, const double *values, size_t width, size_t height, const char *css, const char *alt);

/* ---- chart.c: SVG --------------------------------------------------------------------------- */

/* A value and its interval on a scale from `low` to `high`, with a mark at `baseline`. */
void chart_interval(text *t, double low, double high, double value, const double interval[2], double baseline,
                    const char *what);

/* A line through the points (i, y[i]), the point `chosen` filled. */
void chart_line(text *t, const char *title, const double *y, size_t count, size_t chosen);

/* A line through the points (x[i], y[i]), x > 0 ascending on a logarithmic scale; the point `chosen` filled; a dashed
 * line at `level`. */
void chart_curve(text *t, const char *title, const char *x_name, const char *y_name, const double *x, const double *y,
                 size_t count, size_t chosen, double level);

/* Curves y[i] in percent over the same x[i], rising, named in a legend; css: curve, base or ideal. Dashed lines at the
 * `mark_count` marks. */
typedef struct {
    const char *name, *css;
    const double *y; /* (count) shares of 1 */
} chart_series;

void chart_curves(text *t, const char *title, const char *x_name, const char *y_name, const double *x, size_t count,
                  const chart_series *curves, size_t curve_count, const double *marks, size_t mark_count);

/* Several sets of points with their own x, up to eight colours, named in a legend; joined: as lines. */
typedef struct {
    const char *name;
    double *x, *y; /* (count) */
    size_t count;
    int joined;
} chart_set;

void chart_sets(text *t, const char *title, const char *x_name, const char *y_name, const chart_set *sets,
                size_t count);

/* Points (x, y) on one scale for both axes, and the line where they are equal. */
void chart_scatter(text *t, const char *title, const char *x_name, const char *y_name, const double *x, const double *y,
                   size_t count);

void chart_histogram(text *t, const char *title, const char *x_name, const double *x, size_t count);

/* Shares of a whole, largest first. */
void chart_shares(text *t, const char *title, const double *share, size_t count);

/* A symmetric matrix with names, values from -1 to 1 (shown in colour), titles with `raw`. */
void chart_matrix(text *t, const char *title, const double *values, const rfm_real *raw, size_t d,
                  const char *const *names);

#endif
