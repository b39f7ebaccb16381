#include "csv.h"

#include "arrays.h"
#include "files.h"
#include "idx.h"
#include "progress.h"
#include "session.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers -----------------------------------------------------------------------------------
 *
 *
 * Up to 2^53 and a power of ten up to 22 are exact as double: one operation rounds once. 19 digits are exact where a
 * long double has 64 bits: its result is wrong by less than two units of the last place, and unless a double's rounding
 * hangs on that it is the same. For all other numbers the C library does it. */

static int digit(char c) { return (unsigned)(c - '0') < 10; }

static int quick(uint64_t mantissa, long exponent, int exact, double *value) {
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (mantissa == 0) return *value = 0, 1;
    if (exponent < -22 || exponent > 22 || !exact) return 0;
    if (mantissa <= (uint64_t)1 << 53) {
        *value = exponent < 0 ? (double)mantissa / power[-exponent] : (double)mantissa * power[exponent];
        return 1;
    }
#if LDBL_MANT_DIG >= 64
    {
        long double v = (long double)mantissa, doubt;
        v = exponent < 0 ? v / (long double)power[-exponent] : v * (long double)power[exponent];
        doubt = v * 0x1p-62L;
        *value = (double)(v + doubt);
        return *value == (double)(v - doubt);
    }
#else
    return 0;
#endif
}

const char *csv_number(const char *p, double *value) {
    const char *start = p;
    int negative = *p == '-', any = 0, digits = 0, exact = 1;
    uint64_t mantissa = 0;
    long exponent = 0;
    if (*p == '-' || *p == '+') p++;
    for (; digit(*p); p++, any = 1) {
        if (digits < 19)
            mantissa = mantissa * 10 + (uint64_t)(*p - '0'), digits += mantissa != 0;
        else
            exponent++, exact = 0;
    }
    if (*p == '.') {
        for (p++; digit(*p); p++, any = 1) {
            if (digits < 19)
                mantissa = mantissa * 10 + (uint64_t)(*p - '0'), digits += mantissa != 0, exponent--;
            else
                exact = 0;
        }
    }
    if (!any) return NULL;
    if (*p == 'e' || *p == 'E') {
        long e = 0;
        int minus = p[1] == '-';
        p += p[1] == '-' || p[1] == '+' ? 2 : 1;
        if (!digit(*p)) return NULL;
        for (; digit(*p); p++)
            if (e < 100000) e = e * 10 + (*p - '0');
        exponent += minus ? -e : e;
    }
    if (!quick(mantissa, exponent, exact, value))
        *value = strtod(start, NULL);
    else if (negative)
        *value = -*value;
    return p;
}

int csv_kind(double value) {
    if (isfinite(value)) return CSV_NUMBER;
    return isnan(value) ? CSV_MISSING : value > 0 ? CSV_TEXT : CSV_HUGE;
}

static double kind_value(int kind) {
    return kind == CSV_MISSING ? (double)NAN : kind == CSV_TEXT ? (double)INFINITY : -(double)INFINITY;
}

double csv_fitting(double value) { return isfinite((rfm_real)value) ? value : kind_value(CSV_HUGE); }

static int is_word(const char *field, size_t length, const char *word) { /* lower case */
    size_t i;
    for (i = 0; i < length && word[i] != 0; i++)
        if ((word[i] >= 'a' ? field[i] | 32 : field[i]) != word[i]) return 0;
    return i == length && word[i] == 0;
}

__thread text csv_more_absent;

void csv_absent_forget(void) { memset(&csv_more_absent, 0, sizeof csv_more_absent); }

void csv_absent_add(const char *word, size_t length) {
    text_bytes(&csv_more_absent, word, length);
    text_bytes(&csv_more_absent, "", 1);
}

