/* rfm_tree and rfm_large: exact needs, the same bits, and what they compute against plain references.
 *
 * A tree is followed from its root: rows are sorted along each direction anew, the direction is that of a reference in
 * double, a leaf is what rfm_fit makes of its rows, predictions are sums over leaves by the formula. Alpha of rfm_large
 * is the minimum of its loss. */
#include "trees.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rfm_large.h"
#include "rfm_tree.h"

#define FIXED_UNIT (RFM_REAL_BYTES == 4 ? 0x1p-32 : 0x1p-64) /* of rfm_sums */

/* A part of a problem's rows, with what is taken out of y; to be freed by the case. */
static rfm_data part_of(const rfm_data *all, size_t rows, const uint32_t *index, const rfm_real *mean) {
    rfm_mat x = draw_view(rows, all->x.cols), y = draw_view(rows, all->y.cols);
    rfm_real *w = take_reals(rows);
    rfm_data own_rows;
    size_t i, k;
    memset(&own_rows, 0, sizeof own_rows);
    for (i = 0; i < rows; i++) {
        memcpy(x.at + i * x.stride, all->x.at + index[i] * all->x.stride, x.cols * sizeof *x.at);
        for (k = 0; k < y.cols; k++)
            y.at[i * y.stride + k] = all->y.at[index[i] * all->y.stride + k] - (mean != NULL ? mean[k] : 0);
        w[i] = all->weights != NULL ? all->weights[index[i]] : 1;
    }
    own_rows.x = rfm_const(x), own_rows.y = rfm_const(y);
    if (all->weights != NULL) own_rows.weights = w;
    return own_rows;
}

/* ---- growing -------------------------------------------------------------------------------- */

typedef struct {
    fitting *f;
    rfm_tree_options o;
    rfm_contents parts;
    unsigned char *blob;
    size_t room;
    rfm_tree tree;
    rfm_tree_report report;
    rfm_mat z, y;
    double *key; /* (n) of the rows along a direction */
} growing;

static int grow_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    growing *t = arg;
    (void)store;
    return rfm_tree_fit_need(ctx, &t->f->data, &t->o, &t->parts, scratch, &t->room);
}

/* Into exactly the bytes that it may need; one less is refused. */
static int grow_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    growing *t = arg;
    (void)store;
    t->blob = take(t->room);
    memset(&t->report, 0, sizeof t->report);
    if (rfm_tree_fit(ctx, &t->f->data, &t->o, &t->parts, t->blob, t->room - 1, &t->tree, &t->report) != RFM_EARENA)
        fail("rfm_tree_fit into one byte less");
    return rfm_tree_fit(ctx, &t->f->data, &t->o, &t->parts, t->blob, t->room, &t->tree, &t->report);
}

