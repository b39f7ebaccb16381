/* Filter banks: pooling and prediction against 64-bit sums of the definitions, extremes, forged blobs, and the way
 * there: filters that find a hidden pattern, integers that follow the real filters, exact memory, every refusal.
 *
 * A big-endian machine can neither write nor open blobs: the tests that need one say so. */
#include "test.h"

#include "rfm_filters.h"

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

enum { HEAD = 32, AT_BYTES = 8, AT_VERSION = 12, AT_RECTIFY = 13, AT_POOLS = 14, AT_C = 16, AT_W = 18, AT_Q = 20 };
enum { AT_K = 22, AT_SPAN = 24, AT_NAMES = 28 };

/* An integer between low and high. */
static int whole(uint32_t stream, size_t i, int low, int high) {
    return low + (int)((test_number(stream, i, 0) + 1) / 2 * (high - low + 1));
}

/* ---- banks of random integers --------------------------------------------------------------- */

/* Not on the stack: some boards have 3 KiB of it. */
static rfm_filters bank, opened;
static int16_t *x, *features;

typedef struct {
    uint32_t channels, samples, taps, filters, span, pools;
    int rectify;
} shape;

static const shape shapes[] = {
    {1, 1, 1, 1, 1, 7, RFM_RECTIFY_ABS},    {1, 9, 1, 2, 9, 1, RFM_RECTIFY_RELU},
    {2, 7, 7, 1, 1, 2, RFM_RECTIFY_ABS},    {3, 20, 5, 4, 16, 7, RFM_RECTIFY_RELU},
    {3, 21, 5, 3, 17, 5, RFM_RECTIFY_ABS},  {1, 40, 3, 2, 4, 6, RFM_RECTIFY_ABS},
    {4, 16, 8, 5, 5, 4, RFM_RECTIFY_RELU},  {2, 33, 2, 1, 31, 3, RFM_RECTIFY_ABS},
    {5, 12, 11, 3, 1, 7, RFM_RECTIFY_RELU}, {2, 24, 9, 7, 3, 7, RFM_RECTIFY_ABS},
};

/* Arrays in the pool; 0: no room. */
static int make_bank(const shape *s, uint32_t stream) {
    const size_t d = s->channels * s->taps;
    int32_t *bias = (int32_t *)test_take(4 * s->filters);
    int8_t *w = (int8_t *)test_take(s->filters * d), *exponents = (int8_t *)test_take(s->channels);
    uint8_t *shifts = (uint8_t *)test_take(s->filters);
    size_t i;
    memset(&bank, 0, sizeof bank);
    bank.channels = s->channels, bank.samples = s->samples, bank.taps = s->taps, bank.filters = s->filters;
    bank.span = s->span, bank.pools = s->pools, bank.rectify = s->rectify;
    bank.segments = (s->samples - s->taps + 1 + s->span - 1) / s->span;
    bank.bias = bias, bank.bank = w, bank.shifts = shifts, bank.exponents = exponents;
    x = (int16_t *)test_take(2 * s->channels * s->samples);
    features = (int16_t *)test_take(2 * rfm_filters_count(&bank));
    if (bias == NULL || w == NULL || exponents == NULL || shifts == NULL || x == NULL || features == NULL) return 0;
    for (i = 0; i < s->filters * d; i++) w[i] = (int8_t)whole(stream, i, -128, 127);
    for (i = 0; i < s->filters; i++) {
        bias[i] = whole(stream + 1, i, -2000000, 2000000);
        shifts[i] = (uint8_t)whole(stream + 2, i, 0, i % 3 == 2 ? 31 : 14);
    }
    for (i = 0; i < s->channels; i++) exponents[i] = (int8_t)whole(stream + 3, i, -126, 126);
    for (i = 0; i < s->channels * s->samples; i++) x[i] = (int16_t)whole(stream + 4, i, -32768, 32767);
    return 1;
}

/* ---- the definitions in 64 bits --------------------------------------------------------------- */

/* Rounds down, as >> does. */
static int64_t divide(int64_t a, int64_t by) { return a >= 0 ? a / by : -((-a + by - 1) / by); }

/* Fits into 32 bits. */
static int64_t checked(int64_t sum) {
    CHECK(sum >= -2147483647 - 1 && sum <= 2147483647);
    return sum;
}

static int64_t rectified(const rfm_filters *f, size_t k, size_t t) {
    int64_t sum = f->bias[k];
    size_t c, j;
    for (c = 0; c < f->channels; c++)
        for (j = 0; j < f->taps; j++)
            sum = checked(sum + (int64_t)f->bank[(k * f->channels + c) * f->taps + j] * x[c * f->samples + t + j]);
    sum = divide(sum, (int64_t)1 << f->shifts[k]);
    if (sum < 0) sum = f->rectify == RFM_RECTIFY_ABS ? -sum : 0;
    return sum > 32767 ? 32767 : sum;
}

