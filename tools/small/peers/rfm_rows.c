/* The test rows as an integer model takes them, for this machine: rfm_rows FOLDER MODEL.rfm <ROWS.csv
 *
 * The model is that of FOLDER/model.h, by which this is compiled, made of MODEL.rfm by rfm export; a standalone header
 * is of a tiny model. ROWS.csv has names, then rows, the class last; inputs
 * go by their names if the model knows them. Writes rows.txt, rows.h, expected.txt and facts into FOLDER, as train.py
 * does; the expected classes are those of the portable code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rfm_small.h"
#include "rfm_tiny.h"

#include "model.h"

#define SAMPLE 16
#define MAX    1024

static void fail(const char *what) {
    fprintf(stderr, "rfm_rows: %s\n", what);
    exit(1);
}

static FILE *create(const char *folder, const char *name) {
    char path[4096];
    FILE *f;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "w");
    if (f == NULL) fail(path);
    return f;
}

/* The model as the library has it: names, which firmware does without, and what it makes of a row. */
static const char *input_names, *class_names;

static const void *read_file(const char *path, size_t *bytes) {
    static uint32_t blob[65536];
    FILE *f = fopen(path, "rb");
    if (f == NULL) fail(path);
    *bytes = fread(blob, 1, sizeof blob, f);
    fclose(f);
    return blob;
}

#ifdef MODEL_ONE
#define LABEL "RFM, tiny"
static rfm_tiny m;

static void open_model(const char *file) {
    size_t bytes;
    const void *blob = read_file(file, &bytes);
    if (rfm_tiny_open(blob, bytes, &m) != RFM_OK) fail("the model does not open");
    input_names = m.input_names, class_names = m.class_names;
}

static unsigned predict(const rfm_real *x, int16_t *xi, int32_t *scores) {
    int8_t scratch[MODEL_RANK];
    if (rfm_tiny_integers(&m, x, xi) != RFM_OK) fail("rfm_tiny_integers");
    if (rfm_tiny_predict(&m, xi, scores, scratch, NULL) != RFM_OK) fail("rfm_tiny_predict");
    return (unsigned)rfm_tiny_class(&m, scores);
}
#else
#define LABEL (m.type == RFM_I8 ? "RFM, 8 bits" : "RFM, 16 bits")
static rfm_model_i m;

static void open_model(const char *file) {
    size_t bytes;
    const void *blob = read_file(file, &bytes);
    rfm_model_i named;
    if (rfm_model_open_i(model, MODEL_BYTES, &m) != RFM_OK) fail("the model does not open");
    if (rfm_model_open_i(blob, bytes, &named) != RFM_OK) fail("the file does not open");
    input_names = named.input_names, class_names = named.class_names;
}

static unsigned predict(const rfm_real *x, int16_t *xi, int32_t *scores) {
    int16_t scratch[MODEL_SCRATCH];
    if (rfm_input_integers(&m, x, xi) != RFM_OK) fail("rfm_input_integers");
    if (rfm_predict_i(&m, xi, scores, scratch, NULL, NULL) != RFM_OK) fail("rfm_predict_i");
    return (unsigned)rfm_class_i(&m, scores);
}
#endif

/* Cuts a line at its commas; how many fields there are. */
static size_t cut(char *line, char **fields) {
    size_t n = 0;
    char *at;
    for (at = strtok(line, ",\r\n"); at != NULL && n < MAX; at = strtok(NULL, ",\r\n")) fields[n++] = at;
    return n;
}

int main(int argc, char **argv) {
    static char line[65536], *fields[MAX];
    static int16_t rows[4 * MAX][MODEL_INPUTS];
    static unsigned classes[4 * MAX];
    static int32_t all[4 * MAX][MODEL_OUTPUTS];
    static rfm_real x[MODEL_INPUTS];
    static int32_t scores[MODEL_OUTPUTS];
    size_t column[MODEL_INPUTS], columns, n = 0, right = 0, i, j;
    FILE *f;
    if (argc != 3) fail("usage: rfm_rows FOLDER MODEL.rfm <ROWS.csv");
    open_model(argv[2]);
    if (fgets(line, sizeof line, stdin) == NULL) fail("no names");
    columns = cut(line, fields);
    for (j = 0; j < MODEL_INPUTS; j++) {
        column[j] = j;
        if (input_names == NULL) continue;
        for (i = 0; i + 1 < columns && strcmp(fields[i], rfm_name(input_names, j)) != 0; i++) continue;
        column[j] = i;
    }
    for (j = 0; j < MODEL_INPUTS; j++)
        if (column[j] + 1 >= columns) fail("an input of the model is not in the rows");
    for (; n < 4 * MAX && fgets(line, sizeof line, stdin) != NULL; n++) {
        char index[24];
        const char *name = index;
        if (cut(line, fields) != columns) fail("a row has another number of fields");
        for (j = 0; j < MODEL_INPUTS; j++) x[j] = (rfm_real)strtod(fields[column[j]], NULL);
        classes[n] = predict(x, rows[n], scores);
        memcpy(all[n], scores, sizeof scores);
        snprintf(index, sizeof index, "%u", classes[n]);
        if (class_names != NULL) name = rfm_name(class_names, classes[n]);
        right += strcmp(name, fields[columns - 1]) == 0;
    }
    if (n < SAMPLE) fail("too few rows");

    f = create(argv[1], "rows.txt");
    fprintf(f, "%zu %d\n", n, MODEL_INPUTS);
    for (i = 0; i < n; i++)
        for (j = 0; j < MODEL_INPUTS; j++) fprintf(f, j + 1 < MODEL_INPUTS ? "%d " : "%d\n", rows[i][j]);
    fclose(f);
    f = create(argv[1], "expected.txt");
    for (i = 0; i < n; i++) {
        fprintf(f, "%u", classes[i]);
        for (j = 0; j < MODEL_OUTPUTS; j++) fprintf(f, " %ld", (long)all[i][j]);
        fprintf(f, "\n");
    }
    fclose(f);
    f = create(argv[1], "rows.h");
    fprintf(f, "#define ROWS %d\nstatic const uint8_t expected[ROWS] = {", SAMPLE);
    for (i = 0; i < SAMPLE; i++) fprintf(f, "%u, ", classes[i * (n - 1) / (SAMPLE - 1)]);
    fprintf(f, "};\nstatic const __attribute__((aligned(4))) peer_input rows[ROWS][%d] = {\n", MODEL_INPUTS);
    for (i = 0; i < SAMPLE; i++) {
        for (j = 0; j < MODEL_INPUTS; j++) fprintf(f, j == 0 ? "    {%d" : ", %d", rows[i * (n - 1) / (SAMPLE - 1)][j]);
        fprintf(f, "},\n");
    }
    fprintf(f, "};\n");
    fclose(f);
    f = create(argv[1], "facts");
    fprintf(f, "label='%s'\nsettings='%d centres, rank %d, %d inputs'\nfolds=-\nright='%zu'\ntested='%zu'\n", LABEL,
            MODEL_CENTERS, MODEL_RANK, MODEL_INPUTS, right, n);
#ifdef MODEL_BYTES
    fprintf(f, "size='%d'\n", MODEL_BYTES);
#endif
    fclose(f);
    return 0;
}
