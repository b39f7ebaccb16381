/* Kernels of patches, ConvRFM, banks of filters: against plain sums in double, and in integers. */
#include "banks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/plain_conv.h"
#include "reference.h"
#include "rfm_filters.h"

static rfm_mat draw_images(size_t rows, size_t pixels, int exponent) {
    rfm_mat a = draw_view(rows, pixels);
    const double most = (double)RFM_LIMIT(MAX);
    size_t i, j;
    for (i = 0; i < rows; i++)
        for (j = 0; j < pixels; j++) {
            const double value = ldexp(chance(12) ? 0 : uniform(-1, 1), exponent);
            a.at[i * a.stride + j] = (rfm_real)(fabs(value) > most ? copysign(most, value) : value);
        }
    return a;
}

static void draw_shape(rfm_conv *f, int exponent) {
    memset(f, 0, sizeof *f);
    do {
        f->channels = 1 + draw(3), f->height = chance(3) ? 1 : 1 + draw(9), f->width = 1 + draw(9);
        f->patch = 1 + draw(4), f->padded = chance(2), f->kernel = (int)draw(RFM_CONV_KERNELS);
        f->depth = f->kernel == RFM_CONV_LAPLACE || chance(2) ? 1 : 1 + (int)draw(RFM_CONV_DEPTH);
        f->bandwidth = (rfm_real)ldexp(uniform(0.5, 3), exponent);
    } while (rfm_conv_check(f) != RFM_OK ? !slack.statuses || !(f->bandwidth > 0)
                                         : rfm_conv_patch(f) > PATCH_MOST || rfm_conv_places(f) > 64);
    note(" C %lu H %lu W %lu q %lu padded %d kernel %d depth %d L %g", (unsigned long)f->channels,
         (unsigned long)f->height, (unsigned long)f->width, (unsigned long)f->patch, f->padded, f->kernel, f->depth,
         (double)f->bandwidth);
}

/* ---- kernels, gradients, the AGOP ----------------------------------------------------------- */

enum { KERNEL, SAME, GRADIENTS, AGOP };

typedef struct {
    rfm_conv f;
    int what;
    size_t n, v, c, d, places;
    rfm_cmat m, x, z, alpha;
    rfm_mat out;
    size_t channels, height, width; /* of a fit */
    rfm_data data;
    rfm_conv_options o;
    rfm_conv_model model;
    rfm_conv_report report;
    rfm_mat filters; /* of a bank */
    rfm_filters_options how;
    rfm_filters bank;
} kit;

static int kernel_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    kit *t = arg;
    (void)store;
    if (t->what == GRADIENTS) return rfm_conv_gradients_need(ctx, &t->f, t->n, t->v, t->c, scratch);
    if (t->what == AGOP) return rfm_conv_agop_need(ctx, &t->f, t->n, t->v, t->c, scratch);
    return rfm_conv_kernel_need(ctx, &t->f, t->n, t->what == SAME ? t->n : t->v, scratch);
}

static int kernel_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    kit *t = arg;
    (void)store;
    fill_nan(t->out);
    if (t->what == GRADIENTS) return rfm_conv_gradients(ctx, &t->f, t->m, t->x, t->alpha, t->z, t->out);
    if (t->what == AGOP) return rfm_conv_agop(ctx, &t->f, t->m, t->x, t->alpha, t->z, t->out);
    return rfm_conv_kernel(ctx, &t->f, t->m, t->x, t->what == SAME ? t->x : t->z, t->out);
}

static uint64_t kernel_hash(const void *arg) { return hash_view(1, rfm_const(((const kit *)arg)->out)); }

static const call kernel_call = {"rfm_conv_kernel", kernel_need, kernel_run, kernel_hash},
                  gradients_call = {"rfm_conv_gradients", kernel_need, kernel_run, kernel_hash},
                  agop_call = {"rfm_conv_agop", kernel_need, kernel_run, kernel_hash};

static void take_fields(const rfm_conv *f) {
    const size_t places = rfm_conv_places(f), d = rfm_conv_patch(f);
    size_t i;
    for (i = 0; i < 7; i++) fields[i] = take(places * (i < 2 ? d : 1) * sizeof(double));
}

/* M without gaps; NULL: the identity. */
static rfm_real *tight(rfm_cmat m) {
    rfm_real *to = m.at == NULL ? NULL : take_reals(m.rows * m.cols);
    size_t i;
    for (i = 0; to != NULL && i < m.rows; i++) memcpy(to + i * m.cols, m.at + i * m.stride, m.cols * sizeof *to);
    return to;
}

