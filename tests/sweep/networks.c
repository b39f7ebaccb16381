/* HyperBF networks against a plain reference in double; tiny models of them; certificates. */
#include "networks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rfm_certify.h"
#include "rfm_hyperbf.h"
#include "rfm_tiny.h"

static rfm_real scaled(double x, int exponent) {
    const double most = (double)RFM_LIMIT(MAX), y = ldexp(x, exponent);
    return (rfm_real)(y > most ? most : y < -most ? -most : y);
}

static void fill_scaled(size_t count, rfm_real *to, double most, int exponent) {
    size_t i;
    for (i = 0; i < count; i++) to[i] = scaled(uniform(-most, most), exponent);
}

/* ---- a network and its rows ----------------------------------------------------------------- */

typedef struct {
    rfm_hyperbf f;
    rfm_hyperbf_cost cost;
    rfm_hyperbf_gradient gradient;
    rfm_hyperbf_start_options start;
    rfm_hyperbf_options how;
    rfm_hyperbf_report report;
    rfm_hyperbf moved; /* descend: f on arrays of its own */
    rfm_data data;
    rfm_real loss;
    const rfm_port *port;
} net;

/* Targets of either kind: for the cross-entropy shares of classes, or between -1 and 1. */
static void draw_data(net *t, size_t rows, size_t d, size_t c, int x, int y) {
    rfm_mat xs = draw_view(rows, d), ys = draw_view(rows, c);
    const int shares = t->cost.kind == RFM_HYPERBF_ENTROPY;
    size_t i, k;
    for (i = 0; i < rows; i++) {
        double *row = take(d * sizeof *row);
        for (k = 0; k < d; k++) row[k] = uniform(-1, 1), xs.at[i * xs.stride + k] = scaled(row[k], x);
        for (k = 0; k < c; k++)
            ys.at[i * ys.stride + k] = shares && c > 1 ? (rfm_real)((double)(i % c == k) * 0.8 + 0.2 / (double)c)
                                       : shares        ? (rfm_real)uniform(-1, 1)
                                                       : scaled(sin(3 * row[0] + (double)k) + uniform(-0.1, 0.1), y);
    }
    t->data.x = rfm_const(xs), t->data.y = rfm_const(ys);
    if (chance(3)) {
        rfm_real *w = take_reals(rows);
        for (i = 0; i < rows; i++) w[i] = (rfm_real)(chance(5) ? 0 : uniform(0.2, 2));
        w[draw(rows)] = 1;
        t->data.weights = w;
    }
}

/* u_a = W (t_a - shift), in double. */
static void place_centers(rfm_hyperbf *f) {
    size_t a, q, j;
    for (a = 0; f->inputs != NULL && a < f->n; a++)
        for (q = 0; q < f->r; q++) {
            double sum = 0;
            for (j = 0; j < f->d; j++)
                sum += (double)f->p[q * f->d + j] * ((double)f->inputs[a * f->d + j] - (double)f->shift[j]);
            f->centers[a * f->r + q] = (rfm_real)sum;
        }
}

static void draw_net(net *t, size_t n, size_t d, size_t c, size_t r, int x, int y) {
    rfm_hyperbf *f = &t->f;
    const int z = draw_scale("W x"), alpha = t->cost.kind == RFM_HYPERBF_ENTROPY ? 0 : y;
    size_t a, k;
    f->n = n, f->d = d, f->c = c, f->r = r;
    f->kernel = (int)draw(3), f->exponent = (rfm_real)uniform(0.7, 1.8), f->bandwidth = scaled(uniform(0.5, 2), z);
    f->shift = take_reals(d), f->p = take_reals(r * d), f->centers = take_reals(n * r), f->alpha = take_reals(n * c);
    fill_scaled(d, f->shift, 0.5, x);
    fill_scaled(r * d, f->p, sqrt(3 / (double)d), z - x);
    fill_scaled(n * r, f->centers, 1, z);
    fill_scaled(n * c, f->alpha, 1, alpha);
    if (chance(2)) f->offset = take_reals(c), fill_scaled(c, f->offset, 1, alpha);
    if (chance(3)) f->inputs = take_reals(n * d), fill_scaled(n * d, f->inputs, 1, x), place_centers(f);
    if (c > 1 && chance(4)) {
        f->labels = take(n * sizeof *f->labels);
        for (a = 0; a < n; a++)
            for (f->labels[a] = (uint32_t)draw(c), k = 0; k < c; k++)
                if (k != f->labels[a]) f->alpha[a * c + k] = 0;
    }
    note(" n %lu d %lu c %lu r %lu kernel %d q %.3g L %g%s%s%s", (unsigned long)n, (unsigned long)d, (unsigned long)c,
         (unsigned long)r, f->kernel, (double)f->exponent, (double)f->bandwidth, f->offset != NULL ? " offset" : "",
         f->inputs != NULL ? " inputs" : "", f->labels != NULL ? " labels" : "");
}

