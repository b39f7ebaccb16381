/* Images, from the paper on convolutional features: local signals in noise (bars, digits), layers of features, and what
 * a metric of patches looks at.
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

/* The options of a table. */
typedef struct {
    const char *conv, *levels;
    size_t rows, tests, draws;
    size_t patch;     /* 0: 11 in images of at least 28 pixels, else 3 */
    double bandwidth; /* 0: 10 with such patches, else 2 */
    size_t depth, layers, filters, rounds, points, power;
    size_t epochs; /* of the network beside them; 0: none */
    uint64_t seed;
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

/* Digits of 28 x 28 or 8 x 8 pixels, from 0 to 1. */
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
    double ridge;
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
    patch_fit fit;
    outcome o;
    class_targets(train->labels, train->n, c, y);
    patches_learn(m, train->size, rfm_cview(train->x, train->n, d), rfm_cview(y, train->n, c), train->labels,
                  train->classes, plan, &fit);
    found = allocate(test->n, c * sizeof *found, "predictions");
    patches_predict(m, &fit.model, rfm_cview(test->x, test->n, d), found, classes);
    for (i = 0; i < test->n; i++) right += classes[i] == test->labels[i];
    o.accuracy = (double)right / (double)test->n, o.held = fit.score;
    o.round = fit.round, o.layers = fit.model.layers, o.ridge = fit.ridge;
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
static double run_network(const trial *t, const setting *a, const image_set *train, const image_set *test) {
    size_t fit = train->n - train->n / 5;
    lab_rows r = rows_of_set(train, 0, fit), held = rows_of_set(train, fit, train->n - fit);
    lab_rows tests = rows_of_set(test, 0, test->n);
    cnn f = cnn_make(t, train->size.height, train->size.width, r.c, 2, 16, 3, CNN_MAX);
    double right;
    cnn_train(t, &f, &r, &held, a->epochs, 2e-3);
    right = cnn_accuracy(t, &f, &tests);
    cnn_free(&f);
    rows_free(&r);
    rows_free(&held);
    rows_free(&tests);
    return right;
}

#define PERCENT_ROOM 16

static const char *percent(char room[PERCENT_ROOM], const char *format, double share, int was_run) {
    if (!was_run) return "";
    snprintf(room, PERCENT_ROOM, format, 100 * share);
    return room;
}

#define MACHINES 4
static const char *const machines[MACHINES] = {"fixed kernel", "ConvRFM", "Deep ConvRFM", "network"};

/* Three machines and a network at each level, the mean of several draws of images. paper: what it says of the gains. */
static void noise_table(const trial *t, const setting *a, const image_set *digits, const image_set *test_digits,
                        const char *paper, text *sheet) {
    double levels[MOST_LEVELS], accuracy[MOST_LEVELS][MACHINES], held[3];
    size_t count = levels_read(a->levels, levels), i, k, draw;
    sheet_table(sheet, "sigma|fixed kernel %|ConvRFM %|Deep ConvRFM %|network %|ConvRFM above fixed|Deep above ConvRFM|"
                       "paper|held out: fixed|ConvRFM|Deep|rounds, layers");
    for (i = 0; i < count; i++) {
        char room[4][PERCENT_ROOM];
        text chosen = {NULL, 0, 0};
        memset(accuracy[i], 0, sizeof accuracy[i]);
        memset(held, 0, sizeof held);
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
                o = run(t->m, &train, &test, &plan);
                accuracy[i][k] += o.accuracy / (double)a->draws, held[k] += o.held / (double)a->draws;
                if (k == 1) text_add(&chosen, "%s%zu", draw > 0 ? "; " : "", o.round);
                if (k == 2) text_add(&chosen, ", %zu", o.layers);
            }
            if (a->epochs > 0) accuracy[i][3] += run_network(t, a, &train, &test) / (double)a->draws;
            set_free(&train);
            set_free(&test);
        }
        text_bytes(&chosen, "", 1);
        sheet_row(sheet, "%g|%.2f|%.2f|%s|%s|%+.1f|%s|%s|%.2f|%.2f|%s|%s", levels[i], 100 * accuracy[i][0],
                  100 * accuracy[i][1], percent(room[0], "%.2f", accuracy[i][2], a->layers > 0),
                  percent(room[1], "%.2f", accuracy[i][3], a->epochs > 0), 100 * (accuracy[i][1] - accuracy[i][0]),
                  percent(room[2], "%+.1f", accuracy[i][2] - accuracy[i][1], a->layers > 0), paper, 100 * held[0],
                  100 * held[1], percent(room[3], "%.2f", held[2], a->layers > 0), chosen.at);
        free(chosen.at);
    }
    sheet_chart(sheet, "Right on test images", "log10 of sigma", "%");
    for (k = 0; k < MACHINES; k++)
        for (i = 0; i < count; i++)
            if ((k != 2 || a->layers > 0) && (k != 3 || a->epochs > 0))
                sheet_point(sheet, machines[k], log10(levels[i]), 100 * accuracy[i][k]);
}

