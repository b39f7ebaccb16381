/* The number range: every function on inputs scaled by powers of two over all that the number type holds, on features
 * of mixed scale, near-singular and singular data; ../sweep/run, ./soak.
 *
 * What must hold:
 *   - RFM_OK means finite, and right within the bound that stands at the comparison: that of rounding, and an absolute
 *     one beside it, because numbers below the normal range may count as 0.
 *   - Anything else is a status that the header names for finite input: refused() of ../sweep has them. Where every
 *     scale is gentle, the status is RFM_OK.
 *   - The same status and bits for 1, 2 and 7 workers, on exactly the memory that is needed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algebra.h"
#include "networks.h"
#include "banks.h"
#include "signals.h"
#include "trees.h"
#include "rfm_online.h"

#if RFM_REAL_BYTES == 4
#define LEAST      ((double)FLT_MIN)
#define MOST       ((double)FLT_MAX)
#define LOW        (-140)
#define HIGH       126
#define L_EXPONENT 38 /* a model's L is between the powers of two with this exponent */
#else
#define LEAST      DBL_MIN
#define MOST       DBL_MAX
#define LOW        (-1060)
#define HIGH       1022
#define L_EXPONENT 330
#endif
#define EXACT    100        /* exponents up to this do not overflow the reference, which is a double */
#define SMALLEST (LOW + 40) /* below this a number times a share of itself is below the normal range */
#define GENTLE   6          /* exponents up to this are ordinary numbers */

/* ---- drawing -------------------------------------------------------------------------------- */

static int draw_exponent(void) {
    switch (draw(6)) {
    case 0: return 0;
    case 1: return (int)draw(2 * GENTLE + 1) - GENTLE;
    case 2: return LOW + (int)draw(12);
    case 3: return HIGH - (int)draw(12);
    default: return LOW + (int)draw(HIGH - LOW + 1);
    }
}

static int within_range(int e) { return e < LOW ? LOW : e > HIGH ? HIGH : e; }

static rfm_real scaled(double x, int exponent) {
    const double y = ldexp(x, exponent);
    return (rfm_real)(y > MOST ? MOST : y < -MOST ? -MOST : y);
}

/* One exponent for all, or `count` of their own around it. */
typedef struct {
    int all, *each;
} scaling;

static scaling draw_scaling(const char *what, size_t count) {
    static const int spreads[] = {3, 12, 50, HIGH};
    scaling s = {0, NULL};
    size_t i;
    s.all = draw_exponent();
    note(" %s 2^%d", what, s.all);
    if (abs(s.all) > GENTLE) slack.statuses = 1;
    if (chance(2)) return s;
    {
        const int spread = spreads[draw(LENGTH(spreads))];
        s.each = take(count * sizeof *s.each);
        for (i = 0; i < count; i++) {
            s.each[i] = within_range(s.all + (int)draw((size_t)(2 * spread + 1)) - spread);
            if (abs(s.each[i]) > GENTLE) slack.statuses = 1;
        }
        note(" +-%d", spread);
    }
    return s;
}

static int exponent_of(const scaling *s, size_t i) { return s->each != NULL ? s->each[i] : s->all; }

/* Column j by exponent j, or row i by exponent i. */
static rfm_mat draw_matrix(size_t rows, size_t cols, const scaling *s, int by_row) {
    rfm_mat a = draw_view(rows, cols);
    size_t i, j;
    for (i = 0; i < rows; i++)
        for (j = 0; j < cols; j++)
            a.at[i * a.stride + j] = scaled(chance(20) ? 0 : uniform(-1, 1), exponent_of(s, by_row ? i : j));
    return a;
}

/* D B D, its upper triangle: B of `rank` random terms plus `shift` times the identity, D powers of two; the
 * exponents are those of A's diagonal. Sometimes all but one entry are scaled down together. */
static rfm_mat draw_graded(size_t n, size_t rank, double shift, const scaling *s) {
    rfm_mat a = draw_view(n, n);
    double *root = take((rank + 1) * n * sizeof *root);
    const int alone = chance(8);
    size_t i, j, q;
    for (i = 0; i < rank * n; i++) root[i] = uniform(-1, 1);
    for (i = 0; i < n; i++)
        for (j = i; j < n; j++) {
            double sum = i == j ? shift : 0;
            const int e = exponent_of(s, i) / 2 + exponent_of(s, j) / 2;
            for (q = 0; q < rank; q++) sum += root[q * n + i] * root[q * n + j];
            a.at[i * a.stride + j] =
                alone && i == 0 ? scaled(j == 0, s->all) : scaled(sum, within_range(alone ? s->all - 73 : e));
        }
    return a;
}

