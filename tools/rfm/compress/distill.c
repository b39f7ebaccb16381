/* Models of a few hundred bytes, taught by the model at full size, or by a mean of such models.
 *
 * The student is a HyperBF network with a Gaussian (rfm_hyperbf.h). It starts from the teacher's P and from means of
 * clusters in each class, and descends towards the teacher's scores at the rows and at mixtures of two rows. In the
 * second half of the steps it sees its own rounding to 8 bits (rfm_tiny.h), so that rounding costs nothing at the end.
 *
 * The search for a budget, frugal because every candidate is a descent for every part of the rows:
 *
 *   shapes     ranks, each with as many centres as fit, or one for each class where not all classes have room for two;
 *              all with the usual recipe and fewer steps; also for a half and a quarter of the budget
 *   recipes    for the best shapes a narrower start; for the best of those other temperatures, another loss, fewer
 *              mixtures, labels among the targets, the other form of alpha, as many centres for each class, an exponent
 *              for each input
 *   finalists  the best with all steps, and with more than one seed: neighbours differ by less than seeds do
 *
 * A loss: the same for budgets from small to large, until one is good enough.
 *
 * A piece of work is one descent on one thread, so what comes out does not depend on the number of threads. */
#include "candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALL_STEPS    4000 /* of a network of at most FEW_BYTES */
#define MORE_STEPS   8000 /* of a larger one */
#define FEW_BYTES    4096
#define FEW_STEPS    1500
#define FEW_ROWS     128 /* of a step, where there are few of them */
#define FEW_DRAWN    3   /* mixtures, as a multiple of the rows */
#define ALL_DRAWN    10
#define MORE_DRAWN   30
#define FINAL_SEEDS  4
#define FINALISTS    2
#define NOISE        0.5  /* in standard deviations of an input; */
#define MORE_NOISE   1.0  /* of a larger network */
#define TRIES        2    /* seeds of a finalist */
#define MOST_TINY    400  /* centres: more would be another kind of model */
#define SPREADS_LIKE 16   /* standard deviations of inputs of one kind: at most so many times apart */
#define COUNTS_LEAST 8    /* integers that a standard deviation covers, unless the inputs are integers themselves */
#define NARROWER     0.87 /* from one rank to the next */
#define SHAPES       7
#define RECIPES      16

/* ---- sizes ---------------------------------------------------------------------------------- */

size_t tiny_bytes(const rfm_model *like, const recipe *k) {
    static const int32_t there[2] = {0, 0}; /* what arrays point to where only their sizes count */
    rfm_tiny m;
    size_t bytes = SIZE_MAX;
    memset(&m, 0, sizeof m);
    m.n = (uint32_t)k->centers, m.d = (uint32_t)like->d, m.c = (uint32_t)like->c, m.r = (uint32_t)k->rank;
    m.task = like->task;
    m.bias = m.offset = (const int16_t *)there, m.p = m.centers = m.alpha = (const int8_t *)there;
    m.shifts = (const uint8_t *)there;
    if (like->task == RFM_REGRESS) m.units = (const float *)there;
    if (k->prototypes) m.counts = (const uint8_t *)there;
    if (k->each) m.exponents = (const int8_t *)there;
    return rfm_tiny_size(&m, 0, &bytes) == RFM_OK ? bytes : SIZE_MAX;
}

recipe recipe_usual(const rfm_model *like, uint32_t seed) {
    recipe k;
    memset(&k, 0, sizeof k);
    k.prototypes = like->task == RFM_CLASSIFY && like->c > 1, k.entropy = like->task == RFM_CLASSIFY;
    k.temperature = 0.1, k.bandwidth = 2, k.mixed = 0.5, k.noisy = 0.3;
    k.seed = seed, k.steps = ALL_STEPS;
    return k;
}

/* ---- teacher and rows in the student's inputs ----------------------------------------------- */

/* u = (x - mean) / scale. The targets of a regression have a scale too; their mean stays, for the offset is rounded
 * with the rest. */
typedef struct {
    size_t n, d, c, teachers;
    int task;
    rfm_model teacher[MOST_MODELS];    /* take u, give y as it is here; the mean of their scores is what is taught */
    rfm_model start;                   /* the first with a kernel whose P can have a lower rank */
    rfm_real *x, *y;                   /* (n, d), (n, c) */
    rfm_real *mean, *scale;            /* (d) */
    rfm_real *y_scale;                 /* (c) */
    int8_t *exponents;                 /* (d) */
    rfm_real *own_arrays[MOST_MODELS]; /* of the teachers */
} school;

