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

#include "lab.h"
#include "phenomena.h"
#include "sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rfm_hyperbf.h"

#define MOST_ITERATIONS 20
#define BLOCK           256 /* rows whose gradients are in memory at once */
#define LOOKS           8   /* at the cosine, during a descent */

const char table1_help[] =
    "  --table FILE       a CSV in place of mnist14.csv of --data, or of the digits of tools/data\n"
    "  --split FILE       its rows: 0 train, 1 test, 2 neither; without it every fifth row is for testing\n"
    "  --target NAME      its column of classes (target, or the last one)\n"
    "  --kernel NAME      of the network: gaussian, laplace (gaussian)\n"
    "  --rows N           training rows, drawn from those there are (0: all)\n"
    "  --centers N        of the network (0: 1,000, but at most a quarter of the training rows)\n"
    "  --rank N           of W (0: as many as there are inputs)\n"
    "  --steps N          of the descent (1000)\n"
    "  --batch N          rows of a step (256)\n"
    "  --rate X           of the descent, as a share of the size of W and of the centres (0.01)\n"
    "  --solve N          steps between two solutions for C (50; 0: only at the end)\n"
    "  --iterations N     updates of M by AGOP, at most (5)\n"
    "  --bandwidth X      L of the RFM (10)\n"
    "  --ridge X          of the RFM (0.001)\n"
    "  --held-out         only the choices: nothing is scored on test rows\n";

typedef struct {
    const char *data, *split, *target, *kernel;
    size_t rows, centers, rank, steps, batch, solve, iterations;
    double rate, bandwidth, ridge;
    int held_out;
    uint64_t seed;
} call;

/* What is asked for: at first what the page has. */
static call asked = {.kernel = "gaussian",
                     .steps = 1000,
                     .batch = 256,
                     .solve = 50,
                     .iterations = 5,
                     .rate = 0.01,
                     .bandwidth = 10,
                     .ridge = 1e-3};

const option table1_options[] = {{"--table", NULL, OPTION_TEXT, &asked.data},
                                 {"--split", NULL, OPTION_TEXT, &asked.split},
                                 {"--target", NULL, OPTION_TEXT, &asked.target},
                                 {"--rows", NULL, OPTION_SIZE, &asked.rows},
                                 {"--centers", NULL, OPTION_SIZE, &asked.centers},
                                 {"--rank", NULL, OPTION_SIZE, &asked.rank},
                                 {"--kernel", NULL, OPTION_TEXT, &asked.kernel},
                                 {"--steps", NULL, OPTION_SIZE, &asked.steps},
                                 {"--batch", NULL, OPTION_SIZE, &asked.batch},
                                 {"--rate", NULL, OPTION_NUMBER, &asked.rate},
                                 {"--solve", NULL, OPTION_SIZE, &asked.solve},
                                 {"--iterations", NULL, OPTION_SIZE, &asked.iterations},
                                 {"--bandwidth", NULL, OPTION_NUMBER, &asked.bandwidth},
                                 {"--ridge", NULL, OPTION_NUMBER, &asked.ridge},
                                 {"--held-out", NULL, OPTION_FLAG, &asked.held_out},
                                 {NULL, NULL, 0, NULL}};

static void check(const call *a) {
    int kernel;
    if (a->data == NULL && a->split != NULL) usage("--split: expected --table FILE, too");
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

static lab_rows sample_of(csv *file, input_list inputs, size_t target, row_list rows, const char *names,
                          size_t classes) {
    lab_rows s = rows_make(rows.count, inputs.count, classes);
    uint32_t *labels = classes_of(file, target, rows, names, classes);
    size_t i;
    inputs_fill(file, inputs, rows, 0, NULL, s.x);
    for (i = 0; i < s.n; i++) {
        if (labels[i] != CLASS_UNKNOWN) s.y[i * classes + labels[i]] = 1;
        s.labels[i] = labels[i];
    }
    free(labels);
    return s;
}

static lab_rows sample_pick(const lab_rows *from, const uint32_t *rows, size_t count) {
    lab_rows s = rows_make(count, from->d, from->c);
    size_t i;
    for (i = 0; i < count; i++) {
        memcpy(s.x + i * s.d, from->x + rows[i] * s.d, s.d * sizeof *s.x);
        memcpy(s.y + i * s.c, from->y + rows[i] * s.c, s.c * sizeof *s.y);
        s.labels[i] = from->labels[rows[i]];
    }
    return s;
}

static rfm_data data_of(const lab_rows *s) {
    rfm_data data;
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(s->x, s->n, s->d);
    data.y = rfm_cview(s->y, s->n, s->c);
    return data;
}

/* Takes the training rows' mean out of every input and divides all by one number, so that their mean variance is 1:
 * pixels have one unit. Inputs that are constant in the training rows go, for no gradient sees them. */
static void scale_inputs(lab_rows *train, lab_rows *test) {
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
        lab_rows *s = k == 0 ? train : test;
        for (i = 0; i < s->n; i++)
            for (j = 0; j < count; j++)
                s->x[i * count + j] = (rfm_real)(((double)s->x[i * d + kept[j]] - mean[kept[j]]) / scale);
        s->d = count;
    }
    free(mean);
    free(kept);
}