/* Patches a become P a, in double: M as a matrix of reals has lost the length of those that P hardly sees. */
static void project_patches(const rfm_conv_model *m, double *patches) {
    const size_t d = rfm_conv_patch(&m->f), places = rfm_conv_places(&m->f);
    double to[PATCH_MOST];
    size_t place, q, j;
    for (place = 0; m->p != NULL && place < places; place++, patches += d) {
        for (q = 0; q < d; q++)
            for (to[q] = 0, j = 0; q < m->r && j < d; j++) to[q] += (double)m->p[q * d + j] * patches[j];
        memcpy(patches, to, d * sizeof *to);
    }
}

/* K of two images, in M or in that of a model, and what it may be off. Above the first layer only cosines are known,
 * from which k0 has half of the digits. */
static double plain_of(const rfm_conv *f, const rfm_real *m, const rfm_conv_model *model, const rfm_real *x,
                       const rfm_real *z, double *bound) {
    const size_t d = rfm_conv_patch(f), places = rfm_conv_places(f);
    const double rounding = 64 * (double)(d + 16) * EPSILON;
    double value, size = 1;
    size_t r;
    set_patches(f, x, fields[0]);
    set_patches(f, z, fields[1]);
    if (model != NULL) project_patches(model, fields[0]), project_patches(model, fields[1]);
    value = plain_kernel(f, m, fields[0], fields[1]);
    if (f->kernel == RFM_CONV_LAPLACE)
        for (r = 0; r < places; r++) {
            const double *a = fields[0] + r * d, *b = fields[1] + r * d;
            size = fmax(size, 1 + sqrt(form(d, m, a, a) + form(d, m, b, b)) / (double)f->bandwidth);
        }
    else
        size = sqrt(plain_kernel(f, m, fields[0], fields[0])) * sqrt(plain_kernel(f, m, fields[1], fields[1]));
    *bound = size * (f->depth == 1 || f->kernel == RFM_CONV_NNGP ? rounding * f->depth : 4 * sqrt(EPSILON) + rounding);
    return value;
}

static void check_kernel(kit *t, const rfm_port *port) {
    const rfm_cmat z = t->what == SAME ? t->x : t->z;
    const rfm_real *m = tight(t->m);
    size_t i, j;
    int status;
    t->out = draw_view(t->n, z.rows);
    status = exact(&kernel_call, t, port);
    if (status != RFM_OK) {
        refused("rfm_conv_kernel", status);
        return;
    }
    for (i = 0; i < t->n; i++)
        for (j = 0; j < z.rows; j++) {
            double bound, plain = plain_of(&t->f, m, NULL, t->x.at + i * t->x.stride, z.at + j * z.stride, &bound);
            compare("K", rfm_cview(t->out.at + i * t->out.stride + j, 1, 1), &plain, bound);
        }
}

/* f_k at patches of z. */
static double plain_sum(const kit *t, const rfm_real *m, size_t k, const double *z) {
    double sum = 0;
    size_t i;
    for (i = 0; i < t->n; i++) {
        set_patches(&t->f, t->x.at + i * t->x.stride, fields[0]);
        sum += (double)t->alpha.at[i * t->alpha.stride + k] * plain_kernel(&t->f, m, fields[0], z);
    }
    return sum;
}

