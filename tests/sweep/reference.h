/* A plain reference in double for everything that rfm_fit does: the definitions one after the other, no blocks, no
 * packing, no shared code.
 *
 * s^2 is taken from differences, A is factored by the textbook, M is a full (d, d) matrix whatever its form. The
 * reference is as slow as it looks.
 *
 * Tolerances. How far a right answer in another number type may be off depends on the problem: on the condition of K
 * + ridge, on points that nearly coincide, on how often M is updated. So the reference runs again,
 * with noise: every coordinate is off by a random share `noise` of its feature's largest, every kernel value and its
 * weight by that share of itself, every entry of M by that share of the terms it is summed from. What that changes
 * in a result is what rounding can change, but for a factor: ref_bound multiplies it by 32 and adds 64 noise of the
 * largest entry. Noise may happen to change little, above all where M is a number or two; so there are two noisy runs,
 * and the one that changes more counts. Where the bound exceeds a tenth of the largest entry, nothing is compared. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "rfm.h"

#define REF_STEPS 8 /* more than T of any case */

/* One iterate. */
typedef struct {
    double *metric; /* (d, d) */
    double *alpha;  /* (n, c) */
    double bandwidth;
    double score;   /* leave-one-out, or on the validation rows, else 0 */
    double reach;   /* the largest phi of a gradient point and a row that differs; 1 for a network kernel */
    double largest; /* K of two rows */
    double trace;   /* of M before it was scaled */
    int defined; /* 0: ridge 0, and the rank of K depends on the number type; or a row has no direction (ref_vague) */
} ref_step;

typedef struct {
    rfm_options o;
    size_t n, d, c, v, points, steps; /* steps: T */
    double *x, *y, *weights;          /* (n, d), (n, c), (n) */
    double *xv, *yv;                  /* (v, d), (v, c) */
    size_t *picked;                   /* (points) rows of the gradients */
    double noise, *most;              /* (d) largest entries of the features */
    uint64_t turn;                    /* of the noise */
    ref_step step[REF_STEPS];
} ref_fit;

/* A fit of the library's own data and options. */
void ref_make(ref_fit *f, const rfm_data *data, const rfm_options *o, double noise, unsigned turn);
void ref_free(ref_fit *f);

/* Rows as this fit sees them, with its noise; to be freed. NULL for a view that is not there. */
double *ref_rows(const ref_fit *f, rfm_cmat rows);

/* Is one of the rows Z (m, d) scaled to length 1, while its length in M of step t is no more than noise? Then its
 * direction is noise, and so is all that follows. (M of one gradient: the gradient of a function of directions is
 * orthogonal to its own row, whose length in M is 0.) */
int ref_vague(const ref_fit *f, size_t t, size_t m, const double *z);

/* Is one of the rows Z (m, d) no training row, but so near to one that rounding of P x may make them one? Where that
 * rounding is no longer small beside L, noise moves them apart and does not show it. */
int ref_near(const ref_fit *f, size_t t, size_t m, const double *z, double noise);

/* Of such rows: predictions (m, c) and gradients (m, c d) of step t at Z (m, d), and cos(K, YY') of X (m, d), Y (m,
 * c). */
void ref_predict(const ref_fit *f, size_t t, size_t m, const double *z, double *out);
void ref_gradients(const ref_fit *f, size_t t, size_t m, const double *z, double *out);
double ref_alignment(const ref_fit *f, size_t t, size_t m, const double *z, const double *y);

/* phi(s), and its gradient weight -phi'(s) / s in *w, 0 where s = 0. */
double ref_phi(int kernel, double bandwidth, double exponent, double s2, double *w);

/* sum over rows of w |y - f|^2 + ridge sum_jk alpha_j'alpha_k phi(|center_j - center_k|) of a model as it stands,
 * for the centres given. */
double ref_loss(const rfm_model *model, const rfm_data *data, double ridge, const double *centers);

/* alpha minimises that loss if its gradient by alpha is 0: the largest of its entries, as a share of the terms it is
 * summed from. Of each entry `least` is taken off, and `share` of the norm of all terms of its output. */
double ref_alpha_slope(const rfm_model *model, const rfm_data *data, double ridge, double least, double share);

/* P (z - shift) of a model as it stands: out (r). */
void ref_project(const rfm_model *model, const double *z, double *out);

/* f_k at row z (d) of a model as it stands: scores (c). */
void ref_model(const rfm_model *model, const double *z, double *scores);

/* The largest |a_i|, and |a_i - b_i|. */
double ref_largest(size_t n, const double *a);
double ref_difference(size_t n, const double *a, const double *b);

/* What a result may be off, from the results without and with noise; negative: too much to say anything. */
double ref_bound(size_t n, const double *plain, const double *noisy, double noise);

/* Eigenvalues of the symmetric A (n, n) by Jacobi's rotations, on A's diagonal afterwards; vectors in the columns of
 * V. */
void ref_eig(size_t n, double *a, double *v);

/* A view as doubles, (rows, cols) without gaps; NULL for a view that is not there. To be freed. */
double *ref_doubles(rfm_cmat a);

#endif