/* Feature i by its filter, segment and pool. */
static int64_t feature_reference(const rfm_filters *f, size_t i) {
    static const uint32_t pools[3] = {RFM_POOL_MAX, RFM_POOL_MEAN, RFM_POOL_ENERGY};
    uint32_t list[3], count = 0, p, pool;
    size_t k, s, t, places = f->samples - f->taps + 1;
    int64_t divisor = 1, largest = 0, sum = 0, energy = 0;
    for (p = 0; p < 3; p++)
        if (f->pools & pools[p]) list[count++] = pools[p];
    pool = list[i % count], s = i / count % f->segments, k = i / count / f->segments;
    while (divisor < f->span) divisor *= 2;
    for (t = s * f->span; t < (s + 1) * f->span && t < places; t++) {
        const int64_t h = rectified(f, k, t);
        largest = h > largest ? h : largest, sum = checked(sum + h), energy = checked(energy + h * h / 32768);
    }
    return pool == RFM_POOL_MAX ? largest : pool == RFM_POOL_MEAN ? sum / divisor : energy / divisor;
}

static void check_features(const rfm_filters *f) {
    size_t i, count = rfm_filters_count(f);
    CHECK_INT(RFM_OK, rfm_filters_pool(f, x, features));
    for (i = 0; i < count; i++) CHECK_INT((int)feature_reference(f, i), features[i]);
}

static void test_pooling_is_that_of_the_definition(void) {
    size_t i;
    for (i = 0; i < TEST_LENGTH(shapes); i++) {
        test_reset();
        test_note("shape:", i, 0, 0);
        if (make_bank(&shapes[i], (uint32_t)(10 * i + 1))) check_features(&bank);
    }
}

/* All samples at their ends, weights at theirs: the largest sums that the checks allow. */
static void test_no_sum_overflows(void) {
    static const shape wide = {4, 200, 129, 2, 72, 7, RFM_RECTIFY_ABS};
    static const int ends[4] = {-32768, 32767, 0, -1};
    int32_t *bias;
    int8_t *w;
    uint8_t *shifts;
    size_t i, e, weights = 4 * 129;
    if (!make_bank(&wide, 5)) TEST_IGNORE_MESSAGE("no room");
    bias = (int32_t *)test_take(8), w = (int8_t *)test_take(2 * weights), shifts = (uint8_t *)test_take(2);
    if (bias == NULL || w == NULL || shifts == NULL) TEST_IGNORE_MESSAGE("no room");
    bank.bias = bias, bank.bank = w, bank.shifts = shifts, shifts[0] = 0, shifts[1] = 16;
    for (e = 0; e < 8; e++) {
        test_note("end:", e, 0, 0);
        for (i = 0; i < 2 * weights; i++) w[i] = (int8_t)(e < 4 ? 127 : -127);
        bias[0] = 2147483647 - 127 * (int32_t)weights * 32768, bias[1] = -bias[0];
        for (i = 0; i < 4 * 200; i++) x[i] = (int16_t)ends[e % 4];
        check_features(&bank);
    }
}

/* ---- blobs ------------------------------------------------------------------------------------ */

#define FEATURES_MOST 48

/* A model of d features, made by hand: r = 1, two centres, two classes. */
static rfm_input_i model_inputs[FEATURES_MOST];
static int8_t model_p[FEATURES_MOST];
static const int32_t model_bias[1] = {-60000}, model_offset[2] = {5, -7};
static const uint8_t model_shifts[1] = {9};
static const int8_t model_centers[2] = {-100, 90}, model_alpha[4] = {100, -50, 3, 120};
static const float model_units[2] = {0.5f, 0.5f};
static uint16_t model_phi[60];

static void add_model(rfm_filters *f) {
    rfm_model_i *m = &f->model;
    size_t i;
    memset(m, 0, sizeof *m);
    m->n = 2, m->d = rfm_filters_count(f), m->c = 2, m->r = 1;
    m->type = RFM_I8, m->metric = RFM_FULL, m->task = RFM_CLASSIFY, m->limit = 255;
    for (i = 0; i < m->d; i++) {
        model_inputs[i].low = 0, model_inputs[i].high = 32767, model_inputs[i].gain = 1;
        model_inputs[i].shift = 3, model_inputs[i].exponent = 0;
        model_p[i] = (int8_t)whole(77, i, -127, 127);
    }
    for (i = 0; i < 60; i++) model_phi[i] = (uint16_t)(32767 - 540 * i);
    m->inputs = model_inputs, m->p = model_p, m->bias = model_bias, m->shifts = model_shifts;
    m->centers = model_centers, m->phi = model_phi, m->nodes = 60, m->alpha = model_alpha;
    m->offset = model_offset, m->units = model_units;
    m->class_names = "no\0yes";
}

static unsigned char *blob;
static size_t size;

/* 0: no room. */
static int write_bank(const rfm_filters *f) {
    CHECK_INT(RFM_OK, rfm_filters_size(f, 0, &size));
    blob = (unsigned char *)test_take(size);
    if (blob == NULL) return 0;
    CHECK_INT(RFM_OK, rfm_filters_write(f, NULL, 0, blob, size));
    return 1;
}

static void seal(unsigned char *b, size_t bytes) { rfm_put_u32(b + 4, rfm_crc32(0, b + 8, bytes - 8)); }

