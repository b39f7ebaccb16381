/* The golden cases on every port that runs here: check FILE...
 *
 * For each case, port and t = 0..T: a fit of t iterations on exactly the memory that it needs; M, K, alpha, the
 * predictions and, where the file has them, the gradients against the stored values; the same bits with 1, 2 and 7
 * workers; the same steps on the path of the one fit of T iterations. README.md says how far off a result may be.
 *
 * A case on a port is one test. It counts as skipped if the condition number forbade a comparison for some t; that
 * the fit succeeds and everything is finite is asked even then. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rfm.h"
#include "rfm_port.h"

#include "blocks.h"

#if RFM_REAL_BYTES == 4
#define EPSILON ((double)FLT_EPSILON)
#define TYPE    "float"
#else
#define EPSILON DBL_EPSILON
#define TYPE    "double"
#endif

#define STEPS 8 /* more than T of any case */

/* ---- a case, as its file has it ------------------------------------------------------------- */

/* The same, as the calls want it. The results of index t are NULL where they are not kept. */
typedef struct {
    const char *name;
    rfm_options options;
    size_t n, d, c, m, steps; /* steps: T */
    size_t metric_rows;       /* of M: d, or 1 */
    int singular;             /* the stored solution is the one of least norm; no elimination finds it */
    rfm_real *x, *y, *z;
    double cond[STEPS];   /* the largest so far */
    double sinmin[STEPS]; /* network kernels: the least sine of an angle that is not 0 so far; else 1 */
    double *metric[STEPS], *kernel[STEPS], *alpha[STEPS], *pred[STEPS], *gradient[STEPS];
} golden;

static void release_case(golden *g) {
    size_t i, t;
    for (t = 0; t <= g->steps; t++) free(g->kernel[t]);
    for (i = 0; i < block_count; i++) free(blocks[i].at);
    free(g->x);
    free(g->y);
    free(g->z);
}

static double *find_step(const char *name, size_t t, size_t rows, size_t cols) {
    char full[16];
    snprintf(full, sizeof full, "%s%u", name, (unsigned)t);
    return find(full, rows, cols);
}

typedef long double wide;

static void reference_kernel(const golden *g, const double *metric, wide *k);

static void read_case(const char *path, golden *g) {
    const double *cond, *sinmin;
    size_t t, i, rows;
    wide *k;

    memset(g, 0, sizeof *g);
    g->name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    read_blocks(path);
    rfm_options_init(&g->options);
    g->options.kernel = (int)number("kernel");
    g->options.bandwidth = (rfm_real)number("L");
    g->options.exponent = (rfm_real)number("q");
    g->options.ridge = (rfm_real)number("ridge");
    g->options.metric = number("diag") > 0 ? RFM_DIAGONAL : RFM_FULL;
    g->options.center = (int)number("center");
    g->options.scale = (int)number("norm");
    g->options.ridge_rule = RFM_RIDGE_FIXED;
    g->singular = (int)number("singular");
    g->steps = (size_t)number("T");
    if (g->steps >= STEPS) die("too many iterations", path);
    shape("X", &g->n, &g->d);
    shape("Y", &rows, &g->c);
    shape("Xtest", &g->m, &rows);
    g->metric_rows = g->options.metric == RFM_FULL ? g->d : 1;
    g->x = reals(need("X", g->n, g->d), g->n * g->d);
    g->y = reals(need("Y", g->n, g->c), g->n * g->c);
    g->z = reals(need("Xtest", g->m, g->d), g->m * g->d);
    cond = need("cond", 1, g->steps + 1);
    sinmin = find("sinmin", 1, g->steps + 1);
    k = take(g->n * g->n, sizeof *k);
    for (t = 0; t <= g->steps; t++) {
        const double *stored = find_step("K", t, g->n, g->n);
        g->cond[t] = t > 0 && g->cond[t - 1] > cond[t] ? g->cond[t - 1] : cond[t];
        g->sinmin[t] = sinmin == NULL ? 1 : t > 0 && g->sinmin[t - 1] < sinmin[t] ? g->sinmin[t - 1] : sinmin[t];
        g->metric[t] = find_step("M", t, g->metric_rows, g->d);
        g->alpha[t] = find_step("alpha", t, g->n, g->c);
        g->pred[t] = find_step("pred", t, g->m, g->c);
        g->gradient[t] = find_step("G", t, g->n, g->c * g->d);
        if (g->metric[t] == NULL || g->alpha[t] == NULL || g->pred[t] == NULL) die("missing results", path);
        /* K as it is stored, or else from M. */
        g->kernel[t] = take(g->n * g->n, sizeof *g->kernel[t]);
        reference_kernel(g, g->metric[t], k);
        for (i = 0; i < g->n * g->n; i++) g->kernel[t][i] = stored != NULL ? stored[i] : (double)k[i];
    }
    free(k);
}

