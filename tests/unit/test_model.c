/* Models: the blob of rfm/FORMAT.md written, opened in place, refused; prediction of one row; classes, names, summary.
 *
 * Most models here are made by hand, so that they find room on the smallest board; what they shall predict is computed
 * in double from the formula in rfm.h. On a big-endian machine blobs can be neither written nor opened: there the tests
 * that need one say so, and the others run. */
#include "test.h"

#ifdef PRINT_EXAMPLE
#include <stdio.h>
#endif

/* Where things are in a blob. */
enum {
    AT_MAGIC = 0,
    AT_CRC = 4,
    AT_COVERED = 8, /* the checksum is of everything from here on */
    AT_MAJOR = 8,
    AT_MINOR = 10,
    AT_BYTES = 12,
    AT_REAL = 16,
    AT_KERNEL = 17,
    AT_METRIC = 18,
    AT_TASK = 19,
    AT_N = 20,
    AT_D = 24,
    AT_C = 28,
    AT_R = 32,
    AT_EXPONENT = 36,
    AT_TEMPERATURE = 40,
    AT_SECTIONS = 44,
    AT_TABLE = 48
};
enum { SHIFT, P, CENTERS, ALPHA, OFFSET, CLASS_NAMES, INPUT_NAMES, SUMMARY, SECTIONS };
enum { AT_FIRST = AT_TABLE + 8 * SECTIONS };

#if RFM_REAL_BYTES == 4
#define REAL_MAX FLT_MAX
#define REAL_MIN FLT_MIN
#else
#define REAL_MAX DBL_MAX
#define REAL_MIN DBL_MIN
#endif

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

/* ---- bytes ---------------------------------------------------------------------------------- */

