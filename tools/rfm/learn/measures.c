#include "measures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_PROBABILITY 1e-15
#define MOST_SHOWN        12 /* classes of a confusion matrix as text */

const char *const tune_words[] = {"accuracy", "balanced", "f1", "auc", "logloss", "r2", "rmse", "mae", NULL};

double model_temperature(const any_model *model) {
    return model->numbers.temperature > 0 ? (double)model->numbers.temperature : model->record.temperature;
}

void probabilities(const rfm_real *y, size_t c, double temperature, double *p) {
    double most = (double)y[0], total = 0;
    size_t k;
    if (c == 1) {
        p[1] = 1 / (1 + exp(-2 * (double)y[0] / temperature));
        p[0] = 1 / (1 + exp(2 * (double)y[0] / temperature));
        return;
    }
    for (k = 1; k < c; k++) most = fmax(most, (double)y[k]);
    for (k = 0; k < c; k++) total += p[k] = exp(((double)y[k] - most) / temperature);
    for (k = 0; k < c; k++) p[k] /= total;
}

/* ---- classes -------------------------------------------------------------------------------- */

typedef struct {
    double key;
    int positive;
} ranked;

static int by_key(const void *a, const void *b) {
    double x = ((const ranked *)a)->key, y = ((const ranked *)b)->key;
    return (x > y) - (x < y);
}

/* The probability that a row of the class is above one of another, equal ones counting half: by the sum of ranks. */
static double auc_of(ranked *rows, size_t n) {
    size_t first, i, end, positive = 0;
    double ranks = 0;
    qsort(rows, n, sizeof *rows, by_key);
    for (first = 0; first < n; first = end) { /* equal ones share the mean of their ranks first + 1 .. end */
        for (end = first + 1; end < n && rows[end].key == rows[first].key; end++) continue;
        for (i = first; i < end; i++)
            if (rows[i].positive) positive++, ranks += ((double)first + 1 + (double)end) / 2;
    }
    if (positive == 0 || positive == n) return (double)NAN;
    return (ranks - (double)positive * ((double)positive + 1) / 2) / ((double)positive * (double)(n - positive));
}

static void rates(measures *m) {
    size_t c = m->classes, i, k, present = 0;
    double recall = 0, f1 = 0;
    for (k = 0; k < c; k++) {
        double row = 0, column = 0, right = (double)m->confusion[k * c + k];
        for (i = 0; i < c; i++) row += (double)m->confusion[k * c + i], column += (double)m->confusion[i * c + k];
        if (row > 0) recall += right / row;
        if (row + column > 0 && (c > 2 || k == 1)) f1 += 2 * right / (row + column);
        present += row > 0;
        m->baseline = fmax(m->baseline, row / (double)m->rows);
    }
    m->balanced = present > 0 ? recall / (double)present : (double)NAN;
    m->f1 = c == 2 ? f1 : f1 / (double)c;
}

/* Mean over the classes that are there; with two only the second. p (rows, classes). */
static double mean_auc(const sample *s, size_t classes, const double *p) {
    ranked *rows = allocate(s->rows, sizeof *rows, "ranks");
    double sum = 0;
    size_t k, i, n, count = 0;
    for (k = classes == 2 ? 1 : 0; k < classes; k++) {
        double one;
        for (i = n = 0; i < s->rows; i++) {
            if (s->labels[i] == CLASS_UNKNOWN) continue;
            rows[n].key = p[i * classes + k], rows[n++].positive = s->labels[i] == k;
        }
        one = auc_of(rows, n);
        if (!isnan(one)) sum += one, count++;
    }
    free(rows);
    return count > 0 ? sum / (double)count : (double)NAN;
}

static void of_classes(measures *m, const sample *s, size_t c, const rfm_real *y, const uint32_t *predicted,
                       double temperature) {
    size_t n = s->rows, classes = m->classes, i, k, right = 0, known = 0;
    double *p = allocate(n, classes * sizeof *p, "probabilities"), loss = 0, brier = 0;
    m->confusion = allocate(classes, classes * sizeof *m->confusion, "the confusion");
    for (i = 0; i < n; i++) {
        if (temperature > 0)
            probabilities(y + i * c, c, temperature, p + i * classes);
        else
            for (k = 0; k < classes; k++)
                p[i * classes + k] = c > 1 ? (double)y[i * c + k] : k == 1 ? (double)y[i] : -(double)y[i];
        right += predicted[i] == s->labels[i];
        if (s->labels[i] == CLASS_UNKNOWN) continue;
        known++;
        m->confusion[s->labels[i] * classes + predicted[i]]++;
        loss -= log(fmax(p[i * classes + s->labels[i]], LEAST_PROBABILITY));
        for (k = classes == 2 ? 1 : 0; k < classes; k++) {
            double off = p[i * classes + k] - (s->labels[i] == k);
            brier += off * off;
        }
    }
    m->accuracy = (double)right / (double)n;
    rates(m);
    m->auc = mean_auc(s, classes, p);
    m->log_loss = temperature > 0 && known > 0 ? loss / (double)known : (double)NAN;
    m->brier = temperature > 0 && known > 0 ? brier / (double)known : (double)NAN;
    free(p);
}