static void columns_of(rfm_cmat x, rfm_real *mean, rfm_real *spread) {
    size_t i, j;
    for (j = 0; j < x.cols; j++) {
        double sum = 0, squares = 0, low = (double)x.at[j], high = low;
        for (i = 0; i < x.rows; i++) {
            double v = (double)x.at[i * x.stride + j];
            sum += v, low = fmin(low, v), high = fmax(high, v);
        }
        sum /= (double)x.rows;
        for (i = 0; i < x.rows; i++) {
            double off = (double)x.at[i * x.stride + j] - sum;
            squares += off * off;
        }
        mean[j] = low < high ? (rfm_real)sum : (rfm_real)low;
        spread[j] = low < high ? (rfm_real)sqrt(squares / (double)x.rows) : 0;
    }
}

static int by_size(const void *a, const void *b) {
    rfm_real x = *(const rfm_real *)a, y = *(const rfm_real *)b;
    return (x > y) - (x < y);
}

/* How far the standard deviations are apart: the largest, as a multiple of that which `share` of the inputs are below.
 * Inputs that never vary do not count. */
static double spreads_apart(rfm_cmat x, double share) {
    rfm_real *mean = allocate(x.cols, sizeof *mean, "statistics"),
             *spread = allocate(x.cols, sizeof *spread, "statistics");
    size_t first = 0;
    double apart;
    columns_of(x, mean, spread);
    qsort(spread, x.cols, sizeof *spread, by_size);
    while (first + 1 < x.cols && !(spread[first] > 0)) first++;
    apart = (double)spread[x.cols - 1] /
            fmax((double)spread[first + (size_t)(share * (double)(x.cols - 1 - first))], 1e-30);
    free(mean);
    free(spread);
    return apart;
}

/* Exponents of these rows. Inputs that never vary have no say in one for all, if they fit. */
static int find_exponents(rfm_cmat x, const rfm_real *mean, const rfm_real *spread, int each, int8_t *exponents) {
    rfm_real *varying = allocate(x.rows, x.cols * sizeof *varying, "inputs");
    size_t i, j;
    int status, fits = 1;
    for (i = 0; i < x.rows; i++)
        for (j = 0; j < x.cols; j++) varying[i * x.cols + j] = spread[j] > 0 ? x.at[i * x.stride + j] : 0;
    status = rfm_tiny_exponents(rfm_cview(varying, x.rows, x.cols), each, exponents);
    for (j = 0; j < x.cols && status == RFM_OK; j++) fits &= fabs(ldexp((double)mean[j], exponents[j])) < 32767;
    free(varying);
    return status == RFM_OK && fits ? status : rfm_tiny_exponents(x, each, exponents);
}

int inputs_differ(rfm_cmat x) {
    rfm_real *mean = allocate(x.cols, sizeof *mean, "statistics"),
             *spread = allocate(x.cols, sizeof *spread, "statistics");
    int8_t *exponents = allocate(x.cols, sizeof *exponents, "exponents");
    int coarse = 0;
    size_t i, j;
    columns_of(x, mean, spread);
    if (find_exponents(x, mean, spread, 0, exponents) != RFM_OK) coarse = 1;
    for (j = 0; j < x.cols && !coarse; j++) {
        int whole = 1;
        for (i = 0; i < x.rows && whole; i++)
            whole = floor((double)x.at[i * x.stride + j]) == (double)x.at[i * x.stride + j];
        coarse = !whole && spread[j] > 0 && ldexp((double)spread[j], exponents[j]) < COUNTS_LEAST;
    }
    free(mean);
    free(spread);
    free(exponents);
    return coarse || spreads_apart(x, 0.25) > SPREADS_LIKE;
}

/* Inputs of one kind have one scale and one exponent; else each has its own, for a byte each. */
static int set_inputs(school *s, rfm_cmat x, int each) {
    size_t d = s->d, j, count = 0;
    double squares = 0;
    int status;
    columns_of(x, s->mean, s->scale);
    status = find_exponents(x, s->mean, s->scale, each, s->exponents);
    for (j = 0; j < d; j++) squares += (double)s->scale[j] * (double)s->scale[j], count += s->scale[j] > 0;
    for (j = 0; j < d; j++)
        if (!each || !(s->scale[j] > 0)) s->scale[j] = (rfm_real)(squares > 0 ? sqrt(squares / (double)count) : 1);
    return status;
}

