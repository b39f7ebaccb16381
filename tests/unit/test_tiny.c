/* Tiny models: prediction against 64-bit sums of the definitions, the blob of rfm/FORMAT.md byte by byte, forged blobs,
 * and the way there from a network: what is rounded, what the rounding costs, what must not matter.
 *
 * A big-endian machine can neither write nor open blobs: the tests that need one say so. */
#include "test.h"

#include <stdlib.h>

#include "rfm_tiny.h"

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

enum { HEAD = 24, AT_BYTES = 8, AT_VERSION = 12, AT_FLAGS = 13, AT_PHI = 14, AT_EXPONENT = 15, AT_D = 16, AT_N = 18 };
enum { AT_C = 20, AT_R = 22 };

/* An integer between low and high. */
static int whole(uint32_t stream, size_t i, size_t j, int low, int high) {
    return low + (int)((test_number(stream, i, j) + 1) / 2 * (high - low + 1));
}

/* ---- models of random integers -------------------------------------------------------------- */

typedef struct {
    size_t n, d, c, r;
    int task, prototypes, offset, each;
    uint32_t phi_shift;
} shape;

/* Not on the stack: some boards have 3 KiB of it. */
static rfm_tiny tiny, opened;
static int16_t *x;
static int32_t *scores;
static int8_t *scratch;

static void fill(int8_t *to, size_t count, uint32_t stream, int most) {
    size_t i;
    for (i = 0; i < count; i++) to[i] = (int8_t)whole(stream, i, 0, -most, most - (most == 128));
}

/* Arrays in the pool. 0: no room. */
static int make_tiny(shape s, uint32_t stream) {
    const size_t weights = s.prototypes ? s.n : s.n * s.c;
    float *units = (float *)test_take(4 * s.c);
    int16_t *bias = (int16_t *)test_take(2 * s.r), *offset = (int16_t *)test_take(2 * s.c);
    int8_t *p = (int8_t *)test_take(s.r * s.d), *centers = (int8_t *)test_take(s.n * s.r);
    int8_t *alpha = (int8_t *)test_take(weights), *exponents = (int8_t *)test_take(s.d);
    uint8_t *counts = (uint8_t *)test_take(s.c), *shifts = (uint8_t *)test_take(s.r);
    size_t i, left = s.n;
    x = (int16_t *)test_take(2 * s.d), scores = (int32_t *)test_take(4 * s.c), scratch = (int8_t *)test_take(s.r);
    if (scratch == NULL || scores == NULL || x == NULL || shifts == NULL || counts == NULL || exponents == NULL ||
        alpha == NULL || centers == NULL || p == NULL || offset == NULL || bias == NULL || units == NULL)
        return 0;
    fill(p, s.r * s.d, stream, s.d < 512 ? 128 : 60);
    fill(centers, s.n * s.r, stream + 1, 128);
    fill(alpha, weights, stream + 2, 128);
    fill(exponents, s.d, stream + 3, 126);
    for (i = 0; i < s.r; i++) {
        shifts[i] = (uint8_t)whole(stream + 4, i, 0, 0, i % 3 == 0 ? 31 : 22);
        bias[i] = (int16_t)whole(stream + 5, i, 0, i % 5 == 4 ? -32768 : -150, i % 5 == 4 ? 32767 : 150);
    }
    for (i = 0; i < s.c; i++) {
        size_t count = i + 1 == s.c ? left : (size_t)whole(stream + 6, i, 0, 0, (int)(2 * s.n / s.c));
        counts[i] = (uint8_t)(count > left ? left : count), left -= counts[i];
        offset[i] = (int16_t)whole(stream + 7, i, 0, -32768, 32767);
        units[i] = (float)(1.5 + test_number(stream + 8, i, 0));
    }
    memset(&tiny, 0, sizeof tiny);
    tiny.n = (uint32_t)s.n, tiny.d = (uint32_t)s.d, tiny.c = (uint32_t)s.c, tiny.r = (uint32_t)s.r;
    tiny.task = s.task, tiny.phi_shift = s.phi_shift, tiny.bias = bias, tiny.p = p, tiny.centers = centers;
    tiny.alpha = alpha, tiny.shifts = shifts, tiny.exponent = -7;
    tiny.units = s.task == RFM_REGRESS ? units : NULL, tiny.offset = s.offset ? offset : NULL;
    tiny.counts = s.prototypes ? counts : NULL, tiny.exponents = s.each ? exponents : NULL;
    return 1;
}

static shape shape_of(size_t n, size_t d, size_t c, size_t r, int task, int prototypes, uint32_t phi_shift) {
    shape s;
    s.n = n, s.d = d, s.c = c, s.r = r, s.task = task, s.prototypes = prototypes, s.phi_shift = phi_shift;
    s.offset = (n + d) % 2 == 0, s.each = d % 3 != 1;
    return s;
}

static const struct {
    size_t n, d, c, r;
    int task, prototypes;
    uint32_t phi_shift;
} shapes[] = {
    {1, 1, 1, 1, RFM_CLASSIFY, 0, 0},   {1, 1, 1, 1, RFM_REGRESS, 0, 14},    {2, 1, 2, 1, RFM_CLASSIFY, 1, 9},
    {5, 3, 2, 2, RFM_CLASSIFY, 1, 12},  {7, 4, 3, 4, RFM_REGRESS, 0, 14},    {10, 16, 4, 4, RFM_CLASSIFY, 1, 14},
    {11, 17, 5, 3, RFM_CLASSIFY, 0, 1}, {3, 2, 40, 2, RFM_CLASSIFY, 1, 13},  {20, 9, 1, 8, RFM_CLASSIFY, 0, 13},
    {4, 700, 2, 2, RFM_REGRESS, 0, 11}, {6, 2, 3, 255, RFM_CLASSIFY, 0, 14}, {300, 3, 3, 2, RFM_CLASSIFY, 1, 10},
};

static int make_shape(size_t i) {
    test_reset();
    test_note("shape:", i, 0, 0);
    return make_tiny(shape_of(shapes[i].n, shapes[i].d, shapes[i].c, shapes[i].r, shapes[i].task, shapes[i].prototypes,
                              shapes[i].phi_shift),
                     (uint32_t)(100 * (i + 1)));
}

/* ---- prediction in 64 bits ------------------------------------------------------------------ */

/* Rounds down, as >> does. */
static int64_t divide(int64_t a, int shift) {
    const int64_t by = (int64_t)1 << shift;
    return a >= 0 ? a / by : -((-a + by - 1) / by);
}

/* A sum that fits into 32 bits at every step. */
static int64_t checked(int64_t sum) {
    CHECK(sum >= -2147483647 - 1 && sum <= 2147483647);
    return sum;
}

static int64_t phi_reference(int64_t t, uint32_t s) {
    const int64_t width = (int64_t)1 << s, whole_part = t / width, f = t % width * 16384 / width;
    return whole_part > 15 ? 0 : ((32768 - f) * (32768 - f) + 536870912) / ((int64_t)65536 << whole_part);
}

static int64_t center_phi(const rfm_tiny *m, size_t a) {
    int64_t t = 0;
    size_t p, j;
    for (p = 0; p < m->r; p++) {
        int64_t sum = 0, apart;
        for (j = 0; j < m->d; j++) sum = checked(sum + (int64_t)m->p[p * m->d + j] * x[j]);
        sum = checked(divide(sum, m->shifts[p]) + m->bias[p]);
        apart = (sum > 127 ? 127 : sum < -128 ? -128 : sum) - m->centers[a * m->r + p];
        t = checked(t + apart * apart);
    }
    return phi_reference(t, m->phi_shift);
}

static void check_prediction(const rfm_tiny *m) {
    uint32_t nearest = 77;
    int64_t largest = 0;
    size_t a, k;
    CHECK_INT(RFM_OK, rfm_tiny_predict(m, x, scores, scratch, &nearest));
    for (k = 0; k < m->c; k++) {
        int64_t sum = m->offset != NULL ? (int64_t)m->offset[k] * 256 : 0;
        size_t first = 0, end = m->n;
        if (m->counts != NULL) {
            for (a = 0; a < k; a++) first += m->counts[a];
            end = first + m->counts[k];
        }
        for (a = first; a < end; a++) {
            int64_t phi = center_phi(m, a);
            sum = checked(sum + m->alpha[m->counts != NULL ? a : a * m->c + k] * phi);
            largest = phi > largest ? phi : largest;
        }
        CHECK(scores[k] == (int32_t)sum);
    }
    CHECK_SIZE(largest, nearest);
    CHECK_INT(RFM_OK, rfm_tiny_predict(m, x, scores, scratch, NULL));
}

static void test_predict(void) {
    size_t i, j, row;
    for (i = 0; i < TEST_LENGTH(shapes); i++) {
        if (!make_shape(i)) continue;
        for (row = 0; row < (tiny.n * tiny.r * tiny.d > 2000 ? 3u : 8u); row++) {
            const int most = row == 0 ? 32767 : row % 2 == 1 ? 300 : 4000;
            for (j = 0; j < tiny.d; j++) x[j] = (int16_t)whole((uint32_t)row, i, j, -most - (row == 0), most);
            check_prediction(&tiny);
        }
    }
}

/* Sums as large as the reader lets them be: 511 * 128 + 127 = 65535, 509 * 128 + 127 = 65279. */
static void test_extremes(void) {
    int sign, row, shift;
    size_t j;
    if (!make_tiny(shape_of(1, 512, 1, 2, RFM_CLASSIFY, 0, 14), 1)) TEST_IGNORE_MESSAGE("no room");
    for (sign = 0; sign < 2; sign++)
        for (shift = 0; shift < 32; shift += 15)
            for (row = 0; row < 3; row++) {
                for (j = 0; j < 1024; j++) ((int8_t *)tiny.p)[j] = (int8_t)(j % 512 == 511 ? 127 : -128);
                for (j = 0; j < 512; j++) x[j] = (int16_t)(sign != (j == 511) ? 32767 : -32768);
                if (row == 1) x[511] = (int16_t)(-1 - x[511]);
                for (j = 0; j < 2; j++) {
                    ((uint8_t *)tiny.shifts)[j] = (uint8_t)shift;
                    ((int16_t *)tiny.bias)[j] = (int16_t)(sign ? -32768 : 32767);
                }
                check_prediction(&tiny);
            }
    test_reset();
    if (!make_tiny(shape_of(510, 2, 1, 1, RFM_CLASSIFY, 0, 14), 1)) TEST_IGNORE_MESSAGE("no room");
    for (sign = 0; sign < 2; sign++) { /* every phi is 1 */
        for (j = 0; j < 510; j++) {
            ((int8_t *)tiny.centers)[j] = 5;
            ((int8_t *)tiny.alpha)[j] = (int8_t)(sign ? (j == 0 ? 127 : 127 + (j % 256 == 3)) : j == 0 ? -127 : -128);
        }
        memset((void *)(uintptr_t)tiny.p, 0, 2);
        memset(x, 0, 4);
        ((int16_t *)tiny.bias)[0] = 5, ((int16_t *)tiny.offset)[0] = (int16_t)(sign ? 32767 : -32768);
        if (sign) ((int8_t *)tiny.alpha)[3] = ((int8_t *)tiny.alpha)[259] = 127;
        check_prediction(&tiny);
        CHECK_INT(sign ? 510 * 127 * 24576 + 32767 * 256 : -65279 * 24576 - 32768 * 256, scores[0]);
    }
    test_reset();
    if (!make_tiny(shape_of(1, 1, 1, 255, RFM_CLASSIFY, 0, 0), 1)) TEST_IGNORE_MESSAGE("no room");
    for (j = 0; j < 255; j++)
        ((int8_t *)tiny.centers)[j] = -128, ((int16_t *)tiny.bias)[j] = 32767, ((int8_t *)tiny.p)[j] = 0;
    for (tiny.phi_shift = 0; tiny.phi_shift <= 14; tiny.phi_shift++) check_prediction(&tiny); /* t = 255^3 */
}