/* Some entries against differences; and the AGOP against the gradients. */
static void check_gradients(kit *t, const rfm_port *port) {
    const size_t wide = t->c * t->places * t->d;
    const rfm_real *m = tight(t->m);
    double *z = take(t->places * t->d * sizeof *z), *sum = take(t->d * t->d * sizeof *sum), *g, most;
    rfm_mat gradients = draw_view(t->v, wide);
    size_t turn, i, j, p;
    int status;
    t->what = GRADIENTS, t->out = gradients;
    status = exact(&gradients_call, t, port);
    if (status != RFM_OK) {
        refused("rfm_conv_gradients", status);
        return;
    }
    g = ref_doubles(rfm_const(gradients)), most = ref_largest(t->v * wide, g);
    for (turn = 0; turn < 4 && !slack.statuses; turn++) {
        const size_t row = draw(t->v), at = draw(wide), k = at / (t->places * t->d), e = at % (t->places * t->d);
        const double got = g[row * wide + at], step = 1e-5, bound = 2e-3 * most + 1e-6;
        double was, here, up, down;
        set_patches(&t->f, t->z.at + row * t->z.stride, z);
        was = z[e];
        if (form(t->d, m, z + e / t->d * t->d, z + e / t->d * t->d) < 1e-3) continue; /* a kink */
        here = plain_sum(t, m, k, z);
        z[e] = was + step, up = (plain_sum(t, m, k, z) - here) / step;
        z[e] = was - step, down = (here - plain_sum(t, m, k, z)) / step;
        /* Patches of one direction are a kink, too: there the gradient lies between the slopes of both sides. */
        if (!(got >= fmin(up, down) - bound && got <= fmax(up, down) + bound))
            fail("gradient is %g at %lu, %lu, by differences %g and %g", got, (unsigned long)row, (unsigned long)at,
                 down, up);
    }
    memset(sum, 0, t->d * t->d * sizeof *sum);
    for (i = 0; i < t->v * wide; i += t->d)
        for (j = 0; j < t->d; j++)
            for (p = 0; p < t->d; p++) sum[j * t->d + p] += g[i + j] * g[i + p] / (double)t->v;
    t->what = AGOP, t->out = draw_view(t->d, t->d);
    status = exact(&agop_call, t, port);
    if (status != RFM_OK)
        refused("rfm_conv_agop", status);
    else
        compare("patch AGOP", rfm_const(t->out), sum, 2e3 * EPSILON * ref_largest(t->d * t->d, sum));
    free(g);
}

static rfm_cmat draw_metric(size_t d, int exponent) {
    rfm_mat m = draw_view(d, d);
    double *root = take(3 * d * sizeof *root);
    size_t i, j, q;
    for (i = 0; i < 3 * d; i++) root[i] = uniform(-1, 1);
    for (i = 0; i < d; i++)
        for (j = 0; j < d; j++) {
            double sum = i == j ? 0.5 : 0;
            for (q = 0; q < 3; q++) sum += root[q * d + i] * root[q * d + j];
            m.at[i * m.stride + j] = (rfm_real)ldexp(sum, exponent);
        }
    return rfm_const(m);
}

/* ---- ConvRFM -------------------------------------------------------------------------------- */

static int fit_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    kit *t = arg;
    return rfm_conv_fit_need(ctx, t->channels, t->height, t->width, &t->data, &t->o, scratch, store);
}

static int fit_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    kit *t = arg;
    return rfm_conv_fit(ctx, t->channels, t->height, t->width, &t->data, &t->o, store, &t->model, &t->report);
}

static uint64_t fit_hash(const void *arg) {
    const rfm_conv_model *m = &((const kit *)arg)->model;
    uint64_t hash = m->r;
    if (m->n == 0) return 0; /* it failed */
    if (m->p != NULL) hash = hash_bytes(hash, m->p, m->r * rfm_conv_patch(&m->f) * sizeof *m->p);
    hash = hash_bytes(hash, m->images, m->n * rfm_conv_pixels(&m->f) * sizeof *m->images);
    return hash_bytes(hash, m->alpha, m->n * m->c * sizeof *m->alpha);
}

static int predict_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    kit *t = arg;
    (void)store;
    return rfm_conv_predict_need(ctx, &t->model, t->z.rows, scratch);
}

static int predict_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    kit *t = arg;
    (void)store;
    fill_nan(t->out);
    return rfm_conv_predict(ctx, &t->model, t->z, t->out);
}

