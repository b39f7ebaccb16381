/* Which small model: candidates are scored on training rows that were held out.
 *
 * The rows are cut into parts as in search.c: up to FOLD_ROWS rows five folds, above that one hold-out of a fifth, class by class. For every part the
 * model is fitted anew on the other rows with its own settings, so that neither M nor alpha has seen the rows to score on; every candidate
 * is made from that fit as the final one will be made from the model, and the fit itself, unchanged, gives the score that a candidate is
 * measured by.
 *
 *   a budget         every rank with as many centres as fit; for the best ranks the other types, and half, a quarter and an
 *                    eighth of the budget for the curve; ranks between; fewer inputs; then the finish of the best: ridges and polish
 *   a loss           ranks and doubling numbers of centres from few to many, as long as the blob can be smaller than the smallest that is good
 *                    enough; then fewer centres step by step, with every finish
 *
 * The pieces of work do not depend on the number of threads, nor does what is made of them. */
#include "compress.h"

#include "search.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FOLDS 5
#define FOLD_ROWS 1500
#define MOST_FIT 5000
#define MOST_HELD 2000
#define MOST_SETS 4
#define SHARE_LOW 0.5      /* ranks that leave less of the distances are not tried, */
#define SHARE_HIGH 0.9997  /* and of those that leave more only the first */
#define GOOD_RANKS 4       /* that are looked at closely */
#define FINISHED 3         /* candidates that get other ridges; */
#define POLISHED 2         /* and polish */

static const int all_types[TYPES] = {RFM_I8, RFM_I16, RFM_REAL_BYTES};

/* ---- kept inputs ---------------------------------------------------------------------------------------------------------------- */

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

/* ---- fits ------------------------------------------------------------------------------------------------------------------------- */

void *refit(machine *m, const rfm_options *options, const rfm_real *x, const rfm_real *y, const uint32_t *labels, size_t rows, size_t d, const sample_form *form,
            const char *input_names, int raw, double temperature, rfm_model *opened) {
    size_t c = form->classes == 0 ? form->targets : form->classes == 2 ? 1 : form->classes, bytes;
    fitted *f = allocate(1, sizeof *f, "a fit");
    sample s;
    lesson l;
    void *blob;
    s.rows = rows;
    s.x = allocate(rows, d * sizeof *s.x, "inputs");
    s.y = allocate(rows, c * sizeof *s.y, "targets");
    s.labels = NULL;
    memcpy(s.x, x, rows * d * sizeof *x);
    memcpy(s.y, y, rows * c * sizeof *y);
    if (labels != NULL) {
        s.labels = allocate(rows, sizeof *labels, "classes");
        memcpy(s.labels, labels, rows * sizeof *labels);
    }
    lesson_prepare(&l, &s, form, input_names, d, raw, "the data");
    (void)lesson_fit(m, &l, options, NULL, f);
    blob = lesson_pack(&l, options, f, (double)NAN, temperature, &bytes, opened);
    lesson_free(&l);
    sample_free(&s);
    free(f);
    return blob;
}

/* ---- parts and cells -------------------------------------------------------------------------------------------------------------- */

/* A part of the rows with a fit of its own. */
typedef struct {
    size_t n, v;               /* rows to fit and rows held out */
    rfm_real *x, *y, *xv, *yv; /* (n, d), (n, c), (v, d), (v, c) */
    uint32_t *labels;          /* (v) */
    rfm_model source;
    void *blob;
} part;

/* A number of inputs: what is kept of the rows, and what its models are measured by. */
typedef struct {
    size_t count;
    size_t *kept;
    char *names;
    extras extras;
    rfm_model like; /* sizes of a model on these inputs */
    part parts[MOST_PARTS];
} input_set;

/* A thinned model in one or more types. */
typedef struct {
    size_t set, rank, centers, polish;
    double ridge;
    unsigned types; /* bit i: all_types[i] */
} cell;

typedef struct {
    int status;
    size_t right;
    double loss;
} outcome;

typedef struct {
    const tradeoff *t;
    size_t folds, part_count, held; /* part_count: of the folds, as many as are used */
    uint32_t *order;
    double *around;
    input_set sets[MOST_SETS];
    size_t set_count, nodes;
    size_t ranks[MOST_RANKS], rank_count; /* to try, of the first set */
    candidate *list;
    size_t *list_set;
    size_t count, room;
    /* a batch */
    const cell *cells;
    outcome *outcomes; /* (cells, parts, TYPES) */
    const char *label;
    size_t done, all;
    pthread_mutex_t lock;
} work;

