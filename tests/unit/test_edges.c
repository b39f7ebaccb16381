/* What the other tests pass by: weights of 0 and rows that are equal where models are made smaller, summaries that go
 * through integers, a learner whose start model serves, sizes that no memory holds, pointers that are not there. */
#include "models.h"
#include "rfm_online.h"
#include "rfm_small.h"

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

/* ---- a model: 3 centres, 2 inputs, 2 outputs ------------------------------------------------ */

static const rfm_real shift[2] = {1, 0}, diagonal[2] = {1, 2}, centers[6] = {0, 0, 1, 2, -1, 4},
                      alpha[6] = {1, -1, 0, 2, 1, 0};
static const rfm_real offset[2] = {(rfm_real)0.5, -1};

static rfm_model make(void) {
    rfm_model m;

    memset(&m, 0, sizeof m);
    m.n = 3, m.d = m.c = m.r = 2;
    m.kernel = RFM_LAPLACE, m.metric = RFM_DIAGONAL, m.task = RFM_CLASSIFY;
    m.bandwidth = 2, m.exponent = 1;
    m.shift = shift, m.p = diagonal, m.centers = centers, m.alpha = alpha, m.offset = offset;
    return m;
}

/* An arena of so many bytes; 0: no room. */
static int arena_of(rfm_arena *arena, size_t bytes) {
    void *memory = test_take(bytes);

    return memory != NULL && rfm_arena_init(arena, memory, bytes) == RFM_OK;
}

#define ROOM(condition) \
    if (!(condition)) TEST_IGNORE_MESSAGE("no room")

/* ---- smaller models ------------------------------------------------------------------------- */

static const rfm_real rows_x[12] = {0, 0, 3, 1, -2, 2, (rfm_real)0.5, -1, 0, 0, 3, 1};
static const rfm_real rows_y[12] = {1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 1};

static int rank_of(const rfm_model *m, size_t n, const rfm_real *weights, rfm_model *small, rfm_real *share) {
    rfm_arena arena, store;
    rfm_ctx ctx;
    rfm_data data;
    size_t need = 0, kept = 0, end;
    int status;

    memset(&ctx, 0, sizeof ctx);
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(rows_x, n, 2), data.weights = weights;
    CHECK_INT(RFM_OK, rfm_small_rank_need(&ctx, m, &data, 1, &need, &kept));
    if (!arena_of(&store, kept)) return TEST_SKIP;
    end = test_mark();
    if (!arena_of(&arena, need)) return TEST_SKIP;
    ctx.arena = &arena;
    status = rfm_small_rank(&ctx, m, &data, 1, &store, small, share);
    test_rewind(end);
    return status;
}

/* A row of weight 2 counts as two rows: rows 4 and 5 are rows 0 and 1 once more. The offset stays. */
static void test_rank_weights(void) {
    static const rfm_real weights[4] = {2, 2, 1, 1};
    const rfm_model m = make();
    rfm_model by_weight, by_rows;
    rfm_real metric[2][4], share[2];
    int status = rank_of(&m, 4, weights, &by_weight, &share[0]);

    if (status == RFM_OK) status = rank_of(&m, 6, NULL, &by_rows, &share[1]);
    ROOM(status != TEST_SKIP);
    CHECK_INT(RFM_OK, status);
    CHECK_SIZE(1, by_weight.r);
    CHECK(by_weight.offset[0] == offset[0] && by_weight.offset[1] == offset[1]);
    CHECK_BELOW(fabs((double)share[0] - (double)share[1]), 20 * TEST_EPS);
    CHECK(share[0] > (rfm_real)0.5 && share[0] < 1);
    CHECK_INT(RFM_OK, rfm_metric(&by_weight, rfm_view(metric[0], 2, 2)));
    CHECK_INT(RFM_OK, rfm_metric(&by_rows, rfm_view(metric[1], 2, 2)));
    CHECK_CLOSE(rfm_view(metric[0], 2, 2), rfm_view(metric[1], 2, 2), 100);
}

/* Where all rows are equal there is no distance to lose. */
static void test_rank_of_one_row(void) {
    const rfm_model m = make();
    rfm_model small;
    rfm_real share = 0;
    int status = rank_of(&m, 1, NULL, &small, &share);

    ROOM(status != TEST_SKIP);
    CHECK_INT(RFM_OK, status);
    CHECK(share == 1);
}

