/* Smaller models: rfm_small's functions on a fitted model; and blobs, written and opened. */
#include "fits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    fitting *f;
    size_t rank;
    rfm_centers_options thin;
    int type;
    rfm_real ridge;
    rfm_model small;
    rfm_model_i integers;
    rfm_real share, loss, *gradient;
} making;

static void hash_add(uint64_t *hash, const void *at, size_t bytes) { *hash = hash_bytes(*hash, at, bytes); }

static uint64_t small_hash(const void *arg) {
    const making *t = arg;
    const rfm_model *m = &t->small;
    uint64_t hash = hash_bytes(m->n, &t->share, sizeof t->share);
    if (m->n == 0) return 0; /* it failed */
    if (m->p != NULL) hash_add(&hash, m->p, (m->metric == RFM_FULL ? m->r : 1) * m->d * sizeof *m->p);
    hash_add(&hash, m->centers, m->n * m->r * sizeof *m->centers);
    hash_add(&hash, m->alpha, m->n * m->c * sizeof *m->alpha);
    return hash;
}

int coarse(const rfm_model *m) {
    double most = 0;
    size_t i;
    for (i = 0; i < m->n * m->r; i++) most = fmax(most, fabs((double)m->centers[i]));
    return slack.no_values || 1e4 * (double)m->d * EPSILON * most > (double)m->bandwidth;
}

/* ---- rank ----------------------------------------------------------------------------------- */

static int rank_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    making *t = arg;
    return rfm_small_rank_need(ctx, &t->f->model, &t->f->data, t->rank, scratch, store);
}

static int rank_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    making *t = arg;
    return rfm_small_rank(ctx, &t->f->model, &t->f->data, t->rank, store, &t->small, &t->share);
}

/* The share of the mean squared distance that the first `rank` principal components of the projected rows keep. */
static double expected_share(const making *t) {
    const rfm_model *m = &t->f->model;
    const size_t n = t->f->data.x.rows, r = m->r;
    double *x = ref_doubles(t->f->data.x), *z = take(n * r * sizeof *z), *cov = take(r * r * sizeof *cov),
           *v = take(r * r * sizeof *v);
    double kept = 0, all = 0, total = 0, mean;
    size_t i, p, q;
    for (i = 0; i < n; i++)
        ref_project(m, x + i * m->d, z + i * r),
            total += t->f->data.weights != NULL ? (double)t->f->data.weights[i] : 1;
    memset(cov, 0, r * r * sizeof *cov);
    for (q = 0; q < r; q++) {
        for (mean = 0, i = 0; i < n; i++)
            mean += (t->f->data.weights != NULL ? (double)t->f->data.weights[i] : 1) * z[i * r + q] / total;
        for (i = 0; i < n; i++) z[i * r + q] -= mean;
    }
    for (i = 0; i < n; i++)
        for (p = 0; p < r; p++)
            for (q = 0; q < r; q++)
                cov[p * r + q] += (t->f->data.weights != NULL ? (double)t->f->data.weights[i] : 1) / total *
                                  z[i * r + p] * z[i * r + q];
    ref_eig(r, cov, v);
    for (q = 0; q < r; q++) all += cov[q * r + q];
    for (i = 0; i < t->rank; i++) { /* the largest that is left */
        size_t best = 0;
        for (q = 1; q < r; q++)
            if (cov[q * r + q] > cov[best * r + best]) best = q;
        kept += cov[best * r + best];
        cov[best * r + best] = -1;
    }
    free(x);
    return all > 0 ? kept / all : 1;
}

