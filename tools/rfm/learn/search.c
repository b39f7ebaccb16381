/* The search has two stages, both inside the training rows.
 *
 * 1. Every setting (kernel, metric, centring, bandwidth, ridge) is fitted on parts of the rows and scored on the others
 *    by squared error; one fit scores all T at once. Up to FOLD_ROWS rows: FOLDS-fold cross-validation, M learned anew
 *    in every fold; above: one hold-out of a fifth. Of a second kernel, and when all settings would take too long, one
 *    coordinate after the other. A third kernel has no metric.
 * 2. The best few of them are fitted again on new folds, several times for small sets, and their predictions of the
 *    held-out rows decide: by accuracy, then squared error for classes; by squared error for numbers. The temperature
 *    of the confidence comes from the same predictions.
 *
 * Inputs may be made of the columns in other ways than the standard one: clipped, by ranks (knots.h). The first stage
 * tries the best setting of each kernel and metric with these. What does better than every standard setting is in the
 * short list, too. It is chosen if it is the best there, and its squared error is below that of every standard one by
 * more than a standard error of the difference, over the rows that are held out.
 *
 * Where rows have weights, errors and losses of the held-out ones have them, too: in the first stage a row is there as
 * often as its weight says. A model that undoes weights of classes would look best by plain errors. Where classes count
 * the same and one of them has few rows, all of these are held out in turn, in folds, and fits leave out rows of
 * frequent classes.
 *
 * Where a mean of models is wanted, the short list has the best of every kernel and metric. For numbers their weights
 * are equal: beginning with the least squared error, the model is added whose company lowers that of the held-out rows
 * most, until none lowers it. For classes, accuracy has few steps, and a model whose outputs are small has a large
 * squared error though its decisions are right. So each gets its temperature, and the weights are those of the least
 * loss of the probabilities; without the model of the smallest weight, until all are large enough. That may be one.
 *
 * The pieces of work do not depend on the number of threads, nor does what is made of them. */
#include "search.h"

#include "rfm_certify.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define HOLD_OUT_ROWS   2000  /* to score on, at most */
#define FIRST_FIT_ROWS  2500  /* above FOLD_ROWS: to fit on, first stage */
#define SECOND_FIT_ROWS 5000  /* and second stage */
#define FEW_ROWS        1000  /* each, where only one setting is left to judge */
#define RARE_ROWS       50    /* of a class in a hold-out: fewer are too few to choose by */
#define RARE_OF         20000 /* rows, at most: of more, a hold-out has to do */
#define RARE_FIT_ROWS   1500  /* to fit on in each fold then, first stage */
#define RARE_SECOND     2500  /* and second stage */
#define MOST_TIMES      4     /* as many rows as are held out, where they are there by their weights */
#define GRID_WORK       3e11  /* multiplications that all settings together may take */
#define SHORT_LIST      8
#define WAY_FAMILIES    4 /* settings that are tried with inputs made in other ways */
#define WAY_LIST        2 /* of each way, so many more; for a mean of models: */
#define WAY_LIST_MEAN   4
#define MOST_LISTED     (SHORT_LIST + (WAYS - 1) * WAY_LIST_MEAN)
#define CLEAR           1 /* standard errors by which another way has to do better */
#define MOST_PARTS      40
#define EQUAL_ROWS      10   /* of classes: so many rows more would want equal weights in a mean */
#define LEAST_WEIGHT    0.05 /* of a model of a mean */

/* ---- parts of the rows ---------------------------------------------------------------------- */

static hold_rules parts_apart(const search_problem *p, uint64_t seed) {
    hold_rules h = p->apart;
    h.rows = p->x.rows, h.seed = seed;
    return h;
}

static int is_apart(const search_problem *p) { return p->apart.groups != NULL || p->apart.times != NULL; }

/* 1 if a class that counts as much as the others has too few rows for one hold-out. */
static int is_rare(const search_problem *p) {
    size_t n = p->x.rows, least = n, i, *count;
    if (!p->even || n <= FOLD_ROWS || n > RARE_OF) return 0;
    count = allocate(p->classes, sizeof *count, "classes");
    for (i = 0; i < n; i++) count[p->labels[i]]++;
    for (i = 0; i < p->classes; i++)
        if (count[i] > 0 && count[i] < least) least = count[i];
    free(count);
    return least / FOLDS < RARE_ROWS;
}

static int in_folds(const search_problem *p) { return p->x.rows <= FOLD_ROWS || is_rare(p); }

/* Leaves out rows of the classes that have most, until `most` are left; how many stay. */
static size_t thin_classes(const search_problem *p, uint32_t *rows, size_t count, size_t most) {
    size_t *of = allocate(p->classes, sizeof *of, "classes"), each = count, left = count, kept = 0, i, k;
    for (i = 0; i < count; i++) of[p->labels[rows[i]]]++;
    while (left > most && each > 1) { /* the largest number of rows of each class that is not too large */
        size_t lower = each - (left - most + p->classes - 1) / p->classes;
        each = lower > 0 && lower < each ? lower : each - 1;
        for (k = left = 0; k < p->classes; k++) left += of[k] < each ? of[k] : each;
    }
    memset(of, 0, p->classes * sizeof *of);
    for (i = 0; i < count; i++)
        if (of[p->labels[rows[i]]]++ < each) rows[kept++] = rows[i];
    free(of);
    return kept;
}

/* All classes of the part get the same weight, as in all rows. */
static void even_weights(const search_problem *p, part *a, const uint32_t *fit) {
    double *sum = allocate(p->classes, sizeof *sum, "weights"), all = 0;
    size_t i, k, present = 0;
    for (i = 0; i < a->n; i++) sum[p->labels[fit[i]]] += (double)a->weights[i], all += 1;
    for (k = 0; k < p->classes; k++) present += sum[k] > 0;
    for (i = 0; i < a->n; i++) {
        k = p->labels[fit[i]];
        if (sum[k] > 0) a->weights[i] = (rfm_real)((double)a->weights[i] * all / (sum[k] * (double)present));
    }
    free(sum);
}

/* The held-out rows, each as often as its weight says: to be scored by plain means. In all parts together these are at
 * most MOST_TIMES as many rows. *count is how many; NULL: none of them counts. To be freed. */
static uint32_t *rows_by_weight(const search_problem *p, const uint32_t *held, size_t *count) {
    size_t n = p->x.rows, i, made = 0;
    uint32_t *rows;
    double sum = 0, least = (double)INFINITY, unit, at = 0.5;
    for (i = 0; i < n; i++) {
        sum += (double)p->weights[i];
        if (p->weights[i] > 0) least = fmin(least, (double)p->weights[i]);
    }
    unit = fmax(least, sum / (double)n / MOST_TIMES);
    for (i = 0, sum = 1; i < *count; i++) sum += (double)p->weights[held[i]] / unit;
    if (sum < 2) return NULL;
    rows = allocate((size_t)sum + 1, sizeof *rows, "held-out rows");
    for (i = 0; i < *count; i++) {
        double next = at + (double)p->weights[held[i]] / unit;
        size_t times = (size_t)(floor(next) - floor(at));
        for (at = next; times > 0; times--) rows[made++] = held[i];
    }
    *count = made;
    return rows;
}

/* One part; `most_fit` above 0: at most so many rows to fit. by_weight: rows_by_weight. */
static part one_part(const search_problem *p, uint32_t *fit, size_t count, const uint32_t *held, size_t v,
                     size_t most_fit, int by_weight) {
    uint32_t *rows = by_weight && p->weights != NULL ? rows_by_weight(p, held, &v) : NULL;
    part made;
    if (most_fit > 0 && count > most_fit) count = thin_classes(p, fit, count, most_fit);
    made = part_make(p->x, p->y, NULL, p->x.cols, fit, count, rows != NULL ? rows : held, v);
    part_weigh(&made, p->weights, fit);
    if (most_fit > 0) even_weights(p, &made, fit);
    free(rows);
    return made;
}

