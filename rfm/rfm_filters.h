/* rfm_filters - signals on a microcontroller: a bank of 8-bit filters, pooling over time, a small model behind it.
 *
 *   v_kt = (bias_k + sum_cj w_kcj x_c(t+j)) >> shift_k          x: C channels of W samples, 16-bit integers
 *   h_kt = min(max(v_kt, 0), 32767)                             or min(|v_kt|, 32767)
 *   features: of every filter and every segment of time the largest h, its mean, its energy
 *   scores: a model of integers (rfm_small.h) of the features
 *
 * The filters are the top eigenvectors of M, the metric of patches that a ConvRFM learns (rfm_conv.h, a signal is an
 * image of height 1). A pattern may be anywhere in the window: pooling forgets the place. There is no floating-point
 * operation, no division, no stored feature image; sums of 32 bits cannot overflow, and every machine gives the same
 * bits. FORMAT.md, "Filter banks", has the bytes.
 *
 * A window is channel by channel, W samples each. There are m = W - q + 1 places of a filter with q taps.
 *
 * With -DRFM_NO_TRAIN only the first half is there, for firmware.
 */
#ifndef RFM_FILTERS_H
#define RFM_FILTERS_H

#include "rfm_small.h"
#ifndef RFM_NO_TRAIN
#include "rfm_conv.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- prediction ------------------------------------------------------------------------------------------------- */

/* What is kept of a filter's h in a segment: a sum of these; features are in this order. */
#define RFM_POOL_MAX    1u
#define RFM_POOL_MEAN   2u /* sum of h >> b, 2^b the power of two from `span` on */
#define RFM_POOL_ENERGY 4u /* sum of (h^2 >> 15) >> b */

#define RFM_RECTIFY_RELU 0
#define RFM_RECTIFY_ABS  1

/* What a blob holds, in place. Features of filter k, segment s, and each of the pools: (K, S, pools). */
typedef struct {
    uint32_t channels, samples, taps; /* C, W, q: 1 to 65535, q <= W */
    uint32_t filters;                 /* K */
    uint32_t span;                    /* places of a segment; the last may have less */
    uint32_t segments;                /* S: m / span, rounded up */
    uint32_t pools;                   /* RFM_POOL_... */
    int rectify;                      /* RFM_RECTIFY_... */
    const int32_t *bias;              /* (K) */
    const int8_t *bank;               /* (K, C, q) */
    const uint8_t *shifts;            /* (K) 0 to 31 */
    const int8_t *exponents;          /* (C) x is the sample that was trained on times 2^exponent; -126 to 126 */
    const char *input_names;          /* (C W) as in rfm_model; NULL: none */
    rfm_model_i model;                /* of the features; model.d == 0: a bank alone */
} rfm_filters;

/* Opens a blob in place, which is not trusted: everything that prediction touches is checked. RFM_ENULL, RFM_EALIGN
 * (not a multiple of RFM_ALIGN), RFM_EMAGIC, RFM_EVERSION, RFM_ETRUNCATED, RFM_ECHECKSUM, RFM_ETYPE (a big-endian
 * machine), RFM_ECONTENT: *filters is unchanged. */
int rfm_filters_open(const void *blob, size_t size, rfm_filters *filters);

/* How many features there are: K S pools. */
size_t rfm_filters_count(const rfm_filters *filters);

/* features (count), x (C, W). RFM_ENULL. */
int rfm_filters_pool(const rfm_filters *filters, const int16_t *x, int16_t *features);

/* Numbers of scratch for a prediction with d features and rank r. */
#define RFM_FILTERS_SCRATCH(d, r) ((size_t)(d) + RFM_PREDICT_I_SCRATCH(d, r))

/* scores (model.c), x (C, W), scratch RFM_FILTERS_SCRATCH(model.d, model.r) numbers; loop and notes as in
 * rfm_predict_i. The class is rfm_class_i(&filters->model, scores). RFM_ENULL, also for a bank alone. */
int rfm_filters_predict(const rfm_filters *filters, const int16_t *x, int32_t *scores, int16_t *scratch,
                        rfm_loop_i loop, rfm_notes_i *notes);

/* xi (C, W): x in the units that were trained on as integers, at most what an int16_t holds. RFM_ENULL, RFM_EFINITE:
 * nothing written. */
int rfm_filters_integers(const rfm_filters *filters, const rfm_real *x, int16_t *xi);

