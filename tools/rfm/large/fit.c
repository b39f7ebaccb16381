#include "large.h"

#include "rfm_large.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_ROWS   4000 /* that M is learned on exactly, at least */
#define MANY_ROWS     200000
#define HOLD_OUT_MOST 5000 /* rows that the ridge is chosen on */
#define WORSE_MOST    3    /* ridges without a better score end the search */

int method_given(const call *a) {
    static const char *const words[] = {"exact", "hyperbf", "large", "tree", "auto", NULL};
    return options_word("--method", a->form, words);
}

int method_of(const call *a, size_t rows) {
    int method = method_given(a);
    if (method != METHOD_AUTO) return method;
    return rows > MOST_ROWS && a->rows == SIZE_MAX && !(a->coverage > 0) && a->image_size == NULL && a->signal == NULL
               ? METHOD_LARGE
               : METHOD_EXACT;
}

size_t large_centers(const call *a, size_t rows) {
    size_t centers = rows > MANY_ROWS ? 1000 : 2000;
    if (a->network_centers != SIZE_MAX) centers = a->network_centers;
    return centers < rows ? centers : rows;
}

/* Rows of a lesson: every tenth is held out, up to a number of them, or not. */
typedef struct {
    const lesson *l;
    size_t every; /* of so many rows the first is held out; 0: none is */
    int held;     /* 1: read those that are */
} slice;

static size_t held_count(size_t rows, size_t every) { return every == 0 ? 0 : (rows + every - 1) / every; }

static size_t row_of(const slice *p, size_t i) {
    if (p->every == 0) return i;
    return p->held ? i * p->every : i + i / (p->every - 1) + 1;
}

static size_t read_part(void *from, size_t first, size_t count, rfm_real *x, rfm_real *y, rfm_real *weights) {
    const slice *p = from;
    const lesson *l = p->l;
    size_t i;
    for (i = 0; i < count; i++) {
        size_t row = row_of(p, first + i);
        if (weights != NULL) weights[i] = l->weights[row];
        memcpy(x + i * l->d, l->x + row * l->d, l->d * sizeof *x);
        memcpy(y + i * l->c, l->y + row * l->c, l->c * sizeof *y);
    }
    return count;
}