static void test_a_blob_comes_back(void) {
    size_t i, d;
    NEED_BLOBS();
    for (i = 0; i < TEST_LENGTH(shapes); i++) {
        int32_t scores[2], again[2];
        int16_t *scratch;
        rfm_model_i model;
        const void *inside;
        size_t bytes = 0;
        test_reset();
        test_note("shape:", i, 0, 0);
        if (!make_bank(&shapes[i], (uint32_t)(10 * i + 3)) || rfm_filters_count(&bank) > FEATURES_MOST) continue;
        add_model(&bank);
        d = bank.model.d;
        scratch = (int16_t *)test_take(2 * RFM_FILTERS_SCRATCH(d, 1));
        if (scratch == NULL || !write_bank(&bank)) continue;
        CHECK_INT(RFM_OK, rfm_filters_open(blob, size, &opened));
        CHECK_INT(RFM_ETRUNCATED, rfm_filters_open(blob, size - 1, &opened));
        CHECK_SIZE(bank.segments, opened.segments);
        CHECK(memcmp(opened.bank, bank.bank, bank.filters * bank.channels * bank.taps) == 0);
        CHECK(memcmp(opened.exponents, bank.exponents, bank.channels) == 0);
        CHECK(opened.input_names == NULL && strcmp(rfm_name(opened.model.class_names, 1), "yes") == 0);
        CHECK_INT(RFM_OK, rfm_filters_predict(&opened, x, scores, scratch, NULL, NULL));
        CHECK_INT(RFM_OK, rfm_filters_pool(&bank, x, features));
        CHECK_INT(RFM_OK, rfm_predict_i(&bank.model, features, again, scratch, NULL, NULL));
        CHECK(scores[0] == again[0] && scores[1] == again[1]);

        /* The model inside is a blob of its own. */
        inside = rfm_filters_model(blob, &bytes);
        CHECK(inside != NULL && bytes < size && (const unsigned char *)inside + bytes <= blob + size);
        CHECK_INT(RFM_OK, rfm_model_open_i(inside, bytes, &model));
        CHECK_SIZE(d, model.d);
        CHECK_INT(RFM_OK, rfm_predict_i(&model, features, again, scratch, NULL, NULL));
        CHECK(scores[0] == again[0] && scores[1] == again[1]);
        CHECK(rfm_filters_model(NULL, &bytes) == NULL && rfm_filters_model(blob, NULL) == NULL);
    }
}

static const shape small_shape = {2, 4, 3, 2, 1, RFM_POOL_MAX | RFM_POOL_MEAN, RFM_RECTIFY_ABS};
#define SMALL_NAMES "a\0b\0c\0d\0e\0f\0g\0h" /* C W = 8 */

static int small_bank(void) {
    if (!make_bank(&small_shape, 9)) return 0;
    bank.input_names = SMALL_NAMES;
    add_model(&bank);
    return write_bank(&bank);
}

/* The example of rfm/FORMAT.md, up to the model. */
static void test_the_bytes_are_those_of_the_format(void) {
    static const unsigned char expect[48] = {
        0x72, 0x66, 0x6d, 0x66, 0,    0,    0, 0, 0, 0, 0, 0, 1, 1, 5, 0, /* magic, checksum, bytes, version, ... */
        1,    0,    6,    0,    2,    0,    1, 0, 3, 0, 0, 0, 0, 0, 0, 0, /* C, W, q, K, span, names */
        0x40, 0,    0,    0,    0x40, 0xc0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, /* bias, bank, shift, exponent, padding */
    };
    static const int32_t bias[1] = {64};
    static const int8_t w[2] = {64, -64}, exponents[1] = {4};
    static const uint8_t shifts[1] = {3};
    static const int16_t samples[6] = {10, 20, 20, -30, 0, 5};
    unsigned char want[48];
    int16_t found[4];
    NEED_BLOBS();
    memset(&bank, 0, sizeof bank);
    bank.channels = 1, bank.samples = 6, bank.taps = 2, bank.filters = 1, bank.span = 3, bank.segments = 2;
    bank.pools = RFM_POOL_MAX | RFM_POOL_ENERGY, bank.rectify = RFM_RECTIFY_ABS;
    bank.bias = bias, bank.bank = w, bank.shifts = shifts, bank.exponents = exponents;
    add_model(&bank);
    if (!write_bank(&bank)) TEST_IGNORE_MESSAGE("no room");
    memcpy(want, expect, sizeof want);
    rfm_put_u32(want + 4, rfm_get_u32(blob + 4));
    rfm_put_u32(want + AT_BYTES, (uint32_t)size);
    TEST_ASSERT_EQUAL_UINT8_ARRAY(want, blob, 48);
    CHECK_INT(0, memcmp(blob + 48, "rfmb", 4));
    CHECK_SIZE(rfm_crc32(0, blob + 8, size - 8), rfm_get_u32(blob + 4));
    /* v = (64 + 64 (x_t - x_(t+1))) >> 3: -72, 8, 408, -232, -32; energy h^2 >> 15: 0, 0, 5, 1, 0 */
    CHECK_INT(RFM_OK, rfm_filters_pool(&bank, samples, found));
    CHECK_INT(408, found[0]);
    CHECK_INT(5 / 4, found[1]);
    CHECK_INT(232, found[2]);
    CHECK_INT(1 / 4, found[3]);
}