/* What the outputs become: in units of their spread. */
static void set_targets(school *s, rfm_cmat y) {
    size_t n = s->n, c = s->c, i, k;
    rfm_real *mean = allocate(c, sizeof *mean, "statistics");
    columns_of(y, mean, s->y_scale);
    for (k = 0; k < c; k++) {
        if (s->task == RFM_CLASSIFY || !(s->y_scale[k] > 0)) s->y_scale[k] = 1;
        for (i = 0; i < n; i++) s->y[i * c + k] = y.at[i * y.stride + k] / s->y_scale[k];
    }
    free(mean);
}

/* A teacher of these inputs and targets: P (x - shift) = P S (u - (shift - mean) / S), S = diag(scale). Its arrays are
 * to be freed. */
static rfm_real *set_teacher(const school *s, const rfm_model *from, rfm_model *to) {
    size_t d = s->d, c = s->c, rows = from->metric == RFM_FULL ? from->r : 1, q, j, i, k;
    rfm_real *p = allocate((rows + 1) * d + (from->n + 1) * c, sizeof *p, "a teacher");
    rfm_real *shift = p + rows * d, *alpha = shift + d, *offset = alpha + from->n * c;
    for (j = 0; j < d; j++) {
        shift[j] = (from->shift[j] - s->mean[j]) / s->scale[j];
        for (q = 0; q < rows; q++) p[q * d + j] = (from->p != NULL ? from->p[q * d + j] : 1) * s->scale[j];
    }
    for (k = 0; k < c; k++) {
        for (i = 0; i < from->n; i++) alpha[i * c + k] = from->alpha[i * c + k] / s->y_scale[k];
        offset[k] = (from->offset != NULL ? from->offset[k] : 0) / s->y_scale[k];
    }
    *to = *from;
    to->p = p, to->shift = shift, to->alpha = alpha, to->offset = offset;
    if (from->metric != RFM_FULL) to->metric = RFM_DIAGONAL;
    return p;
}

/* `tiny` 0: inputs are taken as they are. Returns a status of the exponents. */
static int school_open(school *s, const rfm_model *teachers, size_t count, int task, const rfm_data *rows, int tiny,
                       int each) {
    size_t n = rows->x.rows, d = teachers->d, c = teachers->c, i, j;
    int status = RFM_OK;
    memset(s, 0, sizeof *s);
    s->n = n, s->d = d, s->c = c, s->task = task, s->teachers = count;
    s->x = allocate(n, d * sizeof *s->x, "inputs");
    s->y = allocate(n, c * sizeof *s->y, "targets");
    s->mean = allocate(d, sizeof *s->mean, "statistics");
    s->scale = allocate(d, sizeof *s->scale, "statistics");
    s->y_scale = allocate(c, sizeof *s->y_scale, "statistics");
    s->exponents = allocate(d, sizeof *s->exponents, "exponents");
    if (tiny) status = set_inputs(s, rows->x, each);
    for (j = 0; j < d && !tiny; j++) s->scale[j] = 1;
    set_targets(s, rows->y);
    for (i = 0; i < count; i++) s->own_arrays[i] = set_teacher(s, &teachers[i], &s->teacher[i]);
    s->start = s->teacher[0];
    if (rfm_kernels[s->start.kernel].axes || on_sphere(&s->start)) s->start.kernel = RFM_LAPLACE, s->start.radius = 0;
    for (i = 0; i < n; i++)
        for (j = 0; j < d; j++) s->x[i * d + j] = (rows->x.at[i * rows->x.stride + j] - s->mean[j]) / s->scale[j];
    return status;
}

static void school_close(school *s) {
    size_t i;
    free(s->x), free(s->y);
    free(s->mean), free(s->scale), free(s->y_scale);
    free(s->exponents);
    for (i = 0; i < s->teachers; i++) free(s->own_arrays[i]);
}

/* ---- one student ---------------------------------------------------------------------------- */