static uint64_t grow_hash(const void *arg) {
    const growing *t = arg;
    return hash_bytes(hash_bytes(0, t->blob, t->report.bytes), &t->report, sizeof t->report);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static const double *sort_keys;
static int by_key(const void *a, const void *b) {
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    return sort_keys[i] < sort_keys[j] ? -1 : sort_keys[i] > sort_keys[j] ? 1 : i < j ? -1 : i > j;
}

/* The mean of y over rows with weights. */
static void mean_of(const rfm_data *all, size_t rows, const uint32_t *index, rfm_real *mean) {
    size_t i, k;
    for (k = 0; k < all->y.cols; k++) {
        long double sum = 0, weight = 0; /* no product is beyond its range */
        for (i = 0; i < rows; i++) {
            const long double w = all->weights != NULL ? (long double)all->weights[index[i]] : 1;
            sum += w * (long double)all->y.at[index[i] * all->y.stride + k], weight += w;
        }
        mean[k] = (rfm_real)(sum / weight);
    }
}

/* The top direction of the AGOP of the reference, v (d); how far the next eigenvalue is, as a share of the first. With
 * G the gradients times the roots of weights, G'G and GG' have the same eigenvalues above 0, and G' turns eigenvectors
 * of the second into those of the first: the smaller one is taken. */
static double top_direction(const rfm_data *own_rows, const rfm_options *o, double noise, double *v) {
    const size_t n = own_rows->x.rows, d = own_rows->x.cols, c = own_rows->y.cols, m = n * c, size = m < d ? m : d;
    double *x, *g = take(m * d * sizeof *g), *sum = take(size * size * sizeof *sum),
               *vectors = take(size * size * sizeof *v);
    double second = 0, length = 0;
    ref_fit f;
    size_t i, j, q, best = 0;
    ref_make(&f, own_rows, o, noise, 0);
    x = ref_rows(&f, own_rows->x);
    ref_gradients(&f, 0, n, x, g);
    for (i = 0; i < m && own_rows->weights != NULL; i++)
        for (j = 0; j < d; j++) g[i * d + j] *= sqrt((double)own_rows->weights[i / c]);
    for (j = 0; j < size; j++)
        for (q = 0; q < size; q++)
            for (sum[j * size + q] = 0, i = 0; i < (m < d ? d : m); i++)
                sum[j * size + q] += m < d ? g[j * d + i] * g[q * d + i] : g[i * d + j] * g[i * d + q];
    ref_eig(size, sum, vectors);
    for (j = 1; j < size; j++)
        if (sum[j * size + j] > sum[best * size + best]) best = j;
    for (j = 0; j < size; j++)
        if (j != best) second = fmax(second, sum[j * size + j]);
    for (j = 0; j < d; j++) {
        v[j] = m < d ? 0 : vectors[j * size + best];
        for (i = 0; i < m && m < d; i++) v[j] += g[i * d + j] * vectors[i * size + best];
        length += v[j] * v[j];
    }
    for (j = 0; j < d && length > 0; j++) v[j] /= sqrt(length);
    free(x);
    ref_free(&f);
    return sum[best * size + best] > 0 ? 1 - second / sum[best * size + best] : 0;
}

static double turned_to(size_t d, const double *a, double *b) {
    double dot = 0, most = 0;
    size_t j;
    for (j = 0; j < d; j++) dot += a[j] * b[j];
    for (j = 0; j < d; j++) b[j] = dot < 0 ? -b[j] : b[j], most = fmax(most, fabs(a[j] - b[j]));
    return most;
}

/* Where the small machine has seen all rows of the part. */
static void check_direction(const growing *t, size_t rows, const uint32_t *index, const rfm_real *v) {
    const size_t d = t->tree.d;
    double *own = take(d * sizeof *own), *plain = take(d * sizeof *plain), *noisy = take(d * sizeof *noisy), off;
    rfm_real *mean = take_reals(t->tree.c);
    rfm_options o = t->o.split;
    rfm_data own_rows;
    size_t j;
    o.metric = RFM_IDENTITY, o.iterations = 0, o.select = RFM_SELECT_LAST, o.agop_points = 0;
    mean_of(&t->f->data, rows, index, mean);
    own_rows = part_of(&t->f->data, rows, index, mean);
    for (j = 0; j < d; j++) own[j] = (double)v[j];
    if (top_direction(&own_rows, &o, 0, plain) < 0.05 || top_direction(&own_rows, &o, NOISE, noisy) < 0.05) {
        not_compared("direction");
        return;
    }
    off = 32 * turned_to(d, plain, noisy) + 1e3 * NOISE * (double)(d + 16);
    if (off > 0.1)
        not_compared("direction");
    else if (!(turned_to(d, plain, own) <= off))
        fail("a direction of %lu rows is off by %g, allowed %g", (unsigned long)rows, turned_to(d, plain, own), off);
}

/* ---- leaves --------------------------------------------------------------------------------- */

/* Predictions of a model at Z, on memory of its own. */
static int predict_at(const rfm_model *m, rfm_cmat z, rfm_mat y) {
    rfm_arena arena;
    rfm_ctx ctx;
    size_t bytes = 0;
    int status;
    memset(&ctx, 0, sizeof ctx);
    status = rfm_predict_need(&ctx, m, z.rows, &bytes);
    if (status != RFM_OK || rfm_arena_init(&arena, take(bytes), bytes) != RFM_OK) return RFM_EARENA;
    ctx.arena = &arena;
    return rfm_predict(&ctx, m, z, y);
}

static int fit_alone(const growing *t, const rfm_data *own_rows, const rfm_options *o, rfm_model *m) {
    rfm_arena arena;
    rfm_ctx ctx;
    rfm_report report;
    size_t scratch = 0, store = 0;
    int status;
    memset(&ctx, 0, sizeof ctx);
    ctx.port = t->f->port;
    report.path = take((o->iterations + 1) * sizeof *report.path);
    status = rfm_fit_need(&ctx, own_rows, o, &scratch, &store);
    if (status != RFM_OK || rfm_arena_init(&arena, take(scratch + store), scratch + store) != RFM_OK) return RFM_EARENA;
    ctx.arena = &arena;
    return rfm_fit(&ctx, own_rows, o, &arena, m, &report);
}

/* A leaf is the machine of its rows and the mean of their targets. In a blob L is folded into P: so not the same
 * bits. */
static void check_leaf(const growing *t, size_t leaf, size_t rows, const uint32_t *index) {
    const size_t c = t->tree.c;
    rfm_model m, own;
    rfm_real *mean = take_reals(c);
    rfm_mat z, y, expected;
    rfm_data own_rows;
    rfm_options o = t->o.leaf[0];
    double all = 0, most = 0, bound;
    size_t i, k;
    int status;
    rfm_tree_leaf(&t->tree, leaf, &m);
    if (m.offset == NULL || m.n != rows) {
        fail("leaf %lu has %lu centres, of %lu rows", (unsigned long)leaf, (unsigned long)m.n, (unsigned long)rows);
        return;
    }
    mean_of(&t->f->data, rows, index, mean);
    for (i = 0; i < rows; i++)
        for (k = 0; k < c; k++) most = fmax(most, fabs((double)t->f->data.y.at[index[i] * t->f->data.y.stride + k]));
    for (k = 0; k < c; k++)
        if (!(fabs((double)m.offset[k] - (double)mean[k]) <= 16 * (double)(rows + 4) * EPSILON * most + slack.least))
            fail("the mean of leaf %lu is %g, expected %g", (unsigned long)leaf, (double)m.offset[k], (double)mean[k]);
    if (t->o.tries > 1) return;
    own_rows = part_of(&t->f->data, rows, index, m.offset);
    own_rows.start = t->f->data.start;
    if (o.agop_points > rows) o.agop_points = 0;
    status = fit_alone(t, &own_rows, &o, &own);
    if (status != RFM_OK) { /* targets that are all the same: nothing to learn */
        if (status != RFM_ERANGE && status != RFM_EVALUE) fail("a fit of a leaf's rows: status %d", status);
        return;
    }
    z = draw_view(rows, t->tree.d), y = draw_view(rows, c), expected = draw_view(rows, c);
    for (i = 0; i < rows; i++) /* between two of its rows */
        for (k = 0; k < z.cols; k++)
            z.at[i * z.stride + k] = own_rows.x.at[i * own_rows.x.stride + k] / 2 +
                                     own_rows.x.at[(i * 7 + 1) % rows * own_rows.x.stride + k] / 2;
    if (predict_at(&m, rfm_const(z), y) != RFM_OK || predict_at(&own, rfm_const(z), expected) != RFM_OK) {
        if (!slack.statuses) fail("predictions of leaf %lu", (unsigned long)leaf);
        return;
    }
    for (i = 0; i < rows * c; i++) all += fabs((double)own.alpha[i]);
    bound = 4 * most * EPSILON + all * pow(1e3 * (double)(m.d + 4) * EPSILON, fmin(1, (double)own.exponent));
    for (i = 0; i < rows && !coarse(&m); i++)
        for (k = 0; k < c; k++) {
            const double got = (double)y.at[i * y.stride + k],
                         want = (double)expected.at[i * expected.stride + k] + (double)m.offset[k];
            if (!(fabs(got - want) <= bound + slack.least)) {
                fail("leaf %lu says %g, rfm_fit of its rows %g within %g", (unsigned long)leaf, got, want, bound);
                return;
            }
        }
}

/* Rows of a branch, sorted as the node above has left them. */
static void check_branch(growing *t, int32_t branch, size_t rows, uint32_t *index, size_t depth) {
    const rfm_tree *tree = &t->tree;
    const rfm_real *v;
    const rfm_tree_node *node;
    const size_t half = rows / 2;
    size_t i, j;
    if (depth > t->report.depth) fail("a path is longer than %lu", (unsigned long)t->report.depth);
    if (branch < 0) {
        if (rows > t->o.leaf_rows) fail("a leaf has %lu rows", (unsigned long)rows);
        check_leaf(t, (size_t)(-1 - branch), rows, index);
        return;
    }
    if (rows <= t->o.leaf_rows) fail("%lu rows are split", (unsigned long)rows);
    v = tree->directions + (size_t)branch * tree->d, node = &tree->node[branch];
    if (t->o.trees == 1 && t->o.split_rows >= rows && !slack.no_values) check_direction(t, rows, index, v);
    for (i = 0; i < rows; i++) {
        const rfm_real *x = t->f->data.x.at + index[i] * t->f->data.x.stride;
        rfm_real sum = 0; /* rounded as in the library: rows that are near each other keep their order */
        for (j = 0; j < tree->d; j++) sum += v[j] * x[j];
        t->key[index[i]] = (double)sum;
    }
    sort_keys = t->key;
    qsort(index, rows, sizeof *index, by_key);
    if (!((double)node->threshold >= t->key[index[half - 1]] &&
          ((double)node->threshold < t->key[index[half]] || !(t->key[index[half - 1]] < t->key[index[half]]))))
        fail("threshold %g, not between %g and %g", (double)node->threshold, t->key[index[half - 1]],
             t->key[index[half]]);
    check_branch(t, node->left, half, index, depth + 1);
    check_branch(t, node->right, rows - half, index + half, depth + 1);
}

/* ---- prediction ----------------------------------------------------------------------------- */

static int mix_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    growing *t = arg;
    (void)store;
    return rfm_tree_predict_need(ctx, &t->tree, t->z.rows, scratch);
}

