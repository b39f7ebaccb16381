/* Products, Cholesky, solves, eigenpairs: the same bytes for both sides.
 *
 * A row-major matrix is the transpose of the column-major matrix at the same address. So C = A B here is C' = B' A'
 * for Fortran, and our upper triangle is Fortran's lower one: both sides read and write the same elements. Both also
 * work in the same buffers, so neither has the luckier pages. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RHS 10

/* Differences are compared with this; the ports of one library differ by as much. */
#define TOLERANCE (RFM_REAL_BYTES == 8 ? 1e-12 : 2e-5)

typedef struct {
    const bench_peer *peer;
    bench_ctx ctx;
    size_t n;
    int order;                /* n for Fortran */
    rfm_real *a, *b;          /* inputs; what they are is up to the bench */
    rfm_real *work;           /* where both sides put their result */
    rfm_real *kept;           /* our result */
    rfm_real *w, *w_kept, *v; /* eigenpairs */
    rfm_real *space;          /* LAPACK's */
    int *ispace;
    int lspace, lispace;
} linalg;

/* All but the matrices, and room in the arena for what `need` says. */
static int start(linalg *s, const bench_run *run, const char *name, size_t n,
                 int (*need)(const rfm_ctx *ctx, size_t n, size_t *bytes)) {
    size_t bytes = 0;

    memset(s, 0, sizeof *s);
    bench_ctx_init(&s->ctx, run);
    if (n > 46340) { /* n * n must fit into Fortran's integers */
        fprintf(stderr, "rfm-bench: %s: n = %zu is too large for the peer\n", name, n);
        return -1;
    }
    s->peer = run->peer;
    s->n = n;
    s->order = (int)n;
    int status = need(&s->ctx.ctx, n, &bytes);
    if (status == RFM_OK) status = bench_ctx_arena(&s->ctx, bytes);
    if (status != RFM_OK) fprintf(stderr, "rfm-bench: %s: %s (%d)\n", name, rfm_status_text(status), status);
    return status == RFM_OK ? 0 : -1;
}

static void finish(linalg *s) {
    free(s->a);
    free(s->b);
    free(s->work);
    free(s->kept);
    free(s->w);
    free(s->w_kept);
    free(s->v);
    free(s->space);
    free(s->ispace);
    bench_ctx_free(&s->ctx);
}

static rfm_real *reals(size_t rows, size_t cols) { return bench_alloc(rows * cols, sizeof(rfm_real)); }

/* A symmetric random matrix with `diagonal` added, its elements of size 1 / sqrt(n): the eigenvalues of the random part
 * lie within +-1.2 whatever n, so 2 on the diagonal makes it positive definite and well conditioned. */
static rfm_real *symmetric(size_t n, double diagonal, unsigned seed) {
    rfm_real *a = reals(n, n);
    rfm_real scale = (rfm_real)(1 / sqrt((double)n));

    bench_random(a, n * n, seed);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i; j < n; j++) a[i * n + j] *= scale;
        a[i * n + i] += (rfm_real)diagonal;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) a[i * n + j] = a[j * n + i];
    return a;
}

static void prepare_nothing(void *data) { (void)data; }

static void prepare_matrix(void *data) {
    linalg *s = data;
    memcpy(s->work, s->a, s->n * s->n * sizeof(rfm_real));
}

static void keep_matrix(void *data) {
    linalg *s = data;
    memcpy(s->kept, s->work, s->n * s->n * sizeof(rfm_real));
}

static double diff_matrix(void *data) {
    linalg *s = data;
    return bench_distance(s->kept, s->work, s->n * s->n);
}

/* ---- gemm: C = A B, 2 n^3 ------------------------------------------------------------------- */

static int gemm_need(const rfm_ctx *ctx, size_t n, size_t *bytes) { return rfm_gemm_need(ctx, n, n, n, bytes); }

static int gemm_ours(void *data) {
    linalg *s = data;
    size_t n = s->n;
    return rfm_gemm(&s->ctx.ctx, RFM_NN, 1, rfm_cview(s->a, n, n), rfm_cview(s->b, n, n), 0, rfm_view(s->work, n, n));
}

static int gemm_theirs(void *data) {
    linalg *s = data;
    const rfm_real one = 1, zero = 0;
    const int *n = &s->order;
    s->peer->gemm("N", "N", n, n, n, &one, s->b, n, s->a, n, &zero, s->work, n, 1, 1);
    return 0;
}

