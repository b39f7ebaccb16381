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

score score_sample(machine *m, const rfm_model *model, const sample *s);
void score_json(text *t, const score *s, int task);
void score_text(text *t, const score *s, int task, size_t rows);

/* y (rows, c) */
void predict_rows(machine *m, const rfm_model *model, const rfm_real *x, size_t rows, rfm_real *y);

#endif
