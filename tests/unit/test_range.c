/* The edges: more features than rows; and every function on the same data in other powers of two, where RFM_OK means
 * the same result and all else is a status. */
#include "models.h"

#include <stdlib.h>

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

#if RFM_REAL_BYTES == 4
#define LEAST   (-140) /* powers of two: from subnormal numbers ... */
#define MOST    126    /* ... to the largest */
#define STEP    7
#define NORMAL  (-126) /* the smallest normal number */
#define LARGE   3e38
#define SQUARED 1e25 /* its square overflows */
#else
#define LEAST   (-1060)
#define MOST    1022
#define STEP    53
#define NORMAL  (-1022)
#define LARGE   1.7e308
#define SQUARED 1e200
#endif

static model_case a;

static void scale(rfm_mat m, int power) {
    size_t i, j;

    for (i = 0; i < m.rows; i++)
        for (j = 0; j < m.cols; j++) m.at[i * m.stride + j] = (rfm_real)ldexp((double)m.at[i * m.stride + j], power);
}

/* ---- more features than rows ---------------------------------------------------------------- */

static const model_shape wide[] = {{1, 3, 1}, {2, 50, 1}, {5, 96, 2}, {24, 25, 1}, {48, 64, 1}, {95, 96, 1}};

/* M after one update is the mean outer product of the gradients at T = 0, and the same bits come from two workers. */
static void test_wide(void) {
    size_t index, i, j, k, row, done = 0;

    for (index = 0; index < TEST_LENGTH(wide); index++) {
        const model_shape s = wide[index];
        test_pool pool = {2, 1};
        rfm_mat g, m, again;
        double worst = 0, most = 0;

        test_reset();
        test_note("wide", s.n, s.d, 0);
        if (!model_make(&a, s.n, s.d, s.c)) continue;
        a.o.bandwidth = 8;
        a.o.iterations = 0;
        g = test_mat(s.n, s.c * s.d, 0, 0), m = test_mat(s.d, s.d, 0, 0), again = test_mat(s.d, s.d, 0, 0);
        if (again.at == NULL || model_fit(&a) == TEST_SKIP || model_gradients(&a, a.data.x, g) == TEST_SKIP) continue;
        a.o.iterations = 1;
        if (model_fit(&a) == TEST_SKIP) continue;
        CHECK_INT(RFM_OK, rfm_metric(&a.m, m));
        for (i = 0; i < s.d; i++)
            for (j = 0; j < s.d; j++) {
                double sum = 0;

                for (row = 0; row < s.n; row++)
                    for (k = 0; k < s.c; k++) sum += model_at(g, row, k * s.d + i) * model_at(g, row, k * s.d + j);
                worst = fmax(worst, fabs(sum / (double)s.n - model_at(m, i, j)));
                most = fmax(most, fabs(sum / (double)s.n));
            }
        CHECK_BELOW(worst, 200 * (double)(s.n + 10) * TEST_EPS * most);
        a.ctx.workers = 2, a.ctx.run = test_pool_run, a.ctx.pool = &pool;
        if (model_fit(&a) == TEST_SKIP) continue;
        CHECK_INT(RFM_OK, rfm_metric(&a.m, again));
        CHECK(model_apart(m, again) == 0);
        done++;
    }
    CHECK(done >= 1);
}

/* A start without updates: P is a product of d rows, whatever n is. */
static void test_wide_start(void) {
    size_t index, i, j, done = 0;

    for (index = 0; index < TEST_LENGTH(wide); index++) {
        const model_shape s = wide[index];
        rfm_mat start, m;

        test_reset();
        test_note("wide start", s.n, s.d, 0);
        if (!model_make(&a, s.n, s.d, s.c)) continue;
        a.o.iterations = 0;
        start = test_mat(s.d, s.d, 0, 0), m = test_mat(s.d, s.d, 0, 0);
        if (m.at == NULL) continue;
        for (i = 0; i < s.d; i++)
            for (j = 0; j < s.d; j++)
                start.at[i * s.d + j] = (rfm_real)test_symmetric(TEST_RANDOM, s.d, i < j ? i : j, i < j ? j : i);
        a.data.start = rfm_const(start);
        if (model_fit(&a) == TEST_SKIP) continue;
        CHECK_INT(RFM_OK, rfm_metric(&a.m, m));
        CHECK_CLOSE(start, m, 20 * (double)s.d);
        done++;
    }
    CHECK(done >= 1);
}

/* Gradient points that no update asks for. */
static void test_points_unused(void) {
    size_t turn;

    for (turn = 0; turn < 2; turn++) {
        test_reset();
        test_note("points", turn, 0, 0);
        CHECK(model_make(&a, 4, 2, 1));
        a.o.agop_points = 2;
        if (turn == 0)
            a.o.iterations = 0;
        else
            a.o.metric = RFM_IDENTITY;
        CHECK_INT(RFM_OK, model_fit(&a));
        CHECK_INT(RFM_IDENTITY, a.m.metric);
    }
}

/* Rows without weight are no gradient points: M of two points drawn among two rows that count is M of these two
 * rows. */
