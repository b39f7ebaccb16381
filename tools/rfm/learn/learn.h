/* From rows to a model file: what `train` and `compress` have in common. */
#ifndef LEARN_H
#define LEARN_H

#include "score.h"

#define MOST_ITERATIONS 60
#define MOST_MODELS     6 /* of a mean */

/* Rows as they are fitted: standardised unless they are raw. */
typedef struct {
    size_t rows, d, c;
    int raw;
    rfm_real *x, *y;                           /* (rows, d), (rows, c) */
    rfm_real *mean, *scale, *y_mean, *y_scale; /* of the columns before that: (d), (d), (c), (c) */
    offsets moved;                             /* the sample's */
    rfm_cmat start;                            /* of M, for these rows; at NULL: the identity */
    const sample_form *form;
    const char *input_names;
    const rfm_real *weights; /* (rows), or NULL */
    text record;             /* further entries of the model's record */
    const text *decisions;   /* strings, the last of these entries; NULL: none */
} lesson;

/* Takes s->x over, and s->y where there are no classes: both are changed in place. No cell is missing. */
void lesson_prepare(lesson *l, sample *s, const sample_form *form, const char *input_names, size_t d, int raw,
                    const char *file);
void lesson_free(lesson *l); /* what was made here */

/* Further rows in the form of the lesson's: s->x is changed in place, no cell is missing. Their y (rows, c), to be
 * freed. */
rfm_real *lesson_rows(const lesson *l, sample *s);

/* y (rows, c), the targets of rows with classes: one column per class, 1 or 0; for two classes one column, 1 or -1. */
void class_targets(const uint32_t *labels, size_t rows, size_t c, rfm_real *y);

typedef struct {
    rfm_model model; /* its arrays are in the machine's arena */
    rfm_step path[MOST_ITERATIONS + 1];
    size_t arena_bytes;
    double unit;                /* what a ridge of 1 adds to the diagonal of K: network kernels, by share; 0: 1 */
    double coverage, threshold; /* of conformal sets; 0: the model has none */
    double shift;               /* to be added to the output of two classes */
} fitted;

/* Bytes of arena that a fit takes; more than this machine has end the program. */
size_t lesson_need(machine *m, const lesson *l, const rfm_options *options);

/* Fits on an arena of the machine's; RFM_OK or RFM_ECANCEL, any other status ends the program. */
int lesson_fit(machine *m, const lesson *l, const rfm_options *options, int (*tick)(void *arg, rfm_real done),
               fitted *f);

/* The record of a fit: what it was trained with, and what its tools need to take the same columns in the same way. */
void lesson_record(const lesson *l, const rfm_options *options, const fitted *f, text *record);

/* The blob of a fit, to be freed, and that blob opened; its outputs are `share` times as large. `validation` may be
 * NaN. */
void *lesson_pack(const lesson *l, const rfm_options *options, const fitted *f, double validation, double temperature,
                  double share, size_t *bytes, rfm_model *opened);

/* The same without names and record, for a mean; and the blob of the mean of so many of these, each with options and a
 * share of its own; f: of the first. No column of the lesson is moved. */
void *lesson_pack_one(const lesson *l, const rfm_options *options, const fitted *f, double share, size_t *bytes);
void *lesson_join(const lesson *l, const rfm_options *options, const double *shares, const fitted *f,
                  double temperature, size_t count, const void *const *blobs, const size_t *sizes, size_t *bytes,
                  rfm_tree *opened);

#endif
