/* What the RFM paper shows of deep networks, on machines that learn features: grokking (Fig. 7), simplicity bias
 * (Fig. 8), spurious features (Fig. 9), pruned pixels (Fig. 6) and M of one kernel for another (Fig. 3).
 *
 * The paper has photographs, which are not here. Generated images and digits take their place; each sheet says how. */
#include "host/host.h"

#include "nets.h"
#include "phenomena.h"
#include "sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double largest(const double *x, size_t count) {
    double most = 0;
    size_t i;
    for (i = 0; i < count; i++) most = fmax(most, x[i]);
    return most;
}

/* The share of a diagonal on the inputs for which inside[j] is not 0. */
static double share(const double *diagonal, const unsigned char *inside, size_t d) {
    double in = 0, all = 0;
    size_t j;
    for (j = 0; j < d; j++) {
        all += diagonal[j];
        if (inside[j] != 0) in += diagonal[j];
    }
    return all > 0 ? in / all : 0;
}

static rfm_options laplace(size_t iterations, int metric) { /* as the paper has it */
    rfm_options o;
    rfm_options_init(&o);
    o.iterations = iterations, o.metric = metric;
    return o;
}

/* ---- grokking (Fig. 7) ---------------------------------------------------------------------- */

#define CHANNELS 3
#define GRID     9 /* points of a smooth image along a side, with random values; between them it is linear */

static void smooth_image(size_t side, uint64_t *state, rfm_real *x) {
    double value[GRID][GRID];
    size_t c, i, j;
    for (c = 0; c < CHANNELS; c++) {
        for (i = 0; i < GRID; i++)
            for (j = 0; j < GRID; j++) value[i][j] = lab_uniform(state);
        for (i = 0; i < side; i++)
            for (j = 0; j < side; j++) {
                double u = (double)i * (GRID - 1.001) / (double)(side - 1),
                       v = (double)j * (GRID - 1.001) / (double)(side - 1);
                size_t a = (size_t)u, b = (size_t)v;
                u -= (double)a, v -= (double)b;
                x[(c * side + i) * side + j] = (rfm_real)((1 - u) * ((1 - v) * value[a][b] + v * value[a][b + 1]) +
                                                          u * ((1 - v) * value[a + 1][b] + v * value[a + 1][b + 1]));
            }
    }
}

/* A block of so many pixels in the upper left: yellow for one class, black for the other. Nothing else tells. */
static void star(size_t side, size_t high, size_t wide, uint32_t label, rfm_real *x) {
    size_t c, i, j;
    for (c = 0; c < CHANNELS; c++)
        for (i = 1; i <= high; i++)
            for (j = 1; j <= wide; j++) x[(c * side + i) * side + j] = label > 0 && c < 2 ? 1 : 0;
}

static lab_rows starred(size_t side, size_t high, size_t wide, size_t few, size_t many, uint64_t *state) {
    lab_rows s = rows_make(few + many, CHANNELS * side * side, 1);
    size_t i;
    for (i = 0; i < s.n; i++) {
        smooth_image(side, state, s.x + i * s.d);
        rows_label(&s, i, i < few);
        star(side, high, wide, i < few, s.x + i * s.d);
    }
    return s;
}

typedef struct {
    const trial *t;
    text *sheet, *chart;
    const net *w;
    const lab_rows *train, *test;
    size_t last; /* step */
} watched;

static void look_at(void *arg, size_t step) {
    const watched *a = arg;
    double on_train = 100 * net_accuracy(a->t, a->w, a->train), on_test = 100 * net_accuracy(a->t, a->w, a->test);
    sheet_point(a->chart, "training", (double)step, on_train);
    sheet_point(a->chart, "test", (double)step, on_test);
    sheet_row(a->sheet, "%zu|%.1f|%.1f|%s", step, on_train, on_test,
              step == 0         ? ""
              : step == a->last ? "99.38"
                                : "from 80 on");
}

