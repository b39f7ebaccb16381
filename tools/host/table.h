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

/* An input of a model is made of one column. */
#define INPUT_NUMBER  0
#define INPUT_LEVEL   1 /* 1 where the column has the text `level`, else 0 */
#define INPUT_OTHER   2 /* 1 where it has a text that is no level */
#define INPUT_MISSING 3 /* 1 where the cell is missing */
#define INPUT_MONTH   4 /* parts of a date: 1 to 12 */
#define INPUT_WEEKDAY 5 /* 0: Monday */
#define INPUT_HOUR    6
#define INPUT_CLIPPED 7 /* the number between two others: knots.h */
#define INPUT_RANK    8 /* its rank among the training rows: knots.h */
#define INPUT_WHATS   9

typedef struct {
    size_t column;
    const char *level;          /* of INPUT_LEVEL, else NULL */
    int what, kind;             /* INPUT_...; COLUMN_... of the column, columns.h */
    const unsigned char *knots; /* of INPUT_CLIPPED and INPUT_RANK, knots.h; else NULL */
} input;

typedef struct {
    input *at;
    size_t count;
    char *names; /* `count` strings, one after the other: the column's name, or NAME=LEVEL, or what input_add says */
} input_list;

/* ---- what is decided about a table when it is trained on ---- */

#define MISSING_AUTO   0 /* the mean, or the median of a skewed column; and an input that says where, if that tells */
#define MISSING_MEAN   1
#define MISSING_MEDIAN 2
#define MISSING_ERROR  3

typedef struct {
    int one_hot;             /* every text of a column is an input, up to 1000 */
    int missing;             /* MISSING_... */
    const char *drop, *only; /* NAME[,NAME..], or NULL */
    const size_t *apart;     /* (apart_count) columns that are no inputs: weights, groups, times */
    size_t apart_count;
    const uint32_t *labels; /* (rows) classes; NULL: the targets are numbers */
    size_t classes;
} table_rules;

typedef struct {
    char *at; /* name, reason, name, reason, ... */
    size_t count;
} left_out;

/* The inputs of the columns beside the targets, by what is in these rows; says what is decided. Columns are decoded in
 * the whole file (columns.h). */
input_list inputs_decide(csv *c, size_t target, size_t targets, row_list rows, const table_rules *rules,
                         left_out *left);

/* How each input is made, to be kept with a model: for each u8 what, u8 kind, the column's name and the level, with
 * their 0. Then the same of the targets. To be freed. */
char *recipe_write(const csv *c, const input_list *inputs, size_t target, size_t targets, const int *target_kinds,
                   size_t *bytes);

/* 1 if these bytes are a recipe of so many inputs and targets. */
int recipe_right(const char *recipe, size_t bytes, size_t count, size_t targets);

/* That of the kept ones (`count`, NULL: all) of `all` inputs. To be freed. */
char *recipe_keep(const char *recipe, const size_t *kept, size_t count, size_t all, size_t targets, size_t *bytes);

/* In a few words how input i is made of its column; nothing if it is the column's number. knots: its tables, NULL if
 * there are none. */
void recipe_show(text *t, const char *recipe, const unsigned char *knots, size_t i);

int recipe_kind(const char *recipe, size_t i); /* COLUMN_... of input or target i */
int recipe_what(const char *recipe, size_t i); /* INPUT_... */

/* The recipe from entry i on: a byte INPUT_..., a byte COLUMN_..., the name of the column. */
const char *recipe_at(const char *recipe, size_t i);

/* The names of the columns that inputs are made of, one after the other, each once; how many. To be freed. */
char *recipe_columns(const char *recipe, size_t count, size_t *columns);

/* The inputs that a recipe makes of a file, decoded. Names as the model has them; tables of knots stay where they are.
 */
input_list inputs_of_recipe(csv *c, const char *recipe, const unsigned char *knots, const char *names, size_t count);

/* Rows whose target is missing are left out; how many. text_target: null and None are classes. */
size_t rows_known(csv *c, row_list *rows, size_t target, size_t targets);

/* Rows that miss a cell of these inputs. */
size_t rows_missing(const csv *c, const input_list *inputs, row_list rows);

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
void inputs_fill(csv *c, input_list inputs, row_list rows, int missing_allowed, const double *offset, rfm_real *x);

/* Ends the program if the file has images and no labels. */
void need_labels(const csv *c);

/* The first of `count` target columns: of that name; or without a name the one called target, else the last ones. */
size_t target_find(const csv *c, const char *name, size_t count);

/* A name for target_find when a model's inputs are known and the target was not named: the one column that is no input.
 * NULL if there is a column called target, or several others. */
const char *target_guess(const csv *c, input_list inputs);

/* y (rows.count, count), each less its offset (count; NULL: 0) */
void targets_fill(csv *c, size_t target, size_t count, row_list rows, const double *offset, rfm_real *y);

/* A column's numbers in some rows, and the most that one of them is off as rfm_real. */
typedef struct {
    size_t count;
    double low, high, mean, off;
} column_range;

column_range column_look(const csv *c, size_t column, row_list rows);

/* 1 if rfm_real cannot tell 4096 steps of the spread apart: large numbers that differ little, as times do. */
int column_loses(double off, double spread);

/* 1 if a target is a class by the rule of --task auto: text; two or three different integers; or 0..c-1 or 1..c, all
 * there, c <= 20, unless they look like counts: fewer and fewer of them towards the end. */
int target_is_class(csv *c, size_t target, row_list rows);

/* The different labels in order, strings one after the other; and the class of every row. */
char *classes_find(csv *c, size_t target, row_list rows, size_t *count);
#define CLASS_UNKNOWN UINT32_MAX
uint32_t *classes_of(csv *c, size_t target, row_list rows, const char *names, size_t count);

#endif
