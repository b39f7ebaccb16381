/* The rows are cut into parts as in learn/search.c: up to FOLD_ROWS rows five folds, above that one hold-out of a
 * fifth, class by class. For every part the model is fitted anew on the other rows with its own settings, so that
 * neither M nor alpha has seen the rows to score on; every candidate is made from that fit as the final one will be
 * made from the model, and the fit itself, unchanged, gives the score that a candidate is measured by. Which inputs a
 * candidate with fewer of them keeps is the fit's matter, too.
 *
 * The pieces of work do not depend on the number of threads, nor does what is made of them. */
#include "candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FIT  5000
#define MOST_HELD 2000

const int all_types[TYPES] = {RFM_I8, RFM_I16, RFM_REAL_BYTES};

/* ---- kept inputs ---------------------------------------------------------------------------- */

static __thread const rfm_real *order_by;
static int by_importance(const void *a, const void *b) {
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    return order_by[i] != order_by[j] ? (order_by[i] < order_by[j] ? 1 : -1) : i > j ? 1 : -1;
}

size_t *input_order(const rfm_model *model, rfm_real *importance) {
    size_t *order = allocate(model->d, sizeof *order, "inputs"), i;
    rfm_summary summary;
    int status;
    memset(&summary, 0, sizeof summary);
    (void)rfm_model_summary(model, &summary, NULL, 0);
    status = rfm_small_importance(model, summary.x_scale, importance);
    if (status != RFM_OK) fail("cannot tell what the inputs of the model weigh: %s", rfm_status_text(status));
    for (i = 0; i < model->d; i++) order[i] = i;
    order_by = importance;
    qsort(order, model->d, sizeof *order, by_importance);
    return order;
}