static void check_rank(making *t) {
    static const call rank = {"rfm_small_rank", rank_need, rank_run, small_hash};
    const rfm_model *m = &t->f->model;
    const size_t n = t->f->data.x.rows;
    double *x = ref_doubles(t->f->data.x), *was = take(m->c * sizeof *was), *projected = take(m->r * sizeof *projected),
           share, most = 0, all = 0;
    size_t i, k;
    int status;
    t->rank = chance(3) ? m->r : 1 + draw(m->r);
    note(" rank %lu of %lu", (unsigned long)t->rank, (unsigned long)m->r);
    status = exact(&rank, t, t->f->port);
    if (status != RFM_OK)
        refused("rfm_small_rank", status);
    else {
        if (m->r <= 64) {
            share = expected_share(t);
            compare("share", rfm_cview(&t->share, 1, 1), &share, 16 * ((double)n + 16) * EPSILON);
        }
        for (i = 0; i < n * m->r; i++) most = fmax(most, fabs((double)m->centers[i]));
        for (i = 0; i < n * m->c; i++) all += fabs((double)m->alpha[i]);
        for (i = 0; i < n; i++) { /* a centre is its row, projected; and of full rank nothing changes */
            ref_project(&t->small, x + i * m->d, projected);
            compare("centre", rfm_cview(t->small.centers + i * t->rank, 1, t->rank), projected,
                    64 * ((double)m->d + 16) * EPSILON * most);
            if (t->rank < m->r || i > 5) continue;
            ref_model(m, x + i * m->d, was);
            for (k = 0; k < m->c; k++) {
                double now[64];
                ref_model(&t->small, x + i * m->d, now);
                if (!coarse(m) && !(fabs(now[k] - was[k]) <= 100 * sqrt(EPSILON) * all))
                    fail("of full rank %g becomes %g", was[k], now[k]);
            }
        }
    }
    free(x);
}

/* ---- centres, loss -------------------------------------------------------------------------- */

static int centers_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    making *t = arg;
    return rfm_small_centers_need(ctx, &t->f->model, &t->f->data, &t->thin, scratch, store);
}

static int centers_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    making *t = arg;
    return rfm_small_centers(ctx, &t->f->model, &t->f->data, &t->thin, store, &t->small);
}

static double loss_of(const rfm_model *m, const rfm_data *data, double ridge) {
    double *centers = ref_doubles(rfm_cview(m->centers, m->n, m->r)), loss = ref_loss(m, data, ridge, centers);
    free(centers);
    return loss;
}

static void check_centers(making *t) {
    static const call centers = {"rfm_small_centers", centers_need, centers_run, small_hash};
    const size_t n = t->f->data.x.rows, polish = chance(3) ? 1 + draw(3) : 0;
    double slope, before, after, heaviest = 1;
    size_t i;
    int status;
    t->thin.centers = 1 + draw(n), t->thin.method = (int)draw(4), t->thin.seed = (uint32_t)draw(100);
    t->thin.ridge = (rfm_real)pow(10, uniform(-2, 0));
    note(" centres %lu method %d ridge %.3g polish %lu", (unsigned long)t->thin.centers, t->thin.method,
         (double)t->thin.ridge, (unsigned long)polish);
    status = exact(&centers, t, t->f->port);
    if (status != RFM_OK) {
        refused("rfm_small_centers", status);
        return;
    }
    if (t->small.n == 0 || t->small.n > t->thin.centers) fail("%lu centres", (unsigned long)t->small.n);
    for (i = 0; t->f->data.weights != NULL && i < n; i++) heaviest = fmax(heaviest, (double)t->f->data.weights[i]);
    if (heaviest * (double)n * EPSILON > 0.01 * (double)t->thin.ridge) return; /* too ill-conditioned */
    slope = ref_alpha_slope(&t->small, &t->f->data, (double)t->thin.ridge, 0, 0);
    if (!coarse(&t->small) && !(slope <= sqrt(EPSILON))) fail("alpha is not the minimum: slope %.3g", slope);
    if (polish == 0) return;
    before = loss_of(&t->small, &t->f->data, (double)t->thin.ridge);
    t->thin.polish = polish;
    status = exact(&centers, t, t->f->port);
    if (status != RFM_OK) {
        refused("rfm_small_centers", status);
        return;
    }
    after = loss_of(&t->small, &t->f->data, (double)t->thin.ridge);
    if (!coarse(&t->small) && !(after <= before * (1 + sqrt(EPSILON))))
        fail("polish takes the loss from %g to %g", before, after);
}

