/* Models on the sphere, which are those of network kernels and of unit rows: the arc-cosine functions, the kernel of a
 * wide network, values and gradients against plain sums, fits and their AGOP, rows without a direction, blobs, what is
 * refused. */
#include "models.h"

#include "rfm_certify.h"
#include "rfm_hyperbf.h"
#include "rfm_online.h"
#include "rfm_small.h"

void setUp(void) { test_reset(); }
void tearDown(void) {}

static const double pi = 3.14159265358979323846;

static model_case a;

static const struct {
    int kernel;
    double q;
    int unit_rows;
} kinds[] = {{RFM_NNGP, 1, 0},  {RFM_NNGP, 3, 0}, {RFM_NTK, 1, 0},       {RFM_NTK, 2, 0},     {RFM_NTK, 8, 0},
             {RFM_NNGP, 2, 1},  {RFM_NTK, 1, 1},  {RFM_NTK, 5, 1},       {RFM_LAPLACE, 1, 1}, {RFM_GAUSSIAN, 1, 1},
             {RFM_L1, 0.75, 1}, {RFM_L1, 1, 1},   {RFM_GENERAL, 1.25, 1}};

static const int metrics[] = {RFM_IDENTITY, RFM_DIAGONAL, RFM_FULL};

/* ---- the arc-cosine functions --------------------------------------------------------------- */

/* 1 - k1 = 2 sin^2(t / 2) - (sin t - t cos t) / pi, the second part by its series where it is small. */
static double below(double t) {
    const double half = sin(t / 2), t2 = t * t;
    const double lag =
        t > 0.1 ? sin(t) - t * cos(t) : t * t2 * (1.0 / 3 - t2 * (1.0 / 30 - t2 * (1.0 / 840 - t2 / 45360)));

    return 2 * half * half - lag / pi;
}

static void test_arc(void) {
    size_t i;

    for (i = 0; i <= 200; i++) {
        const double at = (double)i, t = at < 40 ? pow(10, -6 + at * 0.1) : at / 200 * pi, half = t / 2;
        const rfm_real minus = (rfm_real)(2 * sin(half) * sin(half)), plus = (rfm_real)(2 * cos(half) * cos(half));
        const rfm_arc arc = rfm_arc_at(minus, plus);

        test_note("arc", i, 0, 0);
        CHECK_BELOW(fabs((double)arc.k0 - (1 - t / pi)), 4 * TEST_EPS);
        CHECK_BELOW(fabs((double)arc.k1 - (cos(t) * (pi - t) + sin(t)) / pi), 4 * TEST_EPS);
        CHECK_BELOW(fabs((double)arc.below - below(t)), 16 * TEST_EPS * below(t) + 1e-16 * t);
        CHECK_BELOW(fabs((double)arc.sine - sin(t)), 8 * TEST_EPS * sin(t) + 1e-9 * (t > 3));
    }
    CHECK(rfm_arc_at(0, 2).k0 == 1 && rfm_arc_at(0, 2).k1 == 1 && rfm_arc_at(0, 2).below == 0);
    CHECK(rfm_arc_at(2, 0).k0 == 0 && rfm_arc_at(2, 0).k1 == 0 && rfm_arc_at(2, 0).sine == 0);
}

/* ---- the kernels once more, by angles, in double -------------------------------------------- */

/* P x, in double; returns its length. */
static double project(const rfm_model *m, const rfm_real *x, double *u) {
    double sum = 0;
    size_t q, j;

    for (q = 0; q < m->r; q++) {
        u[q] = 0;
        if (m->metric == RFM_FULL)
            for (j = 0; j < m->d; j++) u[q] += (double)m->p[q * m->d + j] * ((double)x[j] - (double)m->shift[j]);
        else
            u[q] = ((double)x[q] - (double)m->shift[q]) * (m->metric == RFM_DIAGONAL ? (double)m->p[q] : 1);
        sum += u[q] * u[q];
    }
    return sqrt(sum);
}

static double network(int kernel, size_t depth, double angle) {
    double r = cos(angle), t = r;

    for (; depth > 0; depth--) {
        const double k0 = (pi - angle) / pi, k1 = (r * (pi - angle) + sin(angle)) / pi;

        t = t * k0 + k1, r = k1;
        angle = acos(r < 1 ? r : 1);
    }
    return kernel == RFM_NTK ? t : r;
}

#if TEST_N_MAX < 100
#define WIDEST 5
#else
#define WIDEST 80
#endif

/* K of rows that are projected already, u and v, with lengths. */
static double kernel_of(const rfm_model *m, const double *u, double x, const double *v, double z) {
    double minus = 0, plus = 0, absolute = 0, value;
    size_t q;

    for (q = 0; q < m->r; q++) {
        const double p = x > 0 ? u[q] / x : 0, w = z > 0 ? v[q] / z : 0;

        minus += (p - w) * (p - w), plus += (p + w) * (p + w), absolute += fabs(p - w);
    }
    if (!rfm_kernels[m->kernel].layers)
        return model_phi(m, (double)m->radius * (m->kernel == RFM_L1 ? absolute : sqrt(minus)));
    if (!(x > 0 && z > 0)) return 0;
    value = network(m->kernel, (size_t)m->exponent, 2 * atan2(sqrt(minus), sqrt(plus)));
    return m->radius > 0 ? value : x * z * value;
}

static double kernel(const rfm_model *m, const rfm_real *x, const rfm_real *z) {
    double u[WIDEST], v[WIDEST], length = project(m, x, u);

    return kernel_of(m, u, length, v, project(m, z, v));
}

/* alpha of the equations has no length in it. */
static double plain_alpha(size_t i, size_t k) {
    double u[WIDEST], length = project(&a.m, a.x.at + i * a.x.stride, u), alpha = (double)a.m.alpha[i * a.m.c + k];

    if (!rfm_kernels[a.m.kernel].layers || a.m.radius > 0) return alpha;
    return length > 0 ? alpha / length : 0;
}

static double plain(const rfm_real *z, size_t k) {
    double sum = 0;
    size_t i;

    for (i = 0; i < a.m.n; i++) sum += plain_alpha(i, k) * kernel(&a.m, a.x.at + i * a.x.stride, z);
    return sum;
}

/* What rounding is measured by. */
static double plain_size(const rfm_real *z, size_t k) {
    double sum = 0;
    size_t i;

    for (i = 0; i < a.m.n; i++) {
        const rfm_real *x = a.x.at + i * a.x.stride;

        sum += fabs(plain_alpha(i, k)) * sqrt(kernel(&a.m, x, x) * kernel(&a.m, z, z));
    }
    return sum;
}

static int make(model_shape s, size_t kind, size_t metric) {
    int status;

    test_reset();
    if (s.d > WIDEST || !model_make(&a, s.n, s.d, s.c)) return 0;
    a.o.kernel = kinds[kind].kernel;
    a.o.exponent = (rfm_real)kinds[kind].q;
    a.o.unit_rows = kinds[kind].unit_rows;
    a.o.metric = metrics[metric];
    a.o.scale = RFM_SCALE_MAX;
    a.o.bandwidth = (rfm_real)0.5;
    status = model_fit(&a);
    if (status == TEST_SKIP) return 0;
    CHECK_INT(RFM_OK, status);
    return 1;
}

