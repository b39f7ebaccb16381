/* Makes the models of integers of predict_i.c and measure.c, and the checksums of their results: make_models_i FOLDER
 *
 * Runs on the machine that compiles. The numbers come from a fixed random stream, the blobs from rfm_model_write_i. The
 * results are computed here, by the definitions in rfm_small.h and FORMAT.md alone: 64-bit integers, division that
 * rounds down, no code of the library. Writes FOLDER/models_i.h: every model as arrays and as a blob, and the CRC-32 of
 * all scores, notes and classes of its inputs. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs_i.h"
#include "rfm_small.h"

#define INPUTS 1000
#define MOST   4096                /* numbers of the largest array */
#define ROOM   (power(31) - 32769) /* the largest sum of magnitudes that is allowed */

enum { USUAL, LARGEST, RANDOM_PHI };

typedef struct {
    const char *name;
    int type, metric, task; /* metric: + RFM_ABSOLUTE for sums of absolute differences */
    size_t n, d, c, r;
    int kind;
    size_t nodes; /* of RANDOM_PHI */
} spec;

/* The first eight are those that are measured. */
static const spec specs[] = {
    {"rank16_i8", RFM_I8, RFM_FULL, RFM_CLASSIFY, 64, 16, 4, 16, USUAL, 0},
    {"rank8_i8", RFM_I8, RFM_FULL, RFM_CLASSIFY, 64, 16, 4, 8, USUAL, 0},
    {"rank16_i16", RFM_I16, RFM_FULL, RFM_CLASSIFY, 64, 16, 4, 16, USUAL, 0},
    {"rank8_i16", RFM_I16, RFM_FULL, RFM_CLASSIFY, 64, 16, 4, 8, USUAL, 0},
    {"rank16_l1_i8", RFM_I8, RFM_FULL + RFM_ABSOLUTE, RFM_CLASSIFY, 64, 16, 4, 16, USUAL, 0},
    {"rank8_l1_i8", RFM_I8, RFM_FULL + RFM_ABSOLUTE, RFM_CLASSIFY, 64, 16, 4, 8, USUAL, 0},
    {"rank16_l1_i16", RFM_I16, RFM_FULL + RFM_ABSOLUTE, RFM_CLASSIFY, 64, 16, 4, 16, USUAL, 0},
    {"rank8_l1_i16", RFM_I16, RFM_FULL + RFM_ABSOLUTE, RFM_CLASSIFY, 64, 16, 4, 8, USUAL, 0},
    {"largest_l1_i8", RFM_I8, RFM_FULL + RFM_ABSOLUTE, RFM_REGRESS, 31, 17, 4, 13, LARGEST, 0},
    {"largest_l1_i16", RFM_I16, RFM_FULL + RFM_ABSOLUTE, RFM_REGRESS, 31, 18, 4, 14, LARGEST, 0},
    {"diagonal_l1_i8", RFM_I8, RFM_DIAGONAL + RFM_ABSOLUTE, RFM_CLASSIFY, 21, 11, 1, 11, USUAL, 0},
    {"diagonal_l1_i16", RFM_I16, RFM_DIAGONAL + RFM_ABSOLUTE, RFM_CLASSIFY, 21, 9, 1, 9, USUAL, 0},
    {"largest_l1_diagonal_i8", RFM_I8, RFM_DIAGONAL + RFM_ABSOLUTE, RFM_REGRESS, 7, 10, 3, 10, LARGEST, 0},
    {"wild_l1_i8", RFM_I8, RFM_FULL + RFM_ABSOLUTE, RFM_CLASSIFY, 19, 6, 4, 7, RANDOM_PHI, 233},
    {"wild_l1_i16", RFM_I16, RFM_FULL + RFM_ABSOLUTE, RFM_CLASSIFY, 18, 6, 5, 2, RANDOM_PHI, 232},
    {"one_l1_i8", RFM_I8, RFM_DIAGONAL + RFM_ABSOLUTE, RFM_CLASSIFY, 1, 1, 1, 1, RANDOM_PHI, 2},
    {"largest_i8", RFM_I8, RFM_FULL, RFM_REGRESS, 31, 17, 4, 13, LARGEST, 0},
    {"largest_i16", RFM_I16, RFM_FULL, RFM_REGRESS, 31, 18, 4, 14, LARGEST, 0},
    {"largest_few_i16", RFM_I16, RFM_FULL, RFM_REGRESS, 5, 15, 1, 3, LARGEST, 0},
    {"diagonal_i8", RFM_I8, RFM_DIAGONAL, RFM_CLASSIFY, 21, 11, 1, 11, USUAL, 0},
    {"diagonal_i16", RFM_I16, RFM_DIAGONAL, RFM_CLASSIFY, 21, 9, 1, 9, USUAL, 0},
    {"largest_diagonal_i8", RFM_I8, RFM_DIAGONAL, RFM_REGRESS, 7, 10, 3, 10, LARGEST, 0},
    {"largest_diagonal_i16", RFM_I16, RFM_DIAGONAL, RFM_REGRESS, 7, 4, 4, 4, LARGEST, 0},
    {"ten_i8", RFM_I8, RFM_FULL, RFM_CLASSIFY, 33, 7, 10, 5, USUAL, 0},
    {"ten_i16", RFM_I16, RFM_FULL, RFM_CLASSIFY, 33, 7, 10, 6, USUAL, 0},
    {"one_i8", RFM_I8, RFM_FULL, RFM_CLASSIFY, 1, 1, 1, 1, RANDOM_PHI, 2},
    {"one_i16", RFM_I16, RFM_DIAGONAL, RFM_CLASSIFY, 1, 1, 1, 1, RANDOM_PHI, 1},
    {"wild_i8", RFM_I8, RFM_FULL, RFM_CLASSIFY, 19, 6, 4, 7, RANDOM_PHI, 233},
    {"wild_i16", RFM_I16, RFM_FULL, RFM_CLASSIFY, 18, 6, 5, 2, RANDOM_PHI, 232},
    {"short_i8", RFM_I8, RFM_FULL, RFM_CLASSIFY, 2, 3, 4, 4, RANDOM_PHI, 90},
    {"wide_i8", RFM_I8, RFM_DIAGONAL, RFM_REGRESS, 6, 66, 2, 66, USUAL, 0},
    {"wide_i16", RFM_I16, RFM_FULL, RFM_REGRESS, 6, 64, 2, 21, USUAL, 0},
    {"tall_i8", RFM_I8, RFM_FULL, RFM_REGRESS, 43, 6, 3, 66, USUAL, 0},
    {"tall_i16", RFM_I16, RFM_FULL, RFM_REGRESS, 43, 5, 2, 39, USUAL, 0},
};
#define SPECS (sizeof specs / sizeof specs[0])

