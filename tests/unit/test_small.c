/* Models of integers: the blob of rfm/FORMAT.md written, opened in place, refused; prediction. The numbers here are
 * worked out by hand; many more, of every shape and on every board, are compared with a reference of their own by
 * boards/predict/predict_i.c.
 *
 * A big-endian machine can neither write nor open blobs: the tests that need one say so. */
#include "test.h"

#include "rfm_port.h"
#include "rfm_small.h"

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

/* ---- a model: 3 centres, 2 inputs, 2 outputs, rank 2 ---------------------------------------- */

enum { N = 3, D = 2, C = 2, R = 2, NODES = 40 };

typedef struct {
    rfm_input_i inputs[D];
    int8_t p8[R * D], centers8[N * R], alpha8[N * C];
    int16_t p16[R * D], centers16[N * R], alpha16[N * C];
    int32_t bias[R], offset[C];
    uint8_t shifts[R];
    uint16_t phi[NODES];
    float units[C];
    rfm_model_i m;
} kit;

static void kit_make(kit *k, int type, int metric) {
    static const int8_t p[R * D] = {3, -2, 1, 4}, centers[N * R] = {10, -20, 30, 40, -50, 60},
                              alpha[N * C] = {5, -6, 7, 8, -9, 10};
    size_t i;
    memset(k, 0, sizeof *k);
    for (i = 0; i < D; i++)
        k->inputs[i].low = -100, k->inputs[i].high = 155, k->inputs[i].gain = 4, k->inputs[i].shift = 1;
    for (i = 0; i < R * D; i++) k->p8[i] = p[i], k->p16[i] = p[i];
    for (i = 0; i < N * R; i++) k->centers8[i] = centers[i], k->centers16[i] = centers[i];
    for (i = 0; i < N * C; i++) k->alpha8[i] = alpha[i], k->alpha16[i] = alpha[i];
    for (i = 0; i < NODES; i++) k->phi[i] = (uint16_t)(32767 - 700 * i);
    k->bias[0] = -200, k->bias[1] = 300, k->shifts[0] = 3, k->shifts[1] = 5;
    k->offset[0] = 11, k->offset[1] = -12, k->units[0] = k->units[1] = 0.5f;
    k->m.n = N, k->m.d = D, k->m.c = C, k->m.r = R, k->m.type = type, k->m.metric = metric, k->m.task = RFM_CLASSIFY;
    k->m.limit = type == RFM_I8 ? 255 : 16383;
    k->m.inputs = k->inputs, k->m.bias = k->bias, k->m.offset = k->offset, k->m.units = k->units;
    k->m.phi = k->phi, k->m.nodes = NODES;
    k->m.centers = type == RFM_I8 ? (const void *)k->centers8 : k->centers16;
    k->m.alpha = type == RFM_I8 ? (const void *)k->alpha8 : k->alpha16;
    if (metric == RFM_FULL) k->m.p = type == RFM_I8 ? (const void *)k->p8 : k->p16, k->m.shifts = k->shifts;
}

/* The same with sums of absolute differences. z of 8 bits: |u| / 2 is at most 127. */
static void kit_absolute(kit *k) {
    size_t i;
    k->m.absolute = 1;
    if (k->m.type == RFM_I8) k->m.limit = 127;
    for (i = 0; k->m.type == RFM_I8 && k->m.metric == RFM_DIAGONAL && i < D; i++) k->inputs[i].gain = 1;
}

/* ---- blobs ---------------------------------------------------------------------------------- */

enum { AT_BYTES = 12, AT_N = 20, AT_TABLE = 48, AT_NUMBERS = 112 }; /* the first section follows the table */
/* Where the arrays are in it: FORMAT.md. */
static size_t at_inputs(void) { return AT_NUMBERS; }
static size_t at_bias(void) { return at_inputs() + 8 * D; }
static size_t at_offset(void) { return at_bias() + 4 * R; }
static size_t at_units(void) { return at_offset() + 4 * C; }
static size_t at_centers(void) { return at_units() + 4 * C; }
static size_t at_alpha(size_t type) { return at_centers() + N * R * type; }
static size_t at_p(size_t type) { return at_alpha(type) + N * C * type; }
static size_t at_shifts(size_t type) { return at_p(type) + R * D * type; }

