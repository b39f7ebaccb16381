#include "host/host.h"

#include "lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    uint32_t *labels;
    lab_rows s;
    if (most > 0 && most < rows.count) rows.count = most;
    inputs = inputs_of_file(file, target, 1, rows, 0);
    s = rows_make(rows.count, inputs.count, 10);
    inputs_fill(file, inputs, rows, 0, NULL, s.x);
    for (i = 0; i < s.n * s.d; i++) s.x[i] = (rfm_real)((double)s.x[i] / white);
    labels = allocate(s.n, sizeof *labels, "classes");
    for (i = 0; i < s.n; i++) {
        double label = file->values[rows.at[i] * file->columns + target];
        if (!(label >= 0 && label < 10)) csv_fail(file, rows.at[i], target, "a digit");
        rows_label(&s, i, (uint32_t)label);
    }
    free(labels);
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

const char *lab_digits(const trial *t, size_t most_train, size_t most_test, lab_rows *train, lab_rows *test,
                       size_t *side) {
    if (t->data == NULL) {
        read_part("tools/data/digits.csv", "tools/data/digits.split", USE_TRAIN, most_train, 16, train);
        read_part("tools/data/digits.csv", "tools/data/digits.split", USE_TEST, most_test, 16, test);
        *side = 8;
        return "digits of 8 x 8 pixels (tools/data)";
    } else {
        text name = {NULL, 0, 0};
        size_t first;
        text_add(&name, "%s/mnist5k-train-images-idx3-ubyte", t->data);
        text_bytes(&name, "", 1), first = name.size;
        text_add(&name, "%s/mnist5k-test-images-idx3-ubyte", t->data);
        text_bytes(&name, "", 1);
        read_part(name.at, NULL, USE_TRAIN, most_train, 255, train);
        read_part(name.at + first, NULL, USE_TEST, most_test, 255, test);
        free(name.at);
        *side = 28;
        return "a subset of MNIST, 28 x 28 pixels";
    }
}

/* ---- images put together of digits ----------------------------------------------------------- */

/* Copies image `from` (side, side) into one of the given width. */
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

digit_sets small_digits(const trial *t) {
    digit_sets d;
    size_t side;
    d.name = lab_digits(t, t->quick ? 500 : 0, t->quick ? 200 : 0, &d.train, &d.test, &d.side);
    if (d.side > 14) {
        side = d.side;
        halve(&d.train, &side);
        halve(&d.test, &side);
        d.side = side / 2;
    }
    return d;
}

void digit_sets_free(digit_sets *d) {
    rows_free(&d->train);
    rows_free(&d->test);
}

/* Three by three digits; the one in the middle is the class, the others are drawn at random. */
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

lab_model lab_fit(const trial *t, const lab_rows *s, const rfm_options *options, const rfm_real *start) {
    rfm_ctx ctx = t->m->ctx;
    rfm_data data;
    rfm_arena store, scratch;
    size_t scratch_bytes, store_bytes;
    lab_model f;
    void *work;
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(s->x, s->n, s->d);
    data.y = rfm_cview(s->y, s->n, s->c);
    if (start != NULL) data.start = rfm_cview(start, options->metric == RFM_FULL ? s->d : 1, s->d);
    must(rfm_fit_need(&ctx, &data, options, &scratch_bytes, &store_bytes), "the size of a fit");
    work = allocate_aligned(scratch_bytes, "a fit");
    f.memory = allocate_aligned(store_bytes, "a model");
    must(rfm_arena_init(&scratch, work, scratch_bytes), "memory");
    must(rfm_arena_init(&store, f.memory, store_bytes), "memory");
    ctx.arena = &scratch;
    must(rfm_fit(&ctx, &data, options, &store, &f.model, NULL), "a fit");
    free(work);
    return f;
}

void lab_model_free(lab_model *f) { free(f->memory); }

void lab_predict(const trial *t, const lab_model *f, const lab_rows *s, rfm_real *y) {
    rfm_ctx ctx = t->m->ctx;
    rfm_arena arena;
    size_t bytes;
    void *work;
    must(rfm_predict_need(&ctx, &f->model, s->n, &bytes), "the size of a prediction");
    work = allocate_aligned(bytes, "a prediction");
    must(rfm_arena_init(&arena, work, bytes), "memory");
    ctx.arena = &arena;
    must(rfm_predict(&ctx, &f->model, rfm_cview(s->x, s->n, s->d), rfm_view(y, s->n, s->c)), "a prediction");
    free(work);
}

