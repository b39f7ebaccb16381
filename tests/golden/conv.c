/* The golden cases of rfm_conv on every port that runs here: conv FILE...
 *
 * For each case and port, t = 0..2: K, gradients, AGOP and predictions from the stored M and alpha; then a fit of t
 * rounds, its M, alpha and predictions, also one by one. All on exactly the memory that is needed, and the same bits
 * with 1, 2 and 7 workers. A case on a port is one test. */
#include <float.h>
#include <math.h>

#include "rfm_conv.h"

#include "blocks.h"
#include "ports.h"

#define ROUNDS   2
#define GRADIENT 3 /* images whose gradients are stored */

typedef struct {
    size_t n, d, c, v, patch, places; /* images, pixels, outputs, test images, D, m */
    int norm;
    rfm_conv f;
    rfm_real ridge;
    const double *cond, *sine, *kmax;
    rfm_real *x, *y, *z;
} golden;

static void read_case(const char *path, golden *g) {
    int kernel;
    size_t ignored;
    memset(g, 0, sizeof *g);
    read_blocks(path);
    shape("X", &g->n, &g->d);
    shape("Y", &ignored, &g->c);
    shape("Xtest", &g->v, &ignored);
    kernel = (int)number("kernel");
    g->norm = (int)number("norm");
    g->f.channels = (size_t)number("C"), g->f.height = (size_t)number("P"), g->f.width = (size_t)number("Q");
    g->f.patch = (size_t)number("patch"), g->f.depth = (int)number("depth");
    g->f.kernel = kernel == 0 ? RFM_CONV_LAPLACE : kernel == 3 ? RFM_CONV_NNGP : RFM_CONV_NTK;
    g->f.bandwidth = (rfm_real)number("L"), g->ridge = (rfm_real)number("ridge");
    g->cond = need("cond", 1, ROUNDS + 1), g->sine = need("sinmin", 1, ROUNDS + 1);
    g->kmax = need("kmax", 1, ROUNDS + 1);
    g->x = reals(need("X", g->n, g->d), g->n * g->d);
    g->y = reals(need("Y", g->n, g->c), g->n * g->c);
    g->z = reals(need("Xtest", g->v, g->d), g->v * g->d);
    g->patch = rfm_conv_patch(&g->f), g->places = rfm_conv_places(&g->f);
}

static void release_case(golden *g) {
    free_blocks();
    free(g->x), free(g->y), free(g->z);
}

/* What may be off after rounds first..t, as a share of the largest entry. */
static double bound_of(const golden *g, size_t first, size_t t) {
    double cond = 0, sine = 1, bound;
    for (; first <= t; first++) cond = fmax(cond, g->cond[first]), sine = fmin(sine, g->sine[first]);
    if (RFM_REAL_BYTES == 8) return cond > 1e6 || sine < 1e-3 ? 1e-8 : 1e-10;
    bound = 4 * cond * 6e-8 + 16 * (double)FLT_EPSILON;
    return g->f.kernel == RFM_CONV_LAPLACE ? bound : bound + 6e-8 / (sine * sine);
}

static int ok(const char *what, int status) {
    if (status != RFM_OK) printf("  %s: %s\n", what, rfm_status_text(status));
    return status == RFM_OK;
}

/* ctx with exactly this much memory. */
static rfm_ctx with_memory(const rfm_ctx *ctx, rfm_arena *arena, size_t bytes) {
    rfm_ctx with = *ctx;
    (void)rfm_arena_init(arena, take(bytes, 1), bytes);
    with.arena = arena;
    return with;
}

static rfm_real *stored(const char *name, size_t t, size_t rows, size_t cols) {
    char full[16];
    snprintf(full, sizeof full, "%s%u", name, (unsigned)t);
    return reals(need(full, rows, cols), rows * cols);
}