static uint32_t get32(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}
static void put(unsigned char *at, uint32_t value, size_t bytes) {
    for (; bytes > 0; bytes--, value >>= 8) *at++ = (unsigned char)value;
}
static void seal(unsigned char *blob) { put(blob + 4, rfm_crc32(0, blob + 8, get32(blob + AT_BYTES) - 8), 4); }

static unsigned char *kit_blob(const kit *k, size_t *size) {
    unsigned char *blob;
    CHECK_INT(RFM_OK, rfm_model_size_i(&k->m, 0, size));
    blob = (unsigned char *)test_take(*size);
    CHECK(blob != NULL);
    CHECK_INT(RFM_OK, rfm_model_write_i(&k->m, NULL, 0, blob, *size));
    return blob;
}

static int open_sealed(unsigned char *blob, size_t size) {
    rfm_model_i model, before;
    int status;
    memset(&model, 0x5a, sizeof model);
    before = model;
    seal(blob);
    status = rfm_model_open_i(blob, size, &model);
    if (status != RFM_OK) CHECK(memcmp(&model, &before, sizeof model) == 0);
    return status;
}

/* With `value` at `at` opening gives this status; the blob stays as it was. */
static void check_patched(const kit *k, size_t at, uint32_t value, size_t bytes, int status) {
    size_t size, mark = test_mark();
    unsigned char *blob = kit_blob(k, &size);
    test_note("at, value:", at, value, bytes);
    put(blob + at, value, bytes);
    CHECK_INT(status, open_sealed(blob, size));
    test_rewind(mark);
}

static void test_blob_round(void) {
    static const int types[] = {RFM_I8, RFM_I16}, metrics[] = {RFM_FULL, RFM_DIAGONAL};
    size_t t, f, size;
    NEED_BLOBS();
    for (t = 0; t < 4; t++)
        for (f = 0; f < 2; f++) {
            kit k;
            rfm_model_i m;
            unsigned char *blob;
            size_t type = (size_t)types[t % 2];
            kit_make(&k, types[t % 2], metrics[f]);
            if (t >= 2) kit_absolute(&k);
            k.m.class_names = "no\0yes", k.m.input_names = "a\0b";
            blob = kit_blob(&k, &size);
            test_note("type, metric:", type, (size_t)metrics[f], 0);
            CHECK_INT(1, blob[8]);
            CHECK_INT(t < 2 ? 1 : 4, blob[10]); /* version 1.1, 1.4 */
            CHECK_INT(metrics[f] + (t < 2 ? 0 : RFM_ABSOLUTE), blob[18]);
            CHECK_SIZE(size, get32(blob + AT_BYTES));
            CHECK_SIZE(8, get32(blob + 44));
            CHECK_INT(RFM_OK, rfm_model_open_i(blob, size, &m));
            CHECK(m.n == N && m.d == D && m.c == C && m.r == R && m.type == types[t % 2] && m.metric == metrics[f] &&
                  m.task == RFM_CLASSIFY);
            CHECK(m.limit == k.m.limit && m.nodes == NODES && m.absolute == (t >= 2));
            CHECK(memcmp(m.inputs, k.inputs, sizeof k.inputs) == 0 &&
                  (const unsigned char *)m.inputs == blob + at_inputs());
            CHECK(memcmp(m.bias, k.bias, sizeof k.bias) == 0 && memcmp(m.offset, k.offset, sizeof k.offset) == 0);
            CHECK(memcmp(m.units, k.units, sizeof k.units) == 0 && memcmp(m.phi, k.phi, sizeof k.phi) == 0);
            CHECK(memcmp(m.centers, k.m.centers, N * R * type) == 0 && memcmp(m.alpha, k.m.alpha, N * C * type) == 0);
            if (metrics[f] == RFM_FULL)
                CHECK(memcmp(m.p, k.m.p, R * D * type) == 0 && memcmp(m.shifts, k.shifts, R) == 0);
            else
                CHECK(m.p == NULL && m.shifts == NULL);
            CHECK(strcmp(rfm_name(m.class_names, 1), "yes") == 0 && strcmp(rfm_name(m.input_names, 1), "b") == 0 &&
                  m.summary == NULL);
            test_reset();
        }
}

