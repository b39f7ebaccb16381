/* Images, from the paper on convolutional features: local signals in noise, and layers of features.
 *
 *     rfm-papers bars            a bright or a dark row in noise
 *     rfm-papers noisy-digits    a digit somewhere in noise
 *     rfm-papers layers          accuracy against the number of feature layers
 *
 * Every number is of test images. Ridge, round and layers are chosen on every fifth training image; then alpha is
 * solved for with all of them. */
#include "host/host.h"

#include "cnn.h"
#include "lab.h"
#include "papers.h"
#include "phenomena.h"
#include "rfm/learn/learn.h"
#include "sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LEVELS 8

typedef struct {
    const char *data, *test, *conv, *levels;
    size_t rows, tests, patch, depth, filters, layers, rounds, points, seed, threads, draws, power;
    double bandwidth;
    size_t epochs; /* of the network beside them; 0: none */
} setting;

/* Images and their classes. */
typedef struct {
    size_t n, classes;
    image_size size;
    rfm_real *x; /* (n, pixels) */
    uint32_t *labels;
} image_set;

static size_t pixels_of(image_size s) { return s.channels * s.height * s.width; }

static image_set set_make(size_t n, size_t classes, size_t height, size_t width) {
    image_set s;
    s.n = n, s.classes = classes;
    s.size.channels = 1, s.size.height = height, s.size.width = width;
    s.x = allocate(n, height * width * sizeof *s.x, "images");
    s.labels = allocate(n, sizeof *s.labels, "labels");
    return s;
}

static void set_free(image_set *s) {
    free(s->x);
    free(s->labels);
}

/* ---- the tasks ------------------------------------------------------------------------------ */

#define BAR_ROWS    16
#define BAR_COLUMNS 32

/* Noise of variance sigma / 32; one row is replaced by 1 / sqrt(32) or by -1 / sqrt(32), which is the class. */
static image_set bars_draw(size_t n, double sigma, uint64_t *state) {
    image_set s = set_make(n, 2, BAR_ROWS, BAR_COLUMNS);
    size_t i, j, pixels = BAR_ROWS * BAR_COLUMNS;
    for (i = 0; i < n; i++) {
        size_t row = (size_t)(lab_uniform(state) * BAR_ROWS);
        s.labels[i] = lab_uniform(state) < 0.5;
        for (j = 0; j < pixels; j++) {
            double noise = lab_normal(state) * sqrt(sigma / 32), bar = (s.labels[i] ? 1 : -1) / sqrt(32);
            s.x[i * pixels + j] = (rfm_real)(j / BAR_COLUMNS == row ? bar : noise);
        }
    }
    return s;
}

/* The first n images of a set of digits, from 0 to 1. */
static image_set digits_read(const char *file, size_t n) {
    image_set s;
    csv c;
    size_t i, j;
    csv_read(&c, file, 1);
    if (c.columns != 785) fail("%s: %zu columns, expected 28 x 28 pixels and a label", file, c.columns);
    if (n == 0 || n > c.rows) n = c.rows;
    s = set_make(n, 10, 28, 28);
    for (i = 0; i < n; i++) {
        for (j = 0; j < 784; j++) s.x[i * 784 + j] = (rfm_real)(c.values[i * 785 + j] / 255);
        s.labels[i] = (uint32_t)c.values[i * 785 + 784];
        if (s.labels[i] > 9)
            fail("%s: image %zu has the label %lu, expected 0 to 9", file, i + 1, (unsigned long)s.labels[i]);
    }
    csv_free(&c);
    return s;
}

/* Noise of variance sigma / 4, half as wide again as the digit, which replaces a square of it. */
static image_set digits_in_noise(const image_set *digits, double sigma, uint64_t *state) {
    size_t side = digits->size.height, wide = side + side / 2, i, j, pixels = wide * wide;
    image_set s = set_make(digits->n, 10, wide, wide);
    for (i = 0; i < s.n; i++) {
        size_t top = lab_below(state, side / 2), left = lab_below(state, side / 2);
        s.labels[i] = digits->labels[i];
        for (j = 0; j < pixels; j++) s.x[i * pixels + j] = (rfm_real)(lab_normal(state) * sqrt(sigma / 4));
        for (j = 0; j < side * side; j++)
            s.x[i * pixels + (top + j / side) * wide + left + j % side] = digits->x[i * side * side + j];
    }
    return s;
}