/* Many rows and one row agree, with the formula and with the model's blob. */
static void check_model(kit *t, const rfm_port *port) {
    static const call predict = {"rfm_conv_predict", predict_need, predict_run, kernel_hash};
    const rfm_conv_model *m = &t->model;
    const size_t c = m->c, d = rfm_conv_patch(&m->f), places = rfm_conv_places(&m->f);
    rfm_real *scores = take_reals(c), *again = take_reals(c), *scratch = take_reals(rfm_conv_scratch(m));
    rfm_mat full = draw_view(d, d);
    rfm_conv_model opened;
    size_t bytes = 0, i, k, j, r;
    void *blob;
    int status, plain = m->layers == 0 && d <= PATCH_MOST;
    if (rfm_conv_metric(m, full) != RFM_OK) {
        if (!slack.statuses) fail("rfm_conv_metric fails");
        return;
    }
    t->out = draw_view(t->z.rows, c);
    status = exact(&predict, t, port);
    if (status != RFM_OK) {
        refused("rfm_conv_predict", status);
        return;
    }
    if (rfm_conv_size(m, 0, &bytes) != RFM_OK) fail("rfm_conv_size");
    blob = take(bytes);
    status = rfm_conv_write(m, NULL, 0, blob, bytes);
    if (status != RFM_OK || rfm_conv_open(blob, bytes, &opened) != RFM_OK) {
        refused("its blob cannot be written and opened", status);
        return;
    }
    for (i = 0; i < t->z.rows; i++) {
        const rfm_real *z = t->z.at + i * t->z.stride;
        status = rfm_conv_predict_one(m, z, scores, scratch);
        if (status != RFM_OK) {
            refused("rfm_conv_predict_one", status);
            continue;
        }
        if (rfm_conv_predict_one(&opened, z, again, scratch) != RFM_OK || memcmp(scores, again, c * sizeof *scores))
            fail("the blob's model has other scores");
        for (k = 0; k < c; k++) {
            double sum = m->offset != NULL ? (double)m->offset[k] : 0, size = fabs(sum), one = (double)scores[k], bound;
            for (j = 0; j < m->n; j++) {
                const double alpha = (double)m->alpha[j * c + k];
                if (!plain) { /* new images are as long as the model's, whose K with themselves is known */
                    double most = m->f.kernel == RFM_CONV_LAPLACE ? 1 : 0;
                    for (r = 0; m->f.kernel != RFM_CONV_LAPLACE && r < places; r++)
                        most = fmax(most, (double)m->norms[j * places + r]);
                    size += fabs(alpha) * 2 * (m->f.depth + 1) * most;
                    continue;
                }
                sum += alpha * plain_of(&m->f, NULL, m, m->images + j * rfm_conv_pixels(&m->f), z, &bound);
                size += fabs(alpha) * (bound + slack.least); /* K may count as 0 */
            }
            if (plain && isnan(sum))
                not_compared("a patch of no length");
            else if (plain)
                compare("prediction", rfm_cview(t->out.at + i * t->out.stride + k, 1, 1), &sum, size);
            compare("rfm_conv_predict", rfm_cview(t->out.at + i * t->out.stride + k, 1, 1), &one,
                    plain ? 2 * size : 8 * sqrt(EPSILON) * size);
        }
    }
}

static void check_fit(kit *t, const rfm_port *port, int y) {
    static const call fit = {"rfm_conv_fit", fit_need, fit_run, fit_hash};
    rfm_mat targets = draw_images(t->n, t->c, y), others = draw_images(t->v, t->c, y);
    size_t i, k;
    int status;
    t->channels = t->f.channels, t->height = t->f.height, t->width = t->f.width;
    t->data.x = t->x, t->data.y = rfm_const(targets);
    rfm_conv_options_init(&t->o);
    t->o.patch = t->f.patch, t->o.padded = t->f.padded, t->o.kernel = t->f.kernel, t->o.depth = t->f.depth;
    t->o.bandwidth = t->f.bandwidth, t->o.rounds = draw(3), t->o.ridges = 1 + draw(3), t->o.power = chance(4);
    t->o.ridge[0] = (rfm_real)1e-2, t->o.ridge[1] = (rfm_real)0.1, t->o.ridge[2] = 1;
    t->o.scale = !chance(4), t->o.agop_points = chance(2) ? 0 : 1 + draw(t->n), t->o.seed = (uint32_t)draw(100);
    t->o.task = (int)draw(2), t->o.score = (int)draw(2);
    if (t->f.depth > 1 && chance(2)) t->o.layers = 1, t->o.filters = 1 + draw(5), t->o.best = chance(2);
    t->o.select = chance(2) ? RFM_SELECT_LAST : RFM_SELECT_VALIDATION;
    if (t->o.select == RFM_SELECT_VALIDATION || chance(3))
        t->data.x_validation = t->z, t->data.y_validation = rfm_const(others);
    if (t->data.x_validation.at == NULL) t->o.best = 0; /* layers are chosen by these rows */
    if (t->m.at != NULL && chance(2)) t->data.start = t->m;
    note(" rounds %lu ridges %lu power %d scale %d points %lu layers %lu select %d", (unsigned long)t->o.rounds,
         (unsigned long)t->o.ridges, t->o.power, t->o.scale, (unsigned long)t->o.agop_points,
         (unsigned long)t->o.layers, t->o.select);
    t->report.path = take((t->o.layers + 1) * (t->o.rounds + 1) * sizeof *t->report.path);
    status = exact(&fit, t, port);
    if (status == RFM_ESHAPE && t->o.layers > 0) return; /* the feature images have no room for the layers behind */
    /* Without a scale M has the size of squared gradients, or of their fourth power: out of the number range soon. */
    if (status == RFM_ERANGE && !t->o.scale && t->o.rounds > 0) return;
    if (status != RFM_OK) {
        refused("rfm_conv_fit", status);
        return;
    }
    for (i = 0; i < (t->report.layers + 1) * (t->o.rounds + 1); i++) {
        const rfm_conv_step *s = &t->report.path[i];
        if (!rfm_finite(1, &s->score) || !rfm_finite(1, &s->ridge) || !(s->largest > 0)) fail("a step is not finite");
    }
    for (k = 0; k < t->model.n * t->model.c; k++)
        if (!rfm_finite(1, &t->model.alpha[k])) fail("alpha is not finite");
    check_model(t, port);
}

