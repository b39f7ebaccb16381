/* rfm_conv - kernel machines on images and signals that learn from patches: ConvRFM and Deep ConvRFM.
 *
 *   f_k(z) = offset_k + sum_i alpha_ik K(x_i, z)
 *
 * K compares two images patch by patch, in a metric M = P'P of patches. ConvRFM learns M: it is the average outer
 * product of the gradients of f by the patches, over all images and all places. Deep ConvRFM turns M into random
 * filters, makes feature images with them, and begins again with a kernel that has one layer less.
 *
 * An image has C channels of H rows and W columns, as one row of a matrix: channel, row, column. A signal is an image
 * with H = 1. A patch has q rows (1 if H = 1) and q columns of all channels, D = C q q (C q) numbers in the same order;
 * x[r] is the patch at place r. Places are those where the patch is inside the image, row by row; with padding every
 * pixel has one, and outside of the image are zeros. There are m of them. Conventions as in rfm.h.
 *
 * With -DRFM_NO_TRAIN only the first half is there, for firmware; network kernels then need -DRFM_SPHERE.
 */
#ifndef RFM_CONV_H
#define RFM_CONV_H

#include "rfm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- kernels ------------------------------------------------------------------------------------ */

#define RFM_CONV_LAPLACE 0 /* mean over r of exp(-|P (x[r] - z[r])| / L); depth 1 */
#define RFM_CONV_NNGP    1 /* a wide network of `depth` convolutions, each with relu: its random features, and ... */
#define RFM_CONV_NTK     2 /* ... its tangents. The first convolution sees patches in the metric M */
#define RFM_CONV_KERNELS 3

#define RFM_CONV_DEPTH 5 /* the most convolutions of a kernel */

/* What is compared, and how. A convolution without padding makes an image smaller by q - 1; all of them have to fit. */
typedef struct {
    size_t channels, height, width; /* C, H, W */
    size_t patch;                   /* q */
    int padded;                     /* 1: (q - 1) / 2 zeros before the image and q / 2 behind it, in every layer */
    int kernel;                     /* RFM_CONV_... */
    int depth;                      /* 1 to RFM_CONV_DEPTH; Laplace: 1 */
    rfm_real bandwidth;             /* L of Laplace, in the range of rfm_model; the others ignore it */
} rfm_conv;

/* Numbers of an image (C H W), of a patch (D), and places (m). *f must be right: rfm_conv_check. */
size_t rfm_conv_pixels(const rfm_conv *f);
size_t rfm_conv_patch(const rfm_conv *f);
size_t rfm_conv_places(const rfm_conv *f);

/* RFM_OK, or what is wrong: RFM_ENULL; RFM_EZERO: a size is 0; RFM_ESHAPE: the patches are larger than the image, or
 * not every layer has a place for them; RFM_EVALUE: kernel, depth, bandwidth, padded; RFM_EOVERFLOW. */
int rfm_conv_check(const rfm_conv *f);

/* ---- models -------------------------------------------------------------------------------------- */

#define RFM_CONV_LAYERS 4 /* the most layers of filters */

/* Feature images: relu(filter_k'x[r]), one channel for each filter, m places. */
typedef struct {
    size_t count;            /* filters */
    const rfm_real *filters; /* (count, D) */
} rfm_conv_layer;

/* A plain description of arrays that live elsewhere: in an arena, or in a blob. */
typedef struct {
    size_t n, c, r;                        /* images, outputs, rank of P */
    size_t layers;                         /* of filters, 0 to RFM_CONV_LAYERS */
    rfm_conv input;                        /* the image that comes in; patch and padding are those of every layer */
    rfm_conv f;                            /* what the kernel compares: `input`, or what the last layer makes of it */
    rfm_conv_layer layer[RFM_CONV_LAYERS]; /* the first `layers` of them */
    int task;                              /* RFM_REGRESS, RFM_CLASSIFY */
    const rfm_real *p;                     /* (r, D) M = P'P; NULL: M = I, r = D */
    const rfm_real *images;                /* (n, C H W) of f: x_i */
    const rfm_real *norms;                 /* (n, m) |P x_i[r]|^2 */
    const rfm_real *alpha;                 /* (n, c) */
    const rfm_real *offset;                /* (c); NULL: zeros */
    const char *class_names;               /* as in rfm_model; NULL: none */
} rfm_conv_model;

