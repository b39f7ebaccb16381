/* The golden cases of rfm_large on every port that runs here: nystrom FILE...
 *
 * For each case and port: K_nm, K_mm, alpha by one pass and by conjugate gradients, from sums of two parts that were
 * merged, and from sums that a part was taken out of; the loss, predictions, gradients and their outer products. All on
 * exactly the memory that is needed, and the same bits with 1, 2 and 7 workers. A case on a port is one test. */
#include <float.h>
#include <math.h>

#include "rfm_large.h"

#include "blocks.h"
#include "ports.h"

typedef struct {
    size_t n, m, d, c, tests, points;
    double ridge, cond, bound;
    rfm_real *x, *y, *w, *z, *p, *shift, *centers, *alpha;
    double *lengths; /* (m) network kernels: alpha of a model has them in it; else 1 */
    rfm_model model;
    rfm_rows rows;
    size_t first, count; /* the part of the rows that is read */
} golden;

static size_t read_rows(void *from, size_t first, size_t count, rfm_real *x, rfm_real *y, rfm_real *weights) {
    const golden *g = (const golden *)from;
    first += g->first;
    memcpy(x, g->x + first * g->d, count * g->d * sizeof *x);
    memcpy(y, g->y + first * g->c, count * g->c * sizeof *y);
    if (weights != NULL) memcpy(weights, g->w + first, count * sizeof *weights);
    return count;
}

/* P of M = P'P, by Cholesky or from the diagonal; in double. */
static double *root_of(const golden *g, int diag) {
    const double *m = need("M", diag ? 1 : g->d, g->d);
    double *u = take(g->d * g->d, sizeof *u);
    size_t d = g->d, i, j, k;
    memset(u, 0, d * d * sizeof *u);
    for (i = 0; diag && i < d; i++) u[i] = sqrt(m[i]);
    for (i = 0; !diag && i < d; i++)
        for (j = i; j < d; j++) {
            double sum = m[i * d + j];
            for (k = 0; k < i; k++) sum -= u[k * d + i] * u[k * d + j];
            u[i * d + j] = i == j ? sqrt(sum) : sum / u[i * d + i];
        }
    return u;
}

static void read_case(const char *path, golden *g) {
    int diag;
    double *u;
    size_t i, j, q;
    memset(g, 0, sizeof *g);
    read_blocks(path);
    shape("X", &g->n, &g->d);
    shape("Z", &g->m, &g->d);
    shape("Y", &g->n, &g->c);
    shape("Xtest", &g->tests, &g->d);
    shape("Xagop", &g->points, &g->d);
    diag = number("diag") != 0;
    g->ridge = number("ridge"), g->cond = number("cond");
    g->x = block_reals("X", g->n, g->d), g->y = block_reals("Y", g->n, g->c), g->w = block_reals("weights", g->n, 1);
    g->z = block_reals("Z", g->m, g->d);
    u = root_of(g, diag);
    g->p = reals(u, diag ? g->d : g->d * g->d);
    g->shift = take(g->d, sizeof *g->shift);
    g->centers = take(g->m * g->d, sizeof *g->centers), g->alpha = take(g->m * g->c, sizeof *g->alpha);
    g->lengths = take(g->m, sizeof *g->lengths);
    for (j = 0; j < g->d; j++) g->shift[j] = 0;
    g->model.kernel = (int)number("kernel");
    for (i = 0; i < g->m; i++) {
        double row[16], sum = 0;
        for (q = 0; q < g->d; q++) {
            row[q] = diag ? u[q] * (double)g->z[i * g->d + q] : 0;
            for (j = 0; !diag && j < g->d; j++) row[q] += u[q * g->d + j] * (double)g->z[i * g->d + j];
            sum += row[q] * row[q];
        }
        g->lengths[i] = g->model.kernel >= RFM_NNGP ? sqrt(sum) : 1;
        for (q = 0; q < g->d; q++) g->centers[i * g->d + q] = (rfm_real)(row[q] / g->lengths[i]);
    }
    free(u);
    g->model.n = g->m, g->model.d = g->model.r = g->d, g->model.c = g->c;
    g->model.metric = diag ? RFM_DIAGONAL : RFM_FULL;
    g->model.bandwidth = (rfm_real)number("L"), g->model.exponent = (rfm_real)number("q");
    g->model.shift = g->shift, g->model.p = g->p, g->model.centers = g->centers, g->model.alpha = g->alpha;
    g->rows.n = g->n, g->rows.d = g->d, g->rows.c = g->c, g->rows.weighted = number("weighted") != 0;
    g->rows.read = read_rows, g->rows.from = g;
    g->bound = RFM_REAL_BYTES == 8 ? (g->cond > 1e6 ? 1e-8 : 1e-10) : 4 * g->cond * 6e-8;
}

