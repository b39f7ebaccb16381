/* Records: entries put together, found again, written into blobs of numbers and of integers; what is forged. */
#include "test.h"

#include "rfm_small.h"

#include <float.h>

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

enum { AT_CRC = 4, AT_MINOR = 10, AT_BYTES = 12, AT_TYPE = 16, AT_SECTIONS = 44, AT_TABLE = 48, ROOM = 1024 };

/* ---- entries ---------------------------------------------------------------------------------- */

/* By hand: tag, zero, bytes, the bytes, zeros up to a multiple of 4. */
static void test_bytes(void) {
    static const unsigned char expect[] = {2, 0, 0, 0, 5, 0, 0, 0, 'y', 'e', 'a', 'r', 0, 0, 0, 0, 9, 1,
                                           0, 0, 0, 0, 0, 0, 3, 0, 0,   0,   4,   0,   0, 0, 1, 2, 3, 4};
    unsigned char record[sizeof expect + 8];
    size_t used = 0, counted = 0, bytes = 77;
    const unsigned char *at;
    memset(record, 0xA5, sizeof record);
    CHECK_INT(RFM_OK, rfm_record_add(record, sizeof expect, &used, RFM_RECORD_TARGETS, "year", 5));
    CHECK_SIZE(16, used);
    CHECK_INT(RFM_OK, rfm_record_add(record, sizeof expect, &used, 0x109, NULL, 0));
    CHECK_SIZE(24, used);
    CHECK_INT(RFM_EARENA, rfm_record_add(record, sizeof expect - 1, &used, 3, expect + 32, 4));
    CHECK(used == 24 && record[24] == 0xA5);
    CHECK_INT(RFM_OK, rfm_record_add(record, sizeof expect, &used, 3, expect + 32, 4)); /* exactly the room */
    CHECK_SIZE(sizeof expect, used);
    CHECK(memcmp(record, expect, sizeof expect) == 0 && record[sizeof expect] == 0xA5);
    CHECK_INT(RFM_EARENA, rfm_record_add(record, sizeof expect, &used, 4, NULL, 0));
    /* without memory the same calls count */
    CHECK_INT(RFM_OK, rfm_record_add(NULL, 0, &counted, RFM_RECORD_TARGETS, "year", 5));
    CHECK_INT(RFM_OK, rfm_record_add(NULL, 0, &counted, 0x109, NULL, 0));
    CHECK_INT(RFM_OK, rfm_record_add(NULL, 0, &counted, 3, expect + 32, 4));
    CHECK_SIZE(used, counted);
    CHECK_INT(1, rfm_record_right(record, used));
    at = rfm_record_find(record, used, RFM_RECORD_TARGETS, &bytes);
    CHECK(at == record + 8 && bytes == 5);
    at = rfm_record_find(record, used, 0x109, &bytes);
    CHECK(at == record + 24 && bytes == 0);
    at = rfm_record_find(record, used, 3, &bytes);
    CHECK(at == record + 32 && bytes == 4);
    bytes = 77;
    CHECK(rfm_record_find(record, used, 9, &bytes) == NULL && bytes == 77); /* the low byte of a tag is not the tag */
}

static void test_add_refusals(void) {
    unsigned char record[32];
    size_t used = 0, odd = 2, most = UINT32_MAX - 15;
    CHECK_INT(RFM_ENULL, rfm_record_add(record, 32, NULL, 1, "x", 1));
    CHECK_INT(RFM_ENULL, rfm_record_add(record, 32, &used, 1, NULL, 1));
    CHECK_INT(RFM_EVALUE, rfm_record_add(record, 32, &used, 0, "x", 1));
    CHECK_INT(RFM_EVALUE, rfm_record_add(record, 32, &odd, 1, "x", 1));
    CHECK_INT(RFM_EOVERFLOW, rfm_record_add(NULL, 0, &used, 1, "x", UINT32_MAX));
    CHECK_INT(RFM_EOVERFLOW, rfm_record_add(NULL, 0, &used, 1, "x", SIZE_MAX));
    CHECK_INT(RFM_EOVERFLOW, rfm_record_add(NULL, 0, &most, 1, "x", 4));
    CHECK(used == 0 && odd == 2 && most == UINT32_MAX - 15);
    used = 40; /* beyond the room */
    CHECK_INT(RFM_EARENA, rfm_record_add(record, 32, &used, 1, "x", 1));
    CHECK_SIZE(40, used);
}