/* ---- the reference: the definitions one after the other, in long double --------------------- */

static wide minus(rfm_real a, rfm_real b) { return (wide)a - (wide)b; }

/* The symmetric root of M, (d, d) also where M is diagonal, by rotations (Jacobi): M = V diag(w) V'. To be freed. */
static wide *symmetric_root(const golden *g, const double *metric) {
    const size_t d = g->d;
    wide *a = take(d * d, sizeof *a), *v = take(d * d, sizeof *v), *root = take(d * d, sizeof *root);
    size_t i, j, k, sweep;
    for (i = 0; i < d * d; i++) {
        const size_t row = i / d, col = i % d;
        v[i] = row == col;
        a[i] = g->options.metric == RFM_FULL ? (wide)metric[i] : row == col ? (wide)metric[row] : 0;
    }
    for (sweep = 0; sweep < 30; sweep++)
        for (i = 0; i < d; i++)
            for (j = i + 1; j < d; j++) {
                const wide angle = atan2l(2 * a[i * d + j], a[i * d + i] - a[j * d + j]) / 2;
                const wide c = cosl(angle), s = sinl(angle);
                if (fabsl(a[i * d + j]) <= LDBL_EPSILON * sqrtl(fabsl(a[i * d + i] * a[j * d + j]))) continue;
                for (k = 0; k < d; k++) {
                    const wide x = a[k * d + i], y = a[k * d + j], p = v[k * d + i], q = v[k * d + j];
                    a[k * d + i] = c * x + s * y, a[k * d + j] = c * y - s * x;
                    v[k * d + i] = c * p + s * q, v[k * d + j] = c * q - s * p;
                }
                for (k = 0; k < d; k++) {
                    const wide x = a[i * d + k], y = a[j * d + k];
                    a[i * d + k] = c * x + s * y, a[j * d + k] = c * y - s * x;
                }
            }
    for (i = 0; i < d; i++)
        for (j = 0; j < d; j++) {
            root[i * d + j] = 0;
            for (k = 0; k < d; k++) root[i * d + j] += v[i * d + k] * v[j * d + k] * sqrtl(fmaxl(a[k * d + k], 0));
        }
    free(a);
    free(v);
    return root;
}

/* Entry i of u = M^1/2 (a - b). */
static wide way(const golden *g, const wide *root, const rfm_real *a, const rfm_real *b, size_t i) {
    wide sum = 0;
    size_t j;
    for (j = 0; j < g->d; j++) sum += root[i * g->d + j] * minus(a[j], b[j]);
    return sum;
}

/* s^2; of l1 s = |u|_1. */
static wide square_distance(const golden *g, const double *metric, const wide *root, const rfm_real *a,
                            const rfm_real *b) {
    wide sum = 0;
    size_t i, j;
    if (g->options.kernel == RFM_L1) {
        for (i = 0; i < g->d; i++) sum += fabsl(way(g, root, a, b, i));
        return sum * sum;
    }
    if (g->metric_rows == 1 && g->options.metric == RFM_DIAGONAL) {
        for (i = 0; i < g->d; i++) sum += (wide)metric[i] * minus(a[i], b[i]) * minus(a[i], b[i]);
        return sum;
    }
    for (i = 0; i < g->d; i++)
        for (j = 0; j < g->d; j++) sum += (wide)metric[i * g->d + j] * minus(a[i], b[i]) * minus(a[j], b[j]);
    return sum > 0 ? sum : 0;
}