static rfm_hyperbf_start_options start_of(const school *s, const recipe *k) {
    rfm_hyperbf_start_options o;
    rfm_hyperbf_start_init(&o);
    o.centers = k->centers, o.rank = k->rank < s->start.r ? k->rank : s->start.r;
    o.choice = s->task == RFM_CLASSIFY ? RFM_HYPERBF_CLASSES : RFM_HYPERBF_KMEANS;
    o.prototypes = k->prototypes, o.bandwidth = (rfm_real)k->bandwidth, o.model = &s->start, o.seed = k->seed;
    return o;
}

/* A network with more numbers learns from more rows, further away from those that are given, in more steps. Smaller
 * ones have no room for that: they lose at the given rows. */
static size_t all_steps(const rfm_model *like, const recipe *k) {
    return tiny_bytes(like, k) > FEW_BYTES ? MORE_STEPS : ALL_STEPS;
}

static rfm_hyperbf_options descent_of(const school *s, const recipe *k, rfm_tiny_inputs *inputs) {
    rfm_hyperbf_options o;
    rfm_hyperbf_options_init(&o);
    o.steps = k->steps, o.seed = k->seed;
    if (k->steps < ALL_STEPS) o.batch = FEW_ROWS;
    o.drawn = (k->steps < ALL_STEPS ? FEW_DRAWN : k->steps < MORE_STEPS ? ALL_DRAWN : MORE_DRAWN) * s->n;
    o.noise = (rfm_real)(k->steps < MORE_STEPS ? NOISE : MORE_NOISE);
    o.teacher = s->teacher, o.teachers = s->teachers, o.truth = (rfm_real)k->truth, o.mixed = (rfm_real)k->mixed;
    o.noisy = (rfm_real)k->noisy;
    o.cost.kind = k->entropy ? RFM_HYPERBF_ENTROPY : RFM_HYPERBF_SQUARED;
    o.cost.temperature = (rfm_real)(k->entropy ? k->temperature : 1);
    if (inputs != NULL) o.project = rfm_tiny_project, o.project_arg = inputs;
    return o;
}

/* The network of a recipe; with `inputs` as its rounding sees it. *memory is to be freed, after a failure NULL. */
static int network(const rfm_ctx *given, const school *s, const recipe *k, rfm_tiny_inputs *inputs, rfm_hyperbf *f,
                   double *loss, void **memory) {
    rfm_ctx ctx = *given;
    rfm_arena scratch, store;
    rfm_data data;
    rfm_hyperbf_start_options start = start_of(s, k);
    rfm_hyperbf_options descent = descent_of(s, k, inputs);
    rfm_hyperbf_report report;
    size_t bytes = 0, kept = 0;
    void *room;
    int status;
    *memory = NULL;
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(s->x, s->n, s->d), data.y = rfm_cview(s->y, s->n, s->c);
    rfm_arena_measure(&scratch);
    ctx.arena = &scratch;
    status = rfm_hyperbf_start_need(&ctx, &data, &start, &bytes, &kept);
    if (status != RFM_OK) return status;
    room = allocate_aligned(bytes, "a student"), *memory = allocate_aligned(kept, "a student");
    (void)rfm_arena_init(&scratch, room, bytes);
    (void)rfm_arena_init(&store, *memory, kept);
    status = rfm_hyperbf_start(&ctx, &data, &start, &store, f);
    free(room);
    rfm_arena_measure(&scratch);
    if (status == RFM_OK) status = rfm_hyperbf_descend_need(&ctx, &data, &descent, f, &bytes);
    if (status == RFM_OK) {
        room = allocate_aligned(bytes, "a student");
        (void)rfm_arena_init(&scratch, room, bytes);
        status = rfm_hyperbf_descend(&ctx, &data, &descent, f, &report);
        *loss = (double)report.best;
        free(room);
    }
    if (status == RFM_OK) return status;
    free(*memory);
    *memory = NULL;
    return status;
}

static void back_to_targets(const school *s, rfm_hyperbf *f) {
    size_t i;
    for (i = 0; i < f->n * f->c; i++) f->alpha[i] *= s->y_scale[i % f->c];
    for (i = 0; i < f->c && f->offset != NULL; i++) f->offset[i] *= s->y_scale[i];
}