/* What is common to all blobs is tested by test_model.c; here, that the two kinds do not take each other's. */
static void test_blob_types(void) {
    kit k;
    rfm_model other;
    size_t size;
    unsigned char *blob;
    NEED_BLOBS();
    kit_make(&k, RFM_I8, RFM_FULL);
    blob = kit_blob(&k, &size);
    CHECK_INT(RFM_ETYPE, rfm_model_open(blob, size, &other));
    blob[16] = RFM_F32;
    CHECK_INT(RFM_ETYPE, open_sealed(blob, size));
    blob[16] = RFM_I8 | RFM_I16;
    CHECK_INT(RFM_ETYPE, open_sealed(blob, size));
    blob[16] = 0;
    CHECK_INT(RFM_ETYPE, open_sealed(blob, size));
    CHECK_INT(RFM_ENULL, rfm_model_open_i(blob, size, NULL));
    CHECK_INT(RFM_ENULL, rfm_model_open_i(NULL, size, &k.m));
}

static void test_blob_lengths(void) {
    static const uint32_t sizes[] = {1, 4, 0x40000000u, 0x80000000u, 0xffffffffu};
    kit k;
    size_t i, j;
    NEED_BLOBS();
    kit_make(&k, RFM_I8, RFM_FULL);
    check_patched(&k, AT_TABLE, 0, 4, RFM_ECONTENT); /* the numbers are somewhere else: in the head */
    check_patched(&k, AT_TABLE, AT_NUMBERS + 4, 4, RFM_ECONTENT);
    check_patched(&k, AT_TABLE + 4, 0, 4, RFM_ECONTENT);  /* not there */
    check_patched(&k, AT_TABLE + 4, 57, 4, RFM_ECONTENT); /* 16 + 8 + 8 + 8 + 6 + 6 + 4 + 2 = 58 */
    check_patched(&k, AT_TABLE + 4, 58, 4, RFM_OK);
    check_patched(&k, AT_TABLE + 4, 59, 4, RFM_ECONTENT);
    check_patched(&k, AT_TABLE + 8 + 4, 0, 4, RFM_ECONTENT); /* no phi */
    check_patched(&k, AT_TABLE + 8 + 4, 1, 4, RFM_ECONTENT); /* half a node */
    check_patched(&k, AT_TABLE + 8 + 4, 2, 4, RFM_OK);       /* one node */
    check_patched(&k, AT_TABLE + 8, 0xfffffff0u, 4, RFM_ECONTENT);
    for (i = 0; i < 4; i++) /* n, d, c, r: products that wrap around, too */
        for (j = 0; j < TEST_LENGTH(sizes); j++) check_patched(&k, AT_N + 4 * i, sizes[j], 4, RFM_ECONTENT);
    kit_make(&k, RFM_I16, RFM_DIAGONAL);
    for (i = 0; i < 4; i++)
        for (j = 0; j < TEST_LENGTH(sizes); j++) check_patched(&k, AT_N + 4 * i, sizes[j], 4, RFM_ECONTENT);
}