/* One change of a right blob, sealed again: refused, and *filters is as it was. */
static void refuse(int status, size_t at, unsigned value) {
    rfm_filters before;
    const unsigned char was = blob[at];
    test_note("byte:", at, value, 0);
    memset(&opened, 0x5a, sizeof opened);
    before = opened;
    blob[at] = (unsigned char)value;
    if (at >= 8) seal(blob, size);
    CHECK_INT(status, rfm_filters_open(blob, size, &opened));
    CHECK(memcmp(&opened, &before, sizeof before) == 0);
    blob[at] = was;
    seal(blob, size);
}

static void test_forged_blobs(void) {
    size_t d = 2 * 3, at = HEAD, i;
    NEED_BLOBS();
    if (!small_bank()) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_ENULL, rfm_filters_open(NULL, size, &opened));
    CHECK_INT(RFM_ENULL, rfm_filters_open(blob, size, NULL));
    CHECK_INT(RFM_EALIGN, rfm_filters_open(blob + 4, size, &opened));
    CHECK_INT(RFM_ETRUNCATED, rfm_filters_open(blob, HEAD - 1, &opened));
    refuse(RFM_EMAGIC, 0, 's');
    refuse(RFM_ECHECKSUM, 4, blob[4] ^ 1u);
    refuse(RFM_EVERSION, AT_VERSION, 2);
    refuse(RFM_ETRUNCATED, AT_BYTES + 1, 0xff);
    refuse(RFM_ECONTENT, AT_RECTIFY, 2);
    refuse(RFM_ECONTENT, AT_POOLS, 0);
    refuse(RFM_ECONTENT, AT_POOLS, 8);
    refuse(RFM_ECONTENT, AT_POOLS, 7); /* the model has fewer inputs */
    for (i = AT_C; i <= AT_SPAN; i += 2) refuse(RFM_ECONTENT, i, 0);
    refuse(RFM_ECONTENT, AT_Q, 5); /* longer than the window */
    refuse(RFM_ECONTENT, AT_C + 1, 0xff);
    refuse(RFM_ECONTENT, AT_K + 1, 0xff);
    refuse(RFM_ECONTENT, AT_SPAN, 2); /* other features */
    refuse(RFM_ECONTENT, AT_NAMES, 15);
    refuse(RFM_ECONTENT, AT_NAMES + 3, 0xff);
    refuse(RFM_ECONTENT, at + 3, 0x7f); /* bias + sums */
    at += 4 * 2 + 2 * d;
    refuse(RFM_ECONTENT, at, 32);          /* shift */
    refuse(RFM_ECONTENT, at + 2, 127);     /* exponent */
    refuse(RFM_ECONTENT, at + 3, 0x80);    /* -128 */
    refuse(RFM_ECONTENT, at + 4 + 1, 'x'); /* names */
    refuse(RFM_ECONTENT, at + 4 + 15, 'x');
    at = (at + 4 + 16 + 15) / 16 * 16; /* the model */
    refuse(RFM_ECONTENT, at, 'x');
    refuse(RFM_ECONTENT, at + 12, blob[at + 12] - 1u);
    refuse(RFM_ECONTENT, at + 60, blob[at + 60] ^ 1u); /* its checksum */
    CHECK_INT(RFM_OK, rfm_filters_open(blob, size, &opened));
    CHECK(strcmp(rfm_name(opened.input_names, 7), "h") == 0);
    /* Every length is refused but the whole. */
    for (i = HEAD; i < size; i++) {
        test_note("length:", i, 0, 0);
        rfm_put_u32(blob + AT_BYTES, (uint32_t)i);
        seal(blob, i);
        CHECK_INT(RFM_ECONTENT, rfm_filters_open(blob, size, &opened));
    }
}

static void open_with_bias(int status, int32_t bias) {
    rfm_put_u32(blob + HEAD, (uint32_t)bias);
    seal(blob, size);
    CHECK_INT(status, rfm_filters_open(blob, size, &opened));
}

/* The largest bias that the sums leave room for, of either sign, and one more. */
static void test_the_bound_of_the_bias(void) {
    int32_t most = 0;
    size_t j;
    NEED_BLOBS();
    if (!small_bank()) TEST_IGNORE_MESSAGE("no room");
    for (j = 0; j < 6; j++) most += bank.bank[j] < 0 ? -bank.bank[j] : bank.bank[j];
    most = 2147483647 - 32768 * most;
    open_with_bias(RFM_OK, most);
    open_with_bias(RFM_ECONTENT, most + 1);
    open_with_bias(RFM_OK, -most);
    open_with_bias(RFM_ECONTENT, -most - 1);
}

/* The model ends with the whole: bytes behind it that the length counts are refused, others do no harm. */
static void test_bytes_behind_the_model(void) {
    unsigned char *longer;
    NEED_BLOBS();
    if (!small_bank()) TEST_IGNORE_MESSAGE("no room");
    longer = (unsigned char *)test_take(size + 16);
    if (longer == NULL) TEST_IGNORE_MESSAGE("no room");
    memset(longer, 0, size + 16);
    memcpy(longer, blob, size);
    CHECK_INT(RFM_OK, rfm_filters_open(longer, size + 16, &opened));
    rfm_put_u32(longer + AT_BYTES, (uint32_t)size + 16);
    seal(longer, size + 16);
    CHECK_INT(RFM_ECONTENT, rfm_filters_open(longer, size + 16, &opened));
}

