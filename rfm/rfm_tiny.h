/* rfm_tiny - models of a few hundred bytes: 8-bit numbers and next to nothing besides.
 *
 *   z_p = clamp((sum_j P_pj x_j >> shift_p) + bias_p)          x: d integers of 16 bits, z: r of 8 bits
 *   t_a = sum_p (z_p - center_ap)^2
 *   f_k = offset_k + sum_a alpha_ak phi(t_a),  phi(t) = 2^(-t / 2^s)
 *
 * A Gaussian, in other words, whose width is a power of two in the units of z. phi is a formula of shifts and one
 * product, right to 0.35 %. alpha is a matrix, or one weight for each centre, which then belongs to one class
 * ("prototypes"). There is no division, no table, no floating-point operation; sums of 32 bits cannot overflow; every
 * machine gives the same bits. FORMAT.md, "Tiny models", has the bytes. Such a model is made of an rfm_hyperbf, whose
 * descent can see its rounding.
 *
 * With -DRFM_NO_TRAIN only the first half is there, for firmware. `rfm export --standalone` writes a model of this kind
 * as code of its own, which needs neither this file nor a head.
 */
#ifndef RFM_TINY_H
#define RFM_TINY_H

#include "rfm.h"
#ifndef RFM_NO_TRAIN
#include "rfm_hyperbf.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- prediction ------------------------------------------------------------------------------------------------- */

#define RFM_TINY_ONE    24576 /* phi(0): 6 2^12, see phi_of */
#define RFM_TINY_OFFSET 256   /* what 1 in `offset` adds to a score */

/* What a blob holds, in place. */
typedef struct {
    uint32_t n, d, c, r;     /* centres, inputs, outputs, rank */
    int task;                /* RFM_REGRESS, RFM_CLASSIFY */
    uint32_t phi_shift;      /* s, 0 to 14 */
    const float *units;      /* (c) RFM_REGRESS: f_k = units_k score_k; else NULL */
    const int16_t *bias;     /* (r) */
    const int16_t *offset;   /* (c) in units of RFM_TINY_OFFSET; NULL: zeros */
    const int8_t *p;         /* (r, d) */
    const int8_t *centers;   /* (n, r) */
    const int8_t *alpha;     /* (n, c); with counts (n) */
    const uint8_t *counts;   /* (c) prototypes: the first counts[0] centres are of class 0, and so on; else NULL */
    const uint8_t *shifts;   /* (r) 0 to 31 */
    const int8_t *exponents; /* (d) x_j is input j times 2^exponents[j]; NULL: all are `exponent` */
    int exponent;            /* -126 to 126, as all exponents */
    const char *class_names, *input_names; /* as in rfm_model; NULL: none */
} rfm_tiny;

/* Opens a blob in place, which is not trusted: everything that prediction touches is checked. RFM_ENULL, RFM_EALIGN
 * (not a multiple of 4), RFM_EMAGIC, RFM_EVERSION, RFM_ETRUNCATED, RFM_ECHECKSUM, RFM_ETYPE (a big-endian machine),
 * RFM_ECONTENT: *model is unchanged. */
int rfm_tiny_open(const void *blob, size_t size, rfm_tiny *model);

/* scores (c), x (d), scratch (r) numbers. *nearest, if not NULL: the largest phi, RFM_TINY_ONE at a centre.
 * RFM_ENULL. */
int rfm_tiny_predict(const rfm_tiny *model, const int16_t *x, int32_t *scores, int8_t *scratch, uint32_t *nearest);

/* The class that the scores mean: the first of the largest; c = 1: 1 where the score is positive. 0 for RFM_REGRESS. */
size_t rfm_tiny_class(const rfm_tiny *model, const int32_t *scores);

/* x (d) in the units that were trained on as integers: times 2^exponent, rounded, at most what an int16_t holds.
 * RFM_ENULL, RFM_EFINITE: nothing written. */
int rfm_tiny_integers(const rfm_tiny *model, const rfm_real *x, int16_t *xi);

/* Numbers of room for a model with rank r and c outputs. */
#define RFM_TINY_CERTIFY_ROOM(r, c) ((size_t)(r) > (size_t)(c) ? (size_t)(r) : (size_t)(c))

