/* gemm and syrk against plain loops. */
#include "test.h"

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

/* What is varied from case to case: factors, and padding and offset of the views. */
typedef struct {
    rfm_real alpha, beta;
    size_t pad, skew;
} variant;

static const variant variants[] = {
    {1, 0, 0, 0},
    {(rfm_real)-0.75, 1, 3, 1},
    {(rfm_real)1.5, (rfm_real)-0.5, 0, 1},
    {1, (rfm_real)2.25, 1, 0},
    {0, (rfm_real)0.5, 5, 3},
    {-1, 0, 2, 1},
    {1, 1, 0, 0},
};

static double at(rfm_mat m, size_t i, size_t j) { return (double)m.at[i * m.stride + j]; }

/* Every element of C is within what k + 2 roundings may do, twice that for the reference's own. */
static void check_product(const test_call *p) {
    const rfm_mat a = p->a, b = p->what == TEST_SYRK ? p->a : p->b, c = p->c;
    const int ta = p->op == RFM_TN, tb = p->op == RFM_NT;
    const size_t k = ta ? a.rows : a.cols;
    const double alpha = (double)p->alpha, beta = (double)p->beta;
    size_t i, j, q;

    for (i = 0; i < c.rows; i++)
        for (j = p->what == TEST_SYRK ? i : 0; j < c.cols; j++) {
            double sum = 0, size = 0, old = fabs(beta) > 0 ? beta * test_number(3, i, j) : 0;

            for (q = 0; q < k; q++) {
                double term = (ta ? at(a, q, i) : at(a, i, q)) * (tb ? at(b, j, q) : at(b, q, j));

                sum += term;
                size += fabs(term);
            }
            CHECK_BELOW(fabs(at(c, i, j) - (alpha * sum + old)),
                        (double)(k + 4) * TEST_EPS * (fabs(alpha) * size + fabs(old)));
        }
    test_check_padding(a);
    test_check_padding(c);
    if (p->what == TEST_SYRK)
        test_check_lower(c);
    else
        test_check_padding(b);
}

/* The arguments for a product of this size; 0 if there is no room. */
static int make(test_call *p, int what, int op, size_t m, size_t n, size_t k, const variant *v) {
    memset(p, 0, sizeof *p);
    test_reset();
    p->what = what;
    p->op = op;
    p->alpha = v->alpha;
    p->beta = v->beta;
    p->a = op == RFM_TN ? test_mat(k, m, v->pad, v->skew) : test_mat(m, k, v->pad, v->skew);
    p->c = test_mat(m, n, v->pad + v->skew, v->skew);
    if (what == TEST_GEMM) p->b = op == RFM_NT ? test_mat(n, k, v->skew, v->skew) : test_mat(k, n, v->pad, 0);
    return p->a.at != NULL && p->c.at != NULL && (what == TEST_SYRK || p->b.at != NULL);
}

/* Says whether it was checked. */
static int check_size(const rfm_port *port, int what, int op, size_t m, size_t n, size_t k) {
    static size_t turn;
    test_call p;
    int status;

    test_note(port->name, m, n, k);
    if (!make(&p, what, op, m, n, k, &variants[turn++ % TEST_LENGTH(variants)])) return 0;
    status = test_run(&p, port, NULL);
    if (status == TEST_SKIP) return 0;
    CHECK_INT(RFM_OK, status);
    check_product(&p);
    test_check_same(&p, port, RFM_OK);
    if (m * n < 100) test_check_short(&p, port);
    return 1;
}

/* Sizes that are interesting to a port: small, around its tile and around its cache blocks; 0 ends them. */
static size_t size_of(const rfm_port *port, size_t index) {
    const size_t sizes[] = {
        1,
        2,
        3,
        5,
        13,
        port->mr - 1,
        port->mr,
        port->mr + 1,
        port->nr - 1,
        port->nr,
        port->nr + 1,
        2 * port->nr + 1,
        31,
#if TEST_N_MAX > 100
        64,
        97,
        port->mc - 1,
        port->mc,
        port->mc + 1,
        port->kc - 1,
        port->kc,
        port->kc + 1,
        2 * port->kc + 1,
        port->nc - 1,
        port->nc,
        port->nc + 1,
#endif
    };

    return index < TEST_LENGTH(sizes) ? sizes[index] : 0;
}

static void check_sizes(int what, int op) {
    const rfm_port *port;
    size_t i, s, t, done, which;

    for (i = 0; (port = test_port(i)) != NULL; i++) {
        for (which = done = 0; (s = size_of(port, which)) > 0; which++) {
            t = size_of(port, which * 5 % 13); /* another one, not large */
            if (what == TEST_SYRK) {
                if (s < 200) done += (size_t)check_size(port, what, op, s, s, t);
                done += (size_t)check_size(port, what, op, t, t, s);
            } else {
                done += (size_t)check_size(port, what, op, s, 3, t);
                done += (size_t)check_size(port, what, op, 5, s, t);
                done += (size_t)check_size(port, what, op, t, 7, s);
                done += (size_t)check_size(port, what, op, s, t, 2);
            }
            if (s < 70) done += (size_t)check_size(port, what, op, s, s, s);
        }
        if (TEST_N_MAX > 100) { /* more than one block in every direction */
            t = what == TEST_SYRK ? port->mc + 9 : port->nc < 1100 ? port->nc + 9 : 200;
            done += (size_t)check_size(port, what, op, port->mc + 9, t, port->kc + 5);
        }
        CHECK(done > 5);
    }
}

