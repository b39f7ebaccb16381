/* Makes the models, the inputs and the expected results of predict.c and measure.c: make_models FOLDER
 *
 * Runs on the machine that compiles. The numbers come from a fixed random stream, the blobs from rfm_model_write, the
 * results from rfm_predict_one on the opened blob, in portable code. Writes FOLDER/models.h; floats in hexadecimal, so
 * nothing is lost. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rfm.h"

#define INPUTS 6
#define MOST   8192 /* numbers of the largest array */

typedef struct {
    const char *name;
    int kernel, metric, task;
    size_t n, d, c, r;
    float temperature;
} spec;

static const spec specs[] = {
    {"diagonal", RFM_LAPLACE, RFM_DIAGONAL, RFM_CLASSIFY, 40, 12, 2, 12, 0.5f},
    {"rank16", RFM_LAPLACE, RFM_FULL, RFM_CLASSIFY, 64, 16, 4, 16, 0.0f},
    {"rank8", RFM_LAPLACE, RFM_FULL, RFM_CLASSIFY, 64, 16, 4, 8, 0.0f},
    {"regression", RFM_GAUSSIAN, RFM_FULL, RFM_REGRESS, 33, 7, 3, 5, 0.0f},
    {"ten_classes", RFM_LAPLACE, RFM_FULL, RFM_CLASSIFY, 50, 20, 10, 19, 2.0f},
    {"one_centre", RFM_LAPLACE, RFM_FULL, RFM_CLASSIFY, 1, 3, 1, 3, 0.25f},
    {"one_number", RFM_GAUSSIAN, RFM_DIAGONAL, RFM_REGRESS, 3, 1, 1, 1, 0.0f},
    {"wide", RFM_GAUSSIAN, RFM_DIAGONAL, RFM_REGRESS, 6, 45, 5, 45, 0.0f},
    {"odd_rows", RFM_GAUSSIAN, RFM_FULL, RFM_REGRESS, 39, 10, 4, 6, 0.0f},
    {"general", RFM_GENERAL, RFM_FULL, RFM_CLASSIFY, 21, 9, 3, 9, 1.0f},
};
#define SPECS (sizeof specs / sizeof specs[0])

static uint32_t state = 2463534242u;

/* Uniform in (-1, 1). */
static float draw(void) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return (float)(int32_t)state / 2147483648.0f;
}

static float *draws(float *at, size_t count, float scale) {
    size_t i;
    for (i = 0; i < count; i++) at[i] = scale * draw();
    return at;
}

static void put_floats(FILE *f, const char *name, const char *what, const float *at, size_t count) {
    size_t i;
    fprintf(f, "static const float %s_%s[%lu] = {", name, what, (unsigned long)count);
    for (i = 0; i < count; i++) fprintf(f, "%s%af,", i % 8 == 0 ? "\n    " : " ", (double)at[i]);
    fprintf(f, "\n};\n");
}

static void fail(const char *what, int status) {
    fprintf(stderr, "make_models: %s: %s\n", what, rfm_status_text(status));
    exit(1);
}