static int loss_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    making *t = arg;
    (void)store;
    return rfm_small_loss_need(ctx, &t->f->model, &t->f->data, scratch);
}

static int loss_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    making *t = arg;
    (void)store;
    return rfm_small_loss(ctx, &t->f->model, &t->f->data, t->ridge, &t->loss, t->gradient);
}

static uint64_t loss_hash(const void *arg) {
    const making *t = arg;
    return hash_bytes(hash_bytes(0, &t->loss, sizeof t->loss), t->gradient,
                      t->f->model.n * t->f->model.r * sizeof *t->gradient);
}

/* The loss by its formula, its gradient by differences: at centres that are moved off the rows, where phi has a
 * kink. */
static void check_loss(making *t) {
    static const call loss = {"rfm_small_loss", loss_need, loss_run, loss_hash};
    rfm_model *m = &t->f->model;
    const size_t count = m->n * m->r;
    rfm_real *moved = take_reals(count);
    double *centers, expected, most = 0, size = 0, largest = 0, weight = 0, heaviest = 0, rounding;
    size_t i, turn;
    int status;
    for (i = 0; i < t->f->data.x.rows; i++) {
        const double w = t->f->data.weights != NULL ? (double)t->f->data.weights[i] : 1;
        weight += w, heaviest = fmax(heaviest, w);
    }
    for (i = 0; i < count; i++) most = fmax(most, fabs((double)m->centers[i]));
    for (i = 0; i < count; i++) moved[i] = m->centers[i] + (rfm_real)(0.1 * most * uniform(-1, 1));
    for (i = 0; i < m->n * m->c; i++) size += fabs((double)m->alpha[i]);
    m->centers = moved;
    t->ridge = (rfm_real)(chance(4) ? 0 : pow(10, uniform(-3, 0)));
    t->gradient = take_reals(count);
    note(" ridge %.3g", (double)t->ridge);
    status = exact(&loss, t, t->f->port);
    if (status != RFM_OK) {
        refused("rfm_small_loss", status);
        return;
    }
    centers = ref_doubles(rfm_cview(moved, m->n, m->r));
    expected = ref_loss(m, &t->f->data, (double)t->ridge, centers);
    /* What is squared has the rounding of a sum of `size`, in every row with its weight; squared itself, where a fit
     * leaves nothing else. Without weights the second is far below the first. */
    rounding = 1e2 * EPSILON * size;
    compare("loss", rfm_cview(&t->loss, 1, 1), &expected,
            coarse(m) ? -1
                      : 1e3 * EPSILON * (expected + size * sqrt(expected * weight) + (double)t->ridge * size * size) +
                            weight * rounding * rounding);
    for (i = 0; i < count; i++) largest = fmax(largest, fabs((double)t->gradient[i]));
    for (turn = 0; turn < 5 && most > 0 && !coarse(m); turn++) {
        const size_t at = draw(count);
        const double h = 1e-5 * most, was = centers[at];
        double up, down, slope;
        centers[at] = was + h, up = ref_loss(m, &t->f->data, (double)t->ridge, centers);
        centers[at] = was - h, down = ref_loss(m, &t->f->data, (double)t->ridge, centers);
        centers[at] = was, slope = (up - down) / (2 * h);
        if (!(fabs(slope - (double)t->gradient[at]) <=
              1e-3 * largest + 1e-9 * expected / most +
                  1e3 * EPSILON * size * sqrt(heaviest) * sqrt(expected + heaviest * size * size) / most + slack.least))
            fail("gradient is %g at %lu, by differences %g", (double)t->gradient[at], (unsigned long)at, slope);
    }
    free(centers);
}

/* ---- integers ------------------------------------------------------------------------------- */

static int integers_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    making *t = arg;
    return rfm_small_integers_need(ctx, &t->f->model, &t->f->data, t->type, scratch, store);
}

static int integers_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    making *t = arg;
    return rfm_small_integers(ctx, &t->f->model, &t->f->data, t->type, t->ridge, store, &t->integers);
}

