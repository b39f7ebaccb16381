/* HyperBF networks: loss and gradient against plain sums and their differences in double, descent against the formulas
 * of its steps, starts, teachers, rounding in the loop, memory, refusals. tests/golden/hyperbf has golden cases. */
#include "models.h"
#include "rfm_hyperbf.h"

/* Of finite differences: where rows are far away, W moves them far, and digits are lost. */
static double nudge_of_p, slope_error;

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
    nudge_of_p = 1e-5, slope_error = 1e-7;
}
void tearDown(void) {}

/* ---- a network and rows, from test_number ---------------------------------------------------- */

typedef struct {
    size_t m, n, d, c, r; /* rows, centres, inputs, outputs, rank */
    int kernel, labels, inputs, offset, weights;
} shape;

typedef struct {
    shape s;
    rfm_mat x, y, alpha, centers, inputs, p, offset, shift, weights;
    uint32_t *labels;
    rfm_hyperbf f;
    rfm_data data;
    rfm_ctx ctx;
} kit;

/* Not on the stack: some boards have 3 KiB of it. */
static kit a, b;
static rfm_hyperbf_options o;
static rfm_hyperbf_start_options so;
static rfm_hyperbf_cost cost;
static rfm_hyperbf_report report;

static void fill(rfm_mat m, uint32_t stream, double scale) {
    size_t i, j;
    for (i = 0; i < m.rows; i++)
        for (j = 0; j < m.cols; j++) m.at[i * m.stride + j] = (rfm_real)(scale * test_number(stream, i, j));
}

static void describe(kit *k) {
    const shape *s = &k->s;
    memset(&k->f, 0, sizeof k->f);
    k->f.n = s->n, k->f.d = s->d, k->f.c = s->c, k->f.r = s->r;
    k->f.kernel = s->kernel, k->f.exponent = (rfm_real)1.3, k->f.bandwidth = (rfm_real)0.9;
    k->f.shift = k->shift.at, k->f.alpha = k->alpha.at, k->f.centers = k->centers.at, k->f.p = k->p.at;
    k->f.inputs = s->inputs ? k->inputs.at : NULL;
    k->f.offset = s->offset ? k->offset.at : NULL;
    k->f.labels = s->labels ? k->labels : NULL;
    memset(&k->data, 0, sizeof k->data);
    k->data.x = rfm_const(k->x), k->data.y = rfm_const(k->y);
    if (s->weights) k->data.weights = k->weights.at;
}

/* The numbers as they are before a call. */
static void set(kit *k) {
    const shape *s = &k->s;
    size_t i, q;
    fill(k->x, 1, 2);
    fill(k->y, 2, 1);
    fill(k->alpha, 3, 1);
    fill(k->centers, 4, 1);
    fill(k->inputs, 5, 2);
    fill(k->p, 6, 0.7);
    fill(k->offset, 7, 1);
    fill(k->shift, 8, 0.5);
    for (i = 0; i < s->m; i++) k->weights.at[i] = (rfm_real)(i % 3 == 1 ? 0 : 1 + test_number(9, i, 0) / 2);
    k->weights.at[0] = (rfm_real)1.5;
    for (i = 0; i < s->n; i++) {
        k->labels[i] = (uint32_t)(i % s->c);
        for (q = 0; s->labels && q < s->c; q++)
            if (q != k->labels[i]) k->alpha.at[i * s->c + q] = 0;
    }
    if (s->inputs) memset(k->centers.at, 0, s->n * s->r * sizeof(rfm_real));
    describe(k);
}

/* 0: no room. */
static int make(kit *k, shape s) {
    memset(k, 0, sizeof *k);
    k->s = s;
    k->x = test_mat(s.m, s.d, 1, 0);
    k->y = test_mat(s.m, s.c, 2, 0);
    k->alpha = test_mat(s.n, s.c, 0, 0);
    k->centers = test_mat(s.n, s.r, 0, 0);
    k->inputs = test_mat(s.n, s.d, 0, 0);
    k->p = test_mat(s.r, s.d, 0, 0);
    k->offset = test_mat(1, s.c, 0, 0);
    k->shift = test_mat(1, s.d, 0, 0);
    k->weights = test_mat(1, s.m, 0, 0);
    k->labels = (uint32_t *)test_take(s.n * sizeof(uint32_t));
    if (k->labels == NULL || k->weights.at == NULL || k->x.at == NULL || k->y.at == NULL || k->alpha.at == NULL)
        return 0;
    if (k->centers.at == NULL || k->inputs.at == NULL || k->p.at == NULL || k->shift.at == NULL) return 0;
    set(k);
    return 1;
}

static shape shape_of(size_t m, size_t n, size_t d, size_t c, size_t r, int kernel) {
    shape s;
    memset(&s, 0, sizeof s);
    s.m = m, s.n = n, s.d = d, s.c = c, s.r = r, s.kernel = kernel;
    return s;
}

/* ---- calls on exactly the memory that they need ---------------------------------------------- */

static rfm_arena arena;

/* 0: no room. */
static int arena_of(rfm_ctx *ctx, size_t bytes) { return test_arena(ctx, &arena, bytes); }

static int run_loss(kit *k, rfm_real *loss, rfm_hyperbf_gradient *g) {
    size_t bytes = 0, mark = test_mark();
    int status;
    CHECK_INT(RFM_OK, rfm_hyperbf_loss_need(&k->ctx, &k->f, k->s.m, &bytes));
    if (!arena_of(&k->ctx, bytes)) return TEST_SKIP;
    status = rfm_hyperbf_loss(&k->ctx, &k->f, &k->data, &cost, loss, g);
    CHECK_SIZE(0, arena.used);
    CHECK_INT(RFM_OK, arena.status);
    if (status == RFM_OK) CHECK_SIZE(bytes, arena.peak);
    test_rewind(mark);
    return status;
}

static int run_descend(kit *k) {
    size_t bytes = 0, mark = test_mark();
    int status;
    CHECK_INT(RFM_OK, rfm_hyperbf_descend_need(&k->ctx, &k->data, &o, &k->f, &bytes));
    if (!arena_of(&k->ctx, bytes)) return TEST_SKIP;
    status = rfm_hyperbf_descend(&k->ctx, &k->data, &o, &k->f, &report);
    CHECK_SIZE(0, arena.used);
    CHECK_INT(RFM_OK, arena.status);
    if (status == RFM_OK) CHECK_SIZE(bytes, arena.peak);
    test_rewind(mark);
    return status;
}

/* The network stays in the pool, its end is test_mark(). */
static int run_start(kit *k, rfm_hyperbf *f) {
    size_t scratch = 0, kept = 0, mark = test_mark(), end;
    rfm_arena store;
    void *memory;
    int status = rfm_hyperbf_start_need(&k->ctx, &k->data, &so, &scratch, &kept);
    if (status != RFM_OK) return status;
    memory = test_take(kept);
    end = test_mark();
    if (memory == NULL || !arena_of(&k->ctx, scratch)) {
        test_rewind(mark);
        return TEST_SKIP;
    }
    CHECK_INT(RFM_OK, rfm_arena_init(&store, memory, kept));
    status = rfm_hyperbf_start(&k->ctx, &k->data, &so, &store, f);
    CHECK_SIZE(0, arena.used);
    CHECK_SIZE(status == RFM_OK ? kept : 0, store.used);
    if (status == RFM_OK) CHECK_SIZE(scratch, arena.peak);
    test_rewind(status == RFM_OK ? end : mark);
    return status;
}

static int run_model(const rfm_hyperbf *f, rfm_model *m) {
    rfm_arena store;
    size_t kept = 0;
    void *memory;
    int status;
    CHECK_INT(RFM_OK, rfm_hyperbf_model_need(f, &kept));
    memory = test_take(kept);
    if (memory == NULL) return TEST_SKIP;
    CHECK_INT(RFM_OK, rfm_arena_init(&store, memory, kept));
    status = rfm_hyperbf_model(f, &store, m);
    if (status == RFM_OK) CHECK_SIZE(kept, store.used);
    return status;
}

static int run_predict(const rfm_model *m, rfm_cmat x, rfm_mat y) {
    size_t bytes = 0, mark = test_mark();
    rfm_ctx ctx;
    int status;
    memset(&ctx, 0, sizeof ctx);
    CHECK_INT(RFM_OK, rfm_predict_need(&ctx, m, x.rows, &bytes));
    if (!arena_of(&ctx, bytes)) return TEST_SKIP;
    status = rfm_predict(&ctx, m, x, y);
    test_rewind(mark);
    return status;
}

/* ---- the same in double, as plain sums ------------------------------------------------------- */

/* One parameter is off by `change`: array 0 alpha, 1 centers, 2 inputs, 3 p, 4 offset, 5 log L; -1: none. */
typedef struct {
    int array;
    size_t at;
    double change;
} nudge;

static double value(const rfm_real *from, const nudge *by, int array, size_t at) {
    return (double)from[at] + (by->array == array && by->at == at ? by->change : 0);
}

static double reference_phi(const rfm_hyperbf *f, double s, double bandwidth) {
    double t = s / bandwidth;
    if (f->kernel == RFM_GAUSSIAN) return exp(-t * t / 2);
    return exp(-pow(t, f->kernel == RFM_LAPLACE ? 1 : (double)f->exponent));
}

static double reference_center(const rfm_hyperbf *f, const nudge *by, size_t at, size_t q) {
    double sum = 0;
    size_t j;
    if (f->inputs == NULL) return value(f->centers, by, 1, at * f->r + q);
    for (j = 0; j < f->d; j++)
        sum += value(f->p, by, 3, q * f->d + j) * (value(f->inputs, by, 2, at * f->d + j) - (double)f->shift[j]);
    return sum;
}

static void reference_f(const rfm_hyperbf *f, const nudge *by, const rfm_real *x, double *y) {
    const double bandwidth = (double)f->bandwidth * (by->array == 5 ? exp(by->change) : 1);
    size_t i, j, k, q;
    for (k = 0; k < f->c; k++) y[k] = f->offset != NULL ? value(f->offset, by, 4, k) : 0;
    for (i = 0; i < f->n; i++) {
        double s = 0, phi;
        for (q = 0; q < f->r; q++) {
            double z = 0;
            for (j = 0; j < f->d; j++) z += value(f->p, by, 3, q * f->d + j) * ((double)x[j] - (double)f->shift[j]);
            z -= reference_center(f, by, i, q);
            s += z * z;
        }
        phi = reference_phi(f, sqrt(s), bandwidth);
        for (k = 0; k < f->c; k++) y[k] += value(f->alpha, by, 0, i * f->c + k) * phi;
    }
}

#define OUTPUTS 8

static double reference_loss(const kit *k, const nudge *by) {
    const rfm_hyperbf *f = &k->f;
    double sum = 0, t = (double)cost.temperature, y[OUTPUTS];
    size_t i, q;
    for (i = 0; i < k->s.m; i++) {
        const rfm_real *target = k->y.at + i * k->y.stride;
        double loss = 0, top = 0;
        reference_f(f, by, k->x.at + i * k->x.stride, y);
        for (q = 0; q < f->c; q++) {
            double off = y[q] - (double)target[q];
            if (cost.kind == RFM_HYPERBF_SQUARED) loss += off * off;
            top += exp(y[q] / t);
        }
        if (cost.kind == RFM_HYPERBF_ENTROPY && f->c == 1) {
            double share = 1 / (1 + exp(-y[0] / t)), of = (1 + (double)target[0]) / 2;
            loss = -of * log(share) - (1 - of) * log(1 - share);
        } else if (cost.kind == RFM_HYPERBF_ENTROPY)
            for (q = 0; q < f->c; q++) loss -= (double)target[q] * log(exp(y[q] / t) / top);
        sum += loss * (k->data.weights != NULL ? (double)k->data.weights[i] : 1);
    }
    for (i = 0; i < f->n * f->c; i++) sum += (double)cost.ridge * pow(value(f->alpha, by, 0, i), 2);
    return sum;
}

