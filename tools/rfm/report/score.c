#include "report.h"

#include <math.h>
#include <stdlib.h>

#define Z95 1.959963984540054

/* Wilson's interval of a share. */
static void wilson(double share, double n, double interval[2]) {
    double z = Z95 * Z95 / n, centre = (share + z / 2) / (1 + z),
           half = Z95 / (1 + z) * sqrt(share * (1 - share) / n + z / (4 * n));
    interval[0] = fmax(0, centre - half), interval[1] = fmin(1, centre + half);
}

static void classify(report *r) {
    size_t i, k, *count = allocate(r->classes, sizeof *count, "counts"), most = 0;
    double *p = allocate(r->classes, sizeof *p, "probabilities"), temperature = model_temperature(&r->any);
    if (temperature > 0) r->confidence = allocate(r->rows.rows, sizeof *r->confidence, "confidences");
    for (i = 0; i < r->rows.rows; i++) {
        if (r->confidence != NULL) {
            probabilities(r->outputs + i * r->model.c, r->model.c, temperature, p);
            r->confidence[i] = p[r->predicted[i]];
        }
        if (r->rows.labels[i] != CLASS_UNKNOWN) count[r->rows.labels[i]]++;
    }
    for (k = 0; k < r->classes; k++) most = count[k] > most ? count[k] : most;
    r->main_score = r->score.accuracy;
    r->baseline = (double)most / (double)r->rows.rows;
    wilson(r->score.accuracy, (double)r->rows.rows, r->interval);
    free(count);
    free(p);
}

/* r2 = 1 - mean(e^2) / mean(v^2), a ratio of means over the rows: its standard error by the delta method. With several
 * outputs, of the mean of their r2. */
static void regress(report *r) {
    size_t n = r->rows.rows, c = r->model.c, i, k;
    double *influence = allocate(n, sizeof *influence, "influences"), sum = 0;
    for (k = 0; k < c; k++) {
        double mean = 0, around = 0, error = 0;
        for (i = 0; i < n; i++) mean += (double)r->rows.y[i * c + k] / (double)n;
        for (i = 0; i < n; i++) {
            double v = (double)r->rows.y[i * c + k] - mean,
                   e = (double)r->rows.y[i * c + k] - (double)r->outputs[i * c + k];
            around += v * v / (double)n, error += e * e / (double)n;
        }
        for (i = 0; i < n && around > 0; i++) {
            double v = (double)r->rows.y[i * c + k] - mean,
                   e = (double)r->rows.y[i * c + k] - (double)r->outputs[i * c + k];
            influence[i] += (e * e - error / around * v * v) / (around * (double)c);
        }
    }
    for (i = 0; i < n; i++) sum += influence[i] * influence[i];
    r->main_score = r->score.r2;
    r->interval[0] = r->interval[1] = r->score.r2;
    if (n > 2 && sum > 0) {
        double half = Z95 * sqrt(sum / ((double)n * (double)(n - 1)));
        r->interval[0] -= half, r->interval[1] = fmin(1, r->interval[1] + half);
    }
    free(influence);
}

#define LEAST_HELD 10 /* rows; a score of fewer says little */

void report_choose_rows(report *r) {
    unsigned char *mark = allocate(r->rows.rows, 1, "rows");
    size_t rows = r->rows.rows, i, kept = 0;
    r->seen = rows_seen(&r->any, &r->rows, mark);
    if (!r->is_split && r->seen != SIZE_MAX && r->seen > 0 && rows - r->seen >= LEAST_HELD) {
        for (i = 0; i < rows; i++)
            if (!mark[i]) r->lines[kept++] = r->lines[i];
        sample_keep(&r->rows, r->model.d, r->model.c, mark, 0);
        r->skipped = r->seen, r->seen = 0;
    }
    free(mark);
}

void report_scores(report *r, machine *m) {
    rfm_real *room;
    size_t saturated;
    any_model moved = any_moved(&r->any, &r->rows.moved, &room);
    r->outputs = allocate(r->rows.rows, r->model.c * sizeof *r->outputs, "predictions");
    r->predicted = allocate(r->rows.rows, sizeof *r->predicted, "classes");
    predict_any(m, &moved, r->rows.x, r->rows.rows, r->outputs, r->predicted, &saturated);
    saturated_note(&r->any, saturated, r->rows.rows);
    r->score = score_of(&r->rows, r->model.c, r->outputs, r->predicted);
    r->measures = measures_of(&r->rows, r->classes, r->model.c, r->outputs, r->predicted, model_temperature(&r->any));
    free(room);
    if (r->classes > 0)
        classify(r);
    else
        regress(r);
}