/* ---- a wide random network ------------------------------------------------------------------ */

static double normal(uint32_t *state) { /* a sum of twelve: mean 0, variance 1 */
    double sum = 0;
    int i;

    for (i = 0; i < 12; i++) sum += (double)(rfm_random(state) >> 8) / 16777216.0;
    return sum - 6;
}

/* f(x) = sqrt(2 / N) sum_k a_k relu(w_k'x): the products of two rows' hidden values, and of their gradients, have NNGP
 * and NTK as their means. */
static void test_wide_network(void) {
    static const double x[3] = {0.5, -1, 0.25}, z[3] = {1, 0.5, 0.75};
#ifdef BOARD_BARE
    const size_t width = 2000;
#else
    const size_t width = 40000;
#endif
    double sum[2] = {0, 0}, square[2] = {0, 0}, xz = 0, xx = 0, zz = 0, length, minus;
    uint32_t state = rfm_random_start(5);
    size_t k, j;

    for (j = 0; j < 3; j++) xz += x[j] * z[j], xx += x[j] * x[j], zz += z[j] * z[j];
    length = sqrt(xx * zz), minus = 1 - xz / length;
    for (k = 0; k < width; k++) {
        double u = 0, v = 0, product[2], out = normal(&state);

        for (j = 0; j < 3; j++) {
            const double w = normal(&state);

            u += w * x[j], v += w * z[j];
        }
        product[0] = u > 0 && v > 0 ? 2 * u * v : 0;
        product[1] = product[0] + (u > 0 && v > 0 ? 2 * out * out * xz : 0);
        for (j = 0; j < 2; j++) sum[j] += product[j], square[j] += product[j] * product[j];
    }
    for (j = 0; j < 2; j++) {
        const double mean = sum[j] / (double)width,
                     error = sqrt((square[j] / (double)width - mean * mean) / (double)width);
        const double exact = length * (double)rfm_phi(j == 0 ? RFM_NNGP : RFM_NTK, 1, 1, (rfm_real)(2 * minus), NULL);

        test_note("wide network", j, 0, 0);
        CHECK_BELOW(fabs(mean - exact), 4 * error);
        CHECK_BELOW(error, 0.08 * fabs(exact)); /* so that it says something */
    }
}

/* ---- values and gradients ------------------------------------------------------------------- */

static void check_values(rfm_mat z, rfm_mat y) {
    rfm_real scores[8], scratch[2 * WIDEST], novelty;
    size_t i, k;

    for (i = 0; i < z.rows; i++) {
        const rfm_real *row = z.at + i * z.stride;

        CHECK_INT(RFM_OK, rfm_predict_one(&a.m, row, scores, scratch, NULL, &novelty));
        for (k = 0; k < y.cols; k++) {
            const double bound = 100 * TEST_EPS * plain_size(row, k);

            CHECK_BELOW(fabs(plain(row, k) - model_at(y, i, k)), bound);
            CHECK_BELOW(fabs(plain(row, k) - (double)scores[k]), bound);
        }
    }
}

static void test_values(void) {
    static const size_t rows[] = {1, 3, 40};
    model_shape s;
    size_t index, kind, metric, r, done = 0;

    for (index = 0; model_size(index, &s); index++)
        for (kind = 0; kind < TEST_LENGTH(kinds); kind++)
            for (metric = 0; metric < 3; metric++)
                for (r = 0; r < TEST_LENGTH(rows); r++) {
                    rfm_mat z, y;

                    test_note("values", s.n, kind * 3 + metric, rows[r]);
                    if (rows[r] > 3 && (kind + metric + index) % 4) continue;
                    if (TEST_FEW && (kind + metric + index + r) % 3) continue;
                    if (!make(s, kind, metric)) continue;
                    z = test_mat(rows[r], s.d, r % 2, 0);
                    y = test_mat(rows[r], s.c, r % 3, 0);
                    if (z.at == NULL || y.at == NULL) continue;
                    model_fill(z, 90);
                    if (r == 1) memcpy(z.at, a.x.at, s.d * sizeof *z.at); /* a centre */
                    if (model_predict(&a, rfm_const(z), y) == TEST_SKIP) continue;
                    check_values(z, y);
                    test_check_padding(y);
                    done++;
                }
    CHECK(done >= 15);
}

/* Novelty: the largest cosine of an angle, or the largest phi. */
static void test_novelty(void) {
    const model_shape s = {9, 3, 1};
    size_t kind, i, j;

    for (kind = 0; kind < TEST_LENGTH(kinds); kind++) {
        rfm_real z[3], scores[1], scratch[2 * WIDEST], novelty;
        double most = -1;

        test_note("novelty", kind, 0, 0);
        if (!make(s, kind, 2)) continue;
        for (j = 0; j < 3; j++) z[j] = (rfm_real)test_number(77, kind, j);
        CHECK_INT(RFM_OK, rfm_predict_one(&a.m, z, scores, scratch, NULL, &novelty));
        for (i = 0; i < s.n; i++) {
            double u[WIDEST], v[WIDEST], rho = 0, x = project(&a.m, a.x.at + i * a.x.stride, u),
                                         y = project(&a.m, z, v);

            for (j = 0; j < a.m.r; j++) rho += u[j] * v[j] / x / y;
            most = fmax(most, rfm_kernels[a.m.kernel].layers ? rho : kernel_of(&a.m, u, x, v, y));
        }
        CHECK_BELOW(fabs(most - (double)novelty), 20 * TEST_EPS);
        for (j = 0; j < 3; j++) z[j] = a.x.at[4 * a.x.stride + j];
        CHECK_INT(RFM_OK, rfm_predict_one(&a.m, z, scores, scratch, NULL, &novelty));
        CHECK_BELOW(fabs(1 - (double)novelty), 20 * TEST_EPS);
    }
}

/* Central differences of the plain sum, in double: z moves along P-space by input j. */
static double difference(const rfm_real *z, size_t j, size_t k) {
    const double h = 1e-5;
    double sum = 0, u[WIDEST], v[WIDEST], w[WIDEST], column[WIDEST];
    size_t i, q;

    for (q = 0; q < a.m.r; q++)
        column[q] = a.m.metric == RFM_FULL ? (double)a.m.p[q * a.m.d + j]
                    : q != j               ? 0
                                           : (a.m.metric == RFM_DIAGONAL ? (double)a.m.p[j] : 1);
    for (i = 0; i < a.m.n; i++) {
        const double x = project(&a.m, a.x.at + i * a.x.stride, u);
        double up = 0, down = 0;

        project(&a.m, z, v);
        project(&a.m, z, w);
        for (q = 0; q < a.m.r; q++) {
            v[q] += h * column[q], w[q] -= h * column[q];
            up += v[q] * v[q], down += w[q] * w[q];
        }
        sum +=
            plain_alpha(i, k) * (kernel_of(&a.m, u, x, v, sqrt(up)) - kernel_of(&a.m, u, x, w, sqrt(down))) / (2 * h);
    }
    return sum;
}