/* phi, and its w = -phi' / s; of l1 w = -phi'. */
static wide radial(const rfm_options *o, wide s2, wide *w) {
    const wide L = (wide)o->bandwidth, q = (wide)o->exponent, s = sqrtl(s2);
    wide phi;
    if (o->kernel == RFM_GAUSSIAN) {
        phi = expl(-s2 / (2 * L * L));
        *w = phi / (L * L);
    } else if (o->kernel == RFM_LAPLACE) {
        phi = expl(-s / L);
        *w = s > 0 ? phi / (L * s) : 0;
    } else {
        phi = expl(-powl(s / L, q));
        *w = s > 0 ? q * powl(s / L, q) / (o->kernel == RFM_L1 ? s : s2) * phi : 0;
    }
    return phi;
}

static int is_network(const golden *g) { return rfm_kernels[g->options.kernel].layers; }

/* a'M b. */
static wide inner(const golden *g, const double *metric, const rfm_real *a, const rfm_real *b) {
    wide sum = 0;
    size_t i, j;
    if (g->options.metric == RFM_DIAGONAL) {
        for (i = 0; i < g->d; i++) sum += (wide)metric[i] * (wide)a[i] * (wide)b[i];
        return sum;
    }
    for (i = 0; i < g->d; i++)
        for (j = 0; j < g->d; j++) sum += (wide)metric[i * g->d + j] * (wide)a[i] * (wide)b[j];
    return sum;
}

/* A network kernel of x and z. The gradient by z is *u M x + *v M z. */
static wide network(const golden *g, const double *metric, const rfm_real *x, const rfm_real *z, wide *u, wide *v) {
    const wide pi = acosl(-1), b = inner(g, metric, x, x), e = inner(g, metric, z, z), size = sqrtl(b * e);
    wide rho, r, t, r_slope = 1, t_slope = 1, value, slope;
    int layer;
    *u = *v = 0;
    if (!(size > 0)) return 0;
    rho = inner(g, metric, x, z) / size;
    if (1 - fabsl(rho) < 1e-15L) rho = rho > 0 ? 1 : -1; /* no case has angles this small but 0 */
    for (r = t = rho, layer = 0; layer < (int)g->options.exponent; layer++) {
        const wide sine = sqrtl(1 - r * r), k0 = (pi - acosl(r)) / pi, k1 = (r * (pi - acosl(r)) + sine) / pi;
        t_slope = t_slope * k0 + (sine > 1e-9L ? t / (pi * sine) * r_slope : 0) + k0 * r_slope;
        t = t * k0 + k1;
        r_slope *= k0;
        r = k1 < 1 ? k1 : 1;
    }
    value = g->options.kernel == RFM_NTK ? t : r;
    slope = g->options.kernel == RFM_NTK ? t_slope : r_slope;
    *u = slope;
    *v = (value - rho * slope) * sqrtl(b / e);
    return size * value;
}

static wide kernel(const golden *g, const double *metric, const wide *root, const rfm_real *x, const rfm_real *z) {
    wide u, v;
    if (is_network(g)) return network(g, metric, x, z, &u, &v);
    return radial(&g->options, square_distance(g, metric, root, x, z), &u);
}

static void reference_kernel(const golden *g, const double *metric, wide *k) {
    wide *root = symmetric_root(g, metric);
    size_t i, j;
    for (i = 0; i < g->n; i++)
        for (j = 0; j < g->n; j++) k[i * g->n + j] = kernel(g, metric, root, g->x + i * g->d, g->x + j * g->d);
    free(root);
}

/* A X = B by elimination with row exchanges; B becomes X. */
static void eliminate(size_t n, size_t c, wide *a, wide *b) {
    size_t i, j, p, best;
    wide swap, f;
    for (p = 0; p < n; p++) {
        for (best = p, i = p + 1; i < n; i++)
            if (fabsl(a[i * n + p]) > fabsl(a[best * n + p])) best = i;
        for (j = 0; j < n; j++) swap = a[p * n + j], a[p * n + j] = a[best * n + j], a[best * n + j] = swap;
        for (j = 0; j < c; j++) swap = b[p * c + j], b[p * c + j] = b[best * c + j], b[best * c + j] = swap;
        for (i = 0; i < n; i++) {
            if (i == p) continue;
            f = a[i * n + p] / a[p * n + p];
            for (j = p; j < n; j++) a[i * n + j] -= f * a[p * n + j];
            for (j = 0; j < c; j++) b[i * c + j] -= f * b[p * c + j];
        }
    }
    for (i = 0; i < n; i++)
        for (j = 0; j < c; j++) b[i * c + j] /= a[i * n + i];
}

