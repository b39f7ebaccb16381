/* Cholesky factors, triangular solves, the rank-revealing factor: residuals, failures at a known place. */
#include "test.h"

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

static double at(rfm_mat m, size_t i, size_t j) { return (double)m.at[i * m.stride + j]; }

/* Element (i, j) of the matrix that test_fill made, as the number type holds it. */
static double element(const test_call *p, size_t i, size_t j) {
    double x = test_symmetric(p->kind, p->a.rows, i < j ? i : j, i < j ? j : i) * (p->scale > 0 ? p->scale : 1);

    return (double)(rfm_real)x;
}

static double largest(const test_call *p) {
    double most = 0;
    size_t i;

    for (i = 0; i < p->a.rows; i++)
        most = fmax(most, fabs(element(p, i, i))); /* of a definite matrix: on its diagonal */
    return most;
}

/* The block sizes of the factor and the solves, tiles, and numbers that are nothing. */
static size_t size_of(const rfm_port *port, size_t index) {
    const size_t sizes[] = {
        1,   2,   3,   4,   5,   7,   8,   9,   16,           17,       23,           24,
        25,  31,  33,  37,  48,  49,  63,  64,  65,           95,       96,           97,
        127, 128, 129, 130, 191, 192, 193, 217, port->kc - 1, port->kc, port->kc + 1, port->kc + 25};

    return index < TEST_LENGTH(sizes) ? sizes[index] : 0;
}

static int too_slow(size_t n, int kind) {
    return n > TEST_N_MAX || (n > TEST_N_ALL && kind != (int)(n % TEST_SPD_KINDS) && (TEST_N_MAX < 500 || n > 200));
}

static int make(test_call *p, int what, int kind, size_t n, size_t turn) {
    memset(p, 0, sizeof *p);
    test_reset();
    p->what = what;
    p->kind = kind;
    p->a = test_mat(n, n, turn % 3, turn % 2);
    p->count = test_take(sizeof *p->count);
    return p->a.at != NULL && p->count != NULL;
}

/* ---- factor --------------------------------------------------------------------------------- */

/* max |A - U'U| of the leading block, in units of n eps max|A|. */
static double residual(const test_call *p, size_t n) {
    double worst = 0;
    size_t i, j, q;

    for (i = 0; i < n; i++)
        for (j = i; j < n; j++) {
            double sum = element(p, i, j);

            for (q = 0; q <= i; q++) sum -= at(p->a, q, i) * at(p->a, q, j);
            if (!(fabs(sum) <= worst)) worst = fabs(sum);
        }
    return worst / ((double)n * TEST_EPS * largest(p));
}

static void test_factor(void) {
    const rfm_port *port;
    test_call p;
    size_t i, s, n, done;
    int kind, status;

    for (i = 0; (port = test_port(i)) != NULL; i++) {
        for (s = done = 0; (n = size_of(port, s)) > 0; s++)
            for (kind = 0; kind < TEST_SPD_KINDS; kind++) {
                test_note(port->name, n, (size_t)kind, 0);
                if (too_slow(n, kind) || !make(&p, TEST_CHOL, kind, n, s)) continue;
                status = test_run(&p, port, NULL);
                if (status == TEST_SKIP) continue;
                CHECK_INT(RFM_OK, status);
                CHECK_BELOW(residual(&p, n), 10);
                for (size_t r = 0; r < n; r++) CHECK(at(p.a, r, r) > 0);
                test_check_lower(p.a);
                test_check_padding(p.a);
                test_check_same(&p, port, RFM_OK);
                if (n < 70) test_check_short(&p, port);
                done++;
            }
        CHECK(done > 5);
    }
}

/* Rows of a diagonal scaled over the whole range; and where row is not wanted. */
static void test_factor_small(void) {
    static const double scales[] = {1e-30, 1e-12, 1, 1e12, 1e30};
    test_call p;
    size_t i;

    for (i = 0; i < TEST_LENGTH(scales); i++) {
        test_note("scale", i, 0, 0);
        CHECK(make(&p, TEST_CHOL, TEST_RANDOM, 5, i));
        p.scale = scales[i];
        p.count = NULL;
        CHECK_INT(RFM_OK, test_run(&p, NULL, NULL));
        CHECK_BELOW(residual(&p, 5), 10);
    }
}

