/* Trees of leaf machines: shapes on exactly the memory that is needed, routing and mixing done once more in the test,
 * leaves that learn what differs from region to region, hard cases, refusals, damaged blobs. */
#include "models.h"
#include "rfm_tree.h"

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
    if (TEST_RAM < 32768) TEST_IGNORE_MESSAGE("a board with too little stack for a fit of trees");
}
void tearDown(void) {}

#define MOST_OUTPUTS 3

/* A fit and all its arguments. */
typedef struct {
    rfm_mat x, y, xv, yv;
    rfm_data data;
    rfm_tree_options o;
    rfm_contents parts;
    rfm_ctx ctx;
    unsigned char *blob;
    size_t room; /* bytes at blob */
    rfm_tree tree;
    rfm_tree_report report;
} tree_case;

static int tree_make(tree_case *p, size_t n, size_t d, size_t c, size_t leaf_rows) {
    memset(p, 0, sizeof *p);
    if (!test_little_endian()) return 0;
    p->x = test_mat(n, d, 1, 0), p->y = test_mat(n, c, 0, 1);
    if (p->x.at == NULL || p->y.at == NULL) return 0;
    model_fill(p->x, 1);
    model_targets(p->x, p->y);
    p->data.x = rfm_const(p->x), p->data.y = rfm_const(p->y);
    rfm_tree_options_init(&p->o);
    p->o.leaf_rows = leaf_rows, p->o.split_rows = 8, p->o.leaf[0].iterations = 1;
    p->o.leaf[0].ridge = p->o.split.ridge = (rfm_real)0.1;
    return 1;
}

static int with_validation(tree_case *p, size_t v) {
    p->xv = test_mat(v, p->x.cols, 2, 0), p->yv = test_mat(v, p->y.cols, 1, 0);
    if (p->xv.at == NULL || p->yv.at == NULL) return 0;
    model_fill(p->xv, 2);
    model_targets(p->xv, p->yv);
    p->data.x_validation = rfm_const(p->xv), p->data.y_validation = rfm_const(p->yv);
    return 1;
}

/* On exactly the bytes that are needed, and refused before any work with one less. The blob stays in the pool. */
static int tree_fit(tree_case *p) {
    size_t scratch = 0, blob = 0, mark;
    rfm_arena arena;
    void *memory;
    int status = rfm_tree_fit_need(&p->ctx, &p->data, &p->o, &p->parts, &scratch, &blob);

    if (status != RFM_OK) return status;
    p->blob = (unsigned char *)test_take(blob);
    mark = test_mark();
    memory = test_take(scratch);
    if (p->blob == NULL || memory == NULL) return TEST_SKIP;
    p->ctx.arena = &arena, p->room = blob;
    memset(p->blob, 0x55, blob);
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, scratch - 1));
    CHECK_INT(RFM_EARENA, rfm_tree_fit(&p->ctx, &p->data, &p->o, &p->parts, p->blob, blob, &p->tree, &p->report));
    CHECK(arena.used == 0 && p->blob[0] == 0x55);
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, scratch));
    CHECK_INT(RFM_EARENA, rfm_tree_fit(&p->ctx, &p->data, &p->o, &p->parts, p->blob, blob - 1, &p->tree, &p->report));
    CHECK(p->blob[0] == 0x55);
    status = rfm_tree_fit(&p->ctx, &p->data, &p->o, &p->parts, p->blob, blob, &p->tree, &p->report);
    CHECK(arena.used == 0 && arena.status == RFM_OK);
    if (status == RFM_OK) CHECK_SIZE(scratch, arena.peak);
    test_rewind(mark);
    return status;
}

/* rfm_tree_predict on exactly what it needs. TEST_SKIP: no room. */
static int tree_predict(const tree_case *p, rfm_cmat z, rfm_mat y) {
    const size_t mark = test_mark();
    rfm_ctx ctx = p->ctx;
    rfm_arena arena;
    size_t bytes = 0;
    void *memory;
    int status = rfm_tree_predict_need(&ctx, &p->tree, z.rows, &bytes);

    CHECK_INT(RFM_OK, status);
    memory = test_take(bytes);
    if (memory == NULL) return TEST_SKIP;
    ctx.arena = &arena, ctx.tick = NULL;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, bytes - 1));
    CHECK_INT(RFM_EARENA, rfm_tree_predict(&ctx, &p->tree, z, y));
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, bytes));
    status = rfm_tree_predict(&ctx, &p->tree, z, y);
    CHECK(arena.used == 0 && arena.peak == bytes);
    test_check_padding(y);
    test_rewind(mark);
    return status;
}

/* ---- routing, once more --------------------------------------------------------------------- */

static double off(const rfm_tree *t, size_t node, const rfm_real *x) {
    double sum = 0;
    size_t j;

    for (j = 0; j < t->d; j++) sum += (double)t->directions[node * t->d + j] * ((double)x[j] - (double)t->shift[j]);
    return sum - (double)t->node[node].threshold;
}

/* The weight of a leaf for a row, by the path up to its root; 0 if it is not of this tree. */
static double leaf_weight(const rfm_tree *t, size_t which, size_t leaf, const rfm_real *x) {
    int32_t at = -1 - (int32_t)leaf;
    double weight = 1;

    while (at != t->roots[which]) {
        size_t i;
        double p;

        for (i = 0; i < t->nodes && t->node[i].left != at && t->node[i].right != at; i++) continue;
        if (i == t->nodes) return 0;
        p = t->softness > 0 && t->node[i].spread > 0
                ? 1 / (1 + exp(off(t, i, x) / ((double)t->softness * (double)t->node[i].spread)))
                : off(t, i, x) <= 0;
        weight *= t->node[i].left == at ? p : 1 - p;
        at = (int32_t)i;
    }
    return weight;
}

