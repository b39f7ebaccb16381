/* Makes the models of this test, and what comes out of them: models FOLDER
 *
 * Writes FOLDER/NAME.rfm for each, and FOLDER/check.c, which checks all headers FOLDER/NAME.h by check.h. Integers are
 * those of boards/predict, whose results a reference computed. The results of tiny models are computed here, in 64
 * bits, by the definitions in rfm_tiny.h, and compared with the library's; those of floats are the library's, and so
 * are all certificates. Prints a line for each: its name, and --certify if it has certificates. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rfm_certify.h"
#include "rfm_tiny.h"

#include "models.h"
#include "models_i.h"

#include "inputs.h"

#define MOST 4096

enum { USUAL, LARGEST };
enum { MATRIX, EQUAL, UNEVEN, EMPTY }; /* EQUAL ...: prototypes */

typedef struct {
    const char *name;
    uint32_t n, d, c, r, s;
    int task, classes, kind;
    int offset, each, same_shifts, positive;
} spec;

#define REGRESS  RFM_REGRESS
#define CLASSIFY RFM_CLASSIFY
static const spec specs[] = {
    /*               n    d   c    r   s                              offset, each, same shifts, positive */
    {"tiny_one", 1, 1, 1, 1, 0, CLASSIFY, MATRIX, USUAL, 0, 0, 1, 0},
    {"tiny_two", 2, 2, 2, 2, 3, CLASSIFY, EQUAL, USUAL, 0, 0, 0, 0},
    {"tiny_column", 5, 1, 3, 4, 10, CLASSIFY, UNEVEN, USUAL, 1, 1, 0, 0},
    {"tiny_column_3", 5, 1, 2, 3, 9, CLASSIFY, MATRIX, USUAL, 1, 0, 0, 0},
    {"tiny_direction", 6, 9, 2, 1, 11, CLASSIFY, EQUAL, USUAL, 0, 1, 1, 1},
    {"tiny_gesture", 10, 40, 10, 4, 11, CLASSIFY, EQUAL, USUAL, 0, 0, 0, 1},
    {"tiny_digits", 30, 64, 10, 8, 10, CLASSIFY, EQUAL, USUAL, 0, 0, 0, 0},
    {"tiny_three", 15, 9, 5, 8, 12, CLASSIFY, EQUAL, USUAL, 1, 0, 0, 0},
    {"tiny_uneven", 31, 7, 5, 5, 12, CLASSIFY, UNEVEN, USUAL, 0, 1, 0, 0},
    {"tiny_empty", 9, 5, 6, 6, 13, CLASSIFY, EMPTY, USUAL, 0, 0, 1, 0},
    {"tiny_empty_offset", 9, 3, 6, 7, 12, CLASSIFY, EMPTY, USUAL, 1, 0, 0, 1},
    {"tiny_many", 300, 6, 290, 2, 9, CLASSIFY, UNEVEN, USUAL, 0, 0, 0, 0},
    {"tiny_matrix", 17, 10, 4, 3, 10, CLASSIFY, MATRIX, USUAL, 1, 0, 0, 0},
    {"tiny_signs", 8, 17, 1, 9, 14, CLASSIFY, MATRIX, USUAL, 1, 1, 0, 0},
    {"tiny_values", 20, 11, 3, 10, 13, REGRESS, MATRIX, USUAL, 1, 0, 0, 0},
    {"tiny_value", 12, 13, 1, 12, 12, REGRESS, MATRIX, USUAL, 0, 1, 0, 1},
    {"tiny_tall", 4, 3, 3, 255, 14, CLASSIFY, UNEVEN, USUAL, 0, 0, 0, 0},
    {"tiny_wide", 4, 300, 3, 2, 8, CLASSIFY, MATRIX, USUAL, 0, 0, 0, 0},
    {"tiny_steep", 40, 15, 4, 3, 5, CLASSIFY, EQUAL, USUAL, 0, 0, 0, 0},
    {"tiny_steepest", 40, 16, 4, 2, 1, CLASSIFY, EQUAL, USUAL, 0, 0, 0, 0},
    {"tiny_six", 24, 12, 4, 4, 6, CLASSIFY, EQUAL, USUAL, 0, 0, 0, 0},
    {"tiny_largest", 255, 512, 2, 4, 14, CLASSIFY, UNEVEN, LARGEST, 1, 0, 0, 0},
    {"tiny_largest_odd", 60, 511, 2, 5, 14, CLASSIFY, MATRIX, LARGEST, 1, 0, 0, 0},
};
#define SPECS (sizeof specs / sizeof specs[0])