static uint32_t get32(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void put32(unsigned char *at, uint32_t value) {
    size_t i;

    for (i = 0; i < 4; i++) at[i] = (unsigned char)(value >> (8 * i));
}

static uint32_t float_bits(double value) {
    const float f = (float)value;
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* The checksum again, bit by bit as the standard has it. */
static void seal(unsigned char *blob, size_t bytes) {
    uint32_t crc = 0xFFFFFFFFu;
    size_t i;
    int bit;

    for (i = AT_COVERED; i < bytes; i++) {
        crc ^= blob[i];
        for (bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    put32(blob + AT_CRC, ~crc);
}

static size_t section_at(const unsigned char *blob, size_t part) { return get32(blob + AT_TABLE + 8 * part); }
static size_t section_bytes(const unsigned char *blob, size_t part) { return get32(blob + AT_TABLE + 8 * part + 4); }

/* Opens what must be refused, or, for RFM_OK, taken; a refusal leaves the model as it was. */
static void check_open(int status, const void *blob, size_t size) {
    rfm_model model, before;

    memset(&model, 0xA5, sizeof model);
    before = model;
    CHECK_INT(status, rfm_model_open(blob, size, &model));
    if (status != RFM_OK) CHECK(memcmp(&model, &before, sizeof model) == 0);
}

/* ---- models by hand ------------------------------------------------------------------------- */

typedef struct {
    size_t n, d, c, r;
    int kernel, metric;
    int standard; /* with means and scales */
    int extras;   /* with names and a summary */
} spec;

static const char class_text[] = "zero\0one\0two\0three\0four\0five\0six\0seven\0eight\0nine";
static const char input_text[] = "u\0velocity\0w\0x";
static const rfm_step steps[] = {{(rfm_real)0.5, (rfm_real)0.25, (rfm_real)2.5, 3},
                                 {(rfm_real)0.375, (rfm_real)0.125, (rfm_real)1.5, 2}};

static rfm_model made; /* what make() makes */
static rfm_contents parts;
static rfm_summary summary;

/* `count` numbers within `spread` of `middle`; NULL if there is no room. */
static rfm_real *numbers(size_t count, uint32_t stream, double spread, double middle) {
    rfm_real *at = test_take(count * sizeof *at);
    size_t i;

    for (i = 0; at != NULL && i < count; i++) at[i] = (rfm_real)(middle + spread * test_number(stream, i, count));
    return at;
}

static int make(const spec *s) {
    const size_t p = s->metric == RFM_FULL ? s->r * s->d : s->d;
    int ok;

    memset(&made, 0, sizeof made);
    memset(&parts, 0, sizeof parts);
    memset(&summary, 0, sizeof summary);
    made.n = s->n, made.d = s->d, made.c = s->c, made.r = s->metric == RFM_FULL ? s->r : s->d;
    made.kernel = s->kernel, made.metric = s->metric;
    made.bandwidth = (rfm_real)1.75, made.exponent = (rfm_real)(s->kernel == RFM_GENERAL ? 1.5
                                                                : s->kernel == RFM_L1    ? 0.75
                                                                                         : 1);
    made.shift = numbers(s->d, 1, 1, 0);
    made.p = s->metric == RFM_IDENTITY ? NULL : numbers(p, 2, 0.5, 0.5);
    made.centers = numbers(s->n * made.r, 3, 1, 0);
    made.alpha = numbers(s->n * s->c, 4, 1, 0);
    made.offset = s->standard ? numbers(s->c, 5, 1, 0) : NULL;
    ok = made.shift != NULL && made.centers != NULL && made.alpha != NULL &&
         (made.p != NULL || s->metric == RFM_IDENTITY) && (made.offset != NULL || !s->standard);
    parts.model = &made;
    if (s->standard) {
        parts.x_mean = numbers(s->d, 6, 3, 0), parts.x_scale = numbers(s->d, 7, 1, 2);
        parts.y_mean = numbers(s->c, 8, 3, 0), parts.y_scale = numbers(s->c, 9, 1, 2);
        ok = ok && parts.x_mean != NULL && parts.x_scale != NULL && parts.y_mean != NULL && parts.y_scale != NULL;
    }
    if (s->extras) {
        parts.task = RFM_CLASSIFY, parts.temperature = (rfm_real)0.5;
        parts.class_names = class_text, parts.input_names = input_text;
        summary.bandwidth = (rfm_real)1.75, summary.ridge = (rfm_real)0.125, summary.validation = (rfm_real)0.875;
        summary.rows = 100, summary.iterations = 4, summary.steps = TEST_LENGTH(steps), summary.path = steps;
        parts.summary = &summary;
    }
    return ok;
}

/* What output k of the model in `w` shall be for raw inputs x; *size is the sum of what is added up. */
static double expect(const rfm_contents *w, const rfm_real *x, size_t k, double *size) {
    const rfm_model *m = w->model;
    double sum = m->offset == NULL ? 0 : (double)m->offset[k], scale = w->y_scale == NULL ? 1 : (double)w->y_scale[k];
    const double mean = w->y_mean == NULL ? 0 : (double)w->y_mean[k];
    size_t i, j, q;

    *size = fabs(sum);
    for (i = 0; i < m->n; i++) {
        double s = 0, t, alpha = (double)m->alpha[i * m->c + k];

        for (q = 0; q < m->r; q++) {
            double z = 0;

            for (j = m->metric == RFM_FULL ? 0 : q; j < (m->metric == RFM_FULL ? m->d : q + 1); j++) {
                double u = (double)x[j];

                if (w->x_mean != NULL) u = (u - (double)w->x_mean[j]) / (double)w->x_scale[j];
                u -= (double)m->shift[j];
                z += u * (m->p == NULL ? 1 : (double)m->p[m->metric == RFM_FULL ? q * m->d + j : q]);
            }
            z -= (double)m->centers[i * m->r + q];
            s += m->kernel == RFM_L1 ? fabs(z) : z * z;
        }
        t = (m->kernel == RFM_L1 ? s : sqrt(s)) / (double)m->bandwidth;
        if (m->kernel == RFM_GAUSSIAN) t = 0.5 * t * t;
        if (m->kernel >= RFM_GENERAL) t = pow(t, (double)m->exponent);
        sum += alpha * exp(-t);
        *size += fabs(alpha);
    }
    *size = *size * scale + fabs(mean);
    return mean + scale * sum;
}

/* A blob of exactly its size; NULL if there is no room. */
static unsigned char *write_blob(size_t *size) {
    unsigned char *blob;

    CHECK_INT(RFM_OK, rfm_model_size(&parts, size));
    blob = test_take(*size);
    if (blob != NULL) CHECK_INT(RFM_OK, rfm_model_write(&parts, blob, *size));
    return blob;
}

/* A small model with everything in it. */
static unsigned char *small_blob(size_t *size) {
    static const spec s = {2, 2, 2, 2, RFM_GENERAL, RFM_FULL, 1, 1};
    unsigned char *blob;

    CHECK(make(&s));
    blob = write_blob(size);
    CHECK(blob != NULL);
    return blob;
}

#define NEEDS_BLOBS() \
    if (!test_little_endian()) TEST_IGNORE_MESSAGE("big-endian: no blobs")

/* ---- there and back ------------------------------------------------------------------------- */

/* predict_one and, where there is room for it, rfm_predict, of raw inputs. 1: rfm_predict too. */
static int check_predictions(const rfm_contents *w, const rfm_model *m, uint32_t stream, double bound) {
    const size_t rows = 3, start = test_mark();
    rfm_mat x = test_mat(rows, m->d, 0, 0), y = test_mat(rows, m->c, 1, 0), scores = test_mat(1, m->c, 0, 0);
    rfm_mat scratch = test_mat(1, RFM_PREDICT_SCRATCH(m->d, m->r), 0, 0);
    size_t i, j, need = 0;
    double size;
    void *memory = NULL;
    rfm_arena arena;
    rfm_ctx ctx;

    memset(&ctx, 0, sizeof ctx);
    ctx.arena = &arena;
    CHECK(x.at != NULL && y.at != NULL && scores.at != NULL && scratch.at != NULL);
    for (i = 0; i < rows; i++)
        for (j = 0; j < m->d; j++) x.at[i * m->d + j] = (rfm_real)(2 * test_number(stream, i, j));
    for (i = 0; i < rows; i++) {
        rfm_real novelty = -1;

        CHECK_INT(RFM_OK, rfm_predict_one(m, x.at + i * m->d, scores.at, scratch.at, NULL, &novelty));
        for (j = 0; j < m->c; j++) {
            const double value = expect(w, x.at + i * m->d, j, &size);

            CHECK_BELOW(fabs((double)scores.at[j] - value), bound * TEST_EPS * size);
        }
        CHECK(novelty > 0 && novelty <= 1);
    }
    test_check_padding(scores);
    test_check_padding(scratch);
    CHECK_INT(RFM_OK, rfm_predict_need(&ctx, m, rows, &need));
    memory = test_take(need);
    if (memory != NULL) {
        CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, need));
        CHECK_INT(RFM_OK, rfm_predict(&ctx, m, rfm_const(x), y));
        for (i = 0; i < rows; i++)
            for (j = 0; j < m->c; j++) {
                const double value = expect(w, x.at + i * m->d, j, &size);

                CHECK_BELOW(fabs((double)y.at[i * y.stride + j] - value), bound * TEST_EPS * size);
            }
        test_check_padding(y);
    }
    test_rewind(start);
    return memory != NULL;
}

static void test_round_trip(void) {
    static const size_t classes[] = {1, 3, 10};
    spec s = {1, 3, 1, 2, 0, 0, 0, 0};
    size_t c, size = 0, done = 0, both = 0;
    unsigned char *blob;
    rfm_contents plain;
    rfm_model m;

    for (s.kernel = RFM_LAPLACE; s.kernel <= RFM_L1; s.kernel++) /* test_sphere.c has the others */
        for (s.metric = RFM_IDENTITY; s.metric <= RFM_FULL; s.metric++)
            for (c = 0; c < TEST_LENGTH(classes); c++)
                for (s.n = 1; s.n <= 7; s.n += 3)
                    for (s.standard = 0; s.standard < 2; s.standard++) {
                        test_reset();
                        test_note("kernel, metric, c", (size_t)s.kernel, (size_t)s.metric, classes[c]);
                        s.c = classes[c], s.extras = (int)(s.n + c) % 2;
                        if (!make(&s)) continue;
                        memset(&plain, 0, sizeof plain); /* the model itself takes and gives standardised numbers */
                        plain.model = &made;
                        check_predictions(&plain, &made, 50, 200);
                        if (!test_little_endian()) continue;
                        blob = write_blob(&size);
                        if (blob == NULL) continue;
                        CHECK_INT(s.kernel == RFM_L1 ? 2 : 0,
                                  blob[AT_MAJOR + 2]); /* the lowest minor version that has it */
                        CHECK_INT(RFM_OK, rfm_model_open(blob, size, &m));
                        CHECK_SIZE(s.n, m.n);
                        CHECK_SIZE(s.d, m.d);
                        CHECK_SIZE(s.c, m.c);
                        CHECK_SIZE(made.r, m.r);
                        CHECK_INT(s.kernel, m.kernel);
                        CHECK_INT(s.metric == RFM_FULL ? RFM_FULL : RFM_DIAGONAL, m.metric);
                        CHECK_INT(s.extras ? RFM_CLASSIFY : RFM_REGRESS, m.task);
                        CHECK(m.temperature == parts.temperature && m.bandwidth == 1 && m.exponent == made.exponent);
                        both += (size_t)check_predictions(&parts, &m, 51, 200);
                        done++;
                    }
    CHECK(!test_little_endian() || done >= (TEST_RAM < 4096 ? 50 : 216));
    CHECK(!test_little_endian() || TEST_RAM < 8192 || both == done);
}

/* A fitted model, its blob, and the blob of the opened blob. */
static void test_fitted(void) {
    rfm_real x[8 * 2], y[8], z[2], scratch[4], score[1], again[1];
    rfm_options options;
    rfm_data data;
    rfm_model model, opened;
    rfm_arena arena;
    rfm_ctx ctx;
    size_t i, need = 0, store = 0, size = 0, second = 0, used, fitted = 0;
    unsigned char *blob, *copy;
    void *memory;
    int kernel, metric;

    memset(&ctx, 0, sizeof ctx);
    ctx.arena = &arena;
    memset(&data, 0, sizeof data);
    for (i = 0; i < 8; i++) {
        x[2 * i] = (rfm_real)test_number(60, i, 0), x[2 * i + 1] = (rfm_real)test_number(60, i, 1);
        y[i] = x[2 * i] * x[2 * i] - x[2 * i + 1];
    }
    data.x = rfm_cview(x, 8, 2), data.y = rfm_cview(y, 8, 1);
    for (kernel = RFM_LAPLACE; kernel <= RFM_L1; kernel++)
        for (metric = RFM_IDENTITY; metric <= RFM_FULL; metric++) {
            /* Eigenpairs on top of this frame take more stack than a board of 8 KB has. */
            if (TEST_RAM < 4096 && kernel == RFM_L1 && metric == RFM_FULL) continue;
            test_reset();
            test_note("kernel, metric", (size_t)kernel, (size_t)metric, 0);
            rfm_options_init(&options);
            options.kernel = kernel, options.metric = metric, options.bandwidth = 2;
            options.exponent = (rfm_real)(kernel == RFM_L1 ? 0.75 : 1.25);
            options.iterations = 1;
            CHECK_INT(RFM_OK, rfm_fit_need(&ctx, &data, &options, &need, &store));
            memory = test_take(need + store);
            if (memory == NULL) continue;
            CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, need + store));
            CHECK_INT(RFM_OK, rfm_fit(&ctx, &data, &options, &arena, &model, NULL));
            used = arena.used;
            memset(&parts, 0, sizeof parts);
            parts.model = &model;
            CHECK_INT(RFM_OK, rfm_model_size(&parts, &size));
            blob = test_take(size);
            if (blob == NULL) continue;
            if (!test_little_endian()) {
                CHECK_INT(RFM_ETYPE, rfm_model_write(&parts, blob, size));
                continue;
            }
            CHECK_INT(RFM_OK, rfm_model_write(&parts, blob, size));
            CHECK_INT(RFM_OK, rfm_model_open(blob, size, &opened));
            for (i = 0; i < 5; i++) {
                double sum, slack;

                z[0] = (rfm_real)(2 * test_number(61, i, 0)), z[1] = (rfm_real)(2 * test_number(61, i, 1));
                CHECK_INT(RFM_OK, rfm_predict(&ctx, &model, rfm_cview(z, 1, 2), rfm_view(score, 1, 1)));
                CHECK_SIZE(used, arena.used);
                CHECK_INT(RFM_OK, rfm_predict_one(&opened, z, again, scratch, NULL, NULL));
                sum = expect(&parts, z, 0, &slack);
                CHECK_BELOW(fabs((double)score[0] - sum), 500 * TEST_EPS * slack);
                CHECK_BELOW(fabs((double)again[0] - sum), 500 * TEST_EPS * slack);
                CHECK_INT(RFM_OK, rfm_predict(&ctx, &opened, rfm_cview(z, 1, 2), rfm_view(score, 1, 1)));
                CHECK_BELOW(fabs((double)score[0] - sum), 500 * TEST_EPS * slack);
            }
            parts.model = &opened; /* nothing is left to fold: the same blob again */
            CHECK_INT(RFM_OK, rfm_model_size(&parts, &second));
            CHECK_SIZE(size, second);
            copy = test_take(size);
            if (copy == NULL) continue;
            CHECK_INT(RFM_OK, rfm_model_write(&parts, copy, size));
            CHECK(memcmp(blob, copy, size) == 0);
            fitted++;
        }
    CHECK(!test_little_endian() || TEST_RAM < 16384 || fitted == 12);
}

