#include "sheet.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "host/json.h"
#include "rfm/report/html.h"

/* ---- writing -------------------------------------------------------------------------------- */

/* One line: its kind, then text in which `separator` becomes a tab and what would end the line a space. */
static void add_line(text *sheet, const char *kind, const char *content, char separator) {
    const char *p;
    text_add(sheet, "%s\t", kind);
    for (p = content; *p != 0; p++) {
        char c = *p == separator ? '\t' : *p == '\t' || *p == '\n' ? ' ' : *p;
        text_bytes(sheet, &c, 1);
    }
    text_add(sheet, "\n");
}

static void add_formatted(text *sheet, const char *kind, char separator, const char *format, va_list list) {
    va_list again;
    char *content;
    int length;
    va_copy(again, list);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    content = allocate((size_t)length + 1, 1, "a result");
    vsnprintf(content, (size_t)length + 1, format, list);
    add_line(sheet, kind, content, separator);
    free(content);
}

void sheet_say(text *sheet, const char *format, ...) {
    size_t first = sheet->size + strlen("say\t"), end;
    va_list list;
    va_start(list, format);
    add_formatted(sheet, "say", 0, format, list);
    va_end(list);
    for (end = first; isalpha((unsigned char)sheet->at[end]);) end++;
    if (end > first + 1 && sheet->at[end] == ' ') /* a word, and no formula or file */
        sheet->at[first] = (char)toupper((unsigned char)sheet->at[first]);
}

void sheet_table(text *sheet, const char *columns) { add_line(sheet, "table", columns, '|'); }

void sheet_row(text *sheet, const char *format, ...) {
    va_list list;
    va_start(list, format);
    add_formatted(sheet, "row", '|', format, list);
    va_end(list);
}

void sheet_chart(text *sheet, const char *title, const char *x, const char *y) {
    text_add(sheet, "chart\t%s\t%s\t%s\n", title, x, y);
}

static void mark(text *sheet, const char *kind, const char *series, double x, double y) {
    if (isfinite(x) && isfinite(y)) text_add(sheet, "%s\t%s\t%.6g\t%.6g\n", kind, series, x, y);
}

void sheet_point(text *sheet, const char *series, double x, double y) { mark(sheet, "point", series, x, y); }
void sheet_dot(text *sheet, const char *series, double x, double y) { mark(sheet, "dot", series, x, y); }

void sheet_image(text *sheet, const char *title, const double *values, size_t width, size_t height) {
    double most = 0;
    size_t i, j;
    for (i = 0; i < width * height; i++) most = fmax(most, fabs(values[i]));
    text_add(sheet, "image\t%s\t%zu\t%zu\n", title, width, height);
    for (i = 0; i < height; i++) {
        text_add(sheet, "pixels");
        for (j = 0; j < width; j++) text_add(sheet, "\t%.3f", most > 0 ? values[i * width + j] / most : 0);
        text_add(sheet, "\n");
    }
}

void sheet_square(text *sheet, const char *title, const rfm_real *m, size_t d) {
    double *values = allocate(d, d * sizeof *values, "a picture");
    size_t i;
    for (i = 0; i < d * d; i++) values[i] = (double)m[i];
    sheet_image(sheet, title, values, d, d);
    free(values);
}

/* ---- reading -------------------------------------------------------------------------------- */

static const char *const kinds[] = {"say", "table", "row", "chart", "point", "dot", "image", "pixels", NULL};

/* Bytes of the field at p: up to a tab, the end of the line or of the text. */
static size_t field(const char *p) { return strcspn(p, "\t\n"); }

static int is(const char *line, const char *kind) {
    return field(line) == strlen(kind) && memcmp(line, kind, strlen(kind)) == 0;
}

/* Field i of a line, 0 is its kind; NULL: it has fewer. */
static const char *field_at(const char *line, size_t i) {
    while (i-- > 0) {
        line += field(line);
        if (*line != '\t') return NULL;
        line++;
    }
    return line;
}

static const char *next_line(const char *line) {
    line += strcspn(line, "\n");
    return *line == '\n' ? line + 1 : line;
}

static char *copy_field(const char *line, size_t i) {
    const char *at = field_at(line, i);
    return at == NULL ? copy_text("", 0) : copy_text(at, field(at));
}

static double number_at(const char *line, size_t i) {
    const char *at = field_at(line, i);
    return at == NULL ? 0 : strtod(at, NULL);
}

int sheet_right(const char *lines) {
    const char *line;
    size_t i;
    for (line = lines; *line != 0; line = next_line(line)) {
        for (i = 0; kinds[i] != NULL && !is(line, kinds[i]); i++) continue;
        if (kinds[i] == NULL || line[strcspn(line, "\n")] == 0) return 0;
    }
    return *lines != 0;
}

/* ---- for a terminal ------------------------------------------------------------------------- */

static void markdown_row(text *t, const char *line, int header) {
    const char *at;
    size_t i;
    for (i = 1; (at = field_at(line, i)) != NULL; i++) {
        text_add(t, i == 1 ? "| " : " | ");
        text_bytes(t, at, field(at));
    }
    text_add(t, " |\n");
    for (i = 1; header && field_at(line, i) != NULL; i++) text_add(t, i == 1 ? "|---|" : "---:|");
    if (header) text_add(t, "\n");
}

