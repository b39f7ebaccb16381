/* Two ways to a metric M = W'W, from the paper that compares them: the average gradient outer product (AGOP) of an RFM,
 * and gradient descent on a HyperBF network, f(x) = sum_a C_a exp(-|W (x - t_a)|^2 / 2 L^2). Table 1 has three rows:
 *
 *     RFM     M by AGOP; every training row is a centre
 *     AGOP    the RFM's M with the network's centres, C solved for
 *     GD      the network: centres t_a and W moved by descent, C by both
 *
 * The centres of the second row have moved along with another W. A fourth row, which the paper does not have, lets them
 * move under the RFM's M instead: there the rows differ in M alone.
 *
 * Nothing is chosen by the test rows. A fifth of the training rows is held out for the choices; then everything is made
 * anew from all training rows.
 */
#include "host/host.h"

#include "papers.h"
#include "phenomena.h"
#include "sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rfm_hyperbf.h"

#define MOST_ITERATIONS 20
#define BLOCK           256 /* rows whose gradients are in memory at once */
#define LOOKS           8   /* at the cosine, during a descent */

static const char help[] =
    "usage: rfm-papers table1 DATA.csv [--split FILE] [options]\n"
    "\n"
    "  --split FILE       a line for each row: 0 train, 1 test, 2 neither; without it every fifth row is for testing\n"
    "  --target NAME      the column of classes (target, or the last one)\n"
    "  --kernel NAME      of the network: gaussian, laplace (gaussian)\n"
    "  --rows N           training rows, drawn from those there are (all)\n"
    "  --centers N        of the network (1000)\n"
    "  --rank N           of W (0: as many as there are inputs)\n"
    "  --steps N          of the descent (1000)\n"
    "  --batch N          rows of a step (256)\n"
    "  --rate X           of the descent, as a share of the size of W and of the centres (0.01)\n"
    "  --solve N          steps between two solutions for C (50; 0: only at the end)\n"
    "  --iterations N     updates of M by AGOP, at most (5)\n"
    "  --bandwidth X      L of the RFM (10)\n"
    "  --ridge X          of the RFM (0.001)\n"
    "  --seed N           (0)\n"
    "  --threads N        (0: as many as there are processors)\n"
    "  --held-out         only the choices: nothing is scored on test rows\n"
    "  --json             one object on one line\n"
    "  --quiet            no notes\n";

typedef struct {
    const char *data, *split, *target, *kernel;
    size_t rows, centers, rank, steps, batch, solve, iterations, seed, threads;
    double rate, bandwidth, ridge;
    int held_out, json;
} call;

static void check(const call *a) {
    int kernel;
    if (a->steps == 0) usage("--steps: expected at least 1");
    if (a->batch == 0) usage("--batch: expected at least 1");
    if (a->iterations == 0 || a->iterations > MOST_ITERATIONS)
        usage("--iterations: expected 1 to %d, found %zu", MOST_ITERATIONS, a->iterations);
    if (!(a->rate > 0)) usage("--rate: expected more than 0");
    if (!(a->bandwidth > 0)) usage("--bandwidth: expected more than 0");
    kernel = kernel_of("--kernel", a->kernel);
    if (rfm_kernels[kernel].norm != 2 || kernel_has_exponent(kernel) || kernel_has_depth(kernel))
        usage("--kernel: expected gaussian or laplace, found \"%s\"", a->kernel);
}

/* ---- rows ----------------------------------------------------------------------------------- */

typedef struct {
    size_t n, d, c;
    rfm_real *x, *y;  /* (n, d), (n, c) 1 in the column of the row's class, else 0 */
    uint32_t *labels; /* (n) */
} sample;

static sample sample_of(csv *file, input_list inputs, size_t target, row_list rows, const char *names, size_t classes) {
    sample s;
    size_t i;
    s.n = rows.count, s.d = inputs.count, s.c = classes;
    s.x = allocate(s.n, s.d * sizeof *s.x, "inputs");
    s.y = allocate(s.n, s.c * sizeof *s.y, "targets");
    inputs_fill(file, inputs, rows, 0, NULL, s.x);
    s.labels = classes_of(file, target, rows, names, classes);
    for (i = 0; i < s.n; i++)
        if (s.labels[i] != CLASS_UNKNOWN) s.y[i * s.c + s.labels[i]] = 1;
    return s;
}

static sample sample_pick(const sample *from, const uint32_t *rows, size_t count) {
    sample s = *from;
    size_t i;
    s.n = count;
    s.x = allocate(count, s.d * sizeof *s.x, "inputs");
    s.y = allocate(count, s.c * sizeof *s.y, "targets");
    s.labels = allocate(count, sizeof *s.labels, "classes");
    for (i = 0; i < count; i++) {
        memcpy(s.x + i * s.d, from->x + rows[i] * s.d, s.d * sizeof *s.x);
        memcpy(s.y + i * s.c, from->y + rows[i] * s.c, s.c * sizeof *s.y);
        s.labels[i] = from->labels[rows[i]];
    }
    return s;
}