/* Gradients of all outputs at the training rows: G (n, c d). */
static void reference_gradients(const golden *g, const double *metric, const double *alpha, double *gradient) {
    const size_t d = g->d;
    const int l1 = g->options.kernel == RFM_L1;
    wide *v = take(d, sizeof *v), *root = symmetric_root(g, metric), w, more, sum;
    size_t i, j, k, p, q;
    for (j = 0; j < g->n; j++)
        for (k = 0; k < g->c; k++) {
            for (p = 0; p < d; p++) v[p] = 0;
            for (i = 0; i < g->n; i++) {
                if (is_network(g)) {
                    network(g, metric, g->x + i * d, g->x + j * d, &w, &more);
                    for (p = 0; p < d; p++)
                        v[p] += (wide)alpha[i * g->c + k] * (w * (wide)g->x[i * d + p] + more * (wide)g->x[j * d + p]);
                    continue;
                }
                radial(&g->options, square_distance(g, metric, root, g->x + i * d, g->x + j * d), &w);
                for (p = 0; p < d; p++) {
                    wide to = minus(g->x[i * d + p], g->x[j * d + p]);
                    if (l1) to = way(g, root, g->x + i * d, g->x + j * d, p), to = to > 0 ? 1 : to < 0 ? -1 : 0;
                    v[p] += (wide)alpha[i * g->c + k] * w * to;
                }
            }
            for (p = 0; p < d; p++) {
                sum = 0;
                if (g->options.metric == RFM_DIAGONAL && !l1)
                    sum = (wide)metric[p] * v[p];
                else
                    for (q = 0; q < d; q++) sum += (l1 ? root[p * d + q] : (wide)metric[p * d + q]) * v[q];
                gradient[(j * g->c + k) * d + p] = (double)sum;
            }
        }
    free(v);
    free(root);
}

/* The next M of these gradients, which are centred in place if that is asked for. */
static void reference_metric(const golden *g, double *gradient, double *metric) {
    const size_t n = g->n, d = g->d, width = g->c * d;
    wide sum, largest = 0, trace = 0, factor = 1;
    size_t i, j, k, p;
    for (j = 0; j < width && g->options.center; j++) {
        for (sum = 0, i = 0; i < n; i++) sum += (wide)gradient[i * width + j];
        for (i = 0; i < n; i++) gradient[i * width + j] -= (double)(sum / (wide)n);
    }
    for (p = 0; p < g->metric_rows * d; p++) {
        const size_t row = g->options.metric == RFM_DIAGONAL ? p : p / d, col = p % d;
        for (sum = 0, i = 0; i < n; i++)
            for (k = 0; k < g->c; k++)
                sum += (wide)gradient[i * width + k * d + row] * (wide)gradient[i * width + k * d + col];
        metric[p] = (double)(sum / (wide)n);
        if ((wide)metric[p] > largest) largest = (wide)metric[p];
        if (row == col) trace += (wide)metric[p];
    }
    if (g->options.scale == RFM_SCALE_MAX && largest > 0) factor = 1 / largest;
    if (g->options.scale == RFM_SCALE_TRACE && trace > 0) factor = (wide)d / trace;
    for (p = 0; p < g->metric_rows * d; p++) metric[p] = (double)((wide)metric[p] * factor);
}

/* One t: K, alpha, predictions and gradients from M, into r. */
static void reference_step(const golden *g, size_t t, golden *r) {
    const size_t n = g->n, c = g->c;
    wide *k = take(n * n, sizeof *k), *b = take(n * c, sizeof *b), *root = symmetric_root(g, r->metric[t]);
    size_t i, j, p;
    reference_kernel(g, r->metric[t], k);
    for (i = 0; i < n * n; i++) r->kernel[t][i] = (double)k[i];
    for (i = 0; i < n; i++) k[i * n + i] += (wide)g->options.ridge;
    for (i = 0; i < n * c; i++) b[i] = (wide)g->y[i];
    eliminate(n, c, k, b);
    for (i = 0; i < n * c; i++) r->alpha[t][i] = (double)b[i];
    for (j = 0; j < g->m; j++)
        for (p = 0; p < c; p++) {
            wide sum = 0;
            for (i = 0; i < n; i++)
                sum += kernel(g, r->metric[t], root, g->x + i * g->d, g->z + j * g->d) * b[i * c + p];
            r->pred[t][j * c + p] = (double)sum;
        }
    reference_gradients(g, r->metric[t], r->alpha[t], r->gradient[t]);
    free(root);
    free(k);
    free(b);
}