static int kernel_right(const rfm_ctx *ctx, const golden *g, size_t t, rfm_cmat m, rfm_cmat a) {
    const rfm_cmat x = rfm_cview(g->x, g->n, g->d), z = rfm_cview(g->z, g->v, g->d);
    rfm_real *k = take(g->n * g->n, sizeof *k), *kz = take(g->v * g->n, sizeof *kz), *p = take(g->v * g->c, sizeof *p);
    const double bound = bound_of(g, t, t);
    rfm_arena arena;
    rfm_ctx with;
    size_t bytes = 0, i, j, q;
    int good = ok("kernel_need", rfm_conv_kernel_need(ctx, &g->f, g->n, g->n, &bytes));
    with = with_memory(ctx, &arena, bytes);
    good = good && ok("kernel", rfm_conv_kernel(&with, &g->f, m, x, x, rfm_view(k, g->n, g->n)));
    good = good && near_at("K", t, g->n, g->n, k, bound);
    free(arena.base);
    good = good && ok("kernel_need", rfm_conv_kernel_need(ctx, &g->f, g->v, g->n, &bytes));
    with = with_memory(ctx, &arena, bytes);
    good = good && ok("kernel", rfm_conv_kernel(&with, &g->f, m, z, x, rfm_view(kz, g->v, g->n)));
    free(arena.base);
    for (i = 0; i < g->v; i++)
        for (q = 0; q < g->c; q++) {
            double sum = 0;
            for (j = 0; j < g->n; j++) sum += (double)kz[i * g->n + j] * (double)a.at[j * g->c + q];
            p[i * g->c + q] = (rfm_real)sum;
        }
    good = good && near_at("pred", t, g->v, g->c, p, bound);
    free(k), free(kz), free(p);
    return good;
}

static int gradients_right(const rfm_ctx *ctx, const golden *g, size_t t, rfm_cmat m, rfm_cmat a) {
    const size_t d = g->patch, all = g->c * g->places * d;
    const rfm_cmat x = rfm_cview(g->x, g->n, g->d);
    rfm_real *grad = take(GRADIENT * all, sizeof *grad), *agop = take(d * d, sizeof *agop);
    const double bound = bound_of(g, t, t + 1);
    rfm_arena arena;
    rfm_ctx with;
    double norm = 0;
    size_t bytes = 0, i;
    int good = ok("gradients_need", rfm_conv_gradients_need(ctx, &g->f, g->n, GRADIENT, g->c, &bytes));
    with = with_memory(ctx, &arena, bytes);
    good = good && ok("gradients", rfm_conv_gradients(&with, &g->f, m, x, a, rfm_cview(g->x, GRADIENT, g->d),
                                                      rfm_view(grad, GRADIENT, all)));
    free(arena.base);
    good = good && near_at("G", t, GRADIENT, all, grad, bound);
    good = good && ok("agop_need", rfm_conv_agop_need(ctx, &g->f, g->n, g->n, g->c, &bytes));
    with = with_memory(ctx, &arena, bytes);
    good = good && ok("agop", rfm_conv_agop(&with, &g->f, m, x, a, x, rfm_view(agop, d, d)));
    free(arena.base);
    for (i = 0; good && i < d * d; i++) norm += (double)agop[i] * (double)agop[i];
    for (i = 0; good && g->norm == 3 && i < d * d; i++) agop[i] = (rfm_real)((double)agop[i] / sqrt(norm));
    good = good && near_at("M", t + 1, d, d, agop, bound);
    free(grad), free(agop);
    return good;
}

