/* Which small model, out of candidates that were scored on rows they had not seen.
 *
 *   a budget   every rank with as many centres as fit; for the best ranks the other types, and parts of the budget for
 *              the curve; ranks between; fewer inputs; then other ridges and polish for the best
 *   a loss     ranks and growing numbers of centres from few to many, as long as the blob can be smaller than the
 *              smallest that is good enough; then fewer centres step by step, with and without polish
 */
#include "candidates.h"

#include "rfm_certify.h"

#include <stdlib.h>
#include <string.h>

#define SHARE_LOW  0.5    /* ranks that leave less of the distances are not tried, */
#define SHARE_HIGH 0.9997 /* and of those that leave more only the first */
#define GOOD_RANKS 4      /* that are looked at closely */
#define FINISHED   3      /* candidates that get other ridges; */
#define POLISHED   2      /* and polish */

#define TINY_BUDGET 2048 /* above it tiny models are tried only where they are asked for */

/* ---- choices -------------------------------------------------------------------------------- */

int better(const candidate *a, const candidate *b) {
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
        if (fits(w, &w->list[i]) && (rank == 0 || w->list[i].rank == rank) &&
            (best == NULL || better(&w->list[i], best)))
            best = &w->list[i];
    return best;
}

static unsigned wanted_types(const work *w) {
    size_t i;
    for (i = 0; i < TYPES; i++)
        if (w->t->type == all_types[i]) return 1u << i;
    return w->t->type == TYPE_TINY ? 0 : (1u << TYPES) - 1;
}

/* Other directions would be another kernel: there is no lower rank, and no network to start from. */
static int on_axes(const work *w) { return rfm_kernels[w->t->source->kernel].axes; }

/* Tiny models: asked for, or within a budget for classes, where they are at home. */
static int wants_tiny(const work *w) {
    return w->t->type == TYPE_TINY ||
           (w->t->type == 0 && w->t->labels != NULL && w->t->max_loss < 0 && w->t->budget <= TINY_BUDGET);
}

/* Ranks of the base to try: given, or every half as large again as the one before, as the distances between rows call
 * for. */
static void list_ranks(work *w) {
    const input_set *s = &w->sets[w->base];
    const fold *p = &s->parts[0];
    size_t most = s->like.r, rank;
    rfm_ctx ctx = own_ctx(w);
    rfm_data rows;
    if (w->t->rank > 0 || on_axes(w)) {
        w->ranks[w->rank_count++] = w->t->rank > 0 && w->t->rank < most ? w->t->rank : most;
        return;
    }
    memset(&rows, 0, sizeof rows);
    rows.x = rfm_cview(p->rows.x, p->rows.n, s->count), rows.y = rfm_cview(p->rows.y, p->rows.n, w->t->c);
    for (rank = 1; rank < most && rank < p->sources[0].r && w->rank_count + 1 < MOST_RANKS;
         rank += 1 + (rank - 1) / 2) {
        double share = 0;
        if (rank_share(&ctx, p->sources, &rows, rank, &share) != RFM_OK) continue;
        if (share >= SHARE_LOW) w->ranks[w->rank_count++] = rank;
        if (share >= SHARE_HIGH) break;
    }
    if (s->like.metric != RFM_FULL || w->rank_count == 0 || rank >= p->sources[0].r)
        w->ranks[w->rank_count++] = most; /* a diagonal one stores no P */
}

/* Centres within `bytes`: given, or as many as fit; 0: too few. */
static size_t centers_within(const work *w, size_t set, int type, size_t rank, size_t bytes) {
    const input_set *s = &w->sets[set];
    size_t m;
    if (w->t->centers > 0)
        return shape_bytes(&s->like, &s->extras, type, rank, w->t->centers) <= bytes ? w->t->centers : 0;
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
        if ((types >> i & 1) && w->t->budget > 0 &&
            shape_bytes(&s->like, &s->extras, all_types[i], rank, centers) > w->t->budget)
            types &= ~(1u << i);
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
                if (few[j].type == w->list[i].type && few[j].rank == w->list[i].rank &&
                    few[j].centers == w->list[i].centers && sets[j] == w->list_set[i])
                    break;
            if (j == count && fits(w, &w->list[i]) && (best == w->count || better(&w->list[i], &w->list[best])))
                best = i;
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

/* ---- a budget ------------------------------------------------------------------------------- */

static void within_budget(work *w) {
    size_t good[GOOD_RANKS], good_count = 0, i, j, n;
    unsigned types = wanted_types(w);
    cell cells[MOST_RANKS * (TYPES + 3)];
    const candidate *best;
    try_ranks(w, "trying ranks", w->base, w->ranks, w->rank_count);
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
            size_t m = j < TYPES ? centers_within(w, w->base, all_types[j], good[i], w->t->budget)
                                 : most_centers(w, w->base, good[i], w->t->budget >> (j - TYPES + 1));
            if (j < TYPES ? !(types >> j & 1) : w->t->type == 0 && j < TYPES + 2)
                continue; /* larger types come to a half and a quarter */
            if (m > 0) cells[n++] = cell_of(w, w->base, good[i], m, types_within(w, w->base, good[i], m, types));
        }
    }
    run_cells(w, "trying types and sizes", cells, n);
    best = best_of(w, 0);
    if (best != NULL && w->t->rank == 0 && !on_axes(w)) { /* ranks between */
        size_t at = best->rank, near[4], most = w->sets[w->base].like.r;
        near[0] = at - (at + 3) / 6, near[1] = at + (at + 3) / 6, near[2] = at - (at + 5) / 10,
        near[3] = at + (at + 5) / 10;
        for (i = 0, n = 0; i < 4; i++)
            if (near[i] > 0 && near[i] < most) near[n++] = near[i];
        try_ranks(w, "trying ranks between", w->base, near, n);
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
            try_ranks(w, "trying fewer inputs", set, near, w->t->rank > 0 || near[1] == near[0] || on_axes(w) ? 1 : 2);
        }
    }
    finish_best(w);
}