/* ---- not positive definite ------------------------------------------------------------------ */

/* The pivot of a row made slightly negative: the factor of what is above it stands, and the row is named. */
static int check_breakdown(const rfm_port *port, size_t n, size_t row, size_t turn) {
    rfm_ctx ctx;
    rfm_arena arena;
    test_call p;
    size_t need = 0;
    void *mem;
    rfm_real *d;
    double pivot;
    int round;

    test_note(port->name, n, row, 0);
    if (!make(&p, TEST_CHOL, TEST_RANDOM, n, turn)) return 0;
    memset(&ctx, 0, sizeof ctx);
    ctx.port = port;
    CHECK_INT(RFM_OK, rfm_chol_need(&ctx, n, &need));
    mem = test_take(need);
    if (mem == NULL) return 0;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
    ctx.arena = &arena;
    d = p.a.at + row * (p.a.stride + 1);
    test_fill(&p);
    CHECK_INT(RFM_OK, test_call_run(&ctx, &p));
    pivot = (double)*d * (double)*d;
    for (round = 0; round < 3; round++) { /* just below zero, far below, and a zero on the diagonal */
        test_fill(&p);
        *d = round < 2 ? (rfm_real)((double)*d - pivot * (round == 0 ? 1.01 : 100)) : 0;
        *p.count = n;
        CHECK_INT(RFM_ENOTPD, test_call_run(&ctx, &p));
        CHECK_SIZE(row, *p.count);
        CHECK_SIZE(0, arena.used);
        CHECK_INT(RFM_OK, arena.status);
        if (row > 0) CHECK_BELOW(residual(&p, row), 10);
        test_check_lower(p.a);
        test_check_padding(p.a);
    }
    test_fill(&p);
    *d = -1;
    p.count = NULL; /* nobody wants to know */
    CHECK_INT(RFM_ENOTPD, test_call_run(&ctx, &p));
    return 1;
}

static void test_breakdown(void) {
    const rfm_port *port;
    size_t i, s, n, r, done;

    for (i = 0; (port = test_port(i)) != NULL; i++) {
        for (s = done = 0; (n = size_of(port, s)) > 0; s++) {
            const size_t rows[] = {0,  1,   port->mr, 22,           23,       24,           25,    47,
                                   48, 191, 192,      port->kc - 1, port->kc, port->kc + 1, n / 2, n - 1};

            if (n > TEST_N_MAX) continue;
            for (r = 0; r < TEST_LENGTH(rows); r++)
                if (rows[r] < n && (n < 34 || r % 5 == s % 5)) done += (size_t)check_breakdown(port, n, rows[r], s + r);
        }
        CHECK(done > 5);
    }
}

static void test_indefinite(void) {
    static const int kinds[] = {TEST_ZERO, TEST_NEGATIVE, TEST_SYMMETRIC};
    const rfm_port *port;
    test_call p;
    size_t i, j, n;

    for (i = 0; (port = test_port(i)) != NULL; i++)
        for (j = 0; j < TEST_LENGTH(kinds); j++)
            for (n = j == 2 ? 6 : 1; n < 9; n++) {
                test_note(port->name, j, n, 0);
                CHECK(make(&p, TEST_CHOL, kinds[j], n, n));
                CHECK_INT(RFM_ENOTPD, test_run(&p, port, NULL));
                if (j < 2) CHECK_SIZE(0, *p.count);
                CHECK(*p.count < n);
                test_check_lower(p.a);
                test_check_same(&p, port, RFM_ENOTPD);
            }
}

/* ---- solves --------------------------------------------------------------------------------- */

static const size_t columns[] = {1, 2, 10, 17, 33};

static int make_solve(test_call *p, int what, int kind, size_t n, size_t c, size_t turn) {
    if (!make(p, what, kind, n, turn)) return 0;
    p->c = test_mat(n, c, turn % 4, (turn / 2) % 2);
    return p->c.at != NULL;
}