/* Every length of the second entry but its own ends the list there, and nothing is read behind it. */
static void test_forged(void) {
    static const uint32_t lengths[] = {5,  8,   9,          12,         13,         16,         20,
                                       21, 100, 0x7fffffff, 0x80000000, 0xfffffff0, 0xfffffffc, 0xffffffff};
    unsigned char *list = test_take(32);
    size_t used = 0, bytes = 3, i;
    CHECK(list != NULL);
    CHECK_INT(RFM_OK, rfm_record_add(list, 32, &used, 7, "abcd", 4));
    CHECK_INT(RFM_OK, rfm_record_add(list, 32, &used, 8, "efgh", 4));
    CHECK_INT(RFM_OK, rfm_record_add(list, 32, &used, 7, NULL, 0)); /* of two the first counts */
    CHECK_SIZE(32, used);
    CHECK(rfm_record_find(list, used, 7, &bytes) == list + 8 && bytes == 4);
    for (i = 0; i < TEST_LENGTH(lengths); i++) {
        int swallows = lengths[i] <= 12; /* the third entry, as its own bytes */
        test_note("length", i, 0, 0);
        rfm_put_u32(list + 16, lengths[i]);
        bytes = 3;
        CHECK_INT(swallows && lengths[i] > 8, rfm_record_right(list, used));
        CHECK(rfm_record_find(list, used, 7, &bytes) == list + 8 && bytes == 4);
        bytes = 3;
        CHECK((rfm_record_find(list, used, 8, &bytes) != NULL) == swallows);
        CHECK(bytes == (swallows ? lengths[i] : 3));
    }
    rfm_put_u32(list + 16, 4);
    for (i = 0; i <= used; i++) { /* cut short: right only where an entry ends */
        test_note("cut", i, 0, 0);
        CHECK_INT(i == 12 || i == 24 || i == 32, rfm_record_right(list, i));
    }
    CHECK_INT(0, rfm_record_right(NULL, 32));
    CHECK(rfm_record_find(NULL, 32, 7, &bytes) == NULL && rfm_record_find(list, 32, 7, NULL) == NULL);
    list[2] = 0xFF; /* reserved: not looked at */
    CHECK_INT(1, rfm_record_right(list, used));
    CHECK(rfm_record_find(list, used, 7, &bytes) == list + 8);
}

/* ---- options ---------------------------------------------------------------------------------- */

static void options_odd(rfm_options *o) {
    memset(o, 0, sizeof *o);
    o->kernel = RFM_GENERAL, o->exponent = (rfm_real)1.25, o->metric = RFM_DIAGONAL, o->scale = RFM_SCALE_TRACE;
    o->center = 1, o->bandwidth_rule = RFM_BANDWIDTH_MEDIAN, o->bandwidth = (rfm_real)0.1, o->ridge = (rfm_real)1e-3;
    o->iterations = 7, o->agop_points = 300, o->seed = 0x89abcdefu, o->select = RFM_SELECT_LOO;
    o->score = RFM_SCORE_ACCURACY;
}

static int same_options(const rfm_options *a, const rfm_options *b) {
    return a->kernel == b->kernel && a->metric == b->metric && a->scale == b->scale && a->center == b->center &&
           a->bandwidth_rule == b->bandwidth_rule && a->select == b->select && a->score == b->score &&
           a->iterations == b->iterations && a->agop_points == b->agop_points && a->seed == b->seed &&
           memcmp(&a->exponent, &b->exponent, sizeof a->exponent) == 0 &&
           memcmp(&a->bandwidth, &b->bandwidth, sizeof a->bandwidth) == 0 &&
           memcmp(&a->ridge, &b->ridge, sizeof a->ridge) == 0;
}