static void test_importance(void) {
    const rfm_model m = make();
    rfm_real scale[2] = {2, 1}, importance[2] = {7, 7};

    scale[1] = (rfm_real)NAN;
    CHECK_INT(RFM_EFINITE, rfm_small_importance(&m, scale, importance));
    CHECK(importance[0] == 7 && importance[1] == 7);
    scale[1] = 1; /* M = diag(1, 4), times scale^2: 4 and 4, so both count the same */
    CHECK_INT(RFM_OK, rfm_small_importance(&m, scale, importance));
    CHECK(importance[0] == 1 && importance[1] == 1);
}

/* A row of weight 0 is no row: it is never a centre, and the model is that of the others alone. */
static void test_weight_zero(void) {
    static const int methods[] = {RFM_CENTERS_CHOLESKY, RFM_CENTERS_LEVERAGE, RFM_CENTERS_RESIDUAL, RFM_CENTERS_KMEANS};
    static const rfm_real weights[4] = {0, 1, 1, 0}, far[8] = {10, -10, 3, 1, -2, 2, -9, 9};
    const rfm_model m = make();
    size_t i, k;

    for (i = 0; i < TEST_LENGTH(methods); i++) {
        rfm_arena arena, store;
        rfm_ctx ctx;
        rfm_data data;
        rfm_centers_options how;
        rfm_model small;
        size_t need = 0, kept = 0;

        test_reset();
        test_note("method", i, 0, 0);
        memset(&ctx, 0, sizeof ctx);
        memset(&data, 0, sizeof data);
        memset(&how, 0, sizeof how);
        data.x = rfm_cview(far, 4, 2), data.y = rfm_cview(rows_y, 4, 2), data.weights = weights;
        how.centers = 2, how.method = methods[i], how.ridge = (rfm_real)0.01;
        CHECK_INT(RFM_OK, rfm_small_centers_need(&ctx, &m, &data, &how, &need, &kept));
        ROOM(arena_of(&store, kept) && arena_of(&arena, need));
        ctx.arena = &arena;
        CHECK_INT(RFM_OK, rfm_small_centers(&ctx, &m, &data, &how, &store, &small));
        CHECK_SIZE(2, small.n);
        for (k = 0; k < small.n; k++) { /* rows 1 and 2 where the model sees them: (x - shift) P */
            const rfm_real *z = small.centers + 2 * k;

            CHECK((z[0] == 2 && z[1] == 2) || (z[0] == -3 && z[1] == 4));
        }
        CHECK(small.centers[0] != small.centers[2]);
    }
}

/* The first centre is the row in the middle, (0, 0) where the model sees it. Worst represented by it is the farthest:
 * (5, 0) by the Euclidean distance, (3, 3) by that of RFM_L1. */
static void test_farthest(void) {
    static const rfm_real x[10] = {1, 0, 4, (rfm_real)1.5, 6, 0, (rfm_real)-1.5, (rfm_real)-1.25, (rfm_real)-3.5, 0};
    static const int kernels[] = {RFM_LAPLACE, RFM_L1};
    size_t i;

    for (i = 0; i < TEST_LENGTH(kernels); i++) {
        rfm_model m = make(), small;
        rfm_arena arena, store;
        rfm_ctx ctx;
        rfm_data data;
        rfm_centers_options how;
        size_t need = 0, kept = 0;

        test_reset();
        test_note("kernel", i, 0, 0);
        m.kernel = kernels[i];
        memset(&ctx, 0, sizeof ctx);
        memset(&data, 0, sizeof data);
        memset(&how, 0, sizeof how);
        data.x = rfm_cview(x, 5, 2), data.y = rfm_cview(rows_y, 5, 2);
        how.centers = 2, how.method = RFM_CENTERS_CHOLESKY, how.ridge = (rfm_real)0.01;
        CHECK_INT(RFM_OK, rfm_small_centers_need(&ctx, &m, &data, &how, &need, &kept));
        ROOM(arena_of(&store, kept) && arena_of(&arena, need));
        ctx.arena = &arena;
        CHECK_INT(RFM_OK, rfm_small_centers(&ctx, &m, &data, &how, &store, &small));
        CHECK_SIZE(2, small.n);
        CHECK(small.centers[0] == 0 && small.centers[1] == 0);
        CHECK(small.centers[2] == (kernels[i] == RFM_L1 ? 3 : 5) && small.centers[3] == (kernels[i] == RFM_L1 ? 3 : 0));
    }
}

