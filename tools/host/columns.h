/* What the cells of a column mean: numbers in several ways of writing, dates, texts. */
#ifndef COLUMNS_H
#define COLUMNS_H

#include "table.h"

#define COLUMN_NUMBER     0
#define COLUMN_LOOSE      1 /* mostly numbers; every other text counts as missing */
#define COLUMN_COMMA      2 /* 1,5 or 1.234,5 */
#define COLUMN_THOUSANDS  3 /* 1,234.5 */
#define COLUMN_BOOLEAN    4 /* true, false: 1, 0 */
#define COLUMN_DATE       5 /* the year first, or the day first: days since 1970 */
#define COLUMN_DATE_MONTH 6 /* the year first, or the month first */
#define COLUMN_TIME       7 /* of day, in hours */
#define COLUMN_TEXT       8
#define COLUMN_EMPTY      9 /* no value in any row */
#define COLUMN_KINDS      10

extern const char *const column_words[]; /* "numbers", ... */

/* By the cells of these rows. */
int column_kind(csv *c, size_t column, row_list rows);

/* Numbers take the place of texts in c->values; the texts stay. What is not of the kind becomes missing in a loose
 * column, and so does what is no date that exists, with a note; else it stays text, for inputs_fill to refuse. */
void column_decode(csv *c, size_t column, int kind);

/* What a cell of the kind looks like, for a message. */
const char *column_wanted(int kind);

int is_date_kind(int kind);       /* COLUMN_DATE or COLUMN_DATE_MONTH */
double date_month(double days);   /* 1 to 12 */
double date_weekday(double days); /* 0: Monday */
double date_hour(double days);    /* 0 to 24 */

#endif
