/* Networks and the neural feature ansatz: gradients and gradient outer products against differences of plain sums in
 * double, steps against their formulas, identities of the papers, memory, refusals. tests/golden/nfa has golden
 * cases. */
#include "rfm_nfa.h"
#include "test.h"

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

/* ---- a network and rows, from test_number ---------------------------------------------------- */

typedef struct {
    size_t n, layers, width[RFM_NFA_HIDDEN + 2];
    int activation, biases;
} shape;

typedef struct {
    shape s;
    rfm_mat x, y;
    rfm_nfa f;
    rfm_ctx ctx;
} kit;

/* Not on the stack: some boards have 3 KiB of it. */
static kit a, b;
static rfm_nfa_options o;
static rfm_nfa_start_options so;
static rfm_nfa_report report;
static rfm_nfa_layer layer;
static rfm_arena arena;
static rfm_nfa gradient;

static size_t outputs(const kit *k) { return k->s.width[k->s.layers + 1]; }

static void fill(rfm_mat m, uint32_t stream, double scale) {
    size_t i, j;
    for (i = 0; i < m.rows; i++)
        for (j = 0; j < m.cols; j++) m.at[i * m.stride + j] = (rfm_real)(scale * test_number(stream, i, j));
}

static void set_weights(kit *k, uint32_t stream) {
    size_t l;
    for (l = 0; l <= k->s.layers; l++) {
        const double unit = 1.5 / sqrt((double)k->s.width[l]);
        fill(rfm_view(k->f.w[l], k->s.width[l + 1], k->s.width[l]), stream + (uint32_t)l, unit);
        if (k->f.b[l] != NULL) fill(rfm_view(k->f.b[l], 1, k->s.width[l + 1]), stream + 10 + (uint32_t)l, 0.5);
    }
}

/* 0: no room. */
static int take_arrays(const shape *s, rfm_nfa *f) {
    size_t l;
    memset(f, 0, sizeof *f);
    f->layers = s->layers, f->activation = s->activation;
    memcpy(f->width, s->width, sizeof f->width);
    for (l = 0; l <= s->layers; l++) {
        f->w[l] = (rfm_real *)test_take(s->width[l + 1] * s->width[l] * sizeof(rfm_real));
        if (s->biases) f->b[l] = (rfm_real *)test_take(s->width[l + 1] * sizeof(rfm_real));
        if (f->w[l] == NULL || (s->biases && f->b[l] == NULL)) return 0;
    }
    return 1;
}

static int make(kit *k, const shape *s) {
    memset(k, 0, sizeof *k);
    k->s = *s;
    k->x = test_mat(s->n, s->width[0], 1, 0);
    k->y = test_mat(s->n, s->width[s->layers + 1], 2, 0);
    if (k->x.at == NULL || k->y.at == NULL || !take_arrays(s, &k->f)) return 0;
    fill(k->x, 1, 1.5);
    fill(k->y, 2, 1);
    set_weights(k, 20);
    return 1;
}

/* widths: inputs, hidden, outputs, ended by 0 */
static shape shape_of(size_t n, const size_t *widths, int activation, int biases) {
    shape s;
    size_t count = 0;
    memset(&s, 0, sizeof s);
    for (; widths[count] > 0; count++) s.width[count] = widths[count];
    s.n = n, s.layers = count - 2, s.activation = activation, s.biases = biases;
    return s;
}

static const size_t one_hidden[] = {3, 4, 1, 0}, two_hidden[] = {3, 5, 4, 2, 0}, three_hidden[] = {2, 3, 1, 4, 1, 0};
static const size_t four_hidden[] = {2, 3, 2, 3, 2, 3, 0};

/* ---- calls on exactly the memory that they need ---------------------------------------------- */

/* 0: no room. */
static int arena_of(rfm_ctx *ctx, size_t bytes) { return test_arena(ctx, &arena, bytes); }

static int finish(int status, size_t bytes, size_t mark) {
    CHECK_SIZE(0, arena.used);
    CHECK_INT(RFM_OK, arena.status);
    if (status == RFM_OK) CHECK_SIZE(bytes, arena.peak);
    test_rewind(mark);
    return status;
}

static int run_loss(kit *k, int kind, rfm_real *loss, const rfm_nfa *g) {
    size_t bytes = 0, mark = test_mark();
    CHECK_INT(RFM_OK, rfm_nfa_loss_need(&k->ctx, &k->f, k->s.n, &bytes));
    if (!arena_of(&k->ctx, bytes)) return TEST_SKIP;
    return finish(rfm_nfa_loss(&k->ctx, &k->f, rfm_const(k->x), rfm_const(k->y), kind, loss, g), bytes, mark);
}

static int run_descend(kit *k) {
    size_t bytes = 0, mark = test_mark();
    CHECK_INT(RFM_OK, rfm_nfa_descend_need(&k->ctx, &o, &k->f, k->s.n, &bytes));
    if (!arena_of(&k->ctx, bytes)) return TEST_SKIP;
    return finish(rfm_nfa_descend(&k->ctx, &o, rfm_const(k->x), rfm_const(k->y), &k->f, &report), bytes, mark);
}

static int run_measure(kit *k, const rfm_nfa *start, size_t l) {
    size_t bytes = 0, mark = test_mark();
    CHECK_INT(RFM_OK, rfm_nfa_measure_need(&k->ctx, &k->f, start != NULL, k->s.n, l, &bytes));
    if (!arena_of(&k->ctx, bytes)) return TEST_SKIP;
    return finish(rfm_nfa_measure(&k->ctx, &k->f, start, rfm_const(k->x), l, &layer), bytes, mark);
}

/* ---- the same in double, as plain sums ------------------------------------------------------- */

#define WIDEST 8

/* f(x) with weight `at` of array (l, bias) off by `change`. */
typedef struct {
    size_t l, at;
    int bias;
    double change;
} nudge;

static void plain_f(const rfm_nfa *f, const double *x, const nudge *by, double *out) {
    double in[WIDEST], h[WIDEST];
    size_t l, i, j;
    for (j = 0; j < f->width[0]; j++) in[j] = x[j];
    for (l = 0; l <= f->layers; l++) {
        for (i = 0; i < f->width[l + 1]; i++) {
            h[i] = f->b[l] != NULL ? (double)f->b[l][i] : 0;
            if (by != NULL && by->bias && by->l == l && by->at == i) h[i] += by->change;
            for (j = 0; j < f->width[l]; j++) {
                double w = (double)f->w[l][i * f->width[l] + j];
                if (by != NULL && !by->bias && by->l == l && by->at == i * f->width[l] + j) w += by->change;
                h[i] += w * in[j];
            }
        }
        for (i = 0; i < f->width[l + 1]; i++)
            in[i] = l == f->layers                    ? h[i]
                    : f->activation == RFM_NFA_RELU   ? fmax(h[i], 0)
                    : f->activation == RFM_NFA_SQUARE ? h[i] * h[i]
                                                      : h[i];
    }
    for (i = 0; i < f->width[f->layers + 1]; i++) out[i] = in[i];
}

