/* rfm_fit: what the model is, on exactly which memory, with any port and any workers; what is refused. */
#include "models.h"

#ifndef BOARD_BARE
#include "pool.h"
#endif

void setUp(void) { test_reset(); }
void tearDown(void) {}

static model_case a, b; /* not on a microcontroller's stack */

static const int kernels[] = {RFM_LAPLACE, RFM_GAUSSIAN, RFM_GENERAL};
static const double exponents[] = {1, 1, 1.3};

/* Options that differ in everything: `turn` counts through them. */
static void vary(model_case *p, size_t turn) {
    p->o.kernel = kernels[turn % 3];
    p->o.exponent = (rfm_real)exponents[turn % 3];
    p->o.metric = turn / 3 % 2 ? RFM_DIAGONAL : RFM_FULL;
    p->o.center = (int)(turn / 2 % 2);
    p->o.scale = (int)(turn % 3);
    if (turn == 7 || turn == 11) p->o.kernel = RFM_L1, p->o.exponent = (rfm_real)0.8; /* full M, diagonal M */
}

/* (n) weights 1/2, 1, 3/2, ...; 0: no room. */
static int weigh(model_case *p) {
    rfm_real *w = test_take(p->x.rows * sizeof *w);
    size_t i;

    if (w == NULL) return 0;
    for (i = 0; i < p->x.rows; i++) w[i] = (rfm_real)((double)(1 + i % 4) / 2);
    p->data.weights = w;
    return 1;
}

/* M of a model that was just fitted, in a new matrix in front of nothing else that is kept. */
static void metric_of(const model_case *p, rfm_mat m) { CHECK_INT(RFM_OK, rfm_metric(&p->m, m)); }

/* ---- the mathematics ------------------------------------------------------------------------ */

/* K alpha + ridge alpha / w = y, in double, with K of the model's own metric. */
static void test_equations(void) {
    model_shape s;
    size_t index, turn, i, j, k, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (turn = 0; turn < 12; turn++) {
            double worst = 0, most = 0;

            test_reset();
            test_note("equations", s.n, turn, 0);
            if (!model_make(&a, s.n, s.d, s.c)) continue;
            vary(&a, turn);
            a.o.iterations = turn % 4 == 3 ? 0 : 1 + turn % 2;
            if (turn % 2 && !weigh(&a)) continue;
            if (model_fit(&a) == TEST_SKIP) continue;
            for (i = 0; i < s.n; i++)
                for (k = 0; k < s.c; k++) {
                    double w = a.data.weights != NULL ? (double)a.data.weights[i] : 1;
                    double rest = (double)a.o.ridge / w * (double)a.m.alpha[i * s.c + k] - model_at(a.y, i, k);

                    for (j = 0; j < s.n; j++)
                        rest += (double)a.m.alpha[j * s.c + k] *
                                model_phi(&a.m, model_distance(&a.m, a.x.at + i * a.x.stride, a.x.at + j * a.x.stride));
                    if (!(fabs(rest) <= worst)) worst = fabs(rest);
                    most = fmax(most, fabs((double)a.m.alpha[i * s.c + k]));
                }
            CHECK_BELOW(worst, 20 * TEST_EPS * (double)(s.n + 10) * fmax(most, 1));
            for (i = 0; i <= a.o.iterations; i++) {
                CHECK(a.path[i].ridge == a.o.ridge && a.path[i].bandwidth == a.o.bandwidth && a.path[i].score == 0);
                CHECK(a.path[i].rank > 0 && a.path[i].rank <= s.d);
            }
            CHECK_SIZE(s.d, a.path[0].rank);
            CHECK_SIZE(a.o.iterations, a.report.best);
            done++;
        }
    CHECK(done >= 12);
}

/* Adds the weighted outer products of the rows of g (m, c d), centred if asked to, as a mean. */
static void outer_products(const model_case *p, rfm_mat g, rfm_mat m) {
    size_t d = m.rows, c = g.cols / d, i, j, k, row;
    double total = 0;

    for (row = 0; row < g.rows; row++) total += p->data.weights != NULL ? (double)p->data.weights[row] : 1;
    for (i = 0; i < d; i++)
        for (j = 0; j < d; j++) {
            double sum = 0;

            for (k = 0; k < c; k++) {
                double mean_i = 0, mean_j = 0, part = 0;

                for (row = 0; row < g.rows; row++) {
                    double w = (p->data.weights != NULL ? (double)p->data.weights[row] : 1) / total;

                    mean_i += w * model_at(g, row, k * d + i);
                    mean_j += w * model_at(g, row, k * d + j);
                    part += w * model_at(g, row, k * d + i) * model_at(g, row, k * d + j);
                }
                sum += part - (p->o.center ? mean_i * mean_j : 0);
            }
            if (p->o.metric == RFM_DIAGONAL && i != j) sum = 0;
            m.at[i * m.stride + j] = (rfm_real)sum;
        }
}

/* M of the model with T + 1 updates is the mean outer product of the gradients of the model with T. */
static void test_updates(void) {
    model_shape s;
    size_t index, turn, t, i, mark, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (turn = 0; turn < 12; turn++)
            for (t = 0; t < 3; t++) {
                rfm_mat g, mean, m;
                double factor = 1, most = 0, trace = 0;

                test_reset();
                test_note("updates", s.n, turn, t);
                if (!model_make(&a, s.n, s.d, s.c)) continue;
                vary(&a, turn);
                a.o.iterations = t;
                if (turn % 4 > 1 && !weigh(&a)) continue;
                mean = test_mat(s.d, s.d, 0, 0);
                m = test_mat(s.d, s.d, 0, 0);
                mark = test_mark();
                if (m.at == NULL || model_fit(&a) == TEST_SKIP) continue;
                g = test_mat(s.n, s.c * s.d, 0, 0);
                if (g.at == NULL || model_gradients(&a, a.data.x, g) == TEST_SKIP) continue;
                outer_products(&a, g, mean);
                test_rewind(mark);
                a.o.iterations++;
                if (model_fit(&a) == TEST_SKIP) continue;
                CHECK(a.m.metric == a.o.metric);
                metric_of(&a, m);
                for (i = 0; i < s.d; i++) {
                    most = fmax(most, model_at(mean, i, i));
                    trace += model_at(mean, i, i);
                }
                if (a.o.scale == RFM_SCALE_MAX) factor = 1 / most;
                if (a.o.scale == RFM_SCALE_TRACE) factor = (double)s.d / trace;
                for (i = 0; i < s.d * s.d; i++) mean.at[i] = (rfm_real)((double)mean.at[i] * factor);
                CHECK_CLOSE(mean, m, 100 * (double)(s.n + 10));
                done++;
            }
    CHECK(done >= 12);
}

/* Largest entry 1, trace d, after any number of updates. */
static void test_scale(void) {
    model_shape s;
    size_t index, turn, i, j, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (turn = 0; turn < 8; turn++) {
            rfm_mat m;
            double most = 0, trace = 0;

            test_reset();
            test_note("scale", s.n, turn, 0);
            if (!model_make(&a, s.n, s.d, s.c)) continue;
            m = test_mat(s.d, s.d, 1, 0);
            if (m.at == NULL) continue;
            a.o.metric = turn % 2 ? RFM_DIAGONAL : RFM_FULL;
            a.o.scale = turn / 2 % 2 ? RFM_SCALE_MAX : RFM_SCALE_TRACE;
            a.o.iterations = 1 + turn / 4 * 2;
            if (model_fit(&a) == TEST_SKIP) continue;
            metric_of(&a, m);
            for (i = 0; i < s.d; i++) {
                trace += model_at(m, i, i);
                for (j = 0; j < s.d; j++) most = fmax(most, fabs(model_at(m, i, j)));
            }
            if (a.o.scale == RFM_SCALE_MAX)
                CHECK_BELOW(fabs(most - 1), 20 * TEST_EPS);
            else
                CHECK_BELOW(fabs(trace - (double)s.d), 50 * TEST_EPS * (double)s.d);
            done++;
        }
    CHECK(done >= 8);
}

/* ---- invariances ---------------------------------------------------------------------------- */

/* Predictions at Z and M, kept while the next model is fitted in the same place. */
typedef struct {
    rfm_mat z, y, m;
} seen;

#define SEEN_ROWS 3

static int make_seen(seen *s, const model_case *p) {
    s->z = test_mat(SEEN_ROWS, p->x.cols, 0, 0);
    s->y = test_mat(SEEN_ROWS, p->y.cols, 0, 0);
    s->m = test_mat(p->x.cols, p->x.cols, 0, 0);
    if (s->m.at == NULL) return 0;
    model_fill(s->z, 77);
    return 1;
}

/* Fits p, predicts; the model is forgotten. 0: no room. */
static int see(model_case *p, seen *s) {
    const size_t mark = test_mark();
    int status = model_fit(p);

    if (status == RFM_OK) status = model_predict(p, rfm_const(s->z), s->y);
    if (status == RFM_OK) status = rfm_metric(&p->m, s->m);
    test_rewind(mark);
    if (status != TEST_SKIP) CHECK_INT(RFM_OK, status);
    return status == RFM_OK;
}