/* ---- integers ------------------------------------------------------------------------------- */

/* The summary of a blob goes through the integers into their blob. */
static void test_summary_of_integers(void) {
    const rfm_model m = make();
    rfm_model opened;
    rfm_model_i integers, again;
    rfm_contents parts;
    rfm_summary summary;
    rfm_step path[2];
    rfm_arena arena, store;
    rfm_ctx ctx;
    rfm_data data;
    size_t size = 0, size_i = 0, need = 0, kept = 0, bytes;
    void *blob, *blob_i;

    if (!test_little_endian()) TEST_IGNORE_MESSAGE("big-endian: no blobs");
    memset(&parts, 0, sizeof parts);
    memset(&summary, 0, sizeof summary);
    memset(path, 0, sizeof path);
    memset(&ctx, 0, sizeof ctx);
    memset(&data, 0, sizeof data);
    path[1].score = 3, path[1].rank = 2;
    summary.rows = 77, summary.steps = 2, summary.path = path, summary.ridge = (rfm_real)0.25;
    parts.model = &m, parts.task = RFM_CLASSIFY, parts.summary = &summary;
    CHECK_INT(RFM_OK, rfm_model_size(&parts, &size));
    blob = test_take(size);
    ROOM(blob != NULL);
    CHECK_INT(RFM_OK, rfm_model_write(&parts, blob, size));
    CHECK_INT(RFM_OK, rfm_model_open(blob, size, &opened));
    data.x = rfm_cview(rows_x, 4, 2), data.y = rfm_cview(rows_y, 4, 2);
    CHECK_INT(RFM_OK, rfm_small_integers_need(&ctx, &opened, &data, RFM_I16, &need, &kept));
    ROOM(arena_of(&store, kept) && arena_of(&arena, need));
    ctx.arena = &arena;
    CHECK_INT(RFM_OK, rfm_small_integers(&ctx, &opened, &data, RFM_I16, (rfm_real)0.01, &store, &integers));
    CHECK_INT(RFM_OK, rfm_model_size_i(&integers, 0, &size_i));
    blob_i = test_take(size_i);
    ROOM(blob_i != NULL);
    CHECK_INT(RFM_OK, rfm_model_write_i(&integers, NULL, 0, blob_i, size_i));
    CHECK_INT(RFM_OK, rfm_model_open_i(blob_i, size_i, &again));
    CHECK(again.summary != NULL && again.summary != integers.summary);
    bytes = 32 + 16 * 2; /* no scales; FORMAT.md */
    CHECK(memcmp(again.summary, opened.summary, bytes) == 0);
}

/* No power of two up to 2^126 makes 14 bits of numbers near 2^-125: refused, unless they are all the same and so tell
 * no rows apart. */
static void test_tiny_inputs(void) {
    const rfm_model m = make();
    rfm_real x[8];
    size_t constant, i;

    for (constant = 0; constant < 2; constant++) {
        rfm_model_i integers;
        rfm_arena arena, store;
        rfm_ctx ctx;
        rfm_data data;
        size_t need = 0, kept = 0;

        test_reset();
        test_note("constant", constant, 0, 0);
        memset(&ctx, 0, sizeof ctx);
        memset(&data, 0, sizeof data);
        for (i = 0; i < 8; i++) x[i] = rows_x[i];
        for (i = 0; i < 8; i += 2) x[i] = (rfm_real)ldexp(constant ? 1 : 1 + (double)i / 8, -125);
        data.x = rfm_cview(x, 4, 2), data.y = rfm_cview(rows_y, 4, 2);
        CHECK_INT(RFM_OK, rfm_small_integers_need(&ctx, &m, &data, RFM_I16, &need, &kept));
        ROOM(arena_of(&store, kept) && arena_of(&arena, need));
        ctx.arena = &arena;
        CHECK_INT(constant ? RFM_OK : RFM_ERANGE,
                  rfm_small_integers(&ctx, &m, &data, RFM_I16, (rfm_real)0.01, &store, &integers));
        CHECK_SIZE(constant ? kept : 0, store.used);
    }
}