int csv_absent(const char *field) {
    static const char *const words[] = {"na", "n/a", "null", "none", "?", "-"};
    size_t length = strlen(field), i;
    for (i = 0; i < csv_more_absent.size; i += strlen(csv_more_absent.at + i) + 1)
        if (strcmp(csv_more_absent.at + i, field) == 0) return 1;
    for (i = 0; length <= 4 && i < sizeof words / sizeof *words; i++)
        if (is_word(field, length, words[i])) return 1;
    return 0;
}

/* What a field means that is a string, without quotes and spaces around it. */
static double field_value(const char *field, size_t length) {
    double value;
    size_t sign = length > 0 && (*field == '-' || *field == '+');
    if (length == 0 || is_word(field + sign, length - sign, "nan") || csv_absent(field)) return kind_value(CSV_MISSING);
    if (csv_number(field, &value) == field + length) return csv_fitting(value);
    if (is_word(field + sign, length - sign, "inf") || is_word(field + sign, length - sign, "infinity"))
        return kind_value(CSV_HUGE);
    return kind_value(CSV_TEXT);
}

/* ---- fields --------------------------------------------------------------------------------- */

static size_t line_of(const csv *c, size_t offset) {
    size_t line = 1, i;
    for (i = 0; i < offset; i++) line += c->text[i] == '\n' || (c->text[i] == '\r' && c->text[i + 1] != '\n');
    return offset >= c->head ? line + c->before : line;
}

static int space(const csv *c, char ch) { return ch == ' ' || (ch == '\t' && c->delimiter != '\t'); }
static int line_end(const csv *c, const char *p) { return *p == '\n' || *p == '\r' || p == c->text + c->size; }
static int field_end(const csv *c, const char *p) { return *p == c->delimiter || line_end(c, p); }

static void reserve(csv *c, size_t size) {
    if (size <= c->room_size) return;
    free(c->room);
    c->room_size = size + size / 2 + 64;
    c->room = allocate(c->room_size, 1, "a field");
}

/* The field at p goes into c->room; returns where it ends: at a delimiter or at the end of the line. */
static const char *take_field(csv *c, const char *p, size_t *length) {
    const char *start, *end = c->text + c->size;
    size_t n = 0;
    while (space(c, *p)) p++;
    start = p;
    if (*p == '"') {
        const char *q = p + 1;
        while (q < end && !(*q == '"' && q[1] != '"')) q += *q == '"' ? 2 : 1;
        if (q >= end)
            fail("%s: line %zu: a quote opens and is never closed", c->file, line_of(c, (size_t)(start - c->text)));
        reserve(c, (size_t)(q - p));
        for (p++; p < q; p++) {
            c->room[n++] = *p;
            p += *p == '"';
        }
        for (p++; space(c, *p);) p++;
        if (!field_end(c, p))
            fail("%s: line %zu: text after a closing quote, expected a delimiter or the end of the line", c->file,
                 line_of(c, (size_t)(p - c->text)));
    } else {
        while (!field_end(c, p)) p++;
        n = (size_t)(p - start);
        while (n > 0 && space(c, start[n - 1])) n--;
        reserve(c, n + 1);
        memcpy(c->room, start, n);
    }
    c->room[n] = 0;
    *length = n;
    return p;
}

static const char *next_line(const csv *c, const char *p) {
    if (*p == '\r' && p[1] == '\n') return p + 2;
    return p < c->text + c->size ? p + 1 : p;
}

static int only_blank_from(const csv *c, const char *p) {
    while (p < c->text + c->size && (*p == '\n' || *p == '\r')) p++;
    return p == c->text + c->size;
}

/* Outside of quotes the most frequent of the three in the first line. */
static char find_delimiter(const char *p) {
    static const char kinds[] = ",;\t";
    size_t count[3] = {0, 0, 0}, best = 0, i;
    int quoted = 0;
    for (; *p != 0 && (quoted || (*p != '\n' && *p != '\r')); p++) {
        if (*p == '"') quoted = !quoted;
        for (i = 0; i < 3; i++) count[i] += !quoted && *p == kinds[i];
    }
    for (i = 1; i < 3; i++)
        if (count[i] > count[best]) best = i;
    return kinds[best];
}

