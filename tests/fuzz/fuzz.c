/* See fuzz.h. */
#include "fuzz.h"

#include "../unit/old_models.h"

#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rfm_certify.h"

#if RFM_REAL_BYTES == 4
#define REAL_MAX     FLT_MAX
#define REAL_MIN     FLT_MIN
#define REAL_EPSILON FLT_EPSILON
#else
#define REAL_MAX     DBL_MAX
#define REAL_MIN     DBL_MIN
#define REAL_EPSILON DBL_EPSILON
#endif

void require(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "wrong: %s\n", what);
    abort();
}

unsigned char fuzz_byte(fuzz_input *in) {
    if (in->left == 0) return 0;
    in->left--;
    return *in->at++;
}

size_t fuzz_below(fuzz_input *in, size_t end) {
    size_t value = fuzz_byte(in);

    if (end > 256) value = value << 8 | fuzz_byte(in);
    return value % end;
}

rfm_real fuzz_real(fuzz_input *in, int kind) {
    static const rfm_real edges[] = {0,
                                     1,
                                     -1,
                                     (rfm_real)0.5,
                                     REAL_MIN,
                                     -REAL_MIN,
                                     REAL_MIN / 4,
                                     REAL_MIN * REAL_EPSILON,
                                     REAL_MAX,
                                     -REAL_MAX,
                                     REAL_MAX / 2,
                                     REAL_EPSILON,
                                     (rfm_real)1e20,
                                     (rfm_real)-1e20,
                                     (rfm_real)1e-20,
                                     (rfm_real)1e10,
                                     (rfm_real)1e-10,
                                     (rfm_real)1e15,
                                     (rfm_real)1e38,
                                     (rfm_real)1e-38};
    const unsigned byte = fuzz_byte(in);
    unsigned char raw[sizeof(rfm_real)];
    rfm_real value;
    size_t i;

    if (kind == FUZZ_TAME || byte < 128) return (rfm_real)(((int)byte % 128 - 64) / 16.0);
    if (byte < 192) return edges[byte % (sizeof edges / sizeof edges[0])];
    for (i = 0; i < sizeof raw; i++) raw[i] = fuzz_byte(in);
    memcpy(&value, raw, sizeof value);
    return kind == FUZZ_ANY || rfm_finite(1, &value) ? value : 1;
}

unsigned long fuzz_get32(const unsigned char *at) {
    return (unsigned long)at[0] | (unsigned long)at[1] << 8 | (unsigned long)at[2] << 16 | (unsigned long)at[3] << 24;
}

void fuzz_put32(unsigned char *at, unsigned long value) {
    size_t i;

    for (i = 0; i < 4; i++) at[i] = (unsigned char)(value >> (8 * i));
}

