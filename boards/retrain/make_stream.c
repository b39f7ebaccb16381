/* Makes what retrain.c starts from: make_stream DATA_FOLDER FOLDER
 *
 * Runs on the machine that compiles. Four classes of the gesture digits of tools/data, each stroke thinned to 8 points
 * (16 inputs), with the drift of tools/adapt. Writes FOLDER/stream.h: a start model, trained on rows without drift; the
 * stream, into which the drift comes; and rows that look as the stream's last ones do, to test on. Floats in
 * hexadecimal, so nothing is lost. */
#include <stdlib.h>
#include <string.h>

#include "../../tools/adapt/adapt.h"

#define CLASSES 4
#define POINTS  8
#define INPUTS  (2 * POINTS)

static const scenario gestures = {"gestures", "gesture_digits.csv", "", 40, 200, 100, 40, 100, MOST_CLASSES, 1};

/* Rows of the first classes only, and 8 of their 20 points, evenly spread. */
static void thin(draw *w) {
    size_t i, p, kept = 0, points = w->d / 2;
    for (i = 0; i < w->rows; i++) {
        if (w->labels[i] >= CLASSES) continue;
        for (p = 0; p < POINTS; p++)
            memmove(w->x + kept * INPUTS + 2 * p, w->x + i * w->d + 2 * (p * (points - 1) / (POINTS - 1)),
                    2 * sizeof *w->x);
        w->labels[kept++] = w->labels[i];
    }
    w->rows = kept, w->d = INPUTS, w->classes = CLASSES;
}

/* Rows first, first + 1, ... of the draw, as they look when they come; or all as at the end. */
static void put_rows(text *t, const char *name, const draw *w, size_t first, size_t rows, int at_end) {
    unsigned char *labels = allocate(rows, 1, "labels");
    rfm_real x[MOST_INPUTS];
    size_t i, j;
    text_add(t, "\nstatic const float %s_x[%zu][INPUTS] = {\n", name, rows);
    for (i = 0; i < rows; i++) {
        labels[i] = (unsigned char)scenario_row(w, first + i, at_end ? w->of->stream : i, x);
        text_add(t, "    {");
        for (j = 0; j < INPUTS; j++) text_add(t, "%af%s", (double)x[j], j + 1 < INPUTS ? ", " : "},\n");
    }
    text_add(t, "};\nstatic const unsigned char %s_label[%zu] = {", name, rows);
    for (i = 0; i < rows; i++) text_add(t, "%s%u,", i % 32 == 0 ? "\n    " : " ", labels[i]);
    text_add(t, "\n};\n");
    free(labels);
}

int main(int argc, char **argv) {
    const scenario *s = &gestures;
    text t = {NULL, 0, 0};
    char path[1024];
    size_t bytes, i;
    rfm_model model;
    machine m;
    draw w;
    unsigned char *blob;
    if (argc != 3 || snprintf(path, sizeof path, "%s/stream.h", argv[2]) >= (int)sizeof path) return 2;
    machine_start(&m, 1, "scalar");
    scenario_read(&w, s, argv[1]);
    thin(&w);
    scenario_draw(&w, 1, 0);
    blob = train(&m, &w, s->start, &model, &bytes);
    text_add(
        &t,
        "/* Made by make_stream.c. */\n#define INPUTS %d\n#define CLASSES %d\n#define STREAM %zu\n#define TESTS %zu\n",
        INPUTS, CLASSES, s->stream, s->test);
    text_add(&t, "\nstatic const unsigned char start_blob[%zu] __attribute__((aligned(16))) = {", bytes);
    for (i = 0; i < bytes; i++) text_add(&t, "%s%u,", i % 24 == 0 ? "\n    " : " ", blob[i]);
    text_add(&t, "\n};\n");
    put_rows(&t, "stream", &w, s->start, s->stream, 0);
    put_rows(&t, "test", &w, s->start + s->stream, s->test, 1);
    file_write(path, t.at, t.size);
    free(t.at);
    free(blob);
    scenario_free(&w);
    machine_stop(&m);
    return 0;
}