/* ---- the file ------------------------------------------------------------------------------- */

/* The names from the first line, which is passed over only if it is a header. */
static const char *read_names(csv *c, const char *p) {
    const char *first = p;
    size_t room = 16, length, i;
    c->names = allocate(room, sizeof *c->names, "column names");
    for (;; p++) {
        p = take_field(c, p, &length);
        if (c->columns == room) {
            char **more = allocate(2 * room, sizeof *more, "column names");
            memcpy(more, c->names, room * sizeof *more);
            free(c->names);
            c->names = more, room *= 2;
        }
        c->names[c->columns++] = copy_text(c->room, length);
        if (*p != c->delimiter || p == c->text + c->size) break;
    }
    if (c->header) return next_line(c, p);
    for (i = 0; i < c->columns; i++) {
        char name[32];
        int n = snprintf(name, sizeof name, "c%zu", i + 1);
        free(c->names[i]);
        c->names[i] = copy_text(name, (size_t)n);
    }
    return first;
}

static void ragged(csv *c, const char *line, size_t found, const char *p) {
    size_t length;
    for (; *p == c->delimiter; found++) p = take_field(c, p + 1, &length); /* how many there are in all */
    fail("%s: line %zu: %zu field%s, expected %zu as in the %s", c->file, line_of(c, (size_t)(line - c->text)), found,
         found == 1 ? "" : "s", c->columns, c->header ? "header" : "first line");
}

static const char *read_row(csv *c, const char *p, double *values) {
    const char *line = p;
    size_t j;
    for (j = 0;; p++) {
        const char *q;
        while (space(c, *p)) p++;
        q = csv_more_absent.size == 0 ? csv_number(p, &values[j]) : NULL; /* a number may be such a word */
        while (q != NULL && space(c, *q)) q++;
        if (q != NULL && field_end(c, q)) {
            p = q;
            values[j] = csv_fitting(values[j]);
        } else {
            size_t length;
            p = take_field(c, p, &length);
            values[j] = field_value(c->room, length);
        }
        j++;
        if (line_end(c, p)) break;
        if (j == c->columns) ragged(c, line, j, p);
    }
    if (j < c->columns) ragged(c, line, j, p);
    return next_line(c, p);
}

/* A delimiter at the end of every line makes a last column without a name and without a cell: there is none. */
static void drop_empty_column(csv *c) {
    size_t last = c->columns - 1, i, j;
    if (last == 0 || (c->header && *c->names[last] != 0)) return;
    for (i = 0; i < c->rows; i++)
        if (csv_kind(c->values[i * c->columns + last]) != CSV_MISSING || *csv_text(c, i, last) != 0) return;
    for (i = 0; i < c->rows; i++)
        for (j = 0; j < last; j++) c->values[i * last + j] = c->values[i * c->columns + j];
    free(c->names[last]);
    c->columns = last;
}

/* A first line of numbers, and of texts that its columns have again, is hardly a header. */
static void doubt_header(csv *c) {
    size_t numbers = 0, i, j;
    for (j = 0; j < c->columns; j++) numbers += csv_kind(field_value(c->names[j], strlen(c->names[j]))) == CSV_NUMBER;
    for (j = 0; numbers > 0 && j < c->columns; j++) {
        if (csv_kind(field_value(c->names[j], strlen(c->names[j]))) == CSV_NUMBER) continue;
        for (i = 0; i < c->rows && strcmp(csv_text(c, i, j), c->names[j]) != 0; i++) continue;
        if (i == c->rows) return;
    }
    if (numbers > 0) decided(c->file, "line 1 looks like data but is taken as a header: --no-header if it is data");
}