static uint32_t state = 2463534242u;

static int64_t between(int64_t low, int64_t high) {
    return low + (int64_t)((uint64_t)next_bits(&state) % (uint64_t)(high - low + 1));
}

static void fail(const char *what, const char *why) {
    fprintf(stderr, "models: %s: %s\n", what, why);
    exit(1);
}

/* The largest integer that is not above a / 2^e. */
static int64_t shifted(int64_t a, uint32_t e) {
    int64_t b = (int64_t)1 << e;
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

/* ---- files ---------------------------------------------------------------------------------- */

static const char *folder;
static FILE *check;

static FILE *create(const char *name, const char *end) {
    char path[1024];
    FILE *f;
    if (snprintf(path, sizeof path, "%s/%s%s", folder, name, end) >= (int)sizeof path) fail(name, "too long");
    f = fopen(path, "wb");
    if (f == NULL) fail(path, "cannot be written");
    return f;
}

static void put_blob(const char *name, const void *blob, size_t bytes) {
    FILE *f = create(name, ".rfm");
    if (fwrite(blob, 1, bytes, f) != bytes || fclose(f) != 0) fail(name, "cannot be written");
}

static const char *capitals(const char *name) {
    static char text[128];
    size_t i;
    for (i = 0; name[i] != 0 && i + 1 < sizeof text; i++)
        text[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 32 : name[i]);
    text[i] = 0;
    return text;
}

static const char *names[256];
static int certified[256];
static size_t positive[3]; /* radii above 0, of each kind */
static size_t count;

/* crc_certify: 0 if there are no certificates. */
/* The largest of all is left out with the certificates, where flash is small. */
static int is_largest(const char *name) { return strcmp(name, "ten_classes") == 0; }

static void put_check(const char *name, int kind, int task, uint32_t crc, uint32_t crc_raw, uint32_t crc_certify) {
    if (is_largest(name)) fprintf(check, "#ifndef NO_CERTIFY\n");
    fprintf(check, "#include \"%s.h\"\n#define ID(x) %s_##x\n#define BIG(x) %s_##x\n", name, name, capitals(name));
    fprintf(check, "#define KIND %d\n#define CLASSIFIES %d\n#define CRC 0x%08lxu\n#define CRC_RAW 0x%08lxu\n", kind,
            task == RFM_CLASSIFY, (unsigned long)crc, (unsigned long)crc_raw);
    fprintf(check, "#define CRC_CERTIFY 0x%08lxu\n#include \"check.h\"\n#undef ID\n#undef BIG\n#undef KIND\n",
            (unsigned long)crc_certify);
    fprintf(check, "#undef CLASSIFIES\n#undef CRC\n#undef CRC_RAW\n#undef CRC_CERTIFY\n%s\n",
            is_largest(name) ? "#endif\n" : "");
    certified[count] = crc_certify != 0, names[count++] = name;
}

/* ---- tiny models ---------------------------------------------------------------------------- */

typedef struct {
    float units[MOST];
    int16_t bias[MOST], offset[MOST];
    int8_t p[MOST], centers[MOST], alpha[MOST], exponents[MOST];
    uint8_t counts[MOST], shifts[MOST];
} arrays;

static void set_counts(const spec *s, arrays *a) {
    uint32_t k, left = s->n;
    for (k = 0; k < s->c; k++) {
        uint32_t after = s->c - 1 - k, more = s->classes == EMPTY ? left : left - after;
        a->counts[k] = (uint8_t)(s->classes == EQUAL ? s->n / s->c : s->classes == EMPTY ? (k % 2) * between(1, 4) : 1);
        if (s->classes == UNEVEN && more > 1) a->counts[k] = (uint8_t)between(1, more < 255 ? more : 255);
        if (a->counts[k] > left) a->counts[k] = (uint8_t)left;
        if (k + 1 == s->c) a->counts[k] = (uint8_t)left;
        left -= a->counts[k];
    }
}

static void draw(const spec *s, arrays *a, rfm_tiny *m) {
    uint32_t i, j, each = s->classes == MATRIX ? s->c : 1;
    for (i = 0; i < s->r; i++) {
        a->shifts[i] = (uint8_t)(s->kind == LARGEST ? 31 * (i % 2) : s->same_shifts ? 9 : between(4, 14));
        a->bias[i] = (int16_t)(s->kind == LARGEST ? (i < 2 ? 32767 : -32768) : between(-60, 60));
        for (j = 0; j < s->d; j++)
            a->p[i * s->d + j] = (int8_t)(s->kind == LARGEST ? (i % 3 == 0 ? -128 : 127) : between(-128, 127));
        if (s->kind == LARGEST && i % 3 == 0) a->p[i * s->d] = -127; /* 512 * 128 would be one too many */
    }
    for (i = 0; i < s->n * each; i++)
        a->alpha[i] = (int8_t)(s->kind == LARGEST ? (i % 2 == 0 ? 127 : -128) : between(s->positive ? 0 : -128, 127));
    for (i = 0; i < s->c; i++) {
        a->offset[i] = (int16_t)(i % 3 == 0 ? -32768 : between(-32768, 32767));
        a->units[i] = (float)between(1, 1000) / 8388608.0f;
    }
    for (i = 0; i < s->d; i++) a->exponents[i] = (int8_t)between(-20, 20);
    set_counts(s, a);
    memset(m, 0, sizeof *m);
    m->n = s->n, m->d = s->d, m->c = s->c, m->r = s->r, m->task = s->task, m->phi_shift = s->s;
    m->units = s->task == RFM_REGRESS ? a->units : NULL, m->bias = a->bias, m->offset = s->offset ? a->offset : NULL;
    m->p = a->p, m->centers = a->centers, m->alpha = a->alpha, m->counts = s->classes == MATRIX ? NULL : a->counts;
    m->shifts = a->shifts, m->exponents = s->each ? a->exponents : NULL, m->exponent = s->each ? 0 : 3;
}

static void project(const rfm_tiny *m, const int16_t *x, int64_t *z) {
    uint32_t i, j;
    for (i = 0; i < m->r; i++) {
        int64_t sum = 0;
        for (j = 0; j < m->d; j++) sum += (int64_t)m->p[i * m->d + j] * x[j];
        if (sum != (int32_t)sum) fail("tiny", "a sum does not fit");
        sum = shifted(sum, m->shifts[i]) + m->bias[i];
        z[i] = sum > 127 ? 127 : sum < -128 ? -128 : sum;
    }
}

/* Centres beside inputs, within about a halving of phi. */
static void place_centers(const rfm_tiny *m, int8_t *centers) {
    int64_t z[256], around = 0;
    int16_t x[MOST];
    uint32_t stream = 1, i, j;
    while ((around + 1) * (around + 1) * (int64_t)m->r <= (int64_t)3 << m->phi_shift) around++;
    for (i = 0; i < m->n; i++) {
        for (j = 0; j < m->d; j++) x[j] = tiny_input(&stream, i);
        project(m, x, z);
        for (j = 0; j < m->r; j++) {
            int64_t v = z[j] + between(-around, around);
            centers[i * m->r + j] = (int8_t)(v > 127 ? 127 : v < -128 ? -128 : v);
        }
    }
}

/* The scores by the definitions; returns the largest phi. */
static int64_t reference(const rfm_tiny *m, const int16_t *x, int64_t *scores) {
    int64_t z[256], nearest = 0;
    uint32_t i, j, k, before = 0;
    project(m, x, z);
    for (k = 0; k < m->c; k++) scores[k] = m->offset != NULL ? 256 * (int64_t)m->offset[k] : 0;
    for (k = 0, i = 0; i < m->n; i++) {
        int64_t t = 0, whole, rest, phi;
        for (j = 0; j < m->r; j++) t += (z[j] - m->centers[i * m->r + j]) * (z[j] - m->centers[i * m->r + j]);
        whole = t >> m->phi_shift, rest = (t - (whole << m->phi_shift)) << (14 - m->phi_shift); /* 2^14 f */
        phi = whole > 15 ? 0 : shifted((32768 - rest) * (32768 - rest) + 2 * 268435456, (uint32_t)(16 + whole));
        if (phi > nearest) nearest = phi;
        for (j = 0; m->counts == NULL && j < m->c; j++) scores[j] += m->alpha[i * m->c + j] * phi;
        if (m->counts == NULL) continue;
        while (i >= before + m->counts[k]) before += m->counts[k++];
        scores[k] += m->alpha[i] * phi;
    }
    return nearest;
}

/* Of certificates: class, square, moves; 0: none. */
static uint32_t certify_tiny(const char *name, const rfm_tiny *m) {
    static int16_t x[MOST];
    static int32_t scores[MOST];
    static int64_t room[MOST];
    static uint16_t moves[MOST];
    int8_t scratch[256];
    uint32_t crc = 0xffffffffu, stream = 3, row, j, square;
    size_t k;
    if (m->task != RFM_CLASSIFY) return 0;
    for (row = 0; row < ROWS_CERTIFY; row++) {
        for (j = 0; j < m->d; j++) x[j] = tiny_input(&stream, row);
        if (rfm_tiny_certify(m, x, scores, scratch, room, &k, &square, moves) != RFM_OK) fail(name, "rfm_tiny_certify");
        positive[0] += square > 0;
        crc = crc_add(crc_add(crc, (uint32_t)k, 2), square, 4);
        for (j = 0; j < m->d; j++) crc = crc_add(crc, moves[j], 2);
    }
    return crc ^ 0xffffffffu;
}

static void make_tiny(const spec *s) {
    static arrays a;
    static uint32_t memory[16384];
    static int16_t x[MOST];
    static int32_t scores[MOST];
    static int64_t right[MOST];
    static rfm_real raw[MOST];
    int8_t scratch[256];
    uint32_t crc = 0xffffffffu, raw_crc = 0xffffffffu, stream = 1, row, j, seen, kinds = 0;
    rfm_tiny m;
    size_t bytes;
    int status;
    draw(s, &a, &m);
    place_centers(&m, a.centers);
    status = rfm_tiny_size(&m, 0, &bytes);
    if (status == RFM_OK) status = rfm_tiny_write(&m, NULL, 0, memory, sizeof memory);
    if (status == RFM_OK) status = rfm_tiny_open(memory, bytes, &m);
    if (status != RFM_OK) fail(s->name, rfm_status_text(status));
    put_blob(s->name, memory, bytes);
    for (row = 0; row < ROWS; row++) {
        int64_t nearest;
        size_t best = 0;
        for (j = 0; j < m.d; j++) x[j] = tiny_input(&stream, row);
        nearest = reference(&m, x, right);
        (void)rfm_tiny_predict(&m, x, scores, scratch, &seen);
        if (seen != nearest) fail(s->name, "the library has another phi");
        for (j = 0; j < m.c; j++) {
            if (right[j] != scores[j]) fail(s->name, "the library has another score");
            if (right[j] > right[best]) best = j;
            crc = crc_add(crc, (uint32_t)right[j], 4);
        }
        if (m.task != RFM_CLASSIFY) best = 0;
        if (m.task == RFM_CLASSIFY && m.c == 1) best = right[0] > 0;
        crc = crc_add(crc_add(crc, (uint32_t)nearest, 2), (uint32_t)best, 2);
        kinds |= nearest > 0 ? 1u : 2u;
    }
    if ((kinds & 1) == 0) fail(s->name, "every phi is 0: nothing is tested");
    for (row = 0; row < ROWS_FLOAT; row++) {
        for (j = 0; j < m.d; j++) raw[j] = (rfm_real)raw_input(&stream);
        (void)rfm_tiny_integers(&m, raw, x);
        for (j = 0; j < m.d; j++) raw_crc = crc_add(raw_crc, (uint32_t)x[j], 2);
        (void)rfm_tiny_predict(&m, x, scores, scratch, NULL);
        if (m.task == RFM_CLASSIFY)
            raw_crc = crc_add(raw_crc, (uint32_t)rfm_tiny_class(&m, scores), 2);
        else
            for (j = 0; j < m.c; j++) raw_crc = crc_add(raw_crc, float_bits(m.units[j] * (float)scores[j]), 4);
    }
    put_check(s->name, 0, s->task, crc ^ 0xffffffffu, raw_crc ^ 0xffffffffu, certify_tiny(s->name, &m));
}

/* ---- integers and floats -------------------------------------------------------------------- */

static uint32_t certify_integers(const char *name, const rfm_model_i *m) {
    static int16_t x[MOST], scratch[MOST];
    static int32_t scores[MOST];
    static int64_t room[MOST];
    static uint16_t moves[MOST];
    uint32_t crc = 0xffffffffu, stream = 3, row, j, square;
    size_t k;
    if (m->task != RFM_CLASSIFY) return 0;
    for (row = 0; row < ROWS_CERTIFY; row++) {
        int status;
        for (j = 0; j < m->d; j++) x[j] = next_input(&stream, m->inputs[j].low, m->inputs[j].high);
        status = rfm_certify_i(m, x, scores, scratch, room, &k, &square, moves);
        if (status == RFM_EVALUE) return 0; /* phi rises */
        if (status != RFM_OK) fail(name, "rfm_certify_i");
        positive[1] += square > 0;
        crc = crc_add(crc_add(crc, (uint32_t)k, 2), square, 4);
        for (j = 0; j < m->d; j++) crc = crc_add(crc, moves[j], 2);
    }
    return crc ^ 0xffffffffu;
}

static void make_integers(const example_i *e) {
    static int16_t x[MOST], scratch[MOST];
    static int32_t scores[MOST];
    static rfm_real raw[MOST];
    uint32_t crc = 0xffffffffu, stream = 1, row, j;
    rfm_model_i m;
    if (rfm_model_open_i(e->blob, e->bytes, &m) != RFM_OK) fail(e->name, "does not open");
    put_blob(e->name, e->blob, e->bytes);
    for (row = 0; row < ROWS; row++) /* the stream goes on after these */
        for (j = 0; j < m.d; j++) (void)next_input(&stream, m.inputs[j].low, m.inputs[j].high);
    for (row = 0; row < ROWS_FLOAT; row++) {
        for (j = 0; j < m.d; j++) raw[j] = (rfm_real)raw_input(&stream);
        (void)rfm_input_integers(&m, raw, x);
        for (j = 0; j < m.d; j++) crc = crc_add(crc, (uint32_t)x[j], 2);
        (void)rfm_predict_i(&m, x, scores, scratch, NULL, NULL);
        if (m.task == RFM_CLASSIFY)
            crc = crc_add(crc, (uint32_t)rfm_class_i(&m, scores), 2);
        else
            for (j = 0; j < m.c; j++) crc = crc_add(crc, float_bits(m.units[j] * (float)scores[j]), 4);
    }
    put_check(e->name, 1, m.task, e->crc, crc ^ 0xffffffffu, certify_integers(e->name, &m));
}

static uint32_t certify_floats(const char *name, const rfm_model *m) {
    static rfm_real x[MOST], scores[MOST], scratch[2 * MOST], moves[MOST], radius;
    uint32_t crc = 0xffffffffu, stream = 3, row, j;
    size_t k;
    if (m->task != RFM_CLASSIFY || (m->kernel != RFM_LAPLACE && m->kernel != RFM_GAUSSIAN)) return 0;
    for (row = 0; row < ROWS_CERTIFY; row++) {
        for (j = 0; j < m->d; j++) x[j] = float_input(&stream, row);
        if (rfm_certify(m, x, scores, scratch, &k, &radius, moves) != RFM_OK) fail(name, "rfm_certify");
        positive[2] += radius > 0;
        crc = crc_add(crc_add(crc, (uint32_t)k, 2), float_bits(radius), 4);
        for (j = 0; j < m->d; j++) crc = crc_add(crc, float_bits(moves[j]), 4);
    }
    return crc ^ 0xffffffffu;
}

static void make_floats(const char *name, const void *blob, size_t bytes) {
    static rfm_real x[MOST], scores[MOST], scratch[2 * MOST], novelty;
    uint32_t crc = 0xffffffffu, stream = 1, row, j;
    rfm_model m;
    if (rfm_model_open(blob, bytes, &m) != RFM_OK) fail(name, "does not open");
    put_blob(name, blob, bytes);
    for (row = 0; row < ROWS_FLOAT; row++) {
        for (j = 0; j < m.d; j++) x[j] = float_input(&stream, row);
        if (rfm_predict_one(&m, x, scores, scratch, NULL, &novelty) != RFM_OK) fail(name, "rfm_predict_one");
        for (j = 0; j < m.c; j++) crc = crc_add(crc, float_bits(scores[j]), 4);
        crc = crc_add(crc_add(crc, float_bits(novelty), 4), (uint32_t)rfm_class(&m, scores, NULL), 2);
    }
    put_check(name, 2, m.task, crc ^ 0xffffffffu, 0, certify_floats(name, &m));
}

/* Kernels that models.h has not: of L1 and of an exponent of 1. */
static void make_kernel(const char *name, int kernel, float exponent) {
    static uint64_t memory[2048];
    static float shift[6], p[6], centers[60], alpha[20], offset[2];
    unsigned char *blob = (unsigned char *)memory + (16 - (uintptr_t)memory % 16) % 16;
    rfm_model m;
    rfm_contents parts;
    size_t bytes, i;
    memset(&m, 0, sizeof m);
    for (i = 0; i < 60; i++) centers[i] = (float)between(-1000, 1000) / 512.0f;
    for (i = 0; i < 20; i++) alpha[i] = (float)between(-1000, 1000) / 512.0f;
    for (i = 0; i < 6; i++) shift[i] = (float)between(-100, 100) / 512.0f, p[i] = (float)between(100, 1000) / 700.0f;
    m.n = 10, m.d = 6, m.r = 6, m.c = 2, m.kernel = kernel, m.metric = RFM_DIAGONAL, m.task = RFM_CLASSIFY;
    m.bandwidth = 3, m.exponent = exponent, m.shift = shift, m.p = p, m.centers = centers, m.alpha = alpha;
    m.offset = offset;
    memset(&parts, 0, sizeof parts);
    parts.model = &m, parts.task = RFM_CLASSIFY, parts.class_names = "a \"quoted\"*/\0b\?\?/", parts.input_names = NULL;
    if (rfm_model_size(&parts, &bytes) != RFM_OK || bytes > sizeof memory - 16 ||
        rfm_model_write(&parts, blob, bytes) != RFM_OK)
        fail(name, "cannot be written");
    make_floats(name, blob, bytes);
}

int main(int argc, char **argv) {
    size_t i;
    if (argc != 2) return 2;
    folder = argv[1];
    check = create("check", ".c");
    fprintf(check, "/* Made by models.c. */\n#include <stdint.h>\n#include \"inputs.h\"\n\n"
                   "static int16_t room_x[512];\nstatic int32_t room_scores[300];\nstatic float room_y[16];\n"
                   "static union {\n    float raw[512];\n    uint16_t moves[512];\n} room;\n\n");
    for (i = 0; i < SPECS; i++) make_tiny(&specs[i]);
    for (i = 0; i < sizeof examples_i / sizeof examples_i[0]; i++) make_integers(&examples_i[i]);
    for (i = 0; i < sizeof examples / sizeof examples[0]; i++)
        make_floats(examples[i].name, examples[i].blob, examples[i].bytes);
    make_kernel("l1", RFM_L1, 0.7f);
    make_kernel("l1_one", RFM_L1, 1.0f);
    make_kernel("general_one", RFM_GENERAL, 1.0f);
    for (i = 0; i < 3; i++)
        if (positive[i] < ROWS_CERTIFY) fail("certificates", "most are 0: little is tested");
    fprintf(check, "#include \"main.h\"\n\nint main(void) {\n    int failed = 0;\n");
    for (i = 0; i < count; i++) {
        if (is_largest(names[i])) fprintf(check, "#ifndef NO_CERTIFY\n");
        fprintf(check, "    failed += report(\"%s\", %s_check());\n", names[i], names[i]);
        if (is_largest(names[i])) fprintf(check, "#endif\n");
    }
    fprintf(check, "    return failed;\n}\n");
    for (i = 0; i < count; i++) printf("%s%s\n", names[i], certified[i] ? " --certify" : "");
    return fclose(check) != 0;
}