/* Is z near the direction of a centre, or of its opposite, where the gradient bends? L1 bends wherever a coordinate is
 * equal. */
static int bends(const rfm_real *z) {
    double u[WIDEST], v[WIDEST], y = project(&a.m, z, v);
    size_t i, q;

    for (i = 0; i < a.m.n; i++) {
        double x = project(&a.m, a.x.at + i * a.x.stride, u), minus = 0, plus = 0, least = 1;

        for (q = 0; q < a.m.r; q++) {
            const double p = u[q] / x, w = v[q] / y;

            minus += (p - w) * (p - w), plus += (p + w) * (p + w), least = fmin(least, fabs(p - w));
        }
        if (fmin(minus, plus) < 0.01 || (a.m.kernel == RFM_L1 && least < 1e-3)) return 1;
    }
    return !(y > 0.1);
}

static void test_differences(void) {
    static const model_shape shapes[] = {{5, 2, 2}, {9, 3, 1}, {17, 5, 3}};
    size_t shape, kind, metric, i, j, k, done = 0;

    for (shape = 0; shape < TEST_LENGTH(shapes); shape++)
        for (kind = 0; kind < TEST_LENGTH(kinds); kind++)
            for (metric = 0; metric < 3; metric++) {
                const model_shape s = shapes[shape];
                rfm_mat z, g;

                test_note("differences", shape, kind, metric);
                if (TEST_FEW && shape == 2 && (kind + metric) % 3) continue;
                if (!make(s, kind, metric)) continue;
                z = test_mat(4, s.d, 0, 0);
                g = test_mat(4, s.c * s.d, 0, 0);
                if (z.at == NULL || g.at == NULL) continue;
                model_fill(z, 91);
                if (model_gradients(&a, rfm_const(z), g) == TEST_SKIP) continue;
                for (i = 0; i < 4; i++) {
                    const rfm_real *row = z.at + i * z.stride;
                    double size = 0;

                    if (bends(row)) continue;
                    for (k = 0; k < s.c; k++) {
                        for (j = 0; j < a.m.n; j++) size += fabs((double)a.m.alpha[j * s.c + k]);
                        for (j = 0; j < s.d; j++)
                            CHECK_BELOW(fabs(difference(row, j, k) - model_at(g, i, k * s.d + j)),
                                        (2e-7 + 300 * TEST_EPS) * (1 + size) * 10);
                    }
                    done++;
                }
            }
    CHECK(done >= 30);
}

/* The gradient by its formula, where rows of one direction have no part across it. */
static double formula(const rfm_real *z, size_t j, size_t k) {
    double u[WIDEST], v[WIDEST], total = 0, y = project(&a.m, z, v);
    size_t i, q;

    for (i = 0; i < a.m.n; i++) {
        const double x = project(&a.m, a.x.at + i * a.x.stride, u), h = 1e-6;
        double rho = 0, value, slope, angle;

        for (q = 0; q < a.m.r; q++) rho += u[q] / x * v[q] / y;
        angle = acos(rho > 1 ? 1 : rho < -1 ? -1 : rho);
        value = network(a.m.kernel, (size_t)a.m.exponent, angle);
        slope = angle < 1e-4 || angle > pi - 1e-4 ? 0
                                                  : (network(a.m.kernel, (size_t)a.m.exponent, angle - h) -
                                                     network(a.m.kernel, (size_t)a.m.exponent, angle + h)) /
                                                        (2 * h * sin(angle));
        for (q = 0; q < a.m.r; q++) {
            const double column = a.m.metric == RFM_FULL ? (double)a.m.p[q * a.m.d + j] : q == j ? (double)a.m.p[j] : 0;

            total +=
                (double)a.m.alpha[i * a.m.c + k] * column * (slope * (u[q] / x - rho * v[q] / y) + value * v[q] / y);
        }
    }
    return total;
}

/* Multiples of a row have its direction: what rounding makes of their angle is no direction to go. */
static void test_collinear(void) {
    static const model_shape s = {TEST_N_MAX < 100 ? 9 : 40, TEST_N_MAX < 100 ? 3 : WIDEST, 1};
    static const double factors[] = {3, -3, 0.625, -11, 1, 2.5};
    size_t kind, metric, f, j;

    for (kind = 0; kinds[kind].kernel >= RFM_NNGP && !kinds[kind].unit_rows; kind++)
        for (metric = 1; metric < 3; metric++) {
            rfm_mat z, g;
            double size = 0;

            test_note("collinear", kind, metric, 0);
            if (!make(s, kind, metric)) continue;
            z = test_mat(TEST_LENGTH(factors), s.d, 0, 0), g = test_mat(TEST_LENGTH(factors), s.d, 0, 0);
            if (z.at == NULL || g.at == NULL) continue;
            for (f = 0; f < TEST_LENGTH(factors); f++)
                for (j = 0; j < s.d; j++) z.at[f * s.d + j] = (rfm_real)(factors[f] * model_at(a.x, f, j)); /* exact */
            if (model_gradients(&a, rfm_const(z), g) == TEST_SKIP) continue;
            for (j = 0; j < s.n; j++) size += fabs((double)a.m.alpha[j]);
            for (f = 0; f < TEST_LENGTH(factors); f++)
                for (j = 0; j < s.d; j++)
                    CHECK_BELOW(fabs(formula(z.at + f * s.d, j, 0) - model_at(g, f, j)),
                                (1e-7 + 200 * TEST_EPS) * size);
        }
}

/* ---- fits ----------------------------------------------------------------------------------- */

/* (K + lambda) alpha = Y, lambda = ridge times the largest K, or the ridge itself; with weights w alpha has 1 / w. */
static void check_equations(double lambda) {
    size_t i, k;

    for (i = 0; i < a.m.n; i++)
        for (k = 0; k < a.m.c; k++) {
            const rfm_real *row = a.x.at + i * a.x.stride;
            const double w = a.data.weights != NULL ? (double)a.data.weights[i] : 1;

            if (w > 0 && kernel(&a.m, row, row) > 0)
                CHECK_BELOW(fabs(plain(row, k) + lambda / w * plain_alpha(i, k) - model_at(a.y, i, k)),
                            3000 * TEST_EPS * (1 + plain_size(row, k)));
        }
}

static double largest_kernel(void) {
    double most = 0;
    size_t i;

    for (i = 0; i < a.m.n; i++) most = fmax(most, kernel(&a.m, a.x.at + i * a.x.stride, a.x.at + i * a.x.stride));
    return most;
}