/* 1 if all of it is UTF-8; *several: it has characters of more than one byte; *at: where it is not. */
static int is_utf8(const char *p, const char *end, int *several, const char **at) {
    for (*several = 0, *at = NULL; p < end;) {
        uint32_t code;
        size_t length = ((unsigned char)*p & 0x80) == 0 ? 1 : utf8_read(p, &code);
        if (length == 0 && *at == NULL) *at = p;
        *several |= length > 1;
        p += length > 0 ? length : 1;
    }
    return *at == NULL;
}

/* What Windows-1252 has where Latin-1 has controls; 0: nothing. */
static const uint16_t windows_1252[32] = {0x20ac, 0,      0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021,
                                          0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0,      0x17d,  0,
                                          0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                          0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0,      0x17e,  0x178};

/* A file that is not UTF-8 becomes it, as a whole: every byte was a character. One that is partly UTF-8 is refused. */
static void take_latin(csv *c) {
    text t = {NULL, 0, 0};
    const char *at;
    size_t i;
    int several;
    if (is_utf8(c->text, c->text + c->size, &several, &at)) return;
    if (several)
        fail("%s: line %zu: the byte 0x%02x is no UTF-8, which other parts of the file are; expected one encoding",
             c->file, line_of(c, (size_t)(at - c->text)), (unsigned)(unsigned char)*at);
    for (i = 0; i < c->size; i++) {
        unsigned code = (unsigned char)c->text[i];
        char room[3];
        size_t n = 0;
        if (code >= 0x80 && code < 0xa0 && windows_1252[code - 0x80] != 0) code = windows_1252[code - 0x80];
        if (code < 0x80)
            room[n++] = (char)code;
        else {
            if (code >= 0x800) room[n++] = (char)(0xe0 | code >> 12);
            room[n] = (char)(code >= 0x800 ? 0x80 | (code >> 6 & 0x3f) : 0xc0 | code >> 6), n++;
            room[n++] = (char)(0x80 | (code & 0x3f));
        }
        text_bytes(&t, room, n);
    }
    text_bytes(&t, "", 1);
    note("%s: not UTF-8: taken as Latin-1 (Windows-1252)", c->file);
    free(c->text);
    c->text = t.at, c->size = t.size - 1;
}

/* Images become text, so that nothing else has to know of them. */
static void take_images(csv *c) {
    int labelled;
    text t = idx_table(c->file, c->text, c->size, c->header, &labelled);
    text_bytes(&t, "", 1);
    free(c->text);
    c->text = t.at, c->size = t.size - 1, c->unlabelled = !labelled;
}