/* ---- all ------------------------------------------------------------------------------------ */

static void of_numbers(measures *m, const sample *s, size_t c, const rfm_real *y) {
    score plain = score_of(s, c, y, NULL);
    size_t i;
    m->r2 = plain.r2, m->mse = plain.mse, m->rmse = sqrt(plain.mse);
    for (i = 0; i < s->rows * c; i++) m->mae += fabs((double)s->y[i] - (double)y[i]) / (double)(s->rows * c);
}

measures measures_of(const sample *s, size_t classes, size_t c, const rfm_real *y, const uint32_t *predicted,
                     double temperature) {
    measures m;
    memset(&m, 0, sizeof m);
    m.rows = s->rows, m.classes = classes;
    if (s->rows == 0) return m;
    if (classes > 0)
        of_classes(&m, s, c, y, predicted, temperature);
    else
        of_numbers(&m, s, c, y);
    return m;
}

measures measures_sample(machine *machine_of, const any_model *model, const sample *s, size_t *saturated) {
    size_t c = model->numbers.c;
    rfm_real *y = allocate(s->rows, c * sizeof *y, "predictions"), *room;
    uint32_t *predicted = allocate(s->rows, sizeof *predicted, "predictions");
    any_model moved = any_moved(model, &s->moved, &room);
    measures m;
    predict_any(machine_of, &moved, s->x, s->rows, y, predicted, saturated);
    m = measures_of(s, model_classes(&model->numbers), c, y, predicted, model_temperature(model));
    free(room);
    free(y);
    free(predicted);
    return m;
}

void measures_free(measures *m) { free(m->confusion); }

double measures_tuned(const measures *m, int tune) {
    const double of[] = {m->accuracy, m->balanced, m->f1, m->auc, -m->log_loss, m->r2, -m->rmse, -m->mae};
    return of[tune];
}

void measures_json(text *t, const measures *m) {
    text rows = {NULL, 0, 0};
    size_t i, k;
    if (m->classes == 0) {
        json_number(t, "r2", m->r2);
        json_number(t, "mse", m->mse);
        json_number(t, "rmse", m->rmse);
        json_number(t, "mae", m->mae);
        return;
    }
    json_number(t, "accuracy", m->accuracy);
    json_number(t, "balanced_accuracy", m->balanced);
    json_number(t, "f1", m->f1);
    json_number(t, "auc", m->auc);
    json_number(t, "log_loss", m->log_loss);
    json_number(t, "brier", m->brier);
    json_number(t, "baseline", m->baseline);
    if (m->classes > 100) return;
    for (i = 0; i < m->classes; i++) {
        text_add(&rows, "%s[", i > 0 ? ", " : "");
        for (k = 0; k < m->classes; k++) text_add(&rows, k > 0 ? ", %zu" : "%zu", m->confusion[i * m->classes + k]);
        text_add(&rows, "]");
    }
    json_array(t, "confusion", &rows);
}

static void number_text(text *t, const char *name, double value, const char *more) {
    if (!isnan(value)) text_add(t, "%-14s%.4f%s\n", name, value, more);
}

void measures_text(text *t, const measures *m, const char *class_names, const char *kind) {
    size_t i, k;
    if (m->classes == 0) {
        text_add(t, "r2            %.4f on %zu %s, mean squared error %.6g\n", m->r2, m->rows, kind, m->mse);
        text_add(t, "rmse          %.6g\nmae           %.6g\n", m->rmse, m->mae);
        return;
    }
    text_add(t, "accuracy      %.2f %% of %zu %s\n", 100 * m->accuracy, m->rows, kind);
    number_text(t, "balanced", m->balanced, ", accuracy class by class");
    number_text(t, "f1", m->f1, m->classes > 2 ? ", mean over the classes" : "");
    number_text(t, "auc", m->auc, m->classes > 2 ? ", mean over the classes" : "");
    number_text(t, "log-loss", m->log_loss, "");
    number_text(t, "brier", m->brier, "");
    if (m->classes > MOST_SHOWN) return;
    for (i = 0; i < m->classes; i++) {
        text_add(t, "%-14s", i == 0 ? "confusion" : "");
        for (k = 0; k < m->classes; k++) text_add(t, "%6zu", m->confusion[i * m->classes + k]);
        text_add(t, "  ");
        if (class_names != NULL) text_name(t, rfm_name(class_names, i));
        text_add(t, "\n");
    }
}

void say_useless(const measures *m, const char *kind, int balanced) {
    if (m->rows < 2) return;
    if (m->classes > 0 && m->accuracy <= m->baseline && m->balanced <= 1.0 / (double)m->classes + 0.05)
        note("on %zu %s the model is no better than always saying the most frequent class, which is right in %.2f %%; "
             "%slook at rfm predict --proba",
             m->rows, kind, 100 * m->baseline, balanced ? "" : "for a rare class train with --balance, or ");
    if (m->classes == 0 && m->r2 <= 0)
        note("on %zu %s the model is no better than always saying their mean: r2 is %.4f", m->rows, kind, m->r2);
}