/* Everything from the inputs as the library gets them, in its number type. */
static void reference(const golden *g, golden *r) {
    size_t t, i;
    double *centred = take(g->n * g->c * g->d, sizeof *centred);
    *r = *g;
    for (t = 0; t <= g->steps; t++) {
        r->metric[t] = take(g->metric_rows * g->d, sizeof(double));
        r->kernel[t] = take(g->n * g->n, sizeof(double));
        r->alpha[t] = take(g->n * g->c, sizeof(double));
        r->pred[t] = take(g->m * g->c, sizeof(double));
        r->gradient[t] = take(g->n * g->c * g->d, sizeof(double));
        if (t == 0)
            for (i = 0; i < g->metric_rows * g->d; i++) r->metric[0][i] = g->metric[0][i];
        else {
            memcpy(centred, r->gradient[t - 1], g->n * g->c * g->d * sizeof *centred);
            reference_metric(g, centred, r->metric[t]);
        }
        reference_step(g, t, r);
    }
    free(centred);
}

static void release_reference(golden *r) {
    size_t t;
    for (t = 0; t <= r->steps; t++) {
        free(r->metric[t]);
        free(r->kernel[t]);
        free(r->alpha[t]);
        free(r->pred[t]);
        free(r->gradient[t]);
    }
}

/* ---- comparing ------------------------------------------------------------------------------ */

static const char *test_name, *test_port; /* what is being tested, */
static int failures;                      /* and how often it was wrong */
static int skipped;                       /* a comparison was left out */

static void wrong(size_t t, const char *what, double value, double bound) {
    failures++;
    printf("  %s %s %s t = %u: %s: %.3g, allowed %.3g\n", test_name, TYPE, test_port, (unsigned)t, what, value, bound);
}

static double tolerance(const golden *g, size_t t) {
    const double cond = g->cond[t], sinmin = g->sinmin[t];
#if RFM_REAL_BYTES == 4
    return 4 * cond * 6e-8 + 16 * EPSILON + (is_network(g) ? 6e-8 / (sinmin * sinmin) : 0);
#else
    if (is_network(g)) return cond > 1e6 || sinmin < 1e-3 ? 1e-8 : 1e-10;
    return cond > 1e6 ? 1e-7 : 1e-10;
#endif
}

static int comparable(const golden *g, size_t t) {
    return RFM_REAL_BYTES == 8 || (g->cond[t] <= 1e5 && (!is_network(g) || tolerance(g, t) <= 1e-2));
}

/* The largest difference as a share of the largest stored entry; a stored zero matrix must be met exactly. NaN and
 * infinities are wrong whatever the tolerance; a negative tolerance asks for nothing else. */
static void compare(size_t t, const char *what, size_t count, const rfm_real *got, const double *stored, double bound) {
    double largest = 0, worst = 0;
    size_t i;
    for (i = 0; i < count; i++) {
        const double off = fabs((double)got[i] - stored[i]);
        if (!(fabs((double)got[i]) <= DBL_MAX)) {
            wrong(t, what, (double)got[i], bound);
            return;
        }
        if (fabs(stored[i]) > largest) largest = fabs(stored[i]);
        if (off > worst) worst = off;
    }
    if (bound >= 0 && worst > bound * largest) wrong(t, what, largest > 0 ? worst / largest : worst, bound);
}

/* ---- fitting -------------------------------------------------------------------------------- */

/* Workers in one thread: the jobs one after the other, the last first, dealt out in turn. */
static void deal(void *pool, rfm_job job, void *arg, size_t jobs) {
    const size_t workers = *(const size_t *)pool;
    size_t i;
    for (i = jobs; i-- > 0;) job(arg, i, i % workers);
}