/* ---- reading -------------------------------------------------------------------------------- */

static void read_samples(const call *a, lab_rows *train, lab_rows *test) {
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
static void hold_out(const call *a, const lab_rows *train, lab_rows *fit, lab_rows *held) {
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

/* ---- what a model knows --------------------------------------------------------------------- */

static double accuracy(const trial *t, const rfm_model *model, const lab_rows *s) {
    desk room;
    rfm_real *f = allocate(s->n, s->c * sizeof *f, "predictions");
    size_t bytes, i, right = 0;
    must(rfm_predict_need(&t->m->ctx, model, s->n, &bytes), "predictions");
    desk_open(t, &room, bytes);
    must(rfm_predict(&room.ctx, model, rfm_cview(s->x, s->n, s->d), rfm_view(f, s->n, s->c)), "predictions");
    for (i = 0; i < s->n; i++) right += is_right(f + i * s->c, s->c, s->labels[i]) ? 1 : 0;
    desk_close(&room);
    free(f);
    return (double)right / (double)s->n;
}

static void mirror(rfm_real *m, size_t d) {
    size_t i, j;
    for (i = 0; i < d; i++)
        for (j = 0; j < i; j++) m[i * d + j] = m[j * d + i];
}

/* M (d, d) = the mean over rows of the sum over outputs of (grad f)(grad f)'. */
static void agop(const trial *t, const rfm_model *model, const lab_rows *s, rfm_real *to) {
    size_t d = s->d, rows = s->n < BLOCK ? s->n : BLOCK, gradients, products, first, count;
    rfm_real *g = allocate(rows, s->c * d * sizeof *g, "gradients");
    desk room;
    must(rfm_gradients_need(&t->m->ctx, model, &gradients), "gradients");
    must(rfm_syrk_need(&t->m->ctx, d, rows * s->c, &products), "gradients");
    desk_open(t, &room, gradients > products ? gradients : products);
    memset(to, 0, d * d * sizeof *to);
    for (first = 0; first < s->n; first += count) {
        count = s->n - first < rows ? s->n - first : rows;
        must(rfm_gradients(&room.ctx, model, rfm_cview(s->x + first * d, count, d), rfm_view(g, count, s->c * d)),
             "gradients");
        must(rfm_syrk(&room.ctx, RFM_TN, 1 / (rfm_real)s->n, rfm_cview(g, count * s->c, d), 1, rfm_view(to, d, d)),
             "gradients");
    }
    mirror(to, d);
    desk_close(&room);
    free(g);
}

static double cosine(const rfm_real *a, const rfm_real *b, size_t d) {
    rfm_real cos;
    must(rfm_cosine(rfm_cview(a, d, d), rfm_cview(b, d, d), &cos), "cosine");
    return (double)cos;
}

/* ---- RFM ------------------------------------------------------------------------------------ */

static void rfm_train(const trial *t, const call *a, const rfm_data *data, size_t iterations, desk *room,
                      rfm_model *model, rfm_step *path) {
    rfm_options o;
    rfm_report report;
    size_t scratch, store;
    memset(&report, 0, sizeof report);
    report.path = path;
    rfm_options_init(&o);
    o.bandwidth = (rfm_real)a->bandwidth;
    o.ridge = (rfm_real)a->ridge;
    o.iterations = iterations;
    o.score = RFM_SCORE_ACCURACY;
    must(rfm_fit_need(&t->m->ctx, data, &o, &scratch, &store), "RFM");
    desk_open(t, room, scratch + store);
    must(rfm_fit(&room->ctx, data, &o, &room->arena, model, &report), "RFM");
}

/* T, at least 1, with the best accuracy on the rows held out, which is returned. */
static double rfm_held(const trial *t, const call *a, const lab_rows *fit, const lab_rows *held, size_t *iterations) {
    rfm_step path[MOST_ITERATIONS + 1];
    rfm_data data = data_of(fit);
    rfm_model model;
    desk room;
    size_t i;
    data.x_validation = rfm_cview(held->x, held->n, held->d);
    data.y_validation = rfm_cview(held->y, held->n, held->c);
    rfm_train(t, a, &data, a->iterations, &room, &model, path);
    for (*iterations = i = 1; i <= a->iterations; i++)
        if (path[i].score > path[*iterations].score) *iterations = i;
    desk_close(&room);
    return (double)path[*iterations].score;
}

/* The accuracy on `test`; M (d, d). */
static double rfm_row(const trial *t, const call *a, const lab_rows *train, const lab_rows *test, size_t iterations,
                      rfm_real *metric) {
    rfm_step path[MOST_ITERATIONS + 1];
    rfm_data data = data_of(train);
    rfm_model model;
    desk room;
    double right;
    rfm_train(t, a, &data, iterations, &room, &model, path);
    must(rfm_metric(&model, rfm_view(metric, train->d, train->d)), "M");
    right = accuracy(t, &model, test);
    desk_close(&room);
    return right;
}

/* ---- the network ---------------------------------------------------------------------------- */

typedef struct {
    rfm_hyperbf f;
    void *memory;
} network;

/* z (rows, r) = W (x - shift) */
static void project(const trial *t, const rfm_hyperbf *f, const rfm_real *x, size_t rows, rfm_real *z) {
    rfm_real *moved = allocate(rows, f->d * sizeof *moved, "rows");
    desk room;
    size_t bytes, i, j;
    for (i = 0; i < rows; i++)
        for (j = 0; j < f->d; j++) moved[i * f->d + j] = x[i * f->d + j] - f->shift[j];
    must(rfm_gemm_need(&t->m->ctx, rows, f->r, f->d, &bytes), "centres");
    desk_open(t, &room, bytes);
    must(rfm_gemm(&room.ctx, RFM_NT, 1, rfm_cview(moved, rows, f->d), rfm_cview(f->p, f->r, f->d), 0,
                  rfm_view(z, rows, f->r)),
         "centres");
    desk_close(&room);
    free(moved);
}

/* The root mean squared distance |W (x - t_a)| of a row to its nearest centre, of at most a thousand rows. */
static double nearest_centers(const trial *t, network *w, const lab_rows *s) {
    rfm_hyperbf *f = &w->f;
    size_t rows = s->n < 1000 ? s->n : 1000, i, a, j;
    rfm_real *x = allocate(rows, f->d * sizeof *x, "rows"), *z = allocate(rows, f->r * sizeof *z, "rows");
    double sum = 0;
    for (i = 0; i < rows; i++)
        for (j = 0; j < f->d; j++) x[i * f->d + j] = s->x[i * s->n / rows * f->d + j];
    project(t, f, x, rows, z);
    project(t, f, f->inputs, f->n, f->centers);
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
static rfm_model network_model(const trial *t, network *w, rfm_arena *store) {
    rfm_model model;
    size_t bytes;
    project(t, &w->f, w->f.inputs, w->f.n, w->f.centers);
    must(rfm_hyperbf_model_need(&w->f, &bytes), "the network");
    must(rfm_arena_init(store, allocate_aligned(bytes, "the network"), bytes), "the network");
    must(rfm_hyperbf_model(&w->f, store, &model), "the network");
    return model;
}

static double network_accuracy(const trial *t, network *w, const lab_rows *s) {
    rfm_arena store;
    rfm_model model = network_model(t, w, &store);
    double right = accuracy(t, &model, s);
    free(store.base);
    return right;
}

static void network_agop(const trial *t, network *w, const lab_rows *s, rfm_real *to) {
    rfm_arena store;
    rfm_model model = network_model(t, w, &store);
    agop(t, &model, s, to);
    free(store.base);
}

/* W'W */
static void network_metric(const trial *t, const network *w, rfm_real *to) {
    size_t d = w->f.d, bytes;
    desk room;
    must(rfm_syrk_need(&t->m->ctx, d, w->f.r, &bytes), "W'W");
    desk_open(t, &room, bytes);
    must(rfm_syrk(&room.ctx, RFM_TN, 1, rfm_cview(w->f.p, w->f.r, d), 0, rfm_view(to, d, d)), "W'W");
    mirror(to, d);
    desk_close(&room);
}

/* W with W'W = M / trace(M) * d; as many rows as it has, those of the largest eigenvalues. */
static void network_take_metric(const trial *t, network *w, const rfm_real *metric) {
    size_t d = w->f.d, r = w->f.r, q, j;
    rfm_real *copy = allocate(d, d * sizeof *copy, "M"), *values = allocate(r, sizeof *values, "eigenvalues");
    double trace = 0;
    memcpy(copy, metric, d * d * sizeof *copy);
    for (j = 0; j < d; j++) trace += (double)copy[j * (d + 1)];
    lab_eigenvectors(t, copy, d, r, values, w->f.p);
    for (q = 0; q < r; q++) {
        double size = values[q] > 0 ? sqrt((double)values[q] / trace * (double)d) : 0;
        for (j = 0; j < d; j++) w->f.p[q * d + j] = (rfm_real)(size * (double)w->f.p[q * d + j]);
    }
    free(copy);
    free(values);
}

/* C for the centres, W and L as they are: a descent of one step in which nothing moves but by solving. */
static void network_solve(const trial *t, network *w, const lab_rows *train, double ridge) {
    rfm_hyperbf_options o;
    rfm_data data = data_of(train);
    desk room;
    size_t bytes;
    rfm_hyperbf_options_init(&o);
    o.cost.ridge = (rfm_real)ridge;
    o.steps = o.solve = o.batch = 1;
    o.alpha_rate = o.center_rate = o.p_rate = o.offset_rate = 0;
    memset(w->f.alpha, 0, w->f.n * w->f.c * sizeof *w->f.alpha);
    must(rfm_hyperbf_descend_need(&t->m->ctx, &data, &o, &w->f, &bytes), "C");
    desk_open(t, &room, bytes);
    must(rfm_hyperbf_descend(&room.ctx, &data, &o, &w->f, NULL), "C");
    desk_close(&room);
}

/* Centres are means of clusters in each class, W'W = I, or of the inputs' first principal components if W has a lower
 * rank. */
static network network_start(const trial *t, const call *a, const lab_rows *train) {
    network w;
    rfm_data data = data_of(train);
    rfm_hyperbf_start_options o;
    rfm_model plain;
    rfm_arena store;
    desk room;
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
    must(rfm_hyperbf_start_need(&t->m->ctx, &data, &o, &scratch, &kept), "the network's start");
    desk_open(t, &room, scratch);
    w.memory = allocate_aligned(kept, "the network");
    must(rfm_arena_init(&store, w.memory, kept), "the network");
    must(rfm_hyperbf_start(&room.ctx, &data, &o, &store, &w.f), "the network's start");
    desk_close(&room);
    free(zeros);
    return w;
}

/* ---- its descent ---------------------------------------------------------------------------- */

typedef struct {
    size_t step;
    double of_agop, of_rfm; /* cosine of W'W and the network's AGOP, and M of the RFM */
    double right;
} look;

static look look_at(const trial *t, network *w, const lab_rows *train, const lab_rows *test, const rfm_real *metric,
                    size_t step) {
    size_t d = train->d;
    rfm_real *now = allocate(d, d * sizeof *now, "W'W"), *own = allocate(d, d * sizeof *own, "AGOP");
    look l;
    network_metric(t, w, now);
    network_agop(t, w, train, own);
    l.step = step;
    l.of_agop = cosine(now, own, d), l.of_rfm = cosine(now, metric, d);
    l.right = network_accuracy(t, w, test);
    free(now);
    free(own);
    return l;
}

/* fixed: W stays. If `looks` is not NULL, LOOKS + 1 of them are made on the way; `metric` is M of the RFM. */
static void network_descend(const trial *t, const call *a, network *w, const lab_rows *train, const lab_rows *test,
                            double ridge, int fixed, const rfm_real *metric, look *looks) {
    rfm_hyperbf_options o;
    rfm_data data = data_of(train);
    rfm_hyperbf_descent *descent;
    desk room;
    size_t bytes, i, k = 0;
    int status = RFM_OK;
    rfm_hyperbf_options_init(&o);
    o.cost.ridge = (rfm_real)ridge;
    o.steps = a->steps, o.batch = a->batch, o.solve = a->solve;
    o.rate = (rfm_real)a->rate;
    o.look = 50;
    if (fixed) o.p_rate = 0;
    o.seed = (uint32_t)a->seed;
    must(rfm_hyperbf_descend_need(&t->m->ctx, &data, &o, &w->f, &bytes), "the descent");
    desk_open(t, &room, bytes);
    must(rfm_hyperbf_begin(&room.ctx, &data, &o, &w->f, &descent), "the descent");
    for (i = 0; i <= a->steps && status == RFM_OK; i++) {
        for (; looks != NULL && k <= LOOKS && i * LOOKS >= k * a->steps; k++)
            looks[k] = look_at(t, w, train, test, metric, i);
        if (i < a->steps) status = rfm_hyperbf_step(descent);
        progress_show("descent", (double)i, (double)a->steps);
    }
    progress_end();
    must(status, "the descent, which a smaller --rate may help");
    must(rfm_hyperbf_end(descent, NULL), "the descent");
    desk_close(&room);
    network_solve(t, w, train, ridge);
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
static void network_settle(const trial *t, network *w, const lab_rows *train, const choice *c) {
    w->f.bandwidth = (rfm_real)(c->factor * nearest_centers(t, w, train));
    network_solve(t, w, train, c->ridge);
}

/* The best L and ridge for centres and W as they are. */
static choice choose(const trial *t, network *w, const lab_rows *fit, const lab_rows *held) {
    choice best = {0, 0, -1};
    size_t i, k;
    for (i = 0; i < FACTORS; i++)
        for (k = 0; k < RIDGES; k++) {
            choice c;
            c.factor = factors[i], c.ridge = ridges[k];
            network_settle(t, w, fit, &c);
            c.held = network_accuracy(t, w, held);
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
    double right[ROWS];
    double of_rfm, of_agop; /* cosine of W'W with M of the RFM, and with the network's AGOP, at the end */
    look looks[LOOKS + 1];
} results;

/* Centres as at every start, W by the RFM's M. */
static network start_with(const trial *t, const call *a, const lab_rows *train, const rfm_real *metric) {
    network w = network_start(t, a, train);
    network_take_metric(t, &w, metric);
    return w;
}

static choices choose_all(const trial *t, const call *a, const lab_rows *fit, const lab_rows *held) {
    choices c;
    network w;
    rfm_real *metric = allocate(fit->d, fit->d * sizeof *metric, "M");
    c.held[RFM_ROW] = rfm_held(t, a, fit, held, &c.iterations);
    (void)rfm_row(t, a, fit, held, c.iterations, metric);

    w = network_start(t, a, fit);
    c.gd = choose(t, &w, fit, held);
    network_settle(t, &w, fit, &c.gd);
    network_descend(t, a, &w, fit, NULL, c.gd.ridge, 0, NULL, NULL);
    c.held[GD_ROW] = network_accuracy(t, &w, held);
    network_take_metric(t, &w, metric);
    c.agop = choose(t, &w, fit, held);
    c.held[AGOP_ROW] = c.agop.held;
    free(w.memory);

    w = start_with(t, a, fit, metric);
    c.moved = choose(t, &w, fit, held);
    network_settle(t, &w, fit, &c.moved);
    network_descend(t, a, &w, fit, NULL, c.moved.ridge, 1, NULL, NULL);
    c.held[MOVED_ROW] = network_accuracy(t, &w, held);
    free(w.memory);
    free(metric);
    return c;
}

static results make_all(const trial *t, const call *a, const choices *c, const lab_rows *train, const lab_rows *test) {
    results r;
    network w;
    size_t d = train->d;
    rfm_real *metric = allocate(d, d * sizeof *metric, "M"), *now = allocate(d, d * sizeof *now, "W'W");
    rfm_real *own = allocate(d, d * sizeof *own, "AGOP");
    r.right[RFM_ROW] = rfm_row(t, a, train, test, c->iterations, metric);

    w = network_start(t, a, train);
    network_settle(t, &w, train, &c->gd);
    network_descend(t, a, &w, train, test, c->gd.ridge, 0, metric, r.looks);
    r.right[GD_ROW] = network_accuracy(t, &w, test);
    network_metric(t, &w, now);
    network_agop(t, &w, train, own);
    r.of_rfm = cosine(now, metric, d), r.of_agop = cosine(now, own, d);

    network_take_metric(t, &w, metric);
    network_settle(t, &w, train, &c->agop);
    r.right[AGOP_ROW] = network_accuracy(t, &w, test);
    free(w.memory);

    w = start_with(t, a, train, metric);
    network_settle(t, &w, train, &c->moved);
    network_descend(t, a, &w, train, NULL, c->moved.ridge, 1, NULL, NULL);
    r.right[MOVED_ROW] = network_accuracy(t, &w, test);
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

/* r NULL: no test rows were looked at. */
static void show(text *sheet, const call *a, const lab_rows *train, const lab_rows *test, const choices *c,
                 const results *r) {
    static const char *const words[ROWS] = {"RFM", "AGOP: the RFM's M, the network's centres", "GD: the network",
                                            "AGOP, moved: centres moved under it"};
    static const char *const paper[ROWS] = {"96.56", "96.88", "97.34", ""};
    size_t i;
    sheet_say(sheet,
              "%s: %zu rows to train, %zu to test, %zu inputs that vary, %zu classes. RFM: laplace, L = %g, ridge %g, "
              "T = %zu. Network: %s, %zu centres, rank %zu, %zu steps. T, widths and ridges are chosen on a fifth of "
              "the training rows; L in distances to the nearest centre, and ridge: AGOP %g, %g; GD %g, %g; moved %g, "
              "%g.",
              a->data, train->n, test->n, train->d, train->c, a->bandwidth, a->ridge, c->iterations, a->kernel,
              a->centers, a->rank > 0 && a->rank < train->d ? a->rank : train->d, a->steps, c->agop.factor,
              c->agop.ridge, c->gd.factor, c->gd.ridge, c->moved.factor, c->moved.ridge);
    sheet_table(sheet, "machine|test %|paper: MNIST %|held out %");
    for (i = 0; i < ROWS; i++) {
        if (r == NULL)
            sheet_row(sheet, "%s||%s|%.2f", words[i], paper[i], 100 * c->held[i]);
        else
            sheet_row(sheet, "%s|%.2f|%s|%.2f", words[i], 100 * r->right[i], paper[i], 100 * c->held[i]);
    }
    if (r == NULL) return;
    sheet_row(sheet, "the first three apart, points|%.2f|0.78|%.2f", 100 * apart(r->right), 100 * apart(c->held));
    sheet_table(sheet, "step|cosine of W'W and the RFM's M|and the network's own AGOP|test %|paper");
    for (i = 0; i <= LOOKS; i++)
        sheet_row(sheet, "%zu|%.3f|%.3f|%.2f|", r->looks[i].step, r->looks[i].of_rfm, r->looks[i].of_agop,
                  100 * r->looks[i].right);
    sheet_row(sheet, "the best state|%.3f|%.3f|%.2f|1 as an argument", r->of_rfm, r->of_agop, 100 * r->right[GD_ROW]);
    sheet_chart(sheet, "Cosine of W'W with ...", "steps", "cosine");
    for (i = 0; i <= LOOKS; i++) {
        sheet_point(sheet, "the RFM's M", (double)r->looks[i].step, r->looks[i].of_rfm);
        sheet_point(sheet, "the network's own AGOP", (double)r->looks[i].step, r->looks[i].of_agop);
    }
    sheet_say(sheet, "The paper does not give its rows, centres, widths and rates, so those here are ours, and it has "
                     "MNIST at 28 x 28 pixels. It argues that W'W follows the AGOP; how near it comes is measured "
                     "here.");
}

void table1(const trial *t, text *sheet) {
    text files = {NULL, 0, 0};
    lab_rows train, test, fit, held;
    size_t split;
    call a = asked;
    choices c;
    results r;
    check(&a);
    text_add(&files, t->data != NULL ? "%s/mnist14.csv" : "tools/data/digits.csv", t->data);
    text_bytes(&files, "", 1), split = files.size;
    text_add(&files, t->data != NULL ? "%s/mnist14.split" : "tools/data/digits.split", t->data);
    text_bytes(&files, "", 1);
    if (a.data == NULL) a.data = files.at, a.split = files.at + split;
    if (t->quick) {
        if (a.rows == 0 || a.rows > 400) a.rows = 400;
        if (a.steps > 100) a.steps = 100;
        a.iterations = 1;
    }
    a.seed = t->seed;
    read_samples(&a, &train, &test);
    hold_out(&a, &train, &fit, &held);
    if (a.centers == 0) a.centers = train.n / 4 < 1000 ? train.n / 4 : 1000;
    if (a.centers < train.c) usage("--centers: expected at least one for each of %zu classes", train.c);
    if (a.centers > train.n) a.centers = train.n;
    c = choose_all(t, &a, &fit, &held);
    if (!a.held_out) r = make_all(t, &a, &c, &train, &test);
    show(sheet, &a, &train, &test, &c, a.held_out ? NULL : &r);
    free(files.at);
    rows_free(&train);
    rows_free(&test);
    rows_free(&fit);
    rows_free(&held);
}
