/* Rows held out: which ones, and how right predictions of them are. */
#ifndef FOLDS_H
#define FOLDS_H

#include "rfm.h"

#define FOLDS     5
#define FOLD_ROWS 1500 /* up to so many rows are cut into folds; of more a fifth is held out once */

/* 0..n-1 in random order, class after class: every k-th of them is a sample that has all classes as far as they
 * reach. To be freed. */
uint32_t *rows_in_turn(size_t n, const uint32_t *labels, size_t classes, uint64_t seed);

void rows_shuffle(uint32_t *rows, size_t count, uint64_t seed);

/* Fold f of an order of n rows: every `folds`-th row is held out from the f-th on. */
void rows_fold(const uint32_t *order, size_t n, size_t folds, size_t f, uint32_t *fit, size_t *fit_count,
               uint32_t *held, size_t *held_count);

/* Rows to fit and rows to score on, copied. */
typedef struct {
    size_t n, v;
    rfm_real *x, *y, *xv, *yv; /* (n, d), (n, c), (v, d), (v, c) */
    uint32_t *rows;            /* (v) which ones are held out */
    rfm_real *weights;         /* (n), or NULL */
} part;

/* kept: the `d` columns of x to take; NULL: the first d. */
part part_make(rfm_cmat x, rfm_cmat y, const size_t *kept, size_t d, const uint32_t *fit, size_t n,
               const uint32_t *held, size_t v);
void part_weigh(part *p, const rfm_real *weights, const uint32_t *fit); /* of all rows; NULL: none */
void part_free(part *p);

/* 1 if the class that the outputs (c) mean is `label`. */
int is_right(const rfm_real *y, size_t c, uint32_t label);

/* The mean over the c outputs of the squared error, each as a share of around[k] (NULL: of 1). */
double squared_error(const rfm_real *y, const rfm_real *target, size_t c, const double *around);

/* around (c): the sums of squares around the mean of each column. */
void target_spread(rfm_cmat y, double *around);

#endif
