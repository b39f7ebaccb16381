/* rfm_fit, and what is done with a model: rfm_predict, rfm_predict_one, rfm_gradients, rfm_alignment, rfm_metric,
 * against the reference. */
#include "fits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- drawing a problem ---------------------------------------------------------------------- */

static double work_of(const fitting *f) {
    const double n = (double)f->data.x.rows, d = (double)f->data.x.cols, c = (double)f->data.y.cols,
                 T = (double)f->o.iterations;
    return (T + 1) * n * n * (n + d) + T * (n * n * c * d + n * c * d * d + d * d * d);
}

static void copy_row(rfm_mat a, size_t to, size_t from) {
    memcpy(a.at + to * a.stride, a.at + from * a.stride, a.cols * sizeof *a.at);
}

/* Features of size about 1; sometimes one is constant, or all lie far from the origin, or rows coincide. */
static rfm_mat draw_rows(size_t rows, size_t d, const draw_limits *limits, int *equal) {
    rfm_mat x = draw_view(rows, d);
    const double offset = chance(6) ? 10 : 0;
    size_t i, j;
    fill(x, offset - 1, offset + 1);
    if (chance(8))
        for (j = draw(d), i = 0; i < rows; i++) x.at[i * x.stride + j] = 1;
    if (*equal < 0) *equal = !limits->plain && rows > 1 && chance(6);
    for (i = 0; *equal && i < 1 + rows / 4; i++) copy_row(x, draw(rows), draw(rows));
    return x;
}

/* Smooth functions of the first features and some noise; or one class per row. */
static rfm_mat draw_targets(rfm_mat x, size_t c, int classes) {
    rfm_mat y = draw_view(x.rows, c);
    size_t i, k;
    for (i = 0; i < x.rows; i++) {
        const double a = (double)x.at[i * x.stride], b = (double)x.at[i * x.stride + (x.cols - 1) / 2];
        const size_t label = (size_t)(fabs(2 * a + b) * 1.5) % (c + (c == 1));
        for (k = 0; k < c; k++)
            y.at[i * y.stride + k] = (rfm_real)(!classes ? sin(2 * a + (double)k) + b * b + uniform(-0.1, 0.1)
                                                : c == 1 ? 2 * (double)label - 1
                                                         : label == k);
    }
    return y;
}

/* Full: positive definite, of low rank, diagonal, zero. Diagonal: with zeros, or all zero. */
static rfm_cmat draw_start(const fitting *f, const draw_limits *limits) {
    const size_t d = f->data.x.cols;
    const int diagonal = f->o.metric == RFM_DIAGONAL;
    const size_t kind = draw(limits->plain ? 2 : 5), rank = kind == 1 ? 1 + draw(d) : kind < 3 ? d : 0;
    rfm_mat m = draw_view(diagonal ? 1 : d, d);
    double *root = take(d * d * sizeof *root);
    size_t i, j, q;
    note(" start %lu", (unsigned long)kind);
    for (i = 0; i < d * d; i++)
        root[i] = kind == 2 ? (i / d == i % d) * uniform(0.5, 1) : uniform(-1, 1) / sqrt((double)d);
    for (i = 0; i < m.rows; i++)
        for (j = 0; j < d; j++) {
            double sum = !diagonal && i == j && kind == 0 ? 0.1 : 0;
            for (q = 0; q < rank; q++) sum += root[q * d + (diagonal ? j : i)] * root[q * d + j];
            m.at[i * m.stride + j] = (rfm_real)(kind == 3 && (diagonal || i == j) ? (j % 2 == 0) : sum);
        }
    return rfm_const(m);
}

