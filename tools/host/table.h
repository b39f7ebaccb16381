/* From the cells of a file to the numbers of a model: which columns are inputs, which are targets, what classes there
 * are. */
#ifndef TABLE_H
#define TABLE_H

#include "csv.h"

/* Rows of a file, by number. */
typedef struct {
    size_t *at;
    size_t count;
} row_list;

#define USE_TRAIN 0
#define USE_TEST  1
#define USE_NONE  2

/* (rows) one of USE_...: the lines of a split file, or all `otherwise` if there is none. */
unsigned char *split_read(const char *file, const csv *c, unsigned char otherwise);
row_list rows_of(const csv *c, const unsigned char *use, unsigned char which);

/* So many of the rows, drawn with the seed, in their old order. */
void rows_draw(row_list *rows, size_t count, uint64_t seed);

/* An input of a model: a number from a column, or 1 where the column has the text `level` and else 0. */
typedef struct {
    size_t column;
    const char *level; /* NULL: the number */
} input;

typedef struct {
    input *at;
    size_t count;
    char *names; /* `count` strings, one after the other: the column's name, or NAME=LEVEL */
} input_list;

/* Every column but the targets. A text column is one-hot coded if that is wanted. */
input_list inputs_of_file(csv *c, size_t target, size_t targets, row_list rows, int one_hot);

/* The columns that have these names; by position if the file has no header. */
input_list inputs_of_names(csv *c, const char *names, size_t count);

/* The same for a model that may have no names: then its `count` columns in their order, beside which there may be the
 * targets, found as target_find has it. */
input_list inputs_of_model(csv *c, const char *names, size_t count, const char *target, size_t targets);

void inputs_free(input_list *inputs);

/* x (rows.count, inputs.count), each less its offset (inputs.count; NULL: 0); missing cells become NaN if they are
 * allowed. */
void inputs_fill(csv *c, input_list inputs, row_list rows, int missing_allowed, const rfm_real *offset, rfm_real *x);

/* Ends the program if the file has images and no labels. */
void need_labels(const csv *c);

/* The first of `count` target columns: of that name; or without a name the one called target, else the last ones. */
size_t target_find(const csv *c, const char *name, size_t count);

/* A name for target_find when a model's inputs are known and the target was not named: the one column that is no input.
 * NULL if there is a column called target, or several others. */
const char *target_guess(const csv *c, input_list inputs);

/* y (rows.count, count), each less its offset (count; NULL: 0) */
void targets_fill(csv *c, size_t target, size_t count, row_list rows, const rfm_real *offset, rfm_real *y);

/* A column's numbers in some rows, and the most that one of them is off as rfm_real. */
typedef struct {
    size_t count;
    double low, high, mean, off;
} column_range;

column_range column_look(const csv *c, size_t column, row_list rows);

/* 1 if rfm_real cannot tell 4096 steps of the spread apart: large numbers that differ little, as times do. */
int column_loses(double off, double spread);

/* 1 if a target is a class by the rule of --task auto: text, or the integers 0..c-1 (2 <= c <= 20, all there), or -1
 * and 1. */
int target_is_class(csv *c, size_t target, row_list rows);

/* The different labels in order, strings one after the other; and the class of every row. */
char *classes_find(csv *c, size_t target, row_list rows, size_t *count);
#define CLASS_UNKNOWN UINT32_MAX
uint32_t *classes_of(csv *c, size_t target, row_list rows, const char *names, size_t count);

#endif