int bench_gemm(const bench_run *run, size_t n, bench_result *result) {
    linalg s;
    int failed = start(&s, run, "gemm", n, gemm_need);

    if (!failed) {
        bench_pair pair = {&s, prepare_nothing, gemm_ours, gemm_theirs, keep_matrix, diff_matrix};
        s.a = reals(n, n);
        s.b = reals(n, n);
        s.work = reals(n, n);
        s.kept = reals(n, n);
        bench_random(s.a, n * n, 1);
        bench_random(s.b, n * n, 2);
        result->flops = 2.0 * (double)n * (double)n * (double)n;
        result->tolerance = TOLERANCE;
        result->aim = 0.95;
        failed = bench_measure(run, "gemm", &pair, result);
    }
    finish(&s);
    return failed;
}

/* ---- Cholesky: A = U'U, n^3 / 3 ------------------------------------------------------------- */

static int chol_ours(void *data) {
    linalg *s = data;
    return rfm_chol(&s->ctx.ctx, rfm_view(s->work, s->n, s->n), NULL);
}

static int chol_theirs(void *data) {
    linalg *s = data;
    int info = 0;
    s->peer->potrf("L", &s->order, s->work, &s->order, &info, 1);
    return info;
}

int bench_chol(const bench_run *run, size_t n, bench_result *result) {
    linalg s;
    int failed = start(&s, run, "chol", n, rfm_chol_need);

    if (!failed) {
        bench_pair pair = {&s, prepare_matrix, chol_ours, chol_theirs, keep_matrix, diff_matrix};
        s.a = symmetric(n, 2, 3);
        s.work = reals(n, n);
        s.kept = reals(n, n);
        result->flops = (double)n * (double)n * (double)n / 3;
        result->tolerance = TOLERANCE;
        result->aim = 0.95;
        failed = bench_measure(run, "chol", &pair, result);
    }
    finish(&s);
    return failed;
}

/* ---- solve: A X = B from the factor, 10 right-hand sides, 2 n^2 each ---------------------------
 *
 * Here the layouts differ by nature: right-hand sides are the columns of our row-major B (n, 10) and contiguous for
 * Fortran. Each side gets the form that its own users have. */

static int solve_need(const rfm_ctx *ctx, size_t n, size_t *bytes) {
    size_t factor = 0;
    int status = rfm_chol_need(ctx, n, &factor);
    if (status == RFM_OK) status = rfm_trsm_need(ctx, n, RHS, bytes);
    if (status == RFM_OK && factor > *bytes) *bytes = factor;
    return status;
}

static void solve_prepare(void *data) {
    linalg *s = data;
    memcpy(s->work, s->b, s->n * RHS * sizeof(rfm_real));
}

static int solve_ours(void *data) {
    linalg *s = data;
    return rfm_chol_solve(&s->ctx.ctx, rfm_cview(s->a, s->n, s->n), rfm_view(s->work, s->n, RHS));
}

static int solve_theirs(void *data) {
    linalg *s = data;
    int rhs = RHS, info = 0;
    s->peer->potrs("L", &s->order, &rhs, s->a, &s->order, s->work, &s->order, &info, 1);
    return info;
}

/* b holds random numbers, as random in either shape, so the timed calls share its bytes. To compare, theirs solves once
 * more, for our right-hand sides in its own layout. */
static void solve_keep(void *data) {
    linalg *s = data;
    memcpy(s->kept, s->work, s->n * RHS * sizeof(rfm_real));
}

static double solve_diff(void *data) {
    linalg *s = data;
    rfm_real *ours = reals(s->n, RHS);
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < RHS; j++) {
            s->work[j * s->n + i] = s->b[i * RHS + j];
            ours[j * s->n + i] = s->kept[i * RHS + j];
        }
    double diff = solve_theirs(s) == 0 ? bench_distance(ours, s->work, s->n * RHS) : HUGE_VAL;
    free(ours);
    return diff;
}