void draw_fitting(fitting *f, draw_limits limits) {
    static const char *const metrics[] = {"identity", "diagonal", "full"};
    rfm_options *o = &f->o;
    size_t n, d, c, i;
    int equal = -1, classes;
    memset(f, 0, sizeof *f);
    rfm_options_init(o);
    o->iterations = draw(4);
    o->metric = chance(8) ? RFM_IDENTITY : chance(4) ? RFM_DIAGONAL : RFM_FULL;
    o->kernel = (int)draw(limits.plain || chance(2) ? 3 : RFM_KERNELS);
    o->unit_rows = !limits.plain && chance(4);
    if (rfm_kernels[o->kernel].axes && o->metric == RFM_FULL) o->metric = RFM_DIAGONAL;
    do {
        n = draw_size(2000), d = draw_size(600), c = chance(2) ? 1 : 1 + draw(12);
        f->data.x = rfm_cview(NULL, n, d), f->data.y = rfm_cview(NULL, n, c);
    } while (work_of(f) > limits.work);
    note(" n %lu d %lu c %lu T %lu %s", (unsigned long)n, (unsigned long)d, (unsigned long)c,
         (unsigned long)o->iterations, metrics[o->metric]);
    o->exponent = (rfm_real)(rfm_kernels[o->kernel].layers ? 1 + (double)draw(chance(4) ? 8 : 3)
                             : o->kernel == RFM_L1         ? uniform(0.5, 1)
                                                           : uniform(0.7, 1.8));
    o->ridge_rule = (int)draw(2);
    o->scale = (int)draw(3);
    o->center = chance(3);
    o->bandwidth_rule = (int)draw(2);
    o->bandwidth = (rfm_real)(uniform(0.7, 2) * (o->bandwidth_rule != RFM_BANDWIDTH_FIXED       ? 1
                                                 : (o->kernel == RFM_L1) == (o->unit_rows != 0) ? sqrt((double)d)
                                                 : o->unit_rows                                 ? 1
                                                                                                : (double)d));
    o->ridge = (rfm_real)(!limits.plain && chance(6) && n <= 100 ? 0 : pow(10, uniform(-3, 0)));
    o->agop_points = chance(2) ? 0 : chance(4) ? n : chance(3) ? 1 : 1 + draw(n);
    if (o->center && o->agop_points == 1 && !chance(8)) o->agop_points = 0; /* one gradient is its own mean */
    o->seed = (uint32_t)draw(1000);
    o->select = (int)draw(3);
    o->score = chance(4) ? RFM_SCORE_ACCURACY : RFM_SCORE_SQUARED;
    if (o->select == RFM_SELECT_LOO && !(o->ridge > 0)) o->select = RFM_SELECT_LAST;
    note(" %s%s q %.3g L %.3g rule %d ridge %.3g rule %d scale %d center %d points %lu select %d score %d",
         o->unit_rows ? "unit rows " : "", rfm_kernels[o->kernel].name, (double)o->exponent, (double)o->bandwidth,
         o->bandwidth_rule, (double)o->ridge, o->ridge_rule, o->scale, o->center, (unsigned long)o->agop_points,
         o->select, o->score);
    classes = o->score == RFM_SCORE_ACCURACY;
    {
        rfm_mat x = draw_rows(n, d, &limits, &equal), y = draw_targets(x, c, classes);
        f->data.x = rfm_const(x), f->data.y = rfm_const(y);
        for (i = 0; equal && n > 1 && i < 1 + n / 8; i++) { /* some of these with one target, most with two */
            const size_t to = draw(n), from = draw(n);
            copy_row(x, to, from);
            if (chance(2)) copy_row(y, to, from);
        }
    }
    if (o->select == RFM_SELECT_VALIDATION || chance(4)) {
        int none = 0;
        rfm_mat x = draw_rows(1 + draw(chance(8) ? 600 : 20), d, &limits, &none), y = draw_targets(x, c, classes);
        f->data.x_validation = rfm_const(x), f->data.y_validation = rfm_const(y);
        note(" validation %lu", (unsigned long)x.rows);
    }
    if (chance(3)) {
        rfm_real *w = take_reals(n);
        for (i = 0; i < n; i++)
            w[i] = (rfm_real)(!limits.plain && chance(5) ? 0 : chance(2) ? 1 + (double)draw(2) : uniform(0.2, 2));
        w[draw(n)] = 1;
        f->data.weights = w;
        note(" weighted");
    }
    if (o->metric != RFM_IDENTITY && chance(2)) f->data.start = draw_start(f, &limits);
    if (equal) note(" equal rows");
    f->port = draw_port();
}

