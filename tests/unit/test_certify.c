/* Certificates: golden cases, the definition in double, moves inside of the radius and moves that leave it; models of
 * integers and tiny ones move by move; conformal sets by hand and by counting. tests/certify/soak runs the same program
 * with more moves. */
#include "models.h"
#include "rfm_certify.h"
#include "rfm_tiny.h"

#include "../golden/certificates.h"

#ifndef TEST_MOVES
#ifdef BOARD_BARE
#define TEST_MOVES 60
#elif TEST_FEW
#define TEST_MOVES 600
#else
#define TEST_MOVES 20000
#endif
#endif

#define REAL_MOST RFM_LIMIT(MAX)

enum { MOST_D = 9, MOST_C = 4, MOST_N = 129, ROWS = 12, GOLDEN_ROWS = 20, GOLDEN_C = 3 };

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

static model_case a;     /* data, options, model */
static uint32_t numbers; /* state of rfm_random */

static double uniform(void) { return (double)(rfm_random(&numbers) >> 8) / (1 << 24); } /* [0, 1) */

/* ---- one certificate, on exactly its scratch ------------------------------------------------ */

typedef struct {
    rfm_real scores[MOST_C], radius, moves[MOST_D];
    size_t class_at;
} found;

static int certify(const rfm_model *m, const rfm_real *x, found *f) {
    const size_t mark = test_mark();
    rfm_mat scratch = test_mat(1, RFM_CERTIFY_SCRATCH(m->d, m->r, m->c), 0, 0), scores = test_mat(1, m->c, 0, 0);
    rfm_mat moves = test_mat(1, m->d, 0, 0);
    int status;

    CHECK(scratch.at != NULL && scores.at != NULL && moves.at != NULL && m->d <= MOST_D && m->c <= MOST_C);
    memset(f, 0xFF, sizeof *f);
    status = rfm_certify(m, x, scores.at, scratch.at, &f->class_at, &f->radius, moves.at);
    if (status == RFM_OK) {
        test_check_padding(scratch);
        test_check_padding(scores);
        test_check_padding(moves);
        memcpy(f->scores, scores.at, m->c * sizeof *scores.at);
        memcpy(f->moves, moves.at, m->d * sizeof *moves.at);
        CHECK(rfm_finite(1, &f->radius) && f->radius >= 0 && rfm_finite(m->d, moves.at));
    }
    test_rewind(mark);
    return status;
}

static size_t class_of(const rfm_model *m, const rfm_real *x) {
    const size_t mark = test_mark();
    rfm_mat scratch = test_mat(1, RFM_PREDICT_SCRATCH(m->d, m->r), 0, 0), scores = test_mat(1, m->c, 0, 0);
    size_t class_at;

    CHECK_INT(RFM_OK, rfm_predict_one(m, x, scores.at, scratch.at, NULL, NULL));
    class_at = rfm_class(m, scores.at, NULL);
    test_rewind(mark);
    return class_at;
}

/* ---- golden cases --------------------------------------------------------------------------- */

/* P of M = P'P: the factor of Cholesky, or the roots of the diagonal. */
static void factor(const double *m, size_t d, int metric, rfm_real *p) {
    double u[MOST_D * MOST_D];
    size_t i, j, k;

    if (metric == RFM_DIAGONAL) {
        for (i = 0; i < d; i++) p[i] = (rfm_real)sqrt(m[i]);
        return;
    }
    memset(u, 0, sizeof u);
    for (i = 0; i < d; i++)
        for (j = i; j < d; j++) {
            double sum = m[i * d + j];
            for (k = 0; k < i; k++) sum -= u[k * d + i] * u[k * d + j];
            u[i * d + j] = i == j ? sqrt(sum) : sum / u[i * d + i];
        }
    for (i = 0; i < d * d; i++) p[i] = (rfm_real)u[i];
}

static double project(const rfm_model *m, size_t q, const rfm_real *x) {
    double sum = 0;
    size_t j;

    if (m->metric == RFM_IDENTITY) return (double)x[q];
    if (m->metric == RFM_DIAGONAL) return (double)m->p[q] * (double)x[q];
    for (j = 0; j < m->d; j++) sum += (double)m->p[q * m->d + j] * (double)x[j];
    return sum;
}

/* Their offset is 0, so p + q = D / ratio, and the radius is L artanh(ratio); theirs, L log(1 + ratio), is smaller. */
static void test_golden(void) {
    size_t which, i, q, done = 0;

    for (which = 0; which < TEST_LENGTH(certificate_cases); which++) {
        const size_t n = certificate_cases[which].n, d = certificate_cases[which].d;
        const int metric = certificate_cases[which].metric;
        const double *x = certificate_cases[which].data, *z = x + n * d, *mm = z + GOLDEN_ROWS * d;
        const double *alpha = mm + (metric == RFM_FULL ? d * d : d), *class_at = alpha + n * GOLDEN_C;
        const double *ratio = class_at + GOLDEN_ROWS, *radius = ratio + GOLDEN_ROWS * GOLDEN_C;
        const double bandwidth = certificate_cases[which].bandwidth, bound = 2000 * TEST_EPS * bandwidth;
        rfm_real *p, *shift, *centers, *coefficients, row[MOST_D];
        rfm_model m;

        test_reset();
        p = test_mat(d, d, 0, 0).at, shift = test_mat(1, d, 0, 0).at;
        centers = test_mat(n, d, 0, 0).at, coefficients = test_mat(n, GOLDEN_C, 0, 0).at;
        if (p == NULL || shift == NULL || centers == NULL || coefficients == NULL) continue;
        memset(&m, 0, sizeof m);
        m.n = n, m.d = m.r = d, m.c = GOLDEN_C, m.metric = metric, m.task = RFM_CLASSIFY;
        m.bandwidth = (rfm_real)bandwidth;
        factor(mm, d, metric, p);
        m.p = p, m.shift = shift, m.centers = centers, m.alpha = coefficients;
        for (i = 0; i < d; i++) shift[i] = 0;
        for (i = 0; i < n; i++) {
            for (q = 0; q < d; q++) row[q] = (rfm_real)x[i * d + q];
            for (q = 0; q < d; q++) centers[i * d + q] = (rfm_real)project(&m, q, row);
        }
        for (i = 0; i < n * GOLDEN_C; i++) coefficients[i] = (rfm_real)alpha[i];
        for (i = 0; i < GOLDEN_ROWS; i++) {
            double least = 1, expect;
            found f;

            test_note("golden", which, i, 0);
            for (q = 0; q < d; q++) row[q] = (rfm_real)z[i * d + q];
            for (q = 0; q < GOLDEN_C; q++)
                if ((double)q != class_at[i]) least = fmin(least, ratio[i * GOLDEN_C + q]);
            expect = bandwidth * 0.5 * log((1 + least) / (1 - least));
            CHECK_INT(RFM_OK, certify(&m, row, &f));
            CHECK_SIZE(class_at[i], f.class_at);
            CHECK_BELOW((double)f.radius, expect + 40 * TEST_EPS * bandwidth);
            CHECK_BELOW(expect - bound, (double)f.radius);
            CHECK_BELOW(radius[i] - bound, (double)f.radius);
            done++;
        }
    }
    CHECK(done > 0);
}

/* ---- trained models ------------------------------------------------------------------------- */

typedef struct {
    model_shape shape;
    int kernel, metric;
} kind;

static const kind kinds[] = {{{9, 3, 2}, RFM_LAPLACE, RFM_FULL},      {{17, 5, 3}, RFM_GAUSSIAN, RFM_DIAGONAL},
                             {{33, 4, 1}, RFM_LAPLACE, RFM_DIAGONAL}, {{33, 4, 3}, RFM_GAUSSIAN, RFM_FULL},
                             {{9, 2, 1}, RFM_GAUSSIAN, RFM_IDENTITY}, {{129, 6, 4}, RFM_LAPLACE, RFM_FULL}};

/* A classifier of rows as models.c makes them: the class is that of the largest target. 0: no room. */
static int make(const kind *k) {
    size_t i, l, best;
    int status;

    test_reset();
    if (!model_make(&a, k->shape.n, k->shape.d, k->shape.c)) return 0;
    for (i = 0; i < a.y.rows; i++) {
        rfm_real *y = a.y.at + i * a.y.stride;

        for (best = 0, l = 1; l < a.y.cols; l++)
            if (y[l] > y[best]) best = l;
        for (l = 0; l < a.y.cols; l++) y[l] = a.y.cols == 1 ? (y[l] > 0 ? 1 : -1) : l == best;
    }
    a.o.kernel = k->kernel, a.o.metric = k->metric, a.o.ridge = (rfm_real)0.01, a.o.scale = RFM_SCALE_MAX;
    status = model_fit(&a);
    if (status == TEST_SKIP) return 0;
    CHECK_INT(RFM_OK, status);
    a.m.task = RFM_CLASSIFY;
    return 1;
}

/* Row i to look at: between two training rows. */
static void look_at(size_t i, rfm_real *x) {
    const rfm_real *one = a.x.at + i % a.x.rows * a.x.stride, *two = a.x.at + (i * 7 + 3) % a.x.rows * a.x.stride;
    double part = (double)(i % 5) / 10;
    size_t j;

    for (j = 0; j < a.x.cols; j++) x[j] = (rfm_real)((1 - part) * (double)one[j] + part * (double)two[j]);
}