/* ---- loss and gradient ---------------------------------------------------------------------- */

enum { LOSS, ALPHA, CENTERS, INPUTS, P, OFFSET, WIDTH, RESULTS };

typedef struct {
    double *at[RESULTS];
    size_t count[RESULTS];
} results;

static double *noisy_copy(size_t count, const rfm_real *from, double noise) {
    double *to = take((count + 1) * sizeof *to), most = 0;
    size_t i;
    for (i = 0; i < count; i++) to[i] = (double)from[i], most = fmax(most, fabs(to[i]));
    for (i = 0; i < count; i++) to[i] += noise * most * uniform(-1, 1);
    return to;
}

/* The loss of a row and its derivative by f, in place. */
static double row_loss(const rfm_hyperbf_cost *cost, size_t c, const double *y, double *f) {
    const double temperature = (double)cost->temperature;
    double loss = 0, sum = 0, total = 0, most = -INFINITY;
    size_t k;
    if (cost->kind == RFM_HYPERBF_SQUARED) {
        for (k = 0; k < c; k++) loss += (f[k] - y[k]) * (f[k] - y[k]), f[k] = 2 * (f[k] - y[k]);
        return loss;
    }
    if (c == 1) { /* two classes with scores 0 and f, shares (1 - y) / 2 and (1 + y) / 2 */
        const double share = (1 + y[0]) / 2, t = f[0] / temperature;
        f[0] = (1 / (1 + exp(-t)) - share) / temperature;
        return (t > 0 ? t + log1p(exp(-t)) : log1p(exp(t))) - share * t;
    }
    for (k = 0; k < c; k++) most = fmax(most, f[k]), total += y[k];
    for (k = 0; k < c; k++) sum += exp((f[k] - most) / temperature);
    for (k = 0; k < c; k++) {
        const double log_share = (f[k] - most) / temperature - log(sum);
        loss -= y[k] * log_share;
        f[k] = (total * exp(log_share) - y[k]) / temperature;
    }
    return loss;
}