void conv_case(size_t number) {
    const rfm_port *port;
    const int x = draw_scale("x"), y = draw_scale("y");
    kit t;
    memset(&t, 0, sizeof t);
    draw_shape(&t.f, x);
    if (rfm_conv_check(&t.f) != RFM_OK) return; /* L out of range */
    t.n = 1 + draw(chance(8) ? 40 : 10), t.v = 1 + draw(8), t.c = 1 + draw(4);
    t.d = rfm_conv_patch(&t.f), t.places = rfm_conv_places(&t.f);
    take_fields(&t.f);
    t.x = rfm_const(draw_images(t.n, rfm_conv_pixels(&t.f), x));
    t.z = rfm_const(draw_images(t.v, rfm_conv_pixels(&t.f), x));
    t.alpha = rfm_const(draw_images(t.n, t.c, y));
    if (chance(2)) t.m = draw_metric(t.d, 0);
    note(" n %lu v %lu c %lu%s", (unsigned long)t.n, (unsigned long)t.v, (unsigned long)t.c, t.m.at ? " M" : "");
    port = draw_port();
    if (number % 3 == 0)
        t.what = chance(3) ? SAME : KERNEL, check_kernel(&t, port);
    else if (number % 3 == 1)
        check_gradients(&t, port);
    else
        check_fit(&t, port, y);
}

/* ---- banks of filters ----------------------------------------------------------------------- */

static int learn_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    kit *t = arg;
    (void)store;
    return rfm_filters_learn_need(ctx, t->channels, t->width, &t->data, &t->o, t->filters.rows, scratch);
}

static int learn_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    kit *t = arg;
    (void)store;
    fill_nan(t->filters);
    return rfm_filters_learn(ctx, t->channels, t->width, &t->data, &t->o, t->filters);
}

static uint64_t learn_hash(const void *arg) { return hash_view(1, rfm_const(((const kit *)arg)->filters)); }

static int make_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    kit *t = arg;
    (void)ctx;
    return rfm_filters_make_need(t->channels, rfm_const(t->filters), &t->how, t->data.x, scratch, store);
}

static int make_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    kit *t = arg;
    return rfm_filters_make(ctx, t->channels, rfm_const(t->filters), &t->how, t->data.x, store, &t->bank);
}

static uint64_t make_hash(const void *arg) {
    const rfm_filters *b = &((const kit *)arg)->bank;
    if (b->filters == 0) return 0; /* it failed */
    return hash_bytes(hash_bytes(b->span, b->bias, b->filters * sizeof *b->bias), b->bank,
                      b->filters * b->channels * b->taps);
}

static int features_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    (void)ctx, (void)store;
    return rfm_filters_features_need(&((kit *)arg)->bank, scratch);
}

static int features_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    kit *t = arg;
    (void)store;
    fill_nan(t->out);
    return rfm_filters_features(ctx, &t->bank, t->data.x, t->out);
}

/* The features of one window, by the formulas at the head of rfm_filters.h. */
static void plain_features(const rfm_filters *f, const int16_t *x, double *out) {
    const size_t places = f->samples - f->taps + 1;
    size_t k, s, at, c, j;
    double whole = 1;
    while (whole < f->span) whole *= 2;
    for (k = 0; k < f->filters; k++)
        for (s = 0; s < f->segments; s++) {
            double most = 0, sum = 0, energy = 0;
            for (at = s * f->span; at < places && at < (s + 1) * f->span; at++) {
                double v = f->bias[k], h;
                for (c = 0; c < f->channels; c++)
                    for (j = 0; j < f->taps; j++)
                        v += (double)f->bank[(k * f->channels + c) * f->taps + j] * x[c * f->samples + at + j];
                v = floor(v / pow(2, f->shifts[k]));
                h = fmin(f->rectify == RFM_RECTIFY_ABS ? fabs(v) : fmax(v, 0), 32767);
                most = fmax(most, h), sum += h, energy += floor(h * h / 32768);
            }
            if (f->pools & RFM_POOL_MAX) *out++ = most;
            if (f->pools & RFM_POOL_MEAN) *out++ = floor(sum / whole);
            if (f->pools & RFM_POOL_ENERGY) *out++ = floor(energy / whole);
        }
}