static void test_equations(void) {
    model_shape s;
    size_t index, kind, rule, done = 0;

    for (index = 0; model_size(index, &s) && s.n < 80; index++)
        for (kind = 0; kind < TEST_LENGTH(kinds); kind++)
            for (rule = 0; rule < 4; rule++) {
                rfm_real *weights;
                size_t i;
                int status;

                test_reset();
                test_note("equations", s.n, kind, rule);
                if (TEST_FEW && rule != (index + kind) % 4) continue;
                if (!model_make(&a, s.n, s.d, s.c)) continue;
                weights = test_take(s.n * sizeof *weights);
                if (weights == NULL) continue;
                for (i = 0; i < s.n; i++) weights[i] = (rfm_real)(i == 1 ? 0 : (double)(i % 3 + 1) / 2);
                if (rule >= 2) a.data.weights = weights;
                a.o.kernel = kinds[kind].kernel, a.o.exponent = (rfm_real)kinds[kind].q;
                a.o.unit_rows = kinds[kind].unit_rows, a.o.metric = RFM_DIAGONAL;
                a.o.ridge_rule = (int)(rule % 2);
                status = model_fit(&a);
                if (status == TEST_SKIP) continue;
                CHECK_INT(RFM_OK, status);
                CHECK(a.path[1].ridge == a.o.ridge);
                CHECK(a.path[1].bandwidth == (rfm_kernels[a.o.kernel].layers ? 1 : a.o.bandwidth));
                check_equations((double)a.o.ridge * (rule % 2 == RFM_RIDGE_SHARE ? largest_kernel() : 1));
                done++;
            }
    CHECK(done >= 10);
}

/* M of one update is the mean of the outer products of what rfm_gradients says at the rows. */
static void check_update(const model_case *first, const rfm_real *g) {
    const size_t n = a.x.rows, d = a.x.cols, c = a.y.cols;
    const int full = a.o.metric == RFM_FULL;
    double most = 0, worst = 0, total = 0;
    rfm_mat m = test_mat(full ? d : 1, d, 0, 0);
    size_t i, j, k, q;

    (void)first;
    if (m.at == NULL) return;
    CHECK_INT(RFM_OK, rfm_metric(&a.m, m));
    for (i = 0; i < n; i++) total += a.data.weights != NULL ? (double)a.data.weights[i] : 1;
    for (j = 0; j < d; j++)
        for (q = full ? 0 : j; q < (full ? d : j + 1); q++) {
            double sum = 0;

            for (k = 0; k < c; k++) {
                double mean_j = 0, mean_q = 0;

                for (i = 0; i < n && a.o.center; i++) {
                    const double w = (a.data.weights != NULL ? (double)a.data.weights[i] : 1) / total;

                    mean_j += w * (double)g[i * c * d + k * d + j], mean_q += w * (double)g[i * c * d + k * d + q];
                }
                for (i = 0; i < n; i++)
                    sum += (a.data.weights != NULL ? (double)a.data.weights[i] : 1) / total *
                           ((double)g[i * c * d + k * d + j] - mean_j) * ((double)g[i * c * d + k * d + q] - mean_q);
            }
            most = fmax(most, fabs(sum));
            worst = fmax(worst, fabs(sum - model_at(m, full ? j : 0, q)));
        }
    CHECK_BELOW(worst, 4000 * TEST_EPS * most);
}

/* Rows of all kinds: some short, one of zeros, two equal ones, some with one direction. */
static void special_rows(int which) {
    size_t i, j, n = a.x.rows, d = a.x.cols;

    for (i = 0; i < n; i++)
        for (j = 0; j < d; j++) {
            rfm_real *x = a.x.at + i * a.x.stride + j;

            if (which == 1 && i % 3 == 0) *x = (rfm_real)((double)*x * 0x1p-18);
            if (which == 2 && i == 2) *x = 0;
            if (which == 2 && i == 3) *x = a.x.at[j];
            if (which == 2 && i == n - 1) *x = -3 * a.x.at[j];
        }
    model_targets(a.x, a.y);
}

static void test_update(void) {
    model_shape s;
    size_t index, kind, turn, done = 0;

    for (index = 0; model_size(index, &s) && s.n < 80; index++)
        for (kind = 0; kind < TEST_LENGTH(kinds); kind++)
            for (turn = 0; turn < 8; turn++) {
                rfm_real *weights;
                rfm_mat g;
                size_t i;
                int status;

                test_reset();
                test_note("update", s.n, kind, turn);
                if (s.n < 5 || !model_make(&a, s.n, s.d, s.c)) continue;
                special_rows((int)(turn % 3));
                weights = test_take(s.n * sizeof *weights);
                g = test_mat(s.n, s.c * s.d, 0, 0);
                if (weights == NULL || g.at == NULL) continue;
                for (i = 0; i < s.n; i++) weights[i] = (rfm_real)(i == 1 ? 0 : (double)(i % 3 + 1) / 2);
                if (turn % 4 == 3) a.data.weights = weights;
                a.o.kernel = kinds[kind].kernel, a.o.exponent = (rfm_real)kinds[kind].q;
                a.o.unit_rows = kinds[kind].unit_rows;
                a.o.metric = turn % 2 ? RFM_FULL : RFM_DIAGONAL;
                a.o.center = turn >= 4;
                a.o.ridge = 1;
                a.o.iterations = 0;
                status = model_fit(&a);
                if (status == TEST_SKIP) continue;
                CHECK_INT(RFM_OK, status);
                if (model_gradients(&a, a.data.x, g) == TEST_SKIP) continue;
                a.o.iterations = 1;
                if (model_fit(&a) == TEST_SKIP) continue;
                check_update(&a, g.at);
                done++;
            }
    CHECK(done >= 10);
}

/* Without a ridge the solution is that of least norm, and rows of zeros and equal rows make K singular. */
static void test_no_ridge(void) {
    static const model_shape s = {9, 3, 2};
    size_t kind, turn, i, k;

    for (kind = 0; kind < TEST_LENGTH(kinds); kind++)
        for (turn = 0; turn < 3; turn++) {
            rfm_mat g;
            int status;

            test_reset();
            test_note("no ridge", kind, turn, 0);
            if (!model_make(&a, s.n, s.d, s.c)) continue;
            special_rows((int)turn);
            a.o.kernel = kinds[kind].kernel, a.o.exponent = (rfm_real)kinds[kind].q;
            a.o.unit_rows = kinds[kind].unit_rows, a.o.metric = RFM_DIAGONAL;
            a.o.ridge = 0, a.o.iterations = 0;
            g = test_mat(s.n, s.c * s.d, 0, 0);
            status = model_fit(&a);
            if (status == TEST_SKIP || g.at == NULL) continue;
            CHECK_INT(RFM_OK, status);
            for (i = 0; i < s.n && turn == 0 && TEST_EPS < 1e-10; i++)
                for (k = 0; k < s.c; k++)
                    CHECK_BELOW(fabs(plain(a.x.at + i * a.x.stride, k) - model_at(a.y, i, k)),
                                1e-6 * (1 + plain_size(a.x.at + i * a.x.stride, k)));
            a.o.iterations = 2;
            CHECK_INT(RFM_OK, model_fit(&a));
            CHECK(rfm_finite(s.n * s.c, a.m.alpha) && rfm_finite(s.d, a.m.p));
        }
}

