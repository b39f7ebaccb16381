/* Rows with known targets, and how well a model does on them. */
#ifndef SCORE_H
#define SCORE_H

#include "host/host.h"

/* Columns that rfm_real would lose are moved: an offset is taken out of them. A model of such rows has that offset,
 * rounded to an rfm_real, as its shift, or as its offset for a target; its record has it with all digits. */
typedef struct {
    double *x, *y; /* (d), (targets); NULL: nothing is moved */
} offsets;

typedef struct {
    size_t rows;
    rfm_real *x;      /* (rows, d) raw, less moved.x */
    rfm_real *y;      /* (rows, c) regression, less moved.y */
    uint32_t *labels; /* (rows) classification */
    offsets moved;
} sample;

/* What is done about a column that loses; it is said by name. */
#define LOSS_MOVED   0 /* an offset is taken out */
#define LOSS_STAYS   1 /* it is only said */
#define LOSS_REFUSED 2

/* For training (like NULL) by the means of the rows; else those of a model's record, or where it has none by its shift
 * and its offset. targets 0: only inputs. */
offsets offsets_find(const csv *c, const input_list *inputs, size_t target, size_t targets, row_list rows,
                     const any_model *like, int loss);
/* Of the targets only: inputs stay as they are. */
offsets offsets_of_targets(const csv *c, size_t target, size_t targets, row_list rows, const any_model *like);
offsets offsets_copy(const offsets *o, size_t d, size_t targets);

/* What the rows of a file have to look like. */
typedef struct {
    const char *target;       /* --target, or NULL */
    size_t targets;           /* columns */
    const char *target_names; /* of these, one after the other; NULL: not known */
    const char *class_names;
    size_t classes; /* 0: regression */
    int missing_mean;
} sample_form;

size_t form_outputs(const sample_form *form); /* c of a model of such rows */

/* The form of the rows that a model was trained on. */
sample_form form_of_model(const any_model *model, const char *model_file, const char *target, int missing_mean);

/* `x` still has NaN where a cell was missing: sample_impute comes before it is used. */
sample sample_read(csv *c, input_list inputs, size_t target, const sample_form *form, row_list rows,
                   offsets moved);                                /* takes them over */
size_t sample_impute(sample *s, size_t d, const rfm_real *means); /* returns how many cells */

/* The model for moved rows; *room is to be freed. */
any_model any_moved(const any_model *model, const offsets *moved, rfm_real **room);
void sample_free(sample *s);

typedef struct {
    double accuracy, r2, mse;
} score;

/* Of predictions y (rows, c) and, for labels, their classes. */
score score_of(const sample *s, size_t c, const rfm_real *y, const uint32_t *classes);
double main_score(const score *s, int task); /* accuracy or r2 */

/* *saturated, if it is not NULL: inputs outside of what a model of integers was calibrated for; 0 for a model of
 * numbers. */
score score_sample(machine *m, const any_model *model, const sample *s, size_t *saturated);
/* The names of the columns that the inputs are made of, if the model knows them. */
void columns_json(text *t, const any_model *model);

void score_json(text *t, const score *s, int task);
void score_text(text *t, const score *s, int task, size_t rows, const char *kind); /* kind: "test rows" */

/* A number for each row (rows) of filled inputs, of the d that are kept (NULL: the first d) of `columns`, and its
 * target. To be freed. */
uint32_t *sample_prints(const sample *s, size_t columns, const size_t *kept, size_t d, size_t c);

/* These in order, as an entry of a record. */
void record_add_rows(text *record, uint32_t *prints, size_t count);

/* How many rows of filled inputs the model was trained on: by the fingerprints of its record, or else by its centres,
 * if all training rows are. SIZE_MAX: not known. Those have a 1 in seen (rows), if it is not NULL. */
size_t rows_seen(const any_model *model, const sample *s, unsigned char *seen);

/* Only the rows i with mark[i] == wanted stay; d inputs and c targets each. */
void sample_keep(sample *s, size_t d, size_t c, const unsigned char *mark, int wanted);

