/* Golden cases of patches on the target itself: those of tests/golden/conv.h that find room in the pool.
 * tests/golden/run has all of them, and both number types. Here also a build in double gets nine digits of the numbers,
 * so float's tolerance holds for both. */
#include "test.h"

#include "rfm_conv.h"

#include "../golden/conv.h"

#define ROUNDS   2
#define TESTS    3                  /* test images */
#define NO_STACK (TEST_RAM < 32768) /* too little of it for a fit */

static size_t which;
static rfm_data data;
static rfm_cmat z;

void setUp(void) {
    const size_t pixels = rfm_conv_pixels(&conv_cases[which].f), n = conv_cases[which].n, c = conv_cases[which].c;
    test_reset();
    test_note("", 0, 0, 0);
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(conv_cases[which].data, n, pixels);
    data.y = rfm_cview(data.x.at + n * pixels, n, c);
    z = rfm_cview(data.y.at + n * c, TESTS, pixels);
}
void tearDown(void) {}

/* What round t has: M, alpha, predictions. */
static const rfm_real *expected(size_t t) {
    const size_t d = rfm_conv_patch(&conv_cases[which].f);
    return z.at + TESTS * z.cols + t * (d * d + (data.y.rows + TESTS) * data.y.cols);
}

static double bound_of(size_t t) {
    double cond = 0;
    size_t i;
    for (i = 0; i <= t; i++) cond = fmax(cond, conv_cases[which].cond[i]);
    return 4 * cond * 6e-8 + 16 * (double)FLT_EPSILON;
}

/* As a share of the largest expected value. */
static void check_close(size_t count, const rfm_real *got, const rfm_real *expect, double bound) {
    double largest = 0, worst = 0;
    size_t i;
    for (i = 0; i < count; i++) {
        const double off = fabs((double)got[i] - (double)expect[i]);
        CHECK(off <= (double)FLT_MAX);
        largest = fmax(largest, fabs((double)expect[i])), worst = fmax(worst, off);
    }
    CHECK_BELOW(worst, bound * largest);
}

/* Predictions of the stored alpha with M = I, one image after the other; the model is in flash but for its norms. */
static void test_one_image(void) {
    const rfm_conv *f = &conv_cases[which].f;
    const size_t d = rfm_conv_patch(f), places = rfm_conv_places(f), n = data.x.rows, c = data.y.cols;
    const rfm_real *expect = expected(0);
    rfm_mat norms = test_mat(n, places, 0, 0), scores = test_mat(TESTS, c, 0, 0), scratch;
    rfm_conv_model m;
    size_t i, r, y, x, k;
    CHECK(norms.at != NULL && scores.at != NULL);
    for (i = 0; i < n; i++)
        for (r = 0; r < places; r++) {
            const size_t across = f->width - f->patch + 1, at = r / across * f->width + r % across;
            rfm_real sum = 0;
            for (k = 0; k < f->channels; k++)
                for (y = 0; y < f->patch; y++)
                    for (x = 0; x < f->patch; x++) {
                        const rfm_real v = data.x.at[i * data.x.cols + (k * f->height + y) * f->width + at + x];
                        sum += v * v;
                    }
            norms.at[i * places + r] = sum;
        }
    memset(&m, 0, sizeof m);
    m.n = n, m.c = c, m.r = d, m.input = m.f = *f, m.task = RFM_REGRESS;
    m.images = data.x.at, m.norms = norms.at, m.alpha = expect + d * d;
    scratch = test_mat(1, rfm_conv_scratch(&m), 0, 0);
    CHECK(scratch.at != NULL);
    for (i = 0; i < TESTS; i++)
        CHECK_INT(RFM_OK, rfm_conv_predict_one(&m, z.at + i * z.cols, scores.at + i * c, scratch.at));
    check_close(TESTS * c, scores.at, m.alpha + n * c, 4 * bound_of(0));
    test_check_padding(scratch);
    test_check_padding(scores);
}

