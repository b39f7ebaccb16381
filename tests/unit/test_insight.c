/* rfm_metric, rfm_cosine, rfm_pearson, rfm_alignment. */
#include "models.h"

void setUp(void) { test_reset(); }
void tearDown(void) {}

static model_case a;

/* M = P'P by element, from the model's own arrays. */
static double metric_at(const rfm_model *m, size_t i, size_t j) {
    double sum = 0;
    size_t q;

    if (m->metric == RFM_IDENTITY) return i == j;
    if (m->metric == RFM_DIAGONAL) return i == j ? (double)m->p[i] * (double)m->p[i] : 0;
    for (q = 0; q < m->r; q++) sum += (double)m->p[q * m->d + i] * (double)m->p[q * m->d + j];
    return sum;
}

static void test_metric(void) {
    model_shape s;
    size_t index, i, j, done = 0;
    int metric;

    for (index = 0; model_size(index, &s); index++)
        for (metric = RFM_IDENTITY; metric <= RFM_FULL; metric++) {
            rfm_mat full, diagonal;
            int status;

            test_reset();
            test_note("metric", s.n, (size_t)metric, 0);
            if (!model_make(&a, s.n, s.d, s.c)) continue;
            a.o.metric = metric;
            status = model_fit(&a);
            full = test_mat(s.d, s.d, 2, 1);
            diagonal = test_mat(1, s.d, 0, 0);
            if (status == TEST_SKIP || full.at == NULL || diagonal.at == NULL) continue;
            CHECK_INT(RFM_OK, rfm_metric(&a.m, full));
            CHECK_INT(RFM_OK, rfm_metric(&a.m, diagonal));
            for (i = 0; i < s.d; i++) {
                CHECK(model_at(diagonal, 0, i) == model_at(full, i, i));
                for (j = 0; j < s.d; j++) {
                    CHECK_BELOW(fabs(model_at(full, i, j) - metric_at(&a.m, i, j)),
                                10 * TEST_EPS * (double)s.d * sqrt(metric_at(&a.m, i, i) * metric_at(&a.m, j, j)));
                    CHECK(model_at(full, i, j) == model_at(full, j, i));
                }
            }
            test_check_padding(full);
            test_check_padding(diagonal);
            done++;
        }
    CHECK(done >= 3);
}

static void refused_metric(int status, const rfm_model *m, rfm_mat out) {
    const uint64_t hash = test_hash(test_mark());

    CHECK_INT(status, rfm_metric(m, out));
    CHECK(hash == test_hash(test_mark()));
}

static void test_metric_refusals(void) {
    rfm_model bad;
    rfm_mat m, out;

    CHECK(model_make(&a, 3, 3, 1));
    CHECK_INT(RFM_OK, model_fit(&a));
    m = test_mat(3, 3, 1, 0);
    CHECK(m.at != NULL);
    refused_metric(RFM_ENULL, NULL, m);
    bad = a.m;
    bad.p = NULL;
    refused_metric(RFM_ENULL, &bad, m);
    bad = a.m;
    bad.r = 0;
    refused_metric(RFM_EZERO, &bad, m);
    out = m;
    out.at = NULL;
    refused_metric(RFM_ENULL, &a.m, out);
    out = m;
    out.rows = 2;
    refused_metric(RFM_ESHAPE, &a.m, out);
    out = m;
    out.cols = 2;
    refused_metric(RFM_ESHAPE, &a.m, out);
    out = m;
    out.stride = 2;
    refused_metric(RFM_ESTRIDE, &a.m, out);
    CHECK_INT(RFM_OK, rfm_metric(&a.m, m));
}

/* ---- similarity ----------------------------------------------------------------------------- */

static int near(rfm_real value, double expect) { return fabs((double)value - expect) <= 10 * TEST_EPS; }

static void test_similarity(void) {
    static const struct {
        double a[4], b[4], cosine, pearson;
    } cases[] = {
        {{1, 2, 3, 4}, {1, 2, 3, 4}, 1, 1},
        {{1, 2, 3, 4}, {-2, -4, -6, -8}, -1, -1},
        {{1, 0, 0, 1}, {0, 1, 1, 0}, 0, -1},
        {{1, 0, 0, 0}, {1, 1, 0, 0}, 0.70710678118654752, 0.57735026918962576},
        {{1, 2, 3, 4}, {11, 12, 13, 14}, 130 / 137.47727084867520, 1}, /* sqrt(30 * 630) */
        {{0, 0, 0, 0}, {1, 2, 3, 4}, 0, 0},
        {{1, 2, 3, 4}, {0, 0, 0, 0}, 0, 0},
        {{2, 2, 2, 2}, {1, 2, 3, 4}, 20 / 21.908902300206645, 0}, /* 4 sqrt(30) */
        {{3, 3, 3, 3}, {5, 5, 5, 5}, 1, 0},
    };
    rfm_mat x = test_mat(2, 2, 3, 0), y = test_mat(2, 2, 0, 1);
    rfm_real value;
    size_t i, j;

    for (i = 0; i < TEST_LENGTH(cases); i++) {
        test_note("similarity", i, 0, 0);
        for (j = 0; j < 4; j++) {
            x.at[j / 2 * x.stride + j % 2] = (rfm_real)cases[i].a[j];
            y.at[j / 2 * y.stride + j % 2] = (rfm_real)cases[i].b[j];
        }
        value = 9;
        CHECK_INT(RFM_OK, rfm_cosine(rfm_const(x), rfm_const(y), &value));
        CHECK(near(value, cases[i].cosine));
        value = 9;
        CHECK_INT(RFM_OK, rfm_pearson(rfm_const(x), rfm_const(y), &value));
        CHECK(near(value, cases[i].pearson));
    }
    /* A matrix and itself. */
    CHECK_INT(RFM_OK, rfm_cosine(rfm_const(x), rfm_const(x), &value));
    CHECK(near(value, 1));
}