/* From c->text to rows. A delimiter that is known stays. */
static void take_text(csv *c) {
    const char *p, *nul, *q;
    size_t most = 1, cells;
    p = c->text;
    if (c->size >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) p += 3;
    if (strncmp(p, "\xff\xfe", 2) == 0 || strncmp(p, "\xfe\xff", 2) == 0)
        fail("%s: line 1: UTF-16, expected UTF-8", c->file);
    if (strncmp(p, "\x1f\x8b", 2) == 0) fail("%s: compressed by gzip, expected text; gunzip it first", c->file);
    nul = memchr(c->text, 0, c->size);
    if (nul != NULL) fail("%s: line %zu: a zero byte, expected text", c->file, line_of(c, (size_t)(nul - c->text)));
    take_latin(c);
    p = c->text + (c->size >= 3 && memcmp(c->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
    if (only_blank_from(c, p))
        fail("%s: the file is empty, expected %s", c->file, c->header ? "a header and rows" : "rows");
    if (*p == '\n' || *p == '\r')
        fail("%s: line 1: an empty line, expected %s", c->file, c->header ? "a header" : "a row");
    if (c->delimiter == 0) c->delimiter = find_delimiter(p);
    p = read_names(c, p);
    c->head = (size_t)(p - c->text);
    for (q = p; (q = strpbrk(q, "\r\n")) != NULL; q++) most++;
    if (most > SIZE_MAX / sizeof *c->values / c->columns) fail("%s: too large", c->file);
    cells = most * c->columns;
    c->starts = allocate(most, sizeof *c->starts, "rows");
    c->values = allocate(cells, sizeof *c->values, "the table");
    while (p < c->text + c->size) {
        if (*p == '\n' || *p == '\r') {
            if (only_blank_from(c, p)) break;
            fail("%s: line %zu: an empty line, expected %zu field%s", c->file, line_of(c, (size_t)(p - c->text)),
                 c->columns, c->columns == 1 ? "" : "s");
        }
        c->starts[c->rows] = (size_t)(p - c->text);
        p = read_row(c, p, c->values + c->rows * c->columns);
        c->rows++;
    }
    if (c->rows == 0) fail("%s: a header only, expected rows below it", c->file);
    c->kinds = allocate(c->columns, 1, "columns");
    c->said = allocate(c->columns, sizeof *c->said, "columns");
    drop_empty_column(c);
    if (c->header) doubt_header(c);
}

void csv_read(csv *c, const char *file, int header) {
    session *s = session_now();
    const array_table *given = s != NULL ? s->table(s, file) : NULL;
    if (given != NULL) {
        csv_of_arrays(c, given);
        return;
    }
    memset(c, 0, sizeof *c);
    c->file = strcmp(file, "-") == 0 ? "standard input" : file;
    c->header = header;
    c->text = file_read(file, &c->size);
    if (idx_begins(c->text, c->size)) take_images(c);
    take_text(c);
}

void csv_of_text(csv *c, const char *file, int header, char delimiter, char *rows, size_t size, size_t *lines) {
    memset(c, 0, sizeof *c);
    c->file = file, c->header = header, c->delimiter = delimiter, c->text = rows, c->size = size;
    take_text(c);
    c->lines = lines;
}

const char *csv_row(const csv *c, size_t row, size_t *length) {
    const char *from = c->text + c->starts[row], *to = c->text + (row + 1 < c->rows ? c->starts[row + 1] : c->size);
    while (to > from && (to[-1] == '\n' || to[-1] == '\r')) to--;
    *length = (size_t)(to - from);
    return from;
}

/* ---- parts ---------------------------------------------------------------------------------- */

#define PART_BYTES ((size_t)4 << 20)

struct csv_parts {
    const char *name;
    int header, whole, end; /* whole: there is one part; end: all bytes were read */
    FILE *in;
    char *bytes; /* read and not given yet */
    size_t size, room;
    char *head; /* the line of the header, with its end; NULL: not known yet */
    size_t head_size, before, given;
    char delimiter;
};

csv_parts *csv_parts_open(const char *file, int header) {
    csv_parts *p = allocate(1, sizeof *p, "a table");
    session *s = session_now();
    p->name = file, p->header = header;
    p->whole = s != NULL; /* what a session has is in memory */
    if (!p->whole) p->in = file_open(file);
    return p;
}

static void read_more(csv_parts *p) {
    while (!p->end && p->size < p->room - 1) {
        size_t n = fread(p->bytes + p->size, 1, p->room - 1 - p->size, p->in);
        p->size += n;
        if (n == 0 && ferror(p->in)) fail("%s: cannot be read", p->name);
        p->end = n == 0;
    }
    p->bytes[p->size] = 0;
}

/* The bytes up to the end of the last whole row, or of the first one; 0: no row is whole. A quote opens a field at its
 * start only. */
static size_t whole_rows(const csv_parts *p, int first, char delimiter) {
    const char *at = p->bytes, *end = p->bytes + p->size, *found = p->bytes;
    int start = 1;
    while (at < end) {
        if (start && *at == '"') {
            for (at++; at < end && *at != '"'; at++) continue; /* two quotes are an end and a start */
            if (at == end) break;
            at++;
            continue;
        }
        start = *at == delimiter || *at == '\n' || *at == '\r' || (start && (*at == ' ' || *at == '\t'));
        if (*at == '\n' || (*at == '\r' && at + 1 < end && at[1] != '\n')) {
            found = at + 1;
            if (first) break;
        }
        at++;
    }
    return (size_t)(found - p->bytes);
}

static size_t lines_in(const char *at, size_t size) {
    size_t count = 0, i;
    for (i = 0; i < size; i++) count += at[i] == '\n' || (at[i] == '\r' && (i + 1 == size || at[i + 1] != '\n'));
    return count;
}

/* Takes the first bytes away. */
static void drop_bytes(csv_parts *p, size_t count) {
    memmove(p->bytes, p->bytes + count, p->size - count);
    p->size -= count;
}

/* Rows are at the start of the bytes: how many bytes of them make up the next part. */
static size_t gather_rows(csv_parts *p) {
    size_t rows;
    if (p->room == 0) p->room = PART_BYTES, p->bytes = allocate(p->room, 1, p->name);
    for (;;) {
        read_more(p);
        rows = p->end ? p->size : whole_rows(p, 0, p->delimiter);
        if (rows > 0 || p->end) return rows;
        p->bytes = realloc(p->bytes, p->room *= 2);
        if (p->bytes == NULL) fail("%s: out of memory: a row of %zu bytes", p->name, p->room / 2);
    }
}

static int is_blank(const char *at, size_t size) {
    size_t i;
    for (i = 0; i < size; i++)
        if (at[i] != '\n' && at[i] != '\r') return 0;
    return 1;
}

int csv_parts_next(csv_parts *p, csv *c) {
    size_t rows;
    int was_quiet = quiet;
    if (p->whole) {
        if (p->given++ == 0) csv_read(c, p->name, p->header);
        return p->given == 1;
    }
    rows = gather_rows(p);
    if (p->given > 0 && is_blank(p->bytes, rows)) return 0;
    memset(c, 0, sizeof *c);
    c->file = strcmp(p->name, "-") == 0 ? "standard input" : p->name, c->header = p->header;
    if (p->given == 0 && idx_begins(p->bytes, p->size)) {
        while (!p->end) {
            p->bytes = realloc(p->bytes, p->room *= 2);
            if (p->bytes == NULL) fail("%s: out of memory", p->name);
            read_more(p);
        }
        c->text = p->bytes, c->size = p->size, p->bytes = NULL, p->whole = 1, p->given = 1;
        take_images(c);
        take_text(c);
        return 1;
    }
    c->size = p->head_size + rows, c->delimiter = p->delimiter, c->before = p->before, c->head = p->head_size;
    c->text = allocate(c->size + 1, 1, p->name);
    if (p->head_size > 0) memcpy(c->text, p->head, p->head_size);
    memcpy(c->text + p->head_size, p->bytes, rows);
    quiet = quiet || p->given > 0;
    take_text(c);
    quiet = was_quiet;
    if (p->given++ == 0) {
        p->delimiter = c->delimiter;
        if (p->header) {
            p->head_size = whole_rows(p, 1, p->delimiter);
            p->head = allocate(p->head_size + 1, 1, "a header");
            memcpy(p->head, p->bytes, p->head_size);
        }
        p->before = lines_in(p->bytes + p->head_size, rows - p->head_size);
    } else
        p->before += lines_in(p->bytes, rows);
    drop_bytes(p, rows);
    return 1;
}

void csv_parts_close(csv_parts *p) {
    if (p->in != NULL && p->in != stdin) fclose(p->in);
    free(p->bytes);
    free(p->head);
    free(p);
}

void csv_free(csv *c) {
    size_t j;
    for (j = 0; j < c->columns; j++) {
        free(c->names[j]);
        if (c->said != NULL) free(c->said[j].at);
    }
    free(c->names);
    free(c->said);
    free(c->starts);
    free(c->values);
    free(c->text);
    free(c->room);
    free(c->kinds);
    free(c->lines);
    memset(c, 0, sizeof *c);
}

csv csv_apart(const csv *c) {
    csv to = *c;
    to.kinds = allocate(c->columns, 1, "columns");
    memcpy(to.kinds, c->kinds, c->columns);
    to.said = allocate(c->columns, sizeof *to.said, "columns");
    to.room = NULL, to.room_size = 0;
    if (c->values != NULL) {
        to.values = allocate(c->rows, c->columns * sizeof *to.values, "the table");
        memcpy(to.values, c->values, c->rows * c->columns * sizeof *to.values);
    }
    return to;
}

void csv_apart_free(csv *c) {
    size_t j;
    for (j = 0; j < c->columns; j++) free(c->said[j].at);
    free(c->said);
    free(c->kinds);
    free(c->room);
    free(c->values);
}

double csv_value(const csv *c, size_t row, size_t column) {
    return c->values != NULL ? c->values[row * c->columns + column] : array_value(&c->arrays[column], row);
}

/* A cell of an array as text. */
static const char *cell_of_array(csv *c, size_t row, size_t column) {
    const array_column *a = &c->arrays[column];
    double value;
    if (a->texts != NULL) return array_text(a, row);
    value = array_number(a, row);
    if (isnan(value)) return "NaN";
    reserve(c, 40);
    snprintf(c->room, c->room_size, "%.17g", value);
    return c->room;
}

const char *csv_text(csv *c, size_t row, size_t column) {
    const char *p = c->text;
    size_t length, j;
    if (c->arrays != NULL) return cell_of_array(c, row, column);
    p += c->starts[row];
    for (j = 0; j < column; j++) { /* past the fields before: without a copy unless there are quotes */
        while (space(c, *p)) p++;
        if (*p == '"')
            p = take_field(c, p, &length);
        else
            while (!field_end(c, p)) p++;
        p++;
    }
    (void)take_field(c, p, &length);
    return c->room;
}

size_t csv_column(const csv *c, const char *name) {
    size_t j;
    for (j = 0; j < c->columns; j++)
        if (strcmp(c->names[j], name) == 0) break;
    return j;
}

const char *csv_like(const csv *c, const char *name, char room[GUESS_ROOM]) {
    guess g = guess_of(name, strlen(name));
    size_t j;
    for (j = 0; j < c->columns; j++) guess_try(&g, c->names[j]);
    return guess_text(&g, room);
}

size_t csv_line(const csv *c, size_t row) {
    if (c->lines != NULL) return c->lines[row];
    return c->arrays != NULL ? row : line_of(c, c->starts[row]);
}

void csv_fail(csv *c, size_t row, size_t column, const char *expected) {
    const char *found = csv_text(c, row, column);
    size_t line = csv_line(c, row);
    const char *place = c->arrays != NULL ? "row" : "line";
    size_t number = c->arrays != NULL ? column : column + 1; /* columns of arrays are counted from 0 */
    if (*found == 0)
        fail("%s: %s %zu, column %zu (%s): expected %s, found nothing", c->file, place, line, number, c->names[column],
             expected);
    fail("%s: %s %zu, column %zu (%s): expected %s, found \"%.*s\"", c->file, place, line, number, c->names[column],
         expected, utf8_fit(found, 60), found);
}

void csv_add(text *t, const char *field) {
    size_t n = strlen(field);
    if (strpbrk(field, ",;\"\r\n\t") == NULL && (n == 0 || (*field != ' ' && field[n - 1] != ' '))) {
        text_bytes(t, field, n);
        return;
    }
    text_bytes(t, "\"", 1);
    for (; *field != 0; field++) {
        if (*field == '"') text_bytes(t, "\"", 1);
        text_bytes(t, field, 1);
    }
    text_bytes(t, "\"", 1);
}