static void test_what_cannot_be_written(void) {
    rfm_filters f;
    size_t bytes = 7;
    NEED_BLOBS();
    if (!small_bank()) TEST_IGNORE_MESSAGE("no room");
    f = bank, f.bank = NULL;
    CHECK_INT(RFM_ENULL, rfm_filters_size(&f, 0, &bytes));
    CHECK_INT(RFM_ENULL, rfm_filters_size(NULL, 0, &bytes));
    CHECK_INT(RFM_ENULL, rfm_filters_size(&bank, 0, NULL));
    f = bank, f.model.d = 0;
    CHECK_INT(RFM_EZERO, rfm_filters_size(&f, 0, &bytes));
    f = bank, f.segments++;
    CHECK_INT(RFM_EVALUE, rfm_filters_size(&f, 0, &bytes));
    f = bank, f.taps = 5;
    CHECK_INT(RFM_EVALUE, rfm_filters_size(&f, 0, &bytes));
    CHECK_SIZE(7, bytes);
    memset(blob, 0x11, size);
    f = bank, f.pools = 7;
    CHECK_INT(RFM_EVALUE, rfm_filters_write(&f, NULL, 0, blob, size));
    CHECK_INT(RFM_EARENA, rfm_filters_write(&bank, NULL, 0, blob, size - 1));
    CHECK_INT(RFM_EALIGN, rfm_filters_write(&bank, NULL, 0, blob + 4, size));
    CHECK_INT(RFM_ENULL, rfm_filters_write(&bank, NULL, 0, NULL, size));
    CHECK(blob[0] == 0x11 && blob[size - 1] == 0x11);
}

static void test_calls_without_arguments(void) {
    int16_t scratch[4];
    int32_t scores[2];
    rfm_real one = 1, bad = 1;
    if (!make_bank(&shapes[0], 1)) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_ENULL, rfm_filters_pool(NULL, x, features));
    CHECK_INT(RFM_ENULL, rfm_filters_pool(&bank, NULL, features));
    CHECK_INT(RFM_ENULL, rfm_filters_pool(&bank, x, NULL));
    CHECK_INT(RFM_ENULL, rfm_filters_predict(&bank, x, scores, scratch, NULL, NULL)); /* a bank alone */
    CHECK_INT(RFM_ENULL, rfm_filters_integers(&bank, NULL, x));
    CHECK_INT(RFM_ENULL, rfm_filters_integers(NULL, &one, x));
    CHECK_INT(RFM_ENULL, rfm_filters_integers(&bank, &one, NULL));
    bad = (rfm_real)RFM_MATH(sqrt)(-one);
    x[0] = 77;
    CHECK_INT(RFM_EFINITE, rfm_filters_integers(&bank, &bad, x));
    CHECK_INT(77, x[0]);
}

/* ---- making ----------------------------------------------------------------------------------- */

static void test_exponents(void) {
    static const rfm_real counts[4] = {100, -3, 1500, 1600}, far[4] = {3, 1, 30000, 5},
                          small[4] = {(rfm_real)0.5, (rfm_real)0.25, 1000, 0}, none[4] = {0, 0, 0, 0};
    rfm_real bad[2] = {1, 1};
    int8_t e[2] = {55, 55};
    CHECK_INT(RFM_OK, rfm_filters_exponents(2, rfm_cview(counts, 1, 4), e)); /* whole, at most 16 times as wide */
    CHECK(e[0] == 0 && e[1] == 0);
    CHECK_INT(RFM_OK, rfm_filters_exponents(2, rfm_cview(far, 1, 4), e));
    CHECK(e[0] == 12 && e[1] == -1); /* 3 2^12 and 30000 / 2 are below 2^14 and not below 2^13 */
    CHECK_INT(RFM_OK, rfm_filters_exponents(2, rfm_cview(small, 1, 4), e));
    CHECK(e[0] == 14 && e[1] == 4);
    CHECK_INT(RFM_OK, rfm_filters_exponents(2, rfm_cview(none, 1, 4), e));
    CHECK(e[0] == 0 && e[1] == 0);
    e[0] = 55;
    CHECK_INT(RFM_ENULL, rfm_filters_exponents(2, rfm_cview(counts, 1, 4), NULL));
    CHECK_INT(RFM_ENULL, rfm_filters_exponents(2, rfm_cview(NULL, 1, 4), e));
    CHECK_INT(RFM_EZERO, rfm_filters_exponents(2, rfm_cview(counts, 0, 4), e));
    CHECK_INT(RFM_ESHAPE, rfm_filters_exponents(3, rfm_cview(counts, 1, 4), e));
    CHECK_INT(RFM_ESHAPE, rfm_filters_exponents(0, rfm_cview(counts, 1, 4), e));
    bad[1] = RFM_MATH(sqrt)(-bad[0]);
    CHECK_INT(RFM_EFINITE, rfm_filters_exponents(1, rfm_cview(bad, 1, 2), e));
    CHECK_INT(55, e[0]);
}