/* ---- a machine ------------------------------------------------------------------------------ */

typedef struct {
    double accuracy, held; /* on test rows; on rows held out */
    size_t round, layers;
    double ridge, seconds;
} outcome;

static int tick(void *arg, rfm_real done) {
    (void)arg;
    progress_show("learning", (double)done, 1);
    return 0;
}

static patch_plan plan_of(const setting *a) {
    static const double ridges[] = {1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1};
    patch_plan plan;
    size_t i;
    memset(&plan, 0, sizeof plan);
    rfm_conv_options_init(&plan.options);
    plan.options.kernel = options_word("--conv", a->conv, conv_words);
    plan.options.patch = a->patch, plan.options.depth = (int)a->depth, plan.options.bandwidth = (rfm_real)a->bandwidth;
    plan.options.rounds = a->rounds, plan.options.filters = a->filters, plan.options.seed = (uint32_t)a->seed;
    plan.options.agop_points = a->points, plan.options.power = (int)a->power;
    for (i = 0; i < sizeof ridges / sizeof *ridges; i++) plan.options.ridge[i] = (rfm_real)ridges[i];
    plan.options.ridges = i;
    plan.hold = 1, plan.tick = tick;
    return plan;
}

static outcome run(machine *m, const image_set *train, const image_set *test, const patch_plan *plan) {
    size_t c = train->classes == 2 ? 1 : train->classes, d = pixels_of(train->size), i, right = 0;
    rfm_real *y = allocate(train->n, c * sizeof *y, "targets"), *found;
    uint32_t *classes = allocate(test->n, sizeof *classes, "predictions");
    double start = seconds_now();
    patch_plan p = *plan;
    patch_fit fit;
    outcome o;
    class_targets(train->labels, train->n, c, y);
    if (p.options.agop_points >= train->n - train->n / 5) p.options.agop_points = 0;
    patches_learn(m, train->size, rfm_cview(train->x, train->n, d), rfm_cview(y, train->n, c), train->labels,
                  train->classes, &p, &fit);
    found = allocate(test->n, c * sizeof *found, "predictions");
    patches_predict(m, &fit.model, rfm_cview(test->x, test->n, d), found, classes);
    for (i = 0; i < test->n; i++) right += classes[i] == test->labels[i];
    o.accuracy = (double)right / (double)test->n, o.held = fit.score;
    o.round = fit.round, o.layers = fit.model.layers, o.ridge = fit.ridge, o.seconds = seconds_now() - start;
    patch_fit_free(&fit);
    free(y);
    free(found);
    free(classes);
    return o;
}

/* ---- noise levels --------------------------------------------------------------------------- */

static size_t levels_read(const char *list, double *levels) {
    size_t count = 0;
    const char *at = list;
    while (count < MOST_LEVELS) {
        char *end;
        levels[count] = strtod(at, &end);
        if (end == at || !(levels[count] > 0))
            usage("--sigma: expected numbers above 0 as in 1,2,4, found \"%s\"", list);
        count++;
        if (*end == 0) return count;
        if (*end != ',') usage("--sigma: expected numbers above 0 as in 1,2,4, found \"%s\"", list);
        at = end + 1;
    }
    usage("--sigma: expected at most %d numbers", MOST_LEVELS);
}

/* The same images for the network; one output for two classes. */
static lab_rows rows_of_set(const image_set *s, size_t first, size_t count) {
    size_t d = pixels_of(s->size), i;
    lab_rows r = rows_make(count, d, s->classes == 2 ? 1 : s->classes);
    memcpy(r.x, s->x + first * d, count * d * sizeof *r.x);
    for (i = 0; i < count; i++) rows_label(&r, i, s->labels[first + i]);
    return r;
}

/* Two layers of 16 filters of side 3, the largest of 2 x 2; the last fifth of the images says which epoch is kept. */
static double run_network(machine *m, const setting *a, const image_set *train, const image_set *test) {
    size_t fit = train->n - train->n / 5;
    lab_rows r = rows_of_set(train, 0, fit), held = rows_of_set(train, fit, train->n - fit);
    lab_rows tests = rows_of_set(test, 0, test->n);
    trial t = {NULL, 0, 0, NULL};
    double right;
    cnn f;
    t.m = m, t.seed = a->seed;
    f = cnn_make(&t, train->size.height, train->size.width, r.c, 2, 16, 3, CNN_MAX);
    cnn_train(&t, &f, &r, &held, a->epochs, 2e-3);
    right = cnn_accuracy(&t, &f, &tests);
    cnn_free(&f);
    rows_free(&r);
    rows_free(&held);
    rows_free(&tests);
    return right;
}

