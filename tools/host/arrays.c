#include "arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double array_number(const array_column *a, size_t row) {
    const char *at = (const char *)a->at + (ptrdiff_t)row * a->step;
#define LOAD(number, type)                \
    case number: {                        \
        type value;                       \
        memcpy(&value, at, sizeof value); \
        return (double)value;             \
    }
    switch (a->type) {
        LOAD(ARRAY_F32, float)
        LOAD(ARRAY_F64, double)
        LOAD(ARRAY_I8, int8_t)
        LOAD(ARRAY_U8, uint8_t)
        LOAD(ARRAY_I16, int16_t)
        LOAD(ARRAY_U16, uint16_t)
        LOAD(ARRAY_I32, int32_t)
        LOAD(ARRAY_U32, uint32_t)
        LOAD(ARRAY_I64, int64_t)
        LOAD(ARRAY_U64, uint64_t)
    default: return (double)NAN;
    }
#undef LOAD
}

double array_value(const array_column *a, size_t row) {
    double value = array_number(a, row);
    return a->texts != NULL ? a->values[(size_t)value] : isnan(value) ? value : csv_fitting(value);
}

const char *array_text(const array_column *a, size_t row) { return a->texts[(size_t)array_number(a, row)]; }

void csv_of_arrays(csv *c, const array_table *table) {
    size_t j;
    memset(c, 0, sizeof *c);
    c->file = table->name, c->header = table->header, c->delimiter = ',';
    c->rows = table->rows, c->columns = table->columns, c->arrays = table->column;
    c->names = allocate(c->columns, sizeof *c->names, "column names");
    for (j = 0; j < c->columns; j++) c->names[j] = copy_text(table->column[j].name, strlen(table->column[j].name));
    c->kinds = allocate(c->columns, 1, "columns");
    c->said = allocate(c->columns, sizeof *c->said, "columns");
}