static void make(FILE *f, const spec *s) {
    static float shift[64], p[MOST], centers[MOST], alpha[MOST], offset[64], x[INPUTS * 64], y[INPUTS * 64],
        novelty[INPUTS], magnitude[64], scratch[128];
    static uint64_t memory[MOST]; /* the blob starts at its first multiple of 16 bytes */
    unsigned char *blob = (unsigned char *)memory + (16 - (uintptr_t)memory % 16) % 16;
    rfm_model model, opened;
    rfm_contents parts;
    size_t bytes, i, j, k;
    int status;

    memset(&model, 0, sizeof model);
    model.n = s->n, model.d = s->d, model.c = s->c, model.r = s->r;
    model.kernel = s->kernel, model.metric = s->metric, model.task = s->task;
    model.exponent = s->kernel == RFM_GENERAL ? 1.4f : 1.0f;
    model.bandwidth = 1.5f * sqrtf((float)s->r);
    model.shift = draws(shift, s->d, 0.5f);
    model.p =
        draws(p, s->metric == RFM_FULL ? s->r * s->d : s->d, s->metric == RFM_FULL ? 1.5f / sqrtf((float)s->d) : 1.0f);
    model.centers = draws(centers, s->n * s->r, 1.5f);
    model.alpha = draws(alpha, s->n * s->c, 1.0f);
    model.offset = draws(offset, s->c, 0.3f);
    memset(&parts, 0, sizeof parts);
    parts.model = &model, parts.task = s->task, parts.temperature = s->temperature;
    status = rfm_model_size(&parts, &bytes);
    if (status == RFM_OK && bytes > sizeof memory - 16) status = RFM_EARENA;
    if (status == RFM_OK) status = rfm_model_write(&parts, blob, bytes);
    if (status == RFM_OK) status = rfm_model_open(blob, bytes, &opened);
    if (status != RFM_OK) fail(s->name, status);

    /* Two usual inputs, one far from everything, one very far, the shift itself, and one usual again. */
    for (i = 0; i < INPUTS; i++) {
        for (j = 0; j < s->d; j++) {
            float v = draw();
            x[i * s->d + j] = i == 4 ? opened.shift[j] : v * (i == 2 ? 30.0f : i == 3 ? 1e6f : 2.0f);
        }
        status = rfm_predict_one(&opened, x + i * s->d, y + i * s->c, scratch, NULL, &novelty[i]);
        if (status != RFM_OK) fail(s->name, status);
    }
    for (k = 0; k < s->c; k++) {
        magnitude[k] = fabsf(opened.offset[k]);
        for (i = 0; i < s->n; i++) magnitude[k] += fabsf(opened.alpha[i * s->c + k]);
    }

    fprintf(f, "\nstatic const unsigned char %s_blob[%lu] __attribute__((aligned(16))) = {", s->name,
            (unsigned long)bytes);
    for (i = 0; i < bytes; i++) fprintf(f, "%s%u,", i % 24 == 0 ? "\n    " : " ", blob[i]);
    fprintf(f, "\n};\n");
    put_floats(f, s->name, "x", x, INPUTS * s->d);
    put_floats(f, s->name, "y", y, INPUTS * s->c);
    put_floats(f, s->name, "novelty", novelty, INPUTS);
    put_floats(f, s->name, "magnitude", magnitude, s->c);
}

int main(int argc, char **argv) {
    char path[1024];
    FILE *f;
    size_t i;
    if (argc != 2 || snprintf(path, sizeof path, "%s/models.h", argv[1]) >= (int)sizeof path) return 2;
    f = fopen(path, "w");
    if (f == NULL) return 1;
    fprintf(f, "/* Made by make_models.c. */\n#define INPUTS %d\n", INPUTS);
    for (i = 0; i < SPECS; i++) make(f, &specs[i]);
    fprintf(f, "\n/* scores as y, the largest |score| that a model could give as magnitude */\n"
               "typedef struct {\n    const char *name;\n    size_t bytes, d, c, r;\n    const unsigned char *blob;\n"
               "    const float *x, *y, *novelty, *magnitude;\n} example;\n\nstatic const example examples[] = {\n");
    for (i = 0; i < SPECS; i++)
        fprintf(f, "    {\"%s\", sizeof %s_blob, %lu, %lu, %lu, %s_blob, %s_x, %s_y, %s_novelty, %s_magnitude},\n",
                specs[i].name, specs[i].name, (unsigned long)specs[i].d, (unsigned long)specs[i].c,
                (unsigned long)specs[i].r, specs[i].name, specs[i].name, specs[i].name, specs[i].name, specs[i].name);
    fprintf(f, "};\n");
    return ferror(f) != 0 || fclose(f) != 0;
}