static void test_blob_content(void) {
    enum { LOW = 0, HIGH = 2, GAIN = 4, SHIFT = 6 };
    kit k;
    NEED_BLOBS();
    kit_make(&k, RFM_I8, RFM_FULL);
    check_patched(&k, at_inputs() + 8 + LOW, 156, 2, RFM_ECONTENT); /* high is 155 */
    check_patched(&k, at_inputs() + 8 + LOW, 155, 2, RFM_OK);
    k.inputs[1].gain = 0; /* u is 0 whatever the range */
    check_patched(&k, at_inputs() + 8 + LOW, 156, 2, RFM_ECONTENT);
    check_patched(&k, at_inputs() + SHIFT, 32, 1, RFM_ECONTENT);
    check_patched(&k, at_inputs() + SHIFT, 31, 1, RFM_OK);
    check_patched(&k, at_inputs() + GAIN, 33, 2, RFM_ECONTENT); /* 255 * 33 / 2 = 4207 */
    check_patched(&k, at_inputs() + GAIN, 32, 2, RFM_OK);       /* 4080 */
    check_patched(&k, at_shifts(1) + 1, 32, 1, RFM_ECONTENT);
    check_patched(&k, at_shifts(1) + 1, 0x80, 1, RFM_ECONTENT);
    check_patched(&k, at_shifts(1) + 1, 31, 1, RFM_OK);
    /* 2^31 - 32769 - 4095 (3 + 2) = 2147430404 */
    check_patched(&k, at_bias(), 2147430404u, 4, RFM_OK);
    check_patched(&k, at_bias(), 2147430405u, 4, RFM_ECONTENT);
    check_patched(&k, at_bias(), 0u - 2147430404u, 4, RFM_OK);
    check_patched(&k, at_bias(), 0u - 2147430405u, 4, RFM_ECONTENT);
    check_patched(&k, at_bias() + 4, 0x80000000u, 4, RFM_ECONTENT);
    k.bias[1] = 2147430404; /* and its row of P has 1 + 4: as above; with -5 in it too much */
    check_patched(&k, at_p(1) + 3, 4, 1, RFM_OK);
    check_patched(&k, at_p(1) + 3, 0u - 5, 1, RFM_ECONTENT);
    kit_make(&k, RFM_I8, RFM_FULL);
    check_patched(&k, AT_NUMBERS + 64 + 2 * (NODES - 1), 0x8000, 2,
                  RFM_ECONTENT); /* phi: the section behind the 58 bytes */
    check_patched(&k, AT_NUMBERS + 64 + 2 * (NODES - 1), 0x7fff, 2, RFM_OK);
    check_patched(&k, at_units() + 4, 0, 4, RFM_ECONTENT);
    check_patched(&k, at_units() + 4, 1, 4, RFM_OK); /* the smallest float */
    check_patched(&k, at_units() + 4, 0x7f7fffffu, 4, RFM_OK);
    check_patched(&k, at_units() + 4, 0x7f800000u, 4, RFM_ECONTENT);
    check_patched(&k, at_units() + 4, 0x7fc00000u, 4, RFM_ECONTENT);
    check_patched(&k, at_units() + 4, 0xbf800000u, 4, RFM_ECONTENT);
    check_patched(&k, at_units() + 4, 0x80000000u, 4, RFM_ECONTENT);
    /* 2^31 - 32769 - 2^15 (5 + 7 + 9) = 2146762751 */
    check_patched(&k, at_offset(), 2146762751u, 4, RFM_OK);
    check_patched(&k, at_offset(), 2146762752u, 4, RFM_ECONTENT);
    check_patched(&k, at_offset(), 0u - 2146762752u, 4, RFM_ECONTENT);
    k.offset[0] = 2146762751;
    check_patched(&k, at_alpha(1) + 4, 0u - 10, 1, RFM_ECONTENT);
    check_patched(&k, at_alpha(1) + 5, 127, 1, RFM_OK); /* the other output's */

    kit_make(&k, RFM_I16, RFM_FULL);
    check_patched(&k, at_centers() + 2, 16383, 2, RFM_OK); /* r = 2 */
    check_patched(&k, at_centers() + 2, 16384, 2, RFM_ECONTENT);
    check_patched(&k, at_centers() + 2, 0u - 16383, 2, RFM_OK);
    check_patched(&k, at_centers() + 2, 0u - 16384, 2, RFM_ECONTENT);
    /* 2^31 - 32769 - 2^7 (6 + 8 + 10) = 2147447807 */
    check_patched(&k, at_offset() + 4, 2147447807u, 4, RFM_OK);
    check_patched(&k, at_offset() + 4, 2147447808u, 4, RFM_ECONTENT);

    kit_make(&k, RFM_I8, RFM_DIAGONAL);
    kit_absolute(&k);
    check_patched(&k, at_inputs() + GAIN, 2, 2, RFM_ECONTENT); /* 255 * 2 / 2 = 255 > 2 limit = 254 */
    check_patched(&k, at_inputs() + HIGH, 154, 2, RFM_OK);
    check_patched(&k, at_centers() + 2, 127, 1, RFM_OK);
    check_patched(&k, at_centers() + 2, 0u - 127, 1, RFM_OK);
    check_patched(&k, at_centers() + 2, 0u - 128, 1, RFM_ECONTENT);
    check_patched(&k, 18, RFM_DIAGONAL, 1, RFM_OK);               /* then it is the other distance */
    check_patched(&k, 18, RFM_DIAGONAL + 4, 1, RFM_ECONTENT);     /* integers are not on the sphere */
    check_patched(&k, 18, RFM_DIAGONAL + 4 + 8, 1, RFM_ECONTENT); /* nor both */
    check_patched(&k, 18, RFM_DIAGONAL + 16, 1, RFM_ECONTENT);
    check_patched(&k, 18, RFM_FULL + 8, 1, RFM_ECONTENT); /* P is not there */
    check_patched(&k, 18, 8, 1, RFM_ECONTENT);

    kit_make(&k, RFM_I8, RFM_DIAGONAL);
    check_patched(&k, at_inputs() + GAIN, 4, 2, RFM_OK); /* 255 * 4 / 2 = 510 = 2 limit */
    check_patched(&k, at_inputs() + GAIN, 5, 2, RFM_ECONTENT);
    check_patched(&k, at_bias(), 0x7fff7fffu, 4, RFM_OK);
    check_patched(&k, at_bias(), 0x7fff8000u, 4, RFM_ECONTENT);
    check_patched(&k, at_bias(), 0x80000000u, 4, RFM_ECONTENT);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void check_write(const kit *k, int status) {
    size_t size = 4096, i, mark = test_mark();
    unsigned char *blob = (unsigned char *)test_take(1024);
    CHECK(blob != NULL);
    CHECK_INT(status, rfm_model_write_i(&k->m, NULL, 0, blob, 1024));
    for (i = 0; i < 1024; i++) CHECK(blob[i] == 0xff);
    if (status == RFM_ENULL || status == RFM_EZERO || status == RFM_ESHAPE) {
        CHECK_INT(status, rfm_model_size_i(&k->m, 0, &size));
        CHECK_SIZE(4096, size);
    }
    test_rewind(mark);
}

static void test_write_refuses(void) {
    kit k;
    size_t size;
#define REFUSED(change, status)          \
    do {                                 \
        kit_make(&k, RFM_I16, RFM_FULL); \
        change;                          \
        check_write(&k, status);         \
    } while (0)
    REFUSED(k.m.inputs = NULL, RFM_ENULL);
    REFUSED(k.m.p = NULL, RFM_ENULL);
    REFUSED(k.m.bias = NULL, RFM_ENULL);
    REFUSED(k.m.shifts = NULL, RFM_ENULL);
    REFUSED(k.m.centers = NULL, RFM_ENULL);
    REFUSED(k.m.phi = NULL, RFM_ENULL);
    REFUSED(k.m.alpha = NULL, RFM_ENULL);
    REFUSED(k.m.offset = NULL, RFM_ENULL);
    REFUSED(k.m.units = NULL, RFM_ENULL);
    REFUSED(k.m.n = 0, RFM_EZERO);
    REFUSED(k.m.d = 0, RFM_EZERO);
    REFUSED(k.m.c = 0, RFM_EZERO);
    REFUSED(k.m.r = 0, RFM_EZERO);
    REFUSED(k.m.nodes = 0, RFM_EZERO);
    REFUSED((k.m.metric = RFM_DIAGONAL, k.m.p = NULL, k.m.r = 1), RFM_ESHAPE);
    REFUSED(k.m.metric = RFM_DIAGONAL, RFM_EVALUE); /* with a P */
    REFUSED((k.m.metric = RFM_IDENTITY, k.m.p = NULL), RFM_EVALUE);
    REFUSED(k.m.type = RFM_F32, RFM_EVALUE);
    REFUSED(k.m.task = 2, RFM_EVALUE);
    REFUSED(k.m.limit = 16382, RFM_EVALUE);
    REFUSED(k.centers16[0] = 16384, RFM_EVALUE);
    REFUSED(k.shifts[0] = 32, RFM_EVALUE);
    REFUSED(k.bias[1] = 0x7fff7fff, RFM_EVALUE);
    REFUSED(k.offset[1] = -0x7fff7fff, RFM_EVALUE);
    REFUSED(k.units[1] = -1.0f, RFM_EVALUE);
    REFUSED(k.phi[3] = 0x8000, RFM_EVALUE);
    REFUSED(k.inputs[1].shift = 32, RFM_EVALUE);
    REFUSED((k.m.n = (size_t)1 << 31, k.m.r = 2), RFM_EOVERFLOW);
#undef REFUSED
    kit_make(&k, RFM_I8, RFM_FULL);
    CHECK_INT(RFM_ENULL, rfm_model_size_i(NULL, 0, &size));
    CHECK_INT(RFM_ENULL, rfm_model_size_i(&k.m, 0, NULL));
    CHECK_INT(RFM_ENULL, rfm_model_write_i(&k.m, NULL, 0, NULL, 1024));
}

static void test_write_room(void) {
    kit k;
    size_t size, i;
    unsigned char *memory;
    kit_make(&k, RFM_I8, RFM_DIAGONAL);
    CHECK_INT(RFM_OK, rfm_model_size_i(&k.m, 0, &size));
    memory = (unsigned char *)test_take(size + 16);
    CHECK(memory != NULL);
    if (!test_little_endian()) {
        CHECK_INT(RFM_ETYPE, rfm_model_write_i(&k.m, NULL, 0, memory, size));
        return;
    }
    CHECK_INT(RFM_EARENA, rfm_model_write_i(&k.m, NULL, 0, memory, size - 1));
    CHECK_INT(RFM_EALIGN, rfm_model_write_i(&k.m, NULL, 0, memory + 4, size));
    for (i = 0; i < size + 16; i++) CHECK(memory[i] == 0xff);
    CHECK_INT(RFM_OK, rfm_model_write_i(&k.m, NULL, 0, memory, size));
    for (i = size; i < size + 16; i++) CHECK(memory[i] == 0xff);
}

/* ---- prediction ----------------------------------------------------------------------------- */

/* One number in, one out: u = x, z = u - 100, t = (20 - z)^2, T = t + 8. */
static int32_t one_of(size_t nodes, int type, int32_t x, int32_t alpha, rfm_notes_i *notes) {
    const rfm_input_i input = {0, 255, 1, 0, 0};
    const int8_t center8 = 20, alpha8 = (int8_t)alpha;
    const int16_t center16 = 20, alpha16 = (int16_t)alpha;
    const int32_t bias = -100, offset = 7;
    uint16_t phi[40] = {0};
    int16_t scratch[2], in = (int16_t)x;
    int32_t score = 0;
    rfm_model_i m;
    memset(&m, 0, sizeof m);
    phi[0] = 32767, phi[1] = 32000, phi[29] = 1000, phi[30] = 500, phi[38] = 2000, phi[39] = 4000;
    m.n = m.d = m.c = m.r = 1, m.type = type, m.metric = RFM_DIAGONAL, m.limit = 255;
    m.inputs = &input, m.bias = &bias, m.phi = phi, m.nodes = nodes, m.offset = &offset;
    m.centers = type == RFM_I8 ? (const void *)&center8 : &center16;
    m.alpha = type == RFM_I8 ? (const void *)&alpha8 : &alpha16;
    CHECK_INT(RFM_OK, rfm_predict_i(&m, &in, &score, scratch, NULL, notes));
    CHECK_INT(x > 255 ? 155 : x < 0 ? -100 : x - 100, scratch[1]); /* z */
    return score;
}

static int32_t one(int type, int32_t x, int32_t alpha, rfm_notes_i *notes) { return one_of(40, type, x, alpha, notes); }

static void test_predict_one(void) {
    rfm_notes_i notes;
    /* T = 8 = 2^3: node 0. */
    CHECK_INT(7 + 3 * 32767, one(RFM_I8, 120, 3, &notes));
    CHECK_INT(RFM_PHI_ONE, notes.nearest);
    CHECK_INT(0, notes.saturated);
    CHECK_INT(7 - 128 * 32767, one(RFM_I8, 120, -128, NULL));
    /* T = 9 = 2^3 (1 + 1 / 8): node 1. */
    CHECK_INT(7 + 32000, one(RFM_I8, 121, 1, &notes));
    CHECK_INT(32000, notes.nearest);
    /* T = 108 = 2^6 (1 + 5 / 8 + 1 / 16): halfway from node 29 to node 30. */
    CHECK_INT(7 + 3 * 750, one(RFM_I8, 110, 3, &notes));
    CHECK_INT(750, notes.nearest);
    CHECK_INT(7 + 2929, one(RFM_I16, 110, 1000, NULL)); /* 750000 / 256 = 2929.7 */
    CHECK_INT(7 - 2930, one(RFM_I16, 110, -1000, NULL));
    /* T = 233 = 2^7 (1 + 6 / 8 + 9 / 128): from node 38 to node 39, 9 / 16 of the way. */
    CHECK_INT(7 + 3125, one(RFM_I8, 105, 1, NULL));
    CHECK_INT(7, one_of(39, RFM_I8, 105, 1, NULL)); /* behind the last node there is nothing to go to */
    CHECK_INT(7, one_of(1, RFM_I8, 120, 1, NULL));
    CHECK_INT(7 + 32767, one_of(2, RFM_I8, 120, 1, NULL));
    /* T = 264 = 2^8 (1 + 1 / 32): node 40, behind the last. */
    CHECK_INT(7, one(RFM_I8, 104, 100, &notes));
    CHECK_INT(0, notes.nearest);
    /* Outside the range: its end. */
    CHECK_INT(7, one(RFM_I8, 256, 100, &notes));
    CHECK_INT(1, notes.saturated);
    CHECK_INT(7, one(RFM_I8, -1, 100, &notes));
    CHECK_INT(1, notes.saturated);
    CHECK_INT(7, one(RFM_I8, 255, 100, &notes));
    CHECK_INT(0, notes.saturated);
    CHECK_INT(7, one(RFM_I16, 32767, 100, &notes));
    CHECK_INT(1, notes.saturated);
    CHECK_INT(7, one(RFM_I16, -32768, 100, &notes));
    CHECK_INT(1, notes.saturated);
}

/* The scores for values f of phi, (N): offset + the sum of alpha f, in 16 bits each over 256, towards -infinity. */
static void expected(const kit *k, int bytes, const int32_t *f, int32_t *expect) {
    size_t i, j;
    for (j = 0; j < C; j++) {
        expect[j] = k->offset[j];
        for (i = 0; i < N; i++) {
            int32_t product = k->alpha8[i * C + j] * f[i];
            expect[j] += bytes ? product : product >= 0 ? product / 256 : -((-product + 255) / 256);
        }
    }
}

/* x = (0, 155): u = (200, 510); z = ((-200 + 600 - 1020) >> 3, (300 + 200 + 2040) >> 5) = (-78, 79);
 * t = 88^2 + 99^2, 108^2 + 39^2, 28^2 + 19^2 = 17545, 13185, 1145. T = 17553 = 2^14 (1 + 0.071...), 13193 = 2^13 (1 +
 * 0.610...), 1153 = 2^10 (1 + 0.125...): nodes 88, 84, and 57 with 1 / 128 of a step: all behind the last of 40. With
 * 90 nodes: below. */
static void test_predict_full(void) {
    static uint16_t phi[90];
    static const int32_t f[N] = {900 - 58, 1500 - 89, 10000 - 8}; /* the steps below, rounded down */
    const int16_t x[D] = {0, 155};
    int16_t scratch[RFM_PREDICT_I_SCRATCH(D, R)];
    int32_t scores[C];
    size_t t;
    rfm_notes_i notes;
    memset(phi, 0, sizeof phi);
    phi[57] = 10000, phi[58] = 9000; /* 1 + 1 / 8 + 1 / 1024: 1 / 128 of the way, 7.8125 */
    phi[84] = 1500, phi[85] = 1400;  /* 1 + 4 / 8 + 905 / 8192: 905 / 1024, 88.4 */
    phi[88] = 900, phi[89] = 800;    /* 1 + 1169 / 16384: 1169 / 2048, 57.08 */
    for (t = 0; t < 2; t++) {
        kit k;
        int32_t expect[C];
        kit_make(&k, t == 0 ? RFM_I8 : RFM_I16, RFM_FULL);
        k.m.phi = phi, k.m.nodes = 90;
        expected(&k, t == 0, f, expect);
        CHECK_INT(RFM_OK, rfm_predict_i(&k.m, x, scores, scratch, NULL, &notes));
        CHECK_INT(-78, scratch[D]);
        CHECK_INT(79, scratch[D + 1]);
        CHECK_INT(expect[0], scores[0]);
        CHECK_INT(expect[1], scores[1]);
        CHECK_INT(10000 - 8, notes.nearest);
    }
}

/* The same x: t = 88 + 99, 108 + 39, 28 + 19 = 187, 147, 47. T = 195 = 2^7 (1 + 4 / 8 + 3 / 128),
 * 155 = 2^7 (1 + 1 / 8 + 11 / 128), 55 = 2^5 (1 + 5 / 8 + 3 / 32): nodes 36 and 3 / 16, 33 and 11 / 16, 21 and 3 / 4 of
 * a step. phi falls by 700 from node to node. */
static void test_predict_absolute(void) {
    static const int32_t f[N] = {32767 - 700 * 36 - 132, 32767 - 700 * 33 - 482, 32767 - 700 * 21 - 525};
    const int16_t x[D] = {0, 155};
    int16_t scratch[RFM_PREDICT_I_SCRATCH(D, R)];
    int32_t scores[C];
    size_t t;
    rfm_notes_i notes;
    for (t = 0; t < 2; t++) {
        kit k;
        int32_t expect[C];
        kit_make(&k, t == 0 ? RFM_I8 : RFM_I16, RFM_FULL);
        kit_absolute(&k);
        expected(&k, t == 0, f, expect);
        CHECK_INT(RFM_OK, rfm_predict_i(&k.m, x, scores, scratch, NULL, &notes));
        CHECK_INT(expect[0], scores[0]);
        CHECK_INT(expect[1], scores[1]);
        CHECK_INT(f[2], notes.nearest);
    }
}

/* A loop that does not know the model leaves it to the portable code; one that does is believed. */
static int32_t declines(const rfm_model_i *m, int16_t *scratch, int32_t *scores) {
    (void)m, (void)scratch, (void)scores;
    return -1;
}
static int32_t claims(const rfm_model_i *m, int16_t *scratch, int32_t *scores) {
    (void)m;
    scores[0] += scratch[0], scores[1] += scratch[1];
    return 77;
}

static void test_predict_loop(void) {
    const int16_t x[D] = {0, 155};
    int16_t scratch[RFM_PREDICT_I_SCRATCH(D, R)];
    int32_t scores[C], portable[C];
    rfm_notes_i notes;
    kit k;
    kit_make(&k, RFM_I8, RFM_FULL);
    CHECK_INT(RFM_OK, rfm_predict_i(&k.m, x, portable, scratch, NULL, NULL));
    CHECK_INT(RFM_OK, rfm_predict_i(&k.m, x, scores, scratch, declines, NULL));
    CHECK(memcmp(scores, portable, sizeof scores) == 0);
    CHECK_INT(RFM_OK, rfm_predict_i(&k.m, x, scores, scratch, claims, &notes));
    CHECK_INT(11 + 200, scores[0]);
    CHECK_INT(-12 + 510, scores[1]);
    CHECK_INT(77, notes.nearest);
    CHECK_INT(RFM_ENULL, rfm_predict_i(NULL, x, scores, scratch, NULL, NULL));
    CHECK_INT(RFM_ENULL, rfm_predict_i(&k.m, NULL, scores, scratch, NULL, NULL));
    CHECK_INT(RFM_ENULL, rfm_predict_i(&k.m, x, NULL, scratch, NULL, NULL));
    CHECK_INT(RFM_ENULL, rfm_predict_i(&k.m, x, scores, NULL, NULL, NULL));
    CHECK_INT(11 + 200, scores[0]);
}

static void test_class(void) {
    static const int32_t scores[][3] = {{1, 2, 3}, {3, 3, 2}, {-5, -4, -4}, {0, 0, 0}, {INT32_MIN, INT32_MAX, 0}};
    static const size_t classes[] = {2, 0, 1, 0, 1};
    rfm_model_i m;
    int32_t y;
    size_t i;
    memset(&m, 0, sizeof m);
    m.c = 3, m.task = RFM_CLASSIFY;
    for (i = 0; i < TEST_LENGTH(classes); i++) CHECK_SIZE(classes[i], rfm_class_i(&m, scores[i]));
    m.task = RFM_REGRESS;
    CHECK_SIZE(0, rfm_class_i(&m, scores[0]));
    m.c = 1, m.task = RFM_CLASSIFY;
    y = 1;
    CHECK_SIZE(1, rfm_class_i(&m, &y));
    y = 0;
    CHECK_SIZE(0, rfm_class_i(&m, &y));
    y = -1;
    CHECK_SIZE(0, rfm_class_i(&m, &y));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_blob_round);
    RUN_TEST(test_blob_types);
    RUN_TEST(test_blob_lengths);
    RUN_TEST(test_blob_content);
    RUN_TEST(test_write_refuses);
    RUN_TEST(test_write_room);
    RUN_TEST(test_predict_one);
    RUN_TEST(test_predict_full);
    RUN_TEST(test_predict_absolute);
    RUN_TEST(test_predict_loop);
    RUN_TEST(test_class);
    return UNITY_END();
}