static void take_rows(const tradeoff *t, const uint32_t *rows, size_t count, const size_t *kept, size_t d, rfm_real **x, rfm_real **y, uint32_t **labels) {
    size_t i, j;
    *x = allocate(count, d * sizeof **x, "a part of the rows");
    *y = allocate(count, t->c * sizeof **y, "a part of the rows");
    *labels = t->labels != NULL ? allocate(count, sizeof **labels, "a part of the rows") : NULL;
    for (i = 0; i < count; i++) {
        for (j = 0; j < d; j++) (*x)[i * d + j] = t->x[rows[i] * t->d + kept[j]];
        memcpy(*y + i * t->c, t->y + rows[i] * t->c, t->c * sizeof **y);
        if (t->labels != NULL) (*labels)[i] = t->labels[rows[i]];
    }
}

static int by_row(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The rows of part f of the order: fit and held, each in the file's order. */
static void part_rows(const work *w, size_t f, uint32_t *fit, size_t *n, uint32_t *held, size_t *v) {
    size_t i, every = 1;
    *n = *v = 0;
    for (i = 0; i < w->t->rows; i++) {
        if (i % w->folds == f) held[(*v)++] = w->order[i];
        else fit[(*n)++] = w->order[i];
    }
    while (*v / every > MOST_HELD || *n / every > MOST_FIT) every++;
    for (i = 0; every > 1 && i < *n / every; i++) fit[i] = fit[i * every]; /* still class by class */
    for (i = 0; every > 1 && i < *v / every; i++) held[i] = held[i * every];
    *n /= every, *v /= every;
    qsort(fit, *n, sizeof *fit, by_row);
    qsort(held, *v, sizeof *held, by_row);
}

static size_t add_set(work *w, size_t count) {
    const tradeoff *t = w->t;
    input_set *s = &w->sets[w->set_count];
    uint32_t *fit, *held;
    size_t f;
    s->count = count;
    s->kept = kept_inputs(count < t->d ? t->order : NULL, t->d, count);
    s->names = kept_names(t->input_names, s->kept, count);
    s->extras = t->extras;
    s->extras.nodes = w->nodes;
    if (count < t->d) s->extras.input_names = s->names;
    s->like = *t->source;
    s->like.d = count;
    if (s->like.metric != RFM_FULL || s->like.r > count) s->like.r = count;
    fit = allocate(t->rows, sizeof *fit, "folds");
    held = allocate(t->rows, sizeof *held, "folds");
    for (f = 0; f < w->part_count; f++) {
        part *p = &s->parts[f];
        uint32_t *labels;
        progress_show("fitting without the rows to score on", (double)f, (double)w->part_count);
        part_rows(w, f, fit, &p->n, held, &p->v);
        take_rows(t, fit, p->n, s->kept, count, &p->x, &p->y, &labels);
        take_rows(t, held, p->v, s->kept, count, &p->xv, &p->yv, &p->labels);
        p->blob = refit(t->machine, &t->options, p->x, p->y, labels, p->n, count, t->form, s->names, t->raw, 0, &p->source);
        free(labels);
    }
    progress_end();
    free(fit);
    free(held);
    return w->set_count++;
}

static void free_set(work *w, input_set *s) {
    size_t f;
    for (f = 0; f < w->part_count; f++) {
        part *p = &s->parts[f];
        free(p->x), free(p->y), free(p->xv), free(p->yv), free(p->labels), free(p->blob);
    }
    free(s->kept);
    free(s->names);
}

/* ---- scores ------------------------------------------------------------------------------------------------------------------------- */

static int is_right(const rfm_real *y, size_t c, uint32_t label) {
    size_t best = 0, k;
    if (c == 1) return (y[0] > 0) == (label == 1);
    for (k = 1; k < c; k++)
        if (y[k] > y[best]) best = k;
    return best == label;
}

static void judge(const work *w, const part *p, const any_model *model, outcome *o) {
    size_t c = w->t->c, i, k, saturated, bytes = 0;
    rfm_real *y = allocate(p->v, c * sizeof *y, "predictions");
    uint32_t *classes = allocate(p->v, sizeof *classes, "predictions");
    if (has_integers(model)) o->status = predict_integers(&model->integers, p->xv, p->v, y, classes, &saturated);
    else {
        rfm_ctx ctx;
        rfm_arena arena;
        void *memory;
        memset(&ctx, 0, sizeof ctx);
        rfm_arena_measure(&arena);
        ctx.arena = &arena, ctx.port = w->t->machine->ctx.port;
        o->status = rfm_predict_need(&ctx, &model->numbers, p->v, &bytes);
        memory = allocate_aligned(bytes, "predictions");
        if (o->status == RFM_OK) o->status = rfm_arena_init(&arena, memory, bytes);
        if (o->status == RFM_OK) o->status = rfm_predict(&ctx, &model->numbers, rfm_cview(p->xv, p->v, model->numbers.d), rfm_view(y, p->v, c));
        free(memory);
    }
    o->right = 0, o->loss = 0;
    for (i = 0; o->status == RFM_OK && i < p->v; i++) {
        for (k = 0; k < c; k++) {
            double off = (double)y[i * c + k] - (double)p->yv[i * c + k];
            o->loss += off * off / (w->around[k] > 0 ? w->around[k] : 1) / (double)c;
        }
        if (p->labels != NULL) o->right += (size_t)(has_integers(model) ? classes[i] == p->labels[i] : is_right(y + i * c, c, p->labels[i]));
    }
    free(y);
    free(classes);
}

static double score_of(const work *w, size_t right, double loss) {
    return w->t->labels != NULL ? (double)right / (double)w->held : 1 - loss;
}

/* For work on the calling thread only. */
static rfm_ctx own_ctx(const work *w) {
    rfm_ctx ctx;
    memset(&ctx, 0, sizeof ctx);
    ctx.port = w->t->machine->ctx.port;
    return ctx;
}

/* One cell on one part. */
static void cell_job(void *arg, size_t index, size_t worker) {
    work *w = arg;
    const tradeoff *t = w->t;
    const cell *c = &w->cells[index / w->part_count];
    const part *p = &w->sets[c->set].parts[index % w->part_count];
    outcome *out = w->outcomes + index * TYPES;
    thinning how = t->how;
    rfm_ctx ctx = own_ctx(w);
    rfm_data rows;
    rfm_model small;
    void *memory = NULL;
    size_t centers = c->centers < p->n ? c->centers : p->n, rank = c->rank < p->source.r ? c->rank : p->source.r, i, done;
    int status;
    memset(&rows, 0, sizeof rows);
    rows.x = rfm_cview(p->x, p->n, w->sets[c->set].count), rows.y = rfm_cview(p->y, p->n, t->c);
    how.polish = c->polish, how.ridge = (rfm_real)((double)how.ridge * c->ridge);
    status = shrink(&ctx, &p->source, &rows, rank, centers, &how, &small, &memory);
    for (i = 0; i < TYPES; i++) {
        any_model model;
        rfm_model_i integers;
        void *more = NULL;
        out[i].status = status;
        if (status != RFM_OK || !(c->types >> i & 1)) continue;
        if (all_types[i] >= RFM_F32) model = any_of_numbers(&small);
        else {
            out[i].status = to_integers(&ctx, &small, &rows, all_types[i], how.ridge, &integers, &more);
            if (out[i].status != RFM_OK) continue;
            model = any_of_integers(&integers);
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

static void add_candidate(work *w, const candidate *k, size_t set) {
    if (w->count == w->room) {
        size_t room = 2 * w->room + 64;
        candidate *more = allocate(room, sizeof *more, "candidates");
        size_t *sets = allocate(room, sizeof *sets, "candidates");
        if (w->count > 0) memcpy(more, w->list, w->count * sizeof *more), memcpy(sets, w->list_set, w->count * sizeof *sets);
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
        if (w->list_set[i] != c->set || a->rank != c->rank || a->centers != c->centers || a->polish != c->polish || a->ridge != c->ridge) continue;
        for (k = 0; k < TYPES; k++)
            if (a->type == all_types[k]) tried |= 1u << k;
    }
    return tried;
}

static void run_cells(work *w, const char *label, cell *cells, size_t count) {
    machine *m = w->t->machine;
    size_t i, j, f, kept = 0, jobs;
    for (i = 0; i < count; i++) {
        cells[i].types &= ~types_tried(w, &cells[i]);
        for (j = 0; j < kept; j++)
            if (cells[j].set == cells[i].set && cells[j].rank == cells[i].rank && cells[j].centers == cells[i].centers && cells[j].polish == cells[i].polish &&
                cells[j].ridge == cells[i].ridge)
                break;
        if (cells[i].types == 0) continue;
        if (j < kept) cells[j].types |= cells[i].types;
        else cells[kept++] = cells[i];
    }
    if (kept == 0) return;
    jobs = kept * w->part_count;
    w->cells = cells, w->label = label, w->done = 0, w->all = jobs;
    w->outcomes = allocate(jobs, TYPES * sizeof *w->outcomes, "scores");
    if (m->ctx.run != NULL) m->ctx.run(m->ctx.pool, cell_job, w, jobs);
    else
        for (i = 0; i < jobs; i++) cell_job(w, i, 0);
    for (i = 0; i < kept; i++)
        for (j = 0; j < TYPES; j++) {
            const input_set *s = &w->sets[cells[i].set];
            candidate k;
            size_t right = 0;
            double loss = 0;
            int complete = cells[i].types >> j & 1;
            for (f = 0; f < w->part_count && complete; f++) {
                const outcome *o = &w->outcomes[(i * w->part_count + f) * TYPES + j];
                complete = o->status == RFM_OK;
                right += o->right, loss += o->loss;
            }
            if (!complete) continue;
            k.type = all_types[j], k.features = s->count, k.rank = cells[i].rank, k.centers = cells[i].centers;
            k.polish = cells[i].polish, k.ridge = cells[i].ridge;
            k.bytes = shape_bytes(&s->like, &s->extras, k.type, k.rank, k.centers);
            k.score = score_of(w, right, loss), k.loss = loss;
            add_candidate(w, &k, cells[i].set);
        }
    free(w->outcomes);
    progress_end();
}

/* ---- choices ------------------------------------------------------------------------------------------------------------------------ */

static int better(const candidate *a, const candidate *b) {
    if (a->score != b->score) return a->score > b->score;
    if (a->features != b->features) return a->features > b->features; /* a fit of its own has to pay */
    if (a->loss != b->loss) return a->loss < b->loss;
    return a->bytes < b->bytes;
}

static int fits(const work *w, const candidate *a) { return w->t->budget == 0 || a->bytes <= w->t->budget; }

static const candidate *best_of(const work *w, size_t rank) { /* rank 0: any */
    const candidate *best = NULL;
    size_t i;
    for (i = 0; i < w->count; i++)
        if (fits(w, &w->list[i]) && (rank == 0 || w->list[i].rank == rank) && (best == NULL || better(&w->list[i], best))) best = &w->list[i];
    return best;
}

static unsigned wanted_types(const work *w) {
    size_t i;
    for (i = 0; i < TYPES; i++)
        if (w->t->type == all_types[i]) return 1u << i;
    return (1u << TYPES) - 1;
}

/* Ranks of the first set to try: given, or every half as large again as the one before, as the distances between rows call for. */
static void list_ranks(work *w) {
    const input_set *s = &w->sets[0];
    const part *p = &s->parts[0];
    size_t most = s->like.r, rank;
    rfm_ctx ctx = own_ctx(w);
    rfm_data rows;
    if (w->t->rank > 0) {
        w->ranks[w->rank_count++] = w->t->rank < most ? w->t->rank : most;
        return;
    }
    memset(&rows, 0, sizeof rows);
    rows.x = rfm_cview(p->x, p->n, s->count), rows.y = rfm_cview(p->y, p->n, w->t->c);
    for (rank = 1; rank < most && rank < p->source.r && w->rank_count + 1 < MOST_RANKS; rank += 1 + (rank - 1) / 2) {
        double share = 0;
        if (rank_share(&ctx, &p->source, &rows, rank, &share) != RFM_OK) continue;
        if (share >= SHARE_LOW) w->ranks[w->rank_count++] = rank;
        if (share >= SHARE_HIGH) break;
    }
    if (s->like.metric != RFM_FULL || w->rank_count == 0 || rank >= p->source.r) w->ranks[w->rank_count++] = most; /* a diagonal one stores no P */
}

/* Centres within `bytes`: given, or as many as fit; 0: too few. */
static size_t centers_within(const work *w, size_t set, int type, size_t rank, size_t bytes) {
    const input_set *s = &w->sets[set];
    size_t m;
    if (w->t->centers > 0) return shape_bytes(&s->like, &s->extras, type, rank, w->t->centers) <= bytes ? w->t->centers : 0;
    m = shape_centers(&s->like, &s->extras, type, rank, bytes);
    if (m > w->t->rows) m = w->t->rows;
    return m < w->t->c ? 0 : m;
}

static cell cell_of(const work *w, size_t set, size_t rank, size_t centers, unsigned types) {
    cell c;
    c.set = set, c.rank = rank, c.centers = centers, c.types = types;
    c.polish = w->t->polish_fixed ? w->t->how.polish : 0, c.ridge = 1;
    return c;
}

/* Types of `types` that fit into the budget. */
static unsigned types_within(const work *w, size_t set, size_t rank, size_t centers, unsigned types) {
    const input_set *s = &w->sets[set];
    size_t i;
    for (i = 0; i < TYPES; i++)
        if ((types >> i & 1) && w->t->budget > 0 && shape_bytes(&s->like, &s->extras, all_types[i], rank, centers) > w->t->budget) types &= ~(1u << i);
    return types;
}

/* The most centres of any wanted type within `bytes`. */
static size_t most_centers(const work *w, size_t set, size_t rank, size_t bytes) {
    unsigned types = wanted_types(w);
    size_t most = 0, i;
    for (i = 0; i < TYPES; i++) {
        size_t m = types >> i & 1 ? centers_within(w, set, all_types[i], rank, bytes) : 0;
        if (m > most) most = m;
    }
    return most;
}

/* Ranks at the budget, with the type that has the most centres. */
static void try_ranks(work *w, const char *label, size_t set, const size_t *ranks, size_t count) {
    cell cells[MOST_RANKS];
    size_t i, n = 0;
    unsigned types = wanted_types(w);
    for (i = 0; i < count; i++) {
        size_t m = most_centers(w, set, ranks[i], w->t->budget);
        if (m > 0) cells[n++] = cell_of(w, set, ranks[i], m, types_within(w, set, ranks[i], m, types));
    }
    run_cells(w, label, cells, n);
}

/* The best candidates, no two of one shape. */
static size_t best_few(const work *w, candidate *few, size_t *sets, size_t most) {
    size_t count = 0, i, j;
    while (count < most) {
        size_t best = w->count;
        for (i = 0; i < w->count; i++) {
            for (j = 0; j < count; j++)
                if (few[j].type == w->list[i].type && few[j].rank == w->list[i].rank && few[j].centers == w->list[i].centers && sets[j] == w->list_set[i]) break;
            if (j == count && fits(w, &w->list[i]) && (best == w->count || better(&w->list[i], &w->list[best]))) best = i;
        }
        if (best == w->count) break;
        few[count] = w->list[best], sets[count++] = w->list_set[best];
    }
    return count;
}

static unsigned type_bit(int type) {
    size_t i = 0;
    while (all_types[i] != type) i++;
    return 1u << i;
}

/* The best few get other ridges, and then the best of those polish. */
static void finish_best(work *w) {
    static const double ridges[] = {0.1, 10};
    cell cells[2 * FINISHED];
    candidate few[FINISHED];
    size_t sets[FINISHED], count = best_few(w, few, sets, FINISHED), i, n = 0;
    for (i = 0; i < 2 * count && !w->t->ridge_fixed; i++) {
        cells[n] = cell_of(w, sets[i / 2], few[i / 2].rank, few[i / 2].centers, type_bit(few[i / 2].type));
        cells[n++].ridge = ridges[i % 2];
    }
    run_cells(w, "trying ridges", cells, n);
    if (w->t->polish_fixed) return;
    count = best_few(w, few, sets, POLISHED);
    for (i = 0, n = 0; i < count; i++) {
        cells[n] = cell_of(w, sets[i], few[i].rank, few[i].centers, type_bit(few[i].type));
        cells[n].ridge = few[i].ridge;
        cells[n++].polish = POLISH;
    }
    run_cells(w, "polishing", cells, n);
}

/* ---- a budget ------------------------------------------------------------------------------------------------------------------------ */

static void within_budget(work *w) {
    size_t good[GOOD_RANKS], good_count = 0, i, j, n;
    unsigned types = wanted_types(w);
    cell cells[MOST_RANKS * (TYPES + 3)];
    const candidate *best;
    try_ranks(w, "trying ranks", 0, w->ranks, w->rank_count);
    if (w->count == 0) return;
    while (good_count < GOOD_RANKS) { /* the best ranks */
        const candidate *next = NULL;
        for (i = 0; i < w->rank_count; i++) {
            const candidate *k = best_of(w, w->ranks[i]);
            for (j = 0; j < good_count && good[j] != w->ranks[i]; j++) continue;
            if (k != NULL && j == good_count && (next == NULL || better(k, next))) next = k;
        }
        if (next == NULL) break;
        good[good_count++] = next->rank;
    }
    for (i = 0, n = 0; i < good_count; i++) {
        for (j = 0; j < TYPES + 3; j++) {
            size_t m = j < TYPES ? centers_within(w, 0, all_types[j], good[i], w->t->budget) : most_centers(w, 0, good[i], w->t->budget >> (j - TYPES + 1));
            if (j < TYPES && !(types >> j & 1)) continue;
            if (m > 0) cells[n++] = cell_of(w, 0, good[i], m, types_within(w, 0, good[i], m, types));
        }
    }
    run_cells(w, "trying types and sizes", cells, n);
    best = best_of(w, 0);
    if (best != NULL && w->t->rank == 0) { /* ranks between */
        size_t at = best->rank, near[4], most = w->sets[0].like.r;
        near[0] = at - (at + 3) / 6, near[1] = at + (at + 3) / 6, near[2] = at - (at + 5) / 10, near[3] = at + (at + 5) / 10;
        for (i = 0, n = 0; i < 4; i++)
            if (near[i] > 0 && near[i] < most) near[n++] = near[i];
        try_ranks(w, "trying ranks between", 0, near, n);
        best = best_of(w, 0);
    }
    if (best != NULL && w->t->order != NULL && w->t->features == 0) { /* fewer inputs: bytes for centres */
        size_t fewer[2], at = best->rank;
        fewer[0] = w->t->d - w->t->d / 4, fewer[1] = w->t->d / 2;
        for (i = 0; i < 2; i++) {
            size_t set, near[2];
            if (fewer[i] >= w->t->d || fewer[i] == 0) continue;
            set = add_set(w, fewer[i]);
            near[0] = at < w->sets[set].like.r ? at : w->sets[set].like.r, near[1] = near[0] - near[0] / 4;
            if (w->t->rank > 0 && w->t->rank > w->sets[set].like.r) continue;
            try_ranks(w, "trying fewer inputs", set, near, w->t->rank > 0 || near[1] == near[0] ? 1 : 2);
        }
    }
    finish_best(w);
}

/* ---- a loss -------------------------------------------------------------------------------------------------------------------------- */

/* The smallest candidate that is good enough; NULL: there is none. */
static const candidate *smallest_good(const work *w, double least, size_t *set) {
    const candidate *best = NULL;
    size_t i;
    for (i = 0; i < w->count; i++) {
        const candidate *k = &w->list[i];
        if (!fits(w, k) || k->score < least) continue;
        if (best == NULL || k->bytes < best->bytes || (k->bytes == best->bytes && better(k, best))) best = k, *set = w->list_set[i];
    }
    return best;
}

/* Types of a shape that would be smaller than `best`, and within the budget. */
static unsigned types_smaller(const work *w, size_t set, size_t rank, size_t centers, unsigned types, const candidate *best) {
    const input_set *s = &w->sets[set];
    size_t i;
    types = types_within(w, set, rank, centers, types);
    for (i = 0; i < TYPES; i++)
        if (best != NULL && (types >> i & 1) && shape_bytes(&s->like, &s->extras, all_types[i], rank, centers) >= best->bytes) types &= ~(1u << i);
    return types;
}

static void climb(work *w, size_t set, const size_t *ranks, size_t rank_count, double least) {
    size_t m = w->t->centers > 0 ? w->t->centers : w->t->c > 4 ? w->t->c : 4, most = w->t->centers > 0 ? m : w->t->rows, i, found;
    unsigned types = wanted_types(w);
    for (;;) {
        const candidate *best = smallest_good(w, least, &found);
        cell cells[MOST_RANKS];
        size_t n = 0;
        for (i = 0; i < rank_count; i++) {
            unsigned left = types_smaller(w, set, ranks[i], m, types, best);
            if (left != 0) cells[n++] = cell_of(w, set, ranks[i], m, left);
        }
            if (n == 0) break;
        run_cells(w, "trying more and more centres", cells, n);
        if (m == most) break;
        m = m + (m + 1) / 2 < most ? m + (m + 1) / 2 : most;
    }
}

static void within_loss(work *w, double least) {
    size_t i, round, set = 0;
    const candidate *best;
    climb(w, 0, w->ranks, w->rank_count, least);
    best = smallest_good(w, least, &set);
    if (best != NULL && w->t->order != NULL && w->t->features == 0) {
        size_t fewer[2];
        fewer[0] = w->t->d - w->t->d / 4, fewer[1] = w->t->d / 2;
        for (i = 0; i < 2; i++) {
            size_t at = best->rank, some[3], n = 0, next, k;
            if (fewer[i] >= w->t->d || fewer[i] == 0) continue;
            next = add_set(w, fewer[i]);
            some[n++] = at, some[n++] = at - at / 4, some[n++] = at + at / 3;
            for (k = 0, n = 0; k < 3; k++)
                if (some[k] <= w->sets[next].like.r && some[k] > 0 && (w->t->rank == 0 || some[k] == w->t->rank)) some[n++] = some[k];
            climb(w, next, some, n, least);
            best = smallest_good(w, least, &set);
        }
    }
    for (round = 0; best != NULL && round < 6; round++) { /* fewer centres, a lower rank; polish makes up for some of it */
        static const double shares[] = {0.7, 0.85, 1};
        cell cells[6];
        size_t n = 0, at = best->rank, before = best->bytes;
        unsigned type = type_bit(best->type);
        for (i = 0; i < 3; i++) {
            size_t m = (size_t)(shares[i] * (double)best->centers), rank = i < 2 ? at : at - (at + 5) / 6;
            if (m < w->t->c || rank == 0 || (m < best->centers && w->t->centers > 0) || (rank < at && w->t->rank > 0)) continue;
            cells[n++] = cell_of(w, set, rank, m, type);
            if (w->t->polish_fixed) continue;
            cells[n] = cells[n - 1];
            cells[n++].polish = POLISH;
        }
        run_cells(w, "trying fewer centres", cells, n);
        best = smallest_good(w, least, &set);
        if (best->bytes == before) break;
    }
}

/* ---- bytes ------------------------------------------------------------------------------------------------------------------------------- */

/* How long the table of phi is, from a try with the smallest type on a middle rank; a few more, for others differ a little. */
static void measure_table(work *w) {
    const input_set *s = &w->sets[0];
    const part *p = &s->parts[0];
    size_t rank = w->ranks[w->rank_count / 2];
    thinning how = w->t->how;
    rfm_ctx ctx = own_ctx(w);
    rfm_data rows;
    rfm_model small;
    rfm_model_i integers;
    void *memory = NULL, *more = NULL;
    memset(&rows, 0, sizeof rows);
    rows.x = rfm_cview(p->x, p->n, s->count), rows.y = rfm_cview(p->y, p->n, w->t->c);
    how.polish = 0;
    if (shrink(&ctx, &p->source, &rows, rank < p->source.r ? rank : p->source.r, w->t->c < p->n ? w->t->c : p->n, &how, &small,
               &memory) == RFM_OK &&
        to_integers(&ctx, &small, &rows, RFM_I8, how.ridge, &integers, &more) == RFM_OK)
        w->nodes = integers.nodes + 8;
    free(memory);
    free(more);
}

/* ---- the curve ------------------------------------------------------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return better(x, y) ? -1 : better(y, x);
}

static void make_curve(work *w, tradeoff_result *result) {
    size_t i;
    result->curve = allocate(w->count, sizeof *result->curve, "candidates");
    qsort(w->list, w->count, sizeof *w->list, by_bytes); /* list_set has no meaning any more */
    for (i = 0; i < w->count; i++) {
        const candidate *k = &w->list[i], *c = &result->chosen;
        int taken = k->bytes == c->bytes && k->score == c->score && k->loss == c->loss && k->polish == c->polish && k->ridge == c->ridge;
        if (result->curve_count > 0 && !better(k, &result->curve[result->curve_count - 1])) continue;
        if (taken) result->curve_chosen = result->curve_count;
        result->curve[result->curve_count++] = *k;
    }
}

static void full_score(work *w, tradeoff_result *result) {
    size_t f, right = 0;
    double loss = 0;
    for (f = 0; f < w->part_count; f++) {
        any_model model = any_of_numbers(&w->sets[0].parts[f].source);
        outcome o;
        judge(w, &w->sets[0].parts[f], &model, &o);
        if (o.status != RFM_OK) fail("cannot predict: %s", rfm_status_text(o.status));
        right += o.right, loss += o.loss;
    }
    result->full_score = score_of(w, right, loss);
}

/* The smallest blob that these wishes allow. */
static size_t smallest_possible(const work *w) {
    const input_set *s = &w->sets[0];
    size_t i, least = SIZE_MAX;
    for (i = 0; i < w->rank_count * TYPES; i++) {
        size_t bytes = shape_bytes(&s->like, &s->extras, all_types[i % TYPES], w->ranks[i / TYPES], w->t->centers > 0 ? w->t->centers : w->t->c);
        if ((wanted_types(w) >> i % TYPES & 1) && bytes < least) least = bytes;
    }
    return least;
}

tradeoff_result tradeoff_search(const tradeoff *t) {
    work *w = allocate(1, sizeof *w, "the search");
    tradeoff_result result;
    const candidate *chosen;
    size_t f, i, set = 0;
    memset(&result, 0, sizeof result);
    w->t = t;
    pthread_mutex_init(&w->lock, NULL);
    w->folds = t->rows < FOLDS ? t->rows : FOLDS;
    w->part_count = t->rows <= FOLD_ROWS ? w->folds : 1;
    w->order = rows_in_turn(t->rows, t->labels, t->form->classes, t->how.seed);
    w->around = allocate(t->c, sizeof *w->around, "statistics");
    target_spread(t->y, t->rows, t->c, w->around);
    (void)add_set(w, t->features > 0 ? t->features : t->d);
    for (f = 0; f < w->part_count; f++) w->held += w->sets[0].parts[f].v;
    for (i = 0; i < t->c && w->part_count == 1; i++) w->around[i] *= (double)w->held / (double)t->rows;
    full_score(w, &result);
    list_ranks(w);
    measure_table(w);
    w->sets[0].extras.nodes = w->nodes;
    if (t->budget > 0 && smallest_possible(w) > t->budget)
        fail("--budget %zu: expected at least %zu, the smallest that a model of %zu inputs and %zu outputs can be%s%s", t->budget, smallest_possible(w),
             w->sets[0].count, t->c, t->rank > 0 || t->centers > 0 || t->type != 0 ? " with what else is asked for" : "",
             t->features == 0 ? " (fewer inputs take less: --features)" : "");
    if (t->max_loss >= 0) within_loss(w, result.full_score - t->max_loss - 1e-9);
    else within_budget(w);
    chosen = t->max_loss >= 0 ? smallest_good(w, result.full_score - t->max_loss - 1e-9, &set) : best_of(w, 0);
    if (chosen == NULL && t->max_loss >= 0 && best_of(w, 0) != NULL) {
        const candidate *best = best_of(w, 0);
        fail("--max-loss %g: not reached%s; the best that was found loses %.2f points (%.4f instead of %.4f, %zu bytes)", 100 * t->max_loss,
             t->budget > 0 ? " within the budget" : "", 100 * (result.full_score - best->score), best->score, result.full_score, best->bytes);
    }
    if (chosen == NULL) fail("%s: no small model could be made of it", t->model_file);
    result.chosen = *chosen;
    result.tried = w->count, result.rows_held = w->held, result.parts = w->part_count;
    make_curve(w, &result);
    for (i = 0; i < w->set_count; i++) free_set(w, &w->sets[i]);
    free(w->order);
    free(w->around);
    free(w->list);
    free(w->list_set);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return result;
}