/* Element (i, j) of what X is multiplied by: A, U or U'. */
static double operator_at(const test_call *p, size_t i, size_t j) {
    if (p->what == TEST_SOLVE) return element(p, i, j);
    if (p->op == RFM_TN) return j <= i ? at(p->a, j, i) : 0;
    return i <= j ? at(p->a, i, j) : 0;
}

/* max |A X - B|, or with U or U' for A, in units of n eps ||A|| max|X|. */
static double solve_residual(const test_call *p) {
    const size_t n = p->a.rows, c = p->c.cols;
    double worst = 0, norm = 0, most = 0, rest[33];
    size_t i, j, q;

    for (i = 0; i < n; i++) {
        double sum = 0;

        for (j = 0; j < c; j++) rest[j] = -test_number(3, i, j);
        for (q = 0; q < n; q++) {
            double x = operator_at(p, i, q);

            sum += fabs(x);
            for (j = 0; j < c; j++) rest[j] += x * at(p->c, q, j);
        }
        norm = fmax(norm, sum);
        for (j = 0; j < c; j++) {
            if (!(fabs(rest[j]) <= worst)) worst = fabs(rest[j]);
            most = fmax(most, fabs(at(p->c, i, j)));
        }
    }
    return worst / ((double)n * TEST_EPS * norm * most);
}

static int check_solve(test_call *p, const rfm_port *port) {
    const size_t factor = test_mark();
    int status = test_run(p, port, NULL);

    if (status == TEST_SKIP) return 0;
    CHECK_INT(RFM_OK, status);
    CHECK_BELOW(solve_residual(p), 10);
    test_check_lower(p->a);
    test_check_padding(p->a);
    test_check_padding(p->c);
    test_check_same(p, port, RFM_OK);
    if (p->a.rows < 70) test_check_short(p, port);
    CHECK_SIZE(factor, test_mark());
    return 1;
}

static void test_triangular(void) {
    const rfm_port *port;
    test_call p;
    size_t i, s, n, c, done;

    for (i = 0; (port = test_port(i)) != NULL; i++) {
        for (s = done = 0; (n = size_of(port, s)) > 0; s++)
            for (c = 0; c < TEST_LENGTH(columns); c++) {
                test_note(port->name, n, columns[c], 0);
                if (n > TEST_N_MAX || (n > 33 && c != s % TEST_LENGTH(columns))) continue;
                if (!make_solve(&p, TEST_TRSM, 0, n, columns[c], s)) continue;
                p.op = RFM_NN;
                done += (size_t)check_solve(&p, port);
                p.op = RFM_TN;
                done += (size_t)check_solve(&p, port);
            }
        CHECK(done > 5);
    }
}

/* What A X = B needs: the factor first, then the solve with every number of right-hand sides. */
static void test_solve(void) {
    const rfm_port *port;
    test_call p;
    size_t i, s, n, c, done;
    int kind, status;

    for (i = 0; (port = test_port(i)) != NULL; i++) {
        for (s = done = 0; (n = size_of(port, s)) > 0; s++)
            for (kind = 0; kind < TEST_SPD_KINDS; kind++) {
                c = columns[(s + (size_t)kind) % TEST_LENGTH(columns)];
                test_note(port->name, n, c, (size_t)kind);
                if (too_slow(n, kind) || n > 200 || !make_solve(&p, TEST_CHOL, kind, n, c, s)) continue;
                status = test_run(&p, port, NULL);
                if (status == TEST_SKIP) continue;
                CHECK_INT(RFM_OK, status);
                p.what = TEST_SOLVE;
                done += (size_t)check_solve(&p, port);
            }
        CHECK(done > 5);
    }
}

static void test_zero_pivot(void) {
    rfm_ctx ctx;
    rfm_arena arena;
    test_call p;
    size_t need = 0, i;
    void *mem;

    for (i = 0; i < 12; i++) {
        test_note("zero", i, 0, 0);
        CHECK(make_solve(&p, TEST_TRSM, 0, 4, 3, i));
        memset(&ctx, 0, sizeof ctx);
        CHECK_INT(RFM_OK, rfm_trsm_need(&ctx, 4, 3, &need));
        mem = test_take(need);
        CHECK(mem != NULL);
        CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
        ctx.arena = &arena;
        test_fill(&p);
        p.a.at[i % 4 * (p.a.stride + 1)] = 0;
        p.op = i < 4 ? RFM_NN : RFM_TN;
        p.what = i < 8 ? TEST_TRSM : TEST_SOLVE;
        test_check_refused(&p, &ctx, RFM_EVALUE);
    }
}

