#include "score.h"

#include <math.h>
#include <stdlib.h>

#define ROWS_AT_ONCE 8192

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

void predict_rows(machine *m, const rfm_model *model, const rfm_real *x, size_t rows, rfm_real *y) {
    size_t first, count, bytes = 0;
    int status = rows == 0 ? RFM_OK : rfm_predict_need(&m->ctx, model, rows < ROWS_AT_ONCE ? rows : ROWS_AT_ONCE, &bytes);
    if (rows == 0) return;
    if (status == RFM_OK) machine_memory(m, bytes, "predictions");
    for (first = 0; status == RFM_OK && first < rows; first += count) {
        count = rows - first < ROWS_AT_ONCE ? rows - first : ROWS_AT_ONCE;
        status = rfm_predict(&m->ctx, model, rfm_cview(x + first * model->d, count, model->d), rfm_view(y + first * model->c, count, model->c));
    }
    if (status != RFM_OK) fail("cannot predict: %s", rfm_status_text(status));
}

score score_sample(machine *m, const rfm_model *model, const sample *s) {
    score result = {0, 0, 0};
    size_t c = model->c, i, k, right = 0;
    rfm_real *y = allocate(s->rows, c * sizeof *y, "predictions");
    predict_rows(m, model, s->x, s->rows, y);
    if (s->labels != NULL) {
        for (i = 0; i < s->rows; i++) right += rfm_class(model, y + i * c, NULL) == s->labels[i];
        result.accuracy = s->rows > 0 ? (double)right / (double)s->rows : 0;
    } else {
        for (k = 0; k < c && s->rows > 0; k++) {
            double mean = 0, around = 0, error = 0, size = 0;
            for (i = 0; i < s->rows; i++) mean += (double)s->y[i * c + k] / (double)s->rows;
            for (i = 0; i < s->rows; i++) {
                double target = (double)s->y[i * c + k], off = target - (double)y[i * c + k];
                around += (target - mean) * (target - mean);
                error += off * off;
                size += target * target;
            }
            result.mse += error / ((double)s->rows * (double)c);
            /* equal targets: what is around their mean is rounding */
            result.r2 += (around > 1e-13 * size ? 1 - error / around : error > 1e-13 * size ? 0 : 1) / (double)c;
        }
    }
    free(y);
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
