/* Targets of a few directions of the inputs, from the RFM paper: kernels, RFMs and networks on its figures 16a, 16d, 10
 * and 14; and what depth does to a network's first layer (Fig. 10 and 14). */
#include "host/host.h"

#include "nets.h"
#include "phenomena.h"
#include "sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 32 /* inputs */

/* ---- tasks ----------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    size_t d;
    double ridge;
    /* One row: x, its target, and the gradient of the target function. u is a direction of length 1. */
    void (*draw)(size_t d, const double *u, uint64_t *state, double *x, double *y, double *gradient);
    size_t used;                        /* the target is of the first so many inputs; 0: of u'x */
    const char *kernel, *rfm, *network; /* what the paper's picture shows of R^2 */
} task;

/* Signs with noise; the product of the first two signs. */
static void rademacher(size_t d, const double *u, uint64_t *state, double *x, double *y, double *gradient) {
    double sign[MOST];
    size_t j;
    (void)u;
    for (j = 0; j < d; j++) sign[j] = lab_uniform(state) < 0.5 ? -1 : 1;
    for (j = 0; j < d; j++) x[j] = sign[j] + 0.1 * lab_normal(state);
    *y = sign[0] * sign[1];
    gradient[0] = sign[1], gradient[1] = sign[0];
}

/* He2 + He4 of one direction. */
static void hermite(size_t d, const double *u, uint64_t *state, double *x, double *y, double *gradient) {
    double t = 0;
    size_t j;
    for (j = 0; j < d; j++) {
        x[j] = lab_normal(state);
        t += u[j] * x[j];
    }
    *y = t * t - 1 + t * t * t * t - 6 * t * t + 3;
    for (j = 0; j < d; j++) gradient[j] = (4 * t * t * t - 10 * t) * u[j];
}

static void product(size_t d, const double *u, uint64_t *state, double *x, double *y, double *gradient) {
    size_t j;
    (void)u;
    for (j = 0; j < d; j++) x[j] = lab_normal(state) / 4;
    *y = x[0] * x[1];
    gradient[0] = x[1], gradient[1] = x[0];
}

static void gated(size_t d, const double *u, uint64_t *state, double *x, double *y, double *gradient) {
    product(d, u, state, x, y, gradient);
    if (x[3] > 0) return;
    *y = x[2];
    gradient[0] = gradient[1] = 0, gradient[2] = 1;
}

static const task tasks[] = {
    {"16a: z1 z2, signs with noise 0.1", 30, 0, rademacher, 2, "far below 1", "near 1", "near 1"},
    {"16d: He2 + He4 of u'x", 10, 1e-3, hermite, 0, "far below RFM", "far above the others", "0.971 on training rows"},
    {"14: x1 x2", 10, 1e-3, product, 2, "", "", ""},
    {"10: x1 x2 [x4 > 0] + x3 [x4 < 0]", 10, 1e-3, gated, 4, "", "", ""},
};

typedef struct {
    lab_rows train, test;
    double u[MOST];
    rfm_real *egop; /* (d, d) expected gradient outer product of the target, by the test rows */
    double variance, low, high;
} drawn;

static lab_rows draw_rows(const task *t, size_t n, const double *u, uint64_t *state, rfm_real *egop) {
    lab_rows s = rows_make(n, t->d, 1);
    size_t i, j, k;
    for (i = 0; i < n; i++) {
        double x[MOST], y, gradient[MOST] = {0};
        t->draw(t->d, u, state, x, &y, gradient);
        for (j = 0; j < t->d; j++) s.x[i * t->d + j] = (rfm_real)x[j];
        s.y[i] = (rfm_real)y;
        for (j = 0; egop != NULL && j < t->d; j++)
            for (k = 0; k < t->d; k++) egop[j * t->d + k] += (rfm_real)(gradient[j] * gradient[k] / (double)n);
    }
    return s;
}