/* The tiny model of a recipe. */
static int student(const rfm_ctx *ctx, const school *s, const recipe *k, rfm_tiny *tiny, double *loss, void **memory) {
    rfm_tiny_inputs inputs;
    rfm_hyperbf f;
    rfm_arena store;
    size_t bytes = 0;
    void *room = NULL;
    int status;
    *memory = NULL;
    memset(&inputs, 0, sizeof inputs);
    inputs.mean = s->mean, inputs.scale = s->scale, inputs.exponents = s->exponents, inputs.task = s->task;
    status = network(ctx, s, k, &inputs, &f, loss, &room);
    if (status == RFM_OK) status = rfm_tiny_make_need(&f, &bytes);
    if (status == RFM_OK) {
        back_to_targets(s, &f);
        *memory = allocate_aligned(bytes, "a tiny model");
        (void)rfm_arena_init(&store, *memory, bytes);
        status = rfm_tiny_make(&f, &inputs, &store, tiny);
    }
    free(room);
    if (status == RFM_OK) return status;
    free(*memory);
    *memory = NULL;
    return status;
}

/* ---- the final model ------------------------------------------------------------------------ */

typedef struct {
    rfm_ctx ctx;
    const school *school;
    recipe recipe;
    rfm_tiny tiny[FINAL_SEEDS];
    double loss[FINAL_SEEDS];
    void *memory[FINAL_SEEDS];
    int status[FINAL_SEEDS];
} finals;

static void final_job(void *arg, size_t index, size_t worker) {
    finals *f = arg;
    recipe k = f->recipe;
    (void)worker;
    k.seed += (uint32_t)index;
    f->status[index] = student(&f->ctx, f->school, &k, &f->tiny[index], &f->loss[index], &f->memory[index]);
}

int distill(const machine *m, const rfm_model *teachers, size_t count, const rfm_data *rows, recipe *k, rfm_tiny *tiny,
            void **memory) {
    finals *f = allocate(1, sizeof *f, "students");
    school s;
    size_t i, best = FINAL_SEEDS;
    int status = school_open(&s, teachers, count, teachers->task, rows, 1, k->each);
    k->steps = all_steps(teachers, k);
    f->ctx.port = m->ctx.port, f->school = &s, f->recipe = *k;
    if (status == RFM_OK) {
        run_jobs(m, final_job, f, FINAL_SEEDS);
        status = f->status[0];
        for (i = 0; i < FINAL_SEEDS; i++)
            if (f->status[i] == RFM_OK && (best == FINAL_SEEDS || f->loss[i] < f->loss[best])) best = i;
    }
    for (i = 0; i < FINAL_SEEDS; i++)
        if (i != best) free(f->memory[i]);
    if (best < FINAL_SEEDS)
        *tiny = f->tiny[best], *memory = f->memory[best], k->seed += (uint32_t)best, status = RFM_OK;
    school_close(&s);
    free(f);
    return status;
}

int distill_numbers(const rfm_ctx *ctx, const rfm_model *teacher, int task, const rfm_data *rows, const recipe *k,
                    rfm_model *model, void **memory) {
    school s;
    rfm_hyperbf f;
    rfm_arena store;
    double loss;
    size_t bytes = 0;
    void *room = NULL;
    int status = school_open(&s, teacher, 1, task, rows, 0, 0);
    *memory = NULL;
    if (status == RFM_OK) status = network(ctx, &s, k, NULL, &f, &loss, &room);
    if (status == RFM_OK) {
        back_to_targets(&s, &f);
        status = rfm_hyperbf_model_need(&f, &bytes);
    }
    if (status == RFM_OK) {
        *memory = allocate_aligned(bytes, "the model");
        (void)rfm_arena_init(&store, *memory, bytes);
        status = rfm_hyperbf_model(&f, &store, model);
    }
    free(room);
    school_close(&s);
    return status;
}

/* ---- candidates ----------------------------------------------------------------------------- */

typedef struct {
    work *w;
    school schools[2][MOST_PARTS]; /* with one exponent, with one for each input */
    int right[2];                  /* there are such exponents */
    int each;                      /* what is tried first */
    int differ;                    /* the other is worth a try */
    size_t rank_most;
    /* a batch */
    const recipe *recipes;
    size_t tries;      /* seeds of each */
    outcome *outcomes; /* (recipes, tries, parts) */
    const char *label;
    size_t done, all;
} search;

static const input_set *base_set(const search *s) { return &s->w->sets[s->w->base]; }

