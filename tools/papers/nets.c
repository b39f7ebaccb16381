#include "host/host.h"

#include "nets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- networks ------------------------------------------------------------------------------- */

net net_start(const rfm_nfa_start_options *o) {
    rfm_arena arena;
    size_t bytes;
    net n;
    must(rfm_nfa_start_need(o, &bytes), "the size of a network");
    n.memory = allocate_aligned(2 * bytes, "a network");
    must(rfm_arena_init(&arena, n.memory, 2 * bytes), "memory");
    must(rfm_nfa_start(o, &arena, &n.f), "a network");
    must(rfm_nfa_start(o, &arena, &n.start), "a network");
    return n;
}

net net_make(const trial *t, size_t layers, size_t inputs, size_t width, size_t outputs, double first) {
    rfm_nfa_start_options o;
    size_t l;
    rfm_nfa_start_init(&o);
    o.layers = layers, o.seed = (uint32_t)t->seed;
    o.width[0] = inputs, o.width[layers + 1] = outputs;
    for (l = 1; l <= layers; l++) o.width[l] = width;
    for (l = 0; l <= layers; l++) o.scale[l] = (rfm_real)(1.0 / 3);
    if (first > 0) o.scale[0] = (rfm_real)(first * first * (double)inputs);
    return net_start(&o);
}

void net_free(net *n) { free(n->memory); }

static rfm_cmat x_of(const lab_rows *s) { return rfm_cview(s->x, s->n, s->d); }
static rfm_cmat y_of(const lab_rows *s) { return rfm_cview(s->y, s->n, s->c); }

static void measure(const trial *t, const rfm_nfa *f, const rfm_nfa *start, const lab_rows *s, size_t layer,
                    rfm_nfa_layer *out) {
    desk d;
    size_t bytes;
    must(rfm_nfa_measure_need(&t->m->ctx, f, start != NULL, s->n, layer, &bytes), "the size of a layer");
    desk_open(t, &d, bytes);
    must(rfm_nfa_measure(&d.ctx, f, start, x_of(s), layer, out), "a layer");
    desk_close(&d);
}

void net_measure(const trial *t, const net *n, const lab_rows *s, size_t layer, rfm_nfa_layer *out) {
    measure(t, &n->f, &n->start, s, layer, out);
}

void net_look(const trial *t, const rfm_nfa *f, const lab_rows *s, size_t layer, rfm_nfa_layer *out) {
    measure(t, f, NULL, s, layer, out);
}

double net_loss(const trial *t, const net *n, const lab_rows *s) {
    rfm_real loss;
    desk d;
    size_t bytes;
    must(rfm_nfa_loss_need(&t->m->ctx, &n->f, s->n, &bytes), "the size of a loss");
    desk_open(t, &d, bytes);
    must(rfm_nfa_loss(&d.ctx, &n->f, x_of(s), y_of(s), RFM_NFA_SQUARED, &loss, NULL), "a loss");
    desk_close(&d);
    return (double)loss;
}

/* The arrays of one network into those of another. */
static void copy_weights(const rfm_nfa *to, const rfm_nfa *from) {
    size_t l;
    for (l = 0; l <= from->layers; l++) {
        memcpy(to->w[l], from->w[l], from->width[l + 1] * from->width[l] * sizeof *to->w[l]);
        if (from->b[l] != NULL) memcpy(to->b[l], from->b[l], from->width[l + 1] * sizeof *to->b[l]);
    }
}

void net_train(const trial *t, net *n, const lab_rows *s, const rfm_nfa_options *options, const char *label,
               size_t every, void (*look)(void *arg, size_t step), void *arg) {
    rfm_nfa last = n->f; /* a descent ends with the best state; the curves want the last one */
    rfm_nfa_descent *descent;
    desk d;
    size_t bytes, step, l;
    must(rfm_nfa_descend_need(&t->m->ctx, options, &n->f, s->n, &bytes), "the size of a descent");
    desk_open(t, &d, bytes);
    must(rfm_nfa_begin(&d.ctx, options, x_of(s), y_of(s), &n->f, &descent), "a descent");
    for (step = 1; step <= options->steps; step++) {
        must(rfm_nfa_step(descent), "a step of the descent");
        if (look != NULL && step % every == 0) look(arg, step);
        progress_show(label, (double)step, (double)options->steps);
    }
    for (l = 0; l <= n->f.layers; l++) {
        last.w[l] = allocate(n->f.width[l + 1] * n->f.width[l], sizeof(rfm_real), "weights");
        last.b[l] = n->f.b[l] != NULL ? allocate(n->f.width[l + 1], sizeof(rfm_real), "biases") : NULL;
    }
    copy_weights(&last, &n->f);
    must(rfm_nfa_end(descent, NULL), "the end of a descent");
    copy_weights(&n->f, &last);
    for (l = 0; l <= n->f.layers; l++) {
        free(last.w[l]);
        free(last.b[l]);
    }
    progress_end();
    desk_close(&d);
}