static uint64_t integers_hash(const void *arg) {
    const making *t = arg;
    const rfm_model_i *m = &t->integers;
    const size_t bytes = (size_t)m->type;
    uint64_t hash = m->nodes;
    if (m->n == 0) return 0; /* it failed */
    hash_add(&hash, m->inputs, m->d * sizeof *m->inputs);
    hash_add(&hash, m->bias, m->r * sizeof *m->bias);
    if (m->p != NULL) hash_add(&hash, m->p, m->r * m->d * bytes);
    hash_add(&hash, m->centers, m->n * m->r * bytes);
    hash_add(&hash, m->alpha, m->n * m->c * bytes);
    hash_add(&hash, m->offset, m->c * sizeof *m->offset);
    hash_add(&hash, m->phi, m->nodes * sizeof *m->phi);
    return hash;
}

static double integer(const rfm_model_i *m, const void *at, size_t i) {
    return m->type == RFM_I8 ? (double)((const int8_t *)at)[i] : (double)((const int16_t *)at)[i];
}

/* phi between the nodes at t + 8 = 2^e (1 + k / 8). */
static double table_phi(const rfm_model_i *m, double t) {
    double low = 8;
    size_t e, k;
    for (e = 0; 2 * low <= t + 8; e++) low *= 2;
    k = (size_t)((t + 8 - low) / (low / 8));
    if (8 * e + k + 1 >= m->nodes) return 0;
    return m->phi[8 * e + k] + (m->phi[8 * e + k + 1] - m->phi[8 * e + k]) * ((t + 8 - low) / (low / 8) - (double)k);
}

/* Scores (c) by the formula of rfm_small.h, without the rounding of phi: each centre adds at most one unit of
 * |alpha|, and one. */
static void table_scores(const rfm_model_i *m, const int16_t *xi, double *scores, double *room) {
    double *u = take(m->d * sizeof *u), *z = take(m->r * sizeof *z);
    size_t i, j, k;
    for (j = 0; j < m->d; j++) {
        const rfm_input_i *in = &m->inputs[j];
        const double v = fmin(fmax(xi[j], in->low), in->high) - in->low;
        u[j] = floor(v * in->gain / pow(2, in->shift));
    }
    for (i = 0; i < m->r; i++) {
        double sum = m->bias[i] + (m->p == NULL ? u[i] : 0);
        for (j = 0; m->p != NULL && j < m->d; j++) sum += integer(m, m->p, i * m->d + j) * u[j];
        if (m->p != NULL) sum = floor(sum / pow(2, m->shifts[i]));
        z[i] = fmin(fmax(sum, -m->limit), m->limit);
    }
    for (k = 0; k < m->c; k++) scores[k] = m->offset[k], room[k] = 0;
    for (i = 0; i < m->n; i++) {
        double t = 0, phi;
        for (j = 0; j < m->r; j++)
            t += (integer(m, m->centers, i * m->r + j) - z[j]) * (integer(m, m->centers, i * m->r + j) - z[j]);
        phi = table_phi(m, t);
        for (k = 0; k < m->c; k++) {
            const double alpha = integer(m, m->alpha, i * m->c + k) / (m->type == RFM_I16 ? 256 : 1);
            scores[k] += alpha * phi, room[k] += fabs(alpha) + 1;
        }
    }
}

static void check_predict_i(const rfm_model_i *m, const int16_t *xi, int32_t *scores) {
    int16_t *scratch = take(RFM_PREDICT_I_SCRATCH(m->d, m->r) * sizeof *scratch);
    double *expected = take(m->c * sizeof *expected), *room = take(m->c * sizeof *room);
    rfm_notes_i notes;
    size_t k;
    if (rfm_predict_i(m, xi, scores, scratch, NULL, &notes) != RFM_OK) fail("rfm_predict_i fails");
    table_scores(m, xi, expected, room);
    for (k = 0; k < m->c; k++)
        if (!(fabs(scores[k] - expected[k]) <= room[k]))
            fail("rfm_predict_i: score %ld, expected %.1f", (long)scores[k], expected[k]);
}