static void search_open(search *s, work *w) {
    const input_set *set = &w->sets[w->base];
    size_t f, each;
    memset(s, 0, sizeof *s);
    s->w = w;
    s->right[0] = s->right[1] = 1;
    s->rank_most = set->like.r < 255 ? set->like.r : 255;
    for (f = 0; f < w->part_count; f++) {
        const fold *p = &set->parts[f];
        rfm_data rows;
        memset(&rows, 0, sizeof rows);
        rows.x = rfm_cview(p->rows.x, p->rows.n, set->count), rows.y = rfm_cview(p->rows.y, p->rows.n, w->t->c);
        if (f == 0) s->each = inputs_differ(rows.x);
        if (f == 0) s->differ = spreads_apart(rows.x, 0) > SPREADS_LIKE;
        for (each = 0; each < 2; each++)
            s->right[each] &= school_open(&s->schools[each][f], p->sources, w->t->models, set->like.task, &rows, 1,
                                          (int)each) == RFM_OK;
    }
    if (!s->right[0]) s->each = 1;
}

static void search_close(search *s) {
    size_t i;
    for (i = 0; i < 2 * s->w->part_count; i++) school_close(&s->schools[i % 2][i / 2]);
}

static void recipe_job(void *arg, size_t index, size_t worker) {
    search *s = arg;
    work *w = s->w;
    const recipe *k = &s->recipes[index / w->part_count / s->tries];
    const school *from = &s->schools[k->each][index % w->part_count];
    outcome *o = &s->outcomes[index];
    rfm_ctx ctx = own_ctx(w);
    recipe own = *k;
    rfm_tiny tiny;
    void *memory;
    double loss;
    size_t done;
    own.seed += (uint32_t)(index / w->part_count % s->tries);
    if (own.centers > from->n) own.centers = from->n;
    o->status = student(&ctx, from, &own, &tiny, &loss, &memory);
    if (o->status == RFM_OK) {
        any_model model = any_of_tiny(&tiny);
        judge(w, &w->sets[w->base].parts[index % w->part_count].rows, &model, o);
    }
    free(memory);
    pthread_mutex_lock(&w->lock);
    done = ++s->done;
    pthread_mutex_unlock(&w->lock);
    if (worker == 0) progress_show(s->label, (double)done, (double)s->all);
}

static int same_recipe(const recipe *a, const recipe *b) {
    return a->rank == b->rank && a->centers == b->centers && a->prototypes == b->prototypes && a->each == b->each &&
           a->entropy == b->entropy && a->temperature == b->temperature && a->bandwidth == b->bandwidth &&
           a->mixed == b->mixed && a->noisy == b->noisy && a->truth == b->truth && a->steps == b->steps;
}

static int tried(const search *s, const recipe *k) {
    size_t i;
    for (i = 0; i < s->w->count; i++)
        if (s->w->list[i].type == TYPE_TINY && same_recipe(&s->w->list[i].recipe, k)) return 1;
    return 0;
}

/* Each recipe on every part; the outcomes are to be freed. */
static void run_batch(search *s, const char *label, const recipe *list, size_t count, size_t tries) {
    size_t jobs = count * tries * s->w->part_count;
    s->recipes = list, s->tries = tries, s->label = label, s->done = 0, s->all = jobs;
    s->outcomes = allocate(jobs, sizeof *s->outcomes, "scores");
    run_jobs(s->w->t->machine, recipe_job, s, jobs);
    progress_end();
}

/* The same for a list, but for what has been tried or does not fit. One that fails is no candidate. */
static void run_recipes(search *s, const char *label, recipe *list, size_t count, size_t tries) {
    work *w = s->w;
    const input_set *set = base_set(s);
    size_t i, j, f, kept = 0;
    for (i = 0; i < count; i++) {
        for (j = 0; j < kept && !same_recipe(&list[j], &list[i]); j++) continue;
        if (j < kept || tried(s, &list[i]) || !s->right[list[i].each]) continue;
        if (w->t->budget > 0 && tiny_bytes(&set->like, &list[i]) > w->t->budget) continue;
        list[kept++] = list[i];
    }
    if (kept == 0) return;
    run_batch(s, label, list, kept, tries);
    for (i = 0; i < kept; i++) {
        candidate k;
        size_t right = 0;
        double loss = 0;
        int complete = 1;
        for (f = 0; f < tries * w->part_count; f++) {
            const outcome *o = &s->outcomes[i * tries * w->part_count + f];
            complete &= o->status == RFM_OK;
            right += o->right, loss += o->loss / (double)tries;
        }
        if (!complete) continue;
        memset(&k, 0, sizeof k);
        k.type = TYPE_TINY, k.features = set->count, k.rank = list[i].rank, k.centers = list[i].centers;
        k.bytes = tiny_bytes(&set->like, &list[i]), k.ridge = 1, k.recipe = list[i];
        k.score = score_from(w, right, loss), k.loss = loss;
        if (w->t->labels != NULL) k.score /= (double)tries;
        add_candidate(w, &k, w->base);
    }
    free(s->outcomes);
}