static void test_points_of_weight(void) {
    rfm_real w[4] = {0, 1, 0, 1}, m[4], all[4];

    CHECK(model_make(&a, 4, 2, 1));
    a.data.weights = w;
    CHECK_INT(RFM_OK, model_fit(&a));
    CHECK_INT(RFM_OK, rfm_metric(&a.m, rfm_view(all, 2, 2)));
    for (a.o.seed = 0; a.o.seed < 8; a.o.seed++) {
        a.o.agop_points = 2;
        CHECK_INT(RFM_OK, model_fit(&a));
        CHECK_INT(RFM_OK, rfm_metric(&a.m, rfm_view(m, 2, 2)));
        CHECK_CLOSE(rfm_view(all, 2, 2), rfm_view(m, 2, 2), 100);
    }
}

/* Centred gradients do not care where the rows of no weight stand. */
static void test_centred_order(void) {
    const size_t n = 600;
    double m[2];
    size_t turn, i;

    for (turn = 0; turn < 2; turn++) {
        rfm_real *w, value = 0;

        test_reset();
        test_note("centred order", turn, 0, 0);
        if (!model_make(&a, n, 1, 1)) TEST_IGNORE();
        w = test_take(n * sizeof *w);
        if (w == NULL) TEST_IGNORE();
        for (i = 0; i < n; i++) {
            const size_t at = turn ? n - 1 - i : i;

            w[at] = (rfm_real)(i < 540 ? 0 : 1);
            a.x.at[at * a.x.stride] = (rfm_real)test_number(17, i, 0);
            a.y.at[at * a.y.stride] = 3 * a.x.at[at * a.x.stride];
        }
        a.data.weights = w;
        a.o.kernel = RFM_GAUSSIAN, a.o.metric = RFM_DIAGONAL, a.o.center = 1;
        a.o.bandwidth = 60, a.o.ridge = (rfm_real)1e-3;
        if (model_fit(&a) == TEST_SKIP) TEST_IGNORE();
        CHECK_INT(RFM_OK, rfm_metric(&a.m, rfm_view(&value, 1, 1)));
        m[turn] = (double)value;
    }
    CHECK(m[0] > 0);
    CHECK_BELOW(fabs(m[0] - m[1]), 0.05 * m[1]);
}

/* ---- rfm_fit -------------------------------------------------------------------------------- */

static const int metrics[] = {RFM_IDENTITY, RFM_DIAGONAL, RFM_FULL};

/* M and predictions of a fit; its status. */
static int see(rfm_mat y, rfm_mat m) {
    const size_t mark = test_mark();
    int status = model_fit(&a);

    if (status == RFM_OK) status = model_predict(&a, a.data.x, y);
    if (status == RFM_OK) status = rfm_metric(&a.m, m);
    test_rewind(mark);
    return status;
}

/* Targets times 2^p: predictions times 2^p, and M, scaled, the same. Bit for bit, where the numbers are normal. */
static void test_targets(void) {
    const size_t n = 5, d = 2, c = 1; /* fits the smallest board */
    rfm_mat y0, m0, y, m;
    size_t turn, done = 0;
    int power;

    for (turn = 0; turn < 12; turn++) {
        test_reset();
        CHECK(model_make(&a, n, d, c));
        a.o.metric = metrics[turn % 3];
        a.o.scale = turn / 3 % 2 ? RFM_SCALE_MAX : RFM_SCALE_TRACE;
        a.o.center = (int)(turn / 6);
        a.o.iterations = 2;
        if (turn % 4 == 3) a.o.ridge = 0;
        y0 = test_mat(n, c, 0, 0), m0 = test_mat(d, d, 0, 0), y = test_mat(n, c, 0, 0), m = test_mat(d, d, 0, 0);
        CHECK(m.at != NULL);
        if (see(y0, m0) == TEST_SKIP) continue;
        for (power = LEAST; power <= MOST; power += STEP) {
            int status;

            test_note("targets", turn, (size_t)(power - LEAST), 0);
            scale(a.y, power - 2); /* targets are below 4 */
            status = see(y, m);
            model_targets(a.x, a.y); /* what a subnormal number has lost */
            CHECK(status == RFM_OK || (status == RFM_ERANGE && power > MOST - 20));
            if (status != RFM_OK || power < NORMAL + 30) continue;
            scale(y, 2 - power);
            CHECK(model_apart(y0, y) == 0 && model_apart(m0, m) == 0);
            done++;
        }
    }
    CHECK(done >= 6);
}

