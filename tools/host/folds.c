#include "folds.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

/* ---- which rows ----------------------------------------------------------------------------- */

static uint64_t random_bits(uint64_t *state) { /* splitmix64 */
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void rows_shuffle(uint32_t *rows, size_t count, uint64_t seed) {
    uint64_t state = seed;
    size_t i;
    for (i = count; i > 1; i--) {
        size_t j = (size_t)(random_bits(&state) % i);
        uint32_t keep = rows[i - 1];
        rows[i - 1] = rows[j], rows[j] = keep;
    }
}

uint32_t *rows_in_turn(size_t n, const uint32_t *labels, size_t classes, uint64_t seed) {
    size_t i, k, at = 0;
    uint32_t *order = allocate(n, sizeof *order, "folds"), *sorted;
    for (i = 0; i < n; i++) order[i] = (uint32_t)i;
    rows_shuffle(order, n, seed * 2654435761u + 17);
    if (labels == NULL) return order;
    sorted = allocate(n, sizeof *sorted, "folds");
    for (k = 0; k < classes; k++)
        for (i = 0; i < n; i++)
            if (labels[order[i]] == k) sorted[at++] = order[i];
    free(order);
    return sorted;
}

void rows_fold(const uint32_t *order, size_t n, size_t folds, size_t f, uint32_t *fit, size_t *fit_count,
               uint32_t *held, size_t *held_count) {
    size_t i;
    *fit_count = *held_count = 0;
    for (i = 0; i < n; i++) {
        if (i % folds == f)
            held[(*held_count)++] = order[i];
        else
            fit[(*fit_count)++] = order[i];
    }
}

/* ---- their numbers -------------------------------------------------------------------------- */

static rfm_real *copy_rows(rfm_cmat from, const size_t *kept, size_t columns, const uint32_t *rows, size_t count) {
    rfm_real *to = allocate(count, columns * sizeof *to, "a part of the rows");
    size_t i, j;
    for (i = 0; i < count; i++)
        for (j = 0; j < columns; j++)
            to[i * columns + j] = from.at[rows[i] * from.stride + (kept != NULL ? kept[j] : j)];
    return to;
}

part part_make(rfm_cmat x, rfm_cmat y, const size_t *kept, size_t d, const uint32_t *fit, size_t n,
               const uint32_t *held, size_t v) {
    part p;
    p.n = n, p.v = v;
    p.x = copy_rows(x, kept, d, fit, n), p.y = copy_rows(y, NULL, y.cols, fit, n);
    p.xv = copy_rows(x, kept, d, held, v), p.yv = copy_rows(y, NULL, y.cols, held, v);
    p.rows = allocate(v, sizeof *p.rows, "a part of the rows");
    memcpy(p.rows, held, v * sizeof *held);
    p.weights = NULL;
    return p;
}

void part_weigh(part *p, const rfm_real *weights, const uint32_t *fit) {
    size_t i;
    if (weights == NULL) return;
    p->weights = allocate(p->n, sizeof *p->weights, "weights");
    for (i = 0; i < p->n; i++) p->weights[i] = weights[fit[i]];
}

void part_free(part *p) {
    free(p->x);
    free(p->y);
    free(p->xv);
    free(p->yv);
    free(p->rows);
    free(p->weights);
}

/* ---- how right ------------------------------------------------------------------------------ */

int is_right(const rfm_real *y, size_t c, uint32_t label) {
    size_t best = 0, k;
    if (c == 1) return (y[0] > 0) == (label == 1);
    for (k = 1; k < c; k++)
        if (y[k] > y[best]) best = k;
    return best == label;
}

double squared_error(const rfm_real *y, const rfm_real *target, size_t c, const double *around) {
    double sum = 0;
    size_t k;
    for (k = 0; k < c; k++) {
        double off = (double)y[k] - (double)target[k];
        sum += off * off / (around != NULL && around[k] > 0 ? around[k] : 1) / (double)c;
    }
    return sum;
}

void target_spread(rfm_cmat y, double *around) {
    size_t i, k;
    for (k = 0; k < y.cols; k++) {
        double mean = 0;
        around[k] = 0;
        for (i = 0; i < y.rows; i++) mean += (double)y.at[i * y.stride + k] / (double)y.rows;
        for (i = 0; i < y.rows; i++) {
            double off = (double)y.at[i * y.stride + k] - mean;
            around[k] += off * off;
        }
    }
}
