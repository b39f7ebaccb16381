#include "adapt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* At the end of the drift strokes are turned by 40 degrees, 0.7 times as large, and the sensor is off by (0.25, -0.2).
 * They are about 0.7 across. */
#define TURN    0.6981317
#define SHRINK  0.7
#define SHIFT_X 0.25
#define SHIFT_Y (-0.2)

const scenario scenarios[] = {
    {"gesture_digits", "gesture_digits.csv", "strokes turn, shrink and move", 250, 550, 200, 100, 300, MOST_CLASSES, 1},
    {"digits", "digits.csv", "class 9 is there", 300, 900, 400, 200, 200, 9, 0},
};
const size_t scenario_count = sizeof scenarios / sizeof *scenarios;

void scenario_read(draw *w, const scenario *s, const char *folder) {
    char path[1024];
    csv file;
    size_t i, j;
    if (snprintf(path, sizeof path, "%s/%s", folder, s->file) >= (int)sizeof path)
        fail("%s: the name is too long", folder);
    csv_read(&file, path, 1);
    memset(w, 0, sizeof *w);
    w->of = s, w->rows = file.rows, w->d = file.columns - 1;
    if (w->d > MOST_INPUTS) fail("%s: %zu inputs, expected at most %d", path, w->d, MOST_INPUTS);
    w->x = allocate(w->rows * w->d, sizeof *w->x, path);
    w->labels = allocate(w->rows, sizeof *w->labels, path);
    w->at = allocate(w->rows, sizeof *w->at, path);
    w->given = allocate(w->rows, sizeof *w->given, path);
    for (i = 0; i < w->rows; i++) {
        for (j = 0; j <= w->d; j++) {
            double value = file.values[i * file.columns + j];
            if (csv_kind(value) != CSV_NUMBER) csv_fail(&file, i, j, "a number");
            if (j < w->d) w->x[i * w->d + j] = (rfm_real)value;
        }
        w->labels[i] = (uint32_t)file.values[i * file.columns + w->d];
        if (w->labels[i] >= MOST_CLASSES) csv_fail(&file, i, w->d, "a class below 10");
        if (w->labels[i] >= w->classes) w->classes = w->labels[i] + 1;
    }
    csv_free(&file);
}

void scenario_free(draw *w) {
    free(w->x);
    free(w->labels);
    free(w->at);
    free(w->given);
}

/* xorshift64*: a number below n. */
static size_t below(uint64_t *state, size_t n) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (size_t)(((*state * 2685821657736338717u) >> 32) * n >> 32);
}

/* All rows in random order: the first ones are held out, the next ones are the start and the stream. A row of the late
 * class is left out where that class must not be. */
void scenario_draw(draw *w, uint64_t seed, double wrong) {
    const scenario *s = w->of;
    size_t *order = allocate(w->rows, sizeof *order, "rows"), i, next, total = s->start + s->stream;
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (i = 0; i < w->rows; i++) order[i] = i;
    for (i = w->rows; i > 1; i--) {
        size_t other = below(&state, i), row = order[i - 1];
        order[i - 1] = order[other], order[other] = row;
    }
    if (w->rows < s->test + total) fail("%s: %zu rows, expected %zu", s->file, w->rows, s->test + total);
    for (next = 0; next < s->test; next++) w->at[total + next] = order[next];
    for (i = 0; i < total; i++, next++) {
        while (next < w->rows && i < s->start + s->from && w->labels[order[next]] == s->late) next++;
        if (next == w->rows) fail("%s: too few rows of the classes that are there from the start", s->file);
        w->at[i] = order[next];
    }
    for (i = 0; i < total + s->test; i++) {
        w->given[i] = w->labels[w->at[i]];
        if (i >= s->start && i < total && (double)below(&state, 1000000) < 1e6 * wrong)
            w->given[i] = (uint32_t)below(&state, w->classes);
    }
    free(order);
}

size_t scenario_row(const draw *w, size_t i, size_t seen, rfm_real *x) {
    const scenario *s = w->of;
    const rfm_real *row = w->x + w->at[i] * w->d;
    double done = seen <= s->from ? 0 : seen >= s->to ? 1 : (double)(seen - s->from) / (double)(s->to - s->from);
    double scale = 1 + (SHRINK - 1) * done, c = scale * cos(TURN * done), sn = scale * sin(TURN * done);
    size_t j;
    memcpy(x, row, w->d * sizeof *x);
    for (j = 0; s->drifts && j + 1 < w->d; j += 2) { /* x, y of a point */
        double a = (double)row[j], b = (double)row[j + 1];
        x[j] = (rfm_real)(c * a - sn * b + SHIFT_X * done);
        x[j + 1] = (rfm_real)(sn * a + c * b + SHIFT_Y * done);
    }
    return w->given[i];
}

int scenario_has(const draw *w, size_t label, size_t seen) { return label != w->of->late || seen >= w->of->from; }