/* f(x) from all leaves: of each tree the heaviest that make up 99 %, at most 12. 0: no room. */
static int mixed(const rfm_tree *t, const rfm_real *x, double *f) {
    const size_t mark = test_mark();
    double *weights = (double *)test_take(t->leaves * sizeof *weights);
    rfm_real *scratch = (rfm_real *)test_take(RFM_TREE_SCRATCH(t->d, t->c, t->rank) * sizeof *scratch);
    rfm_real scores[MOST_OUTPUTS];
    size_t which, i, k, turn;

    if (weights == NULL || scratch == NULL) return 0;
    for (k = 0; k < t->c; k++) f[k] = 0;
    for (which = 0; which < t->trees; which++) {
        double sum = 0, part[MOST_OUTPUTS] = {0, 0, 0};

        for (i = 0; i < t->leaves; i++) weights[i] = leaf_weight(t, which, i, x);
        for (turn = 0; turn < RFM_TREE_MIXED && sum < RFM_TREE_SHARE; turn++) {
            size_t best = 0;
            rfm_model leaf;

            for (i = 1; i < t->leaves; i++)
                if (weights[i] > weights[best]) best = i;
            if (!(weights[best] > 0)) break;
            rfm_tree_leaf(t, best, &leaf);
            CHECK_INT(RFM_OK, rfm_predict_one(&leaf, x, scores, scratch, NULL, NULL));
            for (k = 0; k < t->c; k++) part[k] += weights[best] * (double)scores[k];
            sum += weights[best], weights[best] = 0;
        }
        for (k = 0; k < t->c; k++) f[k] += part[k] / sum / (double)t->trees;
    }
    test_rewind(mark);
    return 1;
}

/* Predictions of all rows agree with `mixed`, unless a threshold or the last leaf that is kept is a matter of
 * rounding: that may happen to few rows. */