static int mix_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    growing *t = arg;
    (void)store;
    fill_nan(t->y);
    return rfm_tree_predict(ctx, &t->tree, rfm_const(t->z), t->y);
}

static uint64_t mix_hash(const void *arg) { return hash_view(0, rfm_const(((const growing *)arg)->y)); }

/* What is left of a tree at a row: leaves, and their weights. */
typedef struct {
    size_t leaf;
    double weight;
} share;

static int by_weight(const void *a, const void *b) {
    const double i = ((const share *)a)->weight, j = ((const share *)b)->weight;
    return i > j ? -1 : i < j;
}

/* All leaves below a branch; *doubt is set where rounding could send the row elsewhere. */
static void spread(const rfm_tree *t, int32_t branch, const double *x, double weight, share *list, size_t *count,
                   int *doubt) {
    double off, size = 0, left, width;
    size_t j;
    if (branch < 0) {
        list[*count].leaf = (size_t)(-1 - branch), list[(*count)++].weight = weight;
        return;
    }
    off = -(double)t->node[branch].threshold, size = fabs(off);
    for (j = 0; j < t->d; j++) {
        const double term = (double)t->directions[(size_t)branch * t->d + j] * x[j];
        off += term, size += fabs(term);
    }
    width = (double)t->softness * (double)t->node[branch].spread;
    left = width > 0 ? 1 / (1 + exp(off / width)) : off <= 0;
    if (fabs(off) <= 4 * (double)(t->d + 4) * EPSILON * size && !(width > 1e-3 * size)) *doubt = 1;
    if (width > 0 && width < 1e5 * EPSILON * size) *doubt = 1; /* steeper than the rounding of off */
    if (left > 0) spread(t, t->node[branch].left, x, weight * left, list, count, doubt);
    if (left < 1) spread(t, t->node[branch].right, x, weight * (1 - left), list, count, doubt);
}