static void check_integers(making *t) {
    static const call integers = {"rfm_small_integers", integers_need, integers_run, integers_hash};
    const rfm_model *m = &t->f->model;
    const size_t n = t->f->data.x.rows;
    int16_t *xi = take(m->d * sizeof *xi);
    int32_t *scores = take(m->c * sizeof *scores);
    double *was = take(m->c * sizeof *was), *x, *y = ref_doubles(t->f->data.y), error = 0, model_error = 0, spread = 0,
           rounding = 0, w;
    rfm_model_i opened;
    size_t bytes = 0, i, j, k;
    void *blob;
    int status;
    t->type = chance(2) ? RFM_I8 : RFM_I16, t->ridge = t->f->o.ridge;
    if (chance(4)) memset(&t->f->data.y, 0, sizeof t->f->data.y);
    note(" i%d ridge %.3g%s", 8 * t->type, (double)t->ridge, t->f->data.y.at == NULL ? " without y" : "");
    status = exact(&integers, t, t->f->port);
    if (status != RFM_OK) {
        refused("rfm_small_integers", status);
        free(y);
        return;
    }
    if (rfm_model_size_i(&t->integers, 0, &bytes) != RFM_OK) fail("rfm_model_size_i fails");
    blob = take(bytes);
    if (rfm_model_write_i(&t->integers, NULL, 0, blob, bytes) != RFM_OK ||
        rfm_model_open_i(blob, bytes, &opened) != RFM_OK) {
        fail("its blob cannot be written and opened");
        free(y);
        return;
    }
    x = ref_doubles(t->f->data.x);
    for (i = 0; i < n; i++) {
        if (rfm_input_integers(&opened, t->f->data.x.at + i * t->f->data.x.stride, xi) != RFM_OK)
            fail("rfm_input_integers fails");
        check_predict_i(&opened, xi, scores);
        ref_model(m, x + i * m->d, was);
        w = t->f->data.weights != NULL ? (double)t->f->data.weights[i] : 1;
        for (k = 0; k < m->c; k++) {
            const double target = t->f->data.y.at != NULL ? y[i * m->c + k] : was[k];
            /* half a step of every alpha: much, where a K near singular makes alpha large */
            const double step = (double)opened.units[k] * RFM_PHI_ONE / (t->type == RFM_I16 ? 256 : 1);
            const double off = scores[k] * (double)opened.units[k] - target, half = 0.5 * step * (double)m->n;
            error += w * off * off, model_error += w * (was[k] - target) * (was[k] - target);
            spread += w * target * target, rounding += w * half * half;
        }
    }
    /* alpha is fitted anew to the targets, if there are some: in squares, with the rows' weights */
    error = sqrt(error), model_error = sqrt(model_error), spread = sqrt(spread), rounding = sqrt(rounding);
    if (!coarse(m) && !(error <= 1.1 * model_error + 0.3 * spread + rounding))
        fail("integers are off by %.3g, the model by %.3g, of %.3g", error, model_error, spread);
    for (i = 0; i < 3; i++) { /* anything goes in */
        for (j = 0; j < m->d; j++) xi[j] = (int16_t)((long)draw(65536) - 32768);
        check_predict_i(&opened, xi, scores);
    }
    free(x), free(y);
}

/* ---- features, blobs ------------------------------------------------------------------------ */

static void check_importance(making *t) {
    const size_t d = t->f->model.d;
    const rfm_model *m = &t->f->model;
    rfm_real *importance = take_reals(d), *scale = take_reals(d);
    double *expected = take(d * sizeof *expected), low = INFINITY, high = -INFINITY;
    const int scaled = chance(2);
    size_t j, q;
    int status;
    for (j = 0; j < d; j++) scale[j] = (rfm_real)uniform(0.5, 2);
    status = rfm_small_importance(&t->f->model, scaled ? scale : NULL, importance);
    if (status != RFM_OK) {
        refused("rfm_small_importance", status);
        return;
    }
    for (j = 0; j < d; j++) { /* M_jj scale_j^2 */
        expected[j] = m->metric == RFM_IDENTITY;
        for (q = 0; m->p != NULL && q < (m->metric == RFM_FULL ? m->r : 1); q++)
            expected[j] += (double)m->p[q * d + j] * (double)m->p[q * d + j];
        if (scaled) expected[j] *= (double)scale[j] * (double)scale[j];
    }
    for (j = 0; j < d; j++) low = fmin(low, expected[j]), high = fmax(high, expected[j]);
    for (j = 0; j < d; j++) expected[j] = high > low ? (expected[j] - low) / (high - low) : 1;
    compare("importance", rfm_cview(importance, 1, d), expected,
            high > low ? ((double)m->r + 16) * EPSILON * high / (high - low) : 0);
}

