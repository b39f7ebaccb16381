/* Rows with known targets, and how well a model does on them. */
#ifndef SCORE_H
#define SCORE_H

#include "table.h"

typedef struct {
    size_t rows;
    rfm_real *x;      /* (rows, d) raw */
    rfm_real *y;      /* (rows, c) regression */
    uint32_t *labels; /* (rows) classification */
} sample;

/* What the rows of a file have to look like. */
typedef struct {
    const char *target; /* --target, or NULL */
    size_t targets;     /* columns */
    const char *class_names;
    size_t classes;     /* 0: regression */
    int missing_mean;
} sample_form;

/* `x` still has NaN where a cell was missing: sample_impute comes before it is used. */
sample sample_read(csv *c, input_list inputs, size_t target, const sample_form *form, row_list rows);
void sample_impute(rfm_real *x, size_t rows, size_t d, const rfm_real *means);
void sample_free(sample *s);

typedef struct {
    double accuracy, r2, mse;
} score;

/* *saturated, if it is not NULL: inputs outside of what a model of integers was calibrated for; 0 for a model of numbers. */
score score_sample(machine *m, const any_model *model, const sample *s, size_t *saturated);
void score_json(text *t, const score *s, int task);
void score_text(text *t, const score *s, int task, size_t rows);

/* Says how many inputs were outside of what a model of integers was calibrated for; nothing if none. */
void saturated_note(const any_model *model, size_t saturated, size_t rows);

/* Ends the program if the model has no means for --missing mean. */
void model_means(const any_model *model, const char *file);

/* y (rows, c), and the classes (rows) if that is not NULL. A model of integers works on integers and gives the bits that firmware gives;
 * y is then score times unit. */
void predict_any(machine *m, const any_model *model, const rfm_real *x, size_t rows, rfm_real *y, uint32_t *classes, size_t *saturated);

/* y of a model of numbers. */
void predict_rows(machine *m, const rfm_model *model, const rfm_real *x, size_t rows, rfm_real *y);

/* The same for a model of integers, on the calling thread; RFM_OK, or why not. */
int predict_integers(const rfm_model_i *model, const rfm_real *x, size_t rows, rfm_real *y, uint32_t *classes, size_t *saturated);

/* around (c): the sums of squares around the mean. r2 is 1 - error / around, the mean of that for several outputs. */
void target_spread(const rfm_real *y, size_t rows, size_t c, double *around);

#endif