/* ---- the fit -------------------------------------------------------------------------------- */

static int fit_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    fitting *f = arg;
    return rfm_fit_need(ctx, &f->data, &f->o, scratch, store);
}

static int fit_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    fitting *f = arg;
    memset(f->path, 0, sizeof f->path);
    f->report.path = f->path;
    return rfm_fit(ctx, &f->data, &f->o, store, &f->model, &f->report);
}

static uint64_t hash_model(const rfm_model *m) {
    uint64_t hash = hash_bytes(m->r, m->shift, m->d * sizeof *m->shift);
    if (m->metric != RFM_IDENTITY)
        hash = hash_bytes(hash, m->p, (m->metric == RFM_FULL ? m->r : 1) * m->d * sizeof *m->p);
    hash = hash_bytes(hash, m->centers, m->n * m->r * sizeof *m->centers);
    return hash_bytes(hash, m->alpha, m->n * m->c * sizeof *m->alpha);
}

static uint64_t fit_hash(const void *arg) {
    const fitting *f = arg;
    if (f->model.n == 0) return 0; /* it failed */
    return hash_bytes(hash_model(&f->model), f->path, sizeof f->path) + f->report.best;
}

int fit_exactly(fitting *f) {
    static const call fit = {"rfm_fit", fit_need, fit_run, fit_hash};
    return exact(&fit, f, f->port);
}

/* ---- a model in use ------------------------------------------------------------------------- */

typedef struct {
    const rfm_model *model;
    rfm_mat z, y, out;
    rfm_real value;
} using;

static int predict_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    using *u = arg;
    (void)store;
    return rfm_predict_need(ctx, u->model, u->z.rows, scratch);
}

static int predict_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    using *u = arg;
    (void)store;
    fill_nan(u->out);
    return rfm_predict(ctx, u->model, rfm_const(u->z), u->out);
}

static int gradients_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    using *u = arg;
    (void)store;
    return rfm_gradients_need(ctx, u->model, scratch);
}

static int gradients_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    using *u = arg;
    (void)store;
    fill_nan(u->out);
    return rfm_gradients(ctx, u->model, rfm_const(u->z), u->out);
}

static uint64_t out_hash(const void *arg) { return hash_view(0, rfm_const(((const using *)arg)->out)); }

static int alignment_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    using *u = arg;
    (void)store;
    return rfm_alignment_need(ctx, u->model, u->z.rows, scratch);
}

static int alignment_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    using *u = arg;
    (void)store;
    return rfm_alignment(ctx, u->model, rfm_const(u->z), rfm_const(u->y), &u->value);
}

static uint64_t value_hash(const void *arg) { return hash_bytes(0, &((const using *)arg)->value, sizeof(rfm_real)); }

/* Rows to predict: some between two training rows, some of the training rows, where s = 0. */
static rfm_mat draw_points(const rfm_data *data, size_t m) {
    rfm_mat z = draw_view(m, data->x.cols);
    size_t i, j;
    for (i = 0; i < m; i++) {
        const rfm_real *a = data->x.at + draw(data->x.rows) * data->x.stride,
                       *b = data->x.at + draw(data->x.rows) * data->x.stride;
        const int new = !chance(3);
        for (j = 0; j < z.cols; j++) {
            const double share = new ? uniform(0, 1) : 0;
            z.at[i * z.stride + j] = (rfm_real)((1 - share) * (double)a[j] + share * (double)b[j]);
        }
    }
    return z;
}

/* The reference without and with noise. The model is step t. */
typedef struct {
    ref_fit plain, noisy;
    size_t t;
} expectation;