/* Rows become H x, H = I - 2 u u' / u'u with u = (1, 2, 3, ...). */
static void reflect(rfm_mat x) {
    size_t i, j;

    for (i = 0; i < x.rows; i++) {
        double sum = 0, uu = 0;

        for (j = 0; j < x.cols; j++) {
            sum += (double)(j + 1) * model_at(x, i, j);
            uu += (double)((j + 1) * (j + 1));
        }
        for (j = 0; j < x.cols; j++)
            x.at[i * x.stride + j] = (rfm_real)(model_at(x, i, j) - 2 * sum / uu * (double)(j + 1));
    }
}

static void transpose(rfm_mat m) {
    size_t i, j;

    for (i = 0; i < m.rows; i++)
        for (j = 0; j < i; j++) {
            rfm_real t = m.at[i * m.stride + j];

            m.at[i * m.stride + j] = m.at[j * m.stride + i];
            m.at[j * m.stride + i] = t;
        }
}

static void scale_by(rfm_mat m, double factor) {
    size_t i, j;

    for (i = 0; i < m.rows; i++)
        for (j = 0; j < m.cols; j++) m.at[i * m.stride + j] = (rfm_real)(model_at(m, i, j) * factor);
}

static void swap_columns(rfm_mat m, size_t p, size_t q) {
    size_t i;

    for (i = 0; i < m.rows; i++) {
        rfm_real t = m.at[i * m.stride + p];

        m.at[i * m.stride + p] = m.at[i * m.stride + q];
        m.at[i * m.stride + q] = t;
    }
}

static void reverse_rows(rfm_mat m) {
    size_t i, j;

    for (i = 0; i < m.rows / 2; i++)
        for (j = 0; j < m.cols; j++) {
            rfm_real t = m.at[i * m.stride + j];

            m.at[i * m.stride + j] = m.at[(m.rows - 1 - i) * m.stride + j];
            m.at[(m.rows - 1 - i) * m.stride + j] = t;
        }
}

enum { ROTATE, PERMUTE, SCALE_T0, SCALE_MAX, SCALE_TRACE, SCALE_NONE, SHIFT, RELABEL, FLIP, INVARIANCES };

/* What is done to the data, and what that does to the predictions and to M: undone in `two`. */
static int check_invariance(model_shape s, int what, size_t turn) {
    seen one, two;
    size_t i;

    test_reset();
    test_note("invariance", s.n, (size_t)what, turn);
    if (!model_make(&a, s.n, s.d, s.c) || !make_seen(&one, &a) || !make_seen(&two, &a)) return 0;
    vary(&a, turn);
    a.o.iterations = 2;
    if (what == ROTATE)
        a.o.metric = RFM_FULL,
        a.o.scale = turn % 2 ? RFM_SCALE_TRACE : RFM_SCALE_NONE; /* the largest entry turns too */
    if (what == SCALE_T0) a.o.iterations = 0;
    if (what >= SCALE_MAX && what <= SCALE_NONE) {
        a.o.scale = what == SCALE_MAX ? RFM_SCALE_MAX : what == SCALE_TRACE ? RFM_SCALE_TRACE : RFM_SCALE_NONE;
        if (what == SCALE_NONE) a.o.iterations = 1;
    }
    if (!see(&a, &one)) return 0;
    switch (what) {
    case ROTATE:
        reflect(a.x);
        reflect(two.z);
        break;
    case PERMUTE:
        reverse_rows(a.x);
        reverse_rows(a.y);
        break;
    case SHIFT:
        for (i = 0; i < s.n; i++) a.x.at[i * a.x.stride] += 10000, a.x.at[i * a.x.stride + s.d - 1] -= 10000;
        for (i = 0; i < SEEN_ROWS; i++)
            two.z.at[i * two.z.stride] += 10000, two.z.at[i * two.z.stride + s.d - 1] -= 10000;
        break;
    case RELABEL: swap_columns(a.y, 0, s.c - 1); break;
    case FLIP: scale_by(a.y, -1); break;
    default:
        scale_by(a.x, 5);
        scale_by(two.z, 5);
        a.o.bandwidth *= 5;
    }
    CHECK(see(&a, &two));
    switch (what) {
    case ROTATE:
        reflect(two.m);
        transpose(two.m);
        reflect(two.m);
        break;
    case RELABEL: swap_columns(two.y, 0, s.c - 1); break;
    case FLIP: scale_by(two.y, -1); break;
    case SCALE_NONE: /* gradients are five times smaller; the next kernel is then another one */
        scale_by(two.m, 25);
        CHECK_CLOSE(one.m, two.m, 200 * (double)(s.n + 10));
        return 1;
    default: break;
    }
    CHECK_CLOSE(one.y, two.y, 200 * (double)(s.n + 10));
    CHECK_CLOSE(one.m, two.m, 200 * (double)(s.n + 10));
    return 1;
}

static void test_invariances(void) {
    model_shape s;
    size_t index, turn;
    int what;

    for (what = 0; what < INVARIANCES; what++) {
        size_t done = 0;

        for (index = 0; model_size(index, &s); index++)
            for (turn = 0; turn < 6; turn++) done += (size_t)check_invariance(s, what, turn);
        CHECK(done >= 6);
    }
}

/* A row of weight 2 is two rows; a row of weight 0 is none. */
static void test_weights(void) {
    model_shape s;
    size_t index, turn, i, j, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (turn = 0; turn < 12; turn++) {
            const size_t n = turn % 2 ? s.n / 2 : s.n - 1; /* rows of the smaller data set */
            seen one, two;
            rfm_real *w;

            test_reset();
            test_note("weights", s.n, turn, 0);
            if (!model_make(&a, s.n, s.d, s.c) || !make_seen(&one, &a) || !make_seen(&two, &a)) continue;
            w = test_take(s.n * sizeof *w);
            if (w == NULL) continue;
            vary(&a, turn / 2);
            a.o.iterations = 2;
            b = a;
            a.x.rows = a.y.rows = a.data.x.rows = a.data.y.rows = n;
            if (turn % 2) { /* the first half is there twice */
                b.x.rows = b.y.rows = b.data.x.rows = b.data.y.rows = 2 * n;
                for (i = 0; i < n; i++) {
                    for (j = 0; j < s.d; j++) b.x.at[(n + i) * b.x.stride + j] = b.x.at[i * b.x.stride + j];
                    for (j = 0; j < s.c; j++) b.y.at[(n + i) * b.y.stride + j] = b.y.at[i * b.y.stride + j];
                    w[i] = 2;
                }
                a.data.weights = w;
            } else { /* the last row does not count */
                for (i = 0; i < s.n; i++) w[i] = i < n ? 1 : 0;
                b.data.weights = w;
            }
            if (!see(&b, &two)) continue;
            CHECK(see(&a, &one));
            CHECK_CLOSE(one.y, two.y, 500 * (double)(s.n + 10));
            CHECK_CLOSE(one.m, two.m, 500 * (double)(s.n + 10));
            done++;
        }
    CHECK(done >= 6);
}

/* T = 2 is T = 1, and T = 1 again from there. */
static void test_start(void) {
    model_shape s;
    size_t index, turn, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (turn = 0; turn < 12; turn++) {
            seen one, two;
            rfm_mat start;

            test_reset();
            test_note("start", s.n, turn, 0);
            if (!model_make(&a, s.n, s.d, s.c) || !make_seen(&one, &a) || !make_seen(&two, &a)) continue;
            vary(&a, turn);
            a.o.iterations = 2;
            start = test_mat(a.o.metric == RFM_FULL ? s.d : 1, s.d, 1, 0);
            if (start.at == NULL || !see(&a, &one)) continue;
            a.o.iterations = 1;
            b = a;
            {
                const size_t mark = test_mark();

                CHECK_INT(RFM_OK, model_fit(&b));
                CHECK_INT(RFM_OK, rfm_metric(&b.m, start));
                test_rewind(mark);
            }
            a.data.start = rfm_const(start);
            CHECK(see(&a, &two));
            /* What chol_rank drops from M is up to d eps of it. */
            CHECK_CLOSE(one.y, two.y, 2000 * (double)(s.n + 10));
            CHECK_CLOSE(one.m, two.m, 2000 * (double)(s.n + 10));
            a.o.iterations = 0;
            CHECK(see(&a, &two));
            CHECK_CLOSE(start.rows > 1 ? start : two.m, two.m, 50 * (double)s.d);
            done++;
        }
    CHECK(done >= 6);
}

