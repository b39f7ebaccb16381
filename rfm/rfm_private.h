/* rfm_private.h - what the sources of the extensions share; not for their users. rfm.c does without it, so that the
 * core is two files. */
#ifndef RFM_PRIVATE_H
#define RFM_PRIVATE_H

#include "rfm.h"

#include <float.h>
#include <math.h>

#define R(x)       ((rfm_real)(x)) /* a constant of the number type */
#define REAL_EPS   RFM_LIMIT(EPSILON)
#define REAL_LEAST RFM_LIMIT(MIN) /* below this numbers lose digits */

/* AT_4: `at` is a multiple of 4. ALONE: a function of its own has all registers for its loop, and is there once. */
#if defined(__GNUC__)
#define AT_4(at) __builtin_assume_aligned(at, 4)
#define ALONE    __attribute__((noinline))
#else
#define AT_4(at) (at)
#define ALONE
#endif

static inline size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t max_size(size_t a, size_t b) { return a > b ? a : b; }
static inline rfm_real max_real(rfm_real a, rfm_real b) { return a > b ? a : b; }
static inline int between(int low, int value, int high) { return value >= low && value <= high; }

#ifndef RFM_NO_TRAIN

static inline rfm_real most_of(size_t n, const rfm_real *x) {
    rfm_real most = R(0);
    size_t i;
    for (i = 0; i < n; i++) most = max_real(most, RFM_MATH(fabs)(x[i]));
    return most;
}

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