static void sample_drop(sample *s) {
    free(s->x);
    free(s->y);
    free(s->labels);
}

static rfm_data data_of(const sample *s) {
    rfm_data data;
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(s->x, s->n, s->d);
    data.y = rfm_cview(s->y, s->n, s->c);
    return data;
}

/* Takes the training rows' mean out of every input and divides all by one number, so that their mean variance is 1:
 * pixels have one unit. Inputs that are constant in the training rows go, for no gradient sees them. */
static void scale_inputs(sample *train, sample *test) {
    double *mean = allocate(train->d, sizeof *mean, "statistics"), sum = 0, scale;
    size_t *kept = allocate(train->d, sizeof *kept, "statistics"), count = 0, d = train->d, i, j, k;
    for (j = 0; j < d; j++) {
        for (i = 1; i < train->n && train->x[i * d + j] == train->x[j]; i++) continue;
        if (i == train->n) continue;
        kept[count++] = j;
        for (i = 0; i < train->n; i++) mean[j] += (double)train->x[i * d + j] / (double)train->n;
        for (i = 0; i < train->n; i++) sum += pow((double)train->x[i * d + j] - mean[j], 2) / (double)train->n;
    }
    if (count == 0) fail("the training rows have no input that is not constant");
    scale = sqrt(sum / (double)count);
    for (k = 0; k < 2; k++) {
        sample *s = k == 0 ? train : test;
        for (i = 0; i < s->n; i++)
            for (j = 0; j < count; j++)
                s->x[i * count + j] = (rfm_real)(((double)s->x[i * d + kept[j]] - mean[kept[j]]) / scale);
        s->d = count;
    }
    free(mean);
    free(kept);
}

/* ---- reading -------------------------------------------------------------------------------- */

static void read_samples(const call *a, sample *train, sample *test) {
    csv file;
    unsigned char *use;
    row_list for_train, for_test;
    input_list inputs;
    size_t target, classes, i;
    char *names;
    csv_read(&file, a->data, 1);
    use = split_read(a->split, &file, USE_TRAIN);
    for (i = 4; a->split == NULL && i < file.rows; i += 5) use[i] = USE_TEST;
    for_train = rows_of(&file, use, USE_TRAIN), for_test = rows_of(&file, use, USE_TEST);
    if (for_test.count == 0) fail("%s: no test rows", a->split != NULL ? a->split : a->data);
    if (a->rows > 0 && a->rows < for_train.count) rows_draw(&for_train, a->rows, a->seed);
    target = target_find(&file, a->target, 1);
    if (for_train.count < 10 || !target_is_class(&file, target, for_train))
        fail("%s: expected at least 10 training rows, whose target %s is a class", a->data, file.names[target]);
    names = classes_find(&file, target, for_train, &classes);
    inputs = inputs_of_file(&file, target, 1, for_train, 0);
    *train = sample_of(&file, inputs, target, for_train, names, classes);
    *test = sample_of(&file, inputs, target, for_test, names, classes);
    scale_inputs(train, test);
    free(names);
    free(use);
    free(for_train.at);
    free(for_test.at);
    inputs_free(&inputs);
    csv_free(&file);
}