/* H and all of its derivatives, one pair after the other. */
static void reference_of(const net *t, double noise, results *out) {
    const rfm_hyperbf *f = &t->f;
    const size_t n = f->n, d = f->d, c = f->c, r = f->r;
    const double *p = noisy_copy(r * d, f->p, noise), *alpha = noisy_copy(n * c, f->alpha, noise),
                 *inputs = f->inputs != NULL ? noisy_copy(n * d, f->inputs, noise) : NULL,
                 *offset = f->offset != NULL ? noisy_copy(c, f->offset, noise) : NULL;
    double *centers = noisy_copy(n * r, f->centers, noise), *x = ref_doubles(t->data.x), *y = ref_doubles(t->data.y),
           *z = take(r * sizeof *z), *e = take(c * sizeof *e), *phi = take(n * sizeof *phi), *w = take(n * sizeof *w),
           *s2 = take(n * sizeof *s2), most = ref_largest(t->data.x.rows * d, x);
    const size_t counts[RESULTS] = {1, n * c, n * r, f->inputs != NULL ? n * d : 0, r * d, f->offset != NULL ? c : 0,
                                    1};
    size_t i, a, q, j, k;
    for (k = 0; k < RESULTS; k++) {
        out->count[k] = counts[k], out->at[k] = take((counts[k] + 1) * sizeof *out->at[k]);
        memset(out->at[k], 0, counts[k] * sizeof *out->at[k]);
    }
    for (a = 0; inputs != NULL && a < n; a++)
        for (q = 0; q < r; q++)
            for (centers[a * r + q] = 0, j = 0; j < d; j++)
                centers[a * r + q] += p[q * d + j] * (inputs[a * d + j] - (double)f->shift[j]);
    for (i = 0; i < t->data.x.rows; i++) {
        const double weight = t->data.weights != NULL ? (double)t->data.weights[i] : 1;
        double *row = x + i * d;
        for (j = 0; j < d; j++) row[j] += noise * most * uniform(-1, 1);
        for (q = 0; q < r; q++)
            for (z[q] = 0, j = 0; j < d; j++) z[q] += p[q * d + j] * (row[j] - (double)f->shift[j]);
        for (k = 0; k < c; k++) e[k] = offset != NULL ? offset[k] : 0;
        for (a = 0; a < n; a++) {
            for (s2[a] = 0, q = 0; q < r; q++) s2[a] += (z[q] - centers[a * r + q]) * (z[q] - centers[a * r + q]);
            phi[a] = ref_phi(f->kernel, (double)f->bandwidth, (double)f->exponent, s2[a], &w[a]);
            phi[a] *= 1 + noise * uniform(-1, 1), w[a] *= 1 + noise * uniform(-1, 1);
            for (k = 0; k < c; k++) e[k] += alpha[a * c + k] * phi[a];
        }
        out->at[LOSS][0] += weight * row_loss(&t->cost, c, y + i * c, e);
        for (k = 0; k < c; k++) {
            e[k] *= weight;
            if (offset != NULL) out->at[OFFSET][k] += e[k];
        }
        for (a = 0; a < n; a++) {
            double pull = 0;
            for (k = 0; k < c; k++) out->at[ALPHA][a * c + k] += phi[a] * e[k], pull += e[k] * alpha[a * c + k];
            pull *= w[a];
            out->at[WIDTH][0] += pull * s2[a];
            for (q = 0; q < r; q++) {
                const double by = pull * (z[q] - centers[a * r + q]); /* -d phi / d z */
                out->at[CENTERS][a * r + q] += by;
                for (j = 0; j < d; j++) {
                    const double from = inputs != NULL ? inputs[a * d + j] : (double)f->shift[j];
                    out->at[P][q * d + j] -= by * (row[j] - from);
                    if (inputs != NULL) out->at[INPUTS][a * d + j] += by * p[q * d + j];
                }
            }
        }
    }
    for (a = 0; a < n; a++)
        for (k = 0; k < c; k++) {
            const double value = alpha[a * c + k];
            out->at[LOSS][0] += (double)t->cost.ridge * value * value;
            out->at[ALPHA][a * c + k] += 2 * (double)t->cost.ridge * value;
            if (f->labels != NULL && f->labels[a] != k) out->at[ALPHA][a * c + k] = 0;
        }
    free(x), free(y);
}

static int loss_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    net *t = arg;
    (void)store;
    return rfm_hyperbf_loss_need(ctx, &t->f, t->data.x.rows, scratch);
}

static int loss_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    net *t = arg;
    (void)store;
    return rfm_hyperbf_loss(ctx, &t->f, &t->data, &t->cost, &t->loss, &t->gradient);
}

static uint64_t loss_hash(const void *arg) {
    const net *t = arg;
    const rfm_hyperbf *f = &t->f;
    uint64_t hash = hash_bytes(hash_bytes(1, &t->loss, sizeof t->loss), &t->gradient.bandwidth, sizeof t->loss);
    hash = hash_bytes(hash, t->gradient.alpha, f->n * f->c * sizeof(rfm_real));
    hash = hash_bytes(hash, t->gradient.centers, f->n * f->r * sizeof(rfm_real));
    return hash_bytes(hash, t->gradient.p, f->r * f->d * sizeof(rfm_real));
}

static void check_loss(net *t) {
    static const call loss = {"rfm_hyperbf_loss", loss_need, loss_run, loss_hash};
    static const char *const names[RESULTS] = {"loss",    "dH / dalpha",  "dH / dcenters", "dH / dinputs",
                                               "dH / dW", "dH / doffset", "dH / dlog L"};
    const rfm_hyperbf *f = &t->f;
    const rfm_real *got[RESULTS];
    results plain, noisy;
    size_t k;
    int status;
    t->gradient.alpha = take_reals(f->n * f->c), t->gradient.centers = take_reals(f->n * f->r);
    t->gradient.inputs = f->inputs != NULL ? take_reals(f->n * f->d) : NULL;
    t->gradient.offset = f->offset != NULL ? take_reals(f->c) : NULL, t->gradient.p = take_reals(f->r * f->d);
    status = exact(&loss, t, t->port);
    if (status != RFM_OK) {
        refused("rfm_hyperbf_loss", status);
        return;
    }
    got[LOSS] = &t->loss, got[ALPHA] = t->gradient.alpha, got[CENTERS] = t->gradient.centers,
    got[INPUTS] = t->gradient.inputs, got[P] = t->gradient.p, got[OFFSET] = t->gradient.offset,
    got[WIDTH] = &t->gradient.bandwidth;
    reference_of(t, 0, &plain);
    reference_of(t, NOISE, &noisy);
    for (k = 0; k < RESULTS; k++) {
        const size_t count = plain.count[k];
        double bound = ref_bound(count, plain.at[k], noisy.at[k], NOISE);
        if (count == 0) continue;
        if (bound >= 0) /* one number may happen to change little: terms that cancel count as well */
            bound +=
                (count == 1 ? 1e3 : 100) * EPSILON * (double)(t->data.x.rows + f->n) * ref_largest(count, plain.at[k]);
        compare(names[k], rfm_cview(got[k], 1, count), plain.at[k], bound);
    }
}