/* What one of ref_predict, ref_gradients says of Z, `width` numbers for each row, and the bound. With `apart` a
 * training row in Z gets rounding of its own: its distance from itself need not be 0. */
typedef void (*ref_function)(const ref_fit *f, size_t t, size_t m, const double *z, double *out);
static double *expect(const expectation *e, ref_function function, rfm_mat z, size_t width, int apart, double *bound) {
    double *plain_z = ref_doubles(rfm_const(z)),
           *noisy_z = apart ? ref_doubles(rfm_const(z)) : ref_rows(&e->noisy, rfm_const(z));
    double *plain = take(z.rows * width * sizeof *plain), *noisy = take(z.rows * width * sizeof *noisy);
    function(&e->plain, e->t, z.rows, plain_z, plain);
    function(&e->noisy, e->t, z.rows, noisy_z, noisy);
    *bound = ref_bound(z.rows * width, plain, noisy, NOISE);
    if (ref_vague(&e->noisy, e->t, z.rows, plain_z)) *bound = -1;
    if (ref_near(&e->plain, e->t, z.rows, plain_z, NOISE)) *bound = -1;
    if (ref_largest(z.rows * width, plain) <
        slack.least * (1 + ref_largest(e->plain.n * e->plain.c, e->plain.step[e->t].alpha)))
        *bound = -1; /* phi may count as 0 */
    free(plain_z), free(noisy_z);
    return plain;
}

static void check_predictions(const fitting *f, const expectation *e) {
    static const call predict = {"rfm_predict", predict_need, predict_run, out_hash};
    const size_t d = f->model.d, c = f->model.c, m = chance(8) ? 500 + draw(30) : 1 + draw(20);
    rfm_real *scratch = take_reals(RFM_PREDICT_SCRATCH(d, f->model.r)), *scores = take_reals(c), novelty;
    using u;
    double *plain, bound;
    rfm_mat few;
    size_t i;
    int status;
    memset(&u, 0, sizeof u);
    u.model = &f->model, u.z = draw_points(&f->data, m), u.out = draw_view(m, c);
    plain = expect(e, ref_predict, u.z, c, 0, &bound);
    status = exact(&predict, &u, f->port);
    if (status != RFM_OK)
        refused("rfm_predict", status);
    else
        compare("prediction", rfm_const(u.out), plain, bound);
    few = u.z, few.rows = m < 5 ? m : 5;
    plain = expect(e, ref_predict, few, c, 1, &bound);
    for (i = 0; i < few.rows; i++) {
        status = rfm_predict_one(&f->model, u.z.at + i * u.z.stride, scores, scratch, NULL, &novelty);
        if (status != RFM_OK)
            refused("rfm_predict_one", status);
        else
            compare("rfm_predict_one", rfm_cview(scores, 1, c), plain + i * c, bound);
        if (status == RFM_OK && !(novelty >= (rfm_kernels[f->model.kernel].layers ? -1 : 0) && novelty <= 1))
            fail("novelty %g", (double)novelty); /* of a network kernel the largest cosine */
    }
}

static void check_gradients(const fitting *f, const expectation *e) {
    static const call gradients = {"rfm_gradients", gradients_need, gradients_run, out_hash};
    const size_t d = f->model.d, c = f->model.c, m = 1 + draw(5);
    using u;
    double *plain, bound;
    int status;
    memset(&u, 0, sizeof u);
    u.model = &f->model, u.z = draw_points(&f->data, m), u.out = draw_view(m, c * d);
    plain = expect(e, ref_gradients, u.z, c * d, 0, &bound);
    status = exact(&gradients, &u, f->port);
    if (status != RFM_OK)
        refused("rfm_gradients", status);
    else
        compare("gradient", rfm_const(u.out), plain, bound);
}

