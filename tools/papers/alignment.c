/* The beginning of a training, and what predicts it (004, Fig. 3 and 6, Propositions 3, 4 and 10). */
#include "host/host.h"

#include "ansatz.h"
#include "nets.h"
#include "sheet.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS "quantity|setting|paper|ours|note"

/* W (k, d) ~ N(0, 1/k), a (k) ~ N(0, 1): the network of one hidden layer, f = a'(W x)^2. */
static void draw_network(uint64_t *state, size_t k, size_t d, rfm_real *w, rfm_real *a) {
    size_t i;
    for (i = 0; i < k * d; i++) w[i] = (rfm_real)(lab_normal(state) / sqrt((double)k));
    for (i = 0; i < k; i++) a[i] = (rfm_real)lab_normal(state);
}

/* ---- Fig. 3: predicted against observed over the balance -------------------------------------- */

#define BALANCES  10
#define NETWORKS  30
#define MOST_SETS 4

typedef struct {
    const trial *t;
    size_t n; /* rows, inputs and width */
    rfm_real *w, *a, *r, moments[4];
} free_network;

/* Moments averaged over 30 networks; r is of the last. */
static void network_moments(free_network *f) {
    uint64_t state = f->t->seed + 1000;
    size_t i, p, bytes;
    desk d;
    must(rfm_nfa_moments_need(&f->t->m->ctx, f->n, f->n, &bytes), "the size of moments");
    desk_open(f->t, &d, bytes);
    memset(f->moments, 0, sizeof f->moments);
    for (i = 0; i < NETWORKS; i++) {
        rfm_real one[4];
        draw_network(&state, f->n, f->n, f->w, f->a);
        must(rfm_nfa_moments(&d.ctx, rfm_cview(f->w, f->n, f->n), rfm_cview(f->a, 1, f->n), one,
                             rfm_view(f->r, f->n, f->n)),
             "moments");
        for (p = 0; p < 4; p++) f->moments[p] += one[p] / NETWORKS;
        progress_show("moments", (double)(i + 1), NETWORKS);
    }
    progress_end();
    desk_close(&d);
}

static rfm_nfa_alignment align_at(const free_network *f, double balance, uint64_t seed, lab_rows *s) {
    rfm_nfa_reversing_options o;
    rfm_nfa_alignment out;
    size_t data, bytes;
    desk d;
    rfm_nfa_reversing_init(&o);
    o.balance = (rfm_real)balance, o.seed = (uint32_t)seed, o.unit = (rfm_real)pow((double)f->n, 0.8);
    must(rfm_nfa_reversing_need(&f->t->m->ctx, &o, f->n, f->n, &data), "the size of a set");
    must(rfm_nfa_align_need(&f->t->m->ctx, f->n, f->n, &bytes), "the size of a prediction");
    desk_open(f->t, &d, data > bytes ? data : bytes);
    memset(&out, 0, sizeof out);
    must(rfm_nfa_reversing(&d.ctx, &o, rfm_view(s->x, f->n, f->n), rfm_view(s->y, f->n, 1)), "a set");
    must(rfm_nfa_align(&d.ctx, rfm_cview(s->x, f->n, f->n), rfm_cview(s->y, f->n, 1), f->moments,
                       rfm_cview(f->r, f->n, f->n), &out),
         "a prediction");
    desk_close(&d);
    return out;
}