static void check_bank(kit *t, const rfm_port *port) {
    static const call features = {"rfm_filters_features", features_need, features_run, kernel_hash};
    const rfm_filters *b = &t->bank;
    const size_t count = rfm_filters_count(b);
    int16_t *xi = take(b->channels * b->samples * sizeof *xi), *pooled = take(count * sizeof *pooled);
    double *expected = take(count * sizeof *expected);
    size_t i, j;
    int status;
    t->out = draw_view(t->n, count);
    status = exact(&features, t, port);
    if (status != RFM_OK) {
        refused("rfm_filters_features", status);
        return;
    }
    for (i = 0; i < t->n + 3; i++) {
        if (i < t->n && rfm_filters_integers(b, t->data.x.at + i * t->data.x.stride, xi) != RFM_OK)
            fail("rfm_filters_integers fails");
        for (j = 0; i >= t->n && j < b->channels * b->samples; j++) /* anything goes in */
            xi[j] = (int16_t)((long)draw(65536) - 32768);
        if (rfm_filters_pool(b, xi, pooled) != RFM_OK) fail("rfm_filters_pool fails");
        plain_features(b, xi, expected);
        for (j = 0; j < count; j++) {
            if (fabs(pooled[j] - expected[j]) > 0)
                fail("feature %lu is %d, expected %g", (unsigned long)j, pooled[j], expected[j]);
            if (i < t->n && fabs((double)t->out.at[i * t->out.stride + j] - expected[j]) > 0)
                fail("rfm_filters_features has another feature %lu", (unsigned long)j);
        }
    }
}

void filters_case(size_t number) {
    static const call learn = {"rfm_filters_learn", learn_need, learn_run, learn_hash},
                      make = {"rfm_filters_make", make_need, make_run, make_hash};
    const int x = draw_scale("x");
    int8_t *exponents;
    const rfm_port *port;
    size_t taps, k, i;
    kit t;
    int status = RFM_OK;
    memset(&t, 0, sizeof t);
    t.channels = 1 + draw(3), t.width = 1 + draw(40), taps = 1 + draw(t.width < 6 ? t.width : 6), t.n = 1 + draw(12);
    t.filters = draw_view(1 + draw(t.channels * taps), t.channels * taps);
    t.data.x = rfm_const(draw_images(t.n, t.channels * t.width, x));
    t.data.y = rfm_const(draw_images(t.n, 1 + draw(3), 0));
    exponents = take(t.channels);
    rfm_filters_options_init(&t.how);
    t.how.segments = 1 + draw(t.width - taps + 1), t.how.pools = 1 + (uint32_t)draw(7), t.how.rectify = (int)draw(2);
    t.how.exponents = exponents;
    note(" C %lu W %lu taps %lu filters %lu n %lu segments %lu pools %lu rectify %d", (unsigned long)t.channels,
         (unsigned long)t.width, (unsigned long)taps, (unsigned long)t.filters.rows, (unsigned long)t.n,
         (unsigned long)t.how.segments, (unsigned long)t.how.pools, t.how.rectify);
    port = draw_port();
    if (number % 2 == 0) {
        rfm_conv_options_init(&t.o);
        t.o.patch = taps, t.o.kernel = (int)draw(2), t.o.bandwidth = (rfm_real)ldexp(3, x), t.o.rounds = 1 + draw(2);
        t.o.ridges = 1, t.o.ridge[0] = (rfm_real)0.1;
        status = exact(&learn, &t, port);
    } else
        fill(t.filters, -1, 1);
    for (k = 0; status == RFM_OK && k < t.filters.rows; k++)
        for (i = 0; i < t.filters.cols; i++)
            if (!(fabs((double)t.filters.at[k * t.filters.stride + i]) <= 1 + 100 * EPSILON))
                fail("a filter is longer than 1");
    if (status == RFM_OK) status = rfm_filters_exponents(t.channels, t.data.x, exponents);
    if (status == RFM_OK) status = exact(&make, &t, port);
    if (status != RFM_OK)
        refused("rfm_filters_learn or _make", status);
    else
        check_bank(&t, port);
}