#ifndef RFM_NO_TRAIN

/* ---- making one: learn filters, make a bank of integers, pool, fit an rfm_model, make it small ------------------ */

/* filters (K, D), D = C q: the eigenvectors of the K largest eigenvalues of M, each of length 1. M is that of
 * rfm_conv_fit on data->x (n, C W), after options->rounds rounds; its rows should be standardised, channel by channel.
 * RFM_EVALUE also: options->rounds is 0, so nothing would be learned. RFM_ESHAPE also: filters are not (1 to D, D).
 * Other status as rfm_conv_fit; `filters` is unchanged then. Ticks. */
int rfm_filters_learn(const rfm_ctx *ctx, size_t channels, size_t samples, const rfm_data *data,
                      const rfm_conv_options *options, rfm_mat filters);
int rfm_filters_learn_need(const rfm_ctx *ctx, size_t channels, size_t samples, const rfm_data *data,
                           const rfm_conv_options *options, size_t count, size_t *bytes);

/* Exponents (channels) for these windows (n, C W). If all samples are integers that fit, and no channel is more than
 * 16 times wider than another, all are 0; else each channel has the largest that leaves a bit of 16 free. RFM_ENULL,
 * RFM_EZERO, RFM_ESTRIDE, RFM_EOVERFLOW, RFM_ESHAPE, RFM_EFINITE, RFM_ERANGE: nothing written. */
int rfm_filters_exponents(size_t channels, rfm_cmat x, int8_t *exponents);

/* rfm_filters_options_init() sets what is said in (parentheses). */
typedef struct {
    size_t segments;              /* (1) of time, at most m; a few less come out where m / segments is not whole */
    uint32_t pools;               /* (RFM_POOL_MAX + RFM_POOL_ENERGY) */
    int rectify;                  /* (RFM_RECTIFY_ABS) */
    const rfm_real *mean, *scale; /* (C) the filters see (x - mean) / scale; (NULL) 0 and 1 */
    const int8_t *exponents;      /* (C) of the integers; (NULL) zeros */
} rfm_filters_options;

void rfm_filters_options_init(rfm_filters_options *options);

/* The bank of filters (K, D) as integers, without a model. Every filter uses all of its 8 bits; its shift is chosen so
 * that h fits on the windows x (n, C W), which are in raw units. Arrays from `store`, scratch from ctx->arena; they may
 * be one. RFM_ESHAPE: x.cols is not C W, filters.cols not C q; q > W. RFM_EVALUE: an option outside its range, a scale
 * that is not positive, a size above 65535. RFM_ERANGE: there are no such integers. After a failure neither *bank nor
 * `store` has changed. */
int rfm_filters_make(const rfm_ctx *ctx, size_t channels, rfm_cmat filters, const rfm_filters_options *options,
                     rfm_cmat x, rfm_arena *store, rfm_filters *bank);
int rfm_filters_make_need(size_t channels, rfm_cmat filters, const rfm_filters_options *options, rfm_cmat x,
                          size_t *scratch, size_t *store);

/* features (n, count) of the windows x (n, C W) in raw units, by the integers: what a model is fitted to. RFM_ENULL,
 * RFM_EZERO, RFM_ESTRIDE, RFM_EOVERFLOW, RFM_ESHAPE, RFM_EFINITE, RFM_EARENA: nothing written. */
int rfm_filters_features(const rfm_ctx *ctx, const rfm_filters *bank, rfm_cmat x, rfm_mat features);
int rfm_filters_features_need(const rfm_filters *bank, size_t *bytes);

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* The blob of a bank and the model that it has: bank->model, whose inputs are the features. `record` as in
 * rfm_contents, kept in the model's blob. `blob` is aligned to RFM_ALIGN. RFM_ENULL, RFM_EALIGN, RFM_EARENA (size too
 * small), RFM_EVALUE (what rfm_filters_open would refuse), RFM_EOVERFLOW, RFM_ETYPE: nothing written that counts as a
 * blob. */
int rfm_filters_size(const rfm_filters *bank, size_t record_bytes, size_t *bytes);
int rfm_filters_write(const rfm_filters *bank, const void *record, size_t record_bytes, void *blob, size_t size);

/* The model's blob inside of an opened one, for rfm_record_open. */
const void *rfm_filters_model(const void *blob, size_t *bytes);

#endif /* RFM_NO_TRAIN */

#ifdef __cplusplus
}
#endif
#endif