/* phi at t, by a prediction: z is -127 in each coordinate, and t a sum of squares. */
static int32_t phi_at(uint32_t t, uint32_t s) {
    enum { RANK = 16 };
    static int8_t centers[RANK], p[RANK], z[RANK];
    static int16_t bias[RANK];
    static const uint8_t shifts[RANK];
    static const int8_t alpha = 1;
    const int16_t in = 0;
    uint32_t nearest, square = 255;
    int32_t score;
    rfm_tiny m;
    size_t i;
    for (i = 0; i < RANK; i++) {
        while (square * square > t || square > 254) square--;
        centers[i] = (int8_t)(-127 + (int)square), bias[i] = -127, t -= square * square;
    }
    CHECK_SIZE(0, t);
    memset(&m, 0, sizeof m);
    m.n = m.d = m.c = 1, m.r = RANK, m.task = RFM_CLASSIFY, m.phi_shift = s;
    m.bias = bias, m.p = p, m.centers = centers, m.alpha = &alpha, m.shifts = shifts;
    CHECK_INT(RFM_OK, rfm_tiny_predict(&m, &in, &score, z, &nearest));
    CHECK_SIZE(nearest, score);
    return score;
}

/* Every t of every s up to where phi is 0: right to 0.35 % and the last bit, and never rising. */
static void test_phi(void) {
    const uint32_t few = TEST_RAM < (1ul << 20) ? 97 : 1;
    uint32_t s, t;
    for (s = 0; s <= 14; s++) {
        int32_t before = RFM_TINY_ONE;
        CHECK_INT(RFM_TINY_ONE, phi_at(0, s));
        CHECK_INT(RFM_TINY_ONE / 2, phi_at(1u << s, s));
        CHECK_INT(1, phi_at(14u << s, s));
        for (t = 0; t <= (16u << s); t += s < 8 ? 1 : few) {
            const int32_t phi = phi_at(t, s);
            const double truth = 24576 * exp(-(double)t / (1 << s) * 0.69314718055994531);
            test_note("s, t:", s, t, 0);
            CHECK(phi <= before && phi >= 0);
            CHECK_BELOW(fabs(phi - truth), 0.0035 * truth + 1);
            if (t < (1u << s)) CHECK_BELOW(fabs(phi - truth), 0.0035 * truth);
            before = phi;
        }
        CHECK_INT(0, phi_at(16u << s, s));
    }
}

static void test_class(void) {
    int32_t f[3] = {-5, 7, 7};
    memset(&tiny, 0, sizeof tiny);
    tiny.c = 3, tiny.task = RFM_CLASSIFY;
    CHECK_SIZE(1, rfm_tiny_class(&tiny, f)); /* the first of the largest */
    f[2] = 8;
    CHECK_SIZE(2, rfm_tiny_class(&tiny, f));
    f[1] = f[2] = -2147483647 - 1;
    CHECK_SIZE(0, rfm_tiny_class(&tiny, f));
    tiny.task = RFM_REGRESS;
    f[1] = 9;
    CHECK_SIZE(0, rfm_tiny_class(&tiny, f));
    tiny.c = 1, tiny.task = RFM_CLASSIFY;
    CHECK_SIZE(0, rfm_tiny_class(&tiny, f));
    f[0] = 0;
    CHECK_SIZE(0, rfm_tiny_class(&tiny, f));
    f[0] = 1;
    CHECK_SIZE(1, rfm_tiny_class(&tiny, f));
}

static void test_predict_refuses(void) {
    if (!make_shape(3)) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_ENULL, rfm_tiny_predict(NULL, x, scores, scratch, NULL));
    CHECK_INT(RFM_ENULL, rfm_tiny_predict(&tiny, NULL, scores, scratch, NULL));
    CHECK_INT(RFM_ENULL, rfm_tiny_predict(&tiny, x, NULL, scratch, NULL));
    CHECK_INT(RFM_ENULL, rfm_tiny_predict(&tiny, x, scores, NULL, NULL));
}

static void test_integers(void) {
    static const struct {
        double x;
        int exponent, expect;
    } cases[] = {
        {0, 0, 0},           {1.25, 2, 5},        {-1.25, 2, -5},         {1.5, 0, 2},          {-1.5, 0, -2},
        {1.375, 2, 6},       {-1.375, 2, -6},     {32767, 0, 32767},      {32767.75, 0, 32767}, {32766.75, 0, 32767},
        {-32768, 0, -32768}, {-40000, 0, -32768}, {-32767.75, 0, -32768}, {1e30, 0, 32767},     {-1e30, 126, -32768},
        {1e30, -126, 0},     {3e38, -126, 4},     {-3e38, 0, -32768},     {1e-37, 126, 9},      {100, -3, 13},
    };
    int8_t exponents[2];
    rfm_real in[2];
    int16_t out[2];
    size_t i;
    memset(&tiny, 0, sizeof tiny);
    for (i = 0; i < TEST_LENGTH(cases); i++) {
        test_note("case:", i, 0, 0);
        tiny.d = 1, tiny.exponents = NULL, tiny.exponent = cases[i].exponent;
        in[0] = (rfm_real)cases[i].x;
        CHECK_INT(RFM_OK, rfm_tiny_integers(&tiny, in, out));
        CHECK_INT(cases[i].expect, out[0]);
        tiny.d = 2, tiny.exponents = exponents, tiny.exponent = 0;
        exponents[0] = 1, exponents[1] = (int8_t)cases[i].exponent;
        in[0] = 3, in[1] = (rfm_real)cases[i].x;
        CHECK_INT(RFM_OK, rfm_tiny_integers(&tiny, in, out));
        CHECK(out[0] == 6 && out[1] == cases[i].expect);
    }
    out[0] = out[1] = 99;
    in[1] = (rfm_real)INFINITY;
    CHECK_INT(RFM_EFINITE, rfm_tiny_integers(&tiny, in, out));
    in[1] = (rfm_real)NAN;
    CHECK_INT(RFM_EFINITE, rfm_tiny_integers(&tiny, in, out));
    CHECK_INT(RFM_ENULL, rfm_tiny_integers(NULL, in, out));
    CHECK_INT(RFM_ENULL, rfm_tiny_integers(&tiny, NULL, out));
    CHECK_INT(RFM_ENULL, rfm_tiny_integers(&tiny, in, NULL));
    CHECK(out[0] == 99 && out[1] == 99);
}

/* ---- the blob ------------------------------------------------------------------------------- */

static uint32_t get32(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}
static size_t put(unsigned char *at, uint32_t value, size_t bytes) {
    size_t i;
    for (i = 0; i < bytes; i++, value >>= 8) at[i] = (unsigned char)value;
    return bytes;
}
static void seal(unsigned char *blob) { put(blob + 4, rfm_crc32(0, blob + 8, get32(blob + AT_BYTES) - 8), 4); }

static size_t put_bytes(unsigned char *to, const void *from, size_t bytes) {
    if (bytes > 0) memcpy(to, from, bytes);
    return bytes;
}

static size_t put_names(unsigned char *to, uint32_t tag, const char *names, size_t count) {
    size_t bytes, at = 8;
    if (names == NULL) return 0;
    bytes = (size_t)(rfm_name(names, count) - names);
    put(to, tag, 2), put(to + 2, 0, 2), put(to + 4, (uint32_t)bytes, 4);
    for (at += put_bytes(to + at, names, bytes); at % 4 != 0; at++) to[at] = 0;
    return at;
}

/* FORMAT.md, "Tiny models". */
static size_t blob_reference(const rfm_tiny *m, unsigned char *b) {
    size_t at = HEAD, k, bits;
    put(b, 0x636d6672, 4);
    b[AT_VERSION] = 1, b[AT_PHI] = (unsigned char)m->phi_shift, b[AT_EXPONENT] = (unsigned char)m->exponent;
    b[AT_FLAGS] = (unsigned char)((m->counts != NULL) + 2 * (m->offset != NULL) + 4 * (m->exponents != NULL) +
                                  8 * (m->task == RFM_REGRESS));
    put(b + AT_D, m->d, 2), put(b + AT_N, m->n, 2), put(b + AT_C, m->c, 2), put(b + AT_R, m->r, 1), put(b + 23, 0, 1);
    for (k = 0; m->units != NULL && k < m->c; k++) {
        uint32_t word;
        memcpy(&word, &m->units[k], 4);
        at += put(b + at, word, 4);
    }
    for (k = 0; k < m->r; k++) at += put(b + at, (uint32_t)(int32_t)m->bias[k], 2);
    for (k = 0; m->offset != NULL && k < m->c; k++) at += put(b + at, (uint32_t)(int32_t)m->offset[k], 2);
    at += put_bytes(b + at, m->p, m->r * m->d);
    at += put_bytes(b + at, m->centers, m->n * m->r);
    at += put_bytes(b + at, m->alpha, m->counts != NULL ? m->n : m->n * m->c);
    at += put_bytes(b + at, m->counts, m->counts != NULL ? m->c : 0);
    at += put_bytes(b + at, m->shifts, m->r);
    at += put_bytes(b + at, m->exponents, m->exponents != NULL ? m->d : 0);
    for (bits = 0; at % 4 != 0; bits++) b[at++] = 0;
    at += put_names(b + at, 256, m->class_names, m->c == 1 ? 2 : m->c);
    at += put_names(b + at, 257, m->input_names, m->d);
    put(b + AT_BYTES, (uint32_t)at, 4);
    seal(b);
    return at;
}