static void check_alignment(const fitting *f, const expectation *e) {
    static const call alignment = {"rfm_alignment", alignment_need, alignment_run, value_hash};
    const size_t m = chance(16) ? 500 + draw(30) : 1 + draw(40);
    using u;
    double *plain_z, *noisy_z, *y, plain, noisy;
    size_t i;
    int status, vague;
    memset(&u, 0, sizeof u);
    u.model = &f->model, u.z = draw_points(&f->data, m), u.y = draw_view(m, f->model.c);
    for (i = 0; i < m; i++)
        memcpy(u.y.at + i * u.y.stride, f->data.y.at + draw(f->data.y.rows) * f->data.y.stride,
               f->model.c * sizeof *u.y.at);
    plain_z = ref_rows(&e->plain, rfm_const(u.z)), noisy_z = ref_rows(&e->noisy, rfm_const(u.z)),
    y = ref_doubles(rfm_const(u.y));
    vague = ref_vague(&e->noisy, e->t, m, plain_z);
    plain = ref_alignment(&e->plain, e->t, m, plain_z, y), noisy = ref_alignment(&e->noisy, e->t, m, noisy_z, y);
    status = exact(&alignment, &u, f->port);
    if (status != RFM_OK)
        refused("rfm_alignment", status);
    else if (ref_largest(m * f->model.c, y) < slack.least || vague)
        not_compared("alignment"); /* Y may count as 0 */
    else
        compare("alignment", rfm_cview(&u.value, 1, 1), &plain,
                32 * fabs(plain - noisy) + 64 * NOISE * sqrt((double)m));
    free(plain_z), free(noisy_z), free(y);
}

static void check_metric(const fitting *f, const expectation *e) {
    const size_t d = f->model.d;
    rfm_mat full = draw_view(d, d), row = draw_view(1, d);
    const double *plain = e->plain.step[e->t].metric,
                 bound = ref_bound(d * d, plain, e->noisy.step[e->t].metric, NOISE);
    double *diagonal = take(d * sizeof *diagonal);
    size_t j;
    int status;
    for (j = 0; j < d; j++) diagonal[j] = plain[j * (d + 1)];
    status = rfm_metric(&f->model, full);
    if (status != RFM_OK)
        refused("rfm_metric", status);
    else
        compare("M", rfm_const(full), plain, bound);
    status = rfm_metric(&f->model, row);
    if (status != RFM_OK)
        refused("rfm_metric", status);
    else
        compare("diagonal of M", rfm_const(row), diagonal, bound);
}

/* ---- the report ----------------------------------------------------------------------------- */

static int better(const fitting *f, rfm_real a, rfm_real b) { return f->o.score == RFM_SCORE_SQUARED ? a < b : a > b; }

/* The ridge may only have grown where rounding makes K + ridge indefinite. */
static int ridge_grew(const fitting *f, const ref_fit *plain) {
    const size_t steps = plain->steps;
    double most = 1;
    size_t t, i;
    for (i = 0; f->data.weights != NULL && i < f->data.x.rows; i++) most = fmax(most, (double)f->data.weights[i]);
    for (t = 0; t <= steps; t++) {
        const double unit = f->o.ridge_rule == RFM_RIDGE_FIXED ? plain->step[t].largest : 1;
        if (!(f->path[t].ridge > f->o.ridge) && !(f->path[t].ridge < f->o.ridge)) continue;
        if (slack.statuses) return 1;
        if (f->path[t].ridge < f->o.ridge || (double)f->o.ridge > 16 * (double)f->data.x.rows * EPSILON * most * unit)
            fail("ridge %g at t = %lu", (double)f->path[t].ridge, (unsigned long)t);
        return 1;
    }
    return 0;
}