#define PERCENT_ROOM 16

static const char *percent(char room[PERCENT_ROOM], double share, int was_run) {
    if (!was_run) return "";
    snprintf(room, PERCENT_ROOM, "%.2f", 100 * share);
    return room;
}

/* Three machines and a network at each level, the mean of several draws of images. */
static void noise_table(machine *m, const setting *a, const image_set *digits, const image_set *test_digits,
                        text *sheet) {
    double levels[MOST_LEVELS];
    size_t count = levels_read(a->levels, levels), i, k, draw;
    sheet_table(sheet, "sigma|fixed kernel %|ConvRFM %|Deep ConvRFM %|network %|held out: fixed|ConvRFM|Deep|rounds, "
                       "layers|seconds");
    for (i = 0; i < count; i++) {
        double accuracy[3] = {0, 0, 0}, held[3] = {0, 0, 0}, network_right = 0, seconds = 0;
        char deep[3][PERCENT_ROOM];
        text chosen = {NULL, 0, 0};
        for (draw = 0; draw < a->draws; draw++) {
            uint64_t state = (a->seed + draw + 1) * 0x9e3779b97f4a7c15u + i;
            image_set train =
                digits != NULL ? digits_in_noise(digits, levels[i], &state) : bars_draw(a->rows, levels[i], &state);
            image_set test = digits != NULL ? digits_in_noise(test_digits, levels[i], &state)
                                            : bars_draw(a->tests, levels[i], &state);
            for (k = 0; k < (a->layers > 0 ? 3u : 2u); k++) {
                patch_plan plan = plan_of(a);
                outcome o;
                if (k == 0) plan.options.rounds = 0;
                if (k == 2) plan.options.layers = a->layers;
                o = run(m, &train, &test, &plan);
                accuracy[k] += o.accuracy / (double)a->draws, held[k] += o.held / (double)a->draws;
                seconds += o.seconds;
                if (k == 1) text_add(&chosen, "%s%zu", draw > 0 ? "; " : "", o.round);
                if (k == 2) text_add(&chosen, ", %zu", o.layers);
            }
            if (a->epochs > 0) network_right += run_network(m, a, &train, &test) / (double)a->draws;
            set_free(&train);
            set_free(&test);
        }
        text_bytes(&chosen, "", 1);
        sheet_row(sheet, "%g|%.2f|%.2f|%s|%s|%.2f|%.2f|%s|%s|%.0f", levels[i], 100 * accuracy[0], 100 * accuracy[1],
                  percent(deep[0], accuracy[2], a->layers > 0), percent(deep[1], network_right, a->epochs > 0),
                  100 * held[0], 100 * held[1], percent(deep[2], held[2], a->layers > 0), chosen.at, seconds);
        free(chosen.at);
    }
}

/* ---- layers --------------------------------------------------------------------------------- */