static void test_gemm_nn(void) { check_sizes(TEST_GEMM, RFM_NN); }
static void test_gemm_tn(void) { check_sizes(TEST_GEMM, RFM_TN); }
static void test_gemm_nt(void) { check_sizes(TEST_GEMM, RFM_NT); }
static void test_syrk_tn(void) { check_sizes(TEST_SYRK, RFM_TN); }
static void test_syrk_nt(void) { check_sizes(TEST_SYRK, RFM_NT); }

/* Every pair of factors with every view, at a size with whole and partial tiles. */
static void test_variants(void) {
    const rfm_port *port;
    size_t i, f, v, mr, nr;
    test_call p;
    int op;

    for (i = 0; (port = test_port(i)) != NULL; i++)
        for (f = 0; f < TEST_LENGTH(variants); f++)
            for (v = 0; v < TEST_LENGTH(variants); v++)
                for (op = RFM_NN; op <= RFM_NT; op++) {
                    variant both = variants[v];

                    test_note(port->name, f, v, (size_t)op);
                    mr = port->mr + 1;
                    nr = port->nr + 1;
                    both.alpha = variants[f].alpha;
                    both.beta = variants[f].beta;
                    CHECK(make(&p, TEST_GEMM, op, mr, nr, 4, &both));
                    CHECK_INT(RFM_OK, test_run(&p, port, NULL));
                    check_product(&p);
                    if (op == RFM_NN) continue;
                    CHECK(make(&p, TEST_SYRK, op, mr, mr, 4, &both));
                    CHECK_INT(RFM_OK, test_run(&p, port, NULL));
                    check_product(&p);
                }
}

static void test_arguments(void) {
    static const variant v = {1, 1, 2, 1};
    const rfm_port *port;
    size_t i;
    test_call p;
    int op;

    for (i = 0; (port = test_port(i)) != NULL; i++)
        for (op = RFM_NN; op <= RFM_NT; op++) {
            CHECK(make(&p, TEST_GEMM, op, 4, 3, 5, &v));
            test_check_arguments(&p, port);
            if (op == RFM_NN) continue;
            CHECK(make(&p, TEST_SYRK, op, 4, 4, 3, &v));
            test_check_arguments(&p, port);
        }
}

static rfm_ctx ctx;
static rfm_arena arena;

/* A context with an arena for products up to this size. */
static void prepare(size_t size) {
    size_t need = 0;

    memset(&ctx, 0, sizeof ctx);
    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_gemm_need(&ctx, size, size, size, &need));
    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_arena_init(&arena, test_take(need), need));
    ctx.arena = &arena;
}

/* alpha and beta count as input. */
static void test_factors(void) {
    const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    const variant v = {1, 1, 1, 1};
    test_call p;
    size_t i;

    for (i = 0; i < 2 * TEST_LENGTH(values); i++) {
        test_note("factor", i, 0, 0);
        CHECK(make(&p, i % 2 ? TEST_GEMM : TEST_SYRK, RFM_TN, 3, 3, 2, &v));
        prepare(5);
        test_fill(&p);
        p.alpha = (rfm_real)values[i / 2];
        test_check_refused(&p, &ctx, RFM_EFINITE);
        p.alpha = 1;
        p.beta = (rfm_real)values[i / 2];
        test_check_refused(&p, &ctx, RFM_EFINITE);
    }
}

/* Finite numbers whose product is not. */
static void test_range(void) {
    const rfm_real big = RFM_REAL_BYTES == 4 ? (rfm_real)1e30 : (rfm_real)1e200, small = 1 / big;
    rfm_real a[4], c[4];
    size_t i;

    prepare(2);
    for (i = 0; i < 4; i++) a[i] = big;
    TEST_ASSERT_EQUAL_INT(RFM_ERANGE,
                          rfm_gemm(&ctx, RFM_NN, 1, rfm_cview(a, 2, 2), rfm_cview(a, 2, 2), 0, rfm_view(c, 2, 2)));
    TEST_ASSERT_EQUAL_INT(RFM_ERANGE, rfm_syrk(&ctx, RFM_TN, 1, rfm_cview(a, 2, 2), 0, rfm_view(c, 2, 2)));
    TEST_ASSERT_EQUAL_UINT(0, arena.used);
    for (i = 0; i < 4; i++) c[i] = big; /* beta C overflows */
    TEST_ASSERT_EQUAL_INT(RFM_ERANGE,
                          rfm_gemm(&ctx, RFM_NN, 0, rfm_cview(a, 1, 1), rfm_cview(a, 1, 2), big, rfm_view(c, 1, 2)));
    for (i = 0; i < 4; i++) a[i] = small; /* underflow is no error */
    TEST_ASSERT_EQUAL_INT(RFM_OK,
                          rfm_gemm(&ctx, RFM_NN, 1, rfm_cview(a, 2, 2), rfm_cview(a, 2, 2), 0, rfm_view(c, 2, 2)));
    for (i = 0; i < 4; i++) TEST_ASSERT_TRUE(c[i] >= 0 && c[i] < small);
}

