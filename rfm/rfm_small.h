/* rfm_small - models that fit where memory is counted in kilobytes, and inference in integers only.
 *
 * Two halves. The first is for firmware, and all there is with -DRFM_NO_TRAIN: a model of 8- or 16-bit integers, opened
 * in place. It predicts from raw integer inputs (ADC counts) without a floating-point operation or division, and with
 * the same bits on every machine. The second half makes such models: fewer features, a lower rank, fewer centres,
 * smaller numbers. Conventions are those of rfm.h; everything here is built on its public functions.
 */
#ifndef RFM_SMALL_H
#define RFM_SMALL_H

#include "rfm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- models of integers --------------------------------------------------------------------- */

#define RFM_PHI_ONE 32767 /* phi = 1 */

/* One input: v = min(max(x, low), high) - low, u = v * gain >> shift. */
typedef struct {
    int16_t low, high; /* the range that the model was calibrated for */
    uint16_t gain;
    uint8_t shift;
    int8_t exponent; /* the integer is the quantity that was trained on times 2^exponent, rounded; 0: the quantity
                        itself */
} rfm_input_i;

/* f_k(x) = units_k score_k
 *   RFM_I8:   score_k = offset_k + sum_i alpha_ik phi(t_i)
 *   RFM_I16:  score_k = offset_k + sum_i (alpha_ik phi(t_i) >> 8)
 *   t_i = sum_p (center_ip - z_p)^2, or with `absolute` sum_p |center_ip - z_p|: no product (of RFM_L1)
 *   RFM_FULL:      z_p = min(max((bias_p + sum_j P_pj u_j) >> shifts_p, -limit), limit)
 *   RFM_DIAGONAL:  z_p = min(max(bias_p + u_p, -limit), limit)
 * phi is a table with nodes at t + 8 = 2^e (1 + k / 8), e = 3, 4, ..., k < 8. It is linear between them, and 0 from the
 * last node on. Kernel, bandwidth and the unit of z are part of the table: there is no root and no exponential to
 * compute. */
typedef struct rfm_model_i {
    size_t n, d, c, r;
    int type; /* RFM_I8 or RFM_I16: of p, centers and alpha */
    int metric, task;
    int32_t limit;                         /* z is between -limit and limit */
    const rfm_input_i *inputs;             /* (d) */
    const void *p;                         /* RFM_FULL: (r, d); else NULL */
    const int32_t *bias;                   /* (r) */
    const uint8_t *shifts;                 /* RFM_FULL: (r); else NULL */
    const void *centers;                   /* (n, r) */
    const uint16_t *phi;                   /* (nodes) at most RFM_PHI_ONE */
    size_t nodes;                          /* at least 1; no t needs more than 233 */
    const void *alpha;                     /* (n, c) */
    const int32_t *offset;                 /* (c) */
    const float *units;                    /* (c) the value of a score of 1; in a classifier all are equal */
    const char *class_names, *input_names; /* as in rfm_model */
    const void *summary;
#ifdef RFM_SMALL_L1
    int absolute; /* 1: distances are sums of absolute differences */
#endif
} rfm_model_i;

/* As rfm_model_open, for blobs of RFM_I8 and RFM_I16. A model that it accepts cannot overflow: rfm_small.c has the
 * proof. */
int rfm_model_open_i(const void *blob, size_t size, rfm_model_i *model);

/* Numbers of scratch for a model with d inputs and rank r. */
#define RFM_PREDICT_I_SCRATCH(d, r) ((size_t)(d) + (size_t)(r))

/* What a prediction has seen. */
typedef struct {
    uint16_t nearest;   /* the largest phi: RFM_PHI_ONE at a centre, 0 far from everything that was trained on */
    uint32_t saturated; /* how many inputs were outside the calibrated range; each was taken as the nearer end of it */
} rfm_notes_i;

/* The loop of a prediction, for one kind of processor. scratch holds u (d), and behind it room for z (r). Those of
 * port/ know no model with `absolute`. The loop adds sum_i alpha_ik phi(t_i) to scores[k] and returns the largest phi.
 * Every loop gives the same bits. For a model that it does not support it returns a negative number and leaves scores
 * alone; then the portable code runs. */
typedef int32_t (*rfm_loop_i)(const rfm_model_i *model, int16_t *scratch, int32_t *scores);

/* Makes the integers that rfm_predict_i takes from numbers in the units that were trained on: xi (d) is x
 * 2^exponent, rounded, at most what an int16_t holds. If exponent is 0 for all inputs, integers in these units can
 * be used as they are. Costs a multiplication per input, in software where there is no FPU; takes nothing from libm.
 * RFM_ENULL, RFM_EFINITE: nothing written. */
int rfm_input_integers(const rfm_model_i *model, const rfm_real *x, int16_t *xi);

/* scores (c), x (d), scratch RFM_PREDICT_I_SCRATCH(d, r) numbers. `loop` NULL: portable code; notes may be NULL.
 * RFM_ENULL. */
int rfm_predict_i(const rfm_model_i *model, const int16_t *x, int32_t *scores, int16_t *scratch, rfm_loop_i loop,
                  rfm_notes_i *notes);

/* The class that the scores mean; 0 for RFM_REGRESS. */
size_t rfm_class_i(const rfm_model_i *model, const int32_t *scores);