/* Constant matrices whose mean rounds: similarity 0 all the same. */
static void test_constant(void) {
    rfm_mat x = test_mat(3, 7, 0, 0), y = test_mat(3, 7, 0, 0);
    rfm_real value = 9;
    size_t i, turn;

    model_fill(y, 5);
    for (turn = 0; turn < 20; turn++) {
        test_note("constant", turn, 0, 0);
        for (i = 0; i < 21; i++) x.at[i] = (rfm_real)(test_number(6, turn, 0) * 1000);
        CHECK_INT(RFM_OK, rfm_pearson(rfm_const(x), rfm_const(y), &value));
        CHECK(value == 0);
        CHECK_INT(RFM_OK, rfm_pearson(rfm_const(y), rfm_const(x), &value));
        CHECK(value == 0);
        CHECK_INT(RFM_OK, rfm_pearson(rfm_const(x), rfm_const(x), &value));
        CHECK(value == 0);
    }
}

static int similarity(int centred, rfm_cmat x, rfm_cmat y, rfm_real *value) {
    return centred ? rfm_pearson(x, y, value) : rfm_cosine(x, y, value);
}

static void test_similarity_refusals(void) {
    const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    rfm_mat m = test_mat(2, 3, 1, 0);
    rfm_cmat x, bad;
    rfm_real value = 9;
    size_t i;
    int centred;

    model_fill(m, 5);
    x = rfm_const(m);
    for (centred = 0; centred < 2; centred++) {
        test_note("refusals", (size_t)centred, 0, 0);
        CHECK_INT(RFM_ENULL, similarity(centred, x, x, NULL));
        for (i = 0; i < 5; i++) {
            static const int expect[] = {RFM_ENULL, RFM_EZERO, RFM_EZERO, RFM_ESHAPE, RFM_ESTRIDE};

            bad = x;
            if (i == 0) bad.at = NULL;
            if (i == 1) bad.rows = 0;
            if (i == 2) bad.cols = 0;
            if (i == 3) bad.rows = 1;
            if (i == 4) bad.stride = 2;
            CHECK_INT(expect[i], similarity(centred, bad, x, &value));
            CHECK_INT(expect[i], similarity(centred, x, bad, &value));
        }
        bad = x;
        bad.cols = 2;
        CHECK_INT(RFM_ESHAPE, similarity(centred, x, bad, &value));
        for (i = 0; i < 3; i++) {
            rfm_real was = m.at[5];

            m.at[5] = (rfm_real)values[i];
            CHECK_INT(RFM_EFINITE, similarity(centred, x, x, &value));
            m.at[5] = was;
        }
        CHECK(value == 9);
    }
}

/* ---- alignment ------------------------------------------------------------------------------ */

static double plain_alignment(rfm_mat x, rfm_mat y) {
    double ky = 0, kk = 0, yy = 0;
    size_t i, j, q;

    for (i = 0; i < x.rows; i++)
        for (j = 0; j < x.rows; j++) {
            double k = model_phi(&a.m, model_distance(&a.m, x.at + i * x.stride, x.at + j * x.stride)), t = 0;

            for (q = 0; q < y.cols; q++) t += model_at(y, i, q) * model_at(y, j, q);
            ky += k * t;
            kk += k * k;
            yy += t * t;
        }
    return kk > 0 && yy > 0 ? ky / sqrt(kk * yy) : 0;
}