static int by_number(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

size_t *kept_inputs(const size_t *order, size_t d, size_t count) {
    size_t *kept = allocate(count, sizeof *kept, "inputs"), i;
    for (i = 0; i < count && i < d; i++) kept[i] = order != NULL ? order[i] : i;
    qsort(kept, count, sizeof *kept, by_number);
    return kept;
}

char *kept_names(const char *names, const size_t *kept, size_t count) {
    text t = {NULL, 0, 0};
    size_t i;
    if (names == NULL) return NULL;
    for (i = 0; i < count; i++) text_bytes(&t, rfm_name(names, kept[i]), strlen(rfm_name(names, kept[i])) + 1);
    return t.at;
}

rfm_real *kept_columns(const rfm_real *x, size_t rows, size_t d, const size_t *kept, size_t count) {
    rfm_real *to = allocate(rows, count * sizeof *to, "inputs");
    size_t i, j;
    for (i = 0; i < rows; i++)
        for (j = 0; j < count; j++) to[i * count + j] = x[i * d + kept[j]];
    return to;
}

/* ---- fits ----------------------------------------------------------------------------------- */

void *refit(machine *m, const rfm_options *options, double share, const rfm_real *x, const rfm_real *y,
            const uint32_t *labels, size_t rows, size_t d, const sample_form *form, const char *input_names, int raw,
            double temperature, rfm_model *opened) {
    size_t c = form_outputs(form), bytes;
    fitted *f = allocate(1, sizeof *f, "a fit");
    sample s;
    lesson l;
    void *blob;
    s.rows = rows;
    s.x = allocate(rows, d * sizeof *s.x, "inputs");
    s.y = allocate(rows, c * sizeof *s.y, "targets");
    s.labels = NULL, s.moved.x = s.moved.y = NULL;
    memcpy(s.x, x, rows * d * sizeof *x);
    memcpy(s.y, y, rows * c * sizeof *y);
    if (labels != NULL) {
        s.labels = allocate(rows, sizeof *labels, "classes");
        memcpy(s.labels, labels, rows * sizeof *labels);
    }
    lesson_prepare(&l, &s, form, input_names, d, raw, "the data");
    (void)lesson_fit(m, &l, options, NULL, f);
    blob = lesson_pack(&l, options, f, (double)NAN, temperature, share, &bytes, opened);
    lesson_free(&l);
    sample_free(&s);
    free(f);
    return blob;
}

/* ---- parts ---------------------------------------------------------------------------------- */

static int by_row(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The rows of part f of the order: fit and held, each in the file's order. */
static void part_rows(const work *w, size_t f, uint32_t *fit, size_t *n, uint32_t *held, size_t *v) {
    size_t i, every = 1;
    rows_fold(w->order, w->t->rows, w->folds, f, fit, n, held, v);
    while (*v / every > MOST_HELD || *n / every > MOST_FIT) every++;
    for (i = 0; every > 1 && i < *n / every; i++) fit[i] = fit[i * every]; /* still class by class */
    for (i = 0; every > 1 && i < *v / every; i++) held[i] = held[i * every];
    *n /= every, *v /= every;
    qsort(fit, *n, sizeof *fit, by_row);
    qsort(held, *v, sizeof *held, by_row);
}

/* The inputs that part f keeps: by its own fit on all of them, which is in the first set. */
static size_t *part_inputs(const work *w, size_t f, size_t count) {
    const tradeoff *t = w->t;
    rfm_real *importance;
    size_t *order = NULL, *kept;
    if (count < t->d) {
        importance = allocate(t->d, sizeof *importance, "importances");
        order = input_order(w->sets[0].parts[f].sources, importance);
        free(importance);
    }
    kept = kept_inputs(order, t->d, count);
    free(order);
    return kept;
}

size_t add_set(work *w, size_t count) {
    const tradeoff *t = w->t;
    input_set *s = &w->sets[w->set_count];
    uint32_t *fit, *held;
    size_t f;
    size_t *kept = kept_inputs(count < t->d ? t->order : NULL, t->d, count);
    s->count = count;
    s->names = kept_names(t->input_names, kept, count);
    free(kept);
    s->extras = t->extras;
    s->extras.nodes = w->nodes;
    if (s->extras.input_names != NULL) s->extras.input_names = s->names;
    s->like = *t->source;
    s->like.d = count;
    if (s->like.metric != RFM_FULL || s->like.r > count) s->like.r = count;
    fit = allocate(t->rows, sizeof *fit, "folds");
    held = allocate(t->rows, sizeof *held, "folds");
    for (f = 0; f < w->part_count; f++) {
        fold *p = &s->parts[f];
        uint32_t *labels = NULL;
        size_t n, v, i;
        kept = part_inputs(w, f, count);
        progress_show("fitting without the rows to score on", (double)f, (double)w->part_count);
        part_rows(w, f, fit, &n, held, &v);
        p->rows =
            part_make(rfm_cview(t->x, t->rows, t->d), rfm_cview(t->y, t->rows, t->c), kept, count, fit, n, held, v);
        if (t->labels != NULL) labels = allocate(n, sizeof *labels, "classes");
        for (i = 0; t->labels != NULL && i < n; i++) labels[i] = t->labels[fit[i]];
        for (i = 0; i < t->models; i++)
            p->blobs[i] = refit(t->machine, &t->options[i], t->shares[i], p->rows.x, p->rows.y, labels, n, count,
                                t->form, s->names, t->raw, 0, &p->sources[i]);
        free(labels);
        free(kept);
    }
    progress_end();
    free(fit);
    free(held);
    return w->set_count++;
}

static void free_set(work *w, input_set *s) {
    size_t f, i;
    for (f = 0; f < w->part_count; f++) {
        part_free(&s->parts[f].rows);
        for (i = 0; i < w->t->models; i++) free(s->parts[f].blobs[i]);
    }
    free(s->names);
}

/* ---- scores --------------------------------------------------------------------------------- */

double scores_unit(const rfm_real *y, const rfm_real *target, size_t count) {
    double both = 0, own = 0;
    size_t i;
    for (i = 0; i < count; i++) both += (double)y[i] * (double)target[i], own += (double)y[i] * (double)y[i];
    return own > 0 && both > 0 ? both / own : 0;
}

static void set_units(rfm_real *y, const rfm_real *target, size_t count) {
    const double unit = scores_unit(y, target, count);
    size_t i;
    for (i = 0; i < count; i++) y[i] = (rfm_real)((double)y[i] * unit);
}

rfm_ctx own_ctx(const work *w) {
    rfm_ctx ctx;
    memset(&ctx, 0, sizeof ctx);
    ctx.port = w->t->machine->ctx.port;
    return ctx;
}

/* y (v, c): the mean of the scores of so many models. */
static int mean_scores(const work *w, const part *p, const rfm_model *models, size_t count, rfm_real *y) {
    size_t c = w->t->c, bytes = 0, i, k;
    rfm_real *own = allocate(p->v, c * sizeof *own, "predictions");
    int status = RFM_OK;
    for (k = 0; k < count && status == RFM_OK; k++) {
        rfm_ctx ctx = own_ctx(w);
        rfm_arena arena;
        void *memory;
        rfm_arena_measure(&arena);
        ctx.arena = &arena;
        status = rfm_predict_need(&ctx, &models[k], p->v, &bytes);
        memory = allocate_aligned(bytes, "predictions");
        if (status == RFM_OK) status = rfm_arena_init(&arena, memory, bytes);
        if (status == RFM_OK)
            status = rfm_predict(&ctx, &models[k], rfm_cview(p->xv, p->v, models[k].d), rfm_view(own, p->v, c));
        for (i = 0; status == RFM_OK && i < p->v * c; i++)
            y[i] = k == 0 ? own[i] : y[i] + (own[i] - y[i]) / (rfm_real)(k + 1);
        free(memory);
    }
    free(own);
    return status;
}

/* `models`: what a model of numbers is the mean of. */
static void judge_mean(const work *w, const part *p, const any_model *model, const rfm_model *models, size_t count,
                       outcome *o) {
    size_t c = w->t->c, i, saturated;
    rfm_real *y = allocate(p->v, c * sizeof *y, "predictions");
    uint32_t *classes = allocate(p->v, sizeof *classes, "predictions");
    const uint32_t *labels = w->t->labels;
    if (is_tiny(model))
        o->status = predict_tiny(&model->tiny, p->xv, p->v, y, classes, &saturated);
    else if (has_integers(model))
        o->status = predict_integers(&model->integers, p->xv, p->v, y, classes, &saturated);
    else
        o->status = mean_scores(w, p, models, count, y);
    o->right = 0, o->loss = 0;
    if (o->status == RFM_OK && is_tiny(model) && labels != NULL) set_units(y, p->yv, p->v * c);
    for (i = 0; o->status == RFM_OK && i < p->v; i++) {
        o->loss += squared_error(y + i * c, p->yv + i * c, c, w->around);
        if (w->scores != NULL) memcpy(w->scores + p->rows[i] * c, y + i * c, c * sizeof *y);
        if (labels != NULL) {
            uint32_t label = labels[p->rows[i]];
            o->right += (size_t)(has_integers(model) ? classes[i] == label : is_right(y + i * c, c, label));
        }
    }
    free(y);
    free(classes);
}

void judge(const work *w, const part *p, const any_model *model, outcome *o) {
    judge_mean(w, p, model, &model->numbers, 1, o);
}

double score_from(const work *w, size_t right, double loss) {
    return w->t->labels != NULL ? (double)right / (double)w->held : 1 - loss;
}

double full_score(const work *w) {
    size_t f, right = 0;
    double loss = 0;
    for (f = 0; f < w->part_count; f++) {
        const fold *p = &w->sets[0].parts[f];
        any_model model = any_of_numbers(&p->sources[0]);
        outcome o;
        judge_mean(w, &p->rows, &model, p->sources, w->t->models, &o);
        if (o.status != RFM_OK) fail("cannot predict: %s", rfm_status_text(o.status));
        right += o.right, loss += o.loss;
    }
    return score_from(w, right, loss);
}

void run_jobs(const machine *m, void (*job)(void *arg, size_t index, size_t worker), void *arg, size_t jobs) {
    size_t i;
    if (m->ctx.run != NULL)
        m->ctx.run(m->ctx.pool, job, arg, jobs);
    else
        for (i = 0; i < jobs; i++) job(arg, i, 0);
}

/* One cell on one part. */
static void cell_job(void *arg, size_t index, size_t worker) {
    work *w = arg;
    const tradeoff *t = w->t;
    const cell *c = &w->cells[index / w->part_count];
    const fold *from = &w->sets[c->set].parts[index % w->part_count];
    const part *p = &from->rows;
    outcome *out = w->outcomes + index * TYPES;
    thinning how = t->how;
    rfm_ctx ctx = own_ctx(w);
    rfm_data rows;
    rfm_model small;
    void *memory = NULL;
    size_t centers = c->centers < p->n ? c->centers : p->n,
           rank = c->rank < from->sources[0].r ? c->rank : from->sources[0].r, i, done;
    int status;
    memset(&rows, 0, sizeof rows);
    rows.x = rfm_cview(p->x, p->n, w->sets[c->set].count), rows.y = rfm_cview(p->y, p->n, t->c);
    how.polish = c->polish, how.ridge = (rfm_real)((double)how.ridge * c->ridge);
    status = shrink(&ctx, from->sources, &rows, rank, centers, &how, &small, &memory);
    for (i = 0; i < TYPES; i++) {
        any_model model;
        rfm_model_i integers;
        void *more = NULL;
        out[i].status = status;
        if (status != RFM_OK || !(c->types >> i & 1)) continue;
        if (all_types[i] >= RFM_F32)
            model = any_of_numbers(&small);
        else {
            out[i].status = to_integers(&ctx, &small, &rows, all_types[i], how.ridge, &integers, &more);
            if (out[i].status != RFM_OK) continue;
            model = any_of_integers(&integers);
            out[i].nodes = integers.nodes;
        }
        judge(w, p, &model, &out[i]);
        free(more);
    }
    free(memory);
    pthread_mutex_lock(&w->lock);
    done = ++w->done;
    pthread_mutex_unlock(&w->lock);
    if (worker == 0) progress_show(w->label, (double)done, (double)w->all);
}

void add_candidate(work *w, const candidate *k, size_t set) {
    if (w->count == w->room) {
        size_t room = 2 * w->room + 64;
        candidate *more = allocate(room, sizeof *more, "candidates");
        size_t *sets = allocate(room, sizeof *sets, "candidates");
        if (w->count > 0)
            memcpy(more, w->list, w->count * sizeof *more), memcpy(sets, w->list_set, w->count * sizeof *sets);
        free(w->list);
        free(w->list_set);
        w->list = more, w->list_set = sets, w->room = room;
    }
    w->list_set[w->count] = set;
    w->list[w->count++] = *k;
}

/* Which types of a cell have been tried. */
static unsigned types_tried(const work *w, const cell *c) {
    unsigned tried = 0;
    size_t i, k;
    for (i = 0; i < w->count; i++) {
        const candidate *a = &w->list[i];
        if (w->list_set[i] != c->set || a->rank != c->rank || a->centers != c->centers || a->polish != c->polish ||
            a->ridge != c->ridge)
            continue;
        for (k = 0; k < TYPES; k++)
            if (a->type == all_types[k]) tried |= 1u << k;
    }
    return tried;
}

/* The outcomes are to be freed. */
static void run_batch(work *w, const char *label, const cell *cells, size_t count) {
    size_t jobs = count * w->part_count;
    w->cells = cells, w->label = label, w->done = 0, w->all = jobs;
    w->outcomes = allocate(jobs, TYPES * sizeof *w->outcomes, "scores");
    run_jobs(w->t->machine, cell_job, w, jobs);
    progress_end();
}

void cell_again(work *w, const candidate *k, size_t set) {
    cell c;
    size_t i = 0;
    while (all_types[i] != k->type) i++;
    c.set = set, c.rank = k->rank, c.centers = k->centers, c.polish = k->polish, c.ridge = k->ridge;
    c.types = 1u << i;
    run_batch(w, "finding a threshold", &c, 1);
    free(w->outcomes);
}

void run_cells(work *w, const char *label, cell *cells, size_t count) {
    size_t i, j, f, kept = 0;
    for (i = 0; i < count; i++) {
        cells[i].types &= ~types_tried(w, &cells[i]);
        for (j = 0; j < kept; j++)
            if (cells[j].set == cells[i].set && cells[j].rank == cells[i].rank &&
                cells[j].centers == cells[i].centers && cells[j].polish == cells[i].polish &&
                cells[j].ridge == cells[i].ridge)
                break;
        if (cells[i].types == 0) continue;
        if (j < kept)
            cells[j].types |= cells[i].types;
        else
            cells[kept++] = cells[i];
    }
    if (kept == 0) return;
    run_batch(w, label, cells, kept);
    for (i = 0; i < kept; i++)
        for (j = 0; j < TYPES; j++) {
            const input_set *s = &w->sets[cells[i].set];
            candidate k = {0};
            extras e = s->extras;
            size_t right = 0, nodes = 0;
            double loss = 0;
            int complete = cells[i].types >> j & 1;
            for (f = 0; f < w->part_count && complete; f++) {
                const outcome *o = &w->outcomes[(i * w->part_count + f) * TYPES + j];
                complete = o->status == RFM_OK;
                right += o->right, loss += o->loss;
                if (o->nodes > nodes) nodes = o->nodes;
            }
            if (!complete) continue;
            if (nodes > 0) e.nodes = nodes; /* as it is, not as it was expected */
            k.type = all_types[j], k.features = s->count, k.rank = cells[i].rank, k.centers = cells[i].centers;
            k.polish = cells[i].polish, k.ridge = cells[i].ridge;
            k.bytes = shape_bytes(&s->like, &e, k.type, k.rank, k.centers);
            k.score = score_from(w, right, loss), k.loss = loss;
            add_candidate(w, &k, cells[i].set);
        }
    free(w->outcomes);
}

/* ---- all of it ------------------------------------------------------------------------------ */

void work_begin(work *w, const tradeoff *t) {
    size_t f, k;
    memset(w, 0, sizeof *w);
    w->t = t;
    pthread_mutex_init(&w->lock, NULL);
    w->folds = t->rows < FOLDS ? t->rows : FOLDS;
    w->part_count = t->rows <= FOLD_ROWS ? w->folds : 1;
    w->order = rows_in_turn(t->rows, t->labels, t->form->classes, t->how.seed);
    w->around = allocate(t->c, sizeof *w->around, "statistics");
    target_spread(rfm_cview(t->y, t->rows, t->c), w->around);
    (void)add_set(w, t->d);
    for (f = 0; f < w->part_count; f++) w->held += w->sets[0].parts[f].rows.v;
    for (k = 0; k < t->c && w->part_count == 1; k++) w->around[k] *= (double)w->held / (double)t->rows;
}

void work_end(work *w) {
    size_t i;
    for (i = 0; i < w->set_count; i++) free_set(w, &w->sets[i]);
    free(w->order);
    free(w->around);
    free(w->list);
    free(w->list_set);
    pthread_mutex_destroy(&w->lock);
}