/* *alpha, if not NULL, becomes a copy of what the last fit found. */
static int fit_right(const rfm_ctx *ctx, const golden *g, size_t t, rfm_real *found) {
    const size_t d = g->patch;
    const double bound = bound_of(g, 0, t);
    rfm_real *m = take(d * d, sizeof *m), *alpha = take(g->n * g->c, sizeof *alpha), *p = take(g->v * g->c, sizeof *p);
    rfm_real *scratch;
    rfm_conv_options o;
    rfm_conv_model model;
    rfm_conv_report report;
    rfm_conv_step path[ROUNDS + 1];
    rfm_data data;
    rfm_arena arena, store;
    rfm_ctx with;
    size_t bytes = 0, kept = 0, i;
    int good;
    memset(&data, 0, sizeof data);
    memset(&report, 0, sizeof report);
    data.x = rfm_cview(g->x, g->n, g->d), data.y = rfm_cview(g->y, g->n, g->c);
    rfm_conv_options_init(&o);
    o.patch = g->f.patch, o.kernel = g->f.kernel, o.depth = g->f.depth, o.bandwidth = g->f.bandwidth;
    o.rounds = t, o.ridge[0] = g->ridge, o.scale = g->norm == 3, o.select = RFM_SELECT_LAST;
    report.path = path;
    good = ok("fit_need", rfm_conv_fit_need(ctx, g->f.channels, g->f.height, g->f.width, &data, &o, &bytes, &kept));
    with = with_memory(ctx, &arena, bytes);
    (void)rfm_arena_init(&store, take(kept, 1), kept);
    good = good &&
           ok("fit", rfm_conv_fit(&with, g->f.channels, g->f.height, g->f.width, &data, &o, &store, &model, &report));
    if (good && !(arena.used == 0 && store.used == kept && arena.peak == bytes)) {
        printf("  a fit takes %u of %u bytes\n", (unsigned)arena.peak, (unsigned)bytes);
        good = 0;
    }
    free(arena.base);
    good = good && ok("metric", rfm_conv_metric(&model, rfm_view(m, d, d))) && near_at("M", t, d, d, m, bound);
    for (i = 0; good && i < g->n * g->c; i++) alpha[i] = model.alpha[i] * path[t].largest;
    good = good && near_at("alpha", t, g->n, g->c, alpha, bound);
    good = good && ok("predict_need", rfm_conv_predict_need(ctx, &model, g->v, &bytes));
    with = with_memory(ctx, &arena, bytes);
    good = good && ok("predict", rfm_conv_predict(&with, &model, rfm_cview(g->z, g->v, g->d), rfm_view(p, g->v, g->c)));
    free(arena.base);
    good = good && near_at("pred", t, g->v, g->c, p, bound);
    scratch = take(good ? rfm_conv_scratch(&model) : 1, sizeof *scratch);
    for (i = 0; good && i < g->v; i++)
        good = ok("predict_one", rfm_conv_predict_one(&model, g->z + i * g->d, p + i * g->c, scratch));
    /* Where an angle of a layer above the first is small, one image alone loses more than half of its digits. */
    good = good && near_at("pred", t, g->v, g->c, p, 4 * bound);
    if (good) memcpy(found, alpha, g->n * g->c * sizeof *alpha);
    free(scratch), free(store.base), free(m), free(alpha), free(p);
    return good;
}

static int rounds_right(const rfm_ctx *ctx, const golden *g, rfm_real *found) {
    size_t t, i;
    int good = 1;
    for (t = 0; good && t <= ROUNDS; t++) {
        rfm_real *m = stored("M", t, g->patch, g->patch), *a = stored("alpha", t, g->n, g->c);
        const rfm_cmat metric = rfm_cview(t == 0 ? NULL : m, g->patch, g->patch), alpha = rfm_cview(a, g->n, g->c);
        for (i = 0; i < g->n * g->c; i++) a[i] = (rfm_real)((double)a[i] / g->kmax[t]);
        good = kernel_right(ctx, g, t, metric, alpha);
        if (t < ROUNDS) good = good && gradients_right(ctx, g, t, metric, alpha);
        good = good && fit_right(ctx, g, t, found);
        free(m), free(a);
    }
    return good;
}

static int case_right(const char *path, const rfm_ctx *ctx, rfm_real **kept) {
    golden g;
    rfm_real *found;
    int good;
    read_case(path, &g);
    found = take(g.n * g.c, sizeof *found);
    good = rounds_right(ctx, &g, found) && same_bits(kept, found, g.n * g.c, ctx->workers);
    free(found);
    release_case(&g);
    return good;
}

static int workers_right(const char *path, const rfm_port *port) { return with_workers(path, port, case_right); }

int main(int argc, char **argv) { return on_every_port(argc, argv, workers_right); }