/* Starts that have no square root, or the wrong shape. */
static void check_bad_start(int kernel) {
    static const double bad[][4] = {{1, 2, 2, 1}, {-1, 0, 0, 1}, {0, 1, 1, 0}, {1, 0, 0, -1}, {-1, 0, 0, -1}};
    rfm_real m[4];
    size_t i, j;

    test_reset();
    CHECK(model_make(&a, 4, 2, 1));
    a.o.kernel = kernel;
    a.data.start = rfm_cview(m, 2, 2);
    for (i = 0; i < TEST_LENGTH(bad); i++) {
        test_note("bad start", i, (size_t)kernel, 0);
        for (j = 0; j < 4; j++) m[j] = (rfm_real)bad[i][j];
        CHECK_INT(RFM_ENOTPD, model_fit(&a));
    }
    for (i = 0; i < 50; i++) { /* rank one, but for rounding */
        const double v = test_number(80, i, 0), w = test_number(80, i, 1);

        test_note("rank one", i, (size_t)kernel, 0);
        m[0] = (rfm_real)(v * v);
        m[1] = m[2] = (rfm_real)(v * w);
        m[3] = (rfm_real)(w * w);
        CHECK_INT(RFM_OK, model_fit(&a));
        test_reset();
        CHECK(model_make(&a, 4, 2, 1));
        a.o.kernel = kernel;
        a.data.start = rfm_cview(m, 2, 2);
    }
    for (j = 0; j < 4; j++) m[j] = 0; /* a zero matrix is semi-definite */
    CHECK_INT(RFM_OK, model_fit(&a));
    CHECK_SIZE(0, a.path[0].rank);
    m[0] = m[3] = 1;
    m[1] = 7; /* the upper triangle counts, so this is not positive */
    CHECK_INT(RFM_ENOTPD, model_fit(&a));
    a.o.metric = RFM_DIAGONAL;
    CHECK_INT(RFM_ESHAPE, rfm_fit_need(&a.ctx, &a.data, &a.o, &i, &j));
    a.data.start = rfm_cview(m, 1, 2);
    CHECK_INT(RFM_OK, model_fit(&a));
    m[1] = (rfm_real)-0.5;
    CHECK_INT(RFM_ENOTPD, model_fit(&a));
    m[1] = 1;
    a.data.start.cols = 1;
    CHECK_INT(RFM_ESHAPE, rfm_fit_need(&a.ctx, &a.data, &a.o, &i, &j));
    a.o.metric = RFM_FULL;
    a.data.start = rfm_cview(m, 1, 2);
    CHECK_INT(RFM_ESHAPE, rfm_fit_need(&a.ctx, &a.data, &a.o, &i, &j));
    a.o.metric = RFM_IDENTITY;
    CHECK_INT(RFM_ESHAPE, rfm_fit_need(&a.ctx, &a.data, &a.o, &i, &j));
}

static void test_bad_start(void) {
    check_bad_start(RFM_LAPLACE);
    check_bad_start(RFM_L1);
}

/* The full metric of l1: P is symmetric and its own root of M, of any rank. Input 1 is constant: its row and column of
 * P are 0 exactly. */
static void test_root(void) {
    static const model_shape shapes[] = {{12, 3, 1}, {6, 5, 1}, {4, 7, 2}, {40, 34, 1}, {3, 2, 3}};
    size_t shape, i, j, q, done = 0;

    for (shape = 0; shape < TEST_LENGTH(shapes); shape++) {
        const model_shape s = shapes[shape];
        rfm_mat m;
        double most;

        test_reset();
        test_note("root", s.n, s.d, s.c);
        if (!model_make(&a, s.n, s.d, s.c)) continue;
        m = test_mat(s.d, s.d, 0, 0);
        if (m.at == NULL) continue;
        for (i = 0; i < s.n; i++) a.x.at[i * a.x.stride + 1] = (rfm_real)0.375;
        a.o.kernel = RFM_L1, a.o.metric = RFM_FULL, a.o.iterations = 3;
        if (model_fit(&a) == TEST_SKIP) continue;
        CHECK_SIZE(s.d, a.m.r);
        CHECK(a.path[3].rank < s.d && a.path[3].rank >= 1);
        CHECK_INT(RFM_OK, rfm_metric(&a.m, m));
        most = model_most(m);
        for (i = 0; i < s.d; i++) {
            CHECK(a.m.p[i * s.d + 1] == 0 && a.m.p[s.d + i] == 0);
            for (j = 0; j < s.d; j++) {
                double sum = 0;

                CHECK(a.m.p[i * s.d + j] == a.m.p[j * s.d + i]);
                for (q = 0; q < s.d; q++) sum += (double)a.m.p[i * s.d + q] * (double)a.m.p[q * s.d + j];
                CHECK_BELOW(fabs(sum - model_at(m, i, j)), 10 * (double)s.d * TEST_EPS * most);
            }
        }
        done++;
    }
    CHECK(done >= (TEST_RAM < 4096 ? 1u : 3u));
}

/* ---- the ridge ------------------------------------------------------------------------------ */

/* Rows i and i + n/2 are the same. */
static void duplicate(model_case *p, int contradict) {
    size_t i, j, half = p->x.rows / 2;

    for (i = 0; i < half; i++) {
        for (j = 0; j < p->x.cols; j++) p->x.at[(half + i) * p->x.stride + j] = p->x.at[i * p->x.stride + j];
        for (j = 0; j < p->y.cols; j++)
            p->y.at[(half + i) * p->y.stride + j] = (rfm_real)(model_at(p->y, i, j) * (contradict ? -0.5 : 1));
    }
}

static int finite_model(const rfm_model *m) {
    size_t i;

    for (i = 0; i < m->n * m->c; i++)
        if (!(fabs((double)m->alpha[i]) < (double)INFINITY)) return 0;
    for (i = 0; i < m->n * m->r; i++)
        if (!(fabs((double)m->centers[i]) < (double)INFINITY)) return 0;
    for (i = 0; m->metric != RFM_IDENTITY && i < (m->metric == RFM_FULL ? m->r * m->d : m->d); i++)
        if (!(fabs((double)m->p[i]) < (double)INFINITY)) return 0;
    return 1;
}

/* A ridge that rounding swallows grows, as little as possible, and the report says so. */
static void test_tiny_ridge(void) {
    model_shape s;
    size_t index, turn, t, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (turn = 0; turn < 6; turn++) {
            test_reset();
            test_note("tiny ridge", s.n, turn, 0);
            if (!model_make(&a, s.n, s.d, s.c)) continue;
            duplicate(&a, 0);
            vary(&a, turn);
            a.o.iterations = 2;
            a.o.ridge = (rfm_real)(TEST_EPS * 1e-6);
            if (turn > 2 && !weigh(&a)) continue;
            if (turn == 5) /* far from 1 */
                for (t = 0; t < s.n; t++) ((rfm_real *)(uintptr_t)a.data.weights)[t] *= (rfm_real)1e9;
            t = (size_t)-model_fit(&a);
            if (t == (size_t)-TEST_SKIP) continue;
            CHECK_SIZE(0, t);
            for (t = 0; t < 3; t++) {
                CHECK(turn < 3 ? a.path[t].ridge > a.o.ridge
                               : a.path[t].ridge >= a.o.ridge); /* with weights rounding may help */
                if (turn < 5) CHECK(a.path[t].ridge < (rfm_real)((double)s.n * TEST_EPS * 1e4));
            }
            CHECK(finite_model(&a.m));
            done++;
        }
    CHECK(done >= 3);
}

/* Without a ridge: the pseudo-inverse, here from eigenpairs. */
static void test_no_ridge(void) {
    model_shape s;
    size_t index, turn, i, j, k, q, need = 0, done = 0;

    for (index = 0; model_size(index, &s) && s.n < 40; index++)
        for (turn = 0; turn < 9; turn++) {
            rfm_mat alpha, expect, gram, v;
            rfm_real *w;
            rfm_arena arena;
            rfm_ctx ctx;
            void *mem;
            int status;

            test_reset();
            test_note("no ridge", s.n, turn, 0);
            if (!model_make(&a, s.n, s.d, s.c)) continue;
            if (turn > 2) duplicate(&a, turn > 5);
            a.o.kernel = turn % 3 == 1 ? RFM_GENERAL : RFM_LAPLACE;
            a.o.exponent = (rfm_real)0.7;
            a.o.bandwidth = 1;
            a.o.ridge = 0;
            a.o.iterations = turn % 3 == 2 && turn < 6;
            a.o.scale = RFM_SCALE_TRACE;
            a.o.metric = RFM_DIAGONAL;
            alpha = test_mat(s.n, s.c, 0, 0);
            expect = test_mat(s.n, s.c, 0, 0);
            if (expect.at == NULL) continue;
            status = model_fit(&a);
            if (status == TEST_SKIP) continue;
            CHECK_INT(RFM_OK, status);
            CHECK(a.path[0].ridge == 0 && finite_model(&a.m));
            gram = test_mat(s.n, s.n, 0, 0);
            v = test_mat(s.n, s.n, 0, 0);
            w = test_take(s.n * sizeof *w);
            memset(&ctx, 0, sizeof ctx);
            CHECK_INT(RFM_OK, rfm_eig_need(&ctx, s.n, s.n, &need));
            mem = test_take(need);
            if (gram.at == NULL || v.at == NULL || w == NULL || mem == NULL) continue;
            CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, need));
            ctx.arena = &arena;
            memcpy(alpha.at, a.m.alpha, s.n * s.c * sizeof *w);
            for (i = 0; i < s.n; i++)
                for (j = 0; j < s.n; j++)
                    gram.at[i * s.n + j] = (rfm_real)model_phi(
                        &a.m, model_distance(&a.m, a.x.at + i * a.x.stride, a.x.at + j * a.x.stride));
            CHECK_INT(RFM_OK, rfm_eig(&ctx, gram, s.n, w, v));
            for (i = 0; i < s.n; i++)
                for (k = 0; k < s.c; k++) {
                    double sum = 0;

                    for (q = 0; q < s.n && w[q] > w[0] * (rfm_real)1e-5; q++) {
                        double part = 0;

                        for (j = 0; j < s.n; j++) part += model_at(v, q, j) * model_at(a.y, j, k);
                        sum += part * model_at(v, q, i) / (double)w[q];
                    }
                    expect.at[i * s.c + k] = (rfm_real)sum;
                }
            CHECK_CLOSE(expect, alpha, 2000 * (double)(s.n + 10));
            done++;
        }
    CHECK(done >= 6);
}

