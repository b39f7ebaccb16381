/* Makes the tiny models whose standalone code boards/size measures: make_tiny FOLDER
 *
 * Runs on the machine that compiles. Writes FOLDER/NAME.rfm and FOLDER/NAME/rows.h, 16 inputs and their classes, for
 * tools/small/peers/measure.c. The shapes are those that rfm compress finds for the sets of tools/data within 300 and
 * 1000 bytes; the numbers come from a fixed random stream. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "rfm_tiny.h"

#define ROWS 16
#define MOST 1024 /* numbers of the largest array */

static const struct {
    const char *name;
    uint32_t n, d, c, r;
} specs[] = {{"gesture", 14, 40, 10, 4}, {"digits", 45, 64, 10, 8}};

static uint32_t state;

static int between(int low, int high) { return low + (int)(rfm_random(&state) % (uint32_t)(high - low + 1)); }

static void fail(const char *name, const char *why) {
    fprintf(stderr, "make_tiny: %s: %s\n", name, why);
    exit(1);
}

static FILE *create(const char *folder, const char *name, const char *end) {
    char path[1024];
    FILE *f;
    if (snprintf(path, sizeof path, "%s/%s%s", folder, name, end) >= (int)sizeof path) fail(name, "too long");
    f = fopen(path, "wb");
    if (f == NULL) fail(path, "cannot be written");
    return f;
}

static void make(const char *folder, size_t which) {
    static int16_t bias[MOST], offset[MOST], x[ROWS][MOST];
    static int8_t p[MOST], centers[MOST], alpha[MOST], scratch[MOST];
    static uint8_t counts[MOST], shifts[MOST];
    static uint32_t blob[MOST];
    static int32_t scores[MOST];
    const char *name = specs[which].name;
    rfm_tiny m = {0};
    uint32_t i, j;
    size_t bytes;
    FILE *f;
    m.n = specs[which].n, m.d = specs[which].d, m.c = specs[which].c, m.r = specs[which].r;
    m.task = RFM_CLASSIFY, m.phi_shift = 10, m.bias = bias, m.offset = offset, m.p = p, m.centers = centers;
    m.alpha = alpha, m.counts = counts, m.shifts = shifts;
    for (i = 0; i < m.r * m.d; i++) p[i] = (int8_t)between(-127, 127);
    for (i = 0; i < m.n * m.r; i++) centers[i] = (int8_t)between(-40, 40);
    for (i = 0; i < m.n; i++) alpha[i] = (int8_t)between(1, 127);
    for (i = 0; i < m.r; i++) shifts[i] = (uint8_t)(7 + i % 2), bias[i] = (int16_t)between(-20, 20);
    for (i = 0; i < m.c; i++) {
        counts[i] = (uint8_t)(m.n / m.c + (i < m.n % m.c)); /* as rfm compress deals them out */
        offset[i] = (int16_t)between(-500, 500);
    }
    if (rfm_tiny_size(&m, 0, &bytes) != RFM_OK || rfm_tiny_write(&m, NULL, 0, blob, sizeof blob) != RFM_OK)
        fail(name, "cannot be written");
    f = create(folder, name, ".rfm");
    if (fwrite(blob, 1, bytes, f) != bytes || fclose(f) != 0) fail(name, "cannot be written");
    f = create(folder, name, "/rows.h");
    fprintf(f, "#define ROWS %d\nstatic const uint8_t expected[ROWS] = {", ROWS);
    for (i = 0; i < ROWS; i++) {
        for (j = 0; j < m.d; j++) x[i][j] = (int16_t)between(-16, 16);
        if (rfm_tiny_predict(&m, x[i], scores, scratch, NULL) != RFM_OK) fail(name, "no prediction");
        fprintf(f, "%u, ", (unsigned)rfm_tiny_class(&m, scores));
    }
    fprintf(f, "};\nstatic const __attribute__((aligned(4))) peer_input rows[ROWS][%u] = {\n", m.d);
    for (i = 0; i < ROWS; i++) {
        for (j = 0; j < m.d; j++) fprintf(f, j == 0 ? "    {%d" : ", %d", x[i][j]);
        fprintf(f, "},\n");
    }
    fprintf(f, "};\n");
    if (fclose(f) != 0) fail(name, "cannot be written");
}

int main(int argc, char **argv) {
    size_t i;
    if (argc != 2) return 2;
    state = rfm_random_start(1);
    for (i = 0; i < sizeof specs / sizeof specs[0]; i++) make(argv[1], i);
    return 0;
}