typedef struct {
    rfm_model model;
    rfm_step path[STEPS];
    void *memory;
} fitted;

/* An arena of exactly this size. */
static void arena_of(rfm_arena *arena, size_t bytes, void **memory) {
    unsigned char *p = take(bytes + RFM_ALIGN, 1);
    size_t skew = (size_t)((uintptr_t)p % RFM_ALIGN);
    *memory = p;
    memset(p, 0xFF, bytes + RFM_ALIGN);
    if (rfm_arena_init(arena, p + (skew > 0 ? RFM_ALIGN - skew : 0), bytes) != RFM_OK) die("rfm_arena_init", "refused");
}

static int fit(const golden *g, rfm_ctx ctx, size_t t, fitted *f) {
    rfm_options options = g->options;
    rfm_report report;
    rfm_data data;
    rfm_arena arena;
    size_t scratch, store;
    int status;

    memset(&data, 0, sizeof data);
    memset(&report, 0, sizeof report);
    memset(f, 0, sizeof *f);
    data.x = rfm_cview(g->x, g->n, g->d);
    data.y = rfm_cview(g->y, g->n, g->c);
    options.iterations = t;
    report.path = f->path;
    status = rfm_fit_need(&ctx, &data, &options, &scratch, &store);
    if (status != RFM_OK) {
        wrong(t, "status of rfm_fit_need", status, RFM_OK);
        return status;
    }
    arena_of(&arena, scratch + store, &f->memory);
    ctx.arena = &arena;
    status = rfm_fit(&ctx, &data, &options, &arena, &f->model, &report);
    if (status != RFM_OK)
        wrong(t, "status of rfm_fit", status, RFM_OK);
    else if (report.best != t)
        wrong(t, "best", (double)report.best, (double)t);
    if (status != RFM_OK) free(f->memory);
    return status;
}

static void predict(rfm_ctx ctx, size_t t, const rfm_model *model, rfm_cmat z, rfm_real *y) {
    rfm_arena arena;
    size_t bytes = 0;
    void *memory;
    int status = rfm_predict_need(&ctx, model, z.rows, &bytes);
    arena_of(&arena, bytes, &memory);
    ctx.arena = &arena;
    if (status == RFM_OK) status = rfm_predict(&ctx, model, z, rfm_view(y, z.rows, model->c));
    if (status != RFM_OK) wrong(t, "status of rfm_predict", status, RFM_OK);
    free(memory);
}

static void check_gradients(const golden *g, rfm_ctx ctx, size_t t, const rfm_model *model, double bound) {
    const size_t width = g->c * g->d;
    rfm_real *gradient = take(g->n * width, sizeof *gradient);
    rfm_arena arena;
    size_t bytes = 0;
    void *memory;
    int status = rfm_gradients_need(&ctx, model, &bytes);
    arena_of(&arena, bytes, &memory);
    ctx.arena = &arena;
    if (status == RFM_OK)
        status = rfm_gradients(&ctx, model, rfm_cview(g->x, g->n, g->d), rfm_view(gradient, g->n, width));
    if (status != RFM_OK)
        wrong(t, "status of rfm_gradients", status, RFM_OK);
    else
        compare(t, "G", g->n * width, gradient, g->gradient[t], bound);
    free(gradient);
    free(memory);
}

/* What alpha of a model has beside alpha of the equations: of a network kernel the length of its row. */
static double alpha_factor(const golden *g, size_t t, size_t i) {
    const rfm_real *x = g->x + i * g->d;
    return is_network(g) ? (double)sqrtl(inner(g, g->metric[t], x, x)) : 1;
}

/* K is what a model predicts at its own centres if alpha is the identity. */
static void check_kernel(const golden *g, rfm_ctx ctx, size_t t, const rfm_model *model, double bound) {
    rfm_real *identity = take(g->n * g->n, sizeof *identity), *k = take(g->n * g->n, sizeof *k);
    rfm_model columns = *model;
    size_t i;
    for (i = 0; i < g->n * g->n; i++) identity[i] = i % (g->n + 1) == 0 ? (rfm_real)alpha_factor(g, t, i % g->n) : 0;
    columns.c = g->n;
    columns.alpha = identity;
    predict(ctx, t, &columns, rfm_cview(g->x, g->n, g->d), k);
    compare(t, "K", g->n * g->n, k, g->kernel[t], bound);
    free(identity);
    free(k);
}