/* Rows and bandwidth times 2^p: the same predictions, M divided by 4^p, for every bandwidth that there is. */
static void test_features(void) {
    const size_t n = 5, d = 2;
    rfm_mat y0, m0, y, m;
    size_t turn, done = 0;
    int power;

    for (turn = 0; turn < 18; turn++) {
        test_reset();
        CHECK(model_make(&a, n, d, 1));
        a.o.metric = metrics[turn % 3];
        a.o.kernel = (int)(turn / 3 % 3);
        a.o.exponent = (rfm_real)1.5;
        a.o.scale = RFM_SCALE_MAX;
        if (turn >= 9) a.o.bandwidth_rule = RFM_BANDWIDTH_MEDIAN, a.o.bandwidth = 1;
        y0 = test_mat(n, 1, 0, 0), m0 = test_mat(d, d, 0, 0), y = test_mat(n, 1, 0, 0), m = test_mat(d, d, 0, 0);
        CHECK(m.at != NULL);
        if (see(y0, m0) == TEST_SKIP) continue;
        for (power = LEAST; power <= MOST; power += STEP) {
            const rfm_real L = a.o.bandwidth;
            int status;

            test_note("features", turn, (size_t)(power - LEAST), 0);
            scale(a.x, power);
            if (turn < 9) a.o.bandwidth = (rfm_real)ldexp((double)L, power);
            if (turn < 9 && rfm_finite(1, &a.o.bandwidth) == 0) a.o.bandwidth = (rfm_real)LARGE;
            {
                size_t scratch, store;

                status = rfm_fit_need(&a.ctx, &a.data, &a.o, &scratch, &store);
            }
            if (status == RFM_OK)
                status = see(y, m);
            else
                CHECK_INT(RFM_EVALUE, status); /* such an L is refused at once */
            scale(a.x, -power);
            model_fill(a.x, 50);
            a.o.bandwidth = L;
            CHECK(status == RFM_OK || status == RFM_ERANGE || status == RFM_EVALUE);
            if (abs(power) < STEP * 5) CHECK_INT(RFM_OK, status);
            if (status != RFM_OK) continue;
            CHECK(model_apart(y0, y) == 0 && model_apart(m0, m) == 0);
            done++;
        }
    }
    CHECK(done >= 6);
}

/* Tiny rows beside an ordinary bandwidth: K is all ones, but M is not zero. With distances in double the update is
 * known: the mean of (sum_i alpha_i (x_i - x_j) / (L |x_i - x_j|))^2. */
static void test_tiny_rows(void) {
    const size_t n = 6;
    const int power = RFM_REAL_BYTES == 4 ? -100 : -800;
    double expect = 0;
    rfm_real m, alpha[6];
    size_t i, j;

    CHECK(model_make(&a, n, 1, 1));
    for (i = 0; i < n; i++) a.y.at[i * a.y.stride] = (rfm_real)(1 + (double)i);
    scale(a.x, power);
    a.o.iterations = 0;
    CHECK_INT(RFM_OK, model_fit(&a));
    memcpy(alpha, a.m.alpha, sizeof alpha);
    a.o.iterations = 1;
    CHECK_INT(RFM_OK, model_fit(&a));
    CHECK_INT(RFM_OK, rfm_metric(&a.m, rfm_view(&m, 1, 1)));
    for (j = 0; j < n; j++) {
        double sum = 0;

        for (i = 0; i < n; i++) {
            double way = model_at(a.x, i, 0) - model_at(a.x, j, 0);

            if (way != 0) sum += (double)alpha[i] / (double)a.o.bandwidth * (way > 0 ? 1 : -1);
        }
        expect += sum * sum / (double)n;
    }
    CHECK(expect > 1e-3);
    CHECK_BELOW(fabs((double)m - expect), 1e-4 * expect);
}

/* Features too large to be squared, targets whose score overflows: never RFM_OK, whatever the ridge, metric and
 * centring. */
static void test_too_large(void) {
    rfm_mat xv, yv;
    size_t turn, i;

    for (turn = 0; turn < 12; turn++) {
        test_reset();
        test_note("too large", turn, 0, 0);
        CHECK(model_make(&a, 4, 2, 1));
        a.o.metric = metrics[turn % 3];
        a.o.center = (int)(turn / 3 % 2);
        a.o.ridge = (rfm_real)(turn < 6 ? 0 : 0.1);
        for (i = 0; i < 4; i++) a.x.at[i * a.x.stride] *= (rfm_real)SQUARED;
        CHECK_INT(RFM_ERANGE, model_fit(&a));
        a.o.bandwidth_rule = RFM_BANDWIDTH_MEDIAN;
        CHECK_INT(RFM_ERANGE, model_fit(&a));
        for (i = 0; i < 4; i++) a.x.at[i * a.x.stride] = (rfm_real)(i % 2 ? -LARGE : LARGE);
        CHECK_INT(RFM_ERANGE, model_fit(&a));
    }
    test_reset();
    CHECK(model_make(&a, 4, 2, 1));
    xv = test_mat(2, 2, 0, 0), yv = test_mat(2, 1, 0, 0);
    CHECK(yv.at != NULL);
    model_fill(xv, 70);
    for (i = 0; i < 4; i++) a.y.at[i * a.y.stride] *= (rfm_real)SQUARED;
    model_targets(xv, yv);
    for (i = 0; i < 2; i++) yv.at[i] *= (rfm_real)SQUARED;
    a.data.x_validation = rfm_const(xv), a.data.y_validation = rfm_const(yv);
    a.o.iterations = 0;
    CHECK_INT(RFM_ERANGE, model_fit(&a));
    a.o.score = RFM_SCORE_ACCURACY;
    CHECK_INT(RFM_OK, model_fit(&a));
}

