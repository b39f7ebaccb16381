/* Targets of a few directions of the inputs, from the RFM paper: its figures 16a, 16d, 10 and 14. Prints the test error
 * of the plain kernel (T = 0) and of RFM after each update, and how much of M is where it should be.
 *
 *     rfm-papers low-rank [train rows, 1000] [test rows, 10000] [seed, 1]
 */
#include "papers.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/progress.h"
#include "rfm.h"
#include "rfm_port.h"

#define T_MAX 5

/* xorshift64*, and from it normal numbers by Box and Muller. */
static uint64_t state;

static double uniform(void) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return ((double)((state * 2685821657736338717u) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void) { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()); }

typedef struct {
    const char *name;
    size_t d;
    double bandwidth, ridge;
    void (*draw)(size_t d, double *x, double *y); /* one row */
    size_t used; /* the target is of the first so many coordinates; 0: of the direction u */
} task;

static double u[16];

/* Signs with noise; the product of the first two signs. */
static void rademacher(size_t d, double *x, double *y) {
    size_t j;
    *y = 1;
    for (j = 0; j < d; j++) {
        x[j] = uniform() < 0.5 ? -1 : 1;
        if (j < 2) *y *= x[j];
        x[j] += 0.1 * normal();
    }
}

/* Hermite polynomials of one direction. */
static void hermite(size_t d, double *x, double *y) {
    double t = 0;
    size_t j;
    for (j = 0; j < d; j++) {
        x[j] = normal();
        t += u[j] * x[j];
    }
    *y = t * t - 1 + t * t * t * t - 6 * t * t + 3;
}

static void product(size_t d, double *x, double *y) {
    size_t j;
    for (j = 0; j < d; j++) x[j] = normal() / 4;
    *y = x[0] * x[1];
}

static void gated(size_t d, double *x, double *y) {
    size_t j;
    for (j = 0; j < d; j++) x[j] = normal() / 4;
    *y = x[3] > 0 ? x[0] * x[1] : x[2];
}

static const task tasks[] = {
    {"16a: z1 z2, signs, d = 30", 30, 10, 0, rademacher, 2},
    {"16d: He2 + He4 of u'x, d = 10", 10, 10, 1e-3, hermite, 0},
    {"14: x1 x2, d = 10", 10, 10, 1e-3, product, 2},
    {"10: x1 x2 [x4 > 0] + x3 [x4 < 0], d = 10", 10, 10, 1e-3, gated, 4},
};

static void fill(const task *t, size_t n, rfm_real *x, rfm_real *y) {
    double row[32], target;
    size_t i, j;
    for (i = 0; i < n; i++) {
        t->draw(t->d, row, &target);
        for (j = 0; j < t->d; j++) x[i * t->d + j] = (rfm_real)row[j];
        y[i] = (rfm_real)target;
    }
}

/* The share of M's diagonal on the coordinates that count; or the squared cosine of M's top eigenvector with u. */
static double share(const task *t, const rfm_ctx *ctx, const rfm_model *model) {
    rfm_real m[32 * 32], w[1], v[32];
    double good = 0, all = 0;
    size_t j;
    must(rfm_metric(model, rfm_view(m, t->d, t->d)), "low-rank");
    for (j = 0; j < t->d; j++) {
        all += (double)m[j * t->d + j];
        if (j < t->used) good += (double)m[j * t->d + j];
    }
    if (t->used > 0) return good / all;
    must(rfm_eig(ctx, rfm_view(m, t->d, t->d), 1, w, rfm_view(v, 1, t->d)), "low-rank");
    for (j = 0; j < t->d; j++) good += (double)v[j] * u[j];
    return good * good;
}