static void test_options(void) {
    /* 1.25, and 0.5, 0.25 as f64 by hand: the fraction of 1.25 is 0.01 in binary */
    static const unsigned char expect[] = {
        1, 0, 0,    0,    48, 0, 0, 0, 2, 1, 2,    1,    1, 2, 1, 0, 0,    0, 0, 0, 0,    0,    0xf4, 0x3f, 0, 0, 0, 0,
        0, 0, 0xe0, 0x3f, 0,  0, 0, 0, 0, 0, 0xd0, 0x3f, 7, 0, 0, 0, 0x2c, 1, 0, 0, 0xef, 0xcd, 0xab, 0x89, 0, 0, 0, 0};
    unsigned char record[RFM_RECORD_OPTIONS_BYTES + 8];
    rfm_options o, back;
    size_t used = 0, i;
    options_odd(&o);
    o.bandwidth = (rfm_real)0.5, o.ridge = (rfm_real)0.25;
    CHECK_INT(RFM_OK, rfm_record_add_options(record, sizeof record, &used, &o));
    CHECK(used == sizeof record && sizeof expect == sizeof record);
    for (i = 0; i < sizeof expect; i++) {
        test_note("byte", i, record[i], expect[i]);
        CHECK(record[i] == expect[i]);
    }
    CHECK_INT(RFM_OK, rfm_record_options(record, used, &back));
    CHECK(same_options(&o, &back));
    /* numbers come back to the bit */
    for (i = 0; i < 200; i++) {
        used = 0;
        o.bandwidth = (rfm_real)(pow(10, 11.5 * test_number(1, i, 0)) * (1.5 + test_number(2, i, 0) / 4));
        o.ridge = (rfm_real)pow(10, 37 * test_number(3, i, 0));
        o.exponent = (rfm_real)(1.001 + test_number(4, i, 0) / 1.01);
        test_note("numbers", i, 0, 0);
        CHECK_INT(RFM_OK, rfm_record_add_options(record, sizeof record, &used, &o));
        CHECK_INT(RFM_OK, rfm_record_options(record, used, &back));
        CHECK(same_options(&o, &back));
    }
    rfm_options_init(&o);
    o.ridge = 0, used = 0;
    CHECK_INT(RFM_OK, rfm_record_add_options(record, sizeof record, &used, &o));
    CHECK_INT(RFM_OK, rfm_record_options(record, used, &back));
    CHECK(same_options(&o, &back));
}

/* An f64 of the other build is rounded, or out of range. */
static void test_other_numbers(void) {
    unsigned char record[RFM_RECORD_OPTIONS_BYTES + 8];
    rfm_options o, back;
    size_t used = 0;
    rfm_options_init(&o);
    CHECK_INT(RFM_OK, rfm_record_add_options(record, sizeof record, &used, &o));
    rfm_put_u32(record + 8 + 24, 0x9999999au), rfm_put_u32(record + 8 + 28, 0x3fb99999u); /* 0.1 as f64 */
    CHECK_INT(RFM_OK, rfm_record_options(record, used, &back));
    CHECK(back.ridge == (rfm_real)0.1);
    rfm_put_u32(record + 8 + 24, 0xf0000000u), rfm_put_u32(record + 8 + 28, 0x3fefffffu); /* 1 - 2^-25 and more */
    CHECK_INT(RFM_OK, rfm_record_options(record, used, &back));
    CHECK(sizeof(rfm_real) == 8 ? back.ridge < 1 : back.ridge == 1);            /* the carry goes into the exponent */
    rfm_put_u32(record + 8 + 24, 0), rfm_put_u32(record + 8 + 28, 0x37a00000u); /* 2^-133 */
    CHECK_INT(RFM_OK, rfm_record_options(record, used, &back));
    CHECK(sizeof(rfm_real) == 8 ? back.ridge > 0 : back.ridge == 0);
    rfm_put_u32(record + 8 + 28, 0x4b000000u); /* 2^177 */
    CHECK_INT(sizeof(rfm_real) == 8 ? RFM_OK : RFM_ECONTENT, rfm_record_options(record, used, &back));
    rfm_put_u32(record + 8 + 28, 0x7ff80000u); /* NaN */
    CHECK_INT(RFM_ECONTENT, rfm_record_options(record, used, &back));
    rfm_put_u32(record + 8 + 28, 0xbff00000u); /* -1 */
    CHECK_INT(RFM_ECONTENT, rfm_record_options(record, used, &back));
}