/* ---- the bytes ------------------------------------------------------------------------------ */

/* The worked example of rfm/FORMAT.md: what example() writes in a float build on a little-endian machine. To make it
 * anew, compile this file with -DPRINT_EXAMPLE and run it: the program prints the array and does nothing else. */
static const unsigned char example_bytes[] = {
    0x72, 0x66, 0x6d, 0x62, 0xcb, 0x8b, 0xa6, 0xb2, 0x01, 0x00, 0x00, 0x00, 0x20, 0x01, 0x00, 0x00, 0x04, 0x00,
    0x01, 0x01, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0x3f, 0x08, 0x00, 0x00, 0x00, 0x70, 0x00, 0x00, 0x00, 0x04, 0x00,
    0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x90, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00,
    0xa0, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0xb0, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0xc0, 0x00,
    0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0xd0, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0xe0, 0x00, 0x00, 0x00,
    0x34, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x41, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x3e, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x40, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x80, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0xbe,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x6e, 0x6f, 0x00, 0x79, 0x65, 0x73,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x78, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x3e, 0x00, 0x00,
    0x40, 0x3f, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x3f, 0x00, 0x00, 0x00, 0x3e, 0x00, 0x00, 0x00, 0x40, 0x01, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x80, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

static const rfm_real example_numbers[] = {0, (rfm_real)1.5, (rfm_real)0.5, 10, 4, (rfm_real)-0.25, 2};

/* One centre, one input, one output: x = 16 in a metric of its own scale. */
static void example(void) {
    static const rfm_step step = {(rfm_real)0.75, (rfm_real)0.125, 2, 1};

    memset(&made, 0, sizeof made);
    memset(&parts, 0, sizeof parts);
    memset(&summary, 0, sizeof summary);
    made.n = made.d = made.c = made.r = 1;
    made.kernel = RFM_LAPLACE, made.metric = RFM_IDENTITY, made.bandwidth = 2, made.exponent = 1;
    made.shift = example_numbers, made.centers = example_numbers + 1, made.alpha = example_numbers + 2;
    parts.model = &made, parts.task = RFM_CLASSIFY, parts.temperature = (rfm_real)0.5;
    parts.x_mean = example_numbers + 3, parts.x_scale = example_numbers + 4;
    parts.y_mean = example_numbers + 5, parts.y_scale = example_numbers + 6;
    parts.class_names = "no\0yes", parts.input_names = "x";
    summary.bandwidth = 2, summary.ridge = (rfm_real)0.125, summary.validation = (rfm_real)0.75;
    summary.rows = 1, summary.steps = 1, summary.path = &step;
    parts.summary = &summary;
}

static void test_example(void) {
    rfm_real x[1] = {24}, score[1], scratch[2], novelty;
    unsigned char *blob = test_take(sizeof example_bytes), *again = test_take(sizeof example_bytes);
    const int status = RFM_REAL_BYTES == 4 && test_little_endian() ? RFM_OK : RFM_ETYPE;
    size_t size = 0;
    rfm_model m;

    CHECK(blob != NULL && again != NULL);
    memcpy(blob, example_bytes, sizeof example_bytes);
    check_open(status, blob, sizeof example_bytes);
    blob[sizeof example_bytes - 1] ^= 1; /* the checksum comes before the type */
    check_open(RFM_ECHECKSUM, blob, sizeof example_bytes);
    blob[sizeof example_bytes - 1] ^= 1;
    example();
    CHECK_INT(RFM_OK, rfm_model_size(&parts, &size));
    if (!test_little_endian()) CHECK_INT(RFM_ETYPE, rfm_model_write(&parts, again, size));
    if (status != RFM_OK) return;
    CHECK_SIZE(sizeof example_bytes, size);
    CHECK_INT(RFM_OK, rfm_model_write(&parts, again, size));
    CHECK(memcmp(blob, again, size) == 0);
    CHECK_INT(RFM_OK, rfm_model_open(blob, size, &m));
    CHECK_INT(RFM_OK, rfm_predict_one(&m, x, score, scratch, NULL, &novelty));
    CHECK_BELOW(fabs((double)novelty - exp(-1)), 2 * TEST_EPS);
    CHECK_BELOW(fabs((double)score[0] - (exp(-1) - 0.25)), 2 * TEST_EPS);
    CHECK_SIZE(1, rfm_class(&m, score, NULL));
    TEST_ASSERT_EQUAL_STRING("yes", rfm_name(m.class_names, 1));
    TEST_ASSERT_EQUAL_STRING("x", rfm_name(m.input_names, 0));
}

static size_t text_length(const char *text, size_t strings) { return (size_t)(rfm_name(text, strings) - text); }

/* As long as promised; exactly the size succeeds, one byte less is refused and nothing is written. */
static void test_size(void) {
    spec s = {1, 3, 1, 2, RFM_LAPLACE, 0, 0, 0};
    size_t size = 0, bytes, i, mark;
    unsigned char *blob;

    for (s.n = 1; s.n <= 5; s.n++)
        for (s.metric = RFM_IDENTITY; s.metric <= RFM_FULL; s.metric++)
            for (s.extras = 0; s.extras < 2; s.extras++) {
                test_reset();
                test_note("n, metric, extras", s.n, (size_t)s.metric, (size_t)s.extras);
                s.c = 1 + s.n % 4, s.standard = (int)(s.n % 2);
                CHECK(make(&s));
                CHECK_INT(RFM_OK, rfm_model_size(&parts, &size));
                bytes = (s.d + s.d * (s.metric == RFM_FULL ? s.r : 1) + s.n * (made.r + s.c) + s.c) * sizeof(rfm_real);
                if (s.extras)
                    bytes += text_length(class_text, s.c == 1 ? 2 : s.c) + text_length(input_text, s.d) + 32 + 2 * 16 +
                             (s.standard ? s.d * sizeof(rfm_real) : 0) + 3 * 15;
                CHECK(size >= bytes - (s.extras ? 45 : 0) && size <= bytes + 256);
                mark = test_mark();
                blob = test_take(size);
                CHECK(blob != NULL);
                if (!test_little_endian()) {
                    CHECK_INT(RFM_ETYPE, rfm_model_write(&parts, blob, size));
                    continue;
                }
                CHECK_INT(RFM_EARENA, rfm_model_write(&parts, blob, size - 1));
                CHECK_INT(RFM_EARENA, rfm_model_write(&parts, blob, 0));
                for (i = 0; i < size; i++) CHECK(blob[i] == 0xFF);
                CHECK_INT(RFM_OK, rfm_model_write(&parts, blob, size));
                CHECK_SIZE(size, get32(blob + AT_BYTES));
                for (i = 0; i < SECTIONS; i++) {
                    CHECK(section_at(blob, i) % RFM_ALIGN == 0);
                    CHECK(section_at(blob, i) + section_bytes(blob, i) <= size);
                }
                test_rewind(mark);
                blob = test_take(size + 16); /* more is as good, and stays as it is */
                CHECK(blob != NULL);
                CHECK_INT(RFM_OK, rfm_model_write(&parts, blob, size + 16));
                for (i = size; i < size + 16; i++) CHECK(blob[i] == 0xFF);
                check_open(RFM_OK, blob, size + 16);
            }
}

static void check_write(int status, unsigned char *blob, size_t size) {
    size_t i;

    CHECK_INT(status, rfm_model_write(&parts, blob, size));
    for (i = 0; i < size; i++) CHECK(blob[i] == 0xFF);
}

static void test_write_refusals(void) {
    static const spec s = {2, 2, 2, 2, RFM_GENERAL, RFM_FULL, 1, 1};
    const rfm_real bad[] = {0, -1, (rfm_real)NAN, (rfm_real)INFINITY, -(rfm_real)INFINITY};
    const rfm_real *kept;
    rfm_real *changed;
    size_t size = 0, i, part;
    unsigned char *blob;

    NEEDS_BLOBS();
    CHECK(make(&s));
    CHECK_INT(RFM_OK, rfm_model_size(&parts, &size));
    blob = test_take(size + 16);
    changed = test_take(4 * sizeof *changed);
    CHECK(blob != NULL && changed != NULL);
    CHECK_INT(RFM_ENULL, rfm_model_size(NULL, &size));
    CHECK_INT(RFM_ENULL, rfm_model_size(&parts, NULL));
    CHECK_INT(RFM_ENULL, rfm_model_write(NULL, blob, size));
    CHECK_INT(RFM_ENULL, rfm_model_write(&parts, NULL, size));
    parts.model = NULL;
    check_write(RFM_ENULL, blob, size);
    parts.model = &made;
    for (i = 1; i < 16; i++) CHECK_INT(RFM_EALIGN, rfm_model_write(&parts, blob + i, size));

    kept = parts.x_mean, parts.x_mean = NULL;
    check_write(RFM_ENULL, blob, size);
    parts.x_mean = kept, kept = parts.x_scale, parts.x_scale = NULL;
    CHECK_INT(RFM_ENULL, rfm_model_write(&parts, blob, size));
    parts.x_scale = kept, kept = parts.y_mean, parts.y_mean = NULL;
    check_write(RFM_ENULL, blob, size);
    parts.y_mean = kept, kept = parts.y_scale, parts.y_scale = NULL;
    check_write(RFM_ENULL, blob, size);
    parts.y_scale = kept;

    for (i = 0; i < TEST_LENGTH(bad); i++)
        for (part = 0; part < 4; part++) {
            const rfm_real **which = part == 0   ? &parts.x_scale
                                     : part == 1 ? &parts.y_scale
                                     : part == 2 ? &parts.x_mean
                                                 : &parts.y_mean;

            test_note("scale", i, part, 0);
            if (part >= 2 && i < 2) continue;
            kept = *which, *which = changed;
            changed[0] = kept[0], changed[1] = bad[i];
            check_write(RFM_EVALUE, blob, size);
            *which = kept;
        }
    parts.task = 2;
    check_write(RFM_EVALUE, blob, size);
    parts.task = -1;
    check_write(RFM_EVALUE, blob, size);
    parts.task = RFM_CLASSIFY;
    /* What open() would not take is not written. */
    for (i = 1; i < TEST_LENGTH(bad); i++) {
        test_note("temperature", i, 0, 0);
        parts.temperature = bad[i];
        check_write(RFM_EVALUE, blob, size);
    }
    parts.temperature = REAL_MAX;
    test_note("temperature", 99, 0, 0);
    check_write(RFM_EVALUE, blob, size);
    parts.temperature = 1;
    for (i = 0; i < TEST_LENGTH(bad); i++) {
        test_note("exponent", i, 0, 0);
        made.exponent = bad[i];
        check_write(RFM_EVALUE, blob, size);
    }
    made.exponent = (rfm_real)2.5;
    check_write(RFM_EVALUE, blob, size);
    made.exponent = (rfm_real)1.5;
    test_note("model", 0, 0, 0);
    made.kernel = 3;
    check_write(RFM_EVALUE, blob, size);
    made.kernel = RFM_GENERAL, made.n = 0;
    check_write(RFM_EZERO, blob, size);
    made.n = 2, made.bandwidth = 0;
    check_write(RFM_EVALUE, blob, size);
    made.bandwidth = 1;

    /* Numbers that are not finite, or not any more when they are folded: no model is left in the memory. */
    for (part = 0; part < 3; part++)
        for (i = 2; i <= TEST_LENGTH(bad); i++) {
            const rfm_real **which = part == 0 ? &made.alpha : part == 1 ? &made.centers : &made.p;
            int status;

            test_note("not finite", i, part, 0);
            kept = *which, *which = changed;
            memcpy(changed, kept, 4 * sizeof *changed);
            changed[3] = i < TEST_LENGTH(bad) ? bad[i] : REAL_MAX;
            made.bandwidth = i < TEST_LENGTH(bad) ? 1 : (rfm_real)0.001;
            if (part == 0 && i == TEST_LENGTH(bad)) changed[2] = REAL_MAX, changed[3] = REAL_MAX;
            status = rfm_model_write(&parts, blob, size);
            CHECK_INT(i == TEST_LENGTH(bad) ? RFM_ERANGE : RFM_EFINITE, status);
            check_open(RFM_EMAGIC, blob, size);
            *which = kept;
        }
    made.bandwidth = 1;
    CHECK_INT(RFM_OK, rfm_model_write(&parts, blob, size));

    /* Sizes that cannot be: nothing but sizes is read. */
    parts.class_names = NULL;
    made.n = 0x20000000u;
    CHECK_INT(RFM_EOVERFLOW, rfm_model_size(&parts, &size));
    CHECK_INT(RFM_EOVERFLOW, rfm_model_write(&parts, blob, SIZE_MAX));
    made.n = SIZE_MAX / 2;
    CHECK_INT(RFM_EOVERFLOW, rfm_model_size(&parts, &size));
    made.n = 2, made.c = SIZE_MAX;
    CHECK_INT(RFM_EOVERFLOW, rfm_model_size(&parts, &size));
}

/* ---- opening -------------------------------------------------------------------------------- */

static int lies_in(const void *at, const unsigned char *blob, size_t size) {
    const unsigned char *byte = at;

    return byte >= blob && byte < blob + size;
}

static void test_in_place(void) {
    size_t size = 0, shift, i;
    unsigned char *blob, *copy;
    rfm_model m;

    NEEDS_BLOBS();
    blob = small_blob(&size);
    copy = test_take(size + 64);
    CHECK(copy != NULL);
    for (shift = 0; shift < 64; shift++) {
        test_note("shift", shift, 0, 0);
        memset(copy, 0xFF, size + 64);
        memcpy(copy + shift, blob, size);
        check_open(shift % RFM_ALIGN == 0 ? RFM_OK : RFM_EALIGN, copy + shift, size);
        if (shift % RFM_ALIGN != 0) continue;
        CHECK_INT(RFM_OK, rfm_model_open(copy + shift, size, &m));
        CHECK(lies_in(m.shift, copy + shift, size) && lies_in(m.p, copy + shift, size));
        CHECK(lies_in(m.centers, copy + shift, size) && lies_in(m.alpha, copy + shift, size));
        CHECK(lies_in(m.offset, copy + shift, size) && lies_in(m.class_names, copy + shift, size));
        CHECK(lies_in(m.input_names, copy + shift, size) && lies_in(m.summary, copy + shift, size));
        CHECK(memcmp(copy + shift, blob, size) == 0);
        for (i = 0; i + shift < 64; i++) check_open(RFM_OK, copy + shift, size + i);
    }
    CHECK_INT(RFM_ENULL, rfm_model_open(NULL, size, &m));
    CHECK_INT(RFM_ENULL, rfm_model_open(blob, size, NULL));
}

static void test_truncated(void) {
    size_t size = 0, length, mark;
    unsigned char *blob, *cut;

    NEEDS_BLOBS();
    blob = small_blob(&size);
    mark = test_mark();
    for (length = 0; length < size; length++) { /* in memory that ends there */
        test_note("length", length, size, 0);
        test_rewind(mark);
        cut = test_take(length);
        CHECK(cut != NULL);
        memcpy(cut, blob, length);
        check_open(RFM_ETRUNCATED, cut, length);
        if (length < AT_TABLE) continue;
        put32(cut + AT_BYTES, (uint32_t)length); /* and with a header that says so, */
        check_open(length < AT_FIRST ? RFM_ETRUNCATED : RFM_ECHECKSUM, cut, length);
        seal(cut, length); /* even with the checksum of that; but the last section has padding to lose */
        check_open(length < AT_FIRST                                                   ? RFM_ETRUNCATED
                   : length < section_at(blob, SUMMARY) + section_bytes(blob, SUMMARY) ? RFM_ECONTENT
                                                                                       : RFM_OK,
                   cut, length);
    }
}

static void test_bit_flips(void) {
    size_t size = 0, i;
    int bit;
    unsigned char *blob;

    NEEDS_BLOBS();
    blob = small_blob(&size);
    for (i = 0; i < size; i++)
        for (bit = 0; bit < 8; bit++) {
            int status = RFM_ECHECKSUM;

            test_note("byte, bit", i, (size_t)bit, 0);
            blob[i] ^= (unsigned char)(1 << bit);
            if (i < AT_CRC)
                status = RFM_EMAGIC;
            else if (i < AT_COVERED)
                status = RFM_ECHECKSUM;
            else if (i < AT_MINOR)
                status = RFM_EVERSION;
            else if (i < AT_BYTES)
                status = RFM_ECHECKSUM;
            else if (i < AT_BYTES + 4)
                status =
                    get32(blob + AT_BYTES) > size || get32(blob + AT_BYTES) < AT_FIRST ? RFM_ETRUNCATED : RFM_ECHECKSUM;
            check_open(status, blob, size);
            blob[i] ^= (unsigned char)(1 << bit);
        }
    check_open(RFM_OK, blob, size);
}

static void test_version(void) {
    size_t size = 0, i;
    unsigned char *blob;

    NEEDS_BLOBS();
    blob = small_blob(&size);
    for (i = 0; i < 3; i++) {
        blob[AT_MAJOR] = (unsigned char)(i == 0 ? 0 : i == 1 ? 2 : 1);
        blob[AT_MAJOR + 1] = (unsigned char)(i == 2 ? 1 : 0);
        seal(blob, size);
        check_open(RFM_EVERSION, blob, size);
    }
    blob[AT_MAJOR] = 1, blob[AT_MAJOR + 1] = 0;
    put32(blob + AT_MAGIC, 0x6672666Du); /* the bytes turned round */
    check_open(RFM_EMAGIC, blob, size);
}

/* What a newer minor version may look like: more sections, of a kind nobody knows here. */
static void test_newer_minor(void) {
    size_t size = 0, longer, i;
    unsigned char *blob, *newer;
    rfm_model m;

    NEEDS_BLOBS();
    blob = small_blob(&size);
    longer = size + 16 + 16;
    newer = test_take(longer);
    CHECK(newer != NULL);
    memset(newer, 0, longer);
    memcpy(newer, blob, AT_FIRST);
    memcpy(newer + AT_FIRST + 16, blob + AT_FIRST, size - AT_FIRST);
    memset(newer + size + 16, 0xEE, 16);
    for (i = 0; i < SECTIONS; i++) put32(newer + AT_TABLE + 8 * i, (uint32_t)section_at(blob, i) + 16);
    put32(newer + AT_FIRST, (uint32_t)size + 16);
    put32(newer + AT_FIRST + 4, 16);
    put32(newer + AT_SECTIONS, SECTIONS + 1);
    put32(newer + AT_BYTES, (uint32_t)longer);
    newer[AT_MINOR] = 7;
    seal(newer, longer);
    CHECK_INT(RFM_OK, rfm_model_open(newer, longer, &m));
    check_predictions(&parts, &m, 52, 200);
    TEST_ASSERT_EQUAL_STRING("one", rfm_name(m.class_names, 1));
    newer[AT_MINOR + 1] = 255;
    seal(newer, longer);
    check_open(RFM_OK, newer, longer);
}

/* ---- lies: everything below has the right checksum ------------------------------------------ */

static unsigned char *lie; /* a copy that is changed, and its original */
static const unsigned char *truth;
static size_t truth_size;

static void lie_start(void) {
    truth = small_blob(&truth_size);
    lie = test_take(truth_size);
    CHECK(lie != NULL);
    memcpy(lie, truth, truth_size);
    seal(lie, truth_size);
    CHECK(memcmp(lie, truth, truth_size) == 0);
}

static void lie_check(int status) {
    seal(lie, truth_size);
    check_open(status, lie, truth_size);
    memcpy(lie, truth, truth_size);
}

static void lie32(int status, size_t at, uint32_t value) {
    put32(lie + at, value);
    lie_check(status);
}

static void test_lies_in_header(void) {
    static const size_t sizes[] = {AT_N, AT_D, AT_C, AT_R};
    /* Of two: products of these wrap to the right number of elements, or of bytes, in 32 bits. */
    static const uint32_t values[] = {0, 1, 3, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000002, 0x40000002, 0x20000002, 0x10000002};
    static const unsigned char bytes[][2] = {
        {AT_KERNEL, RFM_KERNELS}, {AT_KERNEL, 255},           {AT_METRIC, 0},
        {AT_METRIC, 3},           {AT_METRIC, 255},           {AT_TASK, 2},
        {AT_TASK, 255},           {AT_METRIC, RFM_UNIT_ROWS}, {AT_METRIC, RFM_UNIT_ROWS + RFM_FULL}, /* no radius */
        {AT_METRIC, RFM_DIAGONAL} /* P has too many numbers */
    };
    const double exponents[] = {0, -0.0, -1, 2.001, 1e30, -1e-30, (double)NAN, (double)INFINITY, -(double)INFINITY};
    const double temperatures[] = {-1, -1e-30, (double)NAN, (double)INFINITY, -(double)INFINITY};
    size_t i, j;

    NEEDS_BLOBS();
    lie_start();
    for (i = 0; i < TEST_LENGTH(sizes); i++)
        for (j = 0; j < TEST_LENGTH(values); j++) {
            test_note("size", i, j, 0);
            lie32(RFM_ECONTENT, sizes[i], values[j]);
        }
    for (j = 5; j < TEST_LENGTH(values); j++) { /* all four at once */
        test_note("sizes", j, 0, 0);
        for (i = 0; i < TEST_LENGTH(sizes); i++) put32(lie + sizes[i], values[j]);
        lie_check(RFM_ECONTENT);
    }
    for (i = 0; i < TEST_LENGTH(bytes); i++) {
        test_note("byte", i, 0, 0);
        lie[bytes[i][0]] = bytes[i][1];
        lie_check(RFM_ECONTENT);
    }
    for (i = 0; i < 256; i++) {
        test_note("number type", i, 0, 0);
        lie[AT_REAL] = (unsigned char)i;
        lie_check(i == RFM_REAL_BYTES ? RFM_OK : RFM_ETYPE);
    }
    for (i = 0; i < TEST_LENGTH(exponents); i++) {
        test_note("exponent", i, 0, 0);
        lie32(RFM_ECONTENT, AT_EXPONENT, float_bits(exponents[i]));
    }
    for (i = 0; i < TEST_LENGTH(temperatures); i++) {
        test_note("temperature", i, 0, 0);
        lie32(RFM_ECONTENT, AT_TEMPERATURE, float_bits(temperatures[i]));
    }
    lie32(RFM_OK, AT_EXPONENT, float_bits(2));
    for (i = 0; i < 3; i++) { /* of RFM_L1 at most 1 */
        test_note("exponent of l1", i, 0, 0);
        lie[AT_KERNEL] = RFM_L1;
        lie32(i == 0 ? RFM_OK : RFM_ECONTENT, AT_EXPONENT, float_bits(i == 0 ? 1 : i == 1 ? 1.0001 : 2));
    }
    lie32(RFM_OK, AT_TEMPERATURE, float_bits(0));
    test_note("number of sections", 0, 0, 0);
    lie32(RFM_ECONTENT, AT_SECTIONS, 0);
    lie32(RFM_ECONTENT, AT_SECTIONS, SECTIONS - 1);
    lie32(RFM_ECONTENT, AT_SECTIONS, (uint32_t)(truth_size - AT_TABLE) / 8 + 1);
    lie32(RFM_ECONTENT, AT_SECTIONS, 0x20000008);
    lie32(RFM_ECONTENT, AT_SECTIONS, 0xFFFFFFFF);
}

static void test_lies_in_table(void) {
    size_t part, i, at;

    NEEDS_BLOBS();
    lie_start();
    for (part = 0; part < SECTIONS; part++) {
        const uint32_t offset = (uint32_t)section_at(truth, part), bytes = (uint32_t)section_bytes(truth, part);
        const uint32_t end = (uint32_t)truth_size;

        test_note("section", part, 0, 0);
        at = AT_TABLE + 8 * part;
        for (i = 1; i < 16; i++) lie32(RFM_ECONTENT, at, offset + (uint32_t)i);
        lie32(RFM_ECONTENT, at, end);
        lie32(RFM_ECONTENT, at, (end + 15) / 16 * 16);
        lie32(RFM_ECONTENT, at, end + 16);
        lie32(RFM_ECONTENT, at, 0x80000000);
        lie32(RFM_ECONTENT, at, 0xFFFFFFF0);
        lie32(RFM_ECONTENT, at, 0u - (bytes + 15) / 16 * 16); /* ends at 2^32 */
        for (i = 1; i < 9; i++) {
            test_note("section, bytes", part, i, 0);
            lie32(RFM_ECONTENT, at + 4, bytes - (uint32_t)i);
            lie32(RFM_ECONTENT, at + 4, bytes + (uint32_t)i);
        }
        lie32(RFM_ECONTENT, at + 4, end - offset + 1);
        lie32(RFM_ECONTENT, at + 4, 0xFFFFFFFF);
        lie32(RFM_ECONTENT, at + 4, 0x80000000 + bytes);
        lie32(RFM_ECONTENT, at + 4, 0u - offset);
        test_note("section of no bytes", part, 0, 0);
        lie32(part <= OFFSET ? RFM_ECONTENT : RFM_OK, at + 4, 0); /* names and summary may be missing */
    }
}

static void test_lies_in_numbers(void) {
    const rfm_real bad[] = {(rfm_real)NAN, (rfm_real)INFINITY, -(rfm_real)INFINITY};
    const rfm_real good[] = {REAL_MAX, -REAL_MAX, REAL_MIN / 2, 0};
    size_t part, i, j;

    NEEDS_BLOBS();
    lie_start();
    for (part = SHIFT; part <= OFFSET; part++)
        for (i = 0; i < section_bytes(truth, part) / sizeof(rfm_real); i++) {
            test_note("section, number", part, i, 0);
            for (j = 0; j < TEST_LENGTH(bad); j++) {
                memcpy(lie + section_at(truth, part) + i * sizeof(rfm_real), &bad[j], sizeof(rfm_real));
                lie_check(RFM_ECONTENT);
            }
            for (j = 0; j < TEST_LENGTH(good); j++) {
                memcpy(lie + section_at(truth, part) + i * sizeof(rfm_real), &good[j], sizeof(rfm_real));
                lie_check(RFM_OK);
            }
        }
}

static void test_lies_in_names(void) {
    size_t part, i;

    NEEDS_BLOBS();
    lie_start();
    for (part = CLASS_NAMES; part <= INPUT_NAMES; part++)
        for (i = 0; i < section_bytes(truth, part); i++) {
            unsigned char *byte = lie + section_at(truth, part) + i;

            test_note("section, byte", part, i, 0);
            *byte = *byte == 0 ? 'x' : 0; /* one string less, or one more */
            lie_check(RFM_ECONTENT);
            if (*byte == 0) continue;
            *byte = 0xFF; /* any other character will do */
            lie_check(RFM_OK);
        }
}

static void test_lies_in_summary(void) {
    size_t at;

    NEEDS_BLOBS();
    lie_start();
    at = section_at(truth, SUMMARY);
    lie32(RFM_ECONTENT, at + 20, TEST_LENGTH(steps) - 1); /* steps */
    lie32(RFM_ECONTENT, at + 20, TEST_LENGTH(steps) + 1);
    lie32(RFM_ECONTENT, at + 20, TEST_LENGTH(steps) + 0x10000000u);
    lie32(RFM_ECONTENT, at + 20, 0xFFFFFFFF);
    lie32(RFM_ECONTENT, at + 24, 0); /* scales */
    lie32(RFM_ECONTENT, at + 24, 1);
    lie32(RFM_ECONTENT, at + 24, 3);
    lie32(RFM_ECONTENT, at + 24, 0x40000002);
    lie32(RFM_ECONTENT, at + 24, 0xFFFFFFFF);
    put32(lie + AT_TABLE + 8 * SUMMARY + 4, 16); /* too short for what is always there */
    lie_check(RFM_ECONTENT);
    put32(lie + AT_TABLE + 8 * SUMMARY + 4, 32); /* just that, and it says so */
    put32(lie + at + 20, 0);
    put32(lie + at + 24, 0);
    lie_check(RFM_OK);
}

/* ---- one row -------------------------------------------------------------------------------- */

static void test_predict_one_arguments(void) {
    static const spec s = {3, 3, 2, 2, RFM_LAPLACE, RFM_FULL, 1, 0};
    const rfm_real bad[] = {(rfm_real)NAN, (rfm_real)INFINITY, -(rfm_real)INFINITY};
    rfm_mat x = test_mat(1, 3, 0, 0), scores = test_mat(1, 2, 0, 0),
            scratch = test_mat(1, RFM_PREDICT_SCRATCH(3, 2), 0, 0);
    rfm_real novelty = 7;
    size_t i, j, k;

    CHECK(make(&s) && x.at != NULL && scores.at != NULL && scratch.at != NULL);
    for (i = 0; i < 3; i++) x.at[i] = (rfm_real)(0.5 * (double)i);
    CHECK_INT(RFM_ENULL, rfm_predict_one(NULL, x.at, scores.at, scratch.at, NULL, &novelty));
    CHECK_INT(RFM_ENULL, rfm_predict_one(&made, NULL, scores.at, scratch.at, NULL, &novelty));
    CHECK_INT(RFM_ENULL, rfm_predict_one(&made, x.at, NULL, scratch.at, NULL, &novelty));
    CHECK_INT(RFM_ENULL, rfm_predict_one(&made, x.at, scores.at, NULL, NULL, &novelty));
    for (i = 0; i < TEST_LENGTH(bad); i++)
        for (j = 0; j < 3; j++) {
            const rfm_real kept = x.at[j];

            test_note("input", i, j, 0);
            x.at[j] = bad[i];
            CHECK_INT(RFM_EFINITE, rfm_predict_one(&made, x.at, scores.at, scratch.at, NULL, &novelty));
            for (k = 0; k < 2; k++) CHECK(scores.at[k] != scores.at[k]); /* as it was */
            CHECK(novelty == 7);
            x.at[j] = kept;
        }
    CHECK_INT(RFM_OK, rfm_predict_one(&made, x.at, scores.at, scratch.at, NULL, NULL));
    CHECK(scores.at[0] == scores.at[0] && scores.at[1] == scores.at[1]);
    test_check_padding(x);
    test_check_padding(scores);
    test_check_padding(scratch);
}

static rfm_real plugged(const rfm_model *m, rfm_real *scratch, rfm_real *scores) {
    size_t k;

    for (k = 0; k < m->r; k++) scratch[m->d + k] = 2 * scratch[k];
    for (k = 0; k < m->c; k++) scores[k] += scratch[m->d];
    return (rfm_real)0.25;
}

static rfm_real declined(const rfm_model *m, rfm_real *scratch, rfm_real *scores) {
    (void)m, (void)scratch, (void)scores;
    return -1;
}

/* A loop gets x - shift, and scores that hold the offset; if it declines, the portable code does the work. */
static void test_plug_in(void) {
    static const spec s = {2, 2, 2, 2, RFM_LAPLACE, RFM_DIAGONAL, 1, 0};
    const rfm_real x[2] = {1, 2};
    rfm_real scores[2], again[2], scratch[4], novelty = 0, other = 0;
    size_t k;

    CHECK(make(&s));
    CHECK_INT(RFM_OK, rfm_predict_one(&made, x, scores, scratch, plugged, &novelty));
    CHECK(novelty == (rfm_real)0.25);
    for (k = 0; k < 2; k++) CHECK(scores[k] == made.offset[k] + 2 * (x[0] - made.shift[0]));
    CHECK_INT(RFM_OK, rfm_predict_one(&made, x, scores, scratch, declined, &novelty));
    CHECK_INT(RFM_OK, rfm_predict_one(&made, x, again, scratch, NULL, &other));
    CHECK(novelty == other && memcmp(scores, again, sizeof scores) == 0);
}

static void test_novelty(void) {
    spec s = {1, 2, 1, 2, 0, RFM_IDENTITY, 0, 0};
    rfm_real x[2], score[1], scratch[4], novelty, last;
    double distance;

    for (s.kernel = RFM_LAPLACE; s.kernel <= RFM_L1; s.kernel++) {
        test_reset();
        test_note("kernel", (size_t)s.kernel, 0, 0);
        CHECK(make(&s));
        last = 1;
        for (distance = 0; distance < 1e5; distance = distance * 1.5 + 0.5) {
            x[0] = made.shift[0] + made.centers[0] + (rfm_real)distance;
            x[1] = made.shift[1] + made.centers[1];
            CHECK_INT(RFM_OK, rfm_predict_one(&made, x, score, scratch, NULL, &novelty));
            if (distance > 0)
                CHECK(novelty < last || (last == 0 && novelty == 0));
            else
                CHECK_BELOW(1 - (double)novelty, 4 * TEST_EPS);
            CHECK(novelty >= 0 && novelty <= 1);
            last = novelty;
        }
        CHECK(last == 0);
    }
}

/* Inputs at the end of the number type's range: far from everything, never near by mistake. */
static void test_far(void) {
    spec s = {3, 2, 1, 2, 0, 0, 0, 0};
    const rfm_real far[] = {REAL_MAX, REAL_MAX / 4, (rfm_real)sqrt((double)REAL_MAX),
                            (rfm_real)(2 * sqrt((double)REAL_MAX)), (rfm_real)1e18};
    rfm_real x[2], score[1], scratch[4], novelty;
    size_t i, j;

    for (s.kernel = RFM_LAPLACE; s.kernel <= RFM_L1; s.kernel++)
        for (s.metric = RFM_IDENTITY; s.metric <= RFM_FULL; s.metric++) {
            test_reset();
            CHECK(make(&s));
            for (i = 0; i < TEST_LENGTH(far); i++)
                for (j = 0; j < 4; j++) {
                    test_note("kernel, metric, input", (size_t)s.kernel, (size_t)s.metric, i * 10 + j);
                    x[0] = j & 1 ? -far[i] : far[i], x[1] = j & 2 ? 0 : far[i];
                    if (s.metric == RFM_FULL) x[1] = x[0]; /* P's elements are positive: nothing cancels */
                    novelty = 7;
                    CHECK_INT(RFM_OK, rfm_predict_one(&made, x, score, scratch, NULL, &novelty));
                    CHECK(novelty == 0 && score[0] == 0);
                }
        }
}

static void test_overflow(void) {
    const rfm_real numbers_of[] = {0, 0, REAL_MAX, REAL_MAX, 1, -1, -REAL_MAX};
    rfm_real x[2] = {0, 0}, score[1], scratch[3], novelty;
    rfm_model m;

    memset(&m, 0, sizeof m);
    m.n = 2, m.d = m.c = m.r = 1, m.bandwidth = 1, m.exponent = 1;
    m.shift = numbers_of, m.centers = numbers_of, m.alpha = numbers_of + 2; /* max + max at 0 */
    CHECK_INT(RFM_ERANGE, rfm_predict_one(&m, x, score, scratch, NULL, &novelty));
    CHECK(novelty == 1);
    x[0] = 4;
    CHECK_INT(RFM_OK, rfm_predict_one(&m, x, score, scratch, NULL, &novelty));
    m.n = 1, m.offset = numbers_of + 2;
    x[0] = 0;
    CHECK_INT(RFM_ERANGE, rfm_predict_one(&m, x, score, scratch, NULL, NULL));
    /* Infinity minus infinity in the projection: there is no distance, and no score. */
    m.offset = NULL;
    m.d = 2, m.metric = RFM_FULL, m.p = numbers_of + 4, m.alpha = numbers_of + 4;
    x[0] = x[1] = REAL_MAX;
    CHECK_INT(RFM_OK, rfm_predict_one(&m, x, score, scratch, NULL, NULL));
    m.shift = numbers_of + 5; /* -1, -max */
    CHECK_INT(RFM_OK, rfm_predict_one(&m, x, score, scratch, NULL, &novelty));
    CHECK(novelty == 0);
    {
        rfm_real low[2] = {-REAL_MAX, -REAL_MAX};

        m.shift = low;
        CHECK_INT(RFM_ERANGE, rfm_predict_one(&m, x, score, scratch, NULL, NULL));
    }
}

/* ---- classes -------------------------------------------------------------------------------- */

static void test_class(void) {
    static const rfm_real scores[][4] = {{1, 2, 3, 0}, {3, 3, 1, 3},   {-5, -4, -4, -9},
                                         {0, 0, 0, 0}, {-1, 90, 2, 3}, {0, 0, 1, 1}};
    static const size_t classes[] = {2, 0, 1, 0, 1, 2};
    static const double temperatures[] = {1, 0.5, 0.1, 3, 100};
    rfm_real f, p = 7;
    rfm_model m;
    size_t i, k, t;

    memset(&m, 0, sizeof m);
    m.task = RFM_CLASSIFY, m.c = 4;
    for (i = 0; i < TEST_LENGTH(scores); i++) {
        test_note("scores", i, 0, 0);
        m.temperature = 0;
        CHECK_SIZE(classes[i], rfm_class(&m, scores[i], NULL));
        CHECK_SIZE(classes[i], rfm_class(&m, scores[i], &p));
        CHECK(p == 0);
        for (t = 0; t < TEST_LENGTH(temperatures); t++) {
            double sum = 0;

            m.temperature = (rfm_real)temperatures[t];
            CHECK_SIZE(classes[i], rfm_class(&m, scores[i], &p));
            for (k = 0; k < 4; k++)
                sum += exp(((double)scores[i][k] - (double)scores[i][classes[i]]) / (double)m.temperature);
            CHECK_BELOW(fabs((double)p - 1 / sum), 20 * TEST_EPS);
        }
    }
    m.c = 1; /* one score f stands for f and -f */
    for (f = -8; f <= 8; f += (rfm_real)0.5)
        for (t = 0; t < TEST_LENGTH(temperatures); t++) {
            test_note("one score", t, 0, 0);
            m.temperature = (rfm_real)temperatures[t];
            CHECK_SIZE(f > 0, rfm_class(&m, &f, &p));
            CHECK_BELOW(fabs((double)p - 1 / (1 + exp(-2 * fabs((double)f) / (double)m.temperature))), 20 * TEST_EPS);
        }
    /* The ends of the range. */
    m.temperature = REAL_MIN / 4;
    f = 0;
    CHECK_SIZE(0, rfm_class(&m, &f, &p));
    CHECK(p == (rfm_real)0.5);
    f = REAL_MAX;
    CHECK_SIZE(1, rfm_class(&m, &f, &p));
    CHECK(p == 1);
    m.c = 4;
    CHECK_SIZE(1, rfm_class(&m, scores[4], &p));
    CHECK(p == 1);
    CHECK_SIZE(0, rfm_class(&m, scores[3], &p));
    CHECK(p == (rfm_real)0.25);
    m.task = RFM_REGRESS;
    CHECK_SIZE(0, rfm_class(&m, scores[0], &p));
    CHECK(p == 0);
}

static void test_names(void) {
    static const char *const expected[] = {"zero", "one", "two",   "three", "four",
                                           "five", "six", "seven", "eight", "nine"};
    spec s = {1, 4, 10, 4, RFM_LAPLACE, RFM_DIAGONAL, 0, 1};
    unsigned char *blob;
    size_t size = 0, i;
    rfm_model m;

    TEST_ASSERT_EQUAL_STRING("", rfm_name(NULL, 0));
    TEST_ASSERT_EQUAL_STRING("", rfm_name(NULL, 5));
    for (i = 0; i < 10; i++) TEST_ASSERT_EQUAL_STRING(expected[i], rfm_name(class_text, i));
    NEEDS_BLOBS();
    for (s.c = 1; s.c <= 10; s.c++) {
        test_reset();
        CHECK(make(&s));
        blob = write_blob(&size);
        CHECK(blob != NULL);
        CHECK_INT(RFM_OK, rfm_model_open(blob, size, &m));
        for (i = 0; i < (s.c == 1 ? 2 : s.c); i++) TEST_ASSERT_EQUAL_STRING(expected[i], rfm_name(m.class_names, i));
        TEST_ASSERT_EQUAL_STRING("u", rfm_name(m.input_names, 0));
        TEST_ASSERT_EQUAL_STRING("velocity", rfm_name(m.input_names, 1));
        TEST_ASSERT_EQUAL_STRING("x", rfm_name(m.input_names, 3));
        parts.class_names = NULL; /* one of the two */
        blob = write_blob(&size);
        if (blob == NULL) continue;
        CHECK_INT(RFM_OK, rfm_model_open(blob, size, &m));
        CHECK(m.class_names == NULL);
        TEST_ASSERT_EQUAL_STRING("velocity", rfm_name(m.input_names, 1));
    }
}

static void test_summary(void) {
    spec s = {1, 3, 2, 3, RFM_GAUSSIAN, RFM_DIAGONAL, 0, 1};
    unsigned char *blob;
    rfm_summary got;
    rfm_step path[3];
    rfm_model m;
    size_t size = 0, room, i;

    NEEDS_BLOBS();
    for (s.standard = 0; s.standard < 2; s.standard++) {
        test_reset();
        CHECK(make(&s));
        blob = write_blob(&size);
        CHECK(blob != NULL);
        CHECK_INT(RFM_OK, rfm_model_open(blob, size, &m));
        for (room = 0; room <= 3; room++) {
            memset(&got, 0xA5, sizeof got);
            memset(path, 0xFF, sizeof path);
            CHECK_INT(RFM_OK, rfm_model_summary(&m, &got, path, room));
            CHECK(got.bandwidth == summary.bandwidth && got.ridge == summary.ridge &&
                  got.validation == summary.validation);
            CHECK_SIZE(summary.rows, got.rows);
            CHECK_SIZE(summary.iterations, got.iterations);
            CHECK_SIZE(summary.steps, got.steps);
            CHECK(got.path == NULL);
            for (i = 0; i < 3; i++)
                if (i < room && i < TEST_LENGTH(steps)) {
                    CHECK(path[i].score == steps[i].score && path[i].ridge == steps[i].ridge);
                    CHECK(path[i].bandwidth == steps[i].bandwidth && path[i].rank == steps[i].rank);
                } else
                    CHECK_SIZE(0xFFFFFFFF, path[i].rank);
            if (s.standard) {
                CHECK(lies_in(got.x_scale, blob, size));
                for (i = 0; i < s.d; i++) CHECK(got.x_scale[i] == parts.x_scale[i]);
            } else
                CHECK(got.x_scale == NULL);
        }
        CHECK_INT(RFM_OK, rfm_model_summary(&m, &got, NULL, 5));
        CHECK_INT(RFM_ENULL, rfm_model_summary(NULL, &got, path, 3));
        CHECK_INT(RFM_ENULL, rfm_model_summary(&m, NULL, path, 3));
    }
    summary.path = NULL; /* no path, whatever its length is said to be */
    blob = write_blob(&size);
    CHECK(blob != NULL);
    CHECK_INT(RFM_OK, rfm_model_open(blob, size, &m));
    CHECK_INT(RFM_OK, rfm_model_summary(&m, &got, path, 3));
    CHECK_SIZE(0, got.steps);
    for (i = 0; i < s.d; i++) CHECK(got.x_scale[i] == parts.x_scale[i]);
    parts.summary = NULL;
    blob = write_blob(&size);
    CHECK(blob != NULL);
    CHECK_INT(RFM_OK, rfm_model_open(blob, size, &m));
    CHECK(m.summary == NULL);
    CHECK_INT(RFM_EVALUE, rfm_model_summary(&m, &got, path, 3));
}

/* ---- exp, sqrt, log: through a model with one centre at 0 and one coefficient 1 ------------- */

#if TEST_RAM < (4ul << 20)
#define SWEEP 1000
#elif TEST_RAM < (16ul << 20) || defined(TEST_QUICK)
#define SWEEP 10000
#else
#define SWEEP 100000
#endif

static const rfm_real zeros_and_one[] = {0, 0, 1};

static void one_centre(rfm_model *m, size_t d, int kernel) {
    memset(m, 0, sizeof *m);
    m->n = m->c = 1, m->d = m->r = d, m->kernel = kernel, m->bandwidth = 1, m->exponent = 1;
    m->shift = m->centers = zeros_and_one, m->alpha = zeros_and_one + 2;
}

static double phi_at(const rfm_model *m, double a, double b) {
    rfm_real x[2], score[1], scratch[4], novelty;

    x[0] = (rfm_real)a, x[1] = (rfm_real)b;
    CHECK_INT(RFM_OK, rfm_predict_one(m, x, score, scratch, NULL, &novelty));
    CHECK(score[0] == novelty);
    return (double)score[0];
}

/* Distance of a number from the truth in units of its last place. */
static double ulps(double value, double truth_value) {
    int exponent;

    frexp(truth_value, &exponent);
    return fabs(value - truth_value) / ldexp(TEST_EPS, exponent - 1);
}

/* The root of a square is exact, so Laplace of one input is exp alone. */
static void test_exp(void) {
    rfm_model m;
    double worst = 0, x, u;
    size_t i;

    one_centre(&m, 1, RFM_LAPLACE);
    CHECK(phi_at(&m, 0, 0) == 1);
    for (i = 0; i < SWEEP; i++) {
        x = (double)(rfm_real)(87.0 * ((double)i + 0.5) / SWEEP);
        u = ulps(phi_at(&m, x, 0), exp(-x));
        if (!(u <= worst)) worst = u;
        x = (double)(rfm_real)exp(-30.0 * ((double)i + 0.5) / SWEEP); /* small ones too */
        u = ulps(phi_at(&m, -x, 0), exp(-x));
        if (!(u <= worst)) worst = u;
    }
    CHECK_BELOW(worst, 2.5);
    if (RFM_REAL_BYTES == 4)
        for (x = 87; x < 1e38; x *= 1.37) CHECK(phi_at(&m, x, 0) == 0);
    /* The Gaussian, whose argument is rounded twice at most. */
    one_centre(&m, 1, RFM_GAUSSIAN);
    for (i = 0; i < SWEEP / 10; i++) {
        x = (double)(rfm_real)(13.1 * ((double)i + 0.5) / (SWEEP / 10));
        CHECK_BELOW(fabs(phi_at(&m, x, 0) / exp(-0.5 * x * x) - 1), (2.5 + 0.5 * x * x) * TEST_EPS);
    }
}

/* At a distance of 16 and more an error of one unit in the root would be 16 and more of them in phi. */
static void test_sqrt(void) {
    rfm_model m;
    double worst = 0, u;
    size_t i;

    one_centre(&m, 2, RFM_LAPLACE);
    for (i = 0; i < SWEEP; i++) {
        const rfm_real a = (rfm_real)(60 * test_number(70, i, 0)), b = (rfm_real)(60 * test_number(70, i, 1));
        volatile rfm_real aa = a * a, bb = b * b, s2;

        s2 = aa + bb;
        u = ulps(phi_at(&m, (double)a, (double)b), exp(-(double)(rfm_real)sqrt((double)s2)));
        if (!(u <= worst)) worst = u;
    }
    CHECK_BELOW(worst, 2.5);
    /* Small roots, magnified: the length is on the coefficient's scale. */
    CHECK(phi_at(&m, 1e-30, 0) == 1);
    CHECK(phi_at(&m, (double)REAL_MIN, 0) == 1);
}

static void test_power(void) {
    static const double exponents[] = {0.25, 0.5, 0.75, 1, 1.25, 1.5, 2};
    rfm_model m;
    size_t i, q;

    one_centre(&m, 1, RFM_GENERAL);
    for (q = 0; q < TEST_LENGTH(exponents); q++) {
        m.exponent = (rfm_real)exponents[q];
        CHECK(phi_at(&m, 0, 0) == 1);
        for (i = 0; i < SWEEP / 5; i++) {
            /* From 1e-9 to where phi vanishes. */
            const double top = pow(80.0, 1 / exponents[q]);
            const double x = (double)(rfm_real)(top * pow(1e-9 / top, ((double)i + 0.5) / (SWEEP / 5)));
            const double t = exponents[q] * log(x), power = exp(t);
            const double off_log = exponents[q] * TEST_EPS * fmax(1, fabs(log(x))); /* 1.2e-7 in float */
            const double off = off_log + 0.5 * TEST_EPS * fabs(t) + 3.5 * TEST_EPS;

            test_note("exponent, step", q, i, 0);
            CHECK_BELOW(fabs(phi_at(&m, x, 0) / exp(-power) - 1), power * off * 1.01 + 2.5 * TEST_EPS);
        }
    }
}

/* Rows whose s^2 overflows, but not their numbers: phi is right, or it is said that it is not known. */
static void test_far_power(void) {
    static const double exponents[] = {0.01, 0.05, 0.126, 0.2, 0.3, 1, 2};
    static const double bandwidths[] = {1, 1e3, 1e12};
    const double root = sqrt((double)REAL_MAX),
                 fars[] = {1, 0.5 * root, 1.01 * root, 30 * root, 0.5 * (double)REAL_MAX};
    rfm_model m;
    size_t i, j, q;

    for (q = 0; q < TEST_LENGTH(exponents); q++)
        for (j = 0; j < TEST_LENGTH(bandwidths); j++)
            for (i = 0; i < TEST_LENGTH(fars); i++) {
                const double right = exp(-pow(fars[i] / bandwidths[j], exponents[q]));
                rfm_real x = (rfm_real)fars[i], score = 0, scratch[RFM_PREDICT_SCRATCH(1, 1)];
                int status;

                test_note("exponent, L, row", q, j, i);
                one_centre(&m, 1, RFM_GENERAL);
                m.exponent = (rfm_real)exponents[q], m.bandwidth = (rfm_real)bandwidths[j];
                status = rfm_predict_one(&m, &x, &score, scratch, NULL, NULL);
                CHECK(status == RFM_OK || (status == RFM_ERANGE && exponents[q] < 0.28 && i > 0));
                if (status == RFM_OK) CHECK_BELOW(fabs((double)score - right), 1e-6);
            }
}

#ifdef PRINT_EXAMPLE
int main(void) {
    unsigned char *blob;
    size_t size = 0, i;

    test_reset();
    example();
    blob = write_blob(&size);
    for (i = 0; i < size; i++) printf("0x%02x,%s", blob[i], i % 16 == 15 ? "\n" : " ");
    return 0;
}
#else
int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_round_trip);
    RUN_TEST(test_fitted);
    RUN_TEST(test_example);
    RUN_TEST(test_size);
    RUN_TEST(test_write_refusals);
    RUN_TEST(test_in_place);
    RUN_TEST(test_truncated);
    RUN_TEST(test_bit_flips);
    RUN_TEST(test_version);
    RUN_TEST(test_newer_minor);
    RUN_TEST(test_lies_in_header);
    RUN_TEST(test_lies_in_table);
    RUN_TEST(test_lies_in_numbers);
    RUN_TEST(test_lies_in_names);
    RUN_TEST(test_lies_in_summary);
    RUN_TEST(test_predict_one_arguments);
    RUN_TEST(test_plug_in);
    RUN_TEST(test_novelty);
    RUN_TEST(test_far);
    RUN_TEST(test_overflow);
    RUN_TEST(test_class);
    RUN_TEST(test_names);
    RUN_TEST(test_summary);
    RUN_TEST(test_exp);
    RUN_TEST(test_sqrt);
    RUN_TEST(test_power);
    RUN_TEST(test_far_power);
    return UNITY_END();
}
#endif