/* M of huge targets does not fit, with and without its mean gradient; scaled to its largest entry it does. */
static void test_large_metric(void) {
    size_t turn, i;

    for (turn = 0; turn < 4; turn++) {
        rfm_real m[4];

        test_reset();
        test_note("large metric", turn, 0, 0);
        CHECK(model_make(&a, 4, 2, 1));
        a.o.metric = turn % 2 ? RFM_DIAGONAL : RFM_FULL;
        a.o.center = (int)(turn / 2);
        for (i = 0; i < 4; i++) a.y.at[i * a.y.stride] *= (rfm_real)SQUARED;
        if (model_fit(&a) == RFM_OK) CHECK_INT(RFM_ERANGE, rfm_metric(&a.m, rfm_view(m, 2, 2)));
        test_reset();
        CHECK(model_make(&a, 4, 2, 1));
        a.o.metric = turn % 2 ? RFM_DIAGONAL : RFM_FULL;
        a.o.center = (int)(turn / 2);
        a.o.scale = RFM_SCALE_MAX;
        for (i = 0; i < 4; i++) a.y.at[i * a.y.stride] *= (rfm_real)SQUARED;
        CHECK_INT(RFM_OK, model_fit(&a));
        CHECK_INT(RFM_OK, rfm_metric(&a.m, rfm_view(m, 2, 2)));
        CHECK_BELOW(fabs(fmax((double)m[0], (double)m[3]) - 1), 4 * TEST_EPS);
    }
}

/* Validation scores that vanish still tell the iterates apart. */
static void test_small_scores(void) {
    const size_t n = 16, d = 4;
    rfm_mat xv, yv;
    size_t best, i;

    CHECK(model_make(&a, n, d, 1));
    xv = test_mat(8, d, 0, 0), yv = test_mat(8, 1, 0, 0);
    CHECK(yv.at != NULL);
    model_fill(xv, 71);
    for (i = 0; i < n; i++) a.y.at[i * a.y.stride] = (rfm_real)sin(2 * model_at(a.x, i, 0)); /* three idle features */
    for (i = 0; i < 8; i++) yv.at[i] = (rfm_real)sin(2 * model_at(xv, i, 0));
    a.data.x_validation = rfm_const(xv), a.data.y_validation = rfm_const(yv);
    a.o.select = RFM_SELECT_VALIDATION;
    a.o.scale = RFM_SCALE_TRACE;
    a.o.iterations = 3;
    if (model_fit(&a) == TEST_SKIP) TEST_IGNORE();
    best = a.report.best;
    CHECK(best > 0);
    scale(a.y, NORMAL + 30);
    scale(yv, NORMAL + 30);
    CHECK_INT(RFM_OK, model_fit(&a));
    CHECK_SIZE(best, a.report.best);
    CHECK(a.path[0].score == 0);
}

/* A ridge below the rounding of a nearly singular K grows until the equations hold at the rows. */
static void test_ridge_below_rounding(void) {
    const size_t n = 16;
    size_t i, j;

    CHECK(model_make(&a, n, 1, 1));
    a.o.kernel = RFM_GAUSSIAN;
    a.o.bandwidth = 80;
    a.o.ridge = (rfm_real)(TEST_EPS * 2);
    a.o.iterations = 0;
    for (i = 0; i < n; i++) a.y.at[i * a.y.stride] = (rfm_real)sin(3 * model_at(a.x, i, 0));
    if (model_fit(&a) == TEST_SKIP) TEST_IGNORE();
    CHECK(a.path[0].ridge > a.o.ridge);
    for (i = 0; i < n; i++) {
        double rest = model_at(a.y, i, 0) - (double)a.path[0].ridge * (double)a.m.alpha[i];

        for (j = 0; j < n; j++)
            rest -= (double)a.m.alpha[j] *
                    model_phi(&a.m, model_distance(&a.m, a.x.at + i * a.x.stride, a.x.at + j * a.x.stride));
        CHECK_BELOW(fabs(rest), 0.05);
    }
}

/* Weights and ridge times the same power of two: the ridge that had to grow grows by the same. */
static void test_ridge_of_weights(void) {
    const size_t n = 16;
    rfm_real w[16], first = 0;
    size_t i;
    int power;

    for (power = 0; power >= -60; power -= 20) {
        test_reset();
        test_note("weights", (size_t)-power, 0, 0);
        CHECK(model_make(&a, n, 1, 1));
        for (i = 0; i < n; i++) w[i] = (rfm_real)ldexp(1, power);
        a.data.weights = w;
        a.o.kernel = RFM_GAUSSIAN;
        a.o.bandwidth = 80;
        a.o.ridge = (rfm_real)ldexp(TEST_EPS / 64, power);
        a.o.iterations = 0;
        if (model_fit(&a) == TEST_SKIP) TEST_IGNORE();
        if (power == 0) first = a.path[0].ridge;
        CHECK(a.path[0].ridge > a.o.ridge);
        CHECK(a.path[0].ridge == (rfm_real)ldexp((double)first, power));
    }
}

/* A start of any size has its root. */
static void test_start_range(void) {
    int power;

    for (power = LEAST; power <= MOST; power += STEP) {
        rfm_real start[4], m[4];

        test_reset();
        test_note("start", (size_t)(power - LEAST), 0, 0);
        CHECK(model_make(&a, 4, 2, 1));
        start[0] = (rfm_real)ldexp(1, power), start[3] = (rfm_real)ldexp(0.75, power);
        start[1] = start[2] = (rfm_real)ldexp(-0.5, power);
        a.data.start = rfm_cview(start, 2, 2);
        a.o.iterations = 0;
        a.o.bandwidth = 1;
        CHECK(model_fit(&a) == RFM_OK || power > MOST - 20);
        if (power > MOST - 20) continue;
        CHECK_INT(RFM_OK, rfm_metric(&a.m, rfm_view(m, 2, 2)));
        CHECK_BELOW(fabs((double)m[0] - (double)start[0]), 8 * TEST_EPS * (double)start[0] + ldexp(1, NORMAL - 20));
        CHECK_BELOW(fabs((double)m[1] - (double)start[1]), 8 * TEST_EPS * (double)start[0] + ldexp(1, NORMAL - 20));
    }
}

