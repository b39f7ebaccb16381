/* Eigenpairs of symmetric matrices: residuals, orthogonality, order, and values that are known. */
#include "test.h"

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

static double at(rfm_mat m, size_t i, size_t j) { return (double)m.at[i * m.stride + j]; }

static double dot(size_t n, const rfm_real *x, const rfm_real *y) {
    double sum[4] = {0, 0, 0, 0};
    size_t i;

    for (i = 0; i + 4 <= n; i += 4) {
        sum[0] += (double)x[i] * (double)y[i];
        sum[1] += (double)x[i + 1] * (double)y[i + 1];
        sum[2] += (double)x[i + 2] * (double)y[i + 2];
        sum[3] += (double)x[i + 3] * (double)y[i + 3];
    }
    for (; i < n; i++) sum[0] += (double)x[i] * (double)y[i];
    return sum[0] + sum[1] + sum[2] + sum[3];
}

/* The arguments for the k largest pairs of a matrix; 0 if there is no room. */
static int make(test_call *p, int kind, size_t n, size_t k, double scale, size_t turn) {
    memset(p, 0, sizeof *p);
    test_reset();
    p->what = TEST_EIG;
    p->kind = kind;
    p->scale = scale;
    p->k = k;
    p->a = test_mat(n, n, turn % 3, turn % 2);
    p->c = test_mat(k, n, turn % 2, turn / 2 % 2);
    p->w = test_take(k * sizeof *p->w);
    return p->a.at != NULL && p->c.at != NULL && p->w != NULL;
}

/* A, which the call has used up, whole again; its norm is returned. */
static double restore(const test_call *p) {
    const size_t n = p->a.rows;
    double norm = 0, sum;
    size_t i, j;

    for (i = 0; i < n; i++) {
        for (j = 0, sum = 0; j < n; j++) {
            p->a.at[i * p->a.stride + j] =
                (rfm_real)(p->scale * test_symmetric(p->kind, n, i < j ? i : j, i < j ? j : i));
            sum += fabs(at(p->a, i, j));
        }
        norm = fmax(norm, sum);
    }
    return norm;
}

/* |A v - w v| <= 10 n eps |A| for every pair. */
static void check_residual(const test_call *p, double norm) {
    const size_t n = p->a.rows;
    size_t r, i;

    for (r = 0; r < p->k; r++) {
        double sum = 0;

        for (i = 0; i < n; i++) {
            double e = dot(n, p->a.at + i * p->a.stride, p->c.at + r * p->c.stride) - (double)p->w[r] * at(p->c, r, i);

            e = norm > 0 ? e / norm : e; /* its square might underflow */
            sum += e * e;
        }
        CHECK_BELOW(sqrt(sum), 10 * (double)n * TEST_EPS);
    }
}

static void check_orthogonal(const test_call *p) {
    const size_t n = p->a.rows;
    const double bound = RFM_REAL_BYTES == 4 ? 1e-5 : 1e-13 * (double)n;
    size_t r, s;

    for (r = 0; r < p->k; r++)
        for (s = r; s < p->k; s++) {
            double product = dot(n, p->c.at + r * p->c.stride, p->c.at + s * p->c.stride);

            CHECK_BELOW(fabs(product - (r == s ? 1 : 0)), bound);
        }
}

/* In order, with the sum that the trace says, and where they are known, the right ones. */
static void check_values(const test_call *p, double norm) {
    const size_t n = p->a.rows;
    const double off = 10 * (double)n * TEST_EPS * norm;
    size_t i, j, above, below;
    double sum = 0;

    for (i = 0; i < p->k; i++) {
        double w = (double)p->w[i];

        CHECK(i == 0 || p->w[i] <= p->w[i - 1]);
        CHECK_BELOW(fabs(w), norm * (1 + 10 * (double)n * TEST_EPS));
        sum += w - at(p->a, i, i);
        if (p->kind < TEST_CLUSTERS && p->kind != TEST_DIAGONAL) continue;
        for (j = above = below = 0; j < n; j++) {
            double d = p->scale * test_eigenvalue(p->kind, n, j);

            above += d > w + off;
            below += d < w - off;
        }
        CHECK(above <= i && below <= n - 1 - i);
    }
    if (p->k == n) CHECK_BELOW(fabs(sum), off);
}

/* Says whether it was checked. */
static int check_eig(const rfm_port *port, int kind, size_t n, size_t k, double scale, size_t turn) {
    test_call p;
    double norm;
    int status;

    test_note(port->name, n, k, (size_t)kind);
    if (!make(&p, kind, n, k, scale, turn)) return 0;
    status = test_run(&p, port, NULL);
    if (status == TEST_SKIP) return 0;
    CHECK_INT(RFM_OK, status);
    test_check_lower(p.a);
    test_check_padding(p.a);
    test_check_padding(p.c);
    norm = restore(&p);
    check_values(&p, norm);
    check_residual(&p, norm);
    check_orthogonal(&p);
    if (n < 200 && turn % 3 == 0) test_check_same(&p, port, RFM_OK);
    if (n < 34) test_check_short(&p, port);
    return 1;
}