/* ---- a loss --------------------------------------------------------------------------------- */

/* The smallest candidate that is good enough; NULL: there is none. */
static const candidate *smallest_good(const work *w, double least, size_t *set) {
    const candidate *best = NULL;
    size_t i;
    for (i = 0; i < w->count; i++) {
        const candidate *k = &w->list[i];
        if (!fits(w, k) || k->score < least) continue;
        if (best == NULL || k->bytes < best->bytes || (k->bytes == best->bytes && better(k, best)))
            best = k, *set = w->list_set[i];
    }
    return best;
}

/* Types of a shape that would be smaller than `best`, and within the budget. */
static unsigned types_smaller(const work *w, size_t set, size_t rank, size_t centers, unsigned types,
                              const candidate *best) {
    const input_set *s = &w->sets[set];
    size_t i;
    types = types_within(w, set, rank, centers, types);
    for (i = 0; i < TYPES; i++)
        if (best != NULL && (types >> i & 1) &&
            shape_bytes(&s->like, &s->extras, all_types[i], rank, centers) >= best->bytes)
            types &= ~(1u << i);
    return types;
}

static void climb(work *w, size_t set, const size_t *ranks, size_t rank_count, double least) {
    size_t m = w->t->centers > 0 ? w->t->centers
               : w->t->c > 4     ? w->t->c
                                 : 4,
           most = w->t->centers > 0 ? m : w->t->rows, i, found;
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
    climb(w, w->base, w->ranks, w->rank_count, least);
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
                if (some[k] <= w->sets[next].like.r && some[k] > 0 && (w->t->rank == 0 || some[k] == w->t->rank))
                    some[n++] = some[k];
            climb(w, next, some, n, least);
            best = smallest_good(w, least, &set);
        }
    }
    for (round = 0; best != NULL && round < 6;
         round++) { /* fewer centres, a lower rank; polish makes up for some of it */
        static const double shares[] = {0.7, 0.85, 1};
        cell cells[6];
        size_t n = 0, at = best->rank, before = best->bytes;
        unsigned type = type_bit(best->type);
        for (i = 0; i < 3; i++) {
            size_t m = (size_t)(shares[i] * (double)best->centers), rank = i < 2 ? at : at - (at + 5) / 6;
            if (m < w->t->c || rank == 0 || (m < best->centers && w->t->centers > 0) || (rank < at && w->t->rank > 0))
                continue;
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

/* ---- bytes ---------------------------------------------------------------------------------- */

/* How long the table of phi is, from a try with the smallest type on a middle rank; a few more, for others differ a
 * little. */
static void measure_table(work *w) {
    const input_set *s = &w->sets[w->base];
    const fold *p = &s->parts[0];
    size_t rank = w->ranks[w->rank_count / 2];
    thinning how = w->t->how;
    rfm_ctx ctx = own_ctx(w);
    rfm_data rows;
    rfm_model small;
    rfm_model_i integers;
    void *memory = NULL, *more = NULL;
    memset(&rows, 0, sizeof rows);
    rows.x = rfm_cview(p->rows.x, p->rows.n, s->count), rows.y = rfm_cview(p->rows.y, p->rows.n, w->t->c);
    how.polish = 0;
    if (shrink(&ctx, p->sources, &rows, rank < p->sources[0].r ? rank : p->sources[0].r,
               w->t->c < p->rows.n ? w->t->c : p->rows.n, &how, &small, &memory) == RFM_OK &&
        to_integers(&ctx, &small, &rows, RFM_I8, how.ridge, &integers, &more) == RFM_OK)
        w->nodes = integers.nodes + 8;
    free(memory);
    free(more);
}

/* ---- conformal sets ------------------------------------------------------------------------- */

/* From the scores of the chosen one, on rows that its fits have not seen. */
static double find_threshold(work *w, const candidate *k, size_t set) {
    const tradeoff *t = w->t;
    size_t c = t->c, f, i, count = 0;
    rfm_real *scores = allocate(w->held, c * sizeof *scores, "held-out predictions");
    rfm_real *scratch = allocate(w->held, sizeof *scratch, "held-out predictions"), threshold = 0;
    uint32_t *labels = allocate(w->held, sizeof *labels, "held-out predictions");
    w->scores = allocate(t->rows, c * sizeof *w->scores, "held-out predictions");
    if (k->type == TYPE_TINY)
        tiny_again(w, &k->recipe);
    else
        cell_again(w, k, set);
    for (f = 0; f < w->part_count; f++) {
        const part *p = &w->sets[set].parts[f].rows;
        for (i = 0; i < p->v; i++, count++) {
            memcpy(scores + count * c, w->scores + p->rows[i] * c, c * sizeof *scores);
            labels[count] = t->labels[p->rows[i]];
        }
    }
    must(rfm_conformal_threshold(count, c, scores, labels, (rfm_real)t->coverage, scratch, &threshold), "coverage");
    free(w->scores);
    w->scores = NULL;
    free(scores);
    free(scratch);
    free(labels);
    return (double)threshold;
}

/* ---- the curve ------------------------------------------------------------------------------ */

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
        int taken = k->bytes == c->bytes && k->score == c->score && k->loss == c->loss && k->polish == c->polish &&
                    k->ridge == c->ridge;
        if (result->curve_count > 0 && !better(k, &result->curve[result->curve_count - 1])) continue;
        if (taken) result->curve_chosen = result->curve_count;
        result->curve[result->curve_count++] = *k;
    }
}

