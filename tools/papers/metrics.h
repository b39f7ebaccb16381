/* How methods are summed up over sets (appendix E of the RFM paper); metrics.c has the definitions. */
#ifndef METRICS_H
#define METRICS_H

#include <stddef.h>

/* Of one method. NaN: there is no set to take it of. */
typedef struct {
    double average, pma, pma_deviation, p90, p95, rank, adtm;
} summary;

/* x (sets, methods), NaN: missing; to (methods). Sets without any score count for nothing. */
void metrics_of(const double *x, size_t sets, size_t methods, summary *to);

#endif
