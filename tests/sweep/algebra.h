/* One call of a product, a factor, a solve or the eigenpairs; and whether its result is right. */
#ifndef ALGEBRA_H
#define ALGEBRA_H

#include "sweep.h"

enum { GEMM, SYRK, CHOL, TRSM, SOLVE, RANK, EIG, ALGEBRA_FUNCTIONS };
extern const char *const algebra_names[];

/* Arguments; the views with a 0 are what they were before the call. */
typedef struct {
    int what, op;
    rfm_real alpha, beta, tolerance;
    rfm_mat a0, b, c0; /* trsm, solve: U in b, B in c0; chol, rank, eig: A in a0 */
    rfm_mat a, c;      /* eig: V in c */
    size_t m, n, k;
    rfm_real *w;
    uint32_t *perm;
    size_t row, rank;
    double least; /* what a term of a sum may be off beside its rounding: for numbers below the normal range; else 0 */
} algebra;

/* Takes memory for what the call writes, and runs it: exact() of sweep.h. */
int algebra_exactly(algebra *t, const rfm_port *port);

/* The result against the definition. */
void algebra_check(const algebra *t);

#endif