/* The smallest blob that these wishes allow. */
static size_t smallest_possible(const work *w) {
    const input_set *s = &w->sets[w->base];
    size_t i, least = SIZE_MAX;
    for (i = 0; i < w->rank_count * TYPES; i++) {
        size_t bytes = shape_bytes(&s->like, &s->extras, all_types[i % TYPES], w->ranks[i / TYPES],
                                   w->t->centers > 0 ? w->t->centers : w->t->c);
        if ((wanted_types(w) >> i % TYPES & 1) && bytes < least) least = bytes;
    }
    if (wants_tiny(w) && tiny_least(w) < least) least = tiny_least(w);
    return least;
}

tradeoff_result tradeoff_search(const tradeoff *t) {
    work *w = allocate(1, sizeof *w, "the search");
    tradeoff_result result;
    const candidate *chosen;
    size_t set = 0;
    memset(&result, 0, sizeof result);
    work_begin(w, t);
    if (t->features > 0) w->base = add_set(w, t->features);
    result.full_score = full_score(w);
    list_ranks(w);
    if (t->type != TYPE_TINY) measure_table(w);
    w->sets[w->base].extras.nodes = w->nodes;
    if (t->budget > 0 && smallest_possible(w) > t->budget)
        fail("--budget %zu: expected at least %zu, the smallest that a model of these inputs and outputs (%zu, %zu) "
             "can be%s%s",
             t->budget, smallest_possible(w), w->sets[w->base].count, t->c,
             t->rank > 0 || t->centers > 0 || t->type != 0 ? " with what else is asked for" : "",
             t->features == 0 ? " (fewer inputs take less: --features)" : "");
    if (t->max_loss >= 0 && t->type != TYPE_TINY)
        within_loss(w, result.full_score - t->max_loss - 1e-9);
    else if (t->type != TYPE_TINY)
        within_budget(w);
    if (wants_tiny(w)) tiny_search(w, result.full_score - t->max_loss - 1e-9);
    chosen = t->max_loss >= 0 ? smallest_good(w, result.full_score - t->max_loss - 1e-9, &set) : best_of(w, 0);
    if (chosen == NULL && t->max_loss >= 0 && best_of(w, 0) != NULL) {
        const candidate *best = best_of(w, 0);
        fail(
            "--max-loss %g: not reached%s; the best that was found loses %.2f points (%.4f instead of %.4f, %zu bytes)",
            100 * t->max_loss, t->budget > 0 ? " within the budget" : "", 100 * (result.full_score - best->score),
            best->score, result.full_score, best->bytes);
    }
    if (chosen == NULL) fail("%s: no small model could be made of it", t->model_file);
    result.chosen = *chosen;
    if (t->coverage > 0 && t->labels != NULL)
        result.threshold = find_threshold(w, &result.chosen, w->list_set[chosen - w->list]);
    result.tried = w->count, result.rows_held = w->held, result.parts = w->part_count;
    make_curve(w, &result);
    work_end(w);
    free(w);
    return result;
}
