/* From recorded windows to a bank of filters in integers. */
#ifndef BANK_H
#define BANK_H

#include "machine.h"

#include "rfm_filters.h"

typedef struct {
    size_t channels, taps, filters, segments;
    size_t rows;      /* at most, to learn the filters from */
    size_t rounds;    /* 0: random filters, for comparison */
    int kernel;       /* RFM_CONV_LAPLACE, RFM_CONV_NTK */
    double bandwidth; /* of Laplace, as a multiple of the square root of a patch's numbers */
    double ridge;
    uint32_t pools;
    int rectify;
} signal_options;

signal_options signal_usual(size_t channels, size_t samples, size_t filters);

/* x (n, C W) windows in raw units, y (n, c) targets. The bank's arrays are in *memory, to be freed. `tick` may be NULL.
 * RFM_OK, or a status of rfm_filters.h. */
int signal_learn(machine *m, const signal_options *o, rfm_cmat x, rfm_cmat y, int (*tick)(void *arg, rfm_real done),
                 rfm_filters *bank, void **memory);

/* Features (n, count) of windows, to be freed. */
rfm_real *signal_features(const rfm_filters *bank, rfm_cmat x);

#endif