/* ---- linear algebra ------------------------------------------------------------------------- */

static void draw_algebra(algebra *t) {
    scaling a;
    size_t i;
    t->n = 1 + draw(40), t->m = t->what == SYRK ? t->n : 1 + draw(40),
    t->k = t->what == EIG ? 1 + draw(t->n) : 1 + draw(40);
    note(" n %lu m %lu k %lu", (unsigned long)t->n, (unsigned long)t->m, (unsigned long)t->k);
    if (t->what <= SYRK) {
        const size_t wide = t->m + t->n + t->k;
        scaling b, c;
        a = draw_scaling("A", wide), b = draw_scaling("B", wide), c = draw_scaling("C", wide);
        t->a0 = t->op == RFM_TN ? draw_matrix(t->k, t->m, &a, 0) : draw_matrix(t->m, t->k, &a, 1);
        if (t->what == GEMM) t->b = t->op == RFM_NT ? draw_matrix(t->n, t->k, &b, 1) : draw_matrix(t->k, t->n, &b, 0);
        t->c0 = draw_matrix(t->m, t->n, &c, 1);
        t->alpha = scaled(1.5, chance(2) ? 0 : draw_exponent()), t->beta = (rfm_real)(chance(2) ? 0 : 0.5);
        if (t->alpha > 100 || (double)t->alpha < 0.01) slack.statuses = 1;
    } else if (t->what == TRSM || t->what == SOLVE) {
        scaling b;
        a = draw_scaling("U", t->n), b = draw_scaling("B", t->n);
        t->b = draw_graded(t->n, 0, 1, &a), t->c0 = draw_matrix(t->n, t->k, &b, 1);
        for (i = 0; i < t->n; i++) { /* diagonal dominates its row */
            rfm_real *row = t->b.at + i * t->b.stride;
            size_t j;
            for (j = i + 1; j < t->n; j++) row[j] = scaled(uniform(-1, 1) / (double)t->n, exponent_of(&a, i));
            row[i] = scaled(chance(2) ? uniform(1, 2) : -uniform(1, 2), exponent_of(&a, i));
        }
    } else {
        const size_t rank = t->what == CHOL || chance(2) ? t->n : draw(t->n + 1);
        a = draw_scaling("A", t->n);
        t->a0 = draw_graded(t->n, rank, t->what == CHOL ? 1 : 0, &a);
        if (t->what == RANK && chance(3)) { /* any symmetric matrix at all */
            for (i = 0; i < t->n; i++) memset(t->a0.at + i * t->a0.stride, 0xff, i * sizeof *t->a0.at);
            for (i = 0; i < t->n * t->n; i++)
                if (i / t->n <= i % t->n)
                    t->a0.at[i / t->n * t->a0.stride + i % t->n] = scaled(uniform(-1, 1), draw_exponent());
            slack.statuses = 1, t->row = 1; /* no factor is expected */
        }
        if (t->what == EIG) t->c0 = draw_view(t->k, t->n);
    }
}

static int finite_rows(rfm_mat a, int upper, size_t rows) {
    size_t i;
    for (i = 0; i < rows; i++)
        if (!rfm_finite(a.cols - (upper ? i : 0), a.at + i * a.stride + (upper ? i : 0))) return 0;
    return 1;
}

static void range_algebra(size_t number) {
    algebra t;
    const rfm_port *port;
    int status, any;
    memset(&t, 0, sizeof t);
    t.what = (int)(number % ALGEBRA_FUNCTIONS), t.least = LEAST;
    t.op = t.what == GEMM ? (int)draw(3) : t.what == SYRK ? (int)(1 + draw(2)) : (int)draw(2);
    note(" %s op %d", algebra_names[t.what], t.op);
    draw_algebra(&t);
    any = t.what == RANK && t.row == 1;
    port = draw_port();
    status = algebra_exactly(&t, port);
    if (status != RFM_OK)
        refused(algebra_names[t.what], status);
    else if (t.c.at != NULL && t.what != SYRK && !finite_rows(t.c, 0, t.c.rows))
        fail("%s is not finite", algebra_names[t.what]);
    else if (t.what == EIG && !rfm_finite(t.k, t.w))
        fail("an eigenvalue is not finite");
    else if ((t.what == CHOL || t.what == RANK) && !finite_rows(t.a, 1, t.what == RANK ? t.rank : t.n))
        fail("the factor is not finite");
    else if (!any)
        algebra_check(&t);
}