/* ---- gradients at some rows only ------------------------------------------------------------ */

static void test_points(void) {
    model_shape s;
    size_t index, metric, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (metric = 0; metric < 2; metric++) {
            seen one, two;
            size_t differ = 0;
            uint32_t seed;

            test_reset();
            test_note("points", s.n, metric, 0);
            if (!model_make(&a, s.n, s.d, s.c) || !make_seen(&one, &a) || !make_seen(&two, &a)) continue;
            a.o.metric = metric ? RFM_FULL : RFM_DIAGONAL;
            if (metric && !weigh(&a)) continue;
            if (!see(&a, &one)) continue;
            a.o.agop_points = s.n;
            a.o.seed = 5;
            CHECK(see(&a, &two));
            CHECK(model_apart(one.y, two.y) == 0 && model_apart(one.m, two.m) == 0);
            a.o.agop_points = s.n / 2;
            a.o.seed = 0;
            if (!see(&a, &one)) continue;
            CHECK(see(&a, &two));
            CHECK(model_apart(one.y, two.y) == 0 && model_apart(one.m, two.m) == 0);
            for (seed = 1; seed < 9; seed++) {
                a.o.seed = seed * (seed < 5 ? 1u : 0x10000000u);
                CHECK(see(&a, &two));
                differ += model_apart(one.m, two.m) > 0;
            }
            CHECK(differ >= 5);
            a.o.agop_points = s.n + 1;
            {
                size_t x = 7, y = 7;

                CHECK_INT(RFM_EVALUE, rfm_fit_need(&a.ctx, &a.data, &a.o, &x, &y));
                CHECK(x == 7 && y == 7);
            }
            done++;
        }
    CHECK(done >= 2);
}

/* With one point drawn, M is the outer product at one of the rows; every row is drawn by some seed. */
static void test_each_point(void) {
    rfm_mat g, m;
    size_t row, mark, hits[4] = {0, 0, 0, 0};
    uint32_t seed;

    CHECK(model_make(&a, 4, 2, 1));
    g = test_mat(4, 2, 0, 0);
    m = test_mat(2, 2, 0, 0);
    mark = test_mark();
    a.o.iterations = 0;
    CHECK_INT(RFM_OK, model_fit(&a));
    CHECK_INT(RFM_OK, model_gradients(&a, a.data.x, g));
    a.o.iterations = 1;
    a.o.agop_points = 1;
    for (seed = 0; seed < 60; seed++) {
        size_t found = 0;

        test_rewind(mark);
        test_note("each point", seed, 0, 0);
        a.o.seed = seed;
        CHECK_INT(RFM_OK, model_fit(&a));
        metric_of(&a, m);
        for (row = 0; row < 4; row++) {
            double x = model_at(g, row, 0), y = model_at(g, row, 1), near = 500 * TEST_EPS * (x * x + y * y);

            if (fabs(model_at(m, 0, 0) - x * x) > near || fabs(model_at(m, 0, 1) - x * y) > near ||
                fabs(model_at(m, 1, 1) - y * y) > near)
                continue;
            hits[row]++;
            found++;
        }
        CHECK_SIZE(1, found);
    }
    for (row = 0; row < 4; row++) CHECK(hits[row] > 4);
}

/* ---- bandwidth ------------------------------------------------------------------------------ */

/* The median distance of all pairs (of equal halves the upper one), by counting. */
static double median(const model_case *p, const rfm_model *m) {
    const size_t n = p->x.rows, pairs = n * (n - 1) / 2;
    size_t i, j, q, r;

    for (i = 0; i < n; i++)
        for (j = 0; j < i; j++) {
            double s = model_distance(m, p->x.at + i * p->x.stride, p->x.at + j * p->x.stride);
            size_t below = 0, equal = 0;

            for (q = 0; q < n; q++)
                for (r = 0; r < q; r++) {
                    double t = model_distance(m, p->x.at + q * p->x.stride, p->x.at + r * p->x.stride);

                    below += t < s * (1 - 10 * TEST_EPS);
                    equal += fabs(t - s) <= s * 10 * TEST_EPS;
                }
            if (below <= pairs / 2 && pairs / 2 < below + equal) return s;
        }
    return -1;
}

static void test_bandwidth(void) {
    model_shape s;
    size_t index, turn, done = 0;

    for (index = 0; model_size(index, &s) && s.n < 20; index++)
        for (turn = 0; turn < 6; turn++) {
            double expect;

            test_reset();
            test_note("bandwidth", s.n, turn, 0);
            if (!model_make(&a, s.n, s.d, s.c)) continue;
            model_fill(a.x, (uint32_t)(60 + turn));
            a.o.bandwidth_rule = RFM_BANDWIDTH_MEDIAN;
            a.o.bandwidth = (rfm_real)0.75;
            a.o.iterations = turn % 3;
            a.o.metric = turn < 3 ? RFM_FULL : RFM_DIAGONAL;
            if (model_fit(&a) == TEST_SKIP) continue;
            expect = 0.75 * median(&a, &a.m);
            CHECK_BELOW(fabs((double)a.m.bandwidth - expect), 100 * TEST_EPS * expect);
            CHECK(a.path[a.o.iterations].bandwidth == a.m.bandwidth);
            done++;
        }
    CHECK(done >= 6);
}

/* All rows are equal: no distance, so L itself. And one row has no pairs. */
static void test_no_distance(void) {
    size_t i;

    CHECK(model_make(&a, 4, 2, 1));
    for (i = 0; i < 4; i++) a.x.at[i * a.x.stride] = 3, a.x.at[i * a.x.stride + 1] = -1;
    a.o.bandwidth_rule = RFM_BANDWIDTH_MEDIAN;
    a.o.bandwidth = (rfm_real)0.75;
    CHECK_INT(RFM_OK, model_fit(&a));
    CHECK(a.m.bandwidth == a.o.bandwidth && finite_model(&a.m));
    CHECK_SIZE(0, a.path[1].rank);
    test_reset();
    CHECK(model_make(&a, 1, 2, 1));
    a.o.bandwidth_rule = RFM_BANDWIDTH_MEDIAN;
    CHECK_INT(RFM_OK, model_fit(&a));
    CHECK(a.m.bandwidth == a.o.bandwidth && finite_model(&a.m));
}

/* Of more than 128 rows 128 evenly spread ones: with two values that alternate in blocks the median is known. */
static void test_many_distances(void) {
    const size_t n = 300;
    size_t i;
    int status;

    if (!model_make(&a, n, 1, 1)) return;
    for (i = 0; i < n; i++) a.x.at[i * a.x.stride] = i < n / 2 ? 0 : 4; /* 64 * 64 of 8128 pairs are 4 apart */
    a.o.bandwidth_rule = RFM_BANDWIDTH_MEDIAN;
    a.o.bandwidth = 1;
    a.o.iterations = 0;
    status = model_fit(&a);
    if (status == TEST_SKIP) return;
    CHECK_INT(RFM_OK, status);
    CHECK(a.m.bandwidth == 4);
}

/* ---- selection ------------------------------------------------------------------------------ */

/* The score of predictions, by its definition. */
static double score_of(int kind, rfm_mat y, rfm_mat f, const rfm_real *w) {
    double sum = 0, total = 0;
    size_t i, k;

    for (i = 0; i < y.rows; i++) {
        double one = 0, weight = w != NULL ? (double)w[i] : 1;
        size_t p = 0, q = 0;

        for (k = 0; k < y.cols; k++) {
            one += pow(model_at(y, i, k) - model_at(f, i, k), 2) / (double)y.cols;
            if (model_at(y, i, k) > model_at(y, i, p)) p = k;
            if (model_at(f, i, k) > model_at(f, i, q)) q = k;
        }
        if (kind == RFM_SCORE_ACCURACY) one = y.cols == 1 ? (model_at(y, i, 0) > 0) == (model_at(f, i, 0) > 0) : p == q;
        sum += weight * one;
        total += weight;
    }
    return sum / total;
}