/* Folds of whole groups, or later and later ones; those that leave nothing to fit or to score are none. */
static size_t add_apart(const search_problem *p, uint64_t seed, size_t folds, size_t most_fit, int by_weight,
                        part *parts) {
    hold_rules h = parts_apart(p, seed);
    size_t n = p->x.rows, f, count, v, made = 0, *fold = allocate(n, sizeof *fold, "folds");
    uint32_t *fit = allocate(n, sizeof *fit, "folds"), *held = allocate(n, sizeof *held, "folds");
    hold_folds(&h, folds, fold);
    for (f = 0; f < folds; f++) {
        hold_part(&h, fold, f, fit, &count, held, &v);
        if (count == 0 || v == 0) continue;
        rows_shuffle(fit, count, seed + f);
        parts[made++] = one_part(p, fit, count, held, v, most_fit, by_weight);
    }
    if (made == 0) fail("too few groups or times among the training rows to hold some out");
    free(fold);
    free(fit);
    free(held);
    return made;
}

static size_t add_folds(const search_problem *p, uint64_t seed, size_t most_fit, int by_weight, part *parts) {
    size_t n = p->x.rows, folds = n < FOLDS ? n : FOLDS, f, count, v;
    uint32_t *fit, *held, *order;
    if (is_apart(p)) return add_apart(p, seed, folds, most_fit, by_weight, parts);
    order = rows_in_turn(n, p->labels, p->classes, seed);
    fit = allocate(n, sizeof *fit, "folds"), held = allocate(n, sizeof *held, "folds");
    for (f = 0; f < folds; f++) {
        rows_fold(order, n, folds, f, fit, &count, held, &v);
        rows_shuffle(fit, count, seed + f); /* the median is taken of evenly spread rows: no class after the other */
        parts[f] = one_part(p, fit, count, held, v, most_fit, by_weight);
    }
    free(order);
    free(fit);
    free(held);
    return folds;
}

/* Puts rows that are held out before the others; how many. */
static size_t held_first(const search_problem *p, uint64_t seed, size_t count, uint32_t *order) {
    hold_rules h = parts_apart(p, seed);
    size_t n = p->x.rows, i, taken = 0, left = 0;
    unsigned char *held = allocate(n, 1, "folds");
    uint32_t *sorted = allocate(n, sizeof *sorted, "folds");
    size_t v = hold_out(&h, count, held);
    if (v == 0 || v == n) fail("too few groups or times among the training rows to hold some out");
    for (i = 0; i < n; i++) {
        if (held[order[i]])
            sorted[taken++] = order[i];
        else
            sorted[v + left++] = order[i];
    }
    memcpy(order, sorted, n * sizeof *order);
    free(held);
    free(sorted);
    return v;
}

static size_t add_hold_out(const search_problem *p, uint64_t seed, size_t most_fit, size_t most_held, int by_weight,
                           part *parts) {
    size_t n = p->x.rows, v = n / FOLDS > 0 ? n / FOLDS : 1, count;
    uint32_t *order = rows_in_turn(n, NULL, 0, seed);
    if (is_apart(p)) v = held_first(p, seed, v, order);
    if (v > most_held) v = most_held;
    count = n - v < most_fit ? n - v : most_fit;
    parts[0] = one_part(p, order + v, count, order, v, 0, by_weight);
    free(order);
    return 1;
}

double fit_work(double n, double d, double c, const rfm_options *o) {
    double T = o->metric == RFM_IDENTITY ? 0 : (double)o->iterations;
    double points = o->agop_points > 0 ? (double)o->agop_points : n;
    return (T + 1) * (n * n * n / 6 + n * n * d / 2 + n * n * c) +
           T * (n * points * c * d + (o->metric == RFM_FULL ? n * d * d : 0));
}

/* ---- work ----------------------------------------------------------------------------------- */

typedef struct {
    int way; /* of making inputs: WAY_... */
    int kernel, metric, center;
    size_t bandwidth, ridge; /* indices */
} setting;

typedef struct {
    setting s;
    double *loss; /* (last_iterations + 1) mean squared error on held-out rows; infinite: not known */
} tried_setting;

typedef struct {
    size_t tried; /* index */
    size_t t;
    double loss;   /* of the first stage */
    rfm_real *out; /* second stage: (repeats, n, c) predictions of the held-out rows */
    int complete;
    double accuracy;       /* of the decisions, moved by the shift */
    double share, squared; /* of the weights that are decided rightly; mean squared error by weight */
    double tuned, shift;   /* by what is tuned for; what is added to the output of two classes for it */
} candidate;

/* Models of the list and their weights in a mean. */
typedef struct {
    size_t count;
    const candidate *of[MOST_LISTED];
    double weights[MOST_LISTED], temperature[MOST_LISTED];
} mixture;

typedef struct {
    const search_problem *p;
    double stop_at;               /* 0: never */
    double unit;                  /* the mean of the weights */
    int stopped, last;            /* last: no time is left, and what is done now is done to the end */
    part parts[WAYS][MOST_PARTS]; /* of all ways that are tried: the same rows */
    size_t part_count, repeats;
    tried_setting *tried;
    size_t tried_count;
    /* a batch */
    size_t first, jobs;
    double *losses; /* (jobs, T + 1) */
    candidate *list;
    int *complete;     /* (jobs) */
    rfm_arena *arenas; /* (workers) */
    double work_done, work_all;
    pthread_mutex_t lock;
} work;

/* Further parts, of every way the same: folds, or with most_held above 0 one hold-out. */
static void add_parts(work *w, uint64_t seed, size_t most_fit, size_t most_held, int by_weight) {
    size_t made = 0;
    int way;
    for (way = 0; way < WAYS; way++) {
        search_problem p = *w->p;
        part *to = w->parts[way] + w->part_count;
        if (way != WAY_STANDARD) p.x = p.other[way];
        if (p.x.at == NULL) continue;
        made = most_held > 0 ? add_hold_out(&p, seed, most_fit, most_held, by_weight, to)
                             : add_folds(&p, seed, most_fit, by_weight, to);
    }
    w->part_count += made;
}

static void free_parts(work *w) {
    size_t i;
    int way;
    for (way = 0; way < WAYS; way++)
        for (i = 0; i < w->part_count; i++) part_free(&w->parts[way][i]);
    memset(w->parts, 0, sizeof w->parts);
    w->part_count = 0;
}

static int stop_tick(void *arg, rfm_real done) {
    work *w = arg;
    (void)done;
    return !w->last && (*w->p->interrupted != 0 || (w->stop_at > 0 && seconds_now() > w->stop_at));
}

static size_t inputs_of(const search_problem *p, int way) {
    return way == WAY_STANDARD ? p->x.cols : p->other[way].cols;
}

static rfm_options options_of(const work *w, const setting *s, size_t iterations) {
    rfm_options o = w->p->base;
    o.kernel = s->kernel, o.metric = s->metric, o.center = s->center;
    o.bandwidth_rule = w->p->bandwidth_rule;
    o.bandwidth = (rfm_real)w->p->bandwidths[s->bandwidth];
    o.ridge = (rfm_real)w->p->ridges[s->ridge];
    o.iterations = s->metric == RFM_IDENTITY ? 0 : iterations;
    return o;
}

static rfm_ctx worker_ctx(work *w, size_t worker) {
    rfm_ctx ctx;
    memset(&ctx, 0, sizeof ctx);
    ctx.arena = &w->arenas[worker];
    ctx.port = w->p->machine->ctx.port;
    ctx.tick = stop_tick;
    ctx.tick_arg = w;
    return ctx;
}

/* A bar for all of the search, by work: jobs differ. */
static void job_done(work *w, size_t worker, const part *a, size_t d, const rfm_options *o) {
    double done;
    pthread_mutex_lock(&w->lock);
    done = w->work_done += fit_work((double)a->n, (double)d, (double)w->p->y.cols, o);
    pthread_mutex_unlock(&w->lock);
    if (worker == 0) progress_show("trying settings", done, w->work_all);
}

