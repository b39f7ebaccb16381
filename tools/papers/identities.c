/* Theorems of the papers as measured identities: the RFM paper's Theorem 1 and Propositions 1 to 5, and the argument of
 * AGOP against gradient descent (000). */
#include "host/host.h"

#include "ansatz.h"
#include "nets.h"
#include "sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS "quantity|setting|paper|ours|note"

/* ---- Theorem 1 and Proposition 3: outer layers at random -------------------------------------- */

#define D1 8
#define K1 24

/* The mean of grad grad' over outer weights and rows, relative to W'W / k, and the standard error of that. */
static void theorem1(const trial *t, text *sheet, size_t layers) {
    const size_t parts = t->quick ? 20 : 100, draws = t->quick ? 64 : 256, rows = 32, wide = 256;
    rfm_real w[K1 * D1], g[D1 * D1];
    double mean[D1 * D1] = {0}, square = 0, of_mean = 0, expect[D1 * D1] = {0}, off = 0, size = 0;
    uint64_t state = t->seed + layers;
    size_t i, j, k, p, l;
    for (i = 0; i < K1 * D1; i++) w[i] = (rfm_real)(lab_normal(&state) * pow(0.7, (double)(i % D1))); /* arbitrary */
    for (k = 0; k < K1; k++)
        for (i = 0; i < D1; i++)
            for (j = 0; j < D1; j++) expect[i * D1 + j] += (double)w[k * D1 + i] * (double)w[k * D1 + j] / K1;
    for (p = 0; p < parts; p++) {
        rfm_nfa_start_options o;
        rfm_nfa_layer layer;
        lab_rows s = rows_make(rows, D1, 1);
        net n;
        for (i = 0; i < rows * D1; i++) s.x[i] = (rfm_real)lab_normal(&state);
        rfm_nfa_start_init(&o);
        o.layers = layers, o.seed = (uint32_t)(t->seed * 1000 + layers * 100 + p);
        o.width[0] = D1, o.width[1] = K1, o.width[layers + 1] = draws; /* so many outer layers a at once */
        for (l = 2; l <= layers; l++) o.width[l] = wide;
        for (l = 1; l <= layers; l++) o.scale[l] = 2;
        n = net_start(&o);
        memcpy(n.f.w[0], w, sizeof w);
        memset(&layer, 0, sizeof layer);
        layer.g = rfm_view(g, D1, D1);
        net_look(t, &n.f, &s, 0, &layer);
        for (i = 0; i < D1 * D1; i++) {
            const double value = (double)g[i] / (double)draws;
            mean[i] += value / (double)parts, square += value * value / (double)parts;
        }
        net_free(&n);
        rows_free(&s);
        progress_show("Theorem 1", (double)(p + 1), (double)parts);
    }
    progress_end();
    for (i = 0; i < D1 * D1; i++) {
        of_mean += mean[i] * mean[i], size += expect[i] * expect[i];
        off += (mean[i] - expect[i]) * (mean[i] - expect[i]);
    }
    sheet_row(sheet,
              "%s: mean of grad grad' and W'W / k apart by|%zu hidden layer%s, %zu draws, relative|0|%.4f|standard "
              "error %.4f",
              layers == 1 ? "Prop. 3" : "Theorem 1", layers, layers > 1 ? "s, outer ones of 256" : "", parts * draws,
              sqrt(off / size), sqrt(fmax(square - of_mean, 0) / (double)(parts - 1) / size));
}

/* ---- Propositions 1 and 2: the metric as a kernel --------------------------------------------- */

/* A linear network learns beta; its AGOP makes the ideal kernel. */
static void proposition1(const trial *t, text *sheet) {
    const size_t n = 100, d = 10;
    uint64_t state = t->seed + 7;
    spectrum axes = spectrum_make(&state, d, -1);
    lab_rows s = spectrum_rows(&state, &axes, n);
    rfm_real *g = allocate(d, d * sizeof *g, "AGOP"), *kernel = allocate(n, n * sizeof *kernel, "a kernel");
    rfm_real *ideal = allocate(n, n * sizeof *ideal, "a kernel"), cosine;
    double beta[10];
    rfm_nfa_start_options o;
    rfm_nfa_options descent;
    rfm_nfa_layer layer;
    size_t i, j, p, q;
    net w;
    for (j = 0; j < d; j++) beta[j] = lab_normal(&state);
    for (i = 0; i < n; i++)
        for (j = 0; j < d; j++) s.y[i] += (rfm_real)(beta[j] * (double)s.x[i * d + j]);
    rfm_nfa_start_init(&o);
    o.layers = 1, o.width[0] = d, o.width[1] = 16, o.width[2] = 1, o.activation = RFM_NFA_LINEAR;
    o.seed = (uint32_t)t->seed;
    w = net_start(&o);
    rfm_nfa_options_init(&descent);
    net_train(t, &w, &s, &descent, "Proposition 1", 1, NULL, NULL);
    memset(&layer, 0, sizeof layer);
    layer.g = rfm_view(g, d, d);
    net_look(t, &w.f, &s, 0, &layer);
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            double sum = 0;
            for (p = 0; p < d; p++)
                for (q = 0; q < d; q++) sum += (double)s.x[i * d + p] * (double)g[p * d + q] * (double)s.x[j * d + q];
            kernel[i * n + j] = (rfm_real)sum, ideal[i * n + j] = s.y[i] * s.y[j];
        }
    must(rfm_cosine(rfm_cview(kernel, n, n), rfm_cview(ideal, n, n), &cosine), "a cosine");
    sheet_row(sheet, "Prop. 1: 1 - cosine of x'Mz and f(x) f(z)|M: AGOP of a linear network, loss %.0e|0|%.1e|",
              net_loss(t, &w, &s), fabs(1 - (double)cosine));
    net_free(&w);
    rows_free(&s);
    spectrum_free(&axes);
    free(g), free(kernel), free(ideal);
}