#define VALIDATION_ROWS 4

static void test_validation(void) {
    model_shape s;
    size_t index, turn, t, done = 0, early = 0;

    for (index = 0; model_size(index, &s); index++)
        for (turn = 0; turn < 12; turn++) {
            const size_t last = turn % 3 + 1;
            rfm_mat xv, yv, f, g;
            size_t mark, best = 0;
            int status, kind = turn / 2 % 2 ? RFM_SCORE_ACCURACY : RFM_SCORE_SQUARED;

            test_reset();
            test_note("validation", s.n, turn, 0);
            if (!model_make(&a, s.n, s.d, s.c)) continue;
            vary(&a, turn);
            xv = test_mat(VALIDATION_ROWS, s.d, 2, 0);
            yv = test_mat(VALIDATION_ROWS, s.c, 0, 0);
            f = test_mat(VALIDATION_ROWS, s.c, 0, 0);
            g = test_mat(VALIDATION_ROWS, s.c, 0, 0);
            mark = test_mark();
            if (g.at == NULL) continue;
            model_fill(xv, 70);
            model_targets(xv, yv);
            a.o.iterations = last;
            a.o.score = kind;
            a.data.x_validation = rfm_const(xv);
            a.data.y_validation = rfm_const(yv);
            a.o.select = RFM_SELECT_VALIDATION;
            status = model_fit(&a);
            if (status == TEST_SKIP) continue;
            CHECK_INT(RFM_OK, status);
            CHECK_INT(RFM_OK, model_predict(&a, rfm_const(xv), f));
            for (t = 1; t <= last; t++)
                if (kind == RFM_SCORE_SQUARED ? a.path[t].score < a.path[best].score
                                              : a.path[t].score > a.path[best].score)
                    best = t;
            CHECK_SIZE(best, a.report.best);
            early += best < last;
            CHECK_BELOW(fabs(score_of(kind, yv, f, NULL) - (double)a.path[best].score),
                        100 * TEST_EPS * (double)(s.n + 10));
            for (t = 0; t <= last; t++) { /* every iterate is a fit of its own, and so is the one that was chosen */
                test_rewind(mark);
                b = a;
                b.o.iterations = t;
                b.o.select = RFM_SELECT_LAST;
                CHECK_INT(RFM_OK, model_fit(&b));
                CHECK_INT(RFM_OK, model_predict(&b, rfm_const(xv), g));
                CHECK(b.path[t].score == a.path[t].score && b.path[t].ridge == a.path[t].ridge);
                CHECK(b.path[t].bandwidth == a.path[t].bandwidth && b.path[t].rank == a.path[t].rank);
                CHECK_BELOW(fabs(score_of(kind, yv, g, NULL) - (double)a.path[t].score),
                            100 * TEST_EPS * (double)(s.n + 10));
                if (t == best) {
                    CHECK(model_apart(f, g) == 0);
                    CHECK(b.m.r == a.m.r && b.m.metric == a.m.metric && b.m.bandwidth == a.m.bandwidth);
                }
            }
            done++;
        }
    CHECK(done >= 6);
    CHECK(early > 0); /* or else nothing was chosen at all */
}

/* Of equals the earliest: everything is right at once. */
static void test_ties(void) {
    rfm_mat xv, yv;
    size_t i;
    int select;

    for (select = RFM_SELECT_VALIDATION; select <= RFM_SELECT_LOO; select++) {
        test_reset();
        test_note("ties", (size_t)select, 0, 0);
        CHECK(model_make(&a, 4, 2, 1));
        xv = test_mat(2, 2, 0, 0);
        yv = test_mat(2, 1, 0, 0);
        CHECK(yv.at != NULL);
        model_fill(xv, 70);
        yv.at[0] = yv.at[1] = 1;
        for (i = 0; i < 4; i++) a.y.at[i * a.y.stride] = (rfm_real)(1 + (double)i / 8);
        a.data.x_validation = rfm_const(xv);
        a.data.y_validation = rfm_const(yv);
        a.o.select = select;
        a.o.score = RFM_SCORE_ACCURACY;
        a.o.iterations = 2;
        CHECK_INT(RFM_OK, model_fit(&a));
        for (i = 0; i <= 2; i++) CHECK(a.path[i].score == 1);
        CHECK_SIZE(0, a.report.best);
        CHECK_INT(RFM_IDENTITY, a.m.metric);
        CHECK(a.m.p == NULL && a.m.r == 2);
    }
}

/* Leaving rows out one by one, for the kernel of the first iterate; weights, both scores. */
static void test_leave_one_out(void) {
    model_shape s;
    size_t index, turn, i, j, done = 0;

    for (index = 0; model_size(index, &s) && s.n < 100; index++)
        for (turn = 0; turn < 6; turn++) {
            rfm_mat f, x, y, start;
            rfm_real *w;
            size_t mark;
            int status;

            test_reset();
            test_note("leave one out", s.n, turn, 0);
            if (!model_make(&a, s.n, s.d, s.c)) continue;
            a.o.kernel = kernels[turn % 3];
            a.o.exponent = (rfm_real)exponents[turn % 3];
            a.o.select = RFM_SELECT_LOO;
            a.o.score = turn % 2 ? RFM_SCORE_ACCURACY : RFM_SCORE_SQUARED;
            a.o.iterations = 0;
            if (turn > 1 && !weigh(&a)) continue;
            if (turn == 5) { /* a row that does not count */
                w = (rfm_real *)(uintptr_t)a.data.weights;
                w[1] = 0;
            }
            x = test_mat(s.n - 1, s.d, 0, 0);
            y = test_mat(s.n - 1, s.c, 0, 0);
            f = test_mat(s.n, s.c, 0, 0);
            w = test_take(s.n * sizeof *w);
            start = test_mat(1, s.d, 0, 0);
            if (start.at == NULL) continue;
            for (j = 0; j < s.d; j++) start.at[j] = (rfm_real)((double)(j + 1) / 2);
            if (turn > 3) {
                a.o.metric = RFM_DIAGONAL;
                a.data.start = rfm_const(start);
            }
            mark = test_mark();
            status = model_fit(&a);
            if (status == TEST_SKIP) continue;
            CHECK_INT(RFM_OK, status);
            CHECK_SIZE(0, a.report.best);
            b = a;
            b.o.select = RFM_SELECT_LAST;
            b.x = x;
            b.y = y;
            b.data.x = rfm_const(x);
            b.data.y = rfm_const(y);
            if (a.data.weights != NULL) b.data.weights = w;
            for (i = 0; i < s.n; i++) {
                rfm_mat out = f;
                rfm_cmat in = rfm_const(a.x);
                size_t row;

                for (row = 0; row + 1 < s.n; row++) {
                    size_t from = row < i ? row : row + 1;

                    for (j = 0; j < s.d; j++) x.at[row * s.d + j] = a.x.at[from * a.x.stride + j];
                    for (j = 0; j < s.c; j++) y.at[row * s.c + j] = a.y.at[from * a.y.stride + j];
                    w[row] = a.data.weights != NULL ? a.data.weights[from] : 1;
                }
                test_rewind(mark);
                CHECK_INT(RFM_OK, model_fit(&b));
                out.at += i * s.c;
                in.at += i * a.x.stride;
                out.rows = in.rows = 1;
                CHECK_INT(RFM_OK, rfm_predict_need(&b.ctx, &b.m, 1, &row));
                {
                    void *mem = test_take(row);
                    rfm_arena arena;

                    CHECK(mem != NULL);
                    CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, row));
                    b.ctx.arena = &arena;
                    CHECK_INT(RFM_OK, rfm_predict(&b.ctx, &b.m, in, out));
                    b.ctx.arena = NULL;
                }
            }
            CHECK_BELOW(fabs(score_of(a.o.score, a.y, f, a.data.weights) - (double)a.path[0].score),
                        500 * TEST_EPS * (double)(s.n + 10));
            done++;
        }
    CHECK(done >= 6);
}

/* The closed form is there for every iterate, and the best one is the model. */
static void test_select_loo(void) {
    model_shape s;
    size_t index, turn, t, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (turn = 0; turn < 6; turn++) {
            size_t mark, best = 0;
            seen one, two;
            int status;

            test_reset();
            test_note("select", s.n, turn, 0);
            if (!model_make(&a, s.n, s.d, s.c) || !make_seen(&one, &a) || !make_seen(&two, &a)) continue;
            vary(&a, turn);
            a.o.select = RFM_SELECT_LOO;
            a.o.iterations = 2;
            mark = test_mark();
            status = model_fit(&a);
            if (status == TEST_SKIP) continue;
            CHECK_INT(RFM_OK, status);
            CHECK_INT(RFM_OK, model_predict(&a, rfm_const(one.z), one.y));
            for (t = 1; t <= 2; t++)
                if (a.path[t].score < a.path[best].score) best = t;
            CHECK_SIZE(best, a.report.best);
            test_rewind(mark);
            b = a;
            b.o.select = RFM_SELECT_LAST;
            b.o.iterations = best;
            CHECK(see(&b, &two));
            CHECK(model_apart(one.y, two.y) == 0);
            done++;
        }
    CHECK(done >= 6);
}

