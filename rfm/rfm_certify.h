/* rfm_certify - how far the inputs can move before a predicted class can change, and sets of classes with a coverage.
 *
 * A certificate is a proof, made for one row while it is predicted: within its radius no input, however chosen, gets
 * another class. A conformal set is a statement about many rows: it holds the true class in at least the wanted share
 * of them. All of this is for firmware too (-DRFM_NO_TRAIN): no memory but the caller's scratch, in float nothing of
 * libm; of integer models integers only, no division. Conventions as in rfm.h.
 */
#ifndef RFM_CERTIFY_H
#define RFM_CERTIFY_H

#include "rfm_small.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- certificates of models of numbers ------------------------------------------------------ */

/* Numbers of scratch for a model with d inputs, rank r and c outputs. */
#define RFM_CERTIFY_SCRATCH(d, r, c) ((size_t)(d) + (size_t)(r) + 3 * (size_t)(c))

/* For a classifier of RFM_LAPLACE or RFM_GAUSSIAN, trusted as rfm_predict_one trusts it: scores (c) and *class_at as
 * rfm_predict_one and rfm_class give them, and *radius: every x' with |P (x' - x)| <= *radius has that class. That is
 * the norm of M, so the bandwidth of a model as rfm_fit makes it, 1 in a blob, is part of the result. 0: too close to
 * call.
 *
 * moves (d), NULL: not wanted. x_j alone may move by moves[j] up or down, in the units that the model takes:
 * *radius / sqrt(M_jj). Several inputs at once may move by delta if sum_j |delta_j| / moves[j] <= 1. The largest finite
 * number stands for an input that does not matter: it may have any value.
 *
 * The radius is rounded down. It counts the rounding of scores, here and at x', by any loop of port/; so what
 * rfm_predict_one returns at x' has the same class. In a full metric this holds as long as the length of |P| |x' - x|
 * (absolute values, entry by entry) is at most that of |P| |x - shift| and 16 radii: beyond, along what P hardly sees,
 * x' - shift is so long that P x' is mostly rounding, and the statement is about exact arithmetic only.
 *
 * Cost: of RFM_LAPLACE about two predictions. Of RFM_GAUSSIAN sixteen; there the radius is below 16 bandwidths, has
 * steps of at most 0.1 %, and is 0 below 2^-12 bandwidths. RFM_ENULL; RFM_EVALUE: another kernel, unit rows,
 * RFM_REGRESS; RFM_EFINITE, RFM_ERANGE as rfm_predict_one. After a failure only scores and scratch may have changed. */
int rfm_certify(const rfm_model *model, const rfm_real *x, rfm_real *scores, rfm_real *scratch, size_t *class_at,
                rfm_real *radius, rfm_real *moves);

/* ---- certificates of models of integers ----------------------------------------------------- */

/* Numbers of room for a model with rank r and c outputs. */
#define RFM_CERTIFY_I_ROOM(r, c) ((size_t)(r) > (size_t)(c) ? (size_t)(r) : (size_t)(c))

#define RFM_CERTIFY_I_FREE 65535u /* of counts[j]: the input may have any value */

/* For a classifier of integers, of any kernel: its table of phi says how far each term of a score can go. scores (c)
 * and *class_at as rfm_predict_i and rfm_class_i give them. *square is that of the radius, in units of z: every x'
 * whose z' has |z' - z|^2 <= *square has that class. At most (2 limit + 2)^2; 0: z' = z, nothing else.
 *
 * counts (d), NULL: not wanted. x_j alone may move by at most counts[j], up or down: RFM_CERTIFY_I_FREE at most. That
 * follows the rounding of u and z step by step, so it is the largest move within the radius on the worse side.
 *
 * scratch as rfm_predict_i has it; room: RFM_CERTIFY_I_ROOM(r, c). Cost: 15 predictions and more, and 32 r d products
 * for the counts. RFM_ENULL; RFM_EVALUE: RFM_REGRESS, or a table of phi that rises somewhere. After a failure only
 * scores and scratch may have changed. */
int rfm_certify_i(const rfm_model_i *model, const int16_t *x, int32_t *scores, int16_t *scratch, int64_t *room,
                  size_t *class_at, uint32_t *square, uint16_t *counts);

/* ---- conformal sets ------------------------------------------------------------------------- */

/* How much the true class is behind: the largest score less its score. A model of one output has two classes, the
 * scores -f and f. */

/* The threshold for a coverage, from rows that the model was not trained on: scores (n, c), their true classes (n). It
 * is the m-th smallest number of how much the true class is behind, m = the least with m / (n + 1) >= coverage. Where
 * that is n + 1, no threshold of n rows will do, and it is the largest finite number: all classes. The set of a new row
 * then holds its true class with at least this probability, whatever the model is, if that row and the n are drawn
 * alike. scratch (n). RFM_ENULL, RFM_EZERO (n, c); RFM_EVALUE: coverage not in 0 < coverage <= 1, a class that is none;
 * RFM_EFINITE: nothing written but scratch. */
int rfm_conformal_threshold(size_t n, size_t c, const rfm_real *scores, const uint32_t *classes, rfm_real coverage,
                            rfm_real *scratch, rfm_real *threshold);

/* The set of one row, scores (c): member[k] = 1 if class k is behind by at most the threshold, else 0; (c), or (2) if
 * c = 1. *count of them, at least 1. RFM_ENULL, RFM_EZERO, RFM_EFINITE, RFM_EVALUE (a negative threshold): nothing
 * written. */
int rfm_conformal_set(size_t c, const rfm_real *scores, rfm_real threshold, unsigned char *member, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