int bench_solve(const bench_run *run, size_t n, bench_result *result) {
    linalg s;
    int failed = start(&s, run, "solve", n, solve_need);

    if (!failed) {
        s.a = symmetric(n, 2, 3);
        s.b = reals(n, RHS);
        s.work = reals(n, RHS);
        s.kept = reals(n, RHS);
        bench_random(s.b, n * RHS, 4);
        result->flops = 2.0 * (double)n * (double)n * RHS;
        result->tolerance = TOLERANCE;
        result->aim = 1;
        int status = rfm_chol(&s.ctx.ctx, rfm_view(s.a, n, n), NULL);
        if (status != RFM_OK) {
            fprintf(stderr, "rfm-bench: solve: %s (%d)\n", rfm_status_text(status), status);
            failed = -1;
        }
    }
    if (!failed) {
        bench_pair pair = {&s, solve_prepare, solve_ours, solve_theirs, solve_keep, solve_diff};
        failed = bench_measure(run, "solve", &pair, result);
    }
    finish(&s);
    return failed;
}

/* ---- eigenpairs: all of them, by custom 14/3 n^3 (4/3 to tridiagonal, 4/3 to merge, 2 to transform back) ---- */

static int eig_need(const rfm_ctx *ctx, size_t n, size_t *bytes) { return rfm_eig_need(ctx, n, n, bytes); }

static int eig_ours(void *data) {
    linalg *s = data;
    return rfm_eig(&s->ctx.ctx, rfm_view(s->work, s->n, s->n), s->n, s->w, rfm_view(s->v, s->n, s->n));
}

static int eig_theirs(void *data) {
    linalg *s = data;
    int info = 0;
    s->peer->syevd("V", "L", &s->order, s->work, &s->order, s->w, s->space, &s->lspace, s->ispace, &s->lispace, &info,
                   1, 1);
    return info;
}

static void eig_keep(void *data) {
    linalg *s = data;
    memcpy(s->w_kept, s->w, s->n * sizeof(rfm_real));
    memcpy(s->kept, s->v, s->n * s->n * sizeof(rfm_real));
}

/* Eigenvalues against theirs. Eigenvectors of close eigenvalues may differ by a rotation, so ours are held against
 * A v = w v and against each other instead, for some 32 of them. Ours is largest first, LAPACK's smallest first. */
static double eig_diff(void *data) {
    linalg *s = data;
    size_t n = s->n, step = n > 32 ? n / 32 : 1;
    double size = fabs((double)s->w[0]), worst = 0;

    if (fabs((double)s->w[n - 1]) > size) size = fabs((double)s->w[n - 1]);
    for (size_t i = 0; i < n; i++) {
        double apart = fabs((double)s->w_kept[i] - (double)s->w[n - 1 - i]) / size;
        if (!(apart <= worst)) worst = apart;
    }
    for (size_t k = 0; k < n; k += step) {
        const rfm_real *v = s->kept + k * n;
        double residual = 0;
        for (size_t i = 0; i < n; i++) {
            double sum = -(double)s->w_kept[k] * (double)v[i], dot = i == k ? -1 : 0;
            for (size_t j = 0; j < n; j++) {
                sum += (double)s->a[i * n + j] * (double)v[j];
                dot += (double)s->kept[i * n + j] * (double)v[j];
            }
            residual += sum * sum;
            if (!(fabs(dot) <= worst)) worst = fabs(dot);
        }
        residual = sqrt(residual) / size;
        if (!(residual <= worst)) worst = residual;
    }
    return worst;
}

int bench_eig(const bench_run *run, size_t n, bench_result *result) {
    linalg s;
    int failed = start(&s, run, "eig", n, eig_need);

    if (!failed) {
        bench_pair pair = {&s, prepare_matrix, eig_ours, eig_theirs, eig_keep, eig_diff};
        s.a = symmetric(n, 0, 5);
        s.work = reals(n, n);
        s.kept = reals(n, n);
        s.v = reals(n, n);
        s.w = reals(n, 1);
        s.w_kept = reals(n, 1);
        if (run->peer) {
            rfm_real want = 0;
            int iwant = 0, ask = -1, info = 0;
            run->peer->syevd("V", "L", &s.order, s.work, &s.order, s.w, &want, &ask, &iwant, &ask, &info, 1, 1);
            s.lspace = (int)want + 64; /* the answer was rounded to a float */
            s.lispace = iwant;
            s.space = reals((size_t)s.lspace, 1);
            s.ispace = bench_alloc((size_t)s.lispace, sizeof(int));
        }
        result->flops = 14.0 / 3 * (double)n * (double)n * (double)n;
        result->tolerance = RFM_REAL_BYTES == 8 ? 1e-11 : 1e-4;
        result->aim = n <= 300 ? 0.667 : 0.4;
        result->ms = 1;
        failed = bench_measure(run, "eig", &pair, result);
    }
    finish(&s);
    return failed;
}