/* A network on smaller images of the same kind. */
static void grokking_network(const trial *t, text *sheet) {
    size_t side = 32, high = 2, wide = 2, each = t->quick ? 200 : 800, steps = t->quick ? 100 : 400;
    size_t width = t->quick ? 64 : 256;
    uint64_t state = t->seed;
    lab_rows train = starred(side, high, wide, 42, 400, &state), test = starred(side, high, wide, each, each, &state);
    net w = net_make(t, 2, train.d, width, 1, 5e-3);
    rfm_nfa_options o;
    text chart = {NULL, 0, 0};
    watched a;
    rfm_nfa_options_init(&o);
    o.method = RFM_NFA_ADAM, o.rate = (rfm_real)1e-4, o.steps = steps, o.look = steps;
    a.t = t, a.sheet = sheet, a.chart = &chart, a.w = &w, a.train = &train, a.test = &test, a.last = steps;
    sheet_say(sheet,
              "A network on images of %zu x %zu x 3 with a block of %zu x %zu: two hidden layers of %zu, Adam with "
              "rate 0.0001 on all rows, "
              "first layer of deviation 0.005. Paper: 1,024 wide, 96 x 96 x 3, from 80 to 99.38 %% while the training "
              "rows are right.",
              side, side, high, wide, width);
    sheet_table(sheet, "steps|training %|test %|paper: test %");
    sheet_chart(&chart, "The network", "steps", "% right");
    look_at(&a, 0);
    net_train(t, &w, &train, &o, "grokking of a network", steps / 10, look_at, &a);
    text_bytes(sheet, chart.at, chart.size);
    free(chart.at);
    net_free(&w);
    rows_free(&train);
    rows_free(&test);
}

void grokking(const trial *t, text *sheet) {
    static const char *const paper[] = {"55.8", "", "", "100"};
    size_t side = t->quick ? 32 : 96, high = t->quick ? 2 : 8, wide = t->quick ? 2 : 7, each = t->quick ? 200 : 800, i;
    uint64_t state = t->seed;
    lab_rows train = starred(side, high, wide, 42, 400, &state), test = starred(side, high, wide, each, each, &state);
    unsigned char *inside = allocate(train.d, 1, "a mask");
    double *diagonal = allocate(train.d, sizeof *diagonal, "a diagonal");
    lab_rows mask = rows_make(1, train.d, 1);
    text chart = {NULL, 0, 0};
    for (i = 0; i < train.d; i++) mask.x[i] = 2;
    star(side, high, wide, 1, mask.x);
    for (i = 0; i < train.d; i++) inside[i] = mask.x[i] != 2;
    sheet_say(
        sheet,
        "Smooth random images of %zu x %zu x 3. A block of %zu x %zu pixels in the corner is yellow or black, which is "
        "the class: 400 rows of one, 42 of the other, as 80 %% of the paper's 500 and 53; %zu + %zu to test. "
        "Diagonal M, Laplace, L = 10, ridge 0.0025.",
        side, side, high, wide, each, each);
    sheet_table(sheet, "updates of M|training %|test %|paper: test %|of the diagonal on the star %");
    for (i = 0; i <= 3; i++) {
        rfm_options o = laplace(i, RFM_DIAGONAL);
        double on_train, on_test;
        lab_model f;
        if (i == 0) sheet_chart(&chart, "The RFM", "updates of M", "% right");
        o.ridge = (rfm_real)2.5e-3;
        f = lab_fit(t, &train, &o, NULL);
        on_train = lab_accuracy(t, &f, &train), on_test = lab_accuracy(t, &f, &test);
        lab_diagonal(&f, diagonal);
        sheet_row(sheet, "%zu|%.1f|%.1f|%s|%.2f", i, 100 * on_train, 100 * on_test, paper[i],
                  100 * share(diagonal, inside, train.d));
        sheet_point(&chart, "training", (double)i, 100 * on_train);
        sheet_point(&chart, "test", (double)i, 100 * on_test);
        progress_show("grokking", (double)i + 1, 4);
        lab_model_free(&f);
    }
    progress_end();
    text_bytes(sheet, chart.at, chart.size);
    free(chart.at);
    sheet_say(sheet,
              "The paper has airplanes and trucks, which differ besides the star; these images do not, so the plain "
              "kernel has nothing else to go by.");
    grokking_network(t, sheet);
    {
        double *red = allocate(side * side, sizeof *red, "a picture");
        for (i = 0; i < side * side; i++)
            red[i] = sqrt(fmax(fmax(diagonal[i], diagonal[side * side + i]), diagonal[2 * side * side + i]));
        sheet_image(sheet, "Root of the diagonal of M after three updates", red, side, side);
        free(red);
    }
    rows_free(&mask);
    rows_free(&train);
    rows_free(&test);
    free(inside);
    free(diagonal);
}