static void test_options_refusals(void) {
    unsigned char record[RFM_RECORD_OPTIONS_BYTES + 24];
    rfm_options o, back, before;
    size_t used = 0, i;
    options_odd(&o);
    memset(&back, 0xA5, sizeof back);
    before = back;
    CHECK_INT(RFM_ENULL, rfm_record_add_options(record, sizeof record, &used, NULL));
    CHECK_INT(RFM_ENULL, rfm_record_add_options(record, sizeof record, NULL, &o));
    CHECK_INT(RFM_EARENA, rfm_record_add_options(record, RFM_RECORD_OPTIONS_BYTES + 7, &used, &o));
    o.scale = 3;
    CHECK_INT(RFM_EVALUE, rfm_record_add_options(record, sizeof record, &used, &o));
    options_odd(&o);
    o.ridge = -1;
    CHECK_INT(RFM_EVALUE, rfm_record_add_options(record, sizeof record, &used, &o));
    options_odd(&o);
#if SIZE_MAX > UINT32_MAX
    o.agop_points = (size_t)UINT32_MAX + 1;
    CHECK_INT(RFM_EVALUE, rfm_record_add_options(record, sizeof record, &used, &o));
    o.agop_points = 0, o.iterations = (size_t)UINT32_MAX + 1;
    CHECK_INT(RFM_EVALUE, rfm_record_add_options(record, sizeof record, &used, &o));
    options_odd(&o);
#endif
    CHECK_SIZE(0, used);
    CHECK_INT(RFM_OK, rfm_record_add(record, sizeof record, &used, 9, "", 1));
    CHECK_INT(RFM_EVALUE, rfm_record_options(record, used, &back)); /* there are none */
    used = 0;
    CHECK_INT(RFM_OK, rfm_record_add_options(record, sizeof record, &used, &o));
    CHECK_INT(RFM_ENULL, rfm_record_options(NULL, used, &back));
    CHECK_INT(RFM_ENULL, rfm_record_options(record, used, NULL));
    for (i = 0; i < 7; i++) { /* a choice that is none */
        unsigned char old = record[8 + i];
        test_note("choice", i, 0, 0);
        record[8 + i] = 0x40;
        CHECK_INT(RFM_ECONTENT, rfm_record_options(record, used, &back));
        record[8 + i] = old;
    }
    rfm_put_u32(record + 4, RFM_RECORD_OPTIONS_BYTES - 4); /* shorter, and an entry less behind it */
    CHECK_INT(RFM_ECONTENT, rfm_record_options(record, used, &back));
    CHECK(memcmp(&back, &before, sizeof back) == 0);
    /* a later version may have more behind them */
    rfm_put_u32(record + 4, RFM_RECORD_OPTIONS_BYTES + 16);
    memset(record + used, 0xA5, 16);
    CHECK_INT(RFM_OK, rfm_record_options(record, used + 16, &back));
    CHECK(same_options(&o, &back));
}

/* ---- in blobs --------------------------------------------------------------------------------- */

static const rfm_real shift[2] = {1, 2}, p[2] = {3, 4}, centers[4] = {0, 1, 2, 3}, alpha[2] = {5, 6};
static rfm_model model;
static rfm_contents parts;
static unsigned char record[128];
static size_t record_bytes;