/* y = x_1 x_2 of d inputs: with the EGOP as M the error does not depend on d. */
static void proposition2(const trial *t, text *sheet) {
    static const size_t inputs[] = {5, 10, 20, 40};
    const size_t n = 200, tests = 2000;
    size_t k, i, j;
    for (k = 0; k < 4; k++) {
        const size_t d = inputs[k];
        uint64_t state = t->seed + 3;
        lab_rows s[2];
        rfm_real *egop = allocate(d, d * sizeof *egop, "EGOP");
        double error[2];
        rfm_options o;
        for (j = 0; j < 2; j++) {
            s[j] = rows_make(j == 0 ? n : tests, d, 1);
            for (i = 0; i < s[j].n * d; i++) s[j].x[i] = (rfm_real)lab_normal(&state);
            for (i = 0; i < s[j].n; i++) s[j].y[i] = s[j].x[i * d] * s[j].x[i * d + 1];
        }
        egop[0] = egop[d + 1] = 1; /* E[x_2^2], E[x_1^2] */
        rfm_options_init(&o);
        o.kernel = RFM_GAUSSIAN, o.bandwidth = 3, o.iterations = 0, o.ridge = (rfm_real)1e-4;
        for (j = 0; j < 2; j++) {
            lab_model f = lab_fit(t, &s[0], &o, j == 0 ? NULL : egop);
            error[j] = lab_error(t, &f, &s[1]);
            lab_model_free(&f);
        }
        sheet_row(
            sheet,
            "Prop. 2: test error / variance, M = I; EGOP|y = x1 x2, %zu inputs, 200 rows|by r, not by d|%.3f; %.5f|", d,
            error[0], error[1]);
        rows_free(&s[0]);
        rows_free(&s[1]);
        free(egop);
    }
}

/* ---- Propositions 4 and 5: linear networks ---------------------------------------------------- */

/* How far B'B and grad grad' are apart. f = A B x / sqrt(k), B = 0 at the start. With W_1 = A / sqrt(k), a step of A is
 * one of W_1 with rate / k. */
static double linear(const trial *t, text *sheet, int both, size_t steps, size_t k) {
    const size_t n = 50, d = 6;
    uint64_t state = t->seed + 11;
    spectrum axes = spectrum_make(&state, d, -1);
    lab_rows s = spectrum_rows(&state, &axes, n);
    rfm_real f[36], g[36];
    rfm_nfa_start_options o;
    rfm_nfa_options descent;
    rfm_nfa_layer layer;
    double off = 0, size = 0;
    size_t i;
    net w;
    chain_targets(&s);
    rfm_nfa_start_init(&o);
    o.layers = 1, o.width[0] = d, o.width[1] = k, o.width[2] = 1, o.activation = RFM_NFA_LINEAR;
    o.scale[0] = 0, o.seed = (uint32_t)t->seed;
    w = net_start(&o);
    rfm_nfa_options_init(&descent);
    descent.steps = steps, descent.rate = (rfm_real)0.1, descent.part[1] = both ? 1 / (rfm_real)k : 0;
    net_train(t, &w, &s, &descent, "linear networks", 1, NULL, NULL);
    memset(&layer, 0, sizeof layer);
    layer.f = rfm_view(f, d, d), layer.g = rfm_view(g, d, d);
    net_look(t, &w.f, &s, 0, &layer);
    for (i = 0; i < d * d; i++) off += pow((double)f[i] - (double)g[i], 2), size += (double)f[i] * (double)f[i];
    sheet_row(sheet,
              "Prop. %d: B'B and grad grad' apart by|k = %zu, %zu steps, relative|0 as k grows|%.4f|expected size %.4f",
              both ? 5 : 4, k, steps, sqrt(off / size), sqrt(2 / (double)k));
    net_free(&w);
    rows_free(&s);
    spectrum_free(&axes);
    return sqrt(off / size);
}