static int too_slow(size_t n, int kind) {
    if (n <= TEST_N_ALL) return 0;
    if (n > TEST_N_MAX) return 1;
    if (n > 300) return kind != TEST_SYMMETRIC && kind != TEST_CLUSTERS;
    if (n < 100) return kind != (int)(n % TEST_KINDS); /* they take turns */
    return kind != TEST_SYMMETRIC && kind != TEST_CLUSTERS && kind != (n % 2 ? TEST_LAPLACE : TEST_DECAY);
}

static const size_t sizes[] = {1,  2,  3,  4,  5,  7,  8,  9,   16,  17,  21,  31, 32,
                               33, 34, 40, 63, 64, 65, 97, 129, 131, 257, 300, 500};

static void test_pairs(void) {
    const rfm_port *port;
    size_t i, s, n, done;
    int kind;

    for (i = 0; (port = test_port(i)) != NULL; i++) {
        for (s = done = 0; s < TEST_LENGTH(sizes); s++)
            for (kind = 0; kind < TEST_KINDS; kind++) {
                n = sizes[s];
                if (too_slow(n, kind)) continue;
                done += (size_t)check_eig(port, kind, n, n, 1, s + (size_t)kind);
                if (n > 1 && n < 400) done += (size_t)check_eig(port, kind, n, n / 2, 1, s + (size_t)kind);
                if (n > 2 && n < 200) done += (size_t)check_eig(port, kind, n, 1, 1, s + (size_t)kind);
            }
        CHECK(done > 10);
    }
}

static void test_scales(void) {
#if RFM_REAL_BYTES == 4
    static const double scales[] = {1e-30, 1e-20, 1e-12, 1e12, 1e20, 1e30};
#else
    static const double scales[] = {1e-290, 1e-150, 1e-12, 1e12, 1e150, 1e290};
#endif
    static const size_t orders[] = {1, 2, 5, 40, 70};
    const rfm_port *port;
    size_t i, s, n, done;

    for (i = 0; (port = test_port(i)) != NULL; i++)
        for (s = 0; s < TEST_LENGTH(scales); s++) {
            for (n = done = 0; n < TEST_LENGTH(orders); n++) {
                const int turns = TEST_FEW && orders[n] > 5; /* the kinds take turns */

                if (orders[n] > TEST_N_MAX) continue;
                if (!turns || s % 2 == 0)
                    done += (size_t)check_eig(port, TEST_SYMMETRIC, orders[n], orders[n], scales[s], s);
                if (!turns || s % 2 == 1)
                    done += (size_t)check_eig(port, TEST_DEFICIENT, orders[n], (orders[n] + 1) / 2, scales[s], s);
            }
            CHECK(done > 2);
        }
}

/* The k largest alone are those of all pairs. */
static void test_top(void) {
    static const size_t orders[] = {2, 5, 33, 64, 100};
    static const int kinds[] = {TEST_SYMMETRIC, TEST_LAPLACE, TEST_CLUSTERS};
    const rfm_port *port;
    test_call all, top;
    size_t i, s, j, m, k, n, done, mark;
    double norm;

    for (i = 0; (port = test_port(i)) != NULL; i++) {
        for (s = done = 0; s < TEST_LENGTH(orders); s++)
            for (m = 0; m < TEST_LENGTH(kinds); m++) {
                n = orders[s];
                if (n > TEST_N_MAX || !make(&all, kinds[m], n, n, 1, s)) continue;
                test_note(port->name, n, m, 0);
                if (test_run(&all, port, NULL) != RFM_OK) continue;
                mark = test_mark();
                for (k = 1; k <= n; k += n < 9 ? 1 : n / 3) {
                    test_note(port->name, n, m, k);
                    top = all;
                    top.k = k;
                    top.c.rows = k; /* into the same V: only w is compared */
                    top.w = test_take(k * sizeof *top.w);
                    if (top.w == NULL || test_run(&top, port, NULL) != RFM_OK) continue;
                    norm = restore(&top);
                    for (j = 0; j < k; j++)
                        CHECK_BELOW(fabs((double)top.w[j] - (double)all.w[j]), 10 * (double)n * TEST_EPS * norm);
                    done++;
                    test_rewind(mark);
                }
                test_rewind(mark);
            }
        CHECK(done > 3);
    }
}