/* Says how many inputs were outside of what a model of integers was calibrated for; nothing if none. */
void saturated_note(const any_model *model, size_t saturated, size_t rows);

/* The rows of a file with known targets, as a model takes them. */
typedef struct {
    csv file;
    input_list inputs;
    sample_form form;
    size_t column; /* the first target */
} model_table;

/* Without a name the target is the column that the model was trained on, or what target_guess says. */
void model_table_read(model_table *t, const any_model *model, const char *model_file, const char *data, int header,
                      const char *target, int missing_mean);
offsets model_table_offsets(const model_table *t, row_list rows, const any_model *model);
void model_table_free(model_table *t);

/* The inputs of a model in a file: by its recipe, or else by names or places. Words that it takes as missing have to be
 * known before the file is read: record_absent. */
input_list model_inputs(csv *c, const any_model *model, const char *target, size_t targets);

/* Those that the split marks; all if there is none. Rows without a target are left out, and it is said how many. */
row_list rows_to_score(csv *c, const char *split, size_t target, size_t targets);
void say_unknown(const csv *c, size_t count); /* rows without a target */

extern const char *const missing_words[]; /* of --missing, in the order of MISSING_... */

/* 1 if missing cells become the means that a model has, of integers in its record: that is what --missing says, or what
 * can be done without it. Ends the program if means are asked for and there are none. */
int fills_missing(const any_model *model, const char *model_file, const char *word);

/* sample_impute with the means of a model. The first returns how many cells, the second says it. */
size_t sample_filled(sample *s, const any_model *model);
void sample_fill(sample *s, const any_model *model, const char *data);
void say_filled(size_t count, const char *data); /* what that says of so many cells */

/* y (rows, c), and the classes (rows) if that is not NULL. A model of integers works on integers and gives the bits
 * that firmware gives; y is then score times unit. */
void predict_any(machine *m, const any_model *model, const rfm_real *x, size_t rows, rfm_real *y, uint32_t *classes,
                 size_t *saturated);

/* Ends the program where rows x (rows, d) cannot be predicted, which tries() says of some of them by its status: the
 * first that cannot is named, and the column of the input without which it can. `middle` (d): what is always right for
 * an input; NULL: zeros. */
typedef struct {
    csv *file;
    const input_list *inputs;
    row_list rows;
    const rfm_real *x, *middle;
    int (*tries)(void *arg, const rfm_real *x, size_t rows);
    void *arg;
} failed_rows;
void rows_fail(const failed_rows *f) NEVER_RETURNS;

/* The same for a model of integers, on the calling thread; RFM_OK, or why not. A tiny model of classes has no units: y
 * are its integers. */
int predict_integers(const rfm_model_i *model, const rfm_real *x, size_t rows, rfm_real *y, uint32_t *classes,
                     size_t *saturated);
int predict_filters(const rfm_filters *model, const rfm_real *x, size_t rows, rfm_real *y, uint32_t *classes,
                    size_t *saturated);
int predict_tiny(const rfm_tiny *model, const rfm_real *x, size_t rows, rfm_real *y, uint32_t *classes,
                 size_t *saturated);

/* How many digits of an output are printed, with an offset that was added as double. */
int output_digits(double offset);

/* Do outputs of a spread lose digits when a model's offset is added as rfm_real? */
int output_loses(double offset, double spread);

/* What a model says of every row of a table. */
typedef struct {
    input_list inputs;
    sample s;           /* inputs as the next one takes them */
    any_model moved;    /* the model for them; `room` is its memory */
    rfm_real *y, *room; /* y: (rows, c) */
    double *added;    /* (c) to be added to y as double; NULL: nothing */
    uint32_t *classes;  /* (rows) */
} predictions;

/* fills: missing cells become what they became in training; else they are refused. */
predictions predict_table(machine *m, const any_model *model, csv *file, int fills);
void predictions_free(predictions *p);

#endif