/* ---- start, descent ------------------------------------------------------------------------- */

static int start_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    net *t = arg;
    return rfm_hyperbf_start_need(ctx, &t->data, &t->start, scratch, store);
}

static int start_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    net *t = arg;
    return rfm_hyperbf_start(ctx, &t->data, &t->start, store, &t->f);
}

static uint64_t hash_net(const rfm_hyperbf *f) {
    uint64_t hash = hash_bytes(f->n, &f->bandwidth, sizeof f->bandwidth);
    if (f->n == 0) return 0; /* it failed */
    hash = hash_bytes(hash, f->alpha, f->n * f->c * sizeof *f->alpha);
    hash = hash_bytes(hash, f->centers, f->n * f->r * sizeof *f->centers);
    return hash_bytes(hash, f->p, f->r * f->d * sizeof *f->p);
}

static uint64_t start_hash(const void *arg) { return hash_net(&((const net *)arg)->f); }

static int finite_net(const rfm_hyperbf *f) {
    return rfm_finite(f->n * f->c, f->alpha) && rfm_finite(f->n * f->r, f->centers) && rfm_finite(f->r * f->d, f->p) &&
           rfm_finite(1, &f->bandwidth) && (f->offset == NULL || rfm_finite(f->c, f->offset)) &&
           (f->inputs == NULL || rfm_finite(f->n * f->d, f->inputs));
}

/* H of the reference without a ridge; or that of zeros. */
static double plain_loss(const net *t, int zeros, double noise) {
    net other = *t;
    results all;
    other.cost.ridge = 0;
    if (zeros) {
        other.f.alpha = take_reals(t->f.n * t->f.c), other.f.offset = NULL;
        memset(other.f.alpha, 0, t->f.n * t->f.c * sizeof *other.f.alpha);
    }
    reference_of(&other, noise, &all);
    return all.at[LOSS][0];
}

static void *copy_of(const void *from, size_t bytes) { return from == NULL ? NULL : memcpy(take(bytes), from, bytes); }

static int descend_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    net *t = arg;
    (void)store;
    return rfm_hyperbf_descend_need(ctx, &t->data, &t->how, &t->f, scratch);
}

static int descend_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    net *t = arg;
    rfm_hyperbf *f = &t->moved;
    (void)store;
    *f = t->f;
    f->alpha = copy_of(f->alpha, f->n * f->c * sizeof *f->alpha);
    f->centers = copy_of(f->centers, f->n * f->r * sizeof *f->centers);
    f->inputs = copy_of(f->inputs, f->n * f->d * sizeof *f->inputs);
    f->p = copy_of(f->p, f->r * f->d * sizeof *f->p);
    f->offset = copy_of(f->offset, f->c * sizeof *f->offset);
    return rfm_hyperbf_descend(ctx, &t->data, &t->how, f, &t->report);
}

static uint64_t descend_hash(const void *arg) { return hash_net(&((const net *)arg)->moved); }

/* H / rows as a report has it. *rounding becomes at least what noise in the numbers changes, and what that of the
 * scores adds where a row is met exactly. */