static void check_same_model(const rfm_tiny *a, const rfm_tiny *b) {
#define SAME(field, bytes) \
    CHECK((a->field == NULL) == (b->field == NULL) && (a->field == NULL || memcmp(a->field, b->field, bytes) == 0))
    CHECK(a->n == b->n && a->d == b->d && a->c == b->c && a->r == b->r && a->task == b->task);
    CHECK(a->phi_shift == b->phi_shift && a->exponent == b->exponent);
    SAME(units, 4 * a->c);
    SAME(bias, 2 * a->r);
    SAME(offset, 2 * a->c);
    SAME(p, a->r * a->d);
    SAME(centers, a->n * a->r);
    SAME(alpha, a->counts != NULL ? a->n : a->n * a->c);
    SAME(counts, a->c);
    SAME(shifts, a->r);
    SAME(exponents, a->d);
#undef SAME
}

/* Opened, and if so also used: the sanitizers watch. *model stays as it was after a refusal. */
static int open_it(const unsigned char *blob, size_t size) {
    static rfm_tiny before;
    int status;
    memset(&opened, 0x5a, sizeof opened);
    before = opened;
    status = rfm_tiny_open(blob, size, &opened);
    if (status != RFM_OK) CHECK(memcmp(&opened, &before, sizeof opened) == 0);
    return status;
}

static int open_sealed(unsigned char *blob, size_t size) {
    seal(blob);
    return open_it(blob, size);
}

static void test_round(void) {
    static const char names[] = "a\0bc\0\0def\0g\0h\0i\0j\0k\0l\0m\0n\0o\0p\0q\0r\0s\0t\0u\0v\0w\0x\0y\0z\0"
                                "1\0002\0003\0004\0005\0006\0007\0008\0009\0A\0B\0C\0D\0E\0F\0G\0H\0I\0J\0K";
    size_t i, size, expect, mark;
    NEED_BLOBS();
    for (i = 0; i < TEST_LENGTH(shapes); i++) {
        unsigned char *blob, *memory;
        if (!make_shape(i)) continue;
        if (tiny.c <= 40 && i % 2 == 0) tiny.class_names = names;
        if (tiny.d <= 40 && i % 3 == 0) tiny.input_names = names;
        CHECK_INT(RFM_OK, rfm_tiny_size(&tiny, 0, &size));
        mark = test_mark();
        memory = (unsigned char *)test_take(size + 8), blob = (unsigned char *)test_take(size + 8);
        if (blob == NULL) continue;
        expect = blob_reference(&tiny, blob);
        CHECK_SIZE(expect, size);
        CHECK_SIZE(0, size % 4);
        CHECK_INT(RFM_EARENA, rfm_tiny_write(&tiny, NULL, 0, memory + 4, size - 1));
        CHECK(memory[4] == 0xff && memory[size + 3] == 0xff);
        CHECK_INT(RFM_OK, rfm_tiny_write(&tiny, NULL, 0, memory + 4, size)); /* a multiple of 4 is enough */
        CHECK(memcmp(memory + 4, blob, size) == 0);
        CHECK(memory[3] == 0xff && memory[size + 4] == 0xff);
        CHECK_INT(RFM_OK, open_it(memory + 4, size));
        check_same_model(&tiny, &opened);
        CHECK((const unsigned char *)opened.bias == memory + 4 + HEAD + (tiny.units != NULL ? 4 * tiny.c : 0));
        CHECK((tiny.class_names == NULL) == (opened.class_names == NULL));
        if (tiny.c > 1 && tiny.class_names != NULL) CHECK(strcmp(rfm_name(opened.class_names, 1), "bc") == 0);
        if (tiny.d > 1 && tiny.input_names != NULL) CHECK(strcmp(rfm_name(opened.input_names, 1), "bc") == 0);
        memset(x, 3, 2 * tiny.d);
        check_prediction(&opened);
        CHECK_INT(RFM_OK, open_it(memory + 4, size + 4)); /* a page of flash */
        test_rewind(mark);
    }
}

/* The example of FORMAT.md. */
static const unsigned char example[] = {
    0x72, 0x66, 0x6d, 0x63, 0xb2, 0x72, 0xe3, 0x60, 0x48, 0x00, 0x00, 0x00, 0x01, 0x03, 0x0a, 0x02, 0x02, 0x00,
    0x03, 0x00, 0x02, 0x00, 0x01, 0x00, 0xf6, 0xff, 0x80, 0x00, 0x00, 0x00, 0x40, 0xe0, 0x0a, 0xec, 0x32, 0x64,
    0x32, 0x7f, 0x01, 0x02, 0x04, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x6e, 0x6f,
    0x00, 0x79, 0x65, 0x73, 0x00, 0x00, 0x01, 0x01, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x61, 0x00, 0x62, 0x00,
};

/* z = ((64 * 15 - 32 * 5) >> 4) - 10 = 40; t = 900, 3600, 100, in units of 1024; f = 14400, 8448 behind 3 halvings,
 * 1600: phi = (18368^2 + 2^29) / 2^16 = 13340, (24320^2 + 2^29) / 2^19 = 2152, (31168^2 + 2^29) / 2^16 = 23015. */
static void test_example(void) {
    const rfm_real in[2] = {(rfm_real)3.75, (rfm_real)1.25};
    unsigned char *blob = (unsigned char *)test_take(sizeof example),
                  *again = (unsigned char *)test_take(sizeof example);
    int16_t xi[2];
    int32_t f[2];
    int8_t z[1];
    uint32_t nearest;
    size_t size;
    NEED_BLOBS();
    memcpy(blob, example, sizeof example);
    CHECK_INT(RFM_OK, open_it(blob, sizeof example));
    CHECK(opened.n == 3 && opened.d == 2 && opened.c == 2 && opened.r == 1 && opened.task == RFM_CLASSIFY);
    CHECK_INT(RFM_OK, rfm_tiny_integers(&opened, in, xi));
    CHECK(xi[0] == 15 && xi[1] == 5);
    CHECK_INT(RFM_OK, rfm_tiny_predict(&opened, xi, f, z, &nearest));
    CHECK_INT(40, z[0]);
    CHECK_INT(128 * 256 + 100 * 13340, f[0]);
    CHECK_INT(50 * 2152 + 127 * 23015, f[1]);
    CHECK_SIZE(23015, nearest);
    CHECK(strcmp(rfm_name(opened.class_names, rfm_tiny_class(&opened, f)), "yes") == 0);
    CHECK(strcmp(rfm_name(opened.input_names, 1), "b") == 0);
    CHECK_INT(RFM_OK, rfm_tiny_size(&opened, 0, &size));
    CHECK_SIZE(sizeof example, size);
    CHECK_INT(RFM_OK, rfm_tiny_write(&opened, NULL, 0, again, size));
    CHECK(memcmp(again, example, sizeof example) == 0);
}

/* The blob of a shape, in the pool; NULL: no room. */
static unsigned char *make_blob(size_t i, size_t *size) {
    unsigned char *blob;
    if (!make_shape(i)) return NULL;
    CHECK_INT(RFM_OK, rfm_tiny_size(&tiny, 0, size));
    blob = (unsigned char *)test_take(*size + 64);
    if (blob != NULL) CHECK_SIZE(*size, blob_reference(&tiny, blob));
    return blob;
}

static void test_open_refuses(void) {
    unsigned char *blob;
    size_t size = 0, i;
    NEED_BLOBS();
    if ((blob = make_blob(3, &size)) == NULL) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, open_it(blob, size));
    CHECK_INT(RFM_ENULL, open_it(NULL, size));
    CHECK_INT(RFM_ENULL, rfm_tiny_open(blob, size, NULL));
    for (i = 1; i < 4; i++) CHECK_INT(RFM_EALIGN, open_it(blob + i, size));
    for (i = 0; i < size; i++) CHECK_INT(RFM_ETRUNCATED, open_it(blob, i));
    for (i = 0; i < size; i++) { /* every byte, with the old checksum */
        test_note("byte:", i, 0, 0);
        blob[i] ^= 0x10;
        CHECK(open_it(blob, size) != RFM_OK);
        if (i < AT_BYTES || i >= AT_BYTES + 4) /* a wrong length can be one or the other */
            CHECK_INT(i < 4 ? RFM_EMAGIC : i == AT_VERSION ? RFM_EVERSION : RFM_ECHECKSUM, open_it(blob, size));
        blob[i] ^= 0x10;
    }
    put(blob + AT_BYTES, 23, 4);
    CHECK_INT(RFM_ETRUNCATED, open_it(blob, size));
    put(blob + AT_BYTES, 24, 4);
    CHECK_INT(RFM_ECONTENT, open_sealed(blob, size));
    for (i = 24; i < size; i++) { /* shorter by itself */
        test_note("bytes:", i, 0, 0);
        put(blob + AT_BYTES, (uint32_t)i, 4);
        CHECK_INT(RFM_ECONTENT, open_sealed(blob, size));
    }
    put(blob + AT_BYTES, (uint32_t)size, 4);
    CHECK_INT(RFM_OK, open_sealed(blob, size));
}

/* With this in place of what was there. */
static void check_patched(unsigned char *blob, size_t size, size_t at, uint32_t value, size_t bytes, int status) {
    unsigned char before[4];
    test_note("at, value:", at, value, 0);
    memcpy(before, blob + at, bytes);
    put(blob + at, value, bytes);
    CHECK_INT(status, open_sealed(blob, size));
    memcpy(blob + at, before, bytes);
}