static void test_alignment(void) {
    static const size_t rows[] = {1, 2, 5, 60, 1100};
    model_shape s;
    size_t index, turn, r, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (turn = 0; turn < 9; turn++)
            for (r = 0; r < TEST_LENGTH(rows); r++) {
                rfm_mat x, y;
                rfm_arena arena;
                rfm_real value = 9;
                size_t need = 0;
                void *mem;
                int status;

                test_reset();
                test_note("alignment", s.n, turn, rows[r]);
                if (rows[r] > TEST_N_MAX && (index != 2 || turn > 0 || TEST_N_MAX < 500)) continue;
                if (!model_make(&a, s.n, s.d, s.c)) continue;
                a.o.metric = (int)(turn % 3);
                a.o.kernel = (int)(turn / 3);
                status = model_fit(&a);
                x = test_mat(rows[r], s.d, 1, 0);
                y = test_mat(rows[r], s.c, 0, 0);
                if (status == TEST_SKIP || x.at == NULL || y.at == NULL) continue;
                model_fill(x, 95);
                model_targets(x, y);
                CHECK_INT(RFM_OK, rfm_alignment_need(&a.ctx, &a.m, rows[r], &need));
                mem = test_take(need);
                if (mem == NULL) continue;
                CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
                a.ctx.arena = &arena;
                CHECK_INT(RFM_OK, rfm_alignment(&a.ctx, &a.m, rfm_const(x), rfm_const(y), &value));
                CHECK(arena.used == 0 && arena.peak == need);
                CHECK_BELOW(fabs((double)value - plain_alignment(x, y)), 200 * TEST_EPS);
                CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need - 1));
                value = 9;
                CHECK_INT(RFM_EARENA, rfm_alignment(&a.ctx, &a.m, rfm_const(x), rfm_const(y), &value));
                CHECK(arena.used == 0 && arena.status == RFM_OK && value == 9);
                a.ctx.arena = NULL;
                done++;
            }
    CHECK(done >= 9);
}

static void test_alignment_refusals(void) {
    rfm_mat x, y;
    rfm_cmat bad;
    rfm_model model;
    rfm_arena arena;
    rfm_real value = 9;
    size_t need = 0, i;
    void *mem;

    CHECK(model_make(&a, 3, 2, 1));
    CHECK_INT(RFM_OK, model_fit(&a));
    x = test_mat(2, 2, 0, 0);
    y = test_mat(2, 1, 1, 0);
    CHECK(y.at != NULL);
    model_fill(x, 95);
    model_targets(x, y);
    CHECK_INT(RFM_OK, rfm_alignment_need(&a.ctx, &a.m, 2, &need));
    mem = test_take(need);
    CHECK(mem != NULL);
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
    CHECK_INT(RFM_ENULL, rfm_alignment(&a.ctx, &a.m, rfm_const(x), rfm_const(y), &value));
    a.ctx.arena = &arena;
    CHECK_INT(RFM_ENULL, rfm_alignment(NULL, &a.m, rfm_const(x), rfm_const(y), &value));
    CHECK_INT(RFM_ENULL, rfm_alignment(&a.ctx, NULL, rfm_const(x), rfm_const(y), &value));
    CHECK_INT(RFM_ENULL, rfm_alignment(&a.ctx, &a.m, rfm_const(x), rfm_const(y), NULL));
    model = a.m;
    model.centers = NULL;
    CHECK_INT(RFM_ENULL, rfm_alignment(&a.ctx, &model, rfm_const(x), rfm_const(y), &value));
    for (i = 0; i < 5; i++) {
        static const int expect[] = {RFM_ENULL, RFM_EZERO, RFM_EZERO, RFM_ESHAPE, RFM_ESTRIDE};

        test_note("alignment", i, 0, 0);
        bad = rfm_const(x);
        if (i == 0) bad.at = NULL;
        if (i == 1) bad.rows = 0;
        if (i == 2) bad.cols = 0;
        if (i == 3) bad.cols = 1;
        if (i == 4) bad.stride = 1;
        CHECK_INT(expect[i], rfm_alignment(&a.ctx, &a.m, bad, rfm_const(y), &value));
        bad = rfm_const(y);
        if (i == 0) bad.at = NULL;
        if (i == 1) bad.rows = 0;
        if (i == 2) bad.cols = 0;
        if (i == 3) bad.rows = 1;
        if (i == 4) bad.cols = 3;
        CHECK_INT(expect[i], rfm_alignment(&a.ctx, &a.m, rfm_const(x), bad, &value));
    }
    x.at[1] = (rfm_real)NAN;
    CHECK_INT(RFM_EFINITE, rfm_alignment(&a.ctx, &a.m, rfm_const(x), rfm_const(y), &value));
    x.at[1] = 0;
    y.at[0] = (rfm_real)INFINITY;
    CHECK_INT(RFM_EFINITE, rfm_alignment(&a.ctx, &a.m, rfm_const(x), rfm_const(y), &value));
    CHECK(value == 9 && arena.used == 0);
    y.at[0] = y.at[2] = 0; /* no targets: 0 */
    CHECK_INT(RFM_OK, rfm_alignment(&a.ctx, &a.m, rfm_const(x), rfm_const(y), &value));
    CHECK(value == 0);
    CHECK_INT(RFM_ENULL, rfm_alignment_need(NULL, &a.m, 2, &need));
    CHECK_INT(RFM_ENULL, rfm_alignment_need(&a.ctx, NULL, 2, &need));
    CHECK_INT(RFM_ENULL, rfm_alignment_need(&a.ctx, &a.m, 2, NULL));
    CHECK_INT(RFM_EZERO, rfm_alignment_need(&a.ctx, &a.m, 0, &need));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_metric);
    RUN_TEST(test_metric_refusals);
    RUN_TEST(test_similarity);
    RUN_TEST(test_constant);
    RUN_TEST(test_similarity_refusals);
    RUN_TEST(test_alignment);
    RUN_TEST(test_alignment_refusals);
    return UNITY_END();
}