/* Scores of all T of one setting on one part. */
static void path_job(void *arg, size_t index, size_t worker) {
    work *w = arg;
    const search_problem *p = w->p;
    const setting *s = &w->tried[w->first + index / w->part_count].s;
    const part *a = &w->parts[s->way][index % w->part_count];
    const size_t d = inputs_of(p, s->way);
    rfm_ctx ctx = worker_ctx(w, worker);
    rfm_options o = options_of(w, s, p->last_iterations);
    rfm_data data;
    rfm_model model;
    rfm_report report;
    rfm_step path[64];
    size_t t, steps = p->last_iterations + 1;
    if (stop_tick(w, 0)) return;
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(a->x, a->n, d), data.y = rfm_cview(a->y, a->n, p->y.cols), data.start = p->start;
    data.x_validation = rfm_cview(a->xv, a->v, d), data.y_validation = rfm_cview(a->yv, a->v, p->y.cols);
    data.weights = a->weights;
    report.path = path;
    if (rfm_fit(&ctx, &data, &o, ctx.arena, &model, &report) == RFM_OK) {
        for (t = 0; t < steps && t <= o.iterations; t++) w->losses[index * steps + t] = (double)path[t].score;
        w->complete[index] = 1;
        rfm_arena_release(ctx.arena, 0);
    }
    job_done(w, worker, a, d, &o);
}

/* Predictions of the held-out rows of one part by one candidate. */
static void candidate_job(void *arg, size_t index, size_t worker) {
    work *w = arg;
    const search_problem *p = w->p;
    size_t n = p->x.rows, c = p->y.cols, at = index % w->part_count, i, bytes = 0;
    size_t repeat = w->repeats > 1 ? at / (w->part_count / w->repeats) : 0;
    candidate *k = &w->list[index / w->part_count];
    const setting *s = &w->tried[k->tried].s;
    const part *a = &w->parts[s->way][at];
    const size_t d = inputs_of(p, s->way);
    rfm_ctx ctx = worker_ctx(w, worker);
    rfm_options o = options_of(w, s, k->t);
    rfm_data data;
    rfm_model model;
    rfm_real *y = NULL;
    void *memory = NULL;
    rfm_arena arena;
    int status;
    if (stop_tick(w, 0)) return;
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(a->x, a->n, d), data.y = rfm_cview(a->y, a->n, c), data.start = p->start;
    data.weights = a->weights;
    status = rfm_fit(&ctx, &data, &o, ctx.arena, &model, NULL);
    if (status == RFM_OK) {
        rfm_ctx second = ctx;
        second.arena = &arena;
        rfm_arena_measure(&arena);
        status = rfm_predict_need(&second, &model, a->v, &bytes);
        memory = allocate_aligned(bytes, "predictions");
        y = allocate(a->v, c * sizeof *y, "predictions");
        if (status == RFM_OK) status = rfm_arena_init(&arena, memory, bytes);
        if (status == RFM_OK) status = rfm_predict(&second, &model, rfm_cview(a->xv, a->v, d), rfm_view(y, a->v, c));
        if (status == RFM_OK) {
            for (i = 0; i < a->v; i++) memcpy(k->out + (repeat * n + a->rows[i]) * c, y + i * c, c * sizeof *y);
            w->complete[index] = 1;
        }
        rfm_arena_release(ctx.arena, 0);
    }
    free(y);
    free(memory);
    job_done(w, worker, a, d, &o);
}

/* Runs a batch of jobs; each worker has an arena of `bytes`. */
static void run_batch(work *w, rfm_job job, size_t jobs, size_t bytes) {
    machine *m = w->p->machine;
    size_t workers = m->ctx.run != NULL ? m->ctx.workers : 1, i;
    char *memory;
    size_t each = (bytes + 63) / 64 * 64;
    if (workers > jobs) workers = jobs > 0 ? jobs : 1;
    if (each > SIZE_MAX / m->ctx.workers) fail("out of memory: %zu bytes for each thread of the search", each);
    memory = allocate_aligned(each * m->ctx.workers, "the search");
    w->arenas = allocate(m->ctx.workers, sizeof *w->arenas, "arenas");
    for (i = 0; i < m->ctx.workers; i++) (void)rfm_arena_init(&w->arenas[i], memory + i * each, each);
    w->complete = allocate(jobs, sizeof *w->complete, "jobs");
    w->jobs = jobs;
    if (m->ctx.run != NULL)
        m->ctx.run(m->ctx.pool, job, w, jobs);
    else
        for (i = 0; i < jobs; i++) job(w, i, 0);
    free(memory);
    free(w->arenas);
    w->stopped = w->stopped || stop_tick(w, 0);
}

static size_t fit_bytes(work *w, const setting *s, size_t iterations, int validation) {
    const search_problem *p = w->p;
    size_t most = 0, i, d = inputs_of(p, s->way);
    for (i = 0; i < w->part_count; i++) {
        rfm_options o = options_of(w, s, iterations);
        rfm_data data;
        rfm_ctx ctx;
        rfm_arena none;
        size_t scratch = 0, store = 0;
        const part *a = &w->parts[s->way][i];
        int status;
        memset(&ctx, 0, sizeof ctx);
        memset(&data, 0, sizeof data);
        rfm_arena_measure(&none);
        ctx.arena = &none, ctx.port = p->machine->ctx.port;
        data.x = rfm_cview(a->x, a->n, d), data.y = rfm_cview(a->y, a->n, p->y.cols), data.start = p->start;
        data.weights = a->weights;
        if (validation)
            data.x_validation = rfm_cview(a->xv, a->v, d), data.y_validation = rfm_cview(a->yv, a->v, p->y.cols);
        status = rfm_fit_need(&ctx, &data, &o, &scratch, &store);
        if (status != RFM_OK) fail("cannot train with these settings: %s", rfm_status_text(status));
        if (scratch + store > most) most = scratch + store;
    }
    return most;
}

/* ---- first stage ---------------------------------------------------------------------------- */

static void add_setting(work *w, int way, int kernel, int metric, int center, size_t bandwidth, size_t ridge) {
    size_t i, steps = w->p->last_iterations + 1, t;
    tried_setting *more;
    for (i = 0; i < w->tried_count; i++) {
        const setting *s = &w->tried[i].s;
        if (s->way == way && s->kernel == kernel && s->metric == metric && s->center == center &&
            s->bandwidth == bandwidth && s->ridge == ridge)
            return;
    }
    more = realloc(w->tried, (w->tried_count + 1) * sizeof *more);
    if (more == NULL) fail("out of memory: the list of settings");
    w->tried = more;
    more += w->tried_count++;
    more->s.way = way, more->s.kernel = kernel, more->s.metric = metric, more->s.center = center;
    more->s.bandwidth = bandwidth, more->s.ridge = ridge;
    more->loss = allocate(steps, sizeof *more->loss, "scores");
    for (t = 0; t < steps; t++) more->loss[t] = (double)INFINITY;
}

/* Scores the settings from w->first on. */
static void run_settings(work *w, size_t first) {
    size_t steps = w->p->last_iterations + 1, count = w->tried_count - first, jobs = count * w->part_count, bytes = 0,
           i, j, t;
    if (count == 0 || w->stopped) return;
    w->first = first;
    for (i = first; i < w->tried_count; i++) {
        size_t need = fit_bytes(w, &w->tried[i].s, w->p->last_iterations, 1);
        if (need > bytes) bytes = need;
    }
    w->losses = allocate(jobs, steps * sizeof *w->losses, "scores");
    run_batch(w, path_job, jobs, bytes);
    for (i = 0; i < count; i++) {
        tried_setting *s = &w->tried[first + i];
        size_t last = s->s.metric == RFM_IDENTITY ? 0 : w->p->last_iterations, rows = 0;
        int complete = 1;
        for (j = 0; j < w->part_count; j++) complete = complete && w->complete[i * w->part_count + j];
        if (!complete) continue;
        for (j = 0; j < w->part_count; j++) rows += w->parts[WAY_STANDARD][j].v;
        for (t = 0; t <= last; t++) {
            s->loss[t] = 0;
            for (j = 0; j < w->part_count; j++)
                s->loss[t] +=
                    w->losses[(i * w->part_count + j) * steps + t] * (double)w->parts[WAY_STANDARD][j].v / (double)rows;
        }
    }
    free(w->losses);
    free(w->complete);
}

/* The smallest loss of a setting among the T that are wanted. */
static double best_loss(const work *w, const tried_setting *s, size_t *best_t) {
    double best = (double)INFINITY;
    size_t t;
    for (t = s->s.metric == RFM_IDENTITY ? 0 : w->p->first_iterations; t <= w->p->last_iterations; t++) {
        if (s->loss[t] < best) {
            best = s->loss[t];
            if (best_t != NULL) *best_t = t;
        }
        if (s->s.metric == RFM_IDENTITY) break;
    }
    return best;
}

