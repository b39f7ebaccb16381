/* A problem for rfm_fit, drawn; and its model. */
#ifndef FITS_H
#define FITS_H

#include "reference.h"
#include "sweep.h"

typedef struct {
    rfm_data data;
    rfm_options o;
    const rfm_port *port;
    rfm_step path[REF_STEPS];
    rfm_report report;
    rfm_model model;
} fitting;

/* What a drawn problem may be. */
typedef struct {
    double work; /* multiply-adds of a fit at most, roughly */
    int plain;   /* 1: no ridge of 0, no zero metric, no equal rows, no zero weights */
} draw_limits;

void draw_fitting(fitting *f, draw_limits limits);
int fit_exactly(fitting *f);

/* The fit on exactly its memory, then report, M and predictions against the reference; in_use: gradients and
 * alignment as well. */
void check_fitting(fitting *f, int in_use);

/* One function of rfm_small on the fitted model: number % SMALL_FUNCTIONS. */
#define SMALL_FUNCTIONS 6
void check_small(fitting *f, size_t number);

/* Is rounding of the coordinates as large as L? Then rows and centres that should be one point are not; or no values
 * are compared. */
int coarse(const rfm_model *m);

/* The parts of the program. */
void fits_case(size_t number);
void pairs_case(size_t number);
void algebra_case(size_t number);
void small_case(size_t number);

#endif