/* Two channels of other units and offsets: what integers compute is what the real filters do, to their rounding. */
enum { N = 5, C = 2, W = 12, Q = 4, K = 3 };
static rfm_real rows[N * C * W], reals[K * C * Q];
static const rfm_real means[C] = {(rfm_real)9.75, -1000}, scales[C] = {(rfm_real)0.5, 40};

static rfm_filters_options usual(int8_t *exponents) {
    rfm_filters_options o;
    size_t i, j;
    for (i = 0; i < N; i++)
        for (j = 0; j < C * W; j++)
            rows[i * C * W + j] = means[j / W] + scales[j / W] * 2 * (rfm_real)test_number(31, i, j);
    for (i = 0; i < K * C * Q; i++) reals[i] = (rfm_real)test_number(32, i, 0);
    rfm_filters_options_init(&o);
    CHECK_INT(RFM_OK, rfm_filters_exponents(C, rfm_cview(rows, N, C * W), exponents));
    o.mean = means, o.scale = scales, o.exponents = exponents;
    return o;
}

static rfm_cmat all_rows(void) { return rfm_cview(rows, N, C * W); }
static rfm_cmat all_filters(void) { return rfm_cview(reals, K, C * Q); }

static void test_integers_follow_the_filters(void) {
    int8_t exponents[C];
    rfm_filters_options o = usual(exponents);
    rfm_arena arena;
    rfm_ctx ctx;
    size_t scratch, store, i, k, t, j;
    unsigned char *memory;
    o.pools = RFM_POOL_MAX;
    CHECK_INT(RFM_OK, rfm_filters_make_need(C, all_filters(), &o, all_rows(), &scratch, &store));
    memory = (unsigned char *)test_take(scratch + store);
    if (memory == NULL) TEST_IGNORE_MESSAGE("no room");
    memset(&ctx, 0, sizeof ctx);
    ctx.arena = &arena;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, scratch + store - 1));
    memset(&bank, 0x33, sizeof bank);
    CHECK_INT(RFM_EARENA, rfm_filters_make(&ctx, C, all_filters(), &o, all_rows(), &arena, &bank));
    CHECK(arena.used == 0 && arena.status == RFM_OK && bank.taps == 0x33333333u);
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, scratch + store));
    CHECK_INT(RFM_OK, rfm_filters_make(&ctx, C, all_filters(), &o, all_rows(), &arena, &bank));
    CHECK_SIZE(store, arena.used);
    x = (int16_t *)test_take(2 * C * W), features = (int16_t *)test_take(2 * K);
    if (x == NULL || features == NULL) TEST_IGNORE_MESSAGE("no room");
    for (k = 0; k < K; k++) {
        double most = 0, unit = 0, h = 0;
        int largest = 0;
        test_note("filter:", k, 0, 0);
        for (j = 0; j < C * Q; j++) {
            double value = (double)reals[k * C * Q + j] / ldexp((double)scales[j / Q], exponents[j / Q]);
            int w = bank.bank[k * C * Q + j];
            if (fabs(value) > most) most = fabs(value), unit = fabs((double)w) / fabs(value);
            largest = (w < 0 ? -w : w) > largest ? (w < 0 ? -w : w) : largest;
        }
        CHECK_INT(127, largest); /* all 8 bits */
        unit /= ldexp(1, bank.shifts[k]);
        for (i = 0; i < N; i++) {
            double real = 0;
            for (t = 0; t + Q <= W; t++) {
                double sum = 0;
                for (j = 0; j < C * Q; j++)
                    sum += (double)reals[k * C * Q + j] *
                           ((double)rows[i * C * W + j / Q * W + t + j % Q] - (double)means[j / Q]) /
                           (double)scales[j / Q];
                real = fmax(real, fabs(sum));
            }
            CHECK_INT(RFM_OK, rfm_filters_integers(&bank, rows + i * C * W, x));
            CHECK_INT(RFM_OK, rfm_filters_pool(&bank, x, features));
            CHECK(fabs(features[k] - unit * real) < 0.015 * unit * C * Q); /* half a step of 127 for each |x| <= 2 */
            h = fmax(h, features[k]);
        }
        CHECK(h > 16000 && h < 32767); /* the shift is the least that does */
    }
    check_features(&bank);
}

static void make_refused(int status, size_t channels, rfm_cmat filters, const rfm_filters_options *o, rfm_cmat from) {
    const size_t mark = test_mark(), room = 512;
    unsigned char *memory = (unsigned char *)test_take(room);
    rfm_arena arena;
    rfm_ctx ctx;
    size_t a = 1, b = 2;
    if (memory == NULL) TEST_IGNORE_MESSAGE("no room");
    memset(&ctx, 0, sizeof ctx);
    ctx.arena = &arena;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, room));
    memset(&bank, 0x33, sizeof bank);
    CHECK_INT(status, rfm_filters_make(&ctx, channels, filters, o, from, &arena, &bank));
    CHECK(arena.used == 0 && arena.status == RFM_OK && bank.taps == 0x33333333u);
    if (status != RFM_EFINITE && status != RFM_ERANGE)
        CHECK_INT(status, rfm_filters_make_need(channels, filters, o, from, &a, &b));
    test_rewind(mark);
}