static const tried_setting *best_of_metric(const work *w, int kernel, int metric) {
    const tried_setting *best = NULL;
    size_t i;
    for (i = 0; i < w->tried_count; i++)
        if (w->tried[i].s.kernel == kernel && w->tried[i].s.metric == metric &&
            (best == NULL || best_loss(w, &w->tried[i], NULL) < best_loss(w, best, NULL)))
            best = &w->tried[i];
    return best;
}

/* Multiplications of a path on the parts. */
static double path_work(const work *w, int metric) {
    double n = (double)w->parts[WAY_STANDARD][0].n, d = (double)w->p->x.cols, c = (double)w->p->y.cols;
    double T = metric == RFM_IDENTITY ? 0 : (double)w->p->last_iterations;
    return (double)w->part_count *
           ((T + 1) * (n * n * n / 6 + n * n * d / 2) + T * (n * n * c * d + (metric == RFM_FULL ? n * d * d : 0)));
}

/* Settings that need no centring: P stays as it is, or the kernel is not the first. */
static size_t centers_of(const search_problem *p, size_t kernel, int metric) {
    return metric == RFM_IDENTITY || kernel > 0 ? 1 : p->center_count;
}

/* Settings of a third kernel have no metric. */
static size_t metrics_of(const search_problem *p, size_t kernel) { return kernel < 2 ? p->metric_count : 1; }

static void whole_grid(work *w, size_t kernel) {
    const search_problem *p = w->p;
    size_t first = w->tried_count, m, l, r, k;
    for (m = 0; m < p->metric_count; m++)
        for (k = 0; k < centers_of(p, kernel, p->metrics[m]); k++)
            for (l = 0; l < p->bandwidth_count; l++)
                for (r = 0; r < p->ridge_count; r++)
                    add_setting(w, WAY_STANDARD, p->kernels[kernel], p->metrics[m], p->centers[k], l, r);
    run_settings(w, first);
}

/* One coordinate after the other: bandwidth, ridge, bandwidth again, centring; but all plain kernels. */
static void coordinates(work *w, size_t at_kernel) {
    const search_problem *p = w->p;
    int kernel = p->kernels[at_kernel];
    size_t m, l, r, k, round;
    for (round = 0; round < 4; round++) {
        size_t first = w->tried_count;
        for (m = 0; m < metrics_of(p, at_kernel); m++) {
            int metric = p->metrics[m];
            const tried_setting *at = best_of_metric(w, kernel, metric);
            setting s;
            if (at == NULL && round > 0) continue;
            memset(&s, 0, sizeof s);
            if (at != NULL) s = at->s;
            if (metric == RFM_IDENTITY) {
                for (l = 0; round == 0 && l < p->bandwidth_count; l++)
                    for (r = 0; r < p->ridge_count; r++)
                        add_setting(w, WAY_STANDARD, kernel, metric, p->centers[0], l, r);
            } else if (round == 0) {
                for (l = 0; l < p->bandwidth_count; l++)
                    add_setting(w, WAY_STANDARD, kernel, metric, p->centers[0], l, p->ridge_count / 2);
            } else if (round == 1) {
                for (r = 0; r < p->ridge_count; r++)
                    add_setting(w, WAY_STANDARD, kernel, metric, s.center, s.bandwidth, r);
            } else if (round == 2) {
                if (s.bandwidth > 0) add_setting(w, WAY_STANDARD, kernel, metric, s.center, s.bandwidth - 1, s.ridge);
                if (s.bandwidth + 1 < p->bandwidth_count)
                    add_setting(w, WAY_STANDARD, kernel, metric, s.center, s.bandwidth + 1, s.ridge);
            } else {
                for (k = 0; k < centers_of(p, at_kernel, metric); k++)
                    add_setting(w, WAY_STANDARD, kernel, metric, p->centers[k], s.bandwidth, s.ridge);
            }
        }
        run_settings(w, first);
    }
}

/* The best setting of each kernel and metric, the best of them first; how many. */
static size_t best_families(const work *w, setting *best, size_t most) {
    const search_problem *p = w->p;
    double losses[6];
    size_t k, m, i, count = 0;
    for (k = 0; k < p->kernel_count; k++)
        for (m = 0; m < metrics_of(p, k); m++) {
            const tried_setting *at = best_of_metric(w, p->kernels[k], p->metrics[m]);
            double loss = at != NULL ? best_loss(w, at, NULL) : (double)INFINITY;
            if (!isfinite(loss)) continue;
            for (i = count < most ? count++ : most; i > 0 && loss < losses[i - 1]; i--)
                if (i < most) losses[i] = losses[i - 1], best[i] = best[i - 1];
            if (i < most) losses[i] = loss, best[i] = at->s;
        }
    return count;
}

static const tried_setting *best_of_way(const work *w, int way) {
    const tried_setting *best = NULL;
    size_t i;
    for (i = 0; i < w->tried_count; i++)
        if (w->tried[i].s.way == way && (best == NULL || best_loss(w, &w->tried[i], NULL) < best_loss(w, best, NULL)))
            best = &w->tried[i];
    return best;
}

/* The bandwidths and ridges beside a setting. */
static void add_neighbours(work *w, setting s) {
    const search_problem *p = w->p;
    if (s.bandwidth > 0) add_setting(w, s.way, s.kernel, s.metric, s.center, s.bandwidth - 1, s.ridge);
    if (s.bandwidth + 1 < p->bandwidth_count)
        add_setting(w, s.way, s.kernel, s.metric, s.center, s.bandwidth + 1, s.ridge);
    if (s.ridge > 0) add_setting(w, s.way, s.kernel, s.metric, s.center, s.bandwidth, s.ridge - 1);
    if (s.ridge + 1 < p->ridge_count) add_setting(w, s.way, s.kernel, s.metric, s.center, s.bandwidth, s.ridge + 1);
}

/* The best settings once more with inputs that are made in other ways; where one does better, what is beside it. */
static void other_ways(work *w) {
    setting best[WAY_FAMILIES];
    size_t count = best_families(w, best, WAY_FAMILIES), first = w->tried_count, i;
    double least = count > 0 ? best_loss(w, best_of_way(w, WAY_STANDARD), NULL) : 0;
    int way;
    for (way = 1; way < WAYS; way++)
        for (i = 0; w->p->other[way].at != NULL && i < count; i++)
            add_setting(w, way, best[i].kernel, best[i].metric, best[i].center, best[i].bandwidth, best[i].ridge);
    run_settings(w, first);
    first = w->tried_count;
    for (way = 1; way < WAYS; way++) {
        const tried_setting *at = best_of_way(w, way);
        if (at != NULL && best_loss(w, at, NULL) < least) add_neighbours(w, at->s);
    }
    run_settings(w, first);
}

static void first_stage(work *w) {
    const search_problem *p = w->p;
    size_t m, k, each = p->bandwidth_count * p->ridge_count;
    double cost = 0;
    for (m = 0; m < p->metric_count; m++)
        cost += path_work(w, p->metrics[m]) * (double)(each * centers_of(p, 0, p->metrics[m]));
    for (k = 0; k < p->kernel_count; k++) {
        if (k == 0 && cost <= GRID_WORK)
            whole_grid(w, k);
        else
            coordinates(w, k);
    }
    other_ways(w);
}

/* ---- second stage --------------------------------------------------------------------------- */

static int by_loss(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->loss != y->loss) return x->loss < y->loss ? -1 : 1;
    if (x->tried != y->tried) return x->tried < y->tried ? -1 : 1;
    return x->t < y->t ? -1 : x->t > y->t;
}

static int same_family(const work *w, const candidate *a, const candidate *b) {
    const setting *x = &w->tried[a->tried].s, *y = &w->tried[b->tried].s;
    return x->kernel == y->kernel && (a->t == 0 ? RFM_IDENTITY : x->metric) == (b->t == 0 ? RFM_IDENTITY : y->metric);
}