static int same(const rfm_real *a, const rfm_real *b, size_t count) { return memcmp(a, b, count * sizeof *a) == 0; }

static int same_model(const rfm_model *a, const rfm_model *b) {
    if (a->metric != b->metric || a->r != b->r) return 0;
    if (a->metric != RFM_IDENTITY && !same(a->p, b->p, (a->metric == RFM_FULL ? a->r : 1) * a->d)) return 0;
    return same(a->shift, b->shift, a->d) && same(a->centers, b->centers, a->n * a->r) &&
           same(a->alpha, b->alpha, a->n * a->c);
}

static void check_same_bits(const golden *g, rfm_ctx ctx, size_t t, const rfm_model *one, const rfm_real *predicted) {
    static const size_t workers[] = {1, 2, 7};
    rfm_real *again = take(g->m * g->c, sizeof *again);
    fitted f;
    size_t i, count;
    for (i = 0; i < sizeof workers / sizeof workers[0]; i++) {
        count = workers[i];
        ctx.workers = count;
        ctx.run = deal;
        ctx.pool = &count;
        if (fit(g, ctx, t, &f) != RFM_OK) continue;
        predict(ctx, t, &f.model, rfm_cview(g->z, g->m, g->d), again);
        if (!same_model(&f.model, one) || !same(again, predicted, g->m * g->c))
            wrong(t, "other bits with this many workers", (double)count, 1);
        free(f.memory);
    }
    free(again);
}

/* The last step of a fit of t iterations is step t of the fit of T, and no score was asked for. */
static void check_path(const golden *g, size_t t, const fitted *all, const fitted *one) {
    const rfm_step *a = &all->path[t], *b = &one->path[t];
    if (a->score > 0 || a->score < 0) wrong(t, "score", (double)a->score, 0);
    if (memcmp(&a->score, &b->score, sizeof a->score) != 0 || memcmp(&a->ridge, &b->ridge, sizeof a->ridge) != 0 ||
        memcmp(&a->bandwidth, &b->bandwidth, sizeof a->bandwidth) != 0 || a->rank != b->rank)
        wrong(t, "another step on the path of the fit of T iterations", (double)a->ridge, (double)b->ridge);
    if (!(a->ridge >= g->options.ridge)) wrong(t, "ridge", (double)a->ridge, (double)g->options.ridge);
    if (memcmp(&a->bandwidth, &g->options.bandwidth, sizeof a->bandwidth) != 0)
        wrong(t, "bandwidth", (double)a->bandwidth, (double)g->options.bandwidth);
    if (a->rank > g->d) wrong(t, "rank", a->rank, (double)g->d);
}

static void check_step(const golden *g, rfm_ctx ctx, size_t t, const fitted *all) {
    rfm_real *metric = take(g->metric_rows * g->d, sizeof *metric), *predicted = take(g->m * g->c, sizeof *predicted);
    double bound = comparable(g, t) ? tolerance(g, t) : -1, *alpha = take(g->n * g->c, sizeof *alpha);
    size_t i;
    fitted f;

    if (bound < 0) skipped = 1;
    if (fit(g, ctx, t, &f) == RFM_OK) {
        check_path(g, t, all, &f);
        if (rfm_metric(&f.model, rfm_view(metric, g->metric_rows, g->d)) != RFM_OK) wrong(t, "rfm_metric", 1, 0);
        compare(t, "M", g->metric_rows * g->d, metric, g->metric[t], bound);
        check_kernel(g, ctx, t, &f.model, bound);
        for (i = 0; i < g->n * g->c; i++) alpha[i] = g->alpha[t][i] * alpha_factor(g, t, i / g->c);
        compare(t, "alpha", g->n * g->c, f.model.alpha, alpha, bound);
        predict(ctx, t, &f.model, rfm_cview(g->z, g->m, g->d), predicted);
        compare(t, "prediction", g->m * g->c, predicted, g->pred[t], bound);
        if (g->gradient[t] != NULL) check_gradients(g, ctx, t, &f.model, bound);
        check_same_bits(g, ctx, t, &f.model, predicted);
        free(f.memory);
    }
    free(alpha);
    free(metric);
    free(predicted);
}

