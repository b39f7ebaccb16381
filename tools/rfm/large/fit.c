#include "tree.h"

#include "rfm_large.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_ROWS 4000 /* that M is learned on exactly, at least */
#define MANY_ROWS   200000
#define HELD_MOST   2000 /* rows that are held out, about */
#define WORSE_MOST  3    /* ridges without a better score end the search */

int method_given(const call *a) {
    static const char *const words[] = {"exact", "hyperbf", "large", "tree", "auto", NULL};
    return options_word("--method", a->form, words);
}

int method_of(const call *a, size_t rows) {
    int method = method_given(a);
    if (method != METHOD_AUTO) return method;
    if (rows <= MOST_ROWS || a->rows != SIZE_MAX || a->coverage > 0 || a->image_size != NULL || a->signal != NULL)
        return METHOD_EXACT;
    return a->balance || a->metric_from != NULL ? METHOD_LARGE : METHOD_AUTO;
}

size_t held_every(size_t rows) { return rows / HELD_MOST > 10 ? rows / HELD_MOST : 10; }

size_t large_centers(const call *a, size_t rows) {
    size_t centers = rows > MANY_ROWS ? 1000 : 2000;
    if (a->network_centers != SIZE_MAX) centers = a->network_centers;
    return centers < rows ? centers : rows;
}

/* Rows that are read in order. Of `every` of them the first is held out: the slice has these, or the others. */
typedef struct {
    const rfm_rows *all;
    size_t every;
    int held;
    size_t next;        /* row of `all` that comes next */
    rfm_real *x, *y, w; /* room for a row that is passed over */
    rfm_real unit;      /* of the weights */
    const int *own;     /* (c) targets are in units of 2^own; NULL: as they are */
} slice;

static size_t read_lesson(void *from, size_t first, size_t count, rfm_real *x, rfm_real *y, rfm_real *weights) {
    const lesson *l = from;
    if (weights != NULL) memcpy(weights, l->weights + first, count * sizeof *weights);
    memcpy(x, l->x + first * l->d, count * l->d * sizeof *x);
    memcpy(y, l->y + first * l->c, count * l->c * sizeof *y);
    return count;
}

static rfm_rows rows_of_lesson(const lesson *l) {
    rfm_rows rows;
    memset(&rows, 0, sizeof rows);
    rows.n = l->rows, rows.d = l->d, rows.c = l->c, rows.weighted = l->weights != NULL;
    rows.read = read_lesson, rows.from = (void *)l;
    return rows;
}

static size_t read_slice(void *from, size_t first, size_t count, rfm_real *x, rfm_real *y, rfm_real *weights) {
    slice *p = from;
    const rfm_rows *all = p->all;
    size_t i, k;
    if (first == 0) p->next = 0;
    for (i = 0; i < count; p->next++) {
        int wanted = (p->next % p->every == 0) == p->held;
        rfm_real *w = weights == NULL ? NULL : wanted ? weights + i : &p->w;
        if (all->read(all->from, p->next, 1, wanted ? x + i * all->d : p->x, wanted ? y + i * all->c : p->y, w) != 1)
            return i;
        if (w != NULL) *w /= p->unit;
        for (k = 0; wanted && p->own != NULL && k < all->c; k++)
            y[i * all->c + k] = (rfm_real)ldexp((double)y[i * all->c + k], -p->own[k]);
        i += (size_t)wanted;
    }
    return count;
}

static rfm_rows rows_of_slice(slice *p) {
    size_t held = (p->all->n + p->every - 1) / p->every;
    rfm_rows rows = *p->all;
    rows.n = p->held ? held : p->all->n - held;
    rows.read = read_slice, rows.from = p;
    return rows;
}

static void check(int status, const lesson *l) {
    if (status != RFM_OK && status != RFM_ECANCEL)
        fail("cannot train on %zu rows, %zu inputs: %s", l->rows, l->d, rfm_status_text(status));
}

static void arena_of(rfm_arena *arena, size_t bytes) {
    void *memory = NULL;
    if (machine_room() > 0 && (double)bytes > machine_room())
        fail("out of memory: training takes %zu bytes, this machine has %.0f; fewer centres: --centers N", bytes,
             machine_room());
    if (posix_memalign(&memory, 64, bytes > 0 ? bytes : 1) != 0) fail("out of memory: %zu bytes for training", bytes);
    (void)rfm_arena_init(arena, memory, bytes);
}

/* ---- the ridge ------------------------------------------------------------------------------ */

static size_t best_of(const rfm_real *y, size_t c) {
    size_t best = 0, k;
    for (k = 1; k < c; k++)
        if (y[k] > y[best]) best = k;
    return c == 1 ? y[0] > 0 : best;
}

