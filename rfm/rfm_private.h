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

#endif
