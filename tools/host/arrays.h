/* A table in the memory of a caller. Nothing of it is copied. */
#ifndef ARRAYS_H
#define ARRAYS_H

#include "csv.h"

#define ARRAY_F32   0
#define ARRAY_F64   1
#define ARRAY_I8    2
#define ARRAY_U8    3
#define ARRAY_I16   4
#define ARRAY_U16   5
#define ARRAY_I32   6
#define ARRAY_U32   7
#define ARRAY_I64   8
#define ARRAY_U64   9
#define ARRAY_TYPES 10

typedef struct array_column {
    const void *at; /* of row 0, aligned or not */
    ptrdiff_t step; /* bytes from one row to the next, of any sign */
    int type;       /* ARRAY_... */
    const char *name;
    /* A column of texts has the numbers of its texts, and these: */
    const char *const *texts; /* NULL: a column of numbers */
    const double *values;     /* what csv_value says of each text */
} array_column;

typedef struct array_table {
    const char *name; /* for messages */
    int header;       /* 0: the names of the columns are made up */
    size_t rows, columns;
    const array_column *column;
} array_table;

/* Opens it as csv_read opens a file. */
void csv_of_arrays(csv *c, const array_table *table);

/* Cell `row`: a number, or as csv_kind has it. */
double array_value(const array_column *a, size_t row);

double array_number(const array_column *a, size_t row);    /* as it stands there */
const char *array_text(const array_column *a, size_t row); /* of a column of texts */

#endif
