#include "stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER (1 << 20)

struct stream {
    const char *const *files;
    size_t count, part; /* files, and which one is read */
    int header;
    char delimiter;
    size_t columns, line;
    char **names;
    FILE *file;
    char *text; /* a line */
    size_t room;
    char *label;
    size_t label_room;
};

/* ---- lines ---------------------------------------------------------------------------------- */

/* The next line without its end, quotes and line ends in quotes kept; NULL: the file has no more. Empty lines are
 * passed over. */
static char *next_line(stream *s) {
    for (;;) {
        size_t used = 0;
        int c, quoted = 0;
        while ((c = getc_unlocked(s->file)) != EOF && (c != '\n' || quoted)) {
            if (used + 2 > s->room) {
                s->room = s->room > 0 ? 2 * s->room : 4096;
                s->text = realloc(s->text, s->room);
                if (s->text == NULL) fail("out of memory: a line of %zu bytes", s->room);
            }
            if (c == 0) fail("%s:%zu: a byte of 0, expected text", s->files[s->part], s->line + 1);
            if (c == '"') quoted = !quoted;
            s->text[used++] = (char)c;
        }
        if (c == EOF && ferror(s->file)) fail("%s: cannot be read", s->files[s->part]);
        if (c == EOF && used == 0) return NULL;
        s->line++;
        if (quoted) fail("%s:%zu: a quote that does not end", s->files[s->part], s->line);
        while (used > 0 && s->text[used - 1] == '\r') used--;
        if (used == 0) continue;
        s->text[used] = 0;
        return s->text;
    }
}

/* The field at *at without its quotes, in place; *at moves behind it, NULL at the end of the line. */
static char *next_field(const stream *s, char **at) {
    char *from = *at, *to, *field = from;
    if (*from == '"') {
        for (to = field = from++; *from != 0; from++) {
            if (*from == '"' && from[1] != '"') break;
            if (*from == '"') from++;
            *to++ = *from;
        }
        if (*from == '"') from++;
        while (*from != 0 && *from != s->delimiter) from++;
        *at = *from == 0 ? NULL : from + 1;
        *to = 0;
        return field;
    }
    while (*from != 0 && *from != s->delimiter) from++;
    *at = *from == 0 ? NULL : from + 1;
    *from = 0;
    return field;
}

static void open_part(stream *s, size_t which) {
    int c;
    if (s->file != NULL) fclose(s->file);
    s->part = which, s->line = 0;
    s->file = fopen(s->files[which], "rb");
    if (s->file == NULL) fail("%s: cannot be opened", s->files[which]);
    (void)setvbuf(s->file, NULL, _IOFBF, BUFFER);
    c = getc(s->file);
    if (c == 0xef && getc(s->file) == 0xbb && getc(s->file) == 0xbf) return; /* a byte order mark */
    rewind(s->file);
}

/* ---- the first line -------------------------------------------------------------------------- */

static char delimiter_of(const char *line) {
    static const char marks[] = {',', ';', '\t'};
    size_t most = 0, i, count;
    char best = ',';
    for (i = 0; i < sizeof marks; i++) {
        const char *p;
        int quoted = 0;
        for (count = 0, p = line; *p != 0; p++) {
            if (*p == '"') quoted = !quoted;
            count += *p == marks[i] && !quoted;
        }
        if (count > most) most = count, best = marks[i];
    }
    return best;
}

static void read_head(stream *s) {
    char *line = next_line(s), *at;
    size_t column;
    if (line == NULL) fail("%s: no rows", s->files[s->part]);
    if (s->part == 0) {
        s->delimiter = delimiter_of(line);
        for (at = line, s->columns = 1; *at != 0; at++) s->columns += *at == s->delimiter;
        s->names = allocate(s->columns, sizeof *s->names, "names");
    }
    for (at = line, column = 0; at != NULL; column++) {
        char *field = next_field(s, &at), number[32];
        if (column >= s->columns) break;
        if (!s->header) (void)snprintf(number, sizeof number, "c%zu", column + 1), field = number;
        if (s->part == 0)
            s->names[column] = copy_text(field, strlen(field));
        else if (s->header && strcmp(field, s->names[column]) != 0)
            fail("%s: column %zu is %s, expected %s as in %s", s->files[s->part], column + 1, field, s->names[column],
                 s->files[0]);
    }
    if (s->part == 0) s->columns = column;
    if (column != s->columns || at != NULL)
        fail("%s: other columns than %s, expected the same %zu", s->files[s->part], s->files[0], s->columns);
    if (!s->header) open_part(s, s->part); /* it was a row */
}

stream *stream_open(const char *const *files, size_t count, int header) {
    stream *s = allocate(1, sizeof *s, "the tables");
    size_t i;
    s->files = files, s->count = count, s->header = header;
    for (i = 0; i < count; i++) open_part(s, i), read_head(s);
    stream_rewind(s);
    return s;
}

void stream_close(stream *s) {
    size_t i;
    for (i = 0; i < s->columns; i++) free(s->names[i]);
    if (s->file != NULL) fclose(s->file);
    free(s->names), free(s->text), free(s->label), free(s);
}

size_t stream_columns(const stream *s) { return s->columns; }
const char *stream_name(const stream *s, size_t column) { return s->names[column]; }
const char *stream_label(const stream *s) { return s->label; }

void stream_rewind(stream *s) {
    open_part(s, 0);
    if (s->header) (void)next_line(s);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void keep_label(stream *s, const char *field) {
    size_t size = strlen(field) + 1;
    if (size > s->label_room) {
        s->label = realloc(s->label, size);
        if (s->label == NULL) fail("out of memory: a label of %zu bytes", size);
        s->label_room = size;
    }
    memcpy(s->label, field, size);
}

static double number_of(const stream *s, size_t column, const char *field) {
    const char *end;
    double value = 0;
    while (*field == ' ') field++;
    end = csv_number(field, &value);
    while (end != NULL && *end == ' ') end++;
    if (end != NULL && *end == 0 && isfinite((rfm_real)value)) return value;
    fail("%s:%zu: column %s: expected a number, for the table is read in passes, found \"%.40s\"", s->files[s->part],
         s->line, s->names[column], field);
}

int stream_row(stream *s, size_t label, double *values) {
    char *line, *at;
    size_t column;
    while ((line = next_line(s)) == NULL) {
        if (s->part + 1 == s->count) return 0;
        open_part(s, s->part + 1);
        if (s->header) (void)next_line(s);
    }
    for (at = line, column = 0; at != NULL && column < s->columns; column++) {
        char *field = next_field(s, &at);
        if (column == label)
            keep_label(s, field), values[column] = 0;
        else
            values[column] = number_of(s, column, field);
    }
    if (column != s->columns || at != NULL)
        fail("%s:%zu: %s than %zu fields, expected as many as there are columns", s->files[s->part], s->line,
             at != NULL ? "more" : "fewer", s->columns);
    return 1;
}