/* ---- a learner ------------------------------------------------------------------------------ */

static int learner(rfm_online *o, const rfm_model *start, size_t outputs) {
    rfm_online_options options;
    rfm_arena arena;
    size_t need = 0;

    rfm_online_options_init(&options);
    options.window = 4, options.inputs = 2, options.outputs = outputs, options.bandwidth = 2, options.start = start;
    CHECK_INT(RFM_OK, rfm_online_need(&options, &need));
    if (!arena_of(&arena, need)) return 0;
    CHECK_INT(RFM_OK, rfm_online_init(o, &options, &arena));
    return 1;
}

/* The start model serves as it is until there is something better. */
static void test_start_serves(void) {
    static const rfm_real x[2] = {1, 1};
    static rfm_online o;
    const rfm_model m = make();
    rfm_model out;
    rfm_arena store;
    rfm_real scores[2], expected[2], scratch[RFM_PREDICT_SCRATCH(2, 2)], novelty[2];
    size_t label = 9;

    ROOM(learner(&o, &m, 2) && arena_of(&store, 64));
    CHECK_INT(RFM_OK, rfm_predict_one(&m, x, expected, scratch, NULL, &novelty[0]));
    CHECK_INT(RFM_OK, rfm_online_predict(&o, x, scores, &label, &novelty[1]));
    CHECK(scores[0] == expected[0] && scores[1] == expected[1] && novelty[0] == novelty[1]);
    CHECK_SIZE(rfm_class(&m, expected, NULL), label);
    CHECK_INT(RFM_ENULL, rfm_online_model(NULL, &store, &out));
    CHECK_INT(RFM_ENULL, rfm_online_model(&o, NULL, &out));
    CHECK_INT(RFM_ENULL, rfm_online_model(&o, &store, NULL));
    CHECK_INT(RFM_OK, rfm_online_model(&o, &store, &out));
    CHECK(memcmp(&out, &m, sizeof m) == 0 && store.used == 0);
    store.status = RFM_EOVERFLOW;
    CHECK_INT(RFM_EOVERFLOW, rfm_online_model(&o, &store, &out));
}

/* One output: class 1 if the score is positive. */
static void test_sign(void) {
    static const rfm_real samples[2][2] = {{-1, 0}, {1, 0}};
    static rfm_online o;
    rfm_real score;
    size_t i, label;

    ROOM(learner(&o, NULL, 1));
    for (i = 0; i < 2; i++) {
        CHECK_INT(RFM_OK, rfm_online_add(&o, samples[i], i));
        while (rfm_online_step(&o, 5000) == 1) {
        }
    }
    for (i = 0; i < 2; i++) {
        CHECK_INT(RFM_OK, rfm_online_predict(&o, samples[i], &score, &label, NULL));
        CHECK_SIZE(i, label);
        CHECK((score > 0) == (i == 1));
        CHECK_INT(RFM_OK, rfm_online_predict(&o, samples[i], &score, NULL, NULL));
    }
}

/* A refit of nothing is done at once. */
static void test_refit_of_nothing(void) {
    static rfm_online o;
    rfm_online_report report;
    rfm_arena store;
    rfm_model out;

    ROOM(learner(&o, NULL, 2) && arena_of(&store, 64));
    CHECK_INT(RFM_OK, rfm_online_refit(&o));
    CHECK_INT(0, rfm_online_step(&o, UINT32_MAX));
    CHECK_INT(RFM_OK, rfm_online_report_get(&o, &report));
    CHECK(!report.busy && report.refits == 0 && report.samples == 0);
    CHECK_INT(RFM_EZERO, rfm_online_model(&o, &store, &out));
    CHECK_INT(RFM_ENULL, rfm_online_save_need(&o, NULL));
    CHECK_INT(RFM_OK, rfm_online_add(&o, rows_x, 1)); /* and does not wait for what comes later */
    while (rfm_online_step(&o, 5000) == 1) {
    }
    CHECK_INT(RFM_OK, rfm_online_report_get(&o, &report));
    CHECK(report.absorbed == 1 && report.refits == 0 && report.rejected == 0 && report.failed == 0);
}

/* ---- sizes and pointers --------------------------------------------------------------------- */