/* f(x) = y_mean + y_scale f((x - x_mean) / x_scale). Blobs keep the exponent as a float. */
static void check_blob(making *t) {
    rfm_model *m = &t->f->model;
    const int folded = chance(2);
    rfm_real *x_mean = take_reals(m->d), *x_scale = take_reals(m->d), *y_mean = take_reals(m->c),
             *y_scale = take_reals(m->c);
    rfm_real *x = take_reals(m->d), *scores = take_reals(m->c), *scratch;
    double *z = take(m->d * sizeof *z), *expected = take(m->c * sizeof *expected), all = 0;
    rfm_model opened;
    rfm_contents parts;
    size_t bytes = 0, i, j, k;
    void *blob;
    memset(&parts, 0, sizeof parts);
    m->exponent = (rfm_real)(float)m->exponent;
    parts.model = m;
    for (j = 0; j < m->d; j++) x_mean[j] = (rfm_real)uniform(-1, 1), x_scale[j] = (rfm_real)uniform(0.5, 2);
    for (k = 0; k < m->c; k++) y_mean[k] = (rfm_real)uniform(-1, 1), y_scale[k] = (rfm_real)uniform(0.5, 2);
    if (folded) parts.x_mean = x_mean, parts.x_scale = x_scale, parts.y_mean = y_mean, parts.y_scale = y_scale;
    if (rfm_model_size(&parts, &bytes) != RFM_OK) fail("rfm_model_size fails");
    blob = take(bytes);
    if (rfm_model_write(&parts, blob, bytes - 1) != RFM_EARENA) fail("rfm_model_write into one byte less");
    if (rfm_model_write(&parts, blob, bytes) != RFM_OK || rfm_model_open(blob, bytes, &opened) != RFM_OK) {
        fail("its blob cannot be written and opened");
        return;
    }
    scratch = take_reals(RFM_PREDICT_SCRATCH(opened.d, opened.r));
    for (i = 0; i < m->n * m->c; i++) all += fabs((double)m->alpha[i]);
    for (i = 0; i < 5; i++) {
        for (j = 0; j < m->d; j++) {
            x[j] = (rfm_real)uniform(-2, 2);
            z[j] = folded ? ((double)x[j] - (double)x_mean[j]) / (double)x_scale[j] : (double)x[j];
        }
        if (rfm_predict_one(&opened, x, scores, scratch, NULL, NULL) != RFM_OK) fail("rfm_predict_one fails");
        ref_model(m, z, expected);
        for (k = 0; k < m->c && folded; k++) expected[k] = (double)y_mean[k] + (double)y_scale[k] * expected[k];
        compare("prediction of the blob", rfm_cview(scores, 1, m->c), expected,
                100 * (double)(m->d + 16) * EPSILON * (2 * all + 1));
    }
}

static const char *const names[] = {"rank:", "centres:", "loss:", "integers:", "importance:", "blob:"};

void check_small(fitting *f, size_t number) {
    static void (*const checks[])(making *) = {check_rank,     check_centers,    check_loss,
                                               check_integers, check_importance, check_blob};
    making t;
    memset(&t, 0, sizeof t);
    t.f = f;
    checks[number % SMALL_FUNCTIONS](&t);
}

void small_case(size_t number) {
    const draw_limits limits = {1e6, 1};
    fitting f;
    note(" %s", names[number % SMALL_FUNCTIONS]);
    draw_fitting(&f, limits);
    if (fit_exactly(&f) != RFM_OK)
        fail("rfm_fit fails");
    else
        check_small(&f, number);
}