/* Opens a model in place, in flash for instance. FORMAT.md, "Models of patches", has the bytes. The blob is not
 * trusted: everything that prediction touches is checked. RFM_ENULL, RFM_EALIGN (not a multiple of RFM_ALIGN),
 * RFM_EMAGIC, RFM_EVERSION, RFM_ETRUNCATED, RFM_ECHECKSUM, RFM_ETYPE (numbers of another type; a big-endian machine; a
 * network kernel without RFM_SPHERE), RFM_ECONTENT: *model is unchanged. */
int rfm_conv_open(const void *blob, size_t size, rfm_conv_model *model);

/* Numbers of scratch that rfm_conv_predict_one needs. */
size_t rfm_conv_scratch(const rfm_conv_model *model);

/* scores (c) = f(x), x an image of model->input. No memory but `scratch`. The model is trusted: rfm_conv_fit
 * or rfm_conv_open made it. Network kernels take patches with |P x[r]| below 2^-75 (double: 2^-537) as zeros.
 * RFM_ENULL; RFM_EFINITE: x has a NaN or an infinity, nothing was written; RFM_ERANGE: a score is not finite. */
int rfm_conv_predict_one(const rfm_conv_model *model, const rfm_real *x, rfm_real *scores, rfm_real *scratch);

/* The class that the scores mean, as rfm_class has it; 0 for RFM_REGRESS. */
size_t rfm_conv_class(const rfm_conv_model *model, const rfm_real *scores);

#ifndef RFM_NO_TRAIN

/* ---- kernel matrices, gradients, the patch AGOP ------------------------------------------------- */

/* M is (D, D), symmetric positive semi-definite; at == NULL: the identity. X and Z are images, one in each row. */

/* K (n, v) = K(x_i, z_j), X (n, C H W), Z (v, C H W). If X and Z are one view, K is symmetric and costs half. Images
 * of length 0 have K = 0 with network kernels. X and Z may be of any two lengths. In a set with patches of length
 * |P x[r]| = 1, network kernels may lose digits of those below 2^-63 (double: 2^-511), and take them as zeros below
 * 2^-75 (2^-537). If the longest patch is below 2^-40 (2^-459), shares of it count: digits below 2^-23 (2^-52) at the
 * worst, zeros below 2^-35 (2^-78). RFM_ENULL, RFM_EZERO, RFM_ESHAPE, RFM_ESTRIDE, RFM_EOVERFLOW, RFM_EALIAS,
 * RFM_EVALUE, RFM_EFINITE, RFM_EARENA: nothing written. RFM_ENOTPD: M is not positive semi-definite; nothing written.
 * RFM_ERANGE, RFM_ECANCEL: K is undefined. Ticks. */
int rfm_conv_kernel(const rfm_ctx *ctx, const rfm_conv *f, rfm_cmat m, rfm_cmat x, rfm_cmat z, rfm_mat k);
int rfm_conv_kernel_need(const rfm_ctx *ctx, const rfm_conv *f, size_t n, size_t v, size_t *bytes);

/* G (v, c m D): row j has the gradients of f_0 by each patch of z_j, then those of f_1, ..., f_k = sum_i alpha_ik
 * K(x_i, .). Patches are independent variables: pixels that they share are not added up. Where a distance is 0, or for
 * network kernels |P z[r]| is, the gradient is 0. Status as above. */
int rfm_conv_gradients(const rfm_ctx *ctx, const rfm_conv *f, rfm_cmat m, rfm_cmat x, rfm_cmat alpha, rfm_cmat z,
                       rfm_mat g);
int rfm_conv_gradients_need(const rfm_ctx *ctx, const rfm_conv *f, size_t n, size_t v, size_t c, size_t *bytes);