static void make(void) {
    rfm_options o;
    memset(&model, 0, sizeof model);
    model.n = 2, model.d = 2, model.c = 1, model.r = 2, model.metric = RFM_DIAGONAL, model.bandwidth = 1;
    model.exponent = 1, model.shift = shift, model.p = p, model.centers = centers, model.alpha = alpha;
    memset(&parts, 0, sizeof parts);
    parts.model = &model;
    options_odd(&o);
    record_bytes = 0;
    CHECK_INT(RFM_OK, rfm_record_add_options(record, sizeof record, &record_bytes, &o));
    CHECK_INT(RFM_OK, rfm_record_add(record, sizeof record, &record_bytes, RFM_RECORD_TARGETS, "year", 5));
    parts.record = record, parts.record_bytes = record_bytes;
}

static unsigned char *write_blob(size_t *size) {
    unsigned char *blob;
    CHECK_INT(RFM_OK, rfm_model_size(&parts, size));
    blob = test_take(*size);
    CHECK(blob != NULL);
    CHECK_INT(RFM_OK, rfm_model_write(&parts, blob, *size));
    return blob;
}

static void seal(unsigned char *blob) {
    rfm_put_u32(blob + AT_CRC, rfm_crc32(0, blob + 8, rfm_get_u32(blob + AT_BYTES) - 8));
}

static void test_in_blob(void) {
    rfm_model plain_model, opened;
    rfm_real x[2] = {2, 1}, a, b, scratch[4];
    size_t size = 0, plain_size = 0, bytes = 0;
    unsigned char *blob, *plain;
    const void *at;
    NEED_BLOBS();
    make();
    blob = write_blob(&size);
    CHECK_INT(2, blob[AT_MINOR]);
    CHECK_SIZE(9, rfm_get_u32(blob + AT_SECTIONS));
    at = rfm_record_open(blob, size, &bytes);
    CHECK(at != NULL && bytes == record_bytes && memcmp(at, record, bytes) == 0);
    CHECK(((uintptr_t)at - (uintptr_t)blob) % RFM_ALIGN == 0);
    parts.record_bytes = 0; /* then the pointer is not looked at, and the blob is that of 1.0 */
    plain = write_blob(&plain_size);
    CHECK_INT(0, plain[AT_MINOR]);
    CHECK_SIZE(8, rfm_get_u32(plain + AT_SECTIONS));
    CHECK(rfm_record_open(plain, plain_size, &bytes) == NULL);
    CHECK_INT(RFM_OK, rfm_model_open(blob, size, &opened));
    CHECK_INT(RFM_OK, rfm_model_open(plain, plain_size, &plain_model));
    CHECK_INT(RFM_OK, rfm_predict_one(&opened, x, &a, scratch, NULL, NULL));
    CHECK_INT(RFM_OK, rfm_predict_one(&plain_model, x, &b, scratch, NULL, NULL));
    CHECK(memcmp(&a, &b, sizeof a) == 0);
    parts.record_bytes = record_bytes;
    memset(plain, 0xA5, plain_size);
    CHECK_INT(RFM_EARENA, rfm_model_write(&parts, blob, size - 1));
    parts.record = NULL;
    CHECK_INT(RFM_ENULL, rfm_model_write(&parts, blob, size));
    parts.record = record, parts.record_bytes = record_bytes - 4; /* cut short: no list of entries */
    CHECK_INT(RFM_EVALUE, rfm_model_write(&parts, blob, size));
    parts.record_bytes = SIZE_MAX;
    CHECK_INT(RFM_EOVERFLOW, rfm_model_size(&parts, &size));
    CHECK(rfm_record_open(blob, size, &bytes) != NULL); /* nothing was written by any of these */
}

