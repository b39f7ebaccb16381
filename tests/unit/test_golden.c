/* Golden cases on the target itself: those of tests/golden/cases.h whose fit finds room in the pool. tests/golden/run
 * has all of them, and both number types. Here also a build in double gets nine digits of the numbers, so float's
 * tolerance holds for both. */
#include "test.h"

#include "../golden/cases.h"

static size_t done; /* cases that were checked */

/* What one case needs in memory. */
typedef struct {
    rfm_mat metric, predicted; /* results */
    rfm_arena arena;
    size_t steps; /* the arena is enough for so many iterations */
} bench;

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

/* What a case says, as the calls want it, for a fit of t iterations. */
static void describe(size_t which, size_t t, rfm_data *data, rfm_options *options) {
    const rfm_real *at = golden_cases[which].data;
    const size_t n = golden_cases[which].n, d = golden_cases[which].d, c = golden_cases[which].c;

    memset(data, 0, sizeof *data);
    data->x = rfm_cview(at, n, d);
    data->y = rfm_cview(at + n * d, n, c);
    rfm_options_init(options);
    options->kernel = golden_cases[which].kernel;
    options->metric = golden_cases[which].metric;
    options->center = golden_cases[which].center;
    options->scale = golden_cases[which].scale;
    options->bandwidth = golden_cases[which].bandwidth;
    options->exponent = golden_cases[which].exponent;
    options->ridge = golden_cases[which].ridge;
    options->iterations = t;
    options->ridge_rule = RFM_RIDGE_FIXED;
}

/* What a model's alpha has beside the stored one: of a network kernel the length of row i in the metric m. */
static double alpha_factor(size_t which, const rfm_real *m, size_t i) {
    const size_t d = golden_cases[which].d;
    const rfm_real *x = golden_cases[which].data + i * d;
    double sum = 0;
    size_t j, q;

    if (!rfm_kernels[golden_cases[which].kernel].layers) return 1;
    for (j = 0; j < d; j++)
        for (q = 0; q < d; q++) {
            double entry = golden_cases[which].metric == RFM_FULL ? (double)m[j * d + q] : j == q ? (double)m[j] : 0;
            sum += (double)x[j] * (double)x[q] * entry;
        }
    return sqrt(sum);
}

/* An arena of exactly what a fit of so many iterations needs. 0: the pool is too small. */
static int prepare_for(size_t which, size_t steps, const rfm_port *port, bench *w) {
    rfm_options options;
    rfm_data data;
    rfm_ctx ctx;
    size_t scratch = 0, store = 0;
    void *memory;

    test_reset();
    memset(&ctx, 0, sizeof ctx);
    ctx.port = port;
    describe(which, steps, &data, &options);
    if (rfm_fit_need(&ctx, &data, &options, &scratch, &store) != RFM_OK) return 0;
    w->steps = steps;
    w->metric = test_mat(options.metric == RFM_FULL ? data.x.cols : 1, data.x.cols, 0, 0);
    w->predicted = test_mat(1, data.y.cols, 0, 0);
    memory = test_take(scratch + store);
    return w->metric.at != NULL && w->predicted.at != NULL && memory != NULL &&
           rfm_arena_init(&w->arena, memory, scratch + store) == RFM_OK;
}

/* All iterations; or, with less room, none, which is kernel regression. */
static int prepare(size_t which, const rfm_port *port, bench *w) {
    return prepare_for(which, golden_cases[which].steps, port, w) || prepare_for(which, 0, port, w);
}

/* As a share of the largest expected value; expected zeros are met exactly. */
static void check_close(size_t count, const rfm_real *got, const rfm_real *expect, double bound) {
    double largest = 0, worst = 0;
    size_t i;

    for (i = 0; i < count; i++) {
        const double off = fabs((double)got[i] - (double)expect[i]);

        CHECK(fabs((double)got[i]) <= (double)FLT_MAX);
        if (fabs((double)expect[i]) > largest) largest = fabs((double)expect[i]);
        if (off > worst) worst = off;
    }
    CHECK_BELOW(worst, bound * largest);
}