/* ---- memory --------------------------------------------------------------------------------- */

static size_t ticks, cancel_at;
static double tick_last;
static int tick_falls;

static int tick(void *arg, rfm_real share) {
    (void)arg;
    ticks++;
    if (!((double)share >= tick_last && share > 0 && share <= 1)) tick_falls = 1;
    tick_last = (double)share;
    return ticks == cancel_at;
}

static void watch(model_case *p) {
    p->ctx.tick = tick;
    ticks = cancel_at = 0;
    tick_last = 0;
    tick_falls = 0;
}

/* One byte less in either, before any work; and both in one arena. */
static void test_memory(void) {
    model_shape s;
    size_t index, turn, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (turn = 0; turn < 6; turn++) {
            size_t scratch = 0, store = 0, i;
            rfm_arena arena, kept;
            rfm_model before;
            unsigned char *mem;
            uint64_t hash;

            test_reset();
            test_note("memory", s.n, turn, 0);
            if (!model_make(&a, s.n, s.d, s.c)) continue;
            vary(&a, turn);
            a.o.select = turn % 2 ? RFM_SELECT_LOO : RFM_SELECT_LAST;
            if (turn == 4) a.o.ridge = 0;
            if (turn == 2) a.o.bandwidth_rule = RFM_BANDWIDTH_MEDIAN;
            watch(&a);
            memset(&a.m, 0x5A, sizeof a.m);
            before = a.m;
            a.report.path = a.path;
            CHECK_INT(RFM_OK, rfm_fit_need(&a.ctx, &a.data, &a.o, &scratch, &store));
            CHECK(scratch % RFM_ALIGN == 0 && store % RFM_ALIGN == 0);
            mem = test_take(store + scratch + 32);
            if (mem == NULL) continue;
            hash = test_hash(test_mark());
            for (i = 0; i < 5; i++) { /* short: scratch by 1, by all; store by 1, by all; both in one, by 1 */
                const size_t less = i == 1 ? scratch : i == 3 ? store : 1;
                int status;

                CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, scratch - (i < 2 ? less : 0)));
                CHECK_INT(RFM_OK, rfm_arena_init(&kept, mem + scratch, store - (i == 2 || i == 3 ? less : 0)));
                if (i == 4) CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, store + scratch - 1));
                a.ctx.arena = &arena;
                status = rfm_fit(&a.ctx, &a.data, &a.o, i == 4 ? &arena : &kept, &a.m, &a.report);
                CHECK_INT(RFM_EARENA, status);
                CHECK_SIZE(0, ticks);
                CHECK(memcmp(&before, &a.m, sizeof before) == 0);
                CHECK(arena.used == 0 && arena.status == RFM_OK && kept.used == 0 && kept.status == RFM_OK);
                CHECK(hash == test_hash(test_mark()));
            }
            /* One arena, behind something that must survive. */
            CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, store + scratch + 32));
            {
                unsigned char *mine = rfm_arena_take(&arena, 16, 1);
                size_t used = arena.used, room = arena.size - used;

                if (room < store + scratch) continue; /* red zones */
                memset(mine, 0x33, 16);
                CHECK_INT(RFM_OK, rfm_fit(&a.ctx, &a.data, &a.o, &arena, &a.m, &a.report));
                CHECK_SIZE(used + store, arena.used);
                CHECK_SIZE(used + store + scratch, arena.peak);
                for (i = 0; i < 16; i++) CHECK(mine[i] == 0x33);
                CHECK((const unsigned char *)(const void *)a.m.alpha < arena.base + arena.used);
                CHECK((const unsigned char *)(const void *)a.m.shift >= arena.base + used);
                CHECK(finite_model(&a.m));
            }
            done++;
        }
    CHECK(done >= 6);
}

/* ---- progress and cancelling ---------------------------------------------------------------- */

static void test_ticks(void) {
    model_shape s;
    size_t index, turn, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (turn = 0; turn < 8; turn++) {
            size_t scratch = 0, store = 0, i, count, used;
            rfm_arena arena;
            rfm_model before;
            void *mem, *kept;

            test_reset();
            test_note("ticks", s.n, turn, 0);
            if (!model_make(&a, s.n, s.d, s.c)) continue;
            vary(&a, turn);
            a.o.iterations = turn % 3;
            a.o.select = turn % 4 == 3 ? RFM_SELECT_LOO : RFM_SELECT_LAST;
            if (turn == 2 || turn == 5) a.o.ridge = 0;
            if (turn == 6) {
                duplicate(&a, 0);
                a.o.ridge = (rfm_real)(TEST_EPS * 1e-6);
            }
            watch(&a);
            CHECK_INT(RFM_OK, rfm_fit_need(&a.ctx, &a.data, &a.o, &scratch, &store));
            kept = test_take(2 * store);
            mem = kept != NULL ? test_take(scratch) : NULL;
            if (mem == NULL) continue;
            CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, scratch));
            CHECK_INT(RFM_OK, rfm_arena_init(&a.store, kept, 2 * store));
            a.ctx.arena = &arena;
            CHECK_INT(RFM_OK, rfm_fit(&a.ctx, &a.data, &a.o, &a.store, &a.m, NULL));
            CHECK(ticks > 0 && !tick_falls && tick_last == 1);
            count = ticks;
            used = a.store.used;
            before = a.m;
            for (i = 1; i <= count; i++) {
                test_note("cancel", s.n, turn, i);
                watch(&a);
                cancel_at = i;
                CHECK_INT(RFM_ECANCEL, rfm_fit(&a.ctx, &a.data, &a.o, &a.store, &a.m, NULL));
                CHECK_SIZE(i, ticks); /* and no more after that */
                CHECK(memcmp(&before, &a.m, sizeof before) == 0 && finite_model(&a.m));
                CHECK(arena.used == 0 && arena.status == RFM_OK && a.store.used == used && a.store.status == RFM_OK);
            }
            watch(&a);
            CHECK_INT(RFM_OK, rfm_fit(&a.ctx, &a.data, &a.o, &a.store, &b.m, NULL));
            CHECK_SIZE(count, ticks);
            CHECK(memcmp(a.m.alpha, b.m.alpha, s.n * s.c * sizeof(rfm_real)) == 0);
            CHECK(memcmp(a.m.centers, b.m.centers, s.n * a.m.r * sizeof(rfm_real)) == 0);
            done++;
        }
    CHECK(done >= 6);
}

/* ---- workers and ports ---------------------------------------------------------------------- */

/* The bits of the model; 0: no room. */
static int bits(model_case *p, uint64_t *hash) {
    const size_t mark = test_mark();
    int status = model_fit(p);

    if (status == TEST_SKIP) return 0;
    CHECK_INT(RFM_OK, status);
    *hash = test_hash(test_mark());
    test_rewind(mark);
    return 1;
}

static void check_workers(model_case *p, uint64_t expect) {
    static test_pool pools[] = {{1, 1}, {2, 1}, {7, 1}, {7, 0}};
    uint64_t hash = 0;
    size_t i;

    for (i = 0; i < TEST_LENGTH(pools) && !TEST_TSAN; i++) {
        p->ctx.run = test_pool_run;
        p->ctx.pool = &pools[i];
        p->ctx.workers = pools[i].workers;
        if (bits(p, &hash)) CHECK(hash == expect);
    }
#ifndef BOARD_BARE
    for (i = 2; i < 8; i += 5) {
        pool *threads = pool_create(i);

        CHECK(threads != NULL);
        p->ctx.run = pool_run;
        p->ctx.pool = threads;
        p->ctx.workers = pool_workers(threads);
        if (bits(p, &hash)) CHECK(hash == expect);
        pool_destroy(threads);
    }
#endif
    p->ctx.run = NULL;
    p->ctx.pool = NULL;
    p->ctx.workers = 0;
}