/* ---- pruned pixels (Fig. 6) ------------------------------------------------------------------ */

/* 1 where the diagonal, scaled to 0..1, is above 0.05; returns how many. */
static size_t keep_above(const double *diagonal, size_t d, unsigned char *keep) {
    double low = diagonal[0], high = largest(diagonal, d);
    size_t j, count = 0;
    for (j = 0; j < d; j++) low = fmin(low, diagonal[j]);
    for (j = 0; j < d; j++) count += keep[j] = diagonal[j] - low > 0.05 * (high - low);
    return count;
}

void pruned(const trial *t, text *sheet) {
    digit_sets digits = small_digits(t, 0);
    uint64_t state = t->seed;
    lab_rows train = mosaic(&digits.train, digits.side, &state), test = mosaic(&digits.test, digits.side, &state);
    lab_rows few_train, few_test;
    unsigned char *inside = middle_of(digits.side), *keep = allocate(train.d, 1, "a mask");
    double *diagonal = allocate(train.d, sizeof *diagonal, "a diagonal");
    rfm_options o;
    lab_model f;
    size_t kept, width = 3 * digits.side;
    double all, learned;
    sheet_say(
        sheet,
        "Nine %s in a square; the one in the middle is the class. %zu rows to train, %zu to test, all of length 1. "
        "RFM: Laplace, L = 10, ridge 0.001, one update. The pixels whose diagonal, scaled to 0..1, is above 0.05 "
        "are kept, rows are scaled to length 1 again, and a plain Laplace kernel is trained on them: RFM-T.",
        digits.name, train.n, test.n);
    o = laplace(0, RFM_DIAGONAL);
    f = lab_fit(t, &train, &o, NULL);
    all = lab_accuracy(t, &f, &test);
    lab_model_free(&f);
    o = laplace(1, RFM_DIAGONAL);
    f = lab_fit(t, &train, &o, NULL);
    learned = lab_accuracy(t, &f, &test);
    lab_diagonal(&f, diagonal);
    lab_model_free(&f);
    kept = keep_above(diagonal, train.d, keep);
    few_train = rows_columns(&train, keep), few_test = rows_columns(&test, keep);
    rows_unit(&few_train);
    rows_unit(&few_test);
    sheet_table(sheet, "machine|pixels %|test %|paper: pixels %|of the diagonal in the middle %");
    sheet_row(sheet, "Laplace kernel, all pixels|100|%.2f|100|%.1f", 100 * all, 100.0 / 9);
    sheet_row(sheet, "RFM, all pixels|100|%.2f|100|%.1f", 100 * learned, 100 * share(diagonal, inside, train.d));
    o = laplace(0, RFM_DIAGONAL);
    f = lab_fit(t, &few_train, &o, NULL);
    sheet_row(sheet, "RFM-T: plain kernel on the pixels that are kept|%.1f|%.2f|1.4 to 3.4|",
              100 * (double)kept / (double)train.d, 100 * lab_accuracy(t, &f, &few_test));
    lab_model_free(&f);
    o = laplace(1, RFM_DIAGONAL);
    f = lab_fit(t, &few_train, &o, NULL);
    sheet_row(sheet, "ours: the RFM once more on them|%.1f|%.2f||", 100 * (double)kept / (double)train.d,
              100 * lab_accuracy(t, &f, &few_test));
    lab_model_free(&f);
    sheet_say(sheet,
              "The paper prunes photographs of faces, where most pixels are background; here eight of nine digits "
              "are.");
    sheet_image(sheet, "Diagonal of M after one update", diagonal, width, width);
    free(inside);
    free(keep);
    free(diagonal);
    rows_free(&few_train);
    rows_free(&few_test);
    rows_free(&train);
    rows_free(&test);
    digit_sets_free(&digits);
}