void fuzz_seal(unsigned char *blob, size_t size) {
    uint32_t crc = 0xFFFFFFFFu;
    size_t i;
    const int tiny = size >= FUZZ_TINY_HEADER && fuzz_get32(blob) == FUZZ_TINY;
    int bit;

    if (size < (tiny ? FUZZ_TINY_HEADER : FUZZ_HEADER)) return;
    fuzz_put32(blob + (tiny ? FUZZ_TINY_BYTES : FUZZ_BYTES), (unsigned long)size);
    for (i = FUZZ_COVERED; i < size; i++) {
        crc ^= blob[i];
        for (bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
    }
    fuzz_put32(blob + FUZZ_CRC, ~crc & 0xFFFFFFFFu);
}

void fuzz_use_sealed(const unsigned char *bytes, size_t size, unsigned long magic, size_t head,
                     void (*inside)(unsigned char *, size_t), void (*use)(const unsigned char *, size_t)) {
    static unsigned char sealed[FUZZ_LARGEST];

    use(bytes, size);
    if (size > sizeof sealed) size = sizeof sealed;
    if (size < head) return;
    memcpy(sealed, bytes, size);
    size = size / RFM_ALIGN * RFM_ALIGN; /* a blob's length is a multiple of it */
    if (inside != NULL) inside(sealed, size);
    fuzz_put32(sealed, magic);
    fuzz_put32(sealed + FUZZ_FILE_BYTES, (unsigned long)size);
    fuzz_put32(sealed + FUZZ_CRC, rfm_crc32(0, sealed + FUZZ_COVERED, size - FUZZ_COVERED));
    use(sealed, size);
}

static uint32_t next(uint32_t *x) {
    *x = *x * 1664525u + 1013904223u;
    return *x >> 16;
}

/* Options, a name, an entry that nobody knows. */
static size_t seed_record(unsigned char *record, size_t room) {
    rfm_options options;
    size_t used = 0;

    rfm_options_init(&options);
    require(rfm_record_add_options(record, room, &used, &options) == RFM_OK, "options of a seed");
    require(rfm_record_add(record, room, &used, RFM_RECORD_TARGETS, "year", 5) == RFM_OK, "an entry of a seed");
    require(rfm_record_add(record, room, &used, 299, NULL, 0) == RFM_OK, "an empty entry of a seed");
    return used;
}

/* Tiny models: matrices and prototypes, with and without units, exponents, offset and names. */
static size_t seed_tiny(size_t index, unsigned char *blob) {
    static const struct {
        uint32_t n, d, c, r;
        int prototypes, units, extras;
    } seeds[] = {
        {1, 1, 1, 1, 0, 0, 0}, {2, 3, 2, 1, 1, 0, 1},   {6, 4, 3, 2, 1, 0, 0},
        {3, 2, 2, 2, 0, 1, 1}, {20, 8, 10, 4, 0, 0, 1},
    };
    static const char names[] = "a\0bc\0d\0\0e\0f\0g\0h\0i\0j";
    float units[16];
    int16_t bias[16], offset[16];
    int8_t p[256], centers[256], alpha[256], exponents[16];
    uint8_t counts[16], shifts[16];
    rfm_tiny m;
    size_t size = 0, i;
    uint32_t x = (uint32_t)index + 177;

    if (index >= sizeof seeds / sizeof seeds[0]) return 0;
    memset(&m, 0, sizeof m);
    m.n = seeds[index].n, m.d = seeds[index].d, m.c = seeds[index].c, m.r = seeds[index].r;
    m.task = seeds[index].units ? RFM_REGRESS : RFM_CLASSIFY, m.phi_shift = 14 - (uint32_t)index, m.exponent = -3;
    for (i = 0; i < 16; i++) {
        units[i] = 0.25f, bias[i] = (int16_t)(next(&x) % 300 - 150), offset[i] = (int16_t)(next(&x) - 32768);
        exponents[i] = (int8_t)(next(&x) % 20), shifts[i] = (uint8_t)(next(&x) % 20);
        counts[i] = (uint8_t)(m.n / m.c);
    }
    for (i = 0; i < 256; i++)
        p[i] = (int8_t)(next(&x) - 32768), centers[i] = (int8_t)(next(&x) % 256 - 128), alpha[i] = (int8_t)next(&x);
    m.bias = bias, m.p = p, m.centers = centers, m.alpha = alpha, m.shifts = shifts;
    m.units = seeds[index].units ? units : NULL, m.counts = seeds[index].prototypes ? counts : NULL;
    if (seeds[index].extras) m.exponents = exponents, m.offset = offset, m.class_names = names, m.input_names = names;
    require(rfm_tiny_size(&m, 0, &size) == RFM_OK && size <= FUZZ_LARGEST, "size of a tiny seed");
    require(rfm_tiny_write(&m, NULL, 0, blob, size) == RFM_OK, "a tiny seed is written");
    return size;
}

/* Blobs that the commands of formats 1.0 and 1.1 wrote. */
static size_t seed_old(size_t index, unsigned char *blob) {
#if RFM_REAL_BYTES == 4
    static const unsigned char *const at[] = {f32_full, i8_full, i16_diag};
    static const size_t sizes[] = {sizeof f32_full, sizeof i8_full, sizeof i16_diag};
#else
    static const unsigned char *const at[] = {f64_full, i8_full, i16_diag};
    static const size_t sizes[] = {sizeof f64_full, sizeof i8_full, sizeof i16_diag};
#endif

    if (index >= sizeof sizes / sizeof sizes[0]) return seed_tiny(index - sizeof sizes / sizeof sizes[0], blob);
    memcpy(blob, at[index], sizes[index]);
    return sizes[index];
}

/* Models of integers: both types and metrics, with and without names and a record. */
static size_t seed_i(size_t index, unsigned char *blob) {
    static const struct {
        size_t n, d, c, r, nodes;
        int type, metric, names;
    } seeds[] = {
        {6, 3, 2, 3, 80, RFM_I8, RFM_DIAGONAL + RFM_ABSOLUTE, 1},
        {4, 3, 2, 5, 80, RFM_I16, RFM_FULL + RFM_ABSOLUTE, 0},
        {1, 1, 1, 1, 1, RFM_I8, RFM_DIAGONAL, 0},
        {1, 1, 1, 1, 233, RFM_I16, RFM_FULL, 1},
        {5, 3, 2, 3, 60, RFM_I16, RFM_DIAGONAL, 1},
        {7, 4, 3, 4, 90, RFM_I8, RFM_DIAGONAL, 0},
        {9, 8, 10, 2, 100, RFM_I8, RFM_FULL, 1},
        {30, 6, 2, 5, 150, RFM_I16, RFM_FULL, 0},
    };
    static const char names[] = "a\0bc\0d\0\0e\0f\0g\0h\0i\0j";
    rfm_input_i inputs[16];
    int8_t p8[256], centers8[256], alpha8[256];
    int16_t p16[256], centers16[256], alpha16[256];
    int32_t bias[16], offset[16];
    uint8_t shifts[16];
    uint16_t phi[233];
    float units[16];
    rfm_model_i m;
    unsigned char record[96];
    size_t size = 0, length = 0, i;
    uint32_t x = (uint32_t)index + 77;
    int wide;

    if (index >= sizeof seeds / sizeof seeds[0]) return seed_old(index - sizeof seeds / sizeof seeds[0], blob);
    memset(&m, 0, sizeof m);
    m.n = seeds[index].n, m.d = seeds[index].d, m.c = seeds[index].c, m.r = seeds[index].r,
    m.nodes = seeds[index].nodes;
    m.type = seeds[index].type, m.metric = seeds[index].metric, m.task = RFM_CLASSIFY;
    wide = m.type == RFM_I16;
    m.absolute = m.metric >= RFM_ABSOLUTE, m.metric &= RFM_ABSOLUTE - 1;
    m.limit = wide ? (m.r <= 4 ? 16383 : 8191) : m.absolute ? 127 : 255;
    for (i = 0; i < 16; i++) {
        inputs[i].low = (int16_t) - (int32_t)(next(&x) % 20000), inputs[i].high = (int16_t)(next(&x) % 20000);
        inputs[i].gain = (uint16_t)next(&x), inputs[i].shift = 24,
        inputs[i].exponent = 0; /* u <= 40000 * 65535 / 2^24 < 160 */
        bias[i] = (int32_t)next(&x) - 32768, offset[i] = (int32_t)next(&x) - 32768;
        shifts[i] = (uint8_t)(next(&x) % 10), units[i] = 0.25f;
    }
    for (i = 0; i < 256; i++) {
        p8[i] = (int8_t)(next(&x) % 255 - 127), centers8[i] = (int8_t)(next(&x) % 255 - 127),
        alpha8[i] = (int8_t)(next(&x) % 255 - 127);
        p16[i] = (int16_t)((int32_t)next(&x) - 32768), centers16[i] = (int16_t)(next(&x) % 8000),
        alpha16[i] = (int16_t)((int32_t)next(&x) - 32768);
    }
    for (i = 0; i < 233; i++) phi[i] = (uint16_t)(32767 - 140 * i);
    m.inputs = inputs, m.bias = bias, m.offset = offset, m.units = units, m.phi = phi;
    m.centers = wide ? (const void *)centers16 : centers8, m.alpha = wide ? (const void *)alpha16 : alpha8;
    if (m.metric == RFM_FULL) m.p = wide ? (const void *)p16 : p8, m.shifts = shifts;
    if (seeds[index].names) m.class_names = names, m.input_names = names;
    if (seeds[index].names) length = seed_record(record, sizeof record);
    require(rfm_model_size_i(&m, length, &size) == RFM_OK && size <= FUZZ_LARGEST, "size of a seed of integers");
    require(rfm_model_write_i(&m, record, length, blob, size) == RFM_OK, "a seed of integers is written");
    return size;
}

size_t fuzz_seed(size_t index, unsigned char *blob) {
    static const struct {
        size_t n, d, c, r;
        int kernel, metric, extras, unit_rows;
    } seeds[] = {
        {1, 1, 1, 1, RFM_LAPLACE, RFM_IDENTITY, 0, 0},  {1, 1, 1, 1, RFM_GAUSSIAN, RFM_FULL, 1, 0},
        {2, 2, 2, 2, RFM_GENERAL, RFM_FULL, 1, 0},      {2, 2, 2, 2, RFM_LAPLACE, RFM_DIAGONAL, 1, 0},
        {5, 3, 1, 3, RFM_GENERAL, RFM_IDENTITY, 1, 0},  {5, 3, 1, 2, RFM_GAUSSIAN, RFM_FULL, 0, 0},
        {7, 4, 3, 4, RFM_GAUSSIAN, RFM_DIAGONAL, 1, 0}, {9, 8, 10, 2, RFM_LAPLACE, RFM_FULL, 1, 0},
        {4, 1, 10, 1, RFM_GENERAL, RFM_DIAGONAL, 0, 0}, {40, 6, 2, 6, RFM_LAPLACE, RFM_FULL, 0, 0},
        {5, 3, 2, 2, RFM_NTK, RFM_FULL, 1, 0},          {4, 3, 1, 3, RFM_NNGP, RFM_DIAGONAL, 0, 0},
        {5, 3, 2, 2, RFM_LAPLACE, RFM_FULL, 1, 1},      {4, 2, 1, 2, RFM_NTK, RFM_DIAGONAL, 0, 1},
    };
    static const char names[] = "a\0bc\0d\0\0e\0f\0g\0h\0i\0j"; /* ten of them, one empty */
    rfm_real numbers[600], *at = numbers;
    unsigned char record[96];
    rfm_step path[2];
    rfm_model model;
    rfm_contents parts;
    rfm_summary summary;
    size_t size = 0, i, p;
    uint32_t x = (uint32_t)index + 1;

    if (index >= sizeof seeds / sizeof seeds[0]) return seed_i(index - sizeof seeds / sizeof seeds[0], blob);
    for (i = 0; i < sizeof numbers / sizeof numbers[0]; i++) { /* in (0, 2] */
        x = x * 1664525u + 1013904223u;
        numbers[i] = (rfm_real)((double)((x >> 16) + 1) / 32768.0);
    }
    memset(&model, 0, sizeof model);
    memset(&parts, 0, sizeof parts);
    memset(&summary, 0, sizeof summary);
    memset(path, 0, sizeof path);
    model.n = seeds[index].n, model.d = seeds[index].d, model.c = seeds[index].c, model.r = seeds[index].r;
    model.kernel = seeds[index].kernel, model.metric = seeds[index].metric;
    model.bandwidth = (rfm_real)1.5, model.exponent = (rfm_real)1.25;
    if (rfm_kernels[model.kernel].layers) model.bandwidth = 1, model.exponent = (rfm_real)(1 + index % 8);
    if (seeds[index].unit_rows) model.radius = 1;
    p = model.metric == RFM_FULL ? model.r * model.d : model.d;
    model.shift = at, at += model.d;
    model.p = at, at += p;
    model.centers = at, at += model.n * model.r;
    model.alpha = at, at += model.n * model.c;
    model.offset = at, at += model.c;
    parts.model = &model;
    if (seeds[index].extras) {
        parts.task = RFM_CLASSIFY, parts.temperature = (rfm_real)0.5;
        parts.class_names = names, parts.input_names = names;
        parts.x_mean = at, parts.x_scale = at + model.d, at += 2 * model.d;
        parts.y_mean = at, parts.y_scale = at + model.c, at += 2 * model.c;
        summary.steps = 2, summary.path = path, summary.rows = 100;
        parts.summary = &summary;
        if (index % 2 == 1) parts.record = record, parts.record_bytes = seed_record(record, sizeof record);
    }
    require(at <= numbers + sizeof numbers / sizeof numbers[0], "room for the numbers of a seed");
    require(rfm_model_size(&parts, &size) == RFM_OK && size <= FUZZ_LARGEST, "size of a seed");
    require(rfm_model_write(&parts, blob, size) == RFM_OK, "a seed is written");
    return size;
}

/* Inputs of every kind; the case and the position decide. */
static rfm_real input(const rfm_model *m, size_t which, size_t j) {
    switch (which) {
    case 0: return m->shift[j];
    case 1: return 0;
    case 2: return (rfm_real)(j % 2 ? -1.5 : 0.75);
    case 3: return REAL_MAX;
    case 4: return j % 2 ? REAL_MAX : -REAL_MAX;
    default: return (rfm_real)1e-40;
    }
}

/* Of what can have one: it is finite, and the class is that of the prediction. */
static void use_certificate(const rfm_model *m, const rfm_real *x) {
    rfm_real *room = malloc((RFM_CERTIFY_SCRATCH(m->d, m->r, m->c) + m->c + m->d) * sizeof *room), radius = -1;
    rfm_real *scores, *moves;
    size_t label = 0;
    int status;

    require(room != NULL, "memory");
    scores = room + RFM_CERTIFY_SCRATCH(m->d, m->r, m->c), moves = scores + m->c;
    status = rfm_certify(m, x, scores, room, &label, &radius, moves);
    require(status == RFM_OK || status == RFM_ERANGE || status == RFM_EVALUE, "status of a certificate");
    if (status == RFM_OK) {
        require(rfm_finite(1, &radius) && radius >= 0 && rfm_finite(m->d, moves), "a certificate is finite");
        require(label == rfm_class(m, scores, NULL), "class of a certificate");
    }
    free(room);
}

static void use_model(const rfm_model *m) {
    rfm_real *x = malloc(m->d * sizeof *x), *scores = malloc(m->c * sizeof *scores);
    rfm_real *scratch = malloc(RFM_PREDICT_SCRATCH(m->d, m->r) * sizeof *scratch), novelty, confidence;
    rfm_summary summary;
    rfm_step path[4];
    size_t which, i, classes = m->c == 1 ? 2 : m->c;

    require(x != NULL && scores != NULL && scratch != NULL, "memory");
    for (which = 0; which < 6; which++) {
        int status;

        for (i = 0; i < m->d; i++) x[i] = input(m, which, i);
        novelty = -7, confidence = -1;
        status = rfm_predict_one(m, x, scores, scratch, NULL, &novelty);
        require(status == RFM_OK || status == RFM_ERANGE, "status of a prediction");
        require(novelty >= (rfm_kernels[m->kernel].layers ? -1 : 0) && novelty <= 1, "novelty");
        if (status != RFM_OK) continue;
        require(rfm_finite(m->c, scores), "scores are finite");
        require(rfm_class(m, scores, &confidence) < classes, "class");
        require(confidence >= 0 && confidence <= 1, "confidence");
        use_certificate(m, x);
    }
    for (i = 0; i < classes; i++) require(strlen(rfm_name(m->class_names, i)) < SIZE_MAX, "class names");
    for (i = 0; i < m->d; i++) require(strlen(rfm_name(m->input_names, i)) < SIZE_MAX, "input names");
    if (rfm_model_summary(m, &summary, path, 4) == RFM_OK && summary.x_scale != NULL) {
        volatile rfm_real read;

        for (i = 0; i < m->d; i++) read = summary.x_scale[i];
        (void)read;
    }
    free(x);
    free(scores);
    free(scratch);
}

/* Inputs of every kind for integers. */
static int16_t input_i(const rfm_input_i *in, size_t which, size_t j) {
    switch (which) {
    case 0: return in->low;
    case 1: return in->high;
    case 2: return (int16_t)((in->low + in->high) / 2);
    case 3: return -32768;
    case 4: return 32767;
    default: return j % 2 ? -32768 : 32767;
    }
}

static void use_model_i(const rfm_model_i *m) {
    int16_t *x = malloc(m->d * sizeof *x), *scratch = malloc(RFM_PREDICT_I_SCRATCH(m->d, m->r) * sizeof *scratch);
    int32_t *scores = malloc(m->c * sizeof *scores);
    int64_t *room = malloc(RFM_CERTIFY_I_ROOM(m->r, m->c) * sizeof *room);
    uint16_t *counts = malloc(m->d * sizeof *counts);
    uint32_t square;
    size_t which, i, classes = m->c == 1 ? 2 : m->c, label = 0;
    int status;

    require(x != NULL && scores != NULL && scratch != NULL && room != NULL && counts != NULL, "memory");
    for (which = 0; which < 6; which++) {
        rfm_notes_i notes = {0xffff, 0xffffffffu};

        for (i = 0; i < m->d; i++) x[i] = input_i(&m->inputs[i], which, i);
        require(rfm_predict_i(m, x, scores, scratch, NULL, &notes) == RFM_OK, "status of a prediction in integers");
        require(notes.nearest <= RFM_PHI_ONE && notes.saturated <= m->d, "notes");
        require(which > 2 || notes.saturated == 0, "inside of the range");
        require(rfm_class_i(m, scores) < classes, "class");
        status = rfm_certify_i(m, x, scores, scratch, room, &label, &square, counts);
        require(status == RFM_OK || status == RFM_EVALUE, "status of a certificate in integers");
        if (status == RFM_OK) require(label == rfm_class_i(m, scores), "class of a certificate in integers");
    }
    for (i = 0; i < classes; i++) require(strlen(rfm_name(m->class_names, i)) < SIZE_MAX, "class names");
    for (i = 0; i < m->d; i++) require(strlen(rfm_name(m->input_names, i)) < SIZE_MAX, "input names");
    for (i = 0; i < m->c; i++) require(m->units[i] > 0 && m->units[i] <= FLT_MAX, "units");
    free(x);
    free(scores);
    free(scratch);
    free(room);
    free(counts);
}

static void use_tiny(const rfm_tiny *m) {
    int16_t *x = malloc(m->d * sizeof *x);
    rfm_real *raw = malloc(m->d * sizeof *raw);
    int32_t *scores = malloc(m->c * sizeof *scores);
    int8_t *scratch = malloc(m->r);
    int64_t *room = malloc(RFM_TINY_CERTIFY_ROOM(m->r, m->c) * sizeof *room);
    uint16_t *counts = malloc(m->d * sizeof *counts);
    uint32_t square;
    size_t which, i, classes = m->c == 1 ? 2 : m->c, label = 0;
    int status;

    require(x != NULL && raw != NULL && scores != NULL && scratch != NULL && room != NULL && counts != NULL, "memory");
    for (which = 0; which < 5; which++) {
        uint32_t nearest = 0xffffffffu;

        for (i = 0; i < m->d; i++) {
            x[i] = (int16_t)(which == 0 ? 0 : which == 1 ? -32768 : which == 2 ? 32767 : i % 2 ? -32768 : 32767);
            raw[i] = which == 0 ? REAL_MAX : (rfm_real)(i % 2 ? -1e20 : 3);
        }
        for (i = 0; which == 4 && i < m->d; i++) x[i] = (int16_t)(m->p[i] < 0 ? -32768 : 32767); /* the largest sum */
        require(rfm_tiny_predict(m, x, scores, scratch, &nearest) == RFM_OK, "status of a tiny prediction");
        require(nearest <= RFM_TINY_ONE, "nearest");
        require(rfm_tiny_class(m, scores) < classes, "class");
        status = rfm_tiny_certify(m, x, scores, scratch, room, &label, &square, counts);
        require(status == (m->task == RFM_CLASSIFY ? RFM_OK : RFM_EVALUE), "status of a tiny certificate");
        if (status == RFM_OK) require(label == rfm_tiny_class(m, scores), "class of a tiny certificate");
        require(rfm_tiny_integers(m, raw, x) == RFM_OK, "integers");
    }
    for (i = 0; i < classes; i++) require(strlen(rfm_name(m->class_names, i)) < SIZE_MAX, "class names");
    for (i = 0; i < m->d; i++) require(strlen(rfm_name(m->input_names, i)) < SIZE_MAX, "input names");
    for (i = 0; m->units != NULL && i < m->c; i++) require(m->units[i] > 0 && m->units[i] <= FLT_MAX, "units");
    free(x);
    free(raw);
    free(scores);
    free(scratch);
    free(room);
    free(counts);
}

/* The record of a blob that is right; of one that was refused there may be none. All of its bytes are read. */
static void use_record(const unsigned char *blob, size_t size) {
    size_t bytes = 77, length, tag;
    const unsigned char *record = rfm_record_open(blob, size, &bytes);
    rfm_options options;
    int status;

    if (record == NULL) {
        require(bytes == 77, "no record, no length");
        return;
    }
    require(record >= blob && bytes > 0 && bytes <= size && record + bytes <= blob + size, "place of a record");
    require(rfm_record_right(record, bytes), "a record is a list of entries");
    for (tag = 0; tag < 300; tag++) {
        const unsigned char *at = rfm_record_find(record, bytes, (uint16_t)tag, &length);

        if (at == NULL) continue;
        require(tag > 0 && at >= record + 8 && length <= bytes && at + length <= record + bytes, "place of an entry");
        (void)rfm_crc32(0, at, length);
    }
    status = rfm_record_options(record, bytes, &options);
    require(status == RFM_OK || status == RFM_EVALUE || status == RFM_ECONTENT, "status of the options");
    if (status == RFM_OK) require(rfm_finite(1, &options.bandwidth) && options.bandwidth > 0, "options of a record");
}

int fuzz_use(const unsigned char *bytes, size_t size, size_t shift) {
    unsigned char *block = malloc(size + shift > 0 ? size + shift : 1), *blob;
    rfm_model model, before;
    rfm_model_i model_i, before_i;
    rfm_tiny tiny, before_tiny;
    int status, status_i, status_tiny;

    require(block != NULL && (uintptr_t)block % RFM_ALIGN == 0, "aligned memory");
    blob = block + shift;
    if (size > 0) memcpy(blob, bytes, size);
    memset(&model, 0xA5, sizeof model);
    memset(&model_i, 0xA5, sizeof model_i);
    memset(&tiny, 0xA5, sizeof tiny);
    before = model, before_i = model_i, before_tiny = tiny;
    status = rfm_model_open(blob, size, &model);
    status_i = rfm_model_open_i(blob, size, &model_i);
    if (status == RFM_OK)
        use_model(&model);
    else
        require(memcmp(&model, &before, sizeof model) == 0, "a refusal leaves the model alone");
    if (status_i == RFM_OK)
        use_model_i(&model_i);
    else
        require(memcmp(&model_i, &before_i, sizeof model_i) == 0, "a refusal leaves the model of integers alone");
    status_tiny = rfm_tiny_open(blob, size, &tiny);
    if (status_tiny == RFM_OK)
        use_tiny(&tiny);
    else
        require(memcmp(&tiny, &before_tiny, sizeof tiny) == 0, "a refusal leaves the tiny model alone");
    require(status_tiny != RFM_OK || (status != RFM_OK && status_i != RFM_OK), "no blob is of both kinds");
    use_record(blob, size);
    require(status == RFM_ETYPE || status_i == RFM_ETYPE || status == status_i,
            "the two agree on what they have in common");
    require(size == 0 || memcmp(blob, bytes, size) == 0, "the blob is only read");
    free(block);
    if (size >= 4 && fuzz_get32(bytes) == FUZZ_TINY) return status_tiny;
    return status == RFM_ETYPE ? status_i : status;
}