/* Every port: the same bits again and again and with any workers; and what the portable code says, but for rounding. */
static void test_ports(void) {
    model_shape s;
    const rfm_port *port;
    size_t index, turn, i, done = 0;

    for (index = 0;; index++) {
        if (!model_size(index, &s)) { /* one beyond every block size */
            if (TEST_N_MAX < 200) break;
            s.n = TEST_N_MAX < 500 ? 200 : 530;
            s.d = 7;
            s.c = 2;
        }
        for (turn = 0; turn < (s.n > 100 || TEST_TSAN ? 4u : TEST_FEW ? 6u : 12u); turn++) {
            seen one, two;
            uint64_t hash = 0, again = 0;
            size_t t;

            test_reset();
            test_note("ports", s.n, turn, 0);
            if (!model_make(&a, s.n, s.d, s.c) || !make_seen(&one, &a) || !make_seen(&two, &a)) continue;
            vary(&a, turn);
            a.o.select = turn % 4 == 1 ? RFM_SELECT_LOO : RFM_SELECT_LAST;
            if (turn % 4 == 2 && s.n < 40) a.o.ridge = (rfm_real)(turn == 2 ? 0 : 0.1);
            if (turn % 4 == 3) a.o.agop_points = s.n / 2;
            if (turn % 5 == 4 && !weigh(&a)) continue;
            if (!see(&a, &one)) continue;
            done++;
            for (i = 0; (port = test_port(i)) != NULL; i++) {
                test_note(port->name, s.n, turn, 0);
                a.ctx.port = port;
                for (t = 0; t < two.y.rows * two.y.cols; t++) two.y.at[t] = 0; /* the hash sees it */
                for (t = 0; t < s.d * s.d; t++) two.m.at[t] = 0;
                if (!bits(&a, &hash)) continue;
                CHECK(bits(&a, &again) && hash == again);
                check_workers(&a, hash);
                CHECK(see(&a, &two));
                if (a.o.ridge > 0) {
                    CHECK_CLOSE(one.y, two.y, 100 * (double)(s.n + 10));
                    CHECK_CLOSE(one.m, two.m, 100 * (double)(s.n + 10));
                } else { /* the condition number of K */
                    CHECK_CLOSE(one.y, two.y, 20000 * (double)(s.n + 10));
                    CHECK_CLOSE(one.m, two.m, 20000 * (double)(s.n + 10));
                }
            }
        }
        if (!model_size(index, &s)) break;
    }
    CHECK(done >= 8);
}

/* ---- odd data ------------------------------------------------------------------------------- */

/* One row; constant columns; targets all equal; zero targets: all of them have a model. */
static void test_odd_data(void) {
    size_t turn, what, i, j;

    for (what = 0; what < 6; what++)
        for (turn = 0; turn < 24; turn++) {
            const size_t n = what == 0 ? 1 : what == 5 ? 2 : 4;
            rfm_mat m, z, f;

            test_reset();
            test_note("odd data", what, turn, 0);
            CHECK(model_make(&a, n, 2, 1));
            m = test_mat(2, 2, 0, 0);
            z = test_mat(2, 2, 0, 0);
            f = test_mat(2, 1, 0, 0);
            CHECK(f.at != NULL);
            model_fill(z, 71);
            vary(&a, turn % 12);
            a.o.iterations = 2;
            if (turn >= 12) a.o.ridge = 0;
            for (i = 0; i < n; i++) {
                if (what == 1) a.x.at[i * a.x.stride] = (rfm_real)12345.678;
                if (what == 2)
                    for (j = 0; j < 2; j++) a.x.at[i * a.x.stride + j] = (rfm_real)-1.1;
                if (what == 3) a.y.at[i * a.y.stride] = (rfm_real)0.3;
                if (what == 4) a.y.at[i * a.y.stride] = 0;
                if (what == 5) a.y.at[i * a.y.stride] = i ? -1 : 1; /* both gradients are the same one */
            }
            CHECK_INT(RFM_OK, model_fit(&a));
            CHECK(finite_model(&a.m));
            metric_of(&a, m);
            CHECK_INT(RFM_OK, model_predict(&a, rfm_const(z), f));
            CHECK(model_most(f) < 1e12);
            if (what == 0 || what == 2 || what == 4) { /* f is flat at the training points */
                CHECK(model_most(m) == 0);
                CHECK_SIZE(0, a.path[2].rank);
            }
            if (what == 1) CHECK(model_at(m, 0, 0) == 0 && model_at(m, 0, 1) == 0 && model_at(m, 1, 0) == 0);
            if (what == 4) CHECK(model_most(f) == 0);
        }
}

/* A target that is all but linear: centred gradients are what rounding leaves. */
static void test_centred_to_nothing(void) {
    model_shape s;
    size_t index, turn, i, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (turn = 0; turn < 4; turn++) {
            int status;

            test_reset();
            test_note("linear", s.n, turn, 0);
            if (!model_make(&a, s.n, s.d, 1)) continue;
            for (i = 0; i < s.n; i++) a.y.at[i * a.y.stride] = a.x.at[i * a.x.stride];
            a.o.kernel = RFM_GAUSSIAN;
            a.o.bandwidth = turn % 2 ? 100 : 1000;
            a.o.ridge = (rfm_real)(turn / 2 ? 1e-6 : 1);
            a.o.center = 1;
            a.o.iterations = 2;
            status = model_fit(&a);
            if (status == TEST_SKIP) continue;
            CHECK_INT(RFM_OK, status);
            CHECK(finite_model(&a.m));
            done++;
        }
    CHECK(done >= 4);
}

/* Numbers that are finite, and whose squares are not. */
static void test_range(void) {
    const double big = RFM_REAL_BYTES == 4 ? 1e25 : 1e200;
    size_t ridge, i, j;

    for (ridge = 0; ridge < 2; ridge++) {
        test_reset();
        test_note("range", ridge, 0, 0);
        CHECK(model_make(&a, 4, 2, 1));
        a.o.ridge = (rfm_real)(ridge ? 0.1 : 0);
        for (i = 0; i < 4; i++)
            for (j = 0; j < 2; j++) a.x.at[i * a.x.stride + j] *= (rfm_real)big;
        CHECK_INT(RFM_ERANGE, model_fit(&a));
    }
}

/* ---- refusals ------------------------------------------------------------------------------- */

static rfm_arena bad_arena;

/* a.fit is refused; nothing changes. */
static void refused(int status) {
    const uint64_t hash = test_hash(test_mark());
    const rfm_model before = a.m;
    const rfm_arena arena = bad_arena, store = a.store;

    a.ctx.arena = &bad_arena;
    CHECK_INT(status, rfm_fit(&a.ctx, &a.data, &a.o, &a.store, &a.m, &a.report));
    CHECK(memcmp(&before, &a.m, sizeof before) == 0);
    CHECK(arena.used == bad_arena.used && arena.status == bad_arena.status && arena.base == bad_arena.base);
    CHECK(store.used == a.store.used && store.status == a.store.status && store.base == a.store.base);
    CHECK(hash == test_hash(test_mark()));
    CHECK_SIZE(0, ticks);
}

/* The same by rfm_fit_need. */
static void refused_too(int status) {
    size_t x = 77, y = 77;

    refused(status);
    CHECK_INT(status, rfm_fit_need(&a.ctx, &a.data, &a.o, &x, &y));
    CHECK(x == 77 && y == 77);
}

static rfm_mat bad_xv, bad_yv, bad_start;

/* A fit with everything that data may have, and room for it. */
static void make_bad(void) {
    size_t scratch = 0, store = 0, i;
    void *kept, *mem;

    test_reset();
    CHECK(model_make(&a, 3, 2, 1));
    CHECK(weigh(&a));
    bad_xv = test_mat(2, 2, 1, 0);
    bad_yv = test_mat(2, 1, 1, 0);
    bad_start = test_mat(2, 2, 0, 0);
    CHECK(bad_start.at != NULL);
    model_fill(bad_xv, 70);
    model_targets(bad_xv, bad_yv);
    for (i = 0; i < 4; i++) bad_start.at[i] = i % 3 == 0;
    a.data.x_validation = rfm_const(bad_xv);
    a.data.y_validation = rfm_const(bad_yv);
    a.data.start = rfm_const(bad_start);
    a.report.path = a.path;
    watch(&a);
    CHECK_INT(RFM_OK, rfm_fit_need(&a.ctx, &a.data, &a.o, &scratch, &store));
    kept = test_take(store);
    mem = test_take(scratch);
    CHECK(kept != NULL && mem != NULL);
    CHECK_INT(RFM_OK, rfm_arena_init(&a.store, kept, store));
    CHECK_INT(RFM_OK, rfm_arena_init(&bad_arena, mem, scratch));
    memset(&a.m, 0x5A, sizeof a.m);
}

/* NaN and infinities, everywhere, and the report says where. */
static void test_not_finite(void) {
    const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    rfm_mat views[6];
    size_t v, i, j, k;

    make_bad();
    views[0] = a.x;
    views[1] = a.y;
    views[2] = bad_xv;
    views[3] = bad_yv;
    views[4] = bad_start;
    views[5] = rfm_view((rfm_real *)(uintptr_t)a.data.weights, 3, 1);
    for (v = 0; v < 6; v++)
        for (i = 0; i < views[v].rows; i++)
            for (j = 0; j < views[v].cols; j++)
                for (k = 0; k < 3; k++) {
                    rfm_real *at = views[v].at + i * views[v].stride + j, was = *at;

                    test_note("not finite", v, i, j);
                    *at = (rfm_real)values[k];
                    a.report.row = a.report.col = 99;
                    refused(RFM_EFINITE);
                    if (v < 5) CHECK_SIZE(i, a.report.row);
                    if (v < 5) CHECK_SIZE(j, a.report.col);
                    CHECK_SIZE(i + j, a.report.row + a.report.col); /* weights: a row or a column of them */
                    *at = was;
                }
    CHECK_INT(RFM_OK, rfm_fit(&a.ctx, &a.data, &a.o, &a.store, &a.m, &a.report));
}