/* The mean over the trees by the formula of rfm_tree.h; 0: which leaves count, or what they say, depends on
 * rounding. */
static int plain_scores(const rfm_tree *t, const double *x, double *scores, double *all) {
    share *list = take((t->leaves + 1) * sizeof *list);
    double *one = take(t->c * sizeof *one);
    size_t which, k, i;
    int doubt = 0;
    for (k = 0; k < t->c; k++) scores[k] = 0;
    for (*all = 0, which = 0; which < t->trees; which++) {
        double sum = 0, before = 0;
        size_t count = 0, kept = 0;
        spread(t, t->roots[which], x, 1, list, &count, &doubt);
        qsort(list, count, sizeof *list, by_weight);
        while (kept < count && kept < RFM_TREE_MIXED && sum < RFM_TREE_SHARE)
            before = sum, sum += list[kept++].weight;
        if (fabs(sum - RFM_TREE_SHARE) < 1e-4 || fabs(before - RFM_TREE_SHARE) < 1e-4) doubt = 1;
        if (kept < count && list[kept].weight > 0.999 * list[kept - 1].weight) doubt = 1;
        for (i = 0; i < kept; i++) {
            rfm_model leaf;
            size_t j;
            rfm_tree_leaf(t, list[i].leaf, &leaf);
            doubt |= coarse(&leaf);
            ref_model(&leaf, x, one);
            for (k = 0; k < t->c; k++) scores[k] += list[i].weight / sum * one[k] / (double)t->trees;
            for (j = 0; j < leaf.n * leaf.c; j++) *all += fabs((double)leaf.alpha[j]);
            for (k = 0; k < t->c; k++) *all += fabs((double)leaf.offset[k]);
        }
    }
    return !doubt;
}