/* ---- similarity, and models by hand --------------------------------------------------------- */

typedef long double wide;

/* tr((A - a)'(B - b)) / sqrt(...), and in *bound what rounding may do to it. */
static wide expected_similarity(rfm_mat a, rfm_mat b, int centred, wide *bound) {
    const wide count = (wide)(a.rows * a.cols);
    wide ab = 0, aa = 0, bb = 0, mean_a = 0, mean_b = 0, most_a = 0, most_b = 0;
    size_t i, j;
    for (i = 0; i < a.rows; i++)
        for (j = 0; j < a.cols; j++) {
            const wide x = (wide)a.at[i * a.stride + j], y = (wide)b.at[i * b.stride + j];
            if (centred) mean_a += x / count, mean_b += y / count;
            most_a = fmaxl(most_a, fabsl(x)), most_b = fmaxl(most_b, fabsl(y));
        }
    for (i = 0; i < a.rows; i++)
        for (j = 0; j < a.cols; j++) {
            const wide x = (wide)a.at[i * a.stride + j] - mean_a, y = (wide)b.at[i * b.stride + j] - mean_b;
            ab += x * y, aa += x * x, bb += y * y;
        }
    *bound = (count + 8) * (wide)EPSILON;
    if (!(aa > 0) || !(bb > 0)) return 0;
    if (centred) *bound *= 1 + sqrtl(count) * (most_a / sqrtl(aa) + most_b / sqrtl(bb));
    return ab / sqrtl(aa) / sqrtl(bb);
}

static void check_similarity(void) {
    const size_t rows = 1 + draw(12), cols = 1 + draw(12);
    const scaling a_scale = draw_scaling("A", cols), b_scale = draw_scaling("B", cols);
    rfm_mat a = draw_matrix(rows, cols, &a_scale, 0), b = chance(3) ? a : draw_matrix(rows, cols, &b_scale, 0);
    rfm_real value = 0;
    wide bound, expected;
    int centred, status;
    note(" cosine, pearson%s", a.at == b.at ? " of A and A" : "");
    for (centred = 0; centred < 2; centred++) {
        status = (centred ? rfm_pearson : rfm_cosine)(rfm_const(a), rfm_const(b), &value);
        expected = expected_similarity(a, b, centred, &bound);
        if (!centred && status != RFM_OK)
            fail("rfm_cosine: status %d", status); /* there always is one */
        else if (status != RFM_OK)
            refused("rfm_pearson", status);
        else if (!rfm_finite(1, &value))
            fail("it is not finite");
        else if (bound > (wide)0.1)
            not_compared("pearson");
        else if (!(fabsl((wide)value - expected) <= bound))
            fail("%s is %g, expected %Lg", centred ? "pearson" : "cosine", (double)value, expected);
    }
}

