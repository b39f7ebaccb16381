/* rfm_predict and rfm_gradients: against plain sums in double, finite differences; memory, ports, workers; what is
 * refused. */
#include "models.h"

#ifndef BOARD_BARE
#include "pool.h"
#endif

void setUp(void) { test_reset(); }
void tearDown(void) {}

static model_case a;

static const struct {
    int kernel;
    double q;
} kernels[] = {{RFM_LAPLACE, 1}, {RFM_GAUSSIAN, 1}, {RFM_GENERAL, 0.7}, {RFM_GENERAL, 1.3},
               {RFM_GENERAL, 2}, {RFM_L1, 0.7},     {RFM_L1, 1}};

static const int metrics[] = {RFM_IDENTITY, RFM_DIAGONAL, RFM_FULL};

/* A model with that kernel and metric. 0: no room. */
static int make(model_shape s, size_t kernel, size_t metric) {
    int status;

    test_reset();
    if (!model_make(&a, s.n, s.d, s.c)) return 0;
    a.o.kernel = kernels[kernel].kernel;
    a.o.exponent = (rfm_real)kernels[kernel].q;
    a.o.metric = metrics[metric];
    a.o.scale = RFM_SCALE_MAX; /* distances of the order of L */
    status = model_fit(&a);
    if (status == TEST_SKIP) return 0;
    CHECK_INT(RFM_OK, status);
    CHECK_INT(metrics[metric], a.m.metric);
    return 1;
}

/* f_k(z) from the training rows. */
static double plain(const rfm_real *z, size_t k) {
    double sum = 0;
    size_t i;

    for (i = 0; i < a.m.n; i++)
        sum += (double)a.m.alpha[i * a.m.c + k] * model_phi(&a.m, model_distance(&a.m, a.x.at + i * a.x.stride, z));
    return sum;
}

static double alpha_sum(void) {
    double sum = 1;
    size_t i;

    for (i = 0; i < a.m.n * a.m.c; i++) sum += fabs((double)a.m.alpha[i]);
    return sum;
}

static void check_values(rfm_mat z, rfm_mat y) {
    const double bound = 50 * TEST_EPS * alpha_sum();
    size_t i, k;

    for (i = 0; i < z.rows; i++)
        for (k = 0; k < y.cols; k++) CHECK_BELOW(fabs(plain(z.at + i * z.stride, k) - model_at(y, i, k)), bound);
}

static void test_values(void) {
    static const size_t rows[] = {1, 2, 3, 7, 40, 600};
    model_shape s;
    size_t index, kernel, metric, r, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (kernel = 0; kernel < TEST_LENGTH(kernels); kernel++)
            for (metric = 0; metric < 3; metric++)
                for (r = 0; r < TEST_LENGTH(rows); r++) {
                    rfm_mat z, y;

                    test_note("values", s.n, kernel * 3 + metric, rows[r]);
                    if (rows[r] > 7 && (rows[r] > TEST_N_MAX + 100 || (kernel + metric + index) % 4)) continue;
                    if (!make(s, kernel, metric)) continue;
                    z = test_mat(rows[r], s.d, r % 2, 0);
                    y = test_mat(rows[r], s.c, r % 3, 0);
                    if (z.at == NULL || y.at == NULL) continue;
                    model_fill(z, 90);
                    if (model_predict(&a, rfm_const(z), y) == TEST_SKIP) continue;
                    check_values(z, y);
                    test_check_padding(y);
                    test_check_padding(z);
                    done++;
                }
    CHECK(done >= 15);
}

/* More centres and rows than any block has. */
static void test_large(void) {
    const model_shape s = {1100, 3, 2};
    rfm_mat z, y;

    if (TEST_N_MAX < 500 || !make(s, 0, 2)) {
        CHECK(TEST_N_MAX < 500);
        return;
    }
    z = test_mat(1030, s.d, 0, 0);
    y = test_mat(1030, s.c, 1, 0);
    model_fill(z, 90);
    CHECK_INT(RFM_OK, model_predict(&a, rfm_const(z), y));
    check_values(z, y);
}