#ifndef RFM_NO_TRAIN

/* ---- smaller models ------------------------------------------------------------------------- */

/* These functions take a model, as rfm_fit or rfm_model_open gives it, and the rows that it was trained on. Of the
 * rfm_data they read x and y, in the units that the model takes and gives, and weights. They make a new model. Its
 * arrays are taken from `store`, scratch from ctx->arena; those may be one arena. After any failure neither *small
 * nor `store` has changed. Names and summary are the source's.
 * RFM_EFINITE: the model or the rows have a NaN or an infinity. RFM_ERANGE: they are finite, but a result, z, or a
 * target less its offset is not, or is so small that it has lost digits; or rows are more than 2^50 bandwidths from
 * the shift. Scale such data. */

/* For RFM_L1 rfm_small_centers works without polish, and rfm_small_integers. rfm_small_rank, rfm_small_loss and polish
 * need squared distances and return RFM_EVALUE. For network kernels and unit rows all four return it. */

/* Features by their share of M (RFM-T of the paper): importance (d) = diag(M), scaled so that the smallest is 0 and
 * the largest 1; all 1 if all are equal. With `scale` (d), M_jj scale_j^2 takes the place of M_jj. RFM_ENULL,
 * RFM_EFINITE, RFM_EVALUE (a scale that is not positive): nothing written. */
int rfm_small_importance(const rfm_model *model, const rfm_real *scale, rfm_real *importance);

/* A lower rank: keeps the `rank` directions of the projected space in which the rows differ most, the principal
 * components of P (x - shift). P becomes (rank, d), RFM_FULL, and the distances between rows change as little as
 * they can. If share is not NULL, *share becomes the part of the mean squared distance that is left. alpha stays;
 * rfm_small_centers fits it anew. data->y is not read. RFM_EVALUE: rank is 0 or above the model's. */
int rfm_small_rank(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, size_t rank, rfm_arena *store,
                   rfm_model *small, rfm_real *share);
int rfm_small_rank_need(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, size_t rank, size_t *scratch,
                        size_t *store);

/* How m centres are chosen. */
#define RFM_CENTERS_CHOLESKY 0 /* pivoted Cholesky of K: the row that is worst represented by those before it */
#define RFM_CENTERS_LEVERAGE 1 /* drawn by ridge leverage scores */
#define RFM_CENTERS_RESIDUAL 2 /* greedy: the row at which most of Y is left to explain */
#define RFM_CENTERS_KMEANS   3 /* prototypes: means of m clusters in the projected space, not rows */

typedef struct {
    size_t centers; /* m. RFM_EVALUE: 0, or more than there are rows. Fewer come out if fewer rows are different */
    int method;     /* RFM_CENTERS_... */
    rfm_real ridge; /* of the refit, > 0 */
    size_t polish;  /* gradient steps on the centres after the refit, each with a refit of its own; the loss never
                       rises. 0: none */
    uint32_t seed;
} rfm_centers_options;

/* m centres in place of the model's, and alpha refitted against all rows: (Kmn Knm + ridge Kmm) alpha = Kmn Y
 * (reduced-rank ridge regression), sample weights as in rfm_fit. The offset stays. Ticks. */
int rfm_small_centers(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, const rfm_centers_options *how,
                      rfm_arena *store, rfm_model *small);
int rfm_small_centers_need(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data,
                           const rfm_centers_options *how, size_t *scratch, size_t *store);

/* The loss that refit and polish reduce: *loss = sum over rows of w |y - f|^2 + ridge sum_jk alpha_j'alpha_k
 * phi(|center_j - center_k|), ridge >= 0. If gradient is not NULL, it becomes the gradient by the model's centres,
 * (n, r). f has the rounding of its terms alpha phi; where rows are met as exactly as that, |y - f|^2 is the square of
 * this rounding, whatever the weights. After a failure nothing was written. */
int rfm_small_loss(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, rfm_real ridge, rfm_real *loss,
                   rfm_real *gradient);
int rfm_small_loss_need(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, size_t *bytes);

/* A model of integers of `type`. Scales are chosen on data->x. Then alpha and offset are fitted once more, to phi as
 * the integers compute it. Last, alpha is rounded one centre after the other, and the centres that are not rounded
 * yet make up for each rounding. Without data->y (NULL) nothing is fitted, only rounded in this way. RFM_EVALUE:
 * type, ridge. RFM_ERANGE: too much for the integers, or so few bits that a constant would be the better model,
 * whatever the ridge. Ticks. */
int rfm_small_integers(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, int type, rfm_real ridge,
                       rfm_arena *store, rfm_model_i *small);
int rfm_small_integers_need(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, int type, size_t *scratch,
                            size_t *store);

/* The blob of a model of integers. Names and summary are those of the model; NULL leaves them out. A record is given as
 * in rfm_contents. Errors are those of rfm_model_size and rfm_model_write. */
int rfm_model_size_i(const rfm_model_i *model, size_t record_bytes, size_t *bytes);
int rfm_model_write_i(const rfm_model_i *model, const void *record, size_t record_bytes, void *blob, size_t size);

#endif /* RFM_NO_TRAIN */

#ifdef __cplusplus
}
#endif
#endif
