/* The golden cases of rfm_hyperbf on every port that runs here: hyperbf FILE...
 *
 * For each case and port: H and its gradient by C, T and W; then five steps of plain descent, H and the parameters
 * after each; all on exactly the memory that is needed, and the same bits with 1, 2 and 7 workers. A case on a port is
 * one test. */
#include <float.h>
#include <math.h>

#include "rfm_hyperbf.h"

#include "blocks.h"
#include "ports.h"

#define STEPS 5

typedef struct {
    size_t n, d, c, m, r; /* rows, inputs, outputs, centres, rank */
    double rate, bound;
    rfm_real *x, *y, *shift, *alpha, *centers, *inputs, *p;
    rfm_hyperbf f;
    rfm_data data;
} golden;

static void read_case(const char *path, golden *g) {
    const int on_rows = strstr(path, "centres_on_rows") != NULL;
    size_t ignored, j;
    memset(g, 0, sizeof *g);
    read_blocks(path);
    shape("X", &g->n, &g->d);
    shape("C", &g->m, &g->c);
    shape("W", &g->r, &ignored);
    g->rate = number("rate");
    g->x = block_reals("X", g->n, g->d);
    g->y = block_reals("Y", g->n, g->c);
    g->alpha = block_reals("C", g->m, g->c);
    g->inputs = block_reals("T", g->m, g->d);
    g->p = block_reals("W", g->r, g->d);
    g->centers = take(g->m * g->r, sizeof *g->centers);
    g->shift = take(g->d, sizeof *g->shift);
    for (j = 0; j < g->d; j++) g->shift[j] = 0;
    g->f.n = g->m, g->f.d = g->d, g->f.c = g->c, g->f.r = g->r;
    g->f.kernel = (int)number("kernel");
    g->f.bandwidth = (rfm_real)number("L"), g->f.exponent = (rfm_real)number("q");
    g->f.shift = g->shift, g->f.alpha = g->alpha, g->f.centers = g->centers, g->f.inputs = g->inputs, g->f.p = g->p;
    g->data.x = rfm_cview(g->x, g->n, g->d), g->data.y = rfm_cview(g->y, g->n, g->c);
    /* A centre that was on a row has moved a thousandth away by the second step: three digits. */
    g->bound = RFM_REAL_BYTES == 8 ? (on_rows ? 1e-11 : 1e-12) : (on_rows ? 2e-4 : 2e-5);
}

static void release_case(golden *g) {
    free_blocks();
    free(g->x), free(g->y), free(g->alpha), free(g->inputs), free(g->p), free(g->centers), free(g->shift);
}

static int gradient_right(const rfm_ctx *ctx, const golden *g, rfm_real *h) {
    rfm_real *alpha = take(g->m * g->c, sizeof *alpha), *inputs = take(g->m * g->d, sizeof *inputs);
    rfm_real *p = take(g->r * g->d, sizeof *p);
    rfm_hyperbf_gradient gradient;
    rfm_hyperbf_cost cost;
    rfm_arena arena;
    rfm_ctx with = *ctx;
    size_t bytes = 0;
    void *memory;
    int good;
    memset(&gradient, 0, sizeof gradient);
    gradient.alpha = alpha, gradient.inputs = inputs, gradient.p = p;
    rfm_hyperbf_cost_init(&cost);
    good = rfm_hyperbf_loss_need(ctx, &g->f, g->n, &bytes) == RFM_OK;
    memory = take(bytes, 1);
    (void)rfm_arena_init(&arena, memory, bytes);
    with.arena = &arena;
    good = good && rfm_hyperbf_loss(&with, &g->f, &g->data, &cost, h, &gradient) == RFM_OK;
    good = good && near("dC", g->m, g->c, alpha, g->bound) && near("dT", g->m, g->d, inputs, g->bound) &&
           near("dW", g->r, g->d, p, g->bound);
    free(memory), free(alpha), free(inputs), free(p);
    return good;
}

/* Leaves the last state in *g. */
static int descent_right(const rfm_ctx *ctx, golden *g, rfm_real *h) {
    rfm_hyperbf_descent *descent;
    rfm_hyperbf_options o;
    rfm_hyperbf_report report;
    rfm_arena arena;
    rfm_ctx with = *ctx;
    size_t bytes = 0, t;
    void *memory;
    int good;
    rfm_hyperbf_options_init(&o);
    o.method = RFM_HYPERBF_PLAIN, o.steps = STEPS, o.batch = 0, o.floor = 1, o.warm = 0, o.look = 1;
    o.rate = (rfm_real)(g->rate * (double)g->n); /* the descent is on the mean over the rows */
    good = rfm_hyperbf_descend_need(ctx, &g->data, &o, &g->f, &bytes) == RFM_OK;
    memory = take(bytes, 1);
    (void)rfm_arena_init(&arena, memory, bytes);
    with.arena = &arena;
    if (!good || rfm_hyperbf_begin(&with, &g->data, &o, &g->f, &descent) != RFM_OK) {
        free(memory);
        return 0;
    }
    for (t = 1; good && t <= STEPS; t++) {
        rfm_hyperbf_cost cost;
        void *more;
        rfm_arena rest;
        rfm_ctx second = *ctx;
        good = rfm_hyperbf_step(descent) == RFM_OK;
        good = good && near_at("C", t, g->m, g->c, g->alpha, g->bound) &&
               near_at("T", t, g->m, g->d, g->inputs, g->bound) && near_at("W", t, g->r, g->d, g->p, g->bound);
        rfm_hyperbf_cost_init(&cost);
        (void)rfm_hyperbf_loss_need(ctx, &g->f, g->n, &bytes);
        more = take(bytes, 1);
        (void)rfm_arena_init(&rest, more, bytes);
        second.arena = &rest;
        good = good && rfm_hyperbf_loss(&second, &g->f, &g->data, &cost, &h[t], NULL) == RFM_OK;
        free(more);
    }
    good = rfm_hyperbf_end(descent, &report) == RFM_OK && good && report.steps == STEPS && arena.used == 0;
    free(memory);
    return good;
}

static int case_right(const char *path, const rfm_ctx *ctx, rfm_real **kept) {
    rfm_real h[STEPS + 1];
    golden g;
    int good;
    read_case(path, &g);
    good = gradient_right(ctx, &g, &h[0]) && descent_right(ctx, &g, h) && near("H", 1, STEPS + 1, h, g.bound) &&
           same_bits(kept, g.inputs, g.m * g.d, ctx->workers);
    release_case(&g);
    return good;
}

static int workers_right(const char *path, const rfm_port *port) { return with_workers(path, port, case_right); }

int main(int argc, char **argv) { return on_every_port(argc, argv, workers_right); }