static void check_mixing(growing *t, int plain) {
    static const call mixing = {"rfm_tree_predict", mix_need, mix_run, mix_hash};
    rfm_tree *tree = &t->tree;
    const size_t m = 1 + draw(30), c = tree->c;
    rfm_real *scratch = take_reals(RFM_TREE_SCRATCH(tree->d, c, tree->rank)), *one = take_reals(c);
    double *x = take(tree->d * sizeof *x), *expected = take(c * sizeof *expected);
    size_t i, j;
    int status, soft;
    t->z = draw_view(m, tree->d), t->y = draw_view(m, c);
    for (i = 0; i < m; i++) {
        const rfm_real *a = t->f->data.x.at + draw(t->f->data.x.rows) * t->f->data.x.stride,
                       *b = t->f->data.x.at + draw(t->f->data.x.rows) * t->f->data.x.stride;
        for (j = 0; j < tree->d; j++) t->z.at[i * t->z.stride + j] = a[j] / 2 + b[j] / 2;
    }
    if (chance(2)) tree->softness = chance(2) ? 0 : (rfm_real)pow(10, uniform(-2, 0.5));
    soft = tree->softness > 0;
    note(" softness %.3g", (double)tree->softness);
    status = exact(&mixing, t, t->f->port);
    if (status != RFM_OK) {
        refused("rfm_tree_predict", status);
        return;
    }
    for (i = 0; i < m && plain; i++) {
        const rfm_real *z = t->z.at + i * t->z.stride;
        double all = 0, bound, exponent = 1;
        for (j = 0; j < tree->d; j++) x[j] = (double)z[j];
        if (!plain_scores(tree, x, expected, &all)) {
            not_compared("routing");
            continue;
        }
        exponent = fmin(exponent, (double)t->o.leaf[0].exponent);
        bound = all * pow(1e3 * (double)(tree->d + 4) * EPSILON, exponent);
        if (soft) bound += 1e6 * EPSILON * all; /* weights of steep sigmoids */
        compare("prediction of a tree", rfm_cview(t->y.at + i * t->y.stride, 1, c), expected, bound);
        status = rfm_tree_predict_one(tree, z, one, scratch, NULL, NULL);
        if (status != RFM_OK)
            refused("rfm_tree_predict_one", status);
        else if (!soft)
            compare("rfm_tree_predict_one", rfm_cview(one, 1, c), expected, bound);
    }
}

void check_tree(fitting *f, int plain) {
    static const call grow = {"rfm_tree_fit", grow_need, grow_run, grow_hash};
    const size_t n = f->data.x.rows;
    uint32_t *index = take(n * sizeof *index);
    growing t;
    rfm_tree again;
    size_t i, which;
    int status;
    memset(&t, 0, sizeof t);
    t.f = f, t.key = take(n * sizeof *t.key);
    rfm_tree_options_init(&t.o);
    f->o.exponent = (rfm_real)(float)f->o.exponent; /* as blobs keep it */
    if (f->o.select == RFM_SELECT_VALIDATION) f->o.select = f->o.ridge > 0 ? RFM_SELECT_LOO : RFM_SELECT_LAST;
    f->o.score = RFM_SCORE_SQUARED;
    t.o.leaf[0] = t.o.leaf[1] = f->o, t.o.leaf[1].ridge = f->o.ridge * 4 + (rfm_real)1e-3;
    t.o.leaf_rows = 2 + (chance(4) ? n : draw(n)), t.o.split_rows = 2 + (chance(2) ? n : draw(n));
    t.o.trees = chance(2) ? 1 : 1 + draw(3), t.o.tries = f->o.select == RFM_SELECT_LOO ? 1 + draw(2) : 1;
    t.o.split.kernel = (int)draw(3), t.o.split.exponent = (rfm_real)uniform(0.7, 1.8);
    t.o.score = chance(4) ? RFM_SCORE_ACCURACY : RFM_SCORE_SQUARED, t.o.seed = (uint32_t)draw(100);
    t.parts.task = (int)draw(2);
    note(" leaves of %lu, splits by %lu rows, kernel %d, trees %lu, tries %lu", (unsigned long)t.o.leaf_rows,
         (unsigned long)t.o.split_rows, t.o.split.kernel, (unsigned long)t.o.trees, (unsigned long)t.o.tries);
    status = exact(&grow, &t, f->port);
    if (status != RFM_OK) {
        refused("rfm_tree_fit", status);
        return;
    }
    if (rfm_tree_open(t.blob, t.report.bytes - 1, &again) == RFM_OK) fail("a tree opens without its last byte");
    status = rfm_tree_open(t.blob, t.report.bytes, &again);
    if (status != RFM_OK) fail("what rfm_tree_fit wrote does not open: status %d", status);
    if (t.report.soft > t.report.hard && t.o.score == RFM_SCORE_SQUARED) fail("soft routing is worse than hard");
    for (which = 0; plain && which < t.o.trees; which++) {
        for (i = 0; i < n; i++) index[i] = (uint32_t)i;
        check_branch(&t, t.tree.roots[which], n, index, 0);
    }
    check_mixing(&t, plain);
}