static double mean_loss(const net *t, double *rounding) {
    const rfm_hyperbf *f = &t->f;
    const size_t rows = t->data.x.rows;
    double loss = plain_loss(t, 0, 0), noisy = plain_loss(t, 0, NOISE), weight = 0, size = 0, off;
    size_t i;
    for (i = 0; i < rows; i++) weight += (t->data.weights != NULL ? (double)t->data.weights[i] : 1) / (double)rows;
    loss /= weight * (double)rows, noisy /= weight * (double)rows;
    *rounding = fmax(*rounding, 32 * fabs(noisy - loss));
    for (i = 0; i < f->n * f->c; i++) {
        const double alpha = (double)f->alpha[i];
        loss += (double)t->cost.ridge * alpha * alpha / (double)rows, size += fabs(alpha);
    }
    for (i = 0; f->offset != NULL && i < f->c; i++) size += fabs((double)f->offset[i]);
    off = 1e2 * EPSILON * size, *rounding = fmax(*rounding, off * (off + 2 * sqrt(loss)));
    return loss;
}

/* Never worse than its start; the report's losses are those of the networks. */
static void check_descent(net *t) {
    static const call descend = {"rfm_hyperbf_descend", descend_need, descend_run, descend_hash};
    const size_t rows = t->data.x.rows;
    double before, after, rounding = 0;
    int status;
    rfm_hyperbf_options_init(&t->how);
    t->how.cost = t->cost, t->how.method = (int)draw(3), t->how.steps = 1 + draw(12);
    t->how.batch = chance(2) ? 0 : 1 + draw(rows), t->how.solve = chance(2) ? 0 : 1 + draw(4);
    t->how.look = 1 + draw(5), t->how.rate = (rfm_real)(t->how.method == RFM_HYPERBF_ADAM ? 0.02 : 1e-4);
    t->how.bandwidth_rate = (rfm_real)draw(2), t->how.mixed = (rfm_real)(chance(2) ? 0 : 0.3);
    t->how.noisy = (rfm_real)(chance(2) ? 0 : 0.3), t->how.seed = (uint32_t)draw(100);
    if (t->cost.kind == RFM_HYPERBF_ENTROPY) t->how.solve = 0;
    note(" method %d steps %lu batch %lu solve %lu", t->how.method, (unsigned long)t->how.steps,
         (unsigned long)t->how.batch, (unsigned long)t->how.solve);
    status = exact(&descend, t, t->port);
    if (status == RFM_ECONVERGE) return; /* rates may be too large, above all for a start that meets every row */
    if (status != RFM_OK) {
        refused("rfm_hyperbf_descend", status);
        return;
    }
    if (!finite_net(&t->moved) || !(t->report.best <= t->report.start)) fail("a descent goes up, or is not finite");
    before = mean_loss(t, &rounding), t->f = t->moved, after = mean_loss(t, &rounding);
    compare("loss at the start", rfm_cview(&t->report.start, 1, 1), &before, 1e4 * EPSILON * before + rounding);
    compare("loss at the end", rfm_cview(&t->report.best, 1, 1), &after, 1e4 * EPSILON * before + rounding);
}

static void check_start(net *t, size_t rows, size_t d, size_t c) {
    static const call start = {"rfm_hyperbf_start", start_need, start_run, start_hash};
    double zeros, fitted;
    int status;
    rfm_hyperbf_start_init(&t->start);
    t->start.choice = (int)draw(2), t->start.centers = 1 + draw(rows < 20 ? rows : 20), t->start.rank = 1 + draw(d);
    if (t->start.choice == RFM_HYPERBF_CLASSES && t->start.centers < (c == 1 ? 2 : c))
        t->start.choice = RFM_HYPERBF_KMEANS;
    t->start.prototypes = t->start.choice == RFM_HYPERBF_CLASSES && chance(3), t->start.inputs = chance(3);
    t->start.offset = !chance(3), t->start.kernel = (int)draw(3), t->start.exponent = (rfm_real)uniform(0.7, 1.8);
    t->start.ridge = (rfm_real)pow(10, uniform(-4, -1)), t->start.seed = (uint32_t)draw(100);
    note(" start choice %d centres %lu rank %lu prototypes %d", t->start.choice, (unsigned long)t->start.centers,
         (unsigned long)t->start.rank, t->start.prototypes);
    status = exact(&start, t, t->port);
    if (status == RFM_EVALUE) return; /* fewer different rows than centres, or one class only */
    if (status != RFM_OK) {
        refused("rfm_hyperbf_start", status);
        return;
    }
    if (!finite_net(&t->f)) fail("rfm_hyperbf_start is not finite");
    t->cost.kind = RFM_HYPERBF_SQUARED, t->cost.ridge = 0;
    zeros = plain_loss(t, 1, 0), fitted = plain_loss(t, 0, 0);
    if (!slack.no_values && !(fitted <= zeros * (1 + 1e3 * sqrt(EPSILON)) + slack.least))
        fail("alpha of the start has a loss of %g, zeros have %g", fitted, zeros);
    check_descent(t);
}