/* A (D, D) = (1 / v) sum over images, places and outputs of gradient outer products; gradients are made in blocks,
 * never all of them. Status as above. */
int rfm_conv_agop(const rfm_ctx *ctx, const rfm_conv *f, rfm_cmat m, rfm_cmat x, rfm_cmat alpha, rfm_cmat z, rfm_mat a);
int rfm_conv_agop_need(const rfm_ctx *ctx, const rfm_conv *f, size_t n, size_t v, size_t c, size_t *bytes);

/* ---- ConvRFM -------------------------------------------------------------------------------------- */

#define RFM_CONV_RIDGES 8

/* rfm_conv_options_init() sets what is said in (parentheses). */
typedef struct {
    size_t patch;                    /* (3) q */
    int padded;                      /* (0) */
    int kernel;                      /* (RFM_CONV_NTK) */
    int depth;                       /* (1) */
    rfm_real bandwidth;              /* (10) */
    size_t rounds;                   /* (4) T updates of M, T + 1 solves */
    size_t ridges;                   /* (3) how many are tried in every round */
    rfm_real ridge[RFM_CONV_RIDGES]; /* (1e-8, 1e-5, 1e-3) each > 0. Without validation rows the first one counts */
    int power;                       /* (0) patches are transformed by the root of the AGOP, so M is the AGOP;
                                         1: by the AGOP itself, so M is its square */
    int scale;                       /* (1) K is divided by its largest entry, M by its Frobenius norm; 0: neither */
    size_t agop_points;              /* (0: all) gradients at this many images, drawn with `seed` */
    uint32_t seed;                   /* (0) of those, and of filters */
    int select;                      /* (RFM_SELECT_VALIDATION) round and ridge; or RFM_SELECT_LAST */
    int score;                       /* (RFM_SCORE_ACCURACY) */
    int task;                        /* (RFM_CLASSIFY) of the model */

    /* Deep ConvRFM: */
    size_t layers;  /* (0) of filters at most; depth falls by one with each, and has to stay at least 1 (Laplace: 1) */
    size_t filters; /* (64) of each layer */
    int best;       /* (1) a layer has to lead on the validation rows, see rfm_conv_leads(); 0: all are taken */
} rfm_conv_options;

void rfm_conv_options_init(rfm_conv_options *options);

/* One round, t = 0..T, with the best of its ridges. */
typedef struct {
    rfm_real score;   /* on the validation rows; 0: there are none */
    rfm_real ridge;   /* as used: more than asked for if rounding in this number type is larger */
    rfm_real largest; /* entry of K, which K was divided by; 1 if `scale` is 0 */
    uint32_t rank;    /* of M */
} rfm_conv_step;

/* Of a fit with `layers` layers of filters. path has (layers + 1)(T + 1) steps. */
typedef struct {
    rfm_conv_step *path;                  /* the caller's room, or NULL */
    rfm_real *held;                       /* likewise, (layers asked for + 1, validation rows): the score of each row
                                             with 0, 1, ... layers */
    size_t best;                          /* round that became the model */
    size_t layers;                        /* of the model */
    rfm_real scores[RFM_CONV_LAYERS + 1]; /* of the best round with 0, 1, ... layers */
} rfm_conv_report;

/* 1 if a model with the scores a (v) of single rows leads one with the scores b of the same rows by more than the
 * standard error of the lead: sum d > sqrt(sum d^2), d = a - b, of RFM_SCORE_SQUARED b - a. Of RFM_SCORE_ACCURACY only
 * rows count where one of the two is right: where a is on p rows, and b on q, p - q > sqrt(p + q). So one row never
 * decides. */
int rfm_conv_leads(int score, size_t v, const rfm_real *a, const rfm_real *b);