void tree_case(size_t number) {
    const draw_limits limits = {3e5, number % 4 != 0};
    fitting f;
    draw_fitting(&f, limits);
    check_tree(&f, limits.plain);
}

/* ---- many rows ------------------------------------------------------------------------------ */

typedef struct {
    fitting *f;
    rfm_rows rows;
    size_t from; /* the first row of the part that is read */
    rfm_model model;
    rfm_solve_options solve;
    rfm_large_options o;
    rfm_eigenpro_options steps;
    rfm_mat alpha;
    int kind;
    rfm_sums *sums, *kept;
    size_t sums_bytes;
} reading;

static size_t read_rows(void *from, size_t first, size_t count, rfm_real *x, rfm_real *y, rfm_real *weights) {
    const reading *t = from;
    const rfm_data *data = &t->f->data;
    size_t i;
    for (i = 0; i < count; i++) {
        const size_t row = t->from + first + i;
        memcpy(x + i * data->x.cols, data->x.at + row * data->x.stride, data->x.cols * sizeof *x);
        memcpy(y + i * data->y.cols, data->y.at + row * data->y.stride, data->y.cols * sizeof *y);
        if (weights != NULL) weights[i] = data->weights[row];
    }
    return count;
}

static int solve_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    reading *t = arg;
    (void)store;
    return rfm_large_solve_need(ctx, &t->rows, &t->model, &t->solve, scratch);
}

static int solve_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    reading *t = arg;
    (void)store;
    fill_nan(t->alpha);
    return rfm_large_solve(ctx, &t->rows, &t->model, &t->solve, t->alpha, NULL);
}

static uint64_t alpha_hash(const void *arg) { return hash_view(0, rfm_const(((const reading *)arg)->alpha)); }

static int add_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    reading *t = arg;
    (void)store;
    return rfm_sums_add_need(ctx, &t->rows, &t->model, t->kind, scratch);
}

static int add_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    reading *t = arg;
    (void)store;
    memcpy(t->sums, t->kept, t->sums_bytes);
    return rfm_sums_add(ctx, &t->rows, &t->model, t->sums);
}

static uint64_t sums_hash(const void *arg) {
    return hash_bytes(0, ((const reading *)arg)->sums, ((const reading *)arg)->sums_bytes);
}

static int sums_solve_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    (void)store;
    return rfm_sums_solve_need(ctx, &((reading *)arg)->model, scratch);
}

static int sums_solve_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    reading *t = arg;
    (void)store;
    fill_nan(t->alpha);
    return rfm_sums_solve(ctx, &t->model, t->sums, t->solve.ridge, t->alpha, NULL);
}

static int large_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    reading *t = arg;
    return rfm_large_fit_need(ctx, &t->rows, &t->o, &t->f->data, scratch, store);
}

static int large_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    reading *t = arg;
    rfm_large_report report;
    return rfm_large_fit(ctx, &t->rows, &t->o, &t->f->data, store, &t->model, &report);
}

static uint64_t large_hash(const void *arg) {
    const rfm_model *m = &((const reading *)arg)->model;
    uint64_t hash = 0;
    if (m->n == 0) return 0; /* it failed */
    if (m->p != NULL) hash = hash_bytes(hash, m->p, (m->metric == RFM_FULL ? m->r : 1) * m->d * sizeof *m->p);
    return hash_bytes(hash_bytes(hash, m->centers, m->n * m->r * sizeof *m->centers), m->alpha,
                      m->n * m->c * sizeof *m->alpha);
}

static int steps_need(const rfm_ctx *ctx, void *arg, size_t *scratch, size_t *store) {
    reading *t = arg;
    (void)store;
    return rfm_eigenpro_need(ctx, &t->f->data, &t->model, &t->steps, scratch);
}

static int steps_run(const rfm_ctx *ctx, void *arg, rfm_arena *store) {
    reading *t = arg;
    (void)store;
    fill_nan(t->alpha);
    return rfm_eigenpro(ctx, &t->f->data, &t->model, &t->steps, t->alpha, NULL);
}

/* Alpha, as a view without gaps, is the minimum of the loss of all rows: its slope is that of rounding, or of where
 * conjugate gradients end. */