static void refused_view(rfm_cmat *v) {
    const rfm_cmat was = *v;

    v->rows = 0;
    refused_too(RFM_EZERO);
    *v = was;
    v->cols = 0;
    refused_too(RFM_EZERO);
    *v = was;
    v->stride = v->cols - 1;
    refused_too(RFM_ESTRIDE);
    *v = was;
    v->stride = SIZE_MAX / 2;
    refused_too(RFM_EOVERFLOW);
    *v = was;
    v->rows++;
    refused_too(RFM_ESHAPE);
    *v = was;
}

static void test_bad_views(void) {
    rfm_data good;
    size_t i;

    make_bad();
    good = a.data;
    test_note("x", 0, 0, 0);
    refused_view(&a.data.x);
    a.data.x.at = NULL;
    refused_too(RFM_ENULL);
    a.data = good;
    a.data.x.cols = 1;
    refused_too(RFM_ESHAPE);
    a.data = good;
    test_note("y", 0, 0, 0);
    refused_view(&a.data.y);
    a.data.y.at = NULL;
    refused_too(RFM_ENULL);
    a.data = good;
    test_note("x_validation", 0, 0, 0);
    refused_view(&a.data.x_validation);
    a.data.x_validation.cols = 1;
    refused_too(RFM_ESHAPE);
    a.data = good;
    test_note("y_validation", 0, 0, 0);
    refused_view(&a.data.y_validation);
    a.data.y_validation.at = NULL;
    refused_too(RFM_ENULL);
    a.data = good;
    a.data.y_validation.cols = 2;
    a.data.y_validation.stride = 2;
    refused_too(RFM_ESHAPE);
    a.data = good;
    a.data.x_validation.at = NULL; /* half of a validation set */
    refused_too(RFM_ENULL);
    a.data.y_validation.at = NULL;
    a.o.select = RFM_SELECT_VALIDATION;
    refused_too(RFM_ENULL);
    a.o.select = RFM_SELECT_LAST;
    a.data = good;
    test_note("start", 0, 0, 0);
    refused_view(&a.data.start);

    test_note("weights", 0, 0, 0);
    {
        rfm_real *w = (rfm_real *)(uintptr_t)a.data.weights;

        for (i = 0; i < 3; i++) {
            rfm_real was = w[i];

            w[i] = (rfm_real)-1e-6;
            refused(RFM_EVALUE);
            w[i] = was;
        }
        w[0] = w[1] = w[2] = 0;
        refused(RFM_EVALUE);
        w[1] = 1;
    }
    CHECK_INT(RFM_OK, rfm_fit(&a.ctx, &a.data, &a.o, &a.store, &a.m, &a.report));
}

static void test_bad_pointers(void) {
    rfm_model m;
    size_t x, y;

    make_bad();
    a.ctx.arena = &bad_arena;
    CHECK_INT(RFM_ENULL, rfm_fit(NULL, &a.data, &a.o, &a.store, &m, NULL));
    CHECK_INT(RFM_ENULL, rfm_fit(&a.ctx, NULL, &a.o, &a.store, &m, NULL));
    CHECK_INT(RFM_ENULL, rfm_fit(&a.ctx, &a.data, NULL, &a.store, &m, NULL));
    CHECK_INT(RFM_ENULL, rfm_fit(&a.ctx, &a.data, &a.o, NULL, &m, NULL));
    CHECK_INT(RFM_ENULL, rfm_fit(&a.ctx, &a.data, &a.o, &a.store, NULL, NULL));
    a.ctx.arena = NULL;
    CHECK_INT(RFM_ENULL, rfm_fit(&a.ctx, &a.data, &a.o, &a.store, &m, NULL));
    CHECK_INT(RFM_OK, rfm_fit_need(&a.ctx, &a.data, &a.o, &x, &y));
    CHECK_INT(RFM_ENULL, rfm_fit_need(NULL, &a.data, &a.o, &x, &y));
    CHECK_INT(RFM_ENULL, rfm_fit_need(&a.ctx, NULL, &a.o, &x, &y));
    CHECK_INT(RFM_ENULL, rfm_fit_need(&a.ctx, &a.data, NULL, &x, &y));
    CHECK_INT(RFM_ENULL, rfm_fit_need(&a.ctx, &a.data, &a.o, NULL, &y));
    CHECK_INT(RFM_ENULL, rfm_fit_need(&a.ctx, &a.data, &a.o, &x, NULL));
    CHECK_SIZE(0, a.store.used);
    CHECK_SIZE(0, bad_arena.used);
}

static void test_bad_options(void) {
    static const double reals[] = {-1, -1e-10, (double)NAN, (double)INFINITY, -(double)INFINITY, 0, 2.01, 3};
    rfm_options good;
    int *const enums[] = {&a.o.kernel, &a.o.metric, &a.o.scale,      &a.o.center,   &a.o.bandwidth_rule,
                          &a.o.select, &a.o.score,  &a.o.ridge_rule, &a.o.unit_rows};
    static const int most[] = {RFM_KERNELS - 1, RFM_FULL,           RFM_SCALE_TRACE, 1, RFM_BANDWIDTH_MEDIAN,
                               RFM_SELECT_LOO,  RFM_SCORE_ACCURACY, RFM_RIDGE_FIXED, 1};
    size_t i;

    make_bad();
    good = a.o;
    for (i = 0; i < TEST_LENGTH(enums); i++) {
        test_note("enum", i, 0, 0);
        *enums[i] = -1;
        refused_too(RFM_EVALUE);
        *enums[i] = most[i] + 1;
        refused_too(RFM_EVALUE);
        a.o = good;
    }
    for (i = 0; i < TEST_LENGTH(reals); i++) {
        test_note("real", i, 0, 0);
        if (i < 6) {
            a.o.bandwidth = (rfm_real)reals[i];
            refused_too(RFM_EVALUE);
            a.o = good;
        }
        if (i < 5) {
            a.o.ridge = (rfm_real)reals[i];
            refused_too(RFM_EVALUE);
            a.o = good;
        }
        a.o.kernel = RFM_GENERAL;
        a.o.exponent = (rfm_real)reals[i];
        refused_too(RFM_EVALUE);
        a.o = good;
    }
    test_note("others", 0, 0, 0);
    a.o.agop_points = 4;
    refused_too(RFM_EVALUE);
    a.o = good;
    a.o.select = RFM_SELECT_LOO;
    a.o.ridge = 0;
    refused_too(RFM_EVALUE);
    a.o = good;
    CHECK_INT(RFM_OK, rfm_fit(&a.ctx, &a.data, &a.o, &a.store, &a.m, &a.report));
    rfm_options_init(&a.o);
    CHECK(a.o.kernel == RFM_LAPLACE && a.o.exponent == 1 && a.o.metric == RFM_FULL && a.o.scale == RFM_SCALE_NONE &&
          a.o.center == 0);
    CHECK(a.o.bandwidth_rule == RFM_BANDWIDTH_FIXED && a.o.bandwidth == 10 && a.o.ridge == (rfm_real)1e-3 &&
          a.o.iterations == 5);
    CHECK(a.o.agop_points == 0 && a.o.seed == 0 && a.o.select == RFM_SELECT_LAST && a.o.score == RFM_SCORE_SQUARED);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_ports);
    if (TEST_TSAN) return UNITY_END();
    RUN_TEST(test_equations);
    RUN_TEST(test_updates);
    RUN_TEST(test_scale);
    RUN_TEST(test_invariances);
    RUN_TEST(test_weights);
    RUN_TEST(test_start);
    RUN_TEST(test_bad_start);
    RUN_TEST(test_root);
    RUN_TEST(test_tiny_ridge);
    RUN_TEST(test_no_ridge);
    RUN_TEST(test_points);
    RUN_TEST(test_each_point);
    RUN_TEST(test_bandwidth);
    RUN_TEST(test_no_distance);
    RUN_TEST(test_many_distances);
    RUN_TEST(test_validation);
    RUN_TEST(test_ties);
    RUN_TEST(test_leave_one_out);
    RUN_TEST(test_select_loo);
    RUN_TEST(test_memory);
    RUN_TEST(test_ticks);
    RUN_TEST(test_odd_data);
    RUN_TEST(test_centred_to_nothing);
    RUN_TEST(test_range);
    RUN_TEST(test_not_finite);
    RUN_TEST(test_bad_views);
    RUN_TEST(test_bad_pointers);
    RUN_TEST(test_bad_options);
    return UNITY_END();
}