static void test_forged_blob(void) {
    static const uint32_t offsets[] = {1, 4, 8, 0x80000000, 0xf0000000};
    size_t size = 0, bytes = 5, i, at;
    unsigned char *blob, *entry;
    rfm_model opened;
    NEED_BLOBS();
    make();
    blob = write_blob(&size);
    entry = blob + AT_TABLE + 8 * RFM_SECTION_RECORD;
    at = rfm_get_u32(entry);
    for (i = 0; i < TEST_LENGTH(offsets); i++) {
        test_note("offset", i, 0, 0);
        rfm_put_u32(entry, (uint32_t)at + offsets[i]);
        seal(blob);
        CHECK(rfm_record_open(blob, size, &bytes) == NULL);
        CHECK_INT(RFM_OK, rfm_model_open(blob, size, &opened)); /* prediction does not read it */
    }
    rfm_put_u32(entry, AT_TABLE - 48),
        rfm_put_u32(entry + 4, 96); /* over the head: "rfmb" is a tag, its CRC a length */
    seal(blob);
    CHECK(rfm_record_open(blob, size, &bytes) == NULL);
    rfm_put_u32(entry, (uint32_t)at);
    for (i = 0; i < 2 * record_bytes; i++) {
        if (i == record_bytes || i == RFM_RECORD_OPTIONS_BYTES + 8) continue;
        test_note("length", i, 0, 0);
        rfm_put_u32(entry + 4, (uint32_t)i);
        seal(blob);
        CHECK(rfm_record_open(blob, size, &bytes) == NULL);
    }
    rfm_put_u32(entry + 4, (uint32_t)record_bytes);
    seal(blob);
    CHECK(bytes == 5 && rfm_record_open(blob, size, &bytes) != NULL && bytes == record_bytes);
    /* overlapping another section: bytes of the shift are no entries */
    bytes = 5;
    rfm_put_u32(entry, rfm_get_u32(blob + AT_TABLE)), rfm_put_u32(entry + 4, rfm_get_u32(blob + AT_TABLE + 4));
    seal(blob);
    CHECK(rfm_record_open(blob, size, &bytes) == NULL);
    rfm_put_u32(entry, (uint32_t)at), rfm_put_u32(entry + 4, (uint32_t)record_bytes);
    rfm_put_u32(blob + AT_SECTIONS, 8); /* a table without it */
    seal(blob);
    CHECK(rfm_record_open(blob, size, &bytes) == NULL);
    rfm_put_u32(blob + AT_SECTIONS, 9);
    seal(blob);
    CHECK(rfm_record_open(blob, size, NULL) == NULL && rfm_record_open(NULL, size, &bytes) == NULL);
    CHECK(rfm_record_open(blob, size - 1, &bytes) == NULL && rfm_record_open(blob + 4, size - 4, &bytes) == NULL);
    blob[at] ^= 1; /* damaged */
    CHECK(rfm_record_open(blob, size, &bytes) == NULL);
    CHECK_SIZE(5, bytes);
}

/* Numbers of 2 bytes are a code that nothing opens yet. */
static void test_half(void) {
    size_t size = 0;
    unsigned char *blob;
    rfm_model opened;
    rfm_model_i opened_i;
    NEED_BLOBS();
    CHECK((RFM_F16 & (RFM_I8 | RFM_I16 | RFM_F32 | RFM_F64)) == 0);
    make();
    blob = write_blob(&size);
    blob[AT_TYPE] = RFM_F16;
    seal(blob);
    CHECK_INT(RFM_ETYPE, rfm_model_open(blob, size, &opened));
    CHECK_INT(RFM_ETYPE, rfm_model_open_i(blob, size, &opened_i));
}

/* Scales that are folded in already: kept in the summary, and the numbers are as they were. */
static void test_kept_scale(void) {
    static const rfm_real mean[2] = {10, 20}, scale[2] = {2, 8}, other[2] = {3, 5};
    rfm_real bad[2] = {1, 0};
    rfm_summary summary, got;
    rfm_model first, second;
    size_t size = 0, again_size = 0;
    unsigned char *blob, *again;
    NEED_BLOBS();
    make();
    memset(&summary, 0, sizeof summary);
    summary.rows = 4;
    parts.summary = &summary, parts.x_mean = mean, parts.x_scale = scale;
    blob = write_blob(&size);
    CHECK_INT(RFM_OK, rfm_model_open(blob, size, &first));
    CHECK_INT(RFM_OK, rfm_model_summary(&first, &got, NULL, 0));
    CHECK(memcmp(got.x_scale, scale, sizeof scale) == 0);
    /* once more from what was opened: the same bytes */
    parts.model = &first, parts.x_mean = parts.x_scale = NULL, parts.summary = &got;
    again = write_blob(&again_size);
    CHECK(again_size == size && memcmp(again, blob, size) == 0);
    /* given with others that are folded now, it is the one that is kept */
    got.x_scale = other, parts.x_mean = mean, parts.x_scale = scale;
    again = write_blob(&again_size);
    CHECK_INT(RFM_OK, rfm_model_open(again, again_size, &second));
    CHECK(second.p[0] == first.p[0] / 2 && second.p[1] == first.p[1] / 8);
    CHECK_INT(RFM_OK, rfm_model_summary(&second, &got, NULL, 0));
    CHECK(memcmp(got.x_scale, other, sizeof other) == 0);
    got.x_scale = bad;
    CHECK_INT(RFM_EVALUE, rfm_model_write(&parts, again, again_size));
    bad[1] = (rfm_real)HUGE_VAL;
    CHECK_INT(RFM_EVALUE, rfm_model_write(&parts, again, again_size));
}