/* Finite numbers whose quotient is not. */
static void test_solve_range(void) {
    const rfm_real big = RFM_REAL_BYTES == 4 ? (rfm_real)1e30 : (rfm_real)1e300;
    rfm_real u[4] = {1, 0, 0, 1}, b[2];
    rfm_ctx ctx;
    rfm_arena arena;
    size_t need = 0;
    int op;

    memset(&ctx, 0, sizeof ctx);
    CHECK_INT(RFM_OK, rfm_trsm_need(&ctx, 2, 1, &need));
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, test_take(need), need));
    ctx.arena = &arena;
    u[0] = u[3] = 1 / big;
    for (op = RFM_NN; op <= RFM_TN; op++) {
        b[0] = b[1] = big;
        CHECK_INT(RFM_ERANGE, rfm_trsm(&ctx, op, rfm_cview(u, 2, 2), rfm_view(b, 2, 1)));
        CHECK_SIZE(0, arena.used);
    }
    b[0] = b[1] = big;
    CHECK_INT(RFM_ERANGE, rfm_chol_solve(&ctx, rfm_cview(u, 2, 2), rfm_view(b, 2, 1)));
}

/* ---- rank ----------------------------------------------------------------------------------- */

/* A = B'B by element, B (r, n) the first rows of the identity plus noise whose norm is below 1/2. */
static double low_rank(size_t n, size_t r, size_t i, size_t j) {
    const double noise = 1 / (3 * sqrt((double)n));
    double sum = 0;
    size_t p;

    for (p = 0; p < r; p++)
        sum += (noise * test_number(20, p, i) + (p == i ? 1 : 0)) * (noise * test_number(20, p, j) + (p == j ? 1 : 0));
    return sum;
}

/* The same points again and again. */
static double repeated(size_t n, size_t r, size_t i, size_t j) { return test_symmetric(TEST_RANDOM, n, i % r, j % r); }

typedef double (*element_of)(size_t n, size_t r, size_t i, size_t j);

/* The rank, the permutation and U'U of one matrix. */
static int check_rank(const rfm_port *port, element_of f, size_t n, size_t r, double scale, double tolerance) {
    rfm_ctx ctx;
    rfm_arena arena;
    test_call p;
    size_t i, j, q, need = 0, rank = n + 1;
    double most = 0, worst = 0;
    void *mem;

    test_note(port->name, n, r, scale < 1 ? 0 : scale > 1 ? 2 : 1);
    if (!make(&p, TEST_RANK, TEST_ZERO, n, n + r)) return 0;
    p.perm = test_take(n * sizeof *p.perm);
    memset(&ctx, 0, sizeof ctx);
    ctx.port = port;
    CHECK_INT(RFM_OK, rfm_chol_rank_need(&ctx, n, &need));
    mem = test_take(need);
    if (p.perm == NULL || mem == NULL) return 0;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
    ctx.arena = &arena;
    test_fill(&p);
    for (i = 0; i < n; i++)
        for (j = i; j < n; j++) p.a.at[i * p.a.stride + j] = (rfm_real)(scale * f(n, r, i, j));
    CHECK_INT(RFM_OK, rfm_chol_rank(&ctx, p.a, (rfm_real)tolerance, p.perm, &rank));
    CHECK_SIZE(r, rank);
    CHECK_SIZE(0, arena.used);
    CHECK_SIZE(need, arena.peak);
    for (i = 0; i < n; i++) {
        for (j = q = 0; j < n; j++) q += p.perm[j] == i;
        CHECK_SIZE(1, q);
    }
    for (i = 0; i < n; i++)
        for (j = i; j < n; j++) {
            size_t lo = p.perm[i] < p.perm[j] ? p.perm[i] : p.perm[j],
                   hi = p.perm[i] < p.perm[j] ? p.perm[j] : p.perm[i];
            double value = (double)(rfm_real)(scale * f(n, r, lo, hi)), sum = value;

            for (q = 0; q < rank && q <= i; q++) sum -= at(p.a, q, i) * at(p.a, q, j);
            if (!(fabs(sum) <= worst)) worst = fabs(sum);
            most = fmax(most, fabs(value));
        }
    CHECK_BELOW(worst, most * ((double)n * 10 * TEST_EPS + tolerance));
    for (i = 0; i + 1 < rank; i++) CHECK(at(p.a, i, i) >= at(p.a, i + 1, i + 1) * (1 - 100 * TEST_EPS));
    test_check_lower(p.a);
    test_check_padding(p.a);
    return 1;
}