void tiny_again(work *w, const recipe *k) {
    search *s = allocate(1, sizeof *s, "the search");
    search_open(s, w);
    run_batch(s, "finding a threshold", k, 1, 1);
    free(s->outcomes);
    search_close(s);
    free(s);
}

/* ---- what is tried -------------------------------------------------------------------------- */

/* The most centres within `bytes`: given, or as many as fit; 0: too few. */
static size_t tiny_centers(const search *s, recipe k, size_t bytes) {
    const tradeoff *t = s->w->t;
    const rfm_model *like = &base_set(s)->like;
    size_t most = t->rows < MOST_TINY ? t->rows : MOST_TINY, least = t->form->classes > 0 ? t->form->classes : 1;
    if (k.prototypes && most > 255 * t->c) most = 255 * t->c;
    k.centers = t->centers > 0 ? t->centers : least;
    if (tiny_bytes(like, &k) > bytes) return 0;
    while (t->centers == 0 && k.centers < most) {
        k.centers++;
        if (tiny_bytes(like, &k) > bytes) return k.centers - 1;
    }
    return k.centers;
}

static recipe first_recipe(const search *s) {
    recipe k = recipe_usual(&base_set(s)->like, s->w->t->how.seed);
    k.each = s->each, k.steps = FEW_STEPS;
    return k;
}

/* Loops take two or four rows of P at a time. Ranks that need code of their own for the last rows are not tried. */
static size_t whole_rank(size_t rank) { return rank > 8 ? rank - rank % 4 : rank > 4 ? rank - rank % 2 : rank; }

/* Ranks from the largest that leaves room for a centre of each class, downwards; at most `most` of them. Where some
 * classes would have two centres and others one, one for each is tried, too. */
static void try_shapes(search *s, size_t bytes, size_t most) {
    recipe list[2 * SHAPES];
    size_t rank = s->w->t->rank > 0 ? s->w->t->rank : whole_rank(s->rank_most), count = 0, ranks = 0;
    const size_t classes = base_set(s)->like.c;
    while (rank > 0 && ranks < most) {
        recipe k = first_recipe(s);
        size_t next = (size_t)(NARROWER * (double)rank);
        k.rank = rank, k.centers = tiny_centers(s, k, bytes);
        if (tiny_bytes(&base_set(s)->like, &k) > FEW_BYTES) k.steps = ALL_STEPS;
        if (k.centers > 0) list[count++] = k, ranks++;
        if (k.prototypes && s->w->t->centers == 0 && k.centers > classes && k.centers < 2 * classes)
            list[count] = k, list[count++].centers = classes;
        if (s->w->t->rank > 0) break;
        rank = whole_rank(k.centers == 0 || next == rank ? rank - 1 : next);
    }
    run_recipes(s, "teaching tiny models of several shapes", list, count, 1);
}

/* The best `most` candidates of at most `bytes`, no two of one shape. */
static size_t best_tiny(const search *s, size_t bytes, recipe *few, size_t most) {
    const work *w = s->w;
    size_t count = 0, i, j;
    while (count < most) {
        const candidate *best = NULL;
        for (i = 0; i < w->count; i++) {
            const candidate *k = &w->list[i];
            for (j = 0; j < count && (few[j].rank != k->rank || few[j].centers != k->centers); j++) continue;
            if (k->type == TYPE_TINY && k->bytes <= bytes && j == count && (best == NULL || better(k, best))) best = k;
        }
        if (best == NULL) break;
        few[count++] = best->recipe;
    }
    return count;
}