/* A fifth of each class. */
static void hold_out(const call *a, const sample *train, sample *fit, sample *held) {
    uint32_t *order = rows_in_turn(train->n, train->labels, train->c, a->seed);
    uint32_t *in = allocate(train->n, sizeof *in, "rows"), *out = allocate(train->n, sizeof *out, "rows");
    size_t count, left;
    rows_fold(order, train->n, 5, 0, in, &count, out, &left);
    *fit = sample_pick(train, in, count);
    *held = sample_pick(train, out, left);
    free(order);
    free(in);
    free(out);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* The machine's context on an arena of so many bytes; its base is to be freed. */
static rfm_ctx on(const machine *m, rfm_arena *arena, size_t bytes) {
    rfm_ctx ctx = m->ctx;
    must(rfm_arena_init(arena, allocate_aligned(bytes, "an experiment"), bytes), "memory");
    ctx.arena = arena;
    return ctx;
}

/* ---- what a model knows --------------------------------------------------------------------- */

static double accuracy(const machine *m, const rfm_model *model, const sample *s) {
    rfm_arena arena;
    rfm_ctx ctx;
    rfm_real *f = allocate(s->n, s->c * sizeof *f, "predictions");
    size_t bytes, i, right = 0;
    must(rfm_predict_need(&m->ctx, model, s->n, &bytes), "predictions");
    ctx = on(m, &arena, bytes);
    must(rfm_predict(&ctx, model, rfm_cview(s->x, s->n, s->d), rfm_view(f, s->n, s->c)), "predictions");
    for (i = 0; i < s->n; i++) right += is_right(f + i * s->c, s->c, s->labels[i]) ? 1 : 0;
    free(arena.base);
    free(f);
    return (double)right / (double)s->n;
}

static void mirror(rfm_real *m, size_t d) {
    size_t i, j;
    for (i = 0; i < d; i++)
        for (j = 0; j < i; j++) m[i * d + j] = m[j * d + i];
}

/* M (d, d) = the mean over rows of the sum over outputs of (grad f)(grad f)'. */
static void agop(const machine *m, const rfm_model *model, const sample *s, rfm_real *to) {
    size_t d = s->d, rows = s->n < BLOCK ? s->n : BLOCK, gradients, products, first, count;
    rfm_real *g = allocate(rows, s->c * d * sizeof *g, "gradients");
    rfm_arena arena;
    rfm_ctx ctx;
    must(rfm_gradients_need(&m->ctx, model, &gradients), "gradients");
    must(rfm_syrk_need(&m->ctx, d, rows * s->c, &products), "gradients");
    ctx = on(m, &arena, gradients > products ? gradients : products);
    memset(to, 0, d * d * sizeof *to);
    for (first = 0; first < s->n; first += count) {
        count = s->n - first < rows ? s->n - first : rows;
        must(rfm_gradients(&ctx, model, rfm_cview(s->x + first * d, count, d), rfm_view(g, count, s->c * d)),
             "gradients");
        must(rfm_syrk(&ctx, RFM_TN, 1 / (rfm_real)s->n, rfm_cview(g, count * s->c, d), 1, rfm_view(to, d, d)),
             "gradients");
    }
    mirror(to, d);
    free(arena.base);
    free(g);
}

static double cosine(const rfm_real *a, const rfm_real *b, size_t d) {
    rfm_real cos;
    must(rfm_cosine(rfm_cview(a, d, d), rfm_cview(b, d, d), &cos), "cosine");
    return (double)cos;
}

/* ---- RFM ------------------------------------------------------------------------------------ */

static void rfm_train(const machine *m, const call *a, const rfm_data *data, size_t iterations, rfm_arena *arena,
                      rfm_model *model, rfm_step *path) {
    rfm_options o;
    rfm_report report;
    rfm_ctx ctx;
    size_t scratch, store;
    memset(&report, 0, sizeof report);
    report.path = path;
    rfm_options_init(&o);
    o.bandwidth = (rfm_real)a->bandwidth;
    o.ridge = (rfm_real)a->ridge;
    o.iterations = iterations;
    o.score = RFM_SCORE_ACCURACY;
    must(rfm_fit_need(&m->ctx, data, &o, &scratch, &store), "RFM");
    ctx = on(m, arena, scratch + store);
    must(rfm_fit(&ctx, data, &o, arena, model, &report), "RFM");
}

/* T, at least 1, with the best accuracy on the rows held out, which is returned. */
static double rfm_held(const machine *m, const call *a, const sample *fit, const sample *held, size_t *iterations) {
    rfm_step path[MOST_ITERATIONS + 1];
    rfm_data data = data_of(fit);
    rfm_model model;
    rfm_arena arena;
    size_t t;
    data.x_validation = rfm_cview(held->x, held->n, held->d);
    data.y_validation = rfm_cview(held->y, held->n, held->c);
    rfm_train(m, a, &data, a->iterations, &arena, &model, path);
    for (*iterations = t = 1; t <= a->iterations; t++)
        if (path[t].score > path[*iterations].score) *iterations = t;
    free(arena.base);
    return (double)path[*iterations].score;
}

/* The accuracy on `test`; M (d, d). */
static double rfm_row(const machine *m, const call *a, const sample *train, const sample *test, size_t iterations,
                      rfm_real *metric) {
    rfm_step path[MOST_ITERATIONS + 1];
    rfm_data data = data_of(train);
    rfm_model model;
    rfm_arena arena;
    double right;
    rfm_train(m, a, &data, iterations, &arena, &model, path);
    must(rfm_metric(&model, rfm_view(metric, train->d, train->d)), "M");
    right = accuracy(m, &model, test);
    free(arena.base);
    return right;
}

/* ---- the network ---------------------------------------------------------------------------- */

typedef struct {
    rfm_hyperbf f;
    void *memory;
} network;

/* z (rows, r) = W (x - shift) */
static void project(const machine *m, const rfm_hyperbf *f, const rfm_real *x, size_t rows, rfm_real *z) {
    rfm_real *moved = allocate(rows, f->d * sizeof *moved, "rows");
    rfm_arena arena;
    rfm_ctx ctx;
    size_t bytes, i, j;
    for (i = 0; i < rows; i++)
        for (j = 0; j < f->d; j++) moved[i * f->d + j] = x[i * f->d + j] - f->shift[j];
    must(rfm_gemm_need(&m->ctx, rows, f->r, f->d, &bytes), "centres");
    ctx = on(m, &arena, bytes);
    must(rfm_gemm(&ctx, RFM_NT, 1, rfm_cview(moved, rows, f->d), rfm_cview(f->p, f->r, f->d), 0,
                  rfm_view(z, rows, f->r)),
         "centres");
    free(arena.base);
    free(moved);
}

/* The root mean squared distance |W (x - t_a)| of a row to its nearest centre, of at most a thousand rows. */
static double nearest_centers(const machine *m, network *w, const sample *s) {
    rfm_hyperbf *f = &w->f;
    size_t rows = s->n < 1000 ? s->n : 1000, i, a, j;
    rfm_real *x = allocate(rows, f->d * sizeof *x, "rows"), *z = allocate(rows, f->r * sizeof *z, "rows");
    double sum = 0;
    for (i = 0; i < rows; i++)
        for (j = 0; j < f->d; j++) x[i * f->d + j] = s->x[i * s->n / rows * f->d + j];
    project(m, f, x, rows, z);
    project(m, f, f->inputs, f->n, f->centers);
    for (i = 0; i < rows; i++) {
        rfm_real least = 0;
        for (a = 0; a < f->n; a++) {
            rfm_real square = 0;
            for (j = 0; j < f->r; j++) {
                rfm_real off = z[i * f->r + j] - f->centers[a * f->r + j];
                square += off * off;
            }
            if (a == 0 || square < least) least = square;
        }
        sum += (double)least / (double)rows;
    }
    free(x);
    free(z);
    return sqrt(sum);
}

/* The model that the network is now; the store's base is to be freed. A descent leaves f->centers behind, so they are
 * computed here. */
static rfm_model network_model(const machine *m, network *w, rfm_arena *store) {
    rfm_model model;
    size_t bytes;
    project(m, &w->f, w->f.inputs, w->f.n, w->f.centers);
    must(rfm_hyperbf_model_need(&w->f, &bytes), "the network");
    must(rfm_arena_init(store, allocate_aligned(bytes, "the network"), bytes), "the network");
    must(rfm_hyperbf_model(&w->f, store, &model), "the network");
    return model;
}

static double network_accuracy(const machine *m, network *w, const sample *s) {
    rfm_arena store;
    rfm_model model = network_model(m, w, &store);
    double right = accuracy(m, &model, s);
    free(store.base);
    return right;
}

static void network_agop(const machine *m, network *w, const sample *s, rfm_real *to) {
    rfm_arena store;
    rfm_model model = network_model(m, w, &store);
    agop(m, &model, s, to);
    free(store.base);
}

/* W'W */
static void network_metric(const machine *m, const network *w, rfm_real *to) {
    size_t d = w->f.d, bytes;
    rfm_arena arena;
    rfm_ctx ctx;
    must(rfm_syrk_need(&m->ctx, d, w->f.r, &bytes), "W'W");
    ctx = on(m, &arena, bytes);
    must(rfm_syrk(&ctx, RFM_TN, 1, rfm_cview(w->f.p, w->f.r, d), 0, rfm_view(to, d, d)), "W'W");
    mirror(to, d);
    free(arena.base);
}

/* W with W'W = M / trace(M) * d; as many rows as it has, those of the largest eigenvalues. */
static void network_take_metric(const machine *m, network *w, const rfm_real *metric) {
    size_t d = w->f.d, r = w->f.r, bytes, q, j;
    rfm_real *copy = allocate(d, d * sizeof *copy, "M"), *values = allocate(r, sizeof *values, "eigenvalues");
    rfm_arena arena;
    rfm_ctx ctx;
    double trace = 0;
    memcpy(copy, metric, d * d * sizeof *copy);
    for (j = 0; j < d; j++) trace += (double)copy[j * (d + 1)];
    must(rfm_eig_need(&m->ctx, d, r, &bytes), "W");
    ctx = on(m, &arena, bytes);
    must(rfm_eig(&ctx, rfm_view(copy, d, d), r, values, rfm_view(w->f.p, r, d)), "W");
    for (q = 0; q < r; q++) {
        double size = values[q] > 0 ? sqrt((double)values[q] / trace * (double)d) : 0;
        for (j = 0; j < d; j++) w->f.p[q * d + j] = (rfm_real)(size * (double)w->f.p[q * d + j]);
    }
    free(arena.base);
    free(copy);
    free(values);
}

/* C for the centres, W and L as they are: a descent of one step in which nothing moves but by solving. */
static void network_solve(const machine *m, network *w, const sample *train, double ridge) {
    rfm_hyperbf_options o;
    rfm_data data = data_of(train);
    rfm_arena arena;
    rfm_ctx ctx;
    size_t bytes;
    rfm_hyperbf_options_init(&o);
    o.cost.ridge = (rfm_real)ridge;
    o.steps = o.solve = o.batch = 1;
    o.alpha_rate = o.center_rate = o.p_rate = o.offset_rate = 0;
    memset(w->f.alpha, 0, w->f.n * w->f.c * sizeof *w->f.alpha);
    must(rfm_hyperbf_descend_need(&m->ctx, &data, &o, &w->f, &bytes), "C");
    ctx = on(m, &arena, bytes);
    must(rfm_hyperbf_descend(&ctx, &data, &o, &w->f, NULL), "C");
    free(arena.base);
}

/* Centres are means of clusters in each class, W'W = I, or of the inputs' first principal components if W has a lower
 * rank. */
static network network_start(const machine *m, const call *a, const sample *train) {
    network w;
    rfm_data data = data_of(train);
    rfm_hyperbf_start_options o;
    rfm_model plain;
    rfm_arena arena, store;
    rfm_ctx ctx;
    rfm_real *zeros = allocate(train->d + train->c, sizeof *zeros, "a start");
    size_t scratch, kept;
    memset(&plain, 0, sizeof plain);
    plain.n = 1, plain.d = plain.r = train->d, plain.c = train->c;
    plain.kernel = RFM_GAUSSIAN, plain.metric = RFM_IDENTITY;
    plain.bandwidth = plain.exponent = 1;
    plain.shift = plain.centers = zeros, plain.alpha = zeros + train->d;
    rfm_hyperbf_start_init(&o);
    o.centers = a->centers < train->n ? a->centers : train->n;
    o.rank = a->rank > 0 && a->rank < train->d ? a->rank : train->d;
    o.kernel = kernel_of("--kernel", a->kernel);
    o.inputs = 1, o.offset = 0;
    o.model = &plain;
    o.seed = (uint32_t)a->seed;
    must(rfm_hyperbf_start_need(&m->ctx, &data, &o, &scratch, &kept), "the network's start");
    ctx = on(m, &arena, scratch);
    w.memory = allocate_aligned(kept, "the network");
    must(rfm_arena_init(&store, w.memory, kept), "the network");
    must(rfm_hyperbf_start(&ctx, &data, &o, &store, &w.f), "the network's start");
    free(arena.base);
    free(zeros);
    return w;
}

/* ---- its descent ---------------------------------------------------------------------------- */

typedef struct {
    size_t step;
    double of_agop, of_rfm; /* cosine of W'W and the network's AGOP, and M of the RFM */
    double right;
} look;

static look look_at(const machine *m, network *w, const sample *train, const sample *test, const rfm_real *metric,
                    size_t step) {
    size_t d = train->d;
    rfm_real *now = allocate(d, d * sizeof *now, "W'W"), *own = allocate(d, d * sizeof *own, "AGOP");
    look l;
    network_metric(m, w, now);
    network_agop(m, w, train, own);
    l.step = step;
    l.of_agop = cosine(now, own, d), l.of_rfm = cosine(now, metric, d);
    l.right = network_accuracy(m, w, test);
    free(now);
    free(own);
    return l;
}

/* Returns its seconds. fixed: W stays. If `looks` is not NULL, LOOKS + 1 of them are made on the way, in time that
 * does not count; `metric` is M of the RFM. */
static double network_descend(const machine *m, const call *a, network *w, const sample *train, const sample *test,
                              double ridge, int fixed, const rfm_real *metric, look *looks) {
    rfm_hyperbf_options o;
    rfm_data data = data_of(train);
    rfm_hyperbf_descent *descent;
    rfm_arena arena;
    rfm_ctx ctx;
    size_t bytes, i, k = 0;
    double began = seconds_now(), looking = 0, from;
    int status = RFM_OK;
    rfm_hyperbf_options_init(&o);
    o.cost.ridge = (rfm_real)ridge;
    o.steps = a->steps, o.batch = a->batch, o.solve = a->solve;
    o.rate = (rfm_real)a->rate;
    o.look = 50;
    if (fixed) o.p_rate = 0;
    o.seed = (uint32_t)a->seed;
    must(rfm_hyperbf_descend_need(&m->ctx, &data, &o, &w->f, &bytes), "the descent");
    ctx = on(m, &arena, bytes);
    must(rfm_hyperbf_begin(&ctx, &data, &o, &w->f, &descent), "the descent");
    for (i = 0; i <= a->steps && status == RFM_OK; i++) {
        from = seconds_now();
        for (; looks != NULL && k <= LOOKS && i * LOOKS >= k * a->steps; k++)
            looks[k] = look_at(m, w, train, test, metric, i);
        looking += seconds_now() - from;
        if (i < a->steps) status = rfm_hyperbf_step(descent);
        progress_show("descent", (double)i, (double)a->steps);
    }
    progress_end();
    must(status, "the descent, which a smaller --rate may help");
    must(rfm_hyperbf_end(descent, NULL), "the descent");
    free(arena.base);
    network_solve(m, w, train, ridge);
    return seconds_now() - began - looking;
}

/* ---- choices and rows of the table ---------------------------------------------------------- */

static const double factors[] = {0.75, 1, 1.5, 2, 3}, ridges[] = {1e-3, 1e-2, 1e-1, 1};
#define FACTORS (sizeof factors / sizeof *factors)
#define RIDGES  (sizeof ridges / sizeof *ridges)

typedef struct {
    double factor, ridge; /* L as a multiple of the distance to the nearest centre */
    double held;          /* accuracy on the rows held out */
} choice;

/* L by the centres and W there are, and C for it. */
static void network_settle(const machine *m, network *w, const sample *train, const choice *c) {
    w->f.bandwidth = (rfm_real)(c->factor * nearest_centers(m, w, train));
    network_solve(m, w, train, c->ridge);
}

/* The best L and ridge for centres and W as they are. */
static choice choose(const machine *m, network *w, const sample *fit, const sample *held) {
    choice best = {0, 0, -1};
    size_t i, k;
    for (i = 0; i < FACTORS; i++)
        for (k = 0; k < RIDGES; k++) {
            choice c;
            c.factor = factors[i], c.ridge = ridges[k];
            network_settle(m, w, fit, &c);
            c.held = network_accuracy(m, w, held);
            if (c.held > best.held) best = c;
        }
    return best;
}

#define RFM_ROW   0
#define AGOP_ROW  1
#define GD_ROW    2
#define MOVED_ROW 3 /* the RFM's M, centres moved under it */
#define ROWS      4

typedef struct {
    size_t iterations; /* T of the RFM */
    choice agop;       /* with the network's centres */
    choice gd, moved;  /* before the descent: W'W = I, and M */
    double held[ROWS];
} choices;

typedef struct {
    double right[ROWS], seconds[ROWS];
    double of_rfm, of_agop; /* cosine of W'W with M of the RFM, and with the network's AGOP, at the end */
    look looks[LOOKS + 1];
} results;

/* Centres as at every start, W by the RFM's M. */
static network start_with(const machine *m, const call *a, const sample *train, const rfm_real *metric) {
    network w = network_start(m, a, train);
    network_take_metric(m, &w, metric);
    return w;
}

static choices choose_all(const machine *m, const call *a, const sample *fit, const sample *held) {
    choices c;
    network w;
    rfm_real *metric = allocate(fit->d, fit->d * sizeof *metric, "M");
    c.held[RFM_ROW] = rfm_held(m, a, fit, held, &c.iterations);
    (void)rfm_row(m, a, fit, held, c.iterations, metric);

    w = network_start(m, a, fit);
    c.gd = choose(m, &w, fit, held);
    network_settle(m, &w, fit, &c.gd);
    (void)network_descend(m, a, &w, fit, NULL, c.gd.ridge, 0, NULL, NULL);
    c.held[GD_ROW] = network_accuracy(m, &w, held);
    network_take_metric(m, &w, metric);
    c.agop = choose(m, &w, fit, held);
    c.held[AGOP_ROW] = c.agop.held;
    free(w.memory);

    w = start_with(m, a, fit, metric);
    c.moved = choose(m, &w, fit, held);
    network_settle(m, &w, fit, &c.moved);
    (void)network_descend(m, a, &w, fit, NULL, c.moved.ridge, 1, NULL, NULL);
    c.held[MOVED_ROW] = network_accuracy(m, &w, held);
    free(w.memory);
    free(metric);
    return c;
}

static results make_all(const machine *m, const call *a, const choices *c, const sample *train, const sample *test) {
    results r;
    network w;
    size_t d = train->d;
    rfm_real *metric = allocate(d, d * sizeof *metric, "M"), *now = allocate(d, d * sizeof *now, "W'W");
    rfm_real *own = allocate(d, d * sizeof *own, "AGOP");
    double began = seconds_now();
    r.right[RFM_ROW] = rfm_row(m, a, train, test, c->iterations, metric);
    r.seconds[RFM_ROW] = seconds_now() - began;

    began = seconds_now();
    w = network_start(m, a, train);
    network_settle(m, &w, train, &c->gd);
    r.seconds[GD_ROW] = seconds_now() - began;
    r.seconds[GD_ROW] += network_descend(m, a, &w, train, test, c->gd.ridge, 0, metric, r.looks);
    r.right[GD_ROW] = network_accuracy(m, &w, test);
    network_metric(m, &w, now);
    network_agop(m, &w, train, own);
    r.of_rfm = cosine(now, metric, d), r.of_agop = cosine(now, own, d);

    began = seconds_now();
    network_take_metric(m, &w, metric);
    network_settle(m, &w, train, &c->agop);
    r.seconds[AGOP_ROW] = seconds_now() - began;
    r.right[AGOP_ROW] = network_accuracy(m, &w, test);
    free(w.memory);

    began = seconds_now();
    w = start_with(m, a, train, metric);
    network_settle(m, &w, train, &c->moved);
    r.seconds[MOVED_ROW] = seconds_now() - began;
    r.seconds[MOVED_ROW] += network_descend(m, a, &w, train, NULL, c->moved.ridge, 1, NULL, NULL);
    r.right[MOVED_ROW] = network_accuracy(m, &w, test);
    free(w.memory);
    free(metric);
    free(now);
    free(own);
    return r;
}

/* ---- what is shown -------------------------------------------------------------------------- */

/* Of the paper's three rows. */
static double apart(const double *right) {
    return fmax(right[0], fmax(right[1], right[2])) - fmin(right[0], fmin(right[1], right[2]));
}

static size_t centers_of(const call *a, const sample *train) { return a->centers < train->n ? a->centers : train->n; }

/* r NULL: no test rows were looked at. */
static void show_text(text *t, const call *a, const sample *train, const sample *test, const choices *c,
                      const results *r) {
    static const char *const words[ROWS] = {"RFM", "AGOP", "GD", "AGOP, moved"};
    static const char *const metrics[ROWS] = {"AGOP", "the RFM's", "W'W, descent", "the RFM's"};
    static const char *const from[ROWS] = {"training rows", "of GD", "descent", "descent under M"};
    size_t i;
    text_add(t, "%zu training rows, %zu inputs that vary, %zu classes, %zu test rows.\n\n", train->n, train->d,
             train->c, test->n);
    text_add(t, "| | M | centres | | test %% | held out %% | seconds |\n|---|---|---:|---|---:|---:|---:|\n");
    for (i = 0; i < ROWS; i++) {
        text_add(t, "| %s | %s | %zu | %s |", words[i], metrics[i], i == RFM_ROW ? train->n : centers_of(a, train),
                 from[i]);
        if (r != NULL)
            text_add(t, " %.2f | %.2f | %.1f |\n", 100 * r->right[i], 100 * c->held[i], r->seconds[i]);
        else
            text_add(t, " | %.2f | |\n", 100 * c->held[i]);
    }
    text_add(t, "\nThe first three are %.2f points apart%s.\n", 100 * apart(r != NULL ? r->right : c->held),
             r != NULL ? "" : " on the rows held out");
    text_add(t, "RFM: laplace, L = %g, ridge %g, T = %zu. Network: %s, rank %zu, %zu steps.\n", a->bandwidth, a->ridge,
             c->iterations, a->kernel, a->rank > 0 && a->rank < train->d ? a->rank : train->d, a->steps);
    text_add(t, "L in distances to the nearest centre, and ridge: AGOP %g, %g; GD %g, %g; moved %g, %g.\n",
             c->agop.factor, c->agop.ridge, c->gd.factor, c->gd.ridge, c->moved.factor, c->moved.ridge);
    if (r == NULL) return;
    text_add(t, "\nCosine of W'W with M of the RFM %.3f, with the network's own AGOP %.3f. On the way:\n\n", r->of_rfm,
             r->of_agop);
    text_add(t, "| step | with the RFM's M | with its own AGOP | test %% |\n|---:|---:|---:|---:|\n");
    for (i = 0; i <= LOOKS; i++)
        text_add(t, "| %zu | %.3f | %.3f | %.2f |\n", r->looks[i].step, r->looks[i].of_rfm, r->looks[i].of_agop,
                 100 * r->looks[i].right);
}

static void show_json(text *t, const call *a, const sample *train, const sample *test, const choices *c,
                      const results *r) {
    static const char *const keys[ROWS] = {"rfm", "agop", "gd", "moved"};
    text list = {NULL, 0, 0};
    size_t i;
    json_number(t, "rows", (double)train->n);
    json_number(t, "test_rows", (double)test->n);
    json_number(t, "inputs", (double)train->d);
    json_number(t, "classes", (double)train->c);
    json_number(t, "centers", (double)centers_of(a, train));
    json_number(t, "steps", (double)a->steps);
    json_text(t, "kernel", a->kernel);
    for (i = 0; i < ROWS; i++) {
        const choice *of = i == AGOP_ROW ? &c->agop : i == GD_ROW ? &c->gd : &c->moved;
        text one = {NULL, 0, 0};
        if (r != NULL) json_number(&one, "accuracy", r->right[i]);
        json_number(&one, "held_out", c->held[i]);
        if (r != NULL) json_number(&one, "seconds", r->seconds[i]);
        if (i == RFM_ROW) json_number(&one, "iterations", (double)c->iterations);
        json_number(&one, "bandwidth", i == RFM_ROW ? a->bandwidth : of->factor);
        json_number(&one, "ridge", i == RFM_ROW ? a->ridge : of->ridge);
        json_object(t, keys[i], &one);
        free(one.at);
    }
    json_number(t, "apart", apart(r != NULL ? r->right : c->held));
    for (i = 0; r != NULL && i <= LOOKS; i++) {
        text one = {NULL, 0, 0};
        json_number(&one, "step", (double)r->looks[i].step);
        json_number(&one, "cosine_rfm", r->looks[i].of_rfm);
        json_number(&one, "cosine_agop", r->looks[i].of_agop);
        json_number(&one, "accuracy", r->looks[i].right);
        json_add(&list, &one);
    }
    if (r != NULL) {
        json_number(t, "cosine_rfm", r->of_rfm);
        json_number(t, "cosine_agop", r->of_agop);
        json_array(t, "path", &list);
    }
    json_end(t);
}

int table1(char **argv) {
    call a = {NULL, NULL, NULL, "gaussian", 0, 1000, 0, 1000, 256, 50, 5, 0, 0, 0.01, 10, 1e-3, 0, 0};
    const option table[] = {{"--split", NULL, OPTION_TEXT, &a.split},
                            {"--target", NULL, OPTION_TEXT, &a.target},
                            {"--rows", NULL, OPTION_SIZE, &a.rows},
                            {"--centers", NULL, OPTION_SIZE, &a.centers},
                            {"--rank", NULL, OPTION_SIZE, &a.rank},
                            {"--kernel", NULL, OPTION_TEXT, &a.kernel},
                            {"--steps", NULL, OPTION_SIZE, &a.steps},
                            {"--batch", NULL, OPTION_SIZE, &a.batch},
                            {"--rate", NULL, OPTION_NUMBER, &a.rate},
                            {"--solve", NULL, OPTION_SIZE, &a.solve},
                            {"--iterations", NULL, OPTION_SIZE, &a.iterations},
                            {"--bandwidth", NULL, OPTION_NUMBER, &a.bandwidth},
                            {"--ridge", NULL, OPTION_NUMBER, &a.ridge},
                            {"--seed", NULL, OPTION_SIZE, &a.seed},
                            {"--threads", NULL, OPTION_SIZE, &a.threads},
                            {"--held-out", NULL, OPTION_FLAG, &a.held_out},
                            {"--json", NULL, OPTION_FLAG, &a.json},
                            {"--quiet", "-q", OPTION_FLAG, &quiet},
                            {NULL, NULL, 0, NULL}};
    command_line line = {"table1", "DATA.csv", 1, 1, "; see rfm-papers table1 --help", NULL};
    text shown = {NULL, 0, 0};
    machine m;
    sample train, test, fit, held;
    choices c;
    results r;
    line.options = table;
    if (options_read(&line, argv, &a.data)) {
        fputs(help, stdout);
        return 0;
    }
    check(&a);
    machine_start(&m, a.threads, "auto");
    read_samples(&a, &train, &test);
    hold_out(&a, &train, &fit, &held);
    if (a.centers < train.c) usage("--centers: expected at least one for each of %zu classes", train.c);
    c = choose_all(&m, &a, &fit, &held);
    if (!a.held_out) r = make_all(&m, &a, &c, &train, &test);
    (a.json ? show_json : show_text)(&shown, &a, &train, &test, &c, a.held_out ? NULL : &r);
    file_show(&shown, NULL);
    free(shown.at);
    sample_drop(&train);
    sample_drop(&test);
    sample_drop(&fit);
    sample_drop(&held);
    machine_stop(&m);
    return 0;
}

/* On the page: MNIST at 14 x 14 pixels if there is data, else the digits of tools/data. */
void table1_on_page(const trial *t, text *sheet) {
    static const char *const words[ROWS] = {"RFM", "AGOP: the RFM's M, the network's centres", "GD: the network",
                                            "AGOP, centres moved under it"};
    static const char *const paper[ROWS] = {"96.56", "96.88", "97.34", ""};
    call a = {NULL, NULL, NULL, "gaussian", 0, 1000, 0, 1000, 256, 50, 5, 0, 0, 0.01, 10, 1e-3, 0, 0};
    text files = {NULL, 0, 0};
    sample train, test, fit, held;
    size_t i, split;
    choices c;
    results r;
    text_add(&files, t->data != NULL ? "%s/mnist14.csv" : "tools/data/digits.csv", t->data);
    text_bytes(&files, "", 1), split = files.size;
    text_add(&files, t->data != NULL ? "%s/mnist14.split" : "tools/data/digits.split", t->data);
    text_bytes(&files, "", 1);
    a.data = files.at, a.split = files.at + split, a.seed = (size_t)t->seed;
    if (t->data == NULL) a.centers = 300;
    if (t->quick) a.rows = 400, a.centers = 50, a.steps = 100, a.iterations = 1;
    read_samples(&a, &train, &test);
    hold_out(&a, &train, &fit, &held);
    c = choose_all(t->m, &a, &fit, &held);
    r = make_all(t->m, &a, &c, &train, &test);
    sheet_say(
        sheet,
        "%s: %zu rows to train, %zu to test. RFM: Laplace, L = 10, ridge 0.001. Network: Gaussian, %zu centres, %zu "
        "steps. T, widths and ridges are chosen on a fifth of the training rows.",
        t->data != NULL ? "MNIST at 14 x 14 pixels" : "digits of 8 x 8 pixels", train.n, test.n, centers_of(&a, &train),
        a.steps);
    sheet_table(sheet, "machine|test %|paper: MNIST %|held out %");
    for (i = 0; i < ROWS; i++)
        sheet_row(sheet, "%s|%.2f|%s|%.2f", words[i], 100 * r.right[i], paper[i], 100 * c.held[i]);
    sheet_say(sheet,
              "The first three are %.2f points apart, in the paper 0.78. It does not give its rows, centres and rates, "
              "so those here "
              "are ours.",
              100 * apart(r.right));
    sheet_chart(sheet, "Cosine of W'W with ...", "steps", "cosine");
    for (i = 0; i <= LOOKS; i++) {
        sheet_point(sheet, "the RFM's M", (double)r.looks[i].step, r.looks[i].of_rfm);
        sheet_point(sheet, "the network's own AGOP", (double)r.looks[i].step, r.looks[i].of_agop);
    }
    free(files.at);
    sample_drop(&train);
    sample_drop(&test);
    sample_drop(&fit);
    sample_drop(&held);
}