/* Leave-one-out in closed form: the same as leaving each row out. */
static void test_leave_one_out(void) {
    static const model_shape s = {6, 3, 2};
    size_t kind, i, k;

    for (kind = 0; kind < TEST_LENGTH(kinds); kind++) {
        double sum = 0, closed;
        rfm_mat x, y;

        test_reset();
        test_note("leave one out", kind, 0, 0);
        if (!model_make(&a, s.n, s.d, s.c)) continue;
        a.o.kernel = kinds[kind].kernel, a.o.exponent = (rfm_real)kinds[kind].q;
        a.o.unit_rows = kinds[kind].unit_rows, a.o.metric = RFM_IDENTITY;
        a.o.ridge_rule = RFM_RIDGE_FIXED, a.o.select = RFM_SELECT_LOO;
        if (model_fit(&a) == TEST_SKIP) continue;
        closed = (double)a.path[0].score;
        a.o.select = RFM_SELECT_LAST;
        x = a.x, y = a.y;
        for (i = 0; i < s.n; i++) {
            rfm_real *weights = test_take(s.n * sizeof *weights);

            if (weights == NULL) return;
            for (k = 0; k < s.n; k++) weights[k] = k == i ? 0 : 1;
            a.data.weights = weights;
            if (model_fit(&a) == TEST_SKIP) return;
            for (k = 0; k < s.c; k++) {
                const double off = plain(x.at + i * x.stride, k) - model_at(y, i, k);

                sum += off * off / (double)(s.n * s.c);
            }
        }
        CHECK_BELOW(fabs(sum - closed), 1000 * TEST_EPS * (1 + sum));
    }
}

/* The scale of the data does not matter to a ridge that is a share. */
static void test_scale(void) {
    static const model_shape s = {9, 3, 2};
    static const double scales[] = {0x1p40, 0x1p-40, 0x1p-20};
    size_t kind, turn, i;

    for (kind = 0; kind < TEST_LENGTH(kinds); kind++)
        for (turn = 0; turn < TEST_LENGTH(scales); turn++) {
            rfm_mat before, after;

            test_note("scale", kind, turn, 0);
            if (!make(s, kind, 1)) continue;
            before = test_mat(s.n, s.c, 0, 0), after = test_mat(s.n, s.c, 0, 0);
            if (before.at == NULL || after.at == NULL) continue;
            if (model_predict(&a, a.data.x, before) == TEST_SKIP) continue;
            for (i = 0; i < s.n * s.d; i++) a.x.at[i / s.d * a.x.stride + i % s.d] *= (rfm_real)scales[turn];
            if (model_fit(&a) == TEST_SKIP || model_predict(&a, a.data.x, after) == TEST_SKIP) continue;
            CHECK_CLOSE(before, after, 400);
        }
}

/* ---- rows without a direction --------------------------------------------------------------- */

/* A network kernel is 0 at a row of zeros, its gradient too; unit rows leave it at the origin. */
static void test_zero_rows(void) {
    static const model_shape s = {9, 3, 2};
    size_t kind, metric, all, k;

    for (kind = 0; kind < TEST_LENGTH(kinds); kind++)
        for (metric = 0; metric < 3; metric++)
            for (all = 0; all < 2; all++) {
                rfm_real zero[3] = {0, 0, 0}, scores[2], scratch[6], novelty;
                rfm_mat y, g;
                size_t i, j;
                int status;

                test_reset();
                test_note("zero rows", kind, metric, all);
                if (!model_make(&a, s.n, s.d, s.c)) continue;
                for (i = 0; i < s.n; i++)
                    for (j = 0; j < s.d && (all || i == 4); j++) a.x.at[i * a.x.stride + j] = 0;
                a.o.kernel = kinds[kind].kernel, a.o.exponent = (rfm_real)kinds[kind].q;
                a.o.unit_rows = kinds[kind].unit_rows;
                a.o.metric = metrics[metric];
                a.o.iterations = 2;
                y = test_mat(1, s.c, 0, 0), g = test_mat(1, s.c * s.d, 0, 0);
                status = model_fit(&a);
                if (status == TEST_SKIP || y.at == NULL || g.at == NULL) continue;
                CHECK_INT(RFM_OK, status);
                CHECK(rfm_finite(s.n * s.c, a.m.alpha));
                CHECK_INT(RFM_OK, rfm_predict_one(&a.m, zero, scores, scratch, NULL, &novelty));
                CHECK_INT(RFM_OK, model_predict(&a, rfm_cview(zero, 1, 3), y));
                CHECK_INT(RFM_OK, model_gradients(&a, rfm_cview(zero, 1, 3), g));
                for (k = 0; k < s.c * s.d; k++) CHECK(g.at[k] == 0);
                for (k = 0; k < s.c; k++) {
                    CHECK_BELOW(fabs(plain(zero, k) - (double)scores[k]),
                                1e-3 * TEST_EPS + 100 * TEST_EPS * plain_size(zero, k));
                    CHECK_BELOW(fabs((double)y.at[k] - (double)scores[k]), 100 * TEST_EPS * (1 + plain_size(zero, k)));
                    if (rfm_kernels[a.o.kernel].layers) {
                        CHECK(scores[k] == 0 && novelty == 0 && a.m.alpha[4 * s.c + k] == 0);
                    }
                }
            }
}

/* Numbers that are too large are refused, and a NaN never comes out. */
static void test_range(void) {
    static const model_shape s = {5, 2, 1};
    size_t kind, turn, i;

    for (kind = 0; kind < TEST_LENGTH(kinds); kind++)
        for (turn = 0; turn < 4; turn++) {
            const rfm_real size = turn == 0   ? RFM_LIMIT(MAX)
                                  : turn == 1 ? RFM_LIMIT(MIN)
                                  : turn == 2 ? RFM_LIMIT(EPSILON)
                                              : 4;
            rfm_real z[2], scores[1], scratch[4];
            int status;

            test_reset();
            test_note("range", kind, turn, 0);
            if (!model_make(&a, s.n, s.d, s.c)) continue;
            for (i = 0; i < s.n * s.d; i++) a.x.at[i / s.d * a.x.stride + i % s.d] *= size / 4;
            a.o.kernel = kinds[kind].kernel, a.o.exponent = (rfm_real)kinds[kind].q;
            a.o.unit_rows = kinds[kind].unit_rows, a.o.metric = RFM_DIAGONAL, a.o.iterations = 2;
            a.o.ridge_rule = (int)(turn % 2);
            status = model_fit(&a);
            if (status == TEST_SKIP) continue;
            CHECK(status == RFM_OK || status == RFM_ERANGE);
            if (status != RFM_OK) continue;
            CHECK(rfm_finite(s.n, a.m.alpha) && rfm_finite(s.n * a.m.r, a.m.centers));
            z[0] = RFM_LIMIT(MAX), z[1] = -RFM_LIMIT(MAX);
            status = rfm_predict_one(&a.m, z, scores, scratch, NULL, NULL);
            CHECK(status == RFM_ERANGE || (status == RFM_OK && rfm_finite(1, scores)));
            z[0] = z[1] = RFM_LIMIT(MIN) / 2;
            CHECK_INT(RFM_OK, rfm_predict_one(&a.m, z, scores, scratch, NULL, NULL));
        }
}