static rfm_rows rows_of_part(slice *p) {
    size_t held = held_count(p->l->rows, p->every);
    rfm_rows rows;
    memset(&rows, 0, sizeof rows);
    rows.n = p->every == 0 ? p->l->rows : p->held ? held : p->l->rows - held;
    rows.d = p->l->d, rows.c = p->l->c, rows.weighted = p->l->weights != NULL, rows.read = read_part, rows.from = p;
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

/* Accuracy or r2 of predictions (rows, c) for the held rows. */
static double held_score(const slice *p, const uint32_t *labels, size_t rows, const rfm_real *y) {
    const lesson *l = p->l;
    double wrong = 0, all = 0, mean = 0, right = 0;
    size_t i, k;
    for (k = 0; k < l->c; k++) {
        for (i = 0, mean = 0; i < rows; i++) mean += (double)l->y[row_of(p, i) * l->c + k] / (double)rows;
        for (i = 0; i < rows; i++) {
            double truth = (double)l->y[row_of(p, i) * l->c + k];
            wrong += pow((double)y[i * l->c + k] - truth, 2), all += pow(truth - mean, 2);
        }
    }
    if (labels == NULL) return all > 0 ? 1 - wrong / all : 0;
    for (i = 0; i < rows; i++) {
        uint32_t best = l->c == 1 ? y[i] > 0 : 0;
        for (k = 1; k < l->c; k++)
            if (y[i * l->c + k] > y[i * l->c + best]) best = (uint32_t)k;
        right += best == labels[row_of(p, i)];
    }
    return right / (double)rows;
}

/* Sums of one part, in memory of their own. */
static rfm_sums *sums_of(const rfm_ctx *with, const lesson *l, const rfm_model *m, slice *p, int *status) {
    rfm_rows rows = rows_of_part(p);
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
 * rows, which are the sum of the two. */
static int choose_ridge(const rfm_ctx *with, const lesson *l, const uint32_t *labels, rfm_model *m, rfm_real *alpha,
                        rfm_real *ridge, large_result *result) {
    double factor = 1e-2, best = 1; /* of the ridge that was given */
    size_t every = l->rows / HOLD_OUT_MOST > 10 ? l->rows / HOLD_OUT_MOST : 10, need = 0, bytes = 0, worse = 0;
    slice most, held;
    rfm_sums *sums, *rest;
    rfm_real *x, *y, *predicted;
    rfm_solve_report report;
    rfm_arena arena;
    rfm_ctx ctx = *with;
    rfm_rows rows;
    int status;
    most.l = held.l = l, most.every = held.every = every, most.held = 0, held.held = 1;
    rows = rows_of_part(&held);
    sums = sums_of(with, l, m, &most, &status);
    if (status != RFM_OK) return status;
    ctx.tick = NULL;
    x = allocate(rows.n, l->d * sizeof *x, "validation"), y = allocate(rows.n, l->c * sizeof *y, "validation");
    predicted = allocate(rows.n, l->c * sizeof *predicted, "validation");
    (void)read_part(&held, 0, rows.n, x, y, NULL);
    check(rfm_sums_solve_need(&ctx, m, &need), l);
    check(rfm_predict_need(&ctx, m, rows.n, &bytes), l);
    arena_of(&arena, need > bytes ? need : bytes);
    ctx.arena = &arena;
    result->validation = -HUGE_VAL, result->held = rows.n;
    for (; factor < 1e9 && worse < WORSE_MOST; factor *= 10) { /* a solve needs no further pass */
        double found;
        check(rfm_sums_solve(&ctx, m, sums, *ridge * (rfm_real)factor, rfm_view(alpha, m->n, m->c), &report), l);
        check(rfm_predict(&ctx, m, rfm_cview(x, rows.n, l->d), rfm_view(predicted, rows.n, l->c)), l);
        found = held_score(&held, labels, rows.n, predicted);
        worse++;
        if (found > result->validation) result->validation = found, best = factor, worse = 0;
    }
    *ridge *= (rfm_real)best;
    rest = sums_of(&ctx, l, m, &held, &status);
    check(rfm_sums_merge(sums, rest), l);
    check(rfm_sums_solve(&ctx, m, sums, *ridge, rfm_view(alpha, m->n, m->c), &report), l);
    *ridge = report.ridge > *ridge ? report.ridge : *ridge;
    free(arena.base), free(sums), free(rest), free(x), free(y), free(predicted);
    return RFM_OK;
}

/* ---- the fit -------------------------------------------------------------------------------- */

int large_fit(machine *m, const lesson *l, const call *a, const uint32_t *labels, rfm_options *options,
              int (*tick)(void *arg, rfm_real done), fitted *f, large_result *result) {
    rfm_large_options o;
    rfm_large_report report;
    rfm_data start;
    rfm_rows rows;
    slice all;
    size_t scratch = 0, store = 0;
    int status;
    memset(result, 0, sizeof *result);
    memset(&start, 0, sizeof start);
    result->validation = (double)NAN;
    all.l = l, all.every = 0, all.held = 0;
    rows = rows_of_part(&all);
    rfm_large_options_init(&o);
    o.fit = *options, o.centers = large_centers(a, l->rows);
    o.sample = o.centers > SAMPLE_ROWS ? o.centers : SAMPLE_ROWS;
    o.rounds = options->iterations > 0 && options->metric != RFM_IDENTITY;
    start.start = l->start;
    check(rfm_large_fit_need(&m->ctx, &rows, &o, &start, &scratch, &store), l);
    f->arena_bytes = scratch + store;
    if (machine_room() > 0 && (double)f->arena_bytes > machine_room())
        fail("out of memory: training with %zu centres takes %zu bytes, this machine has %.0f; fewer: --centers N",
             o.centers, f->arena_bytes, machine_room());
    machine_memory(m, f->arena_bytes, "training (fewer centres take less: --centers N)");
    m->ctx.tick = tick;
    status = rfm_large_fit(&m->ctx, &rows, &o, &start, m->ctx.arena, &f->model, &report);
    check(status, l);
    if (status == RFM_OK) {
        result->passes = report.solve.passes, result->steps = report.solve.steps;
        f->path[options->iterations].ridge = report.solve.ridge;
        f->path[options->iterations].bandwidth = f->model.bandwidth;
        f->path[options->iterations].rank = (uint32_t)f->model.r;
        if (f->model.n <= RFM_DIRECT_CENTERS && l->rows >= 50 && strcmp(a->ridge, "auto") == 0) {
            rfm_real *alpha = (rfm_real *)f->model.alpha; /* in the machine's arena */
            status = choose_ridge(&m->ctx, l, labels, &f->model, alpha, &options->ridge, result);
            f->path[options->iterations].ridge = options->ridge;
        }
    }
    m->ctx.tick = NULL;
    return status;
}