/* ---- predictions and gradients -------------------------------------------------------------- */

/* A model by hand: one input, one centre. */
static rfm_real shift, p, center, coef;

static void make_model(rfm_model *m, double at, double weight) {
    memset(m, 0, sizeof *m);
    m->n = m->d = m->c = m->r = 1;
    m->bandwidth = 1, m->exponent = 1;
    m->metric = RFM_DIAGONAL;
    m->shift = &shift, m->p = &p, m->centers = &center, m->alpha = &coef;
    shift = 0, p = 1, center = (rfm_real)at, coef = (rfm_real)weight;
}

/* The gradient of exp(-|x - z|) next to the centre is its slope, however near. */
static void test_near_gradients(void) {
    int power;

    for (power = LEAST + 20; power <= 0; power += STEP) {
        rfm_real z = 0, g = 0;
        rfm_mat out = rfm_view(&g, 1, 1);

        test_note("near", (size_t)(power - LEAST), 0, 0);
        make_model(&a.m, ldexp(1, power), 0.5);
        CHECK_INT(RFM_OK, model_gradients(&a, rfm_cview(&z, 1, 1), out));
        CHECK_BELOW(fabs((double)g - 0.5 * exp(-ldexp(1, power))), 8 * TEST_EPS);
    }
}

/* P, L and centres times 2^36 and alpha times 2^-116: the gradients of before times 2^-116, though what is divided by L
 * or by the length of a row is below the number range. The other way round nothing overflows. In double, 2^288 and
 * 2^-928. */