/* ---- M of one kernel for another (Fig. 3) ----------------------------------------------------- */

static double score(const trial *t, const lab_rows *train, const lab_rows *test, const rfm_options *o,
                    const rfm_real *start) {
    lab_model f = lab_fit(t, train, o, start);
    double right = lab_accuracy(t, &f, test);
    lab_model_free(&f);
    return right;
}

void hybrid(const trial *t, text *sheet) {
    digit_sets digits = small_digits(t, 0);
    uint64_t state = t->seed;
    lab_rows train = mosaic(&digits.train, digits.side, &state), test = mosaic(&digits.test, digits.side, &state);
    unsigned char *inside = middle_of(digits.side);
    double *diagonal = allocate(train.d, sizeof *diagonal, "a diagonal");
    rfm_real *metric = allocate(train.d, train.d * sizeof *metric, "M");
    rfm_options o = laplace(t->quick ? 1 : 5, RFM_FULL), plain = laplace(0, RFM_FULL);
    size_t updates = o.iterations;
    double learned;
    lab_model f;
    o.center = 1;
    sheet_say(
        sheet,
        "Nine %s in a square; the one in the middle is the class. %zu rows to train, %zu to test. M by %zu updates of "
        "an RFM with the Laplace kernel, L = 10, ridge 0.001, centred gradients; then the tangent kernel of a network "
        "with one hidden layer under that M, ridge 0.01.",
        digits.name, train.n, test.n, updates);
    f = lab_fit(t, &train, &o, NULL);
    learned = lab_accuracy(t, &f, &test);
    lab_diagonal(&f, diagonal);
    must(rfm_metric(&f.model, rfm_view(metric, train.d, train.d)), "M");
    lab_model_free(&f);
    sheet_table(sheet, "machine|test %|paper: SVHN|of the diagonal in the middle %");
    sheet_row(sheet, "Laplace kernel|%.2f||%.1f", 100 * score(t, &train, &test, &plain, NULL), 100.0 / 9);
    plain.kernel = RFM_NTK, plain.exponent = 2;
    sheet_row(sheet, "NTK, two hidden layers|%.2f||", 100 * score(t, &train, &test, &plain, NULL));
    sheet_row(sheet, "RFM (Laplace)|%.2f|over 10 points above Laplace|%.1f", 100 * learned,
              100 * share(diagonal, inside, train.d));
    plain.exponent = 1, plain.ridge = (rfm_real)1e-2;
    sheet_row(sheet, "RFM (NTK): NTK of one hidden layer under this M|%.2f|5 points above NTK|",
              100 * score(t, &train, &test, &plain, metric));
    sheet_say(sheet,
              "The paper has house numbers with other digits beside the one that counts, and gives its scores as a "
              "picture; the order of the machines is what can be compared.");
    sheet_image(sheet, "Diagonal of M", diagonal, 3 * digits.side, 3 * digits.side);
    free(inside);
    free(diagonal);
    free(metric);
    rows_free(&train);
    rows_free(&test);
    digit_sets_free(&digits);
}

/* ---- simplicity bias (Fig. 8) ----------------------------------------------------------------- */

/* A digit beside a pattern of stripes. Both tell the class, but the stripes' place is random, so that no pixel says
 * anything by itself. */
static lab_rows beside_stripes(const lab_rows *digits, size_t side, uint64_t *state) {
    size_t width = 2 * side, n, i, j;
    lab_rows s = rows_make(digits->n, side * width, 10);
    for (n = 0; n < s.n; n++) {
        double phase = 6.283185307179586 * lab_uniform(state), angle = 0.3141592653589793 * digits->labels[n];
        double noise = (double)side / 16; /* more pixels would make it easier */
        rfm_real *x = s.x + n * s.d;
        rows_label(&s, n, digits->labels[n]);
        paste(digits->x + n * digits->d, side, x, width, 0, 0);
        for (i = 0; i < side; i++)
            for (j = 0; j < side; j++) {
                double along = cos(angle) * (double)i + sin(angle) * (double)j;
                x[i * width + side + j] = (rfm_real)(0.5 + 0.3 * sin(2.1 * along + phase) + noise * lab_normal(state));
            }
    }
    return s;
}