/* alpha_ik - alpha_il, or +-alpha_i against nothing. */
static double lead(const rfm_model *m, const rfm_real *row, size_t k, size_t l) {
    if (m->c == 1) return k == 1 ? (double)row[0] : -(double)row[0];
    return (double)row[k] - (double)row[l];
}

static double score(const rfm_model *m, const rfm_real *x, size_t k) {
    double sum = m->offset != NULL ? (double)m->offset[k] : 0, s, part;
    rfm_real w[MOST_D];
    size_t i, q;

    for (q = 0; q < m->d; q++) w[q] = x[q] - m->shift[q];
    for (i = 0; i < m->n; i++) {
        for (s = 0, q = 0; q < m->r; q++) part = (double)m->centers[i * m->r + q] - project(m, q, w), s += part * part;
        sum += (double)m->alpha[i * m->c + k] * model_phi(m, sqrt(s));
    }
    return sum;
}

/* The definition: does the worst of each phi leave the class as it is? Laplace: phi exp(+-rho / L), also above 1. */
static int stays(const rfm_model *m, const rfm_real *x, size_t k, double rho) {
    rfm_real w[MOST_D];
    size_t i, q, l;

    for (q = 0; q < m->d; q++) w[q] = x[q] - m->shift[q];
    for (l = 0; l < m->c; l++) {
        double sum = m->offset != NULL ? lead(m, m->offset, k, l) : 0;

        if (m->c > 1 && l == k) continue;
        for (i = 0; i < m->n; i++) {
            double s = 0, part, weight = lead(m, m->alpha + i * m->c, k, l);

            for (q = 0; q < m->r; q++) part = (double)m->centers[i * m->r + q] - project(m, q, w), s += part * part;
            s = sqrt(s) + (weight > 0 ? rho : -rho);
            if (s < 0 && m->kernel == RFM_GAUSSIAN) s = 0;
            sum += weight * model_phi(m, s);
        }
        if (!(sum > 0)) return 0;
    }
    return 1;
}