static void test_open_content(void) {
    unsigned char *blob;
    size_t size = 0, at, i;
    NEED_BLOBS();
    if ((blob = make_blob(3, &size)) == NULL)
        TEST_IGNORE_MESSAGE("no room"); /* n 5, d 3, c 2, r 2, prototypes, offset */
    for (i = 0; i < 4; i++) {
        static const size_t bytes[] = {2, 2, 2, 1};
        check_patched(blob, size, AT_D + 2 * i, 0, bytes[i], RFM_ECONTENT);
        check_patched(blob, size, AT_D + 2 * i, 0xffff, bytes[i], RFM_ECONTENT);
    }
    check_patched(blob, size, AT_C, 1, 2, RFM_ECONTENT); /* prototypes of one class */
    check_patched(blob, size, AT_PHI, 14, 1, RFM_OK);
    check_patched(blob, size, AT_PHI, 15, 1, RFM_ECONTENT);
    check_patched(blob, size, AT_FLAGS, blob[AT_FLAGS] | 16u, 1, RFM_ECONTENT);
    check_patched(blob, size, AT_FLAGS, blob[AT_FLAGS] | 8u, 1, RFM_ECONTENT); /* units and prototypes */
    check_patched(blob, size, AT_VERSION, 2, 1, RFM_EVERSION);
    check_patched(blob, size, AT_VERSION, 0, 1, RFM_EVERSION);
    check_patched(blob, size, 23, 7, 1, RFM_OK); /* for later */
    CHECK(tiny.exponents != NULL && tiny.offset != NULL);
    at = HEAD + 4 + 4 + 6 + 10 + 5; /* behind bias, offset, P, centres, alpha: counts, shifts, exponents */
    CHECK(blob[at] + blob[at + 1] == 5);
    check_patched(blob, size, at, blob[at] + 1u, 1, RFM_ECONTENT);
    check_patched(blob, size, at + 1, blob[at + 1] - 1u, 1, RFM_ECONTENT);
    check_patched(blob, size, at, blob[at] + 0x100u * blob[at + 1] + 0xff, 2, RFM_OK); /* one more, one less */
    check_patched(blob, size, at, 0xff06, 2, RFM_ECONTENT);                            /* 6 + 255 wraps to 5 */
    check_patched(blob, size, at, 0x0500, 2, RFM_OK);                                  /* an empty class */
    memset(x, 0, 2 * tiny.d);
    check_prediction(&opened);
    check_patched(blob, size, at, 0x0005, 2, RFM_OK);
    check_patched(blob, size, at + 2, 31, 1, RFM_OK);
    check_patched(blob, size, at + 2, 32, 1, RFM_ECONTENT);
    check_patched(blob, size, at + 3, 255, 1, RFM_ECONTENT);
    check_patched(blob, size, at + 6, 126, 1, RFM_OK);
    check_patched(blob, size, at + 6, 127, 1, RFM_ECONTENT);
    check_patched(blob, size, at + 6, 0x82, 1, RFM_OK); /* -126 */
    check_patched(blob, size, at + 6, 0x81, 1, RFM_ECONTENT);
    check_patched(blob, size, at + 6, 0x80, 1, RFM_ECONTENT);
    CHECK_INT(RFM_OK, open_sealed(blob, size));

    if ((blob = make_blob(4, &size)) == NULL) return; /* n 7, d 4, c 3, r 4, regression: units, one exponent */
    CHECK(tiny.exponents == NULL && tiny.units != NULL);
    check_patched(blob, size, AT_EXPONENT, 126, 1, RFM_OK);
    check_patched(blob, size, AT_EXPONENT, 127, 1, RFM_ECONTENT);
    check_patched(blob, size, AT_EXPONENT, 0x81, 1, RFM_ECONTENT);
    for (i = 0; i < 3; i += 2) {
        at = HEAD + 4 * i;
        check_patched(blob, size, at, 1, 4, RFM_OK); /* the smallest float */
        check_patched(blob, size, at, 0x7f7fffff, 4, RFM_OK);
        check_patched(blob, size, at, 0, 4, RFM_ECONTENT);
        check_patched(blob, size, at, 0x7f800000, 4, RFM_ECONTENT);
        check_patched(blob, size, at, 0x7fc00000, 4, RFM_ECONTENT);
        check_patched(blob, size, at, 0x80000000, 4, RFM_ECONTENT);
        check_patched(blob, size, at, 0xbf800000, 4, RFM_ECONTENT);
    }
}

/* The sums' limits, to the digit. */
static void test_open_sums(void) {
    unsigned char *blob;
    size_t size = 0, at;
    NEED_BLOBS();
    if (make_tiny(shape_of(1, 512, 1, 2, RFM_CLASSIFY, 0, 14), 1)) {
        memset((void *)(uintptr_t)tiny.p, 0x80, 1024); /* 65536 */
        CHECK_INT(RFM_OK, rfm_tiny_size(&tiny, 0, &size));
        if ((blob = (unsigned char *)test_take(size)) != NULL) {
            CHECK_INT(RFM_EVALUE, rfm_tiny_write(&tiny, NULL, 0, blob, size));
            CHECK(blob[0] == 0xff);
            blob_reference(&tiny, blob);
            CHECK_INT(RFM_ECONTENT, open_it(blob, size));
            at = HEAD + 4 + (tiny.offset != NULL ? 2u : 0u); /* P, behind bias and offset */
            put(blob + at + 17, 127, 1);
            CHECK_INT(RFM_ECONTENT, open_sealed(blob, size)); /* the other row */
            put(blob + at + 512 + 511, 0x81, 1);
            CHECK_INT(RFM_OK, open_sealed(blob, size));
        }
    }
    test_reset();
    if (make_tiny(shape_of(510, 1, 2, 1, RFM_CLASSIFY, 0, 14), 1)) {
        memset((void *)(uintptr_t)tiny.alpha, 0x80, 1020); /* 510 * 128 = 65280 */
        CHECK_INT(RFM_OK, rfm_tiny_size(&tiny, 0, &size));
        if ((blob = (unsigned char *)test_take(size)) != NULL) {
            blob_reference(&tiny, blob);
            CHECK_INT(RFM_ECONTENT, open_it(blob, size));
            at = HEAD + 2 + (tiny.offset != NULL ? 4u : 0u) + 1 + 510;
            put(blob + at + 2 * 509, 127, 1);
            CHECK_INT(RFM_ECONTENT, open_sealed(blob, size)); /* the other output */
            put(blob + at + 1, 0x81, 1);
            CHECK_INT(RFM_OK, open_sealed(blob, size));
        }
    }
    test_reset(); /* prototypes: at most 255 * 128 in a class, which fits */
    if (!make_tiny(shape_of(510, 1, 2, 1, RFM_CLASSIFY, 1, 14), 1)) return;
    memset((void *)(uintptr_t)tiny.alpha, 0x80, 510);
    memset((void *)(uintptr_t)tiny.counts, 255, 2);
    CHECK_INT(RFM_OK, rfm_tiny_size(&tiny, 0, &size));
    if ((blob = (unsigned char *)test_take(size)) == NULL) return;
    blob_reference(&tiny, blob);
    CHECK_INT(RFM_OK, open_it(blob, size));
}

/* Every byte with every bit flipped and the checksum right again: refused, or as the reference has it. */
static void test_forged(void) {
    size_t which, i, size = 0;
    NEED_BLOBS();
    for (which = 0; which < 6; which++) {
        unsigned char *blob = make_blob(which, &size);
        int bit;
        if (blob == NULL) continue;
        /* There are not more inputs, outputs or ranks than bytes. */
        x = (int16_t *)test_take(2 * size), scores = (int32_t *)test_take(4 * size),
        scratch = (int8_t *)test_take(size);
        if (scratch == NULL || scores == NULL || x == NULL) continue;
        for (i = 4; i < size; i++)
            for (bit = 0; bit < 8; bit++) {
                int status;
                test_note("which, byte, bit:", which, i, (size_t)bit);
                blob[i] ^= (unsigned char)(1 << bit);
                status = i < 12 ? open_it(blob, size) : open_sealed(blob, size);
                CHECK(i >= 12 || status == RFM_ECHECKSUM || status == RFM_ETRUNCATED);
                CHECK(i < 12 || status == RFM_OK || status == (i == AT_VERSION ? RFM_EVERSION : RFM_ECONTENT));
                if (status == RFM_OK) {
                    memset(x, bit % 2 ? 0x80 : 0x7f, 2 * opened.d);
                    check_prediction(&opened);
                }
                blob[i] ^= (unsigned char)(1 << bit);
                if (i >= 12) seal(blob);
            }
    }
}

/* Entries behind the numbers: forged ones, and those that are not known. */
static void test_tail(void) {
    unsigned char *blob;
    size_t size = 0, end;
    NEED_BLOBS();
    if ((blob = make_blob(3, &size)) == NULL) TEST_IGNORE_MESSAGE("no room");
#define TAIL(bytes, status)                                 \
    do {                                                    \
        put(blob + AT_BYTES, (uint32_t)(size + bytes), 4);  \
        CHECK_INT(status, open_sealed(blob, size + bytes)); \
    } while (0)
    memset(blob + size, 0, 64);
    TAIL(4, RFM_ECONTENT); /* less than a head */
    TAIL(8, RFM_OK);       /* an empty entry of an unknown tag */
    CHECK(opened.class_names == NULL && opened.input_names == NULL);
    TAIL(12, RFM_ECONTENT);
    TAIL(16, RFM_OK);
    put(blob + size, 4711, 4), put(blob + size + 4, 5, 4);
    memset(blob + size + 8, 'a', 5);
    TAIL(8, RFM_ECONTENT);
    TAIL(12, RFM_ECONTENT); /* overruns by a byte */
    TAIL(16, RFM_OK);
    put(blob + size + 4, 8, 4);
    TAIL(16, RFM_OK);
    put(blob + size + 4, 9, 4);
    TAIL(16, RFM_ECONTENT);
    put(blob + size + 4, 0xffffffffu, 4);
    TAIL(16, RFM_ECONTENT);
    put(blob + size + 4, 0xfffffffdu, 4);
    TAIL(16, RFM_ECONTENT);
    put(blob + size + 4, 0x80000000u, 4);
    TAIL(16, RFM_ECONTENT);
    end = size + put_names(blob + size, 256, "no\0yes", 2); /* 8 + 7 + 1 */
    CHECK_SIZE(size + 16, end);
    TAIL(16, RFM_OK);
    CHECK(opened.class_names == (const char *)blob + size + 8);
    put(blob + size + 4, 8, 4); /* the padding would be a third name */
    TAIL(16, RFM_ECONTENT);
    blob[size + 15] = 'x'; /* two zeros, and a third name that does not end */
    TAIL(16, RFM_ECONTENT);
    put(blob + size + 4, 6, 4); /* without its end */
    TAIL(16, RFM_ECONTENT);
    put(blob + size + 4, 0, 4);
    TAIL(8, RFM_ECONTENT);
    put(blob + size + 4, 7, 4);
    put(blob + size, 257, 2); /* two names for three inputs */
    TAIL(16, RFM_ECONTENT);
    end = put_names(blob + size, 257, "\0\0", 3); /* 8 + 3 + 1 */
    end += put_names(blob + size + end, 9, "other", 1);
    end += put_names(blob + size + end, 256, "a\0b", 2);
    TAIL(end, RFM_OK);
    CHECK(strcmp(rfm_name(opened.input_names, 2), "") == 0 && strcmp(rfm_name(opened.class_names, 1), "b") == 0);
    if ((blob = make_blob(0, &size)) == NULL) return; /* c = 1: two names */
    end = put_names(blob + size, 256, "no\0yes", 2);
    TAIL(end, RFM_OK);
    end = put_names(blob + size, 256, "no", 1);
    TAIL(end, RFM_ECONTENT);
#undef TAIL
}