/* Accuracy or r2 of predictions f (rows, c) of y. */
static double held_score(const lesson *l, size_t rows, const rfm_real *y, const rfm_real *f) {
    double wrong = 0, all = 0, right = 0;
    size_t i, k;
    for (i = 0; l->form->classes > 0 && i < rows; i++)
        right += best_of(y + i * l->c, l->c) == best_of(f + i * l->c, l->c);
    if (l->form->classes > 0) return right / (double)rows;
    for (k = 0; k < l->c; k++) {
        double mean = 0;
        for (i = 0; i < rows; i++) mean += (double)y[i * l->c + k] / (double)rows;
        for (i = 0; i < rows; i++) {
            double truth = (double)y[i * l->c + k];
            wrong += pow((double)f[i * l->c + k] - truth, 2), all += pow(truth - mean, 2);
        }
    }
    return all > 0 ? 1 - wrong / all : 0;
}

/* (c) exponents of the sizes of targets that are not standardised, for sums have one unit for all; NULL: they are. */
static int *sizes_of(const lesson *l, const slice *p) {
    rfm_real *most, w;
    size_t i, k;
    int *own;
    if (!l->raw || l->form->classes > 0) return NULL;
    own = allocate(l->c, sizeof *own, "sizes"), most = allocate(l->c, sizeof *most, "sizes");
    memset(most, 0, l->c * sizeof *most);
    for (i = 0; i < p->all->n; i++) {
        if (p->all->read(p->all->from, i, 1, p->x, p->y, p->all->weighted ? &w : NULL) != 1) check(RFM_EREAD, l);
        for (k = 0; k < l->c; k++) most[k] = (rfm_real)fmax((double)most[k], fabs((double)p->y[k]));
    }
    for (k = 0; k < l->c; k++) (void)frexp((double)most[k], &own[k]);
    free(most);
    return own;
}

/* alpha of these sums, for targets as they are. */
static void solve_sums(const rfm_ctx *ctx, const lesson *l, const rfm_model *m, const rfm_sums *sums, const int *own,
                       rfm_real ridge, rfm_real *alpha, rfm_solve_report *report) {
    size_t i;
    check(rfm_sums_solve(ctx, m, sums, ridge, rfm_view(alpha, m->n, m->c), report), l);
    for (i = 0; own != NULL && i < m->n * m->c; i++) alpha[i] = (rfm_real)ldexp((double)alpha[i], own[i % m->c]);
}

/* Sums of one part, in memory of their own. */
static rfm_sums *sums_of(const rfm_ctx *with, const lesson *l, const rfm_model *m, slice *p, int *status) {
    rfm_rows rows = rows_of_slice(p);
    rfm_arena arena;
    rfm_ctx ctx = *with;
    rfm_sums *sums;
    void *memory = NULL;
    size_t bytes = 0, need = 0;
    check(rfm_sums_size(m, RFM_SUMS_SOLVE, &bytes), l);
    check(rfm_sums_add_need(&ctx, &rows, m, RFM_SUMS_SOLVE, &need), l);
    if (posix_memalign(&memory, 64, bytes) != 0) fail("out of memory: %zu bytes for sums", bytes);
    sums = memory;
    check(rfm_sums_init(m, RFM_SUMS_SOLVE, 4, sums, bytes), l);
    arena_of(&arena, need);
    ctx.arena = &arena;
    *status = rfm_sums_add(&ctx, &rows, m, sums);
    check(*status, l);
    free(arena.base);
    return sums;
}

/* One pass without the held rows, one over them. Solves with every ridge, takes the best, and solves once more for all
 * rows, which are the sum of the two. fixed: the ridge stays, and is only scored. It is what is added to K. */
