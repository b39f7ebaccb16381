/* Learning from the patches of images (rfm_conv.h): what is open is chosen on rows that are held out. */
#ifndef PATCHES_H
#define PATCHES_H

#include "machine.h"
#include "rfm_conv.h"

typedef struct {
    size_t channels, height, width;
} image_size;

/* "3x32x32", or "28x28" with one channel; wrong usage of the option `name` if it is neither. */
image_size image_size_of(const char *name, const char *word);

extern const char *const conv_words[]; /* laplace, cnngp, cntk: in the order of RFM_CONV_... */

#define PATCH_BANDWIDTHS 4

/* What is tried: rounds, ridges and layers of the options, and of Laplace these bandwidths. Scores decide, but a layer
 * has to lead by more than the error of the lead (rfm_conv_leads). While it leads by less, another fifth of the rows is
 * held out, the machines are made again and their scores added, up to all five. */
typedef struct {
    rfm_conv_options options;
    int hold;                            /* 1: every fifth row is held out, and says what is best */
    double bandwidths[PATCH_BANDWIDTHS]; /* in pixels; none: options.bandwidth */
    size_t bandwidth_count;
    int (*tick)(void *arg, rfm_real done); /* NULL: none */
} patch_plan;

typedef struct {
    rfm_conv_model model; /* in `memory` */
    void *memory[3];
    size_t arena_bytes;  /* scratch and model, the most of it */
    size_t held;         /* rows that were held out; 0: nothing was open */
    size_t folds;        /* that decided on layers: 1, or more where a lead was within its error; 0: nothing was open */
    double score;        /* on them: accuracy, or mean squared error */
    size_t round, tried; /* the round that was taken; settings that were tried */
    double ridge;
    double scores[RFM_CONV_LAYERS + 1]; /* by layers of filters */
} patch_fit;

/* The root mean square of the distance of two patches at one place, of neighbouring rows. */
double patch_distance(rfm_cmat x, size_t channels, size_t patch, size_t height);

/* Rows are held out of each class alike. M and the filters are learned from the others; then alpha is solved for with
 * all rows. labels NULL: a regression, whose y should have the mean 0. Ends the program if it does not work. */
void patches_learn(machine *m, image_size size, rfm_cmat x, rfm_cmat y, const uint32_t *labels, size_t classes,
                   const patch_plan *plan, patch_fit *fit);
void patch_fit_free(patch_fit *fit);

/* y (rows, c), and the classes (rows) if that is not NULL. */
void patches_predict(machine *m, const rfm_conv_model *model, rfm_cmat x, rfm_real *y, uint32_t *classes);
int patches_status(machine *m, const rfm_conv_model *model, rfm_cmat x, rfm_real *y, uint32_t *classes);

#endif