void hyperbf_case(size_t number) {
    const size_t rows = chance(4) ? 250 + draw(20) : draw_size(100), d = draw_size(40), c = 1 + draw(5),
                 n = 1 + draw(20), r = 1 + draw(d);
    net t;
    int x, y;
    memset(&t, 0, sizeof t);
    rfm_hyperbf_cost_init(&t.cost);
    note(" rows %lu", (unsigned long)rows);
    x = draw_scale("x"), y = draw_scale("y");
    if (number % 2 == 0) {
        t.cost.kind = (int)draw(2), t.cost.ridge = (rfm_real)(chance(2) ? 0 : 0.1);
        t.cost.temperature = (rfm_real)uniform(0.5, 2);
        note(" kind %d ridge %g", t.cost.kind, (double)t.cost.ridge);
        draw_data(&t, rows, d, c, x, y);
        draw_net(&t, n, d, c, r, x, y);
        t.port = draw_port();
        check_loss(&t);
    } else {
        draw_data(&t, rows, d, c, x, y);
        note(" d %lu c %lu", (unsigned long)d, (unsigned long)c);
        t.port = draw_port();
        check_start(&t, rows, d, c);
    }
}

/* ---- tiny models ---------------------------------------------------------------------------- */

/* z by the formula of rfm_tiny.h. */
static void tiny_place(const rfm_tiny *m, const int16_t *x, double *z) {
    size_t q, j;
    for (q = 0; q < m->r; q++) {
        double sum = 0;
        for (j = 0; j < m->d; j++) sum += (double)m->p[q * m->d + j] * x[j];
        z[q] = fmin(fmax(floor(sum / pow(2, m->shifts[q])) + m->bias[q], -128), 127);
    }
}

static double tiny_distance(size_t r, const double *a, const double *b) {
    double sum = 0;
    size_t q;
    for (q = 0; q < r; q++) sum += (a[q] - b[q]) * (a[q] - b[q]);
    return sum;
}

/* The scores, phi being right to 0.35 % and a unit. */
static void tiny_scores(const rfm_tiny *m, const int16_t *x, double *scores, double *room) {
    double *z = take(m->r * sizeof *z), *u = take(m->r * sizeof *u);
    size_t a, q, k, label = 0, of_label = 0;
    tiny_place(m, x, z);
    for (k = 0; k < m->c; k++) scores[k] = m->offset != NULL ? (double)RFM_TINY_OFFSET * m->offset[k] : 0, room[k] = 1;
    for (a = 0; a < m->n; a++) {
        double phi;
        for (q = 0; q < m->r; q++) u[q] = m->centers[a * m->r + q];
        phi = RFM_TINY_ONE * pow(2, -tiny_distance(m->r, z, u) / pow(2, m->phi_shift));
        while (m->counts != NULL && of_label == m->counts[label]) label++, of_label = 0;
        for (k = 0; k < m->c; k++) {
            const double alpha = m->counts == NULL ? m->alpha[a * m->c + k] : k == label ? m->alpha[a] : 0;
            scores[k] += alpha * phi, room[k] += fabs(alpha) * (0.0036 * phi + 2);
        }
        of_label++;
    }
}

/* Moves within the certificate of x. */
static void check_tiny_certificate(const rfm_tiny *m, const int16_t *x) {
    int32_t *scores = take(m->c * sizeof *scores), *others = take(m->c * sizeof *others);
    int8_t *scratch = take(m->r);
    int64_t *room = take(RFM_TINY_CERTIFY_ROOM(m->r, m->c) * sizeof *room);
    uint16_t *counts = take(m->d * sizeof *counts);
    int16_t *moved = take(m->d * sizeof *moved);
    double *z = take(m->r * sizeof *z), *to = take(m->r * sizeof *to);
    uint32_t square = 0;
    size_t label = 0, turn, j;
    if (rfm_tiny_certify(m, x, scores, scratch, room, &label, &square, counts) != RFM_OK) {
        fail("rfm_tiny_certify fails");
        return;
    }
    tiny_place(m, x, z);
    for (turn = 0; turn < 20; turn++) {
        const int alone = turn % 2 == 0;
        memcpy(moved, x, m->d * sizeof *moved);
        for (j = draw(m->d); j < m->d; j++) {
            const long by = alone ? (chance(2) ? -1 : 1) * (long)counts[j] : (long)draw(9) - 4, at = x[j] + by;
            moved[j] = (int16_t)(at < -32768 ? -32768 : at > 32767 ? 32767 : at);
            if (alone) break;
        }
        tiny_place(m, moved, to);
        if (!alone && tiny_distance(m->r, z, to) > square) continue;
        if (rfm_tiny_predict(m, moved, others, scratch, NULL) != RFM_OK || rfm_tiny_class(m, others) != label)
            fail("a move within the certificate changes class %lu", (unsigned long)label);
    }
}