void alignment_balance(const trial *t, text *sheet) {
    const size_t n = t->quick ? 512 : 1024, sets = t->quick ? 1 : MOST_SETS;
    double predicted[MOST_SETS * BALANCES], observed[MOST_SETS * BALANCES], square = 0;
    double mean_predicted[BALANCES] = {0}, mean_observed[BALANCES] = {0};
    lab_rows s = rows_make(n, n, 1);
    free_network f;
    size_t i, k, count = 0;
    f.t = t, f.n = n;
    f.w = allocate(n, n * sizeof *f.w, "a network"), f.a = allocate(n, sizeof *f.a, "a network");
    f.r = allocate(n, n * sizeof *f.r, "R");
    network_moments(&f);
    for (k = 0; k < sets; k++)
        for (i = 0; i < BALANCES; i++) {
            const rfm_nfa_alignment a = align_at(&f, (double)(i + 1) / BALANCES, t->seed * 100 + k, &s);
            predicted[count] = (double)a.predicted, observed[count] = (double)a.observed;
            square += pow(predicted[count] - observed[count], 2);
            mean_predicted[i] += predicted[count] / (double)sets, mean_observed[i] += observed[count] / (double)sets;
            progress_show("balances", (double)++count, (double)(sets * BALANCES));
        }
    progress_end();
    sheet_chart(sheet, "Over the balance", "balance", "correlation");
    for (i = 0; i < BALANCES; i++) sheet_point(sheet, "predicted", (double)(i + 1) / BALANCES, mean_predicted[i]);
    for (i = 0; i < BALANCES; i++) sheet_point(sheet, "observed", (double)(i + 1) / BALANCES, mean_observed[i]);
    sheet_chart(sheet, "Each set and balance", "observed", "predicted");
    for (i = 0; i < count; i++) sheet_dot(sheet, "a set", observed[i], predicted[i]);
    sheet_table(sheet, COLUMNS);
    for (i = 0; i < BALANCES; i++)
        sheet_row(sheet, "predicted; observed|balance %.1f|curves|%.3f; %.3f|sets: %zu", (double)(i + 1) / BALANCES,
                  mean_predicted[i], mean_observed[i], sets);
    sheet_row(sheet, "correlation of predicted and observed|sets: %zu, balances: 10|closely match|%.4f|", sets,
              correlation(predicted, observed, count));
    sheet_row(sheet, "root mean square of the difference|sets: %zu, balances: 10|-|%.4f|", sets,
              sqrt(square / (double)count));
    sheet_row(sheet, "moments of R|trace(R^p) / d, p = 1 to 4|1, 4, 25, 202|%.2f, %.2f, %.1f, %.0f|limit for large d",
              (double)f.moments[0], (double)f.moments[1], (double)f.moments[2], (double)f.moments[3]);
    sheet_say(sheet,
              "One hidden layer of squares, rows = inputs = width = %zu, one network, moments of 30. The "
              "paper leaves the scale of X_1 open; with rows as it writes them the cosine is 0.99 at every balance. "
              "Here they are divided by n^0.8.",
              n);
    rows_free(&s);
    free(f.w);
    free(f.a);
    free(f.r);
}

/* ---- Fig. 6: two hidden layers, first order --------------------------------------------------- */

static double early_of(const trial *t, const lab_rows *s, const rfm_real *q) {
    rfm_real cosine;
    size_t bytes;
    desk d;
    must(rfm_nfa_early_need(&t->m->ctx, s->n, s->d, &bytes), "the size of a cosine");
    desk_open(t, &d, bytes);
    must(
        rfm_nfa_early(&d.ctx, rfm_cview(s->x, s->n, s->d), rfm_cview(s->y, s->n, 1), rfm_cview(q, s->n, s->n), &cosine),
        "a cosine");
    desk_close(&d);
    return (double)cosine;
}

static double first_order(const trial *t, const lab_rows *s, int activation, rfm_real *q) {
    size_t bytes;
    desk d;
    must(rfm_nfa_mean_ptk_need(&t->m->ctx, s->n, s->d, &bytes), "the size of a kernel");
    desk_open(t, &d, bytes);
    must(rfm_nfa_mean_ptk(&d.ctx, activation, rfm_cview(s->x, s->n, s->d), rfm_view(q, s->n, s->n)), "a kernel");
    desk_close(&d);
    return early_of(t, s, q);
}