/* ---- layers --------------------------------------------------------------------------------- */

/* Plain RFM on the same images: bandwidth in median distances, ridge and T on the last fifth of them. */
static outcome run_plain(const trial *t, const setting *a, const image_set *train, const image_set *test) {
    static const double bandwidths[] = {1, 2, 4}, ridges[] = {1e-4, 1e-3, 1e-2, 1e-1};
    lab_rows rows = rows_of_set(train, 0, train->n), tests = rows_of_set(test, 0, test->n);
    lab_choice best;
    lab_model f;
    outcome r;
    size_t i;
    best.score = -HUGE_VAL;
    for (i = 0; i < 12; i++) {
        rfm_options o;
        rfm_options_init(&o);
        o.bandwidth_rule = RFM_BANDWIDTH_MEDIAN, o.bandwidth = (rfm_real)bandwidths[i % 3];
        o.ridge = (rfm_real)ridges[i / 3], o.iterations = a->rounds;
        lab_try(t, &rows, 1, &o, &best);
        progress_show("plain RFM", (double)i + 1, 12);
    }
    progress_end();
    f = lab_fit(t, &rows, &best.options, NULL);
    r.accuracy = lab_accuracy(t, &f, &tests), r.held = best.score, r.layers = 0;
    r.round = best.options.iterations, r.ridge = (double)best.options.ridge;
    lab_model_free(&f);
    rows_free(&rows);
    rows_free(&tests);
    return r;
}

static void layers_row(text *sheet, const char *name, const outcome *o, const char *svhn, const char *emnist) {
    sheet_row(sheet, "%s|%.2f|%s|%s|%.2f|%zu|%g", name, 100 * o->accuracy, svhn, emnist, 100 * o->held, o->round,
              o->ridge);
}

static void layers_table(const trial *t, const setting *a, const image_set *train, const image_set *test, text *sheet) {
    /* Figure 6A: the best of all depths. */
    static const char *const svhn[] = {"81.38", "85.02", "87.28"}, *const emnist[] = {"86.01", "86.73", "87.60"};
    double right[RFM_CONV_LAYERS + 2];
    outcome o;
    size_t l;
    sheet_table(sheet, "machine|test %|paper: SVHN %|paper: EMNIST %|held out %|round|ridge");
    o = run_plain(t, a, train, test);
    layers_row(sheet, "RFM on pixels, Laplace", &o, "", "");
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
        o = run(t->m, train, test, &plan);
        right[l] = o.accuracy;
        layers_row(sheet, name, &o, l < 3 ? svhn[l] : "", l < 3 ? emnist[l] : "");
    }
    if (a->epochs > 0)
        sheet_row(sheet, "network, two layers of 16 filters|%.2f|84.48|88.35|||", 100 * run_network(t, a, train, test));
    sheet_chart(sheet, "Right on test images (Fig. 6B)", "layers of features", "%");
    for (l = 0; l <= a->layers + 1; l++) sheet_point(sheet, "kernel machines", (double)l, 100 * right[l]);
}

/* ---- the experiments ------------------------------------------------------------------------ */

const char setting_help[] = "  --rows N           training images\n"
                            "  --tests N          test images\n"
                            "  --sigma A,B,..     noise levels\n"
                            "  --draws N          draws of images, whose scores are averaged (1)\n"
                            "  --conv NAME        laplace, cnngp, cntk\n"
                            "  --patch N          side of a patch (bars 5; else by the size of the digits)\n"
                            "  --bandwidth X      of laplace (bars 10; else by the size of the digits)\n"
                            "  --depth N          convolutions of the kernel\n"
                            "  --layers N         of filters, at most\n"
                            "  --filters N        of each layer\n"
                            "  --rounds N         updates of M, at most\n"
                            "  --points N         images at which gradients are taken (0: all)\n"
                            "  --power N          1: M is the square of the AGOP, as in the authors' program (0)\n"
                            "  --epochs N         of a small convolutional network beside them (0: none)\n";