static void test_integers(void) {
    static const rfm_input_i inputs[1] = {{0, 100, 10, 0, 0}};
    static const int32_t bias[1] = {0}, offset[1] = {1};
    static const int8_t center[1] = {50}, weight[1] = {3};
    static const uint16_t phi[2] = {32767, 100};
    static const float units[1] = {0.5f};
    rfm_model_i m, opened;
    unsigned char *blob;
    size_t size = 0, plain = 0, bytes = 0;
    const void *at;
    make();
    memset(&m, 0, sizeof m);
    m.n = m.d = m.c = m.r = 1, m.type = RFM_I8, m.metric = RFM_DIAGONAL, m.limit = 255, m.inputs = inputs;
    m.bias = bias, m.offset = offset, m.centers = center, m.alpha = weight, m.phi = phi, m.nodes = 2, m.units = units;
    m.inputs = inputs;
    CHECK_INT(RFM_OK, rfm_model_size_i(&m, 0, &plain));
    CHECK_INT(RFM_OK, rfm_model_size_i(&m, record_bytes, &size));
    CHECK(size >= plain + record_bytes);
    CHECK_INT(RFM_EOVERFLOW, rfm_model_size_i(&m, SIZE_MAX, &plain));
    blob = test_take(size);
    CHECK(blob != NULL);
    CHECK_INT(RFM_ENULL, rfm_model_write_i(&m, NULL, record_bytes, blob, size));
    CHECK_INT(RFM_EVALUE, rfm_model_write_i(&m, record, record_bytes - 4, blob, size));
    NEED_BLOBS();
    CHECK_INT(RFM_EVALUE, rfm_model_write_i(&m, record, record_bytes, blob, size)); /* u of 100 is beyond 2 limit */
    {
        static const rfm_input_i small[1] = {{0, 100, 5, 0, 0}};
        m.inputs = small;
    }
    CHECK_INT(RFM_EARENA, rfm_model_write_i(&m, record, record_bytes, blob, size - 1));
    CHECK_INT(RFM_OK, rfm_model_write_i(&m, record, record_bytes, blob, size));
    CHECK_INT(2, blob[AT_MINOR]);
    at = rfm_record_open(blob, size, &bytes);
    CHECK(at != NULL && bytes == record_bytes && memcmp(at, record, bytes) == 0);
    CHECK_INT(RFM_OK, rfm_model_open_i(blob, size, &opened));
    CHECK_INT(RFM_OK, rfm_model_write_i(&m, record, 0, blob, size)); /* no bytes: no record */
    CHECK_INT(1, blob[AT_MINOR]);
    CHECK(rfm_record_open(blob, size, &bytes) == NULL);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_bytes);
    RUN_TEST(test_add_refusals);
    RUN_TEST(test_forged);
    RUN_TEST(test_options);
    RUN_TEST(test_other_numbers);
    RUN_TEST(test_options_refusals);
    RUN_TEST(test_in_blob);
    RUN_TEST(test_forged_blob);
    RUN_TEST(test_half);
    RUN_TEST(test_kept_scale);
    RUN_TEST(test_integers);
    return UNITY_END();
}