static void test_rank(void) {
    static const size_t sizes[] = {1, 2, 3, 4, 7, 8, 9, 16, 17, 31, 32, 33, 40, 64, 65, 97, 130};
    static const double scales[] = {1, 1e-12, 1e12};
    const rfm_port *port;
    size_t i, s, n, r, done;
    const double tolerance = TEST_EPS * 1000;

    for (i = 0; (port = test_port(i)) != NULL; i++) {
        for (s = done = 0; s < TEST_LENGTH(sizes); s++) {
            n = sizes[s];
            if (n > TEST_N_MAX) continue;
            for (r = 0; r <= n; r += n < 10 ? 1 : n < 40 ? 5 : 32) {
                done += (size_t)check_rank(port, low_rank, n, r, scales[(s + r) % 3], tolerance);
                done += (size_t)check_rank(port, low_rank, n, r, scales[(s + r) % 3], 0);
                if (r > 0) done += (size_t)check_rank(port, repeated, n, r, scales[(s + r) % 3], r % 2 ? tolerance : 0);
            }
            done += (size_t)check_rank(port, low_rank, n, n, 1, 0);
        }
        CHECK(done > 10);
    }
}

/* The diagonal 1, 1/2, 1/4, ... shows what "exceeds tolerance times the largest" means, at any scale. */
static void test_tolerance(void) {
    static const double scales[] = {1, 1e-12, 1e12, 1e-30, 1e30};
    static const struct {
        double tolerance;
        size_t rank;
    } cases[] = {{1, 0}, {0.75, 1}, {0.5, 1}, {0.375, 2}, {0.25, 2}, {0.125, 3}, {0.0625, 4}, {0, 5}, {2, 0}};
    rfm_ctx ctx;
    rfm_arena arena;
    size_t i, s, j, need = 0, rank;
    rfm_real a[25];
    uint32_t perm[5];
    const size_t n = 5;

    memset(&ctx, 0, sizeof ctx);
    CHECK_INT(RFM_OK, rfm_chol_rank_need(&ctx, n, &need));
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, test_take(need), need));
    ctx.arena = &arena;
    for (i = 0; i < TEST_LENGTH(cases); i++)
        for (s = 0; s < TEST_LENGTH(scales); s++) {
            test_note("tolerance", i, s, 0);
            for (j = 0; j < n * n; j++) a[j] = 0;
            for (j = 0; j < n; j++) a[j * (n + 1)] = (rfm_real)(scales[s] / (double)(1 << (j * 3 % n)));
            CHECK_INT(RFM_OK, rfm_chol_rank(&ctx, rfm_view(a, n, n), (rfm_real)cases[i].tolerance, perm, &rank));
            CHECK_SIZE(cases[i].rank, rank);
            for (j = 0; j < rank; j++) CHECK_SIZE(j, perm[j] * 3 % n);
        }
}

