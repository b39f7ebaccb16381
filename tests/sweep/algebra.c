/* Products, Cholesky, solves and eigenpairs: what they return, against the definition in double. */
#include "algebra.h"
#include "fits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const algebra_names[] = {"rfm_gemm",       "rfm_syrk",      "rfm_chol", "rfm_trsm",
                                     "rfm_chol_solve", "rfm_chol_rank", "rfm_eig"};

static int algebra_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    algebra *t = arg;
    (void)store;
    switch (t->what) {
    case GEMM: return rfm_gemm_need(ctx, t->m, t->n, t->k, scratch);
    case SYRK: return rfm_syrk_need(ctx, t->n, t->k, scratch);
    case CHOL: return rfm_chol_need(ctx, t->n, scratch);
    case RANK: return rfm_chol_rank_need(ctx, t->n, scratch);
    case EIG: return rfm_eig_need(ctx, t->n, t->k, scratch);
    default: return rfm_trsm_need(ctx, t->n, t->k, scratch);
    }
}

static void copy(rfm_mat from, rfm_mat to) {
    memcpy(to.at, from.at, ((from.rows - 1) * from.stride + from.cols) * sizeof *to.at);
}

static int algebra_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    algebra *t = arg;
    (void)store;
    if (t->a0.at != NULL) copy(t->a0, t->a);
    if (t->c0.at != NULL) copy(t->c0, t->c);
    switch (t->what) {
    case GEMM: return rfm_gemm(ctx, t->op, t->alpha, rfm_const(t->a), rfm_const(t->b), t->beta, t->c);
    case SYRK: return rfm_syrk(ctx, t->op, t->alpha, rfm_const(t->a), t->beta, t->c);
    case CHOL: return rfm_chol(ctx, t->a, &t->row);
    case TRSM: return rfm_trsm(ctx, t->op, rfm_const(t->b), t->c);
    case SOLVE: return rfm_chol_solve(ctx, rfm_const(t->b), t->c);
    case RANK: return rfm_chol_rank(ctx, t->a, t->tolerance, t->perm, &t->rank);
    default: return rfm_eig(ctx, t->a, t->k, t->w, t->c);
    }
}

static uint64_t algebra_hash(const void *arg) {
    const algebra *t = arg;
    uint64_t hash = t->rank;
    if (t->c.at != NULL) hash = hash_view(hash, rfm_const(t->c));
    if (t->what == CHOL || (t->what == RANK && t->rank == t->n)) hash = hash_view(hash, rfm_const(t->a));
    if (t->what == RANK) hash = hash_bytes(hash, t->perm, t->n * sizeof *t->perm);
    if (t->what == EIG) hash = hash_bytes(hash, t->w, t->k * sizeof *t->w);
    return hash;
}

static rfm_mat same_shape(rfm_mat a) {
    rfm_mat b = a;
    b.at = take_reals((a.rows - 1) * a.stride + a.cols);
    return b;
}

int algebra_exactly(algebra *t, const rfm_port *port) {
    call f = {NULL, algebra_need, algebra_run, algebra_hash};
    f.name = algebra_names[t->what];
    if (t->a0.at != NULL) t->a = same_shape(t->a0);
    if (t->c0.at != NULL) t->c = same_shape(t->c0);
    if (t->what == RANK) t->perm = take(t->n * sizeof *t->perm);
    if (t->what == EIG) t->w = take_reals(t->k);
    return exact(&f, t, port);
}

/* A = B'B of rank `rank`, plus `shift` on the diagonal; what is below the diagonal is NaN. */
static rfm_mat draw_square(size_t n, size_t rank, double shift) {
    rfm_mat a = draw_view(n, n);
    double *root = take(n * n * sizeof *root);
    size_t i, j, q;
    for (i = 0; i < n * n; i++) root[i] = uniform(-1, 1);
    for (i = 0; i < n; i++)
        for (j = i; j < n; j++) {
            double sum = i == j ? shift : 0;
            for (q = 0; q < rank; q++) sum += root[q * n + i] * root[q * n + j];
            a.at[i * a.stride + j] = (rfm_real)sum;
        }
    return a;
}

/* ---- what is right: in long double, which has room for products of the largest doubles ------ */

typedef long double wide;

static wide at(rfm_mat a, size_t i, size_t j) { return (wide)a.at[i * a.stride + j]; }

/* Of the symmetric matrix whose upper triangle is in a. */
static wide upper_at(rfm_mat a, size_t i, size_t j) { return i < j ? at(a, i, j) : at(a, j, i); }

