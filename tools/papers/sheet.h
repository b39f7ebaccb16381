/* What an experiment has found: words, tables with the paper's numbers beside ours, curves and pictures.
 *
 * A sheet is lines of fields with tabs between them. So it can be kept in a file, read back after an interruption,
 * shown as text and drawn on a page. The first field says what a line is:
 *
 *     say     TEXT                      a paragraph
 *     table   COLUMN COLUMN ...         and below it
 *     row     CELL CELL ...
 *     chart   TITLE X Y                 axes, and below it
 *     point   SERIES x y                of a line
 *     dot     SERIES x y                alone
 *     image   TITLE WIDTH HEIGHT        and below it one for each line of the picture
 *     pixels  v v ...                   from -1 to 1
 */
#ifndef SHEET_H
#define SHEET_H

#include "host/text.h"
#include "rfm.h"

void sheet_say(text *sheet, const char *format, ...) PRINTF_LIKE(2, 3);

/* Columns and cells with | between them. */
void sheet_table(text *sheet, const char *columns);
void sheet_row(text *sheet, const char *format, ...) PRINTF_LIKE(2, 3);

/* What is not finite is not drawn. */
void sheet_chart(text *sheet, const char *title, const char *x, const char *y);
void sheet_point(text *sheet, const char *series, double x, double y);
void sheet_dot(text *sheet, const char *series, double x, double y);

/* values (height, width) are divided by the largest of them. */
void sheet_image(text *sheet, const char *title, const double *values, size_t width, size_t height);

void sheet_square(text *sheet, const char *title, const rfm_real *m, size_t d); /* the same of a matrix (d, d) */

/* 1: every line is one of the above. */
int sheet_right(const char *lines);

void sheet_markdown(text *t, const char *lines); /* for a terminal; pictures are left out */
/* For programs: every row is one object on a line, with the experiment and its cells by the names of their columns. */
void sheet_json(text *t, const char *experiment, const char *lines);
void sheet_html(text *t, const char *lines); /* for a page of rfm/report/html.h */

#endif