static void test_rank_refusals(void) {
    static const double tolerances[][2] = {{-1, RFM_EVALUE}, {-1e-20, RFM_EVALUE}};
    const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    rfm_ctx ctx;
    rfm_arena arena;
    test_call p;
    size_t i, need = 0;

    CHECK(make(&p, TEST_RANK, TEST_RANDOM, 4, 0));
    p.perm = test_take(4 * sizeof *p.perm);
    memset(&ctx, 0, sizeof ctx);
    CHECK_INT(RFM_OK, rfm_chol_rank_need(&ctx, 4, &need));
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, test_take(need), need));
    ctx.arena = &arena;
    test_fill(&p);
    for (i = 0; i < TEST_LENGTH(tolerances); i++) {
        test_note("tolerance", i, 0, 0);
        p.alpha = (rfm_real)tolerances[i][0];
        test_check_refused(&p, &ctx, (int)tolerances[i][1]);
    }
    for (i = 0; i < TEST_LENGTH(bad); i++) {
        test_note("tolerance", i, 1, 0);
        p.alpha = (rfm_real)bad[i];
        test_check_refused(&p, &ctx, RFM_EFINITE);
    }
    p.alpha = 0;
    for (i = 0; i < 3; i++) { /* perm in the matrix: at its start, inside, on its last element */
        void *there = p.a.at + i * 15 / 2;

        test_note("overlap", i, 0, 0);
        p.perm = there;
        test_check_refused(&p, &ctx, RFM_EALIAS);
    }
}

static void test_rank_indefinite(void) {
    static const int kinds[] = {TEST_NEGATIVE, TEST_SYMMETRIC};
    const rfm_port *port;
    test_call p;
    size_t i, j, n;

    for (i = 0; (port = test_port(i)) != NULL; i++)
        for (j = 0; j < TEST_LENGTH(kinds); j++)
            for (n = j == 1 ? 5 : 1; n < 10; n++) {
                test_note(port->name, j, n, 0);
                CHECK(make(&p, TEST_RANK, kinds[j], n, n));
                p.perm = test_take(n * sizeof *p.perm);
                CHECK(p.perm != NULL);
                CHECK_INT(RFM_ENOTPD, test_run(&p, port, NULL));
                test_check_lower(p.a);
                test_check_same(&p, port, RFM_ENOTPD);
            }
}

/* Exact memory, the same bits with any workers. */
static void test_rank_same(void) {
    static const size_t sizes[] = {1, 3, 9, 33, 70, 129};
    const rfm_port *port;
    test_call p;
    size_t i, s;
    int status;

    for (i = 0; (port = test_port(i)) != NULL; i++)
        for (s = 0; s < TEST_LENGTH(sizes); s++) {
            test_note(port->name, sizes[s], 0, 0);
            if (sizes[s] > TEST_N_MAX || !make(&p, TEST_RANK, TEST_RIDGE, sizes[s], s)) continue;
            p.perm = test_take(sizes[s] * sizeof *p.perm);
            if (p.perm == NULL) continue;
            status = test_run(&p, port, NULL);
            CHECK(s > 2 || status == RFM_OK);
            if (status == TEST_SKIP) continue;
            CHECK_SIZE(sizes[s], *p.count);
            test_check_same(&p, port, RFM_OK);
            test_check_short(&p, port);
        }
}

/* ---- all of them ---------------------------------------------------------------------------- */

static void test_arguments(void) {
    const rfm_port *port;
    test_call p;
    size_t i;
    int what;

    for (i = 0; (port = test_port(i)) != NULL; i++)
        for (what = TEST_CHOL; what <= TEST_RANK; what++) {
            CHECK(make_solve(&p, TEST_TRSM, TEST_RANDOM, 4, 3, 5));
            p.perm = test_take(4 * sizeof *p.perm);
            CHECK(p.perm != NULL);
            test_fill(&p); /* any factor will do */
            p.what = what;
            test_check_arguments(&p, port);
        }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_factor);
    RUN_TEST(test_factor_small);
    RUN_TEST(test_breakdown);
    RUN_TEST(test_indefinite);
    RUN_TEST(test_triangular);
    RUN_TEST(test_solve);
    RUN_TEST(test_zero_pivot);
    RUN_TEST(test_solve_range);
    RUN_TEST(test_rank);
    RUN_TEST(test_tolerance);
    RUN_TEST(test_rank_refusals);
    RUN_TEST(test_rank_indefinite);
    RUN_TEST(test_rank_same);
    RUN_TEST(test_arguments);
    return UNITY_END();
}