#define SETTING_OPTIONS(a)                                                                                    \
    {                                                                                                         \
        {"--rows", NULL, OPTION_SIZE, &(a).rows}, {"--tests", NULL, OPTION_SIZE, &(a).tests},                 \
            {"--sigma", NULL, OPTION_TEXT, &(a).levels}, {"--draws", NULL, OPTION_SIZE, &(a).draws},          \
            {"--conv", NULL, OPTION_TEXT, &(a).conv}, {"--patch", NULL, OPTION_SIZE, &(a).patch},             \
            {"--depth", NULL, OPTION_SIZE, &(a).depth}, {"--bandwidth", NULL, OPTION_NUMBER, &(a).bandwidth}, \
            {"--layers", NULL, OPTION_SIZE, &(a).layers}, {"--filters", NULL, OPTION_SIZE, &(a).filters},     \
            {"--rounds", NULL, OPTION_SIZE, &(a).rounds}, {"--points", NULL, OPTION_SIZE, &(a).points},       \
            {"--power", NULL, OPTION_SIZE, &(a).power}, {"--epochs", NULL, OPTION_SIZE, &(a).epochs}, {       \
            NULL, NULL, 0, NULL                                                                               \
        }                                                                                                     \
    }

/* What is asked for: at first what the page has. */
static setting of_bars = {.conv = "laplace",
                          .levels = "0.6,1,2,4",
                          .rows = 500,
                          .tests = 1000,
                          .draws = 1,
                          .patch = 5,
                          .bandwidth = 10,
                          .depth = 1,
                          .layers = 1,
                          .filters = 8,
                          .rounds = 4,
                          .points = 100,
                          .epochs = 20};
static setting of_digits = {.conv = "laplace",
                            .levels = "0.25,0.5,1",
                            .rows = 400,
                            .tests = 500,
                            .draws = 1,
                            .depth = 1,
                            .layers = 1,
                            .filters = 4,
                            .rounds = 2,
                            .points = 50,
                            .epochs = 20};
static setting of_layers = {.conv = "cntk",
                            .rows = 300,
                            .tests = 500,
                            .draws = 1,
                            .patch = 3,
                            .depth = 3,
                            .layers = 2,
                            .filters = 8,
                            .rounds = 2,
                            .points = 30,
                            .epochs = 20};

const option bars_options[] = SETTING_OPTIONS(of_bars);
const option noisy_digits_options[] = SETTING_OPTIONS(of_digits);
const option layers_options[] = SETTING_OPTIONS(of_layers);

static size_t at_most(size_t asked, size_t most) { return asked < most ? asked : most; }

/* Checked, with what is left to the size of the images (0: bars), and cut down if it is to be quick. */
static setting settle(const trial *t, const setting *asked, size_t side) {
    double levels[MOST_LEVELS];
    setting a = *asked;
    int kernel = options_word("--conv", a.conv, conv_words);
    if (a.patch == 0) a.patch = side >= 28 ? 11 : 3;
    if (a.bandwidth <= 0) a.bandwidth = a.patch >= 11 ? 10 : 2;
    if (a.rows < 10) usage("--rows: expected at least 10");
    if (a.tests == 0) usage("--tests: expected at least 1");
    if (a.draws == 0) usage("--draws: expected at least 1");
    if (a.power > 1) usage("--power: expected 0 or 1");
    if (a.filters == 0) usage("--filters: expected at least 1");
    if (a.rounds > 20) usage("--rounds: expected at most 20");
    if (a.depth < 1 || a.depth > RFM_CONV_DEPTH) usage("--depth: expected 1 to %d", RFM_CONV_DEPTH);
    if (a.layers > RFM_CONV_LAYERS || (kernel != RFM_CONV_LAPLACE && a.layers >= a.depth))
        usage("--layers: expected fewer than --depth, or with laplace at most %d", RFM_CONV_LAYERS);
    if (a.levels != NULL && levels_read(a.levels, levels) > 1 && t->quick) a.levels = "0.5";
    if (t->quick) {
        a.rows = at_most(a.rows, 100), a.tests = at_most(a.tests, 200), a.rounds = at_most(a.rounds, 1);
        a.layers = at_most(a.layers, 1), a.filters = at_most(a.filters, 4), a.epochs = at_most(a.epochs, 3);
        a.depth = at_most(a.depth, 2);
    }
    a.seed = t->seed;
    return a;
}