static int choose_ridge(const rfm_ctx *with, const lesson *l, const rfm_rows *all, rfm_model *m, rfm_real *alpha,
                        rfm_real unit, rfm_real *ridge, int fixed, large_result *result) {
    double factor = fixed ? 1 : 1e-2, best = 1; /* of the ridge that was given */
    size_t every = held_every(all->n), need = 0, bytes = 0, worse = 0;
    slice most, held, as_is;
    int *own;
    rfm_sums *sums, *rest;
    rfm_real *x, *y, *w, *predicted;
    rfm_solve_report report;
    rfm_arena arena;
    rfm_ctx ctx = *with;
    rfm_rows rows;
    int status;
    memset(&most, 0, sizeof most);
    most.all = all, most.every = every, most.unit = unit;
    most.x = allocate(l->d, sizeof *x, "a row"), most.y = allocate(l->c, sizeof *y, "a row");
    most.own = own = sizes_of(l, &most);
    held = most, held.held = 1;
    as_is = held, as_is.own = NULL;
    rows = rows_of_slice(&held);
    sums = sums_of(with, l, m, &most, &status);
    if (status != RFM_OK) return status;
    ctx.tick = NULL;
    x = allocate(rows.n, l->d * sizeof *x, "validation"), y = allocate(rows.n, l->c * sizeof *y, "validation");
    w = allocate(rows.n, sizeof *w, "validation");
    predicted = allocate(rows.n, l->c * sizeof *predicted, "validation");
    if (read_slice(&as_is, 0, rows.n, x, y, all->weighted ? w : NULL) != rows.n) check(RFM_EREAD, l);
    check(rfm_sums_solve_need(&ctx, m, &need), l);
    check(rfm_predict_need(&ctx, m, rows.n, &bytes), l);
    arena_of(&arena, need > bytes ? need : bytes);
    ctx.arena = &arena;
    result->validation = -HUGE_VAL, result->held = rows.n;
    for (; factor < (fixed ? 2 : 1e9) && worse < WORSE_MOST; factor *= 10) { /* a solve needs no further pass */
        double found;
        solve_sums(&ctx, l, m, sums, own, *ridge * (rfm_real)factor, alpha, &report);
        check(rfm_predict(&ctx, m, rfm_cview(x, rows.n, l->d), rfm_view(predicted, rows.n, l->c)), l);
        found = held_score(l, rows.n, y, predicted);
        worse++;
        if (found > result->validation) result->validation = found, best = factor, worse = 0;
    }
    *ridge *= (rfm_real)best;
    rest = sums_of(&ctx, l, m, &held, &status);
    check(rfm_sums_merge(sums, rest), l);
    solve_sums(&ctx, l, m, sums, own, *ridge, alpha, &report);
    *ridge = report.ridge > *ridge ? report.ridge : *ridge;
    free(arena.base), free(sums), free(rest), free(x), free(y), free(w), free(predicted), free(most.x), free(most.y);
    free(own);
    return RFM_OK;
}

/* ---- the fit -------------------------------------------------------------------------------- */

/* A fit with this power of the metric, and its ridge. */
static int fit_once(machine *m, const lesson *l, const rfm_rows *rows, const rfm_large_options *o,
                    const rfm_data *start, int scored, int fixed, rfm_options *options, rfm_model *model,
                    large_result *result) {
    rfm_large_report report;
    rfm_real lambda;
    int status = rfm_large_fit(&m->ctx, rows, o, start, m->ctx.arena, model, &report);
    if (status != RFM_OK) return status;
    result->passes = report.solve.passes, result->steps = report.solve.steps, result->power = (double)o->power;
    lambda = report.solve.ridge, result->ridge = (double)lambda;
    result->unit =
        kernel_has_depth(options->kernel) && options->ridge > 0 ? (double)lambda / (double)options->ridge : 1;
    if (!scored) return RFM_OK;
    lambda /= report.solve.weight; /* the weights and the ridge in the unit that they need */
    status =
        choose_ridge(&m->ctx, l, rows, model, (rfm_real *)model->alpha, report.solve.weight, &lambda, fixed, result);
    lambda *= report.solve.weight;
    if (!fixed || result->unit == 1) options->ridge = (rfm_real)((double)lambda / result->unit);
    return status;
}

/* The model's arrays in memory of their own, or from there back into the arena. */
static void keep_model(const rfm_model *m, rfm_real *kept, int back) {
    rfm_real *const at[] = {(rfm_real *)m->shift, (rfm_real *)m->p, (rfm_real *)m->centers, (rfm_real *)m->alpha};
    const size_t count[] = {m->d, m->d, m->n * m->r, m->n * m->c};
    size_t i;
    for (i = 0; i < 4; kept += count[i++]) memcpy(back ? at[i] : kept, back ? kept : at[i], count[i] * sizeof *kept);
}

#define SHARPER 2 /* the power of the metric that is tried beside 1 */