void identities(const trial *t, text *sheet) {
    static const size_t widths[] = {100, 1000, 10000};
    double off[2][3];
    size_t i, k;
    sheet_table(sheet, COLUMNS);
    for (i = 1; i <= 3; i++) theorem1(t, sheet, i);
    proposition1(t, sheet);
    proposition2(t, sheet);
    for (i = 0; i < 3; i++) off[0][i] = linear(t, sheet, 0, 20, widths[i]);
    for (i = 0; i < 3; i++) off[1][i] = linear(t, sheet, 1, 2, widths[i]);
    sheet_say(
        sheet,
        "Means over random numbers are compared with their standard error. Theorem 1 is for infinitely wide outer "
        "layers; with 256 units what is left of that is within the error. In Prop. 4 and 5 the two matrices differ "
        "by the factor |A|^2 / k, which is 1 up to sqrt(2 / k).");
    sheet_chart(sheet, "B'B and grad grad' of linear networks, apart", "log10 of the width k", "log10 of the distance");
    for (k = 0; k < 2; k++)
        for (i = 0; i < 3; i++)
            sheet_point(sheet, k == 0 ? "Prop. 4" : "Prop. 5", log10((double)widths[i]), log10(off[k][i]));
    for (i = 0; i < 3; i++)
        sheet_point(sheet, "sqrt(2 / k)", log10((double)widths[i]), 0.5 * log10(2 / (double)widths[i]));
}

/* ---- 000: cos(W'W, AGOP) over time ------------------------------------------------------------ */

typedef struct {
    const trial *t;
    const net *n;
    const lab_rows *s;
    text *sheet;
    const char *name;
    double first, last, least;
} path;

static void see(void *arg, size_t step) {
    path *p = arg;
    rfm_nfa_layer layer;
    memset(&layer, 0, sizeof layer);
    net_look(p->t, &p->n->f, p->s, 0, &layer);
    p->last = (double)layer.cosine[RFM_NFA_UNCENTRED];
    if (p->first < 0) p->first = p->last;
    p->least = fmin(p->least, p->last);
    sheet_point(p->sheet, p->name, (double)step, p->last);
}

/* One hidden ReLU layer with biases, W = 0 at the start. */
static path one_path(const trial *t, text *sheet, size_t rows) {
    uint64_t state = t->seed;
    spectrum axes = spectrum_make(&state, 10, -1);
    lab_rows s = spectrum_rows(&state, &axes, rows);
    rfm_nfa_start_options o;
    rfm_nfa_options descent;
    char name[32];
    path p;
    net n;
    if (rows > 1)
        chain_targets(&s);
    else
        s.y[0] = 1;
    rfm_nfa_start_init(&o);
    o.layers = 1, o.width[0] = 10, o.width[1] = 64, o.width[2] = 1, o.biases = 1, o.kind = RFM_NFA_UNIFORM;
    o.seed = (uint32_t)t->seed;
    n = net_start(&o);
    memset(n.f.w[0], 0, 640 * sizeof *n.f.w[0]);
    memset(n.start.w[0], 0, 640 * sizeof *n.f.w[0]);
    rfm_nfa_options_init(&descent);
    descent.steps = t->quick ? 100 : 1000;
    snprintf(name, sizeof name, "%zu row%s", rows, rows > 1 ? "s" : "");
    p.t = t, p.n = &n, p.s = &s, p.sheet = sheet, p.name = name, p.first = -1, p.last = 0, p.least = 2;
    net_train(t, &n, &s, &descent, "cosine over time", 10, see, &p);
    net_free(&n);
    rows_free(&s);
    spectrum_free(&axes);
    return p;
}

void outer_products(const trial *t, text *sheet) {
    static const size_t rows[] = {1, 10, 100, 1000};
    path p[4];
    size_t i;
    sheet_chart(sheet, "cos(W'W, AGOP)", "step", "cosine");
    for (i = 0; i < 4; i++) p[i] = one_path(t, sheet, rows[i]);
    sheet_table(sheet, COLUMNS);
    for (i = 0; i < 4; i++)
        sheet_row(sheet, "cos(W'W, AGOP), steps 10; %d; least|%zu row%s, W = 0 at the start|%s|%.6f; %.4f; %.4f|",
                  t->quick ? 100 : 1000, rows[i], rows[i] > 1 ? "s" : "", i == 0 ? "1" : "not said", p[i].first,
                  p[i].last, p[i].least);
    sheet_say(
        sheet,
        "The argument is for one sample: W = C x' at every step, so W'W and grad grad' are both multiples of xx'. "
        "With many samples the two are alike, not proportional.");
}