static int metric_of(const spec *s) { return s->metric & (RFM_ABSOLUTE - 1); }
static int is_absolute(const spec *s) { return s->metric >= RFM_ABSOLUTE; }

static uint32_t state = 88172645u;

/* From low to high, both included. */
static int64_t between(int64_t low, int64_t high) {
    return low + (int64_t)((uint64_t)next_bits(&state) % (uint64_t)(high - low + 1));
}

/* The largest integer that is not above a / b, b > 0. */
static int64_t divide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

static int64_t power(int64_t e) { return (int64_t)1 << e; }

static void fail(const char *what, const char *why) {
    fprintf(stderr, "make_models_i: %s: %s\n", what, why);
    exit(1);
}

/* A model in 64-bit numbers. */
typedef struct {
    int64_t low[MOST], high[MOST], gain[MOST], shift[MOST];
    int64_t p[MOST], bias[MOST], shifts[MOST], centers[MOST], phi[233], alpha[MOST], offset[MOST];
    int64_t limit, nodes;
} wide;

static int64_t phi_of(const wide *w, int64_t t) {
    int64_t e = 3, i, fraction, all;
    t += 8;
    if (t >= power(32)) fail("phi", "t does not fit into 32 bits");
    while (power(e + 1) <= t) e++;
    all = divide((t - power(e)) * 8 * 65536, power(e)); /* (t / 2^e - 1) in units of 1 / (8 * 65536) */
    i = 8 * (e - 3) + all / 65536;
    fraction = all % 65536;
    if (i + 1 >= w->nodes) return 0;
    return w->phi[i] + divide((w->phi[i + 1] - w->phi[i]) * fraction, 65536);
}