/* ---- writing -------------------------------------------------------------------------------- */

static void check_write(int status, int same_size) {
    size_t size = 4711, i, mark = test_mark();
    unsigned char *blob = (unsigned char *)test_take(400);
    CHECK(blob != NULL);
    CHECK_INT(status, rfm_tiny_write(&tiny, NULL, 0, blob, 400));
    for (i = 0; i < 400; i++) CHECK(blob[i] == 0xff);
    if (same_size) {
        CHECK_INT(status, rfm_tiny_size(&tiny, 0, &size));
        CHECK_SIZE(4711, size);
    }
    test_rewind(mark);
}

static void test_write_refuses(void) {
    static const int8_t far[3] = {0, 0, 127};
    static const uint8_t wrong_shifts[2] = {0, 32}, wrong_counts[2] = {3, 3};
    static const float no_units[2] = {1, 0};
    static unsigned char record[24];
    size_t size;
    unsigned char *blob;
    rfm_tiny good;
    if (!make_shape(3)) TEST_IGNORE_MESSAGE("no room"); /* n 5, d 3, c 2, r 2, prototypes */
    good = tiny;
#define REFUSED(change, status, same_size) \
    do {                                   \
        tiny = good;                       \
        change;                            \
        check_write(status, same_size);    \
    } while (0)
    REFUSED(tiny.bias = NULL, RFM_ENULL, 1);
    REFUSED(tiny.p = NULL, RFM_ENULL, 1);
    REFUSED(tiny.centers = NULL, RFM_ENULL, 1);
    REFUSED(tiny.alpha = NULL, RFM_ENULL, 1);
    REFUSED(tiny.shifts = NULL, RFM_ENULL, 1);
    REFUSED(tiny.n = 0, RFM_EZERO, 1);
    REFUSED(tiny.d = 0, RFM_EZERO, 1);
    REFUSED(tiny.c = 0, RFM_EZERO, 1);
    REFUSED(tiny.r = 0, RFM_EZERO, 1);
    REFUSED(tiny.n = 65536, RFM_EVALUE, 1);
    REFUSED(tiny.d = 65536, RFM_EVALUE, 1);
    REFUSED(tiny.c = 65536, RFM_EVALUE, 1);
    REFUSED(tiny.r = 256, RFM_EVALUE, 1);
    REFUSED((tiny.n = 65535, tiny.c = 65535, tiny.counts = NULL), RFM_EOVERFLOW, 1);
    if (test_little_endian()) {
        REFUSED(tiny.phi_shift = 15, RFM_EVALUE, 0);
        REFUSED(tiny.task = RFM_REGRESS, RFM_EVALUE, 0); /* without units */
        REFUSED(tiny.task = 2, RFM_EVALUE, 0);
        REFUSED((tiny.task = RFM_REGRESS, tiny.units = no_units), RFM_EVALUE, 0); /* and prototypes */
        REFUSED((tiny.task = RFM_REGRESS, tiny.units = no_units, tiny.counts = NULL, tiny.n = 2), RFM_EVALUE, 0);
        REFUSED((tiny.units = no_units, tiny.counts = NULL, tiny.n = 2), RFM_EVALUE, 0);
        REFUSED(tiny.c = 1, RFM_EVALUE, 0);
        REFUSED(tiny.n = 4, RFM_EVALUE, 0); /* the counts say 5 */
        REFUSED(tiny.counts = wrong_counts, RFM_EVALUE, 0);
        REFUSED(tiny.shifts = wrong_shifts, RFM_EVALUE, 0);
        REFUSED(tiny.exponents = far, RFM_EVALUE, 0);
        REFUSED((tiny.exponents = NULL, tiny.exponent = -127), RFM_EVALUE, 0);
        REFUSED((tiny.exponents = NULL, tiny.exponent = 127), RFM_EVALUE, 0);
        REFUSED((tiny.exponents = NULL, tiny.exponent = 256), RFM_EVALUE, 0);
    }
#undef REFUSED
    tiny = good;
    size = 4711;
    CHECK_INT(RFM_ENULL, rfm_tiny_size(NULL, 0, &size));
    CHECK_INT(RFM_ENULL, rfm_tiny_size(&tiny, 0, NULL));
    CHECK_INT(RFM_EVALUE, rfm_tiny_size(&tiny, 6, &size));
    CHECK_INT(RFM_EOVERFLOW, rfm_tiny_size(&tiny, SIZE_MAX - 3, &size));
    CHECK_INT(RFM_EOVERFLOW, rfm_tiny_size(&tiny, 0xfffffffcu, &size));
    CHECK_SIZE(4711, size);
    blob = (unsigned char *)test_take(200);
    CHECK_INT(RFM_ENULL, rfm_tiny_write(&tiny, NULL, 0, NULL, 200));
    CHECK_INT(RFM_ENULL, rfm_tiny_write(NULL, NULL, 0, blob, 200));
    CHECK_INT(RFM_ENULL, rfm_tiny_write(&tiny, NULL, 8, blob, 200));
    CHECK_INT(RFM_EALIGN, rfm_tiny_write(&tiny, NULL, 0, blob + 2, 198));
    put(record, 7, 4), put(record + 4, 10, 4); /* 8 + 10 + 2 */
    if (!test_little_endian()) {
        CHECK_INT(RFM_ETYPE, rfm_tiny_write(&tiny, NULL, 0, blob, 200));
        CHECK(blob[0] == 0xff);
        return;
    }
    CHECK_INT(RFM_EVALUE, rfm_tiny_write(&tiny, record, 12, blob, 200)); /* cut off */
    CHECK_INT(RFM_EVALUE, rfm_tiny_write(&tiny, record, 24, blob, 200)); /* and 4 bytes more */
    put(record, 257, 4);
    CHECK_INT(RFM_EVALUE, rfm_tiny_write(&tiny, record, 20, blob, 200)); /* ten names */
    put(record + 4, 3, 4);
    CHECK_INT(RFM_EVALUE, rfm_tiny_write(&tiny, record, 12, blob, 200)); /* three, one for each input */
    put(record, 256, 4), put(record + 4, 2, 4);
    CHECK_INT(RFM_EVALUE, rfm_tiny_write(&tiny, record, 12, blob, 200)); /* two, one for each class */
    for (size = 0; size < 200; size++) CHECK(blob[size] == 0xff);
    put(record, 7, 4), put(record + 4, 10, 4);
    memset(record + 8, 'x', 10);
    CHECK_INT(RFM_OK, rfm_tiny_size(&tiny, 20, &size));
    CHECK_INT(RFM_EARENA, rfm_tiny_write(&tiny, record, 20, blob, size - 1));
    CHECK_INT(RFM_OK, rfm_tiny_write(&tiny, record, 20, blob, size));
    CHECK(memcmp(blob + size - 20, record, 20) == 0);
    CHECK_INT(RFM_OK, open_it(blob, size));
    check_same_model(&tiny, &opened);
}

/* ---- networks ------------------------------------------------------------------------------- */

typedef struct {
    size_t n, d, c, r;
    int task, labels, offset, each, scaled;
} net_shape;

static const net_shape nets[] = {
    {1, 1, 1, 1, RFM_REGRESS, 0, 0, 0, 0},    {1, 1, 1, 1, RFM_CLASSIFY, 0, 1, 0, 1},
    {5, 3, 2, 2, RFM_CLASSIFY, 1, 1, 1, 1},   {6, 4, 3, 2, RFM_CLASSIFY, 0, 0, 0, 1},
    {7, 5, 3, 4, RFM_REGRESS, 0, 1, 1, 1},    {9, 3, 5, 3, RFM_CLASSIFY, 1, 0, 0, 0},
    {12, 8, 2, 8, RFM_REGRESS, 0, 1, 0, 1},   {40, 20, 4, 4, RFM_CLASSIFY, 1, 1, 1, 1},
    {3, 600, 2, 2, RFM_CLASSIFY, 0, 1, 0, 0}, {600, 2, 1, 2, RFM_REGRESS, 0, 0, 0, 0},
};

static rfm_hyperbf f, seen;
static rfm_tiny_inputs in;
static rfm_real *mean, *scale;
static int8_t *exponents;

static rfm_real *reals(size_t count, uint32_t stream, double size) {
    rfm_real *at = (rfm_real *)test_take(count * sizeof(rfm_real));
    size_t i;
    for (i = 0; at != NULL && i < count; i++) at[i] = (rfm_real)(size * test_number(stream, i, 1));
    return at;
}

static int net_arrays(rfm_hyperbf *to, const net_shape *s) {
    memset(to, 0, sizeof *to);
    to->n = s->n, to->d = s->d, to->c = s->c, to->r = s->r;
    to->kernel = RFM_GAUSSIAN, to->exponent = 1, to->bandwidth = (rfm_real)0.9;
    to->shift = reals(s->d, 1, 0.5), to->alpha = reals(s->n * s->c, 2, 1), to->centers = reals(s->n * s->r, 3, 1.5);
    to->p = reals(s->r * s->d, 4, 0.7), to->offset = s->offset ? reals(s->c, 5, 2) : NULL;
    return to->shift != NULL && to->alpha != NULL && to->centers != NULL && to->p != NULL &&
           (!s->offset || to->offset != NULL);
}

/* 0: no room. */
static int make_net_of(const net_shape *s, size_t which) {
    size_t i, k;
    test_reset();
    test_note("net:", which, 0, 0);
    if (!net_arrays(&f, s) || !net_arrays(&seen, s)) return 0;
    mean = reals(s->d, 6, 3), scale = reals(s->d, 7, 1), exponents = (int8_t *)test_take(s->d);
    f.labels = s->labels ? (uint32_t *)test_take(4 * s->n) : NULL;
    x = (int16_t *)test_take(2 * s->d), scores = (int32_t *)test_take(4 * s->c), scratch = (int8_t *)test_take(s->r);
    if (scratch == NULL || scores == NULL || x == NULL || exponents == NULL || scale == NULL || mean == NULL) return 0;
    if (s->labels && f.labels == NULL) return 0;
    for (i = 0; i < s->d; i++) {
        scale[i] += (rfm_real)1.25;
        exponents[i] = (int8_t)(s->each ? 6 + (int)(i % 4) : 8);
    }
    for (i = 0; s->labels && i < s->n; i++) { /* of five classes or more the last but one is empty */
        f.labels[i] = (uint32_t)(i * 7 % s->c);
        if (s->c > 4 && f.labels[i] == s->c - 2) f.labels[i] = 0;
        for (k = 0; k < s->c; k++)
            if (k != f.labels[i]) f.alpha[i * s->c + k] = 0;
    }
    if (s->labels) memcpy(seen.alpha, f.alpha, s->n * s->c * sizeof(rfm_real));
    in.mean = s->scaled ? mean : NULL, in.scale = s->scaled ? scale : NULL;
    in.exponents = exponents, in.task = s->task;
    return 1;
}