static void try_recipes(search *s, size_t bytes) {
    recipe few[2], list[RECIPES], k;
    size_t count = best_tiny(s, bytes, few, 2), i, n = 0;
    for (i = 0; i < count; i++) list[n] = few[i], list[n++].bandwidth = 1;
    run_recipes(s, "teaching with a narrower start", list, n, 1);
    if (best_tiny(s, bytes, few, 1) == 0) return;
    n = 0, k = few[0];
    list[n] = k, list[n++].noisy = 0;
    if (base_set(s)->like.task == RFM_CLASSIFY) {
        list[n] = k, list[n++].temperature = 0.05;
        list[n] = k, list[n++].temperature = 0.2;
        list[n] = k, list[n].temperature = 0.2, list[n].mixed = 0.3, list[n++].noisy = 0;
        list[n] = k, list[n++].truth = 0.5;
        list[n] = k, list[n++].entropy = 0;
    }
    if (k.prototypes) {
        list[n] = k, list[n++].centers -= s->w->t->centers > 0 ? 0 : k.centers % base_set(s)->like.c;
        list[n] = k, list[n].prototypes = 0;
        list[n].centers = tiny_centers(s, list[n], bytes);
        n += list[n].centers > 0;
    }
    if (s->differ) {
        list[n] = k, list[n].each = !k.each;
        list[n].centers = tiny_centers(s, list[n], bytes);
        n += list[n].centers > 0;
    }
    run_recipes(s, "teaching in other ways", list, n, 1);
}

/* The best get all steps; so does the best shape with the usual recipe, which among ten others may have had less luck.
 */
static void finish_tiny(search *s, size_t bytes) {
    recipe few[FINALISTS + 1];
    size_t count = best_tiny(s, bytes, few, FINALISTS), i;
    if (count > 0) {
        few[count] = first_recipe(s);
        few[count].rank = few[0].rank, few[count].centers = few[0].centers;
        few[count].prototypes = few[0].prototypes, few[count].each = few[0].each;
        count++;
    }
    for (i = 0; i < count; i++) few[i].steps = all_steps(&base_set(s)->like, &few[i]);
    run_recipes(s, "teaching the best for longer", few, count, TRIES);
}

/* ---- a budget, a loss ----------------------------------------------------------------------- */

size_t tiny_least(const work *w) {
    const tradeoff *t = w->t;
    recipe k = recipe_usual(&w->sets[w->base].like, 0);
    k.rank = t->rank > 0 ? t->rank : 1;
    k.centers = t->centers > 0 ? t->centers : t->form->classes > 0 ? t->form->classes : 1;
    return tiny_bytes(&w->sets[w->base].like, &k);
}

static void tiny_within(search *s, size_t bytes) {
    try_shapes(s, bytes, SHAPES);
    try_shapes(s, bytes / 2, 3);
    try_shapes(s, bytes / 4, 3);
    try_recipes(s, bytes);
    finish_tiny(s, bytes);
}

/* The least bytes of a candidate that is good enough; SIZE_MAX: there is none. */
static size_t good_bytes(const work *w, double least) {
    size_t i, bytes = SIZE_MAX;
    for (i = 0; i < w->count; i++)
        if (w->list[i].score >= least && w->list[i].bytes < bytes) bytes = w->list[i].bytes;
    return bytes;
}

/* Budgets half as large again, and then what is between the last two. */
static void tiny_for_loss(search *s, double least) {
    const work *w = s->w;
    size_t bytes = tiny_least(w), most = w->t->budget > 0 ? w->t->budget : SIZE_MAX, before = 0, found;
    for (;;) {
        size_t count = w->count;
        bytes = bytes + bytes / 2 < most ? bytes + bytes / 2 : most;
        try_shapes(s, bytes, 4);
        if (good_bytes(w, least) < SIZE_MAX || bytes == most || (before > 0 && w->count == count)) break;
        before = bytes;
    }
    finish_tiny(s, bytes);
    if (good_bytes(w, least) == SIZE_MAX) try_recipes(s, bytes);
    found = good_bytes(w, least);
    if (found == SIZE_MAX) return;
    try_shapes(s, (before + found) / 2, 4);
    try_recipes(s, (before + found) / 2);
    finish_tiny(s, (before + found) / 2);
}

void tiny_search(work *w, double least) {
    search *s = allocate(1, sizeof *s, "the search");
    search_open(s, w);
    if (w->t->max_loss >= 0)
        tiny_for_loss(s, least);
    else
        tiny_within(s, w->t->budget);
    search_close(s);
    free(s);
}
