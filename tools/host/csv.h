/* A CSV file in memory: RFC 4180 quoting, LF or CRLF, UTF-8 with or without BOM, or Latin-1; comma, semicolon or
 * tab. */
#ifndef CSV_H
#define CSV_H

#include "guess.h"
#include "text.h"

#include "rfm.h"

struct array_column;

typedef struct {
    const char *file;
    char *text; /* the file */
    size_t size;
    char delimiter;
    int header;
    int unlabelled; /* 1: images of an IDX file (idx.h) without labels, so that no column is a target */
    size_t rows, columns;
    char **names;                      /* (columns); without a header c1, c2, ... */
    size_t *starts;                    /* (rows) where in the text */
    double *values;                    /* (rows, columns), see csv_kind; NULL: they are in the arrays */
    const struct array_column *arrays; /* (columns) of a caller's memory, arrays.h; NULL: the table is a text */
    unsigned char *kinds;              /* (columns) what column_decode has made of a column, and 1; 0: nothing yet */
    text *said;                        /* (columns) strings: what was decided about each, see column_kind */
    char *room;                        /* of csv_text */
    size_t room_size;
    size_t head, before; /* bytes of the text before its rows; lines of the file between those and these rows */
    size_t *lines;       /* (rows) of the file, where rows were drawn from it; else NULL */
} csv;

#define CSV_NUMBER  0
#define CSV_MISSING 1 /* empty, NaN, or csv_absent */
#define CSV_TEXT    2
#define CSV_HUGE    3 /* an infinity, or a number beyond rfm_real */

/* A text file, images of an IDX file, or a session's table of that name. */
void csv_read(csv *c, const char *file, int header);
void csv_free(csv *c);

/* The same table, for column_decode to change apart from this one, which stays in memory as long. */
csv csv_apart(const csv *c);
void csv_apart_free(csv *c);

/* Rows of files, one after the other with the ends of their lines; the first line is a header or not. The text is taken
 * over, and so are the numbers of the rows' lines. */
void csv_of_text(csv *c, const char *file, int header, char delimiter, char *text, size_t size, size_t *lines);

/* Row i as it is written, without its end. */
const char *csv_row(const csv *c, size_t row, size_t *length);

/* A file in parts of whole rows, so that it need not be in memory. A part is a table of its own, to be freed, with the
 * header of the file. Images and tables of a session are one part. What is said of a table is said of the first
 * part. */
typedef struct csv_parts csv_parts;
csv_parts *csv_parts_open(const char *file, int header);
int csv_parts_next(csv_parts *p, csv *c); /* 0: there are no more */
void csv_parts_close(csv_parts *p);

/* Cell (row, column). */
double csv_value(const csv *c, size_t row, size_t column);

int csv_kind(double value);
double csv_fitting(double value);  /* the same, or what is CSV_HUGE if rfm_real has no place for it */
int csv_absent(const char *field); /* NA, N/A, null, None, ?, -: words for what is missing, in large or small letters */

/* More such words, as they are written, for the files that are read from now on. */
void csv_absent_add(const char *word, size_t length);
void csv_absent_forget(void);         /* a call of a library ends with its memory */
extern __thread text csv_more_absent; /* all of these, each with its 0 */

/* The text of a cell, without its quotes; valid until the next call. */
const char *csv_text(csv *c, size_t row, size_t column);

size_t csv_line(const csv *c, size_t row); /* of the file, from 1; of arrays the row, from 0 */

/* The first column of that name, or c->columns. */
size_t csv_column(const csv *c, const char *name);
const char *csv_like(const csv *c, const char *name, char room[GUESS_ROOM]); /* guess_text of the columns' names */

/* Ends the program: file, line, column, what was expected, what was found. */
void csv_fail(csv *c, size_t row, size_t column, const char *expected) NEVER_RETURNS;

/* A decimal number at p, correctly rounded; the end of it, or NULL if there is none. An overflow gives an infinity. */
const char *csv_number(const char *p, double *value);

/* Adds a field, quoted if it has to be. */
void csv_add(text *t, const char *field);

#endif