static drawn draw(const task *t, size_t train, size_t test, uint64_t seed) {
    uint64_t state = seed;
    double norm = 0, mean = 0;
    size_t i;
    drawn s;
    for (i = 0; i < t->d; i++) s.u[i] = lab_normal(&state), norm += s.u[i] * s.u[i];
    for (i = 0; i < t->d; i++) s.u[i] /= sqrt(norm);
    s.egop = allocate(t->d, t->d * sizeof *s.egop, "gradients");
    s.train = draw_rows(t, train, s.u, &state, NULL);
    s.test = draw_rows(t, test, s.u, &state, s.egop);
    s.low = s.high = s.variance = 0;
    for (i = 0; i < train; i++) s.low = fmin(s.low, (double)s.train.y[i]), s.high = fmax(s.high, (double)s.train.y[i]);
    for (i = 0; i < test; i++) mean += (double)s.test.y[i] / (double)test;
    for (i = 0; i < test; i++) s.variance += pow((double)s.test.y[i] - mean, 2) / (double)test;
    return s;
}

static void drawn_free(drawn *s) {
    rows_free(&s->train);
    rows_free(&s->test);
    free(s->egop);
}

/* ---- what a machine has learned ---------------------------------------------------------------- */

static double cosine(const rfm_real *a, const rfm_real *b, size_t d) {
    rfm_real result;
    must(rfm_cosine(rfm_cview(a, d, d), rfm_cview(b, d, d), &result), "a cosine");
    return (double)result;
}

/* The share of a matrix's diagonal on the inputs that count, or of its trace along u; in %. */
static double found(const task *t, const drawn *s, const rfm_real *m) {
    double good = 0, all = 0;
    size_t j, k;
    for (j = 0; j < t->d; j++) {
        all += (double)m[j * t->d + j];
        if (j < t->used) good += (double)m[j * t->d + j];
        for (k = 0; t->used == 0 && k < t->d; k++) good += s->u[j] * s->u[k] * (double)m[j * t->d + k];
    }
    return all > 0 ? 100 * good / all : 0;
}

/* The share of the squared error on rows whose target no training row comes up to, in %. */
static double beyond(const drawn *s, const rfm_real *y) {
    double all = 0, far = 0;
    size_t i;
    for (i = 0; i < s->test.n; i++) {
        double truth = (double)s->test.y[i], square = pow((double)y[i] - truth, 2);
        all += square;
        if (truth < s->low || truth > s->high) far += square;
    }
    return all > 0 ? 100 * far / all : 0;
}

static double error_of(const drawn *s, const rfm_real *y) {
    double sum = 0;
    size_t i;
    for (i = 0; i < s->test.n; i++) sum += pow((double)y[i] - (double)s->test.y[i], 2) / (double)s->test.n;
    return sum;
}

/* A row, and its R^2. m NULL: a kernel that has learned nothing. paper: what its figure 16 shows. */
static double show(text *sheet, const char *name, const task *t, const drawn *s, const rfm_real *y, const rfm_real *m,
                   const char *paper) {
    double error = error_of(s, y);
    char learned[64] = "|";
    if (m != NULL) snprintf(learned, sizeof learned, "%.1f|%.3f", found(t, s, m), cosine(m, s->egop, t->d));
    sheet_row(sheet, "%s|%.3g|%.4f|%s|%.1f|%s", name, error, 1 - error / s->variance, paper, beyond(s, y), learned);
    return 1 - error / s->variance;
}

/* m (d, d) becomes M. */
static double show_kernel(const trial *a, text *sheet, const char *name, const task *t, const drawn *s,
                          const rfm_options *o, const char *paper, rfm_real *m) {
    rfm_real *y = allocate(s->test.n, sizeof *y, "predictions");
    double r2;
    lab_model f = lab_fit(a, &s->train, o, NULL);
    lab_predict(a, &f, &s->test, y);
    if (o->iterations > 0) must(rfm_metric(&f.model, rfm_view(m, t->d, t->d)), "M");
    r2 = show(sheet, name, t, s, y, o->iterations > 0 ? m : NULL, paper);
    lab_model_free(&f);
    free(y);
    return r2;
}

/* f (d, d) becomes W'W. One hidden layer, as the paper trains it: descent from a small first layer for 16a, Adam for
 * the others. */