static double radius_of(const rfm_model *m, const rfm_real *x, size_t k) {
    double low = 0, high = 16 * (double)m->bandwidth;
    int step;

    for (step = 0; step < 60; step++) {
        double middle = (low + high) / 2;

        if (stays(m, x, k, middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void test_definition(void) {
    size_t which, i, done = 0, positive = 0;

    for (which = 0; which < TEST_LENGTH(kinds); which++) {
        if (!make(&kinds[which])) continue;
        for (i = 0; i < ROWS; i++) {
            rfm_real x[MOST_D];
            double expect, l = (double)a.m.bandwidth;
            found f;

            test_note("definition", which, i, 0);
            look_at(i, x);
            CHECK_INT(RFM_OK, certify(&a.m, x, &f));
            CHECK_SIZE(class_of(&a.m, x), f.class_at);
            expect = radius_of(&a.m, x, f.class_at);
            CHECK_BELOW((double)f.radius, expect);
            /* The rest is rounding, which ill-conditioned sums have more of; and 0.1 % steps. */
            CHECK_BELOW(expect * 0.998 - (l / 4096 + 4e5 * TEST_EPS), (double)f.radius);
            positive += f.radius > 0, done++;
        }
    }
    if (TEST_RAM < 4096) TEST_IGNORE_MESSAGE("no room");
    CHECK(done > 0 && positive * 10 >= done * 8);
}

/* |P (y - x)| */
static double moved_by(const rfm_model *m, const rfm_real *x, const rfm_real *y) {
    double sum = 0, part;
    rfm_real w[MOST_D];
    size_t q;

    for (q = 0; q < m->d; q++) w[q] = y[q] - x[q];
    for (q = 0; q < m->r; q++) part = project(m, q, w), sum += part * part;
    return sqrt(sum);
}

/* y = x + length times a direction, in the norm of M. The direction is random; or where the lead over the other class
 * falls fastest by differences. */
static void move_along(const rfm_model *m, const rfm_real *x, double *direction, double length, rfm_real *y) {
    rfm_real unit[MOST_D] = {0}, zero[MOST_D] = {0};
    double norm;
    size_t j;

    for (j = 0; j < m->d; j++) unit[j] = (rfm_real)direction[j];
    norm = moved_by(m, zero, unit);
    for (j = 0; j < m->d; j++) y[j] = (rfm_real)((double)x[j] + (norm > 0 ? length / norm * (double)unit[j] : 0));
}

/* The steepest fall in the norm of M is M^-1 times the gradient: for the move that finds an end it is enough to take
 * each input by itself, divided by M_jj. */
static void fall(const rfm_model *m, const rfm_real *x, size_t k, double *direction) {
    size_t j, l, other = k == 0 ? 1 : 0;
    rfm_real y[MOST_D];

    for (l = 0; m->c > 1 && l < m->c; l++)
        if (l != k && score(m, x, l) > score(m, x, other)) other = l;
    for (j = 0; j < m->d; j++) {
        rfm_real zero[MOST_D] = {0}, one[MOST_D] = {0};
        double step = 1e-2, up, down, weight;

        memcpy(y, x, m->d * sizeof *y);
        y[j] = (rfm_real)((double)x[j] + step);
        up = m->c == 1 ? (k == 1 ? 1 : -1) * score(m, y, 0) : score(m, y, k) - score(m, y, other);
        y[j] = (rfm_real)((double)x[j] - step);
        down = m->c == 1 ? (k == 1 ? 1 : -1) * score(m, y, 0) : score(m, y, k) - score(m, y, other);
        one[j] = 1;
        weight = moved_by(m, zero, one);
        direction[j] = weight > 0 ? (down - up) / (weight * weight) : 0;
    }
}

/* No move inside changes the class; moves of a few radii do, for many rows. */
static void test_moves(void) {
    size_t which, i, j, move, inside = 0, rows = 0, ends = 0;

    numbers = rfm_random_start(5);
    for (which = 0; which < TEST_LENGTH(kinds); which++) {
        if (!make(&kinds[which])) continue;
        for (i = 0; i < ROWS; i++) {
            rfm_real x[MOST_D], y[MOST_D];
            double direction[MOST_D], factor_of;
            found f;

            test_note("moves", which, i, 0);
            look_at(i, x);
            CHECK_INT(RFM_OK, certify(&a.m, x, &f));
            if (!(f.radius > 0)) continue;
            for (move = 0; move < TEST_MOVES / (ROWS * TEST_LENGTH(kinds)) + 2; move++) {
                if (move % 8 == 0)
                    fall(&a.m, x, f.class_at, direction);
                else
                    for (j = 0; j < a.m.d; j++) direction[j] = uniform() - 0.5;
                move_along(&a.m, x, direction, (double)f.radius * (move % 2 == 0 ? 1 - 1e-6 : uniform()), y);
                if (moved_by(&a.m, x, y) > (double)f.radius) continue; /* y was rounded */
                CHECK_SIZE(f.class_at, class_of(&a.m, y));
                inside++;
            }
            fall(&a.m, x, f.class_at, direction);
            for (factor_of = 1.25; factor_of <= 12; factor_of *= 1.25) {
                move_along(&a.m, x, direction, (double)f.radius * factor_of, y);
                if (class_of(&a.m, y) != f.class_at) break;
            }
            ends += factor_of <= 12, rows++;
        }
    }
    if (TEST_RAM < 4096) TEST_IGNORE_MESSAGE("no room");
    test_note("moves inside, rows, of them with an end within 12 radii", inside, rows, ends);
    CHECK(rows > 0 && inside * 2 >= (size_t)TEST_MOVES * rows / (ROWS * TEST_LENGTH(kinds)));
    CHECK(ends * 2 >= rows);
}

/* Inputs alone, and several of them with shares that add up to 1. */
static void test_single_inputs(void) {
    size_t which, i, j, side, checked = 0;

    numbers = rfm_random_start(6);
    for (which = 0; which < TEST_LENGTH(kinds); which++) {
        if (!make(&kinds[which])) continue;
        for (i = 0; i < ROWS; i++) {
            rfm_real x[MOST_D], y[MOST_D];
            found f;

            test_note("inputs", which, i, 0);
            look_at(i, x);
            CHECK_INT(RFM_OK, certify(&a.m, x, &f));
            if (!(f.radius > 0)) continue;
            for (j = 0; j < a.m.d; j++) {
                rfm_real zero[MOST_D] = {0}, one[MOST_D] = {0};

                one[j] = 1;
                if (f.moves[j] >= REAL_MOST) {
                    CHECK(moved_by(&a.m, zero, one) == 0);
                    continue;
                }
                CHECK_BELOW((double)f.moves[j] * moved_by(&a.m, zero, one), (double)f.radius);
                CHECK_BELOW((double)f.radius * (1 - 100 * TEST_EPS), (double)f.moves[j] * moved_by(&a.m, zero, one));
                for (side = 0; side < 2; side++) {
                    memcpy(y, x, sizeof y);
                    y[j] += side == 0 ? f.moves[j] : -f.moves[j];
                    if (fabs((double)y[j] - (double)x[j]) > (double)f.moves[j]) y[j] = (x[j] + y[j]) / 2;
                    CHECK_SIZE(f.class_at, class_of(&a.m, y));
                    checked++;
                }
            }
            for (side = 0; side < 20; side++) {
                double rest = 1 - 1e-6, share;

                for (j = 0; j < a.m.d; j++) {
                    share = j + 1 < a.m.d ? rest * uniform() : rest;
                    rest -= share;
                    y[j] = (rfm_real)((double)x[j] + (uniform() < 0.5 ? -share : share) * (double)f.moves[j]);
                }
                CHECK_SIZE(f.class_at, class_of(&a.m, y));
            }
        }
    }
    if (TEST_RAM < 4096) TEST_IGNORE_MESSAGE("no room");
    CHECK(checked > 0);
}

/* ---- invariants ----------------------------------------------------------------------------- */

static rfm_real power_of_two(int e) { return (rfm_real)ldexp(1, e); }

static void scale_all(rfm_real *at, size_t count, rfm_real by) {
    size_t i;

    for (i = 0; i < count; i++) at[i] *= by;
}

/* Copies of the model's arrays that can be changed. */
typedef struct {
    rfm_real *p, *centers, *alpha, *shift, *offset;
    rfm_model m;
} copied;

static rfm_real *copy(const rfm_real *from, size_t count) {
    rfm_real *to = test_mat(1, count, 0, 0).at;
    size_t i;

    CHECK(to != NULL);
    for (i = 0; i < count; i++) to[i] = from != NULL ? from[i] : 0;
    return to;
}

static void copy_model(copied *c) {
    c->m = a.m;
    c->p = a.m.p != NULL ? copy(a.m.p, (a.m.metric == RFM_FULL ? a.m.r : 1) * a.m.d) : NULL;
    c->centers = copy(a.m.centers, a.m.n * a.m.r), c->alpha = copy(a.m.alpha, a.m.n * a.m.c);
    c->shift = copy(a.m.shift, a.m.d), c->offset = copy(a.m.offset, a.m.c);
    c->m.p = c->p, c->m.centers = c->centers, c->m.alpha = c->alpha, c->m.shift = c->shift, c->m.offset = c->offset;
}

static void test_scales(void) {
    static const int scales[] = {-20, -3, 7, 30};
    size_t which, i, s, j;

    for (which = 0; which < 4; which++) {
        if (!make(&kinds[which])) continue;
        for (s = 0; s < TEST_LENGTH(scales); s++)
            for (i = 0; i < 3; i++) {
                const size_t mark = test_mark();
                const rfm_real two = power_of_two(scales[s]);
                const size_t entries = (a.m.metric == RFM_FULL ? a.m.r : 1) * a.m.d;
                rfm_real x[MOST_D];
                found was, f;
                copied c;

                test_note("scale", which, s, i);
                look_at(i, x);
                CHECK_INT(RFM_OK, certify(&a.m, x, &was));
                /* scores in other units: nothing changes */
                copy_model(&c);
                scale_all(c.alpha, a.m.n * a.m.c, two), scale_all(c.offset, a.m.c, two);
                CHECK_INT(RFM_OK, certify(&c.m, x, &f));
                CHECK(f.class_at == was.class_at && f.radius == was.radius && f.moves[0] == was.moves[0]);
                /* inputs in other units: the moves have them */
                copy_model(&c);
                if (c.p == NULL) continue;
                scale_all(c.p, entries, 1 / two), scale_all(c.shift, a.m.d, two), scale_all(x, a.m.d, two);
                CHECK_INT(RFM_OK, certify(&c.m, x, &f));
                CHECK(f.class_at == was.class_at && f.radius == was.radius);
                for (j = 0; j < a.m.d; j++)
                    CHECK(f.moves[j] == (was.moves[j] < REAL_MOST ? two * was.moves[j] : REAL_MOST));
                /* P and L in other units: the radius has them, up to what counts as 0. Within 1e-12 .. 1e12. */
                scale_all(x, a.m.d, 1 / two);
                copy_model(&c);
                scale_all(c.p, entries, two), scale_all(c.centers, a.m.n * a.m.r, two);
                c.m.bandwidth *= two;
                CHECK_INT(RFM_OK, certify(&c.m, x, &f));
                CHECK_BELOW(fabs((double)f.radius / (double)two - (double)was.radius), 1e-4 * (double)was.radius);
                test_rewind(mark);
            }
    }
}

/* The more the class leads, the larger the radius; the more everything weighs that could change, the smaller. */
static void test_monotone(void) {
    size_t which, i, step;

    for (which = 0; which < 4; which++) {
        if (!make(&kinds[which])) continue;
        for (i = 0; i < 4; i++) {
            const size_t mark = test_mark();
            rfm_real x[MOST_D], last = 0;
            found f;
            copied c;

            copy_model(&c);
            look_at(i, x);
            CHECK_INT(RFM_OK, certify(&a.m, x, &f));
            last = f.radius;
            for (step = 0; step < 6; step++) {
                size_t k = f.class_at;

                test_note("monotone", which, i, step);
                c.offset[a.m.c == 1 ? 0 : k] += (rfm_real)(a.m.c == 1 && k == 0 ? -0.1 : 0.1);
                CHECK_INT(RFM_OK, certify(&c.m, x, &f));
                CHECK_SIZE(k, f.class_at);
                CHECK(f.radius > last);
                last = f.radius;
            }
            test_rewind(mark);
        }
    }
}

/* ---- edges ---------------------------------------------------------------------------------- */

/* One centre, one input. */
typedef struct {
    rfm_real shift, p, center, alpha[2], offset[2];
    rfm_model m;
} tiny;

static void tiny_make(tiny *t, int kernel, size_t c) {
    memset(t, 0, sizeof *t);
    t->p = 1, t->alpha[0] = 1, t->alpha[1] = -1;
    t->m.n = t->m.d = t->m.r = 1, t->m.c = c, t->m.kernel = kernel, t->m.metric = RFM_DIAGONAL;
    t->m.task = RFM_CLASSIFY, t->m.bandwidth = 1;
    t->m.shift = &t->shift, t->m.p = &t->p, t->m.centers = &t->center, t->m.alpha = t->alpha, t->m.offset = t->offset;
}

/* f = phi - 1/2 of the distance s: the class ends where phi is 1/2. */
static void test_one_centre(void) {
    const double ends[] = {0.6931471805599453, 1.1774100225154747}; /* log 2, sqrt(2 log 2) */
    int kernel;
    size_t i, c;

    for (kernel = RFM_LAPLACE; kernel <= RFM_GAUSSIAN; kernel++)
        for (c = 1; c <= 2; c++)
            for (i = 0; i < 20; i++) {
                rfm_real x = (rfm_real)((double)i / 8);
                double expect = fabs(ends[kernel] - (double)x);
                tiny t;
                found f;

                test_note("one centre", (size_t)kernel, c, i);
                tiny_make(&t, kernel, c);
                t.offset[0] = c == 1 ? (rfm_real)-0.5 : (rfm_real)-1;
                CHECK_INT(RFM_OK, certify(&t.m, &x, &f));
                CHECK_SIZE(((double)x < ends[kernel]) == (c == 1), f.class_at);
                CHECK_BELOW((double)f.radius, expect);
                CHECK_BELOW(expect * 0.999 - 2000 * TEST_EPS, (double)f.radius);
                CHECK_BELOW((double)f.moves[0], (double)f.radius);
            }
}

static void test_ties(void) {
    int kernel;
    rfm_real x = (rfm_real)0.25;
    tiny t;
    found f;

    for (kernel = RFM_LAPLACE; kernel <= RFM_GAUSSIAN; kernel++) {
        tiny_make(&t, kernel, 2);
        t.alpha[1] = 1; /* equal scores */
        CHECK_INT(RFM_OK, certify(&t.m, &x, &f));
        CHECK(f.class_at == 0 && f.radius == 0 && f.moves[0] == 0);
        t.offset[0] = TEST_EPS > 1e-10 ? (rfm_real)1e-7 : (rfm_real)1e-16; /* less than rounding can tell */
        CHECK_INT(RFM_OK, certify(&t.m, &x, &f));
        CHECK(f.radius == 0);
        t.offset[0] = (rfm_real)0.5; /* one class for ever: a finite radius */
        CHECK_INT(RFM_OK, certify(&t.m, &x, &f));
        CHECK(f.class_at == 0 && f.radius > 5 && f.radius < 40);
        tiny_make(&t, kernel, 1);
        t.alpha[0] = 0; /* f = 0: class 0, and no lead */
        CHECK_INT(RFM_OK, certify(&t.m, &x, &f));
        CHECK(f.class_at == 0 && f.radius == 0);
        tiny_make(&t, kernel, 2);
        t.p = 0; /* an input that does not matter */
        CHECK_INT(RFM_OK, certify(&t.m, &x, &f));
        CHECK(f.class_at == 0 && f.radius > 0 && f.moves[0] == REAL_MOST);
        t.m.offset = NULL, t.m.metric = RFM_IDENTITY, t.m.p = NULL;
        CHECK_INT(RFM_OK, certify(&t.m, &x, &f));
        CHECK(f.class_at == 0 && f.radius > 0 && f.moves[0] <= f.radius && f.moves[0] > f.radius / 2);
    }
}

/* Every size that numbers have: finite results, and no move inside changes the class. */
static void test_extremes(void) {
    static const int sizes[] = {-120, -70, -30, 0, 30, 60, 100, 120};
    size_t i, j, k, checked = 0;
    int kernel;

    for (kernel = RFM_LAPLACE; kernel <= RFM_GAUSSIAN; kernel++)
        for (i = 0; i < TEST_LENGTH(sizes); i++)
            for (j = 0; j < TEST_LENGTH(sizes); j++)
                for (k = 0; k < TEST_LENGTH(sizes); k++) {
                    rfm_real x, y;
                    tiny t;
                    found f;
                    int status;

                    test_note("extremes", i, j, k);
                    tiny_make(&t, kernel, 2);
                    t.alpha[0] = power_of_two(sizes[i]), t.alpha[1] = -t.alpha[0], t.offset[0] = -t.alpha[0];
                    t.p = power_of_two(sizes[j]);
                    x = power_of_two(sizes[k]) / 3;
                    t.m.bandwidth = power_of_two(sizes[k] < -30 ? -30 : sizes[k] > 30 ? 30 : sizes[k]);
                    status = certify(&t.m, &x, &f);
                    CHECK(status == RFM_OK || status == RFM_ERANGE);
                    if (status != RFM_OK || !(f.radius > 0)) continue;
                    y = x + f.moves[0];
                    if (y - x > f.moves[0]) y = x;
                    if (!rfm_finite(1, &y)) continue;
                    CHECK_SIZE(f.class_at, class_of(&t.m, &y));
                    y = x - f.moves[0];
                    if (x - y > f.moves[0]) y = x;
                    if (!rfm_finite(1, &y)) continue;
                    CHECK_SIZE(f.class_at, class_of(&t.m, &y));
                    checked++;
                }
    CHECK(checked > 100);
}

static void test_errors(void) {
    rfm_real x = 1, scores[2], scratch[RFM_CERTIFY_SCRATCH(1, 1, 2)], radius = 7, moves[1] = {7};
    size_t class_at = 7;
    tiny t;

    tiny_make(&t, RFM_LAPLACE, 2);
    CHECK_INT(RFM_OK, rfm_certify(&t.m, &x, scores, scratch, &class_at, &radius, NULL));
    CHECK(class_at == 0 && radius > 0);
    class_at = 7, radius = 7;
    CHECK_INT(RFM_ENULL, rfm_certify(NULL, &x, scores, scratch, &class_at, &radius, moves));
    CHECK_INT(RFM_ENULL, rfm_certify(&t.m, NULL, scores, scratch, &class_at, &radius, moves));
    CHECK_INT(RFM_ENULL, rfm_certify(&t.m, &x, NULL, scratch, &class_at, &radius, moves));
    CHECK_INT(RFM_ENULL, rfm_certify(&t.m, &x, scores, NULL, &class_at, &radius, moves));
    CHECK_INT(RFM_ENULL, rfm_certify(&t.m, &x, scores, scratch, NULL, &radius, moves));
    CHECK_INT(RFM_ENULL, rfm_certify(&t.m, &x, scores, scratch, &class_at, NULL, moves));
    t.m.task = RFM_REGRESS;
    CHECK_INT(RFM_EVALUE, rfm_certify(&t.m, &x, scores, scratch, &class_at, &radius, moves));
    t.m.task = RFM_CLASSIFY, t.m.exponent = 1;
    for (t.m.kernel = RFM_GENERAL; t.m.kernel < RFM_KERNELS; t.m.kernel++)
        CHECK_INT(RFM_EVALUE, rfm_certify(&t.m, &x, scores, scratch, &class_at, &radius, moves));
    t.m.kernel = RFM_LAPLACE, x = (rfm_real)NAN;
    CHECK_INT(RFM_EFINITE, rfm_certify(&t.m, &x, scores, scratch, &class_at, &radius, moves));
    x = (rfm_real)INFINITY;
    CHECK_INT(RFM_EFINITE, rfm_certify(&t.m, &x, scores, scratch, &class_at, &radius, moves));
    x = 0, t.offset[0] = REAL_MOST, t.alpha[0] = REAL_MOST;
    CHECK_INT(RFM_ERANGE, rfm_certify(&t.m, &x, scores, scratch, &class_at, &radius, moves));
    CHECK(class_at == 7 && radius == 7 && moves[0] == 7);
}

/* ---- integers ------------------------------------------------------------------------------- */

typedef struct {
    int32_t scores[MOST_C];
    size_t class_at;
    uint32_t square;
    uint16_t counts[MOST_D];
    int16_t z[MOST_D];
} found_i;

/* On exactly its scratch and room; z is what the row gave. */
static int certify_i(const rfm_model_i *m, const int16_t *x, found_i *f) {
    const size_t mark = test_mark();
    int16_t *scratch = (int16_t *)test_take(RFM_PREDICT_I_SCRATCH(m->d, m->r) * sizeof *scratch);
    int64_t *room = (int64_t *)test_take(RFM_CERTIFY_I_ROOM(m->r, m->c) * sizeof *room);
    int status;

    CHECK(scratch != NULL && room != NULL && m->d <= MOST_D && m->r <= MOST_D && m->c <= MOST_C);
    memset(f, 0xFF, sizeof *f);
    status = rfm_certify_i(m, x, f->scores, scratch, room, &f->class_at, &f->square, f->counts);
    if (status == RFM_OK) memcpy(f->z, scratch + m->d, m->r * sizeof *f->z);
    test_rewind(mark);
    return status;
}

/* The class of a row, and |z' - z|^2. */
static size_t class_of_i(const rfm_model_i *m, const int16_t *x, const int16_t *z, uint32_t *apart) {
    int16_t scratch[2 * MOST_D];
    int32_t scores[MOST_C];
    size_t q;

    CHECK_INT(RFM_OK, rfm_predict_i(m, x, scores, scratch, NULL, NULL));
    for (*apart = 0, q = 0; q < m->r; q++) {
        int32_t diff = scratch[m->d + q] - z[q];
        *apart += (uint32_t)(diff * diff);
    }
    return rfm_class_i(m, scores);
}

static rfm_model_i integers;

/* Integers of the model, calibrated on its training rows. 0: no room. */
static int make_i(const kind *k, int type) {
    rfm_arena store, arena;
    rfm_ctx ctx = a.ctx;
    size_t scratch = 0, kept = 0;
    void *mem, *model;

    if (!make(k)) return 0;
    CHECK_INT(RFM_OK, rfm_small_integers_need(&ctx, &a.m, &a.data, type, &scratch, &kept));
    model = test_take(kept), mem = test_take(scratch);
    if (model == NULL || mem == NULL) return 0;
    CHECK_INT(RFM_OK, rfm_arena_init(&store, model, kept));
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, mem, scratch));
    ctx.arena = &arena;
    CHECK_INT(RFM_OK, rfm_small_integers(&ctx, &a.m, &a.data, type, (rfm_real)0.01, &store, &integers));
    integers.task = RFM_CLASSIFY;
    return 1;
}

static void look_at_i(size_t i, int16_t *x) {
    rfm_real row[MOST_D];

    look_at(i, row);
    CHECK_INT(RFM_OK, rfm_input_integers(&integers, row, x));
}

static int16_t clipped(double x) { return (int16_t)fmax(-32768, fmin(32767, floor(x + 0.5))); }

static void check_counts(const int16_t *x, const found_i *f, size_t *checked) {
    int16_t y[MOST_D];
    uint32_t apart;
    size_t j;
    int side;

    for (j = 0; j < integers.d; j++) {
        int farther = 0;

        memcpy(y, x, sizeof y);
        for (side = -1; side <= 1; side += 2) {
            y[j] = clipped(x[j] + side * (double)f->counts[j]);
            CHECK_SIZE(f->class_at, class_of_i(&integers, y, f->z, &apart));
            CHECK_BELOW(apart, f->square);
            y[j] = clipped(x[j] + side * floor(uniform() * f->counts[j]));
            CHECK_SIZE(f->class_at, class_of_i(&integers, y, f->z, &apart));
            CHECK_BELOW(apart, f->square);
            y[j] = clipped(x[j] + side * (f->counts[j] + 1.0));
            (void)class_of_i(&integers, y, f->z, &apart);
            farther |= apart > f->square;
            ++*checked;
        }
        CHECK(farther == (f->counts[j] < RFM_CERTIFY_I_FREE)); /* one more count leaves the radius */
    }
}

static void test_integer_moves(void) {
    size_t which, type, i, j, move, inside = 0, rows = 0, ends = 0, checked = 0;

    numbers = rfm_random_start(7);
    for (which = 0; which < TEST_LENGTH(kinds); which++)
        for (type = 0; type < 2; type++) {
            if (!make_i(&kinds[which], type == 0 ? RFM_I8 : RFM_I16)) continue;
            for (i = 0; i < ROWS; i++) {
                int16_t x[MOST_D], y[MOST_D];
                uint32_t apart;
                double end = 0;
                found_i f;

                test_note("integer moves", which, type, i);
                look_at_i(i, x);
                CHECK_INT(RFM_OK, certify_i(&integers, x, &f));
                CHECK_SIZE(f.class_at, class_of_i(&integers, x, f.z, &apart));
                CHECK_SIZE(0, apart);
                check_counts(x, &f, &checked);
                rows++;
                for (move = 0; move < TEST_MOVES / (ROWS * TEST_LENGTH(kinds) * 2) + 2; move++) {
                    /* As many counts as single inputs may move, in all directions; some end farther. */
                    double size = (move % 2 == 0 ? 0.5 : 2) * uniform();
                    for (j = 0; j < integers.d; j++) y[j] = clipped(x[j] + size * (2 * uniform() - 1) * f.counts[j]);
                    if (class_of_i(&integers, y, f.z, &apart) != f.class_at) {
                        CHECK(apart > f.square);
                        end = 1;
                    } else
                        inside += apart <= f.square;
                }
                for (move = 0; move < 200 && end == 0; move++) {
                    for (j = 0; j < integers.d; j++) y[j] = clipped(x[j] + 6 * (2 * uniform() - 1) * f.counts[j]);
                    end = class_of_i(&integers, y, f.z, &apart) != f.class_at;
                    if (end > 0) CHECK(apart > f.square);
                }
                ends += end > 0 && f.square > 0;
            }
        }
    if (TEST_RAM < 4096) TEST_IGNORE_MESSAGE("no room");
    CHECK(rows > 0 && checked > 0 && inside * 4 >= (size_t)TEST_MOVES * rows / (ROWS * TEST_LENGTH(kinds) * 2));
    CHECK(ends * 3 >= rows);
}

/* Two inputs, every pair of them: models worked out by hand, of both types and metrics, one and three outputs. */
enum { HAND_N = 4, HAND_NODES = 100 };

typedef struct {
    rfm_input_i inputs[2];
    int8_t p8[4], centers8[HAND_N * 2], alpha8[HAND_N * 3];
    int16_t p16[4], centers16[HAND_N * 2], alpha16[HAND_N * 3];
    int32_t bias[2], offset[3];
    uint8_t shifts[2];
    uint16_t phi[HAND_NODES];
    float units[3];
    rfm_model_i m;
} hand;

static hand by_hand;

static void hand_make(int type, int metric, size_t c) {
    static const int8_t p[4] = {90, -35, 20, 70}, centers[HAND_N * 2] = {40, -30, -60, 20, 70, 80, -10, -90};
    static const int8_t alpha[HAND_N * 3] = {50, -60, 20, -80, 90, 5, 33, -20, 100, -70, 30, -12};
    hand *h = &by_hand;
    size_t i;

    memset(h, 0, sizeof *h);
    for (i = 0; i < 2; i++)
        h->inputs[i].low = -30, h->inputs[i].high = 33, h->inputs[i].gain = (uint16_t)(9 + 2 * i),
        h->inputs[i].shift = 1;
    for (i = 0; i < 4; i++) h->p8[i] = p[i], h->p16[i] = (int16_t)(p[i] * 9);
    for (i = 0; i < HAND_N * 2; i++) h->centers8[i] = centers[i], h->centers16[i] = (int16_t)(centers[i] * 3);
    for (i = 0; i < HAND_N * 3; i++) h->alpha8[i] = alpha[i], h->alpha16[i] = (int16_t)(alpha[i] * 201);
    for (i = 0; i < HAND_NODES; i++) h->phi[i] = (uint16_t)(32767 * exp(-0.0006 * (double)(i * i)));
    h->bias[0] = metric == RFM_FULL ? -9000 : -150, h->bias[1] = metric == RFM_FULL ? -12000 : -170;
    h->shifts[0] = 7, h->shifts[1] = 6;
    h->offset[0] = 100000, h->offset[1] = -50000;
    for (i = 0; i < 3; i++) h->units[i] = 1;
    h->m.n = HAND_N, h->m.d = h->m.r = 2, h->m.c = c, h->m.type = type, h->m.metric = metric;
    h->m.task = RFM_CLASSIFY, h->m.limit = type == RFM_I8 ? 255 : 16383;
    h->m.inputs = h->inputs, h->m.bias = h->bias, h->m.offset = h->offset, h->m.units = h->units;
    h->m.phi = h->phi, h->m.nodes = HAND_NODES;
    h->m.centers = type == RFM_I8 ? (const void *)h->centers8 : h->centers16;
    h->m.alpha = type == RFM_I8 ? (const void *)h->alpha8 : h->alpha16;
    if (metric == RFM_FULL) h->m.p = type == RFM_I8 ? (const void *)h->p8 : h->p16, h->m.shifts = h->shifts;
}

/* So few different scores that many are equal. */
static void hand_coarse(void) {
    size_t i;

    for (i = 0; i < HAND_NODES; i++) by_hand.phi[i] = (uint16_t)(by_hand.phi[i] >> 12);
    for (i = 0; i < HAND_N * 3; i++) by_hand.alpha8[i] /= 25;
    by_hand.offset[0] = 0, by_hand.offset[1] = 1;
}

static void test_every_move(void) {
    size_t type, metric, c, i, rows = 0, zero = 0, near = 0, classes = 0;
    int16_t y[2];

    for (type = 0; type < 2; type++)
        for (metric = RFM_DIAGONAL; metric <= RFM_FULL; metric++)
            for (c = 1; c <= 3; c++)
                for (i = 0; i < (TEST_MOVES < 1000 ? 4 : 40); i++) {
                    int16_t x[2];
                    uint32_t apart, end = UINT32_MAX;
                    found_i f;

                    test_note("every move", type * 2 + metric, c, i);
                    hand_make(type == 0 ? RFM_I8 : RFM_I16, (int)metric, c);
                    if (i % 4 == 3) hand_coarse();
                    x[0] = (int16_t)((i * 37) % 64 - 30), x[1] = (int16_t)((i * 23 + 5) % 64 - 30);
                    CHECK_INT(RFM_OK, certify_i(&by_hand.m, x, &f));
                    for (y[0] = -31; y[0] < 35; y[0]++)
                        for (y[1] = -31; y[1] < 35; y[1]++)
                            if (class_of_i(&by_hand.m, y, f.z, &apart) != f.class_at && apart < end) end = apart;
                    CHECK(f.square < end);
                    if (i % 4 == 3) continue;
                    rows++, zero += f.square == 0, classes |= 1u << f.class_at;
                    near += end < UINT32_MAX && f.square > 0 && 9.0 * f.square >= end;
                }
    CHECK(zero * 4 < rows && near * 3 >= rows && classes == 7);
}

static void test_integer_edges(void) {
    int16_t x[2] = {3, -4}, scratch[4];
    int32_t scores[3];
    int64_t room[RFM_CERTIFY_I_ROOM(2, 3)];
    size_t class_at = 9, i;
    uint32_t radius = 9;
    uint16_t counts[2] = {9, 9};
    found_i f;

    /* equal scores for ever: the first class */
    hand_make(RFM_I16, RFM_FULL, 2);
    for (i = 0; i < HAND_N; i++) by_hand.alpha16[2 * i + 1] = by_hand.alpha16[2 * i];
    by_hand.offset[1] = by_hand.offset[0];
    CHECK_INT(RFM_OK, certify_i(&by_hand.m, x, &f));
    CHECK(f.class_at == 0 && f.square == 32767u * 32767u && f.counts[0] == RFM_CERTIFY_I_FREE);
    by_hand.offset[1]++; /* the second leads by 1, for ever: but for the rounding of each term */
    CHECK_INT(RFM_OK, certify_i(&by_hand.m, x, &f));
    CHECK(f.class_at == 1 && f.square == 32767u * 32767u);
    /* numbers as large as they may be: nothing overflows (UBSan), nothing is certified that is not so */
    hand_make(RFM_I16, RFM_FULL, 2);
    for (i = 0; i < 2 * HAND_N; i++)
        by_hand.centers16[i] = i % 3 == 0 ? 16383 : -16383, by_hand.alpha16[i] = i % 2 == 0 ? 32767 : -32768;
    by_hand.offset[0] = 2147450879 - HAND_N * 32768 * 128, by_hand.offset[1] = -by_hand.offset[0];
    by_hand.m.nodes = 1;
    CHECK_INT(RFM_OK, certify_i(&by_hand.m, x, &f));
    CHECK(f.class_at == 0 && f.square == 32767u * 32767u);
    by_hand.m.nodes = HAND_NODES;
    for (i = 0; i < HAND_NODES; i++) by_hand.phi[i] = RFM_PHI_ONE;
    by_hand.bias[0] = by_hand.bias[1] = 2000000000;
    CHECK_INT(RFM_OK, certify_i(&by_hand.m, x, &f));
    CHECK(f.class_at == 0 && f.z[0] == 16383);

    hand_make(RFM_I8, RFM_DIAGONAL, 3);
    CHECK_INT(RFM_OK, rfm_certify_i(&by_hand.m, x, scores, scratch, room, &class_at, &radius, NULL));
    class_at = 9, radius = 9;
    CHECK_INT(RFM_ENULL, rfm_certify_i(NULL, x, scores, scratch, room, &class_at, &radius, counts));
    CHECK_INT(RFM_ENULL, rfm_certify_i(&by_hand.m, NULL, scores, scratch, room, &class_at, &radius, counts));
    CHECK_INT(RFM_ENULL, rfm_certify_i(&by_hand.m, x, NULL, scratch, room, &class_at, &radius, counts));
    CHECK_INT(RFM_ENULL, rfm_certify_i(&by_hand.m, x, scores, NULL, room, &class_at, &radius, counts));
    CHECK_INT(RFM_ENULL, rfm_certify_i(&by_hand.m, x, scores, scratch, NULL, &class_at, &radius, counts));
    CHECK_INT(RFM_ENULL, rfm_certify_i(&by_hand.m, x, scores, scratch, room, NULL, &radius, counts));
    CHECK_INT(RFM_ENULL, rfm_certify_i(&by_hand.m, x, scores, scratch, room, &class_at, NULL, counts));
    by_hand.phi[50] = (uint16_t)(by_hand.phi[49] + 1); /* a table that rises */
    CHECK_INT(RFM_EVALUE, rfm_certify_i(&by_hand.m, x, scores, scratch, room, &class_at, &radius, counts));
    hand_make(RFM_I8, RFM_DIAGONAL, 3);
    by_hand.m.task = RFM_REGRESS;
    CHECK_INT(RFM_EVALUE, rfm_certify_i(&by_hand.m, x, scores, scratch, room, &class_at, &radius, counts));
    CHECK(class_at == 9 && radius == 9 && counts[0] == 9 && counts[1] == 9);
}

/* ---- tiny models ---------------------------------------------------------------------------- */

enum { TINY_D = 6, TINY_R = 4, TINY_N = 7, TINY_C = 3 };

typedef struct {
    int16_t bias[TINY_R], offset[TINY_C];
    int8_t p[TINY_R * TINY_D], centers[TINY_N * TINY_R], alpha[TINY_N * TINY_C];
    uint8_t counts[TINY_C], shifts[TINY_R];
    rfm_tiny m;
} drawn;

static drawn few;

typedef struct {
    uint32_t n, d, c, r, s;
    int prototypes, offset;
} few_shape;

static const few_shape few_shapes[] = {{4, 2, 1, 2, 10, 0, 1}, {5, 2, 3, 2, 11, 0, 0}, {7, 2, 3, 2, 10, 1, 1},
                                       {3, 2, 2, 1, 9, 1, 0},  {6, 2, 2, 3, 11, 0, 1}, {7, 6, 3, 4, 11, 1, 0},
                                       {5, 4, 3, 3, 12, 0, 0}, {1, 1, 1, 1, 8, 0, 1}};

/* Integers of z that spread over their range for inputs between -32 and 31. */
static void few_make(const few_shape *s, uint32_t seed) {
    uint32_t state = rfm_random_start(seed);
    size_t i;

    memset(&few, 0, sizeof few);
    for (i = 0; i < TINY_R * TINY_D; i++) few.p[i] = (int8_t)(rfm_random(&state) >> 24);
    for (i = 0; i < TINY_N * TINY_R; i++) few.centers[i] = (int8_t)((int)(rfm_random(&state) % 201) - 100);
    for (i = 0; i < TINY_N * TINY_C; i++) few.alpha[i] = (int8_t)(rfm_random(&state) >> 24);
    for (i = 0; i < TINY_R; i++) few.shifts[i] = (uint8_t)(5 + i % 2), few.bias[i] = (int16_t)(4 * (int)i - 6);
    for (i = 0; i < TINY_C; i++) few.offset[i] = (int16_t)((int)(rfm_random(&state) % 4001) - 2000);
    few.counts[0] = 1, few.counts[1] = (uint8_t)(s->c == 2 ? s->n - 1 : 0), few.counts[2] = (uint8_t)(s->n - 1);
    few.m.n = s->n, few.m.d = s->d, few.m.c = s->c, few.m.r = s->r, few.m.phi_shift = s->s, few.m.task = RFM_CLASSIFY;
    few.m.bias = few.bias, few.m.p = few.p, few.m.centers = few.centers, few.m.alpha = few.alpha;
    few.m.shifts = few.shifts, few.m.offset = s->offset ? few.offset : NULL;
    few.m.counts = s->prototypes ? few.counts : NULL;
}

typedef struct {
    int32_t scores[TINY_C];
    size_t class_at;
    uint32_t square;
    uint16_t counts[TINY_D];
    int8_t z[TINY_R];
} found_tiny;

/* On exactly its scratch and room. */
static int certify_tiny(const int16_t *x, found_tiny *f) {
    const size_t mark = test_mark();
    int8_t *scratch = (int8_t *)test_take(few.m.r);
    int64_t *room = (int64_t *)test_take(RFM_TINY_CERTIFY_ROOM(few.m.r, few.m.c) * sizeof *room);
    int status;

    CHECK(scratch != NULL && room != NULL);
    memset(f, 0xFF, sizeof *f);
    status = rfm_tiny_certify(&few.m, x, f->scores, scratch, room, &f->class_at, &f->square, f->counts);
    if (status == RFM_OK) memcpy(f->z, scratch, few.m.r);
    test_rewind(mark);
    return status;
}

/* The class of a row, and |z' - z|^2. */
static size_t class_of_tiny(const int16_t *x, const int8_t *z, uint32_t *apart) {
    int8_t scratch[TINY_R];
    int32_t scores[TINY_C];
    size_t q;

    CHECK_INT(RFM_OK, rfm_tiny_predict(&few.m, x, scores, scratch, NULL));
    for (*apart = 0, q = 0; q < few.m.r; q++) *apart += (uint32_t)((scratch[q] - z[q]) * (scratch[q] - z[q]));
    return rfm_tiny_class(&few.m, scores);
}

/* phi by its definition, at a whole t. */
static int64_t tiny_phi(int64_t t) {
    const int64_t width = (int64_t)1 << few.m.phi_shift, halved = t / width, f = t % width * 16384 / width;
    return halved > 15 ? 0 : ((32768 - f) * (32768 - f) + 536870912) / ((int64_t)65536 << halved);
}

static int64_t tiny_alpha(size_t i, size_t k) {
    size_t first = 0, l;

    if (few.m.counts == NULL) return few.alpha[i * few.m.c + k];
    for (l = 0; l < k; l++) first += few.counts[l];
    return i >= first && i < first + few.counts[k] ? few.alpha[i] : 0;
}

/* The definition: every t' between (sqrt(t) -+ rho)^2, and `more` on either side; the class leads with the worst. */
static int tiny_stays(const found_tiny *f, double rho, double more) {
    size_t i, l, q, k = f->class_at;

    for (l = 0; l < few.m.c; l++) {
        int64_t sum = 0;

        if (few.m.c > 1 && l == k) continue;
        if (few.m.offset != NULL)
            sum = 256 * (few.m.c == 1 ? (k == 1 ? 1 : -1) * few.offset[0] : few.offset[k] - few.offset[l]);
        for (i = 0; i < few.m.n; i++) {
            int64_t lead_at = few.m.c > 1 ? tiny_alpha(i, k) - tiny_alpha(i, l) : (k == 1 ? 1 : -1) * tiny_alpha(i, 0);
            double t = 0, low, high;

            for (q = 0; q < few.m.r; q++) t += pow(f->z[q] - few.centers[i * few.m.r + q], 2);
            low = sqrt(t) > rho ? pow(sqrt(t) - rho, 2) - more : 0, high = pow(sqrt(t) + rho, 2) + more;
            sum += lead_at * tiny_phi(lead_at > 0 ? (int64_t)floor(high + 1e-9) : (int64_t)ceil(fmax(0, low - 1e-9)));
        }
        if (sum < (few.m.c == 1 ? (int)k : l < k)) return 0;
    }
    return 1;
}

static int16_t few_input(size_t i, size_t j) { return (int16_t)((int)((i * 37 + j * 29 + i * i * 5) % 64) - 32); }

/* As large as the definition has it, and not larger: bounds are rounded by 2 at most, rho by 1/64. */
static void test_tiny_definition(void) {
    size_t which, i, j, rows = 0, positive = 0;

    for (which = 0; which < TEST_LENGTH(few_shapes); which++)
        for (i = 0; i < (TEST_MOVES < 1000 ? 6 : 60); i++) {
            int16_t x[TINY_D];
            found_tiny f;

            test_note("tiny definition", which, i, 0);
            few_make(&few_shapes[which], (uint32_t)(i / 6));
            for (j = 0; j < TINY_D; j++) x[j] = few_input(i, j);
            CHECK_INT(RFM_OK, certify_tiny(x, &f));
            CHECK(f.square <= 32767u * 32767u >> 12);
            if (f.square > 0) CHECK(tiny_stays(&f, sqrt(f.square), 0));
            if (f.square < 260000) CHECK(!tiny_stays(&f, sqrt(f.square + 1.0) + 1.0 / 32, 2));
            rows++, positive += f.square > 0;
        }
    CHECK(positive * 10 >= rows * 8);
}

/* Two inputs, every pair of them. */
static void test_tiny_every_move(void) {
    size_t which, i, rows = 0, near = 0;

    for (which = 0; which < 5; which++)
        for (i = 0; i < (TEST_MOVES < 1000 ? 4 : 40); i++) {
            int16_t x[TINY_D] = {0}, y[TINY_D] = {0};
            uint32_t apart, end = UINT32_MAX;
            found_tiny f;

            test_note("tiny every move", which, i, 0);
            few_make(&few_shapes[which], (uint32_t)(i / 4));
            if (i % 4 == 3) /* so few different scores that many are equal */
                for (apart = 0; apart < TINY_N * TINY_C; apart++) few.alpha[apart] /= 100;
            x[0] = few_input(i, 0), x[1] = few_input(i, 1);
            CHECK_INT(RFM_OK, certify_tiny(x, &f));
            for (y[0] = -33; y[0] < 33; y[0]++)
                for (y[1] = -33; y[1] < 33; y[1]++)
                    if (class_of_tiny(y, f.z, &apart) != f.class_at && apart < end) end = apart;
            CHECK(f.square < end);
            rows++, near += end < UINT32_MAX && f.square > 0 && 9.0 * f.square >= end;
        }
    CHECK(near * 4 >= rows);
}

/* Single inputs to their ends and one farther; all of them at once. */
static void test_tiny_moves(void) {
    size_t which, i, j, move, inside = 0, ends = 0, unlimited = 0;

    numbers = rfm_random_start(9);
    for (which = 0; which < TEST_LENGTH(few_shapes); which++)
        for (i = 0; i < ROWS; i++) {
            int16_t x[TINY_D], y[TINY_D];
            uint32_t apart;
            found_tiny f;
            int side;

            test_note("tiny moves", which, i, 0);
            few_make(&few_shapes[which], (uint32_t)(i / 3));
            if (i % 4 == 0)
                for (j = 0; j < few.m.r; j++) few.p[j * few.m.d] = 0;
            for (j = 0; j < TINY_D; j++) x[j] = (int16_t)(few_input(i, j) * (i % 5 == 4 ? 1023 : 1));
            CHECK_INT(RFM_OK, certify_tiny(x, &f));
            CHECK_SIZE(f.class_at, class_of_tiny(x, f.z, &apart));
            CHECK_SIZE(0, apart);
            for (j = 0; j < few.m.d; j++) {
                int farther = 0;

                memcpy(y, x, sizeof y);
                for (side = -1; side <= 1; side += 2) {
                    y[j] = clipped(x[j] + side * (double)f.counts[j]);
                    CHECK_SIZE(f.class_at, class_of_tiny(y, f.z, &apart));
                    CHECK_BELOW(apart, f.square);
                    y[j] = clipped(x[j] + side * (f.counts[j] + 1.0));
                    (void)class_of_tiny(y, f.z, &apart);
                    farther |= apart > f.square;
                }
                CHECK(farther == (f.counts[j] < RFM_TINY_FREE));
                unlimited += f.counts[j] == RFM_TINY_FREE;
            }
            for (move = 0; move < TEST_MOVES / (ROWS * TEST_LENGTH(few_shapes)) + 2; move++) {
                double size = (move % 2 == 0 ? 0.5 : 3) * uniform();
                for (j = 0; j < few.m.d; j++) y[j] = clipped(x[j] + size * (2 * uniform() - 1) * (f.counts[j] + 1));
                if (class_of_tiny(y, f.z, &apart) != f.class_at) {
                    CHECK(apart > f.square);
                    ends++;
                } else
                    inside += apart <= f.square;
            }
        }
    CHECK(inside * 4 >= TEST_MOVES && ends * 100 >= TEST_MOVES && unlimited > 0);
}

static void test_tiny_edges(void) {
    static const few_shape two = {4, 2, 2, 2, 10, 0, 0};
    int16_t x[TINY_D] = {3, -4};
    int8_t scratch[TINY_R];
    int32_t scores[TINY_C];
    int64_t room[RFM_TINY_CERTIFY_ROOM(TINY_R, TINY_C)];
    size_t class_at = 9, i;
    uint32_t square = 9;
    uint16_t counts[2] = {9, 9};
    found_tiny f;

    /* equal scores for ever: the first class */
    few_make(&two, 1);
    for (i = 0; i < 4; i++) few.alpha[2 * i + 1] = few.alpha[2 * i];
    CHECK_INT(RFM_OK, certify_tiny(x, &f));
    CHECK(f.class_at == 0 && f.square == 32767u * 32767u >> 12 && f.counts[0] == RFM_TINY_FREE);
    few.m.offset = few.offset, few.offset[0] = 0, few.offset[1] = 1; /* the second leads, for ever */
    CHECK_INT(RFM_OK, certify_tiny(x, &f));
    CHECK(f.class_at == 1 && f.square == 32767u * 32767u >> 12);
    /* numbers as large as they may be: nothing overflows (UBSan) */
    few_make(&two, 1);
    few.m.offset = few.offset, few.offset[0] = 32767, few.offset[1] = -32768, few.m.phi_shift = 14;
    for (i = 0; i < 4; i++) few.p[i] = -128, few.shifts[i % 2] = 0, few.bias[i % 2] = i % 2 == 0 ? 32767 : -32768;
    for (i = 0; i < 8; i++) few.centers[i] = i % 3 == 0 ? 127 : -128, few.alpha[i] = i % 2 == 0 ? -128 : 127;
    x[0] = x[1] = -32768;
    CHECK_INT(RFM_OK, certify_tiny(x, &f));
    CHECK(f.z[0] == 127 && f.z[1] == 127);

    few_make(&two, 1);
    CHECK_INT(RFM_OK, rfm_tiny_certify(&few.m, x, scores, scratch, room, &class_at, &square, NULL));
    class_at = 9, square = 9;
    CHECK_INT(RFM_ENULL, rfm_tiny_certify(NULL, x, scores, scratch, room, &class_at, &square, counts));
    CHECK_INT(RFM_ENULL, rfm_tiny_certify(&few.m, NULL, scores, scratch, room, &class_at, &square, counts));
    CHECK_INT(RFM_ENULL, rfm_tiny_certify(&few.m, x, NULL, scratch, room, &class_at, &square, counts));
    CHECK_INT(RFM_ENULL, rfm_tiny_certify(&few.m, x, scores, NULL, room, &class_at, &square, counts));
    CHECK_INT(RFM_ENULL, rfm_tiny_certify(&few.m, x, scores, scratch, NULL, &class_at, &square, counts));
    CHECK_INT(RFM_ENULL, rfm_tiny_certify(&few.m, x, scores, scratch, room, NULL, &square, counts));
    CHECK_INT(RFM_ENULL, rfm_tiny_certify(&few.m, x, scores, scratch, room, &class_at, NULL, counts));
    few.m.task = RFM_REGRESS;
    CHECK_INT(RFM_EVALUE, rfm_tiny_certify(&few.m, x, scores, scratch, room, &class_at, &square, counts));
    CHECK(class_at == 9 && square == 9 && counts[0] == 9 && counts[1] == 9);
}

/* What the bounds rest on: phi never rises. */
static void test_tiny_phi_falls(void) {
    int64_t t, last;

    for (few.m.phi_shift = 0; few.m.phi_shift <= 14; few.m.phi_shift++)
        for (last = tiny_phi(0), t = 1; t < (int64_t)17 << few.m.phi_shift; t += TEST_MOVES < 1000 ? 7 : 1) {
            CHECK(tiny_phi(t) <= last);
            last = tiny_phi(t);
        }
}

/* ---- conformal sets ------------------------------------------------------------------------- */

static void test_threshold(void) {
    /* behind by 0, 0.5, 0.5, 2, 0; sorted 0, 0, 0.5, 0.5, 2 */
    static const rfm_real scores[] = {3, 1, 2, 1, 1.5, 0, 1, 1.5, 0, 2, 0, 1, 4, 4, 4};
    static const uint32_t classes[] = {0, 0, 0, 1, 2};
    static const struct {
        double coverage, threshold;
    } wanted[] = {{0.1, 0}, {0.33, 0}, {0.34, 0.5}, {0.5, 0.5}, {0.66, 0.5}, {0.67, 2}, {0.83, 2}, {0.84, -1}, {1, -1}};
    rfm_real scratch[5], threshold = 7, x[2] = {(rfm_real)0.25, (rfm_real)-0.5};
    uint32_t bad = 3, one[2] = {1, 1};
    size_t i;

    for (i = 0; i < TEST_LENGTH(wanted); i++) {
        test_note("threshold", i, 0, 0);
        CHECK_INT(RFM_OK,
                  rfm_conformal_threshold(5, 3, scores, classes, (rfm_real)wanted[i].coverage, scratch, &threshold));
        CHECK(threshold == (wanted[i].threshold < 0 ? REAL_MOST : (rfm_real)wanted[i].threshold));
    }
    /* one row: a half is covered by the largest of one, more by none */
    CHECK_INT(RFM_OK, rfm_conformal_threshold(1, 3, scores + 3, classes, (rfm_real)0.5, scratch, &threshold));
    CHECK(threshold == (rfm_real)0.5);
    CHECK_INT(RFM_OK, rfm_conformal_threshold(1, 3, scores + 3, classes, (rfm_real)0.51, scratch, &threshold));
    CHECK(threshold == REAL_MOST);
    /* one output: class 1 has 0.25 and is right; class 1 has -0.5 against 0.5 */
    CHECK_INT(RFM_OK, rfm_conformal_threshold(2, 1, x, one, (rfm_real)0.6, scratch, &threshold));
    CHECK(threshold == 1);
    CHECK_INT(RFM_OK, rfm_conformal_threshold(2, 1, x, one, (rfm_real)0.3, scratch, &threshold));
    CHECK(threshold == 0);
    x[0] = -REAL_MOST; /* twice that is no number */
    CHECK_INT(RFM_OK, rfm_conformal_threshold(1, 1, x, one, (rfm_real)0.3, scratch, &threshold));
    CHECK(threshold == REAL_MOST);

    threshold = 7;
    CHECK_INT(RFM_ENULL, rfm_conformal_threshold(5, 3, NULL, classes, 1, scratch, &threshold));
    CHECK_INT(RFM_ENULL, rfm_conformal_threshold(5, 3, scores, NULL, 1, scratch, &threshold));
    CHECK_INT(RFM_ENULL, rfm_conformal_threshold(5, 3, scores, classes, 1, NULL, &threshold));
    CHECK_INT(RFM_ENULL, rfm_conformal_threshold(5, 3, scores, classes, 1, scratch, NULL));
    CHECK_INT(RFM_EZERO, rfm_conformal_threshold(0, 3, scores, classes, 1, scratch, &threshold));
    CHECK_INT(RFM_EZERO, rfm_conformal_threshold(5, 0, scores, classes, 1, scratch, &threshold));
    CHECK_INT(RFM_EVALUE, rfm_conformal_threshold(5, 3, scores, classes, 0, scratch, &threshold));
    CHECK_INT(RFM_EVALUE, rfm_conformal_threshold(5, 3, scores, classes, (rfm_real)1.01, scratch, &threshold));
    CHECK_INT(RFM_EVALUE, rfm_conformal_threshold(5, 3, scores, classes, (rfm_real)NAN, scratch, &threshold));
    CHECK_INT(RFM_EVALUE, rfm_conformal_threshold(1, 3, scores, &bad, 1, scratch, &threshold));
    bad = 2;
    CHECK_INT(RFM_EVALUE, rfm_conformal_threshold(1, 1, scores, &bad, 1, scratch, &threshold));
    x[0] = (rfm_real)NAN;
    CHECK_INT(RFM_EFINITE, rfm_conformal_threshold(2, 1, x, one, 1, scratch, &threshold));
    CHECK(threshold == 7);
}

/* 9 of 10 is 0.9 whatever that is in binary: the least m with m / (n + 1) >= coverage, for every such share. */
static void test_ranks(void) {
    rfm_real scores[40], scratch[40], threshold;
    uint32_t classes[40];
    size_t n, m, i;

    for (i = 0; i < 40; i++) scores[i] = (rfm_real)(40 - i) / -2, classes[i] = 1; /* behind by 40 - i */
    for (n = 1; n <= 40; n++)
        for (m = 1; m <= n; m++) {
            test_note("rank", n, m, 0);
            CHECK_INT(RFM_OK, rfm_conformal_threshold(n, 1, scores + 40 - n, classes,
                                                      (rfm_real)((double)m / (double)(n + 1)), scratch, &threshold));
            CHECK(threshold == (rfm_real)m);
        }
}

static void test_sets(void) {
    static const rfm_real scores[] = {1, (rfm_real)1.5, (rfm_real)-0.25, (rfm_real)1.5};
    unsigned char member[5] = {9, 9, 9, 9, 9};
    rfm_real bad[2] = {1, (rfm_real)NAN}, f = (rfm_real)0.25;
    size_t count = 9;

    CHECK_INT(RFM_OK, rfm_conformal_set(4, scores, 0, member, &count));
    CHECK(count == 2 && !member[0] && member[1] && !member[2] && member[3] && member[4] == 9);
    CHECK_INT(RFM_OK, rfm_conformal_set(4, scores, (rfm_real)0.5, member, &count));
    CHECK(count == 3 && member[0] && member[1] && !member[2] && member[3]);
    CHECK_INT(RFM_OK, rfm_conformal_set(4, scores, REAL_MOST, member, &count));
    CHECK(count == 4 && member[2]);
    CHECK_INT(RFM_OK, rfm_conformal_set(1, &f, (rfm_real)0.49, member, &count));
    CHECK(count == 1 && !member[0] && member[1]);
    CHECK_INT(RFM_OK, rfm_conformal_set(1, &f, (rfm_real)0.5, member, &count));
    CHECK(count == 2 && member[0] && member[1]);
    f = 0;
    CHECK_INT(RFM_OK, rfm_conformal_set(1, &f, 0, member, &count));
    CHECK(count == 2);
    count = 9, member[0] = 9;
    CHECK_INT(RFM_ENULL, rfm_conformal_set(4, NULL, 0, member, &count));
    CHECK_INT(RFM_ENULL, rfm_conformal_set(4, scores, 0, NULL, &count));
    CHECK_INT(RFM_ENULL, rfm_conformal_set(4, scores, 0, member, NULL));
    CHECK_INT(RFM_EZERO, rfm_conformal_set(0, scores, 0, member, &count));
    CHECK_INT(RFM_EVALUE, rfm_conformal_set(4, scores, -1, member, &count));
    CHECK_INT(RFM_EFINITE, rfm_conformal_set(2, bad, 0, member, &count));
    CHECK_INT(RFM_EFINITE, rfm_conformal_set(4, scores, (rfm_real)INFINITY, member, &count));
    CHECK(count == 9 && member[0] == 9);
}

/* Rows drawn alike: the share of new rows whose set has their class is the coverage, and at most 1 / (n + 1) more where
 * there are no ties. 39 rows and 0.8: 32 / 40. */
static void test_coverage(void) {
    enum { N = 39, C = 3 };
    rfm_real scores[(N + 1) * C], scratch[N], threshold;
    uint32_t classes[N + 1];
    unsigned char member[C];
    size_t draws = TEST_MOVES < 1000 ? 100 : 4000, draw, i, k, count, hits = 0;
    double share, deviation;

    numbers = rfm_random_start(8);
    for (draw = 0; draw < draws; draw++) {
        for (i = 0; i <= N; i++) {
            classes[i] = rfm_random(&numbers) % C;
            for (k = 0; k < C; k++) scores[i * C + k] = (rfm_real)(uniform() + (k == classes[i] ? 0.5 : 0));
        }
        CHECK_INT(RFM_OK, rfm_conformal_threshold(N, C, scores, classes, (rfm_real)0.8, scratch, &threshold));
        CHECK_INT(RFM_OK, rfm_conformal_set(C, scores + N * C, threshold, member, &count));
        CHECK(count >= 1 && count <= C);
        hits += member[classes[N]];
    }
    share = (double)hits / (double)draws, deviation = sqrt(0.8 * 0.2 / (double)draws);
    CHECK_BELOW(fabs(share - 0.8), 4 * deviation);
}

/* A term near the end of the number range is 0 somewhere inside the radius that it would have: with an alpha so large
 * that it decides the class, the radius must know. */
static void test_vanishing_term(void) {
    const rfm_real p[4] = {(rfm_real)-7.67655592e-08, (rfm_real)-7.81736453e-09, (rfm_real)-1.60153574e-11,
                           (rfm_real)-4.78444591e-08};
    const rfm_real shift[4] = {(rfm_real)1774521.38, (rfm_real)-8258632, 0, 0};
    const rfm_real center[4] = {(rfm_real)53.1563301, (rfm_real)-0.706158698, (rfm_real)0.000294228113,
                                (rfm_real)66.5695801};
    const rfm_real alpha = (rfm_real)2.37691157e20;
    const rfm_real x[4] = {10500635, (rfm_real)-2143712.25, -18371624, (rfm_real)-7261090.5};
    const rfm_real moved[4] = {38938760, (rfm_real)-5559369.5, -18371624, 48875436};
    rfm_real scratch[RFM_CERTIFY_SCRATCH(4, 4, 1)], score, radius, length = 0;
    rfm_model m;
    size_t class_at, j;

    memset(&m, 0, sizeof m);
    m.n = m.c = 1, m.d = m.r = 4, m.kernel = RFM_LAPLACE, m.metric = RFM_DIAGONAL, m.task = RFM_CLASSIFY;
    m.bandwidth = m.exponent = 1, m.shift = shift, m.p = p, m.centers = center, m.alpha = &alpha;
    CHECK_INT(RFM_OK, rfm_certify(&m, x, &score, scratch, &class_at, &radius, NULL));
    for (j = 0; j < 4; j++) length += p[j] * (moved[j] - x[j]) * (p[j] * (moved[j] - x[j]));
    CHECK_INT(RFM_OK, rfm_predict_one(&m, moved, &score, scratch, NULL, NULL));
    if (rfm_class(&m, &score, NULL) != class_at) CHECK(radius * radius < length);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_vanishing_term);
    RUN_TEST(test_golden);
    RUN_TEST(test_definition);
    RUN_TEST(test_moves);
    RUN_TEST(test_single_inputs);
    RUN_TEST(test_scales);
    RUN_TEST(test_monotone);
    RUN_TEST(test_one_centre);
    RUN_TEST(test_ties);
    RUN_TEST(test_extremes);
    RUN_TEST(test_errors);
    RUN_TEST(test_integer_moves);
    RUN_TEST(test_every_move);
    RUN_TEST(test_integer_edges);
    RUN_TEST(test_tiny_definition);
    RUN_TEST(test_tiny_every_move);
    RUN_TEST(test_tiny_moves);
    RUN_TEST(test_tiny_edges);
    RUN_TEST(test_tiny_phi_falls);
    RUN_TEST(test_threshold);
    RUN_TEST(test_ranks);
    RUN_TEST(test_sets);
    RUN_TEST(test_coverage);
    return UNITY_END();
}