void net_descend(const trial *t, net *n, const lab_rows *s, const rfm_nfa_options *options) {
    size_t bytes;
    desk d;
    must(rfm_nfa_descend_need(&t->m->ctx, options, &n->f, s->n, &bytes), "the size of a descent");
    desk_open(t, &d, bytes);
    must(rfm_nfa_descend(&d.ctx, options, x_of(s), y_of(s), &n->f, NULL), "gradient descent");
    desk_close(&d);
}

void net_predict(const trial *t, const net *n, const lab_rows *s, rfm_real *y) {
    size_t bytes;
    desk d;
    must(rfm_nfa_predict_need(&t->m->ctx, &n->f, s->n, &bytes), "the size of a prediction");
    desk_open(t, &d, bytes);
    must(rfm_nfa_predict(&d.ctx, &n->f, x_of(s), rfm_view(y, s->n, s->c)), "a prediction");
    desk_close(&d);
}

double net_accuracy(const trial *t, const net *n, const lab_rows *s) {
    rfm_real *y = allocate(s->n, s->c * sizeof *y, "predictions");
    double right;
    net_predict(t, n, s, y);
    right = rows_right(s, y);
    free(y);
    return right;
}

void net_features(const trial *t, const net *n, const lab_rows *s, rfm_real *f, rfm_real *g) {
    rfm_nfa_layer layer;
    memset(&layer, 0, sizeof layer);
    if (f != NULL) layer.f = rfm_view(f, s->d, s->d);
    if (g != NULL) layer.g = rfm_view(g, s->d, s->d);
    net_look(t, &n->f, s, 0, &layer);
}

/* The squared loss with targets f - e_k / 2 has the derivative e_k / n by f at every row. So its derivative by
 * biases of the first layer, which are 0 here, is the mean tangent of output k there; W' times that is the mean
 * gradient. */
void net_center(const trial *t, const net *n, const lab_rows *s, rfm_real *g) {
    size_t width = n->f.width[1], d = s->d, bytes, i, j, k, l;
    rfm_real *y = allocate(s->n, s->c * sizeof *y, "predictions"), *mean = allocate(d, sizeof *mean, "a gradient");
    rfm_real *tangent = allocate(width, sizeof *tangent, "tangents"), loss;
    rfm_nfa biased = n->f, gradient;
    desk room;
    memset(&gradient, 0, sizeof gradient);
    gradient.b[0] = tangent;
    for (l = 0; l <= biased.layers; l++) biased.b[l] = allocate(biased.width[l + 1], sizeof *biased.b[l], "biases");
    must(rfm_nfa_loss_need(&t->m->ctx, &biased, s->n, &bytes), "the size of a gradient");
    desk_open(t, &room, bytes);
    net_predict(t, n, s, y);
    for (k = 0; k < s->c; k++) {
        for (i = 0; i < s->n; i++) y[i * s->c + k] -= (rfm_real)0.5;
        must(rfm_nfa_loss(&room.ctx, &biased, x_of(s), rfm_cview(y, s->n, s->c), RFM_NFA_SQUARED, &loss, &gradient),
             "a gradient");
        for (i = 0; i < s->n; i++) y[i * s->c + k] += (rfm_real)0.5;
        memset(mean, 0, d * sizeof *mean);
        for (i = 0; i < width; i++)
            for (j = 0; j < d; j++) mean[j] += tangent[i] * n->f.w[0][i * d + j];
        for (i = 0; i < d; i++)
            for (j = 0; j < d; j++) g[i * d + j] -= mean[i] * mean[j];
    }
    desk_close(&room);
    for (l = 0; l <= biased.layers; l++) free(biased.b[l]);
    free(y);
    free(mean);
    free(tangent);
}

/* ---- rows ----------------------------------------------------------------------------------- */