/* Plain RFM on the same images: bandwidth in median distances, ridge and T on the same rows held out. */
static outcome run_plain(machine *m, const image_set *train, const image_set *test, const setting *a) {
    static const double bandwidths[] = {1, 2, 4}, ridges[] = {1e-4, 1e-3, 1e-2, 1e-1};
    size_t d = pixels_of(train->size), n = train->n, c = train->classes, fits = 0, held = 0, bytes, store, i, j, t,
           right;
    rfm_real *y = allocate(n, c * sizeof *y, "targets"),
             *found = allocate(test->n + n, c * sizeof *found, "predictions");
    uint32_t *order = rows_in_turn(n, train->labels, c, a->seed), *rows = allocate(2 * n, sizeof *rows, "folds");
    double start = seconds_now();
    rfm_options o, best;
    rfm_data data;
    rfm_model model;
    part some;
    outcome r;
    memset(&r, 0, sizeof r);
    class_targets(train->labels, n, c, y);
    rows_fold(order, n, 5, 0, rows, &fits, rows + n, &held);
    some = part_make(rfm_cview(train->x, n, d), rfm_cview(y, n, c), NULL, d, rows, fits, rows + n, held);
    rfm_options_init(&o);
    o.metric = RFM_FULL, o.bandwidth_rule = RFM_BANDWIDTH_MEDIAN;
    best = o;
    for (t = 0; t <= sizeof bandwidths / sizeof *bandwidths * sizeof ridges / sizeof *ridges * (a->rounds + 1); t++) {
        int last = t == sizeof bandwidths / sizeof *bandwidths * sizeof ridges / sizeof *ridges * (a->rounds + 1);
        const image_set *on = last ? test : NULL;
        size_t v = last ? test->n : held;
        memset(&data, 0, sizeof data);
        data.x = last ? rfm_cview(train->x, n, d) : rfm_cview(some.x, fits, d);
        data.y = last ? rfm_cview(y, n, c) : rfm_cview(some.y, fits, c);
        i = t % 3, j = t / 3 % 4;
        o.bandwidth = (rfm_real)bandwidths[i], o.ridge = (rfm_real)ridges[j], o.iterations = t / 12;
        if (last) o = best;
        must(rfm_fit_need(&m->ctx, &data, &o, &bytes, &store), "RFM");
        machine_memory(m, bytes + store, "RFM");
        must(rfm_fit(&m->ctx, &data, &o, m->ctx.arena, &model, NULL), "RFM");
        {
            void *memory;
            rfm_arena own, *kept = m->ctx.arena;
            must(rfm_predict_need(&m->ctx, &model, v, &bytes), "RFM");
            memory = allocate_aligned(bytes, "predictions");
            must(rfm_arena_init(&own, memory, bytes), "RFM");
            m->ctx.arena = &own;
            must(rfm_predict(&m->ctx, &model, last ? rfm_cview(test->x, v, d) : rfm_cview(some.xv, v, d),
                             rfm_view(found, v, c)),
                 "RFM");
            m->ctx.arena = kept;
            free(memory);
        }
        for (right = i = 0; i < v; i++)
            right += (size_t)is_right(found + i * c, c, on != NULL ? on->labels[i] : train->labels[some.rows[i]]);
        if (last)
            r.accuracy = (double)right / (double)v;
        else if ((double)right / (double)v > r.held) {
            r.held = (double)right / (double)v, best = o;
            r.round = o.iterations, r.ridge = (double)o.ridge;
        }
        progress_show("plain RFM", (double)t, 12 * (double)(a->rounds + 1));
    }
    progress_end();
    r.seconds = seconds_now() - start;
    part_free(&some);
    free(y);
    free(found);
    free(order);
    free(rows);
    return r;
}

static void layers_row(text *sheet, const char *name, const outcome *o) {
    sheet_row(sheet, "%s|%.2f|%.2f|%zu|%g|%.0f", name, 100 * o->accuracy, 100 * o->held, o->round, o->ridge,
              o->seconds);
}

static void layers_table(machine *m, const setting *a, const image_set *train, const image_set *test, text *sheet) {
    outcome o;
    size_t l;
    sheet_table(sheet, "machine|test %|held out %|round|ridge|seconds");
    o = run_plain(m, train, test, a);
    layers_row(sheet, "RFM on pixels, Laplace", &o);
    for (l = 0; l <= a->layers + 1; l++) {
        patch_plan plan = plan_of(a);
        char name[80];
        if (l == 0) plan.options.rounds = 0;
        if (l > 1) plan.options.layers = l - 1, plan.options.best = 0;
        snprintf(name, sizeof name,
                 l == 0   ? "fixed kernel, 0 layers"
                 : l == 1 ? "ConvRFM, 1 layer"
                          : "Deep ConvRFM, %zu layers",
                 l);
        o = run(m, train, test, &plan);
        layers_row(sheet, name, &o);
    }
}

/* ---- the commands --------------------------------------------------------------------------- */