static void options_of(size_t t, rfm_conv_options *o) {
    const rfm_conv *f = &conv_cases[which].f;
    rfm_conv_options_init(o);
    o->patch = f->patch, o->kernel = f->kernel, o->depth = f->depth, o->bandwidth = f->bandwidth;
    o->rounds = t, o->ridge[0] = conv_cases[which].ridge, o->scale = conv_cases[which].scale;
    o->select = RFM_SELECT_LAST, o->task = RFM_REGRESS;
}

/* An arena of exactly what a fit of t rounds needs, and room for its results. 0: the pool is too small. */
static int prepare(const rfm_port *port, size_t t, rfm_ctx *ctx, rfm_arena *arena, rfm_mat *m, rfm_mat *y) {
    const rfm_conv *f = &conv_cases[which].f;
    const size_t d = rfm_conv_patch(f);
    rfm_conv_options o;
    size_t scratch = 0, store = 0;
    void *memory;
    test_reset();
    memset(ctx, 0, sizeof *ctx);
    ctx->port = port, ctx->arena = arena;
    options_of(t, &o);
    CHECK_INT(RFM_OK, rfm_conv_fit_need(ctx, f->channels, f->height, f->width, &data, &o, &scratch, &store));
    *m = test_mat(d, d, 0, 0), *y = test_mat(TESTS, data.y.cols, 0, 0);
    memory = test_take(scratch + store);
    return m->at != NULL && y->at != NULL && memory != NULL &&
           rfm_arena_init(arena, memory, scratch + store) == RFM_OK;
}

static void check_round(const rfm_port *port, size_t t) {
    const rfm_conv *f = &conv_cases[which].f;
    const size_t d = rfm_conv_patch(f), n = data.x.rows, c = data.y.cols;
    const rfm_real *expect = expected(t);
    rfm_conv_options o;
    rfm_conv_model model;
    rfm_arena arena;
    rfm_ctx ctx;
    rfm_mat m, y;
    if (!prepare(port, t, &ctx, &arena, &m, &y)) return;
    options_of(t, &o);
    CHECK_INT(RFM_OK, rfm_conv_fit(&ctx, f->channels, f->height, f->width, &data, &o, &arena, &model, NULL));
    CHECK_INT(RFM_OK, rfm_conv_metric(&model, m));
    check_close(d * d, m.at, expect, bound_of(t));
    check_close(n * c, model.alpha, expect + d * d, bound_of(t));
    CHECK_INT(RFM_OK, rfm_conv_predict(&ctx, &model, z, y));
    check_close(TESTS * c, y.at, expect + d * d + n * c, bound_of(t));
    test_check_padding(m);
    test_check_padding(y);
}

static void test_rounds(void) {
    const rfm_port *port;
    size_t p, t;
    for (p = 0; (port = test_port(p)) != NULL; p++)
        for (t = 0; t <= ROUNDS; t++) {
            test_note(conv_cases[which].name, p, t, 0);
            check_round(port, t);
        }
}

/* Cases that do not fit are left out by design, so they are no tests here. */
static int fits(void) {
    rfm_arena arena;
    rfm_ctx ctx;
    rfm_mat m, y;
    setUp();
    return !NO_STACK && prepare(NULL, ROUNDS, &ctx, &arena, &m, &y);
}

int main(void) {
    UNITY_BEGIN();
    for (which = 0; which < TEST_LENGTH(conv_cases); which++) {
        const size_t floats = conv_cases[which].n * rfm_conv_places(&conv_cases[which].f) + 100;
        if (floats * sizeof(rfm_real) <= TEST_RAM * 3 / 4)
            UnityDefaultTestRun(test_one_image, conv_cases[which].name, __LINE__);
        if (fits()) UnityDefaultTestRun(test_rounds, conv_cases[which].name, __LINE__);
    }
    return UNITY_END();
}