/* A single number may happen to change little by noise: what M and alpha change counts as well. */
static double number_bound(const expectation *e, size_t t, double plain, double noisy) {
    const ref_step *a = &e->plain.step[t], *b = &e->noisy.step[t];
    const size_t m = e->plain.d * e->plain.d, n = e->plain.n * e->plain.c;
    const double metric = ref_bound(m, a->metric, b->metric, NOISE), alpha = ref_bound(n, a->alpha, b->alpha, NOISE);
    double bound = ref_bound(1, &plain, &noisy, NOISE);
    if (bound < 0 || metric < 0 || alpha < 0) return -1;
    if (metric > 0) bound += fabs(plain) * metric / ref_largest(m, a->metric);
    if (alpha > 0) bound += fabs(plain) * alpha / ref_largest(n, a->alpha);
    return bound;
}

static void check_path(const fitting *f, const expectation *e) {
    const size_t steps = e->plain.steps;
    const int scored = f->o.select == RFM_SELECT_LOO || f->data.x_validation.at != NULL;
    size_t t, best = steps;
    for (t = 0; t <= steps; t++) {
        const rfm_step *s = &f->path[t];
        const ref_step *a = &e->plain.step[t], *b = &e->noisy.step[t];
        /* a share of rows jumps when one of them changes sides */
        const double score = f->o.score == RFM_SCORE_ACCURACY ? 1 : number_bound(e, t, a->score, b->score);
        compare("bandwidth", rfm_cview(&s->bandwidth, 1, 1), &a->bandwidth,
                number_bound(e, t, a->bandwidth, b->bandwidth));
        if (scored)
            compare("score", rfm_cview(&s->score, 1, 1), &a->score, score);
        else if (s->score > 0 || s->score < 0)
            fail("score %g, not asked for", (double)s->score);
        if (s->rank > f->model.d || (t > 0 && s->rank > f->path[t - 1].rank))
            fail("rank %lu at t = %lu", (unsigned long)s->rank, (unsigned long)t);
        if (f->o.select != RFM_SELECT_LAST && (t == 0 || better(f, s->score, f->path[best].score))) best = t;
    }
    if (f->report.best != best && f->report.best <= steps && slack.least > 0 &&
        fabs((double)f->path[f->report.best].score - (double)f->path[best].score) <= slack.least)
        return; /* scores that count as 0 */
    if (f->report.best != best)
        fail("best is %lu, by its own scores it would be %lu", (unsigned long)f->report.best, (unsigned long)best);
}

/* ---- parts ---------------------------------------------------------------------------------- */

/* How much noise changes M and alpha, as shares of their largest entries, all steps together. */
static double change(const ref_fit *plain, const ref_fit *noisy) {
    const size_t m = plain->d * plain->d, n = plain->n * plain->c;
    double sum = 0;
    size_t t;
    for (t = 0; t <= plain->steps; t++) {
        const ref_step *a = &plain->step[t], *b = &noisy->step[t];
        const double metric = ref_largest(m, a->metric), alpha = ref_largest(n, a->alpha);
        if (metric > 0) sum += ref_difference(m, a->metric, b->metric) / metric;
        if (alpha > 0) sum += ref_difference(n, a->alpha, b->alpha) / alpha;
    }
    return sum;
}

static void make_expectation(const fitting *f, expectation *e) {
    ref_fit other;
    ref_make(&e->plain, &f->data, &f->o, 0, 0);
    ref_make(&e->noisy, &f->data, &f->o, NOISE, 0);
    if (work_of(f) > 3e6) return; /* there M and alpha have many numbers */
    ref_make(&other, &f->data, &f->o, NOISE, 1);
    if (!(change(&e->plain, &other) <= change(&e->plain, &e->noisy))) {
        const ref_fit was = e->noisy;
        e->noisy = other, other = was;
    }
    ref_free(&other);
}

/* Of l1 a gradient is a sum of signs of P x - P z. Below the normal range P x has fewer digits than the noise is for:
 * rows that differ may then be equal, and the sign is 0. */
static int signs_known(const ref_fit *f, size_t t) {
    size_t j;
    for (j = 0; j < f->d; j++) {
        const double most = sqrt(f->step[t].metric[j * (f->d + 1)]) * f->most[j];
        if (most > 0 && most < (double)RFM_LIMIT(MIN)) return 0;
    }
    return 1;
}