/* Training rows, and rows next to them, with the whole model far from the origin. */
static void test_near(void) {
    model_shape s;
    size_t index, metric, i, k, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (metric = 0; metric < 3; metric++) {
            rfm_mat z, y;
            int status;

            test_reset();
            test_note("near", s.n, metric, 0);
            if (!model_make(&a, s.n, s.d, s.c)) continue;
            for (i = 0; i < s.n; i++) a.x.at[i * a.x.stride] += 10000;
            a.o.metric = metrics[metric];
            a.o.scale = RFM_SCALE_MAX;
            status = model_fit(&a);
            z = test_mat(s.n, s.d, 0, 0);
            y = test_mat(s.n, s.c, 0, 0);
            if (status == TEST_SKIP || z.at == NULL || y.at == NULL) continue;
            for (i = 0; i < s.n; i++)
                for (k = 0; k < s.d; k++)
                    z.at[i * s.d + k] = a.x.at[i * a.x.stride + k] + (rfm_real)(i % 2 ? 1.0 / 1024 : 0);
            if (model_predict(&a, rfm_const(z), y) == TEST_SKIP) continue;
            check_values(z, y);
            done++;
        }
    CHECK(done >= 3);
}

/* ---- gradients ------------------------------------------------------------------------------ */

/* Distance of z to the nearest centre, relative to L. */
static double nearest(const rfm_real *z) {
    double least = (double)INFINITY;
    size_t i;

    for (i = 0; i < a.m.n; i++) least = fmin(least, model_distance(&a.m, a.x.at + i * a.x.stride, z));
    return least / (double)a.m.bandwidth;
}

/* Where a step of `reach` along an input crosses no kink: l1 has one wherever a coordinate of P (x_i - z) is 0. */
static int is_smooth(const rfm_real *z, double reach) {
    size_t i, j, q;

    if (a.m.kernel != RFM_L1) return nearest(z) >= 0.25;
    for (i = 0; i < a.m.n; i++)
        for (q = 0; q < a.m.r; q++) {
            double way = 0, most = 0;

            for (j = 0; j < a.m.d; j++) {
                double p = a.m.metric == RFM_FULL ? (double)a.m.p[q * a.m.d + j]
                           : j != q               ? 0
                           : a.m.p != NULL        ? (double)a.m.p[j]
                                                  : 1;

                way += p * (model_at(a.x, i, j) - (double)z[j]);
                most = fmax(most, fabs(p));
            }
            if (fabs(way) <= reach * most) return 0;
        }
    return 1;
}

/* Fourth-order central differences of rfm_predict, at points away from the kinks. */
static int check_gradient(model_shape s, size_t kernel, size_t metric) {
    const double h = RFM_REAL_BYTES == 4 ? 1.0 / 16 : 1.0 / 1024;
    rfm_mat z, y, g;
    size_t i, j, k, tried, found = 0;
    double most, bound;

    if (!make(s, kernel, metric)) return 0;
    z = test_mat(4, s.d, 0, 0);
    y = test_mat(4, s.c, 0, 0);
    g = test_mat(1, s.c * s.d, 1, 0);
    if (z.at == NULL || y.at == NULL || g.at == NULL) return 0;
    for (tried = 0; tried < 40 && found < 3; tried++) {
        rfm_mat here = z;

        here.rows = 1;
        for (j = 0; j < s.d; j++) z.at[j] = (rfm_real)(3 * test_number(91, tried, j));
        if (!is_smooth(z.at, 2.5 * h)) continue;
        found++;
        if (model_gradients(&a, rfm_const(here), g) == TEST_SKIP) return 0;
        most = fmax(model_most(g), 0.1);
        bound = (RFM_REAL_BYTES == 4 ? 5e-3 : 1e-7) * most;
        for (j = 0; j < s.d; j++) {
            for (i = 0; i < 4; i++) {
                static const double steps[] = {-2, -1, 1, 2};

                for (k = 0; k < s.d; k++)
                    z.at[i * s.d + k] = (rfm_real)(3 * test_number(91, tried, k) + (k == j ? steps[i] * h : 0));
            }
            if (model_predict(&a, rfm_const(z), y) == TEST_SKIP) return 0;
            for (k = 0; k < s.c; k++) {
                double slope =
                    (8 * (model_at(y, 2, k) - model_at(y, 1, k)) - (model_at(y, 3, k) - model_at(y, 0, k))) / (12 * h);

                CHECK_BELOW(fabs(slope - model_at(g, 0, k * s.d + j)), bound);
            }
        }
        test_check_padding(g);
        for (j = 0; j < s.d; j++) z.at[j] = (rfm_real)(3 * test_number(91, tried, j));
    }
    CHECK(found > 0 || a.m.kernel == RFM_L1); /* many rows leave no gap that wide */
    return found > 0;
}

