#include "score.h"

#include <math.h>
#include <stdlib.h>

#define ROWS_AT_ONCE 8192

size_t form_outputs(const sample_form *form) {
    return form->classes == 0 ? form->targets : form->classes == 2 ? 1 : form->classes;
}

sample_form form_of_model(const rfm_model *model, const char *model_file, const char *target, int missing_mean) {
    sample_form form;
    form.target = target;
    form.classes = model_classes(model);
    form.class_names = model->class_names;
    form.targets = form.classes > 0 ? 1 : model->c;
    form.missing_mean = missing_mean;
    if (form.classes > 0 && form.class_names == NULL) fail("%s: expected a model that has class names", model_file);
    return form;
}

void model_table_read(model_table *t, const rfm_model *model, const char *model_file, const char *data, int header,
                      const char *target, int missing_mean) {
    t->form = form_of_model(model, model_file, target, missing_mean);
    csv_read(&t->file, data, header);
    t->inputs = inputs_of_model(&t->file, model->input_names, model->d, target, t->form.targets);
    if (target == NULL && t->form.targets == 1) target = target_guess(&t->file, t->inputs);
    t->column = target_find(&t->file, target, t->form.targets);
}

void model_table_free(model_table *t) {
    csv_free(&t->file);
    inputs_free(&t->inputs);
}

row_list rows_to_score(const csv *c, const char *split) {
    unsigned char *use = split_read(split, c, USE_TEST);
    row_list rows = rows_of(c, use, USE_TEST);
    if (rows.count == 0) fail("%s: no row is marked 1 (test), expected at least one", split);
    free(use);
    return rows;
}

sample sample_read(csv *c, input_list inputs, size_t target, const sample_form *form, row_list rows) {
    sample s;
    s.rows = rows.count;
    s.x = allocate(rows.count, inputs.count * sizeof *s.x, "inputs");
    s.y = NULL, s.labels = NULL;
    inputs_fill(c, inputs, rows, form->missing_mean, s.x);
    if (form->classes > 0) {
        s.labels = classes_of(c, target, rows, form->class_names, form->classes);
    } else {
        s.y = allocate(rows.count, form->targets * sizeof *s.y, "targets");
        targets_fill(c, target, form->targets, rows, s.y);
    }
    return s;
}

void sample_impute(rfm_real *x, size_t rows, size_t d, const rfm_real *means) {
    size_t i, j;
    for (i = 0; i < rows; i++)
        for (j = 0; j < d; j++)
            if (isnan(x[i * d + j])) x[i * d + j] = means[j];
}

void sample_free(sample *s) {
    free(s->x);
    free(s->y);
    free(s->labels);
}

int predict_integers(const rfm_model_i *model, const rfm_real *x, size_t rows, rfm_real *y, uint32_t *classes, size_t *saturated) {
    size_t d = model->d, c = model->c, i, k;
    int16_t *xi = allocate(d, sizeof *xi, "inputs"), *scratch = allocate(RFM_PREDICT_I_SCRATCH(d, model->r), sizeof *scratch, "scratch");
    int32_t *scores = allocate(c, sizeof *scores, "scores");
    int status = RFM_OK;
    *saturated = 0;
    for (i = 0; i < rows && status == RFM_OK; i++) {
        rfm_notes_i notes;
        status = rfm_input_integers(model, x + i * d, xi);
        if (status == RFM_OK) status = rfm_predict_i(model, xi, scores, scratch, NULL, &notes);
        if (status != RFM_OK) break;
        for (k = 0; k < c; k++) y[i * c + k] = (rfm_real)((double)scores[k] * (double)model->units[k]);
        if (classes != NULL) classes[i] = (uint32_t)rfm_class_i(model, scores);
        *saturated += notes.saturated;
    }
    free(xi);
    free(scratch);
    free(scores);
    return status;
}