void check_fitting(fitting *f, int in_use) {
    const int status = fit_exactly(f);
    expectation e;
    size_t t;
    if (status != RFM_OK) {
        refused("rfm_fit", status);
        return;
    }
    make_expectation(f, &e);
    e.t = f->report.best;
    if (e.t > e.plain.steps)
        fail("best is %lu", (unsigned long)e.t);
    else {
        int defined = !ridge_grew(f, &e.plain);
        for (t = 0; t <= e.plain.steps; t++) defined &= e.noisy.step[t].defined && e.plain.step[t].defined;
        for (t = 1; t <= e.plain.steps; t++) /* M of rounding, scaled up: unit rows in one dimension have no gradient */
            defined &= fabs(e.plain.step[t].trace - e.noisy.step[t].trace) <= 0.1 * e.plain.step[t].trace;
        for (t = 0; t < e.plain.steps && slack.least > 0; t++) /* gradients whose squares may count as 0 */
            defined &= e.plain.step[t].reach > 1e3 * sqrt(slack.least) || !(e.plain.step[t].reach > 0);
        for (t = 0; t < e.plain.steps && slack.least > 0; t++) /* alpha that has lost digits, from which M is made */
            defined &= ref_largest(e.plain.n * e.plain.c, e.plain.step[t].alpha) > (double)RFM_LIMIT(MIN) / EPSILON;
        for (t = 0; t <= e.plain.steps && slack.least > 0 && f->o.kernel == RFM_L1; t++)
            defined &= signs_known(&e.plain, t);
        if (!defined)
            not_compared("rank of K");
        else {
            check_path(f, &e);
            check_metric(f, &e);
            check_predictions(f, &e);
            if (in_use) check_gradients(f, &e), check_alignment(f, &e);
        }
    }
    ref_free(&e.plain);
    ref_free(&e.noisy);
}

void fits_case(size_t number) {
    fitting f;
    draw_limits limits = {3e6, 0};
    (void)number;
    if (chance(20)) limits.work = 1e8;
    draw_fitting(&f, limits);
    check_fitting(&f, 1);
}

/* Most errors of memory depend on the sizes only: every n and d up to 100, one after the other in a mixed order. */
void pairs_case(size_t number) {
    const size_t place = (number * 7919 + 37) % 10000, n = 1 + place / 100, d = 1 + place % 100;
    fitting f;
    memset(&f, 0, sizeof f);
    rfm_options_init(&f.o);
    f.o.iterations = draw(3), f.o.center = (int)draw(2),
    f.o.agop_points = chance(2) || n == 1 ? 0 : 1 + (size_t)f.o.center;
    f.o.kernel = chance(2) ? RFM_LAPLACE : (int)draw(RFM_KERNELS), f.o.unit_rows = chance(4);
    f.o.metric = rfm_kernels[f.o.kernel].axes || chance(4) ? RFM_DIAGONAL : RFM_FULL;
    f.o.ridge = (rfm_real)(chance(3) && n <= 30 ? 0 : 0.1), f.o.bandwidth = (rfm_real)sqrt((double)d);
    f.o.scale = RFM_SCALE_TRACE;
    note(" n %lu d %lu T %lu kernel %d unit rows %d metric %d ridge %g points %lu center %d", (unsigned long)n,
         (unsigned long)d, (unsigned long)f.o.iterations, f.o.kernel, f.o.unit_rows, f.o.metric, (double)f.o.ridge,
         (unsigned long)f.o.agop_points, f.o.center);
    {
        const draw_limits limits = {0, 1};
        int none = 0;
        rfm_mat x = draw_rows(n, d, &limits, &none), y = draw_targets(x, 1, 0);
        f.data.x = rfm_const(x), f.data.y = rfm_const(y);
        if (chance(3)) f.data.start = draw_start(&f, &limits);
    }
    f.port = draw_port();
    check_fitting(&f, 0);
}