static const char help[] = "usage: rfm-papers bars [options]\n"
                           "       rfm-papers noisy-digits IMAGES-idx3-ubyte --test IMAGES-idx3-ubyte [options]\n"
                           "       rfm-papers layers IMAGES-idx3-ubyte --test IMAGES-idx3-ubyte [options]\n"
                           "\n"
                           "Labels are in the files beside the images, with labels and idx1 in their names.\n"
                           "\n"
                           "  --test FILE        test images\n"
                           "  --rows N           training images\n"
                           "  --tests N          test images\n"
                           "  --sigma A,B,..     noise levels\n"
                           "  --draws N          draws of images, whose scores are averaged (1)\n"
                           "  --conv NAME        laplace, cnngp, cntk\n"
                           "  --patch N          side of a patch\n"
                           "  --depth N          convolutions of the kernel\n"
                           "  --bandwidth X      of laplace\n"
                           "  --layers N         of filters, at most\n"
                           "  --filters N        of each layer\n"
                           "  --rounds N         updates of M (4)\n"
                           "  --points N         images at which gradients are taken (0: all)\n"
                           "  --power N          1: M is the square of the AGOP, as in the authors' program (0)\n"
                           "  --epochs N         of a small convolutional network beside them (0: none)\n"
                           "  --seed N           (0)\n"
                           "  --threads N        (0: as many as there are processors)\n"
                           "  --quiet            no progress\n";

/* 1: --help was asked for. */
static int setting_read(const char *name, char **argv, size_t operands, setting *a) {
    const option table[] = {{"--test", NULL, OPTION_TEXT, &a->test},
                            {"--rows", NULL, OPTION_SIZE, &a->rows},
                            {"--tests", NULL, OPTION_SIZE, &a->tests},
                            {"--sigma", NULL, OPTION_TEXT, &a->levels},
                            {"--draws", NULL, OPTION_SIZE, &a->draws},
                            {"--conv", NULL, OPTION_TEXT, &a->conv},
                            {"--patch", NULL, OPTION_SIZE, &a->patch},
                            {"--depth", NULL, OPTION_SIZE, &a->depth},
                            {"--bandwidth", NULL, OPTION_NUMBER, &a->bandwidth},
                            {"--layers", NULL, OPTION_SIZE, &a->layers},
                            {"--filters", NULL, OPTION_SIZE, &a->filters},
                            {"--rounds", NULL, OPTION_SIZE, &a->rounds},
                            {"--points", NULL, OPTION_SIZE, &a->points},
                            {"--power", NULL, OPTION_SIZE, &a->power},
                            {"--epochs", NULL, OPTION_SIZE, &a->epochs},
                            {"--seed", NULL, OPTION_SIZE, &a->seed},
                            {"--threads", NULL, OPTION_SIZE, &a->threads},
                            {"--quiet", "-q", OPTION_FLAG, &quiet},
                            {NULL, NULL, 0, NULL}};
    command_line line = {name, "IMAGES-idx3-ubyte", operands, operands, "; see rfm-papers bars --help", NULL};
    double levels[MOST_LEVELS];
    int kernel;
    line.options = table;
    if (options_read(&line, argv, &a->data)) {
        fputs(help, stdout);
        return 1;
    }
    kernel = options_word("--conv", a->conv, conv_words);
    if (operands > 0 && a->test == NULL) usage("%s: expected --test IMAGES-idx3-ubyte", name);
    if (a->rows < 10) usage("--rows: expected at least 10");
    if (a->tests == 0) usage("--tests: expected at least 1");
    if (a->draws == 0) usage("--draws: expected at least 1");
    if (a->patch == 0) usage("--patch: expected at least 1");
    if (a->power > 1) usage("--power: expected 0 or 1");
    if (a->filters == 0) usage("--filters: expected at least 1");
    if (a->rounds > 20) usage("--rounds: expected at most 20");
    if (!(a->bandwidth > 0)) usage("--bandwidth: expected more than 0");
    if (a->depth < 1 || a->depth > RFM_CONV_DEPTH) usage("--depth: expected 1 to %d", RFM_CONV_DEPTH);
    if (a->layers > RFM_CONV_LAYERS || (kernel != RFM_CONV_LAPLACE && a->layers >= a->depth))
        usage("--layers: expected fewer than --depth, or with laplace at most %d", RFM_CONV_LAYERS);
    if (a->levels != NULL) (void)levels_read(a->levels, levels);
    return 0;
}

static void show(const text *sheet) {
    text lines = {NULL, 0, 0}, shown = {NULL, 0, 0};
    text_bytes(&lines, sheet->at, sheet->size);
    text_bytes(&lines, "", 1);
    sheet_markdown(&shown, lines.at);
    file_show(&shown, NULL);
    free(lines.at);
    free(shown.at);
}