static void test_gradients_of_large_p(void) {
    enum { N = 4, D = 2 };
    static const struct {
        int kernel, metric, unit_rows;
    } kinds[] = {{RFM_LAPLACE, RFM_FULL, 0}, {RFM_GAUSSIAN, RFM_DIAGONAL, 0}, {RFM_L1, RFM_DIAGONAL, 0},
                 {RFM_LAPLACE, RFM_FULL, 1}, {RFM_NTK, RFM_FULL, 1},          {RFM_NTK, RFM_DIAGONAL, 0}};
    const int up = RFM_LIMIT(MAX_EXP) / 32 * 9, down = RFM_LIMIT(MAX_EXP) / 32 * 29;
    size_t kind, turn, i;

    for (kind = 0; kind < TEST_LENGTH(kinds); kind++)
        for (turn = 0; turn < 2; turn++) {
            const int metric = turn == 0 ? up : -up, alpha = turn == 0 ? -down : down;
            rfm_real p_at[D * D], centers[N * D], coefs[N];
            rfm_mat before, after;
            int gradients = alpha;

            test_reset();
            test_note("kind, turn", kind, turn, 0);
            if (!model_make(&a, N, D, 1)) TEST_IGNORE_MESSAGE("no room");
            a.o.kernel = kinds[kind].kernel, a.o.metric = kinds[kind].metric, a.o.unit_rows = kinds[kind].unit_rows;
            before = test_mat(N, D, 0, 0), after = test_mat(N, D, 0, 0);
            if (before.at == NULL || after.at == NULL || model_fit(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
            if (model_gradients(&a, a.data.x, before) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
            for (i = 0; i < (a.m.metric == RFM_FULL ? a.m.r : 1) * D; i++)
                p_at[i] = (rfm_real)ldexp((double)a.m.p[i], metric);
            for (i = 0; i < N * a.m.r; i++) centers[i] = (rfm_real)ldexp((double)a.m.centers[i], metric);
            for (i = 0; i < N; i++) coefs[i] = (rfm_real)ldexp((double)a.m.alpha[i], alpha);
            a.m.p = p_at, a.m.alpha = coefs;
            if (kinds[kind].kernel == RFM_NTK) /* its centres are directions; f is as large as a row is long */
                gradients += kinds[kind].unit_rows ? 0 : metric;
            else if (!kinds[kind].unit_rows)
                a.m.centers = centers, a.m.bandwidth = (rfm_real)ldexp((double)a.m.bandwidth, metric);
            CHECK_INT(RFM_OK, model_gradients(&a, a.data.x, after));
            for (i = 0; i < N * D; i++) {
                rfm_real *g = after.at + i / D * after.stride + i % D;
                *g = (rfm_real)ldexp((double)*g, -gradients);
            }
            CHECK_CLOSE(before, after, 64);
        }
}

/* Points and centres too far to be squared: a status, and rfm_predict_one says "far". */
static void test_far(void) {
    rfm_real z = (rfm_real)SQUARED, y = 7, scratch[2], novelty = 7;

    make_model(&a.m, 0, 0.5);
    CHECK_INT(RFM_ERANGE, model_predict(&a, rfm_cview(&z, 1, 1), rfm_view(&y, 1, 1)));
    CHECK_INT(RFM_OK, rfm_predict_one(&a.m, &z, &y, scratch, NULL, &novelty));
    CHECK(y == 0 && novelty == 0);
    make_model(&a.m, SQUARED, 0.5);
    z = 0;
    CHECK_INT(RFM_ERANGE, model_predict(&a, rfm_cview(&z, 1, 1), rfm_view(&y, 1, 1)));
    CHECK_INT(RFM_OK, model_gradients(&a, rfm_cview(&z, 1, 1), rfm_view(&y, 1, 1)));
    CHECK(y == 0);
}

/* Rows so far apart that the squares of their gradients are below the number range: M still has their direction. */
static void test_lost_squares(void) {
    const double apart = RFM_REAL_BYTES == 4 ? 12 : 30;
    int metric, scale_rule;
    for (metric = RFM_DIAGONAL; metric <= RFM_FULL; metric++)
        for (scale_rule = RFM_SCALE_MAX; scale_rule <= RFM_SCALE_TRACE; scale_rule++) {
            rfm_mat m;
            test_reset();
            test_note("metric, scale:", (size_t)metric, (size_t)scale_rule, 0);
            if (!model_make(&a, 2, 2, 1)) TEST_IGNORE_MESSAGE("no room");
            a.x.at[0] = 0, a.x.at[1] = 0, a.x.at[a.x.stride] = (rfm_real)apart, a.x.at[a.x.stride + 1] = 0;
            a.y.at[0] = 1, a.y.at[a.y.stride] = -1;
            a.o.kernel = RFM_GAUSSIAN, a.o.bandwidth = 1, a.o.iterations = 1;
            a.o.metric = metric, a.o.scale = scale_rule;
            m = test_mat(2, 2, 0, 0);
            if (m.at == NULL || model_fit(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
            CHECK_INT(RFM_OK, rfm_metric(&a.m, m));
            CHECK_BELOW(fabs(model_at(m, 0, 0) - (scale_rule == RFM_SCALE_MAX ? 1 : 2)), 8 * TEST_EPS);
            CHECK(model_at(m, 0, 1) == 0 && model_at(m, 1, 1) == 0);
        }
}

/* More directions than inputs. */
static void test_high_rank(void) {
    enum { RANK = 150 };
    static rfm_real big_p[RANK], big_centers[RANK];
    rfm_real z = (rfm_real)0.25, y = 0, one, scratch[1 + RANK];
    size_t i;

    make_model(&a.m, 0, 1);
    for (i = 0; i < RANK; i++) big_p[i] = (rfm_real)(test_number(3, i, 0) / 8), big_centers[i] = 0;
    a.m.metric = RFM_FULL, a.m.r = RANK, a.m.p = big_p, a.m.centers = big_centers;
    if (model_predict(&a, rfm_cview(&z, 1, 1), rfm_view(&y, 1, 1)) == TEST_SKIP) TEST_IGNORE();
    CHECK_INT(RFM_OK, rfm_predict_one(&a.m, &z, &one, scratch, NULL, NULL));
    CHECK_BELOW(fabs((double)(y - one)), 8 * TEST_EPS);
}

/* ---- matrices ------------------------------------------------------------------------------- */

static double orthogonality(rfm_mat v) {
    double worst = 0;
    size_t i, j, k;

    for (i = 0; i < v.rows; i++)
        for (j = 0; j <= i; j++) {
            double sum = i == j ? -1 : 0;

            for (k = 0; k < v.cols; k++) sum += model_at(v, i, k) * model_at(v, j, k);
            if (!(fabs(sum) <= worst)) worst = fabs(sum);
        }
    return worst;
}

/* Vectors of graded matrices are orthogonal, and the pairs give the matrix back. */
static void test_graded_eig(void) {
    size_t n, turn, done = 0;

    for (turn = 0; turn < 60; turn += TEST_FEW ? 3 : 1)
        for (n = 2; n <= 40; n += n < 6 ? 1 : 17) {
            const double range = (double)(turn % 20) * (RFM_REAL_BYTES == 4 ? 2 : 15);
            test_call call;
            size_t i, j, k;
            double most = 0;
            rfm_mat was;

            test_reset();
            test_note("graded", turn, n, 0);
            memset(&call, 0, sizeof call);
            call.what = TEST_EIG, call.k = n;
            call.a = test_mat(n, n, 0, 0), call.c = test_mat(n, n, 0, 0), was = test_mat(n, n, 0, 0);
            call.w = test_take(n * sizeof *call.w);
            if (call.w == NULL || was.at == NULL) continue;
            for (i = 0; i < n; i++)
                for (j = i; j < n; j++) { /* (X'X)_ij, features scaled from 1 to 10^-range, or the other way round */
                    double sum = 0, power = (double)(i + j) / (double)(n - 1);

                    for (k = 0; k < n + 3; k++) sum += test_number(9, k, i) * test_number(9, k, j);
                    was.at[i * n + j] = was.at[j * n + i] =
                        (rfm_real)(sum * pow(10, -range * (turn < 20   ? power
                                                           : turn < 40 ? 2 - power
                                                                       : (double)((i + j) % 2))));
                    most = fmax(most, fabs(model_at(was, i, j)));
                }
            memcpy(call.a.at, was.at, n * n * sizeof *was.at);
            {
                size_t need = 0;
                rfm_arena arena;
                rfm_ctx ctx = {0};
                void *mem;

                CHECK_INT(RFM_OK, rfm_eig_need(&ctx, n, n, &need));
                mem = test_take(need);
                if (mem == NULL) continue;
                CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
                ctx.arena = &arena;
                CHECK_INT(RFM_OK, rfm_eig(&ctx, call.a, n, call.w, call.c));
            }
            CHECK_BELOW(orthogonality(call.c), 20 * (double)n * TEST_EPS);
            for (i = 0; i < n; i++)
                for (j = i; j < n; j++) {
                    double sum = -model_at(was, i, j);

                    for (k = 0; k < n; k++) sum += (double)call.w[k] * model_at(call.c, k, i) * model_at(call.c, k, j);
                    CHECK_BELOW(fabs(sum), 20 * (double)n * TEST_EPS * most);
                }
            done++;
        }
    CHECK(done >= 60);
}

/* A block of tiny elements beside one of ordinary size. */
static void test_eig_tiny_block(void) {
    static const int block[3][3] = {{1, 1, 2}, {1, 5, 3}, {2, 3, 7}};
    rfm_real at[16], w[4], v[16];
    size_t i, j, need = 0;
    rfm_arena arena;
    rfm_ctx ctx = {0};
    int power;

    for (power = -5; power > LEAST; power -= 5) {
        void *mem;

        test_reset();
        test_note("tiny block", (size_t)-power, 0, 0);
        memset(at, 0, sizeof at);
        at[0] = 1;
        for (i = 0; i < 3; i++)
            for (j = 0; j < 3; j++) at[4 * (i + 1) + j + 1] = (rfm_real)ldexp(block[i][j], power);
        CHECK_INT(RFM_OK, rfm_eig_need(&ctx, 4, 4, &need));
        mem = test_take(need);
        CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
        ctx.arena = &arena;
        CHECK_INT(RFM_OK, rfm_eig(&ctx, rfm_view(at, 4, 4), 4, w, rfm_view(v, 4, 4)));
        CHECK_BELOW(orthogonality(rfm_view(v, 4, 4)), 40 * TEST_EPS);
        CHECK_BELOW(fabs((double)w[0] - 1), 4 * TEST_EPS);
    }
}

/* A matrix that no sum of squares is: its off-diagonal element overflows the factor. */
static void test_rank_overflow(void) {
    const rfm_real tiny = (rfm_real)1e-10, large = (rfm_real)LARGE;
    rfm_real at[9];
    size_t rank = 0, need = 0;
    uint32_t perm[3];
    rfm_arena arena;
    rfm_ctx ctx = {0};
    void *mem;

    memset(at, 0, sizeof at);
    at[0] = at[4] = at[8] = tiny;
    at[2] = large;
    CHECK_INT(RFM_OK, rfm_chol_rank_need(&ctx, 3, &need));
    mem = test_take(need);
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
    ctx.arena = &arena;
    CHECK_INT(RFM_ENOTPD, rfm_chol_rank(&ctx, rfm_view(at, 3, 3), 0, perm, &rank));
}

/* ---- insight -------------------------------------------------------------------------------- */

static void test_metric_overflow(void) {
    rfm_real big[2], m = 0;

    make_model(&a.m, 0, 1);
    big[0] = (rfm_real)SQUARED, big[1] = 0;
    a.m.p = big;
    CHECK_INT(RFM_ERANGE, rfm_metric(&a.m, rfm_view(&m, 1, 1)));
}

/* A matrix is like itself, whatever its scale; half of it too. */
static void test_similarity(void) {
    int power;

    for (power = LEAST; power <= MOST; power += STEP) {
        rfm_real cosine = 0, pearson = 0;
        rfm_mat x;

        test_reset();
        test_note("similarity", (size_t)(power - LEAST), 0, 0);
        x = test_mat(4, 3, 0, 0);
        model_fill(x, 5);
        scale(x, power - 1);
        CHECK_INT(RFM_OK, rfm_cosine(rfm_const(x), rfm_const(x), &cosine));
        CHECK_INT(RFM_OK, rfm_pearson(rfm_const(x), rfm_const(x), &pearson));
        CHECK_BELOW(fabs((double)cosine - 1), 8 * TEST_EPS);
        CHECK_BELOW(fabs((double)pearson - 1), 8 * TEST_EPS);
    }
}

/* The alignment does not know the scale of Y. */
static void test_alignment(void) {
    rfm_real first = 0, alignment = 0;
    size_t need = 0;
    rfm_arena arena;
    rfm_ctx ctx = {0};
    void *mem;
    int power;

    CHECK(model_make(&a, 5, 2, 1));
    if (model_fit(&a) == TEST_SKIP) TEST_IGNORE();
    CHECK_INT(RFM_OK, rfm_alignment_need(&ctx, &a.m, 5, &need));
    mem = test_take(need);
    if (mem == NULL) TEST_IGNORE();
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
    ctx.arena = &arena;
    CHECK_INT(RFM_OK, rfm_alignment(&ctx, &a.m, a.data.x, a.data.y, &first));
    CHECK(first > 0);
    for (power = NORMAL + 30; power <= MOST; power += STEP) {
        test_note("alignment", (size_t)(power - LEAST), 0, 0);
        scale(a.y, power - 1);
        CHECK_INT(RFM_OK, rfm_alignment(&ctx, &a.m, a.data.x, a.data.y, &alignment));
        scale(a.y, 1 - power);
        CHECK(alignment == first);
    }
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static void test_blob_layout(void) {
    size_t bytes[2], at[2], total = 0;

    bytes[0] = (size_t)UINT32_MAX - 80, bytes[1] = 100;
    CHECK_INT(RFM_EOVERFLOW, rfm_blob_layout(2, bytes, at, &total));
    bytes[1] = 1;
    CHECK_INT(RFM_EOVERFLOW, rfm_blob_layout(2, bytes, at, &total));
    bytes[0] = (size_t)UINT32_MAX - 128;
    CHECK_INT(RFM_OK, rfm_blob_layout(2, bytes, at, &total));
    CHECK(total % RFM_ALIGN == 0 && at[1] >= at[0] + bytes[0] && total >= at[1] + 1 && total <= UINT32_MAX);
    CHECK_INT(RFM_EOVERFLOW, rfm_blob_layout(UINT32_MAX / 8, bytes, at, &total));
}

/* An arena that only measures is no memory to work in. */
static void test_no_memory(void) {
    rfm_arena measure, real;
    rfm_ctx ctx = {0};
    rfm_real y = 0, x = 1;
    size_t rank;
    uint32_t perm;
    rfm_model m;
    void *mem;

    CHECK(model_make(&a, 4, 2, 1));
    mem = test_take(64);
    CHECK_INT(RFM_OK, rfm_arena_init(&real, mem, 64));
    rfm_arena_measure(&measure);
    ctx.arena = &measure;
    CHECK_INT(RFM_EARENA, rfm_fit(&ctx, &a.data, &a.o, &real, &m, NULL));
    CHECK_INT(RFM_EARENA, rfm_fit(&ctx, &a.data, &a.o, &measure, &m, NULL));
    ctx.arena = &real;
    CHECK_INT(RFM_EARENA, rfm_fit(&ctx, &a.data, &a.o, &measure, &m, NULL));
    ctx.arena = &measure;
    make_model(&m, 0, 1);
    CHECK_INT(RFM_EARENA, rfm_predict(&ctx, &m, rfm_cview(&x, 1, 1), rfm_view(&y, 1, 1)));
    CHECK_INT(RFM_EARENA, rfm_gradients(&ctx, &m, rfm_cview(&x, 1, 1), rfm_view(&y, 1, 1)));
    CHECK_INT(RFM_EARENA, rfm_alignment(&ctx, &m, rfm_cview(&x, 1, 1), rfm_cview(&x, 1, 1), &y));
    CHECK_INT(RFM_EARENA, rfm_gemm(&ctx, RFM_NN, 1, rfm_cview(&x, 1, 1), rfm_cview(&x, 1, 1), 0, rfm_view(&y, 1, 1)));
    CHECK_INT(RFM_EARENA, rfm_syrk(&ctx, RFM_NT, 1, rfm_cview(&x, 1, 1), 0, rfm_view(&y, 1, 1)));
    CHECK_INT(RFM_EARENA, rfm_chol(&ctx, rfm_view(&y, 1, 1), NULL));
    CHECK_INT(RFM_EARENA, rfm_trsm(&ctx, RFM_NN, rfm_cview(&x, 1, 1), rfm_view(&y, 1, 1)));
    CHECK_INT(RFM_EARENA, rfm_chol_solve(&ctx, rfm_cview(&x, 1, 1), rfm_view(&y, 1, 1)));
    CHECK_INT(RFM_EARENA, rfm_chol_rank(&ctx, rfm_view(&y, 1, 1), 0, &perm, &rank));
    CHECK_INT(RFM_EARENA, rfm_eig(&ctx, rfm_view(&y, 1, 1), 1, &x, rfm_view(&y, 1, 1)));
    CHECK(x == 1 && y == 0 && measure.used == 0 && real.used == 0);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_wide);
    RUN_TEST(test_wide_start);
    RUN_TEST(test_points_unused);
    RUN_TEST(test_points_of_weight);
    RUN_TEST(test_centred_order);
    RUN_TEST(test_targets);
    RUN_TEST(test_features);
    RUN_TEST(test_tiny_rows);
    RUN_TEST(test_too_large);
    RUN_TEST(test_large_metric);
    RUN_TEST(test_small_scores);
    RUN_TEST(test_ridge_below_rounding);
    RUN_TEST(test_ridge_of_weights);
    RUN_TEST(test_start_range);
    RUN_TEST(test_near_gradients);
    RUN_TEST(test_gradients_of_large_p);
    RUN_TEST(test_far);
    RUN_TEST(test_lost_squares);
    RUN_TEST(test_high_rank);
    RUN_TEST(test_graded_eig);
    RUN_TEST(test_eig_tiny_block);
    RUN_TEST(test_rank_overflow);
    RUN_TEST(test_metric_overflow);
    RUN_TEST(test_similarity);
    RUN_TEST(test_alignment);
    RUN_TEST(test_blob_layout);
    RUN_TEST(test_no_memory);
    return UNITY_END();
}