/* Values that can be written down. */
static void test_known(void) {
    const double pi = 3.14159265358979323846;
    test_call p;
    size_t i, n;

    for (n = 1; n <= (TEST_N_MAX < 100 ? 5 : 60); n++) { /* 2 - 2 cos(i pi / (n + 1)) */
        test_note("string", n, 0, 0);
        CHECK(make(&p, TEST_STRING, n, n, 1, n));
        CHECK_INT(RFM_OK, test_run(&p, NULL, NULL));
        for (i = 0; i < n; i++)
            CHECK_BELOW(fabs((double)p.w[i] - 2 + 2 * cos((double)(n - i) * pi / (double)(n + 1))),
                        20 * (double)n * TEST_EPS);
    }
    test_note("Wilkinson", 21, 0, 0);
    if (make(&p, TEST_WILKINSON, 21, 21, 1, 0) && test_run(&p, NULL, NULL) == RFM_OK) {
        /* the two largest agree to 14 digits; the smallest is the only negative one */
        CHECK_BELOW(fabs((double)p.w[0] - 10.746194182903393), 200 * TEST_EPS);
        CHECK_BELOW(fabs((double)p.w[1] - 10.746194182903322), 200 * TEST_EPS);
        CHECK_BELOW(fabs((double)p.w[20] + 1.125441522119984), 200 * TEST_EPS);
    }
    for (i = 0; i < 2; i++) { /* 1 x 1 and the zero matrix: exactly */
        CHECK(make(&p, TEST_ZERO, i + 1, i + 1, 1, 0));
        CHECK_INT(RFM_OK, test_run(&p, NULL, NULL));
        CHECK(!(p.w[i] < 0) && !(p.w[i] > 0));
        CHECK_BELOW(fabs(fabs(at(p.c, i, i)) + (i > 0 ? fabs(at(p.c, i, 0)) : 0) - 1), TEST_EPS);
    }
}

static rfm_ctx ctx;
static rfm_arena arena;

static void prepare(const test_call *p) {
    size_t need = 0;

    memset(&ctx, 0, sizeof ctx);
    CHECK_INT(RFM_OK, test_call_need(&ctx, p, &need));
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, test_take(need), need));
    ctx.arena = &arena;
}

/* How many pairs may be asked for, and where the results may go. */
static void test_refusals(void) {
    test_call p, bad;
    size_t bytes = 77, i;

    CHECK(make(&p, TEST_SYMMETRIC, 4, 2, 1, 5));
    prepare(&p);
    test_fill(&p);
    for (i = 0; i < 3; i++) {
        static const size_t counts[] = {0, 5, SIZE_MAX};

        test_note("k", i, 0, 0);
        bad = p;
        bad.k = counts[i];
        test_check_refused(&bad, &ctx, RFM_EVALUE);
        CHECK_INT(RFM_EVALUE, test_call_need(&ctx, &bad, &bytes));
        CHECK_SIZE(77, bytes);
    }
    bad = p;
    bad.k = 3; /* V has two rows */
    test_check_refused(&bad, &ctx, RFM_ESHAPE);
    bad = p;
    for (i = 0; i < 4; i++) {
        test_note("overlap", i, 0, 0);
        bad.w = i == 0 ? p.a.at : i == 1 ? p.a.at + 3 * p.a.stride + 3 : i == 2 ? p.c.at : p.c.at + p.c.stride + 3;
        test_check_refused(&bad, &ctx, RFM_EALIAS);
    }
    test_note("", 0, 0, 0);
    CHECK_INT(RFM_OK, test_call_run(&ctx, &p));
}

/* Finite elements with an eigenvalue that is not. */
static void test_range(void) {
    const rfm_real most = RFM_REAL_BYTES == 4 ? (rfm_real)FLT_MAX : (rfm_real)DBL_MAX;
    test_call p;
    size_t i, j;

    CHECK(make(&p, TEST_ZERO, 3, 3, 1, 0));
    prepare(&p);
    test_fill(&p);
    for (i = 0; i < 3; i++)
        for (j = i; j < 3; j++) p.a.at[i * p.a.stride + j] = most;
    CHECK_INT(RFM_ERANGE, test_call_run(&ctx, &p));
}

static void test_arguments(void) {
    const rfm_port *port;
    test_call p;
    size_t i;

    for (i = 0; (port = test_port(i)) != NULL; i++) {
        CHECK(make(&p, TEST_SYMMETRIC, 4, 3, 1, 5));
        test_check_arguments(&p, port);
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_pairs);
    RUN_TEST(test_scales);
    RUN_TEST(test_top);
    RUN_TEST(test_known);
    RUN_TEST(test_refusals);
    RUN_TEST(test_range);
    RUN_TEST(test_arguments);
    return UNITY_END();
}
