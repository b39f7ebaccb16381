/* rfm_small.c - small models, and inference in integers; rfm_small.h has the contract.
 *
 * Contents:
 *   1. Models of integers  the blob, opened in place; why nothing can overflow
 *   2. One row             prediction in integers
 *   (the rest is not there with RFM_NO_TRAIN)
 *   3. Rows                checks and products that the following share
 *   4. Features, rank
 *   5. Centres             four ways to choose them, the refit, the polish
 *   6. Integers            scales, the table of phi, rounding with feedback
 *   7. Writing
 */
#include "rfm_small.h"

#include <math.h>
#include <string.h>

/* ==== 1. Models of integers =========================================================================================== */

/* ==== 2. One row ======================================================================================================== */

#ifndef RFM_NO_TRAIN

/* ==== 3. Rows ============================================================================================================ */

/* ==== 4. Features, rank ================================================================================================= */

/* ==== 5. Centres ========================================================================================================= */

/* ==== 6. Integers ======================================================================================================== */

/* ==== 7. Writing ========================================================================================================= */

#endif /* RFM_NO_TRAIN */