static int make_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    (void)ctx, (void)scratch;
    return rfm_tiny_make_need(&((net *)arg)->f, store);
}

static rfm_tiny_inputs tiny_inputs;
static rfm_tiny tiny_made;

static int make_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    (void)ctx;
    return rfm_tiny_make(&((net *)arg)->f, &tiny_inputs, store, &tiny_made);
}

static uint64_t make_hash(const void *arg) {
    (void)arg;
    if (tiny_made.n == 0) return 0;
    return hash_bytes(hash_bytes(tiny_made.n, tiny_made.p, tiny_made.r * tiny_made.d), tiny_made.centers,
                      tiny_made.n * tiny_made.r);
}

void tiny_case(size_t number) {
    static const call make = {"rfm_tiny_make", make_need, make_run, make_hash};
    const size_t rows = 1 + draw(40), d = draw_size(40), c = 1 + draw(5), n = 1 + draw(20), r = 1 + draw(d);
    const int x = draw_scale("x"), y = draw_scale("y");
    int8_t *exponents = take(d);
    int16_t *xi = take(d * sizeof *xi);
    int32_t *scores = take(c * sizeof *scores);
    double *expected = take(c * sizeof *expected), *room = take(c * sizeof *room);
    rfm_tiny opened;
    size_t bytes = 0, i, j, k;
    net t;
    void *blob;
    int status;
    (void)number;
    memset(&t, 0, sizeof t);
    memset(&tiny_made, 0, sizeof tiny_made);
    memset(&tiny_inputs, 0, sizeof tiny_inputs);
    draw_data(&t, rows, d, c, x, y);
    draw_net(&t, n, d, c, r, x, y);
    t.f.kernel = RFM_GAUSSIAN;
    tiny_inputs.task = t.f.labels == NULL && chance(2) ? RFM_REGRESS : RFM_CLASSIFY;
    tiny_inputs.exponents = exponents;
    status = rfm_tiny_exponents(t.data.x, chance(2), exponents);
    if (status == RFM_OK) status = exact(&make, &t, draw_port());
    if (status != RFM_OK) {
        refused("rfm_tiny_make", status);
        return;
    }
    if (rfm_tiny_size(&tiny_made, 0, &bytes) != RFM_OK) fail("rfm_tiny_size");
    blob = take(bytes);
    if (rfm_tiny_write(&tiny_made, NULL, 0, blob, bytes - 1) != RFM_EARENA) fail("rfm_tiny_write into one byte less");
    if (rfm_tiny_write(&tiny_made, NULL, 0, blob, bytes) != RFM_OK || rfm_tiny_open(blob, bytes, &opened) != RFM_OK) {
        fail("its blob cannot be written and opened");
        return;
    }
    for (i = 0; i < rows + 4; i++) {
        int8_t *scratch = take(r);
        if (i < rows && rfm_tiny_integers(&opened, t.data.x.at + i * t.data.x.stride, xi) != RFM_OK)
            fail("rfm_tiny_integers fails");
        for (j = 0; i >= rows && j < d; j++) xi[j] = (int16_t)((long)draw(65536) - 32768); /* anything goes in */
        if (rfm_tiny_predict(&opened, xi, scores, scratch, NULL) != RFM_OK) fail("rfm_tiny_predict fails");
        tiny_scores(&opened, xi, expected, room);
        for (k = 0; k < c; k++)
            if (!(fabs(scores[k] - expected[k]) <= room[k]))
                fail("rfm_tiny_predict: score %ld, expected %.1f within %.1f", (long)scores[k], expected[k], room[k]);
        if (opened.task == RFM_CLASSIFY && i % 4 == 0) check_tiny_certificate(&opened, xi);
    }
}

/* ---- certificates --------------------------------------------------------------------------- */