static void check_minimum(const char *what, const rfm_model *model, const rfm_data *data, double ridge, double bound) {
    double heaviest = 1, most = 0, slope;
    size_t i;
    if (!rfm_finite(model->n * model->c, model->alpha)) fail("%s: alpha is not finite", what);
    for (i = 0; data->weights != NULL && i < data->x.rows; i++) heaviest = fmax(heaviest, (double)data->weights[i]);
    if (coarse(model) || heaviest * (double)data->x.rows * EPSILON > 0.01 * ridge) {
        not_compared(what);
        return;
    }
    for (i = 0; i < data->y.rows * data->y.cols; i++)
        most = fmax(most, fabs((double)data->y.at[i / data->y.cols * data->y.stride + i % data->y.cols]));
    /* Sums are fixed-point numbers, in units of the largest y. alpha = U^-1 g, with pivots of U'U = K down to rounding:
     * what g has lost is divided by their roots, and there is one for each centre. Conjugate gradients end by the norm
     * of an output's residual, so a centre whose own terms are small beside the others' has no bound of its own. */
    slope = ref_alpha_slope(model, data, ridge, 64 * (double)data->x.rows * heaviest * most * FIXED_UNIT, bound);
    if (!(slope <= 2 * sqrt((double)model->n * EPSILON)))
        fail("%s: alpha is not the minimum: slope %.3g", what, slope);
}

static void check_alpha(const reading *t, const char *what, double bound) {
    rfm_model m = t->model;
    rfm_real *alpha = take_reals(m.n * m.c);
    size_t i;
    for (i = 0; i < m.n; i++) memcpy(alpha + i * m.c, t->alpha.at + i * t->alpha.stride, m.c * sizeof *alpha);
    m.alpha = alpha;
    check_minimum(what, &m, &t->f->data, (double)t->solve.ridge, bound);
}

static void check_solve(reading *t) {
    static const call solve = {"rfm_large_solve", solve_need, solve_run, alpha_hash};
    int status;
    t->solve.solver = chance(2) ? RFM_SOLVER_DIRECT : RFM_SOLVER_CONJUGATE;
    note(" solver %d centres %lu", t->solve.solver, (unsigned long)t->model.n);
    status = exact(&solve, t, t->f->port);
    if (status != RFM_OK)
        refused("rfm_large_solve", status);
    else
        check_alpha(t, "rfm_large_solve", t->solve.solver == RFM_SOLVER_DIRECT ? 0 : 10 * (double)t->solve.tolerance);
}

/* Two parts in both orders are the same bytes; without the second it is the first again. */
static void check_sums(reading *t) {
    static const call add = {"rfm_sums_add", add_need, add_run, sums_hash},
                      solve = {"rfm_sums_solve", sums_solve_need, sums_solve_run, alpha_hash};
    const size_t n = t->f->data.x.rows, first = n / 2;
    double most = 0;
    rfm_sums *half[2], *both;
    size_t i;
    int status, p;
    t->kind = chance(3) ? RFM_SUMS_AGOP : RFM_SUMS_SOLVE;
    note(" kind %d centres %lu", t->kind, (unsigned long)t->model.n);
    for (i = 0; i < n * t->rows.c; i++)
        most = fmax(most, fabs((double)t->f->data.y.at[i / t->rows.c * t->f->data.y.stride + i % t->rows.c]));
    status = rfm_sums_size(&t->model, t->kind, &t->sums_bytes);
    if (status != RFM_OK || n < 2) return;
    t->kept = take(t->sums_bytes);
    status = rfm_sums_init(&t->model, t->kind, (rfm_real)fmax(most, (double)RFM_LIMIT(MIN)), t->kept, t->sums_bytes);
    for (p = 0; p < 2 && status == RFM_OK; p++) {
        half[p] = t->sums = take(t->sums_bytes);
        t->from = p ? first : 0, t->rows.n = p ? n - first : first;
        status = exact(&add, t, t->f->port);
    }
    if (status != RFM_OK) {
        refused("rfm_sums_add", status);
        return;
    }
    both = take(t->sums_bytes);
    memcpy(both, half[0], t->sums_bytes);
    /* Each half may be in the range of the fixed-point numbers, and both together not. */
    status = rfm_sums_merge(both, half[1]);
    if (status != RFM_OK) {
        if (memcmp(both, half[0], t->sums_bytes) != 0) fail("rfm_sums_merge fails and leaves something");
        refused("rfm_sums_merge", status);
        return;
    }
    if (rfm_sums_rows(both) != n) fail("rfm_sums_merge loses rows");
    t->sums = take(t->sums_bytes);
    memcpy(t->sums, half[1], t->sums_bytes);
    if (rfm_sums_merge(t->sums, half[0]) != RFM_OK || memcmp(t->sums, both, t->sums_bytes) != 0)
        fail("sums in another order are others");
    if (rfm_sums_subtract(both, half[1]) != RFM_OK || memcmp(both, half[0], t->sums_bytes) != 0)
        fail("a part that is taken out leaves something");
    if (t->kind != RFM_SUMS_SOLVE) return;
    status = exact(&solve, t, t->f->port);
    if (status != RFM_OK)
        refused("rfm_sums_solve", status);
    else
        check_alpha(t, "rfm_sums_solve", 0);
}