double lab_right(const rfm_real *y, const lab_rows *s) {
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

double lab_accuracy(const trial *t, const lab_model *f, const lab_rows *s) {
    rfm_real *y = allocate(s->n, s->c * sizeof *y, "predictions");
    double right;
    lab_predict(t, f, s, y);
    right = lab_right(y, s);
    free(y);
    return right;
}

static double error_of(const rfm_real *y, const lab_rows *s) {
    double sum = 0;
    size_t i;
    for (i = 0; i < s->n * s->c; i++) sum += pow((double)y[i] - (double)s->y[i], 2);
    return sum / (double)(s->n * s->c);
}

double lab_error(const trial *t, const lab_model *f, const lab_rows *s) {
    rfm_real *y = allocate(s->n, s->c * sizeof *y, "predictions");
    double error;
    lab_predict(t, f, s, y);
    error = error_of(y, s);
    free(y);
    return error;
}

void lab_diagonal(const lab_model *f, double *diagonal) {
    size_t d = f->model.d, j;
    rfm_real *m = allocate(d, sizeof *m, "a diagonal");
    must(rfm_metric(&f->model, rfm_view(m, 1, d)), "M");
    for (j = 0; j < d; j++) diagonal[j] = (double)m[j];
    free(m);
}

/* ---- networks ------------------------------------------------------------------------------- */

network lab_network(const trial *t, size_t layers, size_t inputs, size_t width, size_t outputs, double first) {
    rfm_nfa_start_options o;
    rfm_arena arena;
    size_t bytes, l;
    network w;
    rfm_nfa_start_init(&o);
    o.layers = layers, o.seed = (uint32_t)t->seed;
    o.width[0] = inputs, o.width[layers + 1] = outputs;
    for (l = 1; l <= layers; l++) o.width[l] = width;
    for (l = 0; l <= layers; l++) o.scale[l] = (rfm_real)(1.0 / 3);
    if (first > 0) o.scale[0] = (rfm_real)(first * first * (double)inputs);
    must(rfm_nfa_start_need(&o, &bytes), "the size of a network");
    w.memory = allocate_aligned(bytes, "a network");
    must(rfm_arena_init(&arena, w.memory, bytes), "memory");
    must(rfm_nfa_start(&o, &arena, &w.f), "a network");
    return w;
}

void network_free(network *w) { free(w->memory); }

/* A context with an arena of so many bytes, to be freed. */
static rfm_ctx with_arena(const trial *t, rfm_arena *arena, size_t bytes, void **memory) {
    rfm_ctx ctx = t->m->ctx;
    *memory = allocate_aligned(bytes, "a network");
    must(rfm_arena_init(arena, *memory, bytes), "memory");
    ctx.arena = arena;
    return ctx;
}

void lab_descend_watched(const trial *t, network *w, const lab_rows *s, const rfm_nfa_options *options, size_t every,
                         void (*look)(void *arg, size_t step), void *arg) {
    rfm_nfa_descent *descent;
    rfm_arena arena;
    rfm_ctx ctx;
    size_t bytes, i;
    void *memory;
    must(rfm_nfa_descend_need(&t->m->ctx, options, &w->f, s->n, &bytes), "the size of a descent");
    ctx = with_arena(t, &arena, bytes, &memory);
    must(rfm_nfa_begin(&ctx, options, rfm_cview(s->x, s->n, s->d), rfm_cview(s->y, s->n, s->c), &w->f, &descent),
         "gradient descent");
    for (i = 0; i <= options->steps; i++) {
        if (look != NULL && i % every == 0) look(arg, i);
        if (i < options->steps) must(rfm_nfa_step(descent), "gradient descent");
    }
    must(rfm_nfa_end(descent, NULL), "gradient descent");
    free(memory);
}

void lab_descend(const trial *t, network *w, const lab_rows *s, const rfm_nfa_options *options) {
    lab_descend_watched(t, w, s, options, 1, NULL, NULL);
}

void lab_network_predict(const trial *t, const network *w, const lab_rows *s, rfm_real *y) {
    rfm_arena arena;
    rfm_ctx ctx;
    size_t bytes;
    void *memory;
    must(rfm_nfa_predict_need(&t->m->ctx, &w->f, s->n, &bytes), "the size of a prediction");
    ctx = with_arena(t, &arena, bytes, &memory);
    must(rfm_nfa_predict(&ctx, &w->f, rfm_cview(s->x, s->n, s->d), rfm_view(y, s->n, s->c)), "a prediction");
    free(memory);
}

double lab_network_accuracy(const trial *t, const network *w, const lab_rows *s) {
    rfm_real *y = allocate(s->n, s->c * sizeof *y, "predictions");
    double right;
    lab_network_predict(t, w, s, y);
    right = lab_right(y, s);
    free(y);
    return right;
}

double lab_network_error(const trial *t, const network *w, const lab_rows *s) {
    rfm_real *y = allocate(s->n, s->c * sizeof *y, "predictions");
    double error;
    lab_network_predict(t, w, s, y);
    error = error_of(y, s);
    free(y);
    return error;
}

void lab_network_features(const trial *t, const network *w, const lab_rows *s, rfm_real *f, rfm_real *g) {
    rfm_nfa_layer layer;
    rfm_arena arena;
    rfm_ctx ctx;
    size_t bytes, d = s->d;
    void *memory;
    memset(&layer, 0, sizeof layer);
    if (f != NULL) layer.f = rfm_view(f, d, d);
    if (g != NULL) layer.g = rfm_view(g, d, d);
    must(rfm_nfa_measure_need(&t->m->ctx, &w->f, 0, s->n, 0, &bytes), "the size of a layer");
    ctx = with_arena(t, &arena, bytes, &memory);
    must(rfm_nfa_measure(&ctx, &w->f, NULL, rfm_cview(s->x, s->n, d), 0, &layer), "a layer");
    free(memory);
}

/* The squared loss with targets f - e_k / 2 has the derivative e_k / n by f at every row. So its derivative by
 * biases of the first layer, which are 0 here, is the mean tangent of output k there; W' times that is the mean
 * gradient. */
void lab_network_center(const trial *t, const network *w, const lab_rows *s, rfm_real *g) {
    size_t width = w->f.width[1], d = s->d, bytes, i, j, k, l;
    rfm_real *y = allocate(s->n, s->c * sizeof *y, "predictions"), *mean = allocate(d, sizeof *mean, "a gradient");
    rfm_real *tangent = allocate(width, sizeof *tangent, "tangents"), loss;
    rfm_nfa biased = w->f, gradient;
    rfm_arena arena;
    rfm_ctx ctx;
    void *memory;
    memset(&gradient, 0, sizeof gradient);
    gradient.b[0] = tangent;
    for (l = 0; l <= biased.layers; l++) biased.b[l] = allocate(biased.width[l + 1], sizeof *biased.b[l], "biases");
    must(rfm_nfa_loss_need(&t->m->ctx, &biased, s->n, &bytes), "the size of a gradient");
    ctx = with_arena(t, &arena, bytes, &memory);
    for (k = 0; k < s->c; k++) {
        lab_network_predict(t, w, s, y);
        for (i = 0; i < s->n; i++) y[i * s->c + k] -= (rfm_real)0.5;
        must(rfm_nfa_loss(&ctx, &biased, rfm_cview(s->x, s->n, d), rfm_cview(y, s->n, s->c), RFM_NFA_SQUARED, &loss,
                          &gradient),
             "a gradient");
        memset(mean, 0, d * sizeof *mean);
        for (i = 0; i < width; i++)
            for (j = 0; j < d; j++) mean[j] += tangent[i] * w->f.w[0][i * d + j];
        for (i = 0; i < d; i++)
            for (j = 0; j < d; j++) g[i * d + j] -= mean[i] * mean[j];
    }
    for (l = 0; l <= biased.layers; l++) free(biased.b[l]);
    free(memory);
    free(y);
    free(mean);
    free(tangent);
}