void bars(const trial *t, text *sheet) {
    const setting a = settle(t, &of_bars, 0);
    sheet_say(sheet,
              "16 x 32 pixels of noise of variance sigma / 32; one row is replaced by 1 / sqrt(32) or by its negative, "
              "which is the class. %zu images to train, %zu to test. Kernel %s, L = %g, patches of side %zu. Ridge, "
              "round and layers are chosen on every fifth training image; so is the epoch of the network, two layers "
              "of 16 filters of side 3.",
              a.rows, a.tests, a.conv, a.bandwidth, a.patch);
    noise_table(t, &a, NULL, NULL, "both above the fixed kernel, as curves", sheet);
    sheet_say(sheet,
              "The paper (Fig. 5) has 500 images, patches of side 3 and curves without numbers. The order is the same: "
              "the fixed kernel falls first. Its program chooses ridge and round on the test rows, so its curves are "
              "higher than a choice on other rows allows.");
}

void noisy_digits(const trial *t, text *sheet) {
    image_set train, test;
    const char *name = digit_images(t, of_digits.rows, of_digits.tests, &train, &test);
    const setting a = settle(t, &of_digits, train.size.height);
    train.n = at_most(train.n, a.rows), test.n = at_most(test.n, a.tests);
    sheet_say(sheet,
              "%s at a random place of noise of variance sigma / 4. %zu images to train, %zu to test. Kernel %s, L = "
              "%g, patches of side %zu, one layer of %zu filters; gradients at %zu images. Choices as for bars.",
              name, train.n, test.n, a.conv, a.bandwidth, a.patch, a.filters, a.points);
    noise_table(t, &a, &train, &test, "Deep up to 5 above ConvRFM", sheet);
    sheet_say(sheet, "The paper (Fig. 5) has 2,000 images, 64 filters, a network of three layers, and curves. With "
                     "fewer images all are less right, so the order and the gains are what can be compared.");
    set_free(&train);
    set_free(&test);
}

void layers(const trial *t, text *sheet) {
    image_set train, test;
    const char *name = digit_images(t, of_layers.rows, of_layers.tests, &train, &test);
    setting a = settle(t, &of_layers, train.size.height);
    if (train.size.height < 28 && a.depth > 2) a.depth = 2, a.layers = at_most(a.layers, 1);
    train.n = at_most(train.n, a.rows), test.n = at_most(test.n, a.tests);
    sheet_say(sheet,
              "%s, %zu to train, %zu to test. Kernel %s of depth %zu, patches of side %zu, %zu filters in each layer; "
              "gradients at %zu images.",
              name, train.n, test.n, a.conv, a.depth, a.patch, a.filters, a.points);
    layers_table(t, &a, &train, &test, sheet);
    sheet_say(sheet, "The paper has larger sets in colour and 64 filters; on five of them Deep ConvRFM is up to two "
                     "points above ConvRFM. Digits without noise are easy, so there is less to gain.");
    set_free(&train);
    set_free(&test);
}

/* ---- what M looks at (Fig. 2 to 4, 10 to 12) ----------------------------------------------------- */

#define SHOWN 3 /* eigenvectors */

/* Eigenvectors (SHOWN, D) of M, and M (D, D). */
static void metric_of(const trial *t, const rfm_conv_model *model, double *vectors, double *metric) {
    size_t d = rfm_conv_patch(&model->f), i;
    rfm_real *m = allocate(d, d * sizeof *m, "M"), *v = allocate(SHOWN, d * sizeof *v, "eigenvectors"), w[SHOWN];
    must(rfm_conv_metric(model, rfm_view(m, d, d)), "M");
    for (i = 0; i < d * d; i++) metric[i] = (double)m[i];
    lab_eigenvectors(t, m, d, SHOWN, w, v);
    for (i = 0; i < SHOWN * d; i++) vectors[i] = (double)v[i];
    free(m);
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

void pictures(const trial *t, text *sheet) {
    setting a = {.conv = "cntk",
                 .rows = 300,
                 .tests = 100,
                 .patch = 5,
                 .bandwidth = 1,
                 .depth = 1,
                 .filters = 1,
                 .rounds = 2,
                 .points = 100};
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
    plan.hold = 0, plan.options.select = RFM_SELECT_LAST; /* the last M, right or not: it is to be seen */
    plan.options.ridges = 1, plan.options.ridge[0] = (rfm_real)1e-3;
    patches_learn(t->m, train.size, rfm_cview(train.x, train.n, pixels_of(train.size)),
                  rfm_cview(y, train.n, train.classes), train.labels, train.classes, &plan, &fit);
    d = rfm_conv_patch(&fit.model.f);
    vectors = allocate(SHOWN, d * sizeof *vectors, "eigenvectors"), metric = allocate(d, d * sizeof *metric, "M");
    metric_of(t, &fit.model, vectors, metric);
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