/* The best of every kernel and metric, then the best of the rest. */
static size_t list_of_families(const work *w, const candidate *every, size_t all, candidate *list, size_t most) {
    size_t i, k, pass, count = 0;
    for (pass = 0; pass < 2; pass++)
        for (i = 0; i < all && count < most; i++) {
            int is_there = 0;
            for (k = 0; k < count; k++)
                is_there = is_there || (pass == 0 ? same_family(w, &list[k], &every[i])
                                                  : list[k].tried == every[i].tried && list[k].t == every[i].t);
            if (!is_there) list[count++] = every[i];
        }
    return count;
}

/* The best by squared error, at most two T of a setting, and the best plain kernel among them. */
static size_t short_list(work *w, candidate *list, size_t most) {
    size_t i, t, all = 0, count = 0, room = w->tried_count * (w->p->last_iterations + 1);
    candidate *every = allocate(room, sizeof *every, "candidates");
    unsigned *taken = allocate(w->tried_count, sizeof *taken, "candidates");
    int plain = 0;
    for (i = 0; i < w->tried_count; i++) {
        const tried_setting *s = &w->tried[i];
        int identity = s->s.metric == RFM_IDENTITY;
        if (s->s.way != WAY_STANDARD) continue;
        for (t = identity ? 0 : w->p->first_iterations; t <= (identity ? 0 : w->p->last_iterations); t++)
            if (isfinite(s->loss[t])) every[all].tried = i, every[all].t = t, every[all++].loss = s->loss[t];
    }
    qsort(every, all, sizeof *every, by_loss);
    if (w->p->models > 1) count = list_of_families(w, every, all, list, most);
    for (i = 0; w->p->models <= 1 && i < all && count < most; i++) {
        int is_plain = every[i].t == 0;
        if (taken[every[i].tried] >= 2 || (count + 1 == most && !plain && !is_plain)) continue;
        if (is_plain && plain >= 3) continue;
        plain += is_plain;
        taken[every[i].tried]++;
        list[count++] = every[i];
    }
    free(every);
    free(taken);
    return count;
}

/* The best settings of every other way that does better than all standard ones, behind the `count` of the list. */
static size_t list_ways(const work *w, candidate *list, size_t count) {
    size_t most = w->p->models > 1 ? WAY_LIST_MEAN : WAY_LIST, i, k;
    const tried_setting *standard = best_of_way(w, WAY_STANDARD);
    int way;
    for (way = 1; way < WAYS; way++) {
        size_t from = count;
        while (count < from + most) {
            candidate best;
            memset(&best, 0, sizeof best);
            best.loss = best_loss(w, standard, NULL), best.tried = SIZE_MAX;
            for (i = 0; i < w->tried_count; i++) {
                const tried_setting *s = &w->tried[i];
                size_t t = 0;
                double loss = s->s.way == way ? best_loss(w, s, &t) : (double)INFINITY;
                for (k = from; k < count && list[k].tried != i; k++) continue;
                if (k == count && loss < best.loss) best.loss = loss, best.tried = i, best.t = t;
            }
            if (best.tried == SIZE_MAX) break;
            list[count++] = best;
        }
    }
    return count;
}

/* What a row counts: 1 on the mean over all rows. */
static double weight_of(const work *w, uint32_t row) {
    return w->p->weights != NULL ? (double)w->p->weights[row] / w->unit : 1;
}

static void weigh(const work *w, candidate *k) {
    const search_problem *p = w->p;
    size_t n = p->x.rows, c = p->y.cols, i, j, per = w->part_count / w->repeats, rows = 0, right = 0;
    double squared = 0, all = 0, share = 0;
    rfm_real shifted;
    for (j = 0; j < w->part_count; j++)
        for (i = 0; i < w->parts[WAY_STANDARD][j].v; i++, rows++) {
            uint32_t row = w->parts[WAY_STANDARD][j].rows[i];
            const rfm_real *y = k->out + (j / per * n + row) * c, *target = p->y.at + row * p->y.stride;
            double weight = weight_of(w, row);
            squared += weight * squared_error(y, target, c, NULL), all += weight;
            if (p->labels == NULL) continue;
            if (c == 1) shifted = *y + (rfm_real)k->shift, y = &shifted;
            if (!is_right(y, c, p->labels[row])) continue;
            right++, share += weight;
        }
    k->accuracy = (double)right / (double)rows;
    k->share = all > 0 ? share / all : 0;
    k->squared = all > 0 ? squared / all : (double)INFINITY;
}

/* The held-out rows of the first repeat as a sample, and their outputs with `shift` added. To be freed, all three. */
static sample held_sample(const work *w, const candidate *k, rfm_real **y, uint32_t **predicted) {
    const search_problem *p = w->p;
    size_t c = p->y.cols, per = w->part_count / w->repeats, i, j, q, n = 0, at = 0;
    sample s;
    memset(&s, 0, sizeof s);
    for (j = 0; j < per; j++) n += w->parts[WAY_STANDARD][j].v;
    s.rows = n;
    if (p->labels != NULL)
        s.labels = allocate(n, sizeof *s.labels, "held-out rows");
    else
        s.y = allocate(n, c * sizeof *s.y, "held-out rows");
    *y = allocate(n, c * sizeof **y, "held-out rows"), *predicted = allocate(n, sizeof **predicted, "held-out rows");
    for (j = 0; j < per; j++)
        for (i = 0; i < w->parts[WAY_STANDARD][j].v; i++, at++) {
            uint32_t row = w->parts[WAY_STANDARD][j].rows[i], best = 0;
            rfm_real *to = *y + at * c;
            memcpy(to, k->out + row * c, c * sizeof *to);
            if (p->labels == NULL) {
                memcpy(s.y + at * c, p->y.at + row * p->y.stride, c * sizeof *to);
                continue;
            }
            s.labels[at] = p->labels[row];
            if (c == 1) to[0] += (rfm_real)k->shift;
            for (q = 1; q < c; q++)
                if (to[q] > to[best]) best = (uint32_t)q;
            (*predicted)[at] = c == 1 ? to[0] > 0 : best;
        }
    return s;
}

static double find_temperature(const work *w, const candidate *k, int by_weight);

static double tuned_of(const work *w, const candidate *k, int tune) {
    rfm_real *y;
    uint32_t *predicted;
    sample s = held_sample(w, k, &y, &predicted);
    measures m = measures_of(&s, w->p->labels != NULL ? w->p->classes : 0, w->p->y.cols, y, predicted,
                             tune == TUNE_LOG_LOSS ? find_temperature(w, k, 0) : 0);
    double value = measures_tuned(&m, tune);
    measures_free(&m);
    sample_free(&s);
    free(y);
    free(predicted);
    return value;
}

static int by_output(const void *a, const void *b) {
    rfm_real x = *(const rfm_real *)a, y = *(const rfm_real *)b;
    return (x > y) - (x < y);
}

/* The shift between two outputs of held-out rows by which these do best; of equally good ones the middle. */
static double find_shift(const work *w, candidate *k, int tune) {
    enum { CUTS = 200 };
    rfm_real *y;
    uint32_t *predicted;
    double best = tuned_of(w, k, tune), low = 0, high = 0;
    size_t i, n;
    sample s = held_sample(w, k, &y, &predicted);
    n = s.rows;
    qsort(y, n, sizeof *y, by_output);
    for (i = 1; i<n; i += n> CUTS ? n / CUTS : 1) {
        double at = -((double)y[i - 1] + (double)y[i]) / 2, value;
        k->shift = at, value = tuned_of(w, k, tune), k->shift = 0;
        if (value > best + 1e-12) best = value, low = high = at;
        if (value > best - 1e-12 && low != 0) high = at;
    }
    sample_free(&s);
    free(y);
    free(predicted);
    return (low + high) / 2;
}

/* Measures without a decision have none to move: then that of balanced accuracy. */
static int decided_by(int tune) { return tune == TUNE_ACCURACY || tune == TUNE_F1 ? tune : TUNE_BALANCED; }

