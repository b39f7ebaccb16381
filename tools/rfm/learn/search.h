/* Choosing the settings of a fit inside the training rows. */
#ifndef SEARCH_H
#define SEARCH_H

#include "hold.h"
#include "learn.h"
#include "measures.h"

#include <signal.h>

#define CANDIDATES 8

typedef struct {
    machine *machine;
    rfm_cmat x, y;          /* training rows as they will be fitted */
    rfm_cmat other[WAYS];   /* x with inputs made in other ways than the standard one; at NULL: it is not tried */
    const uint32_t *labels; /* (n) classes, or NULL for regression */
    size_t classes;
    const rfm_real *weights; /* (n), or NULL */
    int even;                /* 1: they make all classes count the same */
    hold_rules apart;        /* groups and times, if any */
    int tune;                /* TUNE_..., by which the best few are compared; negative: accuracy or squared error */
    int balance;             /* the decision between two classes is where held-out rows do best by `tune` */
    rfm_cmat start;          /* of M, as rfm_data has it; at NULL: the identity */
    rfm_options base;        /* exponent, scale, seed, unit rows */
    int kernels[3];          /* the third is tried with metrics[0] only, RFM_IDENTITY */
    size_t kernel_count;
    int metrics[3], centers[2];
    size_t metric_count, center_count;
    int bandwidth_rule; /* of all of: */
    double bandwidths[CANDIDATES], ridges[CANDIDATES];
    size_t bandwidth_count, ridge_count;
    size_t first_iterations, last_iterations; /* T is between them */
    size_t models;                            /* of a mean, at most; 1: one model */
    double time_limit;                        /* seconds from the start; 0: none */
    double coverage;                          /* of conformal sets; 0: none are wanted */
    volatile const sig_atomic_t *interrupted;
} search_problem;

typedef struct {
    rfm_options options; /* of the last fit; of a mean its first model */
    int way;             /* WAY_... of the inputs */
    size_t models;       /* 1, or so many whose weighted mean does better on held-out rows: */
    rfm_options mean[MOST_MODELS];
    double weights[MOST_MODELS]; /* of these, with the sum 1 */
    double validation;  /* accuracy or r2 of held-out rows; NaN: not known */
    double tuned;       /* what is tuned for, of the same; NaN: nothing, or not known */
    double spread;      /* its standard deviation over the folds; NaN: not known */
    double shift;       /* to be added to the output of two classes */
    size_t tried;       /* settings: kernel, metric, centring, bandwidth, ridge, T */
    double temperature; /* 0: not known */
    double threshold;   /* of conformal sets with the coverage, from held-out rows; negative: not known */
    size_t folds, held; /* what both are from: the rows of so many folds, or of one hold-out; 0: none */
} search_result;

/* 1 if the problem leaves anything to choose. */
int search_needed(const search_problem *p);

search_result search(const search_problem *p);

/* What it will take: about so many multiplications, and bytes of the threads' arenas at a time. */
typedef struct {
    double work;
    double bytes;
} search_cost;
search_cost search_estimate(const search_problem *p);

/* Multiplications of a fit of n rows, one after the other: the factor, the kernel, T updates of M. */
double fit_work(double n, double d, double c, const rfm_options *o);

#endif