static void check_large_fit(reading *t) {
    static const call large = {"rfm_large_fit", large_need, large_run, large_hash};
    const size_t n = t->f->data.x.rows;
    int status;
    rfm_large_options_init(&t->o);
    t->o.fit = t->f->o, t->o.solve = t->solve;
    t->o.sample = 1 + draw(n), t->o.centers = 1 + draw(t->o.sample), t->o.choice = (int)draw(4), t->o.rounds = draw(3);
    t->o.agop_rows = draw(n + 1);
    if (t->o.fit.agop_points > t->o.sample) t->o.fit.agop_points = 0;
    note(" sample %lu centres %lu choice %d rounds %lu agop rows %lu", (unsigned long)t->o.sample,
         (unsigned long)t->o.centers, t->o.choice, (unsigned long)t->o.rounds, (unsigned long)t->o.agop_rows);
    memset(&t->model, 0, sizeof t->model);
    status = exact(&large, t, t->f->port);
    if (status != RFM_OK)
        refused("rfm_large_fit", status);
    else
        check_minimum("rfm_large_fit", &t->model, &t->f->data, (double)t->o.fit.ridge,
                      10 * (double)t->solve.tolerance);
}

/* Without a ridge it has no minimum that it must reach in a few epochs: it gets nearer. */
static void check_steps(reading *t) {
    static const call steps = {"rfm_eigenpro", steps_need, steps_run, alpha_hash};
    rfm_model m = t->f->model;
    double before = 0, after;
    rfm_data unweighted = t->f->data;
    rfm_real *alpha;
    size_t i, k;
    int status;
    t->model = m, unweighted.weights = NULL;
    rfm_eigenpro_options_init(&t->steps);
    t->steps.subsample = 2 + draw(m.n), t->steps.epochs = 1 + draw(10);
    if (t->steps.subsample > m.n) t->steps.subsample = m.n;
    note(" subsample %lu epochs %lu", (unsigned long)t->steps.subsample, (unsigned long)t->steps.epochs);
    status = exact(&steps, t, t->f->port);
    if (status != RFM_OK) { /* a small subsample says little of the others */
        if (m.n > 1 && status != RFM_ECONVERGE) refused("rfm_eigenpro", status);
        return;
    }
    alpha = take_reals(m.n * m.c);
    for (i = 0; i < m.n; i++)
        for (k = 0; k < m.c; k++) {
            const double y = (double)t->f->data.y.at[i * t->f->data.y.stride + k];
            alpha[i * m.c + k] = t->alpha.at[i * t->alpha.stride + k], before += y * y;
        }
    if (!rfm_finite(m.n * m.c, alpha)) fail("rfm_eigenpro: alpha is not finite");
    m.alpha = alpha;
    if (slack.no_values) return;
    {
        double *centers = ref_doubles(rfm_cview(m.centers, m.n, m.r));
        after = ref_loss(&m, &unweighted, 0, centers);
        free(centers);
    }
    if (!(after <= 1.01 * before + slack.least)) fail("rfm_eigenpro takes the loss from %g to %g", before, after);
}

void check_large(fitting *f, size_t number) {
    static void (*const checks[])(reading *) = {check_solve, check_sums, check_large_fit, check_steps};
    static const char *const names[] = {"solve", "sums", "fit", "eigenpro"};
    const size_t n = f->data.x.rows;
    reading t;
    memset(&t, 0, sizeof t);
    note(" %s", names[number % LARGE_FUNCTIONS]);
    t.f = f, t.model = f->model;
    if (number % LARGE_FUNCTIONS < 2) t.model.n = 1 + draw(n); /* the first rows are the centres */
    t.rows.n = n, t.rows.d = f->data.x.cols, t.rows.c = f->data.y.cols, t.rows.weighted = f->data.weights != NULL;
    t.rows.read = read_rows, t.rows.from = &t;
    rfm_solve_options_init(&t.solve);
    t.solve.ridge = (rfm_real)pow(10, uniform(-2, 0));
    t.alpha = draw_view(t.model.n, t.rows.c);
    checks[number % LARGE_FUNCTIONS](&t);
}

void large_case(size_t number) {
    const draw_limits limits = {3e5, 1};
    fitting f;
    int status;
    draw_fitting(&f, limits);
    status = fit_exactly(&f);
    if (status != RFM_OK)
        refused("rfm_fit", status);
    else
        check_large(&f, number);
}