/* The standard deviation over the folds of their accuracy or r2; NaN if there is one. */
static double fold_spread(const work *w, const candidate *k) {
    const search_problem *p = w->p;
    size_t c = p->y.cols, per = w->part_count / w->repeats, i, j;
    double sum = 0, sum2 = 0, variance = 0, *around = allocate(c, sizeof *around, "statistics");
    target_spread(p->y, around);
    for (i = 0; i < c; i++) variance += around[i] / (double)p->y.rows / (double)c;
    free(around);
    for (j = 0; j < per; j++) {
        double score_of_part = 0, v = (double)w->parts[WAY_STANDARD][j].v;
        for (i = 0; i < w->parts[WAY_STANDARD][j].v; i++) {
            uint32_t row = w->parts[WAY_STANDARD][j].rows[i];
            const rfm_real *y = k->out + row * c;
            rfm_real shifted;
            if (p->labels != NULL && c == 1) shifted = *y + (rfm_real)k->shift, y = &shifted;
            score_of_part += p->labels != NULL ? is_right(y, c, p->labels[row])
                                               : squared_error(y, p->y.at + row * p->y.stride, c, NULL);
        }
        score_of_part /= v;
        if (p->labels == NULL) score_of_part = variance > 0 ? 1 - score_of_part / variance : 0;
        sum += score_of_part, sum2 += score_of_part * score_of_part;
    }
    return per > 1 ? sqrt(fmax(sum2 - sum * sum / (double)per, 0) / (double)(per - 1)) : (double)NAN;
}

/* -log of the probability of `label`, and its mean over all classes with the share `doubt`. */
static double surprise(const rfm_real *y, size_t c, uint32_t label, double temperature, double doubt) {
    double most = (double)y[0], total = 0, mean = 0;
    size_t q;
    if (c == 1) {
        double f = (label == 1 ? -2.0 : 2.0) * (double)y[0] / temperature;
        double here = f > 30 ? f : log1p(exp(f)), other = f < -30 ? -f : log1p(exp(-f));
        return (1 - doubt / 2) * here + doubt / 2 * other;
    }
    for (q = 1; q < c; q++) most = fmax(most, (double)y[q]);
    for (q = 0; q < c; q++) {
        double off = ((double)y[q] - most) / temperature;
        total += exp(off), mean += off / (double)c;
    }
    return log(total) - (1 - doubt) * ((double)y[label] - most) / temperature - doubt * mean;
}

/* Mean negative log likelihood of the held-out labels, as if one row in n could be of any class: n rows without a
 * mistake are no reason to be surer than that. */
static double log_loss(const work *w, const candidate *k, double temperature, int by_weight) {
    const search_problem *p = w->p;
    size_t n = p->x.rows, c = p->y.cols, i, j, per = w->part_count / w->repeats;
    double sum = 0, all = 0, doubt = 1 / ((double)n + 1);
    rfm_real shifted;
    for (j = 0; j < w->part_count; j++)
        for (i = 0; i < w->parts[WAY_STANDARD][j].v; i++) {
            uint32_t row = w->parts[WAY_STANDARD][j].rows[i];
            const rfm_real *y = k->out + (j / per * n + row) * c;
            double weight = by_weight ? weight_of(w, row) : 1;
            if (c == 1) shifted = *y + (rfm_real)k->shift, y = &shifted;
            sum += weight * surprise(y, c, p->labels[row], temperature, doubt), all += weight;
        }
    return all > 0 ? sum / all : 0;
}

/* Golden section on the logarithm. */
static double find_temperature(const work *w, const candidate *k, int by_weight) {
    const double ratio = 0.6180339887498949;
    double low = log(1e-3), high = log(1e2), a = high - ratio * (high - low), b = low + ratio * (high - low);
    double at_a = log_loss(w, k, exp(a), by_weight), at_b = log_loss(w, k, exp(b), by_weight);
    while (high - low > 1e-3) {
        if (at_a < at_b) {
            high = b, b = a, at_b = at_a;
            a = high - ratio * (high - low), at_a = log_loss(w, k, exp(a), by_weight);
        } else {
            low = a, a = b, at_a = at_b;
            b = low + ratio * (high - low), at_b = log_loss(w, k, exp(b), by_weight);
        }
    }
    return exp((low + high) / 2);
}

/* The threshold of conformal sets, from the n held-out scores of the first repeat: each row counts once. */
static double find_threshold(const work *w, const candidate *k, size_t n) {
    const search_problem *p = w->p;
    size_t c = p->y.cols, per = w->part_count / w->repeats, i, j, count = 0;
    rfm_real *scores, *scratch, threshold = 0;
    uint32_t *labels;
    scores = allocate(n, c * sizeof *scores, "held-out predictions");
    scratch = allocate(n, sizeof *scratch, "held-out predictions");
    labels = allocate(n, sizeof *labels, "held-out predictions");
    for (j = 0; j < per; j++)
        for (i = 0; i < w->parts[WAY_STANDARD][j].v; i++, count++) {
            uint32_t row = w->parts[WAY_STANDARD][j].rows[i];
            memcpy(scores + count * c, k->out + row * c, c * sizeof *scores);
            labels[count] = p->labels[row];
        }
    must(rfm_conformal_threshold(n, c, scores, labels, (rfm_real)p->coverage, scratch, &threshold), "--coverage");
    free(scores);
    free(scratch);
    free(labels);
    return (double)threshold;
}

static double r2_of(const work *w, const candidate *k) {
    const search_problem *p = w->p;
    double *around = allocate(p->y.cols, sizeof *around, "statistics"), variance = 0;
    size_t q;
    target_spread(p->y, around);
    for (q = 0; q < p->y.cols; q++) variance += around[q] / (double)p->y.rows / (double)p->y.cols;
    free(around);
    return variance > 0 ? 1 - k->squared / variance : 0;
}

static int better(const search_problem *p, const candidate *a, const candidate *b) {
    if (p->tune >= 0 && a->tuned != b->tuned) return a->tuned > b->tuned;
    if (p->tune < 0 && p->labels != NULL && a->share != b->share) return a->share > b->share;
    return a->squared < b->squared;
}

static int way_of(const work *w, const candidate *k) { return w->tried[k->tried].s.way; }

/* By how many standard errors the squared error of `a` is below that of `b`, over the rows that are held out. */
static double lead(const work *w, const candidate *a, const candidate *b) {
    const search_problem *p = w->p;
    size_t n = p->x.rows, c = p->y.cols, i, j, per = w->part_count / w->repeats, rows = 0;
    double *gain = allocate(n, sizeof *gain, "statistics"), sum = 0, sum2 = 0, deviation;
    unsigned char *held = allocate(n, 1, "statistics");
    for (j = 0; j < w->part_count; j++)
        for (i = 0; i < w->parts[WAY_STANDARD][j].v; i++) {
            uint32_t row = w->parts[WAY_STANDARD][j].rows[i];
            const rfm_real *target = p->y.at + row * p->y.stride;
            size_t at = (j / per * n + row) * c;
            gain[row] += weight_of(w, row) *
                         (squared_error(b->out + at, target, c, NULL) - squared_error(a->out + at, target, c, NULL));
            held[row] = 1;
        }
    for (i = 0; i < n; i++)
        if (held[i]) sum += gain[i], sum2 += gain[i] * gain[i], rows++;
    deviation = sqrt(fmax(sum2 - sum * sum / (double)rows, 0));
    free(gain);
    free(held);
    return deviation > 0 ? sum / deviation : 0;
}

/* The best of the list; inputs of another way than the standard one only where that is clear. NULL: none is
 * complete. */
static candidate *best_listed(const work *w, candidate *list, size_t count) {
    candidate *best = NULL, *least = NULL, *other = NULL;
    size_t i;
    for (i = 0; i < count; i++) {
        if (!list[i].complete || way_of(w, &list[i]) != WAY_STANDARD) continue;
        if (best == NULL || better(w->p, &list[i], best)) best = &list[i];
        if (least == NULL || list[i].squared < least->squared) least = &list[i];
    }
    for (i = 0; best != NULL && i < count; i++)
        if (list[i].complete && way_of(w, &list[i]) != WAY_STANDARD && better(w->p, &list[i], best) &&
            lead(w, &list[i], least) > CLEAR && (other == NULL || better(w->p, &list[i], other)))
            other = &list[i];
    return other != NULL ? other : best;
}