static void check_case(const golden *g, const rfm_port *port) {
    fitted all;
    rfm_ctx ctx;
    size_t t;

    memset(&ctx, 0, sizeof ctx);
    ctx.port = port;
    if (fit(g, ctx, g->steps, &all) != RFM_OK) return;
    for (t = 0; t <= g->steps; t++) check_step(g, ctx, t, &all);
    free(all.memory);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static size_t count_passed, count_failed, count_skipped;

static void begin(const char *name, const char *port) {
    test_name = name;
    test_port = port;
    failures = skipped = 0;
}

static void end(void) {
    if (failures > 0)
        count_failed++;
    else if (skipped)
        count_skipped++;
    else
        count_passed++;
    if (failures == 0 && skipped) printf("  %s %s %s: skipped, ill-conditioned\n", test_name, TYPE, test_port);
}

#if RFM_REAL_BYTES == 8
/* The reference above against the one that made the files: only then may it stand in for it. */
static void check_reference(const golden *g, const golden *r) {
    size_t t;
    for (t = 0; t <= g->steps; t++) {
        const double bound = tolerance(g, t);
        compare(t, "M", g->metric_rows * g->d, r->metric[t], g->metric[t], bound);
        compare(t, "K", g->n * g->n, r->kernel[t], g->kernel[t], bound);
        compare(t, "alpha", g->n * g->c, r->alpha[t], g->alpha[t], bound);
        compare(t, "prediction", g->m * g->c, r->pred[t], g->pred[t], bound);
        if (g->gradient[t] != NULL) compare(t, "G", g->n * g->c * g->d, r->gradient[t], g->gradient[t], bound);
    }
}
#endif

/* How far the rounding of X to the number type moves it, as a share of the data's spread. */
static double input_rounding(const golden *g) {
    const double *x = need("X", g->n, g->d);
    double moved = 0, spread = 0;
    size_t i, j;
    for (j = 0; j < g->d; j++) {
        double low = x[j], high = low;
        for (i = j; i < g->n * g->d; i += g->d) {
            if (x[i] < low) low = x[i];
            if (x[i] > high) high = x[i];
            if (fabs((double)g->x[i] - x[i]) > moved) moved = fabs((double)g->x[i] - x[i]);
        }
        if (high - low > spread) spread = high - low;
    }
    return spread > 0 ? moved / spread : 0;
}

int main(int argc, char **argv) {
    int arg;
    for (arg = 1; arg < argc; arg++) {
        golden g, r;
        const rfm_port *port;
        int moved;
        size_t i;

        read_case(argv[arg], &g);
        if (g.singular == 0) reference(&g, &r);
#if RFM_REAL_BYTES == 8
        if (g.singular == 0) {
            begin(g.name, "reference");
            check_reference(&g, &r);
            end();
        }
#endif
        /* The tolerance has room for inputs that are off by some epsilon of their spread. Where rounding moves them
         * further, the stored results are those of other data, and the reference says what is right for these. */
        moved = g.singular == 0 && input_rounding(&g) > 16 * EPSILON;
        if (moved)
            printf("  %s %s: X rounded by %.1e of its spread; results of the rounded X are expected\n", g.name, TYPE,
                   input_rounding(&g));
        for (i = 0; rfm_port_name(i) != NULL; i++) {
            port = rfm_port_find(rfm_port_name(i));
            if (port == NULL) continue;
            begin(g.name, port->name);
            check_case(moved ? &r : &g, port);
            end();
        }
        if (g.singular == 0) release_reference(&r);
        release_case(&g);
    }
    for (arg = 0; rfm_port_name((size_t)arg) != NULL; arg++)
        if (rfm_port_find(rfm_port_name((size_t)arg)) == NULL)
            printf("  %s: this processor cannot run the port %s\n", TYPE, rfm_port_name((size_t)arg));
    printf("%lu passed, %lu failed, %lu skipped\n", (unsigned long)count_passed, (unsigned long)count_failed,
           (unsigned long)count_skipped);
    return count_failed > 0;
}