int bars(char **argv) {
    setting a = {NULL, NULL, "laplace", "0.6,1,2,4", 500, 1000, 5, 1, 8, 1, 4, 0, 0, 0, 1, 0, 10, 0};
    text sheet = {NULL, 0, 0};
    machine m;
    if (setting_read("bars", argv, 0, &a)) return 0;
    machine_start(&m, a.threads, "auto");
    noise_table(&m, &a, NULL, NULL, &sheet);
    show(&sheet);
    free(sheet.at);
    machine_stop(&m);
    return 0;
}

int noisy_digits(char **argv) {
    setting a = {NULL, NULL, "laplace", "0.05,0.1,0.25", 500, 1000, 7, 1, 8, 1, 4, 100, 0, 0, 1, 0, 4, 0};
    image_set train, test;
    text sheet = {NULL, 0, 0};
    machine m;
    if (setting_read("noisy-digits", argv, 1, &a)) return 0;
    machine_start(&m, a.threads, "auto");
    train = digits_read(a.data, a.rows), test = digits_read(a.test, a.tests);
    noise_table(&m, &a, &train, &test, &sheet);
    show(&sheet);
    free(sheet.at);
    set_free(&train);
    set_free(&test);
    machine_stop(&m);
    return 0;
}

int layers(char **argv) {
    setting a = {NULL, NULL, "laplace", NULL, 1000, 1000, 7, 1, 8, 2, 4, 100, 0, 0, 1, 0, 4, 0};
    image_set train, test;
    text sheet = {NULL, 0, 0};
    machine m;
    if (setting_read("layers", argv, 1, &a)) return 0;
    machine_start(&m, a.threads, "auto");
    train = digits_read(a.data, a.rows), test = digits_read(a.test, a.tests);
    layers_table(&m, &a, &train, &test, &sheet);
    show(&sheet);
    free(sheet.at);
    set_free(&train);
    set_free(&test);
    machine_stop(&m);
    return 0;
}

/* ---- on the page ------------------------------------------------------------------------------ */

/* Digits of 28 x 28 or 8 x 8 pixels as images. */
static const char *digit_images(const trial *t, size_t rows, size_t tests, image_set *train, image_set *test) {
    lab_rows r[2];
    size_t side, k;
    const char *name = lab_digits(t, rows, tests, &r[0], &r[1], &side);
    for (k = 0; k < 2; k++) {
        image_set *s = k == 0 ? train : test;
        *s = set_make(r[k].n, 10, side, side);
        memcpy(s->x, r[k].x, r[k].n * r[k].d * sizeof *s->x);
        memcpy(s->labels, r[k].labels, r[k].n * sizeof *s->labels);
        rows_free(&r[k]);
    }
    return name;
}

void bars_on_page(const trial *t, text *sheet) {
    setting a = {NULL, NULL, "laplace", "0.6,1,2,4", 500, 1000, 5, 1, 8, 1, 4, 100, 0, 0, 1, 0, 10, 20};
    if (t->quick) a.levels = "2", a.rows = 100, a.tests = 200, a.rounds = 1, a.layers = 0, a.epochs = 3;
    a.seed = t->seed;
    sheet_say(sheet,
              "16 x 32 pixels of noise of variance sigma / 32; one row is replaced by 1 / sqrt(32) or by its negative, "
              "which is the "
              "class. %zu images to train, %zu to test. Laplace kernel, L = 10, patches of side 5. Ridge, round and "
              "layers are chosen on "
              "every fifth training image; so is the epoch of the network, two layers of 16 filters of side 3.",
              a.rows, a.tests);
    noise_table(t->m, &a, NULL, NULL, sheet);
    sheet_say(sheet, "The paper (Fig. 5) has the same order as a picture: the fixed kernel falls first. Its program "
                     "chooses ridge and "
                     "round on the test rows.");
}