/* Held-out predictions of the list; the best of it, or NULL if there was no time. */
static candidate *second_stage(work *w, candidate *list, size_t count) {
    const search_problem *p = w->p;
    size_t n = p->x.rows, bytes = 0, i, j;
    for (i = 0; i < count; i++) {
        size_t need = fit_bytes(w, &w->tried[list[i].tried].s, list[i].t, 0);
        if (need > bytes) bytes = need;
        list[i].out = allocate(w->repeats * n, p->y.cols * sizeof *list[i].out, "held-out predictions");
    }
    w->list = list;
    run_batch(w, candidate_job, count * w->part_count, bytes);
    for (i = 0; i < count; i++) {
        list[i].complete = 1;
        for (j = 0; j < w->part_count; j++) list[i].complete = list[i].complete && w->complete[i * w->part_count + j];
        if (!list[i].complete) continue;
        weigh(w, &list[i]);
        if (p->balance && p->y.cols == 1 && p->labels != NULL)
            list[i].shift = find_shift(w, &list[i], decided_by(p->tune)), weigh(w, &list[i]);
        if (p->tune >= 0) list[i].tuned = tuned_of(w, &list[i], p->tune);
    }
    free(w->complete);
    return best_listed(w, list, count);
}

/* The loss of the held-out labels by the sum of the outputs, each over its temperature and times its weight; as if
 * EQUAL_ROWS rows more wanted equal weights. And its gradient. */
static double weights_loss(const work *w, const mixture *m, const double *weights, double *gradient) {
    const search_problem *p = w->p;
    size_t n = p->x.rows, c = p->y.cols, classes = c > 1 ? c : 2, per = w->part_count / w->repeats, i, j, k, q;
    double *likely = allocate(classes, sizeof *likely, "weights"), loss = 0, rows = 0, doubt = 1 / ((double)n + 1),
           wish;
    rfm_real *sum = allocate(c, sizeof *sum, "weights");
    memset(gradient, 0, m->count * sizeof *gradient);
    for (j = 0; j < w->part_count; j++)
        for (i = 0; i < w->parts[WAY_STANDARD][j].v; i++) {
            uint32_t row = w->parts[WAY_STANDARD][j].rows[i];
            size_t at = (j / per * n + row) * c;
            double weight = weight_of(w, row);
            rows += weight;
            for (q = 0; q < c; q++) {
                double output = 0;
                for (k = 0; k < m->count; k++) output += weights[k] / m->temperature[k] * (double)m->of[k]->out[at + q];
                sum[q] = (rfm_real)output;
            }
            loss += weight * surprise(sum, c, p->labels[row], 1, doubt);
            probabilities(sum, c, 1, likely);
            for (q = 0; q < c; q++) {
                size_t class = c > 1 ? q : 1;
                double slope = likely[class] - doubt / (double)classes - (p->labels[row] == class ? 1 - doubt : 0);
                slope *= c == 1 ? 2 * weight : weight; /* the outputs of two classes are 1 and -1 */
                for (k = 0; k < m->count; k++) gradient[k] += slope * (double)m->of[k]->out[at + q] / m->temperature[k];
            }
        }
    wish = EQUAL_ROWS * (double)w->repeats / (double)m->count;
    for (k = 0; k < m->count; k++) {
        loss -= wish * log(weights[k]);
        gradient[k] = (gradient[k] - wish / weights[k]) / rows;
    }
    free(likely);
    free(sum);
    return loss / rows;
}

/* Descent by factors, so that weights stay above 0 with the sum 1; from those that are there. */
static void find_weights(const work *w, const mixture *m, double *weights) {
    double gradient[MOST_LISTED], next_gradient[MOST_LISTED], next[MOST_LISTED], step = 1;
    double loss = weights_loss(w, m, weights, gradient);
    size_t round, k;
    for (round = 0; round < 100 && step > 1e-6; round++) {
        double mean = 0, most = 0, sum = 0, lower;
        for (k = 0; k < m->count; k++) mean += weights[k] * gradient[k];
        for (k = 0; k < m->count; k++) most = fmax(most, fabs(gradient[k] - mean));
        if (!(most > 0)) return;
        for (k = 0; k < m->count; k++) sum += next[k] = weights[k] * exp(-step * (gradient[k] - mean) / most);
        for (k = 0; k < m->count; k++) next[k] /= sum;
        lower = weights_loss(w, m, next, next_gradient);
        if (!(lower < loss)) {
            step /= 2;
            continue;
        }
        memcpy(weights, next, sizeof next), memcpy(gradient, next_gradient, sizeof gradient);
        if (loss - lower < 1e-6 * fabs(loss)) return;
        loss = lower, step *= 1.5;
    }
}

/* Weights of the outputs, with the sum 1; for classes those of the least loss. Without the model of the smallest, until
 * all are large enough. */
static void mix_classes(const work *w, mixture *m) {
    double weights[MOST_LISTED] = {0}, sum = 0;
    size_t k, most = w->p->models < MOST_MODELS ? w->p->models : MOST_MODELS;
    for (k = 0; k < m->count; k++)
        weights[k] = 1 / (double)m->count, m->temperature[k] = find_temperature(w, m->of[k], 1);
    for (;;) {
        size_t least = 0;
        double left = 0;
        find_weights(w, m, weights);
        for (k = 1; k < m->count; k++)
            if (weights[k] < weights[least]) least = k;
        if (m->count == 1 || (m->count <= most && weights[least] >= LEAST_WEIGHT)) break;
        m->count--;
        for (k = least; k < m->count; k++)
            weights[k] = weights[k + 1], m->of[k] = m->of[k + 1], m->temperature[k] = m->temperature[k + 1];
        for (k = 0; k < m->count; k++) left += weights[k];
        for (k = 0; k < m->count; k++) weights[k] /= left;
    }
    for (k = 0; k < m->count; k++) sum += weights[k] / m->temperature[k];
    for (k = 0; k < m->count; k++) m->weights[k] = weights[k] / m->temperature[k] / sum;
}

static void mean_output(const work *w, const mixture *m, candidate *mean) {
    size_t size = w->repeats * w->p->x.rows * w->p->y.cols, j, k;
    memset(mean->out, 0, size * sizeof *mean->out);
    for (k = 0; k < m->count; k++)
        for (j = 0; j < size; j++) mean->out[j] += (rfm_real)m->weights[k] * m->of[k]->out[j];
    weigh(w, mean);
}

/* Equal weights: beginning with the least squared error, the model whose company lowers that most, until none does. */
static void mix_numbers(const work *w, mixture *m, candidate *mean) {
    size_t most = w->p->models < MOST_MODELS ? w->p->models : MOST_MODELS, k, i;
    double least = (double)INFINITY;
    mixture trial = *m;
    for (trial.count = 1; trial.count <= most && trial.count <= m->count; trial.count++) {
        size_t last = trial.count - 1, best = m->count;
        double lowest = (double)INFINITY;
        for (k = 0; k < trial.count; k++) trial.weights[k] = 1 / (double)trial.count;
        for (i = last; i < m->count; i++) {
            trial.of[last] = m->of[i];
            mean_output(w, &trial, mean);
            if (mean->squared < lowest) lowest = mean->squared, best = i;
        }
        if (lowest >= least) break;
        least = lowest, trial.of[last] = m->of[best], m->of[best] = m->of[last], m->of[last] = trial.of[last];
    }
    m->count = trial.count - 1;
    for (k = 0; k < m->count; k++) m->weights[k] = 1 / (double)m->count;
}

/* The mean of some of the list, all of one way. */
static mixture find_mean(const work *w, const candidate *list, size_t count, int way, candidate *mean) {
    const search_problem *p = w->p;
    mixture m;
    size_t i, j;
    memset(&m, 0, sizeof m);
    memset(mean, 0, sizeof *mean);
    mean->out = allocate(w->repeats * p->x.rows, p->y.cols * sizeof *mean->out, "held-out predictions");
    for (i = 0; i < count; i++)
        if (list[i].complete && way_of(w, &list[i]) == way) m.of[m.count++] = &list[i];
    if (p->labels != NULL)
        mix_classes(w, &m);
    else
        mix_numbers(w, &m, mean);
    mean_output(w, &m, mean);
    for (i = 1; i < m.count; i++) /* the largest weight first */
        for (j = i; j > 0 && m.weights[j] > m.weights[j - 1]; j--) {
            const candidate *of = m.of[j];
            double weight = m.weights[j];
            m.of[j] = m.of[j - 1], m.weights[j] = m.weights[j - 1], m.of[j - 1] = of, m.weights[j - 1] = weight;
        }
    mean->complete = 1;
    if (p->balance && p->y.cols == 1 && p->labels != NULL) {
        mean->shift = find_shift(w, mean, decided_by(p->tune));
        weigh(w, mean);
    }
    if (p->tune >= 0) mean->tuned = tuned_of(w, mean, p->tune);
    return m;
}

