/* What the tests of fits, predictions and tasks share: a fit as data, run on exactly the memory that it needs, and the
 * same mathematics once more, in double and without any blocking. */
#ifndef MODELS_H
#define MODELS_H

#include "test.h"

#define MODEL_STEPS 5 /* room for T + 1 of them, so T <= 4 */

typedef struct {
    size_t n, d, c;
} model_shape;

/* Sizes to try, in ascending order; 0 after the last. Those that do not fit in the pool are skipped by model_make or
 * model_fit; the first one fits everywhere. */
int model_size(size_t index, model_shape *shape);

/* A fit and all its arguments. */
typedef struct {
    rfm_mat x, y;
    rfm_data data; /* of x and y, and whatever else the test puts there */
    rfm_options o;
    rfm_ctx ctx; /* the arena is set by the calls below */
    rfm_arena store;
    rfm_model m;
    rfm_report report;
    rfm_step path[MODEL_STEPS];
} model_case;

/* Data from test_number, padded rows; options: ridge 0.1, L = 2, one update. 0: no room. */
int model_make(model_case *p, size_t n, size_t d, size_t c);
void model_fill(rfm_mat x, uint32_t stream);
/* Targets of the rows x: products and multiples of their columns. */
void model_targets(rfm_mat x, rfm_mat y);

/* rfm_fit on exactly the memory that it needs; the model stays in the pool, its end is test_mark(). TEST_SKIP: no
 * room. */
int model_fit(model_case *p);

/* The others, likewise on exactly what they need, which is given back. TEST_SKIP: no room. */
int model_predict(const model_case *p, rfm_cmat z, rfm_mat y);
int model_gradients(const model_case *p, rfm_cmat z, rfm_mat g);

/* phi(s) of the model's kernel; |x - z| in the metric of the model. */
double model_phi(const rfm_model *m, double s);
double model_distance(const rfm_model *m, const rfm_real *x, const rfm_real *z);

/* Elements. */
double model_at(rfm_mat a, size_t i, size_t j);
/* max |a - b|, and max |a|; a NaN anywhere gives infinity. */
double model_apart(rfm_mat a, rfm_mat b);
double model_most(rfm_mat a);

/* The two are equal but for `factor` times epsilon, relative to the largest element of a (and at least 1e-3). */
#define CHECK_CLOSE(a, b, factor) CHECK_BELOW(model_apart(a, b), (factor)*TEST_EPS *fmax(model_most(a), 1e-3))

#endif