static void show_network(const trial *a, text *sheet, const task *t, const drawn *s, rfm_real *f) {
    rfm_real *y = allocate(s->test.n, sizeof *y, "predictions");
    int plain = t->draw == rademacher;
    net w = net_make(a, 1, t->d, a->quick ? 128 : 512, 1, plain ? 1e-3 : 0);
    rfm_nfa_options o;
    rfm_nfa_options_init(&o);
    o.steps = 1000, o.look = 1000;
    o.method = plain ? RFM_NFA_PLAIN : RFM_NFA_ADAM, o.rate = (rfm_real)(plain ? 0.1 : 0.01);
    net_descend(a, &w, &s->train, &o);
    net_predict(a, &w, &s->test, y);
    net_features(a, &w, &s->train, f, NULL);
    show(sheet,
         plain ? "network, one hidden layer, 1,000 steps of descent" : "network, one hidden layer, 1,000 steps of Adam",
         t, s, y, f, t->network);
    net_free(&w);
    free(y);
}

static void picture(text *sheet, const char *what, const task *t, const rfm_real *m) {
    char title[80];
    snprintf(title, sizeof title, "%s: %s", t->name, what);
    sheet_square(sheet, title, m, t->d);
}

void low_rank(const trial *a, text *sheet) {
    static const size_t updates[] = {0, 1, 2, 5};
    enum { UPDATES = sizeof updates / sizeof *updates };
    size_t n = a->quick ? 300 : 1000, tests = a->quick ? 1000 : 10000, i, k;
    text chart = {NULL, 0, 0}, images = {NULL, 0, 0};
    sheet_chart(&chart, "Test R^2 by updates of M", "updates T", "R^2");
    sheet_say(
        sheet,
        "%zu training rows, %zu test rows, L = 10; RFM with a full M. The error's share beyond: on test rows whose "
        "target "
        "is beyond every training target. Found: of M's diagonal (networks: W'W of the first layer) on the inputs that "
        "the "
        "target depends on, or of its trace along u. Cosine: with the expected gradient outer product of the target.",
        n, tests);
    for (i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        const task *t = &tasks[i];
        drawn s = draw(t, n, tests, a->seed);
        rfm_options o;
        rfm_real m[MOST * MOST];
        text columns = {NULL, 0, 0};
        text_add(&columns, "%s, %zu inputs, variance %.4g|test MSE|R^2|paper|beyond %%|found %%|cosine", t->name, t->d,
                 s.variance);
        text_bytes(&columns, "", 1);
        sheet_table(sheet, columns.at);
        free(columns.at);
        rfm_options_init(&o);
        o.ridge = (rfm_real)t->ridge;
        for (k = 0; k < UPDATES; k++) {
            char name[40];
            snprintf(name, sizeof name, updates[k] == 0 ? "Laplace kernel" : "RFM, T = %zu", updates[k]);
            o.iterations = updates[k];
            sheet_point(&chart, t->name, (double)updates[k],
                        show_kernel(a, sheet, name, t, &s, &o,
                                    updates[k] == 0      ? t->kernel
                                    : k + 1 == UPDATES ? t->rfm
                                                       : "",
                                    m));
        }
        picture(&images, "EGOP", t, s.egop);
        picture(&images, "M of the RFM", t, m);
        o.iterations = 0, o.kernel = RFM_NTK, o.ridge = (rfm_real)1e-3;
        show_kernel(a, sheet, "NTK, one hidden layer", t, &s, &o, t->kernel, m);
        show_network(a, sheet, t, &s, m);
        picture(&images, "W'W of the network", t, m);
        drawn_free(&s);
        if (t->used == 0 && !a->quick) {
            s = draw(t, 4 * n, tests, a->seed);
            rfm_options_init(&o);
            o.ridge = (rfm_real)t->ridge;
            show_kernel(a, sheet, "RFM, T = 5, four times the training rows", t, &s, &o, "", m);
            drawn_free(&s);
        }
        progress_show("low-rank", (double)i + 1, (double)(sizeof tasks / sizeof *tasks));
    }
    progress_end();
    sheet_say(sheet, "The paper gives figure 16 as a picture: RFM and the network near R^2 = 1 on 16a, the kernels far "
                     "below; on 16d "
                     "RFM far above all others. What RFM leaves of 16d is extrapolation: see the column beyond.");
    text_bytes(sheet, chart.at, chart.size);
    text_bytes(sheet, images.at, images.size);
    free(chart.at);
    free(images.at);
}

/* ---- depth (Fig. 10 and 14) --------------------------------------------------------------------- */