static int make_net(size_t which) { return make_net_of(&nets[which], which); }

/* On exactly the memory that it needs; the model stays in the pool. TEST_SKIP: no room. */
static int run_make(void) {
    static rfm_tiny before;
    rfm_arena store;
    size_t bytes = 0;
    void *memory;
    int status = rfm_tiny_make_need(&f, &bytes);
    if (status != RFM_OK) return status;
    if ((memory = test_take(bytes)) == NULL) return TEST_SKIP;
    memset(&tiny, 0x5a, sizeof tiny);
    before = tiny;
    CHECK_INT(RFM_OK, rfm_arena_init(&store, memory, bytes - 1));
    status = rfm_tiny_make(&f, &in, &store, &tiny);
    CHECK(status != RFM_OK && store.used == 0 && store.status == RFM_OK);
    CHECK(memcmp(&tiny, &before, sizeof tiny) == 0);
    if (status == RFM_EARENA) {
        CHECK_INT(RFM_OK, rfm_arena_init(&store, memory, bytes));
        status = rfm_tiny_make(&f, &in, &store, &tiny);
        CHECK_INT(RFM_OK, store.status);
        CHECK_SIZE(status == RFM_OK ? bytes : 0, store.used);
    }
    if (status != RFM_OK) CHECK(memcmp(&tiny, &before, sizeof tiny) == 0);
    return status;
}

/* Which of the network's centres is number a of the model. */
static size_t source_of(size_t a) {
    size_t i, k, count = 0;
    if (f.labels == NULL) return a;
    for (k = 0; k < f.c; k++)
        for (i = 0; i < f.n; i++)
            if (f.labels[i] == k && count++ == a) return i;
    return f.n;
}

static double unit_of(void) { return pow(2, tiny.phi_shift / 2.0) * sqrt(1 / log(2) / 2) / (double)f.bandwidth; }
static double gain_of(size_t j) {
    return unit_of() / (in.scale != NULL ? (double)scale[j] : 1) * pow(2, -in.exponents[j]);
}

/* What 1 in alpha of output k stands for, by the largest alpha and the largest offset: at most 127 and 32767. A step of
 * alpha is 96 of an offset: RFM_TINY_ONE / RFM_TINY_OFFSET. */
static double step_of(size_t k) {
    double step = 0;
    size_t i;
    for (i = 0; i < f.n * f.c; i++)
        if (in.task == RFM_CLASSIFY || i % f.c == k) step = fmax(step, fabs((double)f.alpha[i]) / 127);
    for (i = 0; f.offset != NULL && i < f.c; i++)
        if (in.task == RFM_CLASSIFY || i == k) step = fmax(step, fabs((double)f.offset[i]) * 96 / 32767);
    return step;
}

/* A parameter, what is seen of it, and the integer, in units of 1 / steps: the integer is what is seen, and nearest to
 * the parameter. */
static void check_rounded(double value, double as_seen, int integer, double steps) {
    CHECK_BELOW(fabs(as_seen * steps - integer), 127 * 20 * (double)FLT_EPSILON);
    CHECK_BELOW(fabs(value * steps - integer), 0.5 + 127 * 20 * (double)FLT_EPSILON);
}

static void test_project(void) {
    size_t which, i, j, p, k;
    for (which = 0; which < TEST_LENGTH(nets); which++) {
        int status, most = 0;
        if (!make_net(which) || (status = run_make()) == TEST_SKIP) continue;
        CHECK_INT(RFM_OK, status);
        CHECK_INT(RFM_OK, rfm_tiny_project(&in, &f, &seen));
        for (p = 0; p < f.r; p++) {
            int largest = 0, sum = 0;
            for (j = 0; j < f.d; j++) {
                const int value = tiny.p[p * f.d + j];
                check_rounded((double)f.p[p * f.d + j], (double)seen.p[p * f.d + j], value,
                              gain_of(j) * pow(2, tiny.shifts[p]));
                largest = abs(value) > largest ? abs(value) : largest, sum += abs(value);
            }
            CHECK(largest >= 63 || tiny.shifts[p] == 31 || sum > 65535 / 2 - (int)f.d); /* all bits are used */
        }
        for (i = 0; i < f.n; i++)
            for (p = 0; p < f.r; p++) {
                const size_t from = source_of(i) * f.r + p;
                const int value = tiny.centers[i * f.r + p];
                check_rounded((double)f.centers[from], (double)seen.centers[from], value, unit_of());
                most = abs(value) > most ? abs(value) : most;
            }
        CHECK(most >= 89 || tiny.phi_shift == 14); /* 127.5 / sqrt(2) */
        for (k = 0; k < f.c; k++) {
            const double step = in.task == RFM_REGRESS ? (double)tiny.units[k] * RFM_TINY_ONE : step_of(k);
            if (f.n < 500)
                CHECK_BELOW(fabs(step - step_of(k)), 4e-7 * step); /* so few do not need more for their sum */
            for (i = 0; i < f.n; i++) {
                const size_t from = source_of(i);
                if (f.labels != NULL && f.labels[from] != k) continue;
                check_rounded((double)f.alpha[from * f.c + k], (double)seen.alpha[from * f.c + k],
                              tiny.alpha[f.labels != NULL ? i : i * f.c + k], 1 / step);
            }
            CHECK((f.offset == NULL) == (tiny.offset == NULL));
            if (f.offset != NULL) {
                CHECK_BELOW(fabs((double)seen.offset[k] * 96 / step - tiny.offset[k]), 0.01);
                CHECK_BELOW(fabs((double)f.offset[k] * 96 / step - tiny.offset[k]), 0.51);
            }
        }
        CHECK((f.labels == NULL) == (tiny.counts == NULL) && tiny.task == in.task);
        CHECK((tiny.units == NULL) == (in.task == RFM_CLASSIFY));
        for (j = 0; j < f.d; j++)
            CHECK_INT(in.exponents[j], tiny.exponents != NULL ? tiny.exponents[j] : tiny.exponent);
        for (i = 0; f.labels != NULL && i < f.n; i++) { /* centres of class k are where the counts say */
            size_t first = 0;
            for (k = 0; k < f.labels[source_of(i)]; k++) first += tiny.counts[k];
            CHECK(i >= first && i < first + tiny.counts[k]);
        }
    }
}

/* z of the network as it is seen, at the integers x, in the model's units. */
static double z_of(const rfm_hyperbf *of, size_t p) {
    double z = 0;
    size_t j;
    for (j = 0; j < f.d; j++) {
        double input = x[j] * pow(2, -in.exponents[j]);
        if (in.mean != NULL) input = (input - (double)mean[j]) / (double)scale[j];
        z += (double)of->p[p * f.d + j] * (input - (double)f.shift[j]);
    }
    return z * unit_of();
}

static double clamped(double z) { return z > 127 ? 127 : z < -128 ? -128 : z; }

/* A score lies where it may: z is off by 1 at most, each phi by 0.35 % and the last bit. And it is near to that of the
 * network before rounding. */
static void check_scores(size_t row) {
    size_t i, p, k;
    CHECK_INT(RFM_OK, rfm_tiny_predict(&tiny, x, scores, scratch, NULL));
    for (p = 0; p < f.r; p++) CHECK_BELOW(fabs(scratch[p] - clamped(z_of(&seen, p))), 1 + 1e-3 + 2000 * TEST_EPS);
    for (k = 0; k < f.c; k++) {
        double low, high, truth = f.offset != NULL ? (double)f.offset[k] : 0, sum = fabs(truth), unit;
        low = high = tiny.offset != NULL ? tiny.offset[k] * 256.0 : 0;
        for (i = 0; i < f.n; i++) {
            const size_t from = source_of(i);
            double t_low = 0, t_high = 0, t = 0, a, b, alpha = (double)f.alpha[from * f.c + k];
            const int weight = f.labels == NULL ? tiny.alpha[i * f.c + k] : f.labels[from] == k ? tiny.alpha[i] : 0;
            for (p = 0; p < f.r; p++) {
                const double apart = fabs(clamped(z_of(&seen, p)) - tiny.centers[i * f.r + p]);
                const double exact = z_of(&f, p) - (double)f.centers[from * f.r + p] * unit_of();
                t_low += apart > 1.01 ? (apart - 1.01) * (apart - 1.01) : 0, t_high += (apart + 1.01) * (apart + 1.01);
                t += exact * exact;
            }
            a = RFM_TINY_ONE * pow(2, -t_high / (1 << tiny.phi_shift)) * 0.9965 - 1;
            b = RFM_TINY_ONE * pow(2, -t_low / (1 << tiny.phi_shift)) * 1.0035 + 1;
            low += weight * (weight > 0 ? a : b), high += weight * (weight > 0 ? b : a);
            truth += alpha * pow(2, -t / (1 << tiny.phi_shift));
            sum += fabs(alpha);
        }
        test_note("row, output:", row, k, 0);
        CHECK(scores[k] >= low && scores[k] <= high);
        unit = in.task == RFM_REGRESS ? (double)tiny.units[k] : step_of(k) / RFM_TINY_ONE;
        if (f.n < 500 && f.d < 500) CHECK_BELOW(fabs(scores[k] * unit - truth), 0.03 * sum);
    }
}

static void test_scores(void) {
    size_t which, row, j;
    for (which = 0; which < TEST_LENGTH(nets); which++) {
        int status;
        if (!make_net(which) || (status = run_make()) == TEST_SKIP) continue;
        if (TEST_RAM < (1ul << 20) && f.n * f.d > 100) continue; /* slow */
        CHECK_INT(RFM_OK, status);
        CHECK_INT(RFM_OK, rfm_tiny_project(&in, &f, &seen));
        for (row = 0; row < 6; row++) {
            for (j = 0; j < f.d; j++) { /* about as far from the mean as the centres are */
                double raw = test_number((uint32_t)row + 50, j, which) * (f.d > 100 ? 0.2 : 2);
                if (in.mean != NULL) raw = (double)mean[j] + (double)scale[j] * raw;
                x[j] = (int16_t)floor(raw * pow(2, in.exponents[j]));
            }
            check_scores(row);
        }
    }
}