/* Rows whose products with P are below the normal range have no direction: that is no success. */
static void test_lost_directions(void) {
    static const model_shape s = {5, 3, 1};
    const int least = RFM_LIMIT(MIN_EXP) - 1; /* of a normal number */
    size_t kind, turn, i;

    for (kind = 0; kind < TEST_LENGTH(kinds); kind++)
        for (turn = 0; turn < 4; turn++) {
            /* all is normal; just below; below every number; one row only */
            const int power = turn == 0 ? least / 4 : turn == 1 ? 2 * (least - 6) / 3 : turn == 2 ? 7 * least / 8 : 0;
            rfm_real start[3];
            int status;

            test_reset();
            test_note("lost", kind, turn, 0);
            if (!kinds[kind].unit_rows || !model_make(&a, s.n, s.d, s.c)) continue;
            for (i = 0; i < s.d; i++) start[i] = (rfm_real)ldexp(1, power); /* M = P^2 */
            for (i = 0; i < s.n * s.d; i++)
                a.x.at[i / s.d * a.x.stride + i % s.d] *= (rfm_real)ldexp(1, turn == 3 && i < s.d ? least - 9 : power);
            a.o.kernel = kinds[kind].kernel, a.o.exponent = (rfm_real)kinds[kind].q;
            a.o.unit_rows = 1, a.o.metric = RFM_DIAGONAL, a.o.iterations = 0;
            a.data.start = rfm_cview(start, 1, s.d);
            status = model_fit(&a);
            if (status == TEST_SKIP) continue;
            CHECK_INT(turn == 0 ? RFM_OK : RFM_ERANGE, status);
        }
}

/* P has one row, along (1, 2, 3). */
static void check_direction(double share) {
    double largest = 0;
    size_t i, j;

    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++)
            largest = fmax(largest, fabs((double)a.m.p[j] * (double)(i + 1) - (double)a.m.p[i] * (double)(j + 1)));
    CHECK(a.m.r == 1 && a.m.p[0] != 0);
    CHECK_BELOW(largest, share * fabs((double)a.m.p[2]));
}

/* A fixed ridge far above K: y - ridge alpha has no digits, and M still is the direction of the row. */
static void test_large_ridge(void) {
    size_t i;
    int kernel;

    for (kernel = RFM_NNGP; kernel <= RFM_NTK; kernel++) {
        int status;

        test_reset();
        test_note("kernel", (size_t)kernel, 0, 0);
        if (!model_make(&a, 1, 3, 1)) TEST_IGNORE_MESSAGE("no room");
        for (i = 0; i < 3; i++) a.x.at[i] = (rfm_real)ldexp((double)(i + 1), -RFM_LIMIT(MANT_DIG));
        a.y.at[0] = 1;
        a.o.kernel = kernel, a.o.exponent = 2, a.o.metric = RFM_FULL, a.o.iterations = 1;
        a.o.ridge = 1, a.o.ridge_rule = RFM_RIDGE_FIXED, a.o.scale = RFM_SCALE_TRACE;
        status = model_fit(&a);
        if (status == TEST_SKIP) continue;
        CHECK_INT(RFM_OK, status);
        check_direction(1e-3);
    }
}

/* A fixed ridge of 0 is no ridge, however short the row: its target is predicted, M is its direction, and an alpha that
 * is too large is refused. */
static void test_short_row(void) {
    const int least = RFM_LIMIT(MIN_EXP) - 1, power = 2 * least / 3; /* |x|^2 is below the number range */
    size_t turn, i;
    int kernel;

    for (kernel = RFM_NNGP; kernel <= RFM_NTK; kernel++)
        for (turn = 0; turn < 2; turn++) {
            rfm_real score, scratch[RFM_PREDICT_SCRATCH(3, 3)];
            int status;

            test_reset();
            test_note("kernel, target", (size_t)kernel, turn, 0);
            if (!model_make(&a, 1, 3, 1)) TEST_IGNORE_MESSAGE("no room");
            for (i = 0; i < 3; i++) a.x.at[i] = (rfm_real)ldexp((double)(i + 1), power);
            a.y.at[0] = (rfm_real)ldexp(1, turn == 0 ? power / 2 : -power);
            a.o.kernel = kernel, a.o.exponent = 2, a.o.metric = RFM_FULL, a.o.iterations = 1;
            a.o.ridge = 0, a.o.ridge_rule = RFM_RIDGE_FIXED, a.o.scale = RFM_SCALE_MAX;
            status = model_fit(&a);
            if (status == TEST_SKIP) continue;
            CHECK_INT(turn == 0 ? RFM_OK : RFM_ERANGE, status);
            if (turn > 0) continue;
            CHECK_INT(RFM_OK, rfm_predict_one(&a.m, a.x.at, &score, scratch, NULL, NULL));
            CHECK_BELOW(fabs(ldexp((double)score, -(power / 2)) - 1), 100 * TEST_EPS);
            check_direction(100 * TEST_EPS);
        }
}

/* ---- memory and workers --------------------------------------------------------------------- */

static void test_memory(void) {
    static const model_shape s = {17, 5, 3};
    size_t kind, part, scratch = 0, store = 0;

    for (kind = 0; kind < TEST_LENGTH(kinds); kind++)
        for (part = 0; part < 2; part++) {
            rfm_arena arena, kept;
            rfm_model before;
            void *memory, *other;

            test_reset();
            test_note("memory", kind, part, 0);
            if (!model_make(&a, s.n, s.d, s.c)) continue;
            a.o.kernel = kinds[kind].kernel, a.o.exponent = (rfm_real)kinds[kind].q;
            a.o.unit_rows = kinds[kind].unit_rows, a.o.metric = RFM_DIAGONAL;
            CHECK_INT(RFM_OK, rfm_fit_need(&a.ctx, &a.data, &a.o, &scratch, &store));
            memory = test_take(scratch), other = test_take(store);
            if (memory == NULL || other == NULL) continue;
            CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, scratch - part));
            CHECK_INT(RFM_OK, rfm_arena_init(&kept, other, store - (1 - part)));
            memset(&a.m, 0xFF, sizeof a.m);
            before = a.m;
            a.ctx.arena = &arena;
            CHECK_INT(RFM_EARENA, rfm_fit(&a.ctx, &a.data, &a.o, &kept, &a.m, NULL));
            CHECK(memcmp(&before, &a.m, sizeof before) == 0 && kept.used == 0 && arena.used == 0);
        }
}