#define RFM_TINY_FREE 65535u /* of counts[j]: the input may have any value */

/* A certificate, as rfm_certify.h has them for other models. For a classifier: scores (c) and *class_at as above, and
 * *square: every x' whose z' has |z' - z|^2 <= *square has that class. Below 2^18; 0: z' = z, nothing else.
 *
 * counts (d), NULL: not wanted. x_j alone may move by at most counts[j], up or down: RFM_TINY_FREE at most. That
 * follows the rounding of z step by step, so it is the largest move within the radius on the worse side.
 *
 * scratch (r) as above; room: RFM_TINY_CERTIFY_ROOM(r, c). Cost: 15 predictions and more, and 32 r d products for the
 * counts. RFM_ENULL; RFM_EVALUE: RFM_REGRESS. After a failure only scores and scratch may have changed. */
int rfm_tiny_certify(const rfm_tiny *model, const int16_t *x, int32_t *scores, int8_t *scratch, int64_t *room,
                     size_t *class_at, uint32_t *square, uint16_t *counts);

#ifndef RFM_NO_TRAIN

/* ---- making one ------------------------------------------------------------------------------------------------- */

/* How a network's inputs come from integers: input = (xi 2^-exponent - mean) / scale; and what its outputs mean. */
typedef struct {
    const rfm_real *mean, *scale; /* (d) NULL: 0 and 1 */
    const int8_t *exponents;      /* (d) -126 to 126 */
    int task;                     /* RFM_REGRESS: each output has a unit of its own; RFM_CLASSIFY: they share one */
} rfm_tiny_inputs;

/* Exponents for these rows (m, d), in raw units. One for all inputs: the largest with which all fit into an int16_t,
 * but at most 0 where a column has integers, the largest of which is at least 4. Or, if `each`, one for each, so that
 * all vary over 128 to 256 integers where an int16_t has room for that. RFM_ENULL, RFM_EZERO, RFM_ESTRIDE,
 * RFM_EOVERFLOW, RFM_EFINITE, RFM_ERANGE (no exponent between -126 and 126 serves): nothing written. */
int rfm_tiny_exponents(rfm_cmat x, int each, int8_t *exponents);

/* For rfm_hyperbf_options.project; `inputs` is an rfm_tiny_inputs. What is seen are P, centres, alpha and offset as
 * rfm_tiny_make rounds them. Status as rfm_tiny_make's, but the network's numbers are not looked at. */
int rfm_tiny_project(void *inputs, const rfm_hyperbf *f, rfm_hyperbf *seen);

/* The network as a tiny model; arrays from `store`. Centres are sorted by class where they have labels. Prototypes are
 * for RFM_CLASSIFY and c > 1. An offset above twice the largest alpha makes the steps of alpha coarser. RFM_ENULL,
 * RFM_EZERO, RFM_EVALUE (a kernel other than RFM_GAUSSIAN, task, labels, a scale that is not positive, exponents,
 * more
 * than 255 for r or centres of a class, more than 65535 for n, d, c), RFM_EFINITE, RFM_EARENA, RFM_ERANGE (there are no
 * such integers): neither *tiny nor `store` has changed. */
int rfm_tiny_make(const rfm_hyperbf *f, const rfm_tiny_inputs *inputs, rfm_arena *store, rfm_tiny *tiny);
int rfm_tiny_make_need(const rfm_hyperbf *f, size_t *store);

/* Its blob: names are the model's, NULL leaves them out; `record`, if not NULL, is added as it is (rfm_record_add).
 * `blob` is aligned to 4. RFM_ENULL, RFM_EZERO, RFM_EALIGN, RFM_EARENA (size too small), RFM_EVALUE (what rfm_tiny_open
 * would refuse; names in the record), RFM_EOVERFLOW, RFM_ETYPE: nothing written. */
int rfm_tiny_size(const rfm_tiny *tiny, size_t record_bytes, size_t *bytes);
int rfm_tiny_write(const rfm_tiny *tiny, const void *record, size_t record_bytes, void *blob, size_t size);

#endif /* RFM_NO_TRAIN */

#ifdef __cplusplus
}
#endif
#endif