/* The same integers from numbers that are times a power of two. */
static void test_scaled(void) {
    static rfm_tiny first;
    static const int powers[] = {-20, -3, 1, 17};
    size_t which, w, i;
    for (which = 2; which < 8; which++)
        for (w = 0; w < TEST_LENGTH(powers); w++) {
            const int power = powers[w];
            if (!make_net(which) || run_make() == TEST_SKIP) continue;
            first = tiny;
            for (i = 0; i < f.n * f.c; i++) f.alpha[i] *= (rfm_real)pow(2, power);
            for (i = 0; f.offset != NULL && i < f.c; i++) f.offset[i] *= (rfm_real)pow(2, power);
            if (run_make() == TEST_SKIP) continue;
            for (i = 0; tiny.units != NULL && i < f.c; i++)
                CHECK((double)tiny.units[i] == (double)first.units[i] * pow(2, power));
            tiny.units = first.units;
            check_same_model(&first, &tiny);
            for (i = 0; i < f.r * f.d; i++) f.p[i] *= (rfm_real)pow(2, power);
            for (i = 0; i < f.n * f.r; i++) f.centers[i] *= (rfm_real)pow(2, power);
            f.bandwidth *= (rfm_real)pow(2, power);
            if (run_make() == TEST_SKIP) continue;
            tiny.units = first.units;
            check_same_model(&first, &tiny);
            if (in.scale == NULL) continue;
            for (i = 0; i < f.d; i++) {
                mean[i] *= (rfm_real)pow(2, power), scale[i] *= (rfm_real)pow(2, power);
                exponents[i] = (int8_t)(exponents[i] - power);
            }
            if (run_make() == TEST_SKIP) continue;
            tiny.units = first.units, tiny.exponent = first.exponent;
            tiny.exponents = first.exponents;
            check_same_model(&first, &tiny);
        }
}

/* Networks at the edges of what integers can hold. */
static void test_make_edges(void) {
    size_t i;
    if (!make_net(4)) TEST_IGNORE_MESSAGE("no room"); /* n 7, d 5, c 3, r 4, regression */
    memset(f.alpha, 0, f.n * f.c * sizeof(rfm_real)); /* only the offset */
    CHECK_INT(RFM_OK, run_make());
    for (i = 0; i < f.c; i++)
        CHECK_BELOW(fabs((double)tiny.units[i] * 256 * tiny.offset[i] - (double)f.offset[i]), 1e-4);
    CHECK_INT(RFM_OK, rfm_tiny_project(&in, &f, &seen));
    for (i = 0; i < f.n * f.c; i++) CHECK(seen.alpha[i] == 0 && tiny.alpha[i] == 0);
    memset(f.offset, 0, f.c * sizeof(rfm_real)); /* nothing at all */
    CHECK_INT(RFM_OK, run_make());
    for (i = 0; i < f.c; i++) CHECK(tiny.offset[i] == 0 && tiny.units[i] > 0);
    CHECK_INT(RFM_OK, rfm_tiny_project(&in, &f, &seen));

    make_net(4); /* an offset far above alpha: then alpha has fewer bits */
    f.offset[1] = -20;
    CHECK_INT(RFM_OK, run_make());
    CHECK_INT(-32767, tiny.offset[1]);
    for (i = 0; i < f.n; i++) CHECK(abs(tiny.alpha[i * f.c + 1]) <= 18 && abs(tiny.alpha[i * f.c]) <= 127);
    CHECK_INT(RFM_OK, rfm_tiny_project(&in, &f, &seen));
    CHECK_BELOW(fabs((double)seen.offset[1] + 20), 1e-4);

    make_net(4); /* a row of zeros, and inputs that do not matter */
    for (i = 0; i < f.d; i++) f.p[i] = 0, f.p[i * 4 % (f.r * f.d)] = 0;
    memset(f.p, 0, f.d * sizeof(rfm_real));
    CHECK_INT(RFM_OK, run_make());
    CHECK_INT(31, tiny.shifts[0]);
    CHECK_INT(RFM_OK, rfm_tiny_project(&in, &f, &seen));

    make_net(4); /* all centres at the middle */
    memset(f.centers, 0, f.n * f.r * sizeof(rfm_real));
    CHECK_INT(RFM_OK, run_make());
    CHECK_SIZE(14, tiny.phi_shift);

    make_net(4); /* centres too far away for the width, and just not */
    f.centers[3] = (rfm_real)(127.4 * 0.9 / 0.8493218);
    CHECK_INT(RFM_OK, run_make());
    CHECK(tiny.phi_shift == 0 && tiny.centers[3] == 127);
    f.centers[3] = (rfm_real)(127.6 * 0.9 / 0.8493218);
    CHECK_INT(RFM_ERANGE, run_make());
    CHECK_INT(RFM_ERANGE, rfm_tiny_project(&in, &f, &seen));
    f.centers[3] = (rfm_real)1e30;
    CHECK_INT(RFM_ERANGE, run_make());

    make_net(4); /* an input that would move z by more than 127 for each count */
    exponents[2] = -126;
    CHECK_INT(RFM_ERANGE, run_make());
    CHECK_INT(RFM_ERANGE, rfm_tiny_project(&in, &f, &seen));
    make_net(4); /* one that does next to nothing */
    exponents[2] = 120;
    CHECK_INT(RFM_OK, run_make());
    for (i = 0; i < f.r; i++) CHECK_INT(0, tiny.p[i * f.d + 2]);
    CHECK_INT(RFM_OK, rfm_tiny_project(&in, &f, &seen));
    for (i = 0; i < f.r; i++) CHECK(seen.p[i * f.d + 2] == 0);
    scale[2] = (rfm_real)1e-38;
    exponents[2] = -120; /* the gain is no number */
    CHECK_INT(RFM_ERANGE, run_make());
    CHECK_INT(RFM_ERANGE, rfm_tiny_project(&in, &f, &seen));
    make_net(4); /* a mean that bias has no room for */
    mean[1] = (rfm_real)1e6;
    CHECK_INT(RFM_ERANGE, run_make());
    make_net(4);
    f.alpha[3] = (rfm_real)1e-36; /* its unit would not be a normal float */
    for (i = 0; i < f.n; i++) f.alpha[i * f.c] = i == 1 ? (rfm_real)1e-36 : 0;
    f.offset[0] = 0;
    CHECK_INT(RFM_ERANGE, run_make());
    CHECK_INT(RFM_ERANGE, rfm_tiny_project(&in, &f, &seen));
}

/* The sums that the reader checks: a row of many inputs, an output of many centres. */
static void test_make_sums(void) {
    size_t i, sum = 0;
    if (make_net(8)) { /* d = 600 */
        for (i = 0; i < f.r * f.d; i++) f.p[i] = (rfm_real)(i % 2 ? 0.5 : -0.5);
        if (run_make() == RFM_OK) {
            for (i = 0; i < f.d; i++) sum += (size_t)abs(tiny.p[i]);
            CHECK(sum <= 65535 && sum > 600 * 31);
        }
    }
    if (!make_net(9) || sizeof(rfm_real) * 600 > TEST_RAM / 4) return; /* n = 600 */
    for (i = 0; i < f.n; i++) f.alpha[i] = (rfm_real)(i % 2 ? 1 : -1);
    if (run_make() != RFM_OK) return;
    for (sum = 0, i = 0; i < f.n; i++) sum += (size_t)abs(tiny.alpha[i]);
    CHECK(sum <= 65279 && sum > 60000);
}

/* ---- refusals of making --------------------------------------------------------------------- */

static void check_refused(int status, int also_project) {
    static rfm_tiny before;
    rfm_arena store;
    size_t mark = test_mark();
    void *memory = test_take(512);
    CHECK(memory != NULL);
    memset(&tiny, 0x5a, sizeof tiny);
    before = tiny;
    CHECK_INT(RFM_OK, rfm_arena_init(&store, memory, 512));
    CHECK_INT(status, rfm_tiny_make(&f, &in, &store, &tiny));
    CHECK(memcmp(&tiny, &before, sizeof tiny) == 0 && store.used == 0 && store.status == RFM_OK);
    if (also_project) CHECK_INT(status, rfm_tiny_project(&in, &f, &seen));
    test_rewind(mark);
}

static void test_make_refuses(void) {
    rfm_arena store;
    size_t bytes = 4711;
#define REFUSED(change, status, also_project) \
    do {                                      \
        CHECK(make_net(2));                   \
        change;                               \
        check_refused(status, also_project);  \
    } while (0)
    if (!make_net(2) || test_take(700) == NULL) TEST_IGNORE_MESSAGE("no room"); /* n 5, d 3, c 2, r 2, labels */
    REFUSED(f.shift = NULL, RFM_ENULL, 1);
    REFUSED(f.alpha = NULL, RFM_ENULL, 1);
    REFUSED(f.centers = NULL, RFM_ENULL, 1);
    REFUSED(f.p = NULL, RFM_ENULL, 1);
    REFUSED(in.exponents = NULL, RFM_ENULL, 1);
    REFUSED(f.n = 0, RFM_EZERO, 1);
    REFUSED(f.d = 0, RFM_EZERO, 1);
    REFUSED(f.c = 0, RFM_EZERO, 1);
    REFUSED(f.r = 0, RFM_EZERO, 1);
    REFUSED(f.n = 65536, RFM_EVALUE, 1);
    REFUSED(f.d = 65536, RFM_EVALUE, 1);
    REFUSED(f.c = 65536, RFM_EVALUE, 1);
    REFUSED((f.r = 256, f.d = 256), RFM_EVALUE, 1);
    REFUSED(f.r = 4, RFM_EVALUE, 1); /* more than d */
    REFUSED(f.kernel = RFM_LAPLACE, RFM_EVALUE, 1);
    REFUSED(f.bandwidth = 0, RFM_EVALUE, 1);
    REFUSED(f.bandwidth = -1, RFM_EVALUE, 1);
    REFUSED(f.bandwidth = (rfm_real)NAN, RFM_EVALUE, 1);
    REFUSED(f.bandwidth = (rfm_real)INFINITY, RFM_EVALUE, 1);
    REFUSED(in.task = 2, RFM_EVALUE, 1);
    REFUSED(in.task = -1, RFM_EVALUE, 1);
    REFUSED(in.task = RFM_REGRESS, RFM_EVALUE, 1); /* of prototypes */
    REFUSED(f.c = 1, RFM_EVALUE, 1);
    REFUSED(scale[1] = 0, RFM_EVALUE, 1);
    REFUSED(scale[1] = -1, RFM_EVALUE, 1);
    REFUSED(scale[1] = (rfm_real)NAN, RFM_EFINITE, 1);
    REFUSED(scale[2] = (rfm_real)INFINITY, RFM_EFINITE, 1);
    REFUSED(mean[1] = (rfm_real)NAN, RFM_EFINITE, 1);
    REFUSED(exponents[1] = 127, RFM_EVALUE, 1);
    REFUSED(exponents[1] = -127, RFM_EVALUE, 1);
    REFUSED(f.centers[9] = (rfm_real)NAN, RFM_EFINITE, 0);
    REFUSED(f.alpha[9] = (rfm_real)INFINITY, RFM_EFINITE, 0);
    REFUSED(f.p[5] = (rfm_real)NAN, RFM_EFINITE, 0);
    REFUSED(f.shift[2] = (rfm_real)NAN, RFM_EFINITE, 0);
    REFUSED(f.offset[1] = (rfm_real)NAN, RFM_EFINITE, 0);
    REFUSED(f.labels[4] = 2, RFM_EVALUE, 0);
    REFUSED(f.labels[4] = 0xffffffffu, RFM_EVALUE, 0);
    REFUSED((f.labels[4] = 2, f.alpha[8] = f.alpha[9] = 0), RFM_EVALUE, 0);
    REFUSED(f.alpha[1 - f.labels[0]] = 1, RFM_EVALUE, 0); /* of another class */
#undef REFUSED
    make_net(2);
    CHECK_INT(RFM_OK, rfm_tiny_project(&in, &f, &seen));
    CHECK_INT(RFM_ENULL, rfm_tiny_project(NULL, &f, &seen));
    CHECK_INT(RFM_ENULL, rfm_tiny_project(&in, NULL, &seen));
    CHECK_INT(RFM_ENULL, rfm_tiny_project(&in, &f, NULL));
    CHECK_INT(RFM_ENULL, rfm_tiny_make_need(NULL, &bytes));
    CHECK_INT(RFM_ENULL, rfm_tiny_make_need(&f, NULL));
    f.kernel = RFM_GENERAL;
    CHECK_INT(RFM_EVALUE, rfm_tiny_make_need(&f, &bytes));
    CHECK_SIZE(4711, bytes);
    f.kernel = RFM_GAUSSIAN;
    rfm_arena_measure(&store);
    CHECK_INT(RFM_EARENA, rfm_tiny_make(&f, &in, &store, &tiny));
    CHECK_INT(RFM_ENULL, rfm_tiny_make(&f, &in, NULL, &tiny));
    CHECK_INT(RFM_ENULL, rfm_tiny_make(&f, &in, &store, NULL));
    CHECK_INT(RFM_ENULL, rfm_tiny_make(NULL, &in, &store, &tiny));
    CHECK_INT(RFM_ENULL, rfm_tiny_make(&f, NULL, &store, &tiny));
    store.status = RFM_EOVERFLOW;
    CHECK_INT(RFM_EOVERFLOW, rfm_tiny_make(&f, &in, &store, &tiny));
}