void noisy_digits_on_page(const trial *t, text *sheet) {
    setting a = {NULL, NULL, "laplace", "0.1,0.25,0.5", 400, 500, 7, 1, 4, 1, 3, 50, 0, 0, 1, 0, 4, 20};
    image_set train, test;
    const char *name;
    if (t->data == NULL) a.patch = 3, a.bandwidth = 2;
    if (t->quick) a.levels = "0.25", a.rows = 100, a.tests = 200, a.rounds = 1, a.layers = 0, a.epochs = 3;
    a.seed = t->seed;
    name = digit_images(t, a.rows, a.tests, &train, &test);
    sheet_say(sheet,
              "%s at a random place of noise of variance sigma / 4. %zu images to train, %zu to test. Laplace kernel, "
              "L = %g, patches of "
              "side %zu.",
              name, train.n, test.n, a.bandwidth, a.patch);
    noise_table(t->m, &a, &train, &test, sheet);
    sheet_say(sheet, "The paper has 2,000 images and a network of three layers; with fewer all are less right, and the "
                     "order is what "
                     "can be compared.");
    set_free(&train);
    set_free(&test);
}

void layers_on_page(const trial *t, text *sheet) {
    setting a = {NULL, NULL, "laplace", NULL, 400, 1000, 7, 1, 8, 2, 2, 50, 0, 0, 1, 0, 4, 0};
    image_set train, test;
    const char *name;
    if (t->data == NULL) a.patch = 3, a.bandwidth = 2;
    if (t->quick) a.rows = 100, a.tests = 200, a.rounds = 1, a.layers = 1, a.filters = 4;
    a.seed = t->seed;
    name = digit_images(t, a.rows, a.tests, &train, &test);
    sheet_say(sheet, "%s, %zu to train, %zu to test. Laplace kernel, L = %g, patches of side %zu.", name, train.n,
              test.n, a.bandwidth, a.patch);
    layers_table(t->m, &a, &train, &test, sheet);
    sheet_say(sheet,
              "The paper (Fig. 6B) has five larger sets, on which Deep ConvRFM is up to two points above ConvRFM.");
    set_free(&train);
    set_free(&test);
}

/* ---- what M looks at (Fig. 2 to 4, 10 to 12) ----------------------------------------------------- */

#define SHOWN 3 /* eigenvectors */

/* Eigenvectors (SHOWN, D) of M, and M (D, D). */
static void metric_of(machine *m, const rfm_conv_model *model, double *vectors, double *metric) {
    size_t d = rfm_conv_patch(&model->f), r = model->r, bytes, i, j, q;
    rfm_real *a = allocate(d, d * sizeof *a, "M"), *v = allocate(SHOWN, d * sizeof *v, "eigenvectors"), w[SHOWN];
    rfm_ctx ctx = m->ctx;
    rfm_arena arena;
    void *memory;
    for (i = 0; i < d; i++)
        for (j = 0; j < d; j++) {
            double sum = model->p == NULL ? i == j : 0;
            for (q = 0; model->p != NULL && q < r; q++)
                sum += (double)model->p[q * d + i] * (double)model->p[q * d + j];
            metric[i * d + j] = sum, a[i * d + j] = (rfm_real)sum;
        }
    must(rfm_eig_need(&ctx, d, SHOWN, &bytes), "eigenvectors");
    memory = allocate_aligned(bytes, "eigenvectors");
    must(rfm_arena_init(&arena, memory, bytes), "memory");
    ctx.arena = &arena;
    must(rfm_eig(&ctx, rfm_view(a, d, d), SHOWN, w, rfm_view(v, SHOWN, d)), "eigenvectors");
    for (i = 0; i < SHOWN * d; i++) vectors[i] = (double)v[i];
    free(memory);
    free(a);
    free(v);
}

/* Over the places of an image of one channel: |M x[r]|, or |u'x[r]| if u is not NULL. */
static void respond(text *sheet, const char *title, const rfm_real *image, image_size size, size_t q,
                    const double *metric, const double *u) {
    size_t high = size.height - q + 1, wide = size.width - q + 1, d = q * q, i, j, k;
    double *out = allocate(high, wide * sizeof *out, "a picture"), *patch = allocate(d, sizeof *patch, "a patch");
    for (i = 0; i < high * wide; i++) {
        double sum = 0, along = 0;
        for (k = 0; k < d; k++) {
            patch[k] = (double)image[(i / wide + k / q) * size.width + i % wide + k % q];
            if (u != NULL) along += u[k] * patch[k];
        }
        for (k = 0; u == NULL && k < d; k++) {
            double row = 0;
            for (j = 0; j < d; j++) row += metric[k * d + j] * patch[j];
            sum += row * row;
        }
        out[i] = u != NULL ? fabs(along) : sqrt(sum);
    }
    sheet_image(sheet, title, out, wide, high);
    free(out);
    free(patch);
}