/* |got - expected| <= (terms + 8) eps (the sum of the magnitudes of its terms) */
static void check_product(const algebra *t) {
    const rfm_mat a = t->a0, b = t->what == SYRK ? t->a0 : t->b;
    const wide alpha = (wide)t->alpha, beta = (wide)t->beta;
    size_t i, j, p;
    for (i = 0; i < t->m; i++)
        for (j = t->what == SYRK ? i : 0; j < t->n; j++) {
            wide sum = 0, all = 0, bound;
            for (p = 0; p < t->k; p++) {
                const wide term =
                    (t->op == RFM_TN ? at(a, p, i) : at(a, i, p)) * (t->op == RFM_NT ? at(b, j, p) : at(b, p, j));
                sum += term, all += fabsl(term);
            }
            sum *= alpha, all *= fabsl(alpha);
            if (beta > 0 || beta < 0) sum += beta * at(t->c0, i, j), all += fabsl(beta * at(t->c0, i, j));
            bound = (wide)(t->k + 8) * ((wide)EPSILON * all + (wide)t->least * (fabsl(alpha) + 1));
            if (!(fabsl(at(t->c, i, j) - sum) <= bound)) {
                fail("%s is %.9Lg at %lu, %lu, expected %.9Lg", algebra_names[t->what], at(t->c, i, j),
                     (unsigned long)i, (unsigned long)j, sum);
                return;
            }
        }
}

/* A = U'U, in the order of perm: off by at most rounding of the two diagonal elements, or of what the rank leaves
 * out. */
static void check_factor(const algebra *t) {
    const size_t n = t->n, rank = t->what == RANK ? t->rank : n;
    wide most = 0;
    size_t i, j, p;
    for (i = 0; i < n; i++) most = fmaxl(most, at(t->a0, i, i));
    for (i = 0; i < n; i++)
        for (j = i; j < n; j++) {
            const size_t row = t->what == RANK ? t->perm[i] : i, col = t->what == RANK ? t->perm[j] : j;
            const wide size = t->what == RANK ? most : sqrtl(at(t->a0, i, i)) * sqrtl(at(t->a0, j, j));
            wide sum = 0;
            for (p = 0; p < rank && p <= i; p++) sum += at(t->a, p, i) * at(t->a, p, j);
            if (!(fabsl(sum - upper_at(t->a0, row, col)) <=
                  ((wide)(4 * n + 16) * (wide)EPSILON + (wide)t->tolerance) * size + (wide)n * (wide)t->least)) {
                fail("%s: U'U is %.9Lg at %lu, %lu, A is %.9Lg", algebra_names[t->what], sum, (unsigned long)row,
                     (unsigned long)col, upper_at(t->a0, row, col));
                return;
            }
        }
}

/* U X = B or U'X = B, both for a solve: the residual is small beside |U| |X|. */
static void check_solution(const algebra *t) {
    const size_t n = t->n;
    const int both = t->what == SOLVE;
    wide *x = take(n * sizeof *x), *size = take(n * sizeof *size);
    size_t col, i, p;
    for (col = 0; col < t->k; col++) {
        for (i = 0; i < n; i++) { /* U x */
            x[i] = size[i] = 0;
            for (p = i; p < n; p++)
                x[i] += at(t->b, i, p) * at(t->c, p, col),
                    size[i] += fabsl(at(t->b, i, p)) * (fabsl(at(t->c, p, col)) + (wide)t->least);
        }
        for (i = 0; i < n; i++) {
            wide sum = x[i], all = size[i];
            if (both || t->op == RFM_TN) {
                sum = all = 0;
                for (p = 0; p <= i; p++) {
                    sum += at(t->b, p, i) * (both ? x[p] : at(t->c, p, col));
                    all += fabsl(at(t->b, p, i)) * ((both ? size[p] : fabsl(at(t->c, p, col))) + (wide)t->least);
                }
            }
            if (!(fabsl(sum - at(t->c0, i, col)) <= (wide)(4 * n + 16) * ((wide)EPSILON * all + (wide)t->least))) {
                fail("%s: residual %.3Lg at %lu, %lu, terms %.3Lg", algebra_names[t->what], sum - at(t->c0, i, col),
                     (unsigned long)i, (unsigned long)col, all);
                return;
            }
        }
    }
}

/* A V' = V' diag(w), V V' = I, w falling. */
static void check_pairs(const algebra *t) {
    const size_t n = t->n;
    const wide bound = 100 * (wide)(n + 10) * (wide)EPSILON;
    wide most = 0;
    size_t i, j, p;
    for (i = 0; i < n; i++) {
        wide sum = 0;
        for (j = 0; j < n; j++) sum += fabsl(upper_at(t->a0, i, j));
        most = fmaxl(most, sum);
    }
    for (i = 0; i < t->k; i++) {
        if (i > 0 && t->w[i] > t->w[i - 1])
            fail("rfm_eig: eigenvalue %lu is larger than the one before", (unsigned long)i);
        for (j = 0; j <= i; j++) {
            wide dot = 0;
            for (p = 0; p < n; p++) dot += at(t->c, i, p) * at(t->c, j, p);
            if (!(fabsl(dot - (i == j)) <= bound))
                fail("rfm_eig: vectors %lu and %lu have the product %.3Lg", (unsigned long)j, (unsigned long)i, dot);
        }
        for (p = 0; p < n; p++) {
            wide sum = -(wide)t->w[i] * at(t->c, i, p);
            for (j = 0; j < n; j++) sum += upper_at(t->a0, p, j) * at(t->c, i, j);
            if (!(fabsl(sum) <= bound * most + (wide)n * (wide)t->least))
                fail("rfm_eig: A v - w v is %.3Lg for pair %lu, |A| is %.3Lg", sum, (unsigned long)i, most);
        }
    }
}