static void release_case(golden *g) {
    free_blocks();
    free(g->x), free(g->y), free(g->w), free(g->z), free(g->p), free(g->shift), free(g->centers), free(g->alpha);
    free(g->lengths);
}

/* The largest difference of scale[i] got from what is stored, as a share of the largest entry. */
static int near_scaled(const char *what, const char *name, size_t rows, size_t cols, const rfm_real *got,
                       const double *scale, double bound) {
    const double *expect = need(name, rows, cols);
    double worst = 0, most = 0;
    size_t i;
    if (bound > 1e-2) bound = HUGE_VAL; /* float: these digits say nothing; it must be finite all the same */
    for (i = 0; i < rows * cols; i++) {
        double value = (double)got[i] / (scale != NULL ? scale[i / cols] : 1);
        most = fmax(most, fabs(expect[i]));
        if (!(fabs(value - expect[i]) <= worst)) worst = fabs(value - expect[i]);
    }
    if (worst <= bound * most) return 1;
    printf("  %s: %s is off by %.3g of its largest\n", what, name, worst / most);
    return 0;
}

/* A context on exactly these bytes. */
typedef struct {
    rfm_ctx ctx;
    rfm_arena arena;
    void *memory;
} exactly;

static exactly *start(const rfm_ctx *ctx, size_t bytes) {
    exactly *e = take(1, sizeof *e);
    e->memory = take(bytes, 1);
    (void)rfm_arena_init(&e->arena, e->memory, bytes);
    e->ctx = *ctx, e->ctx.arena = &e->arena;
    return e;
}

static int finish(exactly *e, int status) {
    int good = status == RFM_OK && e->arena.used == 0;
    if (!good) printf("  %s\n", rfm_status_text(status));
    free(e->memory);
    free(e);
    return good;
}

static int kernel_right(const rfm_ctx *ctx, golden *g, const char *name, size_t rows, rfm_real *x) {
    rfm_real *k = take(rows * g->m, sizeof *k), *turned = take(rows * g->m, sizeof *k);
    double bound = RFM_REAL_BYTES == 8 ? 1e-12 : 1e-5;
    size_t bytes = 0, i, j;
    exactly *e;
    int good = rfm_kernel_values_need(ctx, &g->model, rows, &bytes) == RFM_OK;
    e = start(ctx, bytes);
    good = good &&
           finish(e, rfm_kernel_values(&e->ctx, &g->model, rfm_cview(x, rows, g->d), RFM_NN, rfm_view(k, rows, g->m)));
    e = start(ctx, bytes);
    good = good && finish(e, rfm_kernel_values(&e->ctx, &g->model, rfm_cview(x, rows, g->d), RFM_TN,
                                               rfm_view(turned, g->m, rows)));
    for (i = 0; i < rows; i++)
        for (j = 0; j < g->m; j++) {
            k[i * g->m + j] *= (rfm_real)g->lengths[j];
            if (!(fabs((double)k[i * g->m + j] - (double)turned[j * rows + i] * g->lengths[j]) <= bound)) good = 0;
        }
    good = good && near_scaled("kernel", name, rows, g->m, k, NULL, bound);
    free(k), free(turned);
    return good;
}

static int solve_right(const rfm_ctx *ctx, golden *g, int solver) {
    rfm_solve_options o;
    rfm_solve_report report;
    size_t bytes = 0;
    exactly *e;
    int good;
    rfm_solve_options_init(&o);
    o.solver = solver, o.ridge = (rfm_real)g->ridge, o.tolerance = (rfm_real)(RFM_REAL_BYTES == 8 ? 1e-13 : 1e-6);
    good = rfm_large_solve_need(ctx, &g->rows, &g->model, &o, &bytes) == RFM_OK;
    e = start(ctx, bytes);
    good =
        good && finish(e, rfm_large_solve(&e->ctx, &g->rows, &g->model, &o, rfm_view(g->alpha, g->m, g->c), &report));
    good = good && report.rank == g->m && (solver == RFM_SOLVER_DIRECT) == (report.steps == 0) &&
           report.passes == 2 + report.steps;
    return good && near_scaled(solver == RFM_SOLVER_DIRECT ? "direct" : "conjugate", "A", g->m, g->c, g->alpha,
                               g->lengths, g->bound);
}