/* large_fit; scored: held-out rows are scored even where the ridge is given. */
static int fit_centers(machine *m, const lesson *l, const rfm_rows *in, const call *a, rfm_options *options,
                       int (*tick)(void *arg, rfm_real done), fitted *f, int scored, large_result *result) {
    int fixed = strcmp(a->ridge, "auto") != 0, choose;
    rfm_large_options o;
    rfm_data start;
    rfm_rows rows = in != NULL ? *in : rows_of_lesson(l);
    size_t scratch = 0, store = 0, mark;
    int status;
    memset(result, 0, sizeof *result);
    memset(&start, 0, sizeof start);
    result->validation = (double)NAN;
    rfm_large_options_init(&o);
    o.fit = *options, o.centers = large_centers(a, rows.n);
    o.sample = o.centers > SAMPLE_ROWS ? o.centers : SAMPLE_ROWS;
    o.rounds = options->iterations > 0 && options->metric != RFM_IDENTITY;
    start.start = l->start;
    check(rfm_large_fit_need(&m->ctx, &rows, &o, &start, &scratch, &store), l);
    f->arena_bytes = scratch + store;
    if (machine_room() > 0 && (double)f->arena_bytes > machine_room())
        fail("out of memory: training with %zu centres takes %zu bytes, this machine has %.0f; fewer: --centers N",
             o.centers, f->arena_bytes, machine_room());
    machine_memory(m, f->arena_bytes, "training (fewer centres take less: --centers N)");
    m->ctx.tick = tick, mark = m->ctx.arena->used;
    choose = (o.centers < rows.n ? o.centers : rows.n) <= RFM_DIRECT_CENTERS && rows.n >= 50 && (scored || !fixed);
    status = fit_once(m, l, &rows, &o, &start, choose, fixed, options, &f->model, result);
    if (status == RFM_OK && choose && o.rounds > 0 && options->kernel == RFM_L1 && options->metric == RFM_DIAGONAL) {
        const rfm_model first = f->model;
        rfm_real *kept = allocate(2 * first.d + first.n * (first.r + first.c), sizeof *kept, "a model");
        rfm_options other = o.fit;
        large_result sharper = *result;
        keep_model(&first, kept, 0);
        rfm_arena_release(m->ctx.arena, mark);
        o.power = SHARPER;
        status = fit_once(m, l, &rows, &o, &start, choose, fixed, &other, &f->model, &sharper);
        if (status == RFM_OK && sharper.validation > result->validation) {
            *result = sharper, options->ridge = other.ridge;
        } else if (status == RFM_OK) {
            f->model = first;
            keep_model(&first, kept, 1);
        }
        free(kept);
    }
    if (status == RFM_ECHANGED || status == RFM_EREAD)
        fail("%s: the rows have changed while they were read", a->operands[0]);
    check(status, l);
    if (status == RFM_OK) {
        f->unit = result->unit;
        f->path[options->iterations].ridge =
            choose || kernel_has_depth(options->kernel) ? options->ridge : (rfm_real)result->ridge;
        f->path[options->iterations].bandwidth = f->model.bandwidth;
        f->path[options->iterations].rank = (uint32_t)f->model.r;
    }
    m->ctx.tick = NULL;
    return status;
}

int large_fit(machine *m, const lesson *l, const rfm_rows *in, const call *a, rfm_options *options,
              int (*tick)(void *arg, rfm_real done), fitted *f, large_result *result) {
    return fit_centers(m, l, in, a, options, tick, f, 0, result);
}

/* ---- which of the two ------------------------------------------------------------------------ */

#define COMPARED_ROWS 50000

/* Rows of the lesson, evenly spread. */
static lesson some_rows(const lesson *l, rfm_real **weights) {
    lesson some = *l;
    size_t i;
    some.rows = l->rows < COMPARED_ROWS ? l->rows : COMPARED_ROWS;
    some.x = allocate(some.rows, l->d * sizeof *some.x, "rows"),
    some.y = allocate(some.rows, l->c * sizeof *some.y, "rows");
    *weights = l->weights != NULL ? allocate(some.rows, sizeof **weights, "rows") : NULL;
    some.weights = *weights;
    for (i = 0; i < some.rows; i++) {
        size_t row = (size_t)((double)i * (double)l->rows / (double)some.rows);
        memcpy(some.x + i * l->d, l->x + row * l->d, l->d * sizeof *some.x);
        memcpy(some.y + i * l->c, l->y + row * l->c, l->c * sizeof *some.y);
        if (*weights != NULL) (*weights)[i] = l->weights[row];
    }
    return some;
}

int best_method(machine *m, const lesson *l, const call *a, const rfm_options *options,
                int (*tick)(void *arg, rfm_real done), compared *result) {
    rfm_real *weights;
    lesson some = some_rows(l, &weights);
    rfm_options o = *options;
    fitted *f = allocate(1, sizeof *f, "a trial");
    large_result of_large;
    tree_result of_tree;
    rfm_tree tree;
    void *blob = NULL;
    size_t bytes = 0;
    int status = fit_centers(m, &some, NULL, a, &o, tick, f, 1, &of_large);
    if (status == RFM_OK) status = tree_fit(m, &some, a, options, 0, tick, f, &blob, &bytes, &tree, &of_tree);
    progress_end();
    if (status == RFM_ECANCEL) fail("interrupted; no model was written");
    result->rows = some.rows, result->held = of_tree.held;
    result->large = of_large.validation, result->tree = of_tree.validation;
    free(blob), free(f), free(some.x), free(some.y), free(weights);
    return result->tree > result->large ? METHOD_TREE : METHOD_LARGE;
}
