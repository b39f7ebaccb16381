/* rfm_private.h - what the sources of the extensions share; not for their users. rfm.c does without it, so that the
 * core is two files. */
#ifndef RFM_PRIVATE_H
#define RFM_PRIVATE_H

#include "rfm.h"

#include <float.h>

#define R(x)       ((rfm_real)(x)) /* a constant of the number type */
#define REAL_EPS   RFM_LIMIT(EPSILON)
#define REAL_LEAST RFM_LIMIT(MIN) /* below this numbers lose digits */

static inline size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t max_size(size_t a, size_t b) { return a > b ? a : b; }
static inline rfm_real max_real(rfm_real a, rfm_real b) { return a > b ? a : b; }
static inline int between(int low, int value, int high) { return value >= low && value <= high; }

#ifndef RFM_NO_TRAIN

static inline int check_view(rfm_cmat a) {
    if (a.at == NULL) return RFM_ENULL;
    if (a.rows == 0 || a.cols == 0) return RFM_EZERO;
    if (a.stride < a.cols) return RFM_ESTRIDE;
    if (a.rows > UINT32_MAX || a.stride > (size_t)PTRDIFF_MAX / sizeof(rfm_real) / a.rows) return RFM_EOVERFLOW;
    return RFM_OK;
}

static inline int finite_view(rfm_cmat a) {
    size_t i;
    for (i = 0; i < a.rows; i++)
        if (!rfm_finite(a.cols, a.at + i * a.stride)) return 0;
    return 1;
}

#endif

#endif