void simplicity(const trial *t, text *sheet) {
    digit_sets digits = small_digits(t, 0);
    uint64_t state = t->seed;
    size_t side = digits.side, width = 2 * side, j;
    lab_rows train = beside_stripes(&digits.train, side, &state), test = beside_stripes(&digits.test, side, &state);
    unsigned char *inside = allocate(train.d, 1, "a mask"), *right = allocate(train.d, 1, "a mask");
    double *diagonal = allocate(train.d, sizeof *diagonal, "a diagonal");
    rfm_options o = laplace(1, RFM_DIAGONAL);
    lab_rows only_train, only_test;
    lab_model f;
    text image = {NULL, 0, 0};
    for (j = 0; j < train.d; j++) inside[j] = j % width < side, right[j] = !inside[j];
    only_train = rows_columns(&train, right), only_test = rows_columns(&test, right);
    f = lab_fit(t, &train, &o, NULL);
    lab_diagonal(&f, diagonal);
    sheet_say(sheet,
              "%s, and beside each a pattern of stripes whose direction is the class and whose place is random, under "
              "noise. %zu rows to "
              "train, %zu to test. Laplace, L = 10, ridge 0.001, one update of a diagonal M. Network: two hidden "
              "layers of 128, the first of deviation 0.001, rate 0.1, "
              "batches of 100.",
              digits.name, train.n, test.n);
    sheet_table(sheet, "quantity|ours %|paper");
    sheet_row(sheet, "diagonal of M on the digit|%.1f|nearly all, as a picture",
              100 * share(diagonal, inside, train.d));
    {
        size_t steps = t->quick ? 200 : 2000, d = train.d;
        rfm_real *w_w = allocate(d, d * sizeof *w_w, "W'W");
        double *of_network = allocate(d, sizeof *of_network, "a diagonal");
        net w = net_make(t, 2, d, 128, 10, 0.001);
        rfm_nfa_options n;
        rfm_nfa_options_init(&n);
        n.batch = 100, n.rate = (rfm_real)0.1, n.steps = steps, n.look = steps;
        net_descend(t, &w, &train, &n);
        net_features(t, &w, &train, w_w, NULL);
        for (j = 0; j < d; j++) of_network[j] = (double)w_w[j * d + j];
        sheet_row(sheet, "diagonal of a network's W'W on the digit|%.1f|nearly all, as a picture",
                  100 * share(of_network, inside, d));
        sheet_row(sheet, "test accuracy of the network|%.2f|", 100 * net_accuracy(t, &w, &test));
        sheet_image(&image, "Diagonal of the network's W'W", of_network, width, side);
        net_free(&w);
        free(w_w);
        free(of_network);
    }
    sheet_row(sheet, "test accuracy, both halves|%.2f|", 100 * lab_accuracy(t, &f, &test));
    lab_model_free(&f);
    sheet_row(sheet, "test accuracy, stripes alone|%.2f|", 100 * score(t, &only_train, &only_test, &o, NULL));
    sheet_say(sheet,
              "The paper has CIFAR-10 in place of the stripes, 50,000 rows and full M. The stripes alone tell the "
              "class, too; the machine looks at the digit all the same.");
    sheet_image(sheet, "Diagonal of M: the digit's half and the stripes' half", diagonal, width, side);
    text_bytes(sheet, image.at, image.size);
    free(image.at);
    free(inside);
    free(right);
    free(diagonal);
    rows_free(&only_train);
    rows_free(&only_test);
    rows_free(&train);
    rows_free(&test);
    digit_sets_free(&digits);
}

/* ---- spurious features (Fig. 9) ---------------------------------------------------------------- */

#define FAITHFUL 0.95 /* of the rows have their mark where their class says */
#define NOISE    0.2  /* deviation, on the pixels of a digit */