/* A model of random numbers; centres, shift and L of one scale, P and alpha of theirs. */
static void draw_model(rfm_model *m, int *matched) {
    const size_t n = 1 + draw(12), d = 1 + draw(8), r = chance(2) ? d : 1 + draw(d), c = 1 + draw(6);
    const scaling x = draw_scaling("x", d), alpha = draw_scaling("alpha", c);
    const int l_exponent = (int)draw(2 * L_EXPONENT - 1) - L_EXPONENT + 1,
              p_exponent = within_range(l_exponent - x.all);
    rfm_real *p = take_reals(r * d), *centers = take_reals(n * r), *shift = take_reals(d), *offset = take_reals(c),
             *a = take_reals(n * c);
    size_t i;
    memset(m, 0, sizeof *m);
    m->n = n, m->d = d, m->c = c, m->r = r;
    m->kernel = (int)draw(3), m->exponent = (rfm_real)(chance(3) ? uniform(0.01, 0.5) : uniform(0.5, 2));
    m->metric = r < d ? RFM_FULL : (int)draw(3);
    *matched = x.each == NULL && !chance(4); /* L fits the distances, so that phi is neither 0 nor 1 */
    m->bandwidth = scaled(uniform(1, 2), *matched ? l_exponent : draw_exponent());
    for (i = 0; i < d; i++) shift[i] = scaled(uniform(-1, 1), exponent_of(&x, i));
    for (i = 0; i < r * d; i++) p[i] = scaled(uniform(-1, 1), p_exponent);
    for (i = 0; i < n * r; i++)
        centers[i] = scaled(uniform(-1, 1), m->metric == RFM_IDENTITY ? exponent_of(&x, i % r) : l_exponent);
    for (i = 0; i < n * c; i++) a[i] = scaled(uniform(-1, 1), exponent_of(&alpha, i % c));
    for (i = 0; i < c; i++) offset[i] = scaled(uniform(-1, 1), exponent_of(&alpha, i));
    if (m->metric == RFM_IDENTITY) *matched = 0;
    m->shift = shift, m->p = m->metric == RFM_IDENTITY ? NULL : p, m->centers = centers, m->alpha = a,
    m->offset = chance(2) ? offset : NULL;
    if (abs(p_exponent) > GENTLE || abs(l_exponent) > GENTLE || !*matched) slack.statuses = 1;
    note(" kernel %d metric %d n %lu d %lu r %lu c %lu L %g P 2^%d", m->kernel, m->metric, (unsigned long)n,
         (unsigned long)d, (unsigned long)r, (unsigned long)c, (double)m->bandwidth, p_exponent);
}

/* rfm_predict, rfm_predict_one, rfm_gradients, rfm_alignment, rfm_metric; the first two against the formula, where L
 * fits. */
static void check_model_by_hand(void) {
    static unsigned char memory[1 << 20];
    rfm_model m;
    rfm_arena arena;
    rfm_ctx ctx;
    rfm_real scratch[32], novelty = 0, value = 0;
    rfm_mat z, y, one, g, metric;
    double expected[8], bound = 0;
    int matched, status;
    size_t i, k, rows = 1 + draw(6);
    draw_model(&m, &matched);
    z = draw_view(rows, m.d), y = draw_view(rows, m.c), one = draw_view(1, m.c), g = draw_view(rows, m.c * m.d),
    metric = draw_view(m.d, m.d);
    for (i = 0; i < rows * m.d; i++) z.at[i / m.d * z.stride + i % m.d] = m.shift[i % m.d] * (rfm_real)uniform(-1, 1);
    memset(&ctx, 0, sizeof ctx);
    ctx.arena = &arena, ctx.port = draw_port();
    if (rfm_arena_init(&arena, memory + (16 - (uintptr_t)memory % 16) % 16, sizeof memory - 16) != RFM_OK)
        fail("rfm_arena_init");
    status = rfm_predict(&ctx, &m, rfm_const(z), y);
    if (status != RFM_OK) refused("rfm_predict", status);
    for (i = 0; i < rows; i++) {
        const int alone = rfm_predict_one(&m, z.at + i * z.stride, one.at, scratch, NULL, &novelty);
        double row[8];
        if (alone != RFM_OK) refused("rfm_predict_one", alone);
        for (k = 0; k < m.d; k++) row[k] = (double)z.at[i * z.stride + k];
        ref_model(&m, row, expected);
        for (bound = 0, k = 0; k < m.n * m.c; k++) bound += fabs((double)m.alpha[k]);
        /* s / L is off by some eps; for q < 1 phi changes by the power q of that */
        bound *= matched ? pow(1e3 * (double)(m.d + 4) * EPSILON,
                               m.kernel == RFM_GENERAL && m.exponent < 1 ? (double)m.exponent : 1)
                         : -1;
        slack.least = LEAST * 100;
        if (bound > MOST || !(ref_largest(m.c, expected) <= MOST)) bound = -1;
        if (status == RFM_OK) compare("prediction", rfm_cview(y.at + i * y.stride, 1, m.c), expected, bound);
        if (alone == RFM_OK) compare("rfm_predict_one", rfm_cview(one.at, 1, m.c), expected, bound);
        if (alone == RFM_OK && !(novelty >= 0 && novelty <= 1)) fail("novelty %g", (double)novelty);
    }
    status = rfm_gradients(&ctx, &m, rfm_const(z), g);
    if (status != RFM_OK)
        refused("rfm_gradients", status);
    else if (!finite_rows(g, 0, rows))
        fail("a gradient is not finite");
    status = rfm_metric(&m, metric);
    if (status != RFM_OK)
        refused("rfm_metric", status);
    else if (!finite_rows(metric, 0, m.d))
        fail("M is not finite");
    fill(y, -1, 1);
    for (i = 0; i < rows * m.c; i++) y.at[i / m.c * y.stride + i % m.c] = scaled(uniform(-1, 1), draw_exponent());
    status = rfm_alignment(&ctx, &m, rfm_const(z), rfm_const(y), &value);
    if (status != RFM_OK) {
        slack.statuses = 1;
        refused("rfm_alignment", status);
    } else if (!(fabs((double)value) <= 1 + 100 * EPSILON))
        fail("alignment %g", (double)value);
}

