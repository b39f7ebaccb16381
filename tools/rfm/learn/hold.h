/* Which rows are held out: at random, whole groups, or the last ones in time. */
#ifndef HOLD_H
#define HOLD_H

#include "host/host.h"

typedef struct {
    size_t rows;
    const uint32_t *labels; /* (rows) classes, each with its share in every part; NULL: none */
    size_t classes;
    const uint32_t *groups; /* (rows) 0 .. group_count - 1, none of them in two parts; NULL: none */
    size_t group_count;
    const double *times; /* (rows) what is held out comes later than the rest; NULL: none */
    uint64_t seed;
} hold_rules;

/* held (rows): 1 for about `count` rows, at least one and not all. Returns how many. */
size_t hold_out(const hold_rules *h, size_t count, unsigned char *held);

/* fold (rows): 0 .. folds - 1. With times the rows are cut into folds + 1 pieces, 0 .. folds: piece f + 1 is held out
 * from a fit to the pieces before it. */
void hold_folds(const hold_rules *h, size_t folds, size_t *fold);

/* Rows to fit and rows to score of fold f; counts may be 0. */
void hold_part(const hold_rules *h, const size_t *fold, size_t f, uint32_t *fit, size_t *fit_count, uint32_t *held,
               size_t *held_count);

/* Groups by the texts of a column. To be freed. */
uint32_t *column_groups(csv *c, size_t column, row_list rows, size_t *count);

/* Numbers or dates of a column, decoded; a cell without one ends the program. To be freed. */
double *column_times(csv *c, size_t column, row_list rows);

/* Not negative, and one of them above 0; else the program ends. To be freed. */
rfm_real *column_weights(csv *c, size_t column, row_list rows);

#endif