int search_needed(const search_problem *p) {
    return p->kernel_count * p->bandwidth_count * p->ridge_count * p->metric_count * p->center_count > 1 ||
           p->first_iterations < p->last_iterations;
}

/* Length of the short list. */
static size_t listed(const search_problem *p) {
    return p->x.rows <= FOLD_ROWS ? SHORT_LIST : p->models > 1 ? MOST_MODELS : SHORT_LIST / 2;
}

search_cost search_estimate(const search_problem *p) {
    double n = (double)p->x.rows, d = (double)p->x.cols, c = (double)p->y.cols, parts, first, second, grid = 0, few = 0,
           longest = 0, first_few = 0;
    double workers = p->machine->ctx.run != NULL ? (double)p->machine->ctx.workers : 1;
    size_t m, repeats = p->x.rows <= 300 ? 4 : p->x.rows <= 800 ? 2 : 1, ways = 0;
    int folds = in_folds(p), rare = folds && p->x.rows > FOLD_ROWS;
    search_cost cost;
    parts = folds ? FOLDS : 1;
    first = folds ? n * (FOLDS - 1) / FOLDS : fmin(n * (FOLDS - 1) / FOLDS, FIRST_FIT_ROWS);
    second = folds ? first : fmin(n * (FOLDS - 1) / FOLDS, SECOND_FIT_ROWS);
    if (rare) second = fmin(first, RARE_SECOND), first = fmin(first, RARE_FIT_ROWS);
    cost.work = 0;
    for (m = 0; m < p->metric_count; m++) {
        rfm_options o = p->base;
        double one, all = (double)(p->bandwidth_count * p->ridge_count);
        int plain = p->metrics[m] == RFM_IDENTITY;
        o.metric = p->metrics[m], o.iterations = p->last_iterations;
        one = parts * fit_work(first, d, c, &o);
        longest = fmax(longest, one);
        grid += one * all * (plain ? 1 : (double)p->center_count);
        few += one * (plain ? all : (double)(p->bandwidth_count + p->ridge_count + 1 + p->center_count));
        cost.work = fmax(cost.work, fit_work(second, d, c, &o));
        if (m == 0) first_few = few;
    }
    for (m = 1; m < WAYS; m++) ways += p->other[m].at != NULL;
    cost.work *= parts * (double)((listed(p) + ways * WAY_LIST) * (folds ? repeats : 1));
    if (search_needed(p))
        cost.work += (grid <= GRID_WORK ? grid : few) + (p->kernel_count > 1 ? few : 0) +
                     (p->kernel_count > 2 ? first_few : 0) + (double)(ways * WAY_FAMILIES) * longest;
    cost.bytes = workers * sizeof(rfm_real) * (second * second + second * (d + 3 * c)) +
                 sizeof(rfm_real) * (2 * n * (d + c) + (double)SHORT_LIST * (double)repeats * n * c);
    return cost;
}

search_result search(const search_problem *p) {
    work *w = allocate(1, sizeof *w, "the search");
    candidate list[MOST_LISTED], mean;
    const candidate *best, *judged;
    search_result result;
    size_t n = p->x.rows, i, count;
    int one = !search_needed(p), folds = in_folds(p);
    memset(list, 0, sizeof list);
    memset(&mean, 0, sizeof mean);
    memset(&result, 0, sizeof result);
    w->p = p, w->unit = 1;
    if (p->weights != NULL) {
        for (i = 0, w->unit = 0; i < n; i++) w->unit += (double)p->weights[i] / (double)n;
        if (!(w->unit > 0)) w->unit = 1;
    }
    w->stop_at = p->time_limit > 0 ? seconds_now() + p->time_limit : 0;
    w->work_all = search_estimate(p).work;
    pthread_mutex_init(&w->lock, NULL);
    if (one) { /* nothing to choose: the temperature only, on a small hold-out */
        add_setting(w, WAY_STANDARD, p->kernels[0], p->metrics[0], p->centers[0], 0, 0);
        list[0].t = p->metrics[0] == RFM_IDENTITY ? 0 : p->last_iterations;
        count = 1;
        add_parts(w, p->base.seed, FEW_ROWS, FEW_ROWS, 0);
        w->repeats = 1;
    } else {
        if (folds)
            add_parts(w, p->base.seed, n > FOLD_ROWS ? RARE_FIT_ROWS : 0, 0, 1);
        else
            add_parts(w, p->base.seed, FIRST_FIT_ROWS, HOLD_OUT_ROWS, 1);
        first_stage(w);
        free_parts(w);
        count = short_list(w, list, listed(p));
        if (count > 0) count = list_ways(w, list, count);
        if (count == 0) { /* no time for anything: a plain kernel machine */
            add_setting(w, WAY_STANDARD, p->kernels[0], p->metrics[0], p->centers[0], p->bandwidth_count / 2,
                        p->ridge_count / 2);
            list[0].tried = w->tried_count - 1;
            list[0].t = p->metrics[0] == RFM_IDENTITY ? 0 : p->first_iterations;
        }
        w->repeats = is_apart(p) ? 1 : n <= 300 ? 4 : n <= 800 ? 2 : 1;
        if (folds)
            for (i = 0; i < w->repeats; i++) add_parts(w, p->base.seed + 1 + i, n > FOLD_ROWS ? RARE_SECOND : 0, 0, 0);
        else
            add_parts(w, p->base.seed, SECOND_FIT_ROWS, HOLD_OUT_ROWS, 0);
    }
    best = count > 0 && !w->stopped ? second_stage(w, list, count) : NULL;
    if (best == NULL && n > 1) { /* stopped before any was judged: the first of them, on one small hold-out */
        for (i = 0; i < MOST_LISTED; i++) free(list[i].out), list[i].out = NULL;
        free_parts(w);
        add_parts(w, p->base.seed, FEW_ROWS, FEW_ROWS, 0);
        w->repeats = 1, w->last = 1;
        best = second_stage(w, list, 1);
    }
    judged = best, result.models = 1;
    if (best != NULL && p->models > 1 && !w->last) {
        mixture m = find_mean(w, list, count, way_of(w, best), &mean);
        best = m.of[0], judged = m.count > 1 ? &mean : best, result.models = m.count;
        for (i = 0; i < m.count; i++)
            result.mean[i] = options_of(w, &w->tried[m.of[i]->tried].s, m.of[i]->t), result.weights[i] = m.weights[i];
    }
    progress_end();
    for (i = 0; !one && i < w->tried_count; i++)
        result.tried += !isfinite(best_loss(w, &w->tried[i], NULL)) ? 0
                        : w->tried[i].s.metric == RFM_IDENTITY      ? 1
                                                                    : p->last_iterations - p->first_iterations + 1;
    result.temperature = 0, result.validation = result.tuned = (double)NAN, result.threshold = -1;
    result.folds = result.held = 0, result.spread = (double)NAN, result.shift = 0;
    if (best != NULL) {
        result.folds = w->part_count / w->repeats;
        for (i = 0; i < result.folds; i++) result.held += w->parts[WAY_STANDARD][i].v;
        if (p->labels != NULL && p->coverage > 0) result.threshold = find_threshold(w, judged, result.held);
        if (p->labels != NULL) result.temperature = find_temperature(w, judged, 0);
        result.validation = p->labels != NULL ? judged->accuracy : r2_of(w, judged);
        result.spread = fold_spread(w, judged);
        if (p->tune >= 0) result.tuned = fabs(judged->tuned);
        result.shift = judged->shift;
    } else
        best = &list[0];
    result.options = options_of(w, &w->tried[best->tried].s, best->t);
    result.way = way_of(w, best);
    if (w->stopped) note("the search was stopped; the best of %zu settings so far is taken", result.tried);
    for (i = 0; i < w->tried_count; i++) free(w->tried[i].loss);
    for (i = 0; i < MOST_LISTED; i++) free(list[i].out);
    free(mean.out);
    free_parts(w);
    free(w->tried);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return result;
}