static void range_insight(size_t number) {
    if (number % 2 == 0)
        check_similarity();
    else
        check_model_by_hand();
}

/* ---- fits ----------------------------------------------------------------------------------- */

/* What was drawn for ordinary numbers, scaled. */
static void scale_view(rfm_cmat a, const scaling *s, int exponent) {
    rfm_real *to = a.at == NULL ? NULL : (rfm_real *)(uintptr_t)a.at;
    size_t i, j;
    for (i = 0; to != NULL && i < a.rows; i++)
        for (j = 0; j < a.cols; j++)
            to[i * a.stride + j] = scaled((double)to[i * a.stride + j], s != NULL ? exponent_of(s, j) : exponent);
}

static int highest(const scaling *s, size_t count) {
    int most = s->all;
    size_t i;
    for (i = 0; s->each != NULL && i < count; i++) most = i == 0 || s->each[i] > most ? s->each[i] : most;
    return most;
}

/* X by features, Y, M to start from, weights; L goes with X, or not. */
static void scale_fitting(fitting *f) {
    const scaling x = draw_scaling("X", f->data.x.cols);
    const int y = draw_exponent(), start = chance(2) ? 0 : draw_exponent(),
              weights = chance(2) ? 0 : draw_exponent() / 2;
    int p, l = f->o.bandwidth_rule == RFM_BANDWIDTH_MEDIAN ? 0
               : chance(4)                                 ? draw_exponent()
               : f->o.unit_rows                            ? 0
                                                           : x.all;
    scale_view(f->data.x, &x, 0);
    scale_view(f->data.x_validation, &x, 0);
    scale_view(f->data.y, NULL, y);
    scale_view(f->data.y_validation, NULL, y);
    scale_view(f->data.start, NULL, start);
    if (f->data.weights != NULL) scale_view(rfm_cview(f->data.weights, f->data.x.rows, 1), NULL, weights);
    f->o.bandwidth = scaled((double)f->o.bandwidth, l);
    if (!(f->o.bandwidth > 0)) f->o.bandwidth = (rfm_real)LEAST;
    if (x.each != NULL || abs(y) > GENTLE || abs(start) > GENTLE || abs(weights) > GENTLE || abs(l) > GENTLE)
        slack.statuses = 1;
    slack.least = LEAST * 1e5;
    /* Every update of an M that is left as it comes multiplies P by what Y is, by small weights, and on the sphere by
     * the reciprocal of a row's length. What is below the range then is 0, and directions in M are anything. */
    p = (y < 0 ? y : 0) + (weights < 0 ? weights : 0);
    if (f->o.unit_rows || rfm_kernels[f->o.kernel].layers) p -= highest(&x, f->data.x.cols) + start / 2;
    p = start / 2 + (f->o.scale == RFM_SCALE_NONE && p < 0 ? (int)f->o.iterations * p : 0);
    slack.no_values = highest(&x, f->data.x.cols) + start / 2 < SMALLEST || y < SMALLEST || p < SMALLEST;
    /* alpha of a network kernel is what Y is beside the length of a row: below the normal range it has few digits, and
     * a prediction multiplies it by that length */
    if (rfm_kernels[f->o.kernel].layers && !f->o.unit_rows)
        slack.no_values |= y - highest(&x, f->data.x.cols) - start / 2 < SMALLEST;
    if (x.each != NULL || abs(x.all) > EXACT || abs(y) > EXACT || abs(start) > EXACT || abs(weights) > EXACT ||
        abs(l) > EXACT)
        slack.no_values |= RFM_REAL_BYTES == 8;
    /* in units of a row's length, what is far smaller is below the range, or below the rounding of P x */
    slack.no_values |= x.each != NULL && (f->o.unit_rows || rfm_kernels[f->o.kernel].layers);
    note(" Y 2^%d L 2^%d start 2^%d weights 2^%d", y, l, start, weights);
}