/* data->x are the images, channels x height x width, data->y (n, c), validation rows likewise. data->start, if there,
 * is M to begin with; weights must be NULL. M = I, then T times: solve for alpha, update M by the patch AGOP. The
 * model's arrays come from `store`, scratch from ctx->arena; they may be one. alpha is of K itself: it is divided by
 * `largest`.
 * Deep ConvRFM, options->layers times: filters from M, feature images, and a ConvRFM of them with a kernel that has one
 * convolution less. With options->best a layer becomes the model where rfm_conv_leads() says that it is better than the
 * model of fewer layers; otherwise the next layer still stands on it.
 * RFM_ESHAPE also: x.cols is not channels height width. RFM_EVALUE: an option outside its range, or weights. RFM_ERANGE
 * also: with `scale` the largest entry of K is below the normal range of numbers, though patches in the metric are not
 * 0; without it P is. After a failure neither *model nor `store` has changed. Ticks. */
int rfm_conv_fit(const rfm_ctx *ctx, size_t channels, size_t height, size_t width, const rfm_data *data,
                 const rfm_conv_options *options, rfm_arena *store, rfm_conv_model *model, rfm_conv_report *report);
int rfm_conv_fit_need(const rfm_ctx *ctx, size_t channels, size_t height, size_t width, const rfm_data *data,
                      const rfm_conv_options *options, size_t *scratch, size_t *store);

/* Y (v, c) = f(Z), Z (v, pixels of model->input). Status as rfm_predict. Ticks. */
int rfm_conv_predict(const rfm_ctx *ctx, const rfm_conv_model *model, rfm_cmat z, rfm_mat y);
int rfm_conv_predict_need(const rfm_ctx *ctx, const rfm_conv_model *model, size_t v, size_t *bytes);

/* M (D, D) of a model. RFM_ENULL, RFM_ESHAPE, RFM_ESTRIDE; RFM_ERANGE: it was computed and is not finite. */
int rfm_conv_metric(const rfm_conv_model *model, rfm_mat m);

/* ---- filters -------------------------------------------------------------------------------------- */

/* Random filters (count, D) with the covariance M of a model: P'g, g standard normal, the same numbers for the same
 * seed. RFM_ENULL, RFM_ESHAPE, RFM_ESTRIDE, RFM_EZERO: nothing written. RFM_ERANGE. */
int rfm_conv_filters(const rfm_conv_model *model, uint32_t seed, rfm_mat filters);

/* Feature images (v, count m): channel k is filter_k'x[r], with `relu` no less than 0. Of f only sizes, patch and
 * padding count. RFM_ENULL ... RFM_EARENA: nothing written. RFM_ERANGE. */
int rfm_conv_features(const rfm_ctx *ctx, const rfm_conv *f, rfm_cmat filters, int relu, rfm_cmat z, rfm_mat features);
int rfm_conv_features_need(const rfm_ctx *ctx, const rfm_conv *f, size_t count, size_t v, size_t *bytes);

/* The patches of one image, (m, D): for pictures of an operator applied to an image. x has C H W numbers. RFM_ENULL,
 * RFM_ESHAPE, RFM_ESTRIDE: nothing written. */
int rfm_conv_patches(const rfm_conv *f, const rfm_real *x, rfm_mat patches);

/* ---- writing models ------------------------------------------------------------------------------- */

/* Bytes of the blob, and the blob: `blob` is aligned to RFM_ALIGN. Names are the model's; record as in rfm_contents,
 * NULL: none. RFM_ENULL, RFM_EALIGN, RFM_EARENA (size too small), RFM_EOVERFLOW (4 GiB), RFM_EVALUE (a record that is
 * no list of entries, a model that rfm_conv_open would refuse), RFM_EFINITE, RFM_ETYPE (a big-endian machine): nothing
 * written. */
int rfm_conv_size(const rfm_conv_model *model, size_t record_bytes, size_t *bytes);
int rfm_conv_write(const rfm_conv_model *model, const void *record, size_t record_bytes, void *blob, size_t size);

/* The record of such a blob, as rfm_record_open finds it in others. NULL: there is none. */
const void *rfm_conv_record(const void *blob, size_t size, size_t *bytes);

#endif /* RFM_NO_TRAIN */

#ifdef __cplusplus
}
#endif
#endif