static void test_differences(void) {
    static const model_shape shapes[] = {{4, 2, 1}, {4, 2, 3}, {9, 3, 1}, {12, 4, 3}, {40, 6, 3}};
    size_t shape, kernel, metric, done = 0;

    for (shape = 0; shape < TEST_LENGTH(shapes); shape++)
        for (kernel = 0; kernel < TEST_LENGTH(kernels); kernel++)
            for (metric = 0; metric < 3; metric++) {
                test_note("differences", shape, kernel, metric);
                done += (size_t)check_gradient(shapes[shape], kernel, metric);
            }
    CHECK(done >= 15);
}

/* At a centre the kink of that centre counts for nothing, whatever the projection rounds to. */
static void test_gradient_at_center(void) {
    model_shape s;
    size_t index, metric, i, j, k, q, row, done = 0;

    for (index = 0; model_size(index, &s) && s.n < 40; index++)
        for (metric = 0; metric < 3; metric++) {
            rfm_mat g, m;

            test_note("at centre", s.n, metric, 0);
            if (!make(s, 0, metric)) continue;
            g = test_mat(s.n, s.c * s.d, 0, 0);
            m = test_mat(s.d, s.d, 0, 0);
            if (g.at == NULL || m.at == NULL) continue;
            CHECK_INT(RFM_OK, rfm_metric(&a.m, m));
            if (model_gradients(&a, a.data.x, g) == TEST_SKIP) continue;
            for (row = 0; row < s.n; row++)
                for (k = 0; k < s.c; k++)
                    for (j = 0; j < s.d; j++) {
                        double sum = 0;

                        for (i = 0; i < s.n; i++) {
                            double dist = model_distance(&a.m, a.x.at + i * a.x.stride, a.x.at + row * a.x.stride);

                            if (i == row) continue;
                            for (q = 0; q < s.d; q++)
                                sum += (double)a.m.alpha[i * s.c + k] * model_phi(&a.m, dist) / dist /
                                       (double)a.m.bandwidth * model_at(m, j, q) *
                                       (model_at(a.x, i, q) - model_at(a.x, row, q));
                        }
                        CHECK_BELOW(fabs(sum - model_at(g, row, k * s.d + j)), 200 * TEST_EPS * alpha_sum());
                    }
            done++;
        }
    CHECK(done >= 3);
}

/* ---- memory, ports, workers ----------------------------------------------------------------- */

static size_t ticks, cancel_at;
static double tick_last;

static int tick(void *arg, rfm_real share) {
    (void)arg;
    CHECK((double)share > tick_last && share <= 1);
    tick_last = (double)share;
    return ++ticks == cancel_at;
}

static int call(const rfm_ctx *ctx, const rfm_model *m, rfm_cmat z, rfm_mat y, int gradients) {
    return gradients ? rfm_gradients(ctx, m, z, y) : rfm_predict(ctx, m, z, y);
}

static int call_need(const rfm_ctx *ctx, const rfm_model *m, size_t rows, size_t *need, int gradients) {
    return gradients ? rfm_gradients_need(ctx, m, need) : rfm_predict_need(ctx, m, rows, need);
}