/* Sums of rows first.. */
static rfm_sums *sums_of(const rfm_ctx *ctx, golden *g, size_t first, size_t count) {
    size_t bytes = 0, need_bytes = 0;
    rfm_sums *sums = NULL;
    exactly *e;
    int good = rfm_sums_size(&g->model, RFM_SUMS_SOLVE, &bytes) == RFM_OK;
    sums = take(bytes, 1);
    good = good && rfm_sums_init(&g->model, RFM_SUMS_SOLVE, 1, sums, bytes) == RFM_OK;
    g->first = first, g->rows.n = count;
    good = good && rfm_sums_add_need(ctx, &g->rows, &g->model, RFM_SUMS_SOLVE, &need_bytes) == RFM_OK;
    e = start(ctx, need_bytes);
    good = good && finish(e, rfm_sums_add(&e->ctx, &g->rows, &g->model, sums)) && rfm_sums_rows(sums) == count;
    g->first = 0, g->rows.n = g->n;
    if (!good) die("sums", "not made");
    return sums;
}

static int solve_sums_right(const rfm_ctx *ctx, golden *g, const char *what, const rfm_sums *sums) {
    size_t bytes = 0;
    exactly *e;
    int good = rfm_sums_solve_need(ctx, &g->model, &bytes) == RFM_OK;
    e = start(ctx, bytes);
    good = good && finish(e, rfm_sums_solve(&e->ctx, &g->model, sums, (rfm_real)g->ridge,
                                            rfm_view(g->alpha, g->m, g->c), NULL));
    return good && near_scaled(what, "A", g->m, g->c, g->alpha, g->lengths, g->bound);
}

/* All rows; two parts in both orders; three thirds less the last. */
static int sums_right(const rfm_ctx *ctx, golden *g) {
    size_t half = g->n / 2;
    rfm_sums *all = sums_of(ctx, g, 0, g->n), *a = sums_of(ctx, g, 0, half), *b = sums_of(ctx, g, half, g->n - half);
    rfm_sums *back = sums_of(ctx, g, half, g->n - half), *before = take(all->bytes, 1);
    int good = solve_sums_right(ctx, g, "sums", all);
    memcpy(before, all, all->bytes);
    good = good && rfm_sums_merge(all, a) == RFM_OK && rfm_sums_subtract(all, a) == RFM_OK;
    good = good && memcmp(before, all, all->bytes) == 0;
    good = good && rfm_sums_merge(a, b) == RFM_OK && solve_sums_right(ctx, g, "two parts", a);
    good = good && rfm_sums_merge(b, a) == RFM_OK && rfm_sums_subtract(b, back) == RFM_OK;
    good = good && memcmp(a, b, a->bytes) == 0;
    free(all), free(a), free(b), free(back), free(before);
    return good;
}