static void range_fits(size_t number) {
    const draw_limits limits = {1e5, 0};
    fitting f;
    (void)number;
    draw_fitting(&f, limits);
    if (chance(3)) f.o.ridge *= (rfm_real)1e-3;
    scale_fitting(&f);
    check_fitting(&f, 1);
}

/* 0: refused, and that is checked. */
static int fit_scaled(fitting *f, draw_limits limits) {
    int status;
    draw_fitting(f, limits);
    scale_fitting(f);
    status = fit_exactly(f);
    if (status != RFM_OK) refused("rfm_fit", status);
    return status == RFM_OK;
}

/* ---- smaller models ------------------------------------------------------------------------- */

/* On a model of scaled data. Blobs fold numbers of ordinary size into it, so they are not for this. */
static void range_small(size_t number) {
    const draw_limits limits = {1e5, 1};
    fitting f;
    note(" function %lu", (unsigned long)(number % (SMALL_FUNCTIONS - 1)));
    if (fit_scaled(&f, limits)) check_small(&f, number % (SMALL_FUNCTIONS - 1));
}

/* ---- the learner ---------------------------------------------------------------------------- */

typedef struct {
    unsigned char bytes[1 << 14];
    size_t used;
} tape;

static int put(void *arg, const void *bytes, size_t count) {
    tape *t = arg;
    if (count > sizeof t->bytes - t->used) return RFM_EARENA;
    memcpy(t->bytes + t->used, bytes, count);
    t->used += count;
    return RFM_OK;
}

static int get(void *arg, void *bytes, size_t count) {
    tape *t = arg;
    if (count > sizeof t->bytes - t->used) return RFM_EARENA;
    memcpy(bytes, t->bytes + t->used, count);
    t->used += count;
    return RFM_OK;
}

static void check_learner(const rfm_online *o, size_t d, size_t c, const rfm_real *x) {
    static unsigned char memory[1 << 16];
    rfm_real scores[4], novelty;
    rfm_arena store;
    rfm_model m;
    size_t label;
    int status = rfm_online_predict(o, x, scores, &label, &novelty);
    if (status == RFM_OK && (!rfm_finite(c, scores) || !rfm_finite(1, &novelty)))
        fail("rfm_online_predict is not finite");
    else if (status != RFM_OK && status != RFM_EZERO)
        refused("rfm_online_predict", status);
    if (rfm_arena_init(&store, memory + (16 - (uintptr_t)memory % 16) % 16, sizeof memory - 16) != RFM_OK)
        fail("rfm_arena_init");
    status = rfm_online_model(o, &store, &m);
    if (status != RFM_OK) {
        if (status != RFM_EZERO) refused("rfm_online_model", status);
        return;
    }
    if (!rfm_finite(d, m.shift) || !rfm_finite(m.n * m.r, m.centers) || !rfm_finite(m.n * m.c, m.alpha) ||
        !(m.bandwidth > 0) || (m.p != NULL && !rfm_finite((m.metric == RFM_FULL ? m.r : 1) * d, m.p)))
        fail("rfm_online_model is not finite");
}