/* More elements than any memory has. */
static void test_sizes(void) {
    rfm_ctx ctx;
    size_t need = 5;

    memset(&ctx, 0, sizeof ctx);
    CHECK_INT(RFM_EOVERFLOW, rfm_gemm_need(&ctx, UINT32_MAX, 3, UINT32_MAX, &need));
    CHECK_INT(RFM_EOVERFLOW, rfm_chol_rank_need(&ctx, SIZE_MAX / 2, &need));
    CHECK_INT(RFM_EOVERFLOW, rfm_eig_need(&ctx, UINT32_MAX, UINT32_MAX, &need));
    CHECK_SIZE(5, need);
}

/* What was never taken cannot be given back. */
static void test_release(void) {
    rfm_arena arena;
    size_t used;

    ROOM(arena_of(&arena, 64));
    CHECK(rfm_arena_take(&arena, 8, 1) != NULL);
    used = arena.used;
    rfm_arena_release(&arena, used + 16);
    CHECK_SIZE(used, arena.used);
}

static void test_no_head(void) {
    RFM_ALIGNED static unsigned char blob[64];
    rfm_blob head;

    CHECK_INT(RFM_ENULL, rfm_blob_open(blob, sizeof blob, RFM_F32, NULL));
    CHECK_INT(RFM_ENULL, rfm_blob_open(NULL, sizeof blob, RFM_F32, &head));
}

/* A section of 24 bytes is 2 * 3 numbers of 4, and no product that only fits 32 bits by overflow. */
static void test_array(void) {
    RFM_ALIGNED static unsigned char blob[160];
    rfm_blob head;

    memset(blob, 0, sizeof blob);
    head.at = blob;
    blob[12] = sizeof blob, blob[44] = 8; /* bytes, sections */
    blob[48 + 8 * 7] = 128, blob[48 + 8 * 7 + 4] = 24;
    if (!test_little_endian()) TEST_IGNORE_MESSAGE("big-endian: no blobs");
    CHECK(rfm_blob_array(&head, 7, 2, 3, 4) == blob + 128 && rfm_blob_array(&head, 7, 3, 1, 8) == blob + 128);
    CHECK(rfm_blob_array(&head, 7, 24, 1, 1) == blob + 128 && rfm_blob_array(&head, 7, 1, 24, 1) == blob + 128);
    CHECK(rfm_blob_array(&head, 7, 2, 3, 2) == NULL && rfm_blob_array(&head, 7, 2, 4, 4) == NULL);
    CHECK(rfm_blob_array(&head, 7, 2, 0x40000003, 4) == NULL && rfm_blob_array(&head, 7, 0x40000006, 4, 1) == NULL);
    CHECK(rfm_blob_array(&head, 8, 2, 3, 4) == NULL && rfm_blob_array(&head, 6, 1, 1, 1) == NULL);
    blob[48 + 8 * 7] = 144; /* 16 bytes are left there */
    CHECK(rfm_blob_array(&head, 7, 2, 3, 4) == NULL && rfm_blob_section(&head, 7) == NULL);
}

/* exp of what is not positive: 2.5 ulp, and 0 where it is next to nothing. */
static void test_exp(void) {
    size_t i;

    for (i = 0; i <= 400; i++) {
        const rfm_real x = (rfm_real)(-(double)i / 5);

        test_note("exp", i, 0, 0);
        CHECK_BELOW(fabs((double)rfm_exp(x) / exp((double)x) - 1), 3 * TEST_EPS);
    }
    CHECK(rfm_exp((rfm_real)-1e4) == 0 && rfm_exp(0) == 1);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_exp);
    RUN_TEST(test_rank_weights);
    RUN_TEST(test_rank_of_one_row);
    RUN_TEST(test_importance);
    RUN_TEST(test_weight_zero);
    RUN_TEST(test_farthest);
    RUN_TEST(test_summary_of_integers);
    RUN_TEST(test_tiny_inputs);
    RUN_TEST(test_start_serves);
    RUN_TEST(test_sign);
    RUN_TEST(test_refit_of_nothing);
    RUN_TEST(test_sizes);
    RUN_TEST(test_release);
    RUN_TEST(test_no_head);
    RUN_TEST(test_array);
    return UNITY_END();
}