static double observed_of(const trial *t, const lab_rows *s, int activation, size_t width, uint64_t seed, rfm_real *q) {
    rfm_nfa_start_options o;
    rfm_nfa_layer layer;
    net n;
    rfm_nfa_start_init(&o);
    o.layers = 2, o.width[0] = s->d, o.width[1] = o.width[2] = width, o.width[3] = 1, o.activation = activation;
    o.seed = (uint32_t)seed;
    n = net_start(&o);
    memset(&layer, 0, sizeof layer);
    layer.q = rfm_view(q, s->n, s->n);
    net_look(t, &n.f, s, 0, &layer);
    net_free(&n);
    return early_of(t, s, q);
}

#define DECAYS 9

void alignment_depth(const trial *t, text *sheet) {
    static const double decays[DECAYS] = {0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 6};
    static const char *const names[] = {"ReLU", "square"}, *const tasks[] = {"chain monomial", "squared length of Qx"};
    const size_t n = 128, networks = t->quick ? 1 : 3, wide = t->quick ? 256 : 1024;
    const size_t step = t->quick ? 2 : 1;
    rfm_real *q = allocate(n, n * sizeof *q, "Q");
    double value[2][2][3][DECAYS]; /* task, activation: predicted, narrow, wide */
    size_t i, k, task, count = 0;
    int activation;
    for (i = 0; i < DECAYS; i += step, count++)
        for (task = 0; task < 2; task++) {
            uint64_t state = t->seed;
            spectrum data = spectrum_make(&state, n, decays[i]);
            lab_rows s = spectrum_rows(&state, &data, n);
            if (task == 0)
                chain_targets(&s);
            else
                square_targets(&state, &s);
            for (activation = RFM_NFA_RELU; activation <= RFM_NFA_SQUARE; activation++) {
                double(*v)[DECAYS] = value[task][activation];
                v[0][count] = first_order(t, &s, activation, q);
                v[1][count] = v[2][count] = 0;
                for (k = 0; k < networks; k++) {
                    v[1][count] += observed_of(t, &s, activation, n, t->seed + k, q) / (double)networks;
                    v[2][count] += observed_of(t, &s, activation, wide, t->seed + k, q) / (double)networks;
                }
            }
            rows_free(&s);
            spectrum_free(&data);
            progress_show("decays", (double)(2 * i + task + 1), 2.0 * DECAYS);
        }
    progress_end();
    for (task = 0; task < 2; task++)
        for (activation = RFM_NFA_RELU; activation <= RFM_NFA_SQUARE; activation++) {
            char title[80], name[40];
            double(*v)[DECAYS] = value[task][activation];
            snprintf(title, sizeof title, "%s, %s", names[activation], tasks[task]);
            sheet_chart(sheet, title, "decay", "centred correlation");
            for (i = 0; i < count; i++) sheet_point(sheet, "predicted", decays[i * step], v[0][i]);
            for (i = 0; i < count; i++) sheet_point(sheet, "observed, width 128", decays[i * step], v[1][i]);
            snprintf(name, sizeof name, "observed, width %zu", wide);
            for (i = 0; i < count; i++) sheet_point(sheet, name, decays[i * step], v[2][i]);
        }
    sheet_table(sheet, COLUMNS);
    for (task = 0; task < 2; task++)
        for (activation = RFM_NFA_RELU; activation <= RFM_NFA_SQUARE; activation++) {
            double(*v)[DECAYS] = value[task][activation], off[2] = {0, 0};
            for (i = 0; i < count; i++)
                for (k = 0; k < 2; k++) off[k] += fabs(v[k + 1][i] - v[0][i]) / (double)count;
            sheet_row(sheet,
                      "mean distance of predicted and observed, width 128; %zu|%s, %s|wide is closer|%.3f; %.3f|", wide,
                      names[activation], tasks[task], off[0], off[1]);
            sheet_row(sheet, "correlation over the decays, width %zu|%s, %s|qualitatively|%.2f|", wide,
                      names[activation], tasks[task], correlation(v[0], v[2], count));
        }
    sheet_say(sheet,
              "Rows = inputs = 128, two hidden layers, covariance with eigenvalues 1 / (1 + k^decay), mean over %zu "
              "networks. "
              "The prediction puts the mean of Q in its place, and its square for the mean of Q^2.",
              networks);
    free(q);
}