/* Samples of any size: what the learner serves is finite, and what it saves can be loaded. */
static void range_online(size_t number) {
    static rfm_online o, loaded;
    static tape t;
    rfm_online_options options;
    rfm_arena arena, other;
    rfm_real x[8];
    size_t bytes = 0, i, j, d = 1 + draw(6), c = 1 + draw(4), count = 1 + draw(20), classes = c == 1 ? 2 : c;
    const scaling s = draw_scaling("x", d);
    int status;
    (void)number;
    slack.statuses = 1;
    rfm_online_options_init(&options);
    options.window = 1 + draw(12), options.inputs = d, options.outputs = c, options.kernel = (int)draw(2);
    options.scale = (int)draw(3), options.iterations = draw(3), options.forget = (int)draw(3);
    options.ridge = (rfm_real)pow(10, uniform(-4, 0));
    options.bandwidth = scaled(uniform(1, 2), chance(4) ? draw_exponent() : chance(2) ? s.all - 4 : s.all);
    if (!(options.bandwidth > 0)) options.bandwidth = (rfm_real)LEAST;
    note(" d %lu c %lu window %lu L %g ridge %g T %lu scale %d forget %d kernel %d samples %lu", (unsigned long)d,
         (unsigned long)c, (unsigned long)options.window, (double)options.bandwidth, (double)options.ridge,
         (unsigned long)options.iterations, options.scale, options.forget, options.kernel, (unsigned long)count);
    if (rfm_online_need(&options, &bytes) != RFM_OK) return;
    if (rfm_arena_init(&arena, take(bytes), bytes) != RFM_OK || rfm_arena_init(&other, take(bytes), bytes) != RFM_OK)
        fail("rfm_arena_init");
    status = rfm_online_init(&o, &options, &arena);
    if (status != RFM_OK) {
        refused("rfm_online_init", status);
        return;
    }
    for (i = 0; i < count; i++) {
        for (j = 0; j < d; j++) x[j] = scaled(uniform(-1, 1), exponent_of(&s, j));
        if (rfm_online_add(&o, x, draw(classes)) != RFM_OK) fail("rfm_online_add refuses a finite sample");
        if (chance(4) && rfm_online_refit(&o) != RFM_OK) fail("rfm_online_refit");
        while (rfm_online_step(&o, 100000) == 1) {
        }
        check_learner(&o, d, c, x);
    }
    memset(&t, 0, sizeof t);
    if (rfm_online_save(&o, put, &t) != RFM_OK) fail("rfm_online_save fails");
    t.used = 0;
    if (rfm_online_init(&loaded, &options, &other) != RFM_OK) fail("rfm_online_init, again");
    status = rfm_online_load(&loaded, get, &t);
    if (status != RFM_OK)
        fail("what rfm_online_save wrote does not load: status %d", status);
    else
        check_learner(&loaded, d, c, x);
}

/* ---- networks, certificates, patches -------------------------------------------------------- */

/* For draw_scale. Numbers near the end of the range count as 0, or are what a status is for. */
static int noted_exponent(const char *what) {
    const int e = draw_exponent();
    note(" %s 2^%d", what, e);
    if (abs(e) > GENTLE) slack.statuses = 1;
    slack.least = LEAST * 1e5;
    slack.no_values |= RFM_REAL_BYTES == 8 && abs(e) > EXACT;
    return e;
}

static void range_certify(size_t number) {
    const draw_limits limits = {1e5, 1};
    fitting f;
    (void)number;
    if (fit_scaled(&f, limits)) check_certificate(&f);
}

static void range_tree(size_t number) {
    const draw_limits limits = {5e4, number % 4 != 0};
    fitting f;
    draw_fitting(&f, limits);
    scale_fitting(&f);
    check_tree(&f, limits.plain);
}

static void range_large(size_t number) {
    const draw_limits limits = {5e4, 1};
    fitting f;
    if (fit_scaled(&f, limits)) check_large(&f, number);
}

int main(int argc, char **argv) {
    static const part parts[] = {
        {"algebra", range_algebra, 700, 0}, {"insight", range_insight, 600, 0}, {"fits", range_fits, 300, 0},
        {"small", range_small, 300, 0},     {"online", range_online, 300, 0},   {"hyperbf", hyperbf_case, 300, 0},
        {"tiny", tiny_case, 300, 0},        {"certify", range_certify, 200, 0}, {"conv", conv_case, 300, 0},
        {"filters", filters_case, 300, 0},  {"tree", range_tree, 200, 0},       {"large", range_large, 200, 0},
        {"signal", signal_case, 200, 0},
    };
    draw_scale = noted_exponent;
    return run_parts(argc, argv, parts, LENGTH(parts));
}
