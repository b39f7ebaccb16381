#include "host/host.h"

#include "lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- random numbers ------------------------------------------------------------------------- */

double lab_uniform(uint64_t *state) { /* splitmix64 */
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

double lab_normal(uint64_t *state) { /* Box and Muller */
    double r = sqrt(-2 * log(lab_uniform(state)));
    return r * cos(6.283185307179586 * lab_uniform(state));
}

size_t lab_below(uint64_t *state, size_t count) { return (size_t)((double)count * lab_uniform(state)); }

/* ---- rows ----------------------------------------------------------------------------------- */

lab_rows rows_make(size_t n, size_t d, size_t c) {
    lab_rows s;
    s.n = n, s.d = d, s.c = c;
    s.x = allocate(n, d * sizeof *s.x, "inputs");
    s.y = allocate(n, c * sizeof *s.y, "targets");
    s.labels = allocate(n, sizeof *s.labels, "classes");
    return s;
}

void rows_free(lab_rows *s) {
    free(s->x);
    free(s->y);
    free(s->labels);
}

void rows_label(lab_rows *s, size_t i, uint32_t label) {
    s->labels[i] = label;
    if (s->c == 1)
        s->y[i] = label > 0 ? 1 : -1;
    else
        s->y[i * s->c + label] = 1;
}

void rows_unit(lab_rows *s) {
    size_t i, j;
    for (i = 0; i < s->n; i++) {
        double sum = 0;
        for (j = 0; j < s->d; j++) sum += (double)s->x[i * s->d + j] * (double)s->x[i * s->d + j];
        for (j = 0; j < s->d && sum > 0; j++) s->x[i * s->d + j] = (rfm_real)((double)s->x[i * s->d + j] / sqrt(sum));
    }
}

lab_rows rows_columns(const lab_rows *s, const unsigned char *keep) {
    size_t d = 0, i, j, k;
    lab_rows to;
    for (j = 0; j < s->d; j++) d += keep[j] != 0;
    to = rows_make(s->n, d, s->c);
    for (i = 0; i < s->n; i++)
        for (j = 0, k = 0; j < s->d; j++)
            if (keep[j] != 0) to.x[i * d + k++] = s->x[i * s->d + j];
    memcpy(to.y, s->y, s->n * s->c * sizeof *to.y);
    memcpy(to.labels, s->labels, s->n * sizeof *to.labels);
    return to;
}

static lab_rows read_images(csv *file, row_list rows, size_t most, double white) {
    size_t target = target_find(file, NULL, 1), i;
    input_list inputs;
    lab_rows s;
    if (most > 0 && most < rows.count) rows.count = most;
    inputs = inputs_of_file(file, target, 1, rows, 0);
    s = rows_make(rows.count, inputs.count, 10);
    inputs_fill(file, inputs, rows, 0, NULL, s.x);
    for (i = 0; i < s.n * s.d; i++) s.x[i] = (rfm_real)((double)s.x[i] / white);
    for (i = 0; i < s.n; i++) {
        double label = file->values[rows.at[i] * file->columns + target];
        if (!(label >= 0 && label < 10)) csv_fail(file, rows.at[i], target, "a digit");
        rows_label(&s, i, (uint32_t)label);
    }
    inputs_free(&inputs);
    return s;
}

static void read_part(const char *name, const char *split, unsigned char which, size_t most, double white,
                      lab_rows *s) {
    csv file;
    unsigned char *use;
    row_list rows;
    csv_read(&file, name, 1);
    use = split_read(split, &file, which);
    rows = rows_of(&file, use, which);
    *s = read_images(&file, rows, most, white);
    free(rows.at);
    free(use);
    csv_free(&file);
}

/* A name to read a file of MNIST by: its own; or, if only FILE.gz is there, that of a pipe from gzip. */
typedef struct {
    char *name;
    FILE *pipe; /* or NULL */
} source;

static int is_there(const char *file) {
    struct stat about;
    return stat(file, &about) == 0;
}

static source source_open(const char *folder, const char *of, const char *what) {
    text plain = {NULL, 0, 0}, packed = {NULL, 0, 0}, command = {NULL, 0, 0}, pipe = {NULL, 0, 0};
    source s;
    text_add(&plain, "%s/mnist5k-%s-%s-ubyte", folder, of, what);
    text_bytes(&plain, "", 1);
    s.name = plain.at, s.pipe = NULL;
    text_add(&packed, "%s.gz", plain.at);
    text_bytes(&packed, "", 1);
    if (is_there(plain.at) || !is_there(packed.at)) {
        free(packed.at);
        return s;
    }
    if (strchr(packed.at, '\'') != NULL) fail("%s: gunzip it first", packed.at);
    text_add(&command, "exec gzip -dc -- '%s'", packed.at);
    text_bytes(&command, "", 1);
    s.pipe = popen(command.at, "r");
    if (s.pipe == NULL) fail("%s: gzip cannot be run", packed.at);
    text_add(&pipe, "/dev/fd/%d", fileno(s.pipe));
    text_bytes(&pipe, "", 1);
    s.name = pipe.at;
    free(plain.at);
    free(packed.at);
    free(command.at);
    return s;
}

static void source_close(source *s) {
    if (s->pipe != NULL) pclose(s->pipe);
    free(s->name);
}

static void read_mnist(const char *folder, const char *of, size_t most, lab_rows *s) {
    source images = source_open(folder, of, "images-idx3"), labels = source_open(folder, of, "labels-idx1");
    idx_labels = labels.name;
    read_part(images.name, NULL, USE_TRAIN, most, 255, s);
    source_close(&images);
    source_close(&labels);
}

const char *lab_digits(const trial *t, size_t most_train, size_t most_test, lab_rows *train, lab_rows *test,
                       size_t *side) {
    if (t->data == NULL) {
        read_part("tools/data/digits.csv", "tools/data/digits.split", USE_TRAIN, most_train, 16, train);
        read_part("tools/data/digits.csv", "tools/data/digits.split", USE_TEST, most_test, 16, test);
        *side = 8;
        return "digits of 8 x 8 pixels (tools/data)";
    } else {
        read_mnist(t->data, "train", most_train, train);
        read_mnist(t->data, "test", most_test, test);
        *side = 28;
        return "MNIST digits of 28 x 28 pixels";
    }
}

/* ---- images put together of digits ----------------------------------------------------------- */

void paste(const rfm_real *from, size_t side, rfm_real *to, size_t width, size_t top, size_t left) {
    size_t i;
    for (i = 0; i < side; i++) memcpy(to + (top + i) * width + left, from + i * side, side * sizeof *to);
}

/* Digits at half their size, where they are large: means of 2 x 2 pixels. */
static void halve(lab_rows *s, size_t *side) {
    size_t half = *side / 2, n, i, j;
    for (n = 0; n < s->n; n++)
        for (i = 0; i < half; i++)
            for (j = 0; j < half; j++) {
                const rfm_real *x = s->x + n * s->d + 2 * i * *side + 2 * j;
                s->x[n * half * half + i * half + j] = (x[0] + x[1] + x[*side] + x[*side + 1]) / 4;
            }
    s->d = half * half;
}

digit_sets small_digits(const trial *t, size_t most) {
    digit_sets d;
    size_t side;
    d.name = lab_digits(t, t->quick ? 500 : most, t->quick ? 200 : 0, &d.train, &d.test, &d.side);
    if (d.side > 14) {
        side = d.side;
        halve(&d.train, &side);
        halve(&d.test, &side);
        d.side = side / 2, d.name = "MNIST digits at 14 x 14 pixels";
    }
    return d;
}

void digit_sets_free(digit_sets *d) {
    rows_free(&d->train);
    rows_free(&d->test);
}

lab_rows mosaic(const lab_rows *digits, size_t side, uint64_t *state) {
    size_t width = 3 * side, n, i;
    lab_rows s = rows_make(digits->n, width * width, 10);
    for (n = 0; n < s.n; n++) {
        rows_label(&s, n, digits->labels[n]);
        for (i = 0; i < 9; i++) {
            size_t which = i == 4 ? n : lab_below(state, digits->n);
            paste(digits->x + which * digits->d, side, s.x + n * s.d, width, i / 3 * side, i % 3 * side);
        }
    }
    rows_unit(&s);
    return s;
}

unsigned char *middle_of(size_t side) {
    size_t width = 3 * side, i;
    unsigned char *inside = allocate(width * width, 1, "a mask");
    for (i = 0; i < side * side; i++) inside[(side + i / side) * width + side + i % side] = 1;
    return inside;
}

/* ---- machines ------------------------------------------------------------------------------- */

void desk_open(const trial *t, desk *d, size_t bytes) {
    must(rfm_arena_init(&d->arena, allocate_aligned(bytes, "an experiment"), bytes), "memory");
    d->ctx = t->m->ctx;
    d->ctx.arena = &d->arena;
}

void desk_close(desk *d) { free(d->arena.base); }

static rfm_data data_of(const lab_rows *s, size_t first, size_t count) {
    rfm_data data;
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(s->x + first * s->d, count, s->d);
    data.y = rfm_cview(s->y + first * s->c, count, s->c);
    return data;
}

lab_model lab_fit(const trial *t, const lab_rows *s, const rfm_options *options, const rfm_real *start) {
    rfm_data data = data_of(s, 0, s->n);
    rfm_arena store;
    size_t scratch, bytes;
    lab_model f;
    desk d;
    if (start != NULL) data.start = rfm_cview(start, options->metric == RFM_FULL ? s->d : 1, s->d);
    must(rfm_fit_need(&t->m->ctx, &data, options, &scratch, &bytes), "the size of a fit");
    f.memory = allocate_aligned(bytes, "a model");
    must(rfm_arena_init(&store, f.memory, bytes), "memory");
    desk_open(t, &d, scratch);
    must(rfm_fit(&d.ctx, &data, options, &store, &f.model, NULL), "a fit");
    desk_close(&d);
    return f;
}

void lab_model_free(lab_model *f) { free(f->memory); }

void lab_path(const trial *t, const lab_rows *s, int classes, const rfm_options *options, double *scores) {
    const size_t held = s->n / 5, fit = s->n - held;
    const rfm_data rest = data_of(s, fit, held);
    rfm_data data = data_of(s, 0, fit);
    rfm_options o = *options;
    rfm_report report;
    rfm_model model;
    size_t scratch, store, i;
    desk d;
    data.x_validation = rest.x, data.y_validation = rest.y;
    o.select = RFM_SELECT_VALIDATION, o.score = classes ? RFM_SCORE_ACCURACY : RFM_SCORE_SQUARED;
    memset(&report, 0, sizeof report);
    report.path = allocate(o.iterations + 1, sizeof *report.path, "the path of a fit");
    must(rfm_fit_need(&t->m->ctx, &data, &o, &scratch, &store), "the size of a fit");
    desk_open(t, &d, scratch + store);
    must(rfm_fit(&d.ctx, &data, &o, &d.arena, &model, &report), "a fit");
    desk_close(&d);
    for (i = 0; i <= o.iterations; i++) scores[i] = (classes ? 1 : -1) * (double)report.path[i].score;
    free(report.path);
}

void lab_try(const trial *t, const lab_rows *s, int classes, const rfm_options *options, lab_choice *best) {
    double *scores = allocate(options->iterations + 1, sizeof *scores, "scores");
    size_t i;
    lab_path(t, s, classes, options, scores);
    for (i = 0; i <= options->iterations; i++) {
        if (scores[i] <= best->score) continue;
        best->score = scores[i], best->options = *options;
        best->options.iterations = i;
    }
    free(scores);
}

void lab_predict(const trial *t, const lab_model *f, const lab_rows *s, rfm_real *y) {
    size_t bytes;
    desk d;
    must(rfm_predict_need(&t->m->ctx, &f->model, s->n, &bytes), "the size of a prediction");
    desk_open(t, &d, bytes);
    must(rfm_predict(&d.ctx, &f->model, rfm_cview(s->x, s->n, s->d), rfm_view(y, s->n, s->c)), "a prediction");
    desk_close(&d);
}

double rows_right(const lab_rows *s, const rfm_real *y) {
    size_t i, k, right = 0;
    for (i = 0; i < s->n; i++) {
        const rfm_real *row = y + i * s->c;
        size_t best = s->c == 1 ? row[0] > 0 : 0;
        for (k = 1; k < s->c; k++)
            if (row[k] > row[best]) best = k;
        right += best == s->labels[i];
    }
    return (double)right / (double)s->n;
}

double rows_error(const lab_rows *s, const rfm_real *y) {
    double sum = 0;
    size_t i;
    for (i = 0; i < s->n * s->c; i++) sum += pow((double)y[i] - (double)s->y[i], 2);
    return sum / (double)(s->n * s->c);
}

static double scored(const trial *t, const lab_model *f, const lab_rows *s,
                     double (*score)(const lab_rows *s, const rfm_real *y)) {
    rfm_real *y = allocate(s->n, s->c * sizeof *y, "predictions");
    double found;
    lab_predict(t, f, s, y);
    found = score(s, y);
    free(y);
    return found;
}

double lab_accuracy(const trial *t, const lab_model *f, const lab_rows *s) { return scored(t, f, s, rows_right); }
double lab_error(const trial *t, const lab_model *f, const lab_rows *s) { return scored(t, f, s, rows_error); }

void lab_diagonal(const lab_model *f, double *diagonal) {
    size_t d = f->model.d, j;
    rfm_real *m = allocate(d, sizeof *m, "a diagonal");
    must(rfm_metric(&f->model, rfm_view(m, 1, d)), "M");
    for (j = 0; j < d; j++) diagonal[j] = (double)m[j];
    free(m);
}

void lab_eigenvectors(const trial *t, rfm_real *m, size_t d, size_t count, rfm_real *w, rfm_real *v) {
    size_t bytes;
    desk room;
    must(rfm_eig_need(&t->m->ctx, d, count, &bytes), "the size of eigenvectors");
    desk_open(t, &room, bytes);
    must(rfm_eig(&room.ctx, rfm_view(m, d, d), count, w, rfm_view(v, count, d)), "eigenvectors");
    desk_close(&room);
}