/* ---- Propositions 3, 4 and 10 ----------------------------------------------------------------- */

/* |a - b| / |b| of matrices. */
static double apart(const double *a, const double *b, size_t n) {
    double off = 0, size = 0;
    size_t i;
    for (i = 0; i < n; i++) off += (a[i] - b[i]) * (a[i] - b[i]), size += b[i] * b[i];
    return sqrt(off / size);
}

/* to (d, d) = X' diag(y) Q diag(y) X, or with Q^2. */
static void kernel_form(const lab_rows *s, const double *y, const rfm_real *q, int squared, double *to) {
    const size_t n = s->n, d = s->d;
    double *z = allocate(n, d * sizeof *z, "rows"), *qz = allocate(n, d * sizeof *qz, "rows");
    size_t i, j, k;
    for (i = 0; i < n; i++)
        for (j = 0; j < d; j++) z[i * d + j] = y[i] * (double)s->x[i * d + j];
    for (i = 0; i < n; i++)
        for (k = 0; k < n; k++)
            for (j = 0; j < d; j++) qz[i * d + j] += (double)q[i * n + k] * z[k * d + j];
    memset(to, 0, d * d * sizeof *to);
    for (k = 0; k < n; k++)
        for (i = 0; i < d; i++)
            for (j = 0; j < d; j++) to[i * d + j] += (squared ? qz : z)[k * d + i] * qz[k * d + j];
    free(z);
    free(qz);
}