static double length_of(const rfm_model *m, const double *delta, int absolute) {
    double sum = 0;
    size_t q, j;
    for (q = 0; q < m->r; q++) {
        double z = 0;
        for (j = 0; j < m->d; j++) {
            const double p = m->metric == RFM_FULL       ? (double)m->p[q * m->d + j]
                             : j != q                    ? 0
                             : m->metric == RFM_DIAGONAL ? (double)m->p[j]
                                                         : 1;
            z += absolute ? fabs(p * delta[j]) : p * delta[j];
        }
        sum += z * z;
    }
    return sqrt(sum);
}

static size_t class_at(const rfm_model *m, const rfm_real *x) {
    rfm_real *scores = take_reals(m->c), *scratch = take_reals(RFM_PREDICT_SCRATCH(m->d, m->r));
    if (rfm_predict_one(m, x, scores, scratch, NULL, NULL) != RFM_OK) return m->c + 1;
    return rfm_class(m, scores, NULL);
}

void check_certificate(fitting *f) {
    rfm_model m = f->model;
    const size_t row = draw(f->data.x.rows);
    const rfm_real *x = f->data.x.at + row * f->data.x.stride;
    rfm_real *scores = take_reals(m.c), *scratch = take_reals(RFM_CERTIFY_SCRATCH(m.d, m.r, m.c)), radius = 0,
             *moves = take_reals(m.d), *moved = take_reals(m.d);
    double *delta = take(m.d * sizeof *delta), *from = take(m.d * sizeof *from), reach;
    size_t label = 0, turn, j;
    int status;
    m.task = RFM_CLASSIFY;
    status = rfm_certify(&m, x, scores, scratch, &label, &radius, moves);
    if (m.kernel > RFM_GAUSSIAN || m.radius > 0) {
        if (status != RFM_EVALUE) fail("rfm_certify of another kernel: status %d", status);
        return;
    }
    if (status != RFM_OK) {
        refused("rfm_certify", status);
        return;
    }
    if (!rfm_finite(1, &radius) || radius < 0 || !rfm_finite(m.d, moves)) fail("radius %g", (double)radius);
    if (label != class_at(&m, x)) fail("rfm_certify has another class");
    for (j = 0; j < m.d; j++) from[j] = (double)x[j] - (double)m.shift[j];
    reach = length_of(&m, from, 1) + 16 * (double)radius;
    for (turn = 0; turn < 12 && radius > 0; turn++) {
        double length, share = 1 - pow(10, uniform(-7, 0));
        for (j = 0; j < m.d; j++) delta[j] = uniform(-1, 1);
        length = length_of(&m, delta, 0);
        if (!(length > 0)) break;
        for (j = 0; j < m.d; j++) {
            const double to = (double)x[j] + delta[j] / length * (double)radius * share;
            if (!(fabs(to) < (double)RFM_LIMIT(MAX))) break;
            moved[j] = (rfm_real)to, delta[j] = (double)moved[j] - (double)x[j];
        }
        if (j < m.d || !(length_of(&m, delta, 0) <= (double)radius) || length_of(&m, delta, 1) > reach) continue;
        if (slack.statuses && class_at(&m, moved) > m.c) continue; /* x' - shift may be beyond the number range */
        if (class_at(&m, moved) != label) fail("a move of %g within %g changes the class", share, (double)radius);
    }
    for (turn = 0; turn < 6; turn++) {
        const double by = (chance(2) ? -1 : 1) * (double)moves[j = draw(m.d)] * (turn < 2 ? 1 : uniform(0, 1)),
                     to = (double)x[j] + by;
        memcpy(moved, x, m.d * sizeof *moved);
        memset(delta, 0, m.d * sizeof *delta);
        if (!(fabs(to) < (double)RFM_LIMIT(MAX))) continue;
        moved[j] = (rfm_real)to, delta[j] = (double)moved[j] - (double)x[j];
        if (fabs(delta[j]) > (double)moves[j] || length_of(&m, delta, 1) > reach) continue;
        if (slack.statuses && class_at(&m, moved) > m.c) continue; /* the same */
        if (class_at(&m, moved) != label) fail("input %lu moved by %g changes the class", (unsigned long)j, delta[j]);
    }
}

void certify_case(size_t number) {
    const draw_limits limits = {1e5, number % 2 == 0};
    fitting f;
    draw_fitting(&f, limits);
    if (fit_exactly(&f) != RFM_OK)
        fail("rfm_fit fails");
    else
        check_certificate(&f);
}