/* The error of a kernel under M, in units of the variance. */
static double under(const trial *a, const drawn *s, int kernel, double exponent, const rfm_real *m) {
    rfm_options o;
    lab_model f;
    double error;
    rfm_options_init(&o);
    o.iterations = 0, o.kernel = kernel, o.exponent = (rfm_real)exponent, o.ridge = (rfm_real)1e-3;
    if (kernel == RFM_LAPLACE) o.bandwidth_rule = RFM_BANDWIDTH_MEDIAN, o.bandwidth = 3;
    f = lab_fit(a, &s->train, &o, m);
    error = lab_error(a, &f, &s->test) / s->variance;
    lab_model_free(&f);
    return error;
}

void depth(const trial *a, text *sheet) {
    /* Figure 14: network, NTK, NTK + W'W, Laplace, Laplace + W'W, by depth; figure 10 is a picture. */
    static const char *const paper[] = {".083, .280, .038, .712, .055", ".073, .465, .042, .712, .063",
                                        ".071, .574, .043, .712, .061", ""};
    size_t n = a->quick ? 200 : 1000, i, layers;
    sheet_say(sheet,
              "30 inputs, %zu rows to train, %zu to test. Networks of width %d, 100 epochs of Adam, rate 0.003, "
              "batches of 50. Then kernels "
              "under M = W'W of the first layer: NTK of the network's depth, and Laplace with L three times the median "
              "distance; "
              "ridge 0.001. Errors in units of the variance.",
              n, n, a->quick ? 64 : 256);
    for (i = 2; i < 4; i++) {
        task wide = tasks[i];
        const task *t = &wide;
        drawn s;
        double laplace, errors[5][5];
        text columns = {NULL, 0, 0};
        wide.d = 30;
        s = draw(t, n, n, a->seed);
        laplace = under(a, &s, RFM_LAPLACE, 1, NULL);
        text_add(&columns,
                 "%s: hidden layers|network|NTK|NTK + W'W|Laplace|Laplace + W'W|found in W'W %%|paper, in this order",
                 t->name);
        text_bytes(&columns, "", 1);
        sheet_table(sheet, columns.at);
        free(columns.at);
        for (layers = 1; layers <= 4; layers++) {
            net w = net_make(a, layers, t->d, a->quick ? 64 : 256, 1, 0);
            rfm_real m[MOST * MOST];
            rfm_nfa_options o;
            double *e = errors[layers];
            rfm_nfa_options_init(&o);
            o.method = RFM_NFA_ADAM, o.rate = (rfm_real)3e-3, o.batch = 50, o.steps = 2 * n, o.look = n / 5;
            net_descend(a, &w, &s.train, &o);
            net_features(a, &w, &s.train, m, NULL);
            e[0] = net_loss(a, &w, &s.test) / s.variance;
            e[1] = under(a, &s, RFM_NTK, (double)layers, NULL), e[2] = under(a, &s, RFM_NTK, (double)layers, m);
            e[3] = laplace, e[4] = under(a, &s, RFM_LAPLACE, 1, m);
            sheet_row(sheet, "%zu|%.3f|%.3f|%.3f|%.3f|%.3f|%.1f|%s", layers, e[0], e[1], e[2], e[3], e[4],
                      found(t, &s, m), i == 2 ? paper[layers - 1] : "as curves");
            net_free(&w);
            progress_show("depth", (double)((i - 2) * 4 + layers), 8);
        }
        sheet_chart(sheet, t->name, "hidden layers", "error / variance");
        for (layers = 1; layers <= 4; layers++) {
            sheet_point(sheet, "network", (double)layers, errors[layers][0]);
            sheet_point(sheet, "NTK", (double)layers, errors[layers][1]);
            sheet_point(sheet, "NTK + W'W", (double)layers, errors[layers][2]);
            sheet_point(sheet, "Laplace", (double)layers, errors[layers][3]);
            sheet_point(sheet, "Laplace + W'W", (double)layers, errors[layers][4]);
        }
        drawn_free(&s);
    }
    progress_end();
    sheet_say(
        sheet,
        "The paper does not say how many inputs there are, nor how its networks were trained; its figure 14 is read as "
        "errors in units of the variance.");
}