/* dW'dW and dW'K dW from the gradient, beside X'LQLX and X'LQ^2LX. */
static void proposition4(const trial *t, text *sheet, text *chart) {
    const size_t n = 60, d = 10, k = 40;
    uint64_t state = t->seed;
    spectrum axes = spectrum_make(&state, d, -1);
    lab_rows s = spectrum_rows(&state, &axes, n);
    rfm_real *q = allocate(n, n * sizeof *q, "Q"), *kk = allocate(k, k * sizeof *kk, "K");
    rfm_real *dw = allocate(k, d * sizeof *dw, "a gradient"), *f = allocate(n, sizeof *f, "outputs"), loss;
    double *residual = allocate(n, sizeof *residual, "residuals"), *left = allocate(d, d * sizeof *left, "a matrix");
    double *right = allocate(d, d * sizeof *right, "a matrix");
    rfm_nfa_start_options o;
    rfm_nfa_options descent;
    rfm_nfa_layer layer;
    rfm_nfa gradient;
    size_t bytes, i, j, p, r, step;
    desk room;
    net w;
    chain_targets(&s);
    rfm_nfa_start_init(&o);
    o.width[0] = d, o.width[1] = k, o.width[2] = 30, o.width[3] = 1, o.seed = (uint32_t)t->seed;
    w = net_start(&o);
    memset(&layer, 0, sizeof layer);
    memset(&gradient, 0, sizeof gradient);
    layer.q = rfm_view(q, n, n), layer.k = rfm_view(kk, k, k), gradient.w[0] = dw;
    net_look(t, &w.f, &s, 0, &layer);
    must(rfm_nfa_loss_need(&t->m->ctx, &w.f, n, &bytes), "the size of a loss");
    desk_open(t, &room, bytes);
    must(rfm_nfa_predict(&room.ctx, &w.f, rfm_cview(s.x, n, d), rfm_view(f, n, 1)), "outputs");
    must(rfm_nfa_loss(&room.ctx, &w.f, rfm_cview(s.x, n, d), rfm_cview(s.y, n, 1), RFM_NFA_SQUARED, &loss, &gradient),
         "a gradient");
    desk_close(&room);
    for (i = 0; i < n; i++) residual[i] = 2.0 / (double)n * ((double)f[i] - (double)s.y[i]);
    kernel_form(&s, residual, q, 0, right);
    memset(left, 0, d * d * sizeof *left);
    for (p = 0; p < k; p++)
        for (i = 0; i < d; i++)
            for (j = 0; j < d; j++) left[i * d + j] += (double)dw[p * d + i] * (double)dw[p * d + j];
    sheet_row(sheet, "Prop. 4: dW'dW and X'LQLX apart by|ReLU, 60 rows, relative|0|%.1e|rounding: %.0e",
              apart(left, right, d * d), (double)RFM_LIMIT(EPSILON));
    kernel_form(&s, residual, q, 1, right);
    memset(left, 0, d * d * sizeof *left);
    for (p = 0; p < k; p++)
        for (r = 0; r < k; r++)
            for (i = 0; i < d; i++)
                for (j = 0; j < d; j++)
                    left[i * d + j] +=
                        (double)n * (double)dw[p * d + i] * (double)kk[p * k + r] * (double)dw[r * d + j];
    sheet_row(sheet, "Prop. 4: dW'K dW and X'LQ^2LX apart by|the same|0|%.1e|", apart(left, right, d * d));
    /* Proposition 3: W - W_0 begins as t dW, so its Gram matrix over t^2 goes to dW'dW, with an error of order t. */
    for (i = 0; i < d; i++)
        for (j = 0; j < d; j++)
            for (left[i * d + j] = 0, p = 0; p < k; p++)
                left[i * d + j] += (double)dw[p * d + i] * (double)dw[p * d + j];
    for (step = 1; step <= 3; step++) {
        const double time = 0.4 / pow(4, (double)step);
        net_free(&w);
        w = net_start(&o);
        rfm_nfa_options_init(&descent);
        descent.steps = 16, descent.rate = (rfm_real)(time / 16);
        net_train(t, &w, &s, &descent, "Proposition 3", 1, NULL, NULL);
        memset(right, 0, d * d * sizeof *right);
        for (p = 0; p < k; p++)
            for (i = 0; i < d; i++)
                for (j = 0; j < d; j++)
                    right[i * d + j] += ((double)w.f.w[0][p * d + i] - (double)w.start.w[0][p * d + i]) *
                                        ((double)w.f.w[0][p * d + j] - (double)w.start.w[0][p * d + j]) / time / time;
        sheet_row(sheet, "Prop. 3: V'V / t^2 and dW'dW apart by|t = %g, 16 steps|order t|%.4f|", time,
                  apart(right, left, d * d));
        sheet_point(chart, "measured", log10(time), log10(apart(right, left, d * d)));
    }
    net_free(&w);
    rows_free(&s);
    spectrum_free(&axes);
    free(q), free(kk), free(dw), free(f), free(residual), free(left), free(right);
}

static void multiply(size_t d, const double *a, const double *b, double *to) {
    size_t i, j, k;
    memset(to, 0, d * d * sizeof *to);
    for (i = 0; i < d; i++)
        for (k = 0; k < d; k++)
            for (j = 0; j < d; j++) to[i * d + j] += a[i * d + k] * b[k * d + j];
}

#define SMALL 10 /* rows, inputs and width */