spectrum spectrum_make(uint64_t *state, size_t d, double decay) {
    spectrum s = {0, 0, NULL};
    size_t i, j, k, turn;
    s.d = d, s.decay = decay;
    if (decay < 0) return s;
    s.basis = allocate(d, d * sizeof *s.basis, "a basis");
    for (i = 0; i < d; i++) {
        double *row = s.basis + i * d, length = 0;
        for (j = 0; j < d; j++) row[j] = lab_normal(state);
        for (turn = 0; turn < 2; turn++)
            for (k = 0; k < i; k++) {
                double along = 0;
                for (j = 0; j < d; j++) along += row[j] * s.basis[k * d + j];
                for (j = 0; j < d; j++) row[j] -= along * s.basis[k * d + j];
            }
        for (j = 0; j < d; j++) length += row[j] * row[j];
        for (j = 0; j < d; j++) row[j] /= sqrt(length);
    }
    return s;
}

void spectrum_free(spectrum *s) { free(s->basis); }

lab_rows spectrum_rows(uint64_t *state, const spectrum *s, size_t n) {
    lab_rows r = rows_make(n, s->d, 1);
    double *row = allocate(s->d, sizeof *row, "a row");
    size_t i, j, k;
    for (i = 0; i < n; i++) {
        memset(row, 0, s->d * sizeof *row);
        for (k = 0; k < s->d; k++) {
            const double z = lab_normal(state);
            if (s->basis == NULL) row[k] = z;
            for (j = 0; s->basis != NULL && j < s->d; j++)
                row[j] += z * s->basis[k * s->d + j] / sqrt(1 + pow((double)(k + 1), s->decay));
        }
        for (j = 0; j < s->d; j++) r.x[i * s->d + j] = (rfm_real)row[j];
    }
    free(row);
    return r;
}

/* Standard deviation 1; the mean stays where it is. */
static void unit_targets(lab_rows *s) {
    double mean = 0, square = 0;
    size_t i;
    for (i = 0; i < s->n; i++) mean += (double)s->y[i] / (double)s->n;
    for (i = 0; i < s->n; i++) square += pow((double)s->y[i] - mean, 2) / (double)s->n;
    for (i = 0; i < s->n; i++) s->y[i] = (rfm_real)((double)s->y[i] / sqrt(square));
}

void chain_targets(lab_rows *s) {
    size_t i, k;
    for (i = 0; i < s->n; i++) {
        const rfm_real *x = s->x + i * s->d;
        double sum = 0;
        for (k = 0; k < 5; k++) sum += (double)x[k] * (double)x[(k + 1) % 5];
        s->y[i] = (rfm_real)sum;
    }
    unit_targets(s);
}

void square_targets(uint64_t *state, lab_rows *s) {
    double *q = allocate(s->d, s->d * sizeof *q, "a task");
    size_t i, j, k;
    for (k = 0; k < s->d * s->d; k++) q[k] = lab_normal(state);
    for (i = 0; i < s->n; i++) {
        double sum = 0;
        for (k = 0; k < s->d; k++) {
            double one = 0;
            for (j = 0; j < s->d; j++) one += q[k * s->d + j] * (double)s->x[i * s->d + j];
            sum += one * one;
        }
        s->y[i] = (rfm_real)sum;
    }
    unit_targets(s);
    free(q);
}

double mean_of(const double *x, size_t n) {
    double sum = 0;
    size_t i;
    for (i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

double correlation(const double *x, const double *y, size_t n) {
    const double mx = mean_of(x, n), my = mean_of(y, n);
    double xy = 0, xx = 0, yy = 0;
    size_t i;
    for (i = 0; i < n; i++) {
        xy += (x[i] - mx) * (y[i] - my);
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

void sandwich(size_t k, size_t d, const rfm_real *w, const rfm_real *a, rfm_real *to) {
    double *aw = allocate(k, d * sizeof *aw, "a product"), *sum = allocate(d, d * sizeof *sum, "a product");
    size_t i, j, p;
    for (i = 0; i < k; i++)
        for (p = 0; p < k; p++)
            for (j = 0; j < d; j++) aw[i * d + j] += (double)a[i * k + p] * (double)w[p * d + j];
    for (p = 0; p < k; p++)
        for (i = 0; i < d; i++)
            for (j = 0; j < d; j++) sum[i * d + j] += (double)w[p * d + i] * aw[p * d + j];
    for (i = 0; i < d * d; i++) to[i] = (rfm_real)sum[i];
    free(aw);
    free(sum);
}