static double slope(const kit *k, int array, size_t at) {
    const double h = array == 3 ? nudge_of_p : 1e-5;
    nudge by;
    double up, down;
    by.array = array, by.at = at, by.change = h;
    up = reference_loss(k, &by);
    by.change = -h;
    down = reference_loss(k, &by);
    return (up - down) / (2 * h);
}

/* An array of the gradient is the slope, relative to the largest. */
static void check_slopes(const kit *k, int array, size_t count, const rfm_real *got) {
    double worst = 0, most = 1e-2;
    size_t i, step = count / (TEST_FEW ? 6 : 40) + 1;
    for (i = 0; i < count; i++)
        if (fabs((double)got[i]) > most) most = fabs((double)got[i]);
    for (i = 0; i < count; i += step) {
        double expect = slope(k, array, i), off = fabs((double)got[i] - expect);
        if (array == 0 && k->f.labels != NULL && k->f.labels[i / k->f.c] != i % k->f.c) {
            CHECK(got[i] == 0);
            continue;
        }
        if (!(off <= worst)) worst = off;
    }
    CHECK_BELOW(worst / most, slope_error + 300 * TEST_EPS);
}

static void set_targets(kit *k) {
    size_t i, q;
    for (i = 0; cost.kind == RFM_HYPERBF_ENTROPY && k->s.c > 1 && i < k->s.m; i++)
        for (q = 0; q < k->s.c; q++) {
            rfm_real *at = k->y.at + i * k->y.stride + q;
            *at = *at < 0 ? -*at : *at;
        }
}

/* ---- loss and gradient ----------------------------------------------------------------------- */

/* Rows and centres in clusters `away` from the shift and from each other, on a grid where products by W are exact. */
static void move_away(kit *k, double away) {
    size_t i, j, q;
    for (i = 0; i < k->s.r * k->s.d; i++) k->p.at[i] = (rfm_real)(floor(4 * (double)k->p.at[i]) / 4);
    for (j = 0; j < k->s.d; j++) k->shift.at[j] = 0;
    for (i = 0; i < k->s.m; i++)
        for (j = 0; j < k->s.d; j++) {
            rfm_real *at = k->x.at + i * k->x.stride + j;
            *at = (rfm_real)(floor(8 * (double)*at) / 8 + (i % 2 == 0 ? away : -2 * away));
        }
    for (i = 0; i < k->s.n; i++) {
        const double side = i % 2 == 0 ? away : -2 * away;
        for (j = 0; j < k->s.d; j++) {
            rfm_real *at = k->inputs.at + i * k->s.d + j;
            *at = (rfm_real)(floor(8 * (double)*at) / 8 + 0.015625 + side); /* on no row */
        }
        for (q = 0; !k->s.inputs && q < k->s.r; q++) {
            double sum = floor(8 * (double)k->centers.at[i * k->s.r + q]) / 8 + 0.015625;
            for (j = 0; j < k->s.d; j++) sum += (double)k->p.at[q * k->s.d + j] * side;
            k->centers.at[i * k->s.r + q] = (rfm_real)sum;
        }
    }
}

/* Centres next to rows that are several L away from the shift. Then the slope by log L is that of the near pairs. */
static void move_near(kit *k) {
    size_t i, j, q;
    for (i = 0; i < k->s.m; i++)
        for (j = 0; j < k->s.d; j++) k->x.at[i * k->x.stride + j] *= 4;
    for (i = 0; i < k->s.n; i++)
        for (q = 0; q < k->s.r; q++) {
            double sum = 1 / 1024.0;
            for (j = 0; j < k->s.d; j++)
                sum += (double)k->p.at[q * k->s.d + j] *
                       ((double)k->x.at[i % k->s.m * k->x.stride + j] - (double)k->shift.at[j]);
            k->centers.at[i * k->s.r + q] = (rfm_real)sum;
        }
}

static void check_gradient(shape s, int kind, double away) {
    rfm_hyperbf_gradient g;
    rfm_real loss = 0, again = 0;
    rfm_mat alpha, centers, inputs, p, offset;
    nudge none;
    double expect;
    test_reset();
    if (!make(&a, s)) return;
    alpha = test_mat(s.n, s.c, 0, 0), centers = test_mat(s.n, s.r, 0, 0), inputs = test_mat(s.n, s.d, 0, 0);
    p = test_mat(s.r, s.d, 0, 0), offset = test_mat(1, s.c, 0, 0);
    if (alpha.at == NULL || centers.at == NULL || inputs.at == NULL || p.at == NULL || offset.at == NULL) return;
    rfm_hyperbf_cost_init(&cost);
    cost.kind = kind, cost.temperature = (rfm_real)0.5, cost.ridge = (rfm_real)0.25;
    set_targets(&a);
    if (away > 0) move_away(&a, away);
    if (away < 0) move_near(&a);
    memset(&g, 0, sizeof g);
    g.alpha = alpha.at, g.centers = centers.at, g.p = p.at;
    if (s.inputs) g.inputs = inputs.at;
    if (s.offset) g.offset = offset.at;
    if (run_loss(&a, &loss, &g) != RFM_OK) {
        CHECK_INT(TEST_SKIP, run_loss(&a, &loss, &g));
        return;
    }
    none.array = -1, none.at = 0, none.change = 0;
    expect = reference_loss(&a, &none);
    CHECK_BELOW(fabs((double)loss - expect), 30 * TEST_EPS * fabs(expect));
    CHECK_INT(RFM_OK, run_loss(&a, &again, NULL));
    CHECK(again >= loss && again <= loss);
    check_slopes(&a, 0, s.n * s.c, alpha.at);
    if (!s.inputs) check_slopes(&a, 1, s.n * s.r, centers.at);
    if (s.inputs) check_slopes(&a, 2, s.n * s.d, inputs.at);
    check_slopes(&a, 3, s.r * s.d, p.at);
    if (s.offset) check_slopes(&a, 4, s.c, offset.at);
    check_slopes(&a, 5, 1, &g.bandwidth);
    test_check_padding(alpha), test_check_padding(centers), test_check_padding(p);
}

static void test_gradient(void) {
    static const shape shapes[] = {
        {1, 1, 1, 1, 1, 0, 0, 0, 0, 0},   {7, 3, 2, 2, 1, 0, 1, 0, 1, 0},   {12, 5, 4, 3, 2, 0, 0, 1, 1, 1},
        {9, 4, 3, 1, 3, 0, 0, 1, 0, 0},   {20, 6, 5, 3, 2, 0, 1, 1, 1, 0},  {31, 17, 9, 4, 8, 0, 0, 0, 1, 1},
        {255, 3, 4, 2, 3, 0, 0, 0, 1, 0}, {257, 2, 3, 1, 3, 0, 0, 0, 1, 1}, {513, 3, 4, 2, 3, 0, 1, 0, 0, 0},
    };
    size_t i;
    int kernel, kind;
    for (i = 0; i < TEST_LENGTH(shapes); i++)
        for (kernel = RFM_LAPLACE; kernel <= RFM_GENERAL; kernel++)
            for (kind = RFM_HYPERBF_SQUARED; kind <= RFM_HYPERBF_ENTROPY; kind++) {
                shape s = shapes[i];
                if (TEST_FEW && s.m > 64 && (kernel != RFM_LAPLACE || i % 2 == 0)) continue;
                if (TEST_FEW && s.n > 4 && (kernel + kind) % 3 != (int)(i % 3)) continue;
                s.kernel = kernel;
                test_note("shape, kernel, kind:", i, (size_t)kernel, (size_t)kind);
                check_gradient(s, kind, 0);
            }
}

/* Thousands of L away from the shift, where products of rows and centres have no digits left for what is between
 * them. */
static void test_gradient_far(void) {
    static const shape shapes[] = {
        {7, 3, 2, 2, 1, 0, 1, 0, 1, 0},
        {12, 5, 4, 3, 2, 0, 0, 1, 1, 1},
        {20, 6, 5, 3, 2, 0, 1, 1, 1, 0},
        {258, 4, 3, 2, 3, 0, 0, 0, 1, 1},
    };
    size_t i;
    int kernel;
    for (i = 0; i < TEST_LENGTH(shapes); i++)
        for (kernel = RFM_LAPLACE; kernel <= RFM_GENERAL; kernel++) {
            shape s = shapes[i];
            s.kernel = kernel;
            nudge_of_p = s.inputs ? 1e-5 : 1e-8, slope_error = 1e-5;
            test_note("shape, kernel:", i, (size_t)kernel, 0);
            check_gradient(s, RFM_HYPERBF_SQUARED, 4096);
        }
}

/* Next to centres, where products have no digits left for the distance and the pull of a small exponent is large. */
static void test_gradient_near(void) {
    static const shape shapes[] = {
        {3, 3, 2, 2, 1, 0, 0, 0, 0, 0}, {6, 6, 4, 3, 2, 0, 0, 0, 1, 0}, {31, 17, 9, 4, 3, 0, 0, 0, 1, 0}};
    size_t i;
    int kernel;
    for (i = 0; i < TEST_LENGTH(shapes); i++)
        for (kernel = RFM_LAPLACE; kernel <= RFM_GENERAL; kernel++) {
            shape s = shapes[i];
            s.kernel = kernel;
            slope_error = 1e-3;
            test_note("shape, kernel:", i, (size_t)kernel, 0);
            check_gradient(s, RFM_HYPERBF_SQUARED, -1);
        }
}

/* A row of the kernel matrix from products is that of the distances, also of points that are close and far from 0. */
static void test_kernel_row(void) {
    enum { COUNT = 37, RANK = 3 };
    rfm_real x[RANK], z[COUNT * RANK], norms[COUNT], c[COUNT], w[COUNT], xx;
    const rfm_real inverse = (rfm_real)0.75;
    size_t port, offset, i, q;
    int kernel;
    for (port = 0; test_port(port) != NULL; port++)
        for (kernel = RFM_LAPLACE; kernel <= RFM_GENERAL; kernel++)
            for (offset = 0; offset < 2; offset++) {
                test_note("port, kernel, offset:", port, (size_t)kernel, offset);
                for (xx = 0, q = 0; q < RANK; q++) {
                    x[q] = (rfm_real)(test_number(51, 0, q) + 100 * (double)offset);
                    xx += x[q] * x[q];
                }
                for (i = 0; i < COUNT; i++)
                    for (norms[i] = 0, c[i] = 0, q = 0; q < RANK; q++) {
                        z[i * RANK + q] = x[q] + (rfm_real)(i == 0 ? 0 : test_number(52, i, q) * (i % 2 ? 2 : 0.125));
                        norms[i] += z[i * RANK + q] * z[i * RANK + q];
                        c[i] -= 2 * x[q] * z[i * RANK + q];
                    }
                rfm_kernel_row(test_port(port), kernel, (rfm_real)1.3, inverse, COUNT, RANK, x, xx, z, norms, c, w);
                CHECK(c[0] == 1 && w[0] == 0);
                for (i = 1; i < COUNT; i++) {
                    double s2 = 0, s, t, phi;
                    for (q = 0; q < RANK; q++) s2 += pow((double)x[q] - (double)z[i * RANK + q], 2);
                    s = sqrt(s2);
                    t = kernel == RFM_GAUSSIAN ? s2 * 0.5625 / 2 : pow(s * 0.75, kernel == RFM_LAPLACE ? 1 : 1.3);
                    phi = exp(-t);
                    CHECK_BELOW(fabs((double)c[i] - phi), 2e4 * TEST_EPS);
                    /* w = -phi'(s) / s = q t phi / s^2 */
                    t *= kernel == RFM_GAUSSIAN ? 2 : kernel == RFM_LAPLACE ? 1 : 1.3;
                    CHECK_BELOW(fabs((double)w[i] * s2 - t * phi), 2e4 * TEST_EPS);
                }
            }
}