static void test_workers(void) {
    static const size_t workers[] = {1, 2, 7};
    static const model_shape shapes[] = {{17, 5, 3}, {129, 6, 4}};
    size_t kind, shape, w;

    for (shape = 0; shape < TEST_LENGTH(shapes); shape++)
        for (kind = 0; kind < TEST_LENGTH(kinds); kind++) {
            const model_shape s = shapes[shape];
            rfm_model first;
            rfm_mat y, again;
            int ready = 0;

            test_reset();
            test_note("workers", shape, kind, 0);
            memset(&first, 0, sizeof first);
            if (s.n > TEST_N_MAX || !model_make(&a, s.n, s.d, s.c)) continue;
            special_rows(1);
            y = test_mat(s.n, s.c, 0, 0), again = test_mat(s.n, s.c, 0, 0);
            if (y.at == NULL || again.at == NULL) continue;
            a.o.kernel = kinds[kind].kernel, a.o.exponent = (rfm_real)kinds[kind].q;
            a.o.unit_rows = kinds[kind].unit_rows, a.o.iterations = 2;
            a.o.metric = RFM_FULL;
            for (w = 0; w < TEST_LENGTH(workers); w++) {
                test_pool pool;

                pool.workers = workers[w], pool.reverse = w % 2 != 0;
                a.ctx.workers = workers[w], a.ctx.run = test_pool_run, a.ctx.pool = &pool;
                if (model_fit(&a) == TEST_SKIP) break;
                if (model_predict(&a, a.data.x, ready ? again : y) == TEST_SKIP) break;
                if (ready) {
                    CHECK(first.r == a.m.r);
                    CHECK(memcmp(first.alpha, a.m.alpha, s.n * s.c * sizeof *first.alpha) == 0);
                    CHECK(memcmp(first.p, a.m.p, (a.o.metric == RFM_FULL ? first.r : 1) * s.d * sizeof *first.p) == 0);
                    CHECK(memcmp(y.at, again.at, s.n * s.c * sizeof *y.at) == 0);
                } else
                    first = a.m, ready = 1;
            }
            memset(&a.ctx, 0, sizeof a.ctx);
        }
}

/* ---- blobs ---------------------------------------------------------------------------------- */

static unsigned char *write_blob(rfm_contents *parts, size_t *bytes) {
    unsigned char *blob;

    CHECK_INT(RFM_OK, rfm_model_size(parts, bytes));
    blob = test_take(*bytes);
    if (blob != NULL) CHECK_INT(RFM_OK, rfm_model_write(parts, blob, *bytes));
    return blob;
}

/* Opened, a model predicts raw values as the fit predicts standardised ones; written again it is the same bytes. */
static void test_blob(void) {
    static const model_shape s = {9, 3, 2};
    size_t kind, metric, i, j, k;

    if (!test_little_endian()) return;
    for (kind = 0; kind < TEST_LENGTH(kinds); kind++)
        for (metric = 0; metric < 3; metric++) {
            static const rfm_real x_mean[] = {(rfm_real)0.5, -1, 2}, x_scale[] = {2, (rfm_real)0.5, 4},
                                  y_mean[] = {1, -2}, y_scale[] = {(rfm_real)0.5, 2};
            unsigned char *blob, *copy;
            size_t bytes = 0, more = 0;
            rfm_contents parts;
            rfm_model opened;

            test_note("blob", kind, metric, 0);
            if (!make(s, kind, metric)) continue;
            memset(&parts, 0, sizeof parts);
            parts.model = &a.m;
            parts.x_mean = x_mean, parts.x_scale = x_scale, parts.y_mean = y_mean, parts.y_scale = y_scale;
            blob = write_blob(&parts, &bytes);
            if (blob == NULL) continue;
            CHECK_INT(3, blob[10]);
            CHECK_INT(RFM_OK, rfm_model_open(blob, bytes, &opened));
            CHECK(opened.kernel == a.m.kernel && opened.bandwidth == 1);
            CHECK((opened.radius > 0) == (a.m.radius > 0));
            for (i = 0; i < 6; i++) {
                rfm_real raw[3], x[3], scores[2], expect[2], scratch[6];

                for (j = 0; j < 3; j++) x[j] = (rfm_real)test_number(33, i, j), raw[j] = x[j] * x_scale[j] + x_mean[j];
                CHECK_INT(RFM_OK, rfm_predict_one(&a.m, x, expect, scratch, NULL, NULL));
                CHECK_INT(RFM_OK, rfm_predict_one(&opened, raw, scores, scratch, NULL, NULL));
                for (k = 0; k < 2; k++)
                    CHECK_BELOW(fabs((double)scores[k] - ((double)expect[k] * (double)y_scale[k] + (double)y_mean[k])),
                                200 * TEST_EPS * (3 + 2 * plain_size(x, k)));
            }
            memset(&parts, 0, sizeof parts);
            parts.model = &opened;
            copy = write_blob(&parts, &more);
            if (copy == NULL) continue;
            CHECK_SIZE(bytes, more);
            CHECK(memcmp(blob, copy, bytes) == 0);
        }
}

static void mend(unsigned char *blob) { rfm_put_u32(blob + 4, rfm_crc32(0, blob + 8, rfm_get_u32(blob + 12) - 8)); }

static void check_open(unsigned char *blob, size_t bytes, int status) {
    rfm_model opened;

    mend(blob);
    CHECK_INT(status, rfm_model_open(blob, bytes, &opened));
}

/* The reader looks at the depth, at the radius, and at what goes together. */
static void test_reader(void) {
    static const model_shape s = {5, 2, 1};
    static const double depths[] = {0, 9, 1.5, -1, 8.5, 1e30, 0.5, 7.999};
    const size_t radius_entry = 48 + 8 * RFM_SECTION_RADIUS;
    size_t kind, i;

    if (!test_little_endian()) return;
    for (kind = 0; kind < TEST_LENGTH(kinds); kind++) {
        unsigned char *blob;
        rfm_contents parts;
        size_t bytes = 0;
        uint32_t at, word;

        test_note("reader", kind, 0, 0);
        if (!make(s, kind, 1)) continue;
        memset(&parts, 0, sizeof parts);
        parts.model = &a.m;
        blob = write_blob(&parts, &bytes);
        if (blob == NULL) continue;
        check_open(blob, bytes, RFM_OK);
        for (i = 0; i < TEST_LENGTH(depths) && rfm_kernels[a.m.kernel].layers; i++) {
            const float depth = (float)depths[i];

            word = rfm_get_u32(blob + 36);
            memcpy(blob + 36, &depth, 4);
            check_open(blob, bytes, RFM_ECONTENT);
            rfm_put_u32(blob + 36, word);
        }
        blob[16] = RFM_I8;
        mend(blob);
        {
            rfm_model_i integers;

            CHECK_INT(RFM_ECONTENT, rfm_model_open_i(blob, bytes, &integers));
        }
        blob[16] = sizeof(rfm_real);
        blob[18] = (unsigned char)(blob[18] + 8);
        check_open(blob, bytes, RFM_ECONTENT);
        blob[18] = (unsigned char)(blob[18] - 8);
        if (kinds[kind].unit_rows) {
            static const double wrong[] = {0, -1, 1e-30, 1e-120, 1e200};

            at = rfm_get_u32(blob + radius_entry);
            rfm_put_u32(blob + radius_entry + 4, 0); /* not there */
            check_open(blob, bytes, RFM_ECONTENT);
            rfm_put_u32(blob + radius_entry + 4, 2 * sizeof(rfm_real));
            check_open(blob, bytes, RFM_ECONTENT);
            rfm_put_u32(blob + radius_entry + 4, sizeof(rfm_real));
            check_open(blob, bytes, RFM_OK);
            for (i = 0; i < TEST_LENGTH(wrong); i++) {
                rfm_real before, radius = wrong[i] < 1e38 ? (rfm_real)wrong[i] : RFM_LIMIT(MAX);

                if (sizeof radius == 8 && i == 2) continue; /* in double that is a radius */
                memcpy(&before, blob + at, sizeof before);
                memcpy(blob + at, &radius, sizeof radius);
                check_open(blob, bytes, RFM_ECONTENT);
                memcpy(blob + at, &before, sizeof before);
            }
            rfm_put_u32(blob + 44, RFM_SECTION_RADIUS); /* the table ends before it */
            check_open(blob, bytes, RFM_ECONTENT);
            rfm_put_u32(blob + 44, RFM_SECTION_RADIUS + 1);
        } else {
            blob[18] = (unsigned char)(blob[18] + RFM_UNIT_ROWS); /* unit rows without a radius */
            check_open(blob, bytes, RFM_ECONTENT);
            blob[18] = (unsigned char)(blob[18] - RFM_UNIT_ROWS);
        }
        check_open(blob, bytes, RFM_OK);
    }
}