static void check_predictions(const tree_case *p, rfm_mat z, double tolerance) {
    const size_t mark = test_mark();
    rfm_mat y = test_mat(z.rows, p->tree.c, 3, 1);
    size_t i, k, apart = 0;

    if (y.at == NULL || tree_predict(p, rfm_const(z), y) == TEST_SKIP) {
        test_rewind(mark);
        return;
    }
    for (i = 0; i < z.rows; i++) {
        double f[MOST_OUTPUTS];
        int close = 1;

        if (!mixed(&p->tree, z.at + i * z.stride, f)) break;
        for (k = 0; k < p->tree.c; k++) close &= fabs(f[k] - model_at(y, i, k)) <= tolerance;
        apart += !close;
    }
    CHECK(apart <= z.rows / 50);
    test_rewind(mark);
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* Sizes around powers of two, blocks, one row; leaves are no larger than they may be and hold every row once. */
static void test_shapes(void) {
    static const struct {
        size_t n, d, c, leaf, trees;
    } shapes[] = {{1, 1, 1, 2, 1},  {2, 1, 1, 2, 1},  {3, 2, 1, 2, 1},   {5, 1, 2, 2, 2},   {8, 3, 1, 4, 1},
                  {9, 3, 2, 4, 1},  {17, 2, 1, 4, 3}, {31, 5, 3, 8, 1},  {33, 4, 1, 32, 1}, {64, 2, 1, 8, 2},
                  {65, 2, 2, 8, 1}, {63, 6, 1, 7, 1}, {300, 3, 1, 20, 1}};
    size_t s;

    for (s = 0; s < TEST_LENGTH(shapes); s++) {
        tree_case p;
        size_t i, rows = 0;
        int status;

        test_reset();
        test_note("shape", s, 0, 0);
        if (!tree_make(&p, shapes[s].n, shapes[s].d, shapes[s].c, shapes[s].leaf)) continue;
        p.o.trees = shapes[s].trees;
        status = tree_fit(&p);
        if (status == TEST_SKIP) continue;
        CHECK_INT(RFM_OK, status);
        CHECK(p.report.bytes <= p.room && p.tree.trees == p.o.trees && p.tree.nodes + p.tree.trees == p.tree.leaves);
        for (i = 0; i < p.tree.leaves; i++) {
            rfm_model leaf;
            rfm_summary summary;

            rfm_tree_leaf(&p.tree, i, &leaf);
            CHECK(leaf.n >= 1 && leaf.n <= shapes[s].leaf);
            CHECK_INT(RFM_OK, rfm_model_summary(&leaf, &summary, NULL, 0));
            CHECK_SIZE(leaf.n, summary.rows);
            rows += leaf.n;
        }
        CHECK_SIZE(shapes[s].n * p.o.trees, rows);
        check_predictions(&p, p.x, 400 * TEST_EPS);
        p.tree.softness = (rfm_real)0.4;
        check_predictions(&p, p.x, 400 * TEST_EPS);
    }
}

/* One row by hard routing is what many rows have, and what the leaf says. */
static void test_one_row(void) {
    tree_case p;
    rfm_mat y;
    size_t i, k;

    if (!tree_make(&p, 60, 4, 2, 9)) TEST_IGNORE_MESSAGE("no room");
    p.o.trees = 2, p.parts.task = RFM_CLASSIFY;
    if (tree_fit(&p) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    y = test_mat(60, 2, 0, 0);
    if (y.at == NULL || tree_predict(&p, p.data.x, y) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < 60; i++) {
        rfm_real scratch[RFM_TREE_SCRATCH(4, 2, 4)], scores[2], novelty = 0, confidence = 1;
        const rfm_real *x = p.x.at + i * p.x.stride;

        CHECK_INT(RFM_OK, rfm_tree_predict_one(&p.tree, x, scores, scratch, NULL, &novelty));
        for (k = 0; k < 2; k++) CHECK_BELOW(fabs((double)scores[k] - model_at(y, i, k)), 200 * TEST_EPS);
        CHECK(novelty >= (rfm_real)0.99 && novelty <= 1); /* it was trained on */
        CHECK_SIZE(scores[1] > scores[0], rfm_tree_class(&p.tree, scores, &confidence));
        CHECK(confidence == 0);
    }
    {
        rfm_real scratch[RFM_TREE_SCRATCH(4, 2, 4)], scores[2] = {7, 7}, bad[4] = {0, 0, 0, 0};

        bad[2] = (rfm_real)NAN;
        CHECK_INT(RFM_EFINITE, rfm_tree_predict_one(&p.tree, bad, scores, scratch, NULL, NULL));
        CHECK(scores[0] == 7);
        CHECK_INT(RFM_ENULL, rfm_tree_predict_one(NULL, bad, scores, scratch, NULL, NULL));
        CHECK_INT(RFM_ENULL, rfm_tree_predict_one(&p.tree, NULL, scores, scratch, NULL, NULL));
    }
}

/* With room for all rows in one leaf: the fit of rfm_fit with the targets' mean taken out. */
static void test_is_fit(void) {
    tree_case p;
    model_case one;
    rfm_mat y, z;
    double mean = 0;
    size_t i;

    if (!tree_make(&p, 20, 3, 1, 20)) TEST_IGNORE_MESSAGE("no room");
    p.o.leaf[0].select = RFM_SELECT_LAST;
    for (i = 0; i < 20; i++) mean += model_at(p.y, i, 0) / 20;
    if (tree_fit(&p) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK(p.tree.nodes == 0 && p.tree.leaves == 1 && p.report.depth == 0);
    if (!model_make(&one, 20, 3, 1)) TEST_IGNORE_MESSAGE("no room");
    one.o = p.o.leaf[0];
    for (i = 0; i < 20; i++) {
        memcpy(one.x.at + i * one.x.stride, p.x.at + i * p.x.stride, 3 * sizeof *p.x.at);
        one.y.at[i * one.y.stride] = (rfm_real)(model_at(p.y, i, 0) - mean);
    }
    if (model_fit(&one) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    y = test_mat(20, 1, 0, 0), z = test_mat(20, 1, 0, 0);
    if (z.at == NULL || tree_predict(&p, p.data.x, y) == TEST_SKIP || model_predict(&one, p.data.x, z) == TEST_SKIP)
        TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < 20; i++) CHECK_BELOW(fabs(model_at(y, i, 0) - mean - model_at(z, i, 0)), 1000 * TEST_EPS);
}

/* The first input says which of two others counts. The first split finds it, and each leaf's metric its own. */
static void test_regions(void) {
    tree_case p;
    size_t i, side;

    if (!tree_make(&p, 240, 5, 1, 120)) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < 240; i++) {
        const rfm_real *x = p.x.at + i * p.x.stride;
        p.y.at[i * p.y.stride] = (rfm_real)(8 * (double)x[0] + 2 * sin(2 * (double)x[x[0] > 0 ? 2 : 1]));
    }
    p.o.split_rows = 100, p.o.leaf[0].iterations = 3, p.o.leaf[0].bandwidth = 3, p.o.leaf[0].ridge = (rfm_real)1e-3;
    if (tree_fit(&p) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK_SIZE(2, p.tree.leaves);
    CHECK(p.tree.directions[0] > (rfm_real)0.95); /* of length 1 */
    CHECK_BELOW(fabs((double)p.tree.node[0].threshold), 0.2);
    for (side = 0; side < 2; side++) {
        rfm_real m[25];
        rfm_model leaf;

        rfm_tree_leaf(&p.tree, side, &leaf);
        CHECK_INT(RFM_OK, rfm_metric(&leaf, rfm_view(m, 5, 5)));
        CHECK_BELOW(m[6 * (2 - side)], m[6 * (1 + side)] / 4);
        CHECK(m[6 * (1 + side)] > 4 * m[6 * 3] && m[6 * (1 + side)] > 4 * m[6 * 4]);
    }
}

/* The same bits with any number of workers and any port's blocks. */
static void test_workers(void) {
    static const size_t workers[] = {1, 2, 7};
    unsigned char *first = NULL;
    size_t w, bytes = 0;

    for (w = 0; w < TEST_LENGTH(workers); w++) {
        const size_t mark = test_mark();
        tree_case p;
        test_pool pool;

        if (!tree_make(&p, 70, 3, 2, 10) || !with_validation(&p, 11)) TEST_IGNORE_MESSAGE("no room");
        pool.workers = workers[w], pool.reverse = w == 1;
        p.ctx.workers = workers[w], p.ctx.run = test_pool_run, p.ctx.pool = &pool;
        if (tree_fit(&p) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        if (w == 0) {
            first = p.blob, bytes = p.report.bytes;
            continue;
        }
        CHECK_SIZE(bytes, p.report.bytes);
        CHECK(memcmp(first, p.blob, bytes) == 0);
        test_rewind(mark);
    }
}

/* Validation rows choose the softness: what the report says of hard and of chosen routing is what predictions have, in
 * the units in which targets were given to the fit. */
static void test_softness(void) {
    static const rfm_real mean[2] = {0, 0}, scale[2] = {1, 8};
    int score;

    for (score = RFM_SCORE_SQUARED; score <= RFM_SCORE_ACCURACY; score++) {
        tree_case p;
        rfm_mat y;
        size_t turn, i, k;

        test_reset();
        test_note("score", (size_t)score, 0, 0);
        if (!tree_make(&p, 90, 2, 2, 6) || !with_validation(&p, 40)) continue;
        p.o.score = score;
        if (score == RFM_SCORE_SQUARED) p.parts.y_mean = mean, p.parts.y_scale = scale;
        if (tree_fit(&p) == TEST_SKIP) continue;
        y = test_mat(40, 2, 0, 0);
        if (y.at == NULL) continue;
        if (score == RFM_SCORE_SQUARED) CHECK(p.tree.softness > 0 && p.report.soft < p.report.hard);
        CHECK(score == RFM_SCORE_SQUARED ? p.report.soft <= p.report.hard : p.report.soft >= p.report.hard);
        for (turn = 0; turn < 2; turn++) {
            double sum = 0;

            if (turn == 1) p.tree.softness = 0;
            if (tree_predict(&p, rfm_const(p.xv), y) == TEST_SKIP) break;
            for (i = 0; i < 40; i++)
                if (score == RFM_SCORE_SQUARED)
                    for (k = 0; k < 2; k++)
                        sum += pow(model_at(y, i, k) / (double)scale[k] - model_at(p.yv, i, k), 2) / 80;
                else
                    sum += (model_at(y, i, 1) > model_at(y, i, 0)) == (model_at(p.yv, i, 1) > model_at(p.yv, i, 0))
                               ? 1.0 / 40
                               : 0;
            CHECK_BELOW(fabs(sum - (double)(turn == 0 ? p.report.soft : p.report.hard)), 1e3 * TEST_EPS);
        }
        CHECK_INT(RFM_OK, rfm_tree_set(p.blob, p.report.bytes, (rfm_real)0.5, 2));
        CHECK_INT(RFM_OK, rfm_tree_open(p.blob, p.report.bytes, &p.tree));
        CHECK(p.tree.softness == (rfm_real)0.5 && p.tree.temperature == 2);
        CHECK_INT(RFM_EVALUE, rfm_tree_set(p.blob, p.report.bytes, -1, 2));
        CHECK_INT(RFM_EVALUE, rfm_tree_set(p.blob, p.report.bytes, 1, (rfm_real)NAN));
        CHECK_INT(RFM_ETRUNCATED, rfm_tree_set(p.blob, p.report.bytes - 1, 1, 1));
    }
}

/* Several settings: each leaf has the one with the best leave-one-out score. */
static void test_tries(void) {
    tree_case p;
    rfm_real scores[3][8];
    size_t t, i;

    for (t = 0; t < 3; t++) {
        test_reset();
        if (!tree_make(&p, 64, 3, 1, 16)) TEST_IGNORE_MESSAGE("no room");
        p.o.leaf[1] = p.o.leaf[0];
        p.o.leaf[t == 2].bandwidth = (rfm_real)0.3, p.o.leaf[t == 1].bandwidth = 4;
        p.o.tries = t == 0 ? 1 : 2;
        if (t == 0) p.o.leaf[0].bandwidth = 4;
        if (t == 2) p.o.leaf[0] = p.o.leaf[1], p.o.tries = 1;
        if (t == 1) p.o.leaf[0].bandwidth = 4, p.o.leaf[1].bandwidth = (rfm_real)0.3;
        if (tree_fit(&p) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        for (i = 0; i < p.tree.leaves; i++) {
            rfm_model leaf;
            rfm_summary summary;

            rfm_tree_leaf(&p.tree, i, &leaf);
            CHECK_INT(RFM_OK, rfm_model_summary(&leaf, &summary, NULL, 0));
            scores[t][i] = summary.validation;
        }
    }
    for (i = 0; i < p.tree.leaves; i++) {
        const double best = fmin((double)scores[0][i], (double)scores[2][i]);

        CHECK_BELOW(fabs((double)scores[1][i] - best), 1e-3 * best);
    }
}

/* Standardised rows and targets: the blob takes and gives raw numbers. */
static void test_scales(void) {
    tree_case p;
    rfm_real x_mean[3] = {5, -2, 100}, x_scale[3] = {2, (rfm_real)0.5, 10}, y_mean[1] = {30}, y_scale[1] = {4};
    rfm_mat plain, raw, z;
    size_t i, j;

    if (!tree_make(&p, 50, 3, 1, 8)) TEST_IGNORE_MESSAGE("no room");
    plain = test_mat(50, 1, 0, 0), raw = test_mat(50, 1, 0, 0), z = test_mat(50, 3, 0, 0);
    if (z.at == NULL || tree_fit(&p) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    if (tree_predict(&p, p.data.x, plain) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    p.parts.x_mean = x_mean, p.parts.x_scale = x_scale, p.parts.y_mean = y_mean, p.parts.y_scale = y_scale;
    p.parts.task = RFM_REGRESS, p.parts.class_names = NULL, p.parts.input_names = "one\0two\0three";
    if (tree_fit(&p) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < 50; i++)
        for (j = 0; j < 3; j++) z.at[3 * i + j] = p.x.at[i * p.x.stride + j] * x_scale[j] + x_mean[j];
    if (tree_predict(&p, rfm_const(z), raw) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < 50; i++) CHECK_BELOW(fabs(model_at(raw, i, 0) - (4 * model_at(plain, i, 0) + 30)), 3e4 * TEST_EPS);
    CHECK_INT(0, strcmp(rfm_name(p.tree.input_names, 2), "three"));
    CHECK(p.tree.class_names == NULL);
}

/* What data can be: all rows equal, constant targets, one class in a leaf, rows without weight. */
static void test_hard_data(void) {
    size_t kind;

    for (kind = 0; kind < 5; kind++) {
        tree_case p;
        rfm_real weights[40];
        rfm_mat y;
        size_t i, j, right = 0;
        int status;

        test_reset();
        test_note("kind", kind, 0, 0);
        if (!tree_make(&p, 40, 3, 2, 6) || !with_validation(&p, 5)) continue;
        y = test_mat(40, 2, 0, 0);
        if (y.at == NULL) continue;
        for (i = 0; i < 40; i++) {
            rfm_real *x = p.x.at + i * p.x.stride, *t = p.y.at + i * p.y.stride;

            weights[i] = i < 34 ? (rfm_real)0 : (rfm_real)1;
            if (kind == 0)
                for (j = 0; j < 3; j++) x[j] = (rfm_real)0.25;
            if (kind == 1) t[0] = 3, t[1] = (rfm_real)0.1;
            if (kind == 2) t[0] = x[0] > 0, t[1] = !(x[0] > 0);
            if (kind == 3) p.data.weights = weights;
            if (kind == 4) x[0] = (rfm_real)i, x[1] = (rfm_real)0, x[2] = (rfm_real)1; /* two inputs are constant */
        }
        status = tree_fit(&p);
        if (status == TEST_SKIP) continue;
        CHECK_INT(RFM_OK, status);
        if (tree_predict(&p, p.data.x, y) == TEST_SKIP) continue;
        for (i = 0; i < 40; i++) {
            if (kind == 1) CHECK(fabs(model_at(y, i, 0) - 3) + fabs(model_at(y, i, 1) - 0.1) < 20 * TEST_EPS);
            right += (model_at(y, i, 0) > model_at(y, i, 1)) == (p.x.at[i * p.x.stride] > 0);
            CHECK(isfinite(model_at(y, i, 0)) && isfinite(model_at(y, i, 1)));
        }
        if (kind == 2) CHECK(right >= 38); /* at the border the ridge blurs */
    }
}

/* Leaves without any weight say the mean of the rows that have some. */
static void test_no_weight(void) {
    tree_case p;
    rfm_real weights[32];
    rfm_mat y;
    double mean = 0;
    size_t i;

    if (!tree_make(&p, 32, 1, 1, 4)) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < 32; i++) {
        p.x.at[i * p.x.stride] = (rfm_real)i, weights[i] = i < 4, p.y.at[i * p.y.stride] = (rfm_real)(i * i % 7);
        if (i < 4) mean += model_at(p.y, i, 0) / 4;
    }
    p.data.weights = weights, y = test_mat(32, 1, 0, 0);
    if (y.at == NULL || tree_fit(&p) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    if (tree_predict(&p, p.data.x, y) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    for (i = 4; i < 32; i++) CHECK_BELOW(fabs(model_at(y, i, 0) - mean), 20 * TEST_EPS);
}

static int tick_calls, tick_stop;
static rfm_real tick_last;

static int on_tick(void *arg, rfm_real done) {
    (void)arg;
    CHECK(done >= tick_last && done <= 1);
    tick_last = done;
    return ++tick_calls == tick_stop;
}

static void test_ticks(void) {
    tree_case p;
    size_t mark;
    int calls, stop;

    if (!tree_make(&p, 60, 2, 1, 8) || !with_validation(&p, 10)) TEST_IGNORE_MESSAGE("no room");
    p.ctx.tick = on_tick, tick_stop = -1, tick_calls = 0, tick_last = 0;
    mark = test_mark();
    if (tree_fit(&p) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    CHECK(tick_calls > 20 && tick_last > (rfm_real)0.99);
    for (calls = tick_calls, stop = 1; stop <= calls; stop += 1 + calls / 9) {
        test_rewind(mark);
        tick_calls = 0, tick_stop = stop, tick_last = 0;
        CHECK_INT(RFM_ECANCEL, tree_fit(&p));
        CHECK(p.blob[0] == 0 && rfm_tree_open(p.blob, p.room, &p.tree) == RFM_EMAGIC);
    }
}

/* What is done never falls, whatever a tree is made of: several tries in every leaf, several trees. */
static void test_ticks_of_tries(void) {
    tree_case p;
    const size_t mark = test_mark();
    size_t n, trees, tries;

    for (n = 9; n <= 27; n += 9)
        for (trees = 1; trees <= 3; trees++)
            for (tries = 1; tries <= 3; tries++) {
                size_t t;

                test_rewind(mark);
                if (!tree_make(&p, n, 2, 1, 8) || !with_validation(&p, 3)) TEST_IGNORE_MESSAGE("no room");
                p.o.trees = trees, p.o.tries = tries;
                for (t = 0; t < tries; t++) p.o.leaf[t] = p.o.leaf[0], p.o.leaf[t].iterations = t;
                p.ctx.tick = on_tick, tick_stop = -1, tick_calls = 0, tick_last = 0;
                if (tree_fit(&p) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
                CHECK(tick_last == 1);
            }
}

/* Nothing is done, and the blob is as it was. */
static void refused(tree_case *p, int status, int need_too) {
    const size_t mark = test_mark();
    size_t scratch = 1, blob = 1;
    rfm_arena arena;
    void *memory = test_take(64);
    unsigned char *to = (unsigned char *)test_take(64);

    CHECK(to != NULL);
    memset(to, 0x55, 64);
    p->ctx.arena = &arena;
    CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, 64));
    if (need_too) CHECK_INT(status, rfm_tree_fit_need(&p->ctx, &p->data, &p->o, &p->parts, &scratch, &blob));
    CHECK_INT(status,
              rfm_tree_fit(&p->ctx, &p->data, &p->o, &p->parts, to, need_too ? 64 : 1u << 30, &p->tree, &p->report));
    CHECK(arena.used == 0 && to[0] == 0x55);
    test_rewind(mark);
}

static void test_refusals(void) {
    tree_case p, q;
    rfm_real weights[30], scale[2] = {1, 0}, mean[2] = {0, 0};
    size_t i, bytes;

    if (!tree_make(&p, 30, 2, 1, 8) || !with_validation(&p, 4)) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < 30; i++) weights[i] = 0;
    q = p, q.data.x.at = NULL, refused(&q, RFM_ENULL, 1);
    q = p, q.data.y.rows--, refused(&q, RFM_ESHAPE, 1);
    q = p, q.data.x.rows = 0, refused(&q, RFM_EZERO, 1);
    q = p, q.data.x.stride = 1, refused(&q, RFM_ESTRIDE, 1);
    q = p, q.data.x_validation.cols = 1, refused(&q, RFM_ESHAPE, 1);
    q = p, q.data.y_validation.at = NULL, refused(&q, RFM_ENULL, 1);
    q = p, q.o.leaf_rows = 1, refused(&q, RFM_EVALUE, 1);
    q = p, q.o.split_rows = 1, refused(&q, RFM_EVALUE, 1);
    q = p, q.o.trees = 0, refused(&q, RFM_EVALUE, 1);
    q = p, q.o.tries = 0, refused(&q, RFM_EVALUE, 1);
    q = p, q.o.tries = RFM_TREE_TRIES + 1, refused(&q, RFM_EVALUE, 1);
    q = p, q.o.score = 2, refused(&q, RFM_EVALUE, 1);
    q = p, q.o.leaf[0].select = RFM_SELECT_VALIDATION, refused(&q, RFM_EVALUE, 1);
    q = p, q.o.leaf[0].score = RFM_SCORE_ACCURACY, refused(&q, RFM_EVALUE, 1);
    q = p, q.o.tries = 2, q.o.leaf[1].select = RFM_SELECT_LAST, refused(&q, RFM_EVALUE, 1);
    q = p, q.o.leaf[0].kernel = RFM_KERNELS, refused(&q, RFM_EVALUE, 1);
    q = p, q.o.trees = SIZE_MAX, refused(&q, RFM_EOVERFLOW, 1);
    q = p, q.data.weights = weights, refused(&q, RFM_EVALUE, 0);
    weights[1] = -1, refused(&q, RFM_EVALUE, 0);
    weights[1] = (rfm_real)HUGE_VAL, refused(&q, RFM_EFINITE, 0);
    q = p, q.parts.x_mean = mean, refused(&q, RFM_ENULL, 0);
    q.parts.x_scale = scale, refused(&q, RFM_EVALUE, 0);
    q = p, q.parts.task = 2, refused(&q, RFM_EVALUE, 0);
    q = p, q.parts.temperature = -1, refused(&q, RFM_EVALUE, 0);
    q = p, q.parts.record_bytes = 8, refused(&q, RFM_ENULL, 0);
    q.parts.record = "aaaaaaaa", refused(&q, RFM_EVALUE, 0);
    p.x.at[7 * p.x.stride + 1] = (rfm_real)NAN;
    refused(&p, RFM_EFINITE, 0);
    CHECK(p.report.row == 7 && p.report.col == 1);
    p.x.at[7 * p.x.stride + 1] = 0, p.y.at[9 * p.y.stride] = (rfm_real)HUGE_VAL;
    refused(&p, RFM_EFINITE, 0);
    CHECK(p.report.row == 9 && p.report.col == 2);
    p.y.at[9 * p.y.stride] = 0, p.xv.at[0] = (rfm_real)NAN;
    refused(&p, RFM_EFINITE, 0);
    p.xv.at[0] = 0;
    CHECK_INT(RFM_ENULL, rfm_tree_fit_need(&p.ctx, &p.data, &p.o, NULL, &bytes, &bytes));
    CHECK_INT(RFM_ENULL, rfm_tree_fit_need(&p.ctx, &p.data, &p.o, &p.parts, NULL, &bytes));
    if (tree_fit(&p) == TEST_SKIP) return;
    CHECK_INT(RFM_EZERO, rfm_tree_predict_need(&p.ctx, &p.tree, 0, &bytes));
    CHECK_INT(RFM_ENULL, rfm_tree_predict_need(&p.ctx, NULL, 1, &bytes));
    {
        rfm_arena arena;
        void *memory = test_take(64);

        CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, 64));
        p.ctx.arena = &arena;
        CHECK_INT(RFM_EARENA, rfm_tree_predict(&p.ctx, &p.tree, p.data.x, p.y));
        CHECK_INT(RFM_EALIAS, rfm_tree_predict(&p.ctx, &p.tree, p.data.x, rfm_view(p.x.at, 30, 1)));
        CHECK_INT(RFM_ESHAPE, rfm_tree_predict(&p.ctx, &p.tree, rfm_cview(p.x.at, 30, 1), p.y));
        p.x.at[3] = (rfm_real)NAN;
        CHECK_INT(RFM_EFINITE, rfm_tree_predict(&p.ctx, &p.tree, p.data.x, p.y));
    }
}

/* ---- blobs ---------------------------------------------------------------------------------- */

static void seal(unsigned char *blob) { rfm_put_u32(blob + 4, rfm_crc32(0, blob + 8, rfm_get_u32(blob + 8) - 8)); }

/* What opens can be used: it ends, and what it says is finite. */
static void use(tree_case *p, const rfm_tree *t) {
    rfm_real scratch[64], scores[MOST_OUTPUTS];
    size_t i;

    if (RFM_TREE_SCRATCH(t->d, t->c, t->rank) > TEST_LENGTH(scratch) || t->c > MOST_OUTPUTS) return;
    for (i = 0; i < 3; i++) {
        const int status = rfm_tree_predict_one(t, p->x.at + i * p->x.stride, scores, scratch, NULL, NULL);

        CHECK(status == RFM_OK || status == RFM_ERANGE);
        if (status == RFM_OK) CHECK(rfm_finite(t->c, scores));
    }
}

static void test_blob(void) {
    static const struct {
        size_t at;
        uint32_t value;
        int bytes, status;
    } bad[] = {
        {0, 1, 4, RFM_EMAGIC},
        {12, 2, 1, RFM_EVERSION},
        {13, 12 - RFM_REAL_BYTES, 1, RFM_ETYPE},
        {14, 2, 1, RFM_ECONTENT},
        {16, 0, 4, RFM_ECONTENT},
        {16, 3, 4, RFM_ECONTENT},
        {16, 0xffffffff, 4, RFM_ECONTENT},
        {20, 0, 4, RFM_ECONTENT},
        {20, 3, 4, RFM_ECONTENT},
        {24, 0, 4, RFM_ECONTENT},
        {24, 0x7fffffff, 4, RFM_ECONTENT},
        {28, 0, 4, RFM_ECONTENT},
        {28, 6, 4, RFM_ECONTENT},
        {28, 0xffffffff, 4, RFM_ECONTENT},
        {32, 0, 4, RFM_ECONTENT},
        {32, 7, 4, RFM_ECONTENT},
        {36, 9, 4, RFM_ECONTENT},
        {40, 0xbf800000, 4, RFM_ECONTENT}, /* -1 */
        {40, 0x7fc00000, 4, RFM_ECONTENT}, /* NaN */
        {44, 0x7f800000, 4, RFM_ECONTENT}, /* infinity */
        {48, 0xffffffff, 4, RFM_ECONTENT},
        {52, 0, 4, RFM_ECONTENT},
        {56, 0x100, 4, RFM_ECONTENT},
    };
    tree_case p;
    unsigned char *copy, record[32];
    rfm_tree opened, before;
    rfm_real nan = (rfm_real)NAN;
    size_t i, j, bytes, found = 0, used = 0;

    if (!tree_make(&p, 50, 2, 2, 8)) TEST_IGNORE_MESSAGE("no room");
    p.parts.task = RFM_CLASSIFY, p.parts.class_names = "left\0right", p.parts.input_names = "a\0b";
    CHECK_INT(RFM_OK, rfm_record_add(record, sizeof record, &used, 300, "abc", 3));
    p.parts.record = record, p.parts.record_bytes = used;
    if (tree_fit(&p) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
    bytes = p.report.bytes, copy = (unsigned char *)test_take(bytes + 16);
    if (copy == NULL) TEST_IGNORE_MESSAGE("no room");
    CHECK_SIZE(7, p.tree.nodes);
    CHECK_INT(0, strcmp(rfm_name(p.tree.class_names, 1), "right"));
    CHECK(rfm_tree_record(p.blob, bytes, &found) != NULL && found == used);
    CHECK_INT(RFM_OK, rfm_tree_bare(p.blob, bytes, NULL, 0, &found));
    CHECK(found < bytes);
    CHECK_INT(RFM_EARENA, rfm_tree_bare(p.blob, bytes, copy, found - 1, &i));
    CHECK_INT(RFM_OK, rfm_tree_bare(p.blob, bytes, copy, found, &found));
    CHECK_INT(RFM_OK, rfm_tree_open(copy, found, &opened));
    CHECK(opened.input_names == NULL && rfm_tree_record(copy, found, &i) == NULL);
    for (i = 0; i < 50; i++) {
        rfm_real scratch[RFM_TREE_SCRATCH(2, 2, 2)], one[2], two[2];

        CHECK_INT(RFM_OK, rfm_tree_predict_one(&p.tree, p.x.at + i * p.x.stride, one, scratch, NULL, NULL));
        CHECK_INT(RFM_OK, rfm_tree_predict_one(&opened, p.x.at + i * p.x.stride, two, scratch, NULL, NULL));
        CHECK(one[0] == two[0] && one[1] == two[1]);
    }
    memset(&before, 0x55, sizeof before);
    opened = before;
    for (i = 0; i < TEST_LENGTH(bad); i++) {
        test_note("bad", i, bad[i].at, 0);
        memcpy(copy, p.blob, bytes);
        if (bad[i].bytes == 4)
            rfm_put_u32(copy + bad[i].at, bad[i].value);
        else
            copy[bad[i].at] = (unsigned char)bad[i].value;
        seal(copy);
        CHECK_INT(bad[i].status, rfm_tree_open(copy, bytes, &opened));
    }
    for (i = 0; i < 10; i++) { /* branches, numbers and leaves that are none */
        const void *at = i < 3    ? (const void *)&p.tree.node[i].right
                         : i == 3 ? (const void *)p.tree.roots
                         : i == 4 ? (const void *)&p.tree.node[1].threshold
                         : i == 5 ? (const void *)&p.tree.node[1].spread
                         : i == 6 ? (const void *)(p.tree.directions + 13)
                         : i == 7 ? (const void *)p.tree.shift
                         : i == 8 ? (const void *)(p.tree.leaf + 1)
                                  : (const void *)(p.blob + p.tree.leaf[2] + 20);
        const size_t offset = (size_t)((const unsigned char *)at - p.blob);

        test_note("place", i, 0, 0);
        memcpy(copy, p.blob, bytes);
        if (i >= 4 && i < 8)
            memcpy(copy + offset, &nan, sizeof nan);
        else
            rfm_put_u32(copy + offset, i == 0 ? 0u : i == 1 ? 1u : i == 2 ? UINT32_MAX : i == 3 ? 1u : 64u);
        seal(copy);
        CHECK_INT(RFM_ECONTENT, rfm_tree_open(copy, bytes, &opened));
    }
    for (j = 0; j < bytes; j += j < 512 ? 1 : 37) {
        test_note("byte", j, 0, 0);
        p.blob[j] ^= 0x10;
        CHECK(rfm_tree_open(p.blob, bytes, &opened) != RFM_OK);
        CHECK(rfm_tree_record(p.blob, bytes, &found) == NULL);
        CHECK(memcmp(&before, &opened, sizeof before) == 0);
        memcpy(copy, p.blob, bytes);
        p.blob[j] ^= 0x10;
        rfm_put_u32(copy + 8, (uint32_t)bytes);
        seal(copy);
        if (rfm_tree_open(copy, bytes, &opened) == RFM_OK) use(&p, &opened);
        opened = before;
    }
    for (j = 0; j < bytes; j += j < 96 ? 1 : 53) CHECK_INT(RFM_ETRUNCATED, rfm_tree_open(p.blob, j, &opened));
    memcpy(copy + 4, p.blob, bytes);
    CHECK_INT(RFM_EALIGN, rfm_tree_open(copy + 4, bytes, &opened));
    CHECK_INT(RFM_ENULL, rfm_tree_open(NULL, bytes, &opened));
    CHECK_INT(RFM_ENULL, rfm_tree_open(p.blob, bytes, NULL));
    CHECK(rfm_tree_record(p.blob, bytes, NULL) == NULL);
}

/* The blob of a fit to rows of its own, with this kernel. NULL: no room. */
static void *one_blob(size_t d, int kernel, size_t iterations, rfm_model *opened, size_t *bytes) {
    model_case p;
    rfm_contents parts;
    void *blob;

    if (!model_make(&p, 12, d, 2)) return NULL;
    p.o.kernel = kernel, p.o.iterations = iterations;
    p.o.metric = RFM_DIAGONAL;
    if (model_fit(&p) != RFM_OK) return NULL;
    memset(&parts, 0, sizeof parts);
    parts.model = &p.m, parts.task = RFM_CLASSIFY;
    CHECK_INT(RFM_OK, rfm_model_size(&parts, bytes));
    blob = test_take(*bytes);
    if (blob == NULL) return NULL;
    CHECK_INT(RFM_OK, rfm_model_write(&parts, blob, *bytes));
    CHECK_INT(RFM_OK, rfm_model_open(blob, *bytes, opened));
    return blob;
}

/* The mean of two models with other kernels and metrics, by what each of them says. */
static void test_join(void) {
    const void *blobs[3];
    rfm_model models[3];
    size_t sizes[3], bytes = 0, found = 0, i, k;
    rfm_contents parts;
    rfm_tree tree;
    rfm_real x[3], scratch[RFM_TREE_SCRATCH(3, 2, 3)], mean[2], one[2], two[2];
    unsigned char *joined;

    if (!test_little_endian()) TEST_IGNORE_MESSAGE("blobs are little-endian");
    blobs[0] = one_blob(3, RFM_LAPLACE, 1, &models[0], &sizes[0]);
    blobs[1] = one_blob(3, RFM_L1, 0, &models[1], &sizes[1]);
    blobs[2] = one_blob(2, RFM_LAPLACE, 0, &models[2], &sizes[2]);
    if (blobs[0] == NULL || blobs[1] == NULL || blobs[2] == NULL) TEST_IGNORE_MESSAGE("no room");
    memset(&parts, 0, sizeof parts);
    parts.task = RFM_CLASSIFY, parts.class_names = "left\0right", parts.temperature = (rfm_real)0.5;
    CHECK_INT(RFM_OK, rfm_tree_join(&parts, 2, blobs, sizes, NULL, 0, &bytes));
    joined = (unsigned char *)test_take(bytes + 16);
    if (joined == NULL) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_EARENA, rfm_tree_join(&parts, 2, blobs, sizes, joined, bytes - 1, &found));
    CHECK_INT(RFM_EALIGN, rfm_tree_join(&parts, 2, blobs, sizes, joined + 4, bytes, &found));
    CHECK_INT(RFM_OK, rfm_tree_join(&parts, 2, blobs, sizes, joined, bytes, &found));
    CHECK_SIZE(bytes, found);
    CHECK_INT(RFM_OK, rfm_tree_open(joined, bytes, &tree));
    CHECK(tree.trees == 2 && tree.leaves == 2 && tree.nodes == 0 && tree.temperature == (rfm_real)0.5);
    for (i = 0; i < 20; i++) {
        for (k = 0; k < 3; k++) x[k] = (rfm_real)(2 * test_number(7, i, k));
        CHECK_INT(RFM_OK, rfm_tree_predict_one(&tree, x, mean, scratch, NULL, NULL));
        CHECK_INT(RFM_OK, rfm_predict_one(&models[0], x, one, scratch, NULL, NULL));
        CHECK_INT(RFM_OK, rfm_predict_one(&models[1], x, two, scratch, NULL, NULL));
        for (k = 0; k < 2; k++)
            CHECK_BELOW(fabs((double)mean[k] - ((double)one[k] + (double)two[k]) / 2),
                        4 * TEST_EPS * fmax(fabs((double)one[k]) + fabs((double)two[k]), 1e-3));
    }
    CHECK_INT(RFM_EVALUE, rfm_tree_join(&parts, 0, blobs, sizes, NULL, 0, &bytes));
    CHECK_INT(RFM_ESHAPE, rfm_tree_join(&parts, 3, blobs, sizes, NULL, 0, &bytes));
    CHECK_INT(RFM_ENULL, rfm_tree_join(&parts, 2, NULL, sizes, NULL, 0, &bytes));
    parts.temperature = -1; /* what no tree has, so that it could not be opened */
    CHECK_INT(RFM_EVALUE, rfm_tree_join(&parts, 2, blobs, sizes, joined, bytes, &found));
    parts.temperature = 1, parts.record = "\0\0\0", parts.record_bytes = 4;
    CHECK_INT(RFM_EVALUE, rfm_tree_join(&parts, 2, blobs, sizes, joined, bytes, &found));
    parts.record = NULL;
    CHECK_INT(RFM_ENULL, rfm_tree_join(&parts, 2, blobs, sizes, joined, bytes, &found));
    parts.record_bytes = 0, x[1] = (rfm_real)NAN, parts.x_mean = x;
    CHECK_INT(RFM_EVALUE, rfm_tree_join(&parts, 2, blobs, sizes, joined, bytes, &found));
    parts.x_mean = NULL;
    CHECK_INT(RFM_OK, rfm_tree_open(joined, bytes, &tree)); /* nothing was written */
    parts.task = RFM_REGRESS;
    CHECK_INT(RFM_ESHAPE, rfm_tree_join(&parts, 2, blobs, sizes, NULL, 0, &bytes));
    sizes[1]--;
    CHECK_INT(RFM_ETRUNCATED, rfm_tree_join(&parts, 2, blobs + 1, sizes + 1, NULL, 0, &bytes));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_shapes);
    RUN_TEST(test_one_row);
    RUN_TEST(test_is_fit);
    RUN_TEST(test_regions);
    RUN_TEST(test_workers);
    RUN_TEST(test_softness);
    RUN_TEST(test_tries);
    RUN_TEST(test_scales);
    RUN_TEST(test_hard_data);
    RUN_TEST(test_no_weight);
    RUN_TEST(test_ticks);
    RUN_TEST(test_ticks_of_tries);
    RUN_TEST(test_refusals);
    RUN_TEST(test_blob);
    RUN_TEST(test_join);
    return UNITY_END();
}