static void test_banks_that_are_refused(void) {
    static rfm_real bad[C];
    int8_t exponents[C];
    const rfm_filters_options good = usual(exponents);
    rfm_filters_options o;
    rfm_cmat view;
    make_refused(RFM_ENULL, C, all_filters(), NULL, all_rows());
    make_refused(RFM_ENULL, C, rfm_cview(NULL, K, C * Q), &good, all_rows());
    make_refused(RFM_EZERO, 0, all_filters(), &good, all_rows());
    make_refused(RFM_EZERO, C, rfm_cview(reals, 0, C * Q), &good, all_rows());
    make_refused(RFM_ESHAPE, 5, all_filters(), &good, all_rows());
    make_refused(RFM_ESHAPE, C, rfm_cview(reals, K, 3), &good, all_rows());
    make_refused(RFM_ESHAPE, C, all_filters(), &good, rfm_cview(rows, N, C * (Q - 1)));
    view = all_rows(), view.stride--;
    make_refused(RFM_ESTRIDE, C, all_filters(), &good, view);
    o = good, o.segments = 0;
    make_refused(RFM_EVALUE, C, all_filters(), &o, all_rows());
    o = good, o.segments = W - Q + 2;
    make_refused(RFM_EVALUE, C, all_filters(), &o, all_rows());
    o = good, o.pools = 0;
    make_refused(RFM_EVALUE, C, all_filters(), &o, all_rows());
    o = good, o.pools = 8;
    make_refused(RFM_EVALUE, C, all_filters(), &o, all_rows());
    o = good, o.rectify = 2;
    make_refused(RFM_EVALUE, C, all_filters(), &o, all_rows());
    bad[0] = 1, bad[1] = 0;
    o = good, o.scale = bad;
    make_refused(RFM_EVALUE, C, all_filters(), &o, all_rows());
    bad[1] = RFM_LIMIT(MAX); /* a mean that no integer reaches */
    o = good, o.mean = bad;
    make_refused(RFM_ERANGE, C, all_filters(), &o, all_rows());
    bad[1] = RFM_MATH(sqrt)(-bad[0]);
    make_refused(RFM_EFINITE, C, all_filters(), &o, all_rows());
    exponents[1] = 127;
    make_refused(RFM_EVALUE, C, all_filters(), &good, all_rows());
}

/* ---- learning --------------------------------------------------------------------------------- */

/* Noise in two channels, and in one class a jump at a random place, always in the same direction of the two: with one
 * tap the first filter is that direction. */
enum { ROWS = 36, SAMPLES = 3, SIZE = 2 };
static rfm_real learned[SIZE * SIZE];
static const double pattern[SIZE] = {0.8, -0.6};

static void test_filters_find_the_pattern(void) {
    rfm_conv_options o;
    rfm_data data;
    rfm_ctx ctx;
    rfm_arena arena;
    unsigned char *memory;
    size_t need, i, j;
    double along = 0, length = 0;
    rfm_real *windows = (rfm_real *)test_take(ROWS * SIZE * SAMPLES * sizeof *windows);
    rfm_real *targets = (rfm_real *)test_take(ROWS * sizeof *targets);
    if (windows == NULL || targets == NULL) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < ROWS; i++) {
        size_t place = (size_t)whole(41, i, 0, SAMPLES - 1);
        for (j = 0; j < SIZE * SAMPLES; j++) windows[i * SIZE * SAMPLES + j] = (rfm_real)(0.5 * test_number(40, i, j));
        for (j = 0; j < SIZE && i % 2 == 0; j++)
            windows[(i * SIZE + j) * SAMPLES + place] += (rfm_real)(2 * pattern[j]);
        targets[i] = i % 2 == 0 ? 1 : -1;
    }
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(windows, ROWS, SIZE * SAMPLES), data.y = rfm_cview(targets, ROWS, 1);
    rfm_conv_options_init(&o);
    o.patch = 1, o.kernel = RFM_CONV_LAPLACE, o.bandwidth = 3, o.rounds = 2, o.ridges = 1, o.ridge[0] = 1;
    memset(&ctx, 0, sizeof ctx);
    CHECK_INT(RFM_OK, rfm_filters_learn_need(&ctx, SIZE, SAMPLES, &data, &o, 2, &need));
    memory = (unsigned char *)test_take(need);
    if (memory == NULL) TEST_IGNORE_MESSAGE("no room");
    ctx.arena = &arena;
    learned[0] = 77;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, need - 1));
    CHECK_INT(RFM_EARENA, rfm_filters_learn(&ctx, SIZE, SAMPLES, &data, &o, rfm_view(learned, 2, SIZE)));
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, need));
    CHECK_INT(RFM_ESHAPE, rfm_filters_learn(&ctx, SIZE, SAMPLES, &data, &o, rfm_view(learned, 2, SIZE - 1)));
    CHECK_INT(RFM_ESHAPE, rfm_filters_learn(&ctx, SIZE, SAMPLES, &data, &o, rfm_view(learned, SIZE + 1, SIZE)));
    CHECK_INT(RFM_ENULL, rfm_filters_learn(&ctx, SIZE, SAMPLES, NULL, &o, rfm_view(learned, 2, SIZE)));
    CHECK_INT(RFM_ENULL, rfm_filters_learn(&ctx, SIZE, SAMPLES, &data, &o, rfm_view(NULL, 2, SIZE)));
    o.rounds = 0;
    CHECK_INT(RFM_EVALUE, rfm_filters_learn(&ctx, SIZE, SAMPLES, &data, &o, rfm_view(learned, 2, SIZE)));
    o.rounds = 2, o.patch = SAMPLES + 1;
    CHECK_INT(RFM_ESHAPE, rfm_filters_learn(&ctx, SIZE, SAMPLES, &data, &o, rfm_view(learned, 2, SIZE)));
    CHECK(learned[0] == 77 && arena.used == 0);
    o.patch = 1;
    CHECK_INT(RFM_OK, rfm_filters_learn(&ctx, SIZE, SAMPLES, &data, &o, rfm_view(learned, 2, SIZE)));
    CHECK_SIZE(0, arena.used);
    for (j = 0; j < SIZE; j++)
        along += (double)learned[j] * pattern[j], length += (double)learned[j] * (double)learned[j];
    CHECK(fabs(length - 1) < 1e-5);
    test_note("cosine in thousandths:", (size_t)(1000 * fabs(along)), 0, 0);
    CHECK(fabs(along) > 0.95);
}