static uint32_t crc_of(uint32_t crc, int64_t value, int bytes) {
    int i, bit;
    for (i = 0; i < bytes; i++) {
        crc ^= (uint32_t)(divide(value, power(8 * i)) & 255);
        for (bit = 0; bit < 8; bit++) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
    return crc;
}

/* The checksum of the results of all inputs; *most grows to the largest |score|. */
static uint32_t results(const spec *s, const wide *w, int64_t *most) {
    uint32_t crc = 0xffffffffu, stream = 1;
    size_t row, i, j, k;
    for (row = 0; row < INPUTS; row++) {
        int64_t u[MOST], z[MOST], scores[64], nearest = 0, saturated = 0, best = 0;
        for (j = 0; j < s->d; j++) {
            int64_t x = next_input(&stream, (int32_t)w->low[j], (int32_t)w->high[j]);
            if (x < w->low[j] || x > w->high[j]) saturated++;
            if (x < w->low[j]) x = w->low[j];
            if (x > w->high[j]) x = w->high[j];
            u[j] = divide((x - w->low[j]) * w->gain[j], power(w->shift[j]));
        }
        for (i = 0; i < s->r; i++) {
            int64_t sum = w->bias[i];
            if (metric_of(s) == RFM_DIAGONAL) sum += u[i];
            for (j = 0; metric_of(s) == RFM_FULL && j < s->d; j++) sum += w->p[i * s->d + j] * u[j];
            if (sum != (int32_t)sum) fail(s->name, "z does not fit into 32 bits");
            if (metric_of(s) == RFM_FULL) sum = divide(sum, power(w->shifts[i]));
            z[i] = sum > w->limit ? w->limit : sum < -w->limit ? -w->limit : sum;
        }
        for (k = 0; k < s->c; k++) scores[k] = w->offset[k];
        for (i = 0; i < s->n; i++) {
            int64_t t = 0, phi;
            for (j = 0; j < s->r; j++) {
                int64_t way = w->centers[i * s->r + j] - z[j];
                t += is_absolute(s) ? (way < 0 ? -way : way) : way * way;
            }
            phi = phi_of(w, t);
            if (phi > nearest) nearest = phi;
            for (k = 0; k < s->c; k++) scores[k] += divide(w->alpha[i * s->c + k] * phi, s->type == RFM_I8 ? 1 : 256);
        }
        for (k = 0; k < s->c; k++) {
            if (scores[k] != (int32_t)scores[k]) fail(s->name, "a score does not fit into 32 bits");
            if (scores[k] > *most) *most = scores[k];
            if (-scores[k] > *most) *most = -scores[k];
            if (scores[k] > scores[best]) best = (int64_t)k;
            crc = crc_of(crc, scores[k], 4);
        }
        crc = crc_of(crc, nearest, 2);
        crc = crc_of(crc, saturated, 4);
        crc = crc_of(crc, s->task == RFM_REGRESS ? 0 : s->c == 1 ? scores[0] > 0 : best, 2);
    }
    return crc ^ 0xffffffffu;
}

/* Numbers of every kind that rfm_model_open_i takes. LARGEST: sums as large as it lets them be. */
static void draw(const spec *s, wide *w) {
    int64_t largest = s->type == RFM_I8 ? 127 : 32767, u_most,
            k = s->type == RFM_I16 ? 14
                : is_absolute(s)   ? 7
                                   : 8,
            center, weight = s->type == RFM_I8 ? 32768 : 128;
    size_t i, j;
    while (4 * (int64_t)s->r * power(2 * k) > power(32)) k--;
    w->limit = power(k) - 1;
    u_most = metric_of(s) == RFM_FULL ? 4095 : 2 * w->limit;
    for (j = 0; j < s->d; j++) {
        w->low[j] = j == 0 || s->kind == LARGEST ? -32768 : between(-32768, 20000);
        w->high[j] = j == 0 ? 32767 : j == 1 ? w->low[j] : between(w->low[j], 32767);
        w->gain[j] = j == 0 ? 65535 : between(1, 65535), w->shift[j] = 0;
        if (s->kind == LARGEST) w->high[j] = w->low[j] + u_most, w->gain[j] = 1;
        while (divide((w->high[j] - w->low[j]) * w->gain[j], power(w->shift[j])) > u_most) w->shift[j]++;
    }
    for (i = 0; i < s->r; i++) {
        int64_t room = ROOM, sum = 0, middle = 0;
        for (j = 0; metric_of(s) == RFM_FULL && j < s->d; j++) {
            int64_t p = s->kind == LARGEST ? (i % 2 == 0 ? -largest - 1 : largest) : between(-largest, largest),
                    a = p < 0 ? -p : p;
            if (sum + a * 4095 > room) p = p < 0 ? -((room - sum) / 4095) : (room - sum) / 4095, a = p < 0 ? -p : p;
            sum += a * 4095, middle += p * 4095 / 2;
            w->p[i * s->d + j] = p;
        }
        w->shifts[i] = 0;
        while (divide(sum, power(w->shifts[i])) > 2 * w->limit) w->shifts[i]++;
        if (s->kind == RANDOM_PHI && w->shifts[i] > 3) w->shifts[i] -= 3; /* z beyond its limit, on both sides */
        w->bias[i] = -middle;
        if (metric_of(s) == RFM_DIAGONAL)
            w->bias[i] = s->kind == LARGEST ? (i % 2 == 0 ? 1 : -1) * ROOM : -between(0, u_most);
        else if (s->kind == LARGEST)
            w->bias[i] = (i % 2 == 0 ? -1 : 1) * (room - sum), w->shifts[i] = (int64_t)(i % 32);
        else if (sum + (middle < 0 ? -middle : middle) > room)
            w->bias[i] = room - sum;
    }
    center = w->limit < largest ? w->limit : largest;
    for (i = 0; i < s->n * s->r; i++)
        w->centers[i] = s->kind == LARGEST ? (i % 2 == 0 ? -1 : 1) * center - (center < w->limit && i % 2 == 0)
                                           : between(-center, center) / 2;
    w->nodes = s->kind == RANDOM_PHI ? (int64_t)s->nodes : 233;
    for (i = 0; i < (size_t)w->nodes; i++) {
        double t = ldexp(1.0 + (double)(i % 8) / 8.0, (int)(3 + i / 8)) - 8.0;
        w->phi[i] = s->kind == LARGEST      ? 32767
                    : s->kind == RANDOM_PHI ? between(0, 32767)
                    : is_absolute(s)        ? (int64_t)(32767.0 * exp(-t / (double)s->r / (double)center))
                                            : (int64_t)(32767.0 * exp(-sqrt(t / (double)s->r) / (double)center));
    }
    while (w->nodes > 1 && w->phi[w->nodes - 1] == 0) w->nodes--;
    if (s->kind == USUAL && w->nodes < 233) w->phi[w->nodes++] = 0;
    for (j = 0; j < s->c; j++) {
        int64_t room = ROOM;
        for (i = 0; i < s->n; i++) {
            int64_t alpha = s->kind == LARGEST ? (j % 2 == 0 ? largest : -largest - 1) : between(-largest - 1, largest),
                    a = alpha < 0 ? -alpha : alpha;
            room -= weight * a;
            if (room < 0) fail(s->name, "too many large alpha");
            w->alpha[i * s->c + j] = alpha;
        }
        w->offset[j] = s->kind == LARGEST ? (j % 2 == 0 ? room : -room) : between(-room / 4, room / 4);
    }
}

static void put_array(FILE *f, const char *type, const char *name, const char *what, const int64_t *at, size_t count) {
    size_t i;
    fprintf(f, "static const %s %s_%s[%lu] = {", type, name, what, (unsigned long)count);
    for (i = 0; i < count; i++) fprintf(f, "%s%ld,", i % 20 == 0 ? "\n    " : " ", (long)at[i]);
    fprintf(f, "\n};\n");
}

/* Numbers of the library's type out of 64-bit ones. */
static const void *narrow(const int64_t *from, size_t count, int type, void *to) {
    size_t i;
    for (i = 0; i < count; i++) {
        if (type == 1)
            ((int8_t *)to)[i] = (int8_t)from[i];
        else if (type == 2)
            ((int16_t *)to)[i] = (int16_t)from[i];
        else
            ((int32_t *)to)[i] = (int32_t)from[i];
    }
    return to;
}

static void make(FILE *f, const spec *s) {
    static wide w;
    static rfm_input_i inputs[MOST];
    static int32_t p[MOST], bias[MOST], shifts[MOST], centers[MOST], phi[MOST], alpha[MOST], offset[MOST];
    static float units[MOST];
    static uint64_t memory[4 * MOST]; /* the blob starts at its first multiple of 16 bytes */
    unsigned char *blob = (unsigned char *)memory + (16 - (uintptr_t)memory % 16) % 16;
    const char *number = s->type == RFM_I8 ? "int8_t" : "int16_t";
    int full = metric_of(s) == RFM_FULL;
    rfm_model_i m;
    uint32_t crc;
    int64_t most = 0;
    size_t bytes, i;
    int status;

    draw(s, &w);
    crc = results(s, &w, &most);
    if (s->kind == LARGEST && most < ROOM - (int64_t)(s->n * 65536)) fail(s->name, "scores are not near their limit");
    memset(&m, 0, sizeof m);
    m.n = s->n, m.d = s->d, m.c = s->c, m.r = s->r, m.type = s->type, m.metric = metric_of(s),
    m.absolute = is_absolute(s), m.task = s->task, m.limit = (int32_t)w.limit;
    for (i = 0; i < s->d; i++) {
        inputs[i].low = (int16_t)w.low[i], inputs[i].high = (int16_t)w.high[i];
        inputs[i].gain = (uint16_t)w.gain[i], inputs[i].shift = (uint8_t)w.shift[i], inputs[i].exponent = 0;
    }
    for (i = 0; i < s->c; i++) units[i] = 1.0f / 32768.0f;
    m.inputs = inputs, m.units = units;
    m.p = full ? narrow(w.p, s->r * s->d, s->type, p) : NULL;
    m.shifts = full ? (const uint8_t *)narrow(w.shifts, s->r, 1, shifts) : NULL;
    m.bias = (const int32_t *)narrow(w.bias, s->r, 4, bias);
    m.centers = narrow(w.centers, s->n * s->r, s->type, centers);
    m.phi = (const uint16_t *)narrow(w.phi, (size_t)w.nodes, 2, phi), m.nodes = (size_t)w.nodes;
    m.alpha = narrow(w.alpha, s->n * s->c, s->type, alpha);
    m.offset = (const int32_t *)narrow(w.offset, s->c, 4, offset);
    status = rfm_model_size_i(&m, 0, &bytes);
    if (status == RFM_OK && bytes > sizeof memory - 16) status = RFM_EARENA;
    if (status == RFM_OK) status = rfm_model_write_i(&m, NULL, 0, blob, bytes);
    if (status != RFM_OK) fail(s->name, rfm_status_text(status));

    if (is_absolute(s)) fprintf(f, "\n#ifdef RFM_SMALL_L1");
    fprintf(f, "\nstatic const unsigned char %s_blob[%lu] __attribute__((aligned(16))) = {", s->name,
            (unsigned long)bytes);
    for (i = 0; i < bytes; i++) fprintf(f, "%s%u,", i % 24 == 0 ? "\n    " : " ", blob[i]);
    fprintf(f, "\n};\nstatic const rfm_input_i %s_inputs[%lu] = {", s->name, (unsigned long)s->d);
    for (i = 0; i < s->d; i++)
        fprintf(f, "%s{%d, %d, %u, %u, 0},", i % 4 == 0 ? "\n    " : " ", inputs[i].low, inputs[i].high, inputs[i].gain,
                inputs[i].shift);
    fprintf(f, "\n};\n");
    if (full)
        put_array(f, number, s->name, "p", w.p, s->r * s->d),
            put_array(f, "uint8_t", s->name, "shifts", w.shifts, s->r);
    put_array(f, "int32_t", s->name, "bias", w.bias, s->r);
    put_array(f, number, s->name, "centers", w.centers, s->n * s->r);
    put_array(f, "uint16_t", s->name, "phi", w.phi, (size_t)w.nodes);
    put_array(f, number, s->name, "alpha", w.alpha, s->n * s->c);
    put_array(f, "int32_t", s->name, "offset", w.offset, s->c);
    fprintf(f, "#define %s_CRC 0x%08lxu\n#define %s_MODEL {%lu, %lu, %lu, %lu, %d, %d, %d, %ld, %s_inputs, ", s->name,
            (unsigned long)crc, s->name, (unsigned long)s->n, (unsigned long)s->d, (unsigned long)s->c,
            (unsigned long)s->r, s->type, metric_of(s), s->task, (long)w.limit, s->name);
    fprintf(
        f, "%s%s, %s_bias, %s%s, %s_centers, %s_phi, %lu, %s_alpha, %s_offset, NULL, NULL, NULL, NULL ABSOLUTE_(%d)}\n",
        full ? s->name : "", full ? "_p" : "NULL", s->name, full ? s->name : "", full ? "_shifts" : "NULL", s->name,
        s->name, (unsigned long)w.nodes, s->name, s->name, is_absolute(s));
    if (is_absolute(s)) fprintf(f, "#endif\n");
}

int main(int argc, char **argv) {
    char path[1024];
    FILE *f;
    size_t i;
    if (argc != 2 || snprintf(path, sizeof path, "%s/models_i.h", argv[1]) >= (int)sizeof path) return 2;
    f = fopen(path, "w");
    if (f == NULL) return 1;
    fprintf(f,
            "/* Made by make_models_i.c. */\n#define INPUTS_I %d\n#ifdef RFM_SMALL_L1\n#define ABSOLUTE_(x) , x\n"
            "#else\n#define ABSOLUTE_(x)\n#endif\n",
            INPUTS);
    for (i = 0; i < SPECS; i++) make(f, &specs[i]);
    fprintf(f, "\ntypedef struct {\n    const char *name;\n    const unsigned char *blob;\n    size_t bytes;\n    "
               "rfm_model_i model; /* the same in arrays */\n"
               "    uint32_t crc;      /* of the results of INPUTS_I inputs */\n} example_i;\n\nstatic const example_i "
               "examples_i[] = {\n");
    for (i = 0; i < SPECS; i++) {
        const char *name = specs[i].name, *before = is_absolute(&specs[i]) ? "#ifdef RFM_SMALL_L1\n" : "",
                   *after = is_absolute(&specs[i]) ? "#endif\n" : "";
        fprintf(f, "%s    {\"%s\", %s_blob, sizeof %s_blob, %s_MODEL, %s_CRC},\n%s", before, name, name, name, name,
                name, after);
    }
    fprintf(f, "};\n");
    return fclose(f) != 0;
}