static void test_record(void) {
    unsigned char record[RFM_RECORD_OPTIONS_BYTES + 8];
    rfm_options o, back;
    size_t used = 0;

    rfm_options_init(&o);
    o.kernel = RFM_NTK, o.exponent = 5, o.unit_rows = 1, o.ridge_rule = RFM_RIDGE_FIXED;
    CHECK_INT(RFM_OK, rfm_record_add_options(record, sizeof record, &used, &o));
    CHECK_INT(RFM_OK, rfm_record_options(record, used, &back));
    CHECK(back.kernel == RFM_NTK && back.exponent == 5 && back.unit_rows == 1 && back.ridge_rule == RFM_RIDGE_FIXED);
    record[8 + 7] = 4; /* no ridge rule has this number */
    CHECK_INT(RFM_ECONTENT, rfm_record_options(record, used, &back));
    record[8 + 7] = 0;
    CHECK_INT(RFM_OK, rfm_record_options(record, used, &back));
    CHECK(back.unit_rows == 0 && back.ridge_rule == RFM_RIDGE_SHARE);
}

/* ---- what is refused ------------------------------------------------------------------------ */

static void check_refused(void) {
    size_t scratch, store;

    CHECK_INT(RFM_EVALUE, rfm_fit_need(&a.ctx, &a.data, &a.o, &scratch, &store));
}

static void test_refused(void) {
    static const double depths[] = {0, 9, 1.5, -1, 1e30};
    static const model_shape s = {9, 3, 2};
    rfm_options sane;
    size_t i, kind;

    CHECK(model_make(&a, 4, 2, 1));
    sane = a.o;
    for (i = 0; i < TEST_LENGTH(depths); i++) {
        test_note("refused depth", i, 0, 0);
        a.o.kernel = RFM_NNGP, a.o.exponent = (rfm_real)depths[i];
        check_refused();
        a.o.kernel = RFM_NTK;
        check_refused();
    }
    a.o = sane, a.o.unit_rows = 2, check_refused();
    a.o = sane, a.o.unit_rows = -1, check_refused();
    a.o = sane, a.o.ridge_rule = 2, check_refused();
    a.o = sane, a.o.ridge_rule = -1, check_refused();
    for (kind = 0; kind < TEST_LENGTH(kinds); kind++) {
        rfm_real scores[2], scratch[64], radius;
        rfm_centers_options how;
        rfm_online_options online;
        rfm_model bad;
        rfm_ctx none;
        size_t need = 0, store = 0, class_at;

        test_note("refused", kind, 0, 0);
        if (!make(s, kind, 1)) continue;
        memset(&none, 0, sizeof none);
        memset(&how, 0, sizeof how);
        how.centers = 3;
        CHECK_INT(RFM_EVALUE, rfm_small_centers_need(&none, &a.m, &a.data, &how, &need, &store));
        CHECK_INT(RFM_EVALUE, rfm_small_rank_need(&none, &a.m, &a.data, 2, &need, &store));
        a.m.task = RFM_CLASSIFY;
        CHECK_INT(RFM_EVALUE, rfm_certify(&a.m, a.x.at, scores, scratch, &class_at, &radius, NULL));
        rfm_online_options_init(&online);
        online.window = 8, online.inputs = 3, online.outputs = 2, online.pending = 2, online.start = &a.m;
        online.kernel = a.m.kernel;
        CHECK_INT(RFM_EVALUE, rfm_online_need(&online, &need));
        bad = a.m, bad.radius = -1;
        CHECK_INT(RFM_EVALUE, rfm_predict_need(&none, &bad, 1, &need));
        bad = a.m, bad.radius = RFM_LIMIT(MAX);
        CHECK_INT(RFM_EVALUE, rfm_predict_need(&none, &bad, 1, &need));
        bad = a.m, bad.exponent = 9;
        CHECK_INT(rfm_kernels[bad.kernel].layers ? RFM_EVALUE : RFM_OK, rfm_predict_need(&none, &bad, 1, &need));
    }
}

/* cos(K, YY') from the plain kernel. */
static void test_alignment(void) {
    static const model_shape s = {9, 3, 2};
    size_t kind, i, j, k;

    for (kind = 0; kind < TEST_LENGTH(kinds); kind++) {
        double ky = 0, kk = 0, yy = 0;
        rfm_real alignment = 0;
        rfm_arena arena;
        rfm_ctx ctx;
        size_t need = 0;
        void *memory;

        test_note("alignment", kind, 0, 0);
        if (!make(s, kind, 2)) continue;
        memset(&ctx, 0, sizeof ctx);
        CHECK_INT(RFM_OK, rfm_alignment_need(&ctx, &a.m, s.n, &need));
        memory = test_take(need);
        if (memory == NULL) continue;
        CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, need));
        ctx.arena = &arena;
        CHECK_INT(RFM_OK, rfm_alignment(&ctx, &a.m, a.data.x, a.data.y, &alignment));
        for (i = 0; i < s.n; i++)
            for (j = 0; j < s.n; j++) {
                const double value = kernel(&a.m, a.x.at + i * a.x.stride, a.x.at + j * a.x.stride);
                double y = 0;

                for (k = 0; k < s.c; k++) y += model_at(a.y, i, k) * model_at(a.y, j, k);
                ky += value * y, kk += value * value, yy += y * y;
            }
        CHECK_BELOW(fabs(ky / sqrt(kk * yy) - (double)alignment), 50 * TEST_EPS);
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_arc);
    RUN_TEST(test_wide_network);
    RUN_TEST(test_values);
    RUN_TEST(test_novelty);
    RUN_TEST(test_differences);
    RUN_TEST(test_collinear);
    RUN_TEST(test_equations);
    RUN_TEST(test_update);
    RUN_TEST(test_no_ridge);
    RUN_TEST(test_leave_one_out);
    RUN_TEST(test_scale);
    RUN_TEST(test_zero_rows);
    RUN_TEST(test_range);
    RUN_TEST(test_lost_directions);
    RUN_TEST(test_large_ridge);
    RUN_TEST(test_short_row);
    RUN_TEST(test_memory);
    RUN_TEST(test_workers);
    RUN_TEST(test_blob);
    RUN_TEST(test_reader);
    RUN_TEST(test_record);
    RUN_TEST(test_refused);
    RUN_TEST(test_alignment);
    return UNITY_END();
}