static void show_image(text *sheet, const char *title, const rfm_real *image, image_size size) {
    size_t pixels = pixels_of(size), i;
    double *x = allocate(pixels, sizeof *x, "a picture");
    for (i = 0; i < pixels; i++) x[i] = (double)image[i];
    sheet_image(sheet, title, x, size.width, size.height);
    free(x);
}

void pictures_on_page(const trial *t, text *sheet) {
    setting a = {NULL, NULL, "cntk", NULL, 300, 100, 5, 1, 8, 0, 2, 100, 0, 0, 1, 0, 4, 0};
    uint64_t state = t->seed;
    image_set train, test, other;
    patch_plan plan;
    patch_fit fit;
    size_t d, k, right = 0;
    rfm_real *y, *found;
    uint32_t *classes;
    double *vectors, *metric;
    const char *name;
    if (t->data == NULL) a.patch = 3;
    if (t->quick) a.rows = 60, a.rounds = 1;
    a.seed = t->seed;
    name = digit_images(t, a.rows, a.tests, &train, &test);
    other = bars_draw(1, 0.5, &state);
    plan = plan_of(&a);
    y = allocate(train.n, train.classes * sizeof *y, "targets");
    class_targets(train.labels, train.n, train.classes, y);
    if (plan.options.agop_points >= train.n - train.n / 5) plan.options.agop_points = 0;
    plan.hold = 0, plan.options.select = RFM_SELECT_LAST; /* the last M, right or not: it is to be seen */
    plan.options.ridges = 1, plan.options.ridge[0] = (rfm_real)1e-3;
    patches_learn(t->m, train.size, rfm_cview(train.x, train.n, pixels_of(train.size)),
                  rfm_cview(y, train.n, train.classes), train.labels, train.classes, &plan, &fit);
    d = rfm_conv_patch(&fit.model.f);
    vectors = allocate(SHOWN, d * sizeof *vectors, "eigenvectors"), metric = allocate(d, d * sizeof *metric, "M");
    metric_of(t->m, &fit.model, vectors, metric);
    found = allocate(test.n, test.classes * sizeof *found, "predictions");
    classes = allocate(test.n, sizeof *classes, "predictions");
    patches_predict(t->m, &fit.model, rfm_cview(test.x, test.n, pixels_of(test.size)), found, classes);
    for (k = 0; k < test.n; k++) right += classes[k] == test.labels[k];
    sheet_say(sheet,
              "ConvRFM with the tangent kernel of one convolution, patches of side %zu, on %zu of %s; %zu updates of "
              "M, ridge "
              "0.001. Eigenvectors of M, then what they and M make of an image, and of an image of another set.",
              a.patch, train.n, name, a.rounds);
    sheet_table(sheet, "quantity|ours|paper");
    sheet_row(sheet, "right of %zu test images, %%|%.1f|", test.n, 100 * (double)right / (double)test.n);
    sheet_row(sheet, "what the top eigenvectors are|see the pictures|edge detectors, as pictures");
    free(found);
    free(classes);
    for (k = 0; k < SHOWN; k++) {
        char title[40];
        snprintf(title, sizeof title, "Eigenvector %zu of M", k + 1);
        sheet_image(sheet, title, vectors + k * d, a.patch, a.patch);
    }
    show_image(sheet, "A digit", test.x, test.size);
    respond(sheet, "|M x[r]|", test.x, test.size, a.patch, metric, NULL);
    for (k = 0; k < SHOWN; k++) {
        char title[60];
        snprintf(title, sizeof title, "Response of eigenvector %zu", k + 1);
        respond(sheet, title, test.x, test.size, a.patch, metric, vectors + k * d);
    }
    show_image(sheet, "An image of another set: a bar in noise", other.x, other.size);
    respond(sheet, "|M x[r]| of it", other.x, other.size, a.patch, metric, NULL);
    sheet_say(sheet, "The paper has networks and ConvRFMs of ImageNet and SVHN; there, too, M finds edges, and carries "
                     "over to other "
                     "images.");
    patch_fit_free(&fit);
    set_free(&train);
    set_free(&test);
    set_free(&other);
    free(y);
    free(vectors);
    free(metric);
}