/* The loss, predictions, gradients, their outer products with the stored alpha. */
static int model_right(const rfm_ctx *ctx, golden *g) {
    const double *alpha = need("A", g->m, g->c);
    rfm_real *pred = take(g->tests * g->c, sizeof *pred), *x = block_reals("Xtest", g->tests, g->d);
    rfm_real *at = block_reals("Xagop", g->points, g->d), *sum = take(g->d * g->d, sizeof *sum);
    rfm_real *mean = take(g->c * g->d, sizeof *mean), *out = take(g->d * g->d, sizeof *out), *centred;
    size_t d = g->d, rows = g->model.metric == RFM_FULL ? d : 1, bytes = 0, i, j, k, q;
    double bound = RFM_REAL_BYTES == 8 ? 1e-10 : 1e-3;
    exactly *e;
    int good;
    for (i = 0; i < g->m * g->c; i++) g->alpha[i] = (rfm_real)(alpha[i] * g->lengths[i / g->c]);
    good = rfm_predict_need(ctx, &g->model, g->tests, &bytes) == RFM_OK;
    e = start(ctx, bytes);
    good =
        good && finish(e, rfm_predict(&e->ctx, &g->model, rfm_cview(x, g->tests, d), rfm_view(pred, g->tests, g->c)));
    good = good && near_scaled("model", "pred", g->tests, g->c, pred, NULL, bound);
    good = good && rfm_agop_need(ctx, &g->model, g->points, &bytes) == RFM_OK;
    e = start(ctx, bytes);
    good = good && finish(e, rfm_agop(&e->ctx, &g->model, rfm_cview(at, g->points, d), NULL, rfm_view(sum, rows, d),
                                      rfm_view(mean, g->c, d)));
    centred = take(d * d, sizeof *centred);
    for (i = 0; good && i < rows; i++)
        for (j = rows == 1 ? 0 : i; j < d; j++) {
            size_t one = rows == 1 ? j : i;
            rfm_real rest = sum[i * d + j] / (rfm_real)g->points;
            sum[i * d + j] = rest;
            for (k = 0; k < g->c; k++)
                rest -= mean[k * d + one] / (rfm_real)g->points * (mean[k * d + j] / (rfm_real)g->points);
            centred[i * d + j] = rest;
            if (rows > 1) sum[j * d + i] = sum[i * d + j], centred[j * d + i] = rest;
        }
    for (k = 0; good && k < 2; k++) { /* P' S P */
        const rfm_real *s = k == 0 ? sum : centred;
        for (i = 0; i < rows; i++)
            for (j = 0; j < d; j++) {
                double value = rows == 1 ? (double)g->p[j] * (double)g->p[j] * (double)s[j] : 0;
                for (q = 0; rows > 1 && q < d * d; q++)
                    value += (double)g->p[q / d * d + i] * (double)s[q] * (double)g->p[q % d * d + j];
                out[i * d + j] = (rfm_real)value;
            }
        good = near_scaled("model", k == 0 ? "agop" : "agopc", rows, d, out, NULL, bound);
    }
    free(pred), free(x), free(at), free(sum), free(mean), free(out), free(centred);
    return good;
}

/* Sum of squares and ridge of the alpha that was found: not below the stored minimum, and near it. */
static int loss_right(const golden *g) {
    const double *knm = need("Knm", g->n, g->m), *kmm = need("Kmm", g->m, g->m), *y = need("Y", g->n, g->c);
    double loss = 0, least = number("loss");
    size_t i, j, k, q;
    for (k = 0; k < g->c; k++) {
        for (i = 0; i < g->n; i++) {
            double rest = y[i * g->c + k];
            for (j = 0; j < g->m; j++) rest -= knm[i * g->m + j] * (double)g->alpha[j * g->c + k] / g->lengths[j];
            loss += (double)g->w[i] * rest * rest;
        }
        for (j = 0; j < g->m; j++)
            for (q = 0; q < g->m; q++)
                loss += g->ridge * kmm[j * g->m + q] * (double)g->alpha[j * g->c + k] / g->lengths[j] *
                        (double)g->alpha[q * g->c + k] / g->lengths[q];
    }
    if (loss >= least * (1 - 1e-9) && loss <= least * (1 + (RFM_REAL_BYTES == 8 ? 1e-9 : 1e-3))) return 1;
    printf("  the loss is %.9g, the least %.9g\n", loss, least);
    return 0;
}

static int case_right(const char *path, const rfm_port *port) {
    static const size_t workers[] = {1, 2, 7};
    rfm_real *kept[2] = {NULL, NULL};
    size_t w, bytes = 0, i;
    int good = 1;
    for (w = 0; good && w < sizeof workers / sizeof *workers; w++) {
        golden g;
        deal pool;
        rfm_ctx ctx;
        memset(&ctx, 0, sizeof ctx);
        pool.workers = workers[w];
        ctx.port = port, ctx.workers = workers[w], ctx.run = deal_run, ctx.pool = &pool;
        read_case(path, &g);
        good = kernel_right(&ctx, &g, "Knm", g.n, g.x) && kernel_right(&ctx, &g, "Kmm", g.m, g.z);
        bytes = g.m * g.c * sizeof *g.alpha;
        for (i = 0; good && i < 2; i++) {
            good = solve_right(&ctx, &g, i == 0 ? RFM_SOLVER_DIRECT : RFM_SOLVER_CONJUGATE) && loss_right(&g);
            if (good && kept[i] != NULL && memcmp(kept[i], g.alpha, bytes) != 0)
                good = printf("  other bits with %u workers\n", (unsigned)workers[w]) < 0;
            if (kept[i] == NULL) kept[i] = take(bytes, 1), memcpy(kept[i], g.alpha, bytes);
        }
        good = good && sums_right(&ctx, &g) && model_right(&ctx, &g);
        release_case(&g);
    }
    free(kept[0]), free(kept[1]);
    return good;
}

int main(int argc, char **argv) { return on_every_port(argc, argv, case_right); }