/* One byte less is refused before any work. */
static void test_memory(void) {
    model_shape s;
    size_t index, turn, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (turn = 0; turn < 6; turn++) {
            const int gradients = turn % 2 != 0;
            rfm_mat z, y;
            rfm_arena arena;
            size_t need = 0, less;
            uint64_t hash;
            void *mem;

            test_note("memory", s.n, turn, 0);
            if (!make(s, 0, turn / 2)) continue;
            z = test_mat(3, s.d, 0, 0);
            y = test_mat(3, gradients ? s.c * s.d : s.c, 0, 0);
            if (z.at == NULL || y.at == NULL) continue;
            model_fill(z, 90);
            CHECK_INT(RFM_OK, call_need(&a.ctx, &a.m, 3, &need, gradients));
            mem = test_take(need);
            if (mem == NULL) continue;
            a.ctx.arena = &arena;
            a.ctx.tick = tick;
            ticks = cancel_at = 0;
            hash = test_hash(test_mark());
            for (less = 1; less <= need; less = less < need ? need : need + 1) {
                CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need - less));
                CHECK_INT(RFM_EARENA, call(&a.ctx, &a.m, rfm_const(z), y, gradients));
                CHECK(arena.used == 0 && arena.status == RFM_OK && ticks == 0);
                CHECK(hash == test_hash(test_mark()));
            }
            a.ctx.tick = NULL;
            done++;
        }
    CHECK(done >= 6);
}

static void test_ticks(void) {
    static const size_t rows[] = {3, 600, 1100};
    const model_shape s = {4, 2, 1};
    size_t r, i, count;

    for (r = 0; r < TEST_LENGTH(rows); r++) {
        rfm_mat z, y;
        int status;

        test_note("ticks", rows[r], 0, 0);
        CHECK(make(s, 0, 2));
        z = test_mat(rows[r], 2, 0, 0);
        y = test_mat(rows[r], 1, 0, 0);
        if (z.at == NULL || y.at == NULL) continue;
        model_fill(z, 90);
        a.ctx.tick = tick;
        ticks = cancel_at = 0;
        tick_last = 0;
        status = model_predict(&a, rfm_const(z), y);
        if (status == TEST_SKIP) continue;
        CHECK_INT(RFM_OK, status);
        CHECK(tick_last == 1);
        count = ticks;
        for (i = 1; i <= count; i++) {
            ticks = 0;
            tick_last = 0;
            cancel_at = i;
            CHECK_INT(RFM_ECANCEL, model_predict(&a, rfm_const(z), y));
            CHECK_SIZE(i, ticks);
        }
        a.ctx.tick = NULL;
    }
}