void algebra_check(const algebra *t) {
    size_t i;
    switch (t->what) {
    case GEMM:
    case SYRK: check_product(t); break;
    case TRSM:
    case SOLVE: check_solution(t); break;
    case EIG: check_pairs(t); break;
    default:
        if (t->what == RANK && t->rank > t->n)
            fail("rank %lu", (unsigned long)t->rank);
        else
            check_factor(t);
    }
    for (i = 1; i < t->n && (t->what == CHOL || t->what == RANK || t->what == EIG); i++)
        if (memcmp(t->a.at + i * t->a.stride, t->a0.at + i * t->a.stride, i * sizeof *t->a.at) != 0)
            fail("%s writes below the diagonal", algebra_names[t->what]);
}

/* ---- cases ---------------------------------------------------------------------------------- */

static rfm_mat draw_filled(size_t rows, size_t cols) {
    rfm_mat a = draw_view(rows, cols);
    fill(a, -1, 1);
    return a;
}

static void draw_product(algebra *t) {
    const int by_column = t->op == RFM_TN;
    t->m = draw_size(600), t->n = t->what == SYRK ? t->m : draw_size(1100), t->k = draw_size(600);
    while ((double)t->m * (double)t->n * (double)t->k > 5e6)
        t->m = draw_size(200), t->n = t->what == SYRK ? t->m : draw_size(200), t->k = draw_size(200);
    t->a0 = by_column ? draw_filled(t->k, t->m) : draw_filled(t->m, t->k);
    if (t->what == GEMM) t->b = t->op == RFM_NT ? draw_filled(t->n, t->k) : draw_filled(t->k, t->n);
    t->alpha = chance(2) ? 1 : (rfm_real)uniform(-2, 2), t->beta = chance(2)   ? 0
                                                                   : chance(2) ? 1
                                                                               : (rfm_real)uniform(-2, 2);
    t->c0 = draw_filled(t->m, t->n);
    if (t->what == SYRK) /* not read, not written */
        for (t->row = 1; t->row < t->m; t->row++)
            memset(t->c0.at + t->row * t->c0.stride, 0xff, t->row * sizeof *t->c0.at);
    if (!(t->beta > 0 || t->beta < 0)) fill_nan(t->c0);
}

static void draw_triangle(algebra *t) {
    size_t i;
    t->b = draw_square(t->n, 0, 1);
    for (i = 0; i < t->n; i++) { /* well-conditioned: what is off the diagonal is small */
        rfm_mat row = rfm_view(t->b.at + i * t->b.stride + i, 1, t->n - i);
        fill(row, -1 / sqrt((double)t->n), 1 / sqrt((double)t->n));
        row.at[0] = (rfm_real)(chance(2) ? uniform(1, 2) : -uniform(1, 2));
    }
    t->k = draw_size(100);
    t->c0 = draw_filled(t->n, t->k);
}

void algebra_case(size_t number) {
    algebra t;
    const rfm_port *port;
    size_t rank;
    int status;
    memset(&t, 0, sizeof t);
    t.what = (int)(number % ALGEBRA_FUNCTIONS);
    t.op = t.what == GEMM ? (int)draw(3) : t.what == SYRK ? (int)(1 + draw(2)) : (int)draw(2);
    t.n = draw_size(t.what == EIG ? 140 : 260);
    rank = chance(2) ? t.n + 3 : draw(t.n + 1);
    if (t.what <= SYRK)
        draw_product(&t);
    else if (t.what == TRSM || t.what == SOLVE)
        draw_triangle(&t);
    else
        t.a0 = draw_square(t.n, t.what == CHOL ? t.n : rank < t.n ? rank : t.n, t.what == CHOL || rank > t.n ? 0.5 : 0);
    if (t.what == RANK) t.tolerance = (rfm_real)(chance(2) ? 0 : pow(10, uniform(-5, -1)));
    if (t.what == EIG) t.k = 1 + draw(t.n), t.c0 = draw_view(t.k, t.n);
    note(" %s op %d m %lu n %lu k %lu rank %lu alpha %g beta %g tolerance %g", algebra_names[t.what], t.op,
         (unsigned long)t.m, (unsigned long)t.n, (unsigned long)t.k, (unsigned long)rank, (double)t.alpha,
         (double)t.beta, (double)t.tolerance);
    port = draw_port();
    status = algebra_exactly(&t, port);
    if (status != RFM_OK)
        refused(algebra_names[t.what], status);
    else
        algebra_check(&t);
}