static double plain_loss(const kit *k, int kind, const nudge *by) {
    const size_t c = outputs(k);
    double x[WIDEST], f[WIDEST], loss = 0;
    size_t i, j;
    for (i = 0; i < k->s.n; i++) {
        double sum = 0, total = 0;
        for (j = 0; j < k->s.width[0]; j++) x[j] = (double)k->x.at[i * k->x.stride + j];
        plain_f(&k->f, x, by, f);
        for (j = 0; j < c; j++) {
            const double y = (double)k->y.at[i * k->y.stride + j];
            if (kind == RFM_NFA_SQUARED)
                loss += (f[j] - y) * (f[j] - y);
            else if (c == 1)
                loss += log(1 + exp(f[0])) - (1 + y) / 2 * f[0];
            else
                loss -= y * f[j];
            sum += exp(f[j]), total += y;
        }
        if (kind == RFM_NFA_ENTROPY && c > 1) loss += total * log(sum);
    }
    return loss / (double)k->s.n;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void check_slopes(kit *k, int kind, int bias) {
    size_t l, i;
    for (l = 0; l <= k->s.layers; l++) {
        const size_t count = bias ? k->s.width[l + 1] : k->s.width[l + 1] * k->s.width[l];
        const rfm_real *g = bias ? gradient.b[l] : gradient.w[l];
        const double most = (double)rfm_largest(count, g); /* squares of squares grow */
        for (i = 0; i < count; i++) {
            nudge by;
            double above, below;
            by.l = l, by.at = i, by.bias = bias;
            by.change = 1e-6;
            above = plain_loss(k, kind, &by);
            by.change = -1e-6;
            below = plain_loss(k, kind, &by);
            test_note("layer, array, place:", l, (size_t)bias, i);
            CHECK_BELOW(fabs((double)g[i] - (above - below) / 2e-6), (1e-7 + 200 * TEST_EPS) * (1 + most));
        }
    }
}

static void test_gradient(void) {
    static const size_t *const widths[] = {one_hidden, two_hidden, three_hidden, four_hidden};
    static const size_t rows[] = {1, 7, 256, 257};
    size_t w, r;
    int activation, biases, kind, done = 0;
    for (w = 0; w < TEST_LENGTH(widths); w++)
        for (r = 0; r < (TEST_FEW ? 2 : TEST_LENGTH(rows)); r++)
            for (activation = RFM_NFA_RELU; activation <= RFM_NFA_LINEAR; activation++)
                for (biases = 0; biases < 2; biases++)
                    for (kind = RFM_NFA_SQUARED; kind <= RFM_NFA_ENTROPY; kind++) {
                        const shape s = shape_of(rows[r], widths[w], activation, biases);
                        rfm_real loss = 0;
                        size_t i;
                        int status;
                        test_reset();
                        if (!make(&a, &s) || !take_arrays(&s, &gradient)) continue;
                        for (i = 0; kind == RFM_NFA_ENTROPY && outputs(&a) > 1 && i < s.n * a.y.stride; i++)
                            if (i % a.y.stride < a.y.cols && a.y.at[i] < 0) a.y.at[i] = -a.y.at[i];
                        status = run_loss(&a, kind, &loss, &gradient);
                        if (status == TEST_SKIP) continue;
                        test_note("layers, rows, activation:", s.layers, s.n, (size_t)activation);
                        CHECK_INT(RFM_OK, status);
                        CHECK_BELOW(fabs((double)loss - plain_loss(&a, kind, NULL)),
                                    40 * TEST_EPS * (1 + (double)loss));
                        check_slopes(&a, kind, 0);
                        if (biases) check_slopes(&a, kind, 1);
                        test_check_padding(a.x);
                        test_check_padding(a.y);
                        done++;
                    }
    CHECK(done > 0);
}

static void test_predict(void) {
    static const size_t rows[] = {1, 255, 256, 257};
    size_t r, i, j;
    for (r = 0; r < TEST_LENGTH(rows); r++) {
        const shape s = shape_of(rows[r], two_hidden, RFM_NFA_RELU, 1);
        double x[WIDEST], f[WIDEST];
        size_t bytes = 0, mark;
        test_reset();
        if (!make(&a, &s)) continue;
        mark = test_mark();
        CHECK_INT(RFM_OK, rfm_nfa_predict_need(&a.ctx, &a.f, s.n, &bytes));
        if (!arena_of(&a.ctx, bytes)) continue;
        CHECK_INT(RFM_OK, finish(rfm_nfa_predict(&a.ctx, &a.f, rfm_const(a.x), a.y), bytes, mark));
        test_check_padding(a.y);
        for (i = 0; i < s.n; i++) {
            for (j = 0; j < 3; j++) x[j] = (double)a.x.at[i * a.x.stride + j];
            plain_f(&a.f, x, NULL, f);
            for (j = 0; j < 2; j++) CHECK_BELOW(fabs(f[j] - (double)a.y.at[i * a.y.stride + j]), 20 * TEST_EPS);
        }
    }
}

/* G of the first layer is the mean outer product of differences of f; K, F and Q agree with it. */
static void test_layer_agop(void) {
    const shape s = shape_of(9, two_hidden, RFM_NFA_SQUARE, 1);
    double expect[3][3] = {{0}}, x[WIDEST], high[WIDEST], low[WIDEST];
    size_t i, j, k, out;
    rfm_mat g;
    if (!make(&a, &s)) TEST_IGNORE_MESSAGE("no room");
    g = test_mat(3, 3, 2, 0);
    memset(&layer, 0, sizeof layer);
    layer.g = g;
    if (g.at == NULL || run_measure(&a, NULL, 0) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
    test_check_padding(g);
    for (i = 0; i < s.n; i++)
        for (out = 0; out < 2; out++) {
            double slope[3];
            for (k = 0; k < 3; k++) {
                for (j = 0; j < 3; j++) x[j] = (double)a.x.at[i * a.x.stride + j] + (j == k ? 1e-6 : 0);
                plain_f(&a.f, x, NULL, high);
                x[k] -= 2e-6;
                plain_f(&a.f, x, NULL, low);
                slope[k] = (high[out] - low[out]) / 2e-6;
            }
            for (j = 0; j < 3; j++)
                for (k = 0; k < 3; k++) expect[j][k] += slope[j] * slope[k] / (double)s.n;
        }
    for (j = 0; j < 3; j++)
        for (k = 0; k < 3; k++)
            CHECK_BELOW(fabs((double)g.at[j * g.stride + k] - expect[j][k]),
                        (1e-7 + 50 * TEST_EPS) * expect[0][0] + 1e-7);
    CHECK(layer.cosine[0] > 0 && layer.cosine[0] <= (rfm_real)1.0001 && layer.spread >= 0);
    CHECK(layer.cosine[1] == 0 && layer.cosine[2] == 0 && layer.cosine[3] == 0 && layer.ratio == 0);
}

/* At the start nothing has moved: the centred quantities are 0, not NaN. */
static void test_layer_at_start(void) {
    const shape s = shape_of(6, two_hidden, RFM_NFA_RELU, 0);
    size_t l;
    if (!make(&a, &s) || !make(&b, &s)) TEST_IGNORE_MESSAGE("no room");
    for (l = 0; l < 2; l++) {
        memset(&layer, 0, sizeof layer);
        if (run_measure(&a, &b.f, l) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
        CHECK(layer.cosine[0] > 0);
        CHECK(layer.cosine[1] == 0 && layer.cosine[2] == 0 && layer.cosine[3] == 0 && layer.ratio == 0);
        CHECK(layer.pearson[1] == 0 && layer.pearson[2] == 0 && layer.pearson[3] == 0);
    }
}

/* One linear hidden layer and one output: with u = W_1', v = u less the start's and V what W_0 has moved, the tangents
 * are u, K = u u', Kbar = v v', and the ratio is |V V'v|^2 / |V V'u|^2. Neither it nor the cosines depend on sizes. */
static void test_small_layers(void) {
    static const size_t widths[] = {3, 4, 1, 0};
    const shape s = shape_of(5, widths, RFM_NFA_LINEAR, 0);
    const int small = RFM_REAL_BYTES == 8 ? -300 : -35;
    rfm_nfa_layer first;
    size_t turn, i, j;
    memset(&first, 0, sizeof first);
    for (turn = 0; turn < 4; turn++) {
        double vv[4][4] = {{0}}, of_u[4] = {0}, of_v[4] = {0}, above = 0, below = 0;
        const double move = ldexp(1, turn % 2 ? small : 0), size = ldexp(1, turn / 2 ? small : 0);
        test_reset();
        test_note("small move, small tangents:", turn % 2, turn / 2, 0);
        if (!make(&a, &s) || !make(&b, &s)) TEST_IGNORE_MESSAGE("no room");
        fill(rfm_view(b.f.w[0], 4, 3), 30, 0);
        fill(rfm_view(b.f.w[1], 1, 4), 31, size);
        fill(rfm_view(a.f.w[0], 4, 3), 32, move);
        fill(rfm_view(a.f.w[1], 1, 4), 33, size);
        for (i = 0; i < 12; i++)
            for (j = 0; j < 4; j++) vv[i / 3][j] += (double)a.f.w[0][i] / move * (double)a.f.w[0][3 * j + i % 3] / move;
        for (i = 0; i < 4; i++) {
            for (j = 0; j < 4; j++) {
                of_u[i] += vv[i][j] * (double)a.f.w[1][j] / size;
                of_v[i] += vv[i][j] * (double)(a.f.w[1][j] - b.f.w[1][j]) / size;
            }
            above += of_v[i] * of_v[i], below += of_u[i] * of_u[i];
        }
        memset(&layer, 0, sizeof layer);
        if (run_measure(&a, &b.f, 0) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
        CHECK_BELOW(fabs((double)layer.ratio - above / below), 50 * TEST_EPS * above / below);
        if (turn == 0) first = layer;
        for (i = RFM_NFA_CENTRED; i <= RFM_NFA_DOUBLE; i++) {
            CHECK(layer.cosine[i] > (rfm_real)0.1);
            CHECK_BELOW(fabs((double)(layer.cosine[i] - first.cosine[i])), 10 * TEST_EPS);
            CHECK_BELOW(fabs((double)(layer.pearson[i] - first.pearson[i])), 20 * TEST_EPS);
        }
    }
}

/* 004, Proposition 4: after one small step the centred correlation is the cosine of X'LQLX and X'LQ^2LX, L = f - y. */
static void test_first_step(void) {
    static const size_t widths[] = {3, 6, 5, 1, 0};
    const shape s = shape_of(12, widths, RFM_NFA_RELU, 0);
    rfm_mat q, f;
    rfm_real early = 0, small = 0;
    size_t bytes = 0, mark, i;
    if (!make(&a, &s) || !make(&b, &s)) TEST_IGNORE_MESSAGE("no room");
    q = test_mat(s.n, s.n, 0, 0);
    f = test_mat(s.n, 1, 0, 0);
    if (q.at == NULL || f.at == NULL) TEST_IGNORE_MESSAGE("no room");
    memset(&layer, 0, sizeof layer);
    layer.q = q;
    if (run_measure(&a, NULL, 0) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
    mark = test_mark();
    CHECK_INT(RFM_OK, rfm_nfa_predict_need(&a.ctx, &a.f, s.n, &bytes));
    if (!arena_of(&a.ctx, bytes)) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, finish(rfm_nfa_predict(&a.ctx, &a.f, rfm_const(a.x), f), bytes, mark));
    for (i = 0; i < s.n; i++) f.at[i] -= a.y.at[i * a.y.stride];
    CHECK_INT(RFM_OK, rfm_nfa_early_need(&a.ctx, s.n, 3, &bytes));
    if (!arena_of(&a.ctx, bytes)) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, finish(rfm_nfa_early(&a.ctx, rfm_const(a.x), rfm_const(f), rfm_const(q), &early), bytes, mark));
    rfm_nfa_options_init(&o);
    o.steps = 1, o.rate = (rfm_real)(RFM_REAL_BYTES == 8 ? 1e-6 : 1e-3);
    if (run_descend(&a) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
    memset(&layer, 0, sizeof layer);
    if (run_measure(&a, &b.f, 0) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
    CHECK_BELOW(fabs((double)layer.cosine[RFM_NFA_CENTRED] - (double)early), RFM_REAL_BYTES == 8 ? 1e-5 : 1e-2);
    CHECK(early < (rfm_real)0.99);
    for (i = 0; i < s.n; i++) f.at[i] *= (rfm_real)ldexp(1, RFM_REAL_BYTES == 8 ? -540 : -70); /* sizes do not matter */
    CHECK_INT(RFM_OK, rfm_nfa_early_need(&b.ctx, s.n, 3, &bytes));
    if (!arena_of(&b.ctx, bytes)) return;
    CHECK_INT(RFM_OK, rfm_nfa_early(&b.ctx, rfm_const(b.x), rfm_const(f), rfm_const(q), &small));
    CHECK_BELOW(fabs((double)small - (double)early), 10 * TEST_EPS);
}

/* Four steps in double, by the formulas. */
static void check_steps(int method) {
    static const size_t widths[] = {2, 3, 1, 0};
    const shape s = shape_of(5, widths, RFM_NFA_SQUARE, 0);
    double x[9], first[9] = {0}, second[9] = {0}, rate = 0.02;
    size_t step, i;
    if (!make(&a, &s) || !make(&b, &s)) TEST_IGNORE_MESSAGE("no room");
    rfm_nfa_options_init(&o);
    o.method = method, o.steps = 4, o.look = 4, o.rate = (rfm_real)rate, o.part[1] = (rfm_real)0.5;
    if (run_descend(&a) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
    CHECK_SIZE(4, report.steps);
    for (i = 0; i < 9; i++) x[i] = (double)(i < 6 ? b.f.w[0][i] : b.f.w[1][i - 6]);
    for (step = 1; step <= 4; step++) {
        double slope[9];
        for (i = 0; i < 9; i++) {
            nudge by;
            by.l = i < 6 ? 0 : 1, by.at = i < 6 ? i : i - 6, by.bias = 0, by.change = 1e-5;
            slope[i] = plain_loss(&b, RFM_NFA_SQUARED, &by);
            by.change = -1e-5;
            slope[i] = (slope[i] - plain_loss(&b, RFM_NFA_SQUARED, &by)) / 2e-5;
        }
        for (i = 0; i < 9; i++) {
            const double part = i < 6 ? 1 : 0.5;
            first[i] = method == RFM_NFA_ADAM ? 0.9 * first[i] + 0.1 * slope[i] : 0.9 * first[i] + slope[i];
            second[i] = 0.999 * second[i] + 0.001 * slope[i] * slope[i];
            if (method == RFM_NFA_PLAIN) x[i] -= part * rate * slope[i];
            if (method == RFM_NFA_MOMENTUM) x[i] -= part * rate * first[i];
            if (method == RFM_NFA_ADAM)
                x[i] -= part * rate * first[i] / (1 - pow(0.9, (double)step)) /
                        (sqrt(second[i] / (1 - pow(0.999, (double)step))) + 1e-8);
            if (i < 6)
                b.f.w[0][i] = (rfm_real)x[i];
            else
                b.f.w[1][i - 6] = (rfm_real)x[i];
        }
    }
    test_note("method:", (size_t)method, 0, 0);
    for (i = 0; i < 9; i++)
        CHECK_BELOW(fabs(x[i] - (double)(i < 6 ? a.f.w[0][i] : a.f.w[1][i - 6])), 1e-8 + 100 * TEST_EPS);
}

static void test_steps(void) {
    check_steps(RFM_NFA_PLAIN);
    test_reset();
    check_steps(RFM_NFA_MOMENTUM);
    test_reset();
    check_steps(RFM_NFA_ADAM);
}

/* An epoch takes every row once: its small steps add up to the step of all rows. */
static void test_epoch(void) {
    const shape s = shape_of(8, one_hidden, RFM_NFA_RELU, 1);
    rfm_real loss;
    size_t i;
    if (!make(&a, &s) || !make(&b, &s) || !take_arrays(&s, &gradient)) TEST_IGNORE_MESSAGE("no room");
    if (run_loss(&b, RFM_NFA_SQUARED, &loss, &gradient) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
    rfm_nfa_options_init(&o);
    o.batch = 2, o.steps = 4, o.rate = (rfm_real)1e-3, o.seed = 5;
    if (run_descend(&a) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < 12; i++)
        CHECK_BELOW(fabs((double)(b.f.w[0][i] - a.f.w[0][i]) - 4e-3 * (double)gradient.w[0][i]), 4e-5);
    /* A batch that is longer than the rows is all of them. */
    set_weights(&a, 20);
    set_weights(&b, 20);
    o.batch = 100, o.steps = 1, o.rate = (rfm_real)0.1;
    if (run_descend(&a) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < 12; i++)
        CHECK_BELOW(fabs((double)(b.f.w[0][i] - a.f.w[0][i]) - 0.1 * (double)gradient.w[0][i]), 50 * TEST_EPS);
}

/* Alone and with workers, on every port: the same bits. */
static void test_same_bits(void) {
    static const size_t wide[] = {40, 130, 90, 3, 0};
    const shape big = shape_of(300, wide, RFM_NFA_RELU, 1), small = shape_of(6, two_hidden, RFM_NFA_RELU, 1);
    const shape s = TEST_FEW ? small : big;
    static const size_t workers[] = {1, 2, 7};
    size_t port, w;
    for (port = 0; test_port(port) != NULL; port++) {
        rfm_nfa_layer kept;
        uint64_t bits = 0;
        memset(&kept, 0, sizeof kept);
        for (w = 0; w < TEST_LENGTH(workers); w++) {
            test_pool pool;
            uint64_t now;
            size_t end;
            test_reset();
            if (!make(&a, &s) || !make(&b, &s)) TEST_IGNORE_MESSAGE("no room");
            end = test_mark();
            pool.workers = workers[w], pool.reverse = w == 1;
            a.ctx.port = test_port(port), a.ctx.workers = workers[w], a.ctx.run = test_pool_run, a.ctx.pool = &pool;
            rfm_nfa_options_init(&o);
            o.method = RFM_NFA_ADAM, o.steps = 3, o.look = 1, o.batch = s.n / 2;
            o.rate = (rfm_real)1e-3;
            if (run_descend(&a) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
            now = test_hash(end);
            memset(&layer, 0, sizeof layer);
            if (run_measure(&a, &b.f, 1) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
            test_note("port, workers:", port, workers[w], 0);
            if (w == 0) bits = now, kept = layer;
            CHECK(now == bits && memcmp(&kept, &layer, sizeof kept) == 0);
        }
    }
}

static void test_start(void) {
    static const size_t widths[] = {TEST_FEW ? 16 : 400, TEST_FEW ? 16 : 300, 2, 0};
    rfm_arena store;
    rfm_nfa f, again;
    size_t bytes = 0, i, count;
    double sum = 0, square = 0, most = 0;
    void *memory, *more;
    rfm_nfa_start_init(&so);
    so.layers = 1, so.biases = 1, so.seed = 3;
    memcpy(so.width, widths, 3 * sizeof *widths);
    so.scale[0] = (rfm_real)0.25;
    count = so.width[0] * so.width[1];
    CHECK_INT(RFM_OK, rfm_nfa_start_need(&so, &bytes));
    memory = test_take(bytes), more = test_take(bytes);
    if (memory == NULL || more == NULL) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, rfm_arena_init(&store, memory, bytes));
    CHECK_INT(RFM_OK, rfm_nfa_start(&so, &store, &f));
    CHECK_SIZE(bytes, store.used);
    for (i = 0; i < count; i++) sum += (double)f.w[0][i], square += (double)f.w[0][i] * (double)f.w[0][i];
    CHECK_BELOW(fabs(sum), 4 * sqrt(0.25 / (double)so.width[0] * (double)count));
    CHECK_BELOW(fabs(square / (double)count * (double)so.width[0] / 0.25 - 1), 6 / sqrt((double)count));
    for (i = 0; i < so.width[1]; i++) CHECK(f.b[0][i] == 0);
    CHECK_INT(RFM_OK, rfm_arena_init(&store, more, bytes));
    CHECK_INT(RFM_OK, rfm_nfa_start(&so, &store, &again));
    CHECK(memcmp(f.w[0], again.w[0], count * sizeof *f.w[0]) == 0);
    so.seed = 4, so.kind = RFM_NFA_UNIFORM, so.scale[0] = 1;
    rfm_arena_release(&store, 0);
    CHECK_INT(RFM_OK, rfm_nfa_start(&so, &store, &again));
    CHECK(memcmp(f.w[0], again.w[0], count * sizeof *f.w[0]) != 0);
    for (i = 0, square = 0; i < count; i++) {
        most = fmax(most, fabs((double)again.w[0][i]));
        square += (double)again.w[0][i] * (double)again.w[0][i];
    }
    CHECK(most * sqrt((double)so.width[0]) <= 1 && most * sqrt((double)so.width[0]) > 0.95);
    CHECK_BELOW(fabs(square / (double)count * (double)so.width[0] * 3 - 1), 6 / sqrt((double)count));
    CHECK(again.b[0][0] != 0);
    /* one byte less, and what is not a network */
    CHECK_INT(RFM_OK, rfm_arena_init(&store, more, bytes - RFM_ALIGN));
    CHECK_INT(RFM_EARENA, rfm_nfa_start(&so, &store, &again));
    CHECK_SIZE(0, store.used);
    CHECK_INT(RFM_OK, store.status);
    CHECK_INT(RFM_ENULL, rfm_nfa_start(NULL, &store, &again));
    CHECK_INT(RFM_ENULL, rfm_nfa_start(&so, NULL, &again));
    CHECK_INT(RFM_ENULL, rfm_nfa_start(&so, &store, NULL));
    CHECK_INT(RFM_ENULL, rfm_nfa_start_need(&so, NULL));
    so.width[1] = 0;
    CHECK_INT(RFM_EZERO, rfm_nfa_start(&so, &store, &again));
    CHECK_INT(RFM_EZERO, rfm_nfa_start_need(&so, &bytes));
    so.width[1] = SIZE_MAX / 8;
    CHECK_INT(RFM_EOVERFLOW, rfm_nfa_start_need(&so, &bytes));
    so.width[1] = 3, so.layers = 0;
    CHECK_INT(RFM_EVALUE, rfm_nfa_start_need(&so, &bytes));
    so.layers = RFM_NFA_HIDDEN + 1;
    CHECK_INT(RFM_EVALUE, rfm_nfa_start_need(&so, &bytes));
    so.layers = 1, so.kind = 2;
    CHECK_INT(RFM_EVALUE, rfm_nfa_start_need(&so, &bytes));
    so.kind = 0, so.activation = 3;
    CHECK_INT(RFM_EVALUE, rfm_nfa_start_need(&so, &bytes));
    so.activation = 0, so.scale[1] = -1;
    CHECK_INT(RFM_EVALUE, rfm_nfa_start_need(&so, &bytes));
}

/* A rate that is too large: found, reported, and the best state kept. */
static void test_divergence(void) {
    const shape s = shape_of(8, two_hidden, RFM_NFA_SQUARE, 0);
    static const double rates[] = {3, 1e10, 1e30};
    rfm_real loss = 0;
    size_t i;
    for (i = 0; i < TEST_LENGTH(rates); i++) {
        int method;
        for (method = RFM_NFA_PLAIN; method <= RFM_NFA_MOMENTUM; method++) {
            test_reset();
            if (!make(&a, &s)) TEST_IGNORE_MESSAGE("no room");
            rfm_nfa_options_init(&o);
            o.steps = 50, o.look = 1, o.rate = (rfm_real)rates[i], o.method = method;
            test_note("rate, method:", i, (size_t)method, 0);
            if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
            set_weights(&a, 20);
            CHECK_INT(RFM_ECONVERGE, run_descend(&a));
            CHECK(rfm_finite(15, a.f.w[0]) && rfm_finite(20, a.f.w[1]) && rfm_finite(8, a.f.w[2]));
            CHECK(report.steps < 50 && report.best <= report.start);
            CHECK_INT(RFM_OK, run_loss(&a, RFM_NFA_SQUARED, &loss, NULL));
            CHECK(loss == report.best);
        }
    }
    /* A loss that grows, and is finite all the time: only the last layer of a linear network moves. */
    for (i = 0; i < 2; i++) {
        const shape line = shape_of(8, one_hidden, RFM_NFA_LINEAR, 0);
        test_reset();
        if (!make(&a, &line)) TEST_IGNORE_MESSAGE("no room");
        rfm_nfa_options_init(&o);
        o.steps = 6, o.look = 2, o.rate = 4, o.part[0] = 0, o.most = (rfm_real)(i == 0 ? 2 : 1e20);
        test_note("limit:", i, 0, 0);
        CHECK_INT(i == 0 ? RFM_ECONVERGE : RFM_OK, run_descend(&a));
        CHECK_SIZE(0, report.kept);
        CHECK(i == 0 ? report.steps < 6 : report.steps == 6);
    }
    /* not even the start has a loss */
    test_reset();
    if (!make(&a, &s)) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < 8; i++) a.y.at[i * a.y.stride] = RFM_LIMIT(MAX);
    CHECK_INT(RFM_ERANGE, run_descend(&a));
    CHECK_INT(RFM_ERANGE, run_loss(&a, RFM_NFA_SQUARED, &loss, NULL));
}

/* A descent gets better, keeps the best that it saw, and leaves alone what it shall hold. */
static void test_descent(void) {
    const shape s = shape_of(20, two_hidden, RFM_NFA_RELU, 1);
    rfm_real loss = 0, held[15];
    size_t i;
    if (!make(&a, &s)) TEST_IGNORE_MESSAGE("no room");
    rfm_nfa_options_init(&o);
    o.steps = 60, o.look = 20, o.part[0] = 0, o.warm = (rfm_real)0.1, o.floor = (rfm_real)0.1;
    memcpy(held, a.f.w[0], sizeof held);
    if (run_descend(&a) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
    CHECK(memcmp(held, a.f.w[0], sizeof held) == 0);
    CHECK(report.best < report.start * (rfm_real)0.9 && report.kept == 60 && report.batch >= report.best);
    CHECK_INT(RFM_OK, run_loss(&a, RFM_NFA_SQUARED, &loss, NULL));
    CHECK(loss == report.best);
    /* cross-entropy, one output of three classes each */
    for (i = 0; i < s.n; i++)
        a.y.at[i * a.y.stride] = (rfm_real)(i % 2), a.y.at[i * a.y.stride + 1] = (rfm_real)(1 - i % 2);
    o.loss = RFM_NFA_ENTROPY, o.method = RFM_NFA_ADAM, o.batch = 7, o.rate = (rfm_real)0.02;
    if (run_descend(&a) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
    CHECK(report.best < report.start);
}

/* One row is far off: that is no divergence, in whatever batch it is. */
static void test_far_row(void) {
    const shape s = shape_of(250, one_hidden, RFM_NFA_LINEAR, 0);
    size_t batch, i;
    for (batch = 1; batch <= 249; batch += 62) {
        test_reset();
        if (!make(&a, &s)) TEST_IGNORE_MESSAGE("no room");
        for (i = 0; i < s.n; i++) a.y.at[i * a.y.stride] = i == 3 ? 1 : 0;
        fill(rfm_view(a.f.w[1], 1, 4), 40, 0);
        rfm_nfa_options_init(&o);
        o.batch = batch, o.steps = 2 * ((250 + batch - 1) / batch), o.rate = (rfm_real)1e-4, o.look = 1000;
        test_note("batch:", batch, 0, 0);
        if (run_descend(&a) == TEST_SKIP) TEST_IGNORE_MESSAGE("no room");
        CHECK_SIZE(o.steps, report.steps);
        CHECK(report.best <= report.start);
    }
}

static int cancel_at;
static int count_tick(void *arg, rfm_real done) {
    int *count = (int *)arg;
    CHECK(done > 0 && done <= 1);
    return ++*count == cancel_at;
}

static void test_ticks(void) {
    const shape s = shape_of(6, one_hidden, RFM_NFA_RELU, 0);
    int count = 0;
    if (!make(&a, &s)) TEST_IGNORE_MESSAGE("no room");
    rfm_nfa_options_init(&o);
    o.steps = 10, o.look = 2;
    a.ctx.tick = count_tick, a.ctx.tick_arg = &count;
    cancel_at = 0;
    if (run_descend(&a) != RFM_OK) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(10, count);
    count = 0, cancel_at = 5;
    CHECK_INT(RFM_ECANCEL, run_descend(&a));
    CHECK_SIZE(5, report.steps);
    CHECK_SIZE(4, report.kept);
}

static void test_steps_by_hand(void) {
    const shape s = shape_of(6, one_hidden, RFM_NFA_RELU, 0);
    rfm_nfa_descent *d;
    size_t bytes = 0;
    if (!make(&a, &s)) TEST_IGNORE_MESSAGE("no room");
    rfm_nfa_options_init(&o);
    o.steps = 2;
    CHECK_INT(RFM_OK, rfm_nfa_descend_need(&a.ctx, &o, &a.f, s.n, &bytes));
    if (!arena_of(&a.ctx, bytes)) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, rfm_nfa_begin(&a.ctx, &o, rfm_const(a.x), rfm_const(a.y), &a.f, &d));
    CHECK_INT(RFM_OK, rfm_nfa_step(d));
    CHECK_INT(RFM_OK, rfm_nfa_step(d));
    CHECK_INT(RFM_EVALUE, rfm_nfa_step(d));
    CHECK_INT(RFM_OK, rfm_nfa_end(d, &report));
    CHECK_SIZE(2, report.steps);
    CHECK_SIZE(0, arena.used);
    CHECK_INT(RFM_ENULL, rfm_nfa_step(NULL));
    CHECK_INT(RFM_ENULL, rfm_nfa_end(NULL, NULL));
}

/* The spectrum stays: trace, trace of the square and of the cube. */
static void test_control(void) {
    const size_t n = TEST_FEW ? 5 : 33;
    rfm_mat k = test_mat(n, n, 1, 0), out = test_mat(n, n, 2, 0);
    double of_k[3] = {0}, of_out[3] = {0}, apart = 0;
    rfm_ctx ctx;
    size_t bytes = 0, i, j, p, mark = test_mark();
    memset(&ctx, 0, sizeof ctx);
    CHECK_INT(RFM_OK, rfm_nfa_control_need(&ctx, n, &bytes));
    if (k.at == NULL || out.at == NULL || !arena_of(&ctx, bytes)) TEST_IGNORE_MESSAGE("no room");
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) k.at[i * k.stride + j] = (rfm_real)test_symmetric(TEST_RANDOM, n, i, j);
    CHECK_INT(RFM_OK, finish(rfm_nfa_control(&ctx, rfm_const(k), 1, out), bytes, mark));
    test_check_padding(out);
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            const double a1 = (double)k.at[i * k.stride + j], b1 = (double)out.at[i * out.stride + j];
            if (i == j) of_k[0] += a1, of_out[0] += b1;
            of_k[1] += a1 * a1, of_out[1] += b1 * b1;
            apart += (a1 - b1) * (a1 - b1);
            for (p = 0; p < n; p++) {
                of_k[2] += a1 * (double)k.at[j * k.stride + p] * (double)k.at[p * k.stride + i];
                of_out[2] += b1 * (double)out.at[j * out.stride + p] * (double)out.at[p * out.stride + i];
            }
            CHECK_BELOW(fabs(b1 - (double)out.at[j * out.stride + i]), 50 * TEST_EPS);
        }
    for (p = 0; p < 3; p++) CHECK_BELOW(fabs(of_k[p] - of_out[p]), 200 * TEST_EPS * of_k[p]);
    CHECK(apart > 0.01 * of_k[1]);
    CHECK_INT(RFM_EZERO, rfm_nfa_control_need(&ctx, 0, &bytes));
    CHECK_INT(RFM_ENULL, rfm_nfa_control_need(NULL, n, &bytes));
    if (!arena_of(&ctx, bytes)) return;
    CHECK_INT(RFM_ESHAPE, rfm_nfa_control(&ctx, rfm_cview(k.at, n, n - 1), 1, out));
    CHECK_INT(RFM_EALIAS, rfm_nfa_control(&ctx, rfm_const(k), 1, k));
    k.at[1] = (rfm_real)NAN;
    CHECK_INT(RFM_EFINITE, rfm_nfa_control(&ctx, rfm_const(k), 1, out));
}

/* Rows of one direction, opposite, orthogonal and zero. */
static void test_mean_ptk(void) {
    static const rfm_real rows[] = {1, 0, 3, 0, -2, 0, 0, 2, 0, 0};
    const double pi = 3.14159265358979323846, right = 0.5 * (pi - acos(1 / pi)) / pi;
    const double relu[5][5] = {
        {1, 1, 0, right, 0}, {1, 1, 0, right, 0}, {0, 0, 1, right, 0}, {right, right, right, 1, 0}, {0}};
    rfm_mat q = test_mat(5, 5, 1, 0);
    rfm_ctx ctx;
    size_t bytes = 0, i, j, mark = test_mark();
    memset(&ctx, 0, sizeof ctx);
    CHECK_INT(RFM_OK, rfm_nfa_mean_ptk_need(&ctx, 5, 2, &bytes));
    if (q.at == NULL || !arena_of(&ctx, bytes)) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, finish(rfm_nfa_mean_ptk(&ctx, RFM_NFA_RELU, rfm_cview(rows, 5, 2), q), bytes, mark));
    for (i = 0; i < 5; i++)
        for (j = 0; j < 5; j++) CHECK_BELOW(fabs((double)q.at[i * q.stride + j] - relu[i][j]), 10 * TEST_EPS);
    if (!arena_of(&ctx, bytes)) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, finish(rfm_nfa_mean_ptk(&ctx, RFM_NFA_SQUARE, rfm_cview(rows, 5, 2), q), bytes, mark));
    for (i = 0; i < 5; i++)
        for (j = 0; j < 5; j++) {
            const double xz = (double)(rows[2 * i] * rows[2 * j] + rows[2 * i + 1] * rows[2 * j + 1]);
            const double xx = (double)(rows[2 * i] * rows[2 * i] + rows[2 * i + 1] * rows[2 * i + 1]);
            const double zz = (double)(rows[2 * j] * rows[2 * j] + rows[2 * j + 1] * rows[2 * j + 1]);
            CHECK_BELOW(fabs((double)q.at[i * q.stride + j] - xz * (xx * zz + 2 * xz * xz)), 1e4 * TEST_EPS);
        }
    test_check_padding(q);
    if (!arena_of(&ctx, bytes)) return;
    CHECK_INT(RFM_EVALUE, rfm_nfa_mean_ptk(&ctx, RFM_NFA_LINEAR, rfm_cview(rows, 5, 2), q));
    CHECK_INT(RFM_ESHAPE, rfm_nfa_mean_ptk(&ctx, RFM_NFA_RELU, rfm_cview(rows, 4, 2), q));
    CHECK_INT(RFM_EZERO, rfm_nfa_mean_ptk_need(&ctx, 0, 2, &bytes));
}

/* Rows that are near in angle, and rows that are equal: as many digits as the angle has. */
static void test_mean_ptk_of_neighbours(void) {
    static const double angles[] = {0, 1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.0899, 0.2};
    const double pi = 3.14159265358979323846;
    rfm_real rows[4], products[4];
    rfm_ctx ctx;
    size_t bytes = 0, i, opposite;
    memset(&ctx, 0, sizeof ctx);
    CHECK_INT(RFM_OK, rfm_nfa_mean_ptk_need(&ctx, 2, 2, &bytes));
    for (opposite = 0; opposite < 2; opposite++)
        for (i = 0; i < TEST_LENGTH(angles); i++) {
            const rfm_mat q = rfm_view(products, 2, 2);
            const size_t mark = test_mark();
            double t, cosine, second;
            rows[0] = (rfm_real)0.7, rows[1] = (rfm_real)1.3;
            rows[2] = (rfm_real)(0.7 * cos(angles[i]) - 1.3 * sin(angles[i]));
            rows[3] = (rfm_real)(0.7 * sin(angles[i]) + 1.3 * cos(angles[i]));
            if (opposite) rows[2] = -rows[2], rows[3] = -rows[3];
            t = fabs(atan2((double)rows[0] * (double)rows[3] - (double)rows[1] * (double)rows[2],
                           (double)rows[0] * (double)rows[2] + (double)rows[1] * (double)rows[3]));
            cosine = cos(t);
            /* The second angle, whose cosine is k1(cos t) = 1 - (1 - cos t) + (sin t - t cos t) / pi */
            second = 2 * asin(sqrt(0.5 * (2 * sin(t / 2) * sin(t / 2) - (sin(t) - t * cosine) / pi)));
            if (!arena_of(&ctx, bytes)) TEST_IGNORE_MESSAGE("no room");
            test_note("opposite, angle:", opposite, i, 0);
            CHECK_INT(RFM_OK, finish(rfm_nfa_mean_ptk(&ctx, RFM_NFA_RELU, rfm_cview(rows, 2, 2), q), bytes, mark));
            CHECK_BELOW(fabs((double)products[1] - (pi - t) / pi * (pi - second) / pi), 20 * TEST_EPS);
            CHECK(products[1] == products[2]);
        }
}

/* With X'X = I and y = 1 the prediction from this network's moments is what is observed: cos(R, R^2). */
static void test_alignment(void) {
    static const rfm_real unit[] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, ones[] = {1, 1, 1};
    rfm_mat w = test_mat(4, 3, 1, 0), weights = test_mat(1, 4, 0, 0), r = test_mat(3, 3, 1, 0);
    rfm_nfa_alignment out;
    rfm_real m[4] = {0};
    rfm_ctx ctx;
    size_t bytes = 0, mark = test_mark();
    memset(&ctx, 0, sizeof ctx);
    memset(&out, 0, sizeof out);
    CHECK_INT(RFM_OK, rfm_nfa_moments_need(&ctx, 4, 3, &bytes));
    if (r.at == NULL || !arena_of(&ctx, bytes)) TEST_IGNORE_MESSAGE("no room");
    fill(w, 1, 1);
    fill(weights, 2, 1);
    CHECK_INT(RFM_OK, finish(rfm_nfa_moments(&ctx, rfm_const(w), rfm_const(weights), m, r), bytes, mark));
    test_check_padding(r);
    CHECK_INT(RFM_OK, rfm_nfa_align_need(&ctx, 3, 3, &bytes));
    if (!arena_of(&ctx, bytes)) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, finish(rfm_nfa_align(&ctx, rfm_cview(unit, 3, 3), rfm_cview(ones, 3, 1), m, rfm_const(r), &out),
                             bytes, mark));
    CHECK_BELOW(fabs((double)out.predicted - (double)out.observed), 20 * TEST_EPS);
    CHECK(out.predicted > (rfm_real)0.3 && out.predicted < (rfm_real)0.9999);
    if (!arena_of(&ctx, bytes)) return;
    { /* the size of R does not matter; a fourth moment without digits is refused */
        const rfm_nfa_alignment before = out;
        const rfm_real size = (rfm_real)ldexp(1, RFM_REAL_BYTES == 8 ? -600 : -80);
        size_t i, j;
        for (i = 0; i < 3; i++)
            for (j = 0; j < 3; j++) r.at[i * r.stride + j] *= size;
        CHECK_INT(RFM_OK, rfm_nfa_align(&ctx, rfm_cview(unit, 3, 3), rfm_cview(ones, 3, 1), m, rfm_const(r), &out));
        CHECK(out.observed == before.observed && out.predicted == before.predicted);
        m[0] *= size, m[1] *= size * size, m[2] = 0, m[3] = 0;
        CHECK_INT(RFM_ERANGE, rfm_nfa_align(&ctx, rfm_cview(unit, 3, 3), rfm_cview(ones, 3, 1), m, rfm_const(r), &out));
        CHECK(out.observed == before.observed);
    }
    CHECK_INT(RFM_ESHAPE, rfm_nfa_align(&ctx, rfm_cview(unit, 3, 3), rfm_cview(ones, 1, 3), m, rfm_const(r), &out));
    CHECK_INT(RFM_ESHAPE, rfm_nfa_align(&ctx, rfm_cview(unit, 4, 2), rfm_cview(unit, 4, 1), m, rfm_const(r), &out));
    CHECK_INT(RFM_ENULL, rfm_nfa_align(&ctx, rfm_cview(unit, 3, 3), rfm_cview(ones, 3, 1), NULL, rfm_const(r), &out));
    CHECK_INT(RFM_ENULL, rfm_nfa_align(&ctx, rfm_cview(unit, 3, 3), rfm_cview(ones, 3, 1), m, rfm_const(r), NULL));
    out.s = r;
    CHECK_INT(RFM_EALIAS, rfm_nfa_align(&ctx, rfm_cview(unit, 3, 3), rfm_cview(ones, 3, 1), m, rfm_const(r), &out));
    CHECK_INT(RFM_ESHAPE, rfm_nfa_moments(&ctx, rfm_const(w), rfm_cview(ones, 1, 3), m, r));
    CHECK_INT(RFM_EALIAS, rfm_nfa_moments(&ctx, rfm_cview(r.at, 3, 3), rfm_cview(ones, 1, 3), m, r));
    CHECK_INT(RFM_EZERO, rfm_nfa_moments_need(&ctx, 0, 3, &bytes));
    CHECK_INT(RFM_EZERO, rfm_nfa_align_need(&ctx, 3, 0, &bytes));
    CHECK_INT(RFM_EZERO, rfm_nfa_early_need(&ctx, 3, 0, &bytes));
}

/* Without noise X_2'X_2 is the inverse square of X_1'X_1. */
static void test_reversing(void) {
    const size_t half = 20, d = 3;
    rfm_mat x = test_mat(2 * half, d, 1, 0), y = test_mat(2 * half, 1, 0, 0);
    rfm_nfa_reversing_options r;
    double g1[3][3] = {{0}}, g2[3][3] = {{0}};
    rfm_ctx ctx;
    size_t bytes = 0, i, j, k, p, mark = test_mark();
    memset(&ctx, 0, sizeof ctx);
    rfm_nfa_reversing_init(&r);
    r.noise = 0, r.seed = 7, r.unit = 4;
    CHECK_INT(RFM_OK, rfm_nfa_reversing_need(&ctx, &r, 2 * half, d, &bytes));
    if (x.at == NULL || y.at == NULL || !arena_of(&ctx, bytes)) TEST_IGNORE_MESSAGE("no room");
    CHECK_INT(RFM_OK, finish(rfm_nfa_reversing(&ctx, &r, x, y), bytes, mark));
    test_check_padding(x);
    for (i = 0; i < 2 * half; i++) {
        CHECK(y.at[i] == (rfm_real)((i < half ? 1 : 0) + (rfm_real)1e-5));
        for (j = 0; j < d; j++)
            for (k = 0; k < d; k++) {
                const double product = (double)x.at[i * x.stride + j] * (double)x.at[i * x.stride + k];
                if (i < half)
                    g1[j][k] += product;
                else
                    g2[j][k] += product;
            }
    }
    for (i = 0; i < d; i++)
        for (j = 0; j < d; j++) {
            double sum = 0;
            for (k = 0; k < d; k++)
                for (p = 0; p < d; p++) sum += g1[i][k] * g2[k][p] * g1[p][j];
            CHECK_BELOW(fabs(sum - (i == j ? 1 : 0)), 2e4 * TEST_EPS);
        }
    /* all rows of one kind: nothing to reverse, no memory */
    r.balance = 1;
    CHECK_INT(RFM_OK, rfm_nfa_reversing_need(&ctx, &r, 4, d, &bytes));
    CHECK_SIZE(0, bytes);
    if (!arena_of(&ctx, 16)) return;
    x.rows = y.rows = 4;
    CHECK_INT(RFM_OK, rfm_nfa_reversing(&ctx, &r, x, y));
    CHECK(y.at[3] > 1);
    r.balance = (rfm_real)0.01;
    CHECK_INT(RFM_EVALUE, rfm_nfa_reversing(&ctx, &r, x, y));
    r.balance = 0;
    CHECK_INT(RFM_EVALUE, rfm_nfa_reversing_need(&ctx, &r, 4, d, &bytes));
    r.balance = 1, r.unit = 0;
    CHECK_INT(RFM_EVALUE, rfm_nfa_reversing_need(&ctx, &r, 4, d, &bytes));
    r.unit = 1, r.noise = -1;
    CHECK_INT(RFM_EVALUE, rfm_nfa_reversing_need(&ctx, &r, 4, d, &bytes));
    CHECK_INT(RFM_EZERO, rfm_nfa_reversing_need(&ctx, &r, 4, 0, &bytes));
    CHECK_INT(RFM_ENULL, rfm_nfa_reversing_need(&ctx, NULL, 4, d, &bytes));
}

/* One byte less than the need: refused, nothing written. */
static void test_memory(void) {
    const shape s = shape_of(6, two_hidden, RFM_NFA_RELU, 1);
    rfm_real loss = 0;
    uint64_t before;
    size_t bytes = 0, mark, what;
    if (!make(&a, &s) || !make(&b, &s) || !take_arrays(&s, &gradient)) TEST_IGNORE_MESSAGE("no room");
    rfm_nfa_options_init(&o);
    o.method = RFM_NFA_ADAM, o.batch = 3;
    memset(&layer, 0, sizeof layer);
    mark = test_mark();
    before = test_hash(mark);
    for (what = 0; what < 4; what++) {
        int status;
        test_note("call:", what, 0, 0);
        test_rewind(mark);
        status = what == 0   ? rfm_nfa_predict_need(&a.ctx, &a.f, s.n, &bytes)
                 : what == 1 ? rfm_nfa_loss_need(&a.ctx, &a.f, s.n, &bytes)
                 : what == 2 ? rfm_nfa_descend_need(&a.ctx, &o, &a.f, s.n, &bytes)
                             : rfm_nfa_measure_need(&a.ctx, &a.f, 1, s.n, 1, &bytes);
        CHECK_INT(RFM_OK, status);
        if (!arena_of(&a.ctx, bytes)) continue;
        arena.size = bytes - 1;
        status = what == 0   ? rfm_nfa_predict(&a.ctx, &a.f, rfm_const(a.x), a.y)
                 : what == 1 ? rfm_nfa_loss(&a.ctx, &a.f, rfm_const(a.x), rfm_const(a.y), 0, &loss, &gradient)
                 : what == 2 ? rfm_nfa_descend(&a.ctx, &o, rfm_const(a.x), rfm_const(a.y), &a.f, &report)
                             : rfm_nfa_measure(&a.ctx, &a.f, &b.f, rfm_const(a.x), 1, &layer);
        CHECK_INT(RFM_EARENA, status);
        CHECK_INT(RFM_OK, arena.status);
        CHECK_SIZE(0, arena.used);
        CHECK(test_hash(mark) == before);
    }
    a.ctx.arena = NULL;
    CHECK_INT(RFM_ENULL, rfm_nfa_predict(&a.ctx, &a.f, rfm_const(a.x), a.y));
    rfm_arena_measure(&arena);
    a.ctx.arena = &arena;
    CHECK_INT(RFM_EARENA, rfm_nfa_predict(&a.ctx, &a.f, rfm_const(a.x), a.y));
}

static int descend_status(void) { return rfm_nfa_descend(&a.ctx, &o, rfm_const(a.x), rfm_const(a.y), &a.f, NULL); }

static void test_refusals(void) {
    const shape s = shape_of(6, two_hidden, RFM_NFA_RELU, 1);
    const rfm_real kept_nan = (rfm_real)NAN;
    rfm_real loss = 0, old;
    rfm_cmat x, y;
    size_t bytes = 0, more = 0;
    uint64_t before;
    size_t mark;
    if (!make(&a, &s) || !make(&b, &s) || !take_arrays(&s, &gradient)) TEST_IGNORE_MESSAGE("no room");
    rfm_nfa_options_init(&o);
    CHECK_INT(RFM_OK, rfm_nfa_descend_need(&a.ctx, &o, &a.f, s.n, &bytes));
    CHECK_INT(RFM_OK, rfm_nfa_measure_need(&a.ctx, &a.f, 1, s.n, 0, &more));
    mark = test_mark();
    if (!arena_of(&a.ctx, bytes > more ? bytes : more)) TEST_IGNORE_MESSAGE("no room");
    x = rfm_const(a.x), y = rfm_const(a.y);
    before = test_hash(mark);
    memset(&layer, 0, sizeof layer);
    /* NULL */
    CHECK_INT(RFM_ENULL, rfm_nfa_predict(NULL, &a.f, x, a.y));
    CHECK_INT(RFM_ENULL, rfm_nfa_predict(&a.ctx, NULL, x, a.y));
    CHECK_INT(RFM_ENULL, rfm_nfa_loss(&a.ctx, &a.f, x, y, 0, NULL, NULL));
    CHECK_INT(RFM_ENULL, rfm_nfa_measure(&a.ctx, &a.f, NULL, x, 0, NULL));
    CHECK_INT(RFM_ENULL, rfm_nfa_predict_need(&a.ctx, &a.f, 1, NULL));
    CHECK_INT(RFM_ENULL, rfm_nfa_descend(&a.ctx, NULL, x, y, &a.f, NULL));
    layer.kbar = rfm_view(b.f.w[0], 5, 3);
    CHECK_INT(RFM_ENULL, rfm_nfa_measure(&a.ctx, &a.f, NULL, x, 0, &layer));
    CHECK_INT(RFM_ESHAPE, rfm_nfa_measure(&a.ctx, &a.f, &b.f, x, 0, &layer));
    layer.kbar.at = NULL;
    a.f.b[1] = NULL;
    CHECK_INT(RFM_ENULL, rfm_nfa_loss(&a.ctx, &a.f, x, y, 0, &loss, &gradient));
    a.f = b.f;
    a.f.w[1] = NULL;
    CHECK_INT(RFM_ENULL, rfm_nfa_predict(&a.ctx, &a.f, x, a.y));
    a.f = b.f;
    /* widths and layers */
    a.f.width[1] = 0;
    CHECK_INT(RFM_EZERO, rfm_nfa_predict(&a.ctx, &a.f, x, a.y));
    CHECK_INT(RFM_EZERO, rfm_nfa_descend_need(&a.ctx, &o, &a.f, 3, &bytes));
    a.f = b.f;
    a.f.layers = 5;
    CHECK_INT(RFM_EVALUE, rfm_nfa_predict(&a.ctx, &a.f, x, a.y));
    a.f = b.f;
    a.f.activation = 3;
    CHECK_INT(RFM_EVALUE, rfm_nfa_predict(&a.ctx, &a.f, x, a.y));
    a.f = b.f;
    CHECK_INT(RFM_EVALUE, rfm_nfa_measure(&a.ctx, &a.f, NULL, x, 2, &layer));
    CHECK_INT(RFM_EVALUE, rfm_nfa_measure_need(&a.ctx, &a.f, 0, 3, 2, &bytes));
    CHECK_INT(RFM_EZERO, rfm_nfa_predict_need(&a.ctx, &a.f, 0, &bytes));
    b.f.activation = RFM_NFA_SQUARE;
    CHECK_INT(RFM_ESHAPE, rfm_nfa_measure(&a.ctx, &a.f, &b.f, x, 0, &layer));
    b.f.activation = RFM_NFA_RELU;
    /* shapes, strides, overlaps */
    x.cols = 2;
    CHECK_INT(RFM_ESHAPE, rfm_nfa_predict(&a.ctx, &a.f, x, a.y));
    x = rfm_const(a.x), x.stride = 1;
    CHECK_INT(RFM_ESTRIDE, rfm_nfa_predict(&a.ctx, &a.f, x, a.y));
    x = rfm_const(a.x), x.rows = 0;
    CHECK_INT(RFM_EZERO, rfm_nfa_predict(&a.ctx, &a.f, x, a.y));
    x = rfm_const(a.x), y.rows = 5;
    CHECK_INT(RFM_ESHAPE, rfm_nfa_loss(&a.ctx, &a.f, x, y, 0, &loss, NULL));
    y = rfm_const(a.y);
    CHECK_INT(RFM_EALIAS, rfm_nfa_loss(&a.ctx, &a.f, x, y, 0, &loss, &a.f));
    CHECK_INT(RFM_EALIAS, rfm_nfa_descend(&a.ctx, &o, x, rfm_cview(a.f.w[0], 6, 2), &a.f, NULL));
    /* numbers */
    CHECK_INT(RFM_EVALUE, rfm_nfa_loss(&a.ctx, &a.f, x, y, 2, &loss, NULL));
    CHECK_INT(RFM_EVALUE, rfm_nfa_loss(&a.ctx, &a.f, x, y, RFM_NFA_ENTROPY, &loss, NULL)); /* negative targets */
    old = a.x.at[1], a.x.at[1] = kept_nan;
    CHECK_INT(RFM_EFINITE, rfm_nfa_predict(&a.ctx, &a.f, x, a.y));
    CHECK_INT(RFM_EFINITE, descend_status());
    CHECK_INT(RFM_EFINITE, rfm_nfa_measure(&a.ctx, &a.f, NULL, x, 0, &layer));
    a.x.at[1] = old;
    old = a.f.b[2][0], a.f.b[2][0] = kept_nan;
    CHECK_INT(RFM_EFINITE, rfm_nfa_predict(&a.ctx, &a.f, x, a.y));
    a.f.b[2][0] = old;
    /* options */
    o.steps = 0;
    CHECK_INT(RFM_EZERO, descend_status());
    o.steps = 1, o.rate = 0;
    CHECK_INT(RFM_EVALUE, descend_status());
    o.rate = kept_nan;
    CHECK_INT(RFM_EVALUE, descend_status());
    o.rate = 1, o.momentum = 1;
    CHECK_INT(RFM_EVALUE, descend_status());
    o.momentum = 0, o.part[2] = -1;
    CHECK_INT(RFM_EVALUE, descend_status());
    o.part[2] = 1, o.method = 3;
    CHECK_INT(RFM_EVALUE, descend_status());
    o.method = 0, o.look = 0;
    CHECK_INT(RFM_EVALUE, descend_status());
    o.look = 1, o.most = 1;
    CHECK_INT(RFM_EVALUE, descend_status());
    o.most = 2, o.floor = 2;
    CHECK_INT(RFM_EVALUE, descend_status());
    CHECK(test_hash(mark) == before);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_gradient);
    RUN_TEST(test_predict);
    RUN_TEST(test_layer_agop);
    RUN_TEST(test_layer_at_start);
    RUN_TEST(test_small_layers);
    RUN_TEST(test_first_step);
    RUN_TEST(test_steps);
    RUN_TEST(test_epoch);
    RUN_TEST(test_same_bits);
    RUN_TEST(test_start);
    RUN_TEST(test_divergence);
    RUN_TEST(test_descent);
    RUN_TEST(test_far_row);
    RUN_TEST(test_ticks);
    RUN_TEST(test_steps_by_hand);
    RUN_TEST(test_control);
    RUN_TEST(test_mean_ptk);
    RUN_TEST(test_mean_ptk_of_neighbours);
    RUN_TEST(test_alignment);
    RUN_TEST(test_reversing);
    RUN_TEST(test_memory);
    RUN_TEST(test_refusals);
    return UNITY_END();
}