/* Means of S R S and S R B R S over networks, and their formulas. */
static void proposition10(const trial *t, text *sheet) {
    enum { D = SMALL, DD = SMALL * SMALL };
    const size_t networks = t->quick ? 2000 : 40000, parts = 20;
    uint64_t state = t->seed;
    rfm_real w[DD], a[D];
    double x[DD], y[D], s[DD] = {0}, b[DD] = {0}, r[DD], u[DD], v[DD], one[DD], share[2][DD], sum[2][DD] = {{0}};
    double square[2] = {0, 0}, expect[3][DD], trace = 0, size[2] = {0, 0};
    size_t i, j, k, m, p, which;
    for (i = 0; i < DD; i++) x[i] = lab_normal(&state);
    for (i = 0; i < D; i++) y[i] = lab_normal(&state);
    for (k = 0; k < D; k++)
        for (i = 0; i < D; i++)
            for (j = 0; j < D; j++)
                s[i * D + j] += y[k] * x[k * D + i] * x[k * D + j], b[i * D + j] += x[k * D + i] * x[k * D + j];
    for (i = 0; i < D; i++) trace += b[i * D + i];
    multiply(D, s, s, expect[0]);
    multiply(D, s, b, u);
    multiply(D, u, s, v);
    for (i = 0; i < DD; i++) {
        expect[1][i] = (1 + 5.0 / D) * v[i] + 3.0 / D * trace * expect[0][i];
        expect[2][i] = 6 * v[i] + 3 * trace * expect[0][i]; /* as printed */
    }
    for (p = 0; p < parts; p++) {
        memset(share, 0, sizeof share);
        for (m = 0; m < networks / parts; m++) {
            draw_network(&state, D, D, w, a);
            memset(r, 0, sizeof r);
            for (k = 0; k < D; k++)
                for (i = 0; i < D; i++)
                    for (j = 0; j < D; j++)
                        r[i * D + j] += (double)(a[k] * a[k]) * (double)w[k * D + i] * (double)w[k * D + j];
            multiply(D, s, r, u); /* S R */
            multiply(D, u, s, one);
            for (i = 0; i < DD; i++) share[0][i] += one[i] / (double)(networks / parts);
            multiply(D, u, b, v);
            for (i = 0; i < D; i++)
                for (j = 0; j < D; j++)
                    for (one[i * D + j] = 0, k = 0; k < D; k++) one[i * D + j] += v[i * D + k] * u[j * D + k];
            for (i = 0; i < DD; i++) share[1][i] += one[i] / (double)(networks / parts);
        }
        for (which = 0; which < 2; which++)
            for (i = 0; i < DD; i++)
                sum[which][i] += share[which][i] / (double)parts, square[which] += share[which][i] * share[which][i];
    }
    for (which = 0; which < 2; which++) { /* the standard error of the mean, from the parts */
        double of_mean = 0;
        for (i = 0; i < DD; i++)
            size[which] += expect[which][i] * expect[which][i], of_mean += sum[which][i] * sum[which][i];
        square[which] = sqrt(fmax(square[which] / (double)parts - of_mean, 0) / (double)(parts - 1) / size[which]);
    }
    sheet_row(sheet, "Prop. 10: mean of SRS and S^2 apart by|%zu networks, relative|0|%.4f|standard error %.4f",
              networks, apart(sum[0], expect[0], DD), square[0]);
    sheet_row(sheet,
              "Prop. 10: mean of SRBRS and its formula apart by|%zu networks, relative|0|%.4f|standard error %.4f",
              networks, apart(sum[1], expect[1], DD), square[1]);
    sheet_row(sheet,
              "Prop. 10 as printed, apart by|the same networks|0|%.2f|the terms of two units and 1/k are missing",
              apart(sum[1], expect[2], DD));
}

void alignment_start(const trial *t, text *sheet) {
    text chart = {NULL, 0, 0};
    sheet_chart(&chart, "V'V / t^2 and dW'dW apart (Prop. 3): slope 1 is order t", "log10 of the time t",
                "log10 of the distance");
    sheet_table(sheet, COLUMNS);
    proposition4(t, sheet, &chart);
    proposition10(t, sheet);
    sheet_say(
        sheet,
        "L is the derivative of the loss by the outputs, Q the tangent kernel of the first layer. Prop. 4 is an "
        "identity, so what remains is rounding; Prop. 3 is a limit of small times; Prop. 10 a mean, compared with "
        "its standard error. The second matrix is (1 + 5/k) SBS + (3/k) trace(B) S^2.");
    text_bytes(sheet, chart.at, chart.size);
    free(chart.at);
}