/* Inputs may be the same; outputs may share rows with inputs, not elements. */
static void test_shared(void) {
    rfm_real x[4 * 6];
    rfm_mat a, c;
    size_t i, j;

    for (i = 0; i < 24; i++) x[i] = (rfm_real)(1 + i % 6);
    prepare(4);
    TEST_ASSERT_EQUAL_INT(RFM_OK,
                          rfm_gemm(&ctx, RFM_TN, 1, rfm_cview(x, 2, 3), rfm_cview(x, 2, 3), 0, rfm_view(x + 12, 3, 3)));
    TEST_ASSERT_TRUE(x[12] >= 17 && x[12] <= 17); /* 1 * 1 + 4 * 4 */

    for (i = 0; i < 24; i++) x[i] = (rfm_real)(i % 6 < 3);
    a.at = x, a.rows = 3, a.cols = 3, a.stride = 6; /* the left half */
    c = a;
    c.at = x + 3; /* the right half */
    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_syrk(&ctx, RFM_NT, 1, rfm_const(a), 0, c));
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) {
            TEST_ASSERT_TRUE(x[6 * i + j] >= 1 && x[6 * i + j] <= 1);
            TEST_ASSERT_TRUE(j < i ? x[6 * i + 3 + j] <= 0 : x[6 * i + 3 + j] >= 3);
        }
    c.at = x + 2; /* one column in common */
    TEST_ASSERT_EQUAL_INT(RFM_EALIAS, rfm_syrk(&ctx, RFM_NT, 1, rfm_const(a), 0, c));
    c.at = x + 4; /* the last column is the first of the next row */
    TEST_ASSERT_EQUAL_INT(RFM_EALIAS, rfm_syrk(&ctx, RFM_NT, 1, rfm_const(a), 0, c));
}

/* More workers need more memory, and the need says so. */
static void test_workers_need(void) {
    test_pool pool = {2, 0};
    size_t one = 0, two = 0;

    memset(&ctx, 0, sizeof ctx);
    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_gemm_need(&ctx, 9, 9, 9, &one));
    ctx.workers = 2;
    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_gemm_need(&ctx, 9, 9, 9, &two));
    TEST_ASSERT_TRUE(one == two); /* nobody runs them */
    ctx.run = test_pool_run;
    ctx.pool = &pool;
    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_gemm_need(&ctx, 9, 9, 9, &two));
    TEST_ASSERT_TRUE(one < two);
    ctx.workers = SIZE_MAX / 2;
    TEST_ASSERT_EQUAL_INT(RFM_EOVERFLOW, rfm_gemm_need(&ctx, 9, 9, 9, &two));
}

/* The callback is asked for every job of a product with several blocks. */
typedef struct {
    size_t jobs, most;
    test_pool pool;
} counting;

static void counting_run(void *pool, rfm_job job, void *arg, size_t jobs) {
    counting *c = pool;

    c->jobs += jobs;
    if (jobs > c->most) c->most = jobs;
    test_pool_run(&c->pool, job, arg, jobs);
}

static void test_workers_run(void) {
    counting count = {0, 0, {2, 1}};
    rfm_mat a, c;
    size_t need = 0, i, last = 0;

    for (i = 0; test_port(i) != NULL; i++) last = i; /* the one with small blocks */
    memset(&ctx, 0, sizeof ctx);
    ctx.port = test_port(last);
    ctx.workers = 2;
    ctx.run = counting_run;
    ctx.pool = &count;
    a = test_mat(2 * ctx.port->mr, ctx.port->kc, 0, 0);
    c = test_mat(2 * ctx.port->mr, 2, 0, 0);
    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_gemm_need(&ctx, a.rows, 2, a.cols, &need));
    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_arena_init(&arena, test_take(need), need));
    ctx.arena = &arena;
    for (i = 0; i < a.rows * a.cols; i++) a.at[i] = 1;
    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_gemm(&ctx, RFM_NN, 1, rfm_const(a), rfm_cview(a.at, a.cols, 2), 0, c));
    for (i = 0; i < a.rows * 2; i++) TEST_ASSERT_TRUE(c.at[i] >= (rfm_real)a.cols && c.at[i] <= (rfm_real)a.cols);
    TEST_ASSERT_TRUE(count.jobs >= 2 && count.most >= 2);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_gemm_nn);
    RUN_TEST(test_gemm_tn);
    RUN_TEST(test_gemm_nt);
    RUN_TEST(test_syrk_tn);
    RUN_TEST(test_syrk_nt);
    RUN_TEST(test_variants);
    RUN_TEST(test_arguments);
    RUN_TEST(test_factors);
    RUN_TEST(test_range);
    RUN_TEST(test_shared);
    RUN_TEST(test_workers_need);
    RUN_TEST(test_workers_run);
    return UNITY_END();
}