static void test_ports(void) {
    static test_pool pools[] = {{1, 1}, {2, 1}, {7, 1}, {7, 0}};
    model_shape s;
    const rfm_port *port;
    size_t index, turn, i, j, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (turn = 0; turn < 15; turn++) {
            const size_t rows = s.n < 40 ? 5 : 150;
            rfm_mat z, one, two, g, h;
            uint64_t hash;

            test_note("ports", s.n, turn, 0);
            if (TEST_TSAN && turn > 2) continue;
            if (!make(s, turn % 5, turn % 3)) continue;
            z = test_mat(rows, s.d, 0, 0);
            one = test_mat(rows, s.c, 0, 0);
            two = test_mat(rows, s.c, 0, 0);
            g = test_mat(rows, s.c * s.d, 0, 0);
            h = test_mat(rows, s.c * s.d, 0, 0);
            if (z.at == NULL || one.at == NULL || two.at == NULL || g.at == NULL || h.at == NULL) continue;
            model_fill(z, 90);
            if (model_predict(&a, rfm_const(z), one) == TEST_SKIP || model_gradients(&a, rfm_const(z), g) == TEST_SKIP)
                continue;
            done++;
            for (i = 0; (port = test_port(i)) != NULL; i++) {
                test_note(port->name, s.n, turn, 0);
                a.ctx.port = port;
                if (model_predict(&a, rfm_const(z), two) == TEST_SKIP ||
                    model_gradients(&a, rfm_const(z), h) == TEST_SKIP)
                    continue;
                CHECK_BELOW(model_apart(one, two), 50 * TEST_EPS * alpha_sum());
                CHECK_BELOW(model_apart(g, h), 2000 * TEST_EPS * alpha_sum());
                hash = test_hash(test_mark());
                CHECK_INT(RFM_OK, model_predict(&a, rfm_const(z), two));
                CHECK_INT(RFM_OK, model_gradients(&a, rfm_const(z), h));
                CHECK(hash == test_hash(test_mark()));
                a.ctx.run = test_pool_run;
                for (j = 0; j < TEST_LENGTH(pools) && !TEST_TSAN; j++) {
                    a.ctx.pool = &pools[j];
                    a.ctx.workers = pools[j].workers;
                    if (model_predict(&a, rfm_const(z), two) == TEST_SKIP) continue;
                    CHECK(hash == test_hash(test_mark()));
                }
#ifndef BOARD_BARE
                for (j = 2; j < 8 && turn < 3; j += 5) {
                    pool *threads = pool_create(j);

                    CHECK(threads != NULL);
                    a.ctx.run = pool_run;
                    a.ctx.pool = threads;
                    a.ctx.workers = pool_workers(threads);
                    if (model_predict(&a, rfm_const(z), two) != TEST_SKIP) CHECK(hash == test_hash(test_mark()));
                    pool_destroy(threads);
                }
#endif
                a.ctx.run = NULL;
                a.ctx.workers = 0;
            }
        }
    CHECK(done >= 5);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static rfm_arena arena;
static int what;

static void refused(int status, const rfm_model *m, rfm_cmat z, rfm_mat y) {
    const uint64_t hash = test_hash(test_mark());

    CHECK_INT(status, call(&a.ctx, m, z, y, what));
    CHECK(arena.used == 0 && arena.status == RFM_OK);
    CHECK(hash == test_hash(test_mark()));
}

static void bad_views(rfm_cmat z, rfm_mat y) {
    static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    rfm_cmat bad = z;
    rfm_mat out = y;
    size_t i;

    test_note("views", (size_t)what, 0, 0);
    bad.at = NULL;
    refused(RFM_ENULL, &a.m, bad, y);
    bad = z;
    bad.rows = 0;
    refused(RFM_EZERO, &a.m, bad, y);
    bad = z;
    bad.cols = 1; /* the wrong number of inputs */
    refused(RFM_ESHAPE, &a.m, bad, y);
    bad.cols = 3;
    bad.stride = 3;
    refused(RFM_ESHAPE, &a.m, bad, y);
    bad = z;
    bad.stride = 1;
    refused(RFM_ESTRIDE, &a.m, bad, y);
    bad.stride = SIZE_MAX / 2;
    refused(RFM_EOVERFLOW, &a.m, bad, y);
    bad = z;
    bad.rows = 1;
    refused(RFM_ESHAPE, &a.m, bad, y);
    out.at = NULL;
    refused(RFM_ENULL, &a.m, z, out);
    out = y;
    out.rows = 0;
    refused(RFM_EZERO, &a.m, z, out);
    out = y;
    out.cols = 0;
    refused(RFM_EZERO, &a.m, z, out);
    out = y;
    out.cols++;
    out.stride++;
    refused(RFM_ESHAPE, &a.m, z, out);
    out = y;
    out.stride = out.cols - 1;
    refused(RFM_ESTRIDE, &a.m, z, out);
    out = y;
    out.at = (rfm_real *)(uintptr_t)z.at; /* over the input: from its start, and on its last number */
    refused(RFM_EALIAS, &a.m, z, out);
    out.at = (rfm_real *)(uintptr_t)(z.at + (z.rows - 1) * z.stride + z.cols - 1);
    refused(RFM_EALIAS, &a.m, z, out);
    for (i = 0; i < 12; i++) {
        rfm_real *at = (rfm_real *)(uintptr_t)(z.at + i % 2 * z.stride + i / 2 % 2), was = *at;

        *at = (rfm_real)values[i / 4];
        refused(RFM_EFINITE, &a.m, z, y);
        *at = was;
    }
}

static void bad_models(rfm_cmat z, rfm_mat y) {
    rfm_model bad = a.m;
    size_t i, need = 77;

    test_note("models", (size_t)what, 0, 0);
    for (i = 0; i < 13; i++) {
        int status = RFM_ENULL;

        bad = a.m;
        switch (i) {
        case 0: bad.shift = NULL; break;
        case 1: bad.p = NULL; break;
        case 2: bad.centers = NULL; break;
        case 3: bad.alpha = NULL; break;
        case 4: bad.n = 0, status = RFM_EZERO; break;
        case 5: bad.d = 0, status = RFM_EZERO; break;
        case 6: bad.c = 0, status = RFM_EZERO; break;
        case 7: bad.r = 0, status = RFM_EZERO; break;
        case 8: bad.bandwidth = 0, status = RFM_EVALUE; break;
        case 9: bad.bandwidth = (rfm_real)NAN, status = RFM_EVALUE; break;
        case 10: bad.kernel = RFM_KERNELS, status = RFM_EVALUE; break;
        case 11: bad.kernel = -1, status = RFM_EVALUE; break;
        default: bad.metric = RFM_DIAGONAL, bad.r = 1, status = RFM_ESHAPE; break;
        }
        test_note("models", (size_t)what, i, 0);
        refused(status, &bad, z, y);
        CHECK_INT(status, call_need(&a.ctx, &bad, 2, &need, what));
    }
    for (i = 0; i < 2; i++) { /* no such metric */
        bad = a.m;
        bad.metric = i ? 3 : -1;
        bad.r = bad.d;
        test_note("metric", (size_t)what, i, 0);
        refused(RFM_EVALUE, &bad, z, y);
    }
    refused(RFM_ENULL, NULL, z, y);
    CHECK_INT(RFM_ENULL, call_need(&a.ctx, NULL, 2, &need, what));
    CHECK_INT(RFM_ENULL, call_need(NULL, &a.m, 2, &need, what));
    CHECK_INT(RFM_ENULL, call_need(&a.ctx, &a.m, 2, NULL, what));
    CHECK_INT(RFM_ENULL, call(NULL, &a.m, z, y, what));
    if (!what) CHECK_INT(RFM_EZERO, rfm_predict_need(&a.ctx, &a.m, 0, &need));
    if (!what) CHECK_INT(RFM_EOVERFLOW, rfm_predict_need(&a.ctx, &a.m, SIZE_MAX / 2, &need));
    CHECK_SIZE(77, need);
    a.ctx.arena = NULL;
    CHECK_INT(RFM_ENULL, call(&a.ctx, &a.m, z, y, what));
    a.ctx.arena = &arena;
}

static void test_refusals(void) {
    const model_shape s = {3, 2, 1};
    rfm_mat z, y;
    size_t need = 0;
    void *mem;

    for (what = 0; what < 2; what++) {
        CHECK(make(s, 0, 2));
        z = test_mat(2, 2, 1, 0);
        y = test_mat(2, what ? 2 : 1, 0, 0);
        CHECK(y.at != NULL);
        model_fill(z, 90);
        CHECK_INT(RFM_OK, call_need(&a.ctx, &a.m, 2, &need, what));
        mem = test_take(need);
        CHECK(mem != NULL);
        CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
        a.ctx.arena = &arena;
        bad_views(rfm_const(z), y);
        bad_models(rfm_const(z), y);
        CHECK_INT(RFM_OK, call(&a.ctx, &a.m, rfm_const(z), y, what));
        a.ctx.arena = NULL;
    }
}

/* Finite inputs whose answer is not. */
static void test_range(void) {
    const model_shape s = {3, 2, 1};
    rfm_mat z, y;

    CHECK(make(s, 0, 0));
    z = test_mat(1, 2, 0, 0);
    y = test_mat(1, 1, 0, 0);
    z.at[0] = z.at[1] = RFM_REAL_BYTES == 4 ? (rfm_real)1e15 : (rfm_real)1e100; /* far away: 0 */
    CHECK_INT(RFM_OK, model_predict(&a, rfm_const(z), y));
    CHECK(y.at[0] == 0);
    z.at[0] = z.at[1] = 0;
    {
        rfm_real *alpha = (rfm_real *)(uintptr_t)a.m.alpha;

        alpha[0] = alpha[1] = alpha[2] = RFM_REAL_BYTES == 4 ? (rfm_real)3e38 : (rfm_real)1.7e308;
    }
    CHECK_INT(RFM_ERANGE, model_predict(&a, rfm_const(z), y));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_ports);
    if (TEST_TSAN) return UNITY_END();
    RUN_TEST(test_values);
    RUN_TEST(test_large);
    RUN_TEST(test_near);
    RUN_TEST(test_differences);
    RUN_TEST(test_gradient_at_center);
    RUN_TEST(test_memory);
    RUN_TEST(test_ticks);
    RUN_TEST(test_refusals);
    RUN_TEST(test_range);
    return UNITY_END();
}