/* Rows that are centres: no distance, no pull, nothing that is not finite. */
static void test_gradient_at_centers(void) {
    rfm_hyperbf_gradient g;
    rfm_real loss, centers[2], p[4], inputs[4];
    int kernel;
    for (kernel = RFM_LAPLACE; kernel <= RFM_GENERAL; kernel++) {
        shape s = shape_of(1, 1, 2, 1, 2, kernel);
        test_note("kernel:", (size_t)kernel, 0, 0);
        test_reset();
        s.inputs = 1;
        if (!make(&a, s)) TEST_IGNORE_MESSAGE("no room");
        memcpy(a.inputs.at, a.x.at, 2 * sizeof(rfm_real));
        memset(&g, 0, sizeof g);
        g.centers = centers, g.p = p, g.inputs = inputs;
        rfm_hyperbf_cost_init(&cost);
        if (run_loss(&a, &loss, &g) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK_BELOW(fabs((double)loss - pow((double)a.alpha.at[0] - (double)a.y.at[0], 2)), 8 * TEST_EPS);
        CHECK(centers[0] == 0 && centers[1] == 0 && inputs[0] == 0 && inputs[1] == 0);
        CHECK(p[0] == 0 && p[1] == 0 && p[2] == 0 && p[3] == 0);
        CHECK(g.bandwidth == 0);
    }
}

/* ---- models ---------------------------------------------------------------------------------- */

static void test_model(void) {
    shape s = shape_of(9, 4, 3, 2, 2, RFM_GENERAL);
    rfm_model m;
    rfm_mat y;
    nudge none;
    double expect[OUTPUTS];
    size_t i, k, kept = 0;
    s.offset = 1;
    if (!make(&a, s)) TEST_IGNORE_MESSAGE("no room");
    y = test_mat(s.m, s.c, 0, 0);
    if (y.at == NULL || run_model(&a.f, &m) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    if (run_predict(&m, a.data.x, y) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    none.array = -1, none.at = 0, none.change = 0;
    for (i = 0; i < s.m; i++) {
        reference_f(&a.f, &none, a.x.at + i * a.x.stride, expect);
        for (k = 0; k < s.c; k++) CHECK_BELOW(fabs((double)y.at[i * s.c + k] - expect[k]), 30 * TEST_EPS);
    }
    CHECK(m.alpha != a.f.alpha && m.p != a.f.p); /* copies */
    CHECK_INT(RFM_FULL, m.metric);
    {
        rfm_arena store, before;
        void *memory;
        CHECK_INT(RFM_OK, rfm_hyperbf_model_need(&a.f, &kept));
        memory = test_take(kept - 1);
        if (memory == NULL) return;
        CHECK_INT(RFM_OK, rfm_arena_init(&store, memory, kept - 1));
        before = store;
        CHECK_INT(RFM_EARENA, rfm_hyperbf_model(&a.f, &store, &m));
        CHECK(store.used == before.used && store.status == RFM_OK);
        CHECK_INT(RFM_ENULL, rfm_hyperbf_model(NULL, &store, &m));
        CHECK_INT(RFM_ENULL, rfm_hyperbf_model(&a.f, NULL, &m));
        CHECK_INT(RFM_ENULL, rfm_hyperbf_model(&a.f, &store, NULL));
        CHECK_INT(RFM_ENULL, rfm_hyperbf_model_need(&a.f, NULL));
        a.alpha.at[0] = (rfm_real)NAN;
        CHECK_INT(RFM_EFINITE, rfm_hyperbf_model(&a.f, &store, &m));
    }
}

/* ---- steps of the descent -------------------------------------------------------------------- */

static int descent_kit(int inputs) {
    shape s = shape_of(11, 3, 3, 2, 2, RFM_GAUSSIAN);
    s.offset = 1, s.weights = 1, s.inputs = inputs;
    return make(&a, s) && make(&b, s);
}

/* The state of one number that moves, in double. */
typedef struct {
    double x, first, second;
} mover;

/* Every step is what its formula says, of the gradient that rfm_hyperbf_loss gives. */
static void check_steps(int method, int inputs) {
    enum { STEPS = 6 };
    const double rates[5] = {0.5, 1, 2, 1, 0.75};
    rfm_real at[5], unit_of[5];
    rfm_hyperbf_gradient g;
    rfm_hyperbf_descent *descent = NULL;
    rfm_real loss, alpha[6], centers[6], input[9], p[6], offset[2], *place[5];
    mover state[5];
    size_t bytes = 0, t, k;
    double total = 0;
    test_reset();
    if (!descent_kit(inputs)) return;
    rfm_hyperbf_options_init(&o);
    rfm_hyperbf_cost_init(&cost);
    cost.ridge = o.cost.ridge = (rfm_real)0.5;
    o.method = method, o.steps = STEPS, o.batch = 0, o.rate = (rfm_real)0.05, o.floor = (rfm_real)0.25, o.look = 2;
    o.warm = (rfm_real)0.5;
    o.momentum = (rfm_real)0.75, o.second = (rfm_real)0.875;
    o.alpha_rate = (rfm_real)rates[0], o.center_rate = (rfm_real)rates[1], o.p_rate = (rfm_real)rates[2];
    o.offset_rate = (rfm_real)rates[3], o.bandwidth_rate = (rfm_real)rates[4];
    memset(&g, 0, sizeof g);
    g.alpha = alpha, g.centers = centers, g.p = p, g.offset = offset;
    if (inputs) g.inputs = input;
    /* the weights are scaled to a mean of 1, the loss is divided by the rows: together by the sum of the weights */
    for (k = 0; k < a.s.m; k++) total += (double)a.weights.at[k];
    {
        const rfm_real *arrays[4] = {a.f.alpha, inputs ? a.f.inputs : a.f.centers, a.f.p, a.f.offset};
        const size_t sizes[4] = {6, inputs ? 9 : 6, 6, 2};
        for (k = 0; k < 4; k++) {
            double sum = 0;
            for (t = 0; t < sizes[k]; t++) sum += (double)arrays[k][t] * (double)arrays[k][t];
            unit_of[k] = (rfm_real)(method == RFM_HYPERBF_ADAM ? sqrt(sum / (double)sizes[k]) : 1);
        }
        unit_of[4] = 1;
    }
    memset(state, 0, sizeof state);
    CHECK_INT(RFM_OK, rfm_hyperbf_descend_need(&a.ctx, &a.data, &o, &a.f, &bytes));
    if (!arena_of(&a.ctx, bytes)) return;
    CHECK_INT(RFM_OK, rfm_hyperbf_begin(&a.ctx, &a.data, &o, &a.f, &descent));
    CHECK(descent != NULL);
    place[0] = a.f.alpha + 1, place[1] = (inputs ? a.f.inputs : a.f.centers) + 4, place[2] = a.f.p + 3;
    place[3] = a.f.offset + 1, place[4] = &a.f.bandwidth;
    for (t = 0; t < STEPS; t++) {
        double factor = 0.25 + 0.75 * 0.5 * (1 + cos(3.14159265358979 * (double)t / STEPS));
        double warm = t < 3 ? (double)(t + 1) / 3 : 1; /* half of the steps */
        rfm_arena kept = arena;
        b.f = a.f, b.ctx = a.ctx;
        cost.ridge = (rfm_real)(0.5 * total / (double)a.s.m); /* so that it is the same after the division */
        if (run_loss(&b, &loss, &g) == TEST_SKIP) return;
        arena = kept;
        a.ctx.arena = &arena;
        at[0] = alpha[1], at[1] = inputs ? input[4] : centers[4], at[2] = p[3], at[3] = offset[1], at[4] = g.bandwidth;
        for (k = 0; k < 5; k++) {
            double gradient = (double)at[k] / total, rate = 0.05 * factor * warm * rates[k] * (double)unit_of[k], move;
            if (t == 0) state[k].x = k == 4 ? log((double)*place[k]) : (double)*place[k];
            if (method == RFM_HYPERBF_PLAIN)
                move = gradient;
            else if (method == RFM_HYPERBF_MOMENTUM)
                move = state[k].first = 0.75 * state[k].first + gradient;
            else {
                state[k].first = 0.75 * state[k].first + 0.25 * gradient;
                state[k].second = 0.875 * state[k].second + 0.125 * gradient * gradient;
                move = state[k].first / (1 - pow(0.75, (double)t + 1)) /
                       sqrt(state[k].second / (1 - pow(0.875, (double)t + 1)));
            }
            state[k].x -= rate * move;
        }
        CHECK_INT(RFM_OK, rfm_hyperbf_step(descent));
        for (k = 0; k < 5; k++) {
            double now = k == 4 ? log((double)*place[k]) : (double)*place[k];
            test_note("step, array, method:", t, k, (size_t)method);
            CHECK_BELOW(fabs(now - state[k].x), 1e-6 + 1e3 * TEST_EPS);
            state[k].x = now; /* errors of one step, not of all */
        }
    }
    CHECK_INT(RFM_EVALUE, rfm_hyperbf_step(descent));
    CHECK_INT(RFM_OK, rfm_hyperbf_end(descent, &report));
    CHECK_SIZE(0, arena.used);
    CHECK_SIZE(STEPS, report.steps);
}

static void test_steps(void) {
    int method, inputs;
    for (method = RFM_HYPERBF_PLAIN; method <= RFM_HYPERBF_ADAM; method++)
        for (inputs = 0; inputs < 2; inputs++) check_steps(method, inputs);
}

/* Alone and with workers, on every port: the same bits, whatever the options. */
static void test_same_bits(void) {
    static const size_t workers[] = {1, TEST_FEW ? 7 : 2, 7, 1};
    shape s = shape_of(300, 5, 6, 3, 3, RFM_LAPLACE);
    size_t port, w, mark;
    if (!make(&b, s)) TEST_IGNORE_MESSAGE("no room");
    for (w = 0; w < s.m; w++) b.y.at[w * b.y.stride + w % 3] += 1;
    mark = test_mark();
    for (port = 0; test_port(port) != NULL; port++) {
        rfm_hyperbf f;
        rfm_model teacher;
        uint64_t kept = 0;
        for (w = 0; w < (TEST_FEW ? 2 : TEST_LENGTH(workers)); w++) {
            test_pool pool;
            test_rewind(mark);
            test_note("port, workers:", port, workers[w], 0);
            pool.workers = workers[w], pool.reverse = w == 1;
            memset(&b.ctx, 0, sizeof b.ctx);
            b.ctx.port = test_port(port), b.ctx.workers = workers[w], b.ctx.run = test_pool_run, b.ctx.pool = &pool;
            rfm_hyperbf_start_init(&so);
            so.centers = 7, so.rank = 2, so.prototypes = 1, so.seed = 3;
            if (run_model(&b.f, &teacher) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
            so.model = &teacher;
            if (run_start(&b, &f) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
            a = b, a.f = f;
            rfm_hyperbf_options_init(&o);
            o.steps = TEST_FEW ? 8 : 30, o.batch = 300, o.look = 3, o.solve = 5, o.teacher = &teacher;
            o.mixed = (rfm_real)0.3, o.noisy = (rfm_real)0.2, o.bandwidth_rate = 1, o.seed = 5;
            if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
            CHECK(report.best < report.start);
            if (w == 0)
                kept = test_hash(test_mark());
            else
                CHECK(kept == test_hash(test_mark()));
        }
    }
}

/* ---- what a descent reaches ------------------------------------------------------------------ */

/* Two outputs that a network of two centres makes: then any network can learn them. */
static int learnable(kit *k) {
    shape s = shape_of(60, 4, 4, 2, 2, RFM_GAUSSIAN);
    rfm_hyperbf f;
    nudge none;
    double y[OUTPUTS];
    size_t i, j;
    s.offset = 1;
    if (!make(k, s)) return 0;
    none.array = -1, none.at = 0, none.change = 0;
    f = k->f, f.n = 2;
    for (i = 0; i < s.m; i++) {
        reference_f(&f, &none, k->x.at + i * k->x.stride, y);
        for (j = 0; j < s.c; j++) k->y.at[i * k->y.stride + j] = (rfm_real)y[j];
    }
    fill(k->alpha, 23, 1);
    fill(k->centers, 24, 1);
    fill(k->p, 26, 0.7);
    return 1;
}

static void test_descent(void) {
    static const double rates[] = {0.1, 0.02, 0.03};
    int method;
    for (method = RFM_HYPERBF_PLAIN; method <= RFM_HYPERBF_ADAM; method++) {
        test_note("method:", (size_t)method, 0, 0);
        test_reset();
        if (!learnable(&a)) TEST_IGNORE_MESSAGE("no room");
        rfm_hyperbf_options_init(&o);
        o.method = method, o.steps = 600, o.batch = 20, o.rate = (rfm_real)rates[method], o.look = 50;
        if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK_SIZE(600, report.steps);
        CHECK_BELOW((double)report.best, (method == RFM_HYPERBF_ADAM ? 0.02 : 0.3) * (double)report.start);
        { /* the report tells the truth */
            rfm_real loss = 0;
            rfm_hyperbf_cost_init(&cost);
            CHECK_INT(RFM_OK, run_loss(&a, &loss, NULL));
            CHECK_BELOW(fabs((double)loss / 60 - (double)report.best), 1e-5 * (double)report.best + 1e-9);
        }
    }
}

static rfm_real kept_numbers[64];

static size_t numbers_of(const kit *k, rfm_real *to) {
    const rfm_hyperbf *f = &k->f;
    size_t i, count = 0;
    for (i = 0; i < f->n * f->c; i++) to[count++] = f->alpha[i];
    for (i = 0; i < f->n * f->r; i++) to[count++] = f->centers[i];
    for (i = 0; i < f->r * f->d; i++) to[count++] = f->p[i];
    for (i = 0; f->offset != NULL && i < f->c; i++) to[count++] = f->offset[i];
    to[count++] = f->bandwidth;
    return count;
}

/* A rate that is far too large: found out, and f is the best that was seen, here the start. */
static void test_divergence(void) {
    rfm_real now[64];
    size_t count;
    int method;
    for (method = RFM_HYPERBF_PLAIN; method <= RFM_HYPERBF_ADAM; method++) {
        test_note("method:", (size_t)method, 0, 0);
        test_reset();
        if (!learnable(&a)) TEST_IGNORE_MESSAGE("no room");
        count = numbers_of(&a, kept_numbers);
        rfm_hyperbf_options_init(&o);
        o.method = method, o.steps = 500, o.batch = 20, o.rate = (rfm_real)1e4, o.look = 50, o.bandwidth_rate = 1;
        if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK_INT(RFM_ECONVERGE, run_descend(&a));
        CHECK(report.steps < 500);
        CHECK_SIZE(0, report.kept);
        CHECK_SIZE(count, numbers_of(&a, now));
        CHECK(memcmp(now, kept_numbers, count * sizeof *now) == 0);
    }
    /* before anything overflows: the loss of the second batch is enough */
    test_reset();
    if (!learnable(&a)) TEST_IGNORE_MESSAGE("no room");
    rfm_hyperbf_options_init(&o);
    o.method = RFM_HYPERBF_PLAIN, o.steps = 9, o.rate = 50, o.look = 100, o.most = 2, o.warm = 0;
    if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_SIZE(1, report.steps);
    /* after some good steps it is the best of those */
    test_reset();
    if (!learnable(&a)) TEST_IGNORE_MESSAGE("no room");
    rfm_hyperbf_options_init(&o);
    o.method = RFM_HYPERBF_PLAIN, o.steps = 400, o.batch = 0, o.rate = (rfm_real)0.1, o.floor = 1, o.look = 1;
    if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    o.rate = 3;
    if (run_descend(&a) == RFM_ECONVERGE) {
        rfm_real loss = 0;
        rfm_hyperbf_cost_init(&cost);
        CHECK_INT(RFM_OK, run_loss(&a, &loss, NULL));
        CHECK_BELOW(fabs((double)loss / 60 - (double)report.best), 1e-5 * (double)report.best + 1e-9);
        CHECK(report.best <= report.start);
    }
}

/* One row is far off: that is no divergence, though a batch with it has many times the mean loss. */
static void test_far_row(void) {
    size_t i;
    if (!learnable(&a)) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < a.y.rows * a.y.cols; i++) a.y.at[i / a.y.cols * a.y.stride + i % a.y.cols] = 0;
    a.y.at[0] = 1000;
    rfm_hyperbf_options_init(&o);
    o.batch = 1, o.steps = 400, o.rate = (rfm_real)1e-6, o.look = 1000, o.most = 2, o.method = RFM_HYPERBF_PLAIN;
    if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_SIZE(400, report.steps);
}

/* Rates of 0 hold an array to the bit; prototypes keep their zeros. */
static void test_held(void) {
    rfm_real now[64];
    size_t array, i;
    const size_t first[6] = {0, 8, 16, 24, 26, 27};
    for (array = 0; array < 5; array++) {
        test_note("array:", array, 0, 0);
        test_reset();
        if (!learnable(&a)) TEST_IGNORE_MESSAGE("no room");
        (void)numbers_of(&a, kept_numbers);
        rfm_hyperbf_options_init(&o);
        o.steps = 5, o.look = 1, o.most = 1000, o.rate = (rfm_real)0.002, o.bandwidth_rate = 1;
        if (array == 0) o.alpha_rate = 0;
        if (array == 1) o.center_rate = 0;
        if (array == 2) o.p_rate = 0;
        if (array == 3) o.offset_rate = 0;
        if (array == 4) o.bandwidth_rate = 0;
        if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK(report.kept > 0);
        CHECK_SIZE(27, numbers_of(&a, now));
        for (i = 0; i < 5; i++) {
            const size_t bytes = (first[i + 1] - first[i]) * sizeof *now;
            CHECK_INT(i == array, memcmp(now + first[i], kept_numbers + first[i], bytes) == 0);
        }
    }
    test_reset();
    {
        shape s = shape_of(40, 5, 3, 3, 2, RFM_GAUSSIAN);
        size_t k;
        s.labels = 1;
        if (!make(&a, s)) TEST_IGNORE_MESSAGE("no room");
        rfm_hyperbf_options_init(&o);
        o.steps = 60, o.look = 10, o.solve = 30, o.cost.ridge = (rfm_real)0.01;
        if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK(report.kept > 0);
        for (i = 0; i < s.n; i++)
            for (k = 0; k < s.c; k++) CHECK_INT(k == a.labels[i], a.alpha.at[i * s.c + k] != 0);
    }
}

/* Adam's first step is the rate in units of the root mean square: of the weights that are there, not of the zeros. */
static void test_adam_units(void) {
    shape s = shape_of(20, 2, 3, 2, 2, RFM_GAUSSIAN);
    size_t i;
    s.labels = 1;
    if (!make(&a, s)) TEST_IGNORE_MESSAGE("no room");
    a.alpha.at[0] = 3, a.alpha.at[3] = 4;
    rfm_hyperbf_options_init(&o);
    o.steps = 1, o.rate = (rfm_real)0.01, o.batch = 0;
    if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_SIZE(1, report.kept);
    for (i = 0; i < 4; i += 3)
        CHECK_BELOW(fabs(fabs((double)a.alpha.at[i] - (i == 0 ? 3 : 4)) - 0.01 * sqrt(12.5)), 1e-6);
}

/* Solved for: the derivative by alpha and offset is 0. One step with every rate held at 0. */
static void test_solve(void) {
    size_t i, k;
    int labels;
    for (labels = 0; labels < 2; labels++) {
        shape s = shape_of(45, 5, 3, 3, 2, RFM_LAPLACE);
        rfm_hyperbf_gradient g;
        rfm_real loss = 0, alpha[15], offset[3], before[15];
        double size = 0;
        test_note("labels:", (size_t)labels, 0, 0);
        test_reset();
        s.labels = labels, s.offset = 1, s.weights = 1;
        if (!make(&a, s)) TEST_IGNORE_MESSAGE("no room");
        rfm_hyperbf_options_init(&o);
        o.steps = 1, o.solve = 1, o.cost.ridge = (rfm_real)0.5;
        o.alpha_rate = o.center_rate = o.p_rate = o.offset_rate = 0;
        rfm_hyperbf_cost_init(&cost);
        memset(&g, 0, sizeof g);
        g.alpha = before;
        if (run_loss(&a, &loss, &g) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        for (i = 0; i < 15; i++) size = fmax(size, fabs((double)before[i]));
        if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK_SIZE(1, report.kept);
        for (cost.ridge = 0, k = 0; k < s.m; k++) cost.ridge += a.weights.at[k];
        cost.ridge *= (rfm_real)0.5 / (rfm_real)s.m; /* the descent scales the weights to a mean of 1, not the ridge */
        g.alpha = alpha, g.offset = offset;
        CHECK_INT(RFM_OK, run_loss(&a, &loss, &g));
        for (i = 0; i < 15; i++) CHECK_BELOW(fabs((double)alpha[i]), 1e3 * TEST_EPS * size);
        for (i = 0; i < 3; i++) CHECK_BELOW(fabs((double)offset[i]), 1e3 * TEST_EPS * size);
    }
}

/* The argument of the paper on AGOP and gradient descent: f = h(W x), one sample, W = 0 at the start. Then W = C x' for
 * ever, so W'W and the outer product of the gradient are both multiples of x x'. */
static void test_one_sample(void) {
    shape s = shape_of(1, 4, 5, 1, 3, RFM_GAUSSIAN);
    rfm_real cosine = 0;
    rfm_mat g, outer, m;
    rfm_model model;
    rfm_ctx ctx;
    size_t i, j, bytes = 0;
    if (!make(&a, s)) TEST_IGNORE_MESSAGE("no room");
    memset(a.p.at, 0, s.r * s.d * sizeof(rfm_real));
    memset(a.shift.at, 0, s.d * sizeof(rfm_real));
    a.y.at[0] = 3;
    rfm_hyperbf_options_init(&o);
    o.method = RFM_HYPERBF_PLAIN, o.rate = (rfm_real)0.02, o.steps = 50, o.batch = 0, o.look = 50;
    if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_SIZE(50, report.kept);
    CHECK(report.best < report.start / 2);
    g = test_mat(1, s.d, 0, 0), outer = test_mat(s.d, s.d, 0, 0), m = test_mat(s.d, s.d, 0, 0);
    if (g.at == NULL || outer.at == NULL || m.at == NULL || run_model(&a.f, &model) == TEST_SKIP) return;
    CHECK_INT(RFM_OK, rfm_metric(&model, m));
    memset(&ctx, 0, sizeof ctx);
    CHECK_INT(RFM_OK, rfm_gradients_need(&ctx, &model, &bytes));
    if (!arena_of(&ctx, bytes)) return;
    CHECK_INT(RFM_OK, rfm_gradients(&ctx, &model, a.data.x, g));
    for (i = 0; i < s.d; i++)
        for (j = 0; j < s.d; j++) outer.at[i * s.d + j] = g.at[i] * g.at[j];
    CHECK(model_most(g) > 1e-4);
    CHECK_INT(RFM_OK, rfm_cosine(rfm_const(m), rfm_const(outer), &cosine));
    CHECK_BELOW(fabs((double)cosine - 1), 100 * TEST_EPS);
}

/* ---- teachers -------------------------------------------------------------------------------- */

/* A student that is its teacher has nothing to learn, at rows, mixtures and noisy rows alike; from the truth it has. */
static void test_teacher(void) {
    shape s = shape_of(30, 4, 3, 2, 2, RFM_GAUSSIAN);
    rfm_model teacher;
    int kind;
    s.offset = 1;
    for (kind = 0; kind < 4; kind++) {
        test_note("kind:", (size_t)kind, 0, 0);
        test_reset();
        if (!make(&a, s)) TEST_IGNORE_MESSAGE("no room");
        if (run_model(&a.f, &teacher) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        rfm_hyperbf_options_init(&o);
        o.steps = 3, o.look = 1, o.rate = (rfm_real)1e-6, o.teacher = &teacher, o.noise = 1;
        o.mixed = kind == 1, o.noisy = kind == 2;
        if (kind == 3) o.truth = 1;
        if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        if (kind < 3)
            CHECK_BELOW((double)report.batch + (double)report.start, 1e-8);
        else
            CHECK((double)report.batch > 0.1 && (double)report.start > 0.1);
    }
    /* Without a teacher mixtures have mixed targets: of equal ones, the same. */
    test_reset();
    if (!make(&a, s)) TEST_IGNORE_MESSAGE("no room");
    for (kind = 0; kind < 60; kind++) a.y.at[(size_t)(kind / 2) * a.y.stride + (size_t)(kind % 2)] = (rfm_real)0.75;
    memset(a.alpha.at, 0, 8 * sizeof(rfm_real));
    a.offset.at[0] = a.offset.at[1] = (rfm_real)0.75;
    rfm_hyperbf_options_init(&o);
    o.steps = 3, o.mixed = 1, o.rate = (rfm_real)1e-6;
    if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_BELOW((double)report.batch, 1e-8);
    /* The cross-entropy of a teacher's probabilities is least at the teacher: no gradient. */
    for (s.c = 1; s.c <= 2; s.c++) {
        rfm_real now[64];
        size_t i, count;
        test_note("outputs:", s.c, 0, 0);
        test_reset();
        if (!make(&a, s)) TEST_IGNORE_MESSAGE("no room");
        if (run_model(&a.f, &teacher) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        for (i = 0; i < 30 * s.c; i++) a.y.at[i / s.c * a.y.stride + i % s.c] = (rfm_real)(i % 2);
        (void)numbers_of(&a, kept_numbers);
        rfm_hyperbf_options_init(&o);
        o.method = RFM_HYPERBF_PLAIN, o.steps = 3, o.rate = 1, o.teacher = &teacher, o.mixed = (rfm_real)0.5;
        o.look = 1, o.cost.kind = RFM_HYPERBF_ENTROPY, o.cost.temperature = (rfm_real)0.5;
        if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        count = numbers_of(&a, now);
        for (i = 0; i < count; i++) CHECK_BELOW(fabs((double)now[i] - (double)kept_numbers[i]), 1e-5);
    }
}

/* So has one that is the mean of three teachers, of which none is like it: alpha and offset are 3, -1 and 1 times its
 * own. */
static void test_teachers(void) {
    static const rfm_real factors[3] = {3, -1, 1};
    shape s = shape_of(30, 4, 3, 2, 2, RFM_GAUSSIAN);
    rfm_model teachers[3];
    size_t k, i, count;
    int kind;
    s.offset = 1;
    for (kind = 0; kind < 3; kind++)
        for (count = 1; count <= 3; count += 2) {
            test_note("kind, teachers:", (size_t)kind, count, 0);
            test_reset();
            if (!make(&a, s)) TEST_IGNORE_MESSAGE("no room");
            for (k = 0; k < 3; k++) {
                rfm_real *alpha, *offset;
                if (run_model(&a.f, &teachers[k]) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
                alpha = (rfm_real *)test_take(s.n * s.c * sizeof *alpha);
                offset = (rfm_real *)test_take(s.c * sizeof *offset);
                if (alpha == NULL || offset == NULL) TEST_IGNORE_MESSAGE("no room");
                for (i = 0; i < s.n * s.c; i++) alpha[i] = factors[k] * teachers[k].alpha[i];
                for (i = 0; i < s.c; i++) offset[i] = factors[k] * teachers[k].offset[i];
                teachers[k].alpha = alpha, teachers[k].offset = offset;
            }
            rfm_hyperbf_options_init(&o);
            o.steps = 3, o.look = 1, o.rate = (rfm_real)1e-6, o.teacher = teachers, o.teachers = count, o.noise = 1;
            o.mixed = kind == 1, o.noisy = kind == 2;
            if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
            if (count == 3)
                CHECK_BELOW((double)report.batch + (double)report.start, 1e-8);
            else
                CHECK((double)report.batch > 0.1 && (double)report.start > 0.1);
        }
}

/* Rows that are made up. f is the same at all rows, and they have that as their target; then only what is not a mixture
 * of rows can have a loss. Once the rows are all equal. Once they lie where the two inputs are equal, and W sees only
 * the difference of the two. And once at -1 and 1 with all centres between, so that a mixture has another f. */
static void test_drawn_rows(void) {
    static const struct {
        int along;
        double mixed, noisy;
        int loss;
    } cases[] = {{0, 1, 0, 0}, {1, 1, 0, 0}, {1, 0, 1, 1}, {1, 0.5, 0.5, 1}, {0, 0, 1, 0}, {2, 0, 0, 0}, {2, 1, 0, 1}};
    size_t k, i;
    for (k = 0; k < TEST_LENGTH(cases); k++) {
        shape s = shape_of(12, 2, 2, 1, 1, RFM_GAUSSIAN);
        nudge none;
        double y = 0;
        test_note("case:", k, 0, 0);
        test_reset();
        if (!make(&a, s)) TEST_IGNORE_MESSAGE("no room");
        a.p.at[0] = 1, a.p.at[1] = cases[k].along == 2 ? 0 : -1;
        if (cases[k].along == 2) a.centers.at[0] = a.centers.at[1] = a.shift.at[0] = 0;
        for (i = 0; i < s.m; i++) {
            rfm_real *row = a.x.at + i * a.x.stride;
            row[0] = row[1] = cases[k].along == 1 ? row[0] : 1;
            if (cases[k].along == 0) row[1] = -1;
            if (cases[k].along == 2) row[0] = i % 2 ? 1 : -1;
        }
        none.array = -1, none.at = 0, none.change = 0;
        reference_f(&a.f, &none, a.x.at, &y);
        for (i = 0; i < s.m; i++) a.y.at[i * a.y.stride] = (rfm_real)y;
        rfm_hyperbf_options_init(&o);
        o.steps = 1, o.look = 1, o.rate = (rfm_real)1e-6, o.noise = (rfm_real)0.5;
        o.mixed = (rfm_real)cases[k].mixed, o.noisy = (rfm_real)cases[k].noisy;
        if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        if (cases[k].loss)
            CHECK((double)report.batch > 1e-4);
        else
            CHECK_BELOW((double)report.batch, 1e-10);
    }
}

/* ---- rounding in the loop -------------------------------------------------------------------- */

typedef struct {
    size_t calls;
    int status;
} rounding;

static int round_alpha(void *arg, const rfm_hyperbf *f, rfm_hyperbf *seen) {
    rounding *r = (rounding *)arg;
    size_t i;
    r->calls++;
    CHECK(f->alpha != seen->alpha && f->centers != seen->centers && f->p != seen->p && f->offset != seen->offset);
    CHECK(memcmp(f->centers, seen->centers, f->n * f->r * sizeof *f->centers) == 0);
    for (i = 0; i < f->n * f->c; i++) seen->alpha[i] = (rfm_real)floor((double)f->alpha[i] * 4 + 0.5) / 4;
    return r->status;
}

static void test_rounding(void) {
    rounding r;
    rfm_real loss = 0;
    size_t i, others;
    memset(&r, 0, sizeof r);
    if (!learnable(&a)) TEST_IGNORE_MESSAGE("no room");
    rfm_hyperbf_options_init(&o);
    o.steps = 200, o.batch = 0, o.look = 20, o.project = round_alpha, o.project_arg = &r,
    o.project_from = (rfm_real)0.5;
    if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_SIZE(100 + 1 + 5, r.calls); /* steps, looks */
    CHECK(report.kept >= 100);
    CHECK(report.best <= report.start);
    /* the loss is that of the rounded parameters; the parameters are not rounded */
    for (i = 0, others = 0; i < 8; i++) {
        rfm_real rounded = (rfm_real)floor((double)a.alpha.at[i] * 4 + 0.5) / 4;
        others += rounded < a.alpha.at[i] || rounded > a.alpha.at[i];
        a.alpha.at[i] = rounded;
    }
    CHECK(others > 4);
    rfm_hyperbf_cost_init(&cost);
    CHECK_INT(RFM_OK, run_loss(&a, &loss, NULL));
    CHECK_BELOW(fabs((double)loss / 60 - (double)report.best), 1e-5 * (double)report.best);
    /* it can say stop, and then the best state is there */
    test_reset();
    if (!learnable(&a)) TEST_IGNORE_MESSAGE("no room");
    r.status = RFM_ERANGE;
    CHECK_INT(RFM_ERANGE, run_descend(&a));
    CHECK_SIZE(100, report.steps);
    rfm_hyperbf_cost_init(&cost);
    CHECK_INT(RFM_OK, run_loss(&a, &loss, NULL));
    CHECK_BELOW(fabs((double)loss / 60 - (double)report.best), 1e-5 * (double)report.best);
}

/* ---- where to start -------------------------------------------------------------------------- */

/* Three classes of rows around points that are far apart. */
static int clusters(kit *k) {
    shape s = shape_of(48, 6, 4, 3, 2, RFM_GAUSSIAN);
    size_t i, j;
    if (!make(k, s)) return 0;
    for (i = 0; i < s.m; i++)
        for (j = 0; j < s.d; j++) {
            k->x.at[i * k->x.stride + j] = (rfm_real)(test_number(31, i, j) / 8 + 10 * (double)(j % 3 == i % 3));
            if (j < s.c) k->y.at[i * k->y.stride + j] = (rfm_real)(j == i % 3);
        }
    return 1;
}

static void start_options(size_t centers, size_t rank, int choice) {
    rfm_hyperbf_start_init(&so);
    so.centers = centers, so.rank = rank, so.choice = choice;
}

/* Each centre is near the rows of its class, each class has its share, and alpha tells the classes apart. */
static void test_start_classes(void) {
    rfm_hyperbf f;
    rfm_model m;
    rfm_mat y;
    size_t i, k, each[3] = {0, 0, 0};
    int prototypes;
    for (prototypes = 0; prototypes < 2; prototypes++) {
        test_reset();
        if (!clusters(&a)) TEST_IGNORE_MESSAGE("no room");
        start_options(7, 3, RFM_HYPERBF_CLASSES);
        so.prototypes = prototypes, so.bandwidth = 3;
        if (run_start(&a, &f) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK_SIZE(7, f.n);
        CHECK_SIZE(3, f.r);
        CHECK(f.bandwidth > 0 && f.inputs == NULL && f.offset != NULL && (f.labels != NULL) == prototypes);
        for (i = 0; prototypes && i < 7; i++) {
            CHECK(f.labels[i] < 3);
            each[f.labels[i]]++;
            for (k = 0; k < 3; k++) CHECK_INT(k == f.labels[i], f.alpha[i * 3 + k] != 0);
        }
        y = test_mat(48, 3, 0, 0);
        if (y.at == NULL || run_model(&f, &m) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        if (run_predict(&m, a.data.x, y) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        for (i = 0; i < 48; i++)
            for (k = 0; k < 3; k++) CHECK_BELOW(fabs((double)y.at[i * 3 + k] - (double)(k == i % 3)), 0.4);
    }
    CHECK(each[0] == 3 && each[1] == 2 && each[2] == 2);
}

/* One output, whose sign is the class, and weights, some of them 0: one centre for each class is the weighted mean of
 * its rows. A class without weight is none. */
static void test_start_weights(void) {
    shape s = shape_of(13, 2, 2, 1, 2, RFM_GAUSSIAN);
    rfm_hyperbf f;
    size_t i, j, q, k;
    s.weights = 1;
    test_reset();
    if (!make(&a, s)) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < s.m; i++) a.y.at[i * a.y.stride] = (rfm_real)(i % 2 == 0 ? -1 : 1);
    start_options(2, 2, RFM_HYPERBF_CLASSES);
    so.prototypes = 1;
    if (run_start(&a, &f) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK(f.labels[0] == 0 && f.labels[1] == 0);
    for (k = 0; k < 2; k++) {
        double mean[2] = {0, 0}, weight = 0;
        for (i = k; i < s.m; i += 2) {
            weight += (double)a.weights.at[i];
            for (j = 0; j < 2; j++) mean[j] += (double)a.weights.at[i] * (double)a.x.at[i * a.x.stride + j];
        }
        for (q = 0; q < 2; q++) {
            double z = 0;
            for (j = 0; j < 2; j++) z += (double)f.p[q * 2 + j] * (mean[j] / weight - (double)f.shift[j]);
            CHECK_BELOW(fabs(z - (double)f.centers[k * 2 + q]), 1e-5);
        }
    }
    for (i = 1; i < s.m; i += 2) a.weights.at[i] = 0;
    CHECK_INT(RFM_EVALUE, run_start(&a, &f));
}

/* y and alpha times 2^e, x and shift times 2^-e, W times 2^e: the same network in other units. dH/dW has a factor 2^e,
 * although e alpha, of which it is made, is below the range. */
static void test_units(void) {
    const int e = RFM_LIMIT(MIN_EXP) * 5 / 9;
    shape s = shape_of(9, 4, 3, 2, 2, RFM_GAUSSIAN);
    rfm_hyperbf_gradient g;
    rfm_real loss, before[6], after[6];
    size_t i;
    if (!make(&a, s)) TEST_IGNORE_MESSAGE("no room");
    rfm_hyperbf_cost_init(&cost);
    memset(&g, 0, sizeof g);
    g.p = before;
    if (run_loss(&a, &loss, &g) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < (s.m - 1) * a.y.stride + 2; i++) a.y.at[i] = RFM_MATH(ldexp)(a.y.at[i], e);
    for (i = 0; i < (s.m - 1) * a.x.stride + 3; i++) a.x.at[i] = RFM_MATH(ldexp)(a.x.at[i], -e);
    for (i = 0; i < 4 * 2; i++) a.f.alpha[i] = RFM_MATH(ldexp)(a.f.alpha[i], e);
    for (i = 0; i < 3; i++) a.f.shift[i] = RFM_MATH(ldexp)(a.f.shift[i], -e);
    for (i = 0; i < 2 * 3; i++) a.f.p[i] = RFM_MATH(ldexp)(a.f.p[i], e);
    g.p = after;
    CHECK_INT(RFM_OK, run_loss(&a, &loss, &g));
    for (i = 0; i < 6; i++)
        CHECK_BELOW(fabs(ldexp((double)after[i], -e) - (double)before[i]), 1e-5 * fabs((double)before[i]));
}

/* Every row is a centre. Weighted means of one row are that row but for rounding, which is no width of a kernel. */
static void test_start_all_rows(void) {
    shape s = shape_of(7, 2, 3, 1, 2, RFM_GAUSSIAN);
    rfm_hyperbf f;
    size_t i;
    s.weights = 1;
    if (!make(&a, s)) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < s.m; i++) a.weights.at[i] = (rfm_real)(0.1 * (double)(i + 1));
    start_options(s.m, 2, RFM_HYPERBF_KMEANS);
    if (run_start(&a, &f) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_SIZE(s.m, f.n);
    CHECK(f.bandwidth > (rfm_real)0.01);
}

/* Whole: three clusters, three centres, each the mean of its rows in the projected space. */
static void test_start_kmeans(void) {
    rfm_hyperbf f;
    size_t i, j, q, k, at;
    int inputs;
    for (inputs = 0; inputs < 2; inputs++) {
        test_reset();
        if (!clusters(&a)) TEST_IGNORE_MESSAGE("no room");
        start_options(3, 3, RFM_HYPERBF_KMEANS);
        so.inputs = inputs, so.seed = 1;
        if (run_start(&a, &f) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        for (k = 0; k < 3; k++) {
            double best = 1e9, mean[4], z[3];
            for (j = 0; j < 4; j++)
                for (mean[j] = 0, i = k; i < 48; i += 3) mean[j] += (double)a.x.at[i * a.x.stride + j] / 16;
            for (q = 0; q < 3; q++)
                for (z[q] = 0, j = 0; j < 4; j++) z[q] += (double)f.p[q * 4 + j] * (mean[j] - (double)f.shift[j]);
            for (at = 0; at < 3; at++) {
                double off = 0;
                for (q = 0; q < 3; q++) off += fabs(z[q] - (double)f.centers[at * 3 + q]);
                for (j = 0; inputs && j < 4; j++) off += fabs(mean[j] - (double)f.inputs[at * 4 + j]);
                if (off < best) best = off;
            }
            test_note("inputs, class:", (size_t)inputs, k, 0);
            CHECK_BELOW(best, 100 * TEST_EPS);
        }
    }
}

/* From a model, with all its centres and its whole rank: the same function, because alpha is solved for. */
static void test_start_model(void) {
    shape s = shape_of(40, 5, 3, 2, 2, RFM_GAUSSIAN);
    rfm_hyperbf f;
    rfm_model m, again;
    rfm_mat y, z;
    size_t i, k;
    s.offset = 1;
    if (!make(&a, s)) TEST_IGNORE_MESSAGE("no room");
    y = test_mat(s.m, s.c, 0, 0), z = test_mat(s.m, s.c, 0, 0);
    if (y.at == NULL || z.at == NULL || run_model(&a.f, &m) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    if (run_predict(&m, a.data.x, y) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < s.m; i++)
        for (k = 0; k < s.c; k++) a.y.at[i * a.y.stride + k] = y.at[i * s.c + k];
    start_options(5, 2, RFM_HYPERBF_MODEL);
    so.model = &m, so.ridge = (rfm_real)(RFM_REAL_BYTES == 8 ? 1e-12 : 1e-6);
    if (run_start(&a, &f) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK(f.bandwidth >= m.bandwidth && f.bandwidth <= m.bandwidth);
    if (run_model(&f, &again) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, run_predict(&again, a.data.x, z));
    for (i = 0; i < s.m * s.c; i++)
        CHECK_BELOW(fabs((double)y.at[i] - (double)z.at[i]), RFM_REAL_BYTES == 8 ? 1e-7 : 1e-2);
    so.prototypes = 1;
    if (run_start(&a, &f) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < 5; i++) CHECK_INT(m.alpha[i * 2 + 1] > m.alpha[i * 2], (int)f.labels[i]);
    /* a lower rank, and a diagonal metric */
    so.prototypes = 0, so.rank = 1;
    CHECK_INT(RFM_OK, run_start(&a, &f));
    m.metric = RFM_DIAGONAL, m.r = 3, m.p = a.inputs.at, m.centers = a.inputs.at;
    so.rank = 2;
    CHECK_INT(RFM_OK, run_start(&a, &f));
    CHECK_SIZE(2, f.r);
}

/* Random W: by the seed, and a constant input has no weight. */
static void test_start_random(void) {
    rfm_hyperbf f, g;
    size_t i;
    if (!clusters(&a)) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < 48; i++) a.x.at[i * a.x.stride + 3] = 7;
    start_options(6, 2, RFM_HYPERBF_CLASSES);
    if (run_start(&a, &f) == TEST_SKIP || run_start(&a, &g) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK(memcmp(f.p, g.p, 8 * sizeof *f.p) == 0 && memcmp(f.alpha, g.alpha, 18 * sizeof *f.p) == 0);
    CHECK(f.p[3] == 0 && f.p[7] == 0 && f.p[0] != 0);
    so.seed = 1;
    if (run_start(&a, &g) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK(memcmp(f.p, g.p, 8 * sizeof *f.p) != 0);
}

/* ---- ticks ----------------------------------------------------------------------------------- */

typedef struct {
    size_t calls, stop; /* stop at this call; 0: never */
    rfm_real last;
} ticks;

static int count_ticks(void *arg, rfm_real done) {
    ticks *t = (ticks *)arg;
    CHECK(done >= t->last && done >= 0 && done <= 1);
    t->last = done;
    return ++t->calls == t->stop;
}

static void test_ticks(void) {
    rfm_hyperbf f;
    rfm_model teacher;
    rfm_real loss = 0;
    ticks t;
    memset(&t, 0, sizeof t);
    if (!learnable(&a)) TEST_IGNORE_MESSAGE("no room");
    if (run_model(&a.f, &teacher) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    fill(a.alpha, 40, 1);
    a.ctx.tick = count_ticks, a.ctx.tick_arg = &t;
    rfm_hyperbf_options_init(&o);
    o.steps = 40, o.look = 5, o.mixed = (rfm_real)0.5, o.teacher = &teacher;
    if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK(t.calls > 40 && t.last >= 1);
    fill(a.alpha, 40, 1);
    (void)numbers_of(&a, kept_numbers);
    t.stop = 1, t.calls = 0, t.last = 0; /* the teacher is being asked: nothing has moved */
    CHECK_INT(RFM_ECANCEL, run_descend(&a));
    {
        rfm_real now[64];
        size_t count = numbers_of(&a, now);
        CHECK(memcmp(now, kept_numbers, count * sizeof *now) == 0);
    }
    o.teacher = NULL, o.mixed = 0, o.batch = 0;
    t.stop = 23, t.calls = 0, t.last = 0;
    CHECK_INT(RFM_ECANCEL, run_descend(&a));
    CHECK_SIZE(23, report.steps);
    CHECK_SIZE(20, report.kept);
    a.ctx.tick = NULL;
    rfm_hyperbf_cost_init(&cost);
    CHECK_INT(RFM_OK, run_loss(&a, &loss, NULL));
    CHECK_BELOW(fabs((double)loss / 60 - (double)report.best), 1e-5 * (double)report.best);
    test_reset();
    if (!clusters(&a)) TEST_IGNORE_MESSAGE("no room");
    a.ctx.tick = count_ticks, a.ctx.tick_arg = &t;
    t.stop = 2, t.calls = 0, t.last = 0;
    start_options(6, 2, RFM_HYPERBF_CLASSES);
    if (run_start(&a, &f) != TEST_SKIP) CHECK_SIZE(2, t.calls);
    t.calls = 0, t.last = 0;
    CHECK_INT(RFM_ECANCEL, run_start(&a, &f));
}

/* ---- memory and refusals --------------------------------------------------------------------- */

static void test_memory(void) {
    static const size_t rows[] = {1, 30, 257, 255, 256, 600};
    rfm_hyperbf f;
    size_t i, bytes = 0, kept = 0, mark, before, done = 0;
    int flags;
    for (i = 0; i < (TEST_FEW ? 3 : TEST_LENGTH(rows)); i++)
        for (flags = 0; flags < 8; flags++) {
            shape s = shape_of(rows[i], 3, 4, 2, 2, RFM_LAPLACE);
            rfm_hyperbf_descent *descent = NULL;
            rfm_real loss = 0;
            rfm_model teacher;
            rfm_arena store;
            void *memory;
            test_note("rows, flags:", rows[i], (size_t)flags, 0);
            test_reset();
            s.labels = flags & 1, s.inputs = flags >> 1 & 1, s.offset = flags >> 2 & 1;
            if (!make(&a, s) || run_model(&a.f, &teacher) != RFM_OK) continue;
            mark = test_mark();
            before = (size_t)test_hash(mark);
            rfm_hyperbf_cost_init(&cost);
            CHECK_INT(RFM_OK, rfm_hyperbf_loss_need(&a.ctx, &a.f, s.m, &bytes));
            if (!arena_of(&a.ctx, bytes - 1)) continue;
            CHECK_INT(RFM_EARENA, rfm_hyperbf_loss(&a.ctx, &a.f, &a.data, &cost, &loss, NULL));
            CHECK(arena.used == 0 && arena.status == RFM_OK && before == (size_t)test_hash(mark));
            test_rewind(mark);
            rfm_hyperbf_options_init(&o);
            o.steps = 2, o.solve = 1, o.teacher = &teacher, o.mixed = (rfm_real)0.5, o.batch = 1 + rows[i] / 2;
            o.cost.ridge = 1;
            CHECK_INT(RFM_OK, rfm_hyperbf_descend_need(&a.ctx, &a.data, &o, &a.f, &bytes));
            if (!arena_of(&a.ctx, bytes - 1)) continue;
            CHECK_INT(RFM_EARENA, rfm_hyperbf_descend(&a.ctx, &a.data, &o, &a.f, &report));
            CHECK_INT(RFM_EARENA, rfm_hyperbf_begin(&a.ctx, &a.data, &o, &a.f, &descent));
            CHECK(arena.used == 0 && arena.status == RFM_OK && descent == NULL && before == (size_t)test_hash(mark));
            if (!arena_of(&a.ctx, 16)) continue; /* not even room for the descent itself */
            CHECK_INT(RFM_EARENA, rfm_hyperbf_begin(&a.ctx, &a.data, &o, &a.f, &descent));
            CHECK(arena.used == 0 && arena.status == RFM_OK && descent == NULL && before == (size_t)test_hash(mark));
            test_rewind(mark);
            CHECK(run_descend(&a) == RFM_OK || run_descend(&a) == TEST_SKIP);
            set(&a);
            if (rows[i] < 4) continue;
            start_options(3, 2, flags & 1 ? RFM_HYPERBF_CLASSES : RFM_HYPERBF_KMEANS);
            so.prototypes = flags & 1, so.inputs = flags >> 1 & 1, so.offset = flags >> 2 & 1;
            if (flags & 2) so.model = &teacher;
            CHECK_INT(RFM_OK, rfm_hyperbf_start_need(&a.ctx, &a.data, &so, &bytes, &kept));
            memory = test_take(kept);
            if (memory == NULL || !arena_of(&a.ctx, bytes - 1)) continue;
            mark = test_mark();
            CHECK_INT(RFM_OK, rfm_arena_init(&store, memory, kept));
            CHECK_INT(RFM_EARENA, rfm_hyperbf_start(&a.ctx, &a.data, &so, &store, &f));
            CHECK(arena.used == 0 && store.used == 0 && store.status == RFM_OK && arena.status == RFM_OK);
            CHECK_INT(RFM_OK, rfm_arena_init(&store, memory, kept - 1));
            CHECK_INT(RFM_EARENA, rfm_hyperbf_start(&a.ctx, &a.data, &so, &store, &f));
            CHECK(arena.used == 0 && store.used == 0 && store.status == RFM_OK && arena.status == RFM_OK);
            test_rewind(mark);
            if (arena_of(&a.ctx, bytes + kept)) { /* one arena for both */
                CHECK_INT(RFM_OK, rfm_hyperbf_start(&a.ctx, &a.data, &so, &arena, &f));
                CHECK_SIZE(kept, arena.used);
                CHECK_SIZE(bytes + kept, arena.peak);
            }
            done++;
        }
    if (done == 0) TEST_IGNORE_MESSAGE("no room");
}

/* The network, rows or cost as they stand are refused by the loss and by the descent, and nothing is written. */
static void check_refused(int status, int by_loss, int by_descent) {
    const size_t mark = test_mark();
    const size_t before = (size_t)test_hash(mark);
    rfm_hyperbf_gradient g;
    rfm_real loss = 0;
    memset(&g, 0, sizeof g);
    if (by_loss) CHECK_INT(status, rfm_hyperbf_loss(&a.ctx, &a.f, &a.data, &cost, &loss, &g));
    if (by_descent) CHECK_INT(status, rfm_hyperbf_descend(&a.ctx, &a.data, &o, &a.f, &report));
    CHECK(before == (size_t)test_hash(mark));
    set(&a);
    rfm_hyperbf_cost_init(&cost);
    rfm_hyperbf_options_init(&o);
    o.steps = 2;
}

static void test_refusals(void) {
    shape s = shape_of(9, 3, 4, 2, 2, RFM_GENERAL);
    const rfm_real nan = (rfm_real)NAN, inf = (rfm_real)INFINITY;
    rfm_model teacher;
    rfm_hyperbf_descent *descent = NULL;
    rfm_real loss = 0, room[18];
    rfm_hyperbf_gradient g;
    void *memory;
    size_t bytes = 0, i;
    rfm_arena spare;
    s.offset = s.labels = 1;
    if (!make(&a, s) || run_model(&a.f, &teacher) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
    rfm_hyperbf_cost_init(&cost);
    rfm_hyperbf_options_init(&o);
    o.steps = 2;
    CHECK_INT(RFM_OK, rfm_hyperbf_descend_need(&a.ctx, &a.data, &o, &a.f, &bytes));
    memory = test_take(bytes);
    if (memory == NULL) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, rfm_arena_init(&spare, memory, bytes));
    a.ctx.arena = &spare;
    /* pointers */
    CHECK_INT(RFM_ENULL, rfm_hyperbf_loss(NULL, &a.f, &a.data, &cost, &loss, NULL));
    CHECK_INT(RFM_ENULL, rfm_hyperbf_loss(&a.ctx, NULL, &a.data, &cost, &loss, NULL));
    CHECK_INT(RFM_ENULL, rfm_hyperbf_loss(&a.ctx, &a.f, NULL, &cost, &loss, NULL));
    CHECK_INT(RFM_ENULL, rfm_hyperbf_loss(&a.ctx, &a.f, &a.data, NULL, &loss, NULL));
    CHECK_INT(RFM_ENULL, rfm_hyperbf_loss(&a.ctx, &a.f, &a.data, &cost, NULL, NULL));
    CHECK_INT(RFM_ENULL, rfm_hyperbf_descend(NULL, &a.data, &o, &a.f, NULL));
    CHECK_INT(RFM_ENULL, rfm_hyperbf_descend(&a.ctx, NULL, &o, &a.f, NULL));
    CHECK_INT(RFM_ENULL, rfm_hyperbf_descend(&a.ctx, &a.data, NULL, &a.f, NULL));
    CHECK_INT(RFM_ENULL, rfm_hyperbf_descend(&a.ctx, &a.data, &o, NULL, NULL));
    CHECK_INT(RFM_ENULL, rfm_hyperbf_begin(&a.ctx, &a.data, &o, &a.f, NULL));
    CHECK_INT(RFM_ENULL, rfm_hyperbf_step(NULL));
    CHECK_INT(RFM_ENULL, rfm_hyperbf_end(NULL, NULL));
    CHECK_INT(RFM_ENULL, rfm_hyperbf_loss_need(&a.ctx, &a.f, 1, NULL));
    CHECK_INT(RFM_EZERO, rfm_hyperbf_loss_need(&a.ctx, &a.f, 0, &bytes));
    CHECK_INT(RFM_ENULL, rfm_hyperbf_descend_need(&a.ctx, &a.data, &o, &a.f, NULL));
    memset(&g, 0, sizeof g);
    g.inputs = room; /* the network has none */
    CHECK_INT(RFM_ENULL, rfm_hyperbf_loss(&a.ctx, &a.f, &a.data, &cost, &loss, &g));
    memset(&g, 0, sizeof g);
    g.p = a.f.p;
    CHECK_INT(RFM_EALIAS, rfm_hyperbf_loss(&a.ctx, &a.f, &a.data, &cost, &loss, &g));
    g.p = room, g.alpha = room + 4;
    CHECK_INT(RFM_EALIAS, rfm_hyperbf_loss(&a.ctx, &a.f, &a.data, &cost, &loss, &g));
    a.f.p = NULL, check_refused(RFM_ENULL, 1, 1);
    a.f.alpha = NULL, check_refused(RFM_ENULL, 1, 1);
    a.f.centers = NULL, check_refused(RFM_ENULL, 1, 1);
    a.f.shift = NULL, check_refused(RFM_ENULL, 1, 1);
    a.data.x.at = NULL, check_refused(RFM_ENULL, 1, 1);
    a.data.y.at = NULL, check_refused(RFM_ENULL, 1, 1);
    /* sizes */
    a.f.n = 0, check_refused(RFM_EZERO, 1, 1);
    a.f.r = 0, check_refused(RFM_EZERO, 1, 1);
    a.data.x.rows = 0, check_refused(RFM_EZERO, 1, 1);
    a.f.r = 5, check_refused(RFM_EVALUE, 1, 1);
    a.data.x.cols = 3, check_refused(RFM_ESHAPE, 1, 1);
    a.data.y.cols = 1, check_refused(RFM_ESHAPE, 1, 1);
    a.data.y.rows = 8, check_refused(RFM_ESHAPE, 1, 1);
    a.data.x.stride = 3, check_refused(RFM_ESTRIDE, 1, 1);
    a.f.centers = a.f.p, check_refused(RFM_EALIAS, 0, 1);
    a.f.n = SIZE_MAX / 2, check_refused(RFM_EOVERFLOW, 1, 1);
    /* numbers */
    for (i = 0; i < 2; i++) {
        const rfm_real bad = i ? nan : inf;
        a.x.at[5] = bad, check_refused(RFM_EFINITE, 1, 1);
        a.y.at[0] = bad, check_refused(RFM_EFINITE, 1, 1);
        a.alpha.at[0] = bad, check_refused(RFM_EFINITE, 1, 1);
        a.centers.at[5] = bad, check_refused(RFM_EFINITE, 1, 1);
        a.p.at[7] = bad, check_refused(RFM_EFINITE, 1, 1);
        a.offset.at[1] = bad, check_refused(RFM_EFINITE, 1, 1);
        a.shift.at[1] = bad, check_refused(RFM_EFINITE, 1, 1);
    }
    a.f.kernel = RFM_L1, check_refused(RFM_EVALUE, 1, 1);
    a.f.kernel = -1, check_refused(RFM_EVALUE, 1, 1);
    a.f.exponent = 0, check_refused(RFM_EVALUE, 1, 1);
    a.f.exponent = 3, check_refused(RFM_EVALUE, 1, 1);
    a.f.bandwidth = 0, check_refused(RFM_EVALUE, 1, 1);
    a.f.bandwidth = nan, check_refused(RFM_EVALUE, 1, 1);
    a.labels[0] = 2, check_refused(RFM_EVALUE, 1, 1);
    a.alpha.at[1] = 1, check_refused(RFM_EVALUE, 1, 1); /* belongs to label 0 */
    a.data.weights = a.weights.at, a.weights.at[2] = -1, check_refused(RFM_EVALUE, 1, 1);
    memset(a.weights.at, 0, 9 * sizeof(rfm_real)), a.data.weights = a.weights.at, check_refused(RFM_EVALUE, 1, 1);
    cost.kind = 2, check_refused(RFM_EVALUE, 1, 0);
    cost.temperature = 0, check_refused(RFM_EVALUE, 1, 0);
    cost.ridge = -1, check_refused(RFM_EVALUE, 1, 0);
    cost.ridge = nan, check_refused(RFM_EVALUE, 1, 0);
    cost.kind = o.cost.kind = RFM_HYPERBF_ENTROPY, check_refused(RFM_EVALUE, 1, 1); /* targets below 0 */
    /* options */
    o.steps = 0, check_refused(RFM_EZERO, 0, 1);
    o.method = 3, check_refused(RFM_EVALUE, 0, 1);
    o.rate = 0, check_refused(RFM_EVALUE, 0, 1);
    o.rate = inf, check_refused(RFM_EVALUE, 0, 1);
    o.floor = 2, check_refused(RFM_EVALUE, 0, 1);
    o.warm = -1, check_refused(RFM_EVALUE, 0, 1);
    o.floor = nan, check_refused(RFM_EVALUE, 0, 1);
    o.alpha_rate = -1, check_refused(RFM_EVALUE, 0, 1);
    o.center_rate = nan, check_refused(RFM_EVALUE, 0, 1);
    o.p_rate = inf, check_refused(RFM_EVALUE, 0, 1);
    o.bandwidth_rate = -1, check_refused(RFM_EVALUE, 0, 1);
    o.offset_rate = -1, check_refused(RFM_EVALUE, 0, 1);
    o.momentum = 1, check_refused(RFM_EVALUE, 0, 1);
    o.second = -1, check_refused(RFM_EVALUE, 0, 1);
    o.look = 0, check_refused(RFM_EVALUE, 0, 1);
    o.most = 1, check_refused(RFM_EVALUE, 0, 1);
    o.truth = 2, check_refused(RFM_EVALUE, 0, 1);
    o.mixed = o.noisy = (rfm_real)0.75, check_refused(RFM_EVALUE, 0, 1);
    o.mixed = -1, check_refused(RFM_EVALUE, 0, 1);
    o.noise = -1, check_refused(RFM_EVALUE, 0, 1);
    o.project_from = 2, check_refused(RFM_EVALUE, 0, 1);
    o.project = round_alpha, a.f.inputs = a.inputs.at, check_refused(RFM_EVALUE, 0, 1);
    /* teachers of another shape */
    o.teacher = &teacher, o.teachers = 0, check_refused(RFM_EZERO, 0, 1);
    teacher.c = 1, o.teacher = &teacher, check_refused(RFM_ESHAPE, 0, 1);
    teacher.c = 2, teacher.d = 3, o.teacher = &teacher, check_refused(RFM_ESHAPE, 0, 1);
    teacher.d = 4, teacher.shift = NULL, o.teacher = &teacher, check_refused(RFM_ENULL, 0, 1);
    /* arenas */
    spare.status = RFM_EOVERFLOW, check_refused(RFM_EOVERFLOW, 1, 1);
    rfm_arena_measure(&spare), check_refused(RFM_EARENA, 1, 1);
    a.ctx.arena = NULL, check_refused(RFM_ENULL, 1, 1);
    CHECK(descent == NULL);
}

static void check_start(int status) {
    rfm_hyperbf f;
    CHECK_INT(status, run_start(&a, &f));
    start_options(6, 2, RFM_HYPERBF_CLASSES);
}

static void test_start_refusals(void) {
    rfm_hyperbf f;
    rfm_model m;
    size_t i, j;
    if (!clusters(&a) || run_model(&a.f, &m) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
    start_options(6, 2, RFM_HYPERBF_CLASSES);
    if (run_start(&a, &f) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    check_start(RFM_OK);
    so.centers = 49, check_start(RFM_EVALUE); /* more than rows */
    so.centers = 2, check_start(RFM_EVALUE);  /* fewer than classes */
    so.centers = 0, check_start(RFM_EZERO);
    so.rank = 0, check_start(RFM_EZERO);
    so.rank = 5, check_start(RFM_EVALUE);                /* above d */
    so.rank = 3, so.model = &m, check_start(RFM_EVALUE); /* above the model's */
    so.kernel = RFM_L1, check_start(RFM_EVALUE);
    so.kernel = RFM_GENERAL, so.exponent = 3, check_start(RFM_EVALUE);
    so.bandwidth = 0, check_start(RFM_EVALUE);
    so.ridge = 0, check_start(RFM_EVALUE);
    so.choice = 3, check_start(RFM_EVALUE);
    so.choice = RFM_HYPERBF_MODEL, check_start(RFM_ENULL);
    so.choice = RFM_HYPERBF_MODEL, so.model = &m, so.centers = 5, check_start(RFM_EVALUE);
    so.choice = RFM_HYPERBF_MODEL, so.model = &m, so.inputs = 1, check_start(RFM_EVALUE);
    so.choice = RFM_HYPERBF_KMEANS, so.prototypes = 1, check_start(RFM_EVALUE);
    m.c = 2, so.model = &m, check_start(RFM_ESHAPE);
    m.c = 3, m.d = 3, so.model = &m, check_start(RFM_ESHAPE);
    m.d = 4, m.kernel = RFM_L1, so.model = &m, check_start(RFM_EVALUE);
    a.data.x.cols = 0, check_start(RFM_EZERO);
    describe(&a);
    a.data.y.rows = 5, check_start(RFM_ESHAPE);
    describe(&a);
    a.x.at[7] = (rfm_real)NAN, check_start(RFM_EFINITE);
    a.x.at[7] = 1, check_start(RFM_OK);
    /* one class; and rows that are all alike, of which there is one centre only */
    for (i = 0; i < 48; i++)
        for (j = 0; j < 3; j++) a.y.at[i * a.y.stride + j] = (rfm_real)(j == 1);
    check_start(RFM_EVALUE);
    for (i = 0; i < 48; i++) {
        for (j = 0; j < 3; j++) a.y.at[i * a.y.stride + j] = (rfm_real)(j == i % 3);
        for (j = 0; j < 4; j++) a.x.at[i * a.x.stride + j] = 2;
    }
    check_start(RFM_EVALUE);
    so.centers = 3, check_start(RFM_OK);
    so.centers = 2, so.choice = RFM_HYPERBF_KMEANS, check_start(RFM_EVALUE);
    so.centers = 1, so.choice = RFM_HYPERBF_KMEANS, check_start(RFM_OK);
}

/* Data at the ends of the range: a status or a finite result, never a NaN with RFM_OK. */
static void test_range(void) {
    static const double scales[] = {1e-36, 1e-20, 1e-12, 1e-6, 1e6, 1e12, 1e18, 1e30, 1e37};
    size_t i, what, j;
    for (i = 0; i < TEST_LENGTH(scales); i++)
        for (what = 0; what < 6; what++) {
            shape s = shape_of(20, 4, 3, 2, 2, (int)(i % 3));
            rfm_hyperbf f;
            rfm_mat m;
            rfm_real loss = 0;
            int status;
            test_note("scale, what:", i, what, 0);
            test_reset();
            s.offset = 1;
            if (!make(&a, s)) TEST_IGNORE_MESSAGE("no room");
            m = what == 0   ? a.x
                : what == 1 ? a.y
                : what == 2 ? a.alpha
                : what == 3 ? a.centers
                : what == 4 ? a.p
                            : a.offset;
            for (j = 0; j < m.rows * m.stride; j++)
                if (j % m.stride < m.cols) m.at[j] *= (rfm_real)scales[i];
            rfm_hyperbf_cost_init(&cost);
            status = run_loss(&a, &loss, NULL);
            if (status == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
            CHECK(status == RFM_OK || status == RFM_ERANGE);
            if (status == RFM_OK) CHECK(rfm_finite(1, &loss));
            rfm_hyperbf_options_init(&o);
            o.steps = TEST_FEW ? 5 : 20, o.look = 3, o.solve = i % 2 ? 4 : 0, o.bandwidth_rate = 1,
            o.noisy = (rfm_real)0.25;
            status = run_descend(&a);
            if (status == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
            CHECK(status == RFM_OK || status == RFM_ERANGE || status == RFM_ECONVERGE);
            CHECK(rfm_finite(8, a.f.alpha) && rfm_finite(8, a.f.centers) && rfm_finite(6, a.f.p));
            CHECK(rfm_finite(2, a.f.offset) && rfm_finite(1, &a.f.bandwidth));
            if (status != RFM_ERANGE) CHECK(rfm_finite(1, &report.best) && rfm_finite(1, &report.start));
            if (what > 1) continue;
            start_options(4, 2, RFM_HYPERBF_CLASSES);
            status = run_start(&a, &f);
            CHECK(status == RFM_OK || status == RFM_ERANGE || status == TEST_SKIP);
            if (status == RFM_OK) CHECK(rfm_finite(8, f.alpha) && rfm_finite(8, f.centers) && rfm_finite(6, f.p));
        }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_gradient);
    RUN_TEST(test_gradient_far);
    RUN_TEST(test_gradient_near);
    RUN_TEST(test_kernel_row);
    RUN_TEST(test_gradient_at_centers);
    RUN_TEST(test_model);
    RUN_TEST(test_steps);
    RUN_TEST(test_same_bits);
    RUN_TEST(test_descent);
    RUN_TEST(test_divergence);
    RUN_TEST(test_far_row);
    RUN_TEST(test_held);
    RUN_TEST(test_adam_units);
    RUN_TEST(test_solve);
    RUN_TEST(test_one_sample);
    RUN_TEST(test_teacher);
    RUN_TEST(test_teachers);
    RUN_TEST(test_drawn_rows);
    RUN_TEST(test_rounding);
    RUN_TEST(test_start_classes);
    RUN_TEST(test_start_weights);
    RUN_TEST(test_units);
    RUN_TEST(test_start_all_rows);
    RUN_TEST(test_start_kmeans);
    RUN_TEST(test_start_model);
    RUN_TEST(test_start_random);
    RUN_TEST(test_ticks);
    RUN_TEST(test_memory);
    RUN_TEST(test_refusals);
    RUN_TEST(test_start_refusals);
    RUN_TEST(test_range);
    return UNITY_END();
}