void sheet_markdown(text *t, const char *lines) {
    const char *line, *last = "";
    for (line = lines; *line != 0; last = line, line = next_line(line)) {
        if (is(last, "row") && !is(line, "row")) text_add(t, "\n");
        if (is(line, "say")) {
            char *words = copy_field(line, 1);
            text_wrapped(t, words, 0, 0, 100);
            text_add(t, "\n\n");
            free(words);
        } else if (is(line, "table") || is(line, "row"))
            markdown_row(t, line, is(line, "table"));
    }
    if (is(last, "row")) text_add(t, "\n");
}

void sheet_json(text *t, const char *experiment, const char *lines) {
    const char *line, *table = NULL;
    size_t i;
    for (line = lines; *line != 0; line = next_line(line)) {
        text one = {NULL, 0, 0};
        if (is(line, "table")) table = line;
        if (!is(line, "row") || table == NULL) continue;
        json_text(&one, "experiment", experiment);
        for (i = 1; field_at(line, i) != NULL && field_at(table, i) != NULL; i++) {
            char *name = copy_field(table, i), *cell = copy_field(line, i);
            json_text(&one, name, cell);
            free(name);
            free(cell);
        }
        json_end(&one);
        text_bytes(t, one.at, one.size);
        free(one.at);
    }
}

/* ---- for a page ----------------------------------------------------------------------------- */

#define SHORT_CELL 16 /* letters that stay on one line */

static void html_cells(text *t, const char *line, const char *tag) {
    const char *at;
    size_t i;
    text_add(t, "<tr>");
    for (i = 1; (at = field_at(line, i)) != NULL; i++) {
        char *cell = copy_text(at, field(at));
        text_add(t, "<%s%s>", tag, i == 1 ? " class=\"l\"" : strlen(cell) <= SHORT_CELL ? " class=\"n\"" : "");
        html_text(t, cell);
        text_add(t, "</%s>", tag);
        free(cell);
    }
    text_add(t, "</tr>\n");
}

static const char *html_table(text *t, const char *line) {
    text_add(t, "<div class=\"wide\"><table class=\"full\"><thead>\n");
    html_cells(t, line, "th");
    text_add(t, "</thead><tbody>\n");
    for (line = next_line(line); is(line, "row"); line = next_line(line)) html_cells(t, line, "td");
    text_add(t, "</tbody></table></div>\n");
    return line;
}

#define MOST_SERIES 8

static const char *html_chart(text *t, const char *line) {
    char *title = copy_field(line, 1), *x_name = copy_field(line, 2), *y_name = copy_field(line, 3);
    chart_set sets[MOST_SERIES];
    char *names[MOST_SERIES];
    const char *end, *first = next_line(line);
    size_t points = 0, count = 0, k;
    for (end = first; is(end, "point") || is(end, "dot"); end = next_line(end)) points++;
    for (line = first; line < end; line = next_line(line)) {
        const char *name = field_at(line, 1);
        size_t length = name == NULL ? 0 : field(name);
        for (k = 0; k < count && !(strlen(names[k]) == length && memcmp(names[k], name, length) == 0); k++) continue;
        if (k == MOST_SERIES) continue;
        if (k == count) {
            names[count] = copy_field(line, 1);
            sets[count].name = names[count];
            sets[count].x = allocate(2 * points, sizeof(double), "a chart");
            sets[count].y = sets[count].x + points;
            sets[count].count = 0, sets[count].joined = is(line, "point");
            count++;
        }
        sets[k].x[sets[k].count] = number_at(line, 2);
        sets[k].y[sets[k].count++] = number_at(line, 3);
    }
    if (count > 0) {
        text_add(t, "<figure><h3>");
        html_text(t, title);
        text_add(t, "</h3>\n");
        chart_sets(t, title, x_name, y_name, sets, count);
        text_add(t, "</figure>\n");
    }
    for (k = 0; k < count; k++) {
        free(names[k]);
        free(sets[k].x);
    }
    free(title);
    free(x_name);
    free(y_name);
    return end;
}

static const char *html_pixels(text *t, const char *line) {
    char *title = copy_field(line, 1);
    size_t width = (size_t)number_at(line, 2), height = (size_t)number_at(line, 3), i, j;
    double *values = allocate(width * height, sizeof *values, "a picture");
    line = next_line(line);
    for (i = 0; i < height && is(line, "pixels"); i++, line = next_line(line))
        for (j = 0; j < width; j++) values[i * width + j] = number_at(line, j + 1);
    text_add(t, "<figure>");
    if (width * height > 0) html_image(t, values, width, height, "pixels", title);
    text_add(t, "<figcaption>");
    html_text(t, title);
    text_add(t, "</figcaption></figure>\n");
    free(values);
    free(title);
    return line;
}

void sheet_html(text *t, const char *line) {
    while (*line != 0) {
        if (is(line, "table"))
            line = html_table(t, line);
        else if (is(line, "chart"))
            line = html_chart(t, line);
        else if (is(line, "image")) {
            text_add(t, "<div class=\"gallery\">\n");
            while (is(line, "image")) line = html_pixels(t, line);
            text_add(t, "</div>\n");
        } else {
            char *words = copy_field(line, 1);
            if (is(line, "say")) {
                text_add(t, "<p>");
                html_text(t, words);
                text_add(t, "</p>\n");
            }
            free(words);
            line = next_line(line);
        }
    }
}