static void test_features_of_rows(void) {
    int8_t exponents[C];
    rfm_filters_options o = usual(exponents);
    rfm_real *table = (rfm_real *)test_take(N * (3 * K * 3 + 1) * sizeof *table);
    rfm_arena arena, kept;
    rfm_ctx ctx;
    size_t scratch, store, need, i, j, count;
    unsigned char *memory, *keep;
    rfm_mat out;
    if (table == NULL) TEST_IGNORE_MESSAGE("no room");
    o.segments = 3, o.pools = 7;
    CHECK_INT(RFM_OK, rfm_filters_make_need(C, all_filters(), &o, all_rows(), &scratch, &store));
    memory = (unsigned char *)test_take(scratch), keep = (unsigned char *)test_take(store);
    if (memory == NULL || keep == NULL) TEST_IGNORE_MESSAGE("no room");
    memset(&ctx, 0, sizeof ctx);
    ctx.arena = &arena;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, scratch));
    CHECK_INT(RFM_OK, rfm_arena_init(&kept, keep, store));
    CHECK_INT(RFM_OK, rfm_filters_make(&ctx, C, all_filters(), &o, all_rows(), &kept, &bank));
    CHECK_SIZE(0, arena.used);
    count = rfm_filters_count(&bank);
    CHECK_SIZE(3 * K * 3, count);
    CHECK_INT(RFM_OK, rfm_filters_features_need(&bank, &need));
    CHECK_INT(RFM_ENULL, rfm_filters_features_need(&bank, NULL));
    memory = (unsigned char *)test_take(need);
    x = (int16_t *)test_take(2 * C * W), features = (int16_t *)test_take(2 * count);
    if (memory == NULL || x == NULL || features == NULL) TEST_IGNORE_MESSAGE("no room");
    out = rfm_view(table, N, count), out.stride = count + 1;
    table[0] = 5;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, need - 1));
    CHECK_INT(RFM_EARENA, rfm_filters_features(&ctx, &bank, all_rows(), out));
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, need));
    CHECK_INT(RFM_ESHAPE, rfm_filters_features(&ctx, &bank, rfm_cview(rows, N - 1, C * W), out));
    CHECK_INT(RFM_ESHAPE, rfm_filters_features(&ctx, &bank, rfm_cview(rows, N, C * W - 1), out));
    CHECK_INT(RFM_ENULL, rfm_filters_features(&ctx, NULL, all_rows(), out));
    CHECK(table[0] == 5);
    CHECK_INT(RFM_OK, rfm_filters_features(&ctx, &bank, all_rows(), out));
    for (i = 0; i < N; i++) {
        CHECK_INT(RFM_OK, rfm_filters_integers(&bank, rows + i * C * W, x));
        check_features(&bank);
        for (j = 0; j < count; j++) CHECK(table[i * (count + 1) + j] == features[j]);
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_pooling_is_that_of_the_definition);
    RUN_TEST(test_no_sum_overflows);
    RUN_TEST(test_a_blob_comes_back);
    RUN_TEST(test_the_bytes_are_those_of_the_format);
    RUN_TEST(test_forged_blobs);
    RUN_TEST(test_the_bound_of_the_bias);
    RUN_TEST(test_bytes_behind_the_model);
    RUN_TEST(test_what_cannot_be_written);
    RUN_TEST(test_calls_without_arguments);
    RUN_TEST(test_exponents);
    RUN_TEST(test_integers_follow_the_filters);
    RUN_TEST(test_banks_that_are_refused);
    RUN_TEST(test_filters_find_the_pattern);
    RUN_TEST(test_features_of_rows);
    return UNITY_END();
}