static int numbers_of_rows(machine *m, const rfm_model *model, const rfm_real *x, size_t rows, rfm_real *y) {
    size_t first, count, bytes = 0;
    int status = rfm_predict_need(&m->ctx, model, rows < ROWS_AT_ONCE ? rows : ROWS_AT_ONCE, &bytes);
    if (status == RFM_OK) machine_memory(m, bytes, "predictions");
    for (first = 0; status == RFM_OK && first < rows; first += count) {
        count = rows - first < ROWS_AT_ONCE ? rows - first : ROWS_AT_ONCE;
        status = rfm_predict(&m->ctx, model, rfm_cview(x + first * model->d, count, model->d), rfm_view(y + first * model->c, count, model->c));
    }
    return status;
}

void predict_any(machine *m, const any_model *model, const rfm_real *x, size_t rows, rfm_real *y, uint32_t *classes, size_t *saturated) {
    size_t i, none = 0;
    int status;
    if (saturated == NULL) saturated = &none;
    *saturated = 0;
    if (rows == 0) return;
    if (has_integers(model)) status = predict_integers(&model->integers, x, rows, y, classes, saturated);
    else {
        status = numbers_of_rows(m, &model->numbers, x, rows, y);
        for (i = 0; status == RFM_OK && classes != NULL && i < rows; i++) classes[i] = (uint32_t)rfm_class(&model->numbers, y + i * model->numbers.c, NULL);
    }
    if (status != RFM_OK) fail("cannot predict: %s", rfm_status_text(status));
}

void predict_rows(machine *m, const rfm_model *model, const rfm_real *x, size_t rows, rfm_real *y) {
    any_model any = any_of_numbers(model);
    predict_any(m, &any, x, rows, y, NULL, NULL);
}

void saturated_note(const any_model *model, size_t saturated, size_t rows) {
    if (saturated > 0)
        note("%zu of %zu inputs were outside of the range that the model was calibrated for; they were taken as its end (rfm info shows the ranges)", saturated,
             rows * model->numbers.d);
}

void model_means(const any_model *model, const char *file) {
    if (has_integers(model)) fail("%s: a model of integers has no means for --missing mean; expected data without missing cells", file);
}

score score_of(const sample *s, size_t c, const rfm_real *y, const uint32_t *classes) {
    score result = {0, 0, 0};
    double *around = allocate(c, sizeof *around, "statistics");
    size_t i, k, right = 0;
    if (s->labels != NULL) {
        for (i = 0; i < s->rows; i++) right += classes[i] == s->labels[i];
        result.accuracy = s->rows > 0 ? (double)right / (double)s->rows : 0;
    } else {
        target_spread(rfm_cview(s->y, s->rows, c), around);
        for (k = 0; k < c && s->rows > 0; k++) {
            double error = 0, size = 0;
            for (i = 0; i < s->rows; i++) {
                double target = (double)s->y[i * c + k], off = target - (double)y[i * c + k];
                error += off * off;
                size += target * target;
            }
            result.mse += error / ((double)s->rows * (double)c);
            /* equal targets: what is around their mean is rounding */
            result.r2 += (around[k] > 1e-13 * size ? 1 - error / around[k] : error > 1e-13 * size ? 0 : 1) / (double)c;
        }
    }
    free(around);
    return result;
}

double main_score(const score *s, int task) { return task == RFM_CLASSIFY ? s->accuracy : s->r2; }

score score_sample(machine *m, const any_model *model, const sample *s, size_t *saturated) {
    size_t c = model->numbers.c;
    rfm_real *y = allocate(s->rows, c * sizeof *y, "predictions");
    uint32_t *classes = allocate(s->rows, sizeof *classes, "predictions");
    score result;
    predict_any(m, model, s->x, s->rows, y, classes, saturated);
    result = score_of(s, c, y, classes);
    free(y);
    free(classes);
    return result;
}

void score_json(text *t, const score *s, int task) {
    if (task == RFM_CLASSIFY) json_number(t, "accuracy", s->accuracy);
    else {
        json_number(t, "r2", s->r2);
        json_number(t, "mse", s->mse);
    }
}

void score_text(text *t, const score *s, int task, size_t rows) {
    if (task == RFM_CLASSIFY) text_add(t, "accuracy      %.2f %% of %zu test rows\n", 100 * s->accuracy, rows);
    else text_add(t, "r2            %.4f on %zu test rows, mean squared error %.6g\n", s->r2, rows, s->mse);
}