/* 255 centres of a class are as many as a count holds. */
static void test_make_counts(void) {
    uint32_t *labels;
    size_t i;
    if (sizeof(rfm_real) * 4096 > TEST_RAM) TEST_IGNORE_MESSAGE("no room");
    test_reset();
    memset(&f, 0, sizeof f);
    f.n = 258, f.d = f.r = 1, f.c = 2, f.kernel = RFM_GAUSSIAN, f.exponent = f.bandwidth = 1;
    f.shift = reals(1, 1, 1), f.alpha = reals(2 * f.n, 2, 1), f.centers = reals(f.n, 3, 1), f.p = reals(1, 4, 1);
    f.labels = labels = (uint32_t *)test_take(4 * f.n);
    exponents = (int8_t *)test_take(1);
    exponents[0] = 3;
    memset(&in, 0, sizeof in);
    in.exponents = exponents, in.task = RFM_CLASSIFY;
    for (i = 0; i < f.n; i++) labels[i] = i % 86 == 1, f.alpha[2 * i + 1 - labels[i]] = 0;
    CHECK_INT(RFM_OK, run_make());
    CHECK(tiny.counts[0] == 255 && tiny.counts[1] == 3);
    labels[1] = 0, f.alpha[2] = 1, f.alpha[3] = 0;
    CHECK_INT(RFM_EVALUE, run_make());
}

/* ---- exponents ------------------------------------------------------------------------------ */

/* What fits into a few hundred bytes: at least one centre for each class, and a rank of 5 or 6. */
static void test_budgets(void) {
    static const struct {
        net_shape shape;
        size_t bytes;
    } small[] = {
        {{9, 18, 4, 5, RFM_CLASSIFY, 1, 1, 0, 1}, 200},
        {{26, 16, 26, 6, RFM_CLASSIFY, 1, 1, 0, 1}, 400},
        {{20, 36, 6, 5, RFM_CLASSIFY, 1, 1, 0, 1}, 360},
        {{31, 120, 5, 6, RFM_CLASSIFY, 1, 1, 0, 1}, 1000},
    };
    size_t which, i, k, size;
    NEED_BLOBS();
    for (which = 0; which < TEST_LENGTH(small); which++) {
        unsigned char *blob;
        int status;
        if (!make_net_of(&small[which].shape, which)) continue;
        for (i = 0; i < f.n; i++) {
            f.labels[i] = (uint32_t)(i % f.c);
            for (k = 0; k < f.c; k++)
                f.alpha[i * f.c + k] = (rfm_real)(k == f.labels[i] ? 0.75 + 0.25 * test_number(60, i, k) : 0);
        }
        if ((status = run_make()) == TEST_SKIP) continue;
        CHECK_INT(RFM_OK, status);
        CHECK_INT(RFM_OK, rfm_tiny_size(&tiny, 0, &size));
        CHECK(size <= small[which].bytes && size + 8 > small[which].bytes);
        blob = (unsigned char *)test_take(size);
        if (blob == NULL) continue;
        CHECK_INT(RFM_OK, rfm_tiny_write(&tiny, NULL, 0, blob, size));
        CHECK_INT(RFM_OK, open_it(blob, size));
        check_same_model(&tiny, &opened);
        for (k = 0; k < f.c; k++) CHECK(opened.counts[k] >= 1);
        for (i = 0; i < f.d; i++) x[i] = (int16_t)(300 * test_number(61, i, which));
        check_prediction(&opened);
    }
}

static void check_exponents(rfm_real a, rfm_real b, int each, int e0, int e1) {
    const rfm_real rows[4] = {a, b, -a / 2, b};
    int8_t e[2] = {99, 99};
    CHECK_INT(RFM_OK, rfm_tiny_exponents(rfm_cview(rows, 2, 2), each, e));
    CHECK_INT(e0, e[0]);
    CHECK_INT(e1, e[1]);
}

static void test_exponents(void) {
    rfm_real rows[6] = {-32768, 1, 32767, 5, 0, 3};
    int8_t e[2] = {99, 99};
    rfm_cmat view = rfm_cview(rows, 3, 2);
    check_exponents((rfm_real)0.75, (rfm_real)0.5, 0, 15, 15); /* 0.75 2^15 = 24576 */
    check_exponents((rfm_real)0.75, (rfm_real)1.5, 0, 14, 14);
    check_exponents((rfm_real)0.75, 100, 0, 0, 0); /* an integer stays */
    check_exponents((rfm_real)0.75, 3, 0, 13, 13); /* small ones need not */
    check_exponents((rfm_real)0.75, (rfm_real)100.5, 0, 8, 8);
    check_exponents((rfm_real)0.75, 40000, 0, -1, -1);
    check_exponents(0, 0, 0, 0, 0);
    check_exponents(0, (rfm_real)1.5, 0, 14, 14);
    check_exponents(0, (rfm_real)1.5, 1, 0, 7);
    check_exponents((rfm_real)0.75, 40000, 1, 7, -8); /* 1.125 2^7 = 144; 40000 / 256 = 156 */
    check_exponents((rfm_real)1e-37, (rfm_real)1e-38, 0, 126, 126);
    check_exponents((rfm_real)3e38, 1, 0, -113, -113); /* the width does not fit into a float */
    check_exponents((rfm_real)3e38, 1, 1, -121, 7);
    CHECK_INT(RFM_OK, rfm_tiny_exponents(view, 0, e)); /* all of int16_t */
    CHECK(e[0] == 0 && e[1] == 0);
    rows[2] = 32768;
    CHECK_INT(RFM_OK, rfm_tiny_exponents(view, 0, e));
    CHECK(e[0] == -1 && e[1] == -1);
    rows[0] = 1000, rows[2] = (rfm_real)1000.5,
    rows[4] = (rfm_real)1000.25; /* far from 0: 16 bits hold no 8 of the width */
    CHECK_INT(RFM_OK, rfm_tiny_exponents(view, 1, e));
    CHECK(e[0] == 5 && e[1] == 5);
    e[0] = e[1] = 99;
    CHECK_INT(RFM_ENULL, rfm_tiny_exponents(view, 0, NULL));
    view.at = NULL;
    CHECK_INT(RFM_ENULL, rfm_tiny_exponents(view, 0, e));
    view = rfm_cview(rows, 0, 2);
    CHECK_INT(RFM_EZERO, rfm_tiny_exponents(view, 0, e));
    view = rfm_cview(rows, 3, 0);
    CHECK_INT(RFM_EZERO, rfm_tiny_exponents(view, 0, e));
    view = rfm_cview(rows, 3, 2);
    view.stride = 1;
    CHECK_INT(RFM_ESTRIDE, rfm_tiny_exponents(view, 0, e));
    view = rfm_cview(rows, SIZE_MAX / 2, 2);
    CHECK_INT(RFM_EOVERFLOW, rfm_tiny_exponents(view, 0, e));
    view = rfm_cview(rows, 3, 2);
    rows[5] = (rfm_real)NAN;
    CHECK_INT(RFM_EFINITE, rfm_tiny_exponents(view, 1, e));
#if RFM_REAL_BYTES == 8
    rows[5] = 1e60;
    CHECK_INT(RFM_ERANGE, rfm_tiny_exponents(view, 0, e));
    CHECK_INT(RFM_ERANGE, rfm_tiny_exponents(view, 1, e));
#endif
    CHECK(e[0] == 99 && e[1] == 99);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_predict);
    RUN_TEST(test_extremes);
    RUN_TEST(test_phi);
    RUN_TEST(test_class);
    RUN_TEST(test_predict_refuses);
    RUN_TEST(test_integers);
    RUN_TEST(test_round);
    RUN_TEST(test_example);
    RUN_TEST(test_open_refuses);
    RUN_TEST(test_open_content);
    RUN_TEST(test_open_sums);
    RUN_TEST(test_forged);
    RUN_TEST(test_tail);
    RUN_TEST(test_write_refuses);
    RUN_TEST(test_project);
    RUN_TEST(test_scores);
    RUN_TEST(test_scaled);
    RUN_TEST(test_make_edges);
    RUN_TEST(test_make_sums);
    RUN_TEST(test_make_refuses);
    RUN_TEST(test_make_counts);
    RUN_TEST(test_budgets);
    RUN_TEST(test_exponents);
    return UNITY_END();
}