/* A digit, and to its right a column of marks: one of ten pairs of pixels is bright, that of the class in most rows. */
static lab_rows marked(const lab_rows *digits, size_t side, uint64_t *state) {
    size_t width = side + 3, height = side > 10 ? side : 10, n, i;
    lab_rows s = rows_make(digits->n, width * height, 10);
    for (n = 0; n < s.n; n++) {
        size_t place = lab_uniform(state) < FAITHFUL ? digits->labels[n] : lab_below(state, 10);
        rows_label(&s, n, digits->labels[n]);
        for (i = 0; i < side * side; i++)
            s.x[n * s.d + i / side * width + i % side] =
                (rfm_real)((double)digits->x[n * digits->d + i] + NOISE * lab_normal(state));
        s.x[n * s.d + place * width + side + 1] = s.x[n * s.d + place * width + side + 2] = 3;
    }
    return s;
}

/* The inputs that are marked become those of one row, in all rows. */
static double overwritten(const trial *t, const lab_model *f, const lab_rows *s, const unsigned char *mark) {
    lab_rows other = rows_make(s->n, s->d, s->c);
    double right;
    size_t i, j;
    memcpy(other.x, s->x, s->n * s->d * sizeof *s->x);
    memcpy(other.labels, s->labels, s->n * sizeof *s->labels);
    for (i = 0; i < s->n; i++)
        for (j = 0; j < s->d; j++)
            if (mark[j] != 0) other.x[i * s->d + j] = s->x[j];
    right = lab_accuracy(t, f, &other);
    rows_free(&other);
    return right;
}

void spurious(const trial *t, text *sheet) {
    digit_sets digits = small_digits(t, 0);
    uint64_t state = t->seed;
    size_t side = digits.side, width = side + 3, j, count = 0;
    lab_rows train = marked(&digits.train, side, &state), test = marked(&digits.test, side, &state);
    unsigned char *truth = allocate(train.d, 1, "a mask"), *mask = allocate(train.d, 1, "a mask");
    double *diagonal = allocate(train.d, sizeof *diagonal, "a diagonal"), right, without, untrue;
    rfm_options o = laplace(1, RFM_DIAGONAL);
    lab_model f = lab_fit(t, &train, &o, NULL);
    lab_diagonal(&f, diagonal);
    (void)keep_above(diagonal, train.d, mask);
    for (j = 0; j < train.d; j++) {
        truth[j] = j % width < side && j / width < side;
        if (truth[j]) mask[j] = 0;
        count += mask[j];
    }
    right = lab_accuracy(t, &f, &test);
    untrue = overwritten(t, &f, &test, mask), without = overwritten(t, &f, &test, truth);
    sheet_say(
        sheet,
        "%s under noise, with a mark beside the digit, at one of ten places: that of the class in %.0f %% of the rows, "
        "a random one "
        "in the others. The mask: where the diagonal of M, scaled to 0..1, is above 0.05, the digit left out: %zu of "
        "%zu "
        "inputs. In all test rows the masked inputs become those of one row. Laplace, L = 10, ridge 0.001, one update.",
        digits.name, 100 * FAITHFUL, count, train.d - side * side);
    sheet_table(sheet, "test rows|accuracy %|points lost|paper: lipstick, network %|paper: points lost");
    sheet_row(sheet, "as they are|%.2f||90.53|", 100 * right);
    sheet_row(sheet, "the marks of one row|%.2f|%.1f|55.23|35.3", 100 * untrue, 100 * (right - untrue));
    sheet_row(sheet, "the digit of one row|%.2f|%.1f|85.66|4.9", 100 * without, 100 * (right - without));
    sheet_say(sheet,
              "The paper has faces: eyes are the spurious feature of lipstick, lips the true one. Here the machine is "
              "an RFM, there a network.");
    sheet_image(sheet, "Diagonal of M: the digit, and the marks to its right", diagonal, width, train.d / width);
    lab_model_free(&f);
    free(truth);
    free(mask);
    free(diagonal);
    rows_free(&train);
    rows_free(&test);
    digit_sets_free(&digits);
}