static void run(const task *t, size_t n, size_t tests, uint64_t seed) {
    size_t d = t->d, scratch, store, predict, eig, size, i, iterations;
    rfm_real *x = allocate(n, d * sizeof *x, "rows"), *y = allocate(n, sizeof *y, "targets");
    rfm_real *z = allocate(tests, d * sizeof *z, "test rows"), *f = allocate(tests, sizeof *f, "predictions");
    rfm_real *truth = allocate(tests, sizeof *truth, "test targets");
    rfm_ctx ctx;
    rfm_data data;
    rfm_options o;
    rfm_model model;
    rfm_arena arena;
    double norm = 0, mean = 0, variance = 0, low = 0, high = 0;
    void *memory;

    state = seed * 0x9E3779B97F4A7C15u + 1;
    for (i = 0; i < 100; i++) uniform();
    for (i = 0; i < d && t->used == 0; i++) {
        u[i] = normal();
        norm += u[i] * u[i];
    }
    for (i = 0; i < d && t->used == 0; i++) u[i] /= sqrt(norm);
    fill(t, n, x, y);
    fill(t, tests, z, truth);
    for (i = 0; i < n; i++) low = fmin(low, (double)y[i]), high = fmax(high, (double)y[i]);
    for (i = 0; i < tests; i++) mean += (double)truth[i] / (double)tests;
    for (i = 0; i < tests; i++) variance += pow((double)truth[i] - mean, 2) / (double)tests;

    memset(&ctx, 0, sizeof ctx);
    memset(&data, 0, sizeof data);
    ctx.port = rfm_port_auto();
    data.x = rfm_cview(x, n, d);
    data.y = rfm_cview(y, n, 1);
    printf("%s, L = %g, ridge %g, variance %.4g\n", t->name, t->bandwidth, t->ridge, variance);
    printf("   T   test MSE   of the variance   beyond the training targets   %s\n",
           t->used > 0 ? "diagonal of M on the true inputs" : "cos^2 of the top eigenvector and u");
    for (iterations = 0; iterations <= T_MAX; iterations++) {
        double mse = 0, beyond = 0; /* and its part on rows whose target no training row comes up to */
        rfm_options_init(&o);
        o.bandwidth = (rfm_real)t->bandwidth;
        o.ridge = (rfm_real)t->ridge;
        o.iterations = iterations;
        must(rfm_fit_need(&ctx, &data, &o, &scratch, &store), "low-rank");
        must(rfm_eig_need(&ctx, d, 1, &eig), "low-rank");
        /* Predicting takes less than training or not much more; the model says exactly. */
        size = store + scratch + eig;
        memory = allocate_aligned(size, "an experiment");
        must(rfm_arena_init(&arena, memory, size), "low-rank");
        ctx.arena = &arena;
        must(rfm_fit(&ctx, &data, &o, &arena, &model, NULL), "low-rank");
        must(rfm_predict_need(&ctx, &model, tests, &predict), "low-rank");
        if (predict > arena.size - arena.used) {
            void *more = allocate_aligned(predict, "an experiment");
            rfm_arena own;
            must(rfm_arena_init(&own, more, predict), "low-rank");
            ctx.arena = &own;
            must(rfm_predict(&ctx, &model, rfm_cview(z, tests, d), rfm_view(f, tests, 1)), "low-rank");
            ctx.arena = &arena;
            free(more);
        } else
            must(rfm_predict(&ctx, &model, rfm_cview(z, tests, d), rfm_view(f, tests, 1)), "low-rank");
        for (i = 0; i < tests; i++) {
            double square = pow((double)f[i] - (double)truth[i], 2) / (double)tests;
            mse += square;
            if ((double)truth[i] < low || (double)truth[i] > high) beyond += square;
        }
        printf("   %zu   %-10.3g %8.2f %%        %8.1f %%                      %8.1f %%\n", iterations, mse,
               100 * mse / variance, 100 * beyond / mse,
               iterations > 0 ? 100 * share(t, &ctx, &model)
               : t->used > 0  ? 100 * (double)t->used / (double)d
                              : 0.0);
        free(memory);
    }
    putchar('\n');
    free(x);
    free(y);
    free(z);
    free(f);
    free(truth);
}

int low_rank(char **argv) {
    size_t i, n = 1000, tests = 10000;
    uint64_t seed = 1;
    if (argv[0] != NULL) {
        n = strtoul(argv[0], NULL, 10);
        if (argv[1] != NULL) {
            tests = strtoul(argv[1], NULL, 10);
            if (argv[2] != NULL) seed = strtoul(argv[2], NULL, 10);
        }
    }
    if (n == 0 || tests == 0) usage("expected rfm-papers low-rank [train rows] [test rows] [seed]");
    for (i = 0; i < sizeof tasks / sizeof tasks[0]; i++) run(&tasks[i], n, tests, seed);
    return 0;
}