/* The fit of t iterations. `expect` is where its M, alpha and predictions are; returns the end of them. */
static const rfm_real *check_step(size_t which, size_t t, const rfm_port *port, bench *w, const rfm_real *expect,
                                  double bound) {
    const size_t m = golden_cases[which].m;
    double largest = 0, worst = 0;
    rfm_options options;
    rfm_model model;
    rfm_data data;
    rfm_cmat z;
    rfm_ctx ctx;
    size_t i, j;

    memset(&ctx, 0, sizeof ctx);
    ctx.port = port;
    ctx.arena = &w->arena;
    describe(which, t, &data, &options);
    CHECK_INT(RFM_OK, rfm_fit(&ctx, &data, &options, &w->arena, &model, NULL));
    CHECK_INT(RFM_OK, rfm_metric(&model, w->metric));
    check_close(w->metric.rows * w->metric.cols, w->metric.at, expect, bound);
    expect += w->metric.rows * w->metric.cols;
    for (i = 0; i < model.n * model.c; i++) {
        const double stored =
            (double)expect[i] * alpha_factor(which, expect - w->metric.rows * w->metric.cols, i / model.c);

        largest = fmax(largest, fabs(stored));
        worst = fmax(worst, fabs((double)model.alpha[i] - stored));
        CHECK(fabs((double)model.alpha[i]) <= (double)FLT_MAX);
    }
    CHECK_BELOW(worst, bound * largest);
    largest = worst = 0;
    expect += model.n * model.c;
    /* One row at a time takes the least memory; the error counts relative to the largest of all rows. */
    z = rfm_cview(data.y.at + model.n * model.c, 1, model.d);
    for (i = 0; i < m; i++, z.at += model.d, expect += model.c) {
        CHECK_INT(RFM_OK, rfm_predict(&ctx, &model, z, w->predicted));
        for (j = 0; j < model.c; j++) {
            const double off = fabs((double)w->predicted.at[j] - (double)expect[j]);

            CHECK(off <= (double)FLT_MAX);
            if (fabs((double)expect[j]) > largest) largest = fabs((double)expect[j]);
            if (off > worst) worst = off;
        }
    }
    CHECK_BELOW(worst, bound * largest);
    test_check_padding(w->metric);
    test_check_padding(w->predicted);
    rfm_arena_release(&w->arena, 0);
    return expect;
}

static void check_case(size_t which) {
    const size_t n = golden_cases[which].n, d = golden_cases[which].d;
    const rfm_port *port;
    size_t p, t;

    for (p = 0; (port = test_port(p)) != NULL; p++) {
        const rfm_real *expect = golden_cases[which].data + n * (d + golden_cases[which].c) + golden_cases[which].m * d;
        double cond = 0;
        bench w;

        if (!prepare(which, port, &w)) continue;
        for (t = 0; t <= w.steps; t++) {
            test_note(golden_cases[which].name, p, t, 0);
            if (golden_cases[which].cond[t] > cond) cond = golden_cases[which].cond[t];
            expect = check_step(which, t, port, &w, expect, 4 * cond * 6e-8 + 16 * (double)FLT_EPSILON);
        }
        done += p == 0;
    }
}

static size_t chosen;
static void test_chosen(void) { check_case(chosen); }

/* No target is so small that there is nothing to see. */
static void test_enough(void) { CHECK(done >= 2); }

/* Cases that do not fit are left out by design, so they are no tests here. */
static int fits(size_t which) {
    bench w;

    return prepare(which, NULL, &w);
}

int main(void) {
    UNITY_BEGIN();
    for (chosen = 0; chosen < TEST_LENGTH(golden_cases); chosen++)
        if (fits(chosen)) UnityDefaultTestRun(test_chosen, golden_cases[chosen].name, __LINE__);
    RUN_TEST(test_enough);
    return UNITY_END();
}
